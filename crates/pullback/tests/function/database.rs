//! A collection of functions under every nest of `grad`, `jvp` and `vmap` to depth three, against numbers that were
//! computed without the library; and how single methods are called.

use std::sync::{Arc, Mutex};

use pullback::function::rules;
use pullback::testing::check_function;
use pullback::*;

use crate::entries::*;
use crate::nests::{Jet, Lanes, Subject, all_nests, order};
use crate::{value, values};

fn c(x: f64) -> Jet {
    Jet::constant(x)
}

fn pair() -> Vec<Tensor> {
    vec![Tensor::from([0.7, -1.2]), Tensor::from([1.1, 0.4])]
}

/// Vectors of 4 and of 3 × 4 elements.
fn row_and_matrix() -> Vec<Tensor> {
    let m: Vec<f64> = (0..12).map(|i| 0.9 - 0.31 * f64::from(i) + 0.02 * f64::from(i * i)).collect();
    vec![Tensor::from([0.7, -1.2, 0.4, 1.5]), Tensor::from_slice(&m, &[3, 4]).unwrap()]
}

fn table() -> Vec<Tensor> {
    let m: Vec<f64> = (0..15).map(|i| f64::from(i * 7 % 15) * 0.2 - 1.3).collect();
    vec![Tensor::from_slice(&m, &[3, 5]).unwrap()]
}

fn one(f: impl Function<Inputs = Tensor, Outputs = Tensor>) -> Box<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>> {
    Box::new(move |x| Ok(vec![f.apply(&x[0])?]))
}

fn two(f: impl Function<Inputs = (Tensor, Tensor), Outputs = Tensor>) -> Box<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>> {
    Box::new(move |x| Ok(vec![f.apply(&(x[0].clone(), x[1].clone()))?]))
}

fn cube(x: &[Vec<Jet>]) -> Vec<Vec<Jet>> {
    vec![x[0].iter().map(|&v| v * v * v).collect(), x[0].iter().map(|&v| v * v * c(3.0)).collect()]
}

fn product(x: &[Vec<Jet>]) -> Vec<Vec<Jet>> {
    vec![x[1].iter().enumerate().map(|(i, &y)| x[0][i % 4] * y).collect()]
}

fn sorted(x: &[Vec<Jet>]) -> Vec<Vec<Jet>> {
    let mut rows: Vec<Vec<Jet>> = x[0].chunks(5).map(<[Jet]>::to_vec).collect();
    rows.iter_mut().for_each(|row| row.sort_by(|a, b| a.value().total_cmp(&b.value())));
    vec![rows.concat()]
}

/// A permutation of each of three rows of five, and its inverse.
fn permutation() -> (Tensor, Tensor) {
    let index = Tensor::from([[3i64, 0, 4, 1, 2], [1, 2, 3, 4, 0], [0, 1, 2, 3, 4]]);
    let inverse = index.argsort(-1, false).unwrap();
    (index, inverse)
}

#[test]
fn cube_on_raw_numbers() {
    let apply = |x: &[Tensor]| OpaqueCube.apply(&x[0]).map(|(a, b)| vec![a, b]);
    Subject { name: "OpaqueCube", inputs: pair()[..1].to_vec(), apply: Box::new(apply), twin: cube }.check_all();
}

#[test]
fn exponential_in_place() {
    let twin = |x: &[Vec<Jet>]| vec![x[0].iter().map(|v| v.exp()).collect()];
    Subject { name: "ExpInPlace", inputs: pair()[..1].to_vec(), apply: one(ExpInPlace), twin }.check_all();
    // The caller's tensor keeps its value, also under a transform.
    let x = Tensor::from([0.0, 1.0]);
    grad(|x: &Tensor| {
        let y = ExpInPlace.apply(x)?;
        assert_eq!(values(x), [0.0, 1.0]);
        y.sum()
    })(&x)
    .unwrap();
    assert_eq!(values(&x), [0.0, 1.0]);
}

#[test]
fn product_on_raw_numbers() {
    Subject { name: "OpaqueMul", inputs: row_and_matrix(), apply: two(OpaqueMul), twin: product }.check_all();
}

