//! Values that do not depend on the input.

use super::{Category, Constructor, Example, Function, FunctionRow, Overload, Type};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&FIXED_VALUE];

static FIXED_VALUE: FunctionRow = FunctionRow {
    name: "FixedValue",
    category: Category::Constant,
    doc: "always the same integer or text",
    examples: &[Example("FixedValue(42)", 5, "42"), Example("FixedValue('x')", 5, "x")],
    overloads: &[
        Overload::new(
            "from_long.to_int",
            Type::Long,
            Type::Int,
            &[Constructor::of(&[Type::Int])],
            |arguments| {
                let constant = arguments.int(0)?;
                Ok(Function::long_to_int(move |_, _| Ok(constant)))
            },
        ),
        Overload::new(
            "from_long.to_long",
            Type::Long,
            Type::Long,
            &[Constructor::of(&[Type::Long])],
            |arguments| {
                let constant = arguments.long(0)?;
                Ok(Function::long_to_long(move |_, _| Ok(constant)))
            },
        ),
        Overload::new(
            "from_long.to_string",
            Type::Long,
            Type::String,
            &[Constructor::of(&[Type::String])],
            |arguments| {
                let constant = arguments.text(0)?.to_owned();
                Ok(Function::long_to_text(move |_, _, out| {
                    out.extend_from_slice(constant.as_bytes());
                    Ok(())
                }))
            },
        ),
    ],
    ..FunctionRow::NEW
};
