//! Finds the bind points of a text and compiles the bindings that they name: `{name}`, `{{recipe}}` and
//! `{(recipe)}`. There is no escape: JSON survives because a brace in it is followed by a blank, a quote or a
//! key with a colon.

use crate::bindings::Program;
use crate::span::{Diagnostic, Text, nearest};
use indexmap::IndexMap;
use std::ops::Range;

/// One bind point of a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BindPoint {
    /// Braces included.
    pub range: Range<usize>,
    /// The name or the recipe.
    pub inner: Range<usize>,
    /// `inner` is a recipe, not a name.
    pub inline: bool,
}

/// All bind points of `text`, left to right.
pub(super) fn scan(text: &str) -> Vec<BindPoint> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut line = Line::default();
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        if at >= line.end {
            line = Line::of(text, at);
        }
        let point = reference(text, at)
            .or_else(|| line.inline(text, at, "{{", "}}"))
            .or_else(|| line.inline(text, at, "{(", ")}"));
        from = match point {
            Some(point) => {
                let end = point.range.end;
                found.push(point);
                end
            }
            None => at + 1,
        };
    }
    found
}

/// `{NAME}`: a word character, then any of `-_<>,.` and word characters.
fn reference(text: &str, at: usize) -> Option<BindPoint> {
    let inner = &text.as_bytes()[at + 1..];
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    if !inner.first().is_some_and(word) {
        return None;
    }
    let length = inner.iter().position(|b| !word(b) && !b"-<>,.".contains(b))?;
    (inner[length] == b'}').then(|| BindPoint {
        range: at..at + length + 2,
        inner: at + 1..at + 1 + length,
        inline: false,
    })
}

/// What is known of the line that is scanned, so that a line of nothing but braces is read once, not once a brace.
#[derive(Default)]
struct Line {
    end: usize,
    /// The brackets that close nothing any more in what is left of it.
    spent: Vec<&'static str>,
}

impl Line {
    /// The line of `text` that `at` is in.
    fn of(text: &str, at: usize) -> Line {
        let end = text[at..].find(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        Line { end: end.map_or(text.len(), |end| at + end), spent: Vec::new() }
    }

    /// `{{…}}` or `{(…)}`: the shortest text of at least one character up to `close`, on one line.
    fn inline(&mut self, text: &str, at: usize, open: &str, close: &'static str) -> Option<BindPoint> {
        let start = at + open.len();
        let body = text[at..self.end].strip_prefix(open)?;
        if self.spent.contains(&close) || body.starts_with(close) {
            return None;
        }
        let first = body.chars().next()?.len_utf8();
        let Some(length) = body[first..].find(close).map(|length| first + length) else {
            self.spent.push(close);
            return None;
        };
        Some(BindPoint {
            range: at..start + length + close.len(),
            inner: start..start + length,
            inline: true,
        })
    }
}

/// A compiled binding of an op.
#[derive(Clone)]
pub(super) struct Slot {
    pub program: Program,
    /// Bind points that it fills.
    pub uses: usize,
}

/// The bindings of one op, compiled as its bind points ask for them. Equal recipes share a slot.
pub(super) struct Bindings<'a> {
    known: &'a IndexMap<String, Text>,
    /// Recipe → its slot; None where it did not compile (said once).
    by_recipe: IndexMap<String, Option<usize>>,
    pub slots: Vec<Slot>,
    /// A value is made once more beside the op that it is in, so that it has to depend on the cycle alone.
    recomputed: bool,
    /// One of them reads [`Context::acknowledged`](crate::functions::Context::acknowledged).
    pub reads_acknowledged: bool,
    pub errors: Vec<Diagnostic>,
    pub notices: Vec<Diagnostic>,
}

