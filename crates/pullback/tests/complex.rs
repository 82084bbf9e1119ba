//! Complex arithmetic: values against plain Rust, derivatives against differences of the parts, and the convention.

#[path = "complex/linalg.rs"]
mod linalg;

use pullback::autograd;
use pullback::testing::{gradcheck, gradgradcheck};
use pullback::{
    Complex, Complex32, Complex64, DType, ErrorKind, Result, Tensor, capture, complex, einsum, grad, jvp, polar, vjp,
    vmap,
};

fn z(re: f64, im: f64) -> Complex64 {
    Complex::new(re, im)
}

fn read(t: &Tensor) -> Vec<Complex64> {
    t.to_dtype(DType::C128).unwrap().to_vec().unwrap()
}

/// Numbers in the shape of a tensor.
fn shaped(x: &[Complex64], like: &Tensor) -> Tensor {
    Tensor::from_slice(x, like.shape()).unwrap()
}

fn assert_near(got: &[Complex64], want: &[Complex64], tolerance: f64, name: &str) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).norm() <= tolerance * (1.0 + w.norm()), "{name}: {got:?} is not {want:?}");
    }
}

/// Numbers away from cuts and poles.
fn points(n: usize, seed: f64) -> Vec<Complex64> {
    (0..n)
        .map(|k| {
            let t = (k as f64 + 1.0 + seed) * 0.618_033_988_749_895;
            z(0.4 + 1.1 * t.fract(), -0.9 + 1.7 * (t * 1.7).fract())
        })
        .collect()
}

/// Re ⟨u, v⟩, the inner product of the parts.
fn inner(u: &[Complex64], v: &[Complex64]) -> f64 {
    u.iter().zip(v).map(|(u, v)| (u.conj() * v).re).sum()
}

type Call = fn(&Tensor) -> Result<Tensor>;

