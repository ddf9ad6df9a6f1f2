//! The BSON of a value: what MongoDB's own driver writes for the Java class where it knows it, else the
//! nearest that BSON has.

use super::{BigDecimal, Value, text};
use bson::Decimal128;
use bson::spec::{BinarySubtype, ElementType};

impl Value {
    /// Appends the value without type and key; gives its type, None for [`Value::Unset`] (the field is to be
    /// left out, and nothing is appended). An error, one sentence without a full stop, where BSON cannot hold
    /// the value; `out` may hold a part of it then.
    pub fn write_bson(&self, out: &mut Vec<u8>) -> Result<Option<ElementType>, String> {
        Ok(Some(match self {
            Value::Unset => return Ok(None),
            Value::Null => ElementType::Null,
            Value::Bool(bool) => {
                out.push(u8::from(*bool));
                ElementType::Boolean
            }
            Value::Byte(byte) => write_int(i32::from(*byte), out),
            Value::Short(short) => write_int(i32::from(*short), out),
            Value::Int(int) => write_int(*int, out),
            Value::Long(long) | Value::BigInteger(long) => write_long(*long, out),
            Value::Float(float) => write_double(f64::from(*float), out),
            Value::Double(double) => write_double(*double, out),
            Value::BigDecimal(decimal) => write_decimal(&exact(decimal)?, out),
            Value::Decimal128(decimal) => write_decimal(decimal, out),
            Value::Text(_) | Value::Chars { .. } => {
                write_text(self.as_text().unwrap_or_default().as_bytes(), out)
            }
            Value::InetAddress(bytes) => {
                write_text(std::net::Ipv4Addr::from(*bytes).to_string().as_bytes(), out)
            }
            Value::Uuid { high, low } => {
                let bytes = (u128::from(*high) << 64 | u128::from(*low)).to_be_bytes();
                write_binary(BinarySubtype::Uuid.into(), &bytes, out)
            }
            Value::Bytes(bytes) => write_binary(BinarySubtype::Generic.into(), bytes, out),
            Value::Binary { subtype, bytes } => write_binary(*subtype, bytes, out),
            Value::Date(millis)
            | Value::Instant(millis)
            | Value::JodaInstant(millis)
            | Value::JodaDateTime(millis)
            | Value::LocalTime(millis)
            | Value::DateTime(millis) => {
                out.extend_from_slice(&millis.to_le_bytes());
                ElementType::DateTime
            }
            Value::ObjectId(bytes) => {
                out.extend_from_slice(bytes);
                ElementType::ObjectId
            }
            Value::Doubles(doubles) => {
                write_array(doubles, out, |double, out| Ok(Some(write_double(*double, out))))?
            }
            Value::Floats(floats) => {
                write_array(floats, out, |float, out| Ok(Some(write_double(f64::from(*float), out))))?
            }
            Value::List(values) | Value::Set(values) | Value::Array(values) => {
                write_array(values, out, Value::write_bson)?
            }
            Value::Map(entries) => write_document(entries, out, |key, out| match key.as_text() {
                Some(text) => {
                    out.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                None => {
                    key.write_text(out);
                    Ok(())
                }
            })?,
            Value::Document(fields) => write_document(fields, out, |name, out| {
                out.extend_from_slice(name.as_bytes());
                Ok(())
            })?,
        }))
    }
}

fn write_int(int: i32, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(&int.to_le_bytes());
    ElementType::Int32
}

fn write_long(long: i64, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(&long.to_le_bytes());
    ElementType::Int64
}

fn write_double(double: f64, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(&double.to_le_bytes());
    ElementType::Double
}

fn write_decimal(decimal: &Decimal128, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(&decimal.bytes());
    ElementType::Decimal128
}

/// Begins a string, whose bytes are to be appended next; gives where it starts.
pub fn open_bson_text(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Ends the string that starts there.
pub fn close_bson_text(start: usize, out: &mut Vec<u8>) -> ElementType {
    out.push(0);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    ElementType::String
}

fn write_text(text: &[u8], out: &mut Vec<u8>) -> ElementType {
    let start = open_bson_text(out);
    out.extend_from_slice(text);
    close_bson_text(start, out)
}

fn write_binary(subtype: u8, bytes: &[u8], out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.push(subtype);
    out.extend_from_slice(bytes);
    ElementType::Binary
}

/// An array. What is unset stands as null in it, so that the others keep their places.
fn write_array<T>(
    items: &[T],
    out: &mut Vec<u8>,
    write: impl Fn(&T, &mut Vec<u8>) -> Result<Option<ElementType>, String>,
) -> Result<ElementType, String> {
    let start = open_bson_document(out);
    for (position, item) in items.iter().enumerate() {
        let type_at = out.len();
        out.push(0);
        text::write_long(position as i64, out);
        out.push(0);
        out[type_at] = write(item, out)?.unwrap_or(ElementType::Null) as u8;
    }
    close_bson_document(start, out);
    Ok(ElementType::Array)
}

fn write_document<K>(
    entries: &[(K, Value)],
    out: &mut Vec<u8>,
    write_key: impl Fn(&K, &mut Vec<u8>) -> Result<(), String>,
) -> Result<ElementType, String> {
    let start = open_bson_document(out);
    for (key, value) in entries {
        let type_at = out.len();
        out.push(0);
        write_key(key, out)?;
        if out[type_at + 1..].contains(&0) {
            return Err("the name of a field cannot hold a NUL character".to_owned());
        }
        out.push(0);
        match value.write_bson(out)? {
            Some(element_type) => out[type_at] = element_type as u8,
            None => out.truncate(type_at),
        }
    }
    close_bson_document(start, out);
    Ok(ElementType::EmbeddedDocument)
}

/// Begins a document or an array, whose elements are to be appended next; gives where it starts.
pub fn open_bson_document(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Ends the document or array that starts there.
pub fn close_bson_document(start: usize, out: &mut Vec<u8>) {
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn exact(decimal: &BigDecimal) -> Result<Decimal128, String> {
    let mut text = Vec::new();
    decimal.write_text(&mut text);
    let text = String::from_utf8_lossy(&text);
    text.parse().map_err(|_| format!("{text} has more digits than a Decimal128 can hold"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Bson, bson};
    use std::str::FromStr;

    /// The value as a field, read back by the BSON library; None where the field is left out.
    fn read(value: Value) -> Option<Bson> {
        let mut out = Vec::new();
        let document = Value::Document(vec![("v".to_owned(), value)]);
        let element_type = document.write_bson(&mut out).expect("it can be written");
        assert_eq!(element_type, Some(ElementType::EmbeddedDocument));
        let read = bson::Document::from_reader(out.as_slice()).expect("it is BSON");
        read.get("v").cloned()
    }

    #[test]
    fn each_kind_has_its_bson_type() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().expect("a decimal"));
        let date = |millis| Bson::DateTime(bson::DateTime::from_millis(millis));
        let binary = |subtype, bytes| Bson::Binary(bson::Binary { subtype, bytes });
        let big = |text: &str| Box::new(BigDecimal::from_str(text).expect("a decimal"));
        let text = |text: &str| Value::Text(text.to_owned());
        for (value, expected) in [
            (Value::Null, Some(Bson::Null)),
            (Value::Bool(true), Some(bson!(true))),
            (Value::Byte(-1), Some(bson!(-1))),
            (Value::Short(7), Some(bson!(7))),
            (Value::Int(7), Some(bson!(7))),
            (Value::Long(7), Some(bson!(7i64))),
            (Value::Float(0.5), Some(bson!(0.5))),
            (Value::Double(0.5), Some(bson!(0.5))),
            (Value::BigInteger(5), Some(bson!(5i64))),
            (Value::BigDecimal(big("1.50")), Some(decimal("1.50"))),
            (text("é"), Some(bson!("é"))),
            (Value::Uuid { high: 1, low: 2 }, {
                let mut bytes = vec![0; 16];
                (bytes[7], bytes[15]) = (1, 2);
                Some(binary(BinarySubtype::Uuid, bytes))
            }),
            (Value::Date(5), Some(date(5))),
            (Value::Instant(-5), Some(date(-5))),
            (Value::JodaDateTime(5), Some(date(5))),
            (Value::LocalTime(5), Some(date(5))),
            (Value::DateTime(i64::MIN), Some(date(i64::MIN))),
            (Value::InetAddress([1, 2, 3, 4]), Some(bson!("1.2.3.4"))),
            (Value::Bytes(vec![1].into()), Some(binary(BinarySubtype::Generic, vec![1]))),
            (
                Value::Binary { subtype: 9, bytes: vec![0x27, 0] },
                Some(binary(BinarySubtype::Vector, vec![0x27, 0])),
            ),
            (Value::Doubles(vec![0.5]), Some(bson!([0.5]))),
            (Value::Floats(vec![0.5]), Some(bson!([0.5]))),
            (Value::List(vec![Value::Int(1), Value::Unset, text("x")]), Some(bson!([1, null, "x"]))),
            (
                Value::Map(vec![(Value::Long(1), Value::Int(2)), (text("a"), Value::Unset)]),
                Some(bson!({ "1": 2 })),
            ),
            (Value::Unset, None),
            (Value::ObjectId([7; 12]), Some(Bson::ObjectId(bson::oid::ObjectId::from_bytes([7; 12])))),
        ] {
            assert_eq!(read(value.clone()), expected, "{value:?}");
        }
    }

    #[test]
    fn what_bson_cannot_hold_is_an_error() {
        let long = BigDecimal::exact(0.1).expect("finite");
        for value in [
            Value::BigDecimal(Box::new(long)),
            Value::Map(vec![(Value::Text("a\0b".to_owned()), Value::Null)]),
        ] {
            assert!(value.write_bson(&mut Vec::new()).is_err(), "{value:?}");
        }
    }
}
