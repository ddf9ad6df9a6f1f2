//! Joda-Time's date patterns, printed and read in UTC with English names, and the base times of the
//! reference.
//!
//! Letters are those of Joda's `DateTimeFormat`: `G C x w e E Y y D M d a K h H k m s S z Z`.

use super::EvalError;
use super::zone::{DAY, HOUR, MINUTE, SECOND};
use crate::value::calendar::{MONTHS, Moment, WEEKDAYS, days_of};
use crate::value::write_long;

/// How many letters a short name has.
const SHORT: usize = 3;
/// Years of two digits are read as those from 50 before this one to 49 behind it.
const PIVOT: i64 = 1_996;
/// The year of a text that has a month or a day but no year.
const DEFAULT_YEAR: i64 = 2_000;

/// A part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Century,
    Year,
    YearOfEra,
    WeekYear,
    Month,
    Week,
    Day,
    DayOfYear,
    DayOfWeek,
    HalfDay,
    Hour,
    ClockHour,
    HalfHour,
    ClockHalfHour,
    Minute,
    Second,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Literal(String),
    Era,
    /// At least and, when read, at most so many digits.
    Number {
        field: Field,
        least: usize,
        most: usize,
    },
    /// Exactly so many digits when read.
    Fixed {
        field: Field,
        digits: usize,
    },
    TwoDigitYear(Field),
    /// A name: of a month, a weekday or half a day.
    Name {
        field: Field,
        short: bool,
    },
    /// Digits of a second behind the point: so many printed, and at most `most` read.
    Fraction {
        least: usize,
        most: usize,
    },
    /// `+hhmm` or `+hh:mm`.
    Offset {
        colon: bool,
    },
    ZoneId,
    ZoneName {
        short: bool,
    },
}

/// A pattern, ready to print and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Item>);

/// A part of a pattern: a letter and how often it stands, or text.
enum Token {
    Letters(char, usize),
    Text(String),
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(first) = characters.peek().copied() {
        if first.is_ascii_alphabetic() {
            let mut count = 0;
            while characters.next_if_eq(&first).is_some() {
                count += 1;
            }
            tokens.push(Token::Letters(first, count));
            continue;
        }
        let mut text = String::new();
        let mut quoted = false;
        while let Some(c) = characters.peek().copied() {
            if c == '\'' {
                characters.next();
                if characters.next_if_eq(&'\'').is_some() {
                    text.push('\'');
                } else {
                    quoted = !quoted;
                }
            } else if !quoted && c.is_ascii_alphabetic() {
                break;
            } else {
                text.push(c);
                characters.next();
            }
        }
        tokens.push(Token::Text(text));
    }
    tokens
}

impl Token {
    /// Whether digits are read for it, so that what stands before must not take them.
    fn is_number(&self) -> bool {
        match self {
            Token::Letters(letter, count) => match letter {
                'c' | 'C' | 'x' | 'y' | 'Y' | 'd' | 'h' | 'H' | 'm' | 's' | 'S' | 'e' | 'D' | 'F' | 'w'
                | 'W' | 'k' | 'K' => true,
                'M' => *count <= 2,
                _ => false,
            },
            Token::Text(_) => false,
        }
    }
}