/// Functions of a complex vector of 6, with results that are complex or real.
fn functions() -> Vec<(&'static str, Call)> {
    fn other() -> Tensor {
        Tensor::from(points(6, 0.3))
    }
    fn real() -> Tensor {
        Tensor::from([0.5, -1.0, 2.0, 1.5, 0.25, -0.75])
    }
    let mut all: Vec<(&'static str, Call)> = vec![
        ("exp", Tensor::exp),
        ("exp2", Tensor::exp2),
        ("expm1", Tensor::expm1),
        ("log", Tensor::log),
        ("log2", Tensor::log2),
        ("log10", Tensor::log10),
        ("log1p", Tensor::log1p),
        ("sqrt", Tensor::sqrt),
        ("rsqrt", Tensor::rsqrt),
        ("reciprocal", Tensor::reciprocal),
        ("square", Tensor::square),
        ("neg", Tensor::neg),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
        ("tan", Tensor::tan),
        ("asin", Tensor::asin),
        ("acos", Tensor::acos),
        ("atan", Tensor::atan),
        ("sinh", Tensor::sinh),
        ("cosh", Tensor::cosh),
        ("tanh", Tensor::tanh),
        ("asinh", Tensor::asinh),
        ("acosh", Tensor::acosh),
        ("atanh", Tensor::atanh),
        ("abs", Tensor::abs),
        ("angle", Tensor::angle),
        ("sgn", Tensor::sgn),
        ("real", Tensor::real),
        ("imag", Tensor::imag),
        ("conj", Tensor::conj),
        ("powi", |x| x.powi(-3)),
        ("powf", |x| x.powf(1.7)),
        ("pow of a number", |x| x.pow(z(0.5, -1.0))),
        ("pow", |x| x.pow(other())),
        ("power of", |x| other().pow(x)),
        ("real base", |x| real().abs()?.pow(x)),
        ("real exponent", |x| x.pow(real())),
        ("add", |x| x.add(other())),
        ("sub", |x| other().sub(x)),
        ("mul", |x| x.mul(other())),
        ("mul by a real", |x| real().mul(x)),
        ("div", |x| x.div(other())),
        ("divisor", |x| other().div(x)),
        ("both sides", |x| x.mul(x)?.div(x.add(1.0)?)),
        ("broadcast", |x| x.reshape(&[2, 3])?.mul(x.select(0, 1)?)),
        ("polar", |x| polar(&x.real()?, &x.imag()?)),
        ("complex", |x| complex(&x.imag()?, &x.real()?)),
        ("view_as_real", Tensor::view_as_real),
        ("view_as_complex", |x| x.view_as_real()?.reshape(&[2, 6])?.t()?.view_as_complex()),
        ("sum", Tensor::sum),
        ("mean", |x| x.reshape(&[2, 3])?.mean_dims(&[1], true)),
        ("cumsum", |x| x.cumsum(0)),
        ("diff", |x| x.diff(1, 0)),
        ("prod", Tensor::prod),
        ("prod over two dims", |x| x.reshape(&[1, 3, 2])?.prod_dims(&[0, 2], true)),
        ("prod with a zero", |x| x.mul(&Tensor::from([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]))?.prod_dims(&[0], false)),
        ("cumprod", |x| x.reshape(&[2, 3])?.cumprod(1)),
        ("cumprod with a zero", |x| x.mul(&Tensor::from([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))?.cumprod(0)),
        ("norm", |x| x.norm(2.0)),
        ("norm over a dim", |x| x.reshape(&[2, 3])?.norm_dims(2.0, &[1], true)),
        ("norm 1", |x| x.norm(1.0)),
        ("norm 3", |x| x.norm_dims(3.0, &[0], false)),
        ("where", |x| x.real()?.gt(1.0)?.where_(x.square()?, other())),
        ("matmul", |x| x.reshape(&[2, 3])?.matmul(&Tensor::from(points(6, 0.7)).reshape(&[3, 2])?)),
        ("matmul with itself", |x| x.reshape(&[2, 3])?.matmul(&x.reshape(&[3, 2])?)),
        ("matmul with a real", |x| real().reshape(&[2, 3])?.matmul(&x.reshape(&[3, 2])?)),
        ("dot", |x| x.dot(&other())),
        ("outer", |x| x.outer(x)),
        ("einsum", |x| einsum("ij,kj->ik", &[&x.reshape(&[2, 3])?, &x.conj()?.reshape(&[2, 3])?])),
        ("solve", |x| {
            let a = x
                .select(0, 0)?
                .mul(&Tensor::from([[1.0, 0.25], [-0.5, 2.0]]))?
                .add(&x.slice(0, 1, 5, 1)?.reshape(&[2, 2])?)?;
            a.solve(&x.slice(0, 2, 4, 1)?)
        }),
        ("solve with a real side", |x| Tensor::from([[2.0, 1.0], [0.5, 3.0]]).solve(&x.reshape(&[2, 3])?)),
        ("inv", |x| x.slice(0, 0, 4, 1)?.reshape(&[2, 2])?.add(&Tensor::eye(2, DType::F64)?)?.inv()),
        ("cholesky", |x| {
            let b = x.reshape(&[2, 3])?;
            b.matmul(&b.conj()?.t()?)?.add(&Tensor::eye(2, DType::F64)?)?.cholesky()
        }),
        ("cholesky_solve", |x| {
            let b = x.reshape(&[2, 3])?;
            b.matmul(&b.conj()?.t()?)?.add(&Tensor::eye(2, DType::F64)?)?.cholesky()?.cholesky_solve(&b)
        }),
        ("gather", |x| x.index_select(0, &Tensor::from([3i64, 0, 3]))),
        ("|z|²", |x| x.abs()?.square()),
        ("z conj z", |x| x.mul(x.conj()?)?.real()),
        ("mixed", |x| x.exp()?.abs()?.log()?.mul(x)?.sgn()),
    ];
    all.extend(linalg::functions());
    all
}

/// The derivative in a direction, by differences of the function of the parts.
fn difference(f: Call, x: &[Complex64], v: &[Complex64]) -> Vec<Complex64> {
    let h = 1e-5;
    let at = |s: f64| {
        let moved: Vec<Complex64> = x.iter().zip(v).map(|(x, v)| x + v * s).collect();
        read(&f(&Tensor::from(moved)).unwrap())
    };
    let [a, b, c, d] = [at(2.0 * h), at(h), at(-h), at(-2.0 * h)];
    (0..a.len()).map(|k| ((b[k] - c[k]) * 8.0 - (a[k] - d[k])) / (12.0 * h)).collect()
}

#[test]
fn derivatives_are_those_of_the_function_of_the_parts() {
    let x = points(6, 0.0);
    let v: Vec<Complex64> = points(6, 0.9).iter().map(|p| p * z(0.3, 0.8)).collect();
    for (name, f) in functions() {
        let (y, tangent) = jvp(f, &Tensor::from(x.clone()), &Tensor::from(v.clone())).unwrap();
        assert_near(&read(&tangent), &difference(f, &x, &v), 1e-8, name);
        // Re ⟨u, J v⟩ = Re ⟨Jᴴ u, v⟩.
        let u: Vec<Complex64> = points(y.numel(), 0.5);
        let mut cotangent = shaped(&u, &y);
        if !y.dtype().is_complex() {
            cotangent = cotangent.real().unwrap();
        }
        let (_, back) = vjp(f, &Tensor::from(x.clone())).unwrap();
        let pulled = back.call(&cotangent).unwrap();
        assert_eq!(pulled.ty().to_string(), "c128[6]", "{name}");
        let (left, right) = (inner(&read(&cotangent), &read(&tangent)), inner(&read(&pulled), &v));
        assert!((left - right).abs() < 1e-11 * (1.0 + left.abs()), "{name}: {left} {right}");
    }
}

#[test]
fn second_derivatives_agree_with_differences_of_the_first() {
    let x = points(6, 0.0);
    let v: Vec<Complex64> = points(6, 0.9).iter().map(|p| p * z(0.3, 0.8)).collect();
    for (name, f) in functions() {
        // A real function of the result, of which both parts matter.
        let loss = move |x: &Tensor| {
            let y = f(x)?;
            let weights = shaped(&points(y.numel(), 0.1), &y);
            y.mul(weights)?.sin()?.real()?.sum()
        };
        let gradient = |x: &[Complex64]| read(&grad(loss)(&Tensor::from(x.to_vec())).unwrap());
        let h = 1e-5;
        let moved = |s: f64| gradient(&x.iter().zip(&v).map(|(x, v)| x + v * s).collect::<Vec<_>>());
        let (up, down) = (moved(h), moved(-h));
        let want: Vec<Complex64> = up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * h)).collect();
        let (_, forward) = jvp(grad(loss), &Tensor::from(x.clone()), &Tensor::from(v.clone())).unwrap();
        assert_near(&read(&forward), &want, 1e-6, name);
        let along = |x: &Tensor| {
            let product = grad(loss)(x)?.conj()?.mul(&Tensor::from(v.clone()))?;
            product.real()?.sum()
        };
        let reverse = grad(along)(&Tensor::from(x.clone())).unwrap();
        assert_near(&read(&reverse), &read(&forward), 1e-9, name);
    }
}

