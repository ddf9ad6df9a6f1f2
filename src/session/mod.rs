//! Runs a scenario's steps: prepares every activity before anything is contacted, owns the target (given URI
//! or embedded server), starts and awaits activities in order. Parses no argv and draws nothing: what there is
//! to see goes to a [`View`].

pub mod check;
pub mod commands;
pub mod condition;
mod counters;
pub mod findmax;
mod launch;
pub mod load;
pub mod order;
pub mod parameters;
pub mod prepare;
pub mod steps;
pub mod target;
mod values;

use crate::adapters::{self, AdapterError, AdapterRow, LONGEST_CLOSE, TargetFacts};
use crate::engine::{ActivityResult, Behind, Control, Ended, Observer, Progress, Stall};
use crate::metrics::{ConnectionPoint, Frame, ServerPoint};
use crate::span::{Diagnostic, Location, Severity};
use crate::units::Rate;
use commands::check_alias;
use condition::Condition;
use findmax::Probe;
use indexmap::IndexMap;
use prepare::{Prepared, PreparedOp, Request};
use regex::Regex;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use target::Embedded;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long ops in flight may take after a stop before they are given up, so that an interrupted run ends
/// within two seconds.
const DRAIN: Duration = Duration::from_millis(1500);
const _: () = assert!(DRAIN.as_millis() + LONGEST_CLOSE.as_millis() < 2000);

/// What ends a session before its result does.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What the user asked for cannot be: nothing was contacted. Exit 2.
    #[error("{}", first_message(.0))]
    Usage(Vec<Diagnostic>),
    /// The target does not answer or refuses us. Exit 3.
    #[error("{0}")]
    Target(String),
}

impl SessionError {
    pub fn usage(diagnostic: Diagnostic) -> SessionError {
        SessionError::Usage(vec![diagnostic])
    }

    /// Says that the connection string is the environment's: whoever looks for it on the command line looks in
    /// vain.
    fn of_environment(self) -> SessionError {
        const SAID: &str = "the connection string is that of NBRS_CONNECTION in the environment";
        match self {
            SessionError::Usage(errors) => {
                SessionError::Usage(errors.into_iter().map(|error| error.help(SAID)).collect())
            }
            SessionError::Target(text) => SessionError::Target(format!("{text} ({SAID})")),
        }
    }
}

impl From<Diagnostic> for SessionError {
    fn from(diagnostic: Diagnostic) -> SessionError {
        SessionError::usage(diagnostic)
    }
}

impl From<Vec<Diagnostic>> for SessionError {
    fn from(diagnostics: Vec<Diagnostic>) -> SessionError {
        SessionError::Usage(diagnostics)
    }
}

impl From<AdapterError> for SessionError {
    fn from(error: AdapterError) -> SessionError {
        match error {
            AdapterError::Configuration(text) => SessionError::usage(Diagnostic::error(text)),
            AdapterError::Unreachable(text) => SessionError::Target(text),
        }
    }
}

fn first_message(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(|| "nothing to run".to_owned(), |d| d.message.clone())
}

/// How often a view is told where a running activity stands.
const TICK: Duration = Duration::from_millis(100);

/// A run that writes more than this into the embedded server says so first.
const LARGE: f64 = 1e9;

/// One command of a session, in order.
#[derive(Debug, Clone)]
pub enum Command {
    /// `run` (wait for its end) or `start` (go on).
    Activity {
        request: Box<Request>,
        wait: bool,
    },
    /// Waits for an activity that was started.
    Await {
        alias: String,
        place: Option<Location>,
    },
    /// Asks the activities whose alias matches one of these to stop, and waits for them.
    Stop {
        patterns: Vec<Regex>,
        place: Option<Location>,
    },
    Wait(Duration),
}

/// What holds for all activities of a session.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub includes: Vec<PathBuf>,
    /// `--data-dir`; the platform's place for user data if absent.
    pub data_dir: Option<PathBuf>,
    /// The target where an activity has no `connection=` (`NBRS_CONNECTION`).
    pub connection: Option<String>,
    /// An activity that ends by an error does not keep those after it from running.
    pub keep_going: bool,
    /// Conditions on what the run did (`--fail-if`): what they name is checked before it.
    pub fail_if: Vec<Condition>,
}

