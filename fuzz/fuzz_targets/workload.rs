//! A workload file: template variables, YAML, normalising. It loads, or each error has a place and can be drawn.

#![no_main]

#[path = "../checks/workload.rs"]
mod workload;

libfuzzer_sys::fuzz_target!(|text: String| workload::check(text));
