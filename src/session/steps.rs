//! Named scenarios → the commands of a session.

use super::{Command, parameters, prepare};
use crate::redact;
use crate::span::{Diagnostic, Location};
use crate::workload::scenario::{self, Plan, PlannedStep, Vocabulary};
use crate::workload::{LoadOptions, Workload};
use indexmap::IndexMap;
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;

/// Loads the workload `typed` and works out its scenarios `names` with the parameters of the user.
///
/// # Errors
/// Everything that is wrong with the workload, its steps and the parameters.
pub fn plan(
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
    includes: &[PathBuf],
) -> Result<Plan, Vec<Diagnostic>> {
    let workload = crate::workload::load(typed, &LoadOptions { includes, params: user })?;
    let (plan, errors) = examine(&workload, typed, names, user);
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// Works out the scenarios `names` of a workload that was loaded with the parameters of the user: what could be
/// worked out, and everything that is wrong with its steps and the parameters.
pub fn examine(
    workload: &Workload,
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
) -> (Plan, Vec<Diagnostic>) {
    let variables: Vec<String> = workload.variables.iter().map(|v| v.name.clone()).collect();
    let known = parameters::all_known();
    let vocabulary = Vocabulary { known: &known, canonical: parameters::canonical_name };
    let (plan, mut errors) = scenario::examine(workload, typed, names, user, vocabulary);
    errors.extend(parameters::canonical(user, &variables).err());
    (plan, errors)
}

/// The command that a planned step stands for.
///
/// # Errors
/// A time or an alias that cannot be read.
pub fn command(step: PlannedStep) -> Result<Command, Diagnostic> {
    match step.verb.as_str() {
        "run" | "start" => {
            let PlannedStep { mut params, written, alias, runs_other, .. } = step;
            params.entry("alias".to_owned()).or_insert(alias);
            let passed_on = params.keys().filter(|name| !written.contains_key(*name)).cloned().collect();
            let request = prepare::Request {
                parameters: params,
                written,
                passed_on,
                scenario: Some(step.scenario).filter(|name| !name.is_empty()),
                step: Some(step.step).filter(|name| !name.is_empty()),
                runs_other,
            };
            Ok(Command::Activity { request: Box::new(request), wait: step.verb == "run" })
        }
        "wait" => scenario::pause(&step.params).map(Command::Wait),
        "waitmillis" => simple("waitmillis", &step.argument.unwrap_or_default(), step.place),
        verb => simple(verb, &step.alias, step.place),
    }
}

/// `await ALIAS`, `stop ALIASES`, `forceStop ALIASES` or `waitmillis N`, of which the word stands at `place`.
///
/// # Errors
/// A time or a pattern of aliases that cannot be read.
pub fn simple(verb: &str, argument: &str, place: Option<Location>) -> Result<Command, Diagnostic> {
    match verb {
        // As activities are called in all that is shown.
        "await" => Ok(Command::Await { alias: redact::passwords(argument), place }),
        "waitmillis" => argument
            .parse()
            .map(|millis| Command::Wait(Duration::from_millis(millis)))
            .map_err(|_| Diagnostic::error(format!("`waitmillis {argument}`: not a number of milliseconds")))
            .map_err(|error| error.at(place)),
        _ => {
            let mut patterns = Vec::new();
            for alias in argument.split([',', ';', ' ']).filter(|alias| !alias.is_empty()) {
                // On its own first, so that an error speaks of what was written.
                let pattern = Regex::new(alias)
                    .and_then(|_| Regex::new(&format!("{WHOLE}{alias}{OF_ALIAS}")))
                    .map_err(|error| {
                        let why = error.to_string();
                        let why =
                            why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                        Diagnostic::error(format!(
                            "`{verb} {argument}`: `{alias}` is no pattern of aliases: {why}"
                        ))
                        .at(place.clone())
                    })?;
                patterns.push(pattern);
            }
            Ok(Command::Stop { patterns, place })
        }
    }
}

/// What stands before and behind a pattern that is to match the whole of an alias.
const WHOLE: &str = "^(?:";
const OF_ALIAS: &str = ")$";

/// A pattern of aliases, as the user wrote it.
pub(super) fn written(pattern: &Regex) -> &str {
    let all = pattern.as_str();
    all.strip_prefix(WHOLE).and_then(|rest| rest.strip_suffix(OF_ALIAS)).unwrap_or(all)
}
