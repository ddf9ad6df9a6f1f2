//! The text of a command op → [`Element`] tree, by the grammar `grammar/command.pest`.
//!
//! Used twice: once when an op is compiled, on the text with its bind points marked, and in the slow lane each
//! cycle, on the rendered text.

use super::element::{self, binary, binary_form, constant, hex_bytes, literal, regex, two_texts, typed};
use super::element::{Conversion, Element, Meaning, Origin, Part};
use bson::RawBson;
use bson::spec::BinarySubtype;
use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};
use pest::iterators::Pair;
use std::ops::Range;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/command.pest"]
struct Grammar;

/// Stands for a bind point in a text that is parsed at compile time. Not a character of any language; a text
/// that holds one anyway is left to the slow lane.
pub(super) const MARK: char = '\u{FDD0}';

/// MongoDB takes no document nested deeper than this; it also bounds our recursion.
const MAX_DEPTH: usize = 200;

/// What is wrong with a text, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub message: String,
    pub help: Option<String>,
    /// Bytes of the parsed text.
    pub range: Range<usize>,
}

/// A parsed command.
pub(super) struct Parsed {
    pub pairs: Vec<(String, Element)>,
    /// Bind points stand where only the rendered text can tell what they mean: `pairs` is not to be used.
    pub undecided: bool,
    /// Where the command ends; the rest of the text is no part of it.
    pub end: usize,
}

/// Parses `text`. `slots` gives the slot of each [`MARK`] in it, in order; a rendered text has none, and a
/// `MARK` in it is an ordinary character.
pub(super) fn parse(text: &str, slots: Option<&[usize]>) -> Result<Parsed, Problem> {
    check_depth(text)?;
    let mut parsed = Grammar::parse(Rule::command, text).map_err(|error| explain(text, &error))?;
    let document = parsed.next().and_then(|command| command.into_inner().next());
    let Some(document) = document else {
        return Err(problem(0..text.len(), "a command is a document: it starts with `{`"));
    };
    let end = document.as_span().end();
    let marks = match slots {
        Some(slots) => text.match_indices(MARK).map(|(at, _)| at).zip(slots.iter().copied()).collect(),
        None => Vec::new(),
    };
    let mut reader = Reader { marks, undecided: false };
    let pairs = reader.pairs(document)?;
    let pairs = reader.last_of_each(pairs);
    Ok(Parsed { pairs, undecided: reader.undecided, end })
}

fn problem(range: Range<usize>, message: impl Into<String>) -> Problem {
    Problem { message: message.into(), help: None, range }
}

