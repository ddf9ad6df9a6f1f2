//! Statistical curves: a hash (or the input itself) brought through an inverse cumulative distribution
//! function, by default through a table of a thousand points with straight lines between.
//!
//! Every curve comes in classes by what they take and give; all draw from the samplers here, with the
//! reference's slips kept (table ends, clamping bounds, hashes), since its values depend on them.

pub mod continuous;
pub mod discrete;
mod elementary;
mod search;
mod special;
pub mod uniform;

pub use discrete::Harmonics;

use super::{Arguments, Eval, EvalError, Function, Refusal, hash};
use search::Known;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

const RESOLUTION: usize = 1000;
/// 2^63 − 1 as a double, which is 2^63.
const MAX_LONG: f64 = i64::MAX as f64;
const MAX_INT: f64 = i32::MAX as f64;

/// What the texts behind a curve's numbers turn on and off.
#[derive(Debug, Clone, Copy)]
struct Modifiers {
    hash: bool,
    interpolate: bool,
    clamp: bool,
    finite: bool,
}

/// The texts from argument `from` on. Discrete curves know the first two pairs only.
fn modifiers(arguments: &Arguments<'_>, from: usize, continuous: bool) -> Result<Modifiers, Refusal> {
    const PAIRS: [(&str, &str); 4] =
        [("hash", "map"), ("interpolate", "compute"), ("clamp", "noclamp"), ("finite", "infinite")];
    let pairs = if continuous { &PAIRS[..] } else { &PAIRS[..2] };
    let mut on = [false; 4];
    let mut off = [false; 4];
    for position in from..arguments.count() {
        let word = arguments.text(position)?;
        let Some(pair) = pairs.iter().position(|(yes, no)| word == *yes || word == *no) else {
            let known: Vec<String> = pairs.iter().map(|(yes, no)| format!("'{yes}' or '{no}'")).collect();
            let kind = if continuous { "continuous" } else { "discrete" };
            return Err(Refusal::new(format!("'{word}' is no modifier of a {kind} curve"))
                .at(position)
                .help(format!("known are {}", known.join(", "))));
        };
        if word == pairs[pair].0 {
            on[pair] = true;
        } else {
            off[pair] = true;
        }
        if on[pair] && off[pair] {
            let (yes, no) = pairs[pair];
            return Err(Refusal::new(format!("'{yes}' and '{no}' exclude each other")).at(position));
        }
    }
    Ok(Modifiers { hash: !off[0], interpolate: !off[1], clamp: !off[2], finite: !off[3] })
}

#[cold]
fn outside() -> Box<EvalError> {
    EvalError::boxed(
        "ArrayIndexOutOfBoundsException",
        "the input is outside the curve's table: with 'map' it must not be negative",
    )
}

#[cold]
fn no_probability(p: f64) -> Box<EvalError> {
    EvalError::boxed("DistributionException", format!("{p} is no probability from 0 to 1"))
}

/// Reads the table at `point`, on the line between two entries.
#[inline]
fn sample(table: &[f64], point: f64) -> Eval<f64> {
    let left = point as i32;
    let fraction = point - f64::from(left);
    match usize::try_from(left).ok().and_then(|left| table.get(left..left + 2)) {
        Some([low, high]) => Ok(low * (1.0 - fraction) + high * fraction),
        _ => Err(outside()),
    }
}

fn probability(p: f64) -> Eval<f64> {
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(no_probability(p)) }
}

/// A continuous curve: its quantile of a probability.
type Continuous = Box<dyn Fn(f64) -> Eval<f64> + Send + Sync>;

/// A discrete curve: its quantile of a probability, with what is known already.
type Discrete = Box<dyn Fn(f64, &mut Known) -> Eval<i32> + Send + Sync>;

#[cold]
fn unsolved(p: f64) -> Box<EvalError> {
    EvalError::boxed(
        "ArithmeticException",
        format!("the curve's value at probability {p} cannot be computed"),
    )
}

/// The argument `position`, which must be above 0.
fn positive(arguments: &Arguments<'_>, position: usize, what: &str) -> Result<f64, Refusal> {
    let value = arguments.double(position)?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(Refusal::new(format!("the {what} must be above 0, not {value}")).at(position))
    }
}

