//! What operators do with two values, by MVEL's rules.
//!
//! Numbers of one type stay in it (and wrap, as Java's do), but for a division, which gives a double. Numbers
//! of two types meet in double, and the result is cut to the wider type: `9007199254740993 + 1` loses a digit,
//! `9007199254740993 + 1L` does not.

use super::Fault;
use crate::value::{self, Value};
use std::cmp::Ordering;

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    /// Zeros come from the left.
    ShiftRightUnsigned,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// Every operator with how it is written, longer ones first, and how tightly it binds.
    pub(super) const ALL: [(&'static str, Operator, u8); 18] = [
        (">>>", Operator::ShiftRightUnsigned, 9),
        ("**", Operator::Power, 12),
        ("<<", Operator::ShiftLeft, 9),
        (">>", Operator::ShiftRight, 9),
        ("==", Operator::Equal, 7),
        ("!=", Operator::NotEqual, 7),
        ("<=", Operator::LessOrEqual, 8),
        (">=", Operator::GreaterOrEqual, 8),
        ("<", Operator::Less, 8),
        (">", Operator::Greater, 8),
        ("+", Operator::Add, 10),
        ("-", Operator::Subtract, 10),
        ("*", Operator::Multiply, 11),
        ("/", Operator::Divide, 11),
        ("%", Operator::Remainder, 11),
        ("&", Operator::BitAnd, 6),
        ("|", Operator::BitOr, 4),
        ("^", Operator::BitXor, 5),
    ];

    /// How tightly the least of the arithmetic operators binds.
    pub(super) const LEAST_ARITHMETIC: u8 = 10;

    pub(super) fn is_arithmetic(self) -> bool {
        use Operator::{Add, Divide, Multiply, Power, Remainder, Subtract};
        matches!(self, Add | Subtract | Multiply | Divide | Remainder | Power)
    }

    pub(super) fn is_shift(self) -> bool {
        matches!(self, Operator::ShiftLeft | Operator::ShiftRight | Operator::ShiftRightUnsigned)
    }

    pub(super) fn is_comparison(self) -> bool {
        self.compares(None).is_some()
    }

    fn sign(self) -> &'static str {
        Operator::ALL.iter().find(|(_, operator, _)| *operator == self).map_or("", |(sign, ..)| sign)
    }

    fn of_bits(self) -> bool {
        self.is_shift() || matches!(self, Operator::BitAnd | Operator::BitOr | Operator::BitXor)
    }

    /// What a comparison gives for this order; None (a NaN is compared) only differs from anything.
    fn compares(self, order: Option<Ordering>) -> Option<bool> {
        Some(match self {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            _ => return None,
        })
    }
}

/// A number, in the order in which types win over each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Short,
    Int,
    Long,
    Float,
    Double,
}

fn kind(value: &Value) -> Option<Kind> {
    Some(match value {
        Value::Short(_) => Kind::Short,
        Value::Int(_) => Kind::Int,
        Value::Long(_) => Kind::Long,
        Value::Float(_) => Kind::Float,
        Value::Double(_) => Kind::Double,
        _ => return None,
    })
}

/// A number as a double; a text that is one, too.
fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Short(n) => f64::from(*n),
        Value::Int(n) => f64::from(*n),
        Value::Long(n) => *n as f64,
        Value::Float(n) => f64::from(*n),
        Value::Double(n) => *n,
        Value::Text(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            return value::parse_double(text).filter(|_| plain);
        }
        _ => return None,
    })
}

fn cut(result: f64, kind: Kind) -> Value {
    match kind {
        Kind::Short => Value::Short(result as i32 as i16),
        Kind::Int => Value::Int(result as i32),
        Kind::Long => Value::Long(result as i64),
        Kind::Float => Value::Float(result as f32),
        Kind::Double => Value::Double(result),
    }
}

