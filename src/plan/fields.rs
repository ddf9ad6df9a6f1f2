//! The fields of an op template → its [`Body`]: which field means what for each [`Form`].

use super::bind_points::{Bindings, Slot, scan};
use super::command_text::{self, MARK, Problem};
use super::element::{self, Element, Meaning, Origin, Part};
use super::{Body, CommandTemplate, Compiled, Form, OpPlan, TextTemplate};
use crate::functions::Context;
use crate::span::{Diagnostic, Text};
use crate::value::Value;
use crate::workload::{Data, Node, OpTemplate};
use bson::RawBson;
use std::ops::Range;
use std::sync::Arc;

/// Op fields that others read: the sequence and the choice of the driver.
const READ_ELSEWHERE: &[&str] = &["ratio", "driver", "type", "instrument"];

/// Op fields and params that mean something in a workload, but that are not built yet.
const NOT_BUILT: &[&str] = &[
    "space",
    "connection",
    "database",
    "dryrun",
    "start-timers",
    "stop-timers",
    "verifier",
    "verifier-init",
    "verifier-imports",
    "expected-result",
];

/// YAML nested deeper than this is refused; it bounds our recursion.
const MAX_DEPTH: usize = 200;

/// Compiles `op` for an adapter that takes `form`.
pub(super) fn compile(op: &OpTemplate, form: Form) -> Result<Compiled, Vec<Diagnostic>> {
    let mut compiler = Compiler { op, name: op.name.as_str().into(), bindings: Bindings::new(&op.bindings) };
    compiler.refuse_what_is_not_built(form);
    let body = match form {
        Form::Command => compiler.command().map(Body::Command),
        Form::Text => compiler.text().map(Body::Text),
        Form::Fields => Some(Body::Fields(compiler.fields())),
    };
    let Bindings { errors, notices, .. } = compiler.bindings;
    match body {
        Some(body) if errors.is_empty() => {
            Ok(Compiled { plan: OpPlan { name: op.name.clone(), body }, notices })
        }
        _ => Err(errors),
    }
}

struct Compiler<'a> {
    op: &'a OpTemplate,
    name: Arc<str>,
    bindings: Bindings<'a>,
}

impl Compiler<'_> {
    fn error(&mut self, error: Diagnostic) {
        self.bindings.errors.push(error);
    }

    fn refuse_what_is_not_built(&mut self, form: Form) {
        let fields = if form == Form::Fields { None } else { Some(&self.op.op) };
        for given in fields.into_iter().chain([&self.op.params]) {
            for (name, node) in given.iter().filter(|(name, _)| NOT_BUILT.contains(&name.as_str())) {
                let message = format!("op `{}`: `{name}` is not supported yet", self.op.name);
                self.bindings.errors.push(Diagnostic::error(message).at(node.location.clone()));
            }
        }
    }

    fn missing_stmt(&mut self) {
        let error = Diagnostic::error(format!("op `{}`: the required field `stmt` is missing", self.op.name));
        let error = error.at(self.op.location.clone()).help("write the op as `op: |` followed by its text");
        self.error(error);
    }

    /// Says which fields beside `stmt` have no effect.
    fn note_unused(&mut self, used: &[&str]) {
        for (name, node) in &self.op.op {
            if !used.contains(&name.as_str()) && !READ_ELSEWHERE.contains(&name.as_str()) {
                let message =
                    format!("op `{}`: the field `{name}` has no effect beside `stmt`", self.op.name);
                self.bindings.notices.push(Diagnostic::warning(message).at(node.location.clone()));
            }
        }
    }

    fn command(&mut self) -> Option<CommandTemplate> {
        let op = self.op;
        let Some(stmt) = op.op.get("stmt") else {
            let fields = op.op.iter().filter(|(name, _)| !READ_ELSEWHERE.contains(&name.as_str()));
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
    fn map(&mut self, fields: Vec<(&str, &Node)>) -> Option<CommandTemplate> {
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

    /// A command that is written as JSON text.
    fn command_text(&mut self, text: &Text) -> Option<CommandTemplate> {
        let source = text.as_str();
        let points = scan(source);
        let slots: Vec<Option<usize>> = points.iter().map(|point| self.bindings.slot(text, point)).collect();
        let ranges: Vec<Range<usize>> = points.into_iter().map(|point| point.range).collect();
        let complete = slots.iter().all(Option::is_some);
        // Errors of the text are found even where a binding is wrong.
        let slots: Vec<usize> = slots.into_iter().map(|slot| slot.unwrap_or(0)).collect();
        let marked = Marked::new(source, &ranges);
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
            Err(problem) => {
                // A bind point may stand for a piece of structure: then the text is right once it is rendered.
                if complete && !ranges.is_empty() {
                    let command =
                        CommandTemplate::slow(self.name.clone(), template(&self.bindings.slots), Vec::new());
                    if command.bind(0, &mut Context::default(), &mut Vec::new()).is_ok() {
                        return Some(command);
                    }
                }
                let error = Diagnostic::error(problem.message.clone())
                    .at(text.locate(marked.original(&problem)).or_else(|| self.op.location.clone()));
                self.error(Diagnostic { help: problem.help, ..error });
                None
            }
        }
    }

    fn note_rest(&mut self, text: &Text, marked: &Marked, end: usize) {
        let rest = &marked.text[end..];
        let trimmed = rest.trim();
        if trimmed.is_empty() {
            return;
        }
        let start = end + rest.len() - rest.trim_start().len();
        let place = Problem { message: String::new(), help: None, range: start..start + trimmed.len() };
        let message = format!("op `{}`: the text after the closing brace is ignored", self.op.name);
        self.bindings.notices.push(Diagnostic::warning(message).at(text.locate(marked.original(&place))));
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
            Data::Text(text) => TextTemplate::compile(self.name.clone(), text, &mut self.bindings),
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

    /// All fields, a map as `key=value key=value`.
    fn fields(&mut self) -> Vec<(String, TextTemplate)> {
        let mut fields = Vec::new();
        for (name, node) in &self.op.op {
            if name == "ratio" || name == "driver" || name == "instrument" {
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
                fields.push((name.clone(), text));
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

/// An op text with each bind point replaced by one [`MARK`].
struct Marked<'a> {
    text: String,
    ranges: &'a [Range<usize>],
}

impl<'a> Marked<'a> {
    fn new(source: &str, ranges: &'a [Range<usize>]) -> Marked<'a> {
        let mut text = String::with_capacity(source.len());
        let mut from = 0;
        for range in ranges {
            text.push_str(&source[from..range.start]);
            text.push(MARK);
            from = range.end;
        }
        text.push_str(&source[from..]);
        Marked { text, ranges }
    }

    /// The place of a problem in the text as written.
    fn original(&self, problem: &Problem) -> Range<usize> {
        let start = self.position(problem.range.start, false);
        start..self.position(problem.range.end, true).max(start)
    }

    /// Where the byte `at` of the marked text stands in the written one; within a mark, at its start, or, if
    /// `end`, at its end.
    fn position(&self, at: usize, end: bool) -> usize {
        // How much longer the written text is, up to here.
        let mut longer = 0;
        for range in self.ranges {
            let mark = range.start - longer..range.start - longer + MARK.len_utf8();
            if at < mark.end {
                return match (at > mark.start, end) {
                    (false, _) => at + longer,
                    (true, false) => range.start,
                    (true, true) => range.end,
                };
            }
            longer = (longer + range.len()) - MARK.len_utf8();
        }
        at + longer
    }
}
