//! The norm that is one of vectors or of matrices, as its arguments say.

use super::norms::{MatrixNorm, naive_norm, named_norm};
use super::svd::apart;
use super::{matrices, widened};
use crate::error::bail;
use crate::ops::reduce::to_real_float;
use crate::ops::reduction::naive_reduce;
use crate::ops::table::{ErrorSample, Naive, Sample, failing, ops, sample_tensor};
use crate::shape::resolve_dims;
use crate::{ErrorKind, Result, Tensor};

/// A norm of vectors or matrices, for [`Tensor::norm_with`].
///
/// ```
/// use pullback::NormOrder;
/// assert_eq!(NormOrder::from(2.0), NormOrder::P(2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NormOrder {
    /// The `p`-norm of vectors, see [`Tensor::norm`]; of matrices the one with this number, see [`MatrixNorm`].
    P(f64),
    /// The root of the sum of the squares of all elements.
    Frobenius,
    /// The sum of the singular values of matrices.
    Nuclear,
}

impl From<f64> for NormOrder {
    fn from(p: f64) -> NormOrder {
        NormOrder::P(p)
    }
}

ops! { OPS;
    /// A norm of vectors or of matrices.
    ///
    /// Over one dimension it is a [norm of vectors](Tensor::norm_dims), over two a [norm of matrices](Tensor::matrix_norm), and over
    /// all, which no dimensions mean, that of the vector or matrix that the tensor is. Without an order, and for
    /// [`NormOrder::Frobenius`], it is the root of the sum of squares over any number of dimensions.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// As those of [`norm_dims`](Tensor::norm_dims) and [`matrix_norm`](Tensor::matrix_norm).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Shape` if an order is given for more than two dimensions, or the norm is
    /// the largest or smallest of nothing; `Value` for an order that vectors or matrices do not have.
    ///
    /// # Example
    /// ```
    /// use pullback::{NormOrder, Tensor};
    /// let x = Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
    /// assert_eq!(x.norm_with(None, &[], false)?.item::<f64>()?, 5.0);
    /// assert_eq!(x.norm_with(Some(NormOrder::Nuclear), &[], false)?.item::<f64>()?, 7.0);
    /// assert_eq!(x.norm_with(Some(1.0.into()), &[0], false)?.to_vec::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// PyTorch's `linalg.norm`.
    fn norm_with(&self, ord: Option<NormOrder>, dims: &[isize], keepdim: bool) -> Result<Tensor> = norm_with {
        samples: norm_samples, errors: norm_errors,
        python: linalg::norm(ord, dims = [], keepdim, dtype),
        python: norm(ord as p: NamedNorm, dims = [], keepdim, dtype)
    };
}

fn norm_with(x: &Tensor, ord: Option<NormOrder>, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    let op = "norm";
    let x = to_real_float(op, x)?;
    let ord = match ord {
        None | Some(NormOrder::Frobenius) => return norm_of_squares(&x, dims, keepdim),
        Some(ord) => ord,
    };
    let over = resolve_dims(op, dims, x.rank(), x.ty())?;
    match (&over[..], ord) {
        (&[row, column], _) => {
            let ord = matrix_order(op, ord)?;
            let last = x.movedim(&[row as isize, column as isize], &[-2, -1])?;
            let norm = widened(&last, |x| named_norm(op, &matrices(op, x)?, ord, keepdim))?;
            if keepdim { norm.movedim(&[-2, -1], &[row as isize, column as isize]) } else { Ok(norm) }
        }
        (&[dim], NormOrder::P(p)) => x.norm_dims(p, &[dim as isize], keepdim).map_err(|e| e.renamed("norm_dims", op)),
        ([_], _) => bail!(Value, "{op}: expected a number as the order of a norm of vectors, got 'nuc' for {}", x.ty()),
        _ => bail!(Shape, "{op}: expected a vector or a matrix for a norm with an order, got {}", x.ty();
            help = "name one dim or two, or leave out the order"),
    }
}

fn norm_of_squares(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    x.norm_dims(2.0, dims, keepdim).map_err(|e| e.renamed("norm_dims", "norm"))
}

