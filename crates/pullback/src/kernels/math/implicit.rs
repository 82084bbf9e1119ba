//! How a number of the gamma distribution moves with the concentration while its place among all of them stays.
//!
//! Everything is in terms of the logarithm `l` of the number, whose density is `g = exp(a l - e^l) / Γ(a)` and whose
//! distribution function is `F`. Source: Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018.

use super::special::{digamma, polygamma};

/// A number and its first two derivatives.
#[derive(Clone, Copy)]
struct Jet([f64; 3]);

impl Jet {
    fn constant(x: f64) -> Jet {
        Jet([x, 0.0, 0.0])
    }
    fn add(self, b: Jet) -> Jet {
        Jet(std::array::from_fn(|k| self.0[k] + b.0[k]))
    }
    fn times(self, b: Jet) -> Jet {
        let ([x, dx, ddx], [y, dy, ddy]) = (self.0, b.0);
        Jet([x * y, dx * y + x * dy, ddx * y + 2.0 * dx * dy + x * ddy])
    }
    fn inverse(self) -> Jet {
        let [x, dx, ddx] = self.0;
        let y = 1.0 / x;
        Jet([y, -dx * y * y, (2.0 * dx * dx * y - ddx) * y * y])
    }
}

/// The concentration above which the expansion about the normal distribution is exact enough: its terms beyond those used
/// are below 1e-12 in relation to the result.
const LARGE: f64 = 1e5;

/// `F_a / g` and `F_aa / g` at constant `l`.
fn partials(l: f64, a: f64) -> (f64, f64) {
    let z = l.exp();
    if z <= a + 1.0 {
        // F/g = Σ zᵏ / (a (a + 1) … (a + k)). The derivatives of the first factor cancel a part of those of ln Γ(a).
        let (rest, trigamma) = (l - digamma(a + 1.0), polygamma(1, a + 1.0));
        let (mut term, mut s, mut s2, mut k) = (1.0 / a, 0.0, 0.0, 1.0);
        let (mut first, mut second) = (0.0f64, 0.0f64);
        loop {
            // ln (term · g) moves by `slope` with `a`, and that by `s2 - trigamma`.
            let slope = rest - s;
            let (df, ds) = (term * slope, term * (slope * slope + s2 - trigamma));
            (first, second) = (first + df, second + ds);
            let next = z / (a + k);
            if next < 1.0 && term * (1.0 + slope * slope) <= 1e-18 * first.abs().max(second.abs()) || k > 1e6 {
                return (first, second);
            }
            term *= next;
            s += 1.0 / (a + k);
            s2 += 1.0 / ((a + k) * (a + k));
            k += 1.0;
        }
    }
    // (1 - F)/g by its continued fraction, from its far end.
    let steps = (40.0 + 60.0 * (a / (z - a).max(1.0)).sqrt() + 6.0 * a.sqrt()).min(5e3) as usize;
    let mut tail = Jet::constant(0.0);
    for k in (1..=steps).rev() {
        let k = k as f64;
        // The factor k (a - k), over what follows it.
        let denominator = Jet([z + 2.0 * k + 1.0 - a, -1.0, 0.0]).add(tail);
        tail = Jet([k * (a - k), k, 0.0]).times(denominator.inverse());
    }
    let [u, du, ddu] = Jet([z + 1.0 - a, -1.0, 0.0]).add(tail).inverse().0;
    let (slope, trigamma) = (l - digamma(a), polygamma(1, a));
    (-(slope * u + du), -((slope * slope - trigamma) * u + 2.0 * slope * du + ddu))
}

/// The first and second derivative by `a` of `z` that keeps its place, for large `a`, from the expansion of Cornish and
/// Fisher (Abramowitz and Stegun 26.2.49).
fn expanded(z: f64, a: f64) -> (f64, f64) {
    let root = a.sqrt();
    let value = |x: f64| {
        let x2 = x * x;
        a + root * x + (x2 - 1.0) / 3.0 + x * (x2 - 7.0) / (36.0 * root) - ((3.0 * x2 + 7.0) * x2 - 16.0) / (810.0 * a)
    };
    // Beyond 1e28 rounding alone would take `z` further away than any number is drawn.
    let most = 40.0;
    let mut x = ((z - a) / root).clamp(-most, most);
    for _ in 0..8 {
        x = (x - (value(x) - z) / (root + 2.0 * x / 3.0)).clamp(-most, most);
    }
    let x2 = x * x;
    let (third, fourth) = (x * (x2 - 7.0) / 36.0, ((3.0 * x2 + 7.0) * x2 - 16.0) / 810.0);
    (
        1.0 + x / (2.0 * root) - third / (2.0 * a * root) + fourth / (a * a),
        -x / (4.0 * a * root) + 0.75 * third / (a * a * root) - 2.0 * fourth / (a * a * a),
    )
}

/// The derivative of `l` by `a` at a constant place.
pub(crate) fn log_gamma_slope(l: f64, a: f64) -> f64 {
    if a > LARGE {
        let z = l.exp();
        return expanded(z, a).0 / z;
    }
    -partials(l, a).0
}

