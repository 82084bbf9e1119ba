//! Elementwise functions of one tensor.

use super::family::{Unary, unary};
use super::table::{Kink, Naive, OpInfo, Sample, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::{Result, Tensor};

/// A smooth function: its value for one element, its derivative, and where it is sampled.
trait Smooth: Sized + Send + Sync + 'static {
    /// Where samples are drawn.
    const DOMAIN: (f64, f64);
    const READS_INPUT: bool = true;
    const READS_OUTPUT: bool = false;
    /// Points where the derivative is a convention, with its value.
    const KINKS: &'static [(f64, f64)] = &[];

    /// The value.
    fn scalar<T: Float>(x: T) -> T;
    /// An independent way to compute it.
    fn reference(x: f64) -> f64;
    /// See [`Unary::derivative`].
    fn derivative(d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor>;
}

fn samples<K: Smooth>(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Sample> {
    let (lo, hi) = K::DOMAIN;
    let shapes: &[(&str, &[usize])] = &[("vector", &[5]), ("matrix", &[2, 3]), ("0-d", &[]), ("empty", &[0, 3])];
    shapes
        .iter()
        .map(|&(label, shape)| {
            Sample::one(label, [sample_tensor(shape, lo, hi, 1)], move |x| call(&x[0])).reference(|x| {
                vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|&v| K::reference(v)).collect() }]
            })
        })
        .collect()
}

fn kinks<K: Smooth>(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Kink> {
    K::KINKS.iter().map(|&(at, slope)| Kink::new(format!("at {at}"), Tensor::from(at), [slope], call)).collect()
}

/// Writes, for each smooth function, its struct, its method and its row; integers and bools are computed in `f32`.
macro_rules! smooth {
    ($($(#[doc = $doc:literal])* $name:ident = $op:ident;)*) => {
        $(
            struct $op;

            impl Unary for $op {
                const NAME: &'static str = stringify!($name);
                const READS_INPUT: bool = <$op as Smooth>::READS_INPUT;
                const READS_OUTPUT: bool = <$op as Smooth>::READS_OUTPUT;
                #[inline]
                fn kernel(x: &Array) -> Result<Array> {
                    dispatch!(x.dtype(), stringify!($name), float, T => Ok(map::map::<T, T>(x, |x| <$op as Smooth>::scalar(x))))
                }
                fn derivative(d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
                    <$op as Smooth>::derivative(d, x, y)
                }
            }

            impl Tensor {
                $(#[doc = $doc])*
                #[inline]
                pub fn $name(&self) -> Result<Tensor> {
                    let dtype = self.dtype();
                    if dtype.is_float() { unary::<$op>(self) } else { unary::<$op>(&self.to_dtype(dtype.to_float())?) }
                }
            }
        )*
        pub(super) static OPS: &[OpInfo] = &[$(OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            signature: "",
            samples: || samples::<$op>(Tensor::$name),
            errors: Vec::new,
            kinks: || kinks::<$op>(Tensor::$name),
        }),*];
    };
}

smooth! {
    /// The negative, elementwise.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// `-1`.
    neg = Neg;

    /// The sine, elementwise, of an angle in radians.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// `cos(x)`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from(0.0).sin()?.item::<f64>()?, 0.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    sin = Sin;

    /// The cosine, elementwise, of an angle in radians.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// `-sin(x)`.
    cos = Cos;

    /// The exponential function, elementwise.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Itself.
    exp = Exp;
}

impl Smooth for Neg {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const READS_INPUT: bool = false;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        T::ZERO - x
    }
    fn reference(x: f64) -> f64 {
        -x
    }
    fn derivative(d: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.neg()
    }
}

impl Smooth for Sin {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.sin()
    }
    fn reference(x: f64) -> f64 {
        x.sin()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.mul(x.cos()?)
    }
}

impl Smooth for Cos {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.cos()
    }
    fn reference(x: f64) -> f64 {
        x.cos()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.mul(x.sin()?)?.neg()
    }
}

impl Smooth for Exp {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.exp()
    }
    fn reference(x: f64) -> f64 {
        x.exp()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        d.mul(y)
    }
}
