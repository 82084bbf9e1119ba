//! That numbers have the distributions that they are said to have: the largest distance between the distribution
//! function and the share of the numbers below (Kolmogorov and Smirnov), and the χ² statistic for categories.

use pullback::random::Key;
use pullback::{DType, Result, Tensor};

use super::values;

const N: usize = 20_000;

/// The largest distance between the distribution function and that of the numbers, in units of 1/√n. Above 1.95 for one
/// set of numbers in a thousand.
fn distance(x: &Tensor, below: impl Fn(f64) -> f64) -> f64 {
    let mut x = values(x);
    x.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let off = |(k, &v): (usize, &f64)| (below(v) - k as f64 / n).abs().max((below(v) - (k + 1) as f64 / n).abs());
    x.iter().enumerate().map(off).fold(0.0, f64::max) * n.sqrt()
}

/// How many standard deviations χ² of the counts is above its mean, for probabilities of the numbers from 0 on; the rest
/// is one more class. Classes of which fewer than 5 are expected count as the rest.
fn surprise(x: &[f64], probability: impl Fn(usize) -> f64, classes: usize) -> f64 {
    let n = x.len() as f64;
    let (mut chi2, mut rest, mut seen, mut free) = (0.0, 1.0, 0.0, 0.0);
    for k in 0..classes {
        let expected = n * probability(k);
        if expected < 5.0 {
            continue;
        }
        let count = x.iter().filter(|&&v| v == k as f64).count() as f64;
        chi2 += (count - expected).powi(2) / expected;
        (rest, seen, free) = (rest - probability(k), seen + count, free + 1.0);
    }
    if rest * n > 5.0 {
        chi2 += (n - seen - rest * n).powi(2) / (rest * n);
        free += 1.0;
    } else {
        assert!(n - seen <= 25.0, "{} numbers that hardly exist", n - seen);
    }
    (chi2 - (free - 1.0)) / (2.0 * (free - 1.0f64).max(1.0)).sqrt()
}

/// The standard normal distribution function.
fn normal(x: f64) -> f64 {
    0.5 * Tensor::from(-x / 2f64.sqrt()).erfc().unwrap().item::<f64>().unwrap()
}

/// The distribution function of the gamma distribution, by adding up its density.
fn gamma_below(a: f64) -> impl Fn(f64) -> f64 {
    let log_gamma = Tensor::from(a).lgamma().unwrap().item::<f64>().unwrap();
    move |x: f64| {
        // xᵃ e⁻ˣ Σ xᵏ / Γ(a + k + 1).
        let (mut term, mut sum, mut k) = (1.0 / a, 0.0, 1.0);
        while term > 1e-17 * sum {
            sum += term;
            term *= x / (a + k);
            k += 1.0;
        }
        (a * x.ln() - x - log_gamma + sum.ln()).exp().min(1.0)
    }
}

fn check(name: &str, x: Result<Tensor>, below: impl Fn(f64) -> f64) {
    let off = distance(&x.unwrap(), below);
    assert!(off < 1.95, "{name}: {off}");
}

#[test]
fn real_numbers_have_their_distributions() {
    let key = Key::new(17);
    for dtype in [DType::F32, DType::F64] {
        let shape = &[N];
        check("exponential", key.exponential(1.0, shape, dtype), |x| -(-x).exp_m1());
        check("exponential(4)", key.exponential(4.0, shape, dtype), |x| -(-4.0 * x).exp_m1());
        check("laplace", key.laplace(shape, dtype), |x| if x < 0.0 { x.exp() / 2.0 } else { 1.0 - (-x).exp() / 2.0 });
        check("gumbel", key.gumbel(shape, dtype), |x| (-(-x).exp()).exp());
        check("cauchy", key.cauchy(shape, dtype), |x| 0.5 + x.atan() / std::f64::consts::PI);
        check("log_normal", key.log_normal(1.0, 0.5, shape, dtype), |x| normal((x.ln() - 1.0) / 0.5));
        for (lower, upper) in [(-1.0, 2.0), (0.5, 0.75), (3.0, f64::INFINITY), (f64::NEG_INFINITY, -6.0), (20.0, 30.0)]
        {
            // In the tail where the differences of probabilities are exact.
            let share = |x: f64| if lower > 0.0 { -normal(-x) } else { normal(x) };
            let all = share(upper) - share(lower);
            let x = key.truncated_normal(lower, upper, shape, dtype);
            check(&format!("truncated to {lower}..{upper}"), x, |x| (share(x) - share(lower)) / all);
        }
        for a in [0.2, 0.9, 1.0, 2.5, 40.0, 3000.0] {
            check(&format!("gamma({a})"), key.gamma(a, shape, dtype), gamma_below(a));
        }
        check("chi2(5)", key.chi2(5.0, shape, dtype), |x| gamma_below(2.5)(x / 2.0));
        // One of the two concentrations being 1 makes it a power.
        check("beta(3, 1)", key.beta(3.0, 1.0, shape, dtype), |x| x.powi(3));
        check("beta(0.1, 1)", key.beta(0.1, 1.0, shape, dtype), |x| x.powf(0.1));
        check("student_t(1)", key.student_t(1.0, shape, dtype), |x| 0.5 + x.atan() / std::f64::consts::PI);
        check("student_t(2)", key.student_t(2.0, shape, dtype), |x| 0.5 + x / (2.0 * (2.0 + x * x).sqrt()));
        let pairs = key.dirichlet(Tensor::from([1.0, 0.5, 1.5]), &[N, 3], dtype).unwrap();
        // A part of a Dirichlet vector has the beta distribution of its concentration and that of the rest.
        check("dirichlet", pairs.select(1, 0), |x| 1.0 - (1.0 - x).powi(2));
    }
}

