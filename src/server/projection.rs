//! Projections: which fields of a document a `find` gives back.

use super::error::{CommandError, code};
use super::raw::{self, Element, Elements, Value, Writer, kind};

/// A compiled projection.
#[derive(Debug)]
pub struct Projection {
    include: bool,
    /// Whether `_id` is given back.
    id: bool,
    fields: Vec<Node>,
}

/// A field that is named, or fields within it.
#[derive(Debug)]
struct Node {
    name: Vec<u8>,
    /// Empty: the whole field.
    inner: Vec<Node>,
}

impl Projection {
    /// Parses a `projection` document; `{}` is none.
    ///
    /// # Errors
    /// Inclusion and exclusion mixed; expressions and operators, which this server does not have.
    pub fn parse(document: &[u8]) -> Result<Option<Projection>, CommandError> {
        let mut include = None;
        let mut id = None;
        let mut fields = Vec::new();
        for element in raw::elements(document) {
            let name = element.name_str();
            let wanted = wanted(&element)?;
            if name == "_id" {
                id = Some(wanted);
                continue;
            }
            match include {
                Some(true) if !wanted => {
                    return Err(CommandError::new(
                        code::PROJECTION_MIX,
                        format!("Cannot do exclusion on field {name} in inclusion projection"),
                    ));
                }
                Some(false) if wanted => {
                    return Err(CommandError::new(
                        code::PROJECTION_MIX_IN,
                        format!("Cannot do inclusion on field {name} in exclusion projection"),
                    ));
                }
                _ => include = Some(wanted),
            }
            insert(&mut fields, name)?;
        }
        Ok(match (include, id) {
            (None, None) => None,
            (None, Some(id)) => Some(Projection { include: id, id, fields }),
            (Some(include), id) => Some(Projection { include, id: id.unwrap_or(true), fields }),
        })
    }

    /// The document with the fields that are wanted, in its own order.
    pub fn apply(&self, document: &[u8]) -> Vec<u8> {
        raw::document(|out| {
            for element in raw::elements(document) {
                if element.name == b"_id" {
                    if self.id {
                        out.element(&element);
                    }
                } else if self.include {
                    include(&element, &self.fields, out);
                } else {
                    exclude(&element, &self.fields, out);
                }
            }
        })
    }
}

fn wanted(element: &Element<'_>) -> Result<bool, CommandError> {
    let name = element.name_str();
    if name.is_empty() || name.starts_with('$') || name.contains(".$") {
        return Err(CommandError::not_implemented(format_args!("the projection `{name}`")));
    }
    match element.value.kind {
        kind::BOOL | kind::INT32 | kind::INT64 | kind::DOUBLE => {
            Ok(element.value.as_bool().unwrap_or_default())
        }
        _ => Err(CommandError::not_implemented(format_args!(
            "the projection of `{name}` by {} (1 and 0 are)",
            element.value.shown()
        ))),
    }
}

fn insert(fields: &mut Vec<Node>, path: &str) -> Result<(), CommandError> {
    let collision = || {
        CommandError::new(
            code::PATH_COLLISION,
            format!("Path collision at {path}: one path is within another"),
        )
    };
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    if let Some(node) = fields.iter_mut().find(|node| node.name == first.as_bytes()) {
        return match rest {
            Some(rest) if !node.inner.is_empty() => insert(&mut node.inner, rest),
            _ => Err(collision()),
        };
    }
    let mut node = Node { name: first.as_bytes().to_vec(), inner: Vec::new() };
    if let Some(rest) = rest {
        insert(&mut node.inner, rest)?;
    }
    fields.push(node);
    Ok(())
}

fn include(element: &Element<'_>, fields: &[Node], out: &mut Writer<'_>) {
    let Some(node) = fields.iter().find(|node| node.name == element.name) else { return };
    if node.inner.is_empty() {
        out.element(element);
    } else {
        within(element.name_str(), element.value, &node.inner, true, out);
    }
}

