//! [`CommandTemplate`]: a command with holes, and the two lanes that fill them.
//!
//! The fast lane copies encoded BSON and writes values into the holes. The slow lane renders the op text and
//! parses it, as the reference does each cycle; it serves op texts whose structure depends on the cycle, and
//! single cycles whose values would change how the rendered text reads (a quote or a backslash inside a
//! string). Both give the same bytes.

use super::BindError;
use super::bind_points::Slot;
use super::command_text;
use super::element::{Element, has_hole};
use super::encode::{self, Encoded, Step, write_value};
use super::fill::{Filler, Inset, KEPT, Stop};
use super::text::TextTemplate;
use crate::functions::Context;
use bson::RawBson;
use std::sync::Arc;

/// A command document, parsed once: BSON bytes and the holes in them. Cheap to share, never changes.
pub struct CommandTemplate {
    pub(super) op: Arc<str>,
    pub(super) slots: Vec<Slot>,
    /// None: every cycle takes the slow lane.
    fast: Option<Encoded>,
    /// Where the value of a slot with several uses is kept.
    pub(super) kept: Vec<Option<usize>>,
    /// The op text; None for a command that was written as a YAML map, which has no text to render.
    text: Option<TextTemplate>,
    /// Top-level keys, as far as they are known.
    keys: Vec<String>,
    /// Those of `keys` whose values depend on the cycle; of a command whose structure is known.
    bound: Vec<String>,
    /// Fields that [`set_default`](Self::set_default) added, for the slow lane.
    defaults: Vec<(String, Element)>,
}

impl CommandTemplate {
    /// A command whose structure is known.
    pub(super) fn fast(
        op: Arc<str>,
        slots: Vec<Slot>,
        pairs: &[(String, Element)],
        text: Option<TextTemplate>,
    ) -> CommandTemplate {
        let width = |slot: usize| match slots[slot].program.kind() {
            crate::bindings::Kind::Int => encode::Width::Int,
            crate::bindings::Kind::Long => encode::Width::Long,
            crate::bindings::Kind::Double => encode::Width::Double,
            _ => encode::Width::Unknown,
        };
        let fast = Some(encode::command(pairs, &width));
        let mut places = 0..KEPT;
        let kept = slots.iter().map(|slot| if slot.uses > 1 { places.next() } else { None }).collect();
        let keys = pairs.iter().map(|(key, _)| key.clone()).collect();
        let bound = pairs.iter().filter(|(_, value)| has_hole(value)).map(|(key, _)| key.clone()).collect();
        CommandTemplate { op, slots, fast, kept, text, keys, bound, defaults: Vec::new() }
    }

    /// A command whose structure depends on the cycle. `keys`: the top-level keys, as far as they are known.
    pub(super) fn slow(op: Arc<str>, text: TextTemplate, keys: Vec<String>) -> CommandTemplate {
        CommandTemplate {
            op,
            slots: Vec::new(),
            fast: None,
            kept: Vec::new(),
            text: Some(text),
            keys,
            bound: Vec::new(),
            defaults: Vec::new(),
        }
    }

