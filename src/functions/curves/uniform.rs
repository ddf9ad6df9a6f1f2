//! The uniform distribution, continuous and discrete.

use super::{Discrete, continuous_int_double, continuous_long_double, discrete};
use crate::functions::{
    Arguments, Category, Constructor, Example, Function, FunctionRow, Overload, Refusal, Type,
};

const CONTINUOUS: &[Constructor] = &[Constructor::with_rest(&[Type::Double, Type::Double], Type::String)];
const DISCRETE: &[Constructor] = &[Constructor::with_rest(&[Type::Int, Type::Int], Type::String)];

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&UNIFORM];

static UNIFORM: FunctionRow = FunctionRow {
    name: "Uniform",
    category: Category::Distribution,
    doc: "random-looking numbers that are equally likely between two bounds: integers (both bounds included) for \
          integer bounds, else doubles",
    examples: &[
        Example("Uniform(0,1000000000)", 0, "318997989"),
        Example("Uniform(-180d,180d)", 0, "-65.16072362807124"),
        Example("Uniform(1,10,'map')", 0, "1"),
    ],
    overloads: &[
        Overload::new("@curves4.continuous.int_double", Type::Int, Type::Double, CONTINUOUS, |arguments| {
            continuous_int_double(continuous_icdf(arguments)?, arguments, 2)
        }),
        Overload::new("@curves4.continuous.long_double", Type::Long, Type::Double, CONTINUOUS, |arguments| {
            continuous_long_double(continuous_icdf(arguments)?, arguments, 2)
        }),
        Overload::new("@curves4.discrete.int_int", Type::Int, Type::Int, DISCRETE, |arguments| {
            build_discrete(Discrete::IntInt, arguments)
        }),
        Overload::new("@curves4.discrete.int_long", Type::Int, Type::Long, DISCRETE, |arguments| {
            build_discrete(Discrete::IntLong, arguments)
        }),
        Overload::new("@curves4.discrete.long_int", Type::Long, Type::Int, DISCRETE, |arguments| {
            build_discrete(Discrete::LongInt, arguments)
        }),
        Overload::new("@curves4.discrete.long_long", Type::Long, Type::Long, DISCRETE, |arguments| {
            build_discrete(Discrete::LongLong, arguments)
        }),
    ],
    ..FunctionRow::NEW
};

fn continuous_icdf(
    arguments: &Arguments<'_>,
) -> Result<impl Fn(f64) -> f64 + Send + Sync + 'static, Refusal> {
    let (low, high) = (arguments.double(0)?, arguments.double(1)?);
    if low >= high {
        return Err(Refusal::new(format!("the lower bound {low} is not below the upper bound {high}"))
            .help("write the lower bound first; for one value always use `FixedValue`"));
    }
    let interval = high - low;
    Ok(move |p: f64| if p == 1.0 { high } else { p * interval + low })
}

fn build_discrete(class: Discrete, arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let (low, high) = (arguments.int(0)?, arguments.int(1)?);
    if low > high {
        return Err(Refusal::new(format!("the lower bound {low} is above the upper bound {high}"))
            .help("write the lower bound first"));
    }
    let (least, count) = (f64::from(low), f64::from(high) - f64::from(low) + 1.0);
    let first = 1.0 / count;
    let last = (count - 1.0) / count;
    let icdf = move |p: f64| {
        if p > last {
            return high;
        }
        if p <= first {
            return low;
        }
        let x = (least + (p * count).ceil() - 1.0) as i32;
        let offset = f64::from(x) - least;
        // Rounding may be off by one: the result is the first whose cumulative probability reaches p.
        if offset / count >= p {
            x - 1
        } else if (offset + 1.0) / count < p {
            x + 1
        } else {
            x
        }
    };
    discrete(class, icdf, arguments, 2)
}
