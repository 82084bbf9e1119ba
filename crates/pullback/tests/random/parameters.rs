//! Parameters that are tensors: their derivatives, what `vmap` makes of them, and which are refused.

use Randomness::{Different, Same};
use pullback::random::{Generator, Key};
use pullback::{DType, ErrorKind, Randomness, Result, Tensor, Vmap, capture, grad, hessian, jacfwd, jacrev, jvp};

use super::{assert_near, values};

type Draw = fn(Key, &Tensor) -> Result<Tensor>;

/// Draws that depend smoothly on a parameter, with randomness that stays.
const SMOOTH: [(&str, Draw); 10] = [
    ("exponential", |k, x| k.exponential(x, x.shape(), DType::F64)),
    ("log_normal", |k, x| k.log_normal(x, x.square()?, x.shape(), DType::F64)),
    ("truncated_normal", |k, x| k.truncated_normal(x, x.square()?.add(x)?, x.shape(), DType::F64)),
    ("truncated_normal to a tail", |k, x| k.truncated_normal(f64::NEG_INFINITY, x.neg()?, x.shape(), DType::F64)),
    ("gamma", |k, x| k.gamma(x, x.shape(), DType::F64)),
    ("gamma, large", |k, x| k.gamma(x.mul(1e6)?, x.shape(), DType::F64)),
    ("beta", |k, x| k.beta(x, x.square()?, x.shape(), DType::F64)),
    ("dirichlet", |k, x| k.dirichlet(x, x.shape(), DType::F64)),
    ("chi2", |k, x| k.chi2(x, x.shape(), DType::F64)),
    ("student_t", |k, x| k.student_t(x, x.shape(), DType::F64)),
];

#[test]
fn both_modes_and_the_second_derivative_agree() {
    let x = Tensor::from([0.3, 0.8, 1.0, 1.7, 5.0]);
    for (name, draw) in SMOOTH {
        let f = |x: &Tensor| draw(Key::new(3), x);
        let (reverse, forward) = (values(&jacrev(f)(&x).unwrap()), values(&jacfwd(f)(&x).unwrap()));
        let loss = |x: &Tensor| f(x)?.sin()?.sum();
        let second = values(&hessian(loss)(&x).unwrap());
        let twice = values(&jacrev(grad(loss))(&x).unwrap());
        for (a, b) in reverse.iter().zip(&forward).chain(second.iter().zip(&twice)) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{name}: {a} {b}");
        }
        assert!(reverse.iter().any(|v| *v != 0.0), "{name}");
    }
}

/// Where the numbers are smooth functions of the parameter in the code, differences of them are an oracle.
#[test]
fn derivatives_are_those_of_differences_where_numbers_move_smoothly() {
    let x = Tensor::from([0.3, 0.8, 1.0, 1.7, 5.0]);
    let h = 1e-6;
    for (name, draw) in SMOOTH.into_iter().take(4) {
        let f = |x: &Tensor| draw(Key::new(3), x);
        let slope = values(&jvp(f, &x, &Tensor::ones(&[5], DType::F64).unwrap()).unwrap().1);
        let (up, down) = (values(&f(&x.add(h).unwrap()).unwrap()), values(&f(&x.sub(h).unwrap()).unwrap()));
        for k in 0..5 {
            let difference = (up[k] - down[k]) / (2.0 * h);
            assert!(
                (slope[k] - difference).abs() < 1e-5 * (1.0 + difference.abs()),
                "{name}: {} {difference}",
                slope[k]
            );
        }
    }
}

/// A number of the gamma distribution that keeps its place moves as the quantile function does: in the mean of any function
/// of it, which the distribution gives.
#[test]
fn gradients_of_expectations_are_those_of_the_distribution() {
    let n = 40_000;
    for a in [0.4, 1.0, 6.0] {
        let x = Tensor::from(a);
        // E z = a, E z² = a + a², E ln z = digamma(a).
        let mean = |f: fn(&Tensor) -> Result<Tensor>| {
            let of = move |a: &Tensor| f(&Key::new(5).gamma(a, &[n], DType::F64)?)?.mean();
            (values(&grad(of)(&x).unwrap())[0], values(&hessian(of)(&x).unwrap())[0])
        };
        assert_near(mean(|z| Ok(z.clone())).0, 1.0, 0.03);
        assert_near(mean(|z| Ok(z.clone())).1, 0.0, 0.05);
        assert_near(mean(Tensor::square).0 / (1.0 + 2.0 * a), 1.0, 0.05);
        assert_near(mean(Tensor::square).1, 2.0, 0.3);
        let trigamma = x.polygamma(1).unwrap().item::<f64>().unwrap();
        assert_near(mean(Tensor::log).0 / trigamma, 1.0, 0.03);
    }
    // χ² and the others that are made of it.
    let slope = |f: fn(&Tensor) -> Result<Tensor>| {
        values(&grad(move |x: &Tensor| f(x)?.mean())(&Tensor::from(2.0)).unwrap())[0]
    };
    assert_near(slope(|x| Key::new(6).chi2(x, &[40_000], DType::F32)), 1.0, 0.03);
    // E x = a/(a + b).
    assert_near(slope(|a| Key::new(6).beta(a, 3.0, &[40_000], DType::F64)), 3.0 / 25.0, 0.005);
}

