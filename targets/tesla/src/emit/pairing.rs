//! Form choice: which instructions of a block are short, and in which order.
//!
//! A long instruction starts at a multiple of 8, so shorts come in adjacent pairs (sheet 2.1). Which instructions *could*
//! be short is known after placement; here it is decided which *are*. In a fixed order the best answer pairs every run
//! of short-capable instructions from its start. With reordering within the dependences, the best order of a small
//! block comes from a search; larger ones start from a list schedule that holds a lone short back until a partner is
//! ready, and are improved in windows around the shorts that stayed alone. Nothing gets worse than the fixed order.

use smallvec::SmallVec;
use std::collections::BTreeMap;

/// An instruction as the form choice sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Whether a short form exists for its operands as placed.
    pub short: bool,
    /// Instructions of the block that must stand before it.
    pub after: SmallVec<[usize; 4]>,
}

/// An order and the forms in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Positions of the input in their new order.
    pub order: Vec<usize>,
    /// For each place of `order`, whether the instruction is short there.
    pub short: Vec<bool>,
}

impl Choice {
    /// Size of the block in bytes.
    pub fn bytes(&self) -> usize {
        self.short.iter().map(|s| if *s { 4 } else { 8 }).sum()
    }
}

/// Largest block that is solved exactly with reordering.
pub const EXACT: usize = 12;

/// The best forms for the given order.
pub fn fixed_order(items: &[Item]) -> Choice {
    let order: Vec<usize> = (0..items.len()).collect();
    let short = pair_runs(items, &order);
    Choice { order, short }
}

/// The best order and forms; the last `pinned` instructions (a block's branch) stay where they are.
pub fn choose(items: &[Item], pinned: usize) -> Choice {
    let free = items.len() - pinned.min(items.len());
    let plain = fixed_order(items);
    let most = |n: usize| items[..n].iter().filter(|i| i.short).count() / 2;
    let made = |c: &Choice| c.short.iter().filter(|s| **s).count() / 2;
    if made(&plain) >= most(items.len()) {
        return plain;
    }
    let finish = |order: Vec<usize>| Choice { short: pair_runs(items, &order), order };
    let mut order = list_order(items, free);
    order.extend(free..items.len());
    let mut best = finish(order);
    if made(&best) < most(free) {
        if free <= EXACT {
            let mut order: Vec<usize> = (0..items.len()).collect();
            solve(items, &mut order[..free]);
            best = finish(order);
        } else {
            best = finish(improve(items, best, free));
        }
    }
    if best.bytes() < plain.bytes() { best } else { plain }
}

/// Solves windows around shorts that stayed alone; windows overlap by half, so that one may travel to its partner.
fn improve(items: &[Item], from: Choice, free: usize) -> Vec<usize> {
    let Choice { mut order, short } = from;
    let alone = |order: &[usize], short: &[bool], s: usize, e: usize| (s..e).filter(|k| items[order[*k]].short && !short[*k]).count();
    for s in (0..free).step_by(EXACT / 2) {
        let e = (s + EXACT).min(free);
        if alone(&order, &short, s, e) >= 2 {
            solve(items, &mut order[s..e]);
        }
    }
    order
}

/// A list schedule that stays close to the given order: the first instruction that is ready goes, a short one together
/// with the next short one that is ready then; a short one without a partner waits as long as something else can go.
fn list_order(items: &[Item], free: usize) -> Vec<usize> {
    let mut missing: Vec<u32> = vec![0; free];
    let mut later: Vec<SmallVec<[u32; 4]>> = (0..free).map(|_| SmallVec::new()).collect();
    for (i, item) in items[..free].iter().enumerate() {
        for a in item.after.iter().filter(|a| **a < free) {
            missing[i] += 1;
            later[*a].push(i as u32);
        }
    }
    let (mut longs, mut shorts) = (Ready::new(free), Ready::new(free));
    let mut order = Vec::with_capacity(free);
    let add = |i: usize, longs: &mut Ready, shorts: &mut Ready| if items[i].short { shorts.insert(i) } else { longs.insert(i) };
    (0..free).filter(|i| missing[*i] == 0).for_each(|i| add(i, &mut longs, &mut shorts));
    let mut freed = Vec::new();
    while order.len() < free {
        let (long, short) = (longs.first(), shorts.first());
        let partner = short.and_then(|s| {
            let ready = shorts.from(s + 1);
            let unlocked = later[s].iter().map(|j| *j as usize).filter(|j| missing[*j] == 1 && items[*j].short).min();
            ready.into_iter().chain(unlocked).min()
        });
        let go: [Option<usize>; 2] = match (long, short, partner) {
            (Some(l), Some(s), _) if l < s => [Some(l), None],
            (_, Some(s), Some(p)) => [Some(s), Some(p)],
            (Some(l), _, _) => [Some(l), None],
            (None, s, _) => [s, None],
        };
        if go[0].is_none() {
            // A cycle: not from a block of code. Keep the rest as it was.
            let rest: Vec<usize> = (0..free).filter(|i| !order.contains(i)).collect();
            order.extend(rest);
            break;
        }
        for i in go.into_iter().flatten() {
            longs.remove(i);
            shorts.remove(i);
            order.push(i);
            for j in &later[i] {
                missing[*j as usize] -= 1;
                if missing[*j as usize] == 0 {
                    freed.push(*j as usize);
                }
            }
            for j in freed.drain(..) {
                add(j, &mut longs, &mut shorts);
            }
        }
    }
    order
}

