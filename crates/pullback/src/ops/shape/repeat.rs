//! Repeating the elements of a tensor along its dimensions.

use super::behind;
use crate::array::Array;
use crate::error::bail;
use crate::ops::family::{Linear, linear};
use crate::ops::table::{ErrorSample, Naive, Sample, failing, ops, sample_tensor};
use crate::shape::{Brackets, Shape, broadcasts_to, resolve_dim, with_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The tensor repeated along dimensions of size 1, and along new leading ones, without copying.
    ///
    /// # Shapes
    /// The shape of the tensor must broadcast to `shape`.
    ///
    /// # Dtypes
    /// All.
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
    fn expand(&self, shape: &[usize]) -> Result<Tensor> = expand {
        samples: expand_samples, errors: expand_errors,
        python: broadcast_to(*shape)
    };

    /// [`expand`](Tensor::expand) to `sizes`, in which -1 stands for the size that the dimension has.
    ///
    /// # Shapes
    /// `sizes` has an entry for each dimension, counted from the last one, and perhaps new leading ones.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the repetitions.
    ///
    /// # Errors
    /// `Shape` if the tensor does not broadcast to the sizes; `Value` for a negative size, unless it is -1 for a dimension that
    /// the tensor has.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1], [2]]).expand_with(&[-1, 2])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 1, 2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn expand_with(&self, sizes: &[isize]) -> Result<Tensor> = expand_with {
        samples: expand_with_samples, errors: expand_with_errors,
        python: expand(*sizes)
    };

    /// Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`.
    ///
    /// # Shapes
    /// `repeats` has an entry for each dimension; with more entries, the first ones make new leading dimensions.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Shape` for fewer entries than dimensions, or if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).repeat(&[2, 2])?;
    /// assert_eq!(x.shape(), [2, 4]);
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn repeat(&self, repeats: &[usize]) -> Result<Tensor> = repeat {
        samples: repeat_samples, errors: repeat_errors,
        python: repeat(*repeats)
    };

    /// Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`, counted so that the last entry
    /// speaks of the last dimension.
    ///
    /// This is [`repeat`](Tensor::repeat), but with fewer entries than dimensions the first dimensions stay.
    ///
    /// # Shapes
    /// As those of [`repeat`](Tensor::repeat).
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Shape` if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]).tile(&[2])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 1, 2, 3, 4, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tile(&self, repeats: &[usize]) -> Result<Tensor> = tile {
        samples: tile_samples, errors: tile_errors,
        python: tile(*repeats as dims)
    };

    /// Every slice along `dim` repeated `repeats` times, the copies next to each other.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).repeat_interleave(3, 0)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn repeat_interleave(&self, repeats: usize, dim: isize) -> Result<Tensor> = repeat_interleave
        { samples: repeat_interleave_samples, errors: repeat_interleave_errors };

    /// Every element repeated `repeats` times in row-major order, the copies next to each other.
    ///
    /// # Shapes
    /// A vector.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Shape` if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1], [2]]).repeat_elements(2)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 1, 2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn repeat_elements(&self, repeats: usize) -> Result<Tensor> = repeat_elements {
        samples: repeat_elements_samples, errors: repeat_elements_errors,
        python: repeat_interleave(repeats)
    };
}

/// Repeats dimensions of size 1; the rank stays.
#[derive(Clone, Debug)]
struct Expand(Shape);

impl Linear for Expand {
    const NAME: &'static str = "expand";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        // Here and not only where it is called, because lanes count as well.
        crate::tensor::checked_numel("expand", &self.0)?;
        Ok(x.expand(&self.0))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        g.sum_to(input)
    }
    fn batched(&self, size: usize) -> Expand {
        Expand(with_dim(&self.0, 0, size))
    }
    fn batched_in_place(&self, input: &[usize], lane: usize) -> Option<(Expand, usize)> {
        Some((Expand(with_dim(&self.0, lane, input[lane])), lane))
    }
}

/// [`Tensor::expand`] to a shape that `x` is known to broadcast to.
pub(crate) fn broadcast_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if x.shape() == shape {
        return x.unchanged("expand");
    }
    debug_assert!(broadcasts_to(x.shape(), shape));
    let mut full = Shape::from_elem(1, shape.len() - x.rank());
    full.extend_from_slice(x.shape());
    linear(Expand(Shape::from_slice(shape)), &x.reshape_to(&full)?)
}

