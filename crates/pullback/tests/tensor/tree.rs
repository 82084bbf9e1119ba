use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{error, values};
use pullback::*;

fn t(x: f64) -> Tensor {
    Tensor::from(x)
}

fn item(x: &Tensor) -> f64 {
    x.item().unwrap()
}

fn paths<T: Tree>(tree: &T) -> Vec<String> {
    let mut out = Vec::new();
    tree.visit_paths(&mut String::new(), &mut |p| out.push(p.to_string()));
    out
}

/// The tensors of a tree as numbers, in order.
fn numbers<T: Tree>(tree: &T) -> Vec<f64> {
    let mut out = Vec::new();
    tree.visit(&mut |t| out.push(item(t)));
    out
}

#[derive(Clone, Debug, Tree)]
struct Layer<T = Tensor> {
    w: T,
    b: Option<T>,
    #[tree(static)]
    stride: usize,
}

#[derive(Clone, Debug, Tree)]
struct Net<T = Tensor> {
    first: Layer<T>,
    rest: Vec<Box<Layer<T>>>,
    heads: BTreeMap<String, (T, [T; 2])>,
}

#[derive(Clone, Debug, Tree)]
struct Pair<T = Tensor>(T, #[tree(static)] &'static str, Vec<T>);

#[derive(Clone, Debug, Default, PartialEq, Tree)]
struct Settings<T = Tensor>(#[tree(static)] f64, #[tree(static)] std::marker::PhantomData<()>, [T; 0]);

#[derive(Clone, Debug, Tree)]
struct Grid<const N: usize, T: Clone + Send = Tensor>
where
    T: Sync + 'static,
{
    cells: [T; N],
}

fn layer(w: f64) -> Layer {
    Layer { w: t(w), b: (w > 1.0).then(|| t(-w)), stride: 2 }
}

fn net() -> Net {
    Net {
        first: layer(1.0),
        rest: vec![Box::new(layer(2.0)), Box::new(layer(3.0))],
        heads: [("b".into(), (t(5.0), [t(6.0), t(7.0)])), ("a".into(), (t(4.0), [t(0.0), t(0.5)]))].into(),
    }
}

#[test]
fn nested_structs_have_ordered_leaves_with_paths() {
    let net = net();
    assert_eq!(numbers(&net), [1.0, 2.0, -2.0, 3.0, -3.0, 4.0, 0.0, 0.5, 5.0, 6.0, 7.0]);
    let expected = [
        ".first.w",
        ".rest[0].w",
        ".rest[0].b",
        ".rest[1].w",
        ".rest[1].b",
        ".heads[\"a\"].0",
        ".heads[\"a\"].1[0]",
        ".heads[\"a\"].1[1]",
        ".heads[\"b\"].0",
        ".heads[\"b\"].1[0]",
        ".heads[\"b\"].1[1]",
    ];
    assert_eq!(paths(&net), expected);
}

#[test]
fn structures_are_described() {
    assert_eq!(t(1.0).describe(), "tensor");
    assert_eq!(().describe(), "()");
    assert_eq!((t(1.0),).describe(), "(tensor,)");
    assert_eq!((t(1.0), vec![t(1.0), t(2.0)], Static(3)).describe(), "(tensor, [tensor, tensor], static)");
    assert_eq!(vec![(t(1.0), t(2.0)); 12].describe(), "[(tensor, tensor); 12]");
    assert_eq!(Vec::<Tensor>::new().describe(), "[]");
    assert_eq!(
        net().describe(),
        "Net { first: Layer { w: tensor, b: none, stride: static }, rest: [Layer { w: tensor, b: tensor, stride: \
         static }, Layer { w: tensor, b: tensor, stride: static }], heads: {\"a\": (tensor, [tensor, tensor]), \"b\": \
         (tensor, [tensor, tensor])} }"
    );
    assert_eq!(Pair(t(1.0), "name", vec![]).describe(), "Pair(tensor, static, [])");
}

#[test]
fn every_form_of_struct_is_differentiated_and_batched() -> Result<()> {
    let f = |n: &Net| {
        let mut y = n.first.w.square()?;
        for layer in &n.rest {
            y = y * &layer.w + layer.b.as_ref().map_or(t(0.0), |b| b * layer.stride);
        }
        Ok(y + &n.heads["a"].0 * &n.heads["b"].1[1])
    };
    let g = grad(f)(&net())?;
    assert_eq!(numbers(&g), [12.0, 3.0, 6.0, -2.0, 2.0, 7.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    assert_eq!(g.rest[1].stride, 2);

    let pair = |p: &Pair| p.0.mul(&p.2[0])?.mul(p.1.len());
    let g = grad(pair)(&Pair(t(2.0), "abc", vec![t(5.0)]))?;
    assert_eq!((numbers(&g), g.1), (vec![15.0, 6.0], "abc"));

    let grid = |g: &Grid<2>| g.cells[0].mul(&g.cells[1]);
    let lanes = Grid { cells: [Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])] };
    assert_eq!(values(&vmap(grid)(&lanes)?), [3.0, 8.0]);
    let dims = Grid { cells: [Some(0), None] };
    let mixed = Grid { cells: [Tensor::from([1.0, 2.0]), t(5.0)] };
    assert_eq!(values(&Vmap::new().in_dims(dims).of(grid)(&mixed)?), [5.0, 10.0]);
    assert_eq!(numbers(&grad(grid)(&Grid { cells: [t(2.0), t(3.0)] })?), [3.0, 2.0]);

    assert_eq!(paths(&Settings::<Tensor>(1.5, Default::default(), [])), [""; 0]);
    Ok(())
}

#[test]
fn hash_maps_are_visited_by_key() -> Result<()> {
    let map: HashMap<&str, Tensor> = [("z", t(1.0)), ("b", t(2.0)), ("k", t(3.0))].into();
    assert_eq!(
        (paths(&map), numbers(&map)),
        (vec!["[\"b\"]".into(), "[\"k\"]".into(), "[\"z\"]".into()], vec![2.0, 3.0, 1.0])
    );
    assert_eq!(map.describe(), "{\"b\": tensor, \"k\": tensor, \"z\": tensor}");
    let g = grad(|m: &HashMap<&str, Tensor>| m["z"].mul(&m["b"])?.mul(&m["k"]))(&map)?;
    assert_eq!((item(&g["z"]), item(&g["b"]), item(&g["k"])), (6.0, 3.0, 2.0));
    let many: BTreeMap<u32, Tensor> = [(10, Tensor::from([1.0, 2.0])), (9, Tensor::from([3.0, 4.0]))].into();
    assert_eq!(values(&vmap(|m: &BTreeMap<u32, Tensor>| m[&9].sub(&m[&10]))(&many)?), [2.0, 2.0]);
    let shared = Arc::new((t(2.0), t(3.0)));
    assert_eq!(numbers(&grad(|p: &Arc<(Tensor, Tensor)>| p.0.mul(&p.1))(&shared)?), [3.0, 2.0]);
    Ok(())
}

#[test]
fn zipping_names_both_structures() {
    let (a, b) = (vec![t(1.0)], vec![t(1.0), t(2.0)]);
    let (kind, text) = error(a.zip_with(&b, |a, b| a.add(b)));
    assert_eq!(kind, ErrorKind::Arity);
    assert_eq!(text, "zip_with: expected two trees with as many tensors, got 1 and 2 ([tensor] and [tensor, tensor])");
}

/// Three members with weights 1, 2, 3: per-member values and gradients of (w·x)² at a shared and at an own input.
#[test]
fn an_ensemble_is_a_stack_of_its_members() -> Result<()> {
    let members: Vec<Layer> = [1.0, 2.0, 3.0].map(|w| Layer { w: t(w), b: None, stride: 1 }).into();
    let ensemble = stack_trees(&members)?;
    assert_eq!((values(&ensemble.w), ensemble.stride), (vec![1.0, 2.0, 3.0], 1));
    let model = |(m, x): &(Layer, Tensor)| m.w.mul(x);
    let (shared, own) = (t(2.0), Tensor::from([1.0, 2.0, 3.0]));
    let over_members = Vmap::new().in_dims((0, None)).of(model);
    assert_eq!(values(&over_members(&(ensemble.clone(), shared.clone()))?), [2.0, 4.0, 6.0]);
    assert_eq!(values(&vmap(model)(&(ensemble.clone(), own))?), [1.0, 4.0, 9.0]);
    let loss = grad(|m: &Layer| m.w.mul(&shared)?.square());
    let gradients = vmap(loss)(&ensemble)?;
    assert_eq!(values(&gradients.w), [8.0, 16.0, 24.0]);
    let back = unstack_trees(&ensemble)?;
    assert_eq!(back.iter().map(|m| item(&m.w)).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    // Stacking is itself differentiable.
    let g = grad(|m: &Vec<Tensor>| stack_trees(m)?.mul(Tensor::from([1.0, 10.0]))?.sum())(&vec![t(1.0), t(1.0)])?;
    assert_eq!(numbers(&g), [1.0, 10.0]);
    Ok(())
}

#[test]
fn members_that_do_not_fit_are_named_by_their_path() {
    let member = |w: Tensor| Layer { w, b: Some(t(0.0)), stride: 1 };
    let (kind, text) = error(stack_trees(&[member(t(1.0)), member(Tensor::from([1.0, 2.0]))]));
    assert_eq!(kind, ErrorKind::Shape);
    assert_eq!(text, "stack_trees: expected f64[] at `.w` as in the first tree, got f64[2] at position 1");
    let (kind, text) = error(stack_trees(&[member(t(1.0)), member(Tensor::from(1.0f32))]));
    assert_eq!(kind, ErrorKind::Dtype);
    assert!(text.contains("expected f64[] at `.w` as in the first tree, got f32[] at position 1"), "{text}");
    let (kind, text) = error(stack_trees(&[member(t(1.0)), Layer { w: t(1.0), b: None, stride: 1 }]));
    assert_eq!(kind, ErrorKind::Arity);
    assert_eq!(
        text,
        "stack_trees: expected trees of one structure, got Layer { w: tensor, b: tensor, stride: static } and, at \
         position 1, Layer { w: tensor, b: none, stride: static }"
    );
    assert_eq!(error(stack_trees::<Tensor>(&[])).0, ErrorKind::Arity);

    let (kind, text) = error(unstack_trees(&(Tensor::from([1.0, 2.0]), vec![Tensor::from([1.0])])));
    assert_eq!(kind, ErrorKind::Shape);
    assert_eq!(text, "unstack_trees: expected one size of dim 0, got f64[2] at `.0` and f64[1] at `.1[0]`");
    let (kind, text) = error(unstack_trees(&t(1.0)));
    assert_eq!(kind, ErrorKind::Dim);
    assert_eq!(text, "unstack_trees: expected tensors with a dimension, got f64[] at the tensor itself");
    assert_eq!(error(unstack_trees(&())).0, ErrorKind::Arity);
}

/// Layers behind a common trait take part as configuration; their tensors are the argument.
trait Apply {
    fn apply(&self, p: &Layer, x: &Tensor) -> Result<Tensor>;
}
struct Affine;
struct Wave(f64);
impl Apply for Affine {
    fn apply(&self, p: &Layer, x: &Tensor) -> Result<Tensor> {
        x.mul(&p.w)?.add(p.b.as_ref().unwrap_or(&t(0.0)))
    }
}
impl Apply for Wave {
    fn apply(&self, p: &Layer, x: &Tensor) -> Result<Tensor> {
        x.mul(&p.w)?.sin()?.mul(self.0)
    }
}

/// Closures that capture configuration, structs of tensors, results of several kinds, lists of boxed layers.
#[test]
fn ordinary_rust_is_differentiated() -> Result<()> {
    let scale = 3.0;
    let name = String::from("captured");
    let f = |x: &Tensor| x.square()?.mul(scale)?.mul(name.len());
    assert_eq!(item(&grad(f)(&t(2.0))?), 96.0);

    let layers: Vec<Box<dyn Apply>> = vec![Box::new(Affine), Box::new(Wave(0.5))];
    let params = vec![layer(2.0), layer(1.0)];
    let forward = |p: &Vec<Layer>| layers.iter().zip(p).try_fold(t(0.7), |x, (layer, p)| layer.apply(p, &x));
    let g = grad(forward)(&params)?;
    let inner: f64 = 0.7 * 2.0 - 2.0;
    let expected = [0.5 * inner.cos() * 0.7, 0.5 * inner.cos(), 0.5 * inner.cos() * inner];
    for (got, want) in numbers(&g).iter().zip(expected) {
        assert!((got - want).abs() < 1e-15, "{got} {want}");
    }

    let boxed: Box<dyn Fn(&Tensor) -> Result<Tensor>> = Box::new(|x| x.square());
    assert_eq!(item(&grad(&*boxed)(&t(3.0))?), 6.0);
    let (y, pull) = vjp(|x: &Tensor| Ok((x.square()?, vec![x.mul(5.0)?])), &t(3.0))?;
    assert_eq!(numbers(&y), [9.0, 15.0]);
    assert_eq!(item(&pull.call(&(t(1.0), vec![t(2.0)]))?), 16.0);
    Ok(())
}
