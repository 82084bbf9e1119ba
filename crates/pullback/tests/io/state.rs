//! Names of parameters.

use std::collections::{BTreeMap, HashMap};

use pullback::io::{load_state_dict, state_dict};
use pullback::{DType, ErrorKind, Static, Tensor, Tree, grad};

use super::support::{assert_error, assert_same, pattern};

#[derive(Clone, Tree)]
struct Linear<T = Tensor> {
    weight: T,
    bias: Option<T>,
}

#[derive(Clone, Tree)]
struct Model<T = Tensor> {
    layers: Vec<Linear<T>>,
    heads: HashMap<String, Box<Linear<T>>>,
    #[tree(static)]
    width: usize,
    scale: (T, Static<i32>),
}

fn model() -> Model {
    let linear = |k| Linear { weight: pattern(&[k, 2], DType::F32), bias: (k > 1).then(|| pattern(&[k], DType::F32)) };
    Model {
        layers: vec![linear(1), linear(2)],
        heads: HashMap::from([("b".to_string(), Box::new(linear(1))), ("a.x".to_string(), Box::new(linear(3)))]),
        width: 2,
        scale: (Tensor::from(1.0f32), Static(4)),
    }
}

#[test]
fn names_are_those_of_pytorch() {
    let names: Vec<String> = state_dict(&model()).unwrap().into_keys().collect();
    let want = [
        "heads.a.x.bias",
        "heads.a.x.weight",
        "heads.b.weight",
        "layers.0.weight",
        "layers.1.bias",
        "layers.1.weight",
        "scale.0",
    ];
    assert_eq!(names, want);
}

#[test]
fn a_state_comes_back_and_keeps_what_is_static() {
    let old = model();
    let mut state = state_dict(&old).unwrap();
    for t in state.values_mut() {
        *t = t.add(1.0).unwrap();
    }
    let new = load_state_dict(&old, &state).unwrap();
    assert_same(&new.layers[1].weight, &old.layers[1].weight.add(1.0).unwrap());
    assert_same(new.heads["a.x"].bias.as_ref().unwrap(), &old.heads["a.x"].bias.as_ref().unwrap().add(1.0).unwrap());
    assert_eq!((new.width, new.scale.1.0), (2, 4));
}

#[test]
fn what_does_not_fit_is_named() {
    let old = model();
    let state = state_dict(&old).unwrap();
    let mut other = state.clone();
    other.remove("layers.0.weight");
    other.remove("scale.0");
    other.insert("layers.2.weight".into(), Tensor::from(1.0));
    assert_error(
        load_state_dict(&old, &other),
        ErrorKind::Arity,
        &["missing `layers.0.weight`, `scale.0`; unexpected `layers.2.weight`"],
    );
    let mut other = state.clone();
    other.insert("layers.0.weight".into(), pattern(&[2, 2], DType::F32));
    assert_error(
        load_state_dict(&old, &other),
        ErrorKind::Shape,
        &["expected f32[1,2] for `layers.0.weight`, got f32[2,2]"],
    );
    let mut other = state.clone();
    other.insert("layers.0.weight".into(), pattern(&[1, 2], DType::F64));
    assert_error(
        load_state_dict(&old, &other),
        ErrorKind::Dtype,
        &["expected f32[1,2] for `layers.0.weight`, got f64[1,2]"],
    );
}

#[test]
fn a_part_is_loaded_over_the_rest() {
    let old = model();
    let mut state = state_dict(&old).unwrap();
    state.extend([("scale.0".to_string(), Tensor::from(7.0f32))]);
    assert_eq!(load_state_dict(&old, &state).unwrap().scale.0.item::<f32>().unwrap(), 7.0);
}

#[test]
fn names_are_there_once_each() {
    assert_error(state_dict(&Tensor::from(1.0)), ErrorKind::Value, &["got one without"]);
    let x = || Tensor::from(1.0);
    assert_error(state_dict(&BTreeMap::from([(String::new(), x())])), ErrorKind::Value, &["got one without"]);
    let twice = BTreeMap::from([
        ("a".to_string(), BTreeMap::from([("b.c".to_string(), x())])),
        ("a.b".to_string(), BTreeMap::from([("c".to_string(), x())])),
    ]);
    assert_error(state_dict(&twice), ErrorKind::Value, &["two of the name `a.b.c`"]);
    assert!(state_dict(&Vec::<Tensor>::new()).unwrap().is_empty());
}

#[test]
fn parameters_are_replaced_inside_a_transform() {
    let loss = |x: &Tensor| {
        let state = BTreeMap::from([("0".to_string(), x.clone()), ("1".to_string(), x.square()?)]);
        let pair = load_state_dict(&(Tensor::from(0.0), Tensor::from(0.0)), &state)?;
        pair.0.mul(&pair.1)
    };
    assert_eq!(grad(loss)(&Tensor::from(2.0)).unwrap().item::<f64>().unwrap(), 12.0);
}
