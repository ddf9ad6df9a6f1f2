//! Tag filters: `block:main.*`, `any(block:a,block:b)` → the ops that they select.

use super::node::{Data, Node};
use super::template::{unclosed, unset_in};
use super::{OpTemplate, Workload};
use crate::span::{Diagnostic, Location, Text, nearest};
use indexmap::{IndexMap, IndexSet};
use regex::Regex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conjugate {
    All,
    Any,
    None,
}

#[derive(Debug, Clone)]
struct Item {
    key: Text,
    /// Matches the whole value of the tag; absent: the tag need only be there.
    value: Option<(Text, Regex)>,
}

/// A parsed `tags=` value.
///
/// `KEY:REGEX` or `KEY=REGEX`, several separated by commas; `all(…)` (as without), `any(…)`, `none(…)`. The regex
/// matches the whole value. Two keys need no tag in the file: `name` is the full name `block__op` or the op's
/// own name, `op` the op's own name.
#[derive(Debug, Clone)]
pub struct TagFilter {
    text: Text,
    conjugate: Conjugate,
    items: Vec<Item>,
    notices: Vec<Diagnostic>,
}

impl TagFilter {
    /// Reads a filter; an empty one matches every op.
    ///
    /// # Errors
    /// A bad regex or an unknown conjugate, at its place.
    pub fn parse(text: &Text) -> Result<TagFilter, Diagnostic> {
        let mut body = unquote(&text.trim());
        let mut conjugate = Conjugate::All;
        let written = body.as_str();
        if let (Some(open), true) = (written.find('('), written.ends_with(')')) {
            let word = &written[..open];
            if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_') {
                conjugate = match word.to_lowercase().as_str() {
                    "all" => Conjugate::All,
                    "any" => Conjugate::Any,
                    "none" => Conjugate::None,
                    _ => {
                        return Err(Diagnostic::error(format!("`{word}` is not one of all, any, none"))
                            .at(body.locate(0..open))
                            .help("write `any(block:a,block:b)`"));
                    }
                };
                body = body.slice(open + 1..written.len() - 1);
            }
        }
        let mut items: Vec<Item> = Vec::new();
        let mut notices = Vec::new();
        for part in split_items(&body) {
            let item = Item::parse(&part)?;
            let same = items.iter().position(|other| other.key.as_str() == item.key.as_str());
            if let (Some(same), Conjugate::All) = (same, conjugate) {
                let key = item.key.as_str();
                notices.push(
                    Diagnostic::warning(format!("`{key}` is given twice in `{text}`: only the last counts"))
                        .at(item.key.location())
                        .help(format!("to select either, write `any({body})`")),
                );
                items.remove(same);
            }
            items.push(item);
        }
        Ok(TagFilter { text: text.clone(), conjugate, items, notices })
    }

    /// What the user should know about the filter itself.
    pub fn notices(&self) -> &[Diagnostic] {
        &self.notices
    }

    /// Whether `op` is selected.
    pub fn matches(&self, op: &OpTemplate) -> bool {
        if self.items.is_empty() {
            return true;
        }
        match self.conjugate {
            Conjugate::All => self.items.iter().all(|item| item.matches(op)),
            Conjugate::Any => self.items.iter().any(|item| item.matches(op)),
            Conjugate::None => !self.items.iter().any(|item| item.matches(op)),
        }
    }

    /// The ops that match, in file order. A workload without any op gives an empty list.
    ///
    /// # Errors
    /// Nothing matches (with the tags and values there are), or a selected op cannot be used as it stands: a
    /// template variable that has neither value nor default, a field name that is no text, a form of a later
    /// dialect.
    pub fn select(&self, workload: &Workload) -> Result<Vec<OpTemplate>, Diagnostic> {
        let selected: Vec<OpTemplate> = workload.ops.iter().filter(|op| self.matches(op)).cloned().collect();
        if selected.is_empty() && !workload.ops.is_empty() {
            return Err(self.nothing_matches(&workload.ops));
        }
        for op in &selected {
            check(op, workload)?;
        }
        Ok(selected)
    }

    fn nothing_matches(&self, ops: &[OpTemplate]) -> Diagnostic {
        let mut values: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
        for op in ops {
            for (key, value) in &op.tags {
                values.entry(key).or_default().insert(value);
            }
        }
        let present: Vec<String> = values
            .iter()
            .map(|(key, values)| format!("{key}: {}", values.iter().copied().collect::<Vec<_>>().join(", ")))
            .collect();
        // A key that needs no tag in the file.
        values.entry("op").or_default().extend(ops.iter().map(OpTemplate::own_name));
        let culprit = self.items.iter().find(|item| !ops.iter().any(|op| item.matches(op)));
        let at = culprit.and_then(|item| match &item.value {
            Some((value, _)) if values.contains_key(item.key.as_str()) => value.location(),
            _ => item.key.location(),
        });
        let at = at.or_else(|| self.text.location());
        let mut help =
            culprit.and_then(|item| item.suggestion(&values)).map_or(String::new(), |s| format!("{s} "));
        help.push_str(&format!("there are {}", present.join("; ")));
        let filter = self.text.as_str();
        let all = match ops.len() {
            1 => "the only one is".to_owned(),
            count => format!("all {count} are"),
        };
        Diagnostic::error(format!("no op has the tags `{filter}`: {all} filtered out")).at(at).help(help)
    }
}

