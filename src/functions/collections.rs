//! Lists, sets and maps of what other functions yield.
//!
//! The functions differ in what each element is made of (the input itself, the input and its successors, or
//! hashes in a row) and in who tells the size. Where there are fewer functions than elements, the last one
//! makes the rest.

use super::{
    Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow, Map,
    Overload, Produce, Producer, Refusal, Type, adapt, forms, hash, ranges,
};
use crate::value::{self, JavaHashMap, Value};
use bson::spec::ElementType;
use std::sync::Arc;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &LIST_FUNCTIONS,
    &LIST_STEPPED,
    &LIST_HASHED,
    &LIST_SIZED,
    &LIST_SIZED_STEPPED,
    &LIST_SIZED_HASHED,
    &SET_FUNCTIONS,
    &SET_STEPPED,
    &SET_HASHED,
    &SET_SIZED,
    &SET_SIZED_STEPPED,
    &SET_SIZED_HASHED,
    &MAP_FUNCTIONS,
    &MAP_STEPPED,
    &MAP_HASHED,
    &MAP_SIZED,
    &MAP_SIZED_STEPPED,
    &MAP_SIZED_HASHED,
    &LIST,
    &STRING_LIST,
    &SET,
    &STRING_SET,
    &MAP,
    &STRING_MAP,
    &HASHED_RANGE_TO_LONG_LIST,
    &REPEAT_LIST,
];

/// More elements than any document can hold.
const MOST_ELEMENTS: i64 = 1 << 21;

/// What is kept free for elements before the first is made.
const MOST_RESERVED: usize = 1 << 16;

/// What each element is made of.
#[derive(Debug, Clone, Copy)]
enum Steps {
    Same,
    /// The input and the numbers after it.
    Stepped,
    /// The hash of the input, the hash of that, and so on.
    Hashed,
}

impl Steps {
    /// The inputs of the elements, one after the other.
    fn from(self, v: i64) -> impl Iterator<Item = i64> {
        let mut next = if let Steps::Hashed = self { hash::long(v) } else { v };
        std::iter::repeat_with(move || {
            let input = next;
            next = match self {
                Steps::Same => input,
                Steps::Stepped => input.wrapping_add(1),
                Steps::Hashed => hash::long(input),
            };
            input
        })
    }
}

/// How many elements there are.
enum Size {
    Fixed(usize),
    By(Map<i64, i32>),
}

impl Size {
    fn at(&self, v: i64, context: &mut Context) -> Eval<usize> {
        match self {
            Size::Fixed(size) => Ok(*size),
            Size::By(f) => checked_size(i64::from(f(v, context)?)),
        }
    }
}

/// A size that may be asked for.
pub(super) fn checked_size(size: i64) -> Eval<usize> {
    match usize::try_from(size) {
        Ok(size) if size as i64 <= MOST_ELEMENTS => Ok(size),
        Ok(_) => Err(EvalError::boxed(
            "OutOfMemoryError",
            format!("{size} elements are more than the {MOST_ELEMENTS} that are made at most"),
        )),
        Err(_) => Err(EvalError::boxed("IllegalArgumentException", format!("{size} is no size"))),
    }
}

/// The function that makes element `at`.
fn pick(functions: &[Producer<i64>], at: usize) -> Eval<&Producer<i64>> {
    functions.get(at).or(functions.last()).ok_or_else(|| {
        EvalError::boxed("IndexOutOfBoundsException", "there is no function that makes elements")
    })
}

/// All arguments from `from` on, as functions that make elements.
fn producers(arguments: &Arguments<'_>, from: usize, step: usize) -> Result<Vec<Producer<i64>>, Refusal> {
    (from..arguments.count()).step_by(step).map(|position| arguments.producer(position)).collect()
}

fn list(arguments: &Arguments<'_>, steps: Steps, sized: bool) -> Result<Function, Refusal> {
    Ok(Function::LongToObject(Arc::new(List(Elements::of(arguments, steps, sized)?))))
}

