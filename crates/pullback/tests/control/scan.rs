//! Loops over slices.

use std::sync::Arc;

use pullback::{
    DType, Function, Result, Scan, Tensor, Tree, Vmap, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, scan, stack,
    unstack_trees, vjp, vmap,
};

use crate::{close, noise, tensor, value, values, vector};

/// A cell with two parameters: the next state is tanh(w h + u x), and the result is the square of the state.
#[derive(Clone, Tree)]
struct Cell<T = Tensor> {
    w: T,
    u: T,
}

fn step(cell: &Cell, h: &Tensor, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let next = (cell.w.matmul(h)? + x * &cell.u).tanh()?;
    Ok((next.clone(), next.square()?.sum()?))
}

type Loss = fn(&Cell, &Tensor, &Tensor) -> Result<Tensor>;

fn plain(cell: &Cell, h: &Tensor, xs: &Tensor) -> Result<Tensor> {
    let (mut h, mut ys) = (h.clone(), Vec::new());
    for k in 0..xs.shape()[0] {
        let (next, y) = step(cell, &h, &xs.select(0, k as isize)?)?;
        h = next;
        ys.push(y);
    }
    loss(&h, &stack(&ys.iter().collect::<Vec<_>>(), 0)?)
}

fn scanned(cell: &Cell, h: &Tensor, xs: &Tensor) -> Result<Tensor> {
    let (h, ys) = scan(|h: &Tensor, x: &Tensor| step(cell, h, x), h, xs)?;
    loss(&h, &ys)
}

fn checkpointed<const K: usize>(cell: &Cell, h: &Tensor, xs: &Tensor) -> Result<Tensor> {
    let cell = cell.clone();
    let (h, ys) = Scan::new().checkpoint(if K == 0 { None } else { Some(K) }).run(
        move |h: &Tensor, x: &Tensor| step(&cell, h, x),
        h,
        xs,
    )?;
    loss(&h, &ys)
}

/// The cell goes through the carry instead of being captured.
fn carried(cell: &Cell, h: &Tensor, xs: &Tensor) -> Result<Tensor> {
    let step = |(cell, h): &(Cell, Tensor), x: &Tensor| {
        let (h, y) = step(cell, h, x)?;
        Ok(((cell.clone(), h), y))
    };
    let ((_, h), ys) = Scan::new().checkpoint(2).run(step, &(cell.clone(), h.clone()), xs)?;
    loss(&h, &ys)
}

/// Depends on every result in its own way.
fn loss(h: &Tensor, ys: &Tensor) -> Result<Tensor> {
    let weights = Tensor::arange(0.0, ys.shape()[0] as f64, 1.0, DType::F64)?.add(1.0)?;
    Ok(ys.mul(&weights)?.sum()? + h.sin()?.sum()?)
}

const LOSSES: [(&str, Loss); 6] = [
    ("scan", scanned),
    ("sqrt", checkpointed::<0>),
    ("1", checkpointed::<1>),
    ("3", checkpointed::<3>),
    ("100", checkpointed::<100>),
    ("carried", carried),
];

type Arguments = (Cell, Tensor, Tensor);

fn arguments(lanes: &[usize]) -> Arguments {
    let shape = |own: &[usize]| [lanes, own].concat();
    let cell = Cell { w: noise(&shape(&[3, 3]), 0.1), u: noise(&shape(&[3]), 0.2) };
    (cell, noise(&shape(&[3]), 0.3), noise(&shape(&[7, 3]), 0.4))
}

fn flat<T: Tree>(t: &T) -> Vec<f64> {
    let mut all = Vec::new();
    t.visit(&mut |t| all.extend(values(t)));
    all
}