impl Item {
    fn parse(part: &Text) -> Result<Item, Diagnostic> {
        let written = part.as_str();
        let Some(at) = written.find([':', '=']) else {
            return Ok(Item { key: part.trim(), value: None });
        };
        let key = part.slice(0..at).trim();
        if key.is_empty() {
            return Err(Diagnostic::error(format!("a tag name is missing in `{written}`"))
                .at(part.location())
                .help("write `block:main.*`"));
        }
        let value = unquote(&part.slice(at + 1..written.len()).trim()).trim();
        // `\A…\z` and the group: the whole value, whatever alternatives the regex has.
        let regex = Regex::new(&format!(r"\A(?:{})\z", value.as_str())).map_err(|error| {
            let why = match &error {
                regex::Error::Syntax(text) => {
                    text.lines().last().unwrap_or_default().trim_start_matches("error: ")
                }
                _ => "it is too large",
            };
            let error = Diagnostic::error(format!("`{value}` is not a regular expression: {why}"))
                .at(value.location());
            // What a shell would call a pattern.
            match value.as_str().starts_with('*') {
                true => error.help("write `.*` for any text"),
                false => error,
            }
        })?;
        Ok(Item { key, value: Some((value, regex)) })
    }

    fn matches(&self, op: &OpTemplate) -> bool {
        let own = op.own_name();
        let fits = |value: &str| self.value.as_ref().is_none_or(|(_, regex)| regex.is_match(value));
        match (self.key.as_str(), op.tags.get(self.key.as_str())) {
            ("name", Some(value)) => fits(value) || fits(own),
            (_, Some(value)) => fits(value),
            ("op", None) => fits(own),
            (_, None) => false,
        }
    }

    /// A filter item that was perhaps meant.
    fn suggestion(&self, values: &IndexMap<&str, IndexSet<&str>>) -> Option<String> {
        let key = self.key.as_str();
        let wanted = self.value.as_ref().map(|(value, _)| value.as_str());
        let known_key = if values.contains_key(key) {
            Some(key)
        } else {
            // Older workloads called a block a phase, and users write the plural.
            let plain = key.strip_suffix('s').filter(|key| values.contains_key(key));
            let renamed =
                (key == "phase" || key == "phases").then_some("block").filter(|key| values.contains_key(key));
            plain.or(renamed).or_else(|| nearest(key, values.keys().copied()).first().copied())
        }?;
        let Some(wanted) = wanted else {
            return Some(format!("did you mean `{known_key}`?"));
        };
        let present = &values[known_key];
        let whole = |pattern: &str, value: &str| {
            Regex::new(&format!(r"\A(?:{pattern})\z")).is_ok_and(|regex| regex.is_match(value))
        };
        let patterns = [
            wanted.to_owned(),
            wanted.replace('-', "_"),
            wanted.replace('_', "-"),
            format!("{wanted}.*"),
            format!("{}.*", wanted.trim_end_matches(".*").trim_end_matches(['-', '_'])),
        ];
        let fitting = patterns.into_iter().find(|pattern| present.iter().any(|value| whole(pattern, value)));
        let best = fitting.or_else(|| {
            let bare = wanted.trim_end_matches(".*");
            nearest(bare, present.iter().copied()).first().map(|value| (*value).to_owned())
        })?;
        Some(format!("did you mean `{known_key}:{best}`?"))
    }
}

