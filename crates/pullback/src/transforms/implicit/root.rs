//! Roots and fixed points, differentiated through their equation.

use std::fmt;
use std::sync::Arc;

use super::flat::check_like;
use super::lanes::Solver;
use super::linear::LinearSolve;
use super::operator::Jacobian;
use super::search::{Search, fixed_point as iterate, newton};
use super::{Body, Equation, LinearSolver, materialize, negated, symbolic, zeros};
use crate::function::{Batching, Cotangents, Tangents, backward_through, collect, jvp_through};
use crate::{Context, Function, Result, Tree};

/// The root `x` of `f(p, x) = 0` that `solve(p)` finds, as a function of the parameters `p`.
///
/// `f` returns a residual like `x`, a tree of floats, and is written in tensor operations. `solve` runs on values without derivatives
/// and may do anything. It is trusted: that the residual is small is not checked, and an `x` that is not finite is passed on.
/// [`Root`] is the long form, with more options, and with a solver of its own.
///
/// # Derivative
/// By the implicit function theorem, `∂f/∂x·dx = -∂f/∂p·dp` at the solution. The solver has no influence on it.
///
/// # Batching
/// `solve` runs once for each lane, unless [`Root::batching`] says otherwise; all derivatives are computed for all lanes at once.
///
/// # Errors
/// Whatever the closures report; `Arity`, `Shape` or `Dtype` if the residual is not like `x`; from derivatives also `Value`
/// where `∂f/∂x` has no inverse, and `ConcreteValueNeeded` if `f` reads raw data; `CapturedTracer` if a closure uses a captured
/// tensor that a transform is working on (it belongs to the parameters).
///
/// # Source
/// The interface follows `custom_root` of JAX, with the parameters as an argument.
///
/// # Example
/// Where two curves meet, with both derivatives of the place by both parameters:
/// ```
/// use pullback::{Tensor, hessian, implicit, jacrev};
///
/// type Pair = (Tensor, Tensor);
/// let meet = implicit::root(
///     // y = x² + a and y = b
///     |(a, b): &Pair, (x, y): &Pair| Ok((y.sub(&x.square()?)?.sub(a)?, y.sub(b)?)),
///     |(a, b): &Pair| {
///         let (a, b) = (a.item::<f64>()?, b.item::<f64>()?);
///         Ok((Tensor::from((b - a).sqrt()), Tensor::from(b)))
///     },
/// );
/// let p = (Tensor::from(1.0), Tensor::from(5.0));
/// let (dx, dy) = jacrev(&meet)(&p)?;
/// assert_eq!((dx.0.item::<f64>()?, dx.1.item::<f64>()?), (-0.25, 0.25));
/// assert_eq!((dy.0.item::<f64>()?, dy.1.item::<f64>()?), (0.0, 1.0));
/// let bend = hessian(|p: &Pair| Ok(meet(p)?.0))(&p)?;
/// assert_eq!(bend.0.1.item::<f64>()?, 0.03125);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn root<P: Tree, X: Tree>(
    f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
    solve: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
) -> impl Fn(&P) -> Result<X> + Clone + Send + Sync + 'static {
    Root::new(f, solve).into_fn()
}

/// The fixed point `x = f(p, x)` that `solve(p)` finds, as a function of the parameters `p`.
///
/// As [`root`] of `f(p, x) - x`, with the same conditions and errors. Without a `solve`, [`Root::iterate`] applies
/// `f` until nothing changes.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad, implicit};
/// // x = cos(p·x)
/// let point = implicit::fixed_point(
///     |p: &Tensor, x: &Tensor| p.mul(x)?.cos(),
///     |p: &Tensor| {
///         let p = p.item::<f64>()?;
///         Ok(Tensor::from((0..200).fold(1.0f64, |x, _| (p * x).cos())))
///     },
/// );
/// let p = Tensor::from(0.5);
/// let x = point(&p)?.item::<f64>()?;
/// let sine = (0.5 * x).sin();
/// let slope = -x * sine / (1.0 + 0.5 * sine);
/// assert!((grad(&point)(&p)?.item::<f64>()? - slope).abs() < 1e-14);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn fixed_point<P: Tree, X: Tree>(
    f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
    solve: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
) -> impl Fn(&P) -> Result<X> + Clone + Send + Sync + 'static {
    Root::fixed_point(f, solve).into_fn()
}

