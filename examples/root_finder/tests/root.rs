//! Roots against closed forms and bisection, the rules, errors, and that the checker notices wrong rules.

use pullback::function::rules;
use pullback::testing::{assert_close, check_function, gradcheck, numeric_jvp};
use pullback::{
    Context, Cotangent, DType, Dims, Error, ErrorKind, Function, Result, Tensor, Vmap, VmapInfo, grad, hessian, jacfwd,
    jacrev, jvp, stack, stack_trees, vmap,
};
use root_finder::{Root, fixed_point};

fn kepler(x: &Tensor, (m, e): &(Tensor, Tensor)) -> Result<Tensor> {
    x.sub(&x.sin()?.mul(e)?)?.sub(m)
}

/// Two equations that are coupled, with three parameters: `x₀³ + x₁ = p₀`, `x₁ - tanh(x₀)/2 = p₁·p₂`.
fn coupled(x: &Tensor, p: &Tensor) -> Result<Tensor> {
    let (a, b) = (x.select(0, 0)?, x.select(0, 1)?);
    let first = a.powi(3)?.add(&b)?.sub(&p.select(0, 0)?)?;
    let second = b.sub(&a.tanh()?.mul(0.5)?)?.sub(&p.select(0, 1)?.mul(&p.select(0, 2)?)?)?;
    stack(&[&first, &second], 0)
}

