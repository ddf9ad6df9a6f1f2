//! Values that do not depend on the input.

use super::{Category, Constructor, Example, Function, FunctionRow, Overload, Type};

pub static FIXED_VALUE: FunctionRow = FunctionRow {
    name: "FixedValue",
    category: Category::Constant,
    doc: "always the same integer or text",
    pure: true,
    examples: &[Example("FixedValue(42)", 5, "42"), Example("FixedValue('x')", 5, "x")],
    overloads: &[
        Overload {
            package: "from_long.to_int",
            input: Type::Long,
            output: Type::Int,
            constructors: &[Constructor::of(&[Type::Int])],
            build: |arguments| {
                let constant = arguments.int(0)?;
                Ok(Function::long_to_int(move |_, _| Ok(constant)))
            },
        },
        Overload {
            package: "from_long.to_long",
            input: Type::Long,
            output: Type::Long,
            constructors: &[Constructor::of(&[Type::Long])],
            build: |arguments| {
                let constant = arguments.long(0)?;
                Ok(Function::long_to_long(move |_, _| Ok(constant)))
            },
        },
        Overload {
            package: "from_long.to_string",
            input: Type::Long,
            output: Type::String,
            constructors: &[Constructor::of(&[Type::String])],
            build: |arguments| {
                let constant = arguments.text(0)?.to_owned();
                Ok(Function::long_to_text(move |_, _, out| {
                    out.extend_from_slice(constant.as_bytes());
                    Ok(())
                }))
            },
        },
    ],
};
