//! Properties of first and second derivatives.

use super::Part;
use crate::testing::close::{At, Failure, Outcome, all_same, distance, exceeds, fail, inner, values};
use crate::testing::numeric_jvp;
use crate::testing::table::Sample;
use crate::{DType, Result, Tensor, grad, jacfwd, jacrev, jvp, vjp};

/// How far two ways to the same derivative may differ.
const TOLERANCE: f64 = 1e-10;

pub(super) fn rules_fit(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let inputs = &sample.inputs;
    let grads = part.vjp(inputs, &part.cotangents(1)?).at("reverse mode")?;
    for (k, (g, x)) in grads.iter().zip(part.pick(inputs)).enumerate() {
        if g.ty() != x.ty() {
            fail!("the cotangent of input {k} is {}, and the input {}", g.ty(), x.ty());
        }
    }
    let tangents = part.jvp(inputs, &part.tangents(2)?).at("forward mode")?;
    for (k, (t, y)) in tangents.iter().zip(&part.y).enumerate() {
        if t.ty() != y.ty() {
            fail!("the tangent of output {k} is {}, and the output {}", t.ty(), y.ty());
        }
    }
    Ok(())
}

/// Fails unless derivatives agree with those by differences.
fn matches_differences(got: &[Tensor], numeric: &(Vec<Tensor>, Vec<Tensor>)) -> Outcome {
    for (k, (got, (want, error))) in got.iter().zip(numeric.0.iter().zip(&numeric.1)).enumerate() {
        let (got, want, error) = (values(got)?, values(want)?, values(error)?);
        for (i, ((a, n), e)) in got.iter().zip(want).zip(error).enumerate() {
            let scale = n.abs().max(1.0);
            if exceeds(e / scale, 1e-5) {
                fail!(
                    "tensor {k}, element {i}: differences do not converge (error {e:.1e}), and the rule gives {a}; \
                    the sample may lie on a kink, a pole or an edge of the domain"
                );
            }
            if exceeds((a - n).abs(), 1e-8 * scale + 20.0 * e) {
                fail!("tensor {k}, element {i}: the rule gives {a}, differences give {n} (error {e:.1e})");
            }
        }
    }
    Ok(())
}

pub(super) fn jvp_matches_differences(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let x = part.pick(&sample.inputs);
    for seed in [2, 3] {
        let t = part.tangents(seed)?;
        let numeric = numeric_jvp(|x: &Vec<Tensor>| part.eval(&sample.inputs, x), &x, &t)?;
        matches_differences(&part.jvp(&sample.inputs, &t)?, &numeric)?;
    }
    Ok(())
}

/// Fails unless two inner products agree.
fn same_product((a, size_a): (f64, f64), (b, size_b): (f64, f64), names: [&str; 2]) -> Outcome {
    if exceeds(distance(a, b, size_a.max(size_b).max(1e-3)), TOLERANCE) {
        fail!("{} is {a}, but {} is {b}", names[0], names[1]);
    }
    Ok(())
}

pub(super) fn vjp_is_transpose_of_jvp(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    for seed in [1, 5, 9] {
        let (g, t) = (part.cotangents(seed)?, part.tangents(seed + 1)?);
        let forward = inner(&g, &part.jvp(&sample.inputs, &t)?)?;
        let reverse = inner(&part.vjp(&sample.inputs, &g)?, &t)?;
        same_product(forward, reverse, ["the cotangent times the tangent of the output", "the one of the input"])?;
    }
    Ok(())
}

/// `a·x + b·y`, computed outside the library.
fn combination(a: f64, x: &[Tensor], b: f64, y: &[Tensor]) -> Result<Vec<Tensor>> {
    x.iter()
        .zip(y)
        .map(|(x, y)| {
            let sum: Vec<f64> = values(x)?.iter().zip(values(y)?).map(|(x, y)| a * x + b * y).collect();
            Tensor::from_slice(&sum, x.shape())?.to_dtype(x.dtype())
        })
        .collect()
}

/// Fails unless `f(a·x + b·y) = a·f(x) + b·f(y)`, for small and large factors.
fn linear(f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>, x: &[Tensor], y: &[Tensor]) -> Outcome {
    let (at_x, at_y) = (f(x)?, f(y)?);
    for (a, b) in [(-0.7, 1.9), (1e3, -2e3), (1e-3, 2e-3)] {
        let got = f(&combination(a, x, b, y)?)?;
        let want = combination(a, &at_x, b, &at_y)?;
        // Scaled back, so that a small factor is judged as strictly as a large one.
        let back = |list: &[Tensor]| combination(1.0 / b, list, 0.0, list);
        all_same(&back(&got)?, &back(&want)?, TOLERANCE, ["the rule for a sum", "the sum of the rules"])?;
    }
    Ok(())
}

pub(super) fn rules_are_linear(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let inputs = &sample.inputs;
    linear(&|g| part.vjp(inputs, g), &part.cotangents(1)?, &part.cotangents(2)?).at("reverse mode")?;
    linear(&|t| part.jvp(inputs, t), &part.tangents(3)?, &part.tangents(4)?).at("forward mode")
}

