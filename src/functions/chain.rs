//! Functions one after the other, converting between them as the reference does.
//!
//! What is converted depends on what the producing function gives by kind (long, int, double, or anything
//! else), and on what the consuming one takes. The reference goes by way of text from anything else to a
//! number, even from a boxed long; so do we, since digits are lost on that way.

use super::arguments::Nested;
use super::function::{Function, Map, OfNull, Produce, Producer, Slice, Transform, bson_of, bson_text};
use super::types::Type;
use super::{Context, Eval, EvalError};
use crate::value::{self, Value};
use bson::spec::ElementType;
use std::sync::Arc;

/// A function of the cycle number.
#[derive(Clone)]
pub enum Chain {
    Long(Steps),
    Int(Map<i64, i32>),
    Double(Map<i64, f64>),
    Object(Producer<i64>),
}

/// Functions from long to long, one after the other in one loop: a call for each, and none between them.
#[derive(Clone)]
pub struct Steps(Vec<Map<i64, i64>>);

impl Steps {
    #[inline]
    fn run(&self, cycle: i64, context: &mut Context) -> Eval<i64> {
        let mut value = cycle;
        for step in &self.0 {
            value = step(value, context)?;
        }
        Ok(value)
    }
}

impl Chain {
    /// The cycle number itself.
    pub fn cycle() -> Chain {
        Chain::Long(Steps(Vec::new()))
    }

    /// A chain of one function; None if that takes no long.
    pub fn of(first: &Function) -> Option<Chain> {
        Some(match first.clone() {
            Function::LongToLong(f) => Chain::Long(Steps(vec![f])),
            Function::LongToInt(f) => Chain::Int(f),
            Function::LongToDouble(f) => Chain::Double(f),
            Function::LongToObject(f) => Chain::Object(f),
            _ => return None,
        })
    }

    /// The chain as one function from long.
    pub fn into_function(self) -> Function {
        match self {
            Chain::Long(steps) => Function::long_to_long(move |cycle, context| steps.run(cycle, context)),
            Chain::Int(f) => Function::LongToInt(f),
            Chain::Double(f) => Function::LongToDouble(f),
            Chain::Object(f) => Function::LongToObject(f),
        }
    }

    /// This chain, whose last function is declared to give `previous`, and then `next`.
    pub fn then(self, previous: Type, next: &Nested) -> Chain {
        match next.function.clone() {
            Function::LongToLong(g) => Chain::Long(match self {
                Chain::Long(mut steps) => {
                    steps.0.push(g);
                    steps
                }
                chain => Steps(vec![after_long(chain, g)]),
            }),
            // A double is cut to 32 bits on its way into a function from long to int.
            Function::LongToInt(g) => Chain::Int(match self {
                Chain::Double(f) => g.after(move |cycle, context| Ok(i64::from(f(cycle, context)? as i32))),
                chain => after_long(chain, g),
            }),
            Function::LongToDouble(g) => Chain::Double(after_long(self, g)),
            Function::LongToObject(g) => Chain::Object(after_long(self, g)),
            Function::IntToInt(g) => Chain::Int(after_int(self, g)),
            Function::IntToLong(g) => Chain::Long(Steps(vec![after_int(self, g)])),
            Function::IntToDouble(g) => Chain::Double(after_int(self, g)),
            Function::IntToObject(g) => Chain::Object(after_int(self, g)),
            Function::DoubleToLong(g) => Chain::Long(Steps(vec![after_double(self, g)])),
            Function::DoubleToInt(g) => Chain::Int(after_double(self, g)),
            Function::DoubleToDouble(g) => Chain::Double(after_double(self, g)),
            Function::DoubleToObject(g) => Chain::Object(after_double(self, g)),
            Function::ObjectToObject(transform) => {
                let wanted = (!previous.is_assignable(next.input, true)).then_some(next.input);
                let reads_text = wanted.is_none()
                    && match &transform {
                        Transform::Text(_, of_null) => *of_null == OfNull::Text || self.has_value(),
                        Transform::Print => true,
                        Transform::Value(_) => false,
                    };
                Chain::Object(Arc::new(Transformed { chain: self, transform, wanted, reads_text }))
            }
        }
    }
}

