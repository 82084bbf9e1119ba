//! Parts of a tensor along one dimension.

use super::{View, ViewOp, behind, failing};
use crate::array::Array;
use crate::error::bail;
use crate::ops::family::linear;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::resolve_dim;
use crate::tensor::{position, python_range};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The slice at `index` along `dim`, without that dimension.
    ///
    /// # Shapes
    /// A negative index counts from the end.
    ///
    /// # Dtypes
    /// All.
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

    /// `len` elements along `dim` from `start` on, as a view.
    ///
    /// # Shapes
    /// Size `len` in `dim`. A negative start counts from the end. See [`dynamic_slice`](Tensor::dynamic_slice) for a
    /// start that is a tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent at its place, zero elsewhere.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if the part does not lie inside the tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0, 1, 2, 3]).narrow(0, 1, 2)?.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn narrow(&self, dim: isize, start: isize, len: usize) -> Result<Tensor> = narrow {
        samples: narrow_samples, errors: narrow_errors,
        python: narrow(dim, start, len as length)
    };

    /// The elements `start`, `start + step`, … before `end` along `dim`, as a view: `x[start:end:step]` in Python.
    ///
    /// # Shapes
    /// Negative bounds count from the end; bounds beyond an end mean that end. `None` is the end that the step comes
    /// from or goes to. A negative step goes backwards.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent at its places, zero elsewhere.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for a step of 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([0, 1, 2, 3, 4]);
    /// assert_eq!(x.slice(0, 1, -1, 2)?.to_vec::<i32>()?, [1, 3]);
    /// assert_eq!(x.slice(0, None, None, -2)?.to_vec::<i32>()?, [4, 2, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn slice(
        &self,
        dim: isize,
        start: impl Into<Option<isize>>,
        end: impl Into<Option<isize>>,
        step: isize,
    ) -> Result<Tensor> = python_slice {
        samples: slice_samples, errors: slice_errors,
        python: slice(dim = 0, start, end, step = 1)
    };
}

/// Elements `start, start + step, …` along a dimension.
#[derive(Clone, Debug)]
struct Slice {
    dim: usize,
    start: usize,
    len: usize,
    step: isize,
}

impl View for Slice {
    const NAME: &'static str = "slice";
    const BACK: &'static str = "slice_backward";
    fn of(&self, x: &Array) -> Array {
        x.slice(self.dim, self.start, self.len, self.step)
    }
    fn with_lanes(&self, lane: usize) -> (Slice, usize) {
        (Slice { dim: behind(self.dim, lane), ..*self }, lane)
    }
}

/// `len` elements of `x` along `dim`, from `start` in steps of `step`; all in range.
pub(crate) fn slice(x: &Tensor, dim: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
    if start == 0 && step == 1 && len == x.shape()[dim] {
        return x.unchanged("slice");
    }
    linear(ViewOp(Slice { dim, start, len, step }), x)
}

/// One place along a dimension, which is dropped.
#[derive(Clone, Debug)]
struct Select {
    dim: usize,
    index: usize,
}

impl View for Select {
    const NAME: &'static str = "select";
    const BACK: &'static str = "select_backward";
    fn of(&self, x: &Array) -> Array {
        x.select(self.dim, self.index)
    }
    fn with_lanes(&self, lane: usize) -> (Select, usize) {
        let dim = behind(self.dim, lane);
        (Select { dim, index: self.index }, lane - usize::from(dim < lane))
    }
}

/// Turns an index, negative ones counting from the end, into one below `size`.
fn resolve_index(op: &str, index: isize, size: usize, dim: usize, what: &Tensor) -> Result<usize> {
    match position(index, size) {
        Some(at) => Ok(at),
        None => {
            bail!(Index, "{op}: index {index} is out of range for dim {dim} of {}, which has size {size}", what.ty())
        }
    }
}

fn select(x: &Tensor, dim: isize, index: isize) -> Result<Tensor> {
    let dim = resolve_dim("select", dim, x.rank(), x.ty())?;
    let index = resolve_index("select", index, x.shape()[dim], dim, x)?;
    select_at(x, dim, index)
}

/// The slice at `index` along `dim`, without that dimension; both are in range.
pub(crate) fn select_at(x: &Tensor, dim: usize, index: usize) -> Result<Tensor> {
    linear(ViewOp(Select { dim, index }), x)
}

fn narrow(x: &Tensor, dim: isize, start: isize, len: usize) -> Result<Tensor> {
    let dim = resolve_dim("narrow", dim, x.rank(), x.ty())?;
    let size = x.shape()[dim];
    let first = if start < 0 { size.checked_sub(start.unsigned_abs()) } else { Some(start as usize) };
    match first {
        Some(first) if first <= size && len <= size - first => slice(x, dim, first, len, 1),
        _ => bail!(
            Index,
            "narrow: a slice of {len} from {start} is out of range for dim {dim} of {}, which has size {size}",
            x.ty()
        ),
    }
}

fn python_slice(
    x: &Tensor,
    dim: isize,
    start: impl Into<Option<isize>>,
    end: impl Into<Option<isize>>,
    step: isize,
) -> Result<Tensor> {
    let dim = resolve_dim("slice", dim, x.rank(), x.ty())?;
    if step == 0 {
        bail!(Value, "slice: expected a step other than 0, got 0");
    }
    let (first, len) = python_range(start.into(), end.into(), step, x.shape()[dim]);
    // A single place has no next one, and a huge step must not be multiplied with strides.
    slice(x, dim, first, len, if len > 1 { step } else { 1 })
}

