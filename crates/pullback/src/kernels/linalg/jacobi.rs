//! Eigenvalues and singular values by plane rotations, in double precision: small values come out as accurately as large ones.

/// Sweeps after which rotations must have converged; six to ten are usual.
const SWEEPS: usize = 60;

/// Sweeps after which what is left must only be small beside the whole matrix.
const PATIENCE: usize = 30;

/// Has every pair of `n` rows rotated until a sweep rotates none that counts; false if none does. `rotate` is given the pair and the
/// size below which nothing is rotated, and says whether it has rotated.
pub(super) fn converges(n: usize, mut rotate: impl FnMut([usize; 2], f64) -> bool) -> bool {
    (0..SWEEPS).any(|sweep| {
        let mut rotated = false;
        let floor = if sweep < PATIENCE { 1e-290 } else { f64::EPSILON };
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate([p, q], floor);
            }
        }
        !rotated
    })
}

/// The eigenvalues of a symmetric matrix in rising order, and the eigenvectors as rows. Their largest component is positive.
pub(super) fn symmetric(n: usize, a: &[f64], vectors: bool) -> Option<(Vec<f64>, Vec<f64>)> {
    let (unit, mut a) = scaled(a);
    let mut v = identity(if vectors { n } else { 0 });
    let converged = converges(n, |[p, q], floor| {
        let (app, aqq, apq) = (a[p * n + p], a[q * n + q], a[p * n + q]);
        // Elements that change nothing any more are dropped, also where the diagonal is tiny.
        let size = (app.abs() * aqq.abs()).sqrt();
        if apq.abs() <= 0.25 * f64::EPSILON * size || apq.abs() < floor {
            return false;
        }
        let (c, s) = rotation((aqq - app) / (2.0 * apq));
        // Rows, then columns.
        rotate(&mut a, n, p, q, c, s);
        for i in 0..n {
            let (x, y) = (a[i * n + p], a[i * n + q]);
            a[i * n + p] = c * x - s * y;
            a[i * n + q] = s * x + c * y;
        }
        (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
        if vectors {
            rotate(&mut v, n, p, q, c, s);
        }
        true
    });
    if !converged {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i] * unit).collect();
    let mut rows: Vec<f64> = Vec::new();
    if vectors {
        for &i in &order {
            let row = &v[i * n..(i + 1) * n];
            let sign = direction(row);
            rows.extend(row.iter().map(|x| sign * x));
        }
    }
    Some((values, rows))
}

/// Singular values in falling order, and the vectors as rows: `k` on the left, `k` on the right, or as many as there are rows
/// and columns if `full`. Right vectors have a positive largest component.
pub(super) struct Singular {
    pub(super) left: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) right: Vec<f64>,
}

