//! Products over any dimensions of two tensors.

use super::check_numbers;
use super::contract::{Labels, Spec};
use crate::error::bail;
use crate::ops::arith::with_common_dtype;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::resolve_dims;
use crate::{ErrorKind, Result, Tensor};

/// The dimensions over which [`Tensor::tensordot`] adds up products.
///
/// Made of a number, or of a pair of lists:
///
/// ```
/// use pullback::{Contracted, Tensor};
/// assert_eq!(Contracted::from(2), Contracted::Last(2));
/// assert_eq!(Contracted::from(([0, 1], [1, 0])), Contracted::Pairs(vec![0, 1], vec![1, 0]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contracted {
    /// So many of the last dimensions of the first tensor, with as many of the first of the second.
    Last(usize),
    /// Dimensions of the first tensor, each with the one of the second at the same place.
    Pairs(Vec<isize>, Vec<isize>),
}

impl From<usize> for Contracted {
    fn from(n: usize) -> Contracted {
        Contracted::Last(n)
    }
}

impl From<(&[isize], &[isize])> for Contracted {
    fn from((lhs, rhs): (&[isize], &[isize])) -> Contracted {
        Contracted::Pairs(lhs.to_vec(), rhs.to_vec())
    }
}

impl<const M: usize, const N: usize> From<([isize; M], [isize; N])> for Contracted {
    fn from((lhs, rhs): ([isize; M], [isize; N])) -> Contracted {
        Contracted::Pairs(lhs.to_vec(), rhs.to_vec())
    }
}

ops! { OPS;
    /// The sums of products over pairs of dimensions: those of `dims`, or with a number `n` the last `n` dimensions of this tensor
    /// and the first `n` of the other one.
    ///
    /// Without dimensions this is the product of every element with every other.
    ///
    /// # Shapes
    /// The dimensions of each pair have one size. The result has the other dimensions of this tensor, then those of the other
    /// one.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: such a product of the cotangent with the other tensor.
    ///
    /// # Errors
    /// `Arity` unless both lists are as long; `Dim` if a dimension is out of range or given twice; `Shape` if the sizes of a pair
    /// differ, or a tensor has fewer than `n` dimensions; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, y) = (Tensor::from([[1, 2], [3, 4]]), Tensor::from([[1, 10], [0, 1]]));
    /// assert_eq!(x.tensordot(&y, ([0, 1], [1, 0]))?.item::<i32>()?, 1 + 30 + 4);
    /// assert_eq!(x.tensordot(&y, 1)?.to_vec::<i32>()?, [1, 12, 3, 34]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tensordot(&self, rhs: &Tensor, dims: impl Into<Contracted>) -> Result<Tensor> = tensordot {
        samples: samples, errors: errors,
        python: tensordot(rhs, dims as dims = 2)
    };
}

/// Dimensions that a product can have a label for.
const MOST: usize = 200;

const NAME: &str = "tensordot";

fn tensordot(a: &Tensor, b: &Tensor, dims: impl Into<Contracted>) -> Result<Tensor> {
    let (dims, rhs_dims) = match dims.into() {
        Contracted::Pairs(dims, rhs_dims) => (dims, rhs_dims),
        Contracted::Last(n) if n > a.rank() || n > b.rank() => {
            bail!(Shape, "{NAME}: expected tensors of at least {n} dims, got {} and {}", a.ty(), b.ty())
        }
        Contracted::Last(n) => {
            let (n, rank) = (n as isize, a.rank() as isize);
            ((rank - n..rank).collect(), (0..n).collect())
        }
    };
    over_pairs(a, b, &dims, &rhs_dims)
}

fn over_pairs(a: &Tensor, b: &Tensor, dims: &[isize], rhs_dims: &[isize]) -> Result<Tensor> {
    if dims.len() != rhs_dims.len() {
        bail!(
            Arity,
            "{NAME}: expected pairs of dims, got {} of {} and {} of {}",
            dims.len(),
            a.ty(),
            rhs_dims.len(),
            b.ty()
        );
    }
    check_numbers(NAME, &[a, b])?;
    // No dims would mean all of them to `resolve_dims`.
    let resolved = |dims: &[isize], t: &Tensor| {
        if dims.is_empty() { Ok(Default::default()) } else { resolve_dims(NAME, dims, t.rank(), t.ty()) }
    };
    let (of_a, of_b) = (resolved(dims, a)?, resolved(rhs_dims, b)?);
    for (k, (&i, &j)) in of_a.iter().zip(&of_b).enumerate() {
        let (m, n) = (a.shape()[i], b.shape()[j]);
        if m != n {
            bail!(
                Shape,
                "{NAME}: sizes of a pair of dims must match, got {m} and {n} for pair {k} of lhs {} and rhs {}",
                a.ty(),
                b.ty()
            );
        }
    }
    if a.rank() + b.rank() > MOST {
        bail!(Shape, "{NAME}: expected at most {MOST} dims, got {} and {}", a.rank(), b.rank());
    }
    let lhs: Labels = (0..a.rank() as u8).collect();
    let mut rhs: Labels = (0..b.rank()).map(|j| (a.rank() + j) as u8).collect();
    for (&i, &j) in of_a.iter().zip(&of_b) {
        rhs[j] = i as u8;
    }
    let out: Labels =
        lhs.iter().filter(|l| !rhs.contains(l)).chain(rhs.iter().filter(|l| !lhs.contains(l))).copied().collect();
    with_common_dtype(a, b, false, |a, b| {
        Spec { name: NAME, lhs: &lhs, rhs: &rhs, bias: None, out: &out }.apply(a, b, None)
    })
}