#[test]
fn a_recurrent_cell_is_the_plain_loop_under_every_transform() {
    for (name, f) in LOSSES {
        println!("{name}");
        let f = |(c, h, xs): &Arguments| f(c, h, xs);
        let p = |(c, h, xs): &Arguments| plain(c, h, xs);
        let a = arguments(&[]);
        let direction = a.try_map(|t| t.cos()).unwrap();
        close(&[value(&f(&a).unwrap())], &[value(&p(&a).unwrap())]);
        let slopes = grad(p)(&a).unwrap();
        close(&flat(&grad(f)(&a).unwrap()), &flat(&slopes));
        let along = jvp(p, &a, &direction).unwrap().1;
        close(&[value(&jvp(f, &a, &direction).unwrap().1)], &[value(&along)]);
        close(&flat(&jacrev(f)(&a).unwrap()), &flat(&slopes));
        close(&flat(&jacfwd(f)(&a).unwrap()), &flat(&slopes));
        let curved = jvp(grad(p), &a, &direction).unwrap().1;
        close(&flat(&jvp(grad(f), &a, &direction).unwrap().1), &flat(&curved));
        let reverse_over_forward = grad(|a: &Arguments| Ok(jvp(f, a, &direction)?.1))(&a).unwrap();
        close(&flat(&reverse_over_forward), &flat(&curved));
        let dot = |g: &Arguments| -> Result<Tensor> {
            let parts = g.zip_with(&direction, |g, d| g.mul(d)?.sum())?;
            let mut sum = Tensor::from(0.0);
            parts.visit(&mut |t| sum = &sum + t);
            Ok(sum)
        };
        close(&flat(&grad(|a: &Arguments| dot(&grad(f)(a)?))(&a).unwrap()), &flat(&curved));
        close(&flat(&vjp(grad(f), &a).unwrap().1.call(&direction).unwrap()), &flat(&curved));

        let lanes = arguments(&[4]);
        let each: Vec<Arguments> = unstack_trees(&lanes).unwrap();
        let want: Vec<f64> = each.iter().map(|a| value(&p(a).unwrap())).collect();
        close(&values(&vmap(f)(&lanes).unwrap()), &want);
        let want: Vec<Vec<f64>> = each.iter().map(|a| flat(&grad(p)(a).unwrap())).collect();
        for got in [vmap(grad(f))(&lanes), grad(|a: &Arguments| vmap(f)(a)?.sum())(&lanes)] {
            let got: Vec<Vec<f64>> = unstack_trees(&got.unwrap()).unwrap().iter().map(flat).collect();
            close(&got.concat(), &want.concat());
        }
        // Lanes that share the cell.
        let (cell, hs, xs) = (each[0].0.clone(), lanes.1.clone(), lanes.2.clone());
        let shared =
            |cell: &Cell| Vmap::new().in_dims((None, 0, 0)).of(f)(&(cell.clone(), hs.clone(), xs.clone()))?.sum();
        let total = |cell: &Cell| {
            let mut sum = Tensor::from(0.0);
            for (_, h, xs) in &each {
                sum += plain(cell, h, xs)?;
            }
            Ok(sum)
        };
        close(&flat(&grad(shared)(&cell).unwrap()), &flat(&grad(total)(&cell).unwrap()));
        let inside = vmap(|(h, xs): &(Tensor, Tensor)| grad(|c: &Cell| f(&(c.clone(), h.clone(), xs.clone())))(&cell));
        let inside = inside(&(hs.clone(), xs.clone())).unwrap().try_map(|t| t.sum_dims(&[0], false)).unwrap();
        close(&flat(&inside), &flat(&grad(total)(&cell).unwrap()));
        let nested = arguments(&[2, 2]);
        close(&flat(&vmap(vmap(grad(f)))(&nested).unwrap()), &flat(&vmap(vmap(grad(p)))(&nested).unwrap()));
    }
}

