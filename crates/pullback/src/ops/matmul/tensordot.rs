//! Products over any dimensions of two tensors.

use super::check_numbers;
use super::contract::{Labels, Spec};
use crate::error::bail;
use crate::ops::arith::with_common_dtype;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::resolve_dims;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The sums of products over pairs of dimensions: number `k` of `dims` of this tensor goes with number `k` of `rhs_dims` of the
    /// other one.
    ///
    /// Without dimensions this is the product of every element with every other. For the last `n` dimensions of this tensor with the
    /// first of the other one, which PyTorch writes as a number, name both.
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
    /// differ; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, y) = (Tensor::from([[1, 2], [3, 4]]), Tensor::from([[1, 10], [0, 1]]));
    /// assert_eq!(x.tensordot(&y, &[0, 1], &[1, 0])?.item::<i32>()?, 1 + 30 + 4);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tensordot(&self, rhs: &Tensor, dims: &[isize], rhs_dims: &[isize]) -> Result<Tensor> = tensordot {
        samples: samples, errors: errors,
        python: tensordot(rhs, dims as dims, rhs_dims as other_dims)
    };
}

/// Dimensions that a product can have a label for.
const MOST: usize = 200;

fn tensordot(a: &Tensor, b: &Tensor, dims: &[isize], rhs_dims: &[isize]) -> Result<Tensor> {
    const NAME: &str = "tensordot";
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
        Sample::one(label, inputs, move |x| x[0].tensordot(&x[1], dims, rhs_dims)).reference(move |x| {
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
    vec![
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
        ErrorSample::new(label, kind, message, move || a.tensordot(&b, dims, rhs_dims))
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
        call("dim", ErrorKind::Dim, "tensordot: dim 2 is out of range for f64[2,3]", &[2], &[0]),
        ErrorSample::new("bool", ErrorKind::Dtype, "tensordot: expected numbers, got bool[1]", || {
            Tensor::from([true]).tensordot(&Tensor::from([1.0]), &[0], &[0])
        }),
    ]
}
