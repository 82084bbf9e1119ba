//! Layers of neural networks under the transforms: what users of other systems met with them, and convolutions that are
//! too large for the samples of the table.

use pullback::init::{self, Fan, Gain};
use pullback::nn::{Attention, AvgPool, Conv, Interpolate, MaxPool};
use pullback::random::{Generator, Key};
use pullback::*;

use crate::{close, is, noise, ones, value, values};

#[test]
fn c131_the_layer_norm_operation_to_third_order() {
    let f = |t: &Tensor| {
        let x = stack(&[t, &Tensor::from(0.0)], 0)?;
        x.layer_norm(&[2], Some(&Tensor::from([1.0, 2.0])), None, 0.25)?.sum()
    };
    let t = Tensor::from(0.7);
    let forward = |t: &Tensor| Ok(jvp(f, t, &Tensor::from(1.0))?.1);
    let want = [-0.549_820_080_885, 0.774_914_207_959, -0.713_247_976_645];
    close(&[value(&f(&t).unwrap())], &[-0.573_462_344_363]);
    close(&[value(&grad(f)(&t).unwrap()), value(&forward(&t).unwrap())], &[want[0]; 2]);
    let push = |g: &dyn Fn(&Tensor) -> Result<Tensor>, t: &Tensor| Ok(jvp(g, t, &Tensor::from(1.0))?.1);
    let second: [Box<dyn Fn(&Tensor) -> Result<Tensor>>; 4] = [
        Box::new(grad(grad(f))),
        Box::new(grad(forward)),
        Box::new(move |t: &Tensor| push(&grad(f), t)),
        Box::new(move |t: &Tensor| push(&forward, t)),
    ];
    for g in second {
        close(&[value(&g(&t).unwrap())], &[want[1]]);
        close(&[value(&grad(&g)(&t).unwrap()), value(&push(&g, &t).unwrap())], &[want[2]; 2]);
    }
}

#[test]
fn c109_batch_norm_returns_its_statistics() {
    let step = |(x, mean, var): &(Tensor, Tensor, Tensor)| x.batch_norm_training(mean, var, None, None, 0.1, 1e-5);
    let start = (Tensor::from([[1.0], [3.0]]), Tensor::from([0.0]), Tensor::from([1.0]));
    let (y, mean, var) = step(&start).unwrap();
    close(&values(&y), &[-0.999_995_000_037, 0.999_995_000_037]);
    close(&[values(&mean)[0], values(&var)[0]], &[0.2, 1.1]);
    // Each member of an ensemble has its own.
    let x = Tensor::from([[[1.0], [3.0]], [[2.0], [4.0]], [[0.0], [10.0]]]);
    let members = Vmap::new().in_dims((0, None, None)).of(step)(&(x, start.1, start.2)).unwrap();
    is(&members.1, &[3, 1], &[0.2, 0.3, 0.5]);
    is(&members.2, &[3, 1], &[1.1, 1.1, 5.9]);
}

#[test]
fn c168_embeddings_have_gradients_per_example() {
    let table = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let samples = Tensor::from([[0i64, 0], [2, 1]]);
    let each = |padding: Option<usize>| {
        let loss = move |t: &Tensor, rows: &Tensor| rows.embedding(t, padding)?.square()?.sum();
        let table = table.clone();
        vmap(move |rows: &Tensor| grad(|t: &Tensor| loss(t, rows))(&table))(&samples).unwrap()
    };
    is(&each(None), &[2, 3, 2], &[4.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 8.0, 10.0, 12.0]);
    is(&each(Some(2)), &[2, 3, 2], &[4.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 8.0, 0.0, 0.0]);
    let err = vmap(|rows: &Tensor| rows.embedding(&table, None))(&Tensor::from([[0i64, 1], [2, 3]])).unwrap_err();
    assert!(err.kind() == ErrorKind::Index && err.to_string().contains("got 3 at position [1] of lane 1"), "{err}");
}

