//! Reference implementations, as plain as possible, and matrices for samples.

use crate::Tensor;
use crate::ops::table::{Naive, sample_tensor};

/// Well conditioned matrices: irregular elements plus a multiple of the identity.
pub(super) fn regular(shape: &[usize], seed: u64) -> Tensor {
    let n = shape[shape.len() - 1];
    let x = sample_tensor(shape, -1.0, 1.0, seed);
    x.add(&Tensor::eye(n, crate::DType::F64).and_then(|e| e.mul(1.5)).expect("a small identity"))
        .expect("the identity broadcasts")
}

/// Symmetric positive definite matrices.
pub(super) fn definite(shape: &[usize], seed: u64) -> Tensor {
    let x = sample_tensor(shape, -1.0, 1.0, seed);
    let n = shape[shape.len() - 1];
    let make = || x.matmul(&x.transpose(-2, -1)?)?.add(&Tensor::eye(n, crate::DType::F64)?);
    make().expect("small matrices")
}

/// Applies `f` to each matrix of the last two dimensions; the results have the given shape each.
pub(super) fn per_matrix(x: &Naive, shape: &[usize], mut f: impl FnMut(&Naive) -> Vec<f64>) -> Naive {
    let (lead, core) = x.shape.split_at(x.shape.len() - 2);
    let (count, size): (usize, usize) = (lead.iter().product(), core.iter().product());
    let mut data = Vec::new();
    for k in 0..count {
        data.extend(f(&Naive { shape: core.to_vec(), data: x.data[k * size..(k + 1) * size].to_vec() }));
    }
    Naive { shape: [lead, shape].concat(), data }
}

/// Row-major elements of a matrix from a function of row and column.
pub(super) fn elements(m: usize, n: usize, f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..m * n).map(|k| f(k / n, k % n)).collect()
}

/// The inverse by Gauss and Jordan's elimination with partial pivoting.
pub(super) fn inverse(a: &Naive) -> Vec<f64> {
    let n = a.shape[0];
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..2 * n).map(|j| if j < n { a.at(&[i, j]) } else { f64::from(u8::from(j - n == i)) }).collect())
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap_or(k);
        rows.swap(k, pivot);
        let first: Vec<f64> = rows[k].iter().map(|v| v / rows[k][k]).collect();
        for (i, row) in rows.iter_mut().enumerate() {
            let factor = row[k];
            if i == k {
                row.clone_from(&first);
            } else {
                row.iter_mut().zip(&first).for_each(|(v, f)| *v -= factor * f);
            }
        }
    }
    elements(n, n, |i, j| rows[i][n + j])
}

/// The determinant by expansion along the first row.
pub(super) fn determinant(a: &Naive) -> f64 {
    let n = a.shape[0];
    if n == 0 {
        return 1.0;
    }
    (0..n)
        .map(|j| {
            let minor = elements(n - 1, n - 1, |r, c| a.at(&[r + 1, c + usize::from(c >= j)]));
            let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
            sign * a.at(&[0, j]) * determinant(&Naive { shape: vec![n - 1, n - 1], data: minor })
        })
        .sum()
}

/// The product of two matrices.
pub(super) fn product(a: &Naive, b: &Naive) -> Naive {
    let (m, k, n) = (a.shape[0], a.shape[1], b.shape[1]);
    let data = elements(m, n, |i, j| (0..k).map(|l| a.at(&[i, l]) * b.at(&[l, j])).sum());
    Naive { shape: vec![m, n], data }
}

/// Matrix `k` of a batch whose leading dimensions broadcast to `lead`; vectors are columns.
pub(super) fn broadcast_matrix(x: &Naive, lead: &[usize], k: usize) -> Naive {
    let core = &x.shape[x.shape.len() - 2..];
    let mut index = vec![0; lead.len()];
    let mut rest = k;
    for d in (0..lead.len()).rev() {
        index[d] = rest % lead[d];
        rest /= lead[d];
    }
    Naive::from_fn(core, |i| x.at_broadcast(&[&index[..], i].concat()))
}
