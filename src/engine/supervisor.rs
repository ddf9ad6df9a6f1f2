//! Watches over the threads of one activity: collects what they record, tells the observer, enforces the drain
//! limit, and makes the result.

use super::{ActivityResult, Ended, Fatal, Observer, Shared, Warning, error_names, thread};
use crate::metrics::{Frame, OpStats, Point};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, sleep_until};

const INTERVAL: Duration = Duration::from_secs(1);
/// At low rates the end does not wait for the whole share of the last start.
const LONGEST_SHARE: Duration = Duration::from_millis(100);
/// An interval at the end that is shorter than this and in which nothing happened is not worth a frame.
const SHORTEST_REST: Duration = Duration::from_millis(50);
/// An aborted op that does not let go of its thread within this time is left behind.
const LEAVE_BEHIND: Duration = Duration::from_millis(500);

/// Runs the activity to its end.
pub(super) async fn run(
    shared: Arc<Shared>,
    threads: usize,
    observer: Arc<dyn Observer>,
    mut warnings: UnboundedReceiver<Warning>,
) -> ActivityResult {
    let clock = keep_time(&shared);
    let mut tasks = spawn_threads(&shared, threads);
    let mut books = Books::new(&shared);
    let mut ticks = tokio::time::interval_at((shared.started + INTERVAL).into(), INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut aborted = false;
    loop {
        let deadline = shared.deadline().map(|at| if aborted { at + LEAVE_BEHIND } else { at });
        tokio::select! {
            joined = tasks.join_next() => match joined {
                Some(Ok(())) => {}
                Some(Err(error)) => shared.broke_down(error),
                None => break,
            },
            _ = ticks.tick() => books.close_interval(&shared, &*observer),
            Some(warning) = warnings.recv() => tell(&shared, &*observer, &warning),
            () = shared.changed.notified() => {}
            () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => {
                if aborted {
                    break;
                }
                tasks.abort_all();
                aborted = true;
            }
        }
    }
    if let Some(pacer) = &shared.pacer {
        if !shared.stopping() {
            // The last start's share of the schedule is part of the run: n cycles at r/s take n/r.
            let end = pacer.due(shared.cycles.total());
            sleep_until(end.min(Instant::now() + LONGEST_SHARE).into()).await;
        }
        pacer.close();
    }
    let elapsed = shared.started.elapsed();
    if let Some(clock) = clock {
        clock.unpark();
    }
    books.close_last_interval(&shared, &*observer);
    while let Ok(warning) = warnings.try_recv() {
        tell(&shared, &*observer, &warning);
    }
    result(&shared, elapsed, books)
}

/// Starts the thread that releases starts at the rate, if there is one.
fn keep_time(shared: &Arc<Shared>) -> Option<std::thread::Thread> {
    let pacer = Arc::clone(shared.pacer.as_ref()?);
    let spawned = std::thread::Builder::new().name("nbrs-clock".to_owned()).spawn(move || pacer.keep_time());
    match spawned {
        Ok(handle) => Some(handle.thread().clone()),
        Err(error) => {
            shared.fail(Fatal {
                op: usize::MAX,
                cycle: 0,
                name: "NoClock".to_owned(),
                message: format!("the thread that keeps the rate could not be started: {error}"),
            });
            None
        }
    }
}

fn spawn_threads(shared: &Arc<Shared>, threads: usize) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    // A sequence that points nowhere would be a defect of the caller; it ends here and not in a panic.
    let sound = !shared.sequence.is_empty() && shared.sequence.iter().all(|op| *op < shared.ops.len());
    if !sound && shared.cycles.total() > 0 {
        shared.fail(Fatal {
            op: usize::MAX,
            cycle: 0,
            name: "NoOps".to_owned(),
            message: "there are cycles to run but the sequence of ops is empty".to_owned(),
        });
    }
    if sound {
        let useful = usize::try_from(shared.cycles.strides()).unwrap_or(usize::MAX);
        let threads = threads.max(1).min(useful);
        for number in 0..threads {
            tasks.spawn(thread::run(Arc::clone(shared), number, thread::turn(threads)));
        }
    }
    tasks
}

