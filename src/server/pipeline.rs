//! Aggregation: `$match`, `$sort`, `$skip`, `$limit`, `$count` and `$group` with `$sum`.

use super::cursor::{self, Document, Documents};
use super::error::{CommandError, code};
use super::filter::{Filter, Owned};
use super::key;
use super::path::Path;
use super::raw::{self, Value, Writer, kind};
use super::scan::{SortField, check_deadline};
use std::collections::HashMap;
use std::time::Instant;

/// One stage of a pipeline.
#[derive(Debug)]
pub enum Stage {
    Match(Filter),
    Sort(Vec<SortField>),
    Skip(u64),
    Limit(u64),
    Count(String),
    Group { id: Expression, sums: Vec<(String, Expression)> },
}

/// What a `$group` computes from a document.
#[derive(Debug)]
pub enum Expression {
    Constant(Owned),
    Field(Path),
    Document(Vec<(String, Expression)>),
}

const STAGES: &str = "$match, $sort, $skip, $limit, $count, $group";
/// What `$group` may hold.
const GROUP_BYTES: usize = 100 * 1024 * 1024;

/// Parses a `pipeline`.
///
/// # Errors
/// Stages, operators and expressions that this server does not have, with MongoDB's codes.
pub fn parse(pipeline: Value<'_>) -> Result<Vec<Stage>, CommandError> {
    let Some(array) = pipeline.as_array() else {
        return Err(CommandError::new(
            code::TYPE_MISMATCH,
            "'pipeline' option must be specified as an array",
        ));
    };
    raw::elements(array).map(|item| parse_stage(item.value)).collect()
}

fn parse_stage(stage: Value<'_>) -> Result<Stage, CommandError> {
    let mut fields = stage.elements();
    let (Some(field), None, true) = (fields.next(), fields.next(), stage.is_document()) else {
        return Err(CommandError::new(
            code::STAGE_SPECIFICATION,
            "A pipeline stage specification object must contain exactly one field.",
        ));
    };
    let (name, value) = (field.name_str(), field.value);
    let document = || {
        value.as_document().ok_or_else(|| {
            CommandError::new(
                code::TYPE_MISMATCH,
                format!("the {name} stage specification must be an object"),
            )
        })
    };
    match name {
        "$match" => Ok(Stage::Match(Filter::parse(document()?)?)),
        "$sort" => {
            let fields = cursor::parse_sort(document()?)?;
            if fields.is_empty() {
                return Err(CommandError::new(
                    code::SORT_EMPTY,
                    "$sort stage must have at least one sort key",
                ));
            }
            Ok(Stage::Sort(fields))
        }
        "$skip" => match value.as_i64() {
            Some(count) if count >= 0 => Ok(Stage::Skip(count as u64)),
            _ => Err(CommandError::new(
                code::SKIP_ARGUMENT,
                format!(
                    "invalid argument to $skip stage: expected a non-negative number, found {}",
                    value.shown()
                ),
            )),
        },
        "$limit" => match value.as_i64() {
            Some(count) if count > 0 => Ok(Stage::Limit(count as u64)),
            _ => Err(CommandError::new(
                code::LIMIT_ARGUMENT,
                format!(
                    "invalid argument to $limit stage: expected a positive number, found {}",
                    value.shown()
                ),
            )),
        },
        "$count" => match value.as_str() {
            Some(name) if !name.is_empty() && !name.starts_with('$') && !name.contains(['.', '\0']) => {
                Ok(Stage::Count(name.to_owned()))
            }
            _ => Err(CommandError::new(
                code::COUNT_FIELD,
                "the count field must be a non-empty string without '.' that does not begin with '$'",
            )),
        },
        "$group" => parse_group(document()?),
        _ => Err(CommandError::new(
            code::UNKNOWN_STAGE,
            format!("Unrecognized pipeline stage name: '{name}' (the embedded server has {STAGES})"),
        )),
    }
}

