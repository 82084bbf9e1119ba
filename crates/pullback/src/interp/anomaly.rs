//! Anomaly mode: where operations ran, and the watch over a walk, which finds out whose backward made the NaN that arrived in
//! a gradient.

use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::Traced;
use super::mode::Anomaly;
use super::reverse::{Edge, Node};
use crate::array::Array;
use crate::error::bail;
use crate::function::{Cotangent, OpRef};
use crate::kernels::cast::cast;
use crate::kernels::copy::contiguous;
use crate::shape::Shape;
use crate::tensor::Repr;
use crate::{Complex64, DType, Error, ErrorKind, Result, Tensor, TensorType};

/// Says where the running code of another language was called from.
static CALLER: OnceLock<fn() -> Option<String>> = OnceLock::new();

/// See [`Anomaly::name_callers`](crate::autograd::Anomaly::name_callers).
pub(crate) fn name_callers(caller: fn() -> Option<String>) {
    // The first one stays.
    let _ = CALLER.set(caller);
}

/// Where something ran: as the caller says, or a stack, which is resolved when it is shown.
pub(super) enum Site {
    Named(String),
    Stack(Box<Backtrace>),
}

impl Site {
    fn here() -> Site {
        match CALLER.get().and_then(|caller| caller()) {
            Some(name) => Site::Named(name),
            None => Site::Stack(Box::new(Backtrace::force_capture())),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Named(name) => f.write_str(name),
            Site::Stack(stack) => f.write_str(&call_site(stack)),
        }
    }
}

/// Where an operation ran, for anomaly mode.
pub(super) struct Trace {
    pub(super) ran: Arc<Site>,
    /// The forward that made the NaN in the outputs, if there is one and it was recorded.
    pub(super) birth: Option<Arc<Birth>>,
}

/// An operation whose forward made NaN from inputs without any.
pub(super) struct Birth {
    pub(super) op: String,
    pub(super) ran: Arc<Site>,
}

impl Trace {
    pub(super) fn new(op: &OpRef, inputs: &[&Tensor], edges: &[Option<Edge>], outputs: &[Tensor]) -> Trace {
        let ran = Arc::new(Site::here());
        let nan = |t: &Tensor| first_bad(t, false).is_some();
        let birth = if !outputs.iter().any(nan) {
            None
        } else if inputs.iter().any(|t| nan(t)) {
            edges.iter().flatten().find_map(|edge| edge.node.trace()?.birth.clone())
        } else {
            Some(Arc::new(Birth { op: op.name().to_string(), ran: ran.clone() }))
        };
        Trace { ran, birth }
    }
}

/// Follows bad cotangents from where they were made. One that is masked out on the way is nobody's concern.
pub(super) struct Watch {
    what: Anomaly,
    /// Where the bad cotangents that have arrived come from, by node number and output.
    origins: HashMap<(u64, u32), Rc<Origin>>,
}

/// What made a bad cotangent.
pub(super) enum Origin {
    /// Nothing: it was given, or is the sum of infinities.
    Given,
    Rule(Box<Made>),
}

/// A bad cotangent that the backward of an operation made.
pub(super) struct Made {
    op: String,
    input: usize,
    ty: TensorType,
    bad: Bad,
    ran: Option<Arc<Site>>,
    birth: Option<Arc<Birth>>,
}

impl Watch {
    pub(super) fn new(what: Anomaly) -> Watch {
        Watch { what, origins: HashMap::new() }
    }

    fn bad(&self, grad: &Tensor) -> Option<Bad> {
        first_bad(grad, self.what.infinities)
    }

    /// The origin of what is bad among the complete cotangents of a node.
    pub(super) fn arrived(&mut self, node: &Node, grads: &[Cotangent]) -> Option<Rc<Origin>> {
        let mut found = None;
        for (k, grad) in grads.iter().enumerate() {
            let origin = self.origins.remove(&(node.sequence, k as u32));
            if found.is_none() && grad.as_tensor().is_some_and(|grad| self.bad(grad).is_some()) {
                found = Some(origin.unwrap_or_else(|| Rc::new(Origin::Given)));
            }
        }
        found
    }

