//! Systems with triangular matrices.

use smallvec::{SmallVec, smallvec};

use super::complex_samples as z;
use super::naive::{broadcast_matrix, elements};
use super::{MatrixOp, Slot, apply1, check_leads, flipped, matrices, sizes, times_flipped, which};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::triangular as kernel;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor, complex};

ops! { OPS;
    /// The solutions `X` of `A X = B`, this tensor being the triangular matrices `A`; of `X A = B` unless `left`.
    ///
    /// Only the upper triangle is read if `upper`, else only the lower one; with `unitriangular` the diagonal is not read
    /// and taken for ones.
    ///
    /// # Shapes
    /// Matrices `[.., n, n]` and `[.., n, m]`, or `[.., m, n]` on the right. Leading dimensions broadcast.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`. Complex systems are solved as real ones of twice the size.
    ///
    /// # Derivative
    /// `A⁻ᵀ g` for `B`, and the triangle of `-A⁻ᵀ g Xᵀ` for `A`, with conjugate transposes for complex numbers.
    ///
    /// # Errors
    /// `Shape` if the matrices are not square or do not fit; `Value` for a zero on a diagonal, with the number of the matrix
    /// among many.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let a = Tensor::from([[2.0, 0.0], [1.0, 4.0]]);
    /// let x = a.solve_triangular(&Tensor::from([[2.0], [9.0]]), false, true, false)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn solve_triangular(&self, b: &Tensor, upper: bool, left: bool, unitriangular: bool) -> Result<Tensor>
        = solve_triangular {
        samples: samples, errors: errors,
        python: solve_triangular(b as B, upper, left = true, unitriangular = false)
    };
}

/// The solution of a triangular system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triangular {
    /// What messages call the operation that needs it.
    pub(super) of: &'static str,
    pub(super) upper: bool,
    /// The system of the transposed matrix.
    pub(super) transposed: bool,
    pub(super) unit: bool,
    /// The part of the largest element of its column up to which a number on the diagonal is taken for a zero.
    pub(super) tiny: f64,
}

impl Triangular {
    pub(super) fn lower(of: &'static str) -> Triangular {
        Triangular { of, upper: false, transposed: false, unit: false, tiny: 0.0 }
    }

    pub(super) fn upper(of: &'static str) -> Triangular {
        Triangular { upper: true, ..Triangular::lower(of) }
    }

    pub(super) fn solve(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        if a.dtype().is_complex() { super::complex::triangular(self, a, b) } else { apply1(self, &[a, b]) }
    }

    /// The solution of `X A = B`.
    pub(super) fn solve_right(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        flipped(&Triangular { transposed: !self.transposed, ..self }.solve(a, &flipped(b)?)?)
    }

    /// The part of a matrix that the system reads.
    fn part(self, x: &Tensor) -> Result<Tensor> {
        let edge = isize::from(self.unit);
        if self.upper { x.triu(edge) } else { x.tril(-edge) }
    }
}

impl MatrixOp for Triangular {
    const CORES: &'static [usize] = &[2, 2];
    const SAVED: &'static [Slot] = &[Slot::In(0), Slot::Out(0)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let (a, b) = (x[0], x[1]);
        let Triangular { upper, transposed, unit, tiny, .. } = *self;
        let triangle = kernel::Triangle { upper, transposed, unit };
        match dispatch!(a.dtype(), self.of, float, T => Ok(kernel::solve::<T>(a, b, triangle, tiny)))? {
            Ok(x) => Ok(smallvec![x]),
            Err(stop) => {
                let lead = |x: &Array| x.shape()[..x.rank() - 2].to_vec();
                let whole = crate::shape::broadcast(&lead(a), &lead(b)).unwrap_or_default();
                let place = which(&whole, stop);
                bail!(Value, "{}: expected a triangle of {} without zeros on the diagonal, got one in row {}{place}",
                    self.of, a.ty(), stop.step; help = "the matrix has no inverse, and its solutions and factors no \
                    derivative");
            }
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (a, x) = (&saved[0], &saved[1]);
        let from_a = t[0].map(|t| {
            let t = self.part(t)?;
            let t = if self.transposed { flipped(&t)? } else { t };
            self.solve(a, &t.matmul(x)?)?.neg()
        })?;
        Ok(smallvec![from_a.plus(t[1].map(|t| self.solve(a, t))?)?])
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let (a, x) = (&saved[0], &saved[1]);
        let of_b = g[0].map(|g| Triangular { transposed: !self.transposed, ..*self }.solve(a, g))?;
        let of_a = match of_b.as_tensor() {
            Some(g) if needs[0] => {
                let product = if self.transposed { times_flipped(x, g)? } else { times_flipped(g, x)? };
                self.part(&product)?.neg()?.into()
            }
            _ => Cotangent::zero(),
        };
        Ok(smallvec![of_a, of_b])
    }
}