    /// Fills the holes for `cycle`. `out` is cleared first and then holds one whole BSON document.
    pub fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        self.was_rendered(cycle, context, out).map(|_| ())
    }

    /// [`bind`](Self::bind), for one who can send a command in pieces: `insets`, cleared first, then holds the
    /// long texts of the command that lie in memory anyway, and `out` the document without them.
    pub fn bind_apart(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
        insets: &mut Vec<Inset>,
    ) -> Result<(), BindError> {
        insets.clear();
        if self.fill(cycle, context, out, Some(insets))? {
            return Ok(());
        }
        insets.clear();
        self.bind_slow(cycle, context, out)
    }

    /// The structure of the command is known: no text is parsed per cycle, but for a cycle whose values would
    /// change how the op text reads.
    pub fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    /// The value of the field `key` depends on the cycle, as far as the structure of the command is known.
    pub fn is_bound(&self, key: &str) -> bool {
        self.fast.is_none() || self.bound.iter().any(|bound| bound == key)
    }

    /// Adds a constant field at the end of the command, unless the command sets `key` itself. For what a
    /// connection applies to commands that do not say (`writeConcern`, `readConcern`); costs nothing per
    /// cycle.
    pub fn set_default(&mut self, key: &str, value: RawBson) {
        if key.contains('\0') || self.keys.iter().any(|known| known == key) {
            return;
        }
        if let Some(Encoded { bytes, steps }) = &mut self.fast {
            let at = bytes.len();
            bytes.push(0);
            bytes.extend(key.as_bytes());
            bytes.push(0);
            bytes[at] = write_value(value.clone(), bytes);
            let end = bytes.len();
            if steps.last() == Some(&Step::Close) {
                steps.insert(steps.len() - 1, Step::Literal(at..end));
            } else {
                // The length is baked in and the last literal ends the document.
                if let Some(Step::Literal(last)) = steps.last_mut() {
                    last.end -= 1;
                }
                bytes.push(0);
                steps.push(Step::Literal(at..end + 1));
                let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) + (end - at) as u32;
                bytes[..4].copy_from_slice(&length.to_le_bytes());
            }
        }
        self.keys.push(key.to_owned());
        self.defaults.push((key.to_owned(), Element::Constant(value)));
    }

    /// The first key of the command (`insert`, `find`, …) if it does not depend on the cycle.
    pub fn command(&self) -> Option<&str> {
        self.keys.first().map(String::as_str).filter(|key| !key.is_empty())
    }

    /// [`bind`](Self::bind), and whether this cycle took the slow lane.
    pub fn was_rendered(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, BindError> {
        match self.bind_fast(cycle, context, out)? {
            true => Ok(false),
            false => self.bind_slow(cycle, context, out).map(|()| true),
        }
    }

    /// Fills the holes; false if only the rendered text can tell what this cycle's command is.
    pub(super) fn bind_fast(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, BindError> {
        self.fill(cycle, context, out, None)
    }

    /// Likewise; long texts go into `insets`, if there are such.
    fn fill(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
        insets: Option<&mut Vec<Inset>>,
    ) -> Result<bool, BindError> {
        let Some(encoded) = &self.fast else { return Ok(false) };
        out.clear();
        let mut filler = Filler::new(self, &encoded.bytes, cycle, context, out, insets);
        for step in &encoded.steps {
            match filler.step(step) {
                Ok(()) => {}
                Err(Stop::Render) if self.text.is_some() => return Ok(false),
                Err(Stop::Render) => {
                    let message = "a bound value does not fit the typed form that it stands in".to_owned();
                    return Err(BindError::Render { op: self.op.to_string(), cycle, message });
                }
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Renders the op text and parses it.
    pub(super) fn bind_slow(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<(), BindError> {
        let fail = |message| Err(BindError::Render { op: self.op.to_string(), cycle, message });
        let Some(text) = &self.text else {
            return fail("the command has no text to render".to_owned());
        };
        out.clear();
        text.bind(cycle, context, out)?;
        let Ok(rendered) = std::str::from_utf8(out) else {
            return fail("a bound value is not UTF-8 text".to_owned());
        };
        match command_text::parse(rendered, None) {
            Ok(mut parsed) => {
                for (key, value) in &self.defaults {
                    if !parsed.pairs.iter().any(|(known, _)| known == key) {
                        parsed.pairs.push((key.clone(), value.clone()));
                    }
                }
                *out = encode::document(&parsed.pairs);
                Ok(())
            }
            Err(problem) => fail(excerpt(rendered, &problem)),
        }
    }
}

/// A problem with a rendered text, with the text around it.
fn excerpt(text: &str, problem: &command_text::Problem) -> String {
    let at = problem.range.start.min(text.len());
    let before: Vec<char> = text[..at].chars().rev().take(30).collect();
    let before: String = before.into_iter().rev().collect();
    let after: String = text[at..].chars().take(30).collect();
    let one_line = |part: String| part.replace(['\n', '\r'], " ");
    format!(
        "the rendered text is not a command: {} at character {}: …{}⟨here⟩{}…",
        problem.message,
        text[..at].chars().count() + 1,
        one_line(before),
        one_line(after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Body, Form, compile, op_templates};
    use crate::workload::{Data, Node, OpTemplate};
    use proptest::prelude::*;

    /// Recipes of every kind, some of which make texts that change how an op text reads.
    const BINDINGS: &str = r#"
bindings:
  int: Mod(1000) -> int
  long: Hash()
  double: Identity(); Add(0.5)
  digits: Mod(13); ToString()
  words: NumberNameToString()
  quote: ToString(); Prefix('"')
  apostrophe: ToString(); Suffix("'")
  tab: ToString(); Prefix("\\t")
  backslash: ToString(); Suffix("\\")
  document: |-
    ToString(); Prefix('{a: '); Suffix('}')
  more: |-
    ToString(); Suffix(', z: 1')
  id: FixedValue('507f1f77bcf86cd799439011')
  day: Mod(9); ToString(); Prefix('2024-01-0'); Suffix('T00:00:00Z')
op: placeholder
"#;

    fn template(text: &str) -> OpTemplate {
        let mut op = op_templates(BINDINGS).remove(0);
        let stmt = Node { data: Data::Text(crate::span::Text::of_source("op text", text)), location: None };
        op.op.insert("stmt".to_owned(), stmt);
        op
    }

    fn command(text: &str) -> CommandTemplate {
        match compile(&template(text), Form::Command).unwrap_or_else(|e| panic!("{text}: {e:?}")).plan.body {
            Body::Command(command) => command,
            _ => panic!("not a command"),
        }
    }

    fn fast(command: &CommandTemplate, cycle: i64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        command.bind_fast(cycle, &mut Context::default(), &mut out).expect("pure bindings").then_some(out)
    }

    fn slow(command: &CommandTemplate, cycle: i64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        command.bind_slow(cycle, &mut Context::default(), &mut out).ok().map(|()| out)
    }

    const NAMES: [&str; 13] = [
        "int",
        "long",
        "double",
        "digits",
        "words",
        "quote",
        "apostrophe",
        "tab",
        "backslash",
        "document",
        "more",
        "id",
        "day",
    ];

    fn hole() -> impl Strategy<Value = String> {
        prop::sample::select(NAMES.as_slice()).prop_map(|name| format!("{{{name}}}"))
    }

    fn quoted() -> impl Strategy<Value = String> {
        let part = prop_oneof![3 => hole(), 2 => "[a-z é,:]{0,4}", 1 => Just("\\n".to_owned())];
        (prop::collection::vec(part, 0..4), any::<bool>()).prop_map(|(parts, single)| {
            if single { format!("'{}'", parts.concat()) } else { format!("\"{}\"", parts.concat()) }
        })
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            4 => hole(),
            4 => quoted(),
            2 => "(-?[0-9]{1,12}|true|null|1.5|1e3)",
            1 => hole().prop_map(|h| format!("{{$oid: \"{h}\"}}")),
            1 => hole().prop_map(|h| format!("{{$date: '{h}'}}")),
            1 => hole().prop_map(|h| format!("{{$numberLong: \"{h}\"}}")),
            1 => hole().prop_map(|h| format!("NumberLong({h})")),
            1 => hole().prop_map(|h| format!("ISODate(\"{h}\")")),
            1 => hole().prop_map(|h| format!("{{$timestamp: {{t: {h}, i: 1}}}}")),
            1 => hole().prop_map(|h| format!("{{$regex: \"^{h}\", $options: 'i'}}")),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            let key = prop_oneof![4 => "[a-c$_]{1,3}", 1 => "\"[a-c .]{0,3}\""];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[ {} ]", items.join(", "))),
                prop::collection::vec((key, inner), 0..4).prop_map(|pairs| {
                    let pairs: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}: {v}")).collect();
                    format!("{{ {} }}", pairs.join(",\n "))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_lanes_send_the_same_bytes(values in prop::collection::vec(value(), 1..4), cycle in 0_i64..100_000) {
            let pairs: Vec<String> = values.iter().enumerate().map(|(i, value)| format!("k{i}: {value}")).collect();
            let text = format!("{{ find: \"c\", {} }}", pairs.join(", "));
            let Ok(compiled) = compile(&template(&text), Form::Command) else {
                // Constants that are no typed value, such as {$x: …} around a wrong text.
                return Ok(());
            };
            let Body::Command(mut command) = compiled.plan.body else { panic!("not a command") };
            for cycle in [0, 1, 5, cycle] {
                if let Some(bytes) = fast(&command, cycle) {
                    prop_assert_eq!(Some(bytes), slow_of(&command, &text, cycle), "{}", text);
                }
            }
            // A default stays the last field in both.
            command.set_default("writeConcern", RawBson::Int32(7));
            if let (Some(fast), Some(slow)) = (fast(&command, cycle), slow_of(&command, &text, cycle)) {
                prop_assert_eq!(&fast, &slow);
                let document = bson::RawDocumentBuf::from_bytes(fast).expect("a whole document");
                prop_assert_eq!(document.get_i32("writeConcern").ok(), Some(7));
            }
        }
    }

    /// The slow lane, also of a command without bind points, which keeps no text.
    fn slow_of(command: &CommandTemplate, text: &str, cycle: i64) -> Option<Vec<u8>> {
        if command.text.is_some() {
            return slow(command, cycle);
        }
        let mut pairs = command_text::parse(text, None).ok()?.pairs;
        pairs.extend(command.defaults.iter().cloned());
        Some(encode::document(&pairs))
    }

    #[test]
    fn known_structure_takes_the_fast_lane() {
        let cases = [
            (r#"{find: "c", f: {k: "{words}", n: {int}, m: {long}, d: {double}, t: {digits}}}"#, true),
            (r#"{find: "c", f: [{int}, "{digits}-{int}"], o: {$oid: "{id}"}, d: ISODate("{day}")}"#, true),
            (r#"{find: "c", f: {words}}"#, false),
            (r#"{find: "c", f: "{quote}"}"#, false),
            (r#"{find: "c", f: '{quote}'}"#, true),
            (r#"{find: "c", f: '{tab}'}"#, false),
        ];
        for (text, expected) in cases {
            let command = command(text);
            assert!(command.is_fast(), "{text}");
            let bytes = fast(&command, 5);
            assert_eq!(bytes.is_some(), expected, "{text}");
            assert!(bytes.is_none() || bytes == slow(&command, 5), "{text}");
        }
    }

    #[test]
    fn longs_are_as_wide_as_their_text_needs() {
        let command = command("{find: 'c', n: {long}, i: {int}}");
        for cycle in 0..50 {
            let bytes = fast(&command, cycle).expect("numbers take the fast lane");
            assert_eq!(Some(&bytes), slow(&command, cycle).as_ref());
        }
    }

    #[test]
    fn defaults_do_not_replace_what_the_command_says() {
        let mut own = command("{insert: 'c', writeConcern: {w: 1}, n: {int}}");
        own.set_default("writeConcern", RawBson::Int32(7));
        let mut none = command("{insert: 'c'}");
        none.set_default("writeConcern", RawBson::Int32(7));
        none.set_default("writeConcern", RawBson::Int32(8));
        none.set_default("comment", RawBson::String("x".to_owned()));
        let text = |command: &CommandTemplate| {
            crate::plan::extended_json::canonical(&fast(command, 0).expect("fast")).expect("BSON")
        };
        assert_eq!(
            text(&own),
            r#"{"insert":"c","writeConcern":{"w":{"$numberInt":"1"}},"n":{"$numberInt":"0"}}"#
        );
        assert_eq!(text(&none), r#"{"insert":"c","writeConcern":{"$numberInt":"7"},"comment":"x"}"#);
        assert_eq!(own.command(), Some("insert"));
    }

    #[test]
    fn values_are_not_cut_or_padded_in_any_place() {
        // Every kind beside every other, in documents and arrays, at several depths.
        for first in NAMES {
            for second in ["int", "digits", "long"] {
                let text = format!(
                    "{{find: 'c', a: [{{x: {{{second}}}}}, \"{{{first}}}\", {{{second}}}], b: {{c: {{d: '{{{first}}}'}}}}}}"
                );
                let command = command(&text);
                for cycle in [0, 7, 12345] {
                    if let Some(bytes) = fast(&command, cycle) {
                        assert_eq!(Some(bytes), slow(&command, cycle), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_of_a_map_keep_their_types_and_unset_fields_are_left_out() {
        let yaml = "bindings:
  list: ListSizedStepped(2,Identity())
  map: MapFunctions(NumberNameToString(),Identity())
  odd: Mod(2); UnsetIfEq(0L)
  byte: ToByte()
  decimal: ToBigDecimal(2)
ops:
  op1:
    insert: c
    documents:
      - {l: \"{list}\", m: \"{map}\", o: \"{odd}\", b: \"{byte}\", d: \"{decimal}\"}
    around: [\"{odd}\", 1]
";
        let op = op_templates(yaml).remove(0);
        let plan = compile(&op, Form::Command).unwrap_or_else(|e| panic!("{e:?}")).plan;
        let Body::Command(command) = plan.body else { panic!("not a command") };
        for (cycle, expected) in [
            (
                1,
                concat!(
                    r#"{"insert":"c","documents":[{"l":[{"$numberLong":"1"},{"$numberLong":"2"}],"#,
                    r#""m":{"one":{"$numberLong":"1"}},"o":{"$numberLong":"1"},"b":{"$numberInt":"1"},"#,
                    r#""d":{"$numberDecimal":"0.01"}}],"around":[{"$numberLong":"1"},{"$numberInt":"1"}]}"#
                ),
            ),
            (
                2,
                concat!(
                    r#"{"insert":"c","documents":[{"l":[{"$numberLong":"2"},{"$numberLong":"3"}],"#,
                    r#""m":{"two":{"$numberLong":"2"}},"b":{"$numberInt":"2"},"#,
                    r#""d":{"$numberDecimal":"0.02"}}],"around":[null,{"$numberInt":"1"}]}"#
                ),
            ),
        ] {
            let bytes = fast(&command, cycle).expect("its structure is known");
            assert_eq!(crate::plan::extended_json::canonical(&bytes).expect("BSON"), expected);
        }
    }

    #[test]
    fn an_unset_field_of_an_op_text_is_left_out() {
        let mut op = op_templates("bindings: {none: Unset()}\nop: placeholder\n").remove(0);
        let text = crate::span::Text::of_source("op text", "{insert: 'c', a: {none}, b: [{none}]}");
        op.op.insert("stmt".to_owned(), Node { data: Data::Text(text), location: None });
        let plan = compile(&op, Form::Command).unwrap_or_else(|e| panic!("{e:?}")).plan;
        let Body::Command(command) = plan.body else { panic!("not a command") };
        let bytes = fast(&command, 0).expect("its structure is known");
        assert_eq!(
            crate::plan::extended_json::canonical(&bytes).expect("BSON"),
            r#"{"insert":"c","b":[null]}"#
        );
    }
}
