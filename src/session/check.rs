//! All that is wrong with a workload file, at once: what loading it, planning its scenarios and preparing their
//! steps and its other ops say. Contacts nothing.

use super::commands::check_alias;
use super::{Command, SessionError, Unused, parameters, prepare, steps};
use crate::bindings::Program;
use crate::span::{Diagnostic, Location, Severity};
use crate::workload::{self, Workload, scenario, tags};
use indexmap::{IndexMap, IndexSet};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What is wrong (or odd) with the workload `name` when it is used with the parameters `user`, in the order of
/// its lines.
///
/// A template variable that must be given is no fault of the file: what needs it is passed over.
pub fn check(name: &str, user: &IndexMap<String, String>, includes: &[PathBuf]) -> Vec<Diagnostic> {
    let source = match workload::find::find(name, includes) {
        Ok(source) => source,
        Err(error) => return vec![error],
    };
    let (workload, found) = workload::examine(source, user);
    let Some(workload) = workload else { return found };
    let mut check = Check { name, user, includes, workload: &workload, found: Vec::new() };
    check.add(found);
    let reached = check.scenarios();
    check.other_ops(&reached);
    check.idle_bindings();
    let mut found = check.found;
    found.sort_by_key(|diagnostic| diagnostic.location.as_ref().map(Location::line_column));
    found
}

struct Check<'a> {
    name: &'a str,
    user: &'a IndexMap<String, String>,
    includes: &'a [PathBuf],
    workload: &'a Workload,
    found: Vec<Diagnostic>,
}

/// What the steps of all scenarios come to.
#[derive(Default)]
struct Reached {
    /// Names of the ops that some step selects.
    ops: IndexSet<String>,
    /// The drivers that steps name.
    drivers: IndexSet<String>,
}

