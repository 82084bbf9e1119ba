//! Options that the types refuse.