/// The solution of an equation as a [`Function`] of its parameters; the long form of [`root`] and [`fixed_point`].
///
/// # Example
/// Kepler's equation `x - e·sin x = m`, solved by Newton's method for many times `m` at once:
/// ```
/// use pullback::implicit::Root;
/// use pullback::{Function, Tensor, Vmap, grad};
///
/// let place = Root::newton(
///     |(m, e): &(Tensor, Tensor), x: &Tensor| x.sub(&x.sin()?.mul(e)?)?.sub(m),
///     |(m, _): &(Tensor, Tensor)| Ok(m.clone()), // where the search starts
/// );
/// let (times, e) = (Tensor::from([0.5, 1.0, 3.0]), Tensor::from(0.6));
/// let at = |m: &Tensor| place.apply(&(m.clone(), e.clone()));
/// let (x, speed) = (Vmap::new().of(at)(&times)?, Vmap::new().of(grad(at))(&times)?);
/// let want = 1.0 / (1.0 - x.cos()? * &e);
/// assert!(speed.allclose(&want, 1e-12, 1e-12)?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct Root<P: Tree, X: Tree> {
    residual: Equation<P, X>,
    solve: Solve<P, X>,
    solver: LinearSolver,
    search: Search,
    batching: Batching,
    name: Arc<str>,
}

/// How solutions are found.
enum Solve<P: Tree, X: Tree> {
    Given(Body<P, X>),
    Newton(Body<P, X>),
    /// The map whose fixed point is sought, and where to start.
    Iterate(Equation<P, X>, Body<P, X>),
}

impl<P: Tree, X: Tree> Clone for Solve<P, X> {
    fn clone(&self) -> Self {
        match self {
            Solve::Given(solve) => Solve::Given(solve.clone()),
            Solve::Newton(start) => Solve::Newton(start.clone()),
            Solve::Iterate(map, start) => Solve::Iterate(map.clone(), start.clone()),
        }
    }
}

impl<P: Tree, X: Tree> Clone for Root<P, X> {
    fn clone(&self) -> Self {
        Root { residual: self.residual.clone(), solve: self.solve.clone(), name: self.name.clone(), ..*self }
    }
}

impl<P: Tree, X: Tree> fmt::Debug for Root<P, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("name", &self.name).field("linear_solver", &self.solver).finish_non_exhaustive()
    }
}

/// `f(p, x) - x`
fn difference<P: Tree, X: Tree>(map: Equation<P, X>) -> Equation<P, X> {
    Arc::new(move |p, x| {
        let next = map(p, x)?;
        check_like("a next value", x, &next)?;
        next.zip_with(x, |next, x| next.sub(x))
    })
}

impl<P: Tree, X: Tree> Root<P, X> {
    /// How many hold the functions that were given; it grows while a recorded operation does. For bindings whose collector must know.
    #[doc(hidden)]
    pub fn holders(&self) -> usize {
        let solve = match &self.solve {
            Solve::Given(f) | Solve::Newton(f) => Arc::strong_count(f),
            Solve::Iterate(map, start) => Arc::strong_count(map) + Arc::strong_count(start),
        };
        Arc::strong_count(&self.residual) + solve
    }

    fn of(residual: Equation<P, X>, solve: Solve<P, X>, name: &str) -> Root<P, X> {
        let (solver, search) = (LinearSolver::default(), Search::default());
        Root { residual, solve, solver, search, batching: Batching::Loop, name: name.into() }
    }

    /// The root of `f(p, x)` that `solve(p)` finds, as [`root`] describes.
    pub fn new(
        f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
        solve: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
    ) -> Root<P, X> {
        Root::of(Arc::new(f), Solve::Given(Arc::new(solve)), "root")
    }

    /// The fixed point of `f(p, x)` that `solve(p)` finds, as [`fixed_point`] describes.
    pub fn fixed_point(
        f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
        solve: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
    ) -> Root<P, X> {
        Root::of(difference(Arc::new(f)), Solve::Given(Arc::new(solve)), "fixed_point")
    }

    /// The root of `f(p, x)` that Newton's method finds from `start(p)`, with steps that are halved until the residual becomes
    /// smaller.
    ///
    /// `start` decides which root is found, and has no influence on derivatives. The steps are solutions of the same linear
    /// systems as derivatives.
    ///
    /// # Errors
    /// Of the function: `Value` if no root is found within [`max_iterations`](Root::max_iterations), or if a step is the solution
    /// of a system that has none.
    pub fn newton(
        f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
        start: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
    ) -> Root<P, X> {
        Root::of(Arc::new(f), Solve::Newton(Arc::new(start)), "root")
    }

