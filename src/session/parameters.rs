//! The parameters that every activity takes, whatever its driver, and the error for one that nobody knows.

use crate::adapters::ADAPTERS;
use crate::span::{Diagnostic, nearest};
use indexmap::IndexMap;

/// A parameter of every activity: its name, its other names, and what it does.
pub struct CoreParameter {
    pub name: &'static str,
    pub synonyms: &'static [&'static str],
    pub help: &'static str,
}

const fn core(name: &'static str, synonyms: &'static [&'static str], help: &'static str) -> CoreParameter {
    CoreParameter { name, synonyms, help }
}

/// Spec: the reference's activity parameters, as far as they have an effect here.
pub static CORE: &[CoreParameter] = &[
    core("workload", &["yaml"], "workload file, or the name of a bundled one"),
    core("op", &["stmt", "statement"], "op text in place of a workload"),
    core("driver", &["type"], "driver of ops that name none: mongodb, stdout, diag"),
    core("tags", &[], "which ops: `block:rampup`, `all(block:main.*,name:.*read.*)`"),
    core("alias", &[], "the activity's name in output"),
    core("cycles", &[], "how many: `50k`, or a range `10..20`; one sequence if not given"),
    core("recycles", &[], "passes over the cycles; 1 if not given"),
    core("stride", &[], "cycles that a thread takes at a time; one sequence if not given"),
    core("threads", &[], "ops at once: `25`, `4x` (per core), `auto` (10 per core)"),
    core(
        "cyclerate",
        &["targetrate", "rate"],
        "cycles per second: `2500`, or with a catch-up bound `2500,1.1`; `100,1.1,start,thread` for each thread",
    ),
    core("striderate", &[], "strides per second; all cycles of a stride are due when it is"),
    core(
        "rate_profile",
        &[],
        "a rate that changes: `0s:100,60s:5000`, `steps:0s:100,10s:200`, or a .csv file",
    ),
    core("warmup", &[], "how long cycles run before they are counted: `10s`"),
    core(
        "duration",
        &[],
        "how long cycles run (and are counted): `5m`; without cycles= nothing else ends them",
    ),
    core("open", &[], "`true`: ops start when they are due, however many are in flight"),
    core("max_in_flight", &[], "how many ops may be in flight with open=true"),
    core("resume", &[], "a folder of journals: completes the run that was cut off, or makes one to complete"),
    core("seq", &[], "order of ops by ratio: bucket, interval, concat"),
    core("errors", &[], "what errors do: `stop`, `counter`, `DuplicateKey:counter;.*:stop`"),
    core("maxtries", &[], "tries of one op where `errors` retries; 10 if not given"),
    core("dryrun", &[], "`op`: ops are made and not sent; `emit`: replies are printed; none if not given"),
    core(
        "instrument",
        &[],
        "`true`: times of ops go by the reference's names too, `successfor_…` and `errorsfor_…`",
    ),
    core("labels", &[], "accepted for the reference's sake"),
    core("strict", &[], "accepted for the reference's sake"),
];

/// Parameters that users of the reference, or of the documentation, may try and that this version refuses.
static REFUSED: &[&str] = &["lane", "part", "hdr_digits", "fullerrors", "space", "async", "input"];

/// The one name of a parameter that has several.
pub fn canonical_name(name: &str) -> &str {
    CORE.iter().find(|row| row.synonyms.contains(&name)).map_or(name, |row| row.name)
}

/// The value of the core parameter `name`, under whatever of its names it is given.
pub fn value<'a>(given: &'a IndexMap<String, String>, name: &str) -> Option<&'a str> {
    given.iter().find(|(given, _)| canonical_name(given) == name).map(|(_, value)| value.as_str())
}

/// Brings synonyms to one name, but for those that are template `variables` of the workload. Two names for one
/// thing with different values are an error.
pub fn canonical(
    given: &IndexMap<String, String>,
    variables: &[String],
) -> Result<IndexMap<String, String>, Diagnostic> {
    let mut out: IndexMap<String, String> = IndexMap::new();
    let mut written: IndexMap<&str, &str> = IndexMap::new();
    for (name, value) in given {
        let canonical = if variables.contains(name) { name } else { canonical_name(name) };
        if let Some(earlier) = out.get(canonical) {
            if earlier != value {
                let first = written.get(canonical).copied().unwrap_or(canonical);
                return Err(Diagnostic::error(format!(
                    "`{first}={earlier}` and `{name}={value}` are two names for one parameter with different values"
                ))
                .help("give one of them"));
            }
            continue;
        }
        written.insert(canonical, name);
        out.insert(canonical.to_owned(), value.clone());
    }
    Ok(out)
}

