//! Functions from closures.

use std::fmt;
use std::sync::Arc;

use super::batching::{Batching, LaneTypes, one_lane};
use super::context::{Context, collect};
use super::{Cotangents, Dims, Function, Tangents, VmapInfo, derive, rules};
use crate::interp::WrittenAs;
use crate::tree::{leaves, same_places};
use crate::{Result, Tensor, TensorType, Tree, error::bail};

type Body<A, B> = Arc<dyn Fn(&A) -> Result<B> + Send + Sync>;
type Save<A, B, S> = Arc<dyn Fn(&A, &B) -> Result<S> + Send + Sync>;
type Backward<A, B, S> = Arc<dyn Fn(&S, Cotangents<B>) -> Result<Cotangents<A>> + Send + Sync>;
type Jvp<A, B> = Arc<dyn Fn(&A, &B, Tangents<A>) -> Result<Tangents<B>> + Send + Sync>;
type Vmap<A, B> = Arc<dyn Fn(&VmapInfo, Dims<A>, &A) -> Result<(B, Dims<B>)> + Send + Sync>;

/// A function with a reverse rule of your own, from three closures.
///
/// - `f` computes the result.
/// - `fwd` computes the result and what the rule needs besides: any tree, also of intermediate values.
/// - `bwd` takes that tree and the cotangents of the result to the cotangents of the argument.
///
/// The result is a closure like `f`, to call and to transform. Forward mode is derived by transposing `bwd`, and the
/// batching rule is generated from the closures. [`custom`] is the long form, with a name for messages and more rules.
///
/// # When each closure runs
/// `f` runs once per call, at the bottom of all transforms, on values without derivatives. `fwd` runs in addition, once for
/// each level that differentiates the call, on values of the level below: what it saves is therefore differentiated by
/// the levels outside, so that derivatives of every order are right. Its result is dropped, after a check that it has the
/// type of that of `f`; [`Custom::saving`] avoids computing it twice. Reading raw data in `fwd` or `bwd` is an error
/// wherever it would lose a derivative.
///
/// # Errors
/// `Rule` if a closure returns the wrong structure, shape or dtype; `CapturedTracer` if one uses a captured tensor that a
/// transform is working on (pass it as part of the argument).
///
/// # Example
/// The gradient of `ln(1 + eˣ)`, which by the operations inside would be NaN where `eˣ` overflows:
/// ```
/// use pullback::{Tensor, custom_vjp, grad, hessian, vmap};
///
/// let softplus = custom_vjp(
///     |x: &Tensor| x.exp()?.log1p(),
///     |x: &Tensor| {
///         let e = x.exp()?;
///         Ok((e.log1p()?, e))
///     },
///     |e: &Tensor, g| g.map(|g| g.mul(&(1.0 - 1.0 / (e + 1.0)))),
/// );
/// assert_eq!(grad(&softplus)(&Tensor::from(1000.0))?.item::<f64>()?, 1.0);
/// assert_eq!(hessian(&softplus)(&Tensor::from(0.0))?.item::<f64>()?, 0.25);
/// assert_eq!(vmap(grad(&softplus))(&Tensor::from([0.0, 1000.0]))?.to_vec::<f64>()?, [0.5, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn custom_vjp<A: Tree, B: Tree, S: Tree>(
    f: impl Fn(&A) -> Result<B> + Send + Sync + 'static,
    fwd: impl Fn(&A) -> Result<(B, S)> + Send + Sync + 'static,
    bwd: impl Fn(&S, Cotangents<B>) -> Result<Cotangents<A>> + Send + Sync + 'static,
) -> impl Fn(&A) -> Result<B> + Clone + Send + Sync + 'static {
    custom(f).name("custom_vjp").vjp(fwd, bwd).into_fn()
}

