//! cycles × sequence × rate × dispensers → Frames. Names no adapter, reads no YAML, prints nothing.
//!
//! [`start`] makes a task of each logical thread (`thread`, the hot loop) and one that watches over them
//! (`supervisor`): it collects what they record once a second, tells the [`Observer`], and ends the activity.

mod cycles;
mod journal;
mod pace;
mod process;
mod series;
mod supervisor;
mod thread;
mod watermark;

#[cfg(test)]
mod tests;

use crate::adapters::Dispenser;
use crate::metrics::{Client, Frame, OpStats, Outage, Point, Recorder, Standing, WarmUp};
use crate::policy::Policy;
use crate::rate::Profile;
use crate::sequence::Ordinals;
use crate::units::Rate;
use cycles::Cycles;
pub use journal::{Journal, JournalError};
use pace::Pace;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use thread::Slot;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use watermark::Watermark;

/// One op of an activity.
pub struct ActivityOp {
    /// `block__op`.
    pub name: String,
    pub dispenser: Arc<dyn Dispenser>,
    /// The op (position) that runs in the same cycle once this one ended well. It is in no sequence.
    pub then: Option<usize>,
    /// The op is made for its own number of the cycle, not for the cycle's.
    pub ordinals: Option<Ordinals>,
    /// It inserts records, which functions that [read only what was written](Activity::watermark) may read.
    pub inserts: bool,
    /// Timers of the activity (positions) that start when this op is sent.
    pub starts: Vec<usize>,
    /// Timers that stop when it ends, well or not, on a thread on which they were started.
    pub stops: Vec<usize>,
}

impl ActivityOp {
    /// An op that inserts nothing and has no timers.
    pub fn new(name: impl Into<String>, dispenser: Arc<dyn Dispenser>) -> ActivityOp {
        ActivityOp {
            name: name.into(),
            dispenser,
            then: None,
            ordinals: None,
            inserts: false,
            starts: Vec::new(),
            stops: Vec::new(),
        }
    }
}

/// A time that a thread takes from the start of one op to the end of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTimer {
    pub name: String,
    /// The op that it is reported with.
    pub op: usize,
}

/// What to run.
pub struct Activity {
    pub alias: String,
    pub ops: Vec<ActivityOp>,
    pub timers: Vec<NamedTimer>,
    /// Entry `cycle % len` is the position in `ops`.
    pub sequence: Vec<usize>,
    pub cycles: Range<u64>,
    /// Passes over `cycles`; at least 1.
    pub recycles: u64,
    /// Cycles a thread takes at a time; at least 1.
    pub stride: u64,
    /// Logical threads; at least 1.
    pub threads: usize,
    /// Starts of cycles.
    pub cycle_rate: Option<Load>,
    /// Starts of strides. All cycles of a stride are due when the stride is.
    pub stride_rate: Option<Rate>,
    /// Ops start when they are due, however many are in flight, up to this many: threads are added as needed.
    pub max_in_flight: Option<usize>,
    /// How long cycles run before they are counted.
    pub warm_up: Duration,
    /// How long cycles are counted; for as long as there are any if absent.
    pub duration: Option<Duration>,
    pub policy: Policy,
    /// Tries of one op, retries included; at least 1.
    pub max_tries: u32,
    /// Where finished cycles are written down, and which were finished before.
    pub journal: Option<Journal>,
    /// A function reads how many inserting cycles are acknowledged
    /// ([`Context::acknowledged`](crate::functions::Context::acknowledged)): they are counted.
    pub watermark: bool,
    /// Its ops do nothing but write for a reader: it ends once that has closed what they write to
    /// ([`Failure::unread`](crate::adapters::Failure::unread)).
    pub for_reader: bool,
    /// No cycle came to its end for so long: the observer is told what is in flight.
    pub stall: Duration,
}

/// How fast cycles are to start.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    Rate(Rate),
    /// A rate that changes over time; late cycles are caught up at no more than its rate × `burst`.
    Profile {
        profile: Profile,
        burst: f64,
    },
}

