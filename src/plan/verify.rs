//! `verify:`: the fields that documents have to have that an op reads: a document as it was written, recomputed
//! from the cycle.

use super::reply::{Mismatch, VERIFY_FAILED, at, documents, fields, same, shown};
use super::{BindError, CommandTemplate};
use crate::functions::Context;
use bson::raw::{RawBsonRef, RawDocument};

pub(super) struct Verify(pub(super) CommandTemplate);

impl Verify {
    /// Makes the document of `cycle`.
    pub(super) fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        self.0.bind(cycle, context, out)
    }

    /// Holds every document of the reply against `written`. Fields that it does not name are not looked at.
    pub(super) fn check(&self, written: &[u8], reply: &RawDocument) -> Result<(), Mismatch> {
        let wrong = |message| Err(Mismatch { name: VERIFY_FAILED, message });
        let Some(read) = documents(reply) else {
            return wrong("the reply brings no documents".to_owned());
        };
        let count = read.iter().count();
        if count == 0 {
            let written =
                RawDocument::from_bytes(written).map(|written| shown(RawBsonRef::Document(written)));
            return wrong(format!("no document was read, expected {}", written.unwrap_or_default()));
        }
        for (number, document) in read.iter().enumerate() {
            for (path, wanted) in fields(written) {
                let found = at(document, path);
                if found.is_some_and(|found| same(found, wanted)) {
                    continue;
                }
                let found = found.map_or_else(|| "not in the document".to_owned(), shown);
                let which =
                    if count > 1 { format!(" (document {} of {count})", number + 1) } else { String::new() };
                return wrong(format!("`{path}` is {found}, expected {}{which}", shown(wanted)));
            }
        }
        Ok(())
    }
}