fn parse_group(group: &[u8]) -> Result<Stage, CommandError> {
    let mut id = None;
    let mut sums = Vec::new();
    for field in raw::elements(group) {
        let name = field.name_str();
        if name == "_id" {
            id = Some(parse_expression(field.value)?);
            continue;
        }
        if name.contains('.') || name.starts_with('$') {
            return Err(CommandError::new(
                code::GROUP_FIELD_NAME,
                format!("The field name '{name}' cannot contain '.' or begin with '$'"),
            ));
        }
        let mut operators = field.value.elements();
        let (Some(operator), None, true) = (operators.next(), operators.next(), field.value.is_document())
        else {
            return Err(CommandError::new(
                code::GROUP_ACCUMULATOR,
                format!("The field '{name}' must be an accumulator object"),
            ));
        };
        match operator.name_str() {
            "$sum" => sums.push((name.to_owned(), parse_expression(operator.value)?)),
            "$count" => {
                if operator.value.elements().next().is_some() || !operator.value.is_document() {
                    return Err(CommandError::new(
                        code::TYPE_MISMATCH,
                        "$count takes no arguments, i.e. $count:{}",
                    ));
                }
                let one = 1i32.to_le_bytes();
                let one = Value { kind: kind::INT32, bytes: &one };
                sums.push((name.to_owned(), Expression::Constant(one.into())));
            }
            other => {
                return Err(CommandError::new(
                    code::UNKNOWN_ACCUMULATOR,
                    format!("unknown group operator '{other}' (the embedded server has $sum and $count)"),
                ));
            }
        }
    }
    match id {
        Some(id) => Ok(Stage::Group { id, sums }),
        None => Err(CommandError::new(code::GROUP_ID_MISSING, "a group specification must include an _id")),
    }
}

fn parse_expression(value: Value<'_>) -> Result<Expression, CommandError> {
    if let Some(text) = value.as_str()
        && let Some(path) = text.strip_prefix('$')
    {
        if path.starts_with('$') {
            return Err(CommandError::not_implemented(format_args!("the variable {text} in an expression")));
        }
        if path.is_empty() || path.split('.').any(|part| part.is_empty() || part.starts_with('$')) {
            return Err(CommandError::new(code::FIELD_PATH, format!("'{text}' is not a valid field path")));
        }
        return Ok(Expression::Field(Path::new(path)));
    }
    match value.kind {
        kind::DOCUMENT => {
            if let Some(operator) = value.elements().find(|element| element.name.starts_with(b"$")) {
                return Err(CommandError::new(
                    code::INVALID_PIPELINE_OPERATOR,
                    format!(
                        "Unrecognized expression '{}' (the embedded server has none)",
                        operator.name_str()
                    ),
                ));
            }
            let fields = value
                .elements()
                .map(|element| Ok((element.name_str().to_owned(), parse_expression(element.value)?)))
                .collect::<Result<_, CommandError>>()?;
            Ok(Expression::Document(fields))
        }
        kind::ARRAY => Err(CommandError::not_implemented("an array as an expression")),
        _ => Ok(Expression::Constant(value.into())),
    }
}

impl Expression {
    /// Writes its value for a document as a field; a missing one is left out.
    fn write(&self, document: &[u8], name: &str, out: &mut Writer<'_>) -> Result<(), CommandError> {
        match self {
            Expression::Constant(value) => {
                out.value(name, value.get());
            }
            Expression::Field(path) => {
                if let Some(value) = field(path, document)? {
                    out.value(name, value);
                }
            }
            Expression::Document(fields) => {
                let mut result = Ok(());
                out.document(name, |out| {
                    result = fields.iter().try_for_each(|(name, inner)| inner.write(document, name, out));
                });
                result?;
            }
        }
        Ok(())
    }
}

