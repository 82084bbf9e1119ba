//! The dimensions in another order, and the elements along them in another order.

use smallvec::SmallVec;

use super::{behind, failing};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::join;
use crate::ops::family::{Linear, linear};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Brackets, Dims, resolve_dim, resolve_dims};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The dimensions in another order.
    ///
    /// # Shapes
    /// Dimension `k` of the result is dimension `dims[k]` of the tensor; every dimension is named once.
    ///
    /// # Dtypes
    /// All.
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
    fn permute(&self, dims: &[isize]) -> Result<Tensor> = permute {
        samples: permute_samples, errors: permute_errors,
        python: permute(*dims as dims)
    };

    /// Two dimensions exchanged.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The same exchange.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]).transpose(0, 1)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn transpose(&self, dim0: isize, dim1: isize) -> Result<Tensor> = transpose {
        samples: transpose_samples, errors: transpose_errors,
        python: transpose(dim0, dim1), python: swapaxes(dim0 as axis0, dim1 as axis1), python: swapdims(dim0, dim1)
    };

    /// The transpose of a matrix.
    ///
    /// # Shapes
    /// At most two dimensions. Tensors with fewer than two are unchanged.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The transpose of the cotangent.
    ///
    /// # Errors
    /// `Shape` for more than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).t()?.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn t(&self) -> Result<Tensor> = t { samples: t_samples, errors: t_errors };

    /// Dimensions moved to other places, the others keeping their order.
    ///
    /// # Shapes
    /// Dimension `source[k]` of the tensor becomes dimension `destination[k]` of the result.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The dimensions moved back.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Arity` if the lists differ in length.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[2, 3, 4], DType::F32)?;
    /// assert_eq!(x.movedim(&[0], &[-1])?.shape(), [3, 4, 2]);
    /// assert_eq!(x.movedim(&[2, 1], &[0, 1])?.shape(), [4, 3, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn movedim(&self, source: &[isize], destination: &[isize]) -> Result<Tensor> = movedim {
        samples: movedim_samples, errors: movedim_errors,
        python: movedim(source, destination), python: moveaxis(source, destination)
    };

    /// The tensor turned by `k` quarters from dimension `dims[0]` towards `dims[1]`, without copying; negative numbers turn
    /// the other way.
    ///
    /// # Shapes
    /// Odd numbers exchange the sizes of both dimensions.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent turned back.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or both are the same.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.rot90(1, [0, 1])?.to_vec::<i32>()?, [2, 4, 1, 3]);
    /// assert_eq!(x.rot90(-1, [0, 1])?.to_vec::<i32>()?, [3, 1, 4, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn rot90(&self, k: isize, dims: [isize; 2]) -> Result<Tensor> = rot90 {
        samples: rot90_samples, errors: rot90_errors,
        python: rot90(k = 1, dims as dims = [0, 1])
    };

    /// The elements in reverse order along `dims`, without copying.
    ///
    /// # Shapes
    /// The shape stays. An empty list reverses nothing.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The same reversal.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2, 3]).flip(&[0])?.to_vec::<i32>()?, [3, 2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn flip(&self, dims: &[isize]) -> Result<Tensor> = flip {
        samples: flip_samples, errors: flip_errors,
        python: flip(*dims as dims)
    };

    /// The elements moved on by `shifts[k]` places along `dims[k]`; those that leave at one end enter at the other.
    ///
    /// # Shapes
    /// The shape stays. Without dims, one shift moves the elements in row-major order.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The elements moved back.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range; `Arity` if the lists differ in length.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3, 4]);
    /// assert_eq!(x.roll(&[1], &[0])?.to_vec::<i32>()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(&[-1], &[0])?.to_vec::<i32>()?, [2, 3, 4, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn roll(&self, shifts: &[isize], dims: &[isize]) -> Result<Tensor> = roll {
        samples: roll_samples, errors: roll_errors,
        python: roll(shifts, dims as dims = [])
    };
}

#[derive(Clone, Debug)]
struct Permute(Dims);

impl Linear for Permute {
    const NAME: &'static str = "permute";
    const COMPUTES: bool = false;
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
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Permute, usize)> {
        let mut order: Dims = self.0.iter().map(|&d| behind(d, lane)).collect();
        order.insert(lane, lane);
        Some((Permute(order), lane))
    }
}

