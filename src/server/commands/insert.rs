//! `insert`: adds documents.

use super::writes::{WriteErrors, check_batch, writing};
use crate::server::collection::prepare;
use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::CommandError;
use crate::server::raw::Writer;

pub const ROW: CommandRow = CommandRow {
    names: &["insert"],
    fields: &["documents", "ordered", "bypassDocumentValidation"],
    refused: &["bypassEmptyTsReplacement", "stmtIds", "stmtId", "encryptionInformation"],
    stable: true,
    long: false,
    counter: Counter::Insert,
    run,
};

fn run(call: &Call<'_>, reply: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    let documents = call.list("documents")?;
    check_batch(documents.len())?;
    let ordered = call.flag_or("ordered", true)?;
    let bypass = call.flag("bypassDocumentValidation")?;
    call.shared.count(Counter::Insert, documents.len());
    let mut inserted = 0;
    let errors = WriteErrors::each(documents, ordered, |_, document| {
        let mut prepared = Some(prepare(document)?);
        writing(call, name, |collection, writing| {
            let Some(prepared) = prepared.take() else { return Ok(()) };
            if !bypass {
                collection.validate(&prepared.document, None)?;
            }
            writing.insert(prepared)
        })?;
        inserted += 1;
        Ok(())
    });
    if inserted > 0 {
        call.written()?;
    }
    reply.i32("n", inserted);
    errors.write_to(reply);
    Ok(())
}
