//! Hashes brought into a range.

use super::arithmetic::remainder;
use super::{
    Arguments, Category, Constructor, Eval, Example, Function, FunctionRow, Overload, Refusal, Type, hash,
};
use crate::value::Value;

/// 2^63 − 1 as a double, which is 2^63.
const MAX_LONG: f64 = i64::MAX as f64;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&HASH_RANGE];

static HASH_RANGE: FunctionRow = FunctionRow {
    name: "HashRange",
    category: Category::Hash,
    doc: "a random-looking number below a width, or between two bounds, both included; after a function that \
          yields int it combines the bits of hash and width, so that only some numbers occur",
    examples: &[
        Example("HashRange(0,100)", 0, "52"),
        Example("HashRange(10)", 1, "4"),
        Example("ToInt(); HashRange(0,10)", 0, "11"),
        Example("HashRange(0.0,10.0)", 0, "3.1931730722925353"),
    ],
    overloads: &[
        Overload::new(
            "from_long.to_double",
            Type::Long,
            Type::Double,
            &[Constructor::of(&[Type::Double, Type::Double])],
            |arguments| {
                let (low, high) = (arguments.double(0)?, arguments.double(1)?);
                check_order(low <= high || low.is_nan() || high.is_nan())?;
                let interval = high - low;
                Ok(Function::long_to_double(move |v, _| {
                    Ok(interval * (hash::long(v) as f64 / MAX_LONG) + low)
                }))
            },
        ),
        Overload::new(
            "from_long.to_float",
            Type::Long,
            Type::BoxedFloat,
            &[Constructor::of(&[Type::Float, Type::Float])],
            |arguments| {
                let (low, high) = (arguments.float(0)?, arguments.float(1)?);
                check_order(low <= high || low.is_nan() || high.is_nan())?;
                let interval = high - low;
                Ok(Function::long_to_object(move |v, _| {
                    Ok(Value::Float(interval * (hash::long(v) as f32 / MAX_LONG as f32) + low))
                }))
            },
        ),
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Int])],
            |arguments| {
                let (min, width) = int_range(arguments)?;
                let range = int_from_long(min, width);
                Ok(Function::long_to_int(move |v, _| range(v)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long]), Constructor::of(&[Type::Long, Type::Long])],
            |arguments| {
                let (min, width) = if arguments.count() == 1 {
                    (0, arguments.long(0)?)
                } else {
                    let (min, max) = (arguments.long(0)?, arguments.long(1)?);
                    check_order(min <= max)?;
                    (min, max.wrapping_sub(min).wrapping_add(1))
                };
                Ok(Function::long_to_long(move |v, _| Ok(min.wrapping_add(remainder(hash::long(v), width)?))))
            },
        ),
        Overload::new(
            "unary_int",
            Type::Int,
            Type::Int,
            &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Int])],
            |arguments| {
                let (min, width) = int_range(arguments)?;
                // Bits, not a remainder: the reference's slip, on which its published values depend.
                Ok(Function::int_to_int(move |v, _| Ok(min.wrapping_add(hash::of_int(v) & width))))
            },
        ),
    ],
    ..FunctionRow::NEW
};

/// `(width)` or `(min, max)` with the maximum included, as minimum and width in 32 bits.
fn int_range(arguments: &Arguments<'_>) -> Result<(i32, i32), Refusal> {
    if arguments.count() == 1 {
        return Ok((0, arguments.int(0)?));
    }
    let (min, max) = (arguments.int(0)?, arguments.int(1)?);
    check_order(min <= max)?;
    Ok((min, max.wrapping_sub(min).wrapping_add(1)))
}

/// The overload from long to int, for those that use it inside. The width wraps in 32 bits before.
pub(super) fn int_from_long(min: i32, width: i32) -> impl Fn(i64) -> Eval<i32> + Send + Sync + 'static {
    move |v| {
        let offset = remainder(hash::long(v), i64::from(width))?;
        Ok((i64::from(min).wrapping_add(offset) & i64::from(i32::MAX)) as i32)
    }
}

/// `(min, max)` as the overload from long to int has it.
pub(super) fn int_between(
    min: i32,
    max: i32,
) -> Result<impl Fn(i64) -> Eval<i32> + Send + Sync + 'static, Refusal> {
    check_order(min <= max)?;
    Ok(int_from_long(min, max.wrapping_sub(min).wrapping_add(1)))
}

fn check_order(ordered: bool) -> Result<(), Refusal> {
    if ordered {
        Ok(())
    } else {
        Err(Refusal::new("the lower bound is above the upper bound").help("write the lower bound first"))
    }
}