/// A function with a forward rule of your own, from two closures.
///
/// `rule` takes the argument of `f`, its result and the tangents of the argument to the tangents of the result. It must be
/// linear in the tangents; reverse mode is derived by transposing it, and the batching rule is generated.
///
/// The result is a closure like `f`, to call and to transform. [`custom`] is the long form.
///
/// # Errors
/// As [`custom_vjp`]; and `Rule` from reverse mode if `rule` is not zero for zero tangents.
///
/// # Example
/// ```
/// use pullback::{Tensor, custom_jvp, grad, jvp};
///
/// let tanh = custom_jvp(|x: &Tensor| x.tanh(), |_: &Tensor, y: &Tensor, t| Ok(t * (1.0 - y * y)));
/// let x = Tensor::from(0.0);
/// assert_eq!(jvp(&tanh, &x, &Tensor::from(2.0))?.1.item::<f64>()?, 2.0);
/// assert_eq!(grad(&tanh)(&x)?.item::<f64>()?, 1.0);
/// assert_eq!(grad(grad(grad(&tanh)))(&x)?.item::<f64>()?, -2.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn custom_jvp<A: Tree, B: Tree>(
    f: impl Fn(&A) -> Result<B> + Send + Sync + 'static,
    rule: impl Fn(&A, &B, Tangents<A>) -> Result<Tangents<B>> + Send + Sync + 'static,
) -> impl Fn(&A) -> Result<B> + Clone + Send + Sync + 'static {
    custom(f).name("custom_jvp").jvp(rule).into_fn()
}

/// A function with a batching rule of your own, from two closures.
///
/// `rule` is [`Function::vmap`] as a closure: it gets the number of lanes, the batch dim of each input (`None` for one that
/// all lanes share) and the inputs with their lanes, and returns the outputs with their batch dims. Derivatives are those
/// of the operations that `f` and `rule` consist of: `f` inside a lane (`vmap` of `grad`), `rule` outside (`grad` of `vmap`).
///
/// The result is a closure like `f`, to call and to transform. [`custom`] is the long form.
///
/// `f` also runs on the first lane of each batch, without derivatives, to know the types that the outputs must have.
///
/// # Errors
/// `Rule` if the rule returns outputs whose number, batch size, shape or dtype is not that of `f` for each lane;
/// `ConcreteValueNeeded` if a derivative is taken of an `f` that reads raw data.
///
/// # Example
/// Solving for many right-hand sides is one product instead of many:
/// ```
/// use pullback::{Tensor, Vmap, custom_vmap};
///
/// let product = custom_vmap(
///     |(a, x): &(Tensor, Tensor)| a.matmul(x),
///     |_, (a_dim, x_dim), (a, x): &(Tensor, Tensor)| match (a_dim, x_dim) {
///         (None, Some(d)) => Ok((x.movedim(&[d as isize], &[0])?.matmul(&a.t()?)?, Some(0))),
///         _ => Err(pullback::Error::other("this rule is for one matrix and many vectors")),
///     },
/// );
/// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let xs = Tensor::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
/// let ys = Vmap::new().in_dims((None, 0)).of(product)(&(a, xs))?;
/// assert_eq!(ys.to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0, 3.0, 7.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn custom_vmap<A: Tree, B: Tree>(
    f: impl Fn(&A) -> Result<B> + Send + Sync + 'static,
    rule: impl Fn(&VmapInfo, Dims<A>, &A) -> Result<(B, Dims<B>)> + Send + Sync + 'static,
) -> impl Fn(&A) -> Result<B> + Clone + Send + Sync + 'static {
    custom(f).name("custom_vmap").vmap(rule).into_fn()
}

