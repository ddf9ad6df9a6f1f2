//! A command as a tree: what op texts and YAML maps are read into, and what BSON is made from. Tells what
//! extended JSON means.

use bson::RawBson;
use bson::oid::ObjectId;
use bson::raw::{CString, RawJavaScriptCodeWithScope};
use bson::spec::BinarySubtype;

/// A value in a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Element {
    Constant(RawBson),
    /// Text of literals and bind points; a quoted string of an op text if `quote` is given.
    Text {
        parts: Vec<Part>,
        quote: Option<u8>,
    },
    /// A bind point on its own in an op text: whatever its text would parse to. Holds the slot.
    Bare(usize),
    /// A bind point that is a whole YAML scalar: keeps its own type. Holds the slot.
    Native(usize),
    /// A typed form around one text with bind points, such as `{$oid: "{id}"}`.
    Typed {
        conversion: Conversion,
        parts: Vec<Part>,
        quote: Quote,
    },
    Document(Vec<(String, Element)>),
    Array(Vec<Element>),
}

/// How the text of a typed form stands in the op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// Between these quotes in an op text.
    Mark(u8),
    /// Bare in an op text: it has to be a whole number.
    Bare,
    /// In a YAML map.
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Literal(String),
    /// Holds the slot.
    Hole(usize),
}

/// What a typed form makes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Int,
    Long,
    Double,
    Decimal,
    ObjectId,
    Uuid,
    /// ISO 8601 text.
    Date,
    /// Milliseconds since 1970.
    Millis,
}

impl Conversion {
    pub fn apply(self, text: &str) -> Result<RawBson, String> {
        let not_a = |what: &str| Err(format!("`{text}` is not {what}"));
        match self {
            Conversion::Int => match integer(text).and_then(|n| i32::try_from(n).ok()) {
                Some(n) => Ok(RawBson::Int32(n)),
                None => not_a("a 32-bit integer"),
            },
            Conversion::Long => match integer(text) {
                Some(n) => Ok(RawBson::Int64(n)),
                None => not_a("a 64-bit integer"),
            },
            Conversion::Double => match double(text) {
                Some(d) => Ok(RawBson::Double(d)),
                None => not_a("a double"),
            },
            Conversion::Decimal => match text.parse() {
                Ok(d) => Ok(RawBson::Decimal128(d)),
                Err(_) => not_a("a decimal number"),
            },
            Conversion::ObjectId => match ObjectId::parse_str(text) {
                Ok(id) => Ok(RawBson::ObjectId(id)),
                Err(_) => not_a("an ObjectId: it takes 24 hexadecimal digits"),
            },
            Conversion::Uuid => match hex_bytes(&text.replace('-', "")) {
                Some(bytes) if bytes.len() == 16 => Ok(binary(BinarySubtype::Uuid, bytes)),
                _ => not_a("a UUID: it takes 32 hexadecimal digits"),
            },
            Conversion::Date => match iso_date(text) {
                Some(millis) => Ok(date(millis)),
                None => not_a("an ISO 8601 date, such as 2024-01-31T12:00:00Z"),
            },
            Conversion::Millis => match integer(text) {
                Some(millis) => Ok(date(millis)),
                None => not_a("a number of milliseconds"),
            },
        }
    }
}

impl Conversion {
    /// Whether a number may stand for the text.
    fn takes_integers(self) -> bool {
        matches!(self, Conversion::Int | Conversion::Long | Conversion::Decimal | Conversion::Millis)
    }

    pub fn of_integer(self, n: i64) -> Result<RawBson, String> {
        match self {
            Conversion::Long => Ok(RawBson::Int64(n)),
            Conversion::Millis => Ok(date(n)),
            _ => self.apply(&n.to_string()),
        }
    }
}

/// What a number in an op text is: int32 if it fits, else int64, else (and with a point or exponent) double.
/// None if `text` is not a number of the dialect.
pub(super) fn number(text: &str) -> Option<RawBson> {
    let bytes = text.as_bytes();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if whole == 0 {
        return (text == "-Infinity").then_some(RawBson::Double(f64::NEG_INFINITY));
    }
    let mut rest = &digits[whole..];
    if rest.is_empty() {
        return Some(match text.parse::<i64>() {
            Ok(n) => smallest(n),
            Err(_) => RawBson::Double(text.parse().ok()?),
        });
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent =
            exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
        if exponent.is_empty() || !exponent.iter().all(u8::is_ascii_digit) {
            return None;
        }
        rest = &[];
    }
    if !rest.is_empty() {
        return None;
    }
    text.parse().ok().map(RawBson::Double)
}

