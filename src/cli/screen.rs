//! What a person sees of a run: header, bar or progress lines, notices, summaries. Turns what the session
//! tells into the report's plain data; the report turns that into text.

use super::live::LiveView;
use super::outputs::{Open, Summaries};
use super::words::ProgressMode;
use crate::engine::{Behind, Ended, Progress, Stall};
use crate::metrics::Frame;
use crate::redact;
use crate::report::live::{Begun, Now};
use crate::report::{
    self, Bar, Bars, Closed, Exports, Interval, Logbook, ReportError, Source, Standing, wording, ycsb,
};
use crate::session::condition::{Finding, Measured};
use crate::session::findmax::{Found, Probe};
use crate::session::{Finished, Head, HeadOp, SessionError, View};
use crate::span::Diagnostic;
use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Between progress lines where nobody said how often.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// One activity on the screen.
struct Shown {
    /// What it is called.
    label: String,
    bar: Option<Bar>,
    interval: Interval,
    next_line: Instant,
    /// Before that nobody is told again that starts are late.
    next_behind: Instant,
    every: Duration,
    lines: u32,
    status: Option<ycsb::Status>,
}

#[derive(Default)]
struct State {
    shown: HashMap<usize, Shown>,
    /// How many activities of an alias have begun.
    begun: HashMap<String, usize>,
    /// The target last described in a header.
    target: Option<report::Target>,
    activities: Vec<report::Activity>,
    /// Standard output could not take a summary.
    stdout_error: Option<std::io::Error>,
    /// Summaries that wait for the end of the run.
    held: String,
}

/// Where lines for people go: above the bars, or to the live view while there is one.
#[derive(Clone)]
struct Lines {
    bars: Bars,
    live: Option<Arc<LiveView>>,
}

impl Lines {
    fn println(&self, text: &str) {
        if !self.live.as_ref().is_some_and(|live| live.println(text)) {
            self.bars.println(text);
        }
    }

    /// To standard output.
    fn print(&self, text: &str) -> std::io::Result<()> {
        if self.live.as_ref().is_some_and(|live| live.print(text)) {
            return Ok(());
        }
        self.bars.suspend(|| {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        })
    }
}

/// The screen of one run.
pub struct Screen {
    lines: Lines,
    mode: Mode,
    color: bool,
    /// Summaries go to stderr: an op, or the JSON result, has stdout for itself.
    summary_to_stderr: AtomicBool,
    /// Whether summaries wait for the end, and how long the run must be for them.
    summaries: Summaries,
    log: Mutex<Option<Logbook>>,
    exports: Mutex<Option<Exports>>,
    /// When the run began.
    clock: Instant,
    state: Mutex<State>,
    /// The word for what stopped the run, once something did.
    stopped_by: Mutex<Option<String>>,
}

