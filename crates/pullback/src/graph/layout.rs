//! Where the boxes of a picture lie: in layers, so that every arrow points down, with few crossings and little slant.

/// A box to be placed.
pub(super) struct Item {
    pub(super) width: f64,
    pub(super) height: f64,
    /// True if it should lie just above the first box that it leads to, instead of on top.
    pub(super) hangs: bool,
}

/// Where things lie.
pub(super) struct Layout {
    /// The centers of the boxes.
    pub(super) centers: Vec<(f64, f64)>,
    /// For each box, the points of a line that leads down from it to where arrows branch off.
    pub(super) trunks: Vec<Vec<(f64, f64)>>,
    /// Where each arrow branches off; at the box itself if nowhere.
    pub(super) branches: Vec<Option<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The space between boxes, and between layers.
const GAP: f64 = 22.0;
const LAYER_GAP: f64 = 36.0;
/// The width that a passing trunk takes up.
const THREAD: f64 = 10.0;
/// How often the order, and then the positions, are improved.
const SWEEPS: usize = 12;

/// A box, or a place where a trunk passes a layer.
struct Place {
    width: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Places `items`; `arrows` lead from earlier items to later ones.
pub(super) fn layout(items: &[Item], arrows: &[(usize, usize)]) -> Layout {
    let layer_of = layers(items, arrows);
    let mut places: Vec<Place> =
        items.iter().map(|i| Place { width: i.width, above: Vec::new(), below: Vec::new() }).collect();
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); layer_of.iter().max().map_or(0, |n| n + 1)];
    for (k, &layer) in layer_of.iter().enumerate() {
        layers[layer].push(k);
    }
    // Long arrows pass a place in each layer, which those from one box share.
    let mut trunks: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let mut branches = Vec::new();
    for &(from, to) in arrows {
        let passed = layer_of[to] - layer_of[from] - 1;
        while trunks[from].len() < passed {
            let before = trunks[from].last().copied().unwrap_or(from);
            let place = places.len();
            layers[layer_of[from] + 1 + trunks[from].len()].push(place);
            places[before].below.push(place);
            places.push(Place { width: THREAD, above: vec![before], below: Vec::new() });
            trunks[from].push(place);
        }
        let branch = passed.checked_sub(1).map(|k| trunks[from][k]);
        let before = branch.unwrap_or(from);
        places[before].below.push(to);
        places[to].above.push(before);
        branches.push(branch);
    }
    order(&places, &mut layers);
    let x = columns(&places, &layers);
    let left = layers.iter().flatten().map(|&p| x[p] - places[p].width / 2.0).fold(f64::INFINITY, f64::min);
    let right = layers.iter().flatten().map(|&p| x[p] + places[p].width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let mut y = vec![0.0; places.len()];
    let mut top = 0.0;
    for layer in &layers {
        let height = layer.iter().filter_map(|&p| items.get(p)).map(|i| i.height).fold(0.0, f64::max);
        for &p in layer {
            y[p] = top + height / 2.0;
        }
        top += height + LAYER_GAP;
    }
    let point = |p: usize| (x[p] - left, y[p]);
    Layout {
        centers: (0..items.len()).map(point).collect(),
        trunks: trunks.iter().map(|trunk| trunk.iter().map(|&p| point(p)).collect()).collect(),
        branches: branches.iter().map(|branch| branch.map(point)).collect(),
        width: (right - left).max(0.0),
        height: (top - LAYER_GAP).max(0.0),
    }
}

/// The layer of each item: behind all that lead to it.
fn layers(items: &[Item], arrows: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; items.len()];
    let mut sorted = arrows.to_vec();
    sorted.sort_by_key(|&(from, to)| (to, from));
    for &(from, to) in &sorted {
        layer[to] = layer[to].max(layer[from] + 1);
    }
    for (k, item) in items.iter().enumerate() {
        let leads_to = || arrows.iter().filter(|(from, _)| *from == k).map(|&(_, to)| layer[to]);
        if item.hangs
            && let Some(first) = leads_to().min()
        {
            layer[k] = first - 1;
        }
    }
    layer
}

