//! Every transform inside every other, three deep, compared with power series that the tests compute themselves; from
//! threads of a pool; and after errors and panics at every depth.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::random::Key;
use pullback::*;
use rayon::prelude::*;

use super::functions::Cube;
use super::quietly;

/// The highest order of derivatives: three steps of order two.
const ORDER: usize = 6;

/// A number with its derivatives along up to six directions: entry `m` belongs to the directions in the bits of `m`.
#[derive(Clone, Copy)]
struct Jet([f64; 1 << ORDER]);

impl Jet {
    fn constant(x: f64) -> Jet {
        let mut jet = [0.0; 1 << ORDER];
        jet[0] = x;
        Jet(jet)
    }

    /// Moves by `amount` along direction `bit`.
    fn step(mut self, bit: usize, amount: f64) -> Jet {
        self.0[1 << bit] += amount;
        self
    }

    /// A function of it, by the values of the function and its derivatives at the value.
    fn series(self, derivatives: [f64; ORDER + 1]) -> Jet {
        let mut nilpotent = self;
        nilpotent.0[0] = 0.0;
        let (mut sum, mut power, mut factorial) = (Jet::constant(derivatives[0]), Jet::constant(1.0), 1.0);
        for (k, d) in derivatives.into_iter().enumerate().skip(1) {
            power = power * nilpotent;
            factorial *= k as f64;
            sum = sum + power * Jet::constant(d / factorial);
        }
        sum
    }

    fn exp(self) -> Jet {
        self.series([self.0[0].exp(); ORDER + 1])
    }

    fn sin(self) -> Jet {
        let x = self.0[0];
        self.series(std::array::from_fn(|k| (x + k as f64 * std::f64::consts::FRAC_PI_2).sin()))
    }

    fn cos(self) -> Jet {
        (self + Jet::constant(std::f64::consts::FRAC_PI_2)).sin()
    }
}

impl std::ops::Add for Jet {
    type Output = Jet;
    fn add(self, other: Jet) -> Jet {
        Jet(std::array::from_fn(|m| self.0[m] + other.0[m]))
    }
}

impl std::ops::Mul for Jet {
    type Output = Jet;
    fn mul(self, other: Jet) -> Jet {
        let mut product = [0.0; 1 << ORDER];
        for (a, x) in self.0.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            for (b, y) in other.0.iter().enumerate().filter(|(b, _)| a & b == 0) {
                product[a | b] += x * y;
            }
        }
        Jet(product)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Grad,
    Vjp,
    Jvp,
    Jacrev,
    Jacfwd,
    Hessian,
    Hvp,
    Laplacian,
    /// All arguments have lanes, in front.
    Front,
    /// Some arguments have lanes, at the back.
    Back,
    /// Lanes in front, a few at a time.
    Chunked,
    /// Lanes in front, one at a time.
    Loop,
}
use Step::{
    Back, Chunked, Front, Grad, Hessian as Hess, Hvp as Product, Jacfwd, Jacrev, Jvp, Laplacian as Trace, Loop, Vjp,
};

const STEPS: [Step; 12] = [Grad, Vjp, Jvp, Jacrev, Jacfwd, Hess, Product, Trace, Front, Back, Chunked, Loop];

impl Step {
    fn order(self) -> usize {
        match self {
            Front | Back | Chunked | Loop => 0,
            Hess | Product | Trace => 2,
            _ => 1,
        }
    }

    /// What each lane contributes to the total; none for a derivative.
    fn weights(self) -> &'static [f64] {
        match self {
            Front | Back | Loop => &[1.0, -0.6],
            Chunked => &[1.0, -0.6, 0.3],
            _ => &[],
        }
    }

    /// Whether an argument has lanes.
    fn batches(self, input: usize, depth: usize) -> bool {
        !self.weights().is_empty() && (self != Back || (input + depth).is_multiple_of(2))
    }
}

