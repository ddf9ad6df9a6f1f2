//! The regularised incomplete beta function.

use super::super::elementary::{asin, exp, exp_m1, ln, log_1p, pow};
use super::gamma::{
    FACTORIALS, LANCZOS_GMH, MAX_FACTORIAL, gamma_delta_ratio, gamma_prefix, gamma_q, lanczos_sum_scaled,
};
use super::{MAX_LOG, MIN_LOG, continued_fraction, powm1, series};
use std::f64::consts::{E, FRAC_PI_2};
use std::mem::swap;

/// I_x(a, b); NaN where it does not converge.
pub fn beta_regularised(x: f64, a: f64, b: f64) -> f64 {
    incomplete_beta(a, b, x, false)
}

/// 1 − I_x(a, b).
pub fn beta_complement(x: f64, a: f64, b: f64) -> f64 {
    incomplete_beta(a, b, x, true)
}

/// Where to evaluate: I_x(a, b) or, after a reflection, 1 − I_y(b, a).
struct Place {
    a: f64,
    b: f64,
    x: f64,
    y: f64,
    invert: bool,
}

impl Place {
    fn reflect(&mut self) {
        swap(&mut self.a, &mut self.b);
        swap(&mut self.x, &mut self.y);
        self.invert = !self.invert;
    }

    /// The power series, with the inversion as its first term.
    fn series(&mut self) -> f64 {
        if self.invert {
            self.invert = false;
            -beta_series(self.a, self.b, self.x, -1.0)
        } else {
            beta_series(self.a, self.b, self.x, 0.0)
        }
    }

    /// Twenty steps in a, then the series for small b and large a.
    fn steps_and_series(&mut self) -> f64 {
        let steps = a_steps(self.a, self.b, self.x, self.y, 20);
        self.large_a(self.a + 20.0, if self.invert { steps - 1.0 } else { steps })
    }

    fn large_a(&mut self, a: f64, start: f64) -> f64 {
        let sum = small_b_large_a(a, self.b, self.x, self.y, start);
        if self.invert {
            self.invert = false;
            -sum
        } else {
            sum
        }
    }
}

fn incomplete_beta(a: f64, b: f64, x: f64, invert: bool) -> f64 {
    if !((0.0..=1.0).contains(&x) && a >= 0.0 && b >= 0.0) {
        return f64::NAN;
    }
    let of = |one: bool| if one { 1.0 } else { 0.0 };
    if a == 0.0 {
        return if b == 0.0 { f64::NAN } else { of(!invert) };
    }
    if b == 0.0 || x == 0.0 {
        return of(invert);
    }
    if x == 1.0 {
        return of(!invert);
    }
    if a == 0.5 && b == 0.5 {
        let z = if invert { 1.0 - x } else { x };
        return asin(z.sqrt()) / FRAC_PI_2;
    }
    let mut at = Place { a, b, x, y: 1.0 - x, invert };
    if a == 1.0 {
        at.reflect();
    }
    if at.b == 1.0 {
        if at.a == 1.0 {
            return if at.invert { at.y } else { at.x };
        }
        return match (at.y < 0.5, at.invert) {
            (true, true) => -exp_m1(at.a * log_1p(-at.y)),
            (true, false) => exp(at.a * log_1p(-at.y)),
            (false, true) => -powm1(at.x, at.a),
            (false, false) => pow(at.x, at.a),
        };
    }
    let fraction = if at.a.min(at.b) <= 1.0 {
        if at.x > 0.5 {
            at.reflect();
        }
        small_parameter(&mut at)
    } else {
        let lambda = if at.a < at.b { at.a - (at.a + at.b) * at.x } else { (at.a + at.b) * at.y - at.b };
        if lambda < 0.0 {
            at.reflect();
        }
        large_parameters(&mut at)
    };
    if at.invert { 1.0 - fraction } else { fraction }
}

