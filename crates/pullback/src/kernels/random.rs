//! Random numbers from a counter: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//!
//! An element depends on the key, the stream and its own number, and on nothing else: not on the threads, nor on how
//! many elements there are, so that any part of a draw can be made by itself. The streams of a key are independent of
//! each other.

use smallvec::SmallVec;

use super::cast::cast;
use super::map::map;
use super::math::Float;
use super::simd::vectorize;
use super::strided::{Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::Shape;
use crate::{DType, Result};

/// Counters that are worked on side by side.
const LANES: usize = 16;

/// The four words of `LANES` blocks, word by word.
type Words = [[u32; LANES]; 4];

/// The high and low halves of products. By value, like all steps: what has no address stays in registers.
#[inline(always)]
fn multiply<const N: usize>(x: [u32; N], factor: u32) -> ([u32; N], [u32; N]) {
    let (mut high, mut low) = ([0; N], [0; N]);
    for l in 0..N {
        high[l] = ((u64::from(x[l]) * u64::from(factor)) >> 32) as u32;
        low[l] = x[l].wrapping_mul(factor);
    }
    (high, low)
}

#[inline(always)]
fn mix<const N: usize>(mut x: [u32; N], y: [u32; N], key: u32) -> [u32; N] {
    for l in 0..N {
        x[l] ^= y[l] ^ key;
    }
    x
}

/// Philox4x32-10 of `N` counters under one key.
#[inline(always)]
fn philox<const N: usize>(key: [u32; 2], [mut c0, mut c1, mut c2, mut c3]: [[u32; N]; 4]) -> [[u32; N]; 4] {
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let (high0, low0) = multiply(c0, 0xd251_1f53);
        let (high1, low1) = multiply(c2, 0xcd9e_8d57);
        (c0, c1, c2, c3) = (mix(high1, c1, k0), low1, mix(high0, c3, k1), low0);
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    [c0, c1, c2, c3]
}

/// The two halves of a number, low half first.
#[inline(always)]
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// Blocks `LANES * group` and following of a stream.
#[inline(always)]
fn group(key: u64, stream: u64, group: usize) -> Words {
    let first = (group * LANES) as u64;
    let [s0, s1] = halves(stream);
    // A group never crosses a multiple of 2^32, because it starts at a multiple of its length.
    let [low, high] = halves(first);
    let mut counters = [[0; LANES], [high; LANES], [s0; LANES], [s1; LANES]];
    for (l, c) in counters[0].iter_mut().enumerate() {
        *c = low + l as u32;
    }
    philox(halves(key), counters)
}

/// Two numbers that depend on `key` and `number` only, such as the keys that a key splits into.
pub(crate) fn derive(key: u64, number: u64) -> [u64; 2] {
    let [low, high] = halves(number);
    // A stream that no draw uses but by an accident of 64 bits.
    let words = philox(halves(key), [low, high, u32::MAX, u32::MAX].map(|w| [w]));
    let pair = |w: usize| u64::from(words[w + 1][0]) << 32 | u64::from(words[w][0]);
    [pair(0), pair(2)]
}

/// Block `number` of the stream that has a seed for its key.
pub(super) fn block(seed: u64, number: u64) -> [u64; 2] {
    let [low, high] = halves(number);
    let words = philox(halves(seed), [low, high, 0, 0].map(|w| [w]));
    let pair = |w: usize| u64::from(words[w + 1][0]) << 32 | u64::from(words[w][0]);
    [pair(0), pair(2)]
}

/// The numbers of the elements of a draw: runs of equal length, by their first number.
pub(crate) struct Runs {
    starts: SmallVec<[usize; 1]>,
    len: usize,
}

impl Runs {
    /// All of `n` elements.
    #[cfg(test)]
    fn all(n: usize) -> Runs {
        Runs { starts: SmallVec::from_elem(0, 1), len: n }
    }

    /// The elements whose index in each outer dim, as (first, how many, of how many), outermost first, lies in a
    /// range, of arrays whose other dims have `n` elements.
    pub(crate) fn of(ranges: &[(usize, usize, usize)], n: usize) -> Runs {
        let mut runs = Runs { starts: SmallVec::from_elem(0, 1), len: n };
        // The elements per index, and whether the runs cover them all.
        let (mut stride, mut all) = (n, true);
        for &(first, size, of) in ranges.iter().rev() {
            if all {
                runs = Runs { starts: SmallVec::from_elem(first * stride, 1), len: size * stride };
                all = first == 0 && size == of;
            } else {
                runs.starts =
                    (first..first + size).flat_map(|i| runs.starts.iter().map(move |s| i * stride + s)).collect();
            }
            stride *= of;
        }
        runs
    }
}

/// An array of elements that `make` draws, `N` of them from the words of one group each.
fn fill<T: Element, const N: usize>(
    shape: &[usize],
    runs: &Runs,
    key: u64,
    stream: u64,
    nanos: usize,
    make: impl Fn(&Words) -> [T; N] + Sync,
) -> Array {
    debug_assert_eq!(shape.iter().product::<usize>(), runs.starts.len() * runs.len);
    let run = |start: usize, out: Out<T>| {
        let end = start + runs.len;
        let first = start / N;
        split(end.div_ceil(N) - first, 16, runs.len * nanos, |range| {
            vectorize(
                #[inline(always)]
                || {
                    for g in range.clone() {
                        let at = (first + g) * N;
                        let values = make(&group(key, stream, first + g));
                        let (from, to) = (at.max(start), (at + N).min(end));
                        let out = out.at(from - start);
                        // SAFETY: the groups cover the run, the first and the last one as far as it goes.
                        unsafe {
                            if to - from == N {
                                out.cast::<[T; N]>().write(values);
                            } else {
                                std::ptr::copy_nonoverlapping(values.as_ptr().add(from - at), out, to - from);
                            }
                        }
                    }
                },
            );
        });
    };
    // SAFETY: the runs cover the result.
    unsafe {
        output(Shape::from_slice(shape), |out: Out<T>| {
            if runs.len > 0 {
                runs.starts.iter().enumerate().for_each(|(k, &start)| run(start, out.plus(k * runs.len)));
            }
        })
    }
}

/// What a floating dtype needs of random words.
trait Draw: Float {
    /// Words for one number.
    const WORDS: usize;
    /// A number in [0, 1) on the grid of the last place below 1, from lane `l` of word `w` on.
    fn unit(words: &Words, w: usize, l: usize) -> Self;
    /// A number in (0, 1] that comes as near to 0 as the words allow.
    fn positive(words: &Words, w: usize, l: usize) -> Self;
}

impl Draw for f32 {
    const WORDS: usize = 1;
    #[inline(always)]
    fn unit(words: &Words, w: usize, l: usize) -> f32 {
        (words[w][l] >> 8) as i32 as f32 * (1.0 / (1 << 24) as f32)
    }
    #[inline(always)]
    fn positive(words: &Words, w: usize, l: usize) -> f32 {
        (words[w][l] as f32 + 0.5) * (1.0 / (1u64 << 32) as f32)
    }
}

impl Draw for f64 {
    const WORDS: usize = 2;
    // By way of `i32`, for which every machine has a vector conversion.
    #[inline(always)]
    fn unit(words: &Words, w: usize, l: usize) -> f64 {
        let (high, low) = ((words[w][l] >> 5) as i32 as f64, (words[w + 1][l] >> 6) as i32 as f64);
        (high * (1 << 26) as f64 + low) * (1.0 / (1u64 << 53) as f64)
    }
    #[inline(always)]
    fn positive(words: &Words, w: usize, l: usize) -> f64 {
        f64::unit(words, w, l) + 0.5 / (1u64 << 53) as f64
    }
}

/// Numbers uniform in [0, 1): multiples of 2⁻¹¹ for `f16`, of 2⁻⁸ for `bf16`, of 2⁻²⁴ for `f32`, of 2⁻⁵³ for `f64`.
pub(crate) fn uniform(shape: &[usize], runs: &Runs, dtype: DType, key: u64, stream: u64) -> Result<Array> {
    match dtype {
        DType::F64 => Ok(uniform_of::<f64, { 2 * LANES }>(shape, runs, key, stream)),
        DType::F16 | DType::BF16 => {
            // Rounding could give 1.
            let steps = if dtype == DType::F16 { 2048.0 } else { 256.0 };
            let x = uniform_of::<f32, { 4 * LANES }>(shape, runs, key, stream);
            Ok(cast(
                &map(
                    &x,
                    #[inline(always)]
                    move |v: f32| (v * steps).floor() / steps,
                ),
                dtype,
            ))
        }
        _ => dispatch!(dtype, "uniform", [F32], T => Ok(uniform_of::<T, { 4 * LANES }>(shape, runs, key, stream))),
    }
}

fn uniform_of<T: Draw, const N: usize>(shape: &[usize], runs: &Runs, key: u64, stream: u64) -> Array {
    one_of_each::<T, N>(
        shape,
        runs,
        key,
        stream,
        1,
        #[inline(always)]
        |words, w, l| T::unit(words, w, l),
    )
}

/// Numbers that are each `f(words, w, l)` of one number of random bits, which is in word `w` of lane `l`.
#[inline(always)]
fn one_of_each<T: Draw, const N: usize>(
    shape: &[usize],
    runs: &Runs,
    key: u64,
    stream: u64,
    nanos: usize,
    f: impl Fn(&Words, usize, usize) -> T + Sync,
) -> Array {
    fill(
        shape,
        runs,
        key,
        stream,
        nanos,
        #[inline(always)]
        |words: &Words| {
            let mut out = [T::ZERO; N];
            for w in 0..N / LANES {
                for l in 0..LANES {
                    out[w * LANES + l] = f(words, w * T::WORDS, l);
                }
            }
            out
        },
    )
}

/// Numbers of the standard normal distribution, by the Box–Muller transform, which makes two of two.
pub(crate) fn normal(shape: &[usize], runs: &Runs, dtype: DType, key: u64, stream: u64) -> Result<Array> {
    match dtype {
        DType::F64 => Ok(normal_of::<f64, { 2 * LANES }>(shape, runs, key, stream)),
        DType::F16 | DType::BF16 => Ok(cast(&normal_of::<f32, { 4 * LANES }>(shape, runs, key, stream), dtype)),
        _ => dispatch!(dtype, "normal", [F32], T => Ok(normal_of::<T, { 4 * LANES }>(shape, runs, key, stream))),
    }
}

fn normal_of<T: Draw, const N: usize>(shape: &[usize], runs: &Runs, key: u64, stream: u64) -> Array {
    fill(
        shape,
        runs,
        key,
        stream,
        2,
        #[inline(always)]
        |words: &Words| {
            let mut out = [T::ZERO; N];
            for pair in 0..N / LANES / 2 {
                let w = 2 * pair * T::WORDS;
                let mut radius = [T::ZERO; LANES];
                for (l, r) in radius.iter_mut().enumerate() {
                    *r = (T::positive(words, w, l).log() * T::from_f64(-2.0)).sqrt();
                }
                for l in 0..LANES {
                    let (sin, cos) = turn(T::unit(words, w + T::WORDS, l));
                    out[2 * pair * LANES + l] = radius[l] * cos;
                    out[(2 * pair + 1) * LANES + l] = radius[l] * sin;
                }
            }
            out
        },
    )
}

/// Numbers of the exponential distribution with mean 1, all of them positive.
pub(crate) fn exponential(shape: &[usize], runs: &Runs, dtype: DType, key: u64, stream: u64) -> Result<Array> {
    match dtype {
        DType::F64 => Ok(exponential_of::<f64, { 2 * LANES }>(shape, runs, key, stream)),
        _ => {
            dispatch!(dtype, "exponential", [F32], T => Ok(exponential_of::<T, { 4 * LANES }>(shape, runs, key, stream)))
        }
    }
}

fn exponential_of<T: Draw, const N: usize>(shape: &[usize], runs: &Runs, key: u64, stream: u64) -> Array {
    one_of_each::<T, N>(
        shape,
        runs,
        key,
        stream,
        2,
        #[inline(always)]
        |words, w, l| {
            // Half a step of the uniform numbers, where these round to 1.
            (-T::positive(words, w, l).log()).maximum(T::from_f64(1.0 / (1u64 << 54) as f64))
        },
    )
}

/// 64 random bits for each element.
pub(crate) fn bits(shape: &[usize], runs: &Runs, key: u64, stream: u64) -> Array {
    fill(
        shape,
        runs,
        key,
        stream,
        2,
        #[inline(always)]
        |words: &Words| {
            let mut out = [0i64; 2 * LANES];
            for (i, o) in out.iter_mut().enumerate() {
                let (w, l) = (i / LANES * 2, i % LANES);
                *o = (u64::from(words[w + 1][l]) << 32 | u64::from(words[w][l])) as i64;
            }
            out
        },
    )
}

/// The factors from each term of the series of sine and of cosine to the next, as far as `f64` needs them for an
/// eighth of a turn.
const SERIES: [(f64, f64); 9] = {
    let mut out = [(0.0, 0.0); 9];
    let mut k = 0;
    while k < out.len() {
        let n = 2.0 * (k + 1) as f64;
        out[k] = (1.0 / (n * (n + 1.0)), 1.0 / (n * (n - 1.0)));
        k += 1;
    }
    out
};

/// Sine and cosine of `t` turns, for `t` in [0, 1): by their series within an eighth of a turn of a quarter.
#[inline(always)]
fn turn<T: Float>(t: T) -> (T, T) {
    let number = T::from_f64;
    let quarter = (t * number(4.0) + number(0.5)).floor();
    let x = (t - quarter * number(0.25)) * (T::PI + T::PI);
    let x2 = x * x;
    let (mut sin, mut cos) = (T::ONE, T::ONE);
    let mut k = if T::DTYPE == DType::F32 { 5 } else { SERIES.len() };
    while k > 0 {
        k -= 1;
        sin = T::ONE - sin * x2 * number(SERIES[k].0);
        cos = T::ONE - cos * x2 * number(SERIES[k].1);
    }
    sin = sin * x;
    let (first, second, third) = (quarter == number(1.0), quarter == number(2.0), quarter == number(3.0));
    let (s, c) = if first | third { (cos, sin) } else { (sin, cos) };
    (if second | third { -s } else { s }, if first | second { -c } else { c })
}

/// Integers uniform in `low..high`, which must not be empty, as elements of `dtype`.
///
/// 64 random bits are scaled to the range, so that no value is off by more than one part in `2^64 / (high - low)`.
pub(crate) fn integers(
    shape: &[usize],
    runs: &Runs,
    low: i64,
    high: i64,
    dtype: DType,
    key: u64,
    stream: u64,
) -> Result<Array> {
    debug_assert!(low < high);
    let range = high.wrapping_sub(low) as u64;
    dispatch!(dtype, "integers", integer, T => Ok(fill(
        shape,
        runs,
        key,
        stream,
        2,
        #[inline(always)]
        |words: &Words| {
            let mut out = [T::ZERO; 2 * LANES];
            for (i, o) in out.iter_mut().enumerate() {
                let (w, l) = (i / LANES * 2, i % LANES);
                let bits = u64::from(words[w + 1][l]) << 32 | u64::from(words[w][l]);
                let scaled = (u128::from(bits) * u128::from(range)) >> 64;
                *o = T::from_i64(low.wrapping_add(scaled as i64));
            }
            out
        },
    )))
}

/// Bools that are true with probability `p`, to the nearest multiple of 2⁻³².
pub(crate) fn bernoulli(shape: &[usize], runs: &Runs, p: f64, key: u64, stream: u64) -> Array {
    let below = (p * (1u64 << 32) as f64).round() as u64;
    fill(
        shape,
        runs,
        key,
        stream,
        1,
        #[inline(always)]
        |words: &Words| {
            let mut out = [false; 4 * LANES];
            for (i, o) in out.iter_mut().enumerate() {
                *o = u64::from(words[i / LANES][i % LANES]) < below;
            }
            out
        },
    )
}

/// A random order of `0..n` along the last dimension, of size `n`, for every index of the others.
pub(crate) fn permutations(shape: &[usize], runs: &Runs, key: u64, stream: u64) -> Array {
    let n = shape.last().copied().unwrap_or(0);
    let bits = bits(shape, runs, key, stream);
    let bits = bits.as_slice::<i64>().unwrap_or_default();
    let mut order = vec![0i64; bits.len()];
    if n > 0 {
        for (row, bits) in order.chunks_exact_mut(n).zip(bits.chunks_exact(n)) {
            // Each number takes the place of a random one before it, which moves to the end.
            for k in 0..n {
                let j = (u128::from(bits[k] as u64) * (k as u128 + 1)) >> 64;
                row[k] = row[j as usize];
                row[j as usize] = k as i64;
            }
        }
    }
    Array::from_slice(Shape::from_slice(shape), &order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::read;

    #[test]
    fn philox_gives_the_known_answers() {
        // Source: the known-answer vectors of the authors' Random123 library.
        let ones = u32::MAX;
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            let words = philox(key, counter.map(|c| [c; LANES]));
            assert_eq!(words, expected.map(|w| [w; LANES]));
        }
    }

    #[test]
    fn an_element_depends_on_its_number_alone() {
        for dtype in [DType::F32, DType::F64] {
            for draw in [uniform, normal] {
                let long = read(&draw(&[1000], &Runs::all(1000), dtype, 7, 3).unwrap());
                for n in [0, 1, 31, 32, 33, 64, 65, 999] {
                    assert_eq!(read(&draw(&[n], &Runs::all(n), dtype, 7, 3).unwrap()), long[..n]);
                }
                assert_eq!(read(&draw(&[10, 100], &Runs::all(1000), dtype, 7, 3).unwrap()), long);
                assert_ne!(read(&draw(&[1000], &Runs::all(1000), dtype, 7, 4).unwrap()), long);
                assert_ne!(read(&draw(&[1000], &Runs::all(1000), dtype, 8, 3).unwrap()), long);
            }
        }
        assert_eq!(uniform(&[], &Runs::all(1), DType::F32, 1, 1).unwrap().shape(), [0; 0]);
    }

    #[test]
    fn a_part_of_a_draw_is_that_part_of_the_whole() {
        // Lanes 2..5 of 7, in each lanes 1..4 of 9, of shape [5].
        let (outer, inner) = ((2, 3, 7), (1, 3, 9));
        let whole = read(&normal(&[7, 9, 5], &Runs::all(315), DType::F64, 7, 3).unwrap());
        let expected: Vec<f64> = (2..5)
            .flat_map(|i| (1..4).flat_map(move |j| (0..5).map(move |k| (i * 9 + j) * 5 + k)))
            .map(|k: usize| whole[k])
            .collect();
        let part = normal(&[3, 3, 5], &Runs::of(&[outer, inner], 5), DType::F64, 7, 3).unwrap();
        assert_eq!(read(&part), expected);
        // Whole inner lanes are one run, and no lanes none.
        assert_eq!(Runs::of(&[outer, (0, 9, 9)], 5).starts.as_slice(), [90]);
        assert_eq!(normal(&[0, 5], &Runs::of(&[(0, 0, 0)], 5), DType::F64, 7, 3).unwrap().numel(), 0);
    }

    /// Mean, variance, and the third and fourth moments about the mean in units of the standard deviation.
    fn moments(x: &[f64]) -> [f64; 4] {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let about = |p: i32| x.iter().map(|v| (v - mean).powi(p)).sum::<f64>() / n;
        let variance = about(2);
        [mean, variance, about(3) / variance.powf(1.5), about(4) / variance.powi(2)]
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        for dtype in [DType::F32, DType::F64] {
            let n = 400_000;
            let u = read(&uniform(&[n], &Runs::all(n), dtype, 1, 2).unwrap());
            assert!(u.iter().all(|v| (0.0..1.0).contains(v)));
            for (g, e) in moments(&u).into_iter().zip([0.5, 1.0 / 12.0, 0.0, 1.8]) {
                assert!((g - e).abs() < 0.01, "{g} {e}");
            }
            let z = read(&normal(&[n], &Runs::all(n), dtype, 1, 2).unwrap());
            for (g, e) in moments(&z).into_iter().zip([0.0, 1.0, 0.0, 3.0]) {
                assert!((g - e).abs() < 0.03, "{g} {e}");
            }
            // Neighbours, pairs of one transform, and squares of these are not correlated.
            for lag in [1, LANES, 2 * LANES] {
                let products = z.iter().zip(&z[lag..]).map(|(a, b)| a * b).sum::<f64>() / n as f64;
                let squares =
                    z.iter().zip(&z[lag..]).map(|(a, b)| (a * a - 1.0) * (b * b - 1.0)).sum::<f64>() / n as f64;
                assert!(products.abs() < 0.01 && squares.abs() < 0.02, "{lag}: {products} {squares}");
            }
            let share = z.iter().filter(|v| v.abs() < 1.0).count() as f64 / n as f64;
            assert!((share - 0.6827).abs() < 0.005);
        }
    }

    #[test]
    fn sines_and_cosines_of_turns_are_right() {
        for k in 0..1000 {
            let t = k as f64 / 1000.0;
            let (s, c) = turn(t);
            let x = t * std::f64::consts::TAU;
            assert!((s - x.sin()).abs() < 1e-15 && (c - x.cos()).abs() < 1e-15, "{t}");
            let (s, c) = turn(t as f32);
            let x = f64::from(t as f32) * std::f64::consts::TAU;
            assert!((f64::from(s) - x.sin()).abs() < 2e-7 && (f64::from(c) - x.cos()).abs() < 2e-7, "{t}");
        }
    }

    #[test]
    fn integers_fill_their_range_evenly() {
        for dtype in [DType::U8, DType::I32, DType::I64] {
            let mut counts = [0; 10];
            for v in read(&integers(&[100_000], &Runs::all(100_000), 3, 13, dtype, 5, 0).unwrap()) {
                counts[v as usize - 3] += 1;
            }
            assert!(counts.iter().all(|&c: &i32| (c - 10_000).abs() < 500), "{counts:?}");
        }
        let wide = integers(&[100], &Runs::all(100), i64::MIN, i64::MAX, DType::I64, 5, 0).unwrap();
        assert!(read(&wide).iter().any(|&v| v < -4e18) && read(&wide).iter().any(|&v| v > 4e18));
    }

    #[test]
    fn derived_keys_differ() {
        let mut keys: Vec<u64> = (0..100).flat_map(|k| derive(9, k)).chain(derive(10, 0)).collect();
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n);
    }
}
