//! Words → session → report → exit code. Draws the bar; owns nothing that a room could own.

mod check;
pub mod eval;
mod help;
mod input;
mod live;
pub mod looking;
mod outputs;
mod plan;
mod results;
mod screen;
pub mod server;
pub mod show;
mod signals;
mod verbs;
mod words;
mod ycsb;

use crate::adapters::ADAPTERS;
use crate::redact;
use crate::report;
use crate::session::condition::{Condition, Finding};
use crate::session::findmax::{Found, Search, find_max};
use crate::session::{self, SessionError, Settings, prepare, target};
use crate::span::{Diagnostic, Severity, Text};
use crate::workload::{self, LoadOptions};
use indexmap::IndexMap;
use screen::Screen;
use signals::{Asked, Signals};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;
use words::{Options, ProgressMode, Request, Topic, WordsError};

/// Exit codes, as the command line's documentation has them.
mod exit {
    pub const DONE: u8 = 0;
    pub const OP_ERRORS: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const UNREACHABLE: u8 = 3;
    pub const FAIL_IF: u8 = 4;
}

const HELLO: &str = "\
Load 50,000 small documents into the embedded server, then read and write them at 2,500 a second:
  nbrs run workload=mongodb-keyvalue2 tags=block:rampup cycles=50k threads=auto mintext=50 maxtext=150
  nbrs run workload=mongodb-keyvalue2 'tags=block:main.*' cycles=25k cyclerate=2500 threads=25 mintext=50 maxtext=150
  nbrs --list-scenarios
With connection=mongodb://… they go to a server of yours. `nbrs --help` shows the rest.
";

/// Runs the program with `args` (the first is the program's name).
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // A fault of ours is said as one, without a stack that tells a user nothing.
    std::panic::set_hook(Box::new(|info| {
        live::restore();
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        let what = info.payload_as_str().unwrap_or("no message");
        let what = redact::passwords(what);
        let _ = writeln!(
            io::stderr(),
            "nbrs: internal error{place}: {what}\nThis is a fault in nbrs: please report it."
        );
    }));
    ExitCode::from(dispatch(&args))
}

/// Messages are coloured where stderr is a terminal and nobody asked for plain text.
fn use_color() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn tell(diagnostics: &[Diagnostic]) {
    let color = use_color();
    for diagnostic in diagnostics {
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(io::stderr(), "{}", redact::passwords(diagnostic.render(color).trim_end()));
    }
}

fn fail(error: &SessionError) -> u8 {
    match error {
        SessionError::Usage(diagnostics) => {
            tell(diagnostics);
            exit::USAGE
        }
        SessionError::Target(message) => {
            tell(&[Diagnostic::error(message)]);
            exit::UNREACHABLE
        }
    }
}

/// Says what cannot be; the exit code.
fn refused(error: Diagnostic) -> u8 {
    fail(&error.into())
}

fn runtime() -> Result<tokio::runtime::Runtime, Diagnostic> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| Diagnostic::error(format!("cannot start the runtime: {error}")))
}

/// What a looking verb's output makes of an output that cannot be written: a reader that has seen enough is
/// no error.
fn written(result: io::Result<u8>) -> u8 {
    match result {
        Ok(code) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(error) => refused(Diagnostic::error(format!("cannot write to standard output: {error}"))),
    }
}

fn dispatch(args: &[OsString]) -> u8 {
    let (options, request) = match words::parse(args) {
        Ok(parsed) => parsed,
        Err(WordsError::Usage(diagnostics)) => {
            tell(&diagnostics);
            return exit::USAGE;
        }
        Err(WordsError::Clap(error)) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            if code == exit::DONE {
                return written(write!(io::stdout(), "{error}").map(|()| code));
            }
            // Nobody is left to tell where even the message cannot be written.
            let _ = write!(io::stderr(), "{}", redact::passwords(&error.to_string()));
            return code;
        }
    };
    for folder in options.include.iter().filter(|folder| !folder.is_dir()) {
        let what = format!("--include {}: there is no such folder", folder.display());
        tell(&[Diagnostic::warning(what)]);
    }
    let mut out = io::stdout().lock();
    match request {
        Request::Hello => written(out.write_all(HELLO.as_bytes()).map(|()| exit::DONE)),
        Request::Help(topic) => explain(&topic, &options, &mut out),
        Request::Completions(shell) => written(out.write_all(&help::completions(shell)).map(|()| exit::DONE)),
        Request::ListDrivers => {
            let list: String = ADAPTERS.iter().map(|row| format!("{}\n", row.name)).collect();
            written(out.write_all(list.as_bytes()).map(|()| exit::DONE))
        }
        Request::Server { port, data_dir, drop } => {
            std::mem::drop(out);
            serve(port, data_dir, drop)
        }
        Request::Merge { paths } => {
            std::mem::drop(out);
            results::merge(&options, &paths, args)
        }
        Request::Report { file } => {
            std::mem::drop(out);
            results::report(&options, &file)
        }
        Request::FindMax { parameters, search, progress } => {
            std::mem::drop(out);
            run(args, &options, Work::Search(parameters, search), &[], progress)
        }
        Request::Run { script, progress } => {
            std::mem::drop(out);
            let notices = script.notices.clone();
            match script.commands() {
                Ok(commands) => run(args, &options, Work::Commands(commands), &notices, progress),
                Err(error) => refused(error),
            }
        }
        other => looking(&options, other, &mut out),
    }
}

