//! The values that recipes produce: the kinds of the reference's Java types that MongoDB or a text form can
//! tell apart, and their text as Java prints and reads it.

mod text;

pub use text::{parse_double, parse_int, parse_long, write_double, write_float, write_long};

use std::sync::Arc;

/// One value. `Int` and `Long` (and `Float` and `Double`) stay apart: BSON int32 is not int64.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(String),
    /// A slice of a shared text (Java's `CharBuffer`): bytes `start..end` of `image`.
    Chars {
        image: Arc<str>,
        start: usize,
        end: usize,
    },
}

impl Value {
    /// The Java simple class name: `Long`, `Integer`, `String`, `CharBuffer`, …; `null` for Null.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "Boolean",
            Value::Int(_) => "Integer",
            Value::Long(_) => "Long",
            Value::Float(_) => "Float",
            Value::Double(_) => "Double",
            Value::Text(_) => "String",
            Value::Chars { .. } => "CharBuffer",
        }
    }

    /// The text itself, where the value is one (Java String or CharBuffer).
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Chars { image, start, end } => Some(image.get(*start..*end).unwrap_or_default()),
            _ => None,
        }
    }

    /// Appends `String.valueOf` of this value, in UTF-8.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(int) => write_long(i64::from(*int), out),
            Value::Long(long) => write_long(*long, out),
            Value::Float(float) => write_float(*float, out),
            Value::Double(double) => write_double(*double, out),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Chars { .. } => out.extend_from_slice(self.as_text().unwrap_or_default().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_java_name_and_text() {
        let image: Arc<str> = "aéz".into();
        for (value, name, text) in [
            (Value::Null, "null", "null"),
            (Value::Bool(true), "Boolean", "true"),
            (Value::Int(i32::MIN), "Integer", "-2147483648"),
            (Value::Long(i64::MIN), "Long", "-9223372036854775808"),
            (Value::Float(0.1), "Float", "0.1"),
            (Value::Double(1e7), "Double", "1.0E7"),
            (Value::Text("x".to_owned()), "String", "x"),
            (Value::Chars { image, start: 1, end: 3 }, "CharBuffer", "é"),
        ] {
            let mut out = Vec::new();
            value.write_text(&mut out);
            assert_eq!((value.type_name(), std::str::from_utf8(&out)), (name, Ok(text)));
        }
    }
}