/// Instructions that are ready, a bit each.
struct Ready {
    words: Vec<u64>,
    /// No word before this one has any.
    begin: usize,
}

impl Ready {
    fn new(n: usize) -> Ready {
        Ready { words: vec![0; n.div_ceil(64)], begin: 0 }
    }
    fn insert(&mut self, i: usize) {
        self.words[i / 64] |= 1 << (i % 64);
        self.begin = self.begin.min(i / 64);
    }
    fn remove(&mut self, i: usize) {
        self.words[i / 64] &= !(1 << (i % 64));
    }
    /// The first one.
    fn first(&mut self) -> Option<usize> {
        while self.words.get(self.begin) == Some(&0) {
            self.begin += 1;
        }
        self.from(64 * self.begin)
    }
    /// The first one that is not before `i`.
    fn from(&self, i: usize) -> Option<usize> {
        let mut at = i / 64;
        let mut word = self.words.get(at)? & u64::MAX << (i % 64);
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(64 * at + word.trailing_zeros() as usize)
    }
}

/// Pairs adjacent short-capable instructions, run by run from the start.
fn pair_runs(items: &[Item], order: &[usize]) -> Vec<bool> {
    let mut short = vec![false; order.len()];
    let mut k = 0;
    while k + 1 < order.len() {
        if items[order[k]].short && items[order[k + 1]].short {
            short[k] = true;
            short[k + 1] = true;
            k += 2;
        } else {
            k += 1;
        }
    }
    short
}

/// Reorders a window of at most [`EXACT`] instructions so that the number of pairs is largest.
fn solve(items: &[Item], window: &mut [usize]) {
    let n = window.len();
    let mut place = BTreeMap::new();
    window.iter().enumerate().for_each(|(k, i)| {
        place.insert(*i, k);
    });
    let needs: Vec<u32> = window.iter().map(|i| items[*i].after.iter().filter_map(|a| place.get(a)).fold(0, |m, k| m | 1 << k)).collect();
    let short = window.iter().enumerate().filter(|(_, i)| items[**i].short).fold(0u32, |m, (k, _)| m | 1 << k);
    let mut search = Search { needs, short, full: (1u32 << n) - 1, best: vec![u8::MAX; 1 << n] };
    search.most(0);
    let old = window.to_vec();
    for (at, k) in search.order().into_iter().enumerate() {
        window[at] = old[k];
    }
}

/// The search for the most pairs: states are sets of instructions already placed, closed under placing every long
/// instruction that is ready. Placing it at once loses nothing: it fills a whole slot wherever it stands, and moving it
/// forward parts no pair.
struct Search {
    needs: Vec<u32>,
    short: u32,
    full: u32,
    /// Most pairs from a closed state on; `u8::MAX` where not known yet.
    best: Vec<u8>,
}

impl Search {
    fn ready(&self, done: u32) -> u32 {
        (0..self.needs.len()).filter(|i| done >> i & 1 == 0 && self.needs[*i] & !done == 0).fold(0, |m, i| m | 1 << i)
    }
    /// Places long instructions while some are ready; says which, in order.
    fn close(&self, mut done: u32, mut placed: impl FnMut(usize)) -> u32 {
        loop {
            let longs = self.ready(done) & !self.short;
            if longs == 0 {
                return done;
            }
            bits(longs).for_each(&mut placed);
            done |= longs;
        }
    }
    /// The steps from a closed state: one short instruction, and perhaps a second.
    fn steps(&self, done: u32) -> Vec<(usize, Option<usize>)> {
        let ready = self.ready(done) & self.short;
        let mut out = Vec::new();
        for i in bits(ready) {
            let one = done | 1 << i;
            // Of two that are both ready the order does not matter.
            let partners = self.ready(one) & self.short & !(ready & ((1 << i) - 1));
            out.extend(bits(partners).map(|j| (i, Some(j))));
        }
        out.extend(bits(ready).map(|i| (i, None)));
        out
    }
    fn most(&mut self, from: u32) -> u8 {
        let done = self.close(from, |_| {});
        if done == self.full {
            return 0;
        }
        if self.best[done as usize] != u8::MAX {
            return self.best[done as usize];
        }
        let limit = (self.short & !done).count_ones() as u8 / 2;
        let mut most = 0;
        for (i, j) in self.steps(done) {
            if most == limit {
                break;
            }
            let next = done | 1 << i | j.map_or(0, |j| 1 << j);
            most = most.max(u8::from(j.is_some()) + self.most(next));
        }
        self.best[done as usize] = most;
        most
    }
    /// An order with the most pairs.
    fn order(&mut self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut done = self.close(0, |k| order.push(k));
        while done != self.full {
            let want = self.most(done);
            let step = self.steps(done).into_iter().find(|(i, j)| {
                let next = done | 1 << i | j.map_or(0, |j| 1 << j);
                u8::from(j.is_some()) + self.most(next) == want
            });
            let Some((i, j)) = step else { break };
            order.push(i);
            order.extend(j);
            done = self.close(done | 1 << i | j.map_or(0, |j| 1 << j), |k| order.push(k));
        }
        order
    }
}

