//! The element that occurs most often.

use super::discrete::{Discrete, discrete};
use super::median::filled_dim;
use super::reduction::naive_reduce;
use super::table::{ErrorSample, Kink, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::kernels::median as kernel;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements that occur most often along `dim`, of several the smallest, and where each is for the last time, as `i64`.
    ///
    /// NaNs count as equal, and as the largest value.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All real ones, which stay what they are.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements at these positions.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([[4.0, 1.0, 4.0, 2.0], [3.0, 2.0, 1.0, 0.0]]).mode(1, false)?;
    /// assert_eq!(values.to_vec::<f64>()?, [4.0, 0.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Values and positions are those of PyTorch, which counts each NaN alone.
    fn mode(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = mode {
        samples: mode_samples, errors: mode_errors, kinks: mode_kinks,
        python: mode(dim = -1, keepdim) -> (values, indices)
    };
}

/// Where the most frequent element along a dimension is.
#[derive(Clone, Debug)]
struct ModePlace {
    dim: usize,
}

impl Discrete for ModePlace {
    const NAME: &'static str = "mode";
    fn kernel(&self, x: &Array) -> Result<Array> {
        kernel::mode(x, self.dim)
    }
    fn batched(&self) -> ModePlace {
        ModePlace { dim: self.dim + 1 }
    }
}

fn mode(x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let dim = filled_dim("mode", x, dim)?;
    let places = discrete(ModePlace { dim }, x)?;
    let dim = dim as isize;
    let values = x.gather(dim, &places)?;
    if keepdim { Ok((values, places)) } else { Ok((values.squeeze(dim)?, places.squeeze(dim)?)) }
}

/// The place of the mode by comparing all pairs.
fn naive_mode(x: &[f64]) -> usize {
    let count = |v: f64| x.iter().filter(|&&w| w == v || w.is_nan() && v.is_nan()).count();
    let better = |a: usize, b: usize| {
        let before = x[a] < x[b] || x[b].is_nan() && !x[a].is_nan();
        let same = x[a] == x[b] || x[a].is_nan() && x[b].is_nan();
        count(x[a]) > count(x[b]) || count(x[a]) == count(x[b]) && (before || same && a > b)
    };
    (0..x.len()).fold(0, |best, k| if better(k, best) { k } else { best })
}

fn mode_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, dim: isize, resolved: usize, keepdim: bool| {
        Sample::new(label, [x], move |x| x[0].mode(dim, keepdim).map(|(values, places)| vec![values, places]))
            .reference(move |x| {
                vec![
                    naive_reduce(&x[0], &[resolved], keepdim, |x| x[naive_mode(x)]),
                    naive_reduce(&x[0], &[resolved], keepdim, |x| naive_mode(x) as f64),
                ]
            })
    };
    let nan = f64::NAN;
    let often = [[2.0, 1.0, 2.0, 1.0, 1.0], [0.5, 3.0, 3.0, 0.5, 7.0]];
    vec![
        case("all different", sample_tensor(&[2, 5], -1.0, 1.0, 1), -1, 1, false),
        case("first dim", sample_tensor(&[4, 3], -1.0, 1.0, 1), 0, 0, true),
        case("middle dim", sample_tensor(&[2, 3, 2], -1.0, 1.0, 1), 1, 1, false),
        case("empty beside", sample_tensor(&[0, 2], -1.0, 1.0, 1), 1, 1, false),
        case("often", Tensor::from(often), 1, 1, false).not_differentiable(),
        case("zeros", Tensor::from([0.0, -0.0, -1.0]), 0, 0, false).not_differentiable(),
        case("integers", Tensor::from([[3i64, -1, 3], [2, 2, 2]]), 1, 1, true).not_differentiable(),
        case("NaN", Tensor::from([[nan, 1.0, nan], [nan, 1.0, 0.0]]), 1, 1, false).special(),
    ]
}

fn mode_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new(
            "dim",
            ErrorKind::Dim,
            "mode: dim 2 is out of range for f64[2,0] (valid: -2..=1)",
            move || Ok(x.mode(2, false)?.0),
        ),
        ErrorSample::new("empty", ErrorKind::Shape, "at least one element along dim 1, got f64[2,0]", move || {
            Ok(y.mode(-1, false)?.0)
        }),
    ]
}

fn mode_kinks() -> Vec<Kink> {
    vec![Kink::new("ties", Tensor::from([2.0, 1.0, 1.0, 2.0]), [0.0, 0.0, 1.0, 0.0], |x| Ok(x.mode(0, false)?.0))]
}