#[derive(Clone, Copy)]
enum Mode {
    Bar,
    /// The whole terminal; a line per interval once it was given back.
    Live,
    Lines {
        every: Duration,
        asked: bool,
    },
    Ycsb {
        every: Duration,
    },
    None,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves the screen's state usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// The screen of a run of `command`, with the reports that it asks for.
    pub fn new(progress: ProgressMode, outputs: Open, command: &str) -> Result<Screen, ReportError> {
        let terminal = std::io::stderr().is_terminal();
        let (live, none) = match (progress == ProgressMode::Live).then(LiveView::start) {
            None => (None, None),
            Some(Ok(live)) => (Some(Arc::new(live)), None),
            Some(Err(why)) => (None, Some(why)),
        };
        let plain = if none.is_some() { ProgressMode::Default } else { progress };
        let mode = match plain {
            ProgressMode::Default if terminal => Mode::Bar,
            ProgressMode::Default => Mode::Lines { every: DEFAULT_INTERVAL, asked: false },
            ProgressMode::Bar => Mode::Bar,
            ProgressMode::Live => Mode::Live,
            ProgressMode::Lines(every) => Mode::Lines { every, asked: true },
            ProgressMode::Ycsb(every) => Mode::Ycsb { every },
            ProgressMode::None => Mode::None,
        };
        let bars = if matches!(mode, Mode::Bar) { Bars::stderr() } else { Bars::hidden() };
        let color = super::use_color();
        let lines = Lines { bars, live };
        let told = lines.clone();
        let exports = Exports::start(outputs.growing, outputs.timelines, move |error| {
            told.println(Diagnostic::error(error.to_string()).render(color).trim_end());
        })?;
        let screen = Screen {
            lines,
            mode,
            color,
            summary_to_stderr: AtomicBool::new(outputs.takes_stdout || outputs.summaries.to_stderr),
            summaries: outputs.summaries,
            log: Mutex::new(outputs.log),
            exports: Mutex::new(Some(exports)),
            clock: Instant::now(),
            state: Mutex::default(),
            stopped_by: Mutex::default(),
        };
        screen.log(command);
        if let Some(why) = none {
            let instead = if terminal { "the bar is" } else { "progress lines are" };
            screen.tell(
                &Diagnostic::warning(format!("there is no live view: {why}")).help(format!(
                    "{instead} shown instead; `--progress console:1s` asks for a line a second"
                )),
            );
        }
        outputs.says.iter().for_each(|line| screen.say(line));
        Ok(screen)
    }

    /// How progress is shown now.
    fn mode(&self) -> Mode {
        match (self.mode, &self.lines.live) {
            (Mode::Live, Some(live)) if live.is_over() => {
                Mode::Lines { every: DEFAULT_INTERVAL, asked: false }
            }
            (mode, _) => mode,
        }
    }

    fn log(&self, text: &str) {
        if let Some(log) = lock(&self.log).as_mut() {
            log.say(&wording::stamp(SystemTime::now(), '.'), text);
        }
    }

    /// Writes lines to stderr and to the log.
    fn say(&self, text: &str) {
        let text = text.trim_end_matches('\n');
        self.log(text);
        self.lines.println(text);
    }

    /// Says what happened, on stderr and in the log.
    pub fn tell(&self, diagnostic: &Diagnostic) {
        self.log(redact::passwords(diagnostic.render(false).trim_end()).as_ref());
        self.lines.println(redact::passwords(diagnostic.render(self.color).trim_end()).as_ref());
    }

    /// Puts into the log what ended the session, which is told elsewhere.
    pub fn note(&self, error: &SessionError) {
        self.log(redact::passwords(&error.to_string()).as_ref());
    }

    /// Waits until the reports that grow are written.
    pub fn close_exports(&self, run: &Arc<report::Run>) -> Closed {
        lock(&self.exports).take().map(|exports| exports.close(Arc::clone(run))).unwrap_or_default()
    }

    /// Gives the terminal back where the live view has it, and prints what waited for that.
    pub fn leave(&self) {
        if let Some(Err(error)) = self.lines.live.as_ref().map(|live| live.finish()) {
            lock(&self.state).stdout_error.get_or_insert(error);
        }
    }

    /// Remembers what stopped the run, for the summaries that follow.
    pub fn stopped_by(&self, what: &str) {
        lock(&self.stopped_by).get_or_insert_with(|| what.to_owned());
    }

    /// The activities that ended, in order, and the target last used.
    pub fn results(&self) -> (Vec<report::Activity>, Option<report::Target>) {
        let state = lock(&self.state);
        (state.activities.clone(), state.target.clone())
    }

    /// The closing line, and the files of reports. An error is one of standard output at any time of the run, or
    /// of the log.
    pub fn close(&self, run: &report::Run, mut files: Vec<PathBuf>) -> Result<(), ReportError> {
        self.write_summary(&report::summary::closing(run));
        let held = std::mem::take(&mut lock(&self.state).held);
        if self.summaries.after.is_some_and(|after| run.elapsed > after) {
            self.print_summary(&held);
        }
        let unwritten = lock(&self.state).stdout_error.take().map(ReportError::Stdout);
        let log = lock(&self.log).take().map(Logbook::close).transpose();
        let error = match (unwritten, log) {
            (None, Err(error)) | (Some(error), _) => Some(error),
            (None, Ok(log)) => {
                files.extend(log);
                None
            }
        };
        if !files.is_empty() {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            self.lines.println(&format!("written: {}", files.join(", ")));
        }
        error.map_or(Ok(()), Err)
    }