/// The arguments: a vector and a number.
type Args = Vec<Tensor>;

/// A scalar function by way of the library, and by way of jets.
struct Subject {
    name: &'static str,
    at: [(&'static [f64], &'static [usize]); 2],
    apply: fn(&Args) -> Result<Tensor>,
    twin: fn(&[Vec<Jet>]) -> Jet,
}

/// Σ x² y + exp(x₀ y) x₁, by elementwise operations and a product of vectors.
const SMOOTH: Subject = Subject {
    name: "smooth",
    at: [(&[0.4, -0.7], &[2]), (&[0.6], &[])],
    apply: |a| {
        let (x, y) = (&a[0], &a[1]);
        let exponential = x.select(0, 0)?.mul(y)?.exp()?.mul(&x.select(0, 1)?)?;
        x.dot(x)?.mul(y)?.add(&exponential)
    },
    twin: |a| {
        let (x, y) = (&a[0], a[1][0]);
        (x[0] * x[0] + x[1] * x[1]) * y + (x[0] * y).exp() * x[1]
    },
};

/// Σ sin(M x)·cumsum(x) + y³·x₁, with the cube a function that has a backward rule only.
const FUNCTIONS: Subject = Subject {
    name: "functions",
    at: [(&[0.3, 0.8], &[2]), (&[-0.5], &[])],
    apply: |a| {
        let (x, y) = (&a[0], &a[1]);
        let m = Tensor::from([[0.5, -1.0], [2.0, 0.3]]);
        let waves = m.matmul(x)?.sin()?.mul(&x.cumsum(0)?)?.sum()?;
        waves.add(&Cube.apply(y)?.mul(&x.i(1)?)?)
    },
    twin: |a| {
        let (x, y, c) = (&a[0], a[1][0], Jet::constant);
        let first = (c(0.5) * x[0] + c(-1.0) * x[1]).sin() * x[0];
        let second = (c(2.0) * x[0] + c(0.3) * x[1]).sin() * (x[0] + x[1]);
        first + second + y * y * y * x[1]
    },
};

/// Derivatives inside of the function, of closures over its arguments: d/dt sin(t·y)·t at x₀, times x₁, where a
/// perturbation of `t` that is taken for one of `y` would show.
const CLOSURES: Subject = Subject {
    name: "closures",
    at: [(&[0.9, 0.5], &[2]), (&[0.7], &[])],
    apply: |a| {
        let (x, y) = (&a[0], &a[1]);
        let f = |t: &Tensor| t.mul(y)?.sin()?.mul(t);
        let t = x.select(0, 0)?;
        let slope = grad(f)(&t)?.add(&jvp(f, &t, &Tensor::from(1.0))?.1)?.mul(0.5)?;
        slope.mul(&x.select(0, 1)?)
    },
    twin: |a| {
        let (x, y) = (&a[0], a[1][0]);
        ((x[0] * y).sin() + (x[0] * y).cos() * x[0] * y) * x[1]
    },
};

/// An irregular number, of either sign.
fn irregular(a: usize, b: usize, c: usize) -> f64 {
    let u = ((a * 37 + b * 101 + c * 53 + 11) % 97) as f64 / 97.0;
    if u < 0.5 { u - 0.8 } else { u }
}

/// A direction for argument `input`, one of two at each depth.
fn direction(depth: usize, which: usize, input: usize, like: &Tensor) -> Result<Tensor> {
    let values: Vec<f64> = (0..like.numel()).map(|i| irregular(depth + 5 * which, input, i)).collect();
    Tensor::from_slice(&values, like.shape())
}

/// The sum of the products of two trees.
fn contract(a: &Args, b: &Args) -> Result<Tensor> {
    let mut total = Tensor::from(0.0);
    for (a, b) in a.iter().zip(b) {
        total = total.add(&a.mul(b)?.sum()?)?;
    }
    Ok(total)
}