/// The numbers of the set bits.
fn bits(mut m: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = m.trailing_zeros();
        m &= m.wrapping_sub(1);
        (k < 32).then_some(k as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_lower::testing::Rng;

    fn random(rng: &mut Rng, n: usize) -> Vec<Item> {
        let (density, shorts) = (1 + rng.below(5), 1 + rng.below(4));
        (0..n)
            .map(|i| Item { short: rng.below(4) < shorts, after: (0..i).filter(|_| rng.below(6) < density / 2 + rng.below(2)).collect() })
            .collect()
    }

    fn legal(items: &[Item], c: &Choice) {
        let mut place = vec![usize::MAX; items.len()];
        c.order.iter().enumerate().for_each(|(k, i)| place[*i] = k);
        for (i, item) in items.iter().enumerate() {
            assert!(item.after.iter().all(|a| place[*a] < place[i]), "{:?}", c.order);
        }
        let mut at = 0;
        for (k, s) in c.short.iter().enumerate() {
            assert!(!s || items[c.order[k]].short);
            assert!(*s || at % 8 == 0, "a long instruction at {at}");
            at += if *s { 4 } else { 8 };
        }
        assert_eq!(at % 8, 0);
    }

    /// Every order, every choice of forms.
    fn brute(items: &[Item]) -> usize {
        fn go(items: &[Item], done: u32, bytes: usize, best: &mut usize) {
            if done.count_ones() as usize == items.len() {
                if bytes.is_multiple_of(8) {
                    *best = (*best).min(bytes);
                }
                return;
            }
            for (i, item) in items.iter().enumerate() {
                if done & 1 << i == 0 && item.after.iter().all(|a| done & 1 << a != 0) {
                    if bytes.is_multiple_of(8) {
                        go(items, done | 1 << i, bytes + 8, best);
                    }
                    if item.short {
                        go(items, done | 1 << i, bytes + 4, best);
                    }
                }
            }
        }
        let mut best = usize::MAX;
        go(items, 0, 0, &mut best);
        best
    }

    /// Every choice of forms in the given order.
    fn brute_fixed(items: &[Item]) -> usize {
        let mut best = usize::MAX;
        for mask in 0..1u32 << items.len() {
            let (mut at, mut fine) = (0, true);
            for (i, item) in items.iter().enumerate() {
                let short = mask >> i & 1 == 1;
                fine &= if short { item.short } else { at % 8 == 0 };
                at += if short { 4 } else { 8 };
            }
            if fine && at % 8 == 0 {
                best = best.min(at);
            }
        }
        best
    }

    #[test]
    fn the_fixed_order_is_optimal() {
        let mut rng = Rng::new(1);
        for _ in 0..2000 {
            let n = 1 + rng.below(10);
            let items = random(&mut rng, n);
            let c = fixed_order(&items);
            legal(&items, &c);
            assert_eq!(c.bytes(), brute_fixed(&items));
        }
    }

    #[test]
    fn small_blocks_are_optimal_with_reordering() {
        let mut rng = Rng::new(2);
        let mut gained = 0;
        for _ in 0..1500 {
            let n = 1 + rng.below(7);
            let items = random(&mut rng, n);
            let c = choose(&items, 0);
            legal(&items, &c);
            assert_eq!(c.bytes(), brute(&items), "{items:?}");
            gained += (c.bytes() < fixed_order(&items).bytes()) as u32;
        }
        assert!(gained > 100, "reordering gained in {gained} blocks");
    }

    #[test]
    fn large_blocks_are_never_worse_than_the_fixed_order() {
        let mut rng = Rng::new(3);
        let mut gained = 0;
        for _ in 0..300 {
            let n = 13 + rng.below(60);
            let items = random(&mut rng, n);
            let pinned = rng.below(2);
            let mut items = items;
            if pinned == 1 {
                let last = items.len() - 1;
                items[last] = Item { short: false, after: (0..last).collect() };
            }
            let c = choose(&items, pinned);
            legal(&items, &c);
            assert!(pinned == 0 || c.order.last() == Some(&(items.len() - 1)));
            assert!(c.bytes() <= fixed_order(&items).bytes());
            gained += (c.bytes() < fixed_order(&items).bytes()) as u32;
        }
        assert!(gained > 100, "reordering gained in {gained} blocks");
    }
}
