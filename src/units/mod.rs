//! Numbers as users write them: `50k`, `10s`, `0..1M`, `2500,1.1`, `auto`, `4x`.
//!
//! A number is `1500`, `1.5`, `1e6` or `2^10`, then an optional unit. Units of counts are decimal in any case
//! (`k`, `M`, `B` or `G`, `T`, `P`, `E`, or their names), and the binary ones are `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`.
//! Fractions count: `1.5M` is 1,500,000.

use std::ops::Range;
use std::time::Duration;

/// A number that could not be read; the text quotes the bad part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(pub String);

impl UnitError {
    fn new(text: impl Into<String>) -> UnitError {
        UnitError(text.into())
    }
}

/// Counts and cycle numbers end here: the cycle is a signed 64-bit number in every function.
const MAX_COUNT: u64 = i64::MAX as u64;

/// More logical threads than this is taken as a mistake.
const MAX_THREADS: u64 = 1_000_000;

/// Names of count units (lower case) and what they stand for.
const COUNT_UNITS: &[(&str, &str, u64)] = &[
    ("u", "unit", 1),
    ("k", "kilo", 1_000),
    ("m", "mega", 1_000_000),
    ("b", "billion", 1_000_000_000),
    ("g", "giga", 1_000_000_000),
    ("t", "tera", 1_000_000_000_000),
    ("p", "peta", 1_000_000_000_000_000),
    ("e", "exa", 1_000_000_000_000_000_000),
    ("ki", "kibi", 1 << 10),
    ("mi", "mebi", 1 << 20),
    ("gi", "gibi", 1 << 30),
    ("ti", "tebi", 1 << 40),
    ("pi", "pebi", 1 << 50),
    ("ei", "exbi", 1 << 60),
];

/// Names of time units (lower case; words in the singular) and their length in nanoseconds.
const TIME_UNITS: &[(&[&str], u64)] = &[
    (&["ns", "nano", "nanosecond"], 1),
    (&["us", "µs", "μs", "micro", "microsecond"], 1_000),
    (&["ms", "milli", "millisecond"], 1_000_000),
    (&["s", "sec", "second"], 1_000_000_000),
    (&["m", "min", "minute"], 60 * 1_000_000_000),
    (&["h", "hour"], 3_600 * 1_000_000_000),
    (&["d", "day"], 86_400 * 1_000_000_000),
    (&["w", "week"], 7 * 86_400 * 1_000_000_000),
    (&["y", "year"], 365 * 86_400 * 1_000_000_000),
];

/// A decimal number, exactly: `digits / 10^scale`.
struct Decimal {
    digits: u128,
    /// Digits behind the point; negative after a large exponent.
    scale: i32,
}

impl Decimal {
    /// This number times `factor` if that is a whole number that fits.
    fn whole(&self, factor: u64) -> Result<Option<u128>, ()> {
        if self.digits == 0 {
            return Ok(Some(0));
        }
        let product = self.digits.checked_mul(u128::from(factor)).ok_or(())?;
        let power = 10u128.checked_pow(self.scale.unsigned_abs());
        if self.scale <= 0 {
            return power.and_then(|power| product.checked_mul(power)).map(Some).ok_or(());
        }
        Ok(power.filter(|power| product.is_multiple_of(*power)).map(|power| product / power))
    }

    /// This number times `factor`, rounded to the nearest.
    fn times(&self, factor: f64) -> f64 {
        // Through the text form, since a division by a power of ten would round twice.
        format!("{}e{}", self.digits, -i64::from(self.scale)).parse::<f64>().unwrap_or(f64::INFINITY) * factor
    }
}