    /// Takes note of what the backward of `node` made of cotangents whose origin is `before`, if they were bad.
    pub(super) fn made(
        &mut self,
        node: &Node,
        before: Option<&Rc<Origin>>,
        edges: &[Option<Edge>],
        grads: &[Cotangent],
    ) {
        for (k, (edge, grad)) in edges.iter().zip(grads).enumerate() {
            let (Some(edge), Some(grad)) = (edge, grad.as_tensor()) else { continue };
            let Some(bad) = self.bad(grad) else { continue };
            let origin = match before {
                Some(origin) => origin.clone(),
                None => Rc::new(Origin::Rule(Box::new(Made::by(node, k, grad, bad)))),
            };
            self.origins.entry((edge.node.sequence, edge.output)).or_insert(origin);
        }
    }

    /// An error if `grad`, which is a result, is bad.
    pub(super) fn check_result(&self, grad: &Tensor, origin: Option<&Rc<Origin>>) -> Result<()> {
        let Some(bad) = self.bad(grad) else { return Ok(()) };
        if let Some(Origin::Rule(made)) = origin.map(|origin| &**origin) {
            return Err(made.error());
        }
        bail!(Anomaly, "{} in a gradient{}, which no backward made: it is in the cotangents given, a hook made it, or it is a \
            sum of infinities", name(&bad), place(&bad); help = "`Anomaly::infinities` finds out where infinities were made")
    }
}

impl Made {
    fn by(node: &Node, input: usize, grad: &Tensor, bad: Bad) -> Made {
        let trace = node.trace();
        let call = node.content.call();
        // The birth of a NaN in the outputs, or in an input.
        let edges = call.map(|call| &call.edges[..]).unwrap_or_default();
        let mut traces = trace.into_iter().chain(edges.iter().flatten().filter_map(|edge| edge.node.trace()));
        Made {
            op: call.map(|call| call.op.name().to_string()).unwrap_or_default(),
            input,
            ty: grad.ty(),
            bad,
            ran: trace.map(|trace| trace.ran.clone()),
            birth: traces.find_map(|trace| trace.birth.clone()),
        }
    }

    fn error(&self) -> Error {
        let Made { op, input, ty, bad, ran, birth } = self;
        let (what, place) = (name(bad), place(bad));
        let mut message = format!(
            "the backward of `{op}` made {what} from cotangents without any: in the cotangent of input {input}, {ty}{place}"
        );
        match ran {
            Some(ran) => message += &format!("; its forward ran {ran}"),
            None => message += "; its forward ran before anomaly mode was on",
        }
        if let Some(birth) = birth {
            let (op, ran) = (&birth.op, &birth.ran);
            message += &format!("; the NaN was born before, in the forward of `{op}`, which ran {ran}");
        }
        let help = match birth {
            Some(_) => "keep what that operation is given inside the domain on which it is defined",
            None if ran.is_none() => "turn anomaly mode on before the forward to learn where it ran",
            None => {
                "keep its inputs away from where its derivative is not finite, or select safe inputs before it instead \
                 of its results after it"
            }
        };
        Error::new(ErrorKind::Anomaly, message).with_help(help)
    }
}

fn name(bad: &Bad) -> &'static str {
    match bad.value {
        x if x.is_nan() => "NaN",
        x if x > 0.0 => "inf",
        _ => "-inf",
    }
}

/// Where an element lies, as in ` at [0, 2], lane 1`.
fn place(bad: &Bad) -> String {
    let mut out = String::new();
    if !bad.index.is_empty() {
        out += &format!(" at {:?}", &bad.index[..]);
    }
    match &bad.lanes[..] {
        [] => {}
        [lane] => out += &format!(", lane {lane}"),
        lanes => out += &format!(", lanes {lanes:?}"),
    }
    out
}

