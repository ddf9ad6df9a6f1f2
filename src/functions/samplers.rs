//! Draws from lists whose entries have weights: of a recipe, or of the columns of a CSV file.
//!
//! Orders matter here. A table of Walker's alias method depends on the order of its events, and that of some
//! functions is the order in which a hash map of the reference gives them.

use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Refusal,
    Type, files, ranges::unit,
};
use crate::value::{self, JavaHashMap, Value};
use std::collections::VecDeque;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &WEIGHTED_STRINGS,
    &WEIGHTED_LONGS,
    &WEIGHTED_STRINGS_FROM_CSV,
    &CSV_SAMPLER,
    &CSV_FREQUENCY_SAMPLER,
    &DELIM_FREQUENCY_SAMPLER,
];

/// 2^63 − 1 as a double, which is 2^63.
const MAX_LONG: f64 = i64::MAX as f64;

/// The sum of Java's `DoubleStream`, with Kahan's compensation.
fn stream_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    let mut plain = 0.0;
    for value in values {
        plain += value;
        let term = value - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    let total = sum - lost;
    if total.is_nan() && plain.is_infinite() { plain } else { total }
}

/// A table of the alias method (A. J. Walker, 1977): a slot is drawn evenly, and then one of its two events.
pub(super) struct AliasTable {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Up to here, from the slot's number on, the first event is drawn; beyond, the second.
    divider: f64,
    events: [usize; 2],
}

impl AliasTable {
    /// Of events, each given by its number and weight. Which slot an event comes into depends on their order.
    pub(super) fn new(weights: &[(usize, f64)]) -> Result<AliasTable, Refusal> {
        if weights.is_empty() {
            return Err(Refusal::new("there is nothing to draw from"));
        }
        let count = weights.len() as f64;
        let total = stream_sum(weights.iter().map(|(_, weight)| *weight));
        if !(total > 0.0 && total.is_finite()) || weights.iter().any(|(_, weight)| *weight < 0.0) {
            return Err(Refusal::new("the weights must not be negative, and one must be positive"));
        }
        let mut small = VecDeque::new();
        let mut large = VecDeque::new();
        let mut slots = Vec::with_capacity(weights.len());
        for (event, weight) in weights {
            let share = (weight / total) * count;
            if share < 1.0 { &mut small } else { &mut large }.push_back((*event, share));
        }
        let mut slot = |low: usize, high: usize, share: f64| {
            let number = slots.len() as f64;
            slots.push(Slot { divider: number + share * ((number + 1.0) - number), events: [low, high] });
        };
        while !small.is_empty() && !large.is_empty() {
            if let (Some((low, share)), Some((high, rest))) = (small.pop_front(), large.pop_front()) {
                slot(low, high, share);
                let rest = (rest + share) - 1.0;
                if rest < 1.0 { &mut small } else { &mut large }.push_back((high, rest));
            }
        }
        for (event, _) in large.into_iter().chain(small) {
            slot(event, event, 1.0);
        }
        Ok(AliasTable { slots })
    }

    /// The number of the event at `unit`, from 0 to below 1.
    #[inline]
    pub(super) fn draw(&self, unit: f64) -> Eval<usize> {
        let point = unit * self.slots.len() as f64;
        let slot = usize::try_from(point as i64).ok().and_then(|number| self.slots.get(number));
        let slot = slot.ok_or_else(|| {
            EvalError::boxed(
                "IndexOutOfBoundsException",
                "the input is outside the table: with 'map' it must not be negative, nor near 2^63",
            )
        })?;
        Ok(slot.events[usize::from(point > slot.divider)])
    }
}

/// `name:weight` pairs, as running sums of their shares.
struct Weighted<T> {
    values: Vec<T>,
    limits: Vec<f64>,
}

impl<T> Weighted<T> {
    fn parse(
        spec: &str,
        separators: &[char],
        value: impl Fn(&str) -> Result<T, Refusal>,
    ) -> Result<Weighted<T>, Refusal> {
        let mut values = Vec::new();
        let mut weights = Vec::new();
        for pair in split(spec, separators) {
            let (name, weight) = pair.split_once(':').unwrap_or((pair, "1"));
            let number = value::parse_double(weight).ok_or_else(|| {
                Refusal::new(format!("'{}' is no weight, in '{pair}'", weight.trim()))
                    .at(0)
                    .help("write `'a:2;b:0.5;c'`: values, each with `:` and a weight where that is not 1")
            })?;
            values.push(value(java_trim(name))?);
            weights.push(number);
        }
        if values.is_empty() {
            return Err(Refusal::new("there are no values to draw from").at(0).help("write `'a:2;b:1'`"));
        }
        let total = stream_sum(weights.iter().copied());
        let mut limit = 0.0;
        let limits = weights
            .iter()
            .map(|weight| {
                limit += weight / total;
                limit
            })
            .collect();
        Ok(Weighted { values, limits })
    }

