//! What the builders of the transforms share: which arguments are differentiated, and whether the function returns more
//! than its result.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;

use super::hessian::HessianStrategy;
use crate::error::bail;
use crate::function::Randomness;
use crate::{Result, Tree};

/// Which arguments a transform differentiates: all of them, unless `argnums::<N>()` of its builder selects one, and
/// `and::<M>()` another one.
///
/// The number of an argument is its position in the tuple, array or `Vec` that the function takes; negative numbers
/// count from the end. One argument gives its derivative as it is, several give a tuple, in the order in which they
/// were selected. The others are constants, of any dtype.
///
/// ```
/// use pullback::{Grad, Tensor};
/// let f = |(a, b, c): &(Tensor, Tensor, Tensor)| a.mul(b)?.mul(c);
/// let x = (Tensor::from(2.0), Tensor::from(3.0), Tensor::from(5.0));
/// assert_eq!(Grad::new().argnums::<-1>().of(f)(&x)?.item::<f64>()?, 6.0);
/// let (dc, da) = Grad::new().argnums::<2>().and::<0>().of(f)(&x)?;
/// assert_eq!((dc.item::<f64>()?, da.item::<f64>()?), (6.0, 15.0));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// For tuples and arrays, a number out of range and one that is selected twice do not compile. A `Vec` reports them
/// with kind [`Index`](crate::ErrorKind::Index).
#[diagnostic::on_unimplemented(
    message = "these arguments cannot be selected from `{A}`",
    note = "argument numbers count the members of a tuple, an array or a `Vec`; negative ones count from the end"
)]
pub trait Argnums<A: Tree>: Copy + Debug + Send + Sync + 'static {
    /// The selected argument, or the tuple of them.
    type Selected: Tree;

    /// The selected part of the arguments.
    ///
    /// # Errors
    /// `Index` if there is no such argument, or if it is selected twice.
    fn selected<'a>(&self, x: &'a A) -> Result<Cow<'a, Self::Selected>>;

    /// The arguments with other values for the selected ones.
    ///
    /// # Errors
    /// `Index` if there is no such argument.
    fn with<'a>(&self, x: &A, selected: &'a Self::Selected) -> Result<Cow<'a, A>>;
}

/// What the arguments `S` of a tree `A` are.
pub(super) type Selected<S, A> = <S as Argnums<A>>::Selected;

/// Selects every argument.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

/// Selects argument number `N`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Only<const N: i32>;

impl<A: Tree> Argnums<A> for All {
    type Selected = A;

    fn selected<'a>(&self, x: &'a A) -> Result<Cow<'a, A>> {
        Ok(Cow::Borrowed(x))
    }
    fn with<'a>(&self, _: &A, selected: &'a A) -> Result<Cow<'a, A>> {
        Ok(Cow::Borrowed(selected))
    }
}

impl<const N: i32, A: Argument<N>> Argnums<A> for Only<N> {
    type Selected = A::Selected;

    fn selected<'a>(&self, x: &'a A) -> Result<Cow<'a, A::Selected>> {
        Ok(Cow::Borrowed(x.argument()?))
    }
    fn with<'a>(&self, x: &A, selected: &'a A::Selected) -> Result<Cow<'a, A>> {
        Ok(Cow::Owned(x.with_argument(selected)?))
    }
}

/// Arguments with one of number `N`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no argument number {N}",
    note = "argument numbers count the members of a tuple, an array or a `Vec`; negative ones count from the end"
)]
pub trait Argument<const N: i32>: Tree {
    /// The type of that argument.
    type Selected: Tree;
    /// Its position, if the type of the arguments fixes it.
    const POSITION: Option<usize>;
    /// Its position.
    fn position(&self) -> Result<usize>;
    /// The argument.
    fn argument(&self) -> Result<&Self::Selected>;
    /// The arguments with another value for this one.
    fn with_argument(&self, value: &Self::Selected) -> Result<Self>;
}

