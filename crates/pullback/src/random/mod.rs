//! Random tensors: the same key gives the same numbers, on every machine and with any number of threads.
//!
//! A [`Key`] is a small value from which random tensors are drawn; equal calls give equal numbers. For different
//! numbers, derive other keys with [`fold_in`](Key::fold_in) or [`split`](Key::split). A [`Generator`] does that for
//! you: it is a key with a counter, and each draw takes the next number.
//!
//! ```
//! use pullback::{DType, random::{Generator, Key}};
//!
//! let key = Key::new(42);
//! let [a, b] = key.split();
//! let weight = a.normal(&[3, 2], DType::F32)?;
//! let noise = b.uniform(&[3], DType::F32)?;
//!
//! let generator = Generator::new(42);
//! let first = generator.normal(&[2], DType::F64)?.to_vec::<f64>()?;
//! assert_ne!(first, generator.normal(&[2], DType::F64)?.to_vec::<f64>()?);
//! assert_eq!(first, Generator::new(42).normal(&[2], DType::F64)?.to_vec::<f64>()?);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Under `vmap`
//!
//! Whether lanes share their numbers is for the `vmap` to say, with [`Vmap::randomness`](crate::Vmap::randomness):
//!
//! | [`Randomness`](crate::Randomness) | a draw of shape `s` |
//! |---|---|
//! | `Error`, the default | is an error of kind [`Randomness`](crate::ErrorKind::Randomness) |
//! | `Different` | gives lane `k` the part `k` of a draw of shape `[lanes] + s` |
//! | `Same` | gives every lane the same numbers |
//!
//! The numbers do not depend on the [`chunk_size`](crate::Vmap::chunk_size).
//!
//! Nested `vmap`s are each asked: a draw has one more dimension for every one that says `Different`, the outermost
//! first, and one that says `Error` refuses. It makes no difference whether an input is batched.
//!
//! ```
//! use pullback::{DType, Randomness, Tensor, Vmap, random::Key};
//!
//! let noisy = |x: &Tensor| x.add(Key::new(1).uniform(&[], DType::F64)?);
//! let x = Tensor::from([0.0, 0.0, 0.0]);
//! let each = Vmap::new().randomness(Randomness::Different).of(noisy)(&x)?;
//! assert_eq!(each.to_vec::<f64>()?, Key::new(1).uniform(&[3], DType::F64)?.to_vec::<f64>()?);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # In a graph
//!
//! [`capture`](crate::capture) writes a draw down as an operation. Each call of the graph repeats it: from a key with the same
//! numbers, from a generator with the next ones.
//!
//! # Derivatives
//!
//! Numbers of a fixed distribution have no derivative with respect to anything; scale and shift them to make that of a
//! parameter (`mean + std * key.normal(…)`). Distributions that take real parameters are differentiated by these, with the
//! randomness held fixed, and those of whole numbers are not.
//!
//! # Source
//! Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011. Splitting keys
//! follows JAX.

mod continuous;
mod discrete;
mod draw;
mod gamma;
mod parameters;

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

pub(crate) use self::draw::Source;
use self::draw::{Draw, Kind};
use crate::error::bail;
use crate::interp::level::active_capture;
use crate::interp::{capture, watch};
use crate::kernels::random as kernel;
use crate::{DType, Result, Tensor};

/// What random numbers are drawn from: 128 bits, copied freely.
///
/// Draws from one key with the same shape and dtype are equal, and draws of other kinds are not independent of each
/// other; derive a key for each.
///
/// ```
/// use pullback::{DType, random::Key};
/// let key = Key::new(7);
/// assert_eq!(key.uniform(&[2], DType::F32)?.to_vec::<f32>()?, key.uniform(&[2], DType::F32)?.to_vec::<f32>()?);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    key: u64,
    stream: u64,
}

impl Key {
    /// The key of a seed.
    pub const fn new(seed: u64) -> Key {
        Key { key: seed, stream: 0 }
    }

