//! Convolutions against sums written in operations of the library, the rules, errors, and that the checker notices wrong
//! rules.

use fft_convolution::{CircularConvolution, Mode, convolve};
use pullback::testing::{assert_close, check_function, gradcheck, gradgradcheck};
use pullback::{
    Context, Cotangent, DType, Dims, ErrorKind, Function, Result, Tensor, Vmap, VmapInfo, grad, hessian, jvp, stack,
    vjp, vmap,
};

/// Numbers that follow no pattern.
fn numbers(shape: &[usize], seed: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|k| ((k as f64 + seed) * 12.9898).sin() * 1.3).collect();
    Tensor::from_slice(&values, shape).unwrap()
}

/// `Σⱼ kⱼ·xᵢ₋ⱼ`, or `Σⱼ kⱼ·xᵢ₊ⱼ` backwards, as a sum of signals that are shifted and scaled.
fn direct(x: &Tensor, k: &Tensor, backwards: bool) -> Result<Tensor> {
    let mut sum = Tensor::zeros(x.shape(), x.dtype())?;
    for j in 0..k.shape()[0] as isize {
        sum = sum.add(&x.roll(&[if backwards { -j } else { j }], &[-1])?.mul(&k.select(0, j)?)?)?;
    }
    Ok(sum)
}

fn direct_full(x: &Tensor, k: &Tensor) -> Result<Tensor> {
    let (n, m) = (x.shape()[0], k.shape()[0]);
    let zeros = Tensor::zeros(&[m - 1], x.dtype())?;
    let long = pullback::cat(&[x, &zeros], 0)?;
    assert_eq!(long.shape(), [n + m - 1]);
    direct(&long, k, false)
}

#[test]
fn values_are_those_of_the_sum() {
    for n in [1, 2, 3, 8, 15, 64, 101] {
        let (x, k) = (numbers(&[n], 0.3), numbers(&[n], 7.1));
        let got = CircularConvolution::default().apply(&(x.clone(), k.clone())).unwrap();
        assert_close(&got, &direct(&x, &k, false).unwrap(), 1e-13);
        let short = k.narrow(0, 0, n.div_ceil(3)).unwrap();
        assert_close(&convolve(&x, &short, Mode::Circular).unwrap(), &direct(&x, &short, false).unwrap(), 1e-13);
        for m in [1, 2, 5, 40] {
            let k = numbers(&[m], 2.2);
            assert_close(&convolve(&x, &k, Mode::Full).unwrap(), &direct_full(&x, &k).unwrap(), 1e-13);
        }
    }
}

#[test]
fn leading_dimensions_broadcast() {
    let (x, k) = (numbers(&[4, 1, 6], 0.1), numbers(&[3, 6], 0.7));
    let got = CircularConvolution::default().apply(&(x.clone(), k.clone())).unwrap();
    assert_eq!(got.shape(), [4, 3, 6]);
    for (i, j) in [(0, 0), (2, 1), (3, 2)] {
        let (x, k) = (x.select(0, i).unwrap().select(0, 0).unwrap(), k.select(0, j).unwrap());
        let row = got.select(0, i).unwrap().select(0, j).unwrap();
        assert_close(&row, &direct(&x, &k, false).unwrap(), 1e-13);
    }
}

#[test]
fn single_precision_and_empty_signals() {
    let (x, k) = (numbers(&[2, 32], 0.3), numbers(&[32], 7.1));
    let narrow = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let got = convolve(&narrow(&x), &narrow(&k), Mode::Circular).unwrap();
    assert_close(&got, &narrow(&direct(&x, &k, false).unwrap()), 1e-6);
    let none = Tensor::zeros(&[0, 4], DType::F64).unwrap();
    assert_eq!(convolve(&none, &numbers(&[4], 0.0), Mode::Circular).unwrap().shape(), [0, 4]);
    let nothing = Tensor::zeros(&[0], DType::F64).unwrap();
    assert_eq!(CircularConvolution::default().apply(&(nothing.clone(), nothing)).unwrap().shape(), [0]);
}

#[test]
fn every_property_holds() {
    let holds =
        |x: Tensor, k: Tensor| check_function(&CircularConvolution::default(), &(x, k)).unwrap().into_result().unwrap();
    holds(numbers(&[5], 0.2), numbers(&[5], 0.9));
    holds(numbers(&[2, 4], 0.2), numbers(&[4], 0.9));
    holds(numbers(&[3], 0.2), numbers(&[2, 1, 3], 0.9));
}

