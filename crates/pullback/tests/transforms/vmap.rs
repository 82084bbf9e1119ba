//! `vmap`: where lanes lie, and what it refuses.

use std::collections::BTreeMap;

use pullback::*;

use crate::{fails, is};

#[derive(Clone, Tree)]
struct Model<T = Tensor> {
    w: T,
    layers: Vec<T>,
    scale: Option<T>,
}

fn model() -> Model {
    Model {
        w: Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        layers: vec![Tensor::from([1.0, 2.0]), Tensor::from([[1.0, 10.0], [100.0, 1000.0]])],
        scale: None,
    }
}

/// Σ of everything.
fn total(m: &Model) -> Result<Tensor> {
    m.w.sum()?.add(&m.layers[0].sum()?)?.add(&m.layers[1].sum()?)
}

#[test]
fn specs_nest_and_stop_early() {
    use BatchDim::{At, Shared};
    // One for the whole tree: lanes along dim 0 of each tensor.
    is(&Vmap::new().in_dims(0).of(total)(&model()).unwrap(), &[2], &[6.0 + 1.0 + 11.0, 15.0 + 2.0 + 1100.0]);
    // One for each tensor, negative ones and none among them.
    let dims = Model { w: Shared, layers: vec![At(-1), At(-1)], scale: None };
    is(&Vmap::new().in_dims(dims).of(total)(&model()).unwrap(), &[2], &[21.0 + 1.0 + 101.0, 21.0 + 2.0 + 1010.0]);
    // A tuple whose first entry stops early, a list, an array, a map and a box further down.
    type Deep = (Model, [Tensor; 2], BTreeMap<&'static str, Tensor>, Box<(Tensor, Tensor)>);
    let x = || Tensor::from([1.0, 2.0]);
    let deep: Deep =
        (model(), [x(), x()], [("a", x()), ("b", x())].into(), Box::new((x(), Tensor::from([[1.0, 2.0]]))));
    let f = |(m, array, map, pair): &Deep| {
        total(m)?
            .add(&array[0])?
            .add(&array[1].sum()?)?
            .add(&map["a"].sum()?)?
            .add(&map["b"])?
            .add(&pair.0)?
            .add(&pair.1.sum()?)
    };
    let dims = (None, [At(0), Shared], BTreeMap::from([("a", Shared), ("b", At(-1))]), Box::new((0, -1)));
    let rest = |lane: f64| 1135.0 + lane + 3.0 + 3.0 + lane + lane + lane;
    is(&Vmap::new().in_dims(dims).of(f)(&deep).unwrap(), &[2], &[rest(1.0), rest(2.0)]);
    // Optional trees.
    let g = |(a, b): &(Tensor, Option<Tensor>)| b.as_ref().map_or_else(|| Ok(a.clone()), |b| a.add(b));
    is(&Vmap::new().in_dims((0, Shared)).of(g)(&(x(), None)).unwrap(), &[2], &[1.0, 2.0]);
    is(
        &Vmap::new().in_dims((None, 0)).of(|(a, b): &(Tensor, Tensor)| a.sum()?.add(b))(&(x(), x())).unwrap(),
        &[2],
        &[4.0, 5.0],
    );
}

#[test]
fn dims_of_results_nest_as_well() {
    let f = |x: &Tensor| Ok((x.clone(), vec![x.mul(2.0)?, x.mul(3.0)?], [x.sum()?]));
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    for (k, (a, b, [c])) in [
        Vmap::new().out_dims((-1, vec![0, 1], 0)).of(f)(&x).unwrap(),
        Vmap::new().out_dims((1, vec![-2, -1], [-1])).chunk_size(2).of(f)(&x).unwrap(),
        Vmap::new().out_dims((1, vec![0, -1], [0])).chunk_size(1).of(f)(&x).unwrap(),
    ]
    .into_iter()
    .enumerate()
    {
        is(&a, &[2, 3], &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        is(&b[0], &[3, 2], &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        is(&b[1], &[2, 3], &[3.0, 9.0, 15.0, 6.0, 12.0, 18.0]);
        is(&c, &[3], &[3.0, 7.0, 11.0]);
        assert!(k < 3);
    }
}

#[test]
fn t51_nothing_is_mapped() {
    let f = |x: &Tensor| x.square();
    let parts = ["vmap: expected at least one argument to map over", "batch_size"];
    fails(Vmap::new().in_dims(None).of(f)(&Tensor::from([1.0])), ErrorKind::Arity, &parts);
    is(&Vmap::new().in_dims(None).batch_size(2).of(f)(&Tensor::from([3.0])).unwrap(), &[2, 1], &[9.0, 9.0]);
    is(&Vmap::new().in_dims(None).batch_size(3).chunk_size(2).of(f)(&Tensor::from(3.0)).unwrap(), &[3], &[9.0; 3]);
    is(&Vmap::new().in_dims(None).batch_size(3).chunk_size(1).of(f)(&Tensor::from(3.0)).unwrap(), &[3], &[9.0; 3]);
}

#[test]
fn t53_a_spec_of_another_structure() {
    let f = |(x, y): &(Vec<Tensor>, Tensor)| x[0].add(y);
    let x = || Tensor::from([1.0]);
    let parts =
        ["in_dims ([0, 0, 0], none) of arguments ([tensor, tensor], tensor)", "list of 2 items, got a list of 3"];
    let spec = (vec![0, 0, 0], None);
    fails(Vmap::new().in_dims(spec).of(f)(&(vec![x(), x()], x())), ErrorKind::Arity, &parts);
    let g = |m: &Model| total(m);
    let spec = Model { w: 0, layers: vec![0], scale: None };
    let parts =
        ["in_dims Model { w: 0, layers: [0], scale: ", "Model { w: tensor, layers: [tensor, tensor], scale: none }"];
    fails(Vmap::new().in_dims(spec).of(g)(&model()), ErrorKind::Arity, &parts);
    let h = |m: &BTreeMap<&'static str, Tensor>| Ok(m["a"].clone());
    let parts = ["in_dims {\"b\": 0} of arguments {\"a\": tensor}", "keys [\"a\"], got keys [\"b\"]"];
    fails(Vmap::new().in_dims(BTreeMap::from([("b", 0)])).of(h)(&[("a", x())].into()), ErrorKind::Arity, &parts);
}

#[test]
fn t55_what_holds_no_tensor_needs_no_dim() {
    let f = |(x, n): &(Tensor, Static<i32>)| x.powi(n.0);
    is(&Vmap::new().of(f)(&(Tensor::from([1.0, 2.0]), Static(2))).unwrap(), &[2], &[1.0, 4.0]);
    is(&Vmap::new().in_dims((0, None)).of(f)(&(Tensor::from([1.0, 2.0]), Static(2))).unwrap(), &[2], &[1.0, 4.0]);
}

#[test]
fn t56_a_dim_out_of_range() {
    let f = |x: &Tensor| x.square();
    let x = Tensor::from([[1.0], [2.0]]);
    let parts = ["in_dims: dim 2 is out of range", "f64[2,1]", "-2..=1"];
    fails(Vmap::new().in_dims(2).of(f)(&x), ErrorKind::Dim, &parts);
    fails(Vmap::new().in_dims(-3).of(f)(&x), ErrorKind::Dim, &["dim -3"]);
    fails(Vmap::new().in_dims(Some(9)).of(f)(&x), ErrorKind::Dim, &["dim 9"]);
    fails(vmap(f)(&Tensor::from(1.0)), ErrorKind::Dim, &["in_dims", "f64[]"]);
}

#[test]
fn t57_sizes_differ() {
    let f = |(a, b, _): &(Tensor, Tensor, Tensor)| a.add(b);
    let args = (Tensor::from([1.0, 2.0]), Tensor::from([[1.0, 2.0, 3.0]]), Tensor::from(0.0));
    let parts = ["argument.0 has 2 (f64[2], dim 0)", "argument.1 has 3 (f64[1,3], dim 1)"];
    fails(Vmap::new().in_dims((0, 1, None)).of(f)(&args), ErrorKind::Shape, &parts);
    let parts = ["argument.0 has 2", "`batch_size` is 5"];
    fails(Vmap::new().in_dims((0, None, None)).batch_size(5).of(f)(&args), ErrorKind::Shape, &parts);
}

#[test]
fn t59_dims_of_results_of_another_structure() {
    let f = |x: &Tensor| Ok(vec![x.clone(), x.clone()]);
    let parts = ["out_dims [0] of results [tensor, tensor]", "list of 2 items, got a list of 1"];
    let x = Tensor::from([1.0, 2.0]);
    fails(Vmap::new().out_dims(vec![0]).of(f)(&x), ErrorKind::Arity, &parts);
    fails(Vmap::new().out_dims(vec![0]).chunk_size(1).of(f)(&x), ErrorKind::Arity, &parts);
}

#[test]
fn t60_a_dim_of_a_result_out_of_range() {
    let f = |x: &Tensor| Ok((x.clone(), x.clone()));
    let x = Tensor::from([[1.0], [2.0]]);
    let parts = ["out_dims: dim 2 is out of range for result.1 with its lanes, f64[1] (valid: -2..=1)"];
    for size in [1, 2, 10] {
        fails(Vmap::new().out_dims((0, 2)).chunk_size(size).of(f)(&x), ErrorKind::Dim, &parts);
    }
}

#[test]
fn t62_a_result_that_depends_on_the_lane_without_a_dim() {
    let f = |x: &Tensor| Ok((x.clone(), x.mul(2.0)?));
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let parts = ["out_dims is None for result.1, but it depends on the lane", "batch 3"];
    fails(Vmap::new().out_dims((0, None)).of(f)(&x), ErrorKind::Dim, &parts);
    fails(Vmap::new().out_dims((0, None)).chunk_size(2).of(f)(&x), ErrorKind::Dim, &parts);
    let parts = ["out_dims is None for result.1, but it differs between lanes 0 and 1"];
    fails(Vmap::new().out_dims((0, None)).chunk_size(1).of(f)(&x), ErrorKind::Dim, &parts);
}
