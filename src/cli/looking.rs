//! Looking without running: `describe`, `--list-workloads`, `--list-scenarios`, `--copy`. Contacts nothing.

use crate::redact;
use crate::span::{Diagnostic, Severity, Text};
use crate::workload::find::{self, Place};
use crate::workload::{self, Data, Node, OpTemplate, Workload};
use indexmap::IndexMap;
use serde_json::{Map, Value as Json};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the op templates as one JSON array, or in a form for people.
///
/// # Errors
/// What writing gives.
pub fn describe(ops: &[OpTemplate], json: bool, out: &mut dyn Write) -> io::Result<()> {
    let ops: Vec<OpTemplate> = ops.iter().map(without_secrets).collect();
    if json {
        let ops = Json::Array(ops.iter().map(described).collect());
        return writeln!(out, "{ops}");
    }
    for (position, op) in ops.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", op.name)?;
        if let Some(description) = &op.description {
            section(out, "description", description)?;
        }
        for (name, node) in &op.op {
            section(out, name, &shown(node))?;
        }
        pairs(out, "params", op.params.iter().map(|(name, node)| (name, shown(node))))?;
        pairs(out, "bindings", op.bindings.iter().map(|(name, text)| (name, text.as_str().to_owned())))?;
        pairs(out, "tags", op.tags.iter().map(|(name, value)| (name, value.clone())))?;
    }
    Ok(())
}

/// The op with the secrets of its texts masked.
fn without_secrets(op: &OpTemplate) -> OpTemplate {
    let mut op = op.clone();
    for (name, node) in op.op.iter_mut().chain(&mut op.params) {
        mask(name, node);
    }
    op.description = op.description.map(|text| redact::passwords(&text));
    for recipe in op.bindings.values_mut() {
        *recipe = Text::unplaced(redact::passwords(recipe.as_str()));
    }
    for value in op.tags.values_mut() {
        *value = redact::passwords(value);
    }
    op
}

fn mask(name: &str, node: &mut Node) {
    match &mut node.data {
        Data::Text(text) => *text = Text::unplaced(redact::parameter(name, text.as_str())),
        Data::List(items) => items.iter_mut().for_each(|item| mask(name, item)),
        Data::Map(entries) => entries.iter_mut().for_each(|(key, value)| mask(key.as_str(), value)),
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => {}
    }
}

fn described(op: &OpTemplate) -> Json {
    let object = |entries: &IndexMap<String, Node>| {
        Json::Object(entries.iter().map(|(name, node)| (name.clone(), node.to_json())).collect())
    };
    let texts = |entries: Vec<(&String, &str)>| {
        Json::Object(entries.into_iter().map(|(name, text)| (name.clone(), Json::from(text))).collect())
    };
    let mut fields = Map::new();
    fields.insert("name".to_owned(), Json::from(op.name.as_str()));
    if let Some(description) = &op.description {
        fields.insert("description".to_owned(), Json::from(description.as_str()));
    }
    fields.insert("op".to_owned(), object(&op.op));
    if !op.params.is_empty() {
        fields.insert("params".to_owned(), object(&op.params));
    }
    if !op.bindings.is_empty() {
        let bindings = op.bindings.iter().map(|(name, recipe)| (name, recipe.as_str())).collect();
        fields.insert("bindings".to_owned(), texts(bindings));
    }
    fields.insert("tags".to_owned(), texts(op.tags.iter().map(|(k, v)| (k, v.as_str())).collect()));
    Json::Object(fields)
}

fn shown(node: &Node) -> String {
    match &node.data {
        Data::Text(text) => text.as_str().to_owned(),
        _ => node.to_json().to_string(),
    }
}

fn section(out: &mut dyn Write, name: &str, text: &str) -> io::Result<()> {
    let text = text.trim_end();
    if !text.contains('\n') {
        return writeln!(out, "  {name}: {text}");
    }
    writeln!(out, "  {name}:")?;
    text.lines().try_for_each(|line| writeln!(out, "    {line}"))
}

fn pairs<'a>(
    out: &mut dyn Write,
    title: &str,
    entries: impl Iterator<Item = (&'a String, String)>,
) -> io::Result<()> {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "  {title}:")?;
    for (name, value) in entries {
        writeln!(out, "    {name}: {}", value.split_whitespace().collect::<Vec<_>>().join(" "))?;
    }
    Ok(())
}