/// Nothing to run, and the usual for all else.
impl Default for Activity {
    fn default() -> Activity {
        Activity {
            alias: String::new(),
            ops: Vec::new(),
            timers: Vec::new(),
            sequence: Vec::new(),
            cycles: 0..0,
            recycles: 1,
            stride: 1,
            threads: 1,
            cycle_rate: None,
            stride_rate: None,
            max_in_flight: None,
            warm_up: Duration::ZERO,
            duration: None,
            policy: Policy::default(),
            max_tries: 10,
            journal: None,
            watermark: false,
            for_reader: false,
            stall: STALL,
        }
    }
}

/// How long no cycle may come to its end before somebody is told.
const STALL: Duration = Duration::from_secs(30);

/// Errors that the engine itself names. They go through the policy like those of a target, but for the last two,
/// of which there is nothing to decide.
pub mod error_names {
    /// An op could not be made for its cycle, so nothing was sent.
    pub const BIND: &str = "BindError";
    /// An op was in flight when the activity had to end.
    pub const ABANDONED: &str = "Abandoned";
    /// A defect of the program met by an op.
    pub const PANIC: &str = "Panic";
    /// The journal could not be written.
    pub const JOURNAL: &str = "JournalFailed";
}

/// Why an activity ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All cycles ran.
    Complete,
    /// Its time was over before its cycles.
    TimeUp,
    /// Somebody asked for it.
    Stopped,
    /// The reader of what its ops write has closed it.
    Unread,
    /// An error that the policy does not let pass.
    Failed { op: String, cycle: u64, name: String, message: String },
}

/// What an activity did, whole.
pub struct ActivityResult {
    pub alias: String,
    pub op_names: Vec<String>,
    pub ended: Ended,
    pub cycles_asked: u64,
    /// Cycles that were run to their end, well or not; in the warm-up, too.
    pub cycles_done: u64,
    /// Cycles that were done before, as the journal said; they are among `cycles_asked` alone.
    pub cycles_before: u64,
    pub started: SystemTime,
    pub elapsed: Duration,
    pub warm_up: Option<WarmUp>,
    /// Cycles per second that were asked for, in the time that counts; absent without a rate.
    pub target: Option<f64>,
    /// The most cycles that were due and had not started, of all ends of intervals; 0 without a rate.
    pub backlog: u64,
    /// The same at the end.
    pub backlog_left: u64,
    /// What held up the client itself.
    pub client: Client,
    /// Times in which no op ended well.
    pub outages: Vec<Outage>,
    /// One point per interval and op: what is kept of the frames, in intervals of a second unless the run is so long
    /// that there would be too many. Without the warm-up.
    pub series: Vec<Point>,
    /// In the order of `op_names`, without the warm-up.
    pub totals: Vec<OpStats>,
}

impl ActivityResult {
    /// Seconds that count: without the warm-up.
    pub fn counted(&self) -> Option<f64> {
        let warm_up = self.warm_up.unwrap_or_default();
        Some(self.elapsed.saturating_sub(warm_up.elapsed).as_secs_f64()).filter(|seconds| *seconds > 0.0)
    }

    /// Cycles per second in the time that counts.
    pub fn achieved(&self) -> Option<f64> {
        let warm_up = self.warm_up.unwrap_or_default();
        Some(self.cycles_done.saturating_sub(warm_up.cycles) as f64 / self.counted()?)
    }
}

/// Cycles that are due and do not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    pub backlog: u64,
    pub in_flight: u64,
    /// Logical threads.
    pub threads: u64,
}

/// An activity in which nothing ends any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// For how long.
    pub silent: Duration,
    pub in_flight: u64,
    /// Ops and cycles in flight, the first few.
    pub examples: Vec<(String, u64)>,
}

/// What the engine tells while it runs. Calls come from one task of the engine, never from the hot loop.
pub trait Observer: Send + Sync {
    /// An interval of one second (the last may be shorter) has ended.
    fn frame(&self, activity: &str, frame: &Frame) {
        let _ = (activity, frame);
    }
    /// An error name met for the first time that the policy lets pass with a warning.
    fn warn(&self, activity: &str, op: &str, cycle: u64, name: &str, message: &str) {
        let _ = (activity, op, cycle, name, message);
    }
    /// An interval has ended with all threads busy and starts that are late.
    fn behind(&self, activity: &str, behind: Behind) {
        let _ = (activity, behind);
    }
    /// Nothing has ended for a while; told again each time as much has passed.
    fn stalled(&self, activity: &str, stall: &Stall) {
        let _ = (activity, stall);
    }
}

