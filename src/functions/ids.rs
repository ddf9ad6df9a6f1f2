//! UUIDs: from hashes, from numbers, and with times in them.

use super::function::Transform;
use super::joda;
use super::{
    Argument, Arguments, Category, Constructor, EvalError, Example, Function, FunctionRow, Overload, Refusal,
    Type, hash,
};
use crate::value::Value;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&TO_HASHED_UUID, &TO_UUID, &TO_EPOCH_TIME_UUID, &TO_FINEST_TIME_UUID];

/// Where the version stands, and version 4.
fn version_4(high: i64) -> u64 {
    high as u64 & !0xf000 | 0x4000
}

const VARIANT: u64 = 1 << 63;

static TO_HASHED_UUID: FunctionRow = FunctionRow {
    name: "ToHashedUUID",
    category: Category::Id,
    doc: "a random-looking UUID of version 4, the same for the same input",
    examples: &[Example("ToHashedUUID()", 1, "5752fae6-9d16-43da-b20f-557a1dd5c571")],
    overloads: &[Overload::new("from_long.to_uuid", Type::Long, Type::Uuid, &[Constructor::of(&[])], |_| {
        Ok(Function::long_to_object(|v, _| {
            let low = hash::long(v.wrapping_add(1)) as u64 & (u64::MAX >> 2) | VARIANT;
            Ok(Value::Uuid { high: version_4(hash::long(v)), low })
        }))
    })],
    ..FunctionRow::NEW
};