/// What a word or number means as a value: `true`, `null`, `12`, `NaN`. None for any other text.
pub(super) fn scalar(text: &str) -> Option<RawBson> {
    Some(match text {
        "true" => RawBson::Boolean(true),
        "false" => RawBson::Boolean(false),
        "null" => RawBson::Null,
        "NaN" => RawBson::Double(f64::NAN),
        "Infinity" => RawBson::Double(f64::INFINITY),
        "undefined" => RawBson::Undefined,
        "MinKey" => RawBson::MinKey,
        "MaxKey" => RawBson::MaxKey,
        _ => return number(text),
    })
}

/// int32 if it fits, else int64.
pub(super) fn smallest(n: i64) -> RawBson {
    match i32::try_from(n) {
        Ok(n) => RawBson::Int32(n),
        Err(_) => RawBson::Int64(n),
    }
}

/// A whole number as Java's `Long.parseLong` takes it.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// A number as Java's `Double.valueOf` takes it, without its hexadecimal and suffixed forms.
fn double(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "Infinity" | "NaN" => text.parse().ok(),
        magnitude if magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.') => text.parse().ok(),
        _ => None,
    }
}

pub(super) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16);
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes().chunks_exact(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
}

pub(super) fn binary(subtype: BinarySubtype, bytes: Vec<u8>) -> RawBson {
    // A UUID of the old kind is sent as one of the new kind.
    let subtype =
        if subtype == BinarySubtype::UuidOld && bytes.len() == 16 { BinarySubtype::Uuid } else { subtype };
    RawBson::Binary(bson::Binary { subtype, bytes })
}

pub(super) fn base64(text: &str, subtype: u8) -> Result<RawBson, String> {
    match bson::Binary::from_base64(text, BinarySubtype::from(subtype)) {
        Ok(read) => Ok(binary(read.subtype, read.bytes)),
        Err(_) => Err(format!("`{text}` is not base64")),
    }
}

pub(super) fn regex(pattern: &str, options: &str) -> Result<RawBson, String> {
    let mut options: Vec<char> = options.chars().collect();
    options.sort_unstable();
    let made = CString::try_from(pattern.to_owned())
        .and_then(|pattern| Ok((pattern, CString::try_from(options.into_iter().collect::<String>())?)));
    match made {
        Ok((pattern, options)) => Ok(RawBson::RegularExpression(bson::Regex { pattern, options })),
        Err(_) => Err("a regular expression cannot hold a NUL character".to_owned()),
    }
}

pub(super) fn date(millis: i64) -> RawBson {
    RawBson::DateTime(bson::DateTime::from_millis(millis))
}

/// Milliseconds since 1970 of `YYYY-MM-DD` (UTC) or `YYYY-MM-DDTHH:MM[:SS[.fraction]]` with an offset
/// (`Z`, `+01:00`, `+01:00:30`).
fn iso_date(text: &str) -> Option<i64> {
    let mut rest = text;
    let year = take_digits(&mut rest, 4)?;
    let month = take(&mut rest, "-").and_then(|()| take_digits(&mut rest, 2))?;
    let day = take(&mut rest, "-").and_then(|()| take_digits(&mut rest, 2))?;
    if rest.is_empty() {
        return civil_millis(&[year, month, day]);
    }
    take(&mut rest, "T").or_else(|| take(&mut rest, "t"))?;
    let hour = take_digits(&mut rest, 2)?;
    let minute = take(&mut rest, ":").and_then(|()| take_digits(&mut rest, 2))?;
    let mut second = 0;
    let mut milli = 0;
    if take(&mut rest, ":").is_some() {
        second = take_digits(&mut rest, 2)?;
        if take(&mut rest, ".").is_some() {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&length) {
                return None;
            }
            milli = format!("{:0<3}", &rest[..length])[..3].parse().ok()?;
            rest = &rest[length..];
        }
    }
    let local = civil_millis(&[year, month, day, hour, minute, second, milli])?;
    if rest == "Z" || rest == "z" {
        return Some(local);
    }
    let sign = match take(&mut rest, "+") {
        Some(()) => 1,
        None => {
            take(&mut rest, "-")?;
            -1
        }
    };
    let hours = take_digits(&mut rest, 2)?;
    let minutes = take(&mut rest, ":").and_then(|()| take_digits(&mut rest, 2))?;
    let seconds = match take(&mut rest, ":") {
        Some(()) => take_digits(&mut rest, 2)?,
        None => 0,
    };
    let offset = (hours * 60 + minutes) * 60 + seconds;
    (rest.is_empty() && offset <= 18 * 3600 && minutes < 60 && seconds < 60)
        .then_some(local - sign * offset * 1000)
}

