//! The workloads in candle: those that need one derivative at most, which is what it has.

use candle_core::{D, DType, Device, IndexOp, Result, Tensor, Var};
use candle_nn::{loss::cross_entropy, ops};
use peers::{Harness, labels, mlp, uniform, uniform32};

const CPU: Device = Device::Cpu;

fn f32s(shape: &[usize], seed: u64, scale: f64) -> Result<Tensor> {
    Tensor::from_vec(uniform32(shape.iter().product(), seed, scale), shape, &CPU)
}

fn f64s(shape: &[usize], seed: u64, scale: f64) -> Result<Tensor> {
    Tensor::from_vec(uniform(shape.iter().product(), seed, scale), shape, &CPU)
}

fn indices(shape: &[usize], classes: usize, seed: u64) -> Result<Tensor> {
    Tensor::from_vec(labels(shape.iter().product(), classes, seed), shape, &CPU)
}

fn read(out: &Tensor) -> Vec<f64> {
    let flat = out.flatten_all().and_then(|t| t.to_dtype(DType::F64)).and_then(|t| t.to_vec1());
    flat.expect("elements of a number type")
}

/// Runs a function of tensors, and its gradient.
struct Runs(Harness);

impl Runs {
    fn one(&self, name: &str, work: impl Fn() -> Result<Tensor>) {
        self.0.run(name, 1, work, |out| vec![read(&out)]);
    }

    fn thousand(&self, name: &str, work: impl Fn() -> Result<Tensor>) {
        let many = || {
            for _ in 1..1000 {
                work()?;
            }
            work()
        };
        self.0.run(name, 1000, many, |out| vec![read(&out)]);
    }

    fn gradient(&self, name: &str, args: &[Tensor], value: impl Fn(&[Tensor]) -> Result<Tensor>) -> Result<()> {
        let variables: Vec<Var> = args.iter().map(Var::from_tensor).collect::<Result<_>>()?;
        let args: Vec<Tensor> = variables.iter().map(|v| v.as_tensor().clone()).collect();
        let work = || {
            let gradients = value(&args)?.backward()?;
            Result::Ok(args.iter().map(|a| gradients.get(a).expect("a gradient").clone()).collect::<Vec<_>>())
        };
        self.0.run(name, 1, work, |out| out.iter().map(read).collect());
        Ok(())
    }

    fn with_gradient(&self, name: &str, args: &[Tensor], value: impl Fn(&[Tensor]) -> Result<Tensor>) -> Result<()> {
        self.one(name, || value(args));
        self.gradient(&format!("{name}_grad"), args, |a| value(a)?.sqr()?.sum_all())
    }
}

fn scalar(x: &Tensor) -> Result<Tensor> {
    x.sin()?.mul(&x.mul(x)?.neg()?.exp()?)?.add(&x.tanh()?)
}

fn chain(v: &Tensor) -> Result<Tensor> {
    let left = v.affine(2.0, 1.0)?.tanh()?.mul(&v.mul(v)?.neg()?.exp()?)?;
    left.add(&v.abs()?.affine(1.0, 1.0)?.sqrt()?)?.sum_all()
}

fn network(layers: &[Tensor], x: &Tensor) -> Result<Tensor> {
    let mut x = x.clone();
    for (k, layer) in layers.chunks(2).enumerate() {
        if k > 0 {
            x = x.tanh()?;
        }
        x = x.matmul(&layer[0].t()?)?.broadcast_add(&layer[1])?;
    }
    Ok(x)
}