#[test]
fn whole_numbers_have_their_distributions() {
    let key = Key::new(18);
    for rate in [0.0, 0.3f64, 5.0, 9.99, 10.0, 33.0, 500.0] {
        let x = values(&key.poisson(rate, &[N], DType::I64).unwrap());
        let mut log = -rate;
        let table: Vec<f64> = (0..1500)
            .map(|k| {
                let p = f64::exp(log);
                log += rate.ln() - f64::ln(f64::from(k + 1));
                p
            })
            .collect();
        let off = surprise(&x, |k| table[k], table.len());
        assert!(off < 4.0, "poisson({rate}): {off}");
    }
    for (n, p) in [(1, 0.3), (10, 0.0), (10, 1.0), (7, 0.5), (40, 0.1), (100, 0.3), (100, 0.97), (3000i32, 0.5f64)] {
        let x = values(&key.binomial(n, p, &[N], DType::I32).unwrap());
        let lgamma = |x: f64| Tensor::from(x).lgamma().unwrap().item::<f64>().unwrap();
        let probability = |k: usize| {
            let (n, k) = (f64::from(n), k as f64);
            if k > n {
                return 0.0;
            }
            let ways = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
            (ways + if k > 0.0 { k * p.ln() } else { 0.0 } + if k < n { (n - k) * (-p).ln_1p() } else { 0.0 }).exp()
        };
        let off = surprise(&x, probability, n as usize + 1);
        assert!(off < 4.0, "binomial({n}, {p}): {off}");
    }
    for p in [1.0, 0.7f64, 0.05] {
        let x = values(&key.geometric(p, &[N], DType::F32).unwrap());
        let off = surprise(&x, |k| p * (1.0 - p).powi(k as i32), 400);
        assert!(off < 4.0, "geometric({p}): {off}");
    }
    let huge = values(&key.poisson(1e12, &[N], DType::F64).unwrap());
    let standard: Vec<f64> = huge.iter().map(|x| (x - 1e12) / 1e6).collect();
    check("poisson(1e12)", Ok(Tensor::from(standard)), normal);
}

#[test]
fn categories_have_their_probabilities() {
    let key = Key::new(19);
    let p = [0.1, 0.0, 0.6, 0.25, 0.05];
    let weights = Tensor::from(p.map(|p| 40.0 * p));
    let drawn = key.multinomial(&weights, N, true).unwrap();
    assert!(surprise(&values(&drawn), |k| p[k], 5) < 4.0);
    let logits = weights.log().unwrap();
    let drawn = key.categorical(&logits, &[N]).unwrap();
    assert!(surprise(&values(&drawn), |k| p[k], 5) < 4.0);
    // Ordered pairs without replacement.
    let rows = weights.expand(&[N, 5]).unwrap();
    let pairs = key.multinomial(&rows, 2, false).unwrap();
    let code: Vec<f64> = values(&pairs).chunks(2).map(|c| c[0] * 5.0 + c[1]).collect();
    let pair = |k: usize| {
        let (first, second) = (k / 5, k % 5);
        if first == second { 0.0 } else { p[first] * p[second] / (1.0 - p[first]) }
    };
    assert!(surprise(&code, pair, 25) < 4.0);
    let p = Tensor::from([0.1, 0.9]);
    let coins = values(&key.bernoulli(&p, &[N, 2]).unwrap());
    for (k, p) in [0.1, 0.9].into_iter().enumerate() {
        let side: Vec<f64> = coins.iter().skip(k).step_by(2).copied().collect();
        assert!(surprise(&side, |s| [1.0 - p, p][s], 2) < 4.0);
    }
    let parts = Tensor::from([0.0, 1.0, 2.0, 3.0]);
    let chosen = values(&key.choice(&parts, 0, N, true).unwrap());
    assert!(surprise(&chosen, |_| 0.25, 4) < 4.0);
}

#[test]
fn a_wrong_distribution_is_noticed() {
    let key = Key::new(20);
    assert!(distance(&key.gamma(2.5, &[N], DType::F64).unwrap(), gamma_below(2.6)) > 1.95);
    assert!(distance(&key.normal(&[N], DType::F64).unwrap(), |x| normal(x * 1.1)) > 1.95);
    assert!(
        distance(&key.student_t(3.0, &[N], DType::F64).unwrap(), |x| 0.5 + x / (2.0 * (2.0 + x * x).sqrt())) > 1.95
    );
    let x = values(&key.binomial(4, 0.5, &[N], DType::F64).unwrap());
    let off =
        |p: f64| surprise(&x, |k| [1.0, 4.0, 6.0, 4.0, 1.0][k] * p.powi(k as i32) * (1.0 - p).powi(4 - k as i32), 5);
    assert!(off(0.5) < 4.0 && off(0.51) > 4.0);
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let key = Key::new(21);
    let draw = || {
        let weights = Tensor::from([1.0, 2.0, 3.0]).expand(&[5000, 3]).unwrap();
        [
            key.gamma(0.7, &[9000], DType::F32),
            key.poisson(12.0, &[9000], DType::F32),
            key.exponential(1.0, &[99_000], DType::F32),
            key.multinomial(&weights, 2, false),
            key.categorical(&weights, &[5000]),
        ]
        .map(|t| values(&t.unwrap()))
    };
    pullback::set_num_threads(4);
    let four = draw();
    pullback::set_num_threads(1);
    assert_eq!(draw(), four);
    pullback::set_num_threads(2);
    // An element depends on its number alone.
    let long = values(&key.gamma(0.7, &[100], DType::F64).unwrap());
    assert_eq!(values(&key.gamma(0.7, &[7, 5], DType::F64).unwrap()), long[..35]);
}
