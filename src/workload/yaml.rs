//! YAML text → [`Node`] trees in which every scalar knows, character by character, where it was written.
//!
//! The dialect is YAML 1.2 with the JSON schema: only `true|false` are booleans, only `null` and empty are
//! null, numbers are those of JSON. Merge keys (`<<`) are understood. Equal keys and tags beyond the core ones are
//! errors.

use super::node::{Data, Node};
use crate::span::{Diagnostic, Location, Text};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};
use std::collections::HashMap;
use std::ops::Range;

/// Nesting deeper than this is taken as a mistake.
const MAX_DEPTH: usize = 100;

/// Aliases may not blow a file up to more values than this.
const MAX_NODES: usize = 1_000_000;

/// The documents of a YAML text.
#[derive(Debug, Default)]
pub(super) struct Documents {
    pub nodes: Vec<Node>,
    /// Places of the keys that are lists or maps; in the tree they stand as they are written.
    pub odd_keys: Vec<Location>,
}

/// Reads all documents of `text`.
///
/// # Errors
/// The first thing that is not YAML (or not this YAML), at its place.
pub(super) fn documents(text: &Text) -> Result<Documents, Diagnostic> {
    if let Some(at) = text.as_str().find('\0') {
        return Err(Diagnostic::error("a NUL byte stands here: this is no text file")
            .at(text.locate(at..at + 1))
            .help("remove it; in a text, write `\"\\0\"`"));
    }
    Builder::new(text).run()
}

/// A plain scalar by the JSON schema.
pub(super) fn resolve(plain: &str) -> Data {
    match plain {
        "" | "null" => return Data::Null,
        "true" => return Data::Bool(true),
        "false" => return Data::Bool(false),
        ".inf" => return Data::Float(f64::INFINITY),
        "-.inf" => return Data::Float(f64::NEG_INFINITY),
        ".nan" => return Data::Float(f64::NAN),
        _ => {}
    }
    match number_form(plain) {
        Some(NumberForm::Int) => plain.parse().map(Data::Int).ok(),
        Some(NumberForm::Float) => plain.parse().map(Data::Float).ok(),
        None => None,
    }
    // Integers beyond 64 bits stay text, digit for digit.
    .unwrap_or_else(|| Data::Text(Text::unplaced(plain)))
}

enum NumberForm {
    Int,
    Float,
}

/// Which of the schema's number forms `text` has: `-?(0|[1-9][0-9]*)`, or that with `\.[0-9]*` and an exponent.
fn number_form(text: &str) -> Option<NumberForm> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return None;
    }
    let mut rest = &unsigned[whole..];
    if rest.is_empty() {
        return Some(NumberForm::Int);
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = &fraction[digits(fraction)..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = digits(exponent);
        if length == 0 {
            return None;
        }
        rest = &exponent[length..];
    }
    rest.is_empty().then_some(NumberForm::Float)
}

/// What is being built.
enum Open {
    List { items: Vec<Node>, start: usize, anchor: usize },
    Map { entries: Vec<(Text, Node)>, key: Option<Key>, start: usize, anchor: usize },
}

/// A key whose value is awaited.
enum Key {
    Named(Text),
    /// `<<`: the keys of the map that follows are those of this one.
    Merge,
}

/// Where a key of a map comes from.
enum Seen {
    /// It is written there.
    Written(Range<usize>),
    /// Out of a map that was merged; a key that is written takes its place.
    Merged,
}

struct Builder<'t> {
    text: &'t Text,
    /// Byte offset of each character: the parser counts characters.
    offsets: Vec<usize>,
    open: Vec<Open>,
    /// The keys of each open map, by their text.
    seen: Vec<HashMap<String, Seen>>,
    anchors: HashMap<usize, (Node, usize)>,
    /// How many nodes aliases have copied.
    copied: usize,
    result: Documents,
}

