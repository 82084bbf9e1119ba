//! Operations called with arguments whose types are known at run time.
#![cfg(feature = "dynamic")]

use std::collections::HashSet;

use pullback::dynamic::{Arguments, Form, Kind, Literal, Outcome, Results, Value, rebind};
use pullback::testing::operations;
use pullback::{DType, ErrorKind, Result, Scalar, Tensor};

fn forms() -> impl Iterator<Item = &'static Form> {
    operations().flat_map(|row| row.forms)
}

fn form(name: &str, parameters: usize) -> &'static Form {
    forms().find(|f| f.name == name && (f.parameters)().len() == parameters).unwrap()
}

fn call(form: &Form, values: impl IntoIterator<Item = Value>) -> Result<Vec<f64>> {
    let mut arguments = Arguments::new(form.name);
    values.into_iter().for_each(|v| arguments.push(v));
    match (form.call)(&mut arguments)? {
        Outcome::One(t) => t.to_dtype(DType::F64)?.to_vec(),
        Outcome::Several(all) => all[0].to_dtype(DType::F64)?.to_vec(),
        Outcome::Bool(holds) => Ok(vec![f64::from(u8::from(holds))]),
    }
}

fn x() -> Value {
    Value::Tensor(Tensor::from([[1.0, 2.0], [3.0, 4.0]]))
}

#[test]
fn every_row_has_a_form_unless_it_takes_an_index() {
    for row in operations() {
        assert!(!row.forms.is_empty() || row.signature.contains("Indices"), "{}", row.name);
    }
}

#[test]
fn forms_are_well_formed() {
    for form in forms() {
        let parameters = (form.parameters)();
        let names: HashSet<_> = parameters.iter().map(|p| p.name).collect();
        assert_eq!(names.len(), parameters.len(), "{}: a name occurs twice", form.name);
        assert!(form.is_function || form.is_method, "{}", form.name);
        assert!(!form.is_method || matches!(parameters[0].kind, Kind::Tensor | Kind::Operand), "{}", form.name);
        // A parameter without default does not stand behind one with a default.
        let first = parameters.iter().position(|p| p.default.is_some()).unwrap_or(parameters.len());
        assert!(parameters[first..].iter().all(|p| p.default.is_some()), "{}", form.name);
        for p in &parameters {
            // A default is a value of the kind.
            let fits = match (p.kind, p.default) {
                (_, None) => true,
                (_, Some(Literal::None)) => p.or_none,
                (Kind::Choice(names) | Kind::IntsOr(names) | Kind::FloatOr(names), Some(Literal::Name(n))) => {
                    names.contains(&n)
                }
                (Kind::Bool, Some(d)) => matches!(d, Literal::Bool(_)),
                (Kind::Exactly(only), Some(d)) => d == Literal::Bool(only),
                (Kind::Operand, Some(d)) => matches!(d, Literal::Int(_) | Literal::Float(_)),
                (Kind::Int | Kind::IntsOr(_) | Kind::IntOrPair, Some(d)) => matches!(d, Literal::Int(_)),
                (Kind::Ints, Some(d)) => matches!(d, Literal::Int(_) | Literal::Ints(_)),
                (Kind::Float | Kind::FloatOr(_), Some(d)) => matches!(d, Literal::Float(_) | Literal::Int(_)),
                (Kind::DType, Some(d)) => matches!(d, Literal::DType(_)),
                _ => false,
            };
            assert!(fits, "{}: {:?}", form.name, p);
        }
        if let Results::Several(n, names) = form.results {
            assert!(names.is_empty() || names.len() == n);
        }
    }
}

#[test]
fn arguments_are_converted_and_defaults_fill_in() {
    let number = Value::Number(Scalar::Int(2));
    assert_eq!(call(form("add", 2), [x(), number]).unwrap(), [3.0, 4.0, 5.0, 6.0]);
    let sum = form("sum", 4);
    assert_eq!(call(sum, [x()]).unwrap(), [10.0]);
    assert_eq!(call(sum, [x(), Value::Ints([0].into_iter().collect())]).unwrap(), [4.0, 6.0]);
    assert_eq!(call(form("topk", 5), [x(), Value::Int(1)]).unwrap(), [2.0, 4.0]);
    let clamp = forms().find(|f| f.name == "clamp" && (f.parameters)()[1].kind == Kind::Float).unwrap();
    assert_eq!(call(clamp, [x(), Value::None, Value::Float(2.5)]).unwrap(), [1.0, 2.0, 2.5, 2.5]);
    // The pattern of a method that is not the first parameter in Rust.
    let condition = Value::Tensor(Tensor::from([[true, false], [false, true]]));
    let place = forms().find(|f| f.name == "where" && f.is_method).unwrap();
    assert_eq!(call(place, [x(), condition, Value::Number(Scalar::Float(0.0))]).unwrap(), [1.0, 0.0, 0.0, 4.0]);
}