fn take(rest: &mut &str, what: &str) -> Option<()> {
    *rest = rest.strip_prefix(what)?;
    Some(())
}

fn take_digits(rest: &mut &str, count: usize) -> Option<i64> {
    let digits = rest.get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    *rest = &rest[count..];
    digits.parse().ok()
}

/// Milliseconds since 1970 of year, month (1–12), day, hour, minute, second, millisecond in UTC; what is left
/// out is 0. None for a date that no calendar has.
pub(super) fn civil_millis(fields: &[i64]) -> Option<i64> {
    let field = |i: usize| fields.get(i).copied().unwrap_or(0);
    let date = bson::DateTime::builder()
        .year(i32::try_from(field(0)).ok()?)
        .month(u8::try_from(field(1)).ok()?)
        .day(u8::try_from(field(2)).ok()?)
        .hour(u8::try_from(field(3)).ok()?)
        .minute(u8::try_from(field(4)).ok()?)
        .second(u8::try_from(field(5)).ok()?)
        .millisecond(u16::try_from(field(6)).ok()?)
        .build()
        .ok()?;
    Some(date.timestamp_millis())
}

/// What could be told of a document that may be an extended JSON form.
pub(super) enum Meaning {
    /// A plain document.
    Document(Vec<(String, Element)>),
    /// A typed value.
    Value(Element),
    /// A typed value whose bind points stand where only the rendered text can tell.
    Unknown,
}

/// Where a document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Op text: the whole dialect of the reference's JSON reader.
    Text,
    /// A YAML map: only forms that cannot be query operators (`$regex`, `$options` and `$type` can).
    Map,
}

