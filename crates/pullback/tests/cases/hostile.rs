//! Arguments that nobody means: methods that return a `Result` answer with a value or an error and never panic, and
//! under transforms they answer as they do alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::random::Key;
use pullback::*;

use crate::{noise, ones, zeros};

type Call = Box<dyn Fn(&Tensor) -> Result<Tensor>>;

const MIN: isize = isize::MIN;
const MAX: isize = isize::MAX;
const HUGE: usize = usize::MAX;

/// What an answer is: the type of the value, or the error.
fn answer(result: &Result<Tensor>) -> String {
    match result {
        Ok(t) => t.ty().to_string(),
        Err(e) => format!("{:?}: {}", e.kind(), e.message()),
    }
}

/// Calls of every method with extreme numbers, each named by its source text.
fn calls() -> Vec<(&'static str, Call)> {
    macro_rules! calls {
        ($x:ident; $($call:expr;)*) => {
            vec![$((stringify!($call), Box::new(move |$x: &Tensor| { let _ = $x; $call }) as Call)),*]
        };
    }
    let first = |v: Vec<Tensor>| v.into_iter().next().map_or_else(|| Tensor::zeros(&[0, 9], DType::U8), Ok);
    let mut all = Vec::new();
    for d in [MIN, MIN + 1, -4, -3, 3, MAX - 1, MAX] {
        all.extend(calls! { x;
            x.sum_dims(&[d], false);
            x.mean_dims(&[0, d], true);
            x.max_dims(&[d], false);
            x.prod_dims(&[d], false);
            x.var_dims(&[d], HUGE, false);
            x.var_dims(&[], HUGE, false);
            x.logsumexp(&[d], true);
            x.softmax(d);
            x.log_softmax(d);
            x.cumsum(d);
            x.argmax(d, false);
            x.argmin(Some(d), true);
            x.argsort(d, true);
            Ok(x.sort(d, false)?.0);
            Ok(x.topk(1, d, true, true)?.0);
            Ok(x.topk(HUGE, 0, true, true)?.1);
            x.any_dims(&[d], false);
            x.unsqueeze(d);
            x.squeeze(d);
            x.select(d, 0);
            x.select(0, d);
            x.narrow(d, 0, 1);
            x.narrow(0, d, 1);
            x.narrow(0, 0, HUGE);
            x.narrow(0, 1, HUGE);
            x.narrow(0, -1, HUGE - 1);
            x.permute(&[d, 0]);
            x.transpose(d, 0);
            x.movedim(&[d], &[0]);
            x.movedim(&[0], &[d]);
            x.movedim(&[0, 1], &[0]);
            x.flip(&[d]);
            x.roll(&[d], &[0]);
            x.roll(&[d], &[]);
            x.roll(&[1], &[d]);
            x.roll(&[1, 2], &[0]);
            x.flatten(d, -1);
            x.flatten(0, d);
            x.unflatten(d, &[1, 2]);
            x.unflatten(0, &[d]);
            x.unflatten(0, &[-1, 0]);
            x.reshape(&[d]);
            x.reshape(&[d, -1]);
            x.reshape(&[d, 0]);
            x.diagonal(d, 0, 1);
            x.diagonal(0, d, 1);
            x.diag_embed(d, 0, 1);
            x.diag_embed(0, d, 1);
            x.diag(d);
            x.tril(d);
            x.triu(d);
            x.repeat_interleave(2, d);
            first(x.split(1, d)?);
            first(x.chunk(2, d)?);
            first(x.unbind(d)?);
            first(x.split_with_sizes(&[1, HUGE], 0)?);
            cat(&[x, x], d);
            stack(&[x, x], d);
            x.gather(d, &Tensor::from([[0i64]]));
            x.gather(0, &Tensor::from([[d as i64]]));
            x.index_select(d, &Tensor::from([0i64]));
            x.index_select(0, &Tensor::from(d as i64));
            x.dynamic_slice(d, &Tensor::from(0i64), 1);
            x.dynamic_slice(0, &Tensor::from(d as i64), 1);
            x.dynamic_slice(0, &Tensor::from(1i64), HUGE);
            x.dynamic_slice(0, &Tensor::from(-1i64), HUGE);
            x.index_add(0, &Tensor::from([d as i64]), &ones(&[1, 3]));
            x.index_copy(d, &Tensor::from([0i64]), &ones(&[1, 3]));
            x.scatter(0, &Tensor::from([[d as i64]]), &ones(&[1, 1]));
            x.scatter_add(d, &Tensor::from([[0i64]]), &ones(&[1, 1]));
            x.take_along_dim(&Tensor::from([[d as i64]]), 0);
            x.i(d);
            x.i((.., d));
            x.i(d..);
            x.i(..d);
            x.i(d..=d);
            x.i(s(None, None, d));
            x.i(s(d, None, -1));
            x.i(s(None, d, -1));
            x.i(s(d, d, d));
            x.i(vec![IndexItem::NewAxis; 40]);
            x.i(vec![IndexItem::Ellipsis; 3]);
            x.index_set(d, 0.0);
            x.index_set(s(None, None, d), 0.0);
            x.expand(&[d as usize, 2, 3]);
            x.sum_to(&[d as usize]);
            x.repeat(&[d as usize, 1]);
            x.repeat_interleave(d as usize, 0);
            x.pow(d);
            x.powf(d as f64);
            x.powi(if d < 0 { i32::MIN } else { i32::MAX });
            x.mul(d)?.add(d as i64);
            x.clamp(Some(f64::INFINITY), Some(f64::NEG_INFINITY));
            x.clamp(Some(f64::NAN), None);
            x.gt(0.0)?.to_dtype(DType::I64)?.one_hot(d as usize, DType::F64);
            x.cross_entropy(&Tensor::from([d as i64, 0]));
            x.nll_loss(&Tensor::from([0i64, d as i64]));
            x.to_dtype(DType::I64)?.mul(i64::MAX)?.add(i64::MAX)?.sum();
            x.to_dtype(DType::I32)?.pow(d);
            x.to_dtype(DType::U8)?.sub(200)?.neg();
            x.to_dtype(DType::I64)?.mul(0)?.add(i64::MIN)?.abs();
            x.to_dtype(DType::I64)?.mul(0)?.add(i64::MIN)?.div(-1);
            x.to_dtype(DType::I64)?.mul(i64::MAX)?.prod();
        });
    }
    all.extend(calls! { x;
        first(x.split(0, 0)?);
        first(x.split(HUGE, 0)?);
        first(x.chunk(0, 0)?);
        first(x.chunk(HUGE, 0)?);
        first(x.split_with_sizes(&[], 0)?);
        x.reshape(&[]);
        x.reshape(&[-1, -1]);
        x.reshape(&[0, -1]);
        x.reshape(&[MAX, MAX, 0]);
        x.reshape(&[1; 60]);
        x.permute(&[]);
        x.permute(&[0, 0]);
        x.sum_dims(&[0, 0], false);
        x.sum_dims(&[0, -2], false);
        x.flip(&[0, 0]);
        x.expand(&[]);
        x.expand(&[HUGE, HUGE, 2, 3]);
        x.expand(&[0, 2, 3]);
        x.expand(&[2, 0]);
        x.repeat(&[]);
        x.repeat(&[0, 0]);
        x.repeat(&[HUGE, HUGE, 2]);
        x.repeat(&[1; 50]);
        cat(&[], 0);
        stack(&[], 0);
        cat(&[&ones(&[]), &ones(&[])], 0);
        x.matmul(&ones(&[]));
        x.matmul(&ones(&[0]));
        x.matmul(&ones(&[3, 0]));
        x.matmul(&ones(&[7, 0, 3, 2]));
        x.dot(x);
        x.outer(x);
        x.linear(&ones(&[3]), None);
        x.linear(&ones(&[2, 3]), Some(&ones(&[7])));
        x.linear(&ones(&[0, 3]), Some(&ones(&[0])));
        einsum("", &[]);
        einsum("ij,jk", &[x]);
        einsum("ij->", &[x, x]);
        einsum("i", &[x]);
        einsum("ijk", &[x]);
        einsum("ii", &[x]);
        einsum("ij->ijij", &[x]);
        einsum("ij->k", &[x]);
        einsum("...j,j...->...", &[x, x]);
        einsum("🦀é->", &[x]);
        einsum("ij,ik->jk", &[x, &ones(&[3, 3])]);
        einsum("->->", &[x]);
        einsum(",,,", &[x, x]);
        einsum("i j , j k -> i k", &[x, &ones(&[3, 2])]);
        x.where_(x, x);
        x.gt(0.0)?.where_(&ones(&[5]), x);
        x.gt(0.0)?.add(x);
        x.gt(0.0)?.sum();
        x.gt(0.0)?.neg();
        x.gt(0.0)?.matmul(&ones(&[3, 1]));
        x.logical_not()?.sin();
        x.mse_loss(&ones(&[7]));
        x.cross_entropy(&ones(&[7]));
        x.cross_entropy(&Tensor::from([[0i64, 1], [0, 1]]));
        x.cross_entropy(&Tensor::from(true));
        x.unsqueeze(0)?.unsqueeze(0)?.unsqueeze(0)?.unsqueeze(0)?.unsqueeze(0)?.unsqueeze(0)?.matmul(&ones(&[3, 1]));
        zeros(&[0, 3]).max_dims(&[0], false);
        zeros(&[0, 3]).argmax(0, false);
        zeros(&[0]).max();
        zeros(&[0]).argmin(None, false);
        zeros(&[0]).softmax(0);
        zeros(&[3, 0]).softmax(1);
        zeros(&[0]).var();
        zeros(&[0]).topk(0, 0, true, true).map(|t| t.0);
        zeros(&[0]).sort(0, true).map(|t| t.0);
        zeros(&[0, 0]).diagonal(0, 0, 1);
        zeros(&[0]).cross_entropy(&Tensor::from(0i64));
        zeros(&[0, 3]).cross_entropy(&Tensor::zeros(&[0], DType::I64)?);
        zeros(&[0]).roll(&[5], &[0]);
        zeros(&[2, 0]).reshape(&[-1]);
        zeros(&[2, 0]).reshape(&[-1, 0]);
        zeros(&[2, 0]).chunk(3, 1).and_then(first);
        zeros(&[0]).i(0);
        zeros(&[0]).i(s(None, None, -1));
        zeros(&[0]).index_select(0, &Tensor::from([0i64]));
        Tensor::from(f64::NAN).to_dtype(DType::I32);
        Tensor::from([f64::NAN, f64::INFINITY, -1.0]).sort(0, false).map(|t| t.0);
        Tensor::from([f64::NAN, 1.0]).topk(1, 0, true, true).map(|t| t.0);
        Tensor::from([f64::NAN, 1.0]).argmax(0, false);
        Tensor::from([1i64, 0]).div(&Tensor::from([0i64, 0]));
        Tensor::from([1i64, 2]).pow(&Tensor::from([-1i64, 70]));
        Tensor::zeros(&[HUGE, 2], DType::F64);
        Tensor::zeros(&[0, HUGE, HUGE], DType::F64)?.sum_dims(&[0], false);
        Tensor::zeros(&[HUGE, 0, HUGE], DType::Bool);
        x.reshape(&[1, 6])?.expand(&[1 << 58, 6]);
        Tensor::full(&[HUGE], 0, DType::Bool);
        Tensor::ones(&[1 << 40, 1 << 40], DType::U8);
        Tensor::eye(HUGE, DType::F64);
        Tensor::eye_m(HUGE, 0, DType::F64);
        Tensor::arange(0, i64::MAX, 1, DType::I64);
        Tensor::arange(i64::MIN, i64::MAX, i64::MAX, DType::I64);
        Tensor::arange(i64::MIN, i64::MAX, i64::MIN, DType::I64);
        Tensor::arange(0.0, 1.0, f64::MIN_POSITIVE, DType::F64);
        Tensor::arange(0, 300, 1, DType::U8);
        Tensor::arange(0.0, f64::NAN, 1.0, DType::F64);
        Tensor::linspace(0.0, 1.0, HUGE, DType::F64);
        Tensor::linspace(0.0, 1.0, 0, DType::F64);
        Tensor::linspace(i64::MIN, i64::MAX, 3, DType::I64);
        Tensor::from_slice::<f64>(&[], &[HUGE, HUGE]);
        Tensor::from_slice::<f64>(&[], &[HUGE, HUGE, 0]);
        Key::new(0).uniform(&[HUGE, 3], DType::F32);
        Key::new(0).uniform(&[0], DType::I32);
        Key::new(0).randint(i64::MIN, i64::MAX, &[3], DType::I64);
        Key::new(0).randint(i64::MAX, i64::MIN, &[3], DType::I64);
        Key::new(0).randint(i64::MIN, 0, &[3], DType::U8);
        Key::new(0).permutation(HUGE);
        Key::new(0).permutation(0);
        Key::new(0).bernoulli(f64::NAN, &[2]);
        Key::new(0).dropout(x, -1.0);
    });
    all
}

