//! Singular values and their vectors.

use smallvec::{SmallVec, smallvec};

use super::complex::try_computed;
use super::complex_samples as z;
use super::eigh::{naive_eigh, not_converged};
use super::naive::{elements, per_matrix, product};
use super::phase::Phase;
use super::quotient::{By, Quotient, Zero};
use super::{MatrixOp, Slot, adjoint, apply, apply1, conjugate, matrices, real_part, sizes, times_adjoint, widened};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::{complex_jacobi, spectral};
use crate::ops::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The singular values `S` of matrices in falling order, with orthonormal vectors as the columns of `U` and the rows of `Vᵀ`:
    /// `A = U diag(S) Vᵀ`.
    ///
    /// Vectors are unique up to a common sign; here the largest component of each row of `Vᵀ` is positive. The cargo feature
    /// `linalg` makes large matrices faster.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[.., m, k]`, `[.., k]` and `[.., k, n]`, `k` being the smaller one. With `full_matrices` vectors are
    /// added until `U` and `Vᵀ` are square.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// With the gaps `S[j]² - S[i]²` in the place of those of [`eigh`](Tensor::eigh), and with divisions by `S` for a matrix that is not
    /// square. The vectors of equal singular values, and of 0 if the matrix is not square, are not unique and have no derivative:
    /// where one is asked for, and their cotangents are not exactly 0, that is an error. Singular values alone have one: see
    /// [`svdvals`](Tensor::svdvals).
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions. The derivative is a `Value` error where it divides by 0, and `NotDifferentiable` for
    /// the vectors of a full decomposition of a matrix that is not square.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (u, s, vh) = Tensor::from([[0.0, 3.0], [2.0, 0.0]]).svd(false)?;
    /// assert_eq!(s.to_vec::<f64>()?, [3.0, 2.0]);
    /// assert_eq!(u.to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
    /// assert_eq!(vh.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn svd(&self, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> = svd {
        samples: svd_samples, errors: svd_errors,
        python: svd(full_matrices = true) -> (U, S, Vh)
    };

    /// The singular values of matrices in falling order.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[.., k]`, `k` being the smaller one.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `U diag(g) Vᵀ`. Nothing is divided by gaps, so functions that treat equal singular values alike have the right gradient. A
    /// singular value of 0 has a kink, where the derivative is 0. The second derivative is that of the vectors, and an error where
    /// singular values are equal.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let s = Tensor::from([[0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]).svdvals()?;
    /// assert_eq!(s.to_vec::<f64>()?, [5.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn svdvals(&self) -> Result<Tensor> = svdvals { samples: svdvals_samples, errors: svdvals_errors, kinks: svdvals_kinks };

}

