//! `listIndexes`: the indexes of a collection.

use super::find::{batch_size, reply_first_batch};
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::cursor::{self, Cursor};
use crate::server::error::{CommandError, code};
use crate::server::raw::{self, Value, Writer};

pub const ROW: CommandRow = CommandRow {
    names: &["listIndexes"],
    fields: &["cursor"],
    refused: &["includeBuildUUIDs", "includeIndexBuildInfo"],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let size = batch_size(call)?;
    let Some(collection) = call.shared.store.collection(call.database, name) else {
        return Err(CommandError::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {}", call.namespace()?),
        ));
    };
    let mut found = vec![raw::document(|w| {
        let clustered = collection.clustered();
        let name = clustered.and_then(|c| raw::get(c.bytes, b"name")).and_then(Value::as_str);
        w.i32("v", 2)
            .document("key", |w| {
                w.i32("_id", 1);
            })
            .str("name", name.unwrap_or("_id_"));
        if clustered.is_some() {
            w.bool("unique", true).bool("clustered", true);
        }
    })];
    found.extend(collection.indexes().iter().map(|index| raw::document(|w| index.describe(w))));
    let cursor = Cursor::new(call.namespace()?, cursor::made(found), None, false);
    reply_first_batch(call, cursor, size, false, reply)
}
