//! What is held against the replies of an op, in place of the reference's Groovy: [`Checks`], of `expect:` and
//! `verify:`. What they expect is bound with the op, from the cycle alone; the check itself looks at nothing but the
//! raw bytes of the reply.

use super::expect::Expect;
use super::verify::Verify;
use super::{BindError, extended_json};
use crate::functions::Context;
use crate::value::Value;
use bson::raw::{RawBsonRef, RawDocument};

/// A reply that is not as it was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub struct Mismatch {
    /// [`EXPECT_FAILED`] or [`VERIFY_FAILED`], by which `errors=` decides.
    pub name: &'static str,
    pub message: String,
}

/// A reply did not do as `expect:` says.
pub const EXPECT_FAILED: &str = "ExpectFailed";
/// A document that was read does not have the fields that `verify:` recomputed.
pub const VERIFY_FAILED: &str = "VerifyFailed";

/// What an op expects of its replies.
pub struct Checks {
    pub(super) expect: Vec<Expect>,
    pub(super) verify: Option<Verify>,
}

/// What is expected of the reply of one cycle. Its memory serves the next one.
#[derive(Debug, Default)]
pub struct Expected {
    pub(super) cycle: i64,
    /// Values that expressions read, those of all rules one after the other.
    pub(super) values: Vec<Value>,
    /// The documents of rules that have one, by position; the last is that of `verify:`.
    pub(super) documents: Vec<Vec<u8>>,
}

impl Checks {
    /// Makes what is expected of the reply of `cycle`.
    ///
    /// # Errors
    /// A binding that fails for this cycle.
    pub fn bind(&self, cycle: i64, context: &mut Context, expected: &mut Expected) -> Result<(), BindError> {
        expected.cycle = cycle;
        expected.values.clear();
        expected.documents.resize_with(self.expect.len() + 1, Vec::new);
        for (position, rule) in self.expect.iter().enumerate() {
            rule.bind(position, context, expected)?;
        }
        match (&self.verify, expected.documents.last_mut()) {
            (Some(verify), Some(document)) => verify.bind(cycle, context, document),
            _ => Ok(()),
        }
    }

    /// Holds `reply` against what was bound.
    ///
    /// # Errors
    /// The first that is not as expected, with both values.
    pub fn check(&self, expected: &Expected, reply: &RawDocument) -> Result<(), Mismatch> {
        let mut values = expected.values.as_slice();
        for (rule, document) in self.expect.iter().zip(&expected.documents) {
            let (own, rest) = values.split_at(rule.values().min(values.len()));
            rule.check(expected.cycle, own, document, reply)?;
            values = rest;
        }
        match (&self.verify, expected.documents.last()) {
            (Some(verify), Some(document)) => verify.check(document, reply),
            _ => Ok(()),
        }
    }
}

/// The documents that a reply brings: those of a cursor's batch, or the one of `findAndModify`; `None` where it is
/// no reply that brings any.
pub(super) fn documents(reply: &RawDocument) -> Option<Documents<'_>> {
    if let Ok(Some(RawBsonRef::Document(cursor))) = reply.get("cursor") {
        let batch = ["firstBatch", "nextBatch"].iter().find_map(|key| cursor.get(key).ok().flatten());
        return Some(Documents(batch));
    }
    match reply.get("value") {
        Ok(Some(value @ (RawBsonRef::Document(_) | RawBsonRef::Null))) => Some(Documents(Some(value))),
        _ => None,
    }
}

#[derive(Clone, Copy)]
pub(super) struct Documents<'a>(Option<RawBsonRef<'a>>);

impl<'a> Documents<'a> {
    pub(super) fn iter(self) -> impl Iterator<Item = &'a RawDocument> {
        let (one, many) = match self.0 {
            Some(RawBsonRef::Document(document)) => (Some(document), None),
            Some(RawBsonRef::Array(batch)) => (None, Some(batch)),
            _ => (None, None),
        };
        let many = many.into_iter().flatten().filter_map(|item| item.ok()?.as_document());
        one.into_iter().chain(many)
    }
}

/// The value at `path`: names apart by dots, a number for a place in an array.
pub(super) fn at<'a>(document: &'a RawDocument, path: &str) -> Option<RawBsonRef<'a>> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut value = document.get(first).ok().flatten()?;
    for name in rest.into_iter().flat_map(|rest| rest.split('.')) {
        value = match value {
            RawBsonRef::Document(document) => document.get(name).ok().flatten()?,
            RawBsonRef::Array(array) => array.get(name.parse().ok()?).ok().flatten()?,
            _ => return None,
        };
    }
    Some(value)
}

