//! Sums of products by an equation of letters, such as `bik,bkj->bij`.

use super::check_numbers;
use super::contract::{Labels, Spec};
use super::path::{Order, order};
use crate::error::bail;
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::shape::Shape;
use crate::{DType, ErrorKind, Result, Tensor};

/// Dimensions under an ellipsis are labelled downwards from here, the last of them first: no letter is as high.
const LAST_LEAD: u8 = u8::MAX;

/// An operand on its way, with a label for each dimension.
struct Labelled {
    tensor: Tensor,
    labels: Labels,
}

pub(super) fn einstein_sum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    let Equation { inputs, output } = Equation::parse(equation, operands)?;
    let mut dtype = DType::Bool;
    for t in operands {
        check_numbers("einsum", &[t])?;
        dtype = dtype.promote(t.dtype());
    }
    let mut sizes = [1usize; 256];
    for (k, (labels, t)) in inputs.iter().zip(operands).enumerate() {
        for (&label, &n) in labels.iter().zip(t.shape()) {
            let size = &mut sizes[usize::from(label)];
            if *size == 1 {
                *size = n;
            } else if n != 1 && n != *size {
                bail!(
                    Shape,
                    "einsum: expected size {size} for {} of operand {k}, as before, got {}",
                    describe(label),
                    t.ty()
                );
            }
        }
    }
    let mut terms: Vec<Labelled> = Vec::with_capacity(operands.len());
    for (labels, t) in inputs.into_iter().zip(operands) {
        terms.push(prepare(t.to_dtype(dtype)?, labels, &sizes)?);
    }
    let labels: Vec<Labels> = terms.iter().map(|t| t.labels.clone()).collect();
    let order = match terms.len() {
        0 => bail!(Arity, "einsum: expected at least one operand, got none"),
        1 => Order::Term(0),
        2 => Order::Pair(Box::new(Order::Term(0)), Box::new(Order::Term(1))),
        _ => order(&labels, &sizes, &output),
    };
    let mut terms: Vec<Option<Labelled>> = terms.into_iter().map(Some).collect();
    let Some(sum) = product(&order, &mut terms, &labels, &output)? else {
        bail!(Internal, "einsum: an operand was to be used twice");
    };
    let sum = reduce(sum, |l| output.contains(l))?;
    let order: Vec<isize> =
        output.iter().filter_map(|l| sum.labels.iter().position(|o| o == l)).map(|d| d as isize).collect();
    if order.is_sorted() { Ok(sum.tensor) } else { sum.tensor.permute(&order) }
}

/// The product in an order, with the labels that are needed later.
fn product(
    order: &Order,
    terms: &mut [Option<Labelled>],
    labels: &[Labels],
    output: &Labels,
) -> Result<Option<Labelled>> {
    let (left, right) = match order {
        Order::Term(k) => return Ok(terms[*k].take()),
        Order::Pair(left, right) => (left, right),
    };
    let (Some(a), Some(b)) = (product(left, terms, labels, output)?, product(right, terms, labels, output)?) else {
        return Ok(None);
    };
    let inside = order.terms();
    let outside = |l: &u8| labels.iter().enumerate().any(|(k, labels)| !inside.contains(&k) && labels.contains(l));
    let later = |l: &u8| output.contains(l) || outside(l);
    let a = reduce(a, |l| later(l) || b.labels.contains(l))?;
    let b = reduce(b, |l| later(l) || a.labels.contains(l))?;
    let out: Labels = if inside.len() == labels.len() {
        output.clone()
    } else {
        let others = b.labels.iter().filter(|l| !a.labels.contains(l));
        a.labels.iter().chain(others).filter(|l| later(l)).copied().collect()
    };
    let spec = Spec { name: "einsum", lhs: &a.labels, rhs: &b.labels, bias: None, out: &out };
    Ok(Some(Labelled { tensor: spec.apply(&a.tensor, &b.tensor, None)?, labels: out }))
}

/// The letters of an equation, each operand and the result.
struct Equation {
    inputs: Vec<Labels>,
    output: Labels,
}

