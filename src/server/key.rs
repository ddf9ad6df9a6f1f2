//! Order-preserving keys: the bytes of two encoded values compare as MongoDB compares the values.
//!
//! A value is one tag byte, its type's place in MongoDB's canonical order, and a payload that is never the
//! beginning of another payload of that tag; so values can stand one after the other in a compound key, and
//! flipping all bits of one reverses its order. Numbers of all integer and floating types share a tag and
//! compare by value: the nearest double in an order-preserving form, then what the double lacks of an int64.

use super::raw::{self, Value, kind};

/// The longest key that the store takes is 65,535 bytes; an index entry has the record's key behind it.
pub const MAX_KEY_BYTES: usize = 65_000;

/// A value that no key can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unindexable(pub &'static str);

/// The end of a document or an array: before every tag, so that the shorter one comes first.
const END: u8 = 0;

/// The place of a type in the canonical order of comparison.
pub fn tag(kind: u8) -> u8 {
    match kind {
        kind::MIN_KEY => 1,
        kind::NULL | kind::UNDEFINED => 5,
        kind::DOUBLE | kind::INT32 | kind::INT64 | kind::DECIMAL128 => 10,
        kind::STRING | kind::SYMBOL => 15,
        kind::DOCUMENT => 20,
        kind::ARRAY => 25,
        kind::BINARY => 30,
        kind::OBJECT_ID => 35,
        kind::BOOL => 40,
        kind::DATE => 45,
        kind::TIMESTAMP => 47,
        kind::REGEX => 50,
        kind::DB_POINTER => 55,
        kind::CODE => 60,
        kind::CODE_WITH_SCOPE => 65,
        _ => 127,
    }
}