/// The derivative of [`log_gamma_slope`] by `a` at constant `l`.
pub(crate) fn log_gamma_slope_by_concentration(l: f64, a: f64) -> f64 {
    let z = l.exp();
    let rest = l - digamma(a);
    if a > LARGE {
        let (first, second) = expanded(z, a);
        let slope = first / z;
        // What `l` does to the slope as it moves is not a part of this.
        let total = second / z - slope * slope;
        return total - slope * (-rest - slope * (a - z));
    }
    let (first, second) = partials(l, a);
    -second + first * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    #[allow(clippy::excessive_precision, clippy::approx_constant)]
    fn slopes_and_curvatures_are_those_of_an_arbitrary_precision_quantile() {
        // (l, a, slope, its derivative by a), computed with mpmath to 60 digits.
        for (l, a, slope, curvature) in [
            (-276.3102111592855, 0.01, 27574.932570141679, -2757331.1356613365),
            (-46.051701859880914, 0.01, 4549.0816402012239, -454746.04266729106),
            (-0.6931471805599453, 0.01, 93.358558810301363, -9229.7906143647867),
            (1.0986122886681098, 0.01, 26.760246393644884, -2621.1333027993897),
            (-27.631021115928547, 0.1, 272.07266175543029, -2706.393626046602),
            (-4.605170185988092, 0.1, 42.279343812970286, -408.82916861006805),
            (-0.1053605156578263, 0.1, 7.2550837007862587, -64.472793996592661),
            (1.3862943611198906, 0.1, 2.519187065296819, -20.84860550718379),
            (-11.512925464970229, 0.5, 23.098993759665211, -44.328485168234242),
            (-1.203972804325936, 0.5, 3.366006486496182, -5.291746280849984),
            (0.6931471805599453, 0.5, 1.2559446881810341, -1.643242809101457),
            (2.1972245773362196, 0.5, 0.45025715408317577, -0.47749370468174174),
            (-2.302585092994046, 1.0, 2.8927311661593887, -2.3133211542510024),
            (0.0, 1.0, 1.1735630272247269, -0.76878225752775028),
            (0.6931471805599453, 1.0, 0.81584573117485039, -0.48755413658462128),
            (0.9162907318741551, 1.0, 0.71881289330466879, -0.41573205444689478),
            (2.995732273553991, 1.0, 0.18103332419757425, -0.073503770271732874),
            (-1.6094379124341003, 2.5, 1.1569720876444577, -0.34608456987596655),
            (0.8109302162163288, 2.5, 0.45030562888363368, -0.10372393616120832),
            (1.252762968495368, 2.5, 0.35965396138389208, -0.077402553307868574),
            (1.3862943611198906, 2.5, 0.33490204884146108, -0.070529375783732188),
            (2.4849066497880004, 2.5, 0.17587346001516668, -0.030476422687023995),
            (1.0986122886681098, 10.0, 0.17473732020047933, -0.010746182645721782),
            (2.1972245773362196, 10.0, 0.10713141380942172, -0.0056313348690008265),
            (2.3978952727983707, 10.0, 0.09691391966877505, -0.0049303677928825061),
            (2.4423470353692043, 10.0, 0.094742233619039231, -0.004784354811083446),
            (3.4011973816621555, 10.0, 0.055823137208646274, -0.0023745597138786833),
            (4.248495242049359, 100.0, 0.011908912308167039, -6.3279170179160741e-5),
            (4.605170185988092, 100.0, 0.010016683237741723, -5.025049700613074e-5),
            (4.624972813284271, 100.0, 0.0099178321926586613, -4.9590710529228546e-5),
            (4.941642422609304, 100.0, 0.0084257890031913031, -3.9907783824771325e-5),
            (7.937374696163295, 3000.0, 0.00034498351969729628, -5.8164768047464294e-8),
            (8.006700845440367, 3000.0, 0.0003332963061702535, -5.5552470987081273e-8),
            (8.070906088787819, 3000.0, 0.00032271053118261085, -5.3212543439636596e-8),
            (11.396391648714276, 90000.0, 1.1173321289359391e-5, -6.2189832253716671e-11),
            (11.40867544359643, 90000.0, 1.1104963405002615e-5, -6.1683051102589914e-11),
            (11.418614785498987, 90000.0, 1.1049856649184162e-5, -6.1275265192990292e-11),
            (12.201060103706629, 200000.0, 5.0125460006610542e-6, -1.2541854888376946e-11),
            (12.20856952572876, 200000.0, 4.9937645586426146e-6, -1.2479236854438301e-11),
        ] {
            let near = |got: f64, want: f64, part: f64| assert!((got - want).abs() < part * want.abs(), "{l} {a}: {got} {want}");
            near(log_gamma_slope(l, a), slope, 2e-11);
            near(log_gamma_slope_by_concentration(l, a), curvature, 2e-7);
        }
    }
}
