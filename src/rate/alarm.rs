//! Wakes tasks at a time, more finely than the runtime's timer, which counts whole milliseconds: one
//! operating-system thread sleeps until the earliest.

use super::{LONGEST_SLEEP, SHORTEST_SLEEP, nanoseconds};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A clock with an alarm for any number of tasks.
#[derive(Debug)]
pub(super) struct Alarm {
    started: Instant,
    sleepers: Mutex<Sleepers>,
    /// Who runs [`keep_time`](Alarm::keep_time).
    clock: OnceLock<Thread>,
    closed: AtomicBool,
    late: AtomicU64,
}

#[derive(Debug, Default)]
struct Sleepers {
    /// By time, in nanoseconds since the start; the number is the key of the waker.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl Alarm {
    pub(super) fn new(started: Instant) -> Alarm {
        Alarm {
            started,
            sleepers: Mutex::default(),
            clock: OnceLock::new(),
            closed: AtomicBool::new(false),
            late: AtomicU64::new(0),
        }
    }

    /// Nanoseconds since the start.
    pub(super) fn now(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }

    /// Sleeps until `at` (nanoseconds since the start), or until the alarm is closed: then false.
    pub(super) fn sleep_until(&self, at: u64) -> Sleep<'_> {
        Sleep { alarm: self, at }
    }

    pub(super) fn lateness(&self) -> Duration {
        Duration::from_nanos(self.late.swap(0, Relaxed))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Wakes sleepers when their time has come, on the calling thread, until the alarm is closed.
    pub(super) fn keep_time(&self) {
        let _ = self.clock.set(std::thread::current());
        while !self.is_closed() {
            let now = self.now();
            let next = self.wake(now);
            let sleep = next.map_or(LONGEST_SLEEP, |next| Duration::from_nanos(next.saturating_sub(now)));
            std::thread::park_timeout(sleep.clamp(SHORTEST_SLEEP, LONGEST_SLEEP));
        }
        self.wake(u64::MAX);
    }

    /// Nobody sleeps any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
        self.wake(u64::MAX);
        if let Some(clock) = self.clock.get() {
            clock.unpark();
        }
    }

    /// Wakes those whose time is `now` or before, and gives the time of the next.
    fn wake(&self, now: u64) -> Option<u64> {
        let mut woken = Vec::new();
        let mut sleepers = self.sleepers();
        let next = loop {
            let Some(Reverse((at, _))) = sleepers.due.peek().copied() else { break None };
            if at > now {
                break Some(at);
            }
            if let Some(Reverse((at, key))) = sleepers.due.pop() {
                if now < u64::MAX {
                    self.late.fetch_max(now.saturating_sub(at), Relaxed);
                }
                woken.extend(sleepers.wakers.get_mut(key).and_then(Option::take));
                sleepers.free.push(key);
            }
        };
        drop(sleepers);
        woken.into_iter().for_each(Waker::wake);
        next
    }

    fn set(&self, at: u64, waker: Waker) {
        let mut sleepers = self.sleepers();
        let earliest = sleepers.due.peek().is_none_or(|Reverse((first, _))| at < *first);
        let key = match sleepers.free.pop() {
            Some(key) => {
                sleepers.wakers[key] = Some(waker);
                key
            }
            None => {
                sleepers.wakers.push(Some(waker));
                sleepers.wakers.len() - 1
            }
        };
        sleepers.due.push(Reverse((at, key)));
        drop(sleepers);
        if earliest && let Some(clock) = self.clock.get() {
            clock.unpark();
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task's sleep. One that is polled again before its time was woken by something else, and sets its alarm
/// anew; the earlier one then wakes it for nothing, which does no harm.
pub(super) struct Sleep<'a> {
    alarm: &'a Alarm,
    at: u64,
}

impl Future for Sleep<'_> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        if self.alarm.is_closed() {
            return Poll::Ready(false);
        }
        if self.alarm.now() >= self.at {
            return Poll::Ready(true);
        }
        self.alarm.set(self.at, context.waker().clone());
        // Closed between the look above and the setting: nobody would wake it.
        if self.alarm.is_closed() { Poll::Ready(false) } else { Poll::Pending }
    }
}
