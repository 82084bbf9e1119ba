//! Reading the images. The format is described beside the file.

use std::path::Path;

use pullback::{Error, Result, Tensor};

const PIXELS: usize = 64;
const HEADER: &str = "digits 1 count 1797 side 8 levels 17 crc32 ";

/// The images, split into four fifths for training and one for testing.
pub struct Digits {
    pub train: Images,
    pub test: Images,
}

/// Images with values in 0..=1, and their digits.
pub struct Images {
    pixels: Vec<[f32; PIXELS]>,
    classes: Vec<i64>,
}

impl Images {
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// The images at some positions, `f32[n,64]`, and their digits, `i64[n]`.
    pub fn take(&self, positions: &[usize]) -> Result<(Tensor, Tensor)> {
        let pixels: Vec<f32> = positions.iter().flat_map(|&k| self.pixels[k]).collect();
        let classes: Vec<i64> = positions.iter().map(|&k| self.classes[k]).collect();
        Ok((Tensor::from_slice(&pixels, &[positions.len(), PIXELS])?, Tensor::from(classes)))
    }

    pub fn all(&self) -> Result<(Tensor, Tensor)> {
        self.take(&(0..self.len()).collect::<Vec<_>>())
    }
}

impl Digits {
    /// Reads and checks the file.
    pub fn load(path: &Path) -> Result<Digits> {
        let fail = |what: String| Err(Error::other(format!("{}: {what}", path.display())));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) => return fail(format!("cannot read the images: {e}; it belongs to the repository, restore it")),
        };
        match parse(&text) {
            Ok(digits) => Ok(digits),
            Err(what) => fail(format!("the file is damaged: {what}; restore it from the repository")),
        }
    }
}

fn parse(text: &str) -> std::result::Result<Digits, String> {
    let (header, body) = text.split_once('\n').ok_or("expected a header line")?;
    let stated = header.strip_prefix(HEADER).ok_or_else(|| format!("expected a header `{HEADER}…`, got `{header}`"))?;
    let found = format!("{:08x}", crc32(body.as_bytes()));
    if stated != found {
        return Err(format!("expected checksum {stated}, got {found}"));
    }
    let (mut pixels, mut classes) = (Vec::new(), Vec::new());
    for (k, line) in body.lines().enumerate() {
        let bad = |what: &str| format!("line {}: {what}", k + 2);
        let (class, image) = line.split_once(' ').ok_or_else(|| bad("expected a digit, a blank and an image"))?;
        classes.push(class.parse::<i64>().ok().filter(|c| (0..10).contains(c)).ok_or_else(|| bad("expected a digit"))?);
        let levels: Option<Vec<u32>> = image.chars().map(|c| c.to_digit(17)).collect();
        let levels = levels.ok_or_else(|| bad("expected pixels 0 to g"))?;
        let levels: [u32; PIXELS] = levels.try_into().map_err(|_| bad("expected 64 pixels"))?;
        pixels.push(levels.map(|v| v as f32 / 16.0));
    }
    let order = shuffled(classes.len(), u64::MAX);
    let part = |positions: &[usize]| Images {
        pixels: positions.iter().map(|&k| pixels[k]).collect(),
        classes: positions.iter().map(|&k| classes[k]).collect(),
    };
    let (train, test) = order.split_at(classes.len() * 4 / 5);
    Ok(Digits { train: part(train), test: part(test) })
}

/// The CRC-32 of zip and PNG, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &b| {
        (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
    })
}

/// The numbers below `n` in an order that depends on the seed only.
pub fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    for k in (1..n).rev() {
        // A 64-bit linear congruential step; its high bits are random enough to shuffle.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(k, (state >> 33) as usize % (k + 1));
    }
    order
}
