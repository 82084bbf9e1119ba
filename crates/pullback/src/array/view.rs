//! Views: other shapes and strides over the same elements, never a copy.

use std::cell::Cell;
use std::fmt;

use super::{Array, Foreign, Inner, Storage, copy_of, list};
use crate::DType;
use crate::handle::Handle;
use crate::shape::{Shape, Strides, numel};

/// What a part of an array takes of one dimension: `len` elements from `start` in steps of `step`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// 0 if there are no elements.
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// 1 unless there are several elements, so that products with strides cannot overflow.
    pub(crate) step: isize,
    /// False if the dimension, of which one element is taken, is dropped.
    pub(crate) keep: bool,
}

/// The first index and the one behind the last, with the step unless it is 1; or the only index.
impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.start as isize + self.len as isize * self.step;
        match self {
            Cut { keep: false, start, .. } => write!(f, "{start}"),
            Cut { step: 1, start, .. } => write!(f, "{start}:{end}"),
            Cut { step, start, .. } => write!(f, "{start}:{end}:{step}"),
        }
    }
}

impl Cut {
    /// A whole dimension.
    pub(crate) fn all(size: usize) -> Cut {
        Cut { start: 0, len: size, step: 1, keep: true }
    }

    /// True if this is all of a dimension of `size`.
    pub(crate) fn is_all(&self, size: usize) -> bool {
        *self == Cut::all(size)
    }
}

/// True if elements with these strides lie in row-major order without gaps.
fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let (mut step, mut regular) = (1isize, true);
    for (&n, &s) in shape.iter().zip(strides).rev() {
        if n == 0 {
            return true;
        }
        if n != 1 {
            regular &= s == step;
            step *= n as isize;
        }
    }
    regular
}

impl Array {
    /// An array over memory of another library, which `owner` keeps, with strides in elements.
    ///
    /// # Safety
    /// Every index of the shape must lead from `start` to an aligned, initialised element of the dtype; nobody may write to
    /// one until `owner` is dropped.
    pub(crate) unsafe fn foreign(
        start: *const u8,
        shape: Shape,
        strides: Strides,
        dtype: DType,
        owner: Box<dyn Send + Sync>,
    ) -> Array {
        let (len, contiguous) = (numel(&shape), is_row_major(&shape, &strides));
        let storage = Storage::Foreign(0, Handle::new(Foreign { start, _owner: owner }));
        Inner { shape, strides, len, contiguous, dtype, storage }.share()
    }

    fn with_layout(&self, shape: Shape, strides: Strides, offset: usize) -> Array {
        self.with_dtype(self.0.dtype, shape, strides, offset)
    }

    /// The parts of complex numbers along one more dimension, the last one.
    pub(crate) fn as_reals(&self) -> Array {
        let (mut shape, mut strides) = (self.to_shape(), self.0.strides.clone());
        strides.iter_mut().for_each(|s| *s *= 2);
        shape.push(2);
        strides.push(1);
        self.with_dtype(self.0.dtype.to_real(), shape, strides, 2 * self.offset())
    }

    /// The complex numbers whose parts lie along the last dimension, which has size 2, if they lie as those do.
    pub(crate) fn as_complexes(&self) -> Option<Array> {
        let (mut shape, mut strides) = (self.to_shape(), self.0.strides.clone());
        let (size, step) = (shape.pop()?, strides.pop()?);
        let even = shape.iter().zip(&strides).all(|(&n, s)| n <= 1 || s % 2 == 0);
        if size != 2 || (step != 1 && self.0.len > 0) || !even || !self.offset().is_multiple_of(2) {
            return None;
        }
        strides.iter_mut().for_each(|s| *s /= 2);
        Some(self.with_dtype(self.0.dtype.to_complex(), shape, strides, self.offset() / 2))
    }

