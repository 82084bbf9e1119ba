//! Counted handles of one word, for the values that are made and dropped with every operation.
//!
//! They differ from `std::sync::Arc` in three ways, each of which is felt in an operation on one number. Both counts lie
//! in one word, so a look at it tells whether a handle is the only one, and the last handle goes without a locked
//! instruction. A value is written where it stays. And a handle can carry a mark in its lowest bit, by which
//! [`Tensor`](crate::Tensor) tells two kinds of values apart without being larger than a pointer.

use std::alloc::{Layout, dealloc};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// One strong handle in the counts. Weak handles are counted above, and all strong ones together are one of them.
const STRONG: u64 = 1;
const WEAK: u64 = 1 << 32;
/// The counts of a value with one handle of either kind.
const SOLE: u64 = STRONG + WEAK;
/// Beyond this many handles the counts could run into each other before anybody noticed.
const TOO_MANY: u32 = 1 << 31;

#[repr(C, align(8))]
struct Counted<T> {
    counts: AtomicU64,
    value: T,
}

/// A shared value, as `Arc<T>`; the address that it holds is `MARK` too large.
#[repr(transparent)]
pub(crate) struct Handle<T, const MARK: usize = 0> {
    marked: NonNull<u8>,
    _value: PhantomData<Counted<T>>,
}

/// A handle that does not keep the value alive, but its address from being used again.
pub(crate) struct Weak<T, const MARK: usize = 0> {
    marked: NonNull<u8>,
    _value: PhantomData<Counted<T>>,
}

// SAFETY: as for `Arc`: handles on several threads share the value, and any of them may drop it.
unsafe impl<T: Send + Sync, const MARK: usize> Send for Handle<T, MARK> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, const MARK: usize> Sync for Handle<T, MARK> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, const MARK: usize> Send for Weak<T, MARK> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, const MARK: usize> Sync for Weak<T, MARK> {}

/// The value and its counts.
#[inline(always)]
fn place<T, const MARK: usize>(marked: NonNull<u8>) -> *mut Counted<T> {
    // SAFETY: the mark was added to the address of an allocation that is larger.
    unsafe { marked.byte_sub(MARK) }.cast().as_ptr()
}

#[inline(always)]
fn counts<'a, T, const MARK: usize>(marked: NonNull<u8>) -> &'a AtomicU64 {
    // SAFETY: the allocation lives as long as any handle, which the callers borrow, and the counts lie in front.
    unsafe { &*place::<T, MARK>(marked).cast::<AtomicU64>() }
}

/// Takes a strong handle from the counts; true if it was the last.
#[inline(always)]
fn let_go<T, const MARK: usize>(marked: NonNull<u8>) -> bool {
    let counts = counts::<T, MARK>(marked);
    // Where this is the only handle, nobody can make another one meanwhile.
    let last = counts.load(Ordering::Acquire) == SOLE || counts.fetch_sub(STRONG, Ordering::Release) as u32 == 1;
    if last {
        // What others did through their handles happened before they let go of them.
        fence(Ordering::Acquire);
    }
    last
}

#[cold]
fn too_many() -> ! {
    // As `Arc` does: unwinding could drop the handles that are too many.
    std::process::abort()
}

impl<T, const MARK: usize> Handle<T, MARK> {
    /// A value that `write` initialises where it stays. To move it there would take a copy, and a copy made right after
    /// the fields were written one by one has to wait for them.
    ///
    /// # Safety
    /// `write` must initialise the value that it is given the place of.
    #[inline(always)]
    pub(crate) unsafe fn in_place(write: impl FnOnce(*mut T)) -> Handle<T, MARK> {
        const { assert!(MARK < 8) };
        let place = Box::into_raw(Box::new(MaybeUninit::<Counted<T>>::uninit())).cast::<Counted<T>>();
        // SAFETY: the allocation is new and as large as the value. If `write` panics, it leaks.
        unsafe {
            (&raw mut (*place).counts).write(AtomicU64::new(SOLE));
            write(&raw mut (*place).value);
            Handle { marked: NonNull::new_unchecked(place).cast::<u8>().byte_add(MARK), _value: PhantomData }
        }
    }

    pub(crate) fn new(value: T) -> Handle<T, MARK> {
        // SAFETY: the value is written.
        unsafe { Handle::in_place(|place: *mut T| place.write(value)) }
    }

