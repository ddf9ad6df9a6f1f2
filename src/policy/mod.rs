//! `errors=` chains: parse, match an error's name, say what to do. Sends nothing.
//!
//! ```text
//! spec  := chain (';' chain)*
//! chain := [name (',' name)* ':'] verb (',' verb)*
//! ```
//!
//! A name is a regular expression (letters, digits and `_ - . * +`) that must match a whole name of the error:
//! the server's code name (`DuplicateKey`), its number (`11000`), or the exception name of the reference
//! (`MongoWriteException`). The first chain with a match decides; an error that no chain matches stops the
//! activity.
//!
//! | verb | what it does |
//! |--|--|
//! | `stop` | ends the activity; what stands behind it in the chain has no effect |
//! | `warn` | says so, once for each name |
//! | `retry` | tries the op again after a pause that grows ([`back_off`]), up to `maxtries` |
//! | `retry=now` | tries it again at once |
//! | `ignore` | lets it pass |
//! | `counter`, `meter` | lets it pass; errors are counted by name, for each interval, whatever the verb |
//! | `histogram`, `timer` | keeps the times of ops that ended in this error, by its name |
//! | `code N`, `N` | gives the cycle the result code N, counted by code |

use crate::span::nearest;
use crate::units::UnitError;
use regex::Regex;
use std::time::Duration;

/// What to do about one error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The activity ends.
    pub stop: bool,
    /// Say so, once for each name.
    pub warn: bool,
    /// Try the op again, as long as it has tries left.
    pub retry: bool,
    /// `retry=now`: without a pause.
    pub at_once: bool,
    /// Asked for by `counter` or `meter`. Nothing hangs on it: errors are always counted by name and interval.
    pub count: bool,
    /// Keep the times of ops that ended in this error (`histogram`, `timer`).
    pub time: bool,
    /// The result code that `code N` gives the cycle.
    pub code: Option<u8>,
}

/// A parsed `errors=` text, or the default policy: a failed op stops; one that wrote only part is warned of,
/// counted and passed.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Absent: the default policy.
    chains: Option<Vec<Chain>>,
    notices: Vec<String>,
}

#[derive(Debug, Clone)]
struct Chain {
    /// Empty: every name.
    names: Vec<Regex>,
    decision: Decision,
}

/// Each as a message lists it; what is looked up is its first word.
const VERBS: [&str; 10] =
    ["stop", "warn", "ignore", "retry", "retry=now", "counter", "meter", "histogram", "timer", "code N"];

impl Policy {
    /// Reads an `errors=` text. Every verb and name is checked here, not when the first error comes.
    pub fn parse(text: &str) -> Result<Policy, UnitError> {
        let mut notices = Vec::new();
        let chains = text
            .split(';')
            .map(|chain| Chain::parse(chain.trim(), text, &mut notices))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Policy { chains: Some(chains), notices })
    }

    /// What the user should know about the text though it is accepted.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether there is an error after which an op is tried again.
    pub fn retries(&self) -> bool {
        self.chains.iter().flatten().any(|chain| chain.decision.retry && !chain.decision.stop)
    }

    /// Decides by any of the error's names (code name, number, exception name). `partial`: the reply was ok but wrote
    /// only part.
    pub fn decide(&self, names: &[&str], partial: bool) -> Decision {
        let Some(chains) = &self.chains else {
            return if partial {
                Decision { warn: true, count: true, ..Decision::default() }
            } else {
                Decision { stop: true, ..Decision::default() }
            };
        };
        match chains.iter().find(|chain| chain.matches(names)) {
            Some(chain) => chain.decision.clone(),
            None => Decision { stop: true, ..Decision::default() },
        }
    }
}