fn bisect(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(low).signum() == f(middle).signum() { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[test]
fn roots_are_those_of_bisection() {
    let root = Root::new(kepler);
    for e in [0.0, 0.3, 0.9, 0.99] {
        for m in [0.05, 1.0, 3.0, 5.5] {
            let (m_, e_) = (Tensor::from(m), Tensor::from(e));
            let got = root.find(&m_, &(m_.clone(), e_)).unwrap().item::<f64>().unwrap();
            let want = bisect(|x| x - e * x.sin() - m, m - 1.0, m + 1.0);
            assert!((got - want).abs() < 1e-14 * (1.0 + want.abs()) / (1.0 - e), "e {e}, M {m}: {got} and {want}");
        }
    }
    let p = Tensor::from([1.5, 0.4, -0.7]);
    let x = Root::new(coupled).find(&Tensor::from([1.0, 1.0]), &p).unwrap();
    assert_close(&coupled(&x, &p).unwrap(), &Tensor::zeros(&[2], DType::F64).unwrap(), 1e-15);
}

#[test]
fn guesses_of_any_shape_and_single_precision() {
    // x² = p, elementwise.
    let root = Root::new(|x: &Tensor, p: &Tensor| x.square()?.sub(p));
    let p = Tensor::from([[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]);
    let ones = p.ones_like().unwrap();
    assert_close(&root.find(&ones, &p).unwrap(), &p.sqrt().unwrap(), 1e-15);
    let narrow = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let x = root.find(&narrow(&ones), &narrow(&p)).unwrap();
    assert_eq!(x.dtype(), DType::F32);
    assert_close(&x, &narrow(&p.sqrt().unwrap()), 1e-6);
    let none = Tensor::zeros(&[0], DType::F64).unwrap();
    assert_eq!(root.find(&none, &none).unwrap().shape(), [0]);
    // The result does not depend on the guess, and neither do derivatives.
    let slope = grad(|guess: &Tensor| root.find(guess, &p)?.sum())(&(ones * 3.0)).unwrap();
    assert_close(&slope, &p.zeros_like().unwrap(), 0.0);
}

#[test]
fn every_property_holds() {
    let holds = |report: Result<pullback::testing::Report>| report.unwrap().into_result().unwrap();
    let at = (Tensor::from(1.0), (Tensor::from(1.2), Tensor::from(0.4)));
    holds(check_function(&Root::new(kepler), &at));
    let at = (Tensor::from([1.0, 0.5]), Tensor::from([1.5, 0.4, -0.7]));
    holds(check_function(&Root::new(coupled), &at));
    let at = (Tensor::from([[0.7], [0.6]]), Tensor::from([[0.9], [1.2]]));
    holds(check_function(&fixed_point(|x: &Tensor, p: &Tensor| x.cos()?.mul(p)), &at));
}

#[test]
fn derivatives_of_kepler_in_closed_form() {
    let root = Root::new(kepler);
    let (m, e) = (Tensor::from(0.8), Tensor::from(0.6));
    let place = |m: &Tensor| root.find(m, &(m.clone(), e.clone()));
    let x = place(&m).unwrap().item::<f64>().unwrap();
    let slow = 1.0 - 0.6 * x.cos();
    let (first, second) = (1.0 / slow, -0.6 * x.sin() / slow.powi(3));
    let third = -0.6 * (x.cos() * slow - 3.0 * 0.6 * x.sin().powi(2)) / slow.powi(5);
    let one = Tensor::from(1.0);
    let forward = |m: &Tensor| Ok(jvp(place, m, &one)?.1);
    assert_close(&grad(place)(&m).unwrap(), &Tensor::from(first), 1e-14);
    assert_close(&forward(&m).unwrap(), &Tensor::from(first), 1e-14);
    assert_close(&grad(grad(place))(&m).unwrap(), &Tensor::from(second), 1e-13);
    assert_close(&grad(forward)(&m).unwrap(), &Tensor::from(second), 1e-13);
    assert_close(&hessian(place)(&m).unwrap(), &Tensor::from(second), 1e-13);
    assert_close(&grad(grad(grad(place)))(&m).unwrap(), &Tensor::from(third), 1e-12);
}

#[test]
fn derivatives_of_systems_match_differences() {
    let root = Root::new(coupled);
    let guess = Tensor::from([1.0, 0.5]);
    let f = move |p: &Tensor| root.find(&guess, &p.sin()?)?.exp();
    let (p, v) = (Tensor::from([1.5, 0.4, -0.7]), Tensor::from([0.3, -1.0, 0.8]));
    gradcheck(f.clone(), &p).unwrap().into_result().unwrap();
    assert_close(&jacrev(&f)(&p).unwrap(), &jacfwd(&f)(&p).unwrap(), 1e-13);
    let jacobian = |p: &Tensor| jacrev(&f)(p);
    assert_close(&jvp(jacobian, &p, &v).unwrap().1, &numeric_jvp(jacobian, &p, &v).unwrap().0, 1e-8);
}

#[test]
fn vmap_is_the_loop_for_lanes_anywhere() {
    let root = Root::new(coupled);
    let value = |(guess, p): &(Tensor, Tensor)| root.find(guess, p);
    let slope = |(guess, p): &(Tensor, Tensor)| grad(|p: &Tensor| root.find(guess, p)?.square()?.sum())(p);
    let (guess, p) = (Tensor::from([1.0, 0.5]), Tensor::from([1.5, 0.4, -0.7]));
    let lanes = |t: &Tensor, dim: Option<isize>| -> (Vec<Tensor>, Tensor) {
        let each: Vec<Tensor> =
            (0..3).map(|k| if dim.is_some() { t * (1.0 + 0.1 * f64::from(k)) } else { t.clone() }).collect();
        let all = dim.map_or(t.clone(), |d| stack(&each.iter().collect::<Vec<_>>(), d).unwrap());
        (each, all)
    };
    for guess_dim in [None, Some(0), Some(1)] {
        for p_dim in [None, Some(0), Some(1)] {
            if (guess_dim, p_dim) == (None, None) {
                continue;
            }
            let ((guesses, all_guesses), (ps, all_ps)) = (lanes(&guess, guess_dim), lanes(&p, p_dim));
            let each: Vec<(Tensor, Tensor)> = guesses.into_iter().zip(ps).collect();
            let all = (all_guesses, all_ps);
            let dims = (guess_dim.map(|d| d as usize), p_dim.map(|d| d as usize));
            let got = Vmap::new().in_dims(dims).of(value)(&all).unwrap();
            let want: Vec<Tensor> = each.iter().map(|x| value(x).unwrap()).collect();
            assert_close(&got, &stack_trees(&want).unwrap(), 1e-15);
            let got = Vmap::new().in_dims(dims).of(slope)(&all).unwrap();
            let want: Vec<Tensor> = each.iter().map(|x| slope(x).unwrap()).collect();
            assert_close(&got, &stack_trees(&want).unwrap(), 1e-13);
        }
    }
}

#[test]
fn what_has_no_root_is_an_error() {
    let fails = |e: Error, kind: ErrorKind, text: &str| {
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().starts_with("`forward` of function `Root`") && e.to_string().contains(text), "{e}");
    };
    // x² + p has none.
    let none = Root::new(|x: &Tensor, p: &Tensor| x.square()?.add(p));
    let one = Tensor::from(1.0);
    fails(
        none.find(&Tensor::from(0.8), &one).unwrap_err(),
        ErrorKind::Value,
        "expected a root near the guess f64[], got stuck after",
    );
    // Too few steps, and a Jacobian without an inverse.
    let few = Root::new(|x: &Tensor, p: &Tensor| x.square()?.sub(p)).steps(2);
    fails(few.find(&one, &Tensor::from(1e6)).unwrap_err(), ErrorKind::Value, "after 2 steps");
    fails(
        none.find(&Tensor::from(0.0), &one).unwrap_err(),
        ErrorKind::Value,
        "Newton step 0 > `forward` of function `Solve`",
    );
    // NaN is no root.
    let nan = Root::new(|x: &Tensor, p: &Tensor| x.log()?.sub(p));
    assert_eq!(nan.find(&Tensor::from(-1.0), &one).unwrap_err().kind(), ErrorKind::Value);
    // Residuals unlike x, and guesses that are not numbers with fractions.
    let wide = Root::new(|x: &Tensor, p: &Tensor| x.add(p));
    fails(
        wide.find(&one, &Tensor::from([1.0, 2.0])).unwrap_err(),
        ErrorKind::Shape,
        "a residual like x, which is f64[], got f64[2]",
    );
    let other = Root::new(|x: &Tensor, p: &Tensor| x.sub(p)?.to_dtype(DType::F32));
    fails(other.find(&one, &one).unwrap_err(), ErrorKind::Dtype, "got f32[]");
    fails(wide.find(&Tensor::from(1i64), &one).unwrap_err(), ErrorKind::Dtype, "dtype f32 or f64, got i64[]");
    // An error of the residual itself passes through, and a lane that fails fails all.
    let own = Root::new(|_: &Tensor, _: &Tensor| Err(Error::other("out of coffee")));
    fails(own.find(&one, &one).unwrap_err(), ErrorKind::User, "out of coffee");
    let e = vmap(|p: &Tensor| none.find(&Tensor::from(0.8), p))(&Tensor::from([-1.0, 1.0])).unwrap_err();
    assert!(e.to_string().starts_with("vmap > `vmap` of function `Root` > `forward` of function `Root`: "), "{e}");
}

#[test]
fn a_captured_parameter_is_an_error() {
    let f = |p: &Tensor| {
        let captured = p.clone();
        let root = Root::new(move |x: &Tensor, q: &Tensor| x.square()?.sub(&captured.mul(q)?));
        root.find(&Tensor::from(1.0), &p.mul(1.0)?)
    };
    assert_eq!(grad(f)(&Tensor::from(4.0)).unwrap_err().kind(), ErrorKind::CapturedTracer);
}

/// Square roots with mistakes that are easily made.
#[derive(Clone)]
struct Wrong(Mistake);

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// `∂f/∂p` has the wrong sign.
    Sign,
    /// The rule finds the root again, outside of what is differentiated.
    Detached,
    /// All lanes are given the root of the first.
    FirstLane,
}

impl Function for Wrong {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, p: &Tensor) -> Result<Tensor> {
        Root::new(|x: &Tensor, p: &Tensor| x.square()?.sub(p)).find(&p.ones_like()?, p)
    }

    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, x: &Tensor) -> Result<Tensor> {
        if self.0 == Mistake::Detached { x.detach() } else { Ok(x.clone()) }
    }

    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.div(&(x * if self.0 == Mistake::Sign { -2.0 } else { 2.0 })))
    }

    fn vmap(&self, info: &VmapInfo, in_dims: Dims<Tensor>, p: &Tensor) -> Result<(Tensor, Option<usize>)> {
        match in_dims {
            Some(d) if self.0 == Mistake::FirstLane => Ok((self.apply(&p.select(d as isize, 0)?)?, None)),
            _ => rules::per_example(self, info, in_dims, p),
        }
    }
}

#[test]
fn wrong_rules_are_noticed() {
    let finds = |mistake, property: &str| {
        let report = check_function(&Wrong(mistake), &Tensor::from([2.0, 0.7, 5.0])).unwrap();
        assert!(report.finding(property).is_some(), "{report}");
    };
    finds(Mistake::Sign, "jvp_matches_differences");
    finds(Mistake::Detached, "second_order");
    finds(Mistake::FirstLane, "vmap_is_loop");
}
