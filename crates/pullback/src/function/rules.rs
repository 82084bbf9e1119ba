//! Batching rules that a [`Function`] can choose from by name.

use super::context::collect;
use super::{Dims, Function, VmapInfo, erased};
use crate::error::{Context as _, bail};
use crate::{Result, Tree, stack_trees};

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
    let dims = collect::<F::Inputs, Option<usize>>(&in_dims);
    let outputs = erased::apply_generated(function, info, &dims, inputs)?;
    let out_dims = outputs.map(&mut |_| Some(0));
    Ok((outputs, out_dims))
}

/// A loop: the function is applied to one lane after the other and the results are stacked.
///
/// Right for every function, also one that calls code outside this crate; the cost is one call per lane.
///
/// # Errors
/// `Shape` for zero lanes, because the shapes of the results are then unknown; `Arity`, `Shape` or `Dtype` if lanes have
/// results of different structures or types.
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
    let dims = collect::<F::Inputs, Option<usize>>(&in_dims);
    let mut lanes = Vec::with_capacity(info.batch_size);
    for lane in 0..info.batch_size {
        let mut dims = dims.iter();
        let one = crate::tree::try_map(inputs, &mut |t| match dims.next().copied().flatten() {
            Some(d) => t.select(d as isize, lane as isize),
            None => Ok(t.clone()),
        })?;
        lanes.push(function.apply(&one)?);
    }
    if lanes.is_empty() {
        bail!(Shape, "rules::per_example: expected at least one lane, got 0"; help = "write a `vmap` rule that knows \
            the shapes of the outputs")
    }
    let outputs = stack_trees(&lanes).context(|| "rules::per_example: the results of the lanes".to_string())?;
    let out_dims = outputs.map(&mut |_| Some(0));
    Ok((outputs, out_dims))
}
