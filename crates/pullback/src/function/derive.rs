//! One derivative rule from the other: a linear map is transposed by recording it once and walking back.

use super::context::{Context, Deriving};
use super::erased::{check_rule_value, check_structure, place, sum_broadcast};
use super::{Cotangent, Cotangents, Function, Tangent, Tangents};
use crate::error::{Context as _, bail};
use crate::interp::level::{OpenLevel, Sealed};
use crate::interp::{Frame, LevelKind, Method, WrittenAs, forward, reverse};
use crate::kernels::cast::cast;
use crate::kernels::copy::contiguous;
use crate::random::without_generators;
use crate::tensor::Repr;
use crate::tree::{Leaf, leaves, try_map};
use crate::{Complex64, DType, Result, Tensor, TensorType, Tree};

/// The result of the missing rule of one call.
///
/// `known` is the rule that exists, `method` of a function, from `A` to `B`; the derived one goes from `B` to `A`.
/// `seeds` are what the derived rule was given; `wanted` says for which parts of `A` a result is needed.
fn transpose<A: Tree, B: Tree>(
    (name, method, written, part): (&str, Method, WrittenAs, &dyn Fn(&str, usize) -> String),
    saved: &impl Tree,
    from: &A::Mapped<TensorType>,
    wanted: &dyn Fn(usize) -> bool,
    to: &B::Mapped<TensorType>,
    seeds: &B::Mapped<Cotangent>,
    known: impl FnOnce(A::Mapped<Cotangent>) -> Result<B::Mapped<Cotangent>>,
) -> Result<A::Mapped<Cotangent>> {
    let open = OpenLevel::sealed(LevelKind::Reverse, Sealed::Transposing);
    let (mut k, mut n, mut failed) = (0, 0, None);
    // The rule is linear, so where it is recorded does not matter: at zero.
    let arguments = A::map_mapped(from, &mut |ty: &TensorType| {
        let index = k;
        k += 1;
        let mut zero = Cotangent::zero();
        zero.set_type(ty);
        if !ty.dtype.is_differentiable() || !wanted(index) {
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
    Frame::run(name, method, written, &mut read, || {
        let found = known(arguments)?;
        check_structure::<B, _, _>(to, &found, kinds)?;
        let (others, types) = (collect::<A, _>(from), collect::<B, _>(to));
        let seeds = collect::<B, _>(seeds);
        for (k, ((mut value, ty), seed)) in collect::<B, _>(&found).into_iter().zip(&types).zip(seeds).enumerate() {
            let Some(seed) = seed.into_tensor() else { continue };
            if method == Method::Backward {
                value = sum_broadcast(value, ty, || types.iter().chain(&others).map(|ty| &ty.shape[..]))?;
            }
            check_rule_value(kinds[0], &|| part(kinds[1], k), &value, ty, true)?;
            let Some(t) = value.into_tensor() else { continue };
            let (at_zero, edge) = reverse::unwrap(open.level(), t);
            if let Some(found) = nonzero(&at_zero) {
                let (kind, of) = (kinds[0], part(kinds[1], k));
                bail!(Rule, "expected a rule that is linear, so that its transpose exists, got {found} in the {kind} of \
                    {of} when everything it is given is zero"; help = "leave out terms that do not depend on the \
                    (co)tangents, or implement both `backward` and `jvp`");
            }
            roots.extend(edge.map(|edge| (edge, seed)));
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

/// A finite element that is not zero, of a value of any level.
fn nonzero(t: &Tensor) -> Option<f64> {
    let mut t = t;
    let array = loop {
        match t.repr() {
            Repr::Array(array) => break array,
            Repr::Tracer(tracer) => t = tracer.value.inner(),
        }
    };
    let array = contiguous(array);
    let find = |v: f64| v != 0.0 && v.is_finite();
    match array.dtype() {
        DType::F32 => array.as_slice::<f32>()?.iter().map(|&v| f64::from(v)).find(|&v| find(v)),
        DType::F64 => array.as_slice::<f64>()?.iter().copied().find(|&v| find(v)),
        dtype if dtype.is_differentiable() => {
            cast(&array, DType::C128).as_slice::<Complex64>()?.iter().flat_map(|z| [z.re, z.im]).find(|&v| find(v))
        }
        _ => None,
    }
}

fn collect<T: Tree, L: Leaf>(mapped: &T::Mapped<L>) -> Vec<L> {
    super::context::collect::<T, L>(mapped)
}

#[cold]
fn both_missing<T>(name: &str) -> Result<T> {
    bail!(MissingRule, "function `{name}` has neither `backward` nor `jvp`, so it has no derivative"; help = "implement \
        one of them; the other one is derived from it")
}

/// The default body of [`Function::jvp`]: the tangents of the outputs, from `backward`. For functions that know at run time
/// whether they have a rule.
///
/// # Errors
/// `MissingRule` if `backward` is being derived from `jvp` already; those of `backward`.
///
/// ```
/// use pullback::function::jvp_from_backward;
/// use pullback::{Context, Cotangent, Function, Result, Tangent, Tensor, jvp};
///
/// #[derive(Clone)]
/// struct Scale(f64, Option<fn(Tangent, f64) -> Result<Tangent>>);
/// impl Function for Scale {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///     type Saved = ();
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         x.mul(self.0)
///     }
///     fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
///         Ok(())
///     }
///     fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
///         Ok(g * self.0)
///     }
///     fn jvp(&self, ctx: &Context<Self>, saved: &(), t: Tangent) -> Result<Tangent> {
///         match self.1 {
///             Some(rule) => rule(t, self.0),
///             None => jvp_from_backward(self, ctx, saved, t),
///         }
///     }
/// }
///
/// let (x, t) = (Tensor::from(3.0), Tensor::from(1.0));
/// assert_eq!(jvp(|x: &Tensor| Scale(2.0, None).apply(x), &x, &t)?.1.item::<f64>()?, 2.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jvp_from_backward<F: Function>(
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
        (function.name(), Method::Backward, function.written_as(), &|of, k| function.part(of, k)),
        saved,
        &ctx.facts.outputs,
        &|k| !ctx.marks.non_differentiable.contains(&k),
        &ctx.facts.inputs,
        &tangents,
        |grads| function.backward(&inner, saved, grads),
    )
}

/// The default body of [`Function::backward`]: the cotangents of the inputs, from `jvp`. For functions that know at run time
/// whether they have a rule; [`jvp_from_backward`] is the other direction, with an example.
///
/// # Errors
/// `MissingRule` if `jvp` is being derived from `backward` already; those of `jvp`.
pub fn backward_from_jvp<F: Function>(
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
        (function.name(), Method::Jvp, function.written_as(), &|of, k| function.part(of, k)),
        saved,
        &ctx.facts.inputs,
        &|k| needs[k],
        &ctx.facts.outputs,
        &grads,
        |tangents: Tangents<F::Inputs>| -> Result<Tangents<F::Outputs>> { function.jvp(&inner, saved, tangents) },
    )
}

/// The cotangents of the inputs of a function that has no rule, through the operations that it calls.
pub(crate) fn backward_through<A: Tree, B: Tree>(
    f: impl FnOnce(&A) -> Result<B>,
    inputs: &A,
    needs: &[bool],
    grads: &B::Mapped<Cotangent>,
) -> Result<A::Mapped<Cotangent>> {
    let open = OpenLevel::sealed(LevelKind::Reverse, Sealed::NoRule);
    let mut k = 0;
    let wrapped = try_map(inputs, &mut |t| {
        let index = k;
        k += 1;
        let wanted = needs[index] && t.dtype().is_differentiable();
        Ok(if wanted { reverse::input(open.level(), index, t.clone()) } else { t.clone() })
    })?;
    let outputs = without_generators(|| f(&wrapped))?;
    drop(wrapped);
    let mut roots = Vec::new();
    for (t, grad) in leaves(&outputs).into_iter().zip(collect::<B, _>(grads)) {
        if let (_, Some(edge)) = reverse::unwrap(open.level(), t.clone())
            && let Some(grad) = grad.into_tensor()
        {
            roots.push((edge, grad));
        }
    }
    drop((outputs, open));
    let mut results = reverse::backward(roots, k)?.into_iter();
    Ok(inputs.map(&mut |_| results.next().flatten().map_or_else(Cotangent::zero, Cotangent::from)))
}

/// The tangents of the outputs of a function that has no rule, through the operations that it calls.
pub(crate) fn jvp_through<A: Tree, B: Tree>(
    f: impl FnOnce(&A) -> Result<B>,
    inputs: &A,
    tangents: &A::Mapped<Tangent>,
) -> Result<B::Mapped<Tangent>> {
    let open = OpenLevel::sealed(LevelKind::Forward, Sealed::NoRule);
    let mut tangents = collect::<A, _>(tangents).into_iter();
    let wrapped = try_map(inputs, &mut |t| {
        Ok(match tangents.next().and_then(Tangent::into_tensor) {
            Some(tangent) if t.dtype().is_differentiable() => forward::wrap(open.level(), t.clone(), tangent),
            _ => t.clone(),
        })
    })?;
    let outputs = without_generators(|| f(&wrapped))?;
    Ok(outputs.map(&mut |t| forward::unwrap(open.level(), t).1.map_or_else(Tangent::zero, Tangent::from)))
}