/// Splits `text` into its number and the word behind it.
fn number_and_unit(text: &str) -> Result<(Decimal, &str), UnitError> {
    let text = text.trim();
    let not_a_number = || match text {
        "" => UnitError::new("a number is missing"),
        _ => UnitError::new(format!("`{text}` is not a number")),
    };
    let digits_end = |from: usize| {
        text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| from + length)
    };
    let whole_end = digits_end(0);
    if whole_end == 0 {
        return Err(not_a_number());
    }
    let mut end = whole_end;
    let mut scale = 0i32;
    let mut written = text[..whole_end].to_owned();
    let mut bytes = text[end..].bytes();
    match (bytes.next(), bytes.next()) {
        (Some(b'.'), Some(b'0'..=b'9')) => {
            end = digits_end(whole_end + 1);
            let fraction = text[whole_end + 1..end].trim_end_matches('0');
            written.push_str(fraction);
            scale = i32::try_from(fraction.len()).map_err(|_| not_a_number())?;
        }
        (Some(b'^'), Some(b'0'..=b'9')) => {
            end = digits_end(whole_end + 1);
            let base: u128 = text[..whole_end].parse().map_err(|_| too_large(text))?;
            let power: u32 = text[whole_end + 1..end].parse().map_err(|_| too_large(text))?;
            written = base.checked_pow(power).ok_or_else(|| too_large(text))?.to_string();
        }
        _ => {}
    }
    // An `e` is an exponent only if a digit follows; else it is the unit exa.
    let rest = &text.as_bytes()[end..];
    if matches!(rest.first(), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
        if rest.get(1 + sign).is_some_and(u8::is_ascii_digit) {
            let exponent_end = digits_end(end + 1 + sign);
            let exponent: i32 = text[end + 1..exponent_end].parse().map_err(|_| too_large(text))?;
            scale = scale.checked_sub(exponent).ok_or_else(|| too_large(text))?;
            end = exponent_end;
        }
    }
    let digits = written.parse::<u128>().map_err(|_| too_large(text))?;
    Ok((Decimal { digits, scale }, text[end..].trim_start()))
}

fn too_large(text: &str) -> UnitError {
    UnitError(format!("`{text}` is too large; the largest is {MAX_COUNT} (`MAX`)"))
}

fn count_unit(unit: &str, text: &str) -> Result<u64, UnitError> {
    if unit.is_empty() {
        return Ok(1);
    }
    let lower = unit.to_lowercase();
    if let Some((.., factor)) = COUNT_UNITS.iter().find(|(short, name, _)| *short == lower || *name == lower)
    {
        return Ok(*factor);
    }
    let hint =
        match lower.strip_suffix('b').filter(|short| COUNT_UNITS.iter().any(|(known, ..)| known == short)) {
            Some(short) => format!("write `{}`", &unit[..short.len()]),
            None => "use k, M, B, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei".to_owned(),
        };
    Err(UnitError(format!("`{unit}` in `{text}` is not a unit of counts: {hint}")))
}

/// `50k` → 50000; at most 2^63−1, which is also written `MAX`.
///
/// # Errors
/// What is not a number, an unknown unit, a result that is not whole or does not fit.
pub fn count(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("max") {
        return Ok(MAX_COUNT);
    }
    let (number, unit) = number_and_unit(text)?;
    let factor = count_unit(unit, text)?;
    match number.whole(factor) {
        Ok(Some(whole)) => {
            u64::try_from(whole).ok().filter(|w| *w <= MAX_COUNT).ok_or_else(|| too_large(text))
        }
        Ok(None) => Err(UnitError(format!("`{text}` is not a whole number"))),
        Err(()) => Err(too_large(text)),
    }
}

/// A count, or a sum of counts: `+`, `-`, `*` and `/`, which binds tighter and rounds up, and parentheses.
/// `(1M-0)/100` → 10000. In between, too, nothing may be negative or over 2^63−1.
///
/// # Errors
/// As [`count`]; what is left open, a difference below 0, a division by 0.
pub fn amount(text: &str) -> Result<u64, UnitError> {
    let mut sum = Sum { text, at: 0 };
    let value = sum.sum(0)?;
    match text[sum.at..].chars().next() {
        None => Ok(value),
        Some(c) => Err(UnitError(format!("`{c}` in `{text}` closes nothing"))),
    }
}

/// Reads a sum from left to right; `at` is a position in the text.
struct Sum<'a> {
    text: &'a str,
    at: usize,
}

