//! Arithmetic with a constant, with Java's overflow: integers wrap, and the functions from long to int keep
//! the reference's ways of narrowing.

use super::{Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Type};
use crate::value::Value;

const MAX_INT: i64 = i32::MAX as i64;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&IDENTITY, &ADD, &MUL, &DIV, &MOD];

static IDENTITY: FunctionRow = FunctionRow {
    name: "Identity",
    category: Category::Arithmetic,
    doc: "the input itself",
    examples: &[Example("Identity()", 7, "7")],
    overloads: &[Overload::new("from_long.to_long", Type::Long, Type::Long, &[Constructor::of(&[])], |_| {
        Ok(Function::long_to_long(|v, _| Ok(v)))
    })],
    ..FunctionRow::NEW
};

static ADD: FunctionRow = FunctionRow {
    name: "Add",
    category: Category::Arithmetic,
    doc: "the input plus a number",
    examples: &[
        Example("Add(1)", 2147483647, "2147483648"),
        Example("Add(1) -> int", 2147483647, "1"),
        Example("Identity(); Add(0.5)", 1, "1.5"),
    ],
    overloads: &[
        Overload::new(
            "from_double.to_double",
            Type::Double,
            Type::Double,
            &[Constructor::of(&[Type::Double])],
            |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v + x)))
            },
        ),
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_add(x) % MAX_INT) as i32)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_add(x))))
            },
        ),
        Overload::new("unary_int", Type::Int, Type::Int, &[Constructor::of(&[Type::Int])], |arguments| {
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
    examples: &[
        Example("Mul(3)", 5, "15"),
        // The factor is single precision, the product double.
        Example("Mul(1.5)", 5, "7.5"),
        Example("Mul(2L) -> long", -4, "-8"),
    ],
    overloads: &[
        Overload::new(
            "from_double.to_double",
            Type::Double,
            Type::Double,
            &[Constructor::of(&[Type::Double])],
            |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v * x)))
            },
        ),
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
        Overload::new(
            "from_long.to_float",
            Type::Long,
            Type::Double,
            &[Constructor::of(&[Type::Double])],
            |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::long_to_double(move |v, _| Ok(x * v as f64)))
            },
        ),
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_mul(x) % MAX_INT) as i32)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_mul(x))))
            },
        ),
        Overload::new("unary_int", Type::Int, Type::Int, &[Constructor::of(&[Type::Int])], |arguments| {
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
    examples: &[Example("Div(3)", 10, "3"), Example("Div(3)", -10, "-3"), Example("Div(3) -> int", 10, "3")],
    overloads: &[
        Overload::new(
            "from_double.to_double",
            Type::Double,
            Type::Double,
            &[Constructor::of(&[Type::Double])],
            |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v / x)))
            },
        ),
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((divided(v, x)? & MAX_INT) as i32)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| divided(v, x)))
            },
        ),
        Overload::new("unary_int", Type::Int, Type::Int, &[Constructor::of(&[Type::Int])], |arguments| {
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
    examples: &[
        Example("Mod(10)", 25, "5"),
        Example("Mod(10)", -5, "-5"),
        Example("Mod(10) -> int", -5, "2147483643"),
    ],
    overloads: &[
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((remainder(v, x)? & MAX_INT) as i32)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long])],
            |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| remainder(v, x)))
            },
        ),
        Overload::new("unary_int", Type::Int, Type::Int, &[Constructor::of(&[Type::Int])], |arguments| {
            let x = arguments.int(0)?;
            Ok(Function::int_to_int(move |v, _| {
                if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_rem(x)) }
            }))
        }),
    ],
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
