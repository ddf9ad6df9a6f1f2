//! Text: number names, templates, combinations, and what rewrites a text.

use super::function::{OfNull, Transform};
use super::image::character_set;
use super::java_regex::{JavaRegex, Replacement};
use super::{
    Argument, Arguments, Build, Category, Constructor, Context, Eval, EvalError, Example, Function,
    FunctionRow, Map, Overload, Refusal, Type, hash, html_entities,
};
use crate::value::{self, Value};
use std::cell::Cell;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &PREFIX,
    &SUFFIX,
    &TRIM,
    &TEMPLATE,
    &JOIN_TEMPLATE,
    &LIST_TEMPLATE,
    &JOIN,
    &NUMBER_NAME_TO_STRING,
    &ALPHA_NUMERIC_STRING,
    &COMBINATIONS,
    &STATIC_STRING_MAPPER,
    &MIRROR_TO_STRING,
    &REPLACE_ALL,
    &REPLACE_REGEX,
    &MATCH_REGEX,
    &MATCH_FUNC,
    &FIELD_EXTRACTOR,
    &URL_ENCODE,
    &URL_DECODE,
    &HTML_ENTITY_ENCODE,
    &HTML_ENTITY_DECODE,
];

const ONE_TEXT: &[Constructor] = &[Constructor::of(&[Type::String])];
const TWO_TEXTS: &[Constructor] = &[Constructor::of(&[Type::String, Type::String])];
const NOTHING: &[Constructor] = &[Constructor::of(&[])];

/// An overload from text to text.
const fn of_text(constructors: &'static [Constructor], build: Build) -> Overload {
    Overload::new("unary_string", Type::String, Type::String, constructors, build)
}

/// An overload from a long to text.
const fn of_long(constructors: &'static [Constructor], build: Build) -> Overload {
    Overload::new("from_long.to_string", Type::Long, Type::String, constructors, build)
}

