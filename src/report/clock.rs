//! The times that frames hold, under the names by which logs and spreadsheets know them, and frames added up to
//! longer intervals.

use super::Source;
use crate::metrics::{Frame, OpStats};
use hdrhistogram::Histogram;
use std::borrow::Cow;
use std::time::Duration;

/// Which histogram of [`OpStats`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clock {
    /// Due → answered, of all ops that were sent.
    Cycles,
    /// Sent → answered, of all ops that were sent.
    All,
    /// Sent → answered, of ops that ended well.
    Service,
    /// Due → answered, of ops that ended well.
    Response,
    /// Due → sent.
    Wait,
    /// Sent → answered, of ops that failed.
    Failed,
    /// How many tries ops took: counts, not times.
    Tries,
    /// Due → end, of strides of several cycles.
    Strides,
    /// A named timer of the op.
    Timer(String),
}

/// Of a whole activity: the reference's names, where it has one, with what stands under them there. Its
/// `cycles_servicetime` has the time for which a cycle was behind the schedule in it.
const OF_ACTIVITY: &[(&str, Clock)] = &[
    ("cycles_servicetime", Clock::Cycles),
    ("cycles_responsetime", Clock::Response),
    ("cycles_waittime", Clock::Wait),
    ("execute", Clock::All),
    ("result", Clock::All),
    ("result_success", Clock::Service),
    ("result_failed", Clock::Failed),
    ("tries", Clock::Tries),
];

/// Of each op: the words of the summary and of the result file.
const OF_OP: &[(&str, Clock)] = &[
    ("service", Clock::Service),
    ("response", Clock::Response),
    ("wait", Clock::Wait),
    ("failed", Clock::Failed),
];

impl Clock {
    pub fn of<'a>(&self, stats: &'a OpStats) -> Cow<'a, Histogram<u64>> {
        let both = |one: &Histogram<u64>, other| {
            let mut both = one.clone();
            add(&mut both, other);
            Cow::Owned(both)
        };
        Cow::Borrowed(match self {
            Clock::Service => &stats.service,
            Clock::Response => &stats.response,
            Clock::Wait => &stats.wait,
            Clock::Failed => &stats.failed,
            Clock::Strides => &stats.strides,
            Clock::Cycles => return both(&stats.response, &stats.failed_response),
            Clock::All => return both(&stats.service, &stats.failed),
            Clock::Tries => {
                let mut tries = OpStats::default().service;
                for (number, ops) in stats.tries() {
                    tries.saturating_record_n(u64::from(number), ops);
                }
                return Cow::Owned(tries);
            }
            Clock::Timer(name) => match stats.timers.get(name) {
                Some(times) => times,
                None => return Cow::Owned(OpStats::default().service),
            },
        })
    }
}

/// Adds exactly; a histogram grows with what it is given.
pub(super) fn add(into: &mut Histogram<u64>, from: &Histogram<u64>) {
    if !from.is_empty() && into.add(from).is_err() {
        for value in from.iter_recorded() {
            into.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
    }
}

/// A time that is measured all through an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// `alias.cycles_servicetime`, `alias.block__op.service`.
    pub name: String,
    /// The last part of the name.
    pub family: String,
    /// Position of the op; absent: all ops together.
    pub op: Option<usize>,
    pub clock: Clock,
}

/// All times of an activity: of the whole, then op by op, then those that ops ask for.
pub fn timers(source: &Source) -> Vec<Timer> {
    let timer = |op: Option<usize>, family: &str, clock: &Clock| Timer {
        name: source.metric(op, family),
        family: family.to_owned(),
        op,
        clock: clock.clone(),
    };
    let mut timers: Vec<Timer> =
        OF_ACTIVITY.iter().map(|(family, clock)| timer(None, family, clock)).collect();
    if source.strides {
        timers.push(timer(None, "strides_servicetime", &Clock::Strides));
    }
    for op in 0..source.ops.len() {
        timers.extend(OF_OP.iter().map(|(family, clock)| timer(Some(op), family, clock)));
    }
    timers.extend(source.more.iter().map(|more| timer(Some(more.op), &more.family, &more.clock)));
    timers
}

/// A time of one op that goes by a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct More {
    pub op: usize,
    pub family: String,
    pub clock: Clock,
}

/// What an op called `name` at position `op` asks for: the reference's names for its times, and timers.
pub fn more_of(op: usize, name: &str, instrument: bool, timers: &[String]) -> Vec<More> {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let instrumented = [("successfor", Clock::Service), ("errorsfor", Clock::Failed)];
    let instrumented = instrumented.into_iter().filter(|_| instrument);
    let instrumented = instrumented.map(|(what, clock)| More { op, family: format!("{what}_{name}"), clock });
    let timers =
        timers.iter().map(|name| More { op, family: name.clone(), clock: Clock::Timer(name.clone()) });
    instrumented.chain(timers).collect()
}