macro_rules! argument {
    (($($t:ident)*) $n:literal at $k:tt: $s:ident) => {
        impl<$($t: Tree),*> Argument<$n> for ($($t,)*) {
            type Selected = $s;
            const POSITION: Option<usize> = Some($k);

            fn position(&self) -> Result<usize> {
                Ok($k)
            }
            fn argument(&self) -> Result<&$s> {
                Ok(&self.$k)
            }
            fn with_argument(&self, value: &$s) -> Result<Self> {
                let mut out = self.clone();
                out.$k = value.clone();
                Ok(out)
            }
        }
    };
}

/// Writes `Argument` for every member of tuples, by its number from the front and from the back.
macro_rules! arguments {
    ($($all:tt: $($k:tt $back:literal $s:ident),*;)*) => { $($(
        argument!($all $k at $k: $s);
        argument!($all $back at $k: $s);
    )*)* };
}
arguments! {
    (A): 0 -1 A;
    (A B): 0 -2 A, 1 -1 B;
    (A B C): 0 -3 A, 1 -2 B, 2 -1 C;
    (A B C D): 0 -4 A, 1 -3 B, 2 -2 C, 3 -1 D;
    (A B C D E): 0 -5 A, 1 -4 B, 2 -3 C, 3 -2 D, 4 -1 E;
    (A B C D E F): 0 -6 A, 1 -5 B, 2 -4 C, 3 -3 D, 4 -2 E, 5 -1 F;
    (A B C D E F G): 0 -7 A, 1 -6 B, 2 -5 C, 3 -4 D, 4 -3 E, 5 -2 F, 6 -1 G;
    (A B C D E F G H): 0 -8 A, 1 -7 B, 2 -6 C, 3 -5 D, 4 -4 E, 5 -3 F, 6 -2 G, 7 -1 H;
}

/// The position of number `n` among `len` arguments.
const fn position(n: i32, len: usize) -> Option<usize> {
    let at = if n < 0 { n as i64 + len as i64 } else { n as i64 };
    if at >= 0 && at < len as i64 { Some(at as usize) } else { None }
}

impl<T: Tree, const LEN: usize, const N: i32> Argument<N> for [T; LEN] {
    type Selected = T;
    const POSITION: Option<usize> = {
        assert!(position(N, LEN).is_some(), "the array has no argument of this number");
        position(N, LEN)
    };

    fn position(&self) -> Result<usize> {
        Ok(const { <Self as Argument<N>>::POSITION.unwrap() })
    }
    fn argument(&self) -> Result<&T> {
        Ok(&self[<Self as Argument<N>>::position(self)?])
    }
    fn with_argument(&self, value: &T) -> Result<Self> {
        let mut out = self.clone();
        out[<Self as Argument<N>>::position(self)?] = value.clone();
        Ok(out)
    }
}

impl<T: Tree, const N: i32> Argument<N> for Vec<T> {
    type Selected = T;
    const POSITION: Option<usize> = None;

    fn position(&self) -> Result<usize> {
        match position(N, self.len()) {
            Some(k) => Ok(k),
            None => {
                let n = self.len();
                bail!(Index, "argnums: there is no argument number {N}, the function has {n} positional arguments")
            }
        }
    }
    fn argument(&self) -> Result<&T> {
        Ok(&self[<Self as Argument<N>>::position(self)?])
    }
    fn with_argument(&self, value: &T) -> Result<Self> {
        let mut out = self.clone();
        out[<Self as Argument<N>>::position(self)?] = value.clone();
        Ok(out)
    }
}

/// True if no position that is known occurs twice.
const fn distinct(positions: &[Option<usize>]) -> bool {
    let mut i = 0;
    while i < positions.len() {
        let mut j = 0;
        while j < i {
            if let (Some(a), Some(b)) = (positions[i], positions[j])
                && a == b
            {
                return false;
            }
            j += 1;
        }
        i += 1;
    }
    true
}

/// A selection with one more argument.
#[diagnostic::on_unimplemented(
    message = "`and` adds an argument to a selection of one to seven arguments",
    note = "select the first one with `argnums`"
)]
pub trait And<const N: i32> {
    /// The larger selection.
    type Output: Default;
}

