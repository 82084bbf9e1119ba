//! Solutions of linear systems, differentiated through the system.

use std::fmt;
use std::sync::Arc;

use super::flat::{check_float, check_like};
use super::lanes::Solver;
use super::operator::{Operator, Products};
use super::{Body, Equation, LinearSolver, materialize, negated, symbolic, zeros};
use crate::function::{Batching, Cotangents, Tangents, backward_through, collect, jvp_through};
use crate::{Context, Function, Result, Tree};

/// The solution `x` of `A(p)·x = b`, where `A` is known by its products and `solve` finds solutions.
///
/// `matvec(p, x)` is the product `A(p)·x`, written in tensor operations and linear in `x`, with a result like `x`; `solve(p, b)` may
/// be anything. The function that comes out takes `(p, b)` to `x`. [`LinearSolve`] is the long form, which also
/// has solvers of its own, and can be told how to solve the transposed system.
///
/// # Derivative
/// `A·dx = db - dA·x` forward, by another solution. Reverse mode solves the transposed system, by a
/// [`LinearSolver`] unless [`LinearSolve::transpose_solve`] or [`LinearSolve::symmetric`] says how.
///
/// # Batching
/// One call of `solve` for each lane, unless [`LinearSolve::batching`] says otherwise.
///
/// # Errors
/// Whatever the closures report; `Arity`, `Shape` or `Dtype` if a product or a solution is not like `b`.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad, implicit, jvp};
///
/// // A diagonal matrix, and a solver that reads its elements.
/// let solve = implicit::linear_solve(
///     |d: &Tensor, x: &Tensor| d.mul(x),
///     |d: &Tensor, b: &Tensor| {
///         let (d, b) = (d.to_vec::<f64>()?, b.to_vec::<f64>()?);
///         Ok(Tensor::from(b.iter().zip(d).map(|(b, d)| b / d).collect::<Vec<_>>()))
///     },
/// );
/// let at = (Tensor::from([2.0, 4.0]), Tensor::from([1.0, 1.0]));
/// assert_eq!(solve(&at)?.to_vec::<f64>()?, [0.5, 0.25]);
/// let (dd, db) = grad(|at: &(Tensor, Tensor)| solve(at)?.sum())(&at)?;
/// assert_eq!((dd.to_vec::<f64>()?, db.to_vec::<f64>()?), (vec![-0.25, -0.0625], vec![0.5, 0.25]));
/// assert_eq!(jvp(&solve, &at, &at)?.1.to_vec::<f64>()?, [0.0, 0.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn linear_solve<P: Tree, X: Tree>(
    matvec: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
    solve: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
) -> impl Fn(&(P, X)) -> Result<X> + Clone + Send + Sync + 'static {
    LinearSolve::new(matvec).solve(solve).into_fn()
}

/// A linear system as a [`Function`] of its parameters and right-hand side; the long form of [`linear_solve`].
///
/// Without a solver of your own it has one, see [`LinearSolver`]: then only the product has to be written.
///
/// # Example
/// ```
/// use pullback::implicit::{LinearSolve, LinearSolver};
/// use pullback::{Function, Tensor, grad};
///
/// // Heat in a ring of 200 pieces that loses the share `p` of it: (2 + p)·x minus its neighbours.
/// let ring = LinearSolve::new(|p: &Tensor, x: &Tensor| {
///     let neighbours = x.roll(&[1], &[0])?.add(&x.roll(&[-1], &[0])?)?;
///     (p + 2.0).mul(x)?.sub(&neighbours)
/// })
/// .symmetric()
/// .linear_solver(LinearSolver::cg());
///
/// // Heated at one place. What comes in is what is lost, so the heat of all pieces is 1/p.
/// let source = Tensor::zeros(&[200], pullback::DType::F64)?.index_set(0, 1.0)?;
/// let heat = |p: &Tensor| ring.apply(&(p.clone(), source.clone()))?.sum();
/// let p = Tensor::from(0.5);
/// assert!((heat(&p)?.item::<f64>()? - 2.0).abs() < 1e-9);
/// assert!((grad(heat)(&p)?.item::<f64>()? + 4.0).abs() < 1e-9);
/// assert!((grad(grad(heat))(&p)?.item::<f64>()? - 16.0).abs() < 1e-8);
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct LinearSolve<P: Tree, X: Tree> {
    operator: Arc<dyn Operator<P, X>>,
    /// The given product, until it is known whether the matrix is symmetric.
    product: Option<Equation<P, X>>,
    symmetric: bool,
    solve: Option<Body<(P, X), X>>,
    transpose_solve: Option<Body<(P, X), X>>,
    solver: LinearSolver,
    batching: Batching,
    name: Arc<str>,
    /// Whether this is the transposed system.
    transposed: bool,
}

impl<P: Tree, X: Tree> Clone for LinearSolve<P, X> {
    fn clone(&self) -> Self {
        LinearSolve {
            operator: self.operator.clone(),
            product: self.product.clone(),
            solve: self.solve.clone(),
            transpose_solve: self.transpose_solve.clone(),
            name: self.name.clone(),
            ..*self
        }
    }
}

impl<P: Tree, X: Tree> fmt::Debug for LinearSolve<P, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (solver, given) = (self.solver, self.solve.is_some());
        f.debug_struct("LinearSolve").field("name", &self.name).field("solver", &solver).field("given", &given).finish()
    }
}

impl<P: Tree, X: Tree> LinearSolve<P, X> {
    /// How many hold the functions that were given; it grows while a recorded operation does. For bindings whose collector must know.
    #[doc(hidden)]
    pub fn holders(&self) -> usize {
        let solve = [&self.solve, &self.transpose_solve].into_iter().flatten().map(Arc::strong_count).sum::<usize>();
        Arc::strong_count(&self.operator) + self.product.as_ref().map_or(0, Arc::strong_count) + solve
    }

