//! The same elements in the same order under other shapes.

use super::failing;
use crate::array::Array;
use crate::error::bail;
use crate::kernels::copy;
use crate::ops::family::{Linear, linear};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Brackets, Shape, numel, resolve_dim, with_dim, without_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The same elements in row-major order under another shape.
    ///
    /// # Shapes
    /// `shape` must have as many elements as the tensor. One size may be `-1`: it is inferred.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The reshape back.
    ///
    /// # Errors
    /// `Shape` if the number of elements differs, or `-1` is ambiguous.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3, 4, 5, 6]).reshape(&[2, -1])?;
    /// assert_eq!(x.shape(), [2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn reshape(&self, shape: &[isize]) -> Result<Tensor> = reshape {
        samples: reshape_samples, errors: reshape_errors,
        python: reshape(*shape),
        python: view(*shape)
    };

    /// A dimension of size 1 put in at `dim`.
    ///
    /// # Shapes
    /// `dim` counts in the result: `-1` appends a dimension.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The removal of the dimension.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2]).unsqueeze(-1)?.shape(), [2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unsqueeze(&self, dim: isize) -> Result<Tensor> = unsqueeze { samples: unsqueeze_samples, errors: unsqueeze_errors };

    /// The tensor without dimension `dim` if that has size 1, otherwise unchanged.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The dimension put back.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2]]);
    /// assert_eq!(x.squeeze(0)?.shape(), [2]);
    /// assert_eq!(x.squeeze(1)?.shape(), [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn squeeze(&self, dim: isize) -> Result<Tensor> = squeeze { samples: squeeze_samples, errors: squeeze_errors };

    /// The tensor without its dimensions of size 1.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The dimensions put back.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::zeros(&[1, 3, 1], DType::F32)?.squeeze_all()?.shape(), [3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn squeeze_all(&self) -> Result<Tensor> = squeeze_all {
        samples: squeeze_all_samples,
        python: squeeze()
    };

    /// The dimensions from `start` to `end`, both included, merged into one.
    ///
    /// # Shapes
    /// `[a,b,c]` from 0 to 1 becomes `[a*b,c]`; from 0 to -1, `[a*b*c]`. A 0-d tensor becomes `[1]`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The dimensions split again.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or `end` comes before `start`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::zeros(&[2, 3, 4], DType::F32)?.flatten(1, -1)?.shape(), [2, 12]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn flatten(&self, start: isize, end: isize) -> Result<Tensor> = flatten {
        samples: flatten_samples, errors: flatten_errors,
        python: flatten(start as start_dim = 0, end as end_dim = -1)
    };

    /// Dimension `dim` split into several: the inverse of [`flatten`](Tensor::flatten).
    ///
    /// # Shapes
    /// The product of `sizes` is the size of `dim`. One size may be `-1`: it is inferred.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The dimensions merged again.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if the product is another.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::zeros(&[2, 12], DType::F32)?.unflatten(1, &[3, -1])?.shape(), [2, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unflatten(&self, dim: isize, sizes: &[isize]) -> Result<Tensor> = unflatten
        { samples: unflatten_samples, errors: unflatten_errors };
}

#[derive(Clone, Debug)]
struct Reshape(Shape);

impl Linear for Reshape {
    const NAME: &'static str = "reshape";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        match x.reshape_view(&self.0) {
            Some(view) => Ok(view),
            None => match copy::contiguous(x).reshape_view(&self.0) {
                Some(view) => Ok(view),
                None => bail!(Internal, "reshape: a contiguous array has a view of every shape"),
            },
        }
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        g.reshape_to(input)
    }
    fn batched(&self, size: usize) -> Reshape {
        Reshape(with_dim(&self.0, 0, size))
    }
    /// Lanes stay where as many elements come before them as before some dim of the result: then neither side of them
    /// mixes with the other, and what is a view of one lane is one of all. Of several such dims the nearest one.
    fn batched_in_place(&self, input: &[usize], lane: usize) -> Option<(Reshape, usize)> {
        let before = numel(&input[..lane]);
        let fits = |&q: &usize| numel(&self.0[..q]) == before;
        let place = (0..=self.0.len()).filter(fits).min_by_key(|q| q.abs_diff(lane))?;
        Some((Reshape(with_dim(&self.0, place, input[lane])), place))
    }
}

