//! The mistakes that other systems accept in silence, by the ids of the list of semantics that the project started
//! from (G-01 to G-32): each is an error with a clear message, or right, or cannot be written.
//!
//! | Id | Mistake | Where |
//! |---|---|---|
//! | G-03 | a tensor kept as an attribute of the context | the context has none; what is kept is the typed `Saved` |
//! | G-06 | second derivatives of rules that are differentiable once | `once.rs`, and all nests in `database.rs` |
//! | G-07 | forward in forward loses a tangent | all nests in `database.rs`; `f30_…` |
//! | G-09, G-11, G-23 | what rules return | `semantics_f.rs` |
//! | G-13 | marks that are lost under the generated rule | `f61_…`; there are no dirty marks, because values never change |
//! | G-16, G-26, G-28, G-30, G-31 | views of tangents, keywords, Python's random numbers, `functionalize`, two styles | do not exist here |
//! | G-17, G-18, G-27 | wrong formulas, impure `setup_context`, lanes that mix | `check_function`; `tests/tester` |
//! | G-20 | a captured tensor changed in place under `vmap` | needs `&mut`, which a transformed function has not: `src/function/refused.rs` |
//! | G-21 | one value returned twice | `contract.rs` |
//! | G-22 | reading what was never saved | `Saved` is one type |
//! | G-25 | a bool as a dim | types |

use std::sync::{Arc, Mutex};

use pullback::function::rules;
use pullback::random::Key;
use pullback::testing::check_function;
use pullback::*;

use crate::nests::{Jet, Subject};
use crate::{forward, value, values};

/// In which method a held tensor is used.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Forward,
    SetupContext,
    Backward,
    Jvp,
    Vmap,
}

/// The square; one method multiplies by a tensor that is not an argument.
#[derive(Clone)]
struct Holding(Use, Tensor);

impl Holding {
    fn at(&self, place: Use, t: Tensor) -> Result<Tensor> {
        if self.0 == place { t.mul(&self.1) } else { Ok(t) }
    }
}

impl Function for Holding {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.at(Use::Forward, x.mul(x)?)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        self.at(Use::SetupContext, x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| self.at(Use::Backward, g.mul(x)?.mul(2.0)?))
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        t.map(|t| self.at(Use::Jvp, t.mul(x)?.mul(2.0)?))
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        if self.0 == Use::Vmap {
            Ok((self.at(Use::Vmap, x.mul(x)?)?, dim))
        } else {
            rules::generated(self, info, dim, x)
        }
    }
}

#[test]
fn g01_a_captured_value_is_an_error_in_every_method() {
    let (x, xs) = (Tensor::from(2.0), Tensor::from([1.0, 2.0]));
    for (place, name) in [
        (Use::Forward, "forward"),
        (Use::SetupContext, "setup_context"),
        (Use::Backward, "backward"),
        (Use::Jvp, "jvp"),
        (Use::Vmap, "vmap"),
    ] {
        // The function under the transform that would use the method.
        let run = |w: &Tensor| {
            let f = |x: &Tensor| Holding(place, w.clone()).apply(x);
            match place {
                Use::Jvp => forward(f)(&x),
                Use::Vmap => vmap(f)(&xs)?.sum(),
                _ => grad(f)(&x),
            }
        };
        let w = Tensor::from(3.0);
        for e in [
            grad(run)(&w).unwrap_err(),
            jvp(run, &w, &w).unwrap_err(),
            vmap(run)(&xs).unwrap_err(),
            vmap(grad(run))(&xs).unwrap_err(),
        ] {
            assert_eq!(e.kind(), ErrorKind::CapturedTracer, "{place:?}: {e}");
            assert!(e.to_string().contains(&format!("`{name}` of function `Holding`: `mul` got a value")), "{e}");
            assert!(e.help().unwrap().contains("pass it to the function as an input"), "{e}");
        }
        // The same level that the rule serves: the value is newer than what the rule works on.
        if place != Use::Vmap {
            let e = match place {
                Use::Jvp => forward(|x: &Tensor| Holding(place, x.clone()).apply(x))(&x).unwrap_err(),
                _ => grad(|x: &Tensor| Holding(place, x.clone()).apply(x))(&x).unwrap_err(),
            };
            assert_eq!(e.kind(), ErrorKind::CapturedTracer, "{place:?}: {e}");
        }
        // A constant is welcome.
        run(&w).unwrap();
    }
}

