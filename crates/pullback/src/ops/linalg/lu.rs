//! Factors by elimination.

use smallvec::{SmallVec, smallvec};

use super::complex::computed;
use super::complex_samples as z;
use super::naive::{elements, per_matrix, regular};
use super::triangular::{Triangular, check_fit};
use super::{MatrixOp, Slot, apply2, check_leads, matrices, rows_in_order, sizes, transposed, widened};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::{complex, lu as kernel};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::Shape;
use crate::{Complex64, DType, ErrorKind, Result, Tensor, cat, complex as numbers};

ops! { OPS;
    /// The factors of `A = P L U` by elimination with partial pivoting: a permutation, a lower triangle with ones on the
    /// diagonal, and an upper triangle.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[.., m, m]`, `[.., m, k]` and `[.., k, n]`, `k` being the smaller one.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the factors for a fixed order of the rows, and none for the permutation. It needs a leading square part of
    /// full rank.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions. The derivative is a `Value` error where a pivot is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (p, l, u) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu()?;
    /// assert_eq!(p.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
    /// assert_eq!(l.to_vec::<f64>()?, [1.0, 0.0, 0.25, 1.0]);
    /// assert_eq!(u.to_vec::<f64>()?, [4.0, 4.0, 0.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn lu(&self) -> Result<(Tensor, Tensor, Tensor)> = lu {
        samples: lu_samples, errors: lu_errors,
        python: lu() -> (P, L, U)
    };

    /// The factors of [`lu`](Tensor::lu) in one matrix, and the order of the rows as `i64`.
    ///
    /// The upper triangle is `U`; what lies below is `L` without its ones. Row `i` of `L U` is row `order[i]` of the matrix.
    /// [`lu_solve`](Tensor::lu_solve) takes both.
    ///
    /// # Shapes
    /// `[.., m, n]` gives the same shape and an order `[.., m]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the factors for a fixed order of the rows. It needs a leading square part of full rank.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions. The derivative is a `Value` error where a pivot is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (lu, order) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor()?;
    /// assert_eq!(lu.to_vec::<f64>()?, [4.0, 4.0, 0.25, 1.0]);
    /// assert_eq!(order.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn lu_factor(&self) -> Result<(Tensor, Tensor)> = lu_factor {
        samples: lu_factor_samples, errors: lu_factor_errors,
        python: lu_factor() -> (LU, order)
    };

    /// The solutions `X` of `A X = B` from what [`lu_factor`](Tensor::lu_factor) made of `A`, this tensor being the factors.
    ///
    /// # Shapes
    /// Factors `[.., n, n]`, an order `[.., n]`, and right-hand sides `[.., n, m]`, whose leading dimensions broadcast.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`. The order is `i64`.
    ///
    /// # Derivative
    /// That of two triangular solutions, in the factors and the right-hand side.
    ///
    /// # Errors
    /// `Shape` if shapes do not fit; `Dtype` for an order of another dtype; `Value` for a zero on the diagonal; `Index` if the
    /// order has a row that does not exist.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (lu, order) = Tensor::from([[1.0, 2.0], [4.0, 4.0]]).lu_factor()?;
    /// let x = lu.lu_solve(&order, &Tensor::from([[5.0], [12.0]]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn lu_solve(&self, order: &Tensor, b: &Tensor) -> Result<Tensor> = lu_solve {
        samples: lu_solve_samples, errors: lu_solve_errors,
        python: lu_solve(self as LU, order, b as B)
    };
}

/// The factors in one matrix, and the order of the rows.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) of: &'static str,
}

impl Factor {
    pub(super) fn of(self, a: &Tensor) -> Result<(Tensor, Tensor)> {
        apply2(self, &[a])
    }
}

