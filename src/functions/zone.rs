//! Time zones as Joda uses them, over the whole range of 64-bit milliseconds: from instants to local time and
//! back, with its rules for the hours that a clock skips or has twice.
//!
//! "Local" milliseconds count from 1970-01-01T00:00 on the clock of the zone.

use super::{Eval, EvalError};
use crate::value::calendar::{Moment, days_of};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

/// After this many milliseconds the calendar with its weekdays, and so every zone's rules, repeat: 400 years.
const CALENDAR_CYCLE: i64 = 146_097 * DAY;
/// 2400-01-01: behind it no zone has rules of its own for single years.
const RULES_REPEAT_FROM: i64 = 13_569_465_600_000;
/// 0001-01-01: before it no zone has changed its offset.
const FIRST: i64 = -62_135_596_800_000;

/// A zone.
pub enum Zone {
    Utc,
    Rules(TimeZone),
}

#[cold]
fn overflow(what: &str) -> Box<EvalError> {
    EvalError::boxed("ArithmeticException", format!("{what} is beyond the range of times"))
}

fn add(millis: i64, more: i64) -> Eval<i64> {
    millis.checked_add(more).ok_or_else(|| overflow("the time"))
}

impl Zone {
    /// The zone of an identifier of the tz database, or an offset such as `+05:30`. The error says what is
    /// wrong.
    pub fn named(name: &str) -> Result<Zone, String> {
        if matches!(name, "UTC" | "Z") {
            return Ok(Zone::Utc);
        }
        // Newer zone tables make these links to cities with a past of their own; to Joda they are offsets.
        let fixed = match name {
            "EST" => Some(-5 * 3600),
            "MST" => Some(-7 * 3600),
            "HST" => Some(-10 * 3600),
            _ => None,
        };
        if let Some(seconds) = fixed.or_else(|| offset_seconds(name)) {
            let offset =
                Offset::from_seconds(seconds).map_err(|_| format!("the offset `{name}` is beyond a day"))?;
            return Ok(Zone::Rules(TimeZone::fixed(offset)));
        }
        match TimeZone::get(name) {
            Ok(zone) if zone.iana_name() == Some(name) => Ok(Zone::Rules(zone)),
            Ok(zone) => Err(format!(
                "there is no time zone `{name}`: it is spelled `{}`",
                zone.iana_name().unwrap_or_default()
            )),
            Err(_) => Err(format!(
                "there is no time zone `{name}`: write it as in `America/New_York`, `UTC` or `+05:30`"
            )),
        }
    }

    /// An equivalent instant that the rules are known for, and how far it was moved.
    fn within(instant: i64) -> (Timestamp, i64) {
        let moved = if instant >= RULES_REPEAT_FROM {
            (instant - RULES_REPEAT_FROM) / CALENDAR_CYCLE * CALENDAR_CYCLE
        } else if instant < FIRST {
            instant - FIRST
        } else {
            0
        };
        (Timestamp::from_millisecond(instant.wrapping_sub(moved)).unwrap_or(Timestamp::UNIX_EPOCH), moved)
    }

    /// What local time is ahead of UTC, in milliseconds.
    pub fn offset(&self, instant: i64) -> i64 {
        match self {
            Zone::Utc => 0,
            Zone::Rules(zone) => i64::from(zone.to_offset(Zone::within(instant).0).seconds()) * SECOND,
        }
    }

    /// When the offset changes next; the instant itself if it never does.
    fn next_transition(&self, instant: i64) -> i64 {
        let Zone::Rules(zone) = self else { return instant };
        let (at, moved) = Zone::within(instant);
        zone.following(at)
            .next()
            .and_then(|next| next.timestamp().as_millisecond().checked_add(moved))
            .unwrap_or(instant)
    }

    /// The last millisecond before the offset changed last; the instant itself if it never did.
    fn previous_transition(&self, instant: i64) -> i64 {
        let Zone::Rules(zone) = self else { return instant };
        let (at, moved) = Zone::within(instant);
        let behind = at.checked_add(SignedDuration::from_nanos(1)).unwrap_or(at);
        zone.preceding(behind)
            .next()
            .and_then(|last| (last.timestamp().as_millisecond() - 1).checked_add(moved))
            .unwrap_or(instant)
    }

