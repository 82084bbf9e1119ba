//! What may stand in the brackets of an index, and which part of a tensor it means.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use smallvec::{SmallVec, smallvec};

use super::Tensor;
use crate::array::Cut;
use crate::shape::Shape;
use crate::{DType, Result, error::bail};

/// One item of an index. You rarely name it: integers, ranges, [`s`], [`Ellipsis`], [`NewAxis`], lists of integers and
/// tensors turn into it.
///
/// It is useful to build an index whose length is only known at run time: a `Vec<IndexItem>` is an index.
///
/// ```
/// use pullback::{IndexItem, Tensor};
/// let x = Tensor::from([[1, 2], [3, 4]]);
/// let corner = vec![IndexItem::from(0); x.rank()];
/// assert_eq!(x.i(corner)?.item::<i32>()?, 1);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IndexItem {
    /// One position of a dimension, which is dropped; negative ones count from the end.
    At(isize),
    /// The positions from `start` (included) to `end` (excluded) in steps of `step`.
    Range {
        /// The first position; without one, the first in the direction of the step.
        start: Option<isize>,
        /// The position to stop before; without one, beyond the last.
        end: Option<isize>,
        /// The distance between positions; negative ones go backwards.
        step: isize,
    },
    /// All dimensions that no other item speaks of.
    Ellipsis,
    /// A new dimension of size 1.
    NewAxis,
    /// The positions that a tensor of integers lists, or at which a tensor of bools is true.
    Tensor(Tensor),
}

/// In an index: all dimensions that no other item speaks of.
///
/// ```
/// use pullback::{DType, Ellipsis, Tensor};
/// let x = Tensor::zeros(&[2, 3, 4], DType::F32)?;
/// assert_eq!(x.i((Ellipsis, 0))?.shape(), [2, 3]);
/// assert_eq!(x.i((0, Ellipsis, 1..3))?.shape(), [3, 2]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ellipsis;

/// In an index: a new dimension of size 1.
///
/// ```
/// use pullback::{NewAxis, Tensor};
/// let x = Tensor::from([1, 2, 3]);
/// assert_eq!(x.i((.., NewAxis))?.shape(), [3, 1]);
/// assert_eq!(x.i(NewAxis)?.shape(), [1, 3]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewAxis;

/// In an index: the positions from `start` (included) to `end` (excluded) in steps of `step`, like `start:end:step`
/// in Python.
///
/// Bounds are integers, negative ones counting from the end, or `None`; bounds beyond an end mean that end. A negative
/// step goes backwards.
///
/// ```
/// use pullback::{Tensor, s};
/// let x = Tensor::from([0, 1, 2, 3, 4]);
/// assert_eq!(x.i(s(1, None, 2))?.to_vec::<i32>()?, [1, 3]);
/// assert_eq!(x.i(s(None, None, -1))?.to_vec::<i32>()?, [4, 3, 2, 1, 0]);
/// assert_eq!(x.i(s(-1, 0, -2))?.to_vec::<i32>()?, [4, 2]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn s(start: impl IndexBound, end: impl IndexBound, step: isize) -> IndexItem {
    IndexItem::Range { start: start.bound(), end: end.bound(), step }
}

