//! Roots of equations, differentiated implicitly.
//!
//! What it shows about operations of your own:
//! - a function that is generic over a closure of the user's and over the tree of its parameters;
//! - the derivative of `x(p)` where `f(x, p) = 0` follows from the equation, `∂f/∂x·dx + ∂f/∂p·dp = 0`, not from the steps of
//!   the iteration: it is exact, and costs one linear solve whatever the number of steps;
//! - a rule that uses transforms itself: it takes the Jacobian of the residual at the root with [`jacfwd`] and its pullback
//!   with [`vjp`], so that derivatives of every order and their batches exist;
//! - only reverse mode is written; forward mode is derived from it;
//! - lanes of a `vmap` need different numbers of steps, so its rule is the loop of [`rules::per_example`].

mod newton;

use std::marker::PhantomData;

use faer_solve::solve;
use pullback::function::rules;
use pullback::{
    Context, Cotangent, Cotangents, Dims, Error, ErrorKind, Function, Result, Tensor, Tree, VmapInfo, jacfwd, vjp,
};

/// The function whose root is sought: `(x, p) ↦ f(x, p)`, written in tensor operations, with results like `x`.
///
/// Tensors that the residual captures are constants; what is to be differentiated belongs to the parameters.
pub trait Residual<P: Tree>: Fn(&Tensor, &P) -> Result<Tensor> + Clone + Send + Sync + 'static {}
impl<P: Tree, R: Fn(&Tensor, &P) -> Result<Tensor> + Clone + Send + Sync + 'static> Residual<P> for R {}

/// `(guess, p) ↦ x` with `f(x, p) = 0`, by Newton's method from a guess.
///
/// # Shapes
/// `x` has the shape of the guess, which may be any. The parameters are a tree of floating-point tensors.
///
/// # Dtypes
/// `f32` or `f64`. The root is found to about the precision of the dtype.
///
/// # Derivative
/// By the implicit function theorem, `dx = -(∂f/∂x)⁻¹·∂f/∂p·dp`. The guess has no influence on the root, and so derivative 0.
///
/// # Batching
/// One lane after the other.
///
/// # Errors
/// `Value` if the iteration does not arrive at a root, or meets a Jacobian without an inverse; `Shape` or `Dtype` if the
/// residual is not like `x`; whatever the residual reports.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad};
/// use root_finder::Root;
///
/// // x² = p.
/// let root = Root::new(|x: &Tensor, p: &Tensor| x.square()?.sub(p));
/// let guess = Tensor::from(1.0);
/// let square_root = |p: &Tensor| root.find(&guess, p);
/// let p = Tensor::from(4.0);
/// assert!((square_root(&p)?.item::<f64>()? - 2.0).abs() < 1e-15);
/// assert!((grad(square_root)(&p)?.item::<f64>()? - 0.25).abs() < 1e-15);
/// assert!((grad(grad(square_root))(&p)?.item::<f64>()? + 1.0 / 32.0).abs() < 1e-15);
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct Root<P, R> {
    residual: R,
    steps: usize,
    // A function of parameters, which holds none.
    parameters: PhantomData<fn(&P)>,
}

impl<P, R: Clone> Clone for Root<P, R> {
    fn clone(&self) -> Root<P, R> {
        Root { residual: self.residual.clone(), ..*self }
    }
}

impl<P: Tree, R: Residual<P>> Root<P, R> {
    /// The root of `residual`.
    pub fn new(residual: R) -> Root<P, R> {
        Root { residual, steps: 100, parameters: PhantomData }
    }

    /// Gives up after another number of steps than 100.
    pub fn steps(self, steps: usize) -> Root<P, R> {
        Root { steps, ..self }
    }

    /// The root near `guess`, for parameters `p`.
    pub fn find(&self, guess: &Tensor, p: &P) -> Result<Tensor> {
        self.apply(&(guess.clone(), p.clone()))
    }

    fn residual(&self, x: &Tensor, p: &P) -> Result<Tensor> {
        let f = (self.residual)(x, p)?;
        if f.ty() != x.ty() {
            let kind = if f.shape() == x.shape() { ErrorKind::Dtype } else { ErrorKind::Shape };
            return Err(Error::new(kind, format!("expected a residual like x, which is {}, got {}", x.ty(), f.ty())));
        }
        Ok(f)
    }
}

/// The root of `x - g(x, p)`.
///
/// ```
/// use pullback::Tensor;
/// let x = root_finder::fixed_point(|x: &Tensor, p: &Tensor| x.cos()?.mul(p)).find(&Tensor::from(1.0), &Tensor::from(1.0))?;
/// assert!((x.item::<f64>()? - 0.7390851332151607).abs() < 1e-15);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn fixed_point<P: Tree, R: Residual<P>>(g: R) -> Root<P, impl Residual<P>> {
    Root::new(move |x: &Tensor, p: &P| x.sub(&g(x, p)?))
}

impl<P: Tree, R: Residual<P>> Function for Root<P, R> {
    type Inputs = (Tensor, P);
    type Outputs = Tensor;
    /// The root and the parameters, as values of the level that differentiates: outer levels know how the root depends
    /// on the parameters from its own call at their level.
    type Saved = (Tensor, P);

    fn forward(&self, (guess, p): &(Tensor, P)) -> Result<Tensor> {
        newton::root(&|x: &Tensor| self.residual(x, p), guess, self.steps)
    }

    fn setup_context(&self, _: &mut Context<Self>, (_, p): &(Tensor, P), x: &Tensor) -> Result<(Tensor, P)> {
        Ok((x.clone(), p.clone()))
    }

    fn backward(&self, _: &Context<Self>, (x, p): &(Tensor, P), g: Cotangent) -> Result<(Cotangent, Cotangents<P>)> {
        let Some(g) = g.as_tensor() else {
            return Ok((Cotangent::zero(), p.map(&mut |_| Cotangent::zero())));
        };
        let jacobian = newton::jacobian(&|x: &Tensor| self.residual(x, p), x)?;
        // The multiplier solves the transposed system, and the pullback of the residual takes it to the parameters.
        let multiplier = solve(&jacobian.t()?, &g.neg()?.flatten(0, -1)?)?;
        let (_, pull) = vjp(|p: &P| self.residual(x, p), p)?;
        let by_p = pull.call(&newton::like(&multiplier, x)?)?;
        Ok((Cotangent::zero(), by_p.map(&mut |t| Cotangent::from(t.clone()))))
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: Dims<(Tensor, P)>,
        inputs: &(Tensor, P),
    ) -> Result<(Tensor, Option<usize>)> {
        if info.batch_size == 0 {
            // The type of the result is that of the guess. The loop would find it by solving for parameters 0, for which
            // there need not be a root.
            let mut shape = inputs.0.shape().to_vec();
            in_dims.0.map(|dim| shape.remove(dim));
            return Ok((Tensor::zeros(&[&[0], &shape[..]].concat(), inputs.0.dtype())?, Some(0)));
        }
        rules::per_example(self, info, in_dims, inputs)
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}