fn main() -> Result<()> {
    let r = Runs(Harness::new("candle"));
    let (a, b) = (f32s(&[1], 1, 1.0)?, f32s(&[1], 2, 1.0)?);
    r.thousand("add1", || &a + &b);
    let (a, b) = (f32s(&[8, 8], 4, 1.0)?, f32s(&[8, 8], 5, 1.0)?);
    r.thousand("matmul8", || a.matmul(&b));
    r.gradient("scalar_grad", &[Tensor::new(0.7f64, &CPU)?], |x| scalar(&x[0]))?;

    let big = f32s(&[4_000_000], 100, 4.0)?;
    r.one("chain4M_forward", || chain(&big));
    r.gradient("chain4M_grad", &[big], |v| chain(&v[0]))?;
    let (a, b) = (f32s(&[1024, 1024], 110, 1.0)?, f32s(&[1024, 1024], 111, 1.0)?);
    r.one("matmul1024_f32", || a.matmul(&b));
    let (a, b) = (f64s(&[1024, 1024], 110, 1.0)?, f64s(&[1024, 1024], 111, 1.0)?);
    r.one("matmul1024_f64", || a.matmul(&b));
    elementwise(&r)?;
    data(&r)?;
    reductions(&r)?;
    networks(&r)
}

fn elementwise(r: &Runs) -> Result<()> {
    let x = f32s(&[1 << 20], 200, 4.0)?;
    let positive = x.abs()?.affine(1.0, 0.01)?;
    let maps: [(&str, &Tensor, fn(&Tensor) -> Result<Tensor>); 8] = [
        ("exp", &x, Tensor::exp),
        ("log", &positive, Tensor::log),
        ("tanh", &x, Tensor::tanh),
        ("sin", &x, Tensor::sin),
        ("cos", &x, Tensor::cos),
        ("erf", &x, Tensor::erf),
        ("sigmoid", &x, ops::sigmoid),
        ("sqrt", &positive, Tensor::sqrt),
    ];
    for (name, x, map) in maps {
        r.one(&format!("map1M_{name}"), || map(x));
    }
    r.one("map1M_add", || &x + &positive);
    r.one("sum1M", || x.sum_all());
    let rows = f32s(&[128, 1000], 201, 4.0)?;
    r.one("softmax_128x1000", || ops::softmax_last_dim(&rows));
    Ok(())
}

fn data(r: &Runs) -> Result<()> {
    let million = f32s(&[1 << 20], 210, 4.0)?;
    let table = f32s(&[1024, 1024], 211, 4.0)?;
    let sort = |x: &Tensor| x.sort_last_dim(true);
    r.0.run("sort1M", 1, || sort(&million), |(x, i)| vec![read(&x), read(&i)]);
    r.one("argsort1M", || million.arg_sort_last_dim(true));
    r.0.run("sort1024_d1", 1, || sort(&table), |(x, i)| vec![read(&x), read(&i)]);
    r.one("cumsum1024_d0", || table.cumsum(0));
    r.one("cumsum1024_d1", || table.cumsum(1));

    let (places, columns) = (indices(&[1 << 20], 1 << 20, 220)?, indices(&[1024, 1024], 1024, 221)?);
    let zeros = Tensor::zeros(1 << 20, DType::F32, &CPU)?;
    let (rows, chosen) = (f32s(&[100_000, 64], 222, 1.0)?, indices(&[1 << 14], 100_000, 223)?);
    let (added, mask) = (f32s(&[1 << 14, 64], 224, 1.0)?, million.gt(0f32)?);
    let near = million.affine(1e-3, 1.0)?;
    r.one("gather1M", || million.gather(&places, 0));
    r.one("scatter_add1M", || zeros.scatter_add(&places, &million, 0));
    for d in 0..2 {
        r.one(&format!("gather1024_d{d}"), || table.gather(&columns, d));
        r.one(&format!("scatter_add1024_d{d}"), || table.scatter_add(&columns, &table, d));
    }
    r.one("index_select1M", || rows.index_select(&chosen, 0));
    r.one("index_add1M", || rows.index_add(&chosen, &added, 0));
    r.one("where1M", || mask.where_cond(&million, &near));
    Ok(())
}