/// An error unless `a` holds square matrices and `b` as many rows.
pub(super) fn check_fit(op: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    let (a, b) = (super::square(op, a)?, matrices(op, b)?);
    check_rows(op, &a, &b)
}

/// An error unless `b` has as many rows as the square matrices `a`, and leading dimensions that broadcast.
pub(super) fn check_rows(op: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    let ([n, _], [rows, _]) = (sizes(a), sizes(b));
    if n != rows {
        bail!(Shape, "{op}: expected as many rows as the matrices {} have, got {} ({n} vs {rows})", a.ty(), b.ty());
    }
    check_leads(op, a, b, [2, 2])
}

fn solve_triangular(a: &Tensor, b: &Tensor, upper: bool, left: bool, unit: bool) -> Result<Tensor> {
    const NAME: &str = "solve_triangular";
    super::common(a, b, |a, b| {
        let system = Triangular { upper, unit, ..Triangular::lower(NAME) };
        if left {
            check_fit(NAME, a, b)?;
            return system.solve(a, b);
        }
        let (a, b) = (super::square(NAME, a)?, matrices(NAME, b)?);
        let ([n, _], [_, columns]) = (sizes(&a), sizes(&b));
        if n != columns {
            bail!(
                Shape,
                "{NAME}: expected as many columns as the matrices {} have, got {} ({n} vs {columns})",
                a.ty(),
                b.ty()
            );
        }
        check_leads(NAME, &a, &b, [2, 2])?;
        system.solve_right(&a, &b)
    })
}

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    let shapes: [(&[usize], &[usize]); 4] =
        [(&[3, 3], &[3, 2]), (&[2, 2, 2], &[2, 2]), (&[2, 2], &[3, 2, 2]), (&[0, 0], &[0, 0])];
    for (k, (a, b)) in shapes.into_iter().enumerate() {
        for flags in 0..8 {
            let [upper, left, unit] = [flags & 1 > 0, flags & 2 > 0, flags & 4 > 0];
            if k > 0 && flags != 2 * k && flags != 2 * k - 1 {
                continue;
            }
            let mut of_b = b.to_vec();
            if !left {
                let rank = of_b.len();
                of_b.swap(rank - 1, rank - 2);
            }
            let inputs = [super::naive::regular(a, 1), sample_tensor(&of_b, -1.0, 1.0, 2)];
            let label = format!("{a:?} and {of_b:?}, upper {upper}, left {left}, unit {unit}");
            samples.push(
                Sample::one(label, inputs, move |x| x[0].solve_triangular(&x[1], upper, left, unit)).reference(
                    move |x| {
                        let n = x[0].shape[x[0].shape.len() - 1];
                        let triangle = super::naive::per_matrix(&x[0], &[n, n], |a| {
                            elements(n, n, |i, j| match (i == j, (j > i) == upper) {
                                (true, _) if unit => 1.0,
                                (true, _) | (_, true) => a.at(&[i, j]),
                                _ => 0.0,
                            })
                        });
                        if left {
                            return vec![super::solve::naive_solve(&triangle, &x[1])];
                        }
                        let flip = |x: &Naive| {
                            let k = x.shape.len();
                            super::naive::per_matrix(x, &[x.shape[k - 1], x.shape[k - 2]], |a| {
                                elements(a.shape[1], a.shape[0], |i, j| a.at(&[j, i]))
                            })
                        };
                        vec![flip(&super::solve::naive_solve(&flip(&triangle), &flip(&x[1])))]
                    },
                ),
            );
        }
    }
    samples.extend(complex_samples());
    samples
}

