//! Template variables: `TEMPLATE(name,default)`, `<<name:default>>` and `${name:default}` in a text → the text
//! with their values.
//!
//! The whole file is plain text here, comments and scenario steps included. A value is, in this order: the
//! parameter of that name, the default written in this occurrence, the first default seen so far for the name.
//! With none of them `UNSET:name` is put in its place and remembered: that is an error only where a selected
//! op or a step uses it. A `${name}` without a value stays as it is, since it may be a `$` before a bind point.

use super::TemplateVariable;
use crate::span::{Diagnostic, Location, Source, Text};
use indexmap::{IndexMap, IndexSet};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

const OPEN: &str = "TEMPLATE(";
const ANGLE_OPEN: &str = "<<";
const ANGLE_CLOSE: &str = ">>";
const DOLLAR_OPEN: &str = "${";

/// A workload that grows beyond this by its own variables is taken as a mistake.
const MAX_EXPANDED_BYTES: usize = 16 << 20;

/// What one variable counts towards that, so that a great many empty ones end too.
const VARIABLE_BYTES: usize = 256;

/// How many bytes may be looked at for the ends of variables that turn out to be none.
const MAX_SEARCHED_BYTES: usize = 16 << 20;

/// Variables within variables deeper than this are taken as a mistake.
const MAX_DEPTH: usize = 100;

/// What stands where a variable has neither value nor default; the name follows.
const UNSET: &str = "UNSET:";

/// A variable that has neither value nor default.
#[derive(Debug, Clone, PartialEq)]
pub struct Unset {
    pub name: String,
    /// Where it stands.
    pub location: Option<Location>,
    form: Form,
}

impl Unset {
    /// What stands in its place.
    fn marker(&self) -> String {
        match self.form {
            Form::Dollar => format!("{DOLLAR_OPEN}{}}}", self.name),
            Form::Round | Form::Angled => format!("{UNSET}{}", self.name),
        }
    }

    /// It may be a `$` before a bind point of this name.
    pub(super) fn may_be_bind_point(&self) -> bool {
        self.form == Form::Dollar
    }
}

/// A variable of `unset` that `text` has in it, and where; the longest name if there are several, for
/// `UNSET:coll` is in `UNSET:collection` too.
pub(super) fn unset_in<'u>(
    text: &Text,
    unset: impl IntoIterator<Item = &'u Unset>,
) -> Option<(Range<usize>, &'u Unset)> {
    let found = unset.into_iter().filter_map(|unset| {
        let marker = unset.marker();
        text.as_str().find(&marker).map(|at| (at..at + marker.len(), unset))
    });
    found.max_by_key(|(range, _)| range.len())
}

/// Where a variable begins in an expanded `text` that is never closed, so that it is none.
pub(super) fn unclosed(text: &Text) -> Option<Range<usize>> {
    let written = text.as_str();
    if let Some(at) = written.find(OPEN) {
        return Some(at..at + OPEN.len());
    }
    // Only with a default: `${` alone may be anything.
    written.match_indices(DOLLAR_OPEN).map(|(at, open)| at..at + open.len()).find(|open| {
        let name = &written[open.end..];
        let length = name.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(name.len());
        length > 0 && name[length..].starts_with(':')
    })
}

/// What becomes of blanks around a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blanks {
    /// They are part of the value, as in the reference.
    Kept,
    /// They are left out: in a scenario step they would end the parameter.
    Trimmed,
}

/// How a variable is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Round,
    Angled,
    Dollar,
}

/// A text after expansion.
#[derive(Debug, Clone, Default)]
pub(super) struct Expanded {
    pub text: Text,
    /// Sorted by name.
    pub variables: Vec<TemplateVariable>,
    pub unset: Vec<Unset>,
    /// A default has blanks around it.
    pub padded: bool,
    /// Variables that are written as `${name}` only: each may be a `$` before a bind point instead.
    pub dollars: IndexSet<String>,
}

