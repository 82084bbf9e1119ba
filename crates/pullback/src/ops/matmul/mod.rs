//! Matrix products, and the linear layer.

mod contract;
mod equation;
mod path;
pub(super) mod ranked;
mod samples;
pub(super) mod tensordot;

use contract::{Labels, Spec};

use super::arith::with_common_dtype;
use super::table::ops;
use crate::error::bail;
use crate::shape::Shape;
use crate::{DType, Result, Tensor};

ops! { OPS;
    /// The matrix product.
    ///
    /// # Shapes
    /// `[.., m, k]` times `[.., k, n]` gives `[.., m, n]`; leading dimensions broadcast. A 1-d tensor on the left is a
    /// row, on the right a column, and has no dimension in the result: `[k]` times `[.., k, n]` gives `[.., n]`,
    /// `[.., m, k]` times `[k]` gives `[.., m]`, `[k]` times `[k]` gives a 0-d tensor. For `k = 0` the result is zero.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: the cotangents are `g @ rhsᵀ` and `lhsᵀ @ g`, summed over the leading dimensions that broadcast.
    ///
    /// # Batching
    /// Lanes of one operand become rows or columns of one product; the other operand is not repeated.
    ///
    /// # Errors
    /// `Shape` if an operand is 0-d, if the inner dimensions differ, or if the leading ones do not broadcast; `Dtype`
    /// for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 10.0]))?.to_vec::<f64>()?, [21.0, 43.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The shapes are those of NumPy's `matmul`.
    fn matmul(&self, rhs: &Tensor) -> Result<Tensor> = matmul {
        samples: samples::matmul, errors: samples::matmul_errors,
        python: matmul(rhs), python: linalg::matmul(rhs)
    };

    /// The scalar product of two vectors.
    ///
    /// # Shapes
    /// `[n]` and `[n]` give a 0-d tensor, zero for `n = 0`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// The other vector, times the cotangent.
    ///
    /// # Errors
    /// `Shape` unless both are 1-d and of one length; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2]).dot(&Tensor::from([3, 4]))?.item::<i32>()?, 11);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dot(&self, rhs: &Tensor) -> Result<Tensor> = dot { samples: samples::dot, errors: samples::dot_errors };

    /// The matrix of all products of an element of one vector with an element of another.
    ///
    /// # Shapes
    /// `[m]` and `[n]` give `[m, n]`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// The cotangents are `g @ rhs` and `lhs @ g`.
    ///
    /// # Errors
    /// `Shape` unless both are 1-d; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let t = Tensor::from([1, 2]).outer(&Tensor::from([3, 4]))?;
    /// assert_eq!(t.to_vec::<i32>()?, [3, 4, 6, 8]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn outer(&self, rhs: &Tensor) -> Result<Tensor> = outer {
        samples: samples::outer, errors: samples::outer_errors,
        python: outer(rhs as vec2), python: ger(rhs as vec2)
    };

    /// The linear layer `self @ weightᵀ + bias`.
    ///
    /// # Shapes
    /// `[.., in]` with a weight `[out, in]` and a bias `[out]` gives `[.., out]`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// With cotangent `g`: `g @ weight` for the input, `gᵀ @ self` for the weight and `g` for the bias, the last two
    /// summed over the leading dimensions of the input.
    ///
    /// # Batching
    /// Lanes of the input become rows of one product. Per-example gradients of the weight are written once, as outer
    /// products.
    ///
    /// # Errors
    /// `Shape` if the input is 0-d, the weight not 2-d or the bias not 1-d, or if their sizes do not fit; `Dtype` for
    /// bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (w, b) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([0.5, 0.25]));
    /// let y = Tensor::from([10.0, 1.0]).linear(&w, Some(&b))?;
    /// assert_eq!(y.to_vec::<f64>()?, [12.5, 34.25]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> = linear {
        samples: samples::linear, errors: samples::linear_errors,
        python: linear(weight, bias),
        python: nn::functional::linear(weight, bias)
    };

    /// The sum of products that an equation of letters describes.
    ///
    /// Each operand has a letter for each dimension; operands are separated by commas. Letters after `->` are the
    /// dimensions of the result, in this order; over all others the product of the operands is summed. A letter that an
    /// operand has twice stands for its diagonal. `...` stands for any further dimensions. Without `->`, the result has
    /// what `...` stands for, then every letter that occurs once, in alphabetical order.
    ///
    /// # Shapes
    /// A letter has the same size wherever it occurs; sizes of 1, and dimensions under `...`, broadcast.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// Linear in each operand: the cotangent takes the place of the operand in the product.
    ///
    /// # Errors
    /// `Arity` if the number of operands does not fit; `Shape` if numbers of dimensions or sizes do not; `Value` for an
    /// equation that makes no sense; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, einsum};
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(einsum("ij,ik->jk", &[&x, &x])?.to_vec::<i32>()?, [10, 14, 14, 20]);
    /// assert_eq!(einsum("ii->", &[&x])?.item::<i32>()?, 5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The notation is that of NumPy's `einsum`. Products are taken from left to right.
    free fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> = equation::einstein_sum {
        samples: equation::samples, errors: equation::errors,
        python: einsum(equation, *operands)
    };
}

