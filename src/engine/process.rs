//! What this process takes of its machine, where the system tells (`/proc`).

use std::time::{Duration, Instant};

/// Processor time of this process since a moment, as a share of all processors.
pub(super) struct CpuClock {
    since: Instant,
    before: Option<Duration>,
}

impl CpuClock {
    pub(super) fn start() -> CpuClock {
        CpuClock { since: Instant::now(), before: cpu_time() }
    }

    pub(super) fn share(&self) -> Option<f64> {
        let busy = cpu_time()?.checked_sub(self.before?)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let available = self.since.elapsed().as_secs_f64() * cores as f64;
        (available > 0.05).then(|| busy.as_secs_f64() / available)
    }
}

/// Processor time so far (`/proc/self/stat`, in its ticks of 10 ms).
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10).saturating_mul(u32::try_from(ticks()? + ticks()?).ok()?))
}

/// Memory of this process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub resident: u64,
    pub swapped: u64,
}

impl Memory {
    pub(super) fn now() -> Option<Memory> {
        Memory::read(&std::fs::read_to_string("/proc/self/status").ok()?)
    }

    fn read(status: &str) -> Option<Memory> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024))
        };
        Some(Memory { resident: bytes("VmRSS:")?, swapped: bytes("VmSwap:").unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_system_tells() {
        let status = "Name:\tnbrs\nVmHWM:\t  9 kB\nVmRSS:\t  2048 kB\nVmSwap:\t      12 kB\n";
        assert_eq!(Memory::read(status), Some(Memory { resident: 2 << 20, swapped: 12 << 10 }));
        assert_eq!(Memory::read("VmRSS:\t 1 kB\n"), Some(Memory { resident: 1024, swapped: 0 }));
        assert_eq!(Memory::read("Name:\tnbrs\n"), None);
    }
}
