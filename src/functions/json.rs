//! Values as JSON text, as Gson 2.10 with its defaults writes them, and texts made fit to stand in JSON.

use super::function::text_value;
use super::text::text_or_null;
use super::{Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Type};
use crate::value::Value;
use crate::value::calendar::{Moment, short};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&TO_JSON, &TO_JSON_PRETTY, &ESCAPE_JSON];

const NOTHING: &[Constructor] = &[Constructor::of(&[])];

const NOTES: &str = "`< > & = '` are escaped, map entries without a value left out; NaN and the infinities are \
                     errors, and so are values that Gson cannot look into, such as buffers and instants";

const fn to_json(build: super::Build) -> Overload {
    Overload::new("conversions.from_any", Type::Object, Type::String, NOTHING, build)
}

fn written(indent: Option<usize>) -> Function {
    Function::object_to_object(move |value, _| {
        let mut out = Vec::new();
        write(&value, indent, &mut out)?;
        Ok(text_value(out))
    })
}

static TO_JSON: FunctionRow = FunctionRow {
    name: "ToJSON",
    category: Category::Conversion,
    doc: "any value as JSON text",
    notes: NOTES,
    examples: &[
        Example("ListTemplate(FixedValue(2),NumberNameToString()); ToJSON()", 1, r#"["one","two"]"#),
        Example("FixedValue('a<b'); ToJSON()", 1, r#""a\u003cb""#),
    ],
    overloads: &[to_json(|_| Ok(written(None)))],
    ..FunctionRow::NEW
};

static TO_JSON_PRETTY: FunctionRow = FunctionRow {
    name: "ToJSONPretty",
    category: Category::Conversion,
    doc: "any value as JSON text on several lines",
    notes: NOTES,
    examples: &[Example(
        "ListTemplate(FixedValue(1),NumberNameToString()); ToJSONPretty()",
        1,
        "[\n  \"one\"\n]",
    )],
    overloads: &[to_json(|_| Ok(written(Some(0))))],
    ..FunctionRow::NEW
};

static ESCAPE_JSON: FunctionRow = FunctionRow {
    name: "EscapeJSON",
    category: Category::Text,
    doc: "escapes a text for a JSON string: quotes, backslashes, slashes, control characters, and all outside \
          ASCII as \\uXXXX",
    examples: &[Example("FixedValue('say \"é/\"'); EscapeJSON()", 0, r#"say \"\u00E9\/\""#)],
    overloads: &[Overload::new("from_string", Type::String, Type::String, NOTHING, |_| {
        Ok(text_or_null(|text, out| {
            escape(text, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

fn escape(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '/' => out.extend_from_slice(b"\\/"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            ' '..='\u{7f}' => out.push(c as u8),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04X}").as_bytes());
                }
            }
        }
    }
}

/// A string as Gson writes it, safe to stand in HTML.
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '=' | '\'' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn line(indent: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * indent));
}

/// What stands between two brackets, item by item; `indent` as for [`write()`].
fn items<T>(
    brackets: [u8; 2],
    items: impl IntoIterator<Item = T>,
    indent: Option<usize>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(T, Option<usize>, &mut Vec<u8>) -> Eval<()>,
) -> Eval<()> {
    let inner = indent.map(|indent| indent + 1);
    out.push(brackets[0]);
    let mut first = true;
    for each in items {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        if let Some(inner) = inner {
            line(inner, out);
        }
        item(each, inner, out)?;
    }
    if let Some(indent) = indent.filter(|_| !first) {
        line(indent, out);
    }
    out.push(brackets[1]);
    Ok(())
}

fn write_number(value: &Value, out: &mut Vec<u8>) -> Eval<()> {
    if matches!(value, Value::Double(v) if !v.is_finite())
        || matches!(value, Value::Float(v) if !v.is_finite())
    {
        return Err(EvalError::boxed("IllegalArgumentException", format!("JSON has no {}", value.text())));
    }
    value.write_text(out);
    Ok(())
}

/// Appends `value`; with an indent, on lines of their own below that one.
fn write<'v>(value: &'v Value, indent: Option<usize>, out: &mut Vec<u8>) -> Eval<()> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(_) | Value::Byte(_) | Value::Short(_) | Value::Int(_) | Value::Long(_) => {
            value.write_text(out)
        }
        Value::Float(_)
        | Value::Double(_)
        | Value::BigInteger(_)
        | Value::BigDecimal(_)
        | Value::Decimal128(_) => write_number(value, out)?,
        Value::Text(text) => write_string(text, out),
        Value::Uuid { .. } | Value::ObjectId(_) => write_string(&value.text(), out),
        Value::Unset => write_string("unset", out),
        Value::InetAddress(bytes) => write_string(&std::net::Ipv4Addr::from(*bytes).to_string(), out),
        Value::Date(millis) => write_string(&us_date(*millis), out),
        Value::DateTime(millis) => write_string(&Value::Instant(*millis).text(), out),
        Value::Binary { bytes, .. } => write_string(&STANDARD.encode(bytes), out),
        Value::Doubles(doubles) => {
            items(*b"[]", doubles, indent, out, |v, _, out| write_number(&Value::Double(*v), out))?;
        }
        Value::Floats(floats) => {
            items(*b"[]", floats, indent, out, |v, _, out| write_number(&Value::Float(*v), out))?;
        }
        Value::List(values) | Value::Set(values) | Value::Array(values) => {
            items(*b"[]", values, indent, out, write)?;
        }
        Value::Map(entries) => {
            let text = |key: &'v Value| key.as_text().map_or_else(|| Cow::Owned(key.text()), Cow::Borrowed);
            write_object(entries.iter().map(|(key, value)| (text(key), value)), indent, out)?;
        }
        Value::Document(fields) => {
            let fields = fields.iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), value));
            write_object(fields, indent, out)?;
        }
        // Gson writes the fields of objects that it has no form for.
        Value::JodaInstant(millis) => {
            write_object([(Cow::Borrowed("iMillis"), &Value::Long(*millis))].into_iter(), indent, out)?;
        }
        Value::JodaDateTime(millis) => {
            let one = |name: &str, value| Value::Document(vec![(name.to_owned(), value)]);
            let chronology = one("iBase", one("iMinDaysInFirstWeek", Value::Int(4)));
            let fields = [("iMillis", &Value::Long(*millis)), ("iChronology", &chronology)];
            write_object(fields.map(|(name, value)| (Cow::Borrowed(name), value)).into_iter(), indent, out)?;
        }
        Value::Chars { .. } | Value::Bytes(_) | Value::Instant(_) | Value::LocalTime(_) => {
            return Err(EvalError::boxed(
                "JsonIOException",
                format!("a {} has no form in JSON: put ToString() before", value.type_name()),
            ));
        }
    }
    Ok(())
}

