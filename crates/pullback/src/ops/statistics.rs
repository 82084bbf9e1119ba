//! Covariances, correlations, and integrals by trapezoids.

use super::discrete::{Discrete, discrete};
use super::join::cat;
use super::norm::unit_of;
use super::reduce::to_float;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::shape::resolve_dim;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The covariances of variables, which are the rows, from observations, which are the columns.
    ///
    /// It is `Σ w (x - mean)(x - mean)ᴴ / (Σ w - correction)` for weights `w`, which are 1 without `fweights` and `aweights`. The
    /// first say how often an observation occurs, the second how much it counts; with these, the correction is multiplied with the
    /// mean of `aweights`, weighted by all..
    ///
    /// # Shapes
    /// `[n, k]` gives `[n, n]`, and a vector of observations of one variable a 0-d tensor; the weights are vectors of `k`. Where the
    /// divisor is not positive the result is infinite or NaN.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`. `fweights` are integers, `aweights` floats.
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` for more than two dimensions, or weights that do not fit; `Dtype` for `fweights` that are not integers; `Value` for
    /// weights below 0 or NaN, or that sum to 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]);
    /// assert_eq!(x.cov(1, None, None)?.to_vec::<f64>()?, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// PyTorch's and NumPy's `cov`.
    fn cov(&self, correction: usize, fweights: Option<&Tensor>, aweights: Option<&Tensor>) -> Result<Tensor> = cov {
        samples: cov_samples, errors: cov_errors,
        python: cov(correction = 1, fweights, aweights)
    };

    /// The correlations of variables, which are the rows, from observations, which are the columns: covariances divided by both
    /// standard deviations.
    ///
    /// # Shapes
    /// `[n, k]` gives `[n, n]`, and a vector of observations of one variable a 0-d tensor. A variable that does not vary has
    /// correlations of NaN.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the formula. Unlike in PyTorch and NumPy, values that rounding takes above 1 are not cut off, which would cut off their
    /// derivative as well.
    ///
    /// # Errors
    /// `Shape` for more than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]);
    /// let y = x.corrcoef()?;
    /// assert!(y.allclose(&Tensor::from([[1.0, -1.0], [-1.0, 1.0]]), 1e-15, 0.0)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn corrcoef(&self) -> Result<Tensor> = corrcoef { samples: corrcoef_samples, errors: corrcoef_errors };

    /// The integral along `dim` of the function that joins the elements by straight lines. They are `dx` apart, or lie at `x`.
    ///
    /// # Shapes
    /// `dim` vanishes. `x` is a vector with a place for each element along `dim`, or broadcasts against the tensor. The integral over
    /// less than two elements is 0.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// Linear in the elements; by the places, half of the differences and sums of their neighbours.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if `x` does not fit; `Value` if both `x` and `dx` are given.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1.0, 2.0, 4.0]);
    /// assert_eq!(y.trapezoid(None, None, 0)?.item::<f64>()?, 4.5);
    /// assert_eq!(y.trapezoid(Some(&Tensor::from([0.0, 2.0, 3.0])), None, 0)?.item::<f64>()?, 6.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn trapezoid(&self, x: Option<&Tensor>, dx: Option<f64>, dim: isize) -> Result<Tensor> = trapezoid {
        samples: trapezoid_samples, errors: trapezoid_errors,
        python: function::trapezoid(self as y, x, dx, dim = -1),
        python: function::trapz(self as y, x, dx, dim = -1)
    };

    /// The integrals along `dim` up to each element but the first; see [`trapezoid`](Tensor::trapezoid).
    ///
    /// # Shapes
    /// That of the tensor, with `dim` shorter by 1. `x` is a vector with a place for each element along `dim`, or broadcasts against
    /// the tensor.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// As that of [`trapezoid`](Tensor::trapezoid).
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if `x` does not fit; `Value` if both `x` and `dx` are given.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1.0, 2.0, 4.0]);
    /// assert_eq!(y.cumulative_trapezoid(None, Some(2.0), 0)?.to_vec::<f64>()?, [3.0, 9.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cumulative_trapezoid(&self, x: Option<&Tensor>, dx: Option<f64>, dim: isize) -> Result<Tensor> =
        cumulative_trapezoid {
            samples: cumulative_samples, errors: cumulative_errors,
            python: function::cumulative_trapezoid(self as y, x, dx, dim = -1)
        };

    /// The derivatives along `dims`, all of them if the list is empty, of a function whose values `spacing` apart are the elements: half
    /// the difference of both neighbours, and at the ends the difference to the one there is.
    ///
    /// # Shapes
    /// One result for each dimension, of the shape of the tensor. There are at least two elements along each.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// Linear in the elements.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Shape` for less than two elements along one; `Value` if `spacing` is 0 or NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1.0, 2.0, 5.0]).gradient(1.0, &[])?;
    /// assert_eq!(y[0].to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// NumPy's and PyTorch's `gradient`.
    fn gradient(&self, spacing: f64, dims: &[isize]) -> Result<Vec<Tensor>> = gradient {
        samples: gradient_samples, errors: gradient_errors,
        python: function::gradient(self as input, spacing = 1.0, dims = [])
    };
}

