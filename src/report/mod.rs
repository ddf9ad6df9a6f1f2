//! What a run was asked to do and what it did → text and JSON. Takes plain data, gives text; never sees the
//! engine, an adapter or the target.
//!
//! | in | out | file |
//! |--|--|--|
//! | [`Header`] | the lines before a step starts | [`header`] |
//! | [`Standing`] | a progress line per interval | [`progress`] |
//! | [`Interval`] | the live bar | [`bar`] |
//! | frames, [`Standing`] | the live view | [`live`] |
//! | [`Activity`] | the summary of a step, and a closing line | [`summary`] |
//! | [`Run`] | the result file, `nbrs-result/1` | [`json`] |
//! | frames | `--log-histograms`, `--log-histostats` | [`interval_log`] |
//! | frames | a folder of CSV files | [`csv`] |
//! | frames | what Prometheus scrapes and is sent | [`prometheus`] |
//! | [`Run`] | a page that browsers show | [`html`] |
//! | two [`Run`]s | what differs between them | [`compare`] |
//! | several [`Run`]s | one | [`merge`] |
//! | [`Run`], frames | YCSB's text and status lines | [`ycsb`] |
//!
//! What is made of frames while the run goes on is an [`Export`]. Files come from `output`: whole under their own
//! name, or not at all.
//!
//! The summary and the result file show the same numbers: both take them from [`figures`]. Numbers for people
//! are spelt in [`wording`].

pub mod bar;
mod clock;
pub mod compare;
pub mod csv;
mod export;
pub mod figures;
pub mod header;
pub mod html;
pub mod interval_log;
pub mod json;
pub mod live;
pub mod merge;
mod output;
mod packed;
pub mod progress;
pub mod prometheus;
mod remarks;
mod series;
pub mod summary;
pub mod timeline;
pub mod wording;
pub mod ycsb;

pub use bar::{Bar, Bars};
pub use clock::{More, more_of};
pub use export::{Closed, Export, Exports, Source, Tell};
pub use output::{Destination, Growing, Logbook, ReportError, same_file};
pub use progress::{Interval, Standing};

use crate::metrics::{Client, ConnectionPoint, OpStats, Outage, Point, ServerPoint, WarmUp};
use crate::units::Rate;
use std::ops::Range;
use std::time::{Duration, SystemTime};
use timeline::Timeline;

/// What is driven. What is not known is absent, and shown as unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Target {
    /// `mongodb`, `embedded`, `stdout`, `diag`.
    pub kind: String,
    pub version: Option<String>,
    /// `standalone`, `replica set rs0`, `sharded`, …
    pub topology: Option<String>,
    /// Absent where nothing is connected to. A password in it is masked before it is shown.
    pub uri: Option<String>,
    /// What is in effect unless an op says otherwise: `("writeConcern", "w:1")`.
    pub settings: Vec<(String, String)>,
    /// The target is the server inside nbrs, whose figures say nothing about MongoDB.
    pub embedded: bool,
}

/// An op that a step will run.
#[derive(Debug, Clone, PartialEq)]
pub struct HeaderOp {
    /// `block__op`.
    pub name: String,
    /// How often it is in one turn of the sequence.
    pub ratio: u64,
    /// Mean size of the op as sent, in bytes; absent where it is not known.
    pub mean_bytes: Option<f64>,
}

/// What a step is about to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub workload: String,
    pub scenario: Option<String>,
    pub step: Option<String>,
    pub alias: String,
    pub ops: Vec<HeaderOp>,
    pub cycles: Range<u64>,
    /// Passes over `cycles`.
    pub recycles: u64,
    pub stride: u64,
    pub threads: usize,
    pub rate: Option<Rate>,
    pub stride_rate: Option<Rate>,
    /// How long cycles are counted, if anything but their number ends them.
    pub duration: Option<Duration>,
    /// Nothing but time ends it.
    pub unbounded: bool,
    pub target: Target,
    /// Bytes that the whole step will write, as far as sampling tells; absent where it writes nothing.
    pub bytes_to_write: Option<u64>,
    /// Whole sentences, one a line.
    pub notes: Vec<String>,
}

/// Why an activity ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All cycles ran.
    Complete,
    /// Its time was over before its cycles.
    TimeUp,
    /// Somebody asked for it; who, as in `stopped by SIGINT`.
    Stopped(String),
    /// What its ops gave could not be written; why.
    Unwritten(String),
    /// An error that was not let pass.
    Failed { op: String, cycle: u64, name: String, message: String },
}