#[test]
fn cube_that_is_differentiable_once() {
    let twin = |x: &[Vec<Jet>]| cube(x)[..1].to_vec();
    let subject = Subject { name: "OnceCube", inputs: pair()[..1].to_vec(), apply: one(OnceCube), twin };
    for nest in all_nests() {
        for lanes in [Lanes::AllInFront, Lanes::SomeAtTheBack] {
            if order(&nest) < 2 {
                subject.check(&nest, lanes);
                continue;
            }
            let e = subject.run(&nest, lanes).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{nest:?}: {e}");
            assert!(e.to_string().contains("of function `OnceCube`"), "{nest:?}: {e}");
        }
    }
}

#[test]
fn sort_on_raw_numbers() {
    for dim in [1, -1] {
        let apply = move |x: &[Tensor]| Ok(vec![OpaqueSort { dim }.apply(&x[0])?.0]);
        Subject { name: "OpaqueSort", inputs: table(), apply: Box::new(apply), twin: sorted }.check_all();
    }
}

#[test]
fn take_on_raw_numbers() {
    let (index, inverse) = permutation();
    let apply =
        move |x: &[Tensor]| Ok(vec![OpaqueTake { dim: 1 }.apply(&(x[0].clone(), index.clone(), inverse.clone()))?]);
    let twin = |x: &[Vec<Jet>]| {
        let places = permutation().0.to_vec::<i64>().unwrap();
        vec![places.iter().enumerate().map(|(k, &p)| x[0][k / 5 * 5 + p as usize]).collect()]
    };
    Subject { name: "OpaqueTake", inputs: table(), apply: Box::new(apply), twin }.check_all();
}

#[test]
fn lanes_of_integers() {
    let (index, inverse) = permutation();
    let x = table().remove(0);
    // Each row is a lane, and so takes its own permutation; or all rows take the first.
    let f = |a: &(Tensor, Tensor, Tensor)| OpaqueTake { dim: -1 }.apply(a);
    let of_rows = vmap(f)(&(x.clone(), index.clone(), inverse.clone())).unwrap();
    assert_eq!(values(&of_rows), values(&x.take_along_dim(&index, 1).unwrap()));
    let (first, back) = (index.select(0, 0).unwrap(), inverse.select(0, 0).unwrap());
    let shared = Vmap::new().in_dims((0, None, None)).of(f)(&(x.clone(), first.clone(), back.clone())).unwrap();
    assert_eq!(values(&shared), values(&x.index_select(1, &first).unwrap()));
    // An input that no lane changes while the integers have lanes; the cotangents of the lanes are added up.
    let row = x.select(0, 0).unwrap();
    let lanes = |row: &Tensor| Vmap::new().in_dims((None, 0, 0)).of(f)(&(row.clone(), index.clone(), inverse.clone()));
    let weights = Tensor::from([[1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 20.0, 30.0, 40.0, 50.0], [0.0; 5]]);
    let g = grad(|row: &Tensor| lanes(row)?.mul(&weights)?.sum())(&row).unwrap();
    assert_eq!(values(&g), [52.0, 14.0, 25.0, 31.0, 43.0]);
}

#[test]
fn select_with_a_written_and_a_generated_batching_rule() {
    let twin = |x: &[Vec<Jet>]| vec![x[0][10..15].to_vec()];
    let written = one(Select::<false> { row: 2 });
    Subject { name: "Select", inputs: table(), apply: written, twin }.check_all();
    Subject { name: "generated Select", inputs: table(), apply: one(Select::<true> { row: 2 }), twin }.check_all();
    Subject { name: "default Select", inputs: table(), apply: one(Select::<false>::default()), twin }.check_all();
    let last = one(Select::<true> { row: -1 });
    Subject { name: "Select from behind", inputs: table(), apply: last, twin }.check_all();
}

#[test]
fn cube_in_operations() {
    let apply = |x: &[Tensor]| Cube.apply(&x[0]).map(|(a, b)| vec![a, b]);
    Subject { name: "Cube", inputs: pair()[..1].to_vec(), apply: Box::new(apply), twin: cube }.check_all();
}