fn gradient(x: &Tensor, spacing: f64, dims: &[isize]) -> Result<Vec<Tensor>> {
    let op = "gradient";
    if spacing == 0.0 || spacing.is_nan() {
        bail!(Value, "{op}: expected a `spacing` that is not 0, got {spacing}");
    }
    let over = crate::shape::resolve_dims(op, dims, x.rank(), x.ty())?;
    let x = to_float(x)?;
    let along = |&dim: &usize| {
        let n = x.shape()[dim];
        if n < 2 {
            bail!(Shape, "{op}: expected at least two elements along dim {dim}, got {}", x.ty());
        }
        let steps = x.diff(1, dim as isize)?.div(spacing)?;
        let part = |start: usize, len: usize| steps.narrow(dim as isize, start as isize, len);
        let middle = part(0, n - 2)?.add(part(1, n - 2)?)?.mul(0.5)?;
        cat(&[&part(0, 1)?, &middle, &part(n - 2, 1)?], dim as isize)
    };
    over.iter().map(along).collect()
}

fn gradient_samples() -> Vec<Sample> {
    let case = |shape: &[usize], spacing: f64, dims: &'static [isize], over: &'static [usize]| {
        let label = format!("{shape:?} along {dims:?}, {spacing} apart");
        Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].gradient(spacing, dims)).reference(
            move |x| {
                let of = |&dim: &usize| {
                    Naive::from_fn(&x[0].shape, |i| {
                        let last = x[0].shape[dim] - 1;
                        let at = |k: usize| {
                            let mut own = i.to_vec();
                            own[dim] = k;
                            x[0].at(&own)
                        };
                        let (low, high) = (i[dim].saturating_sub(1), (i[dim] + 1).min(last));
                        (at(high) - at(low)) / ((high - low) as f64 * spacing)
                    })
                };
                over.iter().map(of).collect()
            },
        )
    };
    vec![
        case(&[4], 0.5, &[], &[0]),
        case(&[3, 2], 1.0, &[], &[0, 1]),
        case(&[2, 3], 2.0, &[-1], &[1]),
        case(&[0, 2], 1.0, &[1], &[1]),
    ]
}

fn gradient_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 1], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("few", ErrorKind::Shape, "gradient: expected at least two elements along dim 1", move || {
            Ok(x().gradient(1.0, &[])?.swap_remove(0))
        }),
        ErrorSample::new(
            "spacing",
            ErrorKind::Value,
            "gradient: expected a `spacing` that is not 0, got 0",
            move || Ok(x().gradient(0.0, &[0])?.swap_remove(0)),
        ),
    ]
}

