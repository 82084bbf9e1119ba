//! Running sums, and the differences that undo them.

use super::arith::{Arithmetic, neg_owned};
use super::family::{Linear, linear};
use super::join::cat;
use super::shape::behind;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::{map, scan};
use crate::shape::{resolve_dim, with_dim, without_dim};
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
    fn cumsum(&self, dim: isize) -> Result<Tensor> = cumsum {
        in_place: true, samples: cumsum_samples, errors: cumsum_errors,
        python: cumsum(dim, dtype)
    };

    /// The differences of neighbours along `dim`, taken `n` times: element `k` of the first is `x[k + 1] - x[k]`.
    ///
    /// # Shapes
    /// That of the tensor with `dim` shorter by `n`, or of size 0.
    ///
    /// # Dtypes
    /// All; integers wrap on overflow, and bools differ or not.
    ///
    /// # Derivative
    /// Tangents: their differences. Cotangents: their differences with zeros at both ends, negated, `n` times.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.diff(1, 0)?.to_vec::<f64>()?, [1.0, 2.0]);
    /// assert_eq!(x.diff(2, 0)?.to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diff(&self, n: usize, dim: isize) -> Result<Tensor> = diff {
        samples: diff_samples, errors: diff_errors,
        python: diff(n = 1, dim = -1)
    };
}

#[derive(Clone, Debug)]
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

/// The differences of neighbours along a dim that has elements.
#[derive(Clone, Debug)]
struct Diff {
    dim: usize,
}

impl Linear for Diff {
    const NAME: &'static str = "diff";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let n = x.shape()[self.dim] - 1;
        let (left, right) = (x.slice(self.dim, 0, n, 1), x.slice(self.dim, 1, n, 1));
        dispatch!(x.dtype(), "diff", all, T => Ok(map::zip::<T, T, T>(&right, &left, left.shape(),
            #[inline(always)] |a, b| a.minus(b))))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        let end = with_dim(&without_dim(g.shape(), self.dim), self.dim, 1);
        let zero = Tensor::zeros(&end, g.dtype())?;
        neg_owned(linear(self.clone(), &cat(&[&zero, g, &zero], self.dim as isize)?)?)
    }
    fn batched(&self, _: usize) -> Diff {
        Diff { dim: self.dim + 1 }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Diff, usize)> {
        Some((Diff { dim: behind(self.dim, lane) }, lane))
    }
}

fn diff(x: &Tensor, n: usize, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("diff", dim, x.rank(), x.ty())?;
    let mut out = x.unchanged("diff")?;
    for _ in 0..n.min(x.shape()[dim]) {
        out = linear(Diff { dim }, &out)?;
    }
    Ok(out)
}

fn diff_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], n: usize, dim: isize, at: usize| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].diff(n, dim)).reference(move |x| {
            let mut out = x[0].clone();
            for _ in 0..n {
                let mut shape = out.shape.clone();
                shape[at] = shape[at].saturating_sub(1);
                out = Naive::from_fn(&shape, |i| {
                    let mut next = i.to_vec();
                    next[at] += 1;
                    out.at(&next) - out.at(i)
                });
            }
            vec![out]
        })
    };
    vec![
        case("vector", &[4], 1, 0, 0),
        case("last dim, twice", &[2, 4], 2, -1, 1),
        case("middle", &[2, 3, 2], 1, 1, 1),
        case("not at all", &[3], 0, 0, 0),
        case("nothing left", &[2, 3], 3, 1, 1),
        case("more often than possible", &[2, 3], 5, 0, 0),
        case("empty", &[0, 2], 1, 0, 0),
        case("empty beside", &[3, 0], 1, 0, 0),
    ]
}

fn diff_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "diff: dim 2 is out of range for f64[2,3]", move || x.diff(1, 2))]
}
