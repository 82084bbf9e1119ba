//! Properties of `vmap`, alone and nested with derivatives: it gives what a loop over the lanes gives.

use super::Part;
use super::derivatives::Scalar;
use crate::error::bail;
use crate::testing::close::{At, Failure, Outcome, all_same, fail};
use crate::testing::lanes::{directions, join, lane};
use crate::testing::table::Sample;
use crate::{DType, Result, Tensor, Vmap, jvp, vjp};

/// How far a batched computation may differ from that of one lane: sums may be added up in another order.
const TOLERANCE: f64 = 1e-11;

const NAMES: [&str; 2] = ["the batched result", "the stacked results of the lanes"];

/// Which values have lanes, and where.
type Placing = Vec<Option<usize>>;

/// A function of the inputs and of other values, such as cotangents.
type Joint<'a> = &'a dyn Fn(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>>;

/// Sets of `n` values: all of them for small `n`, else those of one or all but one, and the full set.
fn subsets(n: usize) -> Vec<Vec<bool>> {
    if n <= 4 {
        return (1..1usize << n).map(|mask| (0..n).map(|k| mask >> k & 1 == 1).collect()).collect();
    }
    let mut out = vec![vec![true; n]];
    for k in 0..n {
        out.push((0..n).map(|j| j == k).collect());
        out.push((0..n).map(|j| j != k).collect());
    }
    out
}

/// Where the lanes of a set of values may lie: at every place that the values have, at the same place in all of them
/// as far as their ranks allow, at the back of each, and at different places.
fn placings(set: &[bool], values: &[Tensor]) -> Vec<Placing> {
    let highest = values.iter().zip(set).filter(|(_, batched)| **batched).map(|(t, _)| t.rank()).max().unwrap_or(0);
    let place = |at: &dyn Fn(usize, usize) -> usize| -> Placing {
        set.iter().zip(values).enumerate().map(|(k, (&b, t))| b.then(|| at(k, t.rank()))).collect()
    };
    let mut out: Vec<Placing> = (0..=highest).map(|dim| place(&|_, rank| dim.min(rank))).collect();
    for other in [place(&|_, rank| rank), place(&|k, rank| (k + 1) % (rank + 1)), place(&|k, rank| k % (rank + 1))] {
        if !out.contains(&other) {
            out.push(other);
        }
    }
    out
}

/// The values of all lanes: those with a place joined there, the others those of lane 0.
fn gather(lanes: &[Vec<Tensor>], like: &[Tensor], placing: &[Option<usize>]) -> Result<Vec<Tensor>> {
    (0..like.len())
        .map(|k| match placing[k] {
            Some(dim) => join(&lanes.iter().map(|l| l[k].clone()).collect::<Vec<_>>(), &like[k], dim),
            None => Ok(like[k].clone()),
        })
        .collect()
}

/// The values that lane `n` sees.
fn seen(lanes: &[Vec<Tensor>], like: &[Tensor], placing: &[Option<usize>], n: usize) -> Vec<Tensor> {
    (0..like.len()).map(|k| if placing[k].is_some() { lanes[n][k].clone() } else { like[k].clone() }).collect()
}

/// The results of the lanes, one after the other, stacked in front.
fn stacked(results: &[Vec<Tensor>]) -> Result<Vec<Tensor>> {
    let Some(first) = results.first() else { return Ok(Vec::new()) };
    if let Some(other) = results.iter().find(|r| r.len() != first.len()) {
        bail!(Rule, "expected the same outputs for every lane, got {} and {}", first.len(), other.len());
    }
    (0..first.len()).map(|k| join(&results.iter().map(|r| r[k].clone()).collect::<Vec<_>>(), &first[k], 0)).collect()
}

fn vmapped(placing: &Placing, f: impl Fn(&Vec<Tensor>) -> Result<Vec<Tensor>>, x: &[Tensor]) -> Result<Vec<Tensor>> {
    Vmap::new().in_dims(placing.clone()).of(f)(&x.to_vec())
}

/// Fails unless `vmap` of `f` is the loop, for every given placing of `size` lanes.
fn is_loop(
    f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    lanes: &[Vec<Tensor>],
    like: &[Tensor],
    placings: &[Placing],
) -> Outcome {
    for placing in placings {
        let place = format!("{} lanes at {placing:?}", lanes.len());
        let batched = vmapped(placing, |x| f(x), &gather(lanes, like, placing)?).at(&place)?;
        if lanes.is_empty() {
            // There is no loop to compare with, but the types are known.
            let one = f(like)?;
            let none: Vec<Tensor> = one.iter().map(|t| join(&[], t, 0)).collect::<Result<_>>()?;
            all_same(&batched, &none, 0.0, NAMES).at(&place)?;
            continue;
        }
        let results = (0..lanes.len())
            .map(|n| f(&seen(lanes, like, placing, n)).at(format_args!("lane {n} alone")))
            .collect::<std::result::Result<Vec<_>, Failure>>()?;
        all_same(&batched, &stacked(&results)?, TOLERANCE, NAMES).at(&place)?;
    }
    Ok(())
}

fn lanes(sample: &Sample, size: usize) -> Result<Vec<Vec<Tensor>>> {
    (0..size).map(|n| lane(sample, n)).collect()
}

pub(super) fn vmap_is_loop(sample: &Sample) -> Outcome {
    let like = lane(sample, 0)?;
    let sets: Vec<Placing> = subsets(like.len()).iter().flat_map(|set| placings(set, &like)).collect();
    let call = |x: &[Tensor]| (sample.call)(x);
    for size in [3, 1, 0] {
        is_loop(&call, &lanes(sample, size)?, &like, &sets)?;
    }
    Ok(())
}

pub(super) fn vmap_keeps_dtypes(sample: &Sample) -> Outcome {
    for k in 0..sample.inputs.len() {
        if sample.inputs[k].dtype() != DType::F64 {
            continue;
        }
        for dtype in [DType::F32, DType::I32] {
            let convert = |inputs: Vec<Tensor>| -> Result<Vec<Tensor>> {
                inputs.iter().enumerate().map(|(j, t)| if j == k { t.to_dtype(dtype) } else { Ok(t.clone()) }).collect()
            };
            let like = convert(lane(sample, 0)?)?;
            if (sample.call)(&like).is_err() {
                // Which dtypes an operation takes is not the question here.
                continue;
            }
            let lanes = vec![like.clone(), like.clone()];
            let sets: Vec<Placing> =
                subsets(like.len()).iter().map(|set| set.iter().map(|b| b.then_some(0)).collect()).collect();
            let call = |x: &[Tensor]| (sample.call)(x);
            let outcome = is_loop(&call, &lanes, &like, &sets);
            // In f32 sums may differ more; the types are what matters.
            if let Err(f) = outcome
                && (dtype != DType::F32 || !f.0.contains("(error"))
            {
                return Err(f).at(format_args!("input {k} as {dtype}"));
            }
        }
    }
    Ok(())
}

pub(super) fn nested_vmap(sample: &Sample) -> Outcome {
    let (outer_size, inner_size) = (2, 3);
    let like = lane(sample, 0)?;
    let n = like.len();
    let all = lanes(sample, outer_size * inner_size)?;
    let sets = subsets(n);
    let few: Vec<&Vec<bool>> = if n <= 3 { sets.iter().collect() } else { sets.iter().step_by(3).collect() };
    for (i, inner_set) in few.iter().enumerate() {
        for (j, outer_set) in few.iter().enumerate() {
            let inner: Placing = {
                let options = placings(inner_set, &like);
                options[(i + j) % options.len()].clone()
            };
            // Lane `(o, i)` sees its own value of what both levels map, and that of `(o, 0)` or `(0, i)` of the rest.
            let value = |k: usize, o: usize, i: usize| {
                let (o, i) = (if outer_set[k] { o } else { 0 }, if inner_set[k] { i } else { 0 });
                all[o * inner_size + i][k].clone()
            };
            let rows: Vec<Vec<Tensor>> = (0..outer_size)
                .map(|o| {
                    let row: Vec<Vec<Tensor>> =
                        (0..inner_size).map(|i| (0..n).map(|k| value(k, o, i)).collect()).collect();
                    let first: Vec<Tensor> = (0..n).map(|k| value(k, o, 0)).collect();
                    gather(&row, &first, &inner)
                })
                .collect::<Result<_>>()?;
            let outer: Placing = {
                let options = placings(outer_set, &rows[0]);
                options[(i + 2 * j) % options.len()].clone()
            };
            let x = gather(&rows, &rows[0], &outer)?;
            let place = format!("outer lanes at {outer:?}, inner lanes at {inner:?}");
            let call = |x: &Vec<Tensor>| (sample.call)(x);
            let got = vmapped(&outer, |x| vmapped(&inner, call, x), &x).at(&place)?;
            let want: Vec<Vec<Tensor>> = (0..outer_size)
                .map(|o| {
                    let results: Vec<Vec<Tensor>> = (0..inner_size)
                        .map(|i| (sample.call)(&(0..n).map(|k| value(k, o, i)).collect::<Vec<_>>()))
                        .collect::<Result<_>>()?;
                    stacked(&results)
                })
                .collect::<Result<_>>()?;
            all_same(&got, &stacked(&want)?, TOLERANCE, NAMES).at(&place)?;
        }
    }
    Ok(())
}

/// Placings of inputs together with those of other values, which have lanes all or none: both in front, and
/// elsewhere. At least one value has lanes.
fn joint_placings(inputs: &[Tensor], others: &[Tensor]) -> Vec<Placing> {
    let mut sets = subsets(inputs.len());
    sets.insert(0, vec![false; inputs.len()]);
    let mut out = Vec::new();
    for (i, set) in sets.iter().enumerate() {
        let options = if set.contains(&true) { placings(set, inputs) } else { vec![vec![None; inputs.len()]] };
        for with_others in [true, false] {
            if !with_others && !set.contains(&true) {
                continue;
            }
            let mut placing = options[i % options.len()].clone();
            let back = i % 2 == 1;
            placing.extend(others.iter().map(|t| with_others.then_some(if back { t.rank() } else { 0 })));
            out.push(placing);
        }
    }
    out
}

/// The inputs of each lane followed by other values of its own, which `more` makes from a seed.
fn joint_lanes(
    sample: &Sample,
    size: usize,
    more: &dyn Fn(u64) -> Result<Vec<Tensor>>,
) -> Result<(Vec<Vec<Tensor>>, Vec<Tensor>)> {
    let lanes = (0..size)
        .map(|n| Ok([lane(sample, n)?, more(100 + n as u64)?].concat()))
        .collect::<Result<Vec<Vec<Tensor>>>>()?;
    Ok((lanes, [lane(sample, 0)?, more(100)?].concat()))
}

/// Fails unless `vmap` of `f`, a function of the inputs and other values, is the loop.
fn joint_is_loop(sample: &Sample, f: Joint<'_>, more: &dyn Fn(u64) -> Result<Vec<Tensor>>) -> Outcome {
    let n = sample.inputs.len();
    let f = |x: &[Tensor]| f(&x[..n], &x[n..]);
    let others = more(100)?;
    let sets = joint_placings(&sample.inputs, &others);
    for size in [3, 0] {
        let (lanes, like) = joint_lanes(sample, size, more)?;
        is_loop(&f, &lanes, &like, &sets)?;
    }
    Ok(())
}

pub(super) fn vmap_of_grad(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    joint_is_loop(sample, &|inputs, g| part.vjp(inputs, g), &|seed| part.cotangents(seed))
}

pub(super) fn vmap_of_jvp(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    joint_is_loop(sample, &|inputs, t| part.jvp(inputs, t), &|seed| part.tangents(seed))?;
    // A tangent of one input only, which has lanes while no input has.
    for &k in &part.which {
        let alone = Part { sample, which: vec![k], outs: part.outs.clone(), y: part.y.clone() };
        let (lanes, like) = joint_lanes(sample, 2, &|seed| directions([&sample.inputs[k]], seed))?;
        let n = sample.inputs.len();
        let mut placing = vec![None; n];
        placing.push(Some(0));
        is_loop(&|x| alone.jvp(&x[..n], &x[n..]), &lanes, &like, &[placing])?;
    }
    Ok(())
}

/// What a derivative through `vmap` is compared with: the lanes, what they see, and where they lie.
struct Through<'a> {
    part: &'a Part<'a>,
    placing: Placing,
    lanes: Vec<Vec<Tensor>>,
    like: Vec<Tensor>,
    /// The inputs with all lanes.
    inputs: Vec<Tensor>,
}