fn field<'d>(path: &Path, document: &'d [u8]) -> Result<Option<Value<'d>>, CommandError> {
    let mut value = Value { kind: kind::DOCUMENT, bytes: document };
    for part in path.parts() {
        if value.is_array() {
            return Err(CommandError::not_implemented(format_args!(
                "an expression through an array, as in ${}",
                path.as_str()
            )));
        }
        match value.as_document().and_then(|document| raw::get(document, part)) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// Runs stages over documents.
///
/// # Errors
/// What the stages bring up when they have to see all documents first; the rest comes with the documents.
pub fn run(
    mut documents: Documents,
    stages: Vec<Stage>,
    deadline: Option<Instant>,
) -> Result<Documents, CommandError> {
    let mut stages = stages.into_iter().peekable();
    while let Some(stage) = stages.next() {
        documents =
            match stage {
                Stage::Match(filter) => Box::new(documents.filter(move |document| {
                    document.as_ref().map_or(true, |document| filter.matches(document))
                })),
                Stage::Skip(count) => {
                    let mut left = count;
                    Box::new(documents.filter(move |document| {
                        let skip = left > 0 && document.is_ok();
                        left -= u64::from(skip);
                        !skip
                    }))
                }
                Stage::Limit(count) => Box::new(documents.take(usize::try_from(count).unwrap_or(usize::MAX))),
                Stage::Sort(fields) => {
                    let limit = match stages.peek() {
                        Some(Stage::Limit(count)) => usize::try_from(*count).ok(),
                        _ => None,
                    };
                    cursor::sort(documents, &fields, limit)?
                }
                Stage::Count(name) => {
                    let mut count = 0i64;
                    for document in documents {
                        document?;
                        count += 1;
                    }
                    // No document at all gives none, as in MongoDB.
                    cursor::made(if count == 0 {
                        Vec::new()
                    } else {
                        vec![raw::document(|w| match i32::try_from(count) {
                            Ok(count) => drop(w.i32(&name, count)),
                            Err(_) => drop(w.i64(&name, count)),
                        })]
                    })
                }
                Stage::Group { id, sums } => cursor::made(group(documents, &id, &sums, deadline)?),
            };
    }
    Ok(documents)
}

fn group(
    documents: Documents,
    id: &Expression,
    sums: &[(String, Expression)],
    deadline: Option<Instant>,
) -> Result<Vec<Vec<u8>>, CommandError> {
    let mut groups: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut found: Vec<(Vec<u8>, Vec<Sum>)> = Vec::new();
    let mut bytes = 0;
    for (number, document) in documents.enumerate() {
        let document: Document = document?;
        if number.is_multiple_of(64) {
            check_deadline(deadline)?;
        }
        let mut holder = Vec::new();
        let mut writer = Writer::new(&mut holder);
        id.write(&document, "_id", &mut writer)?;
        writer.finish();
        let mut key = Vec::new();
        key::encode(raw::get(&holder, b"_id").unwrap_or(raw::NULL), &mut key)?;
        let position = match groups.get(&key) {
            Some(position) => *position,
            None => {
                bytes += 2 * key.len() + holder.len() + sums.len() * size_of::<Sum>() + 100;
                if bytes > GROUP_BYTES {
                    return Err(CommandError::new(
                        code::EXCEEDED_MEMORY_LIMIT,
                        format!("$group exceeded memory limit of {GROUP_BYTES} bytes"),
                    ));
                }
                groups.insert(key, found.len());
                found.push((holder, sums.iter().map(|_| Sum::Int32(0)).collect()));
                found.len() - 1
            }
        };
        for ((_, expression), sum) in sums.iter().zip(&mut found[position].1) {
            match expression {
                Expression::Constant(value) => sum.add(value.get())?,
                Expression::Field(path) => {
                    if let Some(value) = field(path, &document)? {
                        sum.add(value)?;
                    }
                }
                // Documents are no numbers.
                Expression::Document(_) => {}
            }
        }
    }
    Ok(found
        .into_iter()
        .map(|(holder, totals)| {
            raw::document(|w| {
                w.value("_id", raw::get(&holder, b"_id").unwrap_or(raw::NULL));
                for ((name, _), total) in sums.iter().zip(totals) {
                    match total {
                        Sum::Int32(sum) => w.i32(name, sum),
                        Sum::Int64(sum) => w.i64(name, sum),
                        Sum::Double(sum) => w.f64(name, sum),
                    };
                }
            })
        })
        .collect())
}

/// A running sum: the widest type so far, a double when int64 overflows.
#[derive(Debug, Clone, Copy)]
enum Sum {
    Int32(i32),
    Int64(i64),
    Double(f64),
}

impl Sum {
    fn add(&mut self, value: Value<'_>) -> Result<(), CommandError> {
        let long = match value.kind {
            kind::DOUBLE => {
                let value = value.as_f64().unwrap_or_default();
                *self = Sum::Double(self.as_f64() + value);
                return Ok(());
            }
            kind::DECIMAL128 => return Err(CommandError::not_implemented("$sum of a Decimal128")),
            kind::INT32 | kind::INT64 => value.as_i64().unwrap_or_default(),
            // What is no number does not count.
            _ => return Ok(()),
        };
        let narrow = value.kind == kind::INT32;
        *self = match *self {
            Sum::Double(sum) => Sum::Double(sum + long as f64),
            Sum::Int32(sum) => {
                let total = i64::from(sum).checked_add(long);
                match (total, total.and_then(|total| i32::try_from(total).ok())) {
                    (_, Some(small)) if narrow => Sum::Int32(small),
                    (Some(total), _) => Sum::Int64(total),
                    (None, _) => Sum::Double(f64::from(sum) + long as f64),
                }
            }
            Sum::Int64(sum) => {
                sum.checked_add(long).map_or(Sum::Double(sum as f64 + long as f64), Sum::Int64)
            }
        };
        Ok(())
    }

    fn as_f64(self) -> f64 {
        match self {
            Sum::Int32(sum) => f64::from(sum),
            Sum::Int64(sum) => sum as f64,
            Sum::Double(sum) => sum,
        }
    }
}
