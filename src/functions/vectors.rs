//! Vectors: arrays and lists of numbers, made of hashes or digits, padded and brought to length 1.

use super::arithmetic::remainder;
use super::{
    Argument, Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Map,
    Overload, Refusal, Type, adapt, hash, ranges,
};
use crate::value::Value;
use std::sync::Arc;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &HASHED_DOUBLE_VECTORS,
    &HASHED_FLOAT_VECTORS,
    &DOUBLE_VECTORS,
    &FLOAT_VECTORS,
    &DOUBLE_COMBINER,
    &UNIFORM_VECTOR_SIZED_STEPPED,
    &CIRCLE_VECTORS,
    &NORMALIZE_DOUBLE_VECTOR,
    &NORMALIZE_FLOAT_VECTOR,
    &NORMALIZE_LIST_VECTOR,
    &NORMALIZE_DOUBLE_LIST_VECTOR,
    &NORMALIZE_FLOAT_LIST_VECTOR,
    &TO_FLOAT_VECTOR,
    &DOUBLE_VECTOR_PAD_LEFT,
    &DOUBLE_VECTOR_PAD_RIGHT,
    &DOUBLE_VECTOR_PREFIX,
    &DOUBLE_VECTOR_SUFFIX,
    &FLOAT_VECTOR_PAD_LEFT,
    &FLOAT_VECTOR_PAD_RIGHT,
    &FLOAT_VECTOR_PREFIX,
    &FLOAT_VECTOR_SUFFIX,
    &SUM_FUNCTIONS,
];

/// More numbers than this are no vector that a document could hold.
const MOST: usize = 4_000_000;

/// A length, as a number of elements.
fn length(size: i32) -> Eval<usize> {
    match usize::try_from(size) {
        Ok(length) if length <= MOST => Ok(length),
        Ok(_) => Err(EvalError::boxed("OutOfMemoryError", format!("a vector of {size} numbers is too long"))),
        Err(_) => Err(EvalError::boxed("NegativeArraySizeException", format!("{size} is no length"))),
    }
}

/// A function to double, from a range of hashes.
fn hash_range(min: f64, max: f64) -> Result<Map<i64, f64>, Refusal> {
    if min > max {
        return Err(Refusal::new(format!("the lower bound {min} is above the upper bound {max}"))
            .help("write the lower bound first"));
    }
    let interval = max - min;
    Ok(Arc::new(move |v, _| Ok(interval * ranges::unit(v) + min)))
}

/// The argument `position`, a function to double.
fn to_double(arguments: &Arguments<'_>, position: usize) -> Result<Map<i64, f64>, Refusal> {
    adapt::to_double(arguments.nested(position)?).map_err(|refusal| refusal.at(position))
}

/// Makes the numbers of a hashed vector, each by `number`.
fn hashed<T: 'static>(
    arguments: &Arguments<'_>,
    number: fn(f64) -> T,
    value: fn(Vec<T>) -> Value,
) -> Result<Function, Refusal> {
    let sizes = arguments.size(0)?;
    let element = match arguments.count() {
        1 => hash_range(0.0, 1.0)?,
        2 => to_double(arguments, 1)?,
        _ => hash_range(arguments.double(1)?, arguments.double(2)?)?,
    };
    Ok(Function::long_to_object(move |v, cx| {
        let length = length(sizes(v, cx)?)?;
        let base = hash::long(v);
        let numbers: Eval<Vec<T>> =
            (0..length).map(|i| element(base.wrapping_add(i as i64), cx).map(number)).collect();
        numbers.map(value)
    }))
}

const HASHED: &[Constructor] = &[
    Constructor::of(&[Type::Object]),
    Constructor::of(&[Type::Object, Type::Double, Type::Double]),
    Constructor::of(&[Type::Object, Type::Object]),
];
const HASHED_FORMS: &str =
    "(size), (size, min, max) or (size, function to double): the size may be a function too";

static HASHED_DOUBLE_VECTORS: FunctionRow = FunctionRow {
    name: "HashedDoubleVectors",
    category: Category::Vector,
    doc: "vectors of random-looking doubles, from 0 to 1 or between two bounds",
    notes: HASHED_FORMS,
    examples: &[Example(
        "HashedDoubleVectors(2); Stringify()",
        0,
        "[0.4166474461350544, 0.026568515162660615]",
    )],
    overloads: &[Overload::new("vectors.primitive", Type::Long, Type::DoubleArray, HASHED, |arguments| {
        hashed(arguments, |number| number, Value::Doubles)
    })],
    ..FunctionRow::NEW
};