impl<'t> Builder<'t> {
    fn new(text: &'t Text) -> Builder<'t> {
        let mut offsets: Vec<usize> = text.as_str().char_indices().map(|(at, _)| at).collect();
        offsets.push(text.len());
        Builder {
            text,
            offsets,
            open: Vec::new(),
            seen: Vec::new(),
            anchors: HashMap::new(),
            copied: 0,
            result: Documents::default(),
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.offsets.get(character).copied().unwrap_or(self.text.len())
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.byte(span.end.index()).max(start)
    }

    fn run(mut self) -> Result<Documents, Diagnostic> {
        let text = self.text;
        for event in Parser::new_from_str(text.as_str()) {
            let (event, span) = event.map_err(|error| self.scan_error(&error))?;
            let at = self.bytes(span);
            match event {
                Event::Scalar(value, style, anchor, tag) => {
                    let node = self.scalar(&value, style, anchor, tag.as_deref(), &at)?;
                    if anchor > 0 {
                        self.anchors.insert(anchor, (node.clone(), 1));
                    }
                    self.add(node, at, anchor)?;
                }
                Event::Alias(anchor) => {
                    let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                        return Err(self.error("this alias stands within the value that it names", &at));
                    };
                    self.copied += size;
                    if self.copied > MAX_NODES {
                        return Err(
                            self.error("aliases blow this file up to more than a million values", &at)
                        );
                    }
                    self.add(node, at, 0)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "seq", &at)?;
                    self.deeper(&at)?;
                    self.open.push(Open::List { items: Vec::new(), start: at.start, anchor });
                }
                Event::MappingStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "map", &at)?;
                    self.deeper(&at)?;
                    self.seen.push(HashMap::new());
                    self.open.push(Open::Map { entries: Vec::new(), key: None, start: at.start, anchor });
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(&at)?,
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd => {}
            }
        }
        Ok(self.result)
    }

    fn error(&self, message: impl Into<String>, at: &Range<usize>) -> Diagnostic {
        Diagnostic::error(message).at(self.text.locate(at.clone()))
    }

    fn deeper(&self, at: &Range<usize>) -> Result<(), Diagnostic> {
        if self.open.len() < MAX_DEPTH {
            return Ok(());
        }
        Err(self.error(format!("lists and maps are nested deeper than {MAX_DEPTH}"), at))
    }

    fn close(&mut self, at: &Range<usize>) -> Result<(), Diagnostic> {
        let (data, start, anchor) = match self.open.pop() {
            Some(Open::List { items, start, anchor }) => (Data::List(items), start, anchor),
            Some(Open::Map { entries, start, anchor, .. }) => {
                self.seen.pop();
                (Data::Map(entries), start, anchor)
            }
            None => return Ok(()),
        };
        // The end of a block stands at the start of what comes next.
        let written = &self.text.as_str()[start..at.end.max(start)];
        let range = start..start + written.trim_end().len();
        let node = Node { data, location: self.text.locate(range.clone()) };
        if anchor > 0 {
            let size = count(&node);
            self.anchors.insert(anchor, (node.clone(), size));
        }
        self.add(node, range, anchor)
    }

    /// Puts a finished value where it belongs: into the open list, as key or value into the open map, or as
    /// document.
    fn add(&mut self, node: Node, at: Range<usize>, anchor: usize) -> Result<(), Diagnostic> {
        match self.open.last_mut() {
            None => self.result.nodes.push(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key: waiting, .. }) => match waiting.take() {
                Some(Key::Named(key)) => entries.push((key, node)),
                Some(Key::Merge) => self.merge(node, &at)?,
                None => {
                    let key = self.key(&node, &at, anchor)?;
                    if let Some(Open::Map { key: waiting, .. }) = self.open.last_mut() {
                        *waiting = Some(key);
                    }
                }
            },
        }
        Ok(())
    }

    fn key(&mut self, node: &Node, at: &Range<usize>, anchor: usize) -> Result<Key, Diagnostic> {
        let key = match &node.data {
            Data::List(_) | Data::Map(_) => {
                self.result.odd_keys.extend(self.text.locate(at.clone()));
                return Ok(Key::Named(self.text.slice(at.clone())));
            }
            Data::Null => self.text.slice(at.start..at.start),
            _ => node.as_text().unwrap_or_default(),
        };
        let plain = anchor == 0 && self.text.as_str()[at.clone()] == *key.as_str();
        if key.as_str() == "<<" && plain {
            return Ok(Key::Merge);
        }
        let written = Seen::Written(at.clone());
        match self.seen.last_mut().and_then(|seen| seen.insert(key.as_str().to_owned(), written)) {
            None => {}
            Some(Seen::Merged) => {
                if let Some(Open::Map { entries, .. }) = self.open.last_mut() {
                    entries.retain(|(merged, _)| merged.as_str() != key.as_str());
                }
            }
            Some(Seen::Written(first)) => {
                return Err(self
                    .error(format!("the key `{key}` is given twice in one map"), at)
                    .related(self.text.locate(first), "first given here")
                    .help("remove one of the two, or rename it"));
            }
        }
        Ok(Key::Named(key))
    }

    /// Puts the keys of a map, or of several in a list, into the open map, but for those that it has: what is
    /// written there counts before what is merged, and of several maps the first.
    fn merge(&mut self, node: Node, at: &Range<usize>) -> Result<(), Diagnostic> {
        let maps = match node.data {
            Data::List(items) => items,
            _ => vec![node],
        };
        for map in maps {
            let Data::Map(merged) = map.data else {
                return Err(self
                    .error(format!("`<<` takes a map, or a list of maps; this is {}", map.kind()), at)
                    .help("write `<<: *name`, where `&name` stands before a map"));
            };
            let (Some(Open::Map { entries, .. }), Some(seen)) = (self.open.last_mut(), self.seen.last_mut())
            else {
                continue;
            };
            for (key, value) in merged {
                if !seen.contains_key(key.as_str()) {
                    seen.insert(key.as_str().to_owned(), Seen::Merged);
                    entries.push((key, value));
                }
            }
        }
        Ok(())
    }

    fn scalar(
        &self,
        value: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        at: &Range<usize>,
    ) -> Result<Node, Diagnostic> {
        // With an anchor or a tag the span begins there; without, it begins with the content.
        let content = if anchor > 0 || tag.is_some() { self.after_properties(at) } else { at.clone() };
        let plain = style == ScalarStyle::Plain;
        let location = if plain && value.is_empty() {
            // Nothing is written: what follows is not the place.
            self.text.locate(at.start..at.start)
        } else {
            let written = self.text.as_str()[content.clone()].trim_end();
            self.text.locate(content.start..content.start + written.len())
        };
        let text = || self.place(value, style, content.clone());
        let resolved = if plain { resolve(value) } else { Data::Text(Text::default()) };
        let data = match tag {
            None => match resolved {
                Data::Text(_) => Data::Text(text()),
                other => other,
            },
            Some(tag) => {
                let name = if tag.is_yaml_core_schema() { tag.suffix.as_str() } else { "" };
                let resolved = if plain { resolved } else { resolve(value) };
                match (name, resolved) {
                    ("str", _) => Data::Text(text()),
                    ("null", Data::Null) => Data::Null,
                    ("bool", Data::Bool(value)) => Data::Bool(value),
                    ("int", Data::Int(value)) => Data::Int(value),
                    ("float", Data::Float(value)) => Data::Float(value),
                    ("float", Data::Int(value)) => Data::Float(value as f64),
                    ("null" | "bool" | "int" | "float", _) => {
                        return Err(self.error(format!("`{value}` is not a `!!{name}`"), at));
                    }
                    _ => return Err(self.unknown_tag(tag, at)),
                }
            }
        };
        Ok(Node { data, location })
    }

    fn check_tag(&self, tag: Option<&Tag>, expected: &str, at: &Range<usize>) -> Result<(), Diagnostic> {
        match tag {
            Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == expected) => {
                Err(self.unknown_tag(tag, at))
            }
            _ => Ok(()),
        }
    }

    fn unknown_tag(&self, tag: &Tag, at: &Range<usize>) -> Diagnostic {
        self.error(format!("the YAML tag `{tag}` is not known here"), at)
            .help("put the text in quotes if it should begin with `!`")
    }

    /// The range without the anchor and the tag that it begins with.
    fn after_properties(&self, at: &Range<usize>) -> Range<usize> {
        let mut start = at.start;
        loop {
            let rest = &self.text.as_str()[start..at.end];
            start += rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            if !rest.starts_with(['&', '!']) {
                return start..at.end;
            }
            start += rest.find(char::is_whitespace).unwrap_or(rest.len());
        }
    }

    /// `value` as a text whose characters know their places in `content`.
    fn place(&self, value: &str, style: ScalarStyle, content: Range<usize>) -> Text {
        if self.text.as_str()[content.clone()] == *value {
            return self.text.slice(content);
        }
        let placed = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.place_block(value, &content),
            ScalarStyle::Plain => self.place_flow(value, &content, None),
            ScalarStyle::SingleQuoted => self.place_flow(value, &inner(&content), Some('\'')),
            ScalarStyle::DoubleQuoted => self.place_flow(value, &inner(&content), Some('"')),
        };
        match placed {
            Some(placed) if placed.as_str() == value => placed,
            // What cannot be followed still has the place of the whole scalar.
            _ => {
                let mut whole = Text::default();
                whole.push_str(value, self.text.locate(content));
                whole
            }
        }
    }

    /// Follows a plain or quoted scalar through line folding and escapes.
    fn place_flow(&self, value: &str, content: &Range<usize>, quote: Option<char>) -> Option<Text> {
        let written = self.text.as_str();
        let mut placed = Text::default();
        let mut rest = value;
        let mut at = content.start;
        while !rest.is_empty() && at < content.end {
            let here = &written[at..content.end];
            let next = rest.chars().next()?;
            let blank = here.len() - here.trim_start_matches([' ', '\t', '\r', '\n']).len();
            if here[..blank].contains('\n') {
                let folded = rest.len() - rest.trim_start_matches('\n').len();
                let length = if folded > 0 { folded } else { usize::from(next == ' ') };
                if length == 0 {
                    return None;
                }
                placed.push_str(&rest[..length], self.text.locate(at..at + blank));
                rest = &rest[length..];
                at += blank;
            } else if quote == Some('"') && here.starts_with('\\') {
                let escape = here[1..].chars().next()?;
                if escape == '\n' || escape == '\r' {
                    // A line break that is escaped away, with the blanks that begin the next line.
                    let line_end = 1 + here[1..].find('\n')? + 1;
                    let next_line = &here[line_end..];
                    at += line_end + next_line.len() - next_line.trim_start_matches([' ', '\t']).len();
                    continue;
                }
                let length = 1 + match escape {
                    'x' => 3,
                    'u' => 5,
                    'U' => 9,
                    other => other.len_utf8(),
                };
                let end = (at + length).min(content.end);
                placed.push_str(&rest[..next.len_utf8()], self.text.locate(at..end));
                rest = &rest[next.len_utf8()..];
                at = end;
            } else if quote == Some('\'') && here.starts_with("''") {
                placed.push_slice(self.text, at..at + 1);
                rest = &rest[1..];
                at += 2;
            } else {
                if !here.starts_with(next) {
                    return None;
                }
                placed.push_slice(self.text, at..at + next.len_utf8());
                rest = &rest[next.len_utf8()..];
                at += next.len_utf8();
            }
        }
        Some(placed)
    }

    /// Follows a block scalar line by line: the indentation is gone, and lines may be folded.
    fn place_block(&self, value: &str, content: &Range<usize>) -> Option<Text> {
        let written = self.text.as_str();
        let mut start = content.start;
        if written[start..].starts_with(['|', '>']) && written[start..content.end].contains('\n') {
            // With an anchor or a tag before it, the span has the header too.
            let body = start + written[start..].find('\n')? + 1;
            let first =
                written[body..].find(|c: char| !c.is_whitespace()).map_or(body, |offset| body + offset);
            start = first;
        }
        let line_start = written[..start].rfind('\n').map_or(0, |at| at + 1);
        let indent = start - line_start;
        if !written[line_start..start].bytes().all(|b| b == b' ') {
            return None;
        }
        let mut placed = Text::default();
        let mut rest = value;
        let mut line_at = line_start;
        while !rest.is_empty() {
            let line_end = written[line_at..].find('\n').map_or(written.len(), |offset| line_at + offset);
            let line = written[line_at..line_end].trim_end_matches('\r');
            let body = line.get(indent..).unwrap_or("");
            if !body.is_empty() {
                while !rest.starts_with(body) {
                    let fold = rest.chars().next().filter(|c| *c == ' ' || *c == '\n')?;
                    // A break of lines has the place of the line before it.
                    let before = line_at.saturating_sub(1);
                    placed.push_str(&rest[..fold.len_utf8()], self.text.locate(before..line_at));
                    rest = &rest[fold.len_utf8()..];
                }
                placed.push_slice(self.text, line_at + indent..line_at + indent + body.len());
                rest = &rest[body.len()..];
                if rest.starts_with('\n')
                    && line_end < written.len()
                    && body.len() + indent == line_end - line_at
                {
                    placed.push_slice(self.text, line_end..line_end + 1);
                    rest = &rest[1..];
                }
            }
            if line_end >= content.end.max(start) || line_end >= written.len() {
                let end = written.len().min(line_end);
                placed.push_str(rest, self.text.locate(end..end));
                return Some(placed);
            }
            line_at = line_end + 1;
        }
        Some(placed)
    }

    fn scan_error(&self, error: &ScanError) -> Diagnostic {
        let at = self.byte(error.marker().index());
        let at = at..self.text.as_str()[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        let info = error.info();
        if info.contains("recursion limit") {
            return self.error(format!("lists and maps are nested deeper than {MAX_DEPTH}"), &at);
        }
        let help = if info.contains("tabs disallowed") {
            "indent with blanks; YAML does not allow tabs"
        } else if info.contains("mapping values are not allowed") {
            "a value with `: ` in it needs quotes, and keys of one map start in the same column"
        } else if info.contains("indentation in quoted scalar") {
            "a quote is opened here: close it, or indent the lines that the text goes on over"
        } else if info.contains("unexpected character") {
            "a value cannot begin with this character: put it in quotes"
        } else if info.contains("did not find expected key")
            || info.contains("invalid indentation")
            || info.contains("simple key expect")
        {
            "look at the indentation: keys of one map, and the `-` of one list, start in the same column"
        } else if info.contains("expected ',' or") || info.contains("illegal placement") {
            "a `{` or `[` begins a YAML map or list here: close it, or put the whole text in quotes"
        } else if info.contains("unexpected end of stream") {
            "a quote is opened here and never closed"
        } else if info.contains("unknown anchor") {
            "no `&name` with this name stands before it; a text that begins with `*` needs quotes"
        } else {
            ""
        };
        let found = self.error(format!("this is not YAML: {info}"), &at);
        if help.is_empty() { found } else { found.help(help) }
    }
}

