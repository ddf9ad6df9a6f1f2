//! What a summary says in words: of the target rate, of what held a run up, of the target itself, of outages.

use super::figures::{Figures, Times};
use super::{Activity, wording};
use crate::metrics::ConnectionPoint;
use std::collections::BTreeMap;
use std::time::Duration;

/// Above this share of the machine's processors it is they that decide how fast a run is.
const BUSY_CPU: f64 = 0.9;
/// In bytes: less may have been swapped out for good.
const SWAPPED: u64 = 1_000_000;
/// A clock that wakes later than this adds to wait times what a user would notice.
const LATE_CLOCK: Duration = Duration::from_millis(10);

/// What became of the target rate, and of the client itself, in words.
pub fn of(activity: &Activity, figures: &Figures) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(warm_up) = activity.warm_up {
        lines.push(format!(
            "  warm-up of {} with {}, not counted below",
            wording::elapsed(warm_up.elapsed),
            wording::counted(warm_up.cycles, "cycle")
        ));
    }
    let target = figures.target.unwrap_or(f64::INFINITY);
    // A cycle that is due while the clock ticks is no backlog: a tenth of a second's worth is.
    let behind = activity.backlog as f64 > (target / 10.0).max(1.0);
    if figures.target.is_some() {
        let mut text = format!("  target {}", wording::per_second(target));
        if let (Some(achieved), Some(share)) = (figures.achieved, figures.of_target) {
            text += &format!(", achieved {} ({})", wording::per_second(achieved), wording::percent(share));
        }
        if behind {
            text += &format!(
                ": behind schedule, backlog {} at worst, {} at the end; response times include queueing",
                wording::counted(activity.backlog, "cycle"),
                wording::count(activity.backlog_left)
            );
        }
        lines.push(text);
    }
    lines.extend(server(activity));
    lines.extend(connections(activity));
    if figures.target.is_none() {
        lines.extend(decay(activity));
        lines.extend(idle_threads(activity, figures));
    }
    lines.extend(limit(activity, behind).map(|text| format!("  {text}")));
    lines.extend(activity.outages.iter().take(OUTAGES_SHOWN).map(|outage| match outage.to {
        Some(to) => format!(
            "  outage: no op ended well for {}, from {} to {} of the run",
            wording::elapsed(to.saturating_sub(outage.from)),
            wording::elapsed(outage.from),
            wording::elapsed(to)
        ),
        None => format!("  outage: no op ended well after {} of the run", wording::elapsed(outage.from)),
    }));
    if activity.outages.len() > OUTAGES_SHOWN {
        let more = activity.outages.len() - OUTAGES_SHOWN;
        lines
            .push(format!("  and {}; the result file has all", wording::counted(more as u64, "more outage")));
    }
    lines
}

/// Fewer whole intervals than this are too few to see a run slow down in.
const INTERVALS_TO_COMPARE: usize = 20;

/// That a run did less than half as much at its end as at its beginning.
fn decay(activity: &Activity) -> Option<String> {
    // Time of the end → ops that ended well, and seconds.
    let mut intervals: BTreeMap<Duration, (u64, f64)> = BTreeMap::new();
    for point in activity.series.iter().filter(|point| point.length >= Duration::from_millis(500)) {
        let interval = intervals.entry(point.at).or_insert((0, point.length.as_secs_f64()));
        interval.0 += point.ok;
    }
    if intervals.len() < INTERVALS_TO_COMPARE {
        return None;
    }
    let intervals: Vec<_> = intervals.into_values().collect();
    let tenth = intervals.len() / 10;
    let rate = |part: &[(u64, f64)]| {
        part.iter().map(|(ok, _)| *ok as f64).sum::<f64>()
            / part.iter().map(|(_, seconds)| seconds).sum::<f64>()
    };
    let (first, last) = (rate(&intervals[..tenth]), rate(&intervals[intervals.len() - tenth..]));
    (last < first / 2.0).then(|| {
        format!(
            "  throughput fell: {} in the first tenth of the run, {} in the last",
            wording::per_second(first),
            wording::per_second(last)
        )
    })
}

/// Connections that were lost or could not be opened while the run went on: where there were any, it was not the
/// test that it was meant to be.
fn connections(activity: &Activity) -> Option<String> {
    let (first, rest) = activity.connections.split_first()?;
    let sum = |of: fn(&ConnectionPoint) -> u64| rest.iter().map(of).sum::<u64>();
    let (asked, opened, lost) = (sum(|it| it.asked), sum(|it| it.opened), sum(|it| it.lost));
    let refused = asked.saturating_sub(opened);
    if lost == 0 && refused == 0 {
        return None;
    }
    let fewest = activity.connections.iter().map(|point| point.open).min().unwrap_or_default();
    let mut text = format!(
        "  connections: {} before the run; {} lost, {} of {} opened anew, {} at fewest",
        wording::count(first.open),
        wording::count(lost),
        wording::count(opened),
        wording::count(asked),
        wording::count(fewest),
    );
    if let Some(worst) = rest.iter().max_by_key(|point| point.lost).filter(|point| point.lost > 0) {
        text += &format!(" (most lost in the second to {})", wording::elapsed(worst.at));
    }
    Some(text)
}

