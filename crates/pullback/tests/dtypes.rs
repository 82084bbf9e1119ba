//! Half precision and complex numbers: storage, conversion, printing, and everything that moves elements without reading
//! them.

use pullback::*;

fn z(re: f64, im: f64) -> Complex64 {
    Complex::new(re, im)
}

const NEW: [DType; 4] = [DType::F16, DType::BF16, DType::C64, DType::C128];

/// Small whole numbers, which every dtype holds; complex ones have an imaginary part.
fn numbers(shape: &[usize], dtype: DType) -> Tensor {
    let n: usize = shape.iter().product();
    if dtype.is_complex() {
        let all: Vec<Complex64> = (0..n).map(|k| z(k as f64, 100.0 - k as f64)).collect();
        return Tensor::from_slice(&all, shape).unwrap().to_dtype(dtype).unwrap();
    }
    Tensor::from_slice(&(0..n as i64).collect::<Vec<_>>(), shape).unwrap().to_dtype(dtype).unwrap()
}

/// The elements as complex numbers.
fn read(t: &Tensor) -> Vec<Complex64> {
    t.to_dtype(DType::C128).unwrap().to_vec().unwrap()
}

#[test]
fn elements_come_back_as_they_went_in() -> Result<()> {
    let half = [f16::from_f32(0.1), f16::MAX, f16::NEG_INFINITY];
    assert_eq!(Tensor::from(half).to_vec::<f16>()?, half);
    assert_eq!(Tensor::from(half).ty().to_string(), "f16[3]");
    let brain = [bf16::from_f32(0.1), bf16::MAX, bf16::MIN_POSITIVE];
    assert_eq!(Tensor::from(vec![brain]).to_vec::<bf16>()?, brain);
    let single = Complex32::new(1.0, -2.0);
    assert_eq!(Tensor::from(single).item::<Complex32>()?, single);
    assert_eq!(Tensor::from(single).ty().to_string(), "c64[]");
    let double: Tensor = (0..20).map(|k| z(f64::from(k), 0.5)).collect();
    assert_eq!(double.to_vec::<Complex64>()?[19], z(19.0, 0.5));
    let e = double.to_vec::<f64>().unwrap_err();
    assert!(e.to_string().starts_with("to_vec: expected a tensor of dtype f64, got c128[20]"), "{e}");
    for dtype in NEW {
        assert_eq!(read(&Tensor::zeros(&[2], dtype)?), [z(0.0, 0.0); 2]);
        assert_eq!(read(&Tensor::ones(&[100], dtype)?), [z(1.0, 0.0); 100]);
        assert_eq!(read(&Tensor::full(&[2], 2.5, dtype)?), [z(2.5, 0.0); 2]);
        assert_eq!(read(&Tensor::eye(2, dtype)?), [z(1.0, 0.0), z(0.0, 0.0), z(0.0, 0.0), z(1.0, 0.0)]);
        assert!(Tensor::ones(&[2], dtype)?.equal(&Tensor::ones(&[2], dtype)?)?);
        assert_eq!(Tensor::ones(&[2], dtype)?.dtype().size(), dtype.size());
    }
    assert_eq!(Tensor::full(&[1], z(1.0, 2.0), DType::C64)?.to_vec::<Complex32>()?, [Complex::new(1.0, 2.0)]);
    assert!(Tensor::full(&[1], z(1.0, 2.0), DType::F64).unwrap_err().is_dtype());
    assert_eq!(Tensor::arange(0, 3, 1, DType::F16)?.to_vec::<f16>()?, [0.0, 1.0, 2.0].map(f16::from_f32));
    assert_eq!(Tensor::linspace(0, 1, 3, DType::BF16)?.to_vec::<bf16>()?, [0.0, 0.5, 1.0].map(bf16::from_f32));
    for e in [
        Tensor::arange(0, 3, 1, DType::C64),
        Tensor::linspace(0, 1, 3, DType::C64),
        Tensor::linspace(z(0.0, 1.0), 1, 3, DType::F64),
    ] {
        assert!(e.unwrap_err().is_dtype());
    }
    Ok(())
}

