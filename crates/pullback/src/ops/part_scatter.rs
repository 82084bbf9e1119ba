//! A part of a tensor, taken along a dimension or a diagonal, replaced by another tensor.

use super::diag::diagonal_put;
use super::region::put_part;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::shape::{Brackets, resolve_dim};
use crate::tensor::{IndexItem, IndexItems, Part};
use crate::{ErrorKind, Result, Tensor, s};

ops! { OPS;
    /// The tensor with the slice at `index` along `dim` replaced by `src`.
    ///
    /// # Shapes
    /// `src` has the shape of [`select`](Tensor::select) with these arguments.
    ///
    /// # Dtypes
    /// All. `src` is converted to the dtype of the tensor, whose category must not be lower.
    ///
    /// # Derivative
    /// For the tensor the cotangent with zeros in the slice, for `src` the slice of the cotangent.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if `index` is; `Shape` if `src` has another shape; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.select_scatter(&Tensor::from([7, 8]), 1, 0)?.to_vec::<i32>()?, [7, 2, 8, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn select_scatter(&self, src: &Tensor, dim: isize, index: isize) -> Result<Tensor> = select_scatter
        { samples: select_scatter_samples, errors: select_scatter_errors };

    /// The tensor with `start..end` in steps of `step` along `dim` replaced by `src`.
    ///
    /// # Shapes
    /// `src` has the shape of [`slice`](Tensor::slice) with these arguments.
    ///
    /// # Dtypes
    /// All. `src` is converted to the dtype of the tensor, whose category must not be lower.
    ///
    /// # Derivative
    /// For the tensor the cotangent with zeros in the slice, for `src` the slice of the cotangent.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for a step of 0; `Shape` if `src` has another shape; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3, 4]);
    /// assert_eq!(x.slice_scatter(&Tensor::from([7, 8]), 0, 0, None, 2)?.to_vec::<i32>()?, [7, 2, 8, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn slice_scatter(
        &self,
        src: &Tensor,
        dim: isize,
        start: impl Into<Option<isize>>,
        end: impl Into<Option<isize>>,
        step: isize,
    ) -> Result<Tensor> = slice_scatter {
        samples: slice_scatter_samples, errors: slice_scatter_errors,
        python: slice_scatter(src, dim = 0, start, end, step = 1)
    };

    /// The tensor with a diagonal of dimensions `dim1` and `dim2` replaced by `src`.
    ///
    /// # Shapes
    /// `src` has the shape of [`diagonal`](Tensor::diagonal) with these arguments.
    ///
    /// # Dtypes
    /// All. `src` is converted to the dtype of the tensor, whose category must not be lower.
    ///
    /// # Derivative
    /// For the tensor the cotangent with zeros on the diagonal, for `src` the diagonal of the cotangent.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or both are the same; `Shape` if `src` has another shape; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.diagonal_scatter(&Tensor::from([7, 8]), 0, 0, 1)?.to_vec::<i32>()?, [7, 2, 3, 8]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diagonal_scatter(&self, src: &Tensor, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> = diagonal_scatter {
        samples: diagonal_scatter_samples, errors: diagonal_scatter_errors,
        python: diagonal_scatter(src, offset = 0, dim1 = 0, dim2 = 1)
    };
}

fn check_src(op: &str, x: &Tensor, src: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if !src.dtype().fits_in(x.dtype()) {
        let (x, src) = (x.ty(), src.ty());
        bail!(Dtype, "{op}: expected a src that can be stored in {x}, got {src}"; help = "convert one of them with \
            `to_dtype`");
    }
    if src.shape() != shape {
        let (x, src) = (x.ty(), src.ty());
        bail!(Shape, "{op}: expected a src of shape {} for this part of {x}, got {src}", Brackets(shape); help = "`expand` \
            repeats it");
    }
    src.to_dtype(x.dtype())
}

fn along(op: &'static str, x: &Tensor, src: &Tensor, dim: isize, item: IndexItem) -> Result<Tensor> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    let mut items = IndexItems::from_elem((..).into(), dim);
    items.push(item);
    let part = Part::of(op, x, items)?;
    put_part(op, x, &part, &check_src(op, x, src, &part.shape)?, false)
}

fn select_scatter(x: &Tensor, src: &Tensor, dim: isize, index: isize) -> Result<Tensor> {
    along("select_scatter", x, src, dim, index.into())
}

fn slice_scatter(
    x: &Tensor,
    src: &Tensor,
    dim: isize,
    start: impl Into<Option<isize>>,
    end: impl Into<Option<isize>>,
    step: isize,
) -> Result<Tensor> {
    along("slice_scatter", x, src, dim, s(start.into(), end.into(), step))
}

fn diagonal_scatter(x: &Tensor, src: &Tensor, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
    let op = "diagonal_scatter";
    diagonal_put(op, x, offset, [dim1, dim2], |shape| check_src(op, x, src, shape))
}

