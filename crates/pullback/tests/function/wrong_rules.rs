//! Every way in which a rule can return something of the wrong kind is an error by name: for functions from closures, in
//! every nesting. (`errors.rs` does the same for implementations of `Function`.)

use pullback::*;

type Rule = fn(&Cotangent) -> Result<Vec<Cotangent>>;

/// `(x, i) -> x` with this reverse rule. The integer input comes second.
fn with_backward(rule: Rule) -> impl Fn(&Vec<Tensor>) -> Result<Tensor> + Clone {
    custom(|x: &Vec<Tensor>| Ok(x[0].clone())).name("broken").saving(|_, _| Ok(()), move |_, g| rule(&g)).into_fn()
}

fn index() -> Tensor {
    Tensor::from([1i64, 2, 3])
}

/// The message of a reverse rule in each of three nestings, without what runs outside of the function.
#[track_caller]
fn backward_says(rule: Rule, want: &str) {
    let f = with_backward(rule);
    let sum = |x: &Tensor| f(&vec![x.clone(), index()])?.sum();
    let x = Tensor::from([0.5, 1.5, 2.5]);
    let xs = Tensor::from([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]]);
    let errors = [
        grad(sum)(&x).unwrap_err(),
        vmap(grad(sum))(&xs).unwrap_err(),
        grad(|x: &Tensor| vmap(sum)(x)?.sum())(&xs).unwrap_err(),
        jacrev(|x: &Tensor| f(&vec![x.clone(), index()]))(&x).unwrap_err(),
    ];
    for err in errors {
        assert!(err.is_rule(), "{err:?}");
        let text = err.to_string();
        let place = "`backward` of function `broken`: ";
        let start = text.find(place).unwrap_or_else(|| panic!("no `{place}` in `{text}`"));
        assert_eq!(&text[start + place.len()..], want);
    }
}

fn ones(shape: &[usize], dtype: DType) -> Result<Cotangent> {
    Ok(Tensor::ones(shape, dtype)?.into())
}

#[test]
fn vjp_1_too_few_cotangents() {
    backward_says(|g| Ok(vec![g.clone()]), "expected one cotangent for each of 2 inputs, got 1");
}

#[test]
fn vjp_2_too_many_cotangents() {
    backward_says(
        |g| Ok(vec![g.clone(), Cotangent::zero(), g.clone()]),
        "expected one cotangent for each of 2 inputs, got 3",
    );
}

