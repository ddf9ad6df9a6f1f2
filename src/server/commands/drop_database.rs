//! `dropDatabase`: removes all collections of a database.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["dropDatabase"],
    fields: &[],
    refused: &[],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let mut any = false;
    for collection in call.shared.store.collections(call.database) {
        any |= call.shared.store.drop_collection(call.database, &collection.name)?.is_some();
    }
    if any {
        call.written()?;
        reply.str("dropped", call.database);
    }
    Ok(())
}