/// The norm of matrices with an order.
fn matrix_order(op: &str, ord: NormOrder) -> Result<MatrixNorm> {
    Ok(match ord {
        NormOrder::Frobenius => MatrixNorm::Frobenius,
        NormOrder::Nuclear => MatrixNorm::Nuclear,
        NormOrder::P(2.0) => MatrixNorm::Two,
        NormOrder::P(-2.0) => MatrixNorm::MinusTwo,
        NormOrder::P(1.0) => MatrixNorm::One,
        NormOrder::P(-1.0) => MatrixNorm::MinusOne,
        NormOrder::P(f64::INFINITY) => MatrixNorm::Infinity,
        NormOrder::P(f64::NEG_INFINITY) => MatrixNorm::MinusInfinity,
        NormOrder::P(p) => bail!(
            Value,
            "{op}: expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf as the order of a norm of matrices, got {p}";
            help = "for the p-norm of all elements as one vector, flatten them first"
        ),
    })
}

fn norm_samples() -> Vec<Sample> {
    let vectors = |shape: &[usize], p: f64, dims: &'static [isize], over: &'static [usize], keepdim: bool| {
        let label = format!("{p} of {shape:?} over {dims:?}, keepdim {keepdim}");
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        Sample::one(label, [x], move |x| x[0].norm_with(Some(p.into()), dims, keepdim)).reference(move |x| {
            let norm = |x: &[f64]| x.iter().map(|v| v.abs().powf(p)).sum::<f64>().powf(1.0 / p);
            vec![naive_reduce(&x[0], over, keepdim, norm)]
        })
    };
    let squares = |ord: Option<NormOrder>, shape: &[usize], dims: &'static [isize], over: &'static [usize]| {
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        Sample::one(format!("{ord:?} of {shape:?} over {dims:?}"), [x], move |x| x[0].norm_with(ord, dims, false))
            .reference(move |x| vec![naive_reduce(&x[0], over, false, |x| x.iter().map(|v| v * v).sum::<f64>().sqrt())])
    };
    // The matrices of dims 2 and 0.
    let turned = |ord: NormOrder, named: MatrixNorm, keepdim: bool| {
        let x = apart(&[2, 3, 2]).movedim(&[1, 2], &[2, 0]).expect("there are such dims");
        let label = format!("{ord:?} of {:?} over [2, 0], keepdim {keepdim}", x.shape());
        Sample::one(label, [x], move |x| x[0].norm_with(Some(ord), &[2, 0], keepdim))
            .reference(move |x| {
                let x = &x[0];
                let matrix = |k: usize| Naive::from_fn(&[x.shape[2], x.shape[0]], |i| x.at(&[i[1], k, i[0]]));
                let data: Vec<f64> = (0..x.shape[1]).map(|k| naive_norm(&matrix(k), named)).collect();
                vec![Naive { shape: if keepdim { vec![1, data.len(), 1] } else { vec![data.len()] }, data }]
            })
            .tolerance(1e-9)
    };
    vec![
        squares(None, &[2, 3, 2], &[], &[0, 1, 2]),
        squares(None, &[2, 3], &[-1], &[1]),
        squares(None, &[0, 2], &[1], &[1]),
        squares(None, &[], &[], &[]),
        squares(Some(NormOrder::Frobenius), &[2, 3, 2], &[0, 2], &[0, 2]),
        vectors(&[4], 3.0, &[], &[0], false),
        vectors(&[2, 3], 1.0, &[0], &[0], true),
        turned(NormOrder::Nuclear, MatrixNorm::Nuclear, false),
        turned(NormOrder::P(1.0), MatrixNorm::One, true),
        turned(NormOrder::P(f64::INFINITY), MatrixNorm::Infinity, false),
        turned(NormOrder::P(2.0), MatrixNorm::Two, false),
    ]
}

fn norm_errors() -> Vec<ErrorSample> {
    let of = |label: &str, kind, message, shape: &[usize], ord: NormOrder, dims: &'static [isize]| {
        failing(label, kind, message, shape, move |x| x.norm_with(Some(ord), dims, false))
    };
    use ErrorKind::{Dim, Shape, Value};
    vec![
        of("3-d", Shape, "norm: expected a vector or a matrix for a norm with an order", &[2, 2, 2], 1.0.into(), &[]),
        of("order", Value, "as the order of a norm of matrices, got 3", &[2, 2], 3.0.into(), &[]),
        of("nuclear", Value, "as the order of a norm of vectors, got 'nuc'", &[2], NormOrder::Nuclear, &[]),
        of("dim", Dim, "norm: dim 2 is out of range", &[2, 2], 1.0.into(), &[2]),
    ]
}
