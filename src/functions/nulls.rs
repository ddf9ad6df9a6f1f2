//! Values left out under a condition: null, or the mark of a field that is to be left out.

use super::{Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload, Type, forms};
use crate::value::Value;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &NULL_IF_EQ,
    &NULL_IF_GE,
    &NULL_IF_GT,
    &NULL_IF_LE,
    &NULL_IF_LT,
    &UNSET_IF_EQ,
    &UNSET_IF_GE,
    &UNSET_IF_GT,
    &UNSET_IF_LE,
    &UNSET_IF_LT,
    &NULL_IF_CLOSE_TO,
    &NULL_IF_WITHIN,
    &UNSET_IF_CLOSE_TO,
    &UNSET_IF_WITHIN,
    &NULL_IF_EMPTY,
    &NULL_IF_NULL_OR_EMPTY,
    &UNSET_IF_EMPTY,
    &UNSET_IF_NULL_OR_EMPTY,
    &UNSET_IF_STRING_EQ,
    &UNSET_IF_STRING_NE,
];

/// The function's row, the value of a double that is dropped and the overloads' types differ; the condition is
/// an operator.
macro_rules! compared {
    ($name:literal, $operator:tt, $doc:literal, $notes:literal, $dropped:expr, $dropped_double:expr,
     $packages:literal, $packages_long:literal, $double:expr, $long:expr, $examples:expr) => {
        FunctionRow {
            name: $name,
            category: Category::Choice,
            doc: $doc,
            notes: $notes,
            examples: $examples,
            overloads: &[
                Overload::new($packages, Type::Double, $double, forms::DOUBLE, |arguments| {
                    let other = arguments.double(0)?;
                    Ok(Function::double_to_object(move |v, _| {
                        Ok(if v $operator other { $dropped_double } else { Value::Double(v) })
                    }))
                }),
                Overload::new($packages_long, Type::Long, $long, forms::LONG, |arguments| {
                    let other = arguments.long(0)?;
                    Ok(Function::long_to_object(move |v, _| {
                        Ok(if v $operator other { $dropped } else { Value::Long(v) })
                    }))
                }),
            ],
            ..FunctionRow::NEW
        }
    };
}

macro_rules! null_if {
    ($name:literal, $operator:tt, $doc:literal, $examples:expr) => {
        compared!(
            $name,
            $operator,
            $doc,
            "",
            Value::Null,
            Value::Null,
            "from_double.to_other",
            "from_long.to_other",
            Type::BoxedDouble,
            Type::BoxedLong,
            $examples
        )
    };
}

macro_rules! unset_if {
    ($name:literal, $operator:tt, $doc:literal, $examples:expr) => {
        compared!(
            $name,
            $operator,
            $doc,
            "",
            Value::Unset,
            Value::Unset,
            "from_double.to_unset",
            "from_long.to_unset",
            Type::Object,
            Type::Object,
            $examples
        )
    };
}