/// Zeros that take no memory: one element, repeated.
pub(crate) fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
    broadcast_to(&Tensor::zeros(&[], dtype)?, shape)
}

fn expand(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if !broadcasts_to(x.shape(), shape) {
        bail!(Shape, "expand: {} does not broadcast to {}", x.ty(), Brackets(shape); help = "only dimensions of size 1 \
            and new leading ones can be repeated");
    }
    crate::tensor::checked_numel("expand", shape)?;
    broadcast_to(x, shape)
}

fn expand_with(x: &Tensor, sizes: &[isize]) -> Result<Tensor> {
    let own = |k: usize| Some(x.shape()[(k + x.rank()).checked_sub(sizes.len())?]);
    let size = |(k, &n): (usize, &isize)| match (usize::try_from(n), own(k)) {
        (Ok(n), _) => Ok(n),
        (_, Some(own)) if n == -1 => Ok(own),
        _ => bail!(Value, "expand: expected a size, or -1 for a dimension of {}, got {n} in place {k}", x.ty()),
    };
    expand(x, &sizes.iter().enumerate().map(size).collect::<Result<Shape>>()?)
}

/// Fails unless a result of these sizes, given in pairs that are merged, can exist.
fn check_size(op: &str, pairs: impl Iterator<Item = (usize, usize)>) -> Result<Shape> {
    let merged: Shape = pairs.map(|(a, b)| a.saturating_mul(b)).collect();
    crate::tensor::checked_numel(op, &merged)?;
    Ok(merged)
}

fn repeat(x: &Tensor, repeats: &[usize]) -> Result<Tensor> {
    repeated("repeat", x, repeats)
}

fn tile(x: &Tensor, repeats: &[usize]) -> Result<Tensor> {
    let mut all = Shape::from_elem(1, x.rank().saturating_sub(repeats.len()));
    all.extend_from_slice(repeats);
    repeated("tile", x, &all)
}

fn repeated(op: &str, x: &Tensor, repeats: &[usize]) -> Result<Tensor> {
    let Some(lead) = repeats.len().checked_sub(x.rank()) else {
        let (n, ty) = (x.rank(), x.ty());
        bail!(Shape, "{op}: expected at least {n} repeats for {ty}, got {}", Brackets(repeats));
    };
    let size = |k: usize| if k < lead { 1 } else { x.shape()[k - lead] };
    let merged = check_size(op, repeats.iter().enumerate().map(|(k, &r)| (r, size(k))))?;
    // A dim of copies before each dim, where there are any to make.
    let (mut ones, mut full) = (Shape::new(), Shape::new());
    for (k, &r) in repeats.iter().enumerate() {
        if r != 1 {
            ones.push(1);
            full.push(r);
        }
        ones.push(size(k));
        full.push(size(k));
    }
    crate::tensor::checked_numel(op, &full)?;
    broadcast_to(&x.reshape_to(&ones)?, &full)?.reshape_to(&merged)
}

fn repeat_interleave(x: &Tensor, repeats: usize, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("repeat_interleave", dim, x.rank(), x.ty())?;
    let times = |k: usize| if k == dim { repeats } else { 1 };
    let merged = check_size("repeat_interleave", x.shape().iter().enumerate().map(|(k, &n)| (n, times(k))))?;
    let column = with_dim(x.shape(), dim + 1, 1);
    broadcast_to(&x.reshape_to(&column)?, &with_dim(x.shape(), behind(dim, dim), repeats))?.reshape_to(&merged)
}

fn repeat_elements(x: &Tensor, repeats: usize) -> Result<Tensor> {
    repeat_interleave(&x.reshape_to(&[x.numel()])?, repeats, 0)
}

fn repeat_elements_samples() -> Vec<Sample> {
    let case = |shape: &[usize], repeats: usize| {
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        Sample::one(format!("{shape:?} {repeats} times"), [x], move |x| x[0].repeat_elements(repeats)).reference(
            move |x| {
                let data: Vec<f64> = x[0].data.iter().flat_map(|&v| std::iter::repeat_n(v, repeats)).collect();
                vec![Naive { shape: vec![data.len()], data }]
            },
        )
    };
    vec![case(&[2, 2], 3), case(&[], 2), case(&[3], 0), case(&[0, 2], 2)]
}

