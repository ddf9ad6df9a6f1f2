//! cycles × sequence × rate × dispensers → Frames. Names no adapter, reads no YAML, prints nothing.
//!
//! [`start`] makes a task of each logical thread (`thread`, the hot loop) and one that watches over them
//! (`supervisor`): it collects what they record once a second, tells the [`Observer`], and ends the activity.

mod cycles;
mod supervisor;
mod thread;

#[cfg(test)]
mod tests;

use crate::adapters::Dispenser;
use crate::metrics::{Frame, OpStats, Point, Recorder};
use crate::policy::Policy;
use crate::rate::Pacer;
use crate::units::Rate;
use cycles::Cycles;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// One op of an activity.
pub struct ActivityOp {
    /// `block__op`.
    pub name: String,
    pub dispenser: Arc<dyn Dispenser>,
}

/// What to run.
pub struct Activity {
    pub alias: String,
    pub ops: Vec<ActivityOp>,
    /// Entry `cycle % len` is the position in `ops`.
    pub sequence: Vec<usize>,
    pub cycles: Range<u64>,
    /// Passes over `cycles`; at least 1.
    pub recycles: u64,
    /// Cycles a thread takes at a time; at least 1.
    pub stride: u64,
    /// Logical threads; at least 1.
    pub threads: usize,
    pub cycle_rate: Option<Rate>,
    pub policy: Policy,
    /// Tries of one op, retries included; at least 1.
    pub max_tries: u32,
}

/// Errors that the engine itself names. They go through the policy like those of a target, but for the last two,
/// of which there is nothing to decide.
pub mod error_names {
    /// An op could not be made for its cycle, so nothing was sent.
    pub const BIND: &str = "BindError";
    /// An op was in flight when the activity had to end.
    pub const ABANDONED: &str = "Abandoned";
    /// A defect of the program met by an op.
    pub const PANIC: &str = "Panic";
}

/// Why an activity ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All cycles ran.
    Complete,
    /// Somebody asked for it.
    Stopped,
    /// An error that the policy does not let pass.
    Failed { op: String, cycle: u64, name: String, message: String },
}

/// What an activity did, whole.
pub struct ActivityResult {
    pub alias: String,
    pub op_names: Vec<String>,
    pub ended: Ended,
    pub cycles_asked: u64,
    /// Cycles that were run to their end, well or not.
    pub cycles_done: u64,
    pub started: SystemTime,
    pub elapsed: Duration,
    /// The most cycles that were due and had not started, of all ends of intervals; 0 without a rate.
    pub backlog: u64,
    /// One point per interval and op: what is kept of the frames.
    pub series: Vec<Point>,
    /// In the order of `op_names`.
    pub totals: Vec<OpStats>,
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
}

/// Where an activity stands; cheap to read at any time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Over all passes.
    pub cycles_total: u64,
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
    sequence: Vec<usize>,
    cycles: Cycles,
    policy: Policy,
    max_tries: u32,
    pacer: Option<Arc<Pacer>>,
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
    /// How long after that ops may stay in flight.
    drain: Option<Duration>,
    /// The first error that does not pass.
    failure: Option<Fatal>,
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
    let shared = Arc::new(Shared {
        cycles: Cycles::new(activity.cycles, activity.recycles.max(1), activity.stride),
        pacer: activity.cycle_rate.map(|rate| Arc::new(Pacer::new(rate, started))),
        recorder: Recorder::new(activity.ops.len(), workers, activity.cycle_rate.is_some()),
        alias: activity.alias,
        ops: activity.ops,
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
    let supervisor = tokio::spawn(supervisor::run(Arc::clone(&shared), activity.threads, observer, to_tell));
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
        let counts = shared.recorder.counts();
        let cycles_total = shared.cycles.total();
        Progress {
            cycles_total,
            cycles_done: counts.done,
            cycles_in_flight: counts.begun.saturating_sub(counts.done),
            errors: counts.failed,
            backlog: shared.backlog(),
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
        self.ending().stopped.get_or_insert_with(Instant::now);
        self.stopping.store(true, Relaxed);
        if let Some(pacer) = &self.pacer {
            pacer.close();
        }
        self.changed.notify_one();
    }

    /// Ends the activity by an error; the first one is kept.
    fn fail(&self, failure: Fatal) {
        self.ending().failure.get_or_insert(failure);
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

    /// Cycles that are due and have not started.
    fn backlog(&self) -> u64 {
        let Some(pacer) = &self.pacer else { return 0 };
        let left = self.cycles.total().saturating_sub(self.recorder.counts().begun);
        pacer.backlog().min(left)
    }

    fn op_name(&self, op: usize) -> String {
        self.ops.get(op).map(|op| op.name.clone()).unwrap_or_default()
    }
}