#[test]
fn product_in_operations() {
    Subject { name: "Product", inputs: row_and_matrix(), apply: two(Product), twin: product }.check_all();
}

#[test]
fn sort_in_operations() {
    let apply = |x: &[Tensor]| Ok(vec![Sort.apply(&x[0])?.0]);
    Subject { name: "Sort", inputs: table(), apply: Box::new(apply), twin: sorted }.check_all();
}

#[test]
fn scaled_and_vanishing_gradients() {
    let twin = |x: &[Vec<Jet>]| vec![x[0].iter().map(|v| v.scale_derivatives(2.5)).collect()];
    Subject { name: "ScaleGrad", inputs: pair()[..1].to_vec(), apply: one(ScaleGrad(2.5)), twin }.check_all();
    let apply = |x: &[Tensor]| ZeroGradients.apply(&(x[0].clone(), x[1].clone())).map(|(a, b)| vec![a, b]);
    let twin = |x: &[Vec<Jet>]| x.iter().map(|t| t.iter().map(|v| v.scale_derivatives(0.0)).collect()).collect();
    Subject { name: "ZeroGradients", inputs: row_and_matrix(), apply: Box::new(apply), twin }.check_all();
}

#[test]
fn the_nests_notice_a_rule_that_is_a_little_wrong() {
    let twin = |x: &[Vec<Jet>]| x.to_vec();
    let subject = Subject { name: "Wrong", inputs: pair()[..1].to_vec(), apply: one(ScaleGrad(1.001)), twin };
    for nest in all_nests() {
        let (got, want) = subject.compare(&nest, Lanes::AllInFront).unwrap();
        assert_eq!((got - want).abs() > 1e-6, order(&nest) > 0, "{nest:?}: {got} and {want}");
    }
}

#[test]
fn the_checker_accepts_them() {
    let ok = |report: testing::Report| assert!(report.is_ok(), "{report}");
    let x = Tensor::from([0.7, -1.2]);
    let (row, matrix) = (Tensor::from([0.7, -1.2]), Tensor::from([[0.3, 0.9], [1.4, -0.6], [0.2, 0.5]]));
    ok(check_function(&Cube, &x).unwrap());
    ok(check_function(&Product, &(row, matrix.clone())).unwrap());
    ok(check_function(&Sort, &matrix).unwrap());
    ok(check_function(&Select::<true>::default(), &matrix).unwrap());
    ok(check_function(&Select::<false>::default(), &matrix).unwrap());
}

/// Twice the input, with a batching rule that writes down what it is told.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Function for Recorder {
    type Inputs = (Tensor, Vec<Tensor>);
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, (x, _): &(Tensor, Vec<Tensor>)) -> Result<Tensor> {
        x.mul(2.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Vec<Tensor>), _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        dims: Dims<Self::Inputs>,
        (x, _): &(Tensor, Vec<Tensor>),
    ) -> Result<(Tensor, Dims<Tensor>)> {
        let text = format!("{} {:?} {dims:?} {:?}", info.batch_size, info.randomness, x.shape());
        self.0.lock().unwrap().push(text);
        Ok((x.mul(2.0)?, dims.0))
    }
}

#[test]
fn what_a_batching_rule_is_told() {
    let f = Recorder::default();
    let x = Tensor::zeros(&[3, 2], DType::F64).unwrap();
    let list = vec![Tensor::zeros(&[4, 3], DType::F64).unwrap(), Tensor::from(1.0)];
    let dims = (Some(0), vec![Some(1), None]);
    for randomness in [Randomness::Error, Randomness::Different, Randomness::Same] {
        let run = Vmap::new().in_dims(dims.clone()).randomness(randomness).of(|a: &(Tensor, Vec<Tensor>)| f.apply(a));
        run(&(x.clone(), list.clone())).unwrap();
    }
    // The lanes of the first argument behind, and a `vmap` that maps nothing this function sees.
    let args = (x.transpose(0, 1).unwrap(), vec![]);
    Vmap::new().in_dims((1, 1)).of(|a: &(Tensor, Vec<Tensor>)| f.apply(a))(&args).unwrap();
    vmap(|_: &Tensor| f.apply(&(Tensor::from(1.0), vec![])))(&x).unwrap();
    let told = std::mem::take(&mut *f.0.lock().unwrap());
    assert_eq!(
        told,
        [
            "3 Error (Some(0), [Some(1), None]) [3, 2]",
            "3 Different (Some(0), [Some(1), None]) [3, 2]",
            "3 Same (Some(0), [Some(1), None]) [3, 2]",
            "3 Error (Some(1), []) [2, 3]",
        ]
    );
}