/// A function that appends a text made of its input's; there must be one.
pub(super) fn text_to_text(f: impl Fn(&str, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static) -> Function {
    rewriting(OfNull::Error, f)
}

/// A function that appends a text made of its input's, and keeps null.
pub(super) fn text_or_null(f: impl Fn(&str, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static) -> Function {
    rewriting(OfNull::Null, f)
}

fn rewriting(
    of_null: OfNull,
    f: impl Fn(&str, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
) -> Function {
    thread_local! {
        /// Where the input stands meanwhile: kept, so that no cycle allocates it.
        static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    Function::ObjectToObject(Transform::by_text(of_null, move |out, from, _| {
        let mut input = INPUT.take();
        input.clear();
        input.extend_from_slice(out.get(from..).unwrap_or_default());
        out.truncate(from);
        let outcome = f(&String::from_utf8_lossy(&input), out);
        INPUT.set(input);
        outcome
    }))
}

static PREFIX: FunctionRow = FunctionRow {
    name: "Prefix",
    category: Category::Text,
    doc: "puts a text before the input",
    examples: &[Example("ToString(); Prefix('key-')", 5, "key-5")],
    overloads: &[Overload::new(
        "unary_string",
        Type::String,
        Type::String,
        &[Constructor::of(&[Type::String])],
        |arguments| {
            let prefix = arguments.text(0)?.to_owned();
            Ok(Function::ObjectToObject(Transform::by_text(OfNull::Text, move |out, from, _| {
                let end = out.len();
                out.extend_from_slice(prefix.as_bytes());
                out.copy_within(from..end, from + prefix.len());
                out[from..from + prefix.len()].copy_from_slice(prefix.as_bytes());
                Ok(())
            })))
        },
    )],
    ..FunctionRow::NEW
};

static SUFFIX: FunctionRow = FunctionRow {
    name: "Suffix",
    category: Category::Text,
    doc: "puts a text behind the input",
    examples: &[Example("ToString(); Suffix('-key')", 5, "5-key")],
    overloads: &[Overload::new(
        "unary_string",
        Type::String,
        Type::String,
        &[Constructor::of(&[Type::String])],
        |arguments| {
            let suffix = arguments.text(0)?.to_owned();
            Ok(Function::ObjectToObject(Transform::by_text(OfNull::Text, move |out, _, _| {
                out.extend_from_slice(suffix.as_bytes());
                Ok(())
            })))
        },
    )],
    ..FunctionRow::NEW
};

static TEMPLATE: FunctionRow = FunctionRow {
    name: "Template",
    category: Category::Text,
    doc: "fills each {} of a text with a function's value; the first function is given the input, the next the \
          input plus 1, and so on",
    examples: &[
        Example("Template('user-{}',Identity())", 5, "user-5"),
        Example("Template('{}-{}',Identity(),NumberNameToString())", 5, "5-six"),
        Example(
            "Template(long->Mul(3L)->long,'{}/{}',NumberNameToString(),long->ToString())",
            5,
            "fifteen/18",
        ),
    ],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[
            Constructor::with_rest(&[Type::LongUnaryOperator, Type::String], Type::LongFunction),
            Constructor::with_rest(&[Type::Boolean, Type::String], Type::Object),
            Constructor::with_rest(&[Type::String], Type::Object),
        ],
        template,
    )],
    ..FunctionRow::NEW
};

/// What a template's functions are given, if not the input; and how many arguments stand before the first
/// text.
fn step(arguments: &Arguments<'_>) -> Result<(Option<Map<i64, i64>>, usize), Refusal> {
    Ok(match arguments.get(0) {
        Some(Argument::Text(_)) => (None, 0),
        Some(Argument::Function(nested)) => match &nested.function {
            Function::LongToLong(step) => (Some(step.clone()), 1),
            _ => return Err(Refusal::new("the first function must be from long to long").at(0)),
        },
        // A boolean, which changes nothing.
        _ => (None, 1),
    })
}

fn template(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let (step, text_at) = step(arguments)?;
    fill(step, arguments.text(text_at)?, text_at, arguments)
}

/// `text` with its places filled by the functions that stand behind the argument `text_at`.
fn fill(
    step: Option<Map<i64, i64>>,
    text: &str,
    text_at: usize,
    arguments: &Arguments<'_>,
) -> Result<Function, Refusal> {
    let literals: Vec<String> = text.split("{}").map(str::to_owned).collect();
    let functions = (text_at + 1..arguments.count())
        .map(|position| arguments.producer(position))
        .collect::<Result<Vec<_>, _>>()?;
    if literals.len() != functions.len() + 1 {
        return Err(Refusal::new(format!(
            "the text has {} `{{}}`, but there are {} functions",
            literals.len() - 1,
            functions.len()
        ))
        .at(text_at)
        .help("give one function for each `{}`"));
    }
    let mut literals = literals.into_iter();
    let first = literals.next().unwrap_or_default();
    let parts: Vec<_> = functions.into_iter().zip(literals).collect();
    Ok(Function::long_to_text(move |v, cx, out| {
        out.extend_from_slice(first.as_bytes());
        for (position, (function, literal)) in parts.iter().enumerate() {
            let input = v.wrapping_add(position as i64);
            let input = match &step {
                Some(step) => step(input, cx)?,
                None => input,
            };
            function.write(input, cx, out)?;
            out.extend_from_slice(literal.as_bytes());
        }
        Ok(())
    }))
}

static JOIN_TEMPLATE: FunctionRow = FunctionRow {
    name: "JoinTemplate",
    category: Category::Text,
    doc: "the values of functions with a delimiter between them, and a text before and behind if given; the \
          first function is given the input, the next the input plus 1, and so on",
    notes: "the functions must yield something other than long, int or double, for instance text",
    examples: &[
        Example("JoinTemplate('-',NumberNameToString(),NumberNameToString())", 1, "one-two"),
        Example("JoinTemplate('[','|',']',NumberNameToString(),NumberNameToString())", 1, "[one|two]"),
        Example(
            "JoinTemplate(Add(3),'<',';','>',NumberNameToString(),NumberNameToString())",
            1,
            "<four;five>",
        ),
    ],
    overloads: &[of_long(
        &[
            Constructor::with_rest(
                &[Type::LongUnaryOperator, Type::String, Type::String, Type::String],
                Type::LongFunction,
            ),
            Constructor::with_rest(&[Type::String, Type::String, Type::String], Type::LongFunction),
            Constructor::with_rest(&[Type::String], Type::LongFunction),
        ],
        |arguments| {
            let (step, first) = step(arguments)?;
            let all_three = matches!(arguments.get(first + 1), Some(Argument::Text(_)));
            let (prefix, delimiter, suffix, last) = if all_three {
                (arguments.text(first)?, arguments.text(first + 1)?, arguments.text(first + 2)?, first + 2)
            } else {
                ("", arguments.text(first)?, "", first)
            };
            let count = arguments.count().saturating_sub(last + 1);
            if count == 0 {
                return Err(Refusal::new("there is no function whose values could be joined"));
            }
            let places = vec!["{}"; count].join(delimiter);
            fill(step, &format!("{prefix}{places}{suffix}"), last, arguments)
        },
    )],
    ..FunctionRow::NEW
};

static LIST_TEMPLATE: FunctionRow = FunctionRow {
    name: "ListTemplate",
    category: Category::Text,
    doc: "a list of a function's values for the input, the input plus 1, and so on; how many, another function \
          says",
    examples: &[Example("ListTemplate(HashRange(2,4),NumberNameToString()); Join(' ')", 1, "one two three")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::List,
        &[Constructor::of(&[Type::LongToIntFunction, Type::LongFunction])],
        |arguments| {
            let (size, value) = (arguments.size(0)?, arguments.producer(1)?);
            Ok(Function::long_to_object(move |v, cx| {
                let size = super::collections::checked_size(i64::from(size(v, cx)?))? as i64;
                let elements = (0..size).map(|i| value.value(v.wrapping_add(i), cx));
                Ok(Value::List(elements.collect::<Eval<_>>()?))
            }))
        },
    )],
    ..FunctionRow::NEW
};

static JOIN: FunctionRow = FunctionRow {
    name: "Join",
    category: Category::Text,
    doc: "the elements of a list or set as one text, with a delimiter between them",
    notes: "an empty collection is an error, unless the delimiter is empty too",
    examples: &[Example("ListTemplate(FixedValue(2),NumberNameToString()); Join('|')", 1, "one|two")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Collection,
        Type::String,
        ONE_TEXT,
        |arguments| {
            let delimiter = arguments.text(0)?.to_owned();
            Ok(Function::object_to_object(move |value, _| {
                let (Value::List(elements) | Value::Set(elements)) = &value else {
                    return Err(EvalError::wrong_class(&value, "Collection"));
                };
                if elements.is_empty() && !delimiter.is_empty() {
                    return Err(EvalError::boxed(
                        "StringIndexOutOfBoundsException",
                        "there is nothing to join",
                    ));
                }
                let mut out = Vec::new();
                for (position, element) in elements.iter().enumerate() {
                    if position > 0 {
                        out.extend_from_slice(delimiter.as_bytes());
                    }
                    if *element == Value::Null {
                        return Err(EvalError::boxed("NullPointerException", "an element has no value"));
                    }
                    element.write_text(&mut out);
                }
                Ok(super::function::text_value(out))
            }))
        },
    )],
    ..FunctionRow::NEW
};

