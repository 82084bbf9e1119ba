//! [`Op`]: the erased operation that everything inside works on, built in or a user's.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Cotangent, Tangent};
use crate::interp::level::Part;
use crate::interp::only;
use crate::shape::Shape;
use crate::{Result, Tensor, TensorType};

/// The outputs of an operation.
pub(crate) type Outs = SmallVec<[Tensor; 1]>;

/// Cotangents of the inputs of an operation.
pub(crate) type Cotangents = SmallVec<[Cotangent; 2]>;

/// Tangents of the outputs of an operation.
pub(crate) type Tangents = SmallVec<[Tangent; 1]>;

/// Outputs of a batching rule with the batch dim of each, `None` where it does not depend on the lane.
pub(crate) type Batched = (Outs, SmallVec<[Option<usize>; 1]>);

/// How random numbers are drawn under a `vmap`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Randomness {
    /// Drawing is an error.
    #[default]
    Error,
    /// Every lane draws its own numbers.
    Different,
    /// All lanes share the same numbers.
    Same,
}

/// What a batching rule is told about the `vmap` that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VmapInfo {
    /// The number of lanes.
    pub batch_size: usize,
    /// How random numbers are to be drawn. Under `Error`, drawing is an error inside a hand-written rule as well. Else
    /// the rule honours this itself: what it draws is not repeated for each lane.
    pub randomness: Randomness,
    /// Which of the lanes of a `vmap` in parts these are.
    pub(crate) part: Option<Part>,
}

impl VmapInfo {
    pub(crate) fn new(batch_size: usize, randomness: Randomness, part: Option<Part>) -> VmapInfo {
        VmapInfo { batch_size, randomness, part }
    }

    /// `x`, an input with its lanes along `dim`, with the lanes along dimension 0. Without a `dim`, `x` is repeated for
    /// every lane (in no memory).
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// ```
    /// use pullback::{Context, Dims, Function, Result, Tensor, VmapInfo, Vmap};
    ///
    /// /// The scalar product, by plain Rust code for many pairs of vectors at once.
    /// #[derive(Clone)]
    /// struct Dot;
    /// impl Function for Dot {
    ///     type Inputs = (Tensor, Tensor);
    ///     type Outputs = Tensor;
    ///     type Saved = ();
    ///     fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
    ///         let (n, shape) = (a.shape()[a.rank() - 1], &a.shape()[..a.rank() - 1]);
    ///         let (a, b) = (a.to_vec::<f64>()?, b.to_vec::<f64>()?);
    ///         let dot = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum();
    ///         let dots: Vec<f64> = a.chunks(n).zip(b.chunks(n)).map(dot).collect();
    ///         Tensor::from_slice(&dots, shape)
    ///     }
    ///     fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
    ///         Ok(())
    ///     }
    ///     fn vmap(
    ///         &self,
    ///         info: &VmapInfo,
    ///         (da, db): Dims<(Tensor, Tensor)>,
    ///         (a, b): &(Tensor, Tensor),
    ///     ) -> Result<(Tensor, Dims<Tensor>)> {
    ///         Ok((self.apply(&(info.lanes_first(a, da)?, info.lanes_first(b, db)?))?, Some(0)))
    ///     }
    /// }
    ///
    /// let (a, columns) = (Tensor::from([1.0, 2.0]), Tensor::from([[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]));
    /// let dots = Vmap::new().in_dims((None, 1)).of(|x: &(Tensor, Tensor)| Dot.apply(x))(&(a, columns))?;
    /// assert_eq!(dots.to_vec::<f64>()?, [15.0, 18.0, 21.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn lanes_first(&self, x: &Tensor, dim: Option<usize>) -> Result<Tensor> {
        match dim {
            Some(dim) => x.movedim(&[isize::try_from(dim).unwrap_or(isize::MAX)], &[0]),
            None => x.expand(&[&[self.batch_size], x.shape()].concat()),
        }
    }
}

/// What the derivative rules of one call read: tensors, and whatever else the operation keeps.
#[derive(Clone, Default)]
pub(crate) struct Saved {
    pub(crate) tensors: SmallVec<[Tensor; 2]>,
    pub(crate) state: State,
    /// Outputs that carry no derivative although their dtype could.
    pub(crate) non_differentiable: Box<[usize]>,
}

/// The part of [`Saved`] that is not tensors.
#[derive(Clone, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    /// A shape of few dimensions, none of them large.
    Short(u8, [u32; 4]),
    /// Any other, behind a pointer, because most operations keep none and every node is as large as the largest.
    Shape(Box<Shape>),
    Any(Arc<dyn Any + Send + Sync>),
}

impl Saved {
    /// Saves tensors and nothing else.
    pub(crate) fn tensors<const N: usize>(tensors: [&Tensor; N]) -> Saved {
        Saved { tensors: tensors.into_iter().cloned().collect(), ..Saved::default() }
    }

    /// Saves one shape and nothing else.
    pub(crate) fn shape(shape: &[usize]) -> Saved {
        let mut saved = Saved::default();
        saved.keep_shape(shape);
        saved
    }

