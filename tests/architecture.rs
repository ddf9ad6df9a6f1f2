//! The import law of the house: which room may use which. Looks at every `crate::room` path in `src/`, not
//! only at `use` lines, and fails on an edge that the table does not list.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Room → rooms it may use, from the lowest floor up. Edges only go down.
///
/// A row may be changed with its reason, here and in `docs/design.md`.
const LAW: &[(&str, &[&str])] = &[
    // floor 0
    ("value", &[]),
    // of `value` what an expression computes with
    ("expr", &["value"]),
    ("span", &[]),
    ("units", &[]),
    ("sequence", &[]),
    ("wire", &[]),
    ("metrics", &[]),
    ("redact", &[]),
    // floor 1
    ("workload", &["span", "units"]),
    ("recipe", &["span"]),
    ("functions", &["value", "expr"]),
    ("policy", &["span", "units"]),
    ("rate", &["units"]),
    ("server", &["wire"]),
    // `value` for its calendar
    ("report", &["metrics", "units", "redact", "value"]),
    // floor 2
    ("bindings", &["recipe", "functions", "value", "span"]),
    // floor 3; `functions` for the Context that a template binds with, `expr` for what is expected of replies
    ("plan", &["workload", "bindings", "functions", "expr", "value", "span", "units"]),
    // floor 4; `functions` likewise, `workload` and `span` through the op that stdout makes of bare bindings
    ("adapters", &["plan", "wire", "value", "span", "units", "functions", "workload", "redact"]),
    // floor 5; of `plan` only what an adapter's trait names, `functions` for the Context it owns per thread
    ("engine", &["plan", "adapters", "sequence", "rate", "policy", "metrics", "units", "functions"]),
    // floor 6
    (
        "session",
        &[
            "value",
            "expr",
            "span",
            "units",
            "sequence",
            "wire",
            "metrics",
            "redact",
            "workload",
            "recipe",
            "functions",
            "policy",
            "rate",
            "server",
            "bindings",
            "plan",
            "adapters",
            "engine",
        ],
    ),
    // floor 7
    (
        "cli",
        &[
            "value",
            "expr",
            "span",
            "units",
            "sequence",
            "wire",
            "metrics",
            "redact",
            "workload",
            "recipe",
            "functions",
            "policy",
            "rate",
            "server",
            "report",
            "bindings",
            "plan",
            "adapters",
            "engine",
            "session",
        ],
    ),
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src is readable") {
        let path = entry.expect("src is readable").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without comments, so that links in docs do not count as edges.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file is UTF-8");
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// Rooms named by `crate::room…` or by a group `crate::{room…, room…}`.
fn rooms_used(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("crate::") {
        rest = &rest[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut item = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 || (depth == 1 && c == ',') {
                    used.push(first_word(item.trim()));
                    item.clear();
                    if depth == 0 {
                        break;
                    }
                } else {
                    item.push(c);
                }
            }
        } else {
            used.push(first_word(rest));
        }
    }
    used.retain(|word| !word.is_empty());
    used
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn rooms_use_only_the_rooms_that_their_row_names() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let law: BTreeMap<&str, &[&str]> = LAW.iter().copied().collect();
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut broken = Vec::new();
    let mut edges = 0;
    for path in files {
        let within = path.strip_prefix(&src).expect("the file is below src");
        let room = match within.components().next() {
            Some(first) => first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned(),
            None => continue,
        };
        // lib.rs is the map and main.rs the door: neither is a room.
        if room == "lib" || room == "main" {
            continue;
        }
        let Some(may_use) = law.get(room.as_str()) else {
            broken.push(format!("{}: room `{room}` has no row in the law", within.display()));
            continue;
        };
        for used in rooms_used(&code(&path)) {
            edges += 1;
            if used != room && !may_use.contains(&used.as_str()) {
                broken.push(format!("{}: `{room}` may not use `{used}`", within.display()));
            }
        }
    }
    assert!(edges > 20, "the scan found only {edges} edges: it does not see the code");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn edges_of_the_law_only_go_down() {
    for (position, (room, may_use)) in LAW.iter().enumerate() {
        for used in *may_use {
            let at = LAW.iter().position(|(name, _)| name == used);
            assert!(at.is_some_and(|at| at < position), "`{room}` → `{used}` does not go down");
        }
    }
}

#[test]
fn there_is_no_room_for_leftovers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    for path in files {
        for part in path.strip_prefix(&src).expect("below src").components() {
            let name = part.as_os_str().to_string_lossy();
            let name = name.trim_end_matches(".rs");
            assert!(
                !["util", "utils", "common", "helpers", "prelude", "misc"].contains(&name),
                "{}: name the job instead",
                path.display()
            );
        }
    }
}

#[test]
fn every_file_says_its_job_first() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    for path in files {
        let text = fs::read_to_string(&path).expect("a source file is UTF-8");
        assert!(text.starts_with("//!"), "{} does not open with `//!`", path.display());
    }
}
