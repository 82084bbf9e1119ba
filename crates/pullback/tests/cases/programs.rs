//! `vmap` is the loop, for programs of several operations and nests of several transforms.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::*;

use crate::vmap::{law, looped, of, same};
use crate::{is, noise, ones};

/// Programs of several operations: a scalar of a vector `[3]`, a matrix `[2, 3]` and indices `[2]`.
#[allow(clippy::type_complexity)]
fn programs() -> Vec<(&'static str, fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>)> {
    vec![
        ("layer", |x, w, _| w.matmul(x)?.tanh()?.sum()),
        ("attention", |x, w, _| {
            let scores = w.matmul(x)?.softmax(0)?;
            scores.unsqueeze(0)?.matmul(w)?.select(0, 0)?.mul(x)?.sum()
        }),
        ("norms", |x, w, _| {
            let centred = x.sub(&x.mean()?)?.div(&x.var()?.add(0.1)?.sqrt()?)?;
            w.mul(&centred)?.square()?.sum()
        }),
        ("picking", |x, w, i| {
            let picked = w.index_select(1, i)?.index_select(0, i)?;
            picked.mul(&x.index_select(0, i)?)?.prod()
        }),
        ("writing", |x, w, i| {
            let buffer = x.mul(x)?.index_copy(0, i, &w.select(1, 0)?)?;
            let more = buffer.index_add(0, i, &w.select(1, 1)?)?;
            more.mul(&w.select(0, 0)?)?.sum()?.sin()
        }),
        ("scattering", |x, w, i| {
            let index = i.unsqueeze(1)?.expand(&[2, 2])?;
            let y = w.scatter(1, &index, &w.gather(1, &index)?.mul(2.0)?)?;
            y.matmul(x)?.logsumexp(&[], false)
        }),
        ("choices", |x, w, _| {
            let c = x.gt(0.1)?;
            c.where_(&x.exp()?, &x.mul(3.0)?)?
                .maximum(&w.select(0, 1)?)?
                .sum()?
                .add(&w.clamp(Some(-0.5), Some(0.5))?.sum()?)
        }),
        ("ordering", |x, w, _| {
            let (sorted, _) = x.sort(0, true)?;
            let (top, _) = w.topk(2, -1, true, true)?;
            sorted.select(0, 1)?.mul(&top.cumsum(1)?.square()?.sum()?)
        }),
        ("joining", |x, w, _| {
            let all = cat(&[w, &x.unsqueeze(0)?, &ones(&[1, 3])], 0)?;
            let top = stack(&[x, &all.select(0, 0)?, &Tensor::from([1.0, 2.0, 3.0])], 1)?;
            all.matmul(&top)?.sum()?.sin()
        }),
        ("classes", |x, w, i| w.mul(x)?.cross_entropy(i)),
        ("powers", |x, w, _| x.square()?.add(0.5)?.pow(&w.abs()?)?.sum()?.log1p()),
        ("stopped", |x, w, _| x.detach()?.mul(x)?.sum()?.mul(&w.sum()?.detach()?.add(&w.square()?.sum()?)?)),
        ("cast", |x, w, i| {
            x.sum()?.mul(&i.sum()?.to_dtype(DType::F64)?)?.add(&w.gt(0.0)?.to_dtype(DType::F64)?.mul(w)?.sum()?)
        }),
        ("nested", |x, w, _| {
            // Derivatives and lanes inside of what is differentiated and mapped.
            let rows = vmap(|row: &Tensor| grad(|x: &Tensor| x.mul(row)?.sin()?.prod())(x))(w)?;
            let (_, t) = jvp(|x: &Tensor| x.exp(), x, &rows.select(0, 1)?)?;
            rows.select(0, 0)?.mul(&t)?.sum()
        }),
    ]
}

/// Three lanes of the arguments of the programs, along given dims.
fn lanes(dims: [Option<usize>; 3]) -> Vec<Tensor> {
    let at = |shape: &[usize], d: Option<usize>| {
        let mut shape = shape.to_vec();
        if let Some(d) = d {
            shape.insert(d, 3);
        }
        shape
    };
    let i: Vec<i64> = [0, 1, 1, 0, 1, 0].into();
    let i = match dims[2] {
        Some(d) => Tensor::from_slice(&i, &at(&[2], Some(d))).unwrap(),
        None => Tensor::from([1i64, 0]),
    };
    vec![noise(&at(&[3], dims[0]), 0.3), noise(&at(&[2, 3], dims[1]), 1.1), i]
}

const PLACES: [[Option<usize>; 3]; 9] = [
    [Some(0), Some(0), Some(0)],
    [Some(1), Some(2), Some(1)],
    [Some(0), Some(1), None],
    [Some(0), None, None],
    [None, Some(1), None],
    [None, None, Some(0)],
    [None, Some(2), Some(1)],
    [Some(1), None, Some(0)],
    [Some(1), Some(0), Some(0)],
];

