//! Orthogonal factors, and least squares.

use smallvec::{SmallVec, smallvec};

use super::complex::computed;
use super::complex_samples as z;
use super::naive::{broadcast_matrix, elements, inverse, per_matrix, product, regular};
use super::svd::epsilon;
use super::triangular::{Triangular, naive_lead};
use super::{MatrixOp, Slot, adjoint, apply2, check_leads, conjugate, matrices, sizes, transposed};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::{complex, qr as kernel};
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::Shape;
use crate::{Complex64, DType, ErrorKind, Result, Tensor, cat};

ops! { OPS;
    /// The factors of `A = Q R`: orthonormal columns and an upper triangle.
    ///
    /// The diagonal of `R` is real, also for complex numbers, and may be negative: each reflection turns a column to the side away from
    /// where it points, as in LAPACK.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[.., m, k]` and `[.., k, n]`, `k` being the smaller one, or `m` if `complete`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the unique factors of a matrix whose first `k` columns have full rank. The columns that complete a basis are not
    /// unique, so there is none for `complete` with `m > n`.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions. The derivative is a `Value` error if the rank is not full, and `NotDifferentiable` for a
    /// basis that was completed.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (q, r) = Tensor::from([[3.0, 1.0], [4.0, 2.0]]).qr(false)?;
    /// let near = |x: &Tensor, want: [f64; 4]| {
    ///     Ok::<_, pullback::Error>(x.to_vec::<f64>()?.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-15))
    /// };
    /// assert!(near(&q, [-0.6, -0.8, -0.8, 0.6])? && near(&r, [-5.0, -2.2, 0.0, 0.4])?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The derivative for wide matrices is that of D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation", 2020.
    fn qr(&self, complete: bool) -> Result<(Tensor, Tensor)> = qr {
        samples: qr_samples, errors: qr_errors,
        python: qr(complete = false) -> (Q, R)
    };

    /// The solutions `X` for which `A X` is nearest to `B`, this tensor being the matrices `A` of full rank; of many solutions the
    /// shortest.
    ///
    /// # Shapes
    /// Matrices `[.., m, n]` and right-hand sides `[.., m, l]`, whose leading dimensions broadcast, give `[.., n, l]`. `B` is a vector
    /// if it has one dimension, or the shape of `A` without the last one; then so is the solution.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the solution by orthogonal factors.
    ///
    /// # Errors
    /// `Shape` if shapes do not fit; `Value` for a matrix whose rank is not full to working precision, with its number among many.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// // The line through three points.
    /// let a = Tensor::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]);
    /// let x = a.lstsq(&Tensor::from([1.0, 3.0, 5.0]))?.to_vec::<f64>()?;
    /// assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn lstsq(&self, b: &Tensor) -> Result<Tensor> = lstsq {
        samples: lstsq_samples, errors: lstsq_errors,
        python: lstsq(b as B) -> (solution)
    };
}

#[derive(Clone, Debug)]
struct Qr {
    of: &'static str,
    complete: bool,
}

/// The upper triangle of a matrix of full rank, with what counts as a zero.
fn full_rank(of: &'static str, [m, n]: [usize; 2], dtype: DType) -> Triangular {
    Triangular { tiny: m.max(n) as f64 * epsilon(dtype), ..Triangular::upper(of) }
}

impl MatrixOp for Qr {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0), Slot::Out(1)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let (m, n) = (x[0].shape()[x[0].rank() - 2], x[0].shape()[x[0].rank() - 1]);
        let k = if self.complete { m } else { m.min(n) };
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| complex::qr(a, k).to_vec()));
        }
        let (q, r) = dispatch!(x[0].dtype(), self.of, float, T => Ok(kernel::factor::<T>(x[0], k)))?;
        Ok(smallvec![q, r])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (q, r) = (&saved[0], &saved[1]);
        let ([m, k], [_, n]) = (sizes(q), sizes(r));
        let Some(t) = t[0].as_tensor() else { return Ok([Tangent::zero(), Tangent::zero()].into_iter().collect()) };
        if k > n {
            bail!(NotDifferentiable, "{}: the columns that complete the basis {} are not unique and have no derivative",
                self.of, q.ty(); help = "leave out `complete`");
        }
        // The factors of the first k columns, which those of the others follow.
        let first = |x: &Tensor| x.narrow(-1, 0, k);
        let square = first(r)?;
        let c = full_rank(self.of, [m, n], r.dtype()).solve_right(&square, &first(t)?)?;
        let inner = adjoint(q)?.matmul(&c)?;
        let below = inner.tril(-1)?;
        let mut turn = below.sub(&adjoint(&below)?)?;
        if turn.dtype().is_complex() {
            // The diagonal of R stays real.
            let own = inner.diagonal(0, -2, -1)?;
            turn = turn.add(&own.sub(&own.real()?)?.diag_embed(0, -2, -1)?)?;
        }
        let upper = inner.sub(&turn)?;
        let dq = c.sub(&q.matmul(&upper)?)?;
        let dr = upper.matmul(&square)?;
        let dr = if n > k {
            let rest = |x: &Tensor| x.narrow(-1, k as isize, n - k);
            let others = adjoint(q)?.matmul(&rest(t)?)?.sub(&turn.matmul(&rest(r)?)?)?;
            cat(&[&dr, &others], -1)?
        } else {
            dr
        };
        Ok([dq.into(), dr.into()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let (q, r) = (&saved[0], &saved[1]);
        let (m, n) = (sizes(q)[0], sizes(r)[1]);
        let shape: Shape = q.shape()[..q.rank() - 2].iter().copied().chain([m, n]).collect();
        let like = broadcast_to(&Tensor::zeros(&[], q.dtype())?, &shape)?;
        transposed(&[&like], needs, g, |t| self.tangents(saved, t))
    }
}