/// Views that take no memory, so large that what they would make has more elements than a machine can count.
fn large_views() -> Vec<(&'static str, fn(&Tensor, &Tensor) -> Result<Tensor>)> {
    macro_rules! calls {
        ($a:ident, $b:ident; $($call:expr;)*) => {
            vec![$((stringify!($call), |$a: &Tensor, $b: &Tensor| { let _ = ($a, $b); $call })),*]
        };
    }
    calls! { a, b;
        a.add(b);
        a.mul(b);
        a.sub(b);
        a.div(b);
        a.lt(b);
        Tensor::from(true).expand(a.shape())?.where_(b, 0.0);
        Tensor::from(true).expand(a.shape())?.logical_and(&Tensor::from(true).expand(b.shape())?);
        Tensor::from(1i64).expand(&[a.shape()[0]])?.one_hot(a.shape()[0], DType::F64);
        a.maximum(b);
        a.pow(b);
        a.hypot(b);
        a.matmul(b);
        a.squeeze_all()?.outer(&b.squeeze_all()?);
        einsum("ij,jk->ik", &[a, b]);
        vmap(|x: &Tensor| x.expand(&[a.shape()[0]])?.diag_embed(0, 0, 1))(a);
        vmap(|x: &Tensor| x.expand(&[1, a.shape()[0]])?.repeat(&[2, 3]))(a);
        a.squeeze_all()?.diag(0);
        a.squeeze_all()?.diag_embed(0, 0, 1);
        a.expand(&[a.shape()[0], a.shape()[0]]);
        a.expand(&[1 << 30, a.shape()[0], 1]);
        a.repeat(&[1, a.shape()[0]]);
        a.repeat(&[a.shape()[0], 1]);
        a.repeat_interleave(a.shape()[0], 1);
        jacrev(|x: &Tensor| x.t())(a);
        jacfwd(|x: &Tensor| x.t())(a);
        jacfwd(|_: &Tensor| Ok(b.clone()))(a);
        vmap(|_: &Tensor| Ok(b.clone()))(a);
        vmap(|x: &Tensor| x.add(b))(a);
        vmap(|x: &Tensor| x.outer(&b.squeeze_all()?))(a);
        Vmap::new().randomness(Randomness::Different).of(|_: &Tensor| Key::new(0).uniform(b.shape(), DType::F32))(a);
        vmap(|_: &Tensor| b.narrow(1, 0, 1)?.expand(b.shape()))(a);
        grad(|x: &Tensor| b.i((0, 0))?.mul(&x.i((0, 0))?.expand(&[HUGE, 1])?.i((0, 0))?))(a);
    }
}

