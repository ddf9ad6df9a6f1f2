//! What an update does to a document: `$set`, `$setOnInsert`, `$unset`, `$inc`, `$push`, or a replacement.

use super::compare::equal;
use super::error::{CommandError, code};
use super::filter::{Filter, Test};
use super::path::Path;
use super::raw::{self, Value, kind};
use bson::{Bson, Document, RawDocument, RawDocumentBuf};

/// A compiled update.
#[derive(Debug)]
pub enum Update {
    Replace(Vec<u8>),
    Modify(Vec<Modification>),
}

/// One operator on one path.
#[derive(Debug)]
pub struct Modification {
    path: Path,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Set(Bson),
    SetOnInsert(Bson),
    Unset,
    Inc(Bson),
    Push(Bson),
}

/// Arrays are not padded further than this, as in MongoDB.
const MAX_PADDING: usize = 1_500_000;

impl Update {
    /// Parses the `u` of an update.
    ///
    /// # Errors
    /// Pipelines and operators that this server does not have; two operators on one path.
    pub fn parse(update: Value<'_>) -> Result<Update, CommandError> {
        if update.is_array() {
            return Err(CommandError::not_implemented("an update by an aggregation pipeline"));
        }
        let Some(document) = update.as_document() else {
            return Err(CommandError::new(
                code::FAILED_TO_PARSE,
                "Update argument must be either an object or an array",
            ));
        };
        let operators = raw::elements(document).next().is_some_and(|first| first.name.starts_with(b"$"));
        if !operators {
            if let Some(bad) = raw::elements(document).find(|element| element.name.starts_with(b"$")) {
                return Err(CommandError::new(
                    code::DOLLAR_PREFIXED_FIELD_NAME,
                    format!(
                        "The dollar ($) prefixed field '{}' is not allowed in a replacement",
                        bad.name_str()
                    ),
                ));
            }
            return Ok(Update::Replace(document.to_vec()));
        }
        let mut modifications: Vec<Modification> = Vec::new();
        for operator in raw::elements(document) {
            let name = operator.name_str();
            if !["$set", "$setOnInsert", "$unset", "$inc", "$push"].contains(&name) {
                return Err(CommandError::new(
                    code::FAILED_TO_PARSE,
                    format!(
                        "Unknown modifier: {name}. Expected a valid update modifier (the embedded server has $set, \
                         $setOnInsert, $unset, $inc, $push)"
                    ),
                ));
            }
            let Some(fields) = operator.value.as_document() else {
                return Err(CommandError::new(
                    code::FAILED_TO_PARSE,
                    format!(
                        "Modifiers operate on fields but we found type {} instead",
                        operator.value.type_name()
                    ),
                ));
            };
            for field in raw::elements(fields) {
                let path = checked_path(field.name_str())?;
                if let Some(other) = modifications.iter().find(|other| other.path.overlaps(&path)) {
                    return Err(CommandError::new(
                        code::CONFLICTING_UPDATE_OPERATORS,
                        format!(
                            "Updating the path '{}' would create a conflict at '{}'",
                            path.as_str(),
                            other.path.as_str()
                        ),
                    ));
                }
                let action = match name {
                    "$set" => Action::Set(owned(field.value)?),
                    "$setOnInsert" => Action::SetOnInsert(owned(field.value)?),
                    "$unset" => Action::Unset,
                    "$inc" => Action::Inc(summand(field.name_str(), field.value)?),
                    _ => Action::Push(pushed(field.value)?),
                };
                modifications.push(Modification { path, action });
            }
        }
        modifications.sort_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
        Ok(Update::Modify(modifications))
    }

    /// Whether it has operators: only then it may change several documents.
    pub fn is_modification(&self) -> bool {
        matches!(self, Update::Modify(_))
    }