    /// Saves one shape besides the tensors.
    #[inline]
    pub(crate) fn keep_shape(&mut self, shape: &[usize]) {
        let mut short = [0; 4];
        let fits = shape.len() <= short.len() && shape.iter().all(|&n| u32::try_from(n).is_ok());
        self.state = if fits {
            for (to, &n) in short.iter_mut().zip(shape) {
                *to = n as u32;
            }
            State::Short(shape.len() as u8, short)
        } else {
            State::Shape(Box::new(Shape::from_slice(shape)))
        };
    }

    /// Adds a value of any type.
    pub(crate) fn with_state(mut self, state: impl Any + Send + Sync) -> Saved {
        self.keep_state(state);
        self
    }

    /// Adds a value of any type.
    pub(crate) fn keep_state(&mut self, state: impl Any + Send + Sync) {
        self.state = State::Any(Arc::new(state));
    }

    /// The shape that [`Saved::shape`] kept.
    pub(crate) fn get_shape(&self) -> Shape {
        match &self.state {
            State::Short(rank, sizes) => sizes[..usize::from(*rank)].iter().map(|&n| n as usize).collect(),
            State::Shape(shape) => (**shape).clone(),
            _ => unreachable!("the operation saved no shape"),
        }
    }

    /// The value that [`Saved::with_state`] kept.
    pub(crate) fn get_state<T: Any>(&self) -> &T {
        match &self.state {
            State::Any(any) => any.downcast_ref().expect("an operation reads the state that it saved"),
            _ => unreachable!("the operation saved no state"),
        }
    }
}

/// An operation: how it computes, and its rules under every transform.
///
/// `forward` gets values without derivative levels. All other methods get values of the level below the one that is
/// being interpreted, and are written in operations, so that each rule can itself be transformed.
pub(crate) trait Op: Send + Sync + 'static {
    /// The name that messages use.
    fn name(&self) -> &str;

    /// What tells this operation from others of its name, as a printed graph shows it: the fields of a struct, or nothing.
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        None
    }

    /// True for the code of a user, which a graph holds as one call.
    fn is_function(&self) -> bool {
        false
    }

    /// True if running it changes more than its outputs, so that it runs even if nobody reads them.
    fn has_effect(&self) -> bool {
        false
    }

    /// Computes the outputs.
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs>;

    /// The only output of an operation that always has one.
    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        only(|| self.name(), self.forward(inputs))
    }

    /// False if no output ever depends differentiably on an input (comparisons, `argmax`).
    fn is_differentiable(&self) -> bool {
        true
    }

    /// True if `backward` may be nonlinear in the cotangents, so that lanes of a `vmap` must not share one call.
    fn couples_cotangents(&self) -> bool {
        false
    }

    /// True if `save` may keep numbers that it read from the inputs besides the saved tensors, or does work of its own.
    fn saves_by_value(&self) -> bool {
        false
    }

    /// What the derivative rules will read. `needs` says which inputs are being differentiated. An operation has this method or
    /// [`save_to`](Op::save_to).
    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        self.save_to(needs, inputs, outputs, &mut saved)?;
        Ok(saved)
    }

    /// [`save`](Op::save) to where it stays, into what is empty: to move what was written just now takes as long as for it to
    /// arrive in memory.
    fn save_to(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor], saved: &mut Saved) -> Result<()> {
        *saved = self.save(needs, inputs, outputs)?;
        Ok(())
    }

    /// The cotangent of every input from those of the outputs; anything for an input that is not needed. `needs` is
    /// what `save` was given.
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents>;

    /// The tangent of every output from those of the inputs, of which at least one is not zero.
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents>;

    /// The outputs for all lanes at once; `dims` says where each input carries its lanes. At least one does.
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched>;
}

/// The methods of an operation with one output that never depends differentiably on its inputs.
macro_rules! no_derivative {
    () => {
        fn is_differentiable(&self) -> bool {
            false
        }

        fn save(
            &self,
            _: &[bool],
            _: &[&$crate::Tensor],
            _: &[$crate::Tensor],
        ) -> $crate::Result<$crate::function::Saved> {
            Ok(Default::default())
        }

        fn backward(
            &self,
            _: &$crate::function::Saved,
            needs: &[bool],
            _: &[$crate::function::Cotangent],
        ) -> $crate::Result<$crate::function::op::Cotangents> {
            Ok(needs.iter().map(|_| $crate::function::Cotangent::zero()).collect())
        }

        fn jvp(
            &self,
            _: &$crate::function::Saved,
            _: &[$crate::function::Tangent],
        ) -> $crate::Result<$crate::function::op::Tangents> {
            Ok(smallvec::smallvec![$crate::function::Tangent::zero()])
        }
    };
}
pub(crate) use no_derivative;

/// A shared operation. Those without parameters are statics and cost nothing to share.
#[derive(Clone)]
pub(crate) enum OpRef {
    Static(&'static dyn Op),
    Shared(Arc<dyn Op>),
}

impl OpRef {
    pub(crate) fn new(op: impl Op) -> OpRef {
        OpRef::Shared(Arc::new(op))
    }
}

impl Deref for OpRef {
    type Target = dyn Op;

    #[inline]
    fn deref(&self) -> &dyn Op {
        match self {
            OpRef::Static(op) => *op,
            OpRef::Shared(op) => &**op,
        }
    }
}

/// The types of some tensors.
pub(crate) fn types(tensors: &[Tensor]) -> Box<[TensorType]> {
    tensors.iter().map(Tensor::ty).collect()
}