    /// Where the value lies.
    pub(crate) fn as_ptr(this: &Handle<T, MARK>) -> *const T {
        // SAFETY: the handle keeps the allocation alive.
        unsafe { &raw const (*place::<T, MARK>(this.marked)).value }
    }

    /// True for two handles of one value.
    pub(crate) fn ptr_eq(this: &Handle<T, MARK>, other: &Handle<T, MARK>) -> bool {
        this.marked == other.marked
    }

    /// The value, if no other handle of any kind leads to it.
    #[inline(always)]
    pub(crate) fn get_mut(this: &mut Handle<T, MARK>) -> Option<&mut T> {
        if !Handle::is_sole(this) {
            return None;
        }
        // SAFETY: there is no other way to the value, and this one is borrowed.
        Some(unsafe { &mut (*place::<T, MARK>(this.marked)).value })
    }

    /// True if no other handle of any kind leads to the value.
    #[inline(always)]
    pub(crate) fn is_sole(this: &Handle<T, MARK>) -> bool {
        // What others did through their handles happened before they let go of them.
        counts::<T, MARK>(this.marked).load(Ordering::Acquire) == SOLE
    }

    /// The value, if no other handle of any kind leads to it.
    pub(crate) fn try_unwrap(this: Handle<T, MARK>) -> Result<T, Handle<T, MARK>> {
        if !Handle::is_sole(&this) {
            return Err(this);
        }
        let this = ManuallyDrop::new(this);
        let place = place::<T, MARK>(this.marked);
        // SAFETY: nobody else has the value, and the handle to it is not dropped.
        unsafe {
            let value = (&raw const (*place).value).read();
            free(place);
            Ok(value)
        }
    }

    /// The value, if this is the last strong handle. Of several threads that let go of their handles at once, one gets it.
    pub(crate) fn into_inner(this: Handle<T, MARK>) -> Option<T> {
        let this = ManuallyDrop::new(this);
        if !let_go::<T, MARK>(this.marked) {
            return None;
        }
        let place = place::<T, MARK>(this.marked);
        // SAFETY: there are no strong handles left, and weak ones look at the counts only.
        unsafe {
            let _shared = Weak::<T, 0> { marked: NonNull::new_unchecked(place).cast(), _value: PhantomData };
            Some((&raw const (*place).value).read())
        }
    }

    pub(crate) fn downgrade(this: &Handle<T, MARK>) -> Weak<T, MARK> {
        if (counts::<T, MARK>(this.marked).fetch_add(WEAK, Ordering::Relaxed) >> 32) as u32 >= TOO_MANY {
            too_many()
        }
        Weak { marked: this.marked, _value: PhantomData }
    }

    /// The handle as the address it holds.
    #[inline(always)]
    pub(crate) fn into_raw(this: Handle<T, MARK>) -> NonNull<u8> {
        ManuallyDrop::new(this).marked
    }

    /// # Safety
    /// `raw` comes from [`Handle::into_raw`] of a handle of this type, and goes into one handle.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(raw: NonNull<u8>) -> Handle<T, MARK> {
        Handle { marked: raw, _value: PhantomData }
    }

    /// What the last strong handle does.
    #[inline(never)]
    unsafe fn drop_value(place: *mut Counted<T>) {
        // SAFETY: there are no strong handles left; weak ones look at the counts only.
        unsafe {
            let _shared = Weak::<T, 0> { marked: NonNull::new_unchecked(place).cast(), _value: PhantomData };
            std::ptr::drop_in_place(&raw mut (*place).value);
        }
    }
}

/// # Safety
/// The value is gone, and so are all handles.
unsafe fn free<T>(place: *mut Counted<T>) {
    // SAFETY: it was allocated as a box of this type.
    unsafe { dealloc(place.cast(), Layout::new::<Counted<T>>()) }
}

impl<T, const MARK: usize> Deref for Handle<T, MARK> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a handle keeps the value alive.
        unsafe { &(*place::<T, MARK>(self.marked)).value }
    }
}

impl<T, const MARK: usize> Clone for Handle<T, MARK> {
    #[inline(always)]
    fn clone(&self) -> Handle<T, MARK> {
        if counts::<T, MARK>(self.marked).fetch_add(STRONG, Ordering::Relaxed) as u32 >= TOO_MANY {
            too_many()
        }
        Handle { marked: self.marked, _value: PhantomData }
    }
}

