//! Trees of tensors: the arguments and results of every function that can be transformed.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Write as _};
use std::hash::Hash;
use std::sync::Arc;

use crate::ops::shape::split::check_count;
use crate::{Result, Tensor, error::bail, stack};

/// What may stand at the leaves of a [`Tree::Mapped`]: anything plain enough to be stored and sent.
pub trait Leaf: Clone + Send + Sync + 'static {}
impl<T: Clone + Send + Sync + 'static> Leaf for T {}

/// A value made of tensors: a [`Tensor`], a tuple, an array, a `Vec`, an `Option`, a `BTreeMap` or `HashMap`, a `Box`
/// or `Arc`, or a struct with [`#[derive(Tree)]`](derive@crate::Tree).
///
/// [`Mapped<L>`](Tree::Mapped) is the same tree with an `L` in the place of every tensor. It types everything that
/// comes once per tensor: batch dims are a `Mapped<Option<usize>>`, cotangents a `Mapped<Cotangent>`, Jacobians a
/// tree of trees.
///
/// Leaves have a fixed order: fields in order of declaration, elements in order of position, keys in order (also those
/// of a `HashMap`).
/// `None` has no leaves. Parts that are not tensors (sizes, names) are [`Static`], or fields marked
/// `#[tree(static)]`; they are copied along and never differentiated or batched.
///
/// ```
/// use pullback::{grad, Tensor, Tree};
///
/// #[derive(Clone, Tree)]
/// struct Line<T = Tensor> {
///     slope: T,
///     offset: T,
/// }
///
/// let loss = |p: &Line| (&p.slope * 3.0 + &p.offset).square();
/// let g = grad(loss)(&Line { slope: Tensor::from(2.0), offset: Tensor::from(1.0) })?;
/// assert_eq!(g.slope.item::<f64>()?, 42.0);
/// assert_eq!(g.offset.item::<f64>()?, 14.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of tensors",
    label = "not a tree",
    note = "trees are tensors, tuples, arrays, `Vec`, `Option`, `Box`, `Arc`, maps and structs with `#[derive(Tree)]` of \
            trees; mark a field that holds no tensors `#[tree(static)]`, and wrap another value in `Static`"
)]
pub trait Tree: Clone + Send + Sync + 'static {
    /// The same tree with `L` at the leaves.
    type Mapped<L: Leaf>: Leaf;

    /// The tree of `f` applied to every tensor, in order.
    fn map<L: Leaf>(&self, f: &mut dyn FnMut(&Tensor) -> L) -> Self::Mapped<L>;

    /// The tree of `f` applied to every leaf of a mapped tree, in order.
    fn map_mapped<L: Leaf, M: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> M) -> Self::Mapped<M>;

    /// The tree of tensors that `f` makes from the leaves of a mapped tree, in order.
    fn from_mapped<L: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> Tensor) -> Self;

    /// Calls `f` on every tensor, in order.
    fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor));

    /// Calls `f` on every leaf of a mapped tree, in order.
    fn visit_mapped<'a, L: Leaf>(mapped: &'a Self::Mapped<L>, f: &mut dyn FnMut(&'a L));

    /// Calls `f` with the path of every tensor (`.slope`, `[2]`, `.0`), in order.
    fn visit_paths(&self, path: &mut String, f: &mut dyn FnMut(&str));

    /// Calls `f` on every part that holds no tensors: those are fixed in a graph that is captured, and compared when it is
    /// called. An implementation without such parts need not write this.
    fn visit_statics(&self, f: &mut dyn FnMut(&dyn Any)) {
        let _ = f;
    }

    /// True if another tree has its tensors at the same places. It compares the paths; an implementation whose structure is a
    /// value of its own can compare that.
    fn same_places(&self, other: &Self) -> bool {
        paths(self) == paths(other)
    }

    /// The same structure with the tensors that `f` makes from these.
    ///
    /// # Errors
    /// The first error of `f`.
    ///
    /// ```
    /// use pullback::{Tensor, Tree};
    /// let doubled = (Tensor::from(1.0), Tensor::from(2.0)).try_map(|t| t.mul(2.0))?;
    /// assert_eq!(doubled.1.item::<f64>()?, 4.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn try_map(&self, mut f: impl FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        try_map(self, &mut f)
    }

    /// The same structure with the tensors that `f` makes from these and those of another tree, in order: how an
    /// optimizer steps along a gradient.
    ///
    /// # Errors
    /// `Arity` if the other tree has another number of tensors, or has them elsewhere; the first error of `f`.
    ///
    /// ```
    /// use pullback::{Tensor, Tree};
    /// let (p, g) = (vec![Tensor::from(1.0)], vec![Tensor::from(0.5)]);
    /// let stepped = p.zip_with(&g, |p, g| Ok(p - g * 0.1))?;
    /// assert_eq!(stepped[0].item::<f64>()?, 0.95);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn zip_with(&self, other: &Self, mut f: impl FnMut(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Self> {
        let (n, m) = (count(self), count(other));
        if n != m {
            let (a, b) = (self.describe(), other.describe());
            bail!(Arity, "zip_with: expected two trees with as many tensors, got {n} and {m} ({a} and {b})");
        }
        if !same_places(self, other) {
            let (a, b) = (self.describe(), other.describe());
            bail!(Arity, "zip_with: expected two trees with tensors at the same places, got {a} and {b}");
        }
        let mut others = leaves(other).into_iter();
        try_map(self, &mut |t| match others.next() {
            Some(o) => f(t, o),
            None => Ok(t.clone()),
        })
    }

    /// A short description of the structure for messages, such as `(tensor, [tensor, tensor])`.
    ///
    /// ```
    /// use pullback::{Tensor, Tree};
    /// let x = || Tensor::from(1.0);
    /// assert_eq!((x(), vec![x(), x()], None::<Tensor>).describe(), "(tensor, [tensor, tensor], none)");
    /// ```
    fn describe(&self) -> String {
        let parts: Vec<String> = paths(self).into_iter().map(|p| format!("tensor at {p}")).collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// The path of every tensor of a tree, in order.
pub(crate) fn paths<T: Tree>(tree: &T) -> Vec<String> {
    let mut out = Vec::new();
    tree.visit_paths(&mut String::new(), &mut |p| out.push(p.to_string()));
    out
}

/// The number of tensors in a tree.
pub(crate) fn count<T: Tree>(tree: &T) -> usize {
    let mut n = 0;
    tree.visit(&mut |_| n += 1);
    n
}

/// The tensors of a tree, in order.
pub(crate) fn leaves<T: Tree>(tree: &T) -> Vec<&Tensor> {
    let mut out = Vec::new();
    tree.visit(&mut |t| out.push(t));
    out
}

/// The path of tensor `index` in a tree.
pub(crate) fn path_of<T: Tree>(tree: &T, index: usize) -> String {
    let (mut k, mut found) = (0, String::new());
    tree.visit_paths(&mut String::new(), &mut |p| {
        if k == index {
            found = p.to_string();
        }
        k += 1;
    });
    found
}

/// The path of tensor `index` in a tree, which is only looked for if it is written.
pub(crate) struct Path<'a, T>(pub(crate) &'a T, pub(crate) usize);

