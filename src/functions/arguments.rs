//! The arguments that a function is built with, already known to fit one of its constructors.

use super::adapt;
use super::function::{Function, Map, Producer};
use super::types::Type;
use crate::value::Value;

/// An argument of a call.
#[derive(Clone)]
pub enum Argument {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Bool(bool),
    Text(String),
    /// Fits nothing but our own forms.
    Null,
    Function(Nested),
}

/// A function given as an argument.
#[derive(Clone)]
pub struct Nested {
    pub name: &'static str,
    pub input: Type,
    pub output: Type,
    pub function: Function,
}

/// Arguments that a function cannot be built with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, one sentence, lower case, no full stop.
    pub message: String,
    /// The argument to point at, if it is one alone.
    pub argument: Option<usize>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), argument: None, help: None }
    }

    pub fn at(mut self, argument: usize) -> Refusal {
        self.argument = Some(argument);
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Refusal {
        self.help = Some(help.into());
        self
    }
}

impl Argument {
    /// The type it has as an argument: a box, a String, or a function's interface.
    pub fn kind(&self) -> Type {
        match self {
            Argument::Int(_) => Type::BoxedInt,
            Argument::Long(_) => Type::BoxedLong,
            Argument::Float(_) => Type::BoxedFloat,
            Argument::Double(_) => Type::BoxedDouble,
            Argument::Bool(_) => Type::BoxedBoolean,
            Argument::Text(_) => Type::String,
            Argument::Null => Type::Object,
            Argument::Function(nested) => Type::of_function(&nested.function),
        }
    }

    /// How well it fits a parameter.
    pub fn fits(&self, parameter: Type) -> Option<super::Match> {
        match (self, parameter) {
            (Argument::Function(nested), Type::Only(name)) => {
                (nested.name == name).then_some(super::Match::Direct)
            }
            // Its class is not the interface, but implements it.
            (Argument::Function(_), _) => {
                self.kind().fits(parameter).map(|fit| fit.max(super::Match::Converted))
            }
            (Argument::Null, _) => (parameter == Type::Object).then_some(super::Match::Direct),
            _ => self.kind().fits(parameter),
        }
    }
}

/// What a function is built with.
pub struct Arguments<'a>(pub &'a [Argument]);

impl<'a> Arguments<'a> {
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, position: usize) -> Option<&'a Argument> {
        self.0.get(position)
    }

    fn mismatch(position: usize, wanted: &str) -> Refusal {
        Refusal::new(format!("argument {} must be {wanted}", position + 1)).at(position)
    }

    pub fn int(&self, position: usize) -> Result<i32, Refusal> {
        match self.get(position) {
            Some(Argument::Int(value)) => Ok(*value),
            _ => Err(Arguments::mismatch(position, "an integer of 32 bits")),
        }
    }

    pub fn long(&self, position: usize) -> Result<i64, Refusal> {
        match self.get(position) {
            Some(Argument::Int(value)) => Ok(i64::from(*value)),
            Some(Argument::Long(value)) => Ok(*value),
            _ => Err(Arguments::mismatch(position, "an integer")),
        }
    }

    pub fn float(&self, position: usize) -> Result<f32, Refusal> {
        match self.get(position) {
            Some(Argument::Int(value)) => Ok(*value as f32),
            Some(Argument::Long(value)) => Ok(*value as f32),
            Some(Argument::Float(value)) => Ok(*value),
            _ => Err(Arguments::mismatch(position, "a number")),
        }
    }

    pub fn double(&self, position: usize) -> Result<f64, Refusal> {
        match self.get(position) {
            Some(Argument::Int(value)) => Ok(f64::from(*value)),
            Some(Argument::Long(value)) => Ok(*value as f64),
            Some(Argument::Float(value)) => Ok(f64::from(*value)),
            Some(Argument::Double(value)) => Ok(*value),
            _ => Err(Arguments::mismatch(position, "a number")),
        }
    }

    pub fn text(&self, position: usize) -> Result<&'a str, Refusal> {
        match self.get(position) {
            Some(Argument::Text(text)) => Ok(text),
            _ => Err(Arguments::mismatch(position, "a text in quotes")),
        }
    }

    /// The value of a literal.
    pub fn constant(&self, position: usize) -> Result<Value, Refusal> {
        Ok(match self.get(position) {
            Some(Argument::Int(value)) => Value::Int(*value),
            Some(Argument::Long(value)) => Value::Long(*value),
            Some(Argument::Float(value)) => Value::Float(*value),
            Some(Argument::Double(value)) => Value::Double(*value),
            Some(Argument::Bool(value)) => Value::Bool(*value),
            Some(Argument::Text(text)) => Value::Text(text.clone()),
            Some(Argument::Null) => Value::Null,
            Some(Argument::Function(_)) | None => {
                return Err(Arguments::mismatch(position, "a number, a text, true, false or null"));
            }
        })
    }

    pub fn nested(&self, position: usize) -> Result<&'a Nested, Refusal> {
        match self.get(position) {
            Some(Argument::Function(nested)) => Ok(nested),
            _ => Err(Arguments::mismatch(position, "a function")),
        }
    }

    /// A number (Java's `Number.intValue`) or a function to int: how long something shall be.
    pub fn size(&self, position: usize) -> Result<Map<i64, i32>, Refusal> {
        let constant = match self.get(position) {
            Some(Argument::Int(value)) => *value,
            Some(Argument::Long(value)) => *value as i32,
            Some(Argument::Float(value)) => *value as i32,
            Some(Argument::Double(value)) => *value as i32,
            Some(Argument::Function(nested)) => {
                return adapt::to_int(nested).map_err(|refusal| refusal.at(position));
            }
            _ => return Err(Arguments::mismatch(position, "a number or a function")),
        };
        Ok(std::sync::Arc::new(move |_, _| Ok(constant)))
    }

    /// A function, adapted to take a long and give anything.
    pub fn producer(&self, position: usize) -> Result<Producer<i64>, Refusal> {
        adapt::to_object(self.nested(position)?).map_err(|refusal| refusal.at(position))
    }
}
