//! The `mongodb` driver.

use super::AdapterRow;
use crate::plan::Form;

pub static ROW: AdapterRow = AdapterRow {
    name: "mongodb",
    help: "",
    form: Form::Command,
    parameters: &[],
    connect: |_| Box::pin(async { todo!() }),
    synthesise: None,
};
