//! Files of NumPy that are cut off, damaged, or made to do harm.

use pullback::io::{npy, npz};
use pullback::{ErrorKind, Tensor};

use super::support::{assert_error, file};

/// A file of version 2 with this header and so many bytes of elements.
fn made(header: &str, elements: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(std::iter::repeat_n(0, elements));
    bytes
}

#[track_caller]
fn refused(header: &str, elements: usize, kind: ErrorKind, parts: &[&str]) {
    assert_error(npy::from_bytes(&made(header, elements)), kind, parts);
}

#[test]
fn headers_of_other_writers_are_read() {
    for header in [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        " {\"shape\":(2L,),\"descr\":\"<f8\",\"fortran_order\":True}\n",
        "{'fortran_order' : False , 'shape' : ( 1 , 2 ) , 'descr' : '>f8'}",
        "{'fortran_order': True, 'shape': (1, 1, 2,), 'descr': '<f8',}",
    ] {
        assert_eq!(npy::from_bytes(&made(header, 16)).unwrap().numel(), 2, "{header}");
    }
}

#[test]
fn every_prefix_of_a_file_is_refused() {
    let bytes = std::fs::read(file("version1.npy")).unwrap();
    for n in 0..bytes.len() {
        assert_error(npy::from_bytes(&bytes[..n]), ErrorKind::Io, &["npy::from_bytes: expected"]);
    }
    let bytes = std::fs::read(file("compressed.npz")).unwrap();
    for n in 0..bytes.len() {
        assert_error(npz::from_bytes(&bytes[..n]), ErrorKind::Io, &["npz::from_bytes"]);
    }
}

#[test]
fn no_changed_byte_does_harm() {
    let small = npz::to_bytes(&vec![Tensor::from([1.0f32, 2.0]), Tensor::from([true])]).unwrap();
    let files = [std::fs::read(file("version3.npy")).unwrap(), small, std::fs::read(file("compressed.npz")).unwrap()];
    for (k, bytes) in files.iter().enumerate() {
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 1000) {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                // It may still be a file; it must not panic, or take much memory.
                let _ = if k == 0 { npy::from_bytes(&bytes).is_ok() } else { npz::from_bytes(&bytes).is_ok() };
            }
        }
    }
}

#[test]
fn changed_elements_of_an_archive_are_noticed() {
    let mut bytes = npz::to_bytes(&vec![Tensor::from([1.0f32, 2.0])]).unwrap();
    let at = bytes.windows(4).position(|w| w == 2.0f32.to_le_bytes()).unwrap();
    bytes[at] = 1;
    assert_error(npz::from_bytes(&bytes), ErrorKind::Io, &["`0`: ", "checksum", "damaged"]);
}

#[test]
fn sizes_that_lie() {
    let x = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let io = ErrorKind::Io;
    refused(&x("(3,)"), 8, io, &["expected 12 bytes of elements for f32[3], got 8"]);
    refused(&x("(3,)"), 16, io, &["expected 12 bytes of elements for f32[3], got 16"]);
    refused(&x("()"), 0, io, &["expected 4 bytes of elements for f32[], got 0"]);
    refused(&x("(1000000000000,)"), 8, io, &["expected 4000000000000 bytes of elements"]);
    refused(
        &x("(4294967296, 4294967296)"),
        0,
        io,
        &["expected a header with sizes that memory can hold", "(4294967296, 4294967296)"],
    );
    refused(&x("(4294967296, 0, 4294967296)"), 0, io, &["sizes that memory can hold"]);
    refused(&x("(4294967296, 1073741824)"), 0, io, &["expected a size that memory can hold, got shape"]);
    for shape in
        ["(-1,)", "(1)", "(1.0,)", "(99999999999999999999,)", "(,)", "((1,),)", "(1,,2)", "(+1", "1", "True", "(1+1,)"]
    {
        assert_error(npy::from_bytes(&made(&x(shape), 4)), io, &[]);
    }
    // What a shape multiplies to, however its sizes are written.
    for size in ["0x100000000", "4_294_967_296", "0b1", "0o1", "1_0", "2147483648, 2147483648, 8"] {
        refused(&x(&format!("({size}, {size})")), 4, io, &["sizes that memory can hold"]);
    }
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    long.extend([b' '; 100]);
    assert_error(npy::from_bytes(&long), io, &["expected a header of at most 100 bytes, got one that says 4294967295"]);
}

#[test]
fn headers_that_are_none() {
    let io = ErrorKind::Io;
    assert_error(npy::from_bytes(b"PK\x03\x04 no array at all"), io, &["expected a .npy file, which begins with"]);
    assert_error(npy::from_bytes(b"\x93NUMPY\x09\x00\x00\x00\x00\x00"), io, &["version 1, 2 or 3", "got 9"]);
    for header in [
        "",
        "{",
        "}",
        "{}",
        "{'descr'}",
        "{'descr': ",
        "{'descr': '<f4}",
        "None",
        "{'shape': (1,) 'descr': '<f4'}",
        "{,}",
        "{'é",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 'no', 'shape': ()}",
    ] {
        refused(header, 0, io, &["expected "]);
    }
    for nested in ["(", "[", "{", "(')',", "{1: "] {
        refused(&nested.repeat(9_000 / nested.len()), 0, io, &["expected a header"]);
        refused(&nested.repeat(8), 0, io, &["expected the header of an array"]);
    }
    refused(&" ".repeat(100_000), 0, io, &["expected a header of at most 10000 bytes, got one that says 100000"]);
}

