//! A loop that runs as long as a predicate of its state holds.

use super::lanes::{Choice, check_same};
use crate::error::{Context as _, bail};
use crate::{Result, Tensor, Tree};

/// The state after `body` has been applied to `init` as long as `cond` of the state holds.
///
/// Under a `vmap` that the predicate depends on, the loop runs until it holds for no lane. A lane whose predicate was false
/// once keeps its state, and `body` sees the state of a lane that still runs in its place, as in [`cond`](crate::cond()).
///
/// # Shapes and dtypes
/// `cond` returns a bool scalar; `body` keeps the structure and the types of the state.
///
/// # Derivative
/// That of the steps that were made, in both modes. Reverse mode records every step, so its memory grows with their
/// number; a loop whose number of steps is known can be a [`Scan`](crate::Scan) with checkpoints. `cond` gets a state
/// without derivatives.
///
/// # Errors
/// `Dtype` for a predicate that is not bool, and `Shape` for one that is not a scalar; `Arity`, `Shape` or `Dtype` if
/// `body` changes the structure or a type; whatever the closures report. [`WhileLoop`] has a bound for the number of
/// steps.
///
/// # Nesting
/// In any order with all transforms. In [`capture`](crate::capture), a predicate that depends on an argument is an error
/// (`ConcreteValueNeeded`): a graph has no branches.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad, vmap, while_loop};
///
/// let f = |x: &Tensor| while_loop(|x| x.lt(100.0), |x| x.square(), x);
/// let x = Tensor::from([3.0, 200.0]);
/// assert_eq!(vmap(f)(&x)?.to_vec::<f64>()?, [6561.0, 200.0]);
/// assert_eq!(vmap(grad(f))(&x)?.to_vec::<f64>()?, [17496.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn while_loop<S: Tree>(cond: impl Fn(&S) -> Result<Tensor>, body: impl Fn(&S) -> Result<S>, init: &S) -> Result<S> {
    WhileLoop::new().run(cond, body, init)
}

/// Options for [`while_loop`].
///
/// ```
/// use pullback::{Tensor, WhileLoop};
/// let endless = WhileLoop::new().max_steps(10).run(|x| x.gt(0.0), |x| Ok(x.clone()), &Tensor::from(1.0));
/// let message = endless.unwrap_err().to_string();
/// assert!(message.starts_with("while_loop: expected the loop to end within 10 steps"), "{message}");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WhileLoop {
    max_steps: Option<usize>,
}

impl WhileLoop {
    /// No bound: the same as [`while_loop`].
    pub fn new() -> WhileLoop {
        WhileLoop::default()
    }

    /// Makes it an error of kind `Value` if the predicate still holds, for any lane, after this number of steps.
    #[must_use]
    pub fn max_steps(mut self, steps: usize) -> WhileLoop {
        self.max_steps = Some(steps);
        self
    }

    /// Runs the loop. See [`while_loop`].
    ///
    /// # Errors
    /// As [`while_loop`]; `Value` if the loop does not end within the bound.
    pub fn run<S: Tree>(
        self,
        cond: impl Fn(&S) -> Result<Tensor>,
        body: impl Fn(&S) -> Result<S>,
        init: &S,
    ) -> Result<S> {
        self.steps(&cond, &body, init).context(|| "while_loop".into())
    }

    fn steps<S: Tree>(
        self,
        cond: &dyn Fn(&S) -> Result<Tensor>,
        body: &dyn Fn(&S) -> Result<S>,
        init: &S,
    ) -> Result<S> {
        let mut state = init.clone();
        // The lanes that made all steps so far; none until the predicate depends on the lane.
        let mut running: Option<Tensor> = None;
        for step in 0.. {
            let mut holds = cond(&state.try_map(Tensor::detach)?)?;
            if let Some(running) = &running {
                holds = holds.logical_and(running)?;
            }
            let choice = Choice::of(&holds)?;
            if let Choice::All(false) | Choice::Nobody = choice {
                break;
            }
            if self.max_steps.is_some_and(|max| step >= max) {
                bail!(Value, "expected the loop to end within {step} steps, but its predicate still holds");
            }
            state = match &choice {
                Choice::Mixed(lanes) => {
                    let next = lanes.run(true, body, &state)?;
                    check(&state, &next)?;
                    running = Some(holds);
                    lanes.choose(&next, &state)?
                }
                _ => {
                    let next = body(&state)?;
                    check(&state, &next)?;
                    next
                }
            };
        }
        Ok(state)
    }
}

fn check<S: Tree>(before: &S, after: &S) -> Result<()> {
    check_same((before, "before a step"), (after, "from the body"))
}
