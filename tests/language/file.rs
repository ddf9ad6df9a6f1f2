//! A workload file `w.yaml`, as `describe` and `show` see it.

use super::program::{Place, Ran, json_lines};
use serde_json::Value as Json;

/// A workload file in a folder of its own.
pub struct File(Place);

impl File {
    pub fn with(yaml: &str) -> File {
        let place = Place::new();
        place.file("w.yaml", yaml);
        File(place)
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        self.0.run(words)
    }

    /// `describe workload=w.yaml --json` with further words: the op templates, or what is wrong.
    pub fn describe(&self, words: &[&str]) -> Result<Vec<Json>, String> {
        let ran = self.run(&[&["describe", "workload=w.yaml", "--json"], words].concat());
        match ran.code {
            0 => Ok(ran.json().as_array().expect("one array").clone()),
            2 => Err(ran.stderr),
            other => panic!("exit {other}: {}", ran.stderr),
        }
    }

    /// `show workload=w.yaml --json` with further words: a line a cycle, or what is wrong.
    pub fn show(&self, words: &[&str]) -> Result<Vec<Json>, String> {
        let ran = self.run(&[&["show", "workload=w.yaml", "--json"], words].concat());
        match ran.code {
            0 => Ok(json_lines(&ran.stdout)),
            1 => Err(ran.stdout),
            2 => Err(ran.stderr),
            other => panic!("exit {other}: {}", ran.stderr),
        }
    }

    /// The texts of the ops that `show driver=stdout` gives, put together.
    pub fn texts(&self, words: &[&str]) -> Result<String, String> {
        let shown = self.show(&[&["driver=stdout"], words].concat())?;
        Ok(shown.iter().map(|line| line["text"].as_str().expect("a text")).collect())
    }
}

/// Checks that an error has each of these parts.
#[track_caller]
pub fn has_parts<T: std::fmt::Debug>(found: Result<T, String>, parts: &[&str], case: &str) {
    let error = match found {
        Ok(found) => panic!("{case}: no error, but {found:?}"),
        Err(error) => error,
    };
    for part in parts {
        assert!(error.contains(part), "{case}: no `{part}` in\n{error}");
    }
}
