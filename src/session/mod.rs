//! Runs a scenario's steps: prepares every activity before anything is contacted, owns the target (given URI
//! or embedded server), starts and awaits activities in order. Parses no argv and draws nothing: what there is
//! to see goes to a [`View`].

pub mod check;
pub mod condition;
mod counters;
pub mod findmax;
pub mod load;
pub mod parameters;
pub mod prepare;
pub mod steps;
pub mod target;

use crate::adapters::{self, Adapter, AdapterError, AdapterRow, Config, LONGEST_CLOSE, TargetFacts};
use crate::engine::{
    self, Activity, ActivityOp, ActivityResult, Behind, Control, Ended, Journal, Observer, Progress, Running,
    Stall,
};
use crate::metrics::{Frame, ServerPoint};
use crate::span::{Diagnostic, Severity, nearest};
use crate::units::Rate;
use condition::Condition;
use findmax::Probe;
use indexmap::IndexMap;
use prepare::{Prepared, Request};
use regex::Regex;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
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

/// Files that a run needs besides its connections: the store's, the runtime's, the driver's monitors.
const OTHER_FILES: u64 = 60;

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
    Await(String),
    /// Asks the activities whose alias matches one of these to stop, and waits for them.
    Stop(Vec<Regex>),
    WaitMillis(u64),
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
    /// What the target said of itself each second, where it does.
    pub server: Vec<ServerPoint>,
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
    /// What ended it early.
    pub error: Option<SessionError>,
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
    if error.is_some() || *session.interrupt.borrow() {
        for active in &session.active {
            active.control.stop();
        }
    }
    if let Err(late) = session.end().await {
        error.get_or_insert(late);
    }
    Outcome { finished: session.finished, error }
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
        }
    }
}