#[test]
fn a_dtype_is_that_of_the_work_and_of_the_result() {
    let third = || Value::Tensor(Tensor::from([0.1f32, 0.2]));
    let sum = |dtype| call(form("sum", 4), [third(), Value::Missing, Value::Missing, Value::DType(dtype)]);
    assert_eq!(sum(DType::F64).unwrap(), [f64::from(0.1f32) + f64::from(0.2f32)]);
    // What an operation cannot compute in is an error, not another dtype.
    let mean = form("mean", 4);
    let error = call(mean, [third(), Value::Missing, Value::Missing, Value::DType(DType::I64)]).unwrap_err();
    assert_eq!(error.to_string(), "mean: expected a dtype that it can compute in, got i64");
    assert_eq!(error.kind(), ErrorKind::Dtype);
    // Small integers are added as large ones.
    let small = Value::Tensor(Tensor::from([100u8, 100]));
    let arguments = [small, Value::Missing, Value::Missing, Value::DType(DType::I32)];
    assert_eq!(call(form("sum", 4), arguments).unwrap(), [200.0]);
}

#[test]
fn the_first_of_two_operands_may_be_a_number() {
    let two = Value::Number(Scalar::Int(2));
    let pow = forms().find(|f| f.name == "pow" && (f.parameters)()[0].kind == Kind::Operand).unwrap();
    assert_eq!(call(pow, [two.clone(), x()]).unwrap(), [2.0, 4.0, 8.0, 16.0]);
    assert_eq!(call(form("sub", 2), [two.clone(), x()]).unwrap(), [1.0, 0.0, -1.0, -2.0]);
    let error = call(form("sub", 2), [two.clone(), two]).unwrap_err();
    assert!(error.to_string().starts_with("sub: expected a tensor among the operands"), "{error}");
}

#[test]
fn a_form_may_take_a_parameter_in_another_way() {
    let x = || Value::Tensor(Tensor::from([1.0, 3.0]));
    let forms = || forms().filter(|f| f.name == "var");
    let unbiased = forms().find(|f| (f.parameters)().get(1).is_some_and(|p| p.name == "unbiased")).unwrap();
    assert_eq!(call(unbiased, [x(), Value::Bool(false)]).unwrap(), [1.0]);
    assert_eq!(call(unbiased, [x(), Value::Bool(true)]).unwrap(), [2.0]);
}

#[test]
fn options_are_parameters() {
    let image = Value::Tensor(Tensor::ones(&[1, 1, 4, 4], DType::F64).unwrap());
    let weight = Value::Tensor(Tensor::ones(&[1, 1, 3, 3], DType::F64).unwrap());
    let conv = form("conv2d", 7);
    let names: Vec<_> = (conv.parameters)().iter().map(|p| p.name).collect();
    assert_eq!(names, ["input", "weight", "bias", "stride", "padding", "dilation", "groups"]);
    assert_eq!(call(conv, [image, weight]).unwrap(), [9.0; 4]);
}

#[test]
fn errors_name_the_form_and_its_parameters() {
    let error = call(form("sum", 4), [x(), Value::Ints([5].into_iter().collect())]).unwrap_err();
    assert_eq!(error.to_string(), "sum: dim 5 is out of range for f64[2,2] (valid: -2..=1)");
    let error = call(form("chunk", 3), [x(), Value::Int(-1)]).unwrap_err();
    assert_eq!(error.to_string(), "chunk: expected `chunks` of at least 0, got -1");
    assert_eq!(error.kind(), ErrorKind::Value);
    let error = call(form("sum", 4), [x(), Value::Bool(true)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn results_in_place_can_have_the_type_of_the_tensor() {
    for row in operations().filter(|row| row.forms.iter().any(|form| form.in_place)) {
        let keeps = (row.samples)().iter().any(|sample| {
            // Samples give the parts of complex results along one more dimension.
            let shape = sample.inputs[0].shape();
            let keeps = |t: &Tensor| t.shape().strip_prefix(shape).is_some_and(|rest| rest.is_empty() || rest == [2]);
            (sample.call)(&sample.inputs).is_ok_and(|out| keeps(&out[0]))
        });
        assert!(keeps, "no sample of `{}` has a result in the shape of its tensor", row.name);
    }
    assert!(forms().all(|form| !form.in_place || form.is_method && form.results == Results::One));
}

#[test]
fn a_handle_is_given_a_result_of_its_type() -> Result<()> {
    let mut x = Tensor::from([1.5f32, -2.0]);
    let before = x.clone();
    rebind(&mut x, "gt_", before.gt(0)?)?;
    assert_eq!((x.to_vec::<f32>()?, before.to_vec::<f32>()?), (vec![1.0, 0.0], vec![1.5, -2.0]));
    let error = rebind(&mut x, "sum_", before.sum()?).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    let error = rebind(&mut x, "to_", before.to_dtype(DType::C64)?).unwrap_err();
    assert_eq!((error.kind(), x.to_vec::<f32>()?), (ErrorKind::Dtype, vec![1.0, 0.0]));
    let mut leaf = pullback::autograd::leaf(&before)?;
    pullback::autograd::no_grad(|| rebind(&mut leaf, "exp_", before.exp()?))?;
    assert!(leaf.is_leaf() && leaf.requires_grad());
    Ok(())
}
