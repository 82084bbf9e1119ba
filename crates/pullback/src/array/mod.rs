//! Concrete data: a typed, strided view of an inline or shared buffer. Knows nothing of levels or derivatives.

mod buffer;
mod view;

use std::mem::MaybeUninit;

use buffer::Buffer;
#[cfg(feature = "dynamic")]
pub use buffer::on_no_memory;
pub use buffer::{clear_cache, live_bytes};
use smallvec::SmallVec;
pub(crate) use view::Cut;

use crate::DType;
use crate::dtype::{Element, Word};
use crate::handle::Handle;
use crate::shape::{Shape, Strides, TensorType};

/// Bytes that fit into the array's own allocation: a scalar or a short vector costs one allocation, not two.
const INLINE_BYTES: usize = 64;

/// A dtype, a shape, strides in elements, and where the elements are, behind one pointer: a clone is a count.
///
/// Elements are only ever written while the array and its storage have a single owner.
#[derive(Clone)]
#[repr(transparent)]
pub(crate) struct Array(pub(crate) Handle<Inner>);

pub(crate) struct Inner {
    shape: Shape,
    strides: Strides,
    /// The number of elements.
    len: usize,
    dtype: DType,
    /// Whether the elements lie in row-major order without gaps.
    contiguous: bool,
    storage: Storage,
}

/// The elements, and the index of the first one among them. The index lies here because a small one costs no room:
/// with it the whole would fill a size class of common allocators exactly, which is their slow case.
#[derive(Clone)]
enum Storage {
    Inline(u8, Inline),
    Shared(usize, Handle<Buffer>),
    /// Memory of another library, which is only read.
    Foreign(usize, Handle<Foreign>),
}

impl Storage {
    fn offset(&self) -> usize {
        match self {
            Storage::Inline(offset, _) => usize::from(*offset),
            Storage::Shared(offset, _) | Storage::Foreign(offset, _) => *offset,
        }
    }

    /// The same elements, from another one on.
    fn from(&self, offset: usize) -> Storage {
        match self {
            // What does not fit belongs to a view without elements.
            Storage::Inline(_, inline) => Storage::Inline(offset as u8, *inline),
            Storage::Shared(_, buffer) => Storage::Shared(offset, buffer.clone()),
            Storage::Foreign(_, foreign) => Storage::Foreign(offset, foreign.clone()),
        }
    }
}

/// Memory of another library, and what keeps it.
struct Foreign {
    start: *const u8,
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the memory is only read, and whoever handed it over promised that nobody writes to it.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

#[derive(Clone, Copy)]
#[repr(align(8))]
struct Inline([MaybeUninit<u8>; INLINE_BYTES]);

/// A copy of a short list. The generic `clone` goes element by element, which costs as much as a small kernel.
#[inline(always)]
fn copy_of<T: Copy>(list: &SmallVec<[T; 6]>) -> SmallVec<[T; 6]> {
    if list.spilled() {
        return SmallVec::from_slice(list);
    }
    // SAFETY: a list that has not spilled to the heap is plain data.
    unsafe { std::ptr::read(list) }
}

/// A list of `len` numbers of any value, of which those in use are to be written next. The rest of a short list stays as it
/// was found in memory: to clear it takes as long as a small kernel.
///
/// # Safety
/// Every element must be written before it is read.
#[inline(always)]
unsafe fn list<T: Copy + Default>(len: usize) -> SmallVec<[T; 6]> {
    if len > 6 {
        return SmallVec::from_elem(T::default(), len);
    }
    // SAFETY: the caller's promise.
    unsafe { SmallVec::from_buf_and_len_unchecked(MaybeUninit::uninit(), len) }
}

impl Inner {
    #[inline(always)]
    fn share(self) -> Array {
        // SAFETY: every field is initialised.
        Array(unsafe {
            Handle::in_place(|place: *mut Inner| {
                (&raw mut (*place).shape).write(self.shape);
                (&raw mut (*place).strides).write(self.strides);
                (&raw mut (*place).len).write(self.len);
                (&raw mut (*place).dtype).write(self.dtype);
                (&raw mut (*place).contiguous).write(self.contiguous);
                (&raw mut (*place).storage).write(self.storage);
            })
        })
    }
}

/// Operations refuse such shapes before they get here. This is the last line of defence: with a length that has wrapped
/// around, kernels would write beyond the end.
#[cold]
fn too_large(shape: &[usize]) -> ! {
    panic!("an array of shape {} has too many elements", crate::shape::Brackets(shape))
}

impl Array {
    /// True for two handles of one array.
    pub(crate) fn is_same(&self, other: &Array) -> bool {
        Handle::ptr_eq(&self.0, &other.0)
    }

