//! Query filters: parsed once into a tree, then asked of raw documents.

use super::compare::{compare, equal};
use super::error::{CommandError, code};
use super::key::tag;
use super::path::Path;
use super::raw::{self, Value, kind};
use std::cmp::Ordering;

/// A value that outlives the message it came in.
#[derive(Debug, Clone)]
pub struct Owned {
    kind: u8,
    bytes: Box<[u8]>,
}

impl Owned {
    pub fn get(&self) -> Value<'_> {
        Value { kind: self.kind, bytes: &self.bytes }
    }
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Self {
        Owned { kind: value.kind, bytes: value.bytes.into() }
    }
}

/// What a document must satisfy.
#[derive(Debug, Clone)]
pub enum Filter {
    /// `$and`, and the fields of one filter document; empty: every document.
    And(Vec<Filter>),
    /// `$or`
    Or(Vec<Filter>),
    /// `$nor`
    Nor(Vec<Filter>),
    Field(Path, Test),
}

/// What a field must satisfy.
#[derive(Debug, Clone)]
pub enum Test {
    Eq(Owned),
    Ne(Owned),
    Gt(Owned),
    Gte(Owned),
    Lt(Owned),
    Lte(Owned),
    In(Vec<Owned>),
    Nin(Vec<Owned>),
    Exists(bool),
    /// `$not`: not all of these hold.
    Not(Vec<Test>),
}

/// How deep `$and`, `$or`, `$nor` and `$not` may be nested.
const MAX_DEPTH: usize = 100;

const KNOWN: &str = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $not, $and, $or, $nor";

impl Filter {
    /// Parses a checked filter document.
    ///
    /// # Errors
    /// Operators that this server does not have, with MongoDB's code for unknown ones; malformed operands.
    pub fn parse(document: &[u8]) -> Result<Filter, CommandError> {
        parse_document(document, 0)
    }

    /// The filter of every document.
    pub fn everything() -> Filter {
        Filter::And(Vec::new())
    }

    pub fn is_everything(&self) -> bool {
        matches!(self, Filter::And(parts) if parts.is_empty())
    }

    /// Whether a checked document passes.
    pub fn matches(&self, document: &[u8]) -> bool {
        match self {
            Filter::And(parts) => parts.iter().all(|part| part.matches(document)),
            Filter::Or(parts) => parts.iter().any(|part| part.matches(document)),
            Filter::Nor(parts) => !parts.iter().any(|part| part.matches(document)),
            Filter::Field(path, test) => test.matches(path, document),
        }
    }

    /// The field tests that all must hold, whatever else must.
    pub fn conjuncts(&self) -> Vec<(&Path, &Test)> {
        let mut found = Vec::new();
        self.collect_conjuncts(&mut found);
        found
    }

    fn collect_conjuncts<'f>(&'f self, found: &mut Vec<(&'f Path, &'f Test)>) {
        match self {
            Filter::And(parts) => parts.iter().for_each(|part| part.collect_conjuncts(found)),
            Filter::Field(path, test) => found.push((path, test)),
            Filter::Or(parts) if parts.len() == 1 => parts[0].collect_conjuncts(found),
            Filter::Or(_) | Filter::Nor(_) => {}
        }
    }
}

impl Test {
    fn matches(&self, path: &Path, document: &[u8]) -> bool {
        match self {
            Test::Ne(value) => !path.any(document, &mut |found| is_equal(found, value.get())),
            Test::Nin(values) => {
                !path.any(document, &mut |found| values.iter().any(|value| is_equal(found, value.get())))
            }
            Test::Exists(wanted) => path.any(document, &mut |found| found.is_some()) == *wanted,
            Test::Not(tests) => !tests.iter().all(|test| test.matches(path, document)),
            Test::Eq(value) => path.any(document, &mut |found| is_equal(found, value.get())),
            Test::In(values) => {
                path.any(document, &mut |found| values.iter().any(|value| is_equal(found, value.get())))
            }
            Test::Gt(value) => path.any(document, &mut |found| order(found, value.get(), Ordering::is_gt)),
            Test::Gte(value) => path.any(document, &mut |found| order(found, value.get(), Ordering::is_ge)),
            Test::Lt(value) => path.any(document, &mut |found| order(found, value.get(), Ordering::is_lt)),
            Test::Lte(value) => path.any(document, &mut |found| order(found, value.get(), Ordering::is_le)),
        }
    }
}

