//! `nbrs show`: what each cycle would send, without sending it.

use crate::functions::Context;
use crate::plan::{Body, OpPlan, extended_json};
use crate::redact;
use crate::session::prepare::PreparedOp;
use std::io::{self, Write};
use std::ops::Range;

/// What to show.
pub struct Show<'a> {
    pub ops: &'a [PreparedOp],
    /// Entry `cycle % len` is the position in `ops`; nothing is shown if it is empty.
    pub sequence: &'a [usize],
    pub cycles: Range<u64>,
    /// A JSON text a line, else lines for people.
    pub json: bool,
}

/// Writes a line (or, for people, a paragraph where a text has several lines) per cycle. Gives whether every
/// cycle could be bound; the exit code is 1 where not.
pub fn run(show: &Show<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let mut context = Context::default();
    let mut bytes = Vec::new();
    let mut all_bound = true;
    for cycle in show.cycles.clone() {
        let position = usize::try_from(cycle % (show.sequence.len().max(1) as u64)).unwrap_or_default();
        let mut next = show.sequence.get(position).copied();
        while let Some(op) = next.and_then(|position| show.ops.get(position)) {
            next = op.then;
            let number = op.ordinals.as_ref().map_or(cycle, |ordinals| ordinals.of(cycle));
            let content = content(&op.plan, number, &mut context, &mut bytes);
            all_bound &= !matches!(content, Content::Error(_));
            line(show, cycle, &op.name, &content, out)?;
        }
    }
    out.flush()?;
    Ok(all_bound)
}

/// A line, or for people a paragraph, of what op `name` would send in `cycle`.
fn line(show: &Show<'_>, cycle: u64, name: &str, content: &Content, out: &mut dyn Write) -> io::Result<()> {
    if show.json {
        let mut quoted = String::new();
        extended_json::write_text(name, &mut quoted);
        return writeln!(
            out,
            "{{\"cycle\":{cycle},\"op\":{quoted},\"{}\":{}}}",
            content.key(),
            content.json()
        );
    }
    let name_width = show.ops.iter().map(|op| op.name.chars().count()).max().unwrap_or(0);
    let cycle_width = show.cycles.end.saturating_sub(1).to_string().len();
    let text = content.plain();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.contains('\n') {
        writeln!(out, "{cycle:>cycle_width$}  {name}")?;
        return text.lines().try_for_each(|line| writeln!(out, "    {line}"));
    }
    writeln!(out, "{cycle:>cycle_width$}  {name:<name_width$}  {text}")
}

/// What one cycle would send.
enum Content {
    /// Canonical extended JSON.
    Command(String),
    Text(String),
    Fields(Vec<(String, String)>),
    Error(String),
}

