//! `vmap` is the loop.

use pullback::*;

use crate::{close, forward, iota, is, noise, ones, value, values, zeros};

pub fn ints(t: &Tensor) -> Vec<i64> {
    t.to_vec::<i64>().expect("an i64 tensor")
}

/// What a loop over the lanes and a stack give.
pub fn looped(
    f: impl Fn(&Vec<Tensor>) -> Result<Tensor>,
    args: &[Tensor],
    dims: &[Option<usize>],
    out: isize,
) -> Result<Tensor> {
    let size = args.iter().zip(dims).find_map(|(t, d)| d.map(|d| t.shape()[d])).expect("a mapped argument");
    let lanes = (0..size)
        .map(|n| {
            let one = args.iter().zip(dims).map(|(t, d)| match d {
                Some(d) => t.select(*d as isize, n as isize),
                None => Ok(t.clone()),
            });
            f(&one.collect::<Result<_>>()?)
        })
        .collect::<Result<Vec<_>>>()?;
    stack(&lanes.iter().collect::<Vec<_>>(), out)
}

#[track_caller]
pub fn same(got: &Tensor, want: &Tensor) {
    assert_eq!(got.ty(), want.ty());
    close(&values(&got.to_dtype(DType::F64).unwrap()), &values(&want.to_dtype(DType::F64).unwrap()));
}

/// Checks the law for one function, with the lanes of the result in every place.
#[track_caller]
pub fn law(f: impl Fn(&Vec<Tensor>) -> Result<Tensor>, args: &[Tensor], dims: &[Option<usize>]) {
    let rank = looped(&f, args, dims, 0).unwrap().rank();
    for out in 0..rank {
        let got = Vmap::new().in_dims(dims.to_vec()).out_dims(out as i32).of(&f)(&args.to_vec()).unwrap();
        same(&got, &looped(&f, args, dims, out as isize).unwrap());
        let got = Vmap::new().in_dims(dims.to_vec()).out_dims(out as i32 - rank as i32).of(&f)(&args.to_vec()).unwrap();
        same(&got, &looped(&f, args, dims, out as isize).unwrap());
    }
}

/// A tensor of any dtype, with numbers that every dtype can hold.
pub fn of(dtype: DType, shape: &[usize]) -> Tensor {
    let data: Vec<i64> = (0..shape.iter().product()).map(|k: usize| 1 + (k as i64 % 3)).collect();
    Tensor::from_slice(&data, shape).unwrap().to_dtype(dtype).unwrap()
}

#[test]
fn c43_writing_a_mapped_value_into_a_buffer_made_in_the_lane() {
    let f = |x: &Tensor| zeros(&[2]).index_copy(0, &Tensor::from([0i64]), &x.select(0, 0)?.unsqueeze(0)?);
    let x = ones(&[3, 2]);
    let want = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
    is(&vmap(f)(&x).unwrap(), &[3, 2], &want);
    is(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&x).unwrap(), &[3, 2], &want);
    is(&vmap(grad(|x: &Tensor| f(x)?.sum()))(&x).unwrap(), &[3, 2], &want);
    // In place, which rebinds the buffer to a value that has lanes.
    let inplace = |x: &Tensor| {
        let mut buffer = x.zeros_like()?;
        buffer.set_(0, x.i(0)?)?;
        Ok(buffer)
    };
    is(&vmap(inplace)(&x).unwrap(), &[3, 2], &want);
    is(&grad(|x: &Tensor| vmap(inplace)(x)?.sum())(&x).unwrap(), &[3, 2], &want);
    is(&vmap(grad(|x: &Tensor| inplace(x)?.sum()))(&x).unwrap(), &[3, 2], &want);
    is(&jacfwd(|x: &Tensor| vmap(inplace)(x)?.sum())(&x).unwrap(), &[3, 2], &want);
    // Adding works the same way, also where a buffer is shared by all lanes.
    let shared = ones(&[2]);
    let add = |x: &Tensor| shared.index_add(0, &Tensor::from(0i64), &x.select(0, 0)?);
    is(&vmap(add)(&x).unwrap(), &[3, 2], &[2.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
    is(&shared, &[2], &[1.0, 1.0]);
}

#[test]
fn c44_a_branch_on_the_data_of_a_lane() {
    let x = Tensor::from([-1.0, 3.0]);
    let host = |x: &Tensor| if x.item::<f64>()? > 0.0 { x.mul(2.0) } else { x.sub(1.0) };
    let err = vmap(host)(&x).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded);
    assert!(err.message().starts_with("item: the value is batched by `vmap` (f64[], batch 2 at dim 0"), "{err}");
    assert!(err.help().unwrap().contains("`where_`"), "{err}");
    let chosen = |x: &Tensor| x.gt(0.0)?.where_(&x.mul(2.0)?, &x.sub(1.0)?);
    is(&vmap(chosen)(&x).unwrap(), &[2], &[-2.0, 6.0]);
    is(&vmap(grad(chosen))(&x).unwrap(), &[2], &[1.0, 2.0]);
    is(&vmap(forward(chosen))(&x).unwrap(), &[2], &[1.0, 2.0]);
    // Outside of lanes a branch of the host is fine, also while differentiating.
    assert_eq!(value(&grad(host)(&Tensor::from(3.0)).unwrap()), 2.0);
}