/// The answer of a call, or the text of its panic.
fn guarded(f: impl FnOnce() -> Result<Tensor>) -> std::result::Result<String, String> {
    catch_unwind(AssertUnwindSafe(|| answer(&f()))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
    })
}

#[test]
fn extreme_arguments_are_answered_alike_everywhere() {
    let x = noise(&[2, 3], 0.3);
    let lanes = Vmap::new().in_dims(1).randomness(Randomness::Same);
    let mut bad = Vec::new();
    for (name, call) in calls() {
        let alone = match guarded(|| call(&x)) {
            Ok(answer) => answer,
            Err(panic) => {
                bad.push(format!("{name} panicked: {panic}"));
                continue;
            }
        };
        // The first lane of a tensor with three, seen from inside: shapes, kinds and messages are those of one.
        let three = stack(&[&x, &x, &x], 1).unwrap();
        let seen = std::cell::RefCell::new(String::new());
        let inside = |x: &Tensor| {
            let result = call(x);
            *seen.borrow_mut() = answer(&result);
            let y = result?;
            // What came out can be read and combined.
            y.to_dtype(DType::F64)?.sum()
        };
        // A message that depends on data names the lane in addition.
        let plain =
            |text: &str| [" of lane 0", " of lane [0]"].iter().fold(text.to_string(), |t, lane| t.replace(lane, ""));
        let places: [(&str, &dyn Fn() -> Result<Tensor>); 5] = [
            ("vmap", &|| lanes.of(inside)(&three)),
            ("grad", &|| grad(inside)(&x)),
            ("jvp", &|| Ok(jvp(inside, &x, &x)?.1)),
            ("vmap of grad", &|| lanes.of(grad(inside))(&three)),
            ("jacfwd", &|| jacfwd(inside)(&x)),
        ];
        for (place, run) in places {
            let result = guarded(run);
            if let Err(panic) = result {
                bad.push(format!("{name} panicked under {place}: {panic}"));
                continue;
            }
            let got = plain(&seen.take());
            if got != alone {
                bad.push(format!("{name} under {place}: {got}, alone {alone}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn extreme_arguments_of_transforms() {
    let x = ones(&[2, 3]);
    let f = |x: &Tensor| x.mul(2.0);
    for dim in [i32::MIN, -3, 2, i32::MAX] {
        assert!(Vmap::new().in_dims(dim).of(f)(&x).unwrap_err().is_dim());
    }
    for dim in [i32::MIN, -3, 2, i32::MAX] {
        assert!(Vmap::new().out_dims(dim).of(f)(&x).unwrap_err().is_dim());
    }
    let far: Option<usize> = Some(HUGE);
    assert!(Vmap::new().in_dims(far).of(f)(&x).unwrap_err().is_dim());
    assert!(Vmap::new().out_dims(far).of(f)(&x).unwrap_err().is_dim());
    let none: Option<usize> = None;
    for size in [HUGE, HUGE / 2, HUGE / 8] {
        let err = Vmap::new().in_dims(none).batch_size(size).of(f)(&x).unwrap_err();
        assert!(err.is_shape(), "{err}");
        let err = Vmap::new().batch_size(size).of(f)(&x).unwrap_err();
        assert!(err.is_shape(), "{err}");
    }
    // Many dimensions, and many levels.
    let deep = x.reshape(&[&[1; 38][..], &[2, 3]].concat()).unwrap();
    let g = |x: &Tensor| x.matmul(&ones(&[3, 2]))?.sin()?.sum();
    assert_eq!(grad(g)(&deep).unwrap().shape(), deep.shape());
    assert_eq!(Vmap::new().in_dims(-1).of(|x: &Tensor| x.exp()?.sum())(&deep).unwrap().shape(), [3]);
    let mut nested: crate::Map = std::sync::Arc::new(|x: &Tensor| x.sin()?.sum());
    for _ in 0..30 {
        let inner = nested.clone();
        nested = std::sync::Arc::new(vmap(move |x: &Tensor| inner(x)));
    }
    let shape = [1; 32];
    assert_eq!(nested(&ones(&shape)).unwrap().shape(), &shape[..30]);
    let total = grad(|x: &Tensor| nested(x)?.sum())(&ones(&shape)).unwrap();
    assert!((total.sum().unwrap().item::<f64>().unwrap() - 1f64.cos()).abs() < 1e-15);
}

#[test]
fn results_with_more_elements_than_can_be_counted() {
    let mut bad = Vec::new();
    // Products of 2⁶⁴ and more wrap around to few elements, or none, where nobody looks.
    for bits in [32, 40, 58] {
        let n = 1usize << bits;
        let a = ones(&[1, 1]).expand(&[n, 1]).unwrap();
        let b = ones(&[1, 1]).expand(&[1, n]).unwrap();
        for (name, call) in large_views() {
            match guarded(|| call(&a, &b)) {
                Ok(answer) if answer.starts_with("Shape: ") && answer.contains("is too large") => {}
                Ok(answer) => bad.push(format!("{name} for {n}: {answer}")),
                Err(panic) => bad.push(format!("{name} for {n} panicked: {panic}")),
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    // A product of 2⁶⁴ + 1, which wraps around to a single element.
    let a = ones(&[1, 1]).expand(&[274_177, 1]).unwrap();
    let b = ones(&[1, 1]).expand(&[1, 67_280_421_310_721]).unwrap();
    let condition = Tensor::from(true).expand(b.shape()).unwrap();
    let (row, column) = (a.squeeze_all().unwrap(), b.squeeze_all().unwrap());
    let lanes = vmap(|x: &Tensor| x.add(&b));
    let constant = vmap(|_: &Tensor| Ok(b.clone()));
    for result in
        [a.add(&b), a.lt(&b), condition.where_(&a, 0.0), a.matmul(&b), row.outer(&column), lanes(&a), constant(&a)]
    {
        let err = result.unwrap_err();
        assert!(err.is_shape() && err.message().contains("is too large"), "{err}");
    }
    // Sizes that are added up: 2⁶⁴ in all.
    let a = ones(&[1]).expand(&[1 << 58]).unwrap();
    for result in [cat(&[&a; 64], 0), stack(&[&a; 64], 0), vmap(|x: &Tensor| stack(&[x; 64], 0))(&a)] {
        let err = result.unwrap_err();
        assert!(err.is_shape() && err.message().contains("is too large"), "{err}");
    }
}