/// One op as a run's header and report name it.
#[derive(Debug, Clone)]
pub struct HeadOp {
    pub name: String,
    pub ratio: u64,
    /// Its share of the cycles, between 0 and 1.
    pub share: f64,
    /// Mean bytes as sent, by sampling.
    pub mean_bytes: Option<f64>,
    /// Its times go by the reference's names for them too.
    pub instrument: bool,
    /// The named timers that are reported with it.
    pub timers: Vec<String>,
    /// What it is called in YCSB's text.
    pub report_as: Option<String>,
    /// It comes after another op in the same cycle.
    pub follows: bool,
    /// Its bindings count its own cycles.
    pub own_cycles: bool,
}

/// What is known of an activity before its first op.
#[derive(Debug, Clone)]
pub struct Head {
    /// Position among the activities of the session.
    pub id: usize,
    pub alias: String,
    pub workload: Option<String>,
    pub scenario: Option<String>,
    pub step: Option<String>,
    pub ops: Vec<HeadOp>,
    pub cycles: Range<u64>,
    pub recycles: u64,
    pub stride: u64,
    pub threads: usize,
    pub rate: Option<Rate>,
    pub stride_rate: Option<Rate>,
    /// How long cycles are counted, if anything but their number ends them.
    pub duration: Option<Duration>,
    /// Nothing but time ends it.
    pub unbounded: bool,
    /// One for each driver, in order.
    pub targets: Vec<TargetFacts>,
    /// Bytes that will be written, by sampling.
    pub bytes_to_write: f64,
    /// The data directory if the target is the embedded server of this process.
    pub embedded: Option<PathBuf>,
    /// Sentences that a user should read before the run.
    pub notes: Vec<String>,
}

/// An activity that ended.
pub struct Finished {
    pub head: Arc<Head>,
    pub result: ActivityResult,
    /// The driver could not end well: a closed pipe, a full disk.
    pub close_error: Option<String>,
    /// How long its connections took to close.
    pub closing: Duration,
    /// What the target said of itself each second, where it does.
    pub server: Vec<ServerPoint>,
    /// Its connections: those from before the clock, then an interval each in which there was anything to tell. Empty
    /// where the driver has none.
    pub connections: Vec<ConnectionPoint>,
    /// What went wrong elsewhere in the session, so that this was stopped.
    pub stopped_by: Option<String>,
}

impl Finished {
    /// It ended by an error, so that the steps after it do not run.
    pub fn failed(&self) -> bool {
        matches!(self.result.ended, Ended::Failed { .. }) || self.close_error.is_some()
    }

    /// Ops were tried and not one succeeded.
    pub fn fruitless(&self) -> bool {
        let attempted: u64 = self.result.totals.iter().map(|op| op.attempted).sum();
        let ok: u64 = self.result.totals.iter().map(|op| op.ok).sum();
        attempted > 0 && ok == 0
    }
}

/// What became of a session.
pub struct Outcome {
    /// In the order in which they ended.
    pub finished: Vec<Finished>,
    /// What ended it early, or kept a step from starting.
    pub error: Option<SessionError>,
    /// The view was told of the error when it came.
    pub told: bool,
}

/// Whoever looks on: header, progress, notices and ends. Calls may come from several activities at once.
pub trait View: Send + Sync {
    fn notice(&self, notice: &Diagnostic);
    /// An op of the session will write to standard output, so that nothing else should.
    fn stdout_is_taken(&self);
    /// An activity is about to run its first op.
    fn begin(&self, head: &Head);
    /// Where it stands, ten times a second.
    fn progress(&self, head: &Head, progress: Progress);
    /// One second of it.
    fn frame(&self, head: &Head, frame: &Frame);
    /// An error that the policy lets pass, met for the first time.
    fn warn(&self, head: &Head, op: &str, cycle: u64, name: &str, message: &str);
    /// An interval of a second has ended with all threads busy and cycles that are late.
    fn behind(&self, head: &Head, behind: Behind);
    /// Nothing has ended for a while.
    fn stalled(&self, head: &Head, stall: &Stall);
    fn end(&self, finished: &Finished);
    /// A search for a rate is about to try its first.
    fn searching(&self, head: &Head);
    /// A rate was tried.
    fn probed(&self, finished: &Finished, probe: &Probe);
}

/// Tells a [`View`] what the engine tells of one activity.
struct Watching {
    head: Arc<Head>,
    view: Arc<dyn View>,
}

impl Observer for Watching {
    fn frame(&self, _activity: &str, frame: &Frame) {
        self.view.frame(&self.head, frame);
    }

    fn warn(&self, _activity: &str, op: &str, cycle: u64, name: &str, message: &str) {
        self.view.warn(&self.head, op, cycle, name, message);
    }

