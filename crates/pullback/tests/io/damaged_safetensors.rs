//! Files of safetensors that are cut off, damaged, or made to do harm.

use std::collections::BTreeMap;

use pullback::{ErrorKind, Tensor, io::safetensors};

use super::support::{assert_error, file};

/// A file with this header and so many bytes of elements.
fn made(header: &str, elements: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(std::iter::repeat_n(0, elements));
    bytes
}

#[track_caller]
fn refused(header: &str, elements: usize, kind: ErrorKind, parts: &[&str]) {
    assert_error(safetensors::from_bytes(&made(header, elements)), kind, parts);
}

#[test]
fn a_good_one_is_read() {
    let header = r#" {"x": {"shape": [2], "data_offsets": [0, 8], "dtype": "F32"}, "e": {"dtype":"I64","shape":[0],"data_offsets":[8,8]}}  "#;
    assert_eq!(safetensors::from_bytes(&made(header, 8)).unwrap().0["x"].to_vec::<f32>().unwrap(), [0.0, 0.0]);
}

#[test]
fn every_prefix_of_a_file_is_refused() {
    let bytes = std::fs::read(file("mlp.safetensors")).unwrap();
    for n in 0..bytes.len() {
        assert_error(safetensors::from_bytes(&bytes[..n]), ErrorKind::Io, &["safetensors::from_bytes: expected"]);
    }
}

#[test]
fn no_changed_byte_does_harm() {
    let bytes = std::fs::read(file("mlp.safetensors")).unwrap();
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff, 0x20] {
            let mut bytes = bytes.clone();
            bytes[at] ^= change;
            // It may still be a file; it must not panic, or take much memory.
            let _ = safetensors::from_bytes(&bytes);
        }
    }
}

#[test]
fn sizes_that_lie() {
    for n in [9, 1 << 20, u64::MAX, u64::MAX - 8, 1 << 63] {
        let mut bytes = n.to_le_bytes().to_vec();
        bytes.extend([b' '; 8]);
        assert_error(
            safetensors::from_bytes(&bytes),
            ErrorKind::Io,
            &["expected a header of at most 8 bytes", &n.to_string()],
        );
    }
    let x = |shape: &str, start: &str, end: &str| {
        format!(r#"{{"x":{{"dtype":"F32","shape":{shape},"data_offsets":[{start},{end}]}}}}"#)
    };
    let io = ErrorKind::Io;
    refused(&x("[3]", "0", "8"), 8, io, &["invalid shape, data type, or offset"]);
    refused(&x("[2]", "8", "0"), 8, io, &["`x`"]);
    refused(&x("[2]", "4", "12"), 12, io, &["`x`"]);
    refused(&x("[2]", "0", "8"), 7, io, &["expected 8 bytes of elements, got 7"]);
    refused(&x("[2]", "0", "8"), 9, io, &["expected 8 bytes of elements, got 9"]);
    refused(&x("[1000000000000]", "0", "4000000000000"), 8, io, &["expected 4000000000000 bytes of elements, got 8"]);
    refused(&x("[4294967296,4294967296]", "0", "0"), 0, io, &["overflow"]);
    refused(&x("[4294967296,0,4294967296]", "0", "0"), 0, io, &["`x`: expected a size that memory can hold"]);
    refused(&x("[4611686018427387904]", "0", "0"), 0, io, &["overflow"]);
    for (shape, end) in [
        ("[-1]", "4"),
        ("[1.0]", "4"),
        ("[1]", "4, 5"),
        ("[99999999999999999999]", "4"),
        ("[1]", "18446744073709551616"),
    ] {
        refused(&x(shape, "0", end), 4, io, &["expected a header of tensors and text"]);
    }
}

#[test]
fn headers_that_are_none() {
    let io = ErrorKind::Io;
    refused("", 0, io, &["expected a header of tensors and text"]);
    refused("[]", 0, io, &["an object"]);
    refused("{\"x\":3}", 0, io, &["an object"]);
    refused("{\"x\":{}}", 0, io, &["missing field"]);
    refused("{\"x\":{}", 0, io, &["EOF"]);
    refused("{} x", 0, io, &["trailing"]);
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    refused(&format!("{{\"x\":{{\"dtype\":{}}}}}", nested("[", "]")), 0, io, &["recursion limit"]);
    refused(&nested("{\"x\":", "}"), 0, io, &["recursion limit"]);
    let mut bytes = made("{\"x \":{}}", 0);
    bytes[11] = 0xff;
    assert_error(safetensors::from_bytes(&bytes), io, &["expected a header of tensors and text"]);
    refused(r#"{"__metadata__":{"a":1}}"#, 0, io, &["expected a string"]);
    assert!(safetensors::from_bytes(&made(r#"{"__metadata__":{}}"#, 0)).unwrap().0.is_empty());
}

#[test]
fn names_that_come_twice() {
    let x = r#""x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let y = r#""x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}"#;
    refused(&format!("{{{x},{y}}}"), 2, ErrorKind::Io, &["got: `x` twice"]);
    refused(&format!("{{{x},{x}}}"), 1, ErrorKind::Io, &["`x` twice"]);
    refused(
        r#"{"x":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}"#,
        1,
        ErrorKind::Io,
        &["`dtype` twice"],
    );
    refused(r#"{"__metadata__":{"a":"","a":""}}"#, 0, ErrorKind::Io, &["`a` twice"]);
}

#[test]
fn elements_that_tensors_cannot_have() {
    assert_error(
        safetensors::load(file("i16.safetensors")),
        ErrorKind::Dtype,
        &["safetensors::load > ", "i16.safetensors: ", "for `x`, got `I16`", "F32"],
    );
    refused(r#"{"x":{"dtype":"","shape":[1],"data_offsets":[0,1]}}"#, 1, ErrorKind::Io, &["unknown variant"]);
    let mut bytes = safetensors::to_bytes(&vec![Tensor::from([true, false])], &BTreeMap::new()).unwrap();
    *bytes.last_mut().unwrap() = 2;
    assert_error(safetensors::from_bytes(&bytes), ErrorKind::Io, &["`0`: expected bools that are 0 or 1, got 2"]);
}
