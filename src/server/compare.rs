//! MongoDB's order of values: by type first, numbers of all types by their value, documents field by field.

use super::key::tag;
use super::raw::{self, Value, kind};
use std::cmp::Ordering;

/// Compares two checked values.
pub fn compare(a: Value<'_>, b: Value<'_>) -> Ordering {
    let by_type = tag(a.kind).cmp(&tag(b.kind));
    if by_type != Ordering::Equal {
        return by_type;
    }
    match a.kind {
        kind::STRING | kind::SYMBOL | kind::CODE => a.text().cmp(&b.text()),
        kind::INT32 | kind::INT64 | kind::DOUBLE | kind::DECIMAL128 => numbers(a, b),
        kind::DOCUMENT => documents(a.bytes, b.bytes),
        kind::ARRAY => {
            let (mut left, mut right) = (a.elements(), b.elements());
            loop {
                match (left.next(), right.next()) {
                    (None, None) => return Ordering::Equal,
                    (None, Some(_)) => return Ordering::Less,
                    (Some(_), None) => return Ordering::Greater,
                    (Some(x), Some(y)) => match compare(x.value, y.value) {
                        Ordering::Equal => {}
                        other => return other,
                    },
                }
            }
        }
        kind::DATE => signed(a).cmp(&signed(b)),
        kind::TIMESTAMP => (signed(a) as u64).cmp(&(signed(b) as u64)),
        kind::BINARY => a.bytes.len().cmp(&b.bytes.len()).then_with(|| a.bytes[4..].cmp(&b.bytes[4..])),
        kind::REGEX => a.bytes.cmp(b.bytes),
        kind::CODE_WITH_SCOPE => match (code_with_scope(a.bytes), code_with_scope(b.bytes)) {
            (Some((x, scope_x)), Some((y, scope_y))) => x.cmp(y).then_with(|| documents(scope_x, scope_y)),
            _ => a.bytes.cmp(b.bytes),
        },
        _ => a.bytes.cmp(b.bytes),
    }
}

/// Whether two values are equal in a query: `1` and `1.0` are.
pub fn equal(a: Value<'_>, b: Value<'_>) -> bool {
    (a.kind == b.kind && a.bytes == b.bytes) || compare(a, b) == Ordering::Equal
}

fn documents(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (raw::elements(a), raw::elements(b));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => {
                let ordering = tag(x.value.kind)
                    .cmp(&tag(y.value.kind))
                    .then_with(|| x.name.cmp(y.name))
                    .then_with(|| compare(x.value, y.value));
                if ordering != Ordering::Equal {
                    return ordering;
                }
            }
        }
    }
}

fn signed(value: Value<'_>) -> i64 {
    value.bytes.try_into().map(i64::from_le_bytes).unwrap_or_default()
}

fn code_with_scope(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = bytes.get(4..)?;
    let end = i32::from_le_bytes(*inner.first_chunk::<4>()?) as usize + 4;
    Some((inner.get(4..end.checked_sub(1)?)?, inner.get(end..)?))
}

/// Numbers by value; NaN comes first and equals itself.
fn numbers(a: Value<'_>, b: Value<'_>) -> Ordering {
    if a.kind == kind::DECIMAL128 || b.kind == kind::DECIMAL128 {
        return decimals(a, b);
    }
    match (a.kind == kind::DOUBLE, b.kind == kind::DOUBLE) {
        (false, false) => a.as_i64().cmp(&b.as_i64()),
        (true, true) => doubles(a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default()),
        (false, true) => integer_and_double(a.as_i64().unwrap_or_default(), b.as_f64().unwrap_or_default()),
        (true, false) => {
            integer_and_double(b.as_i64().unwrap_or_default(), a.as_f64().unwrap_or_default()).reverse()
        }
    }
}

fn doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn integer_and_double(integer: i64, double: f64) -> Ordering {
    if double.is_nan() {
        return Ordering::Greater;
    }
    // Doubles of this size are integers that i128 holds; the smaller ones are exact to the fraction.
    let truncated = double.clamp(-1e19, 1e19).trunc();
    i128::from(integer)
        .cmp(&(truncated as i128))
        .then_with(|| 0.0f64.partial_cmp(&(double - double.trunc())).unwrap_or(Ordering::Equal))
}