static NULL_IF_EQ: FunctionRow = null_if!(
    "NullIfEq", ==, "null where the input equals a number, else the input",
    &[Example("NullIfEq(5)", 5, "null"), Example("NullIfEq(5)", 6, "6")]
);
static NULL_IF_GE: FunctionRow = null_if!(
    "NullIfGe", >=, "null where the input is a number or more, else the input",
    &[Example("NullIfGe(5L)", 5, "null"), Example("NullIfGe(5L)", 4, "4")]
);
static NULL_IF_GT: FunctionRow = null_if!(
    "NullIfGt", >, "null where the input is more than a number, else the input",
    &[Example("NullIfGt(5L)", 6, "null"), Example("NullIfGt(5L)", 5, "5")]
);
static NULL_IF_LE: FunctionRow = null_if!(
    "NullIfLe", <=, "null where the input is a number or less, else the input",
    &[Example("NullIfLe(5L)", 5, "null"), Example("NullIfLe(5L)", 6, "6")]
);
static NULL_IF_LT: FunctionRow = null_if!(
    "NullIfLt", <, "null where the input is less than a number, else the input",
    &[Example("NullIfLt(5L)", 4, "null"), Example("NullIfLt(5L)", 5, "5")]
);
// Of a double the reference makes null, not the mark, and only here.
static UNSET_IF_EQ: FunctionRow = compared!(
    "UnsetIfEq", ==, "left out where the input equals a number, else the input",
    "a double that equals becomes null and is not left out, as in NoSQLBench",
    Value::Unset, Value::Null, "from_double.to_unset", "from_long.to_unset", Type::BoxedDouble, Type::Object,
    &[Example("UnsetIfEq(5)", 5, "unset"), Example("UnsetIfEq(5)", 6, "6")]
);
static UNSET_IF_GE: FunctionRow = unset_if!(
    "UnsetIfGe", >=, "left out where the input is a number or more, else the input",
    &[Example("UnsetIfGe(5L)", 5, "unset"), Example("UnsetIfGe(5L)", 4, "4")]
);
static UNSET_IF_GT: FunctionRow = unset_if!(
    "UnsetIfGt", >, "left out where the input is more than a number, else the input",
    &[Example("UnsetIfGt(5L)", 6, "unset"), Example("UnsetIfGt(5L)", 5, "5")]
);
static UNSET_IF_LE: FunctionRow = unset_if!(
    "UnsetIfLe", <=, "left out where the input is a number or less, else the input",
    &[Example("UnsetIfLe(5L)", 5, "unset"), Example("UnsetIfLe(5L)", 6, "6")]
);
static UNSET_IF_LT: FunctionRow = unset_if!(
    "UnsetIfLt", <, "left out where the input is less than a number, else the input",
    &[Example("UnsetIfLt(5L)", 4, "unset"), Example("UnsetIfLt(5L)", 5, "5")]
);

/// From double, with a condition on two numbers.
macro_rules! of_two {
    ($name:literal, $doc:literal, $package:literal, $output:expr, $dropped:expr, $condition:expr, $examples:expr) => {
        FunctionRow {
            name: $name,
            category: Category::Choice,
            doc: $doc,
            examples: $examples,
            overloads: &[Overload::new($package, Type::Double, $output, forms::TWO_DOUBLES, |arguments| {
                let (first, second) = (arguments.double(0)?, arguments.double(1)?);
                let drops: fn(f64, f64, f64) -> bool = $condition;
                Ok(Function::double_to_object(move |v, _| {
                    Ok(if drops(v, first, second) { $dropped } else { Value::Double(v) })
                }))
            })],
            ..FunctionRow::NEW
        }
    };
}

static NULL_IF_CLOSE_TO: FunctionRow = of_two!(
    "NullIfCloseTo",
    "null where the input is no further from a number than a distance, else the input",
    "from_double.to_other",
    Type::BoxedDouble,
    Value::Null,
    |v, to, distance| (v - to).abs() <= distance,
    &[Example("NullIfCloseTo(5.0,1.0)", 6, "null"), Example("NullIfCloseTo(5.0,1.0)", 7, "7.0")]
);
static UNSET_IF_CLOSE_TO: FunctionRow = of_two!(
    "UnsetIfCloseTo",
    "left out where the input is no further from a number than a distance, else the input",
    "from_double.to_unset",
    Type::Object,
    Value::Unset,
    |v, to, distance| (v - to).abs() <= distance,
    &[Example("UnsetIfCloseTo(5.0,1.0)", 6, "unset"), Example("UnsetIfCloseTo(5.0,1.0)", 7, "7.0")]
);
static NULL_IF_WITHIN: FunctionRow = of_two!(
    "NullIfWithin",
    "null where the input is between two numbers or one of them, else the input",
    "from_double.to_other",
    Type::BoxedDouble,
    Value::Null,
    |v, low, high| v >= low && v <= high,
    &[Example("NullIfWithin(2.0,4.0)", 3, "null"), Example("NullIfWithin(2.0,4.0)", 5, "5.0")]
);
static UNSET_IF_WITHIN: FunctionRow = of_two!(
    "UnsetIfWithin",
    "left out where the input is between two numbers or one of them, else the input",
    "from_double.to_unset",
    Type::Object,
    Value::Unset,
    |v, low, high| v >= low && v <= high,
    &[Example("UnsetIfWithin(2.0,4.0)", 3, "unset"), Example("UnsetIfWithin(2.0,4.0)", 5, "5.0")]
);

