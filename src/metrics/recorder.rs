//! Where samples go while an activity runs: one shard a runtime worker, so that recording is never contended
//! and 20,000 logical threads cost no more histograms than two.

use super::{Frame, MAX_TRIES_APART, OpStats, bounded, histogram, merge, record};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    pub docs_written: u64,
    /// Its cycle is over with it: no other op of the cycle follows.
    pub last: bool,
    /// Tries of the op; 0 is taken as 1.
    pub tries: u32,
    /// When it ended, in nanoseconds since the clock started.
    pub ended: u64,
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
    /// Documents that were not written, as the reply said.
    pub documents: u64,
    /// The policy asks for the times of this error.
    pub timed: bool,
    /// The result code that the policy gives the cycle.
    pub code: Option<u8>,
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
    seen: Mutex<Seen>,
}

/// What a worker recorded since it was last collected.
#[derive(Debug)]
struct Seen {
    ops: Vec<OpStats>,
    /// When ops ended well for the first and the last time, in nanoseconds since the clock started.
    well: Option<(u64, u64)>,
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

impl Counts {
    /// Cycles that were begun and have not ended.
    pub fn in_flight(&self) -> u64 {
        self.begun.saturating_sub(self.done)
    }
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
            seen: Mutex::new(Seen {
                // Made one by one: a copy would touch all of its memory.
                ops: std::iter::repeat_with(OpStats::default).take(ops).collect(),
                well: None,
            }),
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
        if sample.last {
            shard.done.fetch_add(1, Relaxed);
        }
        let seen = &mut *shard.lock();
        let Some(stats) = seen.ops.get_mut(sample.op) else { return };
        let first = seen.well.map_or(sample.ended, |(first, _)| first);
        seen.well = Some((first, sample.ended));
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
        if sample.last && !ending.unfinished {
            shard.done.fetch_add(1, Relaxed);
        }
        let mut seen = shard.lock();
        let Some(stats) = seen.ops.get_mut(sample.op) else { return };
        let counts = stats.error(name);
        counts.ended += 1;
        counts.first += u64::from(ending.first);
        counts.given_up += u64::from(ending.given_up);
        counts.partial += u64::from(ending.partial);
        counts.documents += ending.documents;
        if let Some(code) = ending.code {
            *stats.result_codes.entry(code).or_default() += 1;
        }
        self.ended(stats, sample);
        if let Some(times) = sample.times {
            record(&mut stats.failed, times.service);
            if self.paced {
                record(&mut stats.failed_response, times.wait.saturating_add(times.service));
            }
            if ending.timed {
                record(stats.times_of(name), times.service);
            }
        }
    }

    fn ended(&self, stats: &mut OpStats, sample: &Sample) {
        stats.attempted += 1;
        stats.bytes_sent += sample.bytes_sent;
        stats.docs_returned += sample.docs_returned;
        stats.docs_written += sample.docs_written;
        if sample.tries > 1 {
            *stats.tries.entry(sample.tries.min(MAX_TRIES_APART)).or_default() += 1;
        }
        if let (true, Some(times)) = (self.paced, sample.times) {
            record(&mut stats.wait, times.wait);
        }
    }

    /// A try of `op` met the error `name` and will be followed by another; `first`: it was the op's first try.
    pub fn retried(&self, op: usize, name: &str, first: bool, bytes_sent: u64) {
        let mut seen = self.shard().lock();
        let Some(stats) = seen.ops.get_mut(op) else { return };
        stats.retries += 1;
        stats.bytes_sent += bytes_sent;
        let counts = stats.error(name);
        counts.retried += 1;
        counts.first += u64::from(first);
    }

    /// A stride of several cycles, of which `op` was the first, took so many nanoseconds.
    pub fn stride(&self, op: usize, nanoseconds: u64) {
        let mut seen = self.shard().lock();
        let Some(stats) = seen.ops.get_mut(op) else { return };
        record(&mut stats.strides, nanoseconds);
    }

    /// The timer `name` of `op` stopped after so many nanoseconds.
    pub fn timed(&self, op: usize, name: &str, nanoseconds: u64) {
        let mut seen = self.shard().lock();
        let Some(stats) = seen.ops.get_mut(op) else { return };
        record(bounded(&mut stats.timers, name, histogram), nanoseconds);
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
        frame.well = None;
        for shard in &self.shards {
            spare.resize_with(frame.ops.len(), OpStats::default);
            let well = {
                let mut seen = shard.lock();
                std::mem::swap(&mut seen.ops, spare);
                seen.well.take()
            };
            if let Some((first, last)) = well {
                let (first, last) = (Duration::from_nanos(first), Duration::from_nanos(last));
                let (earlier, later) = frame.well.unwrap_or((first, last));
                frame.well = Some((first.min(earlier), last.max(later)));
            }
            for (total, seen) in frame.ops.iter_mut().zip(spare.iter_mut()) {
                total.add(seen);
                seen.clear();
            }
        }
        if !self.paced {
            for stats in &mut frame.ops {
                merge(&mut stats.response, &stats.service);
                merge(&mut stats.failed_response, &stats.failed);
                let sent = stats.service.len() + stats.failed.len();
                if sent > 0 && stats.wait.record_n(0, sent).is_err() {
                    stats.wait.saturating_record_n(0, sent);
                }
            }
        }
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Counters stay usable whatever happened to the thread that held them.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_ERROR_NAMES, OTHER_ERRORS, Quantiles};
    use super::*;

