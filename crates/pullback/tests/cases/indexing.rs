//! Tensors in the brackets of an index, and writing at them.

use pullback::{DType, ErrorKind, NewAxis, Reduce, Result, Tensor, Vmap, grad, jacfwd, jacrev, jvp, stack, vmap};

use super::{close, iota, noise, ones, values, zeros};

fn places(data: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(data, shape).expect("as many places as the shape has")
}

#[test]
fn c49_nested_lanes_of_positions_and_of_columns_in_brackets() -> Result<()> {
    let (e, index) = (iota(&[7, 4]), places(&[0, 1, 2, 3, 4, 5], &[2, 3, 1]));
    let of_index = |index: &Tensor| {
        let index = index.clone();
        Vmap::new().in_dims(1).out_dims(-1).of(move |column: &Tensor| column.i(&index))(&e)
    };
    let y = vmap(vmap(of_index))(&index)?;
    assert_eq!(y.shape(), [2, 3, 1, 4]);
    close(&values(&y), &(0..24).map(f64::from).collect::<Vec<_>>());
    Ok(())
}

/// Positions on both sides of a range, under two `vmap`s, where each of tensor and positions may have the lanes: what the loops
/// give, with derivatives.
#[test]
fn c49_separated_positions_go_to_the_front_of_every_lane() -> Result<()> {
    let x = noise(&[2, 3, 4, 5], 0.3);
    let (a, b) = (places(&[0, 1, 2, 2, -1, 0], &[3, 2]), places(&[0, 3, 4, 2, -5, 3], &[3, 2]));
    let read = |x: &Tensor, a: &Tensor, b: &Tensor| x.i((a, 1..3, b))?.sin();
    // Lanes of the tensor and of one list outside, of the other list inside.
    let inner = |x: &Tensor, b: &Tensor| vmap(|a: &Tensor| read(x, a, b))(&a);
    let both = vmap(|(x, b): &(Tensor, Tensor)| inner(x, b))(&(x.clone(), b.i(..2)?))?;
    assert_eq!(both.shape(), [2, 3, 2, 2]);
    for lane in 0..2 {
        for k in 0..3 {
            let own = read(&x.i(lane)?, &a.i(k)?, &b.i(lane)?)?;
            close(&values(&both.i((lane, k))?), &values(&own));
        }
    }
    let gradient = |x: &Tensor, a: &Tensor| grad(|x: &Tensor| read(x, a, &b.i(0)?)?.sum())(x);
    let each = vmap(|(x, a): &(Tensor, Tensor)| gradient(x, a))(&(x.clone(), a.i(..2)?))?;
    for lane in 0..2 {
        close(&values(&each.i(lane)?), &values(&gradient(&x.i(lane)?, &a.i(lane)?)?));
    }
    Ok(())
}

#[test]
fn c50_a_scalar_that_is_a_lane_in_brackets() -> Result<()> {
    let t = Tensor::from([10.0, 20.0, 30.0, 40.0]);
    close(&values(&vmap(|i: &Tensor| ones(&[4]).i(i))(&places(&[0, 1], &[2]))?), &[1.0, 1.0]);
    close(&values(&vmap(|i: &Tensor| t.i(i))(&places(&[1, 3], &[2]))?), &[20.0, 40.0]);
    // Two of them at once, in a matrix.
    let x = iota(&[2, 3]);
    let y = vmap(|(i, j): &(Tensor, Tensor)| x.i((i, j)))(&(places(&[1, 0, -1], &[3]), places(&[0, 2, -1], &[3])))?;
    close(&values(&y), &[3.0, 2.0, 5.0]);
    Ok(())
}