impl Session<'_> {
    /// Waits for all activities and stops the embedded server.
    async fn end(&mut self) -> Result<(), SessionError> {
        self.join(|_| true).await;
        self.embedded.take().map_or(Ok(()), Embedded::stop)
    }

    async fn run_all(&mut self, commands: Vec<Command>) -> Result<(), SessionError> {
        let planned = self.plan(commands)?;
        let takes_stdout =
            |step: &Planned| matches!(step, Planned::Activity { prepared, .. } if prepared.uses_stdout());
        if planned.iter().any(takes_stdout) {
            self.view.stdout_is_taken();
        }
        self.check_space(&planned)?;
        self.check_files(&planned)?;
        for step in planned {
            let failed = !self.settings.keep_going && self.finished.iter().any(Finished::failed);
            if *self.interrupt.borrow() || failed {
                break;
            }
            match step {
                Planned::Activity { prepared, wait } => {
                    let id = self.launched;
                    self.launch(*prepared).await?;
                    if wait && self.launched > id {
                        let last = self.active.len() - 1;
                        self.join(|at| at == last).await;
                    }
                }
                Planned::Other(Command::Await(alias)) => {
                    let known = self.active.iter().any(|a| a.alias == alias)
                        || self.finished.iter().any(|f| f.head.alias == alias);
                    if !known {
                        return Err(
                            Diagnostic::error(format!("await: no activity `{alias}` was started")).into()
                        );
                    }
                    let aliases: Vec<bool> = self.active.iter().map(|a| a.alias == alias).collect();
                    self.join(|at| aliases.get(at).copied().unwrap_or(false)).await;
                }
                Planned::Other(Command::Stop(patterns)) => {
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
                Planned::Other(Command::WaitMillis(millis)) => {
                    let mut interrupt = self.interrupt.clone();
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(millis)) => {}
                        _ = interrupt.wait_for(|stop| *stop) => {}
                    }
                }
                Planned::Other(Command::Activity { .. }) => {}
            }
        }
        Ok(())
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

    /// The activity's ops go to the embedded server: a driver takes a `connection` and nobody gave one.
    fn wants_embedded(&self, prepared: &Prepared) -> bool {
        self.settings.connection.is_none()
            && !prepared.parameters.contains_key("connection")
            && prepared.drivers().iter().any(|row| takes_connection(row))
    }

    /// Refuses a run that cannot fit on the disk, and speaks up before a large one.
    fn check_space(&self, planned: &[Planned]) -> Result<(), SessionError> {
        let mut total = 0.0;
        let mut embedded = false;
        for step in planned {
            if let Planned::Activity { prepared, .. } = step
                && self.wants_embedded(prepared)
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

    /// Refuses a run whose connections need more open files than this process may have: a smaller test is not
    /// the same test.
    fn check_files(&self, planned: &[Planned]) -> Result<(), SessionError> {
        let Some(limit) = target::open_files_limit() else { return Ok(()) };
        for step in planned {
            let Planned::Activity { prepared, .. } = step else { continue };
            if !prepared.drivers().iter().any(|row| takes_connection(row)) {
                continue;
            }
            let uri = prepared.parameters.get("connection").or(self.settings.connection.as_ref());
            let pool = uri.and_then(|uri| target::pool_limit(uri)).unwrap_or(u64::MAX);
            let connections = pool.min(prepared.threads as u64);
            // The embedded server holds the other end of each.
            let ends = if self.wants_embedded(prepared) { 2 } else { 1 };
            let need = connections * ends + OTHER_FILES;
            if need > limit {
                return Err(Diagnostic::error(format!(
                    "`{}` needs about {need} open files for its {connections} connections, and this process may \
                     have {limit}",
                    prepared.alias
                ))
                .help("raise the limit (`ulimit -n`), or give fewer threads or a maxPoolSize in the URI")
                .into());
            }
        }
        Ok(())
    }

    /// Connects and starts one activity. Returns without starting it if it was interrupted meanwhile.
    async fn launch(&mut self, mut prepared: Prepared) -> Result<(), SessionError> {
        let mut from_environment = false;
        let embedded = if self.wants_embedded(&prepared) {
            let dir = self.data_dir()?;
            let server = match self.embedded.take() {
                Some(server) => server,
                None => Embedded::start(&dir)?,
            };
            prepared.parameters.insert("connection".to_owned(), server.uri());
            self.embedded = Some(server);
            Some(dir)
        } else {
            if let Some(uri) = &self.settings.connection
                && prepared.drivers().iter().any(|row| takes_connection(row))
                && !prepared.parameters.contains_key("connection")
            {
                prepared.parameters.insert("connection".to_owned(), uri.clone());
                from_environment = true;
            }
            None
        };

        let mut interrupt = self.interrupt.clone();
        let adapters = tokio::select! {
            adapters = connect(&prepared) => adapters.map_err(|error| match from_environment {
                true => error.of_environment(),
                false => error,
            })?,
            _ = interrupt.wait_for(|stop| *stop) => return Ok(()),
        };
        let journal = self.journal(&prepared)?;
        let head = Arc::new(head_of(&prepared, self.launched, embedded, &adapters));
        let mut ops = Vec::new();
        for op in prepared.ops {
            let adapter =
                adapters.iter().find(|(row, _)| row.name == op.driver.name).map(|(_, adapter)| adapter);
            if let Some(adapter) = adapter {
                ops.push(ActivityOp {
                    name: op.name,
                    dispenser: adapters::dispenser(adapter.as_ref(), op.plan)?,
                });
            }
        }
        let activity = Activity {
            alias: prepared.alias.clone(),
            ops,
            sequence: prepared.sequence,
            cycles: prepared.cycles,
            recycles: prepared.recycles,
            stride: prepared.stride,
            threads: prepared.threads,
            cycle_rate: prepared.load.cycle_rate,
            stride_rate: prepared.load.stride_rate,
            max_in_flight: prepared.load.max_in_flight,
            warm_up: prepared.load.warm_up,
            duration: prepared.load.duration,
            policy: prepared.policy,
            max_tries: prepared.max_tries,
            journal,
            ..Activity::default()
        };
        self.view.begin(&head);
        let watching = Arc::new(Watching { head: Arc::clone(&head), view: Arc::clone(&self.view) });
        let running = engine::start(activity, watching);
        let control = running.control();
        let end = tokio::spawn(supervise(
            running,
            head,
            adapters.into_iter().map(|(_, adapter)| adapter).collect(),
            Arc::clone(&self.view),
            self.interrupt.clone(),
        ));
        self.active.push(Active { alias: prepared.alias, control, end });
        self.launched += 1;
        Ok(())
    }

    /// Opens the journal of an activity, and says what an earlier run left.
    fn journal(&self, prepared: &Prepared) -> Result<Option<Journal>, SessionError> {
        let Some(folder) = &prepared.load.resume else { return Ok(None) };
        let mut name: String =
            prepared.alias.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        name.truncate(name.char_indices().nth(60).map_or(name.len(), |(at, _)| at));
        let ops: Vec<&str> = prepared.ops.iter().map(|op| op.name.as_str()).collect();
        // What decides which op a cycle is.
        let run = format!(
            "alias={}\nworkload={}\ncycles={}..{}\nrecycles={}\nops={}\nsequence={:?}",
            prepared.alias,
            prepared.workload.as_deref().unwrap_or_default(),
            prepared.cycles.start,
            prepared.cycles.end,
            prepared.recycles,
            ops.join(","),
            prepared.sequence,
        );
        let path = folder.join(format!("{name}.journal"));
        let journal = Journal::open(&path, &run, prepared.cycles_asked()).map_err(|error| {
            Diagnostic::error(format!("resume={}: {error}", folder.display()))
                .help("give another folder, or remove the journal to run all cycles")
        })?;
        let (unknown, ranges) = journal.unknown();
        if journal.done_before() > 0 || unknown > 0 {
            self.view.notice(&Diagnostic::warning(format!(
                "{}: {} of {} cycles were done by the run before, of which {} is the journal",
                prepared.alias,
                journal.done_before(),
                prepared.cycles_asked(),
                path.display()
            )));
        }
        if unknown > 0 {
            let once = prepared.cycles.end - prepared.cycles.start;
            let names: Vec<String> = ranges
                .iter()
                .map(|range| {
                    let first = prepared.cycles.start + range.start % once.max(1);
                    match range.end - range.start {
                        1 => first.to_string(),
                        length => format!("{first}..{}", first + length),
                    }
                })
                .collect();
            self.view.notice(
                &Diagnostic::warning(format!(
                    "{}: {unknown} cycles were in flight when the run before was cut off, so that nobody knows \
                     whether the target did them: {}",
                    prepared.alias,
                    names.join(", ")
                ))
                .help("they run again"),
            );
        }
        Ok(Some(journal))
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

/// `await` of what no command before it started is an error; `stop` of nothing is said, as it may be meant.
fn check_alias(command: &Command, started: &[String]) -> Option<Diagnostic> {
    match command {
        Command::Await(alias) if !started.contains(alias) => {
            let error = Diagnostic::error(format!("await: no activity `{alias}` is started before it"));
            Some(match nearest(alias, started.iter().map(String::as_str)).first() {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None if started.is_empty() => error,
                None => error.help(format!("there are: {}", started.join(", "))),
            })
        }
        Command::Stop(patterns) if !started.iter().any(|a| patterns.iter().any(|p| p.is_match(a))) => {
            Some(Diagnostic::warning("stop: it names no activity that is started before it"))
        }
        _ => None,
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

type Connected = Vec<(&'static AdapterRow, Arc<dyn Adapter>)>;

async fn connect(prepared: &Prepared) -> Result<Connected, SessionError> {
    let mut adapters = Vec::new();
    for row in prepared.drivers() {
        let own = |name: &String| row.parameters.iter().any(|p| p.name == name);
        let parameters = prepared
            .parameters
            .iter()
            .filter(|(name, _)| own(name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let config = Config { alias: prepared.alias.clone(), parameters, threads: prepared.threads };
        let adapter = (row.connect)(config).await?;
        adapter.warm_up().await?;
        adapters.push((row, adapter));
    }
    Ok(adapters)
}

fn head_of(prepared: &Prepared, id: usize, embedded: Option<PathBuf>, adapters: &Connected) -> Head {
    let ops = prepared
        .ops
        .iter()
        .enumerate()
        .map(|(at, op)| HeadOp {
            name: op.name.clone(),
            ratio: op.ratio,
            share: prepared.share(at),
            mean_bytes: op.mean_bytes,
        })
        .collect();
    Head {
        id,
        alias: prepared.alias.clone(),
        workload: prepared.workload.clone(),
        scenario: prepared.scenario.clone(),
        step: prepared.step.clone(),
        ops,
        cycles: prepared.cycles.clone(),
        recycles: prepared.recycles,
        stride: prepared.stride,
        threads: prepared.threads,
        rate: prepared.load.rate(),
        stride_rate: prepared.load.stride_rate,
        duration: prepared.load.duration,
        unbounded: prepared.unbounded,
        targets: adapters.iter().map(|(_, adapter)| adapter.facts().clone()).collect(),
        bytes_to_write: prepared.bytes_to_write(),
        embedded,
        notes: prepared.notes.clone(),
    }
}

/// Waits for one activity, tells the view where it stands, and passes an interrupt on.
async fn supervise(
    running: Running,
    head: Arc<Head>,
    adapters: Vec<Arc<dyn Adapter>>,
    view: Arc<dyn View>,
    mut interrupt: watch::Receiver<bool>,
) -> Finished {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let control = running.control();
    let server = Arc::new(Mutex::new(Vec::new()));
    let watchers: Vec<_> = adapters
        .iter()
        .map(|adapter| {
            tokio::spawn(counters::watch(Arc::clone(adapter), Instant::now(), Arc::clone(&server)))
        })
        .collect();
    let wait = running.wait(DRAIN);
    tokio::pin!(wait);
    let mut asked = false;
    let result = loop {
        tokio::select! {
            result = &mut wait => break result,
            _ = tick.tick() => view.progress(&head, control.progress()),
            stop = interrupt.wait_for(|stop| *stop), if !asked => {
                // A sender that is gone can ask for nothing any more.
                if stop.is_ok() {
                    control.stop();
                }
                asked = true;
            }
        }
    };
    watchers.iter().for_each(JoinHandle::abort);
    let server = std::mem::take(&mut *server.lock().unwrap_or_else(PoisonError::into_inner));
    let mut close_error = None;
    for adapter in adapters {
        if let Err(error) = adapter.close().await {
            close_error.get_or_insert(error.to_string());
        }
    }
    let finished = Finished { head, result, close_error, server };
    view.end(&finished);
    finished
}
