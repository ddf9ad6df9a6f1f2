//! BSON as bytes: checks a document once when it comes in, then walks it without allocating.
//!
//! [`check`] is the only function that may see bytes from outside; the others take what has passed it and end
//! quietly at anything that has not. Types are the element type bytes of the BSON specification.

use std::fmt::Write as _;

/// How deep documents may be nested, as in MongoDB.
pub const MAX_DEPTH: usize = 200;

pub mod kind {
    //! Element type bytes.
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0A;
    pub const REGEX: u8 = 0x0B;
    pub const DB_POINTER: u8 = 0x0C;
    pub const CODE: u8 = 0x0D;
    pub const SYMBOL: u8 = 0x0E;
    pub const CODE_WITH_SCOPE: u8 = 0x0F;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7F;
    pub const MIN_KEY: u8 = 0xFF;
}

/// A value: its type byte and its bytes without name.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    pub kind: u8,
    pub bytes: &'a [u8],
}

/// A field of a document or an item of an array.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a> {
    pub name: &'a [u8],
    pub value: Value<'a>,
    /// Type byte, name and value: what to copy to copy the field.
    pub whole: &'a [u8],
}

impl<'a> Element<'a> {
    /// The name as text.
    pub fn name_str(&self) -> &'a str {
        std::str::from_utf8(self.name).unwrap_or_default()
    }
}

/// What a missing field counts as wherever MongoDB lets it.
pub const NULL: Value<'static> = Value { kind: kind::NULL, bytes: &[] };

impl<'a> Value<'a> {
    pub fn is_number(self) -> bool {
        matches!(self.kind, kind::DOUBLE | kind::INT32 | kind::INT64 | kind::DECIMAL128)
    }

    pub fn is_null(self) -> bool {
        matches!(self.kind, kind::NULL | kind::UNDEFINED)
    }

    /// The number as an integer, if it is one (`3.0` is).
    pub fn as_i64(self) -> Option<i64> {
        match self.kind {
            kind::INT32 => Some(i64::from(i32::from_le_bytes(self.bytes.try_into().ok()?))),
            kind::INT64 => Some(i64::from_le_bytes(self.bytes.try_into().ok()?)),
            kind::DOUBLE => {
                let value = f64::from_le_bytes(self.bytes.try_into().ok()?);
                (value.fract() == 0.0 && value.abs() < 9.2e18).then_some(value as i64)
            }
            _ => None,
        }
    }

    /// The number as a double; integers above 2^53 lose their last digits.
    pub fn as_f64(self) -> Option<f64> {
        match self.kind {
            kind::DOUBLE => Some(f64::from_le_bytes(self.bytes.try_into().ok()?)),
            _ => self.as_i64().map(|value| value as f64),
        }
    }

