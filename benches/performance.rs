//! The tables of `docs/performance.md`: how close starts come to their schedule, what a stall looks like, and what
//! the engine costs.
//!
//! `cargo bench --bench performance` prints them; `… -- --write` puts them into `docs/performance.md` in place of
//! those that are there; names choose among `cost`, `memory`, `diag`, `canned`, `stall`, `knee`, `drift` (which takes ten
//! minutes and is left out if not named). On a machine that does nothing else: every point is a measurement, none is a test.

mod canned;
mod tables;

use canned::process::{Process, serve_if_asked};
use indexmap::IndexMap;
use nbrs::adapters::{Config, Dispenser, Outcome, Run, Scratch, diag, mongodb};
use nbrs::engine::{self, Activity, ActivityOp, ActivityResult, Load, Observer};
use nbrs::functions::Context;
use nbrs::plan::{self, BindError, Form};
use nbrs::span::Text;
use nbrs::units::Rate;
use nbrs::workload;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Ops at the lowest rates; faster ones run for [`SECONDS`].
const LEAST_OPS: f64 = 1_000.0;
const SECONDS: f64 = 5.0;
const RATES: [f64; 9] = [10.0, 100.0, 1_000.0, 5_000.0, 20_000.0, 50_000.0, 100_000.0, 200_000.0, 500_000.0];
const THREADS: usize = 25;
/// The rate beyond which nothing is promised.
const MOST: f64 = 1_000_000.0;
/// Of the reference's op that costs a server least.
const FIND: &str = r#"{ops: {find: {stmt: {find: "c", filter: {_id: 1}}}}}"#;
/// The engine's cost is told as the best of so many rounds.
const ROUNDS: usize = 5;

fn main() {
    if serve_if_asked() {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let named: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let write = words.iter().any(|word| word == "--write");
    let tell = |name: &str, make: &dyn Fn(&mut String)| {
        if named.is_empty() && name == "drift" || !named.is_empty() && !named.contains(&name) {
            return;
        }
        let mut table = String::new();
        make(&mut table);
        print!("{table}");
        if write {
            tables::write(name, &table);
        }
    };
    print!("{}", machine());
    if write {
        tables::write("machine", &machine());
    }
    tell("cost", &cost);
    tell("memory", &memory);
    tell("diag", &|table| {
        table.push_str("\n### Target and achieved rate, `diag` noop\n\n");
        rates(table, THREADS, &|| connect(&diag::ROW, "noop", &[]));
    });
    tell("canned", &|table| {
        let server = Process::start();
        let uri = server.uri.clone();
        table.push_str("\n### Target and achieved rate, canned-reply server over loopback\n\n");
        rates(table, THREADS, &|| connect(&mongodb::ROW, FIND, &[("connection", &uri)]));
    });
    tell("stall", &stall);
    tell("knee", &knee);
    tell("drift", &drift);
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("\t: unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Measured with {cores} processors ({}).\n", model.trim_start_matches(['\t', ' ', ':']))
}

struct Nobody;
impl Observer for Nobody {}

fn runtime(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime can be built")
}

/// The dispenser of one op, connected.
fn connect(
    row: &nbrs::adapters::AdapterRow,
    stmt: &str,
    parameters: &[(&str, &str)],
) -> std::pin::Pin<Box<dyn Future<Output = Arc<dyn Dispenser>>>> {
    let parameters: IndexMap<String, String> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let workload = workload::from_op_text(&Text::unplaced(stmt), &IndexMap::new())
        .unwrap_or_else(|errors| panic!("{errors:?}"));
    let form: Form = row.form;
    let plan = plan::compile(&workload.ops[0], form).unwrap_or_else(|errors| panic!("{errors:?}")).plan;
    let connecting = (row.connect)(Config { alias: "bench".into(), parameters, threads: THREADS });
    Box::pin(async move {
        let adapter = connecting.await.expect("a target");
        adapter.warm_up().await.expect("connections");
        adapter.dispenser(plan).expect("an op")
    })
}

type Target<'a> = &'a dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = Arc<dyn Dispenser>>>>;

fn run(workers: usize, target: Target, activity: Activity) -> ActivityResult {
    runtime(workers).block_on(async {
        let dispenser = target().await;
        let ops = vec![ActivityOp::new("b__op", dispenser)];
        let activity = Activity { alias: "bench".into(), ops, sequence: vec![0], ..activity };
        engine::start(activity, Arc::new(Nobody)).wait(Duration::from_secs(5)).await
    })
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Ops that ended well, per second, as fast as they go.
fn closed_loop(threads: usize, target: Target) -> f64 {
    let duration = Some(Duration::from_secs_f64(SECONDS));
    let result =
        run(workers(), target, Activity { cycles: 0..u64::MAX, threads, duration, ..Activity::default() });
    result.achieved().unwrap_or_default()
}

fn rates(out: &mut String, threads: usize, target: Target) {
    let most = closed_loop(threads, target);
    let _ = writeln!(out, "Closed loop, {threads} threads: {most:.0}/s.\n");
    out.push_str("| target /s | ops | achieved /s | off by | wait p50 µs | wait p99 µs | wait max µs |\n");
    out.push_str("|--:|--:|--:|--:|--:|--:|--:|\n");
    let half = (most / 2.0).min(MOST).round();
    let mut rates: Vec<f64> = RATES.into_iter().chain([half]).collect();
    rates.sort_by(f64::total_cmp);
    for rate in rates {
        let ops = (rate * SECONDS).max(LEAST_OPS);
        let result = run(
            workers(),
            target,
            Activity {
                cycles: 0..ops as u64,
                threads,
                cycle_rate: Some(Load::Rate(Rate::new(rate, 1.1))),
                ..Activity::default()
            },
        );
        let achieved = result.achieved().unwrap_or_default();
        let wait = &result.totals[0].wait;
        let at = |quantile| wait.value_at_quantile(quantile) as f64 / 1e3;
        let over = match rate {
            rate if rate == half && half < MOST => " (half of the closed loop)",
            rate if rate > most * 0.8 => " (over 80 % of the closed loop)",
            _ => "",
        };
        let _ = writeln!(
            out,
            "| {rate}{over} | {} | {achieved:.1} | {:.3} % | {:.0} | {:.0} | {:.0} |",
            result.cycles_done,
            (achieved / rate - 1.0) * 100.0,
            at(0.5),
            at(0.99),
            wait.max() as f64 / 1e3,
        );
    }
}

/// Resident memory of this process: `VmRSS:` now, `VmHWM:` at most so far.
fn resident_mb(what: &str) -> String {
    let read = || -> Option<f64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(what))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
    };
    read().map_or("-".to_owned(), |mb| format!("{mb:.1}"))
}