#[test]
fn hessians_through_a_scan() {
    // Σ of the partial products of x: a polynomial whose Hessian is known.
    let f = |x: &Tensor| scan(|p: &Tensor, x: &Tensor| Ok((p * x, p * x)), &Tensor::from(1.0), x)?.1.sum();
    let c = |x: &Tensor| {
        let step = |p: &Tensor, x: &Tensor| Ok((p * x, p * x));
        Scan::new().checkpoint(2).run(step, &Tensor::from(1.0), x)?.1.sum()
    };
    // x + xy + xyz at (2, 3, 5).
    let x = vector(&[2.0, 3.0, 5.0]);
    let want = [0.0, 6.0, 3.0, 6.0, 0.0, 2.0, 3.0, 2.0, 0.0];
    for h in [hessian(f)(&x), hessian(c)(&x), jacrev(jacrev(c))(&x), jacfwd(jacfwd(f))(&x), jacrev(jacfwd(c))(&x)] {
        close(&values(&h.unwrap()), &want);
    }
    let third = grad(|x: &Tensor| grad(|x: &Tensor| grad(c)(x)?.i(0))(x)?.i(1))(&x).unwrap();
    close(&values(&third), &[0.0, 0.0, 1.0]);
    let lanes = vmap(hessian(c))(&stack(&[&x, &x], 0).unwrap()).unwrap();
    close(&values(&lanes), &[want, want].concat());
}

#[test]
fn c37_a_shared_coefficient_through_scan_vmap_and_a_rule() {
    let times = custom_vjp(
        |(c, x): &(Tensor, Tensor)| c.mul(x),
        |(c, x): &(Tensor, Tensor)| Ok((c.mul(x)?, (c.clone(), x.clone()))),
        |(c, x): &(Tensor, Tensor), g| Ok((&g * x, &g * c)),
    );
    let times = Arc::new(times);
    let (c, x) = (Tensor::from(2.0), vector(&[1.0, 2.0]));
    for checkpoint in [false, true] {
        let cube = |c: &Tensor, x: &Tensor| -> Result<Tensor> {
            let (c, times) = (c.clone(), times.clone());
            let step = move |x: &Tensor, _: &()| Ok((times(&(c.clone(), x.clone()))?, ()));
            let scan = Scan::new().length(3);
            Ok(if checkpoint { scan.checkpoint(2).run(step, x, &())?.0 } else { scan.run(step, x, &())?.0 })
        };
        let lanes = |c: &Tensor| vmap(|x: &Tensor| cube(c, x))(&x);
        close(&values(&lanes(&c).unwrap()), &[8.0, 16.0]);
        let total = grad(|c: &Tensor| lanes(c)?.sum())(&c).unwrap();
        assert_eq!(total.shape(), [0usize; 0]);
        close(&[value(&total)], &[36.0]);
        let each = vmap(|x: &Tensor| grad(|c: &Tensor| cube(c, x))(&c))(&x).unwrap();
        close(&values(&each), &[12.0, 24.0]);
    }
}