static HASHED_FLOAT_VECTORS: FunctionRow = FunctionRow {
    name: "HashedFloatVectors",
    category: Category::Vector,
    doc: "vectors of random-looking floats, from 0 to 1 or between two bounds",
    notes: HASHED_FORMS,
    examples: &[Example("HashedFloatVectors(2); Stringify()", 0, "[0.41664743, 0.026568515]")],
    overloads: &[Overload::new("vectors.primitive", Type::Long, Type::FloatArray, HASHED, |arguments| {
        hashed(arguments, |number| number as f32, Value::Floats)
    })],
    ..FunctionRow::NEW
};

/// Columns of digits: `a-z*3;0-9`, each part a set of characters, of which only the number counts here.
fn radixes(spec: &str) -> Result<Vec<i64>, Refusal> {
    let mut radixes = Vec::new();
    let refused = |message: String| Err(Refusal::new(message).at(0));
    let mut parts: Vec<&str> = spec.split([',', ';']).collect();
    while !spec.is_empty() && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    for part in parts {
        let (set, times) = match part.rsplit_once('*') {
            Some((set, times)) if !times.is_empty() && times.bytes().all(|byte| byte.is_ascii_digit()) => {
                match times.parse::<usize>() {
                    Ok(times) if times <= MOST => (set, times),
                    _ => return refused(format!("'{part}' is too often the same column")),
                }
            }
            _ => (part, 1),
        };
        let units: Vec<u16> = set.encode_utf16().collect();
        let (mut at, mut count) = (0, 0i64);
        while at < units.len() {
            if at + 2 < units.len() && units[at + 1] == u16::from(b'-') {
                let (first, last) = (units[at], units[at + 2]);
                if !(32..=126).contains(&first) || !(32..=126).contains(&last) || last < first {
                    return refused(format!(
                        "'{set}' has a range that is not from a lower to a higher ASCII character"
                    ));
                }
                count += i64::from(last - first) + 1;
                at += 3;
            } else {
                count += 1;
                at += 1;
            }
        }
        radixes.extend(std::iter::repeat_n(count, times));
    }
    if radixes.iter().try_fold(1i64, |product, radix| product.checked_mul(*radix)).is_none() {
        return refused("there are more combinations than 2^63".to_owned());
    }
    if radixes.contains(&0) {
        return refused("a column has no characters".to_owned());
    }
    Ok(radixes)
}

/// Splits an input into the numbers of its columns, and makes a vector of them.
fn combined<T: 'static>(
    radixes: &[i64],
    element: impl Fn(i64, &mut super::Context) -> Eval<f64> + Send + Sync + 'static,
    number: fn(f64) -> T,
    value: fn(Vec<T>) -> Value,
) -> Function {
    let mut weight = 1i64;
    let mut weights: Vec<i64> = radixes
        .iter()
        .rev()
        .map(|radix| {
            let above = weight.wrapping_mul(*radix);
            std::mem::replace(&mut weight, above)
        })
        .collect();
    weights.reverse();
    Function::long_to_object(move |v, cx| {
        let mut rest = v;
        let numbers: Eval<Vec<T>> = weights
            .iter()
            .map(|weight| {
                let digit = (rest / weight) % i64::from(i32::MAX);
                rest %= weight;
                element(digit, cx).map(number)
            })
            .collect();
        numbers.map(value)
    })
}

fn digit_vectors<T: 'static>(
    arguments: &Arguments<'_>,
    number: fn(f64) -> T,
    value: fn(Vec<T>) -> Value,
) -> Result<Function, Refusal> {
    let radixes = radixes(arguments.text(0)?)?;
    let most = radixes.iter().copied().max().unwrap_or(1);
    let step = move |digit: i64, _: &mut super::Context| {
        if digit < 0 {
            return Err(EvalError::boxed("ArrayIndexOutOfBoundsException", "the input must not be negative"));
        }
        Ok((digit % most) as f64 / most as f64)
    };
    Ok(combined(&radixes, step, number, value))
}

const SPEC: &[Constructor] = &[Constructor::of(&[Type::String])];
const SPEC_FORM: &str = "('a-z*3;0-9'): each part is a column of as many steps from 0 to below 1 as the largest has \
                         characters; `*3` repeats it";

