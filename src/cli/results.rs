//! `nbrs compare`, `merge` and `report`: what is made of result files that runs have left.

use super::words::Options;
use super::{exit, refused, screen, tell, written};
use crate::redact;
use crate::report::compare::{Comparison, Verdict, noise};
use crate::report::figures::Figures;
use crate::report::{self, Activity, Destination, ReportError, Run, html, json};
use crate::session::condition::{Condition, Subject};
use crate::span::Diagnostic;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn said(error: &ReportError) -> u8 {
    tell(&[Diagnostic::error(error.to_string())]);
    exit::USAGE
}

/// `nbrs compare A.json B.json`: on standard output, and as a page. Exit 4 where a condition holds of B.
pub fn compare(options: &Options, [a, b]: &[String; 2], out: &mut dyn Write) -> u8 {
    match compared(options, a, b) {
        Ok((text, holding)) => {
            let code = written(out.write_all(text.as_bytes()).map(|()| exit::DONE));
            tell(&holding);
            if code == exit::DONE && !holding.is_empty() { exit::FAIL_IF } else { code }
        }
        Err(errors) => {
            tell(&errors);
            exit::USAGE
        }
    }
}

/// The comparison, and the conditions that hold.
fn compared(options: &Options, a: &str, b: &str) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let error = |error: ReportError| vec![Diagnostic::error(error.to_string())];
    let conditions: Vec<Condition> = options
        .fail_if
        .iter()
        .map(|text| Condition::parse_between(text))
        .collect::<Result<_, _>>()
        .map_err(|error| vec![error])?;
    let page = options.html.as_ref().map(|file| Destination::new(file.clone())).transpose().map_err(error)?;
    let (first, second) =
        (json::read(Path::new(a)).map_err(error)?, json::read(Path::new(b)).map_err(error)?);
    let names: Vec<&str> = second
        .activities
        .iter()
        .flat_map(|activity| {
            std::iter::once(activity.alias.as_str()).chain(activity.ops.iter().map(|op| op.name.as_str()))
        })
        .collect();
    let paced = second.activities.iter().any(|activity| activity.target.is_some());
    let wrong: Vec<Diagnostic> =
        conditions.iter().filter_map(|condition| condition.check_names(&names, paced).err()).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let comparison = Comparison::of([a, b], &first, &second);
    if let Some(page) = &page {
        html::write_comparison(&comparison, page).map_err(error)?;
        name(&page.path().into_iter().collect::<Vec<_>>());
    }
    let (mut holding, mut told) = (Vec::new(), Vec::new());
    for condition in &conditions {
        for activity in &second.activities {
            let before_activity = first.activities.iter().find(|other| other.alias == activity.alias);
            let (figures, before_figures) = (Figures::of(activity), before_activity.map(Figures::of));
            let subject = subject(activity, &figures);
            let before = before_activity
                .zip(before_figures.as_ref())
                .map(|(activity, figures)| self::subject(activity, figures));
            let found = condition.find_in(&subject, before.as_ref());
            let Some(finding) = found.filter(|finding| finding.holds) else { continue };
            let has = format!("{} has {} in {b}", finding.of, screen::measured(&finding));
            // A figure of a whole run that changed says nothing where intervals of one run differ as much.
            let verdict = match condition.sampling().filter(|_| condition.is_change()).zip(before_activity) {
                Some((sampling, before)) => {
                    noise(before, activity, |op| condition.is_on(&activity.alias, op), sampling)
                }
                None => Verdict::Untold,
            };
            let holds = Diagnostic::error(format!("--fail-if '{}' holds: {has}", condition.text));
            match verdict {
                Verdict::Noise => told.push(
                    Diagnostic::warning(format!("--fail-if '{}' does not hold: {has}", condition.text))
                        .help(format!("that is {}", verdict.text())),
                ),
                Verdict::TooFew => holding.push(holds.help(format!("there are {}", verdict.text()))),
                Verdict::Differs | Verdict::Untold => holding.push(holds),
            }
        }
    }
    tell(&told);
    // A page on standard output is alone there.
    let text = if page == Some(Destination::Stdout) { String::new() } else { comparison.text() };
    Ok((text, holding))
}

fn subject<'a>(activity: &'a Activity, figures: &Figures) -> Subject<'a> {
    let warm_up = activity.warm_up.unwrap_or_default().elapsed;
    Subject {
        alias: &activity.alias,
        ops: activity.ops.iter().map(|op| (op.name.as_str(), &op.stats)).collect(),
        achieved: figures.achieved,
        target: figures.target,
        counted: Some(activity.elapsed.saturating_sub(warm_up).as_secs_f64())
            .filter(|seconds| *seconds > 0.0),
    }
}

/// `nbrs merge PATH…`: files, and folders of files.
pub fn merge(options: &Options, paths: &[String], args: &[OsString]) -> u8 {
    // What cannot be written is said before anything is read.
    if let Err(error) = options.outputs.later(Duration::ZERO) {
        return refused(error);
    }
    let mut runs = Vec::new();
    for path in paths {
        let files = match files_of(Path::new(path)) {
            Ok(files) => files,
            Err(error) => return said(&error),
        };
        for file in files {
            match json::read(&file) {
                Ok(run) => runs.push((file.display().to_string(), run)),
                Err(error) => return said(&error),
            }
        }
    }
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match report::merge::merge(runs, redact::command_line(&words)) {
        Ok(run) => write(options, &run),
        Err(why) => said(&ReportError::Other(format!("these runs cannot be merged: {why}"))),
    }
}

/// A file is itself; a folder, the JSON files in it by name.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, ReportError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = |why: String| ReportError::Other(format!("cannot read {}: {why}", path.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| cannot(error.to_string()))? {
        let file = entry.map_err(|error| cannot(error.to_string()))?.path();
        if file.extension() == Some(OsStr::new("json")) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() { Err(cannot("no .json file is in this folder".to_owned())) } else { Ok(files) }
}

/// `nbrs report RESULT.json`.
pub fn report(options: &Options, file: &str) -> u8 {
    match json::read(Path::new(file)) {
        Ok(run) => write(options, &run),
        Err(error) => said(&error),
    }
}

/// Writes the reports that are asked for; those that cannot be written keep no other from it.
fn write(options: &Options, run: &Run) -> u8 {
    let to = match options.outputs.later(run.elapsed) {
        Ok(to) => to,
        Err(error) => return refused(error),
    };
    let (mut files, mut code) = (Vec::new(), exit::DONE);
    for (write, to) in &to {
        match write(run, to) {
            Ok(()) => files.extend(to.path()),
            Err(error) => code = said(&error),
        }
    }
    name(&files);
    code
}

/// Says which files there are now.
fn name(files: &[&Path]) {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if !files.is_empty() {
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(std::io::stderr(), "written: {}", files.join(", "));
    }
}
