//! The signals that ask a program to end: Ctrl-C, `kill`, and a terminal that was closed.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks for an end: its name, and the exit code of a program that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub name: &'static str,
    pub code: u8,
}

/// Ctrl-C.
pub const INTERRUPTED: Asked = Asked { name: "SIGINT", code: 130 };
const TERMINATED: Asked = Asked { name: "SIGTERM", code: 143 };
const HUNG_UP: Asked = Asked { name: "SIGHUP", code: 129 };

/// Hears those signals from when it is made, in the place of the process's end on the spot.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Absent where the process was started so that a closed terminal does not end it (`nohup`).
    hang_up: Option<Signal>,
}

impl Signals {
    /// Within a tokio runtime, outside of which it panics.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if hears_hang_up() { Some(signal(SignalKind::hangup())?) } else { None },
        })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) -> Asked {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
            _ = hung_up => HUNG_UP,
        }
    }
}

/// Whether SIGHUP would end this process. Where the system does not tell, the signal keeps the effect that it has.
fn hears_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| ignored(&status))
        .is_some_and(|mask| mask & 1 == 0)
}

/// The signals that a process ignores, as `/proc/PID/status` has them: bit n - 1 is signal n.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_ignores_is_read_from_its_status() {
        let status =
            |mask: &str| format!("Name:\tnbrs\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0\n");
        assert_eq!(ignored(&status("0000000000001001")), Some(0x1001));
        assert_eq!(ignored(&status("0000000000001000")), Some(0x1000));
        assert_eq!(ignored(&status("none")), None);
        assert_eq!(ignored("Name:\tnbrs\n"), None);
    }
}
