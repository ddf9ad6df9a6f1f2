//! What an op costs the client in each lane of the mongodb driver, beside loops that do nothing else than send:
//! all in one run, against a canned-reply server in a process of its own, the best of five rounds.
//!
//! `cargo bench --bench lane` prints the table; `… -- --write` puts it into `docs/performance.md`; names choose
//! among `small`, `large`, `many`, `one`, and tables of their own: `flat`, whether a million finds cost memory, and
//! `workers`, which compares ways to run on two processors. On a machine that does nothing else: nothing here is a
//! test.

mod canned;
mod loops;
mod tables;

use canned::process::{Process, serve_if_asked};
use loops::raw::{Sends, raw};
use loops::{Figures, Load, ROUND, bare, ours, resident, runtime};
use std::fmt::Write;
use std::sync::Arc;

const ROUNDS: usize = 5;
const THREADS: usize = 16;
const MANY: usize = 8_000;
/// The raw loop, with another part of a long text in each op.
const RAW_OF_TEXT: &str = "raw, parts of a text";

fn main() {
    if serve_if_asked() {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let named: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let runs = |name: &str| named.is_empty() || named.contains(&name);
    let mut table = String::from(
        "| load | loop | ops/s | MB/s | client CPU µs/op | p50 µs | of the raw loop |\n|--|--|--:|--:|--:|--:|--:|\n",
    );
    let small = Load { tags: "block:main.*", params: &[("mintext", "100"), ("maxtext", "100")] };
    let large = Load { tags: "block:rampup", params: &[("mintext", "100000"), ("maxtext", "100000")] };
    if runs("small") {
        compare(&mut table, "main ops, 100-byte values, 16 threads, 1 worker", &small, THREADS, Measure::Ops);
    }
    if runs("large") {
        compare(&mut table, "rampup, 100 KB values, 16 threads, 1 worker", &large, THREADS, Measure::Bytes);
    }
    if runs("many") {
        compare(&mut table, "main ops, 8,000 threads, 1 worker", &small, MANY, Measure::Ops);
    }
    if runs("one") {
        compare(&mut table, "main ops, 1 thread, 1 worker", &small, 1, Measure::Latency);
    }
    let write = words.iter().any(|word| word == "--write");
    let tell = |name: &str, text: &str| {
        print!("{text}");
        if write {
            tables::write(name, text);
        }
    };
    if ["small", "large", "many", "one"].into_iter().any(runs) {
        tell("lanes", &table);
    }
    if runs("flat") {
        tell("flat", &flat());
    }
    if runs("workers") {
        tell("workers", &workers(&small));
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Ops,
    Bytes,
    Latency,
}

/// What a loop came to at best.
#[derive(Clone, Copy)]
struct Best {
    figures: Figures,
    p50_us: Option<f64>,
}

impl Measure {
    fn of(self, best: &Best) -> f64 {
        match self {
            Measure::Ops => best.figures.ops_per_second,
            Measure::Bytes => best.figures.megabytes_per_second,
            Measure::Latency => -best.p50_us.unwrap_or(f64::MAX),
        }
    }
}

/// A text as long as the one that values of `mongodb-keyvalue2` are cut from.
fn image() -> Vec<u8> {
    (0..16_000_000_u32).map(|at| b'a' + (at.wrapping_mul(2_654_435_769) >> 28) as u8).collect()
}

/// All loops in turns, so that they meet the same weather.
fn compare(table: &mut String, name: &str, load: &Load, threads: usize, measure: Measure) {
    let server = Process::start();
    let commands = load.constant();
    let mut all: Vec<(&str, Option<Best>)> = vec![("raw", None), ("nbrs, wire lane", None)];
    // What nbrs itself sends: parts of a text that no cache of a core holds.
    let image = (measure == Measure::Bytes).then(|| Arc::from(image()));
    if measure == Measure::Bytes {
        all.insert(1, (RAW_OF_TEXT, None));
    }
    if threads != MANY {
        all.extend([("nbrs, driver lane", None), ("bare driver", None)]);
    }
    for _ in 0..ROUNDS {
        for (label, best) in &mut all {
            let uri = &server.uri;
            let round = runtime(1).block_on(async {
                match *label {
                    "raw" | RAW_OF_TEXT => {
                        let timed = measure == Measure::Latency;
                        let image = image.clone().filter(|_| *label == RAW_OF_TEXT);
                        let round = raw(uri, &commands, threads, ROUND, &Sends { timed, image }).await;
                        Best { figures: round.figures, p50_us: timed.then_some(round.p50_us) }
                    }
                    "bare driver" => {
                        Best { figures: bare(uri, &commands, threads, ROUND).await, p50_us: None }
                    }
                    _ => {
                        let lane = if label.contains("wire") { "wire" } else { "driver" };
                        let round = ours(uri, load, lane, threads, ROUND).await;
                        Best { figures: round.figures, p50_us: Some(round.p50_us) }
                    }
                }
            });
            if best.as_ref().is_none_or(|best| measure.of(&round) > measure.of(best)) {
                *best = Some(round);
            }
        }
    }
    let floor = all[0].1.expect("it ran");
    for (label, best) in &all {
        let best = best.expect("it ran");
        let share = match (measure, best.p50_us, floor.p50_us) {
            (Measure::Latency, Some(p50), Some(floor)) => format!("{:+.1} µs", p50 - floor),
            (Measure::Latency, ..) => String::new(),
            _ => format!("{:.0} %", 100.0 * measure.of(&best) / measure.of(&floor)),
        };
        let figures = best.figures;
        let _ = writeln!(
            table,
            "| {name} | {label} | {:.0} | {:.1} | {:.1} | {} | {share} |",
            figures.ops_per_second,
            figures.megabytes_per_second,
            figures.cpu_us_per_op,
            best.p50_us.map_or(String::new(), |p50| format!("{p50:.1}")),
        );
    }
}

/// Whether ops leave memory behind: what the process holds after a tenth of a million finds, and after all.
fn flat() -> String {
    const FINDS: u64 = 1_000_000;
    let server = Process::start();
    let load = Load { tags: "block:main-read", params: &[] };
    let mut table =
        String::from("| lane | MB after 10 % of 1,000,000 finds | MB after all |\n|--|--:|--:|\n");
    for lane in ["wire", "driver"] {
        let parts = [FINDS / 10, FINDS - FINDS / 10];
        let sizes = runtime(1).block_on(resident(&server.uri, &load, lane, THREADS, &parts));
        let [tenth, all] = [0, 1].map(|at| sizes[at] as f64 / 1e6);
        let _ = writeln!(table, "| {lane} | {tenth:.1} | {all:.1} |");
    }
    table
}

/// Two workers that share their tasks against two runtimes that share nothing: the raw loop and the wire lane in
/// both. nbrs runs in the first.
fn workers(load: &Load) -> String {
    let server = Process::start();
    let commands = load.constant();
    let both = |half: &(dyn Fn(usize) -> Figures + Sync)| {
        let halves = std::thread::scope(|scope| {
            let other = scope.spawn(|| half(THREADS / 2));
            [half(THREADS / 2), other.join().expect("it does not panic")]
        });
        // Each half counts the processor time of the whole process.
        let ops_per_second = halves.iter().map(|half| half.ops_per_second).sum::<f64>();
        let cpu_us_per_op = halves[0].cpu_us_per_op * halves[0].ops_per_second / ops_per_second;
        Figures { ops_per_second, cpu_us_per_op, ..halves[0] }
    };
    let alone = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let raw_of = |threads| {
        let (uri, commands) = (&server.uri, &commands);
        async move { raw(uri, commands, threads, ROUND, &Sends::default()).await.figures }
    };
    let ours_of = |threads| {
        let uri = &server.uri;
        async move { ours(uri, load, "wire", threads, ROUND).await.figures }
    };
    let kinds: [(&str, &dyn Fn() -> Figures); 4] = [
        ("raw, one runtime of two workers", &|| runtime(2).block_on(raw_of(THREADS))),
        ("raw, two runtimes of one worker", &|| both(&|threads| alone().block_on(raw_of(threads)))),
        ("wire lane, one runtime of two workers", &|| runtime(2).block_on(ours_of(THREADS))),
        ("wire lane, two runtimes of one worker", &|| both(&|threads| alone().block_on(ours_of(threads)))),
    ];
    let mut best: [Option<Figures>; 4] = [None; 4];
    for _ in 0..ROUNDS {
        for ((_, run), best) in kinds.iter().zip(&mut best) {
            let round = run();
            if best.is_none_or(|best| round.ops_per_second > best.ops_per_second) {
                *best = Some(round);
            }
        }
    }
    let mut table = String::from("| main ops, 16 threads | ops/s | client CPU µs/op |\n|--|--:|--:|\n");
    for ((label, _), best) in kinds.iter().zip(best) {
        let best = best.expect("it ran");
        let _ = writeln!(table, "| {label} | {:.0} | {:.1} |", best.ops_per_second, best.cpu_us_per_op);
    }
    table
}
