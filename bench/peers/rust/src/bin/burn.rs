//! The workloads in burn, on its own CPU backend.

use std::convert::Infallible;

use burn::tensor::activation::{log_softmax, sigmoid, softmax};
use burn::tensor::module::{attention, conv2d, layer_norm};
use burn::tensor::ops::{AttentionModuleOptions, ConvOptions};
use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData};
use peers::{Harness, labels, mlp, uniform32};

fn f32s<const D: usize>(shape: [usize; D], seed: u64, scale: f64, device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(uniform32(shape.iter().product(), seed, scale), shape), device)
}

fn f64s(values: Vec<f64>, device: &Device) -> Tensor<1> {
    let shape = [values.len()];
    Tensor::from_data(TensorData::new(values, shape), (device, DType::F64))
}

fn indices<const D: usize>(shape: [usize; D], classes: usize, seed: u64, device: &Device) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(labels(shape.iter().product(), classes, seed), shape), device)
}

fn read<const D: usize>(out: Tensor<D>) -> Vec<f64> {
    out.into_data().iter::<f64>().collect()
}

fn read_int<const D: usize>(out: Tensor<D, Int>) -> Vec<f64> {
    out.into_data().iter::<f64>().collect()
}

struct Runs {
    harness: Harness,
    plain: Device,
    recorded: Device,
}

impl Runs {
    fn one<const D: usize>(&self, name: &str, work: impl Fn() -> Tensor<D>) {
        self.harness.run(name, 1, || Ok::<_, Infallible>(work()), |out| vec![read(out)]);
    }

    fn thousand<const D: usize>(&self, name: &str, work: impl Fn() -> Tensor<D>) {
        let many = || {
            for _ in 1..1000 {
                work();
            }
            Ok::<_, Infallible>(work())
        };
        self.harness.run(name, 1000, many, |out| vec![read(out)]);
    }

    /// The gradient with respect to three tensors at most, of different numbers of dimensions.
    fn gradient<const A: usize, const B: usize, const C: usize>(
        &self,
        name: &str,
        (a, b, c): (Tensor<A>, Tensor<B>, Tensor<C>),
        value: impl Fn(&Tensor<A>, &Tensor<B>, &Tensor<C>) -> Tensor<1>,
    ) {
        let work = || {
            let (a, b, c) = (leaf(&a), leaf(&b), leaf(&c));
            let g = value(&a, &b, &c).backward();
            Ok::<_, Infallible>((a.grad(&g), b.grad(&g), c.grad(&g)))
        };
        let read = |(a, b, c): (Option<Tensor<A>>, Option<Tensor<B>>, Option<Tensor<C>>)| {
            [a.map(read), b.map(read), c.map(read)].into_iter().flatten().collect()
        };
        self.harness.run(name, 1, work, read);
    }
}

fn leaf<const D: usize>(x: &Tensor<D>) -> Tensor<D> {
    x.clone().autodiff().require_grad()
}

fn chain(v: &Tensor<1>) -> Tensor<1> {
    let left = (v.clone() * 2.0 + 1.0).tanh() * (-(v.clone() * v.clone())).exp();
    (left + (v.clone().abs() + 1.0).sqrt()).sum()
}

fn main() {
    let harness = Harness::new("burn");
    let r = Runs { harness, plain: Device::flex(), recorded: Device::flex().autodiff() };
    let d = &r.plain;
    let (a, b) = (f32s([1], 1, 1.0, d), f32s([1], 2, 1.0, d));
    r.thousand("add1", || a.clone() + b.clone());
    let (a, b) = (f32s([8, 8], 4, 1.0, d), f32s([8, 8], 5, 1.0, d));
    r.thousand("matmul8", || a.clone().matmul(b.clone()));

    let big = f32s([4_000_000], 100, 4.0, d);
    r.one("chain4M_forward", || chain(&big));
    let none = || f32s([1], 0, 1.0, d);
    r.gradient("chain4M_grad", (big, none(), none()), |v, _, _| chain(v));
    let (a, b) = (f32s([1024, 1024], 110, 1.0, d), f32s([1024, 1024], 111, 1.0, d));
    r.one("matmul1024_f32", || a.clone().matmul(b.clone()));
    elementwise(&r);
    data(&r);
    reductions(&r);
    networks(&r);
}

