//! Opaque functions under every composition of transforms, from one definition each, against closed forms.

use pullback::function::{ArrayMut, ArrayRef, Batching};
use pullback::testing::check_function;
use pullback::*;

use crate::power::{Power, RawPower, Weighted};
use crate::{close, forward, value, values};

type F = std::sync::Arc<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;

/// The k-th derivative of xⁿ.
fn d(n: i32, k: i32, x: f64) -> f64 {
    (n - k + 1..=n).map(f64::from).product::<f64>() * x.powi(n - k)
}

fn ds(n: i32, k: i32, x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| d(n, k, *x)).collect()
}

fn diag(v: &[f64]) -> Vec<f64> {
    let n = v.len();
    (0..n * n).map(|k| if k / n == k % n { v[k / n] } else { 0.0 }).collect()
}

const X: f64 = 1.3;
const XS: [f64; 3] = [0.5, -1.25, 2.0];

fn xs() -> Tensor {
    Tensor::from(XS)
}

/// Five lanes of three.
fn rows() -> (Tensor, Vec<f64>) {
    let v: Vec<f64> = (0..15).map(|k| 0.4 + 0.1 * f64::from(k)).collect();
    (Tensor::from_slice(&v, &[5, 3]).unwrap(), v)
}

/// Runs a test for definitions with either rule or both with tensor operations, batched in three ways.
#[track_caller]
fn every_definition(test: impl Fn(i32, F)) {
    for n in [4, 5] {
        for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand] {
            let (both, reverse, ahead) = (
                Opaque::new(Power::<true, true>(n, b)),
                Opaque::new(Power::<false, true>(n, b)),
                Opaque::new(Power::<true, false>(n, b)),
            );
            test(n, std::sync::Arc::new(move |x| both.apply(x)));
            test(n, std::sync::Arc::new(move |x| reverse.apply(x)));
            test(n, std::sync::Arc::new(move |x| ahead.apply(x)));
        }
    }
}

/// The same and the definition with all rules on slices, for compositions that differentiate once.
#[track_caller]
fn first_order(test: impl Fn(i32, F)) {
    every_definition(&test);
    for n in [4, 5] {
        for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand] {
            let raw = Opaque::new(RawPower(n, b));
            test(n, std::sync::Arc::new(move |x| raw.apply(x)));
        }
    }
}

#[test]
fn p01_value() {
    first_order(|n, f| close(&values(&f(&xs()).unwrap()), &ds(n, 0, &XS)));
}

#[test]
fn p02_grad() {
    first_order(|n, f| close(&[value(&grad(&*f)(&Tensor::from(X)).unwrap())], &[d(n, 1, X)]));
}

#[test]
fn p03_jvp() {
    first_order(|n, f| {
        let (y, dy) = jvp(&*f, &Tensor::from(X), &Tensor::from(2.0)).unwrap();
        close(&[value(&y), value(&dy)], &[d(n, 0, X), 2.0 * d(n, 1, X)]);
    });
}

#[test]
fn p04_to_p06_gradients_of_gradients() {
    every_definition(|n, f| {
        let x = Tensor::from(X);
        close(&[value(&grad(grad(&*f))(&x).unwrap())], &[d(n, 2, X)]);
        close(&[value(&grad(grad(grad(&*f)))(&x).unwrap())], &[d(n, 3, X)]);
        close(&[value(&grad(grad(grad(grad(&*f))))(&x).unwrap())], &[d(n, 4, X)]);
    });
}

#[test]
fn p07_vmap() {
    let (x, v) = rows();
    first_order(|n, f| close(&values(&vmap(&*f)(&x).unwrap()), &ds(n, 0, &v)));
}

#[test]
fn p08_vmap_of_grad() {
    first_order(|n, f| close(&values(&vmap(grad(&*f))(&xs()).unwrap()), &ds(n, 1, &XS)));
}

#[test]
fn p09_grad_of_vmap() {
    let (x, v) = rows();
    first_order(|n, f| {
        close(&values(&grad(|x: &Tensor| vmap(&*f)(x)?.sum())(&x).unwrap()), &ds(n, 1, &v));
    });
}