#[test]
fn g02_tensors_in_containers_are_tracked() {
    /// `a·b₀·b₁·c`, from a tree.
    #[derive(Clone)]
    struct Nested;
    type Args = (Tensor, (Vec<Tensor>, Option<Box<Tensor>>));
    impl Function for Nested {
        type Inputs = Args;
        type Outputs = Vec<(Tensor, Option<Tensor>)>;
        type Saved = Args;
        fn forward(&self, (a, (b, c)): &Args) -> Result<Self::Outputs> {
            let mut y = a.clone();
            for t in b.iter().chain(c.as_deref()) {
                y = y.mul(t)?;
            }
            Ok(vec![(y, None), (a.clone(), c.as_deref().cloned())])
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Args, _: &Self::Outputs) -> Result<Args> {
            Ok(x.clone())
        }
        fn backward(
            &self,
            _: &Context<Self>,
            (a, (b, c)): &Args,
            g: Cotangents<Self::Outputs>,
        ) -> Result<Cotangents<Args>> {
            let one = Tensor::from(1.0);
            let c_value = c.as_deref().unwrap_or(&one);
            let y = &g[0].0;
            let of_c = || y * a * &b[0] * &b[1] + g[1].1.clone().unwrap_or_default();
            let of_b = vec![y * a * &b[1] * c_value, y * a * &b[0] * c_value];
            Ok((y * &b[0] * &b[1] * c_value + g[1].0.clone(), (of_b, c.as_ref().map(|_| Box::new(of_c())))))
        }
    }
    let n = |x: f64| Tensor::from(x);
    let x = (n(2.0), (vec![n(3.0), n(5.0)], Some(Box::new(n(7.0)))));
    let f = |x: &Args| Ok(Nested.apply(x)?[0].0.clone());
    let g = grad(f)(&x).unwrap();
    assert_eq!((value(&g.0), value(&g.1.0[0]), value(&g.1.0[1]), value(&g.1.1.unwrap())), (105.0, 70.0, 42.0, 30.0));
    let all = |x: &Args| {
        let y = Nested.apply(x)?;
        y[0].0.add(&y[1].0)?.add(y[1].1.as_ref().unwrap())
    };
    assert_eq!(value(&grad(all)(&x).unwrap().1.1.unwrap()), 31.0);
    assert_eq!(value(&jvp(f, &x, &x).unwrap().1), 4.0 * 210.0);
    let without = (n(2.0), (vec![n(3.0), n(5.0)], None));
    let g = grad(f)(&without).unwrap();
    assert_eq!((value(&g.0), g.1.1.is_none()), (15.0, true));
    let second = grad(|a: &Tensor| grad(|b: &Tensor| f(&(a.clone(), (vec![b.clone(), n(5.0)], None))))(&n(3.0)));
    assert_eq!(value(&second(&n(2.0)).unwrap()), 5.0);
    let lanes = (Tensor::from([1.0, 2.0]), (vec![Tensor::from([3.0, 4.0]), Tensor::from([5.0, 6.0])], None));
    assert_eq!(values(&vmap(grad(f))(&lanes).unwrap().0), [15.0, 24.0]);
}

/// `(2x)²` with the intermediate `2x` taken from different places.
#[derive(Clone)]
struct Intermediate {
    from: Source,
    cell: Arc<Mutex<Option<Tensor>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// Computed by `setup_context`.
    Computed,
    /// Computed by `setup_context` from raw numbers.
    Raw,
    /// Carried over from `forward` behind the library's back.
    Smuggled,
}