    /// What a search for the highest rate came to.
    pub fn found(&self, found: &Found) {
        let rate = report::wording::per_second;
        let text = match (found.rate, found.beyond) {
            (Some(kept), Some(beyond)) => {
                format!("the highest rate that is kept is {}; {} is not", rate(kept), rate(beyond))
            }
            (Some(kept), None) => {
                format!("{} is kept, and nothing over it was asked for (--max)", rate(kept))
            }
            (None, _) => "no rate of interest is kept".to_owned(),
        };
        self.write_summary(&text);
    }

    /// Takes away what reports had begun to write of a run that did not come about.
    pub fn drop_exports(&self) {
        drop(lock(&self.exports).take());
    }

    fn write_summary(&self, text: &str) {
        let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        self.log(&text);
        if self.summaries.after.is_some() {
            lock(&self.state).held += &text;
        } else {
            self.print_summary(&text);
        }
    }

    fn print_summary(&self, text: &str) {
        if self.summary_to_stderr.load(Ordering::Relaxed) {
            self.lines.println(text.trim_end_matches('\n'));
            return;
        }
        // A reader that has seen enough is no error.
        if let Err(error) = self.lines.print(text)
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            lock(&self.state).stdout_error.get_or_insert(error);
        }
    }
}

/// The path of the workload; of an op given on the command line, what says so.
fn workload_of(head: &Head) -> String {
    head.workload.clone().unwrap_or_else(|| "op=…".to_owned())
}

fn target_of(head: &Head) -> Option<report::Target> {
    head.targets.first().map(|facts| report::Target {
        kind: facts.kind.clone(),
        version: facts.version.clone(),
        topology: facts.topology.clone(),
        uri: facts.uri.clone(),
        settings: facts.settings.clone(),
        embedded: facts.kind == "embedded",
    })
}

/// The header of an activity; `previous` is the target of the one before, of which nothing is said again.
fn header_of(head: &Head, previous: Option<&report::Target>) -> report::Header {
    let target = target_of(head).unwrap_or_default();
    let ops = head
        .ops
        .iter()
        .map(|op| report::HeaderOp { name: op.name.clone(), ratio: op.ratio, mean_bytes: op.mean_bytes })
        .collect();
    let mut notes = head.notes.clone();
    if let Some(dir) = &head.embedded
        && previous != Some(&target)
    {
        notes.push(format!("its data is in {}", dir.display()));
    }
    report::Header {
        workload: workload_of(head),
        scenario: head.scenario.clone(),
        step: head.step.clone(),
        alias: head.alias.clone(),
        ops,
        cycles: head.cycles.clone(),
        recycles: head.recycles,
        stride: head.stride,
        threads: head.threads,
        rate: head.rate,
        stride_rate: head.stride_rate,
        duration: head.duration,
        unbounded: head.unbounded,
        target,
        bytes_to_write: (head.bytes_to_write > 0.0).then_some(head.bytes_to_write as u64),
        notes,
    }
}