impl<'a> Bindings<'a> {
    pub fn new(known: &'a IndexMap<String, Text>) -> Bindings<'a> {
        Bindings {
            known,
            by_recipe: IndexMap::new(),
            slots: Vec::new(),
            recomputed: false,
            reads_acknowledged: false,
            errors: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// For values that are made a second time, to be compared.
    pub fn recomputed(known: &'a IndexMap<String, Text>) -> Bindings<'a> {
        Bindings { recomputed: true, ..Bindings::new(known) }
    }

    pub fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// The names of all bindings, used or not.
    pub fn names(&self) -> Vec<String> {
        self.known.keys().cloned().collect()
    }

    /// The slot of a bind point of `text`; None after an error, which is kept.
    pub fn slot(&mut self, text: &Text, point: &BindPoint) -> Option<usize> {
        let inner = &text.as_str()[point.inner.clone()];
        let recipe = if point.inline {
            text.slice(point.inner.clone())
        } else if let Some(recipe) = self.known.get(inner) {
            recipe.clone()
        } else {
            let error = Diagnostic::error(format!("no binding is named `{inner}`"))
                .at(text.locate(point.range.clone()))
                .help(self.names_to_offer(inner));
            self.errors.push(error);
            return None;
        };
        if let Some(slot) = self.by_recipe.get(recipe.as_str()) {
            if let Some(slot) = *slot {
                self.slots[slot].uses += 1;
            }
            return *slot;
        }
        let slot = match Program::compile(&recipe) {
            Ok(compiled) if self.recomputed && !compiled.program.is_pure() => {
                let error = Diagnostic::error(format!(
                    "`{inner}` cannot be recomputed: its value depends on more than the cycle"
                ));
                self.errors.push(error.at(text.locate(point.range.clone())).help(
                    "compare with a binding whose functions give the same value at the same cycle each time",
                ));
                None
            }
            Ok(compiled) => {
                self.reads_acknowledged |= compiled.program.reads_acknowledged();
                self.notices.extend(compiled.notices);
                self.slots.push(Slot { program: compiled.program, uses: 1 });
                Some(self.slots.len() - 1)
            }
            Err(mut error) => {
                if error.location.is_none() {
                    error.location = text.locate(point.range.clone());
                }
                self.errors.push(error);
                None
            }
        };
        self.by_recipe.insert(recipe.as_str().to_owned(), slot);
        slot
    }

    fn names_to_offer(&self, wanted: &str) -> String {
        let known: Vec<&str> = self.known.keys().map(String::as_str).collect();
        if known.is_empty() {
            return "this op has no bindings; add `bindings:` to the op, its block or the document"
                .to_owned();
        }
        let near = nearest(wanted, known.iter().copied());
        match near.first() {
            Some(near) => format!("did you mean `{near}`? bindings here: {}", known.join(", ")),
            None => format!("bindings here: {}", known.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bind_points_are_told_from_json_by_what_follows_the_brace() {
        let cases: &[(&str, &[&str])] = &[
            ("{a}", &["a"]),
            ("x {a} y {b-c} z", &["a", "b-c"]),
            ("{1}", &["1"]),
            ("{x,y}", &["x,y"]),
            ("{a.b<c>}", &["a.b<c>"]),
            ("{ a }", &[]),
            ("{_id:1}", &[]),
            ("{}", &[]),
            ("{a b}", &[]),
            ("{-a}", &[]),
            ("{é}", &[]),
            ("{a", &[]),
            ("{a: {b}}", &["b"]),
            ("{{Identity()}}", &["Identity()"]),
            ("{{a}", &["a"]),
            ("{{}}", &[]),
            ("{{a\nb}}", &[]),
            ("{(Mod(5))}", &["Mod(5)"]),
            ("{()}", &[]),
            ("{{a}}}}", &["a"]),
            ("{a}{y}", &["a", "y"]),
            ("{{é", &[]),
            ("{{é}}", &["é"]),
        ];
        for (text, expected) in cases {
            let found: Vec<&str> = scan(text).into_iter().map(|p| &text[p.inner]).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn a_great_many_braces_are_read_once() {
        for text in ["{", "{{", "{(", "{{ {(", "{{a\n"] {
            assert_eq!(scan(&text.repeat(500_000)), [], "{text}");
        }
        assert_eq!(scan(&format!("{}a}}}}", "{".repeat(500_000))).len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_scanned(text in "[{}()a-c,. é\n]{0,40}") {
            let mut end = 0;
            for point in scan(&text) {
                proptest::prop_assert!(point.range.start >= end && !text[point.inner].is_empty());
                end = point.range.end;
            }
        }
    }
}
