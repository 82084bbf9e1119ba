//! Triangles of matrices.

use super::copy::copy_into;
use crate::array::Array;
use crate::dtype::any_word;

/// A copy of the matrices in the last two dims, with zeros above diagonal number `diagonal`, or below it if `upper`.
pub(crate) fn triangle(x: &Array, diagonal: isize, upper: bool) -> Array {
    let (rows, columns) = (x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]);
    any_word!(x.dtype(), W => {
        // SAFETY: `copy_into` writes every element.
        let mut out = unsafe { Array::build_words::<W>(x.to_shape(), x.dtype(), |out| copy_into(x, out)) };
        if columns > 0 {
            let data = out.as_mut_words::<W>().unwrap_or_default();
            for (k, row) in data.chunks_exact_mut(columns).enumerate() {
                // The first column above the diagonal, or the first of the triangle.
                let edge = (k % rows) as i128 + diagonal as i128 + i128::from(!upper);
                let edge = edge.clamp(0, columns as i128) as usize;
                let cleared = if upper { &mut row[..edge] } else { &mut row[edge..] };
                // SAFETY: bytes of zeros are zero in every dtype.
                unsafe { cleared.as_mut_ptr().write_bytes(0, cleared.len()) };
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};

    #[test]
    fn elements_outside_the_triangle_are_zero() {
        for shape in [&[3, 4][..], &[2, 4, 3], &[2, 0, 3], &[3, 0]] {
            for x in layouts::<f32>(shape) {
                for diagonal in [isize::MIN, -4, -1, 0, 2, isize::MAX] {
                    for upper in [false, true] {
                        let got = triangle(&x, diagonal, upper);
                        for index in indices(shape) {
                            let (i, j) = (index[shape.len() - 2] as i128, index[shape.len() - 1] as i128);
                            let inside = if upper { j - i >= diagonal as i128 } else { j - i <= diagonal as i128 };
                            assert_eq!(at(&got, &index), if inside { at(&x, &index) } else { 0.0 });
                        }
                    }
                }
            }
        }
    }
}
