//! Linear systems and inverses.

use smallvec::{SmallVec, smallvec};

use super::lu::Factor;
use super::naive::{inverse, per_matrix, product, regular};
use super::triangular::{check_fit, naive_lead, naive_pair};
use super::{MatrixOp, Slot, apply1, flipped, singular, square, times_flipped};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::lu as kernel;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The solutions `X` of `A X = B`, this tensor being the matrices `A`.
    ///
    /// For `X A = B` transpose both and the result. A matrix is taken apart once, for all derivatives.
    ///
    /// # Shapes
    /// Matrices `[.., n, n]` and right-hand sides `[.., n, m]`, whose leading dimensions broadcast. `B` is a vector if it has one
    /// dimension, or the shape of `A` without the last one; then so is the solution.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`. Complex systems are solved as real ones of twice the size.
    ///
    /// # Derivative
    /// `A⁻ᵀ g` for `B`, and `-A⁻ᵀ g Xᵀ` for `A`.
    ///
    /// # Errors
    /// `Shape` if the matrices are not square or shapes do not fit; `Value` for a matrix that is singular to working precision,
    /// with its number among many. NaN and infinity give NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let a = Tensor::from([[1.0, 2.0], [4.0, 4.0]]);
    /// assert_eq!(a.solve(&Tensor::from([5.0, 12.0]))?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Shapes are those of PyTorch's `linalg.solve`.
    fn solve(&self, b: &Tensor) -> Result<Tensor> = solve {
        samples: solve_samples, errors: solve_errors,
        python: solve(b as B)
    };

    /// The inverses of matrices. To solve a system, [`solve`](Tensor::solve) is faster and more accurate.
    ///
    /// # Shapes
    /// `[.., n, n]`, as is the result.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `-Yᵀ g Yᵀ` for the inverse `Y`.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square; `Value` for a matrix that is singular to working precision, with its number
    /// among many. NaN and infinity give NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).inv()?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 0.5, 1.0, -0.25]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn inv(&self) -> Result<Tensor> = inv {
        samples: inv_samples, errors: inv_errors,
        python: inv(), python: inverse()
    };
}

/// Solutions from the factors of a matrix, which are constants: what is differentiated is the matrix.
#[derive(Clone, Debug)]
struct Solve {
    transposed: bool,
}

impl MatrixOp for Solve {
    /// The matrix, its factors, the order of its rows, and the right-hand side.
    const CORES: &'static [usize] = &[2, 2, 1, 2];
    const SAVED: &'static [Slot] = &[Slot::In(0), Slot::In(1), Slot::In(2), Slot::Out(0)];

    fn name(&self) -> &'static str {
        "solve"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let [lu, order, b] = [x[1], x[2], x[3]];
        let x = dispatch!(b.dtype(), "solve", float, T => Ok(kernel::solve::<T>(lu, order, b, self.transposed)))?;
        Ok(smallvec![x])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let [a, lu, order, x] = [&saved[0], &saved[1], &saved[2], &saved[3]];
        let of_a = t[0].map(|t| if self.transposed { flipped(t)?.matmul(x) } else { t.matmul(x) })?;
        let sum = t[3].clone().plus(of_a.map(Tensor::neg)?)?;
        Ok(smallvec![sum.map(|t| apply1(self.clone(), &[a, lu, order, t]))?])
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let [a, lu, order, x] = [&saved[0], &saved[1], &saved[2], &saved[3]];
        let other = Solve { transposed: !self.transposed };
        let of_b = g[0].map(|g| apply1(other, &[a, lu, order, g]))?;
        let of_a = match of_b.as_tensor() {
            Some(g) if needs[0] => {
                let product = if self.transposed { times_flipped(x, g)? } else { times_flipped(g, x)? };
                product.neg()?.into()
            }
            _ => Cotangent::zero(),
        };
        Ok([of_a, Cotangent::zero(), Cotangent::zero(), of_b].into_iter().collect())
    }
}

/// An error for matrices that are singular to working precision, with factors to check; it hands the factors on.
#[derive(Clone, Debug)]
struct Regular;

impl MatrixOp for Regular {
    const CORES: &'static [usize] = &[2, 2, 1];
    const SAVED: &'static [Slot] = &[];
    const DIFFERENTIABLE: bool = false;

    fn name(&self) -> &'static str {
        "solve"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let checked =
            dispatch!(x[0].dtype(), "solve", float, T => Ok(kernel::check_regular::<T>(x[0], x[1], x[2], false)))?;
        match checked {
            Ok(()) => Ok(smallvec![x[1].clone()]),
            Err(stop) => Err(singular("solve", x[0], &x[0].shape()[..x[0].rank() - 2], stop)),
        }
    }

    fn tangents(&self, _: &[Tensor], _: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![Tangent::zero()])
    }

    fn cotangents(&self, _: &[Tensor], needs: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        Ok(needs.iter().map(|_| Cotangent::zero()).collect())
    }
}

fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype().is_complex() || b.dtype().is_complex() {
        return super::complex::solve(a, b);
    }
    super::common(a, b, |a, b| {
        let a = square("solve", a)?;
        let vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape() == &a.shape()[..a.rank() - 1]);
        let columns = if vector { b.unsqueeze(-1)? } else { b.clone() };
        check_fit("solve", &a, &columns)?;
        let constant = a.detach()?;
        let (lu, order) = Factor { of: "solve" }.of(&constant)?;
        let lu = apply1(Regular, &[&constant, &lu, &order])?;
        let x = apply1(Solve { transposed: false }, &[&a, &lu, &order, &columns])?;
        if vector { x.squeeze(-1) } else { Ok(x) }
    })
}