/// A position in an index: a Rust integer of any common type, or `None` where the position may be left out. Sealed.
pub trait IndexBound: sealed::Sealed {
    #[doc(hidden)]
    fn bound(self) -> Option<isize>;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Option<isize> {}
impl IndexBound for Option<isize> {
    fn bound(self) -> Option<isize> {
        self
    }
}

/// An integer as a position: what does not fit is out of range for every tensor anyway.
macro_rules! integer_index {
    ($($t:ty),*) => { $(
        impl sealed::Sealed for $t {}
        impl IndexBound for $t {
            #[inline]
            fn bound(self) -> Option<isize> {
                #[allow(unused_comparisons)]
                Some(isize::try_from(self).unwrap_or(if self < 0 { isize::MIN } else { isize::MAX }))
            }
        }
        impl From<$t> for IndexItem {
            #[inline]
            fn from(at: $t) -> IndexItem {
                IndexItem::At(at.bound().unwrap_or_default())
            }
        }
    )* };
}
integer_index!(i32, i64, isize, u32, usize);

impl From<RangeFull> for IndexItem {
    fn from(_: RangeFull) -> IndexItem {
        s(None, None, 1)
    }
}

/// The position behind the last one of a range that includes it. Behind -1 is the end, not position 0.
fn behind(last: Option<isize>) -> Option<isize> {
    last.filter(|&last| last != -1).map(|last| last.saturating_add(1))
}

/// Writes the conversion of a range with two bounds or one.
macro_rules! range_index {
    ($($range:ident: |$r:pat_param| $start:expr, $end:expr;)*) => { $(
        impl<I: IndexBound> From<$range<I>> for IndexItem {
            fn from($r: $range<I>) -> IndexItem {
                IndexItem::Range { start: $start, end: $end, step: 1 }
            }
        }
    )* };
}
range_index! {
    Range: |Range { start, end }| start.bound(), end.bound();
    RangeFrom: |RangeFrom { start }| start.bound(), None;
    RangeTo: |RangeTo { end }| None, end.bound();
    RangeToInclusive: |RangeToInclusive { end }| None, behind(end.bound());
}
impl<I: IndexBound> From<RangeInclusive<I>> for IndexItem {
    fn from(r: RangeInclusive<I>) -> IndexItem {
        let (start, end) = r.into_inner();
        IndexItem::Range { start: start.bound(), end: behind(end.bound()), step: 1 }
    }
}

impl From<Ellipsis> for IndexItem {
    fn from(_: Ellipsis) -> IndexItem {
        IndexItem::Ellipsis
    }
}

impl From<NewAxis> for IndexItem {
    fn from(_: NewAxis) -> IndexItem {
        IndexItem::NewAxis
    }
}

impl From<&Tensor> for IndexItem {
    fn from(index: &Tensor) -> IndexItem {
        IndexItem::Tensor(index.clone())
    }
}

impl From<Tensor> for IndexItem {
    fn from(index: Tensor) -> IndexItem {
        IndexItem::Tensor(index)
    }
}

/// The vector of these positions.
fn listed(places: impl Iterator<Item = Option<isize>>) -> IndexItem {
    let places: Vec<i64> = places.map(|place| place.unwrap_or_default() as i64).collect();
    IndexItem::Tensor(Tensor::from(places))
}

impl<I: IndexBound, const N: usize> From<[I; N]> for IndexItem {
    fn from(places: [I; N]) -> IndexItem {
        listed(places.into_iter().map(I::bound))
    }
}

impl<I: IndexBound> From<Vec<I>> for IndexItem {
    fn from(places: Vec<I>) -> IndexItem {
        listed(places.into_iter().map(I::bound))
    }
}

impl<I: IndexBound + Copy> From<&[I]> for IndexItem {
    fn from(places: &[I]) -> IndexItem {
        listed(places.iter().map(|place| place.bound()))
    }
}

impl<I: IndexBound + Copy> From<&Vec<I>> for IndexItem {
    fn from(places: &Vec<I>) -> IndexItem {
        places[..].into()
    }
}

/// What selects a part of a tensor in [`i`](Tensor::i), [`index_set`](Tensor::index_set),
/// [`index_put`](Tensor::index_put) and [`set_`](Tensor::set_): one item, or a tuple of items, which speak of the dimensions in order.
///
/// | item | NumPy | takes |
/// |---|---|---|
/// | `2`, `-1` | `2`, `-1` | one position; the dimension is dropped. Negative ones count from the end |
/// | `..` | `:` | all of one dimension |
/// | `1..3`, `1..`, `..-1`, `..=2` | `1:3`, `1:`, `:-1`, `:3` | a range of one dimension |
/// | [`s(1, None, 2)`](s) | `1::2` | positions in steps; negative steps go backwards |
/// | [`Ellipsis`] | `...` | all dimensions that no other item speaks of |
/// | [`NewAxis`] | `None` | no dimension; one of size 1 is put in |
/// | `[0, 2, 2]`, a `Vec`, a slice | `[0, 2, 2]` | these positions of one dimension |
/// | `&index`, a tensor of `i64` or `i32` | `index` | its positions of one dimension, whose place its dims take |
/// | `&mask`, a tensor of bools | `mask` | the places where it is true, of as many dimensions as it has |
///
/// Dimensions behind the last item are taken whole. `..` always stands for one dimension; [`Ellipsis`] for as many as
/// are left. A position must lie inside of its dimension; the bounds of a range need not: as in NumPy and in
/// [`slice`](Tensor::slice), bounds beyond an end mean that end, and a range that ends before it starts is empty. A `Vec`
/// or array of [`IndexItem`]s is an index whose length is known at run time.
///
/// Positions in a list or tensor must lie inside of their dimension, too. Several of them broadcast against each other
/// and are read together: the result has their common dims once, in the place of the first one if they stand next to
/// each other, and in front if a range, [`Ellipsis`] or [`NewAxis`] stands between them. Single positions are taken
/// first and separate nothing. All of this is as in PyTorch.
///
/// ```
/// use pullback::{NewAxis, Tensor};
/// let x = Tensor::arange(0, 12, 1, pullback::DType::I64)?.reshape(&[3, 4])?;
/// let (rows, columns) = (Tensor::from([2i64, 0]), Tensor::from([1i64, -1]));
/// assert_eq!(x.i((&rows, &columns))?.to_vec::<i64>()?, [9, 3]);
/// assert_eq!(x.i((&rows.i((.., NewAxis))?, &columns))?.to_vec::<i64>()?, [9, 11, 1, 3]);
/// assert_eq!(x.i((.., [0, 0]))?.shape(), [3, 2]);
/// assert_eq!(x.i(x.gt(8)?)?.to_vec::<i64>()?, [9, 10, 11]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// A mask makes a result whose size depends on its contents. It can be read by `grad` and its relatives, but not where
/// the lanes of a [`vmap`](crate::vmap) have masks of their own, nor where [`capture`](crate::capture) writes the mask
/// down: [`where_`](Tensor::where_) and [`masked_fill`](Tensor::masked_fill) keep the shape.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of a tensor",
    label = "not an index",
    note = "an index is an integer, a range, `s(start, end, step)`, `Ellipsis`, `NewAxis`, a list of integers, a tensor, or \
        a tuple of these"
)]
pub trait Indices {
    /// The items in order.
    #[doc(hidden)]
    fn items(self) -> IndexItems;
}