/// Tells what a document of extended JSON (v2 or v1) means: the first key decides, as in MongoDB's own
/// readers. An error says what the form takes.
pub(super) fn meaning(pairs: Vec<(String, Element)>, origin: Origin) -> Result<Meaning, String> {
    let Some((first, value)) = pairs.first() else { return Ok(Meaning::Document(pairs)) };
    let alone = pairs.len() == 1;
    let form = |takes: &str| Err(format!("`{first}` takes {takes}"));
    let known = match first.as_str() {
        "$numberInt" if alone => typed(Conversion::Int, value),
        "$numberLong" if alone => typed(Conversion::Long, value),
        "$numberDouble" if alone => typed(Conversion::Double, value),
        "$numberDecimal" if alone => typed(Conversion::Decimal, value),
        "$oid" if alone => typed(Conversion::ObjectId, value),
        "$uuid" if alone => typed(Conversion::Uuid, value),
        "$date" if alone => match value {
            Element::Constant(RawBson::Int32(n)) => Ok(constant(date(i64::from(*n)))),
            Element::Constant(RawBson::Int64(n)) => Ok(constant(date(*n))),
            Element::Typed { conversion: Conversion::Long, parts, quote } => {
                Ok(Meaning::Value(Element::Typed {
                    conversion: Conversion::Millis,
                    parts: parts.clone(),
                    quote: *quote,
                }))
            }
            Element::Bare(_) => typed(Conversion::Millis, value),
            other => typed(Conversion::Date, other),
        },
        "$symbol" if alone => constant_text(value, |text| Ok(RawBson::Symbol(text.to_owned()))),
        "$undefined" if alone => match value {
            Element::Constant(RawBson::Boolean(true)) => Ok(constant(RawBson::Undefined)),
            _ => return form("true"),
        },
        "$minKey" | "$maxKey" if alone => match value {
            Element::Constant(RawBson::Int32(1)) => {
                Ok(constant(if first == "$minKey" { RawBson::MinKey } else { RawBson::MaxKey }))
            }
            _ => return form("1"),
        },
        "$timestamp" if alone => match fields(value, ["t", "i"]) {
            Some([t, i]) => match (timestamp_part(t), timestamp_part(i)) {
                (Some(time), Some(increment)) => {
                    Ok(constant(RawBson::Timestamp(bson::Timestamp { time, increment })))
                }
                _ if has_hole(t) || has_hole(i) => Ok(Meaning::Unknown),
                _ => return form("{t: seconds, i: increment}"),
            },
            None => return form("{t: seconds, i: increment}"),
        },
        "$regularExpression" if alone => match fields(value, ["pattern", "options"]) {
            Some([pattern, options]) => two_texts(pattern, options, regex),
            None => return form("{pattern: text, options: text}"),
        },
        "$binary" if alone => match fields(value, ["base64", "subType"]) {
            Some([bytes, subtype]) => binary_form(bytes, subtype),
            None if matches!(value, Element::Document(_)) => return form("{base64: text, subType: text}"),
            // A lone text is not the old form, which has a `$type`: a plain document.
            None => return Ok(Meaning::Document(pairs)),
        },
        "$dbPointer" if alone => match fields(value, ["$ref", "$id"]) {
            Some([namespace, id]) => db_pointer(namespace, id),
            None => return form("{$ref: text, $id: {$oid: text}}"),
        },
        "$code" if alone => constant_text(value, |text| Ok(RawBson::JavaScriptCode(text.to_owned()))),
        "$code" => match fields_of(&pairs, ["$code", "$scope"]) {
            Some([code, scope]) => code_with_scope(code, scope),
            None => return form("text, and a `$scope` beside it at most"),
        },
        "$binary" | "$type" if origin == Origin::Text => match fields_of(&pairs, ["$binary", "$type"]) {
            // Where these are not the old form of a binary they are a query operator.
            Some([bytes, subtype]) if is_text(bytes) => binary_form(bytes, subtype),
            _ => return Ok(Meaning::Document(pairs)),
        },
        "$regex" | "$options" if origin == Origin::Text => match fields_of(&pairs, ["$regex", "$options"]) {
            Some([pattern, options]) if is_text(pattern) && is_text(options) => {
                two_texts(pattern, options, regex)
            }
            _ => return Ok(Meaning::Document(pairs)),
        },
        "$numberInt" | "$numberLong" | "$numberDouble" | "$numberDecimal" | "$oid" | "$uuid" | "$date"
        | "$symbol" | "$undefined" | "$minKey" | "$maxKey" | "$timestamp" | "$regularExpression"
        | "$dbPointer" => {
            return Err(format!("`{first}` makes a typed value, so no other key can stand beside it"));
        }
        _ => return Ok(Meaning::Document(pairs)),
    };
    known.map_err(|text| format!("in `{first}`: {text}"))
}

/// A value that a conversion makes of the text (or, bare, the number) `value`.
pub(super) fn typed(conversion: Conversion, value: &Element) -> Result<Meaning, String> {
    let made = |parts: Vec<Part>, quote| Ok(Meaning::Value(Element::Typed { conversion, parts, quote }));
    match value {
        Element::Text { parts, quote } => match literal(parts) {
            Some(text) => conversion.apply(text).map(constant),
            None => made(parts.clone(), quote.map_or(Quote::None, Quote::Mark)),
        },
        Element::Native(slot) => made(vec![Part::Hole(*slot)], Quote::None),
        Element::Bare(slot) if conversion.takes_integers() => made(vec![Part::Hole(*slot)], Quote::Bare),
        Element::Bare(_) => Ok(Meaning::Unknown),
        Element::Constant(RawBson::Int32(n)) => conversion.of_integer(i64::from(*n)).map(constant),
        Element::Constant(RawBson::Int64(n)) => conversion.of_integer(*n).map(constant),
        Element::Constant(RawBson::Double(d))
            if matches!(conversion, Conversion::Double | Conversion::Decimal) =>
        {
            conversion.apply(&d.to_string()).map(constant)
        }
        _ => Err("a text is wanted here".to_owned()),
    }
}

pub(super) fn constant(value: RawBson) -> Meaning {
    Meaning::Value(Element::Constant(value))
}

/// The text of parts without bind points.
pub(super) fn literal(parts: &[Part]) -> Option<&str> {
    match parts {
        [] => Some(""),
        [Part::Literal(text)] => Some(text),
        _ => None,
    }
}

pub(super) fn is_text(element: &Element) -> bool {
    matches!(element, Element::Text { .. })
}