/// Brackets outside of strings and regular expressions, which the grammar reads the same way.
fn check_depth(text: &str) -> Result<(), Problem> {
    let mut depth = 0;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' | b'(' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(problem(at..at + 1, format!("nested deeper than {MAX_DEPTH} levels")));
                }
            }
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b'"' | b'\'' | b'/' => {
                while let Some((_, inner)) = bytes.next() {
                    if inner == b'\\' {
                        bytes.next();
                    } else if inner == byte {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Says in our words what the grammar found missing.
fn explain(text: &str, error: &Error<Rule>) -> Problem {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let wanted = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { .. } => &[],
    };
    let rest = &text[at..];
    let found = match rest.chars().next() {
        None => return problem(at..at, format!("the text ends where {} should follow", expected(wanted))),
        Some(first) => first,
    };
    // A word ends where a bind point begins, for its mark means nothing to a reader.
    let ends = |c: char| c.is_whitespace() || c == MARK || ",:{}[]()\"'".contains(c);
    let word = rest.find(ends).unwrap_or(rest.len());
    let length = word.max(found.len_utf8());
    let shown: String = rest[..length].chars().take(30).collect();
    let range = at..at + length;
    let value = wanted.contains(&Rule::number);
    let mut said = match found {
        '"' | '\'' if value => problem(at..at + 1, "this string has no closing quote"),
        '/' if value => problem(range, "this regular expression has no end"),
        MARK => problem(at..at + MARK.len_utf8(), "a bind point cannot stand here"),
        '+' | '.' | '-' | '0'..='9' if value => problem(range, format!("`{shown}` is not a number")),
        _ => problem(range, format!("expected {}, found `{shown}`", expected(wanted))),
    };
    if rest.starts_with("//") || rest.starts_with("/*") || found == '#' {
        said.help = Some("an op text holds no comments".to_owned());
    } else if wanted.contains(&Rule::colon) {
        said.help =
            Some("a key with other characters than letters, digits, `_` and `$` needs quotes".to_owned());
    } else if found == '+' && value {
        said.help = Some("write the number without `+`".to_owned());
    }
    said
}

fn expected(wanted: &[Rule]) -> &'static str {
    let wants = |rule| wanted.contains(&rule);
    if wants(Rule::colon) {
        "`:`"
    } else if wants(Rule::number) {
        match (wants(Rule::close_list), wants(Rule::close_call)) {
            (true, _) => "a value or `]`",
            (_, true) => "a value or `)`",
            _ => "a value",
        }
    } else if wants(Rule::pair) || wants(Rule::close) {
        "a key or `}`"
    } else if wants(Rule::document) || wants(Rule::open) {
        "`{` (a command is a document)"
    } else if wants(Rule::open_call) || wants(Rule::word) {
        "a type name and `(`"
    } else {
        "something else"
    }
}

/// Turns the grammar's pairs into elements.
struct Reader {
    /// Where each [`MARK`] stands, and its slot.
    marks: Vec<(usize, usize)>,
    undecided: bool,
}

impl Reader {
    fn pairs(&mut self, document: Pair<'_, Rule>) -> Result<Vec<(String, Element)>, Problem> {
        let mut pairs = Vec::new();
        for pair in document.into_inner().filter(|p| p.as_rule() == Rule::pair) {
            let mut inner = pair.into_inner();
            let (Some(key), Some(value)) = (inner.next(), inner.find(|p| p.as_rule() != Rule::colon)) else {
                continue;
            };
            let key = self.key(key)?;
            pairs.push((key, self.value(value)?));
        }
        Ok(pairs)
    }

    /// Of equal keys the last value counts, at the place of the first.
    fn last_of_each(&mut self, pairs: Vec<(String, Element)>) -> Vec<(String, Element)> {
        let mut unique = indexmap::IndexMap::with_capacity(pairs.len());
        for (key, value) in pairs {
            if let Some(dropped) = unique.insert(key, value) {
                // What a bind point of a value that does not count would yield can still break the text.
                self.undecided |= element::has_hole(&dropped);
            }
        }
        unique.into_iter().collect()
    }

    fn key(&mut self, key: Pair<'_, Rule>) -> Result<String, Problem> {
        let span = key.as_span();
        let name = if key.as_rule() == Rule::word {
            key.as_str().to_owned()
        } else {
            match self.string(key)? {
                (parts, _) if literal(&parts).is_some() => literal(&parts).unwrap_or_default().to_owned(),
                _ => {
                    self.undecided = true;
                    String::new()
                }
            }
        };
        match name.contains('\0') {
            true => Err(problem(span.start()..span.end(), "a key cannot hold a NUL character")),
            false => Ok(name),
        }
    }

    fn value(&mut self, value: Pair<'_, Rule>) -> Result<Element, Problem> {
        let span = value.as_span();
        let range = span.start()..span.end();
        let meaning = match value.as_rule() {
            Rule::document => {
                let pairs = self.pairs(value)?;
                element::meaning(pairs, Origin::Text).map_err(|message| problem(range, message))?
            }
            Rule::array => {
                let mut items = Vec::new();
                for item in value.into_inner() {
                    if !matches!(item.as_rule(), Rule::open_list | Rule::comma | Rule::close_list) {
                        items.push(self.value(item)?);
                    }
                }
                Meaning::Value(Element::Array(items))
            }
            Rule::string => {
                let (parts, quote) = self.string(value)?;
                Meaning::Value(Element::Text { parts, quote: Some(quote) })
            }
            Rule::regex => {
                let mut inner = value.into_inner();
                let pattern = inner.next().map_or("", |p| p.as_str());
                let options = inner.next().map_or("", |p| p.as_str());
                if self.mark(range.clone()).is_some() {
                    Meaning::Unknown
                } else {
                    regex(pattern, options).map(constant).map_err(|message| problem(range, message))?
                }
            }
            Rule::number | Rule::word => match element::scalar(value.as_str()) {
                Some(scalar) => constant(scalar),
                None => {
                    let help = Some("a text needs quotes".to_owned());
                    let message = format!("`{}` is not a value", value.as_str());
                    return Err(Problem { message, help, range });
                }
            },
            Rule::call => self.call(value)?,
            Rule::hole => match self.mark(range.clone()) {
                Some(slot) => Meaning::Value(Element::Bare(slot)),
                None => return Err(problem(range, "expected a value")),
            },
            _ => return Err(problem(range, "expected a value")),
        };
        Ok(match meaning {
            Meaning::Document(pairs) => Element::Document(self.last_of_each(pairs)),
            Meaning::Value(element) => element,
            Meaning::Unknown => {
                self.undecided = true;
                Element::Constant(RawBson::Null)
            }
        })
    }

    /// The slot of the first mark within `range`.
    fn mark(&self, range: Range<usize>) -> Option<usize> {
        let first = self.marks.partition_point(|(at, _)| *at < range.start);
        self.marks.get(first).filter(|(at, _)| *at < range.end).map(|(_, slot)| *slot)
    }

    /// The parts of a string, escapes undone, and its quote.
    fn string(&mut self, string: Pair<'_, Rule>) -> Result<(Vec<Part>, u8), Problem> {
        let quote = if string.as_str().starts_with('\'') { b'\'' } else { b'"' };
        let start = string.as_span().start() + 1;
        let body = string.into_inner().next().map_or("", |body| body.as_str());
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = body;
        while let Some(at) = rest.find(['\\', MARK]) {
            text.push_str(&rest[..at]);
            let place = start + body.len() - rest.len() + at;
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(MARK) {
                rest = after;
                match self.mark(place..place + 1) {
                    Some(slot) => {
                        if !text.is_empty() {
                            parts.push(Part::Literal(std::mem::take(&mut text)));
                        }
                        parts.push(Part::Hole(slot));
                    }
                    None => text.push(MARK),
                }
            } else {
                let (character, length) = escape(rest, place)?;
                text.push(character);
                rest = &rest[length..];
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Literal(text));
        }
        Ok((parts, quote))
    }

    /// `NAME(arguments)`, with or without `new`.
    fn call(&mut self, call: Pair<'_, Rule>) -> Result<Meaning, Problem> {
        let span = call.as_span();
        let range = span.start()..span.end();
        let mut name = "";
        let mut arguments = Vec::new();
        for part in call.into_inner() {
            match part.as_rule() {
                Rule::new_keyword | Rule::open_call | Rule::comma | Rule::close_call => {}
                Rule::word if name.is_empty() => name = part.as_str(),
                // Base64 may stand without quotes in BinData.
                Rule::word if name == "BinData" && element::scalar(part.as_str()).is_none() => {
                    let parts = vec![Part::Literal(part.as_str().to_owned())];
                    arguments.push(Element::Text { parts, quote: Some(b'"') });
                }
                _ => arguments.push(self.value(part)?),
            }
        }
        shell_form(name, &arguments).map_err(|message| problem(range, message))
    }
}

/// The shell forms of values.
const SHELL_FORMS: &[&str] = &[
    "ObjectId",
    "UUID",
    "ISODate",
    "Date",
    "NumberLong",
    "NumberInt",
    "NumberDecimal",
    "Timestamp",
    "BinData",
    "HexData",
    "RegExp",
    "DBPointer",
    "MinKey",
    "MaxKey",
];

fn shell_form(name: &str, arguments: &[Element]) -> Result<Meaning, String> {
    let takes = |what: &str| Err(format!("`{name}` takes {what}"));
    let made = match (name, arguments) {
        ("ObjectId", [id]) => typed(Conversion::ObjectId, id),
        ("UUID", [id]) => typed(Conversion::Uuid, id),
        ("NumberInt", [n]) => typed(Conversion::Int, n),
        ("NumberLong", [n]) => typed(Conversion::Long, n),
        ("NumberDecimal", [n]) => typed(Conversion::Decimal, n),
        ("ISODate" | "Date", []) => {
            return Err(format!(
                "`{name}()` would read the clock; give the date, or make it in a binding and write `{name}(\"{{binding}}\")`"
            ));
        }
        ("ISODate", [date]) => typed(Conversion::Date, date),
        ("Date", [date]) if element::is_text(date) => typed(Conversion::Date, date),
        ("Date", [millis]) => typed(Conversion::Millis, millis),
        ("Date", fields) => match integers(fields) {
            // Months count from 0 here, as in JavaScript.
            Some(mut fields) if (3..=7).contains(&fields.len()) => {
                fields[1] = fields[1].saturating_add(1);
                match element::civil_millis(&fields) {
                    Some(millis) => Ok(constant(element::date(millis))),
                    None => return Err("no calendar has this date (months count from 0)".to_owned()),
                }
            }
            None if fields.iter().any(element::has_hole) => Ok(Meaning::Unknown),
            _ => return takes("a text, milliseconds, or year, month from 0, day and so on"),
        },
        ("Timestamp", [t, i]) => match integers(&[t.clone(), i.clone()]).as_deref() {
            Some([t, i]) => match (u32::try_from(*t), u32::try_from(*i)) {
                (Ok(time), Ok(increment)) => {
                    Ok(constant(RawBson::Timestamp(bson::Timestamp { time, increment })))
                }
                _ => return takes("seconds and an increment"),
            },
            _ if element::has_hole(t) || element::has_hole(i) => Ok(Meaning::Unknown),
            _ => return takes("seconds and an increment"),
        },
        ("BinData", [subtype, bytes]) if !element::is_text(subtype) => binary_form(bytes, subtype),
        ("HexData", [Element::Constant(RawBson::Int32(subtype)), hex]) => {
            let subtype =
                u8::try_from(*subtype).map_err(|_| "a subtype is a number from 0 to 255".to_owned())?;
            element::constant_text(hex, |hex| {
                // An odd digit is the first byte's low half.
                let hex = if hex.len() % 2 == 1 { format!("0{hex}") } else { hex.to_owned() };
                match hex_bytes(&hex) {
                    Some(bytes) => Ok(binary(BinarySubtype::from(subtype), bytes)),
                    None => Err(format!("`{hex}` is not hexadecimal")),
                }
            })
        }
        ("RegExp", [pattern]) => element::constant_text(pattern, |pattern| regex(pattern, "")),
        ("RegExp", [pattern, options]) => two_texts(pattern, options, regex),
        ("DBPointer", [namespace, id]) => match typed(Conversion::ObjectId, id)? {
            Meaning::Value(id) => element::db_pointer(namespace, &id),
            other => Ok(other),
        },
        ("MinKey", []) => Ok(constant(RawBson::MinKey)),
        ("MaxKey", []) => Ok(constant(RawBson::MaxKey)),
        (name, arguments) if SHELL_FORMS.contains(&name) => {
            let holes = arguments.iter().any(element::has_hole);
            return Err(format!(
                "`{name}` does not take {} argument{} of this kind{}",
                arguments.len(),
                if arguments.len() == 1 { "" } else { "s" },
                if holes { "" } else { "; texts need quotes, numbers do not" },
            ));
        }
        _ => {
            let near = crate::span::nearest(name, SHELL_FORMS.iter().copied());
            return Err(match near.first() {
                Some(near) => format!("no value is made by `{name}(…)`; did you mean `{near}`?"),
                None => format!("no value is made by `{name}(…)`; the forms are {}", SHELL_FORMS.join(", ")),
            });
        }
    };
    made.map_err(|message| format!("in `{name}`: {message}"))
}

fn integers(values: &[Element]) -> Option<Vec<i64>> {
    values
        .iter()
        .map(|value| match value {
            Element::Constant(RawBson::Int32(n)) => Some(i64::from(*n)),
            Element::Constant(RawBson::Int64(n)) => Some(*n),
            _ => None,
        })
        .collect()
}

/// The character of the escape that `rest` starts with, and how many bytes it takes. `at` is its place.
fn escape(rest: &str, at: usize) -> Result<(char, usize), Problem> {
    let code = rest.chars().nth(1).unwrap_or('\\');
    let simple = match code {
        '"' | '\'' | '\\' | '/' => code,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(rest, at),
        _ => {
            let help = Some("a backslash itself is written `\\\\`".to_owned());
            let range = at..at + 1 + code.len_utf8();
            return Err(Problem { message: format!("`\\{code}` is not an escape"), help, range });
        }
    };
    Ok((simple, 2))
}

/// `\uXXXX`, or two of them for a character beyond 16 bits.
fn unicode_escape(rest: &str, at: usize) -> Result<(char, usize), Problem> {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let Some(first) = unit(rest) else {
        return Err(problem(at..at + 2, "`\\u` takes four hexadecimal digits"));
    };
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    let pair = rest.get(6..).and_then(unit).filter(|low| first < 0xDC00 && (0xDC00..0xE000).contains(low));
    match pair.and_then(|low| char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00))) {
        Some(character) => Ok((character, 12)),
        None => Err(problem(at..at + 6, "half of a surrogate pair")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{encode, extended_json};
    use proptest::prelude::*;

    fn canonical(text: &str) -> Result<String, Problem> {
        let parsed = parse(text, None)?;
        Ok(extended_json::canonical(&encode::document(&parsed.pairs)).expect("what we encode is BSON"))
    }

    /// The canonical form of `{v: VALUE}`, without the `{"v":` and `}` around it.
    fn value(text: &str) -> Result<String, Problem> {
        let whole = canonical(&format!("{{v: {text}}}"))?;
        Ok(whole[5..whole.len() - 1].to_owned())
    }

    #[test]
    fn documents_are_read_leniently() {
        let cases = [
            ("{}", "{}"),
            ("  {a: 1}  ", r#"{"a":{"$numberInt":"1"}}"#),
            ("{a: 'x', 'b': \"y\", \"c\": `z`}", ""),
            ("{a: 'x', 'b': \"y\"}", r#"{"a":"x","b":"y"}"#),
            ("{a: true b: false}", r#"{"a":true,"b":false}"#),
            ("{a: null,}", r#"{"a":null}"#),
            ("{a: [true, false,]}", r#"{"a":[true,false]}"#),
            ("{a: ['x' 'y']}", r#"{"a":["x","y"]}"#),
            ("{a: 'one\nline'}", r#"{"a":"one\nline"}"#),
            (r#"{a: "\"\'\\\/\b\f\n\r\t\u00e9"}"#, r#"{"a":"\"'\\/\u0008\u000c\n\r\té"}"#),
            (r#"{a: "\ud83d\ude00"}"#, r#"{"a":"😀"}"#),
            ("{a: 'x', b: 'y', a: 'z'}", r#"{"a":"z","b":"y"}"#),
            ("{o: {a: 'x', a: 'z'}}", r#"{"o":{"a":"z"}}"#),
            ("{a: 'x'}, null", r#"{"a":"x"}"#),
            ("{$eq: 'x', _b$2: 'y', é: 'z'}", r#"{"$eq":"x","_b$2":"y","é":"z"}"#),
            ("{a: {}, b: []}", r#"{"a":{},"b":[]}"#),
            ("{a: 'x'}}}}", r#"{"a":"x"}"#),
            ("{'a-b': 'x', '': 'y', 'a.b': 'z'}", r#"{"a-b":"x","":"y","a.b":"z"}"#),
        ];
        for (text, expected) in cases {
            if expected.is_empty() {
                assert!(canonical(text).is_err(), "{text}");
            } else {
                assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn values_have_the_types_that_the_reference_gives_them() {
        let cases = [
            ("1", r#"{"$numberInt":"1"}"#),
            ("-0", r#"{"$numberInt":"0"}"#),
            ("007", r#"{"$numberInt":"7"}"#),
            ("2147483647", r#"{"$numberInt":"2147483647"}"#),
            ("2147483648", r#"{"$numberLong":"2147483648"}"#),
            ("-2147483649", r#"{"$numberLong":"-2147483649"}"#),
            ("9223372036854775807", r#"{"$numberLong":"9223372036854775807"}"#),
            ("9223372036854775808", r#"{"$numberDouble":"9.223372036854776E18"}"#),
            ("1.0", r#"{"$numberDouble":"1.0"}"#),
            ("1e3", r#"{"$numberDouble":"1000.0"}"#),
            ("-1.5E-2", r#"{"$numberDouble":"-0.015"}"#),
            ("NaN", r#"{"$numberDouble":"NaN"}"#),
            ("Infinity", r#"{"$numberDouble":"Infinity"}"#),
            ("-Infinity", r#"{"$numberDouble":"-Infinity"}"#),
            ("undefined", r#"{"$undefined":true}"#),
            ("MinKey", r#"{"$minKey":1}"#),
            ("MaxKey()", r#"{"$maxKey":1}"#),
            ("ObjectId('507f1f77bcf86cd799439011')", r#"{"$oid":"507f1f77bcf86cd799439011"}"#),
            (
                "UUID('c8edabc3-f738-4ca3-b68d-ab92a91478a3')",
                r#"{"$binary":{"base64":"yO2rw/c4TKO2jauSqRR4ow==","subType":"04"}}"#,
            ),
            ("ISODate('2024-01-01T00:00:00Z')", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("ISODate('2024-01-01T01:00+01:00')", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("ISODate('2024-01-01T00:00:00.123456Z')", r#"{"$date":{"$numberLong":"1704067200123"}}"#),
            ("ISODate('2024-01-01')", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("new Date(1704067200000)", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("new Date(2024, 0, 1)", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("Date(7)", r#"{"$date":{"$numberLong":"7"}}"#),
            ("NumberLong(7)", r#"{"$numberLong":"7"}"#),
            ("NumberLong('7')", r#"{"$numberLong":"7"}"#),
            ("NumberInt('7')", r#"{"$numberInt":"7"}"#),
            ("NumberDecimal('1.20')", r#"{"$numberDecimal":"1.20"}"#),
            ("NumberDecimal(5)", r#"{"$numberDecimal":"5"}"#),
            ("Timestamp(5, 6)", r#"{"$timestamp":{"t":5,"i":6}}"#),
            ("BinData(0, 'AQI=')", r#"{"$binary":{"base64":"AQI=","subType":"00"}}"#),
            ("HexData(5, '0102')", r#"{"$binary":{"base64":"AQI=","subType":"05"}}"#),
            ("RegExp('^a', 'si')", r#"{"$regularExpression":{"pattern":"^a","options":"is"}}"#),
            (r"/^a\/b/i", r#"{"$regularExpression":{"pattern":"^a\\/b","options":"i"}}"#),
            (
                "DBPointer('d.c', '507f1f77bcf86cd799439011')",
                r#"{"$dbPointer":{"$ref":"d.c","$id":{"$oid":"507f1f77bcf86cd799439011"}}}"#,
            ),
            ("{$numberLong: '5000000000'}", r#"{"$numberLong":"5000000000"}"#),
            ("{'$numberInt': '5'}", r#"{"$numberInt":"5"}"#),
            ("{$numberDouble: '-Infinity'}", r#"{"$numberDouble":"-Infinity"}"#),
            ("{$numberDecimal: '1E+3'}", r#"{"$numberDecimal":"1E+3"}"#),
            ("{$oid: '507f1f77bcf86cd799439011'}", r#"{"$oid":"507f1f77bcf86cd799439011"}"#),
            ("{$date: '2024-01-01T00:00:00Z'}", r#"{"$date":{"$numberLong":"1704067200000"}}"#),
            ("{$date: {$numberLong: '7'}}", r#"{"$date":{"$numberLong":"7"}}"#),
            ("{$date: 7}", r#"{"$date":{"$numberLong":"7"}}"#),
            (
                "{$uuid: '00000000-0000-0000-0000-000000000000'}",
                r#"{"$binary":{"base64":"AAAAAAAAAAAAAAAAAAAAAA==","subType":"04"}}"#,
            ),
            ("{$binary: {base64: 'AQI=', subType: '80'}}", r#"{"$binary":{"base64":"AQI=","subType":"80"}}"#),
            ("{$binary: {subType: '00', base64: 'AQI='}}", r#"{"$binary":{"base64":"AQI=","subType":"00"}}"#),
            ("{$binary: 'AQI=', $type: '00'}", r#"{"$binary":{"base64":"AQI=","subType":"00"}}"#),
            ("{$type: '0', $binary: 'AQI='}", r#"{"$binary":{"base64":"AQI=","subType":"00"}}"#),
            (
                "{$binary: {base64: 'AAAAAAAAAAAAAAAAAAAAAA==', subType: '03'}}",
                r#"{"$binary":{"base64":"AAAAAAAAAAAAAAAAAAAAAA==","subType":"04"}}"#,
            ),
            ("{$timestamp: {t: 5, i: 6}}", r#"{"$timestamp":{"t":5,"i":6}}"#),
            ("{$timestamp: {i: 6, t: 5}}", r#"{"$timestamp":{"t":5,"i":6}}"#),
            (
                "{$regularExpression: {pattern: 'a', options: ''}}",
                r#"{"$regularExpression":{"pattern":"a","options":""}}"#,
            ),
            ("{$regex: 'a', $options: 'i'}", r#"{"$regularExpression":{"pattern":"a","options":"i"}}"#),
            ("{$symbol: 's'}", r#"{"$symbol":"s"}"#),
            ("{$code: 'c'}", r#"{"$code":"c"}"#),
            ("{$code: 'c', $scope: {a: true}}", r#"{"$code":"c","$scope":{"a":true}}"#),
            ("{$minKey: 1}", r#"{"$minKey":1}"#),
            ("{$maxKey: 1}", r#"{"$maxKey":1}"#),
            ("{$undefined: true}", r#"{"$undefined":true}"#),
            (
                "{$dbPointer: {$ref: 'd.c', $id: {$oid: '507f1f77bcf86cd799439011'}}}",
                r#"{"$dbPointer":{"$ref":"d.c","$id":{"$oid":"507f1f77bcf86cd799439011"}}}"#,
            ),
            // Operators are plain fields.
            ("{$regex: 'a'}", r#"{"$regex":"a"}"#),
            ("{$type: 'string'}", r#"{"$type":"string"}"#),
            ("{$in: ['a']}", r#"{"$in":["a"]}"#),
            ("{a: 'x', $oid: 'y'}", r#"{"a":"x","$oid":"y"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_command_shows_where_and_why() {
        // Text, what is pointed at, message.
        let cases = [
            ("", "", "the text ends where `{` (a command is a document) should follow"),
            ("[1]", "[", "expected `{` (a command is a document), found `[`"),
            ("{a-b: 1}", "-b", "expected `:`, found `-b`"),
            ("{a 1}", "1", "expected `:`, found `1`"),
            ("{a: }", "}", "expected a value, found `}`"),
            ("{a: 1", "", "the text ends where a key or `}` should follow"),
            ("{a: [1, 2", "", "the text ends where a value or `]` should follow"),
            ("{,}", ",", "expected a key or `}`, found `,`"),
            ("{a: 1,, b: 2}", ",", "expected a key or `}`, found `,`"),
            ("{a: +1}", "+1", "`+1` is not a number"),
            ("{a: 1x}", "1x", "`1x` is not a number"),
            ("{a: .5}", ".5", "`.5` is not a number"),
            ("{a: hello}", "hello", "`hello` is not a value"),
            ("{a: \"x}", "\"", "this string has no closing quote"),
            ("{a: 'x}", "'", "this string has no closing quote"),
            ("{a: /x}", "/x", "this regular expression has no end"),
            ("{a: 1} // no comment", "", ""),
            ("{ // note\n a: 1}", "//", "expected a key or `}`, found `//`"),
            (r#"{a: "\q"}"#, r"\q", r"`\q` is not an escape"),
            (r#"{a: "\u12"}"#, r"\u", r"`\u` takes four hexadecimal digits"),
            (r#"{a: "\ud800"}"#, r"\ud800", "half of a surrogate pair"),
            (
                "{a: {$oid: 'x'}}",
                "{$oid: 'x'}",
                "in `$oid`: `x` is not an ObjectId: it takes 24 hexadecimal digits",
            ),
            (
                "{a: {$oid: 'x', b: 1}}",
                "{$oid: 'x', b: 1}",
                "`$oid` makes a typed value, so no other key can stand beside it",
            ),
            (
                "{a: ISODate()}",
                "ISODate()",
                "`ISODate()` would read the clock; give the date, or make it in a binding and write `ISODate(\"{binding}\")`",
            ),
            (
                "{a: ObjectID('x')}",
                "ObjectID('x')",
                "no value is made by `ObjectID(…)`; did you mean `ObjectId`?",
            ),
            (
                "{a: NumberInt(3000000000)}",
                "NumberInt(3000000000)",
                "in `NumberInt`: `3000000000` is not a 32-bit integer",
            ),
            ("{\"a\\u0000b\": 1}", "\"a\\u0000b\"", "a key cannot hold a NUL character"),
        ];
        for (text, pointed, message) in cases {
            match parse(text, None) {
                Ok(parsed) => assert!(message.is_empty() && parsed.end < text.len(), "{text} was read"),
                Err(problem) => {
                    assert_eq!(problem.message, message, "{text}");
                    assert_eq!(&text[problem.range], pointed, "{text}");
                }
            }
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow() {
        let nested = |depth: usize| format!("{}1{}", "{a: [".repeat(depth / 2), "]}".repeat(depth / 2));
        assert!(parse(&nested(MAX_DEPTH), None).is_ok());
        for text in
            [nested(MAX_DEPTH + 2), "{a:".repeat(1_000_000), "{a: '\"' ".to_owned() + &"[".repeat(100_000)]
        {
            let problem = parse(&text, None).err().expect("too deep");
            assert_eq!(problem.message, "nested deeper than 200 levels");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_place(text in "[{}\\[\\](),:'\"/\\\\a-c$0-2.eE+ \n\u{FDD0}é-]{0,60}") {
            if let Err(problem) = parse(&text, None) {
                prop_assert!(text.get(problem.range).is_some() && !problem.message.is_empty());
            }
        }

        #[test]
        fn the_mark_of_a_bind_point_is_shown_to_nobody(text in "\\PC{0,8}\u{FDD0}[{}\\[\\](),:'\"/\\\\a-c$0-2.eE+ \n\u{FDD0}é-]{0,40}") {
            let slots: Vec<usize> = (0..text.matches(MARK).count()).collect();
            if let Err(problem) = parse(&text, Some(&slots)) {
                prop_assert!(!problem.message.contains(MARK), "{}", problem.message);
                prop_assert!(!problem.help.unwrap_or_default().contains(MARK));
            }
        }

        #[test]
        fn any_arbitrary_text_is_read_or_refused_with_a_place(text in any::<String>()) {
            if let Err(problem) = parse(&text, Some(&[0, 1, 2])) {
                prop_assert!(text.get(problem.range).is_some() && !problem.message.is_empty());
            }
        }

        #[test]
        fn what_is_printed_is_read_back(ints in prop::collection::vec(any::<i64>(), 0..4), text in any::<String>()) {
            let mut document = bson::doc! { "text": text };
            for (index, int) in ints.into_iter().enumerate() {
                document.insert(format!("n{index}"), int);
                document.insert(format!("i{index}"), int as i32);
                document.insert(format!("l{index}"), vec![int]);
            }
            let bytes = document.to_vec().expect("a document is BSON");
            let printed = extended_json::canonical(&bytes).expect("BSON has a text");
            let parsed = parse(&printed, None);
            prop_assert_eq!(encode::document(&parsed.expect("canonical text is read").pairs), bytes);
        }
    }
}
