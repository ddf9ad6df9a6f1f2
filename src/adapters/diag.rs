//! The `diag` driver: ops that contact nothing, to try workloads, rates and error policies.
//!
//! Each field of an op is a task, run in order: `noop`, `log`, `delay`, `fail`, `erroroncycle`, `initdelay`. The
//! field's name is the task, unless its value says `type=`; the value is `parameter=value …`, or the one
//! value that the task is about (`delay: 5ms`). An op text lists tasks: `delay=5ms fail=Busy`.

use super::{
    Adapter, AdapterError, AdapterRow, Config, Dispenser, Failure, Outcome, Parameter, Run, Scratch,
    TargetFacts,
};
use crate::functions::Context;
use crate::plan::{BindError, Body, Field, Form, OpPlan};
use crate::span::{Diagnostic, Text, nearest};
use crate::units;
use crate::workload::{Data, Node, OpTemplate};
use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub static ROW: AdapterRow = AdapterRow {
    name: "diag",
    help: "contacts nothing: waits, logs or fails on chosen cycles",
    form: Form::Fields,
    check,
    parameters: &[Parameter {
        name: "erroronclose",
        default: Some("false"),
        help: "whether to fail when the activity ends",
    }],
    connect: |config| Box::pin(async move { connect(&config) }),
    synthesise: Some(synthesise),
};

fn connect(config: &Config) -> Result<Arc<dyn Adapter>, AdapterError> {
    let error_on_close = match config.parameters.get("erroronclose").map(String::as_str) {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => {
            let message = format!("`erroronclose={other}` is neither true nor false");
            return Err(AdapterError::Configuration(message));
        }
    };
    let facts = TargetFacts { kind: "diag".to_owned(), ..TargetFacts::default() };
    Ok(Arc::new(Diag { facts, error_on_close, init_delay: Mutex::new(Duration::ZERO) }))
}

/// The op of a workload that has none: logs every cycle.
fn synthesise(_: &IndexMap<String, Text>, _: &IndexMap<String, String>) -> Result<OpTemplate, String> {
    let log = Node { data: Data::Text(Text::unplaced("level=INFO")), location: None };
    Ok(OpTemplate {
        name: "synthetic".to_owned(),
        block: "synthetic".to_owned(),
        description: None,
        op: IndexMap::from([("log".to_owned(), log)]),
        params: IndexMap::new(),
        bindings: IndexMap::new(),
        tags: IndexMap::new(),
        location: None,
    })
}

/// The tasks of an op in their order, or what is wrong with one of them.
fn tasks(plan: &OpPlan) -> Vec<Result<Task, Diagnostic>> {
    let Body::Fields(fields) = &plan.body else { return Vec::new() };
    let mut tasks = Vec::new();
    for Field { name, text, location } in fields {
        let read = match text.literal() {
            Some(text) if name == "stmt" => statement(text),
            Some(text) => task(name, text).map(|task| vec![task]),
            None => Err(format!("the task `{name}` cannot depend on the cycle")),
        };
        match read {
            Ok(read) => tasks.extend(read.into_iter().map(Ok)),
            Err(message) => {
                let message = format!("op `{}`: {message}", plan.name);
                tasks.push(Err(Diagnostic::error(message).at(location.clone())));
            }
        }
    }
    tasks
}

fn no_task(plan: &OpPlan) -> String {
    let known: Vec<&str> = TASKS.iter().map(|(name, _)| *name).collect();
    format!("op `{}` has no task; the tasks are {}", plan.name, known.join(", "))
}

fn check(plan: &OpPlan) -> Vec<Diagnostic> {
    let tasks = tasks(plan);
    if tasks.is_empty() {
        return vec![Diagnostic::error(no_task(plan))];
    }
    tasks.into_iter().filter_map(Result::err).collect()
}

struct Diag {
    facts: TargetFacts,
    error_on_close: bool,
    /// What all `initdelay` tasks ask for together.
    init_delay: Mutex<Duration>,
}

impl Adapter for Diag {
    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn dispenser(&self, plan: OpPlan) -> Result<Arc<dyn Dispenser>, AdapterError> {
        let tasks = tasks(&plan)
            .into_iter()
            .collect::<Result<Vec<Task>, Diagnostic>>()
            .map_err(|error| AdapterError::Configuration(error.message))?;
        if tasks.is_empty() {
            return Err(AdapterError::Configuration(no_task(&plan)));
        }
        let mut init_delay = self.init_delay.lock().unwrap_or_else(PoisonError::into_inner);
        for task in &tasks {
            if let Task::InitDelay(delay) = task {
                *init_delay += *delay;
            }
        }
        Ok(Arc::new(Tasks(tasks)))
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        let delay = *self.init_delay.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            Ok(())
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async {
            match self.error_on_close {
                true => Err(AdapterError::Unreachable("diag was asked to fail when it closes".to_owned())),
                false => Ok(()),
            }
        })
    }
}

