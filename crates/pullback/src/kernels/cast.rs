//! Conversions between dtypes, and arrays made from nothing.

use super::half::{bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16};
use super::map::map;
use crate::DType;
use crate::array::Array;
use crate::dtype::{Complex, Element, Scalar, any_dtype, any_word, bf16, f16};

/// The elements converted to another dtype by the rules of [`Element`]; the array itself if it has that dtype. Of
/// complex numbers, what is not complex gets the real part.
pub(crate) fn cast(x: &Array, to: DType) -> Array {
    use DType::{BF16, C64, C128, F16, F32, F64};
    // Directly between most pairs; elsewhere by way of a dtype that holds all of both.
    macro_rules! real {
        ($dtype:expr, $t:ident => $body:expr) => {
            any_dtype!(@arms $dtype, $t => $body; Bool U8 I32 I64 F32 F64 | unreachable!("handled above"))
        };
    }
    match (x.dtype(), to) {
        (from, to) if from == to => x.clone(),
        (F16, F32) => map(
            x,
            #[inline(always)]
            |v: f16| f32_of_f16(v),
        ),
        (BF16, F32) => map(
            x,
            #[inline(always)]
            |v: bf16| f32_of_bf16(v),
        ),
        (F16 | BF16, to) => cast(&cast(x, F32), to),
        (F32, F16) => map(
            x,
            #[inline(always)]
            |v: f32| f16_of_f32(v),
        ),
        (F32, BF16) => map(
            x,
            #[inline(always)]
            |v: f32| bf16_of_f32(v),
        ),
        (F64, F16) => map(
            x,
            #[inline(always)]
            |v: f64| f16::from_f64(v),
        ),
        (F64, BF16) => map(
            x,
            #[inline(always)]
            |v: f64| bf16::from_f64(v),
        ),
        (C64, C128) => map(
            x,
            #[inline(always)]
            |z: Complex<f32>| Complex::new(f64::from(z.re), f64::from(z.im)),
        ),
        (C128, C64) => map(
            x,
            #[inline(always)]
            |z: Complex<f64>| Complex::new(z.re as f32, z.im as f32),
        ),
        (C64, F32) => map(
            x,
            #[inline(always)]
            |z: Complex<f32>| z.re,
        ),
        (C128, F64) => map(
            x,
            #[inline(always)]
            |z: Complex<f64>| z.re,
        ),
        (from @ (C64 | C128), to) => cast(&cast(x, from.to_real()), to),
        (F32, C64) => map(
            x,
            #[inline(always)]
            |v: f32| Complex::new(v, 0.0),
        ),
        (F64, C128) => map(
            x,
            #[inline(always)]
            |v: f64| Complex::new(v, 0.0),
        ),
        (_, to @ (C64 | C128)) => cast(&cast(x, to.to_real()), to),
        (_, to @ (F16 | BF16)) => cast(&cast(x, F64), to),
        (from, to) => real!(from, A => real!(to, B => convert::<A, B>(x))),
    }
}

fn convert<A: Element, B: Element>(x: &Array) -> Array {
    // Integers go through `i64`, which holds them all.
    if A::DTYPE.is_float() {
        map(
            x,
            #[inline(always)]
            |v: A| B::from_f64(v.to_f64()),
        )
    } else {
        map(
            x,
            #[inline(always)]
            |v: A| B::from_i64(v.to_i64()),
        )
    }
}

/// An array of `shape` with every element equal to `value`, converted to `dtype`.
pub(crate) fn full(shape: &[usize], value: Scalar, dtype: DType) -> Array {
    any_dtype!(dtype, T => Array::full::<T>(shape, T::from_scalar(value)))
}

/// The `n` values `start + k·step`, computed in integers if both are, else in `f64`.
pub(crate) fn arange(start: Scalar, step: Scalar, n: usize, dtype: DType) -> Array {
    match (start, step) {
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => {
            let (a, s) = (start.to_f64(), step.to_f64());
            cast(&generate([n], |k| a + k as f64 * s), dtype)
        }
        _ => {
            let (a, s) = (i64::from_scalar(start), i64::from_scalar(step));
            cast(&generate([n], |k| a.wrapping_add((k as i64).wrapping_mul(s))), dtype)
        }
    }
}

