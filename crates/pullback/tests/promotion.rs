//! The promotion table of `DType`, operand by operand, mapped and unmapped.

use pullback::*;

type Binary = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// What `torch.promote_types` gives.
const TABLE: [[&str; 10]; 10] = [
    ["bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["u8", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64", "c64", "c128"],
    ["bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64", "c64", "c128"],
    ["f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64", "c64", "c128"],
    ["f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "c128", "c128"],
    ["c64", "c64", "c64", "c64", "c64", "c64", "c64", "c128", "c64", "c128"],
    ["c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128"],
];

/// What `torch.result_type` gives for a tensor with dimensions (rows) beside a 0-d tensor (columns), with its `complex32`,
/// which is no dtype here, replaced by `c64`.
const RANKED: [[&str; 10]; 10] = [
    ["bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["u8", "u8", "u8", "u8", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["i32", "i32", "i32", "i32", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "c64", "c64"],
    ["bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "c64", "c64"],
    ["f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "c64", "c64"],
    ["f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "c128", "c128"],
    ["c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64"],
    ["c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128"],
];

/// The same for Rust numbers in the place of 0-d tensors: `true`, `2`, `2.5`, `2j`.
const NUMBERS: [[&str; 10]; 4] = [
    ["bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["i64", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["f32", "f32", "f32", "f32", "f16", "bf16", "f32", "f64", "c64", "c128"],
    ["c64", "c64", "c64", "c64", "c64", "c64", "c64", "c128", "c64", "c128"],
];

fn position(d: DType) -> usize {
    DType::ALL.iter().position(|&e| e == d).unwrap()
}

fn named(name: &str) -> DType {
    DType::ALL.into_iter().find(|d| d.name() == name).unwrap()
}

#[test]
fn the_table_is_the_documented_one_and_that_of_torch() {
    let source = include_str!("../src/dtype/mod.rs");
    let rows: Vec<Vec<&str>> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("/// | "))
        .map(|row| row.trim_end_matches('|').split('|').map(str::trim).collect())
        .collect();
    let names = DType::ALL.map(DType::name);
    assert_eq!(rows[0][1..], names);
    assert_eq!(rows.len(), names.len() + 1);
    for (row, a) in rows[1..].iter().zip(DType::ALL) {
        assert_eq!(row[0], a.name());
        for (name, b) in row[1..].iter().zip(DType::ALL) {
            assert_eq!((a.promote(b), b.promote(a)), (named(name), named(name)), "{a} {b}");
            assert_eq!(*name, TABLE[position(a)][position(b)], "{a} {b}");
        }
    }
}

/// The documented rule: the operand of lower rank only matters if its category is higher.
fn expected(a: DType, a_rank: u8, b: DType, b_rank: u8) -> DType {
    let (high, low) = if a_rank >= b_rank { (a, b) } else { (b, a) };
    let table = if a_rank == b_rank { TABLE } else { RANKED };
    named(table[position(high)][position(low)])
}

/// True for what an operation may refuse: it does not take complex numbers.
fn refused(want: DType, result: &Result<Tensor>) -> bool {
    want.is_complex() && result.as_ref().is_err_and(|e| e.is_dtype())
}

fn of(dtype: DType, shape: &[usize]) -> Tensor {
    Tensor::ones(shape, dtype).unwrap()
}

/// Operations that promote, and whether they take bools and whether they need a float.
fn operations() -> Vec<(&'static str, Binary, bool, bool)> {
    let choose: Binary = |a, b| Tensor::from(true).where_(a, b);
    vec![
        ("add", |a, b| a.add(b), true, false),
        ("sub", |a, b| a.sub(b), false, false),
        ("mul", |a, b| a.mul(b), true, false),
        ("div", |a, b| a.div(b), true, true),
        ("pow", |a, b| a.pow(b), false, false),
        ("maximum", |a, b| a.maximum(b), true, false),
        ("minimum", |a, b| a.minimum(b), true, false),
        ("where_", choose, true, false),
        ("operators", |a, b| Ok(a.clone() + b.clone()), true, false),
        ("left owned", |a, b| Ok(a.clone() * b), true, false),
        ("right owned", |a, b| Ok(a / b.clone()), true, true),
    ]
}

#[test]
fn table_of_tensors() {
    let shapes: [&[usize]; 2] = [&[], &[3]];
    for (name, call, bools, float) in operations() {
        for a in DType::ALL {
            for b in DType::ALL {
                if a == DType::Bool && b == DType::Bool && !bools {
                    let e = call(&of(a, &[3]), &of(b, &[3])).unwrap_err();
                    assert_eq!(e.kind(), ErrorKind::Dtype, "{name}");
                    continue;
                }
                for (ra, sa) in shapes.iter().enumerate() {
                    for (rb, sb) in shapes.iter().enumerate() {
                        let mut want = expected(a, ra as u8, b, rb as u8);
                        if float && !want.is_differentiable() {
                            want = DType::F32;
                        }
                        if want.is_complex() && matches!(name, "operators" | "left owned" | "right owned") {
                            continue;
                        }
                        let got = call(&of(a, sa), &of(b, sb));
                        if refused(want, &got) {
                            continue;
                        }
                        let got = got.unwrap();
                        assert_eq!(got.dtype(), want, "{name} {a}{sa:?} {b}{sb:?}");
                        // Lanes are no dimensions: the ranks that count are those inside.
                        let lanes = |s: &[usize]| [&[2], s].concat();
                        let (la, lb) = (of(a, &lanes(sa)), of(b, &lanes(sb)));
                        let pair = |(a, b): &(Tensor, Tensor)| call(a, b);
                        let both = vmap(pair)(&(la.clone(), lb.clone())).unwrap();
                        assert_eq!(both.dtype(), want, "vmap {name} {a}{sa:?} {b}{sb:?}");
                        let left = vmap(|x: &Tensor| call(x, &of(b, sb)))(&la).unwrap();
                        assert_eq!(left.dtype(), want, "vmap left {name} {a}{sa:?} {b}{sb:?}");
                        let right = vmap(|x: &Tensor| call(&of(a, sa), x))(&lb).unwrap();
                        assert_eq!(right.dtype(), want, "vmap right {name} {a}{sa:?} {b}{sb:?}");
                        let mut shape = vec![2];
                        shape.extend(if ra + rb > 0 { vec![3] } else { vec![] });
                        for y in [both, left, right] {
                            assert_eq!(y.shape(), shape);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn table_of_numbers() {
    /// A number beside a tensor.
    fn with(a: DType, number: DType) -> DType {
        let row = match number {
            DType::Bool => 0,
            _ if number.is_int() => 1,
            _ => 2,
        };
        named(NUMBERS[row][position(a)])
    }
    macro_rules! check {
        ($($n:expr => $number:ident;)*) => { $(
            for a in DType::ALL.into_iter().filter(|a| !a.is_complex()) {
                for shape in [&[][..], &[3]] {
                    let x = of(a, shape);
                    let want = with(a, DType::$number);
                    let float = if want.is_float() { want } else { DType::F32 };
                    assert_eq!(x.add($n).unwrap().dtype(), want);
                    assert_eq!((&x + $n).dtype(), want);
                    assert_eq!((x.clone() * $n).dtype(), want);
                    assert_eq!((&x / $n).dtype(), float);
                    assert_eq!(x.maximum($n).unwrap().dtype(), want);
                    assert_eq!(Tensor::from(true).where_(&x, $n).unwrap().dtype(), want);
                    assert_eq!(Tensor::from(true).where_($n, &x).unwrap().dtype(), want);
                    assert_eq!(x.lt($n).unwrap().dtype(), DType::Bool);
                    if a != DType::Bool || DType::$number != DType::Bool {
                        assert_eq!((&x - $n).dtype(), want);
                        assert_eq!(x.pow($n).unwrap().dtype(), want, "{a} ** {}", $n);
                    }
                    let lanes = of(a, &[&[2][..], shape].concat());
                    assert_eq!(vmap(|x: &Tensor| x.mul($n))(&lanes).unwrap().dtype(), want);
                }
            }
        )* };
    }
    check! {
        true => Bool;
        2u8 => U8;
        2i32 => I32;
        2i64 => I64;
        2usize => I64;
        f16::from_f32(2.5) => F16;
        bf16::from_f32(2.5) => BF16;
        2.5f32 => F32;
        2.5f64 => F64;
    }
}

#[test]
fn table_of_numbers_on_the_left() {
    for a in DType::ALL.into_iter().filter(|a| !a.is_complex()) {
        for shape in [&[][..], &[3]] {
            let x = of(a, shape);
            let number = if a == DType::Bool { DType::I64 } else { a };
            let float = a.to_float();
            assert_eq!([(2 + &x).dtype(), (2 * x.clone()).dtype(), (2 - &x).dtype()], [number; 3]);
            assert_eq!([(2.5 + &x).dtype(), (2.5 - x.clone()).dtype(), (2.5 * &x).dtype()], [float; 3]);
            assert_eq!([(2 / &x).dtype(), (2 / x.clone()).dtype(), (2.5 / &x).dtype()], [float; 3]);
            let lanes = of(a, &[&[2][..], shape].concat());
            assert_eq!(vmap(|x: &Tensor| Ok(2 - x))(&lanes).unwrap().dtype(), number);
        }
    }
}

#[test]
fn literals_need_no_type() {
    let x = Tensor::from([1.0, 2.0]);
    assert_eq!((&x * 2.0).sum().unwrap().item::<f64>().unwrap(), 6.0);
    assert_eq!((1 - x.square().unwrap()).abs().unwrap().to_vec::<f64>().unwrap(), [0.0, 3.0]);
    assert_eq!((2.0 / (&x + 1)).to_vec::<f64>().unwrap()[0], 1.0);
    assert_eq!((-(&x * x.clone())).to_vec::<f64>().unwrap(), [-1.0, -4.0]);
}

#[test]
fn a_number_leaves_lanes_as_they_are() {
    let ones = of(DType::F32, &[3]);
    let y = vmap(|x: &Tensor| x.mul(0.1))(&ones).unwrap();
    assert_eq!((y.dtype(), y.to_vec::<f32>().unwrap()), (DType::F32, vec![0.1f32; 3]));
    let product = |(a, b): &(Tensor, Tensor)| a.mul(b);
    let single = product(&(of(DType::F32, &[]), of(DType::F64, &[]))).unwrap();
    let lanes = vmap(product)(&(ones, of(DType::F64, &[3]))).unwrap();
    assert_eq!(lanes.dtype(), single.dtype());
}

#[test]
fn complex_numbers_beside_tensors() {
    let z = Complex64::new(1.0, -2.0);
    for a in DType::ALL {
        let want = named(NUMBERS[3][position(a)]);
        let y = Tensor::from([true, false]).where_(&of(a, &[2]), z).unwrap();
        assert_eq!(y.dtype(), want);
        assert_eq!(y.to_dtype(DType::C128).unwrap().to_vec::<Complex64>().unwrap(), [Complex::new(1.0, 0.0), z]);
    }
}

#[test]
fn choices_between_numbers() {
    let condition = Tensor::from([true, false]);
    let y = condition.where_(1.5, 0).unwrap();
    assert_eq!((y.dtype(), y.to_vec::<f32>().unwrap()), (DType::F32, vec![1.5, 0.0]));
    let y = condition.where_(3, true).unwrap();
    assert_eq!((y.dtype(), y.to_vec::<i64>().unwrap()), (DType::I64, vec![3, 1]));
    let y = condition.where_(true, false).unwrap();
    assert_eq!((y.dtype(), y.to_vec::<bool>().unwrap()), (DType::Bool, vec![true, false]));
}

#[test]
fn comparisons_are_exact() {
    let bytes = Tensor::from([0u8, 44, 255]);
    assert_eq!(bytes.lt(300).unwrap().to_vec::<bool>().unwrap(), [true; 3]);
    assert_eq!(bytes.eq(300).unwrap().to_vec::<bool>().unwrap(), [false; 3]);
    assert_eq!(bytes.gt(-1).unwrap().to_vec::<bool>().unwrap(), [true; 3]);
    assert_eq!(bytes.gt(43.5).unwrap().to_vec::<bool>().unwrap(), [false, true, true]);
    let close = Tensor::from([16_777_216i64, 16_777_217]);
    assert_eq!(close.eq(16_777_217.0).unwrap().to_vec::<bool>().unwrap(), [false, true]);
    assert_eq!(close.eq(&Tensor::from([16_777_216f32])).unwrap().to_vec::<bool>().unwrap(), [true, false]);
    // A number takes the dtype of a float tensor.
    assert_eq!(Tensor::from([0.1f32]).eq(0.1).unwrap().to_vec::<bool>().unwrap(), [true]);
    let nan = Tensor::from([f64::NAN]);
    for (y, holds) in [
        (nan.eq(&nan), false),
        (nan.ne(&nan), true),
        (nan.lt(1.0), false),
        (nan.le(1.0), false),
        (nan.gt(1.0), false),
        (nan.ge(1.0), false),
    ] {
        assert_eq!(y.unwrap().to_vec::<bool>().unwrap(), [holds]);
    }
}

#[test]
fn integers_keep_their_dtype_where_they_can() {
    for dtype in [DType::U8, DType::I32, DType::I64] {
        let x = of(dtype, &[3]);
        for y in [x.neg(), x.abs(), x.sign(), x.square(), x.relu(), x.floor(), x.round(), x.powi(3), x.pow(2)] {
            assert_eq!(y.unwrap().dtype(), dtype);
        }
        for y in [x.exp(), x.sqrt(), x.sigmoid(), x.reciprocal(), x.powf(2.0)] {
            assert_eq!(y.unwrap().dtype(), DType::F32);
        }
    }
    assert_eq!(Tensor::from([i32::MIN]).abs().unwrap().to_vec::<i32>().unwrap(), [i32::MIN]);
    assert_eq!(Tensor::from([i64::MIN, 5]).neg().unwrap().to_vec::<i64>().unwrap(), [i64::MIN, -5]);
    assert_eq!(Tensor::from([3i64]).pow(40).unwrap().to_vec::<i64>().unwrap(), [3i64.wrapping_pow(40)]);
    assert!(Tensor::from([true]).neg().unwrap_err().is_dtype());
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    let bytes = Tensor::from([1u8, 2]);
    let condition = Tensor::from(true);
    for e in [
        bytes.add(300),
        bytes.mul(-1),
        bytes.maximum(300),
        condition.where_(&bytes, 256),
        condition.where_(-1, &bytes),
        Tensor::from([1i32]).sub(1i64 << 31),
    ] {
        let e = e.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Value, "{e}");
        assert!(e.to_string().contains("can hold, got"), "{e}");
    }
    // Where the result is a float or bool anyway, the number need not fit.
    assert_eq!(bytes.div(300).unwrap().to_vec::<f32>().unwrap(), [1.0 / 300.0, 2.0 / 300.0]);
    assert_eq!((600 / &bytes).to_vec::<f32>().unwrap(), [600.0, 300.0]);
    assert_eq!((bytes.clone() / 400).to_vec::<f32>().unwrap(), [0.0025, 0.005]);
    assert_eq!(bytes.logical_and(256).unwrap().to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!((&bytes + 300.5).to_vec::<f32>().unwrap(), [301.5, 302.5]);
}

#[test]
fn owned_operands_negate_in_place_and_keep_signed_zeros() {
    let x = Tensor::from([0.0f32, -2.0]);
    let y = -(&x * 1.0);
    let bits: Vec<u32> = y.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits, [(-0.0f32).to_bits(), 2.0f32.to_bits()]);
    assert_eq!((-x.neg().unwrap()).to_vec::<f32>().unwrap(), [0.0, -2.0]);
    assert_eq!((-Tensor::from([1u8])).to_vec::<u8>().unwrap(), [255]);
}
