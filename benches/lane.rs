//! What an op costs the client in each lane of the mongodb driver, beside loops that do nothing else than send:
//! all in one run, against a canned-reply server in a process of its own, the best of five rounds.
//!
//! `cargo bench --bench lane` prints the table; `… -- --write` puts it into `docs/performance.md`; names choose
//! among `small`, `large`, `many`, `one`, and `workers`, which compares ways to run on two processors. On a machine that does nothing else: nothing here is a test.

mod canned;
mod loops;

use canned::process::{Process, serve_if_asked};
use loops::raw::raw;
use loops::{Figures, Load, ROUND, bare, ours, runtime};
use std::fmt::Write;

const ROUNDS: usize = 5;
const THREADS: usize = 16;
const MANY: usize = 8_000;

const BEGIN: &str = "<!-- lanes: begin -->\n";
const END: &str = "<!-- lanes: end -->\n";

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
    if named.contains(&"workers") {
        return workers(&small);
    }
    print!("{table}");
    if words.iter().any(|word| word == "--write") {
        write_into_page(&table);
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

/// All loops in turns, so that they meet the same weather.
fn compare(table: &mut String, name: &str, load: &Load, threads: usize, measure: Measure) {
    let server = Process::start();
    let commands = load.constant();
    let mut all: Vec<(&str, Option<Best>)> =
        vec![("raw", None), ("nbrs, wire lane", None), ("nbrs, driver lane", None), ("bare driver", None)];
    if threads == MANY {
        all.truncate(2);
    }
    for _ in 0..ROUNDS {
        for (label, best) in &mut all {
            let uri = &server.uri;
            let round = runtime(1).block_on(async {
                match *label {
                    "raw" => {
                        let timed = measure == Measure::Latency;
                        let round = raw(uri, &commands, threads, ROUND, timed).await;
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

/// Two workers that share their tasks against two runtimes that share nothing: the raw loop in both, and the wire
/// lane in the first, which is the one that nbrs runs in.
fn workers(load: &Load) {
    let server = Process::start();
    let commands = load.constant();
    let tell = |label: &str, figures: Figures| {
        println!(
            "{label:<34} {:>8.0} ops/s {:>5.1} us CPU/op",
            figures.ops_per_second, figures.cpu_us_per_op
        );
    };
    for _ in 0..ROUNDS {
        let shared = runtime(2).block_on(raw(&server.uri, &commands, THREADS, ROUND, false));
        tell("raw, one runtime of two workers", shared.figures);
        let halves = std::thread::scope(|scope| {
            let half = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let half = raw(&server.uri, &commands, THREADS / 2, ROUND, false);
                runtime.expect("a runtime").block_on(half).figures
            };
            let other = scope.spawn(half);
            [half(), other.join().expect("it does not panic")]
        });
        // Each half counts the processor time of the whole process.
        let ops_per_second = halves.iter().map(|half| half.ops_per_second).sum::<f64>();
        let cpu_us_per_op = halves[0].cpu_us_per_op * halves[0].ops_per_second / ops_per_second;
        tell("raw, two runtimes of one worker", Figures { ops_per_second, cpu_us_per_op, ..halves[0] });
        let ours = runtime(2).block_on(ours(&server.uri, load, "wire", THREADS, ROUND));
        tell("wire lane, one runtime of two", ours.figures);
    }
}

fn write_into_page(table: &str) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");
    let text = std::fs::read_to_string(page).expect("docs/performance.md is there");
    let (before, rest) = text.split_once(BEGIN).expect("the page has the place where the table begins");
    let (_, after) = rest.split_once(END).expect("the page has the place where the table ends");
    std::fs::write(page, format!("{before}{BEGIN}{table}{END}{after}")).expect("the page can be written");
}