impl Chain {
    /// It never gives null.
    fn has_value(&self) -> bool {
        match self {
            Chain::Long(_) | Chain::Int(_) | Chain::Double(_) => true,
            Chain::Object(f) => f.is_text(),
        }
    }
}

impl Produce<i64> for Chain {
    #[inline]
    fn value(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        match self {
            Chain::Long(f) => f.run(cycle, context).map(Value::Long),
            Chain::Int(f) => f(cycle, context).map(Value::Int),
            Chain::Double(f) => f(cycle, context).map(Value::Double),
            Chain::Object(f) => f.value(cycle, context),
        }
    }

    #[inline]
    fn write(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        match self {
            Chain::Long(f) => value::write_long(f.run(cycle, context)?, out),
            Chain::Int(f) => value::write_long(i64::from(f(cycle, context)?), out),
            Chain::Double(f) => value::write_double(f(cycle, context)?, out),
            Chain::Object(f) => return f.write(cycle, context, out),
        }
        Ok(())
    }

    fn is_slice(&self) -> bool {
        matches!(self, Chain::Object(f) if f.is_slice())
    }

    #[inline]
    fn slice(&self, cycle: i64, context: &mut Context) -> Eval<Option<Slice<'_>>> {
        match self {
            Chain::Object(f) => f.slice(cycle, context),
            _ => Ok(None),
        }
    }

    #[inline]
    fn write_bson(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        // As `bson_of` would, without the value in between.
        let element_type = match self {
            Chain::Long(f) => {
                out.extend_from_slice(&f.run(cycle, context)?.to_le_bytes());
                ElementType::Int64
            }
            Chain::Int(f) => {
                out.extend_from_slice(&f(cycle, context)?.to_le_bytes());
                ElementType::Int32
            }
            Chain::Double(f) => {
                out.extend_from_slice(&f(cycle, context)?.to_le_bytes());
                ElementType::Double
            }
            Chain::Object(f) => return f.write_bson(cycle, context, out),
        };
        Ok(Some(element_type))
    }
}

/// A function that can stand behind others, in one call.
trait After<B> {
    type Whole;

    /// This function of what `input` makes of the cycle.
    fn after(self, input: impl Fn(i64, &mut Context) -> Eval<B> + Send + Sync + 'static) -> Self::Whole;
}

impl<B: 'static, C: 'static> After<B> for Map<B, C> {
    type Whole = Map<i64, C>;

    fn after(self, input: impl Fn(i64, &mut Context) -> Eval<B> + Send + Sync + 'static) -> Map<i64, C> {
        Arc::new(move |cycle, context| self(input(cycle, context)?, context))
    }
}

impl<B: 'static> After<B> for Producer<B> {
    type Whole = Producer<i64>;

    fn after(self, input: impl Fn(i64, &mut Context) -> Eval<B> + Send + Sync + 'static) -> Producer<i64> {
        Arc::new(Behind { input, g: self })
    }
}

/// A producer behind a function.
struct Behind<F, B> {
    input: F,
    g: Producer<B>,
}

impl<F: Fn(i64, &mut Context) -> Eval<B> + Send + Sync, B> Produce<i64> for Behind<F, B> {
    fn value(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        self.g.value((self.input)(cycle, context)?, context)
    }

    fn is_text(&self) -> bool {
        self.g.is_text()
    }

    fn write(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        self.g.write((self.input)(cycle, context)?, context, out)
    }

    fn is_slice(&self) -> bool {
        self.g.is_slice()
    }

    fn slice(&self, cycle: i64, context: &mut Context) -> Eval<Option<Slice<'_>>> {
        self.g.slice((self.input)(cycle, context)?, context)
    }

    fn write_bson(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        self.g.write_bson((self.input)(cycle, context)?, context, out)
    }
}

