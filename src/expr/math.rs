//! The functions of `java.lang.Math` that expressions may call.

use super::Fault;
use crate::value::Value;

/// A call that was found by its name.
#[derive(Clone, Copy)]
pub(super) struct Call(&'static Function);

struct Function {
    name: &'static str,
    arguments: usize,
    apply: Apply,
}

/// How a function treats its numbers.
enum Apply {
    /// One double.
    Double(fn(f64) -> f64),
    /// Two doubles.
    Doubles(fn(f64, f64) -> f64),
    /// One number that keeps its type: int, long or double (which single precision is brought to).
    Same(fn(i64) -> i64, fn(f64) -> f64),
    /// Two numbers that meet in the wider type.
    Wider(fn(i64, i64) -> i64, fn(f64, f64) -> f64),
    /// Two integers, and no division by zero.
    Integers(fn(i64, i64) -> i64),
    /// An integer, or an error where the result is outside of its type.
    ExactOne(fn(i64) -> Option<i64>),
    /// Two integers that meet in the wider type, or an error where the result is outside of it.
    Exact(fn(i64, i64) -> Option<i64>),
    /// An integer to an int.
    ToInt,
    /// A double to a long; a float or an integer, which becomes one, to an int.
    Round,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Math.{}", self.0.name)
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.0.name == other.0.name
    }
}

const fn of(name: &'static str, arguments: usize, apply: Apply) -> Function {
    Function { name, arguments, apply }
}

static FUNCTIONS: &[Function] = &[
    of("abs", 1, Apply::Same(i64::wrapping_abs, f64::abs)),
    of("max", 2, Apply::Wider(i64::max, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })),
    of("min", 2, Apply::Wider(i64::min, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) })),
    of("floorMod", 2, Apply::Integers(|a, b| a.wrapping_rem(b).wrapping_add(b).wrapping_rem(b))),
    of(
        "floorDiv",
        2,
        Apply::Integers(|a, b| {
            let quotient = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
        }),
    ),
    of("addExact", 2, Apply::Exact(i64::checked_add)),
    of("subtractExact", 2, Apply::Exact(i64::checked_sub)),
    of("multiplyExact", 2, Apply::Exact(i64::checked_mul)),
    of("negateExact", 1, Apply::ExactOne(i64::checked_neg)),
    of("incrementExact", 1, Apply::ExactOne(|n| n.checked_add(1))),
    of("decrementExact", 1, Apply::ExactOne(|n| n.checked_sub(1))),
    of("absExact", 1, Apply::ExactOne(i64::checked_abs)),
    of("toIntExact", 1, Apply::ToInt),
    of("round", 1, Apply::Round),
    of("floor", 1, Apply::Double(f64::floor)),
    of("ceil", 1, Apply::Double(f64::ceil)),
    of("rint", 1, Apply::Double(f64::round_ties_even)),
    of("sqrt", 1, Apply::Double(f64::sqrt)),
    of("cbrt", 1, Apply::Double(f64::cbrt)),
    of("exp", 1, Apply::Double(f64::exp)),
    of("log", 1, Apply::Double(f64::ln)),
    of("log10", 1, Apply::Double(f64::log10)),
    of("expm1", 1, Apply::Double(f64::exp_m1)),
    of("log1p", 1, Apply::Double(f64::ln_1p)),
    of("sinh", 1, Apply::Double(f64::sinh)),
    of("cosh", 1, Apply::Double(f64::cosh)),
    of("tanh", 1, Apply::Double(f64::tanh)),
    of("sin", 1, Apply::Double(f64::sin)),
    of("cos", 1, Apply::Double(f64::cos)),
    of("tan", 1, Apply::Double(f64::tan)),
    of("asin", 1, Apply::Double(f64::asin)),
    of("acos", 1, Apply::Double(f64::acos)),
    of("atan", 1, Apply::Double(f64::atan)),
    of("signum", 1, Apply::Double(|x| if x == 0.0 || x.is_nan() { x } else { x.signum() })),
    of("toRadians", 1, Apply::Double(f64::to_radians)),
    of("toDegrees", 1, Apply::Double(f64::to_degrees)),
    of("pow", 2, Apply::Doubles(f64::powf)),
    of("atan2", 2, Apply::Doubles(f64::atan2)),
    of("copySign", 2, Apply::Doubles(f64::copysign)),
    of("hypot", 2, Apply::Doubles(f64::hypot)),
];

