//! A tag filter: it is read, or refused with what can be drawn; what is read selects, or says why it does not.

#![no_main]

#[path = "../checks/tags.rs"]
mod tags;

libfuzzer_sys::fuzz_target!(|text: String| tags::check(text));
