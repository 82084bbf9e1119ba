//! Running sums.

use super::family::{Linear, linear};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::kernels::scan;
use crate::shape::resolve_dim;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The running sum along `dim`: element `k` is the sum of the elements up to and including `k`.
    ///
    /// Floats are accumulated in `f64`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`, wrapping on overflow.
    ///
    /// # Derivative
    /// Tangents: their running sum. Cotangents: their running sum from the end.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0]).cumsum(0)?.to_vec::<f64>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cumsum(&self, dim: isize) -> Result<Tensor> = cumsum { samples: cumsum_samples, errors: cumsum_errors };
}

#[derive(Clone)]
struct CumSum {
    dim: usize,
    reverse: bool,
}

impl Linear for CumSum {
    const NAME: &'static str = "cumsum";
    fn kernel(&self, x: &Array) -> Result<Array> {
        scan::cumsum(x, self.dim, self.reverse)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(CumSum { dim: self.dim, reverse: !self.reverse }, g)
    }
    fn batched(&self, _: usize) -> CumSum {
        CumSum { dim: self.dim + 1, reverse: self.reverse }
    }
}

fn cumsum(x: &Tensor, dim: isize) -> Result<Tensor> {
    linear(CumSum { dim: resolve_dim("cumsum", dim, x.rank(), x.ty())?, reverse: false }, x)
}

fn cumsum_samples() -> Vec<Sample> {
    let cases: &[(&'static [usize], isize, usize)] =
        &[(&[4], 0, 0), (&[2, 3], -1, 1), (&[3, 2], 0, 0), (&[2, 3, 2], 1, 1), (&[0, 2], 1, 1), (&[2, 0], 1, 1)];
    cases
        .iter()
        .map(|&(shape, dim, resolved)| {
            Sample::one(format!("dim {dim} of {shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
                x[0].cumsum(dim)
            })
            .reference(move |x| {
                let up_to = |i: &[usize]| {
                    let mut other = i.to_vec();
                    (0..=i[resolved])
                        .map(|k| {
                            other[resolved] = k;
                            x[0].at(&other)
                        })
                        .sum()
                };
                vec![Naive::from_fn(&x[0].shape, up_to)]
            })
        })
        .collect()
}

fn cumsum_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "dim -3 is out of range for f64[2,3] (valid: -2..=1)", move || {
        x.cumsum(-3)
    })]
}
