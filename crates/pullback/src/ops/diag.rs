//! Diagonals and triangles.

use super::family::{Linear, linear};
use super::shape::{Placed, View, ViewOp, behind};
use super::table::{ErrorSample, Naive, Sample, failing, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::triangle::triangle;
use crate::shape::{Shape, resolve_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The diagonal of dimensions `dim1` and `dim2`, as a view.
    ///
    /// # Shapes
    /// Both dimensions are removed and the diagonal is appended as the last one. A positive `offset` means a diagonal
    /// further along `dim2`, a negative one further along `dim1`; beyond the matrix it has size 0.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent on the diagonal, zero elsewhere.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or both are the same.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.diagonal(0, 0, 1)?.to_vec::<i32>()?, [1, 5]);
    /// assert_eq!(x.diagonal(1, 0, 1)?.to_vec::<i32>()?, [2, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diagonal(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> = diagonal {
        samples: diagonal_samples, errors: diagonal_errors,
        python: diagonal(offset = 0, dim1 = 0, dim2 = 1)
    };

    /// Square matrices of zeros with the vectors along the last dimension on a diagonal: the transpose of
    /// [`diagonal`](Tensor::diagonal).
    ///
    /// # Shapes
    /// `[.., n]` becomes matrices of size `n` plus the distance of `offset` from 0, whose rows and columns are
    /// dimensions `dim1` and `dim2` of the result.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The diagonal of the cotangent.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or both are the same, or if the tensor is 0-d; `Shape` if the result is too
    /// large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).diag_embed(1, 0, 1)?;
    /// assert_eq!(x.to_vec::<i32>()?, [0, 1, 0, 0, 0, 2, 0, 0, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diag_embed(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> = diag_embed {
        samples: diag_embed_samples, errors: diag_embed_errors,
        python: diag_embed(offset = 0, dim1 = -2, dim2 = -1)
    };

    /// The matrix with a vector on diagonal number `offset`, or the diagonal of a matrix.
    ///
    /// # Shapes
    /// `[n]` becomes a square matrix, `[m,n]` a vector; see [`diagonal`](Tensor::diagonal) for offsets.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// For a vector the diagonal of the cotangent, for a matrix the cotangent on the diagonal.
    ///
    /// # Errors
    /// `Shape` unless there are one or two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).diag(0)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 0, 0, 2]);
    /// assert_eq!(x.diag(0)?.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn diag(&self, offset: isize) -> Result<Tensor> = diag {
        samples: diag_samples, errors: diag_errors,
        python: diag(offset as diagonal = 0)
    };

    /// The sum of the diagonal of a matrix.
    ///
    /// # Shapes
    /// `[m,n]` becomes 0-d.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent on the diagonal.
    ///
    /// # Errors
    /// `Shape` unless there are two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).trace()?.item::<f64>()?, 5.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn trace(&self) -> Result<Tensor> = trace { samples: trace_samples, errors: trace_errors };

    /// The lower triangle of the matrices in the last two dimensions: zeros above diagonal number `diagonal`.
    ///
    /// # Shapes
    /// The shape stays. Positive numbers keep diagonals above the main one, negative ones clear it.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The lower triangle of the cotangent. What was cleared has no influence, not even if it was `NaN`.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).tril(0)?.to_vec::<i32>()?, [1, 0, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tril(&self, diagonal: isize) -> Result<Tensor> = tril {
        in_place: true, samples: tril_samples, errors: tril_errors,
        python: tril(diagonal = 0)
    };

    /// The upper triangle of the matrices in the last two dimensions: zeros below diagonal number `diagonal`.
    ///
    /// # Shapes
    /// The shape stays. Negative numbers keep diagonals below the main one, positive ones clear it.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The upper triangle of the cotangent. What was cleared has no influence, not even if it was `NaN`.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).triu(0)?.to_vec::<i32>()?, [1, 2, 0, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn triu(&self, diagonal: isize) -> Result<Tensor> = triu {
        in_place: true, samples: triu_samples, errors: triu_errors,
        python: triu(diagonal = 0)
    };
}

/// A diagonal of two dimensions, which becomes the last one.
#[derive(Clone, Debug)]
struct Diagonal {
    offset: isize,
    dims: [usize; 2],
}

impl View for Diagonal {
    const NAME: &'static str = "diagonal";
    const BACK: &'static str = "diag_embed";
    fn of(&self, x: &Array) -> Array {
        x.diagonal(self.offset, self.dims[0], self.dims[1])
    }
    fn with_lanes(&self, lane: usize) -> (Diagonal, usize) {
        let dims = self.dims.map(|d| behind(d, lane));
        (Diagonal { offset: self.offset, dims }, lane - dims.iter().filter(|&&d| d < lane).count())
    }
}

/// Two different dims of a tensor of this rank.
fn two_dims(op: &str, dims: [isize; 2], rank: usize, what: impl std::fmt::Display) -> Result<[usize; 2]> {
    let [a, b] = [resolve_dim(op, dims[0], rank, &what)?, resolve_dim(op, dims[1], rank, &what)?];
    if a == b {
        bail!(Dim, "{op}: expected two different dims of {what}, got {} and {}", dims[0], dims[1]);
    }
    Ok([a, b])
}