fn zeros_like(list: &[Tensor], but: usize) -> Result<Vec<Tensor>> {
    list.iter()
        .enumerate()
        .map(|(k, t)| if k == but { Ok(t.clone()) } else { Tensor::zeros(t.shape(), t.dtype()) })
        .collect()
}

pub(super) fn parts_agree(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let inputs = &sample.inputs;
    let (g, t) = (part.cotangents(1)?, part.tangents(2)?);
    let whole = part.vjp(inputs, &g)?;
    for (k, &input) in part.which.iter().enumerate() {
        // The others are constants here, so their tangents are symbolic zeros and their cotangents are not needed.
        let alone = Part { sample, which: vec![input], outs: part.outs.clone(), y: part.y.clone() };
        let names = ["the derivative by this input alone", "that part of the whole"];
        let place = format!("input {input}");
        all_same(&alone.vjp(inputs, &g)?, &whole[k..=k], TOLERANCE, names).at(&place).at("reverse mode")?;
        let with_zeros = part.jvp(inputs, &zeros_like(&t, k)?)?;
        all_same(&alone.jvp(inputs, &t[k..=k])?, &with_zeros, TOLERANCE, names).at(&place).at("forward mode")?;
    }
    for (k, &output) in part.outs.iter().enumerate() {
        let alone = Part { sample, which: part.which.clone(), outs: vec![output], y: vec![part.y[k].clone()] };
        let names = ["the derivative of this output alone", "that part of the whole"];
        let place = format!("output {output}");
        let with_zeros = part.vjp(inputs, &zeros_like(&g, k)?)?;
        all_same(&alone.vjp(inputs, &g[k..=k])?, &with_zeros, TOLERANCE, names).at(&place).at("reverse mode")?;
        let all = part.jvp(inputs, &t)?;
        all_same(&alone.jvp(inputs, &t)?, &all[k..=k], TOLERANCE, names).at(&place).at("forward mode")?;
    }
    Ok(())
}

pub(super) fn jacobians_agree(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let inputs = &sample.inputs;
    let x = part.pick(inputs);
    let f = |x: &Vec<Tensor>| part.eval(inputs, x);
    let (reverse, forward) = (jacrev(f)(&x)?, jacfwd(f)(&x)?);
    let (_, pull) = vjp(f, &x)?;
    for (k, y) in part.y.iter().enumerate() {
        all_same(&forward[k], &reverse[k], TOLERANCE, ["jacfwd", "jacrev"]).at(format_args!("output {k}"))?;
        // Rows from single cotangents; a few are enough.
        let n = y.numel();
        for row in (0..n).step_by((n / 4).max(1)) {
            let mut unit = vec![0.0; n];
            unit[row] = 1.0;
            let mut g = zeros_like(&part.y, usize::MAX)?;
            g[k] = Tensor::from_slice(&unit, y.shape())?.to_dtype(y.dtype())?;
            for (j, want) in pull.call(&g)?.iter().enumerate() {
                let flat = reverse[k][j].reshape(&[n as isize, -1]);
                // A row without elements cannot be inferred, and has nothing to compare.
                let Ok(flat) = flat else { continue };
                let got = flat
                    .select(0, row as isize)?
                    .reshape(&want.shape().iter().map(|&s| s as isize).collect::<Vec<_>>())?;
                all_same(&[got], std::slice::from_ref(want), TOLERANCE, ["a row of jacrev", "the pullback"])?;
            }
        }
    }
    Ok(())
}

/// A scalar function of the differentiated inputs that depends on every output, and whose second derivative shows
/// those of linear operations too.
pub(super) struct Scalar<'a> {
    part: &'a Part<'a>,
    weights: Vec<Tensor>,
    curvatures: Vec<Tensor>,
}

impl<'a> Scalar<'a> {
    pub(super) fn of(part: &'a Part<'a>) -> Result<Scalar<'a>> {
        Ok(Scalar { part, weights: part.cotangents(7)?, curvatures: part.cotangents(8)? })
    }

    pub(super) fn eval(&self, inputs: &[Tensor], x: &[Tensor]) -> Result<Tensor> {
        let mut total = Tensor::from(0.0);
        for ((y, w), c) in self.part.eval(inputs, x)?.iter().zip(&self.weights).zip(&self.curvatures) {
            let term = y.mul(w)?.add(y.mul(y)?.mul(c)?)?;
            total = total.add(term.sum()?.to_dtype(DType::F64)?)?;
        }
        Ok(total)
    }

    /// The gradient's derivative along `v`, by forward over reverse, reverse over reverse and reverse over forward.
    pub(super) fn nestings(&self, inputs: &[Tensor], v: &[Tensor]) -> std::result::Result<[Vec<Tensor>; 3], Failure> {
        let x = self.part.pick(inputs);
        let v = v.to_vec();
        let phi = |x: &Vec<Tensor>| self.eval(inputs, x);
        let forward_reverse = jvp(|x: &Vec<Tensor>| grad(phi)(x), &x, &v).at("forward over reverse")?.1;
        let reverse_reverse = grad(|x: &Vec<Tensor>| dot(&grad(phi)(x)?, &v))(&x).at("reverse over reverse")?;
        let reverse_forward = grad(|x: &Vec<Tensor>| Ok(jvp(phi, x, &v)?.1))(&x).at("reverse over forward")?;
        Ok([forward_reverse, reverse_reverse, reverse_forward])
    }

    /// The second derivative along `v` and `w`, by forward over forward.
    pub(super) fn twice_forward(&self, inputs: &[Tensor], v: &[Tensor], w: &[Tensor]) -> Result<Tensor> {
        let phi = |x: &Vec<Tensor>| self.eval(inputs, x);
        Ok(jvp(|x: &Vec<Tensor>| Ok(jvp(phi, x, &v.to_vec())?.1), &self.part.pick(inputs), &w.to_vec())?.1)
    }
}