#[test]
fn lanes_graphs_and_single_precision_give_the_same() {
    let x = Tensor::from(points(18, 0.0)).reshape(&[3, 6]).unwrap();
    for (name, f) in functions() {
        let all = vmap(f)(&x).unwrap();
        let columns = pullback::Vmap::new().in_dims(1).of(f)(&x.t().unwrap()).unwrap();
        assert_near(&read(&columns), &read(&all), 1e-14, name);
        for k in 0..3 {
            let row = x.select(0, k).unwrap();
            assert_near(&read(&all.select(0, k).unwrap()), &read(&f(&row).unwrap()), 1e-14, name);
        }
        let row = x.select(0, 0).unwrap();
        let graph = capture(f)(&row).unwrap();
        assert_eq!(read(&graph.call(&row).unwrap()), read(&f(&row).unwrap()), "{name}");
        let single = f(&row.to_dtype(DType::C64).unwrap()).unwrap();
        assert!(single.dtype().to_real() == DType::F32 || f(&row).unwrap().dtype() == single.dtype(), "{name}");
        assert_near(&read(&single), &read(&f(&row).unwrap()), 3e-5, name);
    }
}

/// One convention, whichever way a function is written: the gradient of |z|² is 2z, the direction of steepest ascent.
#[test]
fn c142_the_gradient_of_the_square_of_the_absolute_value() {
    let at = Tensor::from(z(3.0, 4.0));
    let ways: [Call; 5] = [
        |z| z.abs()?.square(),
        |z| z.mul(z.conj()?)?.real(),
        |z| z.real()?.square()?.add(z.imag()?.square()?),
        |z| z.view_as_real()?.square()?.sum(),
        |z| z.square()?.abs(),
    ];
    for f in ways {
        assert_near(&read(&grad(f)(&at).unwrap()), &[z(6.0, 8.0)], 1e-14, "gradient");
        // Through the leaves as well.
        let mut leaf = at.clone();
        leaf.requires_grad_().unwrap();
        f(&leaf).unwrap().backward().unwrap();
        assert_near(&read(&leaf.grad().unwrap().unwrap()), &[z(6.0, 8.0)], 1e-14, "leaf");
        let _ = autograd::no_grad(|| f(&leaf)).unwrap();
        let step = read(&at)[0] + read(&grad(f)(&at).unwrap())[0] * 1e-6;
        assert!(f(&Tensor::from(step)).unwrap().item::<f64>().unwrap() > 25.0);
    }
}