#[test]
fn c164_gradients_per_example_of_a_convolutional_network() {
    let options = Conv::new().stride(2).padding(1);
    let loss = |(w, b, v): &(Tensor, Tensor, Tensor), x: &Tensor, y: &Tensor| {
        let h = x.conv2d(w, Some(b), &options)?.tanh()?.max_pool2d(&MaxPool::new(2).stride(1))?;
        h.flatten(0, -1)?.linear(v, None)?.cross_entropy(y)
    };
    let p = (noise(&[4, 2, 3, 3], 0.1), noise(&[4], 0.2), noise(&[3, 4 * 9], 0.3));
    let (x, y) = (noise(&[5, 2, 7, 7], 0.4), Tensor::from([0i64, 2, 1, 1, 0]));
    let each = vmap(|(x, y): &(Tensor, Tensor)| grad(|p: &(Tensor, Tensor, Tensor)| loss(p, x, y))(&p));
    let each = each(&(x.clone(), y.clone())).unwrap();
    for k in 0..5 {
        let (x, y) = (x.select(0, k).unwrap(), y.select(0, k).unwrap());
        let alone = grad(|p: &(Tensor, Tensor, Tensor)| loss(p, &x, &y))(&p).unwrap();
        close(&values(&each.0.select(0, k).unwrap()), &values(&alone.0));
        close(&values(&each.1.select(0, k).unwrap()), &values(&alone.1));
        close(&values(&each.2.select(0, k).unwrap()), &values(&alone.2));
    }
}

/// `Σ a·b`.
fn inner(a: &Tensor, b: &Tensor) -> f64 {
    value(&a.mul(b).unwrap().sum().unwrap())
}

#[test]
fn convolutions_in_several_blocks() {
    set_num_threads(3);
    // Many positions of one image; several images to a block; depthwise; a kernel of one element; a long sequence.
    let cases: &[(&[usize], &[usize], usize, usize, usize)] = &[
        (&[3, 24, 30, 41], &[5, 24, 3, 3], 1, 1, 1),
        (&[41, 6, 7, 9], &[8, 3, 3, 2], 2, 1, 2),
        (&[3, 8, 23, 31], &[8, 1, 5, 3], 1, 2, 8),
        (&[2, 40, 33, 35], &[16, 40, 1, 1], 1, 0, 1),
        (&[2, 12, 1, 4000], &[6, 12, 1, 7], 1, 0, 1),
    ];
    for &(xs, ws, stride, padding, groups) in cases {
        let (x, w) = (noise(xs, 0.1), noise(ws, 0.2));
        let options = Conv::new().stride(stride).padding([padding.min(xs[2] / 2), padding]).groups(groups);
        let conv = |(x, w): &(Tensor, Tensor)| x.conv2d(w, None, &options);
        let (y, pullback) = vjp(conv, &(x.clone(), w.clone())).unwrap();
        // Some elements by the definition.
        let (xv, wv, shape) = (values(&x), values(&w), y.shape().to_vec());
        let yv = values(&y);
        let pad = [padding.min(xs[2] / 2), padding];
        for k in (0..yv.len()).step_by(yv.len() / 97 + 1).chain([yv.len() - 1]) {
            let at = [
                k / (shape[1] * shape[2] * shape[3]),
                k / (shape[2] * shape[3]) % shape[1],
                k / shape[3] % shape[2],
                k % shape[3],
            ];
            let mut sum = 0.0;
            for c in 0..ws[1] {
                let channel = at[1] / (ws[0] / groups) * ws[1] + c;
                for (i, j) in (0..ws[2]).flat_map(|i| (0..ws[3]).map(move |j| (i, j))) {
                    let place = (at[2] * stride + i).checked_sub(pad[0]).zip((at[3] * stride + j).checked_sub(pad[1]));
                    if let Some((v, u)) = place.filter(|&(v, u)| v < xs[2] && u < xs[3]) {
                        sum += xv[((at[0] * xs[1] + channel) * xs[2] + v) * xs[3] + u]
                            * wv[((at[1] * ws[1] + c) * ws[2] + i) * ws[3] + j];
                    }
                }
            }
            close(&[yv[k]], &[sum]);
        }
        // The two transposes belong to it.
        let (g, dx, dw) = (noise(&shape, 0.3), noise(xs, 0.4), noise(ws, 0.5));
        let (gx, gw) = pullback.call(&g).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-8 * a.abs().max(1.0), "{a} and {b} for {xs:?}, {ws:?}");
        near(inner(&gx, &dx), inner(&g, &conv(&(dx, w)).unwrap()));
        near(inner(&gw, &dw), inner(&g, &conv(&(x, dw)).unwrap()));
    }
}

