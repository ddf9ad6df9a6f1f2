//! Arithmetic with a constant, with Java's overflow: integers wrap, and the functions from long to int keep
//! the reference's ways of narrowing.

use super::{Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Type};
use crate::value::Value;

const MAX_INT: i64 = i32::MAX as i64;

pub static IDENTITY: FunctionRow = FunctionRow {
    name: "Identity",
    category: Category::Arithmetic,
    doc: "the input itself",
    pure: true,
    examples: &[Example("Identity()", 7, "7")],
    overloads: &[Overload {
        package: "from_long.to_long",
        input: Type::Long,
        output: Type::Long,
        constructors: &[Constructor::of(&[])],
        build: |_| Ok(Function::long_to_long(|v, _| Ok(v))),
    }],
};

pub static ADD: FunctionRow = FunctionRow {
    name: "Add",
    category: Category::Arithmetic,
    doc: "the input plus a number",
    pure: true,
    examples: &[
        Example("Add(1)", 2147483647, "2147483648"),
        Example("Add(1) -> int", 2147483647, "1"),
        Example("Identity(); Add(0.5)", 1, "1.5"),
    ],
    overloads: &[
        Overload {
            package: "from_double.to_double",
            input: Type::Double,
            output: Type::Double,
            constructors: &[Constructor::of(&[Type::Double])],
            build: |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v + x)))
            },
        },
        Overload {
            package: "from_long.to_int",
            input: Type::Long,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_add(x) % MAX_INT) as i32)))
            },
        },
        Overload {
            package: "from_long.to_long",
            input: Type::Long,
            output: Type::Long,
            constructors: &[Constructor::of(&[Type::Long])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_add(x))))
            },
        },
        Overload {
            package: "unary_int",
            input: Type::Int,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.int(0)?;
                Ok(Function::int_to_int(move |v, _| Ok(v.wrapping_add(x))))
            },
        },
    ],
};

pub static MUL: FunctionRow = FunctionRow {
    name: "Mul",
    category: Category::Arithmetic,
    doc: "the input times a number",
    pure: true,
    examples: &[
        Example("Mul(3)", 5, "15"),
        // The factor is single precision, the product double.
        Example("Mul(1.5)", 5, "7.5"),
        Example("Mul(2L) -> long", -4, "-8"),
    ],
    overloads: &[
        Overload {
            package: "from_double.to_double",
            input: Type::Double,
            output: Type::Double,
            constructors: &[Constructor::of(&[Type::Double])],
            build: |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v * x)))
            },
        },
        // The next two stand in each other's packages in the reference.
        Overload {
            package: "from_long.to_double",
            input: Type::Long,
            output: Type::BoxedFloat,
            constructors: &[Constructor::of(&[Type::Float])],
            build: |arguments| {
                let x = arguments.float(0)?;
                Ok(Function::long_to_object(move |v, _| Ok(Value::Float(x * v as f32))))
            },
        },
        Overload {
            package: "from_long.to_float",
            input: Type::Long,
            output: Type::Double,
            constructors: &[Constructor::of(&[Type::Double])],
            build: |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::long_to_double(move |v, _| Ok(x * v as f64)))
            },
        },
        Overload {
            package: "from_long.to_int",
            input: Type::Long,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((v.wrapping_mul(x) % MAX_INT) as i32)))
            },
        },
        Overload {
            package: "from_long.to_long",
            input: Type::Long,
            output: Type::Long,
            constructors: &[Constructor::of(&[Type::Long])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| Ok(v.wrapping_mul(x))))
            },
        },
        Overload {
            package: "unary_int",
            input: Type::Int,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.int(0)?;
                Ok(Function::int_to_int(move |v, _| Ok(v.wrapping_mul(x))))
            },
        },
    ],
};

pub static DIV: FunctionRow = FunctionRow {
    name: "Div",
    category: Category::Arithmetic,
    doc: "the input divided by a number, without the remainder",
    pure: true,
    examples: &[Example("Div(3)", 10, "3"), Example("Div(3)", -10, "-3"), Example("Div(3) -> int", 10, "3")],
    overloads: &[
        Overload {
            package: "from_double.to_double",
            input: Type::Double,
            output: Type::Double,
            constructors: &[Constructor::of(&[Type::Double])],
            build: |arguments| {
                let x = arguments.double(0)?;
                Ok(Function::double_to_double(move |v, _| Ok(v / x)))
            },
        },
        Overload {
            package: "from_long.to_int",
            input: Type::Long,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((divided(v, x)? & MAX_INT) as i32)))
            },
        },
        Overload {
            package: "from_long.to_long",
            input: Type::Long,
            output: Type::Long,
            constructors: &[Constructor::of(&[Type::Long])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| divided(v, x)))
            },
        },
        Overload {
            package: "unary_int",
            input: Type::Int,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.int(0)?;
                Ok(Function::int_to_int(move |v, _| {
                    if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_div(x)) }
                }))
            },
        },
    ],
};

pub static MOD: FunctionRow = FunctionRow {
    name: "Mod",
    category: Category::Arithmetic,
    doc: "the remainder of a division, with the sign of the input",
    pure: true,
    examples: &[
        Example("Mod(10)", 25, "5"),
        Example("Mod(10)", -5, "-5"),
        Example("Mod(10) -> int", -5, "2147483643"),
    ],
    overloads: &[
        Overload {
            package: "from_long.to_int",
            input: Type::Long,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_int(move |v, _| Ok((remainder(v, x)? & MAX_INT) as i32)))
            },
        },
        Overload {
            package: "from_long.to_long",
            input: Type::Long,
            output: Type::Long,
            constructors: &[Constructor::of(&[Type::Long])],
            build: |arguments| {
                let x = arguments.long(0)?;
                Ok(Function::long_to_long(move |v, _| remainder(v, x)))
            },
        },
        Overload {
            package: "unary_int",
            input: Type::Int,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let x = arguments.int(0)?;
                Ok(Function::int_to_int(move |v, _| {
                    if x == 0 { Err(EvalError::division_by_zero()) } else { Ok(v.wrapping_rem(x)) }
                }))
            },
        },
    ],
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
