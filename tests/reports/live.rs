//! The live view as a person at a terminal meets it, driven in tmux.

use crate::program::{Place, until};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A terminal of 110 × 34 in which one command line runs.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Absent where there is no tmux, which is a fault where everything must be tested.
    fn open(place: &Place, nbrs: &str) -> Option<Terminal> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(
                std::env::var_os("CI").is_none(),
                "there is no tmux, which the tests of the live view need"
            );
            println!("skipped: there is no tmux");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let terminal = Terminal { socket: format!("nbrs-{}-{number}", std::process::id()) };
        let program = env!("CARGO_BIN_EXE_nbrs");
        let line = format!("'{program}' {nbrs}; echo \"code $?\"; exec sleep 100");
        let mut command = place.shell(&format!(
            "exec tmux -L {} -f /dev/null new-session -d -x 110 -y 34 \"$LINE\"",
            terminal.socket
        ));
        let opened = command.env("LINE", line).env("TERM", "xterm-256color").env_remove("TMUX").output();
        let opened = opened.expect("a shell");
        assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output =
            Command::new("tmux").args(["-L", &self.socket]).args(args).output().expect("tmux is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the screen, and what has scrolled out of it, with lines that were wrapped in one piece.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-200"])
    }

    /// Waits until the screen has every part.
    #[track_caller]
    fn shows(&self, parts: &[&str]) {
        let missing = || parts.iter().find(|part| !self.screen().contains(**part));
        let begun = Instant::now();
        while let Some(part) = missing() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no `{part}` on\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// The terminal is as it was: its own screen, with a cursor.
    fn is_given_back(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim() == "0 1"
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

const WORKLOAD: &str =
    "blocks:\n  b:\n    ops:\n      quick: {delay: 1ms}\n      half: {delay: 2ms, fail: fail=Busy every=3}\n";

#[test]
fn a_run_is_watched_and_ended_by_q() {
    let place = Place::new();
    place.file("w.yaml", WORKLOAD);
    let run = "run workload=w.yaml driver=diag alias=main cycles=100000000 cyclerate=400 threads=6 errors=warn,counter \
               --progress tui";
    let Some(terminal) = Terminal::open(&place, run) else { return };
    terminal.shows(&[
        "of 100,000,000 cycles",
        "of 6 threads busy, ",
        " blocked by the rate of 400/s, backlog ",
        "throughput",
        "service  p50",
        "b__quick",
        "b__half",
        "q ends the run",
        // The warning of the first error.
        "Busy",
    ]);
    // After the first second there are figures and lines.
    until(|| {
        let screen = terminal.screen();
        !screen.contains("throughput  0/s") && screen.chars().any(|c| ('⠁'..='⣿').contains(&c))
    });
    assert!(!terminal.is_given_back());
    terminal.resize(40, 8);
    terminal.shows(&["terminal too small: 40×8", "needs 60×18", "of 100,000,000"]);
    terminal.resize(70, 24);
    terminal.shows(&["b__half", "q ends the run"]);
    terminal.press("q");
    terminal.shows(&["code 130", "stopped by SIGINT", "interrupted in "]);
    assert!(terminal.is_given_back());
    assert!(
        terminal.screen().contains("w.yaml, alias main"),
        "the header is printed when the screen is free"
    );
}

#[test]
fn the_terminal_is_given_back_however_a_run_ends() {
    let place = Place::new();
    for (run, keys, last) in [
        ("run op=delay=1ms driver=diag cycles=500 --progress tui", &[][..], "code 0"),
        ("run op=fail=Busy driver=diag cycles=5 --progress tui", &[], "code 1"),
        // Its op is awaited until the second key.
        ("run op=delay=90s driver=diag cycles=5 --progress tui", &["q", "C-c"], "code 130"),
        ("run op=delay=90s driver=diag cycles=5 threads=3 --progress tui", &["C-c"], "code 130"),
        ("run workload=none.yaml --progress tui", &[], "code 2"),
        ("run op=noop driver=diag cycles=5 --progress tui --metrics-listen no-such-host:1", &[], "code 2"),
    ] {
        let Some(terminal) = Terminal::open(&place, run) else { return };
        if !keys.is_empty() {
            terminal.shows(&["threads busy"]);
        }
        keys.iter().for_each(|key| terminal.press(key));
        terminal.shows(&[last]);
        until(|| terminal.is_given_back());
    }
}

#[test]
fn a_summary_is_printed_once_on_a_terminal_too() {
    let place = Place::new();
    for progress in ["bar", "tui", "console:1s", "ycsb:1s", "none"] {
        for others in ["", "--report-json-to=r.json --report-html-to=r.html", "2>/dev/null"] {
            let run = format!("run op=delay=1ms driver=diag cycles=20 --progress {progress} {others}");
            let Some(terminal) = Terminal::open(&place, &run) else { return };
            terminal.shows(&["code 0"]);
            let screen = terminal.screen();
            for once in ["20 of 20 cycles in ", "done in "] {
                assert_eq!(screen.matches(once).count(), 1, "{run}:\n{screen}");
            }
        }
    }
}

#[test]
fn an_op_that_writes_to_the_terminal_has_it() {
    let place = Place::new();
    let Some(terminal) =
        Terminal::open(&place, "run op='line {{Identity()}}' driver=stdout cycles=3 --progress tui")
    else {
        return;
    };
    terminal.shows(&["there is no live view: an op of this run writes to the terminal", "line 2", "code 0"]);
}

#[test]
fn a_view_that_cannot_be_drawn_is_said_and_the_run_goes_on() {
    let place = Place::new();
    let run = ["run", "op=noop", "driver=diag", "cycles=5", "--progress", "tui"];
    let ran = place.run(&run);
    let said = "there is no live view: standard error is no terminal";
    assert!(ran.ok().stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stdout.contains("5 of 5 cycles"), "{}", ran.stdout);

    let run = run.join(" ");
    let Some(terminal) =
        Terminal::open(&place, &format!("{run} 2>errors; TERM=dumb '{}' {run}", env!("CARGO_BIN_EXE_nbrs")))
    else {
        return;
    };
    terminal.shows(&["there is no live view: TERM is `dumb`", "code 0"]);
    assert!(crate::text(&place, "errors").contains(said));
}