#[test]
fn attention_in_blocks_is_attention_by_the_formula() {
    for (queries, keys, causal) in [(130, 130, true), (70, 150, false), (150, 70, true), (65, 3, false)] {
        let (q, k, v) = (noise(&[2, queries, 6], 0.1), noise(&[2, keys, 6], 0.2), noise(&[2, keys, 5], 0.3));
        let options = Attention::new().causal(causal);
        let fast = q.scaled_dot_product_attention(&k, &v, &options).unwrap();
        // A mask, and a level that differentiates, each take the long way.
        let seen = Tensor::ones(&[queries, keys], DType::Bool).unwrap();
        let seen = if causal { seen.tril(0).unwrap() } else { seen };
        let masked = q.scaled_dot_product_attention(&k, &v, &Attention::new().mask(&seen)).unwrap();
        let traced = vjp(|q: &Tensor| q.scaled_dot_product_attention(&k, &v, &options), &q).unwrap().0;
        close(&values(&fast), &values(&masked));
        close(&values(&fast), &values(&traced));
    }
}

#[test]
fn a_query_that_sees_nothing_has_no_derivatives() {
    let (q, k) = (noise(&[2, 3], 0.1), noise(&[4, 3], 0.2));
    let hidden = Tensor::from([[false; 4], [true; 4]]);
    let added = hidden.where_(0.0, f64::NEG_INFINITY).unwrap().to_dtype(DType::F64).unwrap();
    for mask in [hidden, added] {
        let options = Attention::new().mask(&mask);
        let f = |q: &Tensor| q.scaled_dot_product_attention(&k, &k, &options)?.square()?.sum();
        let g = values(&grad(f)(&q).unwrap());
        assert!(g[..3] == [0.0; 3] && g[3..].iter().all(|v| v.is_finite() && *v != 0.0), "{g:?}");
        assert!(values(&hessian(f)(&q).unwrap()).iter().all(|v| v.is_finite()));
    }
}

#[test]
fn dropout_of_channels_and_of_attention_follows_the_policy() {
    let x = crate::ones(&[4, 50, 3]);
    let drop = |x: &Tensor| Key::new(3).dropout1d(x, 0.5);
    let rows = |t: &Tensor| values(t).chunks(150).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let split = rows(&Vmap::new().randomness(Randomness::Different).of(drop)(&x).unwrap());
    assert!((1..4).all(|k| split[k] != split[0]));
    assert!(split.iter().flatten().collect::<Vec<_>>().chunks(3).all(|c| c[0] == c[1] && c[1] == c[2]));
    let shared = rows(&Vmap::new().randomness(Randomness::Same).of(drop)(&x).unwrap());
    assert!(shared.iter().all(|row| *row == shared[0]));
    assert_eq!(vmap(drop)(&x).unwrap_err().kind(), ErrorKind::Randomness);

    let q = noise(&[2, 5, 4], 0.1);
    let attend = |p: f64| q.scaled_dot_product_attention(&q, &q, &Attention::new().dropout(p, Key::new(1)));
    close(&values(&attend(0.0).unwrap()), &values(&q.scaled_dot_product_attention(&q, &q, &Attention::new()).unwrap()));
    assert_eq!(values(&attend(1.0).unwrap()), [0.0; 40]);
    assert_eq!(values(&attend(0.5).unwrap()), values(&attend(0.5).unwrap()));
}

