//! Values kept from one binding to the next, by name: one map for each logical thread, never cleared between
//! cycles. What a function yields here depends on what was evaluated before on its thread.

use super::function::Transform;
use super::{
    Argument, Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow,
    Overload, Producer, Refusal, Type, arithmetic, forms, ranges,
};
use crate::value::Value;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &SAVE,
    &SAVE_LONG,
    &SAVE_INTEGER,
    &SAVE_DOUBLE,
    &SAVE_FLOAT,
    &SAVE_STRING,
    &LOAD,
    &LOAD_LONG,
    &LOAD_INTEGER,
    &LOAD_DOUBLE,
    &LOAD_FLOAT,
    &LOAD_STRING,
    &LOAD_ELEMENT,
    &SWAP,
    &CLEAR,
    &SHOW,
    &NULL_OR_LOAD,
    &NULL_OR_PASS,
    &UNSET_OR_LOAD,
    &UNSET_OR_PASS,
    &THREAD_NUM,
    &THREAD_NUM_TO_INTEGER,
    &THREAD_NUM_TO_LONG,
    &LONG_STATS,
];

/// What every row here has in common.
const STATE: FunctionRow = FunctionRow { category: Category::State, pure: false, ..FunctionRow::NEW };

/// The name of a variable: a text, or that of what a function yields for the input.
enum Name {
    Constant(Value),
    OfLong(Producer<i64>),
    OfObject(Transform),
}

impl Name {
    fn of(arguments: &Arguments<'_>) -> Result<Name, Refusal> {
        Ok(match arguments.get(0) {
            Some(Argument::Text(name)) => Name::Constant(Value::Text(name.clone())),
            _ => {
                let nested = arguments.nested(0)?;
                match &nested.function {
                    Function::LongToObject(f) => Name::OfLong(f.clone()),
                    Function::ObjectToObject(f) => Name::OfObject(f.clone()),
                    _ => return Err(Refusal::new(format!("`{}` cannot make a name here", nested.name)).at(0)),
                }
            }
        })
    }

    /// The name for an input, which `long` gives as a long and `value` as a value.
    fn get(
        &self,
        long: impl FnOnce() -> i64,
        value: impl FnOnce() -> Value,
        context: &mut Context,
    ) -> Eval<Cow<'_, Value>> {
        let made = match self {
            Name::Constant(name) => return Ok(Cow::Borrowed(name)),
            Name::OfLong(f) => f.value(long(), context)?,
            Name::OfObject(f) => f.value(value(), context)?,
        };
        Ok(Cow::Owned(Value::Text(made.text())))
    }

    fn of_long(&self, v: i64, context: &mut Context) -> Eval<Cow<'_, Value>> {
        self.get(|| v, || Value::Long(v), context)
    }

    fn of_int(&self, v: i32, context: &mut Context) -> Eval<Cow<'_, Value>> {
        self.get(|| i64::from(v), || Value::Int(v), context)
    }

    fn of_double(&self, v: f64, context: &mut Context) -> Eval<Cow<'_, Value>> {
        self.get(|| v as i64, || Value::Double(v), context)
    }

    fn of_value(&self, value: &Value, context: &mut Context) -> Eval<Cow<'_, Value>> {
        self.get(|| 0, || value.clone(), context)
    }
}

impl Context {
    fn save(&mut self, name: &Value, value: Value) {
        match self.variables.get_mut(name) {
            Some(kept) => *kept = value,
            None => {
                self.variables.put(name.clone(), value);
            }
        }
    }

    fn load(&self, name: &Value) -> Option<&Value> {
        self.variables.get(name)
    }
}

fn wrong(value: &Value, wanted: &str) -> Box<EvalError> {
    match value {
        Value::Null => {
            EvalError::boxed("NullPointerException", format!("there is no {wanted} under this name"))
        }
        _ => EvalError::wrong_class(value, wanted),
    }
}

fn as_long(value: &Value) -> Eval<i64> {
    match value {
        Value::Long(long) => Ok(*long),
        other => Err(wrong(other, "Long")),
    }
}

fn as_int(value: &Value) -> Eval<i32> {
    match value {
        Value::Int(int) => Ok(*int),
        other => Err(wrong(other, "Integer")),
    }
}

fn as_double(value: &Value) -> Eval<f64> {
    match value {
        Value::Double(double) => Ok(*double),
        other => Err(wrong(other, "Double")),
    }
}

