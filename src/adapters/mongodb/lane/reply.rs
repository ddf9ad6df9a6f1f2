//! What a reply says, read from its bytes in one pass; no document is made of it.

use super::super::failure::{self, number};
use crate::adapters::Failure;
use bson::{RawBsonRef, RawDocument};

/// What is counted of a reply.
#[derive(Debug, Default, PartialEq)]
pub(in super::super) struct Summary {
    /// Documents of a cursor's batch, or the one of `findAndModify`.
    pub(in super::super) returned: u64,
    /// `n`: for a write command, the documents that it wrote.
    pub(in super::super) n: u64,
    pub(in super::super) failure: Option<Failure>,
}

impl Summary {
    /// Reads `reply`.
    pub(in super::super) fn of(reply: &RawDocument) -> Summary {
        let mut summary = Summary::default();
        let (mut ok, mut partial, mut value) = (false, false, false);
        for element in reply.iter_elements() {
            let Ok(element) = element else { return Summary::refused(reply) };
            match element.key().as_str() {
                "ok" => ok = matches!(element.value().map(number), Ok(Some(1))),
                "n" => summary.n = count(element.value().ok()),
                "cursor" => {
                    if let Ok(RawBsonRef::Document(cursor)) = element.value() {
                        match batch(cursor) {
                            Some(length) => summary.returned += length,
                            None => return Summary::unreadable_batch(),
                        }
                    }
                }
                "value" => value = matches!(element.value(), Ok(RawBsonRef::Document(_))),
                "writeErrors" | "writeConcernError" => partial = true,
                _ => {}
            }
        }
        if !ok {
            return Summary::refused(reply);
        }
        // A reply has either.
        if summary.returned == 0 && value {
            summary.returned = 1;
        }
        if partial {
            summary.failure = failure::of_partial_write(reply);
        }
        summary
    }

    fn refused(reply: &RawDocument) -> Summary {
        let unreadable = || failure::own("InvalidReply", "the reply cannot be read".to_owned());
        Summary { failure: Some(failure::of_refusal(reply).unwrap_or_else(unreadable)), ..Summary::default() }
    }

    fn unreadable_batch() -> Summary {
        let failure = failure::own("InvalidReply", "the batch of the reply cannot be read".to_owned());
        Summary { failure: Some(failure), ..Summary::default() }
    }
}

fn count(value: Option<RawBsonRef<'_>>) -> u64 {
    value.and_then(number).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

/// How many documents the batch of a cursor has; `None` if it cannot be read.
fn batch(cursor: &RawDocument) -> Option<u64> {
    for element in cursor.iter_elements() {
        let element = element.ok()?;
        if matches!(element.key().as_str(), "firstBatch" | "nextBatch") {
            let RawBsonRef::Array(batch) = element.value().ok()? else { return Some(0) };
            let mut length = 0;
            for document in batch.iter_elements() {
                document.ok()?;
                length += 1;
            }
            return Some(length);
        }
    }
    Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Document, RawDocumentBuf, doc};
    use proptest::prelude::*;

    fn summary(reply: &Document) -> Summary {
        Summary::of(&RawDocumentBuf::try_from(reply).expect("a document"))
    }

    #[test]
    fn documents_are_counted_where_they_stand() {
        for (reply, returned, n) in [
            (doc! { "cursor": { "firstBatch": [{}, {}], "id": 0_i64 }, "ok": 1 }, 2, 0),
            (doc! { "ok": 1.0, "cursor": { "id": 5_i64, "nextBatch": [{ "a": [1, 2] }] } }, 1, 0),
            (doc! { "cursor": { "firstBatch": [] }, "ok": 1 }, 0, 0),
            (doc! { "value": { "_id": 1 }, "ok": 1 }, 1, 0),
            (doc! { "value": null, "ok": 1 }, 0, 0),
            (doc! { "n": 5, "ok": 1_i64 }, 0, 5),
            (doc! { "n": 5_i64, "nModified": 4, "ok": 1 }, 0, 5),
            (doc! { "n": 2.0, "ok": 1 }, 0, 2),
            (doc! { "n": -1, "ok": 1 }, 0, 0),
            (doc! { "cursor": 7, "ok": 1 }, 0, 0),
        ] {
            assert_eq!(summary(&reply), Summary { returned, n, failure: None }, "{reply}");
        }
    }

    #[test]
    fn a_reply_that_is_not_ok_is_a_failure() {
        for (reply, name, code) in [
            (
                doc! { "ok": 0.0, "code": 50, "codeName": "MaxTimeMSExpired", "errmsg": "late" },
                "MaxTimeMSExpired",
                Some(50),
            ),
            (doc! { "ok": 0, "code": 13_i64, "errmsg": "no" }, "Unauthorized", Some(13)),
            (doc! { "ok": 0, "errmsg": "no code" }, "CommandFailed", None),
            (doc! { "ok": 0 }, "InvalidReply", None),
            (doc! { "ok": true }, "InvalidReply", None),
            (doc! { "n": 1 }, "InvalidReply", None),
            (doc! {}, "InvalidReply", None),
            (
                doc! { "ok": 1, "writeErrors": [{ "code": 11000, "errmsg": "twice" }] },
                "DuplicateKey",
                Some(11000),
            ),
        ] {
            let failure = summary(&reply).failure.expect("a failure");
            assert_eq!((failure.name.as_ref(), failure.code), (name, code), "{reply}");
        }
    }

    proptest! {
        /// Every byte of a reply may be wrong: it is read or refused.
        #[test]
        fn damaged_replies_never_panic(at in 4..1000_usize, byte in any::<u8>()) {
            let reply = doc! {
                "cursor": { "firstBatch": [{ "_id": 1, "v": "x" }, {}], "id": 0_i64, "ns": "db.c" },
                "n": 1, "value": {}, "writeErrors": [{ "code": 11000 }], "writeConcernError": { "code": 64 },
                "ok": 1.0,
            };
            let mut bytes = bson::serialize_to_vec(&reply).expect("a document");
            let last = bytes.len() - 1;
            bytes[4 + at % (last - 4)] = byte;
            if let Ok(damaged) = RawDocument::from_bytes(&bytes) {
                let _ = Summary::of(damaged);
            }
        }

        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = (noise.len() as i32 + 5).to_le_bytes().to_vec();
            bytes.extend_from_slice(&noise);
            bytes.push(0);
            let reply = RawDocument::from_bytes(&bytes).expect("length and end are right");
            let _ = Summary::of(reply);
        }
    }
}
