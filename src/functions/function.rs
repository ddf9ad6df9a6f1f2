//! A function, built: one of thirteen kinds by what it takes and gives, as the reference's functional
//! interfaces are. Which kind it is decides how values are converted on the way in.

use super::{Context, Eval, EvalError};
use crate::value::{self, Value};
use bson::spec::ElementType;
use std::ops::Range;
use std::sync::Arc;

/// A function between primitives.
pub type Map<I, O> = Arc<dyn Fn(I, &mut Context) -> Eval<O> + Send + Sync>;

/// A part of a text that stays in memory: what is long can be sent from where it lies.
#[derive(Debug, Clone)]
pub struct Slice<'a> {
    /// The whole text.
    pub text: &'a Arc<str>,
    /// Bytes of the text: whole characters.
    pub range: Range<usize>,
    /// Neither a quote nor a backslash is anywhere in the text.
    pub plain: bool,
}

impl Slice<'_> {
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes().get(self.range.clone()).unwrap_or_default()
    }
}

/// A function from a primitive to anything else.
pub trait Produce<I>: Send + Sync {
    fn value(&self, input: I, context: &mut Context) -> Eval<Value>;

    /// The value is always a text, never null.
    fn is_text(&self) -> bool {
        false
    }

    /// Appends the text of the value, without making the value where it can.
    fn write(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        self.value(input, context)?.write_text(out);
        Ok(())
    }

    /// The text of every value is a [`Slice`], which [`Produce::slice`] gives.
    fn is_slice(&self) -> bool {
        false
    }

    /// The text of the value where it lies; `None` unless [`Produce::is_slice`].
    fn slice(&self, _input: I, _context: &mut Context) -> Eval<Option<Slice<'_>>> {
        Ok(None)
    }

    /// Appends the BSON of the value without type and key, without making the value where it can; gives its
    /// type, None for a field to be left out.
    fn write_bson(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        bson_of(&self.value(input, context)?, out)
    }
}

/// The BSON of a value, or the cycle's error.
pub(super) fn bson_of(value: &Value, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
    value.write_bson(out).map_err(|message| EvalError::boxed("CodecConfigurationException", message))
}

/// Appends a BSON string of what `write` appends.
pub(super) fn bson_text(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Eval<()>,
) -> Eval<Option<ElementType>> {
    let start = value::open_bson_text(out);
    write(out)?;
    Ok(Some(value::close_bson_text(start, out)))
}

pub type Producer<I> = Arc<dyn Produce<I>>;

/// What rewrites a text in place: `out[from..]` holds the input's text and then the result's.
type Rewrite = Arc<dyn Fn(&mut Vec<u8>, usize, &mut Context) -> Eval<()> + Send + Sync>;

/// What makes another value of a value.
type Make = Arc<dyn Fn(Value, &mut Context) -> Eval<Value> + Send + Sync>;

/// A function from any value to another.
#[derive(Clone)]
pub enum Transform {
    Value(Make),
    /// Yields the text of any value, null's too, as a String.
    Print,
    /// Yields a String that depends on the input's text alone; spares making either.
    Text(Rewrite, OfNull),
}

/// What a function of texts makes of null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfNull {
    /// What it makes of the text `null`.
    Text,
    /// Null.
    Null,
    /// An error.
    Error,
}

/// A function of the library, built with its arguments.
#[derive(Clone)]
pub enum Function {
    LongToLong(Map<i64, i64>),
    LongToInt(Map<i64, i32>),
    LongToDouble(Map<i64, f64>),
    LongToObject(Producer<i64>),
    IntToInt(Map<i32, i32>),
    IntToLong(Map<i32, i64>),
    IntToDouble(Map<i32, f64>),
    IntToObject(Producer<i32>),
    DoubleToDouble(Map<f64, f64>),
    DoubleToLong(Map<f64, i64>),
    DoubleToInt(Map<f64, i32>),
    DoubleToObject(Producer<f64>),
    ObjectToObject(Transform),
}

struct ByValue<F>(F);

impl<I, F: Fn(I, &mut Context) -> Eval<Value> + Send + Sync> Produce<I> for ByValue<F> {
    fn value(&self, input: I, context: &mut Context) -> Eval<Value> {
        (self.0)(input, context)
    }
}

struct ByText<F>(F);

