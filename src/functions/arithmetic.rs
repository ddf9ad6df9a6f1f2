//! Arithmetic with constants, with Java's overflow: integers wrap, and the functions from long to int keep
//! the reference's ways of narrowing.

use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal,
    Type, adapt, forms, ranges,
};
use crate::value::Value;

const MAX_INT: i64 = i32::MAX as i64;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &IDENTITY,
    &ADD,
    &MUL,
    &DIV,
    &MOD,
    &MIN,
    &MAX,
    &CLAMP,
    &INTERPOLATE,
    &PARTITION_LONGS,
    &TRIANGULAR_STEP,
    &TRIANGLE_WAVE,
    &SIN,
    &DIVIDE_TO_LONG_TO_STRING,
];

static IDENTITY: FunctionRow = FunctionRow {
    name: "Identity",
    category: Category::Arithmetic,
    doc: "the input itself",
    examples: &[Example("Identity()", 7, "7")],
    overloads: &[Overload::long_to_long(forms::NONE, |_| Ok(Function::long_to_long(|v, _| Ok(v))))],
    ..FunctionRow::NEW
};

static ADD: FunctionRow = FunctionRow {
    name: "Add",
    category: Category::Arithmetic,
    doc: "the input plus a number",
    notes: "integers of 64 bits wrap; the form from long to int gives the remainder by 2147483647",
    examples: &[
        Example("Add(1)", 2147483647, "2147483648"),
        Example("Add(1) -> int", 2147483647, "1"),
        Example("Identity(); Add(0.5)", 1, "1.5"),
        Example("Add(1.5)", 1, "2.5"),
    ],
    overloads: &[
        Overload::double_to_double(forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::double_to_double(move |v, _| Ok(v + x)))
        }),
        Overload::long_to_int(forms::INT, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_add(x) % MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_add(x))))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| Ok(v.wrapping_add(x))))
        }),
    ],
    ..FunctionRow::NEW
};

static MUL: FunctionRow = FunctionRow {
    name: "Mul",
    category: Category::Arithmetic,
    doc: "the input times a number",
    notes: "a factor with a point is single precision unless it ends in `d`; the product is double",
    examples: &[
        Example("Mul(3)", 5, "15"),
        Example("Mul(1.5)", 5, "7.5"),
        Example("Mul(2L) -> long", -4, "-8"),
    ],
    overloads: &[
        Overload::double_to_double(forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::double_to_double(move |v, _| Ok(v * x)))
        }),
        // The next two stand in each other's packages in the reference.
        Overload::new(
            "from_long.to_double",
            Type::Long,
            Type::BoxedFloat,
            &[Constructor::of(&[Type::Float])],
            |arguments| {
                let x = arguments.float(0)?;
                Ok(Function::long_to_object(move |v, _| Ok(Value::Float(x * v as f32))))
            },
        ),
        Overload::new("from_long.to_float", Type::Long, Type::Double, forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::long_to_double(move |v, _| Ok(x * v as f64)))
        }),
        Overload::long_to_int(forms::INT, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_mul(x) % MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_mul(x))))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| Ok(v.wrapping_mul(x))))
        }),
    ],
    ..FunctionRow::NEW
};

static DIV: FunctionRow = FunctionRow {
    name: "Div",
    category: Category::Arithmetic,
    doc: "the input divided by a number, without the remainder",
    notes: "an integer divided by 0 is an error, a double is not",
    examples: &[Example("Div(3)", 10, "3"), Example("Div(3)", -10, "-3"), Example("Div(3) -> int", 10, "3")],
    overloads: &[
        Overload::double_to_double(forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::double_to_double(move |v, _| Ok(v / x)))
        }),
        Overload::long_to_int(forms::INT, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_int(move |v, _| Ok((divided(v, x)? & MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| divided(v, x)))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| {
                if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_div(x)) }
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static MOD: FunctionRow = FunctionRow {
    name: "Mod",
    category: Category::Arithmetic,
    doc: "the remainder of a division, with the sign of the input",
    notes: "by 0 it is an error; the form from long to int drops the sign bit",
    examples: &[
        Example("Mod(10)", 25, "5"),
        Example("Mod(10)", -5, "-5"),
        Example("Mod(10) -> int", -5, "2147483643"),
    ],
    overloads: &[
        Overload::long_to_int(forms::INT, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_int(move |v, _| Ok((remainder(v, x)? & MAX_INT) as i32)))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| remainder(v, x)))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| remainder_of_int(v, x)))
        }),
    ],
    ..FunctionRow::NEW
};