/// `nbrs help …`.
fn explain(topic: &Topic, options: &Options, out: &mut dyn Write) -> u8 {
    let text = match topic {
        Topic::Everything => Ok(help::command().render_help().to_string()),
        Topic::Verb(name) => {
            Ok(verbs::find(name).map_or_else(|| help::command().render_help().to_string(), help::verb))
        }
        Topic::Functions { markdown: true } => Ok(help::functions_markdown()),
        Topic::Functions { markdown: false } => Ok(help::functions()),
        Topic::Function(name) => help::function_row(name).map(help::function).map_err(|error| vec![error]),
        Topic::Driver(name) => prepare::driver(name).map(help::driver).map_err(|error| vec![error]),
        Topic::Workload(name) => {
            let params = IndexMap::new();
            workload::load(name, &LoadOptions { includes: &options.include, params: &params })
                .map(|workload| help::workload(&workload, name))
        }
    };
    match text {
        Ok(text) => written(out.write_all(redact::passwords(&text).as_bytes()).map(|()| exit::DONE)),
        Err(errors) => {
            tell(&errors);
            exit::USAGE
        }
    }
}

/// The verbs that look without running.
fn looking(options: &Options, request: Request, out: &mut dyn Write) -> u8 {
    match request {
        Request::Show { parameters, json } => {
            let asked = prepare::Request::of(parameters);
            let prepared = match prepare::prepare(&asked, &options.include) {
                Ok(prepared) => prepared,
                Err(error) => return fail(&error),
            };
            tell(&prepared.notices);
            let shown = show::Show {
                ops: &prepared.ops,
                sequence: &prepared.sequence,
                cycles: prepared.cycles,
                json,
            };
            written(show::run(&shown, out).map(|bound| if bound { exit::DONE } else { exit::OP_ERRORS }))
        }
        Request::Describe { parameters, json } => {
            match prepare::select(&prepare::Request::of(parameters), &options.include) {
                Ok(selected) => {
                    tell(&selected.notices);
                    written(looking::describe(&selected.ops, json, out).map(|()| exit::DONE))
                }
                Err(error) => fail(&error),
            }
        }
        Request::Plan { script, json } => {
            let found = script
                .clone()
                .commands()
                .map_or_else(|error| vec![error], |all| session::commands::examine(&all, &options.include));
            tell(&script.notices);
            tell(&found);
            if found.iter().any(|one| one.severity == Severity::Error) {
                return exit::USAGE;
            }
            written(plan::run(&script, json, out).map(|()| exit::DONE))
        }
        Request::Check { files, parameters, strict, json } => {
            let includes = &options.include;
            let asked = check::Check { files: &files, parameters: &parameters, includes, strict, json };
            written(check::run(&asked, out).map(|good| if good { exit::DONE } else { exit::USAGE }))
        }
        Request::Compare { files } => results::compare(options, &files, out),
        Request::Eval { recipe, from, at, json } => evaluate(recipe, from, at.as_deref(), json, out),
        Request::ListFunctions => written(out.write_all(help::functions().as_bytes()).map(|()| exit::DONE)),
        Request::ListWorkloads => listed(looking::list_workloads(&options.include, out)),
        Request::ListScenarios => listed(looking::list_scenarios(&options.include, out)),
        Request::Copy(name) => match looking::copy(&name, Path::new(".")) {
            Ok(_) => exit::DONE,
            Err(error) => refused(error),
        },
        // Those are dispatched before.
        Request::Hello
        | Request::Help(_)
        | Request::Completions(_)
        | Request::ListDrivers
        | Request::Merge { .. }
        | Request::Report { .. }
        | Request::Server { .. }
        | Request::FindMax { .. }
        | Request::Run { .. } => exit::USAGE,
    }
}

