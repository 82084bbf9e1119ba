//! Functions with many branches, computed in `f64` one element at a time: the gamma function and what belongs to it,
//! modified Bessel functions, and the inverse of the error function.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use super::Float;

/// ln |Γ(x)|.
pub(crate) fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The logarithmic derivative of Γ, by its asymptotic series (Abramowitz and Stegun 6.3.18) from 10 on.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -f64::INFINITY.copysign(x);
    }
    if x < 0.0 {
        let away = x - x.round();
        return if away == 0.0 || x.is_infinite() { f64::NAN } else { digamma(1.0 - x) - PI / (PI * away).tan() };
    }
    // Σ 1/(x + k) is the logarithmic derivative of Π (x + k), whose terms are all positive.
    let (mut y, mut product, mut derivative) = (x, 1.0, 0.0);
    while y < 10.0 {
        derivative = derivative * y + product;
        product *= y;
        y += 1.0;
    }
    let z = 1.0 / (y * y);
    let series = z
        * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))));
    y.ln() - 0.5 / y - series - derivative / product
}

/// The `n`-th derivative of [`digamma`], for n of at least 1.
pub(crate) fn polygamma(n: u32, x: f64) -> f64 {
    let odd = n % 2 == 1;
    if x == f64::INFINITY {
        return if odd { 0.0 } else { -0.0 };
    }
    if x > 0.0 {
        let size = factorial(n) * hurwitz_zeta(f64::from(n) + 1.0, x);
        return if odd { size } else { -size };
    }
    let away = x - x.round();
    if x.is_nan() || x.is_infinite() {
        return f64::NAN;
    }
    if away == 0.0 {
        // A pole of order n + 1, which has the same sign on both sides for odd n.
        return if odd { f64::INFINITY } else { f64::NAN };
    }
    // The reflection formula, Abramowitz and Stegun 6.4.7.
    let mirrored = polygamma(n, 1.0 - x);
    (if odd { -mirrored } else { mirrored }) - PI * cotangent_derivative(n, PI * away)
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// πⁿ times the `n`-th derivative of the cotangent, a polynomial in the cotangent `c` since c' = -(1 + c²).
fn cotangent_derivative(n: u32, angle: f64) -> f64 {
    let mut p = vec![0.0, 1.0];
    for _ in 0..n {
        let mut next = vec![0.0; p.len() + 1];
        for (k, &a) in p.iter().enumerate().skip(1) {
            let slope = -PI * a * k as f64;
            next[k - 1] += slope;
            next[k + 1] += slope;
        }
        p = next;
    }
    let c = 1.0 / angle.tan();
    p.iter().rev().fold(0.0, |sum, &a| sum * c + a)
}

/// Σ (q + k)⁻ˢ over k from 0, for s > 1 and q > 0: some terms, and the Euler-Maclaurin formula for the others.
fn hurwitz_zeta(s: f64, q: f64) -> f64 {
    /// B₂ⱼ/(2j)!.
    const BERNOULLI: [f64; 12] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
        -174611.0 / 802857662698291200000.0,
        77683.0 / 14101100039391805440000.0,
        -236364091.0 / 1693824136731743669452800000.0,
    ];
    let (mut a, mut sum) = (q, 0.0);
    while a < 10.0 + s {
        let term = a.powf(-s);
        sum += term;
        if term <= sum * 1e-17 {
            return sum;
        }
        a += 1.0;
    }
    let power = a.powf(-s);
    let mut rest = power * (a / (s - 1.0) + 0.5);
    let mut factor = s * power / a;
    for (j, b) in BERNOULLI.iter().enumerate() {
        rest += b * factor;
        let k = s + 2.0 * j as f64 + 1.0;
        factor *= k * (k + 1.0) / (a * a);
    }
    sum + rest
}