fn samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize], dims: &'static [isize], rhs_dims: &'static [isize]| {
        let inputs = [sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        let label = format!("{a:?} and {b:?} over {dims:?} and {rhs_dims:?}");
        Sample::one(label, inputs, move |x| x[0].tensordot(&x[1], (dims, rhs_dims))).reference(move |x| {
            let at = |dims: &[isize], rank: usize| -> Vec<usize> {
                dims.iter().map(|d| d.rem_euclid(rank as isize) as usize).collect()
            };
            let (of_a, of_b) = (at(dims, x[0].shape.len().max(1)), at(rhs_dims, x[1].shape.len().max(1)));
            let free = |x: &Naive, dims: &[usize]| (0..x.shape.len()).filter(|d| !dims.contains(d)).collect::<Vec<_>>();
            let (free_a, free_b) = (free(&x[0], &of_a), free(&x[1], &of_b));
            let shape: Vec<usize> =
                free_a.iter().map(|&d| x[0].shape[d]).chain(free_b.iter().map(|&d| x[1].shape[d])).collect();
            let summed: Vec<usize> = of_a.iter().map(|&d| x[0].shape[d]).collect();
            vec![Naive::from_fn(&shape, |i| {
                let product = |q: &[usize]| {
                    let element = |x: &Naive, free: &[usize], dims: &[usize], own: &[usize]| {
                        let mut index = vec![0; x.shape.len()];
                        free.iter().zip(own).for_each(|(&d, &i)| index[d] = i);
                        dims.iter().zip(q).for_each(|(&d, &i)| index[d] = i);
                        x.at(&index)
                    };
                    let (left, right) = i.split_at(free_a.len());
                    element(&x[0], &free_a, &of_a, left) * element(&x[1], &free_b, &of_b, right)
                };
                Naive::from_fn(&summed, product).data.iter().sum()
            })]
        })
    };
    let number = |a: &[usize], b: &[usize], n: usize| {
        let inputs = [sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?} over {n}"), inputs, move |x| x[0].tensordot(&x[1], n)).reference(
            move |x| {
                // As a product of matrices.
                let (a, b) = (&x[0], &x[1]);
                let (lead, rest) = (&a.shape[..a.shape.len() - n], &b.shape[n..]);
                let k: usize = b.shape[..n].iter().product();
                let columns: usize = rest.iter().product();
                let mut at = 0..;
                vec![Naive::from_fn(&[lead, rest].concat(), |_| {
                    let at: usize = at.next().unwrap_or(0);
                    let (i, j) = (at / columns, at % columns);
                    (0..k).map(|p| a.data[i * k + p] * b.data[p * columns + j]).sum()
                })]
            },
        )
    };
    vec![
        number(&[2, 3, 4], &[3, 4, 2], 2),
        number(&[2], &[3], 0),
        case(&[2, 3, 4], &[4, 3, 2], &[1, 2], &[1, 0]),
        case(&[2, 3], &[3, 2], &[-1], &[0]),
        case(&[2], &[3], &[], &[]),
        case(&[], &[2], &[], &[]),
        case(&[2, 2], &[2, 2], &[0, 1], &[0, 1]),
        case(&[2, 0], &[0, 3], &[1], &[0]),
    ]
}

fn errors() -> Vec<ErrorSample> {
    let call = |label: &str, kind, message, dims: &'static [isize], rhs_dims: &'static [isize]| {
        let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4, 3], 0.0, 1.0, 1));
        ErrorSample::new(label, kind, message, move || a.tensordot(&b, (dims, rhs_dims)))
    };
    vec![
        call(
            "pairs",
            ErrorKind::Arity,
            "tensordot: expected pairs of dims, got 1 of f64[2,3] and 0 of f64[4,3]",
            &[0],
            &[],
        ),
        call(
            "sizes",
            ErrorKind::Shape,
            "tensordot: sizes of a pair of dims must match, got 2 and 4 for pair 0",
            &[0],
            &[0],
        ),
        ErrorSample::new("number", ErrorKind::Shape, "tensordot: expected tensors of at least 2 dims, got", || {
            Tensor::from([1.0]).tensordot(&Tensor::from([[1.0]]), 2)
        }),
        call("dim", ErrorKind::Dim, "tensordot: dim 2 is out of range for f64[2,3]", &[2], &[0]),
        ErrorSample::new("bool", ErrorKind::Dtype, "tensordot: expected numbers, got bool[1]", || {
            Tensor::from([true]).tensordot(&Tensor::from([1.0]), ([0], [0]))
        }),
    ]
}
