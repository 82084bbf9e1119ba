//! One of two branches, by the value of a predicate.

use super::lanes::{Choice, check_same, choose};
use crate::error::Context as _;
use crate::{Result, Tensor, Tree};

/// The result of `on_true` if `pred` is true, else that of `on_false`, both called with `operands`.
///
/// A predicate that is one value, whatever is being differentiated, calls one branch, as an `if` would. Under a `vmap` that
/// it depends on, each branch that at least one lane takes is called for all lanes, and every lane gets the result of its
/// own. The two results must then have the same structure and types.
///
/// # Lanes that do not take a branch
/// They bring nothing into it and get nothing from it. In their place the branch sees the operands of a lane that takes
/// it, so that no NaN or infinity arises that the lanes which take it do not have themselves, in values and in derivatives
/// of every order. This holds for tensors that the branch captures, too. What is computed before the branch is computed for
/// all lanes, as everywhere: a function that only some of them are in the domain of belongs into the branch.
///
/// # Shapes
/// `pred` is a scalar.
///
/// # Derivative
/// That of the branch that runs, in both modes.
///
/// # Errors
/// `Dtype` for a predicate that is not bool, and `Shape` for one that is not a scalar; `Arity`, `Shape` or `Dtype` if both
/// branches run and their results differ in structure or type; whatever a branch reports.
///
/// # Nesting
/// In any order with all transforms. In [`capture`](crate::capture), a predicate that depends on an argument is an error
/// (`ConcreteValueNeeded`): a graph has no branches.
///
/// # Example
/// ```
/// use pullback::{Tensor, cond, grad, vmap};
///
/// let f = |x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt(), |x| x.mul(0.0), x);
/// let x = Tensor::from([0.0, 4.0]);
/// assert_eq!(vmap(f)(&x)?.to_vec::<f64>()?, [0.0, 2.0]);
/// // The root of the first lane has an infinite slope, and no lane sees it.
/// assert_eq!(vmap(grad(f))(&x)?.to_vec::<f64>()?, [0.0, 0.25]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn cond<A: Tree, B: Tree>(
    pred: &Tensor,
    on_true: impl FnOnce(&A) -> Result<B>,
    on_false: impl FnOnce(&A) -> Result<B>,
    operands: &A,
) -> Result<B> {
    let run = || match Choice::of(pred)? {
        Choice::All(true) => on_true(operands),
        Choice::All(false) => on_false(operands),
        Choice::Mixed(lanes) => {
            let (a, b) = (lanes.run(true, on_true, operands)?, lanes.run(false, on_false, operands)?);
            check(&a, &b)?;
            lanes.choose(&a, &b)
        }
        Choice::Nobody => {
            let (a, b) = (on_true(operands)?, on_false(operands)?);
            check(&a, &b)?;
            choose(pred, &a, &b)
        }
    };
    run().context(|| "cond".into())
}

fn check<B: Tree>(a: &B, b: &B) -> Result<()> {
    check_same((a, "from the branch for true"), (b, "from the one for false"))
}
