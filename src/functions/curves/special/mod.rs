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
            // Nothing was lost of what is too small; of what is infinite or NaN all was.
            0.0 * product
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

#[cfg(test)]
mod tests {
    use super::beta::{beta_complement, beta_regularised};
    use super::gamma::{FACTORIALS, gamma_delta_ratio, gamma_p, gamma_q};

    #[test]
    fn values_are_those_of_commons_numbers() {
        // Bits of two parameters, the argument of beta functions, and the value that version 1.1 gives.
        #[rustfmt::skip]
        let known: &[(&str, u64, u64, u64, u64)] = &[
            ("gp", 0x4000_0000_0000_0000, 0x400e_ccf9_a695_e024, 0x0000_0000_0000_0000, 0x3fec_b296_83bc_4999),
            ("gp", 0x4049_0000_0000_0000, 0x405f_2fcf_2a49_7baa, 0x0000_0000_0000_0000, 0x3fef_ffff_ffff_ffae),
            ("gp", 0x4039_0000_0000_0000, 0x4013_4ee7_cb81_5466, 0x0000_0000_0000_0000, 0x3dd5_81b9_033c_15dd),
            ("gp", 0x3fe6_6666_6666_6666, 0x3fe8_f0a4_6acf_7911, 0x0000_0000_0000_0000, 0x3fe6_08aa_010c_7042),
            ("gp", 0x4014_0000_0000_0000, 0x4028_7137_16af_b0ad, 0x0000_0000_0000_0000, 0x3fef_caad_3b36_80ff),
            ("gp", 0x4049_0000_0000_0000, 0x4060_b260_7d81_55b9, 0x0000_0000_0000_0000, 0x3ff0_0000_0000_0000),
            ("gp", 0x4034_0000_0000_0000, 0x404c_8787_0fb3_fdfb, 0x0000_0000_0000_0000, 0x3fef_ffff_fd75_3e73),
            ("gp", 0x4060_4000_0000_0000, 0x4066_b59a_100c_5a70, 0x0000_0000_0000_0000, 0x3fef_ffce_a158_0b15),
            ("gp", 0x4040_a666_6666_6666, 0x403f_47de_a411_c6da, 0x0000_0000_0000_0000, 0x3fd8_796e_0474_615a),
            ("gp", 0x3fd3_3333_3333_3333, 0x3fea_51b1_ae46_da06, 0x0000_0000_0000_0000, 0x3fec_7b88_1245_4ac8),
            ("gp", 0x4049_0000_0000_0000, 0x4047_5b91_c8a5_c82a, 0x0000_0000_0000_0000, 0x3fd5_6790_a7f1_0033),
            ("gp", 0x3fd0_0000_0000_0000, 0x3fb9_f2b0_7218_cf3a, 0x0000_0000_0000_0000, 0x3fe3_870d_0e60_5002),
            ("gq", 0x4034_0000_0000_0000, 0x4013_365e_de20_17f6, 0x0000_0000_0000_0000, 0x3fef_ffff_9c25_a758),
            ("gq", 0x4000_0000_0000_0000, 0x4013_14b0_28da_7182, 0x0000_0000_0000_0000, 0x3fa9_0c82_b0c7_ef5d),
            ("gq", 0x4040_a666_6666_6666, 0x404f_3916_cd11_9dc9, 0x0000_0000_0000_0000, 0x3ef5_1436_29e6_5cee),
            ("gq", 0x3ff8_0000_0000_0000, 0x3ff4_4557_bc25_d890, 0x0000_0000_0000_0000, 0x3fde_076c_7fa1_7f05),
            ("gq", 0x3ff0_0000_0000_0000, 0x3ff3_5ce4_4991_e28d, 0x0000_0000_0000_0000, 0x3fd3_14ca_9eaa_fcc1),
            ("gq", 0x4039_0000_0000_0000, 0x4052_0e99_f4cb_d47b, 0x0000_0000_0000_0000, 0x3dc6_df94_cbac_5356),
            ("gq", 0x4040_a666_6666_6666, 0x4037_6cdb_d749_ab44, 0x0000_0000_0000_0000, 0x3fee_fd4c_451a_ccbf),
            ("gq", 0x4034_0000_0000_0000, 0x4044_bff0_ca75_a0d4, 0x0000_0000_0000_0000, 0x3f14_306b_41c0_196a),
            ("gq", 0x4016_0000_0000_0000, 0x4020_caf4_7b0f_8d94, 0x0000_0000_0000_0000, 0x3fbd_3951_f89c_3a8a),
            ("gq", 0x4060_4000_0000_0000, 0x405d_8449_54b0_1310, 0x0000_0000_0000_0000, 0x3feb_4ec6_9573_180d),
            ("gq", 0x3fe6_6666_6666_6666, 0x3ff5_fb53_c690_36eb, 0x0000_0000_0000_0000, 0x3fc3_c527_55bf_0a23),
            ("gq", 0x3ff8_0000_0000_0000, 0x3ff4_afeb_8c5f_83f1, 0x0000_0000_0000_0000, 0x3fdd_7019_cc7d_2e54),
            ("ratio", 0x3ff0_0000_0000_0000, 0x3ff8_0000_0000_0000, 0x0000_0000_0000_0000, 0x3fe8_1274_6b03_79e5),
            ("ratio", 0x4040_a666_6666_6666, 0x4049_0000_0000_0000, 0x0000_0000_0000_0000, 0x2dca_aaff_c78d_1e15),
            ("ratio", 0x4024_0000_0000_0000, 0x3fd3_3333_3333_3333, 0x0000_0000_0000_0000, 0x3fe0_3556_7bf6_8041),
            ("ratio", 0x3fd0_0000_0000_0000, 0x4004_0000_0000_0000, 0x0000_0000_0000_0000, 0x4002_08a9_0970_2d6c),
            ("ratio", 0x3fd3_3333_3333_3333, 0x4040_a666_6666_6666, 0x0000_0000_0000_0000, 0x387d_c786_e4e5_5a1b),
            ("ratio", 0x3ff0_0000_0000_0000, 0x4014_0000_0000_0000, 0x0000_0000_0000_0000, 0x3f81_1111_1111_1111),
            ("ratio", 0x4060_4000_0000_0000, 0x4040_a666_6666_6666, 0x0000_0000_0000_0000, 0x30f8_d349_7dc3_226b),
            ("ratio", 0x3fd3_3333_3333_3333, 0x3fe6_6666_6666_6666, 0x0000_0000_0000_0000, 0x4007_eebb_b8ae_c4ac),
            ("ib", 0x4008_0000_0000_0000, 0x4016_0000_0000_0000, 0x3fea_bbb4_4f23_d994, 0x3fef_f8bf_36e7_7323),
            ("ib", 0x3fd0_0000_0000_0000, 0x4049_0000_0000_0000, 0x3fef_5518_138c_05a3, 0x3ff0_0000_0000_0000),
            ("ib", 0x4004_0000_0000_0000, 0x4024_0000_0000_0000, 0x3fa8_1409_b719_72c0, 0x3fa4_9179_0b4d_f0d4),
            ("ib", 0x4039_0000_0000_0000, 0x4008_0000_0000_0000, 0x3fee_7712_624b_2886, 0x3feb_984b_7721_b88a),
            ("ib", 0x4060_4000_0000_0000, 0x4060_4000_0000_0000, 0x3fc0_a34d_87e8_64ec, 0x3653_d0e9_184e_3d67),
            ("ib", 0x4024_0000_0000_0000, 0x3fd0_0000_0000_0000, 0x3fe5_6b9e_f7e9_f49a, 0x3f5d_634a_3ac3_3ae2),
            ("ib", 0x4034_0000_0000_0000, 0x3fe0_0000_0000_0000, 0x3fe6_f077_ff7d_27a3, 0x3f32_cc19_ed96_a7c4),
            ("ib", 0x4024_0000_0000_0000, 0x3ff0_0000_0000_0000, 0x3fd7_ae56_f611_4bce, 0x3f09_38bc_ef94_73f2),
            ("ib", 0x4060_4000_0000_0000, 0x4004_0000_0000_0000, 0x3fe2_06e7_8677_6977, 0x39ba_c5ef_a2be_4c81),
            ("ib", 0x4034_0000_0000_0000, 0x4024_0000_0000_0000, 0x3fd8_a164_72c8_6230, 0x3f4c_3c11_97a8_f7e9),
            ("ib", 0x3fe6_6666_6666_6666, 0x4040_a666_6666_6666, 0x3fe9_527b_dc14_9bd5, 0x3ff0_0000_0000_0000),
            ("ib", 0x4016_0000_0000_0000, 0x4004_0000_0000_0000, 0x3f74_a605_d288_f280, 0x3d8a_9b4d_508c_6909),
            ("ib", 0x3fe0_0000_0000_0000, 0x4039_0000_0000_0000, 0x3fe8_82e9_1f7c_5d3f, 0x3ff0_0000_0000_0000),
            ("ib", 0x3fd3_3333_3333_3333, 0x3fd0_0000_0000_0000, 0x3feb_16a3_b20e_ec2e, 0x3fe3_c8ff_b847_3c07),
            ("ib", 0x3fe6_6666_6666_6666, 0x4049_0000_0000_0000, 0x3fe7_dca6_057e_280e, 0x3ff0_0000_0000_0000),
            ("ib", 0x4040_a666_6666_6666, 0x3fd3_3333_3333_3333, 0x3fa7_4a60_1a16_d5f0, 0x3655_f8dc_1779_7a5a),
            ("ib", 0x4000_0000_0000_0000, 0x3fe6_6666_6666_6666, 0x3fe6_10e7_196f_f529, 0x3fd6_2870_e5b1_188d),
            ("ib", 0x4004_0000_0000_0000, 0x4000_0000_0000_0000, 0x3fe9_fe28_bbdb_a26f, 0x3feb_f582_ba1e_7628),
            ("ib", 0x4034_0000_0000_0000, 0x4004_0000_0000_0000, 0x3fb9_10d7_75e0_79b0, 0x3c1e_c982_0bd5_6d76),
            ("ib", 0x406f_5000_0000_0000, 0x4040_a666_6666_6666, 0x3fee_f92e_04ed_491f, 0x3fef_ffff_ffe9_1bfd),
            ("ibc", 0x4008_0000_0000_0000, 0x4016_0000_0000_0000, 0x3fea_bbb4_4f23_d994, 0x3f4d_0324_6233_755d),
            ("ibc", 0x4024_0000_0000_0000, 0x406f_5000_0000_0000, 0x3fd5_1859_4966_4ff0, 0x3959_a8e2_c379_5cd8),
            ("ibc", 0x4040_a666_6666_6666, 0x4004_0000_0000_0000, 0x3fd6_9616_24b2_1036, 0x3fef_ffff_ffff_fd85),
            ("ibc", 0x4016_0000_0000_0000, 0x406f_5000_0000_0000, 0x3fef_6445_d603_d22d, 0x0000_0000_0000_0000),
            ("ibc", 0x4060_4000_0000_0000, 0x3ff8_0000_0000_0000, 0x3fd3_212a_9711_3496, 0x3ff0_0000_0000_0000),
            ("ibc", 0x4014_0000_0000_0000, 0x406f_5000_0000_0000, 0x3fe4_966a_881f_2ffd, 0x2a32_6fd6_11c5_af37),
            ("ibc", 0x4049_0000_0000_0000, 0x3fe6_6666_6666_6666, 0x3fca_a9b1_cd15_2554, 0x3ff0_0000_0000_0000),
            ("ibc", 0x4060_4000_0000_0000, 0x4024_0000_0000_0000, 0x3f9f_090c_feb0_c580, 0x3ff0_0000_0000_0000),
            ("ibc", 0x4024_0000_0000_0000, 0x4016_0000_0000_0000, 0x3fe5_f118_a4ff_0ab4, 0x3fd8_e1f6_f40a_e96b),
            ("ibc", 0x4060_4000_0000_0000, 0x4024_0000_0000_0000, 0x3fe8_b9c6_2fa3_94b8, 0x3fef_ffff_8132_eb22),
            ("ibc", 0x4000_0000_0000_0000, 0x4016_0000_0000_0000, 0x3fea_9d8e_7244_ceb4, 0x3f34_3726_a116_d2d4),
            ("ibc", 0x4014_0000_0000_0000, 0x4016_0000_0000_0000, 0x3fda_7c24_0552_4c3c, 0x3fe4_d5ff_4194_6b94),
            ("ibc", 0x3fd0_0000_0000_0000, 0x4040_a666_6666_6666, 0x3fed_7145_65ce_d433, 0x3800_82b6_607f_e035),
            ("ibc", 0x4004_0000_0000_0000, 0x406f_5000_0000_0000, 0x3fae_1e62_9959_9b60, 0x3ee9_0e40_a6f4_1d74),
            ("ibc", 0x406f_5000_0000_0000, 0x3ff0_0000_0000_0000, 0x3fe1_beb6_786a_d5bc, 0x3ff0_0000_0000_0000),
            ("ibc", 0x3ff0_0000_0000_0000, 0x4024_0000_0000_0000, 0x3fe4_07ff_cad3_5dcc, 0x3f0c_172a_09fe_62e6),
            ("ibc", 0x4014_0000_0000_0000, 0x3ff8_0000_0000_0000, 0x3fe9_f22d_5e4d_aabd, 0x3fdd_e7d7_93af_4b65),
            ("ibc", 0x4049_0000_0000_0000, 0x4004_0000_0000_0000, 0x3fc1_583c_6924_4648, 0x3ff0_0000_0000_0000),
            ("ibc", 0x4060_4000_0000_0000, 0x3ff0_0000_0000_0000, 0x3fee_4037_e158_6899, 0x3fef_fa81_e074_fa28),
            ("ibc", 0x4060_4000_0000_0000, 0x3fe6_6666_6666_6666, 0x3fb5_6a68_c9b0_2fd8, 0x3ff0_0000_0000_0000),
        ];
        for (name, a, b, x, expected) in known {
            let (a, b, x) = (f64::from_bits(*a), f64::from_bits(*b), f64::from_bits(*x));
            let found = match *name {
                "gp" => gamma_p(a, b),
                "gq" => gamma_q(a, b),
                "ratio" => gamma_delta_ratio(a, b),
                "ib" => beta_regularised(x, a, b),
                _ => beta_complement(x, a, b),
            };
            assert_eq!(found.to_bits(), *expected, "{name}({a}, {b}) at {x}: {found}");
        }
    }

    #[test]
    fn factorials_are_rounded_once() {
        assert_eq!(FACTORIALS[..6], [1.0, 1.0, 2.0, 6.0, 24.0, 120.0]);
        assert_eq!(FACTORIALS[30], 2.6525285981219107e32);
        assert_eq!(FACTORIALS[170], 7.257415615307999e306);
    }
}