#[test]
fn elements_that_tensors_cannot_have() {
    assert_error(
        npy::load(file("records.npy")),
        ErrorKind::Dtype,
        &["records.npy: expected an array of numbers, got one of records"],
    );
    assert_error(npy::load(file("objects.npy")), ErrorKind::Dtype, &["got `|O`"]);
    assert_error(npy::load(file("i16.npy")), ErrorKind::Dtype, &["got `<i2`", "astype"]);
    assert_error(npy::load(file("text.npy")), ErrorKind::Dtype, &["got `<U2`"]);
    let header = |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ()}}");
    refused(&header("<m8[ns]"), 4, ErrorKind::Dtype, &["got `<m8[ns]`"]);
    for descr in ["", "f4", "|f4", "=f4", "<f4x", "é4", "<", "<f3"] {
        refused(&header(descr), 4, ErrorKind::Io, &["expected the header of an array", "type string"]);
    }
    let mut bytes = npy::to_bytes(&Tensor::from([true, false])).unwrap();
    *bytes.last_mut().unwrap() = 7;
    assert_error(npy::from_bytes(&bytes), ErrorKind::Io, &["expected bools that are 0 or 1, got 7"]);
}

/// An archive with these members, whose entries `change` may forge: it gets the name, and the 46 bytes in the directory.
fn archive(names: &[&str], change: impl Fn(&mut [u8])) -> Vec<u8> {
    let state: std::collections::BTreeMap<String, Tensor> =
        names.iter().map(|n| (n.to_string(), Tensor::from([1.0f64, 2.0]))).collect();
    let mut bytes = npz::to_bytes(&state).unwrap();
    let entries: Vec<usize> = (0..bytes.len() - 4).filter(|&k| bytes[k..k + 4] == *b"PK\x01\x02").collect();
    entries.into_iter().for_each(|k| change(&mut bytes[k..k + 46]));
    bytes
}

#[test]
fn forged_archives() {
    let io = ErrorKind::Io;
    assert_eq!(npz::from_bytes(&archive(&["a", "b"], |_| ())).unwrap().len(), 2);
    assert_error(npz::from_bytes(b""), io, &["expected a zip archive"]);
    assert_error(npz::from_bytes(&[0; 100_000]), io, &["expected a zip archive"]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[8] |= 1)), io, &["decrypt"]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[10] = 14)), io, &["ompression method"]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[42] = 1)), io, &["expected "]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[45] = 0x7f)), io, &["expected "]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[24] += 1)), io, &["`a`: expected 16 bytes of elements"]);
    assert_error(npz::from_bytes(&archive(&["a"], |e| e[24] -= 1)), io, &["`a`: expected 16 bytes of elements"]);
    // A size that no data can have, however it is compressed.
    let bomb = |e: &mut [u8]| {
        e[10] = 8;
        e[24..28].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    };
    assert_error(npz::from_bytes(&archive(&["a"], bomb)), io, &["got 4294967280 bytes from 144"]);
    // Many members that share their data, and some that are counted twice.
    let names: Vec<String> = (0..40).map(|k| format!("{k:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let shared = archive(&names, |e| e[20..28].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]));
    assert_error(npz::from_bytes(&shared), io, &["got some that share them"]);
    let mut many = archive(&["a"], |_| ());
    let end = many.len() - 22;
    many[end + 8..end + 12].copy_from_slice(&[0xfe, 0xff, 0xfe, 0xff]);
    assert_error(npz::from_bytes(&many), io, &["expected "]);
    // Two members of one name: the other is patched to it everywhere.
    let mut twice = archive(&["a", "b"], |_| ());
    for k in 0..twice.len() - 5 {
        if twice[k..k + 5] == *b"b.npy" {
            twice[k] = b'a';
        }
    }
    assert_error(npz::from_bytes(&twice), io, &["names and data of their own"]);
    let mut other = archive(&["a"], |_| ());
    for k in 0..other.len() - 5 {
        if other[k..k + 5] == *b"a.npy" {
            other[k..k + 5].copy_from_slice(b"a.txt");
        }
    }
    assert_error(npz::from_bytes(&other), io, &["whose names end in .npy, got `a.txt`"]);
}

#[test]
fn a_comment_behind_an_archive_is_no_harm() {
    let mut bytes = npz::to_bytes(&vec![Tensor::from([1.0])]).unwrap();
    let end = bytes.len();
    bytes.extend(b"PK\x05\x06 and more");
    bytes[end - 2..end].copy_from_slice(&13u16.to_le_bytes());
    assert_eq!(npz::from_bytes(&bytes).unwrap().len(), 1);
}
