//! Exponentials and powers of matrices, and chains of products.

use smallvec::{SmallVec, smallvec};

use super::complex_samples as z;
use super::naive::{per_matrix, product};
use super::{MatrixOp, Slot, apply1, flipped, sizes, square};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::exponential::exponential;
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{DType, ErrorKind, Result, Tensor, cat};

ops! { OPS;
    /// The exponentials of matrices: `1 + A + A²/2 + A³/6 + …`.
    ///
    /// # Shapes
    /// `[.., n, n]`, as is the result.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers, as real matrices of twice the size; integers and bools become `f32`.
    ///
    /// # Derivative
    /// Fréchet's, which is a block of the exponential of a matrix twice the size; so are those of higher order.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square. NaN and infinity give NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
    fn matrix_exp(&self) -> Result<Tensor> = matrix_exp { samples: exp_samples, errors: exp_errors };

    /// Whole powers of matrices, by repeated squaring. Power 0 is the identity, negative ones are powers of the inverse.
    ///
    /// # Shapes
    /// `[.., n, n]`, as is the result.
    ///
    /// # Dtypes
    /// All but `bool`. Integers wrap, and become `f32` for negative powers.
    ///
    /// # Derivative
    /// That of the products.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square; `Dtype` for bools; `Value` for a negative power of a singular matrix.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// // Fibonacci's numbers.
    /// let x = Tensor::from([[1, 1], [1, 0]]).matrix_power(10)?;
    /// assert_eq!(x.to_vec::<i32>()?, [89, 55, 55, 34]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn matrix_power(&self, n: i64) -> Result<Tensor> = matrix_power { samples: power_samples, errors: power_errors };

    /// The product of a chain of matrices, in the order that takes the fewest multiplications.
    ///
    /// # Shapes
    /// Two or more matrices `[m, k]`, `[k, l]`, and so on. The first may be a vector, which is a row, and the last one, which is a
    /// column; such a dimension is not in the result.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// That of the products.
    ///
    /// # Errors
    /// `Arity` for fewer than two tensors; `Shape` if one has another number of dimensions or sizes do not fit; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, multi_dot};
    /// let (a, x) = (Tensor::from([[1, 2], [3, 4]]), Tensor::from([1, 1]));
    /// assert_eq!(multi_dot(&[&a, &a, &x])?.to_vec::<i32>()?, [17, 37]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn multi_dot(tensors: &[&Tensor]) -> Result<Tensor> = chain { samples: chain_samples, errors: chain_errors };
}

#[derive(Clone, Debug)]
struct Exp;

impl Exp {
    /// The derivative at `a` in direction `t`: the upper right block of the exponential of `[[a, t], [0, a]]`.
    fn along(a: &Tensor, t: &Tensor) -> Result<Tensor> {
        let [n, _] = sizes(a);
        if n == 0 {
            return Ok(t.clone());
        }
        // A direction far larger than the matrix would decide how far that is scaled.
        let size = t.detach()?.abs()?.max_dims(&[-2, -1], true)?;
        let unit = size.gt(0)?.where_(&size, 1)?;
        let t = t.div(&unit)?;
        let zeros = broadcast_to(&Tensor::zeros(&[], a.dtype())?, a.shape())?;
        let whole = cat(&[&cat(&[a, &t], -1)?, &cat(&[&zeros, a], -1)?], -2)?;
        apply1(Exp, &[&whole])?.narrow(-2, 0, n)?.narrow(-1, n as isize, n)?.mul(&unit)
    }
}

impl MatrixOp for Exp {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "matrix_exp"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        Ok(smallvec![dispatch!(x[0].dtype(), "matrix_exp", float, T => Ok(exponential::<T>(x[0])))?])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![t[0].map(|t| Exp::along(&saved[0], t))?])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![g[0].map(|g| Exp::along(&flipped(&saved[0])?, g))?])
    }
}

fn matrix_exp(x: &Tensor) -> Result<Tensor> {
    super::widened(x, |x| {
        let x = square("matrix_exp", x)?;
        if x.dtype().is_complex() { super::complex::exponential(&x) } else { apply1(Exp, &[&x]) }
    })
}

fn matrix_power(x: &Tensor, n: i64) -> Result<Tensor> {
    super::widened(x, |x| power_of(x, n))
}

fn power_of(x: &Tensor, n: i64) -> Result<Tensor> {
    const NAME: &str = "matrix_power";
    if x.dtype() == DType::Bool {
        bail!(Dtype, "{NAME}: expected numbers, got {}", x.ty(); help = "convert with `to_dtype`");
    }
    let float = square(NAME, x)?;
    let mut base = if n < 0 { super::solve::inverse_of(NAME, &float)? } else { x.clone() };
    let mut rest = n.unsigned_abs();
    if rest == 0 {
        return broadcast_to(&Tensor::eye(sizes(x)[0], x.dtype())?, x.shape());
    }
    let mut power: Option<Tensor> = None;
    loop {
        if rest & 1 == 1 {
            power = Some(match power {
                Some(power) => power.matmul(&base)?,
                None => base.clone(),
            });
        }
        rest >>= 1;
        match power {
            Some(power) if rest == 0 => return Ok(power),
            _ => base = base.matmul(&base)?,
        }
    }
}