/// Starts a [`Function`] made of closures: `f` computes its result, and rules are added by methods of [`Custom`].
///
/// # Example
/// An external implementation, its derivative, and how it is batched:
/// ```
/// use pullback::function::Batching;
/// use pullback::{Tensor, custom, grad, jvp, vmap};
///
/// let cbrt = custom(|x: &Tensor| Tensor::from_slice(&x.to_vec::<f64>()?.into_iter().map(f64::cbrt).collect::<Vec<_>>(), x.shape()))
///     .name("cbrt")
///     .saving(|_, y| Ok(y.clone()), |y: &Tensor, g| g.map(|g| g.div(&(y * y * 3.0))))
///     .batching(Batching::LeadingDims)
///     .into_fn();
///
/// let x = Tensor::from(8.0);
/// assert_eq!(grad(&cbrt)(&x)?.item::<f64>()?, 1.0 / 12.0);
/// assert_eq!(jvp(&cbrt, &x, &Tensor::from(12.0))?.1.item::<f64>()?, 1.0);
/// assert_eq!(vmap(&cbrt)(&Tensor::from([1.0, 27.0]))?.to_vec::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn custom<A: Tree, B: Tree>(f: impl Fn(&A) -> Result<B> + Send + Sync + 'static) -> Custom<A, B> {
    Custom(Arc::new(Parts {
        name: "custom".into(),
        f: Arc::new(f),
        reverse: None,
        jvp: None,
        batching: Lanes::Generated,
        linear: false,
    }))
}

/// A [`Function`] made of closures; [`custom`] starts one.
///
/// It is called with [`apply`](Function::apply), or turned into a closure by [`into_fn`](Custom::into_fn). Derivative and
/// batching rules combine freely. A missing derivative rule is derived from the other one; without any, derivatives are
/// those of the operations that `f` consists of, and an `f` that reads raw data is then an error, not a zero. A missing
/// batching rule is generated.
///
/// In messages `bwd` is the function's `backward`, and `fwd` or `save` its `setup_context`.
pub struct Custom<A: Tree, B: Tree, S: Tree = ()>(Arc<Parts<A, B, S>>);

struct Parts<A: Tree, B: Tree, S: Tree> {
    name: Arc<str>,
    f: Body<A, B>,
    reverse: Option<(Save<A, B, S>, Backward<A, B, S>)>,
    jvp: Option<Jvp<A, B>>,
    batching: Lanes<A, B>,
    linear: bool,
}

enum Lanes<A: Tree, B: Tree> {
    Generated,
    Rule(Vmap<A, B>),
    Named(Batching),
}

impl<A: Tree, B: Tree> Clone for Lanes<A, B> {
    fn clone(&self) -> Self {
        match self {
            Lanes::Generated => Lanes::Generated,
            Lanes::Rule(rule) => Lanes::Rule(rule.clone()),
            Lanes::Named(batching) => Lanes::Named(*batching),
        }
    }
}

impl<A: Tree, B: Tree, S: Tree> Clone for Parts<A, B, S> {
    fn clone(&self) -> Self {
        Parts {
            name: self.name.clone(),
            f: self.f.clone(),
            reverse: self.reverse.clone(),
            jvp: self.jvp.clone(),
            batching: self.batching.clone(),
            linear: self.linear,
        }
    }
}

impl<A: Tree, B: Tree, S: Tree> Clone for Custom<A, B, S> {
    fn clone(&self) -> Self {
        Custom(self.0.clone())
    }
}

impl<A: Tree, B: Tree, S: Tree> fmt::Debug for Custom<A, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Custom({})", self.0.name)
    }
}

impl<A: Tree, B: Tree> Custom<A, B> {
    /// Adds a reverse rule, as [`custom_vjp`] describes: `fwd` returns the result and what `bwd` reads.
    pub fn vjp<S: Tree>(
        self,
        fwd: impl Fn(&A) -> Result<(B, S)> + Send + Sync + 'static,
        bwd: impl Fn(&S, Cotangents<B>) -> Result<Cotangents<A>> + Send + Sync + 'static,
    ) -> Custom<A, B, S> {
        let save = move |x: &A, y: &B| {
            let (again, saved) = fwd(x)?;
            same_types(&again, y)?;
            Ok(saved)
        };
        self.saving(save, bwd)
    }

