//! What insert, update and delete share: statements in order or not, and the errors of single ones.

use crate::server::collection::{Collection, Writing};
use crate::server::command::Call;
use crate::server::error::{CommandError, code};
use crate::server::raw::{self, Writer};
use crate::wire::MAX_WRITE_BATCH;
use std::sync::Arc;

/// The statements that failed.
#[derive(Default)]
pub struct WriteErrors(Vec<(usize, CommandError)>);

impl WriteErrors {
    /// Runs each statement; with `ordered` the first that fails is the last.
    pub fn each<T>(
        statements: impl IntoIterator<Item = T>,
        ordered: bool,
        mut run: impl FnMut(usize, T) -> Result<(), CommandError>,
    ) -> WriteErrors {
        let mut errors = WriteErrors::default();
        for (position, statement) in statements.into_iter().enumerate() {
            if let Err(error) = run(position, statement) {
                errors.0.push((position, error));
                if ordered {
                    break;
                }
            }
        }
        errors
    }

    /// Writes `writeErrors`, if there are any.
    pub fn write_to(&self, reply: &mut Writer<'_>) {
        if self.0.is_empty() {
            return;
        }
        reply.array("writeErrors", |w| {
            for (number, (position, error)) in self.0.iter().enumerate() {
                w.document(&number.to_string(), |w| {
                    w.i32("index", *position as i32).i32("code", error.code.0);
                    for element in error.details.iter().flat_map(|details| raw::elements(details)) {
                        w.element(&element);
                    }
                    w.str("errmsg", &error.message);
                });
            }
        });
    }
}

/// Checks how many statements there are.
///
/// # Errors
/// None, or more than `maxWriteBatchSize`.
pub fn check_batch(count: usize) -> Result<(), CommandError> {
    if (1..=MAX_WRITE_BATCH).contains(&count) {
        return Ok(());
    }
    Err(CommandError::new(
        code::INVALID_LENGTH,
        format!("Write batch sizes must be between 1 and {MAX_WRITE_BATCH}. Got {count} operations."),
    ))
}

/// Runs `write` while nobody else changes the collection, which is made if it is not there.
///
/// # Errors
/// What `write` brings up.
pub fn writing<T>(
    call: &Call<'_>,
    name: &str,
    mut write: impl FnMut(&Arc<Collection>, &mut Writing<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let store = &call.shared.store;
    loop {
        let collection = store.collection_or_new(call.database, name)?;
        // Dropped since it was found: the next one is a new one.
        let Ok(mut writing) = collection.write(store) else { continue };
        return write(&collection, &mut writing);
    }
}