fn activity_of(finished: &Finished, stopped_by: Option<String>) -> report::Activity {
    let result = &finished.result;
    let head = &finished.head;
    let ended = match (&result.ended, &finished.close_error) {
        (Ended::Failed { op, cycle, name, message }, _) => report::Ended::Failed {
            op: op.clone(),
            cycle: *cycle,
            name: name.clone(),
            message: message.clone(),
        },
        (_, Some(error)) => report::Ended::Unwritten(error.clone()),
        (Ended::Complete, None) => report::Ended::Complete,
        (Ended::TimeUp, None) => report::Ended::TimeUp,
        (Ended::Unread, None) => {
            report::Ended::Stopped("the reader of its output, who has closed it".to_owned())
        }
        (Ended::Stopped, None) => report::Ended::Stopped(
            stopped_by.or_else(|| finished.stopped_by.clone()).unwrap_or_else(|| "`stop`".to_owned()),
        ),
    };
    let ops = result
        .op_names
        .iter()
        .zip(&result.totals)
        .zip(&head.ops)
        .map(|((name, stats), op)| report::Op {
            name: name.clone(),
            report_as: op.report_as.clone(),
            follows: op.follows,
            stats: stats.clone(),
        })
        .collect();
    report::Activity {
        id: head.id,
        started: result.started,
        alias: result.alias.clone(),
        workload: workload_of(head),
        scenario: head.scenario.clone(),
        step: head.step.clone(),
        cycles_asked: (!head.unbounded).then_some(result.cycles_asked),
        cycles_done: result.cycles_done,
        cycles_before: result.cycles_before,
        threads: head.threads,
        target: result.target,
        backlog: result.backlog,
        backlog_left: result.backlog_left,
        client: result.client,
        outages: result.outages.clone(),
        warm_up: result.warm_up,
        server: finished.server.clone(),
        connections: finished.connections.clone(),
        elapsed: result.elapsed,
        closing: (!finished.closing.is_zero()).then_some(finished.closing),
        ended,
        ops,
        series: result.series.clone(),
        timeline: None,
    }
}

/// How many cycles there are; 0, which is unknown, where only time ends them.
fn total_of(head: &Head, cycles: u64) -> u64 {
    if head.unbounded { 0 } else { cycles }
}

/// What a condition found, for people.
pub fn measured(finding: &Finding) -> String {
    match finding.measured {
        Measured::Time(time) => report::wording::time(time.as_nanos() as f64),
        Measured::Count(count) => report::wording::count(count),
        Measured::PerSecond(rate) => report::wording::per_second(rate),
        Measured::Share(share) => report::wording::percent(share),
        Measured::Change(change) => format!("{:+.1}%", change * 100.0),
    }
}

fn standing(head: &Head, progress: &Progress) -> Standing {
    Standing {
        total: total_of(head, progress.cycles_total),
        done: progress.cycles_done,
        in_flight: progress.cycles_in_flight,
    }
}

impl View for Screen {
    fn notice(&self, notice: &Diagnostic) {
        self.tell(notice);
    }

    fn stdout_is_taken(&self) {
        self.summary_to_stderr.store(true, Ordering::Relaxed);
        let live = self.lines.live.as_ref().filter(|live| !live.is_over());
        if live.is_some() && std::io::stdout().is_terminal() {
            self.leave();
            self.tell(
                &Diagnostic::warning("there is no live view: an op of this run writes to the terminal")
                    .help("with standard output in a file there is one: `> FILE`"),
            );
        }
    }