#[test]
fn p10_vmap_of_grad_of_grad() {
    every_definition(|n, f| close(&values(&vmap(grad(grad(&*f)))(&xs()).unwrap()), &ds(n, 2, &XS)));
}

#[test]
fn p11_p12_jacobians() {
    first_order(|n, f| {
        let want = diag(&ds(n, 1, &XS));
        close(&values(&jacrev(&*f)(&xs()).unwrap()), &want);
        close(&values(&jacfwd(&*f)(&xs()).unwrap()), &want);
    });
}

#[test]
fn p13_to_p16_hessians_by_all_four_pairs_of_modes() {
    every_definition(|n, f| {
        let sum = |x: &Tensor| f(x)?.sum();
        let want = diag(&ds(n, 2, &XS));
        close(&values(&hessian(sum)(&xs()).unwrap()), &want);
        close(&values(&jacfwd(jacrev(sum))(&xs()).unwrap()), &want);
        close(&values(&jacrev(jacfwd(sum))(&xs()).unwrap()), &want);
        close(&values(&jacrev(jacrev(sum))(&xs()).unwrap()), &want);
        close(&values(&jacfwd(jacfwd(sum))(&xs()).unwrap()), &want);
    });
}

#[test]
fn p17_jvp_of_vmap() {
    let (x, v) = rows();
    first_order(|n, f| {
        let ones = Tensor::ones(&[5, 3], DType::F64).unwrap();
        close(&values(&jvp(vmap(&*f), &x, &ones).unwrap().1), &ds(n, 1, &v));
    });
}

#[test]
fn p18_vmap_of_jvp() {
    first_order(|n, f| close(&values(&vmap(forward(&*f))(&xs()).unwrap()), &ds(n, 1, &XS)));
}

#[test]
fn p19_vmap_of_hessian() {
    let (x, v) = rows();
    every_definition(|n, f| {
        let want: Vec<f64> = v.chunks(3).flat_map(|row| diag(&ds(n, 2, row))).collect();
        close(&values(&vmap(hessian(|x: &Tensor| f(x)?.sum()))(&x).unwrap()), &want);
    });
}

#[test]
fn p20_vmap_of_vmap_of_grad() {
    let (x, v) = rows();
    first_order(|n, f| close(&values(&vmap(vmap(grad(&*f)))(&x).unwrap()), &ds(n, 1, &v)));
}

#[test]
fn p21_p22_vmap_of_jacobians() {
    let (x, v) = rows();
    first_order(|n, f| {
        let want: Vec<f64> = v.chunks(3).flat_map(|row| diag(&ds(n, 1, row))).collect();
        close(&values(&vmap(jacrev(&*f))(&x).unwrap()), &want);
        close(&values(&vmap(jacfwd(&*f))(&x).unwrap()), &want);
    });
}

#[test]
fn p23_vmap_of_the_pullback() {
    first_order(|n, f| {
        let (_, pull) = vjp(&*f, &xs()).unwrap();
        let eye = Tensor::eye(3, DType::F64).unwrap();
        close(&values(&vmap(|g: &Tensor| pull.call(g))(&eye).unwrap()), &diag(&ds(n, 1, &XS)));
    });
}

#[test]
fn p24_forward_in_forward_in_forward() {
    every_definition(|n, f| {
        close(&[value(&forward(forward(forward(&*f)))(&Tensor::from(X)).unwrap())], &[d(n, 3, X)]);
    });
}

#[test]
fn p25_modes_mixed() {
    every_definition(|n, f| {
        let x = Tensor::from(X);
        close(&[value(&grad(forward(&*f))(&x).unwrap())], &[d(n, 2, X)]);
        close(&[value(&forward(grad(&*f))(&x).unwrap())], &[d(n, 2, X)]);
    });
}