    /// The system whose matrix has the products `matvec(p, x)`.
    pub fn new(matvec: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static) -> LinearSolve<P, X> {
        let product: Equation<P, X> = Arc::new(matvec);
        LinearSolve {
            product: Some(product.clone()),
            ..LinearSolve::of(Arc::new(Products { product, symmetric: false }), LinearSolver::default())
        }
    }

    pub(super) fn of(operator: Arc<dyn Operator<P, X>>, solver: LinearSolver) -> LinearSolve<P, X> {
        LinearSolve {
            operator,
            product: None,
            symmetric: false,
            solve: None,
            transpose_solve: None,
            solver,
            batching: Batching::Loop,
            name: "linear_solve".into(),
            transposed: false,
        }
    }

    /// The name that messages use.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// How solutions are found: `solve(p, b)`, on values without derivatives, which may read raw data.
    #[must_use]
    pub fn solve(mut self, solve: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static) -> Self {
        self.solve = Some(Arc::new(move |(p, b)| solve(p, b)));
        self
    }

    /// How solutions of the transposed system `A(p)ᵀ·x = b` are found, for reverse mode.
    #[must_use]
    pub fn transpose_solve(mut self, solve: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static) -> Self {
        self.transpose_solve = Some(Arc::new(move |(p, b)| solve(p, b)));
        self
    }

    /// Promises that the matrix is symmetric: the transposed system is then solved as the system itself.
    #[must_use]
    pub fn symmetric(mut self) -> Self {
        if let Some(product) = &self.product {
            self.operator = Arc::new(Products { product: product.clone(), symmetric: true });
        }
        self.symmetric = true;
        self
    }

    /// The method for systems that no given closure solves.
    #[must_use]
    pub fn linear_solver(mut self, solver: LinearSolver) -> Self {
        self.solver = solver;
        self
    }

    /// How the given solvers are handed the lanes of a `vmap`.
    #[must_use]
    pub fn batching(mut self, batching: Batching) -> Self {
        self.batching = batching;
        self
    }

    /// The system as a closure of `(p, b)`, for the transforms.
    pub fn into_fn(self) -> impl Fn(&(P, X)) -> Result<X> + Clone + Send + Sync + 'static {
        move |inputs: &(P, X)| self.apply(inputs)
    }

    pub(super) fn transpose(&self) -> LinearSolve<P, X> {
        LinearSolve { transposed: !self.transposed && !self.symmetric, ..self.clone() }
    }

    /// The product with this matrix.
    fn product(&self, p: &P, x: &X) -> Result<X> {
        if self.transposed { self.operator.apply_transposed(p, x) } else { self.operator.apply(p, x) }
    }

    /// The given closure that solves this system.
    fn given(&self) -> Option<&Body<(P, X), X>> {
        if self.transposed { self.transpose_solve.as_ref() } else { self.solve.as_ref() }
    }
}

impl<P: Tree, X: Tree> Function for LinearSolve<P, X> {
    type Inputs = (P, X);
    type Outputs = X;
    type Saved = (P, X);

    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, inputs: &(P, X)) -> Result<X> {
        let (p, b) = inputs;
        check_float("b", b)?;
        let Some(given) = self.given().cloned() else {
            let system = self.clone();
            return self.solver.solve(move |p: &P, v: &X| system.product(p, v), p, b);
        };
        let solver = Solver {
            name: if self.transposed { "transpose_solve" } else { "solve" }.into(),
            body: given,
            typical: Some(Arc::new(|(_, b): &(P, X)| Ok(b.clone()))),
            batching: self.batching,
        };
        let x = solver.apply(inputs)?;
        check_like("a solution", b, &x)?;
        // A product that does not fit, or that captured what it should be given, is noticed before a derivative is wrong.
        self.product(p, &x)?;
        Ok(x)
    }

    fn setup_context(&self, _: &mut Context<Self>, (p, _): &(P, X), x: &X) -> Result<(P, X)> {
        Ok((p.clone(), x.clone()))
    }

    fn backward(&self, ctx: &Context<Self>, (p, x): &(P, X), grads: Cotangents<X>) -> Result<Cotangents<(P, X)>> {
        let Some(g) = materialize(x, &grads)? else {
            return Ok((zeros(p), zeros(x)));
        };
        let multiplier = self.transpose().apply(&(p.clone(), g))?;
        let needs = collect::<P, bool>(&ctx.needs_input_grad().0);
        let by_p = if needs.contains(&true) {
            let seeds = symbolic(&negated(&multiplier)?);
            backward_through::<P, X>(|p| self.product(p, x), p, &needs, &seeds)?
        } else {
            zeros(p)
        };
        Ok((by_p, symbolic(&multiplier)))
    }

    fn jvp(&self, _: &Context<Self>, (p, x): &(P, X), (dp, db): Tangents<(P, X)>) -> Result<Tangents<X>> {
        let db = materialize(x, &db)?;
        let moved = if collect::<P, _>(&dp).iter().any(|t| t.as_tensor().is_some()) {
            materialize(x, &jvp_through::<P, X>(|p| self.product(p, x), p, &dp)?)?
        } else {
            None
        };
        let right = match (db, moved) {
            (None, None) => return Ok(zeros(x)),
            (Some(db), None) => db,
            (None, Some(moved)) => negated(&moved)?,
            (Some(db), Some(moved)) => db.zip_with(&moved, |b, m| b.sub(m))?,
        };
        Ok(symbolic(&self.apply(&(p.clone(), right))?))
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}
