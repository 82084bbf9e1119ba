//! Derivatives by differences.

use crate::error::{Context as _, bail};
use crate::tree::{leaves, path_of, try_map};
use crate::{DType, Result, Tensor, Tree};

/// The largest step, as a multiple of the direction.
const LARGEST: f64 = 1.0 / 32.0;
/// Each step is half of the one before.
const STEPS: i32 = 11;
/// How often the differences are extrapolated.
const ORDERS: usize = 5;

/// The derivative of `f` at `x` along `dx` by central differences, and an estimate of its error, both shaped like the
/// result of `f`: an independent check of [`jvp`](crate::jvp).
///
/// The differences of eleven step sizes are extrapolated to a step of zero, and for each element the most consistent
/// extrapolation is taken, so the result is usually right to 11 digits, also close to a kink or the edge of a domain.
/// Where no step size gives a finite value, the derivative is NaN and the error infinite. Results that are not floats
/// have derivative and error zero.
///
/// # Dtypes
/// The tensors of `x` and `dx` must be `f64`: differences of `f32` values have few digits left.
///
/// # Errors
/// `Dtype` for other dtypes; `Arity` or `Shape` if `dx` is not like `x`; whatever `f` reports at `x` itself. Errors at
/// neighbouring points only exclude those points.
///
/// # Example
/// ```
/// use pullback::{Tensor, testing::numeric_jvp};
/// let (dy, error) = numeric_jvp(|x: &Tensor| x.exp(), &Tensor::from(1.0), &Tensor::from(2.0))?;
/// assert!((dy.item::<f64>()? - 2.0 * 1f64.exp()).abs() < 1e-10);
/// assert!(error.item::<f64>()? < 1e-9);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Source
/// The choice among extrapolations is C. J. F. Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", 1982.
pub fn numeric_jvp<A: Tree, O: Tree>(f: impl Fn(&A) -> Result<O>, x: &A, dx: &A) -> Result<(O, O)> {
    run(&f, x, dx).context(|| "numeric_jvp".into())
}

fn run<A: Tree, O: Tree>(f: &dyn Fn(&A) -> Result<O>, x: &A, dx: &A) -> Result<(O, O)> {
    let (points, directions) = (leaves(x), leaves(dx));
    if points.len() != directions.len() {
        bail!(Arity, "expected {} tangents, one for each argument, got {}", points.len(), directions.len());
    }
    let mut lines = Vec::new();
    for (k, (p, d)) in points.iter().zip(&directions).enumerate() {
        if p.dtype() != DType::F64 || d.dtype() != DType::F64 {
            bail!(Dtype, "expected f64 tensors, got {} with tangent {} at argument{}", p.ty(), d.ty(), path_of(x, k);
                help = "convert them with `to_dtype`");
        }
        if p.shape() != d.shape() {
            bail!(Shape, "tangent {k} has type {}, but argument {k} of the function has type {}", d.ty(), p.ty());
        }
        lines.push((p.to_vec::<f64>()?, d.to_vec::<f64>()?));
    }
    let at = |h: f64| -> Result<A> {
        let mut lines = lines.iter();
        try_map(x, &mut |t| match lines.next() {
            Some((p, d)) => {
                let moved: Vec<f64> = p.iter().zip(d).map(|(p, d)| p + h * d).collect();
                Tensor::from_slice(&moved, t.shape())
            }
            None => Ok(t.clone()),
        })
    };
    let value = f(x)?;
    let flat = |y: &O| -> Result<Vec<f64>> {
        let mut out = Vec::new();
        for t in leaves(y).into_iter().filter(|t| t.dtype().is_float()) {
            out.extend(super::close::values(t)?);
        }
        Ok(out)
    };
    let n = flat(&value)?.len();
    let mut table = Table::new(n);
    for step in 0..STEPS {
        let h = LARGEST * 0.5f64.powi(step);
        let sides = f(&at(h)?).and_then(|y| flat(&y)).and_then(|a| Ok((a, f(&at(-h)?).and_then(|y| flat(&y))?)));
        match sides {
            Ok((a, b)) if a.len() == n && b.len() == n => table.add(h, &a, &b),
            _ => table.restart(),
        }
    }
    let (derivative, error) = table.finish();
    let mut start = 0;
    let mut pieces = Vec::new();
    for t in leaves(&value) {
        let len = if t.dtype().is_float() { t.numel() } else { 0 };
        pieces.push(start..start + len);
        start += len;
    }
    let fill = |numbers: &[f64]| {
        let mut pieces = pieces.iter().cloned();
        try_map(&value, &mut |t| match pieces.next() {
            Some(range) if t.dtype().is_float() => Tensor::from_slice(&numbers[range], t.shape()),
            _ => Tensor::zeros(t.shape(), DType::F64),
        })
    };
    Ok((fill(&derivative)?, fill(&error)?))
}

/// The extrapolations of each element, of which the best is kept.
struct Table {
    /// Those that the last step size gave.
    last: Vec<Vec<f64>>,
    best: Vec<(f64, f64)>,
}

impl Table {
    fn new(n: usize) -> Table {
        Table { last: vec![Vec::new(); n], best: vec![(f64::NAN, f64::INFINITY); n] }
    }

    /// Forgets larger steps, because the function does not exist at them.
    fn restart(&mut self) {
        self.last.iter_mut().for_each(Vec::clear);
    }

    /// Takes the values at `+h` and `-h`.
    fn add(&mut self, h: f64, plus: &[f64], minus: &[f64]) {
        for (k, (last, best)) in self.last.iter_mut().zip(&mut self.best).enumerate() {
            let (a, b) = (plus[k], minus[k]);
            let mut row = vec![(a - b) / (2.0 * h)];
            if !row[0].is_finite() {
                last.clear();
                continue;
            }
            let rounding = f64::EPSILON * a.abs().max(b.abs()) / h;
            let mut power = 1.0;
            for j in 0..last.len().min(ORDERS) {
                power *= 4.0;
                let next = row[j] + (row[j] - last[j]) / (power - 1.0);
                let error = (next - row[j]).abs().max((next - last[j]).abs()) + rounding;
                if error < best.1 {
                    *best = (next, error);
                }
                row.push(next);
            }
            *last = row;
        }
    }

    fn finish(self) -> (Vec<f64>, Vec<f64>) {
        self.best.into_iter().unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(f: impl Fn(&Tensor) -> Result<Tensor>, x: f64) -> (f64, f64) {
        let (d, e) = numeric_jvp(f, &Tensor::from(x), &Tensor::from(1.0)).unwrap();
        (d.item().unwrap(), e.item().unwrap())
    }

    #[test]
    fn error_estimates_bound_the_error() {
        for x in [0.3, 1.7, -2.1] {
            let (d, e) = at(|x| x.exp()?.sin(), x);
            let right = x.exp().cos() * x.exp();
            assert!((d - right).abs() <= 10.0 * e && e < 1e-8, "at {x}: {d} instead of {right}, estimated {e}");
        }
    }

    #[test]
    fn points_outside_the_domain_are_left_out() {
        let partial = |x: &Tensor| if x.item::<f64>()? < 0.0 { bail!(Value, "negative") } else { x.mul(x) };
        let (d, e) = at(partial, 0.003);
        assert!((d - 0.006).abs() < 1e-10 && e < 1e-9, "{d} {e}");
        let (_, e) = at(|x| if x.item::<f64>()? == 1.0 { x.mul(x) } else { bail!(Value, "elsewhere") }, 1.0);
        assert_eq!(e, f64::INFINITY);
    }
}
