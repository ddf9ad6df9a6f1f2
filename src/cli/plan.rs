//! `nbrs plan`: the commands that a scenario's steps come to, without running them.

use super::words::{Script, Scripted};
use crate::redact;
use crate::workload::scenario::PlannedStep;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// Writes the commands as one JSON array, or a line each.
pub fn run(script: &Script, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let steps: Vec<PlannedStep> = script.commands.iter().map(planned).collect();
    if json {
        let steps: Vec<Json> = steps.iter().map(to_json).collect();
        return writeln!(out, "{}", Json::Array(steps));
    }
    for step in &steps {
        let place = match step.scenario.as_str() {
            "" => String::new(),
            scenario => format!("{scenario}.{}: ", step.step),
        };
        writeln!(out, "{place}{}", redact::command_line(&words(step)))?;
    }
    Ok(())
}

/// A command of the command line, in the form of a step's.
fn planned(command: &Scripted) -> PlannedStep {
    let step = |verb: &str, alias: &str, params: IndexMap<String, String>| PlannedStep {
        verb: verb.to_owned(),
        alias: alias.to_owned(),
        params,
        ..PlannedStep::default()
    };
    match command {
        Scripted::Step(step) => step.clone(),
        Scripted::Activity { verb, parameters } => {
            let mut parameters = parameters.clone();
            let alias = parameters.shift_remove("alias").unwrap_or_default();
            step(verb, &alias, parameters)
        }
        Scripted::Simple { verb, argument } if verb == "waitmillis" => {
            PlannedStep { argument: Some(argument.clone()), ..step(verb, "", IndexMap::new()) }
        }
        Scripted::Simple { verb, argument } => step(verb, argument, IndexMap::new()),
    }
}

fn to_json(step: &PlannedStep) -> Json {
    let text = |text: &str| if text.is_empty() { Json::Null } else { json!(text) };
    let mut params: serde_json::Map<String, Json> = step
        .params
        .iter()
        .map(|(name, value)| (name.clone(), json!(redact::parameter(name, value))))
        .collect();
    if let Some(millis) = &step.argument {
        params.insert("ms".to_owned(), json!(millis));
    }
    json!({
        "scenario": text(&step.scenario),
        "step": text(&step.step),
        "verb": step.verb,
        "alias": text(&redact::passwords(&step.alias)),
        "params": params,
    })
}

/// The command as words, as a command line has it.
fn words(step: &PlannedStep) -> Vec<String> {
    let mut words = vec![step.verb.clone()];
    match step.verb.as_str() {
        "run" | "start" => {
            words.extend(step.params.iter().map(|(name, value)| format!("{name}={value}")));
            if !step.alias.is_empty() {
                words.push(format!("alias={}", step.alias));
            }
        }
        "waitmillis" => words.extend(step.argument.clone()),
        "wait" => words.extend(step.params.iter().map(|(name, value)| format!("{name}={value}"))),
        _ => words.push(step.alias.clone()),
    }
    words
}
