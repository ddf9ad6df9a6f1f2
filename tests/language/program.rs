//! The program as a test calls it: files of its own, words in, what it prints out.

use serde_json::Value as Json;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A working directory of its own.
pub struct Program {
    folder: TempDir,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    /// With the workload file `w.yaml`.
    pub fn with(yaml: &str) -> Program {
        let program = Program { folder: tempfile::tempdir().expect("a temporary folder") };
        program.file("w.yaml", yaml);
        program
    }

    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("the temporary folder takes files");
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_nbrs"))
            .args(words)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path().join("data-home"))
            .env_remove("NBRS_CONNECTION")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// `describe workload=w.yaml --json` with further words: the op templates, or what is wrong.
    pub fn describe(&self, words: &[&str]) -> Result<Vec<Json>, String> {
        let ran = self.run(&[&["describe", "workload=w.yaml", "--json"], words].concat());
        match ran.code {
            0 => Ok(serde_json::from_str(&ran.stdout).expect("one array")),
            2 => Err(ran.stderr),
            other => panic!("exit {other}: {}", ran.stderr),
        }
    }

    /// `show workload=w.yaml --json` with further words: a line a cycle, or what is wrong.
    pub fn show(&self, words: &[&str]) -> Result<Vec<Json>, String> {
        let ran = self.run(&[&["show", "workload=w.yaml", "--json"], words].concat());
        match ran.code {
            0 => Ok(ran
                .stdout
                .lines()
                .map(|line| serde_json::from_str(line).expect("a line is JSON"))
                .collect()),
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