fn exclude(element: &Element<'_>, fields: &[Node], out: &mut Writer<'_>) {
    match fields.iter().find(|node| node.name == element.name) {
        None => {
            out.element(element);
        }
        Some(node) if node.inner.is_empty() => {}
        Some(node) => within(element.name_str(), element.value, &node.inner, false, out),
    }
}

/// Projects within a document, or within each document of an array.
fn within(name: &str, value: Value<'_>, fields: &[Node], inclusion: bool, out: &mut Writer<'_>) {
    let each = |elements: Elements<'_>, out: &mut Writer<'_>| {
        for element in elements {
            if inclusion { include(&element, fields, out) } else { exclude(&element, fields, out) }
        }
    };
    match value.kind {
        kind::DOCUMENT => {
            out.document(name, |out| each(value.elements(), out));
        }
        kind::ARRAY => {
            out.array(name, |out| {
                let mut count = 0;
                for item in value.elements() {
                    if matches!(item.value.kind, kind::DOCUMENT | kind::ARRAY) {
                        within(&count.to_string(), item.value, fields, inclusion, out);
                        count += 1;
                    } else if !inclusion {
                        out.value(&count.to_string(), item.value);
                        count += 1;
                    }
                }
            });
        }
        _ if inclusion => {}
        _ => {
            out.value(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Document, doc};

    fn bytes(document: &Document) -> Vec<u8> {
        bson::serialize_to_vec(document).unwrap()
    }

    #[test]
    fn fields_are_kept_or_left_out_in_the_documents_own_order() {
        let document = doc! { "_id": 1, "a": 2, "b": { "c": 3, "d": 4 }, "e": [{ "c": 5, "d": 6 }, 7] };
        for (projection, expected) in [
            (doc! { "b": 1, "a": 1 }, doc! { "_id": 1, "a": 2, "b": { "c": 3, "d": 4 } }),
            (doc! { "a": true, "_id": 0 }, doc! { "a": 2 }),
            (doc! { "_id": 1 }, doc! { "_id": 1 }),
            (doc! { "_id": 0 }, doc! { "a": 2, "b": { "c": 3, "d": 4 }, "e": [{ "c": 5, "d": 6 }, 7] }),
            (doc! { "a": 0, "e": 0 }, doc! { "_id": 1, "b": { "c": 3, "d": 4 } }),
            (doc! { "b.c": 1 }, doc! { "_id": 1, "b": { "c": 3 } }),
            (doc! { "b.c": 1, "b.d": 1, "_id": 0 }, doc! { "b": { "c": 3, "d": 4 } }),
            (doc! { "e.c": 1, "_id": 0 }, doc! { "e": [{ "c": 5 }] }),
            (doc! { "e.c": 0, "_id": 0, "b": 0 }, doc! { "a": 2, "e": [{ "d": 6 }, 7] }),
            (doc! { "none": 1 }, doc! { "_id": 1 }),
        ] {
            let compiled = Projection::parse(&bytes(&projection)).unwrap().unwrap();
            let projected: Document =
                bson::deserialize_from_slice(&compiled.apply(&bytes(&document))).unwrap();
            assert_eq!(projected, expected, "{projection}");
        }
        assert!(Projection::parse(&bytes(&doc! {})).unwrap().is_none());
    }

    #[test]
    fn mixed_and_computed_projections_are_refused() {
        for (projection, code) in [
            (doc! { "a": 1, "b": 0 }, code::PROJECTION_MIX),
            (doc! { "a": 0, "b": 1 }, code::PROJECTION_MIX_IN),
            (doc! { "a": "$b" }, code::NOT_IMPLEMENTED),
            (doc! { "a": { "$slice": 1 } }, code::NOT_IMPLEMENTED),
            (doc! { "a.$": 1 }, code::NOT_IMPLEMENTED),
            (doc! { "a": 1, "a.b": 1 }, code::PATH_COLLISION),
        ] {
            assert_eq!(Projection::parse(&bytes(&projection)).unwrap_err().code, code, "{projection}");
        }
    }
}
