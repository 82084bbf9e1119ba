//! A loop over slices that carries a state and returns one result per step.

use std::sync::Arc;

use super::lanes::check_same;
use crate::error::{Context as _, bail};
use crate::transforms::checkpoint::checkpoint;
use crate::tree::{leaves, path_of, try_map};
use crate::{Result, Tensor, Tree, cat, stack};

/// The last carry and the stacked results of `f(&carry, &x) -> (carry, y)`, called for each slice `x` of `xs` in order.
///
/// The slices are those of every tensor of `xs` along dimension 0, which is dropped. The results of the steps are stacked
/// along a new dimension 0.
///
/// # Shapes and dtypes
/// All tensors of `xs` have the same size in dimension 0. `f` keeps the structure and the types of the carry, and returns
/// results of the same structure and types in every step. For no slices, `f` is called once, on zeros in place of the
/// slice, to know the types of the results; what it returns is dropped.
///
/// # Derivative
/// That of the steps, in both modes. Reverse mode records each, so its memory grows with their number;
/// [`Scan::checkpoint`] makes it grow with the square root.
///
/// # Errors
/// `Shape` if the sizes of dimension 0 differ; `Dim` for a tensor without one; `Arity` if there is no tensor in `xs` (see
/// [`Scan::length`]); `Arity`, `Shape` or `Dtype` if a step changes the structure or a type; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad, scan};
///
/// // Running sums, and their last value.
/// let sums = |x: &Tensor| scan(|sum: &Tensor, x: &Tensor| Ok((sum + x, sum + x)), &Tensor::from(0.0), x);
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let (last, all) = sums(&x)?;
/// assert_eq!((last.item::<f64>()?, all.to_vec::<f64>()?), (6.0, vec![1.0, 3.0, 6.0]));
/// assert_eq!(grad(|x: &Tensor| sums(x)?.1.sum())(&x)?.to_vec::<f64>()?, [3.0, 2.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn scan<C: Tree, X: Tree, Y: Tree>(f: impl Fn(&C, &X) -> Result<(C, Y)>, init: &C, xs: &X) -> Result<(C, Y)> {
    Scan::new().run(f, init, xs)
}

/// Options for [`scan`].
///
/// ```
/// use pullback::{Scan, Tensor, grad};
/// let decay = |x: &Tensor| {
///     let step = |x: &Tensor, _: &()| Ok((x * 0.5, ()));
///     Ok(Scan::new().length(100).checkpoint(10).run(step, x, &())?.0)
/// };
/// assert_eq!(grad(decay)(&Tensor::from(1.0))?.item::<f64>()?, 0.5f64.powi(100));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan<M = Recorded> {
    length: Option<usize>,
    reverse: bool,
    mode: M,
}

/// A [`Scan`] of which reverse mode records every step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded;

/// A [`Scan`] of which reverse mode records parts, whose steps run again in the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Checkpointed {
    steps: Option<usize>,
}

impl Scan {
    /// No options: the same as [`scan`].
    pub fn new() -> Scan {
        Scan::default()
    }

    /// Records only the carry after every `steps` steps; the backward pass runs these steps again. `None` stands for the
    /// square root of their number, for which the memory is least.
    ///
    /// The steps may then run after the scan has ended, so the closure must own what it captures. See
    /// [`checkpoint`](crate::checkpoint()) for what is right inside.
    #[must_use]
    pub fn checkpoint(self, steps: impl Into<Option<usize>>) -> Scan<Checkpointed> {
        Scan { length: self.length, reverse: self.reverse, mode: Checkpointed { steps: steps.into() } }
    }

    /// Runs the loop. See [`scan`].
    ///
    /// # Errors
    /// As [`scan`].
    pub fn run<C: Tree, X: Tree, Y: Tree>(
        self,
        f: impl Fn(&C, &X) -> Result<(C, Y)>,
        init: &C,
        xs: &X,
    ) -> Result<(C, Y)> {
        self.recorded(&f, init, xs).context(|| "scan".into())
    }

    pub(super) fn recorded<C: Tree, X: Tree, Y: Tree>(
        self,
        f: &dyn Fn(&C, &X) -> Result<(C, Y)>,
        init: &C,
        xs: &X,
    ) -> Result<(C, Y)> {
        match length(xs, self.length)? {
            0 => Ok((init.clone(), no_steps(f, init, xs)?)),
            n => steps(f, init, xs, n, self.reverse),
        }
    }
}

impl<M> Scan<M> {
    /// The number of steps: needed if `xs` has no tensors, and checked otherwise.
    #[must_use]
    pub fn length(mut self, length: usize) -> Scan<M> {
        self.length = Some(length);
        self
    }

    /// Takes the slices from the last to the first if `reverse` is true. The result of a step is stacked where its slice
    /// was.
    #[must_use]
    pub fn reverse(mut self, reverse: bool) -> Scan<M> {
        self.reverse = reverse;
        self
    }
}

impl Scan<Checkpointed> {
    /// Runs the loop. See [`scan`] and [`Scan::checkpoint`].
    ///
    /// # Errors
    /// As [`scan`]; `Value` for parts of 0 steps; those of [`checkpoint`](crate::checkpoint()).
    pub fn run<C: Tree, X: Tree, Y: Tree>(
        self,
        f: impl Fn(&C, &X) -> Result<(C, Y)> + Send + Sync + 'static,
        init: &C,
        xs: &X,
    ) -> Result<(C, Y)> {
        self.parts(Arc::new(f), init, xs).context(|| "scan".into())
    }

