//! The binding function library: one table row a function, grouped by family.
//!
//! A row says everything that anyone needs to know of a function: its name, what it takes and gives (each
//! overload in the reference's order, since that order decides which one a recipe gets), a line of
//! documentation, examples that are tests too, whether it is pure, and how it is built. Values are those of
//! the reference to the bit; the formulas stand where they are used.
//!
//! To add a function: a row in the file of its family, and in that file's `ROWS`.

mod adapt;
mod arguments;
mod arithmetic;
mod bytes;
mod chain;
mod choice;
mod collections;
mod constants;
mod conversions;
mod curves;
mod expression;
mod files;
mod formats;
mod function;
mod hash;
mod html_entities;
mod ids;
mod image;
mod java_regex;
mod joda;
mod json;
mod lfsr;
mod mongo;
mod names;
mod nulls;
mod people;
mod places;
mod ranges;
mod samplers;
mod state;
mod text;
mod times;
mod tpcc;
mod types;
mod vectors;
mod ycsb;
mod ycsb_records;
mod zone;

pub use arguments::{Argument, Arguments, Nested, Refusal};
pub use chain::Chain;
pub use function::{Function, Map, Produce, Producer, Slice, Transform};
pub use names::{synonym, why_refused};
pub use types::{Match, Type};

use crate::value::{JavaHashMap, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a function may see besides its input: one per logical thread.
#[derive(Debug, Default)]
pub struct Context {
    /// Index of the logical thread.
    pub thread: usize,
    /// Values kept by `Save`, read by `Load`. Names are texts; `Swap` may use null.
    pub variables: JavaHashMap<Value, Value>,
    /// How many inserting cycles of the activity are acknowledged without a gap, from its first on; one for all
    /// of its threads. The engine counts where a selected op has a function that
    /// [reads it](FunctionRow::reads_acknowledged); an insert that failed is a gap for good. It only grows;
    /// the engine alone stores it, with `Release`, and functions load it, with `Acquire`, once for a value.
    pub acknowledged: Arc<AtomicU64>,
}

/// A value that could not be made for one cycle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub struct EvalError {
    /// Short name in Java's style, such as `ArithmeticException`.
    pub name: &'static str,
    pub message: String,
}

/// What a function gives at cycle time. The error is boxed, so that the good result fits two registers.
pub type Eval<T> = Result<T, Box<EvalError>>;

impl EvalError {
    pub fn boxed(name: &'static str, message: impl Into<String>) -> Box<EvalError> {
        Box::new(EvalError { name, message: message.into() })
    }

    #[cold]
    fn division_by_zero() -> Box<EvalError> {
        EvalError::boxed("ArithmeticException", "division by zero")
    }

    #[cold]
    fn wrong_class(value: &Value, wanted: &str) -> Box<EvalError> {
        EvalError::boxed("ClassCastException", format!("{} is not a {wanted}", value.type_name()))
    }

    #[cold]
    fn no_number(text: &str, wanted: &str) -> Box<EvalError> {
        EvalError::boxed("NumberFormatException", format!("{text:?} is not a {wanted}"))
    }
}

/// What a function is for, as `--list-functions` groups them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Arithmetic,
    Bytes,
    Choice,
    Collection,
    Constant,
    Conversion,
    Distribution,
    Document,
    File,
    Hash,
    Id,
    Premade,
    State,
    Text,
    Time,
    Vector,
}

impl Category {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Category::Arithmetic => "arithmetic",
            Category::Bytes => "bytes",
            Category::Choice => "choices",
            Category::Collection => "collections",
            Category::Constant => "constants",
            Category::Conversion => "conversions",
            Category::Distribution => "distributions",
            Category::Document => "documents",
            Category::File => "files",
            Category::Hash => "hashes",
            Category::Id => "identifiers",
            Category::Premade => "premade",
            Category::State => "state",
            Category::Text => "text",
            Category::Time => "times",
            Category::Vector => "vectors",
        }
    }
}

/// A recipe that uses the function, a cycle, and the text of the value there.
#[derive(Debug, Clone, Copy)]
pub struct Example(pub &'static str, pub i64, pub &'static str);