impl Sum<'_> {
    /// Parentheses within parentheses; it bounds our recursion.
    const DEEPEST: usize = 50;

    /// Moves past one of `operators`, and gives it.
    fn operator(&mut self, operators: &[char]) -> Option<char> {
        let rest = self.text[self.at..].trim_start();
        let operator = rest.chars().next().filter(|c| operators.contains(c))?;
        self.at = self.text.len() - rest.len() + operator.len_utf8();
        Some(operator)
    }

    fn sum(&mut self, depth: usize) -> Result<u64, UnitError> {
        let mut value = self.product(depth)?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let other = self.product(depth)?;
            value = if operator == '+' {
                value
                    .checked_add(other)
                    .filter(|sum| *sum <= MAX_COUNT)
                    .ok_or_else(|| too_large(self.text))?
            } else {
                let negative = || UnitError(format!("`{}` comes to less than 0", self.text));
                value.checked_sub(other).ok_or_else(negative)?
            };
        }
        Ok(value)
    }

    fn product(&mut self, depth: usize) -> Result<u64, UnitError> {
        let mut value = self.term(depth)?;
        while let Some(operator) = self.operator(&['*', '/']) {
            let other = self.term(depth)?;
            value = match (operator, other) {
                ('*', _) => value
                    .checked_mul(other)
                    .filter(|product| *product <= MAX_COUNT)
                    .ok_or_else(|| too_large(self.text))?,
                (_, 0) => return Err(UnitError(format!("`{}` divides by 0", self.text))),
                _ => value.div_ceil(other),
            };
        }
        Ok(value)
    }

    fn term(&mut self, depth: usize) -> Result<u64, UnitError> {
        if self.operator(&['(']).is_some() {
            if depth == Sum::DEEPEST {
                return Err(UnitError(format!("`{}` has too many parentheses", self.text)));
            }
            let value = self.sum(depth + 1)?;
            return match self.operator(&[')']) {
                Some(_) => Ok(value),
                None => Err(UnitError(format!("a `(` in `{}` is not closed", self.text))),
            };
        }
        let rest = &self.text[self.at..];
        // The sign of an exponent is none of ours.
        let mut before = ' ';
        let end = rest.char_indices().find(|(_, c)| {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            before = *c;
            matches!(c, '+' | '-' | '*' | '/' | '(' | ')') && !sign
        });
        let end = end.map_or(rest.len(), |(end, _)| end);
        self.at += end;
        // Where a number is to stand and none does, what stands there is what is wrong.
        count(if end == 0 { rest } else { &rest[..end] })
    }
}

/// `N` → `0..N`, `A..B` → `A..B` (B itself not included), `A..+N` → `A..A+N`; each an [`amount`]. An empty range is
/// no error here.
///
/// # Errors
/// A bound that is missing or no amount, and a range that runs backwards.
pub fn cycles(text: &str) -> Result<Range<u64>, UnitError> {
    let text = text.trim();
    let Some((first, last)) = text.split_once("..") else {
        return amount(text).map(|n| 0..n);
    };
    let missing = |which: &str| {
        UnitError(format!(
            "the {which} cycle is missing in `{text}`: write `A..B`, `A..+N`, or `N` for `0..N`"
        ))
    };
    if first.trim().is_empty() {
        return Err(missing("first"));
    }
    if last.trim().is_empty() {
        return Err(missing("last"));
    }
    let start = amount(first)?;
    let end = match last.trim_start().strip_prefix('+') {
        Some(length) => start
            .checked_add(amount(length)?)
            .filter(|end| *end <= MAX_COUNT)
            .ok_or_else(|| too_large(text))?,
        None => amount(last)?,
    };
    if start > end {
        return Err(UnitError(format!("`{text}` runs backwards: the first cycle is after the last")));
    }
    Ok(start..end)
}

/// `10s`, `250ms`, `1m`, `1.5 hours`; a bare number is milliseconds. To the nearest nanosecond.
///
/// # Errors
/// What is not a number, an unknown unit, more than 584 years.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let text = text.trim();
    let (number, unit) = number_and_unit(text)?;
    let nanoseconds = if unit.is_empty() { 1_000_000 } else { time_unit(unit, text)? };
    let total = match number.whole(nanoseconds) {
        Ok(Some(whole)) => u64::try_from(whole).ok(),
        _ => {
            let rounded = number.times(nanoseconds as f64).round();
            (rounded < u64::MAX as f64).then_some(rounded as u64)
        }
    };
    total.map(Duration::from_nanos).ok_or_else(|| UnitError(format!("`{text}` is too long a time")))
}

