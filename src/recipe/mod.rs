//! Binding text → AST, by the grammar in `grammar/recipe.pest`. Does not know that a function exists.
//!
//! Every node keeps its byte range within the recipe, so that whoever rejects it later can point at it.

use crate::span::{Diagnostic, Text};
use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;
use std::ops::Range;

/// The parser that pest makes of the grammar; apart, since its rules are public by construction.
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/recipe.pest"]
    pub(super) struct RecipeParser;
}

use grammar::{RecipeParser, Rule};

/// How deep calls may stand in calls.
const MOST_NESTED: usize = 64;

/// A flow of calls: each takes what the one before it yields, the first the cycle number.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// At least one.
    pub steps: Vec<Call>,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    pub text: String,
    pub range: Range<usize>,
}

/// `input -> Name(arguments) -> output`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The type that the function must take.
    pub input: Option<Name>,
    pub name: Name,
    pub arguments: Vec<Argument>,
    /// The type that the function must yield.
    pub output: Option<Name>,
    pub range: Range<usize>,
}

/// An argument and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub value: ArgumentValue,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue {
    Int(i32),
    Long(i64),
    /// A decimal number without a suffix is single precision.
    Float(f32),
    Double(f64),
    Bool(bool),
    Text(String),
    Call(Call),
    /// Two calls or more, one after the other, which the reference has not.
    Flow(Recipe),
    /// `null`, which the reference has not.
    Null,
    /// `$name`, which no function takes.
    Variable(String),
}

/// A recipe and the text of it that has no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub recipe: Recipe,
    /// Characters that were dropped and text after the flow that is not read, as warnings.
    pub notices: Vec<Diagnostic>,
}

/// Reads `text`; an error shows the place in it.
pub fn parse(text: &Text) -> Result<Parsed, Diagnostic> {
    let source = text.as_str();
    check_depth(text)?;
    if source.trim().is_empty() {
        return Err(Diagnostic::error("the recipe is empty")
            .at(text.location())
            .help("write a function, such as `Identity()`"));
    }
    let root = RecipeParser::parse(Rule::recipe, source)
        .map_err(|error| explain(text, &error))?
        .next()
        .ok_or_else(|| Diagnostic::error("the recipe is empty").at(text.location()))?;
    let mut reader = Reader { text, notices: Vec::new(), has_flows: false };
    let mut steps = Vec::new();
    for pair in root.into_inner() {
        match pair.as_rule() {
            Rule::call => steps.push(reader.call(pair)?),
            Rule::ignored if !pair.as_str().trim().is_empty() => {
                let range = trimmed(&pair);
                reader.notices.push(
                    Diagnostic::warning(format!(
                        "this text has no effect: the recipe ends before `{}`",
                        excerpt(&source[range.clone()])
                    ))
                    .at(text.locate(range))
                    .help("functions are joined by `;`; a line feed after it needs a blank beside it"),
                );
            }
            _ => reader.aside(&pair),
        }
    }
    Ok(reader.parsed(Recipe { steps }))
}

/// Reads `text` with whole flows as arguments: `ListSized(3,Hash(); Mod(10))`. None where there is no such
/// argument, or more than such a recipe. For what [`parse`] makes no sense of: it takes the `;` for the end of
/// the call, as the reference does.
pub fn parse_with_flows(text: &Text) -> Option<Parsed> {
    check_depth(text).ok()?;
    let root = RecipeParser::parse(Rule::whole, text.as_str()).ok()?.next()?;
    let mut reader = Reader { text, notices: Vec::new(), has_flows: false };
    let mut steps = Vec::new();
    for pair in root.into_inner() {
        match pair.as_rule() {
            Rule::flow => steps = reader.flow(pair).ok()?,
            _ => reader.aside(&pair),
        }
    }
    reader.has_flows.then(|| reader.parsed(Recipe { steps }))
}

struct Reader<'a> {
    text: &'a Text,
    notices: Vec<Diagnostic>,
    /// An argument is a flow.
    has_flows: bool,
}