/// Variables as rows, and whether there is only one, as a vector.
fn variables(op: &str, x: &Tensor) -> Result<(Tensor, bool)> {
    match x.rank() {
        0 | 1 => Ok((to_float(x)?.reshape_to(&[1, x.numel()])?, true)),
        2 => Ok((to_float(x)?, false)),
        _ => bail!(Shape, "{op}: expected at most 2 dims, got {}", x.ty()),
    }
}

/// The check that weights are neither negative nor NaN.
#[derive(Clone, Debug)]
struct NotNegative {
    name: &'static str,
    lanes: usize,
}

impl Discrete for NotNegative {
    const NAME: &'static str = "cov";
    fn kernel(&self, w: &Array) -> Result<Array> {
        let w = contiguous(w);
        let all = w.as_slice::<f64>().unwrap_or_default();
        if let Some(k) = all.iter().position(|&v| v < 0.0 || v.is_nan()) {
            let (name, at) = (self.name, position(w.shape(), k, self.lanes));
            bail!(Value, "cov: expected `{name}` of at least 0, got {}{at}", all[k]);
        }
        Ok(w)
    }
    fn batched(&self) -> NotNegative {
        NotNegative { lanes: self.lanes + 1, ..*self }
    }
}

/// Passes on a sum of weights that is not 0.
#[derive(Clone, Debug)]
struct NotZero;

impl Discrete for NotZero {
    const NAME: &'static str = "cov";
    fn kernel(&self, total: &Array) -> Result<Array> {
        let total = contiguous(total);
        if total.as_slice::<f64>().is_some_and(|all| all.contains(&0.0)) {
            bail!(Value, "cov: expected weights with a sum other than 0");
        }
        Ok(total)
    }
    fn batched(&self) -> NotZero {
        NotZero
    }
}

fn cov(x: &Tensor, correction: usize, fweights: Option<&Tensor>, aweights: Option<&Tensor>) -> Result<Tensor> {
    let op = "cov";
    let (rows, single) = variables(op, x)?;
    let count = rows.shape()[1];
    for (name, w) in [("fweights", fweights), ("aweights", aweights)] {
        if let Some(w) = w.filter(|w| w.shape() != [count]) {
            bail!(Shape, "{op}: expected `{name}` for {count} observations, got {}", w.ty());
        }
    }
    if let Some(w) = fweights.filter(|w| !w.dtype().is_int()) {
        bail!(Dtype, "{op}: expected `fweights` of integers, got {}", w.ty());
    }
    if let Some(w) = aweights.filter(|w| w.dtype().is_complex()) {
        bail!(Dtype, "{op}: expected `aweights` of real numbers, got {}", w.ty());
    }
    let float = rows.real()?.dtype();
    for (name, w) in [("fweights", fweights), ("aweights", aweights)] {
        if let Some(w) = w {
            discrete(NotNegative { name, lanes: 0 }, &w.to_dtype(DType::F64)?)?;
        }
    }
    let weights = match (fweights, aweights) {
        (None, None) => None,
        (Some(w), None) | (None, Some(w)) => Some(w.to_dtype(float)?),
        (Some(f), Some(a)) => Some(f.to_dtype(float)?.mul(a)?),
    };
    let centred = |mean: Tensor| rows.sub(mean);
    let y = match &weights {
        None => {
            let deviation = centred(rows.mean_dims(&[1], true)?)?;
            // As in PyTorch, what is left of too few observations is 0.
            deviation.matmul(&deviation.conj()?.t()?)?.div(count.saturating_sub(correction))?
        }
        Some(w) => {
            let total = w.sum()?;
            discrete(NotZero, &total.to_dtype(DType::F64)?)?;
            let deviation = centred(rows.mul(w)?.sum_dims(&[1], true)?.div(&total)?)?;
            let spent = match aweights {
                Some(a) => w.mul(a)?.sum()?.div(&total)?.mul(correction as f64)?,
                None => Tensor::full(&[], correction as f64, float)?,
            };
            deviation.mul(w)?.matmul(&deviation.conj()?.t()?)?.div(total.sub(spent)?.relu()?)?
        }
    };
    if single { y.reshape_to(&[]) } else { Ok(y) }
}