/// The points of a table. The classes of one curve share them, and so do all that draw from the same curve
/// with the same arguments.
fn points(
    name: &'static str,
    arguments: &Arguments<'_>,
    count: usize,
    quantile: impl FnMut(f64) -> Eval<f64>,
) -> Result<Arc<[f64]>, Refusal> {
    type Key = (&'static str, Vec<Option<u64>>, String);
    static TABLES: Mutex<BTreeMap<Key, Weak<[f64]>>> = Mutex::new(BTreeMap::new());
    let numbers = (0..count).map(|position| arguments.double(position).ok().map(f64::to_bits)).collect();
    let text = (0..count).filter_map(|position| arguments.text(position).ok()).collect();
    let key = (name, numbers, text);
    let find = |tables: &BTreeMap<Key, Weak<[f64]>>| tables.get(&key).and_then(Weak::upgrade);
    if let Some(table) = find(&TABLES.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(table);
    }
    let table: Arc<[f64]> = (0..RESOLUTION)
        .map(|point| point as f64 / RESOLUTION as f64)
        .map(quantile)
        .collect::<Eval<_>>()
        .map_err(|error| Refusal::new(error.message))?;
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.retain(|_, table| table.strong_count() > 0);
    tables.insert(key, Arc::downgrade(&table));
    Ok(table)
}

/// Clamped as `max(low, min(high, value))` of Java, which keeps NaN.
fn clamped(value: f64, low: f64, high: f64) -> f64 {
    if value.is_nan() { value } else { value.min(high).max(low) }
}

/// Clamping of the computed samplers starts at the smallest positive double, whatever was meant.
const LEAST_COMPUTED: f64 = 5e-324;

/// A continuous curve from long to double; its modifiers are the arguments `from` on.
fn continuous_long_double(
    name: &'static str,
    arguments: &Arguments<'_>,
    from: usize,
    quantile: Continuous,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, true)?;
    let draw = move |v| if modifiers.hash { hash::long(v) } else { v };
    if !modifiers.interpolate {
        return Ok(Function::long_to_double(move |v, _| {
            Ok(clamped(quantile(probability(draw(v) as f64 / MAX_LONG)?)?, LEAST_COMPUTED, MAX_LONG))
        }));
    }
    let mut table = points(name, arguments, from, quantile)?.to_vec();
    if modifiers.clamp {
        table.iter_mut().for_each(|q| *q = clamped(*q, -MAX_LONG, MAX_LONG));
    }
    if modifiers.finite {
        let start = table.iter().take_while(|q| q.is_infinite()).count();
        table.drain(..start);
        while table.last().is_some_and(|q| q.is_infinite()) {
            table.pop();
        }
    }
    table.push(0.0);
    let scale = (1.0 / MAX_LONG) * (table.len() as f64 - 2.0);
    Ok(Function::long_to_double(move |v, _| sample(&table, scale * draw(v) as f64)))
}

/// A continuous curve from int to double.
fn continuous_int_double(
    name: &'static str,
    arguments: &Arguments<'_>,
    from: usize,
    quantile: Continuous,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, true)?;
    if !modifiers.interpolate {
        return Ok(Function::int_to_double(move |v, _| {
            let x = if modifiers.hash { hash::long(i64::from(v)) } else { i64::from(v) };
            Ok(clamped(quantile(probability(x as f64 / MAX_LONG)?)?, LEAST_COMPUTED, MAX_INT))
        }));
    }
    let mut table = points(name, arguments, from, quantile)?.to_vec();
    if modifiers.clamp {
        table.iter_mut().for_each(|q| *q = clamped(*q, f64::from(i32::MIN), MAX_INT));
    }
    if modifiers.finite {
        // Two entries go for each infinity.
        while table.first().is_some_and(|q| q.is_infinite()) {
            table.pop();
            table.drain(..table.len().min(1));
        }
        while table.last().is_some_and(|q| q.is_infinite()) {
            table.truncate(table.len().saturating_sub(2));
        }
    }
    table.push(0.0);
    let scale = (1.0 / MAX_INT) * (table.len() as f64 - 2.0);
    let draw = move |v| if modifiers.hash { hash::of_int(v) } else { v };
    Ok(Function::int_to_double(move |v, _| sample(&table, scale * f64::from(draw(v)))))
}

/// What a discrete curve takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    IntInt,
    IntLong,
    LongInt,
    LongLong,
}

/// A discrete curve; its modifiers are the arguments `from` on.
fn discrete_curve(
    class: Class,
    name: &'static str,
    arguments: &Arguments<'_>,
    from: usize,
    quantile: Discrete,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, false)?;
    if !modifiers.interpolate {
        return Ok(computed_discrete(class, quantile, modifiers.hash));
    }
    let mut known = Known::kept();
    let mut table = points(name, arguments, from, |p| quantile(p, &mut known).map(f64::from))?.to_vec();
    table.push(if class == Class::IntLong { 0.0 } else { table.last().copied().unwrap_or_default() });
    let of_long = move |v| if modifiers.hash { hash::long(v) } else { v } as f64;
    let of_int = move |v| f64::from(if modifiers.hash { hash::of_int(v) } else { v });
    let long_scale = (1.0 / MAX_LONG) * (RESOLUTION as f64 - 1.0);
    let int_scale = (1.0 / MAX_INT) * (RESOLUTION as f64 - 1.0);
    Ok(match class {
        Class::LongLong => {
            Function::long_to_long(move |v, _| Ok(sample(&table, long_scale * of_long(v))? as i64))
        }
        Class::LongInt => {
            Function::long_to_int(move |v, _| Ok(sample(&table, long_scale * of_long(v))? as i32))
        }
        Class::IntLong => {
            Function::int_to_long(move |v, _| Ok(sample(&table, int_scale * of_int(v))? as i64))
        }
        Class::IntInt => Function::int_to_int(move |v, _| Ok(sample(&table, int_scale * of_int(v))? as i32)),
    })
}

