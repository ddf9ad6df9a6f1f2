//! One op against MongoDB: fill the holes of its command, send it, say what came back.

use super::super::{Dispenser, Failure, Outcome, Run, Scratch};
use super::defaults::{Choice, Defaults};
use super::lane::{Flight, Lane, Letter, Summary, database_element};
use super::uri::Secrets;
use super::{failure, wrong_database_name};
use crate::functions::Context;
use crate::plan::{BindError, Checks, CommandTemplate, Expected, TextTemplate, extended_json};
use ::mongodb::{Client, Database};
use bson::{Bson, Document, RawDocument, RawDocumentBuf};
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What all ops of one activity share.
pub(super) struct Shared {
    pub(super) client: Client,
    /// Of all commands that do not name their own.
    pub(super) database: Database,
    pub(super) defaults: Defaults,
    pub(super) secrets: Secrets,
    /// Ops go this way, if there is one; else through the driver.
    pub(super) lane: Option<Lane>,
}

/// Where the commands of an op go.
enum Place {
    /// Always there; with the element that names it.
    Fixed(Database, Vec<u8>),
    /// To the database of this name, which depends on the cycle.
    Bound(TextTemplate),
}

pub struct CommandDispenser {
    /// `block__op`.
    name: String,
    template: CommandTemplate,
    place: Place,
    /// Replies are printed.
    emits: bool,
    /// What is held against replies.
    checks: Option<Checks>,
    shared: Arc<Shared>,
    /// What the connection string adds, decided with the first command: where all holes are filled in place
    /// the keys of the command do not change.
    choice: OnceLock<Choice>,
    /// Likewise.
    traits: OnceLock<Traits>,
    /// Bytes of the longest command so far.
    longest: AtomicUsize,
}

impl CommandDispenser {
    pub(super) fn new(
        name: String,
        template: CommandTemplate,
        database: Option<TextTemplate>,
        checks: Option<Checks>,
        shared: Arc<Shared>,
        emits: bool,
    ) -> CommandDispenser {
        let fixed = |database: Database| {
            let element = database_element(database.name());
            Place::Fixed(database, element)
        };
        let place = match database {
            None => fixed(shared.database.clone()),
            Some(text) => match text.literal() {
                Some(name) => fixed(shared.client.database(name)),
                None => Place::Bound(text),
            },
        };
        CommandDispenser {
            name,
            template,
            place,
            emits,
            checks,
            shared,
            choice: OnceLock::new(),
            traits: OnceLock::new(),
            longest: AtomicUsize::new(0),
        }
    }

