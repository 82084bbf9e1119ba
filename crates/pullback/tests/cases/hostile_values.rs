//! Values where nobody expects them: used after their transform, empty, without dimensions, at the ends of their range.

use std::cell::RefCell;

use pullback::nn::{AvgPool, Conv, ConvTranspose, Interpolate, MaxPool, Patches};
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
                        Ok(_) => {
                            bad.push(format!("{} ({}), input {k} of {transform}: a result", op.name, sample.label))
                        }
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
    let one = ones(&[1]).expand(&[1 << 58]).unwrap();
    macro_rules! answers {
        ($($call:expr;)*) => { vec![$((stringify!($call), Box::new(|| $call.map(|_| ())) as Box<dyn Fn() -> Result<()>>)),*] };
    }
    let [no_images, no_channels] = &[[0, 1, 4], [2, 0, 3]].map(|shape| Tensor::zeros(&shape, DType::F64).unwrap());
    let generator = random::Generator::new(1);
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
        x.combinations(HUGE, true);
        x.flatten(0, 1)?.combinations(1 << 50, false);
        x.pad(&[1, 1], PadMode::Reflect);
        x.pad(&[-1, 1], PadMode::Circular);
        grad(|x: &Tensor| x.pad(&[1, 1], PadMode::Replicate)?.sum())(x);
        x.unfold(1, 1 << 57, 1);
        grad(|x: &Tensor| x.unfold(1, 1 << 50, 1)?.sum())(&Tensor::zeros(&[0, 1 << 51], DType::F64)?);
        one.unfold(0, 1 << 57, 1);
        x.repeat(&[HUGE, 1]);
        x.histc(HUGE, 0.0, 1.0);
        Tensor::zeros(&[0], DType::I64)?.bincount(None, HUGE);
        no_images.interpolate(&Interpolate::to_size(1 << 40));
        grad(|x: &Tensor| x.interpolate(&Interpolate::by_scale(&[1e13]))?.sum())(no_images);
        no_images.adaptive_avg_pool1d(1 << 40);
        no_images.adaptive_max_pool1d(1 << 40);
        no_images.avg_pool1d(&AvgPool::new(1 << 40).padding(1 << 39).stride(1));
        no_images.max_pool1d_with_indices(&MaxPool::new(1 << 40).padding(1 << 39).stride(1));
        grad(|x: &Tensor| x.max_pool1d(&MaxPool::new(2).padding(1).stride(1))?.sum())(no_images);
        no_images.im2col(&Patches::new(1 << 33).padding(1 << 32));
        no_images.im2col(&Patches::new(1).padding(1 << 39));
        no_images.col2im(1 << 40, &Patches::new(1));
        no_images.conv1d(&ones(&[1, 1, 1]), None, &Conv::new().padding(1 << 39));
        no_images.conv_transpose1d(&ones(&[1, 1, 1]), None, &ConvTranspose::new().stride(1 << 40));
        Tensor::zeros(&[0, 1, 1 << 30], DType::F64)?
            .conv_transpose1d(&ones(&[1, 1, 2]), None, &ConvTranspose::new().stride(1 << 40));
        Tensor::zeros(&[1, 0, 3], DType::F64)?.conv_transpose1d(
            &Tensor::zeros(&[0, 1 << 30, 2], DType::F64)?, None, &ConvTranspose::new().groups(1 << 40)
        );
        no_channels.group_norm(HUGE, None, None, 1e-5);
        no_channels.group_norm(1 << 50, None, None, 1e-5);
        no_channels.channel_shuffle(HUGE);
        no_channels.pixel_shuffle(HUGE);
        Tensor::zeros(&[0, 3, 3], DType::F64)?.pixel_shuffle(HUGE);
        Tensor::zeros(&[3, 0, 0], DType::F64)?.pixel_unshuffle(HUGE);
        Tensor::zeros(&[0, 0, 0], DType::F64)?.pixel_unshuffle(HUGE);
        init::Fan::In.of(&[HUGE, HUGE]);
        init::Fan::In.of(&[0, HUGE, HUGE]);
        init::xavier_uniform(&[HUGE, HUGE], DType::F32, init::Gain::Linear, &generator);
        init::orthogonal(&[0, HUGE, HUGE], DType::F32, init::Gain::Linear, &generator);
        init::dirac(&[HUGE, HUGE, HUGE], 1, DType::F32);
        init::sparse(&[HUGE, HUGE], 0.5, 1.0, DType::F32, &generator);
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

