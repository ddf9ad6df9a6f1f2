//! `expect:`: what the reply of an op has to be. An expression over it (or a list of them), or paths with their
//! values.
//!
//! In an expression, `result.PATH` is a field of the reply, `doc.PATH` one of its first document, `docs` how many
//! documents it brings, `cycle` the cycle, and any other name a binding of the op. What is not there is null.

use super::bind_points::{BindPoint, Bindings};
use super::reply::{EXPECT_FAILED, Expected, Mismatch, at, cut, documents, fields, same, shown};
use super::{BindError, CommandTemplate};
use crate::bindings::Program;
use crate::expr::{Expression, Fault, Variables};
use crate::functions::Context;
use crate::span::{Diagnostic, Text, nearest};
use crate::value::Value;
use bson::raw::{RawBsonRef, RawDocument};
use std::sync::Arc;

/// One rule.
pub(super) enum Expect {
    Holds(Box<Holds>),
    /// Fields are paths into the reply.
    Values(Box<CommandTemplate>),
}

/// An expression that has to hold.
pub(super) struct Holds {
    op: Arc<str>,
    text: String,
    expression: Expression,
    /// The names that it reads.
    names: Vec<(String, Source)>,
    programs: Vec<Program>,
}

/// What a name stands for.
enum Source {
    Cycle,
    /// How many documents the reply brings.
    Docs,
    /// A path in the first of them; all of it if empty.
    Doc(String),
    /// A path in the reply.
    Result(String),
    /// The value of the program at this position.
    Binding(usize),
}

impl Holds {
    /// Reads an expression; None after an error, which `bindings` keeps.
    pub(super) fn compile(op: Arc<str>, text: &Text, bindings: &mut Bindings<'_>) -> Option<Holds> {
        let expression = match Expression::parse(text.as_str()) {
            Ok(expression) => expression,
            Err(wrong) => {
                let place = text.locate(wrong.range).or_else(|| text.location());
                let error = Diagnostic::error(format!("op `{op}`: `expect`: {}", wrong.message)).at(place);
                bindings.errors.push(Diagnostic { help: wrong.help, ..error });
                return None;
            }
        };
        if sets_a_variable(&expression) {
            let error = Diagnostic::error(format!("op `{op}`: `expect: {}` sets a variable", text.as_str()));
            bindings.errors.push(error.at(text.location()).help("`==` compares"));
            return None;
        }
        let mut holds = Holds {
            op,
            text: text.as_str().to_owned(),
            names: Vec::new(),
            programs: Vec::new(),
            expression: expression.clone(),
        };
        let mut complete = true;
        for name in expression.variables() {
            match holds.source(name, text, bindings) {
                Some(source) => holds.names.push((name.to_owned(), source)),
                None => complete = false,
            }
        }
        complete.then_some(holds)
    }

    fn source(&mut self, name: &str, text: &Text, bindings: &mut Bindings<'_>) -> Option<Source> {
        let path = |prefix: &str| name.strip_prefix(prefix)?.strip_prefix('.').map(str::to_owned);
        match name {
            "cycle" => return Some(Source::Cycle),
            "docs" => return Some(Source::Docs),
            "doc" => return Some(Source::Doc(String::new())),
            _ => {}
        }
        if let Some(path) = path("doc") {
            return Some(Source::Doc(path));
        }
        if let Some(path) = path("result") {
            return Some(Source::Result(path));
        }
        let start = text.as_str().find(name).unwrap_or_default();
        let place = text.slice(start..start + name.len());
        if !bindings.knows(name) {
            let known = bindings.names();
            let names: Vec<&str> = known.iter().map(String::as_str).chain(["cycle", "docs"]).collect();
            let near = nearest(name, names.iter().copied());
            let help = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "a field of the reply is `result.{name}`, one of its first document `doc.{name}`; there are {} too",
                    names.join(", ")
                ),
            };
            let error = Diagnostic::error(format!("op `{}`: `expect`: there is no `{name}` here", self.op));
            bindings.errors.push(error.at(place.location()).help(help));
            return None;
        }
        let whole = 0..name.len();
        let point = BindPoint { range: whole.clone(), inner: whole, inline: false };
        let slot = bindings.slot(&place, &point)?;
        self.programs.push(bindings.slots[slot].program.clone());
        Some(Source::Binding(self.programs.len() - 1))
    }
}

/// Whether an expression gives a name a value, as `n = 1` does.
fn sets_a_variable(expression: &Expression) -> bool {
    struct Nothing(bool);
    impl Variables for Nothing {
        fn get(&self, _: &str) -> Option<Value> {
            Some(Value::Null)
        }

        fn set(&mut self, _: &str, _: Value) -> Result<(), String> {
            self.0 = true;
            Ok(())
        }
    }
    let mut nothing = Nothing(false);
    // What it comes to with nothing but nulls tells nothing.
    let _ = expression.eval(&mut nothing);
    nothing.0
}

impl Expect {
    /// How many values it has bound.
    pub(super) fn values(&self) -> usize {
        match self {
            Expect::Holds(holds) => holds.programs.len(),
            Expect::Values(_) => 0,
        }
    }

