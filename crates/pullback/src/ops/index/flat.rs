//! Elements by their number in row-major order, and slices that become one number.

use super::check::{Wanted, check_index_dtype, check_number, check_src_dtype};
use super::elements::Scatter;
use super::naive::{index, resolve, with};
use super::slices::{IndexAdd, IndexSelect, rows_of};
use crate::error::bail;
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, resolve_dim};
use crate::tensor::Operand;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements with the numbers that `index` gives, counted through in row-major order.
    ///
    /// # Shapes
    /// The result has the shape of the index. Negative numbers count from the end.
    ///
    /// # Dtypes
    /// All; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent added up at the places that were read.
    ///
    /// # Errors
    /// `Index` if an index is out of range; `Dtype` for an index of another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.take(&Tensor::from([2i64, -1, 0]))?.to_vec::<i32>()?, [3, 4, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn take(&self, index: &Tensor) -> Result<Tensor> = take { samples: take_samples, errors: take_errors };

    /// The tensor with the elements of `src` written at the places with the numbers that `index` gives, counted through
    /// in row-major order, or added there if `accumulate`.
    ///
    /// Of several writes to one place the last one in row-major order of the index stays.
    ///
    /// # Shapes
    /// `src` has the shape of the index. Negative numbers count from the end.
    ///
    /// # Dtypes
    /// All, the same for the tensor and `src`; numbers to accumulate. The index is `i64` or `i32`.
    ///
    /// # Derivative
    /// As that of [`scatter`](Tensor::scatter) or [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Errors
    /// `Index` if an index is out of range; `Shape` if `src` has another shape than the index; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// let y = x.put(&Tensor::from([2i64, -1]), &Tensor::from([10, 20]), true)?;
    /// assert_eq!(y.to_vec::<i32>()?, [1, 2, 13, 24]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn put(&self, index: &Tensor, src: &Tensor, accumulate: bool) -> Result<Tensor> = put {
        in_place: true, samples: put_samples, errors: put_errors,
        python: put(index, src as source, accumulate = false)
    };

    /// The tensor with the slices along `dim` at the places that `index` gives filled with one value.
    ///
    /// # Shapes
    /// That of the tensor; `value` is 0-d.
    ///
    /// # Dtypes
    /// All. `value` is converted to the dtype of the tensor, whose category must not be lower. The index is `i64` or `i32`.
    ///
    /// # Derivative
    /// For the tensor the cotangent with zeros in the slices, for `value` the sum over the slices, each counted once.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if an index is; `Shape` if `value` is not 0-d; `Dtype` for a float into a
    /// tensor of integers, or an index of another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.index_fill(1, &Tensor::from([0i64, -1]), 0)?.to_vec::<i32>()?, [0, 2, 0, 0, 5, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_fill(&self, dim: isize, index: &Tensor, value: impl Operand) -> Result<Tensor> = index_fill
        { in_place: true, samples: index_fill_samples, errors: index_fill_errors };
}

/// `x` as a vector, and an index that was checked against its elements.
fn flattened(op: &'static str, x: &Tensor, index: &Tensor) -> Result<(Tensor, Tensor)> {
    check_index_dtype(op, index)?;
    let flat = x.reshape_to(&[x.numel()])?;
    let index = Wanted::Elements.check(op, &flat, 0, index)?;
    Ok((flat, index))
}

fn take(x: &Tensor, index: &Tensor) -> Result<Tensor> {
    let (flat, index) = flattened("take", x, index)?;
    IndexSelect { batch: 0, dim: 0 }.call(&flat, &index)
}

fn put(x: &Tensor, index: &Tensor, src: &Tensor, accumulate: bool) -> Result<Tensor> {
    let op = "put";
    check_src_dtype(op, x, src)?;
    check_index_dtype(op, index)?;
    if src.shape() != index.shape() {
        bail!(Shape, "{op}: expected a src of the shape of the index {}, got {}", index.ty(), src.ty());
    }
    if accumulate {
        check_number(op, x)?;
    }
    let (flat, index) = flattened(op, x, index)?;
    let out = if accumulate {
        IndexAdd { batch: 0, dim: 0 }.call(&flat, &index, src)?
    } else {
        let (index, src) = rows_of(&flat, 0, &index, src)?;
        Scatter { dim: 0, add: false }.call(&flat, &index, &src)?
    };
    out.reshape_to(x.shape())
}

