//! Half precision: where it accumulates, what stays half, and what refuses it.

use pullback::random::Key;
use pullback::testing::{gradcheck, numeric_jvp};
use pullback::*;

const HALVES: [DType; 2] = [DType::F16, DType::BF16];

fn one(t: &Tensor) -> f64 {
    t.to_dtype(DType::F64).unwrap().item::<f64>().unwrap()
}

fn all(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

#[test]
fn sums_are_accumulated_in_single_precision() -> Result<()> {
    // In f16 itself a sum of ones stops at 2048, in bf16 at 256.
    for (dtype, n, sum) in [(DType::F16, 10_000, 10_000.0), (DType::BF16, 10_240, 10_240.0)] {
        let ones = Tensor::ones(&[n], dtype)?;
        assert_eq!((ones.sum()?.dtype(), one(&ones.sum()?)), (dtype, sum));
        assert_eq!(one(&ones.mean()?), 1.0);
        let columns = ones.reshape(&[-1, 4])?;
        assert_eq!(all(&columns.sum_dims(&[0], false)?), [sum / 4.0; 4]);
        assert_eq!(one(&ones.cumsum(0)?.select(0, -1)?), sum);
        // Inner sums of products, of every shape that has a kernel of its own.
        assert_eq!(one(&ones.dot(&ones)?), sum);
        let (row, column) = (ones.reshape(&[1, -1])?, ones.reshape(&[-1, 1])?);
        assert_eq!((row.matmul(&column)?.dtype(), one(&row.matmul(&column)?)), (dtype, sum));
        let wide = column.expand(&[n, 20])?;
        assert_eq!(all(&row.matmul(&wide)?), [sum; 20]);
        assert_eq!(all(&wide.permute(&[1, 0])?.matmul(&wide)?.select(0, 3)?), [sum; 20]);
        // Many into one place.
        let to = Tensor::zeros(&[n], DType::I64)?;
        assert_eq!(all(&Tensor::zeros(&[1], dtype)?.scatter_add(0, &to, &ones)?), [sum]);
        assert_eq!(all(&Tensor::zeros(&[1], dtype)?.index_add(0, &to, &ones)?), [sum]);
    }
    Ok(())
}

#[test]
fn one_rounding_for_each_operation() -> Result<()> {
    // 1 + 2⁻¹¹ + 2⁻¹¹: the sum of three keeps what two sums of two lose.
    let tiny = f16::from_f64(2f64.powi(-11));
    let x = Tensor::from([f16::ONE, tiny, tiny]);
    assert_eq!(one(&x.sum()?), 1.0 + 2f64.powi(-10));
    assert_eq!(one(&x.i(0)?.add(x.i(1)?)?.add(x.i(2)?)?), 1.0);
    // The bias of a linear layer is added before the rounding.
    let (input, weight) = (Tensor::from([[f16::ONE, tiny]]), Tensor::from([[f16::ONE, f16::ONE]]));
    let y = input.linear(&weight, Some(&Tensor::from([tiny])))?;
    assert_eq!(one(&y), 1.0 + 2f64.powi(-10));
    Ok(())
}

#[test]
fn numbers_and_constants_keep_it_half() -> Result<()> {
    for dtype in HALVES {
        let x = Tensor::ones(&[3], dtype)?;
        let doubled = &x * 2.0;
        assert_eq!((doubled.dtype(), all(&doubled)), (dtype, vec![2.0; 3]));
        assert_eq!((1.0 - x.clone() / 4).dtype(), dtype);
        assert_eq!((x.clone() * x.clone() + &x - x.clone()).dtype(), dtype);
        let mut y = x.clone();
        y += &x;
        y *= 0.5;
        y.set_(0, 7)?;
        assert_eq!((y.dtype(), all(&y)), (dtype, vec![7.0, 1.0, 1.0]));
        assert_eq!(x.relu()?.exp()?.log_softmax(0)?.dtype(), dtype);
        assert_eq!(x.clamp(Some(0.0), Some(0.5))?.dtype(), dtype);
        assert_eq!(all(&x.nan_to_num(0.0, None, None)?), [1.0; 3]);
        assert_eq!(x.std()?.dtype(), dtype);
        assert_eq!(x.sort(0, true)?.0.dtype(), dtype);
        assert_eq!(x.argmax(0, false)?.dtype(), DType::I64);
        assert_eq!(x.to_string(), format!("tensor([1.0000, 1.0000, 1.0000], {dtype}[3])"));
    }
    let infinite = Tensor::from([f16::INFINITY, f16::NEG_INFINITY]).nan_to_num(0.0, None, None)?;
    assert_eq!(infinite.to_vec::<f16>()?, [f16::MAX, f16::MIN]);
    Ok(())
}

#[test]
fn random_numbers() -> Result<()> {
    for (dtype, steps) in [(DType::F16, 2048.0), (DType::BF16, 256.0)] {
        let x = Key::new(1).uniform(&[20_000], dtype)?;
        assert_eq!(x.dtype(), dtype);
        let values = all(&x);
        assert!(values.iter().all(|v| (0.0..1.0).contains(v) && (v * steps).fract() == 0.0));
        assert!((values.iter().sum::<f64>() / 20_000.0 - 0.5).abs() < 0.01);
        let normal = Key::new(2).normal(&[20_000], dtype)?;
        assert_eq!(normal.dtype(), dtype);
        assert!((normal.to_dtype(DType::F64)?.std()?.item::<f64>()? - 1.0).abs() < 0.02);
        let own = Vmap::new().randomness(Randomness::Different);
        let lanes = own.of(|x: &Tensor| x.add(Key::new(3).normal(&[2], dtype)?))(&Tensor::zeros(&[4, 2], dtype)?)?;
        assert_eq!(lanes.dtype(), dtype);
        assert_eq!(Key::new(4).dropout(&x, 0.5)?.dtype(), dtype);
    }
    Ok(())
}

#[test]
fn derivatives_are_half_in_every_transform() -> Result<()> {
    let f = |x: &Tensor| x.sin()?.mul(x)?.sum();
    let points = [0.5, -1.25, 2.0];
    let want = grad(f)(&Tensor::from(points))?.to_vec::<f64>()?;
    for dtype in HALVES {
        let x = Tensor::from(points).to_dtype(dtype)?;
        let near =
            |got: &[f64], want: &[f64]| got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 0.03 * w.abs().max(1.0));
        for g in [grad(f)(&x)?, jacrev(f)(&x)?, jacfwd(f)(&x)?, linearize(|x| grad(f)(x), &x)?.0] {
            assert_eq!(g.dtype(), dtype);
            assert!(near(&all(&g), &want), "{g}");
        }
        let second = hessian(f)(&x)?;
        assert_eq!(second.dtype(), dtype);
        let exact = all(&hessian(f)(&Tensor::from(points))?);
        assert!(near(&all(&second), &exact), "{second}");
        let lanes = vmap(grad(f))(&stack(&[&x, &x], 0)?)?;
        assert!(near(&all(&lanes.i(1)?), &want));
        let graph = capture(grad(f))(&x)?;
        assert!(graph.call(&x)?.equal(&grad(f)(&x)?)?);
        assert!(checkpoint(f)(&x)?.equal(&f(&x)?)?);
    }
    Ok(())
}