    /// A view from the element at `offset` on, with the size and stride that `dim` says for each dimension. They are written
    /// where they stay: lists that were just put together would have to arrive in memory before they could be moved.
    #[inline(always)]
    fn view(&self, rank: usize, offset: usize, dim: impl Fn(usize) -> (usize, isize)) -> Array {
        let write = |place: *mut Inner| {
            // SAFETY: the allocation is new and nobody else has it; every field is written before it is read.
            unsafe {
                (&raw mut (*place).shape).write(list(rank));
                (&raw mut (*place).strides).write(list(rank));
                let (sizes, strides) = ((*place).shape.as_mut_ptr(), (*place).strides.as_mut_ptr());
                let (mut len, mut regular) = (1, true);
                for k in (0..rank).rev() {
                    let (size, stride) = dim(k);
                    regular &= size == 1 || stride == len as isize;
                    len *= size;
                    sizes.add(k).write(size);
                    strides.add(k).write(stride);
                }
                (&raw mut (*place).len).write(len);
                (&raw mut (*place).dtype).write(self.0.dtype);
                (&raw mut (*place).contiguous).write(regular || len == 0);
                (&raw mut (*place).storage).write(self.0.storage.from(offset));
            }
        };
        // SAFETY: `write` initialises every field.
        Array(unsafe { Handle::in_place(write) })
    }

    fn with_dtype(&self, dtype: DType, shape: Shape, strides: Strides, offset: usize) -> Array {
        let (len, contiguous) = (numel(&shape), is_row_major(&shape, &strides));
        let storage = self.0.storage.from(offset);
        Inner { shape, strides, len, contiguous, dtype, storage }.share()
    }

    /// The same elements in row-major order under another shape of equal size, if strides can express it.
    ///
    /// The old dimensions fall into runs within which row-major neighbours are equally far apart. Each run is cut
    /// into new dimensions from its inner end; a new dimension that would reach over the end of a run has no single
    /// stride, and then there is no such view.
    pub(crate) fn reshape_view(&self, shape: &[usize]) -> Option<Array> {
        debug_assert_eq!(numel(shape), self.numel());
        if self.is_contiguous() {
            let step = Cell::new(1);
            return Some(self.view(shape.len(), self.offset(), |k| {
                // From the last dimension on.
                let stride = step.get();
                step.set(stride * shape[k].max(1) as isize);
                (shape[k], stride)
            }));
        }
        // Here there is at least one element, since arrays without elements are contiguous.
        let mut strides = Strides::from_elem(1, shape.len());
        let mut old = self.rank();
        // What is left of the present run, and the stride of the next dimension cut from it.
        let (mut left, mut step) = (1usize, 1isize);
        for k in (0..shape.len()).rev() {
            if left == 1 && shape[k] != 1 {
                (left, step, old) = self.run_before(old);
            }
            if !left.is_multiple_of(shape[k]) {
                return None;
            }
            strides[k] = step;
            step *= shape[k] as isize;
            left /= shape[k];
        }
        Some(self.with_layout(Shape::from_slice(shape), strides, self.offset()))
    }

    /// The longest run of equally spaced elements that ends before dimension `end`: how many elements, how far
    /// apart, and its first dimension.
    fn run_before(&self, mut end: usize) -> (usize, isize, usize) {
        let (mut len, mut step) = (1usize, 1isize);
        while end > 0 {
            let (n, s) = (self.0.shape[end - 1], self.0.strides[end - 1]);
            if n != 1 && len != 1 && s != step * len as isize {
                break;
            }
            if n != 1 && len == 1 {
                step = s;
            }
            len *= n;
            end -= 1;
        }
        (len, step, end)
    }

    /// Dimensions in another order: dimension `k` of the view is dimension `order[k]` of `self`.
    pub(crate) fn permute(&self, order: &[usize]) -> Array {
        let shape = order.iter().map(|&d| self.0.shape[d]).collect();
        let strides = order.iter().map(|&d| self.0.strides[d]).collect();
        self.with_layout(shape, strides, self.offset())
    }

    /// The broadcast view of a larger shape; the caller has checked that `self` broadcasts to it.
    pub(crate) fn expand(&self, shape: &[usize]) -> Array {
        let lead = shape.len() - self.rank();
        let mut strides = Strides::from_elem(0, shape.len());
        for k in 0..self.rank() {
            if self.0.shape[k] == shape[k + lead] {
                strides[k + lead] = self.0.strides[k];
            }
        }
        self.with_layout(Shape::from_slice(shape), strides, self.offset())
    }