impl Chain {
    fn parse(chain: &str, whole: &str, notices: &mut Vec<String>) -> Result<Chain, UnitError> {
        let (names, verbs) = match chain.split_once(':') {
            Some((names, verbs)) => (Some(names), verbs),
            None => (None, chain),
        };
        let names = match names {
            Some(names) => {
                names.split(',').map(|n| name_pattern(n.trim(), whole)).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        let mut decision = Decision::default();
        for verb in verbs.split(',') {
            apply_verb(verb.trim(), whole, &mut decision, notices)?;
        }
        Ok(Chain { names, decision })
    }

    fn matches(&self, names: &[&str]) -> bool {
        self.names.is_empty()
            || self.names.iter().any(|pattern| names.iter().any(|name| pattern.is_match(name)))
    }
}

fn name_pattern(name: &str, whole: &str) -> Result<Regex, UnitError> {
    let fault = |why: &str| {
        UnitError(format!(
            "errors={whole}: {why}; an error name is letters, digits and `_ - . * +`, such as `DuplicateKey` or \
             `Mongo.*Exception`"
        ))
    };
    if name.is_empty() {
        return Err(fault("an error name is missing before `:`"));
    }
    if let Some(bad) = name.chars().find(|c| !(c.is_alphanumeric() || "_-.*+".contains(*c))) {
        return Err(fault(&format!("`{bad}` cannot stand in the error name `{name}`")));
    }
    Regex::new(&format!("^(?:{name})$"))
        .map_err(|_| fault(&format!("the error name `{name}` is not a regular expression")))
}

fn apply_verb(
    verb: &str,
    whole: &str,
    decision: &mut Decision,
    notices: &mut Vec<String>,
) -> Result<(), UnitError> {
    // The reference throws at `stop`, so that later verbs of the chain have no effect; they are read all the
    // same, so that a misspelt one is found.
    let mut ignored = Decision::default();
    let decision = if decision.stop { &mut ignored } else { decision };
    match verb {
        "stop" => decision.stop = true,
        "warn" => decision.warn = true,
        "retry" => decision.retry = true,
        "retry=now" => (decision.retry, decision.at_once) = (true, true),
        "ignore" => {}
        "count" => {
            decision.count = true;
            notices.push(format!("errors={whole}: `count` is an old name of `counter`"));
        }
        "counter" | "meter" => decision.count = true,
        "histogram" | "timer" => (decision.count, decision.time) = (true, true),
        "verifyexpected" => {
            return Err(UnitError(format!(
                "errors={whole}: the verb `verifyexpected` is of Groovy verifiers, which nbrs has not: give the \
                 op `expect:` or `verify:` and name their errors, `ExpectFailed,VerifyFailed:counter`"
            )));
        }
        "" => {
            return Err(UnitError(format!("errors={whole}: a verb is missing; verbs: {}", VERBS.join(", "))));
        }
        _ => match result_code(verb) {
            Some(Ok(code)) => decision.code = Some(code),
            Some(Err(())) => {
                return Err(UnitError(format!(
                    "errors={whole}: `{verb}`: a result code is a number from 0 to 127"
                )));
            }
            None => {
                let near = nearest_verb(verb);
                return Err(UnitError(format!(
                    "errors={whole}: unknown verb `{verb}`{near}; verbs: {}",
                    VERBS.join(", ")
                )));
            }
        },
    }
    Ok(())
}

/// A hint for a misspelt verb, or nothing.
fn nearest_verb(verb: &str) -> String {
    let words = VERBS.iter().filter_map(|verb| verb.split(' ').next());
    nearest(verb, words).first().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

/// `code N`, `code=N` or a bare number; `None` if the verb is something else.
fn result_code(verb: &str) -> Option<Result<u8, ()>> {
    let number = match verb.strip_prefix("code") {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', '=']) => rest.trim_start_matches([' ', '=']),
        Some(_) => return None,
        None if verb.starts_with(|c: char| c.is_ascii_digit()) => verb,
        None => return None,
    };
    Some(number.parse::<u8>().ok().filter(|code| *code <= 127).ok_or(()))
}

const BACK_OFF_FIRST: Duration = Duration::from_millis(4);
const BACK_OFF_MOST: Duration = Duration::from_millis(500);

/// How long to wait before try `tries + 1` of an op that has been tried `tries` times: exponential, from 4 ms
/// doubling up to 500 ms, of which the upper half is random, so that ops that failed together do not come back
/// together ("equal jitter" of M. Brooker, "Exponential Backoff And Jitter", 2015).
pub fn back_off(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(16);
    let whole = (BACK_OFF_FIRST * (1 << doublings)).min(BACK_OFF_MOST);
    whole.mul_f64(rand::random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decision(text: &str) -> Decision {
        let mut decision = Decision::default();
        for word in text.split_whitespace() {
            match word {
                "stop" => decision.stop = true,
                "warn" => decision.warn = true,
                "retry" => decision.retry = true,
                "count" => decision.count = true,
                "now" => decision.at_once = true,
                "time" => decision.time = true,
                "pass" => {}
                number => decision.code = Some(number.parse().expect("a code")),
            }
        }
        decision
    }

    #[test]
    fn it_is_known_beforehand_whether_an_op_may_be_tried_again() {
        assert!(!Policy::default().retries());
        for (errors, retries) in
            [("stop", false), ("warn,retry", true), ("a:counter;b:retry", true), ("stop,retry", false)]
        {
            assert_eq!(Policy::parse(errors).unwrap().retries(), retries, "{errors}");
        }
    }

    #[test]
    fn without_errors_a_failed_op_stops_and_a_partial_one_is_warned_of() {
        let policy = Policy::default();
        assert_eq!(policy.decide(&["HostUnreachable"], false), decision("stop"));
        assert_eq!(policy.decide(&["DuplicateKey"], true), decision("warn count"));
    }

    #[test]
    fn chains_decide_by_the_first_match_of_any_name() {
        let rows: &[(&str, &[&str], bool, &str)] = &[
            ("stop", &["X"], false, "stop"),
            ("counter", &["X"], false, "count"),
            ("count", &["X"], false, "count"),
            ("meter", &["X"], false, "count"),
            ("histogram", &["X"], false, "count time"),
            ("timer", &["X"], false, "count time"),
            ("retry=now", &["X"], false, "retry now"),
            ("retry", &["X"], false, "retry"),
            // by number, too
            (".*11000.*:counter", &["DuplicateKey", "MongoBulkWriteException", "11000"], true, "count"),
            ("112:retry;stop", &["DuplicateKey", "11000"], true, "stop"),
            ("warn,retry", &["X"], false, "warn retry"),
            ("ignore", &["X"], false, "pass"),
            // errors= governs partial writes too
            ("stop", &["DuplicateKey"], true, "stop"),
            ("ignore", &["DuplicateKey"], true, "pass"),
            // the first chain wins, all its verbs run
            ("DuplicateKey:counter;stop", &["DuplicateKey", "MongoWriteException"], true, "count"),
            ("DuplicateKey:counter;stop", &["WriteConflict", "MongoCommandException"], false, "stop"),
            ("MongoWrite.*:warn;.*:retry", &["DuplicateKey", "MongoWriteException"], false, "warn"),
            ("A,B:warn;C:retry", &["B"], false, "warn"),
            ("A,B:warn;C:retry", &["C"], false, "retry"),
            // the whole name must match
            ("Duplicate:ignore", &["DuplicateKey"], false, "stop"),
            ("Key:ignore", &["DuplicateKey"], false, "stop"),
            // no chain matches: stop
            ("A:ignore", &["B"], false, "stop"),
            // nothing after stop has effect
            ("warn,stop,retry", &["X"], false, "warn stop"),
            // codes
            ("code 5", &["X"], false, "5"),
            ("7,counter", &["X"], false, "7 count"),
            // blanks between the parts
            ("A : warn , retry ; stop", &["A"], false, "warn retry"),
        ];
        for (text, names, partial, expected) in rows {
            let policy = Policy::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(policy.decide(names, *partial), decision(expected), "{text} on {names:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let rows = [
            ("", "a verb is missing"),
            ("stop;", "a verb is missing"),
            ("warn,,stop", "a verb is missing"),
            ("explode", "unknown verb `explode`; verbs: stop, warn, ignore, retry, retry=now, counter"),
            ("X:stpo", "unknown verb `stpo` (did you mean `stop`?)"),
            ("retry=later", "unknown verb `retry=later`"),
            ("stop,explode", "unknown verb `explode`"),
            (":stop", "an error name is missing"),
            ("A,:stop", "an error name is missing"),
            ("(A|B):stop", "`(` cannot stand in the error name"),
            ("A$:stop", "`$` cannot stand"),
            ("A B:stop", "` ` cannot stand"),
            ("*A:stop", "is not a regular expression"),
            ("code 128", "from 0 to 127"),
            ("code", "from 0 to 127"),
            ("300", "from 0 to 127"),
            ("12x", "from 0 to 127"),
            ("verifyexpected", "give the op `expect:` or `verify:`"),
        ];
        for (text, part) in rows {
            let error = Policy::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_old_name_of_counter_is_noticed() {
        assert!(Policy::parse("count").expect("parses").notices()[0].contains("`counter`"));
        assert!(Policy::parse("counter").expect("parses").notices().is_empty());
    }

    #[test]
    fn back_off_doubles_up_to_its_bound() {
        for (tries, low, high) in [(1, 2, 4), (2, 4, 8), (5, 32, 64), (8, 250, 500), (u32::MAX, 250, 500)] {
            for _ in 0..100 {
                let pause = back_off(tries);
                let (low, high) = (Duration::from_millis(low), Duration::from_millis(high));
                assert!(pause >= low && pause <= high, "{tries}: {pause:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            if let Ok(policy) = Policy::parse(&text) {
                policy.decide(&["DuplicateKey", "MongoWriteException"], false);
            }
        }
    }
}