/// The decomposition of a matrix of `m` rows and `n` columns.
pub(super) fn singular(m: usize, n: usize, a: &[f64], vectors: bool, full: bool) -> Option<Singular> {
    let (unit, a) = scaled(a);
    // The shorter side is made orthogonal: as rows of length `long`.
    let (short, long) = (m.min(n), m.max(n));
    let flip = m >= n;
    let mut w: Vec<f64> = if flip { (0..m * n).map(|k| a[k % m * n + k / m]).collect() } else { a };
    let mut v = identity(if vectors { short } else { 0 });
    let dot = |w: &[f64], p: usize, q: usize| -> f64 {
        w[p * long..(p + 1) * long].iter().zip(&w[q * long..(q + 1) * long]).map(|(x, y)| x * y).sum()
    };
    let converged = converges(short, |[p, q], floor| {
        let (alpha, beta, gamma) = (dot(&w, p, p), dot(&w, q, q), dot(&w, p, q));
        let size = (alpha * beta).sqrt();
        if gamma.abs() <= f64::EPSILON * size || gamma.abs() < floor {
            return false;
        }
        let (c, s) = rotation((beta - alpha) / (2.0 * gamma));
        rotate(&mut w, long, p, q, c, s);
        if vectors {
            rotate(&mut v, short, p, q, c, s);
        }
        gamma.abs() > (long as f64) * f64::EPSILON * size
    });
    if !converged {
        return None;
    }
    let sizes: Vec<f64> = (0..short).map(|i| dot(&w, i, i).sqrt()).collect();
    let mut order: Vec<usize> = (0..short).collect();
    order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]));
    let values: Vec<f64> = order.iter().map(|&i| sizes[i] * unit).collect();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    if vectors {
        let (mut of_long, mut of_short) = (Vec::new(), Vec::new());
        let mut have = 0;
        for &i in &order {
            let inner = &v[i * short..(i + 1) * short];
            let outer = &w[i * long..(i + 1) * long];
            let sign = direction(if flip { inner } else { outer });
            of_short.extend(inner.iter().map(|x| sign * x));
            if sizes[i] > 0.0 {
                of_long.extend(outer.iter().map(|x| sign * x / sizes[i]));
                have += 1;
            }
        }
        complete(&mut of_long, have, if full { long } else { short }, long);
        (left, right) = if flip { (of_long, of_short) } else { (of_short, of_long) };
    }
    Some(Singular { left, values, right })
}

/// A unit of about the largest of finite numbers, a power of 2.
pub(super) fn unit_of(numbers: impl Iterator<Item = f64>) -> f64 {
    let largest = numbers.fold(0.0f64, |m, v| m.max(v.abs()));
    let exponent = if largest > 0.0 { largest.log2().floor() } else { 0.0 };
    exponent.clamp(-1000.0, 1000.0).exp2()
}

/// Finite elements in units of about the largest.
pub(super) fn scaled(a: &[f64]) -> (f64, Vec<f64>) {
    let unit = unit_of(a.iter().copied());
    (unit, a.iter().map(|v| v / unit).collect())
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect()
}

/// Cosine and sine of the smaller angle that clears an element, from the cotangent of twice that angle.
pub(super) fn rotation(cot: f64) -> (f64, f64) {
    let t = if cot.is_infinite() { 0.0 } else { 1f64.copysign(cot) / (cot.abs() + cot.hypot(1.0)) };
    let c = 1.0 / t.hypot(1.0);
    (c, c * t)
}

/// Rotates rows `p` and `q` of a matrix with `n` columns.
fn rotate(a: &mut [f64], n: usize, p: usize, q: usize, c: f64, s: f64) {
    let (front, back) = a.split_at_mut(q * n);
    for (x, y) in front[p * n..(p + 1) * n].iter_mut().zip(&mut back[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// The sign of the first of the largest components.
pub(super) fn direction(row: &[f64]) -> f64 {
    let largest = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let first = row.iter().find(|v| v.abs() >= largest * (1.0 - 1e-10));
    first.map_or(1.0, |v| 1f64.copysign(*v))
}

/// Adds orthonormal rows of length `len` to the first `have`, until there are `want`.
pub(super) fn complete(rows: &mut Vec<f64>, have: usize, want: usize, len: usize) {
    for count in have..want {
        // Of the unit vectors, the one that is farthest from what is there.
        let inside = |axis: usize| (0..count).map(|k| rows[k * len + axis].powi(2)).sum::<f64>();
        let axis = (0..len).min_by(|&i, &j| inside(i).total_cmp(&inside(j))).unwrap_or(0);
        let mut new: Vec<f64> = (0..len).map(|i| f64::from(u8::from(i == axis))).collect();
        for _ in 0..2 {
            for row in rows.chunks_exact(len) {
                let part: f64 = row.iter().zip(&new).map(|(x, y)| x * y).sum();
                new.iter_mut().zip(row).for_each(|(x, y)| *x -= part * y);
            }
        }
        let size = new.iter().map(|x| x * x).sum::<f64>().sqrt();
        rows.extend(new.iter().map(|x| x / size));
    }
}
