use super::{Batch, Product, Term, contract};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::strided::testing::{at, indices, layouts, read};
use crate::shape::broadcast;

/// The products of `a: [.., m, k]` and `b: [.., k, n]`, whose leading dims broadcast.
fn matmul(a: &Array, b: &Array) -> crate::Result<Array> {
    let lead = a.rank().max(b.rank()) - 2;
    // Label `d` for leading dim `d`, counted from the front of the result, then m, n, k.
    let [m, n, k] = [lead, lead + 1, lead + 2];
    let lead_of = |x: &Array| lead + 2 - x.rank()..lead;
    let labels = |dims: std::ops::Range<usize>, own: [usize; 2]| dims.chain(own).map(|d| d as u8).collect::<Vec<_>>();
    let (mut la, mut lb) = (labels(lead_of(a), [m, k]), labels(lead_of(b), [k, n]));
    // A dim of size 1 that the other operand has larger is none.
    let squeeze = |x: &Array, own: &mut Vec<u8>, other: &Array, labels: &[u8]| {
        let narrow = |d: usize, l: u8| {
            x.shape()[d] == 1 && labels.iter().position(|&o| o == l).is_some_and(|o| other.shape()[o] != 1)
        };
        let (mut y, all) = (x.clone(), own.clone());
        for (d, &l) in all.iter().enumerate().rev().filter(|&(d, &l)| narrow(d, l)) {
            y = y.select(d, 0);
            own.retain(|o| *o != l);
        }
        y
    };
    let (before_a, before_b) = (la.clone(), lb.clone());
    let (x, y) = (squeeze(a, &mut la, b, &before_b), squeeze(b, &mut lb, a, &before_a));
    contract("matmul", Term { array: &x, labels: &la }, Term { array: &y, labels: &lb }, &labels(0..lead, [m, n]))
}

fn check<T: Element>(a: &Array, b: &Array, tolerance: f64) {
    let got = matmul(a, b).unwrap();
    let (ra, rb) = (a.rank(), b.rank());
    let mut shape = broadcast(&a.shape()[..ra - 2], &b.shape()[..rb - 2]).unwrap();
    shape.extend([a.shape()[ra - 2], b.shape()[rb - 1]]);
    assert_eq!((got.shape(), got.dtype()), (&shape[..], T::DTYPE));
    let (a, b) = (
        a.expand(&[&shape[..shape.len() - 2], &a.shape()[ra - 2..]].concat()),
        b.expand(&[&shape[..shape.len() - 2], &b.shape()[rb - 2..]].concat()),
    );
    let k = a.shape()[a.rank() - 1];
    for (index, g) in indices(&shape).into_iter().zip(read(&got)) {
        let (mut ia, mut ib) = (index.clone(), index.clone());
        let (mut e, mut scale) = (0.0, 1.0);
        for q in 0..k {
            ia[shape.len() - 1] = q;
            ib[shape.len() - 2] = q;
            let term = at(&a, &ia) * at(&b, &ib);
            e += term;
            scale += term.abs();
        }
        assert!(
            (g - e).abs() <= tolerance * scale,
            "{} {:?} x {} {:?} at {index:?}: {g} {e}",
            a.ty(),
            a.strides(),
            b.ty(),
            b.strides()
        );
    }
}

fn pairs<T: Element>(a: &[usize], b: &[usize], tolerance: f64) {
    for x in layouts::<T>(a) {
        for y in layouts::<T>(b) {
            check::<T>(&x, &y, tolerance);
        }
    }
}

#[test]
fn products_of_every_layout_agree_with_loops() {
    for (m, k, n) in [
        (1, 1, 1),
        (3, 4, 5),
        (1, 7, 9),
        (9, 7, 1),
        (5, 1, 6),
        (16, 16, 16),
        (13, 5, 33),
        (2, 20, 40),
        (17, 3, 50),
        (1, 40, 150),
        (150, 40, 1),
        (7, 140, 3),
        (0, 2, 3),
        (2, 0, 3),
        (2, 3, 0),
    ] {
        pairs::<f32>(&[m, k], &[k, n], 5e-6);
        pairs::<f64>(&[m, k], &[k, n], 2e-14);
        pairs::<i32>(&[m, k], &[k, n], 0.0);
    }
    pairs::<f32>(&[70, 71], &[71, 72], 5e-6);
    pairs::<f64>(&[70, 71], &[71, 72], 2e-14);
    pairs::<i64>(&[3, 4], &[4, 2], 0.0);
}

