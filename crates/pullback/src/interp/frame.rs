//! What a user's method may touch: its arguments and what is made from them, not values that it captured. The list of
//! running methods also has the places where a closure is watched.

use std::cell::{Cell, RefCell};
use std::fmt;

use smallvec::SmallVec;

use super::level::{self, Sealed};
use super::watch::Watch;
use super::{Traced, Tracer, mode};
use crate::tensor::Repr;
use crate::{Result, Tensor, error::bail};

/// The methods of a `Function`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Forward,
    SetupContext,
    Backward,
    Jvp,
    Vmap,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Forward => "forward",
            Method::SetupContext => "setup_context",
            Method::Backward => "backward",
            Method::Jvp => "jvp",
            Method::Vmap => "vmap",
        }
    }
}

/// How the function was written, which decides what a message can advise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenAs {
    /// An implementation of `Function`.
    Function,
    /// Closures, by `custom` and its short forms.
    Closures,
    /// An `OpaqueFunction`.
    Opaque,
    /// A class in Python.
    Python,
}

impl WrittenAs {
    /// What to do about a method that reads the data of a batched value.
    fn reading_lanes(self, method: Method) -> &'static str {
        match (method, self) {
            (Method::Forward | Method::Vmap, WrittenAs::Function) => {
                "implement `Function::vmap`, or loop with `rules::per_example` (cost: one call per example)"
            }
            (Method::Forward | Method::Vmap, WrittenAs::Closures) => {
                "build the function with `custom(..)` and choose a `.batching(..)`, such as `Batching::Loop` (cost: one \
                 call per example), or write the rule with `.vmap(..)`"
            }
            (Method::SetupContext, WrittenAs::Function) => {
                "save tensors instead, and compute with tensor operations or with another `Function`"
            }
            (_, WrittenAs::Function) => {
                "write the rule with tensor operations, or let `once_differentiable` return true: it then runs for one \
                 lane after the other"
            }
            (_, WrittenAs::Closures) => {
                "write the rule with tensor operations, or move the external code into a `custom(..)` function of its own \
                 with a `.batching(..)`"
            }
            (Method::Forward | Method::Vmap, WrittenAs::Python) => {
                "write the static method `vmap(info, in_dims, *args)`, which gets all lanes at once, in place of \
                 `generate_vmap_rule`"
            }
            (Method::SetupContext, WrittenAs::Python) => {
                "save tensors instead, and compute with tensor operations or with another `Function`"
            }
            (_, WrittenAs::Python) => {
                "write the rule with tensor operations or with another `Function`, or decorate it with \
                 `once_differentiable`: it then runs for one lane after the other"
            }
            // Its other parts are on slices, and see no lanes.
            (_, WrittenAs::Opaque) => "write the rule with tensor operations, or on slices",
        }
    }
}

/// A method of a user's function, or a watched closure, that is running.
pub(super) struct Running {
    what: What,
    /// The one that this one runs inside of, if any.
    outside: *const Running,
    /// True for a watch, and for everything that runs inside of one.
    watched: bool,
}