#[test]
fn conventions_where_there_is_no_derivative() {
    let zero = Tensor::from(z(0.0, 0.0));
    let fs: [Call; 3] = [Tensor::abs, Tensor::angle, |z| z.sgn()?.real()];
    for f in fs {
        assert_eq!(read(&grad(f)(&zero).unwrap()), [z(0.0, 0.0)]);
        assert_eq!(read(&jvp(f, &zero, &Tensor::from(z(1.0, 1.0))).unwrap().1), [z(0.0, 0.0)]);
    }
    assert_eq!(read(&grad(|x: &Tensor| x.pow(z(0.0, 0.0))?.real())(&zero).unwrap()), [z(0.0, 0.0)]);
}

#[test]
fn the_cotangent_of_a_real_operand_is_real() {
    let (x, w) = (Tensor::from([1.0, 2.0]), Tensor::from(vec![z(1.0, 2.0), z(-1.0, 0.5)]));
    let g = grad(|x: &Tensor| x.mul(&w)?.square()?.imag()?.sum())(&x).unwrap();
    // d/dx Im (x w)² = 2 x Im w².
    assert_eq!(g.to_vec::<f64>().unwrap(), [8.0, -4.0]);
    let single = grad(|x: &Tensor| x.mul(&w)?.abs()?.sum())(&x.to_dtype(DType::F32).unwrap()).unwrap();
    assert_eq!(single.dtype(), DType::F32);
    let numbers = grad(|x: &Tensor| x.mul(Complex32::new(0.0, 2.0))?.imag()?.sum())(&x).unwrap();
    assert_eq!(numbers.to_vec::<f64>().unwrap(), [2.0, 2.0]);
}

#[test]
fn values_are_those_of_complex_arithmetic() {
    let (x, y) = (points(7, 0.0), points(7, 0.4));
    let (a, b) = (Tensor::from(x.clone()), Tensor::from(y.clone()));
    let of = |f: fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
        x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect()
    };
    assert_near(&read(&a.add(&b).unwrap()), &of(|x, y| x + y), 1e-15, "add");
    assert_near(&read(&a.sub(&b).unwrap()), &of(|x, y| x - y), 1e-15, "sub");
    assert_near(&read(&(&a * &b)), &of(|x, y| x * y), 1e-15, "mul");
    assert_near(&read(&(&a / &b)), &of(|x, y| x / y), 1e-15, "div");
    assert_near(&read(&a.pow(&b).unwrap()), &of(|x, y| x.powc(y)), 1e-13, "pow");
    assert_near(&read(&(&a * 2.0 - 1.0)), &of(|x, _| x * 2.0 - 1.0), 1e-15, "numbers");
    assert_eq!(a.eq(&a.mul(1.0).unwrap()).unwrap().to_vec::<bool>().unwrap(), [true; 7]);
    assert_eq!(a.ne(a.conj().unwrap()).unwrap().to_vec::<bool>().unwrap(), [true; 7]);
    let (m, n, k) = (17, 9, 33);
    let (p, q) = (points(m * k, 0.0), points(k * n, 0.2));
    let product = Tensor::from_slice(&p, &[m, k]).unwrap().matmul(&Tensor::from_slice(&q, &[k, n]).unwrap()).unwrap();
    let want: Vec<Complex64> = (0..m * n).map(|i| (0..k).map(|l| p[i / n * k + l] * q[l * n + i % n]).sum()).collect();
    assert_near(&read(&product), &want, 1e-14, "matmul");
    let bad = Tensor::from(vec![z(f64::NAN, 0.0), z(0.0, f64::INFINITY), z(1.0, 1.0)]);
    assert_eq!(bad.isnan().unwrap().to_vec::<bool>().unwrap(), [true, false, false]);
    assert_eq!(bad.isinf().unwrap().to_vec::<bool>().unwrap(), [false, true, false]);
    assert_eq!(bad.isfinite().unwrap().to_vec::<bool>().unwrap(), [false, false, true]);
    assert!(a.allclose(&a.add(1e-12).unwrap(), 1e-9, 1e-9).unwrap());
    assert!(!a.allclose(&a.add(z(0.0, 1e-3)).unwrap(), 1e-9, 1e-9).unwrap());
}

