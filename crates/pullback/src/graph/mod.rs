//! Graphs: a function written down as a list of operations.
//!
//! [`capture`] runs a function once and writes down every operation that depends on its arguments. The [`Graph`] can be
//! printed, [drawn](Graph::to_svg), [checked](Graph::verify), and [called](Graph::call) with other arguments of the same
//! types, also inside of transforms. [`Cached`] captures a function once for each kind of arguments that it is called
//! with.
//!
//! ```
//! use pullback::{Tensor, capture, grad};
//!
//! let f = |(w, x): &(Tensor, Tensor)| w.mul(x)?.sin()?.sum();
//! let graph = capture(f)(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])))?;
//! assert_eq!(graph.to_string(), "\
//! graph(a: f64[2], b: f64[2]) {
//!     c: f64[2] = mul a b
//!     d: f64[2] = sin c
//!     e: f64[] = sum[dims: [0], keepdim: false] d
//!     return e
//! }");
//! let other = (Tensor::from([0.5, 1.0]), Tensor::from([2.0, 0.0]));
//! assert_eq!(graph.call(&other)?.item::<f64>()?, 1.0f64.sin());
//! let slope = grad(|x: &(Tensor, Tensor)| graph.call(x))(&other)?;
//! assert_eq!(slope.0.to_vec::<f64>()?, [2.0 * 1.0f64.cos(), 0.0]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # What is written down
//!
//! - Operations, with the parameters that they were called with. Rust code runs while the function is captured and leaves
//!   no trace: loops are unrolled, and an `if` is the branch that was taken. So that this cannot go wrong unnoticed, reading
//!   the data of a value that depends on an argument (`item`, `to_vec`, comparing) is an error.
//! - A user's [`Function`](crate::Function) as one call, with its rules: a graph is differentiated and batched by
//!   them. Its `forward` may read what it likes.
//! - Transforms inside of the function as the operations that they lead to: the graph of `grad(f)` has those of the walk
//!   back.
//! - Random draws as draws: [`Key`](crate::random::Key)s give the same numbers in each call,
//!   [`Generator`](crate::random::Generator)s the next ones. (Draws on threads that the function starts are values from
//!   outside.)
//!
//! Shapes and dtypes are those of the arguments that the function was captured with; a call with others is an error.
//!
//! # Values from outside
//!
//! What the function does not compute from its arguments is computed once, when it is captured, and becomes a value of
//! the graph: by reference, not by copy. Numbers in the code are printed where they are used (`mul a 2.0`); tensors that
//! the closure captured are listed behind the arguments ([`Graph::captured`]) and can be replaced
//! ([`Graph::with_captured`]). [`Capture::closed`] refuses them.
//!
//! A value of a transform outside stays one: the graph is then of use until that transform ends.

mod cached;
mod layout;
mod picture;
mod print;
mod program;
mod signature;
mod verify;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use self::cached::Cached;
use self::program::Program;
use self::signature::Signature;
use crate::error::{Context as _, bail};
use crate::function::OpRef;
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, capture as record, check_alive};
use crate::tree::{leaves, try_map};
use crate::{Result, Tensor, TensorType, Tree};

/// What a function does, as a list of operations. See [`capture`] and the [module](self).
///
/// A graph is cheap to clone, and may be shared between threads.
pub struct Graph<A: Tree, O: Tree> {
    content: Arc<Content>,
    /// The structure of the results.
    results: O::Mapped<()>,
    arguments: PhantomData<fn(&A)>,
}

#[derive(Clone)]
struct Content {
    signature: Signature,
    program: Program,
}

impl<A: Tree, O: Tree> Clone for Graph<A, O> {
    fn clone(&self) -> Graph<A, O> {
        Graph { content: self.content.clone(), results: self.results.clone(), arguments: PhantomData }
    }
}

