//! Windows that slide along a dimension.

use super::{behind, move_dim, zeros};
use crate::array::Array;
use crate::error::bail;
use crate::ops::family::{Linear, linear};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, resolve_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// All windows of `size` elements along `dim`, one every `step` elements, as a view: element `k` of window `i` is element
    /// `i * step + k` of the tensor.
    ///
    /// # Shapes
    /// `dim` becomes the dimension of the windows; their elements are a new last dimension. What is left at the end and
    /// fills no window is not in the result.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent of each element, added up over the windows that it is in.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for a step of 0; `Shape` if the windows are larger than the dimension.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let windows = Tensor::from([1, 2, 3, 4, 5]).unfold(0, 3, 2)?;
    /// assert_eq!(windows.shape(), [2, 3]);
    /// assert_eq!(windows.to_vec::<i32>()?, [1, 2, 3, 3, 4, 5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unfold(&self, dim: isize, size: usize, step: usize) -> Result<Tensor> = unfold {
        samples: unfold_samples, errors: unfold_errors,
        python: unfold(dim as dimension, size, step)
    };
}

#[derive(Clone, Copy, Debug)]
struct Unfold {
    dim: usize,
    size: usize,
    step: usize,
}

impl Linear for Unfold {
    const NAME: &'static str = "unfold";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let Unfold { dim, size, step } = *self;
        // A view repeats elements, so that it may have more than memory could hold.
        let mut shape = x.to_shape();
        shape[dim] = (shape[dim] - size) / step + 1;
        shape.push(size);
        crate::tensor::checked_numel("unfold", &shape)?;
        Ok(x.windows(dim, size, step))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        let Unfold { dim, size, step } = *self;
        let count = g.shape()[dim];
        if input.contains(&0) {
            return zeros(input, g.dtype());
        }
        // The elements of each window behind it, and then all of them along one dimension.
        let g = move_dim(g, g.rank() - 1, dim + 1)?;
        let mut shape = Shape::from_slice(g.shape());
        shape.remove(dim + 1);
        shape[dim] = count * size;
        let places: Vec<i64> = (0..count).flat_map(|i| (i * step..i * step + size).map(|k| k as i64)).collect();
        zeros(input, g.dtype())?.index_add(dim as isize, &Tensor::from(places), &g.reshape_to(&shape)?)
    }
    fn batched(&self, _: usize) -> Unfold {
        Unfold { dim: self.dim + 1, ..*self }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Unfold, usize)> {
        Some((Unfold { dim: behind(self.dim, lane), ..*self }, lane))
    }
}

fn unfold(x: &Tensor, dim: isize, size: usize, step: usize) -> Result<Tensor> {
    let dim = resolve_dim("unfold", dim, x.rank(), x.ty())?;
    if step == 0 {
        bail!(Value, "unfold: expected a step of 1 or more, got 0");
    }
    if size > x.shape()[dim] {
        let (n, ty) = (x.shape()[dim], x.ty());
        bail!(Shape, "unfold: expected windows of at most {n} elements along dim {dim} of {ty}, got {size}");
    }
    linear(Unfold { dim, size, step }, x)
}

fn unfold_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: isize, size: usize, step: usize| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].unfold(dim, size, step)).reference(
            move |x| {
                let mut out = x[0].shape.clone();
                out[d] = (0..).take_while(|i| i * step + size <= x[0].shape[d]).count();
                out.push(size);
                vec![Naive::from_fn(&out, |at| {
                    let mut from = at[..at.len() - 1].to_vec();
                    from[d] = from[d] * step + at[at.len() - 1];
                    x[0].at(&from)
                })]
            },
        )
    };
    vec![
        case("overlapping", &[7], 0, 3, 2),
        case("every one", &[2, 4], -1, 2, 1),
        case("apart", &[6, 2], 0, 2, 3),
        case("whole", &[2, 3, 2], 1, 3, 5),
        case("of one", &[3], 0, 1, 1),
        case("of nothing", &[3], 0, 0, 2),
        case("empty", &[0, 3], 1, 2, 1),
    ]
}

fn unfold_errors() -> Vec<ErrorSample> {
    let case = |label: &str, kind: ErrorKind, message: &'static str, dim: isize, size: usize, step: usize| {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || x.unfold(dim, size, step))
    };
    vec![
        case(
            "size",
            ErrorKind::Shape,
            "expected windows of at most 3 elements along dim 1 of f64[2,3], got 4",
            1,
            4,
            1,
        ),
        case("step", ErrorKind::Value, "expected a step of 1 or more, got 0", 1, 2, 0),
        case("dim", ErrorKind::Dim, "unfold: dim 2 is out of range for f64[2,3]", 2, 1, 1),
    ]
}
