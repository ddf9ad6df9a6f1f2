//! [`Element`] tree → BSON bytes, and the steps that fill its bind points each cycle.
//!
//! Everything that does not depend on the cycle is encoded here, once. A document whose bind points all have a
//! known width keeps its length too; only documents around a value of unknown width are measured per cycle.

use super::element::{Conversion, Element, Part, Quote};
use bson::RawBson;
use bson::raw::{RawDocumentBuf, cstr};
use bson::spec::ElementType;
use std::ops::Range;

/// One step of writing a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Copy these bytes of the encoded command.
    Literal(Range<usize>),
    /// A document or array of unknown length starts here.
    Open,
    /// It ends here.
    Close,
    /// A string.
    Text { parts: Vec<Span>, quote: Option<u8> },
    /// An `int32` of a program that always yields one.
    Int(usize),
    /// A `double` likewise.
    Double(usize),
    /// An `int64` likewise.
    Long(usize),
    /// What the value's text would parse to. The element's type stands `type_back` bytes before its value.
    /// A field without a value is left out, an item of an array is null.
    Bare { slot: usize, type_back: usize, in_array: bool },
    /// The value in its own type.
    Native { slot: usize, type_back: usize, in_array: bool },
    /// What a conversion makes of a text.
    Typed { conversion: Conversion, parts: Vec<Span>, quote: Quote, type_back: usize },
}

/// A part of a string.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Span {
    /// These bytes of the encoded command.
    Literal(Range<usize>),
    Hole(usize),
}

/// A kind that tells how wide a bare or native value will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Int,
    Long,
    Double,
    Unknown,
}

/// An encoded command.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Encoded {
    pub bytes: Vec<u8>,
    pub steps: Vec<Step>,
}

/// Encodes a document without bind points.
pub(super) fn document(pairs: &[(String, Element)]) -> Vec<u8> {
    command(pairs, &|_| Width::Unknown).bytes
}

/// Encodes a command; `width` tells what is known of a slot's values.
pub(super) fn command(pairs: &[(String, Element)], width: &dyn Fn(usize) -> Width) -> Encoded {
    let mut encoder =
        Encoder { encoded: Encoded::default(), literal_from: 0, holes: 0, in_array: false, width };
    encoder.document(pairs.iter().map(|(key, value)| (key.as_str(), value)));
    encoder.flush();
    encoder.encoded
}

struct Encoder<'a> {
    encoded: Encoded,
    /// Bytes from here on are not in a step yet.
    literal_from: usize,
    /// Bytes that bind points of known width will add to those encoded so far.
    holes: usize,
    /// What is encoded are items of an array.
    in_array: bool,
    width: &'a dyn Fn(usize) -> Width,
}

