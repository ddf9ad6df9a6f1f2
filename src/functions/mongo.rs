//! Values that MongoDB has and the reference has not: object ids, dates from a base, decimals, documents,
//! binaries, GeoJSON points and vectors. What is large goes straight into the BSON of a command.

use super::function::{Produce, Producer, Transform};
use super::{
    Argument, Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow,
    Map, Overload, Refusal, Type, hash, joda,
};
use crate::value::{self, Value, close_bson_document, open_bson_document};
use bson::Decimal128;
use bson::spec::{BinarySubtype, ElementType};
use std::sync::Arc;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &OBJECT_ID,
    &HASHED_OBJECT_ID,
    &BSON_DATE,
    &TO_DECIMAL_128,
    &DOC,
    &BINARY,
    &GEO_POINT,
    &VECTOR,
    &BINARY_VECTOR_FLOAT32,
    &BINARY_VECTOR_INT8,
    &BINARY_VECTOR_BITS,
];

/// Where our own functions would stand in the reference, next to those like them.
const PACKAGE: &str = "from_long.to_bson";

const NOTHING: &[Constructor] = &[Constructor::of(&[])];

/// An overload from a long.
const fn of_long(output: Type, constructors: &'static [Constructor], build: super::Build) -> Overload {
    Overload::new(PACKAGE, Type::Long, output, constructors, build)
}

/// The base time that the argument names, in milliseconds since 1970.
fn base(arguments: &Arguments<'_>, default: i64) -> Result<i64, Refusal> {
    if arguments.count() == 0 {
        return Ok(default);
    }
    joda::base_time(arguments.text(0)?).map_err(|message| Refusal::new(message).at(0))
}

/// 2024-01-01.
const FIRST_OBJECT_ID: i64 = 1_704_067_200_000;
/// The counter of an object id has 24 bits.
const COUNTERS: i64 = 1 << 24;
/// Bits of the part between time and counter.
const MACHINE_BITS: u32 = 40;

static OBJECT_ID: FunctionRow = FunctionRow {
    name: "ObjectId",
    category: Category::Id,
    doc: "the object id of a cycle: its time advances by a second every 1000 cycles, its counter every cycle",
    notes: "arguments are the time of the first (`2024-01-01`), how many ids share a second (1000, at most 2^24), \
            and a number of 40 bits that stands between time and counter (0): loaders that run at once each need \
            their own. Ids rise with the cycle, and no two cycles have the same. A cycle whose time is not within \
            1970 to 2106 is an error",
    ours: true,
    examples: &[
        Example("ObjectId()", 1001, "6592008100000000000003e9"),
        Example("ObjectId('2020-01-01',50,7L)", 100, "5e0be1020000000007000064"),
    ],
    overloads: &[of_long(
        Type::ObjectId,
        &[
            Constructor::of(&[]),
            Constructor::of(&[Type::String]),
            Constructor::of(&[Type::String, Type::Int]),
            Constructor::of(&[Type::String, Type::Int, Type::Long]),
        ],
        |arguments| {
            let first = base(arguments, FIRST_OBJECT_ID)?.div_euclid(1000);
            let per_second = if arguments.count() < 2 { 1000 } else { i64::from(arguments.int(1)?) };
            if !(1..=COUNTERS).contains(&per_second) {
                return Err(Refusal::new(format!("the ids in a second must be from 1 to {COUNTERS}")).at(1));
            }
            let machine = if arguments.count() < 3 { 0 } else { arguments.long(2)? };
            if !(0..1 << MACHINE_BITS).contains(&machine) {
                return Err(Refusal::new("the number between time and counter has 40 bits at most").at(2));
            }
            Ok(Function::long_to_object(move |v, _| {
                let seconds = first
                    .checked_add(v.div_euclid(per_second))
                    .and_then(|seconds| u32::try_from(seconds).ok())
                    .ok_or_else(|| {
                        EvalError::boxed(
                            "ArithmeticException",
                            format!("the time of {v} is not within 1970 to 2106"),
                        )
                    })?;
                let mut id = [0; 12];
                id[..4].copy_from_slice(&seconds.to_be_bytes());
                id[4..9].copy_from_slice(&machine.to_be_bytes()[3..]);
                id[9..].copy_from_slice(&(v.rem_euclid(COUNTERS) as u32).to_be_bytes()[1..]);
                Ok(Value::ObjectId(id))
            }))
        },
    )],
    ..FunctionRow::NEW
};

