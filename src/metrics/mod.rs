//! Record per worker, in windows of 1 s; summarise and merge. Formats and prints nothing.
//!
//! A [`Frame`] is what happened in one interval; frames add up to totals of [`OpStats`]. All times are nanoseconds.
//! Three clocks run for each op: *wait* (due → sent), *service* (sent → answered) and *response* (due →
//! answered). Service and response time are those of ops that ended well; failed ops have a histogram of their
//! own, so that fast failures cannot make a target look fast. Nothing is corrected afterwards for coordinated
//! omission: response time is measured against the schedule, so there is nothing left to correct.
//!
//! An op that is retried is one op: it is sent when its first try is, and answered when its last try is.

mod recorder;

pub use recorder::{Counts, Ending, Recorder, Sample, Times};

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one op did in some span of time. `ok` and the `ended` of all `errors` add up to `attempted`.
#[derive(Debug, Clone)]
pub struct OpStats {
    /// Ops that ended well, retried or not. An op whose reply wrote only part did not: it is among `errors`
    /// (`ErrorCounts::partial`).
    pub ok: u64,
    /// Ops that were tried (an op retried three times is one).
    pub attempted: u64,
    /// Errors that ops met, by name. At most [`MAX_ERROR_NAMES`] names; what comes later adds to
    /// [`OTHER_ERRORS`].
    pub errors: BTreeMap<String, ErrorCounts>,
    pub retries: u64,
    /// How many ops needed so many tries, of those that needed more than one; tries beyond [`MAX_TRIES_APART`]
    /// count as so many.
    pub tries: BTreeMap<u32, u64>,
    /// Ops that ended with a result code (`code N` of an error policy).
    pub result_codes: BTreeMap<u8, u64>,
    /// Of all tries.
    pub bytes_sent: u64,
    pub docs_returned: u64,
    /// Documents that replies said were inserted, updated or deleted.
    pub docs_written: u64,
    /// Sent → answered, of ops that ended well.
    pub service: Histogram<u64>,
    /// Due → answered, of ops that ended well. Equals service where there is no rate.
    pub response: Histogram<u64>,
    /// Due → sent, of all ops that were sent. All 0 where there is no rate.
    pub wait: Histogram<u64>,
    /// Sent → answered, of ops that failed or wrote only part.
    pub failed: Histogram<u64>,
    /// Due → answered, of the same ops.
    pub failed_response: Histogram<u64>,
    /// Due → end of the last cycle, of strides that begin with this op. Strides of one cycle are not in it.
    pub strides: Histogram<u64>,
    /// Sent → answered by error, of errors whose times the policy asks for; at most [`MAX_ERROR_NAMES`].
    pub error_times: BTreeMap<String, Histogram<u64>>,
    /// From the start of this op to the end of another on the same thread, by the timer's name.
    pub timers: BTreeMap<String, Histogram<u64>>,
}

/// How often an error was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// Ops that ended in it.
    pub ended: u64,
    /// Ops whose first try met it.
    pub first: u64,
    /// Times it was retried.
    pub retried: u64,
    /// Ops that met it on their last allowed try.
    pub given_up: u64,
    /// Of `ended`, those whose reply was ok but wrote only part.
    pub partial: u64,
    /// Documents that were not written, as replies said.
    pub documents: u64,
}

/// Error names kept apart for one op.
pub const MAX_ERROR_NAMES: usize = 64;
/// The name under which errors beyond [`MAX_ERROR_NAMES`] are counted.
pub const OTHER_ERRORS: &str = "Other";
/// Ops with more tries than this are counted together.
pub const MAX_TRIES_APART: u32 = 1000;

impl Default for OpStats {
    fn default() -> Self {
        OpStats {
            ok: 0,
            attempted: 0,
            errors: BTreeMap::new(),
            retries: 0,
            tries: BTreeMap::new(),
            result_codes: BTreeMap::new(),
            bytes_sent: 0,
            docs_returned: 0,
            docs_written: 0,
            service: histogram(),
            response: histogram(),
            wait: histogram(),
            failed: histogram(),
            failed_response: histogram(),
            strides: histogram(),
            error_times: BTreeMap::new(),
            timers: BTreeMap::new(),
        }
    }
}

/// Three significant digits over all of `u64`: it grows with the values it meets, so none is lost.
fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 digits are within 0..=5")
}

/// Growing cannot fail on a 64-bit machine; were it to, a sample counted as too small beats one that is lost.
fn record(histogram: &mut Histogram<u64>, nanoseconds: u64) {
    if histogram.record(nanoseconds).is_err() {
        histogram.saturating_record(nanoseconds);
    }
}

