//! `drop`: removes a collection. One that is not there is no error, as in MongoDB since 7.0.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["drop"],
    fields: &[],
    refused: &[],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    if let Some(indexes) = call.shared.store.drop_collection(call.database, name)? {
        call.written()?;
        reply.i32("nIndexesWas", indexes as i32).str("ns", &call.namespace()?);
    }
    Ok(())
}
