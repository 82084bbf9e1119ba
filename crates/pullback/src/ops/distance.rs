//! Distances between tensors and within one, and parts of bounded length.

use super::family::broadcast_shape;
use super::reduce::to_float;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::shape::resolve_dim;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The `p`-norm of the difference of two tensors as one vector, a 0-d tensor; see [`norm`](Tensor::norm).
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and complex numbers, promoted by the table of [`DType`](crate::DType); integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the [norm](Tensor::norm), which is 0 for equal tensors.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` if `p` is NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 1.0]).dist(&Tensor::from([0.0, 5.0]), 2.0)?.item::<f64>()?, 5.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dist(&self, other: &Tensor, p: f64) -> Result<Tensor> = dist {
        samples: dist_samples, errors: dist_errors, kinks: dist_kinks,
        python: dist(other, p = 2.0)
    };

    /// The distances of all pairs of different rows, the `p`-norms of their differences: those above the diagonal of
    /// [`x.cdist(x, p)`](Tensor::cdist), row after row.
    ///
    /// # Shapes
    /// `[n, m]` to `[n (n - 1) / 2]`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the [norm](Tensor::norm_dims), which is 0 for equal rows.
    ///
    /// # Errors
    /// `Shape` for anything but a matrix; `Value` if `p` is NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]);
    /// assert_eq!(x.pdist(2.0)?.to_vec::<f64>()?, [5.0, 3.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn pdist(&self, p: f64) -> Result<Tensor> = pdist {
        samples: pdist_samples, errors: pdist_errors, kinks: pdist_kinks,
        python: function::pdist(self as input, p = 2.0),
        python: nn::functional::pdist(self as input, p = 2.0)
    };

    /// The tensor with its slices along `dim` scaled so that their `p`-norms are at most `maxnorm`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 for slices that are not scaled, also where the norm is `maxnorm`; else that of `x·maxnorm/(norm + 1e-7)`.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if the tensor has fewer than two dimensions; `Value` if `p` is not positive or
    /// `maxnorm` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([[3.0, 4.0], [0.3, 0.4]]).renorm(2.0, 0, 1.0)?.to_vec::<f64>()?;
    /// assert!((y[0] - 0.6).abs() < 1e-7 && (y[1] - 0.8).abs() < 1e-7);
    /// assert_eq!(y[2..], [0.3, 0.4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The `1e-7` is that of PyTorch.
    fn renorm(&self, p: f64, dim: isize, maxnorm: f64) -> Result<Tensor> = renorm {
        samples: renorm_samples, errors: renorm_errors, kinks: renorm_kinks,
        python: renorm(p, dim, maxnorm)
    };
}

/// `a - b` in floats.
pub(super) fn difference(op: &str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    broadcast_shape(op, a, b)?;
    to_float(a)?.sub(&to_float(b)?)
}

pub(super) fn check_power(op: &str, p: f64) -> Result<()> {
    if p.is_nan() {
        bail!(Value, "{op}: expected a number p, got {p}");
    }
    Ok(())
}

fn dist(x: &Tensor, other: &Tensor, p: f64) -> Result<Tensor> {
    check_power("dist", p)?;
    difference("dist", x, other)?.norm(p)
}

fn pdist(x: &Tensor, p: f64) -> Result<Tensor> {
    check_power("pdist", p)?;
    let &[n, _] = x.shape() else { bail!(Shape, "pdist: expected a matrix, got {}", x.ty()) };
    let pairs = n.saturating_mul(n.saturating_sub(1)) / 2;
    crate::tensor::checked_numel("pdist", &[pairs])?;
    let mut places = [Vec::with_capacity(pairs), Vec::with_capacity(pairs)];
    for i in 0..n as i64 {
        for j in i + 1..n as i64 {
            places[0].push(i);
            places[1].push(j);
        }
    }
    let [a, b] = places.map(|rows| x.index_select(0, &Tensor::from(rows)));
    difference("pdist", &a?, &b?)?.norm_dims(p, &[-1], false)
}

fn renorm(x: &Tensor, p: f64, dim: isize, maxnorm: f64) -> Result<Tensor> {
    if !(p > 0.0 && maxnorm >= 0.0) {
        bail!(Value, "renorm: expected a positive p and a maxnorm of at least 0, got {p} and {maxnorm}");
    }
    let dim = resolve_dim("renorm", dim, x.rank(), x.ty())?;
    if x.rank() < 2 {
        bail!(Shape, "renorm: expected at least two dims, got {}", x.ty());
    }
    let x = to_float(x)?;
    let others: Vec<isize> = (0..x.rank()).filter(|&d| d != dim).map(|d| d as isize).collect();
    let norm = x.norm_dims(p, &others, true)?;
    let factor = norm.add(1e-7)?.reciprocal()?.mul(maxnorm)?;
    x.mul(norm.gt(maxnorm)?.where_(factor, 1)?)
}

/// The `p`-norm of numbers.
fn naive_norm(x: impl Iterator<Item = f64>, p: f64) -> f64 {
    x.map(|v| v.abs().powf(p)).sum::<f64>().powf(1.0 / p)
}

fn dist_samples() -> Vec<Sample> {
    let case = |p: f64, a: &[usize], b: &[usize]| {
        let inputs = [sample_tensor(a, 0.1, 1.0, 1), sample_tensor(b, 1.5, 2.5, 2)];
        Sample::one(format!("p {p}, {a:?} and {b:?}"), inputs, move |x| x[0].dist(&x[1], p)).reference(move |x| {
            let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
            let d = Naive::from_fn(&shape, |i| x[0].at_broadcast(i) - x[1].at_broadcast(i));
            vec![Naive { shape: vec![], data: vec![naive_norm(d.data.into_iter(), p)] }]
        })
    };
    vec![
        case(2.0, &[2, 3], &[2, 3]),
        case(1.0, &[2, 3], &[3]),
        case(3.0, &[2, 1], &[1, 3]),
        case(2.5, &[4], &[4]),
        case(2.0, &[], &[]),
    ]
}

fn dist_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    let c = a.clone();
    vec![
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "dist: shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
            move || a.dist(&b, 2.0),
        ),
        ErrorSample::new("p", ErrorKind::Value, "dist: expected a number p, got NaN", move || c.dist(&c, f64::NAN)),
    ]
}

fn dist_kinks() -> Vec<Kink> {
    vec![Kink::new("equal", Tensor::from([1.0, 2.0]), [0.0, 0.0], |x| x.dist(&Tensor::from([1.0, 2.0]), 2.0))]
}

fn pdist_samples() -> Vec<Sample> {
    let case = |p: f64, shape: &[usize]| {
        Sample::one(format!("p {p}, {shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].pdist(p))
            .reference(move |x| {
                let (n, m) = (x[0].shape[0], x[0].shape[1]);
                let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
                let of = |(i, j): (usize, usize)| naive_norm((0..m).map(|k| x[0].at(&[i, k]) - x[0].at(&[j, k])), p);
                let data: Vec<f64> = pairs.map(of).collect();
                vec![Naive { shape: vec![data.len()], data }]
            })
    };
    vec![case(2.0, &[4, 3]), case(1.0, &[3, 2]), case(2.5, &[3, 2]), case(2.0, &[1, 3]), case(2.0, &[0, 3])]
}

fn pdist_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("shape", ErrorKind::Shape, "pdist: expected a matrix, got f64[3]", || {
            sample_tensor(&[3], 0.0, 1.0, 1).pdist(2.0)
        }),
        ErrorSample::new("p", ErrorKind::Value, "pdist: expected a number p, got NaN", || {
            sample_tensor(&[3, 2], 0.0, 1.0, 1).pdist(f64::NAN)
        }),
    ]
}

fn pdist_kinks() -> Vec<Kink> {
    vec![Kink::new("equal rows", Tensor::from([[1.0, 2.0], [1.0, 2.0]]), [0.0; 4], |x| x.pdist(2.0))]
}

fn renorm_samples() -> Vec<Sample> {
    let case = |p: f64, dim: isize, resolved: usize, maxnorm: f64, shape: &[usize]| {
        let label = format!("{shape:?}, p {p}, dim {dim}, maxnorm {maxnorm}");
        Sample::one(label, [sample_tensor(shape, 0.1, 1.0, 1)], move |x| x[0].renorm(p, dim, maxnorm)).reference(
            move |x| {
                let norms: Vec<f64> = (0..x[0].shape[resolved])
                    .map(|k| {
                        let mut slice = Vec::new();
                        Naive::from_fn(&x[0].shape, |i| {
                            if i[resolved] == k {
                                slice.push(x[0].at(i));
                            }
                            0.0
                        });
                        naive_norm(slice.into_iter(), p)
                    })
                    .collect();
                let factor = |norm: f64| if norm > maxnorm { maxnorm / (norm + 1e-7) } else { 1.0 };
                vec![Naive::from_fn(&x[0].shape, |i| x[0].at(i) * factor(norms[i[resolved]]))]
            },
        )
    };
    vec![
        case(2.0, 0, 0, 0.5, &[2, 3]),
        case(1.0, -1, 2, 0.7, &[2, 2, 3]),
        case(3.0, 1, 1, 9.0, &[2, 3]),
        case(2.0, 0, 0, 0.5, &[0, 3]),
    ]
}

fn renorm_errors() -> Vec<ErrorSample> {
    let call = |shape: &[usize], p: f64, dim: isize, maxnorm: f64| {
        let x = sample_tensor(shape, 0.0, 1.0, 1);
        move || x.renorm(p, dim, maxnorm)
    };
    let (p, maxnorm) = ("expected a positive p and a maxnorm of at least 0, got 0 and 1", "at least 0, got 2 and -1");
    vec![
        ErrorSample::new("p", ErrorKind::Value, p, call(&[2, 3], 0.0, 0, 1.0)),
        ErrorSample::new("maxnorm", ErrorKind::Value, maxnorm, call(&[2, 3], 2.0, 0, -1.0)),
        ErrorSample::new("dim", ErrorKind::Dim, "renorm: dim 2 is out of range", call(&[2, 3], 2.0, 2, 1.0)),
        ErrorSample::new("shape", ErrorKind::Shape, "expected at least two dims, got f64[3]", call(&[3], 2.0, 0, 1.0)),
    ]
}

fn renorm_kinks() -> Vec<Kink> {
    vec![Kink::new("zeros, and at maxnorm", Tensor::from([[0.0, 0.0], [3.0, 4.0]]), [1.0; 4], |x| {
        x.renorm(2.0, 0, 5.0)
    })]
}
