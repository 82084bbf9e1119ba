//! Whole Jacobians, by differences and by the rules, and how they are shown.

use std::fmt::Write as _;

use super::close::{At as _, Failure, Outcome, exceeds, fail, values};
use super::lanes::direction;
use super::properties::Part;
use crate::{DType, Result, Tensor};

/// How far differences may be from a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) eps: f64,
    pub(super) atol: f64,
    pub(super) rtol: f64,
}

impl Tolerance {
    fn allows(self, got: f64, want: f64) -> bool {
        !exceeds((got - want).abs(), self.atol + self.rtol * want.abs()) || got == want
    }
}

/// The derivative of one output by one input: a row per element of the output, a column per element of the input.
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    elements: Vec<f64>,
}

impl Matrix {
    fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, elements: vec![0.0; rows * columns] }
    }
    fn at(&self, row: usize, column: usize) -> f64 {
        self.elements[row * self.columns + column]
    }
    fn set(&mut self, row: usize, column: usize, value: f64) {
        self.elements[row * self.columns + column] = value;
    }
}

/// By output and input.
type Blocks = Vec<Vec<Matrix>>;

/// Which mode computes a derivative.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Reverse,
    Forward,
}

fn flat(list: &[Tensor]) -> Result<Vec<Vec<f64>>> {
    list.iter().map(values).collect()
}

fn zeros_like(list: &[Tensor]) -> Result<Vec<Tensor>> {
    list.iter().map(Tensor::zeros_like).collect()
}

/// `t` as a tensor of zeros with one element set to `value`.
fn unit(t: &Tensor, element: usize) -> Result<Tensor> {
    let mut numbers = vec![0.0; t.numel()];
    numbers[element] = 1.0;
    Tensor::from_slice(&numbers, t.shape())?.to_dtype(t.dtype())
}

/// `x` with `amount` times a direction added to input `k`.
fn moved(x: &[Tensor], k: usize, along: &[f64], amount: f64) -> Result<Vec<Tensor>> {
    let mut x = x.to_vec();
    let numbers: Vec<f64> = values(&x[k])?.iter().zip(along).map(|(v, d)| v + amount * d).collect();
    x[k] = Tensor::from_slice(&numbers, x[k].shape())?.to_dtype(x[k].dtype())?;
    Ok(x)
}

/// The function at a point where input `k` is moved, flat; fails if the types of the results change.
fn value_at(part: &Part<'_>, k: usize, along: &[f64], amount: f64) -> std::result::Result<Vec<Vec<f64>>, Failure> {
    let inputs = &part.sample.inputs;
    let x = moved(&part.pick(inputs), k, along, amount)?;
    let y = part.eval(inputs, &x).at(format_args!("where input {} is moved by {amount:e}", part.which[k]))?;
    for (o, (got, want)) in y.iter().zip(&part.y).enumerate() {
        if got.ty() != want.ty() {
            fail!("output {o} is {} where the input is moved by {amount:e}, and {} at the input", got.ty(), want.ty());
        }
    }
    Ok(flat(&y)?)
}

fn blocks_of(part: &Part<'_>) -> Blocks {
    let inputs = &part.sample.inputs;
    let row = |y: &Tensor| part.which.iter().map(|&k| Matrix::zeros(y.numel(), inputs[k].numel())).collect();
    part.y.iter().map(row).collect()
}

/// The Jacobian by central differences.
fn by_differences(part: &Part<'_>, eps: f64) -> std::result::Result<Blocks, Failure> {
    let mut blocks = blocks_of(part);
    let x = part.pick(&part.sample.inputs);
    for (k, t) in x.iter().enumerate() {
        for i in 0..t.numel() {
            let along = values(&unit(t, i)?)?;
            let (plus, minus) = (value_at(part, k, &along, eps)?, value_at(part, k, &along, -eps)?);
            for (o, (p, m)) in plus.iter().zip(&minus).enumerate() {
                for (row, (p, m)) in p.iter().zip(m).enumerate() {
                    blocks[o][k].set(row, i, (p - m) / (2.0 * eps));
                }
            }
        }
    }
    Ok(blocks)
}

