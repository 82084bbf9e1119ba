//! Wrong answers that other systems were seen to give without a word, on functions with rules of their own and around them.
//! Here each is right, or an error by name. Numbered in the order in which they were collected.

use std::collections::HashMap;
use std::sync::Mutex;

use pullback::function::{ArrayMut, ArrayRef, Batching};
use pullback::testing::check_function;
use pullback::*;

use crate::{close, forward, value, values};

/// x³ with a hand-written rule for both modes.
fn cube() -> impl Fn(&Tensor) -> Result<Tensor> + Clone + Send + Sync {
    custom(|x: &Tensor| x.powi(3))
        .saving(|x, _| Ok(x.clone()), |x: &Tensor, g| Ok(g * x * x * 3.0))
        .jvp(|x, _, t| Ok(t * x * x * 3.0))
        .into_fn()
}

/// 2x with rules that say 10, so that it shows which rule ran.
fn marked() -> impl Fn(&Tensor) -> Result<Tensor> + Clone + Send + Sync {
    custom(|x: &Tensor| x.mul(2.0)).saving(|_, _| Ok(()), |_, g| Ok(g * 10.0)).jvp(|_, _, t| Ok(t * 10.0)).into_fn()
}

/// x with a reverse rule that returns what it is told to.
fn returning(what: Tensor) -> impl Fn(&Tensor) -> Result<Tensor> + Clone + Send + Sync {
    custom(|x: &Tensor| Ok(x.clone()))
        .name("wrong")
        .saving(|_, _| Ok(()), move |_, _| Ok(what.clone().into()))
        .into_fn()
}

fn three() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0])
}

/// Forward mode in forward mode, alone and below reverse mode, lost the inner tangent (0 instead of 6x).
#[test]
fn s01_forward_over_forward() {
    let x = Tensor::from(2.0);
    assert_eq!(value(&forward(forward(cube()))(&x).unwrap()), 12.0);
    assert_eq!(value(&grad(forward(forward(cube())))(&x).unwrap()), 6.0);
    let j = jacfwd(jacfwd(|x: &Tensor| cube()(x)?.sum()))(&three()).unwrap();
    assert_eq!(values(&j), [6.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 18.0]);
}

/// Reverse over reverse as one compiled call was 0; here the nearest is a transform of the nest as a whole.
#[test]
fn s02_reverse_over_reverse_inside_another_transform() {
    let second = grad(grad(cube()));
    assert_eq!(value(&second(&Tensor::from(2.0)).unwrap()), 12.0);
    assert_eq!(values(&vmap(&second)(&three()).unwrap()), [6.0, 12.0, 18.0]);
    let j = jacrev(jacrev(|x: &Tensor| cube()(x)?.sum()))(&three()).unwrap();
    assert_eq!(values(&j), [6.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 18.0]);
}

/// The written forward rule was ignored for the operations inside (2x instead of 10).
#[test]
fn s03_the_forward_rule_that_was_written_runs() {
    assert_eq!(value(&forward(marked())(&Tensor::from(1.0)).unwrap()), 10.0);
    assert_eq!(values(&vmap(forward(marked()))(&three()).unwrap()), [10.0; 3]);
    assert_eq!(
        value(&forward(|x: &Tensor| grad(|y: &Tensor| marked()(y)?.mul(x))(x))(&Tensor::from(1.0)).unwrap()),
        10.0
    );
}

/// The written reverse rule was ignored in a gradient of `vmap` (2x instead of 10).
#[test]
fn s04_the_reverse_rule_runs_in_a_gradient_of_vmap() {
    let total = |x: &Tensor| vmap(marked())(x)?.sum();
    assert_eq!(values(&grad(total)(&three()).unwrap()), [10.0; 3]);
    assert_eq!(values(&jacrev(vmap(marked()))(&three()).unwrap())[..2], [10.0, 0.0]);
}