/// A function that writes down what `f` does: it runs `f` and returns the [`Graph`] of its operations.
///
/// # Errors
/// `ConcreteValueNeeded` if `f` reads the data of a value that depends on an argument, as [`cond`](crate::cond()) and
/// [`while_loop`](crate::while_loop()) do with a predicate; `Randomness` if it takes a
/// [key](crate::random::Generator::next_key) from a generator; `Value` if an argument has static parts that cannot be
/// compared; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms. Inside of another transform, the graph is that of one lane, or of the values without
/// their derivatives.
///
/// # Example
/// ```
/// use pullback::{Tensor, capture, grad};
/// let cube = |x: &Tensor| x.mul(x)?.mul(x);
/// let graph = capture(grad(cube))(&Tensor::from(2.0))?;
/// assert_eq!(graph.call(&Tensor::from(3.0))?.item::<f64>()?, 27.0);
/// assert_eq!(graph.to_string(), "\
/// graph(a: f64[]) {
///     b: f64[] = mul a a
///     c: f64[] = mul 1.0 a
///     d: f64[] = mul 1.0 b
///     e: f64[] = mul c a
///     f: f64[] = mul c a
///     g: f64[] = add d e
///     h: f64[] = add g f
///     return h
/// }");
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn capture<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<Graph<A, O>> {
    Capture::new().of(f)
}

/// Options for [`capture`].
///
/// ```
/// use pullback::{ErrorKind, Tensor, graph::Capture};
/// let w = Tensor::from([1.0, 2.0]);
/// let f = |x: &Tensor| w.mul(x)?.add(1.0);
/// let err = Capture::new().closed(true).of(f)(&Tensor::from([3.0, 4.0])).unwrap_err();
/// assert_eq!(err.kind(), ErrorKind::Value);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Capture {
    keep_unused: bool,
    closed: bool,
}

impl Capture {
    /// No options: the same as [`capture`].
    pub fn new() -> Capture {
        Capture::default()
    }

    /// Whether operations that no result depends on stay in the graph, where they are printed and run. They are left out
    /// otherwise, except for draws from a generator, which change what it draws next.
    #[must_use]
    pub fn keep_unused(mut self, keep: bool) -> Capture {
        self.keep_unused = keep;
        self
    }

    /// Whether the graph must depend on nothing but its arguments and numbers in the code: a tensor from elsewhere, such as
    /// parameters that the closure captured, is then an error of kind `Value`.
    #[must_use]
    pub fn closed(mut self, closed: bool) -> Capture {
        self.closed = closed;
        self
    }

    /// The function that captures `f`. See [`capture`].
    pub fn of<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(self, f: F) -> impl Fn(&A) -> Result<Graph<A, O>> {
        move |x| Ok(self.run(&f, x)?.1)
    }

    /// The value of `f` at `x` and its graph.
    fn run<A: Tree, O: Tree>(&self, f: &dyn Fn(&A) -> Result<O>, x: &A) -> Result<(O, Graph<A, O>)> {
        self.trace(f, x).context(|| "capture".into())
    }

