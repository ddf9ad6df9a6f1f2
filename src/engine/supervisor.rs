//! Watches over the threads of one activity: collects what they record, tells the observer, enforces the drain
//! limit, and makes the result.

use super::pace::Pace;
use super::process::{CpuClock, Memory};
use super::series::Series;
use super::thread::{self, Slot};
use super::{ActivityResult, Behind, Ended, Fatal, Observer, Shared, Stall, Warning, error_names};
use crate::metrics::{Client, Frame, OpStats, Outage, WarmUp};
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

/// How long ops may stay in flight when the time of a run is over: longer than after a stop, for a slow target
/// is not to look fast because its slowest ops were cut off.
const LATE: Duration = Duration::from_secs(10);

/// Runs the activity to its end.
pub(super) async fn run(
    shared: Arc<Shared>,
    threads: usize,
    observer: Arc<dyn Observer>,
    mut warnings: UnboundedReceiver<Warning>,
) -> ActivityResult {
    let clocks = [keep_time(&shared, &shared.cycle_pace), keep_time(&shared, &shared.stride_pace)];
    let mut crew = Crew::new(&shared, threads);
    let mut books = Books::new(&shared);
    let mut ticks = ticks(shared.started + INTERVAL);
    let mut aborted = false;
    loop {
        let deadline = shared.deadline().map(|at| if aborted { at + LEAVE_BEHIND } else { at });
        let warm_up_ends =
            books.warm_up.is_none().then(|| shared.started.checked_add(shared.warm_up)).flatten();
        let time_up = shared.time_is_up().filter(|_| !shared.stopping());
        tokio::select! {
            joined = crew.tasks.join_next() => match joined {
                Some(Ok(())) => {}
                Some(Err(error)) => shared.broke_down(error),
                None => break,
            },
            more = wanted(&shared), if crew.spare > 0 => crew.add(&shared, more),
            _ = ticks.tick() => {
                books.close_interval(&shared, &*observer);
                bring_to_disk(&shared);
            }
            Some(warning) = warnings.recv() => tell(&shared, &*observer, &warning),
            () = shared.changed.notified() => {}
            () = until(warm_up_ends), if warm_up_ends.is_some() => {
                books.end_warm_up(&shared, &*observer);
                ticks = self::ticks(Instant::now() + INTERVAL);
            }
            () = until(time_up), if time_up.is_some() => shared.time_up(),
            () = until(deadline), if deadline.is_some() => {
                if aborted {
                    break;
                }
                crew.tasks.abort_all();
                aborted = true;
            }
        }
    }
    if let Some(pacer) = shared.cycle_pace.shared()
        && !shared.stopping()
    {
        // The last start's share of the schedule is part of the run: n cycles at r/s take n/r.
        let end = pacer.due(shared.cycles.total().saturating_sub(shared.cycles_before()));
        sleep_until(end.min(Instant::now() + LONGEST_SHARE).into()).await;
    }
    let elapsed = shared.started.elapsed();
    let backlog_left = shared.backlog();
    shared.cycle_pace.close();
    shared.stride_pace.close();
    for clock in clocks.into_iter().flatten() {
        clock.unpark();
    }
    books.close_last_interval(&shared, &*observer);
    while let Ok(warning) = warnings.try_recv() {
        tell(&shared, &*observer, &warning);
    }
    if let Some(written) = bring_to_disk(&shared) {
        // A disk that fails now has been said by those who wrote.
        let _ = written.await;
    }
    result(&shared, elapsed, backlog_left, books)
}

