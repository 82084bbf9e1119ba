//! Where elements belong in a sorted sequence.

use super::copy::contiguous;
use super::reduce::is_nan;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};

/// How many elements of the sequence come before each value, and how many do not come after it if `right`, as `i64`.
///
/// Both have one dtype, which is `i64` or a float. The sequences lie along the last dim of `sorted`: one for all values, or
/// one for the values along the last dim of `values`, whose other dims are then the same. NaN is the largest.
pub(crate) fn searchsorted(sorted: &Array, values: &Array, right: bool) -> Result<Array> {
    dispatch!(sorted.dtype(), "searchsorted", [I64, F32, F64], T => Ok(search::<T>(sorted, values, right)))
}

#[inline(always)]
fn less<T: Element + PartialOrd>(a: T, b: T) -> bool {
    a < b || (is_nan(b) && !is_nan(a))
}

fn search<T: Element + PartialOrd>(sorted: &Array, values: &Array, right: bool) -> Array {
    let (sorted, values) = (contiguous(sorted), contiguous(values));
    let n = sorted.shape().last().copied().unwrap_or(1);
    // How many values share a sequence.
    let run = if sorted.rank() == 1 { values.numel() } else { values.shape().last().copied().unwrap_or(1) };
    let (all, from) = (In::<T>::of(&sorted), In::<T>::of(&values));
    let write = |out: Out<i64>| {
        split(values.numel(), 1, values.numel() * (4 + 3 * n.max(1).ilog2() as usize), |range| {
            for k in range {
                // SAFETY: the sequence of value `k` and the value lie inside their arrays; its place is ours.
                unsafe {
                    let sequence = std::slice::from_raw_parts(all.at((k / run * n) as isize), n);
                    let v = *from.at(k as isize);
                    let place = match right {
                        true => sequence.partition_point(|&s| !less(v, s)),
                        false => sequence.partition_point(|&s| less(s, v)),
                    };
                    *out.at(k) = place as i64;
                }
            }
        });
    };
    // SAFETY: every place is written.
    unsafe { output(values.to_shape(), write) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};
    use crate::shape::Shape;

    #[test]
    fn places_agree_with_counting_in_every_layout() {
        let sorted = Array::from_slice(Shape::from_slice(&[5]), &[-2.0, -2.0, 0.0, 0.5, f64::NAN]);
        for shape in [&[][..], &[4], &[3, 4], &[2, 0, 3]] {
            for x in layouts::<f64>(shape) {
                for right in [false, true] {
                    let got = searchsorted(&sorted, &x, right).unwrap();
                    for index in indices(shape) {
                        let v = at(&x, &index);
                        let before = |s: f64| s < v || (right && s == v);
                        let expected = (0..5).filter(|&k| before(at(&sorted, &[k]))).count() as f64;
                        assert_eq!(at(&got, &index), expected, "{v}");
                    }
                }
            }
        }
    }
}