/// The value itself, if it is of this class or null.
fn as_class(value: &Value, wanted: Type) -> Eval<Value> {
    let fits = match value {
        Value::Null => true,
        Value::Long(_) => wanted == Type::BoxedLong,
        Value::Int(_) => wanted == Type::BoxedInt,
        Value::Double(_) => wanted == Type::BoxedDouble,
        Value::Float(_) => wanted == Type::BoxedFloat,
        Value::Text(_) => wanted == Type::String,
        _ => false,
    };
    if fits || wanted == Type::Object {
        Ok(value.clone())
    } else {
        Err(EvalError::wrong_class(value, &wanted.to_string()))
    }
}

const BY_OBJECT: &[Constructor] = &[Constructor::of(&[Type::String]), Constructor::of(&[Type::Function])];
const BY_LONG: &[Constructor] = &[Constructor::of(&[Type::String]), Constructor::of(&[Type::LongFunction])];

/// Saves a double as it is and passes it on.
fn save_double(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::double_to_double(move |v, context| {
        let name = name.of_double(v, context)?;
        context.save(&name, Value::Double(v));
        Ok(v)
    }))
}

fn save_long(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::long_to_long(move |v, context| {
        let name = name.of_long(v, context)?;
        context.save(&name, Value::Long(v));
        Ok(v)
    }))
}

fn save_int(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::int_to_int(move |v, context| {
        let name = name.of_int(v, context)?;
        context.save(&name, Value::Int(v));
        Ok(v)
    }))
}

/// Saves any value, of a class, and passes it on.
fn save_class(arguments: &Arguments<'_>, wanted: Type) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::object_to_object(move |value, context| {
        let value = as_class(&value, wanted)?;
        let name = name.of_value(&value, context)?;
        context.save(&name, value.clone());
        Ok(value)
    }))
}

/// Saves the long that is the input: what the typed functions do that take one and give another type.
fn save_input(name: &Name, v: i64, context: &mut Context) -> Eval<()> {
    let name = name.of_long(v, context)?;
    context.save(&name, Value::Long(v));
    Ok(())
}

static SAVE: FunctionRow = FunctionRow {
    name: "Save",
    doc: "keeps the value under a name, for Load on the same thread, and passes it on",
    notes: "kept as the type that it has in the flow; a function instead of a name makes the name",
    examples: &[Example("Save('a'); Add(1); Load('a')", 5, "5"), Example("Save('a'); Show()", 5, "{a=5}")],
    overloads: &[
        Overload::double_to_double(BY_OBJECT, save_double),
        Overload::long_to_long(BY_OBJECT, save_long),
        Overload::new("stateful", Type::Object, Type::Object, BY_OBJECT, |arguments| {
            save_class(arguments, Type::Object)
        }),
        Overload::new("stateful.from_long", Type::Long, Type::Long, BY_LONG, save_long),
        Overload::int_to_int(BY_OBJECT, save_int),
        Overload::new("unary_string", Type::String, Type::String, BY_OBJECT, |arguments| {
            match Name::of(arguments)? {
                // The reference forgets the function, and saves under null.
                Name::OfObject(_) => Ok(Function::object_to_object(|value, context| {
                    let value = as_class(&value, Type::String)?;
                    context.save(&Value::Null, value.clone());
                    Ok(value)
                })),
                _ => save_class(arguments, Type::String),
            }
        }),
    ],
    ..STATE
};

static SAVE_LONG: FunctionRow = FunctionRow {
    name: "SaveLong",
    doc: "keeps a long under a name and passes it on",
    examples: &[Example("Hash(); SaveLong('h'); LoadLong('h')", 1, "6292367497774912474")],
    overloads: &[
        Overload::new("stateful", Type::Long, Type::Long, BY_OBJECT, save_long),
        Overload::new("stateful.from_long", Type::Long, Type::Long, BY_OBJECT, save_long),
    ],
    ..STATE
};

static SAVE_INTEGER: FunctionRow = FunctionRow {
    name: "SaveInteger",
    doc: "keeps the value under a name and passes on its low 32 bits",
    notes: "after a function that yields a long, what is kept is the long",
    examples: &[Example("Hash(); SaveInteger('i')", 1, "-1659481126")],
    overloads: &[
        Overload::new("stateful", Type::Int, Type::Int, BY_OBJECT, save_int),
        Overload::new("stateful.from_long", Type::Long, Type::Int, BY_LONG, |arguments| {
            let name = Name::of(arguments)?;
            Ok(Function::long_to_int(move |v, context| {
                save_input(&name, v, context)?;
                Ok(v as i32)
            }))
        }),
    ],
    ..STATE
};