fn qr(x: &Tensor, complete: bool) -> Result<(Tensor, Tensor)> {
    super::widened(x, |x| apply2(Qr { of: "qr", complete }, &[&matrices("qr", x)?]))
}

fn lstsq(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    const NAME: &str = "lstsq";
    super::common(a, b, |a, b| {
        let a = matrices(NAME, a)?;
        let vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape() == &a.shape()[..a.rank() - 1]);
        let b = matrices(NAME, &if vector { b.unsqueeze(-1)? } else { b.clone() })?;
        let ([m, n], [rows, _]) = (sizes(&a), sizes(&b));
        if m != rows {
            bail!(
                Shape,
                "{NAME}: expected as many rows as the matrices {} have, got {} ({m} vs {rows})",
                a.ty(),
                b.ty()
            );
        }
        check_leads(NAME, &a, &b, [2, 2])?;
        let system = full_rank(NAME, [m, n], a.dtype());
        let factors = Qr { of: NAME, complete: false };
        let x = if m >= n {
            let (q, r) = apply2(factors, &[&a])?;
            system.solve(&r, &adjoint(&q)?.matmul(&b)?)?
        } else {
            let (q, r) = apply2(factors, &[&adjoint(&a)?])?;
            q.matmul(&Triangular { transposed: true, ..system }.solve(&conjugate(&r)?, &b)?)?
        };
        if vector { x.squeeze(-1) } else { Ok(x) }
    })
}

/// The factors by Gram and Schmidt, with the signs of reflections.
fn naive_qr(a: &Naive) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let (m, n) = (a.shape[0], a.shape[1]);
    let k = m.min(n);
    let (mut q, mut r): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), vec![vec![0.0; n]; k]);
    // What reflections have made of the columns decides the sign.
    let mut work: Vec<Vec<f64>> = (0..n).map(|j| (0..m).map(|i| a.at(&[i, j])).collect()).collect();
    for j in 0..k {
        let length = work[j][j..].iter().map(|x| x * x).sum::<f64>().sqrt();
        let below = work[j][j + 1..].iter().any(|x| *x != 0.0);
        let beta = if below { -length.copysign(work[j][j]) } else { work[j][j] };
        if below {
            let mut v = work[j].clone();
            v[..j].fill(0.0);
            v[j] -= beta;
            let size: f64 = v.iter().map(|x| x * x).sum();
            for column in &mut work[j..] {
                let part: f64 = 2.0 / size * v.iter().zip(column.iter()).map(|(x, y)| x * y).sum::<f64>();
                column.iter_mut().zip(&v).for_each(|(x, y)| *x -= part * y);
            }
        }
        let mut column: Vec<f64> = (0..m).map(|i| a.at(&[i, j])).collect();
        for other in &q {
            let part: f64 = column.iter().zip(other).map(|(x, y)| x * y).sum();
            column.iter_mut().zip(other).for_each(|(x, y)| *x -= part * y);
        }
        let size = column.iter().map(|x| x * x).sum::<f64>().sqrt().copysign(beta);
        q.push(column.iter().map(|x| x / size).collect());
        for (c, entry) in r[j].iter_mut().enumerate().skip(j) {
            *entry = (0..m).map(|i| q[j][i] * a.at(&[i, c])).sum();
        }
    }
    (q, r)
}