static HASHED_OBJECT_ID: FunctionRow = FunctionRow {
    name: "HashedObjectId",
    category: Category::Id,
    doc: "a random-looking object id, the same for the same input",
    notes: "its time is random too: such ids are spread over an index, where those of ObjectId() rise",
    ours: true,
    examples: &[Example("HashedObjectId()", 1, "5752fae69d1653da720f557a")],
    overloads: &[of_long(Type::ObjectId, NOTHING, |_| {
        Ok(Function::long_to_object(|v, _| {
            let mut id = [0; 12];
            id[..8].copy_from_slice(&hash::long(v).to_be_bytes());
            id[8..].copy_from_slice(&hash::long(v.wrapping_add(1)).to_be_bytes()[..4]);
            Ok(Value::ObjectId(id))
        }))
    })],
    ..FunctionRow::NEW
};

static BSON_DATE: FunctionRow = FunctionRow {
    name: "BsonDate",
    category: Category::Time,
    doc: "a date that lies the input, times a step, after a base time",
    notes: "arguments are the base time (1970) in a form of StartingEpochMillis, and the step in milliseconds (1); \
            a date beyond 64 bits is an error",
    ours: true,
    examples: &[
        Example("BsonDate()", 1000, "1970-01-01T00:00:01.000Z"),
        Example("BsonDate('2024-02-28',86400000L)", 1, "2024-02-29T00:00:00.000Z"),
    ],
    overloads: &[of_long(
        Type::BsonDateTime,
        &[
            Constructor::of(&[]),
            Constructor::of(&[Type::String]),
            Constructor::of(&[Type::String, Type::Long]),
        ],
        |arguments| {
            let base = base(arguments, 0)?;
            let step = if arguments.count() < 2 { 1 } else { arguments.long(1)? };
            Ok(Function::long_to_object(move |v, _| {
                v.checked_mul(step).and_then(|after| after.checked_add(base)).map(Value::DateTime).ok_or_else(
                    || EvalError::boxed("ArithmeticException", format!("the date of {v} is beyond 64 bits")),
                )
            }))
        },
    )],
    ..FunctionRow::NEW
};

fn decimal(text: &str) -> Eval<Value> {
    text.parse::<Decimal128>().map(Value::Decimal128).map_err(|_| {
        EvalError::boxed("NumberFormatException", format!("{text:?} is no decimal of 34 digits"))
    })
}

static TO_DECIMAL_128: FunctionRow = FunctionRow {
    name: "ToDecimal128",
    category: Category::Conversion,
    doc: "a number or a text as a decimal of 34 digits; a number of digits behind the point may be given for longs",
    notes: "a double counts by the shortest digits that read back as it; a text with more digits is an error",
    ours: true,
    examples: &[
        Example("ToDecimal128(2)", 1999, "19.99"),
        Example("HashRange(0.0d,10.0d); ToDecimal128()", 1, "6.822198511164737"),
        Example("FixedValue('0.10'); ToDecimal128()", 1, "0.10"),
    ],
    overloads: &[
        Overload::new("conversions.from_double", Type::Double, Type::Decimal128, NOTHING, |_| {
            Ok(Function::double_to_object(|v, _| decimal(&v.to_string())))
        }),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::Decimal128,
            &[Constructor::of(&[]), Constructor::of(&[Type::Int])],
            |arguments| {
                let scale = if arguments.count() == 0 { 0 } else { arguments.int(0)? };
                if !(-6111..=6176).contains(&scale) {
                    return Err(Refusal::new("the digits behind the point must be from -6111 to 6176").at(0));
                }
                Ok(Function::long_to_object(move |v, _| decimal(&format!("{v}E{}", -scale))))
            },
        ),
        Overload::new("conversions.from_string", Type::String, Type::Decimal128, NOTHING, |_| {
            Ok(Function::ObjectToObject(Transform::by_value(|value, _| match value.as_text() {
                Some(text) => decimal(text),
                None => Err(EvalError::wrong_class(&value, "String")),
            })))
        }),
    ],
    ..FunctionRow::NEW
};

