//! Rules that are not differentiated in turn: one call of such a rule is an operation that has no derivative.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::erased::{Erased, place};
use super::op::{Batched, Cotangents, Op, OpRef, Outs, Saved, State, Tangents};
use super::vmapped::generated;
use super::{Cotangent, Function, Tangent, VmapInfo};
use crate::interp::{Method, bind};
use crate::shape::without_dim;
use crate::{Error, ErrorKind, Result, Tensor, error::bail, stack};

/// Which rule runs.
#[derive(Clone)]
pub(super) enum Rule {
    /// `backward`, with the inputs that need a cotangent.
    Backward(SmallVec<[bool; 8]>),
    Jvp,
}

/// One call of a rule. Its inputs are what the rule reads, then the inputs of the function, then the cotangents (or
/// tangents) that are not symbolic zeros; its outputs are the results that are tensors.
///
/// The inputs of the function are there although the rule does not get them: whatever depends on them must notice
/// that a derivative is missing.
struct Once<F: Function> {
    call: Arc<Call<F>>,
}

struct Call<F: Function> {
    erased: Erased<F>,
    rule: Rule,
    /// How many of the inputs the rule reads, and how many come before the cotangents.
    read: usize,
    before: usize,
    state: State,
    non_differentiable: Box<[usize]>,
    /// Which cotangents are tensors.
    present: SmallVec<[bool; 8]>,
    /// Per result, `None` for a tensor, else the symbolic value.
    found: OnceLock<Vec<Option<Cotangent>>>,
}

/// Calls a rule of `erased` such that the result has no derivative. `saved` holds `read` tensors for the rule, and the
/// inputs of the function.
pub(super) fn apply<F: Function>(
    erased: &Erased<F>,
    rule: Rule,
    saved: &Saved,
    read: usize,
    seeds: &[Cotangent],
) -> Result<SmallVec<[Cotangent; 2]>> {
    let call = Arc::new(Call {
        erased: erased.clone(),
        rule,
        read,
        before: saved.tensors.len(),
        state: saved.state.clone(),
        non_differentiable: saved.non_differentiable.clone(),
        present: seeds.iter().map(|s| s.as_tensor().is_some()).collect(),
        found: OnceLock::new(),
    });
    let inputs: Vec<&Tensor> = saved.tensors.iter().chain(seeds.iter().filter_map(Cotangent::as_tensor)).collect();
    let mut outs = bind(&OpRef::new(Once { call: call.clone() }), &inputs)?.into_iter();
    let found = call.found.get().map(Vec::as_slice).unwrap_or_default();
    let fill = |symbol: &Option<Cotangent>| match symbol {
        Some(symbol) => Some(symbol.clone()),
        None => outs.next().map(Cotangent::from),
    };
    Ok(found.iter().filter_map(fill).collect())
}

impl<F: Function> Call<F> {
    fn method(&self) -> Method {
        match self.rule {
            Rule::Backward(_) => Method::Backward,
            Rule::Jvp => Method::Jvp,
        }
    }

    fn refuse<T>(&self) -> Result<T> {
        let results = match self.rule {
            Rule::Backward(_) => "cotangents",
            Rule::Jvp => "tangents",
        };
        let method = self.method();
        let e = Error::new(
            ErrorKind::NotDifferentiable,
            format!(
                "the function is differentiable once, so the {results} that `{}` returned have no derivative",
                method.name()
            ),
        );
        let e = e.with_help(
            "write the rule in tensor operations and let `once_differentiable` return false, or detach the result",
        );
        Err(e.in_context(place(self.erased.name(), method)))
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let saved = Saved {
            tensors: inputs[..self.read].iter().map(|&t| t.clone()).collect(),
            state: self.state.clone(),
            non_differentiable: self.non_differentiable.clone(),
        };
        let mut tensors = inputs[self.before..].iter();
        let mut seed = |&present: &bool| match present.then(|| tensors.next()).flatten() {
            Some(&t) => Cotangent::from(t.clone()),
            None => Cotangent::zero(),
        };
        let seeds: Vec<Cotangent> = self.present.iter().map(&mut seed).collect();
        let results = match &self.rule {
            Rule::Backward(needs) => self.erased.run_backward(&saved, needs, &seeds)?.into_vec(),
            Rule::Jvp => self.erased.run_jvp(&saved, &seeds)?.into_vec(),
        };
        let symbols: Vec<Option<Cotangent>> =
            results.iter().map(|c| if c.as_tensor().is_some() { None } else { Some(c.clone()) }).collect();
        let known = self.found.get_or_init(|| symbols.clone());
        if known.iter().map(Option::is_some).ne(symbols.iter().map(Option::is_some)) {
            bail!(
                Rule,
                "{}: expected the same results to be symbolic zeros for every lane",
                place(self.erased.name(), self.method())
            );
        }
        Ok(results.into_iter().filter_map(Cotangent::into_tensor).collect())
    }
}

impl<F: Function> Op for Once<F> {
    fn name(&self) -> &str {
        self.call.erased.name()
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        self.call.run(inputs)
    }

    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }

    fn backward(&self, _: &Saved, _: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        self.call.refuse()
    }

    fn jvp(&self, _: &Saved, _: &[Tangent]) -> Result<Tangents> {
        self.call.refuse()
    }

    /// All lanes at once if the rule is written in tensor operations, and one after the other if it reads data.
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let op = OpRef::new(Once { call: self.call.clone() });
        match generated(op.clone(), info, dims, inputs) {
            Err(e) if e.kind() == ErrorKind::ConcreteValueNeeded => {}
            result => return result,
        }
        let mut columns: SmallVec<[Vec<Tensor>; 2]> = SmallVec::new();
        // Without lanes, one of zeros tells the types of the results.
        for lane in 0..info.batch_size.max(1) {
            let mut one: SmallVec<[Tensor; 4]> = SmallVec::new();
            for (t, dim) in inputs.iter().zip(dims) {
                one.push(match dim {
                    Some(dim) if info.batch_size == 0 => Tensor::zeros(&without_dim(t.shape(), *dim), t.dtype())?,
                    Some(dim) => t.select(*dim as isize, lane as isize)?,
                    None => (*t).clone(),
                });
            }
            let outs = bind(&op, &one.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
            columns.resize_with(outs.len(), Vec::new);
            for (column, out) in columns.iter_mut().zip(outs) {
                column.push(out);
            }
        }
        let stacked =
            columns.iter().map(|column| stack(&column.iter().collect::<Vec<_>>(), 0)?.narrow(0, 0, info.batch_size));
        let outs = stacked.collect::<Result<Outs>>()?;
        let n = outs.len();
        Ok((outs, SmallVec::from_elem(Some(0), n)))
    }
}
