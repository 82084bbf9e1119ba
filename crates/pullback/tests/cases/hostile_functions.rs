//! User functions whose rules return nonsense.
