//! Text → plain data: finding files, TEMPLATE expansion, YAML, normalising, layering, tags, scenario steps.
//! Evaluates no binding and contacts nothing.

pub mod find;
pub mod scenario;
pub mod tags;

use crate::span::{Diagnostic, Location, Source, Text};
use indexmap::IndexMap;
use std::path::PathBuf;
use std::sync::Arc;

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
    let _ = (source, params);
    todo!()
}

/// The workload that `op=TEXT` stands for: a JSON or YAML workload if it starts with `{` or `[`, else one op
/// `block0__stmt1` with the text, in which `\\n`, `\\t` and `\\\\` are unescaped.
///
/// # Errors
/// Everything that is wrong with it, at once as far as it can be.
pub fn from_op_text(text: &Text) -> Result<Workload, Vec<Diagnostic>> {
    let _ = text;
    todo!()
}

/// A YAML (or JSON) value that knows where it came from. Scalars follow the JSON schema: only `true|false`
/// are booleans, only `null` and empty are null.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub data: Data,
    pub location: Option<Location>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Any other scalar, and integers beyond 64 bits; each character's place is known.
    Text(Text),
    List(Vec<Node>),
    /// In file order. Keys that are not text are refused where they would be used.
    Map(Vec<(Text, Node)>),
}

/// One op template after normalising and layering (spec/language §3.5–§3.7).
#[derive(Debug, Clone)]
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

/// A template variable that occurs in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateVariable {
    pub name: String,
    pub default: Option<String>,
}

/// One step of a named scenario, as written.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub command: Text,
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: String,
    pub steps: Vec<Step>,
}

/// A workload file after expansion and normalising.
#[derive(Debug, Clone)]
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
}
