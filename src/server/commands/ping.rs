//! `ping`: says that the server is there.

use crate::server::command::{CommandRow, Counter};

pub const ROW: CommandRow = CommandRow {
    names: &["ping"],
    fields: &[],
    refused: &[],
    stable: true,
    long: false,
    counter: Counter::Command,
    run: |_, _| Ok(()),
};
