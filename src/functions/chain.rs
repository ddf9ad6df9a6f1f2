//! Functions one after the other, converting between them as the reference does.
//!
//! What is converted depends on what the producing function gives by kind (long, int, double, or anything
//! else), and on what the consuming one takes. The reference goes by way of text from anything else to a
//! number, even from a boxed long; so do we, since digits are lost on that way.

use super::arguments::Nested;
use super::function::{Function, Map, Produce, Producer, Transform, bson_of, bson_text};
use super::types::Type;
use super::{Context, Eval, EvalError};
use crate::value::{self, Value};
use bson::spec::ElementType;
use std::sync::Arc;

/// A function of the cycle number.
#[derive(Clone)]
pub enum Chain {
    Long(Map<i64, i64>),
    Int(Map<i64, i32>),
    Double(Map<i64, f64>),
    Object(Producer<i64>),
}

impl Chain {
    /// A chain of one function; None if that takes no long.
    pub fn of(first: &Function) -> Option<Chain> {
        Some(match first.clone() {
            Function::LongToLong(f) => Chain::Long(f),
            Function::LongToInt(f) => Chain::Int(f),
            Function::LongToDouble(f) => Chain::Double(f),
            Function::LongToObject(f) => Chain::Object(f),
            _ => return None,
        })
    }

    /// This chain, whose last function is declared to give `previous`, and then `next`.
    pub fn then(self, previous: Type, next: &Nested) -> Chain {
        then(self, previous, next)
    }
}

fn then(chain: Chain, previous: Type, next: &Nested) -> Chain {
    match &next.function {
        Function::LongToLong(g) => Chain::Long(after_long(chain, g.clone())),
        // A double is cut to 32 bits on its way into a function from long to int.
        Function::LongToInt(g) => Chain::Int(match chain {
            Chain::Double(f) => map(f, |v| Ok(i64::from(v as i32)), g.clone()),
            chain => after_long(chain, g.clone()),
        }),
        Function::LongToDouble(g) => Chain::Double(after_long(chain, g.clone())),
        Function::LongToObject(g) => Chain::Object(match chain {
            Chain::Long(f) => produce(f, Ok, g.clone()),
            Chain::Int(f) => produce(f, |v| Ok(i64::from(v)), g.clone()),
            Chain::Double(f) => produce(f, |v| Ok(v as i64), g.clone()),
            Chain::Object(f) => produce(read(f), |v| Ok(v as i64), g.clone()),
        }),
        Function::IntToInt(g) => Chain::Int(after_int(chain, g.clone())),
        Function::IntToLong(g) => Chain::Long(after_int(chain, g.clone())),
        Function::IntToDouble(g) => Chain::Double(after_int(chain, g.clone())),
        Function::IntToObject(g) => Chain::Object(match chain {
            Chain::Long(f) => produce(f, |v| Ok(v as i32), g.clone()),
            Chain::Int(f) => produce(f, Ok, g.clone()),
            Chain::Double(f) => produce(f, |v| Ok(v as i32), g.clone()),
            Chain::Object(f) => produce(read(f), |v| Ok(v as i32), g.clone()),
        }),
        Function::DoubleToLong(g) => Chain::Long(after_double(chain, g.clone())),
        Function::DoubleToInt(g) => Chain::Int(after_double(chain, g.clone())),
        Function::DoubleToDouble(g) => Chain::Double(after_double(chain, g.clone())),
        Function::DoubleToObject(g) => Chain::Object(match chain {
            Chain::Long(f) => produce(f, |v| Ok(v as f64), g.clone()),
            Chain::Int(f) => produce(f, |v| Ok(f64::from(v)), g.clone()),
            Chain::Double(f) => produce(f, Ok, g.clone()),
            Chain::Object(f) => produce(read(f), Ok, g.clone()),
        }),
        Function::ObjectToObject(g) => Chain::Object(transform(chain, previous, next.input, g.clone())),
    }
}

/// `f`, a conversion, and `g`, in one call each.
fn map<A: 'static, B: 'static, C: 'static>(
    f: Map<i64, A>,
    convert: impl Fn(A) -> Eval<B> + Send + Sync + 'static,
    g: Map<B, C>,
) -> Map<i64, C> {
    Arc::new(move |cycle, context| g(convert(f(cycle, context)?)?, context))
}

fn after_long<C: 'static>(chain: Chain, g: Map<i64, C>) -> Map<i64, C> {
    match chain {
        Chain::Long(f) => map(f, Ok, g),
        Chain::Int(f) => map(f, |v| Ok(i64::from(v)), g),
        Chain::Double(f) => map(f, |v| Ok(v as i64), g),
        Chain::Object(f) => map(read(f), |v| Ok(v as i64), g),
    }
}

fn after_int<C: 'static>(chain: Chain, g: Map<i32, C>) -> Map<i64, C> {
    match chain {
        Chain::Long(f) => map(f, |v| Ok(v as i32), g),
        Chain::Int(f) => map(f, Ok, g),
        Chain::Double(f) => map(f, |v| Ok(v as i32), g),
        Chain::Object(f) => map(read(f), |v| Ok(v as i32), g),
    }
}

fn after_double<C: 'static>(chain: Chain, g: Map<f64, C>) -> Map<i64, C> {
    match chain {
        Chain::Long(f) => map(f, |v| Ok(v as f64), g),
        Chain::Int(f) => map(f, |v| Ok(f64::from(v)), g),
        Chain::Double(f) => map(f, Ok, g),
        Chain::Object(f) => map(read(f), Ok, g),
    }
}

