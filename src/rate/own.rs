//! A rate that each thread keeps by itself (`cyclerate=100,1.1,start,thread`).

use super::alarm::Alarm;
use super::schedule::Schedule;
use super::{Demand, NEVER, Release};
use crate::units::Rate;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What threads that keep a rate by themselves share: the clock, and how many starts they took.
#[derive(Debug)]
pub struct OwnPace {
    rate: Rate,
    started: Instant,
    alarm: Alarm,
    threads: AtomicU64,
    taken: AtomicU64,
}

/// The due times of one thread's cycles.
pub struct OwnPacer {
    pace: Arc<OwnPace>,
    release: Release,
    taken: u64,
}

impl OwnPace {
    /// The first start of every thread is due at `started`.
    pub fn new(rate: Rate, started: Instant) -> OwnPace {
        OwnPace {
            rate,
            started,
            alarm: Alarm::new(started),
            threads: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// The pacer of one more thread.
    pub fn thread(self: &Arc<Self>) -> OwnPacer {
        self.threads.fetch_add(1, Relaxed);
        let release = Release::for_one(Schedule::constant(self.rate.per_second), self.rate.burst);
        OwnPacer { pace: Arc::clone(self), release, taken: 0 }
    }

    /// As [`Pacer::due_between`](super::Pacer::due_between), for one thread.
    pub fn due_between(&self, since: Duration, until: Duration) -> f64 {
        until.saturating_sub(since).as_secs_f64() * self.rate.per_second
    }

    /// Starts that are due and were not taken, over all threads.
    pub fn backlog(&self) -> u64 {
        let due = Schedule::constant(self.rate.per_second).due_by(self.alarm.now());
        due.saturating_mul(self.threads.load(Relaxed)).saturating_sub(self.taken.load(Relaxed))
    }

    /// As [`Pacer::lateness`](super::Pacer::lateness).
    pub fn lateness(&self) -> Duration {
        self.alarm.lateness()
    }

    /// Wakes threads when their starts are due, on the calling thread, until it is closed.
    pub fn keep_time(&self) {
        self.alarm.keep_time();
    }

    /// No more starts.
    pub fn close(&self) {
        self.alarm.close();
    }
}

impl OwnPacer {
    /// Waits for the thread's next start and says when it was due; `None` once the pace is closed.
    pub async fn next(&mut self) -> Option<Instant> {
        loop {
            if self.pace.alarm.is_closed() {
                return None;
            }
            let demand = Demand { waiting: 1, unclaimed: 0 };
            let (granted, next) = self.release.at(self.pace.alarm.now(), demand);
            if granted > 0 {
                let after = Duration::from_nanos(self.release.schedule.due(self.taken));
                self.taken += 1;
                self.pace.taken.fetch_add(1, Relaxed);
                let started = self.pace.started;
                return Some(started.checked_add(after).unwrap_or_else(|| started + NEVER));
            }
            if !self.pace.alarm.sleep_until(next).await {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn each_thread_has_due_times_of_its_own_and_ends_when_it_closes() {
        let pace = Arc::new(OwnPace::new(Rate::new(2000.0, 1.1), Instant::now()));
        let clock = {
            let pace = Arc::clone(&pace);
            std::thread::spawn(move || pace.keep_time())
        };
        let mut threads = Vec::new();
        for _ in 0..3 {
            let mut pacer = pace.thread();
            threads.push(tokio::spawn(async move {
                let mut due = Vec::new();
                while due.len() < 50 {
                    let at = pacer.next().await.expect("it is open");
                    assert!(at <= Instant::now(), "no start is early");
                    due.push(at);
                }
                (due, pacer)
            }));
        }
        let mut ended = Vec::new();
        for thread in threads {
            let (due, pacer) = thread.await.expect("no panic");
            let expected: Vec<Duration> = (0..50).map(|n| Duration::from_micros(500 * n)).collect();
            let since: Vec<Duration> = due.iter().map(|at| at.duration_since(pace.started)).collect();
            assert_eq!(since, expected);
            ended.push(pacer);
        }
        assert_eq!(pace.taken.load(Relaxed), 150);
        let mut last = ended.pop().expect("three threads");
        let waiter = tokio::spawn(async move { while last.next().await.is_some() {} });
        pace.close();
        waiter.await.expect("no panic");
        assert!(ended.pop().expect("two threads").next().await.is_none());
        clock.join().expect("the clock ends");
    }
}