static SAVE_DOUBLE: FunctionRow = FunctionRow {
    name: "SaveDouble",
    doc: "keeps the value under a name and passes it on as a double",
    notes: "after a function that yields a long, what is kept is the long",
    examples: &[Example("SaveDouble('d')", 1, "1.0")],
    overloads: &[
        Overload::new("stateful", Type::Double, Type::Double, BY_OBJECT, save_double),
        Overload::new("stateful.from_long", Type::Long, Type::Double, BY_LONG, |arguments| {
            let name = Name::of(arguments)?;
            Ok(Function::long_to_double(move |v, context| {
                save_input(&name, v, context)?;
                Ok(v as f64)
            }))
        }),
    ],
    ..STATE
};

static SAVE_FLOAT: FunctionRow = FunctionRow {
    name: "SaveFloat",
    doc: "keeps the value under a name and passes it on in single precision",
    notes: "after a function that yields a long, what is kept is the long",
    examples: &[Example("SaveFloat('f')", 1, "1.0")],
    overloads: &[
        Overload::new("stateful", Type::BoxedFloat, Type::BoxedFloat, BY_OBJECT, |arguments| {
            save_class(arguments, Type::BoxedFloat)
        }),
        Overload::new("stateful.from_long", Type::Long, Type::BoxedFloat, BY_LONG, |arguments| {
            let name = Name::of(arguments)?;
            Ok(Function::long_to_object(move |v, context| {
                save_input(&name, v, context)?;
                Ok(Value::Float(v as f32))
            }))
        }),
    ],
    ..STATE
};

static SAVE_STRING: FunctionRow = FunctionRow {
    name: "SaveString",
    doc: "keeps the value under a name and passes on its text",
    notes: "after a function that yields a long, what is kept is the long",
    examples: &[
        Example("SaveString('s')", 1, "1"),
        Example("ToString(); SaveString('s'); LoadString('s')", 1, "1"),
    ],
    overloads: &[
        Overload::new("stateful", Type::String, Type::String, BY_OBJECT, |arguments| {
            save_class(arguments, Type::String)
        }),
        Overload::new("stateful.from_long", Type::Long, Type::String, BY_LONG, |arguments| {
            let name = Name::of(arguments)?;
            Ok(Function::long_to_text(move |v, context, out| {
                save_input(&name, v, context)?;
                crate::value::write_long(v, out);
                Ok(())
            }))
        }),
    ],
    ..STATE
};

/// The four constructors of a function that loads: by name or function, with or without a default.
macro_rules! loads {
    ($function:expr, $default:expr) => {
        &[
            Constructor::of(&[$function, $default]),
            Constructor::of(&[$function]),
            Constructor::of(&[Type::String, $default]),
            Constructor::of(&[Type::String]),
        ]
    };
}

/// The form that takes any value and gives one of a class; `default` where nothing is kept.
fn load_of_object(arguments: &Arguments<'_>, wanted: Type, default: Value) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::object_to_object(move |value, context| {
        let name = name.of_value(&value, context)?;
        as_class(context.load(&name).unwrap_or(&default), wanted)
    }))
}

/// The form that takes a long and gives a value of a class.
fn load_of_long(arguments: &Arguments<'_>, wanted: Type, default: Value) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    Ok(Function::long_to_object(move |v, context| {
        let name = name.of_long(v, context)?;
        as_class(context.load(&name).unwrap_or(&default), wanted)
    }))
}

fn load_long(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let name = Name::of(arguments)?;
    let default = if arguments.count() > 1 { arguments.long(1)? } else { 0 };
    Ok(Function::long_to_long(move |v, context| {
        let name = name.of_long(v, context)?;
        context.load(&name).map_or(Ok(default), as_long)
    }))
}

fn long_default(arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    Ok(Value::Long(if arguments.count() > 1 { arguments.long(1)? } else { 0 }))
}

fn int_default(arguments: &Arguments<'_>) -> Result<i32, Refusal> {
    if arguments.count() > 1 { arguments.int(1) } else { Ok(0) }
}