fn elementwise(r: &Runs) {
    let x: Tensor<1> = f32s([1 << 20], 200, 4.0, &r.plain);
    let positive = x.clone().abs() + 0.01;
    let maps: [(&str, &Tensor<1>, fn(Tensor<1>) -> Tensor<1>); 9] = [
        ("exp", &x, Tensor::exp),
        ("log", &positive, Tensor::log),
        ("tanh", &x, Tensor::tanh),
        ("sin", &x, Tensor::sin),
        ("cos", &x, Tensor::cos),
        ("erf", &x, Tensor::erf),
        ("sigmoid", &x, sigmoid),
        ("sqrt", &positive, Tensor::sqrt),
        ("log1p", &positive, Tensor::log1p),
    ];
    for (name, x, map) in maps {
        r.one(&format!("map1M_{name}"), || map(x.clone()));
    }
    r.one("map1M_add", || x.clone() + positive.clone());
    r.one("sum1M", || x.clone().sum());
    let rows = f32s([128, 1000], 201, 4.0, &r.plain);
    r.one("softmax_128x1000", || softmax(rows.clone(), 1));
}

fn data(r: &Runs) {
    let d = &r.plain;
    let million = f32s([1 << 20], 210, 4.0, d);
    let table = f32s([1024, 1024], 211, 4.0, d);
    let both = |x: &Tensor<1>| Ok::<_, Infallible>(x.clone().sort_with_indices(0));
    r.harness.run("sort1M", 1, || both(&million), |(x, i)| vec![read(x), read_int(i)]);
    let order = || Ok::<_, Infallible>(million.clone().argsort(0));
    r.harness.run("argsort1M", 1, order, |i| vec![read_int(i)]);
    r.one("topk1M", || million.clone().topk(100, 0));
    for d in 0..2 {
        let both = || Ok::<_, Infallible>(table.clone().sort_with_indices(d));
        r.harness.run(&format!("sort1024_d{d}"), 1, both, |(x, i)| vec![read(x), read_int(i)]);
        r.one(&format!("topk1024_d{d}"), || table.clone().topk(10, d));
        r.one(&format!("cumsum1024_d{d}"), || table.clone().cumsum(d));
    }
    r.one("cumsum1M", || million.clone().cumsum(0));
    let near = million.clone() * 1e-3 + 1.0;
    r.one("cumprod1M", || near.clone().cumprod(0));

    let (places, columns) = (indices([1 << 20], 1 << 20, 220, d), indices([1024, 1024], 1024, 221, d));
    let zeros: Tensor<1> = Tensor::zeros([1 << 20], d);
    let (rows, chosen) = (f32s([100_000, 64], 222, 1.0, d), indices([1 << 14], 100_000, 223, d));
    let (added, mask) = (f32s([1 << 14, 64], 224, 1.0, d), million.clone().greater_elem(0.0));
    let add = IndexingUpdateOp::Add;
    r.one("gather1M", || million.clone().gather(0, places.clone()));
    r.one("scatter_add1M", || zeros.clone().scatter(0, places.clone(), million.clone(), add));
    for d in 0..2 {
        r.one(&format!("gather1024_d{d}"), || table.clone().gather(d, columns.clone()));
        r.one(&format!("scatter_add1024_d{d}"), || table.clone().scatter(d, columns.clone(), table.clone(), add));
    }
    r.one("index_select1M", || rows.clone().select(0, chosen.clone()));
    r.one("index_add1M", || rows.clone().select_assign(0, chosen.clone(), added.clone(), add));
    r.one("masked_fill1M", || million.clone().mask_fill(mask.clone(), 0.5));
    r.one("where1M", || near.clone().mask_where(mask.clone(), million.clone()));
}

fn reductions(r: &Runs) {
    let block: Tensor<3> = f32s([256, 128, 64], 240, 4.0, &r.plain);
    let close = block.clone() * 0.05 + 1.0;
    for d in 0..3 {
        r.one(&format!("reduce_sum_d{d}"), || block.clone().sum_dim(d));
        r.one(&format!("reduce_max_d{d}"), || block.clone().max_dim(d));
        r.one(&format!("reduce_mean_d{d}"), || block.clone().mean_dim(d));
        r.one(&format!("reduce_var_d{d}"), || block.clone().var(d));
        r.one(&format!("reduce_prod_d{d}"), || close.clone().prod_dim(d));
        let argmax = || Ok::<_, Infallible>(block.clone().argmax(d));
        r.harness.run(&format!("reduce_argmax_d{d}"), 1, argmax, |i| vec![read_int(i)]);
    }
}