#[test]
fn p26_lanes_along_another_dimension() {
    let (x, v) = rows();
    first_order(|n, f| {
        // Lanes are columns of the transpose, so the result is that of the rows.
        let y = Vmap::new().in_dims(1).of(grad(|x: &Tensor| f(x)?.sum()))(&x.t().unwrap()).unwrap();
        close(&values(&y), &ds(n, 1, &v));
        let y = Vmap::new().in_dims(1).out_dims(1).of(&*f)(&x).unwrap();
        close(&values(&y), &ds(n, 0, &v));
    });
}

#[test]
fn p27_an_argument_that_all_lanes_share() {
    let (x, v) = rows();
    let w = Tensor::from([2.0, 3.0, -1.0]);
    let weight = |k: usize| [2.0, 3.0, -1.0][k % 3];
    for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand] {
        for n in [4, 5] {
            let f = Opaque::new(Weighted(n, b));
            let f = |x: &(Tensor, Tensor)| f.apply(x);
            let args = (x.clone(), w.clone());
            let all = Vmap::new().in_dims((0, None)).of(f)(&args).unwrap();
            let want: Vec<f64> = v.iter().enumerate().map(|(k, x)| weight(k) * d(n, 0, *x)).collect();
            close(&values(&all), &want);
            // Gradients of each lane, also by the shared argument.
            let (dx, dw) = Vmap::new().in_dims((0, None)).of(grad(|a: &(Tensor, Tensor)| f(a)?.sum()))(&args).unwrap();
            let slopes: Vec<f64> = v.iter().enumerate().map(|(k, x)| weight(k) * d(n, 1, *x)).collect();
            close(&values(&dx), &slopes);
            close(&values(&dw), &ds(n, 0, &v));
            // Outside of the lanes, the shared argument receives from all of them.
            let total = |a: &(Tensor, Tensor)| Vmap::new().in_dims((0, None)).of(f)(a)?.sum();
            let (dx, dw) = grad(total)(&args).unwrap();
            close(&values(&dx), &slopes);
            let sums: Vec<f64> = (0..3).map(|c| v.iter().skip(c).step_by(3).map(|x| d(n, 0, *x)).sum()).collect();
            close(&values(&dw), &sums);
            // Second order by both.
            let h = hessian(total)(&args).unwrap();
            close(&values(&h.1.1), &[0.0; 9]);
            let h = Vmap::new().in_dims((0, None)).of(hessian(|a: &(Tensor, Tensor)| f(a)?.sum()))(&args).unwrap();
            let want: Vec<f64> = v.chunks(3).flat_map(|row| diag(&ds(n, 1, row))).collect();
            close(&values(&h.0.1), &want);
        }
    }
}

#[test]
fn the_checker_finds_nothing() {
    let x = Tensor::from([0.7, 1.3, 2.1]);
    for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand, Batching::Flatten] {
        let report = check_function(&Opaque::new(Power::<false, true>(4, b)), &x).unwrap();
        assert!(report.is_ok(), "{b:?}: {report}");
        let report = check_function(&Opaque::new(Power::<true, true>(5, b)), &x).unwrap();
        assert!(report.is_ok(), "{b:?}: {report}");
    }
    let args = (x, Tensor::from([2.0, 0.5, -1.0]));
    for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand] {
        let report = check_function(&Opaque::new(Weighted(3, b)), &args).unwrap();
        assert!(report.is_ok(), "{b:?}: {report}");
    }
    // Rules on slices hold in every composition that differentiates once, and are refused in every other.
    for b in [Batching::Loop, Batching::LeadingDims, Batching::Expand, Batching::Flatten] {
        let report = check_function(&Opaque::new(RawPower(4, b)), &args.0).unwrap();
        assert!(report.is_ok(), "{b:?}: {report}");
        for name in ["second_order", "third_order", "vmap_of_second_order", "grad_of_vmap_of_grad"] {
            assert!(report.to_string().contains(&format!("skipped {name}: its rules work on slices")), "{report}");
        }
        assert!(report.to_string().contains("ok      second_order_is_refused"), "{report}");
    }
}

/// The square, with a rule on slices for one mode, whose slope is `factor` times `x`.
struct OneMode<const FORWARD: bool> {
    factor: f64,
}