fn corrcoef(x: &Tensor) -> Result<Tensor> {
    let (rows, single) = variables("corrcoef", x)?;
    let deviation = rows.sub(rows.mean_dims(&[1], true)?)?;
    // The number of observations cancels, and so does the unit, whose squares are in range.
    let deviation = match rows.shape()[1] {
        0 => deviation,
        _ => deviation.div(unit_of(deviation.detach()?.abs()?.max_dims(&[1], true)?)?)?,
    };
    let product = deviation.matmul(&deviation.conj()?.t()?)?;
    let spread = product.diagonal(0, 0, 1)?.real()?.sqrt()?;
    let y = product.div(spread.unsqueeze(1)?)?.div(spread)?;
    if single { y.reshape_to(&[]) } else { Ok(y) }
}

/// The areas between neighbours along a dimension, and that dimension.
fn areas(op: &str, y: &Tensor, x: Option<&Tensor>, dx: Option<f64>, dim: isize) -> Result<(Tensor, isize)> {
    let place = resolve_dim(op, dim, y.rank(), y.ty())?;
    let y = to_float(y)?;
    let n = y.shape()[place];
    let along = |t: &Tensor, start: isize| t.narrow(place as isize, start, n.saturating_sub(1));
    let sums = along(&y, 0)?.add(along(&y, isize::from(n > 0))?)?;
    let widths = match (x, dx) {
        (Some(_), Some(_)) => bail!(Value, "{op}: expected one of `x` and `dx`, got both"),
        (None, dx) => return Ok((sums.mul(0.5 * dx.unwrap_or(1.0))?, place as isize)),
        (Some(x), None) => {
            // A vector lies along the dimension.
            let behind = y.rank() - 1 - place;
            let mut column = vec![x.numel()];
            column.resize(1 + behind, 1);
            let x = if x.rank() == 1 { x.reshape_to(&column)? } else { x.clone() };
            let own = (x.rank() + place).checked_sub(y.rank());
            if crate::shape::broadcast(x.shape(), y.shape()).as_deref() != Some(y.shape())
                || own.is_none_or(|own| x.shape()[own] != n)
            {
                bail!(Shape, "{op}: expected places `x` that fit {} along dim {dim}, got {}", y.ty(), x.ty());
            }
            to_float(&x)?.diff(1, own.unwrap_or(0) as isize)?
        }
    };
    Ok((sums.mul(widths)?.mul(0.5)?, place as isize))
}

fn trapezoid(y: &Tensor, x: Option<&Tensor>, dx: Option<f64>, dim: isize) -> Result<Tensor> {
    let (areas, dim) = areas("trapezoid", y, x, dx, dim)?;
    areas.sum_dims(&[dim], false)
}

fn cumulative_trapezoid(y: &Tensor, x: Option<&Tensor>, dx: Option<f64>, dim: isize) -> Result<Tensor> {
    let (areas, dim) = areas("cumulative_trapezoid", y, x, dx, dim)?;
    areas.cumsum(dim)
}

/// Covariances by sums over observations; `w` and `a` are all weights and those that the correction is multiplied with.
fn naive_cov(x: &Naive, correction: f64, w: &[f64], a: &[f64]) -> Naive {
    let k = *x.shape.last().unwrap_or(&1);
    let n = x.data.len() / k.max(1);
    let total: f64 = w.iter().sum();
    let at = |i: usize, c: usize| x.data[i * k + c];
    let mean = |i: usize| (0..k).map(|c| w[c] * at(i, c)).sum::<f64>() / total;
    let spent = correction * (0..k).map(|c| w[c] * a[c]).sum::<f64>() / total;
    let of = |i: usize, j: usize| {
        (0..k).map(|c| w[c] * (at(i, c) - mean(i)) * (at(j, c) - mean(j))).sum::<f64>() / (total - spent)
    };
    let square = Naive::from_fn(&[n, n], |i| of(i[0], i[1]));
    if x.shape.len() < 2 { Naive { shape: vec![], data: square.data } } else { square }
}