/// The distance from 1 to the next number.
pub(super) fn epsilon(dtype: DType) -> f64 {
    if dtype.to_real() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// Left vectors as columns, values, right vectors as columns.
#[derive(Clone, Debug)]
pub(super) struct Svd {
    pub(super) of: &'static str,
    pub(super) full: bool,
}

impl Svd {
    pub(super) fn parts(self, a: &Tensor) -> Result<[Tensor; 3]> {
        let of = self.of;
        match <[Tensor; 3]>::try_from(apply(self, &[a])?.into_iter().collect::<Vec<_>>()) {
            Ok(parts) => Ok(parts),
            Err(_) => bail!(Internal, "{of}: an operation with three outputs returned fewer"),
        }
    }

    fn quotient(&self, by: By, zero: Zero) -> Quotient {
        Quotient { of: self.of, values: "singular values", by, zero }
    }

    /// An error if vectors were added that have no derivative.
    fn check_unique(&self, u: &Tensor, v: &Tensor) -> Result<()> {
        if self.full && sizes(u)[0] != sizes(v)[0] {
            bail!(NotDifferentiable, "{}: the vectors that make {} and {} square are not unique and have no derivative",
                self.of, u.ty(), v.ty(); help = "leave out `full_matrices`");
        }
        Ok(())
    }
}

fn of_complex(op: &str, x: &Array, full: bool) -> Result<SmallVec<[Array; 2]>> {
    try_computed(x, &|a| Ok(complex_jacobi::svd(a, full)?.to_vec())).map_err(|stop| not_converged(op, x, stop))
}

/// The diagonal matrices of the imaginary parts of a diagonal; nothing for real numbers.
fn turns(x: &Tensor) -> Result<Option<Tensor>> {
    if !x.dtype().is_complex() {
        return Ok(None);
    }
    let own = x.diagonal(0, -2, -1)?;
    own.sub(&own.real()?)?.diag_embed(0, -2, -1).map(Some)
}

/// Values that are not 0 to rounding, as a mask of numbers.
fn live(s: &Tensor) -> Result<Tensor> {
    let n = s.shape()[s.rank() - 1];
    if n == 0 {
        return Ok(s.clone());
    }
    let tiny = s.narrow(-1, 0, 1)?.mul(4.0 * n as f64 * epsilon(s.dtype()))?;
    s.gt(&tiny)?.to_dtype(s.dtype())
}

impl MatrixOp for Svd {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0), Slot::Out(1), Slot::Out(2)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return of_complex(self.of, x[0], self.full);
        }
        match dispatch!(x[0].dtype(), self.of, float, T => Ok(spectral::svd::<T>(x[0], true, self.full)))? {
            Ok(parts) => Ok(parts.into_iter().collect()),
            Err(stop) => Err(not_converged(self.of, x[0], stop)),
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let [u, s, v] = [&saved[0], &saved[1], &saved[2]];
        let Some(t) = t[0].as_tensor() else {
            return Ok((0..3).map(|_| Tangent::zero()).collect());
        };
        self.check_unique(u, v)?;
        let ([m, k], [n, _]) = (sizes(u), sizes(v));
        let ut = adjoint(u)?.matmul(t)?;
        let p = ut.matmul(v)?;
        let (row, column) = (s.unsqueeze(-2)?, s.unsqueeze(-1)?);
        let between = |x: &Tensor| {
            let gaps = self.quotient(By::Gap, Zero::Small).divide(x, s)?;
            self.quotient(By::Sum, Zero::Small).divide(&gaps, s)
        };
        let turned = adjoint(&p)?;
        let mut du = u.matmul(&between(&p.mul(&row)?.add(&turned.mul(&column)?)?)?)?;
        let mut dv = v.matmul(&between(&p.mul(&column)?.add(&turned.mul(&row)?)?)?)?;
        let own = self.quotient(By::Own, Zero::Small);
        if let Some(turns) = turns(&p)? {
            // Vectors of a pair may turn together, and share what turns them apart.
            let half = own.divide(&turns, s)?.mul(0.5)?;
            (du, dv) = (du.add(&u.matmul(&half)?)?, dv.sub(&v.matmul(&half)?)?);
        }
        if m > k {
            du = du.add(&own.divide(&t.matmul(v)?.sub(&u.matmul(&p)?)?, s)?)?;
        }
        if n > k {
            dv = dv.add(&own.divide(&adjoint(&ut)?.sub(&times_adjoint(v, &p)?)?, s)?)?;
        }
        let ds = real_part(&p.diagonal(0, -2, -1)?)?.mul(&live(s)?)?;
        Ok([du.into(), ds.into(), dv.into()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let [u, s, v] = [&saved[0], &saved[1], &saved[2]];
        if !g[0].is_zero() || !g[2].is_zero() {
            self.check_unique(u, v)?;
        }
        let k = s.shape()[s.rank() - 1];
        let (u, v) = (&u.narrow(-1, 0, k)?, &v.narrow(-1, 0, k)?);
        let (m, n) = (sizes(u)[0], sizes(v)[0]);
        let (row, column) = (s.unsqueeze(-2)?, s.unsqueeze(-1)?);
        let gaps = self.quotient(By::Gap, Zero::Unused);
        // What a cotangent of vectors has within their span, and beside it.
        let split = |x: &Tensor, g: &Cotangent, wide: bool| -> Result<[Cotangent; 3]> {
            let Some(g) = g.as_tensor() else { return Ok([(); 3].map(|()| Cotangent::zero())) };
            let inner = adjoint(x)?.matmul(g)?;
            let turned = gaps.divide(&inner, s)?;
            let beside = if wide {
                let rest = g.sub(&x.matmul(&inner)?)?;
                // A column that nobody uses stays exactly 0.
                let rest = g.ne(0)?.to_dtype(s.dtype())?.max_dims(&[-2], true)?.mul(&rest)?;
                self.quotient(By::Own, Zero::Unused).divide(&rest, s)?.into()
            } else {
                Cotangent::zero()
            };
            Ok([turned.add(&adjoint(&turned)?)?.into(), beside, inner.into()])
        };
        let [of_u, beside_u, inner_u] = split(u, &g[0], m > k)?;
        let [of_v, beside_v, inner_v] = split(v, &g[2], n > k)?;
        let mut of_turns = Cotangent::zero();
        if u.dtype().is_complex() {
            let together = inner_u.clone().plus(inner_v.clone())?;
            together.map(|x| Phase { of: self.of }.checked(x))?;
            let apart = inner_u.plus(inner_v.map(Tensor::neg)?)?;
            of_turns = apart.map(|x| match turns(x)? {
                Some(turns) => self.quotient(By::Own, Zero::Unused).divide(&turns, s)?.mul(0.5),
                None => Ok(x.clone()),
            })?;
        }
        let both = of_u.map(|x| x.mul(&row))?.plus(of_v.map(|x| x.mul(&column))?)?;
        let both = both.map(|x| self.quotient(By::Sum, Zero::Small).divide(x, s))?;
        let of_s = g[1].map(|g| g.mul(&live(s)?)?.to_dtype(u.dtype())?.diag_embed(0, -2, -1))?;
        let inner = both.plus(of_s)?.plus(of_turns)?.map(|x| times_adjoint(&u.matmul(x)?, v))?;
        let left = beside_u.map(|x| times_adjoint(x, v))?;
        let right = beside_v.map(|x| times_adjoint(u, x))?;
        Ok(smallvec![inner.plus(left)?.plus(right)?])
    }
}

fn svd(x: &Tensor, full: bool) -> Result<(Tensor, Tensor, Tensor)> {
    widened(x, |x| {
        let [u, s, v] = Svd { of: "svd", full }.parts(&matrices("svd", x)?)?;
        Ok((u, s, adjoint(&v)?))
    })
}

/// The singular values alone, whose derivative has no gaps.
#[derive(Clone, Debug)]
struct Values;

impl MatrixOp for Values {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "svdvals"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(smallvec![of_complex("svdvals", x[0], false)?.swap_remove(1)]);
        }
        match dispatch!(x[0].dtype(), "svdvals", float, T => Ok(spectral::svd::<T>(x[0], false, false)))? {
            Ok([_, s, _]) => Ok(smallvec![s]),
            Err(stop) => Err(not_converged("svdvals", x[0], stop)),
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let tangent = t[0].map(|t| {
            let [u, s, v] = Svd { of: "svdvals", full: false }.parts(&saved[0])?;
            real_part(&t.matmul(&v)?.mul(&conjugate(&u)?)?)?.sum_dims(&[-2], false)?.mul(&live(&s)?)
        })?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let g = g[0].map(|g| {
            let [u, s, v] = Svd { of: "svdvals", full: false }.parts(&saved[0])?;
            times_adjoint(&u.mul(&g.mul(&live(&s)?)?.unsqueeze(-2)?)?, &v)
        })?;
        Ok(smallvec![g])
    }
}