/// The cycles that a task applies to.
#[derive(Debug, Clone, PartialEq)]
enum Chosen {
    All,
    /// Multiples of this.
    Every(u64),
    In(Vec<Range<u64>>),
}

impl Chosen {
    fn has(&self, cycle: i64) -> bool {
        let Ok(cycle) = u64::try_from(cycle) else { return matches!(self, Chosen::All) };
        match self {
            Chosen::All => true,
            Chosen::Every(n) => cycle.is_multiple_of(*n),
            Chosen::In(ranges) => ranges.iter().any(|range| range.contains(&cycle)),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Task {
    Noop,
    /// A line on stderr for every multiple of `modulo`.
    Log {
        level: String,
        modulo: u64,
    },
    Delay {
        delay: Duration,
        chosen: Chosen,
    },
    Fail {
        name: String,
        chosen: Chosen,
    },
    ErrorOnCycle(u64),
    /// Done before the clock starts.
    InitDelay(Duration),
}

/// Task → its parameters; the first is the one that a lone value is for.
const TASKS: &[(&str, &[&str])] = &[
    ("noop", &[]),
    ("log", &["level", "modulo"]),
    ("delay", &["delay", "every", "cycles"]),
    ("fail", &["fail", "every", "cycles"]),
    ("erroroncycle", &["erroroncycle"]),
    ("initdelay", &["initdelay"]),
];

/// What a logged line may be marked as.
const LEVELS: &[&str] = &["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];

/// Tasks of the reference that are not built.
const NOT_BUILT: &[&str] = &["diagrate", "gauge"];

/// Tasks of an op text: one word, or `task=value` and `task:parameter=value` apart by blanks. A parameter
/// that follows its task belongs to it: `fail=Busy fail:every=2` is one task.
fn statement(text: &str) -> Result<Vec<Task>, String> {
    let mut tasks: Vec<(&str, String)> = Vec::new();
    for word in text.split_whitespace() {
        let Some(at) = word.find(['=', ':']) else {
            tasks.push((word, String::new()));
            continue;
        };
        let (name, value, parameter) = (&word[..at], &word[at + 1..], word[at..].starts_with(':'));
        match tasks.last_mut() {
            Some((last, given)) if parameter && *last == name => {
                // A lone value is the task's own parameter, which has the task's name.
                if !given.is_empty() && !given.contains('=') {
                    *given = format!("{name}={given}");
                }
                given.push(' ');
                given.push_str(value);
            }
            _ => tasks.push((name, value.to_owned())),
        }
    }
    tasks.iter().map(|(name, text)| task(name, text)).collect()
}

/// The task of the field `field` with the value `text`.
fn task(field: &str, text: &str) -> Result<Task, String> {
    let text = text.trim();
    let mut given: IndexMap<&str, &str> = IndexMap::new();
    let mut kind = field;
    if text.contains('=') {
        for word in text.split([' ', '\t', '\n', ';']).filter(|word| !word.is_empty()) {
            let Some((name, value)) = word.split_once('=') else {
                return Err(format!("task `{field}`: `{word}` is not of the form parameter=value"));
            };
            match name {
                "type" => kind = value,
                // A label, in the reference: the field's own name serves.
                "name" => {}
                _ if given.insert(name, value).is_some() => {
                    return Err(format!("task `{field}`: `{name}` is given twice"));
                }
                _ => {}
            }
        }
    } else if known(text).is_some() || field == "type" {
        kind = text;
    } else if !text.is_empty() {
        match known(field) {
            Some([own, ..]) => {
                given.insert(own, text);
            }
            Some([]) => return Err(format!("task `{field}` takes no value")),
            None => {}
        }
    }
    let Some(parameters) = known(kind) else {
        if NOT_BUILT.contains(&kind) {
            return Err(format!("the task `{kind}` is not supported yet"));
        }
        let names: Vec<&str> = TASKS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no task is named `{kind}`{}", hint(kind, &names)));
    };
    if let Some(unknown) = given.keys().find(|name| !parameters.contains(name)) {
        return Err(format!("task `{kind}` has no parameter `{unknown}`{}", hint(unknown, parameters)));
    }
    let wrong = |name: &str, error: units::UnitError| format!("task `{kind}`: `{name}`: {error}");
    let number = |name: &'static str, default: u64| match given.get(name) {
        Some(text) => units::count(text).map_err(|error| wrong(name, error)),
        None => Ok(default),
    };
    let positive = |name: &'static str, default: u64| match number(name, default)? {
        0 => Err(format!("task `{kind}`: `{name}` is at least 1")),
        n => Ok(n),
    };
    let duration = |name: &'static str| match given.get(name) {
        Some(text) => units::duration(text).map_err(|error| wrong(name, error)),
        None => Err(format!("task `{kind}` takes a duration, such as `{kind}=5ms`")),
    };
    let chosen = || match (given.get("every"), given.get("cycles")) {
        (None, None) => Ok(Chosen::All),
        (Some(_), None) => positive("every", 1).map(Chosen::Every),
        (None, Some(list)) => list
            .split(',')
            .map(|item| match item.contains("..") {
                true => units::cycles(item).map_err(|error| wrong("cycles", error)),
                false => {
                    units::count(item).map(|n| n..n.saturating_add(1)).map_err(|error| wrong("cycles", error))
                }
            })
            .collect::<Result<_, _>>()
            .map(Chosen::In),
        (Some(_), Some(_)) => Err(format!("task `{kind}` takes `every` or `cycles`, not both")),
    };
    Ok(match kind {
        "noop" => Task::Noop,
        "log" => {
            let level = given.get("level").unwrap_or(&"INFO").to_uppercase();
            if !LEVELS.contains(&level.as_str()) {
                return Err(format!("task `log`: `level={level}` is none of {}", LEVELS.join(", ")));
            }
            Task::Log { level, modulo: positive("modulo", 1)? }
        }
        "delay" => Task::Delay { delay: duration("delay")?, chosen: chosen()? },
        "fail" => {
            Task::Fail { name: (*given.get("fail").unwrap_or(&"DiagFailure")).to_owned(), chosen: chosen()? }
        }
        "erroroncycle" => Task::ErrorOnCycle(number("erroroncycle", 1)?),
        _ => Task::InitDelay(duration("initdelay")?),
    })
}

fn known(task: &str) -> Option<&'static [&'static str]> {
    TASKS.iter().find(|(name, _)| *name == task).map(|(_, parameters)| *parameters)
}