/// The inverse of the error function: Giles' approximation (2010) for single precision, and steps of Halley's method.
pub(crate) fn erfinv(x: f64) -> f64 {
    let size = x.abs();
    if size.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    let complement = 1.0 - size;
    let w = -(complement * (1.0 + size)).ln();
    let polynomial = |w: f64, c: [f64; 9]| c.iter().fold(0.0, |sum, a| sum * w + a);
    let start = if w < 5.0 {
        polynomial(
            w - 2.5,
            [
                2.81022636e-08,
                3.43273939e-07,
                -3.5233877e-06,
                -4.39150654e-06,
                2.1858087e-04,
                -1.25372503e-03,
                -4.17768164e-03,
                2.46640727e-01,
                1.50140941,
            ],
        )
    } else {
        polynomial(
            w.sqrt() - 3.0,
            [
                -2.00214257e-04,
                1.00950558e-04,
                1.34934322e-03,
                -3.67342844e-03,
                5.73950773e-03,
                -7.6224613e-03,
                9.43887047e-03,
                1.00167406,
                2.83297682,
            ],
        )
    };
    let mut y = start * size;
    for _ in 0..3 {
        // The difference where it does not cancel; 1 - |x| is exact from one half on.
        let off = if size < 0.5 { Float::erf(y) - size } else { complement - Float::erfc(y) };
        let step = off / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// The modified Bessel function of the first kind, or that times exp(-|x|): by its power series (9.6.10 in Abramowitz and
/// Stegun), whose terms all have one sign, and far out by the asymptotic one (9.7.1).
pub(crate) fn bessel_i(order: u32, x: f64, scaled: bool) -> f64 {
    let (size, n) = (x.abs(), f64::from(order));
    let value = if size.is_nan() {
        size
    } else if size.is_infinite() {
        if scaled { 0.0 } else { size }
    } else if size < 25.0 + n * n {
        let t = size * size / 4.0;
        // Scaled from the start: the sum alone could overflow. In two halves, as the exponential could underflow.
        let half = if scaled { (-size / 2.0).exp() } else { 1.0 };
        let (mut term, mut sum, mut k) = ((1..=order).fold(half, |a, k| a * (size / 2.0) / f64::from(k)), 0.0, 1.0);
        while term > sum * 1e-17 {
            sum += term;
            term *= t / (k * (k + n));
            k += 1.0;
        }
        sum * half
    } else {
        let (mut term, mut sum, mut k) = (1.0f64, 0.0f64, 1.0);
        while term.abs() > sum.abs() * 1e-17 {
            sum += term;
            let odd = 2.0 * k - 1.0;
            term *= (odd * odd - 4.0 * n * n) / (8.0 * k * size);
            k += 1.0;
        }
        let series = sum / (2.0 * PI * size).sqrt();
        // In two halves, because the exponential overflows before the product does.
        let half = if scaled { 1.0 } else { (size / 2.0).exp() };
        series * half * half
    };
    if order % 2 == 1 { value.copysign(x) } else { value }
}

/// The number that one of the standard normal distribution is below with probability `p`: a rational approximation
/// (Abramowitz and Stegun 26.2.23) and steps of Halley's method.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p.is_nan() || p < 0.0 {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let mut y = (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for _ in 0..3 {
        let below = 0.5 * Float::erfc(-y * std::f64::consts::FRAC_1_SQRT_2);
        // In units of the density, both of them logarithms where these are small.
        let off = (below - p) / (0.5 * FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 * (-0.5 * y * y).exp());
        y -= off / (1.0 + 0.5 * y * off);
    }
    y
}

/// The density of the normal distribution over its distribution function, and the sum of that and `x`, which is small far below 0:
/// there by the continued fraction of Laplace, from the inside out.
pub(crate) fn normal_hazard(x: f64) -> (f64, f64) {
    if x < -4.0 {
        let above = (1..=24).rev().fold(0.0, |rest, k| f64::from(k) / (rest - x));
        return (above - x, above);
    }
    let below = 0.5 * Float::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let hazard = (-0.5 * x * x).exp() / ((2.0 * PI).sqrt() * below);
    (hazard, x + hazard)
}

/// The logarithm of the distribution function of the normal distribution.
pub(crate) fn log_ndtr(x: f64) -> f64 {
    if x < -4.0 {
        return -0.5 * x * x - 0.5 * (2.0 * PI).ln() - normal_hazard(x).0.ln();
    }
    let scaled = x * std::f64::consts::FRAC_1_SQRT_2;
    if x > 0.0 { (-0.5 * Float::erfc(scaled)).ln_1p() } else { (0.5 * Float::erfc(-scaled)).ln() }
}
