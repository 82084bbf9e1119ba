//! User functions whose methods return nonsense, fail or panic, at every depth: each is an error that says who, and
//! nothing is left behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use pullback::function::rules;
use pullback::*;

use crate::{close, noise, ones, value, values};

type Trees = Vec<Tensor>;
type Batched = (Trees, Vec<Option<usize>>);
type Rule<A, R> = Arc<dyn Fn(A) -> Result<R> + Send + Sync>;

/// x ↦ [2x, sum of x], with methods that a test may replace.
#[derive(Clone)]
struct Odd {
    forward: Rule<Trees, Trees>,
    setup: Rule<(Trees, Trees), Trees>,
    backward: Rule<(Trees, Vec<Cotangent>), Vec<Cotangent>>,
    jvp: Rule<(Trees, Vec<Tangent>), Vec<Tangent>>,
    vmap: Option<Rule<(VmapInfo, Trees), Batched>>,
    marks: Vec<usize>,
}

fn right() -> Odd {
    Odd {
        forward: Arc::new(|x| Ok(vec![x[0].mul(2.0)?, x[0].sum()?])),
        setup: Arc::new(|(x, _)| Ok(x)),
        backward: Arc::new(|(x, g)| {
            let zero = Cotangent::zero();
            let spread = g.get(1).unwrap_or(&zero).map(|g| g.sum()?.expand(x[0].shape()))?;
            Ok(vec![g.first().unwrap_or(&zero) * 2.0 + spread])
        }),
        jvp: Arc::new(|(_, t)| Ok(vec![&t[0] * 2.0, t[0].map(|t| t.sum())?])),
        vmap: None,
        marks: vec![],
    }
}

impl Function for Odd {
    type Inputs = Trees;
    type Outputs = Trees;
    type Saved = Trees;
    fn forward(&self, x: &Trees) -> Result<Trees> {
        (self.forward)(x.clone())
    }
    fn setup_context(&self, ctx: &mut Context<Self>, x: &Trees, y: &Trees) -> Result<Trees> {
        ctx.mark_non_differentiable(&self.marks)?;
        (self.setup)((x.clone(), y.clone()))
    }
    fn backward(&self, _: &Context<Self>, saved: &Trees, g: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        (self.backward)((saved.clone(), g))
    }
    fn jvp(&self, _: &Context<Self>, saved: &Trees, t: Vec<Tangent>) -> Result<Vec<Tangent>> {
        (self.jvp)((saved.clone(), t))
    }
    fn vmap(&self, info: &VmapInfo, dims: Vec<Option<usize>>, x: &Trees) -> Result<Batched> {
        match &self.vmap {
            Some(rule) => rule((*info, vec![x[0].movedim(&[dims[0].unwrap_or(0) as isize], &[0])?])),
            None => rules::generated(self, info, dims, x),
        }
    }
}

/// Uses of a function at several depths, with their names.
fn uses(f: &Odd) -> Vec<(&'static str, Box<dyn Fn() -> Result<Tensor> + '_>)> {
    let call = |x: &Tensor| {
        let y = f.apply(&vec![x.clone()])?;
        let first = y.first().cloned().unwrap_or_else(|| ones(&[]));
        let mut total = first.to_dtype(DType::F64)?.sum()?;
        for t in &y[1.min(y.len())..] {
            total = total.add(&t.to_dtype(DType::F64)?.sum()?)?;
        }
        total.square()
    };
    let push = move |x: &Tensor| Ok(jvp(call, x, &Tensor::ones_like(x)?)?.1);
    let x = || noise(&[3], 0.5);
    let xs = || noise(&[2, 3], 0.5);
    vec![
        ("alone", Box::new(move || call(&x()))),
        ("grad", Box::new(move || grad(call)(&x()))),
        ("jvp", Box::new(move || push(&x()))),
        ("vmap", Box::new(move || vmap(call)(&xs()))),
        ("vmap of grad", Box::new(move || vmap(grad(call))(&xs()))),
        ("grad of vmap", Box::new(move || grad(|x: &Tensor| vmap(call)(x)?.sum())(&xs()))),
        ("vmap of jvp", Box::new(move || vmap(push)(&xs()))),
        ("hessian", Box::new(move || hessian(call)(&x()))),
        ("grad of grad", Box::new(move || grad(|x: &Tensor| grad(call)(x)?.sum())(&x()))),
        ("vmap of hessian", Box::new(move || vmap(hessian(call))(&xs()))),
        ("jacrev of vmap", Box::new(move || jacrev(vmap(call))(&xs()))),
        ("vmap of vmap of grad", Box::new(move || vmap(vmap(grad(call)))(&noise(&[2, 2, 3], 0.1)))),
        ("grad of vmap of grad", Box::new(move || grad(|x: &Tensor| vmap(grad(call))(x)?.sum())(&xs()))),
    ]
}

