//! When starts are due: a function fixed before the run, so that no op can move the ones after it.
//!
//! A schedule is a line of rates over time, its integral is how many starts are due, and the inverse of that is
//! when start n is due. A constant rate is `n / rate`; a [`Profile`] is pieces of straight lines.

use super::nanoseconds;
use crate::units::{self, UnitError};
use std::time::Duration;

const SECOND: f64 = 1e9;
/// A profile is quoted to the governor anew at least so often, in nanoseconds.
const QUOTE: u64 = 1_000_000_000;

/// Load over time, as `rate_profile=` gives it: points in time with a rate each. Between two points the rate
/// goes in a straight line from one to the other (a ramp), or holds until the next (steps). After the last point
/// it holds.
///
/// ```text
/// 0s:100,60s:5000            from 100/s to 5000/s in a minute
/// steps:0s:100,10s:200       100/s for ten seconds, then 200/s
/// [{at: 0s, rate: 100}, {at: 60s, rate: 5000}]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// In order of time; the first is at 0.
    points: Vec<(Duration, f64)>,
    steps: bool,
}

impl Profile {
    /// Reads the points of a `rate_profile=` text; see [`Profile`].
    ///
    /// # Errors
    /// What is no point, points out of order or none at 0, a profile that never asks for a start.
    pub fn parse(text: &str) -> Result<Profile, UnitError> {
        let (steps, points) = Profile::kind(text);
        let points = points.trim();
        let pairs: Vec<(&str, &str)> = match points.strip_prefix('[').and_then(|p| p.strip_suffix(']')) {
            Some(list) => objects(list)?,
            None => points
                .split(',')
                .map(|point| point.split_once(':').ok_or_else(|| no_point(point)))
                .collect::<Result<_, _>>()?,
        };
        Profile::of(&pairs, steps)
    }

    /// Reads the points of a CSV text: a line `time,rate` each, a heading if there is one. `steps` as in
    /// [`Profile::kind`].
    pub fn parse_csv(text: &str, steps: bool) -> Result<Profile, UnitError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut pairs = Vec::new();
        for (number, line) in lines.enumerate() {
            let pair = line.split_once([',', ';', '\t']).ok_or_else(|| no_point(line))?;
            let heading = number == 0 && !pair.0.trim_start().starts_with(|c: char| c.is_ascii_digit());
            if !heading {
                pairs.push(pair);
            }
        }
        Profile::of(&pairs, steps)
    }

    /// Whether the text is of steps, and the text without the word that says so.
    pub fn kind(text: &str) -> (bool, &str) {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("steps:") {
            return (true, rest);
        }
        (false, text.strip_prefix("ramp:").unwrap_or(text))
    }

    fn of(pairs: &[(&str, &str)], steps: bool) -> Result<Profile, UnitError> {
        let mut points: Vec<(Duration, f64)> = Vec::new();
        for (at, rate) in pairs {
            let at = units::duration(at.trim())?;
            let rate = match rate.trim().trim_end_matches("/s") {
                "0" => 0.0,
                rate => units::rate(rate).map(|rate| rate.per_second)?,
            };
            match points.last() {
                None if !at.is_zero() => {
                    return Err(UnitError(format!("the first point is at 0s, not at {at:?}")));
                }
                Some((before, _)) if *before > at => {
                    return Err(UnitError(format!(
                        "the point at {at:?} stands behind the one at {before:?}"
                    )));
                }
                _ => points.push((at, rate)),
            }
        }
        if points.iter().all(|(_, rate)| *rate == 0.0) {
            return Err(UnitError("it has no point with a rate over 0".to_owned()));
        }
        Ok(Profile { points, steps })
    }

    /// When the last point is reached.
    pub fn length(&self) -> Duration {
        self.points.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// The highest rate it asks for.
    pub fn highest(&self) -> f64 {
        self.points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}

fn no_point(text: &str) -> UnitError {
    UnitError(format!("`{}` is no point of a profile: write TIME:RATE, such as `60s:5000`", text.trim()))
}

/// The points of `{at: 0s, rate: 100}, …`.
fn objects(list: &str) -> Result<Vec<(&str, &str)>, UnitError> {
    let mut pairs = Vec::new();
    for object in list.split('}') {
        let object = object.trim().trim_start_matches(',').trim();
        if object.is_empty() {
            continue;
        }
        let inner = object.strip_prefix('{').ok_or_else(|| no_point(object))?;
        let (mut at, mut rate) = (None, None);
        for field in inner.split(',') {
            let (key, value) = field.split_once(':').ok_or_else(|| no_point(field))?;
            let value = value.trim().trim_matches('"');
            match key.trim().trim_matches('"') {
                "at" => at = Some(value),
                "rate" => rate = Some(value),
                _ => return Err(no_point(field)),
            }
        }
        pairs.push(at.zip(rate).ok_or_else(|| no_point(object))?);
    }
    Ok(pairs)
}

/// When starts are due, in nanoseconds since the schedule began.
#[derive(Debug, Clone)]
pub(super) enum Schedule {
    Constant { per_second: f64 },
    Pieces(Vec<Piece>),
}

/// A stretch of time in which the rate goes in a straight line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Nanoseconds since the schedule began.
    start: u64,
    /// Nanoseconds; the last piece has no end.
    length: Option<u64>,
    /// Starts per second at its ends.
    rates: (f64, f64),
    /// Starts that are due before it.
    before: f64,
}