fn time_unit(unit: &str, text: &str) -> Result<u64, UnitError> {
    let lower = unit.to_lowercase();
    let singular = match lower.strip_suffix('s') {
        // `ms`, `us`, `ns` and `s` are no plurals.
        Some(rest) if rest.chars().count() > 1 => rest,
        _ => lower.as_str(),
    };
    TIME_UNITS
        .iter()
        .find(|(names, _)| names.contains(&lower.as_str()) || names.contains(&singular))
        .map(|(_, nanoseconds)| *nanoseconds)
        .ok_or_else(|| {
            UnitError(format!(
                "`{unit}` in `{text}` is not a unit of time: use ns, us, ms, s, m, h, d, w or y"
            ))
        })
}

/// A target rate: `2500`, `1.5k,1.2`, `100,1.1,restart`, `100,1.1,start,thread`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Starts per second, over 0.
    pub per_second: f64,
    /// How much faster than the rate lost time may be caught up: at least 1.0; 1.1 if not given.
    pub burst: f64,
    /// It holds for each thread by itself, not for all together.
    pub each_thread: bool,
}

impl Rate {
    /// A rate for all threads together.
    pub fn new(per_second: f64, burst: f64) -> Rate {
        Rate { per_second, burst, each_thread: false }
    }

    /// Starts per second of `threads` threads.
    pub fn of_threads(&self, threads: usize) -> f64 {
        if self.each_thread { self.per_second * threads as f64 } else { self.per_second }
    }
}

/// `rate[SEP burst[SEP verb[SEP scope]]]`, SEP one of `, : ;`. The verb (`configure`, `start`, `restart`)
/// changes nothing for a rate that is set once, and is only checked. The scope is `activity` (for all threads
/// together) or `thread`; it may stand without a verb.
///
/// # Errors
/// A rate that is not over 0, a burst under 1, an unknown verb or scope, more than four parts.
pub fn rate(text: &str) -> Result<Rate, UnitError> {
    let text = text.trim();
    let mut parts = text.split([',', ':', ';']);
    let first = parts.next().unwrap_or_default();
    let (number, unit) = number_and_unit(first)?;
    let per_second = number.times(count_unit(unit, first)? as f64);
    if !per_second.is_finite() || per_second <= 0.0 {
        return Err(UnitError(format!("`{first}` is not a rate: it must be over 0")));
    }
    let burst = match parts.next() {
        None => 1.1,
        Some(part) => match number_and_unit(part) {
            Ok((number, "")) if (1.0..f64::INFINITY).contains(&number.times(1.0)) => number.times(1.0),
            _ => {
                return Err(UnitError(format!(
                    "`{}` in `{text}` is not a burst ratio: it must be a number of at least 1.0",
                    part.trim()
                )));
            }
        },
    };
    let mut each_thread = false;
    let (mut verb, mut scope) = (None, None);
    for part in parts {
        let word = part.trim().to_lowercase();
        let twice = match word.as_str() {
            "configure" | "start" | "restart" => verb.replace(part).is_some() || scope.is_some(),
            "activity" | "thread" => {
                each_thread = word == "thread";
                scope.replace(part).is_some()
            }
            _ => {
                return Err(UnitError(format!(
                    "`{}` in `{text}` is not one of configure, start, restart, nor of activity, thread",
                    part.trim()
                )));
            }
        };
        if twice {
            return Err(UnitError(format!("`{text}` has more parts than `rate,burst,verb,scope`")));
        }
    }
    Ok(Rate { per_second, burst, each_thread })
}

