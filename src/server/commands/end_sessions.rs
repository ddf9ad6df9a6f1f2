//! `endSessions`, `refreshSessions`: sessions hold nothing here, so there is nothing to end or refresh.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["endSessions", "refreshSessions"],
    fields: &[],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, _: &mut Writer<'_>) -> Result<(), CommandError> {
    if call.own.is_array() { Ok(()) } else { Err(call.wrong_type(call.name, call.own, "array")) }
}
