//! The parameters that say how fast and for how long an activity runs → what the engine takes.

use super::prepare::Request;
use crate::engine::Load;
use crate::rate::Profile;
use crate::span::Diagnostic;
use crate::units::{self, Rate};
use indexmap::IndexMap;
use std::path::PathBuf;
use std::time::Duration;

/// How fast cycles start, and for how long they do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadPlan {
    pub cycle_rate: Option<Load>,
    pub stride_rate: Option<Rate>,
    /// `open=true`: ops start when they are due, however many are in flight, up to this many.
    pub max_in_flight: Option<usize>,
    pub warm_up: Duration,
    pub duration: Option<Duration>,
    /// The folder of journals (`resume=`).
    pub resume: Option<PathBuf>,
    /// Sentences for the header.
    pub notes: Vec<String>,
}

/// Late cycles of a profile are caught up at no more than its rate times this.
const PROFILE_BURST: f64 = 1.1;

impl LoadPlan {
    /// Reads `cyclerate`, `striderate`, `rate_profile`, `open`, `max_in_flight`, `warmup`, `duration` and `resume`.
    ///
    /// # Errors
    /// What is wrong with one of them, where it stands.
    pub fn read(request: &Request, parameters: &IndexMap<String, String>) -> Result<LoadPlan, Diagnostic> {
        let wrong = |name: &str, message: &str, help: &str| {
            Diagnostic::error(message).at(request.place(name)).help(help)
        };
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let rate = |name: &'static str| {
            get(name)
                .map(|text| units::rate(text).map_err(|error| request.fault(name, text, error)))
                .transpose()
        };
        let time = |name: &'static str| {
            get(name)
                .map(|text| units::duration(text).map_err(|error| request.fault(name, text, error)))
                .transpose()
        };
        let mut plan = LoadPlan {
            cycle_rate: rate("cyclerate")?.map(Load::Rate),
            stride_rate: rate("striderate")?,
            warm_up: time("warmup")?.unwrap_or_default(),
            duration: time("duration")?,
            resume: get("resume").map(PathBuf::from),
            ..LoadPlan::default()
        };
        if let Some(text) = get("rate_profile") {
            if get("cyclerate").is_some() {
                return Err(wrong(
                    "rate_profile",
                    "`cyclerate=` and `rate_profile=` both say how fast to go",
                    "give one of them",
                ));
            }
            let profile = profile(request, text)?;
            // Nothing else says when to end.
            if plan.duration.is_none() && get("cycles").is_none() && !profile.length().is_zero() {
                plan.duration = Some(profile.length().saturating_sub(plan.warm_up));
            }
            plan.notes.push(format!(
                "the rate follows rate_profile={text}; late cycles are caught up at no more than {PROFILE_BURST} \
                 times the rate of the moment"
            ));
            plan.cycle_rate = Some(Load::Profile { profile, burst: PROFILE_BURST });
        }
        plan.max_in_flight = plan.open(request, &get)?;
        if plan.duration.is_some_and(|duration| duration.is_zero()) {
            return Err(request.fault(
                "duration",
                get("duration").unwrap_or_default(),
                "a run takes more than no time",
            ));
        }
        if plan.resume.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
            return Err(wrong(
                "resume",
                "`resume=` names no folder",
                "resume=DIR keeps a journal in DIR, and completes the run of which there is one",
            ));
        }
        if !plan.warm_up.is_zero() {
            plan.notes.push(format!("the first {:?} are warm-up and not counted", plan.warm_up));
        }
        Ok(plan)
    }

    fn open<'a>(
        &self,
        request: &Request,
        get: &impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Option<usize>, Diagnostic> {
        let wrong =
            |message: &str, help: &str| Diagnostic::error(message).at(request.place("open")).help(help);
        let open = match get("open") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(request.fault("open", other, "it is neither true nor false")),
        };
        match (open, get("max_in_flight")) {
            (false, None) => Ok(None),
            (false, Some(text)) => Err(request
                .fault("max_in_flight", text, "it has a meaning with `open=true` only")
                .help("threads= says how many ops may be in flight otherwise")),
            (true, None) => Err(wrong(
                "`open=true` needs `max_in_flight=N`",
                "how many ops may be in flight at most, whatever falls due; a connection is kept for each",
            )),
            (true, Some(text)) => {
                let own = matches!(&self.cycle_rate, Some(Load::Rate(rate)) if rate.each_thread);
                if self.cycle_rate.is_none() || own {
                    return Err(wrong(
                        "`open=true` needs a rate for all threads together",
                        "give cyclerate=N or rate_profile=…: ops start when they fall due",
                    ));
                }
                units::threads(text, 1, u64::MAX)
                    .map(Some)
                    .map_err(|error| request.fault("max_in_flight", text, error))
            }
        }
    }

    /// The rate that a header names, of cycles per second.
    pub fn rate(&self) -> Option<Rate> {
        match &self.cycle_rate {
            Some(Load::Rate(rate)) => Some(*rate),
            Some(Load::Profile { profile, burst }) => Some(Rate::new(profile.highest(), *burst)),
            None => None,
        }
    }

    /// The most cycles that the time allows, where time and rate are given: for estimates.
    pub fn most_cycles(&self, threads: usize, stride: u64) -> Option<f64> {
        let seconds = (self.duration? + self.warm_up).as_secs_f64();
        let cycles = self.rate().map(|rate| rate.of_threads(threads));
        let strides = self.stride_rate.map(|rate| rate.of_threads(threads) * stride as f64);
        let per_second = match (cycles, strides) {
            (Some(cycles), Some(strides)) => cycles.min(strides),
            (cycles, strides) => cycles.or(strides)?,
        };
        Some(per_second * seconds)
    }
}

