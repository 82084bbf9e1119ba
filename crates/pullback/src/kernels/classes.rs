//! Losses over classes, which lie along the last dimension, and their targets.

use super::cast::{cast, full};
use super::copy::contiguous;
use super::math::Float;
use super::reduce::{Bounds, Max, Neighbours, Sum, Widen, run};
use super::simd::vectorize;
use super::softmax::{Exponentials, softmax};
use super::strided::{In, Nest, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Scalar, any_word, dispatch};
use crate::shape::{Brackets, Shape};
use crate::{DType, Result, error::bail};

/// The targets as contiguous `i64`, every one of which is below `classes`; -1 in the place of those that are `ignore`. The first `lanes`
/// dimensions are lanes, which a message tells apart from the position in a lane.
pub(crate) fn check(op: &str, target: &Array, classes: usize, lanes: usize, ignore: Option<i64>) -> Result<Array> {
    let target = contiguous(&cast(target, DType::I64));
    if let Some(ignore) = ignore {
        let kept = |v: i64| v == ignore || (v as u64) < classes as u64;
        let all = target.as_slice::<i64>().unwrap_or_default();
        if let Some(k) = all.iter().position(|&v| !kept(v)) {
            let at = position(target.shape(), k, lanes);
            bail!(
                Index,
                "{op}: expected targets from 0 to below {classes}, the number of classes, or {ignore}, which is \
                ignored, got {}{at}",
                all[k]
            );
        }
        let data: Vec<i64> = all.iter().map(|&v| if v == ignore { -1 } else { v }).collect();
        return Ok(Array::from_slice(target.to_shape(), &data));
    }
    let values = target.as_slice::<i64>().unwrap_or_default();
    // Without an early exit, so that the good case is a vectorised loop. A negative one is a large one here.
    if values.iter().fold(false, |bad, &v| bad | (v as u64 >= classes as u64))
        && let Some(k) = values.iter().position(|&v| v as u64 >= classes as u64)
    {
        let at = position(target.shape(), k, lanes);
        bail!(Index, "{op}: expected targets from 0 to below {classes}, the number of classes, got {}{at}", values[k]);
    }
    Ok(target)
}

/// Where element `k` lies, for a message. The first `lanes` dimensions are lanes.
#[cold]
pub(crate) fn position(shape: &[usize], k: usize, lanes: usize) -> String {
    let mut rest = k;
    let mut place = Shape::from_elem(0, shape.len());
    for (p, &n) in place.iter_mut().zip(shape).rev() {
        (*p, rest) = (rest % n, rest / n);
    }
    let (lane, position) = place.split_at(lanes);
    let mut at = if position.is_empty() { String::new() } else { format!(" at position {}", Brackets(position)) };
    match lane {
        [] => {}
        [lane] => at += &format!(" of lane {lane}"),
        _ => at += &format!(" of lane {}", Brackets(lane)),
    }
    at
}

trait Real: Float + Bounds + Widen<Wide = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// `log(Σ exp(x)) - x[target]` for every row of `x`, 0 for a negative target; `target` is checked.
pub(crate) fn cross_entropy(x: &Array, target: &Array) -> Result<Array> {
    dispatch!(x.dtype(), "cross_entropy", float, T => Ok(losses::<T>(x, target)))
}

fn losses<T: Real>(x: &Array, target: &Array) -> Array {
    let (dim, n) = (x.rank() - 1, x.shape()[x.rank() - 1]);
    let x = &if n > 1 && x.strides()[dim] != 1 { contiguous(x) } else { x.clone() };
    let targets = target.as_slice::<i64>().unwrap_or_default();
    let rows = Nest::over(0..dim, x.shape(), [x.strides()]);
    let from = In::<T>::of(x);
    let write = |out: Out<T>| {
        split(targets.len(), 1, x.numel() * size_of::<T>() / 8 + targets.len() * 10, |range| {
            vectorize(
                #[inline(always)]
                || {
                    rows.walk(range.clone(), |i, [at]| {
                        // SAFETY: a row of `x`, in which the target is; place `i` of the result is ours.
                        unsafe {
                            if targets[i] < 0 {
                                *out.at(i) = T::ZERO;
                                return;
                            }
                            let row = from.at(at);
                            let max = run::<T, Max>(Neighbours(row), n);
                            let sum = run::<T, Sum>(Exponentials(row, max), n);
                            // The difference first: it is small where the sum with the maximum would round.
                            *out.at(i) = (max - *row.add(targets[i] as usize)) + sum.log();
                        }
                    });
                },
            );
        });
    };
    // SAFETY: a loss is written for every row, of which there are as many as targets.
    unsafe { output(Shape::from_slice(target.shape()), write) }
}