fn double_default(arguments: &Arguments<'_>) -> Result<f64, Refusal> {
    if arguments.count() > 1 { arguments.double(1) } else { Ok(0.0) }
}

fn float_default(arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    Ok(Value::Float(if arguments.count() > 1 { arguments.float(1)? } else { 0.0 }))
}

fn text_default(arguments: &Arguments<'_>, default: Value) -> Result<Value, Refusal> {
    if arguments.count() > 1 { Ok(Value::Text(arguments.text(1)?.to_owned())) } else { Ok(default) }
}

/// Any literal, null where there is none. (A function as a default would be the value itself in the
/// reference.)
fn object_default(arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    if arguments.count() > 1 { arguments.constant(1) } else { Ok(Value::Null) }
}

static LOAD: FunctionRow = FunctionRow {
    name: "Load",
    doc: "the value that Save kept under a name on this thread; the input does not matter",
    notes: "it must have the type of the flow here: after a long only a long can be loaded, LoadString and its \
            kin load others; without a value it is 0, an empty one or null, or the second argument",
    examples: &[
        Example("Load('nothing')", 5, "0"),
        Example("Load('nothing',423L)", 5, "423"),
        Example("Load('nothing','text')", 5, "text"),
    ],
    overloads: &[
        Overload::double_to_double(loads!(Type::Function, Type::Double), |arguments| {
            let name = Name::of(arguments)?;
            let default = double_default(arguments)?;
            Ok(Function::double_to_double(move |v, context| {
                let name = name.of_double(v, context)?;
                context.load(&name).map_or(Ok(default), as_double)
            }))
        }),
        Overload::long_to_long(loads!(Type::Function, Type::Long), load_long),
        Overload::new(
            "stateful",
            Type::Object,
            Type::Object,
            &[
                Constructor::of(&[Type::Function, Type::Object]),
                Constructor::of(&[Type::String, Type::Object]),
                Constructor::of(&[Type::Function]),
                Constructor::of(&[Type::String]),
            ],
            |arguments| load_of_object(arguments, Type::Object, object_default(arguments)?),
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::Object,
            &[
                Constructor::of(&[Type::LongFunction, Type::Object]),
                Constructor::of(&[Type::String, Type::Object]),
                Constructor::of(&[Type::LongFunction]),
                Constructor::of(&[Type::String]),
            ],
            |arguments| load_of_long(arguments, Type::Object, object_default(arguments)?),
        ),
        Overload::int_to_int(loads!(Type::Function, Type::Int), |arguments| {
            let name = Name::of(arguments)?;
            let default = int_default(arguments)?;
            Ok(Function::int_to_int(move |v, context| {
                let name = name.of_int(v, context)?;
                context.load(&name).map_or(Ok(default), as_int)
            }))
        }),
        Overload::new(
            "unary_string",
            Type::String,
            Type::String,
            loads!(Type::Function, Type::String),
            |arguments| load_of_object(arguments, Type::String, text_default(arguments, Value::Null)?),
        ),
    ],
    ..STATE
};

static LOAD_LONG: FunctionRow = FunctionRow {
    name: "LoadLong",
    doc: "the long that was kept under a name, else 0 or the second argument",
    examples: &[Example("LoadLong('nothing',7L)", 5, "7"), Example("SaveLong('a'); LoadLong('a')", 5, "5")],
    overloads: &[
        Overload::new(
            "stateful",
            Type::Object,
            Type::BoxedLong,
            loads!(Type::Function, Type::Long),
            |arguments| load_of_object(arguments, Type::BoxedLong, long_default(arguments)?),
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::Long,
            loads!(Type::LongFunction, Type::Long),
            load_long,
        ),
    ],
    ..STATE
};

static LOAD_INTEGER: FunctionRow = FunctionRow {
    name: "LoadInteger",
    doc: "the 32-bit integer that was kept under a name, else 0 or the second argument",
    examples: &[
        Example("LoadInteger('nothing',7)", 5, "7"),
        Example("ToInt(); Save('a'); LoadInteger('a')", 5, "5"),
    ],
    overloads: &[
        Overload::new(
            "stateful",
            Type::Object,
            Type::BoxedInt,
            loads!(Type::Function, Type::Int),
            |arguments| load_of_object(arguments, Type::BoxedInt, Value::Int(int_default(arguments)?)),
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::Int,
            loads!(Type::LongFunction, Type::Int),
            |arguments| {
                let name = Name::of(arguments)?;
                let default = int_default(arguments)?;
                Ok(Function::long_to_int(move |v, context| {
                    let name = name.of_long(v, context)?;
                    context.load(&name).map_or(Ok(default), as_int)
                }))
            },
        ),
    ],
    ..STATE
};

