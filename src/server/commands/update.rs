//! `update`: changes, replaces or upserts documents.

use super::writes::{WriteErrors, check_batch, writing};
use crate::server::collection::{Collection, Writing, check_size, prepare};
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::filter::{Filter, Owned};
use crate::server::raw::{self, Value, Writer};
use crate::server::scan::{Hint, Plan, Scan};
use crate::server::update::Update;
use fjall::Slice;
use std::sync::Arc;

pub const ROW: CommandRow = CommandRow {
    names: &["update"],
    fields: &["updates", "ordered", "bypassDocumentValidation"],
    refused: &[
        "let",
        "stmtIds",
        "stmtId",
        "bypassEmptyTsReplacement",
        "encryptionInformation",
        "isTimeseriesNamespace",
    ],
    stable: true,
    long: false,
    counter: Counter::Update,
    run,
};

/// One statement of the command.
struct Statement<'a> {
    filter: Filter,
    update: Update,
    multi: bool,
    upsert: bool,
    hint: Option<Value<'a>>,
}

#[derive(Default)]
struct Done {
    matched: i32,
    modified: i32,
    upserted: Vec<(usize, Owned)>,
}

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let statements = call.list("updates")?;
    check_batch(statements.len())?;
    let ordered = call.flag_or("ordered", true)?;
    let bypass = call.flag("bypassDocumentValidation")?;
    let mut parsed = Vec::with_capacity(statements.len());
    for statement in statements {
        parsed.push(parse(statement)?);
    }
    call.shared.count(Counter::Update, parsed.len());
    let mut done = Done::default();
    let errors = WriteErrors::each(parsed, ordered, |position, statement| {
        let statement = statement?;
        if statement.multi {
            update_many(call, name, position, &statement, bypass, &mut done)
        } else {
            update_one(call, name, position, &statement, bypass, &mut done)
        }
    });
    if done.modified > 0 || !done.upserted.is_empty() {
        call.written()?;
    }
    reply.i32("n", done.matched + done.upserted.len() as i32);
    if !done.upserted.is_empty() {
        reply.array("upserted", |w| {
            for (number, (position, id)) in done.upserted.iter().enumerate() {
                w.document(&number.to_string(), |w| {
                    w.i32("index", *position as i32).value("_id", id.get());
                });
            }
        });
    }
    reply.i32("nModified", done.modified);
    errors.write_to(reply);
    Ok(())
}

/// The outer error is of the command's form, the inner one of the statement alone.
fn parse(statement: &[u8]) -> Result<Result<Statement<'_>, CommandError>, CommandError> {
    let (mut query, mut update, mut multi, mut upsert, mut hint) = (None, None, false, false, None);
    for element in raw::elements(statement) {
        let (field, value) = (element.name_str(), element.value);
        let wrong = |expected| {
            CommandError::wrong_type(&format!("update.updates.{field}"), value.type_name(), expected)
        };
        match field {
            "q" => query = Some(value.as_document().ok_or_else(|| wrong("object"))?),
            "u" => update = Some(value),
            "multi" => multi = value.as_bool().ok_or_else(|| wrong("bool"))?,
            "upsert" => upsert = value.as_bool().ok_or_else(|| wrong("bool"))?,
            "hint" => hint = Some(value),
            "arrayFilters" | "collation" | "c" | "sort" | "upsertSupplied" | "sampleId" => {
                return Err(CommandError::not_implemented(format_args!("the option `{field}` of an update")));
            }
            other => return Err(CommandError::unknown_field("update.updates", other)),
        }
    }
    let query = query.ok_or_else(|| CommandError::missing_field("update.updates", "q"))?;
    let update = update.ok_or_else(|| CommandError::missing_field("update.updates", "u"))?;
    Ok(Filter::parse(query).and_then(|filter| {
        let update = Update::parse(update)?;
        if multi && !update.is_modification() {
            return Err(CommandError::new(
                code::FAILED_TO_PARSE,
                "multi update is not supported for replacement-style update",
            ));
        }
        Ok(Statement { filter, update, multi, upsert, hint })
    }))
}