/// What the target counted itself: to hold against what the client counted.
fn server(activity: &Activity) -> Option<String> {
    let last = activity.server.last()?;
    let mut ops: BTreeMap<&str, u64> = BTreeMap::new();
    let mut latencies: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for point in &activity.server {
        for (kind, count) in &point.ops {
            *ops.entry(kind).or_default() += count;
        }
        for (kind, us) in &point.mean_us {
            let sum = latencies.entry(kind).or_default();
            *sum = (sum.0 + us, sum.1 + 1.0);
        }
    }
    let mut parts: Vec<String> =
        ops.iter().map(|(kind, count)| format!("{} {kind}", wording::count(*count))).collect();
    if let Some(most) = activity.server.iter().filter_map(|point| point.connections).max() {
        parts.push(wording::counted(most, "connection"));
    }
    parts.extend(
        latencies
            .iter()
            .map(|(kind, (sum, n))| format!("{kind} {} on average", wording::time(sum / n * 1e3))),
    );
    let until = wording::elapsed(last.at);
    Some(format!("  the target itself, in the first {until}: {}", parts.join(", ")))
}

/// Fewer ops of each thread than this are too few to say how busy it was: they begin and end at different times.
const OPS_OF_A_THREAD: u64 = 20;
/// Little's law: ops per second × mean time of an op is how many are in flight. In a closed loop that is how many
/// threads are busy, unless the client takes their time.
const BUSY_THREADS: f64 = 0.9;

/// That the threads of a closed loop were busy with something other than ops.
fn idle_threads(activity: &Activity, figures: &Figures) -> Option<String> {
    let warm_up = activity.warm_up.unwrap_or_default();
    let seconds = activity.elapsed.saturating_sub(warm_up.elapsed).as_secs_f64();
    let attempted: u64 = figures.ops.iter().map(|op| op.attempted).sum();
    let threads = activity.threads as u64;
    if seconds < 1.0 || attempted < threads.saturating_mul(OPS_OF_A_THREAD) {
        return None;
    }
    let time = |count: u64, times: &Option<Times>| count as f64 * times.map_or(0.0, |times| times.mean) / 1e9;
    let in_flight = figures
        .ops
        .iter()
        .map(|op| time(op.ok, &op.service) + time(op.failed, &op.failed_times))
        .sum::<f64>()
        / seconds;
    let share = in_flight / threads as f64;
    (share < BUSY_THREADS).then(|| {
        format!(
            "  of {}, {} had an op in flight on average (ops/s × mean service time): the client took {} of their \
             time, to make ops and to wait for a processor",
            wording::counted(threads, "thread"),
            wording::number(in_flight),
            wording::percent(1.0 - share)
        )
    })
}

/// Outages beyond these are counted, not shown.
const OUTAGES_SHOWN: usize = 3;

/// What held the run up, if it was the client.
fn limit(activity: &Activity, behind: bool) -> Option<String> {
    let client = &activity.client;
    if let Some(cpu) = client.cpu.filter(|cpu| *cpu >= BUSY_CPU) {
        return Some(format!(
            "client-bound: this process took {} of this machine's processors, so the figures are of the client",
            wording::percent(cpu.min(1.0))
        ));
    }
    if client.swapped >= SWAPPED {
        return Some(format!(
            "client-bound: {:.0} MB of this process's memory were swapped out while it ran, so the figures are of the \
             client; fewer threads= or a machine with more memory",
            client.swapped as f64 / 1e6
        ));
    }
    if !behind {
        return None;
    }
    if client.busy >= 0.5 {
        return Some(format!(
            "all {} busy in {} of the late intervals: the target answers more slowly than that many ops at once \
             allow; more threads= would keep more in flight",
            if activity.threads == 1 {
                "1 thread was".to_owned()
            } else {
                format!("{} were", wording::counted(activity.threads as u64, "thread"))
            },
            wording::percent(client.busy)
        ));
    }
    (client.lateness > LATE_CLOCK).then(|| {
        format!(
            "client-bound: the clock of this machine woke up to {} late, so some starts were late by as much",
            wording::elapsed(client.lateness)
        )
    })
}