impl Pattern {
    /// The error says what is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<Pattern, String> {
        let tokens = tokens(pattern);
        if tokens.is_empty() {
            return Err("the date pattern is empty".to_owned());
        }
        let mut items = Vec::new();
        for (position, token) in tokens.iter().enumerate() {
            let Token::Letters(letter, count) = token else {
                if let Token::Text(text) = token {
                    items.push(Item::Literal(text.clone()));
                }
                continue;
            };
            let (letter, count) = (*letter, *count);
            let number = |field, most| Item::Number { field, least: count, most };
            let year = |field| {
                if count == 2 {
                    // Two digits are of the year, not of the year of its era.
                    let field = if matches!(field, Field::YearOfEra) { Field::Year } else { field };
                    return Item::TwoDigitYear(field);
                }
                let closed = tokens.get(position + 1).is_some_and(Token::is_number);
                Item::Number { field, least: count, most: if closed { count } else { 9 } }
            };
            items.push(match letter {
                'G' => Item::Era,
                'C' => number(Field::Century, count.max(9)),
                'y' => year(Field::Year),
                'Y' => year(Field::YearOfEra),
                'x' => year(Field::WeekYear),
                'M' if count >= 3 => Item::Name { field: Field::Month, short: count == 3 },
                'M' => number(Field::Month, 2),
                'd' => number(Field::Day, 2),
                'D' => number(Field::DayOfYear, 3),
                'w' => number(Field::Week, 2),
                'e' => number(Field::DayOfWeek, 1),
                'E' => Item::Name { field: Field::DayOfWeek, short: count < 4 },
                'a' => Item::Name { field: Field::HalfDay, short: false },
                'h' => number(Field::ClockHalfHour, 2),
                'H' => number(Field::Hour, 2),
                'k' => number(Field::ClockHour, 2),
                'K' => number(Field::HalfHour, 2),
                'm' => number(Field::Minute, 2),
                's' => number(Field::Second, 2),
                'S' => Item::Fraction { least: count, most: count },
                'z' => Item::ZoneName { short: count < 4 },
                'Z' if count >= 3 => Item::ZoneId,
                'Z' => Item::Offset { colon: count == 2 },
                letter => {
                    return Err(format!(
                        "the date pattern has a letter `{letter}` that means nothing: \
                                        put text between single quotes"
                    ));
                }
            });
        }
        Ok(Pattern(items))
    }

    /// Appends the time in this pattern.
    pub fn print(&self, millis: i64, out: &mut Vec<u8>) {
        let moment = Moment::of(millis);
        for item in &self.0 {
            match item {
                Item::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Item::Era => out.extend_from_slice(if moment.year > 0 { b"AD" } else { b"BC" }),
                Item::Number { field, least, .. } => write_padded(get(*field, &moment, millis), *least, out),
                Item::Fixed { field, digits } => write_padded(get(*field, &moment, millis), *digits, out),
                Item::TwoDigitYear(field) => {
                    write_padded((get(*field, &moment, millis) % 100).abs(), 2, out);
                }
                Item::Name { field, short } => {
                    let name = name(*field, get(*field, &moment, millis));
                    out.extend_from_slice(
                        if *short { name.get(..SHORT).unwrap_or(name) } else { name }.as_bytes(),
                    );
                }
                Item::Fraction { least, .. } => {
                    let digits = format!("{:03}", moment.milli);
                    out.extend(digits.bytes().chain(std::iter::repeat(b'0')).take(*least));
                }
                Item::Offset { colon: false } => out.extend_from_slice(b"+0000"),
                Item::Offset { colon: true } => out.extend_from_slice(b"+00:00"),
                Item::ZoneId | Item::ZoneName { short: true } => out.extend_from_slice(b"UTC"),
                Item::ZoneName { short: false } => out.extend_from_slice(b"Coordinated Universal Time"),
            }
        }
    }

    /// The time that a text in this pattern says; UTC, unless it has an offset of its own. None if the text
    /// has another form or says no time.
    pub fn parse(&self, text: &str) -> Option<i64> {
        let mut rest = text;
        let mut found: Vec<(Field, i64)> = Vec::new();
        let mut era = 1;
        let (mut milli, mut offset) = (0, 0);
        for item in &self.0 {
            match item {
                Item::Literal(literal) => {
                    let start =
                        rest.get(..literal.len()).filter(|start| start.eq_ignore_ascii_case(literal))?;
                    rest = &rest[start.len()..];
                }
                Item::Era => {
                    era = if take_word(&mut rest, "AD") {
                        1
                    } else if take_word(&mut rest, "BC") {
                        -1
                    } else {
                        return None;
                    };
                }
                Item::Number { field, most, .. } => {
                    let signed = matches!(field, Field::Year | Field::WeekYear | Field::Century);
                    found.push((*field, take_number(&mut rest, *most, signed)?));
                }
                Item::Fixed { field, digits } => {
                    let before = rest.len();
                    found.push((*field, take_number(&mut rest, *digits, false)?));
                    if before - rest.len() != *digits {
                        return None;
                    }
                }
                Item::TwoDigitYear(field) => {
                    let before = rest.len();
                    let year = take_number(&mut rest, 9, true)?;
                    let exact = before - rest.len() == 2 && (0..100).contains(&year);
                    let first = PIVOT - 50;
                    let year = if exact { first + (year - first).rem_euclid(100) } else { year };
                    found.push((*field, year));
                }
                Item::Name { field, .. } => {
                    let numbers = match field {
                        Field::HalfDay => 0..=1,
                        Field::Month => 1..=12,
                        _ => 1..=7,
                    };
                    // Whole names before their first letters.
                    let number = numbers.clone().find(|number| take_word(&mut rest, name(*field, *number)));
                    let number = number.or_else(|| {
                        numbers.into_iter().find(|number| {
                            take_word(&mut rest, name(*field, *number).get(..SHORT).unwrap_or("\0"))
                        })
                    })?;
                    found.push((*field, number));
                }
                Item::Fraction { most, .. } => {
                    let digits = rest.bytes().take(*most).take_while(u8::is_ascii_digit).count();
                    if digits == 0 {
                        return None;
                    }
                    let first: String =
                        rest[..digits].chars().chain(std::iter::repeat('0')).take(SHORT).collect();
                    milli = first.parse().ok()?;
                    rest = &rest[digits..];
                }
                Item::Offset { .. } => offset = take_offset(&mut rest)?,
                Item::ZoneId | Item::ZoneName { .. } => {
                    if !take_word(&mut rest, "UTC") {
                        return None;
                    }
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        time(&found, era, milli)?.checked_sub(offset)
    }
}

/// The value of a field.
fn get(field: Field, moment: &Moment, millis: i64) -> i64 {
    let year_of_era = moment.year_of_era();
    let hour = i64::from(moment.hour);
    match field {
        Field::Century => year_of_era / 100,
        Field::Year => moment.year,
        Field::YearOfEra => year_of_era,
        Field::WeekYear => week(moment, millis).0,
        Field::Week => week(moment, millis).1,
        Field::Month => moment.month.into(),
        Field::Day => moment.day.into(),
        Field::DayOfYear => millis.div_euclid(DAY) - days_of(moment.year, 1, 1) + 1,
        Field::DayOfWeek => moment.weekday.into(),
        Field::HalfDay => hour / 12,
        Field::Hour => hour,
        Field::ClockHour => (hour + 23) % 24 + 1,
        Field::HalfHour => hour % 12,
        Field::ClockHalfHour => (hour + 11) % 12 + 1,
        Field::Minute => moment.minute.into(),
        Field::Second => moment.second.into(),
    }
}

/// The year that the week belongs to, and its number there (ISO 8601: by its Thursday).
fn week(moment: &Moment, millis: i64) -> (i64, i64) {
    if (days_of(moment.year + 1, 1, 4) - 7).checked_mul(DAY).is_none() {
        // Joda counts the milliseconds of the next year's first week past the end, and so finds itself in it.
        return (Moment::of(millis.wrapping_add(7 * DAY)).year, 1);
    }
    let thursday = millis.div_euclid(DAY) + 4 - i64::from(moment.weekday);
    let year = thursday.checked_mul(DAY).map_or(moment.year, |millis| Moment::of(millis).year);
    (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
}

fn name(field: Field, number: i64) -> &'static str {
    let at = |names: &'static [&'static str], first: i64| {
        usize::try_from(number - first).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
    };
    match field {
        Field::Month => at(&MONTHS, 1),
        Field::HalfDay => at(&["AM", "PM"], 0),
        _ => at(&WEEKDAYS, 1),
    }
}

fn write_padded(number: i64, least: usize, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let number = number.unsigned_abs();
    let width = number.checked_ilog10().unwrap_or_default() as usize + 1;
    out.extend(std::iter::repeat_n(b'0', least.saturating_sub(width)));
    // Years have nine digits at most.
    write_long(number as i64, out);
}

fn take_word(rest: &mut &str, word: &str) -> bool {
    let found =
        !word.is_empty() && rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if found {
        *rest = &rest[word.len()..];
    }
    found
}

/// At most `most` digits, with a sign before them if there may be one.
fn take_number(rest: &mut &str, most: usize, signed: bool) -> Option<i64> {
    let sign = usize::from(signed && rest.starts_with(['-', '+']));
    let digits = rest.bytes().skip(sign).take(most).take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let (number, behind) = rest.split_at(sign + digits);
    *rest = behind;
    number.parse::<i32>().ok().map(i64::from)
}

/// `Z`, `+hh`, `+hhmm`, `+hh:mm` and so on down to seconds, in milliseconds.
fn take_offset(rest: &mut &str) -> Option<i64> {
    if take_word(rest, "Z") {
        return Some(0);
    }
    let sign = match rest.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    *rest = &rest[1..];
    let two = |rest: &mut &str, limit: i64| {
        let digits = rest.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
        let number = digits.parse::<i64>().ok().filter(|number| *number <= limit)?;
        *rest = &rest[2..];
        Some(number)
    };
    let mut offset = two(rest, 23)? * HOUR;
    let colon = rest.starts_with(':');
    for unit in [MINUTE, SECOND] {
        if rest.is_empty() {
            break;
        }
        if colon {
            *rest = rest.strip_prefix(':')?;
        } else if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        offset += two(rest, 59)? * unit;
    }
    Some(sign * offset)
}

/// The time that fields make; later ones win over earlier ones of the same meaning.
fn time(found: &[(Field, i64)], era: i64, milli: i64) -> Option<i64> {
    let last = |field: Field| found.iter().rev().find(|(known, _)| *known == field).map(|(_, value)| *value);
    let within = |value: i64, low: i64, high: i64| (low..=high).contains(&value).then_some(value);
    let has_day = [Field::Month, Field::Day].into_iter().any(|field| last(field).is_some());
    let year = match (last(Field::Year), last(Field::YearOfEra), last(Field::Century)) {
        (Some(year), ..) => year,
        (None, Some(year), _) => {
            within(year, 1, 292_278_993)?;
            if era > 0 { year } else { 1 - year }
        }
        (None, None, Some(century)) => century.checked_mul(100)?,
        _ if has_day => DEFAULT_YEAR,
        _ => 1970,
    };
    within(year, -292_275_054, 292_278_993)?;
    let mut days = if let Some(day) = last(Field::DayOfYear) {
        let first = days_of(year, 1, 1);
        first + within(day, 1, days_of(year + 1, 1, 1) - first)? - 1
    } else {
        let month = within(last(Field::Month).unwrap_or(1), 1, 12)?;
        let first = days_of(year, month as u8, 1);
        let next = if month == 12 { days_of(year + 1, 1, 1) } else { days_of(year, month as u8 + 1, 1) };
        first + within(last(Field::Day).unwrap_or(1), 1, next - first)? - 1
    };
    // A week has its own year, and its days follow from Monday.
    let monday = |days: i64| days - (days + 3).rem_euclid(7);
    if last(Field::WeekYear).is_some() || last(Field::Week).is_some() {
        let year = within(last(Field::WeekYear).unwrap_or(year), -292_275_054, 292_278_993)?;
        let first = monday(days_of(year, 1, 4));
        let weeks = (monday(days_of(year + 1, 1, 4)) - first) / 7;
        days = first + 7 * (within(last(Field::Week).unwrap_or(1), 1, weeks)? - 1);
    }
    if let Some(weekday) = last(Field::DayOfWeek) {
        days = monday(days) + within(weekday, 1, 7)? - 1;
    }
    let half = last(Field::HalfDay);
    let hour = if let Some(hour) = last(Field::Hour) {
        within(hour, 0, 23)?
    } else if let Some(hour) = last(Field::ClockHour) {
        within(hour, 1, 24)? % 24
    } else {
        let hour = match (last(Field::HalfHour), last(Field::ClockHalfHour)) {
            (Some(hour), _) => within(hour, 0, 11)?,
            (None, Some(hour)) => within(hour, 1, 12)? % 12,
            (None, None) => 0,
        };
        hour + 12 * half.unwrap_or(0)
    };
    let minute = within(last(Field::Minute).unwrap_or(0), 0, 59)?;
    let second = within(last(Field::Second).unwrap_or(0), 0, 59)?;
    days.checked_mul(DAY)?.checked_add(hour * HOUR + minute * MINUTE + second * SECOND + milli)
}

/// The time that the reference reads from a base such as `2017-01-01 23:59:59`: in the first of its forms
/// that the whole text has, in UTC.
pub fn base_time(text: &str) -> Result<i64, String> {
    let number = |field, least, most| Item::Number { field, least, most };
    let fixed = |field| Item::Fixed { field, digits: 2 };
    let literal = |text: &str| Item::Literal(text.to_owned());
    let basic = |fraction: bool| {
        let mut items = vec![
            number(Field::Year, 4, 4),
            fixed(Field::Month),
            fixed(Field::Day),
            literal("T"),
            fixed(Field::Hour),
            fixed(Field::Minute),
            fixed(Field::Second),
        ];
        if fraction {
            items.extend([literal("."), Item::Fraction { least: 3, most: 9 }]);
        }
        items.push(Item::Offset { colon: false });
        Some(Pattern(items))
    };
    let pattern = |pattern| Pattern::new(pattern).ok();
    [
        pattern("yyyy-MM-dd HH:mm:ss.SSSZ"),
        pattern("yyyy-MM-dd HH:mm:ss"),
        basic(true),
        basic(false),
        pattern("yyyy-MM-dd"),
        pattern("yyyyMMdd"),
        pattern("yyyyMM"),
        pattern("yyyy"),
    ]
    .into_iter()
    .flatten()
    .find_map(|pattern| pattern.parse(text))
    .ok_or_else(|| {
        format!(
            "`{text}` is not a time: write one as in `2017-01-01`, `2017-01-01 23:59:59`, \
             `2017-01-01 23:59:59.000+0000` or `20170101T235959Z`"
        )
    })
}

/// The cycle's error for a text that has another form.
#[cold]
pub fn unreadable(text: &str, pattern: &str) -> Box<EvalError> {
    EvalError::boxed("RuntimeException", format!("{text:?} is not a time in the form `{pattern}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pattern: &str, millis: i64) -> Result<String, String> {
        let mut out = Vec::new();
        Pattern::new(pattern)?.print(millis, &mut out);
        String::from_utf8(out).map_err(|error| error.to_string())
    }

    /// 2024-02-29T13:05:09.070Z, a Thursday.
    const LEAP_DAY: i64 = 1_709_211_909_070;

    #[test]
    fn times_are_printed_as_joda_prints_them() {
        for (pattern, millis, expected) in [
            ("yyyy-MM-dd'T'HH:mm:ss.SSS", LEAP_DAY, "2024-02-29T13:05:09.070"),
            ("yy M d H:m:s", LEAP_DAY, "24 2 29 13:5:9"),
            ("EEE, EEEE MMM MMMM", LEAP_DAY, "Thu, Thursday Feb February"),
            ("hh KK kk a", LEAP_DAY, "01 01 13 PM"),
            ("hh KK kk HH a", 0, "12 00 24 00 AM"),
            ("S SS SSSSS", LEAP_DAY, "0 07 07000"),
            ("xxxx-'W'ww-e DDD", LEAP_DAY, "2024-W09-4 060"),
            ("xxxx ww", 1_230_768_000_000, "2009 01"),
            ("G C YYYY", LEAP_DAY, "AD 20 2024"),
            ("G YYYY yyyy", -62_198_755_200_000, "BC 0002 -0001"),
            ("Z ZZ ZZZ z zzzz", 0, "+0000 +00:00 UTC UTC Coordinated Universal Time"),
            ("yyyy''MM 'o''clock'", 0, "1970'01 o'clock"),
            ("hh:mm:ss'Z", 0, "12:00:00Z"),
            ("yyyy", i64::MAX, "292278994"),
            ("yyyy-MM-dd HH:mm:ss", i64::MIN, "-292275055-05-16 16:47:04"),
        ] {
            assert_eq!(printed(pattern, millis).as_deref(), Ok(expected), "{pattern}");
        }
        for pattern in ["", "yyyy b", "T"] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn times_are_read_as_joda_reads_them() {
        const NOON: i64 = 43_200_000;
        for (pattern, text, expected) in [
            ("yyyy-MM-dd", "2020-02-29", Some(1_582_934_400_000)),
            ("yyyy-MM-dd", "2020-2-9", Some(1_581_206_400_000)),
            ("yyyy-MM-dd", "2021-02-29", None),
            ("yyyy-MM-dd", "2021-02-2x", None),
            ("yyyy-MM-dd", "x", None),
            ("yyyy-MM-dd HH:mm:ss.SSSZ", "1970-01-01 12:00:00.5+0100", Some(NOON + 500 - HOUR)),
            ("yyyy-MM-dd HH:mm:ss.SSSZ", "1970-01-01 12:00:00.000Z", Some(NOON)),
            ("MM-dd", "01-02", Some(946_771_200_000)),
            ("HH:mm", "12:00", Some(NOON)),
            ("hh a", "12 pm", Some(NOON)),
            ("dd MMM yyyy", "01 january 1970", Some(0)),
            ("EEE dd MMM yy", "Thu 01 Jan 70", Some(0)),
            ("yyyyMMdd", "19700102", Some(DAY)),
            ("DDD yyyy", "002 1970", Some(DAY)),
            ("xxxx-'W'ww-e", "2024-W09-4", Some(1_709_164_800_000)),
            ("G YYYY", "BC 0002", Some(-62_198_755_200_000)),
        ] {
            assert_eq!(Pattern::new(pattern).expect(pattern).parse(text), expected, "{pattern} of {text}");
        }
    }

    #[test]
    fn bases_have_the_references_forms() {
        for (text, expected) in [
            ("2017-01-01 23:59:59", Some(1_483_315_199_000)),
            ("2017-01-01 23:59:59.001+0100", Some(1_483_311_599_001)),
            ("20170101T235959.250Z", Some(1_483_315_199_250)),
            ("20170101T235959Z", Some(1_483_315_199_000)),
            ("20170101T235959-01:00", Some(1_483_318_799_000)),
            ("2017-01-01", Some(1_483_228_800_000)),
            ("20170101", Some(1_483_228_800_000)),
            ("201702", Some(1_485_907_200_000)),
            ("2017", Some(1_483_228_800_000)),
            ("2017-01-01T23:59:59", None),
            ("", None),
            ("yesterday", None),
        ] {
            assert_eq!(base_time(text).ok(), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_printed_reads_back(millis in -60_000_000_000_000i64..250_000_000_000_000) {
            for pattern in [
                "yyyy-MM-dd'T'HH:mm:ss.SSSZZ", "DDD yyyy kk:mm:ss.SSS", "e ww xxxx hh:mm:ss.SSS a",
                "d MMMM Y G K:m:s.SSS a",
            ] {
                let text = printed(pattern, millis).expect(pattern);
                proptest::prop_assert_eq!(Pattern::new(pattern).expect(pattern).parse(&text), Some(millis));
            }
        }

        #[test]
        fn no_text_panics(pattern: String, text: String, millis: i64) {
            if let Ok(pattern) = Pattern::new(&pattern) {
                let _ = pattern.parse(&text);
                pattern.print(millis, &mut Vec::new());
            }
            let _ = base_time(&text);
        }
    }
}
