//! `delete`: removes documents.

use super::writes::{WriteErrors, check_batch};
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::filter::Filter;
use crate::server::raw::{self, Value, Writer};
use crate::server::scan::{Hint, Plan, Scan};

pub const ROW: CommandRow = CommandRow {
    names: &["delete"],
    fields: &["deletes", "ordered"],
    refused: &["let", "stmtIds", "stmtId", "encryptionInformation", "isTimeseriesNamespace"],
    stable: true,
    long: false,
    counter: Counter::Delete,
    run,
};

/// One statement of the command.
struct Statement<'a> {
    filter: Filter,
    one: bool,
    hint: Option<Value<'a>>,
}

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let statements = call.list("deletes")?;
    check_batch(statements.len())?;
    let ordered = call.flag_or("ordered", true)?;
    let mut parsed = Vec::with_capacity(statements.len());
    for statement in statements {
        parsed.push(parse(statement)?);
    }
    call.shared.count(Counter::Delete, parsed.len());
    let mut removed = 0;
    let errors = WriteErrors::each(parsed, ordered, |_, statement| {
        let statement = statement?;
        if statement.one {
            delete(call, name, &statement, &mut removed)
        } else {
            tokio::task::block_in_place(|| delete(call, name, &statement, &mut removed))
        }
    });
    if removed > 0 {
        call.written()?;
    }
    reply.i32("n", removed);
    errors.write_to(reply);
    Ok(())
}

/// The outer error is of the command's form, the inner one of the statement alone.
fn parse(statement: &[u8]) -> Result<Result<Statement<'_>, CommandError>, CommandError> {
    let (mut query, mut limit, mut hint) = (None, None, None);
    for element in raw::elements(statement) {
        let (field, value) = (element.name_str(), element.value);
        let wrong = |expected| {
            CommandError::wrong_type(&format!("delete.deletes.{field}"), value.type_name(), expected)
        };
        match field {
            "q" => query = Some(value.as_document().ok_or_else(|| wrong("object"))?),
            "limit" => limit = Some(value.as_i64().ok_or_else(|| wrong("int"))?),
            "hint" => hint = Some(value),
            "collation" | "sampleId" => {
                return Err(CommandError::not_implemented(format_args!("the option `{field}` of a delete")));
            }
            other => return Err(CommandError::unknown_field("delete.deletes", other)),
        }
    }
    let query = query.ok_or_else(|| CommandError::missing_field("delete.deletes", "q"))?;
    let one = match limit {
        Some(0) => false,
        Some(1) => true,
        Some(other) => {
            return Err(CommandError::new(
                code::FAILED_TO_PARSE,
                format!("The limit field in delete objects must be 0 or 1. Got {other}"),
            ));
        }
        None => return Err(CommandError::missing_field("delete.deletes", "limit")),
    };
    Ok(Filter::parse(query).map(|filter| Statement { filter, one, hint }))
}

fn delete(
    call: &Call<'_>,
    name: &str,
    statement: &Statement<'_>,
    removed: &mut i32,
) -> Result<(), CommandError> {
    let store = &call.shared.store;
    let Some(collection) = store.collection(call.database, name) else { return Ok(()) };
    let hint = statement.hint.map(|hint| Hint::parse(hint, &collection)).transpose()?.flatten();
    let plan = Plan::choose(&collection, &statement.filter, &[], hint.as_ref());
    let mut scan = Scan::new(store, collection.clone(), statement.filter.clone(), plan, call.deadline);
    while let Some(found) = scan.next()? {
        let Ok(mut writing) = collection.write(store) else { return Ok(()) };
        // It may have been changed or removed since it was found.
        let Some(old) = writing.current(&found.key)?.filter(|old| statement.filter.matches(old)) else {
            continue;
        };
        writing.remove(&found.key, &old)?;
        *removed += 1;
        if statement.one {
            break;
        }
    }
    Ok(())
}