fn merge(into: &mut Histogram<u64>, from: &Histogram<u64>) {
    // Ops that did nothing leave their memory untouched, which matters where there are thousands.
    if from.is_empty() {
        return;
    }
    if into.add(from).is_err() {
        for value in from.iter_recorded() {
            into.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
    }
}

/// The entry of `name`, made if it is not there; names beyond [`MAX_ERROR_NAMES`] share that of [`OTHER_ERRORS`].
/// Allocates for a new name only.
fn bounded<'a, T>(map: &'a mut BTreeMap<String, T>, name: &str, new: fn() -> T) -> &'a mut T {
    let name = if map.len() < MAX_ERROR_NAMES || map.contains_key(name) { name } else { OTHER_ERRORS };
    // `entry` would allocate the key each time.
    if !map.contains_key(name) {
        map.insert(name.to_owned(), new());
    }
    map.get_mut(name).expect("it was inserted if it was not there")
}

impl OpStats {
    /// The counts of the error `name`, where names beyond the bound share one entry.
    pub fn error(&mut self, name: &str) -> &mut ErrorCounts {
        bounded(&mut self.errors, name, ErrorCounts::default)
    }

    /// The times of ops that ended in the error `name`, bounded like [`error`](OpStats::error).
    fn times_of(&mut self, name: &str) -> &mut Histogram<u64> {
        bounded(&mut self.error_times, name, histogram)
    }

    /// How many ops were tried how often; all that were begun are in it.
    pub fn tries(&self) -> BTreeMap<u32, u64> {
        let mut tries = self.tries.clone();
        let once = self.attempted.saturating_sub(tries.values().sum());
        if once > 0 {
            tries.insert(1, once);
        }
        tries
    }

    /// Ops that ended in an error.
    pub fn failed_ops(&self) -> u64 {
        self.errors.values().map(|counts| counts.ended).sum()
    }

    /// Adds what `other` saw, exactly.
    pub fn add(&mut self, other: &OpStats) {
        self.ok += other.ok;
        self.attempted += other.attempted;
        self.retries += other.retries;
        self.bytes_sent += other.bytes_sent;
        self.docs_returned += other.docs_returned;
        self.docs_written += other.docs_written;
        for (tries, ops) in &other.tries {
            *self.tries.entry(*tries).or_default() += ops;
        }
        for (code, ops) in &other.result_codes {
            *self.result_codes.entry(*code).or_default() += ops;
        }
        for (name, times) in &other.error_times {
            merge(self.times_of(name), times);
        }
        for (name, counts) in &other.errors {
            self.error(name).add(counts);
        }
        for (name, times) in &other.timers {
            merge(bounded(&mut self.timers, name, histogram), times);
        }
        merge(&mut self.service, &other.service);
        merge(&mut self.response, &other.response);
        merge(&mut self.wait, &other.wait);
        merge(&mut self.failed, &other.failed);
        merge(&mut self.failed_response, &other.failed_response);
        merge(&mut self.strides, &other.strides);
    }

    /// Forgets everything but the memory it was kept in.
    pub fn clear(&mut self) {
        self.ok = 0;
        self.attempted = 0;
        self.retries = 0;
        self.bytes_sent = 0;
        self.docs_returned = 0;
        self.docs_written = 0;
        self.errors.clear();
        self.tries.clear();
        self.result_codes.clear();
        self.error_times.clear();
        let clocks = [
            &mut self.service,
            &mut self.response,
            &mut self.wait,
            &mut self.failed,
            &mut self.failed_response,
            &mut self.strides,
        ];
        for histogram in clocks.into_iter().chain(self.timers.values_mut()) {
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
    }
}

impl ErrorCounts {
    pub fn add(&mut self, other: &ErrorCounts) {
        self.ended += other.ended;
        self.first += other.first;
        self.retried += other.retried;
        self.given_up += other.given_up;
        self.partial += other.partial;
        self.documents += other.documents;
    }
}

/// One interval of one activity.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Since the activity's clock started.
    pub start: Duration,
    pub length: Duration,
    /// It is part of the warm-up, which is not counted.
    pub warm_up: bool,
    /// When ops ended well for the first and for the last time in it, since the clock started.
    pub well: Option<(Duration, Duration)>,
    /// Where the activity stands at its end.
    pub standing: Standing,
    /// In the order of the activity's ops.
    pub ops: Vec<OpStats>,
}

/// Where an activity stands at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Logical threads.
    pub threads: u64,
    /// Cycles that have begun and not ended.
    pub in_flight: u64,
    /// Cycles that came to their end, well or not, in this run or one that it completes.
    pub done: u64,
    /// Cycles that have not begun.
    pub pending: u64,
    /// Cycles that are due and have not started; 0 without a rate.
    pub backlog: u64,
}