/// The inverse, for the operation that needs it.
#[derive(Clone, Debug)]
pub(super) struct Inverse {
    pub(super) of: &'static str,
    /// Whether rows have one unit, so that a small one is no matter of units.
    unit: bool,
}

impl Inverse {
    pub(super) fn of(name: &'static str) -> Inverse {
        Inverse { of: name, unit: false }
    }

    #[cfg(feature = "linalg")]
    pub(super) fn of_basis(name: &'static str) -> Inverse {
        Inverse { of: name, unit: true }
    }
}

impl MatrixOp for Inverse {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let a = x[0];
        let (lead, n) = (&a.shape()[..a.rank() - 2], a.shape()[a.rank() - 1]);
        let ones = Tensor::eye(n, a.dtype())?;
        let inverse = dispatch!(a.dtype(), self.of, float, T => {
            let (lu, order) = kernel::factor::<T>(a);
            Ok(kernel::check_regular::<T>(a, &lu, &order, self.unit)
                .map(|()| kernel::solve::<T>(&lu, &order, ones.concrete(), false)))
        })?;
        match inverse {
            Ok(inverse) => Ok(smallvec![inverse]),
            Err(stop) => Err(singular(self.of, a, lead, stop)),
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let y = &saved[0];
        Ok(smallvec![t[0].map(|t| y.matmul(t)?.matmul(y)?.neg())?])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let y = flipped(&saved[0])?;
        Ok(smallvec![g[0].map(|g| y.matmul(g)?.matmul(&y)?.neg())?])
    }
}

/// The inverses of real or complex matrices, for the operation that needs them.
pub(super) fn inverse_of(name: &'static str, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { super::complex::inv(name, x) } else { apply1(Inverse::of(name), &[x]) }
}

fn inv(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return super::complex::inv("inv", x);
    }
    super::widened(x, |x| apply1(Inverse::of("inv"), &[&square("inv", x)?]))
}

/// Solutions by naive inverses; leading dimensions broadcast.
pub(super) fn naive_solve(a: &Naive, b: &Naive) -> Naive {
    let lead = naive_lead(a, b);
    let mut data = Vec::new();
    for k in 0..lead.iter().product() {
        let (a, b) = naive_pair(a, b, k);
        let inverse = Naive { shape: a.shape.clone(), data: inverse(&a) };
        data.extend(product(&inverse, &b).data);
    }
    Naive { shape: [&lead[..], &b.shape[b.shape.len() - 2..]].concat(), data }
}

fn solve_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize], vector: bool| {
        let inputs = [regular(a, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}"), inputs, |x| x[0].solve(&x[1])).reference(move |x| {
            let mut b = x[1].clone();
            if vector {
                b.shape.push(1);
            }
            let mut y = naive_solve(&x[0], &b);
            if vector {
                y.shape.pop();
            }
            vec![y]
        })
    };
    vec![
        case(&[3, 3], &[3, 2], false),
        case(&[3, 3], &[3], true),
        case(&[2, 2, 2], &[2, 2], true),
        case(&[2, 2], &[3, 2, 2], false),
        case(&[2, 1, 2, 2], &[3, 2, 1], false),
        case(&[0, 0], &[0, 2], false),
        case(&[0, 2, 2], &[2, 1], false),
        case(&[27, 27], &[27, 2], false).tolerance(1e-9),
    ]
}

fn solve_errors() -> Vec<ErrorSample> {
    let call =
        |label: &str, kind, message, a: Tensor, b: Tensor| ErrorSample::new(label, kind, message, move || a.solve(&b));
    let x = |shape: &[usize]| sample_tensor(shape, 1.0, 2.0, 1);
    vec![
        call("matrices", ErrorKind::Shape, "solve: expected square matrices, got f64[2,3]", x(&[2, 3]), x(&[2])),
        call(
            "rows",
            ErrorKind::Shape,
            "solve: expected as many rows as the matrices f64[2,2] have, got f64[3,1] (2 vs 3)",
            x(&[2, 2]),
            x(&[3]),
        ),
        call(
            "singular",
            ErrorKind::Value,
            "solve: expected regular matrices, got f64[2,2,2] with one that is singular to working precision (matrix 1 of 2): \
            nothing is left to divide by in step 1",
            Tensor::from([[[2.0, 0.0], [0.0, 4.0]], [[0.1, 0.3], [0.3, 0.9]]]),
            x(&[2]),
        ),
    ]
}

fn inv_samples() -> Vec<Sample> {
    let shapes: [&[usize]; 5] = [&[3, 3], &[1, 1], &[2, 2, 2], &[0, 0], &[0, 2, 2]];
    shapes
        .iter()
        .map(|&shape| {
            Sample::one(format!("{shape:?}"), [regular(shape, 1)], |x| x[0].inv()).reference(|x| {
                let n = x[0].shape[x[0].shape.len() - 1];
                vec![per_matrix(&x[0], &[n, n], inverse)]
            })
        })
        .collect()
}

fn inv_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("singular", ErrorKind::Value, "inv: expected regular matrices, got f64[1,1]", || {
        Tensor::from([[0.0]]).inv()
    })]
}
