//! `listDatabases`: the databases with their size on disk.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::filter::Filter;
use crate::server::raw::{self, Value, Writer, kind};

pub const ROW: CommandRow = CommandRow {
    names: &["listDatabases"],
    fields: &["filter", "nameOnly", "authorizedDatabases"],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let filter = call.document("filter")?.map_or_else(|| Ok(Filter::everything()), Filter::parse)?;
    let name_only = call.flag("nameOnly")?;
    let mut total = 0;
    let mut found = Vec::new();
    for (name, size) in call.shared.store.databases() {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let document = raw::document(|w| {
            w.str("name", &name);
            if !name_only {
                w.i64("sizeOnDisk", size).bool("empty", false);
            }
        });
        if filter.matches(&document) {
            total += size;
            found.push(document);
        }
    }
    reply.array("databases", |w| {
        for (i, document) in found.iter().enumerate() {
            w.value(&i.to_string(), Value { kind: kind::DOCUMENT, bytes: document });
        }
    });
    if !name_only {
        reply.i64("totalSize", total).i64("totalSizeMb", total / (1024 * 1024));
    }
    Ok(())
}
