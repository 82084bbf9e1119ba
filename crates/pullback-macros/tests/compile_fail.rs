//! What the macro refuses, and where it points. `TRYBUILD=overwrite` accepts new messages.

#[test]
fn messages_of_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
