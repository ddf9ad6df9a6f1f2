//! Functions as arguments: an argument's own kind is turned into the kind that its taker wants, with the
//! reference's conversions (`v` is the input). Kinds that it has no adapter for are refused, as it refuses
//! them. Where an adapter depends on the class of what a function yields, the reference calls it once with 1
//! to learn that class.

use super::arguments::{Nested, Refusal};
use super::function::{Function, Map, Producer, Transform, by_text, by_value};
use super::types::Type;
use super::{Context, Eval, EvalError};
use crate::value::{self, Value};
use bson::spec::ElementType;
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
        Function::IntToObject(f) => match probe(nested, f, 1)? {
            Value::Int(_) | Value::Double(_) | Value::Text(_) => converted(f.clone(), to_int_input),
            _ => return Err(refused(nested, "anything")),
        },
        Function::DoubleToObject(f) => match probe(nested, f, 1.0)? {
            Value::Double(_) | Value::Text(_) => converted(f.clone(), |v| v as f64),
            _ => return Err(refused(nested, "anything")),
        },
        Function::ObjectToObject(f) => {
            match f.clone() {
                Transform::Value(make) => by_value(move |v, cx| make(Value::Long(v), cx)),
                Transform::Print => by_text(|v, _, out| {
                    value::write_long(v, out);
                    Ok(())
                }),
                // The reference finds out only when it casts, so a candidate that is not chosen does no harm.
                Transform::Text(..) if !Type::Long.may_be(nested.input) => {
                    let wanted = nested.input;
                    by_value(move |v, _| Err(EvalError::wrong_class(&Value::Long(v), &wanted.to_string())))
                }
                Transform::Text(rewrite, _) => by_text(move |v, cx, out| {
                    let from = out.len();
                    value::write_long(v, out);
                    rewrite(out, from, cx)
                }),
            }
        }
        Function::IntToLong(_) | Function::IntToDouble(_) => return Err(refused(nested, "anything")),
    })
}

/// To long → anything, as `CoinFunc` and `WeightedFuncs` do it: without a look at what a function yields, and
/// with fewer kinds.
pub fn to_object_loosely(nested: &Nested) -> Result<Producer<i64>, Refusal> {
    Ok(match &nested.function {
        Function::IntToObject(f) => converted(f.clone(), to_int_input),
        Function::DoubleToObject(f) => converted(f.clone(), |v| v as f64),
        Function::IntToLong(_)
        | Function::IntToDouble(_)
        | Function::DoubleToLong(_)
        | Function::DoubleToInt(_) => return Err(refused(nested, "anything")),
        Function::ObjectToObject(f) => {
            // Unlike the other kinds, this one is tried out.
            f.value(Value::Long(1), &mut Context::default()).map_err(|error| probe_failed(nested, &error))?;
            return to_object(nested);
        }
        _ => return to_object(nested),
    })
}

/// What becomes of the results of a function where a number of another type is wanted.
struct Numbers<T> {
    wanted: &'static str,
    of_long: fn(i64) -> T,
    of_int: fn(i32) -> T,
    of_double: fn(f64) -> T,
    of_text: fn(&str) -> Option<T>,
    /// None where single precision is refused.
    of_float: Option<fn(f32) -> T>,
    /// None where functions from int to long or double are refused: results are cut to an int.
    of_cut: Option<fn(i32) -> T>,
}

/// To long → int: how long something shall be.
pub fn to_int(nested: &Nested) -> Result<Map<i64, i32>, Refusal> {
    to_number(
        nested,
        Numbers {
            wanted: "int",
            of_long: |r| (r % MAX_INT) as i32,
            of_int: |r| r,
            of_double: |r| (r % MAX_INT as f64) as i32,
            of_text: value::parse_int,
            of_float: Some(|r| r as i32),
            of_cut: Some(|r| r),
        },
    )
}

/// To long → long.
pub fn to_long(nested: &Nested) -> Result<Map<i64, i64>, Refusal> {
    to_number(
        nested,
        Numbers {
            wanted: "long",
            of_long: |r| r,
            of_int: i64::from,
            of_double: |r| (r % i64::MAX as f64) as i64,
            of_text: value::parse_long,
            of_float: None,
            of_cut: None,
        },
    )
}

/// To long → double.
pub fn to_double(nested: &Nested) -> Result<Map<i64, f64>, Refusal> {
    to_number(
        nested,
        Numbers {
            wanted: "double",
            of_long: |r| r as f64,
            of_int: f64::from,
            of_double: |r| r,
            of_text: value::parse_double,
            of_float: None,
            of_cut: None,
        },
    )
}