#[test]
fn c49_nested_lanes_of_indices_and_of_columns() {
    let e = noise(&[7, 4], 0.3);
    let idx = Tensor::from_slice(&[0i64, 1, 2, 3, 4, 5], &[2, 3, 1]).unwrap();
    let table = values(&e);
    let run = |out: i32| {
        let columns = |i: &Tensor| Vmap::new().in_dims(1).out_dims(out).of(|c: &Tensor| c.index_select(0, i))(&e);
        vmap(vmap(columns))(&idx).unwrap()
    };
    let last = run(-1);
    assert_eq!(last.shape(), [2, 3, 1, 4]);
    close(&values(&last), &table[..24]);
    let first = run(0);
    assert_eq!(first.shape(), [2, 3, 4, 1]);
    close(&values(&first), &table[..24]);
    // The same by `gather` and by `take_along_dim`.
    let gathered =
        vmap(vmap(|i: &Tensor| Vmap::new().in_dims(1).out_dims(1).of(|c: &Tensor| c.gather(0, i))(&e)))(&idx);
    is(&gathered.unwrap(), &[2, 3, 1, 4], &table[..24]);
    // Columns outside, indices inside.
    let turned =
        Vmap::new().in_dims(1).out_dims(-1).of(|c: &Tensor| vmap(vmap(|i: &Tensor| c.index_select(0, i)))(&idx));
    is(&turned(&e).unwrap(), &[2, 3, 1, 4], &table[..24]);
}

#[test]
fn c50_a_scalar_index_that_is_a_lane() {
    let at = |i: &Tensor| ones(&[4]).index_select(0, i);
    is(&vmap(at)(&Tensor::from([0i64, 1])).unwrap(), &[2], &[1.0, 1.0]);
    let t = Tensor::from([10.0, 20.0, 30.0, 40.0]);
    let i = Tensor::from([1i64, 3]);
    is(&vmap(|i: &Tensor| t.index_select(0, i))(&i).unwrap(), &[2], &[20.0, 40.0]);
    let d = vmap(|i: &Tensor| grad(|t: &Tensor| t.index_select(0, i))(&t))(&i).unwrap();
    is(&d, &[2, 4], &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let table = Tensor::from([1.0, 2.0, 3.0, 4.0, 5.0]);
    let scaled = vmap(|(label, row): &(Tensor, Tensor)| row.mul(&table.index_select(0, label)?));
    let rows = Tensor::from([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]);
    is(&scaled(&(Tensor::from([2i64, 3]), rows)).unwrap(), &[2, 3], &[3.0, 3.0, 3.0, 8.0, 8.0, 8.0]);
    // A list of the host cannot be indexed by a lane.
    let list = [1.0, 2.0, 3.0, 4.0, 5.0];
    let err = vmap(|i: &Tensor| Ok(Tensor::from(list[i.item::<i64>()? as usize])))(&i).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded);
    // What is out of range is named with its lane.
    let err = vmap(|i: &Tensor| t.index_select(0, i))(&Tensor::from([1i64, 4])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Index);
    assert!(err.to_string().contains("index 4 of lane 1 is out of range for dim 0 of f64[4]"), "{err}");
}

