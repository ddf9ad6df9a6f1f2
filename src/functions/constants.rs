//! Values that do not depend on the input, or on no more than its place in a list.

use super::Argument;
use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal,
    Type, forms,
};
use crate::value::{self, Value};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&FIXED_VALUE, &FIXED_VALUES, &DISCARD, &UNSET];

static FIXED_VALUE: FunctionRow = FunctionRow {
    name: "FixedValue",
    category: Category::Constant,
    doc: "always the same integer, text, number, boolean or null",
    notes: "numbers with a point, booleans and null are ours: NoSQLBench takes integers and texts",
    examples: &[
        Example("FixedValue(42)", 5, "42"),
        Example("FixedValue('x')", 5, "x"),
        Example("FixedValue(1.5)", 5, "1.5"),
        Example("FixedValue(true)", 5, "true"),
        Example("FixedValue(null)", 5, "null"),
    ],
    overloads: &[
        Overload::long_to_int(forms::INT, |arguments| {
            let constant = arguments.int(0)?;
            Ok(Function::long_to_int(move |_, _| Ok(constant)))
        }),
        Overload::long_to_long(forms::LONG, |arguments| {
            let constant = arguments.long(0)?;
            Ok(Function::long_to_long(move |_, _| Ok(constant)))
        }),
        Overload::new("from_long.to_string", Type::Long, Type::String, forms::TEXT, |arguments| {
            let constant = arguments.text(0)?.to_owned();
            Ok(Function::long_to_text(move |_, _, out| {
                out.extend_from_slice(constant.as_bytes());
                Ok(())
            }))
        }),
        Overload::ours(Type::Long, Type::Double, forms::DOUBLE, |arguments| {
            let constant = decimal(arguments, 0)?;
            Ok(Function::long_to_double(move |_, _| Ok(constant)))
        }),
        Overload::ours(Type::Long, Type::Object, &[Constructor::of(&[Type::Object])], |arguments| {
            let constant = literal(arguments, 0)?;
            Ok(Function::long_to_object(move |_, _| Ok(constant.clone())))
        }),
    ],
    ..FunctionRow::NEW
};

/// The double that a literal means, where no form of the reference takes it: a number with a point is read
/// again as double, not as the single precision that the reference would read.
fn decimal(arguments: &Arguments<'_>, position: usize) -> Result<f64, Refusal> {
    match arguments.get(position) {
        Some(Argument::Float(float)) => {
            let mut text = Vec::new();
            value::write_float(*float, &mut text);
            Ok(value::parse_double(&String::from_utf8_lossy(&text)).unwrap_or(f64::from(*float)))
        }
        _ => arguments.double(position),
    }
}

fn literal(arguments: &Arguments<'_>, position: usize) -> Result<Value, Refusal> {
    Ok(match arguments.get(position) {
        Some(Argument::Float(_)) => Value::Double(decimal(arguments, position)?),
        _ => arguments.constant(position)?,
    })
}

static FIXED_VALUES: FunctionRow = FunctionRow {
    name: "FixedValues",
    category: Category::Constant,
    doc: "the items of a list in turn",
    notes: "numbers with a point are single precision; texts, booleans and null are ours",
    examples: &[
        Example("FixedValues(1L,2L,3L)", 4, "2"),
        Example("FixedValues(1.5,2.5)", 1, "2.5"),
        Example("FixedValues('a','b')", 3, "b"),
    ],
    overloads: &[
        Overload::new(
            "from_long.to_double",
            Type::Long,
            Type::Double,
            &[Constructor::with_rest(&[], Type::Long)],
            |arguments| {
                let items = items(arguments, Arguments::long)?;
                Ok(Function::long_to_double(move |v, _| Ok(*pick(&items, v)? as f64)))
            },
        ),
        Overload::new("from_long.to_float", Type::Long, Type::BoxedFloat, forms::OBJECTS, |arguments| {
            let items = items(arguments, |arguments, position| match arguments.get(position) {
                Some(Argument::Double(double)) => Ok(*double as f32),
                _ => arguments.float(position),
            })?;
            Ok(Function::long_to_object(move |v, _| Ok(Value::Float(*pick(&items, v)?))))
        }),
        Overload::long_to_int(&[Constructor::with_rest(&[], Type::Int)], |arguments| {
            let items = items(arguments, Arguments::int)?;
            Ok(Function::long_to_int(move |v, _| Ok(*pick(&items, v)?)))
        }),
        Overload::long_to_long(&[Constructor::with_rest(&[], Type::Long)], |arguments| {
            let items = items(arguments, Arguments::long)?;
            Ok(Function::long_to_long(move |v, _| Ok(*pick(&items, v)?)))
        }),
        Overload::ours(Type::Long, Type::Object, forms::OBJECTS, |arguments| {
            let items = items(arguments, literal)?;
            Ok(Function::long_to_object(move |v, _| Ok(pick(&items, v)?.clone())))
        }),
    ],
    ..FunctionRow::NEW
};

fn items<'a, T>(
    arguments: &Arguments<'a>,
    get: impl Fn(&Arguments<'a>, usize) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    (0..arguments.count()).map(|position| get(arguments, position)).collect()
}

fn pick<T>(items: &[T], v: i64) -> Eval<&T> {
    if items.is_empty() {
        return Err(EvalError::division_by_zero());
    }
    let place = (v % i64::from(i32::MAX)) % items.len() as i64;
    usize::try_from(place)
        .ok()
        .and_then(|place| items.get(place))
        .ok_or_else(|| EvalError::boxed("ArrayIndexOutOfBoundsException", "the input must not be negative"))
}

static DISCARD: FunctionRow = FunctionRow {
    name: "Discard",
    category: Category::Constant,
    doc: "always the text `discard`",
    examples: &[Example("Discard()", 5, "discard")],
    overloads: &[Overload::new("from_long.to_object", Type::Long, Type::Object, forms::NONE, |_| {
        Ok(Function::long_to_text(|_, _, out| {
            out.extend_from_slice(b"discard");
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static UNSET: FunctionRow = FunctionRow {
    name: "Unset",
    category: Category::Constant,
    doc: "no value at all: the field is left out",
    examples: &[Example("Unset()", 5, "unset")],
    overloads: &[Overload::new("from_long.to_unset", Type::Long, Type::Object, forms::NONE, |_| {
        Ok(Function::long_to_object(|_, _| Ok(Value::Unset)))
    })],
    ..FunctionRow::NEW
};