/// Any two numbers of which one is a Decimal128, by their exact decimal digits.
fn decimals(a: Value<'_>, b: Value<'_>) -> Ordering {
    Decimal::of(a).cmp(&Decimal::of(b))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Decimal {
    Nan,
    NegativeInfinity,
    /// The magnitude reversed: the larger it is, the smaller the number.
    Negative(std::cmp::Reverse<Magnitude>),
    Zero,
    Positive(Magnitude),
    Infinity,
}

/// `0.d1d2d3… × 10^exponent` with d1 not zero and no zeros at the end: compares field by field.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Magnitude {
    exponent: i64,
    digits: Vec<u8>,
}

impl Decimal {
    fn of(value: Value<'_>) -> Decimal {
        let text = match value.kind {
            kind::DECIMAL128 => match <[u8; 16]>::try_from(value.bytes) {
                Ok(bytes) => bson::Decimal128::from_bytes(bytes).to_string(),
                Err(_) => return Decimal::Nan,
            },
            // Every digit that a double can have.
            kind::DOUBLE => format!("{:.767e}", value.as_f64().unwrap_or_default()),
            _ => value.as_i64().unwrap_or_default().to_string(),
        };
        Decimal::parse(&text)
    }

    fn parse(text: &str) -> Decimal {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "inf" | "infinity" => {
                return if negative { Decimal::NegativeInfinity } else { Decimal::Infinity };
            }
            "nan" => return Decimal::Nan,
            _ => {}
        }
        let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
        let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or_default();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
        let mut digits = all[zeros..].to_vec();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Decimal::Zero;
        }
        let magnitude = Magnitude { exponent: exponent + whole.len() as i64 - zeros as i64, digits };
        if negative { Decimal::Negative(std::cmp::Reverse(magnitude)) } else { Decimal::Positive(magnitude) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Bson, doc};

    fn ordering(a: impl Into<Bson>, b: impl Into<Bson>) -> Ordering {
        let bytes = bson::serialize_to_vec(&doc! { "a": a.into(), "b": b.into() }).unwrap();
        let (a, b) = (raw::get(&bytes, b"a").unwrap(), raw::get(&bytes, b"b").unwrap());
        assert_eq!(compare(a, b), compare(b, a).reverse());
        compare(a, b)
    }

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn types_come_in_the_canonical_order() {
        let ascending = [
            Bson::MinKey,
            Bson::Null,
            Bson::Int32(1),
            "a".into(),
            doc! {}.into(),
            Bson::Array(vec![]),
            Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![] }),
            bson::oid::ObjectId::new().into(),
            false.into(),
            bson::DateTime::from_millis(0).into(),
            bson::Timestamp { time: 0, increment: 0 }.into(),
            Bson::MaxKey,
        ];
        for pair in ascending.windows(2) {
            assert_eq!(ordering(pair[0].clone(), pair[1].clone()), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn numbers_compare_by_value_across_types() {
        assert_eq!(ordering(5, 5i64), Ordering::Equal);
        assert_eq!(ordering(5, 5.0), Ordering::Equal);
        assert_eq!(ordering(5, 5.5), Ordering::Less);
        assert_eq!(ordering(-5, -5.5), Ordering::Greater);
        assert_eq!(ordering((1i64 << 53) + 1, (1i64 << 53) as f64), Ordering::Greater);
        assert_eq!(ordering(i64::MAX, 9223372036854775808.0), Ordering::Less);
        assert_eq!(ordering(i64::MIN, -9223372036854775808.0), Ordering::Equal);
        assert_eq!(ordering(f64::NAN, f64::NEG_INFINITY), Ordering::Less);
        assert_eq!(ordering(i64::MAX, f64::INFINITY), Ordering::Less);
    }

    #[test]
    fn decimals_compare_exactly() {
        assert_eq!(ordering(decimal("1.50"), 1.5), Ordering::Equal);
        assert_eq!(ordering(decimal("0.1"), 0.1), Ordering::Less);
        assert_eq!(ordering(decimal("1E+3"), 1000), Ordering::Equal);
        assert_eq!(ordering(decimal("-0"), 0), Ordering::Equal);
        assert_eq!(ordering(decimal("-2"), -1), Ordering::Less);
        assert_eq!(ordering(decimal("9007199254740993"), 9007199254740992.0), Ordering::Greater);
        assert_eq!(ordering(decimal("NaN"), f64::NEG_INFINITY), Ordering::Less);
        assert_eq!(ordering(decimal("Infinity"), i64::MAX), Ordering::Greater);
        assert_eq!(ordering(decimal("100"), decimal("99.99")), Ordering::Greater);
    }
}