fn svdvals(x: &Tensor) -> Result<Tensor> {
    widened(x, |x| singular_values("svdvals", x))
}

/// The singular values, for the operation that needs them.
pub(super) fn singular_values(op: &str, x: &Tensor) -> Result<Tensor> {
    apply1(Values, &[&matrices(op, x)?])
}

/// Singular values in falling order, with left and right vectors, from the eigenvectors of `AᵀA`.
///
/// Vectors of equal values are not unique; NaN stands for those of whole numbers, which many are.
pub(super) fn naive_svd(a: &Naive) -> Vec<(f64, Vec<f64>, Vec<f64>)> {
    let (m, n) = (a.shape[0], a.shape[1]);
    if a.data.iter().all(|v| v.fract() == 0.0) {
        return vec![(f64::NAN, vec![f64::NAN; m], vec![f64::NAN; n]); m.min(n)];
    }
    let turned = Naive { shape: vec![n, m], data: elements(n, m, |i, j| a.at(&[j, i])) };
    let wide = m < n;
    let square = if wide { product(a, &turned) } else { product(&turned, a) };
    let mut found: Vec<_> = naive_eigh(&square)
        .into_iter()
        .rev()
        .map(|(w, v)| {
            let s = w.max(0.0).sqrt();
            let other: Vec<f64> = if wide {
                (0..n).map(|j| (0..m).map(|i| a.at(&[i, j]) * v[i]).sum::<f64>() / s).collect()
            } else {
                (0..m).map(|i| (0..n).map(|j| a.at(&[i, j]) * v[j]).sum::<f64>() / s).collect()
            };
            let (u, v) = if wide { (v, other) } else { (other, v) };
            let largest = v.iter().fold(0.0f64, |m: f64, x| if x.abs() > m.abs() { *x } else { m });
            let sign = 1f64.copysign(largest);
            (s, u.iter().map(|x| x * sign).collect::<Vec<_>>(), v.iter().map(|x| x * sign).collect::<Vec<_>>())
        })
        .collect();
    found.truncate(m.min(n));
    found
}