fn ticks(first: Instant) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval_at(first.into(), INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// How many starts wait for a thread to be added.
async fn wanted(shared: &Shared) -> usize {
    match shared.cycle_pace.shared() {
        Some(pacer) => pacer.wanted().await,
        None => std::future::pending().await,
    }
}

/// Brings the journal to the disk, beside the run.
fn bring_to_disk(shared: &Shared) -> Option<tokio::task::JoinHandle<std::io::Result<()>>> {
    let file = shared.journal.as_ref()?.handle().ok()?;
    Some(tokio::task::spawn_blocking(move || file.sync_data()))
}

/// Starts the thread of the operating system that releases starts at the rate, if there is one.
fn keep_time(shared: &Shared, pace: &Pace) -> Option<std::thread::Thread> {
    let clock = pace.clock()?;
    match std::thread::Builder::new().name("nbrs-clock".to_owned()).spawn(clock) {
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

/// The tasks of the logical threads.
struct Crew {
    tasks: JoinSet<()>,
    number: usize,
    /// Threads that may be added.
    spare: usize,
    turn: u32,
}

impl Crew {
    fn new(shared: &Arc<Shared>, threads: usize) -> Crew {
        let most = shared.max_in_flight.unwrap_or(threads);
        let mut crew = Crew { tasks: JoinSet::new(), number: 0, spare: most, turn: thread::turn(most) };
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
            crew.add(shared, threads);
        } else {
            crew.spare = 0;
        }
        crew
    }

    fn add(&mut self, shared: &Arc<Shared>, threads: usize) {
        if shared.cycles.exhausted() {
            self.spare = 0;
        }
        for _ in 0..threads.min(self.spare) {
            self.tasks.spawn(thread::run(Arc::clone(shared), self.number, self.turn));
            self.number += 1;
            self.spare -= 1;
        }
        shared.threads.store(self.number as u64, std::sync::atomic::Ordering::Relaxed);
        if let (Some(_), Some(pacer)) = (shared.max_in_flight, shared.cycle_pace.shared()) {
            pacer.set_spare(self.spare);
        }
    }
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
    series: Series,
    /// Once it is over; at once where there is none.
    warm_up: Option<WarmUp>,
    warm_up_cycles: u64,
    backlog: u64,
    client: Client,
    late_and_busy: u64,
    cpu: CpuClock,
    /// Bytes that were swapped out before it began.
    swapped_before: u64,
    outages: Outages,
    /// Cycles that had ended, and when that last changed.
    ended: (u64, Instant),
    stalls_told: u32,
}

impl Books {
    fn new(shared: &Shared) -> Books {
        Books {
            frame: Frame { warm_up: !shared.warm_up.is_zero(), ..Frame::empty(shared.ops.len()) },
            spare: Vec::new(),
            totals: shared.ops.iter().map(|_| OpStats::default()).collect(),
            series: Series::new(),
            warm_up: shared.warm_up.is_zero().then(WarmUp::default),
            warm_up_cycles: 0,
            backlog: 0,
            client: Client::default(),
            late_and_busy: 0,
            cpu: CpuClock::start(),
            swapped_before: Memory::now().unwrap_or_default().swapped,
            outages: Outages::default(),
            ended: (0, Instant::now()),
            stalls_told: 0,
        }
    }

    /// What was recorded so far does not count.
    fn end_warm_up(&mut self, shared: &Shared, observer: &dyn Observer) {
        self.close_interval(shared, observer);
        self.warm_up =
            Some(WarmUp { elapsed: self.frame.start + self.frame.length, cycles: self.warm_up_cycles });
        self.frame.warm_up = false;
        self.backlog = 0;
        self.client = Client::default();
        self.late_and_busy = 0;
        self.cpu = CpuClock::start();
        self.outages = Outages::default();
    }

    fn close_interval(&mut self, shared: &Shared, observer: &dyn Observer) {
        self.collect(shared);
        self.enter(shared, observer);
        self.look_for_stall(shared, observer);
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
        frame.standing = shared.standing();
    }

    fn enter(&mut self, shared: &Shared, observer: &dyn Observer) {
        let in_flight = self.frame.standing.in_flight;
        let usual = self.longest_service();
        let frame = &self.frame;
        self.outages.note(frame, in_flight, usual);
        if !frame.warm_up {
            for (total, seen) in self.totals.iter_mut().zip(&frame.ops) {
                total.add(seen);
            }
            self.series.push(frame);
        } else {
            self.warm_up_cycles += frame.ops.iter().map(|op| op.attempted).sum::<u64>();
        }
        observer.frame(&shared.alias, frame);
        self.look_at_pace(shared, observer, in_flight);
    }

    /// The longest that an op that ended well took.
    fn longest_service(&self) -> Duration {
        let longest = self.totals.iter().map(|op| op.service.max()).max();
        Duration::from_nanos(longest.unwrap_or_default())
    }

    /// Whether starts are late, and whether all threads are busy.
    fn look_at_pace(&mut self, shared: &Shared, observer: &dyn Observer, in_flight: u64) {
        let lateness = shared.cycle_pace.lateness().max(shared.stride_pace.lateness());
        self.client.lateness = self.client.lateness.max(lateness);
        self.client.cpu = self.cpu.share();
        if let Some(memory) = Memory::now() {
            self.client.memory = Some(self.client.memory.unwrap_or(0).max(memory.resident));
            let swapped = memory.swapped.saturating_sub(self.swapped_before);
            self.client.swapped = self.client.swapped.max(swapped);
        }
        let backlog = self.frame.standing.backlog;
        self.backlog = self.backlog.max(backlog);
        // A start that is due while the clock ticks is not late: a tenth of a second's worth is.
        let threads = shared.slots.len();
        let frame = &self.frame;
        let due = shared.due_between(frame.start, frame.start + frame.length);
        let per_second = due.unwrap_or(0.0) / frame.length.as_secs_f64().max(1e-9);
        if backlog as f64 <= (per_second / 10.0).max(1.0) || shared.stopping() {
            return;
        }
        self.client.late_intervals += 1;
        // Threads that are between two ops when they are counted are busy too.
        if in_flight as f64 >= threads as f64 * 0.9 {
            self.late_and_busy += 1;
            observer.behind(&shared.alias, Behind { backlog, in_flight, threads: threads as u64 });
        }
    }

    fn look_for_stall(&mut self, shared: &Shared, observer: &dyn Observer) {
        let counts = shared.recorder.counts();
        let ended = counts.done + counts.failed;
        let in_flight = counts.in_flight();
        if ended != self.ended.0 || in_flight == 0 {
            (self.ended, self.stalls_told) = ((ended, Instant::now()), 0);
            return;
        }
        let silent = self.ended.1.elapsed();
        if silent < shared.stall.saturating_mul(self.stalls_told + 1) {
            return;
        }
        self.stalls_told += 1;
        let examples = shared.slots.iter().filter_map(Slot::cycle).take(EXAMPLES);
        let examples = examples.map(|cycle| (shared.op_name(shared.op_of(cycle)), cycle)).collect();
        observer.stalled(&shared.alias, &Stall { silent, in_flight, examples });
    }
}

/// Cycles in flight that are named when nothing ends any more.
const EXAMPLES: usize = 3;

/// Times in which no op ended well though some were tried.
#[derive(Default)]
struct Outages {
    found: Vec<Outage>,
    /// When an op ended well for the last time.
    last_well: Option<Duration>,
    /// Ops failed since then, or at most one interval before.
    failing: bool,
    /// Ops were in flight at the end of every interval since then.
    hanging: bool,
}

/// A shorter time without an op that ended well is none that is told of.
const SHORTEST_OUTAGE: Duration = Duration::from_secs(1);
/// Outages beyond these are not kept.
const MOST_OUTAGES: usize = 1000;

impl Outages {
    /// `usual`: the longest that an op took before. Where none fails, a longer silence than twice that is an
    /// outage, and a shorter one is how slow the target is.
    fn note(&mut self, frame: &Frame, in_flight: u64, usual: Duration) {
        let failing = frame.ops.iter().any(|op| op.failed_ops() > 0 || op.retries > 0);
        self.failing |= failing;
        let Some((first, last)) = frame.well else {
            self.hanging &= in_flight > 0;
            return;
        };
        if let Some(from) = self.last_well
            && self.is_outage(from, first, usual)
            && self.found.len() < MOST_OUTAGES
        {
            self.found.push(Outage { from, to: Some(first) });
        }
        (self.last_well, self.failing, self.hanging) = (Some(last), failing, in_flight > 0);
    }

    fn is_outage(&self, from: Duration, to: Duration, usual: Duration) -> bool {
        let length = to.saturating_sub(from);
        length >= SHORTEST_OUTAGE && (self.failing || (self.hanging && length > usual.saturating_mul(2)))
    }

    /// All of them, with the one that had not ended when the run did.
    fn at_end(mut self, end: Duration, usual: Duration) -> Vec<Outage> {
        if let Some(from) = self.last_well
            && self.is_outage(from, end, usual)
        {
            self.found.push(Outage { from, to: None });
        }
        self.found
    }
}

fn result(shared: &Shared, elapsed: Duration, backlog_left: u64, books: Books) -> ActivityResult {
    let cycles_asked = shared.cycles.total();
    let cycles_before = shared.cycles_before();
    let cycles_done = shared.recorder.counts().done;
    let (failure, time_up, unread) = {
        let mut ending = shared.ending();
        (ending.failure.take(), ending.time_up, ending.unread)
    };
    let ended = match failure {
        Some(Fatal { op, cycle, name, message }) => {
            Ended::Failed { op: shared.op_name(op), cycle, name, message }
        }
        None if cycles_done + cycles_before >= cycles_asked => Ended::Complete,
        None if unread => Ended::Unread,
        None if time_up => Ended::TimeUp,
        None => Ended::Stopped,
    };
    let warm_up = books.warm_up.unwrap_or(WarmUp { elapsed, cycles: cycles_done });
    let counted = elapsed.saturating_sub(warm_up.elapsed).as_secs_f64();
    let due = shared.due_between(warm_up.elapsed, elapsed).filter(|_| counted > 0.0);
    let mut client = books.client;
    if client.late_intervals > 0 {
        client.busy = books.late_and_busy as f64 / client.late_intervals as f64;
    }
    let usual = books.longest_service();
    ActivityResult {
        alias: shared.alias.clone(),
        op_names: shared.ops.iter().map(|op| op.name.clone()).collect(),
        ended,
        cycles_asked,
        cycles_done,
        cycles_before,
        started: shared.started_at,
        elapsed,
        warm_up: (!shared.warm_up.is_zero()).then_some(warm_up),
        target: due.map(|due| due / counted),
        backlog: books.backlog,
        backlog_left,
        client,
        outages: books.outages.at_end(elapsed, usual),
        series: books.series.into_points(),
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
    result(shared, shared.started.elapsed(), shared.backlog(), books)
}

impl Shared {
    /// When ops in flight are given up.
    fn deadline(&self) -> Option<Instant> {
        let ending = self.ending();
        let drain = ending.drain?;
        ending.stopped?.checked_add(if ending.time_up { drain.max(LATE) } else { drain })
    }

    /// When the time that the activity has is over.
    fn time_is_up(&self) -> Option<Instant> {
        self.started.checked_add(self.warm_up.saturating_add(self.duration?))
    }

    /// How many cycles fell due from `since` to `until` (since the clock started); absent without a rate.
    fn due_between(&self, since: Duration, until: Duration) -> Option<f64> {
        let threads = self.slots.len();
        let cycles = self.cycle_pace.due_between(since, until, threads);
        let strides = self.stride_pace.due_between(since, until, threads).map(|n| n * self.stride as f64);
        match (cycles, strides) {
            // Both hold: the slower one is what is asked for.
            (Some(cycles), Some(strides)) => Some(cycles.min(strides)),
            (cycles, strides) => cycles.or(strides),
        }
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
