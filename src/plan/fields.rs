//! The fields of an op template → its [`Body`]: which field means what for each [`Form`].

use super::bind_points::{Bindings, Slot, scan};
use super::captures::{self, Capture, Dialect};
use super::command_text::{self, MARK};
use super::element::{self, Element, Meaning, Origin, Part};
use super::rendered::Rendered;
use super::{Body, CommandTemplate, Compiled, DryRun, Field, Form, OpPlan, TextTemplate};
use crate::span::{Diagnostic, Text};
use crate::value::Value;
use crate::workload::{Data, Node, OpTemplate};
use bson::RawBson;
use std::ops::Range;
use std::sync::Arc;

/// Op fields that are no part of what is sent: they are read here, by the sequence, or to choose the driver.
const READ_ELSEWHERE: &[&str] = &[
    "ratio",
    "driver",
    "instrument",
    "dryrun",
    "start-timers",
    "stop-timers",
    EXPECT,
    VERIFY,
    "after",
    "own-cycles",
    "report-as",
];

pub(super) const EXPECT: &str = "expect";
pub(super) const VERIFY: &str = "verify";

/// Snippets of Groovy in the reference, by which it checks results.
const GROOVY: &[&str] = &["verifier", "verifier-init", "verifier-imports", "expected-result"];

/// Op fields and params that say where a command goes.
const WHERE_TO: &[&str] = &["database", "space", "connection"];

/// Whether a field or param of an op for an adapter that takes `form` means something beside what is sent.
pub fn knows_field(name: &str, form: Form) -> bool {
    [READ_ELSEWHERE, GROOVY, &["type", "name"]].iter().any(|list| list.contains(&name))
        || (form == Form::Command && WHERE_TO.contains(&name))
}

/// YAML nested deeper than this is refused; it bounds our recursion.
const MAX_DEPTH: usize = 200;

/// Compiles `op` for an adapter that takes `form`.
pub(super) fn compile(op: &OpTemplate, form: Form) -> Result<Compiled, Vec<Diagnostic>> {
    let mut compiler = Compiler {
        op,
        name: op.name.as_str().into(),
        form,
        bindings: Bindings::new(&op.bindings),
        captures: Vec::new(),
    };
    compiler.refuse_groovy();
    let dry_run = compiler.dry_run();
    let timers = compiler.timers();
    let checks = compiler.checks(form);
    let (database, space, connection) = match form {
        Form::Command => (compiler.database(), compiler.fixed("space"), compiler.fixed("connection")),
        Form::Text | Form::Fields => (None, None, None),
    };
    let body = match form {
        Form::Command => compiler.command().map(Body::Command),
        Form::Text => compiler.text().map(Body::Text),
        Form::Fields => Some(Body::Fields(compiler.fields())),
    };
    let captures = compiler.captures;
    let Bindings { errors, mut notices, reads_acknowledged, .. } = compiler.bindings;
    notices.extend(captures.iter().map(|capture| {
        let name = &capture.name;
        Diagnostic::warning(format!(
            "op `{}`: `[{name}]` is a capture point, and nothing is captured yet: it is read as `{name}`",
            op.name
        ))
        .at(capture.location.clone())
    }));
    match body {
        Some(body) if errors.is_empty() => {
            let name = op.name.clone();
            let plan = OpPlan {
                name,
                body,
                database,
                space,
                connection,
                captures,
                dry_run,
                checks,
                timers,
                reads_acknowledged,
            };
            Ok(Compiled { plan, notices })
        }
        _ => Err(errors),
    }
}

/// Makes the parts of an op's plan, and keeps what is wrong with them.
pub(super) struct Compiler<'a> {
    pub(super) op: &'a OpTemplate,
    pub(super) name: Arc<str>,
    pub(super) form: Form,
    pub(super) bindings: Bindings<'a>,
    pub(super) captures: Vec<Capture>,
}

/// A field that is looked up in the op's fields, where it may have bind points, then in its params, where it is
/// taken as it stands. The flag tells which.
pub(super) fn field_of<'a>(op: &'a OpTemplate, name: &str) -> Option<(&'a Node, bool)> {
    let of_op = op.op.get(name).map(|node| (node, true));
    of_op.or_else(|| op.params.get(name).map(|node| (node, false)))
}