fn content(op: &OpPlan, cycle: u64, context: &mut Context, bytes: &mut Vec<u8>) -> Content {
    let Ok(cycle) = i64::try_from(cycle) else {
        return Content::Error(format!("{}, cycle {cycle}: cycles end at 2^63", op.name));
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let bound = match &op.body {
        Body::Command(_) => {
            op.body.bind(cycle, context, bytes).map(|()| match extended_json::canonical(bytes) {
                Ok(command) => Content::Command(command),
                Err(message) => Content::Error(format!("{}, cycle {cycle}: {message}", op.name)),
            })
        }
        Body::Text(_) => op.body.bind(cycle, context, bytes).map(|()| Content::Text(text(bytes))),
        Body::Fields(fields) => fields
            .iter()
            .map(|field| {
                bytes.clear();
                field.text.bind(cycle, context, bytes)?;
                Ok((field.name.clone(), text(bytes)))
            })
            .collect::<Result<_, _>>()
            .map(Content::Fields),
    };
    bound.unwrap_or_else(|error| Content::Error(redact::passwords(&error.to_string())))
}

impl Content {
    fn key(&self) -> &'static str {
        match self {
            Content::Command(_) => "command",
            Content::Text(_) => "text",
            Content::Fields(_) => "fields",
            Content::Error(_) => "error",
        }
    }

    fn json(&self) -> String {
        let mut out = String::new();
        match self {
            Content::Command(command) => out.push_str(command),
            Content::Text(text) | Content::Error(text) => extended_json::write_text(text, &mut out),
            Content::Fields(fields) => {
                out.push('{');
                for (index, (name, text)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    extended_json::write_text(name, &mut out);
                    out.push(':');
                    extended_json::write_text(text, &mut out);
                }
                out.push('}');
            }
        }
        out
    }

    fn plain(&self) -> String {
        match self {
            Content::Command(text) | Content::Text(text) => text.clone(),
            Content::Error(text) => format!("error: {text}"),
            Content::Fields(fields) => {
                fields.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Form, compile};
    use crate::sequence::Ordinals;
    use crate::span::Text;
    use crate::workload::{Data, Node, OpTemplate};

    fn op(name: &str, fields: &[(&str, &str)], form: Form) -> PreparedOp {
        let node = |text: &str| Node { data: Data::Text(Text::unplaced(text)), location: None };
        let bindings = [("n", "Identity()"), ("inverse", "Div(0)")];
        let op = OpTemplate {
            name: name.to_owned(),
            block: "b".to_owned(),
            op: fields.iter().map(|(key, text)| ((*key).to_owned(), node(text))).collect(),
            bindings: bindings.iter().map(|(k, v)| ((*k).to_owned(), Text::unplaced(*v))).collect(),
            ..OpTemplate::default()
        };
        PreparedOp {
            name: name.to_owned(),
            driver: crate::adapters::ADAPTERS[0],
            ratio: 1,
            plan: compile(&op, form).unwrap_or_else(|errors| panic!("{errors:?}")).plan,
            mean_bytes: None,
            writes: false,
            instrument: false,
            then: None,
            head: None,
            ordinals: None,
            report_as: None,
        }
    }

    fn shown(ops: &[PreparedOp], sequence: &[usize], json: bool) -> (String, bool) {
        let mut out = Vec::new();
        let bound = run(&Show { ops, sequence, cycles: 0..3, json }, &mut out).expect("a buffer takes all");
        (String::from_utf8(out).expect("lines are UTF-8"), bound)
    }

    #[test]
    fn each_cycle_is_a_line_of_json() {
        let ops = [
            op("b__find", &[("stmt", "{find: 'c', filter: {_id: {n}, \"k\": \"{n}\"}}")], Form::Command),
            op("b__line", &[("stmt", "n={n}\n")], Form::Text),
            op("b__wait", &[("delay", "5ms"), ("log", "level=INFO")], Form::Fields),
        ];
        let (text, bound) = shown(&ops, &[0, 1, 2], true);
        assert!(bound);
        let expected = [
            r#"{"cycle":0,"op":"b__find","command":{"find":"c","filter":{"_id":{"$numberInt":"0"},"k":"0"}}}"#,
            r#"{"cycle":1,"op":"b__line","text":"n=1\n"}"#,
            r#"{"cycle":2,"op":"b__wait","fields":{"delay":"5ms","log":"level=INFO"}}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_op_that_comes_after_another_is_shown_in_the_same_cycle() {
        let text = |name: &str| op(name, &[("stmt", "n={n}\n")], Form::Text);
        let mut ops = [text("b__one"), text("b__two"), text("b__rest")];
        ops[0].then = Some(1);
        (ops[1].head, ops[1].ordinals) = (Some(0), Some(Ordinals::new(&[0, 2], 0)));
        let (text, _) = shown(&ops, &[0, 2], false);
        assert_eq!(
            text,
            "0  b__one   n=0\n0  b__two   n=0\n1  b__rest  n=1\n2  b__one   n=2\n2  b__two   n=1\n"
        );
    }

    #[test]
    fn people_see_the_same_content() {
        let ops = [
            op("b__line", &[("stmt", "n={n}\n")], Form::Text),
            op("b__two", &[("stmt", "a\nb\n")], Form::Text),
        ];
        let (text, bound) = shown(&ops, &[0, 1], false);
        assert!(bound);
        assert_eq!(text, "0  b__line  n=0\n1  b__two\n    a\n    b\n2  b__line  n=2\n");
    }

    #[test]
    fn a_cycle_that_cannot_be_bound_is_shown_as_an_error() {
        let ops = [op("b__bad", &[("stmt", "{find: 'c', limit: {inverse}}")], Form::Command)];
        let (text, bound) = shown(&ops, &[0], true);
        assert!(!bound);
        for (cycle, line) in text.lines().enumerate() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
            assert_eq!(line["cycle"], cycle);
            assert!(line["error"].as_str().is_some_and(|error| error.contains("Div(0)")), "{line}");
        }
    }

    #[test]
    fn nothing_is_shown_of_an_empty_sequence() {
        assert_eq!(shown(&[], &[], true), (String::new(), true));
    }
}
