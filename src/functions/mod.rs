//! The binding function library: one table row a function.

use crate::value::Value;
use std::collections::HashMap;

/// What a function may see besides its input: one per logical thread.
#[derive(Debug, Default)]
pub struct Context {
    /// Index of the logical thread.
    pub thread: usize,
    /// Values kept by `Save`, read by `Load`.
    pub variables: HashMap<String, Value>,
}
