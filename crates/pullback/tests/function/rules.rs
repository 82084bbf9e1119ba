//! The batching rules that a hand-written `vmap` can choose from: each holds in every composition for the functions that it
//! is for, and is refused or reported for others.

use pullback::function::rules;
use pullback::testing::check_function;
use pullback::*;

use crate::{value, values};

type Pair = (Tensor, Tensor);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Loop,
    LeadingDims,
    Expand,
    Elementwise,
    Flatten,
}

/// Elementwise x·sin(y) with broadcasting, through raw data, batched by a rule of choice.
#[derive(Clone)]
struct Wave(Rule);

/// The product of two f64 or f32 tensors, and the sine, through raw data.
fn raw(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let product = x.mul(&y.sin()?)?;
    let data = product.to_dtype(DType::F64)?.to_vec::<f64>()?;
    Tensor::from_slice(&data, product.shape())?.to_dtype(product.dtype())
}

macro_rules! batched_by {
    ($of:expr, $self:ident, $info:ident, $dims:ident, $inputs:ident) => {
        match $of {
            Rule::Loop => rules::per_example($self, $info, $dims, $inputs),
            Rule::LeadingDims => rules::leading_dims($self, $info, $dims, $inputs),
            Rule::Expand => rules::expand($self, $info, $dims, $inputs),
            Rule::Elementwise => rules::elementwise($self, $info, $dims, $inputs),
            Rule::Flatten => rules::flatten($self, $info, $dims, $inputs),
        }
    };
}

impl Function for Wave {
    type Inputs = Pair;
    type Outputs = Tensor;
    type Saved = Pair;
    fn forward(&self, (x, y): &Pair) -> Result<Tensor> {
        raw(x, y)
    }
    fn setup_context(&self, _: &mut Context<Self>, inputs: &Pair, _: &Tensor) -> Result<Pair> {
        Ok(inputs.clone())
    }
    fn backward(&self, _: &Context<Self>, (x, y): &Pair, g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        let dx = g.map(|g| g.mul(&y.sin()?)?.sum_to(x.shape()))?;
        let dy = g.map(|g| g.mul(x)?.mul(&y.cos()?)?.sum_to(y.shape()))?;
        Ok((dx, dy))
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Pair>, inputs: &Pair) -> Result<(Tensor, Dims<Tensor>)> {
        batched_by!(self.0, self, info, dims, inputs)
    }
}

fn matrix(rows: usize, columns: usize) -> Tensor {
    let v: Vec<f64> = (0..rows * columns).map(|k| 0.3 + 0.17 * k as f64).collect();
    Tensor::from_slice(&v, &[rows, columns]).unwrap()
}

#[test]
fn the_checker_finds_nothing() {
    let same = (matrix(2, 3), matrix(2, 3) * 0.7);
    for rule in [Rule::Loop, Rule::LeadingDims, Rule::Expand, Rule::Elementwise, Rule::Flatten] {
        let report = check_function(&Wave(rule), &same).unwrap();
        assert!(report.is_ok(), "{rule:?}: {report}");
    }
    // Inputs of different ranks broadcast; this rule and the loop know how to align them.
    for inputs in [
        (matrix(2, 3), Tensor::from([0.5, 1.0, 1.5])),
        (Tensor::from(0.8), matrix(2, 3)),
        (Tensor::from([0.4, 0.9]), Tensor::from(1.1)),
    ] {
        for rule in [Rule::Loop, Rule::Elementwise] {
            let report = check_function(&Wave(rule), &inputs).unwrap();
            assert!(report.is_ok(), "{rule:?}: {report}");
        }
        // The others do not align, which is an error or reported.
        assert!(!check_function(&Wave(Rule::LeadingDims), &inputs).unwrap().is_ok());
    }
}

#[test]
fn nothing_moves_where_all_lanes_lie_alike() {
    let x = matrix(2, 3).t().unwrap();
    let y = Vmap::new().in_dims(1).out_dims(1).of(|p: &Pair| Wave(Rule::Elementwise).apply(p))(&(x.clone(), x.clone()));
    let want = raw(&x, &x).unwrap();
    assert_eq!(values(&y.unwrap()), values(&want));
}

/// The sum of a vector through raw data.
#[derive(Clone)]
struct Total(Rule);

impl Function for Total {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Static<Vec<usize>>;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if x.numel() > 3 {
            return Err(Error::new(ErrorKind::Shape, format!("expected at most three elements, got {}", x.ty())));
        }
        Ok(Tensor::from(x.to_vec::<f64>()?.iter().sum::<f64>()))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Static<Vec<usize>>> {
        Ok(Static(x.shape().to_vec()))
    }
    fn backward(&self, _: &Context<Self>, shape: &Static<Vec<usize>>, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(&Tensor::ones(&shape.0, DType::F64)?))
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        batched_by!(self.0, self, info, dims, x)
    }
}

#[test]
fn zero_lanes() {
    let f = |x: &Tensor| Total(Rule::Loop).apply(x);
    let none = |n| Tensor::zeros(&[0, n], DType::F64).unwrap();
    assert_eq!(vmap(f)(&none(3)).unwrap().ty().to_string(), "f64[0]");
    assert_eq!(vmap(grad(f))(&none(3)).unwrap().shape(), [0, 3]);
    assert_eq!(grad(|x: &Tensor| vmap(f)(x)?.sum())(&none(3)).unwrap().shape(), [0, 3]);
    assert_eq!(vmap(vmap(f))(&Tensor::zeros(&[2, 0, 3], DType::F64).unwrap()).unwrap().shape(), [2, 0]);
    assert_eq!(vmap(vmap(f))(&Tensor::zeros(&[0, 2, 3], DType::F64).unwrap()).unwrap().shape(), [0, 2]);
    // Where a lane of zeros is an error, the types cannot be known.
    let err = vmap(f)(&none(4)).unwrap_err();
    assert!(err.is_shape());
    assert!(
        err.to_string().contains(
            "`vmap` of function `Total`: expected at least one lane, got 0, and the types of the outputs are unknown, because \
             a lane of zeros is an error"
        ),
        "{err}"
    );
    // A shared input keeps its derivative, which is zero.
    let w = Tensor::from(2.0);
    let total = |w: &Tensor| {
        Vmap::new().in_dims((0, None)).of(|(x, w): &Pair| Total(Rule::Loop).apply(x)?.mul(w))(&(none(3), w.clone()))?
            .sum()
    };
    assert_eq!(value(&grad(total)(&w).unwrap()), 0.0);
}

#[test]
fn rules_that_do_not_fit_the_function_are_errors() {
    let xs = Tensor::ones(&[3, 1], DType::F64).unwrap();
    // The function takes all lanes for one.
    for (rule, says) in [
        (Rule::LeadingDims, "batch dim 0 of output 0 is out of range for f64[]"),
        (Rule::Expand, "batch dim 0 of output 0 is out of range for f64[]"),
        (Rule::Flatten, "rules::flatten: expected as many rows for each of 3 lanes in output 0, got f64[]"),
    ] {
        let err = vmap(|x: &Tensor| Total(rule).apply(x))(&xs).unwrap_err();
        assert!(err.is_rule(), "{err}");
        assert!(err.to_string().contains(&format!("`vmap` of function `Total`: {says}")), "{err}");
    }
    let y = vmap(|x: &Tensor| Total(Rule::Loop).apply(x))(&xs).unwrap();
    assert_eq!(values(&y), [1.0; 3]);
}