impl Reader<'_> {
    fn parsed(self, recipe: Recipe) -> Parsed {
        let mut notices = self.notices;
        // Positions, not the order of the walk.
        notices.sort_by_key(|notice| notice.location.as_ref().map(|location| location.range.start));
        Parsed { recipe, notices }
    }

    fn flow(&mut self, pair: Pair<'_, Rule>) -> Result<Vec<Call>, Diagnostic> {
        let mut steps = Vec::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::deep => steps.push(self.call(inner)?),
                _ => self.aside(&inner),
            }
        }
        Ok(steps)
    }

    /// Anything that is not part of the meaning: dropped characters are noted, the rest is punctuation.
    fn aside(&mut self, pair: &Pair<'_, Rule>) {
        match pair.as_rule() {
            Rule::dropped => {
                let range = range(pair);
                let unclosed = pair.clone().into_inner().next().is_some();
                let notice = if unclosed {
                    Diagnostic::warning(
                        "a quote is opened here and never closed: the text behind it is dropped",
                    )
                } else {
                    Diagnostic::warning(format!(
                        "`{}` is dropped: nothing in a recipe starts so",
                        pair.as_str()
                    ))
                };
                self.notices.push(notice.at(self.text.locate(range)));
            }
            Rule::close if pair.as_str().is_empty() => {
                self.notices.push(
                    Diagnostic::warning("the `)` of a call is missing here")
                        .at(self.text.locate(range(pair)))
                        .help("the call is taken to end here"),
                );
            }
            Rule::assign => {
                let range = range(pair);
                self.notices.push(
                    Diagnostic::warning("a name given inside a recipe has no effect")
                        .at(self.text.locate(range))
                        .help("leave it out"),
                );
            }
            _ => {}
        }
    }

    fn name(&mut self, pair: Pair<'_, Rule>) -> Option<Name> {
        let mut found = None;
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => found = Some(Name { range: range(&inner), text: inner.as_str().to_owned() }),
                _ => self.aside(&inner),
            }
        }
        found
    }

    fn call(&mut self, pair: Pair<'_, Rule>) -> Result<Call, Diagnostic> {
        let whole = trimmed(&pair);
        let (mut input, mut name, mut output, mut arguments) = (None, None, None, Vec::new());
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::input => input = self.name(inner),
                Rule::output => output = self.name(inner),
                Rule::name => name = Some(Name { range: range(&inner), text: inner.as_str().to_owned() }),
                Rule::arg | Rule::inner => {
                    for value in inner.into_inner() {
                        arguments.push(self.argument(value)?);
                    }
                }
                _ => self.aside(&inner),
            }
        }
        let name = name.unwrap_or_else(|| Name { text: String::new(), range: whole.clone() });
        Ok(Call { input, name, arguments, output, range: whole })
    }

    fn argument(&mut self, pair: Pair<'_, Rule>) -> Result<Argument, Diagnostic> {
        let range = trimmed(&pair);
        let text = pair.as_str();
        let bare = |suffixes: [char; 2]| text.trim_end_matches(suffixes);
        let value = match pair.as_rule() {
            // The reference refuses integers beyond 32 bits without an `L`.
            Rule::integer => {
                text.parse().map(ArgumentValue::Int).or_else(|_| text.parse().map(ArgumentValue::Long)).ok()
            }
            Rule::long => bare(['l', 'L']).parse().ok().map(ArgumentValue::Long),
            Rule::float => bare(['f', 'F']).parse().ok().map(ArgumentValue::Float),
            Rule::double => bare(['d', 'D']).parse().ok().map(ArgumentValue::Double),
            Rule::boolean => Some(ArgumentValue::Bool(text == "true")),
            Rule::null => Some(ArgumentValue::Null),
            Rule::single => Some(ArgumentValue::Text(inside(text).to_owned())),
            Rule::quoted => Some(ArgumentValue::Text(unescaped(inside(text)))),
            Rule::nested => Some(ArgumentValue::Call(self.call(pair.clone())?)),
            Rule::flow => {
                let mut steps = self.flow(pair.clone())?;
                match (steps.pop(), steps.is_empty()) {
                    (Some(only), true) => Some(ArgumentValue::Call(only)),
                    (last, _) => {
                        steps.extend(last);
                        self.has_flows = true;
                        Some(ArgumentValue::Flow(Recipe { steps }))
                    }
                }
            }
            _ => self.name(pair.clone()).map(|name| ArgumentValue::Variable(name.text)),
        };
        let Some(value) = value else {
            return Err(Diagnostic::error(format!("`{text}` is outside the range of 64-bit integers"))
                .at(self.text.locate(range)));
        };
        Ok(Argument { value, range })
    }
}

fn range(pair: &Pair<'_, Rule>) -> Range<usize> {
    pair.as_span().start()..pair.as_span().end()
}

/// The range of a pair without blanks at its ends.
fn trimmed(pair: &Pair<'_, Rule>) -> Range<usize> {
    let text = pair.as_str();
    let start = pair.as_span().start() + (text.len() - text.trim_start().len());
    start..(start + text.trim().len())
}