/// The Jacobian by the rules.
fn by_rules(part: &Part<'_>, mode: Mode) -> Result<Blocks> {
    let mut blocks = blocks_of(part);
    let inputs = &part.sample.inputs;
    let x = part.pick(inputs);
    let (from, n) = if mode == Mode::Reverse { (&part.y, part.y.len()) } else { (&x, x.len()) };
    for k in 0..n {
        for i in 0..from[k].numel() {
            let mut seeds = zeros_like(from)?;
            seeds[k] = unit(&from[k], i)?;
            let found = if mode == Mode::Reverse { part.vjp(inputs, &seeds)? } else { part.jvp(inputs, &seeds)? };
            for (other, list) in flat(&found)?.into_iter().enumerate() {
                for (j, value) in list.into_iter().enumerate() {
                    match mode {
                        Mode::Reverse => blocks[k][other].set(i, j, value),
                        Mode::Forward => blocks[other][k].set(j, i, value),
                    }
                }
            }
        }
    }
    Ok(blocks)
}

/// Said of a difference of outputs that are not `f64`.
const FEW_DIGITS: &str = " (this output is not f64, so the differences have few digits: return it as f64, or choose a larger \
    `eps` and `rtol`)";

/// Why there is no difference to compare with at one element of a Jacobian.
fn no_difference(
    part: &Part<'_>,
    [output, input, row, column]: [usize; 4],
    eps: f64,
) -> std::result::Result<Option<String>, Failure> {
    let x = values(&part.pick(&part.sample.inputs)[input])?;
    let y = values(&part.y[output])?;
    let name = part.which[input];
    if let Some(k) = x.iter().position(|v| !v.is_finite()) {
        return Ok(Some(format!(
            "input {name}, element {k}, is {}, where there are no differences; choose another point",
            x[k]
        )));
    }
    let v = x[column];
    if v + eps == v || v - eps == v {
        return Ok(Some(format!(
            "a step of {eps:e} does not move input {name}, element {column}, which is {v:?}: choose a larger `eps`, or \
            another point"
        )));
    }
    if !y[row].is_finite() {
        return Ok(Some(format!(
            "output {}, element {row}, is {}, where there are no differences; choose another point",
            part.outs[output], y[row]
        )));
    }
    Ok(None)
}

/// The slopes of one element of an output to the left and to the right, if they differ however small the step is.
fn kink(part: &Part<'_>, at: [usize; 4], eps: f64) -> Option<(f64, f64)> {
    let [output, input, row, column] = at;
    let along = values(&unit(&part.pick(&part.sample.inputs)[input], column).ok()?).ok()?;
    let sides = |h: f64| -> Option<(f64, f64)> {
        let f = |h: f64| Some(value_at(part, input, &along, h).ok()?[output][row]);
        let (left, middle, right) = (f(-h)?, f(0.0)?, f(h)?);
        Some(((middle - left) / h, (right - middle) / h))
    };
    let (wide, narrow) = (sides(eps * 64.0)?, sides(eps)?);
    let gap = |(l, r): (f64, f64)| (l - r).abs();
    let size = narrow.0.abs().max(narrow.1.abs()).max(1e-3);
    (gap(narrow) > 1e-3 * size && gap(narrow) > 0.5 * gap(wide)).then_some(narrow)
}