static LOAD_DOUBLE: FunctionRow = FunctionRow {
    name: "LoadDouble",
    doc: "the double that was kept under a name, else 0.0 or the second argument",
    examples: &[
        Example("LoadDouble('nothing')", 5, "0.0"),
        Example("HashRange(0.0d,1.0d); SaveDouble('a'); LoadDouble('a')", 0, "0.31931730722925356"),
    ],
    overloads: &[
        Overload::new(
            "stateful",
            Type::Object,
            Type::BoxedDouble,
            loads!(Type::Function, Type::Double),
            |arguments| {
                load_of_object(arguments, Type::BoxedDouble, Value::Double(double_default(arguments)?))
            },
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::Double,
            loads!(Type::LongFunction, Type::Double),
            |arguments| {
                let name = Name::of(arguments)?;
                let default = double_default(arguments)?;
                Ok(Function::long_to_double(move |v, context| {
                    let name = name.of_long(v, context)?;
                    context.load(&name).map_or(Ok(default), as_double)
                }))
            },
        ),
    ],
    ..STATE
};

static LOAD_FLOAT: FunctionRow = FunctionRow {
    name: "LoadFloat",
    doc: "the number of single precision that was kept under a name, else 0.0 or the second argument",
    examples: &[Example("LoadFloat('nothing',23F)", 5, "23.0")],
    overloads: &[
        Overload::new(
            "stateful",
            Type::Object,
            Type::BoxedFloat,
            loads!(Type::Function, Type::Float),
            |arguments| load_of_object(arguments, Type::BoxedFloat, float_default(arguments)?),
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::BoxedFloat,
            loads!(Type::LongFunction, Type::Float),
            |arguments| load_of_long(arguments, Type::BoxedFloat, float_default(arguments)?),
        ),
    ],
    ..STATE
};

static LOAD_STRING: FunctionRow = FunctionRow {
    name: "LoadString",
    doc: "the text that was kept under a name, else an empty one or the second argument",
    examples: &[
        Example("LoadString('nothing','text')", 5, "text"),
        Example("ToString(); Save('a'); LoadString('a')", 5, "5"),
    ],
    overloads: &[
        Overload::new(
            "stateful",
            Type::Object,
            Type::String,
            loads!(Type::Function, Type::String),
            |arguments| {
                load_of_object(arguments, Type::String, text_default(arguments, Value::Text(String::new()))?)
            },
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::String,
            loads!(Type::LongFunction, Type::String),
            |arguments| {
                load_of_long(arguments, Type::String, text_default(arguments, Value::Text(String::new()))?)
            },
        ),
    ],
    ..STATE
};

static LOAD_ELEMENT: FunctionRow = FunctionRow {
    name: "LoadElement",
    doc: "the default, its third argument: there is no map of that name to look in",
    notes: "in NoSQLBench a script may give an activity such a map",
    examples: &[Example("Identity(); LoadElement('a','vars','none')", 5, "none")],
    overloads: &[Overload::new(
        "stateful",
        Type::Object,
        Type::Object,
        &[Constructor::of(&[Type::String, Type::String, Type::Object])],
        |arguments| {
            let default = arguments.constant(2)?;
            Ok(Function::object_to_object(move |_, _| Ok(default.clone())))
        },
    )],
    ..STATE
};

