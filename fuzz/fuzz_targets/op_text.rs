//! An op text: bind points, captures, JSON. It compiles for each kind of driver, or each error has a place; what
//! compiles binds, or says why it does not.

#![no_main]

#[path = "../checks/op_text.rs"]
mod op_text;

libfuzzer_sys::fuzz_target!(|text: String| op_text::check(text));
