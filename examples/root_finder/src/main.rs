//! Where a planet is, and where two species settle. `cargo run --release -p root_finder`.

use std::process::ExitCode;

use pullback::{DType, Error, Result, Tensor, Tree, Vmap, grad, hessian, jacrev};
use root_finder::Root;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    kepler()?;
    species()
}

/// Kepler's equation `M = E - e·sin E` gives the place `E` of a planet on an ellipse of eccentricity `e` at time `M`.
fn kepler() -> Result<()> {
    let root = Root::new(|x: &Tensor, (m, e): &(Tensor, Tensor)| x.sub(&x.sin()?.mul(e)?)?.sub(m));
    let place = |m: &Tensor, e: &Tensor| root.find(m, &(m.clone(), e.clone()));
    let e = Tensor::from(0.6);
    let times = Tensor::linspace(0.1, 6.0, 40, DType::F64)?;
    // Written for one time, and mapped over all.
    let at_times = |f: &dyn Fn(&Tensor, &Tensor) -> Result<Tensor>| {
        Vmap::new().in_dims((0, None)).of(|(m, e): &(Tensor, Tensor)| f(m, e))(&(times.clone(), e.clone()))
    };
    let x = at_times(&place)?;
    println!("Kepler's equation at {} times", times.numel());
    report("the equation", &x.sub(&x.sin()?.mul(&e)?)?, &times)?;
    // dE/dM = 1/(1 - e·cos E), and its derivative in turn.
    let slowness = 1.0 - x.cos()? * &e;
    let speed = at_times(&|m, e| grad(|m: &Tensor| place(m, e))(m))?;
    report("dE/dM", &speed, &(1.0 / &slowness))?;
    let acceleration = at_times(&|m, e| grad(grad(|m: &Tensor| place(m, e)))(m))?;
    report("d²E/dM²", &acceleration, &(x.sin()?.neg()? * &e / slowness.powi(3)?))?;
    let by_shape = at_times(&|m, e| grad(|e: &Tensor| place(m, e))(e))?;
    report("dE/de", &by_shape, &(x.sin()? / &slowness))
}

/// The rates of a model of prey and predators.
#[derive(Clone, Tree)]
struct Rates<T = Tensor> {
    growth: T,
    capacity: T,
    hunting: T,
    feeding: T,
    death: T,
}

/// The speed at which both populations `[prey, predators]` change, relative to themselves.
fn change(x: &Tensor, rates: &Rates) -> Result<Tensor> {
    let (prey, predators) = (x.select(0, 0)?, x.select(0, 1)?);
    let more_prey = &rates.growth * (1.0 - &prey / &rates.capacity) - &rates.hunting * &predators;
    let more_predators = &rates.feeding * &rates.hunting * &prey - &rates.death;
    pullback::stack(&[&more_prey.mul(&prey)?, &more_predators.mul(&predators)?], 0)
}

/// Where a system of differential equations comes to rest, and how that depends on its rates.
fn species() -> Result<()> {
    let rate = |value: f64| Tensor::from(value);
    let rates =
        Rates { growth: rate(1.1), capacity: rate(20.0), hunting: rate(0.4), feeding: rate(0.25), death: rate(0.6) };
    let root = Root::new(change);
    let guess = Tensor::from([5.0, 2.0]);
    let rest = |rates: &Rates| root.find(&guess, rates);
    let known = |r: &Rates| {
        let prey = &r.death / (&r.feeding * &r.hunting);
        let predators = &r.growth / &r.hunting * (1.0 - &prey / &r.capacity);
        pullback::stack(&[&prey, &predators], 0)
    };
    let x = rest(&rates)?;
    println!("prey and predators at rest: {x}");
    report("populations", &x, &known(&rates)?)?;
    let (slopes, want) = (jacrev(rest)(&rates)?, jacrev(known)(&rates)?);
    report("sensitivity to the hunting rate", &slopes.hunting, &want.hunting)?;
    report("sensitivity to the capacity", &slopes.capacity, &want.capacity)?;
    report("sensitivity to the death rate", &slopes.death, &want.death)?;
    let total = |f: &dyn Fn(&Rates) -> Result<Tensor>, r: &Rates| f(r)?.square()?.sum();
    let (bends, want) = (hessian(|r: &Rates| total(&rest, r))(&rates)?, hessian(|r: &Rates| total(&known, r))(&rates)?);
    report("second derivative by hunting and death", &bends.hunting.death, &want.hunting.death)
}

/// Prints the largest deviation relative to the size of the values, and fails if it is not small.
fn report(what: &str, got: &Tensor, want: &Tensor) -> Result<()> {
    let deviation = got.sub(want)?.abs()?.max()?.item::<f64>()? / want.abs()?.max()?.item::<f64>()?.max(1.0);
    println!("  {what}: off by {deviation:.1e}");
    if deviation.is_nan() || deviation > 1e-12 {
        return Err(Error::other(format!("{what}: off by {deviation:e}")));
    }
    Ok(())
}