fn diagonal(x: &Tensor, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
    let dims = two_dims("diagonal", [dim1, dim2], x.rank(), x.ty())?;
    linear(ViewOp(Diagonal { offset, dims }), x)
}

/// `x` with what `src` gives for the shape of a diagonal in its place.
pub(super) fn diagonal_put(
    op: &str,
    x: &Tensor,
    offset: isize,
    dims: [isize; 2],
    src: impl FnOnce(&[usize]) -> Result<Tensor>,
) -> Result<Tensor> {
    let view = Diagonal { offset, dims: two_dims(op, dims, x.rank(), x.ty())? };
    // The view of a tensor without memory tells the shape.
    let shape = view.of(Tensor::zeros(&[], DType::Bool)?.expand(x.shape())?.concrete()).to_shape();
    let src = src(&shape)?;
    let place = |t: &Tensor| linear(Placed { view: view.clone(), shape: Shape::from_slice(x.shape()) }, t);
    place(&Tensor::ones(&shape, DType::Bool)?)?.where_(place(&src)?, x)
}

fn diag_embed(x: &Tensor, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
    let Some((&n, outer)) = x.shape().split_last() else {
        bail!(Dim, "diag_embed: expected a tensor with a dim, got {}", x.ty());
    };
    let what = format_args!("the result of {}", x.ty()).to_string();
    let dims = two_dims("diag_embed", [dim1, dim2], x.rank() + 1, what)?;
    let size = n.saturating_add(offset.unsigned_abs());
    let mut outer = outer.iter();
    let shape: Shape =
        (0..=x.rank()).map(|k| if dims.contains(&k) { size } else { outer.next().copied().unwrap_or(1) }).collect();
    crate::tensor::checked_numel("diag_embed", &shape)?;
    linear(Placed { view: Diagonal { offset, dims }, shape }, x)
}

fn diag(x: &Tensor, offset: isize) -> Result<Tensor> {
    match x.rank() {
        1 => diag_embed(x, offset, 0, 1),
        2 => diagonal(x, offset, 0, 1),
        _ => {
            bail!(Shape, "diag: expected a vector or a matrix, got {}", x.ty(); help = "use `diagonal` or `diag_embed`")
        }
    }
}

fn trace(x: &Tensor) -> Result<Tensor> {
    if x.rank() != 2 {
        bail!(Shape, "trace: expected a matrix, got {}", x.ty(); help = "sum a `diagonal`");
    }
    diagonal(x, 0, 0, 1)?.sum()
}

/// The lower or upper triangle of matrices, with zeros for the rest. It is its own transpose.
#[derive(Clone, Debug)]
struct Triangle {
    diagonal: isize,
    upper: bool,
}

impl Linear for Triangle {
    const NAME: &'static str = "triangle";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(triangle(x, self.diagonal, self.upper))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(self.clone(), g)
    }
    fn batched(&self, _: usize) -> Triangle {
        self.clone()
    }
    fn batched_in_place(&self, input: &[usize], lane: usize) -> Option<(Triangle, usize)> {
        (lane + 2 < input.len()).then(|| (self.clone(), lane))
    }
}

fn matrices(op: &str, x: &Tensor, diagonal: isize, upper: bool) -> Result<Tensor> {
    if x.rank() < 2 {
        bail!(Shape, "{op}: expected matrices, got {}", x.ty());
    }
    linear(Triangle { diagonal, upper }, x)
}

fn tril(x: &Tensor, diagonal: isize) -> Result<Tensor> {
    matrices("tril", x, diagonal, false)
}

fn triu(x: &Tensor, diagonal: isize) -> Result<Tensor> {
    matrices("triu", x, diagonal, true)
}

/// A sample whose result has this shape, and at each index the element of the input at `from` of it, or zero.
fn case(
    label: &str,
    shape: &[usize],
    out: &'static [usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    from: impl Fn(&[usize]) -> Option<Vec<usize>> + Send + Sync + 'static,
) -> Sample {
    Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0]))
        .reference(move |x| vec![Naive::from_fn(out, |i| from(i).map_or(0.0, |i| x[0].at(&i)))])
}

fn diagonal_samples() -> Vec<Sample> {
    vec![
        case("main", &[3, 4], &[3], |x| x.diagonal(0, 0, 1), |i| Some(vec![i[0], i[0]])),
        case("above", &[3, 4], &[2], |x| x.diagonal(2, 0, 1), |i| Some(vec![i[0], i[0] + 2])),
        case("below", &[3, 4], &[2], |x| x.diagonal(-1, -2, -1), |i| Some(vec![i[0] + 1, i[0]])),
        case("other order", &[3, 4], &[2], |x| x.diagonal(1, 1, 0), |i| Some(vec![i[0] + 1, i[0]])),
        case("ends of three", &[2, 3, 2], &[3, 2], |x| x.diagonal(0, 0, 2), |i| Some(vec![i[1], i[0], i[1]])),
        case("beyond", &[2, 3], &[0], |x| x.diagonal(5, 0, 1), |_| None),
        case("empty", &[0, 3], &[0], |x| x.diagonal(0, 0, 1), |_| None),
    ]
}

