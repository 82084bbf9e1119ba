//! Elements put around a tensor, or taken away from its ends.

use smallvec::SmallVec;

use super::{Placed, View, behind, broadcast_to, slice};
use crate::array::{Array, Cut};
use crate::dtype::Scalar;
use crate::error::bail;
use crate::ops::arith::{fits, scalar_tensor};
use crate::ops::family::linear;
use crate::ops::region::replace;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Brackets, Shape};
use crate::{DType, ErrorKind, Result, Tensor};

/// What [`pad`](Tensor::pad) puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One number.
    Constant(f64),
    /// The elements from the end inwards, without the last one: `[c b] a b c [b a]`. Fewer than there are.
    Reflect,
    /// The last element: `[a a] a b c [c c]`.
    Replicate,
    /// The elements from the other end: `[b c] a b c [a b]`. At most as many as are left where elements are taken away.
    Circular,
}

ops! { OPS;
    /// The tensor with elements put around it.
    ///
    /// # Shapes
    /// `padding` has two numbers for each dimension, beginning with the last one: how many elements to put before and
    /// behind it. Dimensions that it does not speak of stay. Negative numbers take elements away.
    ///
    /// # Dtypes
    /// All; a constant must be a value of the dtype.
    ///
    /// # Derivative
    /// The cotangent of every element, added up over its copies.
    ///
    /// # Errors
    /// `Shape` for an odd number of entries, or more than the tensor has dimensions for, if more is taken away than
    /// there is, or if there are too few elements for the mode; `Value` for a constant that the dtype cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::{PadMode, Tensor};
    /// let x = Tensor::from([1, 2, 3]);
    /// assert_eq!(x.pad(&[1, 2], PadMode::Constant(0.0))?.to_vec::<i32>()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(x.pad(&[2, 1], PadMode::Reflect)?.to_vec::<i32>()?, [3, 2, 1, 2, 3, 2]);
    /// assert_eq!(x.pad(&[2, -1], PadMode::Replicate)?.to_vec::<i32>()?, [1, 1, 1, 2]);
    /// assert_eq!(x.pad(&[1, 1], PadMode::Circular)?.to_vec::<i32>()?, [3, 1, 2, 3, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn pad(&self, padding: &[isize], mode: PadMode) -> Result<Tensor> = pad {
        samples: pad_samples, errors: pad_errors,
        python: pad(padding as pad, mode),
        python: nn::functional::pad(padding as pad, mode)
    };
}

/// A window of some dimensions: dimension, first place, size. Its transpose puts zeros around.
#[derive(Clone, Debug)]
struct Window(SmallVec<[(usize, usize, usize); 2]>);

impl View for Window {
    const NAME: &'static str = "pad_backward";
    const BACK: &'static str = "pad";
    fn of(&self, x: &Array) -> Array {
        self.0.iter().fold(x.clone(), |x, &(dim, start, len)| x.slice(dim, start, len, 1))
    }
    fn with_lanes(&self, lane: usize) -> (Window, usize) {
        (Window(self.0.iter().map(|&(dim, start, len)| (behind(dim, lane), start, len)).collect()), lane)
    }
}

/// A dimension to pad: how many elements before and behind it.
type Side = (usize, isize, isize);

