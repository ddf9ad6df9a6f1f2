//! What YCSB's core workload sends: which record an operation is for, documents of its fields, and the lengths of
//! scans. `ycsb` holds what they are made of.

use super::curves::Harmonics;
use super::function::{Produce, by_value};
use super::ycsb::{self, Draw, Zipfian, at_least, fraction, key_writer, seed, write_field};
use super::{
    Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow, Overload,
    Refusal, Type, hash,
};
use crate::value::{self, Value, close_bson_document, open_bson_document};
use bson::spec::{BinarySubtype, ElementType};
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&CHOOSER, &SCAN_LENGTH, &RECORD, &BATCH, &UPSERTS, &FIELDS, &PROJECTION];

/// Where our own functions would stand in the reference, next to those like them.
const PACKAGE: &str = "from_long.to_bson";

/// Draws until a record is found that is there; a distribution that hardly ever meets one ends at the last.
const DRAWS: usize = 10_000;

static CHOOSER: FunctionRow = FunctionRow {
    name: "YcsbChooser",
    category: Category::Distribution,
    doc: "the record that an operation of YCSB's core workload is for, among those that are there",
    notes: "`YcsbChooser(requestdistribution, recordcount, insertstart, insertcount, operationcount, insertproportion)`, \
            as YCSB's properties of these names: 'uniform', 'zipfian', 'latest', 'hotspot', 'sequential' or 'exponential'. An \
            insertcount of 0 is all from insertstart to recordcount. Four more are hotspotdatafraction and \
            hotspotopnfraction (0.2 and 0.8), exponential.percentile and exponential.frac (95 and 0.8571428571). \
            Records inserted by the run itself are chosen once they are acknowledged, where YCSB would choose them. \
            The draw is a hash of the input: YCSB's comes from a random source",
    pure: false,
    reads_acknowledged: true,
    ours: true,
    examples: &[
        Example("YcsbChooser('zipfian',1000)", 0, "251"),
        Example("YcsbChooser('latest',1000)", 0, "994"),
        Example("YcsbChooser('uniform',1000,500,100,0,0)", 0, "539"),
    ],
    overloads: &[Overload::new(
        "from_long.to_long",
        Type::Long,
        Type::Long,
        &[
            Constructor::of(&[Type::String, Type::Long]),
            Constructor::of(&[Type::String, Type::Long, Type::Long, Type::Long, Type::Long, Type::Double]),
            Constructor::of(&[
                Type::String,
                Type::Long,
                Type::Long,
                Type::Long,
                Type::Long,
                Type::Double,
                Type::Double,
                Type::Double,
                Type::Double,
                Type::Double,
            ]),
        ],
        chooser,
    )],
};

/// The records that are loaded, from the arguments (recordcount, insertstart, insertcount), the last two of which
/// may be left out: how many there are in all, the first, and how many from there.
fn loaded(arguments: &Arguments<'_>, at: usize) -> Result<(i64, i64, i64), Refusal> {
    let all = at_least(arguments, at, "recordcount", 1)?;
    let optional = |position: usize, what: &str| match arguments.count() > position {
        true => at_least(arguments, position, what, 0),
        false => Ok(0),
    };
    let (first, count) = (optional(at + 1, "insertstart")?, optional(at + 2, "insertcount")?);
    if first >= all {
        return Err(
            Refusal::new(format!("an insertstart of {first} leaves none of {all} records")).at(at + 1)
        );
    }
    if count > all - first {
        return Err(Refusal::new(format!(
            "insertstart {first} and insertcount {count} go beyond recordcount {all}"
        ))
        .at(at + 2)
        .help("YCSB wants recordcount to be at least their sum"));
    }
    Ok((all, first, if count == 0 { all - first } else { count }))
}