/// One op of an activity that has ended.
#[derive(Debug, Clone)]
pub struct Op {
    /// `block__op`.
    pub name: String,
    /// What it is called in YCSB's text, where not by its name.
    pub report_as: Option<String>,
    /// It comes after another op in the same cycle.
    pub follows: bool,
    pub stats: OpStats,
}

/// An activity that has ended.
#[derive(Debug, Clone)]
pub struct Activity {
    /// Position among the activities of the run, in the order they were started.
    pub id: usize,
    /// When its clock started.
    pub started: SystemTime,
    pub alias: String,
    pub workload: String,
    pub scenario: Option<String>,
    pub step: Option<String>,
    /// Absent where nothing but time was to end it.
    pub cycles_asked: Option<u64>,
    /// Cycles that ran to their end, in the warm-up, too.
    pub cycles_done: u64,
    /// Cycles that an earlier run had done.
    pub cycles_before: u64,
    pub threads: usize,
    /// Cycles per second that were asked for.
    pub target: Option<f64>,
    /// The most cycles that were due and had not started, at the end of any interval.
    pub backlog: u64,
    /// The same at the end.
    pub backlog_left: u64,
    pub client: Client,
    pub outages: Vec<Outage>,
    pub elapsed: Duration,
    /// How long its connections took to close.
    pub closing: Option<Duration>,
    /// The part that no figure is of.
    pub warm_up: Option<WarmUp>,
    /// What the target said of itself, an interval each; empty where it does not.
    pub server: Vec<ServerPoint>,
    /// The client's connections: those from before the clock, then an interval each in which some came or went.
    pub connections: Vec<ConnectionPoint>,
    pub ended: Ended,
    /// In the order of the activity.
    pub ops: Vec<Op>,
    /// [`Point::op`] is a position in `ops`.
    pub series: Vec<Point>,
    /// What merging needs; absent where nobody asked for it.
    pub timeline: Option<Timeline>,
}

/// What an activity is called where several may share an alias: the alias, and which of them it is unless it is
/// the first (0).
pub fn label(alias: &str, nth: usize) -> String {
    if nth == 0 { alias.to_owned() } else { format!("{alias} ({})", nth + 1) }
}

impl Activity {
    /// What it is called among `all` activities of its run.
    pub fn label(&self, all: &[Activity]) -> String {
        label(&self.alias, all.iter().filter(|other| other.alias == self.alias && other.id < self.id).count())
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Done,
    /// An error stopped it, or ops were tried and not one ended well.
    Failed,
    /// A condition of `--fail-if` holds, or no rate of interest is kept.
    FailIf,
    /// The target could not be reached.
    Unreachable,
    /// A step could not be set up.
    Misconfigured,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM, or SIGHUP.
    Terminated,
}

impl Status {
    /// The word for it in the result file and in the closing line.
    pub fn word(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Failed => "failed",
            Status::FailIf => "fail-if",
            Status::Unreachable => "unreachable",
            Status::Misconfigured => "misconfigured",
            Status::Interrupted => "interrupted",
            Status::Terminated => "terminated",
        }
    }

    /// The status of a word.
    pub fn of_word(word: &str) -> Option<Status> {
        [
            Status::Done,
            Status::Failed,
            Status::FailIf,
            Status::Unreachable,
            Status::Misconfigured,
            Status::Interrupted,
            Status::Terminated,
        ]
        .into_iter()
        .find(|status| status.word() == word)
    }
}

/// A run that has ended: one activity, or the activities of a scenario in the order they were started.
#[derive(Debug, Clone)]
pub struct Run {
    /// The version of nbrs that made it.
    pub version: String,
    /// The command line, as a shell would take it, without passwords.
    pub command: String,
    pub started: SystemTime,
    pub elapsed: Duration,
    pub status: Status,
    pub target: Option<Target>,
    pub activities: Vec<Activity>,
    /// The conditions of `--fail-if` that hold.
    pub fail_if: Vec<String>,
    /// What `findmax` found, in cycles per second.
    pub max_rate: Option<f64>,
    /// The runs that were merged into this one; empty where it is a run itself.
    pub merged: Vec<Merged>,
    /// How YCSB's text of it tells latencies.
    pub ycsb: ycsb::Form,
}

/// A run that was merged into another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub command: String,
    pub started: SystemTime,
    pub elapsed: Duration,
    pub status: Status,
}