/// An error unless all are numbers.
fn check_numbers(op: &str, tensors: &[&Tensor]) -> Result<()> {
    match tensors.iter().find(|t| t.dtype() == DType::Bool) {
        Some(t) => bail!(Dtype, "{op}: expected numbers, got {}", t.ty(); help = "convert with `to_dtype`"),
        None => Ok(()),
    }
}

/// A product without leading dimensions, by the labels of the operands and the result.
const fn plain(name: &'static str, lhs: &'static [u8], rhs: &'static [u8], out: &'static [u8]) -> Spec<'static> {
    Spec { name, lhs, rhs, bias: None, out }
}

fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (ra, rb) = (a.rank(), b.rank());
    if ra == 0 || rb == 0 {
        bail!(Shape, "matmul: expected at least one dimension, got lhs {} and rhs {}", a.ty(), b.ty(); help = "use \
            `mul` to multiply by a scalar");
    }
    let (ka, kb) = (a.shape()[ra - 1], b.shape()[rb.saturating_sub(2)]);
    if ka != kb {
        bail!(Shape, "matmul: inner dimensions must match, got lhs {} and rhs {} ({ka} vs {kb})", a.ty(), b.ty());
    }
    match (ra, rb) {
        (1, 1) => product(&plain("matmul", b"k", b"k", b""), a, b),
        (1, 2) => product(&plain("matmul", b"k", b"kn", b"n"), a, b),
        (2, 1) => product(&plain("matmul", b"mk", b"k", b"m"), a, b),
        (2, 2) => product(&plain("matmul", b"mk", b"kn", b"mn"), a, b),
        _ => batched_matmul(a, b),
    }
}

/// Applies a product to tensors whose sizes fit.
#[inline]
fn product(spec: &Spec<'_>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_numbers(spec.name, &[a, b])?;
    with_common_dtype(a, b, false, |a, b| spec.apply(a, b, None))
}

/// Labels of the leading dimensions count down from this one, the last of them first.
const LAST_LEAD: u8 = b'a' - 1;