fn after_long<G: After<i64>>(chain: Chain, g: G) -> G::Whole {
    match chain {
        Chain::Long(f) => g.after(move |cycle, context| f.run(cycle, context)),
        Chain::Int(f) => g.after(move |cycle, context| Ok(i64::from(f(cycle, context)?))),
        Chain::Double(f) => g.after(move |cycle, context| Ok(f(cycle, context)? as i64)),
        Chain::Object(f) => g.after(move |cycle, context| Ok(read(&*f, cycle, context)? as i64)),
    }
}

fn after_int<G: After<i32>>(chain: Chain, g: G) -> G::Whole {
    match chain {
        Chain::Long(f) => g.after(move |cycle, context| Ok(f.run(cycle, context)? as i32)),
        Chain::Int(f) => g.after(move |cycle, context| f(cycle, context)),
        Chain::Double(f) => g.after(move |cycle, context| Ok(f(cycle, context)? as i32)),
        Chain::Object(f) => g.after(move |cycle, context| Ok(read(&*f, cycle, context)? as i32)),
    }
}

fn after_double<G: After<f64>>(chain: Chain, g: G) -> G::Whole {
    match chain {
        Chain::Long(f) => g.after(move |cycle, context| Ok(f.run(cycle, context)? as f64)),
        Chain::Int(f) => g.after(move |cycle, context| Ok(f64::from(f(cycle, context)?))),
        Chain::Double(f) => g.after(move |cycle, context| f(cycle, context)),
        Chain::Object(f) => g.after(move |cycle, context| read(&*f, cycle, context)),
    }
}

/// The number that the text of a value reads as.
fn read(f: &dyn Produce<i64>, cycle: i64, context: &mut Context) -> Eval<f64> {
    let value = f.value(cycle, context)?;
    match &value {
        // What printing and reading gives, without doing either.
        Value::Int(int) => return Ok(f64::from(*int)),
        Value::Long(long) => return Ok(*long as f64),
        Value::Double(double) => return Ok(*double),
        Value::Null => return Err(EvalError::boxed("NullPointerException", "there is no value to read")),
        _ => {}
    }
    let text = value.text();
    value::parse_double(&text).ok_or_else(|| EvalError::no_number(&text, "number"))
}

/// A transform behind a chain.
struct Transformed {
    chain: Chain,
    transform: Transform,
    /// The class that the value must have: checked where the chain does not promise it.
    wanted: Option<Type>,
    /// The transform needs no more than the text that the chain writes.
    reads_text: bool,
}

impl Produce<i64> for Transformed {
    fn value(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        let value = self.chain.value(cycle, context)?;
        check_class(&value, self.wanted)?;
        self.transform.value(value, context)
    }

    fn is_text(&self) -> bool {
        self.reads_text
    }

    fn write(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        match &self.transform {
            Transform::Print if self.reads_text => self.chain.write(cycle, context, out),
            Transform::Text(rewrite, _) if self.reads_text => {
                let from = out.len();
                self.chain.write(cycle, context, out)?;
                rewrite(out, from, context)
            }
            _ => {
                self.value(cycle, context)?.write_text(out);
                Ok(())
            }
        }
    }

    fn is_slice(&self) -> bool {
        self.reads_text && matches!(self.transform, Transform::Print) && self.chain.is_slice()
    }

    fn slice(&self, cycle: i64, context: &mut Context) -> Eval<Option<Slice<'_>>> {
        if self.is_slice() { self.chain.slice(cycle, context) } else { Ok(None) }
    }

    fn write_bson(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        if self.reads_text {
            bson_text(out, |out| self.write(cycle, context, out))
        } else {
            bson_of(&self.value(cycle, context)?, out)
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
        Some(wanted) if !is_it => Err(EvalError::wrong_class(value, &wanted.to_string())),
        _ => Ok(()),
    }
}