fn to_number<T: 'static>(nested: &Nested, numbers: Numbers<T>) -> Result<Map<i64, T>, Refusal> {
    let Numbers { wanted, of_long, of_int, of_double, of_text, of_float, of_cut } = numbers;
    let of_value = move |value: Value| -> Eval<T> {
        match &value {
            Value::Int(int) => Ok(of_int(*int)),
            Value::Long(long) => Ok(of_long(*long)),
            Value::Double(double) => Ok(of_double(*double)),
            Value::Float(float) => {
                of_float.map(|of| of(*float)).ok_or_else(|| EvalError::wrong_class(&value, wanted))
            }
            Value::Text(text) => of_text(text).ok_or_else(|| EvalError::no_number(text, wanted)),
            _ => Err(EvalError::wrong_class(&value, "number")),
        }
    };
    Ok(match &nested.function {
        Function::LongToLong(f) => map(f.clone(), |v| v, move |r| Ok(of_long(r))),
        Function::LongToInt(f) => map(f.clone(), |v| v, move |r| Ok(of_int(r))),
        Function::LongToDouble(f) => map(f.clone(), |v| v, move |r| Ok(of_double(r))),
        Function::IntToInt(f) => map(f.clone(), to_int_input, move |r| Ok(of_int(r))),
        Function::DoubleToDouble(f) => map(f.clone(), |v| v as f64, move |r| Ok(of_double(r))),
        Function::DoubleToLong(f) => map(f.clone(), |v| v as f64, move |r| Ok(of_long(r))),
        Function::IntToLong(f) => match of_cut {
            Some(of_cut) => map(f.clone(), |v| v as i32, move |r| Ok(of_cut(r as i32))),
            None => return Err(refused(nested, wanted)),
        },
        Function::IntToDouble(f) => match of_cut {
            Some(of_cut) => map(f.clone(), |v| v as i32, move |r| Ok(of_cut(r as i32))),
            None => return Err(refused(nested, wanted)),
        },
        Function::LongToObject(f) => {
            match probe(nested, f, 1)? {
                Value::Int(_) | Value::Long(_) | Value::Double(_) | Value::Text(_) => {}
                Value::Float(_) if of_float.is_some() => {}
                _ => return Err(refused(nested, wanted)),
            }
            let f = f.clone();
            Arc::new(move |v, cx: &mut Context| of_value(f.value(v, cx)?))
        }
        Function::IntToObject(f) => {
            if !matches!(probe(nested, f, 1)?, Value::Int(_) | Value::Double(_) | Value::Text(_)) {
                return Err(refused(nested, wanted));
            }
            let f = f.clone();
            Arc::new(move |v, cx: &mut Context| of_value(f.value(to_int_input(v), cx)?))
        }
        Function::DoubleToObject(f) => {
            let kind = probe(nested, f, 1.0)?;
            let f = f.clone();
            match kind {
                Value::Double(_) => Arc::new(move |v, cx: &mut Context| of_value(f.value(v as f64, cx)?)),
                // Unlike the other texts, this one is read as a double.
                Value::Text(_) => Arc::new(move |v, cx: &mut Context| {
                    let value = f.value(v as f64, cx)?;
                    let text = value.as_text().ok_or_else(|| EvalError::wrong_class(&value, "String"))?;
                    let number =
                        value::parse_double(text).ok_or_else(|| EvalError::no_number(text, "number"))?;
                    Ok(of_double(number))
                }),
                _ => return Err(refused(nested, wanted)),
            }
        }
        Function::DoubleToInt(_) | Function::ObjectToObject(_) => return Err(refused(nested, wanted)),
    })
}

/// What a function yields for 1, on which the adapter depends.
fn probe<I>(nested: &Nested, f: &Producer<I>, one: I) -> Result<Value, Refusal> {
    f.value(one, &mut Context::default()).map_err(|error| probe_failed(nested, &error))
}

/// A producer behind a conversion of its input.
fn converted<I: 'static>(f: Producer<I>, input: fn(i64) -> I) -> Producer<i64> {
    let (g, h) = (f.clone(), f.clone());
    Arc::new(Adapted {
        value: move |v, cx: &mut Context| f.value(input(v), cx),
        write: move |v, cx: &mut Context, out: &mut Vec<u8>| g.write(input(v), cx, out),
        write_bson: move |v, cx: &mut Context, out: &mut Vec<u8>| h.write_bson(input(v), cx, out),
    })
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

struct Adapted<V, W, B> {
    value: V,
    write: W,
    write_bson: B,
}

impl<I, V, W, B> super::Produce<I> for Adapted<V, W, B>
where
    V: Fn(I, &mut Context) -> Eval<Value> + Send + Sync,
    W: Fn(I, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync,
    B: Fn(I, &mut Context, &mut Vec<u8>) -> Eval<Option<ElementType>> + Send + Sync,
{
    fn value(&self, input: I, context: &mut Context) -> Eval<Value> {
        (self.value)(input, context)
    }

    fn write(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        (self.write)(input, context, out)
    }

    fn write_bson(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        (self.write_bson)(input, context, out)
    }
}
