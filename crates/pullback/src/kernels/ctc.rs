//! Connectionist temporal classification: sums over all alignments of a sequence of labels with one of time steps.
//!
//! In logarithms and in `f64`, whatever the dtype: the sums have as many factors as there are steps.

use smallvec::SmallVec;

use super::strided::{Out, output};
use super::threads::split;
use crate::array::Array;
use crate::shape::Shape;

/// Examples of `time` steps with `classes` classes each, in contiguous arrays.
pub(crate) struct Ctc<'a> {
    /// Logarithms of probabilities `[time, examples, classes]`.
    pub(crate) x: &'a [f64],
    /// Labels `[examples, longest]`.
    pub(crate) targets: &'a [i64],
    /// How many steps of each example count.
    pub(crate) steps: &'a [i64],
    /// How many labels each example has.
    pub(crate) labels: &'a [i64],
    pub(crate) time: usize,
    pub(crate) examples: usize,
    pub(crate) classes: usize,
    pub(crate) longest: usize,
    pub(crate) blank: usize,
}

/// Numbers with the changes that directions make in them: one component for each set of directions, numbered by the bits of the number of the
/// component, and so the number itself first. Products of a direction with itself vanish; each half of the components is a number with
/// one direction less.
mod jets {
    use smallvec::SmallVec;

    pub(super) type Jet = SmallVec<[f64; 8]>;

    pub(super) fn mul(a: &[f64], b: &[f64]) -> Jet {
        let (n, half) = (a.len(), a.len() / 2);
        if n == 1 {
            return Jet::from_elem(a[0] * b[0], 1);
        }
        let mut out = mul(&a[..half], &b[..half]);
        let changes = mul(&a[..half], &b[half..]);
        out.extend(changes.into_iter().zip(mul(&a[half..], &b[..half])).map(|(x, y)| x + y));
        out
    }

    fn div(a: &[f64], b: &[f64]) -> Jet {
        let (n, half) = (a.len(), a.len() / 2);
        if n == 1 {
            return Jet::from_elem(a[0] / b[0], 1);
        }
        let mut out = div(&a[..half], &b[..half]);
        let rest: Jet = a[half..].iter().zip(mul(&out, &b[half..])).map(|(x, y)| x - y).collect();
        out.extend(div(&rest, &b[..half]));
        out
    }

    pub(super) fn exp(a: &[f64]) -> Jet {
        let (n, half) = (a.len(), a.len() / 2);
        if n == 1 {
            return Jet::from_elem(a[0].exp(), 1);
        }
        let mut out = exp(&a[..half]);
        let changes = mul(&out, &a[half..]);
        out.extend(changes);
        out
    }

    fn log(a: &[f64]) -> Jet {
        let (n, half) = (a.len(), a.len() / 2);
        if n == 1 {
            return Jet::from_elem(a[0].ln(), 1);
        }
        let mut out = log(&a[..half]);
        out.extend(div(&a[half..], &a[..half]));
        out
    }

    /// `log(Σ exp(x))`. Of numbers that are all `-∞`, no change makes another one.
    pub(super) fn log_sum(x: &[&[f64]], out: &mut [f64]) {
        let max = x.iter().fold(f64::NEG_INFINITY, |max, x| max.max(x[0]));
        out.fill(0.0);
        if max == f64::NEG_INFINITY {
            // NaN among them stays.
            out[0] = x.iter().fold(max, |sum, x| sum + x[0]);
        } else if out.len() == 1 {
            out[0] = max + x.iter().map(|x| (x[0] - max).exp()).sum::<f64>().ln();
        } else {
            for x in x.iter().filter(|x| x[0] != f64::NEG_INFINITY) {
                let mut below = Jet::from_slice(x);
                below[0] -= max;
                for (sum, e) in out.iter_mut().zip(exp(&below)) {
                    *sum += e;
                }
            }
            let sum = log(out);
            out.copy_from_slice(&sum);
            out[0] += max;
        }
    }
}

use jets::{Jet, log_sum};

/// One example: its labels with blanks between them and at both ends.
struct Example<'a> {
    all: &'a Ctc<'a>,
    number: usize,
    steps: usize,
    states: usize,
    labels: &'a [i64],
    /// The directions in which everything changes.
    directions: &'a [&'a [f64]],
    /// The size of a jet.
    width: usize,
}

impl<'a> Example<'a> {
    fn class(&self, state: usize) -> usize {
        if state.is_multiple_of(2) { self.all.blank } else { self.labels[state / 2] as usize }
    }

    /// Whether the blank before `state` may be left out: not between equal labels.
    fn skips(&self, state: usize) -> bool {
        state >= 2 && state % 2 == 1 && self.labels[state / 2] != self.labels[state / 2 - 1]
    }

    /// The place of a class at a step.
    fn at(&self, step: usize, class: usize) -> usize {
        (step * self.all.examples + self.number) * self.all.classes + class
    }