static TO_UUID: FunctionRow = FunctionRow {
    name: "ToUUID",
    category: Category::Id,
    doc: "the UUID with a number as its lower half, or the one that a text is",
    notes: "of a number, the low 61 bits count; the argument is the upper half",
    examples: &[
        Example("ToUUID()", 1, "01234567-89ab-4def-8000-000000000001"),
        Example("ToUUID(12345L)", 1, "00000000-0000-4039-8000-000000000001"),
        Example(
            "FixedValue('00112233-4455-6677-8899-aabbccddeeff'); ToUUID()",
            1,
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    ],
    overloads: &[
        Overload::new("conversions.from_string", Type::String, Type::Uuid, &[Constructor::of(&[])], |_| {
            Ok(Function::ObjectToObject(Transform::by_value(|value, _| {
                let text = value.as_text().ok_or_else(|| EvalError::wrong_class(&value, "String"))?;
                parse(text).ok_or_else(|| {
                    EvalError::boxed("IllegalArgumentException", format!("{text:?} is not a UUID"))
                })
            })))
        }),
        Overload::new(
            "from_long.to_uuid",
            Type::Long,
            Type::Uuid,
            &[Constructor::of(&[]), Constructor::of(&[Type::Long])],
            |arguments| {
                let high = version_4(if arguments.count() == 0 {
                    0x0123_4567_89ab_cdef
                } else {
                    arguments.long(0)?
                });
                Ok(Function::long_to_object(move |v, _| {
                    Ok(Value::Uuid { high, low: v as u64 & (u64::MAX >> 3) | VARIANT })
                }))
            },
        ),
    ],
    ..FunctionRow::NEW
};

/// `UUID.fromString`: five hexadecimal numbers with a hyphen between; each may be shorter than usual, and
/// counts by its low digits if it is longer.
fn parse(text: &str) -> Option<Value> {
    if text.len() > 36 {
        return None;
    }
    let mut parts = text.split('-').map(|part| {
        let part = part.strip_prefix('+').unwrap_or(part);
        let plain = part.bytes().all(|b| b.is_ascii_hexdigit());
        if plain { u64::from_str_radix(part, 16).ok().filter(|part| *part <= i64::MAX as u64) } else { None }
    });
    let mut next = || parts.next().flatten();
    let (a, b, c, d, e) = (next()?, next()?, next()?, next()?, next()?);
    if parts.next().is_some() {
        return None;
    }
    Some(Value::Uuid {
        high: (a & 0xffff_ffff) << 32 | (b & 0xffff) << 16 | c & 0xffff,
        low: (d & 0xffff) << 48 | e & 0xffff_ffff_ffff,
    })
}

/// When the ticks of time UUIDs begin, in milliseconds since 1970: 1582-10-15.
const TICKS_FROM: i64 = -12_219_292_800_000;
/// Of 100 nanoseconds.
const TICKS_PER_MILLI: i64 = 10_000;

/// The upper half of a UUID of version 1.
fn time_half(ticks: i64) -> u64 {
    let ticks = ticks as u64;
    0x1000 | (ticks >> 48 & 0xfff) | (ticks >> 16 & 0xffff_0000) | ticks << 32
}

/// The base time, if there is one, and the lower half, out of a base, a node and a clock.
fn base_and_node(arguments: &Arguments<'_>) -> Result<(Option<i64>, u64), Refusal> {
    let base = match arguments.get(0) {
        Some(Argument::Text(text)) => {
            Some(joda::base_time(text).map_err(|message| Refusal::new(message).at(0))?)
        }
        _ => None,
    };
    let numbers = usize::from(base.is_some());
    let number = |position| if position < arguments.count() { arguments.long(position) } else { Ok(0) };
    let (node, clock) = (number(numbers)? as u64, number(numbers + 1)? as u64);
    Ok((base, (clock & 0x3fff) << 48 | VARIANT | node))
}

const TIME_UUID: &[Constructor] = &[
    Constructor::of(&[Type::String, Type::Long, Type::Long]),
    Constructor::of(&[Type::String, Type::Long]),
    Constructor::of(&[Type::String]),
    Constructor::of(&[]),
    Constructor::of(&[Type::Long]),
    Constructor::of(&[Type::Long, Type::Long]),
];

static TO_EPOCH_TIME_UUID: FunctionRow = FunctionRow {
    name: "ToEpochTimeUUID",
    category: Category::Id,
    doc: "a UUID of version 1 with the time of so many milliseconds since 1970; arguments are a base time, a node \
          and a clock, or some of them in this order",
    notes: "a base time counts from 1582 although the input counts from 1970, so that the time in the UUID is 387 \
            years later than it seems, as in NoSQLBench; a time beyond 64 bits is an error",
    examples: &[
        Example("ToEpochTimeUUID()", 1, "13816710-1dd2-11b2-8000-000000000000"),
        Example("ToEpochTimeUUID(5234)", 1, "13816710-1dd2-11b2-8000-000000001472"),
        Example("ToEpochTimeUUID('2017-01-01')", 1, "5074e710-ed87-1398-8000-000000000000"),
    ],
    overloads: &[Overload::new("from_long.to_time_types", Type::Long, Type::Uuid, TIME_UUID, |arguments| {
        let (base, low) = base_and_node(arguments)?;
        let base = base.map_or(0, |base| base - TICKS_FROM);
        Ok(Function::long_to_object(move |v, _| {
            let millis = v.wrapping_add(base).checked_sub(TICKS_FROM).ok_or_else(|| {
                EvalError::boxed("ArithmeticException", format!("{v} is beyond the range of times"))
            })?;
            Ok(Value::Uuid { high: time_half(millis.wrapping_mul(TICKS_PER_MILLI)), low })
        }))
    })],
    ..FunctionRow::NEW
};

static TO_FINEST_TIME_UUID: FunctionRow = FunctionRow {
    name: "ToFinestTimeUUID",
    category: Category::Id,
    doc: "a UUID of version 1 with a time of so many ticks of 100 ns since 1582; arguments are a base time that \
          they are added to, a node and a clock, or some of them in this order",
    examples: &[
        Example("ToFinestTimeUUID()", 1, "00000001-0000-1000-8000-000000000000"),
        Example("ToFinestTimeUUID(31,337)", 1, "00000001-0000-1000-8151-00000000001f"),
        Example("ToFinestTimeUUID('2012',12345)", 1, "8c3e4001-340b-11e1-8000-000000003039"),
    ],
    overloads: &[Overload::new("from_long.to_time_types", Type::Long, Type::Uuid, TIME_UUID, |arguments| {
        let (base, low) = base_and_node(arguments)?;
        let base = base.map_or(0, |base| (base - TICKS_FROM).wrapping_mul(TICKS_PER_MILLI));
        Ok(Function::long_to_object(move |v, _| {
            Ok(Value::Uuid { high: time_half(v.wrapping_add(base)), low })
        }))
    })],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_java_reads_uuids() {
        for (text, expected) in [
            ("00112233-4455-6677-8899-aabbccddeeff", Some((0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff))),
            ("1-2-3-4-5", Some((0x0000_0001_0002_0003, 0x0004_0000_0000_0005))),
            ("AA-2-3-4-5", Some((0x0000_00aa_0002_0003, 0x0004_0000_0000_0005))),
            ("1-2-3-4", None),
            ("1-2-3-4-5-6", None),
            ("1-2-3-4-", None),
            ("g-2-3-4-5", None),
            ("+1-2-3-4-5", Some((0x0000_0001_0002_0003, 0x0004_0000_0000_0005))),
            ("++1-2-3-4-5", None),
            ("one", None),
        ] {
            assert_eq!(parse(text), expected.map(|(high, low)| Value::Uuid { high, low }), "{text}");
        }
    }
}