fn set(arguments: &Arguments<'_>, steps: Steps, sized: bool) -> Result<Function, Refusal> {
    let elements = Elements::of(arguments, steps, sized)?;
    Ok(Function::long_to_object(move |v, context| Ok(in_set_order(elements.make(v, context)?))))
}

struct Elements {
    steps: Steps,
    size: Size,
    functions: Vec<Producer<i64>>,
}

impl Elements {
    /// `sized`: the first argument is the size, otherwise there are as many elements as functions.
    fn of(arguments: &Arguments<'_>, steps: Steps, sized: bool) -> Result<Elements, Refusal> {
        let size = if sized { Some(arguments.size(0)?) } else { None };
        let functions = producers(arguments, usize::from(sized), 1)?;
        let size = size.map_or(Size::Fixed(functions.len()), Size::By);
        Ok(Elements { steps, size, functions })
    }

    fn make(&self, v: i64, context: &mut Context) -> Eval<Vec<Value>> {
        let size = self.size.at(v, context)?;
        let mut made = Vec::with_capacity(size.min(MOST_RESERVED));
        for (at, input) in self.steps.from(v).take(size).enumerate() {
            made.push(pick(&self.functions, at)?.value(input, context)?);
        }
        Ok(made)
    }
}

/// Elements as a list, which goes into BSON element by element.
struct List(Elements);

impl Produce<i64> for List {
    fn value(&self, v: i64, context: &mut Context) -> Eval<Value> {
        Ok(Value::List(self.0.make(v, context)?))
    }

    fn write_bson(&self, v: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        let size = self.0.size.at(v, context)?;
        let start = value::open_bson_document(out);
        for (at, input) in self.0.steps.from(v).take(size).enumerate() {
            let type_at = out.len();
            out.push(0);
            value::write_long(at as i64, out);
            out.push(0);
            let element_type = pick(&self.0.functions, at)?.write_bson(input, context, out)?;
            // What is unset stands as null, so that the others keep their places.
            out[type_at] = element_type.unwrap_or(ElementType::Null) as u8;
        }
        value::close_bson_document(start, out);
        Ok(Some(ElementType::Array))
    }
}

/// A `HashSet` that was made for so many elements.
fn in_set_order(elements: Vec<Value>) -> Value {
    let mut set = JavaHashMap::with_capacity(elements.len());
    for element in elements {
        set.put(element, ());
    }
    Value::Set(set.into_pairs().into_iter().map(|(element, ())| element).collect())
}

/// Where a map's size comes from, if not from its first argument.
#[derive(Debug, Clone, Copy)]
enum MapSize {
    Keys,
    Values,
    Given,
}

fn map(arguments: &Arguments<'_>, steps: Steps, size: MapSize) -> Result<Function, Refusal> {
    let from = if let MapSize::Given = size { 1 } else { 0 };
    let given = if from == 1 { Some(arguments.size(0)?) } else { None };
    let keys = producers(arguments, from, 2)?;
    let values = producers(arguments, from + 1, 2)?;
    let size = match (size, given) {
        (MapSize::Values, _) => Size::Fixed(values.len()),
        (_, Some(given)) => Size::By(given),
        _ => Size::Fixed(keys.len()),
    };
    Ok(map_of(steps, size, keys, values, |value| value))
}

/// `shown` is done to each key and value.
fn map_of(
    steps: Steps,
    size: Size,
    keys: Vec<Producer<i64>>,
    values: Vec<Producer<i64>>,
    shown: fn(Value) -> Value,
) -> Function {
    Function::long_to_object(move |v, context| {
        let size = size.at(v, context)?;
        let mut map = JavaHashMap::with_capacity(size);
        for (at, input) in steps.from(v).take(size).enumerate() {
            let key = pick(&keys, at)?.value(input, context)?;
            let value = pick(&values, at)?.value(input, context)?;
            map.put(shown(key), shown(value));
        }
        Ok(Value::Map(map.into_pairs()))
    })
}