fn is_equal(found: Option<Value<'_>>, wanted: Value<'_>) -> bool {
    match found {
        None => wanted.is_null(),
        Some(found) => equal(found, wanted),
    }
}

/// Comparisons look at values of the operand's type only, and NaN is not in any order.
fn order(found: Option<Value<'_>>, wanted: Value<'_>, holds: fn(Ordering) -> bool) -> bool {
    let Some(found) = found else { return wanted.is_null() && holds(Ordering::Equal) };
    let any_type = matches!(wanted.kind, kind::MIN_KEY | kind::MAX_KEY);
    if !any_type && tag(found.kind) != tag(wanted.kind) {
        return false;
    }
    if found.is_nan() || wanted.is_nan() {
        return found.is_nan() && wanted.is_nan() && holds(Ordering::Equal);
    }
    holds(compare(found, wanted))
}

fn parse_document(document: &[u8], depth: usize) -> Result<Filter, CommandError> {
    if depth > MAX_DEPTH {
        return Err(CommandError::new(code::BAD_VALUE, "filter is nested too deeply"));
    }
    let mut parts = Vec::new();
    for element in raw::elements(document) {
        let name = element.name_str();
        match name {
            "$and" => parts.push(Filter::And(parse_list(name, element.value, depth)?)),
            "$or" => parts.push(Filter::Or(parse_list(name, element.value, depth)?)),
            "$nor" => parts.push(Filter::Nor(parse_list(name, element.value, depth)?)),
            // Has no effect by definition.
            "$comment" => {}
            _ if name.starts_with('$') => {
                return Err(CommandError::new(
                    code::BAD_VALUE,
                    format!(
                        "unknown top level operator: {name}. If you have a field name that starts with a '$' \
                         symbol, consider using $getField or $setField. (The embedded server knows {KNOWN}.)"
                    ),
                ));
            }
            _ => parse_field(name, element.value, depth, &mut parts)?,
        }
    }
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Ok(Filter::And(parts)),
    }
}

