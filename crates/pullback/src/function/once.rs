//! Rules that are not differentiated in turn: one call of such a rule is an operation that has no derivative.

use std::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::batching::{Batching, zero_lanes};
use super::context::{Context, collect};
use super::erased::{Erased, place};
use super::op::{Batched, Cotangents, Op, OpRef, Outs, Saved, Tangents};
use super::vmapped::generated;
use super::{Cotangent, Function, Tangent, VmapInfo};
use crate::interp::{Method, WrittenAs, bind};
use crate::{Error, ErrorKind, Result, Tensor, TensorType};

/// A rule of one call of a function, which runs on values without derivatives.
pub(super) trait Rule: Send + Sync + 'static {
    /// The name of the function.
    fn function(&self) -> &str;

    /// Which of its methods the rule is.
    fn method(&self) -> Method;

    /// The results from what was saved, and from the cotangents (or tangents).
    fn run(&self, saved: &[&Tensor], seeds: &[Cotangent]) -> Result<Vec<Cotangent>>;

    /// The type that each result has in one lane; `None` where it is always a symbolic zero.
    fn types(&self) -> Vec<Option<TensorType>>;

    /// How lanes are handed to it; `None` for all at once, if it reads no data.
    fn batching(&self) -> Option<Batching>;

    /// How the function gets derivatives of every order.
    fn every_order(&self) -> &'static str;
}

/// One call of a rule. Its inputs are what was saved, then the cotangents (or tangents) that are not symbolic zeros; its
/// outputs are the results that are tensors.
struct Once<R>(Arc<Call<R>>);

/// The method.
impl<R: Rule> fmt::Debug for Once<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.rule.method().name())
    }
}

struct Call<R> {
    rule: R,
    /// How many of the inputs were saved.
    saved: usize,
    /// Which cotangents are tensors.
    present: SmallVec<[bool; 8]>,
    /// Per result, `None` for a tensor, else the symbolic value.
    found: OnceLock<Vec<Option<Cotangent>>>,
}

/// Calls a rule such that the result has no derivative. Whatever depends on a tensor of `saved` notices that one is missing,
/// so the inputs of the function must be there, whether the rule reads them or not.
pub(super) fn apply<R: Rule>(rule: R, saved: &[&Tensor], seeds: &[Cotangent]) -> Result<Vec<Cotangent>> {
    let call = Arc::new(Call {
        rule,
        saved: saved.len(),
        present: seeds.iter().map(|s| s.as_tensor().is_some()).collect(),
        found: OnceLock::new(),
    });
    let inputs: Vec<&Tensor> = saved.iter().copied().chain(seeds.iter().filter_map(Cotangent::as_tensor)).collect();
    let mut outs = bind(&OpRef::new(Once(call.clone())), &inputs)?.into_iter();
    let found = call.found.get().map(Vec::as_slice).unwrap_or_default();
    let fill = |symbol: &Option<Cotangent>| match symbol {
        Some(symbol) => Some(symbol.clone()),
        None => outs.next().map(Cotangent::from),
    };
    Ok(found.iter().filter_map(fill).collect())
}

impl<R: Rule> Call<R> {
    fn refuse<T>(&self) -> Result<T> {
        let method = self.rule.method();
        let results = if method == Method::Jvp { "tangents" } else { "cotangents" };
        let message = format!(
            "the function is differentiable once, so the {results} that `{}` returned have no derivative",
            method.name()
        );
        let help = format!("{}, or detach the result", self.rule.every_order());
        let e = Error::new(ErrorKind::NotDifferentiable, message).with_help(help);
        Err(e.in_context(place(self.rule.function(), method)))
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (saved, given) = inputs.split_at(self.saved);
        let mut given = given.iter();
        let mut seed = |&present: &bool| match present.then(|| given.next()).flatten() {
            Some(&t) => Cotangent::from(t.clone()),
            None => Cotangent::zero(),
        };
        let seeds: SmallVec<[Cotangent; 8]> = self.present.iter().map(&mut seed).collect();
        let results = self.rule.run(saved, &seeds)?;
        let symbols: Vec<Option<Cotangent>> =
            results.iter().map(|c| if c.as_tensor().is_some() { None } else { Some(c.clone()) }).collect();
        let known = self.found.get_or_init(|| symbols.clone());
        if known.iter().map(Option::is_some).ne(symbols.iter().map(Option::is_some)) {
            let message = "expected the same results to be symbolic zeros for every lane";
            let help = "return `zero()` for every lane or for none, and a tensor of zeros where it depends on the data";
            let e = Error::new(ErrorKind::Rule, message).with_help(help);
            return Err(e.in_context(place(self.rule.function(), self.rule.method())));
        }
        Ok(results.into_iter().filter_map(Cotangent::into_tensor).collect())
    }