/// What a function with two results makes of one with one, and what its derivative is multiplied by again.
const RESULTS: [f64; 2] = [0.7, -1.3];
const COTANGENT: [f64; 2] = [0.4, -0.9];

/// Where a function goes wrong on purpose: at a depth, before or after what is inside, by an error or a panic.
struct Fault {
    depth: usize,
    after: bool,
    panics: bool,
    /// A value of the levels that were running.
    seen: Mutex<Option<Tensor>>,
}

impl Fault {
    fn visit(&self, depth: usize, after: bool, x: &Tensor) -> Result<()> {
        if (self.depth, self.after) != (depth, after) {
            return Ok(());
        }
        *self.seen.lock().unwrap() = Some(x.clone());
        if self.panics {
            panic!("on purpose");
        }
        Err(Error::other("on purpose"))
    }
}

impl Subject {
    /// The transforms of a nest, the outermost first, applied to the function and summed up to one number.
    fn nested(&self, nest: &[Step], x: &Args, fault: Option<&Fault>) -> Result<Tensor> {
        let visit = |after: bool| fault.map_or(Ok(()), |f| f.visit(nest.len(), after, &x[0]));
        visit(false)?;
        let out = match nest.split_first() {
            None => (self.apply)(x)?,
            Some((step, rest)) => self.transformed(*step, rest, x, fault)?,
        };
        visit(true)?;
        Ok(out)
    }

    fn transformed(&self, step: Step, rest: &[Step], x: &Args, fault: Option<&Fault>) -> Result<Tensor> {
        let depth = rest.len();
        let inner = |x: &Args| self.nested(rest, x, fault);
        let two = |x: &Args| inner(x)?.mul(&Tensor::from(RESULTS));
        let along = |which: usize| -> Result<Args> {
            x.iter().enumerate().map(|(k, t)| direction(depth, which, k, t)).collect()
        };
        let cotangent = Tensor::from(COTANGENT);
        // Rows of a Jacobian, weighted.
        let weighted = |j: Args| -> Result<Args> {
            j.iter().map(|t| cotangent.matmul(&t.reshape(&[2, -1])?)?.reshape(&[-1])).collect()
        };
        let flat = |x: Args| -> Result<Args> { x.iter().map(|t| t.reshape(&[-1])).collect() };
        match step {
            Grad => contract(&grad(inner)(x)?, &along(0)?),
            Vjp => contract(&vjp(two, x)?.1.call(&cotangent)?, &along(0)?),
            Jvp => Ok(jvp(inner, x, &along(0)?)?.1),
            Jacrev => contract(&weighted(jacrev(two)(x)?)?, &flat(along(0)?)?),
            Jacfwd => contract(&weighted(jacfwd(two)(x)?)?, &flat(along(0)?)?),
            Hess => {
                let (u, v) = (flat(along(0)?)?, flat(along(1)?)?);
                let mut total = Tensor::from(0.0);
                for (row, u) in hessian(inner)(x)?.iter().zip(&u) {
                    for (block, v) in row.iter().zip(&v) {
                        let block = block.reshape(&[u.numel() as isize, v.numel() as isize])?;
                        total = total.add(&u.dot(&block.matmul(v)?)?)?;
                    }
                }
                Ok(total)
            }
            Product => contract(&hvp(inner, x, &along(0)?)?.1, &along(1)?),
            Trace => laplacian(inner)(x),
            Front | Back | Chunked | Loop => {
                let place = |t: &Tensor| if step == Back { t.rank() - 1 } else { 0 };
                let dims: Vec<Option<usize>> =
                    x.iter().enumerate().map(|(k, t)| step.batches(k, depth).then(|| place(t))).collect();
                let map = Vmap::new().in_dims(dims);
                let map = match step {
                    Chunked => map.chunk_size(2),
                    Loop => map.chunk_size(1),
                    _ => map,
                };
                map.of(inner)(x)?.dot(&Tensor::from(step.weights()))
            }
        }
    }

