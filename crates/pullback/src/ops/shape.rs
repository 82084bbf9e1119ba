//! Other shapes for the same elements: reshaping, repeating, reordering and cutting dimensions. Views, not copies,
//! wherever strides can express the result.

use super::family::{Linear, linear};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::{copy, place::place};
use crate::shape::{Brackets, Dims, Shape, broadcasts_to, numel, resolve_dim, with_dim, without_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The same elements in row-major order under another shape.
    ///
    /// # Shapes
    /// `shape` must have as many elements as the tensor. One size may be `-1`: it is inferred.
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
    fn reshape(&self, shape: &[isize]) -> Result<Tensor> = reshape { samples: reshape_samples, errors: reshape_errors };

    /// A dimension of size 1 put in at `dim`.
    ///
    /// # Shapes
    /// `dim` counts in the result: `-1` appends a dimension.
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
    fn unsqueeze(&self, dim: isize) -> Result<Tensor> = unsqueeze { samples: unsqueeze_samples };

    /// The tensor repeated along dimensions of size 1, and along new leading ones, without copying.
    ///
    /// # Shapes
    /// The shape of the tensor must broadcast to `shape`.
    ///
    /// # Derivative
    /// The sum over the repetitions.
    ///
    /// # Errors
    /// `Shape` if it does not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).expand(&[2, 2])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn expand(&self, shape: &[usize]) -> Result<Tensor> = expand { samples: expand_samples, errors: expand_errors };

    /// The dimensions in another order.
    ///
    /// # Shapes
    /// Dimension `k` of the result is dimension `dims[k]` of the tensor; every dimension is named once.
    ///
    /// # Derivative
    /// The inverse permutation.
    ///
    /// # Errors
    /// `Dim` unless `dims` names every dimension exactly once.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::zeros(&[2, 3, 4], DType::F32)?.permute(&[2, 0, 1])?.shape(), [4, 2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn permute(&self, dims: &[isize]) -> Result<Tensor> = permute { samples: permute_samples, errors: permute_errors };

    /// The slice at `index` along `dim`, without that dimension.
    ///
    /// # Shapes
    /// A negative index counts from the end.
    ///
    /// # Derivative
    /// The cotangent at that index, zero elsewhere.
    ///
    /// # Errors
    /// `Dim` or `Index` if one of them is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).select(1, -1)?.to_vec::<i32>()?, [2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn select(&self, dim: isize, index: isize) -> Result<Tensor> = select { samples: select_samples, errors: select_errors };
}

#[derive(Clone)]
struct Reshape(Shape);

impl Linear for Reshape {
    const NAME: &'static str = "reshape";
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
}

fn reshape(x: &Tensor, shape: &[isize]) -> Result<Tensor> {
    let n = x.numel();
    let mut out = Shape::new();
    let mut inferred = None;
    for (k, &s) in shape.iter().enumerate() {
        match s {
            -1 if inferred.is_none() => {
                inferred = Some(k);
                out.push(1);
            }
            s if s >= 0 => out.push(s as usize),
            _ => bail!(Shape, "reshape: expected sizes of at least 0 and at most one -1, got {}", Brackets(shape)),
        }
    }
    let known = out.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match (inferred, known) {
        (None, Some(m)) if m == n => {}
        (Some(k), Some(m)) if m > 0 && n.is_multiple_of(m) => out[k] = n / m,
        (Some(_), Some(0)) => {
            bail!(Shape, "reshape: cannot infer -1 in {} beside a size of 0", Brackets(shape); help = "write the size")
        }
        _ => bail!(Shape, "reshape: expected a shape of {n} elements for {}, got {}", x.ty(), Brackets(shape)),
    }
    x.reshape_to(&out)
}

impl Tensor {
    /// [`reshape`](Tensor::reshape) to sizes that are known to be right.
    pub(crate) fn reshape_to(&self, shape: &[usize]) -> Result<Tensor> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        debug_assert_eq!(numel(shape), self.numel());
        linear(Reshape(Shape::from_slice(shape)), self)
    }
}

fn unsqueeze(x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("unsqueeze", dim, x.rank() + 1, format_args!("the result of {}", x.ty()))?;
    x.reshape_to(&with_dim(x.shape(), dim, 1))
}

/// Repeats dimensions of size 1; the rank stays.
#[derive(Clone)]
struct Expand(Shape);

impl Linear for Expand {
    const NAME: &'static str = "expand";
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(x.expand(&self.0))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        g.sum_to(input)
    }
    fn batched(&self, size: usize) -> Expand {
        Expand(with_dim(&self.0, 0, size))
    }
}