impl Compiler<'_> {
    pub(super) fn error(&mut self, error: Diagnostic) {
        self.bindings.errors.push(error);
    }

    /// Refuses the fields and params that hold Groovy.
    fn refuse_groovy(&mut self) {
        let fields = if self.form == Form::Fields { None } else { Some(&self.op.op) };
        for (name, node) in fields.into_iter().chain([&self.op.params]).flatten() {
            let op = &self.op.name;
            if GROOVY.contains(&name.as_str()) {
                let error =
                    Diagnostic::error(format!("op `{op}`: `{name}` is Groovy, which nbrs does not run"));
                self.bindings.errors.push(error.at(node.location.clone()).help(
                    "write `expect: docs == 1` (an expression over the reply), or `verify:` with the document that \
                     should have been read",
                ));
            }
        }
    }

    /// See [`field_of`].
    pub(super) fn field(&self, name: &str) -> Option<(&'_ Node, bool)> {
        field_of(self.op, name)
    }

    fn dry_run(&mut self) -> Option<DryRun> {
        let (node, _) = self.field("dryrun")?;
        let location = node.location.clone();
        let text = node.as_text().unwrap_or_default();
        match DryRun::parse(text.as_str()) {
            Ok(dry_run) => Some(dry_run),
            Err(message) => {
                let message = format!("op `{}`: {message}", self.op.name);
                self.error(Diagnostic::error(message).at(location));
                None
            }
        }
    }

    /// The op's own database.
    fn database(&mut self) -> Option<TextTemplate> {
        let (node, dynamic) = self.field("database")?;
        let location = node.location.clone();
        match node.as_text() {
            Some(text) if dynamic => TextTemplate::compile(self.name.clone(), &text, &mut self.bindings),
            Some(text) => Some(TextTemplate::of_literal(self.name.clone(), text.as_str().to_owned())),
            None => {
                let message = format!("op `{}`: `database` is a name", self.op.name);
                self.error(Diagnostic::error(message).at(location));
                None
            }
        }
    }

    /// A text that chooses the op's client, which is made before the first cycle.
    fn fixed(&mut self, name: &str) -> Option<String> {
        let (node, dynamic) = self.field(name)?;
        let location = node.location.clone();
        let text = node.as_text().filter(|text| !text.is_empty());
        let literal = match text {
            Some(text) if dynamic => {
                let template = TextTemplate::compile(self.name.clone(), &text, &mut self.bindings)?;
                template.literal().map(str::to_owned)
            }
            text => text.map(|text| text.as_str().to_owned()),
        };
        if literal.is_none() {
            let message =
                format!("op `{}`: `{name}` is a text that is the same for all cycles", self.op.name);
            let help = "a client is made for each before the first cycle: it can hold no bind point";
            self.error(Diagnostic::error(message).at(location).help(help));
        }
        literal
    }

    /// Whether `name` is no part of what is sent.
    fn read_elsewhere(&self, name: &str) -> bool {
        READ_ELSEWHERE.contains(&name)
            || GROOVY.contains(&name)
            || (self.form == Form::Command && WHERE_TO.contains(&name))
    }

    fn missing_stmt(&mut self) {
        let error = Diagnostic::error(format!("op `{}`: the required field `stmt` is missing", self.op.name));
        let error = error.at(self.op.location.clone()).help("write the op as `op: |` followed by its text");
        self.error(error);
    }

    /// Says which fields beside `stmt` have no effect.
    fn note_unused(&mut self, used: &[&str]) {
        for (name, node) in &self.op.op {
            if !used.contains(&name.as_str()) && !self.read_elsewhere(name) {
                let message =
                    format!("op `{}`: the field `{name}` has no effect beside `stmt`", self.op.name);
                self.bindings.notices.push(Diagnostic::warning(message).at(node.location.clone()));
            }
        }
    }

    fn command(&mut self) -> Option<CommandTemplate> {
        let op = self.op;
        let Some(stmt) = op.op.get("stmt") else {
            let fields = op.op.iter().filter(|(name, _)| !self.read_elsewhere(name));
            let fields: Vec<(&str, &Node)> = fields.map(|(name, node)| (name.as_str(), node)).collect();
            if fields.is_empty() {
                self.missing_stmt();
                return None;
            }
            return self.map(fields);
        };
        self.note_unused(&["stmt"]);
        match &stmt.data {
            Data::Text(text) => self.command_text(text),
            Data::Map(pairs) => self.map(pairs.iter().map(|(key, node)| (key.as_str(), node)).collect()),
            _ => {
                let message = format!("op `{}`: a command is a document, as text or as a map", op.name);
                self.error(Diagnostic::error(message).at(stmt.location.clone()));
                None
            }
        }
    }

    /// A command that is written as a YAML map.
    pub(super) fn map(&mut self, fields: Vec<(&str, &Node)>) -> Option<CommandTemplate> {
        let pairs = self.elements(fields, 0)?;
        let slots = std::mem::take(&mut self.bindings.slots);
        Some(CommandTemplate::fast(self.name.clone(), slots, &pairs, None))
    }

    fn elements(&mut self, fields: Vec<(&str, &Node)>, depth: usize) -> Option<Vec<(String, Element)>> {
        let mut pairs = Vec::with_capacity(fields.len());
        let mut complete = true;
        for (key, node) in fields {
            if key.contains('\0') {
                self.error(Diagnostic::error("a key cannot hold a NUL character").at(node.location.clone()));
                complete = false;
            }
            match self.element(node, depth + 1) {
                Some(element) => pairs.push((key.to_owned(), element)),
                None => complete = false,
            }
        }
        complete.then_some(pairs)
    }

    /// A YAML value in its own type; None after an error.
    fn element(&mut self, node: &Node, depth: usize) -> Option<Element> {
        if depth > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.error(Diagnostic::error(message).at(node.location.clone()));
            return None;
        }
        Some(match &node.data {
            Data::Null => Element::Constant(RawBson::Null),
            Data::Bool(b) => Element::Constant(RawBson::Boolean(*b)),
            Data::Int(n) => Element::Constant(element::smallest(*n)),
            Data::Float(d) => Element::Constant(RawBson::Double(*d)),
            Data::Text(text) => self.text_element(text)?,
            Data::List(items) => {
                let items: Vec<Option<Element>> =
                    items.iter().map(|item| self.element(item, depth + 1)).collect();
                Element::Array(items.into_iter().collect::<Option<_>>()?)
            }
            Data::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, node)| (key.as_str(), node)).collect();
                let pairs = self.elements(pairs, depth)?;
                let wrong = |message: String| Diagnostic::error(message).at(node.location.clone());
                match element::meaning(pairs, Origin::Map) {
                    Ok(Meaning::Document(pairs)) => Element::Document(pairs),
                    Ok(Meaning::Value(element)) => element,
                    Ok(Meaning::Unknown) => {
                        let error =
                            wrong("a bind point cannot stand within this typed form of a map".to_owned())
                                .help("write the op as text (`stmt: |`), where it can");
                        self.error(error);
                        return None;
                    }
                    Err(message) => {
                        self.error(wrong(message));
                        return None;
                    }
                }
            }
        })
    }

    fn text_element(&mut self, text: &Text) -> Option<Element> {
        let source = text.as_str();
        let points = scan(source);
        let slots: Vec<Option<usize>> = points.iter().map(|point| self.bindings.slot(text, point)).collect();
        let slots: Vec<usize> = slots.into_iter().collect::<Option<_>>()?;
        if let ([point], [slot]) = (points.as_slice(), slots.as_slice())
            && point.range == (0..source.len())
        {
            return Some(Element::Native(*slot));
        }
        let mut parts = Vec::new();
        let mut from = 0;
        for (point, slot) in points.iter().zip(slots) {
            if from < point.range.start {
                parts.push(Part::Literal(source[from..point.range.start].to_owned()));
            }
            parts.push(Part::Hole(slot));
            from = point.range.end;
        }
        if from < source.len() {
            parts.push(Part::Literal(source[from..].to_owned()));
        }
        Some(Element::Text { parts, quote: None })
    }

    /// `text` without the brackets of its capture points, which are kept.
    fn without_captures(&mut self, text: &Text, dialect: Dialect) -> Option<Text> {
        let (rest, captures) = captures::take(text, &scan(text.as_str()), dialect)?;
        self.captures.extend(captures);
        Some(rest)
    }

    /// A command that is written as JSON text.
    pub(super) fn command_text(&mut self, text: &Text) -> Option<CommandTemplate> {
        let without = self.without_captures(text, Dialect::Json);
        let text = without.as_ref().unwrap_or(text);
        let source = text.as_str();
        let points = scan(source);
        let slots: Vec<Option<usize>> = points.iter().map(|point| self.bindings.slot(text, point)).collect();
        let ranges: Vec<Range<usize>> = points.into_iter().map(|point| point.range).collect();
        let complete = slots.iter().all(Option::is_some);
        // Errors of the text are found even where a binding is wrong.
        let slots: Vec<usize> = slots.into_iter().map(|slot| slot.unwrap_or(0)).collect();
        let marked = Rendered::marked(source, &ranges);
        let parsed = command_text::parse(&marked.text, Some(&slots));
        let name = self.name.clone();
        let template = |all: &[Slot]| TextTemplate::of_holes(name, source, &ranges, &slots, all);
        match parsed {
            Ok(parsed) => {
                self.note_rest(text, &marked, parsed.end);
                if !complete {
                    return None;
                }
                let template = template(&self.bindings.slots);
                if parsed.undecided || source.contains(MARK) {
                    let keys = parsed.pairs.into_iter().map(|(key, _)| key).collect();
                    return Some(CommandTemplate::slow(self.name.clone(), template, keys));
                }
                let text = if ranges.is_empty() { None } else { Some(template) };
                let slots = std::mem::take(&mut self.bindings.slots);
                Some(CommandTemplate::fast(self.name.clone(), slots, &parsed.pairs, text))
            }
            // What a bind point without a binding would be rendered to is not known.
            Err(problem) if !complete && marked.touches_hole(&problem.range) => None,
            Err(problem) => {
                let mut place = marked.original(&problem.range);
                let mut problem = problem;
                // A bind point may stand for a piece of structure: then the text is right once it is rendered.
                if complete && !ranges.is_empty() {
                    let template = template(&self.bindings.slots);
                    if let Some(rendered) = Rendered::of_cycle_0(&template, &ranges) {
                        match command_text::parse(&rendered.text, None) {
                            Ok(_) => {
                                return Some(CommandTemplate::slow(self.name.clone(), template, Vec::new()));
                            }
                            // Of two ways to read it, the one that gets further knows better what is wrong.
                            Err(other) if rendered.original(&other.range).start > place.start => {
                                place = rendered.original(&other.range);
                                problem = other;
                            }
                            Err(_) => {}
                        }
                    }
                }
                let error = Diagnostic::error(problem.message)
                    .at(text.locate(place).or_else(|| self.op.location.clone()));
                self.error(Diagnostic { help: problem.help, ..error });
                None
            }
        }
    }

    fn note_rest(&mut self, text: &Text, marked: &Rendered, end: usize) {
        let rest = &marked.text[end..];
        let trimmed = rest.trim();
        if trimmed.is_empty() {
            return;
        }
        let start = end + rest.len() - rest.trim_start().len();
        let place = marked.original(&(start..start + trimmed.len()));
        let message = format!("op `{}`: the text after the closing brace is ignored", self.op.name);
        self.bindings.notices.push(Diagnostic::warning(message).at(text.locate(place)));
    }

    fn text(&mut self) -> Option<TextTemplate> {
        let op = self.op;
        let Some(stmt) = op.op.get("stmt") else {
            self.missing_stmt();
            return None;
        };
        self.note_unused(&["stmt"]);
        self.java_text(stmt, 0)
    }

    /// The text that Java prints for a value: `{a=1, b=[2, 3]}` for maps and lists.
    fn java_text(&mut self, node: &Node, depth: usize) -> Option<TextTemplate> {
        if depth > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.error(Diagnostic::error(message).at(node.location.clone()));
            return None;
        }
        let literal = |text: &str| TextTemplate::of_literal(self.name.clone(), text.to_owned());
        match &node.data {
            Data::Text(text) => self.plain_text(text),
            Data::List(items) => {
                let mut all = literal("[");
                let (separator, close) = (literal(", "), literal("]"));
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        all.append(separator.clone());
                    }
                    all.append(self.java_text(item, depth + 1)?);
                }
                all.append(close);
                Some(all)
            }
            Data::Map(pairs) => {
                let mut all = literal("{");
                for (index, (key, value)) in pairs.iter().enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    let name =
                        TextTemplate::of_literal(self.name.clone(), format!("{separator}{}=", key.as_str()));
                    all.append(name);
                    all.append(self.java_text(value, depth + 1)?);
                }
                all.append(TextTemplate::of_literal(self.name.clone(), "}".to_owned()));
                Some(all)
            }
            scalar => Some(literal(&scalar_text(scalar))),
        }
    }

    /// A text with its bind points. One without any stays as it is written, brackets too, as in the reference.
    fn plain_text(&mut self, text: &Text) -> Option<TextTemplate> {
        let captured =
            if scan(text.as_str()).is_empty() { None } else { self.without_captures(text, Dialect::Plain) };
        TextTemplate::compile(self.name.clone(), captured.as_ref().unwrap_or(text), &mut self.bindings)
    }

    /// All fields, a map as `key=value key=value`.
    fn fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        for (name, node) in &self.op.op {
            if READ_ELSEWHERE.contains(&name.as_str()) {
                continue;
            }
            let text = match &node.data {
                Data::Map(pairs) => self.assignments(pairs),
                Data::List(_) => {
                    let message = format!("op `{}`: the field `{name}` takes a text or a map", self.op.name);
                    self.error(Diagnostic::error(message).at(node.location.clone()));
                    None
                }
                _ => self.java_text(node, 0),
            };
            if let Some(text) = text {
                fields.push(Field { name: name.clone(), text, location: node.location.clone() });
            }
        }
        fields
    }

    fn assignments(&mut self, pairs: &[(Text, Node)]) -> Option<TextTemplate> {
        let mut all = TextTemplate::of_literal(self.name.clone(), String::new());
        for (index, (key, value)) in pairs.iter().enumerate() {
            let separator = if index > 0 { " " } else { "" };
            all.append(TextTemplate::of_literal(self.name.clone(), format!("{separator}{}=", key.as_str())));
            all.append(self.java_text(value, 0)?);
        }
        Some(all)
    }
}