impl Frame {
    /// A frame of nothing yet, for `ops` ops.
    pub fn empty(ops: usize) -> Frame {
        Frame {
            start: Duration::ZERO,
            length: Duration::ZERO,
            warm_up: false,
            well: None,
            standing: Standing::default(),
            // Made one by one: a copy would touch all of its memory.
            ops: std::iter::repeat_with(OpStats::default).take(ops).collect(),
        }
    }

    /// What is kept of this frame: one point an op, also of ops that did nothing.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.ops.iter().enumerate().map(|(op, stats)| Point {
            at: self.start + self.length,
            length: self.length,
            op,
            ok: stats.ok,
            errors: stats.failed_ops(),
            service: Quantiles::of(&stats.service),
            response: Quantiles::of(&stats.response),
        })
    }
}

/// A figure of which each interval of a run has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    Rate,
    /// A quantile of service time, or of response time.
    Time {
        response: bool,
        quantile: f64,
    },
}

/// The part of a run that was not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmUp {
    pub elapsed: Duration,
    pub cycles: u64,
}

/// What the client's own machine did to a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Client {
    /// Processor time of this process per second, as a share of all processors; absent where the system does
    /// not tell.
    pub cpu: Option<f64>,
    /// How late the clock that releases starts woke at worst; zero without a rate.
    pub lateness: Duration,
    /// Intervals at whose end starts were late.
    pub late_intervals: u64,
    /// Of these, the share at whose end all threads were busy.
    pub busy: f64,
    /// Bytes of memory that this process held at most, at the end of an interval; absent where the system does not
    /// tell.
    pub memory: Option<u64>,
    /// Bytes of it that were swapped out while the activity ran.
    pub swapped: u64,
}

/// A time in which no op ended well, though some were tried: since the clock started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When an op ended well for the last time.
    pub from: Duration,
    /// When one did again; absent if none did.
    pub to: Option<Duration>,
}

/// What a target said of itself for one interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerPoint {
    /// End of the interval, since the activity's clock started.
    pub at: Duration,
    pub length: Duration,
    /// Ops by the target's name for their kind; those of other clients, too.
    pub ops: BTreeMap<String, u64>,
    /// Connections open at its end.
    pub connections: Option<u64>,
    /// Mean time of ops by kind, in microseconds, by the target's own clock.
    pub mean_us: BTreeMap<String, f64>,
}

/// What became of the client's connections in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionPoint {
    /// End of the interval, since the activity's clock started. The first is 0: what came before the clock.
    pub at: Duration,
    /// Attempts to open one.
    pub asked: u64,
    /// Those that came to take ops.
    pub opened: u64,
    /// Those that were closed, by whomever.
    pub lost: u64,
    /// Open at its end.
    pub open: u64,
}

/// What is kept of one op's share of one [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// End of the interval, since the activity's clock started.
    pub at: Duration,
    pub length: Duration,
    /// Position of the op in the activity.
    pub op: usize,
    pub ok: u64,
    pub errors: u64,
    pub service: Quantiles,
    pub response: Quantiles,
}

impl Point {
    /// Takes in the next point of the same op. Counts and maxima are exact; of two quantiles the higher is kept, so
    /// that no peak is lost.
    pub fn merge(&mut self, next: &Point) {
        self.at = next.at;
        self.length += next.length;
        self.service = self.service.higher(self.ok, &next.service, next.ok);
        self.response = self.response.higher(self.ok, &next.response, next.ok);
        self.ok += next.ok;
        self.errors += next.errors;
    }
}

/// Nanoseconds; all 0 where nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantiles {
    pub mean: u64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

impl Quantiles {
    /// Of so many values and so many others.
    fn higher(&self, count: u64, other: &Quantiles, others: u64) -> Quantiles {
        let sum = u128::from(self.mean) * u128::from(count) + u128::from(other.mean) * u128::from(others);
        let mean = sum / u128::from(count.saturating_add(others).max(1));
        Quantiles {
            mean: u64::try_from(mean).unwrap_or(u64::MAX),
            p50: self.p50.max(other.p50),
            p95: self.p95.max(other.p95),
            p99: self.p99.max(other.p99),
            max: self.max.max(other.max),
        }
    }

    /// Of values that were recorded; a quantile is the highest value that the histogram cannot tell from it.
    pub fn of(histogram: &Histogram<u64>) -> Quantiles {
        if histogram.is_empty() {
            return Quantiles::default();
        }
        Quantiles {
            mean: histogram.mean().round() as u64,
            p50: histogram.value_at_quantile(0.50),
            p95: histogram.value_at_quantile(0.95),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
        }
    }
}