/// Sorts each layer by where the neighbours of its places lie, and keeps the order with the fewest crossings.
fn order(places: &[Place], layers: &mut Vec<Vec<usize>>) {
    let mut best = (crossings(places, layers), layers.clone());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let rounds: Vec<usize> = if down { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        let mut position = positions(places.len(), layers);
        for l in rounds {
            let mean = |p: usize| {
                let near = if down { &places[p].above } else { &places[p].below };
                match near.len() {
                    0 => position[p],
                    n => near.iter().map(|&q| position[q]).sum::<f64>() / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> = layers[l].iter().map(|&p| (mean(p), p)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[l] = keyed.into_iter().map(|(_, p)| p).collect();
            for (k, &p) in layers[l].iter().enumerate() {
                position[p] = relative(k, layers[l].len());
            }
        }
        let found = crossings(places, layers);
        if found < best.0 {
            best = (found, layers.clone());
        }
    }
    *layers = best.1;
}

/// Positions in layers of different lengths, from 0 to 1.
fn relative(k: usize, n: usize) -> f64 {
    (k as f64 + 0.5) / n as f64
}

fn positions(n: usize, layers: &[Vec<usize>]) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for layer in layers {
        for (k, &p) in layer.iter().enumerate() {
            out[p] = relative(k, layer.len());
        }
    }
    out
}

/// How many pairs of arrows cross between neighbouring layers.
fn crossings(places: &[Place], layers: &[Vec<usize>]) -> usize {
    let mut rank = vec![0; places.len()];
    for layer in layers {
        for (k, &p) in layer.iter().enumerate() {
            rank[p] = k;
        }
    }
    let mut total = 0;
    for pair in layers.windows(2) {
        // Arrow ends in order of their beginnings: crossings are the pairs in wrong order, counted with a tree of sums.
        let mut sums = vec![0usize; pair[1].len() + 1];
        let mut seen = 0;
        for &p in &pair[0] {
            let mut ends: Vec<usize> = places[p].below.iter().map(|&q| rank[q]).collect();
            ends.sort_unstable();
            for &end in &ends {
                let (mut at, mut before) = (end + 1, 0);
                while at > 0 {
                    before += sums[at];
                    at &= at - 1;
                }
                total += seen - before;
            }
            for end in ends {
                seen += 1;
                let mut at = end + 1;
                while at < sums.len() {
                    sums[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    total
}

/// The horizontal center of each place: near those of its neighbours, without overlaps.
fn columns(places: &[Place], layers: &[Vec<usize>]) -> Vec<f64> {
    let mut x = vec![0.0; places.len()];
    for layer in layers {
        spread(places, layer, &vec![0.0; layer.len()], &mut x);
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let rounds: Vec<usize> = if down { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        for l in rounds {
            let wanted = |&p: &usize| {
                // The last sweep looks both ways.
                let last = sweep + 1 == SWEEPS;
                let above = if down || last { &places[p].above[..] } else { &[] };
                let below = if !down || last { &places[p].below[..] } else { &[] };
                let near = || above.iter().chain(below);
                match near().count() {
                    0 => x[p],
                    n => near().map(|&q| x[q]).sum::<f64>() / n as f64,
                }
            };
            let wanted: Vec<f64> = layers[l].iter().map(wanted).collect();
            spread(places, &layers[l], &wanted, &mut x);
        }
    }
    x
}

/// The positions closest to those that are wanted, in order and without overlaps: places that would overlap form a block,
/// which lies where its members want to be on average.
fn spread(places: &[Place], layer: &[usize], wanted: &[f64], x: &mut [f64]) {
    let mut offset = 0.0;
    let mut offsets = Vec::new();
    // The sum and number of what the members of each block want.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (k, (&p, &want)) in layer.iter().zip(wanted).enumerate() {
        if k > 0 {
            offset += (places[layer[k - 1]].width + places[p].width) / 2.0 + GAP;
        }
        offsets.push(offset);
        blocks.push((want - offset, 1));
        while let [.., (a, n), (b, m)] = blocks[..]
            && a / n as f64 > b / m as f64
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((a + b, n + m));
        }
    }
    let starts = blocks.iter().flat_map(|&(sum, n)| std::iter::repeat_n(sum / n as f64, n));
    for ((&p, offset), start) in layer.iter().zip(offsets).zip(starts) {
        x[p] = start + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(n: usize) -> Vec<Item> {
        (0..n).map(|k| Item { width: 40.0 + 10.0 * (k % 3) as f64, height: 20.0, hangs: k == 1 }).collect()
    }

    #[test]
    fn arrows_point_down_and_boxes_do_not_overlap() {
        let items = items(9);
        let arrows = [(0, 2), (1, 3), (2, 3), (0, 4), (3, 4), (2, 5), (5, 6), (4, 7), (6, 7), (0, 7), (7, 8)];
        let found = layout(&items, &arrows);
        for (k, &(from, to)) in arrows.iter().enumerate() {
            let start = found.branches[k].unwrap_or(found.centers[from]);
            assert!(start.1 < found.centers[to].1, "arrow {k}");
            assert!(found.branches[k].is_none_or(|branch| found.trunks[from].contains(&branch)));
        }
        for (k, trunk) in found.trunks.iter().enumerate() {
            let y: Vec<f64> = [found.centers[k]].iter().chain(trunk).map(|p| p.1).collect();
            assert!(y.is_sorted_by(|a, b| a < b), "trunk {k}");
        }
        // Four arrows lead from the first box, and share their way.
        assert_eq!(found.trunks.iter().map(Vec::len).collect::<Vec<_>>()[0], 3);
        for a in 0..items.len() {
            let ((x, y), half) = (found.centers[a], items[a].width / 2.0);
            assert!(x - half > -1e-9 && x + half < found.width + 1e-9 && y < found.height);
            for b in 0..a {
                let apart = (x - found.centers[b].0).abs() >= half + items[b].width / 2.0 + GAP - 1e-9;
                assert!(apart || y != found.centers[b].1, "boxes {a} and {b}");
            }
        }
        // What hangs lies just above what it leads to.
        assert_eq!(found.centers[1].1, found.centers[2].1);
    }

    #[test]
    fn crossings_are_counted_and_removed() {
        let items = items(4);
        let arrows = [(0, 3), (1, 2)];
        let mut places: Vec<Place> =
            items.iter().map(|i| Place { width: i.width, above: Vec::new(), below: Vec::new() }).collect();
        for (from, to) in arrows {
            places[from].below.push(to);
            places[to].above.push(from);
        }
        let mut layers = vec![vec![0, 1], vec![2, 3]];
        assert_eq!(crossings(&places, &layers), 1);
        order(&places, &mut layers);
        assert_eq!(crossings(&places, &layers), 0);
    }

    #[test]
    fn nothing_is_placed_nowhere() {
        let found = layout(&[], &[]);
        assert_eq!((found.width, found.height), (0.0, 0.0));
    }
}