/// Frames of one activity added up until they make an interval.
#[derive(Debug)]
pub struct Window {
    every: Duration,
    /// Since the activity's clock started.
    pub start: Duration,
    pub length: Duration,
    pub ops: Vec<OpStats>,
}

/// Frames are about a second long: an interval may end so much before its time.
const TOLERANCE: Duration = Duration::from_millis(500);

impl Window {
    /// For `ops` ops, in intervals of `every`.
    pub fn new(every: Duration, ops: usize) -> Window {
        let ops = std::iter::repeat_with(OpStats::default).take(ops).collect();
        Window { every, start: Duration::ZERO, length: Duration::ZERO, ops }
    }

    /// Adds a frame; true where that makes the interval whole.
    pub fn push(&mut self, frame: &Frame) -> bool {
        if self.length.is_zero() {
            self.start = frame.start;
        }
        self.length += frame.length;
        for (sum, stats) in self.ops.iter_mut().zip(&frame.ops) {
            sum.add(stats);
        }
        self.length + TOLERANCE >= self.every
    }

    pub fn is_empty(&self) -> bool {
        self.length.is_zero()
    }

    /// Begins the next interval.
    pub fn clear(&mut self) {
        self.length = Duration::ZERO;
        self.ops.iter_mut().for_each(OpStats::clear);
    }

    /// All ops together.
    pub fn all(&self) -> OpStats {
        sum(&self.ops)
    }

    /// The part of `timer`; `all` is what [`all`](Window::all) gives.
    pub fn stats<'a>(&'a self, all: &'a OpStats, op: Option<usize>) -> &'a OpStats {
        op.and_then(|op| self.ops.get(op)).unwrap_or(all)
    }

    /// Since the activity's clock started.
    pub fn end(&self) -> Duration {
        self.start + self.length
    }
}

/// Ops added up.
pub fn sum<'a>(ops: impl IntoIterator<Item = &'a OpStats>) -> OpStats {
    let mut all = OpStats::default();
    ops.into_iter().for_each(|stats| all.add(stats));
    all
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::time::SystemTime;

    pub(crate) fn source(ops: &[&str]) -> Source {
        Source {
            id: 0,
            alias: "main".to_owned(),
            workload: "w.yaml".to_owned(),
            ops: ops.iter().map(|&op| op.to_owned()).collect(),
            more: Vec::new(),
            strides: false,
            started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_500),
            offset: Duration::from_millis(500),
        }
    }

    /// A frame of `length` from `start` (milliseconds) whose one op took these times (nanoseconds).
    pub(crate) fn frame(start: u64, length: u64, service: &[u64]) -> Frame {
        let mut stats =
            OpStats { ok: service.len() as u64, attempted: service.len() as u64, ..OpStats::default() };
        for time in service {
            stats.service.record(*time).expect("it grows");
            stats.response.record(*time).expect("it grows");
            stats.wait.record(0).expect("it grows");
        }
        Frame {
            start: Duration::from_millis(start),
            length: Duration::from_millis(length),
            ops: vec![stats],
            ..Frame::empty(0)
        }
    }

    #[test]
    fn intervals_end_at_the_frame_nearest_to_their_time() {
        let mut window = Window::new(Duration::from_secs(5), 1);
        let ends: Vec<bool> = (0..5).map(|s| window.push(&frame(s * 1_001, 1_001, &[s]))).collect();
        assert_eq!(ends, [false, false, false, false, true]);
        assert_eq!(window.all().service.len(), 5);
        assert_eq!(window.end(), Duration::from_millis(5_005));
        window.clear();
        assert!(!window.push(&frame(5_005, 900, &[])));
        assert_eq!(window.start, Duration::from_millis(5_005));
    }

    #[test]
    fn every_time_has_a_name_of_its_own() {
        let mut names: Vec<String> = timers(&source(&["b__a", "b__b"])).into_iter().map(|t| t.name).collect();
        assert!(names.contains(&"main.cycles_servicetime".to_owned()), "{names:?}");
        assert!(names.contains(&"main.b__b.response".to_owned()), "{names:?}");
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn intervals_whose_values_lie_far_apart_add_up_exactly() {
        const HOURS: u64 = 25 * 3_600_000_000_000;
        let mut window = Window::new(Duration::from_secs(10), 1);
        window.push(&frame(0, 1_000, &[0, 1]));
        window.push(&frame(1_000, 1_000, &[61_000_000_000, HOURS]));
        let all = window.all();
        assert_eq!((all.service.len(), all.service.min()), (4, 0));
        assert!(all.service.equivalent(all.service.max(), HOURS));
        assert_eq!(Clock::All.of(&all).len(), 4);
    }
}
