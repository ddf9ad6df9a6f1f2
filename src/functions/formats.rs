//! Numbers and other values in a format: `java.lang.String.format` and `java.text.DecimalFormat`, in English.

use super::function::text_value;
use super::{
    Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal, Type,
};
use crate::value::calendar::{Moment, short};
use crate::value::{JavaKey, Value};
use std::fmt::Write as _;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&FORMAT, &DECIMAL_FORMAT];

const ONE_TEXT: &[Constructor] = &[Constructor::of(&[Type::String])];

static FORMAT: FunctionRow = FunctionRow {
    name: "Format",
    category: Category::Conversion,
    doc: "a value in a format of Java's String.format, such as `<%s>`, `%08d` or `%.2f`",
    notes: "conversions are b c d e f g h o s x a, their upper-case forms, t with a letter for dates, % and n; a \
            value of another type than the conversion takes is an error",
    examples: &[
        Example("NumberNameToString(); Format('<%s>')", 1, "<one>"),
        Example("Identity(); Format('%08d')", 42, "00000042"),
        Example("HashRange(0.0d,10.0d); Format('%.2f')", 1, "6.82"),
    ],
    overloads: &[Overload::new("formatting", Type::Object, Type::String, ONE_TEXT, |arguments| {
        let pieces = pieces(arguments.text(0)?).map_err(|message| Refusal::new(message).at(0))?;
        Ok(Function::object_to_object(move |value, _| {
            let mut out = String::new();
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Spec(spec) => spec.write(&value, &mut out)?,
                }
            }
            Ok(text_value(out.into_bytes()))
        }))
    })],
    ..FunctionRow::NEW
};

enum Piece {
    Text(String),
    Spec(Spec),
}

/// `%[flags][width][.precision]conversion`.
#[derive(Default)]
struct Spec {
    flags: String,
    width: usize,
    precision: Option<usize>,
    /// In lower case.
    conversion: char,
    upper: bool,
    /// The letter behind a `t`.
    date: Option<char>,
}

/// A field wider than this is a slip.
const WIDEST: usize = 1_000_000;