#[test]
fn integers_at_the_ends_of_their_range() {
    let ints = |v: &[i64]| Tensor::from_slice(v, &[v.len()]).unwrap();
    let read = |t: Result<Tensor>| t.and_then(|t| t.to_vec::<i64>());
    let (min, max) = (i64::MIN, i64::MAX);
    let x = ints(&[min, max, -1, 0]);
    // Whole numbers wrap around.
    assert_eq!(read(x.abs()).unwrap(), [min, max, 1, 0]);
    assert_eq!(read(x.neg()).unwrap(), [min, min + 1, 1, 0]);
    assert_eq!(read(x.add(1)).unwrap(), [min + 1, min, 0, 1]);
    assert_eq!(read(x.sub(1)).unwrap(), [max, max - 1, -2, -1]);
    assert_eq!(read(x.mul(-1)).unwrap(), [min, min + 1, 1, 0]);
    assert_eq!(read(x.mul(&x)).unwrap(), [0, 1, 1, 0]);
    assert_eq!(read(x.square()).unwrap(), [0, 1, 1, 0]);
    assert_eq!(read(x.pow(3)).unwrap(), [0, max, -1, 0]);
    assert_eq!(read(x.pow(&ints(&[64, 2, max, 0]))).unwrap(), [0, 1, -1, 1]);
    assert_eq!(read(x.sign()).unwrap(), [-1, 1, -1, 0]);
    assert_eq!(read(x.sum().map(|t| t.unsqueeze(0).unwrap())).unwrap(), [-2]);
    assert_eq!(read(x.cumsum(0)).unwrap(), [min, -1, -2, -2]);
    assert_eq!(read(x.cumsum(0).and_then(|t| t.neg())).unwrap(), [min, 1, 2, 2]);
    assert_eq!(read(x.prod().map(|t| t.unsqueeze(0).unwrap())).unwrap(), [0]);
    assert_eq!(read(ints(&[min, -1]).prod().map(|t| t.unsqueeze(0).unwrap())).unwrap(), [min]);
    assert_eq!(read(x.maximum(&x.flip(&[0]).unwrap())).unwrap(), [0, max, max, 0]);
    assert_eq!(read(x.matmul(&x).map(|t| t.unsqueeze(0).unwrap())).unwrap(), [2]);
    // Division is that of floats, where nothing overflows.
    let y = x.div(&ints(&[-1, 0, 0, 0])).unwrap();
    assert!(y.dtype().is_float());
    let y = y.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    assert!(y[0] == 2f64.powi(63) && y[1] == f64::INFINITY && y[2] == f64::NEG_INFINITY && y[3].is_nan(), "{y:?}");
    // The same for lanes.
    for f in [Tensor::abs, Tensor::neg, Tensor::square, Tensor::sign] {
        let (alone, lanes) = (read(f(&x)).unwrap(), read(vmap(f)(&x)).unwrap());
        assert_eq!(alone, lanes);
    }
    let small = Tensor::from([i32::MIN, i32::MAX]);
    assert_eq!(small.abs().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, i32::MAX]);
    assert_eq!(small.neg().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, -i32::MAX]);
    assert_eq!(small.mul(&small).unwrap().to_vec::<i32>().unwrap(), [0, 1]);
    assert_eq!(Tensor::from([1u8, 255]).neg().unwrap().to_vec::<u8>().unwrap(), [255, 1]);
    assert_eq!(Tensor::from([200u8, 255]).add(100).unwrap().to_vec::<u8>().unwrap(), [44, 99]);
    // A cast saturates, and has no NaN.
    let odd = Tensor::from([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300]);
    assert_eq!(read(odd.to_dtype(DType::I64)).unwrap(), [0, max, min, max]);
    // Numbers beside a tensor that cannot hold them.
    assert_eq!(small.add(i64::MAX).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(Tensor::from([1u8]).mul(-1).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn reductions_of_nothing_and_of_what_is_no_number() {
    let none = Tensor::zeros(&[0, 3], DType::F64).unwrap();
    assert_eq!(none.sum().unwrap().item::<f64>().unwrap(), 0.0);
    assert_eq!(none.prod().unwrap().item::<f64>().unwrap(), 1.0);
    assert!(none.mean().unwrap().item::<f64>().unwrap().is_nan());
    assert!(!none.gt(0.0).unwrap().any().unwrap().item::<bool>().unwrap());
    assert!(none.gt(0.0).unwrap().all().unwrap().item::<bool>().unwrap());
    assert_eq!(none.logsumexp(&[0], false).unwrap().to_vec::<f64>().unwrap(), [f64::NEG_INFINITY; 3]);
    for result in [none.max(), none.min(), none.max_dims(&[0], false), none.argmax(None, false), none.argmin(0, true)] {
        let e = result.unwrap_err();
        assert!(e.to_string().contains("f64[0,3]"), "{e}");
    }
    assert_eq!(none.max_dims(&[1], false).unwrap().shape(), [0]);
    // And derivatives of them.
    let functions: [(&str, fn(&Tensor) -> Result<Tensor>); 8] = [
        ("sum", |x| x.sum()),
        ("prod", |x| x.prod()),
        ("mean", |x| x.mean()),
        ("var", |x| x.var()),
        ("logsumexp", |x| x.logsumexp(&[0], false)?.sum()),
        ("softmax", |x| x.softmax(0)?.sum()),
        ("matmul", |x| x.t()?.matmul(x)?.sum()),
        ("mse", |x| x.mse_loss(x)),
    ];
    let lanes = Tensor::zeros(&[2, 0, 3], DType::F64).unwrap();
    let no_lanes = Tensor::zeros(&[0, 2, 3], DType::F64).unwrap();
    for (name, f) in functions {
        assert_eq!(grad(f)(&none).expect(name).shape(), [0, 3], "{name}");
        assert_eq!(vmap(grad(f))(&lanes).expect(name).shape(), [2, 0, 3], "{name}");
        assert_eq!(vmap(grad(f))(&no_lanes).expect(name).shape(), [0, 2, 3], "{name}");
        assert_eq!(hessian(f)(&none).expect(name).shape(), [0, 3, 0, 3], "{name}");
        assert_eq!(vmap(hessian(f))(&no_lanes).expect(name).shape(), [0, 2, 3, 2, 3], "{name}");
        assert_eq!(jacfwd(f)(&none).expect(name).shape(), [0, 3], "{name}");
        assert!(jvp(f, &none, &none).is_ok(), "{name}");
    }
    // NaN and infinities go through and stay in their lane.
    let odd = Tensor::from([[f64::NAN, 1.0], [f64::INFINITY, 1.0], [2.0, 1.0]]);
    for (name, f) in functions.into_iter().take(6) {
        let g = vmap(grad(f))(&odd.unsqueeze(2).unwrap()).expect(name);
        let last = grad(f)(&Tensor::from([[2.0], [1.0]])).unwrap().to_vec::<f64>().unwrap();
        assert_eq!(g.to_vec::<f64>().unwrap()[4..], last, "{name}");
    }
}

#[test]
fn functions_that_return_constants_or_their_inputs_under_every_transform() {
    for shape in [&[][..], &[0], &[1], &[2, 3], &[2, 0, 3]] {
        let x = ones(shape);
        let twice: Vec<usize> = [shape, shape].concat();
        let functions: [(&str, &dyn Fn(&Tensor) -> Result<Tensor>); 2] =
            [("constant", &|_| Ok(x.clone())), ("input", &|x| Ok(x.clone()))];
        for (name, f) in functions {
            let place = format!("{name} {shape:?}");
            assert_eq!(jacrev(f)(&x).expect(&place).shape(), twice, "{place}");
            assert_eq!(jacfwd(f)(&x).expect(&place).shape(), twice, "{place}");
            assert_eq!(
                jacrev(f)(&x).unwrap().to_vec::<f64>().unwrap(),
                jacfwd(f)(&x).unwrap().to_vec::<f64>().unwrap()
            );
            assert_eq!(hessian(f)(&x).expect(&place).shape(), [&twice[..], shape].concat(), "{place}");
            assert_eq!(jvp(f, &x, &x).expect(&place).1.shape(), shape, "{place}");
            let (y, pull) = vjp(f, &x).expect(&place);
            assert_eq!(pull.call(&y).expect(&place).shape(), shape, "{place}");
            let lanes = stack(&[&x, &x, &x], 0).unwrap();
            let each = [&[3], &twice[..]].concat();
            assert_eq!(vmap(f)(&lanes).expect(&place).shape(), lanes.shape(), "{place}");
            assert_eq!(vmap(jacrev(f))(&lanes).expect(&place).shape(), each, "{place}");
            assert_eq!(vmap(jacfwd(f))(&lanes).expect(&place).shape(), each, "{place}");
            assert_eq!(vmap(vmap(f))(&stack(&[&lanes; 2], 0).unwrap()).expect(&place).rank(), shape.len() + 2);
        }
    }
}

#[test]
fn values_on_threads_that_outlive_their_transform() {
    let (send, receive) = std::sync::mpsc::channel::<Tensor>();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let late = std::thread::spawn(move || {
        let x = receive.recv().unwrap();
        // Alive: another thread may use it.
        let first = x.sin();
        done.send(()).unwrap();
        let second = receive.recv().unwrap();
        (first.is_ok(), x.sum(), second.mul(&second), x.item::<f64>(), vmap(|t: &Tensor| t.add(&x))(&ones(&[2])))
    });
    grad(|x: &Tensor| {
        send.send(x.clone()).unwrap();
        wait.recv().unwrap();
        x.mul(x)
    })(&ones(&[]))
    .unwrap();
    grad(|x: &Tensor| x.mul(x))(&ones(&[])).unwrap();
    let kept = escaped(&ones(&[]));
    send.send(kept[0].1.clone()).unwrap();
    let (alive, a, b, c, d) = late.join().unwrap();
    assert!(alive);
    for e in [a.unwrap_err(), b.unwrap_err(), c.unwrap_err(), d.unwrap_err()] {
        assert!(e.is_escaped_tracer(), "{e}");
    }
}

#[test]
fn trees_of_as_many_tensors_in_other_places() {
    use std::collections::BTreeMap;
    type Map = BTreeMap<String, Tensor>;
    type Pair = (Option<Tensor>, Option<Tensor>);
    let map = |key: &str| Map::from([(key.to_string(), ones(&[2]))]);
    let (left, right): (Pair, Pair) = ((Some(ones(&[2])), None), (None, Some(ones(&[2]))));
    let wrong = |what: &str, e: Option<Error>| {
        let e = e.unwrap_or_else(|| panic!("{what}: trees of different structures were taken for one"));
        assert_eq!(e.kind(), ErrorKind::Arity, "{what}: {e}");
    };
    wrong("tangents", jvp(|x: &Map| Ok(x.clone()), &map("a"), &map("b")).err());
    wrong("tangents", jvp(|x: &Pair| Ok(x.clone()), &left, &right).err());
    wrong("cotangents", vjp(|x: &Map| Ok(x.clone()), &map("a")).unwrap().1.call(&map("b")).err());
    wrong("cotangents", vjp(|x: &Pair| Ok(x.clone()), &left).unwrap().1.call(&right).err());
    wrong("zip_with", map("a").zip_with(&map("b"), |a, b| a.add(b)).err());
    wrong("zip_with", left.zip_with(&right, |a, b| a.add(b)).err());
    wrong("stack_trees", stack_trees(&[map("a"), map("b")]).err());
    wrong("stack_trees", stack_trees(&[left, right]).err());
}

#[cfg(feature = "fft")]
#[test]
fn transforms_of_no_rows_and_of_one_number() {
    use pullback::fft::{Norm, fft, fftfreq, fftn, irfft, rfft};

    use crate::value;
    // Nothing is planned or allocated for rows that are not there.
    let (none, long) = (Tensor::zeros(&[0, 4], DType::F64).unwrap(), 1usize << 50);
    let along = |y: Result<Tensor>| y.unwrap().shape().to_vec();
    assert_eq!(along(fft(&none, Some(long), -1, Norm::Ortho)), [0, long]);
    assert_eq!(along(rfft(&none, Some(long), -1, Norm::Ortho)), [0, long / 2 + 1]);
    assert_eq!(along(irfft(&none, Some(long), -1, Norm::Ortho)), [0, long]);
    let one = Tensor::from([f64::INFINITY]);
    assert_eq!(value(&fft(&one, None, 0, Norm::Backward).unwrap().imag().unwrap().i(0).unwrap()), 0.0);
    let sizes = [1usize << 40; 2];
    let message = |y: Result<Tensor>| y.unwrap_err().to_string();
    assert!(message(fftn(&none, Some(&sizes), None, Norm::Ortho)).starts_with("fftn: a tensor of shape"));
    assert!(message(fftfreq(usize::MAX, 1.0, DType::F64)).starts_with("fftfreq: a tensor of shape"));
}