fn networks(r: &Runs) {
    let d = &r.plain;
    let none = || f32s([1], 0, 1.0, d);
    let (x, w) = (f32s([8, 32, 56, 56], 210, 1.0, d), f32s([64, 32, 3, 3], 211, 0.1, d));
    let conv =
        |x: &Tensor<4>, w: &Tensor<4>| conv2d(x.clone(), w.clone(), None, ConvOptions::new([1, 1], [1, 1], [1, 1], 1));
    r.one("conv2d", || conv(&x, &w));
    r.gradient("conv2d_grad", (x, w, none()), |x, w, _| conv(x, w).square().sum());

    let (x, w, b) = (f32s([512, 1024], 220, 2.0, d), f32s([1024], 221, 2.0, d), f32s([1024], 222, 2.0, d));
    let norm = |x: &Tensor<2>, w: &Tensor<1>, b: &Tensor<1>| layer_norm(x.clone(), w.clone(), Some(b.clone()), 1e-5);
    r.one("layer_norm", || norm(&x, &w, &b));
    r.gradient("layer_norm_grad", (x, w, b), |x, w, b| norm(x, w, b).square().sum());

    let [q, k, v] = [230, 231, 232].map(|seed| f32s([2, 8, 512, 64], seed, 2.0, d));
    for (name, is_causal) in [("sdpa", false), ("sdpa_causal", true)] {
        let attend = |q: &Tensor<4>, k: &Tensor<4>, v: &Tensor<4>| {
            let options = AttentionModuleOptions { is_causal, ..Default::default() };
            attention(q.clone(), k.clone(), v.clone(), None, None, options)
        };
        r.one(name, || attend(&q, &k, &v));
        let args = (q.clone(), k.clone(), v.clone());
        r.gradient(&format!("{name}_grad"), args, |q, k, v| attend(q, k, v).square().sum());
    }
    train_step(r);
    ode(r);
}

fn train_step(r: &Runs) {
    let d = &r.plain;
    let layer = |(inputs, outputs, seed, scale): (usize, usize, u64, f64)| {
        (f32s([outputs, inputs], seed, scale, d), f32s([outputs], seed + 1, scale, d))
    };
    let layers: Vec<(Tensor<2>, Tensor<1>)> = mlp(&[784, 512, 512, 10], 140).into_iter().map(layer).collect();
    let x = f32s([128, 784], 150, 1.0, &r.recorded);
    let y = indices([128, 1], 10, 151, &r.recorded);
    let step = || {
        let leaves: Vec<(Tensor<2>, Tensor<1>)> = layers.iter().map(|(w, b)| (leaf(w), leaf(b))).collect();
        let mut h = x.clone();
        for (k, (w, b)) in leaves.iter().enumerate() {
            h = if k > 0 { h.tanh() } else { h };
            h = h.matmul(w.clone().transpose()) + b.clone().unsqueeze();
        }
        let g = (-log_softmax(h, 1).gather(1, y.clone()).mean()).backward();
        let stepped = leaves.iter().zip(&layers).map(|((w, b), (w0, b0))| {
            let (dw, db) = (w.grad(&g).expect("a gradient"), b.grad(&g).expect("a gradient"));
            (w0.clone() - dw * 0.1, b0.clone() - db * 0.1)
        });
        Ok::<_, Infallible>(stepped.collect::<Vec<_>>())
    };
    let all = |out: Vec<(Tensor<2>, Tensor<1>)>| out.into_iter().flat_map(|(w, b)| [read(w), read(b)]).collect();
    r.harness.run("train_step_mlp", 1, step, all);
}

fn ode(r: &Runs) {
    let start = f64s(vec![10.0, 5.0], &r.plain);
    let none = || f32s([1], 0, 1.0, &r.plain);
    r.gradient("ode100_grad", (start, none(), none()), |u0, _, _| {
        let mut u = u0.clone();
        for _ in 0..100 {
            let (x, y) = (u.clone().slice([0..1]), u.clone().slice([1..2]));
            let (dx, dy) = (x.clone() * (y.clone() * -0.4 + 1.1), y * (x * 0.1 - 0.4));
            u = u + Tensor::cat(vec![dx, dy], 0) * 0.01;
        }
        u.sum()
    });
    let point = f64s(vec![0.7], &r.plain);
    r.gradient("scalar_grad", (point, none(), none()), |x, _, _| {
        let x = x.clone();
        x.clone().sin() * (-(x.clone() * x.clone())).exp() + x.tanh()
    });
}
