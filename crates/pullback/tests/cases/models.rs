//! Models: gradients per sample, ensembles, checking one's own rules, and the Rust that users write around them.

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pullback::testing::check_function;
use pullback::*;

use crate::{close, is, noise, ones, value, values};

#[test]
fn c164_gradients_per_sample_are_not_scaled() {
    let w = Tensor::from(3.0);
    let x = Tensor::from([1.0, 2.0]);
    let loss = |w: &Tensor, x: &Tensor| w.mul(x)?.square();
    let each = vmap(|x: &Tensor| grad(|w: &Tensor| loss(w, x))(&w))(&x).unwrap();
    is(&each, &[2], &[6.0, 24.0]);
    assert_eq!((value(&each.mean().unwrap()), value(&each.var().unwrap())), (15.0, 162.0));
    let batch = |w: &Tensor| vmap(|x: &Tensor| loss(w, x))(&x);
    assert_eq!(value(&grad(|w: &Tensor| batch(w)?.mean())(&w).unwrap()), 15.0);
    assert_eq!(value(&grad(|w: &Tensor| batch(w)?.sum())(&w).unwrap()), 30.0);
}

#[test]
fn c166_tied_weights() {
    let f = |w: &Tensor, x: &Tensor| w.mul(&w.mul(x)?);
    let w = Tensor::from(2.0);
    assert_eq!(value(&grad(|w: &Tensor| f(w, &Tensor::from(3.0)))(&w).unwrap()), 12.0);
    let each = vmap(|x: &Tensor| grad(|w: &Tensor| f(w, x))(&w))(&Tensor::from([1.0, 3.0])).unwrap();
    is(&each, &[2], &[4.0, 12.0]);
    // One weight in two places of a structure: the tie is in the function, the leaf appears once.
    #[derive(Clone, Tree)]
    struct Net<T = Tensor> {
        first: T,
        second: T,
    }
    let net = |n: &Net, x: &Tensor| n.second.mul(&n.first.mul(x)?);
    let tied = |w: &Tensor| net(&Net { first: w.clone(), second: w.clone() }, &Tensor::from(3.0));
    assert_eq!(value(&grad(tied)(&w).unwrap()), 12.0);
    // Given as two leaves, each has its own part.
    let g = grad(|n: &Net| net(n, &Tensor::from(3.0)))(&Net { first: w.clone(), second: w }).unwrap();
    assert_eq!((value(&g.first), value(&g.second)), (6.0, 6.0));
}

#[test]
fn c168_layers_without_a_special_rule() {
    let table = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let samples = Tensor::from([[0i64, 0], [2, 1]]);
    let loss = |table: &Tensor, rows: &Tensor| table.index_select(0, rows)?.square()?.sum();
    let each = vmap(|rows: &Tensor| grad(|t: &Tensor| loss(t, rows))(&table))(&samples).unwrap();
    is(&each, &[2, 3, 2], &[4.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 8.0, 10.0, 12.0]);
    // A normalised, weight-normalised layer of one's own.
    let layer = |(v, gain, scale): &(Tensor, Tensor, Tensor), x: &Tensor| {
        let w = v.div(&v.square()?.sum_dims(&[1], true)?.sqrt()?)?.mul(&gain.unsqueeze(1)?)?;
        let h = w.matmul(x)?;
        let h = h.sub(&h.mean()?)?.div(&h.var_dims(&[], 0, false)?.add(1e-3)?.sqrt()?)?.mul(scale)?;
        h.tanh()?.square()?.sum()
    };
    let p = (noise(&[4, 3], 0.1), noise(&[4], 0.2), noise(&[4], 0.3));
    let x = noise(&[5, 3], 0.4);
    let each = vmap(|x: &Tensor| grad(|p: &(Tensor, Tensor, Tensor)| layer(p, x))(&p))(&x).unwrap();
    for k in 0..5 {
        let x = x.select(0, k).unwrap();
        let alone = grad(|p: &(Tensor, Tensor, Tensor)| layer(p, &x))(&p).unwrap();
        close(&values(&each.0.select(0, k).unwrap()), &values(&alone.0));
        close(&values(&each.1.select(0, k).unwrap()), &values(&alone.1));
        close(&values(&each.2.select(0, k).unwrap()), &values(&alone.2));
    }
}

#[derive(Clone, Tree)]
struct Member<T = Tensor> {
    w: T,
    layers: Vec<T>,
}

