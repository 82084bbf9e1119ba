//! Batching: a function of one example made a function of many.

use std::fmt;

use super::assemble::Assembly;
use super::dims::DimSpec;
use super::options::chunk;
use crate::array::Array;
use crate::dtype::any_dtype;
use crate::error::{Context as _, bail};
use crate::function::Randomness;
use crate::interp::level::{OpenLevel, Part};
use crate::interp::{LevelKind, batch, check_alive};
use crate::kernels::copy::contiguous;
use crate::shape::resolve_dim;
use crate::tensor::Repr;
use crate::tree::{Path, leaves, path_of, same_places, try_map};
use crate::{Result, Tensor, Tree};

/// Maps a function over dimension 0 of every tensor of its arguments; results are stacked along dimension 0.
///
/// Equal to a loop over the lanes followed by a stack, in values, derivatives, dtypes and errors, but runs `f` once
/// on all lanes. For other dimensions, shared arguments, random numbers and chunks see [`Vmap`].
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
    chunk_size: Option<usize>,
}

impl Default for Vmap {
    fn default() -> Vmap {
        Vmap { in_dims: 0, out_dims: 0, randomness: Randomness::Error, batch_size: None, chunk_size: None }
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
        let Vmap { out_dims, randomness, batch_size, chunk_size, .. } = self;
        Vmap { in_dims, out_dims, randomness, batch_size, chunk_size }
    }

    /// Where the lanes of the results shall lie; `None` for a result that must not depend on the lane. See
    /// [`DimSpec`].
    pub fn out_dims<P>(self, out_dims: P) -> Vmap<I, P> {
        let Vmap { in_dims, randomness, batch_size, chunk_size, .. } = self;
        Vmap { in_dims, out_dims, randomness, batch_size, chunk_size }
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

    /// How many lanes to run at once, at most: `f` runs once for each chunk. The results are the same, random numbers
    /// among them; what is held besides them grows with the chunk, not with the number of lanes.
    ///
    /// With 1 it is a plain loop: nothing is batched, so `f` may read the data of its arguments. There, a result with
    /// an `out_dims` of `None` is compared between lanes, because nothing else shows whether it depends on them.
    /// Without lanes there is nothing to loop over, and `f` runs once on a batch of none. 0 is an error of kind `Value`
    /// when the function is called.
    ///
    /// A [`Generator`](crate::random::Generator) that `f` captured advances with every run; draw from a
    /// [`Key`](crate::random::Key).
    ///
    /// ```
    /// use pullback::{Tensor, Vmap};
    /// let x = Tensor::from([1.0, -2.0, 3.0]);
    /// let doubled = Vmap::new().chunk_size(2).of(|x: &Tensor| x.mul(2.0))(&x)?;
    /// assert_eq!(doubled.to_vec::<f64>()?, [2.0, -4.0, 6.0]);
    /// let branches = |x: &Tensor| if x.item::<f64>()? > 0.0 { x.square() } else { x.neg() };
    /// assert_eq!(Vmap::new().chunk_size(1).of(branches)(&x)?.to_vec::<f64>()?, [1.0, 2.0, 9.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn chunk_size(mut self, size: usize) -> Vmap<I, O> {
        self.chunk_size = Some(size);
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
        let dims = self.in_dims.dims(x);
        let dims = dims.context(|| format!("in_dims {} of arguments {}", self.in_dims.describe(), x.describe()))?;
        let dims = resolve_in_dims(x, dims)?;
        let size = batch_size(x, &dims, self.batch_size)?;
        let chunk = chunk(self.chunk_size)?;
        if chunk >= size && (chunk > 1 || size == 0) {
            let open = OpenLevel::lanes(size, self.randomness, None);
            let out = f(&batched(x, &dims, &open)?)?;
            let mut dims = self.resolve_out_dims(&out)?.into_iter();
            let mut k = 0;
            return try_map(&out, &mut |t| {
                k += 1;
                unbatched(&out, k - 1, t, dims.next().flatten(), &open)
            });
        }
        let mut whole: Option<Chunks<R>> = None;
        for first in (0..size).step_by(chunk) {
            let part = Part { first, of: size, in_loop: chunk == 1 };
            let open = OpenLevel::lanes(chunk.min(size - first), self.randomness, Some(part));
            let out = f(&lanes(x, &dims, &part, &open)?)?;
            let dims = self.resolve_out_dims(&out)?;
            let mut values = Vec::new();
            for (k, (t, dim)) in leaves(&out).into_iter().zip(&dims).enumerate() {
                values.push(match dim {
                    Some(dim) if part.in_loop => {
                        check_alive(t, "result")?;
                        t.unsqueeze(*dim as isize)?
                    }
                    dim => unbatched(&out, k, t, *dim, &open)?,
                });
            }
            match &mut whole {
                Some(whole) => whole.add(&out, values, &part)?,
                None => whole = Some(Chunks::new(&out, dims, values, &part)?),
            }
        }
        match whole {
            Some(whole) => whole.finish(),
            None => bail!(Internal, "vmap: no lanes and no chunks"),
        }
    }

    /// The dim that the lanes of each tensor of a result shall lie along.
    fn resolve_out_dims<R: Tree>(&self, out: &R) -> Result<Vec<Option<usize>>>
    where
        O: DimSpec<R>,
    {
        let dims = self.out_dims.dims(out);
        let dims = dims.context(|| format!("out_dims {} of results {}", self.out_dims.describe(), out.describe()))?;
        let resolved = leaves(out).into_iter().zip(dims).enumerate().map(|(k, (t, dim))| {
            let what = format_args!("result{} with its lanes, {}", Path(out, k), Type(t));
            dim.map(|dim| resolve_dim("out_dims", dim, t.rank() + 1, what)).transpose()
        });
        resolved.collect()
    }
}