#[test]
fn leading_dims_broadcast() {
    for (a, b) in [
        (&[5, 3, 4][..], &[4, 2][..]),
        (&[3, 4], &[5, 4, 2]),
        (&[5, 3, 4], &[5, 4, 2]),
        (&[2, 1, 3, 4], &[5, 4, 2]),
        (&[2, 5, 3, 4], &[2, 1, 4, 6]),
        (&[6, 1, 8], &[8, 3]),
        (&[6, 1, 8], &[6, 8, 3]),
        (&[6, 9, 1], &[6, 1, 20]),
        (&[0, 3, 4], &[4, 2]),
        (&[2, 3, 4, 5], &[3, 5, 2]),
        (&[9, 2, 3], &[9, 3, 1]),
    ] {
        pairs::<f32>(a, b, 5e-6);
        pairs::<f64>(a, b, 2e-14);
        pairs::<i64>(a, b, 0.0);
    }
}

#[test]
fn bytes_wrap() {
    let x = Array::full(crate::Shape::from_slice(&[2, 2]), 200u8);
    assert_eq!(read(&matmul(&x, &x).unwrap()), [(200 * 200 * 2 % 256) as f64; 4]);
}

/// The contraction by loops over every label.
fn naive(a: (&Array, &[u8]), b: (&Array, &[u8]), out: &[u8]) -> Vec<f64> {
    let size = |l: u8| [a, b].iter().find_map(|(x, labels)| Some(x.shape()[labels.iter().position(|&o| o == l)?]));
    let depth: Vec<u8> = a.1.iter().copied().filter(|l| !out.contains(l)).collect();
    let all = |labels: &[u8]| indices(&labels.iter().map(|&l| size(l).unwrap()).collect::<Vec<_>>());
    let pick = |index: &[usize], inner: &[usize], labels: &[u8]| -> Vec<usize> {
        let place = |l: &u8| match out.iter().position(|o| o == l) {
            Some(k) => index[k],
            None => inner[depth.iter().position(|o| o == l).unwrap()],
        };
        labels.iter().map(place).collect()
    };
    all(out)
        .iter()
        .map(|index| all(&depth).iter().map(|q| at(a.0, &pick(index, q, a.1)) * at(b.0, &pick(index, q, b.1))).sum())
        .collect()
}

/// Every order of a list.
fn orders(list: &[u8]) -> Vec<Vec<u8>> {
    if list.is_empty() {
        return vec![vec![]];
    }
    let mut out = Vec::new();
    for (k, &first) in list.iter().enumerate() {
        let rest: Vec<u8> = list.iter().copied().enumerate().filter(|(j, _)| *j != k).map(|(_, l)| l).collect();
        out.extend(orders(&rest).into_iter().map(|o| [&[first][..], &o].concat()));
    }
    out
}

#[test]
fn contractions_of_every_order_agree_with_loops() {
    let size = |l: &u8| match l {
        b'B' => 3,
        b'm' => 4,
        b'M' => 2,
        b'n' => 5,
        b'k' => 6,
        b'K' => 7,
        _ => unreachable!(),
    };
    // Every combination of orders, and in turn every pair of layouts.
    let mut turn = 0;
    for (a, b, out) in [
        ("mk", "kn", "mn"),
        ("mMk", "kn", "mMn"),
        ("Bmk", "Bkn", "Bmn"),
        ("mkK", "nkK", "mn"),
        ("BkK", "BkK", "B"),
        ("kK", "kK", ""),
        ("Bk", "Bk", "B"),
        ("m", "n", "mn"),
        ("Bm", "Bn", "Bmn"),
        ("B", "B", "B"),
        ("Bk", "Bkn", "Bn"),
    ] {
        for a in orders(a.as_bytes()) {
            for b in orders(b.as_bytes()) {
                for out in orders(out.as_bytes()) {
                    let shape = |labels: &[u8]| labels.iter().map(size).collect::<Vec<usize>>();
                    let (xs, ys) = (layouts::<f64>(&shape(&a)), layouts::<f64>(&shape(&b)));
                    for _ in 0..3 {
                        let (x, y) = (&xs[turn % xs.len()], &ys[turn / xs.len() % ys.len()]);
                        turn += 1;
                        let got =
                            contract("matmul", Term { array: x, labels: &a }, Term { array: y, labels: &b }, &out)
                                .unwrap();
                        assert_eq!(got.shape(), shape(&out));
                        for (g, e) in read(&got).into_iter().zip(naive((x, &a), (y, &b), &out)) {
                            assert!((g - e).abs() < 1e-12, "{a:?} {b:?} {out:?} {:?} {:?}", x.strides(), y.strides());
                        }
                    }
                }
            }
        }
    }
}