/// Sizes of which one may be -1, with `n` elements in all; `what` is being reshaped to them.
fn infer(op: &str, sizes: &[isize], n: usize, what: impl Fn() -> String) -> Result<Shape> {
    let mut out = Shape::new();
    let mut inferred = None;
    for (k, &s) in sizes.iter().enumerate() {
        match s {
            -1 if inferred.is_none() => {
                inferred = Some(k);
                out.push(1);
            }
            s if s >= 0 => out.push(s as usize),
            _ => bail!(Shape, "{op}: expected sizes of at least 0 and at most one -1, got {}", Brackets(sizes)),
        }
    }
    let known = out.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match (inferred, known) {
        (None, Some(m)) if m == n => {}
        (Some(k), Some(m)) if m > 0 && n.is_multiple_of(m) => out[k] = n / m,
        (Some(_), Some(0)) => {
            bail!(Shape, "{op}: cannot infer -1 in {} beside a size of 0", Brackets(sizes); help = "write the size")
        }
        _ => bail!(Shape, "{op}: expected a shape of {n} elements for {}, got {}", what(), Brackets(sizes)),
    }
    Ok(out)
}

fn reshape(x: &Tensor, shape: &[isize]) -> Result<Tensor> {
    x.reshape_to(&infer("reshape", shape, x.numel(), || x.ty().to_string())?)
}

impl Tensor {
    /// [`reshape`](Tensor::reshape) to sizes that are known to be right.
    pub(crate) fn reshape_to(&self, shape: &[usize]) -> Result<Tensor> {
        if self.shape() == shape {
            return self.unchanged("reshape");
        }
        debug_assert_eq!(numel(shape), self.numel());
        // The usual case needs no operation that holds the shape.
        if let Some(view) = self.array().and_then(|x| x.reshape_view(shape)) {
            return Ok(view.into());
        }
        linear(Reshape(Shape::from_slice(shape)), self)
    }
}

fn unsqueeze(x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("unsqueeze", dim, x.rank() + 1, format_args!("the result of {}", x.ty()))?;
    x.reshape_to(&with_dim(x.shape(), dim, 1))
}

fn squeeze(x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("squeeze", dim, x.rank(), x.ty())?;
    if x.shape()[dim] != 1 {
        return x.unchanged("squeeze");
    }
    x.reshape_to(&without_dim(x.shape(), dim))
}

fn squeeze_all(x: &Tensor) -> Result<Tensor> {
    let kept: Shape = x.shape().iter().copied().filter(|&n| n != 1).collect();
    x.reshape_to(&kept)
}

fn flatten(x: &Tensor, start: isize, end: isize) -> Result<Tensor> {
    if x.rank() == 0 && (-1..=0).contains(&start) && (-1..=0).contains(&end) {
        return x.reshape_to(&[1]);
    }
    let first = resolve_dim("flatten", start, x.rank(), x.ty())?;
    let last = resolve_dim("flatten", end, x.rank(), x.ty())?;
    if last < first {
        bail!(Dim, "flatten: expected a start no later than the end, got {start} and {end} for {}", x.ty());
    }
    let mut shape = Shape::from_slice(&x.shape()[..first]);
    shape.push(numel(&x.shape()[first..=last]));
    shape.extend_from_slice(&x.shape()[last + 1..]);
    x.reshape_to(&shape)
}

fn unflatten(x: &Tensor, dim: isize, sizes: &[isize]) -> Result<Tensor> {
    let dim = resolve_dim("unflatten", dim, x.rank(), x.ty())?;
    let n = x.shape()[dim];
    let sizes = infer("unflatten", sizes, n, || format!("dim {dim} of {}", x.ty()))?;
    let mut shape = Shape::from_slice(&x.shape()[..dim]);
    shape.extend_from_slice(&sizes);
    shape.extend_from_slice(&x.shape()[dim + 1..]);
    x.reshape_to(&shape)
}

/// A sample whose result has the elements of the input and this shape.
fn case(
    label: &str,
    from: &[usize],
    to: &'static [usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Sample {
    Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| call(&x[0]))
        .reference(move |x| vec![Naive { shape: to.to_vec(), data: x[0].data.clone() }])
}