fn batched_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let lead = |t: &Tensor| t.rank().saturating_sub(2);
    let (la, lb) = (lead(a), lead(b));
    let (rank, most) = (la.max(lb), usize::from(LAST_LEAD));
    if rank > most {
        bail!(Shape, "matmul: expected at most {most} leading dimensions, got {rank}");
    }
    let (mut lhs, mut rhs, mut out) = (Labels::new(), Labels::new(), Labels::new());
    let (mut shape_a, mut shape_b) = (Shape::new(), Shape::new());
    for d in 0..rank {
        let label = LAST_LEAD - (rank - 1 - d) as u8;
        // A dimension of size 1 is dropped where the other operand makes it larger.
        let size = |t: &Tensor, own: usize| (d + own).checked_sub(rank).map(|d| t.shape()[d]);
        let (na, nb) = (size(a, la), size(b, lb));
        match (na, nb) {
            (Some(na), Some(nb)) if na != nb && na != 1 && nb != 1 => {
                bail!(Shape, "matmul: leading dimensions must broadcast, got lhs {} and rhs {}", a.ty(), b.ty());
            }
            _ => {}
        }
        if let Some(n) = na.filter(|&n| n != 1 || nb.is_none_or(|nb| nb == 1)) {
            lhs.push(label);
            shape_a.push(n);
        }
        if let Some(n) = nb.filter(|&n| n != 1 || na.is_none_or(|na| na == 1)) {
            rhs.push(label);
            shape_b.push(n);
        }
        out.push(label);
    }
    if a.rank() > 1 {
        lhs.push(b'm');
        out.push(b'm');
    }
    lhs.push(b'k');
    rhs.push(b'k');
    if b.rank() > 1 {
        rhs.push(b'n');
        out.push(b'n');
    }
    shape_a.extend_from_slice(&a.shape()[la..]);
    shape_b.extend_from_slice(&b.shape()[lb..]);
    let spec = Spec { name: "matmul", lhs: &lhs, rhs: &rhs, bias: None, out: &out };
    product(&spec, &a.reshape_to(&shape_a)?, &b.reshape_to(&shape_b)?)
}

/// An error unless both are vectors.
fn vectors(op: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.rank() != 1 || b.rank() != 1 {
        bail!(Shape, "{op}: expected two 1-d tensors, got lhs {} and rhs {}", a.ty(), b.ty(); help = "use `matmul` for \
            other numbers of dimensions");
    }
    Ok(())
}

fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    vectors("dot", a, b)?;
    let (na, nb) = (a.shape()[0], b.shape()[0]);
    if na != nb {
        bail!(Shape, "dot: lengths must match, got lhs {} and rhs {} ({na} vs {nb})", a.ty(), b.ty());
    }
    product(&plain("dot", b"k", b"k", b""), a, b)
}

fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    vectors("outer", a, b)?;
    product(&plain("outer", b"m", b"n", b"mn"), a, b)
}

fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let (Some(&inputs), &[out, expected]) = (x.shape().last(), weight.shape()) else {
        bail!(
            Shape,
            "linear: expected an input [.., in] and a weight [out, in], got input {} and weight {}",
            x.ty(),
            weight.ty()
        );
    };
    if inputs != expected {
        bail!(
            Shape,
            "linear: the last dimensions of input and weight must match, got input {} and weight {} ({inputs} \
            vs {expected})",
            x.ty(),
            weight.ty()
        );
    }
    if let Some(bias) = bias
        && *bias.shape() != [out]
    {
        bail!(
            Shape,
            "linear: expected a bias of {out} elements, one for each row of the weight {}, got {}",
            weight.ty(),
            bias.ty()
        );
    }
    let dtype = bias.into_iter().fold(x.dtype().promote(weight.dtype()), |dtype, bias| dtype.promote(bias.dtype()));
    check_numbers("linear", &[x, weight, bias.unwrap_or(x)])?;
    let lead = x.rank() - 1;
    if lead > usize::from(LAST_LEAD) {
        bail!(Shape, "linear: expected at most {LAST_LEAD} leading dimensions, got {lead}");
    }
    let mut lhs: Labels = (0..lead as u8).collect();
    let mut result = lhs.clone();
    lhs.push(b'i');
    result.push(b'o');
    let spec = Spec { name: "linear", lhs: &lhs, rhs: b"oi", bias: bias.map(|_| &b"o"[..]), out: &result };
    let bias = bias.map(|bias| bias.to_dtype(dtype)).transpose()?;
    spec.apply(&x.to_dtype(dtype)?, &weight.to_dtype(dtype)?, bias.as_ref())
}