/// Where an activity stands; cheap to read at any time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Over all passes.
    pub cycles_total: u64,
    /// Those that were done before, too.
    pub cycles_done: u64,
    pub cycles_in_flight: u64,
    pub errors: u64,
    /// Cycles that are due but have not started (0 without a rate).
    pub backlog: u64,
}

/// An activity that runs. Dropping it does not stop it.
pub struct Running {
    control: Control,
    supervisor: JoinHandle<ActivityResult>,
}

/// A handle to an activity, to look at it or stop it from elsewhere while somebody waits for it.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

/// What the threads of an activity share.
struct Shared {
    alias: String,
    ops: Vec<ActivityOp>,
    timers: Vec<NamedTimer>,
    sequence: Vec<usize>,
    cycles: Cycles,
    policy: Policy,
    max_tries: u32,
    cycle_pace: Pace,
    stride_pace: Pace,
    stride: u64,
    max_in_flight: Option<usize>,
    warm_up: Duration,
    duration: Option<Duration>,
    journal: Option<Journal>,
    watermark: Option<Watermark>,
    for_reader: bool,
    stall: Duration,
    /// Logical threads so far.
    threads: AtomicU64,
    /// What each logical thread has in flight.
    slots: Box<[Slot]>,
    recorder: Recorder,
    started: Instant,
    started_at: SystemTime,
    stopping: AtomicBool,
    ending: Mutex<Ending>,
    /// `ending` has changed.
    changed: Notify,
    /// Names that were warned of.
    warned: Mutex<HashSet<String>>,
    warnings: mpsc::UnboundedSender<Warning>,
}

/// How the activity is to end.
#[derive(Default)]
struct Ending {
    /// When threads were asked to stop.
    stopped: Option<Instant>,
    /// They were asked since the time is over, and for no other reason.
    time_up: bool,
    /// How long after that ops may stay in flight.
    drain: Option<Duration>,
    /// The first error that does not pass.
    failure: Option<Fatal>,
    /// The reader of what ops write has closed it.
    unread: bool,
}

struct Fatal {
    op: usize,
    cycle: u64,
    name: String,
    message: String,
}

struct Warning {
    op: usize,
    cycle: u64,
    name: String,
    message: String,
}

/// Starts `activity` on the current tokio runtime, outside of which it panics. The clock starts when the first
/// thread does.
pub fn start(activity: Activity, observer: Arc<dyn Observer>) -> Running {
    let (warnings, to_tell) = mpsc::unbounded_channel();
    let started = Instant::now();
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    let cycle_pace = Pace::new(activity.cycle_rate, started);
    let stride_pace = Pace::new(activity.stride_rate.map(Load::Rate), started);
    let paced = cycle_pace.is_set() || stride_pace.is_set();
    let cycles = Cycles::new(activity.cycles.clone(), activity.recycles.max(1), activity.stride);
    // More threads than strides would find nothing to do.
    let useful = |threads: usize| threads.max(1).min(usize::try_from(cycles.strides()).unwrap_or(usize::MAX));
    let threads = useful(activity.threads);
    let max_in_flight = activity.max_in_flight.map(useful);
    let inserts = |op: usize| activity.ops.get(op).is_some_and(|op| op.inserts);
    let watermark =
        activity.watermark.then(|| Watermark::new(&activity.sequence, inserts, activity.cycles.clone()));
    let shared = Arc::new(Shared {
        cycle_pace,
        stride_pace,
        stride: activity.stride.max(1),
        max_in_flight,
        warm_up: activity.warm_up,
        duration: activity.duration,
        journal: activity.journal,
        watermark,
        for_reader: activity.for_reader,
        stall: activity.stall,
        threads: AtomicU64::new(0),
        slots: std::iter::repeat_with(Slot::default).take(max_in_flight.unwrap_or(threads)).collect(),
        recorder: Recorder::new(activity.ops.len(), workers, paced),
        cycles,
        alias: activity.alias,
        ops: activity.ops,
        timers: activity.timers,
        sequence: activity.sequence,
        policy: activity.policy,
        max_tries: activity.max_tries.max(1),
        started,
        started_at: SystemTime::now(),
        stopping: AtomicBool::new(false),
        ending: Mutex::default(),
        changed: Notify::new(),
        warned: Mutex::default(),
        warnings,
    });
    // In the open form one thread does to begin with.
    let threads = if shared.max_in_flight.is_some() { threads.min(1) } else { threads };
    let supervisor = tokio::spawn(supervisor::run(Arc::clone(&shared), threads, observer, to_tell));
    Running { control: Control { shared }, supervisor }
}

