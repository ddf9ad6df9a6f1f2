//! `nbrs help …` and `--help`: what there is to type, from the tables that the program itself reads.

use super::verbs::{VERBS, Verb};
use super::words::Options;
use crate::adapters::AdapterRow;
use crate::bindings;
use crate::functions::{self, FunctionRow, Overload};
use crate::session::parameters;
use crate::span::Diagnostic;
use crate::workload::{Node, Workload, find};
use clap::CommandFactory;
use clap_complete::Shell;
use std::fmt::{Display, Write as _};

const AFTER: &str = "\
Results go to stdout; header, progress, notices and errors to stderr.
Exit codes: 0 done, 1 ended by op errors, 2 usage or configuration, 3 target unreachable,
4 a --fail-if condition holds, 130 interrupted, 143 terminated, 129 its terminal was closed.";

/// The command line as clap reads it, with usage and help made from the tables.
pub fn command() -> clap::Command {
    Options::command()
        .override_usage(format!("nbrs {}\n       nbrs VERB …", "WORKLOAD [SCENARIO…] [k=v…]"))
        .after_help(format!("{}\n{}\n{AFTER}", verbs(), core_parameters()))
}

fn verbs() -> String {
    let mut out = String::from("Verbs:\n");
    table(VERBS.iter().map(|verb| (verb.name.to_owned(), verb.about)), &mut out);
    out
}

fn core_parameters() -> String {
    let mut out =
        String::from("Parameters of every activity (k=v; `nbrs help driver NAME` has those of a driver):\n");
    let rows = parameters::CORE.iter().map(|row| {
        let names: Vec<&str> = std::iter::once(row.name).chain(row.synonyms.iter().copied()).collect();
        (names.join(", "), row.help)
    });
    table(rows, &mut out);
    out
}

/// Two columns, indented.
fn table<T: Display>(rows: impl IntoIterator<Item = (String, T)>, out: &mut String) {
    let rows: Vec<(String, T)> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, text) in rows {
        let _ = writeln!(out, "  {name:width$}  {text}");
    }
}

/// Usage of one verb.
pub fn verb(verb: &Verb) -> String {
    let mut out = format!("nbrs {}: {}\n\n", verb.name, verb.about);
    for (at, usage) in verb.usage.iter().enumerate() {
        let _ = writeln!(out, "{} nbrs {} {usage}", if at == 0 { "Usage:" } else { "      " }, verb.name);
    }
    let command = Options::command();
    let options: Vec<&clap::Arg> =
        command.get_arguments().filter(|arg| verb.options.contains(&arg.get_id().as_str())).collect();
    if !options.is_empty() {
        out.push_str("\nOptions:\n");
        table(options.into_iter().map(option), &mut out);
    }
    if verb.usage.iter().any(|usage| usage.contains("k=v")) && verb.name != "plan" && verb.name != "check" {
        let _ = write!(out, "\n{}", core_parameters());
    }
    let _ = writeln!(out, "\nExample:\n  {}", verb.example);
    out
}

fn option(arg: &clap::Arg) -> (String, String) {
    let mut name = format!("--{}", arg.get_long().unwrap_or_default());
    if let (Some(values), true) = (arg.get_value_names(), arg.get_action().takes_values()) {
        let _ = write!(name, " {}", values.join(" "));
    }
    (name, arg.get_help().map(ToString::to_string).unwrap_or_default())
}

/// The row of a function; the error names the nearest.
pub fn function_row(name: &str) -> Result<&'static FunctionRow, Diagnostic> {
    functions::find(name).ok_or_else(|| bindings::no_function(name))
}

/// All that is known of a function.
pub fn function(row: &FunctionRow) -> String {
    let mut out =
        format!("{} ({}): {}\n\nForms (input -> output):\n", row.name, row.category.name(), row.doc);
    for form in forms(row) {
        let _ = writeln!(out, "  {form}");
    }
    for line in notes(row) {
        let _ = write!(out, "\n{line}\n");
    }
    if !row.examples.is_empty() {
        out.push_str("\nExamples:\n");
        let rows = row.examples.iter().map(|functions::Example(recipe, cycle, value)| {
            (format!("nbrs eval {} --at {cycle}", quoted(recipe)), value.replace('\n', "\\n"))
        });
        table(rows, &mut out);
    }
    out
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn notes(row: &FunctionRow) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if !row.notes.is_empty() {
        notes.push(row.notes);
    }
    if !row.pure {
        notes.push("What it gives depends on more than the cycle.");
    }
    if row.ours {
        notes.push("NoSQLBench has no such function.");
    }
    notes
}