    fn begin(&self, head: &Head) {
        let mut state = lock(&self.state);
        let mut header = header_of(head, state.target.as_ref());
        let nth = state.begun.entry(head.alias.clone()).or_default();
        let label = report::label(&head.alias, *nth);
        *nth += 1;
        header.alias.clone_from(&label);
        let text = report::header::text(&header, state.target.as_ref());
        state.target = Some(header.target);
        self.say(&text);
        let total = total_of(head, (head.cycles.end - head.cycles.start).saturating_mul(head.recycles));
        let bar = matches!(self.mode(), Mode::Bar).then(|| self.lines.bars.add(&label, total));
        let every = match self.mode() {
            Mode::Lines { every, .. } | Mode::Ycsb { every } => every,
            Mode::Bar | Mode::Live | Mode::None => DEFAULT_INTERVAL,
        };
        let names: Vec<String> = head.ops.iter().map(|op| op.name.clone()).collect();
        let status = match self.mode() {
            Mode::Ycsb { every } => {
                let called = |op: &HeadOp| op.report_as.clone().unwrap_or_else(|| op.name.clone());
                let names = head.ops.iter().map(called).collect();
                let status = ycsb::Status::new(names, (total > 0).then_some(total), every);
                self.say(&status.first(SystemTime::now()));
                Some(status)
            }
            _ => None,
        };
        if let Some(exports) = lock(&self.exports).as_ref() {
            exports.begin(&Source {
                id: head.id,
                alias: head.alias.clone(),
                workload: workload_of(head),
                more: head
                    .ops
                    .iter()
                    .enumerate()
                    .flat_map(|(at, op)| report::more_of(at, &op.name, op.instrument, &op.timers))
                    .collect(),
                strides: head.stride > 1,
                ops: names,
                started: SystemTime::now(),
                offset: self.clock.elapsed(),
            });
        }
        if let Some(live) = &self.lines.live {
            let each = if head.rate.is_some_and(|rate| rate.each_thread) { head.threads as f64 } else { 1.0 };
            live.begin(Begun {
                id: head.id,
                alias: label.clone(),
                ops: head.ops.iter().map(|op| op.name.clone()).collect(),
                threads: head.threads as u64,
                target: head.rate.map(|rate| rate.per_second * each),
            });
        }
        let now = Instant::now();
        let shown = Shown {
            label,
            bar,
            interval: Interval::default(),
            next_line: now + every,
            next_behind: now,
            every,
            lines: 0,
            status,
        };
        state.shown.insert(head.id, shown);
    }

    fn progress(&self, head: &Head, progress: Progress) {
        let mut state = lock(&self.state);
        let Some(shown) = state.shown.get_mut(&head.id) else { return };
        if let Some(live) = &self.lines.live {
            let now = Now {
                standing: standing(head, &progress),
                errors: progress.errors,
                backlog: progress.backlog,
            };
            live.progress(head.id, now);
        }
        if let Some(bar) = &shown.bar {
            bar.update(progress.cycles_done, &shown.interval, progress.errors);
        }
        if let Mode::Lines { every, .. } = self.mode()
            && Instant::now() >= shown.next_line
        {
            shown.next_line += every;
            shown.lines += 1;
            self.say(&standing(head, &progress).line(&shown.label, false));
        }
    }

    fn frame(&self, head: &Head, frame: &Frame) {
        let mut state = lock(&self.state);
        if let Some(shown) = state.shown.get_mut(&head.id) {
            shown.interval = Interval::of(frame);
            let status = shown.status.as_mut().filter(|_| !frame.warm_up);
            if let Some(line) = status.and_then(|status| status.push(SystemTime::now(), frame)) {
                self.say(&line);
            }
        }
        drop(state);
        if let Some(live) = &self.lines.live {
            live.frame(head.id, frame);
        }
        if let Some(exports) = lock(&self.exports).as_ref() {
            exports.frame(head.id, frame);
        }
    }

    fn warn(&self, head: &Head, op: &str, cycle: u64, name: &str, message: &str) {
        let text = format!("{op}, cycle {cycle}: {name}: {message}");
        let numbered = head.ops.iter().any(|row| row.name == op && row.own_cycles);
        let warning = Diagnostic::warning(redact::passwords(&text)).help(match name {
            "DuplicateKey" if numbered => format!(
                "further {name} are counted, not shown; the op numbers what it inserts anew in each run: where an \
                     earlier run's are still there, count them in (`recordcount=` of YCSB), or go on with other \
                     cycles (`cycles=N..M`)"
            ),
            "DuplicateKey" => format!(
                "further {name} are counted, not shown; the same cycles make the same keys: where an earlier \
                     run's are still there, other cycles (`cycles=N..M`) make others"
            ),
            _ => format!("further {name} are counted, not shown"),
        });
        self.tell(&warning);
    }