impl Function for Intermediate {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let m = x.mul(2.0)?;
        *self.cell.lock().unwrap() = Some(m.clone());
        m.mul(&m)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        match self.from {
            Source::Computed => x.mul(2.0),
            Source::Raw => Ok(Tensor::from(x.to_vec::<f64>()?.iter().map(|x| 2.0 * x).collect::<Vec<_>>())),
            Source::Smuggled => Ok(self.cell.lock().unwrap().clone().unwrap()),
        }
    }
    fn backward(&self, _: &Context<Self>, m: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * m * 4.0)
    }
}

#[test]
fn g04_g05_saved_intermediates() {
    let make = |from| Intermediate { from, cell: Arc::default() };
    let x = Tensor::from([3.0]);
    // Right under every nest.
    let computed = make(Source::Computed);
    let twin = |x: &[Vec<Jet>]| vec![x[0].iter().map(|&v| v * v * Jet::constant(4.0)).collect()];
    let apply = move |x: &[Tensor]| Ok(vec![computed.apply(&x[0])?]);
    Subject { name: "Computed", inputs: vec![x.clone()], apply: Box::new(apply), twin }.check_all();
    // An error where it would be wrong.
    let raw = make(Source::Raw);
    let f = |x: &Tensor| raw.apply(x)?.sum();
    assert_eq!(values(&grad(f)(&x).unwrap()), [24.0]);
    for e in [
        grad(|x: &Tensor| grad(f)(x)?.sum())(&x).unwrap_err(),
        jvp(grad(f), &x, &x).unwrap_err(),
        vmap(grad(f))(&Tensor::from([[3.0]])).unwrap_err(),
    ] {
        assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{e}");
        assert!(e.to_string().contains("`setup_context` of function `Intermediate`"), "{e}");
    }
    // `forward` has no way to save, so this takes a lock; the checker sees that the second derivative is missing.
    let report = check_function(&make(Source::Smuggled), &x).unwrap();
    assert!(report.failures().any(|name| name == "second_order"), "{report}");
    assert!(check_function(&make(Source::Computed), &x).unwrap().is_ok());
}

#[test]
fn g08_raw_numbers_under_a_batch() {
    /// The square, which reads raw numbers in one method.
    #[derive(Clone)]
    struct Reading(Use);
    impl Reading {
        fn read(&self, place: Use, t: &Tensor) -> Result<()> {
            if self.0 == place { t.to_vec::<f64>().map(drop) } else { Ok(()) }
        }
    }
    impl Function for Reading {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            self.read(Use::Forward, x)?;
            x.mul(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            self.read(Use::SetupContext, x)?;
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            self.read(Use::Backward, x)?;
            Ok(g * x * 2.0)
        }
        fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
            self.read(Use::Jvp, x)?;
            Ok(t * x * 2.0)
        }
    }
    let xs = Tensor::from([1.0, 2.0]);
    for (place, name) in [
        (Use::Forward, "forward"),
        (Use::SetupContext, "setup_context"),
        (Use::Backward, "backward"),
        (Use::Jvp, "jvp"),
    ] {
        let f = |x: &Tensor| Reading(place).apply(x);
        let push = |x: &Tensor| forward(f)(x);
        let found = match place {
            Use::Jvp => [vmap(push)(&xs).unwrap_err(), jvp(vmap(f), &xs, &xs).unwrap_err()],
            _ => [vmap(grad(f))(&xs).unwrap_err(), grad(|x: &Tensor| vmap(f)(x)?.sum())(&xs).unwrap_err()],
        };
        for e in found {
            assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{place:?}: {e}");
            assert!(e.to_string().contains(&format!("`{name}` of function `Reading`: `to_vec` reads the data")), "{e}");
            // A batching rule serves calls of the function; the other methods see the lanes of a `vmap` around `grad` anyway.
            let way_out = match place {
                Use::Forward => "implement `Function::vmap`, or loop with `rules::per_example`",
                Use::SetupContext => "save tensors instead, and compute with tensor operations",
                _ => "write the rule with tensor operations, or let `once_differentiable` return true",
            };
            let help = e.help().unwrap();
            assert!(help.contains(way_out), "{help}");
        }
    }
}