fn tell(shared: &Shared, observer: &dyn Observer, warning: &Warning) {
    let op = shared.op_name(warning.op);
    observer.warn(&shared.alias, &op, warning.cycle, &warning.name, &warning.message);
}

/// What is added up over the run.
struct Books {
    frame: Frame,
    /// Memory to swap the recorder's with.
    spare: Vec<OpStats>,
    totals: Vec<OpStats>,
    series: Vec<Point>,
    backlog: u64,
}

impl Books {
    fn new(shared: &Shared) -> Books {
        let nothing = || shared.ops.iter().map(|_| OpStats::default()).collect();
        Books {
            frame: Frame { start: Duration::ZERO, length: Duration::ZERO, ops: nothing() },
            spare: Vec::new(),
            totals: nothing(),
            series: Vec::new(),
            backlog: 0,
        }
    }

    fn close_interval(&mut self, shared: &Shared, observer: &dyn Observer) {
        self.collect(shared);
        self.enter(shared, observer);
    }

    fn close_last_interval(&mut self, shared: &Shared, observer: &dyn Observer) {
        self.collect(shared);
        let idle = self.frame.ops.iter().all(|op| op.attempted == 0 && op.retries == 0);
        if !(idle && self.frame.length < SHORTEST_REST && !self.series.is_empty()) {
            self.enter(shared, observer);
        }
    }

    fn collect(&mut self, shared: &Shared) {
        let frame = &mut self.frame;
        frame.start += frame.length;
        frame.length = shared.started.elapsed().saturating_sub(frame.start);
        shared.recorder.collect(&mut self.spare, frame);
    }

    fn enter(&mut self, shared: &Shared, observer: &dyn Observer) {
        let frame = &self.frame;
        for (total, seen) in self.totals.iter_mut().zip(&frame.ops) {
            total.add(seen);
        }
        self.series.extend(frame.points());
        self.backlog = self.backlog.max(shared.backlog());
        observer.frame(&shared.alias, frame);
    }
}

fn result(shared: &Shared, elapsed: Duration, books: Books) -> ActivityResult {
    let cycles_asked = shared.cycles.total();
    let cycles_done = shared.recorder.counts().done;
    let failure = shared.ending().failure.take();
    let ended = match failure {
        Some(Fatal { op, cycle, name, message }) => {
            Ended::Failed { op: shared.op_name(op), cycle, name, message }
        }
        None if cycles_done >= cycles_asked => Ended::Complete,
        None => Ended::Stopped,
    };
    ActivityResult {
        alias: shared.alias.clone(),
        op_names: shared.ops.iter().map(|op| op.name.clone()).collect(),
        ended,
        cycles_asked,
        cycles_done,
        started: shared.started_at,
        elapsed,
        backlog: books.backlog,
        series: books.series,
        totals: books.totals,
    }
}

/// What can be said when the supervisor itself was ended: by a panic of the observer, or with its runtime.
pub(super) fn result_without_supervisor(shared: &Shared, error: JoinError) -> ActivityResult {
    shared.stop();
    shared.broke_down(error);
    let mut books = Books::new(shared);
    struct Nobody;
    impl Observer for Nobody {}
    // What earlier intervals held went with the supervisor.
    books.close_interval(shared, &Nobody);
    result(shared, shared.started.elapsed(), books)
}

impl Shared {
    /// When ops in flight are given up.
    fn deadline(&self) -> Option<Instant> {
        let ending = self.ending();
        ending.stopped?.checked_add(ending.drain?)
    }

    /// A task ended by itself: the panic of an op ends the activity, with the message of the panic.
    fn broke_down(&self, error: JoinError) {
        let Ok(payload) = error.try_into_panic() else { return };
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        let mut message = Some(format!("a defect of nbrs, please report it: {text}"));
        if let Some(failure) = &mut self.ending().failure
            && failure.name == error_names::PANIC
            && failure.message.is_empty()
        {
            failure.message = message.take().unwrap_or_default();
        }
        if let Some(message) = message {
            self.fail(Fatal { op: usize::MAX, cycle: 0, name: error_names::PANIC.to_owned(), message });
        }
    }
}