impl Encoder<'_> {
    fn flush(&mut self) {
        let end = self.encoded.bytes.len();
        if self.literal_from < end {
            self.encoded.steps.push(Step::Literal(self.literal_from..end));
            self.literal_from = end;
        }
    }

    fn step(&mut self, step: Step) {
        self.flush();
        self.encoded.steps.push(step);
    }

    /// Whether the encoded size depends on the cycle.
    fn varies(&self, element: &Element) -> bool {
        match element {
            Element::Constant(_) => false,
            Element::Text { parts, .. } => super::element::literal(parts).is_none(),
            Element::Bare(slot) => !matches!((self.width)(*slot), Width::Int | Width::Double),
            Element::Native(slot) => (self.width)(*slot) == Width::Unknown,
            // Wide enough to be rare; measured like the rest.
            Element::Typed { .. } => true,
            Element::Document(pairs) => pairs.iter().any(|(_, value)| self.varies(value)),
            Element::Array(items) => items.iter().any(|item| self.varies(item)),
        }
    }

    fn document<'e>(&mut self, pairs: impl Iterator<Item = (&'e str, &'e Element)> + Clone) {
        if pairs.clone().any(|(_, value)| self.varies(value)) {
            self.step(Step::Open);
            for (key, value) in pairs {
                self.element(key, value);
            }
            self.step(Step::Close);
        } else {
            let at = self.encoded.bytes.len();
            let holes = self.holes;
            self.encoded.bytes.extend([0; 4]);
            for (key, value) in pairs {
                self.element(key, value);
            }
            self.encoded.bytes.push(0);
            let length = self.encoded.bytes.len() - at + self.holes - holes;
            self.encoded.bytes[at..at + 4].copy_from_slice(&(length as u32).to_le_bytes());
        }
    }

    fn nested<'e>(&mut self, pairs: impl Iterator<Item = (&'e str, &'e Element)> + Clone, in_array: bool) {
        let outside = std::mem::replace(&mut self.in_array, in_array);
        self.document(pairs);
        self.in_array = outside;
    }

    fn element(&mut self, key: &str, value: &Element) {
        let type_at = self.encoded.bytes.len();
        self.encoded.bytes.push(0);
        self.encoded.bytes.extend(key.as_bytes());
        self.encoded.bytes.push(0);
        // From the type byte to the value.
        let type_back = key.len() + 2;
        let element_type = match value {
            Element::Constant(value) => write_value(value.clone(), &mut self.encoded.bytes),
            Element::Text { parts, quote } => {
                match super::element::literal(parts) {
                    Some(text) => write_text(text, &mut self.encoded.bytes),
                    None => {
                        let parts = self.spans(parts);
                        self.step(Step::Text { parts, quote: *quote });
                    }
                }
                ElementType::String as u8
            }
            Element::Bare(slot) => match (self.width)(*slot) {
                Width::Int => self.fixed(Step::Int(*slot), 4, ElementType::Int32),
                Width::Double => self.fixed(Step::Double(*slot), 8, ElementType::Double),
                // The text of a long tells how wide it is.
                Width::Long | Width::Unknown => {
                    self.step(Step::Bare { slot: *slot, type_back, in_array: self.in_array });
                    0
                }
            },
            Element::Native(slot) => match (self.width)(*slot) {
                Width::Int => self.fixed(Step::Int(*slot), 4, ElementType::Int32),
                Width::Long => self.fixed(Step::Long(*slot), 8, ElementType::Int64),
                Width::Double => self.fixed(Step::Double(*slot), 8, ElementType::Double),
                Width::Unknown => {
                    self.step(Step::Native { slot: *slot, type_back, in_array: self.in_array });
                    0
                }
            },
            Element::Typed { conversion, parts, quote } => {
                let parts = self.spans(parts);
                self.step(Step::Typed { conversion: *conversion, parts, quote: *quote, type_back });
                0
            }
            Element::Document(pairs) => {
                self.nested(pairs.iter().map(|(key, value)| (key.as_str(), value)), false);
                ElementType::EmbeddedDocument as u8
            }
            Element::Array(items) => {
                let keys: Vec<String> = (0..items.len()).map(|index| index.to_string()).collect();
                self.nested(keys.iter().map(String::as_str).zip(items), true);
                ElementType::Array as u8
            }
        };
        self.encoded.bytes[type_at] = element_type;
    }

    fn fixed(&mut self, step: Step, width: usize, element_type: ElementType) -> u8 {
        self.step(step);
        self.holes += width;
        element_type as u8
    }

    /// The literals of a string with bind points go to the encoded bytes too, outside of any literal step.
    fn spans(&mut self, parts: &[Part]) -> Vec<Span> {
        self.flush();
        let spans = parts
            .iter()
            .map(|part| match part {
                Part::Hole(slot) => Span::Hole(*slot),
                Part::Literal(text) => {
                    let at = self.encoded.bytes.len();
                    self.encoded.bytes.extend(text.as_bytes());
                    Span::Literal(at..at + text.len())
                }
            })
            .collect();
        self.literal_from = self.encoded.bytes.len();
        spans
    }
}

/// Appends a BSON string.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u32 + 1).to_le_bytes());
    out.extend(text.as_bytes());
    out.push(0);
}

/// Appends a value without type and key; gives its type.
pub(super) fn write_value(value: RawBson, out: &mut Vec<u8>) -> u8 {
    let element_type = value.element_type() as u8;
    match value {
        RawBson::Int32(n) => out.extend(n.to_le_bytes()),
        RawBson::Int64(n) => out.extend(n.to_le_bytes()),
        RawBson::Double(d) => out.extend(d.to_le_bytes()),
        RawBson::Boolean(b) => out.push(u8::from(b)),
        RawBson::Null => {}
        RawBson::ObjectId(id) => out.extend(id.bytes()),
        RawBson::DateTime(date) => out.extend(date.timestamp_millis().to_le_bytes()),
        value => {
            // Length, type, empty key, value, end.
            let mut alone = RawDocumentBuf::new();
            alone.append(cstr!(""), value);
            let bytes = alone.as_bytes();
            out.extend(&bytes[6..bytes.len() - 1]);
        }
    }
    element_type
}
