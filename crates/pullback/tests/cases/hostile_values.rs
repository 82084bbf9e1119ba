//! Values where nobody expects them: used after their transform, empty, without dimensions, at the ends of their range.

use std::cell::RefCell;

use pullback::testing::operations;
use pullback::*;

use crate::ones;

/// Values of transforms that have ended, with the values and dtype of `x`.
fn escaped(x: &Tensor) -> Vec<(&'static str, Tensor)> {
    let kept = RefCell::new(Vec::new());
    let keep = |name| {
        let kept = &kept;
        move |x: &Tensor| {
            kept.borrow_mut().push((name, x.clone()));
            Ok(x.clone())
        }
    };
    vmap(keep("vmap"))(&x.unsqueeze(0).unwrap()).unwrap();
    if x.dtype().is_float() {
        vjp(keep("vjp"), x).unwrap();
        jvp(keep("jvp"), x, x).unwrap();
    }
    kept.into_inner()
}

#[test]
fn no_operation_takes_a_value_of_a_transform_that_has_ended() {
    let mut bad = Vec::new();
    for op in operations() {
        for sample in (op.samples)() {
            for (k, x) in sample.inputs.iter().enumerate() {
                for (transform, stale) in escaped(x) {
                    let mut inputs = sample.inputs.clone();
                    inputs[k] = stale;
                    match (sample.call)(&inputs) {
                        Err(e) if e.is_escaped_tracer() => {}
                        Err(e) => bad.push(format!("{} ({}), input {k} of {transform}: {e}", op.name, sample.label)),
                        Ok(_) => bad.push(format!("{} ({}), input {k} of {transform}: a result", op.name, sample.label)),
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Calls that change nothing: what they return is their argument.
fn no_changes() -> Vec<(&'static str, fn(&Tensor) -> Result<Tensor>)> {
    macro_rules! calls {
        ($x:ident; $($call:expr;)*) => { vec![$((stringify!($call), |$x: &Tensor| $call)),*] };
    }
    calls! { x;
        x.sum();
        x.mean();
        x.max();
        x.min();
        x.prod();
        x.sum_dims(&[], false);
        x.mean_dims(&[], false);
        x.max_dims(&[], true);
        x.min_dims(&[], true);
        x.prod_dims(&[], false);
        x.logsumexp(&[], false);
        x.var_dims(&[], 0, false);
        x.std_dims(&[], 0, false);
        x.any();
        x.all();
        x.any_dims(&[], false);
        x.all_dims(&[], false);
        x.argmax(0, true);
        x.argmin(None, false);
        x.sum_to(x.shape());
        x.expand(x.shape());
        x.repeat(&vec![1; x.rank()]);
        x.repeat_interleave(1, 0);
        x.reshape(&x.shape().iter().map(|&n| n as isize).collect::<Vec<_>>());
        x.flatten(0, 0);
        x.unflatten(0, &[-1]);
        x.squeeze(0);
        x.squeeze_all();
        x.permute(&(0..x.rank() as isize).collect::<Vec<_>>());
        x.transpose(0, 0);
        x.t();
        x.movedim(&[], &[]);
        x.movedim(&[0], &[0]);
        x.flip(&[]);
        x.roll(&[], &[]);
        x.roll(&[0], &[]);
        x.roll(&[0], &[0]);
        x.tril(isize::MAX);
        x.triu(isize::MIN);
        x.slice(0, None, None, 1);
        x.narrow(0, 0, x.shape().first().copied().unwrap_or(0));
        x.i(());
        x.i(Ellipsis);
        x.i(..);
        x.i((Ellipsis, ..));
        x.i(s(0, None, 1));
        x.i(vec![IndexItem::from(..); x.rank()]);
        x.index_set((), x);
        x.index_set(Ellipsis, 0.0);
        ones(x.shape()).index_set((), x);
        ones(x.shape()).index_set(Ellipsis, x);
        Ok(x.split(1000, 0)?.remove(0));
        Ok(x.chunk(1, 0)?.remove(0));
        Ok(x.split_with_sizes(&[x.shape().first().copied().unwrap_or(0)], 0)?.remove(0));
        cat(&[x], 0);
        cat(&[x, &ones(&[0])], 0);
        stack(&[x], 0);
        einsum("...->...", &[x]);
        einsum("i->i", &[x]);
        einsum("ij->ij", &[x]);
        einsum("", &[x]);
        einsum("->", &[x]);
        x.cumsum(0);
        x.softmax(0);
        x.log_softmax(0);
        Ok(x.sort(0, false)?.0);
        x.argsort(0, false);
        x.index_select(0, &Tensor::from([0i64]));
        x.gather(0, &Tensor::zeros(x.shape(), DType::I64)?);
        x.index_add(0, &Tensor::zeros(&[0], DType::I64)?, &ones(&[0]));
        x.index_copy(0, &Tensor::zeros(&[0], DType::I64)?, &ones(&[0]));
        x.dynamic_slice(0, &Tensor::from(0i64), x.shape().first().copied().unwrap_or(0));
        x.to_dtype(x.dtype());
        x.to_dtype(DType::Bool);
        x.detach();
        x.clamp(None::<f64>, None::<f64>);
        x.clamp(Some(f64::NEG_INFINITY), None);
        x.pow(1);
        x.pow(0);
        x.powi(1);
        x.powi(0);
        x.powf(1.0);
        x.powf(0.0);
        x.add(0);
        x.sub(0);
        x.mul(1);
        x.mul(0);
        x.div(1);
        x.abs();
        x.neg();
        x.sign();
        x.floor();
        x.ceil();
        x.round();
        x.trunc();
        x.maximum(x);
        x.eq(x);
        x.isnan();
        x.isinf();
        x.isfinite();
        x.logical_not();
        x.logical_and(x);
        Tensor::from(true).where_(x, 0);
        Tensor::from(true).where_(0, x);
        x.one_hot(3, DType::F64);
        x.diagonal(0, 0, 1);
        x.diag(0);
        x.trace();
        x.equal(x).map(Tensor::from);
        x.allclose(x, 0.0, 0.0).map(Tensor::from);
        x.to_vec::<f64>().map(|v| Tensor::from(v.len() as i64));
        x.item::<f64>().map(Tensor::from);
        x.zip_with(&x.clone(), |a, _| a.sum());
        { let mut y = x.clone(); y.add_(0)?; Ok(y) };
        { let mut y = x.clone(); y.set_((), 0)?; Ok(y) };
        { let mut y = ones(x.shape()); y.set_((), x)?; Ok(y) };
        { let mut y = ones(x.shape()); y.set_(Ellipsis, x)?; Ok(y) };
        vmap(|t: &Tensor| Ok(t.clone()))(x);
        Vmap::new().in_dims(None::<usize>).out_dims(None::<usize>).batch_size(2).of(|t: &Tensor| Ok(t.clone()))(x);
        Vmap::new().in_dims(None::<usize>).batch_size(2).of(|t: &Tensor| Ok(t.clone()))(x);
        Ok(vjp(|t: &Tensor| Ok(t.clone()), x)?.0);
        Ok(jvp(|t: &Tensor| Ok(t.clone()), x, x)?.0);
        jacrev(|t: &Tensor| Ok(t.clone()))(x);
        jacfwd(|t: &Tensor| Ok(t.clone()))(x);
        grad(|t: &Tensor| t.sum())(x);
        vmap(|_: &Tensor| Ok(x.clone()))(&ones(&[2]));
        grad(|_: &Tensor| Ok(x.clone()))(&ones(&[2]));
        Ok(jvp(|_: &Tensor| Ok(x.clone()), &ones(&[2]), &ones(&[2]))?.0);
        jacrev(|_: &Tensor| Ok(x.clone()))(&ones(&[2]));
        jacfwd(|_: &Tensor| Ok(x.clone()))(&ones(&[2]));
        stack_trees(&[x.clone()]);
        Ok(unstack_trees(x)?.into_iter().next().unwrap_or_else(|| ones(&[])));
        stack(&unstack_trees(x)?.iter().collect::<Vec<_>>(), 0);
        x.split_with_sizes(&[], 0).map(|v| Tensor::from(v.len() as i64));
        x.unbind(0).map(|v| Tensor::from(v.len() as i64));
    }
}

#[test]
fn methods_that_change_nothing_notice_it_too() {
    let mut bad = Vec::new();
    for shape in [&[][..], &[1], &[2], &[1, 1], &[2, 3], &[0]] {
        for dtype in [DType::F64, DType::I64, DType::Bool] {
            let x = ones(shape).to_dtype(dtype).unwrap();
            for (name, call) in no_changes() {
                // What is wrong with the call in any case may be said first.
                if call(&x).is_err() {
                    continue;
                }
                for (transform, stale) in escaped(&x) {
                    match call(&stale) {
                        Err(e) if e.is_escaped_tracer() => {}
                        Err(e) => bad.push(format!("{name} of {} of {transform}: {e}", x.ty())),
                        Ok(_) => bad.push(format!("{name} of {} of {transform}: a result", x.ty())),
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn sizes_that_no_memory_holds() {
    const HUGE: usize = usize::MAX;
    let empty = Tensor::zeros(&[0, 1 << 58], DType::F64).unwrap();
    let one = ones(&[1]).expand(&[1 << 59]).unwrap();
    macro_rules! answers {
        ($($call:expr;)*) => { vec![$((stringify!($call), Box::new(|| $call.map(|_| ())) as Box<dyn Fn() -> Result<()>>)),*] };
    }
    let x = &empty;
    let calls = answers! {
        x.slice(1, 0, 1, 1);
        x.slice(1, None, None, -1);
        x.slice(1, isize::MIN, isize::MAX, 2);
        x.i((.., 0));
        x.i((.., -1));
        x.i((.., 5..7));
        x.i((.., s(None, None, -1)));
        x.index_set((.., 3), 0.0);
        x.select(1, 0);
        x.select(1, -1);
        x.narrow(1, -1, 1);
        x.narrow(1, 0, HUGE);
        x.narrow(1, 1, HUGE);
        x.roll(&[1], &[1]);
        x.roll(&[isize::MIN], &[1]);
        x.roll(&[1], &[]);
        x.flip(&[1]);
        x.t();
        x.sum();
        x.sum_dims(&[1], false);
        x.mean_dims(&[1], false);
        x.var_dims(&[1], 1, false);
        x.max_dims(&[1], false);
        x.prod_dims(&[1], false);
        x.logsumexp(&[1], false);
        x.softmax(1);
        x.argmax(1, false);
        x.cumsum(1);
        x.sort(1, false);
        x.argsort(1, false);
        x.topk(3, 1, true, true);
        x.diagonal(0, 0, 1);
        x.diagonal(isize::MAX, 0, 1);
        x.diagonal(isize::MIN, 0, 1);
        x.tril(0);
        x.triu(-3);
        x.trace();
        x.split(1, 1);
        x.split(HUGE / 2, 1);
        x.chunk(3, 1);
        x.chunk(HUGE, 1);
        x.chunk(HUGE, 0);
        x.unbind(1);
        x.repeat(&[2, 2]);
        x.repeat_interleave(3, 1);
        x.repeat_interleave(3, 0);
        x.flatten(0, 1);
        x.reshape(&[0]);
        x.reshape(&[-1]);
        x.unflatten(1, &[3, -1]);
        x.matmul(&x.t()?);
        x.t()?.matmul(x);
        x.dot(x);
        x.outer(x);
        x.add(x);
        x.eq(x);
        cat(&[x, x], 1);
        cat(&[x, x], 0);
        stack(&[x, x], 1);
        einsum("ij,ij->i", &[x, x]);
        einsum("ij,kj->ik", &[x, x]);
        x.gather(1, &Tensor::zeros(&[0, 2], DType::I64)?);
        x.index_select(1, &Tensor::from([1i64]));
        x.dynamic_slice(1, &Tensor::from(1i64), 2);
        x.scatter_add(1, &Tensor::zeros(&[0, 2], DType::I64)?, &Tensor::zeros(&[0, 2], DType::F64)?);
        x.cross_entropy(&Tensor::zeros(&[0], DType::I64)?);
        x.t()?.cross_entropy(&Tensor::from([1i64]));
        vmap(|x: &Tensor| x.sum())(x);
        Vmap::new().in_dims(1).of(|x: &Tensor| x.sin())(x);
        grad(|x: &Tensor| x.sum())(x);
        jacfwd(|x: &Tensor| x.sum_dims(&[1], false))(x);
        hessian(|x: &Tensor| x.sum())(x);
        unstack_trees(&x.t()?);
        x.to_vec::<f64>();
        Ok(format!("{x} {x:?}"));
        one.unbind(0);
        one.split(1, 0);
        one.chunk(usize::MAX, 0);
        unstack_trees(&one);
    };
    let mut bad = Vec::new();
    for (name, call) in calls {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call().is_ok())).is_err() {
            bad.push(name);
        }
    }
    assert!(bad.is_empty(), "panics: {}", bad.join("\n"));
}