static MIN: FunctionRow = FunctionRow {
    name: "Min",
    category: Category::Arithmetic,
    doc: "the input, or a number where that is smaller",
    examples: &[Example("Min(10)", 25, "10"), Example("Min(10)", 5, "5"), Example("Min(0.5)", 3, "0.5")],
    overloads: &[
        Overload::double_to_double(forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::double_to_double(move |v, _| Ok(min(v, x))))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.min(x))))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| Ok(v.min(x))))
        }),
    ],
    ..FunctionRow::NEW
};

static MAX: FunctionRow = FunctionRow {
    name: "Max",
    category: Category::Arithmetic,
    doc: "the input, or a number where that is greater",
    examples: &[Example("Max(10)", 25, "25"), Example("Max(10)", 5, "10"), Example("Max(0.5)", 0, "0.5")],
    overloads: &[
        Overload::double_to_double(forms::DOUBLE, |arguments| {
            let x = arguments.double(0)?;
            Ok(Function::double_to_double(move |v, _| Ok(max(v, x))))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let x = arguments.long(0)?;
            Ok(Function::long_to_long(move |v, _| Ok(v.max(x))))
        }),
        Overload::int_to_int(forms::INT, |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| Ok(v.max(x))))
        }),
    ],
    ..FunctionRow::NEW
};

static CLAMP: FunctionRow = FunctionRow {
    name: "Clamp",
    category: Category::Arithmetic,
    doc: "the input, or the nearer of two bounds where it is outside of them",
    examples: &[
        Example("Clamp(5,10)", 3, "5"),
        Example("Clamp(5,10)", 7, "7"),
        Example("Clamp(5,10)", 70, "10"),
    ],
    overloads: &[
        Overload::double_to_double(forms::TWO_DOUBLES, |arguments| {
            let (low, high) = (arguments.double(0)?, arguments.double(1)?);
            Ok(Function::double_to_double(move |v, _| Ok(min(high, max(low, v)))))
        }),
        Overload::long_to_long(forms::TWO_LONGS, |arguments| {
            let (low, high) = (arguments.long(0)?, arguments.long(1)?);
            Ok(Function::long_to_long(move |v, _| Ok(v.max(low).min(high))))
        }),
        Overload::int_to_int(forms::TWO_INTS, |arguments| {
            let (low, high) = (arguments.int(0)?, arguments.int(1)?);
            Ok(Function::int_to_int(move |v, _| Ok(v.max(low).min(high))))
        }),
    ],
    ..FunctionRow::NEW
};

const DOUBLES: &[Constructor] = &[Constructor::with_rest(&[], Type::Double)];

static INTERPOLATE: FunctionRow = FunctionRow {
    name: "Interpolate",
    category: Category::Arithmetic,
    doc: "a point on the line through some numbers: the first for 0, the last for 2^63 − 1",
    notes: "to be used after `Hash()`; the long form drops what is behind the point",
    examples: &[
        Example("Hash(); Interpolate(0.0d,100.0d)", 0, "31"),
        Example("Hash(); Interpolate(0.0d,100.0d) -> double", 0, "31.931730722925355"),
    ],
    overloads: &[
        Overload::new("from_long.to_double", Type::Long, Type::Double, DOUBLES, |arguments| {
            let point = interpolation(arguments)?;
            Ok(Function::long_to_double(move |v, _| point(v)))
        }),
        Overload::long_to_long(DOUBLES, |arguments| {
            let point = interpolation(arguments)?;
            Ok(Function::long_to_long(move |v, _| Ok(point(v)? as i64)))
        }),
    ],
    ..FunctionRow::NEW
};

