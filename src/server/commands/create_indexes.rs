//! `createIndexes`: makes indexes and fills them from the documents that are there.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::raw::{self, Writer};
use crate::server::store::IndexSpec;

pub const ROW: CommandRow = CommandRow {
    names: &["createIndexes"],
    // One server is its own quorum.
    fields: &["indexes", "commitQuorum"],
    refused: &["ignoreUnknownIndexOptions"],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

/// Options of an index that this server has not, unless they are `false`.
const REFUSED: &[&str] = &[
    "sparse",
    "hidden",
    "partialFilterExpression",
    "expireAfterSeconds",
    "storageEngine",
    "collation",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "bits",
    "min",
    "max",
    "bucketSize",
    "wildcardProjection",
    "dropDups",
    "prepareUnique",
];

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let specs = call.list("indexes")?;
    if specs.is_empty() {
        return Err(CommandError::new(code::BAD_VALUE, "Must specify at least one index to create"));
    }
    let specs = specs.into_iter().map(parse_spec).collect::<Result<Vec<_>, _>>()?;
    let (before, after, made) = call.shared.store.create_indexes(call.database, name, specs)?;
    call.written()?;
    reply
        .i32("numIndexesBefore", before as i32)
        .i32("numIndexesAfter", after as i32)
        .bool("createdCollectionAutomatically", made);
    if before == after {
        reply.str("note", "all indexes already exist");
    }
    Ok(())
}

fn parse_spec(spec: &[u8]) -> Result<IndexSpec, CommandError> {
    let mut pattern = None;
    let mut name = None;
    let mut unique = false;
    for element in raw::elements(spec) {
        let (field, value) = (element.name_str(), element.value);
        let wrong = |expected| {
            CommandError::wrong_type(&format!("createIndexes.indexes.{field}"), value.type_name(), expected)
        };
        match field {
            "key" => pattern = Some(check_pattern(value.as_document().ok_or_else(|| wrong("object"))?)?),
            "name" => name = Some(value.as_str().ok_or_else(|| wrong("string"))?.to_owned()),
            "unique" => unique = value.as_bool().ok_or_else(|| wrong("bool"))?,
            // Indexes are built while nobody else writes; the version is the one that all have.
            "background" => {}
            "v" if value.as_i64() == Some(2) => {}
            "v" => {
                return Err(CommandError::not_implemented(format_args!("index version {}", value.shown())));
            }
            "ns" => {}
            _ if REFUSED.contains(&field) => {
                if value.as_bool() != Some(false) {
                    return Err(CommandError::not_implemented(format_args!("the index option `{field}`")));
                }
            }
            _ => {
                return Err(CommandError::new(
                    code::INVALID_INDEX_SPECIFICATION_OPTION,
                    format!("The field '{field}' is not valid for an index specification"),
                ));
            }
        }
    }
    let pattern = pattern.ok_or_else(|| CommandError::missing_field("createIndexes.indexes", "key"))?;
    let name = name
        .filter(|name| !name.is_empty())
        .ok_or_else(|| CommandError::missing_field("createIndexes.indexes", "name"))?;
    if name == "*" || name.contains('\0') {
        return Err(CommandError::new(code::BAD_VALUE, format!("The index name '{name}' is not valid")));
    }
    Ok(IndexSpec { name, pattern, unique })
}

fn check_pattern(pattern: &[u8]) -> Result<Vec<u8>, CommandError> {
    let refuse = |message: String| Err(CommandError::new(code::CANNOT_CREATE_INDEX, message));
    let mut seen: Vec<&[u8]> = Vec::new();
    for field in raw::elements(pattern) {
        let name = field.name_str();
        if let Some(kind) = field.value.as_str() {
            return Err(CommandError::not_implemented(format_args!("an index of type '{kind}'")));
        }
        match field.value.as_f64() {
            Some(direction) if direction != 0.0 && !direction.is_nan() => {}
            _ => {
                return refuse(format!(
                    "Values in the index key pattern must be numbers other than 0, found {} for '{name}'",
                    field.value.shown()
                ));
            }
        }
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return refuse("Index keys cannot contain an empty field.".to_owned());
        }
        if name.contains("$**") {
            return Err(CommandError::not_implemented("a wildcard index"));
        }
        if name.starts_with('$') || name.contains(".$") {
            return refuse(format!(
                "Index key contains an illegal field name: field name starts with '$' in '{name}'"
            ));
        }
        if name.split('.').skip(1).any(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(CommandError::not_implemented(format_args!(
                "an index on a place in an array, as in '{name}'"
            )));
        }
        if seen.contains(&field.name) {
            return refuse(format!("Index key contains the field '{name}' twice"));
        }
        seen.push(field.name);
    }
    match seen.len() {
        0 => refuse("Index keys cannot be empty.".to_owned()),
        1..=32 => Ok(pattern.to_vec()),
        count => refuse(format!("Index key pattern has {count} fields, 32 are allowed")),
    }
}
