//! Numbers brought into a range: hashes, and the input itself in turn.
//!
//! Bounds may span all 64-bit integers: widths wrap as Java's do, and a width that wraps to 0 is an error at
//! the cycle, as a division by zero is there.

use super::arithmetic::{remainder, remainder_of_int};
use super::{
    Arguments, Category, Constructor, Eval, Example, Function, FunctionRow, Overload, Refusal, Type, forms,
    hash,
};
use crate::value::Value;

/// 2^63 − 1 as a double, which is 2^63.
const MAX_LONG: f64 = i64::MAX as f64;
const MAX_INT: i64 = i32::MAX as i64;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &HASH_RANGE,
    &HASH_INTERVAL,
    &HASH_RANGE_SCALED,
    &ADD_HASH_RANGE,
    &CYCLE_RANGE,
    &ADD_CYCLE_RANGE,
    &HASHED_RANGED_TO_NONUNIFORM_DOUBLE,
    &HASHED_RANGED_TO_NONUNIFORM_FLOAT,
];

static HASH_RANGE: FunctionRow = FunctionRow {
    name: "HashRange",
    category: Category::Hash,
    doc: "a random-looking number below a width, or between two bounds, both included; after a function that \
          yields int it combines the bits of hash and width, so that only some numbers occur",
    notes: "the form from int to int uses `&` where the others use `%`, as NoSQLBench does: after `ToInt();`, \
            `HashRange(0,9)` gives 0, 2, 8 and 10 only",
    examples: &[
        Example("HashRange(0,100)", 0, "52"),
        Example("HashRange(10)", 1, "4"),
        Example("ToInt(); HashRange(0,10)", 0, "11"),
        Example("HashRange(0.0,10.0)", 0, "3.1931730722925353"),
    ],
    overloads: &[
        Overload::new("from_long.to_double", Type::Long, Type::Double, forms::TWO_DOUBLES, |arguments| {
            let range = double_between(arguments.double(0)?, arguments.double(1)?)?;
            Ok(Function::long_to_double(move |v, _| Ok(range(v))))
        }),
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
        Overload::long_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, width) = int_range(arguments)?;
            let range = int_from_long(min, width);
            Ok(Function::long_to_int(move |v, _| range(v)))
        }),
        Overload::long_to_long(forms::ONE_OR_TWO_LONGS, |arguments| {
            let (min, width) = if arguments.count() == 1 {
                (0, arguments.long(0)?)
            } else {
                long_range(arguments.long(0)?, arguments.long(1)?)?
            };
            let range = long_from_long(min, width);
            Ok(Function::long_to_long(move |v, _| range(v)))
        }),
        Overload::int_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, width) = int_range(arguments)?;
            Ok(Function::int_to_int(move |v, _| Ok(int_from_int(min, width, v))))
        }),
    ],
    ..FunctionRow::NEW
};

/// Uniform between two bounds, both included, as the form from long to double has it.
pub(super) fn double_between(
    low: f64,
    high: f64,
) -> Result<impl Fn(i64) -> f64 + Send + Sync + 'static, Refusal> {
    check_order(low <= high || low.is_nan() || high.is_nan())?;
    let interval = high - low;
    Ok(move |v| interval * (hash::long(v) as f64 / MAX_LONG) + low)
}

/// The hash of `v` as a number from 0 to 1.
#[inline]
pub(super) fn unit(v: i64) -> f64 {
    hash::long(v) as f64 / MAX_LONG
}

/// `(width)` or `(min, max)` with the maximum included, as minimum and width in 32 bits.
fn int_range(arguments: &Arguments<'_>) -> Result<(i32, i32), Refusal> {
    if arguments.count() == 1 {
        return Ok((0, arguments.int(0)?));
    }
    let (min, max) = (arguments.int(0)?, arguments.int(1)?);
    check_order(min <= max)?;
    Ok((min, max.wrapping_sub(min).wrapping_add(1)))
}

/// Bounds, the upper one included, as minimum and width.
fn long_range(min: i64, max: i64) -> Result<(i64, i64), Refusal> {
    check_order(min <= max)?;
    Ok((min, max.wrapping_sub(min).wrapping_add(1)))
}

/// The overload from long to int, for those that use it inside. The width wraps in 32 bits before.
pub(super) fn int_from_long(min: i32, width: i32) -> impl Fn(i64) -> Eval<i32> + Send + Sync + 'static {
    move |v| {
        let offset = remainder(hash::long(v), i64::from(width))?;
        Ok((i64::from(min).wrapping_add(offset) & MAX_INT) as i32)
    }
}