impl<'a> Through<'a> {
    /// One for every set of batched inputs, with lanes in front and elsewhere.
    fn all(part: &'a Part<'a>, size: usize) -> Result<Vec<Through<'a>>> {
        let like = lane(part.sample, 0)?;
        let lanes = lanes(part.sample, size)?;
        let sets = subsets(like.len());
        sets.iter()
            .flat_map(|set| placings(set, &like))
            .map(|placing| {
                let inputs = gather(&lanes, &like, &placing)?;
                Ok(Through { part, placing, lanes: lanes.clone(), like: like.clone(), inputs })
            })
            .collect()
    }

    /// The floating outputs of all lanes, with the differentiated inputs replaced by `x`.
    fn eval(&self, x: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut all = self.inputs.clone();
        for (&k, t) in self.part.which.iter().zip(x) {
            all[k] = t.clone();
        }
        vmapped(&self.placing, |x| self.part.eval(x, &self.part.pick(x)), &all)
    }

    fn seen(&self, n: usize) -> Vec<Tensor> {
        seen(&self.lanes, &self.like, &self.placing, n)
    }

    fn place(&self) -> String {
        format!("{} lanes at {:?}", self.lanes.len(), self.placing)
    }

    fn grad(&self) -> Outcome {
        let (part, size) = (self.part, self.lanes.len());
        let cotangents: Vec<Vec<Tensor>> = (0..size).map(|n| part.cotangents(100 + n as u64)).collect::<Result<_>>()?;
        let g: Vec<Tensor> = (0..part.y.len())
            .map(|k| join(&cotangents.iter().map(|g| g[k].clone()).collect::<Vec<_>>(), &part.y[k], 0))
            .collect::<Result<_>>()?;
        let got = vjp(|x: &Vec<Tensor>| self.eval(x), &part.pick(&self.inputs))?.1.call(&g)?;
        let each: Vec<Vec<Tensor>> =
            (0..size).map(|n| part.vjp(&self.seen(n), &cotangents[n])).collect::<Result<_>>()?;
        let mut want = Vec::new();
        for (j, &k) in part.which.iter().enumerate() {
            let grads: Vec<Tensor> = each.iter().map(|g| g[j].clone()).collect();
            want.push(match self.placing[k] {
                Some(dim) => join(&grads, &self.like[k], dim)?,
                // The input served every lane, so it receives from every lane.
                None => join(&grads, &self.like[k], 0)?.sum_dims(&[0], false)?,
            });
        }
        all_same(&got, &want, TOLERANCE, ["the gradient through vmap", "that of the lanes"])
    }

    fn jvp(&self) -> Outcome {
        let (part, size) = (self.part, self.lanes.len());
        let shared = part.tangents(100)?;
        let tangents: Vec<Vec<Tensor>> = (0..size).map(|n| part.tangents(100 + n as u64)).collect::<Result<_>>()?;
        let mine = |n: usize| -> Vec<Tensor> {
            part.which
                .iter()
                .enumerate()
                .map(|(j, &k)| if self.placing[k].is_some() { tangents[n][j].clone() } else { shared[j].clone() })
                .collect()
        };
        let t: Vec<Tensor> = part
            .which
            .iter()
            .enumerate()
            .map(|(j, &k)| match self.placing[k] {
                Some(dim) => join(&tangents.iter().map(|t| t[j].clone()).collect::<Vec<_>>(), &self.like[k], dim),
                None => Ok(shared[j].clone()),
            })
            .collect::<Result<_>>()?;
        let got = jvp(|x: &Vec<Tensor>| self.eval(x), &part.pick(&self.inputs), &t)?.1;
        let each: Vec<Vec<Tensor>> = (0..size).map(|n| part.jvp(&self.seen(n), &mine(n))).collect::<Result<_>>()?;
        let want: Vec<Tensor> = (0..part.y.len())
            .map(|k| join(&each.iter().map(|t| t[k].clone()).collect::<Vec<_>>(), &part.y[k], 0))
            .collect::<Result<_>>()?;
        all_same(&got, &want, TOLERANCE, ["the tangent through vmap", "those of the lanes"])
    }
}

