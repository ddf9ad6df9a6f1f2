//! Text → plain data: finding files, TEMPLATE expansion, YAML, normalising, layering, tags, scenario steps.
//! Evaluates no binding and contacts nothing.

pub mod find;
mod node;
mod normalise;
pub mod scenario;
pub mod tags;
mod template;
mod yaml;

pub use node::{Data, Node};
pub use template::Unset;

use crate::span::{Diagnostic, Location, Severity, Source, Text};
use indexmap::IndexMap;
use std::path::PathBuf;
use std::sync::Arc;
use template::Blanks;

/// What a workload is loaded with.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions<'a> {
    /// Folders to look in, besides the working directory, before the bundled files.
    pub includes: &'a [PathBuf],
    /// Values for template variables: all parameters of the activity (or of the command line).
    pub params: &'a IndexMap<String, String>,
}

/// Finds the workload `name` (a path or a bundled name) and loads it.
///
/// # Errors
/// Everything that is wrong with it, at once as far as it can be.
pub fn load(name: &str, options: &LoadOptions<'_>) -> Result<Workload, Vec<Diagnostic>> {
    let source = find::find(name, options.includes).map_err(|error| vec![error])?;
    parse(source, options.params)
}

/// Reads the text of a workload file.
///
/// # Errors
/// Everything that is wrong with it, at once as far as it can be.
pub fn parse(source: Arc<Source>, params: &IndexMap<String, String>) -> Result<Workload, Vec<Diagnostic>> {
    match read(source.name.clone(), &Text::whole(&source), params) {
        Ok((workload, faults)) if faults.is_empty() => Ok(workload),
        Ok((_, faults)) => Err(faults),
        Err(found) => Err(errors_of(found)),
    }
}

/// As [`load`], but passes over what is wrong with scenarios.
pub fn load_ops(name: &str, options: &LoadOptions<'_>) -> Result<Workload, Vec<Diagnostic>> {
    let source = find::find(name, options.includes).map_err(|error| vec![error])?;
    let read = read(source.name.clone(), &Text::whole(&source), options.params);
    read.map(|(workload, _)| workload).map_err(errors_of)
}

/// Reads the text of a workload file and says all that can be said of it: the workload, if it can be used, and
/// errors and warnings in the order of the file.
pub fn examine(
    source: Arc<Source>,
    params: &IndexMap<String, String>,
) -> (Option<Workload>, Vec<Diagnostic>) {
    match read(source.name.clone(), &Text::whole(&source), params) {
        Ok((workload, mut found)) => {
            found.extend(workload.warnings.iter().cloned());
            (Some(workload), found)
        }
        Err(found) => (None, found),
    }
}

/// The workload that `op=TEXT` stands for: a JSON or YAML workload if it starts with `{` or `[`, else one op
/// `block0__stmt1` with the text. Template variables in it are expanded as in a file.
///
/// # Errors
/// Everything that is wrong with it, at once as far as it can be.
pub fn from_op_text(text: &Text, params: &IndexMap<String, String>) -> Result<Workload, Vec<Diagnostic>> {
    let path = "op".to_owned();
    let start = text.as_str().trim_start();
    // A recipe in braces is text: no workload starts like that.
    let recipe = start.starts_with("{{") || start.starts_with("{(");
    if start.starts_with(['{', '[']) && !recipe {
        return match read(path, text, params) {
            Ok((workload, faults)) if faults.is_empty() => Ok(workload),
            Ok((_, faults)) => Err(faults),
            Err(found) => Err(explain_op_text(start, errors_of(found))),
        };
    }
    let expanded = template::expand(text, params, Blanks::Kept).map_err(|error| vec![error])?;
    let location = expanded.text.location();
    let op = Node { data: Data::Text(expanded.text.clone()), location: location.clone() };
    let document = Node { data: Data::Map(vec![(Text::unplaced("op"), op)]), location };
    let read = finish(path, normalise::normalise(vec![document]), expanded, Vec::new());
    read.map(|(workload, _)| workload).map_err(errors_of)
}

/// A command that is taken for a workload gets no use of a list of a workload's fields.
fn explain_op_text(text: &str, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let first = errors.first_mut();
    if let Some(first) = first.filter(|error| error.message.starts_with(normalise::UNKNOWN_FIELD)) {
        let short = text.lines().count() == 1 && text.len() < 120;
        let command = if short { text.trim_end() } else { "{…}" };
        first.help = Some(format!(
            "`op=` that begins with `{{` is a whole workload; for one command write op={{ops: {{a: {{stmt: {command}}}}}}}"
        ));
        errors.truncate(1);
    }
    errors
}

fn errors_of(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.retain(|one| one.severity == Severity::Error);
    found
}