fn interpolation(
    arguments: &Arguments<'_>,
) -> Result<impl Fn(i64) -> Eval<f64> + Send + Sync + 'static, Refusal> {
    let mut points = Vec::with_capacity(arguments.count() + 1);
    for position in 0..arguments.count() {
        points.push(arguments.double(position)?);
    }
    let Some(last) = points.last().copied() else {
        return Err(Refusal::new("it needs at least one number"));
    };
    let scale = (points.len() as f64 - 1.0) * (1.0 / i64::MAX as f64);
    points.push(last);
    Ok(move |v| {
        let point = scale * v as f64;
        let left = point as i32;
        let fraction = point - f64::from(left);
        match usize::try_from(left).ok().and_then(|left| points.get(left..left.saturating_add(2))) {
            Some([low, high]) => Ok(low * (1.0 - fraction) + high * fraction),
            _ => Err(EvalError::boxed("ArrayIndexOutOfBoundsException", "the input must not be negative")),
        }
    })
}

static PARTITION_LONGS: FunctionRow = FunctionRow {
    name: "PartitionLongs",
    category: Category::Arithmetic,
    doc: "where one of so many equal parts of all 64-bit integers begins: the parts take turns",
    examples: &[Example("PartitionLongs(4)", 1, "4611686018427387904")],
    overloads: &[Overload::long_to_long(forms::INT, |arguments| {
        let parts = i64::from(arguments.int(0)?);
        if parts < 1 {
            return Err(Refusal::new("the number of parts must be at least 1").at(0));
        }
        let half = i64::MIN / parts;
        Ok(Function::long_to_long(move |v, _| match v.wrapping_rem(parts) {
            0 => Ok(i64::MIN),
            part if part > 0 => {
                let offset = part.wrapping_mul(half);
                Ok(i64::MIN.wrapping_add(offset.wrapping_add(offset)))
            }
            _ => Err(EvalError::boxed("ArrayIndexOutOfBoundsException", "the input must not be negative")),
        }))
    })],
    ..FunctionRow::NEW
};

static TRIANGULAR_STEP: FunctionRow = FunctionRow {
    name: "TriangularStep",
    category: Category::Arithmetic,
    doc: "a number that steps up by one every so many inputs, sooner or later by a random-looking variance",
    notes: "(average, variance): the variance is at most the average",
    examples: &[Example("TriangularStep(100,20)", 250, "2")],
    overloads: &[Overload::long_to_long(
        &[Constructor::of(&[Type::Long, Type::Long]), Constructor::closed(&[Type::Long])],
        |arguments| {
            let (average, variance) = (arguments.long(0)?, arguments.long(1)?);
            if average <= 0 || variance < 0 || variance > average {
                return Err(Refusal::new(format!(
                    "the average must be positive and the variance between 0 and it, not {average} and {variance}"
                )));
            }
            let size = ranges::long_between(average - variance, average.wrapping_add(variance))?;
            Ok(Function::long_to_long(move |v, _| {
                let count = v / average;
                let base = v - v % average;
                let slice = base.wrapping_add(size(base)?);
                Ok(if slice > v { count } else { count.wrapping_add(1) })
            }))
        },
    )],
    ..FunctionRow::NEW
};