/// The whole factors of a complex matrix, by products with whole reflections.
fn complex_qr(m: usize, n: usize, a: &[Complex64]) -> (Vec<Vec<Complex64>>, Vec<Vec<Complex64>>) {
    let zero = Complex64::new(0.0, 0.0);
    let one = |i: usize, j: usize| Complex64::new(f64::from(u8::from(i == j)), 0.0);
    let times = |a: &[Vec<Complex64>], b: &[Vec<Complex64>]| -> Vec<Vec<Complex64>> {
        let width = b.first().map_or(0, Vec::len);
        a.iter().map(|row| (0..width).map(|j| row.iter().zip(b).map(|(x, y)| x * y[j]).sum()).collect()).collect()
    };
    let mut q: Vec<Vec<Complex64>> = (0..m).map(|i| (0..m).map(|j| one(i, j)).collect()).collect();
    let mut r: Vec<Vec<Complex64>> = (0..m).map(|i| a[i * n..(i + 1) * n].to_vec()).collect();
    for j in 0..m.min(n) {
        let x: Vec<Complex64> = (0..m).map(|i| if i < j { zero } else { r[i][j] }).collect();
        let length = x.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        if x[j].im == 0.0 && length == x[j].re.abs() {
            continue;
        }
        let beta = -length.copysign(x[j].re);
        let v: Vec<Complex64> = (0..m).map(|i| x[i] - beta * one(i, j)).collect();
        // 1 - v vᴴ / (vᴴ x) takes x to its target.
        let share: Complex64 = v.iter().zip(&x).map(|(v, x)| v.conj() * x).sum();
        let h: Vec<Vec<Complex64>> =
            (0..m).map(|i| (0..m).map(|k| one(i, k) - v[i] * v[k].conj() / share).collect()).collect();
        let back: Vec<Vec<Complex64>> = (0..m).map(|i| (0..m).map(|k| h[k][i].conj()).collect()).collect();
        (q, r) = (times(&q, &back), times(&h, &r));
    }
    (q, r)
}

const SHAPES: [&[usize]; 8] = [&[3, 3], &[1, 1], &[4, 2], &[2, 4], &[2, 3, 2], &[0, 0], &[0, 2, 2], &[3, 0]];

fn rectangle(shape: &[usize]) -> Tensor {
    let (lead, core) = shape.split_at(shape.len() - 2);
    let most = core[0].max(core[1]);
    let make = || regular(&[lead, &[most, most]].concat(), 2).narrow(-2, 0, core[0])?.narrow(-1, 0, core[1]);
    make().expect("a part of the matrix")
}

fn qr_samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> = SHAPES
        .iter()
        .map(|&shape| {
            let complete = shape == [2, 4] || shape == [3, 3];
            Sample::new(format!("{shape:?}, complete {complete}"), [rectangle(shape)], move |x| {
                let (q, r) = x[0].qr(complete)?;
                Ok(vec![q, r])
            })
            .reference(|x| {
                let rank = x[0].shape.len();
                let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
                let k = m.min(n);
                let q = per_matrix(&x[0], &[m, k], |a| elements(m, k, |i, j| naive_qr(a).0[j][i]));
                let r = per_matrix(&x[0], &[k, n], |a| {
                    elements(k, n, |i, j| if j < i { 0.0 } else { naive_qr(a).1[i][j] })
                });
                vec![q, r]
            })
        })
        .collect();
    samples.extend(SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![z::any(shape, 7)], |x| {
            let (q, r) = x[0].qr(false)?;
            Ok(vec![q, r])
        })
        .reference(|x| {
            let rank = x[0].shape.len();
            let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
            let k = m.min(n);
            let part = |x: &[Vec<Complex64>], rows: usize, columns: usize| -> Vec<Complex64> {
                x.iter().take(rows).flat_map(|row| row[..columns].to_vec()).collect()
            };
            vec![
                z::per_complex(x, &[m, k], 2, |m, n, a| part(&complex_qr(m, n, a).0, m, k)),
                z::per_complex(x, &[k, n], 2, |m, n, a| part(&complex_qr(m, n, a).1, k, n)),
            ]
        })
    }));
    samples.extend(SHAPES.iter().map(|&shape| {
        z::of_parts(format!("products of {shape:?}"), vec![z::any(shape, 7)], |x| {
            let (q, r) = x[0].qr(false)?;
            let below = r.tril(-1)?.abs()?.sum()?.add(&r.diagonal(0, -2, -1)?.imag()?.abs()?.sum()?)?;
            Ok(vec![q.matmul(&r)?, adjoint(&q)?.matmul(&q)?, below.detach()?])
        })
        .reference(|x| {
            let rank = x[0].shape.len();
            let k = x[0].shape[rank - 2].min(x[0].shape[rank - 1]);
            vec![z::itself(x), z::identity(&x[0], k), Naive { shape: vec![], data: vec![0.0] }]
        })
        .not_differentiable()
    }));
    samples.push(
        Sample::new("a complete basis", [rectangle(&[4, 2])], |x| {
            let (q, r) = x[0].qr(true)?;
            // The added columns are known up to a rotation: their projection is not.
            let added = q.narrow(-1, 2, 2)?;
            Ok(vec![r, added.matmul(&adjoint(&added)?)?])
        })
        .reference(|x| {
            let (q, r) = naive_qr(&x[0]);
            let r = elements(4, 2, |i, j| if i < 2 && j >= i { r[i][j] } else { 0.0 });
            let inside = |i: usize, j: usize| q.iter().map(|c| c[i] * c[j]).sum::<f64>();
            let rest = elements(4, 4, |i, j| f64::from(u8::from(i == j)) - inside(i, j));
            vec![Naive { shape: vec![4, 2], data: r }, Naive { shape: vec![4, 4], data: rest }]
        })
        .tolerance(1e-10)
        .not_differentiable(),
    );
    samples
}