static DOC: FunctionRow = FunctionRow {
    name: "Doc",
    category: Category::Document,
    doc: "a document of pairs of a field's name and its value: a function of the input, or a literal",
    notes: "documents nest, and stand in arrays: `ListSizedStepped(3,Doc('n',Identity()))`. A function that stands \
            as an argument is the first of its name (`Hash()` yields an int): qualify it for another, as in \
            `long->Hash()->long`. A value that is unset is left out",
    ours: true,
    examples: &[
        Example("Doc('n',Identity(),'name',NumberNameToString())", 2, "{n=2, name=two}"),
        Example(
            "Doc('kind','a','at',Doc('x',1,'y',1.5d)); ToJSON()",
            2,
            r#"{"kind":"a","at":{"x":1,"y":1.5}}"#,
        ),
    ],
    overloads: &[of_long(Type::Document, &[Constructor::with_rest(&[], Type::Object)], |arguments| {
        if !arguments.count().is_multiple_of(2) {
            return Err(Refusal::new("the last name has no value behind it")
                .at(arguments.count() - 1)
                .help("write pairs of a name and a value: `Doc('a',Hash(),'b',1)`"));
        }
        let mut fields: Vec<(String, Producer<i64>)> = Vec::new();
        for at in (0..arguments.count()).step_by(2) {
            let name = arguments.text(at)?;
            if name.contains('\0') {
                return Err(Refusal::new("the name of a field cannot hold a NUL character").at(at));
            }
            if fields.iter().any(|(known, _)| known == name) {
                return Err(Refusal::new(format!("the field `{name}` is there twice")).at(at));
            }
            fields.push((name.to_owned(), field_value(arguments, at + 1)?));
        }
        Ok(Function::LongToObject(Arc::new(Fields(fields))))
    })],
    ..FunctionRow::NEW
};

fn field_value(arguments: &Arguments<'_>, position: usize) -> Result<Producer<i64>, Refusal> {
    let constant = match arguments.get(position) {
        Some(Argument::Int(v)) => Value::Int(*v),
        Some(Argument::Long(v)) => Value::Long(*v),
        // A decimal literal is a float, which BSON has not: it counts by its digits.
        Some(Argument::Float(v)) => Value::Double(v.to_string().parse().unwrap_or(f64::from(*v))),
        Some(Argument::Double(v)) => Value::Double(*v),
        Some(Argument::Bool(v)) => Value::Bool(*v),
        Some(Argument::Text(v)) => Value::Text(v.clone()),
        _ => return arguments.producer(position),
    };
    Ok(super::function::by_value(move |_, _| Ok(constant.clone())))
}

/// The fields of a document.
struct Fields(Vec<(String, Producer<i64>)>);

impl Produce<i64> for Fields {
    fn value(&self, v: i64, cx: &mut Context) -> Eval<Value> {
        let fields = self.0.iter().map(|(name, value)| Ok((name.clone(), value.value(v, cx)?)));
        Ok(Value::Document(fields.collect::<Eval<_>>()?))
    }

    fn write_bson(&self, v: i64, cx: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        let start = open_bson_document(out);
        for (name, value) in &self.0 {
            let type_at = out.len();
            out.push(0);
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            match value.write_bson(v, cx, out)? {
                Some(element_type) => out[type_at] = element_type as u8,
                None => out.truncate(type_at),
            }
        }
        close_bson_document(start, out);
        Ok(Some(ElementType::EmbeddedDocument))
    }
}

/// Binaries whose bytes are written by a function.
struct Binaries<F> {
    subtype: u8,
    write: F,
}