impl Running {
    /// Asks all threads to stop after the cycle they are in.
    pub fn stop(&self) {
        self.control.stop();
    }

    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// For those who look on or stop the activity while [`wait`](Running::wait) waits.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Waits for the end. Ops in flight longer than `drain` after a stop, or after the error that ended the
    /// activity, are given up and counted as [`error_names::ABANDONED`].
    pub async fn wait(self, drain: Duration) -> ActivityResult {
        let shared = &self.control.shared;
        shared.ending().drain = Some(drain);
        shared.changed.notify_one();
        match self.supervisor.await {
            Ok(result) => result,
            Err(error) => supervisor::result_without_supervisor(shared, error),
        }
    }
}

impl Control {
    /// Asks all threads to stop after the cycle they are in.
    pub fn stop(&self) {
        self.shared.stop();
    }

    pub fn progress(&self) -> Progress {
        let shared = &self.shared;
        let standing = shared.standing();
        Progress {
            cycles_total: shared.cycles.total(),
            cycles_done: standing.done,
            cycles_in_flight: standing.in_flight,
            errors: shared.recorder.counts().failed,
            backlog: standing.backlog,
        }
    }
}

impl Shared {
    fn ending(&self) -> MutexGuard<'_, Ending> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    fn stop(&self) {
        {
            let mut ending = self.ending();
            // Whoever asks now waits from now.
            if ending.stopped.is_none() || ending.time_up {
                ending.stopped = Some(Instant::now());
            }
            ending.time_up = false;
        }
        self.close();
    }

    /// The time is over.
    fn time_up(&self) {
        {
            let mut ending = self.ending();
            if ending.stopped.is_none() {
                ending.stopped = Some(Instant::now());
                ending.time_up = true;
            }
        }
        self.close();
    }

    fn close(&self) {
        self.stopping.store(true, Relaxed);
        self.cycle_pace.close();
        self.stride_pace.close();
        self.changed.notify_one();
    }

    /// Ends the activity by an error; the first one is kept.
    fn fail(&self, failure: Fatal) {
        self.ending().failure.get_or_insert(failure);
        self.stop();
    }

    /// There is nobody left to write for.
    fn unread(&self) {
        self.ending().unread = true;
        self.stop();
    }

    /// Tells of an error that passes, once for each name.
    fn warn(&self, op: usize, cycle: u64, name: &str, message: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() < crate::metrics::MAX_ERROR_NAMES && !warned.contains(name) {
            warned.insert(name.to_owned());
            // Nobody listens only when the activity is over.
            let _ =
                self.warnings.send(Warning { op, cycle, name: name.to_owned(), message: message.to_owned() });
        }
    }

    fn standing(&self) -> Standing {
        let counts = self.recorder.counts();
        let begun = counts.begun.saturating_add(self.cycles_before());
        Standing {
            threads: self.threads.load(Relaxed),
            in_flight: counts.in_flight(),
            done: counts.done + self.cycles_before(),
            pending: self.cycles.total().saturating_sub(begun),
            backlog: self.backlog(),
        }
    }

    /// Cycles that are due and have not started.
    fn backlog(&self) -> u64 {
        let begun = self.recorder.counts().begun.saturating_add(self.cycles_before());
        let left = self.cycles.total().saturating_sub(begun);
        let strides = self.stride_pace.backlog().saturating_mul(self.stride);
        self.cycle_pace.backlog().max(strides).min(left)
    }

    fn cycles_before(&self) -> u64 {
        self.journal.as_ref().map_or(0, Journal::done_before)
    }

    fn op_name(&self, op: usize) -> String {
        self.ops.get(op).map(|op| op.name.clone()).unwrap_or_default()
    }
}