impl Piece {
    /// How many starts are due in its first `seconds`.
    fn due_within(&self, seconds: f64) -> f64 {
        let slope = self.slope();
        self.rates.0 * seconds + slope * seconds * seconds / 2.0
    }

    /// In starts per second, per second.
    fn slope(&self) -> f64 {
        match self.length {
            Some(length) if length > 0 => (self.rates.1 - self.rates.0) / (length as f64 / SECOND),
            _ => 0.0,
        }
    }

    /// After how many seconds of it `count` starts are due; infinite where they never are.
    fn seconds_until(&self, count: f64) -> f64 {
        let (rate, slope) = (self.rates.0, self.slope());
        if count <= 0.0 {
            return 0.0;
        }
        // The form of the quadratic's root that loses no digits where the slope is small.
        let root = (rate * rate + 2.0 * slope * count).max(0.0).sqrt();
        let seconds = 2.0 * count / (rate + root);
        if seconds.is_nan() { f64::INFINITY } else { seconds }
    }
}

impl Schedule {
    pub(super) fn constant(per_second: f64) -> Schedule {
        Schedule::Constant { per_second }
    }

    pub(super) fn of_profile(profile: &Profile) -> Schedule {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut before = 0.0;
        for (i, (at, rate)) in profile.points.iter().enumerate() {
            let next = profile.points.get(i + 1);
            let length = next.map(|(next, _)| nanoseconds(*next).saturating_sub(nanoseconds(*at)));
            let end = match next {
                Some((_, next)) if !profile.steps => *next,
                _ => *rate,
            };
            if length == Some(0) {
                // Two points at one time: a jump.
                continue;
            }
            let piece = Piece { start: nanoseconds(*at), length, rates: (*rate, end), before };
            if let Some(length) = length {
                before += piece.due_within(length as f64 / SECOND);
            }
            pieces.push(piece);
        }
        Schedule::Pieces(pieces)
    }

    /// When start `n` (from 0) is due; `u64::MAX` is never.
    pub(super) fn due(&self, n: u64) -> u64 {
        match self {
            Schedule::Constant { per_second } => (n as f64 * SECOND / per_second) as u64,
            Schedule::Pieces(pieces) => {
                // The last one: a start that is due as a pause begins is due when it ends.
                let at = pieces.partition_point(|piece| piece.before <= n as f64);
                let Some(piece) = pieces.get(at.saturating_sub(1)) else { return u64::MAX };
                if piece.length.is_none() && piece.rates.0 == 0.0 {
                    return u64::MAX;
                }
                let within = (piece.seconds_until(n as f64 - piece.before) * SECOND) as u64;
                piece.start.saturating_add(piece.length.map_or(within, |length| within.min(length)))
            }
        }
    }

    /// How many starts are due at `now`.
    pub(super) fn due_by(&self, now: u64) -> u64 {
        let near = self.expected(now) as u64;
        let beyond = near.saturating_add(2);
        // The arithmetic may be off by one either way; `due` decides.
        (near.saturating_sub(1)..beyond).find(|n| self.due(*n) > now).unwrap_or(beyond)
    }

    /// The integral of the rate up to `now`.
    pub(super) fn expected(&self, now: u64) -> f64 {
        match self {
            Schedule::Constant { per_second } => now as f64 * per_second / SECOND,
            Schedule::Pieces(pieces) => {
                let Some(piece) = piece_at(pieces, now) else { return 0.0 };
                piece.before + piece.due_within((now - piece.start) as f64 / SECOND)
            }
        }
    }

    /// The highest rate in the time that begins at `now`, and when that time ends.
    pub(super) fn rate_from(&self, now: u64) -> (f64, u64) {
        match self {
            Schedule::Constant { per_second } => (*per_second, u64::MAX),
            Schedule::Pieces(pieces) => {
                let Some(piece) = piece_at(pieces, now) else { return (0.0, u64::MAX) };
                let Some(length) = piece.length else { return (piece.rates.0, u64::MAX) };
                let end = piece.start.saturating_add(length);
                if piece.rates.0 == piece.rates.1 {
                    return (piece.rates.0, end);
                }
                let until = end.min(now.saturating_add(QUOTE));
                let rate = |at: u64| piece.rates.0 + piece.slope() * (at - piece.start) as f64 / SECOND;
                (rate(now).max(rate(until)), until)
            }
        }
    }
}