/// Writes `Argnums` for several arguments, and how the list of them grows.
macro_rules! several {
    ($($n:ident $k:tt),*) => {
        impl<A: $(Argument<$n> +)* Tree, $(const $n: i32),*> Argnums<A> for ($(Only<$n>,)*) {
            type Selected = ($(<A as Argument<$n>>::Selected,)*);

            fn selected<'a>(&self, x: &'a A) -> Result<Cow<'a, Self::Selected>> {
                const { assert!(distinct(&[$(<A as Argument<$n>>::POSITION),*]), "an argument is selected twice") };
                let positions = [$(<A as Argument<$n>>::position(x)?),*];
                if !distinct(&positions.map(Some)) {
                    bail!(Index, "argnums: expected different arguments, got numbers {:?}", [$($n),*]);
                }
                Ok(Cow::Owned(($(<A as Argument<$n>>::argument(x)?.clone(),)*)))
            }
            fn with<'a>(&self, x: &A, selected: &'a Self::Selected) -> Result<Cow<'a, A>> {
                let mut out = x.clone();
                $(out = <A as Argument<$n>>::with_argument(&out, &selected.$k)?;)*
                Ok(Cow::Owned(out))
            }
        }
    };
}
macro_rules! grows {
    ($($n:ident)*) => {
        impl<const NEXT: i32, $(const $n: i32),*> And<NEXT> for ($(Only<$n>,)*) {
            type Output = ($(Only<$n>,)* Only<NEXT>,);
        }
    };
}
impl<const NEXT: i32, const I: i32> And<NEXT> for Only<I> {
    type Output = (Only<I>, Only<NEXT>);
}
several!(I 0, J 1);
several!(I 0, J 1, K 2);
several!(I 0, J 1, K 2, L 3);
several!(I 0, J 1, K 2, L 3, M 4);
several!(I 0, J 1, K 2, L 3, M 4, N 5);
several!(I 0, J 1, K 2, L 3, M 4, N 5, O 6);
several!(I 0, J 1, K 2, L 3, M 4, N 5, O 6, P 7);
grows!(I J);
grows!(I J K);
grows!(I J K L);
grows!(I J K L M);
grows!(I J K L M N);
grows!(I J K L M N O);

/// The function returns its result.
#[derive(Clone, Copy, Debug)]
pub struct NoAux;

/// The function returns its result and auxiliary data.
#[derive(Clone, Copy, Debug)]
pub struct HasAux;

/// The options of all builders; each offers those that mean something for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<S, X> {
    pub(super) argnums: S,
    pub(super) chunk_size: Option<usize>,
    pub(super) randomness: Randomness,
    pub(super) strategy: HessianStrategy,
    pub(super) strict: bool,
    aux: PhantomData<X>,
}

impl Options<All, NoAux> {
    pub(super) fn new() -> Self {
        Options {
            argnums: All,
            chunk_size: None,
            randomness: Randomness::Same,
            strategy: HessianStrategy::default(),
            strict: false,
            aux: PhantomData,
        }
    }
}

impl<S, X> Options<S, X> {
    pub(super) fn with_argnums<T>(self, argnums: T) -> Options<T, X> {
        let Options { chunk_size, randomness, strategy, strict, aux, .. } = self;
        Options { argnums, chunk_size, randomness, strategy, strict, aux }
    }

    pub(super) fn with_aux<Y>(self) -> Options<S, Y> {
        let Options { argnums, chunk_size, randomness, strategy, strict, .. } = self;
        Options { argnums, chunk_size, randomness, strategy, strict, aux: PhantomData }
    }
}

/// The largest number of directions or lanes at once.
pub(super) fn chunk(size: Option<usize>) -> Result<usize> {
    match size {
        Some(0) => bail!(Value, "chunk_size: expected at least 1, got 0"),
        size => Ok(size.unwrap_or(usize::MAX)),
    }
}