fn write_object<'v>(
    entries: impl Iterator<Item = (Cow<'v, str>, &'v Value)>,
    indent: Option<usize>,
    out: &mut Vec<u8>,
) -> Eval<()> {
    let entries = entries.filter(|(_, value)| **value != Value::Null);
    items(*b"{}", entries, indent, out, |(key, value), indent, out| {
        write_string(&key, out);
        out.extend_from_slice(if indent.is_some() { b": " } else { b":" });
        write(value, indent, out)
    })
}

/// The medium form of a date and time in the United States, with the narrow blank that Java prints.
fn us_date(millis: i64) -> String {
    let at = Moment::of_date(millis);
    let (month, year) = (short(at.month_name()), at.year_of_era());
    let half = if at.hour < 12 { "AM" } else { "PM" };
    let hour = (at.hour + 11) % 12 + 1;
    format!("{month} {}, {year}, {hour}:{:02}:{:02}\u{202f}{half}", at.day, at.minute, at.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &Value, indent: Option<usize>) -> Option<String> {
        let mut out = Vec::new();
        write(value, indent, &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    #[test]
    fn values_are_written_as_gson_writes_them() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (value, expected) in [
            (Value::Null, Some("null")),
            (Value::Double(1e7), Some("1.0E7")),
            (Value::Double(f64::NAN), None),
            (
                text("a\"\\\n\u{1}<>&='é\u{2028}"),
                Some(r#""a\"\\\n\u0001\u003c\u003e\u0026\u003d\u0027é\u2028""#),
            ),
            (Value::Floats(vec![0.1]), Some("[0.1]")),
            (Value::List(vec![Value::Null, Value::Int(1)]), Some("[null,1]")),
            (Value::Map(vec![(Value::Int(1), text("x")), (text("none"), Value::Null)]), Some(r#"{"1":"x"}"#)),
            (Value::Uuid { high: 0, low: 1 }, Some(r#""00000000-0000-0000-0000-000000000001""#)),
            (Value::Date(43_200_000), Some("\"Jan 1, 1970, 12:00:00\u{202f}PM\"")),
            (Value::Instant(0), None),
            (Value::InetAddress([1, 2, 3, 4]), Some(r#""1.2.3.4""#)),
        ] {
            assert_eq!(json(&value, None).as_deref(), expected, "{value:?}");
        }
    }

    #[test]
    fn pretty_json_has_a_line_an_item_and_empty_brackets_stay_together() {
        let nested = Value::Map(vec![
            (Value::Text("a".to_owned()), Value::List(vec![Value::Int(1), Value::Int(2)])),
            (Value::Text("b".to_owned()), Value::List(vec![])),
        ]);
        assert_eq!(
            json(&nested, Some(0)).as_deref(),
            Some("{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}")
        );
    }
}
