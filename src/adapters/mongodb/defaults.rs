//! What the connection string says of commands that do not say it themselves: `writeConcern`, `readConcern`
//! and read preference. Encoded once; a command gets the bytes appended, nothing is parsed again.

use ::mongodb::options::{ClientOptions, ReadConcern, SelectionCriteria, WriteConcern};
use bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

/// Commands that take a `writeConcern`.
const WRITES: &[&str] = &[
    "insert",
    "update",
    "delete",
    "findAndModify",
    "findandmodify",
    "bulkWrite",
    "create",
    "createIndexes",
    "collMod",
    "convertToCapped",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "deleteIndexes",
    "renameCollection",
];

/// Commands that take a `readConcern` and a read preference. `aggregate` is one unless it ends in `$out` or
/// `$merge`: then it goes to the primary and takes a `writeConcern` too.
const READS: &[&str] = &["find", "aggregate", "count", "distinct"];

/// What one command gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Choice {
    write_concern: bool,
    read_concern: bool,
    pub(super) read_preference: bool,
}

/// Defaults of the connection string, ready to be appended.
#[derive(Default)]
pub(super) struct Defaults {
    /// BSON elements without their document; empty where the connection string says nothing.
    write_concern: Vec<u8>,
    read_concern: Vec<u8>,
    pub(super) selection: Option<SelectionCriteria>,
}