    fn behind(&self, _activity: &str, behind: Behind) {
        self.view.behind(&self.head, behind);
    }

    fn stalled(&self, _activity: &str, stall: &Stall) {
        self.view.stalled(&self.head, stall);
    }
}

/// An activity that runs.
struct Active {
    alias: String,
    control: Control,
    end: JoinHandle<Finished>,
}

enum Planned {
    Activity { prepared: Box<Prepared>, wait: bool },
    Other(Command),
}

/// Parameters that scenarios pass on to their steps, and whether a step has a use for them.
#[derive(Default)]
pub struct Unused {
    /// Name → what is wrong with it; nothing once a step has a use for it.
    names: IndexMap<String, Option<Diagnostic>>,
}

impl Unused {
    /// Takes note of an activity and of the parameters passed on to it that mean nothing there.
    pub fn note(&mut self, request: &Request, unused: &[(String, Diagnostic)]) {
        for name in &request.passed_on {
            match unused.iter().find(|(other, _)| other == name) {
                Some((_, error)) => {
                    self.names.entry(name.clone()).or_insert_with(|| Some(error.clone()));
                }
                None => {
                    self.names.insert(name.clone(), None);
                }
            }
        }
    }

    /// What is wrong with the parameters that no step has a use for.
    pub fn errors(self) -> Vec<Diagnostic> {
        let unused = self.names.into_values().flatten();
        unused
            .map(|error| Diagnostic { message: format!("no step uses it: {}", error.message), ..error })
            .collect()
    }
}

struct Session<'a> {
    settings: &'a Settings,
    view: Arc<dyn View>,
    interrupt: watch::Receiver<bool>,
    embedded: Option<Embedded>,
    active: Vec<Active>,
    finished: Vec<Finished>,
    launched: usize,
    /// What went wrong first, in words, unless the session keeps going: all that runs is stopped.
    failure: watch::Sender<Option<String>>,
    /// The first error that kept a step from starting in a session that keeps going.
    passed: Option<SessionError>,
}

/// Runs `commands` to their end, or until `interrupt` becomes true.
pub async fn run(
    commands: Vec<Command>,
    settings: &Settings,
    view: Arc<dyn View>,
    interrupt: watch::Receiver<bool>,
) -> Outcome {
    let mut session = Session::new(settings, view, interrupt);
    let mut error = session.run_all(commands).await.err();
    if error.is_some() {
        fail(&session.failure, "an error of the step after it".to_owned());
    }
    if let Err(late) = session.end().await {
        error.get_or_insert(late);
    }
    let told = error.is_none() && session.passed.is_some();
    Outcome { finished: session.finished, error: error.or(session.passed), told }
}

impl<'a> Session<'a> {
    fn new(settings: &'a Settings, view: Arc<dyn View>, interrupt: watch::Receiver<bool>) -> Session<'a> {
        Session {
            settings,
            view,
            interrupt,
            embedded: None,
            active: Vec::new(),
            finished: Vec::new(),
            launched: 0,
            failure: watch::Sender::new(None),
            passed: None,
        }
    }
}

/// Says what went wrong, if nothing did before.
fn fail(failure: &watch::Sender<Option<String>>, what: String) {
    failure.send_if_modified(|first| first.is_none() && first.replace(what).is_none());
}

impl Session<'_> {
    /// Waits for all activities and stops the embedded server.
    async fn end(&mut self) -> Result<(), SessionError> {
        self.join(|_| true).await;
        self.embedded.take().map_or(Ok(()), Embedded::stop)
    }