fn text_of(value: Value) -> Value {
    match value {
        Value::Text(_) => value,
        other => Value::Text(other.text()),
    }
}

/// A row of one class from long to a collection.
macro_rules! collection {
    ($name:literal, $output:expr, $doc:literal, $forms:expr, $build:expr, $examples:expr) => {
        FunctionRow {
            name: $name,
            category: Category::Collection,
            doc: $doc,
            examples: $examples,
            overloads: &[Overload::new("from_long.to_collection", Type::Long, $output, $forms, $build)],
            ..FunctionRow::NEW
        }
    };
}

const SIZED: &[Constructor] = &[Constructor::with_rest(&[Type::Object], Type::Object)];
/// What sets and maps have, which tell an int from other sizes.
const SIZED_OR_INT: &[Constructor] = &[
    Constructor::with_rest(&[Type::Object], Type::Object),
    Constructor::with_rest(&[Type::Int], Type::Object),
];

static LIST_FUNCTIONS: FunctionRow = collection!(
    "ListFunctions",
    Type::List,
    "a list of what each function yields",
    forms::OBJECTS,
    |arguments| list(arguments, Steps::Same, false),
    &[Example("ListFunctions(Identity(),NumberNameToString())", 1, "[1, one]")]
);
static LIST_STEPPED: FunctionRow = collection!(
    "ListStepped",
    Type::List,
    "a list of what each function yields, for the input and the numbers after it",
    forms::OBJECTS,
    |arguments| list(arguments, Steps::Stepped, false),
    &[Example("ListStepped(NumberNameToString(),NumberNameToString())", 1, "[one, two]")]
);
static LIST_HASHED: FunctionRow = collection!(
    "ListHashed",
    Type::List,
    "a list of what each function yields, for hashes in a row",
    forms::OBJECTS,
    |arguments| list(arguments, Steps::Hashed, false),
    &[Example("ListHashed(Identity())", 1, "[6292367497774912474]")]
);
static LIST_SIZED: FunctionRow = collection!(
    "ListSized",
    Type::List,
    "a list of a size, of what the functions yield",
    SIZED,
    |arguments| list(arguments, Steps::Same, true),
    &[Example("ListSized(3,Identity())", 1, "[1, 1, 1]")]
);
static LIST_SIZED_STEPPED: FunctionRow = collection!(
    "ListSizedStepped",
    Type::List,
    "a list of a size, of what the functions yield for the input and the numbers after it",
    SIZED,
    |arguments| list(arguments, Steps::Stepped, true),
    &[Example("ListSizedStepped(3,Identity())", 1, "[1, 2, 3]")]
);
static LIST_SIZED_HASHED: FunctionRow = collection!(
    "ListSizedHashed",
    Type::List,
    "a list of a size, of what the functions yield for hashes in a row",
    SIZED,
    |arguments| list(arguments, Steps::Hashed, true),
    &[Example("ListSizedHashed(3,HashRange(0,100))", 1, "[86, 37, 49]")]
);
static SET_FUNCTIONS: FunctionRow = collection!(
    "SetFunctions",
    Type::Set,
    "a set of what each function yields",
    forms::OBJECTS,
    |arguments| set(arguments, Steps::Same, false),
    &[Example("SetFunctions(Identity(),Identity())", 1, "[1]")]
);
static SET_STEPPED: FunctionRow = collection!(
    "SetStepped",
    Type::Set,
    "a set of what each function yields, for the input and the numbers after it",
    forms::OBJECTS,
    |arguments| set(arguments, Steps::Stepped, false),
    &[Example("SetStepped(Identity(),Identity())", 1, "[1, 2]")]
);
static SET_HASHED: FunctionRow = collection!(
    "SetHashed",
    Type::Set,
    "a set of what each function yields, for hashes in a row",
    forms::OBJECTS,
    |arguments| set(arguments, Steps::Hashed, false),
    &[Example("SetHashed(HashRange(0,9))", 1, "[7]")]
);
static SET_SIZED: FunctionRow = collection!(
    "SetSized",
    Type::Set,
    "a set of what the functions yield, made so many times; equal values are one",
    SIZED_OR_INT,
    |arguments| set(arguments, Steps::Same, true),
    &[Example("SetSized(3,Identity())", 1, "[1]")]
);
static SET_SIZED_STEPPED: FunctionRow = collection!(
    "SetSizedStepped",
    Type::Set,
    "a set of what the functions yield for the input and the numbers after it, made so many times",
    SIZED_OR_INT,
    |arguments| set(arguments, Steps::Stepped, true),
    &[Example("SetSizedStepped(3,Identity())", 1, "[1, 2, 3]")]
);
static SET_SIZED_HASHED: FunctionRow = collection!(
    "SetSizedHashed",
    Type::Set,
    "a set of what the functions yield for hashes in a row, made so many times",
    SIZED_OR_INT,
    |arguments| set(arguments, Steps::Hashed, true),
    &[Example("SetSizedHashed(5,HashRange(0,99))", 1, "[51, 60, 36, 12, 77]")]
);
static MAP_FUNCTIONS: FunctionRow = collection!(
    "MapFunctions",
    Type::Map,
    "a map of what functions yield: key, value, key, value, …",
    forms::OBJECTS,
    |arguments| map(arguments, Steps::Same, MapSize::Values),
    &[Example("MapFunctions(NumberNameToString(),Identity())", 1, "{one=1}")]
);
static MAP_STEPPED: FunctionRow = collection!(
    "MapStepped",
    Type::Map,
    "a map of what functions yield, each pair for the next number",
    forms::OBJECTS,
    |arguments| map(arguments, Steps::Stepped, MapSize::Keys),
    &[Example("MapStepped(NumberNameToString(),Identity())", 1, "{one=1}")]
);
static MAP_HASHED: FunctionRow = collection!(
    "MapHashed",
    Type::Map,
    "a map of what functions yield, each pair for the next of hashes in a row",
    forms::OBJECTS,
    |arguments| map(arguments, Steps::Hashed, MapSize::Keys),
    &[Example("MapHashed(FixedValue('a'),HashRange(0,9))", 1, "{a=7}")]
);
static MAP_SIZED: FunctionRow = collection!(
    "MapSized",
    Type::Map,
    "a map of a size, of what functions yield; equal keys are one",
    SIZED_OR_INT,
    |arguments| map(arguments, Steps::Same, MapSize::Given),
    &[Example("MapSized(1,NumberNameToString(),Identity())", 1, "{one=1}")]
);
static MAP_SIZED_STEPPED: FunctionRow = collection!(
    "MapSizedStepped",
    Type::Map,
    "a map of a size, of what functions yield for the input and the numbers after it",
    SIZED_OR_INT,
    |arguments| map(arguments, Steps::Stepped, MapSize::Given),
    &[Example("MapSizedStepped(3,NumberNameToString(),Identity())", 1, "{two=2, three=3, one=1}")]
);
static MAP_SIZED_HASHED: FunctionRow = collection!(
    "MapSizedHashed",
    Type::Map,
    "a map of a size, of what functions yield for hashes in a row",
    SIZED_OR_INT,
    |arguments| map(arguments, Steps::Hashed, MapSize::Given),
    &[Example("MapSizedHashed(1,FixedValue('a'),HashRange(0,9))", 1, "{a=7}")]
);