fn mismatch(operator: Operator, left: &Value, right: &Value) -> Fault {
    Fault {
        name: "ClassCastException",
        message: format!("`{}` cannot join {} and {}", operator.sign(), left.type_name(), right.type_name()),
    }
}

pub(super) fn apply(operator: Operator, left: Value, right: Value) -> Result<Value, Fault> {
    join(operator, left, right, same_type)
}

/// As [`apply`], but two integers of one type meet in double as those of two types do.
pub(super) fn apply_in_doubles(operator: Operator, left: Value, right: Value) -> Result<Value, Fault> {
    join(operator, left, right, |_, _, _| Ok(None))
}

fn join(
    operator: Operator,
    left: Value,
    right: Value,
    same_type: impl Fn(Operator, &Value, &Value) -> Result<Option<Value>, Fault>,
) -> Result<Value, Fault> {
    let is_text = |value: &Value| value.as_text().is_some();
    let is_word = |value: &Value| is_text(value) || matches!(value, Value::Null | Value::Bool(_));
    if operator == Operator::Add && (is_word(&left) || is_word(&right)) {
        let mut joined = Vec::new();
        left.write_text(&mut joined);
        right.write_text(&mut joined);
        return Ok(Value::Text(String::from_utf8_lossy(&joined).into_owned()));
    }
    if operator.of_bits() {
        return bits(operator, &left, &right);
    }
    if let Some(result) = same_type(operator, &left, &right)? {
        return Ok(result);
    }
    let compares_texts = is_text(&left) && is_text(&right) && operator.is_comparison();
    if let (Some(a), Some(b), false) = (number(&left), number(&right), compares_texts) {
        if let Some(holds) = operator.compares(a.partial_cmp(&b)) {
            return Ok(Value::Bool(holds));
        }
        let result = match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::Remainder => a % b,
            _ => a.powf(b),
        };
        return Ok(cut(result, kind(&left).max(kind(&right)).unwrap_or(Kind::Double)));
    }
    let order = match (left.as_text(), right.as_text()) {
        // Java compares UTF-16 units.
        (Some(a), Some(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        _ => None,
    };
    match operator {
        Operator::Equal => Ok(Value::Bool(left == right)),
        Operator::NotEqual => Ok(Value::Bool(left != right)),
        _ => match (order, operator.compares(order)) {
            (Some(_), Some(holds)) => Ok(Value::Bool(holds)),
            _ => Err(mismatch(operator, &left, &right)),
        },
    }
}

/// Two numbers of one type.
fn same_type(operator: Operator, left: &Value, right: &Value) -> Result<Option<Value>, Fault> {
    Ok(Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => {
            let (a, b) = (*a, *b);
            match operator {
                Operator::Add => Value::Int(a.wrapping_add(b)),
                Operator::Subtract => Value::Int(a.wrapping_sub(b)),
                Operator::Multiply => Value::Int(a.wrapping_mul(b)),
                Operator::Divide => Value::Double(f64::from(a) / f64::from(b)),
                Operator::Remainder if b == 0 => return Err(by_zero()),
                Operator::Remainder => Value::Int(a.wrapping_rem(b)),
                Operator::Power => power(f64::from(a), f64::from(b), f64::from(i32::MAX), Kind::Int),
                _ => return Ok(operator.compares(Some(a.cmp(&b))).map(Value::Bool)),
            }
        }
        (Value::Long(a), Value::Long(b)) => {
            let (a, b) = (*a, *b);
            match operator {
                Operator::Add => Value::Long(a.wrapping_add(b)),
                Operator::Subtract => Value::Long(a.wrapping_sub(b)),
                Operator::Multiply => Value::Long(a.wrapping_mul(b)),
                Operator::Divide => Value::Double(a as f64 / b as f64),
                Operator::Remainder if b == 0 => return Err(by_zero()),
                Operator::Remainder => Value::Long(a.wrapping_rem(b)),
                Operator::Power => power(a as f64, b as f64, i64::MAX as f64, Kind::Long),
                _ => return Ok(operator.compares(Some(a.cmp(&b))).map(Value::Bool)),
            }
        }
        (Value::Float(a), Value::Float(b)) => match operator {
            Operator::Add => Value::Float(a + b),
            Operator::Subtract => Value::Float(a - b),
            Operator::Multiply => Value::Float(a * b),
            Operator::Divide => Value::Double(f64::from(*a) / f64::from(*b)),
            Operator::Remainder => Value::Float(a % b),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// A power of integers: a double where it does not fit their type.
fn power(base: f64, exponent: f64, most: f64, kind: Kind) -> Value {
    let result = base.powf(exponent);
    if result > most { Value::Double(result) } else { cut(result, kind) }
}

fn by_zero() -> Fault {
    Fault { name: "ArithmeticException", message: "division by zero".to_owned() }
}

/// Bits of integers; a shift keeps the type of what is shifted.
fn bits(operator: Operator, left: &Value, right: &Value) -> Result<Value, Fault> {
    let (a, b) = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => {
            return Ok(Value::Bool(match operator {
                Operator::BitAnd => *a & *b,
                Operator::BitOr => *a | *b,
                Operator::BitXor => *a ^ *b,
                _ => return Err(mismatch(operator, left, right)),
            }));
        }
        (Value::Int(a), Value::Int(b)) => (i64::from(*a), i64::from(*b)),
        (Value::Int(a), Value::Long(b)) => (i64::from(*a), *b),
        (Value::Long(a), Value::Int(b)) => (*a, i64::from(*b)),
        (Value::Long(a), Value::Long(b)) => (*a, *b),
        _ => return Err(mismatch(operator, left, right)),
    };
    let both_ints = matches!((left, right), (Value::Int(_), Value::Int(_)));
    let of_int = matches!(left, Value::Int(_));
    let sized =
        |result: i64, as_int: bool| if as_int { Value::Int(result as i32) } else { Value::Long(result) };
    Ok(match operator {
        Operator::BitAnd => sized(a & b, both_ints),
        Operator::BitOr => sized(a | b, both_ints),
        Operator::BitXor => sized(a ^ b, both_ints),
        _ if of_int => {
            let (a, by) = (a as i32, b as u32);
            Value::Int(match operator {
                Operator::ShiftLeft => a.wrapping_shl(by),
                Operator::ShiftRight => a.wrapping_shr(by),
                _ => (a as u32).wrapping_shr(by) as i32,
            })
        }
        Operator::ShiftLeft => Value::Long(a.wrapping_shl(b as u32)),
        Operator::ShiftRight => Value::Long(a.wrapping_shr(b as u32)),
        _ => Value::Long((a as u64).wrapping_shr(b as u32) as i64),
    })
}

/// The low 32 bits of a long; any other value as it is.
pub(super) fn narrow(value: Value) -> Value {
    match value {
        Value::Long(n) => Value::Int(n as i32),
        other => other,
    }
}

pub(super) fn negate(value: Value) -> Result<Value, Fault> {
    Ok(match value {
        Value::Short(n) => Value::Int(-i32::from(n)),
        Value::Int(n) => Value::Int(n.wrapping_neg()),
        Value::Long(n) => Value::Long(n.wrapping_neg()),
        Value::Float(n) => Value::Float(-n),
        Value::Double(n) => Value::Double(-n),
        other => return Err(no_operand("-", &other)),
    })
}

pub(super) fn complement(value: Value) -> Result<Value, Fault> {
    Ok(match value {
        Value::Int(n) => Value::Int(!n),
        Value::Long(n) => Value::Long(!n),
        other => return Err(no_operand("~", &other)),
    })
}

fn no_operand(sign: &str, value: &Value) -> Fault {
    Fault {
        name: "ClassCastException",
        message: format!("`{sign}` cannot stand before a {}", value.type_name()),
    }
}
