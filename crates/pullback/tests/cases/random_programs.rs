//! Programs drawn at random: what holds for single operations must hold for any mix of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::*;

use crate::vmap::{looped, same};
use crate::{noise, ones};

/// A small generator of decisions, which do not depend on data (SplitMix64).
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
    fn dim(&mut self) -> isize {
        self.below(4) as isize - 2
    }
}

/// Positions 0 and the last one along `dim` of `x`, by a condition that depends on data.
fn ends(x: &Tensor, dim: isize, condition: &Tensor) -> Result<Tensor> {
    let at = if dim < 0 { dim + x.rank() as isize } else { dim } as usize;
    let last = x.shape().get(at).map_or(0, |n| n.saturating_sub(1));
    condition.to_dtype(DType::I64)?.mul(last)
}

type Pair<T> = (T, T);

fn pull_back(ctx: Pair<bool>, (a, b): &Pair<Tensor>, g: &Cotangent) -> Result<Pair<Cotangent>> {
    let da = g.map(|g| g.mul(&b.sin()?)?.sum_to(a.shape()))?;
    let db = match ctx.1 {
        true => g.map(|g| g.mul(a)?.mul(&b.cos()?)?.sum_to(b.shape()))?,
        false => Cotangent::not_supplied(),
    };
    Ok((da, db))
}

fn push((a, b): &Pair<Tensor>, (ta, tb): &Pair<Tangent>) -> Result<Pair<Tangent>> {
    let shape = a.mul(b)?;
    let of_a = ta.map(|t| t.mul(&b.sin()?)?.expand(shape.shape()))?;
    let of_b = tb.map(|t| a.mul(&b.cos()?)?.mul(t)?.expand(shape.shape()))?;
    Ok((of_a + of_b, Tangent::not_supplied()))
}

/// Writes a user's function `a·sin(b)` (and `a > 0`) that has some of the rules and batches as told.
macro_rules! user {
    ($name:ident, $batching:ident $(, $rule:ident)*) => {
        #[derive(Clone)]
        struct $name;
        impl Function for $name {
            type Inputs = Pair<Tensor>;
            type Outputs = Pair<Tensor>;
            type Saved = Pair<Tensor>;
            fn forward(&self, (a, b): &Pair<Tensor>) -> Result<Pair<Tensor>> {
                Ok((a.mul(&b.sin()?)?, a.gt(0.0)?))
            }
            fn setup_context(&self, _: &mut Context<Self>, x: &Pair<Tensor>, _: &Pair<Tensor>) -> Result<Pair<Tensor>> {
                Ok(x.clone())
            }
            fn vmap(
                &self,
                info: &VmapInfo,
                dims: Pair<Option<usize>>,
                inputs: &Pair<Tensor>,
            ) -> Result<(Pair<Tensor>, Pair<Option<usize>>)> {
                function::rules::$batching(self, info, dims, inputs)
            }
            $(user!(@$rule);)*
        }
    };
    (@backward) => {
        fn backward(&self, ctx: &Context<Self>, x: &Pair<Tensor>, g: Pair<Cotangent>) -> Result<Pair<Cotangent>> {
            pull_back(*ctx.needs_input_grad(), x, &g.0)
        }
    };
    (@jvp) => {
        fn jvp(&self, _: &Context<Self>, x: &Pair<Tensor>, t: Pair<Tangent>) -> Result<Pair<Tangent>> {
            push(x, &t)
        }
    };
}
user!(OnlyBackward, generated, backward);
user!(OnlyJvp, generated, jvp);
user!(Both, generated, backward, jvp);
user!(BackwardByLane, per_example, backward);
user!(JvpByLane, per_example, jvp);

type Step = fn(&Tensor, &Tensor, &mut Dice) -> Result<Tensor>;