    /// The arguments of a nest: those of each lane are rotated and rescaled.
    fn arguments(&self, nest: &[Step]) -> Args {
        let grow = |(k, (data, shape)): (usize, &(&[f64], &[usize]))| {
            let mut t = Tensor::from_slice(data, shape).unwrap();
            for (depth, step) in nest.iter().rev().enumerate().filter(|(depth, s)| s.batches(k, *depth)) {
                let lane = |lane: usize| {
                    let mut values = t.to_vec::<f64>().unwrap();
                    let len = values.len();
                    values.rotate_left(lane % len);
                    values.iter_mut().for_each(|v| *v *= 1.0 + 0.07 * (lane + depth) as f64);
                    Tensor::from_slice(&values, t.shape()).unwrap()
                };
                let lanes: Vec<Tensor> = (0..step.weights().len()).map(lane).collect();
                t = stack(&lanes.iter().collect::<Vec<_>>(), if *step == Back { -1 } else { 0 }).unwrap();
            }
            t
        };
        self.at.iter().enumerate().map(grow).collect()
    }

    /// What [`Subject::nested`] must be, from jets: the derivatives of its directions from `bit` on.
    fn expected(&self, nest: &[Step], bit: usize, x: &[Vec<Jet>]) -> Jet {
        let Some((step, rest)) = nest.split_first() else { return (self.twin)(x) };
        let depth = rest.len();
        let moved = |x: &[Vec<Jet>], bit: usize, which: usize| -> Vec<Vec<Jet>> {
            let along = |(k, t): (usize, &Vec<Jet>)| {
                t.iter().enumerate().map(|(i, j)| j.step(bit, irregular(depth + 5 * which, k, i))).collect()
            };
            x.iter().enumerate().map(along).collect()
        };
        match step {
            Grad | Jvp => self.expected(rest, bit + 1, &moved(x, bit, 0)),
            Vjp | Jacrev | Jacfwd => {
                let scale = RESULTS.iter().zip(COTANGENT).map(|(w, c)| w * c).sum();
                self.expected(rest, bit + 1, &moved(x, bit, 0)) * Jet::constant(scale)
            }
            Hess | Product => self.expected(rest, bit + 2, &moved(&moved(x, bit, 0), bit + 1, 1)),
            Trace => {
                let mut total = Jet::constant(0.0);
                for (k, t) in x.iter().enumerate() {
                    for i in 0..t.len() {
                        let mut x = x.to_vec();
                        x[k][i] = x[k][i].step(bit, 1.0).step(bit + 1, 1.0);
                        total = total + self.expected(rest, bit + 2, &x);
                    }
                }
                total
            }
            Front | Back | Chunked | Loop => {
                let (mut total, n) = (Jet::constant(0.0), step.weights().len());
                for (lane, weight) in step.weights().iter().enumerate() {
                    let pick = |(k, t): (usize, &Vec<Jet>)| match t.len() / n {
                        _ if !step.batches(k, depth) => t.clone(),
                        _ if *step == Back => t.iter().skip(lane).step_by(n).copied().collect(),
                        size => t[lane * size..(lane + 1) * size].to_vec(),
                    };
                    let x: Vec<Vec<Jet>> = x.iter().enumerate().map(pick).collect();
                    total = total + self.expected(rest, bit, &x) * Jet::constant(*weight);
                }
                total
            }
        }
    }

    /// What a nest gives, and what it must give.
    fn compare(&self, nest: &[Step]) -> Result<(f64, f64)> {
        let x = self.arguments(nest);
        let jets: Vec<Vec<Jet>> =
            x.iter().map(|t| t.to_vec::<f64>().unwrap().into_iter().map(Jet::constant).collect()).collect();
        let order: usize = nest.iter().map(|s| s.order()).sum();
        let want = self.expected(nest, 0, &jets).0[(1 << order) - 1];
        Ok((self.nested(nest, &x, None)?.item()?, want))
    }