/// Systems of complex matrices, all of whose elements are there to be read or not.
fn complex_samples() -> Vec<Sample> {
    let shapes: [(&[usize], &[usize]); 4] =
        [(&[3, 3], &[3, 2]), (&[2, 2, 2], &[2, 2]), (&[2, 2], &[3, 2, 2]), (&[0, 0], &[0, 0])];
    let mut samples = Vec::new();
    for (k, (a, b)) in shapes.into_iter().enumerate() {
        for flags in (0..8).filter(|flags| k == 0 || flags / 2 == k) {
            let [upper, left, unit] = [flags & 1 > 0, flags & 2 > 0, flags & 4 > 0];
            let mut of_b = b.to_vec();
            if !left {
                let rank = of_b.len();
                of_b.swap(rank - 1, rank - 2);
            }
            let label = format!("{a:?} and {of_b:?}, upper {upper}, left {left}, unit {unit}");
            samples.push(
                z::of_parts(label, vec![z::square(a), z::any(&of_b, 3)], move |x| {
                    Ok(vec![x[0].solve_triangular(&x[1], upper, left, unit)?])
                })
                .reference(move |x| {
                    let kept = |x: &Naive, one: f64| {
                        Naive::from_fn(&x.shape, |i| {
                            let rank = i.len();
                            let (r, c) = (i[rank - 2], i[rank - 1]);
                            match (r == c, (c > r) == upper) {
                                (true, _) if unit => one,
                                (true, _) | (_, true) => x.at(i),
                                _ => 0.0,
                            }
                        })
                    };
                    let flip = |x: &Naive| {
                        let k = x.shape.len();
                        super::naive::per_matrix(x, &[x.shape[k - 1], x.shape[k - 2]], |a| {
                            elements(a.shape[1], a.shape[0], |i, j| a.at(&[j, i]))
                        })
                    };
                    let (a, b) = (z::blocks(&kept(&x[0], 1.0), &kept(&x[1], 0.0)), z::blocks(&x[2], &x[3]));
                    let y = if left {
                        super::solve::naive_solve(&a, &b)
                    } else {
                        flip(&super::solve::naive_solve(&flip(&a), &flip(&b)))
                    };
                    vec![z::pairs(&y)]
                }),
            );
        }
    }
    samples
}

fn errors() -> Vec<ErrorSample> {
    let call = |label: &str, kind, message, a: Tensor, b: Tensor, left| {
        ErrorSample::new(label, kind, message, move || a.solve_triangular(&b, false, left, false))
    };
    let x = |shape: &[usize]| sample_tensor(shape, 1.0, 2.0, 1);
    vec![
        call(
            "rows",
            ErrorKind::Shape,
            "solve_triangular: expected as many rows as the matrices f64[2,2] have, got f64[3,1] (2 vs 3)",
            x(&[2, 2]),
            x(&[3, 1]),
            true,
        ),
        call(
            "columns",
            ErrorKind::Shape,
            "solve_triangular: expected as many columns as the matrices f64[2,2] have, got f64[1,3] (2 vs 3)",
            x(&[2, 2]),
            x(&[1, 3]),
            false,
        ),
        call(
            "leading dimensions",
            ErrorKind::Shape,
            "solve_triangular: leading dimensions must broadcast, got f64[2,2,2] and f64[3,2,1]",
            x(&[2, 2, 2]),
            x(&[3, 2, 1]),
            true,
        ),
        call(
            "zero",
            ErrorKind::Value,
            "solve_triangular: expected a triangle of f64[2,2,2] without zeros on the diagonal, got one in row 1 (matrix 1 of 2)",
            Tensor::from([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]),
            x(&[2, 1]),
            true,
        ),
        call(
            "complex zero",
            ErrorKind::Value,
            "solve_triangular: expected regular triangular matrices, got c128[2,2] with one that is not",
            complex(&Tensor::from([[1.0, 0.0], [1.0, 0.0]]), &x(&[2, 2]).tril(-1).expect("a triangle"))
                .expect("two parts"),
            x(&[2, 1]),
            true,
        ),
    ]
}

/// The lead of a broadcast pair, for references.
pub(super) fn naive_lead(a: &Naive, b: &Naive) -> Vec<usize> {
    let lead = |x: &Naive| x.shape[..x.shape.len() - 2].to_vec();
    crate::shape::broadcast(&lead(a), &lead(b)).map(|s| s.to_vec()).unwrap_or_default()
}

/// Matrices of a pair, for references.
pub(super) fn naive_pair(a: &Naive, b: &Naive, k: usize) -> (Naive, Naive) {
    let lead = naive_lead(a, b);
    (broadcast_matrix(a, &lead, k), broadcast_matrix(b, &lead, k))
}
