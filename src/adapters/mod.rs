//! OpPlan → [`Dispenser`] → [`Outcome`], and each target's admin side. One table row a driver; none knows
//! another, none retries.

pub mod diag;
mod dry_run;
pub mod mongodb;
pub mod stdout;

use crate::functions::Context;
use crate::plan::{BindError, DryRun, Expected, Form, Inset, Mismatch, OpPlan};
use crate::span::{Diagnostic, Text};
use crate::workload::OpTemplate;
use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

/// A parameter of a driver: from these come `--help` and the errors for unknown parameters.
pub struct Parameter {
    pub name: &'static str,
    pub default: Option<&'static str>,
    pub help: &'static str,
}

/// What an adapter is connected with.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The activity's alias, for messages.
    pub alias: String,
    /// Parameters of [`AdapterRow::parameters`], as given.
    pub parameters: IndexMap<String, String>,
    /// How many logical threads will run ops at once.
    pub threads: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// A parameter or an op that cannot work: usage, exit 2.
    #[error("{0}")]
    Configuration(String),
    /// The target does not answer or refuses us: exit 3.
    #[error("{0}")]
    Unreachable(String),
}

/// What is known of a target; absent is unknown, never an error. Holds no password.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TargetFacts {
    /// `mongodb`, `embedded` (the embedded server, whose figures are not MongoDB's), `stdout`, `diag`.
    pub kind: String,
    pub version: Option<String>,
    pub topology: Option<String>,
    pub uri: Option<String>,
    /// What applies to commands that do not set their own: `("writeConcern", "w:1")`, pool size and so on.
    pub settings: Vec<(String, String)>,
}

/// How long [`Adapter::close`] may wait for a target: an interrupted run has to be over within 2 s, also where
/// the target has fallen silent.
pub const LONGEST_CLOSE: Duration = Duration::from_millis(400);

/// What a target counts of itself, since it was started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// Ops by kind: `insert`, `query`, `command`, …
    pub ops: BTreeMap<String, u64>,
    /// Connections open now.
    pub connections: Option<u64>,
    /// Ops and the microseconds they took together, by kind: `reads`, `writes`, `commands`.
    pub latencies: BTreeMap<String, (u64, u64)>,
}

/// Connections of a client, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    /// Attempts to open one.
    pub asked: u64,
    /// Those that came to take ops.
    pub opened: u64,
    /// Of `opened`, those that were closed, by whomever.
    pub closed: u64,
}

/// One connected target: a client of one activity.
pub trait Adapter: Send + Sync {
    fn facts(&self) -> &TargetFacts;
    /// Makes the dispenser of one op.
    fn dispenser(&self, plan: OpPlan) -> Result<Arc<dyn Dispenser>, AdapterError>;
    /// Brings connections up before the clock starts.
    fn warm_up(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async { Ok(()) })
    }
    /// What the target counts of itself; `None` where it counts nothing or does not tell.
    fn counters(&self) -> BoxFuture<'_, Option<Counters>> {
        Box::pin(async { None })
    }
    /// The connections that ops are sent over; `None` where there are none to count. Cheap to ask at any time.
    fn connections(&self) -> Option<Connections> {
        None
    }
    /// Flushes and closes, within [`LONGEST_CLOSE`]; an error here is an error of the run (a closed pipe, a full disk).
    fn close(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async { Ok(()) })
    }
}

/// What a logical thread keeps from cycle to cycle, so that cycles allocate nothing.
#[derive(Default)]
pub struct Scratch {
    /// The bound op.
    pub bytes: Vec<u8>,
    /// What of it is sent from where it lies, for adapters that can.
    pub insets: Vec<Inset>,
    /// Where it goes, for ops that say so themselves.
    pub target: String,
    /// What is expected of its reply, for ops that have such.
    pub expected: Expected,
    /// The logical thread that it was bound for.
    pub thread: usize,
    /// The op may be tried again, so a run must leave `bytes` and `insets` as they are. If not, a run may take them away,
    /// and spares a copy of what may be large.
    pub keep: bool,
}