    /// The document as it is to be; the same bytes if nothing changes.
    ///
    /// # Errors
    /// Paths through values that are no documents; `$inc` of what is no number; another `_id`.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, CommandError> {
        let id = raw::get(document, b"_id");
        let changed = match self {
            Update::Replace(replacement) => with_id(replacement, id)?,
            Update::Modify(modifications) => modify(document, modifications, false)?,
        };
        if let (Some(before), after) = (id, raw::get(&changed, b"_id"))
            && !after.is_some_and(|after| equal(before, after))
        {
            return Err(CommandError::new(
                code::IMMUTABLE_FIELD,
                "Performing an update on the path '_id' would modify the immutable field '_id'",
            ));
        }
        Ok(changed)
    }

    /// The document that an upsert inserts: what the filter says by equality, then the update.
    ///
    /// # Errors
    /// As [`Update::apply`].
    pub fn apply_to_nothing(&self, filter: &Filter) -> Result<Vec<u8>, CommandError> {
        let mut base = Document::new();
        for (path, test) in filter.conjuncts() {
            let value = match test {
                Test::Eq(value) => value,
                Test::In(values) if values.len() == 1 => &values[0],
                _ => continue,
            };
            if matches!(self, Update::Replace(_)) && path.as_str() != "_id" {
                continue;
            }
            let value = owned(value.get())?;
            change(&mut base, path.parts(), true, &mut |_| Ok(Some(value.clone())))?;
        }
        let base = encode(&base)?;
        match self {
            Update::Replace(replacement) => with_id(replacement, raw::get(&base, b"_id")),
            Update::Modify(modifications) => modify(&base, modifications, true),
        }
    }
}

/// A replacement with the `_id` of what it replaces in front; its own must be the same.
fn with_id(replacement: &[u8], id: Option<Value<'_>>) -> Result<Vec<u8>, CommandError> {
    let own = raw::get(replacement, b"_id");
    if let (Some(own), Some(id)) = (own, id)
        && !equal(own, id)
    {
        return Err(CommandError::new(
            code::IMMUTABLE_FIELD,
            "After applying the update, the (immutable) field '_id' was found to have been altered",
        ));
    }
    Ok(raw::document(|w| {
        if let Some(id) = own.or(id) {
            w.value("_id", id);
        }
        raw::elements(replacement).filter(|element| element.name != b"_id").for_each(|element| {
            w.element(&element);
        });
    }))
}

fn checked_path(path: &str) -> Result<Path, CommandError> {
    if path.is_empty() {
        return Err(CommandError::new(code::EMPTY_FIELD_NAME, "An empty update path is not valid."));
    }
    let path = Path::new(path);
    for part in path.parts() {
        if part.is_empty() {
            return Err(CommandError::new(
                code::EMPTY_FIELD_NAME,
                format!(
                    "The update path '{}' contains an empty field name, which is not allowed.",
                    path.as_str()
                ),
            ));
        }
        if part.starts_with(b"$") {
            return Err(match part.as_slice() {
                b"$" => CommandError::not_implemented("the positional operator `$` in an update"),
                [b'$', b'[', ..] => {
                    CommandError::not_implemented("the positional operator `$[]` in an update")
                }
                _ => CommandError::new(
                    code::DOLLAR_PREFIXED_FIELD_NAME,
                    format!("The dollar ($) prefixed field in '{}' is not allowed", path.as_str()),
                ),
            });
        }
    }
    Ok(path)
}

fn owned(value: Value<'_>) -> Result<Bson, CommandError> {
    let holder = raw::document(|w| {
        w.value("v", value);
    });
    decode(&holder)?.remove("v").ok_or_else(|| CommandError::new(code::INTERNAL_ERROR, "a value was lost"))
}

fn summand(path: &str, value: Value<'_>) -> Result<Bson, CommandError> {
    match value.kind {
        kind::INT32 | kind::INT64 | kind::DOUBLE => owned(value),
        kind::DECIMAL128 => Err(CommandError::not_implemented("$inc by a Decimal128")),
        _ => Err(CommandError::new(
            code::TYPE_MISMATCH,
            format!("Cannot increment with non-numeric argument: {{{path}: {}}}", value.shown()),
        )),
    }
}

