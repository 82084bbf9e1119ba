//! Indexing with tensors and joining, where lanes and derivatives meet.

use pullback::*;

fn f(data: &[f64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(data, shape).unwrap()
}

fn i(data: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(data, shape).unwrap()
}

fn v(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

#[test]
fn indices_of_two_vmaps_and_columns_of_a_third_give_what_the_loops_give() {
    let e: Vec<f64> = (0..28).map(f64::from).collect();
    let (e, index) = (f(&e, &[7, 4]), i(&[0, 1, 2, 3, 4, 5], &[2, 3, 1]));
    let of_index = |index: &Tensor| {
        let index = index.clone();
        Vmap::new().in_dims(1).out_dims(-1).of(move |column: &Tensor| column.index_select(0, &index))(&e)
    };
    let y = vmap(vmap(of_index))(&index).unwrap();
    assert_eq!(y.shape(), [2, 3, 1, 4]);
    assert_eq!(v(&y), (0..24).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn a_lane_can_be_an_index() {
    let ones = Tensor::ones(&[4], DType::F64).unwrap();
    assert_eq!(v(&vmap(|k: &Tensor| ones.index_select(0, k))(&i(&[0, 1], &[2])).unwrap()), [1.0, 1.0]);
    let t = f(&[10.0, 20.0, 30.0, 40.0], &[4]);
    assert_eq!(v(&vmap(|k: &Tensor| t.index_select(0, k))(&i(&[1, 3], &[2])).unwrap()), [20.0, 40.0]);
    let table = f(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5]);
    let weighted = |(label, row): &(Tensor, Tensor)| table.index_select(0, label)?.mul(row);
    let y = vmap(weighted)(&(i(&[2, 3], &[2]), f(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], &[2, 3]))).unwrap();
    assert_eq!(v(&y), [3.0, 3.0, 3.0, 8.0, 8.0, 8.0]);
}

#[test]
fn the_start_of_a_slice_can_be_a_lane() {
    let rows = f(&(0..10).map(f64::from).collect::<Vec<_>>(), &[2, 5]);
    let starts = i(&[0, 3], &[2]);
    let slice = |(row, start): &(Tensor, Tensor)| row.dynamic_slice(0, start, 2);
    assert_eq!(v(&vmap(slice)(&(rows.clone(), starts.clone())).unwrap()), [0.0, 1.0, 8.0, 9.0]);
    let total = |rows: &Tensor| vmap(slice)(&(rows.clone(), starts.clone()))?.sum();
    assert_eq!(v(&grad(total)(&rows).unwrap()), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let each = |start: &Tensor| grad(|row: &Tensor| row.dynamic_slice(0, start, 2)?.sum())(&rows.select(0, 0)?);
    assert_eq!(v(&vmap(each)(&starts).unwrap()), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn mapped_and_unmapped_pieces_can_be_joined() {
    let zero = Tensor::from(0.0);
    let diagonal = |s: &Tensor| {
        let s = s.unbind(0)?;
        stack(&[&s[0], &zero, &zero, &zero, &s[1], &zero, &zero, &zero, &s[2]], 0)?.reshape(&[3, 3])
    };
    let s = f(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    let y = vmap(diagonal)(&s).unwrap();
    assert_eq!(y.shape(), [2, 3, 3]);
    assert_eq!(v(&y), v(&vmap(|s: &Tensor| s.diag(0))(&s).unwrap()));
}

#[test]
fn lanes_can_be_repeated_into_more_dims() {
    let y = vmap(|x: &Tensor| x.repeat(&[2, 2]))(&f(&[1.0, 2.0, 3.0, 4.0], &[2, 2])).unwrap();
    assert_eq!(y.shape(), [2, 2, 4]);
    assert_eq!(v(&y), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0]);
}

#[test]
fn the_gradient_of_a_repeated_index_adds_up_bit_for_bit() {
    let x = f(&[1.0, 2.0, 3.0], &[3]);
    let (_, pull) = vjp(|x: &Tensor| x.index_select(0, &i(&[1, 1], &[2])), &x).unwrap();
    assert_eq!(v(&pull.call(&f(&[0.2, 0.3], &[2])).unwrap()), [0.0, 0.5, 0.0]);

    let n = 100_000;
    let places: Vec<i64> = (0..n).map(|k| k * 7919 % 3).collect();
    let values: Vec<f64> = (0..n).map(|k| 1.0 / (1 + k) as f64).collect();
    let mut sums = [0.0; 3];
    for (p, v) in places.iter().zip(&values) {
        sums[*p as usize] += v;
    }
    let (index, g) = (i(&places, &[n as usize]), f(&values, &[n as usize]));
    let pulled = |gathered: bool| {
        let read = |x: &Tensor| if gathered { x.gather(0, &index) } else { x.index_select(0, &index) };
        let (_, pull) = vjp(read, &x).unwrap();
        v(&pull.call(&g).unwrap())
    };
    std::thread::scope(|s| {
        let pulled = &pulled;
        let all: Vec<_> = (0..8).map(|k| s.spawn(move || pulled(k % 2 == 0))).collect();
        assert!(all.into_iter().all(|t| t.join().unwrap() == sums));
    });
}

#[test]
fn only_the_write_that_stays_has_a_derivative() {
    let (x, index) = (Tensor::zeros(&[3], DType::F64).unwrap(), i(&[1, 1], &[2]));
    let write = |src: &Tensor| x.scatter(0, &index, src);
    let src = f(&[5.0, 7.0], &[2]);
    assert_eq!(v(&write(&src).unwrap()), [0.0, 7.0, 0.0]);
    assert_eq!(v(&grad(|s: &Tensor| write(s)?.sum())(&src).unwrap()), [0.0, 1.0]);
    let (_, t) = jvp(write, &src, &f(&[10.0, 20.0], &[2])).unwrap();
    assert_eq!(v(&t), [0.0, 20.0, 0.0]);
    // Not even a cotangent that is no number reaches the write that was lost.
    let (_, pull) = vjp(write, &src).unwrap();
    let g = pull.call(&f(&[0.0, f64::NAN, 0.0], &[3])).unwrap();
    assert!(v(&g)[0] == 0.0 && v(&g)[1].is_nan());
    let g = grad(|x: &Tensor| x.scatter(0, &index, &src)?.sum())(&x).unwrap();
    assert_eq!(v(&g), [1.0, 0.0, 1.0]);
}

#[test]
fn a_shared_table_is_not_repeated_for_lanes() {
    // A gradient of one table per lane would need a hundred times its memory; the result has the type of the table.
    let table = Tensor::ones(&[50, 4], DType::F64).unwrap();
    let index = i(&(0..200).map(|k| k % 50).collect::<Vec<_>>(), &[100, 2]);
    let loss = |table: &Tensor| {
        let table = table.clone();
        vmap(move |index: &Tensor| table.index_select(0, index)?.sum())(&index)?.sum()
    };
    let g = grad(loss)(&table).unwrap();
    assert_eq!(g.shape(), [50, 4]);
    assert_eq!(v(&g), [4.0; 200]);
}

#[test]
fn an_index_out_of_range_is_an_error_that_names_it() {
    let x = Tensor::zeros(&[2, 3], DType::F32).unwrap();
    let place = |r: Result<Tensor>| {
        let e = r.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Index);
        e.to_string()
    };
    assert_eq!(
        place(x.index_select(1, &i(&[0, 3], &[2]))),
        "index_select: index 3 at position [1] is out of range for dim 1 of f32[2,3], which has size 3"
    );
    // The user sees one lane of each, whatever the lanes of the others are.
    let one = |(x, k): &(Tensor, Tensor)| x.scatter_add(1, k, &x.narrow(1, 0, 1)?);
    let lanes = (Tensor::zeros(&[4, 2, 3], DType::F32).unwrap(), i(&[0, 0, 0, 0, 0, 7, 0, 0], &[4, 2, 1]));
    assert_eq!(
        place(vmap(one)(&lanes)),
        "vmap: scatter_add: index 7 at position [1,0] of lane 2 is out of range for dim 1 of f32[2,3], which has size 3"
    );
    let shared = Vmap::new().in_dims((0, None)).of(one)(&(lanes.0, i(&[0, -4], &[2, 1])));
    assert_eq!(
        place(shared),
        "vmap: scatter_add: index -4 at position [1,0] is out of range for dim 1 of f32[2,3], which has size 3"
    );
}

#[test]
fn joining_promotes_dtypes() {
    let (a, b) = (Tensor::from([1i32]), Tensor::from([2i64]));
    assert_eq!(cat(&[&a, &b], 0).unwrap().dtype(), DType::I64);
    assert_eq!(cat(&[&a, &Tensor::from([true]), &Tensor::from([0.5f32])], 0).unwrap().dtype(), DType::F32);
    assert_eq!(stack(&[&Tensor::from(1.5f32), &Tensor::from(2.5f64)], 0).unwrap().dtype(), DType::F64);
    // The derivative comes back in each piece's own dtype.
    let g = grad(|x: &Tensor| cat(&[x, &f(&[1.0], &[1])], 0)?.sum())(&Tensor::from([1.0f32, 2.0])).unwrap();
    assert_eq!(g.to_vec::<f32>().unwrap(), [1.0, 1.0]);
}

#[test]
fn parts_that_were_not_used_cost_no_derivative() {
    let x = f(&[1.0, 2.0, 3.0, 4.0], &[4]);
    let g = grad(|x: &Tensor| x.split(1, 0)?[2].mul(&x.unbind(0)?[3])?.sum())(&x).unwrap();
    assert_eq!(v(&g), [0.0, 0.0, 4.0, 3.0]);
}

#[test]
fn nothing_of_any_dtype_can_be_extended_by_what_it_has() {
    for dtype in DType::ALL {
        let x = Tensor::zeros(&[0, 3], dtype).unwrap();
        for mode in [PadMode::Reflect, PadMode::Replicate, PadMode::Circular] {
            let y = x.pad(&[2, 1, 0, 0], mode).unwrap();
            assert_eq!((y.dtype(), y.shape()), (dtype, &[0, 6][..]));
        }
    }
}