impl<T: Tree> fmt::Display for Path<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&path_of(self.0, self.1))
    }
}

/// The same structure with other tensors, which `f` makes from the old ones; the first error is returned.
pub(crate) fn try_map<T: Tree>(tree: &T, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<T> {
    let mut failed = None;
    let mapped = tree.map(&mut |t| {
        f(t).unwrap_or_else(|e| {
            failed.get_or_insert(e);
            t.clone()
        })
    });
    match failed {
        Some(e) => Err(e),
        None => Ok(T::from_mapped(&mapped, &mut Tensor::clone)),
    }
}

impl Tree for Tensor {
    type Mapped<L: Leaf> = L;

    fn map<L: Leaf>(&self, f: &mut dyn FnMut(&Tensor) -> L) -> L {
        f(self)
    }
    fn map_mapped<L: Leaf, M: Leaf>(mapped: &L, f: &mut dyn FnMut(&L) -> M) -> M {
        f(mapped)
    }
    fn from_mapped<L: Leaf>(mapped: &L, f: &mut dyn FnMut(&L) -> Tensor) -> Tensor {
        f(mapped)
    }
    fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
        f(self);
    }
    fn visit_mapped<'a, L: Leaf>(mapped: &'a L, f: &mut dyn FnMut(&'a L)) {
        f(mapped);
    }
    fn visit_paths(&self, path: &mut String, f: &mut dyn FnMut(&str)) {
        f(path);
    }
    fn describe(&self) -> String {
        "tensor".into()
    }
}

