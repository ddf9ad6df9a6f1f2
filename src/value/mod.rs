//! The values that recipes produce: the kinds of the reference's Java types, and of BSON beside them, that
//! MongoDB or a text form can tell apart; their text as Java prints and reads it, their BSON, and Java's order
//! of hash maps.

mod bson;
mod byte_buffer;
pub mod calendar;
mod decimal;
mod java_map;
mod text;

pub use bson::{close_bson_document, close_bson_text, open_bson_document, open_bson_text};
pub use byte_buffer::ByteBuffer;
pub use decimal::{BigDecimal, Rounding};
pub use java_map::{JavaHashMap, JavaKey};
pub use text::{parse_double, parse_int, parse_long, write_double, write_float, write_long};

use std::sync::Arc;

/// One value. `Int` and `Long` (and `Float` and `Double`) stay apart: BSON int32 is not int64.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    /// No function yields one beyond 64 bits.
    BigInteger(i64),
    BigDecimal(Box<BigDecimal>),
    Text(String),
    /// A slice of a shared text (Java's `CharBuffer`): bytes `start..end` of `image`.
    Chars {
        image: Arc<str>,
        start: usize,
        end: usize,
    },
    Uuid {
        high: u64,
        low: u64,
    },
    /// `java.util.Date`: milliseconds since 1970, as all times here.
    Date(i64),
    /// `java.time.Instant`.
    Instant(i64),
    /// `org.joda.time.Instant`.
    JodaInstant(i64),
    /// `org.joda.time.DateTime` in UTC.
    JodaDateTime(i64),
    /// `java.time.LocalTime`: milliseconds of the day.
    LocalTime(i64),
    /// `java.net.Inet4Address`.
    InetAddress([u8; 4]),
    Bytes(ByteBuffer),
    /// `double[]`.
    Doubles(Vec<f64>),
    /// `float[]`.
    Floats(Vec<f32>),
    List(Vec<Value>),
    /// In the order in which Java's `HashSet` gives its elements.
    Set(Vec<Value>),
    /// In the order in which Java's `HashMap` gives its entries.
    Map(Vec<(Value, Value)>),
    /// `Object[]`.
    Array(Vec<Value>),
    /// The mark of a field that is to be left out.
    Unset,
    // What the reference has not: values that BSON knows.
    ObjectId([u8; 12]),
    Decimal128(::bson::Decimal128),
    Document(Vec<(String, Value)>),
    /// A BSON date: milliseconds since 1970.
    DateTime(i64),
    Binary {
        subtype: u8,
        bytes: Vec<u8>,
    },
}

impl Value {
    /// The Java simple class name: `Long`, `Integer`, `String`, `CharBuffer`, …; `null` for Null. For BSON's
    /// own values, that of its Java library.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "Boolean",
            Value::Byte(_) => "Byte",
            Value::Short(_) => "Short",
            Value::Int(_) => "Integer",
            Value::Long(_) => "Long",
            Value::Float(_) => "Float",
            Value::Double(_) => "Double",
            Value::BigInteger(_) => "BigInteger",
            Value::BigDecimal(_) => "BigDecimal",
            Value::Text(_) => "String",
            Value::Chars { .. } => "CharBuffer",
            Value::Uuid { .. } => "UUID",
            Value::Date(_) => "Date",
            Value::Instant(_) | Value::JodaInstant(_) => "Instant",
            Value::JodaDateTime(_) => "DateTime",
            Value::LocalTime(_) => "LocalTime",
            Value::InetAddress(_) => "Inet4Address",
            Value::Bytes(_) => "ByteBuffer",
            Value::Doubles(_) => "double[]",
            Value::Floats(_) => "float[]",
            Value::List(_) => "List",
            Value::Set(_) => "Set",
            Value::Map(_) => "Map",
            Value::Array(_) => "Object[]",
            Value::Unset => "VALUE",
            Value::ObjectId(_) => "ObjectId",
            Value::Decimal128(_) => "Decimal128",
            Value::Document(_) => "Document",
            Value::DateTime(_) => "BsonDateTime",
            Value::Binary { .. } => "Binary",
        }
    }

    /// One of BSON's own values, which the reference has not.
    pub fn is_of_bson(&self) -> bool {
        matches!(
            self,
            Value::ObjectId(_)
                | Value::Decimal128(_)
                | Value::Document(_)
                | Value::DateTime(_)
                | Value::Binary { .. }
        )
    }

    /// The text itself, where the value is one (Java String or CharBuffer).
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Chars { image, start, end } => Some(image.get(*start..*end).unwrap_or_default()),
            _ => None,
        }
    }

    /// Appends `String.valueOf` of this value, in UTF-8. Arrays, whose text in Java is an address, are written
    /// as lists are, and so are BSON's own values that have no text of their own.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Byte(byte) => write_long(i64::from(*byte), out),
            Value::Short(short) => write_long(i64::from(*short), out),
            Value::Int(int) => write_long(i64::from(*int), out),
            Value::Long(long) => write_long(*long, out),
            Value::Float(float) => write_float(*float, out),
            Value::Double(double) => write_double(*double, out),
            Value::BigInteger(integer) => write_long(*integer, out),
            Value::BigDecimal(decimal) => decimal.write_text(out),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Chars { .. } => out.extend_from_slice(self.as_text().unwrap_or_default().as_bytes()),
            Value::Uuid { high, low } => text::write_uuid(*high, *low, out),
            Value::Date(millis) => calendar::write_date(*millis, out),
            Value::Instant(millis) => calendar::write_instant(*millis, out),
            Value::JodaInstant(millis) | Value::JodaDateTime(millis) | Value::DateTime(millis) => {
                calendar::write_joda(*millis, out);
            }
            Value::LocalTime(millis) => calendar::write_local_time(*millis, out),
            Value::InetAddress(bytes) => {
                for (position, byte) in bytes.iter().enumerate() {
                    out.push(if position == 0 { b'/' } else { b'.' });
                    write_long(i64::from(*byte), out);
                }
            }
            Value::Bytes(bytes) => out.extend_from_slice(
                format!("java.nio.HeapByteBuffer[pos=0 lim={} cap={}]", bytes.len(), bytes.array().len())
                    .as_bytes(),
            ),
            Value::Doubles(doubles) => write_list(doubles, out, |double, out| write_double(*double, out)),
            Value::Floats(floats) => write_list(floats, out, |float, out| write_float(*float, out)),
            Value::List(values) | Value::Set(values) | Value::Array(values) => {
                write_list(values, out, Value::write_text);
            }
            Value::Map(entries) => write_entries(entries, out, Value::write_text),
            Value::Document(fields) => {
                write_entries(fields, out, |name, out| out.extend_from_slice(name.as_bytes()));
            }
            Value::Unset => out.extend_from_slice(b"unset"),
            Value::ObjectId(bytes) => text::write_hex(bytes, out),
            Value::Decimal128(decimal) => out.extend_from_slice(decimal.to_string().as_bytes()),
            Value::Binary { bytes, .. } => text::write_hex(bytes, out),
        }
    }

    /// The text of this value.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        self.write_text(&mut out);
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// `[a, b]`.
fn write_list<T>(items: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.extend_from_slice(b", ");
        }
        write(item, out);
    }
    out.push(b']');
}