impl<I, F: Fn(I, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync> Produce<I> for ByText<F> {
    fn value(&self, input: I, context: &mut Context) -> Eval<Value> {
        let mut out = Vec::new();
        (self.0)(input, context, &mut out)?;
        Ok(text_value(out))
    }

    fn is_text(&self) -> bool {
        true
    }

    fn write(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        (self.0)(input, context, out)
    }

    fn write_bson(&self, input: I, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        bson_text(out, |out| (self.0)(input, context, out))
    }
}

/// The String that was written. Functions write UTF-8; should one not, the value is still a text.
pub(super) fn text_value(written: Vec<u8>) -> Value {
    Value::Text(
        String::from_utf8(written)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

/// A producer from a closure that makes the value.
pub fn by_value<I, F>(make: F) -> Producer<I>
where
    F: Fn(I, &mut Context) -> Eval<Value> + Send + Sync + 'static,
{
    Arc::new(ByValue(make))
}

/// A producer of Strings from a closure that appends the text.
pub fn by_text<I, F>(write: F) -> Producer<I>
where
    F: Fn(I, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
{
    Arc::new(ByText(write))
}

impl Transform {
    /// A transform from a closure that makes the value.
    pub fn by_value(make: impl Fn(Value, &mut Context) -> Eval<Value> + Send + Sync + 'static) -> Transform {
        Transform::Value(Arc::new(make))
    }

    /// A transform from a closure that rewrites `out[from..]`.
    pub fn by_text(
        of_null: OfNull,
        rewrite: impl Fn(&mut Vec<u8>, usize, &mut Context) -> Eval<()> + Send + Sync + 'static,
    ) -> Transform {
        Transform::Text(Arc::new(rewrite), of_null)
    }

    pub fn value(&self, input: Value, context: &mut Context) -> Eval<Value> {
        match self {
            Transform::Value(make) => make(input, context),
            Transform::Print => Ok(Value::Text(input.text())),
            Transform::Text(_, OfNull::Null) if input == Value::Null => Ok(Value::Null),
            Transform::Text(_, OfNull::Error) if input == Value::Null => {
                Err(EvalError::boxed("NullPointerException", "there is no text: the value is null"))
            }
            Transform::Text(rewrite, _) => {
                let mut out = Vec::new();
                input.write_text(&mut out);
                rewrite(&mut out, 0, context)?;
                Ok(text_value(out))
            }
        }
    }
}

impl Function {
    pub fn long_to_long(f: impl Fn(i64, &mut Context) -> Eval<i64> + Send + Sync + 'static) -> Function {
        Function::LongToLong(Arc::new(f))
    }

    pub fn long_to_int(f: impl Fn(i64, &mut Context) -> Eval<i32> + Send + Sync + 'static) -> Function {
        Function::LongToInt(Arc::new(f))
    }

    pub fn long_to_double(f: impl Fn(i64, &mut Context) -> Eval<f64> + Send + Sync + 'static) -> Function {
        Function::LongToDouble(Arc::new(f))
    }

    /// From a closure that makes the value.
    pub fn long_to_object(f: impl Fn(i64, &mut Context) -> Eval<Value> + Send + Sync + 'static) -> Function {
        Function::LongToObject(by_value(f))
    }

    /// To a String, from a closure that appends its text.
    pub fn long_to_text(
        f: impl Fn(i64, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
    ) -> Function {
        Function::LongToObject(by_text(f))
    }

    pub fn int_to_int(f: impl Fn(i32, &mut Context) -> Eval<i32> + Send + Sync + 'static) -> Function {
        Function::IntToInt(Arc::new(f))
    }

    pub fn int_to_long(f: impl Fn(i32, &mut Context) -> Eval<i64> + Send + Sync + 'static) -> Function {
        Function::IntToLong(Arc::new(f))
    }

    pub fn int_to_double(f: impl Fn(i32, &mut Context) -> Eval<f64> + Send + Sync + 'static) -> Function {
        Function::IntToDouble(Arc::new(f))
    }

    /// From a closure that makes the value.
    pub fn int_to_object(f: impl Fn(i32, &mut Context) -> Eval<Value> + Send + Sync + 'static) -> Function {
        Function::IntToObject(by_value(f))
    }

    /// To a String, from a closure that appends its text.
    pub fn int_to_text(
        f: impl Fn(i32, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
    ) -> Function {
        Function::IntToObject(by_text(f))
    }

    pub fn double_to_double(f: impl Fn(f64, &mut Context) -> Eval<f64> + Send + Sync + 'static) -> Function {
        Function::DoubleToDouble(Arc::new(f))
    }

    pub fn double_to_long(f: impl Fn(f64, &mut Context) -> Eval<i64> + Send + Sync + 'static) -> Function {
        Function::DoubleToLong(Arc::new(f))
    }

    pub fn double_to_int(f: impl Fn(f64, &mut Context) -> Eval<i32> + Send + Sync + 'static) -> Function {
        Function::DoubleToInt(Arc::new(f))
    }

    /// From a closure that makes the value.
    pub fn double_to_object(
        f: impl Fn(f64, &mut Context) -> Eval<Value> + Send + Sync + 'static,
    ) -> Function {
        Function::DoubleToObject(by_value(f))
    }

    /// To a String, from a closure that appends its text.
    pub fn double_to_text(
        f: impl Fn(f64, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
    ) -> Function {
        Function::DoubleToObject(by_text(f))
    }

    /// From a closure that makes another value of a value.
    pub fn object_to_object(
        f: impl Fn(Value, &mut Context) -> Eval<Value> + Send + Sync + 'static,
    ) -> Function {
        Function::ObjectToObject(Transform::by_value(f))
    }
}