impl Check<'_> {
    /// Adds what is new, and no fault of the parameters that are not given.
    fn add(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            let unset = diagnostic.location.is_some()
                && self
                    .workload
                    .unset
                    .iter()
                    .any(|unset| unset.location == diagnostic.location && !unset.name.trim().is_empty());
            if !unset && !self.found.contains(&diagnostic) {
                self.found.push(diagnostic);
            }
        }
    }

    fn add_error(&mut self, error: SessionError) {
        match error {
            SessionError::Usage(errors) => self.add(errors),
            SessionError::Target(text) => self.add([Diagnostic::error(text)]),
        }
    }

    /// Plans each scenario and prepares its steps.
    fn scenarios(&mut self) -> Reached {
        let mut reached = Reached::default();
        for scenario in &self.workload.scenarios {
            let names = [scenario.name.clone()];
            // Also those of steps that are wrong otherwise.
            let drivers = scenario.steps.iter().flat_map(|step| scenario::values_of(step, "driver"));
            reached.drivers.extend(drivers);
            let (plan, errors) = steps::examine(self.workload, self.name, &names, self.user);
            let all_planned = errors.is_empty();
            self.add(errors);
            self.add(plan.notices);
            let mut unused = Unused::default();
            let mut aliases: Vec<String> = Vec::new();
            for step in plan.steps {
                let command = match steps::command(step) {
                    Ok(command) => command,
                    Err(error) => {
                        self.add([error]);
                        continue;
                    }
                };
                let Command::Activity { request, .. } = &command else {
                    // A step that could not be planned may be the one that it names.
                    self.add(check_alias(&command, &aliases).filter(|_| all_planned));
                    continue;
                };
                aliases.extend(request.parameters.get("alias").cloned());
                // Also where the workload lets nothing be prepared.
                self.add(prepare::check_values(request));
                let selected = prepare::select_with(request, self.includes, workload::load_ops);
                if let Ok(selected) = &selected
                    && selected.workload.path == self.workload.path
                {
                    reached.ops.extend(selected.ops.iter().map(|op| op.name.clone()));
                }
                match selected.and_then(|selected| prepare::prepare_selected(request, selected)) {
                    Ok(prepared) => {
                        unused.note(request, &prepared.unused);
                        self.add(prepared.notices);
                    }
                    Err(error) => self.add_error(error),
                }
            }
            self.add(unused.errors());
        }
        reached
    }

    /// Compiles the ops that no step selects, as one of the steps' drivers or the default one would.
    fn other_ops(&mut self, reached: &Reached) {
        let named: Vec<&str> = match parameters::value(self.user, "driver") {
            Some(name) => vec![name],
            None if reached.drivers.is_empty() => vec!["mongodb"],
            None => reached.drivers.iter().map(String::as_str).collect(),
        };
        let defaults: Vec<_> = named.into_iter().filter_map(|name| prepare::driver(name).ok()).collect();
        for op in self.workload.ops.iter().filter(|op| !reached.ops.contains(&op.name)) {
            if let Err(error) = tags::check(op, self.workload) {
                self.add([error]);
                continue;
            }
            let mut op = op.clone();
            let (mut found, mut notices) = (Vec::new(), Vec::new());
            found.extend(prepare::op_ratio(&op).err());
            // Which of the steps' drivers would run it is not known: one that takes it is enough.
            let mut refused = Vec::new();
            for default in &defaults {
                let mut said = Vec::new();
                match prepare::op_driver(&mut op, default, &mut said) {
                    Ok(row) => {
                        prepare::notice_idle_params([(&op, row)], &mut said);
                        let errors = prepare::compile(&op, row, &mut said).err();
                        refused.push(errors.unwrap_or_default());
                    }
                    Err(error) => refused.push(vec![error]),
                }
                if refused.last().is_some_and(Vec::is_empty) || refused.len() == 1 {
                    notices = said;
                }
            }
            found.extend(notices);
            if !refused.iter().any(Vec::is_empty) {
                found.extend(refused.into_iter().next().unwrap_or_default());
            }
            self.add(found);
        }
    }

    /// A recipe that no op uses breaks no run; what is wrong with it is said all the same.
    fn idle_bindings(&mut self) {
        let recipes = self.workload.ops.iter().flat_map(|op| op.bindings.values());
        let recipes = recipes.chain(self.workload.document_bindings.values());
        // Ops share the recipes of their document: each is read once.
        let mut seen = HashSet::new();
        let mut odd = Vec::new();
        for recipe in recipes {
            let place = recipe.location().map(|at| (Arc::as_ptr(&at.source), at.range.start, at.range.end));
            if !seen.insert(place) {
                continue;
            }
            if let (Err(error), false) = (Program::compile(recipe), self.workload.lacks_value(recipe)) {
                let known = |other: &Diagnostic| other.location.is_some() && other.location == error.location;
                if !self.found.iter().any(known) {
                    odd.push(Diagnostic { severity: Severity::Warning, ..error });
                }
            }
        }
        self.add(odd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn checked(text: &str, user: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.yaml");
        fs::write(&path, text).expect("a file");
        let user = user.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let path = path.to_str().expect("UTF-8");
        let found = check(path, &user, &[]);
        found.iter().map(|d| d.one_line().replace(path, "f.yaml")).collect()
    }

    #[test]
    fn everything_is_said_at_once_in_the_order_of_the_lines() {
        let found = checked(
            "scenarios:\n  default:\n    a: run driver=stdout tags==block:aa cycles=5q\n    b: run drivr=stdout\n  other:\n    c: await nothing\n\
             bindings:\n  idle: Modd(5)\n  used: Mood(5)\nblocks:\n  a:\n    ops:\n      one: 'x {missing}'\n  b:\n    ops:\n      two: '{used}'\n",
            &[],
        );
        let expected = [
            ("f.yaml:3:38: error", "block:aa"),
            ("f.yaml:3:48: error", "5q"),
            ("f.yaml:4:12: error", "drivr"),
            ("f.yaml:6:14: error", "await: no activity `nothing`"),
            ("f.yaml:8:9: warning", "Modd"),
            ("f.yaml:9:9: error", "Mood"),
            ("f.yaml:13:15: error", "missing"),
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (line, (place, part)) in found.iter().zip(expected) {
            assert!(line.starts_with(place) && line.contains(part), "{line} is not {place} … {part}");
        }
    }

    #[test]
    fn what_is_wrong_with_one_step_or_scenario_hides_nothing_of_the_others() {
        let found = checked(
            "scenarios:\n  none:\n  default:\n    a: \"\"\n    b: run driver=stdout alias=fixed tags=block:zz\n    c: stop zz\n    d: wait ms=x\n    \
             e: run driver=stdout cycles=1kb\n    f: run drivr=x\nops: {x: y, z: 'TEMPLATE()'}\n",
            &[],
        );
        let expected = [
            ("f.yaml:2:3: error", "`none` has no steps"),
            ("f.yaml:4:8: error", "step `a` of scenario `default` is empty"),
            ("f.yaml:5:32: warning", "`fixed` does not contain STEP"),
            ("f.yaml:5:49: error", "block:zz"),
            ("f.yaml:7:13: error", "`x` is not a whole number"),
            ("f.yaml:8:33: error", "`kb`"),
            ("f.yaml:9:12: error", "drivr"),
            ("f.yaml:10:17: error", "has no name"),
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (line, (place, part)) in found.iter().zip(expected) {
            assert!(line.starts_with(place) && line.contains(part), "{line} is not {place} … {part}");
        }
    }

    #[test]
    fn an_op_that_no_step_selects_may_be_for_any_of_the_drivers_of_the_steps() {
        let text = "scenarios: {default: {s: run driver=stdout tags==block:a, t: run driver=mongodb tags==block:m}, \
                    wrong: run driver=stdout cycles=5q}\n\
                    blocks: {a: {ops: {x: y}}, m: {ops: {x: '{ping: 1}'}}, b: {ops: {x: plain text, z: '{ping: 1}'}}}\n";
        let found = checked(text, &[]);
        assert!(found.len() == 1 && found[0].contains("5q"), "{found:?}");
    }

    #[test]
    fn a_variable_that_must_be_given_is_no_fault_of_the_file() {
        let text = "scenarios: {default: run driver=mongodb cycles=TEMPLATE(n)}\nops: {a: '{find: \"TEMPLATE(coll)\", limit: TEMPLATE(limit)}'}\n";
        assert_eq!(checked(text, &[]), [""; 0]);
        for (limit, n, part) in [("1", "many", "many"), ("@", "1", "found `@`")] {
            let found = checked(text, &[("n", n), ("coll", "c"), ("limit", limit)]);
            assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
        }
    }

    #[test]
    fn ops_that_no_step_selects_are_checked_for_the_driver_of_the_steps() {
        let text = "scenarios: {default: {s: run driver=stdout tags==block:a}}\nblocks: {a: {ops: {x: y}}, b: {ops: {x: y, z: '{oops}'}}}\n";
        let found = checked(text, &[]);
        assert!(found.len() == 1 && found[0].contains("oops"), "{found:?}");
        assert_eq!(checked("ops: {a: plain text}\n", &[("driver", "stdout")]), [""; 0]);
        assert!(!checked("ops: {a: plain text}\n", &[]).is_empty(), "no command of MongoDB");
    }
}
