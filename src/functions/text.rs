//! Text: number names, templates, prefixes and suffixes.

use super::function::Transform;
use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal,
    Type,
};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&PREFIX, &SUFFIX, &TEMPLATE, &NUMBER_NAME_TO_STRING];

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
            Ok(Function::ObjectToObject(Transform::by_text(move |out, from, _| {
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
            Ok(Function::ObjectToObject(Transform::by_text(move |out, _, _| {
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

fn template(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    use super::Argument;
    let (step, text_at) = match arguments.get(0) {
        Some(Argument::Text(_)) => (None, 0),
        Some(Argument::Function(nested)) => match &nested.function {
            Function::LongToLong(step) => (Some(step.clone()), 1),
            _ => return Err(Refusal::new("the first function must be from long to long").at(0)),
        },
        // A boolean, which changes nothing.
        _ => (None, 1),
    };
    let text = arguments.text(text_at)?;
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