/// One of a and b is 1 at most.
fn small_parameter(at: &mut Place) -> f64 {
    if at.a.max(at.b) <= 1.0 {
        if at.a >= at.b.min(0.2) || pow(at.x, at.a) <= 0.9 {
            return at.series();
        }
        at.reflect();
        return if at.y >= 0.3 { at.series() } else { at.steps_and_series() };
    }
    if at.b <= 1.0 || (at.x < 0.1 && pow(at.b * at.x, at.a) <= 0.7) {
        return at.series();
    }
    at.reflect();
    if at.y >= 0.3 {
        at.series()
    } else if at.a >= 15.0 {
        let start = if at.invert { -1.0 } else { 0.0 };
        at.large_a(at.a, start)
    } else {
        at.steps_and_series()
    }
}

/// Both a and b are above 1.
fn large_parameters(at: &mut Place) -> f64 {
    let (a, b, x, y) = (at.a, at.b, at.x, at.y);
    if b >= 40.0 {
        return fraction_2(a, b, x, y);
    }
    let whole = |value: f64| value.round_ties_even() == value;
    if whole(a) && whole(b) && a < f64::from(i32::MAX - 100) && y != 1.0 {
        let k = (a - 1.0) as i32;
        return binomial_upper_tail((b + f64::from(k)) as i32, k, x, y);
    }
    if b * x <= 0.7 {
        return at.series();
    }
    if a > 15.0 {
        let mut n = b as i32;
        if f64::from(n) == b {
            n -= 1;
        }
        let rest = b - f64::from(n);
        let steps = a_steps(rest, a, y, x, n);
        return small_b_large_a(a, rest, x, y, steps);
    }
    let mut n = b.floor() as i32;
    let mut rest = b - f64::from(n);
    if rest <= 0.0 {
        n -= 1;
        rest += 1.0;
    }
    let mut steps = a_steps(rest, a, y, x, n);
    steps += a_steps(a, rest, x, y, 20);
    if at.invert {
        steps -= 1.0;
    }
    let sum = small_b_large_a(a + 20.0, rest, x, y, steps);
    if at.invert {
        at.invert = false;
        -sum
    } else {
        sum
    }
}

/// x^a·y^b/B(a, b).
fn power_terms(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let c = a + b;
    let (agh, bgh, cgh) = (a + LANCZOS_GMH, b + LANCZOS_GMH, c + LANCZOS_GMH);
    let mut result = lanczos_sum_scaled(c) / (lanczos_sum_scaled(a) * lanczos_sum_scaled(b));
    result *= (bgh / E).sqrt();
    result *= (agh / cgh).sqrt();
    let l1 = (x * b - y * agh) / agh;
    let l2 = (y * a - x * bgh) / bgh;
    let in_range = |l: f64| l > MIN_LOG && l < MAX_LOG;
    let times_exp = |result: f64, l: f64| if in_range(l) { result * exp(l) } else { exp(l + ln(result)) };
    if l1.abs().min(l2.abs()) < 0.2 {
        if l1 * l2 > 0.0 || a.min(b) < 1.0 {
            result *= if l1.abs() < 0.1 { exp(a * log_1p(l1)) } else { pow((x * cgh) / agh, a) };
            result *= if l2.abs() < 0.1 { exp(b * log_1p(l2)) } else { pow((y * cgh) / bgh, b) };
            return result;
        }
        if l1.abs().max(l2.abs()) < 0.5 {
            let small_a = a < b;
            let ratio = b / a;
            let l3 = if (small_a && ratio * l2 < 0.1) || (!small_a && l1 / ratio > 0.1) {
                let l3 = exp_m1(ratio * log_1p(l2));
                a * log_1p(l1 + l3 + l3 * l1)
            } else {
                let l3 = exp_m1(log_1p(l1) / ratio);
                b * log_1p(l2 + l3 + l3 * l2)
            };
            return result * exp(l3);
        }
        if l1.abs() < l2.abs() {
            return times_exp(result, a * log_1p(l1) + b * ln((y * cgh) / bgh));
        }
        return times_exp(result, b * log_1p(l2) + a * ln((x * cgh) / agh));
    }
    let (b1, b2) = ((x * cgh) / agh, (y * cgh) / bgh);
    let (l1, l2) = (a * ln(b1), b * ln(b2));
    if in_range(l1) && in_range(l2) {
        return result * (pow(b1, a) * pow(b2, b));
    }
    let far_out = |result: f64| exp(l2 + (l1 + ln(result)));
    if a < b {
        let p1 = pow(b2, b / a);
        let l3 = a * (ln(b1) + ln(p1));
        if in_range(l3) { result * pow(p1 * b1, a) } else { far_out(result) }
    } else {
        let p1 = pow(b1, a / b);
        let l3 = (ln(p1) + ln(b2)) * b;
        if in_range(l3) { result * pow(p1 * b2, b) } else { far_out(result) }
    }
}