    /// The fixed point of `f(p, x)` that is reached from `start(p)` by applying `f` until nothing changes.
    ///
    /// # Errors
    /// Of the function: `Value` if it does not come to rest within [`max_iterations`](Root::max_iterations).
    ///
    /// # Example
    /// ```
    /// use pullback::implicit::Root;
    /// use pullback::{Function, Tensor, grad, vmap};
    /// // The square root as the Babylonians found it.
    /// let sqrt = Root::iterate(|a: &Tensor, x: &Tensor| a.div(x)?.add(x)?.mul(0.5), |a: &Tensor| a.ones_like());
    /// let sqrt = |a: &Tensor| sqrt.apply(a);
    /// let a = Tensor::from([4.0, 1e6]);
    /// assert_eq!(vmap(sqrt)(&a)?.to_vec::<f64>()?, [2.0, 1000.0]); // 6 steps and 15
    /// assert_eq!(vmap(grad(sqrt))(&a)?.to_vec::<f64>()?, [0.25, 0.0005]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn iterate(
        f: impl Fn(&P, &X) -> Result<X> + Send + Sync + 'static,
        start: impl Fn(&P) -> Result<X> + Send + Sync + 'static,
    ) -> Root<P, X> {
        let map: Equation<P, X> = Arc::new(f);
        Root::of(difference(map.clone()), Solve::Iterate(map, Arc::new(start)), "fixed_point")
    }

    /// The name that messages use.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The method for the linear systems of derivatives, and of Newton's steps.
    #[must_use]
    pub fn linear_solver(mut self, solver: LinearSolver) -> Self {
        self.solver = solver;
        self
    }

    /// How the given `solve` is handed the lanes of a `vmap`. The searches of [`newton`](Root::newton) and
    /// [`iterate`](Root::iterate) go lane by lane.
    #[must_use]
    pub fn batching(mut self, batching: Batching) -> Self {
        self.batching = batching;
        self
    }

    /// [`newton`](Root::newton) and [`iterate`](Root::iterate) stop after a step that is no larger than this, where the largest
    /// element counts, relative to the larger of 1 and the largest element of `x`. Without it 1e-12 where everything is `f64`, and
    /// 1e-5 otherwise.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.search.tolerance = Some(tolerance);
        self
    }

    /// [`newton`](Root::newton) and [`iterate`](Root::iterate) give up after this many steps. Without it 100 and 1000.
    #[must_use]
    pub fn max_iterations(mut self, n: usize) -> Self {
        self.search.max_iterations = Some(n);
        self
    }

    /// The solution as a closure of the parameters, for the transforms.
    pub fn into_fn(self) -> impl Fn(&P) -> Result<X> + Clone + Send + Sync + 'static {
        move |p: &P| self.apply(p)
    }

    fn residual(&self, p: &P, x: &X) -> Result<X> {
        let residual = (self.residual)(p, x)?;
        check_like("a residual", x, &residual)?;
        Ok(residual)
    }

    /// The system with the matrix `∂f/∂x`.
    fn system(&self) -> LinearSolve<(P, X), X> {
        LinearSolve::of(Arc::new(Jacobian { residual: self.residual.clone() }), self.solver)
    }

    /// The solution for values whose data can be read.
    fn search(&self, p: &P) -> Result<X> {
        match &self.solve {
            Solve::Given(solve) => solve(p),
            Solve::Newton(start) => {
                let system = self.system();
                let step = |x: &X, residual: &X| system.apply(&((p.clone(), x.clone()), negated(residual)?));
                newton(|x: &X| self.residual(p, x), step, start(p)?, self.search)
            }
            Solve::Iterate(map, start) => iterate(|x: &X| map(p, x), start(p)?, self.search),
        }
    }
}

impl<P: Tree, X: Tree> Function for Root<P, X> {
    type Inputs = P;
    type Outputs = X;
    type Saved = (P, X);

    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, p: &P) -> Result<X> {
        let own = self.clone();
        let (name, typical, batching) = match &self.solve {
            Solve::Given(_) => ("solve", None, self.batching),
            Solve::Newton(start) => ("newton", Some(start.clone()), Batching::Loop),
            Solve::Iterate(_, start) => ("iterate", Some(start.clone()), Batching::Loop),
        };
        let solver = Solver { name: name.into(), body: Arc::new(move |p| own.search(p)), typical, batching };
        let x = solver.apply(p)?;
        // A residual that does not fit, or that captured a parameter, is noticed before a derivative is lost.
        self.residual(p, &x)?;
        Ok(x)
    }

    fn setup_context(&self, _: &mut Context<Self>, p: &P, x: &X) -> Result<(P, X)> {
        Ok((p.clone(), x.clone()))
    }

    fn backward(&self, ctx: &Context<Self>, (p, x): &(P, X), grads: Cotangents<X>) -> Result<Cotangents<P>> {
        let Some(g) = materialize(x, &grads)? else { return Ok(zeros(p)) };
        let multiplier = self.system().transpose().apply(&((p.clone(), x.clone()), negated(&g)?))?;
        let needs = collect::<P, bool>(ctx.needs_input_grad());
        backward_through::<P, X>(|p| self.residual(p, x), p, &needs, &symbolic(&multiplier))
    }

    fn jvp(&self, _: &Context<Self>, (p, x): &(P, X), tangents: Tangents<P>) -> Result<Tangents<X>> {
        let moved = jvp_through::<P, X>(|p| self.residual(p, x), p, &tangents)?;
        let Some(moved) = materialize(x, &moved)? else { return Ok(zeros(x)) };
        Ok(symbolic(&self.system().apply(&((p.clone(), x.clone()), negated(&moved)?))?))
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}