    /// True if there is no other handle.
    pub(crate) fn is_unique(&self) -> bool {
        Handle::is_sole(&self.0)
    }

    /// True if nobody else holds the elements, so that they may be written to.
    pub(crate) fn is_writable(&self) -> bool {
        let storage = match &self.0.storage {
            Storage::Inline(..) => true,
            Storage::Shared(_, buffer) => Handle::is_sole(buffer),
            Storage::Foreign(..) => false,
        };
        storage && self.is_unique()
    }

    /// Where the layout lies: handles of one array share it.
    pub(crate) fn address(&self) -> usize {
        Handle::as_ptr(&self.0).cast::<()>() as usize
    }

    /// A contiguous array whose elements `fill` writes, all of them.
    ///
    /// # Safety
    /// `fill` must initialise every element of the slice that it is given.
    #[inline(always)]
    pub(crate) unsafe fn build<T: Element>(
        shape: impl AsRef<[usize]>,
        fill: impl FnOnce(&mut [MaybeUninit<T>]),
    ) -> Array {
        // SAFETY: the contract is the same.
        unsafe { Array::build_words(shape, T::DTYPE, fill) }
    }

    /// A contiguous array of any dtype whose elements `fill` writes as words of their size, all of them.
    ///
    /// # Safety
    /// As for [`Array::build`]; every word must be an element of that dtype.
    #[inline(always)]
    pub(crate) unsafe fn build_words<W: Word>(
        shape: impl AsRef<[usize]>,
        dtype: DType,
        fill: impl FnOnce(&mut [MaybeUninit<W>]),
    ) -> Array {
        assert_eq!(dtype.size(), size_of::<W>());
        let (array, start, len) = Array::uninit(shape.as_ref(), dtype);
        // SAFETY: the storage is new, aligned for every word, and has room for `len` elements.
        fill(unsafe { std::slice::from_raw_parts_mut(start.cast(), len) });
        array
    }

    /// A new row-major array, the address of its elements, and their number. Not generic, so that there is one copy.
    #[inline(never)]
    fn uninit(shape: &[usize], dtype: DType) -> (Array, *mut u8, usize) {
        let (mut start, mut len) = (std::ptr::null_mut(), 1usize);
        let write = |place: *mut Inner| {
            // SAFETY: the allocation is new and nobody else has it; every field is written before it is read. If the
            // buffer cannot be had, the allocation leaks.
            unsafe {
                (&raw mut (*place).shape).write(list(shape.len()));
                (&raw mut (*place).strides).write(list(shape.len()));
                let (sizes, strides) = ((*place).shape.as_mut_ptr(), (*place).strides.as_mut_ptr());
                let mut step = 1isize;
                for (k, &n) in shape.iter().enumerate().rev() {
                    sizes.add(k).write(n);
                    strides.add(k).write(step);
                    step = step.wrapping_mul(n.max(1) as isize);
                    let Some(product) = len.checked_mul(n) else { too_large(shape) };
                    len = product;
                }
                (&raw mut (*place).len).write(len);
                (&raw mut (*place).dtype).write(dtype);
                (&raw mut (*place).contiguous).write(true);
                let Some(bytes) = len.checked_mul(dtype.size()) else { too_large(shape) };
                let storage = &raw mut (*place).storage;
                if bytes <= INLINE_BYTES {
                    storage.write(Storage::Inline(0, Inline([MaybeUninit::uninit(); INLINE_BYTES])));
                } else {
                    storage.write(Storage::Shared(0, Handle::new(Buffer::uninit(bytes))));
                }
                start = match &mut *storage {
                    Storage::Inline(_, inline) => inline.0.as_mut_ptr().cast(),
                    Storage::Shared(_, buffer) => buffer.as_ptr().cast_mut(),
                    Storage::Foreign(..) => unreachable!("the storage is one of the two above"),
                };
            }
        };
        // SAFETY: `write` initialises every field.
        let array = Array(unsafe { Handle::in_place(write) });
        (array, start, len)
    }

    /// A contiguous array with every element equal to `value`.
    pub(crate) fn full<T: Element>(shape: impl AsRef<[usize]>, value: T) -> Array {
        // SAFETY: every element is written.
        unsafe {
            Array::build(shape, |out| {
                out.fill(MaybeUninit::new(value));
            })
        }
    }

