//! Numbers of distributions that need an unknown amount of randomness: each element has a seed of 64 random bits, and
//! makes a stream of its own from it, so that it depends on the seed and its parameters alone.

use super::copy::contiguous;
use super::math::{Float, special};
use super::random::block;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::shape::Shape;

/// The random numbers that follow from one seed.
pub(crate) struct Stream {
    seed: u64,
    block: u64,
    spare: Option<u64>,
}

impl Stream {
    pub(crate) fn new(seed: i64) -> Stream {
        Stream { seed: seed as u64, block: 0, spare: None }
    }

    fn bits(&mut self) -> u64 {
        self.spare.take().unwrap_or_else(|| {
            let [now, later] = block(self.seed, self.block);
            self.block += 1;
            self.spare = Some(later);
            now
        })
    }

    /// A number strictly between 0 and 1.
    fn open(&mut self) -> f64 {
        open_unit(self.bits())
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.open(), self.open());
        (-2.0 * Float::log(u)).sqrt() * Float::cos(v * std::f64::consts::TAU)
    }
}

/// The 52 upper bits as a number strictly between 0 and 1.
pub(crate) fn open_unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// One number from a stream and the parameters of its element.
pub(crate) type Sampler = fn(&mut Stream, [f64; 2]) -> f64;

/// Numbers, as `f64`, of which each has a seed (`i64`) and up to 2 parameters (`f64`), all of shape `shape`.
pub(crate) fn sample(seeds: &Array, params: &[&Array], sampler: Sampler) -> Array {
    let seeds = contiguous(seeds);
    let params: Vec<Array> = params.iter().map(|p| contiguous(p)).collect();
    let from = In::<i64>::of(&seeds);
    let params: Vec<In<f64>> = params.iter().map(In::<f64>::of).collect();
    let write = |out: Out<f64>| {
        split(seeds.numel(), 1, seeds.numel() * 60, |range| {
            for k in range {
                // SAFETY: all have the shape of the seeds, and each place is written once.
                unsafe {
                    let mut given = [0.0; 2];
                    for (g, p) in given.iter_mut().zip(&params) {
                        *g = *p.at(k as isize);
                    }
                    *out.at(k) = sampler(&mut Stream::new(*from.at(k as isize)), given);
                }
            }
        });
    };
    // SAFETY: every place is written.
    unsafe { output(seeds.to_shape(), write) }
}

/// The logarithm of a number of the gamma distribution: Marsaglia and Tsang, "A simple method for generating gamma
/// variables", 2000. Below 1 from that of `concentration + 1` by a power of a uniform number, whose logarithm exists
/// where the number itself is too small.
pub(crate) fn log_gamma(stream: &mut Stream, [concentration, _]: [f64; 2]) -> f64 {
    let small = concentration < 1.0;
    let d = concentration + if small { 1.0 } else { 0.0 } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let log_v = 3.0 * Float::log(root);
        let v = root * root * root;
        if Float::log(stream.open()) < 0.5 * x * x + d - d * v + d * log_v {
            let log = Float::log(d) + log_v;
            return if small { log + Float::log(stream.open()) / concentration } else { log };
        }
    }
}

/// `(1 + t) ln(1 + t) - t`, without cancellation near 0.
fn deviance(t: f64) -> f64 {
    if t.abs() > 0.1 {
        return (1.0 + t) * Float::log1p(t) - t;
    }
    // Σ (-t)ᵏ / (k (k - 1)) from 2 on.
    let (mut power, mut sum) = (t * t, 0.0);
    for k in 2..20 {
        sum += power / f64::from(k * (k - 1));
        power *= -t;
    }
    sum
}

