//! The elements of the files in `files/`, and what reads files again.
#![allow(dead_code, reason = "each feature uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pullback::{Complex, DType, ErrorKind, Result, Tensor, bf16, f16};

pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/io/files").join(name)
}

/// The formula of `scripts/files`.
pub fn pattern(shape: &[usize], dtype: DType) -> Tensor {
    let n = shape.iter().product::<usize>() as i64;
    let wave = |k: i64| k * 7 % 11 - 5;
    let flat: Tensor = match dtype {
        DType::Bool => (0..n).map(|k| k % 3 == 0).collect(),
        DType::U8 => (0..n).map(|k| (k * 37 % 256) as u8).collect(),
        DType::I32 => (0..n).map(|k| wave(k) as i32 * 100_000).collect(),
        DType::I64 => (0..n).map(|k| wave(k) * 1_000_000_000_000).collect(),
        d if d.is_complex() => {
            let z = |k| Complex::new(wave(k) as f64 / 4.0, (k % 5) as f64);
            (0..n).map(z).collect::<Tensor>().to_dtype(dtype).unwrap()
        }
        _ => (0..n).map(|k| wave(k) as f64 / 4.0).collect::<Tensor>().to_dtype(dtype).unwrap(),
    };
    flat.reshape(&shape.iter().map(|&n| n as isize).collect::<Vec<_>>()).unwrap()
}

/// Values that are easily lost: special floats, the limits of integers.
pub fn extremes() -> Vec<Tensor> {
    vec![
        Tensor::from([f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 0.1, 1e-10]),
        Tensor::from([f32::MAX, f32::MIN_POSITIVE, 1e-45, -0.0, 0.1, 16_777_217.0]),
        Tensor::from([i64::MIN, i64::MAX, -1, (1 << 53) + 1]),
        Tensor::from([i32::MIN, i32::MAX, -1]),
        Tensor::from([f16::MAX, f16::from_bits(1), f16::NEG_ZERO, f16::from_f64(0.1)]),
        Tensor::from([bf16::MAX, bf16::from_bits(1), bf16::NEG_ZERO, bf16::from_f64(0.1)]),
        Tensor::from([Complex::new(0.1, -0.0), Complex::new(f64::MAX, f64::INFINITY)]),
        Tensor::from([Complex::new(0.1f32, -0.0), Complex::new(f32::MAX, 1e-45)]),
        Tensor::from([0u8, 255]),
        Tensor::from([true, false]),
    ]
}

/// Equal in type and elements.
#[track_caller]
pub fn assert_same(got: &Tensor, want: &Tensor) {
    assert!(got.equal(want).unwrap(), "expected {} {want}, got {} {got}", want.ty(), got.ty());
}

#[track_caller]
pub fn assert_error<T>(result: Result<T>, kind: ErrorKind, parts: &[&str]) {
    let Err(err) = result else { panic!("expected an error of kind {kind:?}, got none") };
    let text = err.to_string();
    assert_eq!(err.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "expected `{part}` in: {text}");
    }
}

/// A file that is removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("pullback-test-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs a Python program in the environment of `scripts/files`, if there is one.
pub fn python(program: &str, path: &Path) {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/files");
    let home = std::env::var_os("PULLBACK_FILES").map_or(target, PathBuf::from);
    let python = home.join("bin/python");
    if !python.exists() {
        return;
    }
    let done = Command::new(python).arg("-c").arg(program).arg(path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