/// [`plan_of`] contiguous operands.
fn plan(a: (&[u8], &[usize]), b: (&[u8], &[usize]), out: &[u8]) -> [usize; 4] {
    let [x, y] = [a.1, b.1].map(|shape| Array::full(crate::Shape::from_slice(shape), 1f64));
    plan_of(Term { array: &x, labels: a.0 }, Term { array: &y, labels: b.0 }, out)
}

/// The products that a contraction makes: how many, and their `m`, `k` and `n`.
fn plan_of(a: Term<'_>, b: Term<'_>, out: &[u8]) -> [usize; 4] {
    use std::cell::Cell;

    thread_local! {
        static SEEN: Cell<[usize; 4]> = const { Cell::new([0; 4]) };
    }
    unsafe fn record(batch: Batch<'_, f64>, range: std::ops::Range<usize>) {
        let Product { m, k, n, .. } = batch.product;
        SEEN.set([range.len(), m, k, n]);
        // SAFETY: as for this function.
        unsafe { super::floating(batch, range) }
    }
    super::contract::contract_as::<f64>(a, b, out, 40, record);
    SEEN.get()
}

#[test]
fn contractions_are_as_few_products_as_their_steps_allow() {
    let (lanes, m, k, n) = (30, 4, 5, 6);
    // A matrix times many vectors, in whichever operand the lanes are.
    assert_eq!(plan((b"mk", &[m, k]), (b"Lk", &[lanes, k]), b"Lm"), [1, lanes, k, m]);
    assert_eq!(plan((b"Lk", &[lanes, k]), (b"kn", &[k, n]), b"Ln"), [1, lanes, k, n]);
    assert_eq!(plan((b"kL", &[k, lanes]), (b"kn", &[k, n]), b"Ln"), [1, lanes, k, n]);
    // Lanes of matrices on the left are more rows, and in the transpose more to sum over.
    assert_eq!(plan((b"Lmk", &[lanes, m, k]), (b"kn", &[k, n]), b"Lmn"), [1, lanes * m, k, n]);
    assert_eq!(plan((b"Lmk", &[lanes, m, k]), (b"Lmn", &[lanes, m, n]), b"kn"), [1, k, lanes * m, n]);
    assert_eq!(plan((b"Lmn", &[lanes, m, n]), (b"kn", &[k, n]), b"Lmk"), [1, lanes * m, n, k]);
    // On the right they are more columns only where the result may have them so.
    assert_eq!(plan((b"mk", &[m, k]), (b"Lnk", &[lanes, n, k]), b"mLn"), [1, m, k, lanes * n]);
    assert_eq!(plan((b"mk", &[m, k]), (b"Lkn", &[lanes, k, n]), b"Lmn"), [lanes, m, k, n]);
    // Lanes of both are as many products; of vectors, outer products.
    assert_eq!(plan((b"Lmk", &[lanes, m, k]), (b"Lkn", &[lanes, k, n]), b"Lmn"), [lanes, m, k, n]);
    assert_eq!(plan((b"Lm", &[lanes, m]), (b"Ln", &[lanes, n]), b"Lmn"), [lanes, m, 1, n]);
    // Two lots of lanes.
    assert_eq!(plan((b"MLk", &[2, lanes, k]), (b"kn", &[k, n]), b"MLn"), [1, 2 * lanes, k, n]);
    assert_eq!(plan((b"LMk", &[lanes, 2, k]), (b"Lkn", &[lanes, k, n]), b"LMn"), [lanes, 2, k, n]);
    // One value that is repeated, as the cotangent of a sum is, still has rows and columns.
    let x = Array::full(crate::Shape::from_slice(&[m, k]), 1f64);
    let y = Array::full(crate::Shape::from_slice(&[1, 1]), 2f64).expand(&[k, n]);
    let (x, y) = (Term { array: &x, labels: b"mk" }, Term { array: &y, labels: b"kn" });
    assert_eq!(plan_of(x, y, b"mn"), [1, m, k, n]);
    assert_eq!(plan_of(y, x, b"mn"), [1, m, k, n]);
    assert_eq!(plan_of(x, y, b"nm"), [1, n, k, m]);
}
