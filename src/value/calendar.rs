//! Days and times of a number of milliseconds since 1970, over the whole range of 64 bits, and the texts of
//! Java's and Joda's date types.

use super::write_long;

const DAY: i64 = 86_400_000;
/// When the Gregorian calendar began, 1582-10-15: `java.util.Date` shows earlier days in the Julian calendar.
const GREGORIAN_FROM: i64 = -12_219_292_800_000;
/// English names, the first month first.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English names, Monday first.
pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A moment in UTC, field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// 0 is the year before 1.
    pub year: i64,
    /// 1–12.
    pub month: u8,
    /// 1–31.
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub milli: u16,
    /// 1 is Monday, 7 Sunday.
    pub weekday: u8,
}

impl Moment {
    /// In the Gregorian calendar, carried on before its begin (as ISO 8601 and Joda do).
    pub fn of(millis: i64) -> Moment {
        Moment::in_calendar(millis, gregorian)
    }

    /// As `java.util.Date` shows it: in the Julian calendar before 1582-10-15.
    pub fn of_date(millis: i64) -> Moment {
        Moment::in_calendar(millis, if millis < GREGORIAN_FROM { julian } else { gregorian })
    }

    /// The English name of the month.
    pub fn month_name(&self) -> &'static str {
        named(&MONTHS, self.month)
    }

    /// The English name of the day of the week.
    pub fn weekday_name(&self) -> &'static str {
        named(&WEEKDAYS, self.weekday)
    }

    /// The year as counted in its era: years before 1 go backwards from 1.
    pub fn year_of_era(&self) -> i64 {
        if self.year > 0 { self.year } else { 1 - self.year }
    }

    fn in_calendar(millis: i64, calendar: fn(i64) -> (i64, u8, u8)) -> Moment {
        let days = millis.div_euclid(DAY);
        let of_day = millis.rem_euclid(DAY);
        let (year, month, day) = calendar(days);
        Moment {
            year,
            month,
            day,
            hour: (of_day / 3_600_000) as u8,
            minute: (of_day / 60_000 % 60) as u8,
            second: (of_day / 1_000 % 60) as u8,
            milli: (of_day % 1_000) as u16,
            weekday: ((days + 3).rem_euclid(7) + 1) as u8,
        }
    }
}

