//! What is wrong with the commands of a session, before any of them is prepared. Contacts nothing.

use super::{Command, SessionError, Unused, prepare, steps};
use crate::span::{Diagnostic, nearest};
use std::path::PathBuf;

/// What is wrong or odd with the values and aliases of commands, and with the workloads that steps name beside their
/// own. Ops are not compiled, since no driver is chosen.
pub fn examine(commands: &[Command], includes: &[PathBuf]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut aliases = Vec::new();
    let mut unused = Unused::default();
    let mut add = |errors: Vec<Diagnostic>| {
        for error in errors {
            // Steps may share a workload, and so its errors.
            if !found.contains(&error) {
                found.push(error);
            }
        }
    };
    let runs_other =
        |command: &Command| matches!(command, Command::Activity { request, .. } if request.runs_other);
    let has_others = commands.iter().any(runs_other);
    for command in commands {
        let Command::Activity { request, .. } = command else {
            add(check_alias(command, &aliases).into_iter().collect());
            continue;
        };
        add(prepare::check_values(request));
        aliases.push(prepare::alias(&request.parameters, "mongodb"));
        // What is passed on to several workloads may be meant for any of them.
        if has_others {
            match prepare::select(request, includes) {
                Ok(selected) => unused.note(request, &selected.unused),
                Err(SessionError::Usage(errors)) => {
                    unused.note(request, &[]);
                    // What its own workload is to a step was looked at when it was planned.
                    add(if request.runs_other { errors } else { Vec::new() });
                }
                Err(SessionError::Target(_)) => {}
            }
        }
    }
    add(unused.errors());
    found
}

/// `await` of what no command before it started is an error; `stop` of nothing is said, as it may be meant.
pub(super) fn check_alias(command: &Command, started: &[String]) -> Option<Diagnostic> {
    match command {
        Command::Await { alias, place } if !started.contains(alias) => {
            let error = Diagnostic::error(format!("await: no activity `{alias}` is started before it"));
            let error = error.at(place.clone());
            Some(match nearest(alias, started.iter().map(String::as_str)).first() {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None if started.is_empty() => error,
                None => error.help(format!("there are: {}", started.join(", "))),
            })
        }
        Command::Stop { patterns, place }
            if !started.iter().any(|a| patterns.iter().any(|p| p.is_match(a))) =>
        {
            let asked: Vec<&str> = patterns.iter().map(steps::written).collect();
            let asked = asked.join(",");
            let warning = Diagnostic::warning(format!("stop: no activity `{asked}` is started before it"));
            let warning = warning.at(place.clone());
            Some(match started.is_empty() {
                true => warning,
                false => warning.help(format!("there are: {}", started.join(", "))),
            })
        }
        _ => None,
    }
}