static SWAP: FunctionRow = FunctionRow {
    name: "Swap",
    doc: "keeps the value under a name and gives the one that was there, or the second argument, 0 or null",
    notes: "as in NoSQLBench, the forms that give any value keep it under no name if a function makes the name",
    examples: &[
        Example("Swap('s')", 5, "0"),
        Example("Swap('s','none')", 5, "none"),
        Example("Save('s'); Add(1); Swap('s')", 5, "5"),
    ],
    overloads: &[
        Overload::long_to_long(loads!(Type::LongFunction, Type::Long), |arguments| {
            let name = Name::of(arguments)?;
            let default = if arguments.count() > 1 { arguments.long(1)? } else { 0 };
            Ok(Function::long_to_long(move |v, context| {
                let name = name.of_long(v, context)?;
                let before = context.load(&name).map_or(Ok(default), as_long)?;
                context.save(&name, Value::Long(v));
                Ok(before)
            }))
        }),
        Overload::new(
            "stateful",
            Type::Object,
            Type::Object,
            &[
                Constructor::of(&[Type::Function, Type::Object]),
                Constructor::of(&[Type::Function]),
                Constructor::of(&[Type::String, Type::Object]),
                Constructor::of(&[Type::String]),
            ],
            |arguments| {
                let (name, default) = (Name::of(arguments)?, object_default(arguments)?);
                Ok(Function::object_to_object(move |value, context| {
                    let read = name.of_value(&value, context)?;
                    Ok(swap(&name, &read, value, &default, context))
                }))
            },
        ),
        Overload::new(
            "stateful.from_long",
            Type::Long,
            Type::Object,
            &[
                Constructor::of(&[Type::LongFunction, Type::Object]),
                Constructor::of(&[Type::LongFunction]),
                Constructor::of(&[Type::String, Type::Object]),
                Constructor::of(&[Type::String]),
            ],
            |arguments| {
                let (name, default) = (Name::of(arguments)?, object_default(arguments)?);
                Ok(Function::long_to_object(move |v, context| {
                    let read = name.of_long(v, context)?;
                    Ok(swap(&name, &read, Value::Long(v), &default, context))
                }))
            },
        ),
    ],
    ..STATE
};

/// What was kept under `read`; the new value goes under the constant name, or under null if a function makes
/// the name.
fn swap(name: &Name, read: &Value, value: Value, default: &Value, context: &mut Context) -> Value {
    let before = context.load(read).filter(|kept| **kept != Value::Null).unwrap_or(default).clone();
    context.save(if let Name::Constant(name) = name { name } else { &Value::Null }, value);
    before
}

const NONE_OR_NAMES: &[Constructor] = &[Constructor::of(&[]), Constructor::with_rest(&[], Type::String)];

fn names(arguments: &Arguments<'_>) -> Result<Vec<Value>, Refusal> {
    (0..arguments.count()).map(|position| Ok(Value::Text(arguments.text(position)?.to_owned()))).collect()
}

fn clear(names: &[Value], context: &mut Context) {
    if names.is_empty() {
        context.variables.clear();
    }
    for name in names {
        context.variables.remove(name);
    }
}

static CLEAR: FunctionRow = FunctionRow {
    name: "Clear",
    doc: "forgets what is kept under some names, or everything, and passes the value on",
    examples: &[Example("Save('a'); Clear('a'); Load('a')", 5, "0")],
    overloads: &[
        Overload::new("stateful", Type::Object, Type::Object, NONE_OR_NAMES, |arguments| {
            let names = names(arguments)?;
            Ok(Function::object_to_object(move |value, context| {
                clear(&names, context);
                Ok(value)
            }))
        }),
        Overload::new("stateful.from_long", Type::Long, Type::Long, NONE_OR_NAMES, |arguments| {
            let names = names(arguments)?;
            Ok(Function::long_to_long(move |v, context| {
                clear(&names, context);
                Ok(v)
            }))
        }),
    ],
    ..STATE
};

static SHOW: FunctionRow = FunctionRow {
    name: "Show",
    doc: "the text of what is kept under some names, or of everything",
    examples: &[
        Example("Save('a'); Show()", 5, "{a=5}"),
        Example("Save('a'); Show('a','b')", 5, "{a=5,b=NULL}"),
    ],
    overloads: &[
        Overload::new("stateful", Type::Object, Type::String, NONE_OR_NAMES, |arguments| {
            let names = names(arguments)?;
            Ok(Function::object_to_object(move |_, context| {
                let mut out = Vec::new();
                show(&names, context, &mut out);
                Ok(super::function::text_value(out))
            }))
        }),
        Overload::new("stateful.from_long", Type::Long, Type::String, NONE_OR_NAMES, |arguments| {
            let names = names(arguments)?;
            Ok(Function::long_to_text(move |_, context, out| {
                show(&names, context, out);
                Ok(())
            }))
        }),
    ],
    ..STATE
};