#[test]
fn both_modes_pass_the_checks_of_gradients() {
    for mode in [Mode::Circular, Mode::Full] {
        let f = move |(x, k): &(Tensor, Tensor)| convolve(x, k, mode)?.sin();
        let at = (numbers(&[2, 6], 0.4), numbers(&[3], 1.5));
        gradcheck(f, &at).unwrap().into_result().unwrap();
        gradgradcheck(f, &at).unwrap().into_result().unwrap();
    }
}

#[test]
fn derivatives_are_those_of_the_sum() {
    let (x, k) = (numbers(&[9], 0.4), numbers(&[9], 1.5));
    let at = (x.clone(), k.clone());
    let fast = |(x, k): &(Tensor, Tensor)| CircularConvolution::default().apply(&(x.clone(), k.clone()));
    let slow = |(x, k): &(Tensor, Tensor)| direct(x, k, false);
    let g = numbers(&[9], 3.3);
    let pulled = vjp(fast, &at).unwrap().1.call(&g).unwrap();
    assert_close(&pulled, &vjp(slow, &at).unwrap().1.call(&g).unwrap(), 1e-13);
    // The closed form: correlations.
    assert_close(&pulled, &(direct(&g, &k, true).unwrap(), direct(&g, &x, true).unwrap()), 1e-13);
    let along = (g.clone(), g.sin().unwrap());
    assert_close(&jvp(fast, &at, &along).unwrap(), &jvp(slow, &at, &along).unwrap(), 1e-13);
    // Second and third order, of something that is not bilinear.
    let energy = |f: fn(&Tensor, &Tensor) -> Result<Tensor>| move |x: &Tensor| f(x, &x.sin()?)?.square()?.sum();
    let fast = energy(|x, k| CircularConvolution::default().apply(&(x.clone(), k.clone())));
    let slow = energy(|x, k| direct(x, k, false));
    assert_close(&hessian(fast)(&x).unwrap(), &hessian(slow)(&x).unwrap(), 1e-12);
    let third = jvp(hessian(fast), &x, &g).unwrap().1;
    assert_close(&third, &jvp(hessian(slow), &x, &g).unwrap().1, 1e-12);
    // The Hessian of a squared deviation is twice the correlation of the signal with itself.
    let curvature = hessian(|k: &Tensor| convolve(&x, k, Mode::Circular)?.square()?.sum())(&k).unwrap();
    let first = direct(&x, &x, true).unwrap() * 2.0;
    assert_close(&curvature.select(0, 0).unwrap(), &first, 1e-13);
}

#[test]
fn vmap_is_the_loop_for_lanes_anywhere() {
    let lane = |seed: f64, dim: Option<usize>, shape: &[usize]| -> (Vec<Tensor>, Tensor) {
        let each: Vec<Tensor> =
            (0..3).map(|k| numbers(shape, seed + if dim.is_some() { 10.0 * f64::from(k) } else { 0.0 })).collect();
        let all = dim.map_or(each[0].clone(), |d| stack(&each.iter().collect::<Vec<_>>(), d as isize).unwrap());
        (each, all)
    };
    let value = |(x, k): &(Tensor, Tensor)| convolve(x, k, Mode::Circular);
    let slope =
        |at: &(Tensor, Tensor)| grad(|(x, k): &(Tensor, Tensor)| convolve(x, k, Mode::Full)?.square()?.sum())(at);
    for x_shape in [&[5][..], &[2, 5]] {
        for x_dim in [None, Some(0), Some(1)] {
            for k_dim in [None, Some(0), Some(1)] {
                if (x_dim, k_dim) == (None, None) {
                    continue;
                }
                let ((x, all_x), (k, all_k)) = (lane(0.3, x_dim, x_shape), lane(5.9, k_dim, &[4]));
                let each: Vec<(Tensor, Tensor)> = x.into_iter().zip(k).collect();
                let all = (all_x, all_k);
                let got = Vmap::new().in_dims((x_dim, k_dim)).of(value)(&all).unwrap();
                let want: Vec<Tensor> = each.iter().map(|at| value(at).unwrap()).collect();
                assert_close(&got, &pullback::stack_trees(&want).unwrap(), 1e-13);
                let got = Vmap::new().in_dims((x_dim, k_dim)).of(slope)(&all).unwrap();
                let want: Vec<(Tensor, Tensor)> = each.iter().map(|at| slope(at).unwrap()).collect();
                assert_close(&got, &pullback::stack_trees(&want).unwrap(), 1e-13);
            }
        }
    }
}