    /// The local time of an instant.
    pub fn to_local(&self, instant: i64) -> Eval<i64> {
        add(instant, self.offset(instant))
    }

    /// The instant of a local time: of one that the clock skips, as far behind the gap; of one that it has
    /// twice, the earlier.
    pub fn to_instant(&self, local: i64) -> Eval<i64> {
        let first = self.offset(local);
        let adjusted = self.offset(local.wrapping_sub(first));
        let offset = if first < 0 && first != adjusted && self.in_gap(local, first, adjusted) {
            first
        } else {
            adjusted
        };
        local.checked_sub(offset).ok_or_else(|| overflow("the time"))
    }

    fn in_gap(&self, local: i64, first: i64, adjusted: i64) -> bool {
        let next = |instant: i64| match self.next_transition(instant) {
            same if same == instant => i64::MAX,
            next => next,
        };
        next(local.wrapping_sub(first)) != next(local.wrapping_sub(adjusted))
    }

    /// [`Zone::to_instant`] of a local time that was made from an instant: with that one's offset, if it holds
    /// there too.
    fn to_instant_near(&self, local: i64, original: i64) -> Eval<i64> {
        let offset = self.offset(original);
        let instant = local.wrapping_sub(offset);
        if self.offset(instant) == offset { Ok(instant) } else { self.to_instant(local) }
    }

    /// The offset that a local time has, by which a duration is added.
    pub fn offset_from_local(&self, local: i64) -> i64 {
        let first = self.offset(local);
        let instant = local.wrapping_sub(first);
        let adjusted = self.offset(instant);
        if first != adjusted {
            return if first < adjusted && self.in_gap(local, first, adjusted) { first } else { adjusted };
        }
        if first >= 0 {
            let previous = self.previous_transition(instant);
            if previous < instant {
                let before = self.offset(previous);
                if instant - previous <= before - first {
                    return before;
                }
            }
        }
        adjusted
    }

    /// The earlier of the two instants that have the local time of this one, where there are two.
    fn earlier(&self, instant: i64) -> i64 {
        let (early, late) = (instant.wrapping_sub(3 * HOUR), instant.wrapping_add(3 * HOUR));
        let (before, after) = (self.offset(early), self.offset(late));
        if before <= after {
            return instant;
        }
        let difference = before - after;
        let transition = self.next_transition(early);
        let start = transition.wrapping_sub(difference);
        if instant < start || instant >= transition.wrapping_add(difference) {
            return instant;
        }
        if instant.wrapping_sub(start) >= difference { instant.wrapping_sub(difference) } else { instant }
    }

    /// When the day of an instant begins.
    pub fn start_of_day(&self, instant: i64) -> Eval<i64> {
        let day = floor(self.to_local(instant)?, DAY);
        // Six hours into it, where no clock jumps.
        let within = self.to_instant(day.wrapping_add(6 * HOUR))?;
        let start = floor(self.to_local(within)?, DAY);
        Ok(self.earlier(self.to_instant_near(start, within)?))
    }

    /// `instant` with its local time changed.
    pub fn change(&self, instant: i64, change: impl FnOnce(i64) -> Eval<i64>) -> Eval<i64> {
        let local = change(self.to_local(instant)?)?;
        self.to_instant_near(local, instant)
    }

    /// The same local time so many days later.
    pub fn plus_days(&self, instant: i64, days: i64) -> Eval<i64> {
        let local = add(self.to_local(instant)?, days * DAY)?;
        local.checked_sub(self.offset_from_local(local)).ok_or_else(|| overflow("the time"))
    }
}

/// `millis` brought down to a multiple of `unit`. It wraps around below the least time, as Joda's rounding does.
pub fn floor(millis: i64, unit: i64) -> i64 {
    millis.wrapping_sub(millis.rem_euclid(unit))
}

/// As [`floor`], but an error below the least time: where Joda goes field by field, what it gives there is no start
/// of anything.
pub fn checked_floor(millis: i64, unit: i64) -> Eval<i64> {
    millis.checked_sub(millis.rem_euclid(unit)).ok_or_else(|| overflow("the start"))
}

/// The first day of the month of a local time, at the same time of day.
pub fn first_of_month(local: i64) -> Eval<i64> {
    let moment = Moment::of(local);
    Ok(local.wrapping_sub(DAY * (i64::from(moment.day) - 1)))
}