/// Tensors saved in one order for one mode and in another for the other one had their batch dims mixed up.
#[test]
fn s05_every_saved_tensor_keeps_its_own_batch_dim() {
    // (x, y) ↦ x·y with x batched along 1 and y along 0, in square batches, saved in both orders.
    let f = custom(|(x, y): &(Tensor, Tensor)| x.mul(y))
        .saving(|(x, y), _| Ok((y.clone(), x.clone())), |(y, x): &(Tensor, Tensor), g: Cotangent| Ok((&g * y, &g * x)))
        .jvp(|(x, y), _, (dx, dy)| Ok(dx * y + dy * x))
        .into_fn();
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let y = Tensor::from([[5.0, 6.0], [7.0, 8.0]]);
    let g = Vmap::new().in_dims((1, 0)).of(grad(|a: &(Tensor, Tensor)| f(a)?.sum()));
    let (dx, dy) = g(&(x.clone(), y.clone())).unwrap();
    assert_eq!(values(&dx), [5.0, 6.0, 7.0, 8.0]);
    assert_eq!(values(&dy), [1.0, 3.0, 2.0, 4.0]);
    let total = |a: &(Tensor, Tensor)| Vmap::new().in_dims((1, 0)).of(&f)(a)?.sum();
    let (dx, dy) = grad(total)(&(x.clone(), y.clone())).unwrap();
    assert_eq!((values(&dx), values(&dy)), (vec![5.0, 7.0, 6.0, 8.0], vec![1.0, 3.0, 2.0, 4.0]));
    let (_, d) = jvp(total, &(x.clone(), y.clone()), &(x.clone(), y.clone())).unwrap();
    assert_eq!(value(&d), 2.0 * (5.0 + 18.0 + 14.0 + 32.0));
}