    fn sample(op: usize, wait: u64, service: u64) -> Sample {
        Sample {
            last: true,
            op,
            times: Some(Times { wait, service }),
            bytes_sent: 7,
            docs_returned: 2,
            ..Sample::default()
        }
    }

    fn frame(ops: usize) -> Frame {
        Frame::empty(ops)
    }

    #[test]
    fn no_value_is_too_small_or_too_large() {
        const HOUR: u64 = 3600 * 1_000_000_000;
        let recorder = Recorder::new(1, 1, true);
        let values = [0, 1, 61_000_000_000, 25 * HOUR, u64::MAX];
        for service in values {
            recorder.ok(&sample(0, 0, service));
        }
        let mut frame = frame(1);
        recorder.collect(&mut Vec::new(), &mut frame);
        let stats = &frame.ops[0];
        for histogram in [&stats.service, &stats.response] {
            assert_eq!(histogram.len(), 5);
            for value in values {
                assert_eq!(histogram.count_at(value), 1, "{value}");
            }
        }
        assert_eq!(Quantiles::of(&stats.service).max, u64::MAX);
    }

    #[test]
    fn intervals_of_different_ranges_add_up_exactly() {
        let mut total = OpStats::default();
        for (service, count) in [(3, 1u64 << 31), (70_000_000_000, 5), (40_000, 2)] {
            let mut seen = OpStats { ok: count, attempted: count, ..OpStats::default() };
            seen.service.record_n(service, count).expect("it grows");
            total.add(&seen);
        }
        let expected = (1 << 31) + 7;
        assert_eq!((total.ok, total.attempted, total.service.len()), (expected, expected, expected));
        assert_eq!(total.service.count_at(3), 1 << 31);
        assert_eq!(total.service.count_at(70_000_000_000), 5);
        assert_eq!(total.service.max(), total.service.highest_equivalent(70_000_000_000));
    }

    #[test]
    fn nothing_is_lost_or_counted_twice_while_it_is_collected() {
        let recorder = Recorder::new(2, 2, true);
        let mut spare = Vec::new();
        let (mut frame, mut totals) = (frame(2), [OpStats::default(), OpStats::default()]);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        for n in 0..5_000 {
                            recorder.begin();
                            match n % 5 {
                                0 => recorder.failed(&sample(1, 1, n), "DuplicateKey", Ending::default()),
                                _ => recorder.ok(&sample(0, 1, n)),
                            }
                        }
                    })
                })
                .collect();
            let mut working = true;
            while working {
                working = threads.iter().any(|thread| !thread.is_finished());
                recorder.collect(&mut spare, &mut frame);
                totals.iter_mut().zip(&frame.ops).for_each(|(total, seen)| total.add(seen));
                let counts = recorder.counts();
                assert!(counts.done <= counts.begun);
            }
        });
        assert_eq!(recorder.counts(), Counts { begun: 20_000, done: 20_000, failed: 4_000 });
        assert_eq!((totals[0].ok, totals[0].service.len(), totals[0].wait.len()), (16_000, 16_000, 16_000));
        assert_eq!((totals[1].errors["DuplicateKey"].ended, totals[1].failed.len()), (4_000, 4_000));
        assert_eq!(totals[0].bytes_sent + totals[1].bytes_sent, 7 * 20_000);
        recorder.collect(&mut spare, &mut frame);
        assert_eq!(frame.ops[0].attempted + frame.ops[1].attempted, 0, "a second collection is empty");
        assert!(frame.ops[0].service.is_empty() && frame.ops[1].errors.is_empty());
    }

    #[test]
    fn response_is_wait_and_service_with_a_rate_and_service_without() {
        for (paced, response, wait) in [(true, 500, 200), (false, 300, 0)] {
            let recorder = Recorder::new(1, 1, paced);
            recorder.ok(&sample(0, 200, 300));
            let mut frame = frame(1);
            recorder.collect(&mut Vec::new(), &mut frame);
            let stats = &frame.ops[0];
            assert_eq!((stats.response.max(), stats.wait.max()), (response, wait));
            assert_eq!((stats.service.max(), stats.wait.len()), (300, 1));
        }
    }

    #[test]
    fn an_op_that_was_never_sent_has_no_times() {
        let recorder = Recorder::new(1, 1, true);
        recorder.failed(&Sample::default(), "BindError", Ending { first: true, ..Ending::default() });
        let mut frame = frame(1);
        recorder.collect(&mut Vec::new(), &mut frame);
        let stats = &frame.ops[0];
        assert_eq!((stats.attempted, stats.wait.len(), stats.failed.len()), (1, 0, 0));
        assert_eq!(frame.points().map(|point| (point.ok, point.errors)).collect::<Vec<_>>(), [(0, 1)]);
    }

    #[test]
    fn error_names_are_bounded_and_their_sum_is_not() {
        let mut stats = OpStats::default();
        for n in 0..1000 {
            stats.error(&format!("E{n}")).ended += 1;
        }
        stats.error("E0").ended += 1;
        assert_eq!(stats.errors.len(), MAX_ERROR_NAMES + 1);
        assert_eq!((stats.errors["E0"].ended, stats.failed_ops()), (2, 1001));
        assert_eq!(stats.errors[OTHER_ERRORS].ended, 1000 - MAX_ERROR_NAMES as u64);
    }

    #[test]
    fn where_nothing_was_recorded_quantiles_are_zero() {
        assert_eq!(Quantiles::of(&OpStats::default().service), Quantiles::default());
    }
}