fn scalar_text(data: &Data) -> String {
    match data {
        Data::Bool(b) => b.to_string(),
        Data::Int(n) => n.to_string(),
        Data::Float(d) => {
            let mut text = Vec::new();
            Value::Double(*d).write_text(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        Data::Text(text) => text.as_str().to_owned(),
        Data::Null | Data::List(_) | Data::Map(_) => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Context;
    use crate::plan::{extended_json, op_templates};

    fn compiled(yaml: &str, form: Form) -> Compiled {
        compile(&op_templates(yaml)[0], form).unwrap_or_else(|errors| panic!("{yaml}: {errors:?}"))
    }

    /// The commands of cycles 0 and 5.
    fn commands(yaml: &str) -> [String; 2] {
        let plan = compiled(yaml, Form::Command).plan;
        [0, 5].map(|cycle| {
            let mut bytes = Vec::new();
            plan.body
                .bind(cycle, &mut Context::default(), &mut bytes)
                .unwrap_or_else(|e| panic!("{yaml}: {e}"));
            extended_json::canonical(&bytes).expect("a command is BSON")
        })
    }

    fn texts(yaml: &str) -> [String; 2] {
        let plan = compiled(yaml, Form::Text).plan;
        [0, 5].map(|cycle| {
            let mut bytes = Vec::new();
            plan.body
                .bind(cycle, &mut Context::default(), &mut bytes)
                .unwrap_or_else(|e| panic!("{yaml}: {e}"));
            String::from_utf8(bytes).expect("text")
        })
    }

    /// Place, message and help of each error.
    fn errors(yaml: &str, form: Form) -> Vec<String> {
        let errors = compile(&op_templates(yaml)[0], form).err().unwrap_or_default();
        errors
            .into_iter()
            .map(|error| {
                let place = error.location.map_or_else(String::new, |location| {
                    let (line, column) = location.line_column();
                    format!("{line}:{column}: ")
                });
                let help = error.help.map(|help| format!(" ({help})")).unwrap_or_default();
                format!("{place}{}{help}", error.message)
            })
            .collect()
    }

    const BINDINGS: &str =
        "bindings:\n  n: Identity()\n  i: Mod(10) -> int\n  s: ToString()\n  d: Identity(); Add(0.5)\n";

    #[test]
    fn bind_points_are_filled_at_any_depth_as_their_place_says() {
        let yaml = format!(
            "{BINDINGS}op: |\n  {{ insert: \"c\", documents: [ {{ _id: \"{{n}}\", tags: [\"{{s}}\", {{n: {{n}}}}], x: \"a{{i}}b\" }} ], ordered: false, v: [5], o: {{}}, d: {{d}}, t: {{s}} }}\n"
        );
        let [first, sixth] = commands(&yaml);
        assert_eq!(
            first,
            r#"{"insert":"c","documents":[{"_id":"0","tags":["0",{"n":{"$numberInt":"0"}}],"x":"a0b"}],"ordered":false,"v":[{"$numberInt":"5"}],"o":{},"d":{"$numberDouble":"0.5"},"t":{"$numberInt":"0"}}"#
        );
        assert_eq!(
            sixth,
            r#"{"insert":"c","documents":[{"_id":"5","tags":["5",{"n":{"$numberInt":"5"}}],"x":"a5b"}],"ordered":false,"v":[{"$numberInt":"5"}],"o":{},"d":{"$numberDouble":"5.5"},"t":{"$numberInt":"5"}}"#
        );
    }

    #[test]
    fn a_map_keeps_native_types() {
        let map = "find: c, filter: {n: '{n}', i: '{i}', s: '{s}', d: '{d}', mix: 'a{n}b'}, limit: 5000000000, f: 1.0";
        let expected = r#"{"find":"c","filter":{"n":{"$numberLong":"5"},"i":{"$numberInt":"5"},"s":"5","d":{"$numberDouble":"5.5"},"mix":"a5b"},"limit":{"$numberLong":"5000000000"},"f":{"$numberDouble":"1.0"}}"#;
        for ops in [
            format!("ops: {{op1: {{{map}}}}}"),
            format!("ops: {{op1: {{op: {{stmt: {{{map}}}}}}}}}"),
            format!("ops: {{op1: {{op: {{{map}, ratio: 3, driver: mongodb}}}}}}"),
        ] {
            assert_eq!(commands(&format!("{BINDINGS}{ops}\n"))[1], expected, "{ops}");
        }
    }

    #[test]
    fn extended_json_means_the_same_in_a_text_and_in_a_map() {
        let typed = r#"n: {"$numberLong": "5000000000"}, d: {"$date": "2024-01-01T00:00:00Z"}, u: {"$uuid": "00000000-0000-0000-0000-000000000001"}, i: 1, f: 1.0, o: {$oid: "507f1f77bcf86cd79943901{i}"}, l: {$numberLong: "{s}"}"#;
        let expected = r#"{"ping":{"$numberInt":"1"},"n":{"$numberLong":"5000000000"},"d":{"$date":{"$numberLong":"1704067200000"}},"u":{"$binary":{"base64":"AAAAAAAAAAAAAAAAAAAAAQ==","subType":"04"}},"i":{"$numberInt":"1"},"f":{"$numberDouble":"1.0"},"o":{"$oid":"507f1f77bcf86cd799439015"},"l":{"$numberLong":"5"}}"#;
        let text = format!("{BINDINGS}op: |\n  {{ping: 1, {typed}}}\n");
        let map = format!("{BINDINGS}ops: {{op1: {{ping: 1, {typed}}}}}\n");
        assert_eq!(commands(&text)[1], expected);
        assert_eq!(commands(&map)[1], expected);
        // Query operators of a map are not taken for typed values.
        let operators = "ops: {op1: {find: c, filter: {a: {$regex: x, $options: i}, b: {$type: string}}}}";
        let expected = r#"{"find":"c","filter":{"a":{"$regex":"x","$options":"i"},"b":{"$type":"string"}}}"#;
        assert_eq!(commands(operators)[0], expected);
    }

    #[test]
    fn an_op_whose_structure_depends_on_the_cycle_is_rendered_and_parsed() {
        let cases = [
            (r#"{find: "c", "k{i}": 1}"#, r#"{"find":"c","k5":{"$numberInt":"1"}}"#),
            (r#"{find: "c", {(ToString(); Prefix('k'))}: 1}"#, r#"{"find":"c","k5":{"$numberInt":"1"}}"#),
            (r#"{find: "c", a: 1{i}}"#, r#"{"find":"c","a":{"$numberInt":"15"}}"#),
            (r#"{find: "c", a: {i}{i}}"#, r#"{"find":"c","a":{"$numberInt":"55"}}"#),
            (
                r#"{find: "c", t: {$timestamp: {t: {i}, i: 1}}}"#,
                r#"{"find":"c","t":{"$timestamp":{"t":5,"i":1}}}"#,
            ),
            ("{{ToString(); Prefix('{find: '); Suffix('}')}}", r#"{"find":{"$numberInt":"5"}}"#),
        ];
        for (text, expected) in cases {
            let yaml = format!("{BINDINGS}op: >-\n  {text}\n");
            let plan = compiled(&yaml, Form::Command).plan;
            assert!(matches!(&plan.body, Body::Command(command) if !command.is_fast()), "{text}");
            assert_eq!(commands(&yaml)[1], expected, "{text}");
        }
    }

    #[test]
    fn values_that_only_bson_has_go_into_a_text_as_they_are() {
        let yaml = "bindings:\n  id: ObjectId()\n  doc: Doc('a',NumberNameToString())\n  at: BsonDate()\n\
                    op: |\n  {insert: 'c', documents: [{_id: {id}, d: {doc}, l: [{at}]}]}\n";
        assert_eq!(
            commands(yaml)[1],
            r#"{"insert":"c","documents":[{"_id":{"$oid":"659200800000000000000005"},"d":{"a":"five"},"l":[{"$date":{"$numberLong":"5"}}]}]}"#
        );
    }

    #[test]
    fn single_cycles_are_rendered_where_their_values_need_it() {
        let cases = [
            // A bare text that is a document, and one that escapes.
            (
                r#"{find: "c", f: {(ToString(); Prefix('{a: '); Suffix('}'))}}"#,
                r#"{"find":"c","f":{"a":{"$numberInt":"5"}}}"#,
            ),
            (r#"{find: "c", f: "{(ToString(); Prefix("\\t"))}"}"#, r#"{"find":"c","f":"\t5"}"#),
            (r#"{find: "c", f: '{(ToString(); Prefix("\""))}'}"#, r#"{"find":"c","f":"\"5"}"#),
        ];
        for (text, expected) in cases {
            let yaml = format!("{BINDINGS}op: |\n  {text}\n");
            let plan = compiled(&yaml, Form::Command).plan;
            assert!(matches!(&plan.body, Body::Command(command) if command.is_fast()), "{text}");
            assert_eq!(commands(&yaml)[1], expected, "{text}");
        }
    }

    #[test]
    fn a_value_that_breaks_the_command_is_an_error_of_its_cycle() {
        let yaml = format!("{BINDINGS}op: |\n  {{find: \"{{(ToString(); Prefix('\"'))}}\"}}\n");
        let plan = compiled(&yaml, Form::Command).plan;
        let error = plan.body.bind(5, &mut Context::default(), &mut Vec::new()).expect_err("not JSON");
        let text = error.to_string();
        assert!(text.starts_with("block0__stmt1, cycle 5: the rendered text is not a command"), "{text}");
        assert!(text.contains("⟨here⟩"), "{text}");
    }

    #[test]
    fn errors_show_the_place_in_the_file() {
        let cases: &[(&str, &[&str])] = &[
            (
                "bindings:\n  user: Identity()\nop: |\n  {find: \"c\",\n   filter: {u: \"{usr}\"}}\n",
                &["5:17: no binding is named `usr` (did you mean `user`? bindings here: user)"],
            ),
            (
                "op: |\n  {find: \"c\", filter: {u: {x}}}\n",
                &[
                    "2:27: no binding is named `x` (this op has no bindings; add `bindings:` to the op, its block or the document)",
                ],
            ),
            (
                "op: |\n  {find: \"c\",\n    filter {}}\n",
                &[
                    "3:12: expected `:`, found `{` (a key with other characters than letters, digits, `_` and `$` needs quotes)",
                ],
            ),
            (
                "bindings: {doc: NoSuchThing()}\nop: |\n  {find: \"c\", {doc} }\n",
                &["1:17: there is no function `NoSuchThing` (`nbrs --list-functions` shows all)"],
            ),
            // Both the missing binding and the mistake in the text.
            (
                "bindings: {user: Identity()}\nop: |\n  {find: \"{b}\", x: hello}\n",
                &[
                    "3:11: no binding is named `b` (bindings here: user)",
                    "3:20: `hello` is not a value (a text needs quotes)",
                ],
            ),
            // What is right once it is rendered is not blamed for what is wrong behind it.
            (
                "bindings: {a: Identity()}\nop: |\n  {find: \"c\", \"k\": {a}{a}, {a}: 2,\n    y: hello}\n",
                &["3:28: expected a key or `}`, found `0`"],
            ),
            (
                "bindings: {k: ToString(); Prefix('k')}\nop: |\n  {find: \"c\", {k}: 1,\n    y: hello, z: {k}}\n",
                &["4:8: `hello` is not a value (a text needs quotes)"],
            ),
            (
                "bindings: {more: \"FixedValue(', z: 1')\"}\nop: |\n  {find: \"c\" {more}, y: +1}\n",
                &["3:25: `+1` is not a number (write the number without `+`)"],
            ),
            // After a bind point the place is still right.
            (
                "bindings: {a: Identity()}\nop: |\n  {find: \"{a}{a}\", x: {a}, y: hello}\n",
                &["3:31: `hello` is not a value (a text needs quotes)"],
            ),
            (
                "ops: {op1: {find: c, f: {$oid: zz}}}\n",
                &["1:25: in `$oid`: `zz` is not an ObjectId: it takes 24 hexadecimal digits"],
            ),
            (
                "ops: {op1: {ratio: 5}}\n",
                &[
                    "op `block0__op1`: the required field `stmt` is missing (write the op as `op: |` followed by its text)",
                ],
            ),
            (
                "ops: {op1: {op: {stmt: [1]}}}\n",
                &["1:24: op `block0__op1`: a command is a document, as text or as a map"],
            ),
            (
                "bindings: {n: Identity()}\nops: {op1: {find: c, space: '{n}'}}\n",
                &[
                    "2:29: op `block0__op1`: `space` is a text that is the same for all cycles (a client is made for each before the first cycle: it can hold no bind point)",
                ],
            ),
            (
                "ops: {op1: {find: c, connection: [a]}}\n",
                &[
                    "1:34: op `block0__op1`: `connection` is a text that is the same for all cycles (a client is made for each before the first cycle: it can hold no bind point)",
                ],
            ),
            (
                "ops: {op1: {find: c, dryrun: jsonnet}}\n",
                &["1:30: op `block0__op1`: `dryrun=jsonnet` is not supported: there are none, op and emit"],
            ),
            ("ops: {op1: {find: c, database: [x]}}\n", &["1:32: op `block0__op1`: `database` is a name"]),
        ];
        for (yaml, expected) in cases {
            let found = errors(yaml, Form::Command);
            let matched = found.len() == expected.len()
                && found.iter().zip(*expected).all(|(found, expected)| found.ends_with(expected));
            assert!(matched, "{yaml}\n{found:#?}");
        }
    }

    #[test]
    fn only_bindings_that_the_op_uses_are_compiled() {
        let yaml = "bindings: {a: Identity(), broken: NoSuchFunction()}\nop: \"{find: 'c', n: {a}}\"\n";
        assert!(errors(yaml, Form::Command).is_empty());
        let yaml = "bindings: {a: Identity(), broken: NoSuchFunction()}\nop: \"{find: 'c', n: {broken}, m: {broken}}\"\n";
        let found = errors(yaml, Form::Command);
        assert!(found.len() == 1 && found[0].starts_with("1:35: "), "{found:?}");
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let notices = |yaml: &str, form| {
            let notices = compiled(yaml, form).notices;
            notices.into_iter().map(|notice| notice.one_line()).collect::<Vec<_>>()
        };
        let found = notices("op: |\n  {find: \"c\"}, null\n", Form::Command);
        assert_eq!(
            found,
            ["test.yaml:2:14: warning: op `block0__stmt1`: the text after the closing brace is ignored"]
        );
        let found = notices("ops: {op1: {op: {stmt: '{a: 1}', ratio: 2, cl: x}}}\n", Form::Command);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("the field `cl` has no effect beside `stmt`"), "{found:?}");
    }

    #[test]
    fn a_capture_is_part_of_the_plan_and_its_brackets_are_not_sent() {
        let yaml = format!(
            "{BINDINGS}op: |\n  {{find: \"c\", p: {{[a]: 1, [b as x]: {{i}}}}, v: [5], t: \"[a]\"}}\n"
        );
        let Compiled { plan, notices } = compiled(&yaml, Form::Command);
        let captures: Vec<(&str, Option<&str>)> =
            plan.captures.iter().map(|c| (c.name.as_str(), c.alias.as_deref())).collect();
        assert_eq!(captures, [("a", None), ("b", Some("x"))]);
        let said: Vec<String> = notices.iter().map(Diagnostic::one_line).collect();
        assert_eq!(said.len(), 2);
        assert!(
            said[1].starts_with("test.yaml:7:27: warning: op `block0__stmt1`: `[b]` is a capture"),
            "{said:?}"
        );
        let sent = r#"{"find":"c","p":{"a":{"$numberInt":"1"},"b":{"$numberInt":"5"}},"v":[{"$numberInt":"5"}],"t":"[a]"}"#;
        assert_eq!(commands(&yaml)[1], sent);
        assert_eq!(texts(&format!("{BINDINGS}op: \"[a as x] [5] {{n}}\"\n"))[1], "a [5] 5");
        assert_eq!(texts("op: \"[a as x] [b]\"\n")[1], "[a as x] [b]");
    }

    #[test]
    fn an_op_may_have_a_database_and_a_dry_run_of_its_own() {
        let bound = |text: &TextTemplate| {
            let mut bytes = Vec::new();
            text.bind(5, &mut Context::default(), &mut bytes).expect("it binds");
            String::from_utf8(bytes).expect("text")
        };
        for (op, database, dry_run) in [
            ("{find: c, database: 'd{i}', dryrun: OP}", Some("d5"), Some(DryRun::Op)),
            (
                "{stmt: '{find: 1}', params: {database: 'd{i}', dryrun: emit}}",
                Some("d{i}"),
                Some(DryRun::Emit),
            ),
            ("{find: c}", None, None),
        ] {
            let plan = compiled(&format!("{BINDINGS}ops: {{op1: {op}}}\n"), Form::Command).plan;
            assert_eq!(plan.database.as_ref().map(bound).as_deref(), database, "{op}");
            assert_eq!(plan.dry_run, dry_run, "{op}");
        }
    }

    #[test]
    fn equal_recipes_give_equal_values_within_a_cycle() {
        let yaml = format!("{BINDINGS}op: '{{find: \"{{s}}{{s}}\", a: {{n}}, b: {{n}}, c: \"{{n}}\"}}'\n");
        let expected = r#"{"find":"55","a":{"$numberInt":"5"},"b":{"$numberInt":"5"},"c":"5"}"#;
        assert_eq!(commands(&yaml)[1], expected);
    }

    #[test]
    fn text_ops_are_printed_as_java_prints_their_value() {
        let cases = [
            ("op: \"n={n} {{Mod(3)}} {s}{s}\\n\"", "n=5 2 55\n"),
            ("ops: {op1: {op: {stmt: {a: '{n}', b: [1, x, 2.5, true]}}}}", "{a=5, b=[1, x, 2.5, true]}"),
            ("ops: {op1: [1, '{i}']}", "[1, 5]"),
            ("op: \"{ n } {n\"", "{ n } {n"),
        ];
        for (ops, expected) in cases {
            assert_eq!(texts(&format!("{BINDINGS}{ops}\n"))[1], expected, "{ops}");
        }
    }

    #[test]
    fn each_field_of_a_fields_op_is_a_text() {
        let yaml =
            "ops: {op1: {op: {log: level=INFO, erroroncycle: 5, delay: {delay: 5ms, every: 2}, ratio: 3}}}\n";
        let Body::Fields(fields) = compiled(yaml, Form::Fields).plan.body else { panic!("not fields") };
        let fields: Vec<(&str, Option<&str>)> =
            fields.iter().map(|field| (field.name.as_str(), field.text.literal())).collect();
        let expected = [("log", "level=INFO"), ("erroroncycle", "5"), ("delay", "delay=5ms every=2")];
        assert_eq!(fields, expected.map(|(name, text)| (name, Some(text))));
    }
}