static LIST: FunctionRow = collection!(
    "List",
    Type::List,
    "as ListSizedStepped, with a function for the size and one for the elements",
    &[Constructor::of(&[Type::Object, Type::Object])],
    |arguments| {
        let size = Size::By(adapt::to_int(arguments.nested(0)?).map_err(|refusal| refusal.at(0))?);
        let elements = Elements { steps: Steps::Stepped, size, functions: vec![arguments.producer(1)?] };
        Ok(Function::LongToObject(Arc::new(List(elements))))
    },
    &[Example("List(FixedValue(2),Identity())", 1, "[1, 2]")]
);

static STRING_LIST: FunctionRow = collection!(
    "StringList",
    Type::List,
    "a list of texts, of what a function yields for the input and the numbers after it",
    &[Constructor::of(&[Type::LongToIntFunction, Type::LongFunction])],
    |arguments| {
        let elements = exact_elements(arguments)?;
        Ok(Function::long_to_object(move |v, context| {
            Ok(Value::List(elements.make(v, context)?.into_iter().map(text_of).collect()))
        }))
    },
    &[Example("StringList(HashRange(1,4),NumberNameToString())", 1, "[one, two, three]")]
);

const SET_FORMS: &[Constructor] = &[
    Constructor::of(&[Type::LongFunction, Type::LongUnaryOperator]),
    Constructor::of(&[Type::LongFunction, Type::LongToIntFunction]),
    Constructor::of(&[Type::LongUnaryOperator, Type::LongFunction]),
    Constructor::of(&[Type::LongUnaryOperator, Type::LongUnaryOperator]),
    Constructor::of(&[Type::LongUnaryOperator, Type::LongToIntFunction]),
    Constructor::of(&[Type::LongToIntFunction, Type::LongFunction]),
    Constructor::of(&[Type::LongToIntFunction, Type::LongUnaryOperator]),
    Constructor::of(&[Type::LongToIntFunction, Type::LongToIntFunction]),
    Constructor::of(&[Type::LongFunction, Type::LongFunction]),
];

