//! A step of a scenario, and what a user gives to it: it is planned, or refused with what can be drawn.

#![no_main]

#[path = "../checks/step.rs"]
mod step;

libfuzzer_sys::fuzz_target!(|input: (String, String, String)| step::check(input));