/// Each way to call a function, once, in the order in which they are tried.
fn forms(row: &FunctionRow) -> Vec<String> {
    let form = |overload: &Overload, constructor: &functions::Constructor| {
        let mut parameters: Vec<String> = constructor.parameters.iter().map(ToString::to_string).collect();
        parameters.extend(constructor.rest.map(|rest| format!("{rest}…")));
        format!("{} -> {}({}) -> {}", overload.input, row.name, parameters.join(", "), overload.output)
    };
    let mut forms: Vec<String> = Vec::new();
    for overload in row.overloads {
        for constructor in overload.constructors.iter().filter(|constructor| !constructor.closed) {
            let form = form(overload, constructor);
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// The functions by category, in the order of their first row; within one, in the order of the table.
fn by_category() -> Vec<(&'static str, Vec<&'static FunctionRow>)> {
    let mut categories: Vec<(&'static str, Vec<&'static FunctionRow>)> = Vec::new();
    for row in functions::all() {
        match categories.iter_mut().find(|(name, _)| *name == row.category.name()) {
            Some((_, rows)) => rows.push(row),
            None => categories.push((row.category.name(), vec![row])),
        }
    }
    categories
}

/// Every function with what it does, by category.
pub fn functions() -> String {
    let width = functions::all().map(|row| row.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (category, rows) in by_category() {
        let _ = writeln!(out, "# {category}");
        for row in rows {
            let _ = writeln!(out, "{:width$}  {}", row.name, row.doc);
        }
    }
    out
}

/// The reference of the functions as Markdown: `docs/functions.md`.
pub fn functions_markdown() -> String {
    let mut out = String::from(
        "# Binding functions\n\nMade from the table of functions by `nbrs help functions --markdown`; \
         `nbrs help function NAME` prints one of them.\n\nA form `long -> Mod(long) -> int` takes a long, is called \
         with one argument, and gives an int. Where several forms fit, the first one is taken.\n\n",
    );
    let categories = by_category();
    for (category, rows) in &categories {
        let names: Vec<String> =
            rows.iter().map(|row| format!("[{}](#{})", row.name, row.name.to_lowercase())).collect();
        let _ = writeln!(out, "- **{category}**: {}", names.join(", "));
    }
    for (category, rows) in &categories {
        let _ = write!(out, "\n## {category}\n");
        for row in rows {
            let _ = write!(out, "\n### {}\n\n{}.\n\n", row.name, sentence(row.doc));
            for form in forms(row) {
                let _ = writeln!(out, "- `{form}`");
            }
            for note in notes(row) {
                let _ = write!(out, "\n{}\n", escaped(note));
            }
            if !row.examples.is_empty() {
                out.push_str("\n| recipe | cycle | value |\n|--|--|--|\n");
            }
            for functions::Example(recipe, cycle, value) in row.examples {
                let _ = writeln!(out, "| {} | {cycle} | {} |", cell(recipe), cell(value));
            }
        }
    }
    out
}

fn sentence(doc: &str) -> String {
    let mut chars = doc.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    escaped(&format!("{first}{}", chars.as_str()))
}

/// Text that Markdown takes for text.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*")
}

/// Code in a cell of a Markdown table.
fn cell(code: &str) -> String {
    let code = code.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "\\n");
    let fence = if code.contains('`') { "``" } else { "`" };
    let pad = if code.starts_with('`') || code.ends_with('`') || code.trim() != code || code.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{code}{pad}{fence}")
}

/// Description, scenarios, template variables, blocks and ops of a workload that is called `typed`.
pub fn workload(workload: &Workload, typed: &str) -> String {
    let mut out = format!("{}\n", workload.path);
    if let Some(description) = &workload.description {
        out.push('\n');
        description.trim_end().lines().for_each(|line| {
            let _ = writeln!(out, "{}", format!("  {line}").trim_end());
        });
    }
    if !workload.scenarios.is_empty() {
        out.push_str("\nScenarios:\n");
    }
    for scenario in &workload.scenarios {
        let _ = writeln!(out, "  nbrs {typed} {}", scenario.name);
        let rows = scenario.steps.iter().map(|step| {
            let command: Vec<&str> = step.command.as_str().split_whitespace().collect();
            (format!("  {}", step.name), command.join(" "))
        });
        table(rows, &mut out);
    }
    if !workload.variables.is_empty() {
        out.push_str("\nTemplate variables (k=v) and their defaults:\n");
        let rows = workload.variables.iter().map(|variable| {
            let default = match &variable.default {
                Some(default) => default.split_whitespace().collect::<Vec<_>>().join(" "),
                None => "(no default: give it where an op needs it)".to_owned(),
            };
            (variable.name.clone(), default)
        });
        table(rows, &mut out);
    }
    if !workload.ops.is_empty() {
        out.push_str("\nBlocks and their ops (tags=block:NAME selects a block):\n");
    }
    let mut block = None;
    for op in &workload.ops {
        if block != Some(&op.block) {
            let _ = writeln!(out, "  {}", op.block);
            block = Some(&op.block);
        }
        let name = op.own_name();
        let ratio = op
            .field("ratio")
            .and_then(Node::as_text)
            .map(|ratio| format!(" (ratio {ratio})"))
            .unwrap_or_default();
        let description =
            op.description.as_deref().map(|text| format!(": {}", text.trim())).unwrap_or_default();
        let _ = writeln!(out, "    {name}{ratio}{description}");
    }
    out
}

/// Parameters of a driver.
pub fn driver(row: &AdapterRow) -> String {
    let mut out = format!("driver={}: {}\n", row.name, row.help);
    if !row.parameters.is_empty() {
        out.push_str("\nParameters:\n");
        let rows = row.parameters.iter().map(|parameter| {
            let default = parameter.default.map(|text| format!(" (default {text})")).unwrap_or_default();
            (parameter.name.to_owned(), format!("{}{default}", parameter.help))
        });
        table(rows, &mut out);
    }
    out
}

/// A script that completes options, verbs and bundled workloads in `shell`.
pub fn completions(shell: Shell) -> Vec<u8> {
    let options = Options::command();
    let of = |ids: &[&str]| -> Vec<clap::Arg> {
        options.get_arguments().filter(|arg| ids.contains(&arg.get_id().as_str())).cloned().collect()
    };
    let lists =
        ["list_workloads", "list_scenarios", "list_drivers", "list_functions", "copy", "include", "argsfile"];
    let mut root = clap::Command::new("nbrs").args(of(&lists)).disable_help_subcommand(true);
    for verb in VERBS {
        let mut command = clap::Command::new(verb.name).about(verb.about).args(of(verb.options));
        if verb.name == "completions" {
            command = command.arg(clap::Arg::new("shell").value_parser(clap::value_parser!(Shell)));
        }
        root = root.subcommand(command.disable_help_flag(true));
    }
    for name in find::bundled_names() {
        root = root.subcommand(
            clap::Command::new(name)
                .about("a bundled workload")
                .args(of(super::verbs::RUN_OPTIONS))
                .disable_help_flag(true),
        );
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, "nbrs", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_explained_with_its_forms_and_an_example() {
        let list = functions();
        for row in functions::all() {
            let text = function(row);
            assert!(text.starts_with(&format!("{} (", row.name)), "{text}");
            assert!(text.contains(&format!(" -> {}(", row.name)), "no form in {text}");
            assert!(text.contains("  nbrs eval '"), "no example in {text}");
            assert!(list.contains(&format!("\n{} ", row.name)), "{} is not in the list", row.name);
            assert!(function_row(row.name).is_ok(), "{}", row.name);
        }
    }

    #[test]
    fn code_in_a_table_stays_code() {
        for (code, shown) in
            [("a", "`a`"), ("a|b", "`a\\|b`"), ("a`b", "``a`b``"), (" a", "`  a `"), ("a\nb", "`a\\nb`")]
        {
            assert_eq!(cell(code), shown, "{code:?}");
        }
    }
}
