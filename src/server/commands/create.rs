//! `create`: makes a collection, with a validator if it is given one.

use crate::server::command::{Call, CommandRow, Counter};
use crate::server::error::{CommandError, code};
use crate::server::raw::{self, Value, Writer};
use crate::server::schema::Schema;
use crate::server::store::CollectionOptions;

pub const ROW: CommandRow = CommandRow {
    names: &["create"],
    fields: &["validator", "validationLevel", "validationAction", "clusteredIndex"],
    refused: &[
        "capped",
        "size",
        "max",
        "autoIndexId",
        "idIndex",
        "timeseries",
        "expireAfterSeconds",
        "viewOn",
        "pipeline",
        "collation",
        "storageEngine",
        "indexOptionDefaults",
        "changeStreamPreAndPostImages",
        "encryptedFields",
        "temp",
        "flags",
    ],
    stable: true,
    long: true,
    counter: Counter::Command,
    run,
};

fn run(call: &Call<'_>, _: &mut Writer<'_>) -> Result<(), CommandError> {
    let name = call.collection()?;
    if let Some(validator) = call.document("validator")? {
        Schema::from_validator(validator)?;
    }
    one_of(call, "validationLevel", &["strict", "moderate", "off"])?;
    one_of(call, "validationAction", &["error", "warn"])?;
    if let Some(clustered) = call.field("clusteredIndex") {
        check_clustered(call, clustered)?;
    }
    let options = raw::document(|w| {
        for element in raw::elements(call.body).skip(1) {
            if ROW.fields.contains(&element.name_str()) {
                w.element(&element);
            }
        }
    });
    call.shared.store.create(call.database, name, CollectionOptions { options })?;
    call.written()
}

fn one_of(call: &Call<'_>, field: &str, values: &[&str]) -> Result<(), CommandError> {
    match call.text(field)? {
        Some(value) if !values.contains(&value) => Err(CommandError::new(
            code::BAD_VALUE,
            format!(
                "Enumeration value '{value}' for field 'create.{field}' is not a valid value (one of {})",
                values.join(", ")
            ),
        )),
        _ => Ok(()),
    }
}

/// Documents are always kept in the order of `_id`, so all that may be asked for is had.
fn check_clustered(call: &Call<'_>, clustered: Value<'_>) -> Result<(), CommandError> {
    let Some(document) = clustered.as_document() else {
        // `true` is the short form of old servers.
        return match clustered.as_bool() {
            Some(true) => Ok(()),
            _ => Err(call.wrong_type("clusteredIndex", clustered, "object")),
        };
    };
    for element in raw::elements(document) {
        match element.name_str() {
            "key" => {
                let mut fields = element.value.elements();
                let id = fields.next().is_some_and(|f| f.name == b"_id" && f.value.as_i64() == Some(1));
                if !id || fields.next().is_some() {
                    return Err(CommandError::new(
                        code::INVALID_INDEX_SPECIFICATION_OPTION,
                        "The clusteredIndex option only supports the key {_id: 1}",
                    ));
                }
            }
            "unique" if element.value.as_bool() == Some(true) => {}
            "unique" => {
                return Err(CommandError::new(
                    code::BAD_VALUE,
                    "The clusteredIndex option requires unique: true to be specified",
                ));
            }
            "name" if element.value.as_str().is_some() => {}
            "v" => {}
            other => return Err(CommandError::unknown_field("create.clusteredIndex", other)),
        }
    }
    for required in ["key", "unique"] {
        if raw::get(document, required.as_bytes()).is_none() {
            return Err(CommandError::missing_field("create.clusteredIndex", required));
        }
    }
    Ok(())
}