    fn choice(&self, command: &[u8]) -> Choice {
        if self.shared.defaults.is_empty() {
            Choice::default()
        } else if self.template.is_fast() {
            *self.choice.get_or_init(|| self.shared.defaults.choose(command))
        } else {
            self.shared.defaults.choose(command)
        }
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Prints a reply on a line of its own, as canonical extended JSON.
    fn emit(&self, cycle: i64, reply: &[u8]) -> io::Result<()> {
        let text = extended_json::canonical(reply).unwrap_or_else(|error| error);
        writeln!(io::stdout().lock(), "{cycle}\t{}\t{text}", self.name)
    }

    /// Prints a reply, if replies are printed.
    fn emit_if_asked(&self, cycle: i64, reply: impl FnOnce() -> Vec<u8>) -> Option<Failure> {
        if !self.emits {
            return None;
        }
        let error = self.emit(cycle, &reply()).err()?;
        Some(Failure {
            name: "WriteFailed".into(),
            exception: Some("RuntimeException"),
            message: format!("the reply cannot be printed: {error}"),
            ..Failure::default()
        })
    }

    /// What of a reply that is ok is not as expected.
    fn unexpected(&self, expected: &Expected, reply: &RawDocument) -> Option<Failure> {
        self.checks.as_ref()?.check(expected, reply).err().map(Failure::from)
    }

    /// What is wrong with a reply of the driver's that is ok; `checked`: it has to be as expected.
    fn failure_of(&self, expected: &Expected, reply: &Document, checked: bool) -> Option<Failure> {
        let partial = reply.contains_key("writeErrors") || reply.contains_key("writeConcernError");
        if !partial && !checked {
            return None;
        }
        // The driver hands out documents; what it read can be written.
        let reply = RawDocumentBuf::try_from(reply).ok()?;
        let unexpected = || if checked { self.unexpected(expected, &reply) } else { None };
        failure::of_partial_write(&reply).or_else(unexpected)
    }

    /// What came back over a connection of the lane.
    pub(super) fn read(&self, cycle: i64, expected: &Expected, reply: &RawDocument) -> Outcome {
        let summary = Summary::of(reply);
        let failure = summary.failure.map(|failure| self.explained(failure));
        let failure = failure.or_else(|| self.unexpected(expected, reply));
        let printed = self.emit_if_asked(cycle, || reply.as_bytes().to_vec());
        Outcome {
            bytes_sent: 0,
            docs_returned: summary.returned,
            docs_written: if writes(self.template.command()) { summary.n } else { 0 },
            failure: failure.or(printed),
        }
    }

    /// A failure with what there is to say about it for this op.
    pub(super) fn explained(&self, mut failure: Failure) -> Failure {
        if failure.name == "NamespaceExists" && self.template.command() == Some("create") {
            failure
                .message
                .push_str("; drop it first with `tags=block:drop-collection`, or give another `database=`");
        }
        failure
    }

    async fn send(&self, cycle: i64, command: Vec<u8>, target: &str, expected: &Expected) -> Outcome {
        let bytes_sent = command.len() as u64;
        // The reply to a write that nobody acknowledges says nothing of what it did.
        let checked = self.checks.is_some() && !self.is_unacknowledged(&command);
        let selection =
            self.shared.defaults.selection.as_ref().filter(|_| self.choice(&command).read_preference);
        let command = match RawDocumentBuf::from_bytes(command) {
            Ok(command) => command,
            Err(error) => {
                let failure = Failure {
                    name: "InvalidCommand".into(),
                    exception: Some("IllegalArgumentException"),
                    message: error.to_string(),
                    ..Failure::default()
                };
                return Outcome { bytes_sent, failure: Some(failure), ..Outcome::default() };
            }
        };
        let bound;
        let database = match &self.place {
            Place::Fixed(database, _) => database,
            Place::Bound(_) => {
                bound = self.shared.client.database(target);
                &bound
            }
        };
        let mut action = database.run_raw_command(command);
        if let Some(selection) = selection {
            action = action.selection_criteria(selection.clone());
        }
        match action.await {
            Ok(reply) => {
                let failure = self.failure_of(expected, &reply, checked);
                let printed = self.emit_if_asked(cycle, || reply.to_vec().unwrap_or_default());
                Outcome {
                    bytes_sent,
                    docs_returned: documents(&reply),
                    docs_written: written(self.template.command(), &reply),
                    failure: failure.or(printed),
                }
            }
            Err(error) => {
                let failure = self.explained(failure::of_error(&error, &self.shared.secrets));
                Outcome { bytes_sent, failure: Some(failure), ..Outcome::default() }
            }
        }
    }

    /// What the lane is to send for the op that was bound.
    fn letter<'a>(&'a self, scratch: &'a Scratch) -> Letter<'a> {
        let Scratch { bytes: command, insets, target, expected, .. } = scratch;
        let traits = self.traits(command);
        Letter {
            command,
            insets,
            expected,
            database: match &self.place {
                Place::Fixed(_, element) => Cow::Borrowed(element),
                Place::Bound(_) => Cow::Owned(database_element(target)),
            },
            reads: self.choice(command).read_preference,
            unacknowledged: self.is_unacknowledged(command),
            sessions: traits.sessions,
            compress: traits.compress,
        }
    }

    /// It is a write that nobody is to acknowledge. Only where its write concern depends on the cycle is it looked at.
    fn is_unacknowledged(&self, command: &[u8]) -> bool {
        self.traits(command).unacknowledged.unwrap_or_else(|| unacknowledged(command))
    }

    fn traits(&self, command: &[u8]) -> Traits {
        if self.template.is_fast() {
            *self.traits.get_or_init(|| Traits::of(command, self.template.is_bound("writeConcern")))
        } else {
            Traits::of(command, true)
        }
    }

    /// Nothing of a command is looked at any more before it is sent, so that long texts may stay where they lie.
    fn is_known(&self) -> bool {
        self.shared.lane.is_some()
            && self.template.is_fast()
            && self.traits.get().is_some_and(|traits| traits.unacknowledged.is_some())
            && (self.shared.defaults.is_empty() || self.choice.get().is_some())
    }
}

/// What follows from the keys of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traits {
    /// It is a write that nobody is to acknowledge; `None` if that depends on the cycle.
    unacknowledged: Option<bool>,
    sessions: bool,
    compress: bool,
}