#[test]
fn errors_say_who_and_what() {
    let circular = |x: Tensor, k: Tensor| CircularConvolution::default().apply(&(x, k)).unwrap_err();
    let e = circular(numbers(&[4], 0.0), numbers(&[5], 0.0));
    assert_eq!(e.kind(), ErrorKind::Shape);
    assert_eq!(
        e.to_string(),
        "`forward` of function `CircularConvolution`: expected [.., n] twice with leading dimensions that broadcast, got \
         f64[4] and f64[5]"
    );
    assert_eq!(circular(numbers(&[2, 4], 0.0), numbers(&[3, 4], 0.0)).kind(), ErrorKind::Shape);
    assert_eq!(circular(Tensor::from(1.0), Tensor::from(1.0)).kind(), ErrorKind::Shape);
    let e = circular(numbers(&[4], 0.0), numbers(&[4], 0.0).to_dtype(DType::F32).unwrap());
    assert!(e.is_dtype() && e.to_string().contains("got f64[4] and f32[4]; help: convert them with `to_dtype`"), "{e}");
    assert!(circular(Tensor::from([1i64]), Tensor::from([1i64])).is_dtype());
    let e = convolve(&numbers(&[4], 0.0), &numbers(&[5], 0.0), Mode::Circular).unwrap_err();
    assert_eq!(e.to_string(), "convolve: expected a kernel of 1 to 4 elements, got f64[5] for f64[4]");
    assert!(convolve(&Tensor::from(1.0), &numbers(&[1], 0.0), Mode::Full).unwrap_err().is_shape());
    assert!(convolve(&numbers(&[3], 0.0), &numbers(&[0], 0.0), Mode::Full).unwrap_err().is_shape());
    let e = vmap(|x: &Tensor| CircularConvolution::default().apply(&(x.clone(), numbers(&[5], 0.0))))(&numbers(
        &[7, 4],
        0.0,
    ))
    .unwrap_err();
    assert!(
        e.to_string().contains("`vmap` of function `CircularConvolution`: ")
            && e.to_string().contains("got f64[4] and f64[5]"),
        "{e}"
    );
}

/// The convolution with mistakes that are easily made.
#[derive(Clone)]
struct Wrong(Mistake);

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// The cotangent of the signal is a convolution too.
    NotReversed,
    /// The derivative treats the kernel as a constant.
    ConstantKernel,
    /// Lanes stay where they are, also if they lie along the last dimension.
    LanesStay,
}

impl Function for Wrong {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);

    fn forward(&self, inputs: &(Tensor, Tensor)) -> Result<Tensor> {
        CircularConvolution::default().apply(inputs)
    }

    fn setup_context(&self, _: &mut Context<Self>, inputs: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(inputs.clone())
    }

    fn backward(&self, _: &Context<Self>, (x, k): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        let gx = g.map(|g| direct(g, k, self.0 != Mistake::NotReversed))?;
        let gk = if self.0 == Mistake::ConstantKernel { Cotangent::zero() } else { g.map(|g| direct(g, x, true))? };
        Ok((gx, gk))
    }

    fn vmap(
        &self,
        _: &VmapInfo,
        dims: Dims<(Tensor, Tensor)>,
        inputs: &(Tensor, Tensor),
    ) -> Result<(Tensor, Option<usize>)> {
        let stays = self.0 == Mistake::LanesStay && dims.0 == dims.1;
        let front = |t: &Tensor, dim: Option<usize>| t.movedim(&[dim.unwrap_or(0) as isize], &[0]);
        let y = match (stays, dims) {
            (true, _) => self.apply(inputs)?,
            (_, (Some(_), None)) => self.apply(&(front(&inputs.0, dims.0)?, inputs.1.clone()))?,
            (_, (None, Some(_))) => self.apply(&(inputs.0.clone(), front(&inputs.1, dims.1)?))?,
            _ => self.apply(&(front(&inputs.0, dims.0)?, front(&inputs.1, dims.1)?))?,
        };
        Ok((y, if stays { dims.0 } else { Some(0) }))
    }
}

#[test]
fn wrong_rules_are_noticed() {
    let finds = |mistake, property: &str| {
        let report = check_function(&Wrong(mistake), &(numbers(&[5], 0.2), numbers(&[5], 0.9))).unwrap();
        assert!(report.finding(property).is_some(), "{report}");
    };
    finds(Mistake::NotReversed, "jvp_matches_differences");
    finds(Mistake::ConstantKernel, "jvp_matches_differences");
    finds(Mistake::LanesStay, "vmap_is_loop");
}
