//! The function against integrals and differences, its rules, its errors, and that the checker notices wrong rules.

use c_function::BesselI;
use pullback::testing::{assert_close, check_function, numeric_jvp};
use pullback::{
    Context, Cotangent, DType, Dims, ErrorKind, Function, Result, Tensor, Vmap, VmapInfo, grad, hessian, jvp, stack,
    vmap,
};

/// `1/π·∫₀^π exp(x·cos t)·cos(n·t) dt` by the trapezoidal rule, which for periodic functions converges exponentially.
fn integral(n: u32, x: f64) -> f64 {
    let points = 400;
    let at = |k: usize| {
        let t = std::f64::consts::PI * k as f64 / points as f64;
        (x * t.cos()).exp() * (f64::from(n) * t).cos()
    };
    (0.5 * (at(0) + at(points)) + (1..points).map(at).sum::<f64>()) / points as f64
}

fn bessel(order: u32) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x: &Tensor| BesselI { order }.apply(x)
}

#[test]
fn values_are_those_of_the_integral() {
    for n in [0, 1, 2, 5, 11] {
        for x in [0.0, 0.1, -0.7, 1.0, 2.5, -6.0, 12.0, 30.0, 100.0, 600.0] {
            let got = bessel(n)(&Tensor::from(x)).unwrap().item::<f64>().unwrap();
            // The integrand has both signs, so small values have an absolute error.
            let size = integral(0, x);
            let want = integral(n, x);
            assert!((got - want).abs() < 1e-12 * size, "I_{n}({x}): {got} and {want}");
        }
    }
    // From tables, also of small values.
    let table =
        [(0, 1.0, 1.266_065_877_752_008_4), (1, 1.0, 0.565_159_103_992_485), (10, 1.0, 2.752_948_039_836_874e-10)];
    for (n, x, want) in table {
        let got = bessel(n)(&Tensor::from(x)).unwrap().item::<f64>().unwrap();
        assert!((got / want - 1.0).abs() < 1e-14, "I_{n}({x}): {got}");
    }
}

#[test]
fn special_values_and_single_precision() {
    let at = |x: f64| bessel(0)(&Tensor::from(x)).unwrap().item::<f64>().unwrap();
    assert_eq!((at(0.0), at(1000.0), at(f64::INFINITY)), (1.0, f64::INFINITY, f64::INFINITY));
    assert!(at(f64::NAN).is_nan() && at(710.0).is_finite());
    let x = Tensor::from([0.5f32, -2.0]);
    let y = bessel(1)(&x).unwrap();
    assert_eq!(y.dtype(), DType::F32);
    let wide = bessel(1)(&x.to_dtype(DType::F64).unwrap()).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), wide.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap());
    assert_eq!(bessel(0)(&Tensor::zeros(&[0, 3], DType::F64).unwrap()).unwrap().shape(), [0, 3]);
}

#[test]
fn every_property_holds() {
    for order in [0, 1, 4] {
        let at = Tensor::from([[0.4, -1.3, 2.2], [3.0, 0.9, -0.6]]);
        check_function(&BesselI { order }, &at).unwrap().into_result().unwrap();
        check_function(&BesselI { order }, &Tensor::from(1.5)).unwrap().into_result().unwrap();
    }
}

#[test]
fn derivatives_satisfy_the_differential_equation() {
    // x²·y'' + x·y' = (x² + n²)·y.
    for n in [0, 1, 3] {
        for x in [0.3, 1.7, -4.0] {
            let at = Tensor::from(x);
            let [y, first, second] = [bessel(n)(&at), grad(bessel(n))(&at), hessian(bessel(n))(&at)]
                .map(|t| t.unwrap().item::<f64>().unwrap());
            let (left, right) = (x * x * second + x * first, (x * x + f64::from(n * n)) * y);
            assert!((left - right).abs() < 1e-13 * right.abs().max(1.0), "order {n} at {x}: {left} and {right}");
        }
    }
}

#[test]
fn compositions_match_differences() {
    let f = |x: &Tensor| bessel(2)(&x.sin()?)?.add(&bessel(0)(x)?.log()?)?.sum();
    let (x, v) = (Tensor::from([0.4, 1.1, -2.0]), Tensor::from([1.0, -0.5, 0.3]));
    assert_close(&jvp(f, &x, &v).unwrap().1, &numeric_jvp(f, &x, &v).unwrap().0, 1e-10);
    let slope = |x: &Tensor| grad(f)(x);
    assert_close(&jvp(slope, &x, &v).unwrap().1, &numeric_jvp(slope, &x, &v).unwrap().0, 1e-9);
}