fn cov_samples() -> Vec<Sample> {
    let plain = |shape: &[usize], correction: usize| {
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        Sample::one(format!("{shape:?}, correction {correction}"), [x], move |x| x[0].cov(correction, None, None))
            .reference(move |x| {
                let ones = vec![1.0; *x[0].shape.last().unwrap_or(&1)];
                vec![naive_cov(&x[0], correction as f64, &ones, &ones)]
            })
    };
    let weighted = |label: &str, f: bool, a: bool| {
        let mut inputs = vec![sample_tensor(&[2, 3], -1.0, 1.0, 1)];
        inputs.extend(a.then(|| sample_tensor(&[3], 0.5, 1.5, 2)));
        let often = || Tensor::from([2i64, 1, 3]);
        let call = move |x: &[Tensor]| x[0].cov(1, f.then(often).as_ref(), a.then(|| &x[1]));
        Sample::one(label, inputs, call).reference(move |x| {
            let f = if f { [2.0, 1.0, 3.0] } else { [1.0; 3] };
            let a = if a { x[1].data.clone() } else { vec![1.0; 3] };
            let all: Vec<f64> = f.iter().zip(&a).map(|(f, a)| f * a).collect();
            vec![naive_cov(&x[0], 1.0, &all, &a)]
        })
    };
    vec![
        plain(&[2, 4], 1),
        plain(&[3, 3], 0),
        plain(&[5], 1),
        plain(&[1, 2], 1),
        plain(&[], 0),
        weighted("fweights", true, false),
        weighted("aweights", false, true),
        weighted("both weights", true, true),
    ]
}

fn cov_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("3-d", ErrorKind::Shape, "cov: expected at most 2 dims, got f64[1,2,3]", move || {
            x().unsqueeze(0)?.cov(1, None, None)
        }),
        ErrorSample::new(
            "weights",
            ErrorKind::Shape,
            "cov: expected `aweights` for 3 observations, got f64[2]",
            move || x().cov(1, None, Some(&Tensor::from([1.0, 2.0]))),
        ),
        ErrorSample::new(
            "negative",
            ErrorKind::Value,
            "cov: expected `aweights` of at least 0, got -2 at position [1]",
            move || x().cov(1, None, Some(&Tensor::from([1.0, -2.0, 3.0]))),
        ),
        ErrorSample::new(
            "negative counts",
            ErrorKind::Value,
            "cov: expected `fweights` of at least 0, got -1 at position [0]",
            move || x().cov(1, Some(&Tensor::from([-1i64, 2, 3])), None),
        ),
        ErrorSample::new("zeros", ErrorKind::Value, "cov: expected weights with a sum other than 0", move || {
            x().cov(1, Some(&Tensor::from([0i64, 2, 0])), Some(&Tensor::from([1.0, 0.0, 3.0])))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "cov: expected `fweights` of integers, got f64[3]", move || {
            x().cov(1, Some(&Tensor::from([1.0, 2.0, 3.0])), None)
        }),
    ]
}

fn corrcoef_samples() -> Vec<Sample> {
    let case = |shape: &[usize]| {
        Sample::one(format!("{shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], |x| x[0].corrcoef()).reference(|x| {
            let ones = vec![1.0; *x[0].shape.last().unwrap_or(&1)];
            let cov = naive_cov(&x[0], 1.0, &ones, &ones);
            if cov.shape.is_empty() {
                let one = if cov.data[0] > 0.0 { 1.0 } else { f64::NAN };
                return vec![Naive { shape: vec![], data: vec![one] }];
            }
            let root = |i: usize| cov.at(&[i, i]).sqrt();
            vec![Naive::from_fn(&cov.shape, |i| cov.at(i) / (root(i[0]) * root(i[1])))]
        })
    };
    vec![case(&[2, 4]), case(&[3, 3]), case(&[4]), case(&[]).special()]
}

fn corrcoef_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("3-d", ErrorKind::Shape, "corrcoef: expected at most 2 dims, got f64[1,2,3]", || {
        sample_tensor(&[1, 2, 3], 0.0, 1.0, 1).corrcoef()
    })]
}