#[test]
fn a_third_derivative_of_gamma_is_refused_by_name() {
    let f = |a: &Tensor| Key::new(1).gamma(a, &[], DType::F64);
    let e = grad(grad(grad(f)))(&Tensor::from(2.0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable);
    assert!(e.to_string().contains("gamma: numbers of the gamma distribution have two derivatives"), "{e}");
}

#[test]
fn lanes_with_parameters_of_their_own_follow_the_policy() {
    let a = Tensor::from([[0.5, 1.0], [2.0, 0.2], [7.0, 3.0]]);
    let draws: [(&str, Draw); 6] = [
        ("gamma", |k, a| k.gamma(a, &[2], DType::F64)),
        ("poisson", |k, a| k.poisson(a, &[2], DType::F64)),
        ("bernoulli", |k, a| k.bernoulli(a.mul(0.1)?, &[2])),
        ("categorical", |k, a| k.categorical(a, &[4])),
        ("multinomial", |k, a| k.multinomial(a, 2, false)),
        ("dirichlet", |k, a| k.dirichlet(a, &[2], DType::F64)),
    ];
    for (name, draw) in draws {
        let run = |policy| Vmap::new().randomness(policy).of(|a: &Tensor| draw(Key::new(4), a))(&a);
        let same = run(Same).unwrap();
        for k in 0..3 {
            let alone = draw(Key::new(4), &a.select(0, k).unwrap()).unwrap();
            assert_eq!(values(&same.select(0, k).unwrap()), values(&alone), "{name}");
        }
        let different = run(Different).unwrap();
        assert_eq!(different.shape(), same.shape(), "{name}");
        let chunked =
            Vmap::new().randomness(Different).chunk_size(2).of(|a: &Tensor| draw(Key::new(4), a))(&a).unwrap();
        assert_eq!(values(&chunked), values(&different), "{name}");
        let e = run(Randomness::Error).unwrap_err();
        assert!(e.to_string().starts_with(&format!("vmap: {name}: random numbers are drawn")), "{e}");
    }
    let different =
        Vmap::new().randomness(Different).of(|a: &Tensor| Key::new(4).gamma(a, &[2], DType::F64))(&a).unwrap();
    assert_eq!(values(&different), values(&Key::new(4).gamma(&a, &[3, 2], DType::F64).unwrap()));
}

#[test]
fn generators_count_one_draw_and_graphs_repeat_it() {
    let (g, key) = (Generator::new(2), Key::new(2));
    let first = values(&g.student_t(3.0, &[4], DType::F64).unwrap());
    let second = values(&g.beta(3.0, 2.0, &[4], DType::F64).unwrap());
    assert_eq!(first, values(&key.fold_in(0).student_t(3.0, &[4], DType::F64).unwrap()));
    assert_eq!(second, values(&key.fold_in(1).beta(3.0, 2.0, &[4], DType::F64).unwrap()));
    let a = Tensor::from([0.5, 3.0]);
    let graph = capture(|a: &Tensor| key.gamma(a, &[2], DType::F64))(&a).unwrap();
    assert_eq!(values(&graph.call(&a).unwrap()), values(&key.gamma(&a, &[2], DType::F64).unwrap()));
}

#[test]
fn shuffles_and_choices_move_whole_parts() {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let y = Key::new(3).shuffle(&x, 1).unwrap();
    let mut columns: Vec<(f64, f64)> = (0..3).map(|k| values(&y.select(1, k).unwrap())).map(|c| (c[0], c[1])).collect();
    columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(columns, [(1.0, 4.0), (2.0, 5.0), (3.0, 6.0)]);
    let slope = grad(|x: &Tensor| Key::new(3).choice(x, 0, 5, true)?.sum())(&x).unwrap();
    assert_eq!(values(&slope).iter().sum::<f64>(), 15.0);
    let all = Key::new(3).choice(&x, 0, 2, false).unwrap();
    assert_eq!(values(&all).iter().sum::<f64>(), 21.0);
}

#[test]
fn nothing_is_drawn_from_nothing() {
    let key = Key::new(0);
    let empty = Tensor::zeros(&[0, 3], DType::F64).unwrap();
    assert_eq!(key.gamma(&empty, &[0, 3], DType::F64).unwrap().shape(), [0, 3]);
    assert_eq!(key.categorical(&empty, &[2, 0]).unwrap().shape(), [2, 0]);
    assert_eq!(key.multinomial(&empty, 2, false).unwrap().shape(), [0, 2]);
    assert_eq!(key.multinomial(&Tensor::from([1.0]), 0, true).unwrap().shape(), [0]);
    assert_eq!(key.choice(&empty, 0, 0, true).unwrap().shape(), [0, 3]);
}

#[test]
fn bad_parameters_are_named_with_value_and_place() {
    let key = Key::new(0);
    let (f64s, nan) = (DType::F64, f64::NAN);
    let t = |v: [f64; 2]| Tensor::from(v);
    let cases: Vec<(Result<Tensor>, ErrorKind, &str)> = vec![
        (
            key.bernoulli(t([0.5, 1.5]), &[3, 2]),
            ErrorKind::Value,
            "bernoulli: expected a probability from 0 to 1, got 1.5 at [1]",
        ),
        (key.bernoulli(t([-0.1, 0.5]), &[2]), ErrorKind::Value, "got -0.1 at [0]"),
        (
            key.exponential(nan, &[2], f64s),
            ErrorKind::Value,
            "exponential: expected a rate above 0 and finite, got NaN",
        ),
        (
            key.gamma(t([1.0, 0.0]), &[2], f64s),
            ErrorKind::Value,
            "gamma: expected a concentration from 1e-100 up and finite, got 0 at [1]",
        ),
        (
            key.gamma(t([1.0, 2.0]), &[3], f64s),
            ErrorKind::Shape,
            "broadcasts to the shape of the draw, [3], got f64[2]",
        ),
        (key.gamma(1.0, &[3], DType::I64), ErrorKind::Dtype, "gamma: expected a floating dtype, got i64"),
        (
            key.beta(1.0, -2, &[3], f64s),
            ErrorKind::Value,
            "beta: expected a second concentration from 1e-100 up and finite, got -2",
        ),
        (key.dirichlet(1e-310, &[2], f64s), ErrorKind::Value, "dirichlet: expected a concentration from 1e-100 up"),
        (
            key.student_t(5e-324, &[2], f64s),
            ErrorKind::Value,
            "student_t: expected a number of degrees of freedom from",
        ),
        (
            key.log_normal(1e300, 1.0, &[2], DType::F32),
            ErrorKind::Value,
            "log_normal: expected a mean finite in f32, got 1e300",
        ),
        (
            key.log_normal(0.0, 1e39, &[2], DType::F16),
            ErrorKind::Value,
            "log_normal: expected a standard deviation from 0 up and finite in f32",
        ),
        (key.gamma(2.0, &[1 << 60, 4], f64s), ErrorKind::Shape, "gamma: a tensor of shape"),
        (key.bernoulli(t([0.5, 0.5]), &[usize::MAX, 2]), ErrorKind::Shape, "bernoulli: a tensor of shape"),
        (key.laplace(&[usize::MAX], f64s), ErrorKind::Shape, "laplace: a tensor of shape [18446744073709551615]"),
        (
            key.gamma(&t([1.0, 2.0]).to_dtype(DType::C128).unwrap(), &[2], f64s),
            ErrorKind::Dtype,
            "gamma: expected a concentration that is a real number, got c128[2]",
        ),
        (
            key.multinomial(&t([1.0, 2.0]).to_dtype(DType::C128).unwrap(), 1, false),
            ErrorKind::Dtype,
            "multinomial: expected weights that are real numbers, got c128[2]",
        ),
        (key.dirichlet(1.0, &[], f64s), ErrorKind::Shape, "dirichlet: expected a shape with a last dimension"),
        (key.truncated_normal(2.0, 1.0, &[], f64s), ErrorKind::Value, "`lower` must be below `upper`"),
        (key.truncated_normal(50.0, 51.0, &[], f64s), ErrorKind::Value, "truncated_normal: expected a probability"),
        (key.log_normal(0.0, -1.0, &[], f64s), ErrorKind::Value, "standard deviation from 0 up and finite, got -1"),
        (key.poisson(-1.0, &[], f64s), ErrorKind::Value, "poisson: expected a rate from 0 up to 2^53, got -1"),
        (key.poisson(250.0, &[], DType::U8), ErrorKind::Value, "whose numbers u8 can hold, got 250"),
        (key.poisson(1.0, &[], DType::Bool), ErrorKind::Dtype, "poisson: expected the dtype of a number, got bool"),
        (
            key.binomial(2.5, 0.5, &[], f64s),
            ErrorKind::Value,
            "binomial: expected a count that is a whole number up to 2^53, got 2.5",
        ),
        (key.binomial(300, 0.5, &[], DType::U8), ErrorKind::Value, "from 0 to 255, got 300"),
        (key.binomial(3, 1.5, &[], f64s), ErrorKind::Value, "binomial: expected a probability from 0 to 1, got 1.5"),
        (
            key.geometric(0.0, &[], f64s),
            ErrorKind::Value,
            "geometric: expected a probability above 0 and at most 1, got 0",
        ),
        (
            key.categorical(&t([nan, 0.0]), &[]),
            ErrorKind::Value,
            "categorical: expected logits that are numbers or -inf, got NaN for category 0",
        ),
        (
            key.categorical(&Tensor::from([[0.0, 1.0], [f64::NEG_INFINITY; 2]]), &[2]),
            ErrorKind::Value,
            "categorical: expected at least 1 category of positive probability, got 0 in the row at [1]",
        ),
        (
            key.categorical(&t([0.0, 0.0]), &[3, 2]).and(key.categorical(&Tensor::from([[0.0]]), &[3])),
            ErrorKind::Shape,
            "a shape that ends with [1]",
        ),
        (
            key.multinomial(&t([1.0, 2.0]), 3, false),
            ErrorKind::Value,
            "multinomial: expected at most 2 draws without replacement from 2 categories, got 3",
        ),
        (
            key.multinomial(&t([1.0, 0.0]), 2, false),
            ErrorKind::Value,
            "at least 2 categories of positive probability, got 1",
        ),
        (
            key.multinomial(&t([1.0, -1.0]), 1, true),
            ErrorKind::Value,
            "expected finite weights from 0 up, got -1 for category 1",
        ),
        (
            key.choice(&t([1.0, 2.0]), 0, 3, false),
            ErrorKind::Value,
            "choice: expected at most 2 parts without replacement",
        ),
        (key.shuffle(&t([1.0, 2.0]), 1), ErrorKind::Dim, "shuffle: "),
    ];
    for (result, kind, message) in cases {
        let e = result.unwrap_err();
        assert!(e.to_string().contains(message), "{e}\n{message}");
        assert_eq!(e.kind(), kind, "{e}");
    }
    // The place is one of a lane.
    let p = Tensor::from([[0.5, 0.5], [0.5, 2.0]]);
    let e = Vmap::new().randomness(Same).of(|p: &Tensor| key.bernoulli(p, &[2]))(&p).unwrap_err();
    assert!(e.to_string().contains("got 2 at [1]"), "{e}");
}

#[test]
fn extreme_parameters_keep_their_meaning() {
    // A category whose share of the largest weight is no number of `f64` is still one of its own.
    let weights = Tensor::from([1e300, 1e-300, 0.0, 1e-320]);
    let mut drawn = Key::new(1).multinomial(&weights, 3, false).unwrap().to_vec::<i64>().unwrap();
    assert_eq!(drawn[0], 0);
    drawn.sort();
    assert_eq!(drawn, [0, 1, 3]);
    // Numbers and both derivatives at the ends of what is accepted.
    for a in [1e-100, 1e-50, 1e16, 1e30, 1e150, 1e300] {
        let x = Tensor::from([a, a]);
        let draws: [fn(Key, &Tensor) -> Result<Tensor>; 3] = [
            |k, x| k.gamma(x, &[2], DType::F64),
            |k, x| k.beta(x, 1.0, &[2], DType::F64),
            |k, x| k.dirichlet(x, &[2], DType::F64)?.square(),
        ];
        for (n, draw) in draws.into_iter().enumerate() {
            let slopes = grad(|x: &Tensor| draw(Key::new(3), x)?.sum())(&x).unwrap();
            let found = [values(&draw(Key::new(3), &x).unwrap()), values(&slopes)].concat();
            assert!(found.iter().all(|v| v.is_finite()), "draw {n} at {a}: {found:?}");
            if n == 0 && a > 1.0 {
                assert!(found.iter().zip([a, a, 1.0, 1.0]).all(|(v, w)| (v / w - 1.0).abs() < 1e-6), "{a}: {found:?}");
            }
        }
    }
}