impl MatrixOp for Factor {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0), Slot::Out(1)];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| {
                let (lu, order) = complex::factor(a);
                vec![lu, order]
            }));
        }
        let (lu, order) = dispatch!(x[0].dtype(), self.of, float, T => Ok(kernel::factor::<T>(x[0])))?;
        Ok(smallvec![lu, order])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (lu, order) = (&saved[0], &saved[1]);
        let [m, n] = sizes(lu);
        let k = m.min(n);
        let tangent = t[0].map(|t| {
            let t = rows_in_order(t, order)?;
            let corner = |x: &Tensor| x.narrow(-2, 0, k)?.narrow(-1, 0, k);
            let (lower, upper) = (Triangular { unit: true, ..Triangular::lower(self.of) }, Triangular::upper(self.of));
            let top = corner(lu)?;
            let inner = upper.solve_right(&top, &lower.solve(&top, &corner(&t)?)?)?;
            let ones = Tensor::eye(k, lu.dtype())?;
            let (l, u) = (top.tril(-1)?.add(&ones)?, top.triu(0)?);
            let (dl, du) = (l.matmul(&inner.tril(-1)?)?, inner.triu(0)?.matmul(&u)?);
            let square = dl.add(&du)?;
            if m > k {
                let below = |x: &Tensor| x.narrow(-2, k as isize, m - k);
                let rest = upper.solve_right(&top, &below(&t)?.sub(&below(lu)?.matmul(&du)?)?)?;
                cat(&[&square, &rest], -2)
            } else if n > k {
                let beside = |x: &Tensor| x.narrow(-1, k as isize, n - k);
                let rest = lower.solve(&top, &beside(&t)?.sub(&dl.matmul(&beside(lu)?.narrow(-2, 0, k)?)?)?)?;
                cat(&[&square, &rest], -1)
            } else {
                Ok(square)
            }
        })?;
        Ok([tangent, Tangent::zero()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        transposed(&[&saved[0]], needs, g, |t| self.tangents(saved, t))
    }
}

fn lu_factor(x: &Tensor) -> Result<(Tensor, Tensor)> {
    widened(x, |x| Factor { of: "lu_factor" }.of(&matrices("lu_factor", x)?))
}

fn lu(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    widened(x, |x| {
        let x = matrices("lu", x)?;
        let [m, n] = sizes(&x);
        let k = m.min(n);
        let (lu, order) = Factor { of: "lu" }.of(&x)?;
        let p = rows_in_order(&Tensor::eye(m, x.dtype())?, &order)?.transpose(-2, -1)?;
        let l = lu.narrow(-1, 0, k)?.tril(-1)?.add(&Tensor::eye_m(m, k, x.dtype())?)?;
        Ok((p, l, lu.narrow(-2, 0, k)?.triu(0)?))
    })
}

fn lu_solve(lu: &Tensor, order: &Tensor, b: &Tensor) -> Result<Tensor> {
    const NAME: &str = "lu_solve";
    if order.dtype() != DType::I64 {
        bail!(Dtype, "{NAME}: expected an order of rows of dtype i64, got {}", order.ty());
    }
    super::common(lu, b, |lu, b| {
        check_fit(NAME, lu, b)?;
        let [n, _] = sizes(lu);
        if order.shape().last() != Some(&n) {
            bail!(Shape, "{NAME}: expected an order of {n} rows for {}, got {}", lu.ty(), order.ty());
        }
        check_leads(NAME, order, lu, [1, 2])?;
        check_leads(NAME, order, b, [1, 2])?;
        let lower = Triangular { unit: true, ..Triangular::lower(NAME) };
        Triangular::upper(NAME).solve(lu, &lower.solve(lu, &rows_in_order(b, order)?)?)
    })
}

/// The factors of one matrix in one, and the order of its rows.
fn naive_factor(a: &Naive) -> (Vec<Vec<f64>>, Vec<usize>) {
    let (m, n) = (a.shape[0], a.shape[1]);
    let mut rows: Vec<Vec<f64>> = (0..m).map(|i| (0..n).map(|j| a.at(&[i, j])).collect()).collect();
    let mut order: Vec<usize> = (0..m).collect();
    for k in 0..m.min(n) {
        let mut pivot = k;
        for i in k..m {
            if rows[i][k].abs() > rows[pivot][k].abs() {
                pivot = i;
            }
        }
        rows.swap(k, pivot);
        order.swap(k, pivot);
        for i in k + 1..m {
            rows[i][k] /= rows[k][k];
            for j in k + 1..n {
                rows[i][j] -= rows[i][k] * rows[k][j];
            }
        }
    }
    (rows, order)
}

const SHAPES: [&[usize]; 7] = [&[3, 3], &[2, 2, 2], &[4, 2], &[2, 4], &[2, 3, 2], &[0, 2, 2], &[0, 3]];

fn rectangles(shape: &[usize]) -> Tensor {
    let (lead, core) = shape.split_at(shape.len() - 2);
    let most = core[0].max(core[1]);
    let x = regular(&[lead, &[most, most]].concat(), 1);
    x.narrow(-2, 0, core[0]).and_then(|x| x.narrow(-1, 0, core[1])).expect("a part of the matrix")
}

