//! One of several functions, and functions one after the other.

use super::chain::Chain;
use super::samplers::AliasTable;
use super::{
    Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow, Nested,
    Overload, Refusal, Type, adapt, forms, ranges,
};
use crate::value::Value;
use std::sync::Arc;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &COIN_FUNC,
    &WEIGHTED_FUNCS,
    &FLOW,
    &LONG_FLOW,
    &INT_FLOW,
    &STRING_FLOW,
    &TO_LONG_FUNCTION,
    &TO_LONG_UNARY_OPERATOR,
];

static COIN_FUNC: FunctionRow = FunctionRow {
    name: "CoinFunc",
    category: Category::Choice,
    doc: "what the first function yields for a share of the inputs, else what the second does",
    notes: "(share, first, second): the share is from 0.0 to 1.0; in NoSQLBench it cannot come first",
    examples: &[
        Example("Hash(); CoinFunc(0.5d,Identity(),FixedValue('x'))", 1, "x"),
        Example("CoinFunc(0.0d,Identity(),FixedValue('x'))", 1, "x"),
    ],
    overloads: &[Overload::new(
        "from_long.to_object",
        Type::BoxedLong,
        Type::Object,
        &[Constructor::of(&[Type::Double, Type::Object, Type::Object])],
        |arguments| {
            let share = arguments.double(0)?;
            let first = loosely(arguments, 1)?;
            let second = loosely(arguments, 2)?;
            Ok(Function::object_to_object(move |value, context| match value {
                Value::Long(v) => if ranges::unit(v) < share { &first } else { &second }.value(v, context),
                other => Err(EvalError::wrong_class(&other, "Long")),
            }))
        },
    )],
    ..FunctionRow::NEW
};

fn loosely(arguments: &Arguments<'_>, position: usize) -> Result<super::Producer<i64>, Refusal> {
    adapt::to_object_loosely(arguments.nested(position)?).map_err(|refusal| refusal.at(position))
}

static WEIGHTED_FUNCS: FunctionRow = FunctionRow {
    name: "WeightedFuncs",
    category: Category::Choice,
    doc: "what one of several functions yields, each as often as its weight says",
    notes: "(weight, function, weight, function, …): weights are doubles and end in `d`",
    examples: &[Example("WeightedFuncs(1.0d,NumberNameToString(),3.0d,FixedValue('x'))", 1, "x")],
    overloads: &[Overload::new(
        "from_long.to_object",
        Type::Long,
        Type::Object,
        forms::OBJECTS,
        |arguments| {
            if arguments.count() == 0 || !arguments.count().is_multiple_of(2) {
                return Err(Refusal::new("it needs pairs of a weight and a function"));
            }
            let mut weights = Vec::new();
            let mut functions = Vec::new();
            for position in (0..arguments.count()).step_by(2) {
                match arguments.get(position) {
                    Some(super::Argument::Double(weight)) => weights.push((weights.len(), *weight)),
                    _ => {
                        return Err(Refusal::new(format!(
                            "argument {} must be a weight that ends in `d`",
                            position + 1
                        ))
                        .at(position)
                        .help("write 1.0d, not 1.0"));
                    }
                }
                functions.push(loosely(arguments, position + 1)?);
            }
            let table = AliasTable::new(&weights)?;
            Ok(Function::long_to_object(move |v, context| {
                let place = table.draw(ranges::unit(v))?;
                let function = functions.get(place).ok_or_else(|| {
                    EvalError::boxed("IndexOutOfBoundsException", "no function has this share")
                })?;
                function.value(v, context)
            }))
        },
    )],
    ..FunctionRow::NEW
};

static FLOW: FunctionRow = FunctionRow {
    name: "Flow",
    category: Category::Choice,
    doc: "functions one after the other, as one argument of another function",
    notes: "NoSQLBench takes the first form of each function; write `long->Hash()->long` to choose",
    examples: &[
        Example("Flow(long->Hash()->long,long->Mod(10L)->long)", 1, "4"),
        Example("Template('{}',Flow(NumberNameToString(),Prefix('n-')))", 1, "n-one"),
    ],
    overloads: &[Overload::new("functionadapters", Type::Long, Type::Object, forms::OBJECTS, |arguments| {
        let first = arguments.nested(0)?;
        let mut chain = start(first).map_err(|refusal| refusal.at(0))?;
        let mut previous = first.output;
        for position in 1..arguments.count() {
            let next = arguments.nested(position)?;
            if !next.input.is_primitive() && !previous.may_be(next.input) {
                return Err(Refusal::new(format!("`{}` takes {}, not {previous}", next.name, next.input))
                    .at(position));
            }
            if let Chain::Object(producer) = &chain {
                // As between the steps of a recipe: a chain is tried with 1 before it goes on.
                match producer.value(1, &mut Context::default()) {
                    Ok(Value::Null) => {
                        return Err(Refusal::new("for 1 there is no value to go on with").at(position));
                    }
                    Ok(_) => {}
                    Err(error) => return Err(Refusal::new(format!("fails for 1: {error}")).at(position)),
                }
            }
            chain = chain.then(previous, next);
            previous = next.output;
        }
        Ok(match chain {
            Chain::Object(f) => Function::LongToObject(f),
            chain => Function::LongToObject(Arc::new(chain)),
        })
    })],
    ..FunctionRow::NEW
};