#[test]
fn c52_writing_at_indices_with_a_leading_axis_of_size_one() {
    let (y, z) = (zeros(&[2, 3]), ones(&[2, 2]));
    let index = Tensor::from([0i64, 1]);
    let put = |(y, z): &(Tensor, Tensor)| y.unsqueeze(0)?.index_copy(1, &index, &z.unsqueeze(0)?);
    let args = (y, z);
    let want = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    is(&vmap(put)(&args).unwrap(), &[2, 1, 3], &want);
    // Only one of the two has lanes.
    let (y, z) = (zeros(&[3]), ones(&[2]));
    is(&Vmap::new().in_dims((0, None)).of(put)(&(args.0.clone(), z)).unwrap(), &[2, 1, 3], &want);
    is(&Vmap::new().in_dims((None, 0)).of(put)(&(y, args.1.clone())).unwrap(), &[2, 1, 3], &want);
    let scatter = |(y, z): &(Tensor, Tensor)| y.unsqueeze(0)?.scatter(1, &index.unsqueeze(0)?, &z.unsqueeze(0)?);
    is(&vmap(scatter)(&args).unwrap(), &[2, 1, 3], &want);
    let (dy, dz) = grad(|a: &(Tensor, Tensor)| vmap(put)(a)?.sum())(&args).unwrap();
    is(&dy, &[2, 3], &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    is(&dz, &[2, 2], &[1.0; 4]);
}

#[test]
fn c53_slices_whose_start_is_a_lane() {
    let rows = iota(&[2, 5]);
    let starts = Tensor::from([0i64, 3]);
    let cut = |(row, start): &(Tensor, Tensor)| row.dynamic_slice(0, start, 2);
    is(&vmap(cut)(&(rows.clone(), starts.clone())).unwrap(), &[2, 2], &[0.0, 1.0, 8.0, 9.0]);
    let want = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
    let total = |rows: &Tensor| vmap(cut)(&(rows.clone(), starts.clone()))?.sum();
    is(&grad(total)(&rows).unwrap(), &[2, 5], &want);
    is(&jacfwd(total)(&rows).unwrap(), &[2, 5], &want);
    let each = vmap(|(row, start): &(Tensor, Tensor)| grad(|row: &Tensor| row.dynamic_slice(0, start, 2)?.sum())(row));
    is(&each(&(rows.clone(), starts)).unwrap(), &[2, 5], &want);
    let err = vmap(cut)(&(rows, Tensor::from([0i64, 4]))).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Index);
    assert!(err.to_string().contains("a slice of 2 from 4 of lane 1 is out of range for dim 0 of f64[5]"), "{err}");
}

#[test]
fn c56_concatenating_mapped_and_unmapped_pieces() {
    let zero = Tensor::from(0.0);
    let diag = |s: &Tensor| {
        let [a, b, c] = [s.select(0, 0)?, s.select(0, 1)?, s.select(0, 2)?];
        stack(&[&a, &zero, &zero, &zero, &b, &zero, &zero, &zero, &c], 0)?.reshape(&[3, 3])
    };
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let want: Vec<f64> =
        (1..=6).flat_map(|k| (0..3).map(move |j| if (k - 1) % 3 == j { k as f64 } else { 0.0 })).collect();
    is(&vmap(diag)(&x).unwrap(), &[2, 3, 3], &want);
    is(&grad(|x: &Tensor| vmap(diag)(x)?.sum())(&x).unwrap(), &[2, 3], &[1.0; 6]);
    is(&vmap(|s: &Tensor| s.diag_embed(0, 0, 1))(&x).unwrap(), &[2, 3, 3], &want);
    // Pieces with lanes in other places than the first, and without.
    let f = |x: &Vec<Tensor>| cat(&[&x[0], &x[1], &x[2]], -1);
    let args = [noise(&[2, 3, 4], 0.1), noise(&[2, 5], 0.2), noise(&[2, 1, 4], 0.3)];
    law(f, &args, &[Some(2), None, Some(2)]);
    let args = [noise(&[4, 2, 3], 0.1), noise(&[2, 4, 5], 0.2), noise(&[2, 1], 0.3)];
    law(f, &args, &[Some(0), Some(1), None]);
}

#[test]
fn c57_a_function_that_returns_a_constant() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    is(&vmap(|_: &Tensor| Ok(Tensor::from(1.0)))(&x).unwrap(), &[3], &[1.0; 3]);
    let f = Vmap::new().out_dims(-1).of(|_: &Tensor| Ok(ones(&[2, 3])));
    is(&f(&zeros(&[4])).unwrap(), &[2, 3, 4], &[1.0; 24]);
    // Its derivatives are zeros.
    let constant = |_: &Tensor| Ok(Tensor::from(1.0));
    is(&vmap(grad(constant))(&x).unwrap(), &[3], &[0.0; 3]);
    is(&vmap(forward(constant))(&x).unwrap(), &[3], &[0.0; 3]);
    is(&grad(|x: &Tensor| vmap(constant)(x)?.sum())(&x).unwrap(), &[3], &[0.0; 3]);
    is(&jacfwd(vmap(constant))(&x).unwrap(), &[3, 3], &[0.0; 9]);
    is(&jacrev(vmap(constant))(&x).unwrap(), &[3, 3], &[0.0; 9]);
    is(&vmap(hessian(constant))(&x).unwrap(), &[3], &[0.0; 3]);
    // `None` says that the result must be one for all lanes.
    let one = Vmap::new().out_dims(None).of(constant)(&x).unwrap();
    is(&one, &[], &[1.0]);
    let err = Vmap::new().out_dims(None).of(|x: &Tensor| x.mul(2.0))(&x).unwrap_err();
    assert!(err.is_dim());
    assert!(
        err.to_string().contains("out_dims is None for result, but it depends on the lane (f64[], batch 3)"),
        "{err}"
    );
}

