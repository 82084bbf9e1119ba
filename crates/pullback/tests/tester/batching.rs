//! Wrong batching rules.

use pullback::function::rules;
use pullback::testing::table::Sample;
use pullback::testing::{check_function, properties};
use pullback::{Context, Cotangent, DType, Dims, Function, Result, Tensor, VmapInfo};

use super::reports;

/// How the batching rule of `a·Σb` is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    /// The lanes are said to lie at the back.
    Dim,
    /// The sum runs over the lanes too.
    Sum,
    /// Everything is 10% too large.
    Scale,
    /// Every lane gets the result of lane 0.
    FirstLane,
    /// Right only if the lanes lie in front.
    FrontOnly,
    /// The batched result has another dtype.
    Dtype,
    /// The result of the batched function does not depend on `b` any more, as far as derivatives are concerned.
    Detached,
    /// The sums of the lanes promote the result, which the sum of one lane does not.
    Promotes,
    /// A batch dim that does not exist.
    OutOfRange,
    /// The rule panics.
    Panics,
    /// The rule cannot do without lanes.
    NoLanes,
}
use Wrong::*;

/// `a·Σb`, for vectors.
#[derive(Clone)]
struct Scaled(Wrong);

/// A tensor with its lanes in front; one that has none is repeated.
fn front(t: &Tensor, dim: Option<usize>, size: usize) -> Result<Tensor> {
    match dim {
        Some(dim) => t.movedim(&[dim as isize], &[0]),
        None => t.unsqueeze(0)?.expand(&[&[size], t.shape()].concat()),
    }
}

impl Function for Scaled {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);

    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        a.mul(b.sum()?)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, (a, b): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        Ok((&g * b.sum()?, g.map(|g| g.mul(a)?.sum()?.expand(b.shape()))?))
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        dims: (Option<usize>, Option<usize>),
        (a, b): &(Tensor, Tensor),
    ) -> Result<(Tensor, Dims<Tensor>)> {
        let dims = match self.0 {
            FrontOnly => (dims.0.map(|_| 0), dims.1.map(|_| 0)),
            _ => dims,
        };
        let n = info.batch_size;
        let (a, mut b) = (front(a, dims.0, n)?, front(b, dims.1, n)?);
        if self.0 == Detached {
            b = b.detach()?;
        }
        let mut sums = b.sum_dims(&[1], true)?;
        match self.0 {
            Sum => sums = b.sum()?,
            Scale => sums = sums.mul(1.1)?,
            FirstLane if n > 0 => sums = sums.narrow(0, 0, 1)?,
            Panics => panic!("on purpose"),
            NoLanes => sums = sums.mul(sums.select(0, 0)?.div(sums.select(0, 0)?)?)?,
            _ => {}
        }
        if self.0 != Promotes {
            // The sum of a lane is 0-d and gives way to the dtype of `a`; here it has a dimension and would not.
            sums = sums.to_dtype(a.dtype())?;
        }
        let y = a.mul(sums)?;
        Ok(match self.0 {
            Dim => (y.transpose(0, 1)?, Some(0)),
            Dtype => (y.to_dtype(DType::F32)?.to_dtype(DType::F64)?, Some(0)),
            OutOfRange => (y, Some(2)),
            _ => (y, Some(0)),
        })
    }
}

/// As many elements as there are lanes, so that a wrong dim can go unnoticed.
fn x() -> (Tensor, Tensor) {
    (Tensor::from([0.7, -1.3, 2.1]), Tensor::from([0.4, 1.6, -0.9]))
}

const LANES: &[&str] = &[
    "nested_vmap",
    "vmap_of_grad",
    "grad_of_vmap",
    "vmap_of_jvp",
    "jvp_of_vmap",
    "vmap_of_second_order",
    "grad_of_vmap_of_grad",
    "capture_replays_under_vmap",
];

#[test]
fn right_rule() {
    reports(&Scaled(Nothing), &x(), &[], &[]);
}

#[test]
fn wrong_values() {
    for wrong in [Dim, Sum, Scale, FirstLane, FrontOnly, Dtype, OutOfRange, Panics, NoLanes] {
        reports(&Scaled(wrong), &x(), &["vmap_is_loop"], LANES);
    }
}

#[test]
fn wrong_derivatives_only() {
    let second = &["vmap_of_second_order", "vmap_of_grad", "vmap_of_jvp"];
    reports(&Scaled(Detached), &x(), &["grad_of_vmap", "jvp_of_vmap"], second);
}

/// These are not checked for users' functions, which need not take several dtypes.
#[test]
fn mixed_dtypes() {
    let check = |name: &str, wrong: Wrong| {
        let property = properties().iter().find(|p| p.name == name).expect("a property");
        let (a, b) = x();
        property.check(&Sample::one("sample", [a, b], move |x| Scaled(wrong).apply(&(x[0].clone(), x[1].clone()))))
    };
    assert!(check("vmap_keeps_dtypes", Promotes).unwrap_err().contains("the batched result is f64[2,3]"));
    // The rule returns cotangents in the dtype of the output.
    assert!(check("derivatives_keep_dtypes", Nothing).unwrap_err().contains("expected a cotangent of type f64[3]"));
}

/// The sine by raw data, with a batching rule of choice.
#[derive(Clone)]
struct Outside {
    looping: bool,
}

impl Function for Outside {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y: Vec<f64> = x.to_dtype(DType::F64)?.to_vec::<f64>()?.into_iter().map(f64::sin).collect();
        Tensor::from_slice(&y, x.shape())?.to_dtype(x.dtype())
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * x.cos()?)
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        if self.looping { rules::per_example(self, info, dims, x) } else { rules::generated(self, info, dims, x) }
    }
}

#[test]
fn raw_data_under_the_generated_rule() {
    let x = Tensor::from([0.7, -1.3, 2.1]);
    let report = reports(&Outside { looping: false }, &x, &["vmap_is_loop"], LANES);
    assert!(report.finding("vmap_is_loop").unwrap().contains("implement `Function::vmap`"), "{report}");
    // A loop is right, for every number of lanes.
    let report = check_function(&Outside { looping: true }, &x).unwrap();
    assert!(report.is_ok(), "{report}");
}