/// The items of an index.
#[doc(hidden)]
pub type IndexItems = SmallVec<[IndexItem; 4]>;

/// Writes that an item alone is an index.
macro_rules! one_item {
    ($([$($bound:tt)*] $t:ty;)*) => { $(
        impl<$($bound)*> Indices for $t {
            fn items(self) -> IndexItems {
                smallvec![self.into()]
            }
        }
    )* };
}
one_item! {
    [] i32; [] i64; [] isize; [] u32; [] usize;
    [] RangeFull; [] Ellipsis; [] NewAxis; [] IndexItem;
    [I: IndexBound] Range<I>; [I: IndexBound] RangeFrom<I>; [I: IndexBound] RangeTo<I>;
    [I: IndexBound] RangeInclusive<I>; [I: IndexBound] RangeToInclusive<I>;
    [] &Tensor; [] Tensor; [I: IndexBound] Vec<I>; [I: IndexBound + Copy] &Vec<I>; [I: IndexBound + Copy] &[I];
    [I: IndexBound, const N: usize] [I; N];
}

impl Indices for Vec<IndexItem> {
    fn items(self) -> IndexItems {
        self.into()
    }
}

impl<const N: usize> Indices for [IndexItem; N] {
    fn items(self) -> IndexItems {
        self.into_iter().collect()
    }
}

impl Indices for &[IndexItem] {
    fn items(self) -> IndexItems {
        self.iter().cloned().collect()
    }
}

macro_rules! tuple_index {
    ($($t:ident $k:tt),*) => {
        impl<$($t: Into<IndexItem>),*> Indices for ($($t,)*) {
            fn items(self) -> IndexItems {
                smallvec![$(self.$k.into()),*]
            }
        }
    };
}
tuple_index!();
tuple_index!(A 0);
tuple_index!(A 0, B 1);
tuple_index!(A 0, B 1, C 2);
tuple_index!(A 0, B 1, C 2, D 3);
tuple_index!(A 0, B 1, C 2, D 3, E 4);
tuple_index!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_index!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_index!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// A tensor in an index.
pub(crate) struct Pick {
    pub(crate) index: Tensor,
    /// The dimension of the tensor that it speaks of, the first one for a mask.
    pub(crate) of: usize,
    /// The same dimension of the part.
    pub(crate) at: usize,
}

/// The part of a tensor that an index means.
pub(crate) struct Part {
    /// What is taken of each dimension.
    pub(crate) cuts: SmallVec<[Cut; 4]>,
    /// The shape of the result; where there are picks, before they are made.
    pub(crate) shape: Shape,
    /// The tensors, whose dimensions are taken whole here.
    pub(crate) picks: SmallVec<[Pick; 1]>,
}

impl Part {
    /// The shape before new axes are put in.
    pub(crate) fn kept(&self) -> Shape {
        self.cuts.iter().filter(|c| c.keep).map(|c| c.len).collect()
    }

