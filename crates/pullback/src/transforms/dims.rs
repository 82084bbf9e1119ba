//! Where lanes lie: the specs of batch dims that `vmap` takes.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::error::bail;
use crate::tree::{Leaf, count};
use crate::{Result, Tree};

/// Where the lanes of each tensor of a tree lie: an integer for the whole tree (negative ones count from the end),
/// `None` for a tree that is the same for every lane, or a tuple, array, `Vec`, map, `Box` or derived struct of these.
///
/// A spec may stop at any node: `(None, 0)` for arguments `(params, x)` covers every tensor of `params`. Where all
/// entries have one type, as in a `Vec`, [`BatchDim`] is a number or none; it also says `None` of an `Option` of a
/// tree, where `None` alone could mean two things.
///
/// ```
/// use pullback::{BatchDim, Tensor, Vmap};
/// let f = |(w, layers): &(Tensor, Vec<Tensor>)| w.mul(&layers[0])?.add(&layers[1]);
/// let args = (Tensor::from(2.0), vec![Tensor::from([[1.0, 2.0, 3.0]]).squeeze(0)?, Tensor::from(10.0)]);
/// let y = Vmap::new().in_dims((None, vec![BatchDim::At(-1), BatchDim::Shared])).of(f)(&args)?;
/// assert_eq!(y.to_vec::<f64>()?, [12.0, 14.0, 16.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where the lanes of `{A}` lie",
    note = "write an integer, `None`, or a tuple, array, `Vec`, map or derived struct of these, with the structure of \
            the tree or a part of it"
)]
pub trait DimSpec<A: Tree> {
    /// The dim of every tensor of `tree`, in order.
    ///
    /// # Errors
    /// `Arity` if the spec has another structure than the tree.
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>>;

    /// A short description for messages, such as `(none, [0, -1])`.
    fn describe(&self) -> String;
}

/// Where the lanes of a tree lie, where some of its neighbours share theirs: an entry of a [`DimSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchDim {
    /// The tree is the same for every lane: `None`.
    Shared,
    /// The lanes lie along this dim; negative numbers count from the end.
    At(i32),
}

impl<A: Tree> DimSpec<A> for BatchDim {
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>> {
        match self {
            BatchDim::Shared => None::<usize>.dims(tree),
            BatchDim::At(dim) => dim.dims(tree),
        }
    }
    fn describe(&self) -> String {
        match self {
            BatchDim::Shared => "none".into(),
            BatchDim::At(dim) => dim.to_string(),
        }
    }
}

impl<A: Tree> DimSpec<A> for i32 {
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>> {
        Ok(vec![Some(*self as isize); count(tree)])
    }
    fn describe(&self) -> String {
        self.to_string()
    }
}

impl<A: Tree> DimSpec<A> for Option<usize> {
    fn dims(&self, tree: &A) -> Result<Vec<Option<isize>>> {
        // What does not fit must not wrap around to a dim from the end.
        let dim = self.map(|d| isize::try_from(d).unwrap_or(isize::MAX));
        Ok(vec![dim; count(tree)])
    }
    fn describe(&self) -> String {
        self.map_or_else(|| "none".into(), |d| d.to_string())
    }
}

/// Writes the spec of an optional tree: `Some` of that of the tree, or `None` for one that all lanes share.
macro_rules! optional {
    ($([$($generics:tt)*] $tree:ty: $spec:ty;)*) => { $(
        impl<$($generics)*> DimSpec<Option<$tree>> for Option<$spec> {
            fn dims(&self, tree: &Option<$tree>) -> Result<Vec<Option<isize>>> {
                match (self, tree) {
                    (Some(spec), Some(tree)) => spec.dims(tree),
                    _ => None::<usize>.dims(tree),
                }
            }
            fn describe(&self) -> String {
                self.as_ref().map_or_else(|| "none".into(), DimSpec::<$tree>::describe)
            }
        }
    )* };
}
optional! {
    [A: Tree] A: Option<usize>;
    [A: Tree] A: i32;
    [A: Tree] A: BatchDim;
    [A: Tree, D: DimSpec<A>] Vec<A>: Vec<D>;
    [A: Tree, D: DimSpec<A>] Box<A>: Box<D>;
}

impl<A: Tree, D: DimSpec<A>> DimSpec<Box<A>> for Box<D> {
    fn dims(&self, tree: &Box<A>) -> Result<Vec<Option<isize>>> {
        (**self).dims(&**tree)
    }
    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// The dims of all items of a container, in order.
fn each<'a, A: Tree, D: DimSpec<A> + 'a>(
    specs: impl IntoIterator<Item = &'a D>,
    items: impl IntoIterator<Item = &'a A>,
) -> Result<Vec<Option<isize>>> {
    let mut out = Vec::new();
    for (spec, item) in specs.into_iter().zip(items) {
        out.extend(spec.dims(item)?);
    }
    Ok(out)
}

fn describe_list<A: Tree, D: DimSpec<A>>(specs: &[D]) -> String {
    format!("[{}]", specs.iter().map(D::describe).collect::<Vec<_>>().join(", "))
}

impl<K: Leaf + Ord + Debug, A: Tree, D: DimSpec<A>> DimSpec<BTreeMap<K, A>> for BTreeMap<K, D> {
    fn dims(&self, tree: &BTreeMap<K, A>) -> Result<Vec<Option<isize>>> {
        if !self.keys().eq(tree.keys()) {
            let keys = |k: Vec<&K>| format!("{k:?}");
            let (want, got) = (keys(tree.keys().collect()), keys(self.keys().collect()));
            bail!(Arity, "expected batch dims for a map with keys {want}, got keys {got}");
        }
        each(self.values(), tree.values())
    }
    fn describe(&self) -> String {
        let parts: Vec<String> = self.iter().map(|(k, d)| format!("{k:?}: {}", d.describe())).collect();
        format!("{{{}}}", parts.join(", "))
    }
}

impl<A: Tree, D: DimSpec<A>> DimSpec<Vec<A>> for Vec<D> {
    fn dims(&self, tree: &Vec<A>) -> Result<Vec<Option<isize>>> {
        if self.len() != tree.len() {
            bail!(Arity, "expected batch dims for a list of {} items, got a list of {}", tree.len(), self.len());
        }
        each(self, tree)
    }
    fn describe(&self) -> String {
        describe_list(self)
    }
}

impl<A: Tree, D: DimSpec<A>, const N: usize> DimSpec<[A; N]> for [D; N] {
    fn dims(&self, tree: &[A; N]) -> Result<Vec<Option<isize>>> {
        each(self, tree)
    }
    fn describe(&self) -> String {
        describe_list(self)
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
            fn describe(&self) -> String {
                match [$(self.$k.describe()),*].as_slice() {
                    [one] => format!("({one},)"),
                    parts => format!("({})", parts.join(", ")),
                }
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
