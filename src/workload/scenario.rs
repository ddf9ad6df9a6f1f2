//! Named scenarios → the commands that their steps stand for.

use super::Workload;
use crate::span::Diagnostic;
use indexmap::IndexMap;

/// One command of a step, with the user's parameters worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    pub scenario: String,
    pub step: String,
    /// `run`, `start`, `await`, `stop`, `forceStop` or `waitmillis`.
    pub verb: String,
    /// The alias of the activity that is run, or that is awaited or stopped.
    pub alias: String,
    /// The number of `waitmillis`.
    pub argument: Option<String>,
    /// Of `run` and `start` only; with `workload`, without `alias`.
    pub params: IndexMap<String, String>,
}

/// What a scenario command comes to.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub steps: Vec<PlannedStep>,
    /// What the user should know: a parameter that overrides several steps, one that a step has locked.
    pub notices: Vec<Diagnostic>,
}

/// Works out `WORKLOAD [name…] [k=v…]`. `typed` is the workload as the user wrote it, `names` are scenarios or
/// `scenario.step` (none: `default`), `known` the parameter names that activities and drivers have.
///
/// # Errors
/// An unknown scenario, step, or parameter; a step that is no command; a locked parameter.
pub fn plan(
    workload: &Workload,
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
    known: &[&str],
) -> Result<Plan, Vec<Diagnostic>> {
    let _ = (workload, typed, names, user, known);
    todo!()
}