/// A rule that can be differentiated once gave 0 at second order.
#[test]
fn s06_once_differentiable_is_an_error_at_second_order() {
    struct Once;
    impl OpaqueFunction for Once {
        type Inputs = Tensor;
        type Outputs = Tensor;
        fn output_types(&self, x: &TensorType) -> Result<TensorType> {
            Ok(x.clone())
        }
        fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
            y[0].as_mut_slice::<f64>()?.iter_mut().zip(x[0].as_slice::<f64>()?).for_each(|(y, x)| *y = x * x);
            Ok(())
        }
        fn backward(
            &self,
            x: &[ArrayRef<'_>],
            _: &[ArrayRef<'_>],
            g: &[ArrayRef<'_>],
            dx: &mut [Option<ArrayMut<'_>>],
        ) -> Result<()> {
            let Some(dx) = &mut dx[0] else { return Ok(()) };
            let (x, g) = (x[0].as_slice::<f64>()?, g[0].as_slice::<f64>()?);
            dx.as_mut_slice::<f64>()?.iter_mut().enumerate().for_each(|(k, d)| *d = 2.0 * x[k] * g[k]);
            Ok(())
        }
    }
    let f = |x: &Tensor| Opaque::new(Once).apply(x);
    let x = Tensor::from(3.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 6.0);
    for err in [
        grad(grad(f))(&x).unwrap_err(),
        vmap(grad(grad(f)))(&three()).unwrap_err(),
        grad(grad(|x: &Tensor| vmap(f)(&x.reshape(&[1])?)?.sum()))(&x).unwrap_err(),
    ] {
        assert_eq!(err.kind(), ErrorKind::NotDifferentiable, "{err}");
        assert!(
            err.to_string().contains("`backward` of function `Once`: the function is differentiable once"),
            "{err}"
        );
    }
}

/// A dictionary as argument or result lost its derivative.
#[test]
fn s07_dictionaries_in_and_out() {
    type Map = HashMap<String, Tensor>;
    let f = custom(|m: &Map| Ok(HashMap::from([("y".to_string(), m["a"].mul(&m["b"])?)])))
        .saving(
            |m, _| Ok(m.clone()),
            |m: &Map, g: HashMap<String, Cotangent>| {
                Ok(HashMap::from([("a".to_string(), &g["y"] * &m["b"]), ("b".to_string(), &g["y"] * &m["a"])]))
            },
        )
        .into_fn();
    let m: Map = HashMap::from([("a".into(), Tensor::from(2.0)), ("b".into(), Tensor::from(5.0))]);
    let g = grad(|m: &Map| Ok(f(m)?["y"].clone()))(&m).unwrap();
    assert_eq!((value(&g["a"]), value(&g["b"])), (5.0, 2.0));
}

/// A traced tensor captured by the function had derivative 0.
#[test]
fn s08_a_captured_tensor_is_an_error() {
    let outer = |w: &Tensor| {
        let w = w.clone();
        custom(move |x: &Tensor| x.mul(&w)).name("scale").into_fn()(&Tensor::from(2.0))
    };
    for err in [grad(outer)(&Tensor::from(3.0)).unwrap_err(), forward(outer)(&Tensor::from(3.0)).unwrap_err()] {
        assert_eq!(err.kind(), ErrorKind::CapturedTracer);
        assert!(err.to_string().contains("`forward` of function `scale`: `mul` got a value"), "{err}");
    }
}

/// An intermediate value saved beside the inputs made second derivatives wrong.
#[test]
fn s09_a_saved_intermediate_at_second_order() {
    // exp(sin(x))·x with m = exp(sin(x)) saved: f' = m·(1 + x·cos x).
    let f = custom_vjp(
        |x: &Tensor| x.sin()?.exp()?.mul(x),
        |x: &Tensor| {
            let m = x.sin()?.exp()?;
            Ok((m.mul(x)?, (x.clone(), m)))
        },
        |(x, m): &(Tensor, Tensor), g| Ok(g * m * (x * x.cos()? + 1.0)),
    );
    let x = 0.7f64;
    let (s, c) = x.sin_cos();
    let m = s.exp();
    close(&[value(&grad(&f)(&Tensor::from(x)).unwrap())], &[m * (1.0 + x * c)]);
    let second = m * c * (1.0 + x * c) + m * (c - x * s);
    close(&[value(&grad(grad(&f))(&Tensor::from(x)).unwrap())], &[second]);
    close(&[value(&forward(grad(&f))(&Tensor::from(x)).unwrap())], &[second]);
    close(&[value(&forward(forward(&f))(&Tensor::from(x)).unwrap())], &[second]);
}

/// A transform that captures a graph, called inside a gradient, cut the outer derivative; here the nearest are a pullback
/// and a linearisation point made inside of one level and used at another.
#[test]
fn s10_a_transform_inside_a_gradient_keeps_the_outer_one() {
    let outer = |x: &Tensor| {
        let (y, pull) = vjp(cube(), x)?;
        pull.call(&y)
    };
    // x³·3x² has derivative 15x⁴.
    assert_eq!(value(&grad(outer)(&Tensor::from(2.0)).unwrap()), 240.0);
    let outer = |x: &Tensor| Ok(jvp(cube(), x, x)?.1);
    assert_eq!(value(&grad(outer)(&Tensor::from(2.0)).unwrap()), 36.0);
}

/// A batching rule that returned 7 lanes for 5 was believed.
#[test]
fn s11_a_batching_rule_with_the_wrong_number_of_lanes() {
    let f = custom_vmap(|x: &Tensor| Ok(x.clone()), |_, _, _| Ok((Tensor::ones(&[7, 3], DType::F64)?, Some(0))));
    let err = vmap(f)(&Tensor::ones(&[5, 3], DType::F64).unwrap()).unwrap_err();
    assert!(err.is_rule() && err.to_string().contains("expected batch size 5 at dim 0 of output 0, got 7"), "{err}");
}

/// A checker of batched gradients passed a batching rule that was off by a tenth.
#[test]
fn s12_the_checker_sees_a_wrong_batching_rule() {
    let f = custom(|x: &Tensor| x.powi(3))
        .saving(|x, _| Ok(x.clone()), |x: &Tensor, g| Ok(g * x * x * 3.0))
        .vmap(|_, dim, x| Ok((x.powi(3)?.mul(1.1)?, dim)));
    let report = check_function(&f, &three()).unwrap();
    let failed: Vec<&str> = report.failures().collect();
    assert!(failed.contains(&"vmap_is_loop") && failed.contains(&"grad_of_vmap"), "{report}");
}

/// A cotangent of shape (4, 3) for an input of shape (3,) was summed.
#[test]
fn s13_a_cotangent_that_is_too_large() {
    let f = returning(Tensor::ones(&[4, 3], DType::F64).unwrap());
    let err = grad(|x: &Tensor| f(x)?.sum())(&three()).unwrap_err();
    assert!(err.is_rule());
    assert!(err.to_string().contains("expected a cotangent of type f64[3] for input 0, got f64[4,3]"), "{err}");
}

/// Both derivative rules were dropped by a `vmap` around the function.
#[test]
fn s14_rules_survive_vmap_in_both_modes() {
    let xs = three();
    assert_eq!(values(&grad(|x: &Tensor| vmap(marked())(x)?.sum())(&xs).unwrap()), [10.0; 3]);
    let ones = Tensor::ones(&[3], DType::F64).unwrap();
    assert_eq!(values(&jvp(vmap(marked()), &xs, &ones).unwrap().1), [10.0; 3]);
    for batching in [Batching::Loop, Batching::LeadingDims] {
        let f = custom(|x: &Tensor| x.mul(2.0)).jvp(|_, _, t| Ok(t * 10.0)).batching(batching).into_fn();
        assert_eq!(values(&grad(|x: &Tensor| vmap(&f)(x)?.sum())(&xs).unwrap()), [10.0; 3]);
        assert_eq!(values(&jvp(vmap(&f), &xs, &ones).unwrap().1), [10.0; 3]);
    }
}

/// With one rule only, the other mode differentiated the operations inside.
#[test]
fn s15_a_missing_rule_is_derived_from_the_other_one() {
    let reverse = custom(|x: &Tensor| x.mul(2.0)).saving(|_, _| Ok(()), |_, g| Ok(g * 10.0)).into_fn();
    let ahead = custom(|x: &Tensor| x.mul(2.0)).jvp(|_, _, t| Ok(t * 10.0)).into_fn();
    let x = Tensor::from(1.0);
    assert_eq!(value(&forward(reverse)(&x).unwrap()), 10.0);
    assert_eq!(value(&grad(ahead)(&x).unwrap()), 10.0);
}

/// A captured array had derivative 0, in the rules as well as in the function.
#[test]
fn s16_a_tensor_captured_by_a_rule_is_an_error() {
    let outer = |w: &Tensor| {
        let w = w.clone();
        let f = custom(|x: &Tensor| x.square()).name("captures");
        grad(f.saving(|_, _| Ok(()), move |_, g| g.map(|g| g.mul(&w))).into_fn())(&Tensor::from(2.0))
    };
    let err = grad(outer)(&Tensor::from(3.0)).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::CapturedTracer);
    assert!(err.to_string().contains("`backward` of function `captures`"), "{err}");
}

/// Wrong shapes, counts and dtypes from any rule were accepted.
#[test]
fn s17_wrong_results_of_every_rule() {
    for wrong in [
        Tensor::from(1.0),
        Tensor::ones(&[1, 3], DType::F64).unwrap(),
        Tensor::ones(&[3], DType::F32).unwrap(),
        Tensor::ones(&[3], DType::I64).unwrap(),
    ] {
        let f = returning(wrong.clone());
        assert!(grad(|x: &Tensor| f(x)?.sum())(&three()).unwrap_err().is_rule(), "{wrong}");
        let tangent = wrong.clone();
        let f = custom_jvp(|x: &Tensor| Ok(x.clone()), move |_, _, _| Ok(tangent.clone().into()));
        assert!(jvp(&f, &three(), &three()).unwrap_err().is_rule(), "{wrong}");
        let out = wrong.clone();
        let f = custom_vmap(|x: &Tensor| Ok(x.clone()), move |_, _, _| Ok((out.clone(), Some(0))));
        assert!(vmap(f)(&Tensor::ones(&[2, 3], DType::F64).unwrap()).unwrap_err().is_rule(), "{wrong}");
    }
}

/// Random numbers drawn without a key under `vmap` were the same for each example.
#[test]
fn s18_random_numbers_under_vmap_need_a_policy() {
    let f = custom(|x: &Tensor| x.add(&random::Key::new(3).uniform(&[], DType::F64)?)).into_fn();
    let zeros = Tensor::zeros(&[3], DType::F64).unwrap();
    assert_eq!(vmap(&f)(&zeros).unwrap_err().kind(), ErrorKind::Randomness);
    let y = values(&Vmap::new().randomness(Randomness::Different).of(&f)(&zeros).unwrap());
    assert!(y[0] != y[1] && y[1] != y[2], "{y:?}");
    let y = values(&Vmap::new().randomness(Randomness::Same).of(&f)(&zeros).unwrap());
    assert!(y[0] == y[1] && y[1] == y[2], "{y:?}");
}

/// A batched value kept after its `vmap` could be used, as an array of all lanes.
#[test]
fn s19_a_value_that_escapes_its_vmap() {
    static KEPT: Mutex<Option<Tensor>> = Mutex::new(None);
    let f = custom(|x: &Tensor| {
        *KEPT.lock().unwrap() = Some(x.clone());
        Ok(x.clone())
    });
    vmap(f.into_fn())(&three()).unwrap();
    let kept = KEPT.lock().unwrap().take().unwrap();
    assert!(kept.mul(2.0).unwrap_err().is_escaped_tracer());
    assert!(kept.to_vec::<f64>().unwrap_err().is_escaped_tracer());
}

/// A batching rule whose lanes have another shape than the function's results was believed.
#[test]
fn s20_a_batching_rule_with_lanes_of_another_shape() {
    for shape in [[7, 3], [5, 9]] {
        let f =
            custom_vmap(|x: &Tensor| Ok(x.clone()), move |_, _, _| Ok((Tensor::ones(&shape, DType::F64)?, Some(0))));
        let err = vmap(f)(&Tensor::ones(&[5, 3], DType::F64).unwrap()).unwrap_err();
        assert!(err.is_rule() && err.to_string().contains("`vmap` of function `custom_vmap`"), "{err}");
    }
}

/// A forward rule with a term that does not depend on the tangent made the two modes disagree.
#[test]
fn s21_a_forward_rule_that_is_not_linear() {
    let f = custom(|x: &Tensor| x.square()).name("affine").jvp(|x, _, t| Ok((t * x * 2.0).tensor()?.add(1.0)?.into()));
    let call = |x: &Tensor| f.apply(x);
    let x = Tensor::from(2.0);
    for err in [
        grad(call)(&x).unwrap_err(),
        vmap(grad(call))(&three()).unwrap_err(),
        grad(|x: &Tensor| vmap(call)(x)?.sum())(&three()).unwrap_err(),
    ] {
        assert!(err.is_rule());
        assert!(
            err.to_string().contains(
                "`jvp` of function `affine`: expected a rule that is linear, so that its transpose exists, got 1 in \
                 the tangent of output 0 when everything it is given is zero"
            ),
            "{err}"
        );
    }
    let report = check_function(&f, &three()).unwrap();
    assert!(!report.is_ok());
    // Also the other way round.
    let f = custom(|x: &Tensor| x.square()).saving(|_, _| Ok(()), |_, g| Ok(g.tensor()?.add(1.0)?.into())).into_fn();
    assert!(forward(f)(&x).unwrap_err().is_rule());
}

/// A rule's result in another precision was converted without a word.
#[test]
fn s22_another_precision() {
    let f = returning(Tensor::ones(&[3], DType::F32).unwrap());
    let err = grad(|x: &Tensor| f(x)?.sum())(&three()).unwrap_err();
    assert!(err.to_string().contains("expected a cotangent of type f64[3] for input 0, got f32[3]"), "{err}");
    struct Halved;
    impl OpaqueFunction for Halved {
        type Inputs = Tensor;
        type Outputs = Tensor;
        fn output_types(&self, x: &TensorType) -> Result<TensorType> {
            Ok(x.clone())
        }
        fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
            for (y, x) in y[0].as_mut_slice::<f64>()?.iter_mut().zip(x[0].as_slice::<f32>()?) {
                *y = f64::from(*x) / 2.0;
            }
            Ok(())
        }
    }
    let err = Opaque::new(Halved).apply(&Tensor::from([1.0f32])).unwrap_err();
    assert!(err.is_dtype() && err.to_string().contains("expected elements of f32[1], asked for f64"), "{err}");
}

/// A gradient of a gradient was wrong with default settings.
#[test]
fn s23_second_order_by_default() {
    let f = |x: &Tensor| cube()(&x.sin()?);
    let x = 0.4f64;
    let (s, c) = x.sin_cos();
    close(&[value(&grad(grad(f))(&Tensor::from(x)).unwrap())], &[6.0 * s * c * c - 3.0 * s * s * s]);
}

/// A reverse rule's result of shape (7,) for an input of shape (3,) was returned as the gradient.
#[test]
fn s24_a_gradient_of_another_shape() {
    let f = returning(Tensor::ones(&[7], DType::F64).unwrap());
    let err = grad(|x: &Tensor| f(x)?.sum())(&three()).unwrap_err();
    assert!(err.to_string().contains("function `wrong`: expected a cotangent of type f64[3] for input 0, got f64[7]"));
}

/// The same where the function is in the middle of others, one of which would broadcast it.
#[test]
fn s25_a_gradient_of_another_shape_in_the_middle() {
    let f = returning(Tensor::ones(&[7], DType::F64).unwrap());
    let scalar = |x: &Tensor| f(&x.mul(2.0)?)?.mul(&three())?.sum();
    for err in [
        grad(scalar)(&Tensor::from(1.0)).unwrap_err(),
        jvp(scalar, &Tensor::from(1.0), &Tensor::from(1.0)).unwrap_err(),
    ] {
        assert!(err.is_rule(), "{err}");
    }
}

/// No rules at all, the operations of which cannot be seen, under one transform.
struct NoRules;

impl OpaqueFunction for NoRules {
    type Inputs = Tensor;
    type Outputs = Tensor;
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(x.clone())
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        y[0].as_mut_slice::<f64>()?.copy_from_slice(x[0].as_slice()?);
        Ok(())
    }
}

/// Without a forward rule, the tangent was 0.
#[test]
fn s26_no_forward_rule() {
    let f = |x: &Tensor| Opaque::new(NoRules).apply(x);
    for err in [forward(f)(&Tensor::from(2.0)).unwrap_err(), jacfwd(f)(&three()).unwrap_err()] {
        assert!(err.is_missing_rule() && err.to_string().contains("`jvp` of function `NoRules`"), "{err}");
    }
}

/// Without a reverse rule, the function's part was missing from the gradient, beside another path.
#[test]
fn s27_no_reverse_rule_beside_another_path() {
    let f = |x: &Tensor| Opaque::new(NoRules).apply(x)?.add(x)?.sum();
    for err in [grad(f)(&three()).unwrap_err(), jacrev(f)(&three()).unwrap_err()] {
        assert!(err.is_missing_rule() && err.to_string().contains("`backward` of function `NoRules`"), "{err}");
    }
}