/// A part of a tree that holds no tensors: it is carried along and neither differentiated nor batched.
///
/// ```
/// use pullback::{grad, Static, Tensor};
/// let f = |(x, n): &(Tensor, Static<i32>)| x.powi(n.0);
/// let (dx, n) = grad(f)(&(Tensor::from(2.0), Static(3)))?;
/// assert_eq!((dx.item::<f64>()?, n.0), (12.0, 3));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Static<T>(pub T);

impl<T: Leaf> Tree for Static<T> {
    type Mapped<L: Leaf> = Static<T>;

    fn map<L: Leaf>(&self, _: &mut dyn FnMut(&Tensor) -> L) -> Static<T> {
        self.clone()
    }
    fn map_mapped<L: Leaf, M: Leaf>(mapped: &Static<T>, _: &mut dyn FnMut(&L) -> M) -> Static<T> {
        mapped.clone()
    }
    fn from_mapped<L: Leaf>(mapped: &Static<T>, _: &mut dyn FnMut(&L) -> Tensor) -> Static<T> {
        mapped.clone()
    }
    fn visit<'a>(&'a self, _: &mut dyn FnMut(&'a Tensor)) {}
    fn visit_mapped<'a, L: Leaf>(_: &'a Static<T>, _: &mut dyn FnMut(&'a L)) {}
    fn visit_paths(&self, _: &mut String, _: &mut dyn FnMut(&str)) {}
    fn visit_statics(&self, f: &mut dyn FnMut(&dyn Any)) {
        f(&self.0);
    }
    fn describe(&self) -> String {
        "static".into()
    }
}

/// The entries of a map in the order of its keys.
fn sorted<K: Ord, V>(map: &HashMap<K, V>) -> Vec<(&K, &V)> {
    let mut entries: Vec<(&K, &V)> = map.iter().collect();
    entries.sort_by_key(|(k, _)| *k);
    entries
}

/// `[tensor, tensor]`; a long list of equals is `[tensor; 12]`.
fn describe_list<T: Tree>(items: &[T]) -> String {
    let parts: Vec<String> = items.iter().map(T::describe).collect();
    match parts.as_slice() {
        [first, .., last] if parts.len() > 3 && parts.iter().all(|p| p == last) => {
            format!("[{first}; {}]", parts.len())
        }
        _ => format!("[{}]", parts.join(", ")),
    }
}

/// `{"scale": tensor, "shift": tensor}`.
fn describe_map<'a, K: Debug + 'a, T: Tree>(entries: impl Iterator<Item = (&'a K, &'a T)>) -> String {
    let parts: Vec<String> = entries.map(|(k, x)| format!("{k:?}: {}", x.describe())).collect();
    format!("{{{}}}", parts.join(", "))
}

/// Writes `Tree` for a container from the way it maps, visits, names and describes its items.
///
/// `map` turns a container of `A` into one of `B` item by item; `each` visits the items with their path suffix.
macro_rules! container_tree {
    (@ty Array $n:ident; $t:ty) => { [$t; $n] };
    (@ty BTreeMap $k:ident; $t:ty) => { BTreeMap<$k, $t> };
    (@ty HashMap $k:ident; $t:ty) => { HashMap<$k, $t> };
    (@ty $container:ident; $t:ty) => { $container<$t> };
    ([$($generics:tt)*] $container:ident $(, $arg:tt)?; $c:ident => map |$f:ident| $map:expr; each |$g:ident| $each:expr;
        describe $describe:expr) => {
        #[allow(unused_mut, reason = "containers of one item call the function once")]
        impl<$($generics)*> Tree for container_tree!(@ty $container $($arg)?; T) {
            type Mapped<L: Leaf> = container_tree!(@ty $container $($arg)?; T::Mapped<L>);

            fn map<L: Leaf>(&self, f: &mut dyn FnMut(&Tensor) -> L) -> Self::Mapped<L> {
                let ($c, mut $f) = (self, |x: &T| x.map(f));
                $map
            }
            fn map_mapped<L: Leaf, M: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> M) -> Self::Mapped<M> {
                let ($c, mut $f) = (mapped, |x: &T::Mapped<L>| T::map_mapped(x, f));
                $map
            }
            fn from_mapped<L: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> Tensor) -> Self {
                let ($c, mut $f) = (mapped, |x: &T::Mapped<L>| T::from_mapped(x, f));
                $map
            }
            fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
                let ($c, mut $g) = (self, |_: fmt::Arguments<'_>, x: &'a T| x.visit(f));
                $each
            }
            fn visit_mapped<'a, L: Leaf>(mapped: &'a Self::Mapped<L>, f: &mut dyn FnMut(&'a L)) {
                let ($c, mut $g) = (mapped, |_: fmt::Arguments<'_>, x: &'a T::Mapped<L>| T::visit_mapped(x, f));
                $each
            }
            fn visit_paths(&self, path: &mut String, f: &mut dyn FnMut(&str)) {
                let ($c, mut $g) = (self, |suffix: fmt::Arguments<'_>, x: &T| {
                    let len = path.len();
                    // Writing to a string cannot fail.
                    let _ = path.write_fmt(suffix);
                    x.visit_paths(path, f);
                    path.truncate(len);
                });
                $each
            }
            fn visit_statics(&self, f: &mut dyn FnMut(&dyn Any)) {
                let ($c, mut $g) = (self, |_: fmt::Arguments<'_>, x: &T| x.visit_statics(f));
                $each
            }
            fn describe(&self) -> String {
                let $c = self;
                $describe
            }
        }
    };
}

