//! Continuous curves: quantiles by formula where there is one, else by search.

use super::elementary::{exp, high_part, ln, log_1p, pow, tan};
use super::search::{self, Shape};
use super::special::beta::{beta_complement, beta_regularised};
use super::special::erf::erfc_inv;
use super::special::gamma::{gamma_delta_ratio, gamma_p};
use super::{Continuous, curve, positive};
use crate::functions::{Arguments, Example, FunctionRow, Refusal};
use crate::value;
use std::f64::consts::PI;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &BETA,
    &CAUCHY,
    &CHI_SQUARED,
    &CONSTANT,
    &ENUMERATED,
    &EXPONENTIAL,
    &F,
    &GAMMA,
    &GUMBEL,
    &LAPLACE,
    &LEVY,
    &LOG_NORMAL,
    &LOGISTIC,
    &NAKAGAMI,
    &NORMAL,
    &PARETO,
    &T,
    &TRIANGULAR,
    &WEIBULL,
];

type Built = Result<Continuous, Refusal>;

/// A quantile by formula.
fn formula(quantile: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Built {
    Ok(Box::new(move |p| Ok(quantile(p))))
}

/// A quantile by search for it.
fn by_search(shape: Shape<f64>, cumulative: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Built {
    Ok(Box::new(move |p| search::continuous(p, &shape, &cumulative)))
}

/// A quantile that is infinite at one end or both.
fn between((low, high): (f64, f64), quantile: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Built {
    formula(move |p| {
        if p == 0.0 {
            low
        } else if p == 1.0 {
            high
        } else {
            quantile(p)
        }
    })
}

const EVERYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

curve!(
    NORMAL,
    "Normal",
    [Double, Double],
    [int_double, long_double],
    "numbers of the normal distribution, from its mean and standard deviation",
    "by default never more than 3.09 deviations above the mean, while one in a thousand lies on a line down to −2^63: \
     the table's first entry; 'compute' has the whole curve, but for what is not positive",
    [
        Example("Normal(0.0,5.0)", 0, "-2.352512999285242"),
        Example("Normal(100.0,15.0,'noclamp')", 1, "107.09340563222557"),
    ],
    normal
);

fn normal(arguments: &Arguments<'_>) -> Built {
    let mean = arguments.double(0)?;
    let width = root_2_times(positive(arguments, 1, "standard deviation")?);
    formula(move |p| mean - width * erfc_inv(2.0 * p))
}

/// √2·a, rounded once.
fn root_2_times(a: f64) -> f64 {
    const BIG: f64 = f64::from_bits((1023 + 500) << 52);
    const SCALE: f64 = f64::from_bits((1023 + 600) << 52);
    if a == f64::INFINITY {
        a
    } else if a > BIG {
        root_2_times_unscaled(a * (1.0 / SCALE)) * SCALE
    } else if a < 1.0 / BIG {
        root_2_times_unscaled(a * SCALE) * (1.0 / SCALE)
    } else {
        root_2_times_unscaled(a)
    }
}

fn root_2_times_unscaled(a: f64) -> f64 {
    // What rounding takes from the product x·y of which the parts are given.
    let lost = |(hx, lx): (f64, f64), (hy, ly): (f64, f64), product: f64| {
        lx * ly - (((product - hx * hy) - lx * hy) - hx * ly)
    };
    let parts = |value: f64| (high_part(value), value - high_part(value));
    let (high, low) = parts(a);
    let square = 2.0 * a * a;
    let of_square = lost((high, low), (2.0 * high, 2.0 * low), square);
    let root = square.sqrt();
    if of_square == 0.0 {
        return root;
    }
    let again = root * root;
    let of_again = lost(parts(root), parts(root), again);
    root + (square - again - of_again + of_square) * 0.5 / root
}

curve!(
    LOG_NORMAL,
    "LogNormal",
    [Double, Double],
    [int_double, long_double],
    "numbers whose logarithms are normally distributed, from the mean and standard deviation of the logarithms",
    "",
    [Example("LogNormal(0.0,1.0)", 0, "0.6246882260729256")],
    log_normal
);

fn log_normal(arguments: &Arguments<'_>) -> Built {
    let mu = arguments.double(0)?;
    let width = root_2_times(positive(arguments, 1, "standard deviation of the logarithms")?);
    formula(move |p| exp(mu - width * erfc_inv(2.0 * p)))
}

curve!(
    EXPONENTIAL,
    "Exponential",
    [Double],
    [int_double, long_double],
    "numbers of the exponential distribution, from its mean: waiting times of what happens independently",
    "",
    [Example("Exponential(0.1)", 0, "0.03841900290661796")],
    exponential
);

fn exponential(arguments: &Arguments<'_>) -> Built {
    let mean = positive(arguments, 0, "mean")?;
    formula(move |p| if p == 1.0 { f64::INFINITY } else { 0.0 - mean * log_1p(-p) })
}

curve!(
    PARETO,
    "Pareto",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Pareto distribution, from its scale (the least value) and shape",
    "",
    [Example("Pareto(1.0,3.0)", 0, "1.1366249957828332")],
    pareto
);

fn pareto(arguments: &Arguments<'_>) -> Built {
    let (scale, shape) = (positive(arguments, 0, "scale")?, positive(arguments, 1, "shape")?);
    if scale.is_infinite() {
        return Err(Refusal::new("the scale must be finite").at(0));
    }
    between((scale, f64::INFINITY), move |p| scale / exp(log_1p(-p) / shape))
}

curve!(
    CAUCHY,
    "Cauchy",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Cauchy distribution, from its median and scale",
    "",
    [Example("Cauchy(0.0,0.5)", 0, "-0.3195219350230289")],
    cauchy
);

fn cauchy(arguments: &Arguments<'_>) -> Built {
    let (median, scale) = (arguments.double(0)?, positive(arguments, 1, "scale")?);
    between(EVERYWHERE, move |p| median + scale * tan(PI * (p - 0.5)))
}

curve!(
    LEVY,
    "Levy",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Lévy distribution, from its location and scale",
    "",
    [Example("Levy(0.0,1.0)", 0, "1.0069983300432765")],
    levy
);

fn levy(arguments: &Arguments<'_>) -> Built {
    let (location, half) = (arguments.double(0)?, 0.5 * positive(arguments, 1, "scale")?);
    formula(move |p| {
        let t = erfc_inv(p);
        location + half / (t * t)
    })
}

curve!(
    LOGISTIC,
    "Logistic",
    [Double, Double],
    [int_double, long_double],
    "numbers of the logistic distribution, from its mean and scale",
    "",
    [Example("Logistic(5.0,2.0)", 0, "3.4832390721239572")],
    logistic
);

fn logistic(arguments: &Arguments<'_>) -> Built {
    let (mean, scale) = (arguments.double(0)?, positive(arguments, 1, "scale")?);
    between(EVERYWHERE, move |p| scale * ln(p / (1.0 - p)) + mean)
}

curve!(
    LAPLACE,
    "Laplace",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Laplace distribution, from its mean and scale",
    "",
    [Example("Laplace(0.0,1.0)", 0, "-0.44942330671937836")],
    laplace
);

fn laplace(arguments: &Arguments<'_>) -> Built {
    let (mean, scale) = (arguments.double(0)?, positive(arguments, 1, "scale")?);
    between(EVERYWHERE, move |p| mean + scale * if p > 0.5 { -ln(2.0 * (1.0 - p)) } else { ln(2.0 * p) })
}

curve!(
    GUMBEL,
    "Gumbel",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Gumbel distribution, from its mode and scale: greatest values of samples",
    "",
    [Example("Gumbel(0.0,1.0)", 1, "0.9586676304145951")],
    gumbel
);

fn gumbel(arguments: &Arguments<'_>) -> Built {
    let (mode, scale) = (arguments.double(0)?, positive(arguments, 1, "scale")?);
    between(EVERYWHERE, move |p| mode - ln(-ln(p)) * scale)
}

curve!(
    WEIBULL,
    "Weibull",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Weibull distribution, from its shape and scale: lifetimes",
    "",
    [Example("Weibull(1.0,1.5)", 1, "1.7163782817544044")],
    weibull
);

fn weibull(arguments: &Arguments<'_>) -> Built {
    let (shape, scale) = (positive(arguments, 0, "shape")?, positive(arguments, 1, "scale")?);
    between((0.0, f64::INFINITY), move |p| scale * pow(-log_1p(-p), 1.0 / shape))
}

curve!(
    TRIANGULAR,
    "Triangular",
    [Double, Double, Double],
    [int_double, long_double],
    "numbers of the triangular distribution, from its least, likeliest and greatest value",
    "",
    [Example("Triangular(0.0,5.0,10.0)", 0, "3.9937325170035214")],
    triangular
);

fn triangular(arguments: &Arguments<'_>) -> Built {
    let (low, mode, high) = (arguments.double(0)?, arguments.double(1)?, arguments.double(2)?);
    if low >= high {
        return Err(Refusal::new(format!("the lower bound {low} is not below the upper bound {high}"))
            .help("write the lower bound first, then the mode, then the upper bound"));
    }
    if mode < low || mode > high {
        return Err(Refusal::new(format!("the mode {mode} is not between {low} and {high}"))
            .at(1)
            .help("write the lower bound first, then the mode, then the upper bound"));
    }
    let rising = (high - low) * (mode - low);
    let falling = (high - low) * (high - mode);
    let at_mode = (mode - low) / (high - low);
    between((low, high), move |p| {
        if p < at_mode { low + (p * rising).sqrt() } else { high - ((1.0 - p) * falling).sqrt() }
    })
}

curve!(
    GAMMA,
    "Gamma",
    [Double, Double],
    [int_double, long_double],
    "numbers of the gamma distribution, from its shape and scale",
    "",
    [Example("Gamma(2.0,2.0)", 0, "2.298720542727361")],
    gamma
);

fn gamma(arguments: &Arguments<'_>) -> Built {
    gamma_of(positive(arguments, 0, "shape")?, positive(arguments, 1, "scale")?)
}

fn gamma_of(shape: f64, scale: f64) -> Built {
    let of = Shape { lower: 0.0, upper: f64::INFINITY, mean: shape * scale, variance: shape * scale * scale };
    by_search(of, move |x| on_positive(x, |x| gamma_p(shape, x / scale)))
}

/// A cumulative probability of what is positive.
fn on_positive(x: f64, cumulative: impl Fn(f64) -> f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x >= f64::INFINITY {
        1.0
    } else {
        cumulative(x)
    }
}

curve!(
    CHI_SQUARED,
    "ChiSquared",
    [Double],
    [int_double, long_double],
    "numbers of the chi-squared distribution, from its degrees of freedom",
    "",
    [Example("ChiSquared(3.0)", 0, "1.5054978614238774")],
    chi_squared
);

fn chi_squared(arguments: &Arguments<'_>) -> Built {
    gamma_of(positive(arguments, 0, "number of degrees of freedom")? / 2.0, 2.0)
}

curve!(
    NAKAGAMI,
    "Nakagami",
    [Double, Double],
    [int_double, long_double],
    "numbers of the Nakagami distribution, from its shape and spread: amplitudes of fading signals",
    "",
    [Example("Nakagami(2.0,3.0)", 0, "1.313027190162479")],
    nakagami
);

fn nakagami(arguments: &Arguments<'_>) -> Built {
    let (shape, spread) = (positive(arguments, 0, "shape")?, positive(arguments, 1, "spread")?);
    let v = gamma_delta_ratio(shape, 0.5);
    let of = Shape {
        lower: 0.0,
        upper: f64::INFINITY,
        mean: (spread / shape).sqrt() / v,
        variance: spread - (spread / shape) / v / v,
    };
    by_search(of, move |x| on_positive(x, |x| gamma_p(shape, shape * x * x / spread)))
}

curve!(
    BETA,
    "Beta",
    [Double, Double],
    [int_double, long_double],
    "numbers from 0 to 1 of the beta distribution, from its two shapes",
    "",
    [Example("Beta(0.5,0.5)", 0, "0.23075900168940705")],
    beta
);

fn beta(arguments: &Arguments<'_>) -> Built {
    let (a, b) = (positive(arguments, 0, "first shape")?, positive(arguments, 1, "second shape")?);
    let sum = a + b;
    let of = Shape { lower: 0.0, upper: 1.0, mean: a / sum, variance: (a * b) / ((sum * sum) * (sum + 1.0)) };
    by_search(of, move |x| {
        if x <= 0.0 {
            0.0
        } else if x >= 1.0 {
            1.0
        } else {
            beta_regularised(x, a, b)
        }
    })
}

curve!(
    F,
    "F",
    [Double, Double],
    [int_double, long_double],
    "numbers of the F distribution, from the degrees of freedom of its numerator and denominator",
    "",
    [Example("F(4.0,6.0)", 0, "0.5929575692628637")],
    f
);

fn f(arguments: &Arguments<'_>) -> Built {
    let n = positive(arguments, 0, "number of degrees of freedom of the numerator")?;
    let m = positive(arguments, 1, "number of degrees of freedom of the denominator")?;
    let mean = if m > 2.0 { m / (m - 2.0) } else { f64::NAN };
    let variance = if m > 4.0 {
        let less = m - 2.0;
        (2.0 * (m * m) * (n + m - 2.0)) / (n * (less * less) * (m - 4.0))
    } else {
        f64::NAN
    };
    let of = Shape { lower: 0.0, upper: f64::INFINITY, mean, variance };
    by_search(of, move |x| {
        on_positive(x, |x| {
            let nx = n * x;
            if nx > m {
                beta_complement(m / (m + nx), m / 2.0, n / 2.0)
            } else {
                beta_regularised(nx / (m + nx), n / 2.0, m / 2.0)
            }
        })
    })
}

curve!(
    T,
    "T",
    [Double],
    [int_double, long_double],
    "numbers of Student's t distribution, from its degrees of freedom",
    "",
    [Example("T(10.0)", 0, "-0.48518869508042606")],
    t
);

fn t(arguments: &Arguments<'_>) -> Built {
    let v = positive(arguments, 0, "number of degrees of freedom")?;
    let variance = if v == f64::INFINITY {
        1.0
    } else if v > 2.0 {
        v / (v - 2.0)
    } else if v > 1.0 {
        f64::INFINITY
    } else {
        f64::NAN
    };
    if variance == 1.0 {
        let width = root_2_times(1.0);
        return formula(move |p| 0.0 - width * erfc_inv(2.0 * p));
    }
    let mean = if v > 1.0 { 0.0 } else { f64::NAN };
    let of = Shape { lower: f64::NEG_INFINITY, upper: f64::INFINITY, mean, variance };
    by_search(of, move |x| {
        if x == 0.0 {
            return 0.5;
        }
        let square = x * x;
        let z = if v < 2.0 * square {
            beta_regularised(v / (v + square), v / 2.0, 0.5) / 2.0
        } else {
            beta_complement(square / (v + square), 0.5, v / 2.0) / 2.0
        };
        if x > 0.0 { 1.0 - z } else { z }
    })
}

curve!(
    CONSTANT,
    "ConstantContinuous",
    [Double],
    [int_double, long_double],
    "always the same number",
    "",
    [Example("ConstantContinuous(3.5)", 0, "3.5")],
    constant
);

fn constant(arguments: &Arguments<'_>) -> Built {
    let value = arguments.double(0)?;
    formula(move |_| value)
}

curve!(
    ENUMERATED,
    "Enumerated",
    [String],
    [int_double, long_double],
    "numbers out of a list, each with its weight: 'value:weight …', the weight 1 where none is given",
    "values are separated by space, comma or semicolon; by default the table puts numbers on lines between \
     neighbouring values, 'compute' draws the values themselves",
    [Example("Enumerated('1:2.0 2 3 4 5 6')", 0, "2.0"), Example("Enumerated('1 2 3','compute')", 1, "3.0"),],
    enumerated
);

fn enumerated(arguments: &Arguments<'_>) -> Built {
    let text = arguments.text(0)?;
    let number = |part: &str, entry: &str| {
        value::parse_double(part).ok_or_else(|| {
            Refusal::new(format!("'{entry}' is no number with a weight"))
                .at(0)
                .help("write `'1:2.0 2 3'`: values, each with `:` and a weight where that is not 1")
        })
    };
    let mut entries: Vec<(f64, f64)> = Vec::new();
    for entry in text.trim_end_matches([';', ',', ' ']).split([';', ',', ' ']) {
        let trimmed = entry.trim_end_matches(':');
        let (value, weight) = match trimmed.split_once(':') {
            None => (number(trimmed, entry)?, 1.0),
            Some((value, weight)) => (number(value, entry)?, number(weight, entry)?),
        };
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(Refusal::new(format!("the weight of '{entry}' must be finite and not below 0")).at(0));
        }
        entries.push((value, weight));
    }
    let total: f64 = entries.iter().fold(0.0, |sum, (_, weight)| sum + weight);
    if total == 0.0 {
        return Err(Refusal::new("all weights are 0").at(0));
    }
    let scale = 1.0 / total;
    entries.iter_mut().for_each(|(_, weight)| *weight *= scale);
    entries.retain(|(_, weight)| *weight != 0.0);
    formula(move |p| {
        let mut cumulative = 0.0;
        let mut last = f64::INFINITY;
        for (value, probability) in &entries {
            cumulative += probability;
            last = *value;
            if cumulative >= p {
                break;
            }
        }
        last
    })
}
