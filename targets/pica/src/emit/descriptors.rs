//! The operand descriptor table: as few entries as possible, those of `mad` first.
//!
//! Two instructions share an entry when they agree on the bits that both look at; a set of patterns fits one entry when
//! every two of it agree. So this is graph colouring of the conflict graph: greedy in several orders, then exact search
//! under a work budget. Facts: ISA sheet section 5.

use crate::isa::word::Pattern;

/// Entries that an index reaches.
pub const ENTRIES: usize = 128;
/// Entries that `mad` reaches.
pub const LOW_ENTRIES: usize = 32;
/// Search steps of the exact colouring.
const BUDGET: u32 = 20_000;

/// The result: the table, and the entry of every pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Entries.
    pub table: Vec<u32>,
    /// One index per pattern, in the order given.
    pub index: Vec<u8>,
}

/// Too many entries: (needed, available, whether mad's are meant).
pub type Overflow = (usize, usize, bool);

fn agree(a: &Pattern, b: &Pattern) -> bool {
    (a.value ^ b.value) & a.care & b.care == 0
}

/// Allocates entries for patterns in program order.
pub fn allocate(patterns: &[Pattern]) -> Result<Allocation, Overflow> {
    // Equal patterns are one node; a mad makes its node low.
    let mut nodes: Vec<Pattern> = Vec::new();
    let mut node_of = Vec::with_capacity(patterns.len());
    for p in patterns {
        let at = nodes.iter().position(|n| n.value == p.value && n.care == p.care).unwrap_or_else(|| {
            nodes.push(*p);
            nodes.len() - 1
        });
        nodes[at].low |= p.low;
        node_of.push(at);
    }
    let mut colours = colour(&nodes);
    let lows = |colours: &[usize]| {
        let count = colours.iter().max().map_or(0, |c| c + 1);
        (0..count).filter(|c| nodes.iter().zip(colours).any(|(n, k)| k == c && n.low)).count()
    };
    if lows(&colours) > LOW_ENTRIES {
        // Fewest entries in all is not fewest for mad: those first, then the others around them.
        colours = low_first(&nodes);
    }
    let count = colours.iter().max().map_or(0, |c| c + 1);
    // Entries that a mad names come first, the others by first use.
    let mut order: Vec<usize> = Vec::new();
    for low in [true, false] {
        for n in &node_of {
            let c = colours[*n];
            let is_low = nodes.iter().zip(&colours).any(|(n, k)| *k == c && n.low);
            if is_low == low && !order.contains(&c) {
                order.push(c);
            }
        }
    }
    if count <= LOW_ENTRIES {
        // No entry is out of anyone's reach: plain order of first use, as an assembler numbers them.
        order.clear();
        for n in &node_of {
            if !order.contains(&colours[*n]) {
                order.push(colours[*n]);
            }
        }
    }
    let lows = lows(&colours);
    if lows > LOW_ENTRIES {
        return Err((lows, LOW_ENTRIES, true));
    }
    if count > ENTRIES {
        return Err((count, ENTRIES, false));
    }
    let place = |c: usize| order.iter().position(|o| *o == c).unwrap_or(0);
    let mut table = vec![0; count];
    let mut care = vec![0; count];
    for (n, c) in nodes.iter().zip(&colours) {
        table[place(*c)] |= n.value;
        care[place(*c)] |= n.care;
    }
    table.iter_mut().zip(&care).for_each(|(t, c)| *t = crate::isa::word::fill_selectors(*t, *c));
    Ok(Allocation { table, index: node_of.iter().map(|n| place(colours[*n]) as u8).collect() })
}

/// An entry for each of several patterns, as few as possible.
pub fn colours(patterns: &[Pattern]) -> Vec<usize> {
    let mut nodes: Vec<Pattern> = patterns.to_vec();
    nodes.sort();
    nodes.dedup();
    let c = colour(&nodes);
    patterns.iter().map(|p| nodes.binary_search(p).map_or(0, |n| c[n])).collect()
}