/// The factors of complex matrices in one.
fn complex_factor(m: usize, n: usize, a: &[Complex64]) -> (Vec<Vec<Complex64>>, Vec<usize>) {
    let mut rows: Vec<Vec<Complex64>> = a.chunks(n.max(1)).map(<[_]>::to_vec).collect();
    let mut order: Vec<usize> = (0..m).collect();
    for k in 0..m.min(n) {
        let size = |rows: &[Vec<Complex64>], i: usize| rows[i][k].re.abs() + rows[i][k].im.abs();
        let pivot = (k..m).fold(k, |best, i| if size(&rows, i) > size(&rows, best) { i } else { best });
        rows.swap(k, pivot);
        order.swap(k, pivot);
        for i in k + 1..m {
            let factor = rows[i][k] / rows[k][k];
            for j in k + 1..n {
                let part = factor * rows[k][j];
                rows[i][j] -= part;
            }
            rows[i][k] = factor;
        }
    }
    (rows, order)
}

fn lu_samples() -> Vec<Sample> {
    let complex = SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![z::any(shape, 5)], |x| {
            let (p, l, u) = x[0].lu()?;
            // The product as well, which is the matrix.
            Ok(vec![p.matmul(&l)?.matmul(&u)?, l, u])
        })
        .reference(|x| {
            let rank = x[0].shape.len();
            let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
            let k = m.min(n);
            let part = |rows: usize, columns: usize, f: fn(usize, usize, Complex64) -> Complex64| {
                z::per_complex(x, &[rows, columns], 2, move |m, n, a| {
                    let (lu, _) = complex_factor(m, n, a);
                    (0..rows * columns).map(|e| f(e / columns, e % columns, lu[e / columns][e % columns])).collect()
                })
            };
            let l = part(m, k, |i, j, v| if i > j { v } else { f64::from(u8::from(i == j)).into() });
            let u = part(k, n, |i, j, v| if i > j { 0.0.into() } else { v });
            vec![z::itself(x), l, u]
        })
    });
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::new(format!("{shape:?}"), [rectangles(shape)], |x| {
                let (p, l, u) = x[0].lu()?;
                Ok(vec![p, l, u])
            })
            .reference(|x| {
                let rank = x[0].shape.len();
                let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
                let k = m.min(n);
                let p = per_matrix(&x[0], &[m, m], |a| {
                    let (_, order) = naive_factor(a);
                    elements(m, m, |i, j| f64::from(u8::from(order[j] == i)))
                });
                let l = per_matrix(&x[0], &[m, k], |a| {
                    let (rows, _) = naive_factor(a);
                    elements(m, k, |i, j| {
                        if i == j {
                            1.0
                        } else if j < i {
                            rows[i][j]
                        } else {
                            0.0
                        }
                    })
                });
                let u = per_matrix(&x[0], &[k, n], |a| {
                    let (rows, _) = naive_factor(a);
                    elements(k, n, |i, j| if j >= i { rows[i][j] } else { 0.0 })
                });
                vec![p, l, u]
            })
        })
        .chain(complex)
        .collect()
}

fn lu_factor_samples() -> Vec<Sample> {
    let complex = SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![z::any(shape, 5)], |x| {
            let (lu, order) = x[0].lu_factor()?;
            Ok(vec![lu, order])
        })
        .reference(|x| {
            let rank = x[0].shape.len();
            let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
            let lu = z::per_complex(x, &[m, n], 2, |m, n, a| complex_factor(m, n, a).0.concat());
            let order = z::per_complex(x, &[m], 1, |m, n, a| {
                complex_factor(m, n, a).1.into_iter().map(|i| (i as f64).into()).collect()
            });
            vec![lu, order]
        })
    });
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::new(format!("{shape:?}"), [rectangles(shape)], |x| {
                let (lu, order) = x[0].lu_factor()?;
                Ok(vec![lu, order])
            })
            .reference(|x| {
                let rank = x[0].shape.len();
                let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
                let lu = per_matrix(&x[0], &[m, n], |a| elements(m, n, |i, j| naive_factor(a).0[i][j]));
                let order = per_matrix(&x[0], &[m], |a| naive_factor(a).1.iter().map(|&i| i as f64).collect());
                vec![lu, order]
            })
        })
        .chain(complex)
        .collect()
}