const STEPS: &[(&str, Step)] = &[
    ("sin", |a, _, _| a.sin()),
    ("tanh", |a, _, _| a.tanh()),
    ("sigmoid", |a, _, _| a.sigmoid()),
    ("softplus", |a, _, _| a.softplus()),
    ("square", |a, _, _| a.square()?.tanh()),
    ("erf", |a, _, _| a.erf()),
    ("exp", |a, _, _| a.tanh()?.exp()),
    ("root", |a, _, _| a.square()?.add(0.1)?.sqrt()),
    ("log", |a, _, _| a.square()?.log1p()),
    ("power", |a, b, _| a.square()?.add(0.5)?.pow(&b.tanh()?)),
    ("whole power", |a, _, d| a.tanh()?.powi(d.below(4) as i32)),
    ("add", |a, b, _| a.add(b)),
    ("mul", |a, b, _| a.mul(b)?.tanh()),
    ("sub", |a, b, _| b.sub(a)),
    ("div", |a, b, _| a.div(&b.square()?.add(1.0)?)),
    ("number", |a, _, d| a.mul(0.5)?.add(d.below(3) as f64)),
    ("maximum", |a, b, _| a.maximum(b)),
    ("choice", |a, b, _| a.gt(b)?.where_(&a.sin()?, b)),
    ("clamp", |a, _, _| a.clamp(Some(-0.4), Some(0.6))),
    // Away from the origin, near which second derivatives grow without bound.
    ("hypot", |a, b, _| a.hypot(b.square()?.add(0.1)?)),
    ("atan2", |a, b, _| a.atan2(&b.square()?.add(0.2)?)),
    ("logaddexp", |a, b, _| a.logaddexp(b)),
    ("matmul", |a, b, _| a.matmul(b)?.tanh()),
    ("product with own transpose", |a, _, _| a.matmul(&a.t()?)?.tanh()),
    ("contraction", |a, b, d| match d.below(4) {
        0 => einsum("ij,kj->ki", &[a, b])?.tanh(),
        1 => einsum("ij,ij->i", &[a, b])?.tanh(),
        2 => einsum("i,ji->ij", &[a, b])?.tanh(),
        _ => einsum("...j,...j->...", &[a, b])?.tanh(),
    }),
    ("outer", |a, b, _| a.outer(b)),
    ("linear", |a, b, _| a.linear(b, None)?.tanh()),
    ("sum", |a, _, d| a.sum_dims(&[d.dim()], d.below(2) == 0)),
    ("mean", |a, _, d| a.mean_dims(&[d.dim()], d.below(2) == 0)),
    ("var", |a, _, d| a.var_dims(&[d.dim()], 0, d.below(2) == 0)),
    ("max", |a, _, d| a.max_dims(&[d.dim()], d.below(2) == 0)),
    ("prod", |a, _, d| a.prod_dims(&[d.dim()], d.below(2) == 0)?.tanh()),
    ("logsumexp", |a, _, d| a.logsumexp(&[d.dim()], d.below(2) == 0)),
    ("softmax", |a, _, d| a.softmax(d.dim())),
    ("log_softmax", |a, _, d| a.log_softmax(d.dim())),
    ("cumsum", |a, _, d| a.cumsum(d.dim())),
    ("transpose", |a, _, d| a.transpose(d.dim(), d.dim())),
    ("flip", |a, _, d| a.flip(&[d.dim()])),
    ("roll", |a, _, d| a.roll(&[d.dim()], &[d.dim()])),
    ("unsqueeze", |a, _, d| a.unsqueeze(d.dim())),
    ("squeeze", |a, _, _| a.squeeze_all()),
    ("flatten", |a, _, _| a.reshape(&[-1])),
    ("fold", |a, _, _| a.reshape(&[2, -1])),
    ("repeat", |a, _, d| a.repeat_interleave(2, d.dim())),
    ("spread", |a, _, d| {
        let mut shape = vec![1 + d.below(2)];
        shape.extend_from_slice(a.shape());
        a.expand(&shape)
    }),
    ("position", |a, _, d| a.i(d.dim())),
    ("last column", |a, _, _| a.i((Ellipsis, -1))),
    ("backwards", |a, _, _| a.i((Ellipsis, s(None, None, -1)))),
    ("every other", |a, _, _| a.i(s(None, None, 2))),
    ("narrow", |a, _, d| a.narrow(d.dim(), 0, 2)),
    ("diagonal", |a, _, d| a.diagonal(d.dim(), 0, 1)),
    ("triangle", |a, _, d| a.tril(d.dim())),
    ("cat", |a, b, d| cat(&[a, b, a], d.dim())),
    ("stack", |a, b, d| stack(&[a, b], d.dim())),
    ("constant", |a, _, d| cat(&[a, &ones(a.shape())], d.dim())),
    ("replace", |a, b, _| a.index_set(0, b)),
    ("replace in place", |a, b, d| {
        let mut x = if d.below(2) == 0 { a.clone() } else { a.mul(2.0)? };
        x.set_((Ellipsis, 0), b)?;
        Ok(x)
    }),
    ("add in place", |a, b, d| {
        let mut x = if d.below(2) == 0 { a.clone() } else { a.tanh()? };
        x.add_(b)?.mul_(0.5)?;
        Ok(x)
    }),
    ("rows", |a, _, d| a.index_select(d.dim(), &Tensor::from([1i64, -1, 1]))),
    ("gather", |a, b, d| {
        let dim = d.dim();
        a.gather(dim, &ends(a, dim, &b.gt(0.0)?)?)
    }),
    ("scatter", |a, b, d| {
        let dim = d.dim();
        a.scatter(dim, &ends(a, dim, &b.gt(0.0)?)?, b)
    }),
    ("scatter_add", |a, b, d| {
        let dim = d.dim();
        a.scatter_add(dim, &ends(a, dim, &a.lt(0.0)?)?, b)
    }),
    ("moving slice", |a, b, d| {
        let dim = d.dim();
        a.dynamic_slice(dim, &ends(a, dim, &b.gt(0.0)?.any()?)?, 1)
    }),
    ("classes", |a, b, _| a.cross_entropy_with(&ends(a, -1, &b.i((Ellipsis, 0))?.gt(0.0)?)?, Reduction::None)),
    ("user's backward", |a, b, _| Ok(OnlyBackward.apply(&(a.clone(), b.clone()))?.0)),
    ("user's jvp", |a, b, _| Ok(OnlyJvp.apply(&(a.clone(), b.clone()))?.0)),
    ("user's rules", |a, b, _| {
        let (y, positive) = Both.apply(&(a.clone(), b.clone()))?;
        positive.where_(&y, &y.tanh()?)
    }),
    ("user's backward by lane", |a, b, _| Ok(BackwardByLane.apply(&(a.clone(), b.clone()))?.0)),
    ("user's jvp by lane", |a, b, _| Ok(JvpByLane.apply(&(a.clone(), b.clone()))?.0)),
    ("detach", |a, b, _| a.detach()?.mul(b)),
    ("inner gradient", |a, b, _| grad(|x: &Tensor| x.mul(b)?.sin()?.mean())(a)),
    ("inner tangent", |a, b, _| Ok(jvp(|x: &Tensor| x.sin()?.mul(b), a, &a.tanh()?)?.1)),
    ("inner lanes", |a, b, d| {
        let dim = d.below(2) as i32;
        Vmap::new().in_dims((dim, None)).out_dims(-1).of(|(a, b): &(Tensor, Tensor)| a.sin()?.mul(&b.sum()?))(&(
            a.clone(),
            b.clone(),
        ))
    }),
    ("inner gradients of lanes", |a, _, d| {
        let dim = d.below(2) as i32;
        Vmap::new().in_dims(dim).of(grad(|x: &Tensor| x.mul(a.i(0)?.mean()?)?.sin()?.sum()))(a)
    }),
];

