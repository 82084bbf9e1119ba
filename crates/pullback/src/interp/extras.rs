//! What few nodes of the ambient level have: hooks, and slots in which gradients accumulate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::level::AMBIENT;
use super::mode;
use super::noted::constant_of_ambient;
use crate::ops::structural::add_owned;
use crate::{Result, Tensor};

/// What few nodes have: hooks, and slots in which gradients accumulate. No lock is held while user code runs.
#[derive(Default)]
pub(crate) struct Extras {
    hooks: Mutex<Vec<Hook>>,
    slots: Mutex<SmallVec<[(u32, Option<Tensor>); 1]>>,
}

/// What a hook does when its moment comes.
#[derive(Clone)]
pub(crate) enum Run {
    /// Sees the complete cotangent, and may replace it.
    Replace(Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>),
    /// Sees what a leaf has accumulated.
    Accumulated(Arc<dyn Fn(&Tensor) -> Result<()> + Send + Sync>),
}

struct Hook {
    id: u64,
    output: u32,
    run: Run,
}

/// A panic while a lock was held leaves nothing half done: what is guarded is replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Extras {
    pub(crate) fn add_hook(&self, output: u32, run: Run) -> u64 {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let mut hooks = lock(&self.hooks);
        // Numbered under the lock, so that numbers rise along the list.
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        hooks.push(Hook { id, output, run });
        id
    }

    pub(crate) fn remove_hook(&self, id: u64) {
        let mut hooks = lock(&self.hooks);
        let removed = hooks.iter().position(|hook| hook.id == id).map(|k| hooks.remove(k));
        drop(hooks);
        // Only now: what the hook captured may run code of its own.
        drop(removed);
    }

    /// The first hook of `output` after number `id`. A hook may remove others, so they are looked up one by one.
    pub(super) fn hook_after(&self, id: u64, output: u32) -> Option<(u64, Run)> {
        lock(&self.hooks).iter().find(|h| h.id > id && h.output == output).map(|h| (h.id, h.run.clone()))
    }

    /// Lets gradients of `output` accumulate.
    pub(crate) fn open_slot(&self, output: u32) {
        let mut slots = lock(&self.slots);
        if !slots.iter().any(|(k, _)| *k == output) {
            slots.push((output, None));
        }
    }

    pub(crate) fn has_slot(&self, output: u32) -> bool {
        lock(&self.slots).iter().any(|(k, _)| *k == output)
    }

    /// What has accumulated for `output`.
    pub(crate) fn gradient(&self, output: u32) -> Option<Tensor> {
        lock(&self.slots).iter().find(|(k, _)| *k == output).and_then(|(_, grad)| grad.clone())
    }

    pub(crate) fn set_gradient(&self, output: u32, grad: Option<Tensor>) {
        let mut grad = grad;
        if let Some((_, slot)) = lock(&self.slots).iter_mut().find(|(k, _)| *k == output) {
            std::mem::swap(slot, &mut grad);
        }
        // The old gradient is dropped here, without the lock: a graph may hang on it.
    }

    /// Adds `grad` to what has accumulated for `output`.
    pub(super) fn accumulate(&self, output: u32, grad: Tensor) -> Result<()> {
        self.open_slot(output);
        // Outlives the lock: a graph may hang on it, and whatever hooks captured.
        let mut graph = None;
        let mut slots = lock(&self.slots);
        let Some((_, slot)) = slots.iter_mut().find(|(k, _)| *k == output) else { return Ok(()) };
        let before = slot.take();
        if before.as_ref().is_some_and(|sum| sum.array().is_none()) {
            graph.clone_from(&before);
        }
        // Adding two tensors of the ambient level or below runs no code of the user.
        *slot = Some(match before {
            Some(sum) if mode::records(AMBIENT) => add_owned(sum, grad)?,
            Some(sum) => add_owned(constant_of_ambient(sum), grad)?,
            None => grad,
        });
        drop(slots);
        drop(graph);
        Ok(())
    }
}