/// `nbrs eval`.
fn evaluate(
    recipe: Option<String>,
    from: Option<PathBuf>,
    at: Option<&str>,
    json: bool,
    out: &mut dyn Write,
) -> u8 {
    let cycles = match eval::cycles(at.unwrap_or("0..10")) {
        Ok(cycles) => cycles,
        Err(why) => {
            return refused(
                Diagnostic::error(format!("--at: {why}")).help("cycles and ranges, such as 0,1,5..10"),
            );
        }
    };
    let recipes = match (recipe, from) {
        (_, Some(file)) => match recipes_of(&file) {
            Ok(recipes) => recipes,
            Err(error) => {
                return refused(Diagnostic::error(format!("cannot read {}: {error}", file.display())));
            }
        },
        (recipe, None) => vec![Text::of_source("recipe", recipe.unwrap_or_default())],
    };
    written(eval::run(recipes, &cycles, json, out).map(|all| if all { exit::DONE } else { exit::USAGE }))
}

/// A file's recipes, one a line; empty lines are none.
fn recipes_of(file: &Path) -> io::Result<Vec<Text>> {
    const MAX_BYTES: u64 = 100_000_000;
    let text = input::read(file, MAX_BYTES)?;
    let whole = Text::of_source(file.display().to_string(), text.as_str());
    let mut recipes = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        if end > start {
            recipes.push(whole.slice(start..end));
        }
        start += line.len();
    }
    Ok(recipes)
}

/// A list with what could not be listed.
fn listed(result: io::Result<Vec<Diagnostic>>) -> u8 {
    written(result.map(|warnings| {
        tell(&warnings);
        exit::DONE
    }))
}

/// `nbrs server`.
fn serve(port: u16, data_dir: Option<PathBuf>, drop: bool) -> u8 {
    let data_dir = match data_dir.map_or_else(target::default_data_dir, Ok) {
        Ok(dir) => dir,
        Err(error) => return fail(&error),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return refused(error),
    };
    match runtime.block_on(server::run(port, data_dir, drop)) {
        Ok(()) => exit::DONE,
        Err(error) => refused(Diagnostic::error(error.to_string())),
    }
}

/// The signal that asked the run to end.
static SIGNAL: OnceLock<Asked> = OnceLock::new();

/// The session is over, so that there is nothing left to ask to end: only reports, which may wait for a reader.
static OVER: AtomicBool = AtomicBool::new(false);

/// What a session is to do.
enum Work {
    Commands(Vec<session::Command>),
    Search(IndexMap<String, String>, Search),
}

/// What came of it.
struct Done {
    error: Option<SessionError>,
    /// The error was said when it came.
    told: bool,
    /// Ops ended it, or not one succeeded.
    by_errors: bool,
    /// What the conditions of `--fail-if` found.
    conditions: Vec<(String, Finding)>,
    found: Option<Found>,
}

impl Done {
    fn of_session(outcome: session::Outcome, fail_if: &[Condition]) -> Done {
        let holding = |condition: &Condition| {
            let findings = outcome.finished.iter().filter_map(|finished| condition.find(&finished.result));
            findings
                .filter(|finding| finding.holds)
                .map(|finding| (condition.text.clone(), finding))
                .collect::<Vec<_>>()
        };
        Done {
            conditions: fail_if.iter().flat_map(holding).collect(),
            by_errors: outcome.finished.iter().any(|f| f.failed() || f.fruitless()),
            error: outcome.error,
            told: outcome.told,
            found: None,
        }
    }

    fn of_search(mut found: Found) -> Done {
        Done {
            error: found.error.take(),
            told: false,
            by_errors: found.failed,
            conditions: Vec::new(),
            found: Some(found),
        }
    }
}

