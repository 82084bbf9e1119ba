//! What a batching strategy chosen by name gives must be, lane by lane, of the types that the function gives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::function::Batching;
use pullback::*;

use crate::values;

/// The norm of everything, by code that reads data and keeps dimensions of size 1 for all but the last `rank`.
fn norms(x: &Tensor) -> Result<Tensor> {
    let n = x.to_vec::<f64>()?.iter().map(|x| x * x).sum::<f64>().sqrt();
    Tensor::from_slice(&vec![n; x.shape()[0]], &[x.shape()[0]])
}

fn matrices() -> Tensor {
    Tensor::from_slice(&(1..=24).map(f64::from).collect::<Vec<_>>(), &[3, 4, 2]).unwrap()
}

#[track_caller]
fn says(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, want: &str) {
    let total = |x: &Tensor| vmap(&f)(x)?.sum();
    let errors = [
        vmap(&f)(x).unwrap_err(),
        vmap(grad(|x: &Tensor| f(x)?.sum()))(x).unwrap_err(),
        grad(total)(x).unwrap_err(),
        jvp(vmap(&f), x, x).unwrap_err(),
    ];
    for e in errors {
        assert!(e.is_rule(), "{e:?}");
        let text = e.to_string();
        let place = "`vmap` of function `norms`: ";
        let (_, said) = text.split_once(place).unwrap_or_else(|| panic!("no `{place}` in `{text}`"));
        assert_eq!(said, want);
    }
}

#[test]
fn closures_that_do_not_treat_leading_dims_alike_are_errors() {
    for batching in [Batching::LeadingDims, Batching::Expand] {
        // For one lane, [4,2] gives [4]; for three, [3,4,2] gives [3], which is three numbers.
        let f = custom(norms).name("norms").jvp(|_, y, _| Ok(y.clone().into())).batching(batching).into_fn();
        let want = format!(
            "expected f64[4] in each lane of output 0, as the function returns for one, got f64[] (f64[3]) from batching by \
             `{batching:?}`; help: choose a `Batching` that fits the code, such as `Batching::Loop`"
        );
        says(f, &matrices(), &want);
    }
    // Twice the rows of all lanes are twice as many rows in each.
    let rows = |x: &Tensor| {
        if x.shape()[0] > 4 { cat(&[x, x], 0) } else { Ok(x.clone()) }
    };
    let f = custom(rows).name("norms").jvp(|_, y, _| Ok(y.clone().into())).batching(Batching::Flatten).into_fn();
    says(
        f,
        &matrices(),
        "expected f64[4,2] in each lane of output 0, as the function returns for one, got f64[8,2] (f64[3,8,2]) from \
         batching by `Flatten`; help: choose a `Batching` that fits the code, such as `Batching::Loop`",
    );
    let f = custom(norms).name("norms").batching(Batching::Loop).into_fn();
    assert_eq!(vmap(f)(&matrices()).unwrap().shape(), [3, 4]);
}

/// Said to return another dim from `vmap`, of which there was none.
#[test]
fn a_call_that_does_not_carry_the_lanes_is_blamed_on_the_strategy() {
    // The second factor alone has lanes, and the code does not broadcast.
    let product = |(x, w): &(Tensor, Tensor)| {
        let (a, b) = (x.to_vec::<f64>()?, w.to_vec::<f64>()?);
        Tensor::from_slice(&a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>(), x.shape())
    };
    let total = |x: &Tensor| Ok(Tensor::from(x.to_vec::<f64>()?.iter().sum::<f64>()));
    let x = Tensor::from([1.0, 2.0]);
    let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let help = "help: choose a `Batching` that fits the code, such as `Batching::Loop`";
    let f = custom(product).name("f").batching(Batching::Expand).into_fn();
    let e = vmap(|w: &Tensor| f(&(x.clone(), w.clone())))(&rows).unwrap_err();
    let want = format!(
        "vmap > `vmap` of function `f`: expected 3 lanes along dim 0 of output 0, each f64[2], as the function returns for \
         one, got f64[1,2] from batching by `Expand`; {help}"
    );
    assert_eq!(e.to_string(), want);
    let f = custom(total).name("f").batching(Batching::LeadingDims).into_fn();
    let e = vmap(f)(&rows).unwrap_err();
    let want = format!(
        "vmap > `vmap` of function `f`: expected 3 lanes along dim 0 of output 0, each f64[], as the function returns for \
         one, got f64[] from batching by `LeadingDims`; {help}"
    );
    assert_eq!(e.to_string(), want);
}