#[test]
fn from_the_last_slice_to_the_first() {
    let xs = vector(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let step = |sum: &Tensor, x: &Tensor| Ok((sum + x, sum * 10.0 + x));
    let (last, ys) = Scan::new().reverse(true).run(step, &Tensor::from(0.0), &xs).unwrap();
    close(&[value(&last)], &[15.0]);
    close(&values(&ys), &[141.0, 122.0, 93.0, 54.0, 5.0]);
    for k in [1, 2, 5, 9] {
        let (last, ys) = Scan::new().reverse(true).checkpoint(k).run(step, &Tensor::from(0.0), &xs).unwrap();
        close(&[value(&last)], &[15.0]);
        close(&values(&ys), &[141.0, 122.0, 93.0, 54.0, 5.0]);
        let slopes =
            grad(|xs: &Tensor| Scan::new().reverse(true).checkpoint(k).run(step, &Tensor::from(0.0), xs)?.1.i(1))(&xs);
        close(&values(&slopes.unwrap()), &[0.0, 1.0, 10.0, 10.0, 10.0]);
    }
}

#[test]
fn no_slices_give_the_right_types() {
    let step = |c: &Tensor, x: &Tensor| Ok((c + x.sum()?, (x.to_dtype(DType::F32)?, c.gt(0.0)?)));
    let (c, none) = (Tensor::from(2.0), Tensor::zeros(&[0, 3], DType::F64).unwrap());
    for (last, (a, b)) in [
        scan(step, &c, &none).unwrap(),
        Scan::new().checkpoint(None).run(step, &c, &none).unwrap(),
        Scan::new().reverse(true).length(0).run(step, &c, &none).unwrap(),
    ] {
        close(&[value(&last)], &[2.0]);
        assert_eq!((a.ty().to_string(), b.ty().to_string()), ("f32[0,3]".into(), "bool[0]".into()));
    }
    close(&[value(&grad(|c: &Tensor| Ok(scan(step, c, &none)?.0))(&c).unwrap())], &[1.0]);
    // No lanes, and lanes of no slices.
    let sums = |x: &Tensor| Ok(scan(|s: &Tensor, x: &Tensor| Ok((s + x, s + x)), &Tensor::from(0.0), x)?.1);
    assert_eq!(vmap(sums)(&Tensor::zeros(&[0, 3], DType::F64).unwrap()).unwrap().shape(), [0, 3]);
    assert_eq!(vmap(sums)(&Tensor::zeros(&[3, 0], DType::F64).unwrap()).unwrap().shape(), [3, 0]);
}

#[test]
fn a_number_of_steps_without_slices() {
    let x = Tensor::from(3.0);
    let half = |x: &Tensor, _: &()| Ok((x * 0.5, x.clone()));
    let (last, seen) = Scan::new().length(3).run(half, &x, &()).unwrap();
    close(&[value(&last)], &[0.375]);
    close(&values(&seen), &[3.0, 1.5, 0.75]);
    assert_eq!(value(&Scan::new().length(0).run(half, &x, &()).unwrap().0), 3.0);
}

#[test]
fn slices_are_views_and_results_of_every_dtype_are_stacked() {
    let xs = (tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), Tensor::from([true, false]));
    let step = |n: &Tensor, (x, b): &(Tensor, Tensor)| Ok((n.add(1)?, (x.sum()?, b.logical_not()?, n.clone())));
    let (n, (sums, flags, counts)) = scan(step, &Tensor::from(5i64), &xs).unwrap();
    assert_eq!(n.item::<i64>().unwrap(), 7);
    close(&values(&sums), &[3.0, 7.0]);
    assert_eq!(flags.to_vec::<bool>().unwrap(), [false, true]);
    assert_eq!(counts.to_vec::<i64>().unwrap(), [5, 6]);
}

#[test]
fn long_scans_are_linear_in_time() {
    // A gradient by the slices of 20 000 steps: an n² walk would take minutes.
    let n = 20_000;
    let xs = Tensor::ones(&[n], DType::F64).unwrap();
    let f = |xs: &Tensor| Ok(scan(|c: &Tensor, x: &Tensor| Ok((c * 0.999 + x, ())), &Tensor::from(0.0), xs)?.0);
    let slopes = values(&grad(f)(&xs).unwrap());
    close(&[slopes[n - 1], slopes[n - 3]], &[1.0, 0.999 * 0.999]);
}

#[test]
fn a_scan_inside_a_function() {
    // Its derivative goes through the operations of the function.
    let sum = pullback::custom(|x: &Tensor| {
        Ok(scan(|s: &Tensor, x: &Tensor| Ok((s + x.square()?, ())), &Tensor::from(0.0), x)?.0)
    });
    let x = vector(&[1.0, 2.0, 3.0]);
    close(&values(&grad(|x: &Tensor| sum.apply(x))(&x).unwrap()), &[2.0, 4.0, 6.0]);
    let rows = tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    close(&values(&vmap(grad(|x: &Tensor| sum.apply(x)))(&rows).unwrap()), &[2.0, 4.0, 6.0, 8.0]);
}
