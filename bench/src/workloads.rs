//! The workloads that every framework runs.

use pullback::nn::{Attention, Conv, MaxPool};
use pullback::{
    DType::{F32, F64},
    Function, Result, Scan, Tensor, Vmap, grad, hessian, jacfwd, jacrev, jvp, stack, vjp, vmap,
};

use crate::data;
use crate::functions::{Cube, ForwardSine, Sine};
use crate::harness::Harness;
use crate::inputs::{Dense, cnn, forward, labels, mlp, uniform};

/// Runs those that the harness selects.
pub fn run(h: &Harness) -> Result<()> {
    dispatch(h)?;
    price_of_a_function(h)?;
    per_sample(h)?;
    jacobians(h)?;
    matrices(h)?;
    bandwidth(h)?;
    elementwise(h)?;
    data::run(h)?;
    networks(h)?;
    models(h)
}

fn dispatch(h: &Harness) -> Result<()> {
    let (a, b) = (uniform(&[1], 1, F32, 1.0)?, uniform(&[1], 2, F32, 1.0)?);
    h.run("add1", 1000, || {
        let mut r = a.add(&b)?;
        for _ in 1..1000 {
            r = std::hint::black_box(&a).add(&b)?;
        }
        Ok(r)
    });
    let (a, b) = (uniform(&[8, 8], 4, F32, 1.0)?, uniform(&[8, 8], 5, F32, 1.0)?);
    h.run("matmul8", 1000, || {
        let mut r = a.matmul(&b)?;
        for _ in 1..1000 {
            r = std::hint::black_box(&a).matmul(&b)?;
        }
        Ok(r)
    });
    let scalar = |x: &Tensor| x.sin()?.mul((-(x * x)).exp()?)?.add(x.tanh()?);
    let x = Tensor::from(0.7);
    h.run("scalar_grad", 1, || grad(scalar)(&x));
    h.run("scalar_grad3", 1, || grad(grad(grad(scalar)))(&x));
    let cube = |x: &Tensor| Ok(Cube.apply(x)?.0);
    h.run("custom_grad", 1, || grad(cube)(&x));
    let xs = uniform(&[64], 3, F64, 1.0)?;
    h.run("custom_vmap_grad", 1, || vmap(grad(cube))(&xs));
    Ok(())
}

fn cross_entropy(layers: &[Dense], x: &Tensor, y: &Tensor) -> Result<Tensor> {
    forward(layers, x)?.cross_entropy(y)
}

/// What a `Function` costs over a built-in operation: the difference between `function_…` and `builtin_…`, per call, on its
/// own and recorded by a reverse level.
fn price_of_a_function(h: &Harness) -> Result<()> {
    let x = Tensor::from(0.7);
    let calls: [(&str, fn(&Tensor) -> Result<Tensor>); 2] = [("builtin", |x| x.sin()), ("function", |x| Sine.apply(x))];
    for (name, call) in calls {
        let thousand = |x: &Tensor| {
            for _ in 1..1000 {
                call(std::hint::black_box(x))?;
            }
            call(x)
        };
        h.run(&format!("{name}_call"), 1000, || thousand(&x));
        h.run(&format!("{name}_recorded"), 1000, || Ok(vjp(thousand, &x)?.0));
    }
    // A rule that was written, beside the same one derived from the other mode's.
    h.run("written_backward", 1, || grad(|x: &Tensor| Sine.apply(x))(&x));
    h.run("derived_backward", 1, || grad(|x: &Tensor| ForwardSine.apply(x))(&x));
    h.run("written_jvp", 1, || jvp(|x: &Tensor| ForwardSine.apply(x), &x, &x));
    h.run("derived_jvp", 1, || jvp(|x: &Tensor| Sine.apply(x), &x, &x));
    Ok(())
}

fn per_sample(h: &Harness) -> Result<()> {
    let layers = mlp(&[784, 128, 10], 10, F32, &[])?;
    let (x, y) = (uniform(&[256, 784], 20, F32, 1.0)?, labels(256, 10, 21));
    let each = Vmap::new()
        .in_dims((None, 0, 0))
        .of(|(p, x, y): &(Vec<Dense>, Tensor, Tensor)| grad(|p: &Vec<Dense>| cross_entropy(p, x, y))(p));
    let args = (layers, x, y);
    h.run("per_sample_mlp", 1, || each(&args));

    let (layers, x, y) = (cnn(30)?, uniform(&[64, 1, 28, 28], 40, F32, 1.0)?, labels(64, 10, 41));
    let each = Vmap::new()
        .in_dims((None, 0, 0))
        .of(|(p, x, y): &(Vec<Dense>, Tensor, Tensor)| grad(|p: &Vec<Dense>| convolutional(p, x)?.cross_entropy(y))(p));
    let args = (layers, x, y);
    h.run("per_sample_cnn", 1, || each(&args));
    Ok(())
}