fn long_from_long(min: i64, width: i64) -> impl Fn(i64) -> Eval<i64> + Send + Sync + 'static {
    move |v| Ok(min.wrapping_add(remainder(hash::long(v), width)?))
}

/// Bits, not a remainder: the reference's slip, on which its published values depend.
fn int_from_int(min: i32, width: i32, v: i32) -> i32 {
    min.wrapping_add(hash::of_int(v) & width)
}

/// `(min, max)` as the overload from long to int has it.
pub(super) fn int_between(
    min: i32,
    max: i32,
) -> Result<impl Fn(i64) -> Eval<i32> + Send + Sync + 'static, Refusal> {
    check_order(min <= max)?;
    Ok(int_from_long(min, max.wrapping_sub(min).wrapping_add(1)))
}

/// `(min, max)` as the overload from long to long has it.
pub(super) fn long_between(
    min: i64,
    max: i64,
) -> Result<impl Fn(i64) -> Eval<i64> + Send + Sync + 'static, Refusal> {
    let (min, width) = long_range(min, max)?;
    Ok(long_from_long(min, width))
}

static HASH_INTERVAL: FunctionRow = FunctionRow {
    name: "HashInterval",
    category: Category::Hash,
    doc: "a random-looking number below a width, or between two bounds, the upper one not included",
    notes: "the form from int to int uses `&` where the others use `%`, as NoSQLBench does",
    examples: &[
        Example("HashInterval(2,5)", 1, "3"),
        Example("HashInterval(4L)", 1, "2"),
        Example("ToInt(); HashInterval(10,20)", 1, "18"),
    ],
    overloads: &[
        Overload::long_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, width) = int_interval(arguments)?;
            let interval = int_from_long(min, width);
            Ok(Function::long_to_int(move |v, _| interval(v)))
        }),
        Overload::long_to_long(forms::ONE_OR_TWO_LONGS, |arguments| {
            let (min, width) = if arguments.count() == 1 {
                (0, arguments.long(0)?)
            } else {
                let (min, max) = (arguments.long(0)?, arguments.long(1)?);
                check_interval(min < max)?;
                (min, max.wrapping_sub(min))
            };
            let interval = long_from_long(min, width);
            Ok(Function::long_to_long(move |v, _| interval(v)))
        }),
        Overload::int_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, width) = int_interval(arguments)?;
            Ok(Function::int_to_int(move |v, _| Ok(int_from_int(min, width, v))))
        }),
    ],
    ..FunctionRow::NEW
};

fn int_interval(arguments: &Arguments<'_>) -> Result<(i32, i32), Refusal> {
    if arguments.count() == 1 {
        return Ok((0, arguments.int(0)?));
    }
    let (min, max) = (arguments.int(0)?, arguments.int(1)?);
    check_interval(min < max)?;
    Ok((min, max.wrapping_sub(min)))
}

const SCALES: &[Constructor] = &[Constructor::of(&[Type::Double]), Constructor::of(&[])];

static HASH_RANGE_SCALED: FunctionRow = FunctionRow {
    name: "HashRangeScaled",
    category: Category::Hash,
    doc: "a random-looking number below the input, times a factor",
    notes: "0 gives 0",
    examples: &[Example("HashRangeScaled()", 1000, "215"), Example("HashRangeScaled(0.5)", 1000, "107")],
    overloads: &[
        Overload::long_to_int(SCALES, |arguments| {
            let scale = scale_of(arguments)?;
            Ok(Function::long_to_int(move |v, _| Ok((scaled(v, scale) % MAX_INT as f64) as i32)))
        }),
        Overload::long_to_long(SCALES, |arguments| {
            let scale = scale_of(arguments)?;
            Ok(Function::long_to_long(move |v, _| Ok(scaled(v, scale) as i64)))
        }),
        Overload::int_to_int(SCALES, |arguments| {
            let scale = scale_of(arguments)?;
            Ok(Function::int_to_int(move |v, _| {
                if v == 0 {
                    return Ok(0);
                }
                Ok((f64::from(remainder_of_int(hash::of_int(v), v)?) * scale) as i32 % i32::MAX)
            }))
        }),
    ],
    ..FunctionRow::NEW
};

