//! Splitting work over threads, above a threshold only.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// A pointer that may cross to another thread; whoever sends it sees to it that threads write disjoint parts.
#[derive(Clone, Copy)]
pub(crate) struct SendPtr<T>(pub(crate) *mut T);

// SAFETY: an address is only a number; every dereference is justified where it happens.
unsafe impl<T> Send for SendPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SendPtr<T> {}

impl<T> SendPtr<T> {
    /// The pointer. A method, so that closures capture the wrapper and not the field.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}

/// Work below this many nanoseconds stays on the calling thread: waking another one costs about 20 µs, and it may
/// begin late.
const SERIAL_BELOW: usize = 100_000;

/// The same for calls from within a pool, where a hand-off costs less than 1 µs.
const SERIAL_BELOW_IN_POOL: usize = 25_000;

/// The number of threads; 0 as long as nobody asked.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How many threads one operation may use: what [`set_num_threads`] said, else the environment variable
/// `PULLBACK_NUM_THREADS`, else the number of processors.
///
/// ```
/// pullback::set_num_threads(2);
/// assert_eq!(pullback::num_threads(), 2);
/// ```
pub fn num_threads() -> usize {
    let n = THREADS.load(Relaxed);
    if n > 0 { n } else { default_threads() }
}

#[cold]
fn default_threads() -> usize {
    let asked = std::env::var("PULLBACK_NUM_THREADS").ok().and_then(|v| v.trim().parse().ok()).filter(|&n| n > 0);
    let n = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    // A number set meanwhile stays.
    let _ = THREADS.compare_exchange(0, n, Relaxed, Relaxed);
    n
}

/// Sets how many threads one operation may use; 0 counts as 1. Results may depend on it in the last digit, but not
/// on timing.
///
/// ```
/// pullback::set_num_threads(1);
/// assert_eq!(pullback::num_threads(), 1);
/// ```
pub fn set_num_threads(n: usize) {
    THREADS.store(n.max(1), Relaxed);
}

/// Calls `f` on ranges that cover `0..n`, on several threads if the whole is worth it.
///
/// `nanos` estimates the serial time of the whole work. Ranges start at multiples of `grain`, except that the last
/// one ends at `n`. The ranges depend on these numbers and on [`num_threads`] only.
#[inline(always)]
pub(crate) fn split(n: usize, grain: usize, nanos: usize, f: impl Fn(Range<usize>) + Sync) {
    if nanos < SERIAL_BELOW_IN_POOL || n <= grain {
        f(0..n);
    } else {
        split_large(n, grain, nanos, &f);
    }
}

#[inline(never)]
fn split_large(n: usize, grain: usize, nanos: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let in_pool = rayon::current_thread_index().is_some();
    let threads = num_threads();
    if threads == 1 || (nanos < SERIAL_BELOW && !in_pool) {
        return f(0..n);
    }
    let size = n.div_ceil(threads).next_multiple_of(grain.max(1));
    let part = |start: usize| start..(start + size).min(n);
    if fork::has_lost_pool() {
        return (0..n).step_by(size).for_each(|start| f(part(start)));
    }
    if in_pool {
        return rayon::in_place_scope(|scope| {
            for start in (size..n).step_by(size) {
                scope.spawn(move |_| f(part(start)));
            }
            f(part(0));
        });
    }
    let open = AtomicUsize::new((n - 1) / size);
    pool::scope(|scope| {
        for start in (size..n).step_by(size) {
            let open = &open;
            scope.spawn(move |_| {
                f(part(start));
                pool::linger();
                open.fetch_sub(1, Release);
            });
        }
        f(part(0));
        pool::wait(&open);
    });
}

/// The threads that work for callers outside of every pool of `rayon`.
///
/// Programs call one kernel after the other, and each waits for all of its parts. Threads that fell asleep in between would take as
/// long to wake as many kernels take, so they stay awake for a moment, and so does a caller whose part was done first.
mod pool {
    use std::cell::Cell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering::Acquire};
    use std::time::{Duration, Instant};

