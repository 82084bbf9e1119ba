//! What opaque functions promise: which rule runs, what is refused and how, and how lanes are handed over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::function::{ArrayMut, ArrayRef, Batching, Types};
use pullback::*;

use crate::power::RawPower;
use crate::{close, forward, value, values};

/// What an [`Odd`] does wrong, or leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Nothing,
    ForwardWritesNothing,
    ForwardWrongDtype,
    BackwardWritesNothing,
    BackwardMissing,
    JvpWritesNothing,
    JvpMissing,
    /// States the same outputs for any number of leading dims.
    IgnoresLanes,
}
use Part::*;

/// `(x, i) -> (x·i, i + 1)` elementwise, with an integer input and output.
#[derive(Clone)]
struct Odd {
    wrong: Part,
    batching: Batching,
    calls: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

fn odd(wrong: Part, batching: Batching) -> Odd {
    Odd { wrong, batching, calls: Arc::default(), seen: Arc::default() }
}

type Pair = (Tensor, Tensor);

impl OpaqueFunction for Odd {
    type Inputs = Pair;
    type Outputs = Pair;
    fn output_types(&self, (x, i): &Types<Pair>) -> Result<Types<Pair>> {
        if i.dtype != DType::I64 {
            return Err(Error::new(ErrorKind::Dtype, format!("expected i64, got {i}")));
        }
        let mut y = x.clone();
        if self.wrong == IgnoresLanes {
            y.shape.truncate(1);
        }
        Ok((y, i.clone()))
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().unwrap().push(format!("{} {}", x[0].ty(), x[1].ty()));
        let (values, factors) = (x[0].as_slice::<f64>()?, x[1].as_slice::<i64>()?);
        for (k, j) in y[1].as_mut_slice::<i64>()?.iter_mut().enumerate() {
            *j = factors[k] + 1;
        }
        match self.wrong {
            ForwardWritesNothing => {}
            ForwardWrongDtype => y[0].as_mut_slice::<f32>()?.fill(0.0),
            _ => {
                for (k, y) in y[0].as_mut_slice::<f64>()?.iter_mut().enumerate() {
                    *y = values[k] * factors[k % factors.len()] as f64;
                }
            }
        }
        Ok(())
    }
    fn backward(
        &self,
        x: &[ArrayRef<'_>],
        y: &[ArrayRef<'_>],
        g: &[ArrayRef<'_>],
        dx: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        if self.wrong == BackwardMissing {
            // What a rule that was not written does.
            return OpaqueFunction::backward(&Bare, &x[..1], y, g, dx);
        }
        assert!(dx[1].is_none(), "an integer input takes no cotangent");
        if self.wrong == BackwardWritesNothing {
            return Ok(());
        }
        let (factors, g) = (x[1].as_slice::<i64>()?, g[0].as_slice::<f64>()?);
        let Some(dx) = &mut dx[0] else { return Ok(()) };
        for (k, dx) in dx.as_mut_slice::<f64>()?.iter_mut().enumerate() {
            *dx = g[k] * factors[k % factors.len()] as f64;
        }
        Ok(())
    }
    fn jvp(
        &self,
        x: &[ArrayRef<'_>],
        y: &[ArrayRef<'_>],
        t: &[ArrayRef<'_>],
        dy: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        if self.wrong == JvpMissing {
            return OpaqueFunction::jvp(&Bare, &x[..1], y, t, dy);
        }
        assert!(dy[1].is_none(), "an integer output takes no tangent");
        if self.wrong == JvpWritesNothing {
            return Ok(());
        }
        let (factors, t) = (x[1].as_slice::<i64>()?, t[0].as_slice::<f64>()?);
        let dy = dy[0].as_mut().expect("a floating output");
        for (k, dy) in dy.as_mut_slice::<f64>()?.iter_mut().enumerate() {
            *dy = t[k] * factors[k % factors.len()] as f64;
        }
        Ok(())
    }
    fn batching(&self) -> Batching {
        self.batching
    }
}

/// The identity without any rule.
struct Bare;

impl OpaqueFunction for Bare {
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

fn pair() -> Pair {
    (Tensor::from([1.5, 2.0]), Tensor::from([3i64, -4]))
}

fn lanes() -> Pair {
    (Tensor::from([[1.5, 2.0], [0.5, 1.0], [2.5, 3.0]]), Tensor::from([[3i64, -4], [1, 2], [5, 6]]))
}

/// The first output, by the first input.
fn by_first(f: &Odd, i: &Tensor) -> impl Fn(&Tensor) -> Result<Tensor> + use<> {
    let (f, i) = (Opaque::new(f.clone()), i.clone());
    move |x| Ok(f.apply(&(x.clone(), i.clone()))?.0)
}

#[test]
fn integers_besides_floats() {
    let (x, i) = pair();
    let f = by_first(&odd(Nothing, Batching::Loop), &i);
    assert_eq!(values(&f(&x).unwrap()), [4.5, -8.0]);
    assert_eq!(values(&grad(|x: &Tensor| f(x)?.sum())(&x).unwrap()), [3.0, -4.0]);
    assert_eq!(values(&jvp(&f, &x, &x).unwrap().1), [4.5, -8.0]);
    // Views are handed over contiguous.
    let wide = Tensor::from([[1.5, 9.0], [2.0, 9.0]]);
    assert_eq!(values(&f(&wide.select(1, 0).unwrap()).unwrap()), [4.5, -8.0]);
    let g = Vmap::new().of(|(x, i): &Pair| grad(|x: &Tensor| by_first(&odd(Nothing, Batching::Loop), i)(x)?.sum())(x));
    assert_eq!(values(&g(&lanes()).unwrap()), [3.0, -4.0, 1.0, 2.0, 5.0, 6.0]);
}

#[test]
fn strategies_hand_lanes_over_as_documented() {
    let shared = (lanes().0, pair().1);
    let run = |batching| {
        let f = odd(Nothing, batching);
        let opaque = Opaque::new(f.clone());
        let result = Vmap::new().in_dims((0, None)).of(|x: &Pair| opaque.apply(x))(&shared);
        let seen = std::mem::take(&mut *f.seen.lock().unwrap());
        (result, seen)
    };
    let want = [4.5, -8.0, 1.5, -4.0, 7.5, -12.0];
    let (y, seen) = run(Batching::Loop);
    assert_eq!(values(&y.unwrap().0), want);
    assert_eq!(seen, ["f64[2] i64[2]"; 3]);
    let (y, seen) = run(Batching::LeadingDims);
    assert_eq!(values(&y.unwrap().0), want);
    assert_eq!(seen, ["f64[3,2] i64[3,2]"]);
    let (y, seen) = run(Batching::Flatten);
    assert_eq!(values(&y.unwrap().0), want);
    assert_eq!(seen, ["f64[6] i64[6]"]);
    let (y, seen) = run(Batching::Expand);
    assert_eq!(seen, ["f64[3,2] i64[1,2]"]);
    // The second output does not broadcast, so this strategy does not fit the function.
    let err = y.unwrap_err();
    assert!(err.is_rule() && err.to_string().contains("`vmap` of function `Odd`: "), "{err}");
    let (y, seen) = run(Batching::Refuse);
    let err = y.unwrap_err();
    assert!(err.is_missing_rule() && seen.is_empty(), "{err}");
    assert_eq!(
        err.to_string(),
        "vmap > `vmap` of function `Odd`: expected a call without lanes, got 3: its batching is `Refuse`; help: loop over \
         the examples outside of `vmap`, or choose another `Batching`"
    );
}

#[test]
fn rules_on_slices_are_batched_like_the_function() {
    for batching in [Batching::Loop, Batching::LeadingDims, Batching::Expand, Batching::Flatten] {
        let (x, i) = (lanes().0, pair().1);
        let f = by_first(&odd(Nothing, batching), &i);
        let each = vmap(grad(|x: &Tensor| if batching == Batching::Expand { x.sum() } else { f(x)?.sum() }));
        let want = if batching == Batching::Expand { [1.0; 6] } else { [3.0, -4.0, 3.0, -4.0, 3.0, -4.0] };
        assert_eq!(values(&each(&x).unwrap()), want, "{batching:?}");
        // Rows of matrices, with lanes of matrices.
        let raw = Opaque::new(RawPower(3, batching));
        let cube = |x: &Tensor| raw.apply(x);
        let three = Tensor::from_slice(&(1..=12).map(f64::from).collect::<Vec<_>>(), &[2, 3, 2]).unwrap();
        let want: Vec<f64> = (1..=12).map(|k| 3.0 * f64::from(k * k)).collect();
        close(&values(&vmap(grad(|x: &Tensor| cube(x)?.sum()))(&three).unwrap()), &want);
        close(&values(&grad(|x: &Tensor| vmap(cube)(x)?.sum())(&three).unwrap()), &want);
        let ones = Tensor::ones(&[2, 3, 2], DType::F64).unwrap();
        close(&values(&jvp(vmap(vmap(cube)), &three, &ones).map(|r| r.1).unwrap()), &want);
    }
}

#[test]
fn zero_lanes() {
    let none = (Tensor::zeros(&[0, 2], DType::F64).unwrap(), Tensor::zeros(&[0, 2], DType::I64).unwrap());
    for batching in [Batching::Loop, Batching::LeadingDims, Batching::Flatten] {
        let f = odd(Nothing, batching);
        let opaque = Opaque::new(f.clone());
        let (y, j) = vmap(|x: &Pair| opaque.apply(x))(&none).unwrap();
        assert_eq!((y.ty().to_string().as_str(), j.ty().to_string().as_str()), ("f64[0,2]", "i64[0,2]"));
        let g = vmap(|(x, i): &Pair| grad(|x: &Tensor| by_first(&f, i)(x)?.sum())(x))(&none).unwrap();
        assert_eq!(g.shape(), [0, 2]);
        assert_eq!(f.calls.load(Ordering::Relaxed), 0, "the code is not run on anything");
    }
}

#[test]
fn second_order_of_slices_is_refused_by_name() {
    let f = Opaque::new(RawPower(4, Batching::LeadingDims));
    let f = |x: &Tensor| f.apply(x);
    let x = Tensor::from(2.0);
    let xs = Tensor::from([2.0, 3.0]);
    let sum = |x: &Tensor| f(x)?.sum();
    let by = |err: Error, method: &str| {
        assert_eq!(err.kind(), ErrorKind::NotDifferentiable, "{err}");
        let (text, place) = (err.to_string(), format!("`{method}` of function `RawPower`: "));
        let (results, other) = if method == "jvp" { ("tangents", "backward") } else { ("cotangents", "jvp") };
        let (outside, said) = text.split_once(&place).unwrap_or_else(|| panic!("no `{place}` in `{text}`"));
        assert!(!outside.contains("of function"), "{text}");
        assert_eq!(
            said,
            format!(
                "the function is differentiable once, so the {results} that `{method}` returned have no derivative; help: \
                 implement `tensor_{method}`, and `tensor_{other}` too if there is a `{other}` on slices, or detach the result"
            )
        );
    };
    by(grad(grad(f))(&x).unwrap_err(), "backward");
    by(forward(grad(f))(&x).unwrap_err(), "backward");
    by(grad(forward(f))(&x).unwrap_err(), "jvp");
    by(forward(forward(f))(&x).unwrap_err(), "jvp");
    by(hessian(sum)(&xs).unwrap_err(), "backward");
    by(jacrev(jacrev(sum))(&xs).unwrap_err(), "backward");
    by(jacfwd(jacfwd(sum))(&xs).unwrap_err(), "jvp");
    by(jacrev(jacfwd(sum))(&xs).unwrap_err(), "jvp");
    by(vmap(grad(grad(f)))(&xs).unwrap_err(), "backward");
    by(grad(|x: &Tensor| vmap(grad(f))(x)?.sum())(&xs).unwrap_err(), "backward");
    by(grad(grad(|x: &Tensor| vmap(f)(&x.reshape(&[1])?)?.sum()))(&x).unwrap_err(), "backward");
    // First order inside of a second one is fine where the function does not take part.
    let mixed = grad(grad(|x: &Tensor| Ok(x.mul(x)? + f(&Tensor::from(1.0))?)))(&x).unwrap();
    assert_eq!(value(&mixed), 2.0);
}

#[test]
fn a_missing_rule_is_an_error_and_not_derived_from_slices() {
    let (x, i) = pair();
    let both = |wrong| by_first(&odd(wrong, Batching::Loop), &i);
    let sum = |wrong| {
        let f = both(wrong);
        move |x: &Tensor| f(x)?.sum()
    };
    // With one rule, the other mode is refused and this one works.
    assert_eq!(values(&jvp(both(BackwardMissing), &x, &x).unwrap().1), [4.5, -8.0]);
    let err = grad(sum(BackwardMissing))(&x).unwrap_err();
    assert!(err.is_missing_rule());
    assert_eq!(
        err.to_string(),
        "grad > `backward` of function `Odd`: expected a derivative rule, got neither `backward` on slices nor \
         `tensor_backward`, and no `tensor_jvp` to derive it from (`jvp` on slices cannot be transposed); help: implement \
         `tensor_jvp`, which gives both modes and every order, or `backward`, which gives first derivatives in this mode"
    );
    assert_eq!(values(&grad(sum(JvpMissing))(&x).unwrap()), [3.0, -4.0]);
    for err in [jvp(both(JvpMissing), &x, &x).unwrap_err(), jacfwd(both(JvpMissing))(&x).unwrap_err()] {
        assert!(err.is_missing_rule());
        assert!(err.to_string().contains("`jvp` of function `Odd`: expected a derivative rule, got neither"), "{err}");
    }
    // Without any rule there are values, and errors in both modes, also under `vmap` and beside another path.
    let bare = |x: &Tensor| Opaque::new(Bare).apply(x);
    assert_eq!(values(&bare(&x).unwrap()), [1.5, 2.0]);
    let beside = |x: &Tensor| bare(x)?.add(x)?.sum();
    for err in [
        grad(beside)(&x).unwrap_err(),
        jvp(beside, &x, &x).unwrap_err(),
        vmap(grad(beside))(&lanes().0).unwrap_err(),
        grad(|x: &Tensor| vmap(beside)(x)?.sum())(&lanes().0).unwrap_err(),
    ] {
        assert!(err.is_missing_rule() && err.to_string().contains("of function `Bare`: "), "{err}");
    }
}

#[test]
fn results_that_were_not_written_are_errors() {
    let (x, i) = pair();
    let f = |wrong| by_first(&odd(wrong, Batching::Loop), &i);
    let sum = |wrong| {
        let f = f(wrong);
        move |x: &Tensor| f(x)?.sum()
    };
    let err = f(ForwardWritesNothing)(&x).unwrap_err();
    assert!(err.is_rule());
    assert_eq!(
        err.to_string(),
        "`forward` of function `Odd`: expected output 0 (f64[2]) to be written, got nothing; help: write it through \
         `as_mut_slice`; what is opened and left alone is zero"
    );
    let err = grad(sum(BackwardWritesNothing))(&x).unwrap_err();
    assert!(err.is_rule() && err.to_string().contains("the cotangent of input 0 (f64[2]) to be written"), "{err}");
    assert!(err.to_string().starts_with("grad > `backward` of function `Odd`: expected"), "{err}");
    let err = jvp(f(JvpWritesNothing), &x, &x).unwrap_err();
    assert!(err.is_rule() && err.to_string().contains("the tangent of output 0 (f64[2]) to be written"), "{err}");
    let err = f(ForwardWrongDtype)(&x).unwrap_err();
    assert!(err.is_dtype());
    assert!(
        err.to_string().contains(
            "`forward` of function `Odd`: expected elements of f64[2], asked for f32; help: use `as_mut_slice::<f64>`"
        ),
        "{err}"
    );
    let err = f(Nothing)(&x.to_dtype(DType::F32).unwrap()).unwrap_err();
    assert!(err.is_dtype() && err.to_string().contains("expected elements of f32[2], asked for f64"), "{err}");
    let err = by_first(&odd(Nothing, Batching::Loop), &x)(&x).unwrap_err();
    assert!(err.to_string().contains("`forward` of function `Odd`: expected i64, got f64[2]"), "{err}");
}

#[test]
fn lanes_that_do_not_fit_the_stated_types_are_errors() {
    let f = Opaque::new(odd(IgnoresLanes, Batching::LeadingDims));
    let err = vmap(|x: &Pair| f.apply(x))(&lanes()).unwrap_err();
    assert!(err.is_rule());
    assert_eq!(
        err.to_string(),
        "vmap > `vmap` of function `Odd`: expected f64[2] in each lane of output 0, as `output_types` states for one, got \
         f64[] (f64[3]) from batching by `LeadingDims`; help: choose a `Batching` that fits the code, such as \
         `Batching::Loop`"
    );
    // Rows are needed to flatten into.
    let f = Opaque::new(RawPower(2, Batching::Flatten));
    let err = vmap(|x: &Tensor| f.apply(x))(&Tensor::from([1.0, 2.0])).unwrap_err();
    assert!(err.is_rule());
    assert!(err.to_string().contains("expected rows along dimension 0 of every input, got f64[] at input 0"), "{err}");
}