    /// Multiplies by the probability of the class of a state at a step.
    fn pass(&self, jet: &mut [f64], step: usize, state: usize) {
        let place = self.at(step, self.class(state));
        jet[0] += self.all.x[place];
        if jet[0] == f64::NEG_INFINITY {
            return;
        }
        for (k, direction) in self.directions.iter().enumerate() {
            jet[1 << k] += direction[place];
        }
    }

    /// The states that lead to `state`, itself among them, or that it leads to.
    fn neighbours(&self, state: usize, backwards: bool) -> [Option<usize>; 3] {
        match backwards {
            false => [Some(state), state.checked_sub(1), state.checked_sub(2).filter(|_| self.skips(state))],
            true => {
                let after = |n: usize| Some(state + n).filter(|&s| s < self.states);
                [Some(state), after(1), after(2).filter(|&s| self.skips(s))]
            }
        }
    }

    /// Logarithms of sums over the beginnings of alignments that end in a state at a step, with the probability of that step; or over the ends
    /// that go on from it, without. One jet for each step and state.
    fn sums(&self, backwards: bool) -> Vec<f64> {
        let (steps, states, width) = (self.steps, self.states, self.width);
        let mut all = vec![0.0; steps * states * width];
        let mut before = vec![0.0; states * width];
        let mut own = Jet::from_elem(0.0, width);
        for n in 0..steps {
            let step = if backwards { steps - 1 - n } else { n };
            if n > 0 {
                let last = if backwards { step + 1 } else { step - 1 };
                before.copy_from_slice(&all[last * states * width..][..states * width]);
                if backwards {
                    // The steps of the states that are reached belong to the sum.
                    for (state, jet) in before.chunks_exact_mut(width).enumerate() {
                        self.pass(jet, last, state);
                    }
                }
            }
            for state in 0..states {
                if n == 0 {
                    let is_end = if backwards { state + 2 >= states } else { state < 2 };
                    own.fill(0.0);
                    own[0] = if is_end { 0.0 } else { f64::NEG_INFINITY };
                } else {
                    let mut from: SmallVec<[&[f64]; 3]> = SmallVec::new();
                    from.extend(
                        self.neighbours(state, backwards).iter().flatten().map(|s| &before[s * width..][..width]),
                    );
                    log_sum(&from, &mut own);
                }
                if !backwards {
                    self.pass(&mut own, step, state);
                }
                all[(step * states + state) * width..][..width].copy_from_slice(&own);
            }
        }
        all
    }

    /// The logarithm of the sum over all alignments.
    fn total(&self, sums: &[f64]) -> Jet {
        let mut total = Jet::from_elem(0.0, self.width);
        if self.steps == 0 {
            total[0] = if self.labels.is_empty() { 0.0 } else { f64::NEG_INFINITY };
            return total;
        }
        // The last blank and the last label.
        let ends: SmallVec<[&[f64]; 2]> = sums.rchunks_exact(self.width).take(self.states.min(2)).collect();
        log_sum(&ends, &mut total);
        total
    }
}