/// Expands every variable of `text`.
///
/// # Errors
/// A value that refers to itself; an expansion without end.
pub(super) fn expand(
    text: &Text,
    params: &IndexMap<String, String>,
    blanks: Blanks,
) -> Result<Expanded, Diagnostic> {
    let mut expander = Expander {
        params,
        blanks,
        padded: false,
        dollars: IndexSet::new(),
        sources: HashMap::new(),
        defaults: HashMap::new(),
        variables: IndexMap::new(),
        unset: Vec::new(),
        open: Vec::new(),
        produced: 0,
        searched: 0,
    };
    let mut out = Text::default();
    expander.expand(text, &mut out, 0)?;
    let mut variables: Vec<TemplateVariable> = expander.variables.into_values().collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Expanded {
        text: out,
        variables,
        unset: expander.unset,
        padded: expander.padded,
        dollars: expander.dollars,
    })
}

struct Expander<'a> {
    params: &'a IndexMap<String, String>,
    blanks: Blanks,
    padded: bool,
    dollars: IndexSet<String>,
    /// Parameter values as texts with an origin, made when first used.
    sources: HashMap<&'a str, Text>,
    /// The first default seen for a name, expanded.
    defaults: HashMap<String, Text>,
    variables: IndexMap<String, TemplateVariable>,
    unset: Vec<Unset>,
    /// Names whose parameter value is being expanded: a name in here again refers to itself.
    open: Vec<String>,
    produced: usize,
    searched: usize,
}

impl<'a> Expander<'a> {
    fn expand(&mut self, text: &Text, out: &mut Text, depth: usize) -> Result<(), Diagnostic> {
        if depth > MAX_DEPTH {
            return Err(Diagnostic::error(format!("template variables are nested deeper than {MAX_DEPTH}"))
                .at(text.location()));
        }
        let written = text.as_str();
        let mut done = 0;
        let mut at = 0;
        while let Some(found) = next_variable(written, at, &mut self.searched).map_err(|open| {
            Diagnostic::error("a great many template variables are never closed")
                .at(text.locate(open))
                .help("write `TEMPLATE(name,default)`, `<<name:default>>` or `${name:default}`")
        })? {
            out.push_slice(text, done..found.whole.start);
            self.variable(text, &found, out, depth)?;
            done = found.whole.end;
            at = done;
        }
        out.push_slice(text, done..written.len());
        self.produced += written.len();
        Ok(())
    }

    fn variable(
        &mut self,
        text: &Text,
        found: &Found,
        out: &mut Text,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        self.produced += VARIABLE_BYTES;
        if self.produced > MAX_EXPANDED_BYTES {
            return Err(Diagnostic::error("template variables expand to a text without end")
                .at(text.locate(found.whole.clone()))
                .help("look for values that refer to each other"));
        }
        let mut name = Text::default();
        self.expand(&text.slice(found.name.clone()), &mut name, depth + 1)?;
        let name = name.as_str().trim();
        // The default is expanded even where a parameter overrides it: the variables in it are variables of
        // the file, and their defaults count.
        let default = match &found.default {
            Some(range) => {
                let mut default = Text::default();
                self.expand(&text.slice(range.clone()), &mut default, depth + 1)?;
                let trimmed = default.trim();
                self.padded |= trimmed.len() < default.len();
                Some(if self.blanks == Blanks::Trimmed { trimmed } else { default })
            }
            None => None,
        };
        let bare_dollar = found.form == Form::Dollar && default.is_none();
        if bare_dollar && !self.variables.contains_key(name) {
            self.dollars.insert(name.to_owned());
        } else if !bare_dollar {
            self.dollars.shift_remove(name);
        }
        let variable = self.variables.entry(name.to_owned()).or_insert_with(|| TemplateVariable {
            name: name.to_owned(),
            default: None,
            angled: found.form == Form::Angled,
        });
        if variable.default.is_none() {
            variable.default = default.as_ref().map(|default| default.as_str().to_owned());
        }
        if let Some(default) = &default
            && !self.defaults.contains_key(name)
        {
            self.defaults.insert(name.to_owned(), default.clone());
        }
        let params = self.params;
        if let Some((key, value)) = params.get_key_value(name) {
            if self.open.iter().any(|open| open == name) {
                let chain = self.open.join("` → `");
                return Err(Diagnostic::error(format!("template variable `{name}` refers to itself"))
                    .at(text.locate(found.whole.clone()))
                    .help(format!(
                        "its value is expanded too (`{chain}` → `{name}`): give one that does not name it"
                    )));
            }
            let value = self.sources.entry(key).or_insert_with(|| parameter_text(key, value)).clone();
            self.open.push(name.to_owned());
            let result = self.expand(&value, out, depth + 1);
            self.open.pop();
            return result;
        }
        if let Some(default) = default.as_ref().or_else(|| self.defaults.get(name)) {
            self.produced += default.len();
            out.push(default);
        } else {
            let location = text.locate(found.whole.clone());
            let unset = Unset { name: name.to_owned(), location: location.clone(), form: found.form };
            out.push_str(&unset.marker(), location);
            self.unset.push(unset);
        }
        Ok(())
    }
}