/// The chain from `i` to `j` in the order that `splits` says.
fn ordered(tensors: &[Tensor], splits: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
    if i == j {
        return Ok(tensors[i].clone());
    }
    let k = splits[i][j];
    ordered(tensors, splits, i, k)?.matmul(&ordered(tensors, splits, k + 1, j)?)
}

fn chain(tensors: &[&Tensor]) -> Result<Tensor> {
    const NAME: &str = "multi_dot";
    let count = tensors.len();
    if count < 2 {
        bail!(Arity, "{NAME}: expected at least two tensors, got {count}");
    }
    let (mut all, mut sizes) = (Vec::with_capacity(count), Vec::with_capacity(count + 1));
    for (k, t) in tensors.iter().enumerate() {
        if t.dtype() == DType::Bool {
            bail!(Dtype, "{NAME}: expected numbers, got {} for tensor {k}", t.ty(); help = "convert with `to_dtype`");
        }
        let matrix = match t.rank() {
            2 => (*t).clone(),
            1 if k == 0 => t.unsqueeze(0)?,
            1 if k + 1 == count => t.unsqueeze(1)?,
            _ => bail!(
                Shape,
                "{NAME}: expected matrices, or vectors as the first and the last one, got {} for tensor {k}",
                t.ty()
            ),
        };
        let [rows, columns] = super::sizes(&matrix);
        match sizes.last() {
            None => sizes.push(rows),
            Some(&before) if before != rows => {
                bail!(Shape, "{NAME}: inner dimensions must match, got {} for tensor {k} ({before} vs {rows})", t.ty())
            }
            _ => {}
        }
        sizes.push(columns);
        all.push(matrix);
    }
    // The cost of every part of the chain, from those of shorter ones.
    let (mut costs, mut splits) = (vec![vec![0.0f64; count]; count], vec![vec![0; count]; count]);
    for len in 1..count {
        for i in 0..count - len {
            let j = i + len;
            let cost =
                |k: usize| costs[i][k] + costs[k + 1][j] + sizes[i] as f64 * sizes[k + 1] as f64 * sizes[j + 1] as f64;
            let best = (i..j).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(i);
            let lowest = cost(best);
            (costs[i][j], splits[i][j]) = (lowest, best);
        }
    }
    let mut out = ordered(&all, &splits, 0, count - 1)?;
    if tensors[count - 1].rank() == 1 {
        out = out.squeeze(-1)?;
    }
    if tensors[0].rank() == 1 { out.squeeze(0) } else { Ok(out) }
}

/// The series, after a scaling.
fn naive_exp(a: &Naive) -> Vec<f64> {
    let n = a.shape[0];
    let small = Naive { shape: vec![n, n], data: a.data.iter().map(|v| v / 1024.0).collect() };
    let one = Naive::from_fn(&[n, n], |i| f64::from(u8::from(i[0] == i[1])));
    let (mut sum, mut term) = (one.clone(), one);
    for k in 1..20 {
        term = product(&term, &small);
        term.data.iter_mut().for_each(|v| *v /= f64::from(k));
        sum.data.iter_mut().zip(&term.data).for_each(|(s, t)| *s += t);
    }
    for _ in 0..10 {
        sum = product(&sum, &sum);
    }
    sum.data
}

fn exp_samples() -> Vec<Sample> {
    let case = |shape: &[usize], size: f64| {
        Sample::one(format!("{shape:?} up to {size}"), [sample_tensor(shape, -size, size, 1)], |x| x[0].matrix_exp())
            .reference(|x| {
                let n = x[0].shape[x[0].shape.len() - 1];
                vec![per_matrix(&x[0], &[n, n], naive_exp)]
            })
            .tolerance(1e-11)
    };
    let mut samples = vec![
        case(&[3, 3], 1.0),
        case(&[1, 1], 0.5),
        case(&[2, 2, 2], 0.5),
        case(&[2, 2], 6.0),
        case(&[0, 0], 1.0),
        case(&[0, 2, 2], 1.0),
    ];
    let shapes: [&[usize]; 5] = [&[3, 3], &[1, 1], &[2, 2, 2], &[0, 0], &[0, 2, 2]];
    samples.extend(shapes.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![z::square(shape)], |x| Ok(vec![x[0].matrix_exp()?]))
            .reference(|x| {
                let a = z::blocks(&x[0], &x[1]);
                let n = a.shape[a.shape.len() - 1];
                vec![z::pairs(&per_matrix(&a, &[n, n], naive_exp))]
            })
            .tolerance(1e-11)
    }));
    samples
}

