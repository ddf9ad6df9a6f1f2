//! What a person sees of a run: header, bar or progress lines, notices, summaries. Turns what the session
//! tells into the report's plain data; the report turns that into text.

use super::words::ProgressMode;
use crate::engine::{Behind, Ended, Progress, Stall};
use crate::metrics::Frame;
use crate::redact;
use crate::report::{self, Bar, Bars, Interval, Standing};
use crate::session::condition::{Finding, Measured};
use crate::session::findmax::{Found, Probe};
use crate::session::{Finished, Head, View};
use crate::span::Diagnostic;
use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between progress lines where nobody said how often.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// One activity on the screen.
struct Shown {
    bar: Option<Bar>,
    interval: Interval,
    next_line: Instant,
    /// Before that nobody is told again that starts are late.
    next_behind: Instant,
    every: Duration,
    lines: u32,
}

#[derive(Default)]
struct State {
    shown: HashMap<usize, Shown>,
    /// The target last described in a header.
    target: Option<report::Target>,
    activities: Vec<report::Activity>,
    /// Standard output could not take a summary.
    stdout_error: Option<std::io::Error>,
}

/// The screen of one run.
pub struct Screen {
    bars: Bars,
    mode: Mode,
    color: bool,
    /// Summaries go to stderr: an op, or the JSON result, has stdout for itself.
    summary_to_stderr: AtomicBool,
    state: Mutex<State>,
    /// The word for what stopped the run, once something did.
    stopped_by: Mutex<Option<String>>,
}