static TRIM: FunctionRow = FunctionRow {
    name: "Trim",
    category: Category::Text,
    doc: "takes blanks and control characters off both ends",
    examples: &[Example("FixedValue('  a b '); Trim()", 0, "a b")],
    overloads: &[of_text(NOTHING, |_| {
        Ok(text_to_text(|text, out| {
            out.extend_from_slice(text.trim_matches(|c: char| c <= ' ').as_bytes());
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

/// More characters than any document can hold.
const LONGEST_TEXT: i32 = 1 << 24;

static ALPHA_NUMERIC_STRING: FunctionRow = FunctionRow {
    name: "AlphaNumericString",
    category: Category::Text,
    doc: "a random-looking text of so many digits and upper-case letters",
    examples: &[Example("AlphaNumericString(5)", 1, "AHKZC")],
    overloads: &[of_long(&[Constructor::of(&[Type::Int])], |arguments| {
        let length = arguments.int(0)?;
        if !(0..=LONGEST_TEXT).contains(&length) {
            return Err(Refusal::new(format!("the length is not within 0 to {LONGEST_TEXT}")).at(0));
        }
        Ok(Function::long_to_text(move |v, _, out| {
            const CHARACTERS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let mut hash = v;
            for _ in 0..length {
                hash = hash::long(hash);
                let character = usize::try_from(hash % 36).ok().and_then(|at| CHARACTERS.get(at));
                out.push(*character.ok_or_else(|| {
                    EvalError::boxed("StringIndexOutOfBoundsException", "a hash is negative")
                })?);
            }
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static COMBINATIONS: FunctionRow = FunctionRow {
    name: "Combinations",
    category: Category::Text,
    doc: "counts through all combinations of a character of each set, the last set fastest, and again from the \
          first",
    notes: "sets are parted by `;` or `,`; `a-b` in a set is a range of printable ASCII; `set*n` is the set n \
            times. A character is a code point, never a half of one. A negative input is an error",
    examples: &[
        Example("Combinations('A-Z;A-Z')", 27, "BB"),
        Example("Combinations('0-9A-F*4')", 48879, "BEEF"),
        Example("Combinations('0-9;0-9;-;a-f')", 61, "10-b"),
    ],
    overloads: &[of_long(ONE_TEXT, |arguments| {
        let combinations = Combinations::new(arguments.text(0)?).map_err(|refusal| refusal.at(0))?;
        Ok(Function::long_to_text(move |v, _, out| combinations.write(v, out)))
    })],
    ..FunctionRow::NEW
};

/// Sets of characters, and how many combinations of the sets behind it one character of a set lasts.
pub(super) struct Combinations(Vec<(Vec<char>, i64)>);

/// More places than this are a slip.
const MOST_PLACES: usize = 1_000_000;

impl Combinations {
    pub(super) fn new(spec: &str) -> Result<Combinations, Refusal> {
        let mut parts: Vec<&str> = spec.split([',', ';']).collect();
        // As Java splits: nothing is left of `;`, and of an empty text one empty part.
        while !spec.is_empty() && parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        let mut sets: Vec<(Vec<char>, i64)> = Vec::new();
        for part in parts {
            let (set, times) = match part.rsplit_once('*') {
                Some((set, times)) if !times.is_empty() && times.bytes().all(|b| b.is_ascii_digit()) => (
                    set,
                    times
                        .parse()
                        .ok()
                        .filter(|times| *times <= MOST_PLACES)
                        .ok_or_else(|| Refusal::new(format!("`*{times}` repeats too often")))?,
                ),
                _ => (part, 1),
            };
            // An empty set is an error only where it is used, as in the reference.
            let set = if set.is_empty() { Vec::new() } else { character_set(set)? };
            if sets.len() + times > MOST_PLACES {
                return Err(Refusal::new(format!("there are more than {MOST_PLACES} sets")));
            }
            sets.extend(std::iter::repeat_n((set, 1), times));
        }
        let mut radix = 1i64;
        for (set, lasts) in sets.iter_mut().rev() {
            *lasts = radix;
            radix = radix
                .checked_mul(set.len() as i64)
                .ok_or_else(|| Refusal::new("there are more than 2^63 combinations"))?;
        }
        Ok(Combinations(sets))
    }

    /// The number within its set of each character of combination `v`, before it is taken modulo the size of
    /// the set.
    pub(super) fn digits(&self, mut v: i64) -> impl Iterator<Item = Eval<i32>> {
        self.0.iter().map(move |(_, lasts)| {
            let digit = v.checked_div(*lasts).ok_or_else(EvalError::division_by_zero)?;
            v = v.checked_rem(*lasts).ok_or_else(EvalError::division_by_zero)?;
            Ok((digit % i64::from(i32::MAX)) as i32)
        })
    }

    fn write(&self, v: i64, out: &mut Vec<u8>) -> Eval<()> {
        for ((set, _), digit) in self.0.iter().zip(self.digits(v)) {
            let at = digit?.checked_rem(set.len() as i32).ok_or_else(EvalError::division_by_zero)?;
            let character = usize::try_from(at).ok().and_then(|at| set.get(at)).ok_or_else(|| {
                EvalError::boxed("ArrayIndexOutOfBoundsException", format!("there is no combination {v}"))
            })?;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }
}

static STATIC_STRING_MAPPER: FunctionRow = FunctionRow {
    name: "StaticStringMapper",
    category: Category::Constant,
    doc: "always the same text",
    examples: &[Example("StaticStringMapper('x')", 5, "x")],
    overloads: &[of_long(ONE_TEXT, |arguments| {
        let text = arguments.text(0)?.to_owned();
        Ok(Function::long_to_text(move |_, _, out| {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static MIRROR_TO_STRING: FunctionRow = FunctionRow {
    name: "MirrorToString",
    category: Category::Constant,
    doc: "the same text in place of any other",
    examples: &[Example("NumberNameToString(); MirrorToString('x')", 5, "x")],
    overloads: &[of_text(&[Constructor::closed(&[]), Constructor::of(&[Type::String])], |arguments| {
        Ok(super::files::constant_text(arguments.text(0)?.to_owned()))
    })],
    ..FunctionRow::NEW
};

const REGEX_NOTES: &str = "regular expressions and `$1` in replacements are those of Java, where `\\w`, `\\d` and \
                           `\\b` know ASCII alone";

fn regex(arguments: &Arguments<'_>, position: usize) -> Result<JavaRegex, Refusal> {
    JavaRegex::new(arguments.text(position)?).map_err(|message| Refusal::new(message).at(position))
}

fn replace(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let regex = regex(arguments, 0)?;
    let replacement = Replacement::new(arguments.text(1)?, &regex);
    Ok(text_to_text(move |text, out| regex.replace_all(text, &replacement, out)))
}

static REPLACE_ALL: FunctionRow = FunctionRow {
    name: "ReplaceAll",
    category: Category::Text,
    doc: "replaces all that a regular expression matches",
    notes: REGEX_NOTES,
    examples: &[Example("NumberNameToString(); ReplaceAll('[aeiou]','*')", 1, "*n*")],
    overloads: &[of_text(TWO_TEXTS, replace)],
    ..FunctionRow::NEW
};

static REPLACE_REGEX: FunctionRow = FunctionRow {
    name: "ReplaceRegex",
    category: Category::Text,
    doc: "replaces all that a regular expression matches",
    notes: REGEX_NOTES,
    examples: &[Example("NumberNameToString(); ReplaceRegex('(\\w)n','$1N')", 1, "oNe")],
    overloads: &[of_text(TWO_TEXTS, replace)],
    ..FunctionRow::NEW
};

/// Arguments in pairs: each regular expression with what `second` makes of the argument behind it, at the
/// position that it is given.
fn regex_pairs<T>(
    arguments: &Arguments<'_>,
    second: impl Fn(usize, &JavaRegex) -> Result<T, Refusal>,
) -> Result<Vec<(JavaRegex, T)>, Refusal> {
    if !arguments.count().is_multiple_of(2) {
        return Err(Refusal::new("the last regular expression has nothing behind it")
            .at(arguments.count() - 1)
            .help(
                "arguments come in pairs: a regular expression, and what becomes of a text that matches it",
            ));
    }
    (0..arguments.count())
        .step_by(2)
        .map(|at| {
            let regex = regex(arguments, at)?;
            let second = second(at + 1, &regex)?;
            Ok((regex, second))
        })
        .collect()
}

static MATCH_REGEX: FunctionRow = FunctionRow {
    name: "MatchRegex",
    category: Category::Text,
    doc: "takes pairs of a regular expression and a replacement; the first expression that matches the whole \
          text is replaced in it, and a text that none matches stays",
    notes: REGEX_NOTES,
    examples: &[
        Example("NumberNameToString(); MatchRegex('.*(six|seven).*','$1')", 106, "six"),
        Example("NumberNameToString(); MatchRegex('x','y')", 1, "one"),
    ],
    overloads: &[Overload::new(
        "from_string",
        Type::String,
        Type::String,
        &[Constructor::with_rest(&[], Type::String)],
        |arguments| {
            let pairs = regex_pairs(arguments, |at, regex| Ok(Replacement::new(arguments.text(at)?, regex)))?;
            Ok(text_to_text(move |text, out| {
                for (regex, replacement) in &pairs {
                    if regex.matches(text)? {
                        return regex.replace_all(text, replacement, out);
                    }
                }
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

static MATCH_FUNC: FunctionRow = FunctionRow {
    name: "MatchFunc",
    category: Category::Text,
    doc: "takes pairs of a regular expression and a text or a function of text; the first expression that \
          matches the whole text decides, and a text that none matches stays",
    notes: REGEX_NOTES,
    examples: &[
        Example("NumberNameToString(); MatchFunc('t.*',Suffix('!'),'.*',Prefix('?'))", 2, "two!"),
        Example("NumberNameToString(); MatchFunc('.*e','ends in e')", 1, "ends in e"),
    ],
    overloads: &[Overload::new(
        "from_string",
        Type::String,
        Type::String,
        &[Constructor::with_rest(&[], Type::Object)],
        |arguments| {
            let pairs = regex_pairs(arguments, |at, _| text_function(arguments, at))?;
            Ok(Function::object_to_object(move |value, cx| {
                let Some(text) = value.as_text() else {
                    return Err(EvalError::wrong_class(&value, "String"));
                };
                for (regex, transform) in &pairs {
                    if regex.matches(text)? {
                        return transform.value(value, cx);
                    }
                }
                Ok(value)
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// A text, which stands for the function that always gives it, or a function that takes text.
fn text_function(arguments: &Arguments<'_>, position: usize) -> Result<Transform, Refusal> {
    if let Some(Argument::Text(text)) = arguments.get(position) {
        let text = text.clone();
        return Ok(Transform::by_value(move |_, _: &mut Context| Ok(Value::Text(text.clone()))));
    }
    let nested = arguments.nested(position)?;
    match &nested.function {
        Function::ObjectToObject(transform) if Type::String.is_a(nested.input) => Ok(transform.clone()),
        _ => Err(Refusal::new(format!("`{}` takes {}, not a text", nested.name, nested.input)).at(position)),
    }
}

static FIELD_EXTRACTOR: FunctionRow = FunctionRow {
    name: "FieldExtractor",
    category: Category::Text,
    doc: "takes fields out of a delimited text: its argument is the delimiter and the numbers of the fields \
          from 1 up, parted by commas",
    notes: "the fields come with the delimiter between them; a text with too few fields gives \
            `ERROR-UNDERRUN in FieldExtractor`, but an error if just one is missing",
    examples: &[Example("FixedValue('a|b|c'); FieldExtractor('|,3,1')", 0, "c|a")],
    overloads: &[of_text(ONE_TEXT, |arguments| {
        let mut parts = arguments.text(0)?.split(',');
        let delimiter = parts.next().unwrap_or_default().to_owned();
        let fields = parts
            .map(|part| {
                value::parse_int(part.trim_matches(|c: char| c <= ' '))
                    .and_then(|number| number.checked_sub(1))
                    .ok_or_else(|| {
                        Refusal::new(format!("`{part}` is not the number of a field"))
                            .at(0)
                            .help("write the delimiter and then the fields: `FieldExtractor('|,2,16')`")
                    })
            })
            .collect::<Result<Vec<i32>, Refusal>>()?;
        if fields.is_empty() {
            return Err(Refusal::new("no field is asked for")
                .at(0)
                .help("write the delimiter and then the fields: `FieldExtractor('|,2,16')`"));
        }
        let furthest = fields.iter().copied().max().unwrap_or_default();
        let splitter =
            JavaRegex::new(&format!("\\{delimiter}")).map_err(|message| Refusal::new(message).at(0))?;
        Ok(text_to_text(move |text, out| {
            let words = splitter.split(text)?;
            if i64::from(furthest) > words.len() as i64 {
                out.extend_from_slice(b"ERROR-UNDERRUN in FieldExtractor");
                return Ok(());
            }
            for (position, field) in fields.iter().enumerate() {
                if position > 0 {
                    out.extend_from_slice(delimiter.as_bytes());
                }
                let word = usize::try_from(*field).ok().and_then(|field| words.get(field));
                let word = word.ok_or_else(|| {
                    EvalError::boxed(
                        "ArrayIndexOutOfBoundsException",
                        format!("there is no field {} among {}", i64::from(*field) + 1, words.len()),
                    )
                })?;
                out.extend_from_slice(word.as_bytes());
            }
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

/// How characters stand as bytes.
#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    /// With a mark of the byte order before each run.
    Utf16,
    Utf16Be,
    Utf16Le,
}

impl Charset {
    fn of(arguments: &Arguments<'_>) -> Result<Charset, Refusal> {
        if arguments.count() == 0 {
            return Ok(Charset::Utf8);
        }
        let name = arguments.text(0)?;
        Ok(match name.to_ascii_uppercase().as_str() {
            "UTF-8" | "UTF8" => Charset::Utf8,
            "US-ASCII" | "ASCII" => Charset::Ascii,
            "ISO-8859-1" | "ISO8859_1" | "LATIN1" => Charset::Latin1,
            "UTF-16" => Charset::Utf16,
            "UTF-16BE" => Charset::Utf16Be,
            "UTF-16LE" => Charset::Utf16Le,
            _ => {
                return Err(Refusal::new(format!("the character set `{name}` is not known"))
                    .at(0)
                    .help("known are UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE and UTF-16LE"));
            }
        })
    }

    fn encode(self, text: &str) -> Vec<u8> {
        let narrow = |limit: u32| {
            text.chars().map(|c| if u32::from(c) < limit { u32::from(c) as u8 } else { b'?' }).collect()
        };
        let wide = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        match self {
            Charset::Utf8 => text.as_bytes().to_vec(),
            Charset::Ascii => narrow(0x80),
            Charset::Latin1 => narrow(0x100),
            Charset::Utf16 => [&[0xfe, 0xff], wide(u16::to_be_bytes).as_slice()].concat(),
            Charset::Utf16Be => wide(u16::to_be_bytes),
            Charset::Utf16Le => wide(u16::to_le_bytes),
        }
    }

    fn decode(self, bytes: &[u8]) -> String {
        let wide = |bytes: &[u8], order: fn([u8; 2]) -> u16| {
            let pairs = bytes.chunks(2).map(|pair| match pair {
                [a, b] => order([*a, *b]),
                _ => 0xfffd,
            });
            char::decode_utf16(pairs).map(|c| c.unwrap_or('\u{fffd}')).collect()
        };
        match self {
            Charset::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Charset::Ascii => {
                bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { '\u{fffd}' }).collect()
            }
            Charset::Latin1 => bytes.iter().map(|b| char::from(*b)).collect(),
            Charset::Utf16 => match bytes {
                [0xff, 0xfe, bytes @ ..] => wide(bytes, u16::from_le_bytes),
                [0xfe, 0xff, bytes @ ..] => wide(bytes, u16::from_be_bytes),
                bytes => wide(bytes, u16::from_be_bytes),
            },
            Charset::Utf16Be => wide(bytes, u16::from_be_bytes),
            Charset::Utf16Le => wide(bytes, u16::from_le_bytes),
        }
    }
}

const CHARSET: &[Constructor] = &[Constructor::of(&[Type::String]), Constructor::of(&[])];
const CHARSET_NOTES: &str =
    "the argument is the character set that the escapes are in, UTF-8 if there is none";

static URL_ENCODE: FunctionRow = FunctionRow {
    name: "URLEncode",
    category: Category::Text,
    doc: "a text as it stands in the query of a URL: blanks as `+`, and all but letters, digits and `.-*_` as \
          `%` and two hexadecimal digits a byte",
    notes: CHARSET_NOTES,
    examples: &[Example("FixedValue('a b&c=é'); URLEncode()", 0, "a+b%26c%3D%C3%A9")],
    overloads: &[of_text(CHARSET, |arguments| {
        let charset = Charset::of(arguments)?;
        Ok(text_to_text(move |text, out| {
            url_encode(text, charset, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

fn url_encode(text: &str, charset: Charset, out: &mut Vec<u8>) {
    let stays = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*' | '_' | ' ');
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if stays(first) {
            out.push(if first == ' ' { b'+' } else { first as u8 });
            rest = &rest[1..];
        } else {
            let run = rest.find(stays).unwrap_or(rest.len());
            for byte in charset.encode(&rest[..run]) {
                out.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
            rest = &rest[run..];
        }
    }
}

static URL_DECODE: FunctionRow = FunctionRow {
    name: "URLDecode",
    category: Category::Text,
    doc: "the text that stands for itself in the query of a URL: what URLEncode undoes",
    notes: CHARSET_NOTES,
    examples: &[Example("FixedValue('a+b%26c'); URLDecode()", 0, "a b&c")],
    overloads: &[of_text(CHARSET, |arguments| {
        let charset = Charset::of(arguments)?;
        Ok(text_to_text(move |text, out| url_decode(text, charset, out)))
    })],
    ..FunctionRow::NEW
};

fn url_decode(text: &str, charset: Charset, out: &mut Vec<u8>) -> Eval<()> {
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut run = Vec::new();
                loop {
                    let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
                    let (Some(high), Some(low)) = (digit(), digit()) else {
                        return Err(EvalError::boxed(
                            "IllegalArgumentException",
                            "a `%` is not followed by two hexadecimal digits",
                        ));
                    };
                    run.push((high * 16 + low) as u8);
                    if bytes.next_if_eq(&b'%').is_none() {
                        break;
                    }
                }
                out.extend_from_slice(charset.decode(&run).as_bytes());
            }
            byte => out.push(byte),
        }
    }
    Ok(())
}

static HTML_ENTITY_ENCODE: FunctionRow = FunctionRow {
    name: "HTMLEntityEncode",
    category: Category::Text,
    doc: "writes characters that HTML 4 has names for as named entities",
    examples: &[Example("FixedValue('<é&b>'); HTMLEntityEncode()", 0, "&lt;&eacute;&amp;b&gt;")],
    overloads: &[of_text(NOTHING, |_| {
        Ok(text_or_null(|text, out| {
            html_entities::encode(text, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static HTML_ENTITY_DECODE: FunctionRow = FunctionRow {
    name: "HTMLEntityDecode",
    category: Category::Text,
    doc: "reads the entities of HTML 4, by name or by number; what is none stays",
    notes: "`&apos;` is not among them",
    examples: &[Example("FixedValue('&lt;&#233;&amp;'); HTMLEntityDecode()", 0, "<é&")],
    overloads: &[of_text(NOTHING, |_| Ok(text_or_null(html_entities::decode)))],
    ..FunctionRow::NEW
};

static NUMBER_NAME_TO_STRING: FunctionRow = FunctionRow {
    name: "NumberNameToString",
    category: Category::Text,
    doc: "the English name of a number",
    examples: &[
        Example("NumberNameToString()", 0, "zero"),
        Example("NumberNameToString()", 1234, "one thousand two hundred and thirty four"),
        Example("NumberNameToString()", -21, "negative twenty one"),
    ],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[])],
        |_| Ok(Function::long_to_text(|v, _, out| number_name(v, out))),
    )],
    ..FunctionRow::NEW
};

const UNITS: [&str; 20] = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

const BILLION: u64 = 1_000_000_000;

/// Appends the name of `value`, with the reference's peculiarities from 10^9 up: `quadrillion billion`, two
/// blanks around an empty middle part, and no name at all for some numbers.
fn number_name(value: i64, out: &mut Vec<u8>) -> Eval<()> {
    if value == 0 {
        out.extend_from_slice(b"zero");
        return Ok(());
    }
    let magnitude = value.unsigned_abs();
    let start = out.len();
    if value < 0 {
        out.extend_from_slice(b"negative");
    }
    if magnitude < BILLION {
        if value < 0 {
            out.push(b' ');
        }
        words(magnitude as u32, &SMALL, out);
        return Ok(());
    }
    let rest = magnitude % BILLION;
    let mut higher = magnitude / BILLION;
    // The reference formats 10^9 and negative remainders with a routine that takes neither.
    if higher == BILLION || (value < 0 && rest > 0) {
        out.truncate(start);
        return Err(EvalError::boxed(
            "IllegalArgumentException",
            format!("{value} has no name in this numbering"),
        ));
    }
    if higher > BILLION {
        words((higher / BILLION) as u32, &SMALL, out);
        out.extend_from_slice(b" quintillion");
        higher %= BILLION;
    }
    if out.len() > start {
        out.push(b' ');
    }
    words(higher as u32, &LARGE, out);
    out.extend_from_slice(b" billion");
    if rest > 0 {
        out.push(b' ');
        words(rest as u32, &SMALL, out);
    }
    Ok(())
}

const SMALL: [&str; 2] = ["thousand", "million"];
/// The names that the part above a billion has.
const LARGE: [&str; 2] = ["trillion", "quadrillion"];

/// Appends the words of a number below 10^9, joined by single blanks; nothing for 0.
fn words(number: u32, scales: &[&str; 2], out: &mut Vec<u8>) {
    let start = out.len();
    let (millions, thousands, rest) = (number / 1_000_000 % 1000, number / 1000 % 1000, number % 1000);
    for (group, scale) in [(millions, scales[1]), (thousands, scales[0])] {
        if group > 0 {
            hundreds(group, start, out);
            word(scale, start, out);
        }
    }
    if number > 999 && (1..100).contains(&rest) {
        word("and", start, out);
    }
    hundreds(rest, start, out);
}

/// Appends the words of a number below 1000.
fn hundreds(number: u32, start: usize, out: &mut Vec<u8>) {
    let (hundred, rest) = ((number / 100) as usize, (number % 100) as usize);
    if hundred > 0 {
        word(UNITS[hundred % 10], start, out);
        word("hundred", start, out);
        if rest > 0 {
            word("and", start, out);
        }
    }
    if rest < UNITS.len() {
        word(UNITS[rest], start, out);
    } else {
        word(TENS[rest / 10], start, out);
        word(UNITS[rest % 10], start, out);
    }
}

/// Appends a word, parted by a blank from what stands behind `start` already.
fn word(word: &str, start: usize, out: &mut Vec<u8>) {
    if !word.is_empty() {
        if out.len() > start {
            out.push(b' ');
        }
        out.extend_from_slice(word.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_references_names() {
        for (value, expected) in [
            (0, Some("zero")),
            (19, Some("nineteen")),
            (20, Some("twenty")),
            (110, Some("one hundred and ten")),
            (1000, Some("one thousand")),
            (1001, Some("one thousand and one")),
            (1_000_000, Some("one million")),
            (
                999_999_999,
                Some(
                    "nine hundred and ninety nine million nine hundred and ninety nine thousand nine hundred and ninety nine",
                ),
            ),
            (1_000_000_001, Some("one billion one")),
            (1_000_000_000_000_000, Some("one quadrillion billion")),
            (1_000_000_000_000_000_000, None),
            (2_000_000_000_000_000_000, Some("two quintillion  billion")),
            (-1_000_000_000, Some("negative one billion")),
            (-1_000_000_001, None),
            (i64::MIN, None),
        ] {
            let mut out = Vec::new();
            let named =
                number_name(value, &mut out).map(|()| String::from_utf8(out).expect("words are ASCII"));
            assert_eq!(named.ok().as_deref(), expected, "{value}");
        }
    }
}