#[test]
fn c58_reductions_and_flattening_see_the_lane() {
    let x = Tensor::ones(&[10, 5], DType::F32).unwrap();
    let sums = Vmap::new().in_dims(1).of(|x: &Tensor| x.sum())(&x).unwrap();
    assert_eq!((sums.dtype(), sums.to_vec::<f32>().unwrap()), (DType::F32, vec![10.0; 5]));
    for dims in [&[0isize][..], &[-1], &[]] {
        let sums = Vmap::new().in_dims(1).of(|x: &Tensor| x.sum_dims(dims, false))(&x).unwrap();
        assert_eq!(sums.to_vec::<f32>().unwrap(), [10.0; 5]);
    }
    let err = Vmap::new().in_dims(1).of(|x: &Tensor| x.sum_dims(&[1], false))(&x).unwrap_err();
    assert!(err.to_string().contains("dim 1 is out of range for f32[10]"), "{err}");
    let flat = vmap(|x: &Tensor| x.reshape(&[-1]))(&zeros(&[4, 2, 3])).unwrap();
    assert_eq!(flat.shape(), [4, 6]);
    let flat = vmap(|x: &Tensor| x.flatten(0, -1))(&zeros(&[4, 2, 3])).unwrap();
    assert_eq!(flat.shape(), [4, 6]);
    for dim in [0, 1] {
        let lanes = Vmap::new().in_dims(dim).out_dims(dim);
        let shape = if dim == 0 { [2, 6] } else { [6, 2] };
        let three = lanes.of(|x: &Tensor| x.split(2, 0))(&iota(&shape)).unwrap();
        let part = [2, 2];
        assert_eq!(three.iter().map(|t| t.shape().to_vec()).collect::<Vec<_>>(), vec![part.to_vec(); 3]);
        let three = lanes.of(|x: &Tensor| x.chunk(3, -1))(&iota(&shape)).unwrap();
        assert_eq!(three.len(), 3);
        let third = if dim == 0 { [4.0, 5.0, 10.0, 11.0] } else { [8.0, 9.0, 10.0, 11.0] };
        is(&three[2], &part, &third);
    }
    for (dims, want) in [(0, [2, 12]), (1, [3, 8]), (2, [4, 6])] {
        let flat = Vmap::new().in_dims(dims).of(|x: &Tensor| x.reshape(&[-1]))(&zeros(&[2, 3, 4])).unwrap();
        assert_eq!(flat.shape(), want);
    }
    // Everything that reduces, with lanes in every place.
    let x = noise(&[2, 3, 4], 0.5);
    let all: [fn(&Tensor) -> Result<Tensor>; 12] = [
        Tensor::sum,
        Tensor::mean,
        Tensor::prod,
        Tensor::max,
        Tensor::min,
        Tensor::var,
        Tensor::std,
        |x| x.argmax(None, false),
        |x| x.argmin(-1, true),
        |x| x.logsumexp(&[0], false),
        |x| x.softmax(-2),
        |x| x.cumsum(1),
    ];
    for f in all {
        for dim in 0..3 {
            law(|a| f(&a[0]), &[x.clone()], &[Some(dim)]);
        }
    }
}

#[test]
fn c59_selection_along_the_last_axis_of_the_lane() {
    let x = Tensor::from([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]);
    let (top, places) = vmap(|x: &Tensor| x.topk(2, -1, true, true))(&x).unwrap();
    is(&top, &[2, 2], &[3.0, 2.0, 6.0, 5.0]);
    assert_eq!((places.shape(), ints(&places)), (&[2, 2][..], vec![0, 2, 0, 1]));
    let sorted = vmap(|x: &Tensor| Ok(x.sort(-1, false)?.0))(&x).unwrap();
    is(&sorted, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for dim in 0..3 {
        let x = noise(&[2, 3, 4], 0.7);
        law(|a| Ok(a[0].topk(2, 0, false, true)?.0), &[x.clone()], &[Some(dim)]);
        law(|a| Ok(a[0].topk(2, -1, true, true)?.1), &[x.clone()], &[Some(dim)]);
        law(|a| a[0].argsort(0, true), &[x.clone()], &[Some(dim)]);
        law(|a| Ok(a[0].sort(1, false)?.1), &[x], &[Some(dim)]);
    }
}