/// The patterns of mad by themselves, then each other one where it fits.
fn low_first(nodes: &[Pattern]) -> Vec<usize> {
    let lows: Vec<Pattern> = nodes.iter().copied().filter(|n| n.low).collect();
    let of_lows = colour(&lows);
    let mut classes: Vec<Vec<usize>> = vec![Vec::new(); of_lows.iter().max().map_or(0, |c| c + 1)];
    let mut colours = vec![0; nodes.len()];
    for (k, n) in (0..nodes.len()).filter(|n| nodes[*n].low).enumerate() {
        classes[of_lows[k]].push(n);
        colours[n] = of_lows[k];
    }
    for n in (0..nodes.len()).filter(|n| !nodes[*n].low) {
        let fits = |c: &Vec<usize>| c.iter().all(|m| agree(&nodes[n], &nodes[*m]));
        let c = classes.iter().position(fits).unwrap_or_else(|| {
            classes.push(Vec::new());
            classes.len() - 1
        });
        classes[c].push(n);
        colours[n] = c;
    }
    colours
}

/// Patterns in one entry: what they ask for together. What agrees with each of them agrees with that.
#[derive(Clone, Copy, Default)]
struct Entry {
    value: u32,
    care: u32,
}

impl Entry {
    fn takes(self, p: &Pattern) -> bool {
        (self.value ^ p.value) & self.care & p.care == 0
    }
    fn with(self, p: &Pattern) -> Entry {
        Entry { value: self.value | p.value & p.care, care: self.care | p.care }
    }
}

fn greedy(nodes: &[Pattern], order: &[usize]) -> Vec<usize> {
    let mut colours = vec![usize::MAX; nodes.len()];
    let mut entries: Vec<Entry> = Vec::new();
    for &n in order {
        let c = entries.iter().position(|e| e.takes(&nodes[n])).unwrap_or_else(|| {
            entries.push(Entry::default());
            entries.len() - 1
        });
        entries[c] = entries[c].with(&nodes[n]);
        colours[n] = c;
    }
    colours
}

/// Patterns of which no two agree, as many as are found easily: so many entries there must be.
fn clique(nodes: &[Pattern], order: &[usize]) -> usize {
    let mut found: Vec<usize> = Vec::new();
    for &n in order {
        if found.iter().all(|m| !agree(&nodes[n], &nodes[*m])) {
            found.push(n);
        }
    }
    found.len()
}

fn colour(nodes: &[Pattern]) -> Vec<usize> {
    let count = |c: &[usize]| c.iter().max().map_or(0, |m| m + 1);
    let program: Vec<usize> = (0..nodes.len()).collect();
    let mut by_care = program.clone();
    by_care.sort_by_key(|n| std::cmp::Reverse(nodes[*n].care.count_ones()));
    let mut by_degree = program.clone();
    by_degree.sort_by_key(|n| std::cmp::Reverse(nodes.iter().filter(|m| !agree(&nodes[*n], m)).count()));
    let mut mads_first = by_degree.clone();
    mads_first.sort_by_key(|n| !nodes[*n].low);
    let mut best: Vec<usize> = Vec::new();
    for order in [program, by_care, by_degree.clone(), mads_first] {
        let c = greedy(nodes, &order);
        if best.is_empty() || count(&c) < count(&best) {
            best = c;
        }
    }
    let most = count(&best);
    if most <= clique(nodes, &by_degree) {
        return best;
    }
    let mut search =
        Search { nodes, order: &by_degree, entries: Vec::new(), colours: vec![usize::MAX; nodes.len()], best, most, budget: BUDGET };
    search.run(0);
    search.best
}

struct Search<'a> {
    nodes: &'a [Pattern],
    order: &'a [usize],
    entries: Vec<Entry>,
    colours: Vec<usize>,
    best: Vec<usize>,
    /// Entries of the best.
    most: usize,
    budget: u32,
}