/// [`Tensor::expand`] to a shape that `x` is known to broadcast to.
pub(crate) fn broadcast_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    debug_assert!(broadcasts_to(x.shape(), shape));
    let mut full = Shape::from_elem(1, shape.len() - x.rank());
    full.extend_from_slice(x.shape());
    linear(Expand(Shape::from_slice(shape)), &x.reshape_to(&full)?)
}

fn expand(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if !broadcasts_to(x.shape(), shape) {
        bail!(Shape, "expand: {} does not broadcast to {}", x.ty(), Brackets(shape); help = "only dimensions of size 1 \
            and new leading ones can be repeated");
    }
    crate::tensor::checked_numel("expand", shape)?;
    broadcast_to(x, shape)
}

#[derive(Clone)]
struct Permute(Dims);

impl Linear for Permute {
    const NAME: &'static str = "permute";
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(x.permute(&self.0))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        let mut inverse = self.0.clone();
        for (k, &d) in self.0.iter().enumerate() {
            inverse[d] = k;
        }
        linear(Permute(inverse), g)
    }
    fn batched(&self, _: usize) -> Permute {
        Permute(std::iter::once(0).chain(self.0.iter().map(|d| d + 1)).collect())
    }
}

fn permute(x: &Tensor, dims: &[isize]) -> Result<Tensor> {
    if dims.len() != x.rank() {
        bail!(Dim, "permute: expected {} dims for {}, got {}", x.rank(), x.ty(), Brackets(dims));
    }
    if dims.is_empty() {
        return Ok(x.clone());
    }
    linear(Permute(crate::shape::resolve_dims("permute", dims, x.rank(), x.ty())?), x)
}

/// `x` with dimension `from` moved to place `to`; both are in range.
pub(crate) fn move_dim(x: &Tensor, from: usize, to: usize) -> Result<Tensor> {
    if from == to {
        return Ok(x.clone());
    }
    let mut order: Dims = (0..x.rank()).collect();
    order.remove(from);
    order.insert(to, from);
    linear(Permute(order), x)
}

/// Elements `start, start + step, …` along a dimension.
#[derive(Clone)]
struct Slice {
    dim: usize,
    start: usize,
    len: usize,
    step: isize,
}

impl Linear for Slice {
    const NAME: &'static str = "slice";
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(x.slice(self.dim, self.start, self.len, self.step))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        linear(SliceBack { slice: self.clone(), shape: Shape::from_slice(input) }, g)
    }
    fn batched(&self, _: usize) -> Slice {
        Slice { dim: self.dim + 1, ..self.clone() }
    }
}

/// The transpose of [`Slice`]: the elements at their places in zeros of `shape`.
#[derive(Clone)]
struct SliceBack {
    slice: Slice,
    shape: Shape,
}

impl Linear for SliceBack {
    const NAME: &'static str = "slice_backward";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let Slice { dim, start, step, .. } = self.slice;
        place(x, &self.shape, dim, start, step)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(self.slice.clone(), g)
    }
    fn batched(&self, size: usize) -> SliceBack {
        SliceBack { slice: self.slice.batched(size), shape: with_dim(&self.shape, 0, size) }
    }
}

/// `len` elements of `x` along `dim`, from `start` in steps of `step`; all in range.
pub(crate) fn slice(x: &Tensor, dim: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
    if start == 0 && step == 1 && len == x.shape()[dim] {
        return Ok(x.clone());
    }
    linear(Slice { dim, start, len, step }, x)
}

/// Turns an index, negative ones counting from the end, into one below `size`.
pub(crate) fn resolve_index(op: &str, index: isize, size: usize, dim: usize, what: &Tensor) -> Result<usize> {
    let n = size as isize;
    if index < -n || index >= n {
        bail!(Index, "{op}: index {index} is out of range for dim {dim} of {}, which has size {size}", what.ty());
    }
    Ok(if index < 0 { index + n } else { index } as usize)
}

fn select(x: &Tensor, dim: isize, index: isize) -> Result<Tensor> {
    let dim = resolve_dim("select", dim, x.rank(), x.ty())?;
    let index = resolve_index("select", index, x.shape()[dim], dim, x)?;
    slice(x, dim, index, 1, 1)?.reshape_to(&without_dim(x.shape(), dim))
}