#[test]
fn finite_differences_need_more_digits() {
    for dtype in HALVES {
        let x = Tensor::ones(&[2], dtype).unwrap();
        let e = gradcheck(|x: &Tensor| x.sin(), &x).unwrap_err().to_string();
        assert!(e.contains(&format!("got {dtype}[2] at argument")) && e.contains("too few digits"), "{e}");
        let e = numeric_jvp(|x: &Tensor| x.sin(), &x, &x).unwrap_err();
        assert!(e.is_dtype() && e.to_string().contains("expected f64 tensors"), "{e}");
    }
}

/// The same elements by the fast ways and by the slow ones: contiguous, strided, repeated, large and small.
#[test]
fn layouts_and_sizes_change_nothing() -> Result<()> {
    for dtype in HALVES {
        for n in [1usize, 7, 600, 70_000] {
            let (x, y) = (Key::new(5).normal(&[n, 2], dtype)?, Key::new(6).normal(&[n, 2], dtype)?);
            let want: Vec<f64> = {
                let sum = x.to_dtype(DType::F32)?.add(&y.to_dtype(DType::F32)?)?;
                all(&sum.to_dtype(dtype)?)
            };
            assert_eq!(all(&x.add(&y)?), want);
            let turned = x.permute(&[1, 0])?.add(&y.permute(&[1, 0])?)?;
            assert_eq!(all(&turned.permute(&[1, 0])?), want);
            let row = y.i(0)?;
            let broadcast = x.mul(&row)?;
            assert_eq!(all(&broadcast), all(&x.mul(&row.expand(&[n, 2])?)?));
            assert_eq!(all(&x.exp()?), all(&x.to_dtype(DType::F32)?.exp()?.to_dtype(dtype)?));
            assert_eq!(all(&x.select(1, 1)?.tanh()?), all(&x.tanh()?.select(1, 1)?));
        }
        let none = Tensor::zeros(&[0, 3], dtype)?;
        assert_eq!(none.add(&none)?.ty(), none.ty());
    }
    Ok(())
}