/// What the sources of parameters' values are called; the name follows.
const PARAMETER: &str = "parameter ";

/// Whether what stands at `location` was put there by a parameter, rather than written in the file.
pub(super) fn is_given(location: &Location) -> bool {
    location.source.name.starts_with(PARAMETER)
}

/// Whether the parameter `name` put there what stands at `location`.
pub(super) fn is_given_by(location: &Location, name: &str) -> bool {
    location.source.name.strip_prefix(PARAMETER) == Some(name)
}

/// Whether something in `text` was put there by the parameter `name`.
pub(super) fn comes_from(text: &Text, name: &str) -> bool {
    let mut characters = text.as_str().char_indices();
    characters
        .any(|(at, c)| text.locate(at..at + c.len_utf8()).is_some_and(|place| is_given_by(&place, name)))
}

/// The value of a parameter as a text whose place is that parameter.
fn parameter_text(name: &str, value: &str) -> Text {
    let source = Arc::new(Source { name: format!("{PARAMETER}{name}"), text: format!("{name}={value}") });
    let whole = Text::whole(&source);
    whole.slice(name.len() + 1..whole.len())
}

/// One occurrence of a variable, as byte ranges of the text it stands in.
struct Found {
    whole: Range<usize>,
    name: Range<usize>,
    default: Option<Range<usize>>,
    form: Form,
}

/// The first variable at or after `from`.
///
/// # Errors
/// Where a variable begins that is never closed, when `searched` is at its limit.
fn next_variable(text: &str, from: usize, searched: &mut usize) -> Result<Option<Found>, Range<usize>> {
    let mut at = from;
    while let Some(offset) = text[at..].find(['T', '<', '$']) {
        at += offset;
        let rest = &text[at..];
        let (found, open) = if rest.starts_with(OPEN) {
            (round_variable(text, at), OPEN)
        } else if rest.starts_with(ANGLE_OPEN) {
            (angle_variable(text, at), ANGLE_OPEN)
        } else if rest.starts_with(DOLLAR_OPEN) {
            (dollar_variable(text, at), DOLLAR_OPEN)
        } else {
            at += 1;
            continue;
        };
        if found.is_some() {
            return Ok(found);
        }
        // Not a variable after all: it stays as it is.
        let end = if open == OPEN { rest.len() } else { rest.find('\n').unwrap_or(rest.len()) };
        *searched += end;
        if *searched > MAX_SEARCHED_BYTES {
            return Err(at..at + open.len());
        }
        at += 1;
    }
    Ok(None)
}

fn round_variable(text: &str, start: usize) -> Option<Found> {
    let body = start + OPEN.len();
    let close = round_close(text, body)?;
    let (name, default) = split(text, body..close);
    Some(Found { whole: start..close + 1, name, default, form: Form::Round })
}

/// Where the `)` of a `TEMPLATE(` stands whose body starts at `body`.
///
/// Parentheses are matched, first within the line, then over lines. Where they do not match up, the first `)`
/// of the line that closes no nested `TEMPLATE(` ends the variable, as in the reference.
fn round_close(text: &str, body: usize) -> Option<usize> {
    let line_end = text[body..].find('\n').map_or(text.len(), |at| body + at);
    let matched = |end: usize| {
        let mut depth = 0usize;
        for (at, c) in text[body..end].char_indices() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => return Some(body + at),
                ')' => depth -= 1,
                _ => {}
            }
        }
        None
    };
    let line_start = text[..body].rfind('\n').map_or(0, |at| at + 1);
    let in_comment = text[line_start..body].trim_start().starts_with('#');
    let counting_templates_only = || {
        let mut depth = 0usize;
        let mut at = body;
        while at < line_end {
            if text[at..line_end].starts_with(OPEN) {
                depth += 1;
                at += OPEN.len();
                continue;
            }
            match text.as_bytes()[at] {
                b')' if depth == 0 => return Some(at),
                b')' => depth -= 1,
                _ => {}
            }
            at += 1;
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
        None
    };
    matched(line_end)
        .or_else(|| if in_comment { None } else { matched(text.len()) })
        .or_else(counting_templates_only)
}

