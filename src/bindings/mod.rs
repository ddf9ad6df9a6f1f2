//! Recipe + function table → typed [`Program`].

use crate::functions::Context;
use crate::span::{Diagnostic, Text};
use crate::value::Value;

/// What a program always yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int,
    Long,
    Double,
    /// Always text (Java String or CharBuffer).
    Text,
    /// Anything else: known only when the value is.
    Object,
}

/// A recipe, compiled: a pure chain of functions from the cycle number to a value. Cheap to clone.
#[derive(Clone)]
pub struct Program {}

/// A program and what should be said of it (text that the reference silently drops, for instance).
pub struct Compiled {
    pub program: Program,
    pub notices: Vec<Diagnostic>,
}

/// A value that could not be made for one cycle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub struct EvalError {
    /// Short name in Java's style, such as `ArithmeticException`.
    pub name: &'static str,
    pub message: String,
}

impl Program {
    /// Compiles `recipe`; an error shows where in the recipe, and the nearest function names.
    pub fn compile(recipe: &Text) -> Result<Compiled, Diagnostic> {
        let _ = recipe;
        todo!()
    }

    /// The recipe's text.
    pub fn recipe(&self) -> &str {
        todo!()
    }

    pub fn kind(&self) -> Kind {
        todo!()
    }

    /// The value for `cycle`.
    pub fn eval(&self, cycle: i64, context: &mut Context) -> Result<Value, EvalError> {
        let _ = (cycle, context);
        todo!()
    }

    /// Appends the text of the value for `cycle` (as Java prints it, UTF-8), without making the value where
    /// it can. On an error `out` may hold a part.
    pub fn write_text(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), EvalError> {
        let _ = (cycle, context, out);
        todo!()
    }
}