/// A size and an element function of the kinds that the reference takes without an adapter.
fn exact_elements(arguments: &Arguments<'_>) -> Result<Elements, Refusal> {
    let size = match &arguments.nested(0)?.function {
        Function::LongToInt(f) => f.clone(),
        Function::LongToLong(f) => {
            let f = f.clone();
            Arc::new(move |v, context: &mut Context| Ok(f(v, context)? as i32))
        }
        // The reference looks whether it yields a primitive, which no object is.
        _ => {
            return Err(Refusal::new("the size must come from a function from long to int or long")
                .at(0)
                .help("qualify it, for instance `long->HashRange(1,5)->int`"));
        }
    };
    Ok(Elements { steps: Steps::Stepped, size: Size::By(size), functions: vec![arguments.producer(1)?] })
}

static SET: FunctionRow = collection!(
    "Set",
    Type::Set,
    "as SetSizedStepped, with a function for the size and one for the elements",
    SET_FORMS,
    |arguments| {
        let elements = exact_elements(arguments)?;
        Ok(Function::long_to_object(move |v, context| Ok(in_set_order(elements.make(v, context)?))))
    },
    &[Example("Set(long->FixedValue(2)->int,Identity())", 1, "[1, 2]")]
);

static STRING_SET: FunctionRow = collection!(
    "StringSet",
    Type::Set,
    "a set of texts, of what a function yields for the input and the numbers after it",
    SET_FORMS,
    |arguments| {
        let elements = exact_elements(arguments)?;
        Ok(Function::long_to_object(move |v, context| {
            Ok(in_set_order(elements.make(v, context)?.into_iter().map(text_of).collect()))
        }))
    },
    &[Example("StringSet(long->FixedValue(2)->int,Identity())", 1, "[1, 2]")]
);

const MAP_FORMS: &[Constructor] = &[
    Constructor::of(&[Type::LongToIntFunction, Type::LongFunction, Type::LongFunction]),
    Constructor::with_rest(&[], Type::LongFunction),
];

