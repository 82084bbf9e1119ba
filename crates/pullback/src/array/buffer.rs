//! Aligned blocks of bytes for array data, kept for reuse when they are given back.
//!
//! The first touch of a fresh page costs more than the arithmetic on it, so blocks are not returned to the system at
//! once. Small ones wait in lists of the thread that freed them, without a lock; large ones wait in one shared list
//! and, on Linux, lie on huge pages. Both are bounded, and [`clear_cache`] empties them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Elements start on a cache line, which is also the widest vector register.
const ALIGN: usize = 64;

/// The size and alignment of a huge page; blocks of at least this size are made of them.
const HUGE: usize = 2 << 20;

/// How much a thread keeps to itself.
const THREAD_CAP: usize = 4 << 20;

/// How much the shared list keeps.
const SHARED_CAP: usize = 1 << 30;

/// An owned block of bytes, aligned to 64.
pub(crate) struct Buffer {
    ptr: NonNull<u8>,
    /// The size of the block, which decides where it came from and where it goes.
    bytes: usize,
}

// SAFETY: the block is plain memory with a single owner.
unsafe impl Send for Buffer {}
// SAFETY: as above; writing needs `&mut`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A block whose contents are not initialised.
    pub(crate) fn uninit(bytes: usize) -> Buffer {
        let (class, size) = small_class(bytes);
        if class < CLASSES && !cfg!(miri) {
            let cached = LOCAL.try_with(|local| local.take(class, size)).unwrap_or_else(|_| {
                RETIRED.fetch_add(size as isize, Relaxed);
                None
            });
            return Buffer { ptr: cached.unwrap_or_else(|| allocate(size)), bytes: size };
        }
        let size = large_size(bytes);
        // The lock is given up before memory is asked for, and only what was had is counted.
        let kept = shared().take(size);
        let ptr = kept.unwrap_or_else(|| allocate(size));
        count(size as isize);
        Buffer { ptr, bytes: size }
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let (class, size) = small_class(self.bytes);
        let kept = if class < CLASSES && size == self.bytes && !cfg!(miri) {
            LOCAL.try_with(|local| local.keep(class, self.bytes, self.ptr)).unwrap_or_else(|_| {
                RETIRED.fetch_sub(self.bytes as isize, Relaxed);
                false
            })
        } else {
            count(-(self.bytes as isize));
            !cfg!(miri) && shared().keep(self.bytes, self.ptr)
        };
        if !kept {
            // SAFETY: the block is ours and is not used again.
            unsafe { release(self.ptr, self.bytes) }
        }
    }
}

/// Bytes in blocks that arrays hold at present, on all threads; short arrays that need no block are not counted.
///
/// ```
/// use pullback::{DType, Tensor, live_bytes};
/// let before = live_bytes();
/// let x = Tensor::zeros(&[1000], DType::F64)?;
/// assert!(live_bytes() >= before + 8000);
/// drop(x);
/// assert_eq!(live_bytes(), before);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn live_bytes() -> usize {
    let threads = threads();
    let sum = RETIRED.load(Relaxed) + threads.iter().map(|live| live.load(Relaxed)).sum::<isize>();
    usize::try_from(sum).unwrap_or(0)
}

/// Returns the blocks that wait for reuse to the system: those of this thread and the shared ones.
///
/// Blocks are kept for the next tensor of their size, because fresh pages cost more than the arithmetic on them.
///
/// ```
/// pullback::clear_cache();
/// ```
pub fn clear_cache() {
    // A thread that is ending has emptied its lists already.
    let _ = LOCAL.try_with(Local::clear);
    let blocks = std::mem::take(&mut *shared());
    for (size, list) in blocks.by_size {
        for block in list {
            // SAFETY: cached blocks belong to the cache alone.
            unsafe { release(block.0, size) }
        }
    }
}

fn layout(size: usize) -> Layout {
    let align = if size >= HUGE { HUGE } else { ALIGN };
    Layout::from_size_align(size, align).unwrap_or_else(|_| too_large())
}

/// What is called where memory cannot be had; see [`on_no_memory`].
static NO_MEMORY: OnceLock<fn(usize)> = OnceLock::new();

/// Has `f` called with the number of bytes where the memory for a tensor cannot be had, before the panic or the end of the
/// process that follows. It may unwind by itself (`std::panic::resume_unwind`), with a payload that its caller knows.
///
/// The first one stays; true if it is this one.
///
/// ```
/// assert!(pullback::dynamic::on_no_memory(|bytes| eprintln!("no {bytes} bytes")));
/// ```
#[cfg(feature = "dynamic")]
pub fn on_no_memory(f: fn(bytes: usize)) -> bool {
    NO_MEMORY.set(f).is_ok()
}

#[cold]
fn too_large() -> ! {
    if let Some(f) = NO_MEMORY.get() {
        f(usize::MAX);
    }
    panic!("the size of a tensor overflows")
}

