//! From a message to a command's function and back: finds the row, refuses what it does not know, takes the
//! fields that every command has.

use super::commands::COMMANDS;
use super::cursor::Cursors;
use super::durability::Ticket;
use super::error::{CommandError, code};
use super::raw::{self, Value, Writer};
use super::store::Store;
use crate::wire::{self, Message, Sequence};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// One wire command.
pub struct CommandRow {
    /// Its name, and older names of it.
    pub names: &'static [&'static str],
    /// The fields it takes beside its own and those of every command.
    pub fields: &'static [&'static str],
    /// Fields that MongoDB has and this server refuses by name, unless they are `false`.
    pub refused: &'static [&'static str],
    /// Whether it is in MongoDB's Stable API, version 1.
    pub stable: bool,
    /// Whether it may take long: then the runtime's thread is handed over first.
    pub long: bool,
    /// The counter of `serverStatus` that it raises.
    pub counter: Counter,
    /// Appends the fields of its reply, without `ok`.
    pub run: fn(&Call<'_>, &mut Writer<'_>) -> Result<(), CommandError>,
}

/// `opcounters` of `serverStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Insert,
    Query,
    Update,
    Delete,
    GetMore,
    Command,
}

/// Names of [`Counter`] in their order.
pub const COUNTERS: [&str; 6] = ["insert", "query", "update", "delete", "getmore", "command"];

/// What all connections share.
pub struct Shared {
    pub store: Store,
    pub cursors: Cursors,
    pub started: Instant,
    pub port: u16,
    pub operations: [AtomicU64; COUNTERS.len()],
    pub connections: AtomicU64,
    pub connections_made: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub requests: AtomicU64,
}

impl Shared {
    pub fn new(store: Store, port: u16) -> Shared {
        let zero = || AtomicU64::new(0);
        Shared {
            store,
            cursors: Cursors::default(),
            started: Instant::now(),
            port,
            operations: [zero(), zero(), zero(), zero(), zero(), zero()],
            connections: zero(),
            connections_made: zero(),
            bytes_in: zero(),
            bytes_out: zero(),
            requests: zero(),
        }
    }

    /// Raises a counter of `serverStatus`; inserts, updates and deletes count each document or statement.
    pub fn count(&self, counter: Counter, by: usize) {
        self.operations[counter as usize].fetch_add(by as u64, Ordering::Relaxed);
    }
}

/// A command being run.
pub struct Call<'a> {
    pub shared: &'a Shared,
    pub name: &'a str,
    pub body: &'a [u8],
    pub sequences: &'a [Sequence<'a>],
    pub database: &'a str,
    /// The value of the command's own field: mostly the collection.
    pub own: Value<'a>,
    /// When `maxTimeMS` is over.
    pub deadline: Option<Instant>,
    pub connection: i32,
    ticket: Cell<Option<Ticket>>,
}

/// What is left to do for a message when its command has run.
pub struct Outcome {
    /// Whether the client waits for the reply.
    pub reply: bool,
    /// What must be on disk before it gets it.
    pub ticket: Option<Ticket>,
    /// Where the reply begins in the buffer, so that it can be replaced if the disk fails.
    pub start: usize,
    /// The request's number.
    pub request: i32,
}

/// Fields that every command takes.
const GENERIC: &[&str] = &[
    "$db",
    "lsid",
    "$readPreference",
    "$clusterTime",
    "readConcern",
    "writeConcern",
    "maxTimeMS",
    "comment",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "txnNumber",
    "autocommit",
    "startTransaction",
];

