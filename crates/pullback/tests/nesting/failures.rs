//! Errors and panics at every depth leave nothing behind.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::random::Key;
use pullback::{
    Context, Cotangent, DType, Error, ErrorKind, Function, Randomness, Result, Tensor, Vmap, grad, hessian, vmap,
};

use super::functions::{Cube, SquareBackward};
use super::modes::Mode::{Forward, Lanes, Reverse, Unmapped};
use super::modes::{Mode, apply, check, mixes, number};

/// Where a function goes wrong, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Body,
    Forward,
    SetupContext,
    Rule,
    Vmap,
}

/// A cube that goes wrong in one of its methods.
#[derive(Clone)]
struct Faulty {
    place: Place,
    panics: bool,
}

impl Faulty {
    fn visit(&self, place: Place) -> Result<()> {
        match (self.place == place, self.panics) {
            (false, _) => Ok(()),
            (true, true) => panic!("on purpose"),
            (true, false) => Err(Error::other("on purpose")),
        }
    }
}

impl Function for Faulty {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.visit(Place::Forward)?;
        x.mul(x)?.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        self.visit(Place::SetupContext)?;
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        self.visit(Place::Rule)?;
        Ok(g * x * x * 3.0)
    }
    fn vmap(
        &self,
        info: &pullback::VmapInfo,
        dims: pullback::Dims<Tensor>,
        x: &Tensor,
    ) -> Result<(Tensor, pullback::Dims<Tensor>)> {
        self.visit(Place::Vmap)?;
        pullback::function::rules::generated(self, info, dims, x)
    }
}

/// Everything still works on this thread: derivatives, lanes, functions, and calls outside of all transforms.
fn works() {
    let cube = |x: &Tensor| Cube.apply(x);
    for (order, want) in [8.0, 12.0, 12.0].into_iter().enumerate() {
        for modes in mixes(order) {
            check(&cube, &modes, 2.0, want);
            check(&cube, &[&[Lanes][..], &modes].concat(), 2.0, want);
        }
    }
    let xs = Tensor::from([1.0, 2.0]);
    assert_eq!(vmap(hessian(cube))(&xs).unwrap().to_vec::<f64>().unwrap(), [6.0, 12.0]);
    // A value that no transform works on is read at once: no method is believed to be running any more.
    assert_eq!(number(&Tensor::from(3.0).mul(2.0).unwrap()), 6.0);
    let read = |x: &Tensor| Ok(Tensor::from(x.item::<f64>()?));
    assert_eq!(number(&grad(read)(&Tensor::from(1.0)).unwrap()), 0.0);
    // And no batch level is believed to be open: this call has no lanes.
    let (y, pull) = pullback::vjp(|x: &Tensor| SquareBackward.apply(x), &Tensor::from(3.0)).unwrap();
    assert_eq!((y.rank(), pull.call(&Tensor::from(1.0)).unwrap().rank()), (0, 0));
    // No policy for random numbers is left: outside of all lanes they may be drawn, and have no lanes.
    let numbers = Key::new(3).uniform(&[2], DType::F64).unwrap();
    assert_eq!(numbers.shape(), [2]);
    // Inside, each `vmap` has its own policy.
    let draw = |_: &Tensor| Key::new(3).uniform(&[2], DType::F64);
    assert_eq!(vmap(draw)(&xs).unwrap_err().kind(), ErrorKind::Randomness);
    let same = Vmap::new().randomness(Randomness::Same).of(draw)(&xs).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(same, [numbers.to_vec::<f64>().unwrap(), numbers.to_vec::<f64>().unwrap()].concat());
}

/// Every nest of up to three transforms.
fn nests() -> Vec<Vec<Mode>> {
    let mut all: Vec<Vec<Mode>> = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..3 {
        last = last
            .iter()
            .flat_map(|m| [Forward, Reverse, Lanes, Unmapped].map(|one| [&m[..], &[one]].concat()))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn errors_and_panics_leave_nothing_behind() {
    let mut reached = 0;
    for modes in nests() {
        for place in [Place::Body, Place::Forward, Place::SetupContext, Place::Rule, Place::Vmap] {
            for panics in [false, true] {
                let faulty = Faulty { place, panics };
                let f = |x: &Tensor| {
                    let y = faulty.apply(&x.mul(1.0)?)?;
                    faulty.visit(Place::Body)?;
                    Ok(y)
                };
                let nest = || apply(&f, &modes, &Tensor::from(2.0));
                let outcome = super::quietly(|| catch_unwind(AssertUnwindSafe(nest)));
                match outcome {
                    // The nest does not reach this place.
                    Ok(Ok(_)) => continue,
                    Ok(Err(e)) => {
                        assert!(!panics);
                        assert_eq!(e.kind(), ErrorKind::User, "{e}");
                        assert_eq!(e.message(), "on purpose");
                    }
                    Err(_) => assert!(panics, "{modes:?} {place:?}"),
                }
                reached += 1;
                works();
            }
        }
    }
    assert!(reached > 400, "{reached}");
}

/// The same under policies for random numbers, nested in each other.
#[test]
fn policies_for_random_numbers_are_left_behind() {
    let policies = [Randomness::Error, Randomness::Same, Randomness::Different];
    let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    for outer in policies {
        for inner in policies {
            for panics in [false, true] {
                let faulty = Faulty { place: Place::Body, panics };
                let draw = |x: &Tensor| {
                    let y = x.add(&Key::new(1).uniform(&[], DType::F64)?)?;
                    faulty.visit(Place::Body)?;
                    Ok(y)
                };
                let row = |row: &Tensor| Vmap::new().randomness(inner).of(draw)(row);
                let nest = || Vmap::new().randomness(outer).of(row)(&xs);
                match super::quietly(|| catch_unwind(AssertUnwindSafe(nest))) {
                    Ok(result) => {
                        let kind = result.unwrap_err().kind();
                        assert!(matches!(kind, ErrorKind::Randomness | ErrorKind::User), "{kind:?}");
                    }
                    Err(_) => assert!(panics),
                }
                works();
            }
        }
    }
}

/// An error names the transforms it came through, the outermost first.
#[test]
fn errors_name_the_transforms() {
    let fails = |_: &Tensor| -> Result<Tensor> { Err(Error::other("on purpose")) };
    let e = apply(&fails, &[Reverse, Lanes, Forward], &Tensor::from(1.0)).unwrap_err();
    assert_eq!(e.context().collect::<Vec<_>>(), ["grad", "vmap", "jvp"]);
}

/// A result that one transform refuses does not disturb those around it.
#[test]
fn refused_results_leave_nothing_behind() {
    for modes in nests() {
        let vector = |x: &Tensor| grad(|x: &Tensor| x.unsqueeze(0))(x);
        assert!(apply(&vector, &modes, &Tensor::from(1.0)).unwrap_err().is_not_scalar());
        works();
    }
}