/// The range without its first and last byte: the quotes.
fn inner(quoted: &Range<usize>) -> Range<usize> {
    let start = (quoted.start + 1).min(quoted.end);
    start..quoted.end.saturating_sub(1).max(start)
}

fn count(node: &Node) -> usize {
    1 + match &node.data {
        Data::List(items) => items.iter().map(count).sum(),
        Data::Map(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn read(yaml: &str) -> Result<Vec<Json>, String> {
        let documents = documents(&Text::of_source("f", yaml)).map_err(|error| error.one_line())?;
        Ok(documents.nodes.iter().map(Node::to_json).collect())
    }

    #[test]
    fn scalars_follow_the_json_schema() {
        for (written, expected) in [
            ("true", json!(true)),
            ("false", json!(false)),
            ("True", json!("True")),
            ("yes", json!("yes")),
            ("no", json!("no")),
            ("null", json!(null)),
            ("Null", json!("Null")),
            ("~", json!("~")),
            ("0", json!(0)),
            ("-12", json!(-12)),
            ("0x10", json!("0x10")),
            ("08", json!("08")),
            ("007", json!("007")),
            ("1_000", json!("1_000")),
            ("+1", json!("+1")),
            ("1e3", json!(1000.0)),
            ("1.10", json!(1.1)),
            ("1.", json!(1.0)),
            ("1e", json!("1e")),
            (".5", json!(".5")),
            ("12:30", json!("12:30")),
            ("9223372036854775807", json!(i64::MAX)),
            ("12345678901234567890", json!("12345678901234567890")),
            ("\"5\"", json!("5")),
            ("'null'", json!("null")),
            ("!!str 5", json!("5")),
            ("!!int \"5\"", json!(5)),
            ("!!float 5", json!(5.0)),
        ] {
            assert_eq!(read(&format!("a: {written}\n")), Ok(vec![json!({"a": expected})]), "{written}");
        }
        assert_eq!(read("a:\nb: \n"), Ok(vec![json!({"a": null, "b": null})]));
    }

    #[test]
    fn a_number_is_text_as_it_was_written_where_text_is_wanted() {
        for (written, expected) in [("1.10", "1.10"), ("1e3", "1e3"), ("true", "true"), ("-0", "-0")] {
            let yaml = format!("a: {written} # comment\n");
            let found = documents(&Text::of_source("f", yaml)).expect(written);
            let Data::Map(entries) = &found.nodes[0].data else { panic!("a map") };
            assert_eq!(entries[0].1.as_text().expect(written).as_str(), expected);
        }
    }

    #[test]
    fn documents_anchors_and_odd_keys_load() {
        assert_eq!(read("a: 1\n---\nb: 2\n"), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
        assert_eq!(
            read("a: &x {k: [1, 2]}\nb: *x\nc: &y 5\nd: *y\n"),
            Ok(vec![json!({"a": {"k": [1, 2]}, "b": {"k": [1, 2]}, "c": 5, "d": 5})])
        );
        assert_eq!(read("\u{feff}a: |\r\n  l1\r\n  l2\r\n"), Ok(vec![json!({"a": "l1\nl2\n"})]));
        assert_eq!(read("{a: 1,\n\"b\":2,}"), Ok(vec![json!({"a": 1, "b": 2})]));
        assert_eq!(read("1: x\ntrue: y\n"), Ok(vec![json!({"1": "x", "true": "y"})]));
        assert_eq!(read(""), Ok(vec![]));
        let odd = documents(&Text::of_source("f", "k: [{ {a: b}: 1, [x]: 2, name }]\n")).expect("it loads");
        let places: Vec<String> = odd.odd_keys.iter().map(ToString::to_string).collect();
        assert_eq!(places, ["f:1:7", "f:1:18"]);
        assert_eq!(odd.nodes[0].to_json(), json!({"k": [{"{a: b}": 1, "[x]": 2, "name": null}]}));
    }

    #[test]
    fn merge_keys_bring_in_what_is_not_written() {
        for (yaml, expected) in [
            ("b: &b {x: 1, y: 2}\na:\n  <<: *b\n  z: 3\n", json!({"x": 1, "y": 2, "z": 3})),
            ("b: &b {x: 1, y: 2}\na:\n  y: 5\n  <<: *b\n", json!({"y": 5, "x": 1})),
            ("b: &b {x: 1, y: 2}\na:\n  <<: *b\n  x: 5\n", json!({"y": 2, "x": 5})),
            ("b: &b {x: 1}\nc: &c {x: 2, y: 3}\na: {<<: [*b, *c]}\n", json!({"x": 1, "y": 3})),
            ("b: &b {x: 1}\nc: &c {<<: *b, y: 3}\na: {<<: *c}\n", json!({"x": 1, "y": 3})),
            ("a: {\"<<\": x}\n", json!({"<<": "x"})),
        ] {
            let read = read(yaml).expect(yaml);
            // As texts, so that the order counts.
            assert_eq!(read[0]["a"].to_string(), expected.to_string(), "{yaml}");
        }
        let twice = read("b: &b {x: 1}\na: {<<: *b, x: 2, x: 3}\n").expect_err("x is given twice");
        assert!(twice.contains("`x` is given twice"), "{twice}");
    }

    #[test]
    fn what_is_not_yaml_is_shown_at_its_place() {
        for (yaml, place, part) in [
            ("a:\n\tb: 1\n", "f:2:2", "tabs"),
            ("a: 1\nb: 2\na: 3\n", "f:3:1", "`a` is given twice in one map (first given here: f:1:1)"),
            ("x:\n  a: 1\n  \"a\": 3\n", "f:3:3", "first given here: f:2:3"),
            ("a: b: c\n", "f:1:5", "quotes"),
            ("a: 'x\n", "f:1:4", "never closed"),
            ("a: \n  b: 'x\n  c: y\n", "f:2:6", "close it"),
            ("a: {x: 1\n", "f:2:1", "close it"),
            ("a: @foo\n", "f:1:4", "quotes"),
            ("a: *nope\n", "f:1:4", "&name"),
            ("b: &b [1]\na:\n  <<: *b\n", "f:3:7", "`<<` takes a map, or a list of maps; this is a number"),
            ("a:\n  <<: x\n", "f:2:7", "`<<` takes a map"),
            ("a: !foo bar\n", "f:1:4", "tag"),
            ("a: !!int x\n", "f:1:4", "`x` is not a `!!int`"),
            ("a: 1\n- b\n", "f:2:3", "indentation"),
            ("é: \"xy\"z\n", "f:1:8", "trailing"),
        ] {
            let error = read(yaml).expect_err(yaml);
            assert!(error.starts_with(place) && error.contains(part), "{yaml:?}: {error}");
        }
        for flow in ["[", "{a: "] {
            assert!(read(&flow.repeat(1000)).expect_err("too deep").contains("deeper"));
        }
        let blocks: String = (0..1000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert!(read(&blocks).expect_err("too deep").contains("deeper"));
        let bomb: String = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let alias = format!("*a{}", n - 1);
            format!("{text}a{n}: &a{n} [{}]\n", vec![alias; 9].join(","))
        });
        assert!(read(&bomb).expect_err("a bomb").contains("million"));
    }

    /// Where `needle` stands in the value of the first key, as line and column.
    fn place_of(yaml: &str, needle: &str) -> (usize, usize) {
        let found = documents(&Text::of_source("f", yaml)).expect(yaml);
        let Data::Map(entries) = &found.nodes[0].data else { panic!("a map") };
        let Data::Text(text) = &entries[0].1.data else { panic!("a text: {:?}", entries[0].1) };
        let at = text.as_str().find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
        text.locate(at..at + needle.len()).expect("placed").line_column()
    }

    #[test]
    fn every_character_of_a_scalar_knows_its_place() {
        for (yaml, needle, expected) in [
            ("a: plain X\n", "X", (1, 10)),
            ("a: 'it''s X'\n", "X", (1, 11)),
            ("a: \"\\u00e9\\n\\\"X\\\"\"\n", "X", (1, 15)),
            ("a: one\n  two X\n", "X", (2, 7)),
            ("a: \"one\n\n   two X\"\n", "X", (3, 8)),
            ("a: \"one \\\n   two X\"\n", "X", (2, 8)),
            ("a: |\n  l1\n    l2 X\n", "X", (3, 8)),
            ("a: |\n\n  l1\n\n    l2 X\nb: 1\n", "X", (5, 8)),
            ("a: |+\n  X\n\n\nb: 1\n", "X", (2, 3)),
            ("a: |\r\n  l1\r\n  X\r\n", "X", (3, 3)),
            ("a: >-\n  fold\n  ed X\n\n  para Y\n", "X", (3, 6)),
            ("a: >-\n  fold\n  ed X\n\n  para Y\n", "Y", (5, 8)),
            ("a: >2\n    x\n      y X\n  z\n", "X", (3, 9)),
            ("a: |2-\n    x\n   X", "X", (3, 4)),
            ("a: &n |\n  l1\n  X\n", "X", (3, 3)),
            ("a: !!str |\n  l1\n  X\n", "X", (3, 3)),
            ("a: &n \"b X\"\n", "X", (1, 10)),
            ("é: |\n  é漢 X\n", "X", (2, 6)),
        ] {
            assert_eq!(place_of(yaml, needle), expected, "{yaml:?}");
        }
    }

    #[test]
    fn line_ends_within_a_block_do_not_blur_what_follows() {
        let yaml = "a: |\n  {\n    key: 1,\n    X\n  }\n";
        let found = documents(&Text::of_source("f", yaml)).expect("it loads");
        let Data::Map(entries) = &found.nodes[0].data else { panic!("a map") };
        let Data::Text(text) = &entries[0].1.data else { panic!("a text") };
        for (at, c) in text.as_str().char_indices() {
            let place = text.locate(at..at + c.len_utf8()).expect("placed");
            assert_eq!(&yaml[place.range.clone()], &c.to_string(), "at {at}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(yaml in r#"([ab:,\[\]{}'"|>&*!?%@#é\t -]|\n|\r\n|\n  |\\u0041|---\n){0,40}"#) {
            if let Ok(found) = documents(&Text::of_source("f", yaml.as_str())) {
                for node in &found.nodes {
                    node.each_text(&mut |text| {
                        let _ = text.location();
                    });
                }
            }
        }

        #[test]
        fn places_point_at_what_is_written(words in proptest::collection::vec("[a-z]{1,6}", 1..8), style in 0..3usize) {
            let mut yaml = String::from(["k: |\n", "k: >\n", "k: \n"][style]);
            for word in &words {
                yaml.push_str("   ");
                yaml.push_str(word);
                yaml.push('\n');
            }
            let found = documents(&Text::of_source("f", yaml.as_str())).expect("it loads");
            let Data::Map(entries) = &found.nodes[0].data else { panic!("a map") };
            let text = entries[0].1.as_text().expect("a text");
            for (at, c) in text.as_str().char_indices().filter(|(_, c)| c.is_alphabetic()) {
                let place = text.locate(at..at + 1).expect("placed");
                prop_assert_eq!(&yaml[place.range.clone()], &c.to_string());
            }
        }
    }
}