fn pushed(value: Value<'_>) -> Result<Bson, CommandError> {
    let modifier =
        value.is_document().then(|| value.elements().find(|element| element.name.starts_with(b"$")));
    match modifier.flatten() {
        Some(modifier) => {
            Err(CommandError::not_implemented(format_args!("$push with {}", modifier.name_str())))
        }
        None => owned(value),
    }
}

fn modify(document: &[u8], modifications: &[Modification], inserting: bool) -> Result<Vec<u8>, CommandError> {
    let mut tree = decode(document)?;
    for Modification { path, action } in modifications {
        let create = !matches!(action, Action::Unset);
        if !inserting && matches!(action, Action::SetOnInsert(_)) {
            continue;
        }
        change(&mut tree, path.parts(), create, &mut |current| match action {
            Action::Set(value) | Action::SetOnInsert(value) => Ok(Some(value.clone())),
            Action::Unset => Ok(None),
            Action::Inc(by) => add(path, current, by).map(Some),
            Action::Push(value) => match current {
                None => Ok(Some(Bson::Array(vec![value.clone()]))),
                Some(Bson::Array(mut items)) => {
                    items.push(value.clone());
                    Ok(Some(Bson::Array(items)))
                }
                Some(_) => Err(CommandError::new(
                    code::BAD_VALUE,
                    format!("The field '{}' must be an array for $push", path.as_str()),
                )),
            },
        })?;
    }
    encode(&tree)
}

/// Integers stay integers while they fit: int32, then int64; a double makes a double.
fn add(path: &Path, current: Option<Bson>, by: &Bson) -> Result<Bson, CommandError> {
    let as_double = |number: &Bson| match number {
        Bson::Int32(n) => f64::from(*n),
        Bson::Int64(n) => *n as f64,
        Bson::Double(n) => *n,
        _ => 0.0,
    };
    let as_long = |number: &Bson| match number {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        _ => None,
    };
    match (current, by) {
        (None, by) => Ok(by.clone()),
        (Some(Bson::Int32(a)), Bson::Int32(b)) => {
            Ok(a.checked_add(*b).map_or_else(|| Bson::Int64(i64::from(a) + i64::from(*b)), Bson::Int32))
        }
        (Some(current @ (Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))), by) => {
            match (as_long(&current), as_long(by)) {
                (Some(a), Some(b)) => a.checked_add(b).map(Bson::Int64).ok_or_else(|| {
                    CommandError::new(
                        code::BAD_VALUE,
                        format!(
                            "Failed to apply $inc operations to current value ({a}) of '{}'",
                            path.as_str()
                        ),
                    )
                }),
                _ => Ok(Bson::Double(as_double(&current) + as_double(by))),
            }
        }
        (Some(Bson::Decimal128(_)), _) => Err(CommandError::not_implemented("$inc of a Decimal128")),
        (Some(_), _) => Err(CommandError::new(
            code::TYPE_MISMATCH,
            format!("Cannot apply $inc to a value of non-numeric type: the field '{}'", path.as_str()),
        )),
    }
}

type Changer<'f> = &'f mut dyn FnMut(Option<Bson>) -> Result<Option<Bson>, CommandError>;

/// Puts what `changer` makes of the value at the path in its place; `None` removes it.
fn change(
    document: &mut Document,
    parts: &[Vec<u8>],
    create: bool,
    changer: Changer<'_>,
) -> Result<(), CommandError> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    let name = String::from_utf8_lossy(first);
    if rest.is_empty() {
        match document.get_mut(&*name) {
            Some(slot) => match changer(Some(std::mem::replace(slot, Bson::Null)))? {
                Some(value) => *slot = value,
                None => drop(document.remove(&*name)),
            },
            None => {
                if let Some(value) = changer(None)? {
                    document.insert(&*name, value);
                }
            }
        }
        return Ok(());
    }
    match document.get_mut(&*name) {
        Some(inner) => change_within(inner, &name, rest, create, changer),
        None if create => {
            let mut inner = Document::new();
            change(&mut inner, rest, create, changer)?;
            document.insert(&*name, inner);
            Ok(())
        }
        None => Ok(()),
    }
}