    fn trace<A: Tree, O: Tree>(&self, f: &dyn Fn(&A) -> Result<O>, x: &A) -> Result<(O, Graph<A, O>)> {
        let signature = Signature::of(x)?;
        let open = OpenLevel::new(LevelKind::Capture);
        let wrapped = try_map(x, &mut |t| {
            check_alive(t, "argument")?;
            Ok(record::input(open.level(), t.clone()))
        })?;
        let out = f(&wrapped)?;
        drop(wrapped);
        let (mut values, mut sources) = (Vec::new(), Vec::new());
        for t in leaves(&out) {
            check_alive(t, "result")?;
            let (value, source) = record::output(open.level(), t);
            // Values from outside are taken from the graph again: whether anybody else holds them tells something.
            values.push(matches!(source, record::Source::Variable(_)).then_some(value));
            sources.push(source);
        }
        let results = out.map(&mut |_| ());
        drop(out);
        let record = record::finish(open.level());
        drop(open);
        if record.keys_taken > 0 {
            bail!(Randomness, "the function takes a key from a `Generator`, whose draws would be the same in every call of \
                the graph"; help = "draw from the generator itself, not inside of a `checkpoint` that is differentiated, or \
                take the key outside and let the function capture it");
        }
        let program = Program::new(record, signature.types.len(), sources, self.keep_unused);
        if self.closed
            && let Some(constant) = program.constants.iter().find(|c| !c.is_literal)
        {
            bail!(Value, "the graph must depend on its arguments only, got a tensor from outside, {}", constant.value.ty();
                help = "pass it to the function as an argument");
        }
        let mut values = values.into_iter().zip(&program.results);
        let value = O::from_mapped(&results, &mut |()| match values.next() {
            Some((Some(value), _)) => value,
            Some((None, &source)) => program.constant(source).clone(),
            None => unreachable!("a value for every place"),
        });
        Ok((value, Graph { content: Arc::new(Content { signature, program }), results, arguments: PhantomData }))
    }
}

