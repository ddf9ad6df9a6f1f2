//! `listCollections`: the collections of a database with their options.

use super::find::{batch_size, reply_first_batch};
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::cursor::{self, Cursor};
use crate::server::error::CommandError;
use crate::server::filter::Filter;
use crate::server::raw::{self, Value, Writer, kind};

pub const ROW: CommandRow = CommandRow {
    names: &["listCollections"],
    // Everybody is authorized for everything.
    fields: &["filter", "nameOnly", "authorizedCollections", "cursor"],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let filter = call.document("filter")?.map_or_else(|| Ok(Filter::everything()), Filter::parse)?;
    let name_only = call.flag("nameOnly")?;
    let size = batch_size(call)?;
    let mut found = Vec::new();
    for collection in call.shared.store.collections(call.database) {
        let document = raw::document(|w| {
            w.str("name", &collection.name).str("type", "collection");
            if name_only {
                return;
            }
            w.value("options", Value { kind: kind::DOCUMENT, bytes: &collection.options }).document(
                "info",
                |w| {
                    w.bool("readOnly", false);
                },
            );
            // A clustered collection has no index beside itself.
            if collection.clustered().is_none() {
                w.document("idIndex", |w| {
                    w.i32("v", 2)
                        .document("key", |w| {
                            w.i32("_id", 1);
                        })
                        .str("name", "_id_");
                });
            }
        });
        if filter.matches(&document) {
            found.push(document);
        }
    }
    let namespace = format!("{}.$cmd.listCollections", call.database);
    reply_first_batch(call, Cursor::new(namespace, cursor::made(found), None, false), size, false, reply)
}