fn permute(x: &Tensor, dims: &[isize]) -> Result<Tensor> {
    if dims.len() != x.rank() {
        bail!(Dim, "permute: expected {} dims for {}, got {}", x.rank(), x.ty(), Brackets(dims));
    }
    if dims.is_empty() {
        return x.unchanged("permute");
    }
    in_order(x, resolve_dims("permute", dims, x.rank(), x.ty())?)
}

/// [`permute`] by an order that is known to be one.
fn in_order(x: &Tensor, order: Dims) -> Result<Tensor> {
    if order.iter().enumerate().all(|(k, &d)| k == d) {
        return x.unchanged("permute");
    }
    linear(Permute(order), x)
}

/// `x` with dimension `from` moved to place `to`; both are in range.
pub(crate) fn move_dim(x: &Tensor, from: usize, to: usize) -> Result<Tensor> {
    if from == to {
        return x.unchanged("movedim");
    }
    let mut order: Dims = (0..x.rank()).collect();
    order.remove(from);
    order.insert(to, from);
    linear(Permute(order), x)
}

fn transpose(x: &Tensor, dim0: isize, dim1: isize) -> Result<Tensor> {
    let a = resolve_dim("transpose", dim0, x.rank(), x.ty())?;
    let b = resolve_dim("transpose", dim1, x.rank(), x.ty())?;
    let mut order: Dims = (0..x.rank()).collect();
    order.swap(a, b);
    in_order(x, order)
}

fn t(x: &Tensor) -> Result<Tensor> {
    match x.rank() {
        0 | 1 => x.unchanged("t"),
        2 => linear(Permute(Dims::from_slice(&[1, 0])), x),
        _ => bail!(Shape, "t: expected at most 2 dims, got {}", x.ty(); help = "use `transpose` or `permute`"),
    }
}

fn movedim(x: &Tensor, source: &[isize], destination: &[isize]) -> Result<Tensor> {
    if source.len() != destination.len() {
        let (from, to) = (Brackets(source), Brackets(destination));
        bail!(Arity, "movedim: expected as many destinations as sources, got {from} and {to}");
    }
    if source.is_empty() {
        return x.unchanged("movedim");
    }
    let from = resolve_dims("movedim", source, x.rank(), x.ty())?;
    let to = resolve_dims("movedim", destination, x.rank(), x.ty())?;
    let mut others = (0..x.rank()).filter(|d| !from.contains(d));
    let order = (0..x.rank())
        .filter_map(|k| match to.iter().position(|&t| t == k) {
            Some(moved) => Some(from[moved]),
            None => others.next(),
        })
        .collect();
    in_order(x, order)
}

/// Reverses the elements along some dimensions.
#[derive(Clone, Debug)]
struct Flip(Dims);

impl Linear for Flip {
    const NAME: &'static str = "flip";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let mut out = x.clone();
        for &d in &self.0 {
            let n = x.shape()[d];
            out = out.slice(d, n.saturating_sub(1), n, -1);
        }
        Ok(out)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(self.clone(), g)
    }
    fn batched(&self, _: usize) -> Flip {
        Flip(self.0.iter().map(|d| d + 1).collect())
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Flip, usize)> {
        Some((Flip(self.0.iter().map(|&d| behind(d, lane)).collect()), lane))
    }
}

fn rot90(x: &Tensor, k: isize, dims: [isize; 2]) -> Result<Tensor> {
    resolve_dims("rot90", &dims, x.rank(), x.ty())?;
    let [a, b] = dims;
    match k.rem_euclid(4) {
        0 => x.unchanged("rot90"),
        1 => x.flip(&[b])?.transpose(a, b),
        2 => x.flip(&dims),
        _ => x.transpose(a, b)?.flip(&[b]),
    }
}

fn flip(x: &Tensor, dims: &[isize]) -> Result<Tensor> {
    if dims.is_empty() {
        return x.unchanged("flip");
    }
    linear(Flip(resolve_dims("flip", dims, x.rank(), x.ty())?), x)
}

/// Moves the elements along a dimension on by some places, fewer than there are.
#[derive(Clone, Debug)]
struct Roll {
    dim: usize,
    shift: usize,
}

