//! `buildInfo`: the version of MongoDB that is spoken, and in `nbrs` whose server this is.

use crate::server::MONGODB_VERSION;
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::Writer;
use crate::wire::MAX_DOCUMENT_BYTES;

pub const ROW: CommandRow = CommandRow {
    names: &["buildInfo", "buildinfo"],
    fields: &[],
    refused: &[],
    stable: false,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(_: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    reply.str("version", MONGODB_VERSION).array("versionArray", |w| {
        for (i, part) in MONGODB_VERSION.split('.').chain(["0"]).enumerate() {
            w.i32(&i.to_string(), part.parse().unwrap_or_default());
        }
    });
    reply
        .i32("bits", usize::BITS as i32)
        .bool("debug", cfg!(debug_assertions))
        .i32("maxBsonObjectSize", MAX_DOCUMENT_BYTES as i32)
        .array("storageEngines", |w| {
            w.str("0", "fjall");
        })
        .document("nbrs", |w| {
            w.str("version", env!("CARGO_PKG_VERSION"));
        });
    Ok(())
}
