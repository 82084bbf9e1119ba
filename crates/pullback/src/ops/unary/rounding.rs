//! Rounding to whole numbers, and tests for special values. None of them has a derivative other than 0.

use super::{Facts, by_dtype, samples_with};
use crate::array::Array;
use crate::dtype::{Scalar, dispatch};
use crate::error::bail;
use crate::kernels::math::Float;
use crate::kernels::{cast, complex, map};
use crate::ops::family::Unary;
use crate::ops::table::{ErrorSample, Sample, ops};
use crate::{DType, ErrorKind, Result, Tensor};

by_dtype! { OPS;
    /// The largest whole number not above each element.
    floor = Floor, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).floor()?.to_vec::<f64>()?, [1.0, -2.0]);";

    /// The smallest whole number not below each element.
    ceil = Ceil, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).ceil()?.to_vec::<f64>()?, [2.0, -1.0]);";

    /// The nearest whole number; halves go to the even neighbour.
    round = Round, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([0.5, 1.5, -0.7]).round()?.to_vec::<f64>()?, [0.0, 2.0, -1.0]);";

    /// The whole part: each element without its fraction.
    trunc = Trunc, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).trunc()?.to_vec::<f64>()?, [1.0, -1.0]);",
        python: trunc(), python: fix();

    /// True where an element is NaN.
    isnan = IsNan, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::NAN]).isnan()?.to_vec::<bool>()?, [false, true]);";

    /// True where an element is infinite.
    isinf = IsInf, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::NEG_INFINITY]).isinf()?.to_vec::<bool>()?, [false, true]);";

    /// True where an element is neither infinite nor NaN.
    isfinite = IsFinite, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::INFINITY]).isfinite()?.to_vec::<bool>()?, [true, false]);";
}

ops! { WITH_PARAMETERS;
    /// The nearest number with so many decimals; halves go to the even neighbour. Negative `decimals` are places before the point.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools are returned as they are.
    ///
    /// # Derivative
    /// 0, also at the steps.
    ///
    /// # Errors
    /// `Value` for integers and negative `decimals`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.375, -0.127]);
    /// assert_eq!(x.round_with(2)?.to_vec::<f64>()?, [1.38, -0.13]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// As in NumPy and PyTorch, the number is scaled by a power of ten, rounded, and scaled back. Where scaling overflows it stays as
    /// it is, which there gives infinity.
    fn round_with(&self, decimals: i32) -> Result<Tensor> = round_with {
        samples: round_with_samples, errors: round_with_errors,
        python: round(decimals = 0)
    };

    /// What [`trunc`](Tensor::trunc) takes off: the part behind the point, with the sign of the element.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats and integers, of which it is 0. It is NaN of infinities.
    ///
    /// # Derivative
    /// 1, also at the steps.
    ///
    /// # Errors
    /// `Dtype` for bools and complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.25, -1.25]).frac()?.to_vec::<f64>()?, [0.25, -0.25]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn frac(&self) -> Result<Tensor> = frac { samples: frac_samples };
}

fn frac(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool || x.dtype().is_complex() {
        bail!(Dtype, "frac: expected real numbers, got {}", x.ty());
    }
    x.sub(x.trunc()?)
}

fn frac_samples() -> Vec<Sample> {
    samples_with("numbers", (-2.9, 2.9), Tensor::frac, f64::fract)
}

fn round_with(x: &Tensor, decimals: i32) -> Result<Tensor> {
    if decimals == 0 {
        return x.round();
    }
    if !x.dtype().is_differentiable() {
        if decimals < 0 {
            bail!(Value, "round: expected `decimals` of at least 0 for {}, got {decimals}", x.ty();
                help = "convert the tensor to a float with `to_dtype` first");
        }
        return x.unchanged("round");
    }
    let power = 10f64.powi(decimals.abs());
    let rounded = match decimals > 0 {
        true => x.mul(power)?.round()?.div(power)?,
        false => x.div(power)?.round()?.mul(power)?,
    };
    rounded.isfinite()?.where_(&rounded, x)
}

fn round_with_samples() -> Vec<Sample> {
    let case = |decimals: i32| {
        samples_with(
            &format!("{decimals} decimals"),
            (-30.0, 30.0),
            move |x| x.round_with(decimals),
            move |x| {
                let power = 10f64.powi(decimals.abs());
                if decimals > 0 { (x * power).round_ties_even() / power } else { (x / power).round_ties_even() * power }
            },
        )
    };
    let huge = Sample::one("what overflows", [Tensor::from([1e308, 1.25, f64::NAN])], |x| x[0].round_with(300))
        .reference(|x| x.to_vec())
        .special();
    // The steps of decimals are closer than what differences are taken over.
    let decimals = case(2).into_iter().map(Sample::not_differentiable);
    decimals.chain(case(-1)).chain(case(0)).chain([huge]).collect()
}

fn round_with_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("integers", ErrorKind::Value, "round: expected `decimals` of at least 0 for i32[1]", || {
        Tensor::from([15]).round_with(-1)
    })]
}

/// Writes the kernel of a function that leaves whole numbers alone.
macro_rules! rounding {
    ($($op:ident $name:ident $reference:ident;)*) => { $(
        impl Facts for $op {
            const DOMAIN: (f64, f64) = (-3.0, 3.0);
            fn reference(x: f64) -> f64 { x.$reference() }
        }

        impl Unary for $op {
            const NAME: &'static str = stringify!($name);
            const DIFFERENTIABLE: bool = false;
            #[inline]
            fn kernel(x: &Array) -> Result<Array> {
                if !x.dtype().is_differentiable() {
                    return Ok(x.clone());
                }
                dispatch!(x.dtype(), stringify!($name), float, T => Ok(map::map::<T, T>(x,
                    #[inline(always)] |x| Float::$name(x))))
            }
        }
    )* };
}
rounding! {
    Floor floor floor;
    Ceil ceil ceil;
    Round round round_ties_even;
    Trunc trunc trunc;
}

/// Writes the kernel of a test, with the answer for integers and bools.
macro_rules! test {
    ($($op:ident $name:ident $whole:literal, |$x:ident| $holds:expr, $reference:ident;)*) => { $(
        impl Facts for $op {
            const DOMAIN: (f64, f64) = (-3.0, 3.0);
            const IS_TEST: bool = true;
            fn reference(x: f64) -> f64 { f64::from(u8::from(x.$reference())) }
        }

        impl Unary for $op {
            const NAME: &'static str = stringify!($name);
            const DIFFERENTIABLE: bool = false;
            #[inline]
            fn kernel(x: &Array) -> Result<Array> {
                if !x.dtype().is_differentiable() {
                    return Ok(cast::full(x.shape(), Scalar::Bool($whole), DType::Bool));
                }
                if x.dtype().is_complex() {
                    // What holds of whole numbers must hold of both parts, what does not of one.
                    let [re, im] = complex::parts(x).map(|part| Self::kernel(&part));
                    return Ok(map::zip::<bool, bool, bool>(&re?, &im?, x.shape(), |a, b| if $whole { a && b } else { a || b }));
                }
                dispatch!(x.dtype(), stringify!($name), float, T => Ok(map::map::<T, bool>(x,
                    #[inline(always)] |$x| $holds)))
            }
        }
    )* };
}
test! {
    IsNan isnan false, |x| Float::is_nan(x), is_nan;
    IsInf isinf false, |x| Float::abs(x) == T::INFINITY, is_infinite;
    IsFinite isfinite true, |x| Float::is_finite(x), is_finite;
}