fn reshape_samples() -> Vec<Sample> {
    let x = || sample_tensor(&[2, 3, 2], -1.0, 1.0, 1);
    let to =
        |shape: &'static [usize]| move |x: &[Naive]| vec![Naive { shape: shape.to_vec(), data: x[0].data.clone() }];
    vec![
        Sample::one("merge", [x()], |x| x[0].reshape(&[6, 2])).reference(to(&[6, 2])),
        Sample::one("infer", [x()], |x| x[0].reshape(&[2, -1])).reference(to(&[2, 6])),
        Sample::one("to 0-d", [sample_tensor(&[1, 1], 0.0, 1.0, 2)], |x| x[0].reshape(&[])).reference(to(&[])),
        Sample::one("empty", [sample_tensor(&[0, 3], 0.0, 1.0, 2)], |x| x[0].reshape(&[3, 0])).reference(to(&[3, 0])),
    ]
}

fn reshape_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new(
            "size",
            ErrorKind::Shape,
            "expected a shape of 6 elements for f64[2,3], got [4,2]",
            move || x.reshape(&[4, 2]),
        ),
        ErrorSample::new("two inferred", ErrorKind::Shape, "at most one -1", move || y.reshape(&[-1, -1])),
    ]
}

fn unsqueeze_samples() -> Vec<Sample> {
    vec![
        Sample::one("front", [sample_tensor(&[2, 3], -1.0, 1.0, 1)], |x| x[0].unsqueeze(0))
            .reference(|x| vec![Naive { shape: vec![1, 2, 3], data: x[0].data.clone() }]),
        Sample::one("back", [sample_tensor(&[2], -1.0, 1.0, 1)], |x| x[0].unsqueeze(-1))
            .reference(|x| vec![Naive { shape: vec![2, 1], data: x[0].data.clone() }]),
        Sample::one("0-d", [Tensor::from(1.5)], |x| x[0].unsqueeze(0))
            .reference(|x| vec![Naive { shape: vec![1], data: x[0].data.clone() }]),
    ]
}

fn expand_samples() -> Vec<Sample> {
    let case = |label: &str, from: &[usize], to: &'static [usize]| {
        Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].expand(to))
            .reference(move |x| vec![Naive::from_fn(to, |i| x[0].at_broadcast(i))])
    };
    vec![
        case("leading", &[3], &[2, 3]),
        case("inner", &[2, 1], &[2, 3]),
        case("0-d", &[], &[2, 2]),
        case("empty", &[1], &[0]),
    ]
}

fn expand_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("not one", ErrorKind::Shape, "f64[2,3] does not broadcast to [4,3]", move || {
        x.expand(&[4, 3])
    })]
}

fn permute_samples() -> Vec<Sample> {
    vec![
        Sample::one("cycle", [sample_tensor(&[2, 3, 4], -1.0, 1.0, 1)], |x| x[0].permute(&[2, 0, -2]))
            .reference(|x| vec![Naive::from_fn(&[4, 2, 3], |i| x[0].at(&[i[1], i[2], i[0]]))]),
        Sample::one("0-d", [sample_tensor(&[], -1.0, 1.0, 1)], |x| x[0].permute(&[])).reference(|x| vec![x[0].clone()]),
    ]
}

fn permute_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new("twice", ErrorKind::Dim, "dim -1 is given twice for f64[2,3]", move || x.permute(&[1, -1])),
        ErrorSample::new("too few", ErrorKind::Dim, "expected 2 dims for f64[2,3], got [0]", move || y.permute(&[0])),
    ]
}

fn select_samples() -> Vec<Sample> {
    vec![
        Sample::one("front", [sample_tensor(&[3, 2], -1.0, 1.0, 1)], |x| x[0].select(0, 1))
            .reference(|x| vec![Naive::from_fn(&[2], |i| x[0].at(&[1, i[0]]))]),
        Sample::one("last of back", [sample_tensor(&[3, 2], -1.0, 1.0, 1)], |x| x[0].select(-1, -1))
            .reference(|x| vec![Naive::from_fn(&[3], |i| x[0].at(&[i[0], 1]))]),
        Sample::one("empty", [sample_tensor(&[3, 0], -1.0, 1.0, 1)], |x| x[0].select(0, 1))
            .reference(|_| vec![Naive { shape: vec![0], data: vec![] }]),
    ]
}

fn select_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index 3 is out of range for dim 1 of f64[2,3], which has size 3",
            move || x.select(1, 3),
        ),
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3] (valid: -2..=1)", move || {
            y.select(2, 0)
        }),
    ]
}