impl Defaults {
    /// Takes the defaults out of `options`, so that the driver does not apply its own rules to them.
    pub(super) fn take(options: &mut ClientOptions) -> Defaults {
        Defaults {
            write_concern: options
                .write_concern
                .take()
                .and_then(|it| encode_write_concern(&it))
                .unwrap_or_default(),
            read_concern: options
                .read_concern
                .take()
                .and_then(|it| encode_read_concern(&it))
                .unwrap_or_default(),
            selection: options.selection_criteria.clone(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.write_concern.is_empty() && self.read_concern.is_empty() && self.selection.is_none()
    }

    /// Decides what `command` (a whole BSON document) gets. Bytes that are not BSON get nothing: the driver
    /// will say so.
    pub(super) fn choose(&self, command: &[u8]) -> Choice {
        self.decide(command).unwrap_or_default()
    }

    fn decide(&self, command: &[u8]) -> Option<Choice> {
        let command = RawDocument::from_bytes(command).ok()?;
        let mut name = None;
        let (mut own_write, mut own_read, mut own_preference) = (false, false, false);
        for element in command.iter_elements() {
            let key = element.ok()?.key().as_str();
            name.get_or_insert(key);
            own_write |= key == "writeConcern";
            own_read |= key == "readConcern";
            own_preference |= key == "$readPreference";
        }
        let name = name?;
        let reads = READS.contains(&name);
        let writes = WRITES.contains(&name) || (name == "aggregate" && ends_in_a_write(command));
        Some(Choice {
            write_concern: writes && !own_write && !self.write_concern.is_empty(),
            read_concern: reads && !own_read && !self.read_concern.is_empty(),
            read_preference: reads && !writes && !own_preference && self.selection.is_some(),
        })
    }

    /// Appends what `choice` names to `command`, a whole BSON document.
    pub(super) fn append(&self, choice: Choice, command: &mut Vec<u8>) {
        if choice.write_concern {
            append_element(&self.write_concern, command);
        }
        if choice.read_concern {
            append_element(&self.read_concern, command);
        }
    }
}

/// Appends an encoded element to a BSON document, which may have insets: before its final zero byte, then sets
/// its length.
fn append_element(element: &[u8], document: &mut Vec<u8>) {
    document.pop();
    document.extend_from_slice(element);
    document.push(0);
    let added = i32::try_from(element.len()).unwrap_or(i32::MAX);
    if let Some(length) = document.first_chunk_mut::<4>() {
        *length = i32::from_le_bytes(*length).saturating_add(added).to_le_bytes();
    }
}

/// The elements of a document, without its length and final zero byte.
fn elements(document: RawDocumentBuf) -> Vec<u8> {
    let bytes = document.into_bytes();
    bytes[4..bytes.len() - 1].to_vec()
}

fn encode_write_concern(concern: &WriteConcern) -> Option<Vec<u8>> {
    // The driver's own serialisation knows the names that the server expects (`w`, `j`, `wtimeout`).
    let document = bson::serialize_to_raw_document_buf(concern).ok()?;
    (!document.is_empty()).then(|| elements(rawdoc! { "writeConcern": document }))
}

fn encode_read_concern(concern: &ReadConcern) -> Option<Vec<u8>> {
    let document = bson::serialize_to_raw_document_buf(concern).ok()?;
    Some(elements(rawdoc! { "readConcern": document }))
}

/// The last stage of an aggregation's pipeline is `$out` or `$merge`.
fn ends_in_a_write(command: &RawDocument) -> bool {
    let Ok(Some(RawBsonRef::Array(pipeline))) = command.get("pipeline") else {
        return false;
    };
    let last = pipeline.into_iter().filter_map(Result::ok).last();
    match last {
        Some(RawBsonRef::Document(stage)) => {
            stage.iter().next().and_then(Result::ok).is_some_and(|(key, _)| {
                let key = key.as_str();
                key == "$out" || key == "$merge"
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::mongodb::options::{Acknowledgment, ReadPreference};
    use bson::{Document, doc};
    use std::time::Duration;

    fn defaults(write: Option<WriteConcern>, read: Option<ReadConcern>, preference: bool) -> Defaults {
        let mut options = ClientOptions::default();
        options.write_concern = write;
        options.read_concern = read;
        options.selection_criteria =
            preference.then(|| ReadPreference::SecondaryPreferred { options: None }.into());
        Defaults::take(&mut options)
    }

    fn sent(defaults: &Defaults, command: Document) -> (Document, bool) {
        let mut bytes = bson::serialize_to_vec(&command).unwrap();
        let choice = defaults.choose(&bytes);
        defaults.append(choice, &mut bytes);
        (bson::deserialize_from_slice(&bytes).unwrap(), choice.read_preference)
    }

    #[test]
    fn a_command_gets_the_concerns_that_it_takes_and_does_not_set() {
        let mut majority: WriteConcern = Acknowledgment::Majority.into();
        majority.journal = Some(true);
        majority.w_timeout = Some(Duration::from_millis(500));
        let all = defaults(Some(majority), Some(ReadConcern::majority()), true);
        let write = doc! { "w": "majority", "wtimeout": 500, "j": true };
        let read = doc! { "level": "majority" };
        for (command, expected, preference) in [
            (doc! { "insert": "c" }, doc! { "insert": "c", "writeConcern": write.clone() }, false),
            (doc! { "create": "c" }, doc! { "create": "c", "writeConcern": write.clone() }, false),
            (
                doc! { "insert": "c", "writeConcern": { "w": 1 } },
                doc! { "insert": "c", "writeConcern": { "w": 1 } },
                false,
            ),
            (doc! { "find": "c" }, doc! { "find": "c", "readConcern": read.clone() }, true),
            (doc! { "find": "c", "readConcern": {} }, doc! { "find": "c", "readConcern": {} }, true),
            (
                doc! { "find": "c", "$readPreference": { "mode": "primary" } },
                doc! { "find": "c", "$readPreference": { "mode": "primary" }, "readConcern": read.clone() },
                false,
            ),
            (
                doc! { "aggregate": "c", "pipeline": [{ "$match": {} }] },
                doc! { "aggregate": "c", "pipeline": [{ "$match": {} }], "readConcern": read.clone() },
                true,
            ),
            (
                doc! { "aggregate": "c", "pipeline": [{ "$match": {} }, { "$out": "d" }] },
                doc! { "aggregate": "c", "pipeline": [{ "$match": {} }, { "$out": "d" }],
                "writeConcern": write.clone(), "readConcern": read.clone() },
                false,
            ),
            (doc! { "ping": 1 }, doc! { "ping": 1 }, false),
            (doc! { "listCollections": 1 }, doc! { "listCollections": 1 }, false),
        ] {
            let (got, with_preference) = sent(&all, command.clone());
            let sorted = |document: &Document| {
                let mut keys: Vec<_> = document.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
                keys.sort();
                keys
            };
            assert_eq!(sorted(&got), sorted(&expected), "{command}");
            assert_eq!(with_preference, preference, "{command}");
        }
    }

    #[test]
    fn a_connection_string_that_says_nothing_adds_nothing() {
        let none = defaults(None, None, false);
        assert!(none.is_empty());
        assert_eq!(sent(&none, doc! { "insert": "c" }).0, doc! { "insert": "c" });
        assert_eq!(none.choose(&[]), Choice::default());
        assert_eq!(none.choose(&[5, 0, 0, 0, 0]), Choice::default());
    }
}