container_tree!([T: Tree] Vec; c => map |f| c.iter().map(f).collect();
    each |g| c.iter().enumerate().for_each(|(k, x)| g(format_args!("[{k}]"), x)); describe describe_list(c));
container_tree!([T: Tree, const N: usize] Array, N; c => map |f| std::array::from_fn(|k| f(&c[k]));
    each |g| c.iter().enumerate().for_each(|(k, x)| g(format_args!("[{k}]"), x)); describe describe_list(c));
container_tree!([T: Tree] Option; c => map |f| c.as_ref().map(f);
    each |g| c.iter().for_each(|x| g(format_args!(""), x));
    describe c.as_ref().map_or_else(|| "none".into(), T::describe));
container_tree!([T: Tree] Box; c => map |f| Box::new(f(c)); each |g| g(format_args!(""), c);
    describe T::describe(c));
container_tree!([T: Tree] Arc; c => map |f| Arc::new(f(c)); each |g| g(format_args!(""), c);
    describe T::describe(c));
container_tree!([K: Leaf + Ord + Debug, T: Tree] BTreeMap, K; c => map |f| c.iter().map(|(k, x)| (k.clone(), f(x))).collect();
    each |g| c.iter().for_each(|(k, x)| g(format_args!("[{k:?}]"), x)); describe describe_map(c.iter()));
