//! How long the page of a day takes: to be made, and to be shown by a browser.
//!
//! `cargo bench --bench page` makes a result of 24 hours with a dozen ops, writes its page, and times Chromium
//! (`CHROMIUM`, or `chromium`) from its start until all is read and the window is drawn, against an empty page; the
//! best of five. A file name keeps the page there.

use hdrhistogram::Histogram;
use nbrs::metrics::{Client, OpStats, Outage, Point, Quantiles};
use nbrs::report::{Activity, Destination, Ended, Op, Run, Status, Target, html, ycsb};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const DAY: u64 = 86_400;
const OPS: usize = 12;
/// A series has at most 7,200 intervals, so that those of a day are 16 s.
const INTERVAL: u64 = 16;
const ROUNDS: usize = 5;

/// Numbers that jitter, the same each time (Steele, Lea and Flood's SplitMix64).
struct Jitter(u64);

impl Jitter {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}

/// A day of load that swings with the hours, has spikes, errors and an outage.
fn day() -> Result<Run, Box<dyn Error>> {
    let mut jitter = Jitter(1);
    let mut ops = Vec::new();
    let mut series = Vec::new();
    for op in 0..OPS {
        let mut stats = OpStats::default();
        for at in (INTERVAL..=DAY).step_by(INTERVAL as usize) {
            let hours = at as f64 / 3600.0;
            let down = (14.0..14.05).contains(&hours);
            let swing = 1.0 + 0.4 * (hours / 24.0 * std::f64::consts::TAU).sin();
            let ok = if down { 0 } else { (swing * 16_000.0 * (0.9 + 0.2 * jitter.next())) as u64 };
            let errors = if down { 800 } else { u64::from(jitter.next() > 0.995) * 40 };
            let p50 = (swing * 300_000.0 * (0.9 + 0.2 * jitter.next())) as u64 * (op as u64 + 1);
            let spike = if jitter.next() > 0.999 { 400 } else { 8 };
            let times = Quantiles { p50, p95: p50 * 3, p99: p50 * 5, max: p50 * spike, mean: p50 };
            let times = if down { Quantiles::default() } else { times };
            let late = |nanos: u64| nanos + nanos / 3;
            let response = Quantiles { p99: late(times.p99), max: late(times.max), ..times };
            for (time, count) in [(times.p50, ok / 2), (times.p95, ok / 2 - ok / 100), (times.p99, ok / 100)]
            {
                stats.service.record_n(time, count)?;
                stats.response.record_n(late(time), count)?;
            }
            stats.failed.record_n(50_000_000, errors)?;
            stats.error("NotWritablePrimary").ended += errors;
            (stats.ok, stats.attempted) = (stats.ok + ok, stats.attempted + ok + errors);
            let (at, length) = (Duration::from_secs(at), Duration::from_secs(INTERVAL));
            series.push(Point { at, length, op, ok, errors, service: times, response });
        }
        stats.wait = Histogram::new(3)?;
        ops.push(Op { name: format!("main__op-{op}"), report_as: None, follows: false, stats });
    }
    series.sort_by_key(|point| (point.at, point.op));
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let hours = |hours: f64| Duration::from_secs_f64(hours * 3600.0);
    let cycles = ops.iter().map(|op| op.stats.attempted).sum();
    let main = Activity {
        id: 0,
        started,
        alias: "main".to_owned(),
        workload: "a day".to_owned(),
        scenario: None,
        step: None,
        cycles_asked: None,
        cycles_done: cycles,
        cycles_before: 0,
        threads: 200,
        target: Some(12_000.0),
        backlog: 9_000,
        backlog_left: 0,
        client: Client::default(),
        outages: vec![Outage { from: hours(14.0), to: Some(hours(14.05)) }],
        elapsed: Duration::from_secs(DAY),
        closing: None,
        connections: Vec::new(),
        warm_up: None,
        server: Vec::new(),
        ended: Ended::TimeUp,
        ops,
        series,
        timeline: None,
    };
    Ok(Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "nbrs run workload=day.yaml duration=24h cyclerate=12000 threads=200".to_owned(),
        started,
        elapsed: Duration::from_secs(DAY),
        status: Status::Done,
        target: Some(Target { kind: "mongodb".to_owned(), ..Target::default() }),
        activities: vec![main],
        fail_if: Vec::new(),
        max_rate: None,
        merged: Vec::new(),
        ycsb: ycsb::Form::default(),
    })
}

/// From the start of the browser until it has read all of a page and drawn what a window shows; the best of several.
fn drawn(chromium: &str, address: &str, folder: &Path) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let clock = Instant::now();
        let status = Command::new(chromium)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900"])
            .arg(format!("--screenshot={}", folder.join("page.png").display()))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(address)
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("{chromium} ended with {status}").into());
        }
        best = best.min(clock.elapsed());
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    // What cargo itself says to a bench begins with dashes.
    let kept = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let page = kept.map_or_else(|| folder.path().join("day.html"), PathBuf::from);
    let run = day()?;
    let clock = Instant::now();
    html::write(&run, &Destination::new(&page)?)?;
    let (made, size) = (clock.elapsed(), std::fs::metadata(&page)?.len());
    println!("the page of a day: {:.2} MB, made in {} ms", size as f64 / 1e6, made.as_millis());
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let empty = folder.path().join("empty.html");
    std::fs::write(&empty, "<!doctype html><title>empty</title>")?;
    let [empty, full] = [&empty, &page].map(|page| {
        let page = std::fs::canonicalize(page)?;
        drawn(&chromium, &format!("file://{}", page.display()), folder.path())
    });
    let (empty, full) = (empty?, full?);
    println!(
        "drawn {} ms after the browser's start, an empty page after {} ms: the page takes {} ms",
        full.as_millis(),
        empty.as_millis(),
        full.saturating_sub(empty).as_millis()
    );
    Ok(())
}