/// A builder of each discrete class.
macro_rules! discrete_builders {
    ($($builder:ident: $class:ident),+) => {
        $(fn $builder(
            name: &'static str,
            arguments: &Arguments<'_>,
            from: usize,
            quantile: Discrete,
        ) -> Result<Function, Refusal> {
            discrete_curve(Class::$class, name, arguments, from, quantile)
        })+
    };
}
discrete_builders!(
    discrete_int_int: IntInt,
    discrete_int_long: IntLong,
    discrete_long_int: LongInt,
    discrete_long_long: LongLong
);

fn computed_discrete(class: Class, quantile: Discrete, hashed: bool) -> Function {
    let draw = move |v: i64| if hashed { hash::long(v) } else { v };
    let quantile = move |unit: f64| quantile(probability(unit)?, &mut Known::default());
    match class {
        Class::LongLong => {
            Function::long_to_long(move |v, _| Ok(i64::from(quantile(draw(v) as f64 / MAX_LONG)?)))
        }
        Class::LongInt => Function::long_to_int(move |v, _| quantile(draw(v) as f64 / MAX_LONG)),
        Class::IntLong => Function::int_to_long(move |v, _| {
            let x = if hashed { (draw(i64::from(v)) % i64::from(i32::MAX)) as i32 } else { v };
            Ok(i64::from(quantile(f64::from(x) / MAX_INT)?))
        }),
        // The low half of the hash over 2^63: it may be negative, and then it is no probability.
        Class::IntInt => {
            Function::int_to_int(move |v, _| quantile(f64::from(draw(i64::from(v)) as i32) / MAX_LONG))
        }
    }
}

/// One class of a curve, from its name, its parameters and what makes it of the arguments.
macro_rules! class {
    (int_double, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.continuous.int_double", Int, Double, curves::continuous_int_double, $($curve)*)
    };
    (long_double, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.continuous.long_double", Long, Double, curves::continuous_long_double, $($curve)*)
    };
    (int_int, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.discrete.int_int", Int, Int, curves::discrete_int_int, $($curve)*)
    };
    (int_long, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.discrete.int_long", Int, Long, curves::discrete_int_long, $($curve)*)
    };
    (long_int, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.discrete.long_int", Long, Int, curves::discrete_long_int, $($curve)*)
    };
    (long_long, $($curve:tt)*) => {
        $crate::functions::curves::class!(@"@curves4.discrete.long_long", Long, Long, curves::discrete_long_long, $($curve)*)
    };
    (@$package:literal, $in:ident, $out:ident, $build:expr, $name:literal, [$($parameter:ident),+], $curve:path) => {{
        use $crate::functions::{Constructor, Overload, Type, curves};
        const PARAMETERS: &[Type] = &[$(Type::$parameter),+];
        const CONSTRUCTORS: &[Constructor] = &[Constructor::with_rest(PARAMETERS, Type::String)];
        Overload::new($package, Type::$in, Type::$out, CONSTRUCTORS, |arguments| {
            $build($name, arguments, PARAMETERS.len(), $curve(arguments)?)
        })
    }};
}
use class;

