//! Elementwise functions of one tensor.

pub(super) mod activation;
pub(super) mod exponential;
pub(super) mod gated;
pub(super) mod normal;
pub(super) mod rounding;
pub(super) mod sign;
pub(super) mod special;
pub(super) mod trigonometric;

use super::arith::constant;
use super::table::{Kink, Naive, Sample, sample_tensor};
use crate::array::Array;
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::{Complex64, Result, Tensor};

/// How a function of one tensor is tested.
trait Facts: 'static {
    /// Where samples are drawn.
    const DOMAIN: (f64, f64);
    /// Points where the derivative is a convention, with its value.
    const KINKS: &'static [(f64, f64)] = &[];
    /// Whether the results are bools.
    const IS_TEST: bool = false;

    /// An independent way to compute an element.
    fn reference(x: f64) -> f64;
}

/// A function that is computed in floats, and its derivative.
trait Smooth: Facts + Sized + Send + Sync {
    const READS_INPUT: bool = true;
    const READS_OUTPUT: bool = false;
    /// The value of one complex element, if the function takes them.
    const COMPLEX: Option<fn(Complex64) -> Complex64> = None;

    /// The value of one element.
    fn scalar<T: Float>(x: T) -> T;

    /// All elements.
    #[inline]
    fn array<T: Float>(x: &Array) -> Array {
        map::map::<T, T>(
            x,
            #[inline(always)]
            |x| Self::scalar(x),
        )
    }

