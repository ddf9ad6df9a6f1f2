//! nbrs turns a YAML workload into load on a MongoDB deployment, and says honestly what came back.
//!
//! This file is the map. A value passes through the rooms in the order below; each arrow is one type, named
//! after its stage, and every edge between rooms goes down (`tests/architecture.rs` holds the table).
//!
//! ```text
//! argv ─cli→ Request
//! scenarios/*.yaml ─workload→ Workload ─┐
//! grammar/*.pest ──recipe→ Recipe ──────┼─bindings→ Program ─plan→ OpPlan ─adapters→ Dispenser ─engine→ Outcome
//! functions::all() ────────────────────┘                sequence → LUT, rate → due ──┘  └─metrics→ Frame → Summary ─report→ text, json
//! ```
//!
//! Two kinds of work, and the border between them is the layout's whole point:
//!
//! - **init time** is slow, fallible and talkative: [`workload`], [`recipe`], [`bindings`], [`plan`] and the
//!   connecting half of [`adapters`]. Every error names file, line and column.
//! - **cycle time** runs up to millions of times a second: [`engine`], [`rate`], [`metrics`] and what the
//!   compiled [`bindings::Program`]s, [`plan::OpPlan`]s and [`adapters::Dispenser`]s do. Nothing is parsed or
//!   looked up by name there.

pub mod expr;
pub mod redact;
pub mod span;
pub mod units;
pub mod value;

pub mod workload;

pub mod functions;
pub mod recipe;

pub mod bindings;

pub mod plan;

pub mod wire;

pub mod server;

pub mod adapters;

pub mod policy;
pub mod rate;
pub mod sequence;

pub mod metrics;

pub mod engine;

pub mod report;

pub mod session;

pub mod cli;