fn angle_variable(text: &str, start: usize) -> Option<Found> {
    let body = start + ANGLE_OPEN.len();
    let close = angle_close(text, body)?;
    let (name, default) = split(text, body..close);
    // `<<: *base`, `1 << 2` and `<<EOF` are no variables.
    let whole = start..close + ANGLE_CLOSE.len();
    is_name(&text[name.clone()]).then_some(Found { whole, name, default, form: Form::Angled })
}

/// Whether `written` can name a variable: a name, or a text with a variable in it.
fn is_name(written: &str) -> bool {
    !written.trim().is_empty()
        && (written.contains(OPEN)
            || written.contains(ANGLE_OPEN)
            || written.contains(DOLLAR_OPEN)
            || written.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c)))
}

fn dollar_variable(text: &str, start: usize) -> Option<Found> {
    let body = start + DOLLAR_OPEN.len();
    let close = dollar_close(text, body)?;
    let (name, default) = split(text, body..close);
    // `${a,b}` and `${}` are no variables; the default follows a colon.
    let by_colon = default.as_ref().is_none_or(|default| text[..default.start].ends_with(':'));
    let whole = start..close + 1;
    (by_colon && is_name(&text[name.clone()])).then_some(Found { whole, name, default, form: Form::Dollar })
}

/// Where the `}` of a `${` stands whose body starts at `body`; braces within are matched. The body does not
/// leave its line.
fn dollar_close(text: &str, body: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate().skip(body) {
        match byte {
            b'\n' => return None,
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the `>>` of a `<<` stands whose body starts at `body`; nested `<<…>>` are passed over. The body does not
/// leave its line.
fn angle_close(text: &str, body: usize) -> Option<usize> {
    let line_end = text[body..].find('\n').map_or(text.len(), |at| body + at);
    let line = &text[body..line_end];
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(offset) = line[at..].find(['<', '>']) {
        at += offset;
        if line[at..].starts_with(ANGLE_OPEN) {
            depth += 1;
            at += ANGLE_OPEN.len();
        } else if line[at..].starts_with(ANGLE_CLOSE) {
            if depth == 0 {
                return Some(body + at);
            }
            depth -= 1;
            at += ANGLE_CLOSE.len();
        } else {
            at += 1;
        }
    }
    None
}

/// Splits a body at its first `:` or `,` outside nested variables: name and default.
fn split(text: &str, body: Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
    let mut at = body.start;
    while at < body.end {
        let rest = &text[at..body.end];
        if rest.starts_with(OPEN)
            && let Some(close) = round_close(&text[..body.end], at + OPEN.len())
        {
            at = close + 1;
            continue;
        }
        if rest.starts_with(ANGLE_OPEN)
            && let Some(close) = angle_close(&text[..body.end], at + ANGLE_OPEN.len())
        {
            at = close + ANGLE_CLOSE.len();
            continue;
        }
        if rest.starts_with(DOLLAR_OPEN)
            && let Some(close) = dollar_close(&text[..body.end], at + DOLLAR_OPEN.len())
        {
            at = close + 1;
            continue;
        }
        match rest.chars().next() {
            Some(':' | ',') => return (body.start..at, Some(at + 1..body.end)),
            Some(c) => at += c.len_utf8(),
            None => break,
        }
    }
    (body, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn params(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn expanded(text: &str, pairs: &[(&str, &str)]) -> String {
        expand(&Text::of_source("f", text), &params(pairs), Blanks::Kept)
            .expect(text)
            .text
            .as_str()
            .to_owned()
    }

    #[test]
    fn a_variable_has_the_parameter_its_default_or_the_first_default_seen() {
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let rows: &[Row<'_>] = &[
            ("TEMPLATE(a,5) TEMPLATE(a)", &[], "5 5"),
            ("TEMPLATE(a) TEMPLATE(a,5)", &[], "UNSET:a 5"),
            ("TEMPLATE(a,5) TEMPLATE(a,6)", &[], "5 6"),
            ("TEMPLATE(a,5) TEMPLATE(a,6)", &[("a", "7")], "7 7"),
            ("TEMPLATE(a:5) <<a:6>> <<a,7>> <<a>>", &[], "5 6 7 5"),
            ("[TEMPLATE(a,)]", &[], "[]"),
            ("TEMPLATE(a,TEMPLATE(b,9))", &[], "9"),
            ("TEMPLATE(a,TEMPLATE(b,9))", &[("b", "3")], "3"),
            ("TEMPLATE(a,TEMPLATE(b,9))", &[("a", "1")], "1"),
            ("TEMPLATE(a,<<b:2>>)", &[], "2"),
            ("<<a:TEMPLATE(b,2)>>", &[], "2"),
            ("<<a:<<b:2>>>>", &[], "2"),
            ("TEMPLATE(a,1)", &[("a", "TEMPLATE(b,2)")], "2"),
            ("TEMPLATE(u,http://x:80)", &[], "http://x:80"),
            ("TEMPLATE(k,Uniform(0,1000)); X", &[], "Uniform(0,1000); X"),
            ("TEMPLATE(k,Uniform(0,1000)); X", &[("k", "Zipf(5,2)")], "Zipf(5,2); X"),
            ("<<k:Uniform(0,10)->long>>; X", &[], "Uniform(0,10)->long; X"),
            ("<<k:Uniform(0,10)->long>>; X", &[("k", "Z(1)")], "Z(1); X"),
            ("TEMPLATE(x,-5)", &[], "-5"),
            ("<<x:-5>>", &[], "-5"),
            ("TEMPLATE()", &[], "UNSET:"),
            ("TEMPLATE(a,5", &[], "TEMPLATE(a,5"),
            ("TEMPLATE(x, 5)|", &[], " 5|"),
            ("TEMPLATE( x ,5)", &[("x", "7")], "7"),
            ("TEMPLATE(TEMPLATE(p,main)-cycles,10)", &[("main-cycles", "3")], "3"),
            ("TEMPLATE(x,:()|", &[], ":(|"),
            ("TEMPLATE(x,Uniform(0,\n  5))|", &[], "Uniform(0,\n  5)|"),
            ("# TEMPLATE(a\nb: )", &[], "# TEMPLATE(a\nb: )"),
            ("<<: *base", &[], "<<: *base"),
            ("1 << 2; cat <<EOF\n>>", &[], "1 << 2; cat <<EOF\n>>"),
            ("\\TEMPLATE(a,5)", &[], "\\5"),
            ("é<<a:漢>>é", &[], "é漢é"),
            ("${a:5} ${a} TEMPLATE(a) ${a:6}", &[], "5 5 5 6"),
            ("${a:5} ${a}", &[("a", "7")], "7 7"),
            ("${a:${b:2}} ${a:TEMPLATE(b,3)} TEMPLATE(a,${b})", &[], "2 3 2"),
            ("${k:{{Mod(5); Div(2)}}}; X", &[], "{{Mod(5); Div(2)}}; X"),
            ("${u:http://x:80} ${ v :1}", &[], "http://x:80 1"),
            ("${a:}|${x: 5}", &[], "| 5"),
            ("$${a:1} ${p${q:1}:2}", &[("p1", "3")], "$1 3"),
            // A `$` before a bind point, and what is no variable.
            (
                "{price: \"${amount}\", f: \"$name\", g: ${a",
                &[],
                "{price: \"${amount}\", f: \"$name\", g: ${a",
            ),
            ("${} ${a,b} ${a b:\n}", &[], "${} ${a,b} ${a b:\n}"),
        ];
        for (text, pairs, expected) in rows {
            assert_eq!(expanded(text, pairs), *expected, "{text} with {pairs:?}");
        }
    }

    #[test]
    fn variables_are_listed_by_name_with_their_first_default() {
        let text = Text::of_source(
            "f",
            "TEMPLATE(o,TEMPLATE(i,4)) <<n>> # TEMPLATE(z)\nTEMPLATE(o,5) TEMPLATE(z,9)",
        );
        let expanded = expand(&text, &IndexMap::new(), Blanks::Kept).expect("it expands");
        let listed: Vec<(&str, Option<&str>)> =
            expanded.variables.iter().map(|v| (v.name.as_str(), v.default.as_deref())).collect();
        assert_eq!(listed, [("i", Some("4")), ("n", None), ("o", Some("4")), ("z", Some("9"))]);
        let unset: Vec<&str> = expanded.unset.iter().map(|u| u.name.as_str()).collect();
        assert_eq!(unset, ["n", "z"]);
    }

    #[test]
    fn blanks_around_a_default_are_kept_or_trimmed_and_those_of_a_value_are_the_users() {
        let text =
            Text::of_source("f", "[TEMPLATE(a, 5 )] [${b: x y }] [<<c: TEMPLATE(d, 1) >>] [TEMPLATE(v, 2)]");
        let with = |blanks| expand(&text, &params(&[("v", " 3 ")]), blanks).expect("it expands");
        assert_eq!(with(Blanks::Kept).text.as_str(), "[ 5 ] [ x y ] [  1 ] [ 3 ]");
        assert_eq!(with(Blanks::Trimmed).text.as_str(), "[5] [x y] [1] [ 3 ]");
        assert!(with(Blanks::Kept).padded);
        assert!(
            !expand(&Text::of_source("f", "TEMPLATE(a,5)"), &params(&[]), Blanks::Kept).expect("so").padded
        );
    }

    #[test]
    fn a_value_that_refers_to_itself_is_an_error_and_not_an_endless_loop() {
        let error =
            expand(&Text::of_source("f", "TEMPLATE(a)"), &params(&[("a", "TEMPLATE(a,5)x")]), Blanks::Kept);
        let error = error.expect_err("a names itself").one_line();
        assert!(error.contains("`a` refers to itself"), "{error}");
        let error = expand(
            &Text::of_source("f", "TEMPLATE(a)"),
            &params(&[("a", "<<b>>"), ("b", "<<a>>")]),
            Blanks::Kept,
        );
        assert!(error.expect_err("a and b name each other").message.contains("refers to itself"));
        let doubling: Vec<(String, String)> =
            (0..60).map(|n| (format!("v{n}"), format!("<<v{}>><<v{}>>", n + 1, n + 1))).collect();
        let mut doubling: IndexMap<String, String> = doubling.into_iter().collect();
        doubling.insert("v60".to_owned(), "0123456789".to_owned());
        let error = expand(&Text::of_source("f", "<<v0>>"), &doubling, Blanks::Kept).expect_err("2^60 texts");
        assert!(error.message.contains("without end"), "{error:?}");
    }

    #[test]
    fn what_is_opened_a_great_many_times_and_never_closed_is_an_error_and_no_endless_search() {
        for opening in ["TEMPLATE(", "<<a", "${a: "] {
            let text = Text::of_source("f", opening.repeat(20_000));
            let error = expand(&text, &IndexMap::new(), Blanks::Kept).expect_err(opening);
            assert!(error.message.contains("never closed") && error.location.is_some(), "{error:?}");
            let few = Text::of_source("f", opening.repeat(20));
            assert!(expand(&few, &IndexMap::new(), Blanks::Kept).is_ok(), "{opening}");
        }
    }

    #[test]
    fn every_part_of_the_result_knows_its_place() {
        let text = Text::of_source("f", "a: TEMPLATE(x,Bad(1))\nb: <<y>>\n");
        let expanded = expand(&text, &params(&[("y", "Worse(2)")]), Blanks::Kept).expect("it expands").text;
        assert_eq!(expanded.as_str(), "a: Bad(1)\nb: Worse(2)\n");
        let place = |needle: &str| {
            let at = expanded.as_str().find(needle).expect(needle);
            expanded.locate(at..at + needle.len()).expect(needle).to_string()
        };
        assert_eq!(place("Bad"), "f:1:15");
        assert_eq!(place("b:"), "f:2:1");
        assert_eq!(place("(2)"), "parameter y:1:8");
    }

    proptest! {
        #[test]
        fn any_text_expands_or_is_refused(text in r"(TEMPLATE\(|<<|>>|\$\{|\(|\)|[{}ab:,é \n#]){0,24}", a in "(<<b>>|x|TEMPLATE\\(b\\))?") {
            let _ = expand(&Text::of_source("f", text.as_str()), &params(&[("a", a.as_str())]), Blanks::Kept);
        }

        #[test]
        fn no_closed_variable_is_left(names in proptest::collection::vec("[a-c]{1,2}", 1..6)) {
            let text: String = names.iter().map(|n| format!("TEMPLATE({n},<<{n}:${{{n}:1}}>>)")).collect();
            prop_assert_eq!(expanded(&text, &[]), "1".repeat(names.len()));
        }
    }
}