/// The row of a curve that comes in the classes named.
macro_rules! curve {
    (
        $row:ident, $name:literal, $parameters:tt, [$($class:ident),+], $doc:literal, $notes:literal,
        [$($example:expr),+ $(,)?], $curve:path
    ) => {
        static $row: $crate::functions::FunctionRow = $crate::functions::FunctionRow {
            name: $name,
            category: $crate::functions::Category::Distribution,
            doc: $doc,
            notes: $notes,
            examples: &[$($example),+],
            overloads: &[$($crate::functions::curves::class!($class, $name, $parameters, $curve)),+],
            ..$crate::functions::FunctionRow::NEW
        };
    };
}
use curve;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Argument, Context, find};
    use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

    fn build(name: &str, class: &str, arguments: &[Argument]) -> Function {
        let row = find(name).expect(name);
        let overload = row.overloads.iter().find(|overload| overload.package.ends_with(class)).expect(class);
        (overload.build)(&Arguments(arguments)).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"))
    }

    /// Whether of so many draws the share below a value is what theory says, within four standard errors.
    fn agrees(below: usize, draws: i64, share: f64) -> bool {
        let error = (share * (1.0 - share) / draws as f64).sqrt();
        (below as f64 / draws as f64 - share).abs() < 4.0 * error + 1e-3
    }

    #[test]
    fn continuous_curves_have_their_quartiles() {
        const DRAWS: i64 = 20_000;
        for (name, parameters, quartiles) in [
            ("Normal", &[10.0, 2.0][..], [8.651_020_499_607_837, 10.0, 11.348_979_500_392_163]),
            ("LogNormal", &[0.0, 1.0], [0.509_416_283_863_277_5, 1.0, 1.963_031_084_158_256_3]),
            (
                "Exponential",
                &[2.0],
                [0.575_364_144_903_561_8, 1.386_294_361_119_890_6, 2.772_588_722_239_781],
            ),
            (
                "Pareto",
                &[1.0, 3.0],
                [1.100_642_416_298_209_2, 1.259_921_049_894_873, 1.587_401_051_968_199_5],
            ),
            ("Cauchy", &[0.0, 1.0], [-1.0, 0.0, 1.0]),
            ("Logistic", &[0.0, 1.0], [-1.098_612_288_668_109_8, 0.0, 1.098_612_288_668_109_8]),
            ("Laplace", &[0.0, 1.0], [-LN_2, 0.0, LN_2]),
            (
                "Weibull",
                &[1.0, 2.0],
                [0.575_364_144_903_561_8, 1.386_294_361_119_890_6, 2.772_588_722_239_781],
            ),
            ("Gamma", &[2.0, 2.0], [1.922_557_526, 3.356_693_980, 5.385_269_058]),
            ("ChiSquared", &[4.0], [1.922_557_526, 3.356_693_980, 5.385_269_058]),
            ("T", &[10.0], [-0.699_812_061_3, 0.0, 0.699_812_061_3]),
            ("F", &[2.0, 2.0], [1.0 / 3.0, 1.0, 3.0]),
            ("Beta", &[1.0, 1.0], [0.25, 0.5, 0.75]),
            ("Triangular", &[0.0, 1.0, 2.0], [FRAC_1_SQRT_2, 1.0, 2.0 - FRAC_1_SQRT_2]),
        ] {
            let arguments: Vec<Argument> = parameters.iter().map(|value| Argument::Double(*value)).collect();
            let Function::LongToDouble(draw) = build(name, "long_double", &arguments) else {
                panic!("{name}")
            };
            let drawn: Vec<f64> =
                (0..DRAWS).map(|cycle| draw(cycle, &mut Context::default()).expect("it is drawn")).collect();
            for (quartile, share) in quartiles.into_iter().zip([0.25, 0.5, 0.75]) {
                let below = drawn.iter().filter(|value| **value < quartile).count();
                assert!(agrees(below, DRAWS, share), "{name}: {below} of {DRAWS} below {quartile}");
            }
        }
    }

    #[test]
    fn discrete_curves_have_their_probabilities() {
        const DRAWS: i64 = 4000;
        let integer = Argument::Int;
        for (name, parameters, below, share) in [
            ("Binomial", vec![integer(8), Argument::Double(0.5)], 4, 0.36328125),
            ("Poisson", vec![Argument::Double(4.0)], 4, 0.433470120366709),
            ("Geometric", vec![Argument::Double(0.25)], 2, 0.4375),
            ("Pascal", vec![integer(2), Argument::Double(0.5)], 2, 0.5),
            ("Hypergeometric", vec![integer(10), integer(5), integer(2)], 1, 0.2222222222222222),
            ("Zipf", vec![integer(10), Argument::Double(2.0)], 2, 0.6452579827864142),
            ("Uniform", vec![integer(1), integer(10)], 4, 0.3),
        ] {
            let mut arguments = parameters;
            arguments.push(Argument::Text("compute".to_owned()));
            let Function::LongToLong(draw) = build(name, "long_long", &arguments) else { panic!("{name}") };
            let found = (0..DRAWS)
                .filter(|cycle| draw(*cycle, &mut Context::default()).expect("it is drawn") < below)
                .count();
            assert!(agrees(found, DRAWS, share), "{name}: {found} of {DRAWS} below {below}");
        }
    }

    #[test]
    fn what_cannot_be_computed_is_an_error() {
        let row = find("Beta").expect("Beta is built");
        for overload in row.overloads {
            let arguments = [Argument::Double(f64::INFINITY), Argument::Double(2.0)];
            assert!((overload.build)(&Arguments(&arguments)).is_err());
        }
    }
}
