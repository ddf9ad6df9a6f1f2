//! Record per worker, in windows of 1 s; summarise and merge. Formats and prints nothing.
//!
//! A [`Frame`] is what happened in one interval; frames add up to a [`Summary`]. All times are nanoseconds.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one op did in some span of time.
#[derive(Debug, Clone)]
pub struct OpStats {
    /// Ops that ended well, or in part (see `errors`).
    pub ok: u64,
    /// Ops that were tried (an op retried three times is one).
    pub attempted: u64,
    /// Ops that ended in this error, by name.
    pub errors: BTreeMap<String, ErrorCounts>,
    pub retries: u64,
    pub bytes_sent: u64,
    pub docs_returned: u64,
    /// Sent → answered, of ops that ended well.
    pub service: Histogram<u64>,
    /// Due → answered, of ops that ended well. Equals service where there is no rate.
    pub response: Histogram<u64>,
    /// Due → sent, of all ops.
    pub wait: Histogram<u64>,
    /// Sent → answered, of ops that failed.
    pub failed: Histogram<u64>,
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
}

/// One interval of one activity.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Since the activity's clock started.
    pub start: Duration,
    pub length: Duration,
    /// In the order of the activity's ops.
    pub ops: Vec<OpStats>,
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

/// Nanoseconds; all 0 where nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantiles {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}