/// From String, with a condition on the text, and on the text that is given if `$forms` takes one.
macro_rules! of_text {
    ($name:literal, $doc:literal, $output:expr, $dropped:expr, $takes_null:literal, $forms:expr, $condition:expr, $examples:expr) => {
        FunctionRow {
            name: $name,
            category: Category::Choice,
            doc: $doc,
            examples: $examples,
            overloads: &[Overload::new("from_string.to_unset", Type::String, $output, $forms, |arguments| {
                let other =
                    if arguments.count() == 0 { String::new() } else { arguments.text(0)?.to_owned() };
                let drops: fn(&str, &str) -> bool = $condition;
                Ok(Function::object_to_object(move |value, _| {
                    Ok(if dropped(&value, $takes_null, |text| drops(text, &other))? {
                        $dropped
                    } else {
                        value
                    })
                }))
            })],
            ..FunctionRow::NEW
        }
    };
}

fn dropped(value: &Value, takes_null: bool, drops: impl Fn(&str) -> bool) -> Eval<bool> {
    match value {
        Value::Text(text) => Ok(drops(text)),
        Value::Null if takes_null => Ok(true),
        Value::Null => Err(EvalError::boxed("RuntimeException", "there is no value to compare")),
        other => Err(EvalError::wrong_class(other, "String")),
    }
}

const NO_TEXT: &[Constructor] = forms::NONE;

static NULL_IF_EMPTY: FunctionRow = of_text!(
    "NullIfEmpty",
    "null where the text is empty, else the text",
    Type::String,
    Value::Null,
    false,
    NO_TEXT,
    |text, _| text.is_empty(),
    &[Example("ToString(); NullIfEmpty()", 1, "1")]
);
static NULL_IF_NULL_OR_EMPTY: FunctionRow = of_text!(
    "NullIfNullOrEmpty",
    "null where there is no text or an empty one, else the text",
    Type::String,
    Value::Null,
    true,
    NO_TEXT,
    |text, _| text.is_empty(),
    &[Example("ToString(); NullIfNullOrEmpty()", 1, "1")]
);
static UNSET_IF_EMPTY: FunctionRow = of_text!(
    "UnsetIfEmpty",
    "left out where the text is empty, else the text",
    Type::Object,
    Value::Unset,
    false,
    NO_TEXT,
    |text, _| text.is_empty(),
    &[Example("FixedValue(''); UnsetIfEmpty()", 1, "unset")]
);
static UNSET_IF_NULL_OR_EMPTY: FunctionRow = of_text!(
    "UnsetIfNullOrEmpty",
    "left out where there is no text or an empty one, else the text",
    Type::Object,
    Value::Unset,
    true,
    NO_TEXT,
    |text, _| text.is_empty(),
    &[Example("FixedValue(''); UnsetIfNullOrEmpty()", 1, "unset")]
);
static UNSET_IF_STRING_EQ: FunctionRow = of_text!(
    "UnsetIfStringEq",
    "left out where the text is the one that is given, else the text",
    Type::Object,
    Value::Unset,
    false,
    forms::TEXT,
    |text, other| text == other,
    &[
        Example("ToString(); UnsetIfStringEq('1')", 1, "unset"),
        Example("ToString(); UnsetIfStringEq('1')", 2, "2")
    ]
);
static UNSET_IF_STRING_NE: FunctionRow = of_text!(
    "UnsetIfStringNe",
    "left out where the text is not the one that is given, else the text",
    Type::Object,
    Value::Unset,
    false,
    forms::TEXT,
    |text, other| text != other,
    &[
        Example("ToString(); UnsetIfStringNe('1')", 1, "1"),
        Example("ToString(); UnsetIfStringNe('1')", 2, "unset")
    ]
);
