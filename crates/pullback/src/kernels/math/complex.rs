//! Functions of complex numbers, computed in `f64` one element at a time.
//!
//! Source: the formulas of Kahan, "Branch cuts for complex elementary functions", 1987, which keep the signs of zeros on
//! cuts and lose nothing to cancellation.

use super::Float;
use crate::Complex64;

fn z(re: f64, im: f64) -> Complex64 {
    Complex64 { re, im }
}

/// `x` turned by a right angle: `i x`.
fn turned(x: Complex64) -> Complex64 {
    z(-x.im, x.re)
}

/// `-i x`.
fn turned_back(x: Complex64) -> Complex64 {
    z(x.im, -x.re)
}

fn sin_cos(x: f64) -> (f64, f64) {
    (Float::sin(x), Float::cos(x))
}

/// The quotient by Smith's method, whose steps do not overflow unless the quotient does.
#[inline(always)]
pub(crate) fn divide(a: Complex64, b: Complex64) -> Complex64 {
    if b.re.abs() >= b.im.abs() {
        if b.re == 0.0 {
            return z(a.re / b.re.abs(), a.im / b.re.abs());
        }
        let ratio = b.im / b.re;
        let scale = b.re + b.im * ratio;
        z((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        z((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    }
}

pub(crate) fn abs(x: Complex64) -> f64 {
    x.re.hypot(x.im)
}

/// From -π to π.
pub(crate) fn angle(x: Complex64) -> f64 {
    x.im.atan2(x.re)
}

/// `x / |x|`, and 0 at 0.
pub(crate) fn sgn(x: Complex64) -> Complex64 {
    let size = abs(x);
    if size == 0.0 { z(0.0, 0.0) } else { z(x.re / size, x.im / size) }
}

pub(crate) fn exp(x: Complex64) -> Complex64 {
    if x.im == 0.0 {
        return z(Float::exp(x.re), x.im);
    }
    let ((sin, cos), size) = (sin_cos(x.im), Float::exp(x.re));
    z(size * cos, size * sin)
}

pub(crate) fn exp2(x: Complex64) -> Complex64 {
    exp(x * std::f64::consts::LN_2)
}

pub(crate) fn log2(x: Complex64) -> Complex64 {
    log(x) / std::f64::consts::LN_2
}

pub(crate) fn log10(x: Complex64) -> Complex64 {
    log(x) / std::f64::consts::LN_10
}

pub(crate) fn reciprocal(x: Complex64) -> Complex64 {
    divide(z(1.0, 0.0), x)
}

pub(crate) fn expm1(x: Complex64) -> Complex64 {
    let (half, size) = (Float::sin(x.im / 2.0), Float::exp(x.re));
    z(Float::expm1(x.re) * Float::cos(x.im) - 2.0 * half * half, size * Float::sin(x.im))
}

pub(crate) fn log(x: Complex64) -> Complex64 {
    let (large, small) = (x.re.abs().max(x.im.abs()), x.re.abs().min(x.im.abs()));
    let size = if (0.5..2.0).contains(&large) {
        // |x|² - 1 without cancellation.
        0.5 * Float::log1p((large - 1.0) * (large + 1.0) + small * small)
    } else {
        Float::log(abs(x))
    };
    z(size, angle(x))
}

pub(crate) fn log1p(x: Complex64) -> Complex64 {
    if x.re.abs() > 0.5 || x.im.abs() > 0.5 {
        return log(z(1.0 + x.re, x.im));
    }
    z(0.5 * Float::log1p(x.re * (2.0 + x.re) + x.im * x.im), x.im.atan2(1.0 + x.re))
}

/// The root with a real part of at least 0; on the cut below 0 it takes the sign of the imaginary part.
pub(crate) fn sqrt(x: Complex64) -> Complex64 {
    let size = abs(x);
    if size == 0.0 {
        return z(0.0, x.im);
    }
    if x.im.is_infinite() {
        return z(f64::INFINITY, x.im);
    }
    // Halves first, as the sum could overflow; scaled where they would lose digits.
    let scale = if size < 1e-300 { (1u64 << 54) as f64 } else { 1.0 };
    let (re, im) = (x.re * scale, x.im * scale);
    let root = (0.5 * re.abs() + 0.5 * (size * scale)).sqrt() / scale.sqrt();
    let other = im / (2.0 * root * scale);
    if re >= 0.0 { z(root, other) } else { z(other.abs(), root.copysign(x.im)) }
}

pub(crate) fn rsqrt(x: Complex64) -> Complex64 {
    reciprocal(sqrt(x))
}

pub(crate) fn sin(x: Complex64) -> Complex64 {
    let (sin, cos) = sin_cos(x.re);
    z(sin * Float::cosh(x.im), cos * Float::sinh(x.im))
}

pub(crate) fn cos(x: Complex64) -> Complex64 {
    let (sin, cos) = sin_cos(x.re);
    z(cos * Float::cosh(x.im), -(sin * Float::sinh(x.im)))
}

pub(crate) fn tan(x: Complex64) -> Complex64 {
    turned_back(tanh(turned(x)))
}

pub(crate) fn sinh(x: Complex64) -> Complex64 {
    let (sin, cos) = sin_cos(x.im);
    z(Float::sinh(x.re) * cos, Float::cosh(x.re) * sin)
}

pub(crate) fn cosh(x: Complex64) -> Complex64 {
    let (sin, cos) = sin_cos(x.im);
    z(Float::cosh(x.re) * cos, Float::sinh(x.re) * sin)
}

pub(crate) fn tanh(x: Complex64) -> Complex64 {
    let (sin, cos) = sin_cos(x.im);
    if x.re.abs() > 20.0 {
        return z(1f64.copysign(x.re), 4.0 * sin * cos * Float::exp(-2.0 * x.re.abs()));
    }
    let (sinh, cosh) = (Float::sinh(x.re), Float::cosh(x.re));
    let size = sinh * sinh + cos * cos;
    z(sinh * cosh / size, sin * cos / size)
}

/// `1 - x` and `1 + x`, with the sign of zero that keeps the side of the cut.
fn around_one(x: Complex64) -> (Complex64, Complex64) {
    (sqrt(z(1.0 - x.re, -x.im)), sqrt(z(1.0 + x.re, x.im)))
}

pub(crate) fn asin(x: Complex64) -> Complex64 {
    let (below, above) = around_one(x);
    let re = x.re.atan2(below.re * above.re - below.im * above.im);
    z(re, Float::asinh(below.re * above.im - below.im * above.re))
}

pub(crate) fn acos(x: Complex64) -> Complex64 {
    let (below, above) = around_one(x);
    z(2.0 * below.re.atan2(above.re), Float::asinh(above.re * below.im - above.im * below.re))
}

pub(crate) fn atan(x: Complex64) -> Complex64 {
    turned_back(atanh(turned(x)))
}

pub(crate) fn asinh(x: Complex64) -> Complex64 {
    turned_back(asin(turned(x)))
}

pub(crate) fn acosh(x: Complex64) -> Complex64 {
    let (below, above) = (sqrt(z(x.re - 1.0, x.im)), sqrt(z(x.re + 1.0, x.im)));
    z(Float::asinh(below.re * above.re + below.im * above.im), 2.0 * below.im.atan2(above.re))
}

pub(crate) fn atanh(x: Complex64) -> Complex64 {
    if abs(x) > 1e150 {
        // The square would overflow; what remains is 1/x and a right angle.
        return z(divide(z(1.0, 0.0), x).re, std::f64::consts::FRAC_PI_2.copysign(x.im));
    }
    let away = (1.0 - x.re) * (1.0 - x.re) + x.im * x.im;
    z(0.25 * Float::log1p(4.0 * x.re / away), 0.5 * (2.0 * x.im).atan2((1.0 - x.re) * (1.0 + x.re) - x.im * x.im))
}

/// A whole power, by squaring.
pub(crate) fn powi(x: Complex64, n: i32) -> Complex64 {
    let (mut square, mut left, mut out) = (x, n.unsigned_abs(), z(1.0, 0.0));
    while left > 0 {
        if left & 1 == 1 {
            out *= square;
        }
        square *= square;
        left >>= 1;
    }
    if n < 0 { divide(z(1.0, 0.0), out) } else { out }
}

/// The principal value; any base to the power 0 is 1, and 0 to a power with a positive real part is 0.
pub(crate) fn pow(x: Complex64, e: Complex64) -> Complex64 {
    if e == z(0.0, 0.0) {
        return z(1.0, 0.0);
    }
    if x == z(0.0, 0.0) && e.re > 0.0 {
        return z(0.0, 0.0);
    }
    exp(log(x) * e)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Function = fn(Complex64) -> Complex64;

    #[test]
    fn inverses_undo_functions_and_keep_the_sides_of_cuts() {
        let pairs: [(Function, Function); 9] = [
            (exp, log),
            (sin, asin),
            (cos, acos),
            (tan, atan),
            (sinh, asinh),
            (cosh, acosh),
            (tanh, atanh),
            (|x| x * x, sqrt),
            (expm1, log1p),
        ];
        for (k, (f, inverse)) in pairs.into_iter().enumerate() {
            for a in 0..12 {
                for b in 0..12 {
                    let x = z(f64::from(a) * 0.7 - 4.0, f64::from(b) * 0.45 - 2.6);
                    let back = f(inverse(x));
                    assert!((back - x).norm() < 1e-13 * (1.0 + x.norm()), "{k}: {x} {back}");
                }
            }
            // Continuous with the side that the sign of zero says, and odd or even as the function is.
            for x in [-3.0, -0.5, 0.5, 3.0] {
                for side in [1.0, -1.0] {
                    let (on, near) = (inverse(z(x, 0.0 * side)), inverse(z(x, 1e-13 * side)));
                    assert!((on - near).norm() < 1e-11, "{k}: {x} {side}: {on} {near}");
                    let (on, near) = (inverse(z(0.0 * side, x)), inverse(z(1e-13 * side, x)));
                    assert!((on - near).norm() < 1e-11, "{k}: {x}i {side}: {on} {near}");
                }
            }
        }
    }

    #[test]
    fn nothing_overflows_that_need_not() {
        let huge = z(1e300, -1e300);
        assert!((divide(huge, huge) - z(1.0, 0.0)).norm() < 1e-15);
        let root = sqrt(z(-1.7e308, 1.7e308));
        assert!((root * root / 1.7e308 - z(-1.0, 1.0)).norm() < 1e-14);
        let tiny = sqrt(z(-3e-320, 4e-320));
        assert!((tiny.re - 1e-160).abs() < 1e-163 && (tiny.im - 2e-160).abs() < 1e-163, "{tiny}");
        assert_eq!(tanh(z(800.0, 1.0)), z(1.0, 0.0));
        assert!((tan(z(1.0, 800.0)) - z(0.0, 1.0)).norm() < 1e-15);
        assert!((atanh(z(1e200, 1e200)).im - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
        assert_eq!(exp(z(f64::INFINITY, 0.0)), z(f64::INFINITY, 0.0));
        // Near 1 the logarithm is as exact as the number.
        let near = log(z(1.0 + 1e-10, 1e-6));
        assert!((near.re - (1e-10 + 0.5e-12)).abs() < 1e-21, "{near}");
        assert_eq!(pow(z(0.0, 0.0), z(2.0, 1.0)), z(0.0, 0.0));
        assert!((pow(z(-1.0, 0.0), z(0.5, 0.0)) - z(0.0, 1.0)).norm() < 1e-15);
    }
}