    /// A boolean, or a number in its place, as MongoDB takes options.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind {
            kind::BOOL => Some(self.bytes.first()? != &0),
            _ => self.as_f64().map(|value| value != 0.0),
        }
    }

    pub fn as_str(self) -> Option<&'a str> {
        match self.kind {
            kind::STRING | kind::SYMBOL => std::str::from_utf8(self.text()?).ok(),
            _ => None,
        }
    }

    /// The bytes of a string, symbol or code without length and end.
    pub fn text(self) -> Option<&'a [u8]> {
        self.bytes.get(4..self.bytes.len().checked_sub(1)?)
    }

    pub fn as_document(self) -> Option<&'a [u8]> {
        (self.kind == kind::DOCUMENT).then_some(self.bytes)
    }

    pub fn as_array(self) -> Option<&'a [u8]> {
        (self.kind == kind::ARRAY).then_some(self.bytes)
    }

    /// The elements of a document or array; none of anything else.
    pub fn elements(self) -> Elements<'a> {
        match self.kind {
            kind::DOCUMENT | kind::ARRAY => elements(self.bytes),
            _ => Elements(&[]),
        }
    }

    pub fn is_document(self) -> bool {
        self.kind == kind::DOCUMENT
    }

    pub fn is_array(self) -> bool {
        self.kind == kind::ARRAY
    }

    pub fn is_nan(self) -> bool {
        self.kind == kind::DOUBLE && self.as_f64().is_some_and(f64::is_nan)
    }

    /// The type's name as `$type` and error messages have it.
    pub fn type_name(self) -> &'static str {
        match self.kind {
            kind::DOUBLE => "double",
            kind::STRING => "string",
            kind::DOCUMENT => "object",
            kind::ARRAY => "array",
            kind::BINARY => "binData",
            kind::UNDEFINED => "undefined",
            kind::OBJECT_ID => "objectId",
            kind::BOOL => "bool",
            kind::DATE => "date",
            kind::NULL => "null",
            kind::REGEX => "regex",
            kind::DB_POINTER => "dbPointer",
            kind::CODE => "javascript",
            kind::SYMBOL => "symbol",
            kind::CODE_WITH_SCOPE => "javascriptWithScope",
            kind::INT32 => "int",
            kind::TIMESTAMP => "timestamp",
            kind::INT64 => "long",
            kind::DECIMAL128 => "decimal",
            kind::MAX_KEY => "maxKey",
            kind::MIN_KEY => "minKey",
            _ => "unknown",
        }
    }

    /// The value as an error message shows it, cut when long.
    pub fn shown(self) -> String {
        let mut out = String::new();
        self.show(&mut out);
        out
    }

    fn show(self, out: &mut String) {
        const LONGEST: usize = 120;
        if out.len() > LONGEST {
            return;
        }
        match self.kind {
            kind::STRING | kind::SYMBOL => {
                let text = self.as_str().unwrap_or_default();
                let short: String = text.chars().take(LONGEST).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                let _ = write!(out, "\"{short}{dots}\"");
            }
            kind::DOCUMENT => {
                out.push_str("{ ");
                for (i, element) in self.elements().enumerate() {
                    let _ = write!(out, "{}{}: ", if i > 0 { ", " } else { "" }, element.name_str());
                    element.value.show(out);
                }
                out.push_str(" }");
            }
            kind::ARRAY => {
                out.push_str("[ ");
                for (i, element) in self.elements().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    element.value.show(out);
                }
                out.push_str(" ]");
            }
            kind::INT32 | kind::INT64 => {
                let _ = write!(out, "{}", self.as_i64().unwrap_or_default());
            }
            kind::DOUBLE => {
                let _ = write!(out, "{:?}", self.as_f64().unwrap_or_default());
            }
            kind::BOOL => {
                let _ = write!(out, "{}", self.as_bool().unwrap_or_default());
            }
            kind::NULL => out.push_str("null"),
            kind::OBJECT_ID => {
                out.push_str("ObjectId('");
                for byte in self.bytes {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push_str("')");
            }
            kind::DATE => {
                let millis = self.bytes.try_into().map(i64::from_le_bytes).unwrap_or_default();
                let _ = write!(out, "new Date({millis})");
            }
            kind::BINARY => {
                let _ = write!(out, "BinData({} bytes)", self.bytes.len().saturating_sub(5));
            }
            _ => out.push_str(self.type_name()),
        }
    }
}

/// Walks the elements of a checked document or array.
#[derive(Debug, Clone)]
pub struct Elements<'a>(&'a [u8]);

/// The elements of `document`, in order.
pub fn elements(document: &[u8]) -> Elements<'_> {
    Elements(document.get(4..document.len().saturating_sub(1)).unwrap_or_default())
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (&kind, after) = self.0.split_first()?;
        let end = after.iter().position(|&byte| byte == 0)?;
        let length = value_length(kind, &after[end + 1..])?;
        let total = 1 + end + 1 + length;
        let whole = self.0.get(..total)?;
        self.0 = &self.0[total..];
        Some(Element { name: &after[..end], value: Value { kind, bytes: &whole[1 + end + 1..] }, whole })
    }
}

/// The value of the field `name`, which is no path.
pub fn get<'a>(document: &'a [u8], name: &[u8]) -> Option<Value<'a>> {
    elements(document).find(|element| element.name == name).map(|element| element.value)
}