fn pad(x: &Tensor, padding: &[isize], mode: PadMode) -> Result<Tensor> {
    if !padding.len().is_multiple_of(2) || padding.len() > 2 * x.rank() {
        let (n, ty) = (2 * x.rank(), x.ty());
        bail!(Shape, "pad: expected an even number of entries, at most {n} for {ty}, got {}", Brackets(padding));
    }
    let mut sides: SmallVec<[Side; 4]> = SmallVec::new();
    let mut shape = Shape::from_slice(x.shape());
    for (k, side) in padding.chunks_exact(2).enumerate() {
        let (dim, before, after) = (x.rank() - 1 - k, side[0], side[1]);
        let n = x.shape()[dim];
        let size = (n as i128) + (before as i128) + (after as i128);
        let left = (n as i128) + before.min(0) as i128 + after.min(0) as i128;
        if size < 0 || left < 0 {
            bail!(
                Shape,
                "pad: expected at most {n} elements to take away from dim {dim} of {}, got {before} and {after}",
                x.ty()
            );
        }
        shape[dim] = usize::try_from(size).unwrap_or(usize::MAX);
        let most = match mode {
            PadMode::Constant(_) => isize::MAX,
            PadMode::Reflect => n as isize - 1,
            PadMode::Replicate => {
                if n == 0 {
                    0
                } else {
                    isize::MAX
                }
            }
            PadMode::Circular => left as isize,
        };
        // Nothing is needed of a dimension without elements if nothing is put there.
        if before.max(after) > most.max(0) {
            bail!(
                Shape,
                "pad: expected at most {} elements around dim {dim} of {} in mode {mode:?}, got {before} and {after}",
                most.max(0),
                x.ty()
            );
        }
        if (before, after) != (0, 0) {
            sides.push((dim, before, after));
        }
    }
    crate::tensor::checked_numel("pad", &shape)?;
    match mode {
        PadMode::Constant(value) => surround(x, &sides, &shape, constant(value, x)?),
        // Where there is nothing, no list of the elements to repeat is needed.
        _ if shape.contains(&0) => surround(x, &sides, &shape, constant(0.0, x)?),
        _ => sides.iter().try_fold(x.unchanged("pad")?, |x, &side| extend(&x, side, mode)),
    }
}

/// The constant as an element of `x`.
fn constant(value: f64, x: &Tensor) -> Result<Scalar> {
    let dtype = x.dtype();
    if dtype.is_float() {
        return Ok(Scalar::Float(value));
    }
    let whole = value as i64;
    if whole as f64 != value || !fits(whole, dtype) {
        bail!(Value, "pad: expected a constant that {dtype} can hold, got {value} for {}", x.ty(); help = "convert the \
            tensor with `to_dtype` first");
    }
    Ok(Scalar::Int(whole))
}

/// `x` inside of a constant.
fn surround(x: &Tensor, sides: &[Side], shape: &[usize], value: Scalar) -> Result<Tensor> {
    let mut x = x.unchanged("pad")?;
    let mut window = Window(SmallVec::new());
    for &(dim, before, after) in sides {
        let start = before.min(0).unsigned_abs();
        let len = x.shape()[dim] - start - after.min(0).unsigned_abs();
        x = slice(&x, dim, start, len, 1)?;
        if before > 0 || after > 0 {
            window.0.push((dim, before.max(0) as usize, len));
        }
    }
    if window.0.is_empty() {
        return Ok(x);
    }
    // The sign of zero counts.
    if value.to_f64().to_bits() == 0 {
        return linear(Placed { view: window, shape: Shape::from_slice(shape) }, &x);
    }
    let mut cuts: SmallVec<[Cut; 4]> = shape.iter().map(|&n| Cut::all(n)).collect();
    for (dim, start, len) in window.0 {
        cuts[dim] = Cut { start: if len == 0 { 0 } else { start }, len, step: 1, keep: true };
    }
    replace(&broadcast_to(&scalar_tensor(value, x.dtype()), shape)?, &x, &cuts)
}

/// Where the element that a place outside repeats comes from.
fn source(place: isize, n: isize, mode: PadMode) -> isize {
    match mode {
        PadMode::Reflect if place < 0 => -place,
        PadMode::Reflect if place >= n => 2 * (n - 1) - place,
        PadMode::Circular => place.rem_euclid(n),
        _ => place.clamp(0, n - 1),
    }
}

/// `x` extended along a dimension by elements of its own.
fn extend(x: &Tensor, (dim, before, after): Side, mode: PadMode) -> Result<Tensor> {
    let n = x.shape()[dim] as isize;
    if before <= 0 && after <= 0 {
        let start = before.unsigned_abs();
        return slice(x, dim, start, n as usize - start - after.unsigned_abs(), 1);
    }
    if mode == PadMode::Circular && (before < 0 || after < 0) {
        // What is taken away does not come back at the other end.
        let left = extend(x, (dim, before.min(0), after.min(0)), mode)?;
        return extend(&left, (dim, before.max(0), after.max(0)), mode);
    }
    let places: Vec<i64> = (-before..n + after).map(|place| source(place, n, mode) as i64).collect();
    x.index_select(dim as isize, &Tensor::from(places))
}

