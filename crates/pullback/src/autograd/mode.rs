//! Scopes in which nothing is recorded.

use crate::interp::level::AMBIENT;
use crate::interp::mode::{Scope, records};

/// Runs `f` while nothing that is being differentiated sees it: its results are constants.
///
/// This holds for the leaves of this module and for every `grad`, `vjp`, `jvp` and Jacobian that is running on this thread,
/// by reverse and by forward mode alike. Transforms that are called inside `f` work as always; only what is outside of them
/// sees their results as constants. Other threads are not affected. The scope ends with `f`, also by an error or a panic.
///
/// PyTorch's `no_grad` leaves forward mode alone, so that `jacfwd` and `jacrev` of one function differ there.
///
/// To keep one value out of a derivative, [`detach`](crate::Tensor::detach) says so more directly.
///
/// ```
/// use pullback::{Tensor, autograd, grad, jacfwd};
/// let mut w = autograd::leaf(&Tensor::from(2.0))?;
/// w.mul(&w)?.backward()?;
/// let step = w.grad()?.unwrap() * 0.25;
/// autograd::no_grad(|| w.sub_(&step).map(|_| ()))?; // `w` stays a leaf
/// assert_eq!(w.item::<f64>()?, 1.0);
/// assert!(w.is_leaf() && w.requires_grad());
///
/// let f = |x: &Tensor| autograd::no_grad(|| x.square())?.add(x * 3.0);
/// assert_eq!(grad(f)(&Tensor::from(2.0))?.item::<f64>()?, 3.0);
/// assert_eq!(jacfwd(f)(&Tensor::from(2.0))?.item::<f64>()?, 3.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = GradMode::off();
    f()
}

/// Runs `f` while recording works again inside a [`no_grad`].
///
/// Inside a transform it undoes what was switched off inside that transform, not what its caller switched off: the caller
/// may rely on that.
///
/// ```
/// use pullback::{Tensor, autograd};
/// let x = autograd::leaf(&Tensor::from(3.0))?;
/// let y = autograd::no_grad(|| autograd::enable_grad(|| x.square()))?;
/// assert!(y.requires_grad());
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = GradMode::on();
    f()
}

/// [`no_grad`] or [`enable_grad`] from here to the end of a block: a guard, which undoes it when it is dropped.
///
/// ```
/// use pullback::{Tensor, autograd::{self, GradMode}};
/// let x = autograd::leaf(&Tensor::from(3.0))?;
/// {
///     let _guard = GradMode::off();
///     assert!(!GradMode::is_on() && !x.square()?.requires_grad());
/// }
/// assert!(GradMode::is_on() && x.square()?.requires_grad());
/// # Ok::<(), pullback::Error>(())
/// ```
#[must_use = "the mode ends when the guard is dropped"]
pub struct GradMode {
    _scope: Scope,
}

impl GradMode {
    /// As inside [`no_grad`].
    pub fn off() -> GradMode {
        GradMode { _scope: Scope::off() }
    }

    /// As inside [`enable_grad`].
    pub fn on() -> GradMode {
        GradMode { _scope: Scope::on() }
    }

    /// [`on`](GradMode::on) or [`off`](GradMode::off).
    pub fn set(on: bool) -> GradMode {
        if on { GradMode::on() } else { GradMode::off() }
    }

    /// Whether operations on leaves are recorded on this thread.
    pub fn is_on() -> bool {
        records(AMBIENT)
    }
}