fn value_length(kind: u8, bytes: &[u8]) -> Option<usize> {
    let prefixed = || usize::try_from(i32::from_le_bytes(*bytes.first_chunk::<4>()?)).ok();
    let cstring = |bytes: &[u8]| Some(bytes.iter().position(|&byte| byte == 0)? + 1);
    let length = match kind {
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => 8,
        kind::INT32 => 4,
        kind::BOOL => 1,
        kind::NULL | kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => 0,
        kind::OBJECT_ID => 12,
        kind::DECIMAL128 => 16,
        kind::STRING | kind::CODE | kind::SYMBOL => prefixed()?.checked_add(4)?,
        kind::BINARY => prefixed()?.checked_add(5)?,
        kind::DOCUMENT | kind::ARRAY | kind::CODE_WITH_SCOPE => prefixed()?,
        kind::DB_POINTER => prefixed()?.checked_add(16)?,
        kind::REGEX => {
            let pattern = cstring(bytes)?;
            pattern + cstring(&bytes[pattern..])?
        }
        _ => return None,
    };
    (length <= bytes.len()).then_some(length)
}

/// Checks that `bytes` are one whole well-formed BSON document: lengths, ends, types, UTF-8, depth.
///
/// # Errors
/// A text that says what is wrong.
pub fn check(bytes: &[u8]) -> Result<(), &'static str> {
    check_document(bytes, 0)
}

fn check_document(bytes: &[u8], depth: usize) -> Result<(), &'static str> {
    if depth > MAX_DEPTH {
        return Err("nested too deeply");
    }
    let length = bytes.first_chunk::<4>().map(|length| i32::from_le_bytes(*length));
    if length.and_then(|length| usize::try_from(length).ok()) != Some(bytes.len()) || bytes.len() < 5 {
        return Err("length of a document is wrong");
    }
    if bytes[bytes.len() - 1] != 0 {
        return Err("document has no end");
    }
    let mut walk = elements(bytes);
    for element in walk.by_ref() {
        if std::str::from_utf8(element.name).is_err() {
            return Err("field name is not UTF-8");
        }
        let Value { kind, bytes } = element.value;
        match kind {
            kind::STRING | kind::SYMBOL | kind::CODE => check_text(bytes)?,
            kind::DOCUMENT | kind::ARRAY => check_document(bytes, depth + 1)?,
            kind::BOOL if bytes[0] > 1 => return Err("boolean is neither 0 nor 1"),
            kind::REGEX if std::str::from_utf8(bytes).is_err() => {
                return Err("regular expression is not UTF-8");
            }
            kind::DB_POINTER => check_text(&bytes[..bytes.len() - 12])?,
            kind::CODE_WITH_SCOPE => {
                let inner = bytes.get(4..).ok_or("code with scope is cut")?;
                let code = value_length(kind::CODE, inner).ok_or("code with scope is cut")?;
                check_text(&inner[..code])?;
                check_document(&inner[code..], depth + 1)?;
            }
            _ => {}
        }
    }
    if walk.0.is_empty() { Ok(()) } else { Err("element is cut or of an unknown type") }
}

fn check_text(bytes: &[u8]) -> Result<(), &'static str> {
    match bytes.get(4..) {
        Some([text @ .., 0]) => std::str::from_utf8(text).map(drop).map_err(|_| "string is not UTF-8"),
        _ => Err("string has no end"),
    }
}

/// Builds a document at the end of a buffer.
pub struct Writer<'b> {
    pub buffer: &'b mut Vec<u8>,
    start: usize,
}

impl<'b> Writer<'b> {
    /// Opens a document at the end of `buffer`; [`Writer::finish`] closes it.
    pub fn new(buffer: &'b mut Vec<u8>) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&[0; 4]);
        Writer { buffer, start }
    }

    pub fn name(&mut self, kind: u8, name: &str) -> &mut Self {
        debug_assert!(!name.contains('\0'));
        self.buffer.push(kind);
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.push(0);
        self
    }