/// The inner product as an operation.
fn dot(a: &[Tensor], b: &[Tensor]) -> Result<Tensor> {
    let mut total = Tensor::from(0.0);
    for (a, b) in a.iter().zip(b) {
        total = total.add(a.mul(b)?.sum()?)?;
    }
    Ok(total)
}

pub(super) fn second_order(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let phi = Scalar::of(&part)?;
    let inputs = &sample.inputs;
    let x = part.pick(inputs);
    let (v, w) = (part.tangents(11)?, part.tangents(12)?);
    let [first, second, third] = phi.nestings(inputs, &v)?;
    let numeric = numeric_jvp(|x: &Vec<Tensor>| grad(|x: &Vec<Tensor>| phi.eval(inputs, x))(x), &x, &v)?;
    matches_differences(&first, &numeric).at("forward over reverse")?;
    matches_differences(&second, &numeric).at("reverse over reverse")?;
    matches_differences(&third, &numeric).at("reverse over forward")?;
    all_same(&second, &first, TOLERANCE, ["reverse over reverse", "forward over reverse"])?;
    all_same(&third, &first, TOLERANCE, ["reverse over forward", "forward over reverse"])?;
    let twice = phi.twice_forward(inputs, &v, &w).at("forward over forward")?.item::<f64>()?;
    same_product((twice, twice.abs()), inner(&first, &w)?, ["forward over forward", "forward over reverse"])?;
    // One direction at a time: zero tangents of the other inputs stay symbolic.
    for (k, &input) in part.which.iter().enumerate().filter(|_| part.which.len() > 1) {
        let alone = Part { sample, which: vec![input], outs: part.outs.clone(), y: part.y.clone() };
        let alone = Scalar { part: &alone, weights: phi.weights.clone(), curvatures: phi.curvatures.clone() };
        let whole = phi.nestings(inputs, &zeros_like(&v, k)?)?;
        for (got, want) in alone.nestings(inputs, &v[k..=k])?.iter().zip(&whole) {
            all_same(got, &want[k..=k], TOLERANCE, ["second order by this input alone", "that part of the whole"])
                .at(format_args!("input {input}"))?;
        }
    }
    Ok(())
}

pub(super) fn third_order(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let phi = Scalar::of(&part)?;
    let x = part.pick(&sample.inputs);
    let along: Vec<Vec<Tensor>> = (21..24).map(|seed| part.tangents(seed)).collect::<Result<_>>()?;
    let at = |x: &Vec<Tensor>| phi.eval(&sample.inputs, x);
    let numeric = numeric_jvp(|x: &Vec<Tensor>| mixed(&at, &[true, false], &along, x), &x, &along[2])?;
    let (want, error) = (numeric.0.item::<f64>()?, numeric.1.item::<f64>()?);
    let mut first = None;
    for bits in 0..8 {
        let modes = [bits & 1 == 1, bits & 2 == 2, bits & 4 == 4];
        let names = modes.map(|reverse| if reverse { "reverse" } else { "forward" }).join(" in ");
        let got = mixed(&at, &modes, &along, &x).at(&names)?.item::<f64>()?;
        let scale = got.abs().max(1.0);
        if exceeds((got - want).abs(), 1e-8 * scale + 20.0 * error) {
            fail!("{names}: {got}, and differences give {want} (error {error:.1e})");
        }
        let first = *first.get_or_insert(got);
        if exceeds((got - first).abs(), 1e-9 * scale) {
            fail!("{names}: {got}, and forward in forward in forward {first}");
        }
    }
    Ok(())
}

/// The derivative of `f` along one direction after the other, each in reverse or in forward mode, the innermost first.
fn mixed(
    f: &dyn Fn(&Vec<Tensor>) -> Result<Tensor>,
    reverse: &[bool],
    along: &[Vec<Tensor>],
    x: &Vec<Tensor>,
) -> Result<Tensor> {
    let Some((&last, before)) = reverse.split_last() else { return f(x) };
    let inner = |x: &Vec<Tensor>| mixed(f, before, along, x);
    let v = &along[before.len()];
    if last { dot(&grad(inner)(x)?, v) } else { Ok(jvp(inner, x, v)?.1) }
}