/// Writes that may go unacknowledged.
const QUIET_WRITES: &[&str] = &["insert", "update", "delete", "bulkWrite"];

/// Commands that the driver sends without a session.
const SESSIONLESS: &[&str] = &["killcursors", "parallelcollectionscan"];

/// Commands that the protocol forbids to compress: those of connecting and authenticating.
const UNCOMPRESSED: &[&str] = &[
    "hello",
    "ismaster",
    "saslstart",
    "saslcontinue",
    "getnonce",
    "authenticate",
    "createuser",
    "updateuser",
    "copydbsaslstart",
    "copydbgetnonce",
    "copydb",
];

impl Traits {
    /// `varies`: its write concern depends on the cycle.
    fn of(command: &[u8], varies: bool) -> Traits {
        let document = RawDocument::from_bytes(command).ok();
        let mut keys = document.into_iter().flat_map(RawDocument::iter_elements).map_while(Result::ok);
        let name = keys.next().map(|it| it.key().as_str().to_owned()).unwrap_or_default();
        let small = name.to_ascii_lowercase();
        let says =
            QUIET_WRITES.contains(&name.as_str()) && keys.any(|it| it.key().as_str() == "writeConcern");
        Traits {
            unacknowledged: match (says, varies) {
                (false, _) => Some(false),
                (true, false) => Some(unacknowledged(command)),
                (true, true) => None,
            },
            sessions: !SESSIONLESS.contains(&small.as_str()),
            compress: !UNCOMPRESSED.contains(&small.as_str()),
        }
    }
}

/// `writeConcern: { w: 0 }` without a journal.
fn unacknowledged(command: &[u8]) -> bool {
    let concern = RawDocument::from_bytes(command).ok().and_then(|it| it.get_document("writeConcern").ok());
    concern.is_some_and(|concern| {
        let none = concern.get("w").ok().flatten().and_then(failure::number) == Some(0);
        none && !matches!(concern.get_bool("j"), Ok(true))
    })
}

