//! Files of safetensors: what others wrote, and what comes back.

use std::collections::BTreeMap;

use pullback::io::{load_state_dict, safetensors};
use pullback::{DType, ErrorKind, Tensor, Tree, grad, vmap};

use super::support::{Scratch, assert_error, assert_same, extremes, file, pattern, python};

#[derive(Clone, Tree)]
struct Linear<T = Tensor> {
    weight: T,
    bias: T,
}

#[derive(Clone, Tree)]
struct Mlp<T = Tensor> {
    layers: Vec<Linear<T>>,
    scale: T,
}

fn zeros() -> Mlp {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32).unwrap();
    let linear = |i, o| Linear { weight: zeros(&[o, i]), bias: zeros(&[o]) };
    Mlp { layers: vec![linear(3, 2), linear(2, 1)], scale: zeros(&[]) }
}

/// The dtypes that the format has.
fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&d| d != DType::C128)
}

#[test]
fn a_dtype_that_the_format_does_not_have() {
    let state = BTreeMap::from([("x".to_string(), pattern(&[2], DType::C128))]);
    let parts = ["safetensors::to_bytes: expected elements that the format has, got c128[2] for `x`"];
    assert_error(safetensors::to_bytes(&state, &BTreeMap::new()), ErrorKind::Dtype, &parts);
}

#[test]
fn weights_that_pytorch_saved_load_into_a_struct() {
    let (state, metadata) = safetensors::load_with_metadata(file("mlp.safetensors")).unwrap();
    assert_eq!(metadata, BTreeMap::from([("format".into(), "pt".into()), ("step".into(), "12".into())]));
    let model = load_state_dict(&zeros(), &state).unwrap();
    assert_same(&model.layers[0].weight, &pattern(&[2, 3], DType::F32));
    assert_same(&model.layers[1].bias, &pattern(&[1], DType::F32));
    assert_same(&model.scale, &pattern(&[], DType::F32));
}

#[test]
fn every_dtype_and_rank_is_read() {
    let state = safetensors::load(file("types.safetensors")).unwrap();
    for (name, tensor) in &state {
        let (dtype, rank) = name.split_once('_').unwrap();
        let dtype = DType::ALL.into_iter().find(|d| d.name() == dtype).unwrap();
        let shapes: [&[usize]; 4] = [&[], &[5], &[2, 3], &[2, 0, 3]];
        assert_same(tensor, &pattern(shapes[rank.parse::<usize>().unwrap()], dtype));
    }
    assert_eq!(state.len(), 4 * dtypes().count());
}

#[test]
fn what_is_saved_comes_back() {
    let path = Scratch::new("back.safetensors");
    let mut state: BTreeMap<String, Tensor> = extremes()
        .into_iter()
        .filter(|t| t.dtype() != DType::C128)
        .enumerate()
        .map(|(k, t)| (format!("{k}. \"quoted\"\n\\ é\u{1}"), t))
        .collect();
    for dtype in dtypes() {
        let x = pattern(&[2, 3, 4], dtype);
        state.insert(format!("{dtype} strided"), x.permute(&[2, 0, 1]).unwrap().flip(&[0]).unwrap());
        state.insert(format!("{dtype} broadcast"), x.select(0, 0).unwrap().expand(&[2, 3, 4]).unwrap());
        state.insert(format!("{dtype} empty"), x.narrow(1, 0, 0).unwrap());
    }
    safetensors::save_with_metadata(&path.0, &state, &BTreeMap::from([("a\"".into(), "b\\".into())])).unwrap();
    let (loaded, metadata) = safetensors::load_with_metadata(&path.0).unwrap();
    assert_eq!(metadata["a\""], "b\\");
    assert_eq!(loaded.keys().collect::<Vec<_>>(), state.keys().collect::<Vec<_>>());
    for (name, tensor) in &state {
        assert_same(&loaded[name], tensor);
    }
    assert_eq!(std::fs::read(&path.0).unwrap(), safetensors::to_bytes(&state, &metadata).unwrap());
}

#[test]
fn nan_keeps_its_bits() {
    let x = Tensor::from([f32::from_bits(0x7fc0_1234), f32::INFINITY]);
    let bytes = safetensors::to_bytes(&vec![x], &BTreeMap::new()).unwrap();
    let back = safetensors::from_bytes(&bytes).unwrap().0["0"].to_vec::<f32>().unwrap();
    assert_eq!(back[0].to_bits(), 0x7fc0_1234);
}

#[test]
fn the_package_of_python_reads_what_is_saved() {
    let path = Scratch::new("python.safetensors");
    let model = load_state_dict(&zeros(), &safetensors::load(file("mlp.safetensors")).unwrap()).unwrap();
    safetensors::save_with_metadata(&path.0, &model, &BTreeMap::from([("format".into(), "pt".into())])).unwrap();
    let program = "import sys, numpy as np, safetensors.numpy as s, safetensors\n\
        x = s.load_file(sys.argv[1])\n\
        assert sorted(x) == ['layers.0.bias', 'layers.0.weight', 'layers.1.bias', 'layers.1.weight', 'scale'], x\n\
        assert (x['layers.0.weight'].ravel() == (np.arange(6) * 7 % 11 - 5) / 4).all(), x\n\
        assert safetensors.safe_open(sys.argv[1], 'np').metadata() == {'format': 'pt'}";
    python(program, &path.0);
}

