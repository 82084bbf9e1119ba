//! Which method solves the linear systems that derivatives need.

use std::sync::Arc;

use super::flat::Flat;
use super::lanes::Solver;
use super::operator::matrix;
use super::{krylov, lu};
use crate::function::Batching;
use crate::{DType, Function, Result, Tensor, Tree, error::bail};

/// The method for the linear systems of a derivative, with its options.
///
/// | method | for | needs |
/// |---|---|---|
/// | [`dense`](LinearSolver::dense), the default | up to some hundred unknowns, any matrix | a matrix: `n` products at once, and `n³` steps |
/// | [`cg`](LinearSolver::cg) | many unknowns, symmetric and positive definite | products |
/// | [`gmres`](LinearSolver::gmres) | many unknowns, any matrix | products |
///
/// A system that has no solution, or that the method does not find within its iterations, is an error of kind `Value`. Under
/// `vmap` so it is if any lane has such a system, as in a loop over the lanes; [`nan_on_failure`](LinearSolver::nan_on_failure)
/// makes it NaN for the lanes that fail. Lanes never influence each other. NaN and infinities in a system give NaN.
///
/// All work in `f64` inside, also for a system of `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearSolver {
    method: Method,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    restart: usize,
    failure: Failure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Dense,
    Cg,
    Gmres,
}

/// What becomes of a system that has no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Error,
    Nan,
}

/// Dense.
impl Default for LinearSolver {
    fn default() -> LinearSolver {
        LinearSolver::dense()
    }
}

impl LinearSolver {
    fn new(method: Method) -> LinearSolver {
        LinearSolver { method, tolerance: None, max_iterations: None, restart: 50, failure: Failure::Error }
    }

    /// Makes a matrix of the system, and eliminates with pivots. All lanes of a `vmap` get their matrices at once.
    pub fn dense() -> LinearSolver {
        LinearSolver::new(Method::Dense)
    }

    /// Conjugate gradients. A matrix that turns out not to be positive definite is an error.
    ///
    /// # Source
    /// M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
    pub fn cg() -> LinearSolver {
        LinearSolver::new(Method::Cg)
    }

    /// The generalised minimal residual method, restarted every 50 iterations.
    ///
    /// # Source
    /// Y. Saad and M. H. Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear
    /// systems", 1986.
    pub fn gmres() -> LinearSolver {
        LinearSolver::new(Method::Gmres)
    }

    /// An iterative method stops when the residual is smaller than this, relative to the right-hand side. Without it 1e-11 for
    /// systems of `f64`, and 1e-5 for `f32`.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> LinearSolver {
        self.tolerance = Some(tolerance);
        self
    }

    /// An iterative method gives up after this many products. Without it ten times the number of unknowns, at least 100.
    #[must_use]
    pub fn max_iterations(mut self, n: usize) -> LinearSolver {
        self.max_iterations = Some(n);
        self
    }

    /// GMRES starts again after this many iterations; it keeps as many vectors.
    #[must_use]
    pub fn restart(mut self, n: usize) -> LinearSolver {
        self.restart = n;
        self
    }

    /// A system without a solution gives NaN instead of an error.
    ///
    /// ```
    /// use pullback::implicit::{LinearSolver, Root};
    /// use pullback::{Function, Tensor, grad, vmap};
    /// let root = Root::new(
    ///     |a: &Tensor, x: &Tensor| x.square()?.sub(a),
    ///     |a: &Tensor| a.sqrt(),
    /// );
    /// // The square root has no derivative at 0.
    /// let a = Tensor::from([4.0, 0.0]);
    /// assert!(vmap(grad(|a: &Tensor| root.apply(a)))(&a).is_err());
    /// let root = root.linear_solver(LinearSolver::dense().nan_on_failure());
    /// let slopes = vmap(grad(|a: &Tensor| root.apply(a)))(&a)?.to_vec::<f64>()?;
    /// assert!(slopes[0] == 0.25 && slopes[1].is_nan());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    pub fn nan_on_failure(mut self) -> LinearSolver {
        self.failure = Failure::Nan;
        self
    }

    /// Solves `product(p, x) = b` for values without derivatives, which may have lanes.
    pub(super) fn solve<P: Tree, X: Tree>(
        self,
        product: impl Fn(&P, &X) -> Result<X> + Clone + Send + Sync + 'static,
        p: &P,
        b: &X,
    ) -> Result<X> {
        let flat = Flat::of(b);
        if flat.n == 0 {
            return Ok(b.clone());
        }
        if self.method == Method::Dense {
            let a = matrix(|v: &X| product(p, v), b, &flat)?;
            let elimination = Solver {
                name: "dense".into(),
                body: Arc::new(move |(a, b): &(Tensor, Tensor)| lu::solve(a, b, self.failure)),
                typical: None,
                // The matrices of all lanes at once, and one for all of them where they share it.
                batching: Batching::Expand,
            };
            return flat.split(&elimination.apply(&(a, flat.join(b)?))?, b);
        }
        let solver = Solver {
            name: if self.method == Method::Cg { "cg" } else { "gmres" }.into(),
            body: Arc::new(move |(p, b): &(P, X)| self.iterate(|v: &X| product(p, v), b)),
            typical: Some(Arc::new(|(_, b): &(P, X)| Ok(b.clone()))),
            batching: Batching::Loop,
        };
        solver.apply(&(p.clone(), b.clone()))
    }

    /// An iterative method, on values whose data can be read.
    fn iterate<X: Tree>(self, product: impl Fn(&X) -> Result<X>, b: &X) -> Result<X> {
        let flat = Flat::of(b);
        let product = |v: &[f64]| {
            let v = Tensor::from_slice(v, &[flat.n])?.to_dtype(flat.dtype)?;
            flat.join(&product(&flat.split(&v, b)?)?)?.to_dtype(DType::F64)?.to_vec::<f64>()
        };
        let limits = krylov::Limits {
            tolerance: self.tolerance.unwrap_or(if flat.dtype == DType::F32 { 1e-5 } else { 1e-11 }),
            max_iterations: self.max_iterations.unwrap_or((10 * flat.n).max(100)),
        };
        if !(limits.tolerance.is_finite() && limits.tolerance > 0.0) {
            bail!(Value, "expected a positive, finite `tolerance`, got {}", limits.tolerance);
        }
        if self.restart == 0 {
            bail!(Value, "expected `restart` to be at least 1, got 0");
        }
        let b_flat = flat.join(b)?.to_dtype(DType::F64)?.to_vec::<f64>()?;
        let x = match self.method {
            Method::Cg => krylov::cg(&product, &b_flat, &limits),
            _ => krylov::gmres(&product, &b_flat, self.restart, &limits),
        }?;
        let x = match (x, self.failure) {
            (Ok(x), _) => x,
            (Err(_), Failure::Nan) => vec![f64::NAN; flat.n],
            (Err(why), Failure::Error) => {
                bail!(Value, "expected a linear system that can be solved, got {why}"; help = "a system of some hundred \
                    unknowns can use the solver `dense`; `tolerance` and `max_iterations` set when to stop, and \
                    `nan_on_failure` gives NaN instead of an error")
            }
        };
        flat.split(&Tensor::from_slice(&x, &[flat.n])?.to_dtype(flat.dtype)?, b)
    }
}