fn show(names: &[Value], context: &Context, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut entry = |separator: &[u8], name: &Value, value: Option<&Value>| {
        out.extend_from_slice(separator);
        name.write_text(out);
        out.push(b'=');
        match value {
            Some(value) => value.write_text(out),
            None => out.extend_from_slice(b"NULL"),
        }
    };
    if names.is_empty() {
        for (position, (name, value)) in context.variables.iter().enumerate() {
            entry(if position == 0 { b"" } else { b", " }, name, Some(value));
        }
    }
    for (position, name) in names.iter().enumerate() {
        let value = context.load(name).filter(|value| **value != Value::Null);
        entry(if position == 0 { b"" } else { b"," }, name, value);
    }
    out.push(b'}');
}

const RATIO_AND_NAME: &[Constructor] = &[Constructor::of(&[Type::Double, Type::String])];

/// The ratio and the name.
fn ratio(arguments: &Arguments<'_>) -> Result<(f64, Value), Refusal> {
    let ratio = arguments.double(0)?;
    if !(0.0..=1.0).contains(&ratio) {
        return Err(Refusal::new(format!("the ratio is from 0.0 to 1.0, not {ratio}")).at(0));
    }
    Ok((ratio, Value::Text(arguments.text(1)?.to_owned())))
}

/// `dropped` for a random-looking share of the inputs, else what is kept under a name.
fn or_load(arguments: &Arguments<'_>, dropped: Value) -> Result<Function, Refusal> {
    let (ratio, name) = ratio(arguments)?;
    Ok(Function::long_to_object(move |v, context| {
        if ranges::unit(v) <= ratio {
            return Ok(dropped.clone());
        }
        Ok(context.load(&name).cloned().unwrap_or(Value::Null))
    }))
}

/// `dropped` for a random-looking share of the longs that are kept under a name, else the input.
fn or_pass(arguments: &Arguments<'_>, dropped: Value) -> Result<Function, Refusal> {
    let (ratio, name) = ratio(arguments)?;
    Ok(Function::object_to_object(move |value, context| match context.load(&name) {
        Some(Value::Long(basis)) => Ok(if ranges::unit(*basis) <= ratio { dropped.clone() } else { value }),
        _ => Err(EvalError::boxed(
            "RuntimeException",
            format!("no long is kept as `{}`: put `Save('{}')` before", name.text(), name.text()),
        )),
    }))
}

macro_rules! or {
    ($name:literal, $doc:literal, $input:expr, $build:expr, $example:expr) => {
        FunctionRow {
            name: $name,
            doc: $doc,
            notes: "(ratio, name): the ratio is from 0.0 to 1.0",
            examples: &[$example],
            overloads: &[Overload::new("stateful", $input, Type::Object, RATIO_AND_NAME, $build)],
            ..STATE
        }
    };
}

static NULL_OR_LOAD: FunctionRow = or!(
    "NullOrLoad",
    "null for a share of the inputs, else what is kept under a name",
    Type::Long,
    |arguments| or_load(arguments, Value::Null),
    Example("Save('a'); NullOrLoad(0.1,'a')", 5, "5")
);
static UNSET_OR_LOAD: FunctionRow = or!(
    "UnsetOrLoad",
    "left out for a share of the inputs, else what is kept under a name",
    Type::Long,
    |arguments| or_load(arguments, Value::Unset),
    Example("UnsetOrLoad(1.0,'a')", 5, "unset")
);
static NULL_OR_PASS: FunctionRow = or!(
    "NullOrPass",
    "null for a share of the longs that are kept under a name, else the input",
    Type::Object,
    |arguments| or_pass(arguments, Value::Null),
    Example("Save('a'); NullOrPass(0.1,'a')", 5, "5")
);
static UNSET_OR_PASS: FunctionRow = or!(
    "UnsetOrPass",
    "left out for a share of the longs that are kept under a name, else the input",
    Type::Object,
    |arguments| or_pass(arguments, Value::Unset),
    Example("Save('a'); UnsetOrPass(1.0,'a')", 5, "unset")
);

static THREAD_NUM: FunctionRow = FunctionRow {
    name: "ThreadNum",
    doc: "the number of the logical thread, from 0",
    examples: &[Example("ThreadNum()", 5, "0")],
    overloads: &[
        Overload::new("nondeterministic.to_int", Type::Long, Type::Int, forms::NONE, |_| {
            Ok(Function::long_to_int(|_, context| Ok(context.thread as i32)))
        }),
        Overload::new("nondeterministic.to_long", Type::Long, Type::Long, forms::NONE, thread_number),
    ],
    ..STATE
};