/// Names that some activity could take: core ones, their synonyms, and those of every driver.
pub fn all_known() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for row in CORE {
        names.push(row.name);
        names.extend(row.synonyms);
    }
    for row in ADAPTERS {
        names.extend(row.parameters.iter().map(|p| p.name));
    }
    names
}

/// The names in `given` that are neither core parameters, nor one of `drivers`', nor a template variable of the
/// workload; each with what is wrong with it.
pub fn unknown(
    given: &IndexMap<String, String>,
    drivers: &[&str],
    variables: &[String],
) -> Vec<(String, Diagnostic)> {
    let rows: Vec<_> = ADAPTERS.iter().filter(|row| drivers.contains(&row.name)).collect();
    let known = |name: &String| {
        CORE.iter().any(|row| row.name == name || row.synonyms.contains(&name.as_str()))
            || rows.iter().any(|row| row.parameters.iter().any(|p| p.name == name))
            || variables.contains(name)
    };
    let fault = |name: &String| {
        if REFUSED.contains(&name.as_str()) {
            return Diagnostic::error(format!("this version of nbrs has no parameter `{name}`"))
                .help("it would have no effect here, so it is refused rather than ignored");
        }
        if let Some(row) = ADAPTERS.iter().find(|row| row.parameters.iter().any(|p| p.name == name)) {
            return Diagnostic::error(format!("`{name}` is a parameter of driver `{}`", row.name))
                .help(format!("the selected ops use {}", drivers.join(", ")));
        }
        let driver_names = rows.iter().flat_map(|row| row.parameters.iter().map(|p| p.name));
        let choices: Vec<&str> = CORE
            .iter()
            .map(|row| row.name)
            .chain(driver_names)
            .chain(variables.iter().map(String::as_str))
            .collect();
        let error = Diagnostic::error(format!("unknown parameter `{name}`"));
        match nearest(name, choices.iter().copied()).first() {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("known here: {}", choices.join(", "))),
        }
    };
    given.keys().filter(|name| !known(name)).map(|name| (name.clone(), fault(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn synonyms_become_one_name() {
        let got = canonical(&params(&[("rate", "5"), ("yaml", "w")]), &[]).expect("no conflict");
        assert_eq!(got, params(&[("cyclerate", "5"), ("workload", "w")]));
        assert!(canonical(&params(&[("rate", "5"), ("cyclerate", "5")]), &[]).is_ok());
        let error = canonical(&params(&[("rate", "5"), ("cyclerate", "6")]), &[]).expect_err("they differ");
        assert!(
            error.message.contains("rate=5") && error.message.contains("cyclerate=6"),
            "{}",
            error.message
        );
    }

    #[test]
    fn a_template_variable_that_is_called_like_a_synonym_is_itself() {
        let given = params(&[("rate", "5"), ("cyclerate", "6")]);
        assert_eq!(canonical(&given, &["rate".to_owned()]).expect("no conflict"), given);
    }

    #[test]
    fn an_unknown_parameter_names_its_neighbour() {
        let given = params(&[("cyclrate", "5"), ("threads", "1"), ("tresds", "1")]);
        let found = unknown(&given, &["mongodb"], &[]);
        assert_eq!(found.len(), 2, "each is said");
        assert_eq!(found[0].1.message, "unknown parameter `cyclrate`");
        assert!(found[0].1.help.as_ref().is_some_and(|h| h.contains("cyclerate")));
        assert!(unknown(&params(&[("mintext", "5")]), &["mongodb"], &["mintext".to_owned()]).is_empty());
    }

    #[test]
    fn a_parameter_of_the_reference_that_has_no_effect_here_is_refused_by_name() {
        for name in REFUSED {
            let found = unknown(&params(&[(name, "5")]), &["diag"], &[]);
            assert!(found[0].1.message.contains(name), "{name}");
        }
    }
}
