//! Special functions behind the curves whose quantiles have no formula: the regularised incomplete gamma and
//! beta functions and the error functions.
//!
//! Methods and coefficients are those of Boost.Math 1.77 (John Maddock and others, Boost Software License) as
//! Apache Commons Numbers 1.1 arranges them, operation by operation: values then agree to the last bit, on
//! which roots found by search depend. Series and fractions that do not converge give NaN.

pub mod beta;
pub mod erf;
pub mod gamma;

use super::elementary::{exp_m1, high_part, ln, log_1p, pow};

/// 2^−52.
const EPSILON: f64 = f64::EPSILON;
/// The whole numbers next to the logarithms of the largest and the smallest normal double.
const MAX_LOG: f64 = 709.0;
const MIN_LOG: f64 = -708.0;
const MAX_TERMS: usize = 1_000_000;

/// The polynomial with these coefficients, the highest first.
fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().copied().reduce(|sum, coefficient| coefficient + sum * x).unwrap_or_default()
}

/// The sum of `start` and terms until one is below the last bit.
fn series(start: f64, mut term: impl FnMut() -> f64) -> f64 {
    let mut sum = start;
    for _ in 0..MAX_TERMS {
        let next = term();
        sum += next;
        if (EPSILON * sum).abs() >= next.abs() {
            return sum;
        }
        if next.is_nan() || sum.is_nan() {
            break;
        }
    }
    f64::NAN
}

/// Likewise, with Kahan's compensation.
fn kahan_series(start: f64, mut term: impl FnMut() -> f64) -> f64 {
    const LEAST: f64 = 1.0 / (1u64 << 53) as f64;
    let (mut sum, mut carry) = (start, 0.0);
    for _ in 0..MAX_TERMS {
        let next = term();
        let y = next - carry;
        let t = sum + y;
        carry = (t - sum) - y;
        sum = t;
        if (LEAST * sum).abs() >= next.abs() {
            return sum;
        }
        if next.is_nan() || sum.is_nan() {
            break;
        }
    }
    f64::NAN
}

/// b0 + a1/(b1 + a2/(b2 + …)) by the modified Lentz algorithm. Without `b0` the first pair gives it, its `a`
/// unused.
fn continued_fraction(b0: Option<f64>, mut pair: impl FnMut() -> (f64, f64)) -> f64 {
    const SMALL: f64 = 1e-50;
    const LOW: f64 = 1.0 - EPSILON / 2.0;
    let away_from_zero = |value: f64| if value.abs() < SMALL { SMALL.copysign(value) } else { value };
    let (first_a, first_b) = pair();
    let mut h = away_from_zero(first_b);
    let (mut d, mut c) = (0.0, h);
    for _ in 0..MAX_TERMS {
        let (a, b) = pair();
        d = 1.0 / away_from_zero(b + a * d);
        c = away_from_zero(b + a / c);
        let delta = c * d;
        h *= delta;
        if !h.is_finite() || delta == 0.0 {
            return f64::NAN;
        }
        if (delta - 1.0).abs() <= EPSILON && delta >= LOW {
            return match b0 {
                Some(b0) => b0 + first_a / h,
                None => h,
            };
        }
    }
    f64::NAN
}

/// x^y − 1, for x ≥ 0.
fn powm1(x: f64, y: f64) -> f64 {
    if x > 0.0 && ((y * (x - 1.0)).abs() < 0.5 || y.abs() < 0.2) {
        let l = y * ln(x);
        if l < 0.5 {
            return exp_m1(l);
        }
    }
    pow(x, y) - 1.0
}

/// ln(1 + x) − x.
fn log_1p_minus_x(x: f64) -> f64 {
    if x <= -1.0 {
        return if x == -1.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    if !(-0.79149064..=1.0).contains(&x) {
        return log_1p(x) - x;
    }
    let a = x.abs();
    if a < 1.0 / 64.0 {
        return log_1p_minus_x_small(x, a);
    }
    let z = x / (2.0 + x);
    let square = z * z;
    let (mut sum, mut numerator, mut denominator) = (1.0 / 3.0, 1.0, 3.0);
    loop {
        numerator *= square;
        denominator += 2.0;
        let next = sum + numerator / denominator;
        if next == sum {
            return z * (2.0 * square * sum - x);
        }
        sum = next;
    }
}

fn log_1p_minus_x_small(x: f64, a: f64) -> f64 {
    let x2 = x * x;
    if a < EPSILON / 2.0 {
        return 0.0 - x2 / 2.0;
    }
    let x4 = x2 * x2;
    if a < 9.5367431640625e-7 {
        // 2^−20
        return x * x4 / 5.0 - x4 / 4.0 + x * x2 / 3.0 - x2 / 2.0;
    }
    if a < 0.000244140625 {
        // 2^−12
        return x * x2 * x4 / 7.0 - x2 * x4 / 6.0 + x * x4 / 5.0 - x4 / 4.0 + x * x2 / 3.0 - x2 / 2.0;
    }
    let x8 = x4 * x4;
    x * x2 * x8 / 11.0 - x2 * x8 / 10.0 + x * x8 / 9.0 - x8 / 8.0 + x * x2 * x4 / 7.0 - x2 * x4 / 6.0
        + x * x4 / 5.0
        - x4 / 4.0
        + x * x2 / 3.0
        - x2 / 2.0
}

/// A sum with twice the digits.
#[derive(Default)]
struct Compensated {
    sum: f64,
    compensation: f64,
}

impl Compensated {
    fn add(&mut self, term: f64) {
        self.compensation += self.plus(term);
    }

    fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        let low = if product.is_normal() {
            let (a_high, b_high) = (high_part(a), high_part(b));
            let (a_low, b_low) = (a - a_high, b - b_high);
            a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
        } else {
            product - product
        };
        self.compensation += self.plus(product) + low;
    }

    /// Adds, and gives what rounding took.
    fn plus(&mut self, term: f64) -> f64 {
        let sum = self.sum + term;
        let of_term = sum - self.sum;
        let lost = (self.sum - (sum - of_term)) + (term - of_term);
        self.sum = sum;
        lost
    }

    fn value(&self) -> f64 {
        let value = self.sum + self.compensation;
        if value.is_finite() { value } else { self.sum }
    }
}