/// Members of an ensemble as one structure, with a lane for each.
fn stacked(members: &[Member]) -> Result<Member> {
    let join = |leaf: &dyn Fn(&Member) -> Tensor| {
        let all: Vec<Tensor> = members.iter().map(leaf).collect();
        stack(&all.iter().collect::<Vec<_>>(), 0)
    };
    let layers = (0..members[0].layers.len()).map(|k| join(&move |m| m.layers[k].clone())).collect::<Result<_>>()?;
    Ok(Member { w: join(&|m| m.w.clone())?, layers })
}

#[test]
fn c170_ensembles_by_stacking() {
    let member = |w: f64| Member { w: Tensor::from(w), layers: vec![ones(&[2]), ones(&[1])] };
    let all = stacked(&[member(1.0), member(2.0), member(3.0)]).unwrap();
    let model = |m: &Member, x: &Tensor| m.w.mul(x)?.mul(&m.layers[0].mean()?)?.mul(&m.layers[1].sum()?);
    let x = Tensor::from(2.0);
    is(&vmap(|m: &Member| model(m, &x))(&all).unwrap(), &[3], &[2.0, 4.0, 6.0]);
    let xs = Tensor::from([1.0, 2.0, 3.0]);
    is(&vmap(|(m, x): &(Member, Tensor)| model(m, x))(&(all.clone(), xs)).unwrap(), &[3], &[1.0, 4.0, 9.0]);
    let each = vmap(grad(|m: &Member| model(m, &x)?.square()))(&all).unwrap();
    is(&each.w, &[3], &[8.0, 16.0, 24.0]);
    assert_eq!(each.layers.iter().map(|t| t.shape().to_vec()).collect::<Vec<_>>(), [vec![3, 2], vec![3, 1]]);
    // A member of another shape is refused, and the message shows both.
    let odd = Member { w: ones(&[2]), layers: vec![ones(&[2]), ones(&[1])] };
    let err = stacked(&[member(1.0), odd]).map(|_| ()).unwrap_err();
    assert!(err.is_shape() && err.to_string().contains("f64[2]"), "{err}");
    // Members that disagree in number are named by their path.
    let mut uneven = all;
    uneven.layers[1] = ones(&[2, 1]);
    let err = vmap(|m: &Member| model(m, &x))(&uneven).unwrap_err();
    assert!(err.to_string().contains("argument.layers[1] has 2 (f64[2,1], dim 0)"), "{err}");
}

/// x³ with a rule or two that can be wrong.
#[derive(Clone, Default)]
struct Cube {
    factor: Option<f64>,
    wrong_lanes: bool,
    frozen: bool,
}

impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)?.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let square = x.mul(x)?;
        if self.frozen { square.detach() } else { Ok(square) }
    }
    fn backward(&self, _: &Context<Self>, square: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * square * self.factor.unwrap_or(3.0))
    }
    fn jvp(&self, _: &Context<Self>, square: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * square * 3.0)
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        if self.wrong_lanes && dims == Some(1) {
            // Forgets that the lanes are not in front.
            let y = self.apply(&x.permute(&[1, 0])?)?;
            return Ok((y.reshape(&[x.shape()[0] as isize, x.shape()[1] as isize])?, Some(1)));
        }
        function::rules::generated(self, info, dims, x)
    }
}

#[test]
fn c171_a_checker_names_what_is_wrong() {
    let x = Tensor::from([0.5, -1.5]);
    let report = check_function(&Cube::default(), &x).unwrap();
    assert!(report.is_ok(), "{report}");
    report.into_result().unwrap();
    // A wrong backward beside a right jvp.
    let report = check_function(&Cube { factor: Some(2.0), ..Cube::default() }, &x).unwrap();
    assert!(report.finding("vjp_is_transpose_of_jvp").is_some(), "{report}");
    assert!(report.finding("jvp_matches_differences").is_none(), "{report}");
    assert!(report.finding("vmap_is_loop").is_none(), "{report}");
    let err = report.into_result().unwrap_err();
    assert!(err.is_rule() && err.to_string().contains("function `Cube`: expected every property to hold"), "{err}");
    // A batching rule that is wrong for lanes along dim 1.
    let report = check_function(&Cube { wrong_lanes: true, ..Cube::default() }, &x).unwrap();
    assert!(report.finding("vmap_is_loop").is_some_and(|found| found.contains("Some(1)")), "{report}");
    assert!(report.finding("vjp_is_transpose_of_jvp").is_none(), "{report}");
    assert!(report.finding("second_order").is_none(), "{report}");
    // A saved value that is cut off is right at first order only.
    let report = check_function(&Cube { frozen: true, ..Cube::default() }, &x).unwrap();
    assert!(report.finding("second_order").is_some(), "{report}");
    assert!(report.finding("jvp_matches_differences").is_none(), "{report}");
    // Differences in f32 have few digits: refused, with a way out.
    let err = check_function(&Cube::default(), &Tensor::from([0.5f32])).unwrap_err();
    assert!(err.is_dtype() && err.help().is_some(), "{err}");
}