    /// What is wrong with a nest, if anything.
    fn wrong(&self, nest: &[Step]) -> Option<String> {
        match self.compare(nest) {
            Ok((got, want)) if (got - want).abs() <= 1e-9 * want.abs().max(1.0) => None,
            Ok((got, want)) => Some(format!("{} {nest:?}: got {got}, expected {want}", self.name)),
            Err(e) => Some(format!("{} {nest:?}: {e}", self.name)),
        }
    }
}

/// Nests of one to three steps.
fn nests() -> Vec<Vec<Step>> {
    let mut all: Vec<Vec<Step>> = Vec::new();
    let mut last: Vec<Vec<Step>> = vec![vec![]];
    for _ in 0..3 {
        last = last.iter().flat_map(|nest| STEPS.map(|step| [&[step][..], nest].concat())).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// All nests, on the threads of a pool.
#[track_caller]
fn check_all(subject: &Subject) {
    let wrong: Vec<String> = nests().par_iter().filter_map(|nest| subject.wrong(nest)).collect();
    assert!(wrong.is_empty(), "{} nests are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn any_transform_in_any_other_three_deep_of_a_smooth_function() {
    check_all(&SMOOTH);
}

#[test]
fn any_transform_in_any_other_three_deep_of_functions() {
    check_all(&FUNCTIONS);
}

#[test]
fn any_transform_in_any_other_three_deep_of_closures_over_outer_values() {
    check_all(&CLOSURES);
}

#[test]
fn a_wrong_function_is_found_in_every_nest() {
    let wrong = Subject { twin: |a| (SMOOTH.twin)(a) * a[1][0].cos(), ..SMOOTH };
    let missed: Vec<_> = nests().into_par_iter().step_by(7).filter(|nest| wrong.wrong(nest).is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn errors_and_panics_at_every_depth_of_every_nest_leave_nothing_behind() {
    let subject = &SMOOTH;
    let runs = AtomicUsize::new(0);
    let run = |(number, nest): (usize, &Vec<Step>)| {
        for panics in [false, true] {
            // Every depth occurs with every step.
            let depth = (number + number / STEPS.len() + number / STEPS.len().pow(2)) % (nest.len() + 1);
            let fault = Fault { depth, after: number % 3 == 0, panics, seen: Mutex::new(None) };
            let x = subject.arguments(nest);
            match quietly(|| catch_unwind(AssertUnwindSafe(|| subject.nested(nest, &x, Some(&fault))))) {
                Ok(Err(e)) => {
                    assert!(!panics, "{nest:?}");
                    assert_eq!(e.kind(), ErrorKind::User, "{nest:?}: {e}");
                    assert!(e.to_string().ends_with("on purpose"), "{nest:?}: {e}");
                }
                Ok(Ok(_)) => panic!("{nest:?}: the fault at depth {depth} was not met"),
                Err(_) => assert!(panics, "{nest:?}"),
            }
            // No level is left: one of `vmap` would refuse random numbers, and values of all are known to be stale.
            assert_eq!(Key::new(1).uniform(&[2], DType::F64).unwrap().shape(), [2], "{nest:?}");
            let seen = fault.seen.lock().unwrap().take().unwrap();
            match seen.mul(2.0) {
                Ok(doubled) => assert!(doubled.to_vec::<f64>().is_ok(), "{nest:?}"),
                Err(e) => assert!(e.is_escaped_tracer(), "{nest:?}: {e}"),
            }
        }
        // What follows on the same thread is right.
        if let Some(wrong) = subject.wrong(nest) {
            panic!("after an error: {wrong}");
        }
        runs.fetch_add(1, Ordering::Relaxed);
    };
    nests().par_iter().enumerate().for_each(run);
    assert_eq!(runs.into_inner(), nests().len());
}