/// The error says what is wrong with the format.
fn pieces(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = format;
    let mut ordinary = 0;
    while let Some(at) = rest.find('%') {
        pieces.push(Piece::Text(rest[..at].to_owned()));
        let spec = &rest[at + 1..];
        let fault =
            |what: &str| format!("`%{}` in the format {what}", spec.chars().take(10).collect::<String>());
        let wrong = |what: &str| Err(fault(what));
        let mut behind = spec;
        let number = |behind: &mut &str| -> Option<usize> {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = behind.split_at(digits);
            *behind = after;
            digits.parse().ok()
        };
        // `1$` is the one value there is.
        let mut explicit = false;
        let mut after_index = behind;
        if !behind.starts_with('0')
            && let Some(index) = number(&mut after_index)
            && let Some(after) = after_index.strip_prefix('$')
        {
            if index != 1 {
                return wrong("names a value that is not there: there is one alone");
            }
            explicit = true;
            behind = after;
        }
        let mut parsed = Spec::default();
        while let Some(flag) = behind.chars().next().filter(|c| "-#+ 0,(<".contains(*c)) {
            if flag == '<' {
                if ordinary == 0 {
                    return wrong("has nothing before it");
                }
                explicit = true;
            } else if parsed.flags.contains(flag) {
                return wrong("has a flag twice");
            } else {
                parsed.flags.push(flag);
            }
            behind = &behind[1..];
        }
        if behind.starts_with(|c: char| c.is_ascii_digit()) {
            parsed.width = match number(&mut behind) {
                Some(width) if width <= WIDEST => width,
                _ => return wrong("is too wide"),
            };
        }
        if let Some(after) = behind.strip_prefix('.') {
            behind = after;
            parsed.precision = match number(&mut behind) {
                Some(precision) if precision <= WIDEST => Some(precision),
                _ => return wrong("has no precision behind the point"),
            };
        }
        let mut characters = behind.chars();
        let Some(conversion) = characters.next() else { return wrong("ends without a conversion") };
        parsed.conversion = conversion.to_ascii_lowercase();
        parsed.upper = conversion.is_ascii_uppercase();
        if parsed.conversion == 't' {
            parsed.date = characters.next();
            if parsed.date.is_none_or(|date| !DATE_LETTERS.contains(date)) {
                return wrong("is no conversion of a date");
            }
        }
        rest = characters.as_str();
        match conversion {
            'n' => {
                if parsed.width > 0 || parsed.precision.is_some() || !parsed.flags.is_empty() {
                    return wrong("takes no flags, width or precision");
                }
                pieces.push(Piece::Text("\n".to_owned()));
                continue;
            }
            '%' if parsed.precision.is_none() && parsed.flags.trim_matches('-').is_empty() => {
                let mut text = String::new();
                parsed.pad("%", &mut text);
                pieces.push(Piece::Text(text));
                continue;
            }
            _ => {}
        }
        parsed.check().map_err(|message| fault(&message))?;
        if !explicit {
            ordinary += 1;
            if ordinary > 1 {
                return wrong("has no value: there is one alone; `%1$` names it again");
            }
        } else {
            ordinary = ordinary.max(1);
        }
        pieces.push(Piece::Spec(parsed));
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

const DATE_LETTERS: &str = "HIklMSLNpzZsQBbhAaCYyjmdeRTrDFc";

impl Spec {
    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Which flags the conversion takes.
    fn check(&self) -> Result<(), String> {
        let allowed = match (self.conversion, self.upper) {
            ('s' | 'b' | 'h' | 'c' | 't', _) => "-",
            ('d', false) => "-+ 0,(",
            ('o', false) | ('x', _) => "-#0+ (",
            ('e', _) => "-#+ 0(",
            ('g', _) => "-+ 0,(",
            ('f', false) => "-#+ 0,(",
            ('a', _) => "-#+ 0",
            _ => return Err("is no conversion: write for instance `%s`, `%d` or `%.2f`".to_owned()),
        };
        if let Some(flag) = self.flags.chars().find(|flag| !allowed.contains(*flag)) {
            return Err(format!("does not take the flag `{flag}`"));
        }
        if (self.has('-') || self.has('0')) && self.width == 0 {
            return Err("has no width, which its flags need".to_owned());
        }
        if (self.has('-') && self.has('0')) || (self.has('+') && self.has(' ')) {
            return Err("has flags that exclude each other".to_owned());
        }
        if self.precision.is_some() && matches!(self.conversion, 'c' | 'd' | 'o' | 'x' | 't') {
            return Err("takes no precision".to_owned());
        }
        Ok(())
    }

    /// `text` in the field's width.
    fn pad(&self, text: &str, out: &mut String) {
        let blanks = self.width.saturating_sub(text.encode_utf16().count());
        if self.has('-') {
            out.push_str(text);
        }
        out.extend(std::iter::repeat_n(' ', blanks));
        if !self.has('-') {
            out.push_str(text);
        }
    }

    fn write_text(&self, text: &str, out: &mut String) {
        let text = match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text.to_owned(),
        };
        self.pad(&if self.upper { text.to_uppercase() } else { text }, out);
    }

    fn wrong_type(&self, value: &Value) -> Box<EvalError> {
        EvalError::boxed(
            "IllegalFormatConversionException",
            format!("`%{}` does not take a {}", self.conversion, value.type_name()),
        )
    }

    fn write(&self, value: &Value, out: &mut String) -> Eval<()> {
        match (self.conversion, value) {
            ('s', value) => self.write_text(&value.text(), out),
            ('b', Value::Null) => self.write_text("false", out),
            ('b', Value::Bool(bool)) => self.write_text(if *bool { "true" } else { "false" }, out),
            ('b', _) => self.write_text("true", out),
            (_, Value::Null) => self.write_text("null", out),
            ('h', value) => self.write_text(&format!("{:x}", value.java_hash()), out),
            ('c', Value::Byte(_) | Value::Short(_) | Value::Int(_)) => {
                let code = integer(value).unwrap_or_default();
                let c = u32::try_from(code).ok().and_then(char::from_u32).ok_or_else(|| {
                    EvalError::boxed("IllegalFormatCodePointException", format!("{code} is no character"))
                })?;
                self.write_text(c.encode_utf8(&mut [0; 4]), out);
            }
            ('d' | 'o' | 'x', value) => {
                let number = integer(value).ok_or_else(|| self.wrong_type(value))?;
                if self.conversion == 'd' || matches!(value, Value::BigInteger(_)) {
                    self.write_integer(number, out);
                } else {
                    self.write_bits(number, value, out)?;
                }
            }
            ('e' | 'f' | 'g' | 'a', value) => self.write_decimal(value, out)?,
            ('t', value) => {
                let text = self.date(value).ok_or_else(|| self.wrong_type(value))?;
                self.write_text(&text, out);
            }
            (_, value) => return Err(self.wrong_type(value)),
        }
        Ok(())
    }

    /// The signs around a number.
    fn signs(&self, negative: bool) -> (&'static str, &'static str) {
        match (negative, self.has('(')) {
            (true, true) => ("(", ")"),
            (true, false) => ("-", ""),
            (false, _) if self.has('+') => ("+", ""),
            (false, _) if self.has(' ') => (" ", ""),
            (false, _) => ("", ""),
        }
    }

    /// Digits with signs, groups and zeros as the flags say; `tail` stands behind the digits.
    fn write_digits(&self, negative: bool, digits: &str, tail: &str, out: &mut String) {
        let (before, after) = self.signs(negative);
        let mut text = String::new();
        if self.has(',') {
            let whole = digits.find('.').unwrap_or(digits.len());
            for (position, digit) in digits.chars().enumerate() {
                if position > 0 && position < whole && (whole - position).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
        } else {
            text.push_str(digits);
        }
        let used = before.len() + text.len() + tail.len() + after.len();
        let zeros = if self.has('0') { self.width.saturating_sub(used) } else { 0 };
        let text = format!("{before}{}{text}{tail}{after}", "0".repeat(zeros));
        self.pad(&if self.upper { text.to_uppercase() } else { text }, out);
    }

    fn write_integer(&self, number: i64, out: &mut String) {
        let magnitude = number.unsigned_abs();
        let digits = match (self.conversion, self.has('#')) {
            ('o', true) => format!("0{magnitude:o}"),
            ('o', false) => format!("{magnitude:o}"),
            ('x', true) => format!("0x{magnitude:x}"),
            ('x', false) => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        self.write_digits(number < 0, &digits, "", out);
    }

    /// Octal or hexadecimal digits of the bits of a number of a fixed size.
    fn write_bits(&self, number: i64, value: &Value, out: &mut String) -> Eval<()> {
        if self.has('+') || self.has(' ') || self.has('(') {
            return Err(EvalError::boxed(
                "FormatFlagsConversionMismatchException",
                format!("`%{}` of a {} takes no sign", self.conversion, value.type_name()),
            ));
        }
        let bits = match value {
            Value::Byte(v) => u64::from(*v as u8),
            Value::Short(v) => u64::from(*v as u16),
            Value::Int(v) => u64::from(*v as u32),
            _ => number as u64,
        };
        let (mark, digits) =
            if self.conversion == 'o' { ("0", format!("{bits:o}")) } else { ("0x", format!("{bits:x}")) };
        let mark = if self.has('#') { mark } else { "" };
        let zeros = if self.has('0') { self.width.saturating_sub(mark.len() + digits.len()) } else { 0 };
        let text = format!("{mark}{}{digits}", "0".repeat(zeros));
        self.pad(&if self.upper { text.to_uppercase() } else { text }, out);
        Ok(())
    }

    fn write_decimal(&self, value: &Value, out: &mut String) -> Eval<()> {
        let double = match value {
            Value::Double(double) => Some(*double),
            Value::Float(float) => Some(f64::from(*float)),
            Value::BigDecimal(_) | Value::Decimal128(_) if self.conversion != 'a' => None,
            _ => return Err(self.wrong_type(value)),
        };
        if let Some(double) = double.filter(|double| !double.is_finite()) {
            let text = if double.is_nan() {
                "NaN".to_owned()
            } else {
                let (before, after) = self.signs(double < 0.0);
                format!("{before}Infinity{after}")
            };
            self.pad(&if self.upper { text.to_uppercase() } else { text }, out);
            return Ok(());
        }
        if let (Some(double), 'a') = (double, self.conversion) {
            let (digits, exponent) = hexadecimal(double.abs(), self.precision);
            let (before, _) = self.signs(double.is_sign_negative());
            let used = before.len() + 2 + digits.len() + exponent.len();
            let zeros = if self.has('0') { self.width.saturating_sub(used) } else { 0 };
            let text = format!("{before}0x{}{digits}{exponent}", "0".repeat(zeros));
            self.pad(&if self.upper { text.to_uppercase() } else { text }, out);
            return Ok(());
        }
        let (negative, decimal) = match double {
            Some(double) => (double.is_sign_negative(), Decimal::shortest(double.abs())),
            None => {
                let text = value.text();
                let decimal =
                    Decimal::read(text.trim_start_matches('-')).ok_or_else(|| self.wrong_type(value))?;
                (text.starts_with('-'), decimal)
            }
        };
        if self.conversion == 'f' && decimal.point > WIDEST as i64 {
            return Err(EvalError::boxed(
                "OutOfMemoryError",
                format!("{} digits are more than the {WIDEST} that are written at most", decimal.point),
            ));
        }
        let precision = self.precision.unwrap_or(6);
        let scientific = |precision: usize| {
            let rounded = decimal.rounded(1 + precision as i64);
            let exponent = if rounded.is_zero() { 0 } else { rounded.point - 1 };
            let sign = if exponent < 0 { '-' } else { '+' };
            (rounded.digits_from_first(precision), format!("e{sign}{:02}", exponent.unsigned_abs()))
        };
        let (mut digits, tail) = match self.conversion {
            'f' => (decimal.rounded(decimal.point + precision as i64).plain(precision), String::new()),
            'e' => scientific(precision),
            _ => {
                let precision = precision.max(1);
                let rounded = decimal.rounded(precision as i64);
                if rounded.is_zero() {
                    (rounded.plain(precision - 1), String::new())
                } else if rounded.point - 1 < -4 || rounded.point > precision as i64 {
                    scientific(precision - 1)
                } else {
                    let behind = (precision as i64 - rounded.point).max(0) as usize;
                    (rounded.plain(behind), String::new())
                }
            }
        };
        if self.has('#') && !digits.contains('.') {
            digits.push('.');
        }
        self.write_digits(negative, &digits, &tail, out);
        Ok(())
    }

    /// A part of a date.
    fn date(&self, value: &Value) -> Option<String> {
        let (millis, whole) = match value {
            Value::Long(millis) | Value::Date(millis) | Value::DateTime(millis) => (*millis, true),
            Value::LocalTime(millis) => (*millis, false),
            _ => return None,
        };
        let letter = self.date?;
        if !whole && !"HIklMSLNpRTr".contains(letter) {
            return None;
        }
        let mut out = String::new();
        write_date(letter, millis, &mut out);
        Some(out)
    }
}

fn integer(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Byte(v) => i64::from(*v),
        Value::Short(v) => i64::from(*v),
        Value::Int(v) => i64::from(*v),
        Value::Long(v) | Value::BigInteger(v) => *v,
        _ => return None,
    })
}

/// A part of a time in UTC, by Java's letter for it.
fn write_date(letter: char, millis: i64, out: &mut String) {
    let at = Moment::of_date(millis);
    let (year, month, weekday) = (at.year_of_era(), at.month_name(), at.weekday_name());
    let clock = |hour: u8| (hour + 11) % 12 + 1;
    let half = if at.hour < 12 { "am" } else { "pm" };
    // Writing to a String cannot fail.
    let _ = match letter {
        'H' => write!(out, "{:02}", at.hour),
        'I' => write!(out, "{:02}", clock(at.hour)),
        'k' => write!(out, "{}", at.hour),
        'l' => write!(out, "{}", clock(at.hour)),
        'M' => write!(out, "{:02}", at.minute),
        'S' => write!(out, "{:02}", at.second),
        'L' => write!(out, "{:03}", at.milli),
        'N' => write!(out, "{:09}", u32::from(at.milli) * 1_000_000),
        'p' => write!(out, "{half}"),
        'z' => write!(out, "+0000"),
        'Z' => write!(out, "UTC"),
        's' => write!(out, "{}", millis / 1000),
        'Q' => write!(out, "{millis}"),
        'B' => write!(out, "{month}"),
        'b' | 'h' => write!(out, "{}", short(month)),
        'A' => write!(out, "{weekday}"),
        'a' => write!(out, "{}", short(weekday)),
        'C' => write!(out, "{:02}", year / 100),
        'Y' => write!(out, "{year:04}"),
        'y' => write!(out, "{:02}", year % 100),
        'j' => {
            let first = Moment { month: 1, day: 1, ..at };
            let days = crate::value::calendar::days_of(at.year, at.month, at.day)
                - crate::value::calendar::days_of(first.year, 1, 1);
            write!(out, "{:03}", days + 1)
        }
        'm' => write!(out, "{:02}", at.month),
        'd' => write!(out, "{:02}", at.day),
        'e' => write!(out, "{}", at.day),
        'R' => write!(out, "{:02}:{:02}", at.hour, at.minute),
        'T' => write!(out, "{:02}:{:02}:{:02}", at.hour, at.minute, at.second),
        'r' => {
            write!(out, "{:02}:{:02}:{:02} {}", clock(at.hour), at.minute, at.second, half.to_uppercase())
        }
        'D' => write!(out, "{:02}/{:02}/{:02}", at.month, at.day, year % 100),
        'F' => write!(out, "{year:04}-{:02}-{:02}", at.month, at.day),
        _ => write!(
            out,
            "{} {} {:02} {:02}:{:02}:{:02} UTC {year}",
            short(weekday),
            short(month),
            at.day,
            at.hour,
            at.minute,
            at.second
        ),
    };
}

/// `Double.toHexString` without its `0x`: digits, and exponent with its `p`. Precision as `%a` has it.
fn hexadecimal(value: f64, precision: Option<usize>) -> (String, String) {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let (mut fraction, exponent) = (bits & ((1 << FRACTION) - 1), (bits >> FRACTION & 0x7ff) as i32);
    if value == 0.0 {
        return (format!("0.{}", "0".repeat(precision.unwrap_or(1).max(1))), "p0".to_owned());
    }
    let (mut whole, mut exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let places = precision.map(|precision| precision.max(1)).filter(|places| *places < 13);
    if let Some(places) = places {
        // A subnormal number is brought to the form of others before it is rounded.
        if whole == 0 {
            let shift = fraction.leading_zeros() - (63 - FRACTION);
            fraction = fraction << shift & ((1 << FRACTION) - 1);
            exponent -= shift as i32;
            whole = 1;
        }
        let drop = FRACTION - 4 * places as u32;
        let (kept, rest, half) = (fraction >> drop, fraction & ((1 << drop) - 1), 1u64 << (drop - 1));
        let up = rest > half || (rest == half && kept & 1 == 1);
        let kept = kept + u64::from(up);
        if kept >> (4 * places) == 1 {
            exponent += 1;
        }
        let kept = kept & ((1 << (4 * places)) - 1);
        return (format!("{whole}.{kept:0places$x}"), format!("p{exponent}"));
    }
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let least = precision.unwrap_or(1).max(1);
    (format!("{whole}.{digits:0<least$}"), format!("p{exponent}"))
}

/// A number from 0 up as decimal digits: 0.`digits` × 10^`point`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    /// Digits as numbers, without zeros in front and behind; none for zero.
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    fn new(digits: impl Iterator<Item = u8>, point: i64) -> Decimal {
        let mut point = point;
        let mut digits: Vec<u8> = digits.collect();
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        point -= zeros as i64;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            point = 0;
        }
        Decimal { digits, point }
    }

    /// The shortest digits that read back as the double.
    fn shortest(value: f64) -> Decimal {
        Decimal::read(&format!("{value:e}")).unwrap_or(Decimal { digits: Vec::new(), point: 0 })
    }

    /// All digits of the double.
    fn exact(value: f64) -> Decimal {
        // No double has more than 767.
        Decimal::read(&format!("{value:.767e}")).unwrap_or(Decimal { digits: Vec::new(), point: 0 })
    }

    /// The digits that Java had before it took the shortest ones, and that its DecimalFormat still takes: those
    /// of a whole number from 2^53 up are its own, but for the last, which lie within half of what sets it
    /// apart from the next double.
    fn legacy(value: f64) -> Decimal {
        const EXACT_BITS: i32 = 53;
        let binary_exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let whole = (EXACT_BITS..=62).contains(&binary_exponent);
        if !whole {
            return Decimal::shortest(value);
        }
        // ⌊log10⌋ of the power of two that the last bit counts, halved.
        let insignificant = match binary_exponent - EXACT_BITS - 1 {
            power @ 2.. => (1u64 << power).ilog10(),
            _ => 0,
        };
        let unit = 10u64.pow(insignificant);
        let number = value as u64;
        let rounded = number / unit + u64::from(insignificant > 0 && number % unit >= unit / 2);
        let digits = rounded.to_string();
        Decimal::new(digits.bytes().map(|b| b - b'0'), digits.len() as i64 + i64::from(insignificant))
    }

    /// `123.45`, `1.2345e2`.
    fn read(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let whole = mantissa.find('.').unwrap_or(mantissa.len());
        if !mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0');
        Some(Decimal::new(digits, whole as i64 + exponent))
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    fn digit(&self, at: i64) -> u8 {
        usize::try_from(at).ok().and_then(|at| self.digits.get(at)).copied().unwrap_or(0)
    }

    /// With at most so many digits, half a unit and more rounded up.
    fn rounded(&self, count: i64) -> Decimal {
        self.cut(count, self.digit(count) >= 5)
    }

    /// The first `count` digits, and one of the last more if `up`.
    fn cut(&self, count: i64, up: bool) -> Decimal {
        if count >= self.digits.len() as i64 {
            return self.clone();
        }
        let Ok(kept) = usize::try_from(count) else { return Decimal { digits: Vec::new(), point: 0 } };
        let mut digits = self.digits[..kept].to_vec();
        let mut point = self.point;
        if up {
            while digits.last() == Some(&9) {
                digits.pop();
            }
            match digits.last_mut() {
                Some(last) => *last += 1,
                None => {
                    digits.push(1);
                    point += 1;
                }
            }
        }
        Decimal::new(digits.into_iter(), point)
    }

    /// Without an exponent, with so many digits behind the point.
    fn plain(&self, behind: usize) -> String {
        let mut text = String::new();
        let whole = self.point.max(1);
        for position in 0..whole {
            text.push(char::from(b'0' + self.digit(self.point - whole + position)));
        }
        if behind > 0 {
            text.push('.');
            for position in 0..behind as i64 {
                text.push(char::from(b'0' + self.digit(self.point + position)));
            }
        }
        text
    }

    /// One digit, a point and so many more.
    fn digits_from_first(&self, behind: usize) -> String {
        let mut text = String::new();
        text.push(char::from(b'0' + self.digit(0)));
        if behind > 0 {
            text.push('.');
            text.extend((1..=behind as i64).map(|at| char::from(b'0' + self.digit(at))));
        }
        text
    }
}

static DECIMAL_FORMAT: FunctionRow = FunctionRow {
    name: "DecimalFormat",
    category: Category::Conversion,
    doc: "a number in a pattern of Java's DecimalFormat, such as `0.00`, `#,##0.###` or `0.##E0`",
    notes: "rounds half to even by the exact value, with English signs; currency signs are not built",
    examples: &[
        Example("HashRange(0.0d,10.0d); DecimalFormat('.##')", 1, "6.82"),
        Example("Identity(); DecimalFormat('#,##0.00')", 1234567, "1,234,567.00"),
    ],
    overloads: &[Overload::new("formatting", Type::Double, Type::String, ONE_TEXT, |arguments| {
        let format =
            DecimalPattern::new(arguments.text(0)?).map_err(|message| Refusal::new(message).at(0))?;
        Ok(Function::double_to_text(move |v, _, out| {
            out.extend_from_slice(format.format(v).as_bytes());
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

/// A pattern of `java.text.DecimalFormat`.
#[derive(Debug, Default, PartialEq)]
struct DecimalPattern {
    positive: (String, String),
    negative: (String, String),
    multiplier: f64,
    least_whole: i64,
    most_whole: i64,
    least_behind: i64,
    most_behind: i64,
    /// Digits of a group; 0 for no groups.
    group: i64,
    always_point: bool,
    /// Least digits of the exponent.
    exponent: Option<usize>,
}

/// More digits than this a double never has.
const ALL_DIGITS: i64 = 340;

impl DecimalPattern {
    fn new(pattern: &str) -> Result<DecimalPattern, String> {
        if pattern.is_empty() {
            return Ok(DecimalPattern {
                negative: ("-".to_owned(), String::new()),
                multiplier: 1.0,
                most_whole: ALL_DIGITS,
                most_behind: ALL_DIGITS,
                group: 3,
                ..DecimalPattern::default()
            });
        }
        let characters: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        let mut made = DecimalPattern { multiplier: 1.0, ..DecimalPattern::default() };
        let prefix = made.affix(&characters, &mut at)?;
        made.number(&characters, &mut at)?;
        let suffix = made.affix(&characters, &mut at)?;
        made.negative = (format!("-{prefix}"), suffix.clone());
        made.positive = (prefix, suffix);
        if characters.get(at) == Some(&';') {
            at += 1;
            let mut other = DecimalPattern::default();
            let prefix = other.affix(&characters, &mut at)?;
            // Its number says nothing.
            while characters.get(at).is_some_and(|c| "#0,.E".contains(*c)) {
                at += 1;
            }
            let suffix = other.affix(&characters, &mut at)?;
            if (&prefix, &suffix) != (&made.positive.0, &made.positive.1) {
                made.negative = (prefix, suffix);
            }
        }
        match characters.get(at) {
            None => Ok(made),
            Some(c) => Err(format!("the pattern has a `{c}` where it should end")),
        }
    }

    /// The text before or behind the number.
    fn affix(&mut self, characters: &[char], at: &mut usize) -> Result<String, String> {
        let mut text = String::new();
        let mut quoted = false;
        while let Some(c) = characters.get(*at).copied() {
            match c {
                '\'' if characters.get(*at + 1) == Some(&'\'') => {
                    *at += 1;
                    text.push('\'');
                }
                '\'' => quoted = !quoted,
                c if quoted => text.push(c),
                '#' | '0' | ',' | '.' | ';' => break,
                '%' | '‰' => {
                    if self.multiplier != 1.0 && self.multiplier != 0.0 {
                        return Err("the pattern has two signs of per cent or per mille".to_owned());
                    }
                    self.multiplier = if c == '%' { 100.0 } else { 1000.0 };
                    text.push(c);
                }
                // The reference runs without a country: its currency is unknown.
                '¤' if characters.get(*at + 1) == Some(&'¤') => {
                    *at += 1;
                    text.push_str("XXX");
                }
                c => text.push(c),
            }
            *at += 1;
        }
        if quoted { Err("the pattern has a quote that does not end".to_owned()) } else { Ok(text) }
    }

    fn number(&mut self, characters: &[char], at: &mut usize) -> Result<(), String> {
        let malformed = || "the pattern is malformed: write as in `#,##0.00` or `0.##E0`".to_owned();
        let (mut left, mut zeros, mut right) = (0i64, 0i64, 0i64);
        let (mut point, mut group) = (None, -1i64);
        while let Some(c) = characters.get(*at) {
            match c {
                '#' | '0' => {
                    match (c, zeros, right) {
                        ('#', 0, _) => left += 1,
                        ('#', ..) => right += 1,
                        (_, _, 0) => zeros += 1,
                        _ => return Err("the pattern has a `0` behind a `#` behind a `0`".to_owned()),
                    }
                    if group >= 0 && point.is_none() {
                        group += 1;
                    }
                }
                ',' => group = 0,
                '.' => {
                    if point.is_some() {
                        return Err("the pattern has two points".to_owned());
                    }
                    point = Some(left + zeros + right);
                }
                'E' => {
                    let digits = characters[*at + 1..].iter().take_while(|c| **c == '0').count();
                    if left + zeros < 1 || digits < 1 {
                        return Err(malformed());
                    }
                    self.exponent = Some(digits);
                    *at += digits + 1;
                    break;
                }
                _ => break,
            }
            *at += 1;
        }
        if let (0, 1.., Some(at)) = (zeros, left, point) {
            let before = at.max(1);
            right = left - before;
            left = before - 1;
            zeros = 1;
        }
        let misplaced = match point {
            None => right > 0,
            Some(at) => at < left || at > left + zeros,
        };
        let total = left + zeros + right;
        if misplaced || group == 0 {
            return Err(malformed());
        }
        if total > 1_000 {
            return Err("the pattern has more than 1000 digits".to_owned());
        }
        let whole = point.unwrap_or(total);
        self.least_whole = whole - left;
        self.most_whole = if self.exponent.is_some() { left + self.least_whole } else { ALL_DIGITS };
        self.most_behind = point.map_or(0, |point| total - point);
        self.least_behind = point.map_or(0, |point| (left + zeros - point).max(0));
        self.group = group.max(0);
        self.always_point = point.is_some_and(|point| point == 0 || point == total);
        Ok(())
    }

    fn format(&self, value: f64) -> String {
        if value.is_nan() {
            return "NaN".to_owned();
        }
        let value = if self.multiplier == 1.0 { value } else { value * self.multiplier };
        let (before, after) = if value.is_sign_negative() { &self.negative } else { &self.positive };
        if value.is_infinite() {
            return format!("{before}∞{after}");
        }
        let magnitude = value.abs();
        let decimal = Decimal::legacy(magnitude);
        let number = match self.exponent {
            None => self.plain(&half_even(&decimal, magnitude, decimal.point + self.most_behind)),
            Some(least) => {
                self.scientific(&half_even(&decimal, magnitude, self.most_whole + self.most_behind), least)
            }
        };
        format!("{before}{number}{after}")
    }

    fn plain(&self, decimal: &Decimal) -> String {
        let mut text = String::new();
        let whole = self.least_whole.max(decimal.point);
        for left in (0..whole).rev() {
            text.push(char::from(b'0' + decimal.digit(decimal.point - 1 - left)));
            if self.group > 0 && left > 0 && left % self.group == 0 {
                text.push(',');
            }
        }
        let used = decimal.digits.len() as i64 - decimal.point;
        let has_fraction = self.least_behind > 0 || used > 0;
        if text.is_empty() && !has_fraction {
            text.push('0');
        }
        if self.always_point || has_fraction {
            text.push('.');
        }
        let behind = used.max(self.least_behind).min(self.most_behind);
        text.extend((0..behind).map(|at| char::from(b'0' + decimal.digit(decimal.point + at))));
        text
    }

    fn scientific(&self, decimal: &Decimal, least_exponent: usize) -> String {
        let mut exponent = decimal.point;
        let mut least_whole = self.least_whole;
        let repeat = self.most_whole;
        if repeat > 1 && repeat > self.least_whole {
            // The exponent is a multiple of the number of whole digits.
            exponent =
                if exponent >= 1 { (exponent - 1) / repeat } else { (exponent - repeat) / repeat } * repeat;
            least_whole = 1;
        } else {
            exponent -= least_whole;
        }
        let whole = if decimal.is_zero() { least_whole } else { decimal.point - exponent };
        if decimal.is_zero() {
            exponent = 0;
        }
        let digits = (self.least_whole + self.least_behind).max(whole).max(decimal.digits.len() as i64);
        let mut text = String::new();
        for at in 0..digits {
            if at == whole {
                text.push('.');
            }
            text.push(char::from(b'0' + decimal.digit(at)));
        }
        if self.always_point && digits == whole {
            text.push('.');
        }
        let sign = if exponent < 0 { "-" } else { "" };
        let _ = write!(text, "E{sign}{:0least_exponent$}", exponent.unsigned_abs());
        text
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// `decimal`, which stands for `exact`, with at most so many digits; a tie goes to the even digit, and whether
/// it is one, the exact value says.
fn half_even(decimal: &Decimal, exact: f64, count: i64) -> Decimal {
    let last = decimal.digits.len() as i64 - 1;
    let up = match decimal.digit(count) {
        6.. => count >= 0,
        5 if count < last => count >= 0,
        5 => {
            let all = Decimal::exact(exact);
            // Digits are compared as fractions of one: both begin with the same power of ten, or carry.
            match all.point.cmp(&decimal.point).then_with(|| all.digits.cmp(&decimal.digits)) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Greater => true,
                // Java takes the digits of a whole number below 2^63 for inexact, and so the tie for more than one.
                std::cmp::Ordering::Equal if exact.fract() == 0.0 && exact < TWO_TO_63 => true,
                std::cmp::Ordering::Equal => decimal.digit(count - 1) % 2 == 1,
            }
        }
        _ => false,
    };
    decimal.cut(count, up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(format: &str, value: &Value) -> Result<String, String> {
        let mut out = String::new();
        for piece in pieces(format)? {
            match piece {
                Piece::Text(text) => out.push_str(&text),
                Piece::Spec(spec) => spec.write(value, &mut out).map_err(|error| error.message.clone())?,
            }
        }
        Ok(out)
    }

    #[test]
    fn values_are_formatted_as_java_formats_them() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (format, value, expected) in [
            ("%d", Value::Long(-5), "-5"),
            ("%5d|%1$-5d|%1$05d", Value::Int(-42), "  -42|-42  |-0042"),
            ("%,d", Value::Long(1_234_567), "1,234,567"),
            ("%+d% <d%<(d", Value::Int(7), "+7 77"),
            ("%(d|%1$(08d", Value::Int(-7), "(7)|(000007)"),
            ("%x %<X %<o", Value::Int(-1), "ffffffff FFFFFFFF 37777777777"),
            ("%#x %<#o %<08x", Value::Long(255), "0xff 0377 000000ff"),
            ("%x", Value::Byte(-1), "ff"),
            ("%x", Value::BigInteger(-255), "-ff"),
            ("%s|%<5s|%<-5s|%<.1s|%<S", text("ab"), "ab|   ab|ab   |a|AB"),
            ("%s %<b", Value::Null, "null false"),
            ("%b", Value::Bool(false), "false"),
            ("%b", Value::Int(0), "true"),
            ("%c%<C", Value::Int(0xe9), "éÉ"),
            ("%h", text("hello"), "5e918d2"),
            ("%f", Value::Double(1.5), "1.500000"),
            ("%.2f %<.0f %<10.3f", Value::Double(2.675), "2.68 3      2.675"),
            ("%.1f", Value::Double(0.25), "0.3"),
            ("%.1f", Value::Double(-0.04), "-0.0"),
            ("%,.2f", Value::Double(1_234_567.891), "1,234,567.89"),
            ("%010.2f", Value::Double(-3.25875), "-000003.26"),
            ("%.3f", Value::Double(1e20), "100000000000000000000.000"),
            ("%f", Value::Double(1e-7), "0.000000"),
            ("%e %<.2E", Value::Double(12_345.678), "1.234568e+04 1.23E+04"),
            ("%e", Value::Double(0.0), "0.000000e+00"),
            ("%.0e", Value::Double(9.6e-5), "1e-04"),
            ("%g", Value::Double(12_345.678), "12345.7"),
            ("%g", Value::Double(1e-5), "1.00000e-05"),
            ("%g", Value::Double(0.0001), "0.000100000"),
            ("%g", Value::Double(0.0), "0.00000"),
            ("%.3g", Value::Double(999.9), "1.00e+03"),
            ("%a", Value::Double(1.0), "0x1.0p0"),
            ("%a %<.2a", Value::Double(-1.999), "-0x1.ffbe76c8b4396p0 -0x1.00p1"),
            ("%f", Value::Double(f64::NEG_INFINITY), "-Infinity"),
            (
                "%tF %<tT.%<tL %<tj %<ta %<tB",
                Value::Long(1_709_211_909_070),
                "2024-02-29 13:05:09.070 060 Thu February",
            ),
            ("%TA", Value::Date(0), "THURSDAY"),
            ("100%%%n%%", Value::Int(1), "100%\n%"),
            ("no values", Value::Int(1), "no values"),
            ("%.2f", Value::Float(0.1), "0.10"),
        ] {
            assert_eq!(formatted(format, &value).as_deref(), Ok(expected), "{format} of {value:?}");
        }
    }

    #[test]
    fn formats_that_do_not_fit_are_refused() {
        for format in [
            "%", "%y", "%D", "%5", "%-d", "%-05d", "%.2d", "%s %s", "%2$s", "%<s", "%+s", "%tx", "%.s",
            "%5n", "%#s",
        ] {
            assert!(pieces(format).is_err(), "{format}");
        }
        for (format, value) in [
            ("%d", Value::Double(1.0)),
            ("%f", Value::Int(1)),
            ("%c", Value::Int(-1)),
            ("%+x", Value::Int(1)),
            ("%tY", Value::Int(1)),
            ("%x", Value::Text("a".to_owned())),
        ] {
            assert!(formatted(format, &value).is_err(), "{format} of {value:?}");
        }
    }

    #[test]
    fn numbers_follow_decimal_patterns_as_in_java() {
        for (pattern, value, expected) in [
            (".##", 6.8222, "6.82"),
            (".##", 0.5, ".5"),
            (".##", 7.0, "7.0"),
            ("#.##", 0.004, "0"),
            ("#.##", -0.004, "-0"),
            ("0.00", 0.125, "0.12"),
            ("0.00", 0.375, "0.38"),
            ("0.00", 1.005, "1.00"),
            ("0.00", 0.135, "0.14"),
            ("0", 0.5, "0"),
            ("0", 1.5, "2"),
            ("0", 2.5, "2"),
            ("0.0", 9.95, "9.9"),
            ("0.0", 99.97, "100.0"),
            ("#,##0.00", 1_234_567.891, "1,234,567.89"),
            ("#,##0", -1234.0, "-1,234"),
            ("#,####", 123_456_789.0, "1,2345,6789"),
            ("000", 7.0, "007"),
            ("#", 0.0, "0"),
            ("#.#", 1e20, "100000000000000000000"),
            ("#", 1.488_120_339_704_768_3E18, "1488120339704768260"),
            ("#", 2.945_182_322_382_062_6E18, "2945182322382062600"),
            ("0%", 0.256, "26%"),
            ("$0.00;($0.00)", -1.5, "($1.50)"),
            ("'#'0", 5.0, "#5"),
            ("0.###E0", 12345.0, "1.235E4"),
            ("0E0", 45.0, "5E1"),
            ("0.0E0", 1.25, "1.2E0"),
            ("0.0E0", 1.25e20, "1.2E20"),
            ("00.##E0", 0.00123, "12.3E-4"),
            ("##0.##E0", 12345.0, "12.345E3"),
            ("0.0E00", 0.0, "0.0E00"),
            ("0.", 3.0, "3."),
            ("", 1234.5, "1,234.5"),
            ("abc", 5.0, "abc5"),
            ("0;-", -5.0, "-5"),
            ("0", f64::INFINITY, "∞"),
            ("0", f64::NAN, "NaN"),
            ("0.00", -0.0, "-0.00"),
        ] {
            let found = DecimalPattern::new(pattern).map(|pattern| pattern.format(value));
            assert_eq!(found.as_deref(), Ok(expected), "{pattern} of {value}");
        }
        for pattern in ["0.0.0", "0#0", "#,", "0E", "'0", "0'", "0;0;0", "0#.0", "0 #"] {
            assert!(DecimalPattern::new(pattern).is_err(), "{pattern}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_format_panics(format: String, value: f64, whole: i64) {
            for value in [Value::Double(value), Value::Long(whole), Value::Text(format.clone())] {
                let _ = formatted(&format, &value);
            }
            if let Ok(pattern) = DecimalPattern::new(&format) {
                let _ = pattern.format(value);
            }
        }

        #[test]
        fn no_conversion_panics(
            flags in "[-#+ 0,(]{0,2}", width in "[0-9]{0,2}", precision in "([.][0-9]{1,2})?",
            conversion in "[bcdefghosxaSXEGA]", value: f64, whole: i64,
        ) {
            let format = format!("%{flags}{width}{precision}{conversion}");
            for value in [Value::Double(value), Value::Long(whole)] {
                let _ = formatted(&format, &value);
            }
        }

        #[test]
        fn plain_formats_are_those_of_exact_arithmetic(value in -1e9f64..1e9) {
            // Rust rounds the exact value half to even too.
            let pattern = DecimalPattern::new("0.00").expect("a pattern");
            proptest::prop_assert_eq!(pattern.format(value), format!("{value:.2}"));
        }
    }
}
