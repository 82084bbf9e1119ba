//! Files of NumPy: what it wrote, and what comes back.

use std::collections::BTreeMap;

use pullback::io::{load_state_dict, npy, npz};
use pullback::{DType, ErrorKind, Tensor, vmap};

use super::support::{Scratch, assert_error, assert_same, extremes, file, pattern, python};

/// The dtypes that NumPy has.
fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&d| d != DType::BF16)
}

#[test]
fn a_dtype_that_numpy_does_not_have() {
    let x = pattern(&[2], DType::BF16);
    assert_error(
        npy::to_bytes(&x),
        ErrorKind::Dtype,
        &["npy::to_bytes: expected elements that NumPy has, got bf16[2]"],
    );
    assert_error(npz::to_bytes(&vec![x]), ErrorKind::Dtype, &["npz::to_bytes > `0`: ", "got bf16[2]"]);
}

#[test]
fn every_dtype_layout_and_order_of_bytes_is_read() {
    for archive in ["stored.npz", "compressed.npz"] {
        let arrays = npz::load(file(archive)).unwrap();
        assert_eq!(arrays.len(), 6 * dtypes().count());
        for (name, array) in &arrays {
            let (dtype, what) = name.split_once('_').unwrap();
            let dtype = DType::ALL.into_iter().find(|d| d.name() == dtype).unwrap();
            let shape: &[usize] = match what {
                "scalar" => &[],
                "empty" => &[0, 3],
                _ => &[2, 3, 4],
            };
            assert_same(array, &pattern(shape, dtype));
        }
    }
}

#[test]
fn every_version_is_read() {
    for version in 1..=3 {
        assert_same(&npy::load(file(&format!("version{version}.npy"))).unwrap(), &pattern(&[3], DType::F64));
    }
}

/// Tensors of all dtypes and of several layouts.
fn many() -> BTreeMap<String, Tensor> {
    let mut all: BTreeMap<String, Tensor> = extremes()
        .into_iter()
        .filter(|t| t.dtype() != DType::BF16)
        .enumerate()
        .map(|(k, t)| (k.to_string(), t))
        .collect();
    for dtype in dtypes() {
        let x = pattern(&[2, 3, 4], dtype);
        all.insert(format!("{dtype}/strided"), x.permute(&[2, 0, 1]).unwrap().flip(&[0]).unwrap());
        all.insert(format!("{dtype}/é"), x.select(0, 0).unwrap().expand(&[2, 3, 4]).unwrap());
        all.insert(format!("{dtype}/empty"), x.narrow(1, 0, 0).unwrap());
        all.insert(format!("{dtype}/scalar"), pattern(&[], dtype));
    }
    all.insert("long".into(), pattern(&[1000, 100], DType::F32));
    all
}

#[test]
fn what_is_saved_comes_back() {
    let path = Scratch::new("back.npz");
    let all = many();
    for compressed in [false, true] {
        if compressed { npz::save_compressed(&path.0, &all) } else { npz::save(&path.0, &all) }.unwrap();
        let loaded = npz::load(&path.0).unwrap();
        assert_eq!(loaded.keys().collect::<Vec<_>>(), all.keys().collect::<Vec<_>>());
        for (name, tensor) in &all {
            assert_same(&loaded[name], tensor);
        }
        let size = path.0.metadata().unwrap().len();
        assert!(if compressed { size < 50_000 } else { size > 400_000 }, "{size}");
    }
    let path = Scratch::new("back.npy");
    for tensor in all.values() {
        npy::save(&path.0, tensor).unwrap();
        assert_same(&npy::load(&path.0).unwrap(), tensor);
        assert_eq!(std::fs::read(&path.0).unwrap(), npy::to_bytes(tensor).unwrap());
    }
}

#[test]
fn a_tree_has_the_names_of_its_parameters() {
    let pair = (pattern(&[3], DType::F64), vec![pattern(&[2], DType::I32)]);
    let loaded = npz::from_bytes(&npz::to_bytes(&pair).unwrap()).unwrap();
    assert_eq!(loaded.keys().collect::<Vec<_>>(), ["0", "1.0"]);
    assert_same(&load_state_dict(&pair, &loaded).unwrap().1[0], &pair.1[0]);
}

#[test]
fn headers_are_aligned_whatever_the_rank() {
    for rank in [0, 1, 2, 7, 64] {
        let x = Tensor::from_slice(&[1.5], &vec![1; rank]).unwrap();
        let bytes = npy::to_bytes(&x).unwrap();
        assert_eq!(bytes.len() % 64, 8);
        assert_eq!(bytes[bytes.len() - 9], b'\n');
        assert_same(&npy::from_bytes(&bytes).unwrap(), &x);
    }
    for rank in [65, 30_000] {
        let x = Tensor::from_slice(&[1.5], &vec![1; rank]).unwrap();
        assert_error(npy::to_bytes(&x), ErrorKind::Shape, &["expected at most 64 dims", &format!("got {rank}")]);
    }
}

#[test]
fn archives_are_written_in_the_same_way_each_time() {
    let all = many();
    assert_eq!(npz::to_bytes(&all).unwrap(), npz::to_bytes(&all).unwrap());
}

#[test]
fn numpy_reads_what_is_saved() {
    let path = Scratch::new("python.npz");
    let program = "import sys, numpy as np\n\
        x = np.load(sys.argv[1])\n\
        assert len(x.files) == 46, len(x.files)\n\
        assert (x['long'].ravel() == (np.arange(100000) * 7 % 11 - 5) / 4).all()\n\
        assert x['i64/strided'].dtype == np.int64 and x['i64/strided'].shape == (4, 2, 3)\n\
        assert (x['i64/strided'][3, 1] == (np.arange(12, 24, 4) * 7 % 11 - 5) * 10**12).all()\n\
        assert x['f32/empty'].shape == (2, 0, 4) and x['bool/scalar'].shape == ()\n\
        assert x['2'][0] == -2**63 and x['0'][2] == 5e-324\n\
        import zipfile\n\
        assert zipfile.ZipFile(sys.argv[1]).testzip() is None";
    npz::save(&path.0, &many()).unwrap();
    python(program, &path.0);
    npz::save_compressed(&path.0, &many()).unwrap();
    python(program, &path.0);
}

#[test]
fn a_batched_value_has_no_file() {
    let f = |x: &Tensor| {
        assert_error(npy::to_bytes(x), ErrorKind::ConcreteValueNeeded, &["npy::to_bytes", "vmap"]);
        assert_error(npz::to_bytes(&vec![x.clone()]), ErrorKind::ConcreteValueNeeded, &["npz::to_bytes > `0`"]);
        Ok(x.clone())
    };
    vmap(f)(&Tensor::from([1.0, 2.0])).unwrap();
}