/// The number that the text of a value reads as.
fn read(f: Producer<i64>) -> Map<i64, f64> {
    Arc::new(move |cycle, context| {
        let value = f.value(cycle, context)?;
        match &value {
            // What printing and reading gives, without doing either.
            Value::Int(int) => return Ok(f64::from(*int)),
            Value::Long(long) => return Ok(*long as f64),
            Value::Double(double) => return Ok(*double),
            Value::Null => return Err(EvalError::boxed("NullPointerException", "there is no value to read")),
            _ => {}
        }
        let mut text = Vec::new();
        value.write_text(&mut text);
        let text = String::from_utf8_lossy(&text);
        value::parse_double(&text)
            .ok_or_else(|| EvalError::boxed("NumberFormatException", format!("{text:?} is not a number")))
    })
}

/// A producer behind a function between primitives.
struct Behind<A, B, F> {
    f: Map<i64, A>,
    convert: F,
    g: Producer<B>,
}

impl<A, B, F: Fn(A) -> Eval<B> + Send + Sync> Produce<i64> for Behind<A, B, F> {
    fn value(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        self.g.value((self.convert)((self.f)(cycle, context)?)?, context)
    }

    fn write(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        self.g.write((self.convert)((self.f)(cycle, context)?)?, context, out)
    }

    fn write_bson(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        self.g.write_bson((self.convert)((self.f)(cycle, context)?)?, context, out)
    }
}

fn produce<A: 'static, B: 'static>(
    f: Map<i64, A>,
    convert: impl Fn(A) -> Eval<B> + Send + Sync + 'static,
    g: Producer<B>,
) -> Producer<i64> {
    Arc::new(Behind { f, convert, g })
}

/// A transform behind a chain: `value` makes the chain's value, `write` appends its text.
struct Transformed<V, W> {
    make: V,
    append: W,
    transform: Transform,
    /// The class that the value must have: checked where the chain does not promise it.
    wanted: Option<Type>,
}

impl<V, W> Produce<i64> for Transformed<V, W>
where
    V: Fn(i64, &mut Context) -> Eval<Value> + Send + Sync,
    W: Fn(i64, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync,
{
    fn value(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        let value = (self.make)(cycle, context)?;
        check_class(&value, self.wanted)?;
        self.transform.value(value, context)
    }

    fn write(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        match (&self.transform, self.wanted) {
            (Transform::Text(rewrite), None) => {
                let from = out.len();
                (self.append)(cycle, context, out)?;
                rewrite(out, from, context)
            }
            _ => {
                self.value(cycle, context)?.write_text(out);
                Ok(())
            }
        }
    }

    fn write_bson(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        match (&self.transform, self.wanted) {
            (Transform::Text(_), None) => bson_text(out, |out| self.write(cycle, context, out)),
            _ => bson_of(&self.value(cycle, context)?, out),
        }
    }
}

/// Java's cast, for the classes that a transform of texts can ask for.
fn check_class(value: &Value, wanted: Option<Type>) -> Eval<()> {
    let is_it = match wanted {
        Some(Type::String) => matches!(value, Value::Text(_) | Value::Null),
        Some(Type::CharSequence) => matches!(value, Value::Text(_) | Value::Chars { .. } | Value::Null),
        // Other transforms look at their value themselves.
        _ => true,
    };
    match wanted {
        Some(wanted) if !is_it => {
            Err(EvalError::boxed("ClassCastException", format!("{} is not a {wanted}", value.type_name())))
        }
        _ => Ok(()),
    }
}

fn transform(chain: Chain, previous: Type, input: Type, transform: Transform) -> Producer<i64> {
    let wanted = (!previous.is_assignable(input, true)).then_some(input);
    match chain {
        Chain::Long(f) => {
            let g = f.clone();
            Arc::new(Transformed {
                make: move |cycle, context: &mut Context| Ok(Value::Long(f(cycle, context)?)),
                append: move |cycle, context: &mut Context, out: &mut Vec<u8>| {
                    value::write_long(g(cycle, context)?, out);
                    Ok(())
                },
                transform,
                wanted,
            })
        }
        Chain::Int(f) => {
            let g = f.clone();
            Arc::new(Transformed {
                make: move |cycle, context: &mut Context| Ok(Value::Int(f(cycle, context)?)),
                append: move |cycle, context: &mut Context, out: &mut Vec<u8>| {
                    value::write_long(i64::from(g(cycle, context)?), out);
                    Ok(())
                },
                transform,
                wanted,
            })
        }
        Chain::Double(f) => {
            let g = f.clone();
            Arc::new(Transformed {
                make: move |cycle, context: &mut Context| Ok(Value::Double(f(cycle, context)?)),
                append: move |cycle, context: &mut Context, out: &mut Vec<u8>| {
                    value::write_double(g(cycle, context)?, out);
                    Ok(())
                },
                transform,
                wanted,
            })
        }
        Chain::Object(f) => {
            let g = f.clone();
            Arc::new(Transformed {
                make: move |cycle, context: &mut Context| f.value(cycle, context),
                append: move |cycle, context: &mut Context, out: &mut Vec<u8>| g.write(cycle, context, out),
                transform,
                wanted,
            })
        }
    }
}