    /// Adds a reverse rule that keeps what it reads from the argument and the result: `save(x, y)` instead of a `fwd` that
    /// computes the result again. It runs once for each level that differentiates the call.
    ///
    /// What `save` computes is differentiated by the levels outside; saved results are differentiated by these rules.
    ///
    /// ```
    /// use pullback::{Function, Tensor, custom, grad};
    /// let exp = custom(|x: &Tensor| x.exp()).saving(|_, y| Ok(y.clone()), |y: &Tensor, g| Ok(g * y));
    /// let third = grad(grad(grad(|x: &Tensor| exp.apply(x))))(&Tensor::from(0.0))?;
    /// assert_eq!(third.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn saving<S: Tree>(
        self,
        save: impl Fn(&A, &B) -> Result<S> + Send + Sync + 'static,
        bwd: impl Fn(&S, Cotangents<B>) -> Result<Cotangents<A>> + Send + Sync + 'static,
    ) -> Custom<A, B, S> {
        let Parts { name, f, jvp, batching, linear, .. } = Arc::unwrap_or_clone(self.0);
        Custom(Arc::new(Parts { name, f, reverse: Some((Arc::new(save), Arc::new(bwd))), jvp, batching, linear }))
    }
}

impl<A: Tree, B: Tree, S: Tree> Custom<A, B, S> {
    fn with(self, change: impl FnOnce(&mut Parts<A, B, S>)) -> Self {
        let mut parts = Arc::unwrap_or_clone(self.0);
        change(&mut parts);
        Custom(Arc::new(parts))
    }

    /// The name that messages use.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.with(|parts| parts.name = name.into())
    }

    /// Adds a forward rule, as [`custom_jvp`] describes.
    #[must_use]
    pub fn jvp(self, rule: impl Fn(&A, &B, Tangents<A>) -> Result<Tangents<B>> + Send + Sync + 'static) -> Self {
        self.with(|parts| parts.jvp = Some(Arc::new(rule)))
    }

    /// Adds a batching rule, as [`custom_vmap`] describes.
    #[must_use]
    pub fn vmap(self, rule: impl Fn(&VmapInfo, Dims<A>, &A) -> Result<(B, Dims<B>)> + Send + Sync + 'static) -> Self {
        self.with(|parts| parts.batching = Lanes::Rule(Arc::new(rule)))
    }

    /// Chooses a batching strategy by name, for an `f` that reads raw data.
    ///
    /// Where the strategy is one call for all lanes, `f` also runs on the first lane, without derivatives, to know the types
    /// that the outputs must have.
    #[must_use]
    pub fn batching(self, batching: Batching) -> Self {
        self.with(|parts| parts.batching = Lanes::Named(batching))
    }

    /// Promises that `bwd` is linear in the cotangents, as [`Function::backward_is_linear`] describes.
    #[must_use]
    pub fn backward_is_linear(self) -> Self {
        self.with(|parts| parts.linear = true)
    }

    /// The function as a closure, for the transforms.
    pub fn into_fn(self) -> impl Fn(&A) -> Result<B> + Clone + Send + Sync + 'static {
        move |x: &A| self.apply(x)
    }

    /// An error unless the batched outputs are, for each lane, of the types that `f` gives for the first one.
    fn check_lanes(
        &self,
        info: &VmapInfo,
        batching: Option<Batching>,
        dims: &[Option<usize>],
        inputs: &A,
        (outputs, out_dims): (&B, &Dims<B>),
    ) -> Result<()> {
        if info.batch_size == 0 {
            return Ok(());
        }
        let first = one_lane(dims, inputs, 0)?.try_map(|t| t.detach())?;
        let single = self.apply(&first)?;
        let types: Vec<TensorType> = leaves(&single).into_iter().map(Tensor::ty).collect();
        let batching = batching.map(|batching| (batching, info.batch_size));
        let expected = LaneTypes { types: &types, source: "the function returns", batching };
        expected.check(outputs, &collect::<B, Option<usize>>(out_dims))
    }
}

