//! The target's own counters beside the client's, and the client's connections: asked for once a second while an
//! activity runs, and told as what happened in each interval.

use crate::adapters::{Adapter, Connections, Counters};
use crate::metrics::{ConnectionPoint, ServerPoint};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
/// A target that does not answer in this time tells nothing for that interval.
const PATIENCE: Duration = Duration::from_millis(500);
/// When there are as many points, two become one, and from then on each is of twice the time.
const MOST_POINTS: usize = 7_200;

/// Asks until it is aborted, and keeps what it learns in `points`.
pub async fn watch(adapter: Arc<dyn Adapter>, started: Instant, points: Arc<Mutex<Vec<ServerPoint>>>) {
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
        let mut points = points.lock().unwrap_or_else(PoisonError::into_inner);
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

/// What became of the connections of some clients.
pub struct ConnectionLog {
    adapters: Vec<Arc<dyn Adapter>>,
    started: Instant,
    before: Connections,
    pub points: Vec<ConnectionPoint>,
}

impl ConnectionLog {
    /// The clock starts now.
    pub fn new(adapters: &[Arc<dyn Adapter>]) -> ConnectionLog {
        let mut log = ConnectionLog {
            adapters: adapters.to_vec(),
            started: Instant::now(),
            before: Connections::default(),
            points: Vec::new(),
        };
        log.enter(log.now(), Duration::ZERO);
        log
    }

    fn now(&self) -> Option<Connections> {
        self.adapters.iter().filter_map(|adapter| adapter.connections()).reduce(|sum, one| Connections {
            asked: sum.asked + one.asked,
            opened: sum.opened + one.opened,
            closed: sum.closed + one.closed,
        })
    }

    /// Notes what became of them since it was last asked; nothing where that is nothing.
    pub fn note(&mut self) {
        let now = self.now();
        if now.is_some_and(|now| now != self.before) {
            self.enter(now, self.started.elapsed());
        }
    }

    fn enter(&mut self, now: Option<Connections>, at: Duration) {
        let Some(now) = now else { return };
        let before = std::mem::replace(&mut self.before, now);
        if self.points.len() >= MOST_POINTS {
            self.points = halved(&self.points);
        }
        self.points.push(ConnectionPoint {
            at,
            asked: now.asked.saturating_sub(before.asked),
            opened: now.opened.saturating_sub(before.opened),
            lost: now.closed.saturating_sub(before.closed),
            open: now.opened.saturating_sub(now.closed),
        });
    }
}

/// One point of two; the first stays what it is.
fn halved(points: &[ConnectionPoint]) -> Vec<ConnectionPoint> {
    let (first, rest) = points.split_at(points.len().min(1));
    let pairs = rest.chunks(2).map(|pair| {
        pair.iter().copied().reduce(|sum, next| ConnectionPoint {
            asked: sum.asked + next.asked,
            opened: sum.opened + next.opened,
            lost: sum.lost + next.lost,
            ..next
        })
    });
    first.iter().copied().chain(pairs.flatten()).collect()
}

/// Notes them once a second, until it is aborted.
pub async fn count_connections(log: Arc<Mutex<ConnectionLog>>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        log.lock().unwrap_or_else(PoisonError::into_inner).note();
    }
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
    fn a_long_run_keeps_every_connection_in_half_the_points() {
        let second = Duration::from_secs(1);
        let point = |n: u32| ConnectionPoint { at: second * n, asked: 3, opened: 2, lost: 1, open: n.into() };
        let points: Vec<ConnectionPoint> = (0..4).map(point).collect();
        let two = ConnectionPoint { at: second * 2, asked: 6, opened: 4, lost: 2, open: 2 };
        assert_eq!(halved(&points), [point(0), two, point(3)]);
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