impl Linear for Roll {
    const NAME: &'static str = "roll";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let Roll { dim, shift } = *self;
        let stays = x.shape()[dim] - shift;
        join::cat(&[&x.slice(dim, stays, shift, 1), &x.slice(dim, 0, stays, 1)], dim)
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        linear(Roll { dim: self.dim, shift: input[self.dim] - self.shift }, g)
    }
    fn batched(&self, _: usize) -> Roll {
        Roll { dim: self.dim + 1, ..*self }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Roll, usize)> {
        Some((Roll { dim: behind(self.dim, lane), ..*self }, lane))
    }
}

fn roll_dim(x: &Tensor, dim: usize, shift: isize) -> Result<Tensor> {
    let n = x.shape()[dim] as isize;
    if n == 0 || shift % n == 0 {
        return x.unchanged("roll");
    }
    linear(Roll { dim, shift: shift.rem_euclid(n) as usize }, x)
}

fn roll(x: &Tensor, shifts: &[isize], dims: &[isize]) -> Result<Tensor> {
    if let ([shift], []) = (shifts, dims) {
        return roll_dim(&x.reshape_to(&[x.numel()])?, 0, *shift)?.reshape_to(x.shape());
    }
    if shifts.len() != dims.len() {
        let (s, d) = (Brackets(shifts), Brackets(dims));
        bail!(Arity, "roll: expected as many shifts as dims, or one shift and no dims, got {s} and {d}");
    }
    let dims: SmallVec<[usize; 6]> =
        dims.iter().map(|&d| resolve_dim("roll", d, x.rank(), x.ty())).collect::<Result<_>>()?;
    dims.iter().zip(shifts).try_fold(x.unchanged("roll")?, |x, (&dim, &shift)| roll_dim(&x, dim, shift))
}

/// A sample whose result has this shape, and at each index the element of the input at `from` of it.
fn case(
    label: &str,
    shape: &[usize],
    out: &'static [usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    from: impl Fn(&[usize]) -> Vec<usize> + Send + Sync + 'static,
) -> Sample {
    Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0]))
        .reference(move |x| vec![Naive::from_fn(out, |i| x[0].at(&from(i)))])
}

fn permute_samples() -> Vec<Sample> {
    vec![
        case("cycle", &[2, 3, 4], &[4, 2, 3], |x| x.permute(&[2, 0, -2]), |i| vec![i[1], i[2], i[0]]),
        case("0-d", &[], &[], |x| x.permute(&[]), <[usize]>::to_vec),
        case("empty", &[2, 0], &[0, 2], |x| x.permute(&[1, 0]), |i| vec![i[1], i[0]]),
    ]
}

fn permute_errors() -> Vec<ErrorSample> {
    vec![
        failing("twice", ErrorKind::Dim, "dim -1 is given twice for f64[2,3]", |x| x.permute(&[1, -1])),
        failing("too few", ErrorKind::Dim, "expected 2 dims for f64[2,3], got [0]", |x| x.permute(&[0])),
    ]
}

fn transpose_samples() -> Vec<Sample> {
    vec![
        case("ends", &[2, 3, 4], &[4, 3, 2], |x| x.transpose(0, -1), |i| vec![i[2], i[1], i[0]]),
        case("same", &[2, 3], &[2, 3], |x| x.transpose(1, -1), <[usize]>::to_vec),
        case("empty", &[0, 3], &[3, 0], |x| x.transpose(0, 1), |i| vec![i[1], i[0]]),
    ]
}

fn transpose_errors() -> Vec<ErrorSample> {
    vec![failing("dim", ErrorKind::Dim, "transpose: dim 2 is out of range for f64[2,3]", |x| x.transpose(0, 2))]
}

fn t_samples() -> Vec<Sample> {
    vec![
        case("matrix", &[2, 3], &[3, 2], Tensor::t, |i| vec![i[1], i[0]]),
        case("vector", &[3], &[3], Tensor::t, <[usize]>::to_vec),
        case("0-d", &[], &[], Tensor::t, <[usize]>::to_vec),
    ]
}

fn t_errors() -> Vec<ErrorSample> {
    vec![failing("rank", ErrorKind::Shape, "t: expected at most 2 dims, got f64[2,3,1]", |x| x.unsqueeze(2)?.t())]
}