/// Writes every workload that has scenarios: what it is, and where. Gives a warning for each file that could
/// not be read, which stops none of the others.
///
/// # Errors
/// What writing gives.
pub fn list_workloads(includes: &[PathBuf], out: &mut dyn Write) -> io::Result<Vec<Diagnostic>> {
    let (workloads, warnings) = with_scenarios(includes);
    for workload in &workloads {
        writeln!(out, "# {}\n{}\n", first_line(workload), workload.path)?;
    }
    writeln!(out, "## To see the scenarios of these workloads, use --list-scenarios")?;
    footer(out)?;
    Ok(warnings)
}

/// Writes every workload that has scenarios, with their commands and the template variables and their defaults.
/// Gives a warning for each file that could not be read, which stops none of the others.
///
/// # Errors
/// What writing gives.
pub fn list_scenarios(includes: &[PathBuf], out: &mut dyn Write) -> io::Result<Vec<Diagnostic>> {
    let (workloads, warnings) = with_scenarios(includes);
    for workload in &workloads {
        let path = &workload.path;
        let name = path.strip_suffix(".yaml").or_else(|| path.strip_suffix(".yml")).unwrap_or(path);
        writeln!(out, "# {}\n# workload found in {path}\n    # scenarios:", first_line(workload))?;
        for scenario in &workload.scenarios {
            let words = [name.to_owned(), scenario.name.clone()];
            writeln!(out, "    nbrs {}", redact::command_line(&words))?;
        }
        if !workload.variables.is_empty() {
            writeln!(out, "        # defaults")?;
        }
        for variable in &workload.variables {
            let absent = if variable.angled { "-none-" } else { "" };
            let default = variable.default.as_deref().unwrap_or(absent);
            let default = redact::passwords(&default.replace(['\n', '\r'], " "));
            writeln!(out, "        {} = {default}", variable.name)?;
        }
        write!(out, "\n\n")?;
    }
    footer(out)?;
    Ok(warnings)
}

fn footer(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## To see more, add a folder of workloads with --include=FOLDER")?;
    writeln!(out, "## To copy a bundled workload to the working directory, use")?;
    writeln!(out, "## --copy=NAME\n")
}

fn first_line(workload: &Workload) -> String {
    let description = workload.description.as_deref().unwrap_or("").trim_start();
    match description.split(['\n', '.', ';']).next() {
        Some("") | None => "no description provided".to_owned(),
        Some(line) => redact::passwords(line),
    }
}

/// The workloads with scenarios, and warnings for the files that could not be read.
fn with_scenarios(includes: &[PathBuf]) -> (Vec<Workload>, Vec<Diagnostic>) {
    let mut workloads = Vec::new();
    let mut warnings = Vec::new();
    let params = IndexMap::new();
    for place in find::list(includes) {
        let loaded =
            place.read().map_err(|error| vec![error]).and_then(|source| workload::parse(source, &params));
        match loaded {
            Ok(mut workload) if !workload.scenarios.is_empty() => {
                workload.path = place.shown();
                workloads.push(workload);
            }
            Ok(_) => {}
            Err(errors) => warnings.extend(errors.into_iter().next().map(|error| skipped(&place, error))),
        }
    }
    (workloads, warnings)
}

fn skipped(place: &Place, error: Diagnostic) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        message: format!("`{}` is left out of the list: {}", place.shown(), error.message),
        ..error
    }
}