fn pad_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], padding: &'static [isize], mode: PadMode| {
        let label = format!("{label} {mode:?}");
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].pad(padding, mode)).reference(move |x| {
            let rank = x[0].shape.len();
            let side = |d: usize, k: usize| padding.get(2 * (rank - 1 - d) + k).copied().unwrap_or(0);
            let out: Vec<usize> =
                (0..rank).map(|d| (x[0].shape[d] as isize + side(d, 0) + side(d, 1)) as usize).collect();
            vec![Naive::from_fn(&out, |at| {
                let mut from = vec![];
                for (d, &i) in at.iter().enumerate() {
                    let (n, place) = (x[0].shape[d] as isize, i as isize - side(d, 0));
                    match mode {
                        PadMode::Constant(value) if place < 0 || place >= n => return value,
                        PadMode::Constant(_) => from.push(place as usize),
                        // Walk back step by step.
                        PadMode::Reflect => {
                            let mut p = place;
                            while p < 0 || p >= n {
                                p = if p < 0 { -p } else { 2 * n - 2 - p };
                            }
                            from.push(p as usize);
                        }
                        PadMode::Replicate => from.push(place.max(0).min(n - 1) as usize),
                        PadMode::Circular => {
                            let first = (-side(d, 0)).max(0);
                            let left = n - first - (-side(d, 1)).max(0);
                            from.push((first + (place - first + left) % left) as usize);
                        }
                    }
                }
                x[0].at(&from)
            })]
        })
    };
    let mut out = vec![
        case("0-d", &[], &[], PadMode::Constant(0.0)),
        case("empty", &[0], &[2, 1], PadMode::Constant(1.5)),
        case("empty rows", &[0, 2], &[1, 0, 0, 0], PadMode::Reflect),
    ];
    for mode in
        [PadMode::Constant(0.0), PadMode::Constant(-2.5), PadMode::Reflect, PadMode::Replicate, PadMode::Circular]
    {
        out.push(case("vector", &[4], &[2, 3], mode));
        out.push(case("matrix", &[3, 4], &[1, 2, 2, 0], mode));
        out.push(case("cropped", &[3, 4], &[-1, 2, -1, -1], mode));
        out.push(case("all of three", &[2, 3, 2], &[0, 1, 1, 0, 1, 1], mode));
        out.push(case("nothing", &[2, 3], &[0, 0], mode));
    }
    out
}

fn pad_errors() -> Vec<ErrorSample> {
    let case = |label: &str, kind: ErrorKind, message: &'static str, padding: &'static [isize], mode: PadMode| {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || x.pad(padding, mode))
    };
    let zero = PadMode::Constant(0.0);
    let mut out = vec![
        case(
            "odd",
            ErrorKind::Shape,
            "expected an even number of entries, at most 4 for f64[2,3], got [1]",
            &[1],
            zero,
        ),
        case("many", ErrorKind::Shape, "at most 4 for f64[2,3], got [0,0,0,0,1,1]", &[0, 0, 0, 0, 1, 1], zero),
        case(
            "away",
            ErrorKind::Shape,
            "at most 3 elements to take away from dim 1 of f64[2,3], got -2 and -2",
            &[-2, -2],
            zero,
        ),
        case("away and back", ErrorKind::Shape, "at most 3 elements to take away from dim 1", &[-4, 5], zero),
        case(
            "reflect",
            ErrorKind::Shape,
            "expected at most 1 elements around dim 0 of f64[2,3] in mode Reflect, got 0 and 2",
            &[0, 0, 0, 2],
            PadMode::Reflect,
        ),
        case("circular", ErrorKind::Shape, "at most 3 elements around dim 1", &[4, 0], PadMode::Circular),
        case("size", ErrorKind::Shape, "is too large", &[isize::MAX, isize::MAX], zero),
    ];
    let empty = sample_tensor(&[0], 0.0, 1.0, 1);
    out.push(ErrorSample::new("replicate nothing", ErrorKind::Shape, "at most 0 elements", move || {
        empty.pad(&[1, 0], PadMode::Replicate)
    }));
    for (label, value, dtype) in
        [("fraction", 0.5, DType::I32), ("large", 256.0, DType::U8), ("NaN", f64::NAN, DType::I64)]
    {
        out.push(ErrorSample::new(label, ErrorKind::Value, "pad: expected a constant that", move || {
            Tensor::zeros(&[2], dtype)?.pad(&[1, 1], PadMode::Constant(value))
        }));
    }
    out
}