impl<'a> Call<'a> {
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        raw::get(self.body, name.as_bytes())
    }

    /// The collection that the command's own field names.
    pub fn collection(&self) -> Result<&'a str, CommandError> {
        let name = self.own.as_str().ok_or_else(|| {
            CommandError::new(
                code::INVALID_NAMESPACE,
                format!("collection name has invalid type {}, expected string", self.own.type_name()),
            )
        })?;
        check_collection(self.database, name)?;
        Ok(name)
    }

    /// `database.collection`
    pub fn namespace(&self) -> Result<String, CommandError> {
        Ok(format!("{}.{}", self.database, self.collection()?))
    }

    /// A boolean field; `false` if it is missing.
    pub fn flag(&self, name: &str) -> Result<bool, CommandError> {
        self.flag_or(name, false)
    }

    pub fn flag_or(&self, name: &str, otherwise: bool) -> Result<bool, CommandError> {
        match self.field(name) {
            None => Ok(otherwise),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong_type(name, value, "bool")),
        }
    }

    /// A number that is not negative.
    pub fn number(&self, name: &str) -> Result<Option<u64>, CommandError> {
        let Some(value) = self.field(name) else { return Ok(None) };
        if value.is_null() {
            return Ok(None);
        }
        match value.as_i64() {
            Some(number) if number >= 0 => Ok(Some(number as u64)),
            Some(number) => Err(CommandError::new(
                code::NEGATIVE,
                format!("BSON field '{name}' value must be >= 0, actual value '{number}'"),
            )),
            None => Err(self.wrong_type(name, value, "long")),
        }
    }

    pub fn document(&self, name: &str) -> Result<Option<&'a [u8]>, CommandError> {
        match self.field(name) {
            None => Ok(None),
            Some(value) if value.is_null() => Ok(None),
            Some(value) => {
                value.as_document().map(Some).ok_or_else(|| self.wrong_type(name, value, "object"))
            }
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>, CommandError> {
        match self.field(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong_type(name, value, "string")),
        }
    }

    /// The documents of a list that may be in the body or beside it.
    pub fn list(&self, name: &str) -> Result<Vec<&'a [u8]>, CommandError> {
        if let Some(sequence) = self.sequences.iter().find(|sequence| sequence.identifier == name) {
            return sequence
                .documents()
                .map(|document| {
                    let bytes = document.as_bytes();
                    raw::check(bytes).map_err(|what| {
                        CommandError::new(
                            code::INVALID_BSON,
                            format!("a document of '{name}' is malformed: {what}"),
                        )
                    })?;
                    Ok(bytes)
                })
                .collect();
        }
        let Some(value) = self.field(name) else {
            return Err(CommandError::missing_field(self.name, name));
        };
        let Some(array) = value.as_array() else { return Err(self.wrong_type(name, value, "array")) };
        raw::elements(array)
            .map(|item| {
                item.value.as_document().ok_or_else(|| {
                    self.wrong_type(&format!("{name}.{}", item.name_str()), item.value, "object")
                })
            })
            .collect()
    }

    /// To be called when the command has written: the reply waits for the disk if the client asked for it.
    pub fn written(&self) -> Result<(), CommandError> {
        self.ticket.set(Some(self.shared.store.durability.written()?));
        Ok(())
    }

    pub fn wrong_type(&self, field: &str, value: Value<'_>, expected: &str) -> CommandError {
        CommandError::wrong_type(&format!("{}.{field}", self.name), value.type_name(), expected)
    }
}

fn check_collection(database: &str, name: &str) -> Result<(), CommandError> {
    let bad = name.is_empty()
        || name.starts_with('.')
        || name.contains(['$', '\0'])
        || name.starts_with("system.")
        || database.len() + 1 + name.len() > 255;
    if bad {
        return Err(CommandError::new(
            code::INVALID_NAMESPACE,
            format!("Invalid collection name: {database}.{name}"),
        ));
    }
    Ok(())
}

fn check_database(name: &str) -> Result<(), CommandError> {
    let bad = name.is_empty() || name.len() > 63 || name.contains(['/', '\\', '.', ' ', '"', '$', '\0']);
    if bad {
        return Err(CommandError::new(code::INVALID_NAMESPACE, format!("Invalid database name: '{name}'")));
    }
    Ok(())
}

/// Runs the command in a message and appends the reply to `out`.
pub fn answer(
    shared: &Shared,
    connection: i32,
    message: &[u8],
    out: &mut Vec<u8>,
) -> Result<Outcome, wire::WireError> {
    let (header, message) = wire::parse(message)?;
    shared.requests.fetch_add(1, Ordering::Relaxed);
    shared.bytes_in.fetch_add(header.length as u64, Ordering::Relaxed);
    let start = out.len();
    let reply_number = header.request_id.wrapping_add(1);
    let (reply, ticket) = match message {
        Message::Msg(msg) => {
            let reply_start = wire::begin_msg(out, reply_number, header.request_id, 0);
            let ticket = run(shared, connection, msg.body.as_bytes(), &msg.sequences, out);
            wire::finish_msg(out, reply_start);
            (!msg.more_to_come(), ticket)
        }
        Message::Query(query) => {
            let mut document = Vec::new();
            let body = query.query.as_bytes();
            // Commands of today must come as OP_MSG; the first word of a connection may come as ever.
            let first = raw::elements(body).next();
            let hello =
                first.as_ref().is_some_and(|e| matches!(e.name, b"hello" | b"isMaster" | b"ismaster"));
            if hello && query.collection.ends_with(".$cmd") {
                run(shared, connection, body, &[], &mut document);
            } else {
                let what = first.map(|element| element.name_str().to_owned()).unwrap_or_default();
                let error = CommandError::new(
                    code::UNSUPPORTED_OPCODE,
                    format!(
                        "Unsupported OP_QUERY command: {what}. The client driver may require an upgrade."
                    ),
                );
                document = raw::document(|w| error.write_to(w));
            }
            match bson::RawDocument::from_bytes(&document) {
                Ok(document) => wire::write_reply(out, reply_number, header.request_id, document),
                Err(_) => return Err(wire::WireError::Malformed("no reply could be made")),
            }
            (true, None)
        }
    };
    shared.bytes_out.fetch_add((out.len() - start) as u64, Ordering::Relaxed);
    Ok(Outcome { reply, ticket, start, request: header.request_id })
}