    use rayon::{Scope, ThreadPool, ThreadPoolBuilder, Yield};

    /// How long a thread without work stays awake: some of the longest pauses between kernels of one program.
    const LINGER: Duration = Duration::from_micros(100);

    thread_local! {
        static LINGERS: Cell<bool> = const { Cell::new(false) };
    }

    /// The pool, unless threads cannot be had.
    fn pool() -> Option<&'static ThreadPool> {
        static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
        let build = || {
            let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
            // The caller works too.
            let others = processors.max(super::num_threads()).saturating_sub(1).max(1);
            ThreadPoolBuilder::new().num_threads(others).thread_name(|k| format!("pullback-{k}")).build().ok()
        };
        POOL.get_or_init(build).as_ref()
    }

    /// As `rayon::in_place_scope`, in the pool.
    pub(super) fn scope<'s>(f: impl FnOnce(&Scope<'s>)) {
        match pool() {
            Some(pool) => pool.in_place_scope(f),
            None => rayon::in_place_scope(f),
        }
    }

    /// Sees to it that this thread of the pool looks for work for a moment after what it does now.
    pub(super) fn linger() {
        if !LINGERS.get() {
            rayon::spawn(stay);
        }
    }

    /// Looks for work until there was none for a moment.
    fn stay() {
        if LINGERS.replace(true) {
            return;
        }
        let mut since = Instant::now();
        loop {
            match rayon::yield_now() {
                Some(Yield::Executed) => since = Instant::now(),
                _ if since.elapsed() > LINGER => break,
                _ => std::hint::spin_loop(),
            }
        }
        LINGERS.set(false);
    }

    /// Waits for a moment until nothing is open, which is quicker than to be woken.
    pub(super) fn wait(open: &AtomicUsize) {
        let since = Instant::now();
        while open.load(Acquire) > 0 {
            for _ in 0..16 {
                std::hint::spin_loop();
            }
            if since.elapsed() > LINGER {
                return;
            }
        }
        // The scope ends right after the last part.
        for _ in 0..4 {
            std::hint::spin_loop();
        }
    }
}

/// The threads of a pool are not there in a child of `fork`, where handing work to them would wait for ever. Such a child
/// does all work itself, in the same parts.
mod fork {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static LOST: AtomicBool = AtomicBool::new(false);

    /// Whether this process came from one that had a pool. To be asked before each use of the pool.
    pub(super) fn has_lost_pool() -> bool {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(watch);
        LOST.load(Relaxed)
    }

    #[cfg(all(unix, not(miri)))]
    fn watch() {
        extern "C" fn lose() {
            LOST.store(true, Relaxed);
        }
        // SAFETY: the handler writes an atomic and does nothing else, which is allowed in a child.
        unsafe { libc::pthread_atfork(None, None, Some(lose)) };
    }

    #[cfg(not(all(unix, not(miri))))]
    fn watch() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn ranges_cover_everything_once_and_start_at_multiples_of_the_grain() {
        for (n, grain) in [(0, 1), (1, 1), (10, 3), (1000, 64), (1001, 64), (64, 64), (5, 100)] {
            for nanos in [0, 1_000_000] {
                let seen = Mutex::new(Vec::new());
                split(n, grain, nanos, |r| seen.lock().unwrap().push(r));
                let mut seen = seen.into_inner().unwrap();
                seen.sort_by_key(|r| r.start);
                let mut next = 0;
                for r in &seen {
                    assert_eq!(r.start, next);
                    assert!(r.start.is_multiple_of(grain));
                    next = r.end;
                }
                assert_eq!(next, n);
            }
        }
    }

    #[test]
    fn a_split_may_contain_splits() {
        let total = AtomicUsize::new(0);
        split(100, 1, 1_000_000, |r| {
            split(r.len(), 1, 1_000_000, |inner| {
                total.fetch_add(inner.len(), Relaxed);
            });
        });
        assert_eq!(total.into_inner(), 100);
    }
}