fn reshape_samples() -> Vec<Sample> {
    vec![
        case("merge", &[2, 3, 2], &[6, 2], |x| x.reshape(&[6, 2])),
        case("infer", &[2, 3, 2], &[2, 6], |x| x.reshape(&[2, -1])),
        case("across", &[2, 6], &[3, 4], |x| x.reshape(&[3, 4])),
        case("ones", &[2, 3], &[1, 2, 1, 3, 1], |x| x.reshape(&[1, 2, 1, 3, 1])),
        case("to 0-d", &[1, 1], &[], |x| x.reshape(&[])),
        case("empty", &[0, 3], &[3, 0], |x| x.reshape(&[3, 0])),
    ]
}

fn reshape_errors() -> Vec<ErrorSample> {
    vec![
        failing("size", ErrorKind::Shape, "expected a shape of 6 elements for f64[2,3], got [4,2]", |x| {
            x.reshape(&[4, 2])
        }),
        failing("two inferred", ErrorKind::Shape, "at most one -1", |x| x.reshape(&[-1, -1])),
        failing("beside 0", ErrorKind::Shape, "cannot infer -1 in [0,-1]", |x| x.reshape(&[0, -1])),
    ]
}

fn unsqueeze_samples() -> Vec<Sample> {
    vec![
        case("front", &[2, 3], &[1, 2, 3], |x| x.unsqueeze(0)),
        case("back", &[2], &[2, 1], |x| x.unsqueeze(-1)),
        case("0-d", &[], &[1], |x| x.unsqueeze(0)),
    ]
}

fn unsqueeze_errors() -> Vec<ErrorSample> {
    vec![failing("dim", ErrorKind::Dim, "dim 3 is out of range for the result of f64[2,3] (valid: -3..=2)", |x| {
        x.unsqueeze(3)
    })]
}

fn squeeze_samples() -> Vec<Sample> {
    vec![
        case("middle", &[2, 1, 3], &[2, 3], |x| x.squeeze(1)),
        case("not one", &[2, 3], &[2, 3], |x| x.squeeze(-1)),
        case("empty", &[0, 1], &[0], |x| x.squeeze(1)),
    ]
}

fn squeeze_errors() -> Vec<ErrorSample> {
    vec![failing("dim", ErrorKind::Dim, "squeeze: dim 2 is out of range for f64[2,3]", |x| x.squeeze(2))]
}

fn squeeze_all_samples() -> Vec<Sample> {
    vec![
        case("some", &[1, 2, 1, 3], &[2, 3], Tensor::squeeze_all),
        case("all", &[1, 1], &[], Tensor::squeeze_all),
        case("none", &[2, 3], &[2, 3], Tensor::squeeze_all),
        case("0-d", &[], &[], Tensor::squeeze_all),
        case("empty", &[1, 0], &[0], Tensor::squeeze_all),
    ]
}

fn flatten_samples() -> Vec<Sample> {
    vec![
        case("all", &[2, 3, 2], &[12], |x| x.flatten(0, -1)),
        case("tail", &[2, 3, 2], &[2, 6], |x| x.flatten(1, 2)),
        case("one", &[2, 3], &[2, 3], |x| x.flatten(-1, 1)),
        case("0-d", &[], &[1], |x| x.flatten(0, -1)),
        case("empty", &[2, 0], &[0], |x| x.flatten(0, 1)),
    ]
}

fn flatten_errors() -> Vec<ErrorSample> {
    vec![
        failing("order", ErrorKind::Dim, "expected a start no later than the end, got 1 and 0 for f64[2,3]", |x| {
            x.flatten(1, 0)
        }),
        failing("dim", ErrorKind::Dim, "flatten: dim 2 is out of range for f64[2,3]", |x| x.flatten(0, 2)),
    ]
}

fn unflatten_samples() -> Vec<Sample> {
    vec![
        case("middle", &[2, 6, 2], &[2, 2, 3, 2], |x| x.unflatten(1, &[2, 3])),
        case("infer", &[6], &[3, 2], |x| x.unflatten(-1, &[-1, 2])),
        case("empty", &[0, 2], &[0, 3, 2], |x| x.unflatten(0, &[0, 3])),
    ]
}

fn unflatten_errors() -> Vec<ErrorSample> {
    vec![
        failing("product", ErrorKind::Shape, "expected a shape of 3 elements for dim 1 of f64[2,3], got [2,2]", |x| {
            x.unflatten(1, &[2, 2])
        }),
        failing("dim", ErrorKind::Dim, "unflatten: dim 2 is out of range for f64[2,3]", |x| x.unflatten(2, &[1])),
    ]
}
