pub(super) fn svg(_: &super::program::Program) -> String { String::new() }