/// The arguments as values of a level with all lanes.
fn batched<A: Tree>(x: &A, dims: &[Option<usize>], open: &OpenLevel) -> Result<A> {
    let mut dims = dims.iter();
    try_map(x, &mut |t| {
        check_alive(t, "argument")?;
        Ok(match dims.next() {
            Some(Some(dim)) => batch::wrap(open.level(), t.clone(), *dim),
            _ => t.clone(),
        })
    })
}

/// The arguments of some lanes: as values of their level, or those of one lane as they are.
fn lanes<A: Tree>(x: &A, dims: &[Option<usize>], part: &Part, open: &OpenLevel) -> Result<A> {
    let LevelKind::Batch { size, .. } = open.level().kind else { unreachable!("a batch level") };
    let mut own = dims.iter();
    let sliced = try_map(x, &mut |t| {
        check_alive(t, "argument")?;
        match own.next() {
            Some(Some(dim)) if part.in_loop => t.select(*dim as isize, part.first as isize),
            Some(Some(dim)) => t.narrow(*dim as isize, part.first as isize, size),
            _ => Ok(t.clone()),
        }
    })?;
    if part.in_loop { Ok(sliced) } else { batched(&sliced, dims, open) }
}

/// Tensor number `k` of a result, without its level, and with its lanes along `dim`.
fn unbatched<R: Tree>(out: &R, k: usize, t: &Tensor, dim: Option<usize>, open: &OpenLevel) -> Result<Tensor> {
    check_alive(t, "result")?;
    match dim {
        Some(dim) => batch::unwrap_at(open.level(), t, dim),
        None => match batch::unwrap(open.level(), t) {
            (value, None) => Ok(value),
            (_, Some(_)) => {
                let LevelKind::Batch { size, .. } = open.level().kind else { unreachable!("a batch level") };
                let of = open.level().part.map_or(size, |p| p.of);
                let path = path_of(out, k);
                bail!(Dim, "out_dims is None for result{path}, but it depends on the lane ({}, batch {of})", t.ty();
                    help = "give the dim that its lanes shall lie along");
            }
        },
    }
}

/// The results of a `vmap` that arrive chunk by chunk.
struct Chunks<R> {
    /// The structure of the first ones, with any tensors.
    first: R,
    values: Vec<Value>,
}

enum Value {
    Lanes(Assembly),
    Shared(Tensor),
}

impl<R: Tree> Chunks<R> {
    fn new(out: &R, dims: Vec<Option<usize>>, values: Vec<Tensor>, part: &Part) -> Result<Chunks<R>> {
        let pairs = dims.into_iter().zip(values).map(|(dim, value)| match dim {
            Some(dim) => {
                let mut lanes = Assembly::new(dim, part.of);
                lanes.push(value, String::new)?;
                Ok(Value::Lanes(lanes))
            }
            None => Ok(Value::Shared(value)),
        });
        let any = Tensor::from(0.0);
        Ok(Chunks { values: pairs.collect::<Result<_>>()?, first: try_map(out, &mut |_| Ok(any.clone()))? })
    }

    fn add(&mut self, out: &R, values: Vec<Tensor>, part: &Part) -> Result<()> {
        if values.len() != self.values.len() || !same_places(&self.first, out) {
            let (want, got) = (self.first.describe(), out.describe());
            bail!(Arity, "expected results {want} for all lanes, got {got} from lane {} on", part.first);
        }
        for (k, (known, value)) in self.values.iter_mut().zip(values).enumerate() {
            match known {
                Value::Lanes(lanes) => {
                    lanes.push(value, || format!("result{} of lane {}", path_of(out, k), part.first))?
                }
                Value::Shared(shared) if part.in_loop && differ(shared, &value) => {
                    let (path, ty, lane) = (path_of(out, k), value.ty(), part.first);
                    bail!(Dim, "out_dims is None for result{path}, but it differs between lanes 0 and {lane} ({ty})";
                        help = "give the dim that its lanes shall lie along");
                }
                Value::Shared(_) => {}
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<R> {
        let mut values = self.values.into_iter();
        try_map(&self.first, &mut |t| match values.next() {
            Some(Value::Lanes(lanes)) => lanes.finish(),
            Some(Value::Shared(value)) => Ok(value),
            None => Ok(t.clone()),
        })
    }
}

/// True if two tensors are seen to differ; those that an outer `vmap` works on cannot be seen.
#[allow(clippy::eq_op, reason = "NaN is not equal to itself")]
fn differ(a: &Tensor, b: &Tensor) -> bool {
    if a.ty() != b.ty() {
        return true;
    }
    let (Some(a), Some(b)) = (seen(a), seen(b)) else { return false };
    let (a, b) = (contiguous(a), contiguous(b));
    any_dtype!(a.dtype(), T => {
        let (a, b) = (a.as_slice::<T>().unwrap_or_default(), b.as_slice::<T>().unwrap_or_default());
        // NaN is the same for every lane.
        a.iter().zip(b).any(|(a, b)| a != b && (a == a || b == b))
    })
}

/// The data of a value that no outer `vmap` works on.
fn seen(t: &Tensor) -> Option<&Array> {
    match t.repr() {
        Repr::Array(array) => Some(array),
        Repr::Tracer(tracer) => seen(tracer.primal()?),
    }
}

/// The type of a tensor, which is only made if it is written.
struct Type<'a>(&'a Tensor);

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.ty().fmt(f)
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
            dim.map(|d| resolve_dim("in_dims", d, t.rank(), format_args!("argument{} ({})", Path(x, k), Type(t))))
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