fn rot90_samples() -> Vec<Sample> {
    vec![
        case("once", &[2, 3], &[3, 2], |x| x.rot90(1, [0, 1]), |i| vec![i[1], 2 - i[0]]),
        case("twice", &[2, 3], &[2, 3], |x| x.rot90(-2, [0, 1]), |i| vec![1 - i[0], 2 - i[1]]),
        case("back", &[2, 3], &[3, 2], |x| x.rot90(-1, [0, 1]), |i| vec![1 - i[1], i[0]]),
        case("other order", &[2, 3], &[3, 2], |x| x.rot90(1, [1, 0]), |i| vec![1 - i[1], i[0]]),
        case("around", &[2, 3], &[2, 3], |x| x.rot90(8, [0, 1]), <[usize]>::to_vec),
        case("of three", &[2, 3, 2], &[2, 3, 2], |x| x.rot90(1, [0, -1]), |i| vec![i[2], i[1], 1 - i[0]]),
        case("empty", &[0, 3], &[3, 0], |x| x.rot90(1, [0, 1]), |i| vec![i[1], 2 - i[0]]),
    ]
}

fn rot90_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("same", ErrorKind::Dim, "rot90:", move || x.rot90(1, [1, -1]))]
}

fn movedim_samples() -> Vec<Sample> {
    vec![
        case("one", &[2, 3, 4], &[3, 4, 2], |x| x.movedim(&[0], &[-1]), |i| vec![i[2], i[0], i[1]]),
        case("two", &[2, 3, 4], &[4, 3, 2], |x| x.movedim(&[2, 1], &[0, 1]), |i| vec![i[2], i[1], i[0]]),
        case("none", &[2, 3], &[2, 3], |x| x.movedim(&[], &[]), <[usize]>::to_vec),
        case("empty", &[2, 0, 3], &[0, 3, 2], |x| x.movedim(&[0], &[2]), |i| vec![i[2], i[0], i[1]]),
    ]
}

fn movedim_errors() -> Vec<ErrorSample> {
    vec![
        failing("lengths", ErrorKind::Arity, "expected as many destinations as sources, got [0] and [1,0]", |x| {
            x.movedim(&[0], &[1, 0])
        }),
        failing("twice", ErrorKind::Dim, "movedim: dim -2 is given twice for f64[2,3]", |x| {
            x.movedim(&[0, 1], &[0, -2])
        }),
    ]
}

fn flip_samples() -> Vec<Sample> {
    vec![
        case("one", &[2, 3], &[2, 3], |x| x.flip(&[-1]), |i| vec![i[0], 2 - i[1]]),
        case("two", &[2, 3, 2], &[2, 3, 2], |x| x.flip(&[2, 0]), |i| vec![1 - i[0], i[1], 1 - i[2]]),
        case("none", &[2], &[2], |x| x.flip(&[]), <[usize]>::to_vec),
        case("empty", &[0, 2], &[0, 2], |x| x.flip(&[0]), <[usize]>::to_vec),
    ]
}

fn flip_errors() -> Vec<ErrorSample> {
    vec![failing("dim", ErrorKind::Dim, "flip: dim 2 is out of range for f64[2,3]", |x| x.flip(&[2]))]
}

fn roll_samples() -> Vec<Sample> {
    vec![
        case("on", &[4], &[4], |x| x.roll(&[1], &[0]), |i| vec![(i[0] + 3) % 4]),
        case("back, far", &[2, 3], &[2, 3], |x| x.roll(&[-4], &[-1]), |i| vec![i[0], (i[1] + 1) % 3]),
        case("two", &[2, 3], &[2, 3], |x| x.roll(&[1, 2], &[0, 1]), |i| vec![(i[0] + 1) % 2, (i[1] + 1) % 3]),
        case(
            "row-major",
            &[2, 3],
            &[2, 3],
            |x| x.roll(&[2], &[]),
            |i| {
                let k = (i[0] * 3 + i[1] + 4) % 6;
                vec![k / 3, k % 3]
            },
        ),
        case("empty", &[0], &[0], |x| x.roll(&[1], &[0]), <[usize]>::to_vec),
    ]
}

fn roll_errors() -> Vec<ErrorSample> {
    vec![
        failing("lengths", ErrorKind::Arity, "got [1,2] and [0]", |x| x.roll(&[1, 2], &[0])),
        failing("dim", ErrorKind::Dim, "roll: dim -3 is out of range for f64[2,3]", |x| x.roll(&[1], &[-3])),
    ]
}
