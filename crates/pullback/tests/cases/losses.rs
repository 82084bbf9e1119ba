//! Losses with options, and images at the places of a grid.

use pullback::nn::{CrossEntropy, CtcLoss, GridMode, GridPadding, GridSample, NllLoss};
use pullback::{DType, Reduction, Result, Tensor, Vmap, grad, hessian, jacfwd, jacrev, vmap};

use crate::{close, iota, noise, value, values};

/// The loss of an image of classes: the mean over all pixels, each an example.
#[test]
fn c140_classes_lie_along_the_second_dimension() {
    let (x, t) = (noise(&[2, 3, 2, 2], 0.3), Tensor::from([[[0i64, 2], [1, 1]], [[2, 2], [0, 1]]]));
    let rows = x.permute(&[0, 2, 3, 1]).unwrap().reshape(&[8, 3]).unwrap();
    let flat = t.flatten(0, -1).unwrap();
    let weight = Tensor::from([0.5, 2.0, 1.5]);
    let options = CrossEntropy::new().weight(&weight).ignore_index(1).label_smoothing(0.1);
    close(&[value(&x.cross_entropy(&t).unwrap())], &[value(&rows.cross_entropy(&flat).unwrap())]);
    let (image, pixels) = (x.cross_entropy_with(&t, &options), rows.cross_entropy_with(&flat, &options));
    close(&[value(&image.unwrap())], &[value(&pixels.unwrap())]);
    let of_image = grad(|x: &Tensor| x.cross_entropy_with(&t, &options))(&x).unwrap();
    let of_rows = grad(|x: &Tensor| x.cross_entropy_with(&flat, &options))(&rows).unwrap();
    close(&values(&of_image.permute(&[0, 2, 3, 1]).unwrap()), &values(&of_rows));
    // Lanes of images, and an image alone, whose rows are the examples.
    let lanes = vmap(|(x, t): &(Tensor, Tensor)| x.t()?.cross_entropy(t))(&(
        x.flatten(2, -1).unwrap(),
        t.flatten(1, -1).unwrap(),
    ));
    close(&[value(&lanes.unwrap().mean().unwrap())], &[value(&x.cross_entropy(&t).unwrap())]);
}

/// Zero times an infinite slope is no number; what is left out must not be multiplied.
#[test]
fn what_is_left_out_does_not_reach_the_gradient() {
    let nan = f64::NAN;
    let x = Tensor::from([[0.0, 0.0], [nan, f64::INFINITY], [1.0, 1.0]]);
    let t = Tensor::from([0i64, -100, 1]);
    let options = CrossEntropy::new().ignore_index(-100).weight(&Tensor::from([1.0, 3.0]));
    let loss = |x: &Tensor| x.cross_entropy_with(&t, &options);
    close(&[value(&loss(&x).unwrap())], &[2f64.ln()]);
    let expected = [-0.125, 0.125, 0.0, 0.0, 0.375, -0.375];
    close(&values(&grad(loss)(&x).unwrap()), &expected);
    let each = |x: &Tensor| x.cross_entropy_with(&t, options.clone().reduction(Reduction::None))?.sum()?.div(4.0);
    close(&values(&grad(each)(&x).unwrap()), &expected);
    // Also at second order, in both ways.
    let h = values(&hessian(loss)(&x).unwrap());
    close(&[h[0], h[1], h[28], h[35]], &[0.0625, -0.0625, 0.1875, 0.1875]);
    assert!(h.iter().all(|v| v.is_finite()));
    close(&values(&jacrev(jacrev(loss))(&x).unwrap()), &h);
    let nll = NllLoss::new().ignore_index(-100);
    let logs = Tensor::from([[-1.0, -2.0], [nan, nan], [-4.0, -0.5]]);
    let of_logs = grad(|x: &Tensor| x.nll_loss_with(&t, &nll))(&logs).unwrap();
    close(&values(&of_logs), &[-0.5, 0.0, 0.0, 0.0, 0.0, -0.5]);
    // A mean over nothing is no number, as in PyTorch.
    let none = x.cross_entropy_with(&Tensor::from([7i64, 7, 7]), CrossEntropy::new().ignore_index(7)).unwrap();
    assert!(value(&none).is_nan());
}

