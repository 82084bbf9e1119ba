//! `derive(Tree)`.
