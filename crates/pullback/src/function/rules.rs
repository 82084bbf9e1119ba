//! Batching rules that a [`Function`] can choose from by name.
//!
//! Each is an error of kind [`Rule`](crate::ErrorKind::Rule) if `in_dims` has not one dim for each input, or an input has not
//! as many lanes there as `info` says. Random numbers are an error where the strategy does not keep to the policy of the `vmap`;
//! see [`Batching`].

use super::batching::undrawn;
use super::context::collect;
use super::{Batching, Dims, Function, VmapInfo, erased};
use crate::error::{Context as _, bail};
use crate::interp::batch;
use crate::tree::leaves;
use crate::{Result, Tensor, Tree};

/// The generated rule, which is the default body of [`Function::vmap`]: `forward`, `setup_context`, `backward` and
/// `jvp` run under a batch level, where they see one lane, and the cotangent of an input that is the same for all
/// lanes is summed over them.
///
/// The methods must be written in tensor operations; reading raw data in them is an error.
pub fn generated<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    let dims = lane_dims("generated", function, info, &in_dims, inputs)?;
    in_front(erased::apply_generated(function, info, &dims, inputs)?)
}

/// A loop: the function is applied to one lane after the other and the results are stacked.
///
/// Right for every function, also one that calls code outside this crate; the cost is one call per lane.
///
/// For zero lanes, the function is applied to a lane of zeros, to know the types of the results.
///
/// # Errors
/// `Shape` for zero lanes if the function refuses zeros; `Arity`, `Shape` or `Dtype` if lanes have results of different
/// structures or types.
///
/// ```
/// use pullback::function::rules;
/// use pullback::{Context, Cotangent, Dims, Function, Result, Tensor, VmapInfo, vmap};
///
/// #[derive(Clone)]
/// struct Median;
/// impl Function for Median {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///     type Saved = ();
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         let mut v = x.to_vec::<f64>()?;
///         v.sort_by(f64::total_cmp);
///         Ok(Tensor::from(v[v.len() / 2]))
///     }
///     fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
///         Ok(())
///     }
///     fn vmap(&self, info: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
///         rules::per_example(self, info, in_dims, x)
///     }
/// }
/// let x = Tensor::from([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]]);
/// assert_eq!(vmap(|row: &Tensor| Median.apply(row))(&x)?.to_vec::<f64>()?, [2.0, 8.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn per_example<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    by_name(Batching::Loop, function, info, in_dims, inputs)
}

/// One call for all lanes, with the lanes as the first dimension of every input and output: for functions that accept any
/// number of leading dimensions and treat what lies along them alike. An input that all lanes share is repeated.
///
/// The repetition is a view, and its derivative sums over the lanes. Nested `vmap`s add one dimension each.
///
/// # Errors
/// Whatever the function reports. An output that does not have the lanes in front is refused by the caller of `vmap`.
///
/// ```
/// use pullback::function::rules;
/// use pullback::{Context, Cotangent, Dims, Function, Result, Tensor, Vmap, VmapInfo};
///
/// /// The dot product along the last dimension.
/// #[derive(Clone)]
/// struct Dot;
/// impl Function for Dot {
///     type Inputs = (Tensor, Tensor);
///     type Outputs = Tensor;
///     type Saved = (Tensor, Tensor);
///     fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
///         let n = x.shape()[x.rank() - 1];
///         let (a, b) = (x.to_vec::<f64>()?, y.to_vec::<f64>()?);
///         let rows = a.chunks(n).zip(b.chunks(n));
///         let dots: Vec<f64> = rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
///         Tensor::from_slice(&dots, &x.shape()[..x.rank() - 1])
///     }
///     fn setup_context(&self, _: &mut Context<Self>, inputs: &(Tensor, Tensor), _: &Tensor) -> Result<Self::Saved> {
///         Ok(inputs.clone())
///     }
///     fn backward(&self, _: &Context<Self>, (x, y): &Self::Saved, g: Cotangent) -> Result<(Cotangent, Cotangent)> {
///         let g = g.map(|g| g.unsqueeze(-1))?;
///         Ok((&g * y, &g * x))
///     }
///     fn vmap(&self, info: &VmapInfo, in_dims: Dims<Self::Inputs>, inputs: &Self::Inputs) -> Result<(Tensor, Dims<Tensor>)> {
///         rules::leading_dims(self, info, in_dims, inputs)
///     }
/// }
///
/// let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let y = Vmap::new().in_dims((0, None)).of(|x: &(Tensor, Tensor)| Dot.apply(x))(&(rows, Tensor::from([1.0, 10.0])))?;
/// assert_eq!(y.to_vec::<f64>()?, [21.0, 43.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn leading_dims<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    by_name(Batching::LeadingDims, function, info, in_dims, inputs)
}

/// As [`leading_dims`], but an input that all lanes share gets a leading dimension of size 1 instead of being repeated:
/// for functions that broadcast along it. Their `backward` sums over it, as for every dimension that was broadcast.
///
/// # Errors
/// As [`leading_dims`].
pub fn expand<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    by_name(Batching::Expand, function, info, in_dims, inputs)
}