    /// The bits that the key consists of.
    ///
    /// ```
    /// use pullback::random::Key;
    /// let key = Key::new(7).fold_in(1);
    /// assert_eq!(Key::from_bits(key.to_bits()), key);
    /// ```
    pub const fn to_bits(self) -> [u64; 2] {
        [self.key, self.stream]
    }

    /// The key with these bits.
    pub const fn from_bits([key, stream]: [u64; 2]) -> Key {
        Key { key, stream }
    }

    /// The key number `number` of those that derive from this one.
    ///
    /// ```
    /// use pullback::random::Key;
    /// let key = Key::new(7);
    /// assert_ne!(key.fold_in(0), key.fold_in(1));
    /// ```
    #[must_use]
    pub fn fold_in(self, number: u64) -> Key {
        let [key, mask] = kernel::derive(self.key, self.stream);
        let [key, stream] = kernel::derive(key, mask ^ number);
        Key { key, stream }
    }

    /// `N` keys: those of [`fold_in`](crate::random::Key::fold_in) for the numbers from 0.
    ///
    /// ```
    /// use pullback::random::Key;
    /// let [a, b] = Key::new(7).split();
    /// assert_eq!(b, Key::new(7).fold_in(1));
    /// ```
    #[must_use]
    pub fn split<const N: usize>(self) -> [Key; N] {
        std::array::from_fn(|k| self.fold_in(k as u64))
    }
}

/// A [`Key`] with a counter: draw number `n` is that of `key.fold_in(n)`.
///
/// Drawing needs only `&self`, so that closures given to transforms can draw, and threads can share a generator.
///
/// ```
/// use pullback::{DType, random::{Generator, Key}};
/// let generator = Generator::new(7);
/// let second = (generator.uniform(&[2], DType::F32)?, generator.uniform(&[2], DType::F32)?).1;
/// assert_eq!(second.to_vec::<f32>()?, Key::new(7).fold_in(1).uniform(&[2], DType::F32)?.to_vec::<f32>()?);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    key: Key,
    /// Shared with the graphs that repeat its draws; made at the first one, so that generators may be statics.
    draws: OnceLock<Arc<AtomicU64>>,
}

impl Generator {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Generator {
        Generator { key: Key::new(seed), draws: OnceLock::new() }
    }

    /// The next key.
    ///
    /// A graph that is being captured cannot see what becomes of a key, so it refuses to be finished if one is taken
    /// inside; draw from the generator itself there.
    pub fn next_key(&self) -> Key {
        if let Some(level) = active_capture() {
            capture::note_key_taken(&level);
        }
        note_taken();
        watch::next_key(|| self.counter().key())
    }

    fn counter(&self) -> Source {
        let draws = self.draws.get_or_init(Arc::default).clone();
        Source::Generator { key: self.key, draws }
    }

    /// What a draw is made from: of the generator, or of the key that code which may run again had before.
    fn source(&self) -> Source {
        if watch::is_active() { Source::Key(self.next_key()) } else { self.counter() }
    }
}

thread_local! {
    /// How many keys generators have given on this thread.
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Notes that a generator gives a key.
fn note_taken() {
    TAKEN.set(TAKEN.get().wrapping_add(1));
}

/// Calls `f`, which runs for the second time in order to be differentiated: an error if it takes keys from generators,
/// since these are not the keys of the first run.
pub(crate) fn without_generators<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let before = TAKEN.get();
    let result = f()?;
    if TAKEN.get() != before {
        bail!(Randomness, "expected a function without derivative rules to draw no numbers from a `Generator`: it is \
            differentiated by running it again, and the numbers would be others"; help = "draw before the call and pass \
            the numbers as an input, draw from a `Key`, or give the function a rule");
    }
    Ok(result)
}

impl From<Key> for Generator {
    fn from(key: Key) -> Generator {
        Generator { key, draws: OnceLock::new() }
    }
}