fn chooser(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let (loaded, first, records) = loaded(arguments, 1)?;
    let number = |position: usize, default: f64| match arguments.count() {
        0..10 => Ok(default),
        _ => arguments.double(position),
    };
    let share = |value: f64, position: usize| {
        if (0.0..=1.0).contains(&value) {
            Ok(value)
        } else {
            Err(Refusal::new(format!("a fraction must be from 0 to 1, not {value}")).at(position))
        }
    };
    let draw = match arguments.text(0)? {
        "uniform" => Draw::Uniform { first, records },
        "sequential" => Draw::Sequential { first, records },
        "zipfian" => {
            let (operations, inserts) = match arguments.count() {
                2 => (0, 0.0),
                _ => (at_least(arguments, 4, "operationcount", 0)?, arguments.double(5)?),
            };
            if inserts.is_nan() || inserts < 0.0 {
                return Err(Refusal::new(format!("the insertproportion is not negative: {inserts}")).at(5));
            }
            // Twice the inserts that are to come, so that what is popular stays so while records are added.
            let new = (operations as f64 * inserts * 2.0) as i64;
            Draw::Scrambled {
                zipfian: ycsb::scrambled(),
                first,
                items: records.saturating_add(new).saturating_add(1),
            }
        }
        "latest" => Draw::latest(loaded, ycsb::THETA),
        "hotspot" => Draw::hotspot(first, records, share(number(6, 0.2)?, 6)?, share(number(7, 0.8)?, 7)?),
        "exponential" => {
            let (percentile, frac) = (number(8, 95.0)?, number(9, 0.8571428571)?);
            if !(percentile > 0.0 && percentile < 100.0) {
                let message =
                    format!("exponential.percentile must be above 0 and below 100, not {percentile}");
                return Err(Refusal::new(message).at(8));
            }
            if frac.is_nan() || frac <= 0.0 {
                return Err(Refusal::new(format!("exponential.frac must be above 0, not {frac}")).at(9));
            }
            Draw::exponential(percentile, loaded as f64 * frac)
        }
        other => {
            return Err(Refusal::new(format!("'{other}' is no request distribution"))
                .at(0)
                .help("there are uniform, zipfian, latest, hotspot, sequential and exponential"));
        }
    };
    Ok(Function::long_to_long(move |v, cx| {
        let inserted = i64::try_from(cx.acknowledged.load(Acquire)).unwrap_or(i64::MAX);
        let last = loaded.saturating_add(inserted) - 1;
        Ok(draw.within(v, last, DRAWS).unwrap_or(last))
    }))
}

/// Numbers from `least` to `most`, by one of YCSB's distributions of lengths.
enum Length {
    Constant(i64),
    Uniform { least: i64, most: i64 },
    Zipfian { zipfian: Zipfian, least: i64, most: i64 },
}

impl Length {
    /// From three arguments: the distribution, the least and the most.
    fn of(arguments: &Arguments<'_>, at: usize, constant: bool) -> Result<Length, Refusal> {
        let least = at_least(arguments, at + 1, "least length", 0)?;
        let most = at_least(arguments, at + 2, "greatest length", 0)?;
        let name = arguments.text(at)?;
        if constant && name == "constant" {
            return Ok(Length::Constant(most));
        }
        if least > most {
            return Err(
                Refusal::new(format!("the least length, {least}, is above the greatest, {most}")).at(at + 1)
            );
        }
        match name {
            "uniform" => Ok(Length::Uniform { least, most }),
            "zipfian" => {
                let items = most - least + 1;
                let zipfian = Zipfian::of(items, &Harmonics::new(items, ycsb::THETA));
                Ok(Length::Zipfian { zipfian, least, most })
            }
            "histogram" => Err(Refusal::new("lengths from a histogram file are not supported")
                .at(at)
                .help("there are constant, uniform and zipfian")),
            other => Err(Refusal::new(format!("'{other}' is no distribution of lengths")).at(at).help(
                if constant {
                    "there are constant, uniform and zipfian"
                } else {
                    "there are uniform and zipfian"
                },
            )),
        }
    }

    fn at(&self, hash: i64) -> i64 {
        match self {
            Length::Constant(length) => *length,
            Length::Uniform { least, most } => least + hash % (most - least + 1),
            Length::Zipfian { zipfian, least, most } => (least + zipfian.at(fraction(hash))).min(*most),
        }
    }

    fn most(&self) -> i64 {
        match self {
            Length::Constant(most) | Length::Uniform { most, .. } | Length::Zipfian { most, .. } => *most,
        }
    }
}

