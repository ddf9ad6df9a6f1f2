//! The target's own counters beside the client's: asked for once a second while an activity runs, and told as what
//! happened in each interval.

use crate::adapters::{Adapter, Counters};
use crate::metrics::ServerPoint;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
/// A target that does not answer in this time tells nothing for that interval.
const PATIENCE: Duration = Duration::from_millis(500);
/// When there are as many points, two become one, and from then on each is of twice the time.
const MOST_POINTS: usize = 7_200;

/// Asks until it is aborted, and keeps what it learns in `points`.
pub async fn watch(
    adapter: Arc<dyn Adapter>,
    started: Instant,
    points: Arc<std::sync::Mutex<Vec<ServerPoint>>>,
) {
    let ask = async || tokio::time::timeout(PATIENCE, adapter.counters()).await.ok().flatten();
    // A target that gives no counters at first gives none later.
    let Some(mut before) = ask().await else { return };
    let mut asked = Instant::now();
    let mut ticks = tokio::time::interval_at((asked + INTERVAL).into(), INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut every = 1;
    loop {
        for _ in 0..every {
            ticks.tick().await;
        }
        let Some(now) = ask().await else { continue };
        let length = asked.elapsed();
        let at = started.elapsed();
        let mut points = points.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if points.len() >= MOST_POINTS {
            halve(&mut points);
            every *= 2;
        }
        points.push(point(&before, &now, at, length));
        drop(points);
        (before, asked) = (now, Instant::now());
    }
}

/// Makes one point of two. How many ops a mean is of is not known, so the higher one is kept.
fn halve(points: &mut Vec<ServerPoint>) {
    let mut halved: Vec<ServerPoint> = Vec::with_capacity(points.len() / 2 + 1);
    for (position, next) in std::mem::take(points).into_iter().enumerate() {
        let Some(point) = halved.last_mut().filter(|_| position % 2 == 1) else {
            halved.push(next);
            continue;
        };
        (point.at, point.length) = (next.at, point.length + next.length);
        point.connections = point.connections.max(next.connections);
        for (name, ops) in next.ops {
            *point.ops.entry(name).or_default() += ops;
        }
        for (name, us) in next.mean_us {
            let kept = point.mean_us.entry(name).or_insert(us);
            *kept = kept.max(us);
        }
    }
    *points = halved;
}

/// What happened between two answers that are `length` apart.
fn point(before: &Counters, now: &Counters, at: Duration, length: Duration) -> ServerPoint {
    // A target that was started anew counts from 0.
    let grown = |name: &str, value: u64, before: &BTreeMap<String, u64>| match before.get(name) {
        Some(earlier) if *earlier <= value => value - earlier,
        _ => value,
    };
    let mut mean_us = BTreeMap::new();
    for (name, (ops, us)) in &now.latencies {
        let (earlier_ops, earlier_us) = before.latencies.get(name).copied().unwrap_or_default();
        let (ops, us) = match (ops.checked_sub(earlier_ops), us.checked_sub(earlier_us)) {
            (Some(ops), Some(us)) => (ops, us),
            _ => (*ops, *us),
        };
        if ops > 0 {
            mean_us.insert(name.clone(), us as f64 / ops as f64);
        }
    }
    ServerPoint {
        at,
        length,
        ops: now
            .ops
            .iter()
            .map(|(name, value)| (name.clone(), grown(name, *value, &before.ops)))
            .filter(|(_, grown)| *grown > 0)
            .collect(),
        connections: now.connections,
        mean_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(insert: u64, query: u64, latency: (u64, u64)) -> Counters {
        Counters {
            ops: [("insert".to_owned(), insert), ("query".to_owned(), query)].into(),
            connections: Some(7),
            latencies: [("reads".to_owned(), latency)].into(),
        }
    }

    #[test]
    fn a_point_is_what_happened_between_two_answers() {
        let second = Duration::from_secs(1);
        let told = point(&counters(100, 5, (10, 1_000)), &counters(350, 5, (30, 3_000)), second, second);
        assert_eq!(told.ops, [("insert".to_owned(), 250)].into());
        assert_eq!((told.connections, told.mean_us["reads"]), (Some(7), 100.0));
        // A server that was started anew.
        let told = point(&counters(100, 5, (10, 1_000)), &counters(40, 2, (4, 80)), second, second);
        assert_eq!((told.ops["insert"], told.ops["query"], told.mean_us["reads"]), (40, 2, 20.0));
    }

    #[test]
    fn a_long_run_keeps_every_op_in_half_the_points() {
        let second = Duration::from_secs(1);
        let mut points: Vec<ServerPoint> = (0..5u64)
            .map(|n| {
                let now = counters(n * n, 0, (n, n * n * 10));
                point(&counters(0, 0, (0, 0)), &now, second * (n as u32 + 1), second)
            })
            .collect();
        halve(&mut points);
        let ops: Vec<u64> = points.iter().map(|p| p.ops.get("insert").copied().unwrap_or(0)).collect();
        assert_eq!(ops, [1, 4 + 9, 16]);
        let ends: Vec<u64> = points.iter().map(|p| p.at.as_secs()).collect();
        assert_eq!(ends, [2, 4, 5]);
        assert_eq!(
            (points[1].length, points[1].mean_us["reads"], points[1].connections),
            (second * 2, 30.0, Some(7))
        );
    }
}