/// One call for all lanes of a function that computes each element of its outputs from the elements of its inputs at the
/// same place, with or without broadcasting.
///
/// Where all inputs have the same rank and carry their lanes along the same dimension, nothing moves. Otherwise lanes go in
/// front, and inputs of lower rank get dimensions of size 1 behind the lanes, so that lanes broadcast against each other
/// as they do one by one.
///
/// # Errors
/// Whatever the function reports. An output that does not carry the lanes is refused by the caller of `vmap`.
///
/// ```
/// use pullback::function::rules;
/// use pullback::{Context, Cotangent, Dims, Function, Result, Tensor, VmapInfo, vmap};
///
/// #[derive(Clone)]
/// struct Logistic;
/// impl Function for Logistic {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///     type Saved = Tensor;
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         let y: Vec<f64> = x.to_vec::<f64>()?.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
///         Tensor::from_slice(&y, x.shape())
///     }
///     fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &Tensor) -> Result<Tensor> {
///         Ok(y.clone())
///     }
///     fn backward(&self, _: &Context<Self>, y: &Tensor, g: Cotangent) -> Result<Cotangent> {
///         Ok(g * (y - y * y))
///     }
///     fn vmap(&self, info: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
///         rules::elementwise(self, info, in_dims, x)
///     }
/// }
/// assert_eq!(vmap(|x: &Tensor| Logistic.apply(x))(&Tensor::from([0.0, 0.0]))?.to_vec::<f64>()?, [0.5, 0.5]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn elementwise<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    let dims = lane_dims("elementwise", function, info, &in_dims, inputs)?;
    let tensors = leaves(inputs);
    let _undrawn = undrawn(info, "elementwise", false);
    if let (Some(Some(dim)), Some(first)) = (dims.first(), tensors.first())
        && dims.iter().all(|d| *d == Some(*dim))
        && tensors.iter().all(|t| t.rank() == first.rank())
    {
        let outputs = function.apply(inputs)?;
        let out_dims = outputs.map(&mut |_| Some(*dim));
        return Ok((outputs, out_dims));
    }
    let full: Vec<Tensor> =
        tensors.iter().zip(&dims).map(|(t, d)| batch::materialize(t, *d, info.batch_size)).collect::<Result<_>>()?;
    let lanes = vec![Some(0); full.len()];
    let mut aligned = batch::align(&lanes, &full.iter().collect::<Vec<_>>())?.into_iter();
    in_front(function.apply(&crate::tree::try_map(inputs, &mut |t| Ok(aligned.next().unwrap_or_else(|| t.clone())))?)?)
}

/// One call for all lanes of a function whose inputs and outputs all have rows along dimension 0 that it treats alike: the
/// lanes become more rows. `n` lanes of `b` rows are `[n·b, …]`; an input that all lanes share is repeated.
///
/// # Errors
/// `Rule` for an input without rows, and for an output whose number of rows is not a multiple of the number of lanes.
///
/// ```
/// use pullback::function::rules;
/// use pullback::{Context, Dims, Function, Result, Tensor, VmapInfo, vmap};
///
/// /// The sum of each row of a matrix, by code that knows matrices only.
/// #[derive(Clone)]
/// struct RowSums;
/// impl Function for RowSums {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///     type Saved = ();
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         assert_eq!(x.rank(), 2);
///         x.sum_dims(&[1], false)
///     }
///     fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
///         Ok(())
///     }
///     fn vmap(&self, info: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
///         rules::flatten(self, info, in_dims, x)
///     }
/// }
/// let x = Tensor::from([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]], [[9.0, 10.0], [11.0, 12.0]]]);
/// assert_eq!(vmap(|x: &Tensor| RowSums.apply(x))(&x)?.to_vec::<f64>()?, [3.0, 7.0, 11.0, 15.0, 19.0, 23.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn flatten<F: Function>(
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    by_name(Batching::Flatten, function, info, in_dims, inputs)
}

/// A strategy for a function.
pub(super) fn by_name<F: Function>(
    batching: Batching,
    function: &F,
    info: &VmapInfo,
    in_dims: Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<(F::Outputs, Dims<F::Outputs>)> {
    let dims = lane_dims(batching.rule(), function, info, &in_dims, inputs)?;
    in_front(batching.lanes_first(info, &dims, inputs, |x| function.apply(x))?)
}

/// The batch dims of the inputs in order; an error unless each has its lanes there.
fn lane_dims<F: Function>(
    rule: &str,
    _: &F,
    info: &VmapInfo,
    in_dims: &Dims<F::Inputs>,
    inputs: &F::Inputs,
) -> Result<Vec<Option<usize>>> {
    let place = || format!("rules::{rule}");
    erased::check_structure::<F::Inputs, (), _>(&inputs.map(&mut |_| ()), in_dims, ["batch dim", "input"])
        .context(place)?;
    let (dims, n) = (collect::<F::Inputs, Option<usize>>(in_dims), info.batch_size);
    let (mut k, mut wrong) = (0, None);
    inputs.visit(&mut |t| {
        if let Some(dim) = dims[k].filter(|dim| wrong.is_none() && t.shape().get(*dim) != Some(&n)) {
            wrong = Some((k, dim, t.ty()));
        }
        k += 1;
    });
    match wrong {
        None => Ok(dims),
        Some((k, dim, ty)) if dim < ty.shape.len() => {
            bail!(Rule, "{}: expected {n} lanes along dim {dim} of input {k}, got {} ({ty})", place(), ty.shape[dim];
                help = "pass the dims on that the batching rule is given, or those to which lanes were moved")
        }
        Some((k, dim, ty)) => bail!(Rule, "{}: batch dim {dim} of input {k} is out of range for {ty}", place()),
    }
}

/// Outputs with the lanes along dimension 0.
fn in_front<T: Tree>(outputs: T) -> Result<(T, Dims<T>)> {
    let out_dims = outputs.map(&mut |_| Some(0));
    Ok((outputs, out_dims))
}