#[test]
fn what_needs_an_order_or_a_real_number_is_refused() {
    let a = Tensor::from(points(4, 0.0));
    let calls: [(&str, Call); 12] = [
        ("lt", |a| a.lt(a)),
        ("ge", |a| a.ge(a)),
        ("maximum", |a| a.maximum(a)),
        ("max", Tensor::max),
        ("argmax", |a| a.argmax(0, false)),
        ("sort", |a| Ok(a.sort(0, false)?.0)),
        ("clamp", |a| a.clamp(Some(0.0), None)),
        ("floor", Tensor::floor),
        ("relu", Tensor::relu),
        ("erf", Tensor::erf),
        ("sign", Tensor::sign),
        ("softmax", |a| a.softmax(0)),
    ];
    for (name, f) in calls {
        let e = f(&a).unwrap_err();
        assert!(e.kind() == ErrorKind::Dtype && e.to_string().contains("c128"), "{name}: {e}");
    }
    let e = grad(Tensor::sum)(&a).unwrap_err();
    assert!(e.to_string().contains("must return a real scalar, got c128[]"), "{e}");
}

#[test]
fn products_and_norms_are_those_of_complex_numbers() -> Result<()> {
    let x = Tensor::from([z(1.0, 1.0), z(0.0, 2.0), z(3.0, -4.0)]);
    assert_eq!(read(&x.prod()?), [z(1.0, 1.0) * z(0.0, 2.0) * z(3.0, -4.0)]);
    assert_eq!(read(&x.cumprod(0)?)[..2], [z(1.0, 1.0), z(-2.0, 2.0)]);
    assert_eq!(x.to_dtype(DType::C64)?.prod()?.ty().to_string(), "c64[]");
    assert_eq!(read(&Tensor::zeros(&[0, 2], DType::C128)?.prod_dims(&[0], false)?), [z(1.0, 0.0); 2]);
    assert_eq!(x.norm(2.0)?.item::<f64>()?, 31f64.sqrt());
    assert_eq!(x.norm(f64::INFINITY)?.item::<f64>()?, 5.0);
    assert_eq!(x.norm(0.0)?.item::<f64>()?, 3.0);
    assert_eq!(x.to_dtype(DType::C64)?.norm_dims(1.0, &[0], true)?.ty().to_string(), "f32[1]");
    // All derivatives of a product with a zero are right, and that of the norm at 0 is 0.
    let with_zero = Tensor::from([z(1.0, 1.0), z(0.0, 0.0), z(0.0, 2.0)]);
    let (_, pull) = vjp(Tensor::prod, &with_zero)?;
    assert_eq!(
        read(&pull.call(&Tensor::from(z(1.0, 0.0)))?),
        [z(0.0, 0.0), (z(1.0, 1.0) * z(0.0, 2.0)).conj(), z(0.0, 0.0)]
    );
    let g = grad(|x: &Tensor| x.norm(2.0))(&Tensor::zeros(&[2], DType::C128)?)?;
    assert_eq!(read(&g), [z(0.0, 0.0); 2]);
    Ok(())
}