#[test]
fn first_values_have_the_size_that_they_are_made_for() {
    let (g, shape) = (Generator::new(5), [40, 10, 5, 5]);
    let size = |t: &Tensor| value(&t.to_dtype(DType::F64).unwrap().square().unwrap().mean().unwrap()).sqrt();
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.03, "{a} and {b}");
    near(size(&init::xavier_uniform(&shape, DType::F32, Gain::Tanh, &g).unwrap()), 5.0 / 3.0 * (2.0 / 1250f64).sqrt());
    near(size(&init::xavier_normal(&shape, DType::F64, Gain::Linear, &g).unwrap()), (2.0 / 1250f64).sqrt());
    near(size(&init::kaiming_uniform(&shape, DType::F64, Fan::In, Gain::Relu, &g).unwrap()), (2.0 / 250f64).sqrt());
    near(
        size(&init::kaiming_normal(&shape, DType::F32, Fan::Out, Gain::LeakyRelu(1.0), &g).unwrap()),
        1000f64.sqrt().recip(),
    );
    // The standard deviation of the middle of a normal distribution.
    near(size(&init::trunc_normal(&[20_000], 0.0, 2.0, -2.0, 2.0, DType::F64, &g).unwrap()), 2.0 * 0.539_56);
    for shape in [[6, 2], [3, 3], [2, 7]] {
        let w = init::orthogonal(&shape, DType::F64, Gain::Factor(2.0), &g).unwrap();
        let t = w.transpose(0, 1).unwrap();
        let gram = if shape[0] < shape[1] { w.matmul(&t) } else { t.matmul(&w) }.unwrap();
        let n = shape[0].min(shape[1]);
        close(&values(&gram), &values(&Tensor::eye(n, DType::F64).unwrap().mul(4.0).unwrap()));
    }
    for err in [
        init::uniform(&[2], 1.0, 0.0, DType::F32, &g),
        init::normal(&[2], 0.0, -1.0, DType::F32, &g),
        init::trunc_normal(&[2], 0.0, 1.0, 1.0, 1.0, DType::F32, &g),
        init::trunc_normal(&[2], 0.0, 1.0, 60.0, 61.0, DType::F32, &g),
        init::kaiming_normal(&[2, 2], DType::F32, Fan::In, Gain::Factor(-1.0), &g),
        init::sparse(&[2, 2], 1.5, 1.0, DType::F32, &g),
        init::dirac(&[2, 2, 3], 0, DType::F32),
    ] {
        assert_eq!(err.unwrap_err().kind(), ErrorKind::Value);
    }
    assert!(init::xavier_normal(&[3], DType::F32, Gain::Linear, &g).unwrap_err().is_shape());
    assert!(init::normal(&[3], 0.0, 1.0, DType::I64, &g).unwrap_err().is_dtype());
}

#[test]
fn pooling_of_no_images_has_derivatives_too() {
    let x = Tensor::zeros(&[0, 2, 4], DType::F64).unwrap();
    let calls: [(&[usize], fn(&Tensor) -> Result<Tensor>); 5] = [
        (&[0, 2, 2], |x| x.max_pool1d(&MaxPool::new(2))),
        (&[0, 2, 3], |x| x.avg_pool1d(&AvgPool::new(2).stride(1))),
        (&[0, 2, 3], |x| x.adaptive_max_pool1d(3)),
        (&[0, 2, 3], |x| x.adaptive_avg_pool1d(3)),
        (&[0, 2, 8], |x| x.interpolate(&Interpolate::by_scale(&[2.0]))),
    ];
    for (shape, call) in calls {
        assert_eq!(call(&x).unwrap().shape(), shape);
        assert_eq!(grad(|x: &Tensor| call(x)?.square()?.sum())(&x).unwrap().shape(), x.shape());
        assert_eq!(jvp(call, &x, &x).unwrap().1.shape(), shape);
        let lanes = Tensor::zeros(&[3, 0, 2, 4], DType::F64).unwrap();
        assert_eq!(vmap(call)(&lanes).unwrap().shape(), [&[3], shape].concat());
    }
    let (_, places) = x.max_pool1d_with_indices(&MaxPool::new(2)).unwrap();
    assert_eq!((places.dtype(), places.shape()), (DType::I64, &[0, 2, 2][..]));
}

#[test]
fn numbers_that_no_computation_can_use_are_named() {
    let x = ones(&[2, 3]);
    let zeros = Tensor::zeros(&[3], DType::F64).unwrap();
    let cases = [
        (x.cosine_similarity(&x, 1, -1.0), "cosine_similarity: expected an eps"),
        (x.normalize(2.0, 1, f64::NAN), "normalize: expected an eps"),
        (x.triplet_margin_loss(&x, &x, 1.0, f64::NAN, Reduction::Mean), "triplet_margin_loss: expected a number p"),
        (
            x.batch_norm_training(&zeros, &zeros, None, None, f64::NAN, 1e-5).map(|all| all.0),
            "batch_norm_training: expected a finite momentum",
        ),
    ];
    for (result, message) in cases {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