/// January of the year of a local time, at the same day and time.
pub fn january(local: i64) -> Eval<i64> {
    let moment = Moment::of(local);
    let days = days_of(moment.year, 1, moment.day) - days_of(moment.year, moment.month, moment.day);
    Ok(local.wrapping_add(DAY * days))
}

/// The day of the same week (from Monday) that has this number, 1 for Monday, at the same time.
pub fn day_of_week(local: i64, weekday: u8) -> Eval<i64> {
    add(local, DAY * (i64::from(weekday) - i64::from(Moment::of(local).weekday)))
}

/// `+hh:mm`, `+hhmm`, `+hh`, in seconds.
fn offset_seconds(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let number = |digits: &str, limit: i32| {
        let two = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
        if two { digits.parse().ok().filter(|n| *n <= limit) } else { None }
    };
    let hours = number(rest.get(..2)?, 23)?;
    let rest = &rest[2..];
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" if rest.is_empty() => 0,
        minutes => number(minutes, 59)?,
    };
    Some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::named(name).expect(name)
    }

    #[test]
    fn zones_have_their_names_exactly() {
        for name in ["UTC", "America/Chicago", "Asia/Kolkata", "+05:30", "-08", "+0100"] {
            assert!(Zone::named(name).is_ok(), "{name}");
        }
        for name in ["america/chicago", "Nowhere", "", "+25:00", "+5", "5:30"] {
            assert!(Zone::named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn days_begin_when_the_clock_of_the_zone_says() {
        for (name, instant, expected) in [
            ("UTC", 1, 0),
            ("UTC", -1, -DAY),
            ("America/Chicago", 1, -64_800_000),
            ("America/Chicago", 4_294_967_295, 4_255_200_000),
            ("America/Chicago", 4_611_686_018_427_387_907, 4_611_686_018_389_200_000),
            ("Asia/Kolkata", 0, -19_800_000),
            // 2017-10-15: at midnight the clock went on to 1.
            ("America/Sao_Paulo", 1_508_083_200_000, 1_508_036_400_000),
            // 2018-11-04 has the hour from 0 to 1 twice.
            ("America/Havana", 1_541_350_800_000, 1_541_304_000_000),
        ] {
            assert_eq!(zone(name).start_of_day(instant), Ok(expected), "{name} {instant}");
        }
        assert!(zone("America/Chicago").start_of_day(i64::MAX - 1).is_err());
        // As in the reference: the day begins before the least time.
        assert_eq!(zone("UTC").start_of_day(i64::MIN + 4).expect("it wraps"), 9_223_372_036_742_400_000);
    }

    #[test]
    fn rules_repeat_every_four_hundred_years() {
        let zone = zone("America/Chicago");
        for instant in [RULES_REPEAT_FROM - DAY, RULES_REPEAT_FROM + 200 * DAY] {
            for cycles in [1, 7, 100_000] {
                assert_eq!(zone.offset(instant), zone.offset(instant + cycles * CALENDAR_CYCLE));
            }
        }
        assert_ne!(zone.offset(RULES_REPEAT_FROM), zone.offset(RULES_REPEAT_FROM + 180 * DAY));
    }

    #[test]
    fn a_day_later_is_the_same_local_time() {
        let zone = zone("America/New_York");
        // 2024-03-09T12:00 and 2024-11-02T12:00: the days after have 23 and 25 hours before noon.
        assert_eq!(zone.plus_days(1_710_003_600_000, 1), Ok(1_710_003_600_000 + 23 * HOUR));
        assert_eq!(zone.plus_days(1_730_563_200_000, 1), Ok(1_730_563_200_000 + 25 * HOUR));
        assert!(zone.plus_days(i64::MAX, 1).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_instant_panics(instant: i64, name in "America/Chicago|Europe/Paris|Asia/Kolkata|UTC") {
            let zone = zone(&name);
            let _ = zone.start_of_day(instant);
            let _ = zone.plus_days(instant, 1);
            let _ = zone.change(instant, first_of_month);
            let _ = zone.change(instant, january);
            let _ = zone.change(instant, |local| day_of_week(local, 7));
            let _ = zone.offset_from_local(instant);
        }
    }
}
