//! Scopes of this thread: what is recorded, and anomaly mode.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use pullback::autograd::{Anomaly, DetectAnomaly, GradMode};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// What a scope says.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Record(bool),
    /// Look for NaN, and perhaps for infinities; or for nothing.
    Detect {
        bad: bool,
        infinities: bool,
    },
}

enum Guard {
    Mode { _guard: GradMode },
    Anomaly { _guard: DetectAnomaly },
}

impl Says {
    fn guard(self) -> Guard {
        match self {
            Says::Record(on) => Guard::Mode { _guard: GradMode::set(on) },
            Says::Detect { bad: false, .. } => Guard::Anomaly { _guard: Anomaly::off() },
            Says::Detect { infinities: false, .. } => Guard::Anomaly { _guard: Anomaly::new().enter() },
            Says::Detect { .. } => Guard::Anomaly { _guard: Anomaly::new().infinities().enter() },
        }
    }

    fn is_about_what(self, other: Says) -> bool {
        matches!((self, other), (Says::Record(_), Says::Record(_)) | (Says::Detect { .. }, Says::Detect { .. }))
    }
}

/// A scope that began on this thread.
struct Open {
    number: u64,
    says: Says,
    /// It was set by a call and not by a `with`, so it ends with the block around it.
    is_set: bool,
    /// Threads end with scopes open. Nothing is left to undo then, and the state that the guard refers to may be gone.
    guard: ManuallyDrop<Guard>,
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
    /// How many of them began outside of the innermost [`Block`].
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

fn begin(says: Says, is_set: bool) -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    OPEN.with_borrow_mut(|open| {
        let guard = ManuallyDrop::new(says.guard());
        // What is set twice in one block is set by the second.
        let last = open.get(FLOOR.get()..).and_then(<[Open]>::last);
        if is_set && last.is_some_and(|last| last.is_set && last.says.is_about_what(says)) {
            open.pop().map(|old| ManuallyDrop::into_inner(old.guard));
        }
        open.push(Open { number, says, is_set, guard });
    });
    number
}

/// Ends a scope, and what was set inside of it.
fn end(number: u64) -> bool {
    OPEN.with_borrow_mut(|open| {
        let Some(first) = open.iter().position(|scope| scope.number == number) else { return false };
        let says = open[first].says;
        let inner = open[first + 1..].iter().take_while(|scope| scope.is_set);
        let inner: Vec<u64> = inner.filter(|scope| scope.says.is_about_what(says)).map(|scope| scope.number).collect();
        let gone = |scope: &mut Open| scope.number == number || inner.contains(&scope.number);
        open.extract_if(.., gone).for_each(|scope| drop(ManuallyDrop::into_inner(scope.guard)));
        true
    })
}

/// A block of code: what is set inside of it by calls ends with it.
pub struct Block {
    outer: usize,
}

impl Block {
    pub fn begin() -> Block {
        Block { outer: FLOOR.replace(OPEN.with_borrow(Vec::len)) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let own = |open: &Vec<Open>| open.iter().skip(FLOOR.get()).find(|scope| scope.is_set).map(|scope| scope.number);
        while let Some(number) = OPEN.with_borrow(own) {
            end(number);
        }
        FLOOR.set(self.outer);
    }
}

/// A scope to enter and leave, again and again and by several threads.
#[pyclass(module = "pullback.autograd", subclass, frozen)]
pub struct Scope {
    says: Says,
    /// The scopes of this object that have begun.
    begun: Mutex<Vec<(ThreadId, u64)>>,
}

impl Scope {
    fn begun(&self) -> MutexGuard<'_, Vec<(ThreadId, u64)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest scope that this thread began.
    fn pop(&self) -> Option<u64> {
        let mut begun = self.begun();
        let here = thread::current().id();
        let k = begun.iter().rposition(|(thread, _)| *thread == here)?;
        Some(begun.remove(k).1)
    }
}

#[pymethods]
impl Scope {
    /// `what` is "grad" or "anomaly"; `now` begins the scope at once, to the end of the block that is running.
    #[new]
    #[pyo3(signature = (what, on, infinities=false, now=false))]
    fn new(what: &str, on: bool, infinities: bool, now: bool) -> PyResult<Scope> {
        let says = match what {
            "grad" => Says::Record(on),
            "anomaly" => Says::Detect { bad: on, infinities },
            _ => return Err(PyValueError::new_err(format!("expected \"grad\" or \"anomaly\", got {what:?}"))),
        };
        let scope = Scope { says, begun: Mutex::default() };
        if now {
            let number = begin(says, true);
            scope.begun().push((thread::current().id(), number));
        }
        Ok(scope)
    }

    /// Takes back what the constructor began, if nothing has ended it since.
    fn _unset(&self) {
        let here = thread::current().id();
        let is_set =
            |number: u64| OPEN.with_borrow(|open| open.iter().any(|scope| scope.number == number && scope.is_set));
        let mut begun = self.begun();
        if let Some(k) = begun.iter().position(|&(thread, number)| thread == here && is_set(number)) {
            end(begun.remove(k).1);
        }
    }

    fn __enter__(&self) {
        self._unset();
        let number = begin(self.says, false);
        self.begun().push((thread::current().id(), number));
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.pop() {
            Some(number) => {
                // It is gone already where a block around it ended first.
                end(number);
                Ok(())
            }
            None => Err(PyRuntimeError::new_err(
                "expected a scope to be left on the thread that entered it, got one that this thread has not entered",
            )),
        }
    }
}

/// True if operations on tensors that require gradients are recorded on this thread.
///
/// >>> import pullback as pb
/// >>> with pb.no_grad():
/// ...     pb.is_grad_enabled()
/// False
#[pyfunction]
fn is_grad_enabled() -> bool {
    GradMode::is_on()
}

/// True if anomaly mode is on on this thread. See `detect_anomaly`.
#[pyfunction]
fn is_anomaly_enabled() -> bool {
    let last = |open: &Vec<Open>| {
        open.iter().rev().find_map(|scope| match scope.says {
            Says::Detect { bad, .. } => Some(bad),
            Says::Record(_) => None,
        })
    };
    OPEN.with_borrow(last).unwrap_or(false)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scope>()?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(is_anomaly_enabled, module)?)
}
