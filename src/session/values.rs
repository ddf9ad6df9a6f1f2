//! The texts of an activity's parameters → numbers, orders and policies: all that needs no workload to be read.

use super::load::LoadPlan;
use super::prepare::Request;
use crate::plan::DryRun;
use crate::policy::Policy;
use crate::sequence::Sequencer;
use crate::span::Diagnostic;
use crate::units;
use indexmap::IndexMap;
use std::ops::Range;

/// What the parameters of an activity say. Absent is not given.
#[derive(Default)]
pub struct Values {
    pub sequencer: Sequencer,
    pub dry_run: DryRun,
    pub load: LoadPlan,
    pub stride: Option<u64>,
    pub cycles: Option<Range<u64>>,
    pub recycles: u64,
    pub max_tries: u32,
    /// As given: how many `auto` is depends on the cycles.
    threads: Option<String>,
    pub policy: Policy,
    pub instrument: bool,
}

/// The value, or nothing and one fault more.
pub(super) fn or_fault<T>(result: Result<T, Diagnostic>, faults: &mut Vec<Diagnostic>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(fault) => {
            faults.push(fault);
            None
        }
    }
}

impl Values {
    /// Reads `parameters`, which have their canonical names, and adds what is wrong with them to `faults`.
    pub fn read(
        request: &Request,
        parameters: &IndexMap<String, String>,
        faults: &mut Vec<Diagnostic>,
    ) -> Values {
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let whole = |name: &str| -> Result<Option<u64>, Diagnostic> {
            let Some(text) = get(name) else { return Ok(None) };
            match units::count(text).map_err(|error| request.fault(name, text, error))? {
                0 => Err(request.fault(name, text, "at least 1")),
                number => Ok(Some(number)),
            }
        };
        let sequencer = get("seq").map(|name| {
            Sequencer::parse(name).ok_or_else(|| {
                Diagnostic::error(format!("`seq={name}` is no order of ops"))
                    .at(request.place("seq"))
                    .help("there are: bucket, interval, concat")
            })
        });
        let dry_run = get("dryrun").map(|text| {
            DryRun::parse(text).map_err(|why| Diagnostic::error(why).at(request.place("dryrun")))
        });
        let cycles = get("cycles").map(|text| match units::cycles(text) {
            Ok(cycles) if cycles.end > i64::MAX as u64 => {
                Err(request.fault("cycles", text, "cycles end at 2^63-1"))
            }
            other => other.map_err(|error| request.fault("cycles", text, error)),
        });
        let max_tries = whole("maxtries").and_then(|tries| {
            let wrong = |_| request.fault("maxtries", get("maxtries").unwrap_or_default(), "too many");
            u32::try_from(tries.unwrap_or(10)).map_err(wrong)
        });
        let threads = get("threads").map(|text| {
            let read = units::threads(text, cores(), u64::MAX);
            read.map(|_| text.to_owned()).map_err(|error| request.fault("threads", text, error))
        });
        let policy = get("errors").map(|text| {
            Policy::parse(text)
                .map_err(|error| Diagnostic::error(error.to_string()).at(request.place("errors")))
        });
        let instrument = get("instrument").map(|text| {
            let fault = |_| request.fault("instrument", text, "it is neither true nor false");
            text.parse::<bool>().map_err(fault)
        });
        let values = Values {
            sequencer: or_fault(sequencer.transpose(), faults).flatten().unwrap_or_default(),
            dry_run: or_fault(dry_run.transpose(), faults).flatten().unwrap_or_default(),
            load: or_fault(LoadPlan::read(request, parameters), faults).unwrap_or_default(),
            stride: or_fault(whole("stride"), faults).flatten(),
            cycles: or_fault(cycles.transpose(), faults).flatten(),
            recycles: or_fault(whole("recycles"), faults).flatten().unwrap_or(1),
            max_tries: or_fault(max_tries, faults).unwrap_or(1),
            threads: or_fault(threads.transpose(), faults).flatten(),
            instrument: or_fault(instrument.transpose(), faults).flatten().unwrap_or_default(),
            policy: or_fault(policy.transpose(), faults).flatten().unwrap_or_default(),
        };
        if values.unbounded(parameters) && values.load.resume.is_some() {
            faults.push(
                Diagnostic::error("`resume=` needs `cycles=`")
                    .help("a journal keeps what became of each cycle, so their number must be known"),
            );
        }
        values
    }

    /// Nothing but time ends the activity.
    pub fn unbounded(&self, parameters: &IndexMap<String, String>) -> bool {
        self.load.duration.is_some() && !parameters.contains_key("cycles")
    }

    /// How many logical threads run that many cycles.
    pub fn threads(&self, asked: u64) -> usize {
        let given = self.threads.as_deref().and_then(|text| units::threads(text, cores(), asked).ok());
        self.load.max_in_flight.or(given).unwrap_or(1).max(1)
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