static TRIANGLE_WAVE: FunctionRow = FunctionRow {
    name: "TriangleWave",
    category: Category::Arithmetic,
    doc: "up and down in turn: the distance to the nearer end of a phase of so many inputs",
    notes: "a second argument scales the distance, in the form for longs; the form for doubles ignores it",
    examples: &[
        Example("TriangleWave(10)", 3, "3"),
        Example("TriangleWave(10)", 8, "2"),
        Example("TriangleWave(10,long->Mul(5L)->long)", 8, "10"),
    ],
    overloads: &[
        Overload::double_to_double(
            &[Constructor::of(&[Type::Double, Type::Object]), Constructor::of(&[Type::Double])],
            |arguments| {
                let length = arguments.double(0)?;
                let half = length * 0.5;
                Ok(Function::double_to_double(move |v, _| {
                    let position = v % length;
                    Ok(match (4.0 * position / length) as i32 {
                        0 => position,
                        1 => half - position,
                        2 => position - half,
                        4 => length - position,
                        _ => f64::NAN,
                    })
                }))
            },
        ),
        Overload::long_to_long(
            &[Constructor::of(&[Type::Long, Type::Object]), Constructor::of(&[Type::Long])],
            |arguments| {
                let length = arguments.long(0)?;
                let scale = match arguments.count() {
                    1 => None,
                    _ => Some(adapt::to_long(arguments.nested(1)?).map_err(|refusal| refusal.at(1))?),
                };
                Ok(Function::long_to_long(move |v, context| {
                    let position = remainder(v, length)?;
                    let distance = length.wrapping_sub(position).wrapping_abs().min(position);
                    match &scale {
                        None => Ok(distance),
                        Some(scale) => scale(distance, context),
                    }
                }))
            },
        ),
    ],
    ..FunctionRow::NEW
};

static SIN: FunctionRow = FunctionRow {
    name: "Sin",
    category: Category::Arithmetic,
    doc: "the sine of the input in radians",
    examples: &[Example("Sin()", 0, "0.0"), Example("Identity(); Sin()", 1, "0.8414709848078965")],
    overloads: &[Overload::new("periodic", Type::Double, Type::Double, forms::NONE, |_| {
        Ok(Function::double_to_double(|v, _| Ok(v.sin())))
    })],
    ..FunctionRow::NEW
};

static DIVIDE_TO_LONG_TO_STRING: FunctionRow = FunctionRow {
    name: "DivideToLongToString",
    category: Category::Arithmetic,
    doc: "the text of the input divided by a number",
    examples: &[Example("DivideToLongToString(10)", 123, "12")],
    overloads: &[Overload::new("from_long.to_string", Type::Long, Type::String, forms::LONG, |arguments| {
        let x = arguments.long(0)?;
        Ok(Function::long_to_text(move |v, _, out| {
            crate::value::write_long(divided(v, x)?, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

#[inline]
fn divided(v: i64, x: i64) -> Eval<i64> {
    if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_div(x)) }
}

/// `v % x` with the sign of `v`.
#[inline]
pub(super) fn remainder(v: i64, x: i64) -> Eval<i64> {
    if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_rem(x)) }
}

#[inline]
pub(super) fn remainder_of_int(v: i32, x: i32) -> Eval<i32> {
    if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_rem(x)) }
}

/// `Math.min`: NaN if either is, and −0.0 is less than 0.0.
pub(super) fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b || a == 0.0 && b == 0.0 && a.is_sign_negative() { a } else { b }
}

/// `Math.max`, likewise.
pub(super) fn max(a: f64, b: f64) -> f64 {
    -min(-a, -b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_doubles_are_javas() {
        for (a, b, least, greatest) in [
            (1.0, 2.0, 1.0, 2.0),
            (0.0, -0.0, -0.0, 0.0),
            (-0.0, 0.0, -0.0, 0.0),
            (f64::NAN, 1.0, f64::NAN, f64::NAN),
            (1.0, f64::NAN, f64::NAN, f64::NAN),
            (f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY),
        ] {
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same(min(a, b), least) && same(max(a, b), greatest), "{a} {b}");
        }
    }
}
