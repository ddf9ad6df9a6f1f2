//! The schedule of due times, fixed at the start (start + n/rate, or a profile of rates over time); governor
//! bounds the catch-up to rate × burst. Never sees an op.
//!
//! A start that could not happen when it was due (all threads were busy) stays due: it happens as soon as a
//! thread is free and its response time counts from when it was due. How fast such a backlog is worked off is
//! bounded: in any second no more than rate × burst start. With a burst of 1.0 a backlog stays until the end,
//! and so do the long response times; with a large one the target sees a rush after each stall.
//!
//! One operating-system thread, the [`clock`](Pacer::keep_time), releases starts as they fall due, to whichever
//! thread has waited longest. Its sleep ends within some 60 µs of the time asked for, where tokio's timer counts
//! whole milliseconds; starts less than 100 µs apart are released together.
//!
//! A rate may also hold for each thread by itself ([`OwnPace`]): then each has a schedule of its own, and sleeps
//! by an alarm as fine as that clock.

mod alarm;
mod own;
mod schedule;

pub use own::{OwnPace, OwnPacer};
pub use schedule::Profile;

use crate::units::Rate;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use schedule::Schedule;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, TryAcquireError};

/// In nanoseconds: 11 days. Rates are not bounded, but the governor's arithmetic is.
const LONGEST_PERIOD: f64 = 1e15;
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// Lost time up to this much is made up at once: it is the jitter of sleeping threads, not a backlog.
const JITTER: Duration = Duration::from_millis(10);
/// Starts may be released ahead of the threads that will take them for this much of the schedule.
const AHEAD: Duration = Duration::from_millis(5);
/// But for no more than this many, whatever the rate.
const MOST_AHEAD: u64 = 100_000;
/// The clock sleeps no shorter than this.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
/// How soon the clock looks again when starts are due and no thread is free to take them.
const WHEN_BUSY: Duration = Duration::from_millis(1);
/// The clock sleeps no longer than this, so that it notices when it is no longer needed.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// A cell of the governor takes no less than its clock's tick.
const SHORTEST_PERIOD: f64 = 1.0;

/// The due times of an activity's cycles, shared by all its threads.
#[derive(Debug)]
pub struct Pacer {
    started: Instant,
    schedule: Schedule,
    burst: f64,
    /// Threads that could be started if starts are due and nobody is free to take them.
    spare: AtomicUsize,
    /// Starts were released that such threads are needed for.
    wanted: Notify,
    /// How late the clock woke at worst since it was last asked, in nanoseconds.
    late: AtomicU64,
    /// Starts that are released and not taken; closed when the pacer is.
    permits: Semaphore,
    /// Threads that wait for a start.
    waiting: AtomicUsize,
    /// Starts that were taken: the number of the next one.
    taken: AtomicU64,
    closed: AtomicBool,
}

impl Pacer {
    /// A constant rate; the first start is due at `started`.
    pub fn new(rate: Rate, started: Instant) -> Pacer {
        Pacer::with_schedule(Schedule::constant(rate.per_second), rate.burst, started)
    }

    /// A rate that changes over time; `burst` as in [`Rate`].
    pub fn of_profile(profile: &Profile, burst: f64, started: Instant) -> Pacer {
        Pacer::with_schedule(Schedule::of_profile(profile), burst, started)
    }