/// Draws a program from `seed` and runs it; what failed on the way is part of the result.
fn run(seed: u64, x: &Tensor, w: &Tensor, trace: &mut Vec<String>) -> Result<Tensor> {
    let mut dice = Dice(seed);
    let mut values = vec![x.clone(), w.clone()];
    let mut done = 0;
    for _ in 0..40 {
        let (name, step) = STEPS[dice.below(STEPS.len())];
        // Mostly the newest values, so that programs are deep.
        let mut pick = |n: usize| n - 1 - dice.below(n).min(dice.below(n));
        let (j, k) = (pick(values.len()), pick(values.len()));
        let mut own = Dice(seed.wrapping_mul(31) ^ dice.below(1 << 30) as u64);
        match step(&values[j], &values[k], &mut own) {
            Ok(y) if (1..=48).contains(&y.numel()) && y.rank() <= 4 => {
                trace.push(format!("{} = {name}({j}, {k}): {}", values.len(), y.ty()));
                values.push(y);
                done += 1;
            }
            Ok(_) => {}
            Err(e) => trace.push(format!("{name}({j}, {k}) failed: {:?}: {}", e.kind(), e.message())),
        }
        if done == 9 {
            break;
        }
    }
    let mut sum = x.sum()?.mul(0.1)?;
    for v in &values[2..] {
        sum = sum.add(&v.mean()?.mul(0.7)?)?;
    }
    sum.sin()
}

