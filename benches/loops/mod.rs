//! Loops that benches hold against each other: one that does nothing but send constant commands over sockets, one
//! around the official driver, and nbrs as a run uses it, all with the ops of `mongodb-keyvalue2`.

// Each bench takes what it needs.
#![allow(dead_code)]

pub mod raw;

use bson::RawDocumentBuf;
use indexmap::IndexMap;
use nbrs::adapters::{Adapter, Config, mongodb::ROW};
use nbrs::engine::{self, Activity, ActivityOp, Observer};
use nbrs::functions::Context;
use nbrs::plan::{self, Form, OpPlan};
use nbrs::sequence::{self, Sequencer};
use nbrs::span::Text;
use nbrs::workload::tags::TagFilter;
use nbrs::workload::{self, LoadOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a loop runs.
pub const ROUND: Duration = Duration::from_secs(1);

/// Ops of `mongodb-keyvalue2`, or of the workload that `workload` among the parameters names.
pub struct Load {
    pub tags: &'static str,
    pub params: &'static [(&'static str, &'static str)],
}

impl Load {
    /// The ops, compiled, and the order in which cycles take them.
    pub fn compile(&self) -> (Vec<OpPlan>, Vec<usize>) {
        let mut params: IndexMap<String, String> =
            self.params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let name = params.shift_remove("workload").unwrap_or_else(|| "mongodb-keyvalue2".to_owned());
        let options = LoadOptions { includes: &[], params: &params };
        let workload = workload::load(&name, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
        let filter = TagFilter::parse(&Text::unplaced(self.tags)).expect("a tag filter");
        let ops = filter.select(&workload).expect("ops with these tags");
        let plans: Vec<_> = ops
            .iter()
            .map(|op| plan::compile(op, Form::Command).unwrap_or_else(|errors| panic!("{errors:?}")).plan)
            .collect();
        let ratios = vec![5; plans.len()];
        (plans, sequence::table(&ratios, Sequencer::Bucket))
    }

    /// The commands of one pass of the sequence, as cycle 0 would send them.
    pub fn constant(&self) -> Vec<RawDocumentBuf> {
        let (plans, order) = self.compile();
        let mut context = Context::default();
        let mut bytes = Vec::new();
        let mut encode = |op: usize| {
            plans[op].body.bind(0, &mut context, &mut bytes).expect("cycle 0 binds");
            RawDocumentBuf::from_bytes(bytes.clone()).expect("a command")
        };
        order.iter().map(|op| encode(*op)).collect()
    }
}

/// What one round came to.
#[derive(Clone, Copy)]
pub struct Figures {
    pub ops_per_second: f64,
    pub megabytes_per_second: f64,
    /// Of this process, all its threads.
    pub cpu_us_per_op: f64,
}

pub fn figures(ops: u64, bytes: u64, elapsed: Duration, cpu: Duration) -> Figures {
    Figures {
        ops_per_second: ops as f64 / elapsed.as_secs_f64(),
        megabytes_per_second: bytes as f64 / 1e6 / elapsed.as_secs_f64(),
        cpu_us_per_op: cpu.as_secs_f64() * 1e6 / ops as f64,
    }
}

/// Processor time of this process so far; hundredths of a second are all that Linux tells here.
pub fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 14th and 15th fields.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

pub fn runtime(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The bare loop: tasks that send the same commands over and over.
pub async fn bare(uri: &str, commands: &[RawDocumentBuf], threads: usize, round: Duration) -> Figures {
    let mut options = mongodb::options::ClientOptions::parse(uri).await.expect("a valid URI");
    options.max_pool_size = Some(threads as u32);
    options.min_pool_size = Some(threads as u32);
    options.max_connecting = Some(threads as u32);
    options.retry_reads = Some(false);
    options.retry_writes = Some(false);
    let client = mongodb::Client::with_options(options).expect("valid options");
    let database = client.database("bench");
    database.run_command(bson::doc! { "ping": 1 }).await.expect("the server answers");
    client.warm_connection_pool().await;
    let commands: Arc<[RawDocumentBuf]> = commands.into();
    let stop = Arc::new(AtomicBool::new(false));
    let (ops, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (started, cpu) = (Instant::now(), cpu_time());
    let tasks: Vec<_> = (0..threads)
        .map(|thread| {
            let (database, commands, stop) = (database.clone(), commands.clone(), stop.clone());
            let (ops, bytes) = (ops.clone(), bytes.clone());
            tokio::spawn(async move {
                let (mut count, mut sum) = (0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let command = commands[(thread + count) % commands.len()].clone();
                    sum += command.as_bytes().len();
                    database.run_raw_command(command).await.expect("the server answers");
                    count += 1;
                }
                ops.fetch_add(count as u64, Ordering::Relaxed);
                bytes.fetch_add(sum as u64, Ordering::Relaxed);
            })
        })
        .collect();
    tokio::time::sleep(round).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no task panics");
    }
    let (elapsed, cpu) = (started.elapsed(), cpu_time() - cpu);
    client.shutdown().immediate(true).await;
    figures(ops.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed), elapsed, cpu)
}

struct Nobody;
impl Observer for Nobody {}

/// What a round through nbrs came to.
pub struct Ours {
    pub figures: Figures,
    /// Of the service times, of the op whose are longest.
    pub p50_us: f64,
}

/// An adapter that is connected and warm, and an activity of it over all cycles.
async fn prepare(uri: &str, load: &Load, lane: &str, threads: usize) -> (Arc<dyn Adapter>, Activity) {
    let parameters = [("connection", uri), ("database", "bench"), ("lane", lane)];
    let parameters =
        parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let config = Config { alias: "bench".to_owned(), parameters, threads };
    let adapter: Arc<dyn Adapter> = (ROW.connect)(config).await.expect("the server answers");
    let (plans, sequence) = load.compile();
    // A run samples its ops before it starts, which makes what they make on first use.
    plans.iter().for_each(|plan| assert!(plan::sample_bytes(plan, 0..10, 10).is_some()));
    let ops = plans
        .into_iter()
        .map(|plan| ActivityOp::new(plan.name.clone(), adapter.dispenser(plan).expect("a command")))
        .collect();
    adapter.warm_up().await.expect("connections");
    let activity = Activity {
        alias: "bench".to_owned(),
        ops,
        stride: sequence.len() as u64,
        sequence,
        cycles: 0..u64::MAX,
        threads,
        ..Activity::default()
    };
    (adapter, activity)
}

/// The same through nbrs: adapter and engine, as a run uses them.
pub async fn ours(uri: &str, load: &Load, lane: &str, threads: usize, round: Duration) -> Ours {
    let (adapter, activity) = prepare(uri, load, lane, threads).await;
    let cpu = cpu_time();
    let running = engine::start(activity, Arc::new(Nobody));
    tokio::time::sleep(round).await;
    running.stop();
    let result = running.wait(Duration::from_secs(5)).await;
    let cpu = cpu_time() - cpu;
    adapter.close().await.expect("it closes");
    let ok: u64 = result.totals.iter().map(|op| op.ok).sum();
    assert_eq!(ok, result.cycles_done, "{:?}", result.ended);
    let p50 = result.totals.iter().map(|op| op.service.value_at_quantile(0.5)).max().unwrap_or_default();
    Ours {
        figures: figures(ok, result.totals.iter().map(|op| op.bytes_sent).sum(), result.elapsed, cpu),
        p50_us: p50 as f64 / 1e3,
    }
}

/// Memory of this process after each of `parts` of the load, in cycles, one after the other over the same connections.
pub async fn resident(uri: &str, load: &Load, lane: &str, threads: usize, parts: &[u64]) -> Vec<u64> {
    let (adapter, activity) = prepare(uri, load, lane, threads).await;
    let mut sizes = Vec::new();
    let mut from = 0;
    for part in parts {
        let cycles = from..from + part;
        from = cycles.end;
        let again = |op: &ActivityOp| ActivityOp::new(op.name.clone(), Arc::clone(&op.dispenser));
        let (ops, sequence) = (activity.ops.iter().map(again).collect(), activity.sequence.clone());
        let (alias, stride) = (activity.alias.clone(), activity.stride);
        let part = Activity { alias, ops, stride, sequence, cycles, threads, ..Activity::default() };
        let result = engine::start(part, Arc::new(Nobody)).wait(Duration::from_secs(5)).await;
        let ok: u64 = result.totals.iter().map(|op| op.ok).sum();
        assert_eq!(ok, result.cycles_done, "{:?}", result.ended);
        sizes.push(resident_bytes());
    }
    adapter.close().await.expect("it closes");
    sizes
}

/// Of this process now.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