    fn draw(&self, v: i64) -> Eval<&T> {
        let unit = unit(v);
        let position = self.limits.iter().position(|limit| unit < *limit);
        position.and_then(|position| self.values.get(position)).ok_or_else(|| {
            EvalError::boxed(
                "RuntimeException",
                format!("no weight reaches {unit}: their sum falls short of 1"),
            )
        })
    }
}

/// Java's `String.split`: empty parts at the end are dropped.
fn split<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut parts: Vec<&str> = text.split(separators).collect();
    if parts.len() > 1 {
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
    }
    parts
}

/// Java's `String.trim`.
fn java_trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

static WEIGHTED_STRINGS: FunctionRow = FunctionRow {
    name: "WeightedStrings",
    category: Category::Distribution,
    doc: "one of some texts, each as often as its weight says: 'name:weight;…', the weight 1 where none is given",
    examples: &[
        Example("WeightedStrings('android:6;ios:4;linux:2;osx:7;windows:3')", 0, "ios"),
        Example("WeightedStrings('red:0.5;green:0.25;blue:0.25')", 1, "green"),
    ],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::String])],
        |arguments| {
            let weighted = Weighted::parse(arguments.text(0)?, &[';', ','], |name| Ok(name.to_owned()))?;
            Ok(Function::long_to_text(move |v, _, out| {
                out.extend_from_slice(weighted.draw(v)?.as_bytes());
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

static WEIGHTED_LONGS: FunctionRow = FunctionRow {
    name: "WeightedLongs",
    category: Category::Distribution,
    doc: "one of some integers, each as often as its weight says: 'value:weight;…', the weight 1 where none is given",
    examples: &[Example("WeightedLongs('2:20;4:70;8:10')", 0, "4")],
    overloads: &[Overload::new(
        "from_long.to_long",
        Type::Long,
        Type::BoxedLong,
        &[Constructor::of(&[Type::String])],
        |arguments| {
            let weighted = Weighted::parse(arguments.text(0)?, &[';'], |text| {
                value::parse_long(text).ok_or_else(|| Refusal::new(format!("'{text}' is no integer")).at(0))
            })?;
            Ok(Function::long_to_object(move |v, _| Ok(Value::Long(*weighted.draw(v)?))))
        },
    )],
    ..FunctionRow::NEW
};

/// The columns named `columns` of all rows of a CSV file, whose first row has the names.
fn columns<const N: usize>(
    file: &str,
    delimiter: u8,
    columns: [&str; N],
    same: fn(&str, &str) -> bool,
) -> Result<Vec<[String; N]>, Refusal> {
    let name = if file.ends_with(".csv") { file.to_owned() } else { format!("{file}.csv") };
    let text = files::read_first(&[&name])?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let faulty = |error: csv::Error| Refusal::new(format!("`{name}` is no CSV file: {error}"));
    let mut records = reader.records();
    let header = match records.next() {
        Some(header) => header.map_err(faulty)?,
        None => return Err(Refusal::new(format!("`{name}` is empty"))),
    };
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        *place = header.iter().position(|name| same(name, column)).ok_or_else(|| {
            let known: Vec<String> = header.iter().map(|name| format!("`{name}`")).collect();
            Refusal::new(format!("`{name}` has no column `{column}`"))
                .help(format!("it has {}", known.join(", ")))
        })?;
    }
    records
        .map(|record| {
            let record = record.map_err(faulty)?;
            let mut row = [const { String::new() }; N];
            for (field, place) in row.iter_mut().zip(places) {
                *field = record
                    .get(place)
                    .ok_or_else(|| {
                        let line = record.position().map_or(0, csv::Position::line);
                        let fields = record.len();
                        Refusal::new(format!("`{name}`, line {line}: there are only {fields} fields"))
                    })?
                    .to_owned();
            }
            Ok(row)
        })
        .collect()
}

fn same_case(a: &str, b: &str) -> bool {
    a == b
}

fn any_case(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

fn weight_of(text: &str, file: &str) -> Result<f64, Refusal> {
    value::parse_double(text).ok_or_else(|| Refusal::new(format!("`{file}`: '{text}' is no weight")))
}

/// Draws of `lines` by their numbers in `table`.
fn drawing(table: AliasTable, lines: Vec<String>, hashed: bool) -> Function {
    Function::long_to_text(move |v, _, out| {
        let unit = if hashed { unit(v) } else { v as f64 / MAX_LONG };
        out.extend_from_slice(lines.get(table.draw(unit)?).map_or(&[][..], |line| line.as_bytes()));
        Ok(())
    })
}

/// Texts of a column, weighted by another: a leading word 'map' or 'hash' of `files` is a mode.
pub(super) fn weighted_column(value: &str, weight: &str, words: &[&str]) -> Result<Function, Refusal> {
    let (hashed, files) = match words {
        ["map", files @ ..] => (false, files),
        ["hash", files @ ..] => (true, files),
        files => (true, files),
    };
    let mut lines = Vec::new();
    let mut weights = Vec::new();
    for file in files {
        for [line, weight] in columns(file, b',', [value, weight], same_case)? {
            if !weight.is_empty() {
                weights.push((lines.len(), weight_of(&weight, file)?));
            }
            lines.push(line);
        }
    }
    Ok(drawing(AliasTable::new(&weights)?, lines, hashed))
}

/// What the rows of one label have.
struct Statistic {
    total: f64,
    count: i32,
    least: f64,
    most: f64,
}

/// Labels of a column, weighted by statistics of another; leading words of `files` are modes.
pub(super) fn sampled_column(label: &str, weight: &str, words: &[&str]) -> Result<Function, Refusal> {
    let mut hashed = true;
    let mut weigh: fn(&Statistic) -> f64 = |statistic| statistic.total;
    let mut weighted = false;
    let mut files = words;
    while let [word, rest @ ..] = files {
        match *word {
            "map" => hashed = false,
            "hash" => hashed = true,
            "sum" => weigh = |statistic| statistic.total,
            "min" => weigh = |statistic| statistic.least,
            "max" => weigh = |statistic| statistic.most,
            "avg" => weigh = |statistic| statistic.total / f64::from(statistic.count),
            "count" => weigh = |statistic| f64::from(statistic.count),
            "name" => weigh = |_| 1.0,
            _ => break,
        }
        if !matches!(*word, "map" | "hash") {
            weighted = !matches!(*word, "count" | "name");
        }
        files = rest;
    }
    let mut labels: JavaHashMap<String, Statistic> = JavaHashMap::default();
    for file in files {
        let rows: Vec<(String, f64)> = if weighted {
            columns(file, b',', [label, weight], any_case)?
                .into_iter()
                .map(|[label, text]| Ok((label, if text.is_empty() { 1.0 } else { weight_of(&text, file)? })))
                .collect::<Result<_, Refusal>>()?
        } else {
            columns(file, b',', [label], any_case)?.into_iter().map(|[label]| (label, 1.0)).collect()
        };
        for (label, weight) in rows {
            let row = Statistic { total: weight, count: 1, least: weight, most: weight };
            labels.merge(label, row, |known, row| {
                known.total += row.total;
                known.count += row.count;
                known.least = known.least.min(row.least);
                known.most = known.most.max(row.most);
            });
        }
    }
    let (lines, statistics): (Vec<String>, Vec<Statistic>) = labels.into_pairs().into_iter().unzip();
    let weights: Vec<(usize, f64)> =
        statistics.iter().enumerate().map(|(number, statistic)| (number, weigh(statistic))).collect();
    Ok(drawing(AliasTable::new(&weights)?, lines, hashed))
}

/// Distinct texts of a column, each as often as it is there.
fn frequencies(file: &str, column: &str, delimiter: u8) -> Result<Function, Refusal> {
    let mut counts: JavaHashMap<String, f64> = JavaHashMap::default();
    for [text] in columns(file, delimiter, [column], same_case)? {
        match counts.get_mut(&text) {
            Some(count) => *count += 1.0,
            None => {
                counts.put(text, 1.0);
            }
        }
    }
    let (lines, counts): (Vec<String>, Vec<f64>) = counts.into_pairs().into_iter().unzip();
    let weights: Vec<(usize, f64)> = counts.into_iter().enumerate().collect();
    Ok(drawing(AliasTable::new(&weights)?, lines, true))
}

/// All arguments from `from` on, which are texts.
fn words<'a>(arguments: &Arguments<'a>, from: usize) -> Result<Vec<&'a str>, Refusal> {
    (from..arguments.count()).map(|position| arguments.text(position)).collect()
}

static WEIGHTED_STRINGS_FROM_CSV: FunctionRow = FunctionRow {
    name: "WeightedStringsFromCSV",
    category: Category::Distribution,
    doc: "texts of a column of CSV files, weighted by another column",
    notes: "arguments are the column of the texts, that of the weights, then files; 'map' before the files draws by \
            the input itself instead of by its hash; rows without a weight are not drawn",
    examples: &[Example("WeightedStringsFromCSV('Name','Weight','data/male_firstnames')", 0, "Steven")],
    overloads: &[Overload::new(
        "distributions",
        Type::Long,
        Type::String,
        &[Constructor::with_rest(&[Type::String, Type::String], Type::String)],
        |arguments| weighted_column(arguments.text(0)?, arguments.text(1)?, &words(arguments, 2)?),
    )],
    ..FunctionRow::NEW
};

static CSV_SAMPLER: FunctionRow = FunctionRow {
    name: "CSVSampler",
    category: Category::Distribution,
    doc: "distinct texts of a column of CSV files, weighted by the rows that have them",
    notes: "arguments are the column of the texts, that of the weights, modes, then files; modes are 'sum', 'avg', \
            'min' or 'max' (of the weights of a text's rows), 'count' (of its rows; likewise without a mode), 'name' \
            (all texts alike) and 'map' (drawn by the input itself instead of by its hash)",
    examples: &[Example("CSVSampler('COUNTRY_CODE','n/a','name','data/countries.csv')", 0, "CO")],
    overloads: &[Overload::new(
        "distributions",
        Type::Long,
        Type::String,
        &[Constructor::with_rest(&[Type::String, Type::String], Type::String)],
        |arguments| sampled_column(arguments.text(0)?, arguments.text(1)?, &words(arguments, 2)?),
    )],
    ..FunctionRow::NEW
};

static CSV_FREQUENCY_SAMPLER: FunctionRow = FunctionRow {
    name: "CSVFrequencySampler",
    category: Category::Distribution,
    doc: "distinct texts of a column of a CSV file, each as often as it is there",
    examples: &[Example("CSVFrequencySampler('data/us_places','timezone')", 0, "America/New_York")],
    overloads: &[Overload::new(
        "distributions",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::String, Type::String])],
        |arguments| frequencies(arguments.text(0)?, arguments.text(1)?, b','),
    )],
    ..FunctionRow::NEW
};

