//! The shape of a result file, as it is written and read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
pub struct Document {
    pub schema: Cow<'static, str>,
    pub run: RunPart,
    pub activities: Vec<ActivityPart>,
}

#[derive(Serialize, Deserialize)]
pub struct RunPart {
    pub version: String,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    pub elapsed_s: f64,
    pub status: Cow<'static, str>,
    /// The conditions of `--fail-if` that hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
    /// What `findmax` found, in cycles per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetPart>,
    /// The runs that were merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedPart>,
    /// Absent where YCSB's text has its usual form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ycsb: Option<YcsbPart>,
}

#[derive(Serialize, Deserialize)]
pub struct YcsbPart {
    /// `hdrhistogram`, `histogram`, `timeseries`.
    pub measurement: Cow<'static, str>,
    /// Of `histogram`: buckets of a millisecond, and whether each of them is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbose: bool,
    /// Of `timeseries`: seconds of an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity_s: Option<u64>,
    /// `op`, `intended`, `both`; absent where that follows from the target rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Cow<'static, str>>,
    pub percentiles: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
pub struct TargetPart {
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Texts by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
pub struct MergedPart {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    pub elapsed_s: f64,
    pub status: Cow<'static, str>,
}

#[derive(Serialize, Deserialize)]
pub struct ActivityPart {
    pub alias: String,
    pub workload: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// When its clock started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Since the clock started, the warm-up included.
    pub elapsed_s: f64,
    /// How long its connections took to close.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_s: Option<f64>,
    pub ended: EndedPart,
    pub cycles: CyclesPart,
    pub threads: usize,
    pub rate: RatePart,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpPart>,
    pub client: ClientPart,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutagePart>,
    pub ops: Vec<OpPart>,
    pub series: Vec<PointPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelinePart>,
}

#[derive(Serialize, Deserialize)]
pub struct CyclesPart {
    /// Absent where nothing but time was to end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    pub done: u64,
    /// Done by the run that this one completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub struct EndedPart {
    /// `complete`, `time`, `stopped`, `failed`.
    pub by: Cow<'static, str>,
    /// Who stopped it, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Of the error: its name, and the op and cycle that met it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub struct WarmUpPart {
    pub elapsed_s: f64,
    pub cycles: u64,
}

#[derive(Serialize, Deserialize)]
pub struct ClientPart {
    /// Share of this machine's processors that this process took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// How late the clock that releases starts woke at worst; only where there is a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_late_us: Option<f64>,
    /// Intervals at whose end starts were late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_intervals: Option<u64>,
    /// Of the intervals with late starts, the share at whose end all threads were busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Memory of this process at most, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Of it, what was swapped out while the activity ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub struct OutagePart {
    pub from_s: f64,
    /// Absent where it did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
}

#[derive(Serialize, Deserialize)]
pub struct RatePart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved: Option<f64>,
    /// Only where there is a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_end: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub struct OpPart {
    pub name: String,
    /// What it is called in YCSB's text, where not by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_as: Option<String>,
    /// It comes after another op in the same cycle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    pub ok: u64,
    pub attempted: u64,
    pub errors: BTreeMap<String, u64>,
    pub errors_detail: BTreeMap<String, ErrorPart>,
    pub retries: u64,
    /// Number of tries → ops.
    pub tries: BTreeMap<u32, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub result_codes: BTreeMap<u8, u64>,
    pub bytes_sent: u64,
    pub docs_returned: u64,
    pub docs_written: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_us: Option<TimesPart>,
    /// Named timers that it starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers_us: BTreeMap<String, TimesPart>,
    pub histograms: HistogramsPart,
}

/// Of nanoseconds, packed; absent where nothing was recorded.
#[derive(Serialize, Deserialize)]
pub struct HistogramsPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strides: Option<String>,
    /// By the timer's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<String, String>,
    /// By the error's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
pub struct ErrorPart {
    pub first: u64,
    pub retried: u64,
    pub given_up: u64,
    /// Ops whose reply was ok but wrote only part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<u64>,
    /// Documents that were not written; absent where replies did not speak of documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_us: Option<TimesPart>,
}

#[derive(Serialize, Deserialize)]
pub struct TimesPart {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub stddev: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    pub max: f64,
}

#[derive(Serialize, Deserialize)]
pub struct PointPart {
    /// End of the interval, seconds since the activity's clock started.
    pub t: f64,
    pub op: String,
    pub ok: u64,
    pub errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_us: Option<QuantilesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_us: Option<QuantilesPart>,
}

#[derive(Serialize, Deserialize)]
pub struct QuantilesPart {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
}

#[derive(Serialize, Deserialize)]
pub struct ConnectionPart {
    /// End of the interval, seconds since the activity's clock started.
    pub t: f64,
    pub asked: u64,
    pub opened: u64,
    pub lost: u64,
    pub open: u64,
}

#[derive(Serialize, Deserialize)]
pub struct ServerPart {
    /// End of the interval, seconds since the activity's clock started.
    pub t: f64,
    pub ops: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mean_us: BTreeMap<String, f64>,
}

#[derive(Serialize, Deserialize)]
pub struct TimelinePart {
    pub bin_s: u64,
    pub points: Vec<CellPart>,
}

#[derive(Serialize, Deserialize)]
pub struct CellPart {
    /// Where the bin begins, in seconds since 1970 (UTC).
    pub from: u64,
    pub op: String,
    pub ok: u64,
    pub errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Absent where it is that of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}