/// Declares a builder with the options that every transform has, and those that are listed.
macro_rules! builder {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $option:ident: $ty:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<S = All, X = NoAux>(Options<S, X>);

        impl Default for $name {
            fn default() -> Self {
                $name::new()
            }
        }

        impl $name {
            /// No options.
            pub fn new() -> Self {
                $name(Options::new())
            }
        }

        impl<X> $name<All, X> {
            /// Differentiates argument number `N` only; negative numbers count from the end. See [`Argnums`].
            pub fn argnums<const N: i32>(self) -> $name<Only<N>, X> {
                $name(self.0.with_argnums(Only))
            }
        }

        impl<S, X> $name<S, X> {
            /// Differentiates argument number `N` as well. See [`Argnums`].
            pub fn and<const N: i32>(self) -> $name<S::Output, X>
            where
                S: And<N>,
            {
                $name(self.0.with_argnums(Default::default()))
            }

            $(
                $(#[$doc])*
                pub fn $option(mut self, $option: $ty) -> Self {
                    self.0.$option = $option.into();
                    self
                }
            )*
        }

        impl<S> $name<S, NoAux> {
            /// The function returns a pair: its result, and a tree of auxiliary data, which is passed on and not
            /// differentiated here. What is no tensor goes into a [`Static`](crate::Static).
            pub fn has_aux(self) -> $name<S, HasAux> {
                $name(self.0.with_aux())
            }
        }
    };
}
pub(super) use builder;

/// Writes the forms that a function comes in: with and without auxiliary data, with and without its value. All of them
/// call `run`, which takes a function that returns its value and something else, and returns the value, the derivative,
/// and the rest.
macro_rules! forms {
    ($builder:ident, $of:literal, $value_and:literal, [$($o:ident)?] $value:ty => $derivative:ty
        $(where $($bounded:ty: $bound:path),*)?) => {
        impl<S> $builder<S, NoAux> {
            #[doc = concat!("The transformed function. See [`", $of, "`].")]
            pub fn of<A: Tree, $($o: Tree,)? F: Fn(&A) -> Result<$value>>(
                self,
                f: F,
            ) -> impl Fn(&A) -> Result<$derivative>
            where
                S: Argnums<A>,
                $($($bounded: $bound,)*)?
            {
                move |x| Ok(self.run(&|x: &A| Ok((f(x)?, ())), x).context(|| $of.into())?.1)
            }

            /// The function that returns the value and the derivative.
            pub fn value_and<A: Tree, $($o: Tree,)? F: Fn(&A) -> Result<$value>>(
                self,
                f: F,
            ) -> impl Fn(&A) -> Result<($value, $derivative)>
            where
                S: Argnums<A>,
                $($($bounded: $bound,)*)?
            {
                move |x| {
                    let (value, derivative, ()) =
                        self.run(&|x: &A| Ok((f(x)?, ())), x).context(|| $value_and.into())?;
                    Ok((value, derivative))
                }
            }
        }

        impl<S> $builder<S, HasAux> {
            #[doc = concat!("The function that returns the derivative and the auxiliary data. See [`", $of, "`].")]
            pub fn of<A: Tree, $($o: Tree,)? Y: Tree, F: Fn(&A) -> Result<($value, Y)>>(
                self,
                f: F,
            ) -> impl Fn(&A) -> Result<($derivative, Y)>
            where
                S: Argnums<A>,
                $($($bounded: $bound,)*)?
            {
                move |x| {
                    let (_, derivative, aux) = self.run(&f, x).context(|| $of.into())?;
                    Ok((derivative, aux))
                }
            }

            /// The function that returns the value with the auxiliary data, and the derivative.
            pub fn value_and<A: Tree, $($o: Tree,)? Y: Tree, F: Fn(&A) -> Result<($value, Y)>>(
                self,
                f: F,
            ) -> impl Fn(&A) -> Result<(($value, Y), $derivative)>
            where
                S: Argnums<A>,
                $($($bounded: $bound,)*)?
            {
                move |x| {
                    let (value, derivative, aux) = self.run(&f, x).context(|| $value_and.into())?;
                    Ok(((value, aux), derivative))
                }
            }
        }
    };
}
pub(super) use forms;