container_tree!([K: Leaf + Ord + Hash + Debug, T: Tree] HashMap, K;
    c => map |f| sorted(c).into_iter().map(|(k, x)| (k.clone(), f(x))).collect();
    each |g| sorted(c).into_iter().for_each(|(k, x)| g(format_args!("[{k:?}]"), x));
    describe describe_map(sorted(c).into_iter()));

/// Writes `Tree` for a tuple: every method in turn on every member.
macro_rules! tuple_tree {
    ($($t:ident $k:tt),*) => {
        #[allow(clippy::unused_unit, reason = "the empty tuple is one of them")]
        impl<$($t: Tree),*> Tree for ($($t,)*) {
            type Mapped<Leaf_: Leaf> = ($($t::Mapped<Leaf_>,)*);

            fn map<Leaf_: Leaf>(&self, f: &mut dyn FnMut(&Tensor) -> Leaf_) -> Self::Mapped<Leaf_> {
                let _ = &f;
                ($(self.$k.map(f),)*)
            }
            fn map_mapped<Leaf_: Leaf, Other: Leaf>(
                mapped: &Self::Mapped<Leaf_>,
                f: &mut dyn FnMut(&Leaf_) -> Other,
            ) -> Self::Mapped<Other> {
                let _ = (&f, mapped);
                ($($t::map_mapped(&mapped.$k, f),)*)
            }
            fn from_mapped<Leaf_: Leaf>(mapped: &Self::Mapped<Leaf_>, f: &mut dyn FnMut(&Leaf_) -> Tensor) -> Self {
                let _ = (&f, mapped);
                ($($t::from_mapped(&mapped.$k, f),)*)
            }
            fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
                let _ = &f;
                $(self.$k.visit(f);)*
            }
            fn visit_mapped<'a, Leaf_: Leaf>(mapped: &'a Self::Mapped<Leaf_>, f: &mut dyn FnMut(&'a Leaf_)) {
                let _ = (&f, mapped);
                $($t::visit_mapped(&mapped.$k, f);)*
            }
            fn visit_paths(&self, path: &mut String, f: &mut dyn FnMut(&str)) {
                let _ = (&f, &path);
                $(
                    let len = path.len();
                    path.push_str(concat!(".", $k));
                    self.$k.visit_paths(path, f);
                    path.truncate(len);
                )*
            }
            fn visit_statics(&self, f: &mut dyn FnMut(&dyn Any)) {
                let _ = &f;
                $(self.$k.visit_statics(f);)*
            }
            fn describe(&self) -> String {
                let parts: &[String] = &[$(self.$k.describe()),*];
                match parts {
                    [one] => format!("({one},)"),
                    _ => format!("({})", parts.join(", ")),
                }
            }
        }
    };
}
tuple_tree!();
tuple_tree!(A 0);
tuple_tree!(A 0, B 1);
tuple_tree!(A 0, B 1, C 2);
tuple_tree!(A 0, B 1, C 2, D 3);
tuple_tree!(A 0, B 1, C 2, D 3, E 4);
tuple_tree!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_tree!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_tree!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// One tree from several of the same structure: each tensor is [`stack`]ed along a new dimension 0.
///
/// This makes an ensemble of its members, over which [`vmap`](crate::vmap) maps. [`unstack_trees`] takes it apart.
///
/// # Errors
/// `Arity` for no tree, or if a structure differs; `Shape` or `Dtype` if the tensors of one place differ. Messages name
/// the member and the path of the tensor.
///
/// # Example
/// ```
/// use pullback::{Tensor, Tree, Vmap, grad, stack_trees, unstack_trees};
///
/// #[derive(Clone, Tree)]
/// struct Model<T = Tensor> {
///     w: T,
/// }
///
/// let members: Vec<Model> = [1.0, 2.0, 3.0].map(|w| Model { w: Tensor::from(w) }).into();
/// let ensemble: Model = stack_trees(&members)?;
/// let x = Tensor::from(2.0);
/// let gradients = Vmap::new().of(grad(|m: &Model| (&m.w * &x).square()))(&ensemble)?;
/// assert_eq!(gradients.w.to_vec::<f64>()?, [8.0, 16.0, 24.0]);
/// assert_eq!(unstack_trees(&gradients)?[2].w.item::<f64>()?, 24.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn stack_trees<T: Tree>(trees: &[T]) -> Result<T> {
    let Some(first) = trees.first() else {
        bail!(Arity, "stack_trees: expected at least one tree, got none");
    };
    let places = paths(first);
    for (k, tree) in trees.iter().enumerate().skip(1) {
        if paths(tree) != places {
            let (want, got) = (first.describe(), tree.describe());
            bail!(Arity, "stack_trees: expected trees of one structure, got {want} and, at position {k}, {got}");
        }
    }
    let columns: Vec<Vec<&Tensor>> = trees.iter().map(leaves).collect();
    let mut places = places.iter().enumerate();
    try_map(first, &mut |a| {
        let Some((index, path)) = places.next() else { return Ok(a.clone()) };
        let column: Vec<&Tensor> = columns.iter().filter_map(|tree| tree.get(index).copied()).collect();
        for (k, b) in column.iter().enumerate() {
            let (want, got, place) = (a.ty(), b.ty(), Place(path));
            if want.shape != got.shape {
                bail!(Shape, "stack_trees: expected {want} at {place} as in the first tree, got {got} at position {k}");
            }
            if want.dtype != got.dtype {
                bail!(Dtype, "stack_trees: expected {want} at {place} as in the first tree, got {got} at position {k}";
                    help = "convert it with `to_dtype`");
            }
        }
        stack(&column, 0)
    })
}

