//! Where a piece of text came from, and how an error about it is shown.
//!
//! A [`Source`] is a file (or the command line). A [`Text`] is a string that remembers, through template
//! expansion and YAML unquoting, which bytes of which source each part of it came from. A [`Diagnostic`] is a
//! message with a [`Location`]; it draws the line with a caret.

mod diagnostic;
mod nearest;
mod text;

pub use diagnostic::{Diagnostic, Severity};
pub use nearest::nearest;
pub use text::{Location, Piece, Source, Text};