/// Without one pair of quotes around the whole.
fn unquote(text: &Text) -> Text {
    let written = text.as_str();
    for quote in ['\'', '"'] {
        let inside = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if inside.is_some_and(|inside| !inside.contains(quote)) {
            return text.slice(1..written.len() - 1);
        }
    }
    text.clone()
}

/// The parts between commas that stand in no bracket or quotes; empty parts (trailing commas) are dropped.
fn split_items(body: &Text) -> Vec<Text> {
    let written = body.as_str();
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0i32;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in written.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (c, quote) {
            ('\\', _) => escaped = true,
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth -= 1,
            (',', None) if depth <= 0 => {
                parts.push(body.slice(start..at).trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(body.slice(start..written.len()).trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Refuses a selected op that cannot mean what it says.
///
/// # Errors
/// A template variable that has neither value nor default or is never closed, a field name that is no text, a
/// form of a later dialect.
pub fn check(op: &OpTemplate, workload: &Workload) -> Result<(), Diagnostic> {
    let mut found: Option<Diagnostic> = None;
    let mut look = |text: &Text| {
        if found.is_none() {
            found = problem(text, op, workload);
        }
    };
    for node in op.op.values().chain(op.params.values()) {
        node.each_text(&mut look);
    }
    for (name, recipe) in &op.bindings {
        if uses_binding(op, name) {
            look(recipe);
        }
    }
    for name in op.op.keys().chain(op.params.keys()).chain([&op.name]) {
        let mut text = Text::default();
        text.push_str(name, op.location.clone());
        look(&text);
    }
    for value in op.tags.values() {
        look(&Text::unplaced(value.as_str()));
    }
    match found.or_else(|| op.op.values().find_map(|node| odd_key(node, &workload.odd_keys))) {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Whether some text of the op has the bind point `{name}`.
fn uses_binding(op: &OpTemplate, name: &str) -> bool {
    let point = format!("{{{name}}}");
    let mut used = false;
    for node in op.op.values() {
        node.each_text(&mut |text| used |= text.as_str().contains(&point));
    }
    used
}

fn problem(text: &Text, op: &OpTemplate, workload: &Workload) -> Option<Diagnostic> {
    let written = text.as_str();
    let unset = workload
        .unset
        .iter()
        .filter(|unset| !(unset.may_be_bind_point() && op.bindings.contains_key(unset.name.as_str())));
    if let Some((range, unset)) = unset_in(text, unset) {
        let place = text.locate(range).or_else(|| unset.location.clone());
        let name = &unset.name;
        return Some(unset_variable(name, &format!("op `{}`", op.name)).at(place));
    }
    if let Some(open) = unclosed(text) {
        let opening = &written[open.clone()];
        let form = if opening.starts_with('$') { "${name:default}" } else { "TEMPLATE(name,default)" };
        return Some(
            Diagnostic::error(format!("this `{opening}` is never closed"))
                .at(text.locate(open))
                .help(format!("write `{form}`")),
        );
    }
    later_dialect(text)
}

/// The error for a variable with neither value nor default that `user` uses.
pub(super) fn unset_variable(name: &str, user: &str) -> Diagnostic {
    if name.trim().is_empty() {
        return Diagnostic::error("a template variable has no name")
            .help(format!("{user} uses it: write `TEMPLATE(name,default)`"));
    }
    Diagnostic::error(format!("template variable `{name}` has no value and no default"))
        .help(format!("{user} uses it: give `{name}=…`, or a default: `TEMPLATE({name},default)`"))
}

/// Forms of later versions of the reference that are not built: `{{= … }}`, `{{@name}}`.
pub(super) fn later_dialect(text: &Text) -> Option<Diagnostic> {
    let written = text.as_str();
    for form in ["{{=", "{{@"] {
        if let Some(at) = written.find(form) {
            return Some(
                Diagnostic::error(format!("expressions `{form} … }}}}` are not supported"))
                    .at(text.locate(at..at + form.len()))
                    .help("use TEMPLATE(name,default) for values and {{recipe}} for generated data"),
            );
        }
    }
    None
}

/// A key of an op field that is a list or a map.
fn odd_key(node: &Node, odd: &[Location]) -> Option<Diagnostic> {
    match &node.data {
        Data::List(items) => items.iter().find_map(|item| odd_key(item, odd)),
        Data::Map(entries) => entries.iter().find_map(|(key, value)| {
            let place = key.location().filter(|place| odd.contains(place));
            match place {
                Some(place) => Some(
                    Diagnostic::error(format!("`{key}` is not a text, and field names are texts"))
                        .at(Some(place))
                        .help(format!("if a bind point is meant, quote it: \"{{{key}}}\"")),
                ),
                None => odd_key(value, odd),
            }
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::span::Source;
    use proptest::prelude::*;
    use std::sync::Arc;

    const FILE: &str = "
tags: {suite: kv}
blocks:
  schema: {ops: {create: a}}
  rampup: {ops: {insert: b}}
  main-read: {ops: {read-1: c, write-1: d}, tags: {phase2: x}}
  main_write: {ops: [{name: some_name, op: e, tags: {kind: w.1}}]}
";

    fn workload(text: &str) -> Workload {
        let source = Arc::new(Source { name: "f.yaml".to_owned(), text: text.to_owned() });
        parse(source, &IndexMap::new()).expect("it loads")
    }

    fn select(filter: &str) -> Result<Vec<String>, String> {
        let filter =
            TagFilter::parse(&Text::of_source("command line", filter)).map_err(|error| error.one_line())?;
        let ops = filter.select(&workload(FILE)).map_err(|error| error.one_line())?;
        Ok(ops.into_iter().map(|op| op.name).collect())
    }

    #[test]
    fn filters_select_by_whole_values() {
        let read = &["main-read__read-1", "main-read__write-1"][..];
        let write = &["main_write__some_name"][..];
        let everything: Vec<&str> = [&["schema__create", "rampup__insert"][..], read, write].concat();
        for (filter, expected) in [
            ("", everything.clone()),
            ("block:schema", vec!["schema__create"]),
            ("block=schema", vec!["schema__create"]),
            ("block:\"schema.*\",", vec!["schema__create"]),
            ("'block:main-.*'", read.to_vec()),
            ("block:'main-.*'", read.to_vec()),
            ("block:main.*", [read, write].concat()),
            ("block:main.*, name:.*write.*", vec!["main-read__write-1", "main_write__some_name"]),
            ("any(block:schema,block:rampup)", vec!["schema__create", "rampup__insert"]),
            ("ANY(kind,phase2:x)", [read, write].concat()),
            ("none(block:main.*)", vec!["schema__create", "rampup__insert"]),
            ("all(suite:kv)", everything.clone()),
            ("suite", everything),
            ("kind", write.to_vec()),
            ("name:some_name", write.to_vec()),
            ("name:main_write__some_name", write.to_vec()),
            ("op:read-1", vec!["main-read__read-1"]),
            ("block:schema,block:rampup", vec!["rampup__insert"]),
            ("block:(schema|rampup)", vec!["schema__create", "rampup__insert"]),
            ("block:schema|rampup", vec!["schema__create", "rampup__insert"]),
            ("block:s[a-z]{3,5}", vec!["schema__create"]),
            ("kind:w.1", write.to_vec()),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(select(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn a_filter_that_selects_nothing_says_what_there_is() {
        for (filter, part) in [
            ("block:main", "did you mean `block:main.*`?"),
            ("block:main-write", "did you mean `block:main_write`?"),
            ("block:rampap", "command line:1:7: error: no op has the tags `block:rampap`"),
            ("block:rampap", "did you mean `block:rampup`?"),
            ("blocks:schema", "did you mean `block:schema`?"),
            ("phase:schema", "did you mean `block:schema`?"),
            ("blok:schema", "did you mean `block:schema`?"),
            ("block:a name:b", "there are suite: kv; block: schema, rampup, main-read, main_write"),
            ("block:zzz", "all 5 are filtered out"),
            ("ops:read-1", "did you mean `op:read-1`?"),
            ("op:reed-1", "command line:1:4: error: no op has the tags `op:reed-1`"),
            ("op:reed-1", "did you mean `op:read-1`?"),
        ] {
            let error = select(filter).expect_err(filter);
            assert!(error.contains(part), "{filter}: {error}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_at_its_place() {
        for (filter, part) in [
            ("some(block:a)", "command line:1:1: error: `some` is not one of all, any, none"),
            ("block:a(", "command line:1:7: error: `a(` is not a regular expression"),
            ("block:(?=x)", "not a regular expression"),
            ("block:*", "write `.*` for any text"),
            ("block:a,:b", "command line:1:9: error: a tag name is missing"),
        ] {
            let error = select(filter).expect_err(filter);
            assert!(error.contains(part), "{filter}: {error}");
        }
        let twice = TagFilter::parse(&Text::unplaced("block:a,block:b")).expect("it is a filter");
        assert_eq!(twice.notices().len(), 1);
    }

    #[test]
    fn only_a_selected_op_must_have_its_template_variables() {
        let text = "
bindings: {used: 'Mod(TEMPLATE(size))', other: 'Mod(TEMPLATE(more))'}
blocks:
  good: {ops: {a: '{x}'}}
  coll: {ops: {b: 'in TEMPLATE(coll)'}}
  bound: {ops: {c: 'v {used}'}}
  open: {ops: {d: 'x TEMPLATE(a,'}}
  expr: {ops: {e: 'x {{= 1 }}', f: y}}
  later: {ops: {g: 'x ${n:5} y ${used}'}}
  odd: {ops: {h: {k: [{ {a: b}: 1 }]}}}
  dollar: {ops: {i: 'x ${size2}'}}
  braces: {ops: {j: '${other} ${used}'}}
  tagged: {ops: {l: x}, tags: {t: TEMPLATE(t)}}
  brace:
    ops:
      k: 'x ${n:5'
";
        let workload = workload(text);
        let select = |filter: &str| {
            let filter = TagFilter::parse(&Text::unplaced(filter)).expect("a filter");
            filter.select(&workload).map(|ops| ops.len()).map_err(|error| error.one_line())
        };
        assert_eq!(select("block:good"), Ok(1));
        // `${used}` without a value is a `$` before the bind point of that name.
        assert!(select("block:braces|later").expect_err("its binding is not set").contains("`size`"));
        for (filter, part) in [
            ("block:coll", "f.yaml:5:23: error: template variable `coll` has no value and no default"),
            ("block:bound", "f.yaml:2:23: error: template variable `size` has no value and no default"),
            ("block:open", "f.yaml:7:22: error: this `TEMPLATE(` is never closed"),
            ("block:expr", "f.yaml:8:22: error: expressions `{{= … }}` are not supported"),
            ("block:dollar", "f.yaml:11:24: error: template variable `size2` has no value and no default"),
            ("block:brace", "f.yaml:16:13: error: this `${` is never closed"),
            ("block:tagged", "f.yaml:13:35: error: template variable `t` has no value and no default"),
            ("block:odd", "f.yaml:10:25: error: `{a: b}` is not a text"),
        ] {
            let error = select(filter).expect_err(filter);
            assert!(error.contains(part), "{filter}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_filter_is_read_or_refused(filter in r#"[ab:=,()\[\]{}.*'"\\| ]{0,16}"#) {
            if let Ok(filter) = TagFilter::parse(&Text::of_source("f", filter.as_str())) {
                let _ = filter.select(&workload(FILE));
            }
        }
    }
}
