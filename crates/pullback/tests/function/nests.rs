//! Nests of transforms, and an oracle for them: derivatives to third order by arithmetic of the test itself.

use pullback::*;

/// A number with its derivatives along up to three directions: entry `m` belongs to the directions in the bits of `m`.
#[derive(Clone, Copy, Debug)]
pub struct Jet([f64; 8]);

impl Jet {
    pub fn constant(x: f64) -> Jet {
        let mut jet = [0.0; 8];
        jet[0] = x;
        Jet(jet)
    }

    pub fn value(self) -> f64 {
        self.0[0]
    }

    pub fn exp(self) -> Jet {
        let nilpotent = Jet(std::array::from_fn(|m| if m == 0 { 0.0 } else { self.0[m] }));
        let (square, cube) = (nilpotent * nilpotent, nilpotent * nilpotent * nilpotent);
        (Jet::constant(1.0) + nilpotent + square * Jet::constant(0.5) + cube * Jet::constant(1.0 / 6.0))
            * Jet::constant(self.0[0].exp())
    }

    /// The same value, with every derivative multiplied by `factor`.
    pub fn scale_derivatives(self, factor: f64) -> Jet {
        Jet(std::array::from_fn(|m| if m == 0 { self.0[0] } else { self.0[m] * factor }))
    }

    /// Moves by `amount` along direction `bit`.
    fn step(mut self, bit: usize, amount: f64) -> Jet {
        self.0[1 << bit] += amount;
        self
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
        let mut product = [0.0; 8];
        for a in 0..8 {
            for b in (0..8).filter(|b| a & b == 0) {
                product[a | b] += self.0[a] * other.0[b];
            }
        }
        Jet(product)
    }
}

/// A function by way of the library, and by way of jets, on flat inputs. Only floating outputs are given.
pub struct Subject {
    pub name: &'static str,
    pub inputs: Vec<Tensor>,
    pub apply: Box<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>>,
    pub twin: fn(&[Vec<Jet>]) -> Vec<Vec<Jet>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Grad,
    Jvp,
    Vmap,
}
use Step::{Grad, Jvp};

/// The contribution of the lanes of a `vmap` to the total.
const LANES: [f64; 2] = [1.0, -0.6];

/// Which inputs have lanes at each `vmap`: all, in front; or some, at the back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lanes {
    AllInFront,
    SomeAtTheBack,
}

impl Lanes {
    fn batched(self, input: usize, inputs: usize, depth: usize) -> bool {
        self == Lanes::AllInFront || inputs == 1 || (input + depth).is_multiple_of(2)
    }
}

/// An irregular number, of either sign.
fn irregular(a: usize, b: usize, c: usize) -> f64 {
    let u = ((a * 37 + b * 101 + c * 53 + 11) % 97) as f64 / 97.0;
    if u < 0.5 { u - 0.8 } else { u }
}

fn direction(depth: usize, input: usize, like: &Tensor) -> Result<Tensor> {
    let values: Vec<f64> = (0..like.numel()).map(|i| irregular(depth, input, i)).collect();
    Tensor::from_slice(&values, like.shape())
}

/// Nests from no step to three.
pub fn all_nests() -> Vec<Vec<Step>> {
    let mut out: Vec<Vec<Step>> = vec![vec![]];
    let mut last = out.clone();
    for _ in 0..3 {
        last = last
            .iter()
            .flat_map(|nest| [Grad, Jvp, Step::Vmap].map(|step| [vec![step], nest.clone()].concat()))
            .collect();
        out.extend(last.clone());
    }
    out
}

pub fn order(nest: &[Step]) -> usize {
    nest.iter().filter(|s| **s != Step::Vmap).count()
}

impl Subject {
    /// A number that depends on every output, and whose derivatives to third order are not zero.
    fn scalar(&self, x: &[Tensor]) -> Result<Tensor> {
        let mut total = Tensor::from(0.0);
        for (k, y) in (self.apply)(x)?.iter().enumerate() {
            let square = y.mul(y)?;
            let term = square.mul(y)?.add(square)?.add(y)?.mul(direction(9, k, y)?)?;
            total = total.add(term.sum()?)?;
        }
        Ok(total)
    }

    /// The derivatives and lanes of [`Subject::scalar`], the outermost step first, summed up to one number.
    fn nested(&self, nest: &[Step], lanes: Lanes, x: &Vec<Tensor>) -> Result<Tensor> {
        let Some((step, rest)) = nest.split_first() else { return self.scalar(x) };
        let (depth, n) = (rest.len(), x.len());
        let inner = |x: &Vec<Tensor>| self.nested(rest, lanes, x);
        let along = || x.iter().enumerate().map(|(k, t)| direction(depth, k, t)).collect::<Result<Vec<_>>>();
        match step {
            Grad => {
                let mut total = Tensor::from(0.0);
                for (g, u) in grad(inner)(x)?.iter().zip(along()?) {
                    total = total.add(g.mul(u)?.sum()?)?;
                }
                Ok(total)
            }
            Jvp => Ok(jvp(inner, x, &along()?)?.1),
            Step::Vmap => {
                let place = |t: &Tensor| if lanes == Lanes::AllInFront { 0 } else { t.rank() - 1 };
                let dims: Vec<Option<usize>> =
                    x.iter().enumerate().map(|(k, t)| lanes.batched(k, n, depth).then(|| place(t))).collect();
                Vmap::new().in_dims(dims).of(inner)(x)?.mul(&Tensor::from(LANES))?.sum()
            }
        }
    }