    fn parts<C: Tree, X: Tree, Y: Tree>(
        self,
        f: Arc<impl Fn(&C, &X) -> Result<(C, Y)> + Send + Sync + 'static>,
        init: &C,
        xs: &X,
    ) -> Result<(C, Y)> {
        let n = length(xs, self.length)?;
        if n == 0 {
            return Ok((init.clone(), no_steps(&*f, init, xs)?));
        }
        let size = match self.mode.steps {
            Some(0) => bail!(Value, "expected a `checkpoint` after at least one step, got 0"),
            Some(size) => size.min(n),
            None => (n as f64).sqrt().ceil() as usize,
        };
        let columns: Vec<Vec<Tensor>> = leaves(xs).into_iter().map(|t| t.split(size, 0)).collect::<Result<_>>()?;
        let reverse = self.reverse;
        let mut order: Vec<usize> = (0..n.div_ceil(size)).collect();
        if reverse {
            order.reverse();
        }
        let (mut carry, mut results) = (init.clone(), Vec::new());
        for k in order {
            let (f, len) = (f.clone(), size.min(n - k * size));
            let part = checkpoint(move |(carry, xs): &(C, X)| steps(&*f, carry, xs, len, reverse));
            let (next, ys) = part(&(carry, slice(xs, &columns, k)?))?;
            carry = next;
            results.push(ys);
        }
        Ok((carry, join(results, reverse, |column| cat(column, 0))?))
    }
}

/// How many slices `xs` has.
fn length<X: Tree>(xs: &X, given: Option<usize>) -> Result<usize> {
    let tensors = leaves(xs);
    let mut sizes = Vec::new();
    for (k, t) in tensors.iter().enumerate() {
        match t.shape().first() {
            Some(&size) => sizes.push(size),
            None => bail!(
                Dim,
                "expected tensors with a dimension to take slices of, got {} at xs{}",
                t.ty(),
                path_of(xs, k)
            ),
        }
    }
    let Some(n) = given.or(sizes.first().copied()) else {
        bail!(Arity, "expected at least one tensor to take slices of, got none"; help = "give the number of steps with \
            `length`");
    };
    if sizes.iter().all(|&size| size == n) {
        return Ok(n);
    }
    let mut list: Vec<String> = tensors
        .iter()
        .enumerate()
        .map(|(k, t)| format!("xs{} has {} ({})", path_of(xs, k), sizes[k], t.ty()))
        .collect();
    if let Some(n) = given {
        list.push(format!("`length` is {n}"));
    }
    bail!(Shape, "expected one size of dim 0, got different ones: {}", list.join(", "))
}

/// The tree of the parts number `k`, of which there is a column for each tensor.
fn slice<X: Tree>(xs: &X, columns: &[Vec<Tensor>], k: usize) -> Result<X> {
    let mut columns = columns.iter();
    try_map(xs, &mut |t| match columns.next().and_then(|column| column.get(k)) {
        Some(part) => Ok(part.clone()),
        None => bail!(Internal, "there is no part {k} of {}", t.ty()),
    })
}

/// The tree that `join` makes of the tensors at the same place of all results.
fn join<Y: Tree>(mut results: Vec<Y>, reverse: bool, join: impl Fn(&[&Tensor]) -> Result<Tensor>) -> Result<Y> {
    if reverse {
        results.reverse();
    }
    let Some(first) = results.first() else { bail!(Internal, "there are no results to put together") };
    let columns: Vec<Vec<&Tensor>> = results.iter().map(leaves).collect();
    let mut k = 0;
    try_map(first, &mut |_| {
        let column: Vec<&Tensor> = columns.iter().filter_map(|tensors| tensors.get(k).copied()).collect();
        k += 1;
        join(&column)
    })
}

/// Makes `n` steps, at least one.
fn steps<C: Tree, X: Tree, Y: Tree>(
    f: &dyn Fn(&C, &X) -> Result<(C, Y)>,
    init: &C,
    xs: &X,
    n: usize,
    reverse: bool,
) -> Result<(C, Y)> {
    // One operation for all slices, so that its transpose is one stack.
    let columns: Vec<Vec<Tensor>> = leaves(xs).into_iter().map(|t| t.unbind(0)).collect::<Result<_>>()?;
    let (mut carry, mut results) = (init.clone(), Vec::with_capacity(n));
    for step in 0..n {
        let k = if reverse { n - 1 - step } else { step };
        let (next, y) = f(&carry, &slice(xs, &columns, k)?)?;
        check_same((&carry, "before a step"), (&next, "as the carry from it"))?;
        if let Some(first) = results.first() {
            check_same((first, "as the result of the first step"), (&y, "of a later one"))?;
        }
        carry = next;
        results.push(y);
    }
    Ok((carry, join(results, reverse, |column| stack(column, 0))?))
}

/// The stacked results of no steps.
fn no_steps<C: Tree, X: Tree, Y: Tree>(f: &dyn Fn(&C, &X) -> Result<(C, Y)>, init: &C, xs: &X) -> Result<Y> {
    let x = try_map(xs, &mut |t| Tensor::zeros(&t.shape()[1..], t.dtype()))?;
    let (carry, y) = f(&init.try_map(Tensor::detach)?, &x)?;
    check_same((init, "before a step"), (&carry, "as the carry from it"))?;
    try_map(&y, &mut |t| Tensor::zeros(&[&[0], t.shape()].concat(), t.dtype()))
}
