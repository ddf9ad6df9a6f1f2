//! `hello`, also under its old names: what the server is and which limits it has. A standalone server, since
//! nothing is replicated.

use crate::server::command::{Call, CommandRow, Counter, now_millis};
use crate::server::error::CommandError;
use crate::server::raw::{self, Writer};
use crate::wire::{MAX_DOCUMENT_BYTES, MAX_MESSAGE_BYTES, MAX_WRITE_BATCH};

pub const ROW: CommandRow = CommandRow {
    names: &["hello", "isMaster", "ismaster"],
    // The client's introduction, and offers that a server may leave unanswered.
    fields: &[
        "helloOk",
        "client",
        "compression",
        "loadBalanced",
        "saslSupportedMechs",
        "speculativeAuthenticate",
        "topologyVersion",
        "maxAwaitTimeMS",
        "hostInfo",
        "backpressure",
    ],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run,
};

/// The protocol of MongoDB 8.0.
const MAX_WIRE_VERSION: i32 = 25;

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let today = raw::elements(call.body).next().is_some_and(|first| first.name == b"hello");
    reply.bool("helloOk", true);
    reply
        .bool(if today { "isWritablePrimary" } else { "ismaster" }, true)
        .i32("maxBsonObjectSize", MAX_DOCUMENT_BYTES as i32)
        .i32("maxMessageSizeBytes", MAX_MESSAGE_BYTES as i32)
        .i32("maxWriteBatchSize", MAX_WRITE_BATCH as i32)
        .date("localTime", now_millis())
        .i32("logicalSessionTimeoutMinutes", 30)
        .i32("connectionId", call.connection)
        .i32("minWireVersion", 0)
        .i32("maxWireVersion", MAX_WIRE_VERSION)
        .bool("readOnly", false);
    Ok(())
}