fn reductions(r: &Runs) -> Result<()> {
    let block = f32s(&[256, 128, 64], 240, 4.0)?;
    for d in 0..3 {
        r.one(&format!("reduce_sum_d{d}"), || block.sum(d));
        r.one(&format!("reduce_max_d{d}"), || block.max(d));
        r.one(&format!("reduce_mean_d{d}"), || block.mean(d));
        r.one(&format!("reduce_var_d{d}"), || block.var(d));
        r.one(&format!("reduce_argmax_d{d}"), || block.argmax(d));
        r.one(&format!("reduce_logsumexp_d{d}"), || block.log_sum_exp(d));
        r.one(&format!("reduce_norm_d{d}"), || block.sqr()?.sum(d)?.sqrt());
    }
    Ok(())
}

fn networks(r: &Runs) -> Result<()> {
    let args = [f32s(&[8, 32, 56, 56], 210, 1.0)?, f32s(&[64, 32, 3, 3], 211, 0.1)?];
    r.with_gradient("conv2d", &args, |a| a[0].conv2d(&a[1], 1, 1, 1, 1))?;
    let args = [f32s(&[512, 1024], 220, 2.0)?, f32s(&[1024], 221, 2.0)?, f32s(&[1024], 222, 2.0)?];
    r.one("layer_norm", || ops::layer_norm(&args[0], &args[1], &args[2], 1e-5));
    r.gradient("layer_norm_grad", &args, |a| ops::layer_norm_slow(&a[0], &a[1], &a[2], 1e-5)?.sqr()?.sum_all())?;
    let heads = [230, 231, 232].map(|seed| f32s(&[2, 8, 512, 64], seed, 2.0));
    let heads: Vec<Tensor> = heads.into_iter().collect::<Result<_>>()?;
    let attend = |a: &[Tensor]| {
        let scores = (a[0].matmul(&a[1].t()?)? / 8.0)?;
        ops::softmax(&scores, D::Minus1)?.matmul(&a[2])
    };
    r.with_gradient("sdpa", &heads, attend)?;
    let (yes, no) = (Tensor::zeros((512, 512), DType::F32, &CPU)?, f32::NEG_INFINITY);
    let mask = Tensor::tril2(512, DType::U8, &CPU)?.where_cond(&yes, &Tensor::full(no, (512, 512), &CPU)?)?;
    let causal = |a: &[Tensor]| {
        let scores = (a[0].matmul(&a[1].t()?)? / 8.0)?.broadcast_add(&mask)?;
        ops::softmax(&scores, D::Minus1)?.matmul(&a[2])
    };
    r.with_gradient("sdpa_causal", &heads, causal)?;

    let mut layers = Vec::new();
    for (inputs, outputs, seed, scale) in mlp(&[784, 512, 512, 10], 140) {
        layers.push(Var::from_tensor(&f32s(&[outputs, inputs], seed, scale)?)?);
        layers.push(Var::from_tensor(&f32s(&[outputs], seed + 1, scale)?)?);
    }
    let layers: Vec<Tensor> = layers.iter().map(|v| v.as_tensor().clone()).collect();
    let (x, y) = (f32s(&[128, 784], 150, 1.0)?, indices(&[128], 10, 151)?.to_dtype(DType::U32)?);
    let step = || {
        let gradients = cross_entropy(&network(&layers, &x)?, &y)?.backward()?;
        layers.iter().map(|p| p.detach() - (gradients.get(p).expect("a gradient") * 0.1)?).collect::<Result<Vec<_>>>()
    };
    r.0.run("train_step_mlp", 1, step, |out| out.iter().map(read).collect());

    let start = Tensor::new(&[10f64, 5.0], &CPU)?;
    r.gradient("ode100_grad", &[start], |u0| {
        let mut u = u0[0].clone();
        for _ in 0..100 {
            let (x, y) = (u.i(0)?, u.i(1)?);
            let (dx, dy) = (x.mul(&y.affine(-0.4, 1.1)?)?, y.mul(&x.affine(0.1, -0.4)?)?);
            u = (&u + (Tensor::stack(&[dx, dy], 0)? * 0.01)?)?;
        }
        u.sum_all()
    })
}
