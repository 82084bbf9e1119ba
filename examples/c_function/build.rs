//! Compiles the C side.

fn main() {
    println!("cargo:rerun-if-changed=src/bessel.c");
    cc::Build::new().file("src/bessel.c").opt_level(2).compile("bessel");
}
