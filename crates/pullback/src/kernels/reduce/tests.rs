use super::*;
use crate::DType;
use crate::kernels::strided::testing::{at, indices, layouts, read, samples};

fn naive(x: &Array, dims: &[usize], empty: f64, join: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let kept: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
    let shape: Vec<usize> = kept.iter().map(|&d| x.shape()[d]).collect();
    let mut out = vec![empty; shape.iter().product()];
    for index in indices(x.shape()) {
        let k = kept.iter().fold(0, |k, &d| k * x.shape()[d] + index[d]);
        out[k] = join(out[k], at(x, &index));
    }
    out
}

fn dim_sets(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1 << rank).map(move |bits| (0..rank).filter(|d| bits >> d & 1 == 1).collect())
}

fn check<T: Element>(shape: &[usize]) {
    for x in layouts::<T>(shape) {
        for dims in dim_sets(shape.len()) {
            let close = |name, got: Array, expected: Vec<f64>| {
                for (g, e) in read(&got).into_iter().zip(&expected) {
                    assert!((g - e).abs() <= 1e-5 * (1.0 + e.abs()), "{name} {} {dims:?}: {g} {e}", x.ty());
                }
                assert_eq!(got.numel(), expected.len());
            };
            close("sum", sum(&x, &dims).unwrap(), naive(&x, &dims, 0.0, |a, b| a + b));
            if x.numel() > 0 {
                close("max", max(&x, &dims).unwrap(), naive(&x, &dims, f64::NEG_INFINITY, f64::max));
                close("min", min(&x, &dims).unwrap(), naive(&x, &dims, f64::INFINITY, f64::min));
            }
            close("any", any(&x, &dims).unwrap(), naive(&x, &dims, 0.0, |a, b| f64::from(a != 0.0 || b != 0.0)));
            close("all", all(&x, &dims).unwrap(), naive(&x, &dims, 1.0, |a, b| f64::from(a != 0.0 && b != 0.0)));
            if x.numel() < 200 && x.dtype().is_float() {
                close("prod", prod(&x, &dims).unwrap(), naive(&x, &dims, 1.0, |a, b| a * b));
            }
        }
    }
}

#[test]
fn reductions_agree_with_loops_for_every_set_of_dims_layout_and_dtype() {
    for shape in [&[][..], &[1], &[7], &[0], &[3, 0, 2], &[5, 6], &[2, 3, 4, 5], &[70, 3], &[3, 130], &[9, 1, 17]] {
        check::<f32>(shape);
        check::<f64>(shape);
        check::<i32>(shape);
        check::<i64>(shape);
        check::<u8>(shape);
        check::<bool>(shape);
    }
    check::<f32>(&[2, 300, 33]);
    check::<f64>(&[1100, 3]);
}

#[test]
fn large_reductions_are_accurate_in_every_direction() {
    let n = 1 << 20;
    let data: Vec<f32> = samples(n).iter().map(|&v| v as f32 + 1.0).collect();
    for (shape, dims) in
        [(&[1 << 20, 1][..], &[0, 1][..]), (&[1 << 10, 1 << 10], &[0]), (&[1 << 18, 4], &[0]), (&[4, 1 << 18], &[1])]
    {
        let x = Array::from_slice(Shape::from_slice(shape), &data);
        let exact = naive(&x, dims, 0.0, |a, b| a + b);
        for (g, e) in read(&sum(&x, dims).unwrap()).into_iter().zip(exact) {
            assert!((g - e).abs() <= 3e-7 * e.abs(), "{shape:?}: {g} {e}");
        }
    }
}

#[test]
fn integers_are_summed_as_i64_and_floats_keep_their_dtype() {
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_half() && !d.is_complex()) {
        let x = layouts_of(dtype);
        let expected = if dtype.is_float() { dtype } else { DType::I64 };
        assert_eq!(sum(&x, &[0]).unwrap().dtype(), expected);
        assert_eq!(max(&x, &[0]).unwrap().dtype(), dtype);
    }
    let bytes = Array::full(Shape::from_slice(&[1000]), 255u8);
    assert_eq!(sum(&bytes, &[0]).unwrap().first::<i64>(), 255_000);
}

fn layouts_of(dtype: DType) -> Array {
    dispatch!(dtype, "test", all, T => Ok(layouts::<T>(&[3]).remove(0))).unwrap()
}

#[test]
fn nan_is_the_extreme_and_its_first_position_is_found() {
    for n in [3, 100, 5000] {
        for place in [0, n / 2, n - 1] {
            let mut data = vec![1.0f32; n];
            data[place] = f32::NAN;
            let x = Array::from_slice(Shape::from_slice(&[n]), &data);
            assert!(max(&x, &[0]).unwrap().first::<f32>().is_nan());
            assert!(min(&x, &[0]).unwrap().first::<f32>().is_nan());
            assert_eq!(argmax(&x, 0).unwrap().first::<i64>(), place as i64);
            assert_eq!(argmin(&x, 0).unwrap().first::<i64>(), place as i64);
            let wide = x.reshape_view(&[n, 1]).unwrap().expand(&[n, 16]);
            let copy: Vec<f32> = read(&wide).iter().map(|&v| v as f32).collect();
            let wide = Array::from_slice(Shape::from_slice(&[n, 16]), &copy);
            assert_eq!(read(&argmax(&wide, 0).unwrap()), [place as f64; 16]);
            assert!(read(&max(&wide, &[0]).unwrap()).iter().all(|v| v.is_nan()));
        }
    }
}