impl<'a> Ctc<'a> {
    fn example(&'a self, number: usize, directions: &'a [&'a [f64]]) -> Example<'a> {
        let labels = &self.targets[number * self.longest..][..self.labels[number] as usize];
        let (steps, states, width) = (self.steps[number] as usize, 2 * labels.len() + 1, 1 << directions.len());
        Example { all: self, number, steps, states, labels, directions, width }
    }

    /// The time for two runs through all states.
    fn nanos(&self, width: usize) -> usize {
        (self.examples * self.time).saturating_mul((2 * self.longest + 1) * width * 60)
    }

    /// Minus the logarithm of the sum over all alignments, for each example.
    pub(crate) fn losses(&self) -> Array {
        let write = |out: Out<f64>| {
            split(self.examples, 1, self.nanos(1), |range| {
                for n in range {
                    let example = self.example(n, &[]);
                    let loss = -example.total(&example.sums(false))[0];
                    // SAFETY: the place of this example is ours. A loss of -0 is 0.
                    unsafe { *out.at(n) = loss + 0.0 };
                }
            });
        };
        // SAFETY: the ranges cover all examples.
        unsafe { output(Shape::from_slice(&[self.examples]), write) }
    }

    /// The derivatives of the losses: minus the probability that an alignment has a class at a step; or with directions the derivatives of those
    /// in all the directions. Those of an infinite loss are NaN, or 0 if `zero_infinity`.
    pub(crate) fn derivatives(&self, directions: &[&[f64]], zero_infinity: bool) -> Array {
        let width = 1usize << directions.len();
        let write = |out: Out<f64>| {
            split(self.examples, 1, self.nanos(width), |range| {
                for n in range {
                    let example = self.example(n, directions);
                    for step in 0..self.time {
                        // SAFETY: the classes of this example belong to this range.
                        unsafe { out.at(example.at(step, 0)).write_bytes(0, self.classes) };
                    }
                    let before = example.sums(false);
                    let total = example.total(&before);
                    if total[0] == f64::NEG_INFINITY {
                        let value = if zero_infinity { 0.0 } else { f64::NAN };
                        for place in (0..example.steps).flat_map(|step| (0..self.classes).map(move |c| (step, c))) {
                            // SAFETY: as above.
                            unsafe { *out.at(example.at(place.0, place.1)) = value };
                        }
                        continue;
                    }
                    let after = example.sums(true);
                    let sums = before.chunks_exact(width).zip(after.chunks_exact(width));
                    for (k, (before, after)) in sums.enumerate() {
                        let log: Jet = (0..width).map(|i| before[i] + after[i] - total[i]).collect();
                        if log[0] == f64::NEG_INFINITY {
                            continue;
                        }
                        let (step, class) = (k / example.states, example.class(k % example.states));
                        // SAFETY: as above.
                        unsafe { *out.at(example.at(step, class)) -= jets::exp(&log)[width - 1] };
                    }
                }
            });
        };
        // SAFETY: every class of every step of every example is set, first to zero.
        unsafe { output(Shape::from_slice(&[self.time, self.examples, self.classes]), write) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels that a path through the classes stands for.
    fn collapse(path: &[usize], blank: usize) -> Vec<i64> {
        let mut labels = Vec::new();
        let mut last = None;
        for &class in path {
            if Some(class) != last && class != blank {
                labels.push(class as i64);
            }
            last = Some(class);
        }
        labels
    }

    /// The probability of all paths that stand for the labels, and with each class at each step.
    fn brute(x: &[f64], steps: usize, classes: usize, labels: &[i64], blank: usize) -> (f64, Vec<f64>) {
        let (mut total, mut each) = (0.0, vec![0.0; steps * classes]);
        for number in 0..classes.pow(steps as u32) {
            let path: Vec<usize> = (0..steps).map(|k| number / classes.pow(k as u32) % classes).collect();
            if collapse(&path, blank) == labels {
                let p = path.iter().enumerate().map(|(k, c)| x[k * classes + c]).sum::<f64>().exp();
                total += p;
                for (k, c) in path.iter().enumerate() {
                    each[k * classes + c] += p;
                }
            }
        }
        (total, each)
    }

    #[test]
    fn sums_over_alignments_are_those_over_all_paths() {
        let (time, classes) = (5, 3);
        let x: Vec<f64> = (0..time * classes).map(|k| ((k * 7 % 11) as f64) / 5.0 - 2.0).collect();
        let cases: [(&[i64], usize, usize); 9] = [
            (&[1, 2], 5, 0),
            (&[1, 1], 5, 0),
            (&[1, 1], 3, 0),
            (&[1, 1], 2, 0),
            (&[2, 2, 1], 5, 0),
            (&[], 4, 0),
            (&[0, 1, 0], 4, 2),
            (&[1], 0, 0),
            (&[], 0, 0),
        ];
        for (labels, steps, blank) in cases {
            let (total, each) = brute(&x, steps, classes, labels, blank);
            let ctc = Ctc {
                x: &x,
                targets: labels,
                steps: &[steps as i64],
                labels: &[labels.len() as i64],
                time,
                examples: 1,
                classes,
                longest: labels.len(),
                blank,
            };
            let (loss, slopes) = (ctc.losses().first::<f64>(), ctc.derivatives(&[], false));
            if total == 0.0 {
                assert_eq!(loss, f64::INFINITY);
                assert!(slopes.as_slice::<f64>().unwrap()[..steps * classes].iter().all(|v| v.is_nan()));
                assert!(ctc.derivatives(&[], true).as_slice::<f64>().unwrap().iter().all(|v| *v == 0.0));
                continue;
            }
            assert!((loss + total.ln()).abs() < 1e-12, "{labels:?} {steps}: {loss}");
            for (k, slope) in slopes.as_slice::<f64>().unwrap().iter().enumerate() {
                let expected = each.get(k).map_or(0.0, |p| -p / total);
                assert!((slope - expected).abs() < 1e-12, "{labels:?} {steps} {k}: {slope}, not {expected}");
            }
            // Tangents of the derivatives are their differences.
            let d: Vec<f64> = (0..x.len()).map(|k| ((k * 5 % 7) as f64) / 3.0 - 1.0).collect();
            for known in [&[][..], &[&d[..]], &[&x, &d]] {
                let tangents = ctc.derivatives(&[known, &[&d]].concat(), false);
                let moved = |h: f64| {
                    let x: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + h * d).collect();
                    let ctc = Ctc { x: &x, ..ctc };
                    ctc.derivatives(known, false).as_slice::<f64>().unwrap().to_vec()
                };
                let (low, high) = (moved(-1e-6), moved(1e-6));
                for (k, t) in tangents.as_slice::<f64>().unwrap().iter().enumerate() {
                    assert!(((high[k] - low[k]) / 2e-6 - t).abs() < 1e-7, "{labels:?} {steps} {k}: {t}");
                }
            }
        }
    }
}
