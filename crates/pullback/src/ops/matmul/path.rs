//! The order in which a product of many operands is taken.

use super::contract::Labels;

/// Operands up to which all orders are compared.
const FEW: usize = 8;

/// A product in pairs.
#[derive(Debug)]
pub(super) enum Order {
    /// An operand.
    Term(usize),
    /// The product of two.
    Pair(Box<Order>, Box<Order>),
}

impl Order {
    fn pair(a: Order, b: Order) -> Order {
        Order::Pair(Box::new(a), Box::new(b))
    }

    /// The operands in it.
    pub(super) fn terms(&self) -> Vec<usize> {
        match self {
            Order::Term(k) => vec![*k],
            Order::Pair(a, b) => [a.terms(), b.terms()].concat(),
        }
    }
}

/// The order that takes the fewest multiplications, or for many operands one that takes the cheapest product each time.
pub(super) fn order(terms: &[Labels], sizes: &[usize; 256], output: &[u8]) -> Order {
    if terms.len() <= FEW { best(terms, sizes, output) } else { greedy(terms, sizes, output) }
}

/// The labels of the product of the operands in `inside`, as a set: those that are needed later.
fn kept(terms: &[Labels], output: &[u8], inside: &dyn Fn(usize) -> bool) -> [bool; 256] {
    let (mut own, mut later) = ([false; 256], [false; 256]);
    for (k, labels) in terms.iter().enumerate() {
        let set = if inside(k) { &mut own } else { &mut later };
        labels.iter().for_each(|&l| set[usize::from(l)] = true);
    }
    output.iter().for_each(|&l| later[usize::from(l)] = true);
    std::array::from_fn(|l| own[l] && later[l])
}

/// The multiplications of a product.
fn cost(a: &[bool; 256], b: &[bool; 256], sizes: &[usize; 256]) -> f64 {
    (0..256).filter(|&l| a[l] || b[l]).map(|l| sizes[l] as f64).product()
}

fn best(terms: &[Labels], sizes: &[usize; 256], output: &[u8]) -> Order {
    let all = (1usize << terms.len()) - 1;
    let sets: Vec<[bool; 256]> = (0..=all).map(|mask| kept(terms, output, &|k| mask >> k & 1 == 1)).collect();
    // For each set of operands what it costs, and one half of its last product.
    let mut costs = vec![0.0; all + 1];
    let mut halves = vec![0; all + 1];
    for mask in 1..=all {
        if mask.is_power_of_two() {
            continue;
        }
        costs[mask] = f64::INFINITY;
        let mut half = (mask - 1) & mask;
        while half > 0 {
            let other = mask & !half;
            let total = costs[half] + costs[other] + cost(&sets[half], &sets[other], sizes);
            // The half with the first operand is on the left, and the first of equal orders stays.
            if half & mask & mask.wrapping_neg() != 0 && total < costs[mask] {
                (costs[mask], halves[mask]) = (total, half);
            }
            half = (half - 1) & mask;
        }
    }
    fn tree(mask: usize, halves: &[usize]) -> Order {
        if mask.is_power_of_two() {
            return Order::Term(mask.trailing_zeros() as usize);
        }
        Order::pair(tree(halves[mask], halves), tree(mask & !halves[mask], halves))
    }
    // With sizes of zero, or beyond any number, costs may say nothing.
    if halves.iter().enumerate().any(|(mask, half)| mask > 0 && !mask.is_power_of_two() && *half == 0) {
        return from_left(terms.len());
    }
    tree(all, &halves)
}

/// One after the other.
fn from_left(count: usize) -> Order {
    (1..count).fold(Order::Term(0), |before, k| Order::pair(before, Order::Term(k)))
}

fn greedy(terms: &[Labels], sizes: &[usize; 256], output: &[u8]) -> Order {
    let mut left: Vec<(Order, [bool; 256])> =
        (0..terms.len()).map(|k| (Order::Term(k), kept(terms, output, &|i| i == k))).collect();
    while left.len() > 1 {
        let mut cheapest = (f64::INFINITY, 0, 1);
        for j in 1..left.len() {
            for i in 0..j {
                let price = cost(&left[i].1, &left[j].1, sizes);
                if price < cheapest.0 {
                    cheapest = (price, i, j);
                }
            }
        }
        let (_, i, j) = cheapest;
        let (b, _) = left.remove(j);
        let (a, _) = left.remove(i);
        let pair = Order::pair(a, b);
        let inside = pair.terms();
        let set = kept(terms, output, &|k| inside.contains(&k));
        left.insert(i, (pair, set));
    }
    left.pop().map_or(Order::Term(0), |(order, _)| order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(order: &Order) -> String {
        match order {
            Order::Term(k) => k.to_string(),
            Order::Pair(a, b) => format!("({} {})", shown(a), shown(b)),
        }
    }

    fn plan(terms: &[&str], output: &str, sizes: &[(u8, usize)]) -> String {
        let terms: Vec<Labels> = terms.iter().map(|t| t.bytes().collect()).collect();
        let mut all = [1; 256];
        sizes.iter().for_each(|&(l, n)| all[usize::from(l)] = n);
        shown(&order(&terms, &all, output.as_bytes()))
    }

    #[test]
    fn the_cheap_products_come_first() {
        let sizes = [(b'a', 100), (b'b', 100), (b'c', 100), (b'd', 1)];
        // Matrix times matrix times vector.
        assert_eq!(plan(&["ab", "bc", "cd"], "ad", &sizes), "(0 (1 2))");
        assert_eq!(plan(&["da", "ab", "bc"], "dc", &sizes), "((0 1) 2)");
        assert_eq!(plan(&["ab", "bc"], "ac", &sizes), "(0 1)");
        assert_eq!(plan(&["ab"], "a", &sizes), "0");
        // A vector in the middle of the list belongs to what it multiplies.
        assert_eq!(plan(&["ab", "c", "bc"], "a", &sizes), "(0 (1 2))");
        // Many: a chain of matrices with a vector at its end is taken from there.
        let chain: Vec<String> = (0..10u8).map(|k| [b'a' + k, b'a' + k + 1].map(char::from).iter().collect()).collect();
        let mut terms: Vec<&str> = chain.iter().map(String::as_str).collect();
        terms.push("k");
        let sizes: Vec<(u8, usize)> = (b'a'..=b'k').map(|l| (l, 50)).collect();
        let found = plan(&terms, "a", &sizes);
        assert!(found.starts_with("(0 (1 (2") && found.ends_with("(9 10))))))))))"), "{found}");
    }
}