fn exp_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("rectangle", ErrorKind::Shape, "matrix_exp: expected square matrices, got f64[2,3]", || {
        sample_tensor(&[2, 3], 0.0, 1.0, 1).matrix_exp()
    })]
}

fn power_samples() -> Vec<Sample> {
    let case = |shape: &[usize], power: i64| {
        Sample::one(format!("{shape:?} to the {power}"), [super::naive::regular(shape, 1)], move |x| {
            x[0].matrix_power(power)
        })
        .reference(move |x| {
            let n = x[0].shape[x[0].shape.len() - 1];
            vec![per_matrix(&x[0], &[n, n], |a| naive_power(a, power))]
        })
    };
    let mut samples = vec![
        case(&[3, 3], 3),
        case(&[2, 2], 0),
        case(&[2, 2, 2], 1),
        case(&[2, 2], 6),
        case(&[2, 2], -2),
        case(&[0, 0], 2),
        case(&[0, 2, 2], -1),
    ];
    let shapes: [(&[usize], i64); 5] = [(&[3, 3], 3), (&[2, 2, 2], 1), (&[2, 2], -2), (&[0, 0], 2), (&[0, 2, 2], -1)];
    samples.extend(shapes.into_iter().map(|(shape, power)| {
        z::of_parts(format!("{shape:?} to the {power}"), vec![z::square(shape)], move |x| {
            Ok(vec![x[0].matrix_power(power)?])
        })
        .reference(move |x| {
            let a = z::blocks(&x[0], &x[1]);
            let n = a.shape[a.shape.len() - 1];
            vec![z::pairs(&per_matrix(&a, &[n, n], |a| naive_power(a, power)))]
        })
    }));
    samples
}

fn naive_power(a: &Naive, power: i64) -> Vec<f64> {
    let n = a.shape[0];
    let base = if power < 0 { super::naive::inverse(a) } else { a.data.clone() };
    let base = Naive { shape: vec![n, n], data: base };
    let mut out = Naive::from_fn(&[n, n], |i| f64::from(u8::from(i[0] == i[1])));
    for _ in 0..power.abs() {
        out = product(&out, &base);
    }
    out.data
}

fn power_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("rectangle", ErrorKind::Shape, "matrix_power: expected square matrices", || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).matrix_power(2)
        }),
        ErrorSample::new("singular", ErrorKind::Value, "matrix_power: expected regular matrices", || {
            Tensor::from([[1.0, 1.0], [1.0, 1.0]]).matrix_power(-1)
        }),
        ErrorSample::new("complex", ErrorKind::Value, "matrix_power: expected regular matrices, got c128[2,2]", || {
            Tensor::from([[1.0, 1.0], [1.0, 1.0]]).to_dtype(DType::C128)?.matrix_power(-1)
        }),
    ]
}

fn chain_samples() -> Vec<Sample> {
    let case = |shapes: &[&[usize]]| {
        let inputs: Vec<Tensor> =
            shapes.iter().enumerate().map(|(k, s)| sample_tensor(s, -1.0, 1.0, k as u64 + 1)).collect();
        Sample::one(format!("{shapes:?}"), inputs, |x| chain(&x.iter().collect::<Vec<_>>())).reference(|x| {
            let mut all = x.to_vec();
            let last = all.len() - 1;
            if x[last].shape.len() == 1 {
                all[last].shape.push(1);
            }
            if x[0].shape.len() == 1 {
                all[0].shape.insert(0, 1);
            }
            let mut out = all[1..].iter().fold(all[0].clone(), |a, b| product(&a, b));
            if x[last].shape.len() == 1 {
                out.shape.pop();
            }
            if x[0].shape.len() == 1 {
                out.shape.remove(0);
            }
            vec![out]
        })
    };
    vec![
        case(&[&[2, 3], &[3, 1], &[1, 4]]),
        case(&[&[3], &[3, 2], &[2, 2], &[2]]),
        case(&[&[2, 2], &[2]]),
        case(&[&[2, 0], &[0, 3], &[3, 1]]),
    ]
}

fn chain_errors() -> Vec<ErrorSample> {
    let x = |shape: &[usize]| sample_tensor(shape, 0.0, 1.0, 1);
    vec![
        ErrorSample::new("one", ErrorKind::Arity, "multi_dot: expected at least two tensors, got 1", move || {
            chain(&[&x(&[2, 2])])
        }),
        ErrorSample::new(
            "sizes",
            ErrorKind::Shape,
            "multi_dot: inner dimensions must match, got f64[3,2] for tensor 1",
            move || chain(&[&x(&[2, 2]), &x(&[3, 2])]),
        ),
        ErrorSample::new(
            "rank",
            ErrorKind::Shape,
            "multi_dot: expected matrices, or vectors as the first",
            move || chain(&[&x(&[2, 2]), &x(&[2]), &x(&[2, 2])]),
        ),
    ]
}
