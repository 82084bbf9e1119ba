//! Trading time for memory: a function whose intermediate values are computed again in the backward pass.

mod recompute;

use std::sync::{Arc, OnceLock};

use recompute::call;

use crate::error::{Context as _, bail};
use crate::tree::{leaves, same_places};
use crate::{Result, Tensor, Tree};

/// `f` with a reverse mode that keeps only the arguments of a call, and runs `f` again in the backward pass.
///
/// The result is a closure like `f`, with the same values and derivatives. A chain of `n` such calls needs the memory of
/// `n` arguments and of the intermediate values of one call. `f` may itself contain such calls.
///
/// Tensors that `f` captures are kept like arguments and get their derivatives, so a model's parameters may be captured
/// although a transform is working on them.
///
/// # What runs again
/// `f` must do the same each time: use the same tensors, and return results of the same types. It runs once for the value,
/// and once for each derivative that is taken of the call. Random numbers are the same again: a [`Key`](crate::random::Key)
/// gives them anyway, and a [`Generator`](crate::random::Generator) gives the keys of the first run without moving on, if
/// it draws on the thread that called. Anything else that `f` changes is changed again.
///
/// # Derivative
/// That of `f`, in both modes and of every order. Only reverse mode gains from it, and it does also where its backward pass
/// is differentiated in reverse mode in turn.
///
/// # Errors
/// Those of `f`; `Rule` if it does something else when it runs again.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, checkpoint, grad};
///
/// let w = Tensor::from(0.5);
/// let loss = |w: &Tensor| {
///     let w = w.clone();
///     let layer = checkpoint(move |x: &Tensor| x.mul(&w)?.sin());
///     layer(&layer(&Tensor::from(1.0))?)
/// };
/// let plain = |w: &Tensor| w.sin()?.mul(w)?.sin();
/// assert_eq!(grad(loss)(&w)?.item::<f64>()?, grad(plain)(&w)?.item::<f64>()?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn checkpoint<A: Tree, B: Tree>(
    f: impl Fn(&A) -> Result<B> + Send + Sync + 'static,
) -> impl Fn(&A) -> Result<B> + Clone + Send + Sync + 'static {
    let f = Arc::new(f);
    move |x: &A| run(f.clone(), x).context(|| "checkpoint".into())
}

fn run<A: Tree, B: Tree>(f: Arc<impl Fn(&A) -> Result<B> + Send + Sync + 'static>, x: &A) -> Result<B> {
    let arguments = x.map(&mut |_| ());
    // The structure of the result, of the first run.
    let structure = Arc::new(OnceLock::new());
    let known = structure.clone();
    let on_slices = move |tensors: &[Tensor]| {
        let out = f(&rebuild::<A>(&arguments, tensors))?;
        let known = known.get_or_init(|| out.map(&mut |_| ()));
        let tensors: Vec<Tensor> = leaves(&out).into_iter().cloned().collect();
        let mut count = 0;
        B::visit_mapped(known, &mut |()| count += 1);
        if count != tensors.len() || !same_places(&rebuild::<B>(known, &tensors), &out) {
            bail!(Rule, "expected results in the structure of the first run again, got {}", out.describe(); help = "the \
                function must do the same each time it runs");
        }
        Ok(tensors)
    };
    let inputs: Vec<Tensor> = leaves(x).into_iter().cloned().collect();
    let outs = call(Arc::new(on_slices), &inputs)?;
    match structure.get() {
        Some(structure) => Ok(rebuild::<B>(structure, &outs)),
        None => bail!(Internal, "the function has not run"),
    }
}

/// A tree from its tensors in order.
fn rebuild<T: Tree>(structure: &T::Mapped<()>, tensors: &[Tensor]) -> T {
    let mut tensors = tensors.iter();
    T::from_mapped(structure, &mut |()| tensors.next().expect("as many tensors as the structure has places").clone())
}