#[test]
fn conversions_round_once_and_keep_complex_numbers_complex() -> Result<()> {
    let x = Tensor::from([0.1f64, 65519.0, 65520.0, -1e-8, f64::NAN]);
    let half = x.to_dtype(DType::F16)?.to_vec::<f16>()?;
    assert_eq!(half[..4], [f16::from_f64(0.1), f16::MAX, f16::INFINITY, f16::from_bits(0x8000)]);
    assert!(half[4].is_nan());
    assert_eq!(x.to_dtype(DType::BF16)?.to_vec::<bf16>()?[0], bf16::from_f64(0.1));
    let whole = Tensor::from([-3i64, 0, 2049, 100_000]);
    assert_eq!(whole.to_dtype(DType::F16)?.to_vec::<f16>()?, [-3.0, 0.0, 2048.0, f32::INFINITY].map(f16::from_f32));
    assert_eq!(Tensor::from(half[0]).to_dtype(DType::I64)?.item::<i64>()?, 0);
    assert_eq!(Tensor::from([half[1]]).to_dtype(DType::U8)?.to_vec::<u8>()?, [255]);
    assert_eq!(Tensor::from([f16::ONE, f16::ZERO]).to_dtype(DType::Bool)?.to_vec::<bool>()?, [true, false]);
    assert_eq!(Tensor::from([true]).to_dtype(DType::C64)?.to_vec::<Complex32>()?, [Complex::new(1.0, 0.0)]);
    // From every dtype to every other, and back where the way is open.
    for from in DType::ALL {
        let small = numbers(&[2], from);
        for to in DType::ALL {
            let converted = small.to_dtype(to);
            if from.is_complex() && !to.is_complex() {
                let e = converted.unwrap_err();
                assert!(e.is_dtype() && e.to_string().contains("`real`"), "{e}");
                continue;
            }
            assert_eq!(converted?.dtype(), to);
            assert_eq!(read(&small.to_dtype(to)?), read(&small), "{from} {to}");
        }
    }
    Ok(())
}

#[test]
fn printing() -> Result<()> {
    assert_eq!(Tensor::from([f16::from_f32(0.1), f16::ONE]).to_string(), "tensor([0.1000, 1.0000], f16[2])");
    assert_eq!(
        Tensor::from([z(1.0, 2.0), z(-0.5, -2.25)]).to_string(),
        "tensor([ 1.0000+2.0000j, -0.5000-2.2500j], c128[2])"
    );
    assert_eq!(Tensor::from(Complex32::new(f32::NAN, f32::INFINITY)).to_string(), "tensor(nan+infj, c64[])");
    assert_eq!(
        format!("{:.1}", Tensor::from([z(1e-9, 2.0), z(2.0, -0.0)])),
        "tensor([1.0e-09+2.0j, 2.0e+00-0.0j], c128[2])"
    );
    let graph = capture(|x: &Tensor| Tensor::from(true).where_(x, z(1.0, -2.0)))(&Tensor::from(z(1.0, 1.0)))?;
    assert!(graph.to_string().contains("(1.0-2.0j)"), "{graph}");
    Ok(())
}

type Move = fn(&Tensor) -> Result<Tensor>;

/// Operations that move elements of a `[3, 4]`.
fn moves() -> Vec<(&'static str, Move)> {
    fn index() -> Tensor {
        Tensor::from([[2i64, 0, 1, 1], [0, 0, 2, 1]])
    }
    vec![
        ("reshape", |x| x.reshape(&[2, 6])),
        ("permute", |x| x.permute(&[1, 0])),
        ("reshape of permuted", |x| x.permute(&[1, 0])?.reshape(&[2, 6])),
        ("slice", |x| x.i((1.., s(None, None, 2)))),
        ("flip", |x| x.flip(&[0, 1])),
        ("roll", |x| x.roll(&[1], &[1])),
        ("repeat", |x| x.repeat(&[2, 3])),
        ("expand", |x| x.expand(&[2, 3, 4])),
        ("squeeze", |x| x.unsqueeze(1)?.squeeze(1)),
        ("cat", |x| cat(&[x, &x.i(0..1)?], 0)),
        ("stack", |x| stack(&[x, x], 1)),
        ("split", |x| Ok(x.split(2, 1)?[1].clone())),
        ("index_select", |x| x.index_select(1, &Tensor::from([3i64, 0, 0]))),
        ("gather", |x| x.gather(0, &index())),
        ("scatter", |x| x.scatter(0, &index(), &x.i(0..2)?)),
        ("set", |x| {
            let mut y = x.clone();
            y.set_((1, 1..3), x.i((0, 1..3))?)?;
            Ok(y)
        }),
        ("where", |x| Tensor::from([true, false, true, false]).where_(x, 0)),
        ("masked_fill", |x| x.masked_fill(&Tensor::from([[true], [false], [false]]), 7)),
        ("tril", |x| x.tril(0)),
        ("triu", |x| x.triu(1)),
        ("diagonal", |x| x.diagonal(1, 0, 1)),
        ("detach", |x| x.detach()),
    ]
}

