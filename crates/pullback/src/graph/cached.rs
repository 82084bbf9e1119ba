//! Functions that are captured once for each kind of arguments.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::signature::Difference;
use super::{Capture, Graph};
use crate::interp::mode::Recording;
use crate::interp::watch;
use crate::{Result, Tree};

/// A function that is captured the first time that it is called with arguments of some structure, shapes and dtypes, and
/// replayed from then on.
///
/// What counts is what the graph would be checked for: the types of all tensors, where they are in the tree, and the static
/// parts. Other contents are not a reason to capture again, so pass numbers that change, such as a learning rate, as 0-d
/// tensors. A new `Cached` starts without graphs, also for the same closure: keep it outside of the loop.
///
/// A graph that depends on a value of a transform outside would be of use until that transform ends, so it is not kept. One
/// that was captured inside a [`no_grad`](crate::autograd::no_grad) serves calls inside of one.
///
/// ```
/// use pullback::{Tensor, graph::Cached};
/// let step = Cached::new(|(w, rate): &(Tensor, Tensor)| w.sub(&w.mul(rate)?));
/// let mut w = Tensor::from([1.0, 2.0]);
/// for k in 0..100 {
///     w = step.call(&(w, Tensor::from(0.1 / (k + 1) as f64)))?;
/// }
/// assert_eq!(step.traces(), 1);
/// step.call(&(Tensor::from([1.0, 2.0, 3.0]), Tensor::from(0.1)))?;
/// assert_eq!(step.report(), "\
/// trace 1: the first call, with (f64[2], f64[])
/// trace 2: argument.0 is f64[3], not f64[2] as in trace 1");
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct Cached<A: Tree, O: Tree, F> {
    f: F,
    options: Capture,
    state: Mutex<State<A, O>>,
}

struct State<A: Tree, O: Tree> {
    graphs: Vec<Kept<A, O>>,
    /// A line for each trace.
    log: Vec<String>,
}

struct Kept<A: Tree, O: Tree> {
    /// The number of its trace.
    number: usize,
    graph: Graph<A, O>,
    /// What the function computed from captured values then is a constant for all others, and of the graph.
    recorded: Recording,
}

impl<A: Tree, O: Tree, F: Fn(&A) -> Result<O>> Cached<A, O, F> {
    /// A function that has not been captured yet.
    pub fn new(f: F) -> Cached<A, O, F> {
        Cached::with_options(Capture::new(), f)
    }

    /// The same with options for [`capture`](super::capture).
    pub fn with_options(options: Capture, f: F) -> Cached<A, O, F> {
        Cached { f, options, state: Mutex::new(State { graphs: Vec::new(), log: Vec::new() }) }
    }

    /// The results for some arguments: from a graph, if there is one for them, and from the function otherwise, which is
    /// captured as it runs.
    ///
    /// # Errors
    /// As [`capture`](super::capture) and [`Graph::call`].
    pub fn call(&self, arguments: &A) -> Result<O> {
        if let Some(graph) = self.graph(arguments) {
            return graph.call(arguments);
        }
        let before = watch::uses();
        let (value, graph) = self.options.run(&self.f, arguments)?;
        // A checkpoint, or a branch that only some lanes take, gives the function other values for those it captured.
        let replaced = (watch::uses() != before).then_some("a `checkpoint` or a branch replaces a value from outside");
        self.lock().add(graph, arguments, replaced)?;
        Ok(value)
    }

    /// The graph that a call with these arguments would use, if there is one.
    pub fn graph(&self, arguments: &A) -> Option<Graph<A, O>> {
        let now = Recording::now();
        let fits = |kept: &&Kept<A, O>| {
            kept.recorded.covers(now)
                && matches!(kept.graph.content.signature.differences(arguments), Ok(d) if d.is_empty())
        };
        self.lock().graphs.iter().find(fits).map(|kept| kept.graph.clone())
    }

    /// How many times the function was captured.
    pub fn traces(&self) -> usize {
        self.lock().log.len()
    }

    /// Why the function was captured each time, in a line each.
    pub fn report(&self) -> String {
        self.lock().log.join("\n")
    }

    /// Forgets all graphs. The report stays.
    pub fn clear(&self) {
        self.lock().graphs.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State<A, O>> {
        // No user code runs while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Tree, O: Tree> State<A, O> {
    /// Keeps a graph, unless there is a reason not to.
    fn add(&mut self, graph: Graph<A, O>, arguments: &A, refused: Option<&str>) -> Result<()> {
        let (number, recorded) = (self.log.len() + 1, Recording::now());
        // The most similar of the graphs explains best.
        let mut best: Option<(&Kept<A, O>, Vec<Difference>)> = None;
        for known in &self.graphs {
            let found = known.graph.content.signature.differences(arguments)?;
            if best.as_ref().is_none_or(|(_, b)| weight(&found) <= weight(b)) {
                best = Some((known, found));
            }
        }
        let mut line = match best {
            None => {
                let types: Vec<String> = graph.argument_types().iter().map(ToString::to_string).collect();
                let when = if number == 1 { "the first call" } else { "no graph is kept" };
                format!("trace {number}: {when}, with ({})", types.join(", "))
            }
            Some((known, found)) if found.is_empty() && !known.recorded.covers(recorded) => {
                format!("trace {number}: trace {} was made inside a `no_grad`", known.number)
            }
            Some((_, found)) if found.is_empty() => {
                format!("trace {number}: another thread captured it at the same time")
            }
            Some((known, found)) => {
                let k = known.number;
                let reasons: Vec<String> = found.iter().map(ToString::to_string).collect();
                format!("trace {number}: {} as in trace {k}", reasons.join("; "))
            }
        };
        let depends = |transform| format!("the graph depends on a value of a `{transform}` outside");
        match refused.map(str::to_owned).or_else(|| graph.content.program.depends_on().map(depends)) {
            Some(reason) => line += &format!(" (not kept: {reason})"),
            None => self.graphs.push(Kept { number, graph, recorded }),
        }
        self.log.push(line);
        Ok(())
    }
}

/// How different arguments are: another structure is more than any number of other types.
fn weight(differences: &[Difference]) -> (bool, usize) {
    (differences.iter().any(|d| matches!(d, Difference::Structure { .. })), differences.len())
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Structure { expected, got } => write!(f, "the arguments are {got}, not {expected}"),
            Difference::Static { expected, got } => write!(f, "a static part is {got}, not {expected}"),
            Difference::Shape { place, expected, got } | Difference::Dtype { place, expected, got } => {
                write!(f, "{place} is {got}, not {expected}")
            }
        }
    }
}