    /// `len` elements along `dim`, from `start` in steps of `step`, which may be negative.
    pub(crate) fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Array {
        let offset = match len {
            0 => self.offset(),
            _ => (self.offset() as isize + start as isize * self.0.strides[dim]) as usize,
        };
        self.view(self.rank(), offset, |k| match (self.0.shape[k], self.0.strides[k]) {
            (_, stride) if k == dim => (len, stride * step),
            other => other,
        })
    }

    /// The part that `cuts`, one for each dimension, select.
    pub(crate) fn region(&self, cuts: &[Cut]) -> Array {
        let (mut shape, mut strides) = (Shape::new(), Strides::new());
        let mut offset = self.offset() as isize;
        for (cut, &stride) in cuts.iter().zip(&self.0.strides) {
            offset += cut.start as isize * stride;
            if cut.keep {
                shape.push(cut.len);
                strides.push(stride * cut.step);
            }
        }
        self.with_layout(shape, strides, offset as usize)
    }

    /// The slice at `index` along `dim`, without that dimension.
    pub(crate) fn select(&self, dim: usize, index: usize) -> Array {
        let offset = (self.offset() as isize + index as isize * self.0.strides[dim]) as usize;
        self.view(self.rank() - 1, offset, |k| {
            let k = k + usize::from(k >= dim);
            (self.0.shape[k], self.0.strides[k])
        })
    }

    /// The windows of `size` elements along `dim`, one every `step` elements; their elements are a new last dimension. The
    /// caller has checked that `size` is at most that of `dim`.
    pub(crate) fn windows(&self, dim: usize, size: usize, step: usize) -> Array {
        let (mut shape, mut strides) = (copy_of(&self.0.shape), copy_of(&self.0.strides));
        shape.push(size);
        strides.push(strides[dim]);
        shape[dim] = (shape[dim] - size) / step + 1;
        // A single window has no next one, and a huge step must not be multiplied with strides.
        strides[dim] *= if shape[dim] > 1 { step as isize } else { 1 };
        self.with_layout(shape, strides, self.offset())
    }

