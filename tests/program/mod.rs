//! The program under test, as a process in a folder of its own.

#![allow(dead_code, reason = "each test file uses what it needs of it")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder of its own for one test: working directory, home and data directory.
pub struct Place {
    dir: TempDir,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        let output = command.output().expect("the program starts");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    /// Checks the exit code and that stderr has every part.
    #[track_caller]
    pub fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in stderr:\n{}", self.stderr);
        }
    }

    #[track_caller]
    pub fn ok(&self) -> &Ran {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}:\n{}", self.stdout))
    }
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("the temporary folder takes files");
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nbrs"));
        command.args(args);
        self.at_home(command)
    }

    /// A command line of a shell.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.at_home(command)
    }

    fn at_home(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("XDG_DATA_HOME", self.path().join("data-home"))
            .env_remove("NBRS_CONNECTION")
            .env_remove("NBRS_TEST_URI")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// The result file of a run.
    #[track_caller]
    pub fn result(&self, args: &[&str]) -> (Ran, serde_json::Value) {
        let mut args = args.to_vec();
        args.extend(["--report-json-to", "result.json"]);
        let ran = self.run(&args);
        let text = std::fs::read_to_string(self.path().join("result.json"))
            .unwrap_or_else(|e| panic!("no result: {e}\nstderr:\n{}", ran.stderr));
        (ran, serde_json::from_str(&text).expect("the result is JSON"))
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }
}

/// Waits for a child that must end within `limit`, and gives its code, stdout and stderr.
#[track_caller]
pub fn ended(mut child: Child, limit: Duration) -> Ran {
    let start = Instant::now();
    while child.try_wait().expect("the child can be waited for").is_none() {
        if start.elapsed() > limit {
            let _ = child.kill();
            panic!("still running after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("the child can be waited for");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The lines of a text that are JSON, read.
#[track_caller]
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

/// Waits until something holds, for no longer than a minute.
#[track_caller]
pub fn until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "it did not come to be within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The URI that `nbrs server` says it listens on.
#[track_caller]
pub fn listening(server: &mut Child) -> String {
    let stdout = server.stdout.take().expect("its output is piped");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("it says when it is ready");
    line.trim().strip_prefix("listening on ").expect("the ready line").to_owned()
}
