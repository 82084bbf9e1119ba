//! Products of tensors that are neither elementwise nor those of matrices.

use crate::error::bail;
use crate::ops::arith::with_common_dtype;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, resolve_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// Kronecker's product: every element of this tensor times the whole other one, as a block in its place.
    ///
    /// # Shapes
    /// Sizes multiply: `[a, b]` and `[c, d]` give `[a·c, b·d]`. A tensor with fewer dimensions gets leading ones.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// The sums of the blocks of the cotangent times the other tensor.
    ///
    /// # Errors
    /// `Dtype` for bools; `Shape` if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 10]).kron(&Tensor::from([1, 2, 3]))?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 3, 10, 20, 30]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn kron(&self, rhs: &Tensor) -> Result<Tensor> = kron { samples: kron_samples, errors: kron_errors };

    /// The cross products of vectors of three elements along `dim`.
    ///
    /// # Shapes
    /// The tensors broadcast against each other; `dim` is one of the result, and of size 3 in both.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// `rhs × g` and `g × self` for the cotangent `g`.
    ///
    /// # Errors
    /// `Shape` if shapes do not broadcast or the dimension has another size; `Dim` if `dim` is out of range; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let z = Tensor::from([1, 0, 0]).cross(&Tensor::from([0, 1, 0]), -1)?;
    /// assert_eq!(z.to_vec::<i32>()?, [0, 0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cross(&self, rhs: &Tensor, dim: isize) -> Result<Tensor> = cross {
        samples: cross_samples, errors: cross_errors,
        python: cross(rhs, dim = -1)
    };
}

fn check_numbers(op: &str, tensors: [&Tensor; 2]) -> Result<()> {
    match tensors.iter().find(|t| t.dtype() == DType::Bool) {
        Some(t) => bail!(Dtype, "{op}: expected numbers, got {}", t.ty(); help = "convert with `to_dtype`"),
        None => Ok(()),
    }
}

fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_numbers("kron", [a, b])?;
    let rank = a.rank().max(b.rank());
    let sizes =
        |t: &Tensor| -> Shape { std::iter::repeat_n(1, rank - t.rank()).chain(t.shape().iter().copied()).collect() };
    let (sa, sb) = (sizes(a), sizes(b));
    let shape: Shape = sa.iter().zip(&sb).map(|(x, y)| x.saturating_mul(*y)).collect();
    crate::tensor::checked_numel("kron", &shape)?;
    with_common_dtype(a, b, false, |a, b| {
        let blocks: Shape = sa.iter().flat_map(|&n| [n, 1]).collect();
        let within: Shape = sb.iter().flat_map(|&n| [1, n]).collect();
        a.reshape_to(&blocks)?.mul(&b.reshape_to(&within)?)?.reshape_to(&shape)
    })
}

fn cross(a: &Tensor, b: &Tensor, dim: isize) -> Result<Tensor> {
    check_numbers("cross", [a, b])?;
    let shape = crate::ops::family::broadcast_shape("cross", a, b)?;
    let what = crate::TensorType::new(a.dtype(), &shape);
    let back = resolve_dim("cross", dim, shape.len(), what)? as isize - shape.len() as isize;
    let size = |t: &Tensor| t.rank().checked_add_signed(back).map_or(1, |d| t.shape()[d]);
    if size(a) != 3 || size(b) != 3 {
        bail!(Shape, "cross: expected 3 elements along dim {dim}, got lhs {} and rhs {}", a.ty(), b.ty());
    }
    with_common_dtype(a, b, false, |a, b| {
        let next = |t: &Tensor| t.roll(&[-1], &[back]);
        next(&a.mul(&next(b)?)?.sub(&next(a)?.mul(b)?)?)
    })
}

fn kron_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize]| {
        let inputs = [sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}"), inputs, |x| x[0].kron(&x[1])).reference(|x| {
            let rank = x[0].shape.len().max(x[1].shape.len());
            let sizes = |x: &Naive| [vec![1; rank - x.shape.len()], x.shape.clone()].concat();
            let (sa, sb) = (sizes(&x[0]), sizes(&x[1]));
            let shape: Vec<usize> = sa.iter().zip(&sb).map(|(a, b)| a * b).collect();
            vec![Naive::from_fn(&shape, |i| {
                let of = |x: &Naive, index: Vec<usize>| x.at(&index[rank - x.shape.len()..]);
                let outer = i.iter().zip(&sb).map(|(i, n)| i / n).collect();
                let inner = i.iter().zip(&sb).map(|(i, n)| i % n).collect();
                of(&x[0], outer) * of(&x[1], inner)
            })]
        })
    };
    vec![
        case(&[2, 3], &[3, 2]),
        case(&[2], &[2, 2]),
        case(&[2, 1, 2], &[3]),
        case(&[], &[2, 2]),
        case(&[0, 2], &[2, 2]),
    ]
}

fn kron_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("bool", ErrorKind::Dtype, "kron: expected numbers, got bool[1]", || {
        Tensor::from([true]).kron(&Tensor::from([1.0]))
    })]
}

fn cross_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize], dim: isize, at: usize| {
        let inputs = [sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}, dim {dim}"), inputs, move |x| x[0].cross(&x[1], dim)).reference(
            move |x| {
                let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).map(|s| s.to_vec()).unwrap_or_default();
                vec![Naive::from_fn(&shape, |i| {
                    let value = |x: &Naive, step: usize| {
                        let mut index = i.to_vec();
                        index[at] = (i[at] + step) % 3;
                        x.at_broadcast(&index)
                    };
                    value(&x[0], 1) * value(&x[1], 2) - value(&x[0], 2) * value(&x[1], 1)
                })]
            },
        )
    };
    vec![
        case(&[3], &[3], -1, 0),
        case(&[2, 3], &[3], -1, 1),
        case(&[3, 1], &[3, 2], 0, 0),
        case(&[2, 3, 2], &[3, 1], 1, 1),
        case(&[0, 3], &[3], 1, 1),
    ]
}

fn cross_errors() -> Vec<ErrorSample> {
    let call = |label: &str, kind, message, a: &[usize], b: &[usize], dim| {
        let (a, b) = (sample_tensor(a, 0.0, 1.0, 1), sample_tensor(b, 0.0, 1.0, 1));
        ErrorSample::new(label, kind, message, move || a.cross(&b, dim))
    };
    vec![
        call(
            "size",
            ErrorKind::Shape,
            "cross: expected 3 elements along dim 0, got lhs f64[2] and rhs f64[2]",
            &[2],
            &[2],
            0,
        ),
        call("shapes", ErrorKind::Shape, "cross: shapes must broadcast", &[3, 2], &[3, 3], 0),
        call("dim", ErrorKind::Dim, "cross: dim 1 is out of range for f64[3]", &[3], &[3], 1),
    ]
}