/// `factor · x · g`.
fn slope(factor: f64, x: &ArrayRef<'_>, g: &ArrayRef<'_>, to: &mut Option<ArrayMut<'_>>) -> Result<()> {
    if let Some(to) = to {
        let (x, g) = (x.as_slice::<f64>()?, g.as_slice::<f64>()?);
        to.as_mut_slice::<f64>()?.iter_mut().zip(x.iter().zip(g)).for_each(|(to, (x, g))| *to = factor * x * g);
    }
    Ok(())
}

impl<const FORWARD: bool> OpaqueFunction for OneMode<FORWARD> {
    type Inputs = Tensor;
    type Outputs = Tensor;
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(x.clone())
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        let y = y[0].as_mut_slice::<f64>()?;
        y.iter_mut().zip(x[0].as_slice::<f64>()?).for_each(|(y, x)| *y = x * x);
        Ok(())
    }
    fn backward(
        &self,
        x: &[ArrayRef<'_>],
        y: &[ArrayRef<'_>],
        g: &[ArrayRef<'_>],
        dx: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        if FORWARD {
            return OpaqueFunction::backward(&Nothing, x, y, g, dx);
        }
        slope(self.factor, &x[0], &g[0], &mut dx[0])
    }
    fn jvp(
        &self,
        x: &[ArrayRef<'_>],
        y: &[ArrayRef<'_>],
        t: &[ArrayRef<'_>],
        dy: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        if !FORWARD {
            return OpaqueFunction::jvp(&Nothing, x, y, t, dy);
        }
        slope(self.factor, &x[0], &t[0], &mut dy[0])
    }
}

/// The identity, without any rule.
struct Nothing;

impl OpaqueFunction for Nothing {
    type Inputs = Tensor;
    type Outputs = Tensor;
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(x.clone())
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        y[0].as_mut_slice::<f64>()?.copy_from_slice(x[0].as_slice::<f64>()?);
        Ok(())
    }
}

#[test]
fn the_checker_knows_rules_for_one_mode() {
    fn failures<const FORWARD: bool>(factor: f64) -> (Vec<&'static str>, String) {
        let report = check_function(&Opaque::new(OneMode::<FORWARD> { factor }), &Tensor::from([0.7, 1.3])).unwrap();
        (report.failures().collect(), report.to_string())
    }
    let (failed, report) = failures::<false>(2.0);
    assert!(failed.is_empty(), "{report}");
    assert!(report.contains("ok      vjp_matches_differences") && report.contains("ok      vmap_of_grad"), "{report}");
    assert!(report.contains("skipped jvp_matches_differences: its only rule is `backward` on slices"), "{report}");
    let (failed, report) = failures::<true>(2.0);
    assert!(failed.is_empty(), "{report}");
    assert!(report.contains("ok      jvp_matches_differences") && report.contains("ok      vmap_of_jvp"), "{report}");
    assert!(report.contains("skipped vjp_matches_differences: its only rule is `jvp` on slices"), "{report}");
    // Wrong ones are found, and so are missing ones.
    assert_eq!(failures::<false>(3.0).0, ["vjp_matches_differences"]);
    assert_eq!(failures::<true>(3.0).0, ["jvp_matches_differences"]);
    let report = check_function(&Opaque::new(Nothing), &Tensor::from([0.7, 1.3])).unwrap();
    assert!(report.finding("rules_fit").is_some() && report.finding("second_order").is_some(), "{report}");
}

/// A function whose rule calls one that has no further derivative.
#[derive(Clone)]
struct Calls;

impl Function for Calls {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.powi(3)?.mul(1.0 / 3.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * Opaque::new(OneMode::<false> { factor: 2.0 }).apply(x)?)
    }
}

#[test]
fn a_rule_that_calls_a_function_without_rules_is_a_finding() {
    let report = check_function(&Calls, &Tensor::from([0.7, 1.3])).unwrap();
    assert_eq!(report.finding("jvp_matches_differences"), None, "{report}");
    assert!(report.finding("second_order").is_some(), "{report}");
}