/// Two convolutions with pooling, then two full layers, of one image.
fn convolutional(layers: &[Dense], x: &Tensor) -> Result<Tensor> {
    let conv = |x: &Tensor, k: usize, options: &Conv| {
        let y = x.conv2d(&layers[k].weight, Some(&layers[k].bias), options)?.tanh()?;
        y.max_pool2d(&MaxPool::new(2).stride(1))
    };
    let x = conv(x, 0, &Conv::new().stride(2).padding(3))?;
    let x = conv(&x, 1, &Conv::new().stride(2))?;
    forward(&layers[2..], &x.flatten(0, -1)?)
}

fn networks(h: &Harness) -> Result<()> {
    let (x, w) = (uniform(&[8, 32, 56, 56], 210, F32, 1.0)?, uniform(&[64, 32, 3, 3], 211, F32, 0.1)?);
    let conv = |(x, w): &(Tensor, Tensor)| x.conv2d(w, None, &Conv::new().padding(1));
    let args = (x, w);
    h.run("conv2d", 1, || conv(&args));
    h.run("conv2d_grad", 1, || grad(|a: &(Tensor, Tensor)| conv(a)?.square()?.sum())(&args));

    let x = uniform(&[512, 1024], 220, F32, 2.0)?;
    let (w, b) = (uniform(&[1024], 221, F32, 2.0)?, uniform(&[1024], 222, F32, 2.0)?);
    let norm = |(x, w, b): &(Tensor, Tensor, Tensor)| x.layer_norm(&[1024], Some(w), Some(b), 1e-5);
    let args = (x, w, b);
    h.run("layer_norm", 1, || norm(&args));
    h.run("layer_norm_grad", 1, || grad(|a: &(Tensor, Tensor, Tensor)| norm(a)?.square()?.sum())(&args));

    let heads = |seed| uniform(&[2, 8, 512, 64], seed, F32, 2.0);
    let args = (heads(230)?, heads(231)?, heads(232)?);
    for (name, causal) in [("sdpa", false), ("sdpa_causal", true)] {
        let options = Attention::new().causal(causal);
        let attend = |(q, k, v): &(Tensor, Tensor, Tensor)| q.scaled_dot_product_attention(k, v, &options);
        h.run(name, 1, || attend(&args));
        h.run(&format!("{name}_grad"), 1, || grad(|a: &(Tensor, Tensor, Tensor)| attend(a)?.square()?.sum())(&args));
    }
    Ok(())
}

fn jacobians(h: &Harness) -> Result<()> {
    let z = uniform(&[64], 50, F64, 2.0)?;
    let rosenbrock = |x: &Tensor| {
        let (head, tail) = (x.narrow(0, 0, 63)?, x.narrow(0, 1, 63)?);
        (100.0 * (tail - head.square()?).square()? + (1.0 - head).square()?).sum()
    };
    h.run("hessian_rosenbrock64", 1, || hessian(rosenbrock)(&z));
    let layers = mlp(&[2, 32, 32, 1], 60, F64, &[])?;
    let points = uniform(&[128, 2], 70, F64, 2.0)?;
    let laplacian = |x: &Tensor| hessian(|v: &Tensor| forward(&layers, v)?.select(0, 0))(x)?.trace();
    h.run("vmap_laplacian_mlp", 1, || vmap(laplacian)(&points));
    let layers = mlp(&[64, 128, 64], 80, F32, &[])?;
    let x = uniform(&[64], 90, F32, 1.0)?;
    h.run("jacrev_mlp", 1, || jacrev(|v: &Tensor| forward(&layers, v))(&x));
    h.run("jacfwd_mlp", 1, || jacfwd(|v: &Tensor| forward(&layers, v))(&x));
    Ok(())
}

/// Factors of many symmetric positive definite matrices `X Xᵀ + n`, and the gradients of the logarithms of their determinants.
fn matrices(h: &Harness) -> Result<()> {
    let definite = |count: usize, n: usize| {
        let x = uniform(&[count, n, n], 160, F64, 1.0)?;
        x.matmul(&x.transpose(1, 2)?)?.add(Tensor::eye(n, F64)?.mul(n as f64)?)
    };
    let a = definite(1000, 8)?;
    let log_det = |m: &Tensor| Ok(2.0 * m.cholesky()?.diagonal(0, 0, 1)?.log()?.sum()?);
    h.run("vmap_grad_logdet", 1, || vmap(grad(log_det))(&a));
    for (count, n) in [(1000, 8), (64, 64), (1, 512)] {
        let a = definite(count, n)?;
        h.run(&format!("cholesky_{count}x{n}"), 1, || a.cholesky());
    }
    Ok(())
}

