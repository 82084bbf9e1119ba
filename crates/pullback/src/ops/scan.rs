//! Running sums, and the differences that undo them.

use smallvec::SmallVec;

use super::arith::{Arithmetic, neg_owned};
use super::family::{Linear, linear};
use super::join::cat;
use super::shape::{behind, broadcast_to};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
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

    /// The differences of neighbours along `dim`, taken `n` times, of the tensor with others before and behind it.
    ///
    /// This is [`diff`](Tensor::diff) of what [`cat`](crate::cat) makes of the three. Taken not at all, it is the tensor alone.
    ///
    /// # Shapes
    /// `prepend` and `append` have the shape of the tensor in every dimension but `dim`; a 0-d one counts as one element at each
    /// place. The result is shorter than all of them together by `n`, or of size 0.
    ///
    /// # Dtypes
    /// All, promoted to a common one.
    ///
    /// # Derivative
    /// That of [`diff`](Tensor::diff), each tensor's slice of it.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if the shapes differ elsewhere.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, zero) = (Tensor::from([1.0, 2.0, 4.0]), Tensor::from(0.0));
    /// assert_eq!(x.diff_with(1, 0, Some(&zero), None)?.to_vec::<f64>()?, [1.0, 1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diff_with(&self, n: usize, dim: isize, prepend: Option<&Tensor>, append: Option<&Tensor>) -> Result<Tensor> = diff_with {
        samples: diff_with_samples, errors: diff_with_errors,
        python: diff(n = 1, dim = -1, prepend, append)
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

fn diff_with(x: &Tensor, n: usize, dim: isize, prepend: Option<&Tensor>, append: Option<&Tensor>) -> Result<Tensor> {
    let op = "diff";
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    let one = with_dim(&without_dim(x.shape(), dim), dim, 1);
    let fitted = |name: &str, beside: Option<&Tensor>| {
        let Some(t) = beside else { return Ok(None) };
        let t = t.unchanged(op)?;
        if t.rank() == 0 {
            return broadcast_to(&t, &one).map(Some);
        }
        if t.rank() != x.rank() || without_dim(t.shape(), dim) != without_dim(x.shape(), dim) {
            bail!(Shape, "{op}: expected {name} of the shape of {} in every dim but {dim}, got {}", x.ty(), t.ty());
        }
        Ok(Some(t))
    };
    let (before, after) = (fitted("a `prepend`", prepend)?, fitted("an `append`", append)?);
    if n == 0 {
        return x.unchanged(op);
    }
    let parts: SmallVec<[&Tensor; 3]> = before.iter().chain([x]).chain(&after).collect();
    diff(&cat(&parts, dim as isize)?, n, dim as isize)
}

/// The differences of neighbours along dimension `at`, `n` times.
fn naive_diff(x: &Naive, n: usize, at: usize) -> Naive {
    let mut out = x.clone();
    for _ in 0..n {
        let mut shape = out.shape.clone();
        shape[at] = shape[at].saturating_sub(1);
        out = Naive::from_fn(&shape, |i| {
            let mut next = i.to_vec();
            next[at] += 1;
            out.at(&next) - out.at(i)
        });
    }
    out
}

fn diff_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], n: usize, dim: isize, at: usize| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].diff(n, dim))
            .reference(move |x| vec![naive_diff(&x[0], n, at)])
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

fn diff_with_samples() -> Vec<Sample> {
    // Whether the others stand before and behind the tensor.
    let case = |label: &str, shapes: &[&[usize]], n: usize, dim: isize, at: usize, [before, after]: [bool; 2]| {
        let inputs: Vec<Tensor> =
            shapes.iter().enumerate().map(|(k, s)| sample_tensor(s, -1.0, 1.0, k as u64 + 1)).collect();
        let last = shapes.len() - 1;
        Sample::one(label, inputs, move |x| x[0].diff_with(n, dim, before.then(|| &x[1]), after.then(|| &x[last])))
            .reference(move |x| {
                let mut parts = vec![&x[0]];
                if before {
                    parts.insert(0, &x[1]);
                }
                if after {
                    parts.push(&x[last]);
                }
                let size = |t: &Naive| if t.shape.is_empty() { 1 } else { t.shape[at] };
                let mut shape = x[0].shape.clone();
                shape[at] = parts.iter().map(|t| size(t)).sum();
                let whole = Naive::from_fn(&shape, |i| {
                    let (mut own, mut part) = (i.to_vec(), 0);
                    while own[at] >= size(parts[part]) {
                        own[at] -= size(parts[part]);
                        part += 1;
                    }
                    parts[part].at(if parts[part].shape.is_empty() { &[] } else { &own })
                });
                vec![naive_diff(if n == 0 { &x[0] } else { &whole }, n, at)]
            })
    };
    vec![
        case("both sides", &[&[3], &[1], &[2]], 1, 0, 0, [true, true]),
        case("before, twice", &[&[2, 2], &[2, 1]], 2, -1, 1, [true, false]),
        case("behind", &[&[2, 2], &[1, 2]], 1, 0, 0, [false, true]),
        case("0-d", &[&[2, 2], &[], &[]], 1, -1, 1, [true, true]),
        case("not at all", &[&[2], &[1]], 0, 0, 0, [true, false]),
        case("of none", &[&[0, 2], &[1, 2], &[2, 2]], 1, 0, 0, [true, true]),
        case("empty", &[&[0], &[0]], 1, 0, 0, [true, false]),
        case("alone", &[&[3]], 1, 0, 0, [false, false]),
    ]
}

fn diff_with_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("dim", ErrorKind::Dim, "diff: dim 2 is out of range for f64[2,3]", move || {
            x().diff_with(1, 2, Some(&x()), None)
        }),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "diff: expected an `append` of the shape of f64[2,3] in every dim but 1, got f64[1,3]",
            move || x().diff_with(1, 1, None, Some(&sample_tensor(&[1, 3], 0.0, 1.0, 2))),
        ),
        ErrorSample::new(
            "rank",
            ErrorKind::Shape,
            "diff: expected a `prepend` of the shape of f64[2,3] in every dim but 1, got f64[2]",
            move || x().diff_with(1, 1, Some(&sample_tensor(&[2], 0.0, 1.0, 2)), None),
        ),
    ]
}

fn diff_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "diff: dim 2 is out of range for f64[2,3]", move || x.diff(1, 2))]
}
