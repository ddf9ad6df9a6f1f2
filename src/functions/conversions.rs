//! From one type to another, with Java's text forms and the reference's remainders.

use super::function::Transform;
use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Nested, Overload,
    Refusal, Type,
};
use crate::value::{self, Value};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&TO_INT, &TO_LONG, &TO_STRING];

static TO_INT: FunctionRow = FunctionRow {
    name: "ToInt",
    category: Category::Conversion,
    doc: "to a 32-bit integer: numbers by their remainder, text by reading it",
    examples: &[
        Example("ToInt()", 2147483648, "1"),
        Example("ToInt(1000)", 12345, "345"),
        Example("Mod(1000); ToString(); ToInt()", 1234, "234"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_double",
            Type::Double,
            Type::Int,
            &[Constructor::of(&[Type::Int]), Constructor::of(&[])],
            |arguments| {
                let scale = f64::from(int_scale(arguments)?);
                Ok(Function::double_to_int(move |v, _| Ok((v % scale) as i32)))
            },
        ),
        Overload::new(
            "conversions.from_float",
            Type::BoxedDouble,
            Type::BoxedInt,
            &[Constructor::of(&[Type::Int]), Constructor::of(&[])],
            |arguments| {
                let scale = f64::from(int_scale(arguments)?);
                Ok(transform(move |value| match value {
                    Value::Double(v) => Ok(Value::Int((v % scale) as i32)),
                    other => Err(EvalError::wrong_class(&other, "Double")),
                }))
            },
        ),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int]), Constructor::of(&[])],
            |arguments| long_to_int(int_scale(arguments)?),
        ),
        Overload::new(
            "conversions.from_string",
            Type::String,
            Type::BoxedInt,
            &[Constructor::of(&[])],
            |_| {
                Ok(transform(|value| match &value {
                    Value::Text(text) => read_int(text),
                    other => Err(EvalError::wrong_class(other, "String")),
                }))
            },
        ),
        Overload::new("from_long.to_int", Type::Long, Type::Int, &[Constructor::of(&[])], |_| {
            long_to_int(i32::MAX)
        }),
        Overload::new("unary_int", Type::Object, Type::BoxedInt, &[Constructor::of(&[])], |_| {
            Ok(transform(|value| {
                not_null(&value)?;
                let mut text = Vec::new();
                value.write_text(&mut text);
                read_int(&String::from_utf8_lossy(&text))
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_LONG: FunctionRow = FunctionRow {
    name: "ToLong",
    category: Category::Conversion,
    doc: "to a 64-bit integer: a long goes through double and loses its low bits above 2^53, text is read exactly",
    examples: &[
        Example("Hash(); ToLong()", 0, "2945182322382062592"),
        Example("Identity(); ToString(); ToLong()", 9007199254740993, "9007199254740993"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_double",
            Type::Double,
            Type::Long,
            &[Constructor::of(&[Type::Long]), Constructor::of(&[])],
            |arguments| {
                let scale = long_scale(arguments)? as f64;
                Ok(Function::double_to_long(move |v, _| Ok((v % scale) as i64)))
            },
        ),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::BoxedLong,
            &[Constructor::of(&[Type::Long]), Constructor::of(&[])],
            |arguments| {
                let scale = long_scale(arguments)?;
                Ok(transform(move |value| match value {
                    Value::Float(v) => Ok(Value::Long(super::arithmetic::remainder(v as i64, scale)?)),
                    other => Err(EvalError::wrong_class(&other, "Float")),
                }))
            },
        ),
        Overload::new(
            "conversions.from_string",
            Type::String,
            Type::BoxedLong,
            &[Constructor::of(&[])],
            |_| {
                Ok(transform(|value| match &value {
                    Value::Text(text) => value::parse_long(text)
                        .map(Value::Long)
                        .ok_or_else(|| EvalError::no_number(text, "64-bit integer")),
                    other => Err(EvalError::wrong_class(other, "String")),
                }))
            },
        ),
    ],
    ..FunctionRow::NEW
};

static TO_STRING: FunctionRow = FunctionRow {
    name: "ToString",
    category: Category::Conversion,
    doc: "the text of a value, as Java prints it; with a function, the text of what that makes of it",
    examples: &[
        Example("Mod(5); ToString()", 7, "2"),
        Example("ToString(long->Add(1)->long)", 7, "8"),
        Example("HashRange(0.0d,1.0d); ToString()", 0, "0.31931730722925356"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_double",
            Type::Double,
            Type::String,
            &[
                Constructor::of(&[Type::Function]),
                Constructor::of(&[Type::DoubleFunction]),
                Constructor::of(&[Type::DoubleUnaryOperator]),
                Constructor::of(&[]),
            ],
            double_to_string,
        ),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::String,
            &[Constructor::of(&[])],
            |_| {
                Ok(transform(|value| match value {
                    Value::Float(v) => {
                        let mut out = Vec::new();
                        value::write_float(v, &mut out);
                        Ok(super::function::text_value(out))
                    }
                    other => Err(EvalError::wrong_class(&other, "Float")),
                }))
            },
        ),
        Overload::new("conversions.from_int", Type::Int, Type::String, &[Constructor::of(&[])], |_| {
            Ok(Function::int_to_text(|v, _, out| {
                value::write_long(i64::from(v), out);
                Ok(())
            }))
        }),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::String,
            &[
                Constructor::of(&[Type::LongToIntFunction]),
                Constructor::of(&[Type::LongToDoubleFunction]),
                Constructor::of(&[Type::Only("LongToByte")]),
                Constructor::of(&[Type::Only("LongToShort")]),
                Constructor::of(&[]),
                Constructor::of(&[Type::LongUnaryOperator]),
                Constructor::of(&[Type::LongFunction]),
                Constructor::of(&[Type::Function]),
            ],
            long_to_string,
        ),
        Overload::new("unary_string", Type::Object, Type::String, &[Constructor::of(&[])], |_| {
            Ok(Function::ObjectToObject(Transform::by_text(|_, _, _| Ok(()))))
        }),
    ],
    ..FunctionRow::NEW
};

fn int_scale(arguments: &Arguments<'_>) -> Result<i32, Refusal> {
    if arguments.count() == 0 { Ok(i32::MAX) } else { arguments.int(0) }
}

fn long_scale(arguments: &Arguments<'_>) -> Result<i64, Refusal> {
    if arguments.count() == 0 { Ok(i64::MAX) } else { arguments.long(0) }
}

fn long_to_int(scale: i32) -> Result<Function, Refusal> {
    let scale = i64::from(scale);
    Ok(Function::long_to_int(move |v, _| Ok(super::arithmetic::remainder(v, scale)? as i32)))
}

fn transform(make: impl Fn(Value) -> Eval<Value> + Send + Sync + 'static) -> Function {
    Function::ObjectToObject(Transform::by_value(move |value, _| make(value)))
}

fn read_int(text: &str) -> Eval<Value> {
    value::parse_int(text).map(Value::Int).ok_or_else(|| EvalError::no_number(text, "32-bit integer"))
}

fn not_null(value: &Value) -> Eval<()> {
    if *value == Value::Null {
        return Err(EvalError::boxed("NullPointerException", "there is no value to read"));
    }
    Ok(())
}

/// A function given to `ToString` that can never take what it would be given.
fn unusable(nested: &Nested, input: &str) -> Refusal {
    Refusal::new(format!("`{}` takes {}, but here it is given {input}", nested.name, nested.input)).at(0)
}

fn double_to_string(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    if arguments.count() == 0 {
        return Ok(Function::double_to_text(|v, _, out| {
            value::write_double(v, out);
            Ok(())
        }));
    }
    let nested = arguments.nested(0)?;
    // The reference casts what the function yields to Double.
    let as_double = |value: Value| match value {
        Value::Double(double) => Ok(double),
        other => Err(EvalError::wrong_class(&other, "Double")),
    };
    Ok(match nested.function.clone() {
        Function::DoubleToDouble(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(f(v, cx)?, out);
            Ok(())
        }),
        Function::DoubleToObject(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(as_double(f.value(v, cx)?)?, out);
            Ok(())
        }),
        Function::ObjectToObject(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(as_double(f.value(Value::Double(v), cx)?)?, out);
            Ok(())
        }),
        _ => return Err(unusable(nested, "a double")),
    })
}

fn long_to_string(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    if arguments.count() == 0 {
        return Ok(Function::long_to_text(|v, _, out| {
            value::write_long(v, out);
            Ok(())
        }));
    }
    let nested = arguments.nested(0)?;
    Ok(match nested.function.clone() {
        Function::LongToInt(f) => Function::long_to_text(move |v, cx, out| {
            value::write_long(i64::from(f(v, cx)?), out);
            Ok(())
        }),
        Function::LongToLong(f) => Function::long_to_text(move |v, cx, out| {
            value::write_long(f(v, cx)?, out);
            Ok(())
        }),
        Function::LongToDouble(f) => Function::long_to_text(move |v, cx, out| {
            value::write_double(f(v, cx)?, out);
            Ok(())
        }),
        Function::LongToObject(f) => Function::long_to_text(move |v, cx, out| f.write(v, cx, out)),
        Function::ObjectToObject(f) => Function::long_to_text(move |v, cx, out| {
            f.value(Value::Long(v), cx)?.write_text(out);
            Ok(())
        }),
        _ => return Err(unusable(nested, "a long")),
    })
}