pub(super) fn grad_of_vmap(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    for size in [3, 0] {
        for through in Through::all(&part, size)? {
            through.grad().at(through.place())?;
        }
    }
    Ok(())
}

pub(super) fn jvp_of_vmap(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    for size in [3, 0] {
        for through in Through::all(&part, size)? {
            through.jvp().at(through.place())?;
        }
    }
    Ok(())
}

pub(super) fn vmap_of_second_order(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let phi = Scalar::of(&part)?;
    let v = part.tangents(11)?;
    let like = lane(sample, 0)?;
    let lanes = lanes(sample, 2)?;
    let n = like.len();
    let mut sets: Vec<Placing> = vec![like.iter().map(|t| Some(t.rank())).collect()];
    if n > 1 {
        sets.extend((0..n).map(|k| (0..n).map(|j| (j == k).then_some(0)).collect()));
    }
    // The rules fail in ways of their own, so each nesting is its own function here.
    let failed = |f: Failure| crate::Error::new(crate::ErrorKind::Rule, f.0);
    for (index, name) in ["forward over reverse", "reverse over reverse", "reverse over forward"].iter().enumerate() {
        let f = |x: &[Tensor]| {
            let [first, second, third] = phi.nestings(x, &v).map_err(failed)?;
            Ok([first, second, third][index].clone())
        };
        is_loop(&f, &lanes, &like, &sets).at(name)?;
    }
    let f = |x: &[Tensor]| Ok(vec![phi.twice_forward(x, &v, &v)?]);
    is_loop(&f, &lanes, &like, &sets).at("forward over forward")?;
    if part.which.is_empty() {
        fail!("nothing to differentiate");
    }
    Ok(())
}

pub(super) fn grad_of_vmap_of_grad(sample: &Sample) -> Outcome {
    let cotangents = Part::of(sample)?.cotangents(1)?;
    let own = sample.clone();
    let mut gradient = sample.clone();
    gradient.call = std::sync::Arc::new(move |x: &[Tensor]| {
        Part::of(&own).map_err(|f| crate::Error::new(crate::ErrorKind::Rule, f.0))?.vjp(x, &cotangents)
    });
    grad_of_vmap(&gradient).at("reverse mode")?;
    jvp_of_vmap(&gradient).at("forward mode")
}