#[test]
fn c52_putting_at_positions_behind_an_axis_of_size_one() -> Result<()> {
    let put = |(y, z): &(Tensor, Tensor)| y.i(NewAxis)?.index_put((.., [0, 1]), z.i(NewAxis)?, false);
    let y = vmap(put)(&(zeros(&[2, 3]), ones(&[2, 2])))?;
    assert_eq!(y.shape(), [2, 1, 3]);
    close(&values(&y), &[1.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    // The value alone, and the positions alone, have lanes.
    let y = vmap(|z: &Tensor| zeros(&[1, 3]).index_put((.., [0, 1]), z, true))(&iota(&[2, 2]))?;
    close(&values(&y), &[0.0, 1.0, 0.0, 2.0, 3.0, 0.0]);
    let y = vmap(|at: &Tensor| zeros(&[1, 3]).index_put((.., at), 1.0, true))(&places(&[0, 0, 2, 1], &[2, 2]))?;
    close(&values(&y), &[2.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn c122_of_several_values_for_one_position_the_last_stays_and_has_the_gradient() -> Result<()> {
    let set = |v: &Tensor| zeros(&[3]).index_put([1, 1], v, false);
    let v = Tensor::from([5.0, 7.0]);
    close(&values(&set(&v)?), &[0.0, 7.0, 0.0]);
    close(&values(&grad(|v: &Tensor| set(v)?.sum())(&v)?), &[0.0, 1.0]);
    close(&values(&jvp(set, &v, &Tensor::from([1.0, 10.0]))?.1), &[0.0, 10.0, 0.0]);
    close(&values(&jacfwd(set)(&v)?), &values(&jacrev(set)(&v)?));
    // Pairs of positions, one of them counted from the end, and the tensor itself.
    let set = |x: &Tensor| x.index_put(([0, -2], [1, 1]), x.i((1, ..))?, false);
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    close(&values(&set(&x)?), &[1.0, 4.0, 3.0, 4.0]);
    close(&values(&grad(|x: &Tensor| set(x)?.i(0)?.sum())(&x)?), &[1.0, 0.0, 0.0, 1.0]);
    // Added up instead.
    let add = |v: &Tensor| zeros(&[3]).index_put([1, 1], v, true);
    close(&values(&add(&v)?), &[0.0, 12.0, 0.0]);
    close(&values(&grad(|v: &Tensor| add(v)?.sum())(&v)?), &[1.0, 1.0]);
    Ok(())
}

/// Few elements of a large tensor, on both sides of a dimension, are found one by one, and many after a copy.
#[test]
fn few_and_many_separated_positions_give_the_same() -> Result<()> {
    let x = noise(&[6, 5, 7], 0.1);
    let (a, b) = (places(&[5, -1, 0], &[3]), places(&[6, 2, -7], &[3]));
    let (many_a, many_b) = (a.repeat(&[20])?, b.repeat(&[20])?);
    let few = x.i((&a, .., &b))?;
    assert_eq!(few.shape(), [3, 5]);
    close(&values(&few.repeat(&[20, 1])?), &values(&x.i((&many_a, .., &many_b))?));
    let f = |a: &Tensor, b: &Tensor| grad(|x: &Tensor| x.i((a, .., b))?.powi(2)?.sum())(&x);
    close(&values(&f(&a, &b)?.mul(20.0)?), &values(&f(&many_a, &many_b)?));
    let lanes = vmap(|a: &Tensor| x.i((a, .., &b)))(&stack(&[&a, &a.neg()?.sub(1)?], 0)?)?;
    close(&values(&lanes.i(0)?), &values(&few));
    Ok(())
}

#[test]
fn masks_are_read_by_derivatives_and_refused_by_lanes() -> Result<()> {
    let x = Tensor::from([[1.0, -2.0], [-3.0, 4.0]]);
    let f = |x: &Tensor| x.i(x.gt(0.0)?)?.powi(2)?.sum();
    close(&values(&grad(f)(&x)?), &[2.0, 0.0, 0.0, 8.0]);
    close(&values(&jacfwd(grad(f))(&x)?.sum_dims(&[0, 1], false)?), &[2.0, 0.0, 0.0, 2.0]);
    let relu = |x: &Tensor| x.index_set(x.lt(0.0)?, 0.0);
    close(&values(&relu(&x)?), &[1.0, 0.0, 0.0, 4.0]);
    close(&values(&grad(|x: &Tensor| relu(x)?.sum())(&x)?), &[1.0, 0.0, 0.0, 1.0]);
    let refused = vmap(relu)(&x).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConcreteValueNeeded);
    assert!(format!("{refused:#}").contains("`masked_fill`"), "{refused:#}");
    // A mask that all lanes share is known.
    let mask = Tensor::from([true, false]);
    close(&values(&vmap(|x: &Tensor| x.i(&mask))(&x)?), &[1.0, -3.0]);
    // Nor does `masked_scatter` depend on how many elements a mask selects.
    let filled = vmap(|x: &Tensor| x.masked_scatter(&x.lt(0.0)?, &Tensor::from([8.0, 9.0])))(&x)?;
    close(&values(&filled), &[1.0, 8.0, 8.0, 4.0]);
    Ok(())
}

/// Large enough for several threads, with positions that meet: what one loop gives, every time.
#[test]
fn large_writes_and_sums_are_those_of_a_loop() -> Result<()> {
    let (n, m) = (300_000, 1000);
    let at: Vec<i64> = (0..n).map(|k| (k * 7919 + k / 13) % (2 * m) - m).collect();
    let (index, src) = (places(&at, &[n as usize]), iota(&[n as usize]));
    let (mut sum, mut last, mut most) = (vec![0.0; m as usize], vec![0.0; m as usize], vec![0.0f64; m as usize]);
    for (k, i) in at.iter().enumerate() {
        let i = i.rem_euclid(m) as usize;
        (sum[i], last[i], most[i]) = (sum[i] + k as f64, k as f64, most[i].max(k as f64));
    }
    let x = zeros(&[m as usize]);
    for _ in 0..2 {
        assert_eq!(values(&x.index_put(&index, &src, true)?), sum);
        assert_eq!(values(&x.index_put(&index, &src, false)?), last);
        assert_eq!(values(&x.scatter_reduce(0, &index, &src, Reduce::Amax, true)?), most);
        assert_eq!(values(&x.put(&index, &src, true)?), sum);
    }
    let picked = Tensor::from(sum).i(&index)?;
    assert_eq!(picked.shape(), [n as usize]);
    // Rows, which are copied whole.
    let rows = iota(&[m as usize, 3]);
    let taken = values(&rows.i(&index.i(..50_000)?)?);
    for (row, i) in taken.chunks(3).zip(&at) {
        assert_eq!(row[0], 3.0 * i.rem_euclid(m) as f64);
    }
    let wrong = index.index_set(-1, m)?;
    let message = x.index_put(&wrong, &src, true).unwrap_err().to_string();
    assert_eq!(
        message,
        "index_put: index 1000 at position [299999] is out of range for dim 0 of f64[1000], which has size 1000"
    );
    Ok(())
}

#[test]
fn a_product_of_lanes_with_zeros_has_second_derivatives() -> Result<()> {
    // x0 * x1 * x2 in one place and x3 in the other.
    let f = |x: &Tensor| ones(&[2]).scatter_reduce(0, &places(&[0, 0, 0, 1], &[4]), x, Reduce::Prod, true)?.sum();
    let points = Tensor::from([[0.0, 0.0, 3.0, 2.0], [2.0, 0.0, 5.0, 0.0]]);
    close(&values(&vmap(grad(f))(&points)?), &[0.0, 0.0, 0.0, 1.0, 0.0, 10.0, 0.0, 1.0]);
    let second = |x: &[f64]| {
        let [a, b, c] = [x[0], x[1], x[2]];
        vec![0.0, c, b, 0.0, c, 0.0, a, 0.0, b, a, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    };
    for point in points.unbind(0)? {
        close(&values(&jacfwd(grad(f))(&point)?), &second(&values(&point)));
        close(&values(&jacrev(grad(f))(&point)?), &second(&values(&point)));
        close(&values(&jacrev(jacfwd(f))(&point)?), &second(&values(&point)));
    }
    Ok(())
}

#[test]
fn dtypes_other_than_floats_are_written_too() -> Result<()> {
    let x = Tensor::zeros(&[3], DType::U8)?;
    assert_eq!(x.index_put([0, 0], Tensor::from([200u8, 100]), true)?.to_vec::<u8>()?, [44, 0, 0]);
    let b = Tensor::from([false, false, true]);
    assert_eq!(b.index_set([0, -1], Tensor::from([true, false]))?.to_vec::<bool>()?, [true, false, false]);
    assert_eq!(
        b.scatter_reduce(0, &places(&[0, 2], &[2]), &Tensor::from([true, false]), Reduce::Amin, false)?
            .to_vec::<bool>()?,
        [true, false, false]
    );
    Ok(())
}
