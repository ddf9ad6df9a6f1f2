//! Dotted field paths (`a.b.0`) through documents and arrays, as queries and indexes follow them.

use super::raw::{self, Elements, NULL, Value};

/// A field path, split at its dots once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    parts: Vec<Vec<u8>>,
}

impl Path {
    pub fn new(text: &str) -> Path {
        Path { text: text.to_owned(), parts: text.split('.').map(|part| part.as_bytes().to_vec()).collect() }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn parts(&self) -> &[Vec<u8>] {
        &self.parts
    }

    /// Calls `test` with every value that a query on this path looks at (the value itself, the items of an
    /// array, what is behind documents in arrays; `None` where the field is missing) until one says yes.
    pub fn any(&self, document: &[u8], test: &mut dyn FnMut(Option<Value<'_>>) -> bool) -> bool {
        any(raw::elements(document), &self.parts, test)
    }

    /// The value at the end of the path through documents only; arrays end it.
    pub fn plain<'d>(&self, document: &'d [u8]) -> Option<Value<'d>> {
        let (last, front) = self.parts.split_last()?;
        let mut document = document;
        for part in front {
            document = raw::get(document, part)?.as_document()?;
        }
        raw::get(document, last)
    }

    /// The values that an index on this path has for the document, and whether an array is among them.
    pub fn indexed<'d>(&self, document: &'d [u8]) -> (Vec<Value<'d>>, bool) {
        let mut found = Vec::with_capacity(1);
        let mut array = false;
        indexed(document, &self.parts, &mut found, &mut array);
        (found, array)
    }

    /// Whether one of the two names a part of the other: `a` and `a.b` do.
    pub fn overlaps(&self, other: &Path) -> bool {
        self.parts.iter().zip(&other.parts).all(|(a, b)| a == b)
    }
}

fn any(
    mut elements: Elements<'_>,
    parts: &[Vec<u8>],
    test: &mut dyn FnMut(Option<Value<'_>>) -> bool,
) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    let Some(value) = elements.find(|element| element.name == *first).map(|element| element.value) else {
        return test(None);
    };
    any_at(value, rest, test)
}

/// `rest` is what of the path comes after `value`.
fn any_at(value: Value<'_>, rest: &[Vec<u8>], test: &mut dyn FnMut(Option<Value<'_>>) -> bool) -> bool {
    let Some(next) = rest.first() else {
        return test(Some(value))
            || (value.is_array() && value.elements().any(|item| test(Some(item.value))));
    };
    if value.is_document() {
        return any(value.elements(), rest, test);
    }
    if !value.is_array() {
        return test(None);
    }
    if next.iter().all(u8::is_ascii_digit)
        && let Some(item) = value.elements().find(|item| item.name == *next)
        && any_at(item.value, &rest[1..], test)
    {
        return true;
    }
    value.elements().any(|item| item.value.is_document() && any(item.value.elements(), rest, test))
}

fn indexed<'d>(document: &'d [u8], parts: &[Vec<u8>], found: &mut Vec<Value<'d>>, array: &mut bool) {
    let Some((first, rest)) = parts.split_first() else { return };
    let Some(value) = raw::get(document, first) else { return found.push(NULL) };
    if value.is_array() {
        *array = true;
        let before = found.len();
        for item in value.elements() {
            match item.value {
                item if rest.is_empty() => found.push(item),
                item if item.is_document() => indexed(item.bytes, rest, found, array),
                _ => found.push(NULL),
            }
        }
        if found.len() == before {
            found.push(NULL);
        }
    } else if rest.is_empty() {
        found.push(value);
    } else if value.is_document() {
        indexed(value.bytes, rest, found, array);
    } else {
        found.push(NULL);
    }
}
