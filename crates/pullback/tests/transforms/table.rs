//! Which option each transform has, and that the book says so.

use pullback::*;

/// One row of the table of options: what a builder offers is called, so that a row cannot claim what does not exist.
macro_rules! rows {
    ($($name:literal, $builder:expr, [$($option:literal),*];)*) => {
        vec![$({
            let _ = $builder;
            ($name, vec![$($option),*])
        }),*]
    };
}

#[test]
fn c173_the_table_of_options_in_the_book_is_complete() {
    let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
    let g = |x: &(Tensor, Tensor)| Ok((f(x)?, x.0.clone()));
    let x = (Tensor::from(2.0), Tensor::from(3.0));
    let one = Tensor::from(1.0);
    let (policy, strategy) = (Randomness::Same, HessianStrategy::default());
    let rows: Vec<(&str, Vec<&str>)> = rows! {
        "Grad", Grad::new().argnums::<0>().and::<1>().has_aux().value_and(g)(&x).unwrap(),
            ["argnums", "has_aux", "value_and"];
        "Vjp", Vjp::new().argnums::<0>().has_aux().of(g)(&x).unwrap(),
            ["argnums", "has_aux", "value"];
        "Jvp", Jvp::new().argnums::<0>().has_aux().strict(true).of(g)(&x, &one).unwrap(),
            ["argnums", "has_aux", "value", "strict"];
        "Jacrev", Jacrev::new().argnums::<0>().has_aux().chunk_size(1).value_and(g)(&x).unwrap(),
            ["argnums", "has_aux", "value_and", "chunk_size"];
        "Jacfwd", Jacfwd::new().argnums::<0>().has_aux().chunk_size(1).randomness(policy).value_and(g)(&x).unwrap(),
            ["argnums", "has_aux", "value_and", "chunk_size", "randomness"];
        "Hessian",
            Hessian::new().argnums::<0>().has_aux().chunk_size(1).randomness(policy).strategy(strategy).value_and(g)(&x)
                .unwrap(),
            ["argnums", "has_aux", "value_and", "chunk_size", "randomness", "strategy"];
        "Hvp", Hvp::new().argnums::<0>().has_aux().of(g)(&x, &one).unwrap(),
            ["argnums", "has_aux", "value"];
        "Vhp", Vhp::new().argnums::<0>().has_aux().of(g)(&x, &one).unwrap(),
            ["argnums", "has_aux", "value"];
        "Laplacian",
            Laplacian::new().argnums::<0>().has_aux().chunk_size(1).randomness(policy).value_and(g)(&x).unwrap(),
            ["argnums", "has_aux", "value_and", "chunk_size", "randomness"];
        "HessianDiagonal",
            HessianDiagonal::new().argnums::<0>().has_aux().chunk_size(1).randomness(policy).value_and(g)(&x).unwrap(),
            ["argnums", "has_aux", "value_and", "chunk_size", "randomness"];
        "Vmap",
            Vmap::new().in_dims((None, None)).out_dims(None).batch_size(2).chunk_size(1).randomness(policy).of(f)(&x)
                .unwrap(),
            ["in_dims", "out_dims", "batch_size", "chunk_size", "randomness"];
    };
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/options.md")).unwrap();
    let table: String = rows
        .iter()
        .map(|(name, options)| {
            let options: Vec<String> = options.iter().map(|o| format!("`{o}`")).collect();
            format!("| `{name}` | {} |\n", options.join(", "))
        })
        .collect();
    assert!(page.contains(&table), "the table in options.md must read\n{table}");
}