/// The innermost frame of a stack that belongs to the caller of this crate.
fn call_site(stack: &Backtrace) -> String {
    let text = stack.to_string();
    let mut lines = text.lines().map(str::trim).peekable();
    // Where the sources of this crate are, as the stack writes it: the first frame of all is one of ours.
    let mut home: Option<&str> = None;
    while let Some(line) = lines.next() {
        // `12: path::of::function`, then `at file:line:column` where debug information is there.
        let Some((number, function)) = line.split_once(": ") else { continue };
        if number.parse::<usize>().is_err() {
            continue;
        }
        let place = lines.next_if(|next| next.starts_with("at ")).map(|at| &at[3..]);
        let Some(place) = place else {
            // Without lines, names have their whole path.
            let bare = function.trim_start_matches(['<', '&', '(']);
            let is_ours = ["pullback::", "core::", "std::", "alloc::", "rayon"].iter().any(|p| bare.starts_with(p));
            match is_ours {
                true => continue,
                false => return format!("in `{function}`"),
            }
        };
        if home.is_none() {
            home = place.find(OWN_FILE).map(|at| &place[..at]);
        }
        let between = ["/rustc/", "/smallvec-", "/rayon-"];
        if home.is_some_and(|home| !place.starts_with(home)) && !between.iter().any(|part| place.contains(part)) {
            return format!("at {place} in `{function}`");
        }
    }
    "at an unknown place".into()
}

/// The end of the path of the file in which stacks are taken.
const OWN_FILE: &str = "interp/noted.rs";

/// An element that is not a number, or not finite.
pub(super) struct Bad {
    pub(super) value: f64,
    /// Its index, without lanes.
    pub(super) index: Shape,
    /// Its lanes, of the outermost `vmap` first.
    pub(super) lanes: Shape,
}

/// The first element of a value of any level that is NaN, or infinite if `infinities` are looked for.
pub(super) fn first_bad(t: &Tensor, infinities: bool) -> Option<Bad> {
    let mut dims: SmallVec<[usize; 4]> = SmallVec::new();
    let mut t = t;
    let array = loop {
        match t.repr() {
            Repr::Array(array) => break array,
            Repr::Tracer(tracer) => match &tracer.value {
                Traced::Reverse { primal: inner, .. }
                | Traced::Forward { primal: inner, .. }
                | Traced::Linear { primal: inner, .. }
                | Traced::Capture { value: inner, .. } => t = inner,
                Traced::Batch { value, dim, .. } => {
                    dims.push(*dim as usize);
                    t = value;
                }
            },
        }
    };
    let is_bad = |x: f64| x.is_nan() || infinities && x.is_infinite();
    let (at, value) = find(array, &is_bad)?;
    let mut index = Shape::from_elem(0, array.rank());
    let mut rest = at;
    for (k, &n) in array.shape().iter().enumerate().rev() {
        index[k] = rest % n;
        rest /= n;
    }
    let lanes = dims.iter().rev().map(|&dim| index.remove(dim)).collect();
    Some(Bad { value, index, lanes })
}

fn find(array: &Array, is_bad: &dyn Fn(f64) -> bool) -> Option<(usize, f64)> {
    let array = contiguous(array);
    match array.dtype() {
        DType::F32 => {
            let mut all = array.as_slice::<f32>()?.iter().map(|&x| f64::from(x)).enumerate();
            all.find(|(_, x)| is_bad(*x))
        }
        DType::F64 => array.as_slice::<f64>()?.iter().copied().enumerate().find(|(_, x)| is_bad(*x)),
        dtype if dtype.is_differentiable() => {
            let array = cast(&array, DType::C128);
            let all = array.as_slice::<Complex64>()?.iter().enumerate();
            all.flat_map(|(k, z)| [(k, z.re), (k, z.im)]).find(|(_, x)| is_bad(*x))
        }
        _ => None,
    }
}
