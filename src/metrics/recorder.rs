//! Where samples go while an activity runs: one shard a runtime worker, so that recording is never contended
//! and 20,000 logical threads cost no more histograms than two.

use super::{Frame, OpStats, merge, record};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of one op when it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Position of the op in the activity.
    pub op: usize,
    /// Absent if the op was never sent.
    pub times: Option<Times>,
    /// Of the last try.
    pub bytes_sent: u64,
    pub docs_returned: u64,
}

/// Nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Due → sent.
    pub wait: u64,
    /// Sent → answered.
    pub service: u64,
}

/// How an op ended that did not end well.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ending {
    /// It was its first try.
    pub first: bool,
    /// It would have been retried but had no tries left.
    pub given_up: bool,
    /// The reply was ok but wrote only part.
    pub partial: bool,
    /// The op was given up or broke down, so its cycle did not come to its end.
    pub unfinished: bool,
}

/// Records what ops do, from any number of threads at once.
#[derive(Debug)]
pub struct Recorder {
    shards: Box<[Shard]>,
    /// Without a rate every op is due when it is sent: waits are 0 and response times are service times, so
    /// these two need no recording.
    paced: bool,
}

/// What one worker records. Its own cache lines: 128 bytes, since processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    begun: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    ops: Mutex<Vec<OpStats>>,
}

/// How many cycles were begun and ended, over all shards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub begun: u64,
    /// Of `begun`, those that came to their end, well or not.
    pub done: u64,
    /// Ops that ended in an error.
    pub failed: u64,
}

static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// Workers of a runtime start to record one after another, so their numbers fall on different shards.
    static THREAD: usize = THREADS.fetch_add(1, Relaxed);
}

impl Recorder {
    /// For `ops` ops, recorded from `workers` operating-system threads; `paced`: ops have a due time.
    pub fn new(ops: usize, workers: usize, paced: bool) -> Recorder {
        let shard = || Shard {
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            ops: Mutex::new(vec![OpStats::default(); ops]),
        };
        Recorder { shards: (0..workers.max(1)).map(|_| shard()).collect(), paced }
    }

    /// How many sets of histograms it holds.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    fn shard(&self) -> &Shard {
        let number = THREAD.with(|number| *number);
        &self.shards[number % self.shards.len()]
    }

    /// A cycle begins.
    pub fn begin(&self) {
        self.shard().begun.fetch_add(1, Relaxed);
    }

    /// The op ended well.
    pub fn ok(&self, sample: &Sample) {
        let shard = self.shard();
        shard.done.fetch_add(1, Relaxed);
        let mut ops = shard.lock();
        let Some(stats) = ops.get_mut(sample.op) else { return };
        stats.ok += 1;
        self.ended(stats, sample);
        if let Some(times) = sample.times {
            record(&mut stats.service, times.service);
            if self.paced {
                record(&mut stats.response, times.wait.saturating_add(times.service));
            }
        }
    }

    /// The op ended in the error `name`.
    pub fn failed(&self, sample: &Sample, name: &str, ending: Ending) {
        let shard = self.shard();
        shard.failed.fetch_add(1, Relaxed);
        if !ending.unfinished {
            shard.done.fetch_add(1, Relaxed);
        }
        let mut ops = shard.lock();
        let Some(stats) = ops.get_mut(sample.op) else { return };
        let counts = stats.error(name);
        counts.ended += 1;
        counts.first += u64::from(ending.first);
        counts.given_up += u64::from(ending.given_up);
        counts.partial += u64::from(ending.partial);
        self.ended(stats, sample);
        if let Some(times) = sample.times {
            record(&mut stats.failed, times.service);
        }
    }

    fn ended(&self, stats: &mut OpStats, sample: &Sample) {
        stats.attempted += 1;
        stats.bytes_sent += sample.bytes_sent;
        stats.docs_returned += sample.docs_returned;
        if let (true, Some(times)) = (self.paced, sample.times) {
            record(&mut stats.wait, times.wait);
        }
    }

    /// A try of `op` met the error `name` and will be followed by another; `first`: it was the op's first try.
    pub fn retried(&self, op: usize, name: &str, first: bool, bytes_sent: u64) {
        let mut ops = self.shard().lock();
        let Some(stats) = ops.get_mut(op) else { return };
        stats.retries += 1;
        stats.bytes_sent += bytes_sent;
        let counts = stats.error(name);
        counts.retried += 1;
        counts.first += u64::from(first);
    }

    /// Where the activity stands: a few reads, from any thread.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for shard in &self.shards {
            // `begun` is read last, so that no cycle seems to have ended before it began.
            counts.done += shard.done.load(Relaxed);
            counts.failed += shard.failed.load(Relaxed);
        }
        for shard in &self.shards {
            counts.begun += shard.begun.load(Relaxed);
        }
        counts
    }

    /// Moves all that was recorded since the last call into `frame.ops`, which is cleared first. A worker is
    /// held up for no longer than it takes to swap two pointers. `spare` is memory to swap with: empty at
    /// first, then what the last call left.
    pub fn collect(&self, spare: &mut Vec<OpStats>, frame: &mut Frame) {
        frame.ops.iter_mut().for_each(OpStats::clear);
        for shard in &self.shards {
            spare.resize_with(frame.ops.len(), OpStats::default);
            std::mem::swap(&mut *shard.lock(), spare);
            for (total, seen) in frame.ops.iter_mut().zip(spare.iter_mut()) {
                total.add(seen);
                seen.clear();
            }
        }
        if !self.paced {
            for stats in &mut frame.ops {
                merge(&mut stats.response, &stats.service);
                let sent = stats.service.len() + stats.failed.len();
                if sent > 0 && stats.wait.record_n(0, sent).is_err() {
                    stats.wait.saturating_record_n(0, sent);
                }
            }
        }
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Vec<OpStats>> {
        // Counters stay usable whatever happened to the thread that held them.
        self.ops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