/// Replaces the reply of an outcome by an error that came up after the command had run.
pub fn replace_reply(outcome: &Outcome, error: &CommandError, out: &mut Vec<u8>) {
    out.truncate(outcome.start);
    let start = wire::begin_msg(out, outcome.request.wrapping_add(1), outcome.request, 0);
    let mut writer = Writer::new(out);
    error.write_to(&mut writer);
    writer.finish();
    wire::finish_msg(out, start);
}

/// Appends the reply document to `out`, and says what must be on disk before it is sent.
fn run(
    shared: &Shared,
    connection: i32,
    body: &[u8],
    sequences: &[Sequence<'_>],
    out: &mut Vec<u8>,
) -> Option<Ticket> {
    let start = out.len();
    let mut reply = Writer::new(out);
    match try_run(shared, connection, body, sequences, &mut reply) {
        Ok(ticket) => {
            reply.f64("ok", 1.0);
            reply.finish();
            ticket
        }
        Err(error) => {
            out.truncate(start);
            let mut reply = Writer::new(out);
            error.write_to(&mut reply);
            reply.finish();
            None
        }
    }
}

fn try_run(
    shared: &Shared,
    connection: i32,
    body: &[u8],
    sequences: &[Sequence<'_>],
    reply: &mut Writer<'_>,
) -> Result<Option<Ticket>, CommandError> {
    raw::check(body)
        .map_err(|what| CommandError::new(code::INVALID_BSON, format!("the command is malformed: {what}")))?;
    let Some(own) = raw::elements(body).next() else {
        return Err(CommandError::new(code::COMMAND_NOT_FOUND, "no such command: ''"));
    };
    let name = own.name_str();
    let Some(row) = COMMANDS.iter().find(|row| row.names.contains(&name)) else {
        return Err(CommandError::new(code::COMMAND_NOT_FOUND, format!("no such command: '{name}'")));
    };
    let mut generic = Generic::default();
    for (position, element) in raw::elements(body).enumerate().skip(1) {
        let (field, value) = (element.name_str(), element.value);
        if GENERIC.contains(&field) {
            generic.take(field, value)?;
        } else if row.refused.contains(&field) {
            let harmless = value.as_bool() == Some(false) || value.is_null();
            if !harmless {
                return Err(CommandError::not_implemented(format_args!("the option `{field}` of {name}")));
            }
        } else if !row.fields.contains(&field) {
            return Err(CommandError::unknown_field(name, field));
        }
        // A field given twice would be taken once and ignored once.
        if position > 1 && raw::elements(body).take(position).any(|earlier| earlier.name == element.name) {
            return Err(CommandError::new(
                code::DUPLICATE_FIELD,
                format!("BSON field '{name}.{field}' is a duplicate field"),
            ));
        }
    }
    for sequence in sequences {
        if !row.fields.contains(&sequence.identifier) {
            return Err(CommandError::unknown_field(name, sequence.identifier));
        }
        if raw::get(body, sequence.identifier.as_bytes()).is_some() {
            return Err(CommandError::new(
                code::DUPLICATE_FIELD,
                format!("'{}' is in the command and beside it", sequence.identifier),
            ));
        }
    }
    if generic.strict && !row.stable {
        return Err(CommandError::new(
            code::API_STRICT_ERROR,
            format!("Provided apiStrict:true, but the command {name} is not in API Version 1"),
        ));
    }
    if generic.transaction {
        return Err(CommandError::new(
            code::ILLEGAL_OPERATION,
            "Transaction numbers are only allowed on a replica set member or mongos; the embedded server has no \
             transactions",
        ));
    }
    let database = generic.database.unwrap_or("admin");
    check_database(database)?;
    let call = Call {
        shared,
        name: row.names[0],
        body,
        sequences,
        database,
        own: own.value,
        deadline: generic.deadline,
        connection,
        ticket: Cell::new(None),
    };
    if row.counter == Counter::Command {
        shared.count(Counter::Command, 1);
    }
    const MUCH: usize = 64 << 10;
    let bytes = body.len() + sequences.iter().map(Sequence::byte_len).sum::<usize>();
    if row.long || bytes > MUCH {
        tokio::task::block_in_place(|| (row.run)(&call, reply))?;
    } else {
        (row.run)(&call, reply)?;
    }
    Ok(call.ticket.get().filter(|_| generic.wait_for_disk))
}

/// What the fields of every command say.
#[derive(Default)]
struct Generic<'a> {
    database: Option<&'a str>,
    deadline: Option<Instant>,
    wait_for_disk: bool,
    strict: bool,
    transaction: bool,
}

impl<'a> Generic<'a> {
    fn take(&mut self, field: &str, value: Value<'a>) -> Result<(), CommandError> {
        let wrong = |expected| Err(CommandError::wrong_type(field, value.type_name(), expected));
        match field {
            "$db" => match value.as_str() {
                Some(name) => self.database = Some(name),
                None => return wrong("string"),
            },
            "maxTimeMS" => match value.as_i64() {
                Some(0) => {}
                Some(millis) if (1..=i64::from(i32::MAX)).contains(&millis) => {
                    self.deadline = Some(Instant::now() + Duration::from_millis(millis as u64));
                }
                _ => {
                    return Err(CommandError::new(
                        code::BAD_VALUE,
                        format!("{} value for maxTimeMS is out of range", value.shown()),
                    ));
                }
            },
            "writeConcern" => match value.as_document() {
                Some(concern) => self.wait_for_disk = write_concern(concern)?,
                None => return wrong("object"),
            },
            "readConcern" => match value.as_document() {
                Some(concern) => read_concern(concern)?,
                None => return wrong("object"),
            },
            "apiVersion" if value.as_str() != Some("1") => {
                return Err(CommandError::new(
                    code::API_VERSION_ERROR,
                    format!("API version must be \"1\", found {}", value.shown()),
                ));
            }
            "apiStrict" => self.strict = value.as_bool().unwrap_or_default(),
            "txnNumber" | "startTransaction" | "autocommit" => self.transaction = true,
            // Who asks, where to read and what for: one server has one answer to that.
            _ => {}
        }
        Ok(())
    }
}

/// Whether the write concern waits for the disk.
fn write_concern(concern: &[u8]) -> Result<bool, CommandError> {
    let mut wait = false;
    for element in raw::elements(concern) {
        let value = element.value;
        match element.name_str() {
            "w" => match (value.as_str(), value.as_i64()) {
                (Some("majority"), _) => wait = true,
                (_, Some(0 | 1)) => {}
                (Some(mode), _) => {
                    return Err(CommandError::new(
                        code::BAD_VALUE,
                        format!(
                            "cannot use non-majority 'w' mode \"{mode}\" when a host is not a member of a replica set"
                        ),
                    ));
                }
                (None, Some(_)) => {
                    return Err(CommandError::new(
                        code::BAD_VALUE,
                        "cannot use 'w' > 1 when a host is not replicated",
                    ));
                }
                (None, None) => {
                    return Err(CommandError::new(code::FAILED_TO_PARSE, "w has to be a number or a string"));
                }
            },
            "j" | "fsync" => wait |= value.as_bool().unwrap_or_default(),
            // One member has nobody to wait for; `provenance` tells where the concern came from.
            "wtimeout" | "provenance" => {}
            other => return Err(CommandError::unknown_field("writeConcern", other)),
        }
    }
    Ok(wait)
}

fn read_concern(concern: &[u8]) -> Result<(), CommandError> {
    for element in raw::elements(concern) {
        match (element.name_str(), element.value.as_str()) {
            ("level", Some("local" | "available" | "majority" | "linearizable")) => {}
            ("level", Some("snapshot")) => {
                return Err(CommandError::not_implemented("readConcern level snapshot"));
            }
            ("level", _) => {
                return Err(CommandError::new(
                    code::FAILED_TO_PARSE,
                    format!("readConcern.level {} is not a read concern", element.value.shown()),
                ));
            }
            // One server has seen every write that it acknowledged.
            ("afterClusterTime" | "provenance", _) => {}
            (other, _) => return Err(CommandError::unknown_field("readConcern", other)),
        }
    }
    Ok(())
}

/// Milliseconds since 1970.
pub fn now_millis() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}