/// The piece that `now` falls in.
fn piece_at(pieces: &[Piece], now: u64) -> Option<&Piece> {
    pieces.get(pieces.partition_point(|piece| piece.start <= now).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn schedule(text: &str) -> Schedule {
        Schedule::of_profile(&Profile::parse(text).expect(text))
    }

    #[test]
    fn due_times_are_multiples_of_the_period_and_do_not_drift() {
        let schedule = Schedule::constant(3.0);
        assert_eq!((schedule.due(0), schedule.due(1), schedule.due(3)), (0, 333_333_333, SECOND));
        assert_eq!(Schedule::constant(2500.0).due(25_000 * 360), 3600 * SECOND);
        for rate in [0.1, 0.5, 1.0, 3.0, 999.9, 2500.0, 1e6] {
            let schedule = Schedule::constant(rate);
            for n in (0..1000).chain(10_000_000..10_000_100) {
                assert_eq!(schedule.due_by(schedule.due(n)), n + 1, "{rate}/s, start {n}");
                if n > 0 {
                    assert_eq!(schedule.due_by(schedule.due(n) - 1), n, "{rate}/s, before start {n}");
                }
            }
        }
    }

    #[test]
    fn a_profile_is_written_as_points_as_objects_or_as_lines() {
        let ramp = Profile::parse("0s:100,60s:5000").expect("points");
        for same in ["ramp:0s:100,60s:5k", "[{at: 0s, rate: 100}, {\"at\": \"1m\", \"rate\": 5000}]"] {
            assert_eq!(Profile::parse(same).as_ref(), Ok(&ramp), "{same}");
        }
        for same in ["at,rate\n0s,100\n60s,5000\n", "# a ramp\n0;100\n\n60s;5000/s"] {
            assert_eq!(Profile::parse_csv(same, false).as_ref(), Ok(&ramp), "{same}");
        }
        assert_eq!((ramp.length(), ramp.highest()), (Duration::from_secs(60), 5000.0));
        assert_ne!(Profile::parse("steps:0s:100,60s:5000"), Ok(ramp));
    }

    #[test]
    fn what_is_no_profile_says_why() {
        for (text, part) in [
            ("", "is no point of a profile"),
            ("100", "`100` is no point of a profile"),
            ("0s:100,60", "`60` is no point"),
            ("5s:100", "the first point is at 0s"),
            ("0s:1,9s:2,5s:3", "the point at 5s stands behind the one at 9s"),
            ("0s:0,9s:0", "no point with a rate over 0"),
            ("0s:fast", "`fast` is not a number"),
            ("0x:5", "`x` in `0x` is not a unit of time"),
            ("[{at: 0s}]", "is no point of a profile"),
            ("[{at: 0s, rat: 5}]", "`rat: 5` is no point"),
            ("[0s:5]", "`0s:5` is no point"),
        ] {
            let UnitError(error) = Profile::parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_profile_is_kept_within_one_start_of_its_integral() {
        // (profile, at second, starts that are due by then)
        for (text, at, due) in [
            ("0s:100", 10, 1000),
            ("0s:100,60s:5000", 60, 153_000),
            ("0s:100,60s:5000", 70, 203_000),
            ("0s:1000,10s:0", 10, 5000),
            ("0s:1000,10s:0", 100, 5000),
            ("steps:0s:100,10s:200", 20, 3000),
            ("0s:100,10s:100,10s:200", 20, 3000),
            ("steps:0s:100,10s:0,20s:50", 30, 1500),
            ("0s:0,10s:100", 10, 500),
        ] {
            let schedule = schedule(text);
            let now = at * SECOND;
            assert!(schedule.due_by(now).abs_diff(due) <= 1, "{text} at {at} s: {}", schedule.due_by(now));
        }
    }

    #[test]
    fn due_times_of_a_profile_follow_each_other_and_agree_with_what_is_due() {
        for text in ["0s:100,6s:5000,8s:10", "steps:0s:100,1s:0,2s:50", "0s:0,2s:900,2s:10", "0s:1,1h:2"] {
            let schedule = schedule(text);
            let mut last = 0;
            for n in 0..20_000 {
                let due = schedule.due(n);
                assert!(due >= last, "{text}: start {n} is due before the one before it");
                assert!(
                    schedule.due_by(due).abs_diff(n + 1) <= 1,
                    "{text}: start {n}: {}",
                    schedule.due_by(due)
                );
                last = due;
            }
        }
        // A start that falls on a pause waits for its end, and one that never comes is never due.
        assert_eq!(schedule("steps:0s:100,1s:0,2s:50").due(100), 2 * SECOND);
        assert_eq!(schedule("0s:10,1s:0").due(1000), u64::MAX);
    }

    #[test]
    fn the_rate_to_quote_is_the_highest_until_the_next_quote() {
        let ramp = schedule("0s:0,10s:100");
        assert_eq!(ramp.rate_from(0), (10.0, SECOND));
        assert_eq!(ramp.rate_from(9 * SECOND + SECOND / 2), (100.0, 10 * SECOND));
        assert_eq!(ramp.rate_from(11 * SECOND), (100.0, u64::MAX));
        assert_eq!(schedule("steps:0s:5,10s:100").rate_from(3 * SECOND), (5.0, 10 * SECOND));
        assert_eq!(Schedule::constant(7.0).rate_from(3), (7.0, u64::MAX));
    }
}
