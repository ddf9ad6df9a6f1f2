//! cycles × sequence × rate × dispensers → Frames. Names no adapter, reads no YAML, prints nothing.

use crate::adapters::Dispenser;
use crate::metrics::{Frame, OpStats, Point};
use crate::policy::Policy;
use crate::units::Rate;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

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
    /// Cycles that were run to their end.
    pub cycles_done: u64,
    pub started: SystemTime,
    pub elapsed: Duration,
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
    pub cycles_total: u64,
    pub cycles_done: u64,
    pub cycles_in_flight: u64,
    pub errors: u64,
    /// Cycles that are due but have not started (0 without a rate).
    pub backlog: u64,
}

/// An activity that runs. Dropping it does not stop it.
pub struct Running {}

/// Starts `activity` on the current tokio runtime. The clock starts when the first thread does.
pub fn start(activity: Activity, observer: Arc<dyn Observer>) -> Running {
    let _ = (activity, observer);
    todo!()
}

impl Running {
    /// Asks all threads to stop after the cycle they are in.
    pub fn stop(&self) {
        todo!()
    }

    pub fn progress(&self) -> Progress {
        todo!()
    }

    /// Waits for the end. Ops in flight longer than `drain` after a stop are given up and counted as such.
    pub async fn wait(self, drain: Duration) -> ActivityResult {
        let _ = drain;
        todo!()
    }
}