enum Mode {
    Bar,
    Lines { every: Duration, asked: bool },
    None,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves the screen's state usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    pub fn new(progress: ProgressMode, summary_to_stderr: bool) -> Screen {
        let terminal = std::io::stderr().is_terminal();
        let mode = match progress {
            ProgressMode::Default if terminal => Mode::Bar,
            ProgressMode::Default => Mode::Lines { every: DEFAULT_INTERVAL, asked: false },
            ProgressMode::Bar => Mode::Bar,
            ProgressMode::Lines(every) => Mode::Lines { every, asked: true },
            ProgressMode::None => Mode::None,
        };
        let bars = if matches!(mode, Mode::Bar) { Bars::stderr() } else { Bars::hidden() };
        Screen {
            bars,
            mode,
            color: super::use_color(),
            summary_to_stderr: AtomicBool::new(summary_to_stderr),
            state: Mutex::default(),
            stopped_by: Mutex::default(),
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

    /// The closing line. An error is one of standard output at any time of the run.
    pub fn close(&self, run: &report::Run) -> std::io::Result<()> {
        self.write_summary(&report::summary::closing(run));
        match lock(&self.state).stdout_error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
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

    fn write_summary(&self, text: &str) {
        let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        if self.summary_to_stderr.load(Ordering::Relaxed) {
            self.bars.println(text.trim_end_matches('\n'));
            return;
        }
        let written = self.bars.suspend(|| {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        if let Err(error) = written {
            lock(&self.state).stdout_error.get_or_insert(error);
        }
    }
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
        workload: head.workload.clone().unwrap_or_else(|| "op=…".to_owned()),
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
        (_, Some(error)) => report::Ended::Stopped(format!("an output that could not be written: {error}")),
        (Ended::Complete, None) => report::Ended::Complete,
        (Ended::TimeUp, None) => report::Ended::TimeUp,
        (Ended::Stopped, None) => report::Ended::Stopped(stopped_by.unwrap_or_else(|| "`stop`".to_owned())),
    };
    let ops = result
        .op_names
        .iter()
        .zip(&result.totals)
        .map(|(name, stats)| report::Op { name: name.clone(), stats: stats.clone() })
        .collect();
    report::Activity {
        alias: result.alias.clone(),
        workload: head.workload.clone().unwrap_or_else(|| "op=…".to_owned()),
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
        elapsed: result.elapsed,
        ended,
        ops,
        series: result.series.clone(),
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
        self.bars.println(notice.render(self.color).trim_end());
    }

    fn stdout_is_taken(&self) {
        self.summary_to_stderr.store(true, Ordering::Relaxed);
    }

    fn begin(&self, head: &Head) {
        let mut state = lock(&self.state);
        let header = header_of(head, state.target.as_ref());
        let text = report::header::text(&header, state.target.as_ref());
        state.target = Some(header.target);
        self.bars.println(text.trim_end());
        let total = total_of(head, (head.cycles.end - head.cycles.start).saturating_mul(head.recycles));
        let bar = matches!(self.mode, Mode::Bar).then(|| self.bars.add(&head.alias, total));
        let every = match self.mode {
            Mode::Lines { every, .. } => every,
            Mode::Bar | Mode::None => DEFAULT_INTERVAL,
        };
        let now = Instant::now();
        let shown = Shown {
            bar,
            interval: Interval::default(),
            next_line: now + every,
            next_behind: now,
            every,
            lines: 0,
        };
        state.shown.insert(head.id, shown);
    }

    fn progress(&self, head: &Head, progress: Progress) {
        let mut state = lock(&self.state);
        let Some(shown) = state.shown.get_mut(&head.id) else { return };
        if let Some(bar) = &shown.bar {
            bar.update(progress.cycles_done, &shown.interval, progress.errors);
        }
        if let Mode::Lines { every, .. } = self.mode
            && Instant::now() >= shown.next_line
        {
            shown.next_line += every;
            shown.lines += 1;
            self.bars.println(&standing(head, &progress).line(&head.alias, false));
        }
    }

    fn frame(&self, head: &Head, frame: &Frame) {
        let mut state = lock(&self.state);
        if let Some(shown) = state.shown.get_mut(&head.id) {
            shown.interval = Interval::of(frame);
        }
    }

    fn warn(&self, _head: &Head, op: &str, cycle: u64, name: &str, message: &str) {
        let text = format!("{op}, cycle {cycle}: {name}: {message}");
        let warning = Diagnostic::warning(redact::passwords(&text)).help(match name {
            "DuplicateKey" => format!(
                "further {name} are counted, not shown; the same cycles make the same keys: where an earlier \
                     run's are still there, other cycles (`cycles=N..M`) make others"
            ),
            _ => format!("further {name} are counted, not shown"),
        });
        self.bars.println(warning.render(self.color).trim_end());
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
            head.alias,
            report::wording::counted(behind.threads, "thread"),
            report::wording::counted(behind.backlog, "cycle")
        ));
        self.bars.println(warning.render(self.color).trim_end());
    }

    fn stalled(&self, head: &Head, stall: &Stall) {
        let examples: Vec<String> =
            stall.examples.iter().map(|(op, cycle)| format!("{op} at cycle {cycle}")).collect();
        let pool = head.targets.iter().flat_map(|target| &target.settings).find(|(name, _)| name == "pool");
        let warning = Diagnostic::warning(format!(
            "{}: no op has ended for {}: {} in flight, such as {}{}",
            head.alias,
            report::wording::elapsed(stall.silent),
            report::wording::count(stall.in_flight),
            examples.join(", "),
            pool.map(|(_, size)| format!("; the pool has {size}")).unwrap_or_default()
        ));
        self.bars.println(warning.render(self.color).trim_end());
    }

    fn searching(&self, head: &Head) {
        let mut state = lock(&self.state);
        let header = header_of(head, None);
        self.bars.println(report::header::text(&header, None).trim_end());
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
        self.bars.println(&format!("  {asked}; {}; {verdict}", found.join("; ")));
        let mut activity = activity_of(finished, None);
        activity.target = probe.rate;
        lock(&self.state).activities.push(activity);
    }

    fn end(&self, finished: &Finished) {
        let stopped_by = lock(&self.stopped_by).clone();
        let mut state = lock(&self.state);
        let shown = state.shown.remove(&finished.head.id);
        if let Some(bar) = shown.as_ref().and_then(|shown| shown.bar.as_ref()) {
            bar.finish();
        }
        if let Mode::Lines { asked, .. } = self.mode
            && (asked || shown.is_some_and(|shown| shown.lines > 0))
        {
            let result = &finished.result;
            let done = result.cycles_done + result.cycles_before;
            let total = total_of(&finished.head, result.cycles_asked);
            let last = Standing { total, done, in_flight: 0 };
            self.bars.println(&last.line(&finished.head.alias, true));
        }
        let activity = activity_of(finished, stopped_by);
        let text = report::summary::text(&activity);
        state.activities.push(activity);
        drop(state);
        self.write_summary(&text);
    }
}