impl Equation {
    fn parse(equation: &str, operands: &[&Tensor]) -> Result<Equation> {
        let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != operands.len() {
            bail!(Arity, "einsum: expected {} operands for \"{equation}\", got {}", terms.len(), operands.len());
        }
        let (mut inputs, mut most_leads) = (Vec::new(), 0);
        for (k, (term, t)) in terms.into_iter().zip(operands).enumerate() {
            let letters = term.bytes().filter(|&c| c != b'.').count();
            let leads = if term.contains("...") { t.rank().saturating_sub(letters) } else { 0 };
            let labels = labels(equation, term, leads)?;
            if labels.len() != t.rank() {
                bail!(Shape, "einsum: expected a dimension for each letter of \"{term}\", got operand {k} {}", t.ty());
            }
            most_leads = most_leads.max(leads);
            inputs.push(labels);
        }
        let output = match right {
            Some(right) => labels(equation, right, most_leads)?,
            None => {
                // Each letter that occurs once, in alphabetical order, after what the ellipses stand for.
                let all: Labels = inputs.iter().flatten().copied().collect();
                let once = |l: &u8| all.iter().filter(|o| *o == l).count() == 1;
                leads(most_leads).chain((b'A'..=b'z').filter(once)).collect()
            }
        };
        for (k, label) in output.iter().enumerate() {
            if output[..k].contains(label) {
                bail!(Value, "einsum: {} occurs twice in the result of \"{equation}\"", describe(*label));
            }
            if !inputs.iter().any(|labels| labels.contains(label)) {
                bail!(Value, "einsum: {} of the result is in no operand of \"{equation}\"", describe(*label));
            }
        }
        Ok(Equation { inputs, output })
    }
}

/// The labels of the `n` dimensions under an ellipsis.
fn leads(n: usize) -> impl Iterator<Item = u8> {
    (0..n).rev().map(|d| LAST_LEAD - d as u8)
}

/// The labels of one term, whose ellipsis stands for `n` dimensions.
fn labels(equation: &str, term: &str, n: usize) -> Result<Labels> {
    let most = usize::from(LAST_LEAD - b'z');
    if n > most {
        bail!(Shape, "einsum: expected at most {most} dimensions under an ellipsis, got {n}");
    }
    let (front, back) = match term.split_once("...") {
        Some((front, back)) => (front, Some(back)),
        None => (term, None),
    };
    if let Some(c) = front.chars().chain(back.unwrap_or_default().chars()).find(|c| !c.is_ascii_alphabetic()) {
        bail!(Value, "einsum: expected letters, `,`, `->` and at most one `...` a term, got '{c}' in \"{equation}\"");
    }
    let middle = if back.is_some() { n } else { 0 };
    Ok(front.bytes().chain(leads(middle)).chain(back.unwrap_or_default().bytes()).collect())
}

fn describe(label: u8) -> String {
    if label > b'z' { "a dimension under `...`".into() } else { format!("`{}`", char::from(label)) }
}

/// An operand without dimensions of size 1 that others make larger, and with the diagonal of repeated letters.
fn prepare(tensor: Tensor, labels: Labels, sizes: &[usize; 256]) -> Result<Labelled> {
    let kept = |d: &usize| tensor.shape()[*d] != 1 || sizes[usize::from(labels[*d])] == 1;
    let dims: Vec<usize> = (0..labels.len()).filter(kept).collect();
    let shape: Shape = dims.iter().map(|&d| tensor.shape()[d]).collect();
    let mut tensor = tensor.reshape_to(&shape)?;
    let mut labels: Labels = dims.iter().map(|&d| labels[d]).collect();
    while let Some((i, j)) = repeated(&labels) {
        tensor = tensor.diagonal(0, i as isize, j as isize)?;
        let label = labels[i];
        labels.remove(j);
        labels.remove(i);
        labels.push(label);
    }
    Ok(Labelled { tensor, labels })
}

/// The places of a label that occurs twice.
fn repeated(labels: &[u8]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|j| Some((labels[..j].iter().position(|l| *l == labels[j])?, j)))
}

/// The sum over the dimensions that are not to be kept, in the dtype of the operand.
fn reduce(x: Labelled, keep: impl Fn(&u8) -> bool) -> Result<Labelled> {
    let over: Vec<isize> = (0..x.labels.len()).filter(|&d| !keep(&x.labels[d])).map(|d| d as isize).collect();
    if over.is_empty() {
        return Ok(x);
    }
    let labels = x.labels.iter().copied().filter(keep).collect();
    Ok(Labelled { tensor: x.tensor.sum_dims(&over, false)?.to_dtype(x.tensor.dtype())?, labels })
}

