//! Small matrices by the dozen: a vector holds the same element of several matrices, so that square roots, divisions and
//! short loops cost one matrix what they cost all of them.

use super::Scalar;
use crate::kernels::simd::vectorize;

/// The largest matrix that goes this way.
pub(super) const LARGEST: usize = 48;

/// One element of each matrix.
pub(super) type Lanes<T, const W: usize> = [T; W];

/// The Cholesky factors of the symmetric parts of up to `W` matrices of size `n`, which lie one after the other in `a`, as
/// do the results in `out`. Returns the first matrix and step without a positive pivot.
pub(super) fn cholesky<T: Scalar, const W: usize>(
    n: usize,
    a: &[T],
    out: &mut [T],
    scratch: &mut Vec<Lanes<T, W>>,
) -> Option<(usize, usize)> {
    let count = a.len() / (n * n);
    scratch.resize(n * n, [T::ZERO; W]);
    let s = &mut scratch[..n * n];
    vectorize(
        #[inline(always)]
        || {
            for i in 0..n {
                for j in 0..=i {
                    // Lanes without a matrix get the identity.
                    let mut v = [if i == j { T::ONE } else { T::ZERO }; W];
                    for (w, a) in a.chunks_exact(n * n).enumerate() {
                        v[w] = T::HALF * a[i * n + j] + T::HALF * a[j * n + i];
                    }
                    s[i * n + j] = v;
                }
            }
            let mut failed = None;
            for j in 0..n {
                let pivot = rest(s, n, j, j);
                if pivot.iter().any(|&d| d <= T::ZERO) {
                    for (w, _) in pivot.iter().enumerate().filter(|(_, d)| **d <= T::ZERO) {
                        failed = Some(failed.map_or((w, j), |old: (usize, usize)| old.min((w, j))));
                    }
                }
                let root: [T; W] = std::array::from_fn(|w| pivot[w].sqrt());
                let inverse: [T; W] = std::array::from_fn(|w| T::ONE / root[w]);
                s[j * n + j] = root;
                for i in j + 1..n {
                    let v = rest(s, n, i, j);
                    s[i * n + j] = std::array::from_fn(|w| v[w] * inverse[w]);
                }
            }
            for (w, out) in out.chunks_exact_mut(n * n).enumerate().take(count) {
                for i in 0..n {
                    for j in 0..=i {
                        out[i * n + j] = s[i * n + j][w];
                    }
                    out[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
                }
            }
            failed
        },
    )
}

/// Element `i, j` less the product of the parts of rows `i` and `j` before column `j`.
#[inline(always)]
fn rest<T: Scalar, const W: usize>(s: &[Lanes<T, W>], n: usize, i: usize, j: usize) -> Lanes<T, W> {
    let mut v = s[i * n + j];
    for (a, b) in s[i * n..i * n + j].iter().zip(&s[j * n..j * n + j]) {
        for w in 0..W {
            v[w] = (-a[w]).mul_add(b[w], v[w]);
        }
    }
    v
}

/// The cotangents of up to `W` matrices whose Cholesky factors are `l`, from those `g` of the factors:
/// `L⁻ᵀ sym(Φ(Lᵀ G)) L⁻¹`, where Φ takes the lower triangle and half of the diagonal.
pub(super) fn cholesky_pullback<T: Scalar, const W: usize>(
    n: usize,
    l: &[T],
    g: &[T],
    out: &mut [T],
    scratch: &mut Vec<Lanes<T, W>>,
) {
    let count = l.len() / (n * n);
    scratch.resize(3 * n * n, [T::ZERO; W]);
    let (s, rest) = scratch.split_at_mut(n * n);
    let (c, p) = rest.split_at_mut(n * n);
    vectorize(
        #[inline(always)]
        || {
            for i in 0..n {
                for j in 0..=i {
                    let mut v = [if i == j { T::ONE } else { T::ZERO }; W];
                    let mut u = [T::ZERO; W];
                    for (w, (l, g)) in l.chunks_exact(n * n).zip(g.chunks_exact(n * n)).enumerate() {
                        // The diagonal is only ever divided by.
                        v[w] = l[i * n + j];
                        u[w] = g[i * n + j];
                    }
                    s[i * n + j] = v;
                    c[i * n + j] = u;
                }
            }
            // sym(Φ(Lᵀ G)): half of the lower triangle on either side of the halved diagonal.
            for i in 0..n {
                for j in 0..=i {
                    let mut v = [T::ZERO; W];
                    for k in i..n {
                        let (a, b) = (&s[k * n + i], &c[k * n + j]);
                        for w in 0..W {
                            v[w] = a[w].mul_add(b[w], v[w]);
                        }
                    }
                    let v = v.map(|v| v * T::HALF);
                    p[i * n + j] = v;
                    p[j * n + i] = v;
                }
            }
            for i in 0..n {
                s[i * n + i] = s[i * n + i].map(|d| T::ONE / d);
            }
            // Lᵀ Y = P, a row of Y at a time, the last first.
            for i in (0..n).rev() {
                for j in 0..n {
                    let mut v = p[i * n + j];
                    for k in i + 1..n {
                        let (a, b) = (&s[k * n + i], &p[k * n + j]);
                        for w in 0..W {
                            v[w] = (-a[w]).mul_add(b[w], v[w]);
                        }
                    }
                    let d = &s[i * n + i];
                    p[i * n + j] = std::array::from_fn(|w| v[w] * d[w]);
                }
            }
            // S L = Y, a column at a time, the last first.
            for i in 0..n {
                for j in (0..n).rev() {
                    let mut v = p[i * n + j];
                    for k in j + 1..n {
                        let (a, b) = (&s[k * n + j], &p[i * n + k]);
                        for w in 0..W {
                            v[w] = (-a[w]).mul_add(b[w], v[w]);
                        }
                    }
                    let d = &s[j * n + j];
                    p[i * n + j] = std::array::from_fn(|w| v[w] * d[w]);
                }
            }
            for (w, out) in out.chunks_exact_mut(n * n).enumerate().take(count) {
                for i in 0..n {
                    for j in 0..n {
                        out[i * n + j] = p[i * n + j][w];
                    }
                }
            }
        },
    );
}
