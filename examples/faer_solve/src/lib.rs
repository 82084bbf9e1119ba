//! Systems of linear equations, solved by [faer](https://docs.rs/faer) and differentiated implicitly.
//!
//! What it shows about operations of your own:
//! - `forward` hands raw slices to another library, which knows nothing of derivatives;
//! - the derivative of `X = A⁻¹B` follows from the equation `A·X = B` and not from the steps of the algorithm. Every rule
//!   is a solve again, so derivatives of every order exist and are exact;
//! - work that `forward` did, here the factorisation, travels to the rules as [`Static`] saved state;
//! - the hand-written batching rule turns right-hand sides of all lanes into columns of one system.

mod lu;

use std::sync::{Arc, Mutex, PoisonError};

use pullback::{
    Context, Cotangent, DType, Dims, Error, ErrorKind, Function, Result, Static, Tangent, Tensor, TensorType, VmapInfo,
};

use crate::lu::Factors;
pub use crate::lu::factorisations;

/// The solution `X` of `A·X = B`; see [`Solve`].
///
/// # Example
/// ```
/// use faer_solve::solve;
/// use pullback::{Tensor, grad};
///
/// let a = Tensor::from([[2.0, 1.0], [1.0, 3.0]]);
/// let b = Tensor::from([5.0, 10.0]);
/// assert_eq!(solve(&a, &b)?.to_vec::<f64>()?, [1.0, 3.0]);
/// // The sum of the solution changes with `b` by A⁻ᵀ·(1, 1).
/// let slope = grad(|b: &Tensor| solve(&a, b)?.sum())(&b)?;
/// assert!(slope.allclose(&Tensor::from([0.4, 0.2]), 1e-12, 0.0)?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    Solve::new().apply(&(a.clone(), b.clone()))
}

/// `(A, B) ↦ X` with `A·X = B`, by a factorisation `P·A = L·U` with row exchanges.
///
/// A `Solve` remembers the last matrix that it factorised, so further systems with an equal matrix cost only the
/// substitution. Clones share what they remember.
///
/// # Shapes
/// `A: [.., n, n]` and `B: [.., n, k]` with the same leading dimensions, or `A: [n, n]` and a vector `B: [n]`. The result
/// has the shape of `B`.
///
/// # Dtypes
/// `f32` or `f64`, the same for both.
///
/// # Derivative
/// From `dA·X + A·dX = dB`: forward mode solves `A·dX = dB - dA·X`. Reverse mode solves `Aᵀ·gB = g`, and
/// `gA = -gB·Xᵀ`. Both use the factorisation of `forward`.
///
/// # Batching
/// Lanes that share `A` become columns of one system: one factorisation serves them all. Otherwise there is one
/// factorisation for each lane.
///
/// # Errors
/// `Shape` and `Dtype` for other arguments; `Value` for a matrix that has no inverse in the precision of its dtype, or
/// elements that are not finite.
#[derive(Clone, Default)]
pub struct Solve {
    /// Solves with the transpose of `A` instead.
    transposed: bool,
    memory: Arc<Mutex<Option<Arc<Factors>>>>,
}

impl Solve {
    /// A solver that remembers nothing yet.
    pub fn new() -> Solve {
        Solve::default()
    }

    /// The last factorisation.
    fn remembered(&self) -> Option<Arc<Factors>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The factorisation of `a`: the one that is remembered, if it is of this matrix.
    fn factors(&self, a: &Tensor) -> Result<Arc<Factors>> {
        if let Some(known) = self.remembered()
            && known.are_of(a)?
        {
            return Ok(known);
        }
        let new = Arc::new(Factors::of(a)?);
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(new.clone());
        Ok(new)
    }

    /// The solver that a rule uses: with the factorisation of its call, which others may have replaced meanwhile.
    fn again(&self, factors: &Kept, transposed: bool) -> Solve {
        Solve { transposed, memory: Arc::new(Mutex::new(factors.0.clone())) }
    }
}

/// What a call keeps besides tensors; `None` if there was nothing to solve.
type Kept = Static<Option<Arc<Factors>>>;