/// A rule that returns another precision than that of its argument is told so; conversions return to it by themselves.
#[test]
fn c40_cotangents_have_the_dtype_of_their_value() -> Result<()> {
    let triple = custom_vjp(
        |x: &Tensor| x.mul(3.0),
        |x: &Tensor| Ok((x.mul(3.0)?, ())),
        |_: &(), g| g.map(|g| g.mul(3.0)?.to_dtype(DType::F32)),
    );
    for dtype in HALVES {
        let x = Tensor::full(&[], 2.0, dtype)?;
        let e = grad(&triple)(&x).unwrap_err().to_string();
        assert!(e.contains(&format!("expected a cotangent of type {dtype}[]")) && e.contains("got f32[]"), "{e}");
        let wide = |x: &Tensor| triple(&x.to_dtype(DType::F32)?);
        let g = grad(wide)(&x)?;
        assert_eq!((g.dtype(), one(&g)), (dtype, 3.0));
        let pull = vjp(|x: &Tensor| x.mul(3.0), &x)?.1;
        assert!(pull.call(&Tensor::from(1.0f32)).unwrap_err().is_dtype());
    }
    Ok(())
}

#[test]
fn a_small_eps_keeps_zeros_finite_in_halves_too() -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        let x = Tensor::zeros(&[2, 3], dtype)?;
        let sum = |y: Tensor| y.to_dtype(DType::F64)?.abs()?.sum()?.item::<f64>();
        assert_eq!(sum(x.normalize(2.0, 1, 1e-12)?)?, 0.0);
        assert_eq!(sum(x.cosine_similarity(&x, 1, 1e-8)?)?, 0.0);
        assert_eq!(sum(x.binary_cross_entropy(&x, Reduction::Mean)?)?, 0.0);
        assert_eq!(sum(x.poisson_nll_loss(&x, false, Reduction::Mean)?)?, 0.0);
        let still = Tensor::zeros(&[3], dtype)?;
        assert_eq!(sum(x.batch_norm(&still, &still, None, None, 1e-12)?)?, 0.0);
        // As for floats, a wrong answer costs at most 100.
        let all = Tensor::ones(&[2, 3], dtype)?;
        assert_eq!(sum(x.binary_cross_entropy(&all, Reduction::Mean)?)?, 100.0);
    }
    Ok(())
}
