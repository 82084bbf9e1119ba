//! What is printed, letter by letter.

use pullback::*;

fn text(t: impl Into<Tensor>) -> String {
    t.into().to_string()
}

/// The text with every level number replaced by `#`: numbers are global, and tests run side by side.
fn without_levels(text: &str) -> String {
    let mut parts = text.split("level ");
    let mut out = parts.next().unwrap().to_string();
    for part in parts {
        out += "level #";
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

#[test]
fn scalars_and_empty_tensors() -> Result<()> {
    assert_eq!(text(2.0), "tensor(2.0000, f64[])");
    assert_eq!(text(-3i64), "tensor(-3, i64[])");
    assert_eq!(text(true), "tensor(true, bool[])");
    assert_eq!(text(f32::NAN), "tensor(nan, f32[])");
    assert_eq!(text(1e-7f32), "tensor(1.0000e-07, f32[])");
    assert_eq!(text(Vec::<f32>::new()), "tensor([], f32[0])");
    assert_eq!(Tensor::zeros(&[3, 0, 2], DType::I32)?.to_string(), "tensor([], i32[3,0,2])");
    Ok(())
}

#[test]
fn rows_and_blocks_are_aligned() {
    assert_eq!(text([[1.0f32, 2.0], [3.0, 4.0]]), "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]], f32[2,2])");
    assert_eq!(text([1, -20, 300]), "tensor([  1, -20, 300], i32[3])");
    assert_eq!(text([true, false]), "tensor([ true, false], bool[2])");
    let blocks = "\
tensor([[[1, 2],
         [3, 4]],

        [[5, 6],
         [7, 8]]], u8[2,2,2])";
    assert_eq!(text([[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]), blocks);
    let deep = "\
tensor([[[[1],
          [2]]],


        [[[3],
          [4]]]], i64[2,1,2,1])";
    assert_eq!(text([[[[1i64], [2]]], [[[3], [4]]]]), deep);
}

#[test]
fn elements_share_a_format() {
    assert_eq!(text([0.5, -10.25, 100.0]), "tensor([  0.5000, -10.2500, 100.0000], f64[3])");
    assert_eq!(text([0.001, 5.0]), "tensor([1.0000e-03, 5.0000e+00], f64[2])");
    assert_eq!(text([1e-300, 0.0, -1.0]), "tensor([1.0000e-300,  0.0000e+00, -1.0000e+00], f64[3])");
    assert_eq!(text([1.0, 123456.0]), "tensor([     1.0000, 123456.0000], f64[2])");
    assert_eq!(text([1.0, 1e9]), "tensor([1.0000e+00, 1.0000e+09], f64[2])");
    assert_eq!(text([0.5f32, f32::NAN, f32::NEG_INFINITY]), "tensor([0.5000,    nan,   -inf], f32[3])");
    assert_eq!(text([f64::INFINITY, 1.0]), "tensor([   inf, 1.0000], f64[2])");
    assert_eq!(text([0.00005, 0.00002]), "tensor([5.0000e-05, 2.0000e-05], f64[2])");
    assert_eq!(text([0.0, 0.0]), "tensor([0.0000, 0.0000], f64[2])");
}

#[test]
fn the_format_sets_the_precision() {
    let x = Tensor::from([1.0, 2.5]);
    assert_eq!(format!("{x:.1}"), "tensor([1.0, 2.5], f64[2])");
    assert_eq!(format!("{x:.0}"), "tensor([1, 2], f64[2])");
    assert_eq!(format!("{:.2}", Tensor::from([1e-5])), "tensor([1.00e-05], f64[1])");
}

#[test]
fn long_rows_are_broken() -> Result<()> {
    let x = Tensor::arange(0, 24, 1, DType::F32)?;
    let expected = "\
tensor([ 0.0000,  1.0000,  2.0000,  3.0000,  4.0000,  5.0000,  6.0000,  7.0000,
         8.0000,  9.0000, 10.0000, 11.0000, 12.0000, 13.0000, 14.0000, 15.0000,
        16.0000, 17.0000, 18.0000, 19.0000, 20.0000, 21.0000, 22.0000, 23.0000], f32[24])";
    assert_eq!(x.to_string(), expected);
    Ok(())
}