/// Bytes from which on it is worth asking the system whether it has so much.
#[cfg(all(target_os = "linux", not(miri)))]
const MUCH: usize = 1 << 30;

/// False if the system does not have so much memory. Allocators may take addresses without asking for memory behind them, and then the
/// process ends when these are written to.
#[cfg(all(target_os = "linux", not(miri)))]
fn is_obtainable(size: usize) -> bool {
    if size < MUCH {
        return true;
    }
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, which nobody else knows, and which is given back as a whole.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, size) == 0
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn is_obtainable(_size: usize) -> bool {
    true
}

#[cold]
fn allocate(size: usize) -> NonNull<u8> {
    let layout = layout(size);
    // SAFETY: the size is not zero.
    let found = if is_obtainable(size) { NonNull::new(unsafe { alloc(layout) }) } else { None };
    let Some(ptr) = found else {
        if let Some(f) = NO_MEMORY.get() {
            f(size);
        }
        // A tensor that is too large is a mistake that a program may want to survive, other than one that is out of memory.
        match size >= HUGE {
            true => panic!("expected {size} bytes of memory for a tensor, which the system does not have"),
            false => handle_alloc_error(layout),
        }
    };
    #[cfg(all(target_os = "linux", not(miri)))]
    if size >= HUGE {
        // SAFETY: the range was just allocated. It is advice: failure changes nothing.
        unsafe { libc::madvise(ptr.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
    }
    ptr
}

/// # Safety
/// The block must come from [`allocate`] with this size, and not be used again.
unsafe fn release(ptr: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(ptr.as_ptr(), layout(size)) }
}

/// Two sizes per power of two, from 128 bytes to 256 KiB.
const CLASSES: usize = 24;

/// The index and size of the class for a small block. The index is at least [`CLASSES`] if the block is not small.
#[inline]
fn small_class(bytes: usize) -> (usize, usize) {
    let last = bytes.max(128) - 1;
    let exponent = last.ilog2() as usize;
    let (power, half) = (1usize << exponent, 1usize << (exponent - 1));
    if last < power + half { (2 * exponent - 12, power + half) } else { (2 * exponent - 11, 2 * power) }
}

/// The size for a large block: four sizes per power of two, and whole huge pages.
fn large_size(bytes: usize) -> usize {
    let last = bytes.max(ALIGN) - 1;
    let step = (1usize << last.ilog2()).div_ceil(4).max(ALIGN);
    let step = if last >= HUGE { step.max(HUGE) } else { step };
    bytes.max(1).checked_next_multiple_of(step).unwrap_or_else(|| too_large())
}

/// Live bytes allocated and freed on threads that have ended, or while they end.
static RETIRED: AtomicIsize = AtomicIsize::new(0);

/// The live bytes of every running thread. A thread alone writes its counter, so it needs no locked instruction; a
/// counter is negative if the thread frees what others allocate.
static THREADS: Mutex<Vec<Arc<AtomicIsize>>> = Mutex::new(Vec::new());

fn threads() -> MutexGuard<'static, Vec<Arc<AtomicIsize>>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(bytes: isize) {
    if LOCAL.try_with(|local| local.count(bytes)).is_err() {
        RETIRED.fetch_add(bytes, Relaxed);
    }
}

thread_local! {
    static LOCAL: Local = Local::new();
}

/// What one thread keeps: a list per class, linked through the blocks themselves.
struct Local {
    free: [Cell<*mut u8>; CLASSES],
    bytes: Cell<usize>,
    live: Arc<AtomicIsize>,
}

impl Local {
    fn new() -> Local {
        let live = Arc::new(AtomicIsize::new(0));
        threads().push(Arc::clone(&live));
        Local { free: [const { Cell::new(null_mut()) }; CLASSES], bytes: Cell::new(0), live }
    }

    #[inline]
    fn count(&self, bytes: isize) {
        self.live.store(self.live.load(Relaxed) + bytes, Relaxed);
    }

    /// Counts a block of this class as live, and gives a kept one if there is any.
    #[inline]
    fn take(&self, class: usize, size: usize) -> Option<NonNull<u8>> {
        self.count(size as isize);
        let head = NonNull::new(self.free[class].get())?;
        // SAFETY: a listed block belongs to this list and begins with the address of the next one.
        self.free[class].set(unsafe { head.cast::<*mut u8>().read() });
        self.bytes.set(self.bytes.get() - size);
        Some(head)
    }

    /// Counts a block as no longer live; keeps it and returns true if there is room.
    #[inline]
    fn keep(&self, class: usize, size: usize, block: NonNull<u8>) -> bool {
        self.count(-(size as isize));
        if self.bytes.get() + size > THREAD_CAP {
            return false;
        }
        // SAFETY: the block is unused, aligned, and larger than an address.
        unsafe { block.cast::<*mut u8>().write(self.free[class].get()) };
        self.free[class].set(block.as_ptr());
        self.bytes.set(self.bytes.get() + size);
        true
    }