/// Appends the key of `value` to `out`.
///
/// # Errors
/// Decimal128 and DBPointer have no key; `out` is then left with a part of one.
pub fn encode(value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unindexable> {
    out.push(tag(value.kind));
    payload(value, out)
}

/// Appends the key of `value` in descending order.
pub fn encode_descending(value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unindexable> {
    let start = out.len();
    encode(value, out)?;
    out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    Ok(())
}

fn payload(value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unindexable> {
    let bytes = value.bytes;
    match value.kind {
        kind::NULL | kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => {}
        kind::INT32 | kind::INT64 => integer(value.as_i64().unwrap_or_default(), out),
        kind::DOUBLE => {
            out.extend_from_slice(&ordered(value.as_f64().unwrap_or_default()).to_be_bytes());
            out.extend_from_slice(&NO_REMAINDER.to_be_bytes());
        }
        kind::STRING | kind::SYMBOL | kind::CODE => text(value.text().unwrap_or_default(), out),
        kind::DOCUMENT => {
            for element in raw::elements(bytes) {
                out.push(tag(element.value.kind));
                text(element.name, out);
                payload(element.value, out)?;
            }
            out.push(END);
        }
        kind::ARRAY => {
            for element in raw::elements(bytes) {
                encode(element.value, out)?;
            }
            out.push(END);
        }
        kind::BINARY => {
            // By length, then subtype, then bytes.
            let (length, rest) = bytes.split_at(bytes.len().min(4));
            out.extend(length.iter().rev());
            out.extend_from_slice(rest);
        }
        kind::OBJECT_ID | kind::BOOL => out.extend_from_slice(bytes),
        kind::DATE => {
            let millis = bytes.try_into().map(i64::from_le_bytes).unwrap_or_default();
            out.extend_from_slice(&((millis as u64) ^ (1 << 63)).to_be_bytes());
        }
        kind::TIMESTAMP => out.extend(bytes.iter().rev()),
        kind::REGEX => bytes.split(|&byte| byte == 0).take(2).for_each(|part| text(part, out)),
        kind::CODE_WITH_SCOPE => {
            let code =
                bytes.get(4..).and_then(|b| Some((b, i32::from_le_bytes(*b.first_chunk()?) as usize + 4)));
            let (inner, end) = code.unwrap_or((&[], 0));
            text(inner.get(4..end.saturating_sub(1)).unwrap_or_default(), out);
            payload(Value { kind: kind::DOCUMENT, bytes: inner.get(end..).unwrap_or_default() }, out)?;
        }
        kind::DECIMAL128 => return Err(Unindexable("Decimal128")),
        _ => return Err(Unindexable("DBPointer")),
    }
    Ok(())
}

const NO_REMAINDER: u16 = 1 << 15;

/// The nearest double and what it lacks, which is at most 512 either way.
fn integer(value: i64, out: &mut Vec<u8>) {
    let nearest = value as f64;
    let remainder = (i128::from(value) - nearest as i128) as i16;
    out.extend_from_slice(&ordered(nearest).to_be_bytes());
    out.extend_from_slice(&((remainder as u16) ^ NO_REMAINDER).to_be_bytes());
}

/// A double's bits in an order that unsigned integers have: NaN first, then -∞ to ∞, one zero.
fn ordered(value: f64) -> u64 {
    if value.is_nan() {
        return 0;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// Text up to an end mark; a zero byte within is followed by 0xFF, the end by 0.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    for (i, part) in bytes.split(|&byte| byte == 0).enumerate() {
        if i > 0 {
            out.extend_from_slice(&[0, 0xFF]);
        }
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::super::compare::compare;
    use super::*;
    use bson::{Bson, doc};
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn any_bson() -> impl Strategy<Value = Bson> {
        let number = prop_oneof![
            any::<i32>().prop_map(Bson::Int32),
            any::<i64>().prop_map(Bson::Int64),
            any::<f64>().prop_map(Bson::Double),
            (-3i64..3).prop_map(|d| Bson::Int64((1 << 53) + d)),
            (-3i64..3).prop_map(|d| Bson::Double(((1i64 << 53) + d) as f64)),
            (-2i32..3).prop_map(Bson::Int32),
            prop_oneof![Just(f64::NAN), Just(-0.0), Just(0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
                .prop_map(Bson::Double),
            prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(i64::MAX - 1)].prop_map(Bson::Int64),
            Just(Bson::Double(9223372036854775808.0)),
        ];
        let leaf = prop_oneof![
            4 => number,
            1 => Just(Bson::Null),
            1 => Just(Bson::MinKey),
            1 => Just(Bson::MaxKey),
            1 => any::<bool>().prop_map(Bson::Boolean),
            3 => proptest::collection::vec(prop_oneof![Just('\0'), Just('a'), Just('b'), Just('é')], 0..4)
                .prop_map(|chars| Bson::String(chars.into_iter().collect())),
            1 => any::<[u8; 12]>().prop_map(|b| Bson::ObjectId(bson::oid::ObjectId::from_bytes(b))),
            1 => any::<i64>().prop_map(|m| Bson::DateTime(bson::DateTime::from_millis(m))),
            1 => any::<(u32, u32)>()
                .prop_map(|(time, increment)| Bson::Timestamp(bson::Timestamp { time, increment })),
            1 => proptest::collection::vec(any::<u8>(), 0..4).prop_map(|bytes| {
                Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes })
            }),
            1 => "[ab]{0,2}".prop_map(|p| {
                Bson::RegularExpression(bson::Regex { pattern: p.try_into().expect("no zero byte"), options: bson::raw::cstr!("i").into() })
            }),
            1 => "[ab]{0,2}".prop_map(Bson::JavaScriptCode),
            1 => ("[ab]{0,2}", 0..3i32).prop_map(|(code, x)| {
                Bson::JavaScriptCodeWithScope(bson::JavaScriptCodeWithScope { code, scope: doc! { "x": x } })
            }),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Bson::Array),
                proptest::collection::vec(("[ab]{0,2}", inner), 0..3)
                    .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
            ]
        })
    }

    fn with_key(value: &Bson) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let bytes = bson::serialize_to_vec(&doc! { "v": value.clone() }).unwrap();
        let value = raw::get(&bytes, b"v").unwrap();
        let (mut up, mut down) = (Vec::new(), Vec::new());
        encode(value, &mut up).unwrap();
        encode_descending(value, &mut down).unwrap();
        (bytes, up, down)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn bytes_compare_as_values_do(a in any_bson(), b in any_bson()) {
            let (a_bytes, a_up, a_down) = with_key(&a);
            let (b_bytes, b_up, b_down) = with_key(&b);
            let expected = compare(raw::get(&a_bytes, b"v").unwrap(), raw::get(&b_bytes, b"v").unwrap());
            prop_assert_eq!(a_up.cmp(&b_up), expected);
            prop_assert_eq!(a_down.cmp(&b_down), expected.reverse());
            // Followed by anything, the order stays: no key is the beginning of another.
            if expected != Ordering::Equal {
                let follow = |key: &[u8], byte| [key, &[byte]].concat();
                prop_assert_eq!(follow(&a_up, 255).cmp(&follow(&b_up, 0)), expected);
                prop_assert_eq!(follow(&a_down, 255).cmp(&follow(&b_down, 0)), expected.reverse());
            }
        }
    }

    #[test]
    fn numbers_of_different_types_have_one_key() {
        let keys: Vec<_> =
            [Bson::Int32(5), Bson::Int64(5), Bson::Double(5.0)].iter().map(|v| with_key(v).1).collect();
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_decimal_has_no_key() {
        let bytes = bson::serialize_to_vec(&doc! { "v": "1".parse::<bson::Decimal128>().unwrap() }).unwrap();
        assert_eq!(encode(raw::get(&bytes, b"v").unwrap(), &mut Vec::new()), Err(Unindexable("Decimal128")));
    }
}