pub(super) fn has_hole(element: &Element) -> bool {
    match element {
        Element::Constant(_) => false,
        Element::Text { parts, .. } => literal(parts).is_none(),
        Element::Bare(_) | Element::Native(_) | Element::Typed { .. } => true,
        Element::Document(pairs) => pairs.iter().any(|(_, value)| has_hole(value)),
        Element::Array(items) => items.iter().any(has_hole),
    }
}

/// What `make` gives of a constant text.
pub(super) fn constant_text(
    value: &Element,
    make: impl FnOnce(&str) -> Result<RawBson, String>,
) -> Result<Meaning, String> {
    match value {
        Element::Text { parts, .. } => match literal(parts) {
            Some(text) => make(text).map(constant),
            None => Ok(Meaning::Unknown),
        },
        value if has_hole(value) => Ok(Meaning::Unknown),
        _ => Err("a text is wanted here".to_owned()),
    }
}

/// What `make` gives of two constant texts.
pub(super) fn two_texts(
    first: &Element,
    second: &Element,
    make: impl FnOnce(&str, &str) -> Result<RawBson, String>,
) -> Result<Meaning, String> {
    if has_hole(first) || has_hole(second) {
        return Ok(Meaning::Unknown);
    }
    match (first, second) {
        (Element::Text { parts: a, .. }, Element::Text { parts: b, .. }) => {
            make(literal(a).unwrap_or_default(), literal(b).unwrap_or_default()).map(constant)
        }
        _ => Err("texts are wanted here".to_owned()),
    }
}

/// The values of exactly the keys `names`, in that order whatever theirs is.
fn fields<'a>(value: &'a Element, names: [&str; 2]) -> Option<[&'a Element; 2]> {
    match value {
        Element::Document(pairs) => fields_of(pairs, names),
        _ => None,
    }
}

fn fields_of<'a>(pairs: &'a [(String, Element)], names: [&str; 2]) -> Option<[&'a Element; 2]> {
    match pairs {
        [(a, first), (b, second)] if *a == names[0] && *b == names[1] => Some([first, second]),
        [(a, first), (b, second)] if *a == names[1] && *b == names[0] => Some([second, first]),
        _ => None,
    }
}

fn timestamp_part(value: &Element) -> Option<u32> {
    match value {
        Element::Constant(RawBson::Int32(n)) => u32::try_from(*n).ok(),
        Element::Constant(RawBson::Int64(n)) => u32::try_from(*n).ok(),
        _ => None,
    }
}

/// Base64 text and a subtype in hexadecimal text or a number.
pub(super) fn binary_form(bytes: &Element, subtype: &Element) -> Result<Meaning, String> {
    if has_hole(bytes) || has_hole(subtype) {
        return Ok(Meaning::Unknown);
    }
    let subtype = match subtype {
        Element::Constant(RawBson::Int32(n)) => u8::try_from(*n).ok(),
        Element::Text { parts, .. } => literal(parts).and_then(|text| u8::from_str_radix(text, 16).ok()),
        _ => None,
    };
    let subtype = subtype.ok_or("a subtype is a number from 0 to 255, in hexadecimal where it is a text")?;
    constant_text(bytes, |text| base64(text, subtype))
}

pub(super) fn db_pointer(namespace: &Element, id: &Element) -> Result<Meaning, String> {
    let id = match id {
        Element::Constant(RawBson::ObjectId(id)) => *id,
        id if has_hole(id) => return Ok(Meaning::Unknown),
        _ => return Err("the id is an ObjectId".to_owned()),
    };
    constant_text(namespace, |namespace| {
        // The type has no constructor: it is read from its extended JSON form instead.
        let form = serde_json::json!({ "$dbPointer": { "$ref": namespace, "$id": { "$oid": id.to_hex() } } });
        match serde_json::from_value::<bson::Bson>(form) {
            Ok(pointer) => RawBson::try_from(pointer).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    })
}

fn code_with_scope(code: &Element, scope: &Element) -> Result<Meaning, String> {
    if has_hole(code) || has_hole(scope) {
        return Ok(Meaning::Unknown);
    }
    let Element::Document(scope) = scope else { return Err("a `$scope` is a document".to_owned()) };
    let scope = super::encode::document(scope);
    constant_text(code, |code| {
        let scope = bson::RawDocumentBuf::from_bytes(scope).map_err(|error| error.to_string())?;
        Ok(RawBson::JavaScriptCodeWithScope(RawJavaScriptCodeWithScope { code: code.to_owned(), scope }))
    })
}
