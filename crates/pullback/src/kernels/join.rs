//! Several arrays as one.

use super::copy::copy_into_strided;
use super::strided::{Out, output_words};
use crate::Result;
use crate::array::Array;
use crate::dtype::{Word, any_word};
use crate::shape::{Shape, contiguous_strides, with_dim};
use crate::tensor::checked_numel;

/// The arrays one after the other along `dim`; they have one dtype and agree in all other dims, and there is one.
pub(crate) fn cat(parts: &[&Array], dim: usize) -> Result<Array> {
    let mut shape = Shape::from_slice(parts[0].shape());
    // What does not fit is refused like any other size that is too large.
    shape[dim] = parts.iter().fold(0, |n, x| usize::saturating_add(n, x.shape()[dim]));
    checked_numel("cat", &shape)?;
    let strides = contiguous_strides(&shape);
    let step = |x: &Array| x.shape()[dim] * strides[dim] as usize;
    Ok(any_word!(parts[0].dtype(), W => joined::<W>(parts, shape, &strides, &step)))
}

/// The arrays, of one dtype and shape, side by side along a new dimension `dim`; there is one.
pub(crate) fn stack(parts: &[&Array], dim: usize) -> Result<Array> {
    let shape = with_dim(parts[0].shape(), dim, parts.len());
    checked_numel("stack", &shape)?;
    let mut strides = contiguous_strides(&shape);
    let step = strides.remove(dim) as usize;
    Ok(any_word!(parts[0].dtype(), W => joined::<W>(parts, shape, &strides, &|_| step)))
}

/// An array of `shape` that the parts cover: each with `strides`, and `step` of it away from the next.
fn joined<W: Word>(parts: &[&Array], shape: Shape, strides: &[isize], step: &dyn Fn(&Array) -> usize) -> Array {
    let write = |out: Out<W>| {
        let mut start = 0;
        for x in parts {
            // SAFETY: the strides are those of the result, and the part from `start` on has room for `x`.
            unsafe { copy_into_strided(x, out.at(start), strides) };
            start += step(x);
        }
    };
    // SAFETY: the parts cover the result.
    unsafe { output_words(shape, parts[0].dtype(), write) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};

    #[test]
    fn the_parts_come_in_order_along_any_dim() {
        for dim in 0..3 {
            let (mut one, mut two) = ([2, 3, 4], [2, 3, 4]);
            one[dim] = 5;
            two[dim] = 0;
            for (x, y) in layouts::<f32>(&[2, 3, 4]).iter().zip(&layouts::<f32>(&one)) {
                let empty = &layouts::<f32>(&two)[0];
                let got = cat(&[x, empty, y, x], dim).unwrap();
                for index in indices(got.shape()) {
                    let mut inside = index.clone();
                    let size = x.shape()[dim];
                    let part = match index[dim] {
                        i if i < size => x,
                        i if i < size + 5 => {
                            inside[dim] -= size;
                            y
                        }
                        _ => {
                            inside[dim] -= size + 5;
                            x
                        }
                    };
                    assert_eq!(at(&got, &index), at(part, &inside));
                }
            }
        }
    }
}