fn scan(
    call: &Call<'_>,
    collection: &Arc<Collection>,
    statement: &Statement<'_>,
) -> Result<Scan, CommandError> {
    let hint = statement.hint.map(|hint| Hint::parse(hint, collection)).transpose()?.flatten();
    let plan = Plan::choose(collection, &statement.filter, &[], hint.as_ref());
    Ok(Scan::new(&call.shared.store, collection.clone(), statement.filter.clone(), plan, call.deadline))
}

fn update_one(
    call: &Call<'_>,
    name: &str,
    position: usize,
    statement: &Statement<'_>,
    bypass: bool,
    done: &mut Done,
) -> Result<(), CommandError> {
    /// Looks without holding up others; after so many times that another was faster, with.
    const ATTEMPTS: usize = 3;
    let store = &call.shared.store;
    for attempt in 0..=ATTEMPTS {
        let Some(collection) = store.collection(call.database, name) else { break };
        if attempt == ATTEMPTS {
            let Ok(mut writing) = collection.write(store) else { break };
            return match scan(call, &collection, statement)?.next()? {
                Some(found) => {
                    change(&collection, &mut writing, statement, &found.key, bypass, done).map(drop)
                }
                None if statement.upsert => {
                    upsert(&collection, &mut writing, position, statement, bypass, done)
                }
                None => Ok(()),
            };
        }
        match scan(call, &collection, statement)?.next()? {
            Some(found) => {
                let Ok(mut writing) = collection.write(store) else { continue };
                if change(&collection, &mut writing, statement, &found.key, bypass, done)? {
                    return Ok(());
                }
            }
            None if statement.upsert => break,
            None => return Ok(()),
        }
    }
    if !statement.upsert {
        return Ok(());
    }
    writing(call, name, |collection, writing| match scan(call, collection, statement)?.next()? {
        Some(found) => change(collection, writing, statement, &found.key, bypass, done).map(drop),
        None => upsert(collection, writing, position, statement, bypass, done),
    })
}

fn update_many(
    call: &Call<'_>,
    name: &str,
    position: usize,
    statement: &Statement<'_>,
    bypass: bool,
    done: &mut Done,
) -> Result<(), CommandError> {
    let store = &call.shared.store;
    let before = done.matched;
    if let Some(collection) = store.collection(call.database, name) {
        let mut scan = scan(call, &collection, statement)?;
        tokio::task::block_in_place(|| {
            while let Some(found) = scan.next()? {
                let Ok(mut writing) = collection.write(store) else { break };
                change(&collection, &mut writing, statement, &found.key, bypass, done)?;
            }
            Ok::<_, CommandError>(())
        })?;
    }
    if done.matched > before || !statement.upsert {
        return Ok(());
    }
    writing(call, name, |collection, writing| upsert(collection, writing, position, statement, bypass, done))
}

/// Changes the document of that key if it still matches; whether it did.
fn change(
    collection: &Collection,
    writing: &mut Writing<'_>,
    statement: &Statement<'_>,
    key: &[u8],
    bypass: bool,
    done: &mut Done,
) -> Result<bool, CommandError> {
    let Some(old) = writing.current(key)? else { return Ok(false) };
    if !statement.filter.matches(&old) {
        return Ok(false);
    }
    let new = statement.update.apply(&old)?;
    if *new != *old {
        check_size(&new)?;
        if !bypass {
            collection.validate(&new, Some(&old))?;
        }
        writing.replace(key, &old, Slice::from(new))?;
        done.modified += 1;
    }
    done.matched += 1;
    Ok(true)
}

fn upsert(
    collection: &Collection,
    writing: &mut Writing<'_>,
    position: usize,
    statement: &Statement<'_>,
    bypass: bool,
    done: &mut Done,
) -> Result<(), CommandError> {
    let prepared = prepare(&statement.update.apply_to_nothing(&statement.filter)?)?;
    if !bypass {
        collection.validate(&prepared.document, None)?;
    }
    let id = Owned::from(raw::get(&prepared.document, b"_id").unwrap_or(raw::NULL));
    writing.insert(prepared)?;
    done.upserted.push((position, id));
    Ok(())
}
