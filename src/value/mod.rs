//! The values that recipes produce: the kinds of the reference's Java types that MongoDB or a text form can
//! tell apart, and their text as Java prints it.

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
    Chars { image: Arc<str>, start: usize, end: usize },
}

impl Value {
    /// The Java simple class name: `Long`, `Integer`, `String`, `CharBuffer`, …; `null` for Null.
    pub fn type_name(&self) -> &'static str {
        todo!()
    }

    /// Appends `String.valueOf` of this value, in UTF-8.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