    fn with_schedule(schedule: Schedule, burst: f64, started: Instant) -> Pacer {
        Pacer {
            started,
            schedule,
            burst,
            spare: AtomicUsize::new(0),
            wanted: Notify::new(),
            late: AtomicU64::new(0),
            permits: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Waits for the next start and says when it was due; `None` once the pacer is closed.
    pub async fn next(&self) -> Option<Instant> {
        match self.permits.try_acquire() {
            Ok(permit) => permit.forget(),
            Err(TryAcquireError::Closed) => return None,
            Err(TryAcquireError::NoPermits) => {
                self.waiting.fetch_add(1, Relaxed);
                let permit = self.permits.acquire().await;
                self.waiting.fetch_sub(1, Relaxed);
                permit.ok()?.forget();
            }
        }
        Some(self.due(self.taken.fetch_add(1, Relaxed)))
    }

    /// When start `n` (from 0) is due.
    pub fn due(&self, n: u64) -> Instant {
        let after = Duration::from_nanos(self.schedule.due(n));
        // Past the end of time is never.
        self.started.checked_add(after).unwrap_or_else(|| self.started + NEVER)
    }

    /// Starts that are due and were not taken.
    pub fn backlog(&self) -> u64 {
        self.schedule.due_by(self.now()).saturating_sub(self.taken.load(Relaxed))
    }

    /// How many starts fell due from `since` to `until` (times since the schedule began).
    pub fn due_between(&self, since: Duration, until: Duration) -> f64 {
        self.schedule.expected(nanoseconds(until)) - self.schedule.expected(nanoseconds(since))
    }

    /// `threads` more could be started: starts that are due are released for them too, and
    /// [`wanted`](Pacer::wanted) says when.
    pub fn set_spare(&self, threads: usize) {
        self.spare.store(threads, Relaxed);
    }

    /// Waits until starts were released that nobody is free to take, and gives how many.
    pub async fn wanted(&self) -> usize {
        self.wanted.notified().await;
        self.permits.available_permits().saturating_sub(self.waiting.load(Relaxed))
    }

    /// How late the clock woke at worst since this was last asked: what this machine adds to wait times.
    pub fn lateness(&self) -> Duration {
        Duration::from_nanos(self.late.swap(0, Relaxed))
    }

    /// Releases starts as they fall due, on the calling thread, until the pacer is closed.
    pub fn keep_time(&self) {
        let mut release = Release::new(self.schedule.clone(), self.burst);
        while !self.closed.load(Relaxed) {
            let spare = self.spare.load(Relaxed);
            let demand = Demand {
                waiting: (self.waiting.load(Relaxed) + spare) as u64,
                unclaimed: self.permits.available_permits() as u64,
            };
            let (granted, next) = release.at(self.now(), demand);
            if granted > 0 {
                self.permits.add_permits(granted as usize);
            }
            if spare > 0 && self.permits.available_permits() > 0 {
                self.wanted.notify_one();
            }
            let now = self.now();
            let sleep = Duration::from_nanos(next.saturating_sub(now)).clamp(SHORTEST_SLEEP, LONGEST_SLEEP);
            std::thread::park_timeout(sleep);
            let asked = now.saturating_add(nanoseconds(sleep));
            self.late.fetch_max(self.now().saturating_sub(asked), Relaxed);
        }
    }

    /// No more starts: threads that wait are sent home. Whoever runs [`keep_time`](Pacer::keep_time) returns
    /// from it within 100 ms, at once if its thread is unparked.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.permits.close();
    }

    fn now(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Who would take starts if they were released.
#[derive(Debug, Clone, Copy, Default)]
struct Demand {
    waiting: u64,
    unclaimed: u64,
}

/// Decides how many starts to release. Knows no clock but the time it is told.
struct Release {
    schedule: Schedule,
    burst: f64,
    released: u64,
    /// Starts that may be released ahead of the threads that will take them, at the rate of the moment.
    ahead: u64,
    /// And at any rate.
    most_ahead: u64,
    /// The governor's rate holds until then.
    quoted_until: u64,
    governor: Governor,
    told: Told,
    /// What the governor is asked for per start: at low rates several cells, since a tolerance of one whole
    /// start would let starts follow each other at once.
    cells: NonZeroU32,
}

type Governor = RateLimiter<NotKeyed, InMemoryState, Told, NoOpMiddleware<Nanos>>;

/// The time that was told last, as the governor's clock.
#[derive(Debug, Clone, Default)]
struct Told(Arc<AtomicU64>);

impl Clock for Told {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.load(Relaxed).into()
    }
}

impl Release {
    fn new(schedule: Schedule, burst: f64) -> Release {
        Release::with_most_ahead(schedule, burst, MOST_AHEAD)
    }

    /// For a thread that paces itself: it takes each start when it is due and none ahead.
    fn for_one(schedule: Schedule, burst: f64) -> Release {
        Release::with_most_ahead(schedule, burst, 0)
    }

    fn with_most_ahead(schedule: Schedule, burst: f64, most_ahead: u64) -> Release {
        let (per_second, quoted_until) = schedule.rate_from(0);
        let told = Told::default();
        let (governor, cells) = governor(per_second, burst, &told);
        let ahead = ahead(per_second).min(most_ahead);
        Release { schedule, burst, released: 0, ahead, most_ahead, quoted_until, governor, told, cells }
    }

    /// Gives the governor the rate of a new stretch of the schedule.
    fn quote(&mut self, now: u64) {
        let (per_second, until) = self.schedule.rate_from(now);
        (self.governor, self.cells) = governor(per_second, self.burst, &self.told);
        self.quoted_until = until;
        self.ahead = ahead(per_second).min(self.most_ahead);
    }

    /// How many starts to release at `now`, and when to ask again.
    fn at(&mut self, now: u64, demand: Demand) -> (u64, u64) {
        self.told.0.store(now, Relaxed);
        if now >= self.quoted_until {
            self.quote(now);
        }
        let due = self.schedule.due_by(now);
        let room = demand.waiting.saturating_add(self.ahead).saturating_sub(demand.unclaimed);
        let wanted = due.saturating_sub(self.released).min(room);
        for granted in 0..wanted {
            // The outer error, that so many cells can never be had, cannot be: the tolerance is over them.
            if let Ok(Err(not_until)) = self.governor.check_n(self.cells) {
                self.released += granted;
                return (granted, not_until.earliest_possible().as_u64());
            }
        }
        self.released += wanted;
        let next =
            if self.released < due { now + nanoseconds(WHEN_BUSY) } else { self.schedule.due(self.released) };
        (wanted, next)
    }
}

/// The starts of [`AHEAD`].
fn ahead(per_second: f64) -> u64 {
    (per_second * AHEAD.as_secs_f64()) as u64
}

/// A governor for starts at `per_second` × `burst`, and how many of its cells one start takes.
fn governor(per_second: f64, burst: f64, told: &Told) -> (Governor, NonZeroU32) {
    let cells = if per_second < 1000.0 { 4 } else { 1 };
    // What the governor tolerates at once is part of the second's allowance, so it refills a little slower
    // than rate × burst; but never slower than the rate, or the schedule could not be kept.
    let at_once = JITTER.as_secs_f64() + AHEAD.as_secs_f64();
    let cell = 1e9 / per_second / f64::from(cells);
    let period =
        (cell / (burst - at_once).max(1.0)).ceil().min(cell.floor()).clamp(SHORTEST_PERIOD, LONGEST_PERIOD);
    let period = Duration::from_nanos(period as u64);
    let tolerated = (per_second * JITTER.as_secs_f64() * f64::from(cells)) as u32;
    let tolerated = NonZeroU32::MIN.saturating_add(tolerated.max(cells));
    let quota = Quota::with_period(period).expect("the period is over 0").allow_burst(tolerated);
    (RateLimiter::direct_with_clock(quota, told.clone()), NonZeroU32::MIN.saturating_add(cells - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Runs a schedule without a clock: threads take each start at once, except while `stalled`. Returns the
    /// times of all starts.
    fn starts(rate: f64, burst: f64, seconds: u64, stalled: std::ops::Range<u64>) -> Vec<u64> {
        starts_of(Schedule::constant(rate), burst, seconds, stalled)
    }

    fn starts_of(schedule: Schedule, burst: f64, seconds: u64, stalled: std::ops::Range<u64>) -> Vec<u64> {
        let mut release = Release::new(schedule, burst);
        let mut starts = Vec::new();
        let mut unclaimed = 0;
        let mut now = 0;
        while now < seconds * SECOND {
            let busy = stalled.contains(&now);
            let demand = Demand { waiting: if busy { 0 } else { 10_000 }, unclaimed };
            let (granted, next) = release.at(now, demand);
            unclaimed += granted;
            if !busy {
                starts.extend((0..unclaimed).map(|_| now));
                unclaimed = 0;
            }
            // The clock oversleeps by up to 60 µs, differently each time.
            let oversleep = (now / 1000) % 60_000;
            now = next.clamp(now + 100_000, now + 100_000_000) + oversleep;
        }
        starts
    }

    /// The most starts in any window of one second.
    fn busiest_second(starts: &[u64]) -> u64 {
        let mut first = 0;
        let mut most = 0;
        for (last, at) in starts.iter().enumerate() {
            while starts[first] + SECOND <= *at {
                first += 1;
            }
            most = most.max(last - first + 1);
        }
        most as u64
    }

    #[test]
    fn the_rate_is_met_whatever_it_is() {
        for burst in [1.0, 1.1, 2.0] {
            for rate in [0.1, 1.0, 10.0, 50.0, 99.0, 1000.0, 2500.0, 12_345.6, 50_000.0] {
                let starts = starts(rate, burst, 10, 0..0);
                let expected = rate * 10.0;
                let count = starts.len() as f64;
                assert!((count - expected).abs() <= 1.0 + expected * 0.001, "{rate},{burst}: {count}");
                let schedule = Schedule::constant(rate);
                let latest = starts.iter().enumerate().map(|(n, at)| at - schedule.due(n as u64)).max();
                assert!(latest < Some(1_000_000), "{rate},{burst}: a start was late by {latest:?} ns");
            }
        }
    }

    #[test]
    fn no_start_is_early() {
        for rate in [10.0, 2500.0, 50_000.0] {
            let schedule = Schedule::constant(rate);
            for (n, at) in starts(rate, 1.5, 5, SECOND..2 * SECOND).iter().enumerate() {
                assert!(*at >= schedule.due(n as u64), "{rate}/s: start {n}");
            }
        }
    }

    #[test]
    fn after_a_stall_no_second_has_more_than_rate_times_burst() {
        for burst in [1.0, 1.05, 1.1, 1.5, 3.0] {
            for rate in [10.0, 100.0, 1000.0, 2500.0, 40_000.0] {
                let starts = starts(rate, burst, 20, 3 * SECOND..5 * SECOND);
                let most = busiest_second(&starts) as f64;
                let allowed = rate * burst.max(1.015) + 2.0;
                assert!(most <= allowed, "{rate},{burst}: {most} in one second, {allowed} allowed");
            }
        }
    }

    #[test]
    fn starts_are_even_and_none_are_saved_up_before_there_is_a_thread() {
        for rate in [100.0, 1000.0, 2500.0] {
            let starts = starts(rate, 1.1, 10, 0..0);
            let mut gaps: Vec<u64> = starts.windows(2).map(|two| two[1] - two[0]).collect();
            gaps.sort_unstable();
            let p99 = gaps[gaps.len() * 99 / 100] as f64;
            assert!(p99 < 5.0 * 1e9 / rate, "{rate}: a gap of {p99} ns");
        }
        // Nobody is there for the first three seconds.
        let late = starts(10.0, 1.1, 8, 0..3 * SECOND);
        let first = late[0];
        assert!(first >= 3 * SECOND);
        let rush = late.iter().filter(|at| **at < first + SECOND).count();
        assert!(rush <= 12, "{rush} in the first second");
    }

    #[test]
    fn a_backlog_is_worked_off_as_fast_as_the_burst_allows() {
        // 2 s are lost; at 1.5 × they are made up in 4 s, at 1.0 × never.
        let fast = starts(1000.0, 1.5, 12, 3 * SECOND..5 * SECOND);
        assert!(fast.len() >= 11_990, "{}", fast.len());
        let never = starts(1000.0, 1.0, 12, 3 * SECOND..5 * SECOND);
        assert!((10_000..10_030).contains(&never.len()), "{}", never.len());
    }

    #[test]
    fn a_profile_is_followed_second_by_second() {
        let profile = Profile::parse("0s:100,10s:5000,12s:5000,12s:500,20s:0").expect("a profile");
        let schedule = Schedule::of_profile(&profile);
        let starts = starts_of(schedule.clone(), 1.1, 20, 0..0);
        for second in 0..20 {
            let (from, to) = (second * SECOND, (second + 1) * SECOND);
            let expected = schedule.expected(to) - schedule.expected(from);
            let count = starts.iter().filter(|at| (from..to).contains(*at)).count() as f64;
            assert!(
                (count - expected).abs() <= 2.0 + expected * 0.03,
                "second {second}: {count}, {expected}"
            );
        }
    }

    #[test]
    fn a_backlog_of_a_profile_is_worked_off_at_the_rate_of_the_moment() {
        // Steps of 1000/s and 100/s; 2 s are lost just before the step down.
        let profile = Profile::parse("steps:0s:1000,5s:100").expect("a profile");
        let starts = starts_of(Schedule::of_profile(&profile), 1.5, 30, 3 * SECOND..5 * SECOND);
        for second in 6..30 {
            let in_it = starts.iter().filter(|at| **at / SECOND == second).count();
            assert!(in_it <= 153, "second {second}: {in_it}");
        }
    }

    #[test]
    fn starts_are_released_only_to_threads_that_can_take_them() {
        let mut release = Release::new(Schedule::constant(1000.0), 1.1);
        // Nobody waits: no more than 5 ms of the schedule are released ahead.
        assert_eq!(release.at(2 * SECOND, Demand { waiting: 0, unclaimed: 0 }).0, 5);
        assert_eq!(release.at(3 * SECOND, Demand { waiting: 0, unclaimed: 5 }).0, 0);
        assert_eq!(release.at(4 * SECOND, Demand { waiting: 3, unclaimed: 5 }).0, 3);
    }

    #[test]
    fn a_ramp_through_low_rates_is_released_ahead_as_its_rate_of_the_moment_allows() {
        for points in ["0s:100,10s:5100", "0s:5000,4s:50,5s:50,10s:5000", "0s:0,10s:4000"] {
            let schedule = Schedule::of_profile(&Profile::parse(points).expect("a profile"));
            let mut release = Release::new(schedule.clone(), 1.1);
            let mut own = Release::for_one(schedule, 1.1);
            // Nobody is there to take one: what is released is ahead of the threads.
            let mut ahead = (0, 0);
            for now in (1..100).map(|tenth| tenth * SECOND / 10) {
                ahead = (
                    release.at(now, Demand::default()).0,
                    own.at(now, Demand { waiting: 0, unclaimed: 0 }).0,
                );
            }
            assert!(ahead.0 >= 18 && ahead.0 <= 26, "{points}: {ahead:?}");
            assert_eq!(ahead.1, 0, "{points}: a thread that paces itself takes none ahead");
        }
    }

    #[test]
    fn rates_beyond_all_reason_do_no_harm() {
        for rate in [f64::MIN_POSITIVE, 1e-9, 1e12, f64::MAX] {
            for burst in [1.0, 1e300] {
                let mut release = Release::new(Schedule::constant(rate), burst);
                for now in [0, 1, SECOND, u64::MAX / 2] {
                    let (granted, _) = release.at(now, Demand { waiting: 10, unclaimed: 0 });
                    assert!(granted <= 10 || rate >= 1e12, "{rate},{burst}: {granted}");
                }
                let pacer = Pacer::new(Rate::new(rate, burst), Instant::now());
                pacer.due(u64::MAX);
            }
        }
    }

    #[tokio::test]
    async fn threads_get_due_times_in_order_and_end_when_it_closes() {
        let pacer = Arc::new(Pacer::new(Rate::new(10_000.0, 1.1), Instant::now()));
        let clock = {
            let pacer = Arc::clone(&pacer);
            std::thread::spawn(move || pacer.keep_time())
        };
        let mut previous = None;
        for _ in 0..200 {
            let due = pacer.next().await.expect("the pacer is open");
            assert!(due <= Instant::now());
            assert!(previous < Some(due));
            previous = Some(due);
        }
        let waiter = {
            let pacer = Arc::clone(&pacer);
            tokio::spawn(async move { while pacer.next().await.is_some() {} })
        };
        pacer.close();
        waiter.await.expect("no panic");
        assert_eq!(pacer.next().await, None);
        clock.join().expect("the clock ends");
    }
}