fn diagonal_errors() -> Vec<ErrorSample> {
    vec![
        failing("same", ErrorKind::Dim, "expected two different dims of f64[2,3], got 1 and -1", &[2, 3], |x| {
            x.diagonal(0, 1, -1)
        }),
        failing("dim", ErrorKind::Dim, "diagonal: dim 2 is out of range for f64[2,3]", &[2, 3], |x| {
            x.diagonal(0, 0, 2)
        }),
    ]
}

fn diag_embed_samples() -> Vec<Sample> {
    vec![
        case("vector", &[2], &[2, 2], |x| x.diag_embed(0, 0, 1), |i| (i[0] == i[1]).then(|| vec![i[0]])),
        case("above", &[2], &[3, 3], |x| x.diag_embed(1, 0, 1), |i| (i[0] + 1 == i[1]).then(|| vec![i[0]])),
        case("below", &[2], &[3, 3], |x| x.diag_embed(-1, -2, -1), |i| (i[0] == i[1] + 1).then(|| vec![i[1]])),
        case("around", &[2, 3], &[3, 2, 3], |x| x.diag_embed(0, 0, 2), |i| (i[0] == i[2]).then(|| vec![i[1], i[0]])),
        case("empty", &[0], &[1, 1], |x| x.diag_embed(-1, 0, 1), |_| None),
    ]
}

fn diag_embed_errors() -> Vec<ErrorSample> {
    vec![
        failing("0-d", ErrorKind::Dim, "expected a tensor with a dim, got f64[]", &[], |x| x.diag_embed(0, 0, 1)),
        failing("same", ErrorKind::Dim, "expected two different dims of the result of f64[2]", &[2], |x| {
            x.diag_embed(0, 1, 1)
        }),
        failing("size", ErrorKind::Shape, "is too large", &[2], |x| x.diag_embed(isize::MIN, 0, 1)),
    ]
}

fn diag_samples() -> Vec<Sample> {
    vec![
        case("vector", &[3], &[3, 3], |x| x.diag(0), |i| (i[0] == i[1]).then(|| vec![i[0]])),
        case("vector, below", &[1], &[3, 3], |x| x.diag(-2), |i| (i[0] == i[1] + 2).then(|| vec![i[1]])),
        case("matrix", &[2, 3], &[2], |x| x.diag(1), |i| Some(vec![i[0], i[0] + 1])),
        case("empty", &[0], &[0, 0], |x| x.diag(0), |_| None),
    ]
}

fn diag_errors() -> Vec<ErrorSample> {
    vec![failing("rank", ErrorKind::Shape, "expected a vector or a matrix, got f64[1,2,3]", &[1, 2, 3], |x| x.diag(0))]
}

fn trace_samples() -> Vec<Sample> {
    [&[3usize, 3][..], &[2, 4], &[0, 3]]
        .into_iter()
        .map(|shape| {
            Sample::one(format!("{shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], |x| x[0].trace()).reference(|x| {
                let n = x[0].shape[0].min(x[0].shape[1]);
                vec![Naive { shape: vec![], data: vec![(0..n).map(|i| x[0].at(&[i, i])).sum()] }]
            })
        })
        .collect()
}

fn trace_errors() -> Vec<ErrorSample> {
    vec![failing("rank", ErrorKind::Shape, "trace: expected a matrix, got f64[3]", &[3], Tensor::trace)]
}

/// Samples of a triangle that keeps the elements for which `keep` holds of column minus row and the parameter.
fn triangle_samples(call: fn(&Tensor, isize) -> Result<Tensor>, keep: fn(isize, isize) -> bool) -> Vec<Sample> {
    let case = |shape: &'static [usize], diagonal: isize| {
        Sample::one(format!("{shape:?} {diagonal}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
            call(&x[0], diagonal)
        })
        .reference(move |x| {
            vec![Naive::from_fn(shape, |i| {
                let [.., row, column] = i else { return 0.0 };
                if keep(*column as isize - *row as isize, diagonal) { x[0].at(i) } else { 0.0 }
            })]
        })
    };
    vec![case(&[3, 3], 0), case(&[2, 4], 1), case(&[4, 2], -2), case(&[2, 2, 3], 0), case(&[0, 2], 0), case(&[2, 2], 9)]
}

fn tril_samples() -> Vec<Sample> {
    triangle_samples(Tensor::tril, |distance, diagonal| distance <= diagonal)
}

fn tril_errors() -> Vec<ErrorSample> {
    vec![failing("rank", ErrorKind::Shape, "tril: expected matrices, got f64[3]", &[3], |x| x.tril(0))]
}

fn triu_samples() -> Vec<Sample> {
    triangle_samples(Tensor::triu, |distance, diagonal| distance >= diagonal)
}

fn triu_errors() -> Vec<ErrorSample> {
    vec![failing("rank", ErrorKind::Shape, "triu: expected matrices, got f64[3]", &[3], |x| x.triu(0))]
}