type Integral = fn(&Tensor, Option<&Tensor>, Option<f64>, isize) -> Result<Tensor>;

/// Samples of an integral, each with its value as a function of the elements along the dimension and their places.
fn integral_samples(call: Integral, reference: fn(&[f64], &[f64]) -> Vec<f64>, cumulative: bool) -> Vec<Sample> {
    let case = |shape: &[usize], places: Option<&[usize]>, dx: Option<f64>, dim: isize| {
        let mut inputs = vec![sample_tensor(shape, -1.0, 1.0, 1)];
        inputs.extend(places.map(|s| sample_tensor(s, 0.0, 3.0, 2)));
        let label = format!("{shape:?} at {places:?}, {dx:?} apart, along {dim}");
        Sample::one(label, inputs, move |x| call(&x[0], x.get(1), dx, dim)).reference(move |x| {
            let y = &x[0];
            let dim = dim.rem_euclid(y.shape.len() as isize) as usize;
            let n = y.shape[dim];
            let mut shape = y.shape.clone();
            if cumulative {
                shape[dim] = n.saturating_sub(1);
            } else {
                shape.remove(dim);
            }
            vec![Naive::from_fn(&shape, |i| {
                let at = |k: usize| {
                    let mut own = i.to_vec();
                    if cumulative {
                        own[dim] = k
                    } else {
                        own.insert(dim, k)
                    }
                    own
                };
                let values: Vec<f64> = (0..n).map(|k| y.at(&at(k))).collect();
                let place = |k: usize| match x.get(1) {
                    None => dx.unwrap_or(1.0) * k as f64,
                    Some(x) if x.shape.len() == 1 => x.data[k],
                    Some(x) => x.at_broadcast(&at(k)),
                };
                let all = reference(&values, &(0..n).map(place).collect::<Vec<_>>());
                all[if cumulative { i[dim] } else { 0 }]
            })]
        })
    };
    vec![
        case(&[4], None, None, 0),
        case(&[2, 3], None, Some(0.5), 0),
        case(&[2, 3, 2], Some(&[3]), None, 1),
        case(&[2, 3], Some(&[2, 3]), None, -1),
        case(&[2, 3], Some(&[1, 3]), None, -1),
        case(&[1, 2], None, None, 0),
        case(&[0, 2], None, None, 0),
    ]
}

/// The integrals up to each place but the first.
fn running(y: &[f64], x: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    (1..y.len())
        .map(|k| {
            sum += (y[k] + y[k - 1]) * (x[k] - x[k - 1]) / 2.0;
            sum
        })
        .collect()
}

fn trapezoid_samples() -> Vec<Sample> {
    integral_samples(Tensor::trapezoid, |y, x| vec![running(y, x).last().copied().unwrap_or(0.0)], false)
}

fn cumulative_samples() -> Vec<Sample> {
    integral_samples(Tensor::cumulative_trapezoid, running, true)
}

fn integral_errors(call: Integral) -> Vec<ErrorSample> {
    let of = |label: &str, kind, message, x: Option<Tensor>, dx: Option<f64>, dim: isize| {
        let y = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || call(&y, x.as_ref(), dx, dim))
    };
    let x = Tensor::from([1.0, 2.0]);
    vec![
        of("both", ErrorKind::Value, "expected one of `x` and `dx`, got both", Some(x.clone()), Some(1.0), 0),
        of(
            "places",
            ErrorKind::Shape,
            "expected places `x` that fit f64[2,3] along dim -1, got f64[2]",
            Some(x),
            None,
            -1,
        ),
        of("dim", ErrorKind::Dim, "dim 2 is out of range", None, None, 2),
    ]
}

fn trapezoid_errors() -> Vec<ErrorSample> {
    integral_errors(Tensor::trapezoid)
}

fn cumulative_errors() -> Vec<ErrorSample> {
    integral_errors(Tensor::cumulative_trapezoid)
}
