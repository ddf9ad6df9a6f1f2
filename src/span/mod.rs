//! Where a piece of text came from, and how an error about it is shown.
//!
//! A [`Source`] is a file (or the command line). A [`Text`] is a string that remembers, through template
//! expansion and YAML unquoting, which bytes of which source each part of it came from. A [`Diagnostic`] is a
//! message with a [`Location`]; it draws the line with a caret.

use std::ops::Range;
use std::sync::Arc;

/// A named text that a user wrote: a workload file, or `command line`.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The name as shown in messages: the path as given, or `command line`.
    pub name: String,
    /// The whole text, as read.
    pub text: String,
}

/// A byte range of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub source: Arc<Source>,
    pub range: Range<usize>,
}

impl Location {
    /// Line and column of the start, both 1-based; the column counts characters.
    pub fn line_column(&self) -> (usize, usize) {
        todo!()
    }
}

/// A run of a [`Text`]'s bytes that came from one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// First byte of the run within the text; it ends where the next piece starts.
    pub at: usize,
    pub source: Arc<Source>,
    /// Where the run comes from.
    pub range: Range<usize>,
    /// The run is copied byte for byte, so that offsets within it map one to one.
    pub verbatim: bool,
}

/// A string and, for each part of it, the place it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: String,
    /// Sorted by `at`; empty for a text with no known origin.
    pieces: Vec<Piece>,
}

impl Text {
    /// A text with no known origin.
    pub fn unplaced(text: impl Into<String>) -> Text {
        Text { text: text.into(), pieces: Vec::new() }
    }

    /// A text that is a source of its own, such as a recipe on the command line.
    pub fn of_source(name: impl Into<String>, text: impl Into<String>) -> Text {
        let text = text.into();
        let source = Arc::new(Source { name: name.into(), text: text.clone() });
        let range = 0..text.len();
        Text { text, pieces: vec![Piece { at: 0, source, range, verbatim: true }] }
    }

    /// A text put together from pieces; `pieces` must be sorted by `at`.
    pub fn from_pieces(text: String, pieces: Vec<Piece>) -> Text {
        Text { text, pieces }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part `range` of this text, with its origin.
    pub fn slice(&self, range: Range<usize>) -> Text {
        let _ = range;
        todo!()
    }

    /// The place in a source that the bytes `range` of this text came from.
    pub fn locate(&self, range: Range<usize>) -> Option<Location> {
        let _ = range;
        todo!()
    }

    /// The place of the whole text.
    pub fn location(&self) -> Option<Location> {
        self.locate(0..self.text.len())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// One thing that is wrong (or odd), where it is, and what to write instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// What is wrong, one sentence, lower case, no full stop.
    pub message: String,
    pub location: Option<Location>,
    /// Further places with their words ("first given here").
    pub related: Vec<(Location, String)>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            location: None,
            related: Vec::new(),
            help: None,
        }
    }

    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    pub fn at(mut self, location: Option<Location>) -> Diagnostic {
        self.location = location;
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// `file:line:col: error: text`, one line (two with help), as `nbrs check` prints it.
    pub fn one_line(&self) -> String {
        todo!()
    }

    /// The message with `file:line:col`, the source line and a caret, as shown to a person.
    pub fn render(&self, color: bool) -> String {
        let _ = color;
        todo!()
    }
}

/// Names near to `wanted`, best first: for "did you mean".
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let _ = (wanted, known);
    Vec::new()
}