/// Sums of many losses and weights do not fit into half precision; their quotient does.
#[test]
fn a_weighted_mean_of_many_halves_is_finite() -> Result<()> {
    let n = 100_000;
    let x = Tensor::zeros(&[n, 4], DType::F16)?;
    let t = Tensor::zeros(&[n], DType::I64)?;
    let weight = Tensor::from([2.0f32, 1.0, 1.0, 1.0]);
    let loss = x.cross_entropy_with(&t, CrossEntropy::new().weight(&weight))?;
    assert_eq!(loss.dtype(), DType::F16);
    assert!((loss.to_dtype(DType::F64)?.item::<f64>()? - 4f64.ln()).abs() < 1e-3);
    // The sum over many classes, too.
    let smooth = CrossEntropy::new().label_smoothing(0.5);
    let loss = Tensor::zeros(&[2, 20_000], DType::F16)?.cross_entropy_with(&Tensor::from([0i64, 1]), smooth)?;
    assert!((loss.to_dtype(DType::F64)?.item::<f64>()? - 20_000f64.ln()).abs() < 1e-2);
    Ok(())
}

/// Per-example gradients with all options are those of a loop.
#[test]
fn gradients_of_single_examples_take_options() {
    let (x, t) = (noise(&[4, 3], 1.0), Tensor::from([0i64, -1, 2, 1]));
    let weight = Tensor::from([0.5, 2.0, 1.0]);
    let options = CrossEntropy::new().weight(&weight).label_smoothing(0.2).ignore_index(-1).reduction(Reduction::Sum);
    let one = |(x, t): &(Tensor, Tensor)| grad(|x: &Tensor| x.cross_entropy_with(t, &options))(x);
    let lanes = vmap(one)(&(x.clone(), t.clone())).unwrap();
    let whole = grad(|x: &Tensor| x.cross_entropy_with(&t, &options))(&x).unwrap();
    close(&values(&lanes), &values(&whole));
}

#[test]
fn alignments_of_repeated_labels_need_a_blank_between() {
    // The only alignment of two equal labels with three steps.
    let x = noise(&[3, 2], 0.4).log_softmax(-1).unwrap();
    let (t, steps, labels) = (Tensor::from([1i64, 1]), Tensor::from(3i64), Tensor::from(2i64));
    let loss = |x: &Tensor| x.ctc_loss(&t, &steps, &labels, Reduction::Sum);
    let p = values(&x);
    close(&[value(&loss(&x).unwrap())], &[-(p[1] + p[2] + p[5])]);
    close(&values(&grad(loss)(&x).unwrap()), &[0.0, -1.0, -1.0, 0.0, 0.0, -1.0]);
    close(&values(&hessian(loss)(&x).unwrap()), &[0.0; 36]);
    // With two steps there is none.
    let short = |x: &Tensor| x.ctc_loss(&t, &Tensor::from(2i64), &labels, Reduction::Sum);
    assert_eq!(value(&short(&x).unwrap()), f64::INFINITY);
    assert!(values(&grad(short)(&x).unwrap())[..4].iter().all(|v| v.is_nan()));
    let zero = CtcLoss::new().zero_infinity(true);
    let dropped = |x: &Tensor| x.ctc_loss(&t, &Tensor::from(2i64), &labels, &zero);
    close(&values(&grad(dropped)(&x).unwrap()), &[0.0; 6]);
}

/// A long sequence, whose probability is far below the smallest number, and examples of different lengths in one batch.
#[test]
fn long_alignments_do_not_underflow() {
    let (steps, classes) = (1200, 5);
    let logits = noise(&[steps, 2, classes], 0.7).mul(3.0).unwrap();
    let labels: Vec<i64> = (0..2 * 100).map(|k| 1 + k * k % 4).collect();
    let t = Tensor::from_slice(&labels, &[2, 100]).unwrap();
    let (n, m) = (Tensor::from([1200i64, 700]), Tensor::from([100i64, 60]));
    let loss = |x: &Tensor| x.log_softmax(-1)?.ctc_loss(&t, &n, &m, Reduction::Sum);
    let g = grad(loss)(&logits).unwrap();
    assert!(value(&loss(&logits).unwrap()) > 100.0);
    // The classes of each step share what one of them gains, and steps behind the end have no part.
    let sums = values(&g.sum_dims(&[2], false).unwrap());
    assert!(sums.iter().all(|v| v.abs() < 1e-9));
    let tail = values(&g.slice(0, 700, None, 1).unwrap().select(1, 1).unwrap());
    assert!(tail.iter().all(|v| *v == 0.0));
    // Alone they are the same.
    let first =
        |x: &Tensor| x.log_softmax(-1)?.ctc_loss(&t.select(0, 1)?, &n.select(0, 1)?, &m.select(0, 1)?, Reduction::Sum);
    let alone = grad(first)(&logits.select(1, 1).unwrap()).unwrap();
    close(&values(&g.select(1, 1).unwrap()), &values(&alone));
}