#[test]
fn programs_map_as_loops_in_values_and_derivatives() {
    type Scalar = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;
    for (name, f) in programs() {
        for dims in PLACES {
            println!("{name} {dims:?}");
            let args = lanes(dims);
            let call = move |a: &Vec<Tensor>| f(&a[0], &a[1], &a[2]);
            law(call, &args, &dims);
            // The derivatives by x and by w, as lanes.
            let by = move |f: Scalar, a: &Vec<Tensor>| {
                let i = a[2].clone();
                grad(move |p: &(Tensor, Tensor)| f(&p.0, &p.1, &i))(&(a[0].clone(), a[1].clone()))
            };
            law(|a| Ok(by(f, a)?.0), &args, &dims);
            law(|a| Ok(by(f, a)?.1), &args, &dims);
            // Second derivatives, one nesting after the other, where x has lanes or nothing but the indices.
            if dims[0].is_none() && dims[1].is_some() {
                continue;
            }
            let dx = move |a: &Vec<Tensor>| {
                let (w, i) = (a[1].clone(), a[2].clone());
                move |x: &Tensor| f(x, &w, &i)
            };
            law(|a| hessian(dx(a))(&a[0]), &args, &dims);
            law(|a| jacfwd(jacfwd(dx(a)))(&a[0]), &args, &dims);
            law(|a| jacrev(jacrev(dx(a)))(&a[0]), &args, &dims);
            law(|a| jacrev(jacfwd(dx(a)))(&a[0]), &args, &dims);
            law(|a| Ok(jvp(grad(dx(a)), &a[0], &a[1].select(0, 0)?)?.1), &args, &dims);
        }
    }
}

#[test]
fn derivatives_through_lanes_are_those_of_the_loop() {
    for (name, f) in programs() {
        for dims in PLACES {
            println!("{name} {dims:?}");
            let args = lanes(dims);
            let floats = (args[0].clone(), args[1].clone());
            let i = args[2].clone();
            let mapped = |(x, w): &(Tensor, Tensor)| {
                Vmap::new().in_dims(dims.to_vec()).of(|a: &Vec<Tensor>| f(&a[0], &a[1], &a[2]))(&vec![
                    x.clone(),
                    w.clone(),
                    i.clone(),
                ])
            };
            let plain = |(x, w): &(Tensor, Tensor)| {
                looped(|a| f(&a[0], &a[1], &a[2]), &[x.clone(), w.clone(), i.clone()], &dims, 0)
            };
            let weights = Tensor::from([1.0, -2.0, 0.5]);
            let (a, b) = grad(|p: &(Tensor, Tensor)| mapped(p)?.mul(&weights)?.sum())(&floats).unwrap();
            let (c, d) = grad(|p: &(Tensor, Tensor)| plain(p)?.mul(&weights)?.sum())(&floats).unwrap();
            same(&a, &c);
            same(&b, &d);
            let (a, b) = jacrev(mapped)(&floats).unwrap();
            let (c, d) = jacfwd(plain)(&floats).unwrap();
            same(&a, &c);
            same(&b, &d);
            let (a, b) = jacfwd(mapped)(&floats).unwrap();
            same(&a, &c);
            same(&b, &d);
            let by_x = |f: &dyn Fn(&(Tensor, Tensor)) -> Result<Tensor>, x: &Tensor| {
                f(&(x.clone(), floats.1.clone()))?.mul(&weights)?.sum()
            };
            let want = jacrev(jacrev(|x: &Tensor| by_x(&plain, x)))(&floats.0).unwrap();
            same(&hessian(|x: &Tensor| by_x(&mapped, x))(&floats.0).unwrap(), &want);
            same(&jacfwd(jacfwd(|x: &Tensor| by_x(&mapped, x)))(&floats.0).unwrap(), &want);
            same(&jacrev(jacfwd(|x: &Tensor| by_x(&mapped, x)))(&floats.0).unwrap(), &want);
            same(&jacrev(jacrev(|x: &Tensor| by_x(&mapped, x)))(&floats.0).unwrap(), &want);
        }
    }
}

