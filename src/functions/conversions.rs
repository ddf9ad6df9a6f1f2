//! From one type to another, with Java's text forms and the reference's remainders.

use super::arithmetic::{remainder, remainder_of_int};
use super::function::Transform;
use super::{
    Argument, Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Nested,
    Overload, Refusal, Type, forms,
};
use crate::value::{self, BigDecimal, Rounding, Value};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &TO_INT,
    &TO_LONG,
    &TO_FLOAT,
    &TO_DOUBLE,
    &TO_SHORT,
    &TO_BYTE,
    &TO_BOOLEAN,
    &TO_BIG_INT,
    &TO_BIG_DECIMAL,
    &TO_STRING,
    &LONG_TO_STRING,
    &LONG_TO_SHORT,
    &LONG_TO_BYTE,
    &DOUBLE_TO_FLOAT,
    &MODULO_TO_LONG,
    &MODULO_TO_INTEGER,
    &MODULO_TO_SHORT,
    &MODULO_TO_BYTE,
    &MODULO_TO_BOOLEAN,
    &MODULO_TO_BIG_INT,
    &MODULO_TO_BIG_DECIMAL,
    &TO_INET_ADDRESS,
    &TO_FLOAT_LIST,
    &TO_DOUBLE_LIST,
    &STRINGIFY,
    &TYPE_OF,
];

const INT_OR_NONE: &[Constructor] = &[Constructor::of(&[Type::Int]), Constructor::of(&[])];
const NONE_OR_INT: &[Constructor] = &[Constructor::of(&[]), Constructor::of(&[Type::Int])];
const LONG_OR_NONE: &[Constructor] = &[Constructor::of(&[Type::Long]), Constructor::of(&[])];
const NONE_OR_LONG: &[Constructor] = &[Constructor::of(&[]), Constructor::of(&[Type::Long])];
const NONE_OR_TEXT: &[Constructor] = &[Constructor::of(&[]), Constructor::of(&[Type::String])];

