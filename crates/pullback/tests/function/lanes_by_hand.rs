//! The strategies of `rules` called by a batching rule that is written by hand, rightly and wrongly.

use pullback::function::rules;
use pullback::*;

use crate::{value, values};

/// Which strategy a [`Scale`] calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Generated,
    PerExample,
    LeadingDims,
    Expand,
    Elementwise,
    Flatten,
}
const ALL: [By; 6] = [By::Generated, By::PerExample, By::LeadingDims, By::Expand, By::Elementwise, By::Flatten];

type Inputs = Vec<Tensor>;
type Edit = fn(&mut VmapInfo, &mut Vec<Option<usize>>, &mut Vec<Tensor>);

/// The product of its two inputs, whose batching rule changes what it is given with `edit` before it asks a strategy.
#[derive(Clone)]
struct Scale(By, Edit);

impl Function for Scale {
    type Inputs = Inputs;
    type Outputs = Tensor;
    type Saved = Inputs;
    fn forward(&self, x: &Inputs) -> Result<Tensor> {
        x[0].mul(&x[1])
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Inputs, _: &Tensor) -> Result<Inputs> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Inputs, g: Cotangent) -> Result<Vec<Cotangent>> {
        Ok(vec![g.map(|g| g.mul(&x[1])?.sum_to(x[0].shape()))?, g.map(|g| g.mul(&x[0])?.sum_to(x[1].shape()))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Inputs>, x: &Inputs) -> Result<(Tensor, Dims<Tensor>)> {
        let (mut info, mut dims, mut x) = (*info, dims, x.clone());
        (self.1)(&mut info, &mut dims, &mut x);
        match self.0 {
            By::Generated => rules::generated(self, &info, dims, &x),
            By::PerExample => rules::per_example(self, &info, dims, &x),
            By::LeadingDims => rules::leading_dims(self, &info, dims, &x),
            By::Expand => rules::expand(self, &info, dims, &x),
            By::Elementwise => rules::elementwise(self, &info, dims, &x),
            By::Flatten => rules::flatten(self, &info, dims, &x),
        }
    }
}

fn scale(by: By, edit: Edit) -> impl Fn(&Inputs) -> Result<Tensor> + Clone {
    move |x| Scale(by, edit).apply(x)
}

fn matrix(rows: usize, columns: usize) -> Tensor {
    Tensor::from_slice(&(0..rows * columns).map(|k| k as f64).collect::<Vec<_>>(), &[rows, columns]).unwrap()
}

#[test]
fn right_calls_give_what_a_loop_gives() {
    let (x, w) = (matrix(3, 2), Tensor::from([10.0, 100.0]));
    let want = [0.0, 100.0, 20.0, 300.0, 40.0, 500.0];
    for by in ALL {
        let f = scale(by, |_, _, _| {});
        for (dims, args) in [
            (vec![Some(0), None], vec![x.clone(), w.clone()]),
            (vec![None, Some(0)], vec![w.clone(), x.clone()]),
            (vec![Some(1), None], vec![x.t().unwrap(), w.clone()]),
            (vec![Some(1), Some(0)], vec![x.t().unwrap(), stack(&[&w, &w, &w], 0).unwrap()]),
        ] {
            let y = Vmap::new().in_dims(dims.clone()).of(f.clone())(&args).unwrap();
            assert_eq!(values(&y), want, "{by:?} {dims:?}");
            // The gradient in a lane, and through the lanes: the sum of the other factor over the elements.
            let total = |args: &Inputs| Vmap::new().in_dims(dims.clone()).of(f.clone())(args)?.sum();
            let of_lane = |lane: &Inputs| Ok(grad(|lane: &Inputs| f(lane)?.sum())(lane)?[0].clone());
            let inside = Vmap::new().in_dims(dims.clone()).of(of_lane)(&args).unwrap();
            let outside = grad(total)(&args).unwrap();
            if dims[0] == Some(0) {
                assert_eq!(values(&inside), values(&outside[0]), "{by:?} {dims:?}");
            }
            assert_eq!([outside[0].shape(), outside[1].shape()], [args[0].shape(), args[1].shape()], "{by:?} {dims:?}");
        }
        // Lanes of lanes, and no lanes.
        let cube = matrix(3, 4).reshape(&[2, 3, 2]).unwrap();
        let inner = Vmap::new().in_dims(vec![Some(0), None]).of(f.clone());
        let y = Vmap::new().in_dims(vec![Some(0), None]).of(&inner)(&vec![cube.clone(), w.clone()]).unwrap();
        assert_eq!(values(&y), values(&cube.mul(&w).unwrap()), "{by:?}");
        for shape in [[0usize, 3, 2], [2, 0, 2]] {
            let none = vec![Tensor::zeros(&shape, DType::F64).unwrap(), w.clone()];
            let y = Vmap::new().in_dims(vec![Some(0), None]).of(&inner)(&none).unwrap();
            assert_eq!(y.shape(), shape, "{by:?}");
        }
    }
}

#[test]
fn inputs_that_no_lane_changes_serve_every_lane() {
    // The rule declares that nothing has lanes, and passes one lane on.
    let first: Edit = |_, dims, x| {
        dims[0] = None;
        x[0] = x[0].select(0, 0).unwrap();
    };
    for by in ALL {
        let y = Vmap::new().in_dims(vec![Some(0), None]).of(scale(by, first))(&vec![
            matrix(3, 2).add(1.0).unwrap(),
            Tensor::from([10.0, 100.0]),
        ]);
        assert_eq!(values(&y.unwrap()), [10.0, 200.0, 10.0, 200.0, 10.0, 200.0], "{by:?}");
    }
}

#[test]
fn wrong_dims_are_errors_by_name() {
    let cases: [(Edit, &str); 5] = [
        (|_, dims, _| dims[0] = Some(2), "batch dim 2 of input 0 is out of range for f64[3,2]"),
        (
            |_, dims, _| dims[1] = Some(0),
            "expected 3 lanes along dim 0 of input 1, got 2 (f64[2]); help: pass the dims on",
        ),
        (|info, _, _| info.batch_size = 2, "expected 2 lanes along dim 0 of input 0, got 3 (f64[3,2]); help: pass the"),
        (|_, dims, _| _ = dims.pop(), "expected one batch dim for each of 2 inputs, got 1"),
        (|_, dims, _| dims.push(None), "expected one batch dim for each of 2 inputs, got 3"),
    ];
    let args = vec![matrix(3, 2), Tensor::from([10.0, 100.0])];
    for by in ALL {
        let name = match by {
            By::Generated => "generated",
            By::PerExample => "per_example",
            By::LeadingDims => "leading_dims",
            By::Expand => "expand",
            By::Elementwise => "elementwise",
            By::Flatten => "flatten",
        };
        for (edit, want) in cases {
            let f = scale(by, edit);
            let call = Vmap::new().in_dims(vec![Some(0), None]).of(f.clone());
            let errors = [
                call(&args).unwrap_err(),
                grad(|x: &Inputs| call(x)?.sum())(&args).unwrap_err(),
                vmap(|x: &Tensor| call(&vec![matrix(3, 2), x.clone()]))(&matrix(4, 2)).unwrap_err(),
            ];
            for e in errors {
                assert!(e.is_rule(), "{by:?}: {e:?}");
                let (want, text) = (format!("`vmap` of function `Scale` > rules::{name}: {want}"), e.to_string());
                assert!(text.replace("`Scale`: rules", "`Scale` > rules").contains(&want), "{by:?}: {text}");
            }
        }
    }
}

#[test]
fn a_strategy_that_does_not_fit_is_an_error() {
    /// The sum of everything, which treats no dimension as lanes.
    #[derive(Clone)]
    struct Total(By);
    impl Function for Total {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.sum()
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            match self.0 {
                By::LeadingDims => rules::leading_dims(self, info, dim, x),
                By::Expand => rules::expand(self, info, dim, x),
                By::Elementwise => rules::elementwise(self, info, dim, x),
                By::Flatten => rules::flatten(self, info, dim, x),
                _ => rules::per_example(self, info, dim, x),
            }
        }
    }
    let x = matrix(3, 2);
    assert_eq!(values(&vmap(|x: &Tensor| Total(By::PerExample).apply(x))(&x).unwrap()), [1.0, 5.0, 9.0]);
    for (by, want) in [
        (By::LeadingDims, "batch dim 0 of output 0 is out of range for f64[]"),
        (By::Expand, "batch dim 0 of output 0 is out of range for f64[]"),
        (By::Elementwise, "batch dim 0 of output 0 is out of range for f64[]"),
        (By::Flatten, "rules::flatten: expected as many rows for each of 3 lanes in output 0, got f64[]"),
    ] {
        let e = vmap(|x: &Tensor| Total(by).apply(x))(&x).unwrap_err();
        assert!(e.is_rule() && e.to_string().contains(want), "{by:?}: {e}");
    }
    assert_eq!(value(&Total(By::Flatten).apply(&x).unwrap()), 15.0);
}
