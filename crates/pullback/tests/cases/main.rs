//! Problems that users of other systems met with transforms, batching and derivative rules, as tests of this one. The
//! ids are those of the case log that the project started from; expected values are closed forms. Tests without an id
//! look into corners that the cases point at.

#![allow(clippy::arc_with_non_send_sync, reason = "functions are shared on one thread only")]

mod extremes;
mod graphs;
mod hostile;
mod hostile_functions;
mod hostile_values;
mod indexing;
mod inplace;
mod linear_algebra;
mod losses;
mod memory;
mod models;
mod networks;
mod programs;
mod random_programs;
mod rules;
mod solves;
mod threads;
mod transforms;
mod vmap;
mod vmap_lanes;

use std::sync::Arc;

use pullback::{DType, Result, Tensor, grad, hessian, jacfwd, jacrev, jvp, stack, vjp};

pub fn value(t: &Tensor) -> f64 {
    t.item::<f64>().expect("a 0-d f64 tensor")
}

pub fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().expect("an f64 tensor")
}

pub fn ones(shape: &[usize]) -> Tensor {
    Tensor::ones(shape, DType::F64).expect("a small tensor")
}

pub fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F64).expect("a small tensor")
}

pub fn iota(shape: &[usize]) -> Tensor {
    let data: Vec<f64> = (0..shape.iter().product()).map(|k: usize| k as f64).collect();
    Tensor::from_slice(&data, shape).expect("as many elements as the shape has")
}

/// Irregular numbers between -1 and 1.
pub fn noise(shape: &[usize], seed: f64) -> Tensor {
    let data: Vec<f64> = (0..shape.iter().product()).map(|k: usize| (seed + 1.7 * k as f64).sin()).collect();
    Tensor::from_slice(&data, shape).expect("as many elements as the shape has")
}

/// Equal up to 1e-8 of the size of each number (of 1 for small ones); NaN equals NaN.
#[track_caller]
pub fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "got {got:?}, want {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!(
            g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-8 * w.abs().max(1.0),
            "got {got:?}, want {want:?}"
        );
    }
}

/// The shape and the values.
#[track_caller]
pub fn is(t: &Tensor, shape: &[usize], want: &[f64]) {
    assert_eq!(t.shape(), shape, "of {:?}", t);
    close(&values(t), want);
}

/// A function of one tensor that can be handed around.
pub type Map = Arc<dyn Fn(&Tensor) -> Result<Tensor>>;

/// The derivative of a scalar function of a 0-d tensor by forward mode, as a function again.
pub fn forward(f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| Ok(jvp(&f, x, &Tensor::ones(x.shape(), x.dtype())?)?.1)
}

/// The derivative of some order, in every nesting of forward and reverse mode; a nesting is named from the inside.
pub fn derivatives(f: Map, order: usize) -> Vec<(String, Map)> {
    let mut all: Vec<(String, Map)> = vec![(String::new(), f)];
    for _ in 0..order {
        all = all
            .into_iter()
            .flat_map(|(name, f)| {
                let g = f.clone();
                let reverse: Map = Arc::new(grad(move |x: &Tensor| f(x)));
                let forward: Map = Arc::new(forward(move |x: &Tensor| g(x)));
                [(format!("{name}r"), reverse), (format!("{name}f"), forward)]
            })
            .collect();
    }
    all
}

/// Checks a scalar function of a 0-d tensor: its value and its derivatives of every order given, in every nesting of
/// modes, alone and as lanes of a `vmap` inside which the derivative is taken.
#[track_caller]
pub fn every_nesting(f: impl Fn(&Tensor) -> Result<Tensor> + 'static, x: f64, want: &[f64]) {
    every_nesting_of(f, x, want, true);
}

/// [`every_nesting`], as lanes only if told.
#[track_caller]
pub fn every_nesting_of(f: impl Fn(&Tensor) -> Result<Tensor> + 'static, x: f64, want: &[f64], lanes: bool) {
    let f: Map = Arc::new(f);
    for (order, &want) in want.iter().enumerate() {
        for (name, d) in derivatives(f.clone(), order) {
            let got = value(&d(&Tensor::from(x)).unwrap());
            assert!((got - want).abs() <= 1e-8 * want.abs().max(1.0), "order {order} {name:?}: got {got}, want {want}");
            if !lanes {
                continue;
            }
            let lanes = values(&pullback::vmap(|x: &Tensor| d(x))(&Tensor::from([x, x])).unwrap());
            for got in lanes {
                let fine = (got - want).abs() <= 1e-8 * want.abs().max(1.0);
                assert!(fine, "order {order} {name:?} as a lane: got {got}, want {want}");
            }
        }
    }
}

/// Checks the gradient of a scalar function of one tensor by every transform that gives it.
#[track_caller]
pub fn gradient(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, want: &[f64]) {
    is(&grad(&f)(x).unwrap(), x.shape(), want);
    is(&jacrev(&f)(x).unwrap(), x.shape(), want);
    is(&jacfwd(&f)(x).unwrap(), x.shape(), want);
    let (_, pull) = vjp(&f, x).unwrap();
    is(&pull.call(&Tensor::from(1.0)).unwrap(), x.shape(), want);
    // One direction after the other.
    for (k, w) in want.iter().enumerate() {
        let mut unit = vec![0.0; x.numel()];
        unit[k] = 1.0;
        let (_, t) = jvp(&f, x, &Tensor::from_slice(&unit, x.shape()).unwrap()).unwrap();
        close(&[value(&t)], &[*w]);
    }
    // As lanes, and through lanes.
    let two = stack(&[x, x], -1).unwrap();
    let both: Vec<f64> = want.iter().chain(want).copied().collect();
    let lanes = pullback::Vmap::new().in_dims(-1).of(grad(&f))(&two).unwrap();
    close(&values(&lanes), &both);
    let through = grad(|x: &Tensor| pullback::Vmap::new().in_dims(-1).of(&f)(x)?.sum())(&two).unwrap();
    close(&values(&through.select(-1, 1).unwrap()), want);
}

/// Checks the Hessian of a scalar function of one tensor in all nestings, row-major.
#[track_caller]
pub fn second(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, want: &[f64]) {
    let all = [
        hessian(&f)(x),
        jacrev(jacrev(&f))(x),
        jacrev(jacfwd(&f))(x),
        jacfwd(jacrev(&f))(x),
        jacfwd(jacfwd(&f))(x),
        jacrev(grad(&f))(x),
    ];
    for h in all {
        close(&values(&h.unwrap()), want);
    }
    let lanes = pullback::vmap(hessian(&f))(&x.unsqueeze(0).unwrap()).unwrap();
    close(&values(&lanes), want);
    let lanes = pullback::vmap(jacfwd(jacfwd(&f)))(&x.unsqueeze(0).unwrap()).unwrap();
    close(&values(&lanes), want);
}

/// What one test of this program prints in a process of its own, with these environment variables.
pub fn child(test: &str, environment: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().expect("the path of this program");
    let out = std::process::Command::new(program)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs(environment.iter().copied())
        .output()
        .expect("this program starts");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
    text
}

/// True in a process that runs this test alone; otherwise starts one, with these environment variables, checks that it
/// succeeds, and is false.
pub fn alone(test: &str, environment: &[(&str, &str)]) -> bool {
    if std::env::var_os("CASES_ALONE").is_some() {
        return true;
    }
    child(test, &[environment, &[("CASES_ALONE", "1")]].concat());
    false
}