fn failing(name: &'static str, message: &'static str, call: fn(&Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let derivative = move || {
        let x = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
        crate::grad(move |x: &Tensor| call(x)?.sum())(&x)
    };
    vec![
        ErrorSample::new("vector", ErrorKind::Shape, message, move || call(&Tensor::from([1.0, 2.0]))),
        ErrorSample::new("derivative", ErrorKind::Value, name, derivative),
    ]
}

fn lu_errors() -> Vec<ErrorSample> {
    failing("lu: expected a triangle", "lu: expected matrices, got f64[2]", |x| Ok(x.lu()?.2))
}

fn lu_factor_errors() -> Vec<ErrorSample> {
    failing("lu_factor: expected a triangle", "lu_factor: expected matrices, got f64[2]", |x| Ok(x.lu_factor()?.0))
}

fn lu_solve_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize]| {
        let (lu, order) = regular(a, 1).lu_factor().expect("matrices");
        let inputs = [lu, order, sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}"), inputs, |x| x[0].lu_solve(&x[1], &x[2])).reference(|x| {
            let n = x[0].shape[x[0].shape.len() - 1];
            let mut k = 0;
            let whole = per_matrix(&x[0], &[n, n], |lu| {
                let order = &x[1].data[k * n..(k + 1) * n];
                k += 1;
                let product = |i: usize, j: usize| -> f64 {
                    (0..=i.min(j)).map(|k| if k == i { lu.at(&[k, j]) } else { lu.at(&[i, k]) * lu.at(&[k, j]) }).sum()
                };
                let place = |row: usize| order.iter().position(|&o| o == row as f64).unwrap_or(row);
                elements(n, n, |i, j| product(place(i), j))
            });
            vec![super::solve::naive_solve(&whole, &x[2])]
        })
    };
    let mut samples =
        vec![case(&[3, 3], &[3, 2]), case(&[2, 2, 2], &[2, 1]), case(&[2, 2], &[3, 2, 2]), case(&[0, 0], &[0, 2])];
    // As parts: the solution is that of the product of the factors.
    let case = |a: &[usize], b: &[usize]| {
        let [re, im] = z::square(a);
        let whole = numbers(&re, &im).expect("two parts");
        let (lu, order) = whole.lu_factor().expect("matrices");
        let [b_re, b_im] = z::any(b, 3);
        let parts = [lu.real().expect("a part"), order, b_re, lu.imag().expect("a part"), b_im];
        Sample::one(format!("complex {a:?} and {b:?}"), parts, |x| {
            numbers(&x[0], &x[3])?.lu_solve(&x[1], &numbers(&x[2], &x[4])?)?.view_as_real()
        })
        .reference(|x| {
            let n = x[0].shape[x[0].shape.len() - 1];
            let part = |of: fn(Complex64) -> f64| {
                let matrix = std::cell::Cell::new(0);
                z::per_complex(&[x[0].clone(), x[3].clone()], &[n, n], 1, |_, _, lu| {
                    let order = &x[1].data[matrix.get() * n..(matrix.get() + 1) * n];
                    matrix.set(matrix.get() + 1);
                    let mut whole = vec![Complex64::new(0.0, 0.0); n * n];
                    for e in 0..n * n {
                        let (i, j) = (e / n, e % n);
                        let product = |k: usize| if k == i { lu[k * n + j] } else { lu[i * n + k] * lu[k * n + j] };
                        whole[order[i] as usize * n + j] = of((0..=i.min(j)).map(product).sum()).into();
                    }
                    whole
                })
            };
            let whole = z::blocks(&part(|v| v.re), &part(|v| v.im));
            vec![z::pairs(&super::solve::naive_solve(&whole, &z::blocks(&x[2], &x[4])))]
        })
    };
    samples.extend([case(&[3, 3], &[3, 2]), case(&[2, 2, 2], &[2, 1]), case(&[2, 2], &[3, 2, 2])]);
    // An order is what it is: the lanes differ in the other inputs.
    for sample in &mut samples {
        let inputs = sample.inputs.clone();
        *sample = sample.clone().lanes(move |lane| {
            let scale = |t: &Tensor| t.mul(1.0 - 0.03 * lane as f64).expect("a product");
            inputs.iter().map(|t| if t.dtype() == DType::I64 { t.clone() } else { scale(t) }).collect()
        });
    }
    samples
}

fn lu_solve_errors() -> Vec<ErrorSample> {
    let a = || sample_tensor(&[2, 2], 1.0, 2.0, 1);
    let order = |rows: &[i64]| Tensor::from_slice(rows, &Shape::from_slice(&[rows.len()]));
    vec![
        ErrorSample::new("order", ErrorKind::Shape, "lu_solve: expected an order of 2 rows", move || {
            a().lu_solve(&order(&[0, 1, 2])?, &a())
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "lu_solve: expected an order of rows of dtype i64", move || {
            a().lu_solve(&Tensor::from([0i32, 1]), &a())
        }),
    ]
}
