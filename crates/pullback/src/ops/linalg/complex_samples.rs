//! Samples and references for complex matrices, which go in as two real tensors and come out as pairs of numbers.

use super::naive::{elements, regular};
use crate::ops::table::{Naive, Sample, sample_tensor};
use crate::{Complex64, Result, Tensor, complex};

/// A sample of a function of the complex matrices with these parts.
pub(super) fn of_parts(
    label: impl Into<String>,
    inputs: Vec<[Tensor; 2]>,
    call: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Sample {
    Sample::new(format!("complex {}", label.into()), inputs.into_iter().flatten().collect::<Vec<_>>(), move |x| {
        let z = x.chunks_exact(2).map(|p| complex(&p[0], &p[1])).collect::<Result<Vec<_>>>()?;
        call(&z)?.into_iter().map(|y| if y.dtype().is_complex() { y.view_as_real() } else { Ok(y) }).collect()
    })
}

/// Regular square matrices.
pub(super) fn square(shape: &[usize]) -> [Tensor; 2] {
    [regular(shape, 1), sample_tensor(shape, -0.8, 0.7, 2)]
}

/// Matrices of any size and full rank.
pub(super) fn any(shape: &[usize], seed: u64) -> [Tensor; 2] {
    let (lead, core) = shape.split_at(shape.len() - 2);
    let most = core[0].max(core[1]);
    let part =
        |x: Tensor| x.narrow(-2, 0, core[0]).and_then(|x| x.narrow(-1, 0, core[1])).expect("a part of the matrix");
    let whole = [lead, &[most, most]].concat();
    [part(regular(&whole, seed)), part(sample_tensor(&whole, -0.8, 0.7, seed + 1))]
}

/// The matrices as real ones of twice the size.
pub(super) fn blocks(re: &Naive, im: &Naive) -> Naive {
    let rank = re.shape.len();
    let mut shape = re.shape.clone();
    shape[rank - 2] *= 2;
    shape[rank - 1] *= 2;
    Naive::from_fn(&shape, |i| {
        let mut at = i.to_vec();
        let (row, column) = (i[rank - 2], i[rank - 1]);
        (at[rank - 2], at[rank - 1]) = (row / 2, column / 2);
        match (row % 2, column % 2) {
            (0, 0) | (1, 1) => re.at(&at),
            (0, _) => -im.at(&at),
            _ => im.at(&at),
        }
    })
}

/// Undoes [`blocks`], as pairs of numbers.
pub(super) fn pairs(x: &Naive) -> Naive {
    let rank = x.shape.len();
    let mut shape = x.shape.clone();
    shape[rank - 2] /= 2;
    shape[rank - 1] /= 2;
    shape.push(2);
    Naive::from_fn(&shape, |i| {
        let mut at = i[..rank].to_vec();
        (at[rank - 2], at[rank - 1]) = (2 * at[rank - 2] + i[rank], 2 * at[rank - 1]);
        x.at(&at)
    })
}

/// Applies `f` to each complex matrix; the results are pairs, or numbers if `wide` is 1.
pub(super) fn per_complex(
    x: &[Naive],
    shape: &[usize],
    wide: usize,
    f: impl Fn(usize, usize, &[Complex64]) -> Vec<Complex64>,
) -> Naive {
    let (lead, core) = x[0].shape.split_at(x[0].shape.len() - 2);
    let size = core[0] * core[1];
    let z: Vec<Complex64> = x[0].data.iter().zip(&x[1].data).map(|(&re, &im)| Complex64::new(re, im)).collect();
    let found = (0..lead.iter().product()).flat_map(|k: usize| f(core[0], core[1], &z[k * size..(k + 1) * size]));
    let data = found.flat_map(|z| [z.re, z.im].into_iter().take(wide)).collect();
    let mut shape = [lead, shape].concat();
    if wide == 2 {
        shape.push(2);
    }
    Naive { shape, data }
}

/// The determinant by expansion along the first row.
pub(super) fn determinant(n: usize, a: &[Complex64]) -> Complex64 {
    if n == 0 {
        return Complex64::new(1.0, 0.0);
    }
    (0..n)
        .map(|j| {
            let places = (1..n).flat_map(|r| (0..n).filter(move |&c| c != j).map(move |c| r * n + c));
            let minor: Vec<Complex64> = places.map(|k| a[k]).collect();
            a[j] * determinant(n - 1, &minor) * if j % 2 == 0 { 1.0 } else { -1.0 }
        })
        .sum()
}

/// The identity, as pairs, for each of the matrices.
pub(super) fn identity(x: &Naive, n: usize) -> Naive {
    let lead = &x.shape[..x.shape.len() - 2];
    let one = elements(n, 2 * n, |i, j| f64::from(u8::from(2 * i == j)));
    let count: usize = lead.iter().product();
    Naive { shape: [lead, &[n, n, 2]].concat(), data: one.repeat(count) }
}

/// The parts themselves, as pairs.
pub(super) fn itself(x: &[Naive]) -> Naive {
    let core = &x[0].shape[x[0].shape.len() - 2..];
    per_complex(x, core, 2, |_, _, a| a.to_vec())
}