    /// A contiguous array with a copy of `data`, which must have as many elements as `shape`.
    pub(crate) fn from_slice<T: Element>(shape: impl AsRef<[usize]>, data: &[T]) -> Array {
        let shape = shape.as_ref();
        assert_eq!(shape.iter().product::<usize>(), data.len());
        // SAFETY: the lengths agree, so every element is written.
        unsafe {
            Array::build(shape, |out: &mut [MaybeUninit<T>]| {
                std::ptr::copy_nonoverlapping(data.as_ptr(), out.as_mut_ptr().cast(), data.len());
            })
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.0.strides
    }

    /// Where the first element lies in the storage, in elements.
    pub(crate) fn offset(&self) -> usize {
        self.0.storage.offset()
    }

    pub(crate) fn dtype(&self) -> DType {
        self.0.dtype
    }

    pub(crate) fn rank(&self) -> usize {
        self.0.shape.len()
    }

    pub(crate) fn numel(&self) -> usize {
        self.0.len
    }

    /// A copy of the shape.
    #[inline(always)]
    pub(crate) fn to_shape(&self) -> Shape {
        copy_of(&self.0.shape)
    }

    pub(crate) fn ty(&self) -> TensorType {
        TensorType { dtype: self.0.dtype, shape: self.to_shape() }
    }

    /// True if the elements lie in row-major order without gaps.
    #[inline(always)]
    pub(crate) fn is_contiguous(&self) -> bool {
        self.0.contiguous
    }

    /// The address of the first element. Panics if `T` is not the element type.
    #[inline]
    pub(crate) fn as_ptr<T: Element>(&self) -> *const T {
        assert_eq!(self.0.dtype, T::DTYPE);
        self.start()
    }

    /// The address of the first element as a word. Panics if `W` has another size than the elements.
    #[inline]
    pub(crate) fn start<W: Word>(&self) -> *const W {
        assert_eq!(self.0.dtype.size(), size_of::<W>());
        let base = match &self.0.storage {
            Storage::Inline(_, inline) => inline.0.as_ptr().cast::<u8>(),
            Storage::Shared(_, buffer) => buffer.as_ptr(),
            Storage::Foreign(_, foreign) => foreign.start,
        };
        // SAFETY: the offset stays inside the storage for every view with at least one element; `wrapping_add`
        // keeps it defined for empty ones.
        base.cast::<W>().wrapping_add(self.0.storage.offset())
    }

    /// The elements in row-major order, if they lie so.
    pub(crate) fn as_slice<T: Element>(&self) -> Option<&[T]> {
        // SAFETY: a contiguous view covers `numel` initialised elements from its first one.
        self.is_contiguous().then(|| unsafe { std::slice::from_raw_parts(self.as_ptr::<T>(), self.numel()) })
    }

    /// As [`Array::as_slice`], for words of the size of the elements.
    pub(crate) fn as_words<W: Word>(&self) -> Option<&[W]> {
        // SAFETY: as above; words are no more aligned than the elements.
        self.is_contiguous().then(|| unsafe { std::slice::from_raw_parts(self.start::<W>(), self.numel()) })
    }

    /// The elements for writing, if they are contiguous and nobody else holds them.
    pub(crate) fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        assert_eq!(self.0.dtype, T::DTYPE);
        self.as_mut_words()
    }

    /// As [`Array::as_mut_slice`], for words of the size of the elements.
    pub(crate) fn as_mut_words<W: Word>(&mut self) -> Option<&mut [W]> {
        assert_eq!(self.0.dtype.size(), size_of::<W>());
        if !self.is_contiguous() {
            return None;
        }
        let inner = Handle::get_mut(&mut self.0)?;
        let offset = inner.storage.offset();
        let base = match &mut inner.storage {
            Storage::Inline(_, inline) => inline.0.as_mut_ptr().cast::<u8>(),
            Storage::Shared(_, buffer) => Handle::get_mut(buffer)?.as_mut_ptr(),
            Storage::Foreign(..) => return None,
        };
        // SAFETY: as in `as_slice`; the storage has no other owner.
        Some(unsafe { std::slice::from_raw_parts_mut(base.cast::<W>().wrapping_add(offset), inner.len) })
    }

    /// The only element of an array with one element.
    pub(crate) fn first<T: Element>(&self) -> T {
        assert!(self.numel() > 0);
        // SAFETY: there is at least one element.
        unsafe { *self.as_ptr::<T>() }
    }
}