#[test]
fn what_moves_elements_moves_those_of_every_dtype() -> Result<()> {
    for (name, f) in moves() {
        let plain = f(&numbers(&[3, 4], DType::F64))?;
        for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
            let x = numbers(&[3, 4], dtype);
            let y = f(&x)?;
            assert_eq!((y.dtype(), y.shape()), (dtype, plain.shape()), "{name}");
            let real: Vec<f64> = read(&y).iter().map(|z| z.re).collect();
            assert_eq!(real, plain.to_vec::<f64>()?, "{name} {dtype}");
            if dtype.is_complex() {
                // The imaginary parts went along, but where there is a number in their place.
                for v in read(&y) {
                    assert!(v.im == 100.0 - v.re || v.im == 0.0 && (v.re == 0.0 || v.re == 7.0), "{name} {v}");
                }
            }
            let lanes = stack(&[&x, &x.flip(&[0])?], 1)?;
            let mapped = Vmap::new().in_dims(1).of(f)(&lanes)?;
            let loops = stack(&[&y, &f(&x.flip(&[0])?)?], 0)?;
            assert!(mapped.equal(&loops)?, "vmap {name} {dtype}");
        }
    }
    Ok(())
}

#[test]
fn large_transposes_and_rows_of_every_size() -> Result<()> {
    for dtype in NEW {
        let x = numbers(&[40, 50], DType::I64).remainder(1000)?.to_dtype(dtype)?;
        let y = x.permute(&[1, 0])?.reshape(&[2000])?.reshape(&[50, 40])?;
        assert_eq!(y.shape(), [50, 40]);
        assert!(y.permute(&[1, 0])?.equal(&x)?);
        assert!(x.to_dtype(DType::C128)?.permute(&[1, 0])?.equal(&y.to_dtype(DType::C128)?)?);
        let tall = stack(&[&x, &x], 0)?.permute(&[2, 0, 1])?.reshape(&[4000])?.reshape(&[50, 2, 40])?;
        assert!(tall.permute(&[1, 2, 0])?.i(1)?.equal(&x)?);
    }
    Ok(())
}

/// The cotangent of a function that moves elements is put back where they came from, in the dtype of the argument.
#[test]
fn derivatives_of_what_moves_elements_in_every_mode() -> Result<()> {
    for (name, f) in moves() {
        // A repeated element gets the sum of its cotangents, which needs more than moving.
        let repeats = ["repeat", "expand", "cat", "stack", "index_select", "gather", "scatter", "set", "detach"];
        let reference = numbers(&[3, 4], DType::F64);
        for dtype in NEW {
            let x = numbers(&[3, 4], dtype);
            let (y, dy) = jvp(f, &x, &x)?;
            if name != "detach" {
                let tangent = jvp(f, &reference, &reference)?.1;
                assert_eq!((dy.dtype(), dy.shape()), (dtype, tangent.shape()), "{name}");
                let real: Vec<f64> = read(&dy).iter().map(|z| z.re).collect();
                assert_eq!(real, tangent.to_vec::<f64>()?, "jvp {name} {dtype}");
            }
            if repeats.contains(&name) {
                continue;
            }
            let (value, pull) = vjp(f, &x)?;
            assert!(value.equal(&y)?);
            let g = pull.call(&y)?;
            assert_eq!((g.dtype(), g.shape()), (dtype, &[3, 4][..]), "{name}");
            let expected = vjp(f, &reference)?.1.call(&f(&reference)?)?;
            let real: Vec<f64> = read(&g).iter().map(|z| z.re).collect();
            assert_eq!(real, expected.to_vec::<f64>()?, "vjp {name} {dtype}");
            let (_, push) = linearize(f, &x)?;
            assert!(push.call(&x)?.equal(&dy)?, "linearize {name}");
            let graph = capture(f)(&x)?;
            assert!(graph.call(&x)?.equal(&y)?, "capture {name}");
            let batched = vmap(|g: &Tensor| vjp(f, &x)?.1.call(g))(&stack(&[&y, &y], 0)?)?;
            assert!(batched.i(1)?.equal(&g)?, "vmap of vjp {name}");
        }
    }
    Ok(())
}

