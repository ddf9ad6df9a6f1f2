//! `distinct`: the different values that a field has.

use super::find::search;
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::filter::{Filter, Owned};
use crate::server::key;
use crate::server::path::Path;
use crate::server::raw::Writer;
use std::collections::BTreeMap;

pub const ROW: CommandRow = CommandRow {
    names: &["distinct"],
    fields: &["key", "query", "hint"],
    refused: &["collation"],
    stable: false,
    long: true,
    counter: Counter::Command,
    run,
};

/// The reply is one document.
const MOST_BYTES: usize = 16 * 1024 * 1024;

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let field = call.text("key")?.ok_or_else(|| CommandError::missing_field(call.name, "key"))?;
    if field.is_empty() {
        return Err(CommandError::new(code::BAD_VALUE, "the key of distinct must not be empty"));
    }
    let path = Path::new(field);
    let filter = call.document("query")?.map_or_else(|| Ok(Filter::everything()), Filter::parse)?;
    let mut values: BTreeMap<Vec<u8>, Owned> = BTreeMap::new();
    let mut bytes = 0;
    if let Some(collection) = call.shared.store.collection(call.database, name) {
        for document in search(call, collection, filter, &[], 0, None)? {
            let document = document?;
            let mut failed = None;
            path.any(&document, &mut |value| {
                // Of an array the items count, not the array.
                let Some(value) = value.filter(|value| !value.is_array()) else { return false };
                let mut key = Vec::new();
                if let Err(error) = key::encode(value, &mut key) {
                    failed = Some(error);
                    return true;
                }
                values.entry(key).or_insert_with(|| {
                    bytes += value.bytes.len() + 12;
                    value.into()
                });
                false
            });
            if failed.is_some() {
                return Err(CommandError::not_implemented("distinct over Decimal128 or DBPointer values"));
            }
            if bytes > MOST_BYTES {
                return Err(CommandError::new(code::DISTINCT_TOO_BIG, "distinct too big, 16mb cap"));
            }
        }
    }
    reply.array("values", |w| {
        for (i, value) in values.values().enumerate() {
            w.value(&i.to_string(), value.get());
        }
    });
    Ok(())
}