#[test]
fn g10_random_numbers_in_a_batching_rule() {
    /// Noise of a given key.
    #[derive(Clone)]
    struct Noise {
        honours: bool,
    }
    impl Function for Noise {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.add(&Key::new(1).uniform(x.shape(), x.dtype())?)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
            Ok(g)
        }
        fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            let front = x.movedim(&[dim.unwrap_or(0) as isize], &[0])?;
            let shape =
                if self.honours && info.randomness == Randomness::Same { &front.shape()[1..] } else { front.shape() };
            Ok((front.add(&Key::new(1).uniform(shape, x.dtype())?)?, Some(0)))
        }
    }
    let x = Tensor::zeros(&[2, 2], DType::F64).unwrap();
    let noise = Noise { honours: true };
    let run = |randomness| Vmap::new().randomness(randomness).of(|x: &Tensor| noise.apply(x))(&x);
    let e = run(Randomness::Error).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Randomness);
    assert!(e.to_string().contains("`vmap` of function `Noise`"), "{e}");
    let v = values(&run(Randomness::Different).unwrap());
    assert!(v[0] != v[2] && v[1] != v[3], "{v:?}");
    let v = values(&run(Randomness::Same).unwrap());
    assert!(v[0] == v[2] && v[1] == v[3] && v[0] != v[1], "{v:?}");
}

#[test]
fn g12_values_for_both_rules_remember_their_own_lanes() {
    /// `a·b`; each rule has saved values of its own, in an order of its own.
    #[derive(Clone)]
    struct TwoSets<const SWAPPED: bool>;
    impl<const SWAPPED: bool> Function for TwoSets<SWAPPED> {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = ((Tensor, Tensor), Vec<Tensor>);
        fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
            a.mul(b)
        }
        fn setup_context(&self, _: &mut Context<Self>, (a, b): &Self::Inputs, y: &Tensor) -> Result<Self::Saved> {
            let pair = if SWAPPED { (b.clone(), a.clone()) } else { (a.clone(), b.clone()) };
            Ok((pair, vec![y.clone(), b.clone(), a.clone()]))
        }
        fn backward(
            &self,
            _: &Context<Self>,
            (pair, _): &Self::Saved,
            g: Cotangent,
        ) -> Result<Cotangents<Self::Inputs>> {
            let (a, b) = if SWAPPED { (&pair.1, &pair.0) } else { (&pair.0, &pair.1) };
            Ok((&g * b, &g * a))
        }
        fn jvp(&self, _: &Context<Self>, (_, list): &Self::Saved, (s, t): Tangents<Self::Inputs>) -> Result<Tangent> {
            Ok(s * &list[1] + t * &list[2])
        }
    }
    fn check<const SWAPPED: bool>() {
        let twin = |x: &[Vec<Jet>]| vec![x[0].iter().zip(&x[1]).map(|(&a, &b)| a * b).collect()];
        let apply = |x: &[Tensor]| Ok(vec![TwoSets::<SWAPPED>.apply(&(x[0].clone(), x[1].clone()))?]);
        let inputs = vec![Tensor::from([0.7, -1.1]), Tensor::from([1.3, 0.2])];
        Subject { name: "TwoSets", inputs, apply: Box::new(apply), twin }.check_all();
    }
    check::<false>();
    check::<true>();
}