    /// The results for no lanes, where the rule has nothing to run on.
    fn no_lanes(&self) -> Result<Outs> {
        let types = self.rule.types();
        self.found.get_or_init(|| types.iter().map(|ty| ty.is_none().then(Cotangent::zero)).collect());
        types.iter().flatten().map(zero_lanes).collect()
    }
}

impl<R: Rule> Op for Once<R> {
    fn name(&self) -> &str {
        self.0.rule.function()
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }

    fn is_function(&self) -> bool {
        true
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        self.0.run(inputs)
    }

    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }

    fn backward(&self, _: &Saved, _: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        self.0.refuse()
    }

    fn jvp(&self, _: &Saved, _: &[Tangent]) -> Result<Tangents> {
        self.0.refuse()
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let op = OpRef::new(Once(self.0.clone()));
        let chosen = self.0.rule.batching();
        let outs = if info.batch_size == 0 && chosen != Some(Batching::Refuse) {
            self.0.no_lanes()?
        } else {
            let batching = match chosen {
                Some(batching) => batching,
                None => match generated(op.clone(), info, dims, inputs) {
                    Err(e) if e.kind() == ErrorKind::ConcreteValueNeeded => Batching::Loop,
                    result => return result,
                },
            };
            let inputs: Vec<Tensor> = inputs.iter().map(|&t| t.clone()).collect();
            let call = |x: &Vec<Tensor>| Ok(bind(&op, &x.iter().collect::<SmallVec<[&Tensor; 4]>>())?.into_vec());
            batching.lanes_first(info, dims, &inputs, call)?.into()
        };
        let out_dims = SmallVec::from_elem(Some(0), outs.len());
        Ok((outs, out_dims))
    }
}

/// A rule of a [`Function`] that says that it is differentiable once.
pub(super) struct Written<F: Function> {
    pub(super) erased: Erased<F>,
    pub(super) rule: Which,
    /// What was saved, without the tensors.
    pub(super) saved: Saved,
    /// How many of the saved tensors the rule reads.
    pub(super) read: usize,
}

/// Which rule runs.
pub(super) enum Which {
    /// `backward`, with the inputs that need a cotangent.
    Backward(SmallVec<[bool; 8]>),
    Jvp,
}

impl<F: Function> Rule for Written<F> {
    fn function(&self) -> &str {
        self.erased.name()
    }

    fn method(&self) -> Method {
        match self.rule {
            Which::Backward(_) => Method::Backward,
            Which::Jvp => Method::Jvp,
        }
    }

    fn run(&self, saved: &[&Tensor], seeds: &[Cotangent]) -> Result<Vec<Cotangent>> {
        let tensors = saved[..self.read].iter().map(|&t| t.clone()).collect();
        let saved = Saved { tensors, ..self.saved.clone() };
        Ok(match &self.rule {
            Which::Backward(needs) => self.erased.run_backward(&saved, needs, seeds)?.into_vec(),
            Which::Jvp => self.erased.run_jvp(&saved, seeds)?.into_vec(),
        })
    }

    fn types(&self) -> Vec<Option<TensorType>> {
        self.erased.result_types(&self.saved, self.method(), |k| match &self.rule {
            Which::Backward(needs) => needs[k],
            Which::Jvp => !self.saved.non_differentiable.contains(&k),
        })
    }

    fn batching(&self) -> Option<Batching> {
        None
    }

    fn every_order(&self) -> &'static str {
        match self.erased.written_as() {
            WrittenAs::Python => "write the rule in tensor operations and drop the decorator `once_differentiable`",
            _ => "write the rule in tensor operations and let `once_differentiable` return false",
        }
    }
}

/// The types of the results of `method`, for those that are wanted and take derivatives.
pub(super) fn result_types<F: Function>(
    ctx: &Context<F>,
    method: Method,
    wanted: impl Fn(usize) -> bool,
) -> Vec<Option<TensorType>> {
    let types = match method {
        Method::Jvp => collect::<F::Outputs, TensorType>(ctx.output_types()),
        _ => collect::<F::Inputs, TensorType>(ctx.input_types()),
    };
    types.into_iter().enumerate().map(|(k, ty)| (ty.dtype.is_differentiable() && wanted(k)).then_some(ty)).collect()
}