fn index_fill(x: &Tensor, dim: isize, index: &Tensor, value: impl Operand) -> Result<Tensor> {
    let op = "index_fill";
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    check_index_dtype(op, index)?;
    value.with_operand(op, x.dtype(), |value| {
        if !value.dtype().fits_in(x.dtype()) {
            let (x, value) = (x.ty(), value.ty());
            bail!(Dtype, "{op}: expected a value that can be stored in {x}, got {value}"; help = "convert one of them with \
                `to_dtype`");
        }
        if value.rank() != 0 {
            bail!(Shape, "{op}: expected one value, got {}", value.ty(); help = "`index_copy` takes a tensor of slices");
        }
        let index = Wanted::Elements.check(op, x, dim, index)?;
        let mut column = Shape::from_elem(1, x.rank());
        column[dim] = index.numel();
        let mut shape = Shape::from_slice(x.shape());
        shape[dim] = index.numel();
        let index = broadcast_to(&index.reshape_to(&column)?, &shape)?;
        let value = broadcast_to(&value.to_dtype(x.dtype())?, &shape)?;
        Scatter { dim, add: false }.call(x, &index, &value)
    })
}

fn take_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], index: Tensor| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], |x| x[0].take(&x[1])).reference(|x| {
            let n = x[0].data.len();
            vec![Naive::from_fn(&x[1].shape, |at| x[0].data[resolve(x[1].at(at), n)])]
        })
    };
    vec![
        case("matrix", &[2, 3], index(&[5, 0, -6, 2, 2, -1], &[3, 2])),
        case("i32", &[4], Tensor::from([3i32, -4])),
        case("one of one", &[], index(&[0], &[])),
        case("no place", &[2, 2], index(&[], &[0])),
    ]
}

fn take_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "take: index 6 at position [1] is out of range for dim 0 of f64[6], which has size 6",
            move || x().take(&index(&[0, 6], &[2])),
        ),
        ErrorSample::new("of a lane", ErrorKind::Index, "take: index -7 of lane 1 is out of range", move || {
            crate::vmap(move |i: &Tensor| x().take(i))(&index(&[0, -7], &[2]))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected an index of dtype i64 or i32", move || x().take(&x())),
    ]
}

fn put_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], index: Tensor, accumulate: bool| {
        let src = sample_tensor(index.shape(), -1.0, 1.0, 2);
        let inputs = [sample_tensor(shape, -1.0, 1.0, 1), index, src];
        Sample::one(label, inputs, move |x| x[0].put(&x[1], &x[2], accumulate)).reference(move |x| {
            let mut out = x[0].clone();
            for (i, v) in x[1].data.iter().zip(&x[2].data) {
                let k = resolve(*i, out.data.len());
                out.data[k] = if accumulate { out.data[k] + v } else { *v };
            }
            vec![out]
        })
    };
    vec![
        case("added", &[2, 3], index(&[5, 0, -6, 2, 2, -1], &[3, 2]), true),
        case("written", &[2, 3], index(&[5, 0, -6, 2, 2, 3], &[3, 2]), false),
        case("0-d", &[], index(&[0], &[]), false),
        case("no place", &[2, 2], index(&[], &[0]), true),
    ]
}

fn put_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("index", ErrorKind::Index, "put: index 6 at position [0,0] is out of range", move || {
            x().put(&index(&[6; 6], &[2, 3]), &x(), false)
        }),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "a src of the shape of the index i64[1], got f64[2,3]",
            move || x().put(&index(&[0], &[1]), &x(), false),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got i32[1]", move || {
            x().put(&index(&[0], &[1]), &Tensor::from([1]), false)
        }),
    ]
}

fn index_fill_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: usize, index: Tensor| {
        let inputs = [sample_tensor(shape, -1.0, 1.0, 1), index, sample_tensor(&[], -1.0, 1.0, 2)];
        Sample::one(label, inputs, move |x| x[0].index_fill(dim as isize, &x[1], &x[2])).reference(move |x| {
            let n = x[0].shape[dim];
            let places: Vec<usize> = x[1].data.iter().map(|&i| resolve(i, n)).collect();
            vec![Naive::from_fn(&x[0].shape, |at| {
                let filled = places.iter().any(|&k| with(at, dim, k) == at);
                if filled { x[2].data[0] } else { x[0].at(at) }
            })]
        })
    };
    vec![
        case("rows", &[4, 2], 0, index(&[2, -1, 2], &[3])),
        case("columns, i32", &[2, 3], 1, Tensor::from([0i32])),
        case("one place", &[3], 0, index(&[1], &[])),
        case("no place", &[2, 2], 1, index(&[], &[0])),
        case("empty", &[2, 0], 0, index(&[1], &[1])),
    ]
}

fn index_fill_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index_fill: index 3 at position [0] is out of range for dim 1 of f64[2,3], which has size 3",
            move || x().index_fill(1, &index(&[3], &[1]), 0.0),
        ),
        ErrorSample::new("value", ErrorKind::Shape, "index_fill: expected one value, got f64[2,3]", move || {
            x().index_fill(1, &index(&[0], &[1]), &x())
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "can be stored in i64[1], got f32[]", || {
            index(&[5], &[1]).index_fill(0, &index(&[0], &[1]), 0.5)
        }),
    ]
}
