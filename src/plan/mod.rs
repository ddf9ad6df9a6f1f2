//! Op template + Programs → [`OpPlan`]: BSON with holes, text with holes, or fields. Does no IO.

mod beside;
mod bind_points;
mod captures;
mod command;
mod command_text;
mod element;
mod encode;
mod expect;
pub mod extended_json;
mod fields;
mod fill;
mod rendered;
mod reply;
mod text;
mod verify;

pub use captures::Capture;
pub use command::CommandTemplate;
pub use fields::knows_field;
pub use fill::{Inset, pieces};
pub use reply::{Checks, EXPECT_FAILED, Expected, Mismatch, VERIFY_FAILED};
pub use text::TextTemplate;

use crate::bindings::EvalError;
use crate::functions::Context;
use crate::span::{Diagnostic, Location};
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

/// An op template, compiled, and what should be said of it.
pub struct Compiled {
    pub plan: OpPlan,
    pub notices: Vec<Diagnostic>,
}

/// Compiles `op` for an adapter that takes `form`: finds bind points, compiles the bindings that the op uses
/// (and only those), parses command text. All errors of the op at once, each with its place.
pub fn compile(op: &OpTemplate, form: Form) -> Result<Compiled, Vec<Diagnostic>> {
    fields::compile(op, form)
}

/// The mean size in bytes of the bound op, over `n` cycles spread evenly over `cycles`. None where no cycle
/// could be bound or the range is empty.
pub fn sample_bytes(plan: &OpPlan, cycles: Range<u64>, n: usize) -> Option<f64> {
    let count = cycles.end.checked_sub(cycles.start).filter(|count| *count > 0)?;
    let n = (n as u64).min(count);
    let mut context = Context::default();
    let mut bytes = Vec::new();
    let (mut total, mut bound) = (0, 0);
    for i in 0..n {
        // Evenly spread, exact for any range.
        let cycle = cycles.start + (u128::from(i) * u128::from(count) / u128::from(n)) as u64;
        if plan.body.bind(cycle as i64, &mut context, &mut bytes).is_ok() {
            total += bytes.len();
            bound += 1;
        }
    }
    (bound > 0).then(|| total as f64 / f64::from(bound))
}

/// What an op does, compiled.
pub enum Body {
    Command(CommandTemplate),
    Text(TextTemplate),
    /// In file order.
    Fields(Vec<Field>),
}

/// A field of an op, compiled.
pub struct Field {
    pub name: String,
    pub text: TextTemplate,
    /// Of its value.
    pub location: Option<Location>,
}

/// How much of an op is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// All of it.
    #[default]
    None,
    /// It is bound for each cycle and not sent.
    Op,
    /// It is sent, and its result is printed.
    Emit,
}

impl DryRun {
    /// Reads `none`, `op` or `emit`, in any case.
    ///
    /// # Errors
    /// What is none of them, with what there is.
    pub fn parse(text: &str) -> Result<DryRun, String> {
        match text.trim().to_lowercase().as_str() {
            "none" => Ok(DryRun::None),
            "op" => Ok(DryRun::Op),
            "emit" => Ok(DryRun::Emit),
            "jsonnet" | "exprs" => {
                Err(format!("`dryrun={text}` is not supported: there are none, op and emit"))
            }
            _ => Err(format!("`dryrun={text}` is none of none, op and emit")),
        }
    }
}

impl Body {
    /// Makes the op of `cycle` in `out`, which is cleared first: a BSON document, a text, or the texts of all
    /// fields one after the other.
    pub fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        match self {
            Body::Command(command) => command.bind(cycle, context, out),
            Body::Text(text) => {
                out.clear();
                text.bind(cycle, context, out)
            }
            Body::Fields(fields) => {
                out.clear();
                fields.iter().try_for_each(|field| field.text.bind(cycle, context, out))
            }
        }
    }
}

/// An op template, compiled for its adapter.
pub struct OpPlan {
    /// `block__op`.
    pub name: String,
    pub body: Body,
    /// The database that the op goes to; the activity's if absent.
    pub database: Option<TextTemplate>,
    /// Ops of one space share a client.
    pub space: Option<String>,
    /// The connection string of its client; the activity's if absent.
    pub connection: Option<String>,
    /// What later ops may use of its result. No driver captures yet: each has a notice.
    pub captures: Vec<Capture>,
    /// As the op says; absent: as the activity says.
    pub dry_run: Option<DryRun>,
    /// What is held against its replies (`expect`, `verify`).
    pub checks: Option<Checks>,
    pub timers: Timers,
    /// A function of it reads [`Context::acknowledged`].
    pub reads_acknowledged: bool,
}

/// What an op asks to be timed beside what is timed anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timers {
    /// `instrument`: its times go by the reference's names for them too; as the activity says if absent.
    pub instrument: Option<bool>,
    /// Named timers that start when it is sent (`start-timers`).
    pub starts: Vec<String>,
    /// Those that stop when it ends (`stop-timers`).
    pub stops: Vec<String>,
}

/// The op templates of a workload text, for tests.
#[cfg(test)]
pub(crate) fn op_templates(yaml: &str) -> Vec<OpTemplate> {
    let source = crate::span::Source { name: "test.yaml".to_owned(), text: yaml.to_owned() };
    let params = indexmap::IndexMap::new();
    crate::workload::parse(std::sync::Arc::new(source), &params).unwrap_or_else(|e| panic!("{e:?}")).ops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(op: &str, cycles: Range<u64>, n: usize) -> Option<f64> {
        let yaml = format!("bindings: {{n: Identity(), tens: Div(10), none: Div(0)}}\nop: \"{op}\"\n");
        let compiled = compile(&op_templates(&yaml)[0], Form::Text).unwrap_or_else(|e| panic!("{e:?}"));
        sample_bytes(&compiled.plan, cycles, n)
    }

    #[test]
    fn the_mean_size_of_an_op_is_that_of_cycles_spread_evenly() {
        // Op, cycles, samples, mean.
        let cases: &[(&str, Range<u64>, usize, Option<f64>)] = &[
            ("12345", 0..10, 3, Some(5.0)),
            ("{n}", 0..20, 20, Some(1.5)),
            ("{n}", 0..20, 1000, Some(1.5)),
            ("{n}", 0..100, 10, Some(1.9)),
            ("{n}", u64::MAX / 2 - 4..u64::MAX / 2, 2, Some(19.0)),
            ("{n}", 5..5, 10, None),
            ("{n}", 0..10, 0, None),
            ("{none}", 0..10, 10, None),
        ];
        for (op, cycles, n, expected) in cases {
            assert_eq!(mean(op, cycles.clone(), *n), *expected, "{op} {cycles:?} {n}");
        }
    }
}