#[test]
fn a_shift_by_whole_elements_is_a_slice() {
    // Large enough to be shared among threads.
    let x = noise(&[2, 8, 96, 128], 0.2);
    let shift = Tensor::from([[1.0, 0.0, 2.0 * 5.0 / 127.0], [0.0, 1.0, 2.0 * 3.0 / 95.0]]).unsqueeze(0).unwrap();
    let theta = shift.expand(&[2, 2, 3]).unwrap();
    let grid = theta.affine_grid(&[2, 8, 96, 128], true).unwrap();
    for mode in [GridMode::Linear, GridMode::Nearest, GridMode::Cubic] {
        let options = GridSample::new().mode(mode).align_corners(true);
        let run = |x: &Tensor| x.grid_sample(&grid, &options);
        let inside = |y: &Tensor| y.slice(2, 2, 90, 1)?.slice(3, 2, 120, 1);
        let expected = x.slice(2, 5, 93, 1).unwrap().slice(3, 7, 125, 1).unwrap();
        close(&values(&inside(&run(&x).unwrap()).unwrap()), &values(&expected));
        // The transpose moves back: ⟨g, Ax⟩ = ⟨Aᵀg, x⟩.
        let g = noise(&[2, 8, 96, 128], 0.9);
        let back = grad(|x: &Tensor| run(x)?.mul(&g)?.sum())(&x).unwrap();
        let (a, b) =
            (value(&run(&x).unwrap().mul(&g).unwrap().sum().unwrap()), value(&back.mul(&x).unwrap().sum().unwrap()));
        assert!((a - b).abs() < 1e-8 * a.abs().max(1.0), "{a} {b}");
    }
}

/// A spatial transformer: the derivative by the map of the grid, also where lanes share the image or the map.
#[test]
fn gradients_of_affine_maps() {
    let image = iota(&[1, 1, 4, 5]).square().unwrap().div(50.0).unwrap();
    let theta = Tensor::from([[[0.7, 0.1, 0.05], [-0.2, 0.8, 0.1]]]);
    let loss = |theta: &Tensor, image: &Tensor| {
        let grid = theta.affine_grid(&[1, 1, 3, 3], false)?;
        image.grid_sample(&grid, &GridSample::new().padding(GridPadding::Border))?.square()?.mean()
    };
    let g = values(&grad(|theta: &Tensor| loss(theta, &image))(&theta).unwrap());
    for (k, g) in g.iter().enumerate() {
        let moved = |h: f64| {
            let mut data = values(&theta);
            data[k] += h;
            value(&loss(&Tensor::from_slice(&data, &[1, 2, 3]).unwrap(), &image).unwrap())
        };
        assert!(((moved(1e-6) - moved(-1e-6)) / 2e-6 - g).abs() < 1e-6);
    }
    // The Hessian by both ways, and by image and map mixed.
    let h = jacrev(jacrev(|theta: &Tensor| loss(theta, &image)))(&theta).unwrap();
    close(&values(&h), &values(&jacfwd(jacfwd(|theta: &Tensor| loss(theta, &image)))(&theta).unwrap()));
    let mixed = jacrev(|image: &Tensor| grad(|theta: &Tensor| loss(theta, image))(&theta))(&image).unwrap();
    let other = jacfwd(|image: &Tensor| grad(|theta: &Tensor| loss(theta, image))(&theta))(&image).unwrap();
    close(&values(&mixed), &values(&other));
    // Many maps of one image, and many images under one map.
    let maps = noise(&[3, 1, 2, 3], 0.5);
    let many = Vmap::new()
        .in_dims((0, None))
        .of(|(theta, image): &(Tensor, Tensor)| grad(|theta: &Tensor| loss(theta, image))(theta));
    let each = many(&(maps.clone(), image.clone())).unwrap();
    for k in 0..3 {
        let alone = grad(|theta: &Tensor| loss(theta, &image))(&maps.select(0, k).unwrap()).unwrap();
        close(&values(&each.select(0, k).unwrap()), &values(&alone));
    }
}
