//! Batching: a function of one example becomes a function of many.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::error::{Context as _, bail};
use crate::function::Randomness;
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, batch, check_alive};
use crate::shape::resolve_dim;
use crate::tree::Leaf;
use crate::tree::{count, leaves, path_of, try_map};
use crate::{Result, Tree};

/// Where the lanes of each tensor of a tree lie: an integer for the whole tree (negative ones count from the end),
/// `None` for a tree that is the same for every lane, or a tuple, array, `Vec` or derived struct of these.
///
/// A spec may stop at any node: `(None, 0)` for arguments `(params, x)` covers every tensor of `params`.
pub trait DimSpec<A: Tree> {
    /// The dim of every tensor of `tree`, in order.
    ///
    /// # Errors
    /// `Arity` if the spec has another structure than the tree.
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>>;
}

impl<A: Tree> DimSpec<A> for i32 {
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>> {
        Ok(vec![Some(*self as isize); count(tree)])
    }
}

impl<A: Tree> DimSpec<A> for Option<usize> {
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>> {
        // What does not fit must not wrap around to a dim from the end.
        let dim = self.map(|d| isize::try_from(d).unwrap_or(isize::MAX));
        Ok(vec![dim; count(tree)])
    }
}

/// The spec of an optional tree: `Some` of that of the tree.
impl<A: Tree> DimSpec<Option<A>> for Option<Option<usize>> {
    fn dims(&self, tree: &Option<A>) -> Result<Vec<Option<isize>>> {
        self.flatten().dims(tree)
    }
}

impl<A: Tree, D: DimSpec<A>> DimSpec<Box<A>> for Box<D> {
    fn dims(&self, tree: &Box<A>) -> Result<Vec<Option<isize>>> {
        (**self).dims(&**tree)
    }
}

impl<K: Leaf + Ord + Debug, A: Tree, D: DimSpec<A>> DimSpec<BTreeMap<K, A>> for BTreeMap<K, D> {
    fn dims(&self, tree: &BTreeMap<K, A>) -> Result<Vec<Option<isize>>> {
        if !self.keys().eq(tree.keys()) {
            let keys = |k: Vec<&K>| format!("{k:?}");
            let (want, got) = (keys(tree.keys().collect()), keys(self.keys().collect()));
            bail!(Arity, "expected batch dims for a map with keys {want}, got keys {got}");
        }
        let mut out = Vec::new();
        for (spec, item) in self.values().zip(tree.values()) {
            out.extend(spec.dims(item)?);
        }
        Ok(out)
    }
}

impl<A: Tree, D: DimSpec<A>> DimSpec<Vec<A>> for Vec<D> {
    fn dims(&self, tree: &Vec<A>) -> Result<Vec<Option<isize>>> {
        if self.len() != tree.len() {
            bail!(Arity, "expected batch dims for a list of {} items, got a list of {}", tree.len(), self.len());
        }
        let mut out = Vec::new();
        for (spec, item) in self.iter().zip(tree) {
            out.extend(spec.dims(item)?);
        }
        Ok(out)
    }
}

impl<A: Tree, D: DimSpec<A>, const N: usize> DimSpec<[A; N]> for [D; N] {
    fn dims(&self, tree: &[A; N]) -> Result<Vec<Option<isize>>> {
        let mut out = Vec::new();
        for (spec, item) in self.iter().zip(tree) {
            out.extend(spec.dims(item)?);
        }
        Ok(out)
    }
}

macro_rules! tuple_spec {
    ($($a:ident $d:ident $k:tt),*) => {
        impl<$($a: Tree, $d: DimSpec<$a>),*> DimSpec<($($a,)*)> for ($($d,)*) {
            fn dims(&self, tree: &($($a,)*)) -> Result<Vec<Option<isize>>> {
                let mut out = Vec::new();
                $(out.extend(self.$k.dims(&tree.$k)?);)*
                Ok(out)
            }
        }
    };
}
tuple_spec!(A D 0);
tuple_spec!(A D 0, B E 1);
tuple_spec!(A D 0, B E 1, C F 2);
tuple_spec!(A D 0, B E 1, C F 2, G H 3);
tuple_spec!(A D 0, B E 1, C F 2, G H 3, I J 4);
tuple_spec!(A D 0, B E 1, C F 2, G H 3, I J 4, K L 5);
tuple_spec!(A D 0, B E 1, C F 2, G H 3, I J 4, K L 5, M N 6);
tuple_spec!(A D 0, B E 1, C F 2, G H 3, I J 4, K L 5, M N 6, O P 7);

/// Maps a function over dimension 0 of every tensor of its arguments; results are stacked along dimension 0.
///
/// Equal to a loop over the lanes followed by a stack, in values, derivatives, dtypes and errors, but runs `f` once
/// on all lanes. For other dimensions, shared arguments and random numbers see [`Vmap`].
///
/// # Errors
/// `Shape` if the sizes of the mapped dimensions differ; `Dim` if one does not exist; `Arity` if there is no tensor
/// to map over; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms: `vmap(grad(f))` gives per-example gradients.
///
/// # Example
/// ```
/// use pullback::{Tensor, vmap};
/// let dot = |(a, b): &(Tensor, Tensor)| a.mul(b)?.sum();
/// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let b = Tensor::from([[5.0, 6.0], [7.0, 8.0]]);
/// assert_eq!(vmap(dot)(&(a, b))?.to_vec::<f64>()?, [17.0, 53.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<O> {
    Vmap::new().of(f)
}