impl<A: Tree, O: Tree> Graph<A, O> {
    /// The results for other arguments: what the function would return, if its Rust code took the same way.
    ///
    /// It runs the operations and none of the function's code. Like any function of tensors it can be transformed.
    ///
    /// # Errors
    /// `Shape`, `Dtype` or `Arity` if the arguments are not like those that the graph was captured with; `EscapedTracer` if
    /// it depends on a value of a transform that has ended; whatever an operation reports.
    ///
    /// ```
    /// use pullback::{Tensor, capture, vmap};
    /// let graph = capture(|x: &Tensor| x.square()?.sum())(&Tensor::from([1.0, 2.0]))?;
    /// let rows = Tensor::from([[1.0, 0.0], [3.0, 4.0]]);
    /// assert_eq!(vmap(|x: &Tensor| graph.call(x))(&rows)?.to_vec::<f64>()?, [1.0, 25.0]);
    /// let err = graph.call(&rows).unwrap_err();
    /// assert!(err.to_string().starts_with("graph: expected f64[2] at argument, as captured, got f64[2,2]"));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn call(&self, arguments: &A) -> Result<O> {
        let run = || {
            self.content.signature.check(arguments)?;
            let tensors = leaves(arguments);
            for t in &tensors {
                check_alive(t, "argument")?;
            }
            let mut found = self.content.program.run(&tensors)?.into_iter();
            Ok(O::from_mapped(&self.results, &mut |()| found.next().expect("a result for every place")))
        };
        run().context(|| "graph".into())
    }

    /// The types of the arguments, in order.
    pub fn argument_types(&self) -> &[TensorType] {
        &self.content.signature.types
    }

    /// The types of the results, in order.
    pub fn result_types(&self) -> Vec<TensorType> {
        let program = &self.content.program;
        program.results.iter().map(|&source| program.type_of(source)).collect()
    }

    /// The names of the operations, in the order in which they run.
    ///
    /// ```
    /// use pullback::{Tensor, capture};
    /// let graph = capture(|x: &Tensor| x.sin()?.add(x))(&Tensor::from(1.0))?;
    /// assert!(graph.operations().eq(["sin", "add"]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.content.program.calls.iter().map(|call| call.op.name())
    }

    /// The first operation that has parameters, its struct having fields, and does not show them; for tests of the table.
    pub(crate) fn undescribed(&self) -> Option<&str> {
        let hides = |op: &OpRef| size_of_val(&**op) > 0 && op.parameters().is_none() && !op.is_function();
        self.content.program.calls.iter().map(|call| &call.op).find(|op| hides(op)).map(|op| op.name())
    }

    /// The tensors from outside that the graph depends on, in the order in which it lists them: the graph's own handles to
    /// them, not copies.
    ///
    /// ```
    /// use pullback::{Tensor, capture};
    /// let w = Tensor::from([1.0, 2.0]);
    /// let graph = capture(|x: &Tensor| w.mul(x))(&Tensor::from([3.0, 4.0]))?;
    /// assert!(graph.captured()[0].equal(&w)?);
    /// assert!(graph.to_string().starts_with("graph(a: f64[2]) captured(A: f64[2]) {"));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn captured(&self) -> Vec<&Tensor> {
        self.content.program.constants.iter().filter(|c| !c.is_literal).map(|c| &c.value).collect()
    }

    /// The same graph with other tensors in the place of those that the function captured.
    ///
    /// # Errors
    /// `Arity`, `Shape` or `Dtype` if they are not like [`captured`](Graph::captured).
    ///
    /// ```
    /// use pullback::{Tensor, capture, grad};
    /// let w = Tensor::from([1.0, 2.0]);
    /// let x = Tensor::from([3.0, 4.0]);
    /// let graph = capture(|x: &Tensor| w.mul(x)?.sum())(&x)?;
    /// let by_w = grad(|w: &Tensor| graph.with_captured(&[w])?.call(&x))(&w)?;
    /// assert_eq!(by_w.to_vec::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn with_captured(&self, tensors: &[&Tensor]) -> Result<Graph<A, O>> {
        let mut content = Content::clone(&self.content);
        let captured: Vec<_> = content.program.constants.iter_mut().filter(|c| !c.is_literal).collect();
        if captured.len() != tensors.len() {
            let (n, m) = (captured.len(), tensors.len());
            bail!(Arity, "with_captured: expected {n} tensors, one for each that was captured, got {m}");
        }
        for (k, (constant, &t)) in captured.into_iter().zip(tensors).enumerate() {
            check_alive(t, "with_captured: a tensor")?;
            let (expected, got) = (constant.value.ty(), t.ty());
            if expected.shape != got.shape {
                bail!(Shape, "with_captured: expected {expected} for tensor {k}, as captured, got {got}");
            }
            if expected.dtype != got.dtype {
                bail!(Dtype, "with_captured: expected {expected} for tensor {k}, as captured, got {got}"; help = "convert \
                    it with `to_dtype`");
            }
            constant.value = t.clone();
        }
        Ok(Graph { content: Arc::new(content), results: self.results.clone(), arguments: PhantomData })
    }

    /// Checks the graph: that every value is defined once and before it is used, that the results exist, and that every
    /// operation returns the types that are written down, by running it on ones.
    ///
    /// A graph from [`capture`] passes, unless a user's function returns other shapes for other data. What an operation
    /// says about the values that it gets here is ignored, and generators are not drawn from.
    ///
    /// # Errors
    /// `Internal` for a damaged graph; `EscapedTracer` if it depends on a value of a transform that has ended.
    pub fn verify(&self) -> Result<()> {
        verify::verify(&self.content.program).context(|| "verify".into())
    }

    /// The graph as a picture in SVG: arguments on top, results below, an arrow from each value to where it is used.
    ///
    /// Boxes hold what [`Display`](fmt::Display) prints: arguments are blue, values from outside grey and dashed, operations
    /// white, calls of users' functions orange, and results green.
    ///
    /// ```
    /// use pullback::{Tensor, capture};
    /// let graph = capture(|x: &Tensor| x.sin()?.add(x))(&Tensor::from(1.0))?;
    /// let svg = graph.to_svg();
    /// assert!(svg.starts_with("<svg ") && svg.contains("c = add b a"));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn to_svg(&self) -> String {
        picture::svg(&self.content.program)
    }
}

/// One line per operation: the values that it gives with their types, its name with its parameters, and what it reads. Users'
/// functions have their arguments in parentheses.
impl<A: Tree, O: Tree> fmt::Display for Graph<A, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::listing(&self.content.program))
    }
}

/// As [`Display`](fmt::Display).
impl<A: Tree, O: Tree> fmt::Debug for Graph<A, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
