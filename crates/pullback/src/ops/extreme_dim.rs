//! The largest and smallest elements along a dimension, with their positions.

use super::table::{ErrorSample, Kink, Naive, Sample, failing, ops, sample_tensor};
use crate::error::bail;
use crate::shape::resolve_dim;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The largest elements along `dim`, and their positions as `i64`; of equal ones the first, and NaN where there is one.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All that have an order; `true` is larger than `false`.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements at these positions; other elements that tie get none.
    /// [`max_dims`](Tensor::max_dims) shares among them.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([[1.0, 4.0], [3.0, 2.0]]).max_dim(1, false)?;
    /// assert_eq!(values.to_vec::<f64>()?, [4.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_dim(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = max_dim {
        samples: max_samples, errors: max_errors, kinks: max_kinks,
        python: max(dim, keepdim) -> (values, indices)
    };

    /// The smallest elements along `dim`, and their positions as `i64`; of equal ones the first, and NaN where there is one.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All that have an order; `false` is smaller than `true`.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements at these positions; other elements that tie get none.
    /// [`min_dims`](Tensor::min_dims) shares among them.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([[1.0, 4.0], [3.0, 2.0]]).min_dim(1, false)?;
    /// assert_eq!(values.to_vec::<f64>()?, [1.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn min_dim(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = min_dim {
        samples: min_samples, errors: min_errors, kinks: min_kinks,
        python: min(dim, keepdim) -> (values, indices)
    };
}

fn max_dim(x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    pick("max_dim", x, dim, keepdim, Tensor::argmax)
}

fn min_dim(x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    pick("min_dim", x, dim, keepdim, Tensor::argmin)
}

/// The elements at the places that `find` finds.
fn pick(
    op: &str,
    x: &Tensor,
    dim: isize,
    keepdim: bool,
    find: fn(&Tensor, isize, bool) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    let axis = resolve_dim(op, dim, x.rank(), x.ty())?;
    if x.shape()[axis] == 0 {
        bail!(Shape, "{op}: expected at least one element along dim {axis}, got {}", x.ty());
    }
    let places = find(x, dim, true)?;
    let values = x.take_along_dim(&places, dim)?;
    Ok(if keepdim { (values, places) } else { (values.squeeze(dim)?, places.squeeze(dim)?) })
}

type Picked = Result<(Tensor, Tensor)>;

fn samples(call: fn(&Tensor, isize, bool) -> Picked, better: fn(f64, f64) -> bool) -> Vec<Sample> {
    let case = |label: &str, x: Tensor, dim: usize, keepdim: bool| {
        Sample::new(label, [x], move |x| {
            let (values, places) = call(&x[0], dim as isize, keepdim)?;
            Ok(vec![values, places])
        })
        .reference(move |x| {
            let mut kept = x[0].shape.clone();
            kept[dim] = 1;
            let place = |i: &[usize]| {
                let at = |k: usize| {
                    let mut i = i.to_vec();
                    i[dim] = k;
                    x[0].at(&i)
                };
                (1..x[0].shape[dim]).fold(0, |best, k| if better(at(k), at(best)) { k } else { best })
            };
            let places = Naive::from_fn(&kept, |i| place(i) as f64);
            let values = Naive::from_fn(&kept, |i| {
                let mut i = i.to_vec();
                i[dim] = place(&i);
                x[0].at(&i)
            });
            let finish = |mut y: Naive| {
                if !keepdim {
                    y.shape.remove(dim);
                }
                y
            };
            vec![finish(values), finish(places)]
        })
    };
    vec![
        case("rows", sample_tensor(&[3, 4], -1.0, 1.0, 1), 1, false),
        case("columns, kept", sample_tensor(&[3, 4], -1.0, 1.0, 2), 0, true),
        case("vector", sample_tensor(&[5], -1.0, 1.0, 3), 0, false),
        case("no rows", sample_tensor(&[0, 2], -1.0, 1.0, 4), 1, false),
        case("ties", Tensor::from([[1.0, 2.0, 2.0, 1.0], [3.0, 3.0, 3.0, 3.0]]), 1, false).not_differentiable(),
    ]
}

fn max_samples() -> Vec<Sample> {
    samples(Tensor::max_dim, |a, b| a > b)
}

fn min_samples() -> Vec<Sample> {
    samples(Tensor::min_dim, |a, b| a < b)
}

fn errors(call: fn(&Tensor, isize, bool) -> Picked) -> Vec<ErrorSample> {
    vec![
        failing(
            "dim",
            ErrorKind::Dim,
            "dim 2 is out of range for f64[2,3]",
            &[2, 3],
            move |x| Ok(call(x, 2, false)?.0),
        ),
        failing(
            "empty",
            ErrorKind::Shape,
            "expected at least one element along dim 1, got f64[2,0]",
            &[2, 0],
            move |x| Ok(call(x, 1, false)?.0),
        ),
    ]
}

fn max_errors() -> Vec<ErrorSample> {
    errors(Tensor::max_dim)
}

fn min_errors() -> Vec<ErrorSample> {
    errors(Tensor::min_dim)
}

fn max_kinks() -> Vec<Kink> {
    vec![Kink::new("two ties", Tensor::from([0.0, 1.0, 1.0]), [0.0, 1.0, 0.0], |x| Ok(x.max_dim(0, false)?.0))]
}

fn min_kinks() -> Vec<Kink> {
    vec![Kink::new("two ties", Tensor::from([2.0, 1.0, 1.0]), [0.0, 1.0, 0.0], |x| Ok(x.min_dim(0, false)?.0))]
}