impl Search<'_> {
    fn run(&mut self, at: usize) {
        let used = self.entries.len();
        if used >= self.most || self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let Some(&n) = self.order.get(at) else {
            self.best = self.colours.clone();
            self.most = used;
            return;
        };
        // A new best does not end the loops that are under way.
        for c in 0..(used + 1).min(self.most - 1) {
            let old = self.entries.get(c).copied();
            let entry = old.unwrap_or_default();
            if entry.takes(&self.nodes[n]) {
                self.entries.truncate(used);
                match self.entries.get_mut(c) {
                    Some(e) => *e = entry.with(&self.nodes[n]),
                    None => self.entries.push(entry.with(&self.nodes[n])),
                }
                self.colours[n] = c;
                self.run(at + 1);
                self.colours[n] = usize::MAX;
                match old {
                    Some(old) => self.entries[c] = old,
                    None => self.entries.truncate(used),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_where_cared_bits_agree() {
        let p = |value, care| Pattern { value, care, low: false };
        let a = allocate(&[p(0b01, 0b01), p(0b10, 0b10), p(0b00, 0b01), p(0b11, 0b11)]).unwrap();
        assert_eq!(a.table.iter().map(|t| t & 3).collect::<Vec<_>>(), vec![0b11, 0b00]);
        assert_eq!(a.index, vec![0, 0, 1, 0]);
    }

    #[test]
    fn greedy_traps_are_searched() {
        // A crown graph: program order takes one entry per pair, two suffice.
        let n = 5;
        let mut v = Vec::new();
        for i in 0..n {
            // Left i conflicts with right j for j != i: left i fixes bit k of pair (i, k).
            let bit = |i: usize, j: usize| 1u32 << (i * n + j);
            let left = (0..n).filter(|j| *j != i).fold((0, 0), |(v, c), j| (v, c | bit(i, j)));
            let right = (0..n).filter(|j| *j != i).fold((0, 0), |(v, c), j| (v | bit(j, i), c | bit(j, i)));
            v.push(Pattern { value: left.0, care: left.1, low: false });
            v.push(Pattern { value: right.0, care: right.1, low: false });
        }
        assert_eq!(allocate(&v).unwrap().table.len(), 2);
    }

    /// The fewest entries by trying every way to share them.
    fn fewest(p: &[Pattern], at: usize, classes: &mut Vec<Vec<usize>>, best: &mut usize) {
        if classes.len() >= *best {
            return;
        }
        if at == p.len() {
            *best = classes.len();
            return;
        }
        for c in 0..classes.len() {
            if classes[c].iter().all(|m| agree(&p[at], &p[*m])) {
                classes[c].push(at);
                fewest(p, at + 1, classes, best);
                classes[c].pop();
            }
        }
        classes.push(vec![at]);
        fewest(p, at + 1, classes, best);
        classes.pop();
    }

    #[test]
    fn as_few_entries_as_there_can_be() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let mut shared = 0;
        for round in 0..3000 {
            let n = 2 + below(8) as usize;
            let patterns: Vec<Pattern> = (0..n)
                .map(|_| {
                    let care = (below(256) & below(256) | 1 << below(8)) as u32;
                    Pattern { value: below(256) as u32 & care, care, low: false }
                })
                .collect();
            let a = allocate(&patterns).unwrap();
            let mut best = n + 1;
            fewest(&patterns, 0, &mut Vec::new(), &mut best);
            assert_eq!(a.table.len(), best, "round {round}: {patterns:?}");
            for (p, i) in patterns.iter().zip(&a.index) {
                assert_eq!((a.table[*i as usize] ^ p.value) & p.care, 0, "round {round}");
            }
            shared += usize::from(best < n);
        }
        assert!(shared > 1000, "{shared}");
    }

    #[test]
    fn mads_come_first() {
        // One of two patterns in conflict is a mad's, whatever the order; 40 others fill the table.
        let mut v: Vec<Pattern> = (0..40).map(|n| Pattern { value: n, care: 0x3f, low: false }).collect();
        v.extend((40..64).map(|n| Pattern { value: n, care: 0x3f, low: true }));
        let a = allocate(&v).unwrap();
        assert!(a.index[40..].iter().all(|i| (*i as usize) < LOW_ENTRIES), "{:?}", a.index);
        let all: Vec<Pattern> = (0..40).map(|n| Pattern { value: n, care: 0x3f, low: true }).collect();
        assert_eq!(allocate(&all), Err((40, LOW_ENTRIES, true)));
    }
}