/// A nest of transforms still gives what it must.
#[track_caller]
fn state_is_intact(after: &str) {
    let cube = |x: &Tensor| x.mul(x)?.mul(x);
    let bend = vmap(grad(grad(cube)))(&Tensor::from([1.0, -2.0])).expect(after);
    assert_eq!(values(&bend), [6.0, -12.0], "{after}");
    let f = right();
    let loss = |x: &Tensor| f.apply(&vec![x.clone()])?[0].square()?.sum();
    let h = vmap(hessian(loss))(&ones(&[1, 2])).expect(after);
    assert_eq!(values(&h), [8.0, 0.0, 0.0, 8.0], "{after}");
}

/// Every use answers, with an error of one of the kinds where `fails` says so; an error names the function.
fn attack(what: &str, f: Odd, fails: &[&str], bad: &mut Vec<String>) {
    for (place, run) in uses(&f) {
        let result = catch_unwind(AssertUnwindSafe(|| run().map(|t| t.to_vec::<f64>())));
        state_is_intact(&format!("{what} under {place}"));
        match result {
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                bad.push(format!("{what} under {place} panicked: {text:?}"));
            }
            Ok(Ok(Err(e))) => bad.push(format!("{what} under {place}: a value that cannot be read: {e}")),
            Ok(Ok(Ok(v))) if fails.contains(&place) || fails == ["all"] => {
                bad.push(format!("{what} under {place}: a value {v:?}"));
            }
            Ok(Ok(Ok(_))) => {}
            Ok(Err(e)) if !e.to_string().contains("`Odd`") || e.kind() == ErrorKind::Internal => {
                bad.push(format!("{what} under {place}: {e}"));
            }
            Ok(Err(_)) => {}
        }
    }
}

/// A value of a transform that has ended, with the lanes or the derivative it had.
fn stale(x: &Tensor, lanes: bool) -> Tensor {
    let kept = Mutex::new(None);
    let keep = |x: &Tensor| {
        *kept.lock().unwrap() = Some(x.clone());
        x.sum()
    };
    if lanes { vmap(keep)(&x.unsqueeze(0).unwrap()) } else { grad(keep)(x) }.unwrap();
    kept.into_inner().unwrap().unwrap()
}

#[test]
fn functions_that_are_right_answer_everywhere() {
    let f = right();
    for (place, run) in uses(&f) {
        run().expect(place);
    }
}

