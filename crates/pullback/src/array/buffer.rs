//! Aligned blocks of bytes for array data.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Elements start on a cache line, which is also the widest vector register.
const ALIGN: usize = 64;

/// An owned block of bytes, aligned to 64.
pub(crate) struct Buffer {
    ptr: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the block is plain memory with a single owner.
unsafe impl Send for Buffer {}
// SAFETY: as above; writing needs `&mut`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A block whose contents are not initialised.
    pub(crate) fn uninit(bytes: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes.max(ALIGN), ALIGN).expect("tensor size overflows");
        // SAFETY: the layout has a non-zero size.
        let ptr = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        Buffer { ptr, bytes: layout.size() }
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
        // SAFETY: allocated in `uninit` with this layout.
        unsafe { dealloc(self.ptr.as_ptr(), Layout::from_size_align_unchecked(self.bytes, ALIGN)) }
    }
}
