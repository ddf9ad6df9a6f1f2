//! Functions as arguments: an argument's own kind is turned into the kind that its taker wants, with the
//! reference's conversions (`v` is the input). Kinds that it has no adapter for are refused, as it refuses
//! them. Where an adapter depends on the class of what a function yields, the reference calls it once with 1
//! to learn that class.

use super::arguments::{Nested, Refusal};
use super::function::{Function, Map, Producer, Transform, by_text, by_value};
use super::types::Type;
use super::{Context, Eval, EvalError};
use crate::value::{self, Value};
use std::sync::Arc;

const MAX_INT: i64 = i32::MAX as i64;

/// The low part that int functions are given.
fn to_int_input(v: i64) -> i32 {
    (v % MAX_INT) as i32
}

fn refused(nested: &Nested, wanted: &str) -> Refusal {
    Refusal::new(format!(
        "`{}` ({} to {}) cannot be used as a function from long to {wanted}",
        nested.name, nested.input, nested.output
    ))
    .help(format!("qualify it, for instance `long->{}(…)->long`", nested.name))
}

fn probe_failed(nested: &Nested, error: &EvalError) -> Refusal {
    Refusal::new(format!("`{}` fails for 1: {error}", nested.name))
}

/// To long → anything.
pub fn to_object(nested: &Nested) -> Result<Producer<i64>, Refusal> {
    Ok(match &nested.function {
        Function::LongToObject(f) => f.clone(),
        Function::LongToLong(f) => primitive(f.clone(), |v| v, Value::Long),
        Function::LongToInt(f) => primitive(f.clone(), |v| v, Value::Int),
        Function::LongToDouble(f) => primitive(f.clone(), |v| v, Value::Double),
        Function::IntToInt(f) => primitive(f.clone(), to_int_input, Value::Int),
        Function::DoubleToDouble(f) => primitive(f.clone(), |v| v as f64, Value::Double),
        Function::DoubleToLong(f) => primitive(f.clone(), |v| v as f64, Value::Long),
        Function::DoubleToInt(f) => primitive(f.clone(), |v| v as f64, Value::Int),
        Function::IntToObject(f) => {
            let probe = f.value(1, &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            if !matches!(probe, Value::Int(_) | Value::Double(_) | Value::Text(_)) {
                return Err(refused(nested, "anything"));
            }
            let (f, g) = (f.clone(), f.clone());
            Arc::new(Adapted {
                value: move |v, cx: &mut Context| f.value(to_int_input(v), cx),
                write: move |v, cx: &mut Context, out: &mut Vec<u8>| g.write(to_int_input(v), cx, out),
            })
        }
        Function::DoubleToObject(f) => {
            let probe =
                f.value(1.0, &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            if !matches!(probe, Value::Double(_) | Value::Text(_)) {
                return Err(refused(nested, "anything"));
            }
            let (f, g) = (f.clone(), f.clone());
            Arc::new(Adapted {
                value: move |v, cx: &mut Context| f.value(v as f64, cx),
                write: move |v, cx: &mut Context, out: &mut Vec<u8>| g.write(v as f64, cx, out),
            })
        }
        Function::ObjectToObject(f) => {
            match f.clone() {
                Transform::Value(make) => by_value(move |v, cx| make(Value::Long(v), cx)),
                // The reference finds out only when it casts, so a candidate that is not chosen does no harm.
                Transform::Text(_) if !Type::Long.may_be(nested.input) => {
                    let wanted = nested.input;
                    by_value(move |v, _| Err(EvalError::wrong_class(&Value::Long(v), &wanted.to_string())))
                }
                Transform::Text(rewrite) => by_text(move |v, cx, out| {
                    let from = out.len();
                    value::write_long(v, out);
                    rewrite(out, from, cx)
                }),
            }
        }
        Function::IntToLong(_) | Function::IntToDouble(_) => return Err(refused(nested, "anything")),
    })
}

/// To long → int: how long something shall be.
pub fn to_int(nested: &Nested) -> Result<Map<i64, i32>, Refusal> {
    Ok(match &nested.function {
        Function::LongToInt(f) => f.clone(),
        Function::LongToLong(f) => map(f.clone(), |v| v, |r| Ok((r % MAX_INT) as i32)),
        Function::LongToDouble(f) => map(f.clone(), |v| v, |r| Ok((r % MAX_INT as f64) as i32)),
        Function::IntToInt(f) => map(f.clone(), to_int_input, Ok),
        Function::IntToLong(f) => map(f.clone(), |v| v as i32, |r| Ok(r as i32)),
        Function::IntToDouble(f) => map(f.clone(), |v| v as i32, |r| Ok(r as i32)),
        Function::DoubleToDouble(f) => map(f.clone(), |v| v as f64, |r| Ok((r % MAX_INT as f64) as i32)),
        Function::DoubleToLong(f) => map(f.clone(), |v| v as f64, |r| Ok((r % MAX_INT) as i32)),
        Function::LongToObject(f) => {
            let probe = f.value(1, &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            if !matches!(
                probe,
                Value::Int(_) | Value::Long(_) | Value::Double(_) | Value::Float(_) | Value::Text(_)
            ) {
                return Err(refused(nested, "int"));
            }
            let f = f.clone();
            Arc::new(move |v, cx: &mut Context| as_size(f.value(v, cx)?))
        }
        Function::IntToObject(f) => {
            let probe = f.value(1, &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            if !matches!(probe, Value::Int(_) | Value::Double(_) | Value::Text(_)) {
                return Err(refused(nested, "int"));
            }
            let f = f.clone();
            Arc::new(move |v, cx: &mut Context| as_size(f.value(to_int_input(v), cx)?))
        }
        Function::DoubleToObject(f) => {
            let probe =
                f.value(1.0, &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            let f = f.clone();
            match probe {
                Value::Double(_) => Arc::new(move |v, cx: &mut Context| as_size(f.value(v as f64, cx)?)),
                // Unlike the other texts, this one is read as a double.
                Value::Text(_) => Arc::new(move |v, cx: &mut Context| {
                    let value = f.value(v as f64, cx)?;
                    let text = value.as_text().ok_or_else(|| EvalError::wrong_class(&value, "String"))?;
                    let number =
                        value::parse_double(text).ok_or_else(|| EvalError::no_number(text, "number"))?;
                    Ok((number % MAX_INT as f64) as i32)
                }),
                _ => return Err(refused(nested, "int")),
            }
        }
        Function::DoubleToInt(_) | Function::ObjectToObject(_) => return Err(refused(nested, "int")),
    })
}

fn as_size(value: Value) -> Eval<i32> {
    match &value {
        Value::Int(int) => Ok(*int),
        Value::Long(long) => Ok((long % MAX_INT) as i32),
        Value::Double(double) => Ok((double % MAX_INT as f64) as i32),
        Value::Float(float) => Ok(*float as i32),
        Value::Text(text) => value::parse_int(text).ok_or_else(|| EvalError::no_number(text, "int")),
        _ => Err(EvalError::wrong_class(&value, "number")),
    }
}

fn map<I: 'static, O: 'static, P: 'static>(
    f: Map<I, O>,
    input: impl Fn(i64) -> I + Send + Sync + 'static,
    output: impl Fn(O) -> Eval<P> + Send + Sync + 'static,
) -> Map<i64, P> {
    Arc::new(move |v, cx| output(f(input(v), cx)?))
}

/// A function between primitives as one that gives values.
fn primitive<I: 'static, O: 'static>(
    f: Map<I, O>,
    input: impl Fn(i64) -> I + Send + Sync + 'static,
    make: impl Fn(O) -> Value + Send + Sync + 'static,
) -> Producer<i64> {
    by_value(move |v, cx| Ok(make(f(input(v), cx)?)))
}

struct Adapted<V, W> {
    value: V,
    write: W,
}

impl<I, V, W> super::Produce<I> for Adapted<V, W>
where
    V: Fn(I, &mut Context) -> Eval<Value> + Send + Sync,
    W: Fn(I, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync,
{
    fn value(&self, input: I, context: &mut Context) -> Eval<Value> {
        (self.value)(input, context)
    }

    fn write(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        (self.write)(input, context, out)
    }
}