static SCAN_LENGTH: FunctionRow = FunctionRow {
    name: "YcsbScanLength",
    category: Category::Distribution,
    doc: "how many records a scan of YCSB's reads",
    notes: "`YcsbScanLength(scanlengthdistribution, minscanlength, maxscanlength)`: 'uniform' or 'zipfian'",
    ours: true,
    examples: &[Example("YcsbScanLength('uniform',1,100)", 0, "50")],
    overloads: &[Overload::new(
        "from_long.to_int",
        Type::Long,
        Type::Int,
        &[Constructor::of(&[Type::String, Type::Int, Type::Int])],
        |arguments| {
            let length = Length::of(arguments, 0, false)?;
            // Not the draw by which the record was chosen.
            Ok(Function::long_to_int(move |v, _| Ok(length.at(hash::long(!v)).max(1) as i32)))
        },
    )],
    ..FunctionRow::NEW
};

/// The fields of a record.
struct Layout {
    /// Name and number.
    names: Vec<String>,
    length: Length,
}

/// Most fields that a record may have.
const MOST_FIELDS: i64 = 100_000;

impl Layout {
    /// From the arguments (fieldnameprefix, fieldcount, fieldlengthdistribution, minfieldlength, fieldlength).
    fn of(arguments: &Arguments<'_>, at: usize) -> Result<Layout, Refusal> {
        let names = names(arguments, at)?;
        let length = Length::of(arguments, at + 2, true)?;
        if i128::from(length.most()) * names.len() as i128 > i128::from(ycsb::MOST_BYTES) {
            let message = format!(
                "{} fields of {} bytes are more than a document may hold",
                names.len(),
                length.most()
            );
            return Err(Refusal::new(message).at(at + 4));
        }
        Ok(Layout { names, length })
    }

    /// How long field `number` is in the record (or for the cycle) `v`.
    fn length(&self, v: i64, number: usize) -> usize {
        self.length.at(hash::long(seed(v, number as i64))) as usize
    }

    fn value(&self, v: i64, number: usize) -> (String, Value) {
        let mut bytes = Vec::new();
        write_field(seed(v, number as i64), self.length(v, number), &mut bytes);
        (self.names[number].clone(), Value::Bytes(bytes.into()))
    }

    fn write_bson(&self, v: i64, number: usize, out: &mut Vec<u8>) {
        out.push(ElementType::Binary as u8);
        out.extend_from_slice(self.names[number].as_bytes());
        out.push(0);
        let length = self.length(v, number);
        out.extend_from_slice(&(length as u32).to_le_bytes());
        out.push(BinarySubtype::Generic.into());
        write_field(seed(v, number as i64), length, out);
    }
}

/// The names of fields, from the arguments (fieldnameprefix, fieldcount).
fn names(arguments: &Arguments<'_>, at: usize) -> Result<Vec<String>, Refusal> {
    let prefix = arguments.text(at)?;
    if prefix.contains('\0') {
        return Err(Refusal::new("the name of a field cannot hold a NUL character").at(at));
    }
    let count = at_least(arguments, at + 1, "fieldcount", 1)?;
    if count > MOST_FIELDS {
        return Err(Refusal::new(format!("a fieldcount of {count} is more than {MOST_FIELDS}")).at(at + 1));
    }
    Ok((0..count).map(|number| format!("{prefix}{number}")).collect())
}

/// Appends the key of a record.
type WriteKey = Box<dyn Fn(i64, &mut Vec<u8>) + Send + Sync>;

/// A whole record: `_id` and all fields.
struct Record {
    write_key: WriteKey,
    layout: Layout,
}

impl Record {
    /// From the arguments (insertorder, zeropadding) and those of the layout.
    fn of(arguments: &Arguments<'_>) -> Result<Record, Refusal> {
        Ok(Record { write_key: Box::new(key_writer(arguments, 0)?), layout: Layout::of(arguments, 2)? })
    }

    fn value(&self, record: i64) -> Value {
        let mut key = Vec::new();
        (self.write_key)(record, &mut key);
        let id = ("_id".to_owned(), super::function::text_value(key));
        let fields = (0..self.layout.names.len()).map(|number| self.layout.value(record, number));
        Value::Document(std::iter::once(id).chain(fields).collect())
    }

    fn write_bson(&self, record: i64, out: &mut Vec<u8>) {
        let start = open_bson_document(out);
        out.push(ElementType::String as u8);
        out.extend_from_slice(b"_id\0");
        let text = value::open_bson_text(out);
        (self.write_key)(record, out);
        value::close_bson_text(text, out);
        for number in 0..self.layout.names.len() {
            self.layout.write_bson(record, number, out);
        }
        close_bson_document(start, out);
    }
}