fn hint(wanted: &str, known: &[&'static str]) -> String {
    match nearest(wanted, known.iter().copied()).first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => "; it takes none".to_owned(),
        None => format!("; there are {}", known.join(", ")),
    }
}

struct Tasks(Vec<Task>);

impl Dispenser for Tasks {
    fn bind(&self, _cycle: i64, _context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError> {
        scratch.bytes.clear();
        Ok(())
    }

    fn run<'a>(&'a self, cycle: i64, _scratch: &'a mut Scratch) -> Run<'a> {
        run(&self.0, cycle)
    }
}

/// Runs tasks until one has to wait; the rest goes on from there.
fn run(tasks: &[Task], cycle: i64) -> Run<'_> {
    let failed = |name: &str, exception, message| {
        let failure = Failure { name: name.to_owned().into(), exception, message, ..Failure::default() };
        Run::Ready(Outcome { failure: Some(failure), ..Outcome::default() })
    };
    for (index, task) in tasks.iter().enumerate() {
        match task {
            Task::Noop | Task::InitDelay(_) => {}
            Task::Log { level, modulo } => {
                if cycle.rem_euclid(i64::try_from(*modulo).unwrap_or(i64::MAX)) == 0 {
                    // Nobody to tell if stderr is gone.
                    let _ = writeln!(std::io::stderr(), "{level} DIAG cycle={cycle}");
                }
            }
            Task::Delay { delay, chosen } => {
                if chosen.has(cycle) {
                    let rest = &tasks[index + 1..];
                    return Run::Pending(Box::pin(async move {
                        tokio::time::sleep(*delay).await;
                        run(rest, cycle).await
                    }));
                }
            }
            Task::Fail { name, chosen } => {
                if chosen.has(cycle) {
                    return failed(name, None, format!("diag was asked to fail on cycle {cycle}"));
                }
            }
            Task::ErrorOnCycle(chosen) => {
                if u64::try_from(cycle) == Ok(*chosen) {
                    let message = format!("Diag was requested to stop on cycle {cycle}");
                    return failed("RuntimeException", Some("RuntimeException"), message);
                }
            }
        }
    }
    Run::Ready(Outcome::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_name_tasks() {
        let ms = Duration::from_millis;
        let cases: &[(&str, &str, Task)] = &[
            ("noop", "", Task::Noop),
            ("type", "noop", Task::Noop),
            ("anything", "noop", Task::Noop),
            ("anything", "type=noop", Task::Noop),
            ("noop", "name=x", Task::Noop),
            ("log", "level=WARN", Task::Log { level: "WARN".into(), modulo: 1 }),
            ("log", "level=info modulo=1k", Task::Log { level: "INFO".into(), modulo: 1000 }),
            ("erroroncycle", "erroroncycle=5", Task::ErrorOnCycle(5)),
            ("erroroncycle", "5", Task::ErrorOnCycle(5)),
            ("erroroncycle", "", Task::ErrorOnCycle(1)),
            ("initdelay", "initdelay=20", Task::InitDelay(ms(20))),
            ("delay", "5ms", Task::Delay { delay: ms(5), chosen: Chosen::All }),
            ("delay", "5", Task::Delay { delay: ms(5), chosen: Chosen::All }),
            ("delay", "delay=1s every=10", Task::Delay { delay: ms(1000), chosen: Chosen::Every(10) }),
            ("fail", "Busy", Task::Fail { name: "Busy".into(), chosen: Chosen::All }),
            ("fail", "every=2", Task::Fail { name: "DiagFailure".into(), chosen: Chosen::Every(2) }),
            (
                "fail",
                "fail=Busy cycles=3,7..9",
                Task::Fail { name: "Busy".into(), chosen: Chosen::In(vec![3..4, 7..9]) },
            ),
        ];
        for (field, text, expected) in cases {
            assert_eq!(task(field, text).as_ref(), Ok(expected), "{field}: {text}");
        }
    }

    #[test]
    fn an_op_text_lists_tasks() {
        let log = Task::Log { level: "WARN".into(), modulo: 1 };
        assert_eq!(statement("noop"), Ok(vec![Task::Noop]));
        assert_eq!(statement("log:level=WARN erroroncycle=5"), Ok(vec![log, Task::ErrorOnCycle(5)]));
        let half = Task::Fail { name: "Busy".into(), chosen: Chosen::Every(2) };
        assert_eq!(statement("fail=Busy fail:every=2"), Ok(vec![half.clone()]));
        assert_eq!(statement("fail:fail=Busy fail:every=2 noop"), Ok(vec![half, Task::Noop]));
    }

    #[test]
    fn a_task_that_cannot_be_says_why() {
        let cases: &[(&str, &str, &str)] = &[
            ("nop", "", "no task is named `nop`; did you mean `noop`?"),
            ("x", "type=dely", "no task is named `dely`; did you mean `delay`?"),
            ("delay", "", "takes a duration"),
            ("delay", "5 parsecs", "`delay`"),
            ("delay", "delay=5ms evry=2", "no parameter `evry`; did you mean `every`?"),
            ("fail", "every=0", "at least 1"),
            ("fail", "every=2 cycles=3", "not both"),
            ("fail", "every=2 every=3", "given twice"),
            ("noop", "5", "takes no value"),
            ("diagrate", "diagrate=500", "`diagrate` is not supported yet"),
            ("log", "interval=5", "no parameter `interval`"),
            ("log", "level=LOUD", "none of TRACE, DEBUG, INFO"),
        ];
        for (field, text, expected) in cases {
            let error = task(field, text).expect_err(field);
            assert!(error.contains(expected), "{field}: {text}: {error}");
        }
    }

    #[test]
    fn tasks_fail_on_chosen_cycles_and_otherwise_need_no_waiting() {
        let tasks =
            [Task::Noop, task("fail", "fail=Busy cycles=3,7..9").expect("a task"), Task::ErrorOnCycle(5)];
        let failures: Vec<(i64, String)> = (0..10)
            .filter_map(|cycle| match run(&tasks, cycle) {
                Run::Ready(outcome) => outcome.failure.map(|failure| (cycle, failure.name.into_owned())),
                _ => panic!("nothing is to be awaited"),
            })
            .collect();
        let expected = [(3, "Busy"), (5, "RuntimeException"), (7, "Busy"), (8, "Busy")];
        assert_eq!(failures, expected.map(|(cycle, name)| (cycle, name.to_owned())));
    }

    #[tokio::test]
    async fn a_delay_holds_back_what_follows_it() {
        let tasks = [task("delay", "20ms").expect("a task"), task("fail", "Late").expect("a task")];
        let begun = tokio::time::Instant::now();
        let outcome = run(&tasks, 0).await;
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!(outcome.failure.map(|failure| failure.name.into_owned()).as_deref(), Some("Late"));
    }
}
