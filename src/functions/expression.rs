//! `Expr`: an expression of the cycle number and of what is saved on the thread.

use super::{
    Arguments, Category, Context, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal, Type,
    forms,
};
use crate::expr::{Expression, Variables};
use crate::value::{self, Value};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&EXPR];

static EXPR: FunctionRow = FunctionRow {
    name: "Expr",
    category: Category::State,
    doc: "an expression of `cycle` (the input) and of all that is kept by Save on this thread",
    notes: "a subset of MVEL: literals, variables, arithmetic, bit operations, comparison, `?:`, texts joined by \
            `+`, Math.…, and statements with assignments, which are kept as Save keeps them; numbers of different \
            types meet in double, so that `cycle + 1` loses digits above 2^53 and `cycle + 1L` does not",
    pure: false,
    examples: &[
        Example("Expr('cycle * 2')", 21, "42"),
        Example("Expr('cycle / 3')", 10, "3"),
        Example("Expr('\"u\" + cycle') -> String", 7, "u7"),
        Example("Expr('cycle % 2 == 0 ? \"even\" : \"odd\"') -> String", 7, "odd"),
    ],
    overloads: &[
        Overload::double_to_double(forms::TEXT, |arguments| {
            let expression = expression(arguments)?;
            Ok(Function::double_to_double(move |v, context| {
                let value = evaluate(&expression, Value::Double(v), context)?;
                to_double(&value).ok_or_else(|| unusable(&value, "double"))
            }))
        }),
        Overload::long_to_int(forms::TEXT, |arguments| {
            let expression = expression(arguments)?;
            Ok(Function::long_to_int(move |v, context| {
                let value = evaluate(&expression, Value::Long(v), context)?;
                to_int(&value).ok_or_else(|| unusable(&value, "int"))
            }))
        }),
        Overload::long_to_long(forms::TEXT, |arguments| {
            let expression = expression(arguments)?;
            Ok(Function::long_to_long(move |v, context| {
                let value = evaluate(&expression, Value::Long(v), context)?;
                to_long(&value).ok_or_else(|| unusable(&value, "long"))
            }))
        }),
        // The reference converts to UUID here too, and fails unless the value is one.
        Overload::new("from_long.to_object", Type::Long, Type::Object, forms::TEXT, to_uuid),
        Overload::new("from_long.to_string", Type::Long, Type::String, forms::TEXT, |arguments| {
            let expression = expression(arguments)?;
            Ok(Function::long_to_object(move |v, context| {
                Ok(match evaluate(&expression, Value::Long(v), context)? {
                    Value::Null => Value::Null,
                    Value::Text(text) => Value::Text(text),
                    other => Value::Text(other.text()),
                })
            }))
        }),
        Overload::new("from_long.to_uuid", Type::Long, Type::Uuid, forms::TEXT, to_uuid),
        Overload::int_to_int(forms::TEXT, |arguments| {
            let expression = expression(arguments)?;
            Ok(Function::int_to_int(move |v, context| {
                let value = evaluate(&expression, Value::Int(v), context)?;
                to_int(&value).ok_or_else(|| unusable(&value, "int"))
            }))
        }),
    ],
    ..FunctionRow::NEW
};

fn expression(arguments: &Arguments<'_>) -> Result<Expression, Refusal> {
    let text = arguments.text(0)?;
    Expression::parse(text).map_err(|error| {
        let before = text.get(..error.range.start).unwrap_or_default();
        let place = if before.trim().is_empty() { String::new() } else { format!(", after `{before}`") };
        let refusal = Refusal::new(format!("{}{place}", error.message)).at(0);
        match error.help {
            Some(help) => refusal.help(help),
            None => refusal,
        }
    })
}

/// What is saved on the thread, as variables.
struct Saved<'a>(&'a mut Context);

impl Variables for Saved<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.0.variables.get_text(name).cloned()
    }

    fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        match self.0.variables.get_text_mut(name) {
            Some(kept) => *kept = value,
            None => {
                self.0.variables.put(Value::Text(name.to_owned()), value);
            }
        }
        Ok(())
    }
}

/// The input is kept as `cycle`, as the reference keeps it.
fn evaluate(expression: &Expression, input: Value, context: &mut Context) -> Eval<Value> {
    let mut saved = Saved(context);
    saved.set("cycle", input).map_err(|message| EvalError::boxed("IllegalAccessException", message))?;
    expression.eval(&mut saved).map_err(|fault| EvalError::boxed(fault.name, fault.message))
}

fn unusable(value: &Value, wanted: &str) -> Box<EvalError> {
    EvalError::boxed(
        "ConversionException",
        format!("{} ({}) is no {wanted}", value.text(), value.type_name()),
    )
}

fn to_long(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Long(n) => *n,
        Value::Int(n) => i64::from(*n),
        Value::Double(n) => *n as i64,
        Value::Float(n) => *n as i64,
        Value::Bool(b) => i64::from(*b),
        Value::Text(text) if text.is_empty() => 0,
        Value::Text(text) => value::parse_long(text)?,
        _ => return None,
    })
}

/// Numbers above the range of an int are refused, those below are cut.
fn to_int(value: &Value) -> Option<i32> {
    const MOST: i64 = i32::MAX as i64;
    Some(match value {
        Value::Int(n) => *n,
        Value::Long(n) if *n <= MOST => *n as i32,
        Value::Double(n) if *n <= MOST as f64 || n.is_nan() => *n as i32,
        Value::Float(n) if *n <= MOST as f32 || n.is_nan() => *n as i32,
        Value::Bool(b) => i32::from(*b),
        Value::Text(text) => value::parse_int(text)?,
        _ => return None,
    })
}

fn to_double(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Double(n) => *n,
        Value::Long(n) => *n as f64,
        Value::Int(n) => f64::from(*n),
        Value::Float(n) => f64::from(*n),
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Text(text) if text.is_empty() => 0.0,
        Value::Text(text) => value::parse_double(text)?,
        _ => return None,
    })
}

fn to_uuid(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let expression = expression(arguments)?;
    Ok(Function::long_to_object(move |v, context| match evaluate(&expression, Value::Long(v), context)? {
        uuid @ (Value::Uuid { .. } | Value::Null) => Ok(uuid),
        other => Err(unusable(&other, "UUID")),
    }))
}