/// Fails unless the rules give what differences give; `rule` says what is checked.
pub(super) fn matches(part: &Part<'_>, mode: Mode, rule: &str, tolerance: Tolerance) -> Outcome {
    let numeric = by_differences(part, tolerance.eps)?;
    let found = by_rules(part, mode).map_err(Failure::from)?;
    for (o, (want, got)) in numeric.iter().zip(&found).enumerate() {
        for (k, (want, got)) in want.iter().zip(got).enumerate() {
            // The worst element tells most.
            let mut worst = None;
            for row in 0..want.rows {
                for column in 0..want.columns {
                    let (w, g) = (want.at(row, column), got.at(row, column));
                    let error = (w - g).abs();
                    if !tolerance.allows(g, w) && worst.is_none_or(|(_, e)| error.is_nan() || error > e) {
                        worst = Some(((row, column), error));
                    }
                }
            }
            let Some(((row, column), _)) = worst else { continue };
            let (input, output) = (part.which[k], part.outs[o]);
            if let Some(reason) = no_difference(part, [o, k, row, column], tolerance.eps)? {
                fail!("{reason}");
            }
            let exact = part.y[o].dtype() == DType::F64;
            if exact && let Some((left, right)) = kink(part, [o, k, row, column], tolerance.eps) {
                fail!(
                    "the function has a kink at input {input}, element {column}: the slope of output {output}, element \
                    {row}, is {left:.4} to the left and {right:.4} to the right; choose another point"
                );
            }
            fail!(
                "{rule}: output {output} by input {input} is wrong, worst at row {row}, column {column}: {} instead of \
                {}{}\n{}",
                got.at(row, column),
                want.at(row, column),
                if exact { "" } else { FEW_DIGITS },
                side_by_side([("differences", want), ("rule", got)], tolerance)
            );
        }
    }
    Ok(())
}

/// [`matches`] for random combinations of the rows and columns, one for each output and input.
pub(super) fn matches_fast(part: &Part<'_>, mode: Mode, rule: &str, tolerance: Tolerance, seed: u64) -> Outcome {
    let inputs = &part.sample.inputs;
    let x = part.pick(inputs);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (k, t) in x.iter().enumerate() {
        let v = direction(t, seed.wrapping_add(k as u64))?;
        let along = values(&v)?;
        let eps = tolerance.eps;
        let (plus, minus) = (value_at(part, k, &along, eps)?, value_at(part, k, &along, -eps)?);
        let mut tangents = zeros_like(&x)?;
        tangents[k] = v;
        let pushed = if mode == Mode::Forward { flat(&part.jvp(inputs, &tangents)?)? } else { Vec::new() };
        for (o, y) in part.y.iter().enumerate() {
            let u = direction(y, seed.wrapping_add(1000 + o as u64))?;
            let weights = values(&u)?;
            let want = (dot(&weights, &plus[o]) - dot(&weights, &minus[o])) / (2.0 * eps);
            let got = match mode {
                Mode::Forward => dot(&weights, &pushed[o]),
                Mode::Reverse => {
                    let mut g = zeros_like(&part.y)?;
                    g[o] = u;
                    dot(&flat(&part.vjp(inputs, &g)?)?[k], &along)
                }
            };
            if tolerance.allows(got, want) {
                continue;
            }
            // The whole Jacobians say where, if they differ anywhere by more than is allowed.
            matches(part, mode, rule, tolerance)?;
            fail!(
                "{rule}: a random combination of output {} by input {} is {got}, and {want} by differences; no single \
                element differs by more than the tolerance",
                part.outs[o],
                part.which[k]
            );
        }
    }
    Ok(())
}

/// Two matrices next to each other, in columns of one width, with a star at what differs; large ones are cut.
fn side_by_side(named: [(&str, &Matrix); 2], tolerance: Tolerance) -> String {
    const ROWS: usize = 8;
    const COLUMNS: usize = 5;
    const WIDTH: usize = 12;
    let [(_, want), (_, got)] = named;
    let (rows, columns) = (want.rows.min(ROWS), want.columns.min(COLUMNS));
    let cut = if columns < want.columns { " …" } else { "" };
    let width = columns * (WIDTH + 1) + cut.chars().count();
    let mut text = format!("    {:<width$}  | {}", named[0].0, named[1].0);
    // Writing to a string cannot fail.
    for row in 0..rows {
        let _ = write!(text, "\n    ");
        for column in 0..columns {
            let _ = write!(text, "{:>WIDTH$.5} ", want.at(row, column));
        }
        let _ = write!(text, "{cut}  | ");
        for column in 0..columns {
            let wrong = !tolerance.allows(got.at(row, column), want.at(row, column));
            let _ = write!(text, "{:>WIDTH$.5}{}", got.at(row, column), if wrong { "*" } else { " " });
        }
        text.push_str(cut);
    }
    if rows < want.rows {
        let _ = write!(text, "\n    … ({} rows, {} columns)", want.rows, want.columns);
    }
    text
}