/// One op, ready to run for any cycle.
pub trait Dispenser: Send + Sync {
    /// Makes the op of `cycle` in `scratch`.
    fn bind(&self, cycle: i64, context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError>;
    /// Runs what `bind` made. With [`Scratch::keep`] it may be called again, for a retry.
    fn run<'a>(&'a self, cycle: i64, scratch: &'a mut Scratch) -> Run<'a>;
}

/// A running op, to be awaited for what came back. `Ready` where nothing had to be awaited and `Flight` where the
/// future is known, so that such ops allocate nothing.
pub enum Run<'a> {
    Ready(Outcome),
    Pending(BoxFuture<'a, Outcome>),
    Flight(mongodb::Flight<'a>),
}

impl Future for Run<'_> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Outcome> {
        match self.get_mut() {
            Run::Ready(outcome) => Poll::Ready(std::mem::take(outcome)),
            Run::Pending(running) => running.as_mut().poll(context),
            Run::Flight(flight) => Pin::new(flight).poll(context),
        }
    }
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Bytes of the op as sent.
    pub bytes_sent: u64,
    /// Documents in the reply.
    pub docs_returned: u64,
    /// Documents that the reply says were inserted, updated or deleted.
    pub docs_written: u64,
    pub failure: Option<Failure>,
}

/// An op that failed, or wrote only part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The server's code name (`DuplicateKey`) or our own (`ConnectionFailed`).
    pub name: Cow<'static, str>,
    /// The server's number for it, matched by `errors=` too.
    pub code: Option<i32>,
    /// The reference's exception name, matched by `errors=` too.
    pub exception: Option<&'static str>,
    pub message: String,
    /// The reply was `ok` but wrote only part (`writeErrors`, `writeConcernError`).
    pub partial: bool,
    /// Documents that the reply says were not written; 0 where it does not speak of documents.
    pub documents: u64,
    /// Whoever read the output has closed it: neither this op nor one after it has anybody to write for.
    pub unread: bool,
}

impl From<Mismatch> for Failure {
    fn from(mismatch: Mismatch) -> Failure {
        Failure {
            name: mismatch.name.into(),
            exception: Some("ResultVerificationError"),
            message: mismatch.message,
            ..Failure::default()
        }
    }
}

/// The ports of this machine for connections that it opens, where the system tells: the first and the last. There
/// can be no more connections to one server from one address.
pub fn local_ports() -> Option<(u16, u16)> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map(str::parse);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (first <= last).then_some((first, last))
}

/// A driver.
pub struct AdapterRow {
    pub name: &'static str,
    pub help: &'static str,
    pub form: Form,
    /// What is wrong or odd with an op of this driver, before anything is contacted.
    pub check: fn(&OpPlan) -> Vec<Diagnostic>,
    pub parameters: &'static [Parameter],
    pub connect: Connect,
    /// Makes an op for a workload that has none: document-level bindings and the activity's parameters in.
    pub synthesise: Option<Synthesise>,
}

/// Document-level bindings and the activity's parameters → an op; an error says what is missing.
pub type Synthesise = fn(&IndexMap<String, Text>, &IndexMap<String, String>) -> Result<OpTemplate, String>;

/// Connects to a target; an error says what is wrong with the parameters, or why the target cannot be used.
pub type Connect = fn(Config) -> BoxFuture<'static, Result<Arc<dyn Adapter>, AdapterError>>;

/// Makes the dispenser of one op, as far as its dry run goes.
///
/// # Errors
/// An op that the adapter cannot run.
pub fn dispenser(adapter: &dyn Adapter, plan: OpPlan) -> Result<Arc<dyn Dispenser>, AdapterError> {
    let dry_run = plan.dry_run.unwrap_or_default();
    let dispenser = adapter.dispenser(plan)?;
    Ok(match dry_run {
        DryRun::Op => Arc::new(dry_run::Bound(dispenser)),
        DryRun::None | DryRun::Emit => dispenser,
    })
}

/// Every driver: `nbrs --list-drivers` reads this table.
pub static ADAPTERS: &[&AdapterRow] = &[&mongodb::ROW, &stdout::ROW, &diag::ROW];