#[test]
fn results_that_no_lane_changes() {
    /// Two constants.
    #[derive(Clone)]
    struct Constants;
    impl Function for Constants {
        type Inputs = Tensor;
        type Outputs = (Tensor, Tensor);
        type Saved = ();
        fn forward(&self, _: &Tensor) -> Result<(Tensor, Tensor)> {
            Ok((Tensor::from(2.0), Tensor::from([1.0, 3.0])))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &(Tensor, Tensor)) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), _: (Cotangent, Cotangent)) -> Result<Cotangent> {
            Ok(Cotangent::zero())
        }
        fn vmap(&self, _: &VmapInfo, _: Dims<Tensor>, x: &Tensor) -> Result<(Self::Outputs, Dims<Self::Outputs>)> {
            Ok((self.apply(x)?, (None, None)))
        }
    }
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let (a, b) = vmap(|x: &Tensor| Constants.apply(x))(&x).unwrap();
    assert_eq!((values(&a), b.shape()), (vec![2.0; 3], &[3, 2][..]));
    assert_eq!(values(&vmap(grad(|x: &Tensor| Ok(Constants.apply(x)?.0)))(&x).unwrap()), [0.0; 3]);
}

#[test]
fn a_rule_with_a_shape_that_depends_on_values_works_one_row_at_a_time() {
    /// The square, whose `backward` counts with raw numbers.
    #[derive(Clone)]
    struct Counting;
    impl Function for Counting {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            assert!(g.tensor()?.to_vec::<f64>()?.iter().filter(|v| **v != 0.0).count() <= 1);
            Ok(g * x * 2.0)
        }
        fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            rules::per_example(self, info, dim, x)
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    let (_, pull) = vjp(|x: &Tensor| Counting.apply(x), &x).unwrap();
    assert_eq!(values(&pull.call(&Tensor::from([1.0, 0.0])).unwrap()), [2.0, 0.0]);
    // All rows at once have no single contents.
    let e = jacrev(|x: &Tensor| Counting.apply(x))(&x).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{e}");
    assert!(e.to_string().contains("`backward` of function `Counting`"), "{e}");
    // One output element needs no lanes.
    let j = jacrev(|x: &Tensor| Counting.apply(&x.narrow(0, 0, 1)?))(&x).unwrap();
    assert_eq!(values(&j), [2.0, 0.0]);
}

#[test]
fn a_transform_inside_forward_and_backward() {
    /// `Σ sin x` by way of a forward-mode derivative of `-cos`, in every method.
    #[derive(Clone)]
    struct SineByDerivative;
    fn slope(f: fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
        Ok(jvp(f, x, &Tensor::ones(x.shape(), x.dtype())?)?.1)
    }
    impl Function for SineByDerivative {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            slope(|x| x.cos()?.neg(), x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(g * slope(|x| x.sin(), x)?)
        }
    }
    let f = |x: &Tensor| SineByDerivative.apply(x);
    let x = Tensor::from(0.6);
    let near = |t: Result<Tensor>, want: f64| assert!((value(&t.unwrap()) - want).abs() < 1e-12);
    near(f(&x), 0.6f64.sin());
    near(grad(f)(&x), 0.6f64.cos());
    near(grad(grad(f))(&x), -0.6f64.sin());
    near(hessian(f)(&x), -0.6f64.sin());
    near(crate::forward(crate::forward(f))(&x), -0.6f64.sin());
    let lanes = vmap(grad(grad(f)))(&Tensor::from([0.6, 0.1])).unwrap();
    near(lanes.select(0, 1), -0.1f64.sin());
}