fn run(
    args: &[OsString],
    options: &Options,
    work: Work,
    notices: &[Diagnostic],
    progress: ProgressMode,
) -> u8 {
    let mut fail_if = Vec::new();
    let mut wrong = Vec::new();
    for text in &options.fail_if {
        match Condition::parse(text) {
            Ok(condition) => fail_if.push(condition),
            Err(error) => wrong.push(error),
        }
    }
    if !wrong.is_empty() {
        tell(&wrong);
        return exit::USAGE;
    }
    let started = SystemTime::now();
    let (mut outputs, said) = match options.outputs.open(started) {
        Ok(opened) => opened,
        Err(error) => return refused(error),
    };
    tell(&said);
    tell(notices);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return refused(error),
    };
    let settings = Settings {
        includes: options.include.clone(),
        data_dir: options.data_dir.clone(),
        connection: std::env::var("NBRS_CONNECTION").ok().filter(|uri| !uri.is_empty()),
        keep_going: options.keep_going,
        fail_if,
    };
    let written = outputs.rest();
    let command: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let command = redact::command_line(&command);
    let screen = match Screen::new(progress, outputs, &command) {
        Ok(screen) => Arc::new(screen),
        Err(error) => return refused(Diagnostic::error(error.to_string())),
    };
    let clock = Instant::now();
    let (interrupt, interrupted) = watch::channel(false);
    let done = runtime.block_on(async {
        tokio::spawn(listen(interrupt, Arc::clone(&screen)));
        let view = Arc::clone(&screen) as Arc<dyn session::View>;
        match work {
            Work::Commands(commands) => Done::of_session(
                session::run(commands, &settings, view, interrupted).await,
                &settings.fail_if,
            ),
            Work::Search(parameters, search) => {
                Done::of_search(find_max(&parameters, &search, &settings, view, interrupted).await)
            }
        }
    });
    OVER.store(true, Ordering::SeqCst);
    // What follows is printed, and may wait for a reader.
    screen.leave();
    let code = conclude(done, command, (started, clock.elapsed()), &screen, &written);
    // Tasks that were given up must not hold the end of the program.
    runtime.shutdown_background();
    code
}

/// Says and writes what came of a run that began at a time and took a while, and gives its exit code.
fn conclude(
    done: Done,
    command: String,
    (started, elapsed): (SystemTime, Duration),
    screen: &Screen,
    written: &outputs::Written,
) -> u8 {
    let signal = SIGNAL.get();
    let code = match (&done.error, signal) {
        (_, Some(signal)) => signal.code,
        (Some(SessionError::Usage(_)), None) => exit::USAGE,
        (Some(SessionError::Target(_)), None) => exit::UNREACHABLE,
        (None, None) if done.by_errors => exit::OP_ERRORS,
        (None, None) if !done.conditions.is_empty() => exit::FAIL_IF,
        // Not even the lowest rate of interest was kept.
        (None, None) if done.found.as_ref().is_some_and(|found| found.rate.is_none()) => exit::FAIL_IF,
        (None, None) => exit::DONE,
    };
    if let Some(error) = done.error.as_ref().filter(|_| !done.told) {
        screen.note(error);
        fail(error);
    }
    let (activities, target) = screen.results();
    if activities.is_empty() && done.error.is_some() {
        screen.drop_exports();
        return code;
    }
    for (condition, finding) in &done.conditions {
        let what = format!("--fail-if '{condition}' holds: {} has {}", finding.of, screen::measured(finding));
        tell(&[Diagnostic::error(what)]);
    }
    let result = report::Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        started,
        elapsed,
        status: match code {
            _ if signal == Some(&signals::INTERRUPTED) => report::Status::Interrupted,
            _ if signal.is_some() => report::Status::Terminated,
            exit::USAGE => report::Status::Misconfigured,
            exit::UNREACHABLE => report::Status::Unreachable,
            exit::OP_ERRORS => report::Status::Failed,
            exit::FAIL_IF => report::Status::FailIf,
            _ => report::Status::Done,
        },
        target,
        activities,
        fail_if: done.conditions.into_iter().map(|(condition, _)| condition).collect(),
        max_rate: done.found.as_ref().and_then(|found| found.rate),
        merged: Vec::new(),
        ycsb: written.ycsb.clone(),
    };
    if let Some(found) = &done.found {
        screen.found(found);
    }
    let result = Arc::new(result);
    let mut growing = screen.close_exports(&result);
    let mut result = Arc::unwrap_or_clone(result);
    for activity in &mut result.activities {
        activity.timeline = growing.timelines.remove(&activity.id);
    }
    let (errors, mut files) = outputs::Open::write(written, &result);
    files.extend(growing.files);
    let mut late = growing.failed || !errors.is_empty();
    for error in errors {
        screen.tell(&Diagnostic::error(error.to_string()));
    }
    if let Err(error) = screen.close(&result, files) {
        tell(&[Diagnostic::error(error.to_string())]);
        late = true;
    }
    if late && code == exit::DONE { exit::USAGE } else { code }
}

/// Turns the first signal into a stop; the second, or one after the session, into an end on the spot.
async fn listen(interrupt: watch::Sender<bool>, screen: Arc<Screen>) {
    let Ok(mut signals) = Signals::new() else { return };
    loop {
        let asked = signals.next().await;
        let first = SIGNAL.set(asked).is_ok();
        if !first || OVER.load(Ordering::SeqCst) {
            screen.leave();
            std::process::exit(i32::from(asked.code));
        }
        screen.stopped_by(asked.name);
        // The session may have ended this very moment; then there is nothing to stop.
        let _ = interrupt.send(true);
    }
}