static DOUBLE_VECTORS: FunctionRow = FunctionRow {
    name: "DoubleVectors",
    category: Category::Vector,
    doc: "vectors of doubles that count through all combinations of steps from 0 to below 1",
    notes: SPEC_FORM,
    examples: &[Example("DoubleVectors('0-9*2'); Stringify()", 42, "[0.4, 0.2]")],
    overloads: &[Overload::new("vectors.primitive", Type::Long, Type::DoubleArray, SPEC, |arguments| {
        digit_vectors(arguments, |number| number, Value::Doubles)
    })],
    ..FunctionRow::NEW
};

static FLOAT_VECTORS: FunctionRow = FunctionRow {
    name: "FloatVectors",
    category: Category::Vector,
    doc: "vectors of floats that count through all combinations of steps from 0 to below 1",
    notes: SPEC_FORM,
    examples: &[Example("FloatVectors('0-9*2'); Stringify()", 42, "[0.4, 0.2]")],
    overloads: &[Overload::new("vectors.primitive", Type::Long, Type::FloatArray, SPEC, |arguments| {
        digit_vectors(arguments, |number| number as f32, Value::Floats)
    })],
    ..FunctionRow::NEW
};

static DOUBLE_COMBINER: FunctionRow = FunctionRow {
    name: "DoubleCombiner",
    category: Category::Vector,
    doc: "vectors of what a function yields for the digits of the input, column by column",
    notes: "('a-z*3;0-9', function to double): each part is a column of as many digits as it has characters; `*3` \
            repeats it",
    examples: &[Example(
        "DoubleCombiner('0-9*2',long->HashRange(0.0d,1.0d)->double); Stringify()",
        0,
        "[0.31931730722925356, 0.31931730722925356]",
    )],
    overloads: &[Overload::new(
        "util",
        Type::Long,
        Type::DoubleArray,
        &[Constructor::of(&[Type::String, Type::LongToDoubleFunction])],
        |arguments| {
            let radixes = radixes(arguments.text(0)?)?;
            let element = to_double(arguments, 1)?;
            Ok(combined(&radixes, move |digit, cx| element(digit, cx), |number| number, Value::Doubles))
        },
    )],
    ..FunctionRow::NEW
};

static UNIFORM_VECTOR_SIZED_STEPPED: FunctionRow = FunctionRow {
    name: "UniformVectorSizedStepped",
    category: Category::Vector,
    doc: "lists of random-looking doubles, each between two bounds of its own",
    notes: "(size, min, max, min, max, …): without a size as many as there are pairs of bounds; bounds are 0 and 1 for \
            those without",
    examples: &[Example(
        "UniformVectorSizedStepped(2,3.0d,6.0d)",
        0,
        "[3.9579519216877608, 0.6822198511164738]",
    )],
    overloads: &[Overload::new(
        "from_long.to_vector",
        Type::Long,
        Type::List,
        &[Constructor::with_rest(&[], Type::Number)],
        |arguments| {
            let count = arguments.count();
            let (size, first) = match arguments.get(0) {
                Some(Argument::Int(size)) if count % 2 == 1 => (*size, 1),
                _ => ((count / 2) as i32, 0),
            };
            if (count - first) % 2 == 1 {
                return Err(Refusal::new("bounds must come in pairs")
                    .help("write a lower and an upper bound for each"));
            }
            let size = length(size).map_err(|error| Refusal::new(error.message).at(0))?;
            let elements: Vec<Map<i64, f64>> = (0..size)
                .map(|element| {
                    let at = first + 2 * element;
                    if at < count {
                        hash_range(arguments.double(at)?, arguments.double(at + 1)?)
                    } else {
                        hash_range(0.0, 1.0)
                    }
                })
                .collect::<Result<_, _>>()?;
            Ok(Function::long_to_object(move |v, cx| {
                let numbers: Eval<Vec<Value>> = elements
                    .iter()
                    .enumerate()
                    .map(|(place, element)| element(v.wrapping_add(place as i64), cx).map(Value::Double))
                    .collect();
                numbers.map(Value::List)
            }))
        },
    )],
    ..FunctionRow::NEW
};