/// Options for [`vmap`].
///
/// ```
/// use pullback::{Tensor, Vmap};
/// let f = |(w, x): &(Tensor, Tensor)| w.mul(x)?.sum();
/// let (w, x) = (Tensor::from([1.0, 2.0]), Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
/// let y = Vmap::new().in_dims((None, 1)).of(f)(&(w, x))?;
/// assert_eq!(y.to_vec::<f64>()?, [9.0, 12.0, 15.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Vmap<I = i32, O = i32> {
    in_dims: I,
    out_dims: O,
    randomness: Randomness,
    batch_size: Option<usize>,
}

impl Default for Vmap {
    fn default() -> Vmap {
        Vmap { in_dims: 0, out_dims: 0, randomness: Randomness::Error, batch_size: None }
    }
}

impl Vmap {
    /// Every tensor is mapped over dimension 0, results are stacked along dimension 0, random numbers are an error.
    pub fn new() -> Vmap {
        Vmap::default()
    }
}

impl<I, O> Vmap<I, O> {
    /// Where the lanes of the arguments lie. See [`DimSpec`].
    pub fn in_dims<J>(self, in_dims: J) -> Vmap<J, O> {
        let Vmap { out_dims, randomness, batch_size, .. } = self;
        Vmap { in_dims, out_dims, randomness, batch_size }
    }

    /// Where the lanes of the results shall lie; `None` for a result that must not depend on the lane. See
    /// [`DimSpec`].
    pub fn out_dims<P>(self, out_dims: P) -> Vmap<I, P> {
        let Vmap { in_dims, randomness, batch_size, .. } = self;
        Vmap { in_dims, out_dims, randomness, batch_size }
    }

    /// How random numbers are drawn inside.
    pub fn randomness(mut self, randomness: Randomness) -> Vmap<I, O> {
        self.randomness = randomness;
        self
    }

    /// The number of lanes: needed if no argument is mapped, and checked otherwise.
    pub fn batch_size(mut self, size: usize) -> Vmap<I, O> {
        self.batch_size = Some(size);
        self
    }

    /// The mapped function. See [`vmap`].
    pub fn of<A: Tree, R: Tree, F: Fn(&A) -> Result<R>>(self, f: F) -> impl Fn(&A) -> Result<R>
    where
        I: DimSpec<A>,
        O: DimSpec<R>,
    {
        move |x| self.run(&f, x).context(|| "vmap".into())
    }

    fn run<A: Tree, R: Tree>(&self, f: &dyn Fn(&A) -> Result<R>, x: &A) -> Result<R>
    where
        I: DimSpec<A>,
        O: DimSpec<R>,
    {
        let dims = resolve_in_dims(x, self.in_dims.dims(x)?)?;
        let size = batch_size(x, &dims, self.batch_size)?;
        let open = OpenLevel::new(LevelKind::Batch { size, randomness: self.randomness });
        let mut dims = dims.into_iter();
        let wrapped = try_map(x, &mut |t| {
            check_alive(t, "argument")?;
            Ok(match dims.next().flatten() {
                Some(dim) => batch::wrap(open.level(), t.clone(), dim),
                None => t.clone(),
            })
        })?;
        let out = f(&wrapped)?;
        let mut out_dims = self.out_dims.dims(&out)?.into_iter();
        let mut k = 0;
        try_map(&out, &mut |t| {
            check_alive(t, "result")?;
            let index = k;
            k += 1;
            match out_dims.next().flatten() {
                Some(dim) => {
                    let what = format_args!("result{} with its lanes, {}", path_of(&out, index), t.ty());
                    let dim = resolve_dim("out_dims", dim, t.rank() + 1, what)?;
                    batch::unwrap_at(open.level(), t, dim)
                }
                None => match batch::unwrap(open.level(), t) {
                    (value, None) => Ok(value),
                    (_, Some(_)) => {
                        let path = path_of(&out, index);
                        bail!(Dim, "out_dims is None for result{path}, but it depends on the lane ({}, batch {size})", t.ty();
                            help = "give the dim that its lanes shall lie along");
                    }
                },
            }
        })
    }
}

fn resolve_in_dims<A: Tree>(x: &A, dims: Vec<Option<isize>>) -> Result<Vec<Option<usize>>> {
    let tensors = leaves(x);
    if dims.len() != tensors.len() {
        bail!(Arity, "expected batch dims for {} tensors ({}), got {}", tensors.len(), x.describe(), dims.len());
    }
    tensors
        .iter()
        .zip(dims)
        .enumerate()
        .map(|(k, (t, dim))| {
            dim.map(|d| resolve_dim("in_dims", d, t.rank(), format_args!("argument{} ({})", path_of(x, k), t.ty())))
                .transpose()
        })
        .collect()
}

fn batch_size<A: Tree>(x: &A, dims: &[Option<usize>], given: Option<usize>) -> Result<usize> {
    let tensors = leaves(x);
    let mut sizes = tensors.iter().zip(dims).enumerate().filter_map(|(k, (t, d))| d.map(|d| (k, t, d, t.shape()[d])));
    let Some((_, _, _, first)) = sizes.next() else {
        return match given {
            Some(size) => Ok(size),
            None => bail!(Arity, "expected at least one argument to map over, got none"; help = "give an in_dim other \
                than `None`, or the number of lanes with `batch_size`"),
        };
    };
    let all_equal = sizes.all(|(_, _, _, n)| n == first) && given.is_none_or(|n| n == first);
    if all_equal {
        return Ok(first);
    }
    let mut list: Vec<String> = Vec::new();
    for (k, (t, dim)) in tensors.iter().zip(dims).enumerate() {
        if let Some(d) = dim {
            list.push(format!("argument{} has {} ({}, dim {d})", path_of(x, k), t.shape()[*d], t.ty()));
        }
    }
    if let Some(n) = given {
        list.push(format!("`batch_size` is {n}"));
    }
    bail!(Shape, "batched arguments disagree on the batch size: {}", list.join(", "))
}