/// The trees that [`stack_trees`] made one of: the slices of every tensor along dimension 0, which is dropped.
///
/// # Errors
/// `Arity` if there is no tensor; `Dim` if one has no dimension; `Shape` if dimension 0 has different sizes. Messages
/// name the path of the tensor.
///
/// # Example
/// ```
/// use pullback::{Tensor, unstack_trees};
/// let pairs = unstack_trees(&(Tensor::from([1, 2]), Tensor::from([[3], [4]])))?;
/// assert_eq!(pairs.len(), 2);
/// assert_eq!((pairs[1].0.item::<i32>()?, pairs[1].1.shape()), (2, &[1][..]));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn unstack_trees<T: Tree>(tree: &T) -> Result<Vec<T>> {
    let mut known: Option<(usize, &Tensor, String)> = None;
    for (t, path) in leaves(tree).into_iter().zip(paths(tree)) {
        let Some(&size) = t.shape().first() else {
            bail!(Dim, "unstack_trees: expected tensors with a dimension, got {} at {}", t.ty(), Place(&path));
        };
        match &known {
            Some((first, a, at)) if *first != size => {
                let (a, at, b, path) = (a.ty(), Place(at), t.ty(), Place(&path));
                bail!(Shape, "unstack_trees: expected one size of dim 0, got {a} at {at} and {b} at {path}");
            }
            Some(_) => {}
            None => known = Some((size, t, path)),
        }
    }
    let Some((size, first, _)) = known else {
        bail!(Arity, "unstack_trees: expected a tree with at least one tensor, got none");
    };
    for t in leaves(tree) {
        t.unchanged("unstack_trees")?;
    }
    check_count("unstack_trees", size, first)?;
    (0..size as isize).map(|k| try_map(tree, &mut |t| t.select(0, k))).collect()
}

/// True if two trees with as many tensors have them at the same places: under the same keys, in the same options.
pub(crate) fn same_places<T: Tree>(a: &T, b: &T) -> bool {
    has_fixed_structure::<T>() || a.same_places(b)
}

/// True if the type of a tree fixes its structure: what is then left without leaves takes no memory.
pub(crate) fn has_fixed_structure<T: Tree>() -> bool {
    size_of::<T::Mapped<()>>() == 0
}

/// Names a leaf in messages.
struct Place<'a>(&'a str);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("the tensor itself") } else { write!(f, "`{}`", self.0) }
    }
}
