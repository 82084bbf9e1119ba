//! What is mapped, how many lanes there are, and what lanes share.

use std::collections::BTreeMap;

use pullback::function::rules as batching;
use pullback::random::Key;
use pullback::*;

use super::vmap::{ints, law, of};
use crate::{close, iota, is, noise, ones, value, values, zeros};

#[test]
fn c61_what_a_closure_captures_is_shared_and_what_is_passed_is_mapped() {
    let d = zeros(&[3, 3]);
    let array = Tensor::from([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]);
    let shared = vmap(|_: &Tensor| array.argmax(None, false))(&d).unwrap();
    assert_eq!(ints(&shared), [1, 1, 1]);
    let mapped = vmap(|(_, a): &(Tensor, Tensor)| a.argmax(None, false))(&(d.clone(), array.clone())).unwrap();
    assert_eq!(ints(&mapped), [1, 2, 0]);
    let said =
        Vmap::new().in_dims((0, None)).of(|(_, a): &(Tensor, Tensor)| a.argmax(None, false))(&(d, array)).unwrap();
    assert_eq!(ints(&said), [1, 1, 1]);
}

#[derive(Clone, Tree)]
struct Pair<T = Tensor> {
    a: T,
    b: T,
}

#[test]
fn c62_negative_nested_and_partial_in_dims() {
    let x = iota(&[2, 3, 4]);
    let last = Vmap::new().in_dims(-1).of(|x: &Tensor| x.sum())(&x).unwrap();
    is(&last, &[4], &values(&Vmap::new().in_dims(2).of(|x: &Tensor| x.sum())(&x).unwrap()));
    is(&last, &[4], &[60.0, 66.0, 72.0, 78.0]);
    // A structure of its own for each structure of arguments.
    let pair = Pair { a: Tensor::from([1.0, 2.0, 3.0]), b: iota(&[5, 3]) };
    let f = |p: &Pair| p.b.sum()?.mul(&p.a);
    let want = [30.0, 70.0, 120.0];
    is(&Vmap::new().in_dims(Pair { a: Some(0), b: Some(1) }).of(f)(&pair).unwrap(), &[3], &want);
    let map: BTreeMap<String, Tensor> = [("a".into(), pair.a.clone()), ("b".into(), pair.b.clone())].into();
    let dims: BTreeMap<String, i32> = [("a".into(), 0), ("b".into(), -1)].into();
    let g = |m: &BTreeMap<String, Tensor>| m["b"].sum()?.mul(&m["a"]);
    is(&Vmap::new().in_dims(dims).of(g)(&map).unwrap(), &[3], &want);
    let h = |(m,): &(BTreeMap<String, Tensor>,)| g(m);
    let dims: BTreeMap<String, i32> = [("a".into(), -1), ("b".into(), 1)].into();
    is(&Vmap::new().in_dims((dims,)).of(h)(&(map.clone(),)).unwrap(), &[3], &want);
    // One number for a whole tree.
    let both = (Pair { a: ones(&[3]), b: ones(&[3, 5]) }, vec![ones(&[3]), ones(&[3, 2])]);
    let f = |(p, v): &(Pair, Vec<Tensor>)| p.a.add(&p.b.sum()?)?.add(&v[0])?.add(&v[1].sum()?);
    is(&Vmap::new().in_dims(0).of(f)(&both).unwrap(), &[3], &[9.0; 3]);
    is(&Vmap::new().in_dims((0, vec![0, 0])).of(f)(&both).unwrap(), &[3], &[9.0; 3]);
    // Wrong structures.
    let err = Vmap::new().in_dims((0, vec![0, 0, 0])).of(f)(&both).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    assert!(err.to_string().contains("expected batch dims for a list of 2 items, got a list of 3"), "{err}");
    let dims: BTreeMap<String, i32> = [("a".into(), 0), ("c".into(), 0)].into();
    let err = Vmap::new().in_dims(dims).of(g)(&map).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    assert!(err.to_string().contains(r#"keys ["a", "b"], got keys ["a", "c"]"#), "{err}");
    // Dims that do not exist.
    for dim in [3, -4] {
        let err = Vmap::new().in_dims(dim).of(|x: &Tensor| x.sum())(&x).unwrap_err();
        assert!(err.is_dim());
        assert!(
            err.to_string().contains(&format!("in_dims: dim {dim} is out of range for argument (f64[2,3,4])")),
            "{err}"
        );
    }
    let err =
        Vmap::new().in_dims((0, 1)).of(|(a, b): &(Tensor, Tensor)| a.mul(b))(&(ones(&[2]), ones(&[2]))).unwrap_err();
    assert!(err.to_string().contains("dim 1 is out of range for argument.1 (f64[2])"), "{err}");
    let err = vmap(|x: &Tensor| x.mul(2.0))(&Tensor::from(1.0)).unwrap_err();
    assert!(err.is_dim());
    assert!(err.to_string().contains("f64[]), which has no dimensions"), "{err}");
    for dim in [3, -4] {
        let err = Vmap::new().out_dims(dim).of(|x: &Tensor| x.sum_dims(&[0], false))(&x).unwrap_err();
        assert!(err.is_dim(), "{err}");
        assert!(err.to_string().contains(&format!("out_dims: dim {dim} is out of range")), "{err}");
    }
}

#[test]
fn specs_follow_every_kind_of_tree_in_and_out() {
    let x = iota(&[2, 3]);
    let rows = [values(&x.i(0).unwrap()), values(&x.i(1).unwrap())];
    // Arrays, options and boxes, each with its own dims; what is absent has none.
    let f = |(a, b, c): &([Tensor; 2], Option<Tensor>, Box<Tensor>)| {
        Ok(([a[0].sum()?, a[1].sum()?], b.clone(), Box::new(c.mul(2.0)?)))
    };
    let args = ([x.clone(), x.t().unwrap()], Some(ones(&[2])), Box::new(Tensor::from(1.0)));
    let shared: Option<usize> = None;
    let dims = ([0, 1], Some(Some(0)), Box::new(shared));
    let ([a, b], c, d) = Vmap::new().in_dims(dims.clone()).of(f)(&args).unwrap();
    is(&a, &[2], &[3.0, 12.0]);
    is(&b, &[2], &[3.0, 12.0]);
    is(&c.unwrap(), &[2], &[1.0, 1.0]);
    is(&d, &[2], &[2.0, 2.0]);
    let (_, absent, _) = Vmap::new().in_dims(dims).of(f)(&(args.0.clone(), None, args.2.clone())).unwrap();
    assert!(absent.is_none());
    // Results along dims of their own, by name, by position, and not at all.
    let g = |x: &Tensor| Ok((Pair { a: x.mul(2.0)?, b: Tensor::from(7.0) }, vec![x.clone(), x.unsqueeze(0)?]));
    let out = (Pair { a: Some(1), b: None }, vec![-1, 1]);
    let (p, v) = Vmap::new().out_dims(out).of(g)(&x).unwrap();
    is(&p.a, &[3, 2], &[0.0, 6.0, 2.0, 8.0, 4.0, 10.0]);
    is(&p.b, &[], &[7.0]);
    is(&v[0], &[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    is(&v[1], &[1, 2, 3], &rows.concat());
    // A spec of another length than the result.
    let err = Vmap::new().out_dims((Pair { a: Some(0), b: None }, vec![0])).of(g)(&x).map(|_| ()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    // Parts that are no tensors are carried along.
    let h = |(x, n): &(Tensor, Static<i32>)| Ok((x.powi(n.0)?, *n));
    let (y, n) = Vmap::new().in_dims((1, 0)).of(h)(&(x, Static(2))).unwrap();
    is(&y, &[3, 2], &[0.0, 9.0, 1.0, 16.0, 4.0, 25.0]);
    assert_eq!(n, Static(2));
}

#[test]
fn c64_nothing_is_mapped_but_the_number_of_lanes_is_given() {
    let none: Option<usize> = None;
    let five = Vmap::new().in_dims(none).batch_size(5).of(|x: &Tensor| x.mul(2.0));
    is(&five(&Tensor::from([1.0, 2.0])).unwrap(), &[5, 2], &[2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0]);
    let err = Vmap::new().batch_size(5).of(|x: &Tensor| x.mul(2.0))(&ones(&[4])).unwrap_err();
    assert!(err.is_shape());
    assert!(err.to_string().contains("argument has 4 (f64[4], dim 0), `batch_size` is 5"), "{err}");
    let err = Vmap::new().in_dims(none).of(|x: &Tensor| x.mul(2.0))(&ones(&[4])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    assert!(err.help().unwrap().contains("`batch_size`"), "{err}");
    let draws = Vmap::new().in_dims(none).batch_size(5).randomness(Randomness::Different);
    let five = draws.of(|x: &Tensor| x.add(Key::new(3).uniform(&[], DType::F64)?))(&Tensor::from(0.0)).unwrap();
    let mut five = values(&five);
    five.sort_by(f64::total_cmp);
    assert_eq!(five.len(), 5);
    assert!(five.windows(2).all(|w| w[0] < w[1]), "{five:?}");
    // Derivatives of the shared argument collect from every copy.
    let d = grad(|x: &Tensor| Vmap::new().in_dims(none).batch_size(5).of(|x: &Tensor| x.mul(x))(x)?.sum());
    assert_eq!(value(&d(&Tensor::from(3.0)).unwrap()), 30.0);
    is(&Vmap::new().in_dims(none).batch_size(0).of(|x: &Tensor| x.mul(x))(&Tensor::from(3.0)).unwrap(), &[0], &[]);
}

#[test]
fn c65_no_lanes() {
    let blocks = |a: &Tensor| {
        let zero = zeros(&[2, 2]);
        cat(&[&cat(&[a, &zero], 1)?, &cat(&[&zero, a], 1)?], 0)
    };
    is(&vmap(blocks)(&zeros(&[0, 2, 2])).unwrap(), &[0, 4, 4], &[]);
    let w = Tensor::from([1.0, 2.0, 3.0]);
    let loss = |w: &Tensor, x: &Tensor| w.dot(x)?.powi(2);
    let each = |x: &Tensor| vmap(|x: &Tensor| grad(|w: &Tensor| loss(w, x))(&w))(x);
    let none = each(&zeros(&[0, 3])).unwrap();
    is(&none, &[0, 3], &[]);
    is(&none.sum_dims(&[0], false).unwrap(), &[3], &[0.0; 3]);
    // The gradient of a sum over no lanes is zero.
    let x = zeros(&[0, 3]);
    let total = |w: &Tensor| vmap(|x: &Tensor| loss(w, x))(&x)?.sum();
    is(&grad(total)(&w).unwrap(), &[3], &[0.0; 3]);
    is(&jacfwd(total)(&w).unwrap(), &[3], &[0.0; 3]);
    is(&hessian(total)(&w).unwrap(), &[3, 3], &[0.0; 9]);
    // A layer, a loss and their derivatives on an empty batch, lanes anywhere.
    let layer = |x: &Tensor| {
        let h = noise(&[4, 3], 0.2).matmul(x)?.tanh()?;
        h.softmax(0)?.log()?.select(0, 1)
    };
    for (shape, dim) in [([0, 3], 0), ([3, 0], 1)] {
        let map = Vmap::new().in_dims(dim);
        is(&map.of(layer)(&zeros(&shape)).unwrap(), &[0], &[]);
        is(&map.out_dims(1).of(grad(layer))(&zeros(&shape)).unwrap(), &[3, 0], &[]);
        is(&map.of(hessian(layer))(&zeros(&shape)).unwrap(), &[0, 3, 3], &[]);
        is(&map.of(jacfwd(jacfwd(layer)))(&zeros(&shape)).unwrap(), &[0, 3, 3], &[]);
        is(&jacrev(map.of(layer))(&zeros(&shape)).unwrap(), &[0, shape[0], shape[1]], &[]);
        is(&jacfwd(map.of(layer))(&zeros(&shape)).unwrap(), &[0, shape[0], shape[1]], &[]);
    }
    let nested = vmap(vmap(layer))(&zeros(&[2, 0, 3])).unwrap();
    assert_eq!(nested.shape(), [2, 0]);
    assert_eq!(vmap(vmap(layer))(&zeros(&[0, 2, 3])).unwrap().shape(), [0, 2]);
}

#[test]
fn c66_lanes_without_dimensions_and_a_single_lane() {
    for n in [1, 3] {
        let x = iota(&[n]);
        let same: [fn(&Tensor) -> Result<Tensor>; 12] = [
            Tensor::sum,
            Tensor::mean,
            Tensor::prod,
            Tensor::max,
            |x| x.sum_dims(&[], false),
            |x| x.sum_dims(&[], true),
            |x| x.logsumexp(&[], false),
            |x| x.reshape(&[]),
            |x| x.roll(&[1], &[]),
            |x| x.flip(&[]),
            |x| x.squeeze_all(),
            |x| x.i(()),
        ];
        for f in same {
            is(&vmap(f)(&x).unwrap(), &[n], &values(&x));
            is(&vmap(grad(f))(&x).unwrap(), &[n], &vec![1.0; n]);
            is(&vmap(jacfwd(f))(&x).unwrap(), &[n], &vec![1.0; n]);
        }
        // A dim that the lane does not have is not that of the batch.
        for dim in [0, -1] {
            let all: [fn(&Tensor, isize) -> Result<Tensor>; 4] =
                [|x, d| x.sum_dims(&[d], false), |x, d| x.roll(&[1], &[d]), |x, d| x.flip(&[d]), |x, d| x.select(d, 0)];
            for f in all {
                let err = vmap(|x: &Tensor| f(x, dim))(&x).unwrap_err();
                let alone = f(&Tensor::from(1.0), dim).unwrap_err();
                assert_eq!((err.kind(), err.message()), (alone.kind(), alone.message()));
            }
        }
    }
    is(&jacrev(|x: &Tensor| x.sum())(&Tensor::from(2.0)).unwrap(), &[], &[1.0]);
    is(&jacrev(|x: &Tensor| x.roll(&[1], &[]))(&Tensor::from(2.0)).unwrap(), &[], &[1.0]);
    // Size-one dims of lanes stay apart from a batch of one.
    for dim in 0..3 {
        law(|a| a[0].sum_dims(&[-1], true), &[noise(&[1, 1, 1], 0.3)], &[Some(dim)]);
        law(|a| a[0].mul(&a[1]), &[noise(&[1, 1, 1], 0.3), noise(&[1, 4], 0.1)], &[Some(dim), None]);
        law(|a| a[0].mul(&a[1]), &[noise(&[1, 1, 1], 0.3), noise(&[1, 4], 0.1)], &[Some(dim), Some(0)]);
        law(|a| a[0].matmul(&a[1]), &[noise(&[1, 1, 1], 0.3), noise(&[1, 4], 0.1)], &[Some(dim), None]);
    }
}

#[test]
fn c67_repeating_a_lane_to_a_higher_rank() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let tiled = |x: &Tensor| cat(&[&x.expand(&[2, 2])?, &x.expand(&[2, 2])?], 1);
    let want = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0];
    is(&vmap(tiled)(&x).unwrap(), &[2, 2, 4], &want);
    is(&vmap(grad(|x: &Tensor| tiled(x)?.sum()))(&x).unwrap(), &[2, 2], &[4.0; 4]);
    let repeated = |x: &Tensor| x.repeat(&[2, 2]);
    is(&vmap(repeated)(&x).unwrap(), &[2, 2, 4], &want);
    is(&vmap(grad(|x: &Tensor| repeated(x)?.sum()))(&x).unwrap(), &[2, 2], &[4.0; 4]);
    law(|a| a[0].repeat(&[2, 1, 3]), &[noise(&[2, 4, 3], 0.3)], &[Some(1)]);
    law(|a| a[0].repeat(&[2, 0]), &[noise(&[2, 4], 0.3)], &[Some(1)]);
}

#[test]
fn c68_dtypes_are_those_of_the_loop() {
    let x = Tensor::ones(&[3], DType::F32).unwrap();
    assert_eq!(vmap(|x: &Tensor| x.mul(0.1))(&x).unwrap().dtype(), DType::F32);
    let pair = (Tensor::ones(&[3], DType::F32).unwrap(), ones(&[3]));
    let alone = Tensor::from(1.0f32).mul(&Tensor::from(1.0)).unwrap().dtype();
    assert_eq!(vmap(|(a, b): &(Tensor, Tensor)| a.mul(b))(&pair).unwrap().dtype(), alone);
    // 0-d lanes give way to tensors with dimensions, in every mix of dtypes, ranks and lanes.
    let reals = || DType::ALL.into_iter().filter(|d| !d.is_complex());
    for a in reals() {
        for b in reals() {
            for (ranks, dims) in [
                ((0, 0), (true, true)),
                ((0, 1), (true, true)),
                ((0, 1), (true, false)),
                ((0, 1), (false, true)),
                ((1, 0), (true, false)),
                ((0, 0), (true, false)),
                ((0, 0), (false, true)),
                ((1, 1), (false, true)),
            ] {
                let make =
                    |dtype, rank: usize, lane: bool| of(dtype, &[&[2][..usize::from(lane)], &[3][..rank]].concat());
                let args = [make(a, ranks.0, dims.0), make(b, ranks.1, dims.1)];
                let dims = [dims.0.then_some(0), dims.1.then_some(0)];
                law(|x| x[0].add(&x[1]), &args, &dims);
                law(|x| x[0].mul(&x[1]), &args, &dims);
                law(|x| x[0].div(&x[1]), &args, &dims);
                law(|x| x[0].lt(&x[1]), &args, &dims);
                law(|x| x[0].gt(0)?.where_(&x[0], &x[1]), &args, &dims);
                law(|x| x[0].maximum(&x[1]), &args, &dims);
                law(|x| x[0].add(1), &args[..1].iter().chain(&args[1..]).cloned().collect::<Vec<_>>(), &dims);
                law(|x| x[0].mul(0.5)?.add(&x[1]), &args, &dims);
            }
        }
    }
}

#[test]
fn c69_arguments_that_disagree_on_the_number_of_lanes() {
    let f = |(a, b): &(Tensor, Tensor)| a.mul(b);
    let err = Vmap::new().in_dims((0, 1)).of(f)(&(zeros(&[10, 4]), zeros(&[10, 2]))).unwrap_err();
    assert_eq!(
        err.to_string(),
        "vmap: batched arguments disagree on the batch size: argument.0 has 10 (f64[10,4], dim 0), argument.1 has 2 \
         (f64[10,2], dim 1)"
    );
    assert!(err.is_shape());
    let err = vmap(f)(&(zeros(&[10, 1]), zeros(&[1, 1, 1, 5]))).unwrap_err();
    assert!(
        err.to_string().contains("argument.0 has 10 (f64[10,1], dim 0), argument.1 has 1 (f64[1,1,1,5], dim 0)"),
        "{err}"
    );
    let err = vmap(|p: &Pair| p.a.mul(&p.b))(&Pair { a: zeros(&[1]), b: zeros(&[0]) }).unwrap_err();
    assert!(err.to_string().contains("argument.a has 1") && err.to_string().contains("argument.b has 0"), "{err}");
}

#[test]
fn c72_lanes_share_random_numbers_only_if_told() {
    let noisy = |x: &Tensor| x.add(Key::new(5).uniform(&[], DType::F64)?);
    let x = zeros(&[5]);
    let same = values(&Vmap::new().randomness(Randomness::Same).of(noisy)(&x).unwrap());
    assert!(same.iter().all(|v| *v == same[0]));
    let different = Vmap::new().randomness(Randomness::Different).of(noisy);
    let first = values(&different(&x).unwrap());
    for (k, v) in first.iter().enumerate() {
        assert!(!first[..k].contains(v), "{first:?}");
    }
    assert_eq!(values(&different(&x).unwrap()), first);
    let err = vmap(noisy)(&x).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Randomness);
    assert!(err.to_string().contains("Randomness::Different") && err.to_string().contains("Randomness::Same"), "{err}");
    // Also for draws that no lane takes part in, and for those inside of derivatives and inner transforms.
    let aside = |x: &Tensor| {
        Key::new(1).normal(&[2], DType::F32)?;
        Ok(x.clone())
    };
    assert_eq!(vmap(aside)(&x).unwrap_err().kind(), ErrorKind::Randomness);
    assert_eq!(vmap(grad(noisy))(&x).unwrap_err().kind(), ErrorKind::Randomness);
    let outer_same = Vmap::new().randomness(Randomness::Same).of(|x: &Tensor| vmap(noisy)(x));
    assert_eq!(outer_same(&zeros(&[2, 5])).unwrap_err().kind(), ErrorKind::Randomness);
    // A draw has no derivative, and the same key gives the same draw in every mode.
    let scaled = |x: &Tensor| x.mul(Key::new(9).uniform(&[], DType::F64)?);
    let u = value(&Key::new(9).uniform(&[], DType::F64).unwrap());
    crate::every_nesting_of(scaled, 2.0, &[2.0 * u, u, 0.0], false);
    let each = values(&Key::new(9).uniform(&[5], DType::F64).unwrap());
    is(&Vmap::new().randomness(Randomness::Different).of(grad(scaled))(&ones(&[5])).unwrap(), &[5], &each);
    // Jacobians are those of one run: all directions see the same numbers.
    let vector = |x: &Tensor| x.mul(Key::new(9).uniform(&[3], DType::F64)?);
    let (rev, fwd) = (jacrev(vector)(&ones(&[3])).unwrap(), jacfwd(vector)(&ones(&[3])).unwrap());
    assert_eq!(values(&rev), values(&fwd));
    let u = values(&Key::new(9).uniform(&[3], DType::F64).unwrap());
    assert_eq!(values(&rev.diagonal(0, 0, 1).unwrap()), u);
    // Nested: the outermost lanes come first.
    let both = Vmap::new().randomness(Randomness::Different);
    let nested = both.of(|x: &Tensor| both.of(noisy)(x))(&zeros(&[2, 3])).unwrap();
    is(&nested, &[2, 3], &values(&Key::new(5).uniform(&[2, 3], DType::F64).unwrap()));
    let turned = both.of(|x: &Tensor| both.of(noisy)(x))(&zeros(&[3, 2]).t().unwrap()).unwrap();
    is(&turned, &[2, 3], &values(&nested));
}

#[test]
fn c73_dropout_of_mapped_modules() {
    let x = ones(&[1000]);
    let dropped = |key: Key, randomness| {
        let none: Option<usize> = None;
        let modules = Vmap::new().in_dims(none).batch_size(4).randomness(randomness);
        modules.of(move |x: &Tensor| key.dropout(x, 0.5))(&x).unwrap()
    };
    let rows = |t: &Tensor| values(t).chunks(1000).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let key = Key::new(11);
    let split = rows(&dropped(key, Randomness::Different));
    for (k, row) in split.iter().enumerate() {
        assert!(!split[..k].contains(row));
        assert!(row.iter().all(|v| *v == 0.0 || *v == 2.0));
        let kept = row.iter().filter(|v| **v != 0.0).count();
        assert!((440..=560).contains(&kept), "{kept}");
    }
    assert_eq!(rows(&dropped(key, Randomness::Different)), split);
    assert_ne!(rows(&dropped(Key::new(12), Randomness::Different)), split);
    let shared = rows(&dropped(key, Randomness::Same));
    assert!(shared.iter().all(|row| *row == shared[0]));
    // The gradient is that of the elements that stayed.
    let none: Option<usize> = None;
    let modules = Vmap::new().in_dims(none).batch_size(4).randomness(Randomness::Different);
    let g = modules.of(grad(move |x: &Tensor| key.dropout(x, 0.5)?.sum()))(&x).unwrap();
    assert_eq!(rows(&g), split);
}

#[test]
fn c77_nothing_is_looped_over_unless_the_user_says_so() {
    /// Doubles by plain Rust code.
    #[derive(Clone)]
    struct Plain {
        looped: bool,
    }
    impl Function for Plain {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Ok(Tensor::from(2.0 * x.item::<f64>()?))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            if self.looped {
                batching::per_example(self, info, dims, x)
            } else {
                batching::generated(self, info, dims, x)
            }
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    let run = |looped| vmap(move |x: &Tensor| Plain { looped }.apply(x))(&x);
    is(&run(true).unwrap(), &[2], &[2.0, 4.0]);
    let err = run(false).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded);
    assert!(err.to_string().contains("`Plain`"), "{err}");
    assert!(err.help().unwrap().contains("`rules::per_example`"), "{err}");
}

#[test]
fn c79_forward_mode_through_lanes_and_lanes_through_forward_mode() {
    let x = Tensor::from([0.0, 1.0, 2.0]);
    let t = Tensor::from([1.0, 10.0, 100.0]);
    let want = [1.0, 5.403_023_059, -41.614_683_655];
    is(&jvp(vmap(|x: &Tensor| x.sin()), &x, &t).unwrap().1, &[3], &want);
    let lanes = vmap(|(x, t): &(Tensor, Tensor)| Ok(jvp(|x: &Tensor| x.sin(), x, t)?.1));
    is(&lanes(&(x, t.clone())).unwrap(), &[3], &want);
    // Members of an ensemble stacked inside what is differentiated: their tangents come along.
    let members = [Tensor::from(0.0), Tensor::from(1.0), Tensor::from(2.0)];
    let tangents = [Tensor::from(1.0), Tensor::from(10.0), Tensor::from(100.0)];
    let ensemble = |w: &[Tensor; 3]| vmap(|w: &Tensor| w.sin())(&stack(&[&w[0], &w[1], &w[2]], 0)?);
    is(&jvp(ensemble, &members, &tangents).unwrap().1, &[3], &want);
    let g = grad(|w: &[Tensor; 3]| ensemble(w)?.mul(&t)?.sum())(&members).unwrap();
    close(&g.each_ref().map(value), &want);
}

#[test]
fn c82_a_jacobian_for_each_row() {
    let w = noise(&[10, 5], 0.4);
    let x = noise(&[3, 5], 0.9);
    let f = |x: &Tensor| w.matmul(x);
    let want: Vec<f64> = values(&w).repeat(3);
    is(&vmap(jacrev(f))(&x).unwrap(), &[3, 10, 5], &want);
    is(&vmap(jacfwd(f))(&x).unwrap(), &[3, 10, 5], &want);
    // On the whole batch the same numbers lie on the diagonal of blocks, and zeros elsewhere.
    for whole in [jacrev(vmap(f))(&x).unwrap(), jacfwd(vmap(f))(&x).unwrap()] {
        assert_eq!(whole.shape(), [3, 10, 3, 5]);
        for i in 0..3 {
            for j in 0..3 {
                let block = whole.select(2, j).unwrap().select(0, i).unwrap();
                is(&block, &[10, 5], &if i == j { values(&w) } else { vec![0.0; 50] });
            }
        }
    }
    let two = |x: &Tensor| Ok((x.powi(2)?, x.sum()?));
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let diagonal = [2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 6.0];
    for (a, b) in [jacrev(two)(&x).unwrap(), jacfwd(two)(&x).unwrap()] {
        is(&a, &[3, 3], &diagonal);
        is(&b, &[3], &[1.0; 3]);
    }
    let (a, b) = vmap(jacrev(two))(&x.unsqueeze(0).unwrap()).unwrap();
    is(&a, &[1, 3, 3], &diagonal);
    is(&b, &[1, 3], &[1.0; 3]);
}
