//! Finds capture points, `[name]` and `[name as alias]`: what of a reply is to be kept for later ops. They are
//! recognised only where they cannot be JSON, so `[5]`, `[true]` and `["name"]` stay lists.

use super::bind_points::BindPoint;
use super::element;
use crate::span::{Location, Text};
use std::ops::Range;

/// A field of an op's reply to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// The field.
    pub name: String,
    /// The name to keep it under, where that is another one.
    pub alias: Option<String>,
    pub location: Option<Location>,
}

/// A capture point of a text, in bytes.
#[derive(Debug, PartialEq)]
struct CapturePoint {
    /// Brackets included.
    range: Range<usize>,
    name: Range<usize>,
    alias: Option<Range<usize>>,
}

/// What the text of an op is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// JSON: nothing within strings and regular expressions is a capture point.
    Json,
    /// Any text.
    Plain,
}

/// Takes the brackets of capture points off, as the reference does before it looks for bind points: the name
/// stays. `points` are the bind points of `text`, in which nothing is captured.
pub(super) fn take(text: &Text, points: &[BindPoint], dialect: Dialect) -> Option<(Text, Vec<Capture>)> {
    let written = text.as_str();
    let found = scan(written, points, dialect);
    if found.is_empty() {
        return None;
    }
    let mut rest = Text::default();
    let mut captures = Vec::new();
    let mut from = 0;
    for CapturePoint { range, name, alias } in found {
        rest.push_slice(text, from..range.start);
        rest.push_slice(text, name.clone());
        from = range.end;
        captures.push(Capture {
            name: written[name].to_owned(),
            alias: alias.map(|alias| written[alias].to_owned()),
            location: text.locate(range),
        });
    }
    rest.push_slice(text, from..written.len());
    Some((rest, captures))
}

fn scan(text: &str, points: &[BindPoint], dialect: Dialect) -> Vec<CapturePoint> {
    let bytes = text.as_bytes();
    let mut points = points.iter().peekable();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        while points.next_if(|point| point.range.end <= at).is_some() {}
        if let Some(point) = points.peek().filter(|point| point.range.start <= at) {
            at = point.range.end;
            continue;
        }
        match bytes[at] {
            quote @ (b'"' | b'\'' | b'/') if dialect == Dialect::Json => at = after_quoted(bytes, at, quote),
            b'[' => match capture(text, at) {
                Some(point) => {
                    at = point.range.end;
                    found.push(point);
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    found
}

/// Where a quoted part ends that begins at `at`.
fn after_quoted(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The capture point at the `[` that stands at `at`.
fn capture(text: &str, at: usize) -> Option<CapturePoint> {
    let bytes = text.as_bytes();
    let name = word(bytes, at + 1)?;
    let blanks = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    if bytes.get(name.end) == Some(&b']') {
        let json = element::scalar(&text[name.clone()]).is_some();
        return (!json).then_some(CapturePoint { range: at..name.end + 1, name, alias: None });
    }
    let keyword = blanks(name.end);
    let after = bytes.get(keyword..keyword + 2).filter(|word| word.eq_ignore_ascii_case(b"as"))?;
    let alias_at = blanks(keyword + after.len());
    if keyword == name.end || alias_at == keyword + after.len() {
        return None;
    }
    let alias = word(bytes, alias_at)?;
    (bytes.get(alias.end) == Some(&b']')).then(|| CapturePoint {
        range: at..alias.end + 1,
        name,
        alias: Some(alias),
    })
}

/// A word character, then any of `-_.` and word characters.
fn word(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let first = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let rest = &bytes[from.min(bytes.len())..];
    if !rest.first().is_some_and(first) {
        return None;
    }
    let length = rest.iter().take_while(|b| first(b) || matches!(b, b'-' | b'.')).count();
    Some(from..from + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::bind_points;

    /// The text without brackets, and what is captured.
    fn taken(text: &str, dialect: Dialect) -> (String, Vec<String>) {
        let whole = Text::of_source("f", text);
        match take(&whole, &bind_points::scan(text), dialect) {
            None => (text.to_owned(), Vec::new()),
            Some((rest, captures)) => {
                let shown = captures.into_iter().map(|capture| match capture.alias {
                    Some(alias) => format!("{} as {alias}", capture.name),
                    None => capture.name,
                });
                (rest.as_str().to_owned(), shown.collect())
            }
        }
    }

    #[test]
    fn a_capture_point_is_what_cannot_be_json() {
        use Dialect::{Json, Plain};
        for (text, dialect, rest, captures) in [
            (
                "{p: {[name]: 1, [age as years]: 1}}",
                Json,
                "{p: {name: 1, age: 1}}",
                &["name", "age as years"][..],
            ),
            ("select [user-id as u.x] from t", Plain, "select user-id from t", &["user-id as u.x"]),
            ("[a  AS\tb] [a as] [as b] [a asb]", Plain, "a [a as] [as b] [a asb]", &["a as b"]),
            ("{a: [5], b: [true], c: [null], d: [-1], e: [1.5], f: [NaN]}", Json, "", &[]),
            ("{a: [1,2], b: ['q'], c: [ x ], d: [], e: [[], {}]}", Json, "", &[]),
            ("{a: \"[name]\", b: '[name as x]', c: /[a]/, d: \"\\\"[x]\"}", Json, "", &[]),
            ("{a: \"[name]\"}", Plain, "{a: \"name\"}", &["name"]),
            ("{a: [{b}], c: {{F([x])}}, d: [x]}", Json, "{a: [{b}], c: {{F([x])}}, d: x}", &["x"]),
            ("[é] [a", Plain, "", &[]),
        ] {
            let expected = if rest.is_empty() { text } else { rest };
            let captures: Vec<String> = captures.iter().map(|c| (*c).to_owned()).collect();
            assert_eq!(taken(text, dialect), (expected.to_owned(), captures), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_scanned(text in "(\\[|\\]|as|[ab{}'\"/\\\\ \n5é.-]){0,30}") {
            for dialect in [Dialect::Json, Dialect::Plain] {
                let (rest, captures) = taken(&text, dialect);
                proptest::prop_assert!(rest.len() + 2 * captures.len() <= text.len());
            }
        }
    }
}