/// How the arguments of one form of a function are given.
#[derive(Debug, Clone, Copy)]
pub struct Constructor {
    pub parameters: &'static [Type],
    /// Any number of these may follow.
    pub rest: Option<Type>,
    /// Not public in the reference: a call that fits it is an error there, whatever else it fits.
    pub closed: bool,
}

/// Lists of constructors that many functions have.
mod forms {
    use super::{Constructor, Type};

    pub const NONE: &[Constructor] = &[Constructor::of(&[])];
    pub const LONG: &[Constructor] = &[Constructor::of(&[Type::Long])];
    pub const INT: &[Constructor] = &[Constructor::of(&[Type::Int])];
    pub const DOUBLE: &[Constructor] = &[Constructor::of(&[Type::Double])];
    pub const TEXT: &[Constructor] = &[Constructor::of(&[Type::String])];
    pub const TWO_LONGS: &[Constructor] = &[Constructor::of(&[Type::Long, Type::Long])];
    pub const TWO_INTS: &[Constructor] = &[Constructor::of(&[Type::Int, Type::Int])];
    pub const TWO_DOUBLES: &[Constructor] = &[Constructor::of(&[Type::Double, Type::Double])];
    pub const ONE_OR_TWO_LONGS: &[Constructor] =
        &[Constructor::of(&[Type::Long]), Constructor::of(&[Type::Long, Type::Long])];
    pub const ONE_OR_TWO_INTS: &[Constructor] =
        &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Int])];
    /// Any number of anything.
    pub const OBJECTS: &[Constructor] = &[Constructor::with_rest(&[], Type::Object)];
}

impl Constructor {
    const fn of(parameters: &'static [Type]) -> Constructor {
        Constructor { parameters, rest: None, closed: false }
    }

    /// One that is not public in the reference.
    const fn closed(parameters: &'static [Type]) -> Constructor {
        Constructor { parameters, rest: None, closed: true }
    }

    const fn with_rest(parameters: &'static [Type], rest: Type) -> Constructor {
        Constructor { parameters, rest: Some(rest), closed: false }
    }
}

/// One class of the reference: what goes in, what comes out, and the ways to construct it.
pub struct Overload {
    /// Where the reference keeps it, since names may be partly qualified and overloads are tried in this
    /// order: below its `basics.shared`, or from `@` below its `library`.
    pub package: &'static str,
    pub input: Type,
    pub output: Type,
    /// In the reference's order.
    pub constructors: &'static [Constructor],
    /// Builds the function from arguments that fit one of the constructors.
    pub build: Build,
    /// The reference has no such form: it counts where the reference would refuse the recipe, and nowhere
    /// else.
    pub ours: bool,
}

/// What builds a function from arguments that fit.
pub type Build = fn(&Arguments<'_>) -> Result<Function, Refusal>;

/// A function of the library.
pub struct FunctionRow {
    pub name: &'static str,
    pub category: Category,
    /// One line, lower case, no full stop.
    pub doc: &'static str,
    /// Units, errors and differences from the reference that a user must know; may be empty.
    pub notes: &'static str,
    /// The value depends on the cycle and the arguments alone.
    pub pure: bool,
    /// The value depends on [`Context::acknowledged`].
    pub reads_acknowledged: bool,
    /// The reference has no function of this name.
    pub ours: bool,
    pub examples: &'static [Example],
    /// In the reference's order.
    pub overloads: &'static [Overload],
}

impl FunctionRow {
    /// What most rows have in common: a row names what it has besides, and ends in `..FunctionRow::NEW`.
    const NEW: FunctionRow = FunctionRow {
        name: "",
        category: Category::Arithmetic,
        doc: "",
        notes: "",
        pure: true,
        reads_acknowledged: false,
        ours: false,
        examples: &[],
        overloads: &[],
    };
}

/// Every function, by family.
static FAMILIES: &[&[&FunctionRow]] = &[
    arithmetic::ROWS,
    hash::ROWS,
    ranges::ROWS,
    curves::uniform::ROWS,
    curves::continuous::ROWS,
    curves::discrete::ROWS,
    samplers::ROWS,
    people::ROWS,
    places::ROWS,
    lfsr::ROWS,
    ycsb::ROWS,
    ycsb_records::ROWS,
    tpcc::ROWS,
    vectors::ROWS,
    constants::ROWS,
    conversions::ROWS,
    choice::ROWS,
    nulls::ROWS,
    collections::ROWS,
    state::ROWS,
    expression::ROWS,
    text::ROWS,
    image::ROWS,
    files::ROWS,
    formats::ROWS,
    json::ROWS,
    bytes::ROWS,
    ids::ROWS,
    times::ROWS,
    mongo::ROWS,
];

/// Every function, by family.
pub fn all() -> impl Iterator<Item = &'static FunctionRow> {
    FAMILIES.iter().copied().flatten().copied()
}