/// What stands between the quotes.
fn inside(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// Each `\c` becomes `c`.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.extend(characters.next()),
            _ => out.push(character),
        }
    }
    out
}

/// The start of a text, for a message: one line, not long.
fn excerpt(text: &str) -> String {
    const MOST: usize = 24;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() > MOST {
        format!("{}…", line.chars().take(MOST).collect::<String>())
    } else {
        line.to_owned()
    }
}

/// Refuses recipes so deep that reading them could exhaust the stack.
fn check_depth(text: &Text) -> Result<(), Diagnostic> {
    let mut depth = 0usize;
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in text.as_str().bytes().enumerate() {
        if escaped {
            escaped = false;
        } else if let Some(open) = quote {
            match byte {
                b'\\' => escaped = true,
                // A quote cannot run over a line's end: what looked like one was none.
                b'\n' | b'\r' => quote = None,
                _ if byte == open => quote = None,
                _ => {}
            }
        } else {
            match byte {
                b'\'' | b'"' => quote = Some(byte),
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth > MOST_NESTED {
            return Err(Diagnostic::error(format!("calls are nested more than {MOST_NESTED} deep"))
                .at(text.locate(at..at + 1)));
        }
    }
    Ok(())
}

/// Whether a character may stand in the name of a function.
fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// pest's error in the words of the person who wrote the recipe.
fn explain(text: &Text, error: &pest::error::Error<Rule>) -> Diagnostic {
    let source = text.as_str();
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { .. } => &[],
    };
    let wants = |rule: Rule| expected.contains(&rule);
    let mut at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at.min(source.len()),
    };
    if wants(Rule::open) {
        // What was dropped behind the name is what stands in the place of the parenthesis.
        let name = source[..at].trim_end_matches(|c| !in_name(c)).len();
        at = name + (source[name..].len() - source[name..].trim_start().len());
    }
    let rest = source.get(at..).unwrap_or_default();
    let before = source.get(..at).unwrap_or_default();
    let end = at + rest.chars().next().map_or(0, char::len_utf8);
    let found = match rest.chars().next() {
        None => "the end of the recipe".to_owned(),
        Some('\n' | '\r') => "the end of the line".to_owned(),
        Some(_) => {
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if word.is_empty() {
                format!("`{}`", rest.chars().take(1).collect::<String>())
            } else {
                format!("`{word}`")
            }
        }
    };
    let located = |diagnostic: Diagnostic| diagnostic.at(text.locate(at..end));
    if wants(Rule::open) {
        let before = before.trim_end();
        let name = &before[before.trim_end_matches(in_name).len()..];
        return located(Diagnostic::error(format!("expected `(` after `{name}`, found {found}")))
            .help(format!("a function is called with parentheses: `{name}()`"));
    }
    if rest.starts_with(['\n', '\r']) && (wants(Rule::arg) || wants(Rule::shut) || wants(Rule::close)) {
        return located(Diagnostic::error("a line ends inside an argument list"))
            .help("indent the next line, or put the arguments on one line");
    }
    let last_digit_zero =
        before.ends_with('0') && !before.trim_end_matches('0').ends_with(|c: char| c.is_alphanumeric());
    if last_digit_zero && rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return located(Diagnostic::error(format!("expected `,` or `)` after `0`, found {found}")))
            .help("numbers are decimal and have no leading zeros");
    }
    if (rest.starts_with('\'') && before.ends_with('\'')) || (rest.starts_with('"') && before.ends_with('"'))
    {
        return located(Diagnostic::error("a second text begins right after the first"))
            .help("to put a quote into a text, use the other kind of quotes around it, or \\\" within double quotes");
    }
    let mut words: Vec<&str> = Vec::new();
    for rule in expected {
        let word = match rule {
            Rule::comma => "`,`",
            Rule::close | Rule::shut => "`)`",
            Rule::semi => "`;`",
            Rule::arrow | Rule::output => "`->`",
            Rule::recipe | Rule::call | Rule::name | Rule::compose | Rule::input | Rule::assign => {
                "a function name"
            }
            Rule::arg
            | Rule::nested
            | Rule::variable
            | Rule::double
            | Rule::float
            | Rule::long
            | Rule::integer
            | Rule::boolean
            | Rule::null
            | Rule::single
            | Rule::quoted => "an argument",
            Rule::EOI => "the end of the recipe",
            _ => continue,
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // `)` and `,` are what the person needs to hear about inside a list.
    if words.contains(&"`)`") {
        words.retain(|word| *word != "`->`" && *word != "`;`");
    }
    let message = match words.split_last() {
        None => format!("this is no recipe: {found} cannot stand here"),
        Some((only, [])) => format!("expected {only}, found {found}"),
        Some((last, others)) => format!("expected {} or {last}, found {found}", others.join(", ")),
    };
    located(Diagnostic::error(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps as text: name, arguments, types.
    fn steps(recipe: &str) -> Result<Vec<String>, String> {
        parse(&Text::unplaced(recipe))
            .map(|parsed| parsed.recipe.steps.iter().map(shown).collect())
            .map_err(|diagnostic| diagnostic.message)
    }

    fn shown(call: &Call) -> String {
        let arguments: Vec<String> = call
            .arguments
            .iter()
            .map(|argument| match &argument.value {
                ArgumentValue::Int(value) => format!("{value}"),
                ArgumentValue::Long(value) => format!("{value}L"),
                ArgumentValue::Float(value) => format!("{value}f"),
                ArgumentValue::Double(value) => format!("{value}d"),
                ArgumentValue::Bool(value) => format!("{value}"),
                ArgumentValue::Null => "null".to_owned(),
                ArgumentValue::Text(value) => format!("{value:?}"),
                ArgumentValue::Call(call) => shown(call),
                ArgumentValue::Flow(flow) => flow.steps.iter().map(shown).collect::<Vec<_>>().join(";"),
                ArgumentValue::Variable(name) => format!("${name}"),
            })
            .collect();
        let side = |name: &Option<Name>| name.as_ref().map(|name| name.text.clone()).unwrap_or_default();
        format!("{}>{}({})>{}", side(&call.input), call.name.text, arguments.join(","), side(&call.output))
            .trim_matches('>')
            .to_owned()
    }

    #[test]
    fn flows_are_read_as_the_reference_reads_them() {
        for (recipe, expected) in [
            ("Mod(10)", vec!["Mod(10)"]),
            ("compose Mod(10); ToString() -> String", vec!["Mod(10)", "ToString()>String"]),
            ("long -> Add(1) -> int;", vec!["long>Add(1)>int"]),
            ("x=Mod(10)", vec!["Mod(10)"]),
            ("from_long.to_int.Add(1)", vec!["from_long.to_int.Add(1)"]),
            // Text after a complete flow is ignored.
            ("Mod(10) ToString()", vec!["Mod(10)"]),
            ("Mod(10)); ToString()", vec!["Mod(10)"]),
            ("Mod(10);; Add(3)", vec!["Mod(10)"]),
            ("Mod(10) # comment", vec!["Mod(10)"]),
            ("A() -> B()", vec!["A()>B"]),
            ("Add(5)\tMul(2)", vec!["Add(5)"]),
            ("Mod(10); ; Add(3)", vec!["Mod(10)", "Add(3)"]),
            // A single line feed between two non-blanks ends the flow; beside blanks it is one.
            ("Mod(10)\nAdd(3)", vec!["Mod(10)"]),
            ("Mod(10);\nAdd(3)", vec!["Mod(10)"]),
            ("Mod(10);\n Add(3)", vec!["Mod(10)", "Add(3)"]),
            ("Mod(10); \nAdd(3)", vec!["Mod(10)", "Add(3)"]),
            ("Mod(10);\n\nAdd(3)", vec!["Mod(10)", "Add(3)"]),
            ("Mod(10);\r\nAdd(3)", vec!["Mod(10)"]),
            ("Mod(\n  10)", vec!["Mod(10)"]),
            // A missing parenthesis before `;` or the end.
            ("Mod(1000; ToUUID()", vec!["Mod(1000)", "ToUUID()"]),
            ("Mod(10", vec!["Mod(10)"]),
            ("Mod(", vec!["Mod()"]),
            // Characters that start no token.
            ("Mod(+10)", vec!["Mod(10)"]),
            ("Add(.5)", vec!["Add(5)"]),
            ("Add(1.)", vec!["Add(1)"]),
            ("Add(${x})", vec!["Add($x)"]),
            ("F('a','b'')", vec![r#"F("a","b")"#]),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(steps(recipe), Ok(expected), "{recipe:?}");
        }
    }

    #[test]
    fn arguments_may_be_flows_where_that_is_asked_for() {
        for (recipe, expected) in [
            ("F(1,A(2); B())", Some("F(1,A(2);B())")),
            ("G(); F(A();\n  F(B() ; C()->long ) ) ;", Some("G() F(A();F(B();C()>long))")),
            // No flow among the arguments, or no whole recipe.
            ("F(A(),B()); C()", None),
            ("F(A(); B()", None),
            ("F(A();)", None),
            ("F(A();; B())", None),
            ("F(A(); 5)", None),
            ("F(A(); B()) C()", None),
        ] {
            let found = parse_with_flows(&Text::unplaced(recipe))
                .map(|parsed| parsed.recipe.steps.iter().map(shown).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected, "{recipe}");
        }
    }

    #[test]
    fn literals_keep_their_type() {
        for (literal, expected) in [
            ("5", "5"),
            ("-5", "-5"),
            ("5L", "5L"),
            ("9999999999", "9999999999L"),
            ("-2147483649", "-2147483649L"),
            ("null", "null"),
            ("nullable()", "nullable()"),
            ("5l", "5L"),
            ("9223372036854775807L", "9223372036854775807L"),
            ("0.1", "0.1f"),
            ("1e3", "1000f"),
            ("5f", "5f"),
            ("5d", "5d"),
            ("-180d", "-180d"),
            ("1.50D", "1.5d"),
            ("1.00", "1f"),
            ("true", "true"),
            ("'x'", r#""x""#),
            (r"'it\'s'", r#""it\\'s""#),
            (r#""it\"s""#, r#""it\"s""#),
            (r#""a\\b""#, r#""a\\b""#),
            ("trueish()", "trueish()"),
            ("long -> Mod(7) -> long", "long>Mod(7)>long"),
        ] {
            assert_eq!(steps(&format!("F({literal})")), Ok(vec![format!("F({expected})")]), "{literal}");
        }
    }

    #[test]
    fn broken_recipes_are_refused_with_the_reason() {
        for (recipe, words) in [
            ("", "empty"),
            ("  ", "empty"),
            ("Mod(10,; Add(1)", "an argument"),
            ("Mod( 10 , )", "an argument"),
            ("; Mod(10)", "a function name"),
            ("Mod(010)", "`0`"),
            ("F('it''s')", "second text"),
            ("ToString", "`(` after `ToString`, found the end"),
            ("Mod(10); ToString ", "`(` after `ToString`, found the end"),
            // What starts nothing stands where the parenthesis should.
            ("mongodb://h/", "`(` after `mongodb`, found `:`"),
            ("mongodb+srv://h", "`(` after `mongodb`, found `+`"),
            ("é é F # x", "`(` after `F`, found `#`"),
            ("Mod(\n10)", "line ends"),
            ("Mod(9999999999999999999)", "64-bit"),
            ("Mod(99999999999999999999L)", "64-bit"),
            ("Template('{}', Add(1; ToString()", "`)`"),
            ("Mod(10) -> ", "function name"),
            ("Mod(10;)", "`)`"),
        ] {
            let error = steps(recipe).expect_err(recipe);
            assert!(error.contains(words), "{recipe:?}: {error}");
        }
        let deep = format!("{}1{}", "F(".repeat(10_000), ")".repeat(10_000));
        assert!(steps(&deep).expect_err("too deep").contains("nested"));
    }

    #[test]
    fn dropped_and_ignored_text_is_noted_at_its_place() {
        for (recipe, places) in [
            ("Mod(10)", vec![]),
            ("Mod(+10)", vec![(4, 5)]),
            ("Mod(10) # comment", vec![(8, 9), (10, 17)]),
            ("Mod(10) ToString()", vec![(8, 18)]),
            // The quote that is dropped takes the parenthesis along.
            ("F('a'')", vec![(5, 7), (7, 7)]),
            ("x=Mod(10)", vec![(0, 2)]),
            // Parentheses that the reference does without.
            ("Hash(", vec![(5, 5)]),
            ("Mod(1000; Hash( ; F('a'", vec![(8, 8), (16, 16), (23, 23)]),
        ] {
            let text = Text::of_source("recipe", recipe);
            let notices = parse(&text).expect(recipe).notices;
            let found: Vec<(usize, usize)> = notices
                .iter()
                .filter_map(|notice| notice.location.as_ref())
                .map(|at| (at.range.start, at.range.end))
                .collect();
            assert_eq!(found, places, "{recipe:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_parser_never_panics(recipe: String) {
            let _ = parse_with_flows(&Text::unplaced(recipe.clone()));
            let _ = parse(&Text::unplaced(recipe));
        }

        #[test]
        fn the_parser_never_panics_on_near_recipes(
            recipe in "(Mod|Add|long|->|\\(|\\)|,|;|'|\"|\\\\|\n|\r| |\t|\\$|=|-|\\.|[0-9]{1,12}|[lLdDfFeE]|#|é|compose|true){0,24}"
        ) {
            let _ = parse_with_flows(&Text::unplaced(recipe.clone()));
            let _ = parse(&Text::unplaced(recipe));
        }
    }
}
