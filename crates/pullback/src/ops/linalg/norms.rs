//! Norms and condition numbers of matrices.

use super::naive::{elements, inverse, per_matrix, product, regular};
use super::solve::inverse_of;
use super::svd::{apart, singular_values};
use super::{matrices, square, widened};
use crate::error::bail;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

/// A norm of matrices, for [`Tensor::matrix_norm`] and [`Tensor::cond`].
///
/// ```
/// use pullback::{MatrixNorm, Tensor};
/// let x = Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
/// assert_eq!(x.matrix_norm(MatrixNorm::Frobenius, false)?.item::<f64>()?, 5.0);
/// assert_eq!(x.matrix_norm(MatrixNorm::Nuclear, false)?.item::<f64>()?, 7.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatrixNorm {
    /// The root of the sum of the squares of all elements; PyTorch's `'fro'`.
    #[default]
    Frobenius,
    /// The sum of the singular values; PyTorch's `'nuc'`.
    Nuclear,
    /// The largest singular value; PyTorch's `2`.
    Two,
    /// The smallest singular value, which is no norm; PyTorch's `-2`.
    MinusTwo,
    /// The largest sum of magnitudes in a column; PyTorch's `1`.
    One,
    /// The smallest sum of magnitudes in a column, which is no norm; PyTorch's `-1`.
    MinusOne,
    /// The largest sum of magnitudes in a row; PyTorch's `inf`.
    Infinity,
    /// The smallest sum of magnitudes in a row, which is no norm; PyTorch's `-inf`.
    MinusInfinity,
}

ops! { OPS;
    /// A norm of the matrices in the last two dimensions.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[..]`, or `[.., 1, 1]` if `keepdim`. The norms of matrices without elements are 0 if they are sums.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers, of which the result is real; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of what the norm is made of: see [`norm_dims`](Tensor::norm_dims), [`svdvals`](Tensor::svdvals) and
    /// [`max_dims`](Tensor::max_dims). Columns or rows that tie for the largest sum share the cotangent; of equal singular values the
    /// first has it, or the last for the smallest.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions, or if the norm is the largest or smallest of nothing.
    ///
    /// # Example
    /// ```
    /// use pullback::{MatrixNorm, Tensor};
    /// let x = Tensor::from([[1.0, -2.0], [3.0, 4.0]]);
    /// assert_eq!(x.matrix_norm(MatrixNorm::One, false)?.item::<f64>()?, 6.0);
    /// assert_eq!(x.matrix_norm(MatrixNorm::Infinity, false)?.item::<f64>()?, 7.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn matrix_norm(&self, ord: MatrixNorm, keepdim: bool) -> Result<Tensor> = matrix_norm {
        samples: norm_samples, errors: norm_errors,
        python: matrix_norm(ord = "fro", keepdim)
    };

    /// The condition numbers of matrices: a norm times that of the inverse.
    ///
    /// With [`MatrixNorm::Two`] it is the largest singular value over the smallest, also for matrices that are not square, and
    /// infinite if that is 0; with [`MatrixNorm::MinusTwo`] it is the smallest over the largest,
    /// and 0 for zeros.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[..]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers, of which the result is real; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the norms, and of the inverse.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions, or unless the matrices are square for norms that need an inverse; `Value` if that does
    /// not exist.
    ///
    /// # Example
    /// ```
    /// use pullback::{MatrixNorm, Tensor};
    /// let x = Tensor::from([[4.0, 0.0], [0.0, 2.0]]);
    /// assert_eq!(x.cond(MatrixNorm::Two)?.item::<f64>()?, 2.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cond(&self, ord: MatrixNorm) -> Result<Tensor> = cond {
        samples: cond_samples, errors: cond_errors,
        python: cond(ord = 2)
    };
}

fn matrix_norm(x: &Tensor, ord: MatrixNorm, keepdim: bool) -> Result<Tensor> {
    widened(x, |x| named_norm("matrix_norm", x, ord, keepdim))
}

pub(super) fn named_norm(op: &str, x: &Tensor, ord: MatrixNorm, keepdim: bool) -> Result<Tensor> {
    use MatrixNorm as N;
    let x = matrices(op, x)?;
    if x.shape()[x.rank() - 2..].contains(&0) && !matches!(ord, N::Frobenius | N::Nuclear) {
        bail!(Shape, "{op}: expected at least one element in a matrix for {ord:?}, got {}", x.ty());
    }
    let norm = match ord {
        N::Frobenius => return x.norm_dims(2.0, &[-2, -1], keepdim),
        N::Nuclear => singular_values(op, &x)?.sum_dims(&[-1], false)?,
        N::Two => singular_values(op, &x)?.select(-1, 0)?,
        N::MinusTwo => singular_values(op, &x)?.select(-1, -1)?,
        N::One => x.abs()?.sum_dims(&[-2], false)?.max_dims(&[-1], false)?,
        N::MinusOne => x.abs()?.sum_dims(&[-2], false)?.min_dims(&[-1], false)?,
        N::Infinity => x.abs()?.sum_dims(&[-1], false)?.max_dims(&[-1], false)?,
        N::MinusInfinity => x.abs()?.sum_dims(&[-1], false)?.min_dims(&[-1], false)?,
    };
    if keepdim { norm.unsqueeze(-1)?.unsqueeze(-1) } else { Ok(norm) }
}

fn cond(x: &Tensor, ord: MatrixNorm) -> Result<Tensor> {
    widened(x, |x| condition(x, ord))
}