impl Produce<i64> for Record {
    fn value(&self, record: i64, _: &mut Context) -> Eval<Value> {
        Ok(Record::value(self, record))
    }

    fn write_bson(&self, record: i64, _: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        Record::write_bson(self, record, out);
        Ok(Some(ElementType::EmbeddedDocument))
    }
}

/// Arguments of a record: insertorder, zeropadding, then those of its fields.
const RECORD_FORM: &[Type] =
    &[Type::String, Type::Int, Type::String, Type::Int, Type::String, Type::Int, Type::Int];

static RECORD: FunctionRow = FunctionRow {
    name: "YcsbRecord",
    category: Category::Document,
    doc: "the document that YCSB inserts for the record of this number",
    notes: "`YcsbRecord(insertorder, zeropadding, fieldnameprefix, fieldcount, fieldlengthdistribution, minfieldlength, \
            fieldlength)`, as YCSB's properties of these names. Keys and names are YCSB's; the values, binary, are as \
            long as YCSB's and hold the same characters, but hang on the record alone",
    ours: true,
    examples: &[Example(
        "YcsbRecord('ordered',4,'field',1,'constant',1,3)",
        7,
        "{_id=user0007, field0=java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]}",
    )],
    overloads: &[Overload::new(
        PACKAGE,
        Type::Long,
        Type::Document,
        &[Constructor::of(RECORD_FORM)],
        |arguments| Ok(Function::LongToObject(Arc::new(Record::of(arguments)?))),
    )],
    ..FunctionRow::NEW
};

/// Records that are written at once.
struct Batch {
    record: Record,
    size: i64,
    first: i64,
    end: i64,
    /// As updates that insert what is not there, rather than as documents.
    upserts: bool,
}

impl Batch {
    /// From the arguments (batchsize, recordcount, insertstart, insertcount) and those of a record.
    fn of(arguments: &Arguments<'_>, upserts: bool) -> Result<Function, Refusal> {
        const RECORD: usize = 4;
        let size = at_least(arguments, 0, "batchsize", 1)?;
        let (_, first, count) = loaded(arguments, 1)?;
        let record = Record::of(&Arguments(&arguments.0[RECORD..]))
            .map_err(|refusal| Refusal { argument: refusal.argument.map(|at| at + RECORD), ..refusal })?;
        Ok(Function::LongToObject(Arc::new(Batch { record, size, first, end: first + count, upserts })))
    }

    fn records(&self, batch: i64) -> Eval<std::ops::Range<i64>> {
        let from = batch.checked_mul(self.size).and_then(|skipped| skipped.checked_add(self.first));
        match from.filter(|from| (self.first..self.end).contains(from)) {
            Some(from) => Ok(from..from.saturating_add(self.size).min(self.end)),
            None => Err(EvalError::boxed(
                "IllegalArgumentException",
                format!("there is no batch {batch} of records {} to {}", self.first, self.end),
            )),
        }
    }

    /// One of what is written.
    fn part(&self, record: i64) -> Value {
        let document = self.record.value(record);
        if !self.upserts {
            return document;
        }
        let Value::Document(fields) = &document else { return document };
        let named = |name: &str, value: Value| (name.to_owned(), value);
        let query = Value::Document(fields.iter().take(1).cloned().collect());
        // YCSB replaces a record that stands alone, and sets the fields of those in a batch.
        let change = if self.size == 1 { document } else { Value::Document(vec![named("$set", document)]) };
        Value::Document(vec![named("q", query), named("u", change), named("upsert", Value::Bool(true))])
    }
}

impl Produce<i64> for Batch {
    fn value(&self, batch: i64, _: &mut Context) -> Eval<Value> {
        Ok(Value::List(self.records(batch)?.map(|record| self.part(record)).collect()))
    }

    fn write_bson(&self, batch: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        if self.upserts {
            return super::function::bson_of(&self.value(batch, context)?, out);
        }
        let records = self.records(batch)?;
        let start = open_bson_document(out);
        for (position, record) in records.enumerate() {
            out.push(ElementType::EmbeddedDocument as u8);
            value::write_long(position as i64, out);
            out.push(0);
            self.record.write_bson(record, out);
        }
        close_bson_document(start, out);
        Ok(Some(ElementType::Array))
    }
}