static TO_INT: FunctionRow = FunctionRow {
    name: "ToInt",
    category: Category::Conversion,
    doc: "to a 32-bit integer: numbers by their remainder, text by reading it",
    notes: "the remainder is by 2147483647 unless another number is given; text that is no integer is an error",
    examples: &[
        Example("ToInt()", 2147483648, "1"),
        Example("ToInt(1000)", 12345, "345"),
        Example("Mod(1000); ToString(); ToInt()", 1234, "234"),
        Example("ToBoolean(); ToInt()", 1, "1"),
    ],
    overloads: &[
        Overload::new("conversions.from_double", Type::Double, Type::Int, INT_OR_NONE, |arguments| {
            let scale = f64::from(int_or(arguments, i32::MAX)?);
            Ok(Function::double_to_int(move |v, _| Ok((v % scale) as i32)))
        }),
        Overload::new(
            "conversions.from_float",
            Type::BoxedDouble,
            Type::BoxedInt,
            INT_OR_NONE,
            |arguments| {
                let scale = f64::from(int_or(arguments, i32::MAX)?);
                Ok(of_double(move |v| Ok(Value::Int((v % scale) as i32))))
            },
        ),
        Overload::new("conversions.from_long", Type::Long, Type::Int, INT_OR_NONE, |arguments| {
            let scale = i64::from(int_or(arguments, i32::MAX)?);
            Ok(Function::long_to_int(move |v, _| Ok(remainder(v, scale)? as i32)))
        }),
        Overload::new("conversions.from_string", Type::String, Type::BoxedInt, forms::NONE, |_| {
            Ok(of_text(|text| read(value::parse_int(text).map(Value::Int), text, "32-bit integer")))
        }),
        Overload::long_to_int(forms::NONE, |_| {
            Ok(Function::long_to_int(|v, _| Ok(remainder(v, i64::from(i32::MAX))? as i32)))
        }),
        Overload::new("unary_int", Type::Object, Type::BoxedInt, forms::NONE, |_| {
            Ok(transform(|value| match value {
                // The texts of these are no integers, so that the reference fails.
                Value::Bool(bool) => Ok(Value::Int(i32::from(bool))),
                Value::Float(v) => Ok(Value::Int((f64::from(v) % f64::from(i32::MAX)) as i32)),
                Value::Double(v) => Ok(Value::Int((v % f64::from(i32::MAX)) as i32)),
                value => {
                    not_null(&value)?;
                    let text = value.text();
                    read(value::parse_int(&text).map(Value::Int), &text, "32-bit integer")
                }
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_LONG: FunctionRow = FunctionRow {
    name: "ToLong",
    category: Category::Conversion,
    doc: "to a 64-bit integer: a long goes through double and loses its low bits above 2^53, text is read exactly",
    notes: "the remainder is by 2^63 unless another number is given; text that is no integer is an error",
    examples: &[
        Example("Hash(); ToLong()", 0, "2945182322382062592"),
        Example("Identity(); ToString(); ToLong()", 9007199254740993, "9007199254740993"),
        Example("ToLong()", 12, "12"),
        Example("ToBoolean(); ToLong()", 1, "1"),
    ],
    overloads: &[
        Overload::new("conversions.from_double", Type::Double, Type::Long, LONG_OR_NONE, |arguments| {
            let scale = long_or(arguments, i64::MAX)? as f64;
            Ok(Function::double_to_long(move |v, _| Ok((v % scale) as i64)))
        }),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::BoxedLong,
            LONG_OR_NONE,
            |arguments| {
                let scale = long_or(arguments, i64::MAX)?;
                Ok(of_float(move |v| Ok(Value::Long(remainder(v as i64, scale)?))))
            },
        ),
        Overload::new("conversions.from_string", Type::String, Type::BoxedLong, forms::NONE, |_| {
            Ok(of_text(|text| read(value::parse_long(text).map(Value::Long), text, "64-bit integer")))
        }),
        OF_BOOLEAN_TO_LONG,
    ],
    ..FunctionRow::NEW
};

/// The reference goes by way of the text `true` to a number, and fails at each cycle.
const OF_BOOLEAN_TO_LONG: Overload = Overload::ours(Type::BoxedBoolean, Type::BoxedLong, forms::NONE, |_| {
    Ok(of_bool(|bool| Value::Long(i64::from(bool))))
});

static TO_FLOAT: FunctionRow = FunctionRow {
    name: "ToFloat",
    category: Category::Conversion,
    doc: "to a floating point number in single precision: numbers by their remainder, text by reading it",
    notes: "after a function that may yield int it takes the low 32 bits, as NoSQLBench does: `Hash(); ToFloat()`",
    examples: &[
        Example("Identity(); ToFloat()", 3, "3.0"),
        Example("ToFloat()", 3, "3.0"),
        Example("Identity(); ToString(); ToFloat()", 3, "3.0"),
        Example("HashRange(0.0d,1.0d); ToFloat()", 0, "0.3193173"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_double",
            Type::Double,
            Type::BoxedFloat,
            &[Constructor::of(&[Type::Double]), Constructor::of(&[])],
            |arguments| {
                let scale = if arguments.count() == 0 { f64::from(f32::MAX) } else { arguments.double(0)? };
                Ok(Function::double_to_object(move |v, _| Ok(Value::Float((v % scale) as f32))))
            },
        ),
        Overload::new("conversions.from_int", Type::Int, Type::BoxedFloat, INT_OR_NONE, |arguments| {
            let scale = int_or(arguments, i32::MAX)?;
            Ok(Function::int_to_object(move |v, _| Ok(Value::Float(remainder_of_int(v, scale)? as f32))))
        }),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::BoxedFloat,
            &[Constructor::closed(&[Type::Object])],
            |_| Err(Refusal::new("closed")),
        ),
        Overload::new("conversions.from_short", Type::BoxedShort, Type::BoxedFloat, forms::NONE, |_| {
            Ok(of_short(|v| Ok(Value::Float(f32::from(v)))))
        }),
        Overload::new("conversions.from_string", Type::String, Type::BoxedFloat, forms::NONE, |_| {
            Ok(of_text(|text| read(parse_float(text).map(Value::Float), text, "number")))
        }),
        Overload::ours(Type::BoxedBoolean, Type::BoxedFloat, forms::NONE, |_| {
            Ok(of_bool(|bool| Value::Float(f32::from(u8::from(bool)))))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_DOUBLE: FunctionRow = FunctionRow {
    name: "ToDouble",
    category: Category::Conversion,
    doc: "to a floating point number in double precision: text is read, other values give what their text reads as",
    notes: "ours: NoSQLBench 5.17.9 has this function, and refuses every use of it",
    examples: &[
        Example("ToDouble()", 3, "3.0"),
        Example("Identity(); ToString(); ToDouble()", 3, "3.0"),
        Example("FixedValue('1e400'); ToDouble()", 0, "Infinity"),
        Example("ToDouble(10)", 13, "3.0"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::Double,
            &[Constructor::closed(&[Type::Object])],
            |_| Err(Refusal::new("closed")),
        ),
        Overload::ours(
            Type::Long,
            Type::Double,
            &[Constructor::of(&[]), Constructor::of(&[Type::Double])],
            |arguments| {
                if arguments.count() == 0 {
                    return Ok(Function::long_to_double(|v, _| Ok(v as f64)));
                }
                let scale = arguments.double(0)?;
                Ok(Function::long_to_double(move |v, _| Ok(v as f64 % scale)))
            },
        ),
        Overload::ours(Type::Double, Type::Double, forms::NONE, |_| {
            Ok(Function::double_to_double(|v, _| Ok(v)))
        }),
        Overload::ours(Type::Object, Type::BoxedDouble, forms::NONE, |_| {
            Ok(transform(|value| match value {
                Value::Bool(bool) => Ok(Value::Double(f64::from(u8::from(bool)))),
                value => {
                    not_null(&value)?;
                    let text = value.text();
                    read(value::parse_double(&text).map(Value::Double), &text, "number")
                }
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_SHORT: FunctionRow = FunctionRow {
    name: "ToShort",
    category: Category::Conversion,
    doc: "to a 16-bit integer: numbers by their remainder, text by reading it",
    notes: "the remainder is by 32767 unless another number is given",
    examples: &[
        Example("ToShort()", 32768, "1"),
        Example("ToShort(100)", 12345, "45"),
        Example("HashRange(-5.0d,5.0d); ToShort()", 1, "1"),
    ],
    overloads: &[
        Overload::new("conversions.from_double", Type::Double, Type::BoxedShort, NONE_OR_INT, |arguments| {
            let scale = i64::from(int_or(arguments, i32::from(i16::MAX))?);
            Ok(Function::double_to_object(move |v, _| Ok(Value::Short(remainder(v as i64, scale)? as i16))))
        }),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::BoxedShort,
            NONE_OR_INT,
            |arguments| {
                let scale = i64::from(int_or(arguments, i32::from(i16::MAX))?);
                Ok(of_float(move |v| Ok(Value::Short(remainder(v as i64, scale)? as i16))))
            },
        ),
        Overload::new("conversions.from_int", Type::Int, Type::BoxedShort, NONE_OR_INT, |arguments| {
            let scale = int_or(arguments, i32::from(i16::MAX))?;
            Ok(Function::int_to_object(move |v, _| Ok(Value::Short(remainder_of_int(v, scale)? as i16))))
        }),
        Overload::new("conversions.from_long", Type::Long, Type::BoxedShort, NONE_OR_INT, |arguments| {
            let scale = i64::from(int_or(arguments, i32::from(i16::MAX))?);
            Ok(Function::long_to_object(move |v, _| Ok(Value::Short(remainder(v, scale)? as i16))))
        }),
        Overload::new("conversions.from_string", Type::String, Type::BoxedShort, forms::NONE, |_| {
            Ok(of_text(|text| read(text.parse().ok().map(Value::Short), text, "16-bit integer")))
        }),
        Overload::ours(Type::BoxedBoolean, Type::BoxedShort, forms::NONE, |_| {
            Ok(of_bool(|bool| Value::Short(i16::from(bool))))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_BYTE: FunctionRow = FunctionRow {
    name: "ToByte",
    category: Category::Conversion,
    doc: "to an 8-bit integer: numbers by their remainder, text by reading it",
    notes: "the remainder is by 127 unless another number is given",
    examples: &[Example("ToByte()", 128, "1"), Example("ToByte(100)", 12345, "45")],
    overloads: &[
        Overload::new("conversions.from_double", Type::Double, Type::BoxedByte, NONE_OR_INT, |arguments| {
            let scale = i64::from(int_or(arguments, i32::from(i8::MAX))?);
            Ok(Function::double_to_object(move |v, _| Ok(Value::Byte(remainder(v as i64, scale)? as i8))))
        }),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::BoxedByte,
            NONE_OR_INT,
            |arguments| {
                let scale = i64::from(int_or(arguments, i32::from(i8::MAX))?);
                Ok(of_float(move |v| Ok(Value::Byte(remainder(v as i64, scale)? as i8))))
            },
        ),
        Overload::new("conversions.from_int", Type::Int, Type::BoxedByte, NONE_OR_INT, |arguments| {
            let scale = int_or(arguments, i32::from(i8::MAX))?;
            Ok(Function::int_to_object(move |v, _| Ok(Value::Byte(remainder_of_int(v, scale)? as i8))))
        }),
        Overload::new("conversions.from_long", Type::Long, Type::BoxedByte, NONE_OR_INT, |arguments| {
            let scale = i64::from(int_or(arguments, i32::from(i8::MAX))?);
            Ok(Function::long_to_object(move |v, _| Ok(Value::Byte(remainder(v, scale)? as i8))))
        }),
        Overload::new(
            "conversions.from_short",
            Type::BoxedShort,
            Type::BoxedByte,
            INT_OR_NONE,
            |arguments| {
                let scale = int_or(arguments, i32::from(i8::MAX))?;
                Ok(of_short(move |v| Ok(Value::Byte(remainder_of_int(i32::from(v), scale)? as i8))))
            },
        ),
        Overload::new("conversions.from_string", Type::String, Type::BoxedByte, forms::NONE, |_| {
            Ok(of_text(|text| read(text.parse().ok().map(Value::Byte), text, "8-bit integer")))
        }),
        Overload::ours(Type::BoxedBoolean, Type::BoxedByte, forms::NONE, |_| {
            Ok(of_bool(|bool| Value::Byte(i8::from(bool))))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_BOOLEAN: FunctionRow = FunctionRow {
    name: "ToBoolean",
    category: Category::Conversion,
    doc: "whether a number, or the number that a text reads as, is odd, without what is behind the point",
    notes: "ModuloToBoolean is the opposite",
    examples: &[Example("ToBoolean()", 1, "true"), Example("HashRange(0.0d,1.0d); ToBoolean()", 1, "false")],
    overloads: &[
        Overload::new("conversions.from_double", Type::BoxedDouble, Type::BoxedBoolean, forms::NONE, |_| {
            Ok(of_double(|v| Ok(Value::Bool(v as i64 & 1 == 1))))
        }),
        Overload::new("conversions.from_float", Type::BoxedFloat, Type::BoxedBoolean, forms::NONE, |_| {
            Ok(of_float(|v| Ok(Value::Bool(v as i64 & 1 == 1))))
        }),
        Overload::new("conversions.from_int", Type::BoxedInt, Type::BoxedBoolean, forms::NONE, |_| {
            Ok(transform(|value| match value {
                Value::Int(v) => Ok(Value::Bool(v & 1 == 1)),
                other => Err(EvalError::wrong_class(&other, "Integer")),
            }))
        }),
        Overload::new("from_long.to_boolean", Type::Long, Type::BoxedBoolean, forms::NONE, |_| {
            Ok(Function::long_to_object(|v, _| Ok(Value::Bool(v & 1 == 1))))
        }),
        Overload::ours(Type::BoxedBoolean, Type::BoxedBoolean, forms::NONE, |_| Ok(of_bool(Value::Bool))),
    ],
    ..FunctionRow::NEW
};

static TO_BIG_INT: FunctionRow = FunctionRow {
    name: "ToBigInt",
    category: Category::Conversion,
    doc: "to an integer of any length",
    notes: "in BSON a 64-bit integer",
    examples: &[Example("ToBigInt()", 12, "12")],
    overloads: &[Overload::new("from_long.to_bigint", Type::Long, Type::BigInteger, forms::NONE, |_| {
        Ok(Function::long_to_object(|v, _| Ok(Value::BigInteger(v))))
    })],
    ..FunctionRow::NEW
};

static TO_BIG_DECIMAL: FunctionRow = FunctionRow {
    name: "ToBigDecimal",
    category: Category::Conversion,
    doc: "to a decimal number of any length: with a scale, so many digits are behind the point",
    notes: "a text is a context: 'unlimited', 'decimal32', 'decimal64', 'decimal128' or             'precision=17 roundingMode=HALF_UP'; a double is taken digit for digit; in BSON a Decimal128, and an             error where that cannot hold all digits",
    examples: &[
        Example("ToBigDecimal()", 12, "12"),
        Example("ToBigDecimal(2)", 5, "0.05"),
        Example("ToBigDecimal('precision=2 roundingMode=UP')", 1234, "1.3E+3"),
        Example("HashRange(0.0d,1.0d); ToBigDecimal('decimal32')", 0, "0.3193173"),
    ],
    overloads: &[
        Overload::new(
            "from_double.to_bigdecimal",
            Type::Double,
            Type::BigDecimal,
            NONE_OR_TEXT,
            |arguments| {
                let context = DecimalContext::of(arguments)?;
                Ok(Function::double_to_object(move |v, _| {
                    let exact = BigDecimal::exact(v)
                        .ok_or_else(|| EvalError::no_number(&Value::Double(v).text(), "decimal number"))?;
                    context.round(exact)
                }))
            },
        ),
        Overload::new("from_int.to_bigdecimal", Type::Int, Type::BigDecimal, NONE_OR_TEXT, |arguments| {
            let context = DecimalContext::of(arguments)?;
            Ok(Function::int_to_object(move |v, _| context.round(BigDecimal::new(i64::from(v), 0))))
        }),
        Overload::new(
            "from_long.to_bigdecimal",
            Type::Long,
            Type::BigDecimal,
            &[Constructor::of(&[Type::String]), Constructor::of(&[Type::Int]), Constructor::of(&[])],
            |arguments| {
                if let Some(Argument::Int(scale)) = arguments.get(0) {
                    let scale = *scale;
                    return Ok(Function::long_to_object(move |v, _| {
                        Ok(Value::BigDecimal(Box::new(BigDecimal::new(v, scale))))
                    }));
                }
                let context = DecimalContext::of(arguments)?;
                Ok(Function::long_to_object(move |v, _| context.round(BigDecimal::new(v, 0))))
            },
        ),
        Overload::new(
            "from_string.to_bigdecimal",
            Type::String,
            Type::BigDecimal,
            NONE_OR_TEXT,
            |arguments| {
                let context = DecimalContext::of(arguments)?;
                Ok(of_text(move |text| match text.parse() {
                    Ok(decimal) => context.round(decimal),
                    Err(()) => Err(EvalError::no_number(text, "decimal number")),
                }))
            },
        ),
    ],
    ..FunctionRow::NEW
};

/// Java's `MathContext`.
#[derive(Debug, Clone, Copy)]
struct DecimalContext {
    /// 0: all digits.
    precision: usize,
    rounding: Rounding,
}

impl DecimalContext {
    /// From an optional text.
    fn of(arguments: &Arguments<'_>) -> Result<DecimalContext, Refusal> {
        if arguments.count() == 0 {
            return Ok(DecimalContext { precision: 0, rounding: Rounding::HalfUp });
        }
        let text = arguments.text(0)?;
        let precision = match text.to_lowercase().as_str() {
            "unlimited" => 0,
            "decimal32" => 7,
            "decimal64" => 16,
            "decimal128" => 34,
            _ => return DecimalContext::read(text),
        };
        let rounding = if precision == 0 { Rounding::HalfUp } else { Rounding::HalfEven };
        Ok(DecimalContext { precision, rounding })
    }

    /// `precision=N roundingMode=MODE`, exactly so.
    fn read(text: &str) -> Result<DecimalContext, Refusal> {
        let wrong = || {
            Refusal::new(format!("'{text}' is no context for decimal numbers")).at(0).help(
                "write 'unlimited', 'decimal32', 'decimal64', 'decimal128' or 'precision=17 roundingMode=UP'",
            )
        };
        let (precision, rounding) = text
            .strip_prefix("precision=")
            .and_then(|rest| rest.split_once(" roundingMode="))
            .ok_or_else(wrong)?;
        Ok(DecimalContext {
            precision: precision.parse::<u32>().map_err(|_| wrong())? as usize,
            rounding: Rounding::named(rounding).ok_or_else(wrong)?,
        })
    }

    fn round(self, decimal: BigDecimal) -> Eval<Value> {
        match decimal.rounded(self.precision, self.rounding) {
            Some(rounded) => Ok(Value::BigDecimal(Box::new(rounded))),
            None => {
                Err(EvalError::boxed("ArithmeticException", "digits would be lost: rounding is UNNECESSARY"))
            }
        }
    }
}

/// A row of one class from long to a value.
macro_rules! of_long {
    ($name:literal, $doc:literal, $package:literal, $output:expr, $forms:expr, $examples:expr, $build:expr) => {
        FunctionRow {
            name: $name,
            category: Category::Conversion,
            doc: $doc,
            examples: $examples,
            overloads: &[Overload::new($package, Type::Long, $output, $forms, $build)],
            ..FunctionRow::NEW
        }
    };
}

static LONG_TO_STRING: FunctionRow = of_long!(
    "LongToString",
    "the text of the input",
    "from_long.to_string",
    Type::String,
    forms::NONE,
    &[Example("LongToString()", 12, "12")],
    |_| {
        Ok(Function::long_to_text(|v, _, out| {
            value::write_long(v, out);
            Ok(())
        }))
    }
);

static LONG_TO_SHORT: FunctionRow = of_long!(
    "LongToShort",
    "the low 15 bits of the input, as a 16-bit integer",
    "from_long.to_short",
    Type::BoxedShort,
    forms::NONE,
    &[Example("LongToShort()", 32769, "1")],
    |_| Ok(Function::long_to_object(|v, _| Ok(Value::Short((v & 0x7fff) as i16))))
);

static LONG_TO_BYTE: FunctionRow = of_long!(
    "LongToByte",
    "the low 7 bits of the input, as an 8-bit integer",
    "from_long.to_byte",
    Type::BoxedByte,
    forms::NONE,
    &[Example("LongToByte()", 129, "1")],
    |_| Ok(Function::long_to_object(|v, _| Ok(Value::Byte((v & 0x7f) as i8))))
);

static DOUBLE_TO_FLOAT: FunctionRow = FunctionRow {
    name: "DoubleToFloat",
    category: Category::Conversion,
    doc: "the nearest number of single precision",
    examples: &[Example("HashRange(0.0d,10.0d); DoubleToFloat()", 1, "6.8221984")],
    overloads: &[Overload::new("from_double.to_float", Type::Double, Type::BoxedFloat, forms::NONE, |_| {
        Ok(Function::double_to_object(|v, _| Ok(Value::Float(v as f32))))
    })],
    ..FunctionRow::NEW
};

static MODULO_TO_LONG: FunctionRow = of_long!(
    "ModuloToLong",
    "the remainder of the input, without its sign bit",
    "from_long.to_long",
    Type::Long,
    forms::LONG,
    &[Example("ModuloToLong(10)", 12, "2")],
    |arguments| {
        let modulo = arguments.long(0)?;
        Ok(Function::long_to_long(move |v, _| positive(v, modulo)))
    }
);

static MODULO_TO_INTEGER: FunctionRow = of_long!(
    "ModuloToInteger",
    "the remainder of the input as a 32-bit integer, without its sign bit",
    "from_long.to_int",
    Type::BoxedInt,
    forms::INT,
    &[Example("ModuloToInteger(10)", 12, "2")],
    |arguments| {
        let modulo = arguments.long(0)?;
        Ok(Function::long_to_object(move |v, _| Ok(Value::Int(remainder(v, modulo)? as i32 & i32::MAX))))
    }
);

static MODULO_TO_SHORT: FunctionRow = of_long!(
    "ModuloToShort",
    "the remainder of the input as a 16-bit integer, without its sign bit",
    "from_long.to_short",
    Type::BoxedShort,
    forms::LONG,
    &[Example("ModuloToShort(10)", 12, "2")],
    |arguments| {
        let modulo = arguments.long(0)?;
        Ok(Function::long_to_object(move |v, _| Ok(Value::Short((remainder(v, modulo)? & 0x7fff) as i16))))
    }
);

static MODULO_TO_BYTE: FunctionRow = of_long!(
    "ModuloToByte",
    "the remainder of the input, and of that by 127, as an 8-bit integer",
    "from_long.to_byte",
    Type::BoxedByte,
    forms::LONG,
    &[Example("ModuloToByte(200)", 150, "23")],
    |arguments| {
        let modulo = arguments.long(0)?;
        Ok(Function::long_to_object(move |v, _| Ok(Value::Byte((remainder(v, modulo)? % 127) as i8))))
    }
);

static MODULO_TO_BOOLEAN: FunctionRow = of_long!(
    "ModuloToBoolean",
    "whether the input is even",
    "from_long.to_boolean",
    Type::BoxedBoolean,
    forms::NONE,
    &[Example("ModuloToBoolean()", 2, "true")],
    |_| Ok(Function::long_to_object(|v, _| Ok(Value::Bool(v % 2 == 0))))
);

static MODULO_TO_BIG_INT: FunctionRow = of_long!(
    "ModuloToBigInt",
    "the remainder of the input as an integer of any length, without its sign bit",
    "from_long.to_bigint",
    Type::BigInteger,
    NONE_OR_LONG,
    &[Example("ModuloToBigInt(10)", 12, "2")],
    |arguments| {
        let modulo = long_or(arguments, i64::MAX)?;
        Ok(Function::long_to_object(move |v, _| Ok(Value::BigInteger(positive(v, modulo)?))))
    }
);

static MODULO_TO_BIG_DECIMAL: FunctionRow = of_long!(
    "ModuloToBigDecimal",
    "the remainder of the input as a decimal number, without its sign bit",
    "from_long.to_bigdecimal",
    Type::BigDecimal,
    NONE_OR_LONG,
    &[Example("ModuloToBigDecimal(10)", 12, "2")],
    |arguments| {
        let modulo = long_or(arguments, i64::MAX)?;
        Ok(Function::long_to_object(move |v, _| {
            Ok(Value::BigDecimal(Box::new(BigDecimal::new(positive(v, modulo)?, 0))))
        }))
    }
);

static TO_INET_ADDRESS: FunctionRow = of_long!(
    "ToInetAddress",
    "the IPv4 address of the low 32 bits of the input",
    "from_long.to_inetaddress",
    Type::InetAddress,
    forms::NONE,
    &[Example("ToInetAddress()", 3232235777, "/192.168.1.1")],
    |_| {
        Ok(Function::long_to_object(|v, _| {
            Ok(Value::InetAddress((v as i32).wrapping_rem(i32::MAX).to_be_bytes()))
        }))
    }
);

static TO_FLOAT_LIST: FunctionRow = FunctionRow {
    name: "ToFloatList",
    category: Category::Conversion,
    doc: "an array of single precision as a list",
    examples: &[Example("HashedFloatVectors(2); ToFloatList()", 1, "[0.9842519, 0.597412]")],
    overloads: &[Overload::new("from_ary.to_list", Type::FloatArray, Type::List, forms::NONE, |_| {
        Ok(transform(|value| match value {
            Value::Floats(floats) => Ok(Value::List(floats.into_iter().map(Value::Float).collect())),
            other => Err(EvalError::wrong_class(&other, "float[]")),
        }))
    })],
    ..FunctionRow::NEW
};

static TO_DOUBLE_LIST: FunctionRow = FunctionRow {
    name: "ToDoubleList",
    category: Category::Conversion,
    doc: "an array of double precision as a list",
    examples: &[Example(
        "HashedDoubleVectors(2); ToDoubleList()",
        1,
        "[0.9842519222986905, 0.59741196503158]",
    )],
    overloads: &[Overload::new("from_ary.to_list", Type::DoubleArray, Type::List, forms::NONE, |_| {
        Ok(transform(|value| match value {
            Value::Doubles(doubles) => Ok(Value::List(doubles.into_iter().map(Value::Double).collect())),
            other => Err(EvalError::wrong_class(&other, "double[]")),
        }))
    })],
    ..FunctionRow::NEW
};

static STRINGIFY: FunctionRow = FunctionRow {
    name: "Stringify",
    category: Category::Conversion,
    doc: "the text of a value, with arrays as lists",
    examples: &[
        Example("Stringify()", 5, "5"),
        Example("ListSizedStepped(2,Identity()); Stringify()", 1, "[1, 2]"),
    ],
    overloads: &[Overload::new("util", Type::Object, Type::String, forms::NONE, |_| {
        Ok(Function::ObjectToObject(Transform::Print))
    })],
    ..FunctionRow::NEW
};

static TYPE_OF: FunctionRow = FunctionRow {
    name: "TypeOf",
    category: Category::Conversion,
    doc: "the name of the value's Java class",
    examples: &[
        Example("Hash(); TypeOf()", 1, "java.lang.Long"),
        Example("ToInt(); TypeOf()", 1, "java.lang.Integer"),
    ],
    overloads: &[Overload::new("diagnostics", Type::Object, Type::String, forms::NONE, |_| {
        Ok(transform(|value| {
            not_null(&value)?;
            Ok(Value::Text(class_name(&value).to_owned()))
        }))
    })],
    ..FunctionRow::NEW
};

/// `getClass().getCanonicalName()` of what the reference's functions yield.
fn class_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "java.lang.Boolean",
        Value::Byte(_) => "java.lang.Byte",
        Value::Short(_) => "java.lang.Short",
        Value::Int(_) => "java.lang.Integer",
        Value::Long(_) => "java.lang.Long",
        Value::Float(_) => "java.lang.Float",
        Value::Double(_) => "java.lang.Double",
        Value::BigInteger(_) => "java.math.BigInteger",
        Value::BigDecimal(_) => "java.math.BigDecimal",
        Value::Text(_) => "java.lang.String",
        Value::Chars { .. } => "java.nio.HeapCharBuffer",
        Value::Uuid { .. } => "java.util.UUID",
        Value::Date(_) => "java.util.Date",
        Value::Instant(_) => "java.time.Instant",
        Value::JodaInstant(_) => "org.joda.time.Instant",
        Value::JodaDateTime(_) => "org.joda.time.DateTime",
        Value::LocalTime(_) => "java.time.LocalTime",
        Value::InetAddress(_) => "java.net.Inet4Address",
        Value::Bytes(_) => "java.nio.HeapByteBuffer",
        Value::Doubles(_) => "double[]",
        Value::Floats(_) => "float[]",
        Value::List(_) => "java.util.ArrayList",
        Value::Set(_) => "java.util.HashSet",
        Value::Map(_) => "java.util.HashMap",
        Value::Array(_) => "java.lang.Object[]",
        Value::Unset => "io.nosqlbench.virtdata.api.bindings.VALUE",
        Value::ObjectId(_) => "org.bson.types.ObjectId",
        Value::Decimal128(_) => "org.bson.types.Decimal128",
        Value::Document(_) => "org.bson.Document",
        Value::DateTime(_) => "org.bson.BsonDateTime",
        Value::Binary { .. } => "org.bson.types.Binary",
    }
}

static TO_STRING: FunctionRow = FunctionRow {
    name: "ToString",
    category: Category::Conversion,
    doc: "the text of a value, as Java prints it; with a function, the text of what that makes of it",
    examples: &[
        Example("Mod(5); ToString()", 7, "2"),
        Example("ToString(long->Add(1)->long)", 7, "8"),
        Example("HashRange(0.0d,1.0d); ToString()", 0, "0.31931730722925356"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_double",
            Type::Double,
            Type::String,
            &[
                Constructor::of(&[Type::Function]),
                Constructor::of(&[Type::DoubleFunction]),
                Constructor::of(&[Type::DoubleUnaryOperator]),
                Constructor::of(&[]),
            ],
            double_to_string,
        ),
        Overload::new(
            "conversions.from_float",
            Type::BoxedFloat,
            Type::String,
            &[Constructor::of(&[])],
            |_| Ok(of_float(|v| Ok(Value::Text(Value::Float(v).text())))),
        ),
        Overload::new("conversions.from_int", Type::Int, Type::String, &[Constructor::of(&[])], |_| {
            Ok(Function::int_to_text(|v, _, out| {
                value::write_long(i64::from(v), out);
                Ok(())
            }))
        }),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::String,
            &[
                Constructor::of(&[Type::LongToIntFunction]),
                Constructor::of(&[Type::LongToDoubleFunction]),
                Constructor::of(&[Type::Only("LongToByte")]),
                Constructor::of(&[Type::Only("LongToShort")]),
                Constructor::of(&[]),
                Constructor::of(&[Type::LongUnaryOperator]),
                Constructor::of(&[Type::LongFunction]),
                Constructor::of(&[Type::Function]),
            ],
            long_to_string,
        ),
        Overload::new("unary_string", Type::Object, Type::String, &[Constructor::of(&[])], |_| {
            Ok(Function::ObjectToObject(Transform::Print))
        }),
    ],
    ..FunctionRow::NEW
};

/// The only argument, or `default` where there is none.
fn int_or(arguments: &Arguments<'_>, default: i32) -> Result<i32, Refusal> {
    if arguments.count() == 0 { Ok(default) } else { arguments.int(0) }
}

fn long_or(arguments: &Arguments<'_>, default: i64) -> Result<i64, Refusal> {
    if arguments.count() == 0 { Ok(default) } else { arguments.long(0) }
}

/// The remainder without its sign bit.
fn positive(v: i64, modulo: i64) -> Eval<i64> {
    Ok(remainder(v, modulo)? & i64::MAX)
}

fn transform(make: impl Fn(Value) -> Eval<Value> + Send + Sync + 'static) -> Function {
    Function::object_to_object(move |value, _| make(value))
}

/// A function from a boxed double, and no other class.
fn of_double(make: impl Fn(f64) -> Eval<Value> + Send + Sync + 'static) -> Function {
    transform(move |value| match value {
        Value::Double(v) => make(v),
        other => Err(EvalError::wrong_class(&other, "Double")),
    })
}

fn of_float(make: impl Fn(f32) -> Eval<Value> + Send + Sync + 'static) -> Function {
    transform(move |value| match value {
        Value::Float(v) => make(v),
        other => Err(EvalError::wrong_class(&other, "Float")),
    })
}

fn of_short(make: impl Fn(i16) -> Eval<Value> + Send + Sync + 'static) -> Function {
    transform(move |value| match value {
        Value::Short(v) => make(v),
        other => Err(EvalError::wrong_class(&other, "Short")),
    })
}

fn of_bool(make: impl Fn(bool) -> Value + Send + Sync + 'static) -> Function {
    transform(move |value| match value {
        Value::Bool(v) => Ok(make(v)),
        other => Err(EvalError::wrong_class(&other, "Boolean")),
    })
}

/// A function from a String, and no other class.
fn of_text(make: impl Fn(&str) -> Eval<Value> + Send + Sync + 'static) -> Function {
    transform(move |value| match &value {
        Value::Text(text) => make(text),
        other => Err(EvalError::wrong_class(other, "String")),
    })
}

fn read(value: Option<Value>, text: &str, wanted: &str) -> Eval<Value> {
    value.ok_or_else(|| EvalError::no_number(text, wanted))
}

/// `Float.valueOf`: as doubles are read, but rounded once.
fn parse_float(text: &str) -> Option<f32> {
    let double = value::parse_double(text)?;
    let digits = text.trim_matches(|c: char| c <= ' ');
    let digits = digits.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(digits);
    Some(digits.parse().unwrap_or(double as f32))
}

fn not_null(value: &Value) -> Eval<()> {
    if *value == Value::Null {
        return Err(EvalError::boxed("NullPointerException", "there is no value to read"));
    }
    Ok(())
}

/// A function given to `ToString` that can never take what it would be given.
fn unusable(nested: &Nested, input: &str) -> Refusal {
    Refusal::new(format!("`{}` takes {}, but here it is given {input}", nested.name, nested.input)).at(0)
}

fn double_to_string(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    if arguments.count() == 0 {
        return Ok(Function::double_to_text(|v, _, out| {
            value::write_double(v, out);
            Ok(())
        }));
    }
    let nested = arguments.nested(0)?;
    // The reference casts what the function yields to Double.
    let as_double = |value: Value| match value {
        Value::Double(double) => Ok(double),
        other => Err(EvalError::wrong_class(&other, "Double")),
    };
    Ok(match nested.function.clone() {
        Function::DoubleToDouble(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(f(v, cx)?, out);
            Ok(())
        }),
        Function::DoubleToObject(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(as_double(f.value(v, cx)?)?, out);
            Ok(())
        }),
        Function::ObjectToObject(f) => Function::double_to_text(move |v, cx, out| {
            value::write_double(as_double(f.value(Value::Double(v), cx)?)?, out);
            Ok(())
        }),
        _ => return Err(unusable(nested, "a double")),
    })
}

fn long_to_string(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    if arguments.count() == 0 {
        return Ok(Function::long_to_text(|v, _, out| {
            value::write_long(v, out);
            Ok(())
        }));
    }
    let nested = arguments.nested(0)?;
    Ok(match nested.function.clone() {
        Function::LongToInt(f) => Function::long_to_text(move |v, cx, out| {
            value::write_long(i64::from(f(v, cx)?), out);
            Ok(())
        }),
        Function::LongToLong(f) => Function::long_to_text(move |v, cx, out| {
            value::write_long(f(v, cx)?, out);
            Ok(())
        }),
        Function::LongToDouble(f) => Function::long_to_text(move |v, cx, out| {
            value::write_double(f(v, cx)?, out);
            Ok(())
        }),
        Function::LongToObject(f) => Function::long_to_text(move |v, cx, out| f.write(v, cx, out)),
        Function::ObjectToObject(f) => Function::long_to_text(move |v, cx, out| {
            f.value(Value::Long(v), cx)?.write_text(out);
            Ok(())
        }),
        _ => return Err(unusable(nested, "a long")),
    })
}