/// A sample of an operation that replaces a part: `inside` gives the element of `src` that an element of the result is.
fn case(
    label: &str,
    shape: &[usize],
    src: &[usize],
    call: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    inside: impl Fn(&[usize]) -> Option<Vec<usize>> + Send + Sync + 'static,
) -> Sample {
    let inputs = [sample_tensor(shape, -1.0, 1.0, 1), sample_tensor(src, -1.0, 1.0, 2)];
    Sample::one(label, inputs, move |x| call(&x[0], &x[1])).reference(move |x| {
        vec![Naive::from_fn(&x[0].shape, |at| inside(at).map_or(x[0].at(at), |from| x[1].at(&from)))]
    })
}

fn select_scatter_samples() -> Vec<Sample> {
    vec![
        case("row", &[3, 2], &[2], |x, y| x.select_scatter(y, 0, 1), |i| (i[0] == 1).then(|| vec![i[1]])),
        case("last column", &[3, 2], &[3], |x, y| x.select_scatter(y, -1, -1), |i| (i[1] == 1).then(|| vec![i[0]])),
        case("one of a vector", &[3], &[], |x, y| x.select_scatter(y, 0, 2), |i| (i[0] == 2).then(Vec::new)),
        case("empty", &[2, 0], &[0], |x, y| x.select_scatter(y, 0, 0), |_| None),
    ]
}

fn errors_of(label: &str, kind: ErrorKind, message: &'static str, call: fn(&Tensor) -> Result<Tensor>) -> ErrorSample {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    ErrorSample::new(label, kind, message, move || call(&x))
}

fn select_scatter_errors() -> Vec<ErrorSample> {
    vec![
        errors_of("index", ErrorKind::Index, "select_scatter: index 3 is out of range for dim 1 of f64[2,3]", |x| {
            x.select_scatter(&x.i((.., 0))?, 1, 3)
        }),
        errors_of(
            "src",
            ErrorKind::Shape,
            "expected a src of shape [2] for this part of f64[2,3], got f64[2,3]",
            |x| x.select_scatter(x, 1, 0),
        ),
        errors_of("dtype", ErrorKind::Dtype, "a src that can be stored in i32[1], got f64[]", |x| {
            Tensor::from([1]).select_scatter(&x.i((0, 0))?, 0, 0)
        }),
        errors_of("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", |x| x.select_scatter(x, 2, 0)),
    ]
}

fn slice_scatter_samples() -> Vec<Sample> {
    vec![
        case(
            "range",
            &[4, 2],
            &[2, 2],
            |x, y| x.slice_scatter(y, 0, 1, -1, 1),
            |i| (1..3).contains(&i[0]).then(|| vec![i[0] - 1, i[1]]),
        ),
        case(
            "backwards",
            &[2, 4],
            &[2, 2],
            |x, y| x.slice_scatter(y, 1, None, None, -2),
            |i| (i[1] % 2 == 1).then(|| vec![i[0], (3 - i[1]) / 2]),
        ),
        case("nothing", &[3], &[0], |x, y| x.slice_scatter(y, 0, 2, 1, 1), |_| None),
        case("all", &[3], &[3], |x, y| x.slice_scatter(y, 0, None, None, 1), |i| Some(i.to_vec())),
    ]
}

fn slice_scatter_errors() -> Vec<ErrorSample> {
    vec![
        errors_of("src", ErrorKind::Shape, "expected a src of shape [2,2] for this part of f64[2,3]", |x| {
            x.slice_scatter(x, 1, 1, None, 1)
        }),
        errors_of("step", ErrorKind::Value, "expected a step other than 0", |x| x.slice_scatter(x, 1, None, None, 0)),
    ]
}

fn diagonal_scatter_samples() -> Vec<Sample> {
    vec![
        case("above", &[3, 4], &[3], |x, y| x.diagonal_scatter(y, 1, 0, 1), |i| (i[1] == i[0] + 1).then(|| vec![i[0]])),
        case(
            "ends of three",
            &[2, 3, 2],
            &[3, 2],
            |x, y| x.diagonal_scatter(y, 0, 0, -1),
            |i| (i[0] == i[2]).then(|| vec![i[1], i[0]]),
        ),
        case("beyond", &[2, 2], &[0], |x, y| x.diagonal_scatter(y, -5, 0, 1), |_| None),
        case("empty", &[0, 3], &[0], |x, y| x.diagonal_scatter(y, 0, 0, 1), |_| None),
    ]
}

fn diagonal_scatter_errors() -> Vec<ErrorSample> {
    vec![
        errors_of("src", ErrorKind::Shape, "expected a src of shape [2] for this part of f64[2,3]", |x| {
            x.diagonal_scatter(x, 0, 0, 1)
        }),
        errors_of("same", ErrorKind::Dim, "expected two different dims of f64[2,3], got 1 and -1", |x| {
            x.diagonal_scatter(x, 0, 1, -1)
        }),
    ]
}