impl<F: Fn(i64, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync> Produce<i64> for Binaries<F> {
    fn value(&self, v: i64, cx: &mut Context) -> Eval<Value> {
        let mut bytes = Vec::new();
        (self.write)(v, cx, &mut bytes)?;
        Ok(Value::Binary { subtype: self.subtype, bytes })
    }

    fn write_bson(&self, v: i64, cx: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.push(self.subtype);
        let from = out.len();
        (self.write)(v, cx, out)?;
        let length = (out.len() - from) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        Ok(Some(ElementType::Binary))
    }
}

fn binaries(
    subtype: u8,
    write: impl Fn(i64, &mut Context, &mut Vec<u8>) -> Eval<()> + Send + Sync + 'static,
) -> Function {
    Function::LongToObject(Arc::new(Binaries { subtype, write }))
}

/// Appends `size` random-looking bytes: the hashes of `v` and the numbers after it.
fn write_hashes(v: i64, size: usize, out: &mut Vec<u8>) {
    let end = out.len() + size;
    let mut next = v;
    while out.len() < end {
        // The sign of a hash would always be the same bit.
        let bytes = (hash::signed(next) as u64).to_be_bytes();
        out.extend_from_slice(&bytes[..(end - out.len()).min(bytes.len())]);
        next = next.wrapping_add(1);
    }
}

static BINARY: FunctionRow = FunctionRow {
    name: "Binary",
    category: Category::Bytes,
    doc: "a binary of so many random-looking bytes: a number or a function; a subtype may follow",
    notes: "the subtype is a number from 0 to 255, 0 if there is none; 2, the old form that repeats its length, is \
            refused. At most 16 MiB",
    ours: true,
    examples: &[
        Example("Binary(4); ToJSON()", 1, r#""V1L65g\u003d\u003d""#),
        Example("Binary(HashRange(1,3),128); ToJSON()", 1, r#""V1I\u003d""#),
    ],
    overloads: &[of_long(
        Type::Binary,
        &[Constructor::of(&[Type::Object]), Constructor::of(&[Type::Object, Type::Int])],
        |arguments| {
            let sizes: Map<i64, i32> = arguments.size(0)?;
            if !matches!(arguments.get(0), Some(Argument::Function(_))) {
                sizes(0, &mut Context::default())
                    .and_then(super::bytes::checked_size)
                    .map_err(|error| Refusal::new(error.message).at(0))?;
            }
            let subtype = if arguments.count() < 2 { 0 } else { arguments.int(1)? };
            let subtype = u8::try_from(subtype).ok().filter(|subtype| *subtype != 2).ok_or_else(|| {
                Refusal::new(format!("{subtype} is no subtype of a binary: 0 to 255, but 2")).at(1)
            })?;
            Ok(binaries(subtype, move |v, cx, out| {
                let size = super::bytes::checked_size(sizes(v, cx)?)?;
                write_hashes(v, size, out);
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// A number in a range by a hash, as `HashRange` of doubles has it.
fn within(range: (f64, f64), v: i64) -> f64 {
    (range.1 - range.0) * (hash::long(v) as f64 / i64::MAX as f64) + range.0
}

/// Two bounds among the arguments, or the default ones if they are not there.
fn bounds(arguments: &Arguments<'_>, at: usize, default: (f64, f64)) -> Result<(f64, f64), Refusal> {
    if arguments.count() <= at {
        return Ok(default);
    }
    let (low, high) = (arguments.double(at)?, arguments.double(at + 1)?);
    if !(low.is_finite() && high.is_finite() && low <= high) {
        return Err(Refusal::new("the bounds must be numbers, the lower one first").at(at));
    }
    Ok((low, high))
}

static GEO_POINT: FunctionRow = FunctionRow {
    name: "GeoPoint",
    category: Category::Document,
    doc: "a random-looking GeoJSON point, anywhere or between two longitudes and two latitudes",
    notes: "arguments are the least and the greatest longitude (-180 to 180), and the least and the greatest latitude \
            (-90 to 90), in degrees; points are uniform in degrees, and so denser towards the poles",
    ours: true,
    examples: &[Example(
        "GeoPoint(13.0,14.0,52.0,53.0); ToJSON()",
        0,
        r#"{"type":"Point","coordinates":[13.319317307229253,52.02656851516266]}"#,
    )],
    overloads: &[of_long(
        Type::Document,
        &[Constructor::of(&[]), Constructor::of(&[Type::Double, Type::Double, Type::Double, Type::Double])],
        |arguments| {
            let check = |range: (f64, f64), limit: f64, at: usize, name: &str| {
                if range.0 < -limit || range.1 > limit {
                    return Err(Refusal::new(format!("a {name} is from -{limit} to {limit}")).at(at));
                }
                Ok(range)
            };
            let longitudes = check(bounds(arguments, 0, (-180.0, 180.0))?, 180.0, 0, "longitude")?;
            let latitudes = check(bounds(arguments, 2, (-90.0, 90.0))?, 90.0, 2, "latitude")?;
            let place =
                move |v: i64| vec![within(longitudes, v), within(latitudes, hash::long(v).wrapping_add(1))];
            let coordinates =
                super::function::by_value(move |v, _: &mut Context| Ok(Value::Doubles(place(v))));
            let kind = super::function::by_value(|_, _: &mut Context| Ok(Value::Text("Point".to_owned())));
            let fields = vec![("type".to_owned(), kind), ("coordinates".to_owned(), coordinates)];
            Ok(Function::LongToObject(Arc::new(Fields(fields))))
        },
    )],
    ..FunctionRow::NEW
};

/// More dimensions than this no vector has.
const MOST_DIMENSIONS: i32 = 100_000;

/// The number of dimensions, as the first argument says it.
fn dimensions(arguments: &Arguments<'_>) -> Result<usize, Refusal> {
    let asked = arguments.int(0)?;
    if !(1..=MOST_DIMENSIONS).contains(&asked) {
        return Err(Refusal::new(format!("a vector has 1 to {MOST_DIMENSIONS} dimensions")).at(0));
    }
    Ok(asked as usize)
}

/// The elements of the vector of `v`.
fn elements(v: i64, dimensions: usize, range: (f64, f64)) -> impl Iterator<Item = f64> {
    let base = hash::long(v);
    (0..dimensions as i64).map(move |i| within(range, base.wrapping_add(i)))
}

/// Dimensions, and perhaps bounds of the elements.
const VECTOR_FORMS: &[Constructor] =
    &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Double, Type::Double])];

/// Random-looking vectors as arrays of doubles.
struct Vectors {
    dimensions: usize,
    range: (f64, f64),
}

impl Produce<i64> for Vectors {
    fn value(&self, v: i64, _: &mut Context) -> Eval<Value> {
        Ok(Value::Doubles(elements(v, self.dimensions, self.range).collect()))
    }

    fn write_bson(&self, v: i64, _: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        let start = open_bson_document(out);
        for (position, element) in elements(v, self.dimensions, self.range).enumerate() {
            out.push(ElementType::Double as u8);
            value::write_long(position as i64, out);
            out.push(0);
            out.extend_from_slice(&element.to_le_bytes());
        }
        close_bson_document(start, out);
        Ok(Some(ElementType::Array))
    }
}

static VECTOR: FunctionRow = FunctionRow {
    name: "Vector",
    category: Category::Document,
    doc: "a random-looking vector of so many dimensions as an array of doubles, each from 0 to 1 or between two bounds",
    notes: "the elements are those of HashedDoubleVectors",
    ours: true,
    examples: &[
        Example("Vector(2)", 1, "[0.9842519222986905, 0.59741196503158]"),
        Example("Vector(2,-1.0,1.0)", 1, "[0.968503844597381, 0.19482393006316]"),
    ],
    overloads: &[of_long(Type::DoubleArray, VECTOR_FORMS, |arguments| {
        let (dimensions, range) = (dimensions(arguments)?, bounds(arguments, 1, (0.0, 1.0))?);
        Ok(Function::LongToObject(Arc::new(Vectors { dimensions, range })))
    })],
    ..FunctionRow::NEW
};

/// What the first byte of a binary vector says of its elements.
#[derive(Clone, Copy)]
enum ElementKind {
    Int8 = 0x03,
    PackedBit = 0x10,
    Float32 = 0x27,
}

/// Begins a binary vector: the kind of its elements, and how many bits of the last byte do not count.
fn open_vector(kind: ElementKind, padding: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind as u8, padding]);
}

const VECTOR_NOTES: &str =
    "a binary of subtype 9, as the BSON specification has vectors; `Vector` makes an array";

static BINARY_VECTOR_FLOAT32: FunctionRow = FunctionRow {
    name: "BinaryVectorFloat32",
    category: Category::Bytes,
    doc: "a random-looking vector as a binary of floats, each from 0 to 1 or between two bounds",
    notes: VECTOR_NOTES,
    ours: true,
    examples: &[Example("BinaryVectorFloat32(1); ToJSON()", 1, r#""JwDv93s/""#)],
    overloads: &[of_long(Type::Binary, VECTOR_FORMS, |arguments| {
        let (dimensions, range) = (dimensions(arguments)?, bounds(arguments, 1, (0.0, 1.0))?);
        Ok(binaries(BinarySubtype::Vector.into(), move |v, _, out| {
            open_vector(ElementKind::Float32, 0, out);
            for element in elements(v, dimensions, range) {
                out.extend_from_slice(&(element as f32).to_le_bytes());
            }
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static BINARY_VECTOR_INT8: FunctionRow = FunctionRow {
    name: "BinaryVectorInt8",
    category: Category::Bytes,
    doc: "a random-looking vector as a binary of 8-bit integers, each from -128 to 127",
    notes: VECTOR_NOTES,
    ours: true,
    examples: &[Example("BinaryVectorInt8(3); ToJSON()", 1, r#""AwBXUvo\u003d""#)],
    overloads: &[of_long(Type::Binary, &[Constructor::of(&[Type::Int])], |arguments| {
        let dimensions = dimensions(arguments)?;
        Ok(binaries(BinarySubtype::Vector.into(), move |v, _, out| {
            open_vector(ElementKind::Int8, 0, out);
            write_hashes(v, dimensions, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static BINARY_VECTOR_BITS: FunctionRow = FunctionRow {
    name: "BinaryVectorBits",
    category: Category::Bytes,
    doc: "a random-looking vector as a binary of bits",
    notes: VECTOR_NOTES,
    ours: true,
    examples: &[Example("BinaryVectorBits(12); ToJSON()", 1, r#""EARXUA\u003d\u003d""#)],
    overloads: &[of_long(Type::Binary, &[Constructor::of(&[Type::Int])], |arguments| {
        let dimensions = dimensions(arguments)?;
        let bytes = dimensions.div_ceil(8);
        let padding = (bytes * 8 - dimensions) as u8;
        Ok(binaries(BinarySubtype::Vector.into(), move |v, _, out| {
            open_vector(ElementKind::PackedBit, padding, out);
            write_hashes(v, bytes, out);
            // Bits that do not count are 0.
            if let Some(last) = out.last_mut() {
                *last &= 0xffu8 << padding;
            }
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::find;
    use bson::Bson;

    /// The BSON that a function writes on its own, and that of the value it makes.
    fn written(name: &str, arguments: &[Argument], v: i64) -> (Bson, Bson) {
        let row = find(name).expect(name);
        let function = (row.overloads[0].build)(&Arguments(arguments)).expect(name);
        let Function::LongToObject(producer) = function else { panic!("{name} takes no long") };
        let mut context = Context::default();
        let mut straight = Vec::new();
        let kind = producer.write_bson(v, &mut context, &mut straight).expect(name);
        let mut through_value = Vec::new();
        let value = producer.value(v, &mut context).expect(name);
        let same_kind = value.write_bson(&mut through_value).expect(name);
        assert_eq!(kind, same_kind, "{name}");
        let read = |kind: Option<ElementType>, bytes: &[u8]| {
            let mut document = Vec::new();
            let start = open_bson_document(&mut document);
            document.push(kind.expect("a field") as u8);
            document.extend_from_slice(b"v\0");
            document.extend_from_slice(bytes);
            close_bson_document(start, &mut document);
            let document = bson::Document::from_reader(document.as_slice()).expect("it is BSON");
            document.get("v").cloned().expect("the field is there")
        };
        (read(kind, &straight), read(same_kind, &through_value))
    }

    #[test]
    fn what_is_written_straight_is_the_bson_of_the_value() {
        let one = |v| Argument::Int(v);
        let text = |text: &str| Argument::Text(text.to_owned());
        for (name, arguments) in [
            ("Doc", vec![]),
            ("Doc", vec![text("a"), one(1), text("b"), text("x"), text("c"), Argument::Double(0.5)]),
            ("Binary", vec![one(0)]),
            ("Binary", vec![one(100), one(5)]),
            ("GeoPoint", vec![]),
            ("Vector", vec![one(12)]),
            ("Vector", vec![one(3), one(-1), one(1)]),
            ("BinaryVectorFloat32", vec![one(7)]),
            ("BinaryVectorInt8", vec![one(9)]),
            ("BinaryVectorBits", vec![one(13)]),
            ("ObjectId", vec![]),
            ("HashedObjectId", vec![]),
            ("BsonDate", vec![]),
        ] {
            for v in [0, 1, 12_345] {
                let (straight, through_value) = written(name, &arguments, v);
                assert_eq!(straight, through_value, "{name} at {v}");
            }
        }
    }

    #[test]
    fn binary_vectors_are_those_of_the_specification() {
        let floats = written("BinaryVectorFloat32", &[Argument::Int(3)], 5).0;
        let Bson::Binary(floats) = floats else { panic!("a binary") };
        let bson::binary::Vector::Float32(read) = bson::binary::Vector::try_from(&floats).expect("a vector")
        else {
            panic!("of floats")
        };
        assert_eq!(read, elements(5, 3, (0.0, 1.0)).map(|e| e as f32).collect::<Vec<_>>());
        let Bson::Binary(bits) = written("BinaryVectorBits", &[Argument::Int(13)], 5).0 else {
            panic!("a binary")
        };
        assert!(matches!(bson::binary::Vector::try_from(&bits), Ok(bson::binary::Vector::PackedBit(_))));
        let Bson::Binary(bytes) = written("BinaryVectorInt8", &[Argument::Int(13)], 5).0 else {
            panic!("a binary")
        };
        assert!(
            matches!(bson::binary::Vector::try_from(&bytes), Ok(bson::binary::Vector::Int8(v)) if v.len() == 13)
        );
    }

    #[test]
    fn object_ids_rise_and_never_repeat() {
        let row = find("ObjectId").expect("it is built");
        let Ok(Function::LongToObject(ids)) = (row.overloads[0].build)(&Arguments(&[])) else {
            panic!("a producer")
        };
        let mut context = Context::default();
        let mut id = |v: i64| match ids.value(v, &mut context) {
            Ok(Value::ObjectId(id)) => Some(id),
            _ => None,
        };
        let cycles = [0, 1, 999, 1000, 1 << 24, (1 << 24) + 1, 1 << 30];
        let made: Vec<_> = cycles.into_iter().map(|v| id(v).expect("in time")).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        assert_eq!((id(i64::MAX), id(i64::MIN)), (None, None));
    }

    #[test]
    fn arguments_without_sense_are_refused() {
        let text = |text: &str| Argument::Text(text.to_owned());
        for (name, arguments) in [
            ("Doc", vec![text("a")]),
            ("Doc", vec![Argument::Int(1), Argument::Int(1)]),
            ("Doc", vec![text("a"), Argument::Int(1), text("a"), Argument::Int(2)]),
            ("Doc", vec![text("a\0"), Argument::Int(1)]),
            ("Binary", vec![Argument::Int(1), Argument::Int(2)]),
            ("Binary", vec![Argument::Int(1), Argument::Int(256)]),
            ("Vector", vec![Argument::Int(0)]),
            ("Vector", vec![Argument::Int(1), Argument::Int(1), Argument::Int(0)]),
            ("GeoPoint", vec![Argument::Int(0), Argument::Int(181), Argument::Int(0), Argument::Int(1)]),
            ("ObjectId", vec![text("2020"), Argument::Int(0)]),
            ("ObjectId", vec![text("never")]),
            ("BsonDate", vec![text("never")]),
        ] {
            let row = find(name).expect(name);
            assert!((row.overloads[0].build)(&Arguments(&arguments)).is_err(), "{name}");
        }
    }
}
