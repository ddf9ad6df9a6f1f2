//! What nbrs costs on top of the official driver, as ratios against a bare loop around the driver in the same
//! run, both against a canned-reply server in a process of its own.
//!
//! `cargo bench --bench driver_loop` runs all; `cargo bench --bench driver_loop -- NAME…` only those named:
//! - `end-to-end`: 16 threads of small commands; at least 90 % of the bare loop's ops/s is wanted.
//! - `rampup`: inserts of 100 KB values; at least 80 % of the bare loop's MB/s is wanted.
//! - `start`: the release binary, from its start to the first command at the server; under 200 ms is wanted.
//!
//! Each takes less than a minute. Nothing fails on a slow machine: the figures are for a reader.

mod canned;

use bson::RawDocumentBuf;
use canned::Canned;
use canned::process::{Process, serve_if_asked};
use indexmap::IndexMap;
use nbrs::adapters::{Adapter, Config, mongodb::ROW};
use nbrs::engine::{self, Activity, ActivityOp, Observer};
use nbrs::functions::Context;
use nbrs::plan::{self, Form, OpPlan};
use nbrs::sequence::{self, Sequencer};
use nbrs::span::Text;
use nbrs::workload::tags::TagFilter;
use nbrs::workload::{self, LoadOptions};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: usize = 16;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(1);

fn main() {
    if serve_if_asked() {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if runs("end-to-end") {
        let small = Load { tags: "block:main.*", params: &[("mintext", "50"), ("maxtext", "150")] };
        compare("end-to-end", &small, |figures| figures.ops_per_second, 0.9);
    }
    if runs("rampup") {
        let large = Load { tags: "block:rampup", params: &[("mintext", "100000"), ("maxtext", "100000")] };
        compare("rampup", &large, |figures| figures.megabytes_per_second, 0.8);
    }
    if runs("start") {
        start();
    }
}

/// Ops of `mongodb-keyvalue2`.
struct Load {
    tags: &'static str,
    params: &'static [(&'static str, &'static str)],
}

impl Load {
    /// The ops, compiled, and the order in which cycles take them.
    fn compile(&self) -> (Vec<OpPlan>, Vec<usize>) {
        let params: IndexMap<String, String> =
            self.params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = LoadOptions { includes: &[], params: &params };
        let workload =
            workload::load("mongodb-keyvalue2", &options).unwrap_or_else(|errors| panic!("{errors:?}"));
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
    fn constant(&self) -> Vec<RawDocumentBuf> {
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
struct Figures {
    ops_per_second: f64,
    megabytes_per_second: f64,
    /// Of this process, all its threads.
    cpu_us_per_op: f64,
}

fn figures(ops: u64, bytes: u64, elapsed: Duration, cpu: Duration) -> Figures {
    Figures {
        ops_per_second: ops as f64 / elapsed.as_secs_f64(),
        megabytes_per_second: bytes as f64 / 1e6 / elapsed.as_secs_f64(),
        cpu_us_per_op: cpu.as_secs_f64() * 1e6 / ops as f64,
    }
}

/// Processor time of this process so far; hundredths of a second are all that Linux tells here.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 14th and 15th fields.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn runtime(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The bare loop: tasks that send the same commands over and over.
async fn bare(uri: &str, commands: &[RawDocumentBuf]) -> Figures {
    let mut options = mongodb::options::ClientOptions::parse(uri).await.expect("a valid URI");
    options.max_pool_size = Some(THREADS as u32);
    options.min_pool_size = Some(THREADS as u32);
    options.max_connecting = Some(THREADS as u32);
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
    let tasks: Vec<_> = (0..THREADS)
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
    tokio::time::sleep(ROUND).await;
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

/// The same through nbrs: adapter and engine, as a run uses them.
async fn ours(uri: &str, load: &Load) -> Figures {
    let parameters = IndexMap::from([
        ("connection".to_owned(), uri.to_owned()),
        ("database".to_owned(), "bench".to_owned()),
    ]);
    let config = Config { alias: "bench".to_owned(), parameters, threads: THREADS };
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
        threads: THREADS,
        ..Activity::default()
    };
    let cpu = cpu_time();
    let running = engine::start(activity, Arc::new(Nobody));
    tokio::time::sleep(ROUND).await;
    running.stop();
    let result = running.wait(Duration::from_secs(5)).await;
    let cpu = cpu_time() - cpu;
    adapter.close().await.expect("it closes");
    let ok: u64 = result.totals.iter().map(|op| op.ok).sum();
    assert_eq!(ok, result.cycles_done, "{:?}", result.ended);
    figures(ok, result.totals.iter().map(|op| op.bytes_sent).sum(), result.elapsed, cpu)
}

/// Runs both in turns, each with 1 and with 2 workers. A round's ratio is that of the better worker counts of
/// the two, so that both meet the same weather; told is the median round.
fn compare(name: &str, load: &Load, measure: fn(&Figures) -> f64, wanted: f64) {
    let server = Process::start();
    let commands = load.constant();
    let mut ratios = Vec::new();
    let mut all: [[Vec<Figures>; 2]; 2] = Default::default();
    for _ in 0..ROUNDS {
        let mut top = [0.0_f64; 2];
        for workers in [1, 2] {
            let rounds = [
                runtime(workers).block_on(bare(&server.uri, &commands)),
                runtime(workers).block_on(ours(&server.uri, load)),
            ];
            for (who, round) in rounds.into_iter().enumerate() {
                top[who] = top[who].max(measure(&round));
                all[who][workers - 1].push(round);
            }
        }
        ratios.push(top[1] / top[0]);
    }
    for (who, label) in ["bare loop", "nbrs"].into_iter().enumerate() {
        for (workers, rounds) in all[who].iter().enumerate() {
            println!(
                "{name:<11} {label:<9} {} worker(s) {:>8.0} ops/s {:>8.1} MB/s {:>6.1} us CPU/op",
                workers + 1,
                median(rounds.iter().map(|figures| figures.ops_per_second)),
                median(rounds.iter().map(|figures| figures.megabytes_per_second)),
                median(rounds.iter().map(|figures| figures.cpu_us_per_op)),
            );
        }
    }
    println!(
        "{name:<11} ratio {:.3} (rounds {}); at least {wanted} is wanted",
        median(ratios.iter().copied()),
        ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ")
    );
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The release binary, from its start to the first command at the server.
fn start() {
    let mut times: Vec<Duration> = (0..10)
        .map(|_| {
            let server = Canned::fast();
            let started = Instant::now();
            let output = Command::new(env!("CARGO_BIN_EXE_nbrs"))
                .args(["run", "workload=mongodb-keyvalue2", "tags=block:main-read", "cycles=1", "threads=1"])
                .arg(format!("connection={}", server.uri()))
                .output()
                .expect("the program can be started");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            server.seen.first_op().expect("a command came") - started
        })
        .collect();
    times.sort();
    println!(
        "start       first command after {:.1} ms (median), {:.1} ms (most); under 200 is wanted",
        times[times.len() / 2].as_secs_f64() * 1e3,
        times[times.len() - 1].as_secs_f64() * 1e3
    );
}