fn named(names: &[&'static str], number: u8) -> &'static str {
    names.get(usize::from(number).wrapping_sub(1)).copied().unwrap_or_default()
}

/// The usual short form of the name of a month or a weekday: its first three letters.
pub fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

/// Days since 1970 of a day of the Gregorian calendar; the month counts from 1.
pub fn days_of(year: i64, month: u8, day: u8) -> i64 {
    // Years begin in March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = i64::from(month);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day. The algorithm is Howard Hinnant's `civil_from_days`.
fn gregorian(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    from_march(era * 400 + year_of_era, day_of_year)
}

fn julian(days: i64) -> (i64, u8, u8) {
    // 0000-03-01 of the Julian calendar is two days before that of the Gregorian one.
    let days = days + 719_470;
    let era = days.div_euclid(1_461);
    let of_era = days.rem_euclid(1_461);
    let year_of_era = (of_era - of_era / 1_460) / 365;
    from_march(era * 4 + year_of_era, of_era - 365 * year_of_era)
}

/// A year that begins in March, and the day in it from 0.
fn from_march(year: i64, day_of_year: i64) -> (i64, u8, u8) {
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (if month <= 2 { year + 1 } else { year }, month as u8, day as u8)
}

/// `java.util.Date.toString` in UTC. Years before 1 count backwards from 1, without a mark.
pub(super) fn write_date(millis: i64, out: &mut Vec<u8>) {
    let moment = Moment::of_date(millis);
    out.extend_from_slice(short(moment.weekday_name()).as_bytes());
    out.push(b' ');
    out.extend_from_slice(short(moment.month_name()).as_bytes());
    out.push(b' ');
    write_padded(i64::from(moment.day), 2, out);
    out.push(b' ');
    write_time(&moment, out);
    out.extend_from_slice(b" UTC ");
    write_long(moment.year_of_era(), out);
}

/// `java.time.Instant.toString`.
pub(super) fn write_instant(millis: i64, out: &mut Vec<u8>) {
    let moment = Moment::of(millis);
    if moment.year > 9_999 {
        out.push(b'+');
    }
    write_day(&moment, out);
    write_time(&moment, out);
    if moment.milli > 0 {
        out.push(b'.');
        write_padded(i64::from(moment.milli), 3, out);
    }
    out.push(b'Z');
}

/// Joda's `DateTime.toString` and `Instant.toString` in UTC.
pub(super) fn write_joda(millis: i64, out: &mut Vec<u8>) {
    let moment = Moment::of(millis);
    write_day(&moment, out);
    write_time(&moment, out);
    out.push(b'.');
    write_padded(i64::from(moment.milli), 3, out);
    out.push(b'Z');
}

/// `java.time.LocalTime.toString`.
pub(super) fn write_local_time(millis: i64, out: &mut Vec<u8>) {
    let moment = Moment::of(millis);
    write_padded(i64::from(moment.hour), 2, out);
    out.push(b':');
    write_padded(i64::from(moment.minute), 2, out);
    if moment.second > 0 || moment.milli > 0 {
        out.push(b':');
        write_padded(i64::from(moment.second), 2, out);
    }
    if moment.milli > 0 {
        out.push(b'.');
        write_padded(i64::from(moment.milli), 3, out);
    }
}

/// `yyyy-mm-ddT`.
fn write_day(moment: &Moment, out: &mut Vec<u8>) {
    write_padded(moment.year, 4, out);
    out.push(b'-');
    write_padded(i64::from(moment.month), 2, out);
    out.push(b'-');
    write_padded(i64::from(moment.day), 2, out);
    out.push(b'T');
}

/// `hh:mm:ss`.
fn write_time(moment: &Moment, out: &mut Vec<u8>) {
    write_padded(i64::from(moment.hour), 2, out);
    out.push(b':');
    write_padded(i64::from(moment.minute), 2, out);
    out.push(b':');
    write_padded(i64::from(moment.second), 2, out);
}

/// A number with zeros before it up to `width` digits.
fn write_padded(number: i64, width: u32, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let number = number.unsigned_abs();
    for digits in (1..width).rev() {
        if number < 10u64.pow(digits) {
            out.push(b'0');
        }
    }
    out.extend_from_slice(number.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(i64, &mut Vec<u8>), millis: i64) -> String {
        let mut out = Vec::new();
        write(millis, &mut out);
        String::from_utf8(out).expect("dates are ASCII")
    }

    #[test]
    fn dates_print_as_java_and_joda_print_them() {
        for (write, millis, expected) in [
            (write_date as fn(i64, &mut Vec<u8>), 0, "Thu Jan 01 00:00:00 UTC 1970"),
            (write_date, 1_709_210_096_789, "Thu Feb 29 12:34:56 UTC 2024"),
            (write_date, GREGORIAN_FROM, "Fri Oct 15 00:00:00 UTC 1582"),
            (write_date, GREGORIAN_FROM - 1, "Thu Oct 04 23:59:59 UTC 1582"),
            (write_date, i64::MAX, "Sun Aug 17 07:12:55 UTC 292278994"),
            (write_date, i64::MIN, "Sun Dec 02 16:47:04 UTC 292269055"),
            (write_instant, 0, "1970-01-01T00:00:00Z"),
            (write_instant, -1, "1969-12-31T23:59:59.999Z"),
            (write_instant, i64::MAX, "+292278994-08-17T07:12:55.807Z"),
            (write_instant, i64::MIN, "-292275055-05-16T16:47:04.192Z"),
            (write_instant, -62_198_755_200_000, "-0001-01-01T00:00:00Z"),
            (write_joda, i64::MAX, "292278994-08-17T07:12:55.807Z"),
            (write_joda, 951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (write_local_time, 0, "00:00"),
            (write_local_time, 61_000, "00:01:01"),
            (write_local_time, 1, "00:00:00.001"),
        ] {
            assert_eq!(text(write, millis), expected, "{millis}");
        }
    }

    proptest::proptest! {
        #[test]
        fn days_of_the_calendar_count_back(days in -100_000_000_000i64..100_000_000_000) {
            let (year, month, day) = gregorian(days);
            proptest::prop_assert_eq!(days_of(year, month, day), days);
        }

        #[test]
        fn every_number_of_milliseconds_has_texts(millis: i64) {
            for write in [write_date, write_instant, write_joda, write_local_time] {
                proptest::prop_assert!(!text(write, millis).is_empty());
            }
        }
    }
}
