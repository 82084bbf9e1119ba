//! Tensors and trees through serde, in a format that people read and in one that they do not.

use std::collections::BTreeMap;

use pullback::{Complex, DType, Static, Tensor, Tree, grad, vmap};
use serde::{Deserialize, Serialize};

use super::support::{assert_same, extremes, pattern};

fn tensors() -> Vec<Tensor> {
    let mut all = extremes();
    for dtype in DType::ALL {
        let x = pattern(&[2, 3, 4], dtype);
        all.extend([x.permute(&[2, 0, 1]).unwrap(), x.narrow(1, 0, 0).unwrap(), pattern(&[], dtype), x]);
    }
    all
}

#[test]
fn tensors_come_back() {
    for t in tensors() {
        let text = serde_json::to_string(&t).unwrap();
        assert_same(&serde_json::from_str::<Tensor>(&text).unwrap(), &t);
        assert_same(&serde_json::from_value::<Tensor>(serde_json::to_value(&t).unwrap()).unwrap(), &t);
        let bytes = postcard::to_allocvec(&t).unwrap();
        assert_same(&postcard::from_bytes::<Tensor>(&bytes).unwrap(), &t);
        assert!(bytes.len() <= t.numel() * t.dtype().size() + 16);
    }
}

#[test]
fn the_text_is_a_type_and_a_list() {
    let t = Tensor::from([[1.5f32, -2.0], [0.1, f32::NAN], [f32::INFINITY, f32::NEG_INFINITY]]);
    let text = serde_json::to_string(&t).unwrap();
    assert_eq!(text, r#"{"dtype":"f32","shape":[3,2],"data":[1.5,-2.0,0.1,"NaN","inf","-inf"]}"#);
    let back: Vec<u32> =
        serde_json::from_str::<Tensor>(&text).unwrap().to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    assert_eq!(back, t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>());
    assert_eq!(serde_json::to_string(&Tensor::from([true])).unwrap(), r#"{"dtype":"bool","shape":[1],"data":[true]}"#);
    let z = Tensor::from([Complex::new(0.1f32, f32::NAN), Complex::new(-0.0, 2.0)]);
    assert_eq!(serde_json::to_string(&z).unwrap(), r#"{"dtype":"c64","shape":[2],"data":[[0.1,"NaN"],[-0.0,2.0]]}"#);
    // In any order, and with integers among floats.
    let other = r#"{"data":[1,2.5],"shape":[2],"dtype":"f64"}"#;
    assert_same(&serde_json::from_str(other).unwrap(), &Tensor::from([1.0, 2.5]));
}

#[derive(Clone, Tree, Serialize, Deserialize)]
struct Layer<T = Tensor> {
    weight: T,
    bias: Option<T>,
    #[tree(static)]
    name: String,
}

#[derive(Clone, Tree, Serialize, Deserialize)]
struct Model<T = Tensor> {
    layers: Vec<Layer<T>>,
    extra: (BTreeMap<String, T>, Static<u64>),
}

fn model() -> Model {
    let layer = |name: &str, bias| Layer { weight: pattern(&[2, 3], DType::F32), bias, name: name.into() };
    Model {
        layers: vec![layer("a", None), layer("b", Some(pattern(&[2], DType::F64)))],
        extra: (BTreeMap::from([("x".to_string(), Tensor::from(3i64))]), Static(7)),
    }
}

#[test]
fn trees_come_back_with_what_is_static() {
    let check = |back: Model| {
        assert_same(&back.layers[0].weight, &model().layers[0].weight);
        assert_same(back.layers[1].bias.as_ref().unwrap(), &pattern(&[2], DType::F64));
        assert!(back.layers[0].bias.is_none());
        assert_eq!((back.layers[1].name.as_str(), back.extra.1.0), ("b", 7));
        assert_eq!(back.extra.0["x"].item::<i64>().unwrap(), 3);
    };
    check(serde_json::from_str(&serde_json::to_string(&model()).unwrap()).unwrap());
    check(postcard::from_bytes(&postcard::to_allocvec(&model()).unwrap()).unwrap());
}

#[test]
fn what_is_no_tensor_is_refused() {
    let refused = |text: &str, part: &str| {
        let err = serde_json::from_str::<Tensor>(text).unwrap_err().to_string();
        assert!(err.contains(part), "{text}: {err}");
    };
    refused(r#"{"dtype":"f32","shape":[3],"data":[1,2]}"#, "expected 3 elements for a tensor f32[3], got 2");
    refused(r#"{"dtype":"f32","shape":[],"data":[]}"#, "expected 1 elements for a tensor f32[], got 0");
    refused(r#"{"dtype":"f32","shape":[4294967296,4294967296],"data":[]}"#, "memory can hold");
    refused(r#"{"dtype":"f16x","shape":[1],"data":[1]}"#, "\"f16x\", expected the name of a dtype");
    refused(r#"{"dtype":"f32","data":[1]}"#, "missing field `shape`");
    refused(r#"{"dtype":"f32","shape":[1]}"#, "missing field `data`");
    refused(r#"{"dtype":"f32","dtype":"f32","shape":[1],"data":[1]}"#, "duplicate field `dtype`");
    refused(r#"{"dtype":"f32","shape":[1],"data":[1],"more":1}"#, "unknown field `more`");
    refused(r#"{"dtype":"f32","shape":[-1],"data":[1]}"#, "invalid value");
    refused(r#"{"dtype":"f32","shape":[1],"data":[null]}"#, "invalid type: null");
    refused(r#"{"dtype":"f32","shape":[1],"data":["nan"]}"#, "one of the texts `NaN`");
    refused(r#"{"dtype":"f32","shape":[1],"data":[true]}"#, "expected elements of f32, got true");
    refused(r#"{"dtype":"i64","shape":[1],"data":[1.5]}"#, "expected elements of i64, got 1.5");
    refused(r#"{"dtype":"u8","shape":[1],"data":[256]}"#, "expected elements of u8, got 256");
    refused(r#"{"dtype":"i32","shape":[1],"data":["NaN"]}"#, "expected elements of i32, got NaN");
    refused(r#"{"dtype":"i64","shape":[1],"data":[18446744073709551615]}"#, "expected elements of i64");
    refused(r#"{"dtype":"bool","shape":[1],"data":[1]}"#, "expected elements of bool, got 1");
    refused(r#"{"dtype":"f32","shape":[1],"data":[[1,2]]}"#, "expected elements of f32, got [1.0,2.0]");
    refused(r#"{"dtype":"c64","shape":[1],"data":[1]}"#, "expected elements of c64, got 1");
    refused(r#"{"dtype":"c64","shape":[1],"data":[[1,2,3]]}"#, "two parts");
    refused(r#"{"dtype":"c64","shape":[1],"data":[[1]]}"#, "two parts");
    refused(r#"{"dtype":"c64","shape":[1],"data":[[1,[2]]]}"#, "invalid type: sequence");
    refused(r#"{"dtype":"c64","shape":[1],"data":[[1,true]]}"#, "expected a part of a complex number, got true");
    refused("3", "expected a tensor: dtype, shape and data");

    let bytes = postcard::to_allocvec(&Tensor::from([true, false])).unwrap();
    for n in 0..bytes.len() {
        assert!(postcard::from_bytes::<Tensor>(&bytes[..n]).is_err());
    }
    let mut bad = bytes.clone();
    *bad.last_mut().unwrap() = 2;
    assert!(postcard::from_bytes::<Tensor>(&bad).is_err());
    for at in 0..bytes.len() {
        for byte in 0..=255 {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let _ = postcard::from_bytes::<Tensor>(&bytes);
        }
    }
}

#[test]
fn traced_tensors() {
    let f = |x: &Tensor| {
        let err = serde_json::to_string(x).unwrap_err().to_string();
        assert!(err.contains("serialize") && err.contains("vmap"), "{err}");
        Ok(x.clone())
    };
    vmap(f)(&Tensor::from([1.0, 2.0])).unwrap();
    let f = |x: &Tensor| {
        assert_eq!(serde_json::to_string(x).unwrap(), r#"{"dtype":"f64","shape":[],"data":[3.0]}"#);
        x.square()
    };
    grad(f)(&Tensor::from(3.0)).unwrap();
}

#[test]
fn dtypes_are_their_names() {
    assert_eq!(
        serde_json::to_string(&DType::ALL).unwrap(),
        serde_json::to_string(&DType::ALL.map(|d| d.name())).unwrap()
    );
    assert_eq!(serde_json::from_str::<DType>("\"i64\"").unwrap(), DType::I64);
}