#[test]
fn vmap_is_the_loop_for_lanes_anywhere() {
    let lanes: Vec<Tensor> = (0..3).map(|k| Tensor::from([[0.2, 1.0], [-0.5, 2.0]]) * (1.0 + f64::from(k))).collect();
    let slope = |x: &Tensor| grad(|x: &Tensor| bessel(1)(x)?.square()?.sum())(x);
    let stacked = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
        let results: Vec<Tensor> = lanes.iter().map(|x| f(x).unwrap()).collect();
        stack(&results.iter().collect::<Vec<_>>(), 0).unwrap()
    };
    for dim in 0..3i32 {
        let all = stack(&lanes.iter().collect::<Vec<_>>(), dim as isize).unwrap();
        assert_close(&Vmap::new().in_dims(dim).of(bessel(1))(&all).unwrap(), &stacked(&bessel(1)), 0.0);
        assert_close(&Vmap::new().in_dims(dim).of(slope)(&all).unwrap(), &stacked(&slope), 1e-15);
    }
    // Shared by all lanes, beside something that is not.
    let f = |(x, s): &(Tensor, Tensor)| bessel(1)(x)?.mul(s);
    let scales = Tensor::from([1.0, 2.0, 3.0]);
    let got = Vmap::new().in_dims((None, 0)).of(f)(&(lanes[0].clone(), scales)).unwrap();
    let one = bessel(1)(&lanes[0]).unwrap();
    assert_close(&got, &stack(&[&one, &(&one * 2.0), &(&one * 3.0)], 0).unwrap(), 1e-15);
    assert_eq!(vmap(bessel(0))(&Tensor::zeros(&[0], DType::F64).unwrap()).unwrap().shape(), [0]);
}

#[test]
fn many_threads_call_at_once() {
    let x = Tensor::linspace(-5, 5, 1000, DType::F64).unwrap();
    let want = bessel(3)(&x).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert!(bessel(3)(&x).unwrap().equal(&want).unwrap())));
        }
    });
}

#[test]
fn errors_name_the_function() {
    let e = bessel(0)(&Tensor::from([1i64])).unwrap_err();
    assert_eq!(
        e.to_string(),
        "`forward` of function `BesselI`: expected an f32 or f64 tensor, got i64[1]; help: convert it with `to_dtype`"
    );
    assert!(e.is_dtype());
    for order in [1001, u32::MAX] {
        let e = bessel(order)(&Tensor::from(1.0)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Value);
        let text = format!("`forward` of function `BesselI`: expected an order of at most 1000, got {order}");
        assert_eq!(e.to_string(), text);
    }
    // The derivative of the last order needs one more.
    let e = grad(bessel(1000))(&Tensor::from(1.0)).unwrap_err();
    assert!(e.to_string().contains("`backward` of function `BesselI` > `forward` of function `BesselI`: "), "{e}");
}

/// `I₀` with mistakes that are easily made.
#[derive(Clone)]
struct Wrong(Mistake);

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// The derivative of `I₁` is taken for `I₀`, without the other half.
    Slope,
    /// Right to first order; the slope is a constant afterwards.
    Detached,
    /// The results of the lanes are said to lie in front, although nothing moves.
    Dims,
}

impl Function for Wrong {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        bessel(1)(x)
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }

    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        let slope = match self.0 {
            Mistake::Slope => bessel(0)(x)?,
            Mistake::Detached => bessel(0)(x)?.add(&bessel(2)(x)?)?.mul(0.5)?.detach()?,
            Mistake::Dims => bessel(0)(x)?.add(&bessel(2)(x)?)?.mul(0.5)?,
        };
        g.map(|g| g.mul(&slope))
    }

    fn vmap(&self, _: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, if self.0 == Mistake::Dims { Some(0) } else { in_dims }))
    }
}

#[test]
fn wrong_rules_are_noticed() {
    let finds = |mistake, property: &str| {
        let at = Tensor::from([[0.4, -1.3, 2.2], [3.0, 0.9, -0.6]]);
        let report = check_function(&Wrong(mistake), &at).unwrap();
        assert!(report.finding(property).is_some(), "{report}");
    };
    finds(Mistake::Slope, "jvp_matches_differences");
    finds(Mistake::Detached, "second_order");
    finds(Mistake::Dims, "vmap_is_loop");
}