fn parse_list(name: &str, value: Value<'_>, depth: usize) -> Result<Vec<Filter>, CommandError> {
    let bad = |what: &str| CommandError::new(code::BAD_VALUE, format!("{name} {what}"));
    let array = value.as_array().ok_or_else(|| bad("must be an array"))?;
    let parts = raw::elements(array)
        .map(|item| match item.value.as_document() {
            Some(document) => parse_document(document, depth + 1),
            None => Err(bad("argument's entries must be objects")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() { Err(bad("argument must be a non-empty array")) } else { Ok(parts) }
}

fn is_operators(value: Value<'_>) -> bool {
    value.is_document() && value.elements().next().is_some_and(|element| element.name.starts_with(b"$"))
}

fn parse_field(
    name: &str,
    value: Value<'_>,
    depth: usize,
    parts: &mut Vec<Filter>,
) -> Result<(), CommandError> {
    let path = Path::new(name);
    if !is_operators(value) {
        refuse_pattern(value)?;
        parts.push(Filter::Field(path, Test::Eq(value.into())));
        return Ok(());
    }
    for test in parse_tests(value, depth)? {
        parts.push(Filter::Field(path.clone(), test));
    }
    Ok(())
}

fn parse_tests(operators: Value<'_>, depth: usize) -> Result<Vec<Test>, CommandError> {
    if depth > MAX_DEPTH {
        return Err(CommandError::new(code::BAD_VALUE, "filter is nested too deeply"));
    }
    let mut tests = Vec::new();
    for operator in operators.elements() {
        let (name, value) = (operator.name_str(), operator.value);
        tests.push(match name {
            "$eq" => Test::Eq(value.into()),
            "$ne" => Test::Ne(ordered(name, value)?),
            "$gt" => Test::Gt(ordered(name, value)?),
            "$gte" => Test::Gte(ordered(name, value)?),
            "$lt" => Test::Lt(ordered(name, value)?),
            "$lte" => Test::Lte(ordered(name, value)?),
            "$in" => Test::In(values(name, value)?),
            "$nin" => Test::Nin(values(name, value)?),
            "$exists" => Test::Exists(value.as_bool().unwrap_or(!value.is_null())),
            "$not" if is_operators(value) => Test::Not(parse_tests(value, depth + 1)?),
            "$not" => {
                refuse_pattern(value)?;
                return Err(CommandError::new(code::BAD_VALUE, "$not needs a regex or a document"));
            }
            _ if !name.starts_with('$') => {
                return Err(CommandError::new(
                    code::BAD_VALUE,
                    format!("expected an operator among {KNOWN}, found the field '{name}'"),
                ));
            }
            _ => {
                return Err(CommandError::new(
                    code::BAD_VALUE,
                    format!("unknown operator: {name} (the embedded server knows {KNOWN})"),
                ));
            }
        });
    }
    Ok(tests)
}

fn ordered(name: &str, value: Value<'_>) -> Result<Owned, CommandError> {
    if value.kind == kind::REGEX {
        return Err(CommandError::new(code::BAD_VALUE, format!("Can't have RegEx as arg to {name}.")));
    }
    Ok(value.into())
}

fn values(name: &str, value: Value<'_>) -> Result<Vec<Owned>, CommandError> {
    let array = value
        .as_array()
        .ok_or_else(|| CommandError::new(code::BAD_VALUE, format!("{name} needs an array")))?;
    raw::elements(array)
        .map(|item| {
            refuse_pattern(item.value)?;
            if is_operators(item.value) {
                return Err(CommandError::new(code::BAD_VALUE, format!("cannot nest $ under {name}")));
            }
            Ok(item.value.into())
        })
        .collect()
}

/// A regular expression in a filter is a pattern to match, not a value to be equal to.
fn refuse_pattern(value: Value<'_>) -> Result<(), CommandError> {
    if value.kind == kind::REGEX {
        return Err(CommandError::not_implemented("matching a regular expression"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Bson, Document, doc};

    fn bytes(document: Document) -> Vec<u8> {
        bson::serialize_to_vec(&document).unwrap()
    }

    fn matches(filter: Document, document: Document) -> bool {
        Filter::parse(&bytes(filter)).unwrap().matches(&bytes(document))
    }

    #[test]
    fn filters_select_as_in_mongodb() {
        let nan = f64::NAN;
        #[rustfmt::skip]
        let table: Vec<(Document, Document, bool)> = vec![
            (doc! {}, doc! { "a": 1 }, true),
            (doc! { "a": 1 }, doc! { "a": 1.0 }, true),
            (doc! { "a": 1 }, doc! { "a": "1" }, false),
            (doc! { "a": { "$eq": "x" } }, doc! { "a": "x" }, true),
            (doc! { "a": 1 }, doc! { "a": [3, 1] }, true),
            (doc! { "a": [3, 1] }, doc! { "a": [3, 1] }, true),
            (doc! { "a": [3] }, doc! { "a": [3, 1] }, false),
            (doc! { "a.b": 1 }, doc! { "a": { "b": 1 } }, true),
            (doc! { "a.b": 1 }, doc! { "a": [{ "b": 2 }, { "b": 1 }] }, true),
            (doc! { "a.1": 7 }, doc! { "a": [0, 7] }, true),
            (doc! { "a.1.b": 7 }, doc! { "a": [0, { "b": 7 }] }, true),
            (doc! { "a": { "b": 1 } }, doc! { "a": { "b": 1 } }, true),
            (doc! { "a": { "b": 1 } }, doc! { "a": { "b": 1, "c": 2 } }, false),
            (doc! { "a": null }, doc! {}, true),
            (doc! { "a": null }, doc! { "a": null }, true),
            (doc! { "a": null }, doc! { "a": 0 }, false),
            (doc! { "a.b": null }, doc! { "a": 5 }, true),
            (doc! { "a": { "$ne": 1 } }, doc! { "a": 2 }, true),
            (doc! { "a": { "$ne": 1 } }, doc! {}, true),
            (doc! { "a": { "$ne": 1 } }, doc! { "a": [1, 2] }, false),
            (doc! { "a": { "$gt": 1, "$lte": 3 } }, doc! { "a": 3 }, true),
            (doc! { "a": { "$gt": 1, "$lt": 3 } }, doc! { "a": 3 }, false),
            (doc! { "a": { "$gt": 3, "$lt": 5 } }, doc! { "a": [1, 10] }, true),
            (doc! { "a": { "$gt": 1 } }, doc! { "a": "z" }, false),
            (doc! { "a": { "$lt": 5 } }, doc! { "a": nan }, false),
            (doc! { "a": { "$gte": nan } }, doc! { "a": nan }, true),
            (doc! { "a": { "$gte": null } }, doc! {}, true),
            (doc! { "a": { "$gt": Bson::MinKey } }, doc! { "a": "z" }, true),
            (doc! { "a": { "$in": [1, "x", null] } }, doc! { "a": "x" }, true),
            (doc! { "a": { "$in": [1, null] } }, doc! {}, true),
            (doc! { "a": { "$in": [] } }, doc! { "a": 1 }, false),
            (doc! { "a": { "$nin": [1, 2] } }, doc! { "a": 3 }, true),
            (doc! { "a": { "$nin": [1, 2] } }, doc! { "a": [5, 2] }, false),
            (doc! { "a": { "$exists": true } }, doc! { "a": null }, true),
            (doc! { "a": { "$exists": false } }, doc! { "a": null }, false),
            (doc! { "a": { "$exists": 0 } }, doc! {}, true),
            (doc! { "a": { "$not": { "$gt": 1, "$lt": 3 } } }, doc! { "a": 2 }, false),
            (doc! { "a": { "$not": { "$gt": 1, "$lt": 3 } } }, doc! { "a": 3 }, true),
            (doc! { "$or": [{ "a": 1 }, { "b": 2 }] }, doc! { "b": 2 }, true),
            (doc! { "$and": [{ "a": 1 }, { "b": 2 }] }, doc! { "a": 1, "b": 2 }, true),
            (doc! { "$nor": [{ "a": 1 }, { "b": 2 }] }, doc! { "a": 2 }, true),
            (doc! { "a": 1, "b": 2, "$comment": "c" }, doc! { "a": 1, "b": 3 }, false),
            (doc! { "a": Bson::DateTime(bson::DateTime::from_millis(1)) },
             doc! { "a": Bson::DateTime(bson::DateTime::from_millis(1)) }, true),
        ];
        for (filter, document, expected) in table {
            assert_eq!(matches(filter.clone(), document.clone()), expected, "{filter} on {document}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (filter, code, part) in [
            (doc! { "a": { "$size": 1 } }, code::BAD_VALUE, "unknown operator: $size"),
            (doc! { "$where": "1" }, code::BAD_VALUE, "unknown top level operator: $where"),
            (doc! { "a": { "$in": 1 } }, code::BAD_VALUE, "$in needs an array"),
            (doc! { "$or": [] }, code::BAD_VALUE, "non-empty array"),
            (doc! { "$or": [1] }, code::BAD_VALUE, "must be objects"),
            (doc! { "a": { "$gt": 1, "b": 2 } }, code::BAD_VALUE, "found the field 'b'"),
            (
                doc! { "a": Bson::RegularExpression(bson::Regex { pattern: bson::raw::cstr!("x").into(), options: bson::raw::cstr!("").into() }) },
                code::NOT_IMPLEMENTED,
                "regular expression",
            ),
        ] {
            let error = Filter::parse(&bytes(filter.clone())).unwrap_err();
            assert_eq!(error.code, code, "{filter}");
            assert!(error.message.contains(part), "{filter}: {}", error.message);
        }
    }
}