#[test]
fn complex_systems_are_solved_and_their_errors_speak_of_them() -> Result<()> {
    let (a, b) = (Tensor::from(points(18, 0.0)).reshape(&[2, 3, 3])?, Tensor::from(points(6, 0.5)).reshape(&[3, 2])?);
    let x = a.solve(&b)?;
    assert_near(&read(&a.matmul(&x)?), &[points(6, 0.5), points(6, 0.5)].concat(), 1e-12, "solve");
    let one: Vec<Complex64> = (0..18).map(|k| z(if k % 9 % 4 == 0 { 1.0 } else { 0.0 }, 0.0)).collect();
    assert_near(&read(&a.matmul(&a.inv()?)?), &one, 1e-12, "inv");
    let h = a.matmul(&a.conj()?.transpose(-2, -1)?)?;
    let l = h.cholesky()?;
    assert_near(&read(&l.matmul(&l.conj()?.transpose(-2, -1)?)?), &read(&h), 1e-12, "cholesky");
    assert_near(&read(&l.triu(1)?), &[z(0.0, 0.0); 18], 0.0, "the upper triangle");
    assert_near(
        &read(&h.matmul(&l.cholesky_solve(&b)?)?),
        &[points(6, 0.5), points(6, 0.5)].concat(),
        1e-11,
        "cholesky_solve",
    );
    let message = |r: Result<Tensor>| r.unwrap_err().to_string();
    let singular = Tensor::from([[z(1.0, 1.0), z(2.0, 2.0)], [z(0.0, 1.0), z(0.0, 2.0)]]);
    assert!(message(singular.inv()).contains("inv: expected regular matrices, got c128[2,2] with one that is not"));
    assert!(message(singular.cholesky()).contains("cholesky: expected positive definite matrices, got c128[2,2]"));
    assert!(message(b.inv()).contains("inv: expected square matrices, got c128[3,2] (3 rows, 2 columns)"));
    assert!(
        message(singular.solve(&b)).contains("as many rows as the matrices c128[2,2] have, got c128[3,2] (2 vs 3)")
    );
    assert!(message(singular.solve(&Tensor::from(z(1.0, 0.0)))).contains("expected matrices, got c128[]"));
    Ok(())
}

#[test]
fn gradcheck_takes_complex_inputs_and_notices_a_missing_conjugate() -> Result<()> {
    let x = (Tensor::from(points(3, 0.0)), Tensor::from([0.5, 1.5, -1.0]));
    let f = |(z, r): &(Tensor, Tensor)| z.mul(r)?.exp()?.div(z);
    gradcheck(f, &x)?.into_result()?;
    gradgradcheck(f, &x)?.into_result()?;
    // The transpose of the multiplication by a number is not that by the same number.
    let wrong = pullback::custom_vjp(
        |z: &Tensor| z.square(),
        |z: &Tensor| Ok((z.square()?, z.clone())),
        |z: &Tensor, g| g.map(|g| g.mul(z)?.mul(2.0)),
    );
    let report = gradcheck(wrong, &x.0)?;
    assert!(report.failures().any(|p| p == "vjp_matches_differences"), "{report}");
    Ok(())
}

#[test]
fn factors_of_very_large_and_very_small_complex_matrices() -> Result<()> {
    let a = Tensor::from(points(9, 0.0)).reshape(&[3, 3])?;
    let (q, r) = a.qr(false)?;
    let (lu, _) = a.lu_factor()?;
    let (_, log) = a.slogdet()?;
    // The squares of these numbers are beyond the range of exponents.
    for size in [1e-300, 1e-160, 1e160, 1e300] {
        let b = a.mul(size)?;
        let (q_b, r_b) = b.qr(false)?;
        assert_near(&read(&q_b), &read(&q), 1e-13, "Q");
        assert_near(&read(&r_b.div(size)?), &read(&r), 1e-13, "R");
        let lower = |lu: &Tensor| lu.tril(-1);
        assert_near(&read(&lower(&b.lu_factor()?.0)?), &read(&lower(&lu)?), 1e-13, "L");
        let shift = b.slogdet()?.1.item::<f64>()? - log.item::<f64>()? - 3.0 * f64::ln(size);
        assert!(shift.abs() < 1e-10, "{size:e}: {shift}");
    }
    // The adjugate of one row by one row is 1, and of two by two it has the same elements in other places.
    let b = a.slice(0, 0, 2, 1)?.slice(1, 0, 2, 1)?.mul(1e-200)?;
    let (_, pull) = vjp(Tensor::det, &b)?;
    let g = read(&pull.call(&Tensor::from(z(1.0, 0.0)))?.mul(1e200)?);
    let x = read(&b.mul(1e200)?);
    assert_near(&g, &[x[3], -x[2], -x[1], x[0]].map(|v| v.conj()), 1e-13, "adjugate");
    Ok(())
}
