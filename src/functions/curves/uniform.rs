//! The uniform distribution, continuous and discrete.

use super::{Continuous, Discrete, class};
use crate::functions::{Arguments, Category, Example, FunctionRow, Refusal};

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
        class!(int_double, "Uniform", [Double, Double], continuous),
        class!(long_double, "Uniform", [Double, Double], continuous),
        class!(int_int, "Uniform of integers", [Int, Int], discrete),
        class!(int_long, "Uniform of integers", [Int, Int], discrete),
        class!(long_int, "Uniform of integers", [Int, Int], discrete),
        class!(long_long, "Uniform of integers", [Int, Int], discrete),
    ],
    ..FunctionRow::NEW
};

fn continuous(arguments: &Arguments<'_>) -> Result<Continuous, Refusal> {
    let (low, high) = (arguments.double(0)?, arguments.double(1)?);
    if low >= high {
        return Err(Refusal::new(format!("the lower bound {low} is not below the upper bound {high}"))
            .help("write the lower bound first; for one value always use `FixedValue`"));
    }
    let interval = high - low;
    if !interval.is_finite() {
        return Err(Refusal::new(format!("the interval from {low} to {high} is not finite")));
    }
    Ok(Box::new(move |p| Ok(if p == 1.0 { high } else { p * interval + low })))
}

fn discrete(arguments: &Arguments<'_>) -> Result<Discrete, Refusal> {
    let (low, high) = (arguments.int(0)?, arguments.int(1)?);
    if low > high {
        return Err(Refusal::new(format!("the lower bound {low} is above the upper bound {high}"))
            .help("write the lower bound first"));
    }
    let (least, count) = (f64::from(low), f64::from(high) - f64::from(low) + 1.0);
    let first = 1.0 / count;
    let last = (count - 1.0) / count;
    Ok(Box::new(move |p, _| {
        if p > last {
            return Ok(high);
        }
        if p <= first {
            return Ok(low);
        }
        let x = (least + (p * count).ceil() - 1.0) as i32;
        let offset = f64::from(x) - least;
        // Rounding may be off by one: the result is the first whose cumulative probability reaches p.
        Ok(if offset / count >= p {
            x - 1
        } else if (offset + 1.0) / count < p {
            x + 1
        } else {
            x
        })
    }))
}