    /// See [`Unary::derivative`](super::family::Unary::derivative).
    fn derivative(d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor>;
}

fn samples<K: Facts>(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Sample> {
    let all = samples_of_shapes(K::DOMAIN, call, K::reference);
    if K::IS_TEST { all.into_iter().map(Sample::not_differentiable).collect() } else { all }
}

/// Samples of all shapes with elements in `lo..hi`; `reference` computes an element.
fn samples_of_shapes(
    (lo, hi): (f64, f64),
    call: impl Fn(&Tensor) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reference: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Vec<Sample> {
    let shapes: &[(&str, &[usize])] = &[("vector", &[5]), ("matrix", &[2, 3]), ("0-d", &[]), ("empty", &[0, 3])];
    shapes
        .iter()
        .map(|&(label, shape)| {
            Sample::one(label, [sample_tensor(shape, lo, hi, 1)], move |x| call(&x[0]))
                .reference(move |x| naive(x, reference))
        })
        .collect()
}

/// [`samples_of_shapes`] of a function whose parameters are fixed, which `label` names.
fn samples_with(
    label: &str,
    domain: (f64, f64),
    call: impl Fn(&Tensor) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reference: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Vec<Sample> {
    let mut all = samples_of_shapes(domain, call, reference);
    for sample in &mut all {
        sample.label = format!("{label}, {}", sample.label);
    }
    all
}

/// [`samples`], and one in integers.
fn samples_with_integers<K: Facts>(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Sample> {
    let mut all = samples::<K>(call);
    let integers = Tensor::from([-3i64, 0, 2]);
    all.push(
        Sample::one("integers", [integers], move |x| call(&x[0]))
            .reference(|x| naive(x, K::reference))
            .not_differentiable(),
    );
    all
}

fn naive(x: &[Naive], f: impl Fn(f64) -> f64) -> Vec<Naive> {
    vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|&v| f(v)).collect() }]
}

fn kinks<K: Facts>(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Kink> {
    kinks_with(K::KINKS, call)
}

/// Kinks at points, each with the value of the derivative there.
fn kinks_with(
    points: &[(f64, f64)],
    call: impl Fn(&Tensor) -> Result<Tensor> + Copy + Send + Sync + 'static,
) -> Vec<Kink> {
    points.iter().map(|&(at, slope)| Kink::new(format!("at {at}"), Tensor::from(at), [slope], call)).collect()
}

/// Writes the documentation of a function of one tensor from its parts.
macro_rules! unary_doc {
    ($dtypes:expr, $derivative:literal, $example:literal) => {
        concat!(
            "\n# Shapes\nThe result has the shape of the tensor.\n\n# Dtypes\n",
            $dtypes,
            "\n\n# Derivative\n",
            $derivative,
            "\n\n# Example\n```\nuse pullback::Tensor;\n",
            $example,
            "\n# Ok::<(), pullback::Error>(())\n```\n"
        )
    };
}
use unary_doc;

/// Writes, for each [`Smooth`] function, its struct, its method and its row; integers and bools are computed in `f32`.
///
/// ```text
/// smooth! { OPS;
///     /// The sine, elementwise, of an angle in radians.
///     sin = Sin, derivative "`cos(x)`.", example "assert_eq!(Tensor::from(0.0).sin()?.item::<f64>()?, 0.0);";
/// }
/// ```
/// becomes `struct Sin;`, `impl Unary for Sin`, `impl Tensor { pub fn sin(&self) -> Result<Tensor> }` with the sections
/// of its documentation, and an entry of `OPS`.
macro_rules! smooth {
    (@dtypes) => { "Floats; integers and bools become `f32`." };
    (@dtypes complex) => {
        "Floats and complex numbers; integers and bools become `f32`. Of complex numbers it is the principal value, and on its \
        cuts that of the side which the sign of zero says."
    };
    ($table:ident; $($(#[doc = $doc:literal])* $name:ident = $op:ident $(+ $complex:ident)?,
        derivative $derivative:literal, example $example:literal
        $(, python: $($path:ident)::+ ($($form:tt)*))*;)*) => {
        $(
            struct $op;

            impl $crate::ops::family::Unary for $op {
                const NAME: &'static str = stringify!($name);
                const READS_INPUT: bool = <$op as $crate::ops::unary::Smooth>::READS_INPUT;
                const READS_OUTPUT: bool = <$op as $crate::ops::unary::Smooth>::READS_OUTPUT;
                #[inline]
                fn kernel(x: &$crate::array::Array) -> $crate::Result<$crate::array::Array> {
                    if let (Some(f), true) = (<$op as $crate::ops::unary::Smooth>::COMPLEX, x.dtype().is_complex()) {
                        return Ok($crate::kernels::complex::map(x, &f));
                    }
                    $crate::dtype::dispatch!(x.dtype(), stringify!($name), float, T =>
                        Ok(<$op as $crate::ops::unary::Smooth>::array::<T>(x)))
                }
                fn derivative(
                    d: &$crate::Tensor,
                    x: &$crate::Tensor,
                    y: &$crate::Tensor,
                ) -> $crate::Result<$crate::Tensor> {
                    <$op as $crate::ops::unary::Smooth>::derivative(d, x, y)
                }
            }

            impl $crate::Tensor {
                $(#[doc = $doc])*
                #[doc = $crate::ops::unary::unary_doc!($crate::ops::unary::smooth!(@dtypes $($complex)?), $derivative, $example)]
                #[inline]
                pub fn $name(&self) -> $crate::Result<$crate::Tensor> {
                    let dtype = self.dtype();
                    if dtype.is_differentiable() {
                        $crate::ops::family::unary::<$op>(self)
                    } else {
                        $crate::ops::family::unary::<$op>(&self.to_dtype(dtype.to_float())?)
                    }
                }
            }
        )*
        pub(in crate::ops) static $table: &[$crate::ops::table::OpInfo] = &[$($crate::ops::table::OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n",)* $crate::ops::unary::unary_doc!(
                $crate::ops::unary::smooth!(@dtypes $($complex)?), $derivative, $example)),
            signature: "",
            samples: $crate::ops::table::for_tests!(|| $crate::ops::unary::samples::<$op>($crate::Tensor::$name)),
            errors: Vec::new,
            kinks: $crate::ops::table::for_tests!(|| $crate::ops::unary::kinks::<$op>($crate::Tensor::$name)),
            module: module_path!(),
            #[cfg(feature = "dynamic")]
            forms: ::pullback_macros::operation_forms! { method $name() -> $crate::Result<$crate::Tensor>
                [$($($path)::+ ($($form)*)),*] in_place true },
        }),*];
    };
}
use smooth;

/// Writes, for each function that decides itself which dtypes it takes, its struct, its method and its row. It is a
/// [`Unary`](super::family::Unary) by hand.
macro_rules! by_dtype {
    ($table:ident; $($(#[doc = $doc:literal])* $name:ident = $op:ident, dtypes $dtypes:literal,
        derivative $derivative:literal, example $example:literal
        $(, python: $($path:ident)::+ ($($form:tt)*))*;)*) => {
        $(
            struct $op;

            impl $crate::Tensor {
                $(#[doc = $doc])*
                #[doc = $crate::ops::unary::unary_doc!($dtypes, $derivative, $example)]
                #[inline]
                pub fn $name(&self) -> $crate::Result<$crate::Tensor> {
                    $crate::ops::family::unary::<$op>(self)
                }
            }
        )*
        pub(in crate::ops) static $table: &[$crate::ops::table::OpInfo] = &[$($crate::ops::table::OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n",)* $crate::ops::unary::unary_doc!($dtypes, $derivative, $example)),
            signature: "",
            samples: $crate::ops::table::for_tests!(|| $crate::ops::unary::samples_with_integers::<$op>($crate::Tensor::$name)),
            errors: Vec::new,
            kinks: $crate::ops::table::for_tests!(|| $crate::ops::unary::kinks::<$op>($crate::Tensor::$name)),
            module: module_path!(),
            #[cfg(feature = "dynamic")]
            forms: ::pullback_macros::operation_forms! { method $name() -> $crate::Result<$crate::Tensor>
                [$($($path)::+ ($($form)*)),*] in_place true },
        }),*];
    };
}
use by_dtype;