/// An error unless `fwd` returned what the function did.
fn same_types<B: Tree>(again: &B, outputs: &B) -> Result<()> {
    let (got, expected) = (leaves(again), leaves(outputs));
    if got.len() != expected.len() {
        bail!(Rule, "expected {} outputs from `fwd` as from the function itself, got {}", expected.len(), got.len());
    }
    if !same_places(again, outputs) {
        let (expected, got) = (outputs.describe(), again.describe());
        bail!(
            Rule,
            "expected outputs from `fwd` in the structure of those of the function itself, {expected}, got {got}"
        );
    }
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got.ty() != expected.ty() {
            bail!(Rule, "expected output {k} of `fwd` to be {} as that of the function itself, got {}", expected.ty(),
                got.ty(); help = "`fwd` returns the result first and what `bwd` reads second");
        }
    }
    Ok(())
}

impl<A: Tree, B: Tree, S: Tree> Function for Custom<A, B, S> {
    type Inputs = A;
    type Outputs = B;
    type Saved = (Option<S>, Option<(A, B)>);

    fn name(&self) -> &str {
        &self.0.name
    }

    fn forward(&self, inputs: &A) -> Result<B> {
        (self.0.f)(inputs)
    }

    fn setup_context(&self, _: &mut Context<Self>, inputs: &A, outputs: &B) -> Result<Self::Saved> {
        let Parts { reverse, jvp, .. } = &*self.0;
        let saved = reverse.as_ref().map(|(save, _)| save(inputs, outputs)).transpose()?;
        let ends = (jvp.is_some() || reverse.is_none()).then(|| (inputs.clone(), outputs.clone()));
        Ok((saved, ends))
    }

    fn backward(&self, ctx: &Context<Self>, saved: &Self::Saved, grads: Cotangents<B>) -> Result<Cotangents<A>> {
        match (&self.0.reverse, saved) {
            (Some((_, bwd)), (Some(saved), _)) => bwd(saved, grads),
            (None, (_, Some((inputs, _)))) if self.0.jvp.is_none() => {
                let needs = collect::<A, bool>(ctx.needs_input_grad());
                derive::backward_through::<A, B>(&*self.0.f, inputs, &needs, &grads)
            }
            _ => derive::backward_from_jvp(self, ctx, saved, grads),
        }
    }

    fn jvp(&self, ctx: &Context<Self>, saved: &Self::Saved, tangents: Tangents<A>) -> Result<Tangents<B>> {
        match (&self.0.jvp, saved) {
            (Some(rule), (_, Some((inputs, outputs)))) => rule(inputs, outputs, tangents),
            (None, (_, Some((inputs, _)))) if self.0.reverse.is_none() => {
                derive::jvp_through::<A, B>(&*self.0.f, inputs, &tangents)
            }
            _ => derive::jvp_from_backward(self, ctx, saved, tangents),
        }
    }

    fn vmap(&self, info: &VmapInfo, in_dims: Dims<A>, inputs: &A) -> Result<(B, Dims<B>)> {
        match &self.0.batching {
            Lanes::Generated => rules::generated(self, info, in_dims, inputs),
            Lanes::Named(batching) => {
                let dims = collect::<A, Option<usize>>(&in_dims);
                let (outputs, out_dims) = rules::by_name(*batching, self, info, in_dims, inputs)?;
                if *batching != Batching::Loop {
                    self.check_lanes(info, Some(*batching), &dims, inputs, (&outputs, &out_dims))?;
                }
                Ok((outputs, out_dims))
            }
            Lanes::Rule(rule) => {
                let dims = collect::<A, Option<usize>>(&in_dims);
                let (outputs, out_dims) = rule(info, in_dims, inputs)?;
                self.check_lanes(info, None, &dims, inputs, (&outputs, &out_dims))?;
                Ok((outputs, out_dims))
            }
        }
    }

    fn backward_is_linear(&self) -> bool {
        self.0.linear
    }

    fn written_as(&self) -> WrittenAs {
        WrittenAs::Closures
    }
}
