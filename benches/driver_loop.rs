//! What nbrs costs on top of the official driver, as ratios against a bare loop around the driver in the same
//! run, both against a canned-reply server in a process of its own.
//!
//! `cargo bench --bench driver_loop` runs all; `cargo bench --bench driver_loop -- NAME…` only those named:
//! - `end-to-end`: 16 threads of small commands; at least 90 % of the bare loop's ops/s is wanted.
//! - `rampup`: inserts of 100 KB values; at least 80 % of the bare loop's MB/s is wanted.
//! - `ycsb`: 16 threads of YCSB's workload A, reads and updates alike, in the lane that a run takes; at least 90 % of the
//!   bare loop's ops/s.
//! - `start`: the release binary, from its start to the first command at the server; under 200 ms is wanted.
//!
//! Each takes less than a minute. Nothing fails on a slow machine: the figures are for a reader.

mod canned;
mod loops;

use canned::Canned;
use canned::process::{Process, serve_if_asked};
use loops::{Figures, Load, ROUND, bare, median, ours, runtime};
use std::process::Command;
use std::time::{Duration, Instant};

const THREADS: usize = 16;
const ROUNDS: usize = 7;

fn main() {
    if serve_if_asked() {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if runs("end-to-end") {
        let small = Load { tags: "block:main.*", params: &[("mintext", "50"), ("maxtext", "150")] };
        compare("end-to-end", &small, "driver", |figures| figures.ops_per_second, 0.9);
    }
    if runs("rampup") {
        let large = Load { tags: "block:rampup", params: &[("mintext", "100000"), ("maxtext", "100000")] };
        compare("rampup", &large, "driver", |figures| figures.megabytes_per_second, 0.8);
    }
    if runs("ycsb") {
        let mix = Load {
            tags: "name:run__(read|update)",
            params: &[
                ("workload", "mongodb-ycsb"),
                ("recordcount", "10000000"),
                ("requestdistribution", "zipfian"),
                ("readproportion", "5"),
                ("updateproportion", "5"),
            ],
        };
        compare("ycsb", &mix, "auto", |figures| figures.ops_per_second, 0.9);
    }
    if runs("start") {
        start();
    }
}

/// Runs both in turns, each with 1 and with 2 workers. A round's ratio is that of the better worker counts of
/// the two, so that both meet the same weather; told is the median round.
fn compare(name: &str, load: &Load, lane: &str, measure: fn(&Figures) -> f64, wanted: f64) {
    let server = Process::start();
    let commands = load.constant();
    let mut ratios = Vec::new();
    let mut all: [[Vec<Figures>; 2]; 2] = Default::default();
    for _ in 0..ROUNDS {
        let mut top = [0.0_f64; 2];
        for workers in [1, 2] {
            let rounds = [
                runtime(workers).block_on(bare(&server.uri, &commands, THREADS, ROUND)),
                runtime(workers).block_on(ours(&server.uri, load, lane, THREADS, ROUND)).figures,
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