/// The `rows × cols` array with ones on the diagonal `offset` columns to the right of the main one.
pub(crate) fn eye(rows: usize, cols: usize, offset: isize, dtype: DType) -> Array {
    let one = full(&[], Scalar::Int(1), dtype);
    let mut out = full(&[rows, cols], Scalar::Int(0), dtype);
    any_word!(dtype, W => {
        if let (Some(data), Some(one)) = (out.as_mut_words::<W>(), one.as_words::<W>()) {
            // Without columns there is nothing to mark, however many rows there are.
            for i in 0..rows.min(data.len()) {
                let j = i as isize + offset;
                if (0..cols as isize).contains(&j) {
                    data[i * cols + j as usize] = one[0];
                }
            }
        }
    });
    out
}

/// An array whose `k`-th element in row-major order is `f(k)`.
pub(crate) fn generate<T: Element>(shape: impl AsRef<[usize]>, f: impl Fn(usize) -> T) -> Array {
    // SAFETY: every element is written.
    unsafe {
        Array::build(shape, |out| {
            for (k, o) in out.iter_mut().enumerate() {
                o.write(f(k));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn casts_follow_rust() {
        let x = Array::from_slice(Shape::from_slice(&[5]), &[-1.5f32, 0.0, 300.7, f32::NAN, f32::INFINITY]);
        assert_eq!(cast(&x, DType::U8).as_slice::<u8>().unwrap(), [0, 0, 255, 0, 255]);
        assert_eq!(cast(&x, DType::I32).as_slice::<i32>().unwrap(), [-1, 0, 300, 0, i32::MAX]);
        assert_eq!(cast(&x, DType::I64).as_slice::<i64>().unwrap(), [-1, 0, 300, 0, i64::MAX]);
        assert_eq!(cast(&x, DType::Bool).as_slice::<bool>().unwrap(), [true, false, true, true, true]);
        assert_eq!(cast(&x, DType::F64).as_slice::<f64>().unwrap()[2], f64::from(300.7f32));
        let big = (1i64 << 53) + 1;
        let y = Array::from_slice(Shape::from_slice(&[3]), &[-1i64, big, i64::MAX]);
        assert_eq!(cast(&y, DType::U8).as_slice::<u8>().unwrap(), [255, 1, 255]);
        assert_eq!(cast(&y, DType::I32).as_slice::<i32>().unwrap(), [-1, 1, -1]);
        assert_eq!(cast(&y, DType::F32).as_slice::<f32>().unwrap(), [-1.0, big as f32, i64::MAX as f32]);
        let z = Array::from_slice(Shape::from_slice(&[2]), &[true, false]);
        for to in DType::ALL {
            assert_eq!(cast(&cast(&z, to), DType::Bool).as_slice::<bool>().unwrap(), [true, false]);
        }
    }

    #[test]
    fn makers() {
        assert_eq!(full(&[2, 2], Scalar::Float(1.5), DType::I32).as_slice::<i32>().unwrap(), [1; 4]);
        assert_eq!(full(&[], Scalar::Bool(true), DType::F64).first::<f64>(), 1.0);
        let ints = arange(Scalar::Int(3), Scalar::Int(-2), 4, DType::I64);
        assert_eq!(ints.as_slice::<i64>().unwrap(), [3, 1, -1, -3]);
        let floats = arange(Scalar::Float(0.5), Scalar::Float(0.25), 3, DType::F32);
        assert_eq!(floats.as_slice::<f32>().unwrap(), [0.5, 0.75, 1.0]);
        assert_eq!(eye(2, 3, 1, DType::U8).as_slice::<u8>().unwrap(), [0, 1, 0, 0, 0, 1]);
        assert_eq!(eye(3, 2, -1, DType::U8).as_slice::<u8>().unwrap(), [0, 0, 1, 0, 0, 1]);
        assert_eq!(eye(2, 2, 5, DType::Bool).as_slice::<bool>().unwrap(), [false; 4]);
        assert_eq!(arange(Scalar::Int(0), Scalar::Int(1), 0, DType::F64).numel(), 0);
    }
}
