//! Numbers spelt for people: `50,000`, `4.9 GB`, `85.1 µs`, `2,498/s`, `99.9%`. Bytes count in thousands.

use crate::value::Value;
use crate::value::calendar::Moment;
use std::time::{Duration, SystemTime};

/// `50000` → `50,000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `count` and the noun: `1 cycle`, `2 cycles`.
pub fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n))
}

/// Three digits where the number is small, all of them where it is not: `0.33`, `12.3`, `1,249`.
/// `-` for what is no number.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        "-".to_owned()
    } else if x > 0.0 && x < 0.01 {
        "<0.01".to_owned()
    } else if x < 9.995 {
        format!("{x:.2}")
    } else if x < 99.95 {
        format!("{x:.1}")
    } else {
        count(x.round() as u64)
    }
}

/// `2498.2` → `2,498/s`, `2.5` → `2.5/s`.
pub fn per_second(x: f64) -> String {
    let number = number(x);
    // `2.50` is what a column wants; in a sentence the zeros only distract.
    let short =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{short}/s")
}

/// A fraction: `0.999` → `99.9%`, `0.5` → `50%`.
pub fn percent(fraction: f64) -> String {
    // A few of many are not none.
    if fraction > 0.0 && fraction < 0.0005 {
        return if fraction < 0.00005 { "<0.01%".to_owned() } else { format!("{:.2}%", fraction * 100.0) };
    }
    let text = format!("{:.1}", fraction * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// `4.9 GB`, `100 KB`, `133 B`; one KB is 1,000 bytes.
pub fn bytes(n: f64) -> String {
    let mut value = n;
    let mut unit = "B";
    for larger in ["KB", "MB", "GB", "TB", "PB", "EB"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    if unit == "B" || value >= 99.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// A time in nanoseconds: `850 ns`, `85.1 µs`, `1.23 ms`, `10.0 s`.
pub fn time(nanos: f64) -> String {
    if nanos < 999.5 {
        format!("{nanos:.0} ns")
    } else if nanos < 999.5e3 {
        format!("{} µs", number(nanos / 1e3))
    } else if nanos < 999.5e6 {
        format!("{} ms", number(nanos / 1e6))
    } else {
        format!("{} s", number(nanos / 1e9))
    }
}

/// How long something took: `23.4 ms`, `10.02 s`, `2 min 05 s`, `1 h 02 min 05 s`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.9995 {
        return time(duration.as_nanos() as f64);
    }
    if seconds < 59.995 {
        return format!("{seconds:.2} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{} h {minutes:02} min {seconds:02} s", count(hours))
    } else {
        format!("{minutes} min {seconds:02} s")
    }
}

/// Milliseconds since 1970; a time before is 1970, since no clock of a machine that runs shows it.
fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-11-30 15:25:13` and the milliseconds behind `point`.
pub fn stamp(time: SystemTime, point: char) -> String {
    let at = Moment::of(millis(time));
    let (date, clock) =
        (format!("{:04}-{:02}-{:02}", at.year, at.month, at.day), (at.hour, at.minute, at.second));
    format!("{date} {:02}:{:02}:{:02}{point}{:03}", clock.0, clock.1, clock.2, at.milli)
}

/// `Mon Nov 30 15:25:13 UTC 2026`, as `java.util.Date` prints itself.
pub fn java_date(time: SystemTime) -> String {
    let mut out = Vec::new();
    Value::Date(millis(time)).write_text(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A character that is not seen and changes what is around it: controls, ends of lines, and the marks that turn the
/// direction of what follows (Unicode's report 9, section 2), with which a name could pass for another.
pub fn is_unseen(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// A name as it may stand in a line of a table: characters that are not seen escaped, at most 60 characters.
pub fn name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    shortened(&out, 60)
}

/// A message as it may stand in a line: blanks and control characters become one blank, at most `most`
/// characters.
pub fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || is_unseen(c)).filter(|w| !w.is_empty()).collect();
    shortened(&words.join(" "), most)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (50_000, "50,000"),
            ((1 << 31) + 5, "2,147,483,653"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(counted(1, "cycle"), "1 cycle");
        assert_eq!(counted(0, "cycle"), "0 cycles");
    }

    #[test]
    fn numbers_keep_three_digits_and_never_lose_a_small_one() {
        for (x, text) in [
            (0.0, "0.00"),
            (0.004, "<0.01"),
            (0.33, "0.33"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1249.4, "1,249"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!(per_second(2498.2), "2,498/s");
        assert_eq!(per_second(2.5), "2.5/s");
        assert_eq!(per_second(100.0), "100/s");
        assert_eq!(per_second(10.0), "10/s");
        assert_eq!(percent(0.9992), "99.9%");
        assert_eq!(percent(0.5), "50%");
        // A few errors of many ops are not none.
        assert_eq!([0.0, 0.0004, 0.000_124, 0.000_000_1].map(percent), ["0%", "0.04%", "0.01%", "<0.01%"]);
    }

    #[test]
    fn bytes_count_in_thousands() {
        for (n, text) in [
            (0.0, "0 B"),
            (133.2, "133 B"),
            (999.6, "1.0 KB"),
            (1_020.0, "1.0 KB"),
            (100_120.0, "100 KB"),
            (99_960.0, "100 KB"),
            (4.9e9, "4.9 GB"),
            (1.0e12, "1.0 TB"),
            (999_960_000.0, "1.0 GB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn times_change_unit_where_they_read_best() {
        for (nanos, text) in [
            (0.0, "0 ns"),
            (850.0, "850 ns"),
            (999.7, "1.00 µs"),
            (85_123.0, "85.1 µs"),
            (999_700.0, "1.00 ms"),
            (1_234_000.0, "1.23 ms"),
            (10.02e9, "10.0 s"),
            (90_000e9, "90,000 s"),
        ] {
            assert_eq!(time(nanos), text);
        }
        for (millis, text) in [
            (0, "0 ns"),
            (23, "23.0 ms"),
            (10_020, "10.02 s"),
            (59_999, "1 min 00 s"),
            (125_000, "2 min 05 s"),
            (3_725_000, "1 h 02 min 05 s"),
        ] {
            assert_eq!(elapsed(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn moments_are_in_utc() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_052_313_482);
        assert_eq!(stamp(time, '.'), "2026-11-30 15:25:13.482");
        assert_eq!(java_date(time), "Mon Nov 30 15:25:13 UTC 2026");
        assert_eq!(
            java_date(SystemTime::UNIX_EPOCH - Duration::from_secs(5)),
            "Thu Jan 01 00:00:00 UTC 1970"
        );
    }

    #[test]
    fn names_cannot_break_a_line() {
        assert_eq!(name("ключи-🗝__\"a\"\nb\t"), "ключи-🗝__\"a\"\\nb\\t");
        assert_eq!(name(&"x".repeat(100)).chars().count(), 60);
        assert_eq!(line("E11000\n  dup\u{1b}[31m", 80), "E11000 dup [31m");
        assert_eq!(line("abcdef", 4), "abc…");
    }
}