fn bandwidth(h: &Harness) -> Result<()> {
    let big = uniform(&[4_000_000], 100, F32, 4.0)?;
    let chain = |v: &Tensor| ((v * 2.0 + 1.0).tanh()? * (-v * v).exp()? + (v.abs()? + 1.0).sqrt()?).sum();
    h.run("chain4M_forward", 1, || chain(&big));
    h.run("chain4M_grad", 1, || grad(chain)(&big));
    for (dtype, name) in [(F32, "matmul1024_f32"), (F64, "matmul1024_f64")] {
        let (a, b) = (uniform(&[1024, 1024], 110, dtype, 1.0)?, uniform(&[1024, 1024], 111, dtype, 1.0)?);
        h.run(name, 1, || a.matmul(&b));
    }
    Ok(())
}

/// A function of one tensor.
type Map = fn(&Tensor) -> Result<Tensor>;

fn elementwise(h: &Harness) -> Result<()> {
    let x = uniform(&[1 << 20], 200, F32, 4.0)?;
    let positive = x.abs()?.add(0.01)?;
    let maps: [(&str, &Tensor, Map); 9] = [
        ("map1M_exp", &x, Tensor::exp),
        ("map1M_log", &positive, Tensor::log),
        ("map1M_tanh", &x, Tensor::tanh),
        ("map1M_sin", &x, Tensor::sin),
        ("map1M_cos", &x, Tensor::cos),
        ("map1M_erf", &x, Tensor::erf),
        ("map1M_sigmoid", &x, Tensor::sigmoid),
        ("map1M_sqrt", &positive, Tensor::sqrt),
        ("map1M_log1p", &positive, Tensor::log1p),
    ];
    for (name, x, map) in maps {
        h.run(name, 1, || map(x));
    }
    h.run("map1M_add", 1, || x.add(&positive));
    h.run("sum1M", 1, || x.sum());
    let rows = uniform(&[128, 1000], 201, F32, 4.0)?;
    h.run("softmax_128x1000", 1, || rows.softmax(-1));
    Ok(())
}

fn models(h: &Harness) -> Result<()> {
    let members = mlp(&[784, 128, 10], 120, F32, &[32])?;
    let x = uniform(&[64, 784], 130, F32, 1.0)?;
    let ensemble = Vmap::new().in_dims((0, None)).of(|(p, x): &(Vec<Dense>, Tensor)| forward(p, x));
    let args = (members, x);
    h.run("ensemble32", 1, || ensemble(&args));

    let layers = mlp(&[784, 512, 512, 10], 140, F32, &[])?;
    let (x, y) = (uniform(&[128, 784], 150, F32, 1.0)?, labels(128, 10, 151));
    h.run("train_step_mlp", 1, || {
        let g = grad(|p: &Vec<Dense>| cross_entropy(p, &x, &y))(&layers)?;
        let step = |p: &Tensor, g: Tensor| p - g * 0.1;
        Ok(layers
            .iter()
            .zip(g)
            .map(|(p, g)| Dense { weight: step(&p.weight, g.weight), bias: step(&p.bias, g.bias) })
            .collect::<Vec<_>>())
    });

    ode(h)
}

/// A step of Euler's method for the equations of Lotka and Volterra.
fn lotka_volterra(u: &Tensor) -> Result<Tensor> {
    let (x, y) = (u.select(0, 0)?, u.select(0, 1)?);
    Ok(u + 0.01 * stack(&[&(&x * (1.1 - 0.4 * &y)), &(&y * (0.1 * &x - 0.4))], 0)?)
}

fn ode(h: &Harness) -> Result<()> {
    let looped = |u0: &Tensor| {
        let mut u = u0.clone();
        for _ in 0..100 {
            u = lotka_volterra(&u)?;
        }
        u.sum()
    };
    let u0 = Tensor::from([10.0, 5.0]);
    h.run("ode100_grad", 1, || grad(looped)(&u0));
    let step = |u: &Tensor, _: &()| Ok((lotka_volterra(u)?, ()));
    let scanned = |u0: &Tensor| Scan::new().length(100).run(step, u0, &())?.0.sum();
    h.run("ode100_grad_scan", 1, || grad(scanned)(&u0));
    let again = |u0: &Tensor| Scan::new().length(100).checkpoint(None).run(step, u0, &())?.0.sum();
    h.run("ode100_grad_checkpoint", 1, || grad(again)(&u0));
    Ok(())
}