/// Sums over every value of every letter.
fn naive(equation: &str, inputs: &[Naive]) -> Naive {
    let (left, right) = equation.split_once("->").expect("samples name the result");
    let terms: Vec<&str> = left.split(',').collect();
    let mut letters: Vec<u8> = right.bytes().collect();
    letters.extend(left.bytes().filter(|c| c.is_ascii_alphabetic() && !right.as_bytes().contains(c)));
    let mut summed = letters.split_off(right.len());
    summed.sort();
    summed.dedup();
    let size = |c: &u8| {
        let found = |(term, x): (&&str, &Naive)| term.bytes().position(|o| o == *c).map(|d| x.shape[d]);
        terms.iter().zip(inputs).filter_map(found).fold(1, |size, n| if size == 1 { n } else { size })
    };
    let (out, inner): (Vec<usize>, Vec<usize>) =
        (letters.iter().map(size).collect(), summed.iter().map(size).collect());
    Naive::from_fn(&out, |i| {
        let product = |q: &[usize]| {
            let value = |c: u8| match letters.iter().position(|o| *o == c) {
                Some(k) => i[k],
                None => summed.iter().position(|o| *o == c).map_or(0, |k| q[k]),
            };
            let element = |(term, x): (&&str, &Naive)| x.at_broadcast(&term.bytes().map(value).collect::<Vec<_>>());
            terms.iter().zip(inputs).map(element).product()
        };
        Naive::from_fn(&inner, product).data.iter().sum()
    })
}

/// A sample; `plain` is the same equation with every letter written out.
fn sample(equation: &'static str, plain: &'static str, shapes: &[&[usize]]) -> Sample {
    let inputs: Vec<Tensor> =
        shapes.iter().zip(1..).map(|(shape, seed)| sample_tensor(shape, -1.0, 1.0, seed)).collect();
    let call = move |x: &[Tensor]| einstein_sum(equation, &x.iter().collect::<Vec<_>>());
    Sample::one(equation, inputs, call).reference(move |x| vec![naive(plain, x)])
}

pub(super) fn samples() -> Vec<Sample> {
    let written_out = |equation: &'static str, shapes: &[&[usize]]| sample(equation, equation, shapes);
    vec![
        written_out("ik,kj->ij", &[&[2, 3], &[3, 4]]),
        written_out("bik,bkj->ibj", &[&[2, 3, 2], &[2, 2, 3]]),
        written_out("i,j->ji", &[&[2], &[3]]),
        written_out("i,i->", &[&[3], &[3]]),
        written_out("ij,jk,kl->il", &[&[2, 3], &[3, 2], &[2, 3]]),
        written_out("ij,kl->", &[&[2, 3], &[2, 2]]),
        written_out("ab,c,cb->a", &[&[2, 3], &[2], &[2, 3]]),
        written_out("ii->i", &[&[3, 3]]),
        written_out("ii->", &[&[3, 3]]),
        written_out("iji,j->i", &[&[2, 3, 2], &[3]]),
        written_out("ij->ji", &[&[2, 3]]),
        written_out("ijk->j", &[&[2, 3, 2]]),
        written_out("ij,ij->ij", &[&[1, 3], &[2, 1]]),
        written_out("ij,jk->ik", &[&[1, 1], &[1, 1]]),
        written_out("i,ij->ij", &[&[0], &[0, 2]]),
        written_out("->", &[&[]]),
        sample("b a, a", "ba,a->b", &[&[2, 3], &[3]]),
        sample("zy", "zy->yz", &[&[2, 3]]),
        sample("...ij,...jk->...ik", "ij,ajk->aik", &[&[2, 3], &[2, 3, 2]]),
        sample("i...->...", "iab->ab", &[&[2, 3, 2]]),
        sample("...,...", "ab,b->ab", &[&[2, 3], &[3]]),
    ]
}

pub(super) fn errors() -> Vec<ErrorSample> {
    use ErrorKind::{Arity, Dtype, Shape, Value};
    let case = |label: &str, kind, message, equation: &'static str, shapes: &'static [&'static [usize]]| {
        ErrorSample::new(label, kind, message, move || {
            let inputs = shapes.iter().map(|s| Tensor::ones(s, DType::F32)).collect::<Result<Vec<_>>>()?;
            einstein_sum(equation, &inputs.iter().collect::<Vec<_>>())
        })
    };
    vec![
        case("operands", Arity, "expected 2 operands for \"ij,jk->ik\", got 1", "ij,jk->ik", &[&[2, 3]]),
        case("rank", Shape, "a dimension for each letter of \"ij\", got operand 0 f32[2]", "ij->i", &[&[2]]),
        case(
            "sizes",
            Shape,
            "expected size 3 for `j` of operand 1, as before, got f32[2]",
            "ij,j->i",
            &[&[2, 3], &[2]],
        ),
        case("repeated result", Value, "`i` occurs twice in the result", "ij->ii", &[&[2, 2]]),
        case("unknown result", Value, "`k` of the result is in no operand", "ij->k", &[&[2, 2]]),
        case("character", Value, "got '1' in \"i1->i\"", "i1->i", &[&[2, 2]]),
        case("two ellipses", Value, "got '.'", "......->", &[&[2, 2]]),
        ErrorSample::new("bool", Dtype, "einsum: expected numbers, got bool[2]", || {
            einstein_sum("i->", &[&Tensor::ones(&[2], DType::Bool)?])
        }),
    ]
}