    /// Interprets an index for `x`; `op` names the place in messages.
    pub(crate) fn of(op: &str, x: &Tensor, items: IndexItems) -> Result<Part> {
        let mut named = 0;
        for item in &items {
            named += match item {
                IndexItem::At(_) | IndexItem::Range { .. } => 1,
                IndexItem::Ellipsis | IndexItem::NewAxis => 0,
                IndexItem::Tensor(index) => picked_dims(op, index)?,
            };
        }
        if named > x.rank() {
            let masks =
                items.iter().any(|i| matches!(i, IndexItem::Tensor(t) if t.rank() != 1 && t.dtype() == DType::Bool));
            let what = if masks { "dims in items" } else { "items" };
            bail!(Dim, "{op}: expected at most {} {what} for the dims of {}, got {named}", x.rank(), x.ty());
        }
        if items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count() > 1 {
            bail!(Dim, "{op}: expected at most one `Ellipsis`, got several"; help = "write `..` for all of one dim");
        }
        let mut part = Part { cuts: SmallVec::new(), shape: Shape::new(), picks: SmallVec::new() };
        let rest = x.rank() - named;
        for item in items {
            let dim = part.cuts.len();
            match item {
                IndexItem::At(at) => {
                    let size = x.shape()[dim];
                    let start = position(at, size);
                    let Some(start) = start else {
                        bail!(Index, "{op}: index {at} is out of range for {}", Place(x, dim));
                    };
                    part.cuts.push(Cut { start, len: 1, step: 1, keep: false });
                }
                IndexItem::Range { start, end, step } => {
                    let cut = range(op, (start, end, step), x, dim)?;
                    part.shape.push(cut.len);
                    part.cuts.push(cut);
                }
                IndexItem::Ellipsis => part.whole(x, rest),
                IndexItem::NewAxis => part.shape.push(1),
                IndexItem::Tensor(index) => {
                    let (count, at) = (picked_dims(op, &index)?, part.shape.len());
                    part.whole(x, count);
                    part.picks.push(Pick { index, of: dim, at });
                }
            }
        }
        part.whole(x, x.rank() - part.cuts.len());
        Ok(part)
    }

    /// Takes all of the next `count` dimensions.
    fn whole(&mut self, x: &Tensor, count: usize) {
        for _ in 0..count {
            let size = x.shape()[self.cuts.len()];
            self.cuts.push(Cut::all(size));
            self.shape.push(size);
        }
    }
}

/// Of how many dimensions a tensor in an index speaks.
fn picked_dims(op: &str, index: &Tensor) -> Result<usize> {
    match index.dtype() {
        DType::I64 | DType::I32 => Ok(1),
        DType::Bool if index.rank() > 0 => Ok(index.rank()),
        _ => bail!(
            Dtype,
            "{op}: expected an index of dtype i64 or i32, or a bool mask with a dim, got {}",
            index.ty(); help = "convert it with `to_dtype`"
        ),
    }
}

/// Names a dimension in messages.
struct Place<'a>(&'a Tensor, usize);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dim {} of {}, which has size {}", self.1, self.0.ty(), self.0.shape()[self.1])
    }
}

/// A position, counted from the end if negative, if it is in `0..size`.
pub(crate) fn position(at: isize, size: usize) -> Option<usize> {
    let at = if at < 0 { size.checked_sub(at.unsigned_abs())? } else { at as usize };
    (at < size).then_some(at)
}

/// What `start..end` in steps of `step` takes of dimension `dim` of `x`.
fn range(op: &str, (start, end, step): (Option<isize>, Option<isize>, isize), x: &Tensor, dim: usize) -> Result<Cut> {
    if step == 0 {
        bail!(Value, "{op}: expected a step other than 0 for {}", Place(x, dim));
    }
    let (start, len) = python_range(start, end, step, x.shape()[dim]);
    // A single place has no next one, and a huge step must not be multiplied with strides.
    Ok(Cut { start, len, step: if len > 1 { step } else { 1 }, keep: true })
}

/// The first place and the number of places of Python's `start:end:step` along a dimension of size `n`.
pub(crate) fn python_range(start: Option<isize>, end: Option<isize>, step: isize, n: usize) -> (usize, usize) {
    // Empty tensors may have sizes that no signed integer of the machine holds.
    let n = n as i128;
    // Bounds are clamped to where a walk in this direction may start and must stop.
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |bound: Option<isize>, default: i128| match bound.map(|b| b as i128) {
        Some(b) => (if b < 0 { b + n } else { b }).clamp(low, high),
        None => default,
    };
    let (first, stop) =
        if step > 0 { (clamp(start, low), clamp(end, high)) } else { (clamp(start, high), clamp(end, low)) };
    let distance = if step > 0 { stop - first } else { first - stop };
    if distance <= 0 { (0, 0) } else { (first as usize, (distance as usize).div_ceil(step.unsigned_abs())) }
}