const BATCH_FORM: &[Constructor] = &[Constructor::of(&[
    Type::Int,
    Type::Long,
    Type::Long,
    Type::Long,
    Type::String,
    Type::Int,
    Type::String,
    Type::Int,
    Type::String,
    Type::Int,
    Type::Int,
])];

static BATCH: FunctionRow = FunctionRow {
    name: "YcsbBatch",
    category: Category::Document,
    doc: "the documents that YCSB inserts at once, for the batch of this number",
    notes: "`YcsbBatch(batchsize, recordcount, insertstart, insertcount, …)` and then as YcsbRecord; an insertcount of 0 \
            is all from insertstart to recordcount. The last batch may be smaller, and one beyond the last record is \
            an error",
    ours: true,
    examples: &[Example(
        "YcsbBatch(2,13,10,0,'ordered',1,'f',1,'constant',1,1)",
        1,
        "[{_id=user12, f0=java.nio.HeapByteBuffer[pos=0 lim=1 cap=1]}]",
    )],
    overloads: &[Overload::new(PACKAGE, Type::Long, Type::List, BATCH_FORM, |arguments| {
        Batch::of(arguments, false)
    })],
    ..FunctionRow::NEW
};

static UPSERTS: FunctionRow = FunctionRow {
    name: "YcsbUpserts",
    category: Category::Document,
    doc: "the updates by which YCSB inserts at once where mongodb.upsert is true, for the batch of this number",
    notes: "arguments are those of YcsbBatch. With a batchsize of 1 the record is replaced, else its fields are set",
    ours: true,
    examples: &[Example(
        "YcsbUpserts(1,100,0,0,'ordered',1,'f',1,'constant',1,0)",
        12,
        "[{q={_id=user12}, u={_id=user12, f0=java.nio.HeapByteBuffer[pos=0 lim=0 cap=0]}, upsert=true}]",
    )],
    overloads: &[Overload::new(PACKAGE, Type::Long, Type::List, BATCH_FORM, |arguments| {
        Batch::of(arguments, true)
    })],
    ..FunctionRow::NEW
};

/// Which of a record's fields an operation is for, other than the draw of the record itself.
fn chosen_field(v: i64, fields: usize) -> usize {
    (hash::long(hash::long(!v)) % fields as i64) as usize
}

/// The fields that an update sets.
struct Update {
    layout: Layout,
    all: bool,
}

impl Update {
    fn fields(&self, v: i64) -> std::ops::Range<usize> {
        let fields = self.layout.names.len();
        if self.all {
            return 0..fields;
        }
        let one = chosen_field(v, fields);
        one..one + 1
    }
}

impl Produce<i64> for Update {
    fn value(&self, v: i64, _: &mut Context) -> Eval<Value> {
        Ok(Value::Document(self.fields(v).map(|number| self.layout.value(v, number)).collect()))
    }

    fn write_bson(&self, v: i64, _: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        let start = open_bson_document(out);
        for number in self.fields(v) {
            self.layout.write_bson(v, number, out);
        }
        close_bson_document(start, out);
        Ok(Some(ElementType::EmbeddedDocument))
    }
}

static FIELDS: FunctionRow = FunctionRow {
    name: "YcsbUpdate",
    category: Category::Document,
    doc: "the fields that an update of YCSB's sets: one, or all",
    notes: "`YcsbUpdate(writeallfields, fieldnameprefix, fieldcount, fieldlengthdistribution, minfieldlength, \
            fieldlength)`, as YCSB's properties of these names",
    ours: true,
    examples: &[Example(
        "YcsbUpdate(false,'field',10,'constant',1,3)",
        0,
        "{field9=java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]}",
    )],
    overloads: &[Overload::new(
        PACKAGE,
        Type::Long,
        Type::Document,
        &[Constructor::of(&[Type::Boolean, Type::String, Type::Int, Type::String, Type::Int, Type::Int])],
        |arguments| {
            let update = Update { all: flag(arguments, 0)?, layout: Layout::of(arguments, 1)? };
            Ok(Function::LongToObject(Arc::new(update)))
        },
    )],
    ..FunctionRow::NEW
};