    fn clear(&self) {
        for list in &self.free {
            let mut next = list.replace(null_mut());
            while let Some(block) = NonNull::new(next) {
                // SAFETY: as in `take`; the size follows from the class.
                unsafe {
                    next = block.cast::<*mut u8>().read();
                    let class = (std::ptr::from_ref(list) as usize - self.free.as_ptr() as usize) / size_of_val(list);
                    release(block, class_size(class));
                }
            }
        }
        self.bytes.set(0);
    }
}

/// The size of the blocks of a small class.
fn class_size(class: usize) -> usize {
    let power = 64usize << (class / 2);
    if class.is_multiple_of(2) { power + power / 2 } else { 2 * power }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.clear();
        let mut threads = threads();
        RETIRED.fetch_add(self.live.load(Relaxed), Relaxed);
        threads.retain(|live| !Arc::ptr_eq(live, &self.live));
    }
}

/// A block that waits in the shared list.
struct Free(NonNull<u8>);

// SAFETY: the block is plain memory that only the list refers to.
unsafe impl Send for Free {}

/// The large blocks that wait for reuse.
#[derive(Default)]
struct Shared {
    by_size: BTreeMap<usize, Vec<Free>>,
    bytes: usize,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { by_size: BTreeMap::new(), bytes: 0 });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn take(&mut self, size: usize) -> Option<NonNull<u8>> {
        let list = self.by_size.get_mut(&size)?;
        let block = list.pop()?;
        if list.is_empty() {
            self.by_size.remove(&size);
        }
        self.bytes -= size;
        Some(block.0)
    }

    /// Keeps a block if it fits at all, at the cost of the largest others, which are the least likely to be wanted.
    fn keep(&mut self, size: usize, block: NonNull<u8>) -> bool {
        if size > SHARED_CAP / 2 {
            return false;
        }
        while self.bytes + size > SHARED_CAP {
            let Some((&largest, _)) = self.by_size.last_key_value() else { return false };
            let Some(old) = self.take(largest) else { return false };
            // SAFETY: taken from the list, so nobody else knows it.
            unsafe { release(old, largest) };
        }
        self.by_size.entry(size).or_default().push(Free(block));
        self.bytes += size;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest block that a thread keeps to itself.
    const SMALL_MAX: usize = 256 << 10;

    #[test]
    fn classes_cover_all_sizes() {
        for bytes in (1..70_000).chain([SMALL_MAX - 1, SMALL_MAX]) {
            let (class, size) = small_class(bytes);
            assert!(class < CLASSES && size >= bytes && size.is_multiple_of(ALIGN), "{bytes}");
            assert_eq!(size, class_size(class));
            assert_eq!(small_class(size), (class, size));
        }
        assert!(small_class(SMALL_MAX + 1).0 >= CLASSES);
        for bytes in [SMALL_MAX + 1, 300_000, 1 << 20, (1 << 20) + 1, HUGE - 1, HUGE, HUGE + 1, 5 << 20, 100 << 20] {
            let size = large_size(bytes);
            assert!(size >= bytes && size <= (bytes + bytes / 4).next_multiple_of(HUGE), "{bytes} {size}");
            assert!(small_class(size).0 >= CLASSES);
            assert_eq!(large_size(size), size);
            assert!(size < HUGE || size.is_multiple_of(HUGE));
        }
    }

    #[test]
    fn blocks_are_reused_and_aligned() {
        for bytes in [100usize, 5000, 1 << 20, 3 << 20] {
            let mut a = Buffer::uninit(bytes);
            assert!((a.as_ptr() as usize).is_multiple_of(if bytes >= HUGE { HUGE } else { ALIGN }));
            // SAFETY: the block has this many bytes.
            unsafe { a.as_mut_ptr().write_bytes(7, bytes) };
            drop(a);
            drop(Buffer::uninit(bytes));
        }
        let a = Buffer::uninit(777);
        let place = a.as_ptr();
        drop(a);
        if !cfg!(miri) {
            assert_eq!(Buffer::uninit(777).as_ptr(), place);
        }
        clear_cache();
    }

    #[test]
    fn blocks_may_be_freed_on_other_threads_and_while_a_thread_ends() {
        thread_local! {
            static LATE: Cell<Option<Buffer>> = const { Cell::new(None) };
        }
        let many: Vec<Buffer> = (0..200).map(|k| Buffer::uninit(1000 * k + 1)).collect();
        std::thread::spawn(move || {
            LATE.set(Some(Buffer::uninit(5000)));
            drop(many);
            drop(Buffer::uninit(4000));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn live_bytes_follow_blocks_across_threads() {
        // Other tests run meanwhile, but none holds this much.
        let much = 64 << 20;
        let before = live_bytes();
        let block = std::thread::spawn(move || Buffer::uninit(much)).join().unwrap();
        assert!(live_bytes() + much / 4 >= before + much);
        drop(block);
        assert!(live_bytes() < before + much / 4);
    }
}
