//! Random numbers in functions that are batched by a strategy chosen by name: those of the policy, or an error.

use pullback::function::{Batching, rules};
use pullback::random::Key;
use pullback::*;

fn rows() -> Tensor {
    Tensor::from([[0.5, 1.25], [2.0, -0.75], [1.0, 3.0]])
}

fn noisy(x: &Tensor) -> Result<Tensor> {
    x.mul(&Key::new(1).normal(x.shape(), x.dtype())?)
}

/// The noise of a function, with a batching rule from `rules`.
#[derive(Clone)]
struct ByRule(fn(&ByRule, &VmapInfo, Dims<Tensor>, &Tensor) -> Result<(Tensor, Dims<Tensor>)>);

impl Function for ByRule {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        noisy(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        (self.0)(self, info, dims, x)
    }
}

/// The policy was not kept: a loop gave each lane the same numbers under `Different`, and one call for all lanes gave each
/// its own under `Same`.
#[test]
fn strategies_keep_to_the_policy_or_refuse() {
    use Randomness::{Different, Same};
    type Boxed = Box<dyn Fn(&Tensor) -> Result<Tensor>>;
    let by = |batching| -> Boxed { Box::new(custom(noisy).batching(batching).into_fn()) };
    let written = |rule| -> Boxed { Box::new(move |x: &Tensor| ByRule(rule).apply(x)) };
    for (name, kept, f) in [
        ("per_example", Same, by(Batching::Loop)),
        ("leading_dims", Different, by(Batching::LeadingDims)),
        ("expand", Different, by(Batching::Expand)),
        ("flatten", Different, by(Batching::Flatten)),
        ("per_example", Same, written(rules::per_example)),
        ("leading_dims", Different, written(rules::leading_dims)),
        ("elementwise", Different, written(rules::elementwise)),
    ] {
        for policy in [Same, Different] {
            let lanes = Vmap::new().randomness(policy);
            let found = lanes.of(&f)(&rows());
            if policy == kept {
                assert!(found.unwrap().equal(&lanes.of(noisy)(&rows()).unwrap()).unwrap(), "{name} {policy:?}");
                continue;
            }
            let e = found.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Randomness);
            let does = if policy == Same { "draws for all of them at once" } else { "draws the same for each" };
            let want = format!(
                "normal: random numbers are drawn in a function that is batched by `{name}`, which {does}, inside a `vmap` \
                 (3 lanes) with `Randomness::{policy:?}`; help: draw outside and pass the numbers in"
            );
            assert!(e.to_string().contains(&want), "{e}");
        }
    }
    // Nothing is left behind.
    let all = Vmap::new().randomness(Different).of(noisy)(&rows()).unwrap();
    assert_eq!(all.shape(), [3, 2]);
    assert!(noisy(&rows()).is_ok());
}

/// A rule that is differentiable once runs in a loop where it reads data.
#[test]
fn a_rule_in_a_loop_refuses_too() {
    #[derive(Clone)]
    struct Once;
    impl Function for Once {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.square()
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            let x = Tensor::from_slice(&x.to_vec::<f64>()?, x.shape())?;
            Ok(g * noisy(&x)?)
        }
        fn once_differentiable(&self) -> bool {
            true
        }
    }
    let slope = |policy| Vmap::new().randomness(policy).of(grad(|x: &Tensor| Once.apply(x)?.sum()))(&rows());
    let same = Vmap::new().randomness(Randomness::Same).of(noisy)(&rows()).unwrap();
    assert!(slope(Randomness::Same).unwrap().equal(&same).unwrap());
    let e = slope(Randomness::Different).unwrap_err();
    assert!(e.kind() == ErrorKind::Randomness && e.to_string().contains("batched by `per_example`"), "{e}");
}

/// A function without rules is differentiated by running it again: with a generator, the gradient was that of other
/// numbers than those of the value.
#[test]
fn functions_without_rules_cannot_be_differentiated_past_a_generator() {
    let x = Tensor::from(1.0);
    let generator = pullback::random::Generator::new(3);
    let drawn = custom(move |x: &Tensor| x.mul(generator.normal(x.shape(), x.dtype())?)).name("drawn").into_fn();
    assert!(drawn(&x).is_ok());
    for (mode, found) in [("grad", grad(&drawn)(&x)), ("jvp", jvp(&drawn, &x, &x).map(|(_, t)| t))] {
        let e = found.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Randomness, "{mode}");
        let text = e.to_string();
        assert!(text.contains("drawn") && text.contains("no numbers from a `Generator`"), "{mode}: {text}");
    }
    let keyed = custom(noisy).into_fn();
    let (value, slope) = (keyed(&x).unwrap(), grad(&keyed)(&x).unwrap());
    assert_eq!(value.item::<f64>().unwrap(), slope.item::<f64>().unwrap());
}
