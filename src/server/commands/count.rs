//! `count`: how many documents a filter has.

use super::find::search;
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::filter::Filter;
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["count"],
    fields: &["query", "limit", "skip", "hint"],
    refused: &["collation"],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let filter = call.document("query")?.map_or_else(|| Ok(Filter::everything()), Filter::parse)?;
    let skip = call.number("skip")?.unwrap_or_default();
    // A negative limit counts as its positive, as ever.
    let limit = match call.field("limit") {
        Some(value) => match value.as_i64() {
            Some(limit) => Some(limit.unsigned_abs()).filter(|limit| *limit > 0),
            None => return Err(call.wrong_type("limit", value, "long")),
        },
        None => None,
    };
    let count = match call.shared.store.collection(call.database, name) {
        None => 0,
        Some(collection) if filter.is_everything() && call.field("hint").is_none() => {
            collection.count()?.saturating_sub(skip).min(limit.unwrap_or(u64::MAX))
        }
        Some(collection) => {
            let mut count = 0;
            for document in search(call, collection, filter, &[], skip, limit)? {
                document?;
                count += 1;
            }
            count
        }
    };
    match i32::try_from(count) {
        Ok(count) => reply.i32("n", count),
        Err(_) => reply.i64("n", i64::try_from(count).unwrap_or(i64::MAX)),
    };
    Ok(())
}