impl<T, const MARK: usize> Drop for Handle<T, MARK> {
    #[inline(always)]
    fn drop(&mut self) {
        if let_go::<T, MARK>(self.marked) {
            // SAFETY: this was the last strong handle.
            unsafe { Handle::<T, MARK>::drop_value(place::<T, MARK>(self.marked)) }
        }
    }
}

impl<T, const MARK: usize> Weak<T, MARK> {
    /// A handle to the value, if it still has one.
    pub(crate) fn upgrade(&self) -> Option<Handle<T, MARK>> {
        let counts = counts::<T, MARK>(self.marked);
        let raised = |n: u64| {
            if n as u32 >= TOO_MANY {
                too_many()
            }
            (n as u32 != 0).then_some(n + STRONG)
        };
        counts.fetch_update(Ordering::Acquire, Ordering::Relaxed, raised).ok()?;
        Some(Handle { marked: self.marked, _value: PhantomData })
    }

    /// False once the value is gone.
    pub(crate) fn is_alive(&self) -> bool {
        counts::<T, MARK>(self.marked).load(Ordering::Relaxed) as u32 != 0
    }

    /// Where the value lies, or lay.
    pub(crate) fn as_ptr(&self) -> *const T {
        // SAFETY: a weak handle keeps the allocation alive, and the value is not touched.
        unsafe { &raw const (*place::<T, MARK>(self.marked)).value }
    }
}

impl<T, const MARK: usize> Drop for Weak<T, MARK> {
    fn drop(&mut self) {
        let counts = counts::<T, MARK>(self.marked);
        if counts.load(Ordering::Acquire) >> 32 == 1 || counts.fetch_sub(WEAK, Ordering::Release) >> 32 == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the value is gone, since strong handles together are one weak one, and this was the last.
            unsafe { free(place::<T, MARK>(self.marked)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    struct Noisy(Arc<AtomicUsize>);

    impl Drop for Noisy {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn noisy() -> (Handle<Noisy, 1>, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Handle::new(Noisy(drops.clone())), drops)
    }

    #[test]
    fn the_last_handle_drops_the_value_once() {
        let (a, drops) = noisy();
        let b = a.clone();
        assert!(Handle::ptr_eq(&a, &b) && !Handle::is_sole(&a));
        drop(a);
        assert!(Handle::is_sole(&b));
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        drop(b);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_value_can_be_had_and_taken_only_where_no_other_handle_is() {
        let mut a = Handle::<_, 1>::new(5);
        *Handle::get_mut(&mut a).unwrap() += 1;
        let weak = Handle::downgrade(&a);
        assert!(Handle::get_mut(&mut a).is_none(), "a weak handle could become one");
        let a = Handle::try_unwrap(a).expect_err("there is a weak handle");
        drop(weak);
        let b = a.clone();
        let a = Handle::try_unwrap(a).expect_err("there are two");
        assert_eq!(Handle::into_inner(b), None);
        assert_eq!(Handle::try_unwrap(a).ok(), Some(6));
        let a = Handle::<_, 0>::new(7);
        let weak = Handle::downgrade(&a);
        assert_eq!(Handle::into_inner(a), Some(7));
        assert!(!weak.is_alive());
    }

    #[test]
    fn a_weak_handle_outlives_the_value_and_keeps_its_address() {
        let (a, drops) = noisy();
        let (weak, second) = (Handle::downgrade(&a), Handle::downgrade(&a));
        assert!(weak.is_alive() && Handle::ptr_eq(&weak.upgrade().unwrap(), &a));
        let at = Handle::as_ptr(&a);
        drop(a);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(!weak.is_alive() && weak.upgrade().is_none());
        drop(second);
        assert_eq!(weak.as_ptr(), at);
        drop(weak);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn handles_may_be_made_and_dropped_on_many_threads() {
        let rounds = if cfg!(miri) { 20 } else { 2000 };
        for _ in 0..rounds {
            let (a, drops) = noisy();
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    let mine = a.clone();
                    scope.spawn(move || {
                        let weak = Handle::downgrade(&mine);
                        drop(mine);
                        drop(weak.upgrade());
                    });
                }
                drop(a);
            });
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn a_value_that_panics_when_it_is_dropped_frees_its_memory() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("bomb");
            }
        }
        let a = Handle::<_, 0>::new(Bomb);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(a))).is_err());
    }
}
