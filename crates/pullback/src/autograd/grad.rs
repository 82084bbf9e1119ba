//! Walks that return gradients.

use super::{roots, targets};
use crate::error::{Context as _, bail};
use crate::interp::walk::{Walk, batched};
use crate::tree::{leaves, path_of, try_map};
use crate::{Result, Tensor, Tree};

/// How messages name the function.
const PLACE: &str = "autograd::grad";

/// The gradients of the sum of `outputs`, which are scalars, with respect to `inputs`: leaves, or results of operations on
/// the way. Nothing accumulates anywhere.
///
/// # Errors
/// `NotDifferentiable` if an output or an input does not require gradients, or if no output depends on an input;
/// `NotScalar` for an output with other than one element; `InTransform` for values that a transform is working on; whatever
/// rules and hooks report.
///
/// # Example
/// ```
/// use pullback::{Tensor, autograd};
/// let (x, w) = autograd::leaf(&(Tensor::from(2.0), Tensor::from(5.0)))?;
/// let y = x.mul(&w)?;
/// let (dx, dy) = autograd::grad(&y.square()?, &(x.clone(), y.clone()))?;
/// assert_eq!((dx.item::<f64>()?, dy.item::<f64>()?), (100.0, 20.0));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad<O: Tree, I: Tree>(outputs: &O, inputs: &I) -> Result<I> {
    Grad::new().of(outputs, inputs)
}

/// Options for [`autograd::grad`](grad()).
///
/// ```
/// use pullback::{Tensor, autograd::{self, Grad}};
/// let x = autograd::leaf(&Tensor::from(2.0))?;
/// let y = x.square()?.mul(&x)?;
/// let first = Grad::new().create_graph().of(&y, &x)?;
/// let second = autograd::grad(&first, &x)?;
/// assert_eq!((first.item::<f64>()?, second.item::<f64>()?), (12.0, 12.0));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grad {
    cotangents: Option<Vec<Tensor>>,
    create_graph: bool,
    batched: bool,
    materialize: bool,
}

impl Grad {
    /// No options: outputs are scalars, gradients are constants, and every input must be used.
    pub fn new() -> Grad {
        Grad::default()
    }

    /// The cotangents of the outputs, one of the same type for each.
    ///
    /// They may be values of a transform: inside `vmap`, cotangents with lanes give gradients with lanes.
    pub fn cotangents<C: Tree>(mut self, cotangents: &C) -> Grad {
        self.cotangents = Some(leaves(cotangents).into_iter().cloned().collect());
        self
    }

    /// Records the walk, so that the gradients can be differentiated again, to any order.
    ///
    /// It does so inside `no_grad`, too.
    pub fn create_graph(mut self) -> Grad {
        self.create_graph = true;
        self
    }

    /// The cotangents have one more dimension in front, and so have the gradients: many walks in one.
    ///
    /// ```
    /// use pullback::{Tensor, autograd::{self, Grad}};
    /// let x = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
    /// let units = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
    /// let jacobian = Grad::new().cotangents(&units).batched().of(&x.square()?, &x)?;
    /// assert_eq!(jacobian.to_vec::<f64>()?, [2.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn batched(mut self) -> Grad {
        self.batched = true;
        self
    }

    /// Inputs that no output depends on get zeros instead of an error.
    pub fn materialize_grads(mut self) -> Grad {
        self.materialize = true;
        self
    }

    /// The gradients. See [`autograd::grad`](grad()).
    ///
    /// # Errors
    /// As [`autograd::grad`](grad()); `Arity`, `Shape` or `Dtype` if the cotangents are not like the outputs.
    pub fn of<O: Tree, I: Tree>(&self, outputs: &O, inputs: &I) -> Result<I> {
        self.all(outputs, inputs).context(|| PLACE.into())
    }

    fn all<O: Tree, I: Tree>(&self, outputs: &O, inputs: &I) -> Result<I> {
        let (found, size) = self.run(outputs, inputs)?;
        let mut found = found.into_iter();
        let mut k = 0;
        try_map(inputs, &mut |t| {
            let index = k;
            k += 1;
            match found.next().flatten() {
                Some(grad) => Ok(grad),
                None if self.materialize => {
                    let shape: Vec<usize> = size.iter().chain(t.shape()).copied().collect();
                    Tensor::zeros(&shape, t.dtype())
                }
                None => {
                    bail!(NotDifferentiable, "{PLACE}: expected outputs that depend on every input, got input{} ({}), \
                    which no output depends on", path_of(inputs, index), t.ty(); help = "leave it out, or take `None` for \
                    it from `Grad::optional` or zeros with `Grad::materialize_grads`")
                }
            }
        })
    }

    /// The gradients, `None` for inputs that no output depends on: what PyTorch calls `allow_unused`.
    ///
    /// # Errors
    /// As [`of`](Grad::of), without the one for such inputs. `Value` together with
    /// [`materialize_grads`](Grad::materialize_grads), which asks for zeros instead.
    ///
    /// ```
    /// use pullback::{Tensor, autograd::{self, Grad}};
    /// let (x, w) = autograd::leaf(&(Tensor::from(2.0), Tensor::from(5.0)))?;
    /// let (dx, dw) = Grad::new().optional(&x.square()?, &(x.clone(), w))?;
    /// assert_eq!(dx.unwrap().item::<f64>()?, 4.0);
    /// assert!(dw.is_none());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn optional<O: Tree, I: Tree>(&self, outputs: &O, inputs: &I) -> Result<I::Mapped<Option<Tensor>>> {
        if self.materialize {
            bail!(Value, "{PLACE}: `materialize_grads` asks for zeros, and `optional` for `None`, in the same place");
        }
        let mut found = self.run(outputs, inputs).context(|| PLACE.into())?.0.into_iter();
        Ok(inputs.map(&mut |_| found.next().flatten()))
    }

    /// The gradients, and the size of the batch.
    fn run<O: Tree, I: Tree>(&self, outputs: &O, inputs: &I) -> Result<(Vec<Option<Tensor>>, Option<usize>)> {
        let outputs = leaves(outputs);
        let roots = roots(PLACE, &outputs, self.cotangents.as_deref(), self.batched)?;
        let targets = targets(PLACE, inputs)?;
        let walk = |roots| Walk { roots, targets: Some(&targets), create_graph: self.create_graph }.run();
        if !self.batched {
            return Ok((walk(roots)?.results, None));
        }
        let Some(cotangents) = self.cotangents.as_deref() else {
            bail!(Arity, "{PLACE}: expected cotangents with a leading dimension, got none"; help = "give them with \
                `Grad::cotangents`");
        };
        let size = cotangents[0].shape()[0];
        for (k, t) in cotangents.iter().enumerate() {
            if t.shape()[0] != size {
                let n = t.shape()[0];
                bail!(
                    Shape,
                    "{PLACE}: cotangents disagree on the batch size: cotangent 0 has {size}, cotangent {k} has {n}"
                );
            }
        }
        let (edges, given): (Vec<_>, Vec<_>) = roots.into_iter().unzip();
        let found = batched(size, given, |lanes| Ok(walk(edges.into_iter().zip(lanes).collect())?.results))?;
        Ok((found, Some(size)))
    }
}
