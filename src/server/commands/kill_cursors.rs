//! `killCursors`: closes cursors.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::{Value, Writer, kind};

pub const ROW: CommandRow = CommandRow {
    names: &["killCursors"],
    fields: &["cursors"],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    call.collection()?;
    let cursors = call.field("cursors").ok_or_else(|| CommandError::missing_field(call.name, "cursors"))?;
    if !cursors.is_array() {
        return Err(call.wrong_type("cursors", cursors, "array"));
    }
    let ids: Vec<Value<'_>> = cursors.elements().map(|item| item.value).collect();
    if let Some(wrong) = ids.iter().find(|id| id.kind != kind::INT64) {
        return Err(call.wrong_type("cursors", *wrong, "long"));
    }
    let (closed, unknown): (Vec<_>, Vec<_>) =
        ids.into_iter().partition(|id| call.shared.cursors.close(id.as_i64().unwrap_or_default()));
    for (name, list) in [("cursorsKilled", closed), ("cursorsNotFound", unknown)] {
        reply.array(name, |w| {
            for (i, id) in list.into_iter().enumerate() {
                w.value(&i.to_string(), id);
            }
        });
    }
    reply.array("cursorsAlive", |_| {}).array("cursorsUnknown", |_| {});
    Ok(())
}