static CIRCLE_VECTORS: FunctionRow = FunctionRow {
    name: "CircleVectors",
    category: Category::Vector,
    doc: "points spread over a sphere, as lists of three floats of length 1",
    notes: "(number of points, algorithm): 'GoldenAngle' or 'LatLonBased', also by their full class names in NoSQLBench",
    examples: &[Example("CircleVectors(100,'GoldenAngle')", 0, "[0.0, 1.0, 0.0]")],
    overloads: &[Overload::new(
        "vectors",
        Type::Long,
        Type::List,
        &[Constructor::of(&[Type::Int, Type::String])],
        |arguments| {
            let count = i64::from(arguments.int(0)?);
            let name = arguments.text(1)?;
            let simple = name
                .strip_prefix("io.nosqlbench.virtdata.library.basics.shared.vectors.algorithms.")
                .unwrap_or(name);
            let point: fn(i64, i64) -> [f64; 3] = match simple {
                "GoldenAngle" => golden_angle,
                "LatLonBased" => latitude_and_longitude,
                _ => {
                    return Err(Refusal::new(format!("there is no algorithm '{name}'"))
                        .at(1)
                        .help("known are 'GoldenAngle' and 'LatLonBased'"));
                }
            };
            Ok(Function::long_to_object(move |v, _| {
                let point = point(remainder(v, count)?, count);
                Ok(Value::List(point.map(|number| Value::Float(number as f32)).to_vec()))
            }))
        },
    )],
    ..FunctionRow::NEW
};

fn golden_angle(number: i64, count: i64) -> [f64; 3] {
    let y = 1.0 - (number as f64 / (count - 1) as f64) * 2.0;
    let radius = (1.0 - y * y).sqrt();
    let theta = 137.5 * number as f64;
    [theta.cos() * radius, y, theta.sin() * radius]
}

