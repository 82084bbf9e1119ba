//! Quotients by the gaps between eigenvalues, which the derivatives of eigenvectors are made of.

use smallvec::{SmallVec, smallvec};

use super::{MatrixOp, Slot, apply1, conjugate, real_part, which};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::copy::contiguous;
use crate::kernels::linalg::Scalar;
use crate::shape::{Shape, broadcast, numel};
use crate::{Error, ErrorKind, Result, Tensor};

/// What an element in row `i` and column `j` is divided by, for values `w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// `w[j] - w[i]`, and the diagonal becomes 0.
    Gap,
    /// `w[i] + w[j]`.
    Sum,
    /// `w[j]`.
    Own,
}

/// When an element that would be divided by zero is 0 and not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// Where it is nothing but rounding error of the others.
    Small,
    /// Where its column, and for gaps also that of its partner, is 0: nobody uses these vectors.
    Unused,
}

/// The elements of matrices, real or complex, divided by gaps between values, which may be 0 to rounding: what would then be infinite is an
/// error that names the values, unless [`Zero`] says that it is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quotient {
    pub(super) of: &'static str,
    /// What the values are called.
    pub(super) values: &'static str,
    pub(super) by: By,
    pub(super) zero: Zero,
}

impl Quotient {
    pub(super) fn divide(self, x: &Tensor, w: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, w])
    }

    /// The divisors, or their tangents.
    fn divisors(self, w: &Tensor) -> Result<Tensor> {
        let (row, column) = (w.unsqueeze(-2)?, w.unsqueeze(-1)?);
        match self.by {
            By::Gap => row.sub(&column),
            By::Sum => row.add(&column),
            By::Own => Ok(row),
        }
    }

    /// Divides the elements of one matrix, each of which has so many parts.
    fn one<T: Scalar>(
        self,
        [m, n, parts]: [usize; 3],
        x: &[T],
        w: &[T],
        out: &mut [T],
    ) -> std::result::Result<(), [usize; 2]> {
        let largest = |v: &[T]| v.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m });
        let tiny = T::from_f64(4.0 * n.max(1) as f64) * T::EPSILON * largest(w);
        let noise = T::from_f64(1e3 * n.max(1) as f64) * T::EPSILON * largest(x);
        let element = |i: usize, j: usize| (i * n + j) * parts..(i * n + j + 1) * parts;
        let unused = |j: usize| (0..m).all(|i| x[element(i, j)].iter().all(|v| *v == T::ZERO));
        for i in 0..m {
            for j in 0..n {
                let divisor = match self.by {
                    By::Gap if i == j => continue,
                    By::Gap => w[j] - w[i],
                    By::Sum => w[i] + w[j],
                    By::Own => w[j],
                };
                let close = divisor.abs() <= tiny;
                if !close {
                    for e in element(i, j) {
                        out[e] = x[e] / divisor;
                    }
                    continue;
                }
                let absent = match self.zero {
                    Zero::Small => x[element(i, j)].iter().all(|v| v.abs() <= noise),
                    Zero::Unused => unused(j) && (self.by != By::Gap || unused(i)),
                };
                if !absent {
                    return Err([i.min(j), i.max(j)]);
                }
            }
        }
        Ok(())
    }

    /// Divides `x`, whose last dimension has the parts of numbers.
    fn all<T: Scalar>(self, x: &Array, w: &Array) -> Result<Array> {
        let [m, n, parts] = [3, 2, 1].map(|d| x.shape()[x.rank() - d]);
        let lead = broadcast(&x.shape()[..x.rank() - 3], &w.shape()[..w.rank() - 1]).unwrap_or_default();
        let whole = |core: &[usize]| lead.iter().chain(core).copied().collect::<Shape>();
        let (x, w) = (contiguous(&x.expand(&whole(&[m, n, parts]))), contiguous(&w.expand(&whole(&[n]))));
        let mut out = Array::full(whole(&[m, n, parts]), T::ZERO);
        let (from, values) = (x.as_slice::<T>().unwrap_or_default(), w.as_slice::<T>().unwrap_or_default());
        let into = out.as_mut_slice::<T>().unwrap_or_default();
        for k in 0..numel(&lead) {
            let (place, w) = (k * m * n * parts..(k + 1) * m * n * parts, &values[k * n..(k + 1) * n]);
            if let Err([i, j]) = self.one([m, n, parts], &from[place.clone()], w, &mut into[place]) {
                return Err(self.error(&lead, k, [i, j], [w[i.min(n - 1)].to_f64(), w[j].to_f64()]));
            }
        }
        Ok(out)
    }

    #[cold]
    fn error(self, lead: &[usize], matrix: usize, [i, j]: [usize; 2], [a, b]: [f64; 2]) -> Error {
        let Quotient { of, values, .. } = self;
        let place = which(lead, crate::kernels::linalg::Stop { matrix, step: 0 });
        let found = match self.by {
            By::Own => format!("number {j}, {b:e}, is 0 to rounding"),
            _ => format!("numbers {i} and {j}, {a:e} and {b:e}, are equal to rounding"),
        };
        let message = format!(
            "{of}: expected distinct {values} where a derivative needs their vectors, got some{place} of which {found}"
        );
        Error::new(ErrorKind::Value, message).with_help(format!(
            "such vectors are not unique and have no derivative; if only the {values} are used, take them without vectors"
        ))
    }
}

impl MatrixOp for Quotient {
    const CORES: &'static [usize] = &[2, 1];
    const SAVED: &'static [Slot] = &[Slot::In(1), Slot::Out(0)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let (x, w) = (Tensor::from(x[0].clone()), x[1]);
        let complex = x.dtype().is_complex();
        let x = if complex { x.view_as_real()? } else { x.unsqueeze(-1)? };
        if x.dtype() != w.dtype() {
            bail!(Internal, "{}: values {} do not fit {}", self.of, w.ty(), x.ty());
        }
        let divided = Tensor::from(dispatch!(x.dtype(), self.of, float, T => self.all::<T>(x.concrete(), w))?);
        let divided = if complex { divided.view_as_complex()? } else { divided.squeeze(-1)? };
        Ok(smallvec![divided.concrete().clone()])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (w, y) = (&saved[0], &saved[1]);
        let of_w = t[1].map(|t| y.mul(&self.divisors(t)?)?.neg())?;
        Ok(smallvec![t[0].clone().plus(of_w)?.map(|t| self.divide(t, w))?])
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let (w, y) = (&saved[0], &saved[1]);
        let of_x = g[0].map(|g| self.divide(g, w))?;
        let of_w = match of_x.as_tensor() {
            Some(g) if needs[1] => {
                // Values are real.
                let share = real_part(&g.mul(&conjugate(y)?)?)?.neg()?;
                let (columns, rows) = (share.sum_dims(&[-2], false)?, share.sum_dims(&[-1], false));
                match self.by {
                    By::Gap => columns.sub(&rows?)?,
                    By::Sum => columns.add(&rows?)?,
                    By::Own => columns,
                }
                .into()
            }
            _ => Cotangent::zero(),
        };
        Ok([of_x, of_w].into_iter().collect())
    }
}