fn scale_of(arguments: &Arguments<'_>) -> Result<f64, Refusal> {
    if arguments.count() == 0 { Ok(1.0) } else { arguments.double(0) }
}

fn scaled(v: i64, scale: f64) -> f64 {
    if v == 0 { 0.0 } else { hash::long(v).wrapping_rem(v) as f64 * scale }
}

static ADD_HASH_RANGE: FunctionRow = FunctionRow {
    name: "AddHashRange",
    category: Category::Hash,
    doc: "the input plus a random-looking number up to a maximum, or between two bounds, both included",
    examples: &[Example("AddHashRange(1000)", 1, "922"), Example("AddHashRange(0L,10L)", 1, "9")],
    overloads: &[
        Overload::long_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            let range = long_between(i64::from(min), i64::from(max))?;
            Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_add(range(v)?) & MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::ONE_OR_TWO_LONGS, |arguments| {
            let (min, max) = bounds_of_longs(arguments)?;
            let range = long_between(min, max)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_add(range(v)?))))
        }),
        Overload::int_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            check_order(min <= max)?;
            let width = max.wrapping_sub(min).wrapping_add(1);
            Ok(Function::int_to_int(move |v, _| Ok(v.wrapping_add(int_from_int(min, width, v)))))
        }),
    ],
    ..FunctionRow::NEW
};

static CYCLE_RANGE: FunctionRow = FunctionRow {
    name: "CycleRange",
    category: Category::Arithmetic,
    doc: "numbers from 0, or from a minimum, up to a maximum, not included, in turn",
    examples: &[Example("CycleRange(10)", 12, "2"), Example("CycleRange(5,10)", 12, "7")],
    overloads: &[
        Overload::long_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            check_order(min <= max)?;
            let (min, width) = (i64::from(min), i64::from(max.wrapping_sub(min)));
            Ok(Function::long_to_int(move |v, _| {
                Ok((min.wrapping_add(remainder(v, width)?) & MAX_INT) as i32)
            }))
        }),
        Overload::long_to_long(forms::ONE_OR_TWO_LONGS, |arguments| {
            let (min, max) = bounds_of_longs(arguments)?;
            let turn = turn(min, max)?;
            Ok(Function::long_to_long(move |v, _| turn(v)))
        }),
        Overload::int_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            check_order(min <= max)?;
            let width = max.wrapping_sub(min);
            Ok(Function::int_to_int(move |v, _| Ok(min.wrapping_add(remainder_of_int(v, width)?))))
        }),
    ],
    ..FunctionRow::NEW
};

/// `CycleRange` from long to long.
fn turn(min: i64, max: i64) -> Result<impl Fn(i64) -> Eval<i64> + Send + Sync + 'static, Refusal> {
    check_order(min <= max)?;
    let width = max.wrapping_sub(min);
    Ok(move |v| Ok(min.wrapping_add(remainder(v, width)?)))
}

static ADD_CYCLE_RANGE: FunctionRow = FunctionRow {
    name: "AddCycleRange",
    category: Category::Arithmetic,
    doc: "the input plus numbers from 0, or from a minimum, up to a maximum, not included, in turn",
    examples: &[Example("AddCycleRange(10)", 12, "14"), Example("AddCycleRange(5,10)", 1, "7")],
    overloads: &[
        Overload::long_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            let turn = turn(i64::from(min), i64::from(max))?;
            Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_add(turn(v)?) & MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::ONE_OR_TWO_LONGS, |arguments| {
            let (min, max) = bounds_of_longs(arguments)?;
            let turn = turn(min, max)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_add(turn(v)?))))
        }),
        Overload::int_to_int(forms::ONE_OR_TWO_INTS, |arguments| {
            let (min, max) = bounds_of_ints(arguments)?;
            check_order(min <= max)?;
            let width = max.wrapping_sub(min);
            Ok(Function::int_to_int(move |v, _| {
                Ok(v.wrapping_add(min).wrapping_add(remainder_of_int(v, width)?))
            }))
        }),
    ],
    ..FunctionRow::NEW
};

/// `(max)`, from 0, or `(min, max)`.
fn bounds_of_ints(arguments: &Arguments<'_>) -> Result<(i32, i32), Refusal> {
    if arguments.count() == 1 {
        Ok((0, arguments.int(0)?))
    } else {
        Ok((arguments.int(0)?, arguments.int(1)?))
    }
}

