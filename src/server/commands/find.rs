//! `find`: documents by filter, sorted, cut and projected.

use crate::server::collection::Collection;
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::cursor::{self, Cursor, Documents, FIRST_BATCH};
use crate::server::error::CommandError;
use crate::server::filter::Filter;
use crate::server::projection::Projection;
use crate::server::raw::{self, Writer};
use crate::server::scan::{Hint, Plan, Scan, SortField};
use std::sync::Arc;

pub const ROW: CommandRow = CommandRow {
    names: &["find"],
    // allowDiskUse and allowPartialResults allow what is not needed here.
    fields: &[
        "filter",
        "projection",
        "sort",
        "skip",
        "limit",
        "batchSize",
        "singleBatch",
        "hint",
        "allowDiskUse",
        "allowPartialResults",
        "noCursorTimeout",
    ],
    refused: &[
        "collation",
        "let",
        "max",
        "min",
        "returnKey",
        "showRecordId",
        "tailable",
        "awaitData",
        "oplogReplay",
    ],
    stable: true,
    long: false,
    counter: Counter::Query,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let filter = call.document("filter")?.map_or_else(|| Ok(Filter::everything()), Filter::parse)?;
    let projection = call.document("projection")?.map_or(Ok(None), Projection::parse)?;
    let sort = call.document("sort")?.map_or_else(|| Ok(Vec::new()), cursor::parse_sort)?;
    let skip = call.number("skip")?.unwrap_or_default();
    let limit = call.number("limit")?.filter(|limit| *limit > 0);
    let batch = call.number("batchSize")?;
    let single = call.flag("singleBatch")?;
    let no_timeout = call.flag("noCursorTimeout")?;
    call.shared.count(Counter::Query, 1);
    let documents = match call.shared.store.collection(call.database, name) {
        None => cursor::nothing(),
        Some(collection) => search(call, collection, filter, &sort, skip, limit)?,
    };
    let size = batch.map_or(FIRST_BATCH, |size| usize::try_from(size).unwrap_or(usize::MAX));
    let cursor = Cursor::new(call.namespace()?, documents, projection, no_timeout);
    reply_first_batch(call, cursor, size, single, reply)
}

/// The documents of a filter in the order of a sort, without the first `skip` and at most `limit`.
///
/// # Errors
/// A `hint` that names no index; what a sort in memory brings up.
pub fn search(
    call: &Call<'_>,
    collection: Arc<Collection>,
    filter: Filter,
    sort: &[SortField],
    skip: u64,
    limit: Option<u64>,
) -> Result<Documents, CommandError> {
    let hint = call.field("hint").map(|hint| Hint::parse(hint, &collection)).transpose()?.flatten();
    let plan = Plan::choose(&collection, &filter, sort, hint.as_ref());
    let (sorted, whole) = (plan.sorted, plan.whole);
    let small = filter.is_everything() && sorted;
    let scan = Scan::new(&call.shared.store, collection, filter, plan, call.deadline);
    let mut documents = cursor::scanned(scan);
    if whole && !small {
        // It may look at every document before the first that it gives: not on the runtime's time.
        documents = Box::new(InPlace(documents));
    }
    let as_count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if !sorted {
        let keep = limit.map(|limit| as_count(limit.saturating_add(skip)));
        documents = cursor::sort(documents, sort, keep)?;
    }
    if skip > 0 {
        let mut left = skip;
        documents = Box::new(documents.filter(move |document| {
            let drop = left > 0 && document.is_ok();
            left -= u64::from(drop);
            !drop
        }));
    }
    if let Some(limit) = limit {
        documents = Box::new(documents.take(as_count(limit)));
    }
    Ok(documents)
}

/// Documents that may take long to find: hands the runtime's thread over while it looks.
struct InPlace(Documents);

impl Iterator for InPlace {
    type Item = <Documents as Iterator>::Item;

    fn next(&mut self) -> Option<Self::Item> {
        tokio::task::block_in_place(|| self.0.next())
    }
}

/// The size of the first batch that a command says in `cursor: { batchSize }`.
pub fn batch_size(call: &Call<'_>) -> Result<usize, CommandError> {
    let Some(options) = call.document("cursor")? else { return Ok(FIRST_BATCH) };
    let mut size = FIRST_BATCH;
    for element in raw::elements(options) {
        match (element.name_str(), element.value.as_i64()) {
            ("batchSize", Some(number)) if number >= 0 => {
                size = usize::try_from(number).unwrap_or(usize::MAX)
            }
            ("batchSize", _) => {
                return Err(CommandError::wrong_type("cursor.batchSize", element.value.type_name(), "long"));
            }
            (other, _) => return Err(CommandError::unknown_field("cursor", other)),
        }
    }
    Ok(size)
}

/// Writes the first batch, and keeps the cursor if there is more.
///
/// # Errors
/// What finding the documents brings up.
pub fn reply_first_batch(
    call: &Call<'_>,
    mut cursor: Cursor,
    size: usize,
    single: bool,
    reply: &mut Writer<'_>,
) -> Result<(), CommandError> {
    let namespace = cursor.namespace.clone();
    let mut more = Ok(false);
    let mut kept = Ok(0);
    reply.document("cursor", |w| {
        w.array("firstBatch", |array| more = cursor.fill(array, size));
        if let (Ok(true), false) = (&more, single) {
            kept = call.shared.cursors.keep(cursor);
        }
        w.i64("id", *kept.as_ref().unwrap_or(&0)).str("ns", &namespace);
    });
    more?;
    kept.map(drop)
}