#[test]
fn c172_some_samples_and_one_recording_used_again() {
    let w = noise(&[3, 4], 0.5);
    let x = noise(&[5, 4], 0.6);
    let f = |w: &Tensor, x: &Tensor| w.matmul(x)?.tanh();
    let full = vmap(|x: &Tensor| jacrev(|w: &Tensor| f(w, x))(&w))(&x).unwrap();
    assert_eq!(full.shape(), [5, 3, 3, 4]);
    let (_, pull) = vjp(|w: &Tensor| vmap(|x: &Tensor| f(w, x))(&x), &w).unwrap();
    let chosen = Tensor::from([0i64, 2]);
    let seeds = |sample: &Tensor| {
        // One cotangent for each output of the sample.
        vmap(|k: &Tensor| {
            let row = sample.one_hot(5, DType::F64)?.outer(&k.one_hot(3, DType::F64)?)?;
            pull.call(&row)
        })(&Tensor::from([0i64, 1, 2]))
    };
    for _ in 0..2 {
        let some = vmap(seeds)(&chosen).unwrap();
        assert_eq!(some.shape(), [2, 3, 3, 4]);
        close(&values(&some.select(0, 0).unwrap()), &values(&full.select(0, 0).unwrap()));
        close(&values(&some.select(0, 1).unwrap()), &values(&full.select(0, 2).unwrap()));
    }
}

#[test]
fn c174_closures_structs_and_boxed_layers() {
    // A closure that captures configuration.
    let (power, scale) = (3, 0.5);
    let f = move |x: &Tensor| x.powi(power)?.mul(scale);
    assert_eq!(value(&grad(f)(&Tensor::from(2.0)).unwrap()), 6.0);
    // A struct of tensors with parts that are none.
    #[derive(Clone, Tree)]
    struct Model<T = Tensor> {
        weight: T,
        bias: Option<T>,
        #[tree(static)]
        name: String,
        #[tree(static)]
        depth: usize,
    }
    let model = Model { weight: Tensor::from(2.0), bias: Some(Tensor::from(1.0)), name: "m".into(), depth: 2 };
    let run = |m: &Model| {
        let mut x = Tensor::from(3.0);
        for _ in 0..m.depth {
            x = x.mul(&m.weight)?;
            if let Some(b) = &m.bias {
                x = x.add(b)?;
            }
        }
        Ok(x)
    };
    // w·(w·x + b) + b
    let g = grad(run)(&model).unwrap();
    assert_eq!((value(&g.weight), value(g.bias.as_ref().unwrap()), &*g.name, g.depth), (13.0, 3.0, "m", 2));
    let g = grad(run)(&Model { bias: None, ..model }).unwrap();
    assert!(g.bias.is_none());
    assert_eq!(value(&g.weight), 12.0);
    // A loss with metrics beside it.
    let both = |w: &Tensor| Ok((w.square()?, w.mul(10.0)?));
    let ((loss, metric), pull) = vjp(both, &Tensor::from(3.0)).unwrap();
    let g = pull.call(&(Tensor::from(1.0), Tensor::from(0.0))).unwrap();
    assert_eq!((value(&loss), value(&metric), value(&g)), (9.0, 30.0, 6.0));
    // A list of boxed layers, some of which hold parameters of their own.
    type Layer = Arc<dyn Fn(&[Tensor], &Tensor) -> Result<Tensor> + Send + Sync>;
    let layers: Vec<Layer> =
        vec![Arc::new(|p, x| p[0].matmul(x)), Arc::new(|_, x| x.tanh()), Arc::new(|p, x| p[1].dot(x))];
    let p = vec![noise(&[3, 2], 0.1), noise(&[3], 0.2)];
    let x = Tensor::from([0.4, -0.3]);
    let run = |p: &Vec<Tensor>| layers.iter().try_fold(x.clone(), |x, layer| layer(p, &x));
    let by_hand = |p: &Vec<Tensor>| p[1].dot(&p[0].matmul(&x)?.tanh()?);
    let (a, b) = (grad(run)(&p).unwrap(), grad(by_hand)(&p).unwrap());
    close(&values(&a[0]), &values(&b[0]));
    close(&values(&a[1]), &values(&b[1]));
    let (a, b) = (vmap(grad(run)), vmap(grad(by_hand)));
    let two: Vec<Tensor> = p.iter().map(|t| stack(&[t, &t.mul(2.0).unwrap()], 0).unwrap()).collect();
    close(&values(&a(&two).unwrap()[0]), &values(&b(&two).unwrap()[0]));
}