    /// The inputs of a nest: those of each lane are rotated and rescaled.
    fn inputs_of(&self, nest: &[Step], lanes: Lanes) -> Result<Vec<Tensor>> {
        let n = self.inputs.len();
        let grow = |(k, t): (usize, &Tensor)| {
            let mut t = t.clone();
            for (depth, step) in nest.iter().rev().enumerate() {
                if *step == Step::Vmap && lanes.batched(k, n, depth) {
                    let mut rows = Vec::new();
                    for lane in 0..LANES.len() {
                        let mut values = t.to_vec::<f64>()?;
                        let len = values.len().max(1);
                        values.rotate_left(lane % len);
                        values.iter_mut().for_each(|v| *v *= 1.0 + 0.07 * lane as f64);
                        rows.push(Tensor::from_slice(&values, t.shape())?);
                    }
                    let rows: Vec<&Tensor> = rows.iter().collect();
                    t = stack(&rows, if lanes == Lanes::AllInFront { 0 } else { -1 })?;
                }
            }
            Ok(t)
        };
        self.inputs.iter().enumerate().map(grow).collect()
    }

    /// What [`Subject::nested`] must be, from jets.
    fn expected(&self, nest: &[Step], lanes: Lanes, bit: usize, x: Vec<Vec<Jet>>) -> Jet {
        let Some((step, rest)) = nest.split_first() else {
            let mut total = Jet::constant(0.0);
            for (k, y) in (self.twin)(&x).iter().enumerate() {
                for (i, &y) in y.iter().enumerate() {
                    total = total + (y * y * y + y * y + y) * Jet::constant(irregular(9, k, i));
                }
            }
            return total;
        };
        let (depth, n) = (rest.len(), x.len());
        if *step != Step::Vmap {
            let step = |(k, t): (usize, &Vec<Jet>)| -> Vec<Jet> {
                t.iter().enumerate().map(|(i, j)| j.step(bit, irregular(depth, k, i))).collect()
            };
            return self.expected(rest, lanes, bit + 1, x.iter().enumerate().map(step).collect());
        }
        let mut total = Jet::constant(0.0);
        for (lane, weight) in LANES.iter().enumerate() {
            let pick = |(k, t): (usize, &Vec<Jet>)| -> Vec<Jet> {
                let size = t.len() / LANES.len();
                match lanes {
                    _ if !lanes.batched(k, n, depth) => t.clone(),
                    Lanes::AllInFront => t[lane * size..(lane + 1) * size].to_vec(),
                    Lanes::SomeAtTheBack => t.iter().skip(lane).step_by(LANES.len()).copied().collect(),
                }
            };
            let one = self.expected(rest, lanes, bit, x.iter().enumerate().map(pick).collect());
            total = total + one * Jet::constant(*weight);
        }
        total
    }

    /// One nest by way of the library.
    pub fn run(&self, nest: &[Step], lanes: Lanes) -> Result<f64> {
        self.nested(nest, lanes, &self.inputs_of(nest, lanes)?)?.item()
    }

    /// What one nest gives and what it must give.
    pub fn compare(&self, nest: &[Step], lanes: Lanes) -> Result<(f64, f64)> {
        let flat = |t: &Tensor| Ok(t.to_vec::<f64>()?.into_iter().map(Jet::constant).collect());
        let inputs = self.inputs_of(nest, lanes)?.iter().map(flat).collect::<Result<Vec<Vec<Jet>>>>()?;
        let jet = self.expected(nest, lanes, 0, inputs);
        Ok((self.run(nest, lanes)?, jet.0[(1 << order(nest)) - 1]))
    }

    /// Fails unless the nest gives what it must.
    #[track_caller]
    pub fn check(&self, nest: &[Step], lanes: Lanes) {
        match self.compare(nest, lanes) {
            Ok((got, want)) => {
                let error = (got - want).abs() / want.abs().max(1.0);
                assert!(error < 1e-9, "{}, {nest:?}, {lanes:?}: got {got}, expected {want}", self.name);
            }
            Err(e) => panic!("{}, {nest:?}, {lanes:?}: {e}", self.name),
        }
    }

    /// Fails unless all nests to depth three give what they must.
    #[track_caller]
    pub fn check_all(&self) {
        for nest in all_nests() {
            for lanes in [Lanes::AllInFront, Lanes::SomeAtTheBack] {
                self.check(&nest, lanes);
            }
        }
    }
}