fn check(seed: u64) {
    let mut dice = Dice(seed ^ 0xabcd);
    // Which arguments have lanes, and where.
    let dims = match dice.below(4) {
        0 => [Some(dice.below(2)), None],
        1 => [None, Some(dice.below(3))],
        _ => [Some(dice.below(2)), Some(dice.below(3))],
    };
    let size = [1, 3, 3][dice.below(3)];
    let at = |shape: &[usize], dim: Option<usize>, seed| {
        let mut shape = shape.to_vec();
        if let Some(d) = dim {
            shape.insert(d, size);
        }
        noise(&shape, seed)
    };
    let args = vec![at(&[3], dims[0], 0.2 + seed as f64), at(&[2, 3], dims[1], 1.9 + seed as f64)];
    let f = |a: &Vec<Tensor>| run(seed, &a[0], &a[1], &mut Vec::new());
    let by_x = |a: &Vec<Tensor>| {
        let w = a[1].clone();
        move |x: &Tensor| run(seed, x, &w, &mut Vec::new())
    };
    let by_w = |a: &Vec<Tensor>| {
        let x = a[0].clone();
        move |w: &Tensor| run(seed, &x, w, &mut Vec::new())
    };
    let map = || Vmap::new().in_dims(dims.to_vec());
    let loops = |g: &dyn Fn(&Vec<Tensor>) -> Result<Tensor>| looped(g, &args, &dims, 0).unwrap();

    // The failures on the way are those of one lane.
    let one: Vec<Tensor> =
        args.iter().zip(dims).map(|(t, d)| d.map_or(t.clone(), |d| t.select(d as isize, 0).unwrap())).collect();
    let mut alone = Vec::new();
    run(seed, &one[0], &one[1], &mut alone).unwrap();
    let batched = std::sync::Mutex::new(Vec::new());
    same(
        &map().of(|a: &Vec<Tensor>| run(seed, &a[0], &a[1], &mut batched.lock().unwrap()))(&args).unwrap(),
        &loops(&f),
    );
    assert_eq!(batched.into_inner().unwrap(), alone);

    for (derivative, name) in [
        (&(|a: &Vec<Tensor>| grad(by_x(a))(&a[0])) as &dyn Fn(&Vec<Tensor>) -> Result<Tensor>, "by x"),
        (&|a| grad(by_w(a))(&a[1]), "by w"),
    ] {
        println!("gradient {name}");
        same(&map().of(derivative)(&args).unwrap(), &loops(derivative));
    }
    same(&jacfwd(by_x(&one))(&one[0]).unwrap(), &grad(by_x(&one))(&one[0]).unwrap());
    same(&jacfwd(by_w(&one))(&one[1]).unwrap(), &jacrev(by_w(&one))(&one[1]).unwrap());
    println!("through lanes");
    let weights = noise(&[size], 3.0);
    let through = |a: &Vec<Tensor>| map().of(f)(a)?.mul(&weights)?.sum();
    let plain = |a: &Vec<Tensor>| looped(f, a, &dims, 0)?.mul(&weights)?.sum();
    let (got, want) = (grad(through)(&args).unwrap(), grad(plain)(&args).unwrap());
    same(&got[0], &want[0]);
    same(&got[1], &want[1]);
    println!("tangents through lanes");
    let direction = vec![noise(args[0].shape(), 7.0), noise(args[1].shape(), 8.0)];
    let tangent = jvp(through, &args, &direction).unwrap().1;
    let dot = |a: &Tensor, b: &Tensor| a.mul(b).unwrap().sum().unwrap();
    same(&tangent, &dot(&got[0], &direction[0]).add(&dot(&got[1], &direction[1])).unwrap());
    println!("second order");
    let v = noise(&[3], 4.0);
    let g = by_x(&one);
    let want = jacrev(grad(&g))(&one[0]).unwrap().matmul(&v).unwrap();
    same(&jvp(grad(&g), &one[0], &v).unwrap().1, &want);
    same(&grad(|x: &Tensor| Ok(jvp(&g, x, &v)?.1))(&one[0]).unwrap(), &want);
    same(&jvp(|x: &Tensor| Ok(jvp(&g, x, &v)?.1), &one[0], &v).unwrap().1, &want.dot(&v).unwrap());
    println!("second order of lanes");
    let bend = |a: &Vec<Tensor>| Ok(jvp(grad(by_x(a)), &a[0], &v)?.1);
    same(&map().of(bend)(&args).unwrap(), &loops(&bend));
    let bend = |a: &Vec<Tensor>| {
        let g = by_w(a);
        let v = noise(&[2, 3], 5.0);
        Ok(jvp(|w: &Tensor| Ok(jvp(&g, w, &v)?.1), &a[1], &v)?.1)
    };
    same(&map().of(bend)(&args).unwrap(), &loops(&bend));
    println!("no lanes");
    let none = Tensor::from(Vec::<i64>::new());
    let empty: Vec<Tensor> = args
        .iter()
        .zip(dims)
        .map(|(t, d)| d.map_or(t.clone(), |d| t.index_select(d as isize, &none).unwrap()))
        .collect();
    let total = |a: &Vec<Tensor>| map().of(f)(a)?.sum();
    assert_eq!(map().of(f)(&empty).unwrap().ty().to_string(), "f64[0]");
    assert_eq!(map().of(|a: &Vec<Tensor>| grad(by_w(a))(&a[1]))(&empty).unwrap().shape(), [0, 2, 3]);
    assert_eq!(map().of(bend)(&empty).unwrap().shape(), [0]);
    for (g, x) in grad(total)(&empty).unwrap().iter().zip(&empty) {
        same(g, &x.zeros_like().unwrap());
    }
    println!("lanes of lanes");
    // Outer lanes for the first argument, at its end.
    let outer = vec![stack(&[&args[0], &args[0].mul(-0.7).unwrap()], -1).unwrap(), args[1].clone()];
    let nested = Vmap::new().in_dims(vec![Some(args[0].rank()), None]).out_dims(-1);
    let slope = |a: &Vec<Tensor>| grad(by_w(a))(&a[1]);
    let got = nested.of(|a: &Vec<Tensor>| map().of(slope)(a))(&outer).unwrap();
    for k in 0..2 {
        let part = vec![outer[0].select(-1, k).unwrap(), args[1].clone()];
        same(&got.select(-1, k).unwrap(), &looped(slope, &part, &dims, 0).unwrap());
    }
}

#[test]
fn random_programs_obey_the_laws() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let first = number("CASES_FIRST_SEED", 0);
    let mut failed = Vec::new();
    for seed in first..first + number("CASES_SEEDS", 40) {
        if catch_unwind(AssertUnwindSafe(|| check(seed))).is_err() {
            let mut trace = Vec::new();
            let _ = catch_unwind(AssertUnwindSafe(|| run(seed, &noise(&[3], 0.2), &noise(&[2, 3], 1.9), &mut trace)));
            println!("seed {seed}:\n  {}", trace.join("\n  "));
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "seeds {failed:?}");
}