fn qr_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("vector", ErrorKind::Shape, "qr: expected matrices, got f64[2]", || {
            Ok(Tensor::from([1.0, 2.0]).qr(false)?.0)
        }),
        ErrorSample::new("complete", ErrorKind::NotDifferentiable, "qr: the columns that complete the basis", || {
            crate::grad(|x: &Tensor| x.qr(true)?.1.sum())(&rectangle(&[3, 2]))
        }),
        ErrorSample::new(
            "complex rank",
            ErrorKind::Value,
            "qr: expected regular triangular matrices, got c128[2,2]",
            || {
                let x = Tensor::from([[0.1, 0.3], [0.2, 0.6]]).to_dtype(DType::C128)?;
                crate::grad(|x: &Tensor| x.qr(false)?.1.real()?.sum())(&x)
            },
        ),
        ErrorSample::new("rank", ErrorKind::Value, "qr: expected a triangle of f64[2,2] without zeros", || {
            crate::grad(|x: &Tensor| x.qr(false)?.1.sum())(&Tensor::from([[0.1, 0.3], [0.2, 0.6]]))
        }),
    ]
}

/// Solutions by the normal equations, of either kind.
fn naive_lstsq(x: &Naive, b: &Naive) -> Naive {
    let lead = naive_lead(x, b);
    let (rank, of_b) = (x.shape.len(), b.shape.len());
    let (m, n, l) = (x.shape[rank - 2], x.shape[rank - 1], b.shape[of_b - 1]);
    let mut data = Vec::new();
    for k in 0..lead.iter().product() {
        let (a, b) = (broadcast_matrix(x, &lead, k), broadcast_matrix(b, &lead, k));
        let turned = Naive { shape: vec![n, m], data: elements(n, m, |i, j| a.at(&[j, i])) };
        let of = |x: Naive| Naive { shape: x.shape.clone(), data: inverse(&x) };
        let solution = if m >= n {
            product(&of(product(&turned, &a)), &product(&turned, &b))
        } else {
            product(&turned, &product(&of(product(&a, &turned)), &b))
        };
        data.extend(solution.data);
    }
    Naive { shape: [&lead[..], &[n, l]].concat(), data }
}

fn lstsq_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize], vector: bool| {
        let inputs = [rectangle(a), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}"), inputs, |x| x[0].lstsq(&x[1]))
            .reference(move |x| {
                let mut b = x[1].clone();
                if vector {
                    b.shape.push(1);
                }
                let mut y = naive_lstsq(&x[0], &b);
                if vector {
                    y.shape.pop();
                }
                vec![y]
            })
            .tolerance(1e-10)
    };
    let complex = |a: &[usize], b: &[usize]| {
        z::of_parts(format!("{a:?} and {b:?}"), vec![z::any(a, 7), z::any(b, 3)], |x| Ok(vec![x[0].lstsq(&x[1])?]))
            .reference(|x| {
                // The real systems of twice the size have the same solutions.
                let (a, b) = (z::blocks(&x[0], &x[1]), z::blocks(&x[2], &x[3]));
                vec![z::pairs(&naive_lstsq(&a, &b))]
            })
            .tolerance(1e-10)
    };
    vec![
        complex(&[4, 2], &[4, 2]),
        complex(&[2, 4], &[2, 1]),
        complex(&[2, 3, 2], &[3, 1]),
        case(&[4, 2], &[4, 2], false),
        case(&[2, 4], &[2], true),
        case(&[3, 3], &[3], true),
        case(&[2, 3, 2], &[2, 3], true),
        case(&[3, 2], &[2, 3, 1], false),
        case(&[0, 3, 2], &[3, 1], false),
        case(&[3, 0], &[3], true),
    ]
}

fn lstsq_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new(
            "rows",
            ErrorKind::Shape,
            "lstsq: expected as many rows as the matrices f64[3,2] have",
            || rectangle(&[3, 2]).lstsq(&Tensor::from([1.0, 2.0])),
        ),
        ErrorSample::new("rank", ErrorKind::Value, "lstsq: expected a triangle of f64[2,2] without zeros", || {
            Tensor::from([[0.1, 0.3], [0.2, 0.6], [0.3, 0.9]]).lstsq(&Tensor::from([1.0, 2.0, 3.0]))
        }),
    ]
}