fn change_within(
    value: &mut Bson,
    name: &str,
    rest: &[Vec<u8>],
    create: bool,
    changer: Changer<'_>,
) -> Result<(), CommandError> {
    let next = String::from_utf8_lossy(&rest[0]).into_owned();
    let not_viable = || {
        CommandError::new(
            code::PATH_NOT_VIABLE,
            format!(
                "Cannot create field '{next}' in element '{name}', which is neither document nor array for it"
            ),
        )
    };
    match value {
        Bson::Document(inner) => change(inner, rest, create, changer),
        Bson::Array(items) => {
            let Ok(position) = next.parse::<usize>() else {
                return if create { Err(not_viable()) } else { Ok(()) };
            };
            if position >= items.len() {
                if !create {
                    return Ok(());
                }
                if position - items.len() > MAX_PADDING {
                    return Err(CommandError::new(
                        code::CANNOT_BACKFILL_ARRAY,
                        format!("can't backfill more than {MAX_PADDING} elements of an array"),
                    ));
                }
                items.resize(position, Bson::Null);
                let mut holder = Document::new();
                change(&mut holder, rest, create, changer)?;
                items.extend(holder.remove(&next));
                return Ok(());
            }
            match &rest[1..] {
                [] => {
                    let current = std::mem::replace(&mut items[position], Bson::Null);
                    // An item that is taken away leaves a null, so that the others keep their places.
                    items[position] = changer(Some(current))?.unwrap_or(Bson::Null);
                    Ok(())
                }
                deeper => change_within(&mut items[position], &next, deeper, create, changer),
            }
        }
        _ if create => Err(not_viable()),
        _ => Ok(()),
    }
}

fn decode(document: &[u8]) -> Result<Document, CommandError> {
    RawDocument::from_bytes(document).and_then(Document::try_from).map_err(|error| {
        CommandError::new(code::INTERNAL_ERROR, format!("a stored document is damaged: {error}"))
    })
}