/// The function that a recipe calls `name`, which may be partly qualified (`from_long.to_int.Add`).
pub fn find(name: &str) -> Option<&'static FunctionRow> {
    let simple = name.rsplit('.').next().unwrap_or(name);
    all().find(|row| row.name == simple)
}

impl Overload {
    const fn new(
        package: &'static str,
        input: Type,
        output: Type,
        constructors: &'static [Constructor],
        build: Build,
    ) -> Overload {
        Overload { package, input, output, constructors, build, ours: false }
    }

    /// A form that only we have, of a function of the reference.
    const fn ours(input: Type, output: Type, constructors: &'static [Constructor], build: Build) -> Overload {
        Overload { package: "ours", input, output, constructors, build, ours: true }
    }

    /// The most common classes, each in the package where the reference keeps it.
    const fn long_to_long(constructors: &'static [Constructor], build: Build) -> Overload {
        Overload::new("from_long.to_long", Type::Long, Type::Long, constructors, build)
    }

    const fn long_to_int(constructors: &'static [Constructor], build: Build) -> Overload {
        Overload::new("from_long.to_int", Type::Long, Type::Int, constructors, build)
    }

    const fn int_to_int(constructors: &'static [Constructor], build: Build) -> Overload {
        Overload::new("unary_int", Type::Int, Type::Int, constructors, build)
    }

    const fn double_to_double(constructors: &'static [Constructor], build: Build) -> Overload {
        Overload::new("from_double.to_double", Type::Double, Type::Double, constructors, build)
    }

    /// Whether a recipe's `called` name, of the function `name`, means this overload too.
    pub fn is_called(&self, name: &str, called: &str) -> bool {
        if called == name {
            return true;
        }
        let full = match self.package.strip_prefix('@') {
            Some(package) => format!("io.nosqlbench.virtdata.library.{package}.{name}"),
            None => format!("io.nosqlbench.virtdata.library.basics.shared.{}.{name}", self.package),
        };
        full.strip_suffix(called).is_some_and(|rest| rest.ends_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::names::is_known_to_reference;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_are_complete_and_their_names_are_the_references() {
        let mut seen = HashSet::new();
        for row in all() {
            assert!(seen.insert(row.name), "{} has two rows", row.name);
            assert_eq!(is_known_to_reference(row.name), !row.ours, "{}", row.name);
            assert!(!row.doc.is_empty() && !row.doc.ends_with('.'), "{}", row.name);
            assert!(!row.examples.is_empty(), "{} has no example", row.name);
            assert!(!row.overloads.is_empty(), "{}", row.name);
            for overload in row.overloads {
                assert!(!overload.constructors.is_empty(), "{} {}", row.name, overload.package);
            }
        }
    }

    #[test]
    fn names_may_be_partly_qualified() {
        let add = find("from_long.to_int.Add").expect("Add is built");
        let called: Vec<&str> = add
            .overloads
            .iter()
            .filter(|overload| overload.is_called(add.name, "to_int.Add"))
            .map(|overload| overload.package)
            .collect();
        assert_eq!(called, ["from_long.to_int"]);
        assert!(!add.overloads[0].is_called(add.name, "o_double.Add"));
    }
}