    pub fn i32(&mut self, name: &str, value: i32) -> &mut Self {
        self.name(kind::INT32, name).buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn i64(&mut self, name: &str, value: i64) -> &mut Self {
        self.name(kind::INT64, name).buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn f64(&mut self, name: &str, value: f64) -> &mut Self {
        self.name(kind::DOUBLE, name).buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn bool(&mut self, name: &str, value: bool) -> &mut Self {
        self.name(kind::BOOL, name).buffer.push(u8::from(value));
        self
    }

    /// Milliseconds since 1970.
    pub fn date(&mut self, name: &str, millis: i64) -> &mut Self {
        self.name(kind::DATE, name).buffer.extend_from_slice(&millis.to_le_bytes());
        self
    }

    pub fn str(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(kind::STRING, name).buffer.extend_from_slice(&(value.len() as i32 + 1).to_le_bytes());
        self.buffer.extend_from_slice(value.as_bytes());
        self.buffer.push(0);
        self
    }

    pub fn value(&mut self, name: &str, value: Value<'_>) -> &mut Self {
        self.name(value.kind, name).buffer.extend_from_slice(value.bytes);
        self
    }

    pub fn document(&mut self, name: &str, fill: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.nested(kind::DOCUMENT, name, fill)
    }

    pub fn array(&mut self, name: &str, fill: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.nested(kind::ARRAY, name, fill)
    }

    fn nested(&mut self, kind: u8, name: &str, fill: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.name(kind, name);
        let mut inner = Writer::new(self.buffer);
        fill(&mut inner);
        inner.finish();
        self
    }

    /// Copies a field as it is.
    pub fn element(&mut self, element: &Element<'_>) -> &mut Self {
        self.buffer.extend_from_slice(element.whole);
        self
    }

    /// Closes the document and sets its length.
    pub fn finish(self) {
        self.buffer.push(0);
        let length = (self.buffer.len() - self.start) as i32;
        self.buffer[self.start..self.start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// A document of its own, made by `fill`.
pub fn document(fill: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer);
    fill(&mut writer);
    writer.finish();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Bson, doc, rawdoc};
    use proptest::prelude::*;

    fn everything() -> Vec<u8> {
        bson::serialize_to_vec(&doc! {
            "double": 1.5, "string": "text", "document": { "a": [1, 2i64, { "b": null }] },
            "binary": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2, 3] },
            "undefined": Bson::Undefined, "id": bson::oid::ObjectId::from_bytes([7; 12]), "bool": true,
            "date": bson::DateTime::from_millis(5),
            "regex": Bson::RegularExpression(bson::Regex { pattern: bson::raw::cstr!("^a").into(), options: bson::raw::cstr!("i").into() }),
            "code": Bson::JavaScriptCode("f()".into()), "symbol": Bson::Symbol("s".into()),
            "scope": bson::JavaScriptCodeWithScope { code: "g()".into(), scope: doc! { "x": 1 } },
            "timestamp": bson::Timestamp { time: 1, increment: 2 },
            "decimal": "1.5".parse::<bson::Decimal128>().unwrap(), "max": Bson::MaxKey, "min": Bson::MinKey,
        })
        .unwrap()
    }

    #[test]
    fn every_type_is_walked_and_found() {
        let bytes = everything();
        check(&bytes).unwrap();
        let parsed = bson::RawDocument::from_bytes(&bytes).unwrap();
        let mut count = 0;
        for (mine, theirs) in elements(&bytes).zip(parsed.iter_elements()) {
            let theirs = theirs.unwrap();
            assert_eq!(mine.name_str(), theirs.key().as_str());
            assert_eq!(mine.value.kind, theirs.element_type() as u8);
            count += 1;
        }
        assert_eq!(count, 16);
        assert_eq!(get(&bytes, b"string").unwrap().as_str(), Some("text"));
        assert!(get(&bytes, b"none").is_none());
    }

    #[test]
    fn the_writer_builds_what_the_library_builds() {
        let mine = document(|w| {
            w.i32("a", 1).str("b", "x").document("c", |w| {
                w.array("d", |w| {
                    w.bool("0", true).f64("1", 2.5);
                });
            });
        });
        let theirs = rawdoc! { "a": 1, "b": "x", "c": { "d": [true, 2.5] } };
        assert_eq!(mine, theirs.as_bytes());
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let mut bytes = document(|_| {});
        for _ in 0..100_000 {
            let inner = bytes;
            if inner.len() > 200_000 {
                bytes = inner;
                break;
            }
            bytes = document(|w| {
                w.value("a", Value { kind: kind::DOCUMENT, bytes: &inner });
            });
            if bytes.len() > 8_000 {
                break;
            }
        }
        assert_eq!(check(&bytes), Err("nested too deeply"));
    }

    proptest! {
        #[test]
        fn a_damaged_document_never_panics(at in 0usize..10_000, with in 1u8.., cut in 0usize..10_000) {
            let mut bytes = everything();
            let at = at % bytes.len();
            bytes[at] ^= with;
            if check(&bytes).is_ok() {
                for element in elements(&bytes) {
                    element.value.shown();
                }
            }
            bytes.truncate(cut % bytes.len());
            let _ = check(&bytes);
        }
    }
}