/// `{k=v, k=v}`.
fn write_entries<K>(entries: &[(K, Value)], out: &mut Vec<u8>, write_key: impl Fn(&K, &mut Vec<u8>)) {
    out.push(b'{');
    for (position, (key, value)) in entries.iter().enumerate() {
        if position > 0 {
            out.extend_from_slice(b", ");
        }
        write_key(key, out);
        out.push(b'=');
        value.write_text(out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_java_name_and_text() {
        let image: Arc<str> = "aéz".into();
        let day = Value::Date(1_000);
        for (value, name, text) in [
            (Value::Null, "null", "null"),
            (Value::Bool(true), "Boolean", "true"),
            (Value::Byte(-128), "Byte", "-128"),
            (Value::Short(i16::MAX), "Short", "32767"),
            (Value::Int(i32::MIN), "Integer", "-2147483648"),
            (Value::Long(i64::MIN), "Long", "-9223372036854775808"),
            (Value::Float(0.1), "Float", "0.1"),
            (Value::Double(1e7), "Double", "1.0E7"),
            (Value::BigInteger(i64::MAX), "BigInteger", "9223372036854775807"),
            (Value::Text("x".to_owned()), "String", "x"),
            (Value::Chars { image, start: 1, end: 3 }, "CharBuffer", "é"),
            (
                Value::Uuid { high: 0x5752_fae6_9d16_43da, low: 0xb20f_557a_1dd5_c571 },
                "UUID",
                "5752fae6-9d16-43da-b20f-557a1dd5c571",
            ),
            (day.clone(), "Date", "Thu Jan 01 00:00:01 UTC 1970"),
            (Value::Instant(1), "Instant", "1970-01-01T00:00:00.001Z"),
            (Value::JodaInstant(0), "Instant", "1970-01-01T00:00:00.000Z"),
            (Value::JodaDateTime(0), "DateTime", "1970-01-01T00:00:00.000Z"),
            (Value::LocalTime(1_000), "LocalTime", "00:00:01"),
            (Value::InetAddress([10, 0, 0, 255]), "Inet4Address", "/10.0.0.255"),
            (Value::Bytes(vec![0; 8].into()), "ByteBuffer", "java.nio.HeapByteBuffer[pos=0 lim=8 cap=8]"),
            (Value::Doubles(vec![1.0, 0.5]), "double[]", "[1.0, 0.5]"),
            (Value::Floats(vec![0.1]), "float[]", "[0.1]"),
            (Value::List(vec![Value::Int(1), Value::Null]), "List", "[1, null]"),
            (Value::Set(vec![]), "Set", "[]"),
            (Value::Map(vec![(Value::Int(1), day)]), "Map", "{1=Thu Jan 01 00:00:01 UTC 1970}"),
            (Value::Array(vec![Value::Bool(false)]), "Object[]", "[false]"),
            (Value::Unset, "VALUE", "unset"),
            (Value::ObjectId([0xab; 12]), "ObjectId", "abababababababababababab"),
            (Value::Document(vec![("a".to_owned(), Value::Long(1))]), "Document", "{a=1}"),
            (Value::DateTime(-1), "BsonDateTime", "1969-12-31T23:59:59.999Z"),
            (Value::Binary { subtype: 0, bytes: vec![1, 0xff] }, "Binary", "01ff"),
        ] {
            assert_eq!((value.type_name(), value.text().as_str()), (name, text));
        }
    }
}