fn bounds_of_longs(arguments: &Arguments<'_>) -> Result<(i64, i64), Refusal> {
    if arguments.count() == 1 {
        Ok((0, arguments.long(0)?))
    } else {
        Ok((arguments.long(0)?, arguments.long(1)?))
    }
}

static HASHED_RANGED_TO_NONUNIFORM_DOUBLE: FunctionRow = FunctionRow {
    name: "HashedRangedToNonuniformDouble",
    category: Category::Hash,
    doc: "the bits of a hash read as a double, brought between two bounds: mostly the minimum",
    examples: &[Example("HashedRangedToNonuniformDouble(0,100)", 1, "32.0")],
    overloads: &[Overload::new(
        "from_long.to_double",
        Type::Long,
        Type::Double,
        forms::TWO_LONGS,
        |arguments| {
            let (min, max) = nonuniform_bounds(arguments)?;
            let length = max as f64 - min as f64;
            Ok(Function::long_to_double(move |v, _| Ok(finite_bits(v) % length + min as f64)))
        },
    )],
    ..FunctionRow::NEW
};

static HASHED_RANGED_TO_NONUNIFORM_FLOAT: FunctionRow = FunctionRow {
    name: "HashedRangedToNonuniformFloat",
    category: Category::Hash,
    doc: "as HashedRangedToNonuniformDouble, in single precision",
    examples: &[Example("HashedRangedToNonuniformFloat(0,100)", 1, "32.0")],
    overloads: &[Overload::new(
        "from_long.to_float",
        Type::Long,
        Type::BoxedFloat,
        forms::TWO_LONGS,
        |arguments| {
            let (min, max) = nonuniform_bounds(arguments)?;
            let length = f64::from(max as f32 - min as f32);
            Ok(Function::long_to_object(move |v, _| {
                Ok(Value::Float((finite_bits(v) % length + min as f64) as f32))
            }))
        },
    )],
    ..FunctionRow::NEW
};

fn nonuniform_bounds(arguments: &Arguments<'_>) -> Result<(i64, i64), Refusal> {
    let (min, max) = (arguments.long(0)?, arguments.long(1)?);
    check_interval(min < max)?;
    Ok((min, max))
}

/// The bits of the hash of `v`, or of the first after it that makes a finite number.
fn finite_bits(v: i64) -> f64 {
    let mut input = v;
    loop {
        let value = f64::from_bits(hash::long(input) as u64).abs();
        if value.is_finite() {
            return value;
        }
        input = input.wrapping_add(1);
    }
}

fn check_order(ordered: bool) -> Result<(), Refusal> {
    if ordered {
        Ok(())
    } else {
        Err(Refusal::new("the lower bound is above the upper bound").help("write the lower bound first"))
    }
}

fn check_interval(ordered: bool) -> Result<(), Refusal> {
    if ordered {
        Ok(())
    } else {
        Err(Refusal::new("the lower bound is not below the upper bound, which is not included"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of `draw` over its `bins` equally likely values.
    fn chi_square(bins: usize, draw: impl Fn(i64) -> usize) -> f64 {
        const DRAWS: i64 = 100_000;
        let mut counts = vec![0u32; bins];
        (0..DRAWS).for_each(|v| counts[draw(v)] += 1);
        let expected = DRAWS as f64 / bins as f64;
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn ranges_from_longs_are_uniform_and_the_one_from_ints_is_the_references() {
        // For 9 degrees of freedom one sample in a thousand is above 27.9.
        let long = long_between(0, 9).expect("ordered");
        let int = int_between(0, 9).expect("ordered");
        let double = double_between(0.0, 10.0).expect("ordered");
        assert!(chi_square(10, |v| long(v).expect("a width") as usize) < 27.9);
        assert!(chi_square(10, |v| int(v).expect("a width") as usize) < 27.9);
        assert!(chi_square(10, |v| double(v) as usize) < 27.9);
        let mut found: Vec<i32> = (0..1000).map(|v| int_from_int(0, 10, v)).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, [0, 2, 8, 10]);
    }

    #[test]
    fn bounds_may_span_all_integers() {
        for (min, max) in [(i64::MIN, i64::MAX), (i64::MIN, 0), (-1, i64::MAX), (i64::MAX, i64::MAX)] {
            let range = long_between(min, max).expect("ordered");
            let turn = turn(min, max).expect("ordered");
            for v in [i64::MIN, -1, 0, 1, i64::MAX] {
                let _ = (range(v), turn(v));
            }
        }
    }
}
