//! Properties of graphs: replaying what was captured gives what the call gives, alone and nested with other transforms, and
//! so does pushing tangents through what was linearized.

use super::Part;
use crate::testing::close::{At, Failure, Outcome, all_same, fail};
use crate::testing::lanes::{directions, join, lane};
use crate::testing::table::Sample;
use crate::{Result, Tensor, capture, linearize, vmap};

/// How far results may differ: a replay may add in another order than code that saw concrete values.
const TOLERANCE: f64 = 1e-11;

const NAMES: [&str; 2] = ["the graph's result", "the function's result"];

type Function<'a> = &'a dyn Fn(&Vec<Tensor>) -> Result<Vec<Tensor>>;

/// Fails unless the graph of `f` at one point is whole and prints, and gives what `f` gives there and at others.
fn replays(f: Function<'_>, at: &Vec<Tensor>, others: &[Vec<Tensor>]) -> Outcome {
    let graph = capture(f)(at).at("capturing")?;
    graph.verify().at("verifying")?;
    let text = graph.to_string();
    if !text.starts_with("graph(") || !text.ends_with('}') {
        fail!("the graph is printed as {text}");
    }
    if let Some(op) = graph.undescribed() {
        fail!("`{op}` has parameters that the graph does not show; let `Op::parameters` return them");
    }
    for (k, x) in std::iter::once(at).chain(others).enumerate() {
        let place = format!("inputs {k}");
        let want = f(x).at(&place)?;
        let got = graph.call(x).at(format_args!("{place}, replayed"))?;
        all_same(&got, &want, TOLERANCE, NAMES).at(&place)?;
    }
    Ok(())
}

/// The inputs of some other lanes.
fn others(sample: &Sample) -> Result<Vec<Vec<Tensor>>> {
    [1, 2].map(|n| lane(sample, n)).into_iter().collect()
}

pub(super) fn capture_replays(sample: &Sample) -> Outcome {
    replays(&|x| (sample.call)(x), &sample.inputs, &others(sample)?)
}

pub(super) fn capture_replays_under_vmap(sample: &Sample) -> Outcome {
    let lanes: Vec<Vec<Tensor>> = (0..3).map(|n| lane(sample, n)).collect::<Result<_>>()?;
    let joined = |order: [usize; 3]| -> Result<Vec<Tensor>> {
        let column = |k: usize| order.map(|n| lanes[n][k].clone());
        (0..sample.inputs.len()).map(|k| join(&column(k), &sample.inputs[k], 0)).collect()
    };
    let (batch, turned) = (joined([0, 1, 2])?, joined([2, 0, 1])?);
    let call: Function<'_> = &|x| (sample.call)(x);
    // The graph of the batched function,
    replays(&|x| vmap(call)(x), &batch, std::slice::from_ref(&turned)).at("capture of vmap")?;
    // that of one example, batched,
    let graph = capture(call)(&lanes[0])?;
    let got = vmap(|x: &Vec<Tensor>| graph.call(x))(&batch).at("vmap of a graph")?;
    all_same(&got, &vmap(call)(&batch)?, TOLERANCE, NAMES).at("vmap of a graph")?;
    // and one captured in a lane.
    let inside = |x: &Vec<Tensor>| capture(call)(x)?.call(x);
    let got = vmap(inside)(&batch).at("capture inside of vmap")?;
    all_same(&got, &vmap(call)(&batch)?, TOLERANCE, NAMES).at("capture inside of vmap")
}

pub(super) fn capture_replays_derivatives(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let (g, t) = (part.cotangents(1)?, part.tangents(2)?);
    let others: Vec<Vec<Tensor>> = others(sample)?.iter().map(|x| replaced(sample, &part, x)).collect();
    let x = &sample.inputs;
    // Capture, then differentiate; and the other way round.
    let graph = capture(|x: &Vec<Tensor>| (sample.call)(x))(x).at("capturing")?;
    let through = Sample::new("graph", x.clone(), move |x| graph.call(&x.to_vec()));
    let replayed = Part::of(&through)?;
    all_same(&replayed.vjp(x, &g)?, &part.vjp(x, &g)?, TOLERANCE, NAMES).at("reverse mode of a graph")?;
    all_same(&replayed.jvp(x, &t)?, &part.jvp(x, &t)?, TOLERANCE, NAMES).at("forward mode of a graph")?;
    replays(&|x| part.vjp(x, &g), x, &others).at("the graph of reverse mode")?;
    replays(&|x| part.jvp(x, &t), x, &others).at("the graph of forward mode")
}

/// Other inputs where they are differentiated, and those of the sample elsewhere.
fn replaced(sample: &Sample, part: &Part<'_>, other: &[Tensor]) -> Vec<Tensor> {
    let pick = |k: usize| if part.which.contains(&k) { other[k].clone() } else { sample.inputs[k].clone() };
    (0..sample.inputs.len()).map(pick).collect()
}

pub(super) fn linearize_is_jvp(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let inputs = &sample.inputs;
    let x = part.pick(inputs);
    let f = |x: &Vec<Tensor>| part.eval(inputs, x);
    let (y, push) = linearize(f, &x).at("linearizing")?;
    all_same(&y, &part.y, TOLERANCE, ["the value", "the function's"])?;
    let names = ["the pushed tangent", "that of forward mode"];
    let tangents = [2, 3].map(|seed| directions(&x, seed));
    let [a, b] = tangents;
    let (a, b) = (a?, b?);
    let want = [part.jvp(inputs, &a)?, part.jvp(inputs, &b)?];
    for (t, want) in [&a, &b, &a].into_iter().zip([&want[0], &want[1], &want[0]]) {
        all_same(&push.call(t)?, want, TOLERANCE, names)?;
    }
    let joined: Vec<Tensor> =
        a.iter().zip(&b).map(|(a, b)| join(&[a.clone(), b.clone()], a, 0)).collect::<Result<_>>()?;
    let columns = vmap(|t: &Vec<Tensor>| push.call(t))(&joined).at("vmap of the pushforward")?;
    for (n, want) in want.iter().enumerate() {
        let got: Vec<Tensor> = columns.iter().map(|c| c.select(0, n as isize)).collect::<Result<_>>()?;
        all_same(&got, want, TOLERANCE, names).at(format_args!("vmap of the pushforward, lane {n}"))?;
    }
    Ok::<(), Failure>(())
}
