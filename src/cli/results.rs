//! `nbrs compare`, `merge` and `report`: what is made of result files that runs have left.

use super::outputs::Whole;
use super::words::Options;
use super::{exit, screen, tell, written};
use crate::redact;
use crate::report::compare::Comparison;
use crate::report::figures::Figures;
use crate::report::{self, Activity, Destination, ReportError, Run, html, json};
use crate::session::condition::{Condition, Subject};
use crate::span::Diagnostic;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

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
    }
    let mut holding = Vec::new();
    for condition in &conditions {
        for activity in &second.activities {
            let before = first.activities.iter().find(|other| other.alias == activity.alias);
            let (figures, before_figures) = (Figures::of(activity), before.map(Figures::of));
            let subject = subject(activity, &figures);
            let before = before
                .zip(before_figures.as_ref())
                .map(|(activity, figures)| self::subject(activity, figures));
            let found = condition.find_in(&subject, before.as_ref());
            if let Some(finding) = found.filter(|finding| finding.holds) {
                let what = format!(
                    "--fail-if '{}' holds: {} has {} in {b}",
                    condition.text,
                    finding.of,
                    screen::measured(&finding)
                );
                holding.push(Diagnostic::error(what));
            }
        }
    }
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
    let to = match outputs(options) {
        Ok(to) => to,
        Err(error) => return said(&error),
    };
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
        Ok(run) => write(&run, to),
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
    match outputs(options).and_then(|to| Ok((json::read(Path::new(file))?, to))) {
        Ok((run, to)) => write(&run, to),
        Err(error) => said(&error),
    }
}

/// Where the reports go that are asked for.
fn outputs(options: &Options) -> Result<Vec<(Whole, Destination)>, ReportError> {
    options
        .outputs
        .whole()
        .into_iter()
        .map(|(file, write)| Ok((write, Destination::new(file.clone())?)))
        .collect()
}

fn write(run: &Run, to: Vec<(Whole, Destination)>) -> u8 {
    for (write, to) in to {
        if let Err(error) = write(run, &to) {
            return said(&error);
        }
    }
    exit::DONE
}