fn latitude_and_longitude(number: i64, count: i64) -> [f64; 3] {
    let longitude = 2.0 * std::f64::consts::PI * number as f64 / count as f64;
    let latitude = (1.0 - 2.0 * number as f64 / (count - 1) as f64).asin();
    [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
}

/// A row of a function from vector to vector.
macro_rules! vector_row {
    ($row:ident, $name:literal, $package:literal, $in:ident, $out:ident, $parameters:expr, $doc:literal, $example:expr, $build:expr) => {
        static $row: FunctionRow = FunctionRow {
            name: $name,
            category: Category::Vector,
            doc: $doc,
            examples: &[$example],
            overloads: &[Overload::new(
                $package,
                Type::$in,
                Type::$out,
                &[Constructor::of($parameters)],
                $build,
            )],
            ..FunctionRow::NEW
        };
    };
}

fn doubles(value: Value) -> Eval<Vec<f64>> {
    match value {
        Value::Doubles(numbers) => Ok(numbers),
        other => Err(EvalError::wrong_class(&other, "double[]")),
    }
}

fn floats(value: Value) -> Eval<Vec<f32>> {
    match value {
        Value::Floats(numbers) => Ok(numbers),
        other => Err(EvalError::wrong_class(&other, "float[]")),
    }
}

fn list(value: Value) -> Eval<Vec<Value>> {
    match value {
        Value::List(values) => Ok(values),
        other => Err(EvalError::wrong_class(&other, "List")),
    }
}

fn of_doubles(change: impl Fn(&mut Vec<f64>) -> Eval<()> + Send + Sync + 'static) -> Function {
    Function::object_to_object(move |value, _| {
        let mut numbers = doubles(value)?;
        change(&mut numbers)?;
        Ok(Value::Doubles(numbers))
    })
}

fn of_floats(change: impl Fn(&mut Vec<f32>) -> Eval<()> + Send + Sync + 'static) -> Function {
    Function::object_to_object(move |value, _| {
        let mut numbers = floats(value)?;
        change(&mut numbers)?;
        Ok(Value::Floats(numbers))
    })
}

vector_row!(
    NORMALIZE_DOUBLE_VECTOR,
    "NormalizeDoubleVector",
    "vectors.primitive",
    DoubleArray,
    DoubleArray,
    &[],
    "a vector of doubles, brought to length 1",
    Example("DoubleVectors('0-9*2'); NormalizeDoubleVector(); Stringify()", 34, "[0.6, 0.8]"),
    |_| Ok(of_doubles(|numbers| {
        normalize_doubles(numbers);
        Ok(())
    }))
);

fn normalize_doubles(numbers: &mut [f64]) {
    let length = numbers.iter().fold(0.0, |sum, number| sum + number * number).sqrt();
    numbers.iter_mut().for_each(|number| *number /= length);
}

vector_row!(
    NORMALIZE_FLOAT_VECTOR,
    "NormalizeFloatVector",
    "vectors.primitive",
    FloatArray,
    FloatArray,
    &[],
    "a vector of floats, brought to length 1",
    Example("FloatVectors('0-9*2'); NormalizeFloatVector(); Stringify()", 40, "[1.0, 0.0]"),
    |_| Ok(of_floats(|numbers| {
        let length = numbers.iter().fold(0.0, |sum, number| sum + f64::from(number * number)).sqrt();
        numbers.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
        Ok(())
    }))
);

/// A list of doubles, brought to length 1.
fn normalize_double_list(values: Vec<Value>) -> Eval<Value> {
    let mut numbers = values
        .into_iter()
        .map(|value| match value {
            Value::Double(number) => Ok(number),
            other => Err(EvalError::wrong_class(&other, "Double")),
        })
        .collect::<Eval<Vec<f64>>>()?;
    normalize_doubles(&mut numbers);
    Ok(Value::List(numbers.into_iter().map(Value::Double).collect()))
}

/// A list of floats, brought to length 1, all in floats.
fn normalize_float_list(values: Vec<Value>) -> Eval<Value> {
    let numbers = values
        .into_iter()
        .map(|value| match value {
            Value::Float(number) => Ok(number),
            other => Err(EvalError::wrong_class(&other, "Float")),
        })
        .collect::<Eval<Vec<f32>>>()?;
    let square = numbers.iter().fold(0f32, |sum, number| sum + number * number);
    let length = f64::from(square).sqrt() as f32;
    Ok(Value::List(numbers.into_iter().map(|number| Value::Float(number / length)).collect()))
}

vector_row!(
    NORMALIZE_LIST_VECTOR,
    "NormalizeListVector",
    "from_long.to_vector",
    List,
    List,
    &[],
    "a list of doubles or floats, brought to length 1",
    Example("UniformVectorSizedStepped(1); NormalizeListVector()", 0, "[1.0]"),
    |_| Ok(Function::object_to_object(|value, _| {
        let values = list(value)?;
        match values.first() {
            None => Ok(Value::List(values)),
            Some(Value::Float(_)) => normalize_float_list(values),
            Some(Value::Double(_)) => normalize_double_list(values),
            Some(other) => Err(EvalError::boxed(
                "RuntimeException",
                format!("a {} is neither a Double nor a Float", other.type_name()),
            )),
        }
    }))
);

vector_row!(
    NORMALIZE_DOUBLE_LIST_VECTOR,
    "NormalizeDoubleListVector",
    "from_long.to_vector",
    List,
    List,
    &[],
    "a list of doubles, brought to length 1",
    Example("UniformVectorSizedStepped(1); NormalizeDoubleListVector()", 0, "[1.0]"),
    |_| Ok(Function::object_to_object(|value, _| normalize_double_list(list(value)?)))
);

vector_row!(
    NORMALIZE_FLOAT_LIST_VECTOR,
    "NormalizeFloatListVector",
    "from_long.to_vector",
    List,
    List,
    &[],
    "a list of floats, brought to length 1",
    Example("CircleVectors(100,'GoldenAngle'); NormalizeFloatListVector()", 0, "[0.0, 1.0, 0.0]"),
    |_| Ok(Function::object_to_object(|value, _| normalize_float_list(list(value)?)))
);

vector_row!(
    TO_FLOAT_VECTOR,
    "ToFloatVector",
    "vectors.primitive",
    DoubleArray,
    FloatArray,
    &[],
    "a vector of doubles as one of floats",
    Example("HashedDoubleVectors(2); ToFloatVector(); Stringify()", 0, "[0.41664743, 0.026568515]"),
    |_| Ok(Function::object_to_object(|value, _| {
        Ok(Value::Floats(doubles(value)?.into_iter().map(|number| number as f32).collect()))
    }))
);

/// Where zeros go.
#[derive(Clone, Copy)]
enum Zeros {
    /// Up to a length.
    PadLeft,
    PadRight,
    /// So many more.
    Prefix,
    Suffix,
}

impl Zeros {
    fn put<T: Copy + Default>(self, numbers: &mut Vec<T>, size: i32) -> Eval<()> {
        let more = match self {
            Zeros::PadLeft | Zeros::PadRight => length(size.max(0))?.saturating_sub(numbers.len()),
            Zeros::Prefix | Zeros::Suffix => length(size)?,
        };
        let at = match self {
            Zeros::PadLeft | Zeros::Prefix => 0,
            Zeros::PadRight | Zeros::Suffix => numbers.len(),
        };
        numbers.splice(at..at, std::iter::repeat_n(T::default(), more));
        Ok(())
    }
}

macro_rules! zeros_row {
    ($row:ident, $name:literal, $array:ident, $of:ident, $zeros:ident, $doc:literal, $example:expr) => {
        vector_row!(
            $row,
            $name,
            "vectors.primitive",
            $array,
            $array,
            &[Type::Int],
            $doc,
            $example,
            |arguments| {
                let size = arguments.int(0)?;
                Ok($of(move |numbers| Zeros::$zeros.put(numbers, size)))
            }
        );
    };
}

zeros_row!(
    DOUBLE_VECTOR_PAD_LEFT,
    "DoubleVectorPadLeft",
    DoubleArray,
    of_doubles,
    PadLeft,
    "a vector of doubles with zeros before it, up to a length",
    Example("DoubleVectors('0-9'); DoubleVectorPadLeft(3); Stringify()", 5, "[0.0, 0.0, 0.5]")
);
zeros_row!(
    DOUBLE_VECTOR_PAD_RIGHT,
    "DoubleVectorPadRight",
    DoubleArray,
    of_doubles,
    PadRight,
    "a vector of doubles with zeros behind it, up to a length",
    Example("DoubleVectors('0-9'); DoubleVectorPadRight(3); Stringify()", 5, "[0.5, 0.0, 0.0]")
);
zeros_row!(
    DOUBLE_VECTOR_PREFIX,
    "DoubleVectorPrefix",
    DoubleArray,
    of_doubles,
    Prefix,
    "a vector of doubles with so many zeros before it",
    Example("DoubleVectors('0-9'); DoubleVectorPrefix(1); Stringify()", 5, "[0.0, 0.5]")
);
zeros_row!(
    DOUBLE_VECTOR_SUFFIX,
    "DoubleVectorSuffix",
    DoubleArray,
    of_doubles,
    Suffix,
    "a vector of doubles with so many zeros behind it",
    Example("DoubleVectors('0-9'); DoubleVectorSuffix(1); Stringify()", 5, "[0.5, 0.0]")
);
zeros_row!(
    FLOAT_VECTOR_PAD_LEFT,
    "FloatVectorPadLeft",
    FloatArray,
    of_floats,
    PadLeft,
    "a vector of floats with zeros before it, up to a length",
    Example("FloatVectors('0-9'); FloatVectorPadLeft(3); Stringify()", 5, "[0.0, 0.0, 0.5]")
);
zeros_row!(
    FLOAT_VECTOR_PAD_RIGHT,
    "FloatVectorPadRight",
    FloatArray,
    of_floats,
    PadRight,
    "a vector of floats with zeros behind it, up to a length",
    Example("FloatVectors('0-9'); FloatVectorPadRight(3); Stringify()", 5, "[0.5, 0.0, 0.0]")
);
zeros_row!(
    FLOAT_VECTOR_PREFIX,
    "FloatVectorPrefix",
    FloatArray,
    of_floats,
    Prefix,
    "a vector of floats with so many zeros before it",
    Example("FloatVectors('0-9'); FloatVectorPrefix(1); Stringify()", 5, "[0.0, 0.5]")
);
zeros_row!(
    FLOAT_VECTOR_SUFFIX,
    "FloatVectorSuffix",
    FloatArray,
    of_floats,
    Suffix,
    "a vector of floats with so many zeros behind it",
    Example("FloatVectors('0-9'); FloatVectorSuffix(1); Stringify()", 5, "[0.5, 0.0]")
);

static SUM_FUNCTIONS: FunctionRow = FunctionRow {
    name: "SumFunctions",
    category: Category::Arithmetic,
    doc: "the sum of what some functions yield",
    examples: &[Example("SumFunctions(Add(1.0),Add(2.0))", 0, "3.0")],
    overloads: &[Overload::new(
        "from_double.to_double",
        Type::Long,
        Type::Double,
        &[Constructor::with_rest(&[], Type::Object)],
        |arguments| {
            let functions = (0..arguments.count())
                .map(|position| to_double(arguments, position))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Function::long_to_double(move |v, cx| {
                functions.iter().try_fold(0.0, |sum, function| Ok(sum + function(v, cx)?))
            }))
        },
    )],
    ..FunctionRow::NEW
};