/// `softmax(x)` less one at the target of every row, zeros for a negative target: the derivative of [`cross_entropy`]; `target` is
/// checked.
pub(crate) fn softmax_less_target(x: &Array, target: &Array) -> Result<Array> {
    fn subtract<T: Float>(y: &mut Array, targets: &[i64], classes: usize) {
        for (row, &t) in y.as_mut_slice::<T>().unwrap_or_default().chunks_exact_mut(classes.max(1)).zip(targets) {
            match usize::try_from(t) {
                Ok(t) => row[t] = row[t] - T::ONE,
                Err(_) => row.fill(T::ZERO),
            }
        }
    }
    let dim = x.rank() - 1;
    let mut y = softmax(x, dim)?;
    let targets = target.as_slice::<i64>().unwrap_or_default();
    dispatch!(x.dtype(), "cross_entropy", float, T => { subtract::<T>(&mut y, targets, x.shape()[dim]); Ok(y) })
}

/// One at the target and zero elsewhere along a new last dimension of `classes`; `target` is checked.
pub(crate) fn one_hot(target: &Array, classes: usize, dtype: DType) -> Result<Array> {
    let mut shape = Shape::from_slice(target.shape());
    shape.push(classes);
    crate::tensor::checked_numel("one_hot", &shape)?;
    let mut y = full(&shape, Scalar::Int(0), dtype);
    let targets = target.as_slice::<i64>().unwrap_or_default();
    let one = full(&[1], Scalar::Int(1), dtype);
    any_word!(dtype, W => {
        let (data, one) = (y.as_mut_words::<W>().unwrap_or_default(), one.as_words::<W>().unwrap_or_default());
        for (row, &t) in data.chunks_exact_mut(classes.max(1)).zip(targets) {
            row[t as usize] = one[0];
        }
    });
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};

    #[test]
    fn losses_and_their_derivatives_agree_with_the_definition_in_every_layout() {
        for shape in [&[3][..], &[1], &[4, 5], &[2, 3, 300], &[0, 3]] {
            let rows = &shape[..shape.len() - 1];
            let n = shape[shape.len() - 1];
            let count: usize = rows.iter().product();
            let targets: Vec<i64> = (0..count).map(|k| (k * 7 % n) as i64).collect();
            let target = check("test", &Array::from_slice(Shape::from_slice(rows), &targets), n, 0, None).unwrap();
            for x in layouts::<f64>(shape) {
                let (loss, diff) = (cross_entropy(&x, &target).unwrap(), softmax_less_target(&x, &target).unwrap());
                assert_eq!((loss.shape(), diff.shape()), (rows, shape));
                for (k, index) in indices(rows).into_iter().enumerate() {
                    let along = |j: usize| at(&x, &[&index[..], &[j]].concat());
                    let sum: f64 = (0..n).map(|j| along(j).exp()).sum();
                    let t = targets[k] as usize;
                    assert!((at(&loss, &index) - (sum.ln() - along(t))).abs() < 1e-12);
                    for j in 0..n {
                        let expected = along(j).exp() / sum - f64::from(u8::from(j == t));
                        assert!((at(&diff, &[&index[..], &[j]].concat()) - expected).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn ignored_targets_have_no_loss_and_no_derivative() {
        let x = Array::from_slice(Shape::from_slice(&[2, 2]), &[f64::NAN, 1.0, 0.0, 0.0]);
        let target = Array::from_slice(Shape::from_slice(&[2]), &[7i64, 1]);
        let target = check("test", &target, 2, 0, Some(7)).unwrap();
        let (loss, diff) = (cross_entropy(&x, &target).unwrap(), softmax_less_target(&x, &target).unwrap());
        assert_eq!(loss.as_slice::<f64>().unwrap(), [0.0, 2f64.ln()]);
        assert_eq!(diff.as_slice::<f64>().unwrap(), [0.0, 0.0, 0.5, -0.5]);
        let wrong = check("test", &Array::full(Shape::new(), -1i64), 2, 0, Some(7));
        assert_eq!(
            wrong.err().unwrap().to_string(),
            "test: expected targets from 0 to below 2, the number of classes, or 7, \
            which is ignored, got -1"
        );
    }

    #[test]
    fn a_small_loss_of_large_logits_is_not_rounded_away() {
        let x = Array::from_slice(Shape::from_slice(&[2]), &[10000.0f32, 9995.0]);
        let target = Array::full(Shape::new(), 0i64);
        let loss = cross_entropy(&x, &target).unwrap().first::<f32>();
        assert!((loss - (-5f32).exp().ln_1p()).abs() < 1e-6, "{loss}");
    }
}