/// Writes the bundled workload `name` into `folder` and gives the path. Never replaces a file.
///
/// # Errors
/// No such bundled workload; a file of that name; what writing gives.
pub fn copy(name: &str, folder: &Path) -> Result<PathBuf, Diagnostic> {
    let Some((file, content)) = find::bundled(name) else {
        let known = find::bundled_names();
        return Err(Diagnostic::error(format!("no bundled workload `{name}`")).suggest(
            name,
            known.iter().map(String::as_str),
            format!("there are {}", known.join(", ")),
        ));
    };
    let path = folder.join(&file);
    let refused = |error: &io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Diagnostic::error(format!("a file named `{file}` exists")).help("remove or rename it first")
        }
        _ => Diagnostic::error(format!("cannot write `{}`: {error}", path.display())),
    };
    let mut target =
        OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| refused(&error))?;
    target.write_all(&content).and_then(|()| target.sync_all()).map_err(|error| refused(&error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tags::TagFilter;
    use std::fs;

    fn written(
        write: impl FnOnce(&mut dyn Write) -> io::Result<Vec<Diagnostic>>,
    ) -> (String, Vec<Diagnostic>) {
        let mut out = Vec::new();
        let warnings = write(&mut out).expect("memory takes everything");
        (String::from_utf8(out).expect("UTF-8"), warnings)
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        file(
            "foo.yaml",
            "description: |\n  First line\n  second\nops: {a: 'TEMPLATE(x,Uniform(0,5)) TEMPLATE(y) <<z>>'}\n\
             scenarios: {default: run op=TEMPLATE(o,TEMPLATE(i,4)), alt: run op=x}\n",
        );
        file("bad.yaml", "a: 1\na: 2\n");
        file("none.yaml", "ops: {a: b}\n");
        file("empty.yaml", "");
        folder
    }

    #[test]
    fn workloads_with_scenarios_are_listed_and_a_bad_file_stops_none() {
        let folder = folder();
        let includes = [folder.path().to_owned()];
        let (text, warnings) = written(|out| list_workloads(&includes, out));
        let path = folder.path().join("foo.yaml").display().to_string();
        assert!(text.contains(&format!("# First line\n{path}\n\n")), "{text}");
        assert!(text.contains("# Keys and values in one collection with a unique index on the key\nmongodb-keyvalue2.yaml\n\n"), "{text}");
        assert!(!text.contains("none.yaml") && !text.contains("TEMPLATE("), "{text}");
        let warnings: Vec<String> = warnings.iter().map(Diagnostic::one_line).collect();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].contains("bad.yaml:2:1: warning:") && warnings[0].contains("given twice"),
            "{warnings:?}"
        );
    }

    #[test]
    fn scenarios_are_listed_with_their_commands_and_defaults() {
        let folder = folder();
        let includes = [folder.path().to_owned()];
        let (text, _) = written(|out| list_scenarios(&includes, out));
        let name = folder.path().join("foo").display().to_string();
        let expected = format!(
            "# First line\n# workload found in {name}.yaml\n    # scenarios:\n    nbrs {name} default\n    nbrs {name} alt\n        \
             # defaults\n        i = 4\n        o = 4\n        x = Uniform(0,5)\n        y = \n        z = -none-\n\n\n"
        );
        assert!(text.contains(&expected), "{text}");
        assert!(
            text.contains("    nbrs mongodb-keyvalue2 default\n        # defaults\n        addzeroes = \n"),
            "{text}"
        );
        assert!(text.ends_with("--copy=NAME\n\n") && !text.contains("TEMPLATE("), "{text}");
    }

    #[test]
    fn a_bundled_workload_is_copied_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = copy("mongodb-basic", folder.path()).expect("it is bundled");
        assert_eq!(path, folder.path().join("mongodb-basic.yaml"));
        let error = copy("mongodb-basic", folder.path()).expect_err("it is there").one_line();
        assert!(error.contains("a file named `mongodb-basic.yaml` exists"), "{error}");
        let error = copy("mongodb-basik", folder.path()).expect_err("no such name").one_line();
        assert!(error.contains("did you mean `mongodb-basic`"), "{error}");
    }

    #[test]
    fn ops_are_described_as_json_and_for_people() {
        let text = "description: d\nbindings: {b: Mod(5)}\nparams: {ratio: 2}\nops:\n  - name: n\n    desc: what\n    stmt: |\n      one\n      two\n";
        let source = Text::of_source("f", text).location().expect("placed").source;
        let workload = workload::parse(source, &IndexMap::new()).expect("it loads");
        let ops = TagFilter::parse(&Text::unplaced("")).and_then(|all| all.select(&workload)).expect("all");
        let (json, _) = written(|out| describe(&ops, true, out).map(|()| Vec::new()));
        assert_eq!(
            json,
            "[{\"name\":\"block0__n\",\"description\":\"what\",\"op\":{\"stmt\":\"one\\ntwo\\n\"},\"params\":{\"ratio\":2},\
             \"bindings\":{\"b\":\"Mod(5)\"},\"tags\":{\"block\":\"block0\",\"name\":\"block0__n\"}}]\n"
        );
        let (plain, _) = written(|out| describe(&ops, false, out).map(|()| Vec::new()));
        assert_eq!(
            plain,
            "block0__n\n  description: what\n  stmt:\n    one\n    two\n  params:\n    ratio: 2\n  bindings:\n    b: Mod(5)\n  \
             tags:\n    block: block0\n    name: block0__n\n"
        );
    }
}