/// Reads a workload, and says what is wrong with its scenarios; what is found where its ops cannot be used are
/// errors and warnings.
fn read(path: String, text: &Text, params: &IndexMap<String, String>) -> Result<Read, Vec<Diagnostic>> {
    let expanded = template::expand(text, params, Blanks::Kept).map_err(|error| vec![error])?;
    let documents = yaml::documents(&expanded.text).map_err(|error| vec![error])?;
    if documents.nodes.iter().all(Node::is_null) {
        let error = Diagnostic::error("this workload is empty").at(expanded.text.locate(0..0));
        return Err(vec![
            error.help("a workload has `ops` or `blocks`, and often `bindings` and `scenarios`"),
        ]);
    }
    let mut read = normalise::normalise(documents.nodes);
    if expanded.padded
        && !read.scenarios.is_empty()
        && let Some(scenarios) = trimmed_scenarios(text, params)
    {
        read.scenarios = scenarios;
    }
    finish(path, read, expanded, documents.odd_keys)
}

/// The scenarios of a workload in which a template default has blanks around it, which would tear its step
/// apart.
fn trimmed_scenarios(text: &Text, params: &IndexMap<String, String>) -> Option<Vec<Scenario>> {
    let expanded = template::expand(text, params, Blanks::Trimmed).ok()?;
    let documents = yaml::documents(&expanded.text).ok()?;
    Some(normalise::normalise(documents.nodes).scenarios)
}

type Read = (Workload, Vec<Diagnostic>);

fn finish(
    path: String,
    read: normalise::Normalised,
    expanded: template::Expanded,
    odd_keys: Vec<Location>,
) -> Result<Read, Vec<Diagnostic>> {
    if !read.errors.is_empty() {
        let mut found = read.errors;
        found.extend(read.scenario_errors);
        found.extend(read.warnings);
        found.sort_by_key(place);
        return Err(found);
    }
    let mut variables = expanded.variables;
    let bound = |name: &str| {
        read.document_bindings.contains_key(name) || read.ops.iter().any(|op| op.bindings.contains_key(name))
    };
    // `${name}` where `name` is a binding is a `$` before a bind point.
    variables.retain(|variable| !(expanded.dollars.contains(&variable.name) && bound(&variable.name)));
    let workload = Workload {
        path,
        description: read.description,
        scenarios: read.scenarios,
        ops: read.ops,
        document_bindings: read.document_bindings,
        variables,
        warnings: read.warnings,
        unset: expanded.unset,
        odd_keys,
    };
    Ok((workload, read.scenario_errors))
}

/// Sorts what is found in the order in which the user reads the file.
fn place(found: &Diagnostic) -> usize {
    found.location.as_ref().map_or(0, |at| at.range.start)
}

/// One op template after normalising and layering (spec/language §3.5–§3.7).
#[derive(Debug, Clone, Default)]
pub struct OpTemplate {
    /// `block__op`: its name in metrics, logs and labels.
    pub name: String,
    pub block: String,
    pub description: Option<String>,
    /// The op fields, in order.
    pub op: IndexMap<String, Node>,
    pub params: IndexMap<String, Node>,
    /// Binding name → recipe.
    pub bindings: IndexMap<String, Text>,
    pub tags: IndexMap<String, String>,
    pub location: Option<Location>,
}

impl OpTemplate {
    /// Its name within its block.
    pub fn own_name(&self) -> &str {
        let own = self.name.strip_prefix(&self.block).and_then(|rest| rest.strip_prefix("__"));
        own.unwrap_or(&self.name)
    }

    /// A field, looked up where the reference does: in the op's fields, then in its params.
    pub fn field(&self, name: &str) -> Option<&Node> {
        self.op.get(name).or_else(|| self.params.get(name))
    }
}

/// A template variable that occurs in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateVariable {
    pub name: String,
    pub default: Option<String>,
    /// Written `<<name>>` where it first occurs, rather than `TEMPLATE(name)`.
    pub angled: bool,
}

/// One step of a named scenario, as written.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub command: Text,
    /// Of its text, or of its name where that is empty.
    pub location: Option<Location>,
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: String,
    pub steps: Vec<Step>,
}

/// A workload file after expansion and normalising.
#[derive(Debug, Clone, Default)]
pub struct Workload {
    /// The path or bundled name it was found under.
    pub path: String,
    pub description: Option<String>,
    pub scenarios: Vec<Scenario>,
    /// All op templates in file order, unfiltered.
    pub ops: Vec<OpTemplate>,
    /// The union of document-level bindings, for stdout's synthetic op.
    pub document_bindings: IndexMap<String, Text>,
    /// Every template variable in the file, sorted by name: legal parameter names for it.
    pub variables: Vec<TemplateVariable>,
    pub warnings: Vec<Diagnostic>,
    /// Template variables with neither value nor default: errors where a selected op or a step uses them.
    pub unset: Vec<Unset>,
    /// Places of the keys that are lists or maps: errors in the fields of a selected op.
    pub odd_keys: Vec<Location>,
}

impl Workload {
    /// Whether a template variable stands in `text` that has neither value nor default.
    pub fn lacks_value(&self, text: &Text) -> bool {
        template::unset_in(text, &self.unset).is_some()
    }
}
