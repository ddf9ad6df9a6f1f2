//! The `stdout` driver.

use super::AdapterRow;
use crate::plan::Form;

pub static ROW: AdapterRow = AdapterRow {
    name: "stdout",
    help: "",
    form: Form::Text,
    parameters: &[],
    connect: |_| Box::pin(async { todo!() }),
    synthesise: None,
};
