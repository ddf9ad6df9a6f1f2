//! The `diag` driver.

use super::AdapterRow;
use crate::plan::Form;

pub static ROW: AdapterRow = AdapterRow {
    name: "diag",
    help: "",
    form: Form::Fields,
    parameters: &[],
    connect: |_| Box::pin(async { todo!() }),
    synthesise: None,
};