#[test]
fn lanes_inside_lanes_with_dims_of_their_own() {
    // Outer lanes of 2 along one dim, inner lanes of 4 along another, every pair of dims.
    for (name, f) in programs() {
        for (outer, inner) in [(0, 0), (0, 1), (1, 0), (2, 1), (1, 1), (2, 0)] {
            println!("{name} {outer} {inner}");
            let mut shape = vec![3];
            shape.insert(inner, 4);
            shape.insert(outer, 2);
            let x = noise(&shape, 0.2);
            let w = noise(&[2, 4, 3], 0.8);
            let i = Tensor::from_slice(&[0i64, 1, 1, 0, 1, 0, 0, 1], &[4, 2]).unwrap();
            // x has both lanes, w the inner ones, i the outer ones... each in a place of its own.
            let got = Vmap::new().in_dims((outer as i32, None, None)).out_dims(1).of(
                |(x, w, i): &(Tensor, Tensor, Tensor)| {
                    Vmap::new()
                        .in_dims((inner as i32, 1, 0))
                        .of(|(x, w, i): &(Tensor, Tensor, Tensor)| grad(|x: &Tensor| f(x, w, i))(x))(
                        &(x.clone(), w.clone(), i.clone()),
                    )
                },
            )(&(x.clone(), w.clone(), i.clone()));
            let got = got.unwrap();
            assert_eq!(got.shape(), [4, 2, 3]);
            for k in 0..2 {
                for n in 0..4 {
                    let x = x.select(outer as isize, k).unwrap().select(inner as isize, n).unwrap();
                    let (w, i) = (w.select(1, n).unwrap(), i.select(0, n).unwrap());
                    same(
                        &got.select(0, n).unwrap().select(0, k).unwrap(),
                        &grad(|x: &Tensor| f(x, &w, &i))(&x).unwrap(),
                    );
                }
            }
        }
    }
}

#[test]
fn lanes_inside_forward_mode_inside_reverse_mode() {
    for (name, f) in programs() {
        println!("{name}");
        let dims = [Some(1), Some(0), Some(0)];
        let args = lanes(dims);
        let (w, i) = (args[1].clone(), args[2].clone());
        let v = noise(args[0].shape(), 2.0);
        // Σ over lanes, pushed along v, pulled back to x: the Hessian times v.
        let mapped = |x: &Tensor| {
            Vmap::new().in_dims((1, 0, 0)).of(|(x, w, i): &(Tensor, Tensor, Tensor)| f(x, w, i))(&(
                x.clone(),
                w.clone(),
                i.clone(),
            ))
        };
        let along = |x: &Tensor| jvp(mapped, x, &v)?.1.sum();
        let got = grad(along)(&args[0]).unwrap();
        let other = jvp(grad(|x: &Tensor| mapped(x)?.sum()), &args[0], &v).unwrap().1;
        same(&got, &other);
        for n in 0..3 {
            let (x, v) = (args[0].select(1, n).unwrap(), v.select(1, n).unwrap());
            let (w, i) = (w.select(0, n).unwrap(), i.select(0, n).unwrap());
            let want = jvp(grad(|x: &Tensor| f(x, &w, &i)), &x, &v).unwrap().1;
            same(&got.select(1, n).unwrap(), &want);
        }
        // And with the whole thing as lanes once more.
        let stacked = stack(&[&args[0], &args[0].mul(0.5).unwrap()], 1).unwrap();
        let twice = Vmap::new().in_dims(1).out_dims(2).of(grad(along))(&stacked).unwrap();
        same(&twice.select(2, 0).unwrap(), &got);
        same(&twice.select(2, 1).unwrap(), &grad(along)(&args[0].mul(0.5).unwrap()).unwrap());
    }
}

#[test]
fn zero_lanes_and_one_lane_of_every_program() {
    for (name, f) in programs() {
        for dims in PLACES {
            for size in [0, 1] {
                println!("{name} {dims:?} {size}");
                let cut = |t: &Tensor, d: Option<usize>| match d {
                    Some(d) => t.index_select(d as isize, &Tensor::from([0i64].as_slice()[..size].to_vec())).unwrap(),
                    None => t.clone(),
                };
                let args: Vec<Tensor> = lanes(dims).iter().zip(dims).map(|(t, d)| cut(t, d)).collect();
                let call = |a: &Vec<Tensor>| {
                    let (w, i) = (a[1].clone(), a[2].clone());
                    let f = move |x: &Tensor| f(x, &w, &i);
                    Ok((f(&a[0])?, grad(&f)(&a[0])?, hessian(&f)(&a[0])?, jvp(&f, &a[0], &a[0])?.1))
                };
                let (y, g, h, t) = Vmap::new().in_dims(dims.to_vec()).of(call)(&args).unwrap();
                assert_eq!(
                    (y.shape(), g.shape(), h.shape(), t.shape()),
                    (&[size][..], &[size, 3][..], &[size, 3, 3][..], &[size][..])
                );
                if size == 1 {
                    let one: Vec<Tensor> = args
                        .iter()
                        .zip(dims)
                        .map(|(t, d)| d.map_or(t.clone(), |d| t.select(d as isize, 0).unwrap()))
                        .collect();
                    let want = call(&one).unwrap();
                    same(&g.select(0, 0).unwrap(), &want.1);
                    same(&h.select(0, 0).unwrap(), &want.2);
                }
            }
        }
    }
}