/// `ln k!` less Stirling's `(k + ½) ln k - k + ½ ln 2π`.
fn stirling_rest(k: f64) -> f64 {
    if k < 10.0 {
        return special::lgamma(k + 1.0) - ((k + 0.5) * Float::log(k) - k + 0.918_938_533_204_672_8);
    }
    let z = 1.0 / (k * k);
    (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / k
}

/// `ln` of the probability of `k` under Poisson's distribution with mean `rate`, in the form of Loader ("Fast and accurate
/// computation of binomial probabilities", 2000), in which nothing large cancels.
fn log_poisson(k: f64, rate: f64) -> f64 {
    if k == 0.0 {
        return -rate;
    }
    -rate * deviance((k - rate) / rate) - stirling_rest(k) - 0.5 * Float::log(std::f64::consts::TAU * k)
}

/// A number of Poisson's distribution: by multiplication for small means, by transformed rejection (PTRS) for others.
///
/// Source: Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
pub(crate) fn poisson(stream: &mut Stream, [rate, _]: [f64; 2]) -> f64 {
    if rate < 10.0 {
        let (limit, mut product, mut k) = (Float::exp(-rate), 1.0, 0.0);
        loop {
            product *= stream.open();
            if product <= limit {
                return k;
            }
            k += 1.0;
        }
    }
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (stream.open() - 0.5, stream.open());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        if Float::log(v * inverse_alpha / (a / (us * us) + b)) <= log_poisson(k, rate) {
            return k;
        }
    }
}

/// `ln` of the probability of `k` of `n` under the binomial distribution, in Loader's form.
fn log_binomial(k: f64, n: f64, p: f64) -> f64 {
    let q = 1.0 - p;
    if k == 0.0 {
        return n * Float::log1p(-p);
    }
    if k == n {
        return n * Float::log(p);
    }
    let part = |x: f64, mean: f64| mean * deviance((x - mean) / mean);
    stirling_rest(n) - stirling_rest(k) - stirling_rest(n - k) - part(k, n * p) - part(n - k, n * q)
        + 0.5 * Float::log(n / (std::f64::consts::TAU * k * (n - k)))
}

/// A number of the binomial distribution: by adding probabilities for small means, by transformed rejection (BTRS) for
/// others.
///
/// Source: Hörmann, "The generation of binomial random variates", 1993.
pub(crate) fn binomial(stream: &mut Stream, [n, p]: [f64; 2]) -> f64 {
    if p > 0.5 {
        return n - binomial(stream, [n, 1.0 - p]);
    }
    if n == 0.0 || p == 0.0 {
        return 0.0;
    }
    if n * p < 10.0 {
        // Gaps between successes are geometric (Devroye, 1986).
        let (log_q, mut k, mut at) = (Float::log1p(-p), 0.0, 0.0);
        loop {
            at += (Float::log(stream.open()) / log_q).floor() + 1.0;
            if at > n {
                return k;
            }
            k += 1.0;
        }
    }
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = n * p + 0.5;
    let v_r = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let most = log_binomial(((n + 1.0) * p).floor(), n, p);
    loop {
        let (u, v) = (stream.open() - 0.5, stream.open());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if !(0.0..=n).contains(&k) {
            continue;
        }
        if Float::log(v * alpha / (a / (us * us) + b)) <= log_binomial(k, n, p) - most {
            return k;
        }
    }
}

/// The row of weights, given as they are or by their logarithms, that has no distribution.
pub(crate) struct NoWeights {
    pub(crate) row: usize,
    pub(crate) why: String,
}

/// The weights of one row, or what is wrong with them.
fn weights_of(row: &[f64], logs: bool, least: usize, into: &mut Vec<f64>) -> Result<(), String> {
    into.clear();
    let what = if logs { "logits that are numbers or -inf" } else { "finite weights from 0 up" };
    let wrong = |v: f64| if logs { v.is_nan() || v == f64::INFINITY } else { !(v >= 0.0 && v.is_finite()) };
    if let Some(at) = row.iter().position(|&v| wrong(v)) {
        return Err(format!("expected {what}, got {} for category {at}", row[at]));
    }
    // Relative to the largest, so that neither exponentials nor sums overflow.
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let given = row.iter().filter(|&&v| v > if logs { f64::NEG_INFINITY } else { 0.0 }).count();
    if given < least {
        let names = if least == 1 { "category" } else { "categories" };
        return Err(format!("expected at least {least} {names} of positive probability, got {given}"));
    }
    // A weight that is small beside the largest stays one: it was counted as a category.
    let relative = |v: f64| if v > 0.0 { (v / most).max(f64::MIN_POSITIVE) } else { 0.0 };
    into.extend(row.iter().map(|&v| if logs { Float::exp(v - most) } else { relative(v) }));
    Ok(())
}