    async fn run_all(&mut self, commands: Vec<Command>) -> Result<(), SessionError> {
        self.failure.send_replace(None);
        let planned = self.plan(commands)?;
        let takes_stdout =
            |step: &Planned| matches!(step, Planned::Activity { prepared, .. } if prepared.uses_stdout());
        if planned.iter().any(takes_stdout) {
            self.view.stdout_is_taken();
        }
        self.check_space(&planned)?;
        self.check_connections(&planned)?;
        for step in planned {
            if *self.interrupt.borrow() || self.failure.borrow().is_some() {
                break;
            }
            match step {
                Planned::Activity { prepared, wait } => {
                    let id = self.launched;
                    match self.launch(*prepared).await {
                        Err(error) if self.settings.keep_going => self.pass(error),
                        launched => launched?,
                    }
                    if wait && self.launched > id {
                        let last = self.active.len() - 1;
                        self.join(|at| at == last).await;
                    }
                }
                Planned::Other(Command::Await { alias, place }) => {
                    let known = self.active.iter().any(|a| a.alias == alias)
                        || self.finished.iter().any(|f| f.head.alias == alias);
                    // One that could not start is none to wait for.
                    if !known && self.passed.is_none() {
                        return Err(Diagnostic::error(format!("await: no activity `{alias}` was started"))
                            .at(place)
                            .into());
                    }
                    let aliases: Vec<bool> = self.active.iter().map(|a| a.alias == alias).collect();
                    self.join(|at| aliases.get(at).copied().unwrap_or(false)).await;
                }
                Planned::Other(Command::Stop { patterns, .. }) => {
                    let hit: Vec<bool> = self
                        .active
                        .iter()
                        .map(|active| patterns.iter().any(|p| p.is_match(&active.alias)))
                        .collect();
                    for (active, hit) in self.active.iter().zip(&hit) {
                        if *hit {
                            active.control.stop();
                        }
                    }
                    self.join(|at| hit.get(at).copied().unwrap_or(false)).await;
                }
                Planned::Other(Command::Wait(time)) => {
                    let mut interrupt = self.interrupt.clone();
                    let mut failure = self.failure.subscribe();
                    tokio::select! {
                        () = tokio::time::sleep(time) => {}
                        _ = interrupt.wait_for(|stop| *stop) => {}
                        _ = failure.wait_for(Option::is_some) => {}
                    }
                }
                Planned::Other(Command::Activity { .. }) => {}
            }
        }
        Ok(())
    }

    /// Takes note of an error that kept a step from starting, and goes on.
    fn pass(&mut self, error: SessionError) {
        match &error {
            SessionError::Usage(errors) => errors.iter().for_each(|error| self.view.notice(error)),
            SessionError::Target(text) => self.view.notice(&Diagnostic::error(text)),
        }
        self.passed.get_or_insert(error);
    }

    /// Prepares every activity, so that a slip in the last step is said before the first one runs.
    fn plan(&self, commands: Vec<Command>) -> Result<Vec<Planned>, SessionError> {
        let mut planned = Vec::new();
        let mut errors: Vec<Diagnostic> = Vec::new();
        let mut said: Vec<Diagnostic> = Vec::new();
        let mut aliases: Vec<String> = Vec::new();
        let mut unused = Unused::default();
        for command in commands {
            let Command::Activity { request, wait } = &command else {
                match check_alias(&command, &aliases) {
                    Some(notice) if notice.severity == Severity::Warning => self.view.notice(&notice),
                    other => errors.extend(other),
                }
                planned.push(Planned::Other(command));
                continue;
            };
            match prepare::prepare(request, &self.settings.includes) {
                Ok(prepared) => {
                    // Steps of one scenario load the same file: what is odd in it is said once.
                    for notice in &prepared.notices {
                        if !said.contains(notice) {
                            self.view.notice(notice);
                            said.push(notice.clone());
                        }
                    }
                    unused.note(request, &prepared.unused);
                    aliases.push(prepared.alias.clone());
                    planned.push(Planned::Activity { prepared: Box::new(prepared), wait: *wait });
                }
                Err(SessionError::Usage(found)) => {
                    errors.extend(found.into_iter().filter(|d| !errors.contains(d)).collect::<Vec<_>>());
                }
                Err(other) => return Err(other),
            }
        }
        errors.extend(if errors.is_empty() { unused.errors() } else { Vec::new() });
        if errors.is_empty() {
            errors.extend(self.check_conditions(&planned));
        }
        if errors.is_empty() { Ok(planned) } else { Err(SessionError::Usage(errors)) }
    }

    /// What conditions name that no activity has.
    fn check_conditions(&self, planned: &[Planned]) -> Vec<Diagnostic> {
        let activities = planned.iter().filter_map(|step| match step {
            Planned::Activity { prepared, .. } => Some(prepared),
            Planned::Other(_) => None,
        });
        let mut names: Vec<&str> = Vec::new();
        let mut paced = false;
        for prepared in activities {
            names.push(&prepared.alias);
            names.extend(prepared.ops.iter().map(|op| op.name.as_str()));
            paced |= prepared.load.cycle_rate.is_some() || prepared.load.stride_rate.is_some();
        }
        let conditions = self.settings.fail_if.iter();
        conditions.filter_map(|condition| condition.check_names(&names, paced).err()).collect()
    }

    fn data_dir(&self) -> Result<PathBuf, SessionError> {
        self.settings.data_dir.clone().map_or_else(target::default_data_dir, Ok)
    }

