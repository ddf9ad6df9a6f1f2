//! `aggregate`: runs a pipeline over a collection.

use super::find::{batch_size, reply_first_batch, search};
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::cursor::{self, Cursor};
use crate::server::error::{CommandError, code};
use crate::server::filter::Filter;
use crate::server::pipeline::{self, Stage};
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["aggregate"],
    fields: &["pipeline", "cursor", "hint", "allowDiskUse", "bypassDocumentValidation"],
    refused: &["explain", "collation", "let", "isMapReduceCommand", "fromMongos", "needsMerge", "exchange"],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    if call.own.as_i64() == Some(1) {
        return Err(CommandError::not_implemented("aggregate over a whole database"));
    }
    let name = call.collection()?;
    let pipeline =
        call.field("pipeline").ok_or_else(|| CommandError::missing_field(call.name, "pipeline"))?;
    let mut stages = pipeline::parse(pipeline)?;
    if call.field("cursor").is_none() {
        return Err(CommandError::new(
            code::FAILED_TO_PARSE,
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ));
    }
    let size = batch_size(call)?;
    // What comes first can use an index.
    let filter = match stages.first() {
        Some(Stage::Match(_)) => match stages.remove(0) {
            Stage::Match(filter) => filter,
            _ => Filter::everything(),
        },
        _ => Filter::everything(),
    };
    let sort = match stages.first_mut() {
        Some(Stage::Sort(fields)) => std::mem::take(fields),
        _ => Vec::new(),
    };
    let mut limit = None;
    if !sort.is_empty() {
        stages.remove(0);
        if let Some(Stage::Limit(count)) = stages.first() {
            limit = Some(*count);
        }
    }
    let documents = match call.shared.store.collection(call.database, name) {
        None => cursor::nothing(),
        Some(collection) => search(call, collection, filter, &sort, 0, limit)?,
    };
    let documents = pipeline::run(documents, stages, call.deadline)?;
    reply_first_batch(call, Cursor::new(call.namespace()?, documents, None, false), size, false, reply)
}