impl Function for Solve {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    /// The matrix, the solution and the factorisation. The tensors are values of the level that differentiates, so
    /// outer levels see how they depend on things; the factorisation is only a faster way to the same numbers.
    type Saved = (Tensor, Tensor, Kept);

    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        check(&a.ty(), &b.ty())?;
        if b.numel() == 0 {
            return Ok(b.clone());
        }
        self.factors(a)?.solve(b, self.transposed)
    }

    fn setup_context(&self, _: &mut Context<Self>, (a, b): &(Tensor, Tensor), x: &Tensor) -> Result<Self::Saved> {
        let factors = if b.numel() == 0 { None } else { self.remembered() };
        Ok((a.clone(), x.clone(), Static(factors)))
    }

    fn backward(
        &self,
        ctx: &Context<Self>,
        (a, x, factors): &Self::Saved,
        g: Cotangent,
    ) -> Result<(Cotangent, Cotangent)> {
        let inverse = self.again(factors, !self.transposed);
        let gb = g.map(|g| inverse.apply(&(a.clone(), g.clone())))?;
        let needs_a = ctx.needs_input_grad().0;
        let ga = match &gb {
            gb if !needs_a || gb.is_zero() => Cotangent::zero(),
            gb if self.transposed => gb.map(|gb| outer(x, gb)?.neg())?,
            gb => gb.map(|gb| outer(gb, x)?.neg())?,
        };
        Ok((ga, gb))
    }

    fn jvp(&self, _: &Context<Self>, (a, x, factors): &Self::Saved, (da, db): (Tangent, Tangent)) -> Result<Tangent> {
        let moved = da.map(|da| if self.transposed { da.transpose(-2, -1)?.matmul(x) } else { da.matmul(x) })?;
        let inverse = self.again(factors, self.transposed);
        (db - moved).map(|rhs| inverse.apply(&(a.clone(), rhs.clone())))
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        (a_dim, b_dim): Dims<(Tensor, Tensor)>,
        (a, b): &(Tensor, Tensor),
    ) -> Result<(Tensor, Option<usize>)> {
        let lane = lane_type(b, b_dim);
        check(&lane_type(a, a_dim), &lane)?;
        let is_vector = lane.shape.len() == 1;
        let front = |t: &Tensor, dim: Option<usize>| match dim {
            Some(d) => t.movedim(&[d as isize], &[0]),
            None => {
                let repeated = [&[info.batch_size], t.shape()].concat();
                t.unsqueeze(0)?.expand(&repeated)
            }
        };
        match (a_dim, b_dim) {
            // One matrix for all lanes: their right-hand sides are columns, of which `x` has as many.
            (None, Some(d)) if is_vector => {
                let columns = b.movedim(&[d as isize], &[1])?;
                Ok((self.apply(&(a.clone(), columns))?, Some(1)))
            }
            (None, Some(d)) => {
                let columns = b.movedim(&[d as isize], &[-2])?;
                let (n, k) = (info.batch_size as isize, lane.shape[lane.shape.len() - 1] as isize);
                let x = self.apply(&(a.clone(), columns.flatten(-2, -1)?))?.unflatten(-1, &[n, k])?;
                let lanes = x.rank() - 2;
                Ok((x, Some(lanes)))
            }
            _ if is_vector => {
                let columns = front(b, b_dim)?.unsqueeze(-1)?;
                Ok((self.apply(&(front(a, a_dim)?, columns))?.squeeze(-1)?, Some(0)))
            }
            _ => Ok((self.apply(&(front(a, a_dim)?, front(b, b_dim)?))?, Some(0))),
        }
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}

/// `a·bᵀ` of matrices, and the outer product of vectors.
fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match a.rank() {
        1 => a.unsqueeze(1)?.mul(&b.unsqueeze(0)?),
        _ => a.matmul(&b.transpose(-2, -1)?),
    }
}

/// The type that a lane sees.
fn lane_type(t: &Tensor, dim: Option<usize>) -> TensorType {
    let mut ty = t.ty();
    if let Some(dim) = dim {
        ty.shape.remove(dim);
    }
    ty
}

/// An error unless the arguments are a system of equations.
fn check(a: &TensorType, b: &TensorType) -> Result<()> {
    let square = matches!(a.shape.as_slice(), [.., n, m] if n == m);
    if !square {
        return Err(Error::new(ErrorKind::Shape, format!("expected a square matrix [.., n, n], got {a}")));
    }
    let fits = match b.shape.as_slice() {
        [n] => a.shape.len() == 2 && a.shape[0] == *n,
        [rows @ .., _] => matches!(a.shape.as_slice(), [own @ .., _] if own == rows),
        [] => false,
    };
    if !fits {
        let message = format!("expected a right-hand side [n] or [.., n, k] for the matrix {a}, got {b}");
        return Err(Error::new(ErrorKind::Shape, message)
            .with_help("rows and leading dimensions must be those of the matrix; use `expand` for others"));
    }
    if !matches!(a.dtype, DType::F32 | DType::F64) || a.dtype != b.dtype {
        let message = format!("expected two f32 or two f64 tensors, got {a} and {b}");
        return Err(Error::new(ErrorKind::Dtype, message).with_help("convert them with `to_dtype`"));
    }
    Ok(())
}