#[test]
fn g14_g15_changing_arguments_changes_only_a_copy() {
    /// `3x`, computed by changing whatever it is given.
    #[derive(Clone)]
    struct Greedy;
    impl Function for Greedy {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let mut x = x.clone();
            x.mul_(3.0)?;
            Ok(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &Tensor) -> Result<Tensor> {
            let (mut x, mut y) = (x.clone(), y.clone());
            x.mul_(0.0)?;
            y.mul_(0.0)?;
            Ok(x)
        }
        fn backward(&self, _: &Context<Self>, saved: &Tensor, g: Cotangent) -> Result<Cotangent> {
            let (mut saved, mut g) = (saved.clone(), g.tensor()?);
            saved.add_(1.0)?;
            g.mul_(3.0)?;
            Ok(g.into())
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    let (y, pull) = vjp(|x: &Tensor| Greedy.apply(x), &x).unwrap();
    let g = Tensor::from([1.0, 10.0]);
    // The pullback can be called again, and what it was given is as before.
    for _ in 0..2 {
        assert_eq!(values(&pull.call(&g).unwrap()), [3.0, 30.0]);
        assert_eq!((values(&g), values(&x), values(&y)), (vec![1.0, 10.0], vec![1.0, 2.0], vec![3.0, 6.0]));
    }
    assert_eq!(values(&vmap(grad(|x: &Tensor| Greedy.apply(x)))(&x).unwrap()), [3.0, 3.0]);
    assert!(check_function(&Greedy, &x).unwrap().is_ok());
}

#[test]
fn g19_a_value_kept_by_a_method_cannot_be_used_afterwards() {
    /// The square, which keeps what `backward` saw.
    #[derive(Clone, Default)]
    struct Keeping(Arc<Mutex<Vec<Tensor>>>);
    impl Function for Keeping {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            let mut kept = self.0.lock().unwrap();
            let first = kept.first().cloned().unwrap_or_else(|| x.clone());
            kept.push(x.clone());
            Ok(g * first * 2.0)
        }
    }
    let keeping = Keeping::default();
    let f = |x: &Tensor| keeping.apply(x);
    assert_eq!(value(&grad(grad(f))(&Tensor::from(3.0)).unwrap()), 2.0);
    // The value of the outer level that ended, as an operand of the next call.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| grad(f)(&Tensor::from(3.0))));
    let text = match caught {
        Ok(result) => result.unwrap_err().to_string(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    };
    assert!(text.contains("`backward` of function `Keeping`: `mul` got a value that a `grad` (level"), "{text}");
    assert!(text.contains("was transforming and that is not one of the arguments"), "{text}");
}

#[test]
fn g20_in_place_on_a_value_without_lanes_gets_lanes() {
    // The handle is rebound, so each lane has its own sum, and the captured value keeps its own.
    let zero = Tensor::from(0.0);
    let f = |x: &Tensor| {
        let mut sum = zero.clone();
        sum.add_(1.0)?.add_(x)?;
        Ok(sum)
    };
    assert_eq!(values(&vmap(f)(&Tensor::from([1.0, 2.0])).unwrap()), [2.0, 3.0]);
    assert_eq!(value(&zero), 0.0);
}

#[test]
fn g24_a_gradient_of_integers_is_an_error() {
    let x = Tensor::from([1.5, 2.5]);
    let f = |x: &Tensor| x.to_dtype(DType::I64)?.sum();
    let e = grad(f)(&x).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
    let e = grad(|i: &Tensor| i.to_dtype(DType::F64)?.sum())(&Tensor::from([1i64, 2])).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
}

#[test]
fn g29_contents_under_vmap_say_what_to_do() {
    let e = vmap(|x: &Tensor| if x.item::<f64>()? > 0.0 { x.mul(2.0) } else { Ok(x.clone()) })(&Tensor::from([1.0]));
    let e = e.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded);
    let text = "item: the value is batched by `vmap` (f64[], batch 1 at dim 0, level";
    assert!(e.to_string().contains(text) && e.help().unwrap().contains("where_"), "{e}");
}
