//! The canned-reply server in a process of its own, so that it shares no processor time with what it measures.

use super::Canned;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Set for the child process that is the server.
const SERVE: &str = "NBRS_BENCH_SERVE";

/// Serves, and gives true when that is over, if this process was started to be the server. The first thing that
/// `main` calls.
pub fn serve_if_asked() -> bool {
    if std::env::var_os(SERVE).is_none() {
        return false;
    }
    let server = Canned::fast();
    println!("{}", server.uri());
    // The parent holds the other end of our input; when it is gone, so are we.
    let _ = std::io::stdin().read_line(&mut String::new());
    true
}

/// The server's process; ends when dropped.
pub struct Process {
    child: Child,
    pub uri: String,
}

impl Process {
    pub fn start() -> Process {
        let program = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(program)
            .env(SERVE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let output = child.stdout.take().expect("its output is piped");
        let mut uri = String::new();
        BufReader::new(output).read_line(&mut uri).expect("it says where it is");
        Process { child, uri: uri.trim().to_owned() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
