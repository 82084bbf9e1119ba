//! Which lanes a predicate sends where, and running a branch for some of the lanes.
//!
//! A branch that some lanes take runs on all of them. So that the others can bring nothing into it that it was not meant
//! for, they get the values of a lane that takes it, as constants: in the operands before the branch runs, and in what
//! it captured when it uses that. `where_` has an exact zero as the derivative of what it does not choose, which keeps
//! infinities and NaN that arise for these lanes from reaching anything.

use smallvec::SmallVec;

use crate::error::bail;
use crate::interp::level::next_id;
use crate::interp::watch::{Outside, Watch, made_here, resolve};
use crate::interp::{Traced, batch, capture, check_data_access, check_usable};
use crate::kernels::copy::contiguous;
use crate::shape::Shape;
use crate::tensor::Repr;
use crate::tree::{leaves, path_of, same_places, try_map};
use crate::{DType, Result, Tensor, Tree};

/// What a predicate says.
pub(super) enum Choice {
    /// The same for every lane.
    All(bool),
    /// Nothing: there are no lanes.
    Nobody,
    /// It depends on the lane.
    Mixed(Lanes),
}

/// A predicate that some lanes answer with true and some with false.
pub(super) struct Lanes {
    pred: Tensor,
    not_pred: Tensor,
    /// A lane that answers with false, and one that answers with true: its number at each level, by level.
    examples: [SmallVec<[(u64, usize); 2]>; 2],
}

impl Choice {
    /// Reads a predicate. This is the one place where the control flow of the program depends on a value: a level at
    /// which values are not known yet has to be dealt with here.
    pub(super) fn of(pred: &Tensor) -> Result<Choice> {
        let ty = pred.ty();
        if ty.dtype != DType::Bool {
            bail!(Dtype, "expected a predicate of dtype bool, got {ty}"; help = "compare it with something, for example \
                `ne(0)`");
        }
        if !ty.shape.is_empty() {
            bail!(Shape, "expected a predicate that is a scalar, got {ty}"; help = "reduce it with `all` or `any`, choose \
                between elements with `where_`, or map over them with `vmap`");
        }
        let pred = resolve(pred, "a predicate")?;
        // The levels that it depends on, newest first, and the place of each among the dims that older ones leave.
        let mut levels: SmallVec<[(u64, usize); 2]> = SmallVec::new();
        let mut t = &pred;
        let array = loop {
            let tracer = match t.repr() {
                Repr::Array(array) => break contiguous(array),
                Repr::Tracer(tracer) => tracer,
            };
            check_usable(tracer, "a predicate")?;
            t = match &tracer.value {
                Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                    primal
                }
                Traced::Capture { value, .. } => {
                    // Which branch is taken must not depend on the contents that a variable has just now.
                    check_data_access(tracer, "a predicate")?;
                    value
                }
                Traced::Batch { value, dim, .. } => {
                    levels.push((tracer.level.id, *dim as usize));
                    value
                }
            };
        };
        let Some(data) = array.as_slice::<bool>() else { bail!(Internal, "a contiguous array is a slice") };
        let example = |answer: bool| data.iter().position(|&b| b == answer);
        let (no, yes) = match (example(false), example(true)) {
            (None, None) => return Ok(Choice::Nobody),
            (Some(_), None) => return Ok(Choice::All(false)),
            (None, Some(_)) => return Ok(Choice::All(true)),
            (Some(no), Some(yes)) => (no, yes),
        };
        // Each level takes its dim from those that are left by the older ones.
        let mut left: SmallVec<[usize; 2]> = (0..levels.len()).collect();
        let axes: SmallVec<[(u64, usize); 2]> = levels.iter().rev().map(|&(id, dim)| (id, left.remove(dim))).collect();
        let lane = |mut position: usize| {
            let mut index = Shape::from_elem(0, array.rank());
            for (k, &size) in array.shape().iter().enumerate().rev() {
                (index[k], position) = (position % size, position / size);
            }
            axes.iter().map(|&(id, axis)| (id, index[axis])).collect()
        };
        let examples = [lane(no), lane(yes)];
        Ok(Choice::Mixed(Lanes { not_pred: pred.logical_not()?, pred, examples }))
    }
}

impl Lanes {
    /// Runs a branch for the lanes that answer with `answer`. The results of the other lanes mean nothing.
    pub(super) fn run<A: Tree, B>(
        &self,
        answer: bool,
        branch: impl FnOnce(&A) -> Result<B>,
        operands: &A,
    ) -> Result<B> {
        let safe = SafeLanes {
            takes: if answer { &self.pred } else { &self.not_pred },
            example: &self.examples[answer as usize],
        };
        let operands = try_map(operands, &mut |t| safe.stand_in(t, "an operand"))?;
        Watch::run(&safe, next_id(), leaves(&operands), |_| branch(&operands))
    }

