//! `nbrs check`: what is wrong with workload files, one problem a line.

use crate::redact;
use crate::session::check;
use crate::span::{Diagnostic, Severity};
use indexmap::IndexMap;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

/// What to check.
pub struct Check<'a> {
    pub files: &'a [String],
    pub parameters: &'a IndexMap<String, String>,
    pub includes: &'a [PathBuf],
    /// Warnings are errors too.
    pub strict: bool,
    /// A JSON text a line.
    pub json: bool,
}

/// Writes what is wrong with each file. Whether all of them are good.
pub fn run(check: &Check<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let mut good = true;
    for file in check.files {
        for mut found in check::check(file, check.parameters, check.includes) {
            if check.strict {
                found.severity = Severity::Error;
            }
            good &= found.severity == Severity::Warning;
            let line = if check.json { json_line(file, &found) } else { line(file, &found) };
            writeln!(out, "{}", redact::passwords(&line))?;
        }
    }
    out.flush()?;
    Ok(good)
}

/// File, line and column; the start of the file where the place is not known.
fn place(file: &str, found: &Diagnostic) -> (String, usize, usize) {
    match &found.location {
        Some(location) => {
            let (line, column) = location.line_column();
            (location.source.name.clone(), line, column)
        }
        None => (file.to_owned(), 1, 1),
    }
}

/// `file:line:col: error: text`, on one line.
fn line(file: &str, found: &Diagnostic) -> String {
    let text = found.one_line().replace("\n  help: ", "; ");
    if found.location.is_some() { text } else { format!("{file}:1:1: {text}") }
}

fn json_line(file: &str, found: &Diagnostic) -> String {
    let (file, line, column) = place(file, found);
    let severity = found.severity.word();
    let mut fields = json!({
        "file": file, "line": line, "column": column, "severity": severity, "message": found.message,
    });
    if let Some(help) = &found.help {
        fields["help"] = json!(help);
    }
    fields.to_string()
}