/// Matrices with singular values well apart.
pub(super) fn apart(shape: &[usize]) -> Tensor {
    let (lead, core) = shape.split_at(shape.len() - 2);
    let most = core[0].max(core[1]);
    let make = || {
        let x = super::eigh::apart(&[lead, &[most, most]].concat());
        x.add(&sample_tensor(&[most, most], -0.3, 0.3, 8))?.narrow(-2, 0, core[0])?.narrow(-1, 0, core[1])
    };
    make().expect("small matrices")
}

pub(super) const SHAPES: [&[usize]; 8] = [&[3, 3], &[1, 1], &[4, 2], &[2, 4], &[2, 3, 2], &[0, 0], &[0, 2, 2], &[2, 0]];

/// Parts of matrices whose singular values are apart.
pub(super) fn parts(shape: &[usize]) -> [Tensor; 2] {
    [apart(shape), sample_tensor(shape, -0.4, 0.3, 4)]
}

fn svd_samples() -> Vec<Sample> {
    let complex = SHAPES.iter().map(|&shape| {
        let full = shape == [3, 3];
        z::of_parts(format!("{shape:?}, full {full}"), vec![parts(shape)], move |x| {
            let (u, s, vh) = x[0].svd(full)?;
            let k = s.shape()[s.rank() - 1];
            let other = Tensor::arange(0, k as i64, 1, s.dtype())?.square()?;
            // Functions that no common phase of a pair changes.
            let whole = |w: &Tensor| u.mul(&w.unsqueeze(-2)?)?.matmul(&vh);
            let within = times_adjoint(&u.mul(&other.unsqueeze(-2)?)?, &u)?;
            Ok(vec![whole(&s)?, adjoint(&u)?.matmul(&u)?, s.clone(), whole(&other)?, within])
        })
        .reference(|x| {
            let a = z::blocks(&x[0], &x[1]);
            let (m, n) = (a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1]);
            let k = m.min(n);
            // Each value is there twice, and its vectors span the same planes.
            let values = per_matrix(&a, &[k / 2], |a| naive_svd(a).iter().step_by(2).map(|p| p.0).collect());
            let square = |k: usize| (k / 2 * (k / 2)) as f64;
            let both = per_matrix(&a, &[m, n], |a| {
                let found = naive_svd(a);
                elements(m, n, |i, j| found.iter().enumerate().map(|(k, (_, u, v))| square(k) * u[i] * v[j]).sum())
            });
            let left = per_matrix(&a, &[m, m], |a| {
                let found = naive_svd(a);
                elements(m, m, |i, j| found.iter().enumerate().map(|(k, (_, u, _))| square(k) * u[i] * u[j]).sum())
            });
            vec![z::itself(x), z::identity(&x[0], k / 2), values, z::pairs(&both), z::pairs(&left)]
        })
        .tolerance(1e-9)
    });
    SHAPES
        .iter()
        .map(|&shape| {
            let full = shape == [3, 3];
            Sample::new(format!("{shape:?}, full {full}"), [apart(shape)], move |x| {
                let (u, s, vh) = x[0].svd(full)?;
                Ok(vec![u, s, vh])
            })
            .reference(|x| {
                let rank = x[0].shape.len();
                let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
                let k = m.min(n);
                let u = per_matrix(&x[0], &[m, k], |a| {
                    let found = naive_svd(a);
                    elements(m, k, |i, j| found[j].1[i])
                });
                let s = per_matrix(&x[0], &[k], |a| naive_svd(a).iter().map(|p| p.0).collect());
                let v = per_matrix(&x[0], &[k, n], |a| {
                    let found = naive_svd(a);
                    elements(k, n, |i, j| found[i].2[j])
                });
                vec![u, s, v]
            })
            .tolerance(1e-9)
        })
        .chain(complex)
        .collect()
}