/// Whether two values are the same. Numbers are by their value, as for MongoDB, whatever their width; all else is by
/// type and content, documents with their fields in order.
pub(super) fn same(a: RawBsonRef<'_>, b: RawBsonRef<'_>) -> bool {
    match (a, b) {
        (RawBsonRef::Document(a), RawBsonRef::Document(b)) => {
            let (mut a, mut b) = (a.iter(), b.iter());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(Ok((name, one))), Some(Ok((other_name, other)))) => {
                        if name != other_name || !same(one, other) {
                            return false;
                        }
                    }
                    _ => return false,
                }
            }
        }
        (RawBsonRef::Array(a), RawBsonRef::Array(b)) => {
            let (mut a, mut b) = (a.into_iter(), b.into_iter());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(Ok(one)), Some(Ok(other))) if same(one, other) => {}
                    _ => return false,
                }
            }
        }
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

/// A number that can be compared whatever its type.
#[derive(PartialEq)]
enum Number {
    Whole(i64),
    /// No whole number of 64 bits.
    Other(f64),
}

fn number(value: RawBsonRef<'_>) -> Option<Number> {
    Some(match value {
        RawBsonRef::Int32(n) => Number::Whole(i64::from(n)),
        RawBsonRef::Int64(n) => Number::Whole(n),
        // 2^63 is a double, and not an i64: the cast would take it for 2^63 - 1.
        RawBsonRef::Double(d) if d.fract() == 0.0 && (-TWO_63..TWO_63).contains(&d) => {
            Number::Whole(d as i64)
        }
        RawBsonRef::Double(d) => Number::Other(d),
        _ => return None,
    })
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Longer values are cut in messages.
const LONGEST: usize = 200;

/// A text in a message.
pub(super) fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// A value in a message: as JSON.
pub(super) fn shown(value: RawBsonRef<'_>) -> String {
    cut(match value {
        RawBsonRef::Int32(n) => n.to_string(),
        RawBsonRef::Int64(n) => n.to_string(),
        RawBsonRef::Double(d) => Value::Double(d).text(),
        other => extended_json::value(other).unwrap_or_else(|error| error),
    })
}

/// The fields of a bound document, in order.
pub(super) fn fields(document: &[u8]) -> impl Iterator<Item = (&str, RawBsonRef<'_>)> {
    let document = RawDocument::from_bytes(document).ok();
    document.into_iter().flatten().filter_map(|field| field.ok()).map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Form, OpPlan, compile, op_templates};
    use bson::{Bson, Document, doc, rawdoc};

    const BINDINGS: &str = "bindings:\n  id: Identity()\n  name: Template('n-{}',Identity())\n  later: Load('x')\n  tick: ThreadNum()\n";

    /// The plan of an op that finds something, with these checks.
    fn plan(checks: &str) -> Result<OpPlan, Vec<String>> {
        let yaml =
            format!("{BINDINGS}ops:\n  read:\n    op: '{{find: \"c\", filter: {{_id: {{id}}}}}}'\n{checks}");
        compile(&op_templates(&yaml)[0], Form::Command)
            .map(|compiled| compiled.plan)
            .map_err(|errors| errors.iter().map(crate::span::Diagnostic::one_line).collect())
    }

    /// What is wrong with `reply` to the op of `cycle`, or nothing.
    fn wrong(checks: &str, cycle: i64, reply: &Document) -> String {
        let plan = plan(checks).unwrap_or_else(|errors| panic!("{checks}: {errors:?}"));
        let checks = plan.checks.as_ref().expect("it has checks");
        let mut expected = Expected::default();
        checks.bind(cycle, &mut Context::default(), &mut expected).expect("it binds");
        let bytes = reply.to_vec().expect("BSON");
        let reply = RawDocument::from_bytes(&bytes).expect("BSON");
        checks.check(&expected, reply).err().map(|mismatch| mismatch.to_string()).unwrap_or_default()
    }

    fn batch(documents: impl Into<Vec<Document>>) -> Document {
        let documents: Vec<Document> = documents.into();
        doc! { "cursor": { "firstBatch": documents, "id": 0_i64 }, "ok": 1.0 }
    }

    #[test]
    fn expectations_are_expressions_over_the_reply_the_cycle_and_bindings() {
        let one = batch([doc! { "_id": 7, "name": "n-7", "in": { "a": [1, { "b": "x" }] } }]);
        for (expect, reply, message) in [
            ("docs == 1", &one, ""),
            ("docs == 1 && doc.name == name && doc._id == cycle", &one, ""),
            ("result.ok == 1", &one, ""),
            ("result.n == null && doc.none == null", &one, ""),
            ("doc.in.a == null || docs > 0", &one, ""),
            ("docs == 0", &one, "ExpectFailed: `docs == 0` does not hold: docs is 1"),
            ("doc.name == 'x'", &one, "ExpectFailed: `doc.name == 'x'` does not hold: doc.name is n-7"),
            ("doc.name", &one, "ExpectFailed: `doc.name`: n-7 is a String, where true or false is wanted"),
            (
                "doc.name == name",
                &batch([doc! { "name": 5 }]),
                "ExpectFailed: `doc.name == name` does not hold: doc.name is 5, name is n-7",
            ),
            ("docs == 0 && doc._id == null", &batch([]), ""),
            ("result.n == 2", &doc! { "n": 2, "ok": 1 }, ""),
            ("docs == 1 && doc.a == 1", &doc! { "value": { "a": 1 } }, ""),
            ("docs == 0", &doc! { "value": Bson::Null }, ""),
        ] {
            let text = expect.replace('\'', "''");
            assert_eq!(wrong(&format!("    expect: '{text}'\n"), 7, reply), message, "{expect}");
        }
        let several = "    expect: [docs == 1, result.ok == 1, docs == cycle]\n";
        assert_eq!(wrong(several, 1, &one), "");
        assert_eq!(
            wrong(several, 2, &one),
            "ExpectFailed: `docs == cycle` does not hold: docs is 1, cycle is 2"
        );
    }

    #[test]
    fn expectations_are_paths_with_their_values_too() {
        let reply = doc! { "n": 1_i64, "ok": 1.0, "value": { "a": [5, { "b": "n-3" }] } };
        for (expect, message) in [
            ("{n: 1, ok: 1}", ""),
            ("{'value.a.1.b': '{name}', 'value.a.0': 5.0}", ""),
            ("'{\"value.a\": [5, {\"b\": \"n-{id}\"}]}'", ""),
            ("{n: 2}", "ExpectFailed: `n` is 1, expected 2"),
            ("{n: '1'}", "ExpectFailed: `n` is 1, expected \"1\""),
            (
                "{'value.a.1': {b: 'x{id}'}}",
                "ExpectFailed: `value.a.1` is {\"b\":\"n-3\"}, expected {\"b\":\"x3\"}",
            ),
            ("{'value.a.2': 1}", "ExpectFailed: `value.a.2` is not in the reply, expected 1"),
            ("{'ok.b': 1}", "ExpectFailed: `ok.b` is not in the reply, expected 1"),
        ] {
            assert_eq!(wrong(&format!("    expect: {expect}\n"), 3, &reply), message, "{expect}");
        }
    }

    #[test]
    fn documents_that_are_read_are_held_against_the_fields_that_were_written() {
        let written = |id: i64| doc! { "_id": id, "name": format!("n-{id}"), "more": true };
        for (verify, cycle, reply, message) in [
            ("{_id: '{id}', name: '{name}'}", 4, batch([written(4)]), ""),
            ("'{_id: {id}, name: \"n-{id}\"}'", 4, batch([written(4), written(4)]), ""),
            ("[_id, name]", 4, batch([written(4)]), "there is no binding"),
            (
                "{_id: '{id}', name: '{name}'}",
                5,
                batch([written(5), written(4)]),
                "VerifyFailed: `_id` is 4, expected 5 (document 2 of 2)",
            ),
            ("{name: '{name}'}", 5, batch([written(4)]), "VerifyFailed: `name` is \"n-4\", expected \"n-5\""),
            (
                "{nmae: '{name}'}",
                4,
                batch([written(4)]),
                "VerifyFailed: `nmae` is not in the document, expected \"n-4\"",
            ),
            (
                "{name: '{name}'}",
                4,
                batch([]),
                "VerifyFailed: no document was read, expected {\"name\":\"n-4\"}",
            ),
            (
                "{name: '{name}'}",
                4,
                doc! { "value": Bson::Null },
                "VerifyFailed: no document was read, expected {\"name\":\"n-4\"}",
            ),
            ("{name: '{name}'}", 4, doc! { "n": 1, "ok": 1 }, "VerifyFailed: the reply brings no documents"),
        ] {
            if message.starts_with("there is") {
                let errors = plan(&format!("    verify: {verify}\n")).err().expect("it is refused");
                assert!(errors[0].contains("`verify` is a document"), "{errors:?}");
                continue;
            }
            assert_eq!(wrong(&format!("    verify: {verify}\n"), cycle, &reply), message, "{verify}");
        }
    }

    #[test]
    fn what_cannot_be_checked_is_refused_at_its_place() {
        for (checks, place, part) in [
            ("    expect: n == 1\n", "9:13", "there is no `n` here"),
            ("    expect: docs == keey\n", "9:21", "there is no `keey` here"),
            ("    expect: docs ==\n", "9:20", "a value is missing"),
            ("    expect: [docs == 1, docs = 2]\n", "9:25", "sets a variable"),
            ("    expect: 5\n", "9:13", "`expect` is an expression"),
            ("    expect: []\n", "9:13", "is empty"),
            ("    expect: {}\n", "9:13", "is empty"),
            ("    expect: {n: '{nope}'}\n", "9:18", "no binding is named `nope`"),
            ("    expect: docs == later\n", "9:21", "cannot be recomputed"),
            ("    verify: {name: '{tick}'}\n", "9:21", "cannot be recomputed"),
            ("    verify: '{name: \"{name}\"'\n", "9:29", "the text ends"),
            ("    verify: plain\n", "9:13", ""),
            ("    verifier: 'true'\n", "9:15", "`verifier` is Groovy, which nbrs does not run"),
        ] {
            let errors = plan(checks).err().unwrap_or_else(|| panic!("{checks} is accepted"));
            let found =
                errors.iter().any(|e| e.starts_with(&format!("test.yaml:{place}")) && e.contains(part));
            assert!(found, "{checks}: {errors:?}");
        }
        let no_reply = compile(&op_templates("ops: {a: {op: text, expect: docs == 1}}\n")[0], Form::Text);
        let errors = no_reply.err().expect("it is refused");
        assert!(errors[0].one_line().contains("has no reply"), "{errors:?}");
    }

    #[test]
    fn numbers_are_the_same_by_value_and_all_else_by_type_too() {
        let value = |document: &'static str| -> Bson {
            match document {
                "1" => Bson::Int32(1),
                "1l" => Bson::Int64(1),
                "1d" => Bson::Double(1.0),
                "1.5" => Bson::Double(1.5),
                "max" => Bson::Int64(i64::MAX),
                "2^63" => Bson::Double(TWO_63),
                "nan" => Bson::Double(f64::NAN),
                "'1'" => Bson::String("1".to_owned()),
                "[1]" => Bson::Array(vec![Bson::Int32(1)]),
                "[1l]" => Bson::Array(vec![Bson::Int64(1)]),
                "[1,1]" => Bson::Array(vec![Bson::Int32(1), Bson::Int32(1)]),
                "{a}" => Bson::Document(doc! { "a": 1, "b": 2 }),
                "{ad}" => Bson::Document(doc! { "a": 1.0, "b": 2 }),
                "{b}" => Bson::Document(doc! { "b": 2, "a": 1 }),
                "{c}" => Bson::Document(doc! { "a": 1 }),
                _ => Bson::Null,
            }
        };
        for (a, b, expected) in [
            ("1", "1l", true),
            ("1", "1d", true),
            ("1d", "1.5", false),
            ("max", "2^63", false),
            ("nan", "nan", false),
            ("1", "'1'", false),
            ("null", "null", true),
            ("null", "1", false),
            ("[1]", "[1l]", true),
            ("[1]", "[1,1]", false),
            ("{a}", "{ad}", true),
            ("{a}", "{b}", false),
            ("{a}", "{c}", false),
        ] {
            let both = doc! { "a": value(a), "b": value(b) }.to_vec().expect("BSON");
            let both = RawDocument::from_bytes(&both).expect("BSON");
            let get = |key| both.get(key).expect("BSON").expect("it is there");
            assert_eq!(same(get("a"), get("b")), expected, "{a} {b}");
            assert_eq!(same(get("b"), get("a")), expected, "{b} {a}");
        }
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let long = rawdoc! { "a": "é".repeat(10_000) };
        let text = shown(long.get("a").expect("BSON").expect("it is there"));
        assert_eq!(text.chars().count(), LONGEST + 1);
    }
}