impl Dispenser for CommandDispenser {
    fn bind(&self, cycle: i64, context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError> {
        let bytes = &mut scratch.bytes;
        // The driver may have taken the bytes of the last op: make room for this one at once.
        scratch.thread = context.thread;
        bytes.clear();
        let longest = self.longest.load(Relaxed);
        bytes.reserve(longest);
        if self.is_known() {
            self.template.bind_apart(cycle, context, bytes, &mut scratch.insets)?;
        } else {
            scratch.insets.clear();
            self.template.bind(cycle, context, bytes)?;
        }
        if let Place::Bound(name) = &self.place {
            bind_name(name, &self.name, cycle, context, &mut scratch.target)?;
        }
        if let Some(checks) = &self.checks {
            checks.bind(cycle, context, &mut scratch.expected)?;
        }
        let bytes = &mut scratch.bytes;
        let choice = self.choice(bytes);
        self.shared.defaults.append(choice, bytes);
        if bytes.len() > longest {
            self.longest.store(bytes.len(), Relaxed);
        }
        Ok(())
    }

    fn run<'a>(&'a self, cycle: i64, scratch: &'a mut Scratch) -> Run<'a> {
        if let Some(lane) = &self.shared.lane {
            let letter = self.letter(scratch);
            return Run::Flight(Flight::new(self, lane, cycle, scratch.thread, letter));
        }
        // The driver wants to own what it sends.
        let command = if scratch.keep { scratch.bytes.clone() } else { std::mem::take(&mut scratch.bytes) };
        Run::Pending(Box::pin(self.send(cycle, command, &scratch.target, &scratch.expected)))
    }
}

/// Makes the database name of a cycle in `target`.
fn bind_name(
    name: &TextTemplate,
    op: &str,
    cycle: i64,
    context: &mut Context,
    target: &mut String,
) -> Result<(), BindError> {
    let fail = |message| Err(BindError::Render { op: op.to_owned(), cycle, message });
    let mut bytes = std::mem::take(target).into_bytes();
    bytes.clear();
    name.bind(cycle, context, &mut bytes)?;
    match String::from_utf8(bytes) {
        Ok(bound) => match wrong_database_name(&bound) {
            None => {
                *target = bound;
                Ok(())
            }
            Some(wrong) => fail(format!("database `{bound}`: the name {wrong}")),
        },
        Err(_) => fail("the name of the database is not UTF-8 text".to_owned()),
    }
}

/// Documents that a reply brings: those of a cursor's batch, or the one of `findAndModify`.
fn documents(reply: &Document) -> u64 {
    match reply.get("cursor") {
        Some(Bson::Document(cursor)) => ["firstBatch", "nextBatch"]
            .iter()
            .find_map(|key| cursor.get(key).and_then(Bson::as_array))
            .map_or(0, |batch| batch.len() as u64),
        _ => matches!(reply.get("value"), Some(Bson::Document(_))).into(),
    }
}

/// A number of the server, which counts in whatever type it has at hand.
pub(super) fn count_of(value: &Bson) -> Option<u64> {
    match value {
        Bson::Int32(n) => u64::try_from(*n).ok(),
        Bson::Int64(n) => u64::try_from(*n).ok(),
        Bson::Double(n) => Some(*n as u64),
        _ => None,
    }
}

/// The reply's `n` is of documents written.
fn writes(command: Option<&str>) -> bool {
    matches!(command, Some("insert" | "update" | "delete"))
}

/// Documents that a reply says were written: `n` of a write command.
fn written(command: Option<&str>, reply: &Document) -> u64 {
    if !writes(command) {
        return 0;
    }
    reply.get("n").and_then(count_of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn documents_written_are_those_of_write_commands() {
        for (command, reply, count) in [
            (Some("insert"), doc! { "n": 8, "ok": 1 }, 8),
            (Some("update"), doc! { "n": 3_i64 }, 3),
            (Some("delete"), doc! { "n": 2.0 }, 2),
            (Some("insert"), doc! { "ok": 1 }, 0),
            (Some("insert"), doc! { "n": -1 }, 0),
            (Some("count"), doc! { "n": 7 }, 0),
            (None, doc! { "n": 7 }, 0),
        ] {
            assert_eq!(written(command, &reply), count, "{reply}");
        }
    }

    #[test]
    fn documents_are_those_of_a_batch_or_of_find_and_modify() {
        for (reply, count) in [
            (doc! { "cursor": { "firstBatch": [{}, {}], "id": 0_i64 } }, 2),
            (doc! { "cursor": { "nextBatch": [{}] } }, 1),
            (doc! { "cursor": { "firstBatch": [] } }, 0),
            (doc! { "value": { "_id": 1 }, "ok": 1 }, 1),
            (doc! { "value": null, "ok": 1 }, 0),
            (doc! { "n": 5, "ok": 1 }, 0),
        ] {
            assert_eq!(documents(&reply), count, "{reply}");
        }
    }
}