#[test]
fn conversions_are_differentiated_in_the_dtype_of_the_argument() -> Result<()> {
    for from in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for to in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128] {
            if from.is_complex() && !to.is_complex() {
                continue;
            }
            let f = move |x: &Tensor| x.to_dtype(to);
            let x = Tensor::ones(&[2], from)?;
            let (dx, g) = (numbers(&[2], from), numbers(&[2], to));
            let tangent = jvp(f, &x, &dx)?.1;
            assert_eq!((tangent.dtype(), read(&tangent)), (to, read(&dx)));
            let back = vjp(f, &x)?.1.call(&g)?;
            assert_eq!(back.dtype(), from);
            // A float has no imaginary part to differentiate by.
            let want = read(&g).into_iter().map(|g| if from.is_complex() { g } else { z(g.re, 0.0) });
            assert_eq!(read(&back), want.collect::<Vec<_>>(), "{from} {to}");
        }
    }
    // There and back again is the identity, whose derivative is 1.
    let f = |x: &Tensor| x.to_dtype(DType::BF16)?.to_dtype(DType::F64);
    assert_eq!(grad(f)(&Tensor::from(3.0))?.item::<f64>()?, 1.0);
    Ok(())
}

#[test]
fn complex_functions_have_no_gradient_and_no_jacobian() {
    let x = Tensor::from([z(1.0, 2.0), z(3.0, 4.0)]);
    let e = grad(|x: &Tensor| x.i(0))(&x).unwrap_err();
    assert!(e.to_string().contains("must return a real scalar, got c128[]"), "{e}");
    let id = |x: &Tensor| x.flip(&[0]);
    for e in [jacrev(id)(&x), jacfwd(id)(&x), jacobian(id)(&x)] {
        let e = e.unwrap_err();
        assert!(e.to_string().contains("expected real arguments, got c128[2]"), "{e}");
    }
    let to_complex = |x: &Tensor| x.to_dtype(DType::C128);
    for e in [jacrev(to_complex)(&Tensor::from([1.0])), jacfwd(to_complex)(&Tensor::from([1.0]))] {
        let e = e.unwrap_err();
        assert!(e.to_string().contains("expected real results, got c128[1]"), "{e}");
    }
}

#[test]
fn real_operations_refuse_complex_numbers_by_name() {
    let x = Tensor::from([z(1.0, 2.0)]);
    let e = x.floor().unwrap_err();
    assert_eq!(
        e.to_string(),
        "floor: expected a tensor of dtype f16, bf16, f32, f64, got c128; help: take its `real`, `imag` or `abs`"
    );
    for (name, result) in [
        ("sort", x.sort(0, false).map(|r| r.0)),
        ("lt", x.lt(1)),
        ("maximum", x.maximum(1)),
        ("argmax", x.argmax(0, false)),
        ("cummax", x.cummax(0).map(|r| r.0)),
        ("median", x.median()),
        ("max", x.max()),
    ] {
        let e = result.unwrap_err();
        assert!(e.is_dtype() && e.to_string().starts_with(name), "{name}: {e}");
    }
}

#[test]
fn closeness_of_complex_numbers_is_that_of_their_distance() -> Result<()> {
    let x = Tensor::from([z(1.0, 1.0)]);
    assert!(x.allclose(&Tensor::from([z(1.0 + 1e-9, 1.0 - 1e-9)]), 1e-8, 0.0)?);
    assert!(!x.allclose(&Tensor::from([z(1.0, -1.0)]), 1e-8, 0.0)?);
    assert!(Tensor::from([z(1.0, 0.0)]).allclose(&Tensor::from([1.0]), 0.0, 0.0)?);
    Ok(())
}

#[test]
fn the_checkers_compare_both_parts_of_complex_numbers() -> Result<()> {
    let x = Tensor::from([z(1.0, 2.0), z(3.0, -4.0)]);
    assert_eq!(testing::max_error(&x, &Tensor::from([z(1.0, 2.0), z(3.0, -2.0)]))?, 2.0 / 3.0);
    testing::assert_close(&x, &x, 0.0);
    assert!(testing::max_error(&x, &x.to_dtype(DType::C64)?).unwrap_err().is_dtype());
    Ok(())
}