    /// The tree of `a` for lanes that answer with true, and of `b` for the others.
    pub(super) fn choose<B: Tree>(&self, a: &B, b: &B) -> Result<B> {
        choose(&self.pred, a, b)
    }
}

/// Takes each tensor from `a` or `b`, which have the same types.
pub(super) fn choose<B: Tree>(pred: &Tensor, a: &B, b: &B) -> Result<B> {
    let mut others = leaves(b).into_iter();
    try_map(a, &mut |a| match others.next() {
        Some(b) if !a.is_same(b) => pred.where_(a, b),
        _ => a.unchanged("a result"),
    })
}

/// Replaces what depends on the lane, for lanes that do not take a branch.
struct SafeLanes<'a> {
    takes: &'a Tensor,
    /// A lane that does.
    example: &'a [(u64, usize)],
}

impl Outside for SafeLanes<'_> {
    fn stand_in(&self, t: &Tensor, op: &str) -> Result<Tensor> {
        let t = resolve(t, op)?;
        if !self.depends(&t) {
            return Ok(t);
        }
        if let Repr::Tracer(tracer) = t.repr() {
            check_usable(tracer, op)?;
        }
        self.takes.where_(&t, &self.value_of_example(&t)?)
    }
}

impl SafeLanes<'_> {
    /// True if `t` may differ between lanes that answer differently.
    fn depends(&self, t: &Tensor) -> bool {
        let Repr::Tracer(tracer) = t.repr() else { return false };
        match &tracer.value {
            Traced::Reverse { primal, .. } | Traced::Linear { primal, .. } => self.depends(primal),
            Traced::Capture { value, .. } => self.depends(value),
            Traced::Forward { primal, tangent } => self.depends(primal) || self.depends(tangent),
            Traced::Batch { value, .. } => self.index(tracer.level.id).is_some() || self.depends(value),
        }
    }

    fn index(&self, level: u64) -> Option<usize> {
        self.example.iter().find(|(id, _)| *id == level).map(|(_, index)| *index)
    }

    /// The value of the lane that takes the branch, without derivatives. Lanes of other levels stay.
    fn value_of_example(&self, t: &Tensor) -> Result<Tensor> {
        let Repr::Tracer(tracer) = t.repr() else { return Ok(t.clone()) };
        match &tracer.value {
            Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                self.value_of_example(primal)
            }
            // Where only the lanes of older levels differ, the example of one call of the graph serves all: it is what the
            // operations of the graph see, which have no way to name a lane.
            Traced::Capture { value, .. } if self.depends(value) => self.value_of_example(value),
            Traced::Capture { value, variable } => {
                let value = capture::wrap(&tracer.level, self.value_of_example(value)?, *variable);
                made_here(&value);
                Ok(value)
            }
            Traced::Batch { value, dim, .. } => {
                let value = self.value_of_example(value)?;
                match self.index(tracer.level.id) {
                    Some(index) => value.select(*dim as isize, index as isize),
                    None => {
                        let lanes = batch::wrap(&tracer.level, value, *dim as usize);
                        made_here(&lanes);
                        Ok(lanes)
                    }
                }
            }
        }
    }
}

/// An error unless two results, of which messages say where they come from, have the same structure and types.
pub(super) fn check_same<B: Tree>(want: (&B, &str), got: (&B, &str)) -> Result<()> {
    let ((a, from_a), (b, from_b)) = (want, got);
    let (these, those) = (leaves(a), leaves(b));
    if these.len() != those.len() || !same_places(a, b) {
        let (a, b) = (a.describe(), b.describe());
        bail!(Arity, "expected one structure, got {a} {from_a} and {b} {from_b}");
    }
    for (k, (t, u)) in these.iter().zip(those).enumerate() {
        let (want, got) = (t.ty(), u.ty());
        if want == got {
            continue;
        }
        let path = path_of(a, k);
        let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
        if want.shape != got.shape {
            bail!(Shape, "expected one type{place}, got {want} {from_a} and {got} {from_b}");
        }
        if want.dtype != got.dtype {
            bail!(Dtype, "expected one type{place}, got {want} {from_a} and {got} {from_b}"; help = "convert with \
                `to_dtype`");
        }
    }
    Ok(())
}