    fn behind(&self, head: &Head, behind: Behind) {
        let mut state = lock(&self.state);
        let Some(shown) = state.shown.get_mut(&head.id) else { return };
        let now = Instant::now();
        if now < shown.next_behind {
            return;
        }
        shown.next_behind = now + shown.every;
        let warning = Diagnostic::warning(format!(
            "{}: all {} busy, behind schedule by {}",
            shown.label,
            report::wording::counted(behind.threads, "thread"),
            report::wording::counted(behind.backlog, "cycle")
        ));
        self.tell(&warning);
    }

    fn stalled(&self, head: &Head, stall: &Stall) {
        let examples: Vec<String> =
            stall.examples.iter().map(|(op, cycle)| format!("{op} at cycle {cycle}")).collect();
        let pool = head.targets.iter().flat_map(|target| &target.settings).find(|(name, _)| name == "pool");
        let label = lock(&self.state).shown.get(&head.id).map(|shown| shown.label.clone());
        let warning = Diagnostic::warning(format!(
            "{}: no op has ended for {}: {} in flight, such as {}{}",
            label.as_ref().unwrap_or(&head.alias),
            report::wording::elapsed(stall.silent),
            report::wording::count(stall.in_flight),
            examples.join(", "),
            pool.map(|(_, size)| format!("; the pool has {size}")).unwrap_or_default()
        ));
        self.tell(&warning);
    }

    fn searching(&self, head: &Head) {
        let mut state = lock(&self.state);
        let header = header_of(head, None);
        self.say(&report::header::text(&header, None));
        state.target = Some(header.target);
    }

    fn probed(&self, finished: &Finished, probe: &Probe) {
        let per_second = report::wording::per_second;
        let asked = match probe.rate {
            Some(rate) => format!("{}: achieved {}", per_second(rate), per_second(probe.achieved)),
            None => format!("as fast as it goes: {}", per_second(probe.achieved)),
        };
        let found: Vec<String> = probe
            .findings
            .iter()
            .map(|(condition, finding)| match finding {
                Some(finding) => format!("{condition}: {}", measured(finding)),
                None => format!("{condition}: nothing measured"),
            })
            .collect();
        let verdict = if probe.kept { "kept" } else { "not kept" };
        self.say(&format!("  {asked}; {}; {verdict}", found.join("; ")));
        let mut activity = activity_of(finished, None);
        activity.target = probe.rate;
        lock(&self.state).activities.push(activity);
    }

    fn end(&self, finished: &Finished) {
        let stopped_by = lock(&self.stopped_by).clone();
        let mut state = lock(&self.state);
        let mut shown = state.shown.remove(&finished.head.id);
        let status = shown.as_mut().and_then(|shown| shown.status.as_mut());
        if let Some(line) = status.and_then(|status| status.last(SystemTime::now())) {
            self.say(&line);
        }
        if let Some(exports) = lock(&self.exports).as_ref() {
            exports.end(finished.head.id);
        }
        if let Some(live) = &self.lines.live {
            let result = &finished.result;
            let done = result.cycles_done + result.cycles_before;
            let total = total_of(&finished.head, result.cycles_asked);
            live.end(finished.head.id, Standing { total, done, in_flight: 0 });
        }
        if let Some(bar) = shown.as_ref().and_then(|shown| shown.bar.as_ref()) {
            bar.finish();
        }
        let label = shown.as_ref().map_or_else(|| finished.head.alias.clone(), |shown| shown.label.clone());
        if let Mode::Lines { asked, .. } = self.mode()
            && (asked || shown.is_some_and(|shown| shown.lines > 0))
        {
            let result = &finished.result;
            let done = result.cycles_done + result.cycles_before;
            let total = total_of(&finished.head, result.cycles_asked);
            let last = Standing { total, done, in_flight: 0 };
            self.say(&last.line(&label, true));
        }
        let activity = activity_of(finished, stopped_by);
        let text = report::summary::text(&activity, &label);
        state.activities.push(activity);
        drop(state);
        self.write_summary(&text);
    }
}
