//! Views: other shapes and strides over the same elements, never a copy.

use super::Array;
use crate::shape::{Shape, Strides, contiguous_strides, numel};

impl Array {
    fn with_layout(&self, shape: Shape, strides: Strides, offset: usize) -> Array {
        Array { shape, strides, offset, dtype: self.dtype, storage: self.storage.clone() }
    }

    /// The same elements in row-major order under another shape of equal size, if strides can express it.
    pub(crate) fn reshape_view(&self, shape: &[usize]) -> Option<Array> {
        debug_assert_eq!(numel(shape), self.numel());
        if self.is_contiguous() {
            return Some(self.with_layout(Shape::from_slice(shape), contiguous_strides(shape), self.offset));
        }
        // Match runs of old dimensions that are contiguous among themselves with runs of new ones of equal size.
        let old: Vec<(usize, isize)> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(n, _)| n != 1).collect();
        let mut strides = contiguous_strides(shape);
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            let (start, mut size) = (j, old[i].0);
            let mut k = i + 1;
            let mut have = 1usize;
            while j < shape.len() && have * shape[j] <= size || have < size {
                if have < size && j < shape.len() && have * shape[j] <= size {
                    have *= shape[j];
                    j += 1;
                } else if have == size {
                    break;
                } else {
                    // The new run is longer than the old one: take in the next old dimension.
                    let (n, s) = *old.get(k)?;
                    if old[k - 1].1 != s * n as isize {
                        return None;
                    }
                    size *= n;
                    k += 1;
                }
            }
            let mut step = old[k - 1].1;
            for d in (start..j).rev() {
                strides[d] = step;
                step *= shape[d] as isize;
            }
            i = k;
        }
        Some(self.with_layout(Shape::from_slice(shape), strides, self.offset))
    }

    /// Dimensions in another order: dimension `k` of the view is dimension `order[k]` of `self`.
    pub(crate) fn permute(&self, order: &[usize]) -> Array {
        let shape = order.iter().map(|&d| self.shape[d]).collect();
        let strides = order.iter().map(|&d| self.strides[d]).collect();
        self.with_layout(shape, strides, self.offset)
    }

    /// The broadcast view of a larger shape; the caller has checked that `self` broadcasts to it.
    pub(crate) fn expand(&self, shape: &[usize]) -> Array {
        let lead = shape.len() - self.rank();
        let mut strides = Strides::from_elem(0, shape.len());
        for k in 0..self.rank() {
            if self.shape[k] == shape[k + lead] {
                strides[k + lead] = self.strides[k];
            }
        }
        self.with_layout(Shape::from_slice(shape), strides, self.offset)
    }

    /// `len` elements along `dim`, from `start` in steps of `step`, which may be negative.
    pub(crate) fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Array {
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        let offset = if len == 0 { self.offset } else { (self.offset as isize + start as isize * strides[dim]) as usize };
        shape[dim] = len;
        strides[dim] *= step;
        self.with_layout(shape, strides, offset)
    }

    /// The slice at `index` along `dim`, without that dimension.
    pub(crate) fn select(&self, dim: usize, index: usize) -> Array {
        let mut view = self.slice(dim, index, 1, 1);
        view.shape.remove(dim);
        view.strides.remove(dim);
        view
    }

    /// The diagonal of dimensions `d0` and `d1`, appended as the last dimension of the view.
    pub(crate) fn diagonal(&self, offset: isize, d0: usize, d1: usize) -> Array {
        let (r0, r1) = if offset >= 0 { (0, offset as usize) } else { (offset.unsigned_abs(), 0) };
        let len = self.shape[d0].saturating_sub(r0).min(self.shape[d1].saturating_sub(r1));
        let start = if len == 0 {
            self.offset
        } else {
            (self.offset as isize + r0 as isize * self.strides[d0] + r1 as isize * self.strides[d1]) as usize
        };
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
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