fn profile(request: &Request, text: &str) -> Result<Profile, Diagnostic> {
    let (steps, rest) = Profile::kind(text);
    let read = if rest.ends_with(".csv") {
        let file = std::fs::read_to_string(rest)
            .map_err(|error| request.fault("rate_profile", text, format!("cannot read {rest}: {error}")))?;
        Profile::parse_csv(&file, steps)
    } else {
        Profile::parse(text)
    };
    read.map_err(|error| {
        request
            .fault("rate_profile", text, error)
            .help("points TIME:RATE, such as 0s:100,60s:5000 (a ramp), steps:0s:100,10s:200, or a .csv file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<LoadPlan, Diagnostic> {
        let pairs = words.iter().filter_map(|word| word.split_once('='));
        let parameters = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        LoadPlan::read(&Request::default(), &parameters)
    }

    #[test]
    fn a_profile_that_nothing_else_ends_ends_with_its_last_point() {
        let plan = read(&["rate_profile=0s:100,60s:5000"]).expect("fine");
        assert_eq!(plan.duration, Some(Duration::from_secs(60)));
        assert_eq!(read(&["rate_profile=0s:100,60s:5000", "cycles=5"]).expect("fine").duration, None);
        let plan = read(&["rate_profile=0s:100,60s:5000", "duration=5s"]).expect("fine");
        assert_eq!(plan.duration, Some(Duration::from_secs(5)));
        assert_eq!(read(&["rate_profile=0s:100"]).expect("fine").duration, None);
    }

    #[test]
    fn a_profile_may_be_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("load.csv");
        std::fs::write(&file, "at,rate\n0s,10\n5s,20\n").expect("writable");
        let word = format!("rate_profile={}", file.display());
        let given = read(&["rate_profile=0s:10,5s:20"]).expect("fine");
        assert_eq!(read(&[&word]).expect("fine").cycle_rate, given.cycle_rate);
    }

    #[test]
    fn what_cannot_be_together_is_said() {
        for (words, part) in [
            (&["cyclerate=5", "rate_profile=0s:1"][..], "both say how fast"),
            (&["rate_profile=5"], "is no point of a profile"),
            (&["rate_profile=none.csv"], "cannot read none.csv"),
            (&["open=true", "max_in_flight=5"], "needs a rate for all threads together"),
            (&["open=true", "cyclerate=5,1.1,thread", "max_in_flight=5"], "needs a rate for all threads"),
            (&["open=true", "cyclerate=5"], "needs `max_in_flight=N`"),
            (&["open=yes"], "neither true nor false"),
            (&["max_in_flight=5"], "with `open=true` only"),
            (&["duration=0"], "more than no time"),
            (&["duration=soon"], "`soon` is not a number"),
            (&["striderate=0"], "over 0"),
            (&["resume="], "names no folder"),
        ] {
            let error = read(words).expect_err(part);
            assert!(error.message.contains(part), "{words:?}: {}", error.message);
        }
    }

    #[test]
    fn the_most_cycles_follow_from_time_and_rate() {
        for (words, most) in [
            (&["duration=10s"][..], None),
            (&["cyclerate=5"], None),
            (&["duration=10s", "cyclerate=5", "warmup=2s"], Some(60.0)),
            (&["duration=10s", "striderate=5"], Some(500.0)),
            (&["duration=10s", "striderate=5", "cyclerate=20"], Some(200.0)),
            (&["duration=10s", "cyclerate=5,1.1,thread"], Some(200.0)),
        ] {
            assert_eq!(read(words).expect("fine").most_cycles(4, 10), most, "{words:?}");
        }
    }
}