static PROJECTION: FunctionRow = FunctionRow {
    name: "YcsbProjection",
    category: Category::Document,
    doc: "the projection by which YCSB reads: none for all fields, else one field of ten",
    notes: "`YcsbProjection(readallfields, fieldnameprefix, fieldcount)`, as YCSB's properties of these names; where all \
            fields are read it is unset, so that the command has no projection",
    ours: true,
    examples: &[
        Example("YcsbProjection(false,'field',10)", 0, "{field9=1}"),
        Example("YcsbProjection(true,'field',10)", 0, "unset"),
    ],
    overloads: &[Overload::new(
        PACKAGE,
        Type::Long,
        Type::Object,
        &[Constructor::of(&[Type::Boolean, Type::String, Type::Int])],
        |arguments| {
            let all = flag(arguments, 0)?;
            let names = names(arguments, 1)?;
            Ok(Function::LongToObject(by_value(move |v, _| {
                if all {
                    return Ok(Value::Unset);
                }
                let name = names[chosen_field(v, names.len())].clone();
                Ok(Value::Document(vec![(name, Value::Int(1))]))
            })))
        },
    )],
    ..FunctionRow::NEW
};

fn flag(arguments: &Arguments<'_>, position: usize) -> Result<bool, Refusal> {
    match arguments.constant(position)? {
        Value::Bool(flag) => Ok(flag),
        _ => Err(Refusal::new("it must be true or false").at(position)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Argument, Map};
    use std::collections::HashMap;
    use std::sync::atomic::Ordering;

    fn build(row: &FunctionRow, arguments: &[Argument]) -> Function {
        match (row.overloads[0].build)(&Arguments(arguments)) {
            Ok(function) => function,
            Err(refusal) => panic!("{}: {refusal:?}", row.name),
        }
    }

    fn text(text: &str) -> Argument {
        Argument::Text(text.to_owned())
    }

    /// A chooser for (recordcount, insertstart, insertcount, operationcount) and an insertproportion.
    fn choose(distribution: &str, numbers: [i64; 4], proportion: f64) -> Map<i64, i64> {
        let mut arguments = vec![text(distribution)];
        arguments.extend(numbers.map(Argument::Long));
        arguments.push(Argument::Double(proportion));
        let Function::LongToLong(map) = build(&CHOOSER, &arguments) else { panic!("it gives numbers") };
        map
    }

    const DISTRIBUTIONS: [&str; 6] = ["uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"];

    #[test]
    fn only_records_that_are_there_are_chosen() {
        for distribution in DISTRIBUTIONS {
            for (loaded, operations, proportion) in
                [(1, 0, 0.0), (2, 100, 1.0), (1000, 0, 0.0), (1000, 100_000, 0.05), (i64::MAX, 1, 0.5)]
            {
                let choose = choose(distribution, [loaded, 0, 0, operations], proportion);
                for inserted in [0, 1, 77] {
                    let mut context = Context::default();
                    context.acknowledged.store(inserted, Ordering::Release);
                    let last = loaded.saturating_add(inserted as i64) - 1;
                    for cycle in (0..500).chain([i64::MIN, -1, i64::MAX]) {
                        let record = choose(cycle, &mut context).expect("it is chosen");
                        assert!((0..=last).contains(&record), "{distribution} of {loaded}: {record}");
                    }
                }
            }
        }
    }

    #[test]
    fn part_of_the_records_is_chosen_from_where_it_starts() {
        for distribution in ["uniform", "zipfian", "hotspot", "sequential"] {
            let choose = choose(distribution, [1000, 400, 100, 0], 0.0);
            for cycle in 0..2000 {
                let record = choose(cycle, &mut Context::default()).expect("it is chosen");
                // YCSB's zipfian is over one record more than there are.
                let end = if distribution == "zipfian" { 501 } else { 500 };
                assert!((400..end).contains(&record), "{distribution}: {record}");
            }
        }
    }

    #[test]
    fn new_records_are_chosen_once_they_are_acknowledged() {
        for distribution in ["zipfian", "latest", "exponential"] {
            let choose = choose(distribution, [100, 0, 0, 1000], 0.05);
            let mut context = Context::default();
            let mut seen = |inserted: u64| {
                context.acknowledged.store(inserted, Ordering::Release);
                (0..5000).any(|cycle| choose(cycle, &mut context).expect("it is chosen") >= 100)
            };
            assert!(!seen(0), "{distribution}");
            assert!(seen(50), "{distribution}");
        }
    }

    /// The shares of the most chosen, as YCSB's own classes gave them, with what this chooser is over.
    #[test]
    fn shares_are_those_that_ycsb_gives() {
        const MEASURED: &str = include_str!("../../tests/golden/ycsb.txt");
        const DRAWN: i64 = 400_000;
        // CoreWorkload's scrambled chooser of 999 records is over 1000, of which the last is drawn again.
        for (title, distribution, loaded, drawn_again) in [
            ("scrambled zipfian 0..999", "zipfian", 999, Some(999)),
            ("latest over 1000 acknowledged", "latest", 1000, None),
        ] {
            let line = MEASURED.lines().find(|line| line.starts_with(title)).expect(title);
            let choose = choose(distribution, [loaded, 0, 0, 0], 0.0);
            let mut context = Context::default();
            let mut counts: HashMap<i64, f64> = HashMap::new();
            for cycle in 0..DRAWN {
                *counts.entry(choose(cycle, &mut context).expect("it is chosen")).or_default() += 1.0;
            }
            for pair in line.rsplit('\t').next().expect("a line has fields").split_whitespace() {
                let (item, share) = pair.split_once(':').expect("item:share");
                let (item, share): (i64, f64) =
                    (item.parse().expect("a number"), share.parse().expect("a share"));
                if drawn_again == Some(item) {
                    continue;
                }
                let found = counts.get(&item).copied().unwrap_or_default() / DRAWN as f64;
                let error = (share * (1.0 - share) * (1.0 / DRAWN as f64 + 1.0 / 4e6)).sqrt();
                // The share of the one that is drawn again is spread over the others.
                let tolerance = 3.0 * error + if drawn_again.is_some() { share * 0.001 } else { 5e-6 };
                assert!((found - share).abs() < tolerance, "{title}, {item}: {found}, not {share}");
            }
        }
    }

    /// Arguments of a record after (insertorder, zeropadding).
    fn layout(fields: i32, distribution: &str, least: i32, most: i32) -> Vec<Argument> {
        vec![
            text("field"),
            Argument::Int(fields),
            text(distribution),
            Argument::Int(least),
            Argument::Int(most),
        ]
    }

    fn producer(row: &FunctionRow, arguments: &[Argument]) -> super::super::Producer<i64> {
        let Function::LongToObject(producer) = build(row, arguments) else { panic!("it gives documents") };
        producer
    }

    /// The document (or array) that is sent, which has to be the one that the value stands for.
    fn sent(producer: &super::super::Producer<i64>, v: i64) -> bson::Document {
        let mut context = Context::default();
        let (mut sent, mut made) = (Vec::new(), Vec::new());
        producer.write_bson(v, &mut context, &mut sent).expect("it is written");
        producer.value(v, &mut context).expect("it is made").write_bson(&mut made).expect("it is written");
        assert_eq!(sent, made, "{v}");
        bson::deserialize_from_slice(&sent).expect("it is BSON")
    }

    fn lengths(document: &bson::Document) -> Vec<usize> {
        let binary = |(_, value): (&String, &bson::Bson)| match value {
            bson::Bson::Binary(binary) => Some(binary.bytes.len()),
            _ => None,
        };
        document.iter().filter_map(binary).collect()
    }

    #[test]
    fn a_record_has_ycsbs_key_and_fields_of_exactly_their_length() {
        let mut arguments = vec![text("hashed"), Argument::Int(1)];
        arguments.extend(layout(10, "constant", 1, 100));
        let record = producer(&RECORD, &arguments);
        let document = sent(&record, 9);
        assert_eq!(document.get_str("_id").ok(), Some("user9105318085603802964"));
        let names: Vec<&String> = document.keys().skip(1).collect();
        assert_eq!(
            names,
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
                .map(|n| format!("field{n}"))
                .iter()
                .collect::<Vec<_>>()
        );
        assert_eq!(lengths(&document), [100; 10]);
        assert_eq!(sent(&record, 9), document);
        assert_ne!(sent(&record, 10).get("field0"), document.get("field0"));
        assert_ne!(document.get("field1"), document.get("field0"));
    }

    #[test]
    fn lengths_are_within_their_distribution() {
        for distribution in ["uniform", "zipfian"] {
            let mut arguments = vec![text("ordered"), Argument::Int(1)];
            arguments.extend(layout(4, distribution, 3, 9));
            let record = producer(&RECORD, &arguments);
            let all: Vec<usize> = (0..300).flat_map(|number| lengths(&sent(&record, number))).collect();
            assert_eq!(all.iter().min(), Some(&3), "{distribution}");
            assert_eq!(all.iter().max(), Some(&9), "{distribution}");
            let shortest = all.iter().filter(|length| **length == 3).count();
            assert_eq!(shortest > all.len() / 4, distribution == "zipfian", "{distribution}: {shortest}");
        }
    }

    #[test]
    fn a_batch_holds_its_records_and_the_last_what_is_left() {
        let arguments = |size: i32| {
            let mut arguments = vec![Argument::Int(size)];
            arguments.extend([200, 100, 10].map(Argument::Long));
            arguments.extend([text("ordered"), Argument::Int(1)]);
            arguments.extend(layout(1, "constant", 1, 5));
            arguments
        };
        let batch = producer(&BATCH, &arguments(4));
        let ids = |number: i64| -> Vec<String> {
            let array = sent(&batch, number);
            let id = |value: &bson::Bson| value.as_document()?.get_str("_id").ok().map(str::to_owned);
            array.values().filter_map(id).collect()
        };
        assert_eq!(ids(0), ["user100", "user101", "user102", "user103"]);
        assert_eq!(ids(2), ["user108", "user109"]);
        let mut out = Vec::new();
        for none in [3, -1, i64::MAX] {
            assert!(batch.write_bson(none, &mut Context::default(), &mut out).is_err(), "{none}");
        }
        for (size, set) in [(4, true), (1, false)] {
            let upserts = sent(&producer(&UPSERTS, &arguments(size)), 0);
            assert_eq!(upserts.len() as i32, size);
            let first = upserts.get_document("0").expect("an update");
            assert_eq!(first.get_document("q").ok(), Some(&bson::doc! { "_id": "user100" }));
            assert_eq!(first.get_bool("upsert").ok(), Some(true));
            assert_eq!(first.get_document("u").expect("a change").contains_key("$set"), set, "{size}");
        }
    }

    #[test]
    fn an_update_sets_one_field_or_all_and_a_read_asks_for_one_or_no_projection() {
        let update = |all: bool| {
            let mut arguments = vec![Argument::Bool(all)];
            arguments.extend(layout(10, "constant", 1, 100));
            producer(&FIELDS, &arguments)
        };
        let mut met = std::collections::HashSet::new();
        for cycle in 0..300 {
            let one = sent(&update(false), cycle);
            assert_eq!(lengths(&one), [100]);
            met.extend(one.keys().cloned());
            assert_eq!(lengths(&sent(&update(true), cycle)), [100; 10]);
        }
        assert_eq!(met.len(), 10);
        let projection = |all: bool| {
            let arguments = [Argument::Bool(all), text("field"), Argument::Int(10)];
            producer(&PROJECTION, &arguments).value(0, &mut Context::default()).expect("it is made")
        };
        assert_eq!(projection(true), Value::Unset);
        assert!(matches!(projection(false), Value::Document(fields) if fields.len() == 1));
    }

    #[test]
    fn what_ycsb_would_refuse_is_refused() {
        let chooser = |distribution: &str, numbers: [i64; 4]| {
            let mut arguments = vec![text(distribution)];
            arguments.extend(numbers.map(Argument::Long));
            arguments.push(Argument::Double(0.0));
            super::chooser(&Arguments(&arguments)).err().map(|refusal| refusal.argument)
        };
        assert_eq!(chooser("zipfian", [1000, 0, 0, 0]), None);
        assert_eq!(chooser("gaussian", [1000, 0, 0, 0]), Some(Some(0)));
        assert_eq!(chooser("zipfian", [0, 0, 0, 0]), Some(Some(1)));
        assert_eq!(chooser("zipfian", [10, 10, 0, 0]), Some(Some(2)));
        assert_eq!(chooser("zipfian", [10, 5, 6, 0]), Some(Some(3)));
        let mut arguments = vec![text("hashed"), Argument::Int(1)];
        arguments.extend(layout(1000, "constant", 1, 1_000_000));
        assert!((RECORD.overloads[0].build)(&Arguments(&arguments)).is_err());
        for (distribution, least, most) in [("histogram", 1, 2), ("normal", 1, 2), ("uniform", 3, 2)] {
            let mut arguments = vec![text("hashed"), Argument::Int(1)];
            arguments.extend(layout(1, distribution, least, most));
            assert!((RECORD.overloads[0].build)(&Arguments(&arguments)).is_err(), "{distribution}");
        }
    }
}