#[test]
fn the_wrong_number_of_outputs_is_an_error() {
    let f = custom(|x: &Tensor| Ok(vec![x.clone(); x.rank()])).name("norms").batching(Batching::LeadingDims);
    let e = vmap(|x: &Tensor| Ok(f.apply(x)?[0].clone()))(&matrices()).unwrap_err();
    let want = "`vmap` of function `norms`: expected 2 outputs, as the function returns for one lane, got 3";
    assert!(e.is_rule() && e.to_string().ends_with(want), "{e}");
}

#[test]
fn the_first_lane_runs_once_more_and_only_where_it_tells_anything() {
    for (batching, calls, zero) in
        [(Batching::Loop, 3, 1), (Batching::LeadingDims, 2, 1), (Batching::Expand, 2, 1), (Batching::Flatten, 2, 1)]
    {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let f = custom(move |x: &Tensor| {
            counted.fetch_add(1, Ordering::Relaxed);
            let doubled: Vec<f64> = x.to_vec::<f64>()?.iter().map(|x| 2.0 * x).collect();
            Tensor::from_slice(&doubled, x.shape())
        })
        .batching(batching)
        .into_fn();
        let want: Vec<f64> = values(&matrices()).iter().map(|x| 2.0 * x).collect();
        assert_eq!(values(&vmap(&f)(&matrices()).unwrap()), want, "{batching:?}");
        assert_eq!(count.swap(0, Ordering::Relaxed), calls, "{batching:?}");
        let none = Tensor::zeros(&[0, 4, 2], DType::F64).unwrap();
        assert_eq!(vmap(&f)(&none).unwrap().shape(), [0, 4, 2], "{batching:?}");
        assert_eq!(count.swap(0, Ordering::Relaxed), zero, "{batching:?}");
    }
}

#[test]
fn what_reads_lanes_is_told_where_to_choose_a_batching() {
    let reads = |x: &Tensor| Tensor::from_slice(&x.to_vec::<f64>()?, x.shape());
    let x = matrices();
    let help = |e: Error, method: &str| {
        assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{e}");
        assert!(e.to_string().contains(&format!("`{method}` of function `reader`: `to_vec` reads the data")), "{e}");
        e.help().unwrap().to_string()
    };
    // `f` of closures: chosen by name, or written.
    let f = custom(reads).name("reader").jvp(|_, _, t| Ok(t)).into_fn();
    let said = help(vmap(&f)(&x).unwrap_err(), "forward");
    assert!(said.contains("`.batching(..)`") && said.contains("`.vmap(..)`") && !said.contains("Function"), "{said}");
    // What it advises works.
    let f = custom(reads).name("reader").jvp(|_, _, t| Ok(t)).batching(Batching::Loop).into_fn();
    assert_eq!(values(&vmap(&f)(&x).unwrap()), values(&x));
    // A rule of closures.
    let rule = move |_: &Tensor, g: Cotangent| g.map(reads);
    let f = custom(|x: &Tensor| Ok(x.clone())).name("reader").saving(|x, _| Ok(x.clone()), rule).into_fn();
    let said = help(vmap(grad(|x: &Tensor| f(x)?.mul(x)?.sum()))(&x).unwrap_err(), "backward");
    assert!(said.contains("tensor operations") && said.contains("`custom(..)`"), "{said}");
    let inner = custom(reads).name("inner").jvp(|_, _, t| Ok(t)).batching(Batching::Loop).into_fn();
    let rule = move |_: &Tensor, g: Cotangent| g.map(&inner);
    let f = custom(|x: &Tensor| Ok(x.clone())).name("reader").saving(|x, _| Ok(x.clone()), rule).into_fn();
    let doubled: Vec<f64> = values(&x).iter().map(|x| 2.0 * x).collect();
    assert_eq!(values(&vmap(grad(|x: &Tensor| f(x)?.mul(x)?.sum()))(&x).unwrap()), doubled);
}
