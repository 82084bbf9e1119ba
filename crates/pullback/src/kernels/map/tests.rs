//! Every kind of layout, against reading one element at a time.

use super::*;

fn iota(shape: &[usize]) -> Array {
    let data: Vec<i32> = (0..numel(shape) as i32).collect();
    Array::from_slice(Shape::from_slice(shape), &data)
}

fn element<T: Element>(x: &Array, shape: &[usize], mut k: usize) -> T {
    let strides = strides_in(x, shape);
    let mut at = 0;
    for d in (0..shape.len()).rev() {
        at += (k % shape[d]) as isize * strides[d];
        k /= shape[d];
    }
    // SAFETY: inside the view.
    unsafe { *x.as_ptr::<T>().offset(at) }
}

fn read<T: Element>(x: &Array, shape: &[usize]) -> Vec<T> {
    (0..numel(shape)).map(|k| element(x, shape, k)).collect()
}

/// Arrays of many layouts that broadcast to `shape`.
fn operands(shape: &[usize]) -> Vec<Array> {
    let r = shape.len();
    let mut out = vec![iota(shape), iota(&[]), iota(&vec![1; r])];
    for mask in 0..1 << r {
        let part: Vec<usize> = (0..r).map(|d| if mask >> d & 1 == 1 { 1 } else { shape[d] }).collect();
        out.push(iota(&part));
    }
    for cut in 0..r {
        out.push(iota(&shape[cut..]));
    }
    let order: Vec<usize> = (0..r).rev().collect();
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    out.push(iota(&reversed).permute(&order));
    for d in 0..r {
        let mut wide = shape.to_vec();
        wide[d] *= 2;
        out.push(iota(&wide).slice(d, 0, shape[d], 2));
        if shape[d] > 0 {
            out.push(iota(shape).slice(d, shape[d] - 1, shape[d], -1));
            out.push(iota(&wide).slice(d, 1, shape[d], 1));
        }
    }
    out
}

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[5],
    &[0],
    &[600],
    &[3, 4],
    &[2, 0, 3],
    &[7, 130],
    &[2, 3, 5],
    &[130, 7],
    &[3, 700],
    &[300, 300],
    &[2, 1, 3, 4],
    &[100, 2, 60],
];

#[test]
fn map_over_any_layout() {
    for &shape in SHAPES {
        for x in operands(shape).iter().filter(|x| x.shape() == shape) {
            let got = map(x, |v: i32| f64::from(v) * 0.5);
            assert_eq!(got.shape(), shape);
            let want: Vec<f64> = read::<i32>(x, shape).iter().map(|&v| f64::from(v) * 0.5).collect();
            assert_eq!(got.as_slice::<f64>().unwrap(), want);
        }
    }
}

#[test]
fn zip_over_any_pair_of_layouts() {
    for &shape in SHAPES {
        let all = operands(shape);
        let some = if numel(shape) > 10_000 { 9 } else { all.len() };
        for a in &all {
            for b in &all[..some] {
                for (a, b) in [(a, b), (b, a)] {
                    let got = zip(a, b, shape, |x: i32, y: i32| x.wrapping_mul(3).wrapping_sub(y));
                    let want: Vec<i32> = read::<i32>(a, shape)
                        .iter()
                        .zip(read::<i32>(b, shape))
                        .map(|(&x, y)| x.wrapping_mul(3).wrapping_sub(y))
                        .collect();
                    assert_eq!(got.as_slice::<i32>().unwrap(), want, "{shape:?}");
                }
            }
        }
    }
}

#[test]
fn in_place_only_when_owned_and_contiguous() {
    for &shape in SHAPES {
        for b in &operands(shape) {
            let f = |x: i32, y: i32| x - 2 * y;
            let want: Vec<i32> = (0..numel(shape) as i32).zip(read::<i32>(b, shape)).map(|(x, y)| f(x, y)).collect();
            let mut a = iota(shape);
            assert!(zip_in_place(&mut a, b, f));
            assert_eq!(a.as_slice::<i32>().unwrap(), want);
            let mut a = iota(shape);
            assert!(zip_in_place_right(b, &mut a, |y: i32, x: i32| f(x, y)));
            assert_eq!(a.as_slice::<i32>().unwrap(), want);
        }
    }
    let mut a = iota(&[40]);
    let held = a.clone();
    assert!(!zip_in_place(&mut a, &iota(&[]), |x: i32, _: i32| x));
    assert!(!map_in_place(&mut a, |x: i32| x));
    drop(held);
    assert!(map_in_place(&mut a, |x: i32| x + 1));
    assert_eq!(a.first::<i32>(), 1);
    assert!(!map_in_place(&mut a.slice(0, 0, 20, 2), |x: i32| x));
}

#[test]
fn select_over_any_layout() {
    for &shape in SHAPES {
        let all = operands(shape);
        for (k, c) in all.iter().enumerate() {
            let cond = map(c, |v: i32| v % 3 == 0);
            let (a, b) = (&all[(2 * k + 1) % all.len()], &all[(3 * k + 2) % all.len()]);
            let got = select::<i32>(&cond, a, b, shape);
            let want: Vec<i32> = (0..numel(shape))
                .map(|k| if element(&cond, shape, k) { element(a, shape, k) } else { element(b, shape, k) })
                .collect();
            assert_eq!(got.as_slice::<i32>().unwrap(), want, "{shape:?}");
        }
    }
}

#[test]
fn copies_of_any_layout() {
    use super::super::copy::copy_into_strided;
    for &shape in SHAPES {
        for x in operands(shape).iter().filter(|x| x.shape() == shape) {
            let want = read::<i32>(x, shape);
            assert_eq!(contiguous(x).as_slice::<i32>().unwrap(), want);
            let small = map(x, |v: i32| v as u8);
            let bytes: Vec<u8> = want.iter().map(|&v| v as u8).collect();
            assert_eq!(small.as_slice::<u8>().unwrap(), bytes);
            // Into the middle column of a block three times as wide.
            if let Some(&last) = shape.last() {
                let mut wide = Shape::from_slice(shape);
                wide[shape.len() - 1] *= 3;
                let mut out = Array::full::<i32>(wide.clone(), -1);
                let strides = Strides::from_slice(out.strides());
                let data = out.as_mut_slice::<i32>().unwrap();
                // SAFETY: the region lies inside `out`.
                unsafe { copy_into_strided(x, data.as_mut_ptr().wrapping_add(last), &strides) };
                let middle = out.slice(shape.len() - 1, last, last, 1);
                assert_eq!(read::<i32>(&middle, shape), want);
                assert!(read::<i32>(&out.slice(shape.len() - 1, 0, last, 1), shape).iter().all(|&v| v == -1));
                assert!(read::<i32>(&out.slice(shape.len() - 1, 2 * last, last, 1), shape).iter().all(|&v| v == -1));
            }
        }
    }
}