/// `Math.PI` and `Math.E`.
pub(super) fn constant(name: &str) -> Option<f64> {
    match name {
        "PI" => Some(std::f64::consts::PI),
        "E" => Some(std::f64::consts::E),
        _ => None,
    }
}

pub(super) fn find(name: &str) -> Option<Call> {
    FUNCTIONS.iter().find(|function| function.name == name).map(Call)
}

impl Call {
    pub fn arguments(self) -> usize {
        self.0.arguments
    }

    /// Applies it; of `values`, as many count as it takes.
    pub fn apply(self, values: &[Value; 2]) -> Result<Value, Fault> {
        let [a, b] = values;
        Ok(match &self.0.apply {
            Apply::Double(f) => Value::Double(f(self.double(a)?)),
            Apply::Doubles(f) => Value::Double(f(self.double(a)?, self.double(b)?)),
            Apply::Round => match a {
                Value::Double(_) => Value::Long((self.double(a)? + 0.5).floor() as i64),
                // The reference rounds integers as floats: digits are lost from 2^24 on.
                _ => Value::Int((f64::from(self.double(a)? as f32) + 0.5).floor() as i32),
            },
            Apply::ExactOne(f) => {
                let result = f(self.integer(a)?).ok_or_else(overflow)?;
                exactly(result, matches!(a, Value::Int(_)))?
            }
            Apply::Exact(f) => {
                let result = f(self.integer(a)?, self.integer(b)?).ok_or_else(overflow)?;
                exactly(result, matches!((a, b), (Value::Int(_), Value::Int(_))))?
            }
            Apply::ToInt => exactly(self.integer(a)?, true)?,
            Apply::Same(of_long, of_double) => match a {
                Value::Int(n) => Value::Int(of_long(i64::from(*n)) as i32),
                Value::Long(n) => Value::Long(of_long(*n)),
                _ => Value::Double(of_double(self.double(a)?)),
            },
            Apply::Wider(of_longs, of_doubles) => match (integer(a), integer(b)) {
                (Some(x), Some(y)) => sized(of_longs(x, y), a, b),
                _ => Value::Double(of_doubles(self.double(a)?, self.double(b)?)),
            },
            Apply::Integers(f) => match (self.integer(a)?, self.integer(b)?) {
                (_, 0) => return Err(arithmetic("division by zero")),
                (x, y) => sized(f(x, y), a, b),
            },
        })
    }

    fn double(self, value: &Value) -> Result<f64, Fault> {
        match value {
            Value::Int(n) => Ok(f64::from(*n)),
            Value::Long(n) => Ok(*n as f64),
            Value::Float(n) => Ok(f64::from(*n)),
            Value::Double(n) => Ok(*n),
            other => Err(self.wrong(other)),
        }
    }

    /// An integer; of a decimal number its whole part.
    fn integer(self, value: &Value) -> Result<i64, Fault> {
        match integer(value) {
            Some(integer) => Ok(integer),
            None => Ok(self.double(value)? as i64),
        }
    }

    fn wrong(self, value: &Value) -> Fault {
        Fault {
            name: "ClassCastException",
            message: format!("`Math.{}` takes numbers, not a {}", self.0.name, value.type_name()),
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(i64::from(*n)),
        Value::Long(n) => Some(*n),
        _ => None,
    }
}

fn arithmetic(message: &str) -> Fault {
    Fault { name: "ArithmeticException", message: message.to_owned() }
}

fn overflow() -> Fault {
    arithmetic("the result is outside the range of its type")
}

/// A result that must fit an int, or is a long.
fn exactly(result: i64, as_int: bool) -> Result<Value, Fault> {
    match (as_int, i32::try_from(result)) {
        (true, Ok(int)) => Ok(Value::Int(int)),
        (true, Err(_)) => Err(overflow()),
        (false, _) => Ok(Value::Long(result)),
    }
}

/// An int if both were ints.
fn sized(result: i64, a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Int(_), Value::Int(_)) => Value::Int(result as i32),
        _ => Value::Long(result),
    }
}
