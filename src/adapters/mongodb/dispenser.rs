//! One op against MongoDB: fill the holes of its command, send it, say what came back.

use super::super::{Dispenser, Failure, Outcome, Run, Scratch};
use super::defaults::{Choice, Defaults};
use super::failure;
use super::uri::Secrets;
use crate::functions::Context;
use crate::plan::{BindError, CommandTemplate};
use ::mongodb::Database;
use bson::{Bson, Document, RawDocumentBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What all ops of one activity share.
pub(super) struct Shared {
    pub(super) database: Database,
    pub(super) defaults: Defaults,
    pub(super) secrets: Secrets,
}

pub(super) struct CommandDispenser {
    template: CommandTemplate,
    shared: Arc<Shared>,
    /// What the connection string adds, decided with the first command: where all holes are filled in place
    /// the keys of the command do not change.
    choice: OnceLock<Choice>,
    /// Bytes of the longest command so far.
    longest: AtomicUsize,
}

impl CommandDispenser {
    pub(super) fn new(template: CommandTemplate, shared: Arc<Shared>) -> CommandDispenser {
        CommandDispenser { template, shared, choice: OnceLock::new(), longest: AtomicUsize::new(0) }
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

    async fn send(&self, command: Vec<u8>) -> Outcome {
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
                    partial: false,
                };
                return Outcome { bytes_sent, docs_returned: 0, failure: Some(failure) };
            }
        };
        let mut action = self.shared.database.run_raw_command(command);
        if let Some(selection) = selection {
            action = action.selection_criteria(selection.clone());
        }
        match action.await {
            Ok(reply) => Outcome {
                bytes_sent,
                docs_returned: documents(&reply),
                failure: failure::of_partial_write(&reply),
            },
            Err(error) => {
                let mut failure = failure::of_error(&error, &self.shared.secrets);
                if failure.name == "NamespaceExists" && self.template.command() == Some("create") {
                    failure.message.push_str(
                        "; drop it first with `tags=block:drop-collection`, or give another `database=`",
                    );
                }
                Outcome { bytes_sent, docs_returned: 0, failure: Some(failure) }
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
        let choice = self.choice(bytes);
        self.shared.defaults.append(choice, bytes);
        if bytes.len() > longest {
            self.longest.store(bytes.len(), Relaxed);
        }
        Ok(())
    }

    fn run<'a>(&'a self, _cycle: i64, scratch: &'a mut Scratch) -> Run<'a> {
        // The driver wants to own what it sends.
        let command = if scratch.keep { scratch.bytes.clone() } else { std::mem::take(&mut scratch.bytes) };
        Run::Pending(Box::pin(self.send(command)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

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