#[test]
fn large_tensors_are_summarised() -> Result<()> {
    let x = Tensor::arange(0, 1001, 1, DType::I64)?;
    assert_eq!(x.to_string(), "tensor([   0,    1,    2, ...,  998,  999, 1000], i64[1001])");
    let x = Tensor::arange(0, 10_000, 1, DType::I32)?.reshape(&[100, 100])?;
    let expected = "\
tensor([[   0,    1,    2, ...,   97,   98,   99],
        [ 100,  101,  102, ...,  197,  198,  199],
        [ 200,  201,  202, ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702, ..., 9797, 9798, 9799],
        [9800, 9801, 9802, ..., 9897, 9898, 9899],
        [9900, 9901, 9902, ..., 9997, 9998, 9999]], i32[100,100])";
    assert_eq!(x.to_string(), expected);
    let x = Tensor::zeros(&[2, 600], DType::Bool)?;
    let expected = "\
tensor([[false, false, false, ..., false, false, false],
        [false, false, false, ..., false, false, false]], bool[2,600])";
    assert_eq!(x.to_string(), expected);
    Ok(())
}

#[test]
fn views_print_their_own_elements() -> Result<()> {
    let x = Tensor::from([[1, 2], [3, 4]]);
    assert_eq!(x.permute(&[1, 0])?.to_string(), "tensor([[1, 3],\n        [2, 4]], i32[2,2])");
    assert_eq!(Tensor::from(7).expand(&[100, 100])?.i((0, 0..3))?.to_string(), "tensor([7, 7, 7], i32[3])");
    Ok(())
}

#[test]
fn huge_ranks_stay_short() -> Result<()> {
    let x = Tensor::from(1.0f32).expand(&[2; 20])?;
    assert!(x.to_string().len() < 100_000);
    let x = Tensor::from(1.0f32).expand(&[1; 33])?;
    assert!(x.to_string().starts_with("tensor(..., f32[1,1,"));
    let x = Tensor::from(1.0f32).expand(&[1; 100_000])?;
    assert!(x.to_string().starts_with("tensor(..., f32[1,1,"));
    Ok(())
}

#[test]
fn debug_is_display_and_nests() {
    let x = Tensor::from([[1, 2], [3, 4]]);
    assert_eq!(format!("{x:?}"), x.to_string());
    assert_eq!(format!("{:?}", Some(Tensor::from(1))), "Some(tensor(1, i32[]))");
    let expected = "\
[
    tensor([[1, 2],
            [3, 4]], i32[2,2]),
]";
    assert_eq!(format!("{:#?}", [x]), expected);
}

#[test]
fn transforms_show_what_they_know() -> Result<()> {
    let x = Tensor::from(2.0);
    grad(|x: &Tensor| {
        assert_eq!(without_levels(&x.to_string()), "grad(level #, tensor(2.0000, f64[]))");
        Ok(x.clone())
    })(&x)?;
    jvp(
        |x: &Tensor| {
            let expected = "jvp(level #, tensor(2.0000, f64[]), tangent tensor(1.0000, f64[]))";
            assert_eq!(without_levels(&x.to_string()), expected);
            Ok(x.clone())
        },
        &x,
        &Tensor::from(1.0),
    )?;
    let f = |x: &Tensor| {
        let expected = "vmap(level #, dim 0 of 3, tensor([1.0000, 2.0000, 3.0000], f64[3]))";
        assert_eq!(without_levels(&x.to_string()), expected);
        let g = |x: &Tensor| {
            let expected = "grad(level #, vmap(level #, dim 0 of 3, tensor([1.0000, 2.0000, 3.0000], f64[3])))";
            assert_eq!(without_levels(&format!("{x:?}")), expected);
            Ok(x.clone())
        };
        grad(g)(x)
    };
    vmap(f)(&Tensor::from([1.0, 2.0, 3.0]))?;
    Vmap::new().in_dims(1).of(|x: &Tensor| {
        let text = x.to_string();
        let prefix = text.find('[').unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(without_levels(lines[0]), "vmap(level #, dim 1 of 2, tensor([[1, 2],");
        assert_eq!(lines[1], format!("{}[3, 4]], i32[2,2]))", " ".repeat(prefix + 1)));
        Ok(x.clone())
    })(&Tensor::from([[1, 2], [3, 4]]))?;
    Ok(())
}

#[test]
fn escaped_tracers_print() -> Result<()> {
    let mut escaped = None;
    let cell = std::sync::Mutex::new(&mut escaped);
    grad(|x: &Tensor| {
        **cell.lock().unwrap() = Some(x.clone());
        Ok(x.clone())
    })(&Tensor::from(2.0))?;
    let text = without_levels(&format!("{:?}", escaped.unwrap()));
    assert_eq!(text, "grad(level #, ended, tensor(2.0000, f64[]))");
    Ok(())
}