#[test]
fn vjp_3_a_shape_that_was_broadcast() {
    backward_says(
        |_| Ok(vec![ones(&[4, 3], DType::F64)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got f64[4,3]; help: sum over the dimensions that were \
         broadcast, with `sum_to`",
    );
}

#[test]
fn vjp_4_a_shape_that_would_broadcast() {
    backward_says(
        |_| Ok(vec![ones(&[], DType::F64)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got f64[]; help: return the shape of the value itself",
    );
    backward_says(
        |_| Ok(vec![ones(&[1], DType::F64)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got f64[1]; help: return the shape of the value itself",
    );
}

#[test]
fn vjp_5_an_unrelated_shape() {
    backward_says(
        |_| Ok(vec![ones(&[7], DType::F64)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got f64[7]; help: return the shape of the value itself",
    );
}

#[test]
fn vjp_6_another_float() {
    backward_says(
        |_| Ok(vec![ones(&[3], DType::F32)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got f32[3]; help: convert it with `to_dtype`",
    );
}

#[test]
fn vjp_7_integers_for_a_float() {
    backward_says(
        |_| Ok(vec![ones(&[3], DType::I64)?, Cotangent::zero()]),
        "expected a cotangent of type f64[3] for input 0, got i64[3]; help: convert it with `to_dtype`",
    );
}

#[test]
fn vjp_8_a_cotangent_for_an_integer() {
    backward_says(
        |g| Ok(vec![g.clone(), ones(&[3], DType::F64)?]),
        "expected no cotangent for input 1, which is i64[3] and takes none, got f64[3]; help: return `Cotangent::zero()` \
         for it",
    );
}

#[test]
fn vjp_9_none_where_one_is_needed() {
    backward_says(
        |_| Ok(vec![Cotangent::not_supplied(), Cotangent::zero()]),
        "expected a cotangent for input 0 (f64[3]), which is needed, got none; help: compute it, or return \
         `Cotangent::zero()` if the function does not depend on it",
    );
    // None and zero are fine for what is not needed.
    let f = with_backward(|g| Ok(vec![g.clone(), Cotangent::not_supplied()]));
    let g = grad(|x: &Tensor| f(&vec![x.clone(), index()])?.sum())(&Tensor::from([1.0, 2.0, 3.0])).unwrap();
    assert_eq!(g.to_vec::<f64>().unwrap(), [1.0; 3]);
}

type Lanes = fn(&Tensor) -> Result<(Vec<Tensor>, Vec<Option<usize>>)>;

/// The message of a batching rule of `x -> [x]` on five lanes of three, alone and in every nesting that calls it.
#[track_caller]
fn vmap_says(rule: Lanes, want: &str) {
    let f = custom(|x: &Tensor| Ok(vec![x.clone()]))
        .name("broken")
        .vmap(move |info, dim, x| {
            assert_eq!((info.batch_size, dim), (5, Some(0)));
            rule(x)
        })
        .into_fn();
    let first = |x: &Tensor| Ok(f(x)?[0].clone());
    let xs = Tensor::ones(&[5, 3], DType::F64).unwrap();
    let errors = [
        vmap(first)(&xs).unwrap_err(),
        vmap(grad(|x: &Tensor| first(x)?.sum()))(&xs).unwrap_err(),
        grad(|x: &Tensor| vmap(first)(x)?.sum())(&xs).unwrap_err(),
        jvp(vmap(first), &xs, &xs).unwrap_err(),
        hessian(|x: &Tensor| vmap(first)(x)?.sum())(&xs).unwrap_err(),
    ];
    for err in errors {
        assert!(err.is_rule(), "{err:?}");
        let text = err.to_string();
        let place = "`vmap` of function `broken`: ";
        let start = text.find(place).unwrap_or_else(|| panic!("no `{place}` in `{text}`"));
        assert_eq!(&text[start + place.len()..], want);
    }
}

#[test]
fn vmap_1_the_wrong_batch_size() {
    vmap_says(
        |_| Ok((vec![Tensor::ones(&[7, 3], DType::F64)?], vec![Some(0)])),
        "expected batch size 5 at dim 0 of output 0, got 7 (f64[7,3]); help: return the dimension that the lanes lie along",
    );
}

#[test]
fn vmap_2_a_batch_dim_out_of_range() {
    vmap_says(
        |x| Ok((vec![x.clone()], vec![Some(2)])),
        "batch dim 2 of output 0 is out of range for f64[5,3]; help: return `None` for an output that does not depend on \
         the lane",
    );
}

#[test]
fn vmap_3_lanes_of_another_type() {
    let help = "; help: the rule must compute what the function does for each lane";
    vmap_says(
        |_| Ok((vec![Tensor::ones(&[5, 9], DType::F64)?], vec![Some(0)])),
        &format!(
            "expected f64[3] in each lane of output 0, as the function returns for one, got f64[9] (f64[5,9]){help}"
        ),
    );
    vmap_says(
        |x| Ok((vec![x.to_dtype(DType::F32)?], vec![Some(0)])),
        &format!(
            "expected f64[3] in each lane of output 0, as the function returns for one, got f32[3] (f32[5,3]){help}"
        ),
    );
    // The lanes, declared to be the same for each.
    vmap_says(
        |x| Ok((vec![x.clone()], vec![None])),
        &format!(
            "expected f64[3] in each lane of output 0, as the function returns for one, got f64[5,3] (f64[5,3]){help}"
        ),
    );
}

#[test]
fn vmap_4_the_wrong_number_of_outputs() {
    vmap_says(|_| Ok((vec![], vec![])), "expected 1 outputs, as the function returns for one lane, got 0");
    vmap_says(
        |x| Ok((vec![x.clone(), x.clone()], vec![Some(0), Some(0)])),
        "expected 1 outputs, as the function returns for one lane, got 2",
    );
    vmap_says(|x| Ok((vec![x.clone()], vec![])), "expected one batch dim for each of 1 outputs, got 0");
}

#[test]
fn a_right_rule_passes_with_lanes_anywhere() {
    let f = custom(|x: &Tensor| x.mul(2.0))
        .vmap(|_, dim, x| Ok((x.mul(2.0)?.movedim(&[dim.map_or(0, |d| d as isize)], &[-1])?, Some(1))));
    let xs = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let y = vmap(|x: &Tensor| f.apply(x))(&xs).unwrap();
    assert_eq!(y.to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}
