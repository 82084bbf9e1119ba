//! The lines of the data files.

use pullback::{DType, Element, Tensor, bf16, f16};

/// One line.
#[derive(Clone)]
pub struct Case {
    /// Its number in the file.
    pub line: usize,
    pub op: &'static str,
    pub parameters: Vec<&'static str>,
    /// The inputs as written.
    pub shown: String,
    pub inputs: Vec<Tensor>,
    pub value: Vec<Tensor>,
    pub vjp: Option<Vec<Tensor>>,
    pub jvp: Option<Vec<Tensor>>,
    pub hvp: Option<Vec<Tensor>>,
}

pub fn read(text: &'static str) -> Vec<Case> {
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.is_empty());
    lines.map(|(n, l)| case(n + 1, l)).collect()
}

fn case(line: usize, text: &'static str) -> Case {
    let mut fields = text.split('|');
    let mut next = || fields.next().unwrap_or("-");
    let (op, parameters, inputs) = (next(), next().split_whitespace().collect(), next());
    let mut read = || Some(next()).filter(|&t| t != "-").map(tensors);
    let value = read().unwrap_or_else(|| panic!("line {line} has no value"));
    Case {
        line,
        op,
        parameters,
        shown: inputs.into(),
        inputs: tensors(inputs),
        value,
        vjp: read(),
        jvp: read(),
        hvp: read(),
    }
}

fn tensors(text: &str) -> Vec<Tensor> {
    text.split(';').filter(|t| !t.is_empty()).map(tensor).collect()
}

/// `f64[2,3]:1,2,…`
fn tensor(text: &str) -> Tensor {
    let (ty, data) = text.split_once(':').unwrap_or_else(|| panic!("no tensor: `{text}`"));
    let (dtype, shape) = ty.split_once('[').unwrap();
    let shape: Vec<usize> = list(shape.trim_end_matches(']'));
    match dtype {
        "f64" => Tensor::from_slice(&list::<f64>(data), &shape),
        "f32" => Tensor::from_slice(&list::<f32>(data), &shape),
        "f16" => Tensor::from_slice(&list::<f32>(data), &shape).and_then(|t| t.to_dtype(DType::F16)),
        "bf16" => Tensor::from_slice(&list::<f32>(data), &shape).and_then(|t| t.to_dtype(DType::BF16)),
        other => {
            let dtype = DType::ALL.into_iter().find(|d| d.name() == other).unwrap();
            Tensor::from_slice(&list::<i64>(data), &shape).and_then(|t| t.to_dtype(dtype))
        }
    }
    .unwrap()
}

/// Elements separated by commas.
pub fn list<T: std::str::FromStr>(text: &str) -> Vec<T> {
    let element = |e: &str| e.parse().unwrap_or_else(|_| panic!("no number: `{e}`"));
    text.split(',').filter(|e| !e.is_empty()).map(element).collect()
}

/// The elements as f64.
pub fn values(t: &Tensor) -> Vec<f64> {
    fn of<T: Element>(t: &Tensor) -> Vec<f64> {
        t.to_vec::<T>().unwrap().into_iter().map(T::to_f64).collect()
    }
    match t.dtype() {
        DType::F64 => of::<f64>(t),
        DType::F32 => of::<f32>(t),
        DType::F16 => of::<f16>(t),
        DType::BF16 => of::<bf16>(t),
        _ => of::<i64>(&t.to_dtype(DType::I64).unwrap()),
    }
}