fn repeat_elements_errors() -> Vec<ErrorSample> {
    vec![failing("size", ErrorKind::Shape, "repeat_interleave: ", &[2], |x| x.repeat_elements(usize::MAX))]
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

fn expand_with_samples() -> Vec<Sample> {
    let case = |label: &str, from: &[usize], sizes: &'static [isize], to: &'static [usize]| {
        Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].expand_with(sizes))
            .reference(move |x| vec![Naive::from_fn(to, |i| x[0].at_broadcast(i))])
    };
    vec![
        case("kept", &[3, 1], &[2, -1, 4], &[2, 3, 4]),
        case("all", &[2, 3], &[-1, -1], &[2, 3]),
        case("0-d", &[], &[2], &[2]),
        case("empty", &[0, 1], &[-1, 2], &[0, 2]),
    ]
}

fn expand_with_errors() -> Vec<ErrorSample> {
    vec![
        failing("new", ErrorKind::Value, "or -1 for a dimension of f64[3], got -1 in place 0", &[3], |x| {
            x.expand_with(&[-1, 3])
        }),
        failing("negative", ErrorKind::Value, "got -2 in place 0", &[1], |x| x.expand_with(&[-2])),
        failing("not one", ErrorKind::Shape, "f64[2,3] does not broadcast to [2,4]", &[2, 3], |x| {
            x.expand_with(&[-1, 4])
        }),
    ]
}

fn repeat_samples() -> Vec<Sample> {
    let case = |label: &str, from: &'static [usize], repeats: &'static [usize]| {
        Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].repeat(repeats)).reference(move |x| {
            let lead = repeats.len() - from.len();
            let out: Vec<usize> =
                repeats.iter().enumerate().map(|(k, r)| if k < lead { *r } else { r * from[k - lead] }).collect();
            vec![Naive::from_fn(&out, |i| {
                let own: Vec<usize> = i[lead..].iter().zip(from).map(|(i, n)| i % n).collect();
                x[0].at(&own)
            })]
        })
    };
    vec![
        case("rank grows", &[2], &[2, 2]),
        case("some dims", &[2, 3], &[1, 2]),
        case("0-d", &[], &[3]),
        case("none", &[2, 3], &[0, 1]),
        case("unchanged", &[2], &[1]),
    ]
}

fn repeat_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[2], 0.0, 1.0, 1));
    vec![
        ErrorSample::new("few", ErrorKind::Shape, "expected at least 2 repeats for f64[2,3], got [2]", move || {
            x.repeat(&[2])
        }),
        ErrorSample::new("size", ErrorKind::Shape, "is too large", move || y.repeat(&[usize::MAX, usize::MAX])),
    ]
}

fn tile_samples() -> Vec<Sample> {
    let case = |label: &str, from: &'static [usize], repeats: &'static [usize], out: &'static [usize]| {
        Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].tile(repeats)).reference(move |x| {
            vec![Naive::from_fn(out, |i| {
                let own: Vec<usize> = i[i.len() - from.len()..].iter().zip(from).map(|(i, n)| i % n).collect();
                x[0].at(&own)
            })]
        })
    };
    vec![
        case("fewer", &[2, 3], &[2], &[2, 6]),
        case("more", &[2], &[2, 1, 3], &[2, 1, 6]),
        case("0-d", &[], &[2], &[2]),
        case("no entry", &[2, 2], &[], &[2, 2]),
    ]
}

fn tile_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    vec![ErrorSample::new("size", ErrorKind::Shape, "tile: a tensor of shape", move || x.tile(&[usize::MAX, 2]))]
}

fn repeat_interleave_samples() -> Vec<Sample> {
    let case = |label: &str, from: &'static [usize], repeats: usize, dim: isize| {
        let d = dim.rem_euclid(from.len() as isize) as usize;
        Sample::one(label, [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].repeat_interleave(repeats, dim))
            .reference(move |x| {
                let mut out = from.to_vec();
                out[d] *= repeats;
                vec![Naive::from_fn(&out, |i| {
                    let mut own = i.to_vec();
                    own[d] /= repeats;
                    x[0].at(&own)
                })]
            })
    };
    vec![
        case("rows", &[2, 3], 2, 0),
        case("columns", &[2, 3], 3, -1),
        case("none", &[2], 0, 0),
        case("empty", &[2, 0], 2, 0),
    ]
}

fn repeat_interleave_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || {
        x.repeat_interleave(2, 2)
    })]
}