fn beta_series(a: f64, b: f64, x: f64, mut start: f64) -> f64 {
    let c = a + b;
    let (agh, bgh, cgh) = (a + LANCZOS_GMH, b + LANCZOS_GMH, c + LANCZOS_GMH);
    let mut result = lanczos_sum_scaled(c) / (lanczos_sum_scaled(a) * lanczos_sum_scaled(b));
    let l1 = ln(cgh / bgh) * (b - 0.5);
    let l2 = ln(x * cgh / agh) * a;
    let in_range = |l: f64| l > MIN_LOG && l < MAX_LOG;
    if in_range(l1) && in_range(l2) {
        result *= if a * b < bgh * 10.0 { exp((b - 0.5) * log_1p(a / bgh)) } else { pow(cgh / bgh, b - 0.5) };
        result *= pow(x * cgh / agh, a);
        result *= (agh / E).sqrt();
    } else {
        result = exp(ln(result) + l1 + l2 + (ln(agh) - 1.0) / 2.0);
    }
    let mut rescale = 1.0;
    if result < f64::MIN_POSITIVE {
        const UP: f64 = (1u64 << 53) as f64;
        if start + result / a == start {
            return start;
        }
        start *= UP;
        result *= UP;
        rescale = 1.0 / UP;
    }
    let mut n = 0.0;
    let sum = series(start, || {
        let term = result / (a + n);
        n += 1.0;
        result *= (n - b) * x / n;
        term
    });
    sum * rescale
}

/// Σ over i > k of the binomial terms C(n, i)·x^i·y^(n−i).
fn binomial_upper_tail(n: i32, k: i32, x: f64, y: f64) -> f64 {
    let down = |from: i32, term: f64, sum: f64| {
        let (mut term, mut sum) = (term, sum);
        for i in (k + 1..from).rev() {
            term *= (f64::from(i + 1) * y) / (f64::from(n - i) * x);
            sum += term;
        }
        sum
    };
    let top = pow(x, f64::from(n));
    if top > f64::MIN_POSITIVE {
        return down(n, top, top);
    }
    // Below the least double: from about the middle both ways.
    let mut start = (f64::from(n) * x) as i32;
    if start <= k + 1 {
        start = k + 2;
    }
    let first = binomial_term(n, start, x, y);
    if first == 0.0 {
        return (k + 1..start).rev().fold(first, |sum, i| sum + binomial_term(n, i, x, y));
    }
    let mut sum = down(start, first, first);
    let mut term = first;
    for i in start + 1..=n {
        term *= f64::from(n - i + 1) * x / (f64::from(i) * y);
        sum += term;
    }
    sum
}

fn binomial_term(n: i32, k: i32, x: f64, y: f64) -> f64 {
    let coefficient = binomial_coefficient(n, k);
    if coefficient.is_finite() { coefficient * pow(y, f64::from(n - k)) * pow(x, f64::from(k)) } else { 0.0 }
}

fn binomial_coefficient(n: i32, k: i32) -> f64 {
    let m = k.min(n - k);
    let (wide_n, wide_m) = (f64::from(n), f64::from(m));
    match m {
        // Outside the triangle.
        i32::MIN..=-1 => return 0.0,
        0 => return 1.0,
        1 => return wide_n,
        2 => return 0.5 * wide_n * (wide_n - 1.0),
        3 => return 0.5 * wide_n * (wide_n - 1.0) * (wide_n - 2.0) / 3.0,
        _ => {}
    }
    let factorial = |n: i32| usize::try_from(n).ok().and_then(|n| FACTORIALS.get(n)).copied();
    let mut result;
    if let Some(of_n) = factorial(n) {
        result = of_n / factorial(m).unwrap_or(1.0) / factorial(n - m).unwrap_or(1.0);
    } else {
        result = 1.0;
        for i in 1..m {
            result *= f64::from(n - m + i);
            result /= f64::from(i);
        }
        if result * wide_n > f64::MAX {
            result /= wide_m;
            result *= wide_n;
        } else {
            result *= wide_n;
            result /= wide_m;
        }
    }
    (result - 0.5).ceil()
}

