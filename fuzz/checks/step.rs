//! A step of a scenario, and what a user gives to it: it is planned, or refused with what can be drawn.

use indexmap::IndexMap;
use nbrs::session::{self, steps};
use nbrs::span::Text;
use nbrs::workload::{Scenario, Step, Workload};

pub fn check(input: (String, String, String)) {
    let (command, name, value) = input;
    let command = Text::of_source("f.yaml", command);
    let location = command.location();
    let step = Step { name: "s".to_owned(), command, location };
    let scenario = Scenario { name: "default".to_owned(), steps: vec![step] };
    let workload = Workload { scenarios: vec![scenario], ..Workload::default() };
    let user = IndexMap::from([(name, value)]);
    let (plan, errors) = steps::examine(&workload, "w.yaml", &[], &user);
    for found in plan.notices.iter().chain(&errors) {
        let _ = (found.one_line(), found.render(false));
    }
    for step in plan.steps {
        // A planned step can be shown again and becomes a command, or says why not.
        if let Ok(session::Command::Activity { request, .. }) = steps::command(step) {
            assert!(request.parameters.keys().all(|name| !name.is_empty()) || user.contains_key(""));
        }
    }
}
