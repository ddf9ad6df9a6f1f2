//! Tag filters: `block:main.*`, `any(block:a,block:b)`.

use super::{OpTemplate, Workload};
use crate::span::{Diagnostic, Text};

/// A parsed `tags=` value.
#[derive(Debug, Clone)]
pub struct TagFilter {}

impl TagFilter {
    /// # Errors
    /// A bad regex or an unknown conjugate, at its place.
    pub fn parse(text: &Text) -> Result<TagFilter, Diagnostic> {
        let _ = text;
        todo!()
    }

    /// The ops that match, in file order. A workload without any op gives an empty list.
    ///
    /// # Errors
    /// Nothing matches (with the tags and values there are), or a selected op uses a template variable that
    /// has neither value nor default.
    pub fn select(&self, workload: &Workload) -> Result<Vec<OpTemplate>, Diagnostic> {
        let _ = workload;
        todo!()
    }
}
