//! `serverStatus`: counters since the start.

use crate::server::MONGODB_VERSION;
use crate::server::command::{COUNTERS, Call, CommandRow, Counter, now_millis};
use crate::server::error::CommandError;
use crate::server::raw::Writer;
use std::sync::atomic::Ordering::Relaxed;

pub const ROW: CommandRow = CommandRow {
    names: &["serverStatus"],
    // Sections may be asked for or not; there are few, and all are always given, as MongoDB gives most.
    fields: &[
        "repl",
        "metrics",
        "locks",
        "mirroredReads",
        "latchAnalysis",
        "sharding",
        "tcmalloc",
        "wiredTiger",
    ],
    refused: &[],
    stable: false,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let shared = call.shared;
    let uptime = shared.started.elapsed();
    let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    reply
        .str("host", &format!("127.0.0.1:{}", shared.port))
        .str("version", MONGODB_VERSION)
        .str("process", "nbrs")
        .i64("pid", i64::from(std::process::id()))
        .f64("uptime", uptime.as_secs() as f64)
        .i64("uptimeMillis", i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX))
        .i64("uptimeEstimate", count(uptime.as_secs()))
        .date("localTime", now_millis());
    reply.document("connections", |w| {
        let current = shared.connections.load(Relaxed);
        w.i64("current", count(current)).i64("totalCreated", count(shared.connections_made.load(Relaxed)));
    });
    reply.document("network", |w| {
        w.i64("bytesIn", count(shared.bytes_in.load(Relaxed)))
            .i64("bytesOut", count(shared.bytes_out.load(Relaxed)))
            .i64("numRequests", count(shared.requests.load(Relaxed)));
    });
    reply.document("opcounters", |w| {
        for (name, counter) in COUNTERS.iter().zip(&shared.operations) {
            w.i64(name, count(counter.load(Relaxed)));
        }
    });
    if let Some(resident) = resident_megabytes() {
        reply.document("mem", |w| {
            w.i32("bits", usize::BITS as i32).i32("resident", resident);
        });
    }
    reply
        .document("metrics", |w| {
            w.document("cursor", |w| {
                w.document("open", |w| {
                    w.i64("total", shared.cursors.count() as i64);
                });
            });
        })
        .document("storageEngine", |w| {
            w.str("name", "fjall").bool("persistent", true);
        })
        .document("nbrs", |w| {
            w.str("version", env!("CARGO_PKG_VERSION"));
        });
    Ok(())
}

/// Resident memory of this process, where the system tells.
fn resident_megabytes() -> Option<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    i32::try_from(kilobytes / 1024).ok()
}