/// A size with one function for keys and one for values, or pairs of functions.
fn exact_map(arguments: &Arguments<'_>, shown: fn(Value) -> Value) -> Result<Function, Refusal> {
    if arguments.count() == 3 {
        let Function::LongToInt(size) = &arguments.nested(0)?.function else {
            return Err(Refusal::new("the size must come from a function from long to int").at(0));
        };
        let (keys, values) = (vec![arguments.producer(1)?], vec![arguments.producer(2)?]);
        return Ok(map_of(Steps::Stepped, Size::By(size.clone()), keys, values, shown));
    }
    if !arguments.count().is_multiple_of(2) {
        return Err(Refusal::new("it needs an even number of functions: key, value, key, value, …"));
    }
    let (keys, values) = (producers(arguments, 0, 2)?, producers(arguments, 1, 2)?);
    Ok(map_of(Steps::Stepped, Size::Fixed(keys.len()), keys, values, shown))
}

static MAP: FunctionRow = collection!(
    "Map",
    Type::Map,
    "a map by a size, a function for keys and one for values, or by pairs of functions",
    MAP_FORMS,
    |arguments| exact_map(arguments, |value| value),
    &[Example("Map(NumberNameToString(),NumberNameToString())", 1, "{one=one}")]
);

static STRING_MAP: FunctionRow = collection!(
    "StringMap",
    Type::Map,
    "as Map, with texts for keys and values",
    MAP_FORMS,
    |arguments| exact_map(arguments, text_of),
    &[Example("StringMap(NumberNameToString(),NumberNameToString())", 1, "{one=one}")]
);

static HASHED_RANGE_TO_LONG_LIST: FunctionRow = collection!(
    "HashedRangeToLongList",
    Type::List,
    "a list of random-looking longs: their bounds, and those of the size, all included",
    &[Constructor::of(&[Type::Int, Type::Int, Type::Int, Type::Int])],
    |arguments| {
        let value = ranges::long_between(arguments.long(0)?, arguments.long(1)?)?;
        let size = ranges::long_between(arguments.long(2)?, arguments.long(3)?)?;
        Ok(Function::long_to_object(move |v, _| {
            let size = checked_size(size(v)?.max(0))?;
            let values = Steps::Stepped.from(v).take(size).map(|input| value(input).map(Value::Long));
            Ok(Value::List(values.collect::<Eval<Vec<Value>>>()?))
        }))
    },
    &[Example("HashedRangeToLongList(0,9,2,3)", 1, "[4, 3]")]
);

static REPEAT_LIST: FunctionRow = FunctionRow {
    name: "RepeatList",
    category: Category::Collection,
    doc: "a list of so many elements, from those of the input over and over",
    examples: &[Example("ListFunctions(Identity(),Add(5)); RepeatList(5)", 1, "[1, 6, 1, 6, 1]")],
    overloads: &[Overload::new("repeaters", Type::List, Type::List, forms::INT, |arguments| {
        let size = i64::from(arguments.int(0)?);
        Ok(Function::object_to_object(move |value, _| match value {
            Value::List(values) => {
                let size = checked_size(size)?;
                if values.is_empty() && size > 0 {
                    return Err(EvalError::division_by_zero());
                }
                Ok(Value::List(values.iter().cycle().take(size).cloned().collect()))
            }
            other => Err(EvalError::wrong_class(&other, "List")),
        }))
    })],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_into_bson_as_its_value_would() {
        let element: Producer<i64> = super::super::function::by_value(|v, _| {
            Ok(if v % 3 == 0 { Value::Unset } else { Value::Long(v) })
        });
        for (steps, size) in [(Steps::Stepped, 12), (Steps::Hashed, 3), (Steps::Same, 0)] {
            let elements = Elements { steps, size: Size::Fixed(size), functions: vec![element.clone()] };
            let list = List(elements);
            let (mut straight, mut through_value) = (Vec::new(), Vec::new());
            let kind = list.write_bson(4, &mut Context::default(), &mut straight);
            let value = list.value(4, &mut Context::default()).expect("it has elements");
            assert_eq!(kind, Ok(value.write_bson(&mut through_value).expect("BSON holds it")));
            assert_eq!(straight, through_value);
        }
    }
}