    /// Where ops go that do not say so themselves.
    fn asked<'p>(&'p self, prepared: &'p Prepared) -> Asked<'p> {
        let open = |op: &PreparedOp| takes_connection(op.driver) && op.plan.connection.is_none();
        match (prepared.parameters.get("connection"), &self.settings.connection) {
            _ if !prepared.ops.iter().any(open) => Asked::Nothing,
            (Some(uri), _) => Asked::Given(uri),
            (None, Some(uri)) => Asked::Environment(uri),
            (None, None) => Asked::Embedded,
        }
    }

    /// Refuses a run that cannot fit on the disk, and speaks up before a large one.
    fn check_space(&self, planned: &[Planned]) -> Result<(), SessionError> {
        let mut total = 0.0;
        let mut embedded = false;
        for step in planned {
            if let Planned::Activity { prepared, .. } = step
                && self.asked(prepared) == Asked::Embedded
            {
                embedded = true;
                total += prepared.bytes_to_write();
            }
        }
        if !embedded {
            if self.settings.data_dir.is_some() {
                self.view.notice(&Diagnostic::warning(
                    "--data-dir has no effect: no activity of this run uses the embedded server",
                ));
            }
            return Ok(());
        }
        let dir = self.data_dir()?;
        if let Some(free) = target::free_bytes(&dir)
            && total > free as f64
        {
            return Err(Diagnostic::error(format!(
                "this run would write about {} into the embedded server at {}, where {} are free",
                on_disk(total),
                dir.display(),
                on_disk(free as f64)
            ))
            .help("give fewer cycles or smaller values, --data-dir on a larger disk, or connection= for a server of yours")
            .into());
        }
        if total > LARGE {
            self.view.notice(
                &Diagnostic::warning(format!(
                    "this run will write about {} into the embedded server at {}",
                    on_disk(total),
                    dir.display()
                ))
                .help("`nbrs server --drop` empties it"),
            );
        }
        Ok(())
    }

    /// Refuses a run whose connections need more open files or ports than this process may have: a smaller test is
    /// not the same test.
    fn check_connections(&self, planned: &[Planned]) -> Result<(), SessionError> {
        let (files, ports) = (target::open_files_limit(), adapters::local_ports());
        for step in planned {
            let Planned::Activity { prepared, .. } = step else { continue };
            let asked = self.asked(prepared);
            let (mut connections, mut ends) = (0, 0);
            for client in prepared.clients().into_iter().filter(|op| takes_connection(op.driver)) {
                let own = client.plan.connection.as_deref();
                let pool = own.or(asked.uri()).and_then(target::pool_limit).unwrap_or(u64::MAX);
                let opened = pool.min(prepared.threads as u64);
                target::check_ports(&prepared.alias, opened, ports)?;
                connections += opened;
                // The embedded server holds the other end of each.
                ends += if own.is_none() && asked == Asked::Embedded { 2 * opened } else { opened };
            }
            target::check_files(&prepared.alias, connections, ends, files)?;
        }
        Ok(())
    }

    /// Waits for the active activities that `which` names by position.
    async fn join(&mut self, which: impl Fn(usize) -> bool) {
        let mut rest = Vec::new();
        for (at, active) in std::mem::take(&mut self.active).into_iter().enumerate() {
            if !which(at) {
                rest.push(active);
                continue;
            }
            if let Ok(finished) = active.end.await {
                self.finished.push(finished);
            }
        }
        self.active = rest;
    }
}

fn takes_connection(row: &AdapterRow) -> bool {
    row.parameters.iter().any(|parameter| parameter.name == "connection")
}

/// Bytes on a disk, in the unit that disks are sold by.
fn on_disk(bytes: f64) -> String {
    match bytes {
        _ if bytes >= 1e12 => format!("{:.2} TB", bytes / 1e12),
        _ if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        _ if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        _ if bytes >= 1e3 => format!("{:.1} KB", bytes / 1e3),
        _ => format!("{bytes:.0} B"),
    }
}

/// Where the ops of an activity go that do not say so themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked<'a> {
    /// There are none, or their driver connects to nothing.
    Nothing,
    /// To the embedded server: nobody gave a connection string.
    Embedded,
    /// Where `connection=` says.
    Given(&'a str),
    /// Where the environment says.
    Environment(&'a str),
}

impl<'a> Asked<'a> {
    fn uri(self) -> Option<&'a str> {
        match self {
            Asked::Nothing | Asked::Embedded => None,
            Asked::Given(uri) | Asked::Environment(uri) => Some(uri),
        }
    }
}