enum What {
    Method(Call),
    Watch(*const Watch<'static>),
}

/// One running method of a user's function.
struct Call {
    function: *const str,
    method: Method,
    written: WrittenAs,
    /// Levels from this number on were opened inside the method.
    entry: u64,
    /// Older levels that the arguments depend on.
    allowed: RefCell<SmallVec<[u64; 4]>>,
}

thread_local! {
    static CURRENT: Cell<*const Running> = const { Cell::new(std::ptr::null()) };
}

/// Puts back what was running.
struct Restore(*const Running);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Calls `body` inside of `what`.
fn enter<R>(what: What, body: impl FnOnce() -> R) -> R {
    let outside = CURRENT.get();
    let watched = matches!(what, What::Watch(_)) || is_watched();
    let running = Running { what, outside, watched };
    let _restore = Restore(CURRENT.replace(&running));
    body()
}

/// Calls `f` with what is running, innermost first, until it returns something.
fn find<R>(mut f: impl FnMut(&Running) -> Option<R>) -> Option<R> {
    let mut current = CURRENT.get();
    while !current.is_null() {
        // SAFETY: the pointer is set by `enter` to a local that outlives the call of `body`, and reset before it dies;
        // what runs inside of another one ends before it.
        let running = unsafe { &*current };
        if let Some(found) = f(running) {
            return Some(found);
        }
        current = running.outside;
    }
    None
}

/// Calls `body` with `watch` as the innermost that is running.
pub(super) fn enter_watch<R>(watch: &Watch<'_>, body: impl FnOnce() -> R) -> R {
    enter(What::Watch(std::ptr::from_ref(watch).cast()), body)
}

/// Calls `body` as if from outside of the innermost running `watch`.
pub(super) fn outside_of<R>(watch: &Watch<'_>, body: impl FnOnce() -> R) -> R {
    let wanted: *const Watch<'static> = std::ptr::from_ref(watch).cast();
    let outside = find(|running| match running.what {
        What::Watch(at) if at == wanted => Some(running.outside),
        _ => None,
    });
    let _restore = Restore(CURRENT.get());
    if let Some(outside) = outside {
        CURRENT.set(outside);
    }
    body()
}

/// The innermost watch that is not inside of a method that runs now, unless it is busy with an operation already.
pub(super) fn with_innermost_watch<R>(f: impl FnOnce(&Watch<'_>) -> R) -> Option<R> {
    let watch = find(|running| match running.what {
        What::Watch(watch) => Some(Some(watch)),
        What::Method(_) => Some(None),
    });
    // SAFETY: as in `find`.
    watch.flatten().map(|watch| f(unsafe { &*watch }))
}

/// Calls `f` with the running watches, innermost first, until it returns something. `through` says whether those that a
/// running method is inside of count.
pub(super) fn find_watch<R>(through: bool, mut f: impl FnMut(&Watch<'_>) -> Option<R>) -> Option<R> {
    let found = find(|running| match running.what {
        // SAFETY: as in `find`.
        What::Watch(watch) => f(unsafe { &*watch }).map(Some),
        What::Method(_) => (!through).then_some(None),
    });
    found.flatten()
}

/// True inside of a watched closure.
#[inline]
pub(super) fn is_watched() -> bool {
    let current = CURRENT.get();
    // SAFETY: as in `find`.
    !current.is_null() && unsafe { (*current).watched }
}

/// Runs a method of a user's function.
pub(crate) struct Frame;

impl Frame {
    /// Calls `body` as `method` of `function`, whose arguments are `arguments`.
    pub(crate) fn run<R>(
        function: &str,
        method: Method,
        written: WrittenAs,
        arguments: &mut dyn Iterator<Item = &Tensor>,
        body: impl FnOnce() -> R,
    ) -> R {
        let mut allowed = SmallVec::new();
        for t in arguments {
            levels_of(t, &mut allowed);
        }
        let call = Call { function, method, written, entry: level::next_id(), allowed: RefCell::new(allowed) };
        enter(What::Method(call), body)
    }
}

fn levels_of(t: &Tensor, out: &mut SmallVec<[u64; 4]>) {
    if let Repr::Tracer(tracer) = t.repr() {
        if !out.contains(&tracer.level.id) {
            out.push(tracer.level.id);
        }
        match &tracer.value {
            Traced::Reverse { primal, .. } | Traced::Linear { primal, .. } => levels_of(primal, out),
            Traced::Forward { primal, tangent } => {
                levels_of(primal, out);
                levels_of(tangent, out);
            }
            Traced::Capture { value, .. } | Traced::Batch { value, .. } => levels_of(value, out),
        }
    }
}

/// True inside a method of a user's function, or a watched closure.
#[inline]
pub(super) fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Calls `f` with the innermost running method, if any, and the name of its function.
fn with_current<R>(f: impl FnOnce(&Call, &str) -> R) -> Option<R> {
    let mut f = Some(f);
    find(|running| match &running.what {
        // SAFETY: `function` is borrowed for as long as the method runs.
        What::Method(call) => f.take().map(|f| f(call, unsafe { &*call.function })),
        What::Watch(_) => None,
    })
}

/// The running method of a user's function, as messages name it.
pub(crate) fn running_method() -> Option<String> {
    with_current(|running, function| format!("`{}` of function `{function}`", running.method.name()))
}

/// Lets the running methods use values of level `id`, which one of their calls was lifted to.
pub(super) fn allow(id: u64) {
    find(|running| {
        if let What::Method(call) = &running.what
            && id < call.entry
            && !call.allowed.borrow().contains(&id)
        {
            call.allowed.borrow_mut().push(id);
        }
        None::<()>
    });
}

/// True where no derivative can be lost: inside `no_grad`, its level does not differentiate what runs now.
pub(crate) fn is_constant(tracer: &Tracer) -> bool {
    !matches!(tracer.value, Traced::Batch { .. } | Traced::Capture { .. }) && !mode::records(tracer.level.id)
}

/// An error if `tracer` reached the running method by capture.
pub(super) fn check_captured(tracer: &Tracer, op: &str) -> Result<()> {
    let id = tracer.level.id;
    with_current(|running, function| {
        if id < running.entry && !running.allowed.borrow().contains(&id) && !is_constant(tracer) {
            let (transform, method) = (tracer.level.transform(), running.method.name());
            // A rule may run after the transform that it serves.
            let is = if tracer.level.is_alive() { "is" } else { "was" };
            bail!(CapturedTracer, "`{method}` of function `{function}`: `{op}` got a value that a `{transform}` \
                (level {id}) {is} transforming and that is not one of the arguments"; help = "pass it to the \
                function as an input, so that the rules can account for it");
        }
        Ok(())
    })
    .unwrap_or(Ok(()))
}

/// An error if `t`, which the running method is about to return as `what`, is a captured value that a transform is
/// differentiating: its derivative would bypass the rules.
pub(crate) fn check_own(t: &Tensor, what: impl fmt::Display) -> Result<()> {
    let Repr::Tracer(tracer) = t.repr() else { return Ok(()) };
    if !tracer.level.is_alive() {
        return Err(super::escaped(tracer, &what.to_string()));
    }
    match tracer.value {
        // Drawn here, perhaps: random tensors depend on the lane without any argument that does.
        Traced::Batch { .. } => Ok(()),
        _ => with_current(|running, _| {
            let id = tracer.level.id;
            if id < running.entry && !running.allowed.borrow().contains(&id) {
                let transform = tracer.level.transform();
                bail!(CapturedTracer, "{what} is a value that a `{transform}` (level {id}) is transforming and that is \
                    not one of the arguments"; help = "pass it to the function as an input, so that the rules can \
                    account for it");
            }
            Ok(())
        })
        .unwrap_or(Ok(())),
    }
}

/// An error if reading the data of `tracer` would lose a dependence, or if it has no single data.
pub(crate) fn check_data_access(tracer: &Tracer, op: &str) -> Result<()> {
    super::check_usable(tracer, op)?;
    let (id, kind) = (tracer.level.id, tracer.level.transform());
    if let Traced::Batch { value, dim, .. } = &tracer.value {
        let (n, ty) = (value.shape()[*dim as usize], tracer_type(tracer));
        return with_current(|running, function| {
            let method = running.method.name();
            bail!(ConcreteValueNeeded, "`{method}` of function `{function}`: `{op}` reads the data of a batched value \
                ({ty}, batch {n} at dim {dim}, level {id})"; help = "{}", running.written.reading_lanes(running.method));
        })
        .unwrap_or_else(|| {
            bail!(ConcreteValueNeeded, "{op}: the value is batched by `vmap` ({ty}, batch {n} at dim {dim}, level {id}) \
                and has no single contents"; help = "use `cond` in place of an `if`, `where_` between elements, or \
                return the value from the mapped function and read it outside");
        });
    }
    if let Traced::Capture { .. } = &tracer.value {
        let ty = tracer_type(tracer);
        return with_current(|running, function| {
            let method = running.method.name();
            bail!(ConcreteValueNeeded, "`{method}` of function `{function}`: `{op}` reads the data of a value that \
                `{kind}` (level {id}) writes down as a variable ({ty})"; help = "write the rule with tensor operations, \
                or move the external code into a `Function` of its own, which is captured as one call");
        })
        .unwrap_or_else(|| {
            bail!(ConcreteValueNeeded, "{op}: the value is a variable of a graph that `{kind}` writes down ({ty}, level \
                {id}), and what follows must not depend on the contents that it has just now"; help = "use tensor \
                operations such as `where_`, return the value and read it outside, or read it in the `forward` of a \
                `Function`");
        });
    }
    with_current(|running, function| {
        if id < running.entry && !is_constant(tracer) {
            let method = running.method.name();
            if matches!(tracer.level.sealed, Some(Sealed::Transposing)) {
                bail!(ConcreteValueNeeded, "`{method}` of function `{function}`: `{op}` reads the data of its (co)tangent, \
                    while the rule of the other mode is derived from this one"; help = "write both `backward` and `jvp`, \
                    or write the rule with tensor operations");
            }
            bail!(ConcreteValueNeeded, "`{method}` of function `{function}`: `{op}` reads the data of a value that a \
                `{kind}` (level {id}) is differentiating, so this derivative would be lost"; help = "write the rule with \
                tensor operations, or move the external code into a `Function` of its own with its own rules");
        }
        Ok(())
    })
    .unwrap_or(Ok(()))?;
    match tracer.level.sealed {
        None => Ok(()),
        Some(Sealed::Transposing) => {
            bail!(ConcreteValueNeeded, "{op}: a derivative rule that is being transposed reads \
            the data of its (co)tangent"; help = "implement both `backward` and `jvp`, or write the rule with tensor \
            operations")
        }
        Some(Sealed::NoRule) => bail!(ConcreteValueNeeded, "{op}: a function without a derivative rule, which is \
            differentiated through its operations, reads the data of a value that depends on its inputs"; help = "give \
            it a derivative rule, or write it with tensor operations"),
    }
}

fn tracer_type(tracer: &Tracer) -> crate::TensorType {
    match &tracer.value {
        Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => primal.ty(),
        Traced::Capture { value, .. } => value.ty(),
        Traced::Batch { value, shape, .. } => crate::TensorType::new(value.dtype(), shape),
    }
}