fn svdvals_samples() -> Vec<Sample> {
    let complex = SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![parts(shape)], |x| Ok(vec![x[0].svdvals()?]))
            .reference(|x| {
                let a = z::blocks(&x[0], &x[1]);
                let k = a.shape[a.shape.len() - 2].min(a.shape[a.shape.len() - 1]) / 2;
                // Each is there twice.
                vec![per_matrix(&a, &[k], |a| naive_svd(a).iter().step_by(2).map(|p| p.0).collect())]
            })
            .tolerance(1e-9)
    });
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::one(format!("{shape:?}"), [apart(shape)], |x| x[0].svdvals())
                .reference(|x| {
                    let rank = x[0].shape.len();
                    let k = x[0].shape[rank - 2].min(x[0].shape[rank - 1]);
                    vec![per_matrix(&x[0], &[k], |a| naive_svd(a).iter().map(|p| p.0).collect())]
                })
                .tolerance(1e-9)
        })
        .chain(complex)
        .collect()
}

pub(super) fn of_vector(call: fn(&Tensor) -> Result<Tensor>, message: &'static str) -> Vec<ErrorSample> {
    vec![ErrorSample::new("vector", ErrorKind::Shape, message, move || call(&Tensor::from([1.0, 2.0])))]
}

fn svd_errors() -> Vec<ErrorSample> {
    let mut errors = of_vector(|x| Ok(x.svd(false)?.1), "svd: expected matrices, got f64[2]");
    errors.push(ErrorSample::new("full", ErrorKind::NotDifferentiable, "svd: the vectors that make", || {
        crate::grad(|x: &Tensor| x.svd(true)?.0.sum())(&apart(&[3, 2]))
    }));
    errors.push(ErrorSample::new("equal", ErrorKind::Value, "svd: expected distinct singular values", || {
        crate::grad(|x: &Tensor| x.svd(false)?.0.sum())(&Tensor::eye(2, DType::F64)?)
    }));
    let message = "svd: expected a function that does not depend on the phases of complex vectors";
    errors.push(ErrorSample::new("phases", ErrorKind::Value, message, || {
        let [re, im] = parts(&[3, 3]);
        crate::grad(|x: &Tensor| x.svd(false)?.0.select(-2, 1)?.imag()?.sum())(&crate::complex(&re, &im)?)
    }));
    errors
}

fn svdvals_errors() -> Vec<ErrorSample> {
    of_vector(Tensor::svdvals, "svdvals: expected matrices, got f64[2]")
}

fn svdvals_kinks() -> Vec<Kink> {
    let call = |x: &Tensor| x.svdvals();
    vec![
        Kink::new("equal values", Tensor::from([[2.0, 0.0], [0.0, 2.0]]), [1.0, 0.0, 0.0, 1.0], call),
        Kink::new("a value of 0", Tensor::from([[2.0, 0.0], [0.0, 0.0]]), [1.0, 0.0, 0.0, 0.0], call),
    ]
}