fn condition(x: &Tensor, ord: MatrixNorm) -> Result<Tensor> {
    let x = matrices("cond", x)?;
    if matches!(ord, MatrixNorm::Two | MatrixNorm::MinusTwo) {
        if x.shape()[x.rank() - 2..].contains(&0) {
            bail!(Shape, "cond: expected at least one element in a matrix, got {}", x.ty());
        }
        let s = singular_values("cond", &x)?;
        let (first, last) = (s.select(-1, 0)?, s.select(-1, -1)?);
        // Of a matrix of zeros the quotient would be of two zeros.
        let first = first.eq(0)?.where_(1, &first)?;
        return if ord == MatrixNorm::Two { first.div(&last) } else { last.div(&first) };
    }
    let x = square("cond", &x)?;
    let inverse = inverse_of("cond", &x)?;
    named_norm("cond", &x, ord, false)?.mul(&named_norm("cond", &inverse, ord, false)?)
}

const ALL: [MatrixNorm; 8] = [
    MatrixNorm::Frobenius,
    MatrixNorm::Nuclear,
    MatrixNorm::Two,
    MatrixNorm::MinusTwo,
    MatrixNorm::One,
    MatrixNorm::MinusOne,
    MatrixNorm::Infinity,
    MatrixNorm::MinusInfinity,
];

pub(super) fn naive_norm(a: &Naive, ord: MatrixNorm) -> f64 {
    use MatrixNorm as N;
    let (m, n) = (a.shape[0], a.shape[1]);
    let sums = |by_column: bool| -> Vec<f64> {
        let (outer, inner) = if by_column { (n, m) } else { (m, n) };
        let at = |i: usize, j: usize| if by_column { a.at(&[j, i]) } else { a.at(&[i, j]) };
        (0..outer).map(|i| (0..inner).map(|j| at(i, j).abs()).sum()).collect()
    };
    let singular = || -> Vec<f64> {
        let turned = Naive { shape: vec![n, m], data: elements(n, m, |i, j| a.at(&[j, i])) };
        let square = if m < n { product(a, &turned) } else { product(&turned, a) };
        super::eigh::naive_eigh(&square).iter().map(|p| p.0.max(0.0).sqrt()).collect()
    };
    let largest = |v: Vec<f64>| v.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let smallest = |v: Vec<f64>| v.into_iter().fold(f64::INFINITY, f64::min);
    match ord {
        N::Frobenius => a.data.iter().map(|v| v * v).sum::<f64>().sqrt(),
        N::Nuclear => singular().iter().sum(),
        N::Two => largest(singular()),
        N::MinusTwo => smallest(singular()),
        N::One => largest(sums(true)),
        N::MinusOne => smallest(sums(true)),
        N::Infinity => largest(sums(false)),
        N::MinusInfinity => smallest(sums(false)),
    }
}

fn norm_samples() -> Vec<Sample> {
    let case = |shape: &[usize], ord: MatrixNorm, keepdim: bool| {
        Sample::one(format!("{ord:?} of {shape:?}, keepdim {keepdim}"), [apart(shape)], move |x| {
            x[0].matrix_norm(ord, keepdim)
        })
        .reference(move |x| {
            let shape: &[usize] = if keepdim { &[1, 1] } else { &[] };
            vec![per_matrix(&x[0], shape, |a| vec![naive_norm(a, ord)])]
        })
        .tolerance(1e-9)
    };
    let mut samples: Vec<Sample> = ALL.iter().map(|&ord| case(&[3, 2], ord, false)).collect();
    samples.extend(ALL.iter().map(|&ord| case(&[2, 2, 3], ord, true)));
    samples.extend([
        case(&[0, 2, 2], MatrixNorm::One, false),
        case(&[2, 0], MatrixNorm::Frobenius, false),
        case(&[2, 0], MatrixNorm::Nuclear, false),
    ]);
    samples
}

fn norm_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("vector", ErrorKind::Shape, "matrix_norm: expected matrices, got f64[2]", || {
            Tensor::from([1.0, 2.0]).matrix_norm(MatrixNorm::One, false)
        }),
        ErrorSample::new("empty", ErrorKind::Shape, "matrix_norm: expected at least one element", || {
            sample_tensor(&[2, 0], 0.0, 1.0, 1).matrix_norm(MatrixNorm::Two, false)
        }),
    ]
}

fn cond_samples() -> Vec<Sample> {
    let case = |x: Tensor, ord: MatrixNorm| {
        Sample::one(format!("{ord:?} of {:?}", x.shape()), [x], move |x| x[0].cond(ord))
            .reference(move |x| {
                vec![per_matrix(&x[0], &[], |a| {
                    use MatrixNorm::{MinusTwo, Two};
                    let (two, least) = (naive_norm(a, Two), naive_norm(a, MinusTwo));
                    vec![match ord {
                        Two => two / least,
                        MinusTwo => least / two,
                        _ => {
                            let inverse = Naive { shape: a.shape.clone(), data: inverse(a) };
                            naive_norm(a, ord) * naive_norm(&inverse, ord)
                        }
                    }]
                })]
            })
            .tolerance(1e-8)
    };
    let mut samples: Vec<Sample> = ALL.iter().map(|&ord| case(regular(&[3, 3], 1), ord)).collect();
    samples.extend([
        case(apart(&[2, 3, 2]), MatrixNorm::Two),
        case(regular(&[2, 2, 2], 1), MatrixNorm::One),
        case(regular(&[0, 2, 2], 1), MatrixNorm::Two),
    ]);
    samples
}

fn cond_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("rectangle", ErrorKind::Shape, "cond: expected square matrices", || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).cond(MatrixNorm::One)
        }),
        ErrorSample::new("singular", ErrorKind::Value, "cond: expected regular matrices", || {
            Tensor::from([[1.0, 1.0], [1.0, 1.0]]).cond(MatrixNorm::One)
        }),
    ]
}