    /// The diagonal of dimensions `d0` and `d1`, appended as the last dimension of the view.
    pub(crate) fn diagonal(&self, offset: isize, d0: usize, d1: usize) -> Array {
        let (r0, r1) = if offset >= 0 { (0, offset as usize) } else { (offset.unsigned_abs(), 0) };
        let len = self.0.shape[d0].saturating_sub(r0).min(self.0.shape[d1].saturating_sub(r1));
        let start = if len == 0 {
            self.offset()
        } else {
            (self.offset() as isize + r0 as isize * self.0.strides[d0] + r1 as isize * self.0.strides[d1]) as usize
        };
        let (mut shape, mut strides) = (copy_of(&self.0.shape), copy_of(&self.0.strides));
        let step = strides[d0] + strides[d1];
        for d in [d0.max(d1), d0.min(d1)] {
            shape.remove(d);
            strides.remove(d);
        }
        shape.push(len);
        strides.push(step);
        self.with_layout(shape, strides, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;
    use crate::shape::contiguous_strides;

    fn iota(shape: &[usize]) -> Array {
        let data: Vec<i32> = (0..numel(shape) as i32).collect();
        Array::from_slice(Shape::from_slice(shape), &data)
    }

    /// The elements in row-major order, one index computation each.
    fn read<T: Element>(x: &Array) -> Vec<T> {
        let mut out = Vec::new();
        for k in 0..x.numel() {
            let (mut rest, mut at) = (k, 0isize);
            for d in (0..x.rank()).rev() {
                at += (rest % x.shape()[d]) as isize * x.strides()[d];
                rest /= x.shape()[d];
            }
            // SAFETY: the index lies inside the shape of the view.
            out.push(unsafe { *x.as_ptr::<T>().offset(at) });
        }
        out
    }

    /// All shapes with `n` elements and at most `rank` dimensions.
    fn factorisations(n: usize, rank: usize) -> Vec<Vec<usize>> {
        if rank == 0 {
            return if n == 1 { vec![vec![]] } else { vec![] };
        }
        let mut out = factorisations(n, rank - 1);
        for first in (1..=n).filter(|d| n.is_multiple_of(*d)) {
            for mut rest in factorisations(n / first, rank - 1) {
                if rest.len() == rank - 1 {
                    rest.insert(0, first);
                    out.push(rest);
                }
            }
        }
        out
    }

    #[test]
    fn reshape_of_contiguous_is_always_a_view() {
        let x = iota(&[2, 3, 4]);
        for shape in factorisations(24, 4) {
            let y = x.reshape_view(&shape).unwrap();
            assert_eq!(y.shape(), shape);
            assert!(y.is_contiguous());
            assert_eq!(read::<i32>(&y), (0..24).collect::<Vec<_>>());
        }
    }

    #[test]
    fn reshape_views_of_strided_arrays_keep_the_order_and_exist_exactly_when_strides_can_express_them() {
        let x = iota(&[4, 3, 8]);
        let sources = [
            x.permute(&[1, 0, 2]),
            x.permute(&[2, 1, 0]),
            x.permute(&[0, 2, 1]),
            x.slice(0, 1, 2, 1),
            x.slice(0, 3, 4, -1),
            x.slice(2, 0, 4, 2),
            x.slice(2, 7, 4, -2),
            x.slice(1, 1, 1, 1),
            x.slice(1, 1, 1, 1).permute(&[2, 1, 0]),
            iota(&[4, 1, 3]).expand(&[4, 2, 3]),
            iota(&[1, 1, 3]).expand(&[4, 2, 3]),
            iota(&[2, 1, 1]).expand(&[2, 3, 4]),
            iota(&[]).expand(&[2, 2]),
        ];
        for x in &sources {
            let want = read::<i32>(x);
            for shape in factorisations(x.numel(), 4) {
                let got = x.reshape_view(&shape);
                assert_eq!(got.is_some(), expressible(x, &shape), "{:?} {:?} to {shape:?}", x.shape(), x.strides());
                if let Some(y) = got {
                    assert_eq!(y.shape(), shape);
                    assert_eq!(read::<i32>(&y), want, "{:?} {:?} to {shape:?}", x.shape(), x.strides());
                }
            }
        }
    }

    /// Whether some strides give every element of the reshaped array its place: each dimension's stride is fixed by
    /// its second element, and the rest must agree.
    fn expressible(x: &Array, shape: &[usize]) -> bool {
        let place = |mut k: usize| {
            let mut at = 0isize;
            for d in (0..x.rank()).rev() {
                at += (k % x.shape()[d]) as isize * x.strides()[d];
                k /= x.shape()[d];
            }
            at
        };
        let steps = contiguous_strides(shape);
        (0..x.numel()).all(|k| {
            let mut at = 0;
            for d in 0..shape.len() {
                let index = k / steps[d] as usize % shape[d];
                if index > 0 {
                    at += index as isize * place(steps[d] as usize);
                }
            }
            at == place(k)
        })
    }

    #[test]
    fn reshape_handles_empty_and_scalar_shapes() {
        let empty = iota(&[2, 0, 3]);
        for shape in [&[0][..], &[3, 0], &[0, 5, 0]] {
            assert_eq!(empty.reshape_view(shape).unwrap().shape(), shape);
            assert_eq!(empty.permute(&[2, 0, 1]).reshape_view(shape).unwrap().shape(), shape);
        }
        let one = iota(&[1]).reshape_view(&[]).unwrap();
        assert_eq!((one.rank(), one.first::<i32>()), (0, 0));
        let x = iota(&[3, 4]).select(0, 2).select(0, 1);
        assert_eq!(read::<i32>(&x.reshape_view(&[1, 1]).unwrap()), [9]);
    }

    #[test]
    fn reshape_puts_ones_anywhere() {
        let x = iota(&[3, 4]).permute(&[1, 0]);
        let y = x.reshape_view(&[1, 4, 1, 3, 1]).unwrap();
        assert_eq!(read::<i32>(&y), read::<i32>(&x));
        let back = y.reshape_view(&[4, 3]).unwrap();
        assert_eq!(back.strides(), x.strides());
    }

    #[test]
    fn permute_expand_slice_select() {
        let x = iota(&[2, 3]);
        assert_eq!(read::<i32>(&x.permute(&[1, 0])), [0, 3, 1, 4, 2, 5]);
        assert_eq!(read::<i32>(&iota(&[3]).expand(&[2, 3])), [0, 1, 2, 0, 1, 2]);
        assert_eq!(read::<i32>(&iota(&[2, 1]).expand(&[2, 3])), [0, 0, 0, 1, 1, 1]);
        assert_eq!(read::<i32>(&x.slice(1, 2, 3, -1)), [2, 1, 0, 5, 4, 3]);
        assert_eq!(read::<i32>(&x.slice(1, 2, 2, -2)), [2, 0, 5, 3]);
        assert_eq!(read::<i32>(&x.slice(1, 2, 3, -1).slice(1, 2, 3, -1)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(read::<i32>(&x.select(0, 1)), [3, 4, 5]);
        assert_eq!(read::<i32>(&x.select(1, 2)), [2, 5]);
        assert_eq!(read::<i32>(&x.slice(1, 3, 0, 1)), [0i32; 0]);
        assert_eq!(x.slice(0, 2, 0, -1).shape(), [0, 3]);
    }

    #[test]
    fn regions() {
        let cut = |start, len, step, keep| Cut { start, len, step, keep };
        let x = iota(&[3, 4, 5]);
        let y = x.region(&[cut(1, 1, 1, false), cut(3, 2, -2, true), cut(0, 3, 2, true)]);
        assert_eq!((y.shape(), read::<i32>(&y)), (&[2, 3][..], vec![35, 37, 39, 25, 27, 29]));
        let z = y.region(&[cut(1, 1, 1, true), cut(2, 1, 1, false)]);
        assert_eq!((z.shape(), read::<i32>(&z)), (&[1][..], vec![29]));
        assert_eq!(x.region(&[Cut::all(3), cut(0, 0, 1, true), Cut::all(5)]).shape(), [3, 0, 5]);
    }

    #[test]
    fn views_of_large_buffers_share_them() {
        let x = iota(&[8, 8]);
        let y = x.slice(0, 7, 8, -1).permute(&[1, 0]);
        assert_eq!(read::<i32>(&y)[..3], [56, 48, 40]);
        let z = y.select(1, 0);
        assert_eq!(z.strides(), [1]);
        assert_eq!(z.as_slice::<i32>().unwrap(), [56, 57, 58, 59, 60, 61, 62, 63]);
    }

    #[test]
    fn diagonals() {
        let x = iota(&[3, 4]);
        assert_eq!(read::<i32>(&x.diagonal(0, 0, 1)), [0, 5, 10]);
        assert_eq!(read::<i32>(&x.diagonal(2, 0, 1)), [2, 7]);
        assert_eq!(read::<i32>(&x.diagonal(-1, 0, 1)), [4, 9]);
        assert_eq!(read::<i32>(&x.diagonal(1, 1, 0)), [4, 9]);
        assert_eq!(x.diagonal(9, 0, 1).shape(), [0]);
        let y = iota(&[2, 3, 2]).diagonal(0, 0, 2);
        assert_eq!((y.shape(), read::<i32>(&y)), (&[3, 2][..], vec![0, 7, 2, 9, 4, 11]));
    }

    #[test]
    fn writing_needs_sole_ownership() {
        let mut x = iota(&[8, 8]);
        let view = x.select(0, 0);
        assert!(x.as_mut_slice::<i32>().is_none());
        drop(view);
        x.as_mut_slice::<i32>().unwrap()[3] = -1;
        assert_eq!(x.select(0, 0).select(0, 3).first::<i32>(), -1);
        assert!(x.permute(&[1, 0]).as_mut_slice::<i32>().is_none());
    }
}
