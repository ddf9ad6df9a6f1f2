//! What stands beside the command of an op: what its replies have to be (`expect`, `verify`), and what is timed
//! (`instrument`, `start-timers`, `stop-timers`).

use super::bind_points::Bindings;
use super::expect::{Expect, Holds};
use super::fields::{Compiler, EXPECT, VERIFY, field_of};
use super::reply::Checks;
use super::verify::Verify;
use super::{CommandTemplate, Form, Timers};
use crate::span::Diagnostic;
use crate::workload::{Data, Node};

impl Compiler<'_> {
    /// The timers that it starts and stops, and whether it is instrumented.
    pub(super) fn timers(&mut self) -> Timers {
        let names = |this: &Compiler<'_>, field: &str| {
            let text = this.field(field).and_then(|(node, _)| node.as_text()).unwrap_or_default();
            let names = text.as_str().split(',').map(|name| name.trim().to_owned());
            names.filter(|name| !name.is_empty()).collect::<Vec<String>>()
        };
        let (starts, stops) = (names(self, "start-timers"), names(self, "stop-timers"));
        for (field, names) in [("start-timers", &starts), ("stop-timers", &stops)] {
            if let Some((node, _)) = self.field(field)
                && names.is_empty()
            {
                let error = Diagnostic::error(format!("op `{}`: `{field}` names no timer", self.op.name));
                let location = node.location.clone();
                self.error(error.at(location).help("write names apart by commas: `checkout, payment`"));
            }
        }
        let instrument = self.field("instrument").map(|(node, _)| (node.location.clone(), node.as_text()));
        let instrument = instrument.and_then(|(location, text)| {
            let text = text.unwrap_or_default();
            let read = text.as_str().trim().parse::<bool>().ok();
            if read.is_none() {
                let name = &self.op.name;
                let error = Diagnostic::error(format!("op `{name}`: `instrument` is true or false"));
                self.error(error.at(location));
            }
            read
        });
        Timers { instrument, starts, stops }
    }

    /// What is held against the op's replies.
    pub(super) fn checks(&mut self, form: Form) -> Option<Checks> {
        let op = self.op;
        let (expect, verify) = (field_of(op, EXPECT), field_of(op, VERIFY));
        if expect.is_none() && verify.is_none() {
            return None;
        }
        let mut errors = Vec::new();
        if form != Form::Command {
            for (name, node) in [(EXPECT, expect), (VERIFY, verify)] {
                let Some((node, _)) = node else { continue };
                let message = format!("op `{}`: `{name}`: an op of this driver has no reply", self.op.name);
                errors.push(Diagnostic::error(message).at(node.location.clone()));
            }
            self.bindings.errors.extend(errors);
            return None;
        }
        let expect = match expect {
            Some((node, _)) => self.expectations(node),
            None => Some(Vec::new()),
        };
        let verify = match verify {
            Some((node, _)) => self.apart(|apart| apart.document(VERIFY, node)).map(|it| Some(Verify(it))),
            None => Some(None),
        };
        Some(Checks { expect: expect?, verify: verify? })
    }

    /// Compiles something of the op that is made for itself, with bindings of its own.
    fn apart<T>(&mut self, compile: impl FnOnce(&mut Compiler<'_>) -> T) -> T {
        let mut apart = Compiler {
            form: self.form,
            op: self.op,
            name: self.name.clone(),
            bindings: Bindings::recomputed(&self.op.bindings),
            captures: Vec::new(),
        };
        let made = compile(&mut apart);
        self.bindings.errors.append(&mut apart.bindings.errors);
        self.bindings.notices.append(&mut apart.bindings.notices);
        made
    }

    fn expectations(&mut self, node: &Node) -> Option<Vec<Expect>> {
        match &node.data {
            Data::List(rules) if !rules.is_empty() => {
                let rules: Vec<_> = rules.iter().map(|rule| self.expectation(rule)).collect();
                rules.into_iter().collect()
            }
            _ => self.expectation(node).map(|rule| vec![rule]),
        }
    }

    fn expectation(&mut self, node: &Node) -> Option<Expect> {
        match &node.data {
            Data::Text(text) if !text.as_str().trim_start().starts_with('{') => {
                let text = text.trim();
                let holds =
                    self.apart(|apart| Holds::compile(apart.name.clone(), &text, &mut apart.bindings));
                holds.map(|holds| Expect::Holds(Box::new(holds)))
            }
            Data::Text(_) | Data::Map(_) => {
                let values = self.apart(|apart| apart.document(EXPECT, node));
                values.map(|values| Expect::Values(Box::new(values)))
            }
            _ => {
                let name = &self.op.name;
                let what = if matches!(&node.data, Data::List(_)) { "is empty" } else { "is an expression" };
                let error = Diagnostic::error(format!("op `{name}`: `{EXPECT}` {what}"));
                self.error(error.at(node.location.clone()).help(
                    "write an expression (`docs == 1`), a list of them, or paths with their values (`{n: 1}`)",
                ));
                None
            }
        }
    }

    /// A document of its own, as text or as a map.
    fn document(&mut self, what: &str, node: &Node) -> Option<CommandTemplate> {
        let wrong = |this: &mut Self, why: &str| {
            let error = Diagnostic::error(format!("op `{}`: `{what}` {why}", this.op.name));
            this.error(
                error.at(node.location.clone()).help("as the one that was written: `{ name: \"{name}\" }`"),
            );
            None
        };
        match &node.data {
            Data::Map(pairs) if pairs.is_empty() => wrong(self, "is empty"),
            Data::Map(pairs) => self.map(pairs.iter().map(|(key, node)| (key.as_str(), node)).collect()),
            Data::Text(text) if text.as_str().trim_start().starts_with('{') => self.command_text(text),
            _ => wrong(self, "is a document"),
        }
    }
}