#[test]
fn a_file_is_replaced_in_one_piece() {
    let path = Scratch::new("replaced.safetensors");
    let old = vec![Tensor::from([1.0])];
    safetensors::save(&path.0, &old).unwrap();
    // What fails leaves the file alone, and nothing beside it.
    let traced = vmap(|x: &Tensor| {
        assert_error(
            safetensors::save(&path.0, &vec![x.clone()]),
            ErrorKind::ConcreteValueNeeded,
            &["safetensors::save", "vmap"],
        );
        Ok(x.clone())
    });
    traced(&Tensor::from([1.0, 2.0])).unwrap();
    assert_same(&safetensors::load(&path.0).unwrap()["0"], &old[0]);
    safetensors::save(&path.0, &vec![Tensor::from([2.0])]).unwrap();
    assert_same(&safetensors::load(&path.0).unwrap()["0"], &Tensor::from([2.0]));
}

#[cfg(unix)]
#[test]
fn a_new_file_has_the_rights_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let (path, other) = (Scratch::new("rights.safetensors"), Scratch::new("rights.txt"));
    safetensors::save(&path.0, &vec![Tensor::from(1.0)]).unwrap();
    std::fs::write(&other.0, "").unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&path.0), mode(&other.0));
}

#[test]
fn files_are_written_in_the_same_way_each_time() {
    let metadata: BTreeMap<String, String> = (0..20).map(|k| (format!("key {k}"), format!("text {k}"))).collect();
    let bytes = safetensors::to_bytes(&zeros(), &metadata).unwrap();
    for _ in 0..4 {
        assert_eq!(safetensors::to_bytes(&zeros(), &metadata).unwrap(), bytes);
    }
    assert_eq!(safetensors::from_bytes(&bytes).unwrap().1, metadata);
}

#[test]
fn the_others_are_read_where_some_have_elements_that_tensors_cannot_have() {
    let header = r#"{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "q":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[8,11]},"n":{"dtype":"U16","shape":[],"data_offsets":[11,13]},
        "b":{"dtype":"U8","shape":[1,2],"data_offsets":[13,15]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(1.5f32.to_le_bytes().iter().chain(&2.5f32.to_le_bytes()));
    bytes.extend([9, 9, 9, 9, 9, 7, 8]);
    let dtype = ErrorKind::Dtype;
    assert_error(safetensors::from_bytes(&bytes), dtype, &["for `q`, got `F8_E4M3`", "safetensors::File"]);

    let path = Scratch::new("others.safetensors");
    std::fs::write(&path.0, &bytes).unwrap();
    let mut file = safetensors::File::open(&path.0).unwrap();
    assert_eq!(file.names(), ["b", "n", "q", "w"]);
    assert_eq!(file.metadata()["a"], "b");
    assert_same(&file.tensor("b").unwrap(), &Tensor::from([[7u8, 8]]));
    assert_same(&file.tensor("w").unwrap(), &Tensor::from([1.5f32, 2.5]));
    assert_same(&file.tensor("b").unwrap(), &Tensor::from([[7u8, 8]]));
    assert_error(file.tensor("n"), dtype, &["safetensors::File::tensor: expected elements", "for `n`, got `U16`"]);
    assert_error(file.ty("q"), dtype, &["safetensors::File::ty", "for `q`, got `F8_E4M3`"]);
    assert_eq!(file.ty("w").unwrap().to_string(), "f32[2]");
    assert_error(file.tensor("x"), ErrorKind::Value, &["got `x`"]);
}

#[test]
fn the_value_of_a_traced_parameter_is_saved() {
    let path = Scratch::new("traced.safetensors");
    let f = |x: &Tensor| {
        safetensors::save(&path.0, &vec![x.clone()])?;
        x.square()
    };
    grad(f)(&Tensor::from(3.0)).unwrap();
    assert_eq!(safetensors::load(&path.0).unwrap()["0"].item::<f64>().unwrap(), 3.0);
}

#[test]
fn files_that_cannot_be_had() {
    let err = safetensors::load("not/there.safetensors").unwrap_err();
    assert_eq!(err.downcast_ref::<std::io::Error>().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert!(err.to_string().starts_with("safetensors::load > not/there.safetensors: expected a file that can be read"));
    assert_error(
        safetensors::save("not/there.safetensors", &vec![Tensor::from(1.0)]),
        ErrorKind::Io,
        &["safetensors::save > not/there.safetensors: expected a file that can be written"],
    );
    assert_error(safetensors::load(std::env::temp_dir()), ErrorKind::Io, &[]);
    let reserved = BTreeMap::from([("__metadata__".to_string(), Tensor::from(1.0))]);
    assert_error(safetensors::to_bytes(&reserved, &BTreeMap::new()), ErrorKind::Value, &["__metadata__"]);
}