    pub(super) fn bind(
        &self,
        position: usize,
        context: &mut Context,
        expected: &mut Expected,
    ) -> Result<(), BindError> {
        let cycle = expected.cycle;
        match self {
            Expect::Holds(holds) => {
                for program in &holds.programs {
                    let value = program.eval(cycle, context).map_err(|source| BindError::Eval {
                        op: holds.op.to_string(),
                        cycle,
                        recipe: program.recipe().to_owned(),
                        source: *source,
                    })?;
                    expected.values.push(value);
                }
                Ok(())
            }
            Expect::Values(template) => match expected.documents.get_mut(position) {
                Some(document) => template.bind(cycle, context, document),
                None => Ok(()),
            },
        }
    }

    /// `values` and `document` are what was bound for it.
    pub(super) fn check(
        &self,
        cycle: i64,
        values: &[Value],
        document: &[u8],
        reply: &RawDocument,
    ) -> Result<(), Mismatch> {
        match self {
            Expect::Holds(holds) => holds.check(&View { cycle, values, reply, names: &holds.names }),
            Expect::Values(_) => {
                for (path, wanted) in fields(document) {
                    let found = at(reply, path);
                    if found.is_some_and(|found| same(found, wanted)) {
                        continue;
                    }
                    let found = found.map_or_else(|| "not in the reply".to_owned(), shown);
                    return Err(mismatch(format!("`{path}` is {found}, expected {}", shown(wanted))));
                }
                Ok(())
            }
        }
    }
}

fn mismatch(message: String) -> Mismatch {
    Mismatch { name: EXPECT_FAILED, message }
}

impl Holds {
    fn check(&self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut looking = *view;
        match self.expression.holds(&mut looking) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let read = self.names.iter().map(|(name, source)| {
                    let value = view.value(source);
                    format!("{name} is {}", cut(value.text()))
                });
                let read: Vec<String> = read.collect();
                let read = if read.is_empty() { String::new() } else { format!(": {}", read.join(", ")) };
                Err(mismatch(format!("`{}` does not hold{read}", self.text)))
            }
            Err(Fault { message, .. }) => Err(mismatch(format!("`{}`: {}", self.text, cut(message)))),
        }
    }
}

/// A reply, as an expression sees it.
#[derive(Clone, Copy)]
struct View<'a> {
    cycle: i64,
    names: &'a [(String, Source)],
    values: &'a [Value],
    reply: &'a RawDocument,
}

impl View<'_> {
    fn value(&self, source: &Source) -> Value {
        let docs = || documents(self.reply).into_iter().flat_map(|documents| documents.iter());
        match source {
            Source::Cycle => Value::Long(self.cycle),
            Source::Docs => Value::Long(i64::try_from(docs().count()).unwrap_or(i64::MAX)),
            Source::Doc(path) if path.is_empty() => {
                docs().next().map_or(Value::Null, |first| value_of(RawBsonRef::Document(first)))
            }
            Source::Doc(path) => {
                docs().next().and_then(|first| at(first, path)).map_or(Value::Null, value_of)
            }
            Source::Result(path) => at(self.reply, path).map_or(Value::Null, value_of),
            Source::Binding(position) => self.values.get(*position).cloned().unwrap_or(Value::Null),
        }
    }
}

impl Variables for View<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let (_, source) = self.names.iter().find(|(known, _)| known == name)?;
        Some(self.value(source))
    }

    fn set(&mut self, name: &str, _: Value) -> Result<(), String> {
        Err(format!("`{name}` cannot be given a value in `expect`"))
    }
}

/// A value of a reply, as expressions compute with it. What they have no notion of is its text.
fn value_of(value: RawBsonRef<'_>) -> Value {
    match value {
        RawBsonRef::Null | RawBsonRef::Undefined => Value::Null,
        RawBsonRef::Boolean(b) => Value::Bool(b),
        RawBsonRef::Int32(n) => Value::Int(n),
        RawBsonRef::Int64(n) => Value::Long(n),
        RawBsonRef::Double(d) => Value::Double(d),
        RawBsonRef::String(text) => Value::Text(text.to_owned()),
        RawBsonRef::Decimal128(decimal) => Value::Decimal128(decimal),
        RawBsonRef::ObjectId(id) => Value::ObjectId(id.bytes()),
        RawBsonRef::DateTime(date) => Value::DateTime(date.timestamp_millis()),
        RawBsonRef::Binary(binary) => {
            Value::Binary { subtype: binary.subtype.into(), bytes: binary.bytes.to_vec() }
        }
        RawBsonRef::Array(items) => {
            Value::List(items.into_iter().filter_map(|item| item.ok()).map(value_of).collect())
        }
        RawBsonRef::Document(document) => {
            let fields = document.iter().filter_map(|field| field.ok());
            Value::Document(fields.map(|(name, value)| (name.as_str().to_owned(), value_of(value))).collect())
        }
        other => Value::Text(shown(other)),
    }
}
