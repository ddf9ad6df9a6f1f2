//! Op template + Programs → [`OpPlan`]: BSON with holes, text with holes, or fields. Does no IO.

use crate::bindings::EvalError;
use crate::functions::Context;
use crate::span::Diagnostic;
use crate::workload::OpTemplate;
use std::ops::Range;

/// What an adapter makes of an op's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A database command: BSON with holes (field `stmt`, or the op map itself).
    Command,
    /// Text with holes (field `stmt`).
    Text,
    /// Each field on its own, as text with holes.
    Fields,
}

/// An op that could not be bound for one cycle.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BindError {
    #[error("{op}, cycle {cycle}: binding `{recipe}` failed: {source}")]
    Eval { op: String, cycle: i64, recipe: String, source: EvalError },
    /// The rendered op text is not a command document.
    #[error("{op}, cycle {cycle}: {message}")]
    Render { op: String, cycle: i64, message: String },
}

/// A command document, parsed once: BSON bytes and the holes in them. Cheap to share, never changes.
pub struct CommandTemplate {}

impl CommandTemplate {
    /// Fills the holes for `cycle`. `out` is cleared first and then holds one whole BSON document.
    pub fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        let _ = (cycle, context, out);
        todo!()
    }

    /// Every hole is filled in place: no text is rendered or parsed per cycle.
    pub fn is_fast(&self) -> bool {
        todo!()
    }

    /// Adds a constant field at the end of the command, unless the command sets `key` itself. For what a
    /// connection applies to commands that do not say (`writeConcern`, `readConcern`); costs nothing per
    /// cycle.
    pub fn set_default(&mut self, key: &str, value: bson::RawBson) {
        let _ = (key, value);
        todo!()
    }

    /// The first key of the command (`insert`, `find`, …) if it does not depend on the cycle.
    pub fn command(&self) -> Option<&str> {
        todo!()
    }
}

/// Text with holes.
pub struct TextTemplate {}

impl TextTemplate {
    /// Appends the text for `cycle` to `out`.
    pub fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        let _ = (cycle, context, out);
        todo!()
    }
}

/// An op template, compiled, and what should be said of it.
pub struct Compiled {
    pub plan: OpPlan,
    pub notices: Vec<Diagnostic>,
}

/// Compiles `op` for an adapter that takes `form`: finds bind points, compiles the bindings that the op uses
/// (and only those), parses command text. All errors of the op at once, each with its place.
pub fn compile(op: &OpTemplate, form: Form) -> Result<Compiled, Vec<Diagnostic>> {
    let _ = (op, form);
    todo!()
}

/// The mean size in bytes of the bound op, over `n` cycles spread evenly over `cycles`. None where no cycle
/// could be bound or the range is empty.
pub fn sample_bytes(plan: &OpPlan, cycles: Range<u64>, n: usize) -> Option<f64> {
    let _ = (plan, cycles, n);
    todo!()
}

/// What an op does, compiled.
pub enum Body {
    Command(CommandTemplate),
    Text(TextTemplate),
    /// In file order.
    Fields(Vec<(String, TextTemplate)>),
}

/// An op template, compiled for its adapter.
pub struct OpPlan {
    /// `block__op`.
    pub name: String,
    pub body: Body,
}