/// Writes each kind of draw as a method of [`Key`], and as one of [`Generator`] that draws from the next key. The
/// numbers come from the function of the same name below.
///
/// A row may say how Python calls it, if not by its own name and parameters: see `ops!`.
macro_rules! draws {
    ($($(#[doc = $doc:literal])* fn $name:ident($($arg:ident: $ty:ty),*) $(, python: $form:ident ($($parts:tt)*))?;)*) => {
        #[cfg(feature = "dynamic")]
        pub(super) static DRAWS: &[$crate::testing::table::OpInfo] = &[$($crate::testing::table::OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            signature: stringify!($($arg: $ty),*),
            samples: Vec::new,
            errors: Vec::new,
            kinks: Vec::new,
            module: module_path!(),
            forms: ::pullback_macros::operation_forms! { free $name(from: Source, $($arg: $ty),*) -> Result<Tensor>
                [$($form($($parts)*))?] },
        }),*];
        impl $crate::random::Key { $(
            $(#[doc = $doc])*
            pub fn $name(self, $($arg: $ty),*) -> Result<Tensor> {
                $name(Source::Key(self), $($arg),*)
            }
        )* }
        impl $crate::random::Generator { $(
            #[doc = concat!("[`Key::", stringify!($name), "`](crate::random::Key::", stringify!($name), ") with the next key.")]
            ///
            /// # Errors
            /// The same.
            pub fn $name(&self, $($arg: $ty),*) -> Result<Tensor> {
                $name(self.source(), $($arg),*)
            }
        )* }
    };
}
use draws;

/// What random numbers are drawn from, where that is known at run time only.
#[cfg(feature = "dynamic")]
#[derive(Clone, Debug)]
pub enum AnySource {
    /// The same numbers every time.
    Key(Key),
    /// The next numbers.
    Generator(Arc<Generator>),
}

#[cfg(feature = "dynamic")]
impl From<AnySource> for Source {
    fn from(source: AnySource) -> Source {
        match source {
            AnySource::Key(key) => Source::Key(key),
            AnySource::Generator(generator) => generator.source(),
        }
    }
}

/// The rows of all kinds of draws, with the forms by which they are called.
#[cfg(feature = "dynamic")]
pub fn operations() -> impl Iterator<Item = &'static crate::testing::table::OpInfo> {
    [DRAWS, continuous::DRAWS, discrete::DRAWS].into_iter().flatten()
}

draws! {
    /// Numbers uniform in [0, 1): multiples of 2⁻¹¹ for `f16`, of 2⁻⁸ for `bf16`, of 2⁻²⁴ for `f32`, of
    /// 2⁻⁵³ for `f64`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).uniform(&[100], DType::F64)?.to_vec::<f64>()?;
    /// assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn uniform(shape: &[usize], dtype: DType);

    /// Numbers of the normal distribution with mean 0 and variance 1.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).normal(&[10_000], DType::F64)?.to_vec::<f64>()?;
    /// assert!((x.iter().sum::<f64>() / 1e4).abs() < 0.05);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Box and Muller, "A note on the generation of random normal deviates", 1958.
    fn normal(shape: &[usize], dtype: DType);

    /// Integers uniform in `low..high`.
    ///
    /// # Dtypes
    /// `u8`, `i32`, `i64`.
    ///
    /// # Errors
    /// `Value` if the range is empty or not within the dtype; `Dtype` for another dtype; `Randomness` under a `vmap`
    /// that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let dice = Key::new(1).randint(1, 7, &[100], DType::I64)?.to_vec::<i64>()?;
    /// assert!(dice.iter().all(|x| (1..7).contains(x)));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn randint(low: i64, high: i64, shape: &[usize], dtype: DType),
        python: randint(from, low, high, shape = [], dtype = I64);

    /// The numbers `0..n` in random order, as `i64`; every order is equally likely.
    ///
    /// # Errors
    /// `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::random::Key;
    /// let mut order = Key::new(1).permutation(4)?.to_vec::<i64>()?;
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn permutation(n: usize);

    /// `x` with each element set to zero with probability `p` (NaN and infinities too), and the others divided by
    /// `1 - p`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// The same elements of the cotangent, divided by `1 - p`.
    ///
    /// # Errors
    /// `Value` unless `p` lies in [0, 1]; `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// let y = Key::new(1).dropout(&Tensor::from([1.0; 8]), 0.5)?.to_vec::<f64>()?;
    /// assert!(y.iter().all(|&y| y == 0.0 || y == 2.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    fn dropout(x: &Tensor, p: f64), python: dropout(from, x, p = 0.5);

    /// [`dropout`](crate::random::Key::dropout) of whole channels of sequences: each sequence `[length]` of `x` is set to zero with probability `p`, the
    /// others are divided by `1 - p`.
    ///
    /// # Shapes
    /// `[.., length]` to the same.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// The same elements of the cotangent, divided by `1 - p`.
    ///
    /// # Errors
    /// As for `dropout`, and `Shape` if there are too few dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, random::Key};
    /// let y = Key::new(1).dropout1d(&Tensor::ones(&[8, 2], DType::F64)?, 0.5)?.to_vec::<f64>()?;
    /// assert!(y.chunks(2).all(|y| y == [0.0, 0.0] || y == [2.0, 2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Tompson et al., "Efficient object localization using convolutional networks", 2015.
    fn dropout1d(x: &Tensor, p: f64), python: dropout1d(from, x, p = 0.5);

    /// [`dropout1d`](crate::random::Key::dropout1d) of whole channels of images `[height, width]`.
    ///
    /// # Errors
    /// As for `dropout1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, random::Key};
    /// let y = Key::new(1).dropout2d(&Tensor::ones(&[8, 1, 2], DType::F64)?, 0.5)?.to_vec::<f64>()?;
    /// assert!(y.chunks(2).all(|y| y == [0.0, 0.0] || y == [2.0, 2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dropout2d(x: &Tensor, p: f64), python: dropout2d(from, x, p = 0.5);

    /// [`dropout1d`](crate::random::Key::dropout1d) of whole channels of volumes `[depth, height, width]`.
    ///
    /// # Errors
    /// As for `dropout1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, random::Key};
    /// let y = Key::new(1).dropout3d(&Tensor::ones(&[8, 1, 2, 1], DType::F64)?, 0.5)?.to_vec::<f64>()?;
    /// assert!(y.chunks(2).all(|y| y == [0.0, 0.0] || y == [2.0, 2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dropout3d(x: &Tensor, p: f64), python: dropout3d(from, x, p = 0.5);

    /// Dropout that keeps mean 0 and variance 1, for networks with [`selu`](Tensor::selu): each element is replaced, with probability
    /// `p`, by the value of `selu` at minus infinity, and all are scaled and shifted.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// The elements of the cotangent that were kept, scaled.
    ///
    /// # Errors
    /// As for `dropout`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let y = Key::new(2).alpha_dropout(&Key::new(1).normal(&[20_000], DType::F64)?, 0.3)?;
    /// assert!(y.mean()?.item::<f64>()?.abs() < 0.05);
    /// assert!((y.std()?.item::<f64>()? - 1.0).abs() < 0.05);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Klambauer et al., "Self-normalizing neural networks", 2017.
    fn alpha_dropout(x: &Tensor, p: f64), python: alpha_dropout(from, x, p = 0.5);
}

fn draw(op: &'static str, kind: Kind, shape: &[usize], source: Source) -> Result<Tensor> {
    Draw::new(op, kind, shape, source).apply()
}

/// An error unless `dtype` is a float.
fn check_float(op: &str, dtype: DType) -> Result<()> {
    if !dtype.is_float() {
        bail!(Dtype, "{op}: expected a floating dtype, got {dtype}"; help = "convert the result with `to_dtype`");
    }
    Ok(())
}

fn uniform(from: Source, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("uniform", dtype)?;
    draw("uniform", Kind::Uniform(dtype), shape, from)
}

fn normal(from: Source, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("normal", dtype)?;
    draw("normal", Kind::Normal(dtype), shape, from)
}

fn randint(from: Source, low: i64, high: i64, shape: &[usize], dtype: DType) -> Result<Tensor> {
    let (min, max) = match dtype {
        DType::U8 => (i64::from(u8::MIN), i64::from(u8::MAX)),
        DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DType::I64 => (i64::MIN, i64::MAX),
        _ => bail!(Dtype, "randint: expected an integer dtype, got {dtype}"),
    };
    if low >= high {
        bail!(Value, "randint: expected low < high, got {low} and {high}");
    }
    if low < min || high - 1 > max {
        bail!(Value, "randint: expected integers that fit {dtype}, got the range {low}..{high}");
    }
    draw("randint", Kind::Integers { low, high, dtype }, shape, from)
}

/// An error unless `p` is a probability.
fn check_probability(op: &str, p: f64) -> Result<()> {
    if !(0.0..=1.0).contains(&p) {
        bail!(Value, "{op}: expected a probability from 0 to 1, got {p}");
    }
    Ok(())
}

fn permutation(from: Source, n: usize) -> Result<Tensor> {
    draw("permutation", Kind::Permutation, &[n], from)
}

fn dropout(from: Source, x: &Tensor, p: f64) -> Result<Tensor> {
    drop_parts("dropout", from, x, p, 0)
}
fn dropout1d(from: Source, x: &Tensor, p: f64) -> Result<Tensor> {
    drop_parts("dropout1d", from, x, p, 1)
}
fn dropout2d(from: Source, x: &Tensor, p: f64) -> Result<Tensor> {
    drop_parts("dropout2d", from, x, p, 2)
}
fn dropout3d(from: Source, x: &Tensor, p: f64) -> Result<Tensor> {
    drop_parts("dropout3d", from, x, p, 3)
}

/// Which parts of `x` are kept: those whose last `whole` dimensions stay together.
fn kept(op: &'static str, from: Source, x: &Tensor, p: f64, whole: usize) -> Result<Tensor> {
    check_probability(op, p)?;
    if !x.dtype().is_float() {
        bail!(Dtype, "{op}: expected floats, got {}", x.ty(); help = "convert with `to_dtype`");
    }
    if x.rank() < whole {
        bail!(Shape, "{op}: expected at least {whole} dimensions, got {}", x.ty());
    }
    let mut shape = crate::Shape::from_slice(x.shape());
    let lead = shape.len() - whole;
    shape[lead..].fill(1);
    draw(op, Kind::Bernoulli(1.0 - p), &shape, from)
}

fn drop_parts(op: &'static str, from: Source, x: &Tensor, p: f64, whole: usize) -> Result<Tensor> {
    let kept = kept(op, from, x, p, whole)?;
    if p == 1.0 {
        // The scale has no value; every element is dropped.
        return kept.where_(x, 0.0);
    }
    kept.where_(&x.mul(1.0 / (1.0 - p))?, 0.0)
}

fn alpha_dropout(from: Source, x: &Tensor, p: f64) -> Result<Tensor> {
    // Minus the product of the two constants of `selu`: its value at minus infinity.
    const LOWEST: f64 = -1.758_099_340_847_376_6;
    let kept = kept("alpha_dropout", from, x, p, 0)?;
    if p == 1.0 {
        return kept.where_(x, 0.0);
    }
    let scale = 1.0 / ((1.0 - p) * (1.0 + p * LOWEST * LOWEST)).sqrt();
    kept.where_(x, LOWEST)?.mul(scale)?.add(-scale * LOWEST * p)
}