#[test]
fn argmax_and_argmin_give_the_first_of_equals() {
    for shape in [&[1][..], &[40], &[33, 17], &[4, 50, 9], &[3, 300]] {
        for x in layouts::<i32>(shape).into_iter().chain(layouts::<f64>(shape)) {
            for (dim, &n) in shape.iter().enumerate() {
                let (big, small) = (argmax(&x, dim).unwrap(), argmin(&x, dim).unwrap());
                for index in indices(big.shape()) {
                    let along = |k: usize| {
                        let mut full = index.clone();
                        full.insert(dim, k);
                        at(&x, &full)
                    };
                    let first = |worse: fn(f64, f64) -> bool| {
                        (1..n).fold(0, |best, k| if worse(along(best), along(k)) { k } else { best }) as f64
                    };
                    assert_eq!(at(&big, &index), first(|a, b| a < b), "{} dim {dim}", x.ty());
                    assert_eq!(at(&small, &index), first(|a, b| a > b), "{} dim {dim}", x.ty());
                }
            }
        }
    }
}

#[test]
fn pieces_are_never_empty() {
    // Ten slices with a gap after each, and more pieces than divide ten: as rows, and as columns of two results.
    let x = Array::full(Shape::from_slice(&[10, 30_000]), 1f32).slice(1, 0, 25_000, 1);
    assert_eq!(sum(&x, &[0, 1]).unwrap().first::<f32>(), 250_000.0);
    let x = Array::full(Shape::from_slice(&[10, 25_000, 12]), 1f32).slice(2, 0, 10, 1);
    assert_eq!(read(&sum(&x, &[0, 1]).unwrap()), [250_000.0; 10]);
    let x = Array::full(Shape::from_slice(&[10, 30_000, 10]), 1f32).slice(1, 0, 25_000, 1);
    assert_eq!(read(&sum(&x, &[0, 1]).unwrap()), [250_000.0; 10]);
}

#[test]
fn short_rows_and_narrow_columns_are_reduced_together_and_keep_nan() {
    for (rows, n) in [(8, 16), (29, 32), (21, 512), (9, 48)] {
        let mut data: Vec<f32> = samples(rows * n).iter().map(|&v| v as f32).collect();
        for with_nan in [false, true] {
            if with_nan {
                // In one of a group of rows, and in one that is left over.
                (data[3 * n + n - 1], data[(rows - 1) * n]) = (f32::NAN, f32::NAN);
            }
            let x = Array::from_slice(Shape::from_slice(&[rows, n]), &data);
            for (name, got, join) in [
                ("max", max(&x, &[1]).unwrap(), f64::max as fn(f64, f64) -> f64),
                ("min", min(&x, &[1]).unwrap(), f64::min),
                ("sum", sum(&x, &[1]).unwrap(), |a, b| a + b),
                ("squares", sum_of_squares(&x, &[1]).unwrap(), |a, b| a + b),
            ] {
                for (k, g) in read(&got).into_iter().enumerate() {
                    let row = data[k * n..(k + 1) * n].iter().map(|&v| f64::from(v));
                    let row: Vec<f64> = if name == "squares" { row.map(|v| v * v).collect() } else { row.collect() };
                    if row.iter().any(|v| v.is_nan()) {
                        assert!(g.is_nan(), "{name} of row {k} of {rows} by {n}");
                        continue;
                    }
                    let e = row.iter().copied().reduce(join).unwrap();
                    assert!((g - e).abs() <= 1e-5 * (1.0 + e.abs()), "{name} of row {k} of {rows} by {n}: {g} {e}");
                }
            }
        }
    }
    for (n, w) in [(3, 64), (65, 64), (200, 128), (513, 192), (600, 64)] {
        let mut data: Vec<f64> = samples(n * w);
        (data[7], data[(n - 1) * w + 9]) = (f64::NAN, f64::NAN);
        let x = Array::from_slice(Shape::from_slice(&[n, w]), &data);
        let (big, total) = (read(&max(&x, &[0]).unwrap()), read(&sum(&x, &[0]).unwrap()));
        for k in 0..w {
            let column: Vec<f64> = (0..n).map(|i| data[i * w + k]).collect();
            if k == 7 || k == 9 {
                assert!(big[k].is_nan() && total[k].is_nan(), "column {k} of {n} by {w}");
                continue;
            }
            assert_eq!(big[k], column.iter().copied().reduce(f64::max).unwrap(), "column {k} of {n} by {w}");
            let exact: f64 = column.iter().sum();
            assert!((total[k] - exact).abs() <= 1e-12 * (1.0 + exact.abs()), "column {k} of {n} by {w}");
        }
    }
}