/// How many logical threads: `N`, `auto` (10 × cores, at most the cycles), `Nx` (N × cores).
///
/// # Errors
/// What is none of these, no thread at all, and more than a million.
pub fn threads(text: &str, cores: usize, cycles: u64) -> Result<usize, UnitError> {
    let text = text.trim();
    let cores = u64::try_from(cores.max(1)).unwrap_or(1);
    let wanted = if text.eq_ignore_ascii_case("auto") {
        cores.saturating_mul(10).min(cycles).max(1)
    } else {
        let number = match text.strip_suffix(['x', 'X']) {
            Some(times) => count(times).map(|n| n.saturating_mul(cores)),
            None => count(text),
        };
        number.map_err(|UnitError(why)| {
            UnitError(format!("{why}; write a number, `auto`, or `4x` for 4 a core"))
        })?
    };
    match wanted {
        0 => Err(UnitError::new("no thread at all cannot run anything: write 1 or more")),
        n if n > MAX_THREADS => Err(UnitError(format!("`{text}` is {n} threads; the most is {MAX_THREADS}"))),
        n => usize::try_from(n).map_err(|_| too_large(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_mean_what_they_say() {
        let cases: &[(&str, u64)] = &[
            ("0", 0),
            ("50000", 50_000),
            ("50k", 50_000),
            ("50 K", 50_000),
            ("2kilo", 2_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            ("0.5k", 500),
            ("1e6", 1_000_000),
            ("1E6", 1_000_000),
            ("1.5e3", 1_500),
            ("2500e-2", 25),
            ("1e", 1_000_000_000_000_000_000),
            ("2B", 2_000_000_000),
            ("2g", 2_000_000_000),
            ("3T", 3_000_000_000_000),
            ("1P", 1_000_000_000_000_000),
            ("7U", 7),
            ("7unit", 7),
            ("2^10", 1024),
            ("2^10k", 1_024_000),
            ("1Ki", 1024),
            ("1.5Mi", 1_572_864),
            ("2gi", 2 << 30),
            ("MAX", i64::MAX as u64),
            ("9223372036854775807", i64::MAX as u64),
            ("0.000E", 0),
            (" 12 ", 12),
        ];
        for (text, expected) in cases {
            assert_eq!(count(text), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn amounts_are_sums_of_counts() {
        for (text, expected) in [
            ("5", 5),
            ("1k-1", 999),
            ("1000 - 0", 1000),
            ("10/4", 3),
            ("2+3*4", 14),
            ("(2+3)*4", 20),
            ("((1M)-(500k))/1k", 500),
            ("100-10-5", 85),
            ("100/10/3", 4),
            ("1e3-1E+2", 900),
            ("0/7", 0),
        ] {
            assert_eq!(amount(text), Ok(expected), "{text}");
        }
        for (text, part) in [
            ("", "missing"),
            ("-5", "`-5` is not a number"),
            ("3-", "missing"),
            ("3-5", "less than 0"),
            ("3/0", "divides by 0"),
            ("(3", "not closed"),
            ("3)", "closes nothing"),
            ("MAX+1", "too large"),
            ("MAX*2", "too large"),
            ("3*x", "`x` is not a number"),
            ("2 3", "`3` in `2 3` is not a unit"),
        ] {
            let UnitError(message) = amount(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(amount(&"(".repeat(100_000)).is_err());
        assert_eq!(cycles("(10-2)/4..+3*2"), Ok(2..8));
    }

    #[test]
    fn what_is_no_count_is_quoted() {
        let cases: &[(&str, &str)] = &[
            ("", "missing"),
            ("abc", "`abc` is not a number"),
            ("-5", "`-5` is not a number"),
            ("5x", "`x` in `5x` is not a unit"),
            ("5KB", "write `K`"),
            ("1.9", "not a whole number"),
            ("0.0005k", "not a whole number"),
            ("9223372036854775808", "too large"),
            ("10E", "too large"),
            ("1e400", "too large"),
            ("99999999999999999999999999999999999999999999", "too large"),
            ("2^200", "too large"),
            ("1.", "`.` in `1.`"),
            ("10é", "`é` in `10é`"),
        ];
        for (text, part) in cases {
            let UnitError(message) = count(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn cycles_are_a_count_or_a_range() {
        let cases: &[(&str, Range<u64>)] = &[
            ("50k", 0..50_000),
            ("0..1M", 0..1_000_000),
            ("5..15", 5..15),
            ("10..+5", 10..15),
            ("1k..+1k", 1_000..2_000),
            ("7..7", 7..7),
            ("0", 0..0),
        ];
        for (text, expected) in cases {
            assert_eq!(cycles(text), Ok(expected.clone()), "{text}");
        }
        for (text, part) in [
            ("10..5", "backwards"),
            ("..5", "first cycle is missing"),
            ("5..", "last cycle is missing"),
            ("5..x", "`x`"),
            ("1...5", "`.5`"),
            ("MAX..+1", "too large"),
        ] {
            let UnitError(message) = cycles(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn durations_have_units_and_are_milliseconds_without() {
        let cases: &[(&str, Duration)] = &[
            ("250", Duration::from_millis(250)),
            ("10s", Duration::from_secs(10)),
            ("1.5 s", Duration::from_millis(1500)),
            ("250ms", Duration::from_millis(250)),
            ("3us", Duration::from_micros(3)),
            ("3µs", Duration::from_micros(3)),
            ("40ns", Duration::from_nanos(40)),
            ("1m", Duration::from_secs(60)),
            ("1M", Duration::from_secs(60)),
            ("2 minutes", Duration::from_secs(120)),
            ("1 second", Duration::from_secs(1)),
            ("2h", Duration::from_secs(7200)),
            ("1d", Duration::from_secs(86_400)),
            ("1w", Duration::from_secs(604_800)),
            ("1y", Duration::from_secs(365 * 86_400)),
            ("1e3s", Duration::from_secs(1000)),
            ("0.3333333333s", Duration::from_nanos(333_333_333)),
            ("0", Duration::ZERO),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text), Ok(*expected), "{text}");
        }
        for (text, part) in [("", "missing"), ("5 apples", "`apples`"), ("s", "`s`"), ("1000y", "too long")] {
            let UnitError(message) = duration(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn rates_have_a_burst_and_a_verb() {
        let cases: &[(&str, f64, f64)] = &[
            ("2500", 2500.0, 1.1),
            ("1.5k", 1500.0, 1.1),
            ("0.25", 0.25, 1.1),
            ("2500,1.0", 2500.0, 1.0),
            ("2500:2", 2500.0, 2.0),
            ("100;1.1;restart", 100.0, 1.1),
            ("100,1.1,START", 100.0, 1.1),
        ];
        for (text, per_second, burst) in cases {
            assert_eq!(rate(text), Ok(Rate::new(*per_second, *burst)), "{text}");
        }
        for (text, each_thread) in
            [("100,1.1,start,thread", true), ("100,1.1,thread", true), ("100,1.1,start,activity", false)]
        {
            assert_eq!(rate(text), Ok(Rate { each_thread, ..Rate::new(100.0, 1.1) }), "{text}");
        }
        assert_eq!(Rate::new(100.0, 1.1).of_threads(5), 100.0);
        assert_eq!(Rate { each_thread: true, ..Rate::new(100.0, 1.1) }.of_threads(5), 500.0);
        for (text, part) in [
            ("0", "over 0"),
            ("-1", "`-1`"),
            ("100,0.9", "`0.9`"),
            ("100,", "at least 1.0"),
            ("100,1.1,jump", "`jump`"),
            ("100,1.1,start,x", "`x`"),
            ("100,1.1,start,thread,start", "more parts"),
            ("100,1.1,thread,activity", "more parts"),
            ("fast", "`fast`"),
        ] {
            let UnitError(message) = rate(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn threads_are_a_number_auto_or_a_multiple_of_the_cores() {
        for (text, cores, cycles, expected) in [
            ("25", 2, 100, 25),
            ("auto", 4, 1_000, 40),
            ("auto", 4, 7, 7),
            ("auto", 4, 0, 1),
            ("3x", 4, 5, 12),
            ("1k", 2, 5, 1000),
        ] {
            assert_eq!(threads(text, cores, cycles), Ok(expected), "{text}");
        }
        for (text, part) in [("0", "no thread"), ("many", "`many`"), ("", "missing"), ("1e9", "the most is")]
        {
            let UnitError(message) = threads(text, 2, 10).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[0-9.eE+^kKMxBi:,; MAauto\u{e9}-]{0,12}") {
            let _ = (count(&text), cycles(&text), duration(&text), rate(&text), threads(&text, 2, 10));
        }

        #[test]
        fn a_plain_number_is_itself(n in 0..=i64::MAX as u64) {
            prop_assert_eq!(count(&n.to_string()), Ok(n));
        }
    }
}
