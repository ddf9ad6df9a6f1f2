//! A BSON document as canonical extended JSON (v2): fields in their order, on one line.

use crate::value::Value;
use bson::raw::{RawBsonRef, RawDocument};
use std::fmt::Write;

/// The canonical extended JSON text of a document. An error says what is wrong with the bytes.
pub fn canonical(document: &[u8]) -> Result<String, String> {
    let document = RawDocument::from_bytes(document).map_err(|error| error.to_string())?;
    let mut out = String::with_capacity(document.as_bytes().len() * 2);
    write_document(document, &mut out)?;
    Ok(out)
}

/// The canonical extended JSON text of a value. An error says what is wrong with the bytes.
pub fn value(value: RawBsonRef<'_>) -> Result<String, String> {
    let mut out = String::new();
    write_value(value, &mut out)?;
    Ok(out)
}

fn write_document(document: &RawDocument, out: &mut String) -> Result<(), String> {
    out.push('{');
    for (index, entry) in document.iter().enumerate() {
        let (key, value) = entry.map_err(|error| error.to_string())?;
        if index > 0 {
            out.push(',');
        }
        write_text(key.as_str(), out);
        out.push(':');
        write_value(value, out)?;
    }
    out.push('}');
    Ok(())
}

/// A JSON string.
pub fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // A String takes any text.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_value(value: RawBsonRef<'_>, out: &mut String) -> Result<(), String> {
    let form = |name: &str, text: &str, out: &mut String| {
        out.push_str("{\"");
        out.push_str(name);
        out.push_str("\":");
        write_text(text, out);
        out.push('}');
    };
    match value {
        RawBsonRef::Double(d) => {
            let mut text = Vec::new();
            Value::Double(d).write_text(&mut text);
            form("$numberDouble", &String::from_utf8_lossy(&text), out);
        }
        RawBsonRef::String(text) => write_text(text, out),
        RawBsonRef::Array(items) => {
            out.push('[');
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item.map_err(|error| error.to_string())?, out)?;
            }
            out.push(']');
        }
        RawBsonRef::Document(document) => write_document(document, out)?,
        RawBsonRef::Boolean(b) => out.push_str(if b { "true" } else { "false" }),
        RawBsonRef::Null => out.push_str("null"),
        RawBsonRef::Int32(n) => form("$numberInt", &n.to_string(), out),
        RawBsonRef::Int64(n) => form("$numberLong", &n.to_string(), out),
        RawBsonRef::Decimal128(d) => form("$numberDecimal", &d.to_string(), out),
        RawBsonRef::ObjectId(id) => form("$oid", &id.to_hex(), out),
        RawBsonRef::DateTime(date) => {
            out.push_str("{\"$date\":");
            form("$numberLong", &date.timestamp_millis().to_string(), out);
            out.push('}');
        }
        RawBsonRef::Binary(binary) => {
            out.push_str("{\"$binary\":{\"base64\":");
            write_text(&base64(binary.bytes), out);
            out.push_str(",\"subType\":");
            write_text(&format!("{:02x}", u8::from(binary.subtype)), out);
            out.push_str("}}");
        }
        RawBsonRef::RegularExpression(regex) => {
            out.push_str("{\"$regularExpression\":{\"pattern\":");
            write_text(regex.pattern.as_str(), out);
            out.push_str(",\"options\":");
            write_text(regex.options.as_str(), out);
            out.push_str("}}");
        }
        RawBsonRef::Timestamp(at) => {
            let _ = write!(out, "{{\"$timestamp\":{{\"t\":{},\"i\":{}}}}}", at.time, at.increment);
        }
        RawBsonRef::JavaScriptCode(code) => form("$code", code, out),
        RawBsonRef::JavaScriptCodeWithScope(code) => {
            out.push_str("{\"$code\":");
            write_text(code.code, out);
            out.push_str(",\"$scope\":");
            write_document(code.scope, out)?;
            out.push('}');
        }
        RawBsonRef::Symbol(text) => form("$symbol", text, out),
        RawBsonRef::Undefined => out.push_str("{\"$undefined\":true}"),
        RawBsonRef::MinKey => out.push_str("{\"$minKey\":1}"),
        RawBsonRef::MaxKey => out.push_str("{\"$maxKey\":1}"),
        pointer @ RawBsonRef::DbPointer(_) => {
            // The type does not show its parts; its serialized form does.
            let pointer = serde_json::to_string(&pointer).map_err(|error| error.to_string())?;
            out.push_str(&pointer);
        }
    }
    Ok(())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= group.len() {
                out.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}