/// Ops of the run whose memory is looked at.
const MANY: u64 = 200_000_000;

fn memory(out: &mut String) {
    let ops = std::env::var("NBRS_BENCH_OPS").ok().and_then(|ops| ops.parse().ok()).unwrap_or(MANY);
    let _ = writeln!(out, "\n### Memory of {ops} ops, `diag` noop, {THREADS} threads\n");
    out.push_str("| ops done | memory, MB |\n|--:|--:|\n");
    runtime(workers()).block_on(async {
        let dispenser = connect(&diag::ROW, "noop", &[]).await;
        let ops_of = vec![ActivityOp::new("b__op", dispenser)];
        let activity = Activity {
            ops: ops_of,
            sequence: vec![0],
            cycles: 0..ops,
            threads: THREADS,
            ..Activity::default()
        };
        let running = engine::start(activity, Arc::new(Nobody));
        for share in [0.1, 0.5, 1.0] {
            let done = (ops as f64 * share) as u64;
            while running.progress().cycles_done < done {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let _ = writeln!(out, "| {:.0} % | {} |", share * 100.0, resident_mb("VmRSS:"));
        }
        running.wait(Duration::from_secs(1)).await;
    });
}

fn cost(out: &mut String) {
    let _ = writeln!(
        out,
        "\n### What the engine costs, `diag` noop, all clocks recorded, best of {ROUNDS} rounds in turns\n"
    );
    out.push_str(
        "| workers | threads | cycles/s | of one worker | memory at most, MB |\n|--:|--:|--:|--:|--:|\n",
    );
    let shapes = [(1, 1), (1, 100), (2, 100), (2, 20_000)];
    let mut best = [0.0; 4];
    let mut memory = shapes.map(|_| String::new());
    for _ in 0..ROUNDS {
        for (shape, (workers, threads)) in shapes.into_iter().enumerate() {
            let duration = Some(Duration::from_secs(2));
            let activity = Activity { cycles: 0..u64::MAX, threads, duration, ..Activity::default() };
            let result = run(workers, &|| connect(&diag::ROW, "noop", &[]), activity);
            best[shape] = result.achieved().unwrap_or_default().max(best[shape]);
            if memory[shape].is_empty() {
                memory[shape] = resident_mb("VmHWM:");
            }
        }
    }
    for (shape, (workers, threads)) in shapes.into_iter().enumerate() {
        let of_one = best[shape] / best[1];
        let _ =
            writeln!(out, "| {workers} | {threads} | {:.0} | {of_one:.2} | {} |", best[shape], memory[shape]);
    }
}

/// A target of 1 ms that answers nothing for two seconds, once.
struct Stalling {
    begun: OnceLock<Instant>,
}

const STALL_AT: Duration = Duration::from_secs(5);
const STALL: Duration = Duration::from_secs(2);
/// In the interval in which it ends, ops that were in flight all the while end too, beside those that start.
const AFTER: Duration = Duration::from_millis(1_500);

impl Dispenser for Stalling {
    fn bind(&self, _: i64, _: &mut Context, _: &mut Scratch) -> Result<(), BindError> {
        Ok(())
    }

    fn run<'a>(&'a self, _: i64, _: &'a mut Scratch) -> Run<'a> {
        let at = self.begun.get_or_init(Instant::now).elapsed();
        let left = if at > STALL_AT { (STALL_AT + STALL).saturating_sub(at) } else { Duration::ZERO };
        Run::Pending(Box::pin(async move {
            tokio::time::sleep(left.max(Duration::from_millis(1))).await;
            Outcome::default()
        }))
    }
}

fn stall(out: &mut String) {
    out.push_str("\n### A target of 1 ms that stalls for 2 s after 5 s, `cyclerate=1000`, 15 s\n\n");
    out.push_str("| threads | service p95 ms | service max ms | response p95 ms | response max ms | most in a second after it |\n");
    out.push_str("|--:|--:|--:|--:|--:|--:|\n");
    for threads in [10, 100] {
        let stalling = || -> std::pin::Pin<Box<dyn Future<Output = Arc<dyn Dispenser>>>> {
            Box::pin(async { Arc::new(Stalling { begun: OnceLock::new() }) as Arc<dyn Dispenser> })
        };
        let activity = Activity {
            cycles: 0..15_000,
            threads,
            cycle_rate: Some(Load::Rate(Rate::new(1_000.0, 1.1))),
            ..Activity::default()
        };
        let result = run(workers(), &stalling, activity);
        let totals = &result.totals[0];
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let after = result.series.iter().filter(|point| point.at > STALL_AT + STALL + AFTER);
        let most = after.map(|point| point.ok as f64 / point.length.as_secs_f64()).fold(0.0, f64::max);
        let _ = writeln!(
            out,
            "| {threads} | {:.2} | {:.0} | {:.0} | {:.0} | {most:.0} |",
            ms(totals.service.value_at_quantile(0.95)),
            ms(totals.service.max()),
            ms(totals.response.value_at_quantile(0.95)),
            ms(totals.response.max()),
        );
    }
}

/// `nbrs findmax` on targets whose knee is known: so many threads, each busy for 50 ms with an op.
fn knee(out: &mut String) {
    const KEEP: &str = "response.p99<100ms";
    let _ = writeln!(out, "\n### `findmax --keep '{KEEP}' --hold 3s`, ops of 50 ms\n");
    out.push_str("| threads | most that they can do /s | found /s | off by |\n|--:|--:|--:|--:|\n");
    for threads in [50, 500] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_nbrs"))
            // Where its log goes.
            .current_dir(std::env::temp_dir())
            .args(["findmax", "driver=diag", "op=delay=50ms", &format!("threads={threads}")])
            .args(["--keep", KEEP, "--hold", "3s", "--progress", "none"])
            .args(["--report-json-to", "-"])
            .output()
            .expect("nbrs runs");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let most = f64::from(threads) / 0.05;
        let found = result["run"]["max_rate"].as_f64().unwrap_or_default();
        let _ = writeln!(out, "| {threads} | {most} | {found} | {:.1} % |", (found / most - 1.0) * 100.0);
    }
}

/// Ten minutes at one rate.
fn drift(out: &mut String) {
    out.push_str("\n### No drift: `diag` noop, 10,000/s for ten minutes\n\n");
    out.push_str("| minute | starts | off by |\n|--:|--:|--:|\n");
    let activity = Activity {
        cycles: 0..6_000_000,
        threads: THREADS,
        cycle_rate: Some(Load::Rate(Rate::new(10_000.0, 1.1))),
        ..Activity::default()
    };
    let result = run(workers(), &|| connect(&diag::ROW, "noop", &[]), activity);
    for minute in 0..10 {
        let (from, to) = (minute as f64 * 60.0, (minute + 1) as f64 * 60.0);
        let within = result.series.iter().filter(|point| {
            let at = point.at.as_secs_f64();
            at > from + 0.5 && at <= to + 0.5
        });
        let (starts, seconds) = within.fold((0, 0.0), |(starts, seconds), point| {
            (starts + point.ok, seconds + point.length.as_secs_f64())
        });
        let off = starts as f64 / (seconds * 10_000.0) - 1.0;
        let _ = writeln!(out, "| {} | {starts} | {:.4} % |", minute + 1, off * 100.0);
    }
}