fn select_samples() -> Vec<Sample> {
    vec![
        Sample::one("front", [sample_tensor(&[3, 2], -1.0, 1.0, 1)], |x| x[0].select(0, 1))
            .reference(|x| vec![Naive::from_fn(&[2], |i| x[0].at(&[1, i[0]]))]),
        Sample::one("last of back", [sample_tensor(&[3, 2], -1.0, 1.0, 1)], |x| x[0].select(-1, -1))
            .reference(|x| vec![Naive::from_fn(&[3], |i| x[0].at(&[i[0], 1]))]),
        Sample::one("middle", [sample_tensor(&[2, 3, 2], -1.0, 1.0, 1)], |x| x[0].select(1, 0))
            .reference(|x| vec![Naive::from_fn(&[2, 2], |i| x[0].at(&[i[0], 0, i[1]]))]),
        Sample::one("empty", [sample_tensor(&[3, 0], -1.0, 1.0, 1)], |x| x[0].select(0, 1))
            .reference(|_| vec![Naive { shape: vec![0], data: vec![] }]),
    ]
}

fn select_errors() -> Vec<ErrorSample> {
    vec![
        failing("index", ErrorKind::Index, "index 3 is out of range for dim 1 of f64[2,3], which has size 3", |x| {
            x.select(1, 3)
        }),
        failing("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3] (valid: -2..=1)", |x| x.select(2, 0)),
    ]
}

/// The elements at `places` along `dim`.
fn picked(x: &Naive, dim: usize, places: &[usize]) -> Naive {
    let mut shape = x.shape.clone();
    shape[dim] = places.len();
    Naive::from_fn(&shape, |i| {
        let mut from = i.to_vec();
        from[dim] = places[i[dim]];
        x.at(&from)
    })
}

fn narrow_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: usize, start: isize, len: usize, places: &'static [usize]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].narrow(dim as isize, start, len))
            .reference(move |x| vec![picked(&x[0], dim, places)])
    };
    vec![
        case("rows", &[4, 2], 0, 1, 2, &[1, 2]),
        case("from the end", &[2, 4], 1, -3, 2, &[1, 2]),
        case("all", &[3], 0, 0, 3, &[0, 1, 2]),
        case("nothing", &[3, 2], 0, 3, 0, &[]),
        case("empty", &[3, 0], 0, 1, 2, &[1, 2]),
    ]
}

fn narrow_errors() -> Vec<ErrorSample> {
    let message = "a slice of 2 from 2 is out of range for dim 1 of f64[2,3], which has size 3";
    vec![
        failing("over the end", ErrorKind::Index, message, |x| x.narrow(1, 2, 2)),
        failing("before the front", ErrorKind::Index, "a slice of 1 from -4 is out of range", |x| x.narrow(1, -4, 1)),
    ]
}

fn slice_samples() -> Vec<Sample> {
    let case = |start: Option<isize>, end: Option<isize>, step: isize, places: &'static [usize]| {
        let label = format!("{start:?} {end:?} {step}");
        Sample::one(label, [sample_tensor(&[2, 5], -1.0, 1.0, 1)], move |x| x[0].slice(-1, start, end, step))
            .reference(move |x| vec![picked(&x[0], 1, places)])
    };
    vec![
        case(Some(1), Some(-1), 2, &[1, 3]),
        case(None, None, -1, &[4, 3, 2, 1, 0]),
        case(Some(-2), Some(0), -2, &[3, 1]),
        case(Some(2), None, 1, &[2, 3, 4]),
        case(None, Some(2), 1, &[0, 1]),
        case(Some(3), Some(1), 1, &[]),
        case(Some(-9), Some(9), 4, &[0, 4]),
        case(Some(9), Some(-9), -3, &[4, 1]),
        case(Some(1), None, isize::MAX, &[1]),
        case(Some(1), None, isize::MIN, &[1]),
        Sample::one("empty", [sample_tensor(&[0, 5], -1.0, 1.0, 1)], |x| x[0].slice(1, 1, None, 3))
            .reference(|_| vec![Naive { shape: vec![0, 2], data: vec![] }]),
    ]
}

fn slice_errors() -> Vec<ErrorSample> {
    vec![
        failing("step", ErrorKind::Value, "expected a step other than 0", |x| x.slice(0, None, None, 0)),
        failing("dim", ErrorKind::Dim, "slice: dim 2 is out of range for f64[2,3]", |x| x.slice(2, 0, 1, 1)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_python() {
        let bounds: Vec<Option<isize>> = std::iter::once(None).chain((-7..=7).map(Some)).collect();
        for n in 0..5usize {
            for (&start, &end) in bounds.iter().flat_map(|a| bounds.iter().map(move |b| (a, b))) {
                for step in [-3, -2, -1, 1, 2, 3isize] {
                    let (first, len) = python_range(start, end, step, n);
                    let got: Vec<isize> = (0..len as isize).map(|k| first as isize + k * step).collect();
                    // Walk over all places in the direction of the step, and take those between the bounds.
                    let size = n as isize;
                    let resolve = |b: isize| if b < 0 { b + size } else { b };
                    let inside = |i: isize| match step > 0 {
                        true => start.is_none_or(|b| i >= resolve(b)) && end.is_none_or(|b| i < resolve(b)),
                        false => start.is_none_or(|b| i <= resolve(b)) && end.is_none_or(|b| i > resolve(b)),
                    };
                    let mut walk: Vec<isize> = (0..size).filter(|&i| inside(i)).collect();
                    if step < 0 {
                        walk.reverse();
                    }
                    let want: Vec<isize> = walk.into_iter().step_by(step.unsigned_abs()).collect();
                    assert_eq!(got, want, "{start:?}:{end:?}:{step} of {n}");
                }
            }
        }
    }
}
