//! Workload name → file: the working directory, then `--include` folders, then the bundled files.

use crate::span::{Diagnostic, Source};
use std::path::PathBuf;
use std::sync::Arc;

/// Finds and reads the workload `name`.
///
/// # Errors
/// No such workload (with the nearest names), or a file that cannot be read.
pub fn find(name: &str, includes: &[PathBuf]) -> Result<Arc<Source>, Diagnostic> {
    let _ = (name, includes);
    todo!()
}
