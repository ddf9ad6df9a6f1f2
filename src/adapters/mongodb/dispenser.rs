//! One op against MongoDB: fill the holes of its command, send it, say what came back.

use super::super::{Dispenser, Failure, Outcome, Run, Scratch};
use super::defaults::{Choice, Defaults};
use super::uri::Secrets;
use super::{failure, wrong_database_name};
use crate::functions::Context;
use crate::plan::{BindError, Checks, CommandTemplate, Expected, TextTemplate, extended_json};
use ::mongodb::{Client, Database};
use bson::{Bson, Document, RawDocument, RawDocumentBuf};
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
}

/// Where the commands of an op go.
enum Place {
    /// Always there.
    Fixed(Database),
    /// To the database of this name, which depends on the cycle.
    Bound(TextTemplate),
}

pub(super) struct CommandDispenser {
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
        let place = match database {
            None => Place::Fixed(shared.database.clone()),
            Some(text) => match text.literal() {
                Some(name) => Place::Fixed(shared.client.database(name)),
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

    /// Prints a reply on a line of its own, as canonical extended JSON.
    fn emit(&self, cycle: i64, reply: &Document) -> io::Result<()> {
        let text = match reply.to_vec() {
            Ok(bytes) => extended_json::canonical(&bytes).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        writeln!(io::stdout().lock(), "{cycle}\t{}\t{text}", self.name)
    }

    /// What is wrong with a reply that is ok.
    fn failure_of(&self, expected: &Expected, reply: &Document) -> Option<Failure> {
        if let Some(failure) = failure::of_partial_write(reply) {
            return Some(failure);
        }
        let checks = self.checks.as_ref()?;
        // The driver hands out documents; what it read can be written.
        let bytes = reply.to_vec().ok()?;
        checks.check(expected, RawDocument::from_bytes(&bytes).ok()?).err().map(Failure::from)
    }

    async fn send(&self, cycle: i64, command: Vec<u8>, target: &str, expected: &Expected) -> Outcome {
        let bytes_sent = command.len() as u64;
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
            Place::Fixed(database) => database,
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
                let mut failure = self.failure_of(expected, &reply);
                if self.emits
                    && let Err(error) = self.emit(cycle, &reply)
                {
                    failure.get_or_insert(Failure {
                        name: "WriteFailed".into(),
                        exception: Some("RuntimeException"),
                        message: format!("the reply cannot be printed: {error}"),
                        ..Failure::default()
                    });
                }
                Outcome {
                    bytes_sent,
                    docs_returned: documents(&reply),
                    docs_written: written(self.template.command(), &reply),
                    failure,
                }
            }
            Err(error) => {
                let mut failure = failure::of_error(&error, &self.shared.secrets);
                if failure.name == "NamespaceExists" && self.template.command() == Some("create") {
                    failure.message.push_str(
                        "; drop it first with `tags=block:drop-collection`, or give another `database=`",
                    );
                }
                Outcome { bytes_sent, failure: Some(failure), ..Outcome::default() }
            }
        }
    }
}

impl Dispenser for CommandDispenser {
    fn bind(&self, cycle: i64, context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError> {
        let bytes = &mut scratch.bytes;
        // The driver may have taken the bytes of the last op: make room for this one at once.
        bytes.clear();
        let longest = self.longest.load(Relaxed);
        bytes.reserve(longest);
        self.template.bind(cycle, context, bytes)?;
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

/// Documents that a reply says were written: `n` of a write command.
fn written(command: Option<&str>, reply: &Document) -> u64 {
    if !matches!(command, Some("insert" | "update" | "delete")) {
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