/// A chain that begins with any function: an int is given the remainder by 2^31 − 1, a double the same number.
fn start(first: &Nested) -> Result<Chain, Refusal> {
    if let Some(chain) = Chain::of(&first.function) {
        return Ok(chain);
    }
    let chain = match first.function {
        Function::IntToInt(_)
        | Function::IntToLong(_)
        | Function::IntToDouble(_)
        | Function::IntToObject(_) => {
            Chain::Int(Arc::new(|v, _: &mut Context| Ok((v % i64::from(i32::MAX)) as i32)))
        }
        _ => Chain::cycle(),
    };
    let given = if let Chain::Int(_) = chain { Type::Int } else { Type::Long };
    if !first.input.is_primitive() && !given.may_be(first.input) {
        return Err(Refusal::new(format!("`{}` takes {}, not the cycle number", first.name, first.input)));
    }
    Ok(chain.then(given, first))
}

static LONG_FLOW: FunctionRow = FunctionRow {
    name: "LongFlow",
    category: Category::Choice,
    doc: "functions from long to long one after the other",
    examples: &[Example("LongFlow(long->Add(1L)->long,long->Mul(2L)->long)", 1, "4")],
    overloads: &[Overload::long_to_long(
        &[Constructor::with_rest(&[], Type::LongUnaryOperator)],
        |arguments| {
            let functions = all(arguments, |function| match function {
                Function::LongToLong(f) => Some(f.clone()),
                _ => None,
            })?;
            Ok(Function::long_to_long(move |v, context| functions.iter().try_fold(v, |v, f| f(v, context))))
        },
    )],
    ..FunctionRow::NEW
};

static INT_FLOW: FunctionRow = FunctionRow {
    name: "IntFlow",
    category: Category::Choice,
    doc: "functions from int to int one after the other",
    examples: &[Example("ToInt(); IntFlow(int->Add(1)->int,int->Mul(2)->int)", 1, "4")],
    overloads: &[Overload::int_to_int(&[Constructor::with_rest(&[], Type::IntUnaryOperator)], |arguments| {
        let functions = all(arguments, |function| match function {
            Function::IntToInt(f) => Some(f.clone()),
            _ => None,
        })?;
        Ok(Function::int_to_int(move |v, context| functions.iter().try_fold(v, |v, f| f(v, context))))
    })],
    ..FunctionRow::NEW
};

static STRING_FLOW: FunctionRow = FunctionRow {
    name: "StringFlow",
    category: Category::Choice,
    doc: "functions of texts one after the other",
    examples: &[Example("NumberNameToString(); StringFlow(Prefix('a'),Suffix('b'))", 1, "aoneb")],
    overloads: &[Overload::new(
        "unary_string",
        Type::String,
        Type::String,
        &[Constructor::with_rest(&[], Type::Function)],
        |arguments| {
            let functions = all(arguments, |function| match function {
                Function::ObjectToObject(f) => Some(f.clone()),
                _ => None,
            })?;
            Ok(Function::object_to_object(move |value, context| {
                functions.iter().try_fold(value, |value, f| f.value(value, context))
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// All arguments, functions of one kind.
fn all<T>(arguments: &Arguments<'_>, kind: impl Fn(&Function) -> Option<T>) -> Result<Vec<T>, Refusal> {
    (0..arguments.count())
        .map(|position| {
            let nested = arguments.nested(position)?;
            kind(&nested.function).ok_or_else(|| {
                Refusal::new(format!(
                    "`{}` is a function from {} to {}",
                    nested.name, nested.input, nested.output
                ))
                .at(position)
            })
        })
        .collect()
}

static TO_LONG_FUNCTION: FunctionRow = FunctionRow {
    name: "ToLongFunction",
    category: Category::Choice,
    doc: "what a function yields, as an object",
    examples: &[Example("ToLongFunction(NumberNameToString())", 1, "one")],
    overloads: &[Overload::new(
        "functionadapters",
        Type::Long,
        Type::Object,
        &[
            Constructor::of(&[Type::LongFunction]),
            Constructor::of(&[Type::LongToDoubleFunction]),
            Constructor::of(&[Type::LongToIntFunction]),
            Constructor::of(&[Type::Function]),
            Constructor::of(&[Type::LongUnaryOperator]),
        ],
        |arguments| Ok(Function::LongToObject(arguments.producer(0)?)),
    )],
    ..FunctionRow::NEW
};

static TO_LONG_UNARY_OPERATOR: FunctionRow = FunctionRow {
    name: "ToLongUnaryOperator",
    category: Category::Choice,
    doc: "what a function yields, as a long",
    examples: &[Example("ToLongUnaryOperator(long->Add(1L)->long)", 1, "2")],
    overloads: &[Overload::new(
        "functionadapters",
        Type::Long,
        Type::Long,
        &[
            Constructor::of(&[Type::LongUnaryOperator]),
            Constructor::of(&[Type::Function]),
            Constructor::of(&[Type::LongFunction]),
        ],
        |arguments| {
            if let Function::LongToLong(f) = &arguments.nested(0)?.function {
                return Ok(Function::LongToLong(f.clone()));
            }
            let f = arguments.producer(0)?;
            Ok(Function::long_to_long(move |v, context| as_long(&f.value(v, context)?)))
        },
    )],
    ..FunctionRow::NEW
};

/// Java's `Number.longValue`.
fn as_long(value: &Value) -> Eval<i64> {
    match value {
        Value::Byte(number) => Ok(i64::from(*number)),
        Value::Short(number) => Ok(i64::from(*number)),
        Value::Int(number) => Ok(i64::from(*number)),
        Value::Long(number) | Value::BigInteger(number) => Ok(*number),
        Value::Float(number) => Ok(*number as i64),
        Value::Double(number) => Ok(*number as i64),
        other => Err(EvalError::wrong_class(other, "Long")),
    }
}