#[test]
fn views_of_all_kinds_as_lanes() {
    let base = noise(&[4, 6, 5], 0.1);
    let views = [
        base.permute(&[2, 0, 1]).unwrap(),
        base.permute(&[1, 2, 0]).unwrap(),
        base.select(0, 1).unwrap().unsqueeze(1).unwrap().expand(&[6, 3, 5]).unwrap(),
        Tensor::from([1.0, 2.0]).unsqueeze(1).unwrap().expand(&[3, 2, 4]).unwrap(),
        base.dynamic_slice(1, &Tensor::from(2i64), 3).unwrap(),
    ];
    let all: [fn(&Tensor) -> Result<Tensor>; 8] = [
        |x| x.reshape(&[-1]),
        |x| x.matmul(&x.permute(&[1, 0])?),
        |x| x.sin()?.sum_dims(&[0], false),
        |x| x.softmax(-1),
        |x| Ok(x.sort(0, false)?.0),
        |x| x.index_select(1, &Tensor::from([-1i64, 0])),
        |x| x.cumsum(0),
        |x| cat(&[x, &x.mul(2.0)?], 0),
    ];
    for view in &views {
        for f in all {
            for dim in 0..3 {
                law(|a| f(&a[0]), &[view.clone()], &[Some(dim)]);
                law(|a| grad(|x: &Tensor| f(x)?.sin()?.sum())(&a[0]), &[view.clone()], &[Some(dim)]);
            }
        }
    }
}

#[test]
fn integers_and_bools_as_lanes() {
    for dtype in [DType::U8, DType::I32, DType::I64, DType::Bool] {
        let x = of(dtype, &[3, 4, 2]);
        for dim in 0..3 {
            let all: [fn(&Tensor) -> Result<Tensor>; 10] = [
                Tensor::sum,
                Tensor::mean,
                |x| x.max_dims(&[1], false),
                |x| x.argmax(0, false),
                |x| x.eq(1),
                |x| x.any_dims(&[0], true),
                |x| x.sort(0, true).map(|s| s.0),
                |x| x.to_dtype(DType::F32)?.exp(),
                |x| x.reshape(&[-1])?.to_dtype(DType::I64),
                |x| stack(&[x, x], 1),
            ];
            for f in all {
                law(|a| f(&a[0]), &[x.clone()], &[Some(dim)]);
            }
        }
    }
    // As indices in either integer dtype, negative ones too.
    let table = noise(&[5, 2], 0.6);
    for dtype in [DType::I32, DType::I64] {
        let index = Tensor::from([[-1i64, 0], [2, -5], [4, 4]]).to_dtype(dtype).unwrap();
        law(|a| table.index_select(0, &a[0]), &[index.clone()], &[Some(0)]);
        law(|a| table.index_select(0, &a[0]), &[index], &[Some(1)]);
    }
}

#[test]
fn errors_in_a_lane_are_those_of_the_loop() {
    let x = ones(&[2, 3]);
    let all: [fn(&Tensor) -> Result<Tensor>; 12] = [
        |x| x.matmul(&ones(&[2, 2])),
        |x| x.add(&ones(&[2])),
        |x| x.reshape(&[2, 2]),
        |x| x.permute(&[1, 0]),
        |x| x.sum_dims(&[1], false),
        |x| x.sum_dims(&[0, -1], false),
        |x| x.select(0, 3),
        |x| x.expand(&[2, 2]),
        |x| cat(&[x, &ones(&[1, 3])], 0),
        |x| x.index_select(0, &Tensor::from([0.0])),
        |x| x.gather(0, &Tensor::from([[0i64]])),
        |x| x.topk(4, 0, true, true).map(|t| t.0),
    ];
    for f in all {
        let alone = f(&x.select(0, 0).unwrap()).unwrap_err();
        let mapped = vmap(f)(&x).unwrap_err();
        assert_eq!((mapped.kind(), mapped.message(), mapped.help()), (alone.kind(), alone.message(), alone.help()));
        assert_eq!(mapped.context().collect::<Vec<_>>(), ["vmap"]);
        let err = grad(|x: &Tensor| f(&vmap(|x: &Tensor| x.mul(2.0))(x)?.select(0, 0)?)?.sum())(&x).unwrap_err();
        assert_eq!((err.kind(), err.message()), (alone.kind(), alone.message()));
    }
    // Operators panic with the message, and leave no level behind.
    let panic = catch_unwind(AssertUnwindSafe(|| vmap(|x: &Tensor| Ok(x + &ones(&[2])))(&x))).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("add: shapes must broadcast, got lhs f64[3] and rhs f64[2]"), "{text}");
    is(&vmap(|x: &Tensor| x.sum())(&x).unwrap(), &[2], &[3.0, 3.0]);
}