/// For each of `n` runs of `m` and of `k` places and the row of as many weights: calls `f`, which writes the places.
fn by_row(
    seeds: &Array,
    weights: &Array,
    logs: bool,
    (picks, least): (usize, usize),
    f: impl Fn(&[i64], &[f64], &mut [i64]) + Sync,
) -> Result<Array, NoWeights> {
    let (seeds, weights) = (contiguous(seeds), contiguous(weights));
    let (m, n) = (seeds.shape().last().copied().unwrap_or(1), weights.shape().last().copied().unwrap_or(1));
    let rows: usize = weights.shape().iter().rev().skip(1).product();
    let mut shape: Shape = seeds.to_shape();
    if let Some(last) = shape.last_mut() {
        *last = picks;
    }
    let (seed, weight) = (In::<i64>::of(&seeds), In::<f64>::of(&weights));
    let wrong = std::sync::Mutex::new(None::<NoWeights>);
    let write = |out: Out<i64>| {
        split(rows, 1, rows * (n + m) * 20, |range| {
            let mut scratch = Vec::with_capacity(n);
            for row in range {
                // SAFETY: row `row` of each array is inside of it, and that of the result is written here only.
                let (seeds, weights, out) = unsafe {
                    std::ptr::write_bytes(out.at(row * picks), 0, picks);
                    (
                        std::slice::from_raw_parts(seed.at((row * m) as isize), m),
                        std::slice::from_raw_parts(weight.at((row * n) as isize), n),
                        std::slice::from_raw_parts_mut(out.at(row * picks), picks),
                    )
                };
                match weights_of(weights, logs, least, &mut scratch) {
                    Ok(()) => f(seeds, &scratch, out),
                    Err(why) => {
                        let mut first = wrong.lock().unwrap_or_else(|e| e.into_inner());
                        if first.as_ref().is_none_or(|w| w.row > row) {
                            *first = Some(NoWeights { row, why });
                        }
                    }
                }
            }
        });
    };
    // SAFETY: every row is written.
    let places = unsafe { output(shape, write) };
    match wrong.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(wrong) => Err(wrong),
        None => Ok(places),
    }
}

/// A category for each seed (`i64[…, m]`), with probabilities proportional to the weights (`f64[…, n]`): the place of a
/// uniform number among their sums.
pub(crate) fn categorical(seeds: &Array, weights: &Array, logs: bool) -> Result<Array, NoWeights> {
    let m = seeds.shape().last().copied().unwrap_or(1);
    by_row(seeds, weights, logs, (m, usize::from(m > 0)), |seeds, weights, out| {
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|w| {
                sum += w;
                sum
            })
            .collect();
        let last = weights.iter().rposition(|&w| w > 0.0).unwrap_or(0);
        for (&seed, out) in seeds.iter().zip(out) {
            let at = open_unit(seed as u64) * sum;
            // Rounding could reach the end, which may have no weight.
            *out = sums.partition_point(|&s| s <= at).min(last) as i64;
        }
    })
}

/// `picks` different categories in the order in which they are drawn, from a seed for each (`i64[…, n]`) and the weights
/// (`f64[…, n]`): those whose exponential clocks ring first.
pub(crate) fn without_replacement(seeds: &Array, weights: &Array, picks: usize) -> Result<Array, NoWeights> {
    by_row(seeds, weights, false, (picks, picks), |seeds, weights, out| {
        let mut clocks: Vec<(f64, i64)> = seeds
            .iter()
            .zip(weights)
            .zip(0..)
            .filter(|((_, w), _)| **w > 0.0)
            .map(|((&seed, w), k)| (-Float::log(open_unit(seed as u64)) / w, k))
            .collect();
        let earlier = |a: &(f64, i64), b: &(f64, i64)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if out.len() < clocks.len() && !out.is_empty() {
            clocks.select_nth_unstable_by(out.len() - 1, earlier);
            clocks.truncate(out.len());
        }
        clocks.sort_unstable_by(earlier);
        for (out, (_, k)) in out.iter_mut().zip(clocks) {
            *out = k;
        }
    })
}