#[test]
fn results_that_are_nonsense() {
    const REVERSE: &[&str] = &["grad", "vmap of grad", "grad of vmap", "hessian", "vmap of hessian", "jacrev of vmap"];
    const FORWARD: &[&str] = &["jvp", "vmap of jvp"];
    const LANES: &[&str] = &["vmap", "vmap of grad", "grad of vmap", "vmap of jvp", "vmap of hessian"];
    let mut bad = Vec::new();
    for lanes in [false, true] {
        let s = stale(&noise(&[3], 0.1), lanes);
        let t = s.clone();
        attack(
            "forward: stale",
            Odd { forward: Arc::new(move |_| Ok(vec![t.clone()])), ..right() },
            &["all"],
            &mut bad,
        );
        let t = s.clone();
        let setup: Rule<(Trees, Trees), Trees> = Arc::new(move |_| Ok(vec![t.clone()]));
        attack("setup: stale", Odd { setup, ..right() }, REVERSE, &mut bad);
        let t = s.clone();
        let backward: Rule<_, _> = Arc::new(move |_: (Trees, Vec<Cotangent>)| Ok(vec![t.clone().into()]));
        attack("backward: stale", Odd { backward, ..right() }, REVERSE, &mut bad);
        let t = s.clone();
        let backward: Rule<_, _> = Arc::new(move |(_, g): (Trees, Vec<Cotangent>)| Ok(vec![g[0].map(|g| g.mul(&t))?]));
        attack("backward: uses stale", Odd { backward, ..right() }, REVERSE, &mut bad);
        let t = s.clone();
        let jvp: Rule<_, _> = Arc::new(move |_: (Trees, Vec<Tangent>)| Ok(vec![t.clone().into(), Tangent::zero()]));
        attack("jvp: stale", Odd { jvp, ..right() }, FORWARD, &mut bad);
        let t = s.clone();
        let rule: Rule<(VmapInfo, Trees), Batched> =
            Arc::new(move |(_, x)| Ok((vec![x[0].mul(2.0)?, t.clone()], vec![Some(0), None])));
        attack("vmap: stale", Odd { vmap: Some(rule), ..right() }, LANES, &mut bad);
    }
    let rules: Vec<(&str, Rule<(VmapInfo, Trees), Batched>)> = vec![
        ("too few outputs", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?], vec![Some(0), Some(0)])))),
        ("too few dims", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?, x[0].sum_dims(&[1], false)?], vec![Some(0)])))),
        ("too many dims", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?, x[0].clone()], vec![Some(0); 3])))),
        ("dim out of range", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?, x[0].clone()], vec![Some(0), Some(9)])))),
        ("huge dim", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?, x[0].clone()], vec![Some(usize::MAX), Some(0)])))),
        ("0-d with lanes", Arc::new(|(_, x)| Ok((vec![x[0].mul(2.0)?, x[0].sum()?], vec![Some(0), Some(0)])))),
        ("a lane too few", Arc::new(|(_, x)| Ok((vec![x[0].i(1..)?, x[0].clone()], vec![Some(0), Some(0)])))),
        ("a lane too many", Arc::new(|(_, x)| Ok((vec![cat(&[&x[0], &x[0]], 0)?, x[0].clone()], vec![Some(0); 2])))),
        ("error", Arc::new(|(_, x)| Ok((vec![x[0].i(77)?, x[0].clone()], vec![Some(0); 2])))),
    ];
    for (name, rule) in rules {
        attack(&format!("vmap: {name}"), Odd { vmap: Some(rule), ..right() }, LANES, &mut bad);
    }
    // Types that a batching rule alone cannot get wrong: derivatives and results must still fit together.
    let rules: Vec<(&str, Rule<(VmapInfo, Trees), Batched>)> = vec![
        ("other shape", Arc::new(|(_, x)| Ok((vec![x[0].i((.., 0))?, x[0].clone()], vec![Some(0); 2])))),
        ("other dtype", Arc::new(|(_, x)| Ok((vec![x[0].to_dtype(DType::I32)?, x[0].clone()], vec![Some(0); 2])))),
        ("no lanes", Arc::new(|(_, x)| Ok((vec![x[0].clone(), x[0].clone()], vec![None; 2])))),
        ("no outputs", Arc::new(|_| Ok((vec![], vec![])))),
        ("one output more", Arc::new(|(_, x)| Ok((vec![x[0].clone(); 3], vec![Some(0); 3])))),
    ];
    for (name, rule) in rules {
        attack(&format!("vmap: {name}"), Odd { vmap: Some(rule), ..right() }, &[], &mut bad);
    }
    for marks in [vec![2], vec![usize::MAX], vec![0, 0, 7]] {
        attack(&format!("marks {marks:?}"), Odd { marks, ..right() }, REVERSE, &mut bad);
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn results_that_are_different_every_time() {
    let mut bad = Vec::new();
    let counter = Arc::new(Mutex::new(0usize));
    let next = move || {
        let mut n = counter.lock().unwrap();
        *n += 1;
        *n
    };
    let next = Arc::new(next);
    let n = next.clone();
    let forward: Rule<Trees, Trees> = Arc::new(move |x| Ok(vec![x[0].mul(2.0)?; n() % 3]));
    attack("forward: count", Odd { forward: forward.clone(), ..right() }, &[], &mut bad);
    let n = next.clone();
    let forward: Rule<Trees, Trees> = Arc::new(move |x| {
        Ok(vec![x[0].mul(2.0)?.i(..n() % 3)?.to_dtype(if n() % 2 == 0 { DType::F32 } else { DType::F64 })?])
    });
    attack("forward: type", Odd { forward: forward.clone(), ..right() }, &[], &mut bad);
    let n = next.clone();
    let setup: Rule<(Trees, Trees), Trees> = Arc::new(move |(x, y)| Ok([x, y].concat()[..n() % 4].to_vec()));
    let backward: Rule<_, _> = Arc::new(|(s, g): (Trees, Vec<Cotangent>)| {
        Ok(vec![if s.is_empty() { g[0].clone() } else { &g[0] * &s[0] }; s.len()])
    });
    attack("setup: count", Odd { setup, backward, ..right() }, &[], &mut bad);
    // Lanes that are computed one by one and do not fit together.
    #[derive(Clone)]
    struct Lanes(fn(f64) -> Vec<Tensor>);
    impl Function for Lanes {
        type Inputs = Tensor;
        type Outputs = Vec<Tensor>;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Vec<Tensor>> {
            Ok((self.0)(x.item::<f64>()?))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Vec<Tensor>) -> Result<()> {
            Ok(())
        }
        fn vmap(&self, info: &VmapInfo, dims: Option<usize>, x: &Tensor) -> Result<(Vec<Tensor>, Vec<Option<usize>>)> {
            rules::per_example(self, info, dims, x)
        }
    }
    let kinds: [(&str, fn(f64) -> Vec<Tensor>); 3] = [
        ("count", |v| vec![Tensor::from(v); v as usize]),
        ("shape", |v| vec![ones(&[v as usize])]),
        ("dtype", |v| vec![if v < 1.5 { Tensor::from(1.0) } else { Tensor::from(1.0f32) }]),
    ];
    for (name, lanes) in kinds {
        let f = Lanes(lanes);
        let result = catch_unwind(AssertUnwindSafe(|| vmap(|x: &Tensor| f.apply(x))(&Tensor::from([1.0, 2.0]))));
        match result {
            Err(_) => bad.push(format!("lanes of another {name}: panicked")),
            Ok(Ok(_)) => bad.push(format!("lanes of another {name}: a value")),
            Ok(Err(e)) if e.to_string().contains("`Lanes`") => {}
            Ok(Err(e)) => bad.push(format!("lanes of another {name}: {e}")),
        }
        state_is_intact(name);
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn errors_and_panics_in_every_method_leave_nothing_behind() {
    fn fail<A, R>(panics: bool) -> Rule<A, R> {
        Arc::new(move |_| if panics { panic!("on purpose") } else { ones(&[2]).reshape(&[7]).map(|_| unreachable!()) })
    }
    let mut bad = Vec::new();
    for panics in [false, true] {
        let broken = [
            ("forward", Odd { forward: fail(panics), ..right() }),
            ("setup_context", Odd { setup: fail(panics), ..right() }),
            ("backward", Odd { backward: fail(panics), ..right() }),
            ("jvp", Odd { jvp: fail(panics), ..right() }),
            ("vmap", Odd { vmap: Some(fail(panics)), ..right() }),
        ];
        for (method, f) in &broken {
            let mut failures = 0;
            for (place, run) in uses(f) {
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(Ok(_)) => {}
                    Ok(Err(e)) => {
                        failures += 1;
                        if !e.to_string().contains(&format!("`{method}` of function `Odd`")) {
                            bad.push(format!("{method} under {place}: {e}"));
                        }
                    }
                    Err(panic) => {
                        failures += 1;
                        if panic.downcast_ref::<&str>() != Some(&"on purpose") {
                            bad.push(format!("{method} under {place}: another panic"));
                        }
                    }
                }
                state_is_intact(&format!("{method} under {place}"));
            }
            if failures < 2 {
                bad.push(format!("{method}: noticed {failures} times"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn deep_nests_and_long_chains_on_small_stacks() {
    let small = |f: fn()| std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
    // 64 levels that all differentiate the same function.
    small(|| {
        let f = right();
        let mut g: crate::Map = Arc::new(move |x: &Tensor| f.apply(&vec![x.clone()])?[0].sin()?.sum());
        for k in 0..64 {
            let h = g.clone();
            g = Arc::new(move |x: &Tensor| {
                let outer = |y: &Tensor| h(x)?.add(&y.sum()?.mul(2.0)?);
                if k % 2 == 0 { grad(outer)(x)?.sum() } else { Ok(jvp(outer, x, &Tensor::ones_like(x)?)?.1) }
            });
        }
        close(&values(&g(&ones(&[3])).unwrap()), &[6.0]);
    });
    small(|| {
        let f = right();
        let long = move |x: &Tensor| {
            let mut y = x.clone();
            for _ in 0..30_000 {
                y = f.apply(&vec![y])?[0].mul(0.5)?;
            }
            y.sum()
        };
        let x = Tensor::from(0.5);
        assert_eq!(value(&grad(&long)(&x).unwrap()), 1.0);
        drop(vjp(&long, &x).unwrap());
        drop(jvp(&long, &x, &x).unwrap());
    });
}

/// Functions without inputs, without outputs, and that return what they are given.
#[test]
fn trees_without_leaves_and_results_that_are_inputs() {
    #[derive(Clone)]
    struct Nothing;
    impl Function for Nothing {
        type Inputs = Vec<Tensor>;
        type Outputs = Vec<Tensor>;
        type Saved = ();
        fn forward(&self, x: &Vec<Tensor>) -> Result<Vec<Tensor>> {
            Ok(x.clone())
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
            Ok(g)
        }
    }
    let same = |x: &Vec<Tensor>| Nothing.apply(x);
    let none: Vec<Tensor> = vec![];
    assert!(same(&none).unwrap().is_empty());
    for (name, result) in [
        ("vjp", vjp(same, &none).map(|r| r.0)),
        ("jvp", jvp(same, &none, &none).map(|r| r.0)),
        ("vmap", Vmap::new().batch_size(2).of(same)(&none)),
        ("jacrev", jacrev(same)(&none).map(|_| vec![])),
        ("jacfwd", jacfwd(same)(&none).map(|_| vec![])),
    ] {
        match result {
            Ok(none) => assert!(none.is_empty(), "{name}"),
            Err(e) => assert!(e.kind() == ErrorKind::Arity && e.to_string().contains(name), "{name}: {e}"),
        }
    }
    assert!(vmap(same)(&none).unwrap_err().to_string().contains("batch_size"));
    assert!(grad(|_: &Vec<Tensor>| Ok(Tensor::from(1.0)))(&none).map_or(true, |g| g.is_empty()));
    let x = vec![noise(&[2], 0.1), noise(&[], 0.2), ones(&[0])];
    let total = |x: &Vec<Tensor>| {
        let y = same(x)?;
        y[0].sum()?.mul(&y[1])?.add(&y[2].sum()?)
    };
    let g = grad(total)(&x).unwrap();
    close(&values(&g[0]), &[value(&x[1]); 2]);
    assert_eq!(g[2].shape(), [0]);
    assert_eq!(hessian(total)(&x).unwrap()[1][0].shape(), [2]);
    assert_eq!(jacrev(same)(&x).unwrap()[2][0].shape(), [0, 2]);
    assert_eq!(jacfwd(same)(&x).unwrap()[0][2].shape(), [2, 0]);
    assert_eq!(vmap(grad(total))(&stack_trees(&[x.clone(), x]).unwrap()).unwrap()[2].shape(), [2, 0]);
}