static DELIM_FREQUENCY_SAMPLER: FunctionRow = FunctionRow {
    name: "DelimFrequencySampler",
    category: Category::Distribution,
    doc: "distinct texts of a column of a file whose fields are separated by a character, each as often as it is there",
    notes: "the third argument is the separator as a text of one character; NoSQLBench has no way to write it",
    examples: &[Example("DelimFrequencySampler('data/us_places','state_id',',')", 0, "NC")],
    overloads: &[Overload::new(
        "distributions",
        Type::Long,
        Type::String,
        // The reference wants a `char`, which no recipe can give.
        &[Constructor::of(&[Type::String, Type::String, Type::String])],
        |arguments| match arguments.text(2)?.as_bytes() {
            [separator] if separator.is_ascii() && !b"\"\r\n".contains(separator) => {
                frequencies(arguments.text(0)?, arguments.text(1)?, *separator)
            }
            _ => {
                Err(Refusal::new("the separator must be one ASCII character, and no quote or line end").at(2))
            }
        },
    )],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_drawn_as_often_as_its_weight_says() {
        let weights = [(0, 1.0), (1, 2.0), (2, 5.0), (3, 0.5), (4, 0.0)];
        let table = AliasTable::new(&weights).expect("there are events");
        const DRAWS: u32 = 100_000;
        let mut counts = [0u32; 5];
        for draw in 0..DRAWS {
            let event = table.draw(f64::from(draw) / f64::from(DRAWS)).expect("a unit is within");
            counts[event] += 1;
        }
        for (event, weight) in weights {
            let expected = f64::from(DRAWS) * weight / 8.5;
            assert!((f64::from(counts[event]) - expected).abs() <= 5.0, "event {event}: {counts:?}");
        }
        assert!(table.draw(1.0).is_err() && table.draw(-0.5).is_err());
    }

    #[test]
    fn sums_are_compensated_and_infinities_stay() {
        assert_eq!(stream_sum(std::iter::repeat_n(0.1, 10)), 1.0);
        assert_eq!(stream_sum([f64::INFINITY, 1.0].into_iter()), f64::INFINITY);
        assert_eq!(stream_sum([1e100, 1.0, -1e100].into_iter()), 0.0);
    }

    #[test]
    fn weights_are_parsed_as_java_splits_and_trims() {
        let parse = |spec| {
            Weighted::parse(spec, &[';', ','], |name| Ok(name.to_owned())).map(|weighted| weighted.values)
        };
        assert_eq!(parse("phone:10; computer :10;;").expect("it parses"), ["phone", "computer"]);
        assert_eq!(parse("a,b;c:1e3").expect("it parses"), ["a", "b", "c"]);
        assert!(parse("a:x").is_err() && parse(";;").is_err());
        assert_eq!(parse("").expect("it parses"), [""]);
    }
}
