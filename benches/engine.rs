//! What the engine itself costs, with ops that do nothing: cycles per second on one worker with all clocks
//! recorded, allocations per cycle once warm, and how close starts come to their schedule.
//!
//! `cargo bench --bench engine`; some 20 seconds.

use nbrs::adapters::{Dispenser, Outcome, Run, Scratch};
use nbrs::engine::{Activity, ActivityOp, ActivityResult, Load, Observer, start};
use nbrs::functions::Context;
use nbrs::plan::BindError;
use nbrs::units::Rate;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Noop;

impl Dispenser for Noop {
    fn bind(&self, _: i64, _: &mut Context, _: &mut Scratch) -> Result<(), BindError> {
        Ok(())
    }

    fn run<'a>(&'a self, _: i64, _: &'a mut Scratch) -> Run<'a> {
        Run::Ready(Outcome::default())
    }
}

struct Nobody;
impl Observer for Nobody {}

/// Processor time of this process so far, where the system tells.
fn cpu() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

fn run(workers: usize, threads: usize, cycles: u64, cycle_rate: Option<Rate>) -> (ActivityResult, u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime can be built");
    runtime.block_on(async {
        let activity = Activity {
            alias: "bench".into(),
            ops: vec![ActivityOp::new("b__noop", Arc::new(Noop))],
            sequence: vec![0],
            cycles: 0..cycles,
            threads,
            cycle_rate: cycle_rate.map(Load::Rate),
            ..Activity::default()
        };
        let before = ALLOCATIONS.load(Relaxed);
        let result = start(activity, Arc::new(Nobody)).wait(Duration::from_secs(1)).await;
        (result, ALLOCATIONS.load(Relaxed) - before)
    })
}

fn main() {
    for (workers, threads) in [(1, 1), (1, 100), (2, 100), (2, 20_000)] {
        let cycles = 8_000_000;
        let (short, few) = run(workers, threads, cycles / 8, None);
        let before = cpu();
        let (result, allocations) = run(workers, threads, cycles, None);
        assert_eq!(result.totals[0].ok, cycles);
        let busy = cpu().zip(before).map_or(0.0, |(after, before)| (after - before).as_secs_f64());
        println!(
            "{workers} workers, {threads:>5} threads: {:.2} M cycles/s, {:.0} ns of processor time per cycle; {:.6} \
             allocations per cycle once warm",
            cycles as f64 / result.elapsed.as_secs_f64() / 1e6,
            busy * 1e9 / cycles as f64,
            allocations.saturating_sub(few) as f64 / (cycles - short.cycles_done) as f64,
        );
    }
    for (rate, cycles) in [(1_000.0, 3_000), (2_500.0, 7_500), (50_000.0, 150_000), (400_000.0, 1_200_000)] {
        let (result, _) = run(2, 25, cycles, Some(Rate::new(rate, 1.1)));
        let wait = &result.totals[0].wait;
        println!(
            "{rate:>6}/s: {cycles} cycles in {:.4} s (due in {:.4} s); wait p50 {} µs, p99 {} µs, max {} µs",
            result.elapsed.as_secs_f64(),
            (cycles - 1) as f64 / rate,
            wait.value_at_quantile(0.5) / 1000,
            wait.value_at_quantile(0.99) / 1000,
            wait.max() / 1000,
        );
    }
}