fn encode(document: &Document) -> Result<Vec<u8>, CommandError> {
    RawDocumentBuf::try_from(document)
        .map(RawDocumentBuf::into_bytes)
        .map_err(|error| CommandError::new(code::BAD_VALUE, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn bytes(document: &Document) -> Vec<u8> {
        bson::serialize_to_vec(document).unwrap()
    }

    fn parse(update: &Document) -> Result<Update, CommandError> {
        Update::parse(Value { kind: kind::DOCUMENT, bytes: &bytes(update) })
    }

    fn apply(update: Document, document: Document) -> Result<Document, CommandError> {
        Ok(decode(&parse(&update)?.apply(&bytes(&document))?).unwrap())
    }

    #[test]
    fn operators_change_documents_as_in_mongodb() {
        #[rustfmt::skip]
        let table = [
            (doc! { "$set": { "a": 2, "b": 3 } }, doc! { "_id": 1, "a": 1 }, doc! { "_id": 1, "a": 2, "b": 3 }),
            (doc! { "$set": { "a.b.c": 1 } }, doc! { "_id": 1 }, doc! { "_id": 1, "a": { "b": { "c": 1 } } }),
            (doc! { "$set": { "a.1": 9 } }, doc! { "a": [1, 2, 3] }, doc! { "a": [1, 9, 3] }),
            (doc! { "$set": { "a.3": 9 } }, doc! { "a": [1] }, doc! { "a": [1, null, null, 9] }),
            (doc! { "$set": { "a.0.b": 9 } }, doc! { "a": [{ "b": 1 }] }, doc! { "a": [{ "b": 9 }] }),
            (doc! { "$unset": { "a": "", "none.x": 1 } }, doc! { "a": 1, "b": 2, "c": 3 }, doc! { "b": 2, "c": 3 }),
            (doc! { "$unset": { "a.0": "" } }, doc! { "a": [1, 2] }, doc! { "a": [null, 2] }),
            (doc! { "$inc": { "n": 1 } }, doc! { "n": 1 }, doc! { "n": 2 }),
            (doc! { "$inc": { "n": 1 } }, doc! { "n": i32::MAX }, doc! { "n": i64::from(i32::MAX) + 1 }),
            (doc! { "$inc": { "n": 1i64 } }, doc! { "n": 1 }, doc! { "n": 2i64 }),
            (doc! { "$inc": { "n": 0.5 } }, doc! { "n": 1 }, doc! { "n": 1.5 }),
            (doc! { "$inc": { "n": 5 } }, doc! {}, doc! { "n": 5 }),
            (doc! { "$push": { "a": 3 } }, doc! { "a": [1] }, doc! { "a": [1, 3] }),
            (doc! { "$push": { "a": 3 } }, doc! {}, doc! { "a": [3] }),
            (doc! { "$setOnInsert": { "a": 3 } }, doc! { "b": 1 }, doc! { "b": 1 }),
            (doc! { "x": 1 }, doc! { "_id": 7, "y": 2 }, doc! { "_id": 7, "x": 1 }),
            (doc! { "x": 1, "_id": 7.0 }, doc! { "_id": 7, "y": 2 }, doc! { "_id": 7.0, "x": 1 }),
        ];
        for (update, before, after) in table {
            assert_eq!(apply(update.clone(), before.clone()).unwrap(), after, "{update} on {before}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (update, document, code) in [
            (doc! { "$rename": { "a": "b" } }, doc! {}, code::FAILED_TO_PARSE),
            (doc! { "$set": { "a": 1, "a.b": 1 } }, doc! {}, code::CONFLICTING_UPDATE_OPERATORS),
            (doc! { "$set": { "_id": 2 } }, doc! { "_id": 1 }, code::IMMUTABLE_FIELD),
            (doc! { "_id": 2 }, doc! { "_id": 1 }, code::IMMUTABLE_FIELD),
            (doc! { "$set": { "a.b": 1 } }, doc! { "a": 1 }, code::PATH_NOT_VIABLE),
            (doc! { "$inc": { "a": "x" } }, doc! { "a": 1 }, code::TYPE_MISMATCH),
            (doc! { "$inc": { "a": 1 } }, doc! { "a": "x" }, code::TYPE_MISMATCH),
            (doc! { "$inc": { "a": 1 } }, doc! { "a": i64::MAX }, code::BAD_VALUE),
            (doc! { "$push": { "a": 1 } }, doc! { "a": 1 }, code::BAD_VALUE),
            (doc! { "$push": { "a": { "$each": [1] } } }, doc! {}, code::NOT_IMPLEMENTED),
            (doc! { "$set": { "a.$.b": 1 } }, doc! {}, code::NOT_IMPLEMENTED),
            (doc! { "$set": { "a..b": 1 } }, doc! {}, code::EMPTY_FIELD_NAME),
            (doc! { "a": 1, "$set": { "b": 1 } }, doc! {}, code::DOLLAR_PREFIXED_FIELD_NAME),
        ] {
            assert_eq!(apply(update.clone(), document).unwrap_err().code, code, "{update}");
        }
    }

    #[test]
    fn an_upsert_begins_with_what_the_filter_says() {
        for (filter, update, expected) in [
            (
                doc! { "_id": 1, "a.b": "x", "n": { "$gt": 5 } },
                doc! { "$set": { "c": 2 }, "$setOnInsert": { "d": 3 } },
                doc! { "_id": 1, "a": { "b": "x" }, "c": 2, "d": 3 },
            ),
            (doc! { "_id": { "$eq": 1 }, "a": 2 }, doc! { "c": 2 }, doc! { "_id": 1, "c": 2 }),
        ] {
            let filter = Filter::parse(&bytes(&filter)).unwrap();
            let made = parse(&update).unwrap().apply_to_nothing(&filter).unwrap();
            assert_eq!(decode(&made).unwrap(), expected);
        }
    }
}