/// An error type of a user's own.
#[derive(Debug)]
struct Boom(u32);

impl std::fmt::Display for Boom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "boom {}", self.0)
    }
}

impl std::error::Error for Boom {}

/// Doubles, with a backward that fails or panics.
#[derive(Clone)]
struct Failing {
    panics: bool,
}

impl Function for Failing {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(2.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), _: Cotangent) -> Result<Cotangent> {
        if self.panics {
            panic!("boom");
        }
        Err(Error::other(Boom(7)))
    }
}

#[test]
fn c175_errors_and_panics_of_user_code_arrive_unchanged() {
    let x = Tensor::from([1.0, 2.0]);
    let f = |x: &Tensor| Failing { panics: false }.apply(x)?.sum();
    let outer = |x: &Tensor| Failing { panics: false }.apply(x);
    let in_thread = std::thread::scope(|s| s.spawn(|| grad(f)(&x).map(|_| ())).join().unwrap());
    let lane = vmap(grad(outer))(&x).map(|_| ());
    for err in [grad(f)(&x).map(|_| ()), lane, in_thread, jvp(f, &x, &x).map(|_| ()), hessian(f)(&x).map(|_| ())] {
        let err = err.unwrap_err();
        assert_eq!(err.kind(), ErrorKind::User);
        assert_eq!((err.message(), err.downcast_ref::<Boom>().unwrap().0), ("boom 7", 7));
        assert_eq!(err.source().unwrap().to_string(), "boom 7");
        assert!(err.to_string().contains("of function `Failing`: boom 7"), "{err}");
    }
    let panicking = |x: &Tensor| Failing { panics: true }.apply(x)?.sum();
    for run in [
        (|f, x| grad(f)(x).map(|_| ())) as fn(&dyn Fn(&Tensor) -> Result<Tensor>, &Tensor) -> Result<()>,
        |f, x| vmap(grad(f))(&x.unsqueeze(0)?).map(|_| ()),
        |f, x| grad(|x: &Tensor| vmap(f)(&x.unsqueeze(0)?)?.sum())(x).map(|_| ()),
    ] {
        let panic = catch_unwind(AssertUnwindSafe(|| run(&panicking, &x))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
        // Nothing is left behind.
        is(&vmap(grad(|x: &Tensor| x.square()))(&x).unwrap(), &[2], &[2.0, 4.0]);
    }
}

#[test]
fn c178_data_of_the_host_is_copied() {
    let mut data = [1.0, 2.0, 3.0];
    let x = Tensor::from(&data[..]);
    let (_, pull) = vjp(|x: &Tensor| x.square(), &x).unwrap();
    data[0] = 100.0;
    is(&pull.call(&ones(&[3])).unwrap(), &[3], &[2.0, 4.0, 6.0]);
    let mut out = x.to_vec::<f64>().unwrap();
    out[0] = 100.0;
    is(&x, &[3], &[1.0, 2.0, 3.0]);
    assert_eq!(data[0], 100.0);
}

#[test]
fn a_small_network_learns() {
    // exclusive or, by gradients per sample that are averaged
    #[derive(Clone, Tree)]
    struct Net<T = Tensor> {
        w1: T,
        b1: T,
        w2: T,
    }
    let model = |p: &Net, x: &Tensor| p.w2.dot(&p.w1.matmul(x)?.add(&p.b1)?.tanh()?);
    let loss = |(p, x, y): &(Net, Tensor, Tensor)| model(p, x)?.sub(y)?.square();
    let x = Tensor::from([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
    let y = Tensor::from([0.0, 1.0, 1.0, 0.0]);
    let mut p = Net { w1: noise(&[8, 2], 0.3), b1: noise(&[8], 1.3), w2: noise(&[8], 2.3) };
    let each = Vmap::new().in_dims((None, 0, 0)).of(Grad::new().argnums::<0>().of(loss));
    for _ in 0..200 {
        let g = each(&(p.clone(), x.clone(), y.clone())).unwrap();
        p = p.zip_with(&g, |p, g| p.sub(&g.mean_dims(&[0], false)?.mul(0.3)?)).unwrap();
    }
    let fit = vmap(|x: &Tensor| model(&p, x))(&x).unwrap();
    let worst = values(&fit.sub(&y).unwrap()).iter().fold(0f64, |m, d| m.max(d.abs()));
    assert!(worst < 0.1, "{:?}", values(&fit));
}
