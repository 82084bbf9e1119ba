//! One derivative rule from the other: a linear map is transposed by recording it once and walking back.

use super::context::{Context, Deriving};
use super::erased::{check_rule_value, check_structure, place, sum_broadcast};
use super::{Cotangent, Cotangents, Function, Tangents};
use crate::error::{Context as _, bail};
use crate::interp::level::OpenLevel;
use crate::interp::{Frame, Method, reverse};
use crate::tree::{Leaf, leaves};
use crate::{Result, TensorType, Tree};

/// The result of the missing rule of one call.
///
/// `known` is the rule that exists, `method` of a function, from `A` to `B`; the derived one goes from `B` to `A`.
/// `seeds` are what the derived rule was given; `wanted` says for which parts of `A` a result is needed.
fn transpose<A: Tree, B: Tree>(
    (name, method): (&str, Method),
    saved: &impl Tree,
    from: &A::Mapped<TensorType>,
    wanted: &dyn Fn(usize) -> bool,
    to: &B::Mapped<TensorType>,
    seeds: &B::Mapped<Cotangent>,
    known: impl FnOnce(A::Mapped<Cotangent>) -> Result<B::Mapped<Cotangent>>,
) -> Result<A::Mapped<Cotangent>> {
    let open = OpenLevel::for_transposing();
    let (mut k, mut n, mut failed) = (0, 0, None);
    // The rule is linear, so where it is recorded does not matter: at zero.
    let arguments = A::map_mapped(from, &mut |ty: &TensorType| {
        let index = k;
        k += 1;
        let mut zero = Cotangent::zero();
        zero.set_type(ty);
        if !ty.dtype.is_float() || !wanted(index) {
            return zero;
        }
        match zero.tensor() {
            Ok(t) => Cotangent::from(reverse::input(open.level(), index, t)),
            Err(e) => {
                failed.get_or_insert(e);
                zero
            }
        }
    });
    n += k;
    if let Some(e) = failed {
        return Err(e);
    }
    let kinds = if method == Method::Backward { ["cotangent", "input"] } else { ["tangent", "output"] };
    let given = collect::<A, Cotangent>(&arguments);
    let mut read = leaves(saved).into_iter().chain(given.iter().filter_map(Cotangent::as_tensor));
    let mut roots = Vec::new();
    Frame::run(name, method, &mut read, || {
        let found = known(arguments)?;
        check_structure::<B, _, _>(to, &found, kinds)?;
        let (others, types) = (collect::<A, _>(from), collect::<B, _>(to));
        let seeds = collect::<B, _>(seeds);
        for (k, ((mut value, ty), seed)) in collect::<B, _>(&found).into_iter().zip(&types).zip(seeds).enumerate() {
            let Some(seed) = seed.into_tensor() else { continue };
            if method == Method::Backward {
                value = sum_broadcast(value, ty, || types.iter().chain(&others).map(|ty| &ty.shape[..]))?;
            }
            check_rule_value(kinds[0], kinds[1], k, &value, ty, true)?;
            if let Some(t) = value.into_tensor()
                && let (_, Some(edge)) = reverse::unwrap(open.level(), t)
            {
                roots.push((edge, seed));
            }
        }
        Ok(())
    })
    .context(|| place(name, method))?;
    drop(open);
    let mut results = reverse::backward(roots, n)?.into_iter();
    Ok(A::map_mapped(from, &mut |_: &TensorType| {
        results.next().flatten().map_or_else(Cotangent::zero, Cotangent::from)
    }))
}

fn collect<T: Tree, L: Leaf>(mapped: &T::Mapped<L>) -> Vec<L> {
    super::context::collect::<T, L>(mapped)
}

#[cold]
fn both_missing<T>(name: &str) -> Result<T> {
    bail!(MissingRule, "function `{name}` has neither `backward` nor `jvp`, so it has no derivative"; help = "implement \
        one of them; the other one is derived from it")
}

/// The tangents of the outputs, from `backward`.
pub(super) fn jvp_from_backward<F: Function>(
    function: &F,
    ctx: &Context<F>,
    saved: &F::Saved,
    tangents: Tangents<F::Inputs>,
) -> Result<Tangents<F::Outputs>> {
    if ctx.deriving.is_some() {
        return both_missing(function.name());
    }
    let inner = ctx.deriving(Deriving::Jvp);
    transpose::<F::Outputs, F::Inputs>(
        (function.name(), Method::Backward),
        saved,
        &ctx.facts.outputs,
        &|k| !ctx.marks.non_differentiable.contains(&k),
        &ctx.facts.inputs,
        &tangents,
        |grads| function.backward(&inner, saved, grads),
    )
}

/// The cotangents of the inputs, from `jvp`.
pub(super) fn backward_from_jvp<F: Function>(
    function: &F,
    ctx: &Context<F>,
    saved: &F::Saved,
    grads: Cotangents<F::Outputs>,
) -> Result<Cotangents<F::Inputs>> {
    if ctx.deriving.is_some() {
        return both_missing(function.name());
    }
    let inner = ctx.deriving(Deriving::Backward);
    let needs = collect::<F::Inputs, bool>(&ctx.facts.needs);
    transpose::<F::Inputs, F::Outputs>(
        (function.name(), Method::Jvp),
        saved,
        &ctx.facts.inputs,
        &|k| needs[k],
        &ctx.facts.outputs,
        &grads,
        |tangents: Tangents<F::Inputs>| -> Result<Tangents<F::Outputs>> { function.jvp(&inner, saved, tangents) },
    )
}
