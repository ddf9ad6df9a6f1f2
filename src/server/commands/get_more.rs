//! `getMore`: the next batch of a cursor.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::raw::{Writer, kind};

pub const ROW: CommandRow = CommandRow {
    names: &["getMore"],
    fields: &["collection", "batchSize"],
    refused: &["term", "lastKnownCommittedOpTime"],
    stable: true,
    long: false,
    counter: Counter::GetMore,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    if call.own.kind != kind::INT64 {
        return Err(call.wrong_type("getMore", call.own, "long"));
    }
    let id = call.own.as_i64().unwrap_or_default();
    let collection =
        call.text("collection")?.ok_or_else(|| CommandError::missing_field(call.name, "collection"))?;
    let size = match call.number("batchSize")? {
        Some(0) => {
            return Err(CommandError::new(
                code::BAD_VALUE,
                "Batch size for getMore must be positive, but received: 0",
            ));
        }
        Some(size) => usize::try_from(size).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let namespace = format!("{}.{collection}", call.database);
    call.shared.count(Counter::GetMore, 1);
    let mut cursor = call.shared.cursors.take(id, &namespace)?;
    let mut more = Ok(false);
    reply.document("cursor", |w| {
        w.array("nextBatch", |array| more = cursor.fill(array, size));
        let left = if let Ok(true) = more { id } else { 0 };
        w.i64("id", left).str("ns", &namespace);
    });
    if more? {
        call.shared.cursors.put_back(id, cursor);
    }
    Ok(())
}