static THREAD_NUM_TO_INTEGER: FunctionRow = FunctionRow {
    name: "ThreadNumToInteger",
    doc: "the number of the logical thread, from 0, as a 32-bit integer",
    examples: &[Example("ThreadNumToInteger()", 5, "0")],
    overloads: &[Overload::new("nondeterministic", Type::Long, Type::BoxedInt, forms::NONE, |_| {
        Ok(Function::long_to_object(|_, context| Ok(Value::Int(context.thread as i32))))
    })],
    ..STATE
};

static THREAD_NUM_TO_LONG: FunctionRow = FunctionRow {
    name: "ThreadNumToLong",
    doc: "the number of the logical thread, from 0, as a 64-bit integer",
    examples: &[Example("ThreadNumToLong()", 5, "0")],
    overloads: &[Overload::new("nondeterministic", Type::Long, Type::Long, forms::NONE, thread_number)],
    ..STATE
};

fn thread_number(_: &Arguments<'_>) -> Result<Function, Refusal> {
    Ok(Function::long_to_long(|_, context| Ok(context.thread as i64)))
}

/// Java's `DoubleSummaryStatistics`.
#[derive(Debug, Clone, Copy)]
struct Statistics {
    count: f64,
    /// With what its additions lost, and without any care.
    sum: f64,
    lost: f64,
    plain: f64,
    min: f64,
    max: f64,
}

impl Statistics {
    fn accept(&mut self, value: f64) {
        self.count += 1.0;
        self.plain += value;
        let corrected = value - self.lost;
        let sum = self.sum + corrected;
        self.lost = (sum - self.sum) - corrected;
        self.sum = sum;
        self.min = arithmetic::min(self.min, value);
        self.max = arithmetic::max(self.max, value);
    }

    fn total(&self) -> f64 {
        let sum = self.sum - self.lost;
        if sum.is_nan() && self.plain.is_infinite() { self.plain } else { sum }
    }
}

static LONG_STATS: FunctionRow = FunctionRow {
    name: "LongStats",
    doc: "a running statistic of the inputs so far: 'min', 'max', 'avg', 'count' or 'sum'",
    notes: "one statistic for all threads, so that it depends on what they evaluated before; a function as the \
            second argument is applied first",
    examples: &[Example("LongStats('sum')", 5, "5.0")],
    overloads: &[Overload::new(
        "statistics",
        Type::Double,
        Type::Double,
        &[Constructor::of(&[Type::String]), Constructor::of(&[Type::String, Type::Object, Type::Boolean])],
        |arguments| {
            let read: fn(&Statistics) -> f64 = match arguments.text(0)?.to_lowercase().as_str() {
                "min" => |statistics| statistics.min,
                "max" => |statistics| statistics.max,
                "avg" | "average" => |statistics| statistics.total() / statistics.count,
                "count" => |statistics| statistics.count,
                "sum" => Statistics::total,
                other => {
                    return Err(Refusal::new(format!("'{other}' is no statistic"))
                        .at(0)
                        .help("write 'min', 'max', 'avg', 'count' or 'sum'"));
                }
            };
            let of = match arguments.count() {
                1 => None,
                _ => Some(match &arguments.nested(1)?.function {
                    Function::DoubleToDouble(f) => f.clone(),
                    _ => {
                        let f =
                            super::adapt::to_double(arguments.nested(1)?).map_err(|refusal| refusal.at(1))?;
                        Arc::new(move |v: f64, context: &mut Context| f(v as i64, context))
                    }
                }),
            };
            let statistics = Arc::new(Mutex::new(Statistics {
                count: 0.0,
                sum: 0.0,
                lost: 0.0,
                plain: 0.0,
                min: f64::INFINITY,
                max: f64::NEG_INFINITY,
            }));
            Ok(Function::double_to_double(move |v, context| {
                let value = match &of {
                    None => v,
                    Some(of) => of(v, context)?,
                };
                let mut statistics = statistics.lock().unwrap_or_else(PoisonError::into_inner);
                statistics.accept(value);
                Ok(read(&statistics))
            }))
        },
    )],
    ..STATE
};
