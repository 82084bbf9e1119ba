//! Shapes, dimension numbers, broadcasting, and how types are written in messages.

use std::fmt;

use smallvec::SmallVec;

use crate::{DType, Result, error::bail};

/// Sizes of dimensions, held inline up to rank 6.
pub type Shape = SmallVec<[usize; 6]>;

/// Steps between neighbours along each dimension, in elements.
pub(crate) type Strides = SmallVec<[isize; 6]>;

/// A list of dimension numbers.
pub(crate) type Dims = SmallVec<[usize; 6]>;

/// The dtype and shape of a tensor, written `f32[2,3]`.
///
/// ```
/// use pullback::{DType, TensorType};
/// assert_eq!(TensorType::new(DType::F32, &[2, 3]).to_string(), "f32[2,3]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the dimensions.
    pub shape: Shape,
}

impl TensorType {
    /// The type with this dtype and shape.
    pub fn new(dtype: DType, shape: &[usize]) -> TensorType {
        TensorType { dtype, shape: Shape::from_slice(shape) }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, Brackets(&self.shape))
    }
}

/// Writes a list as `[2,3]`, the way shapes stand in messages.
pub(crate) struct Brackets<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Brackets<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (k, n) in self.0.iter().enumerate() {
            if k > 0 {
                f.write_str(",")?;
            }
            write!(f, "{n}")?;
        }
        f.write_str("]")
    }
}

/// The number of elements of a shape.
pub(crate) fn numel(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The strides of a row-major array.
pub(crate) fn contiguous_strides(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    let mut step = 1isize;
    for k in (0..shape.len()).rev() {
        strides[k] = step;
        step *= shape[k].max(1) as isize;
    }
    strides
}

/// Turns a dimension number, negative ones counting from the end, into an index below `rank`.
///
/// `op` and `what` name the place and the value in the message.
pub(crate) fn resolve_dim(op: &str, dim: isize, rank: usize, what: impl fmt::Display) -> Result<usize> {
    let r = rank as isize;
    if dim < -r || dim >= r {
        if rank == 0 {
            bail!(Dim, "{op}: dim {dim} is out of range for {what}, which has no dimensions");
        }
        bail!(Dim, "{op}: dim {dim} is out of range for {what} (valid: {}..={})", -r, r - 1);
    }
    Ok(if dim < 0 { dim + r } else { dim } as usize)
}

/// Like [`resolve_dim`] for a list; a dimension given twice is an error. An empty list means every dimension.
pub(crate) fn resolve_dims(op: &str, dims: &[isize], rank: usize, what: impl fmt::Display) -> Result<Dims> {
    if dims.is_empty() {
        return Ok((0..rank).collect());
    }
    let mut out = Dims::with_capacity(dims.len());
    for &d in dims {
        let k = resolve_dim(op, d, rank, &what)?;
        if out.contains(&k) {
            bail!(Dim, "{op}: dim {d} is given twice for {what}");
        }
        out.push(k);
    }
    Ok(out)
}

/// The shape that two shapes broadcast to, or `None`.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let lead = long.len() - short.len();
    let mut out = Shape::from_slice(long);
    for (o, &s) in out[lead..].iter_mut().zip(short) {
        if *o == 1 {
            *o = s;
        } else if s != 1 && s != *o {
            return None;
        }
    }
    Some(out)
}

/// True if `from` broadcasts to exactly `to`.
pub(crate) fn broadcasts_to(from: &[usize], to: &[usize]) -> bool {
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(&f, &t)| f == t || f == 1)
}

/// `shape` with a dimension of `size` put in at `dim`.
pub(crate) fn with_dim(shape: &[usize], dim: usize, size: usize) -> Shape {
    let mut out = Shape::from_slice(shape);
    out.insert(dim, size);
    out
}

/// True for equal shapes. Comparing slices calls a function for ranges of bytes, which costs more than these few numbers.
#[inline(always)]
pub(crate) fn same_shape(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(m, n)| m == n)
}

/// `shape` without dimension `dim`.
pub(crate) fn without_dim(shape: &[usize], dim: usize) -> Shape {
    let mut out = Shape::from_slice(shape);
    out.remove(dim);
    out
}