/// I_x(a, b) − I_x(a + k, b).
fn a_steps(a: f64, b: f64, x: f64, y: f64, k: i32) -> f64 {
    let prefix = power_terms(a, b, x, y) / a;
    if prefix == 0.0 {
        return prefix;
    }
    let (mut sum, mut term) = (1.0, 1.0);
    for i in 0..k - 1 {
        let i = f64::from(i);
        term *= (a + b + i) * x / (a + i + 1.0);
        sum += term;
    }
    prefix * sum
}

/// DiDonato and Morris, "Algorithm 708" (1992), their BGRAT.
fn small_b_large_a(a: f64, b: f64, x: f64, y: f64, start: f64) -> f64 {
    const TERMS: usize = 30;
    let bm1 = b - 1.0;
    let t = a + bm1 / 2.0;
    let lx = if y < 0.35 { log_1p(-y) } else { ln(x) };
    let u = -t * lx;
    let h = gamma_prefix(b, u);
    if h <= f64::MIN_POSITIVE {
        return if start == 0.0 { fraction_1(a, b, x, y) } else { start };
    }
    let prefix = h / gamma_delta_ratio(a, b) / pow(t, b);
    let mut p = [0.0; TERMS];
    p[0] = 1.0;
    let mut j = gamma_q(b, u) / h;
    let mut sum = start + prefix * j;
    let lx2 = (lx / 2.0) * (lx / 2.0);
    let mut power = 1.0;
    let t4 = 4.0 * t * t;
    let mut b2n = b;
    for n in 1..TERMS {
        let mut coefficient = 0.0;
        for m in 1..n {
            let mbn = m as f64 * b - n as f64;
            coefficient += mbn * p[n - m] / FACTORIALS[2 * m + 1];
        }
        coefficient /= n as f64;
        coefficient += bm1 / FACTORIALS[2 * n + 1];
        p[n] = coefficient;
        j = (b2n * (b2n + 1.0) * j + (u + b2n + 1.0) * power) / t4;
        power *= lx2;
        b2n += 2.0;
        let previous = sum;
        sum += prefix * coefficient * j;
        if sum == previous {
            break;
        }
    }
    sum
}

const _: () = assert!(MAX_FACTORIAL > 2 * 30, "the series takes factorials up to 2·29 + 1");

fn fraction_2(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let result = power_terms(a, b, x, y);
    if result == 0.0 {
        return result;
    }
    let mut m = 0.0;
    let fraction = continued_fraction(None, || {
        let mut a_n = (a + m - 1.0) * (a + b + m - 1.0) * m * (b - m) * x * x;
        let denominator = a + 2.0 * m - 1.0;
        a_n /= denominator * denominator;
        let mut b_n = m;
        b_n += (m * (b - m) * x) / (a + 2.0 * m - 1.0);
        b_n += ((a + m) * (a * y - b * x + 1.0 + m * (2.0 - x))) / (a + 2.0 * m + 1.0);
        m += 1.0;
        (a_n, b_n)
    });
    result / fraction
}

fn fraction_1(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let result = power_terms(a, b, x, y);
    if result == 0.0 {
        return result;
    }
    let mut n = 0u32;
    let fraction = continued_fraction(None, || {
        let m = f64::from(n);
        let k = f64::from(n / 2);
        let a_n = if n.is_multiple_of(2) {
            (k * (b - k) * x) / ((a + m - 1.0) * (a + m))
        } else {
            -((a + k) * (a + b + k) * x) / ((a + m - 1.0) * (a + m))
        };
        n += 1;
        (a_n, 1.0)
    });
    (result / a) / fraction
}
