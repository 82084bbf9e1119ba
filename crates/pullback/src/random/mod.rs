//! Random tensors from a seeded, counter-based generator, and the policy that `vmap` sets for them.
