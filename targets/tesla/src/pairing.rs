//! Form choice: which instructions of a block are short, and in which order.
//!
//! A long instruction starts at a multiple of 8, so shorts come in adjacent pairs (sheet 2.1). Which instructions *could*
//! be short is known after placement; here it is decided which *are*. In a fixed order the best answer pairs every run
//! of short-capable instructions from its start. With reordering within the dependences, the best order of a small
//! block comes from a search over all sets of already placed instructions; larger blocks are improved window by window,
//! which never makes an order worse.

/// An instruction as the form choice sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Whether a short form exists for its operands as placed.
    pub short: bool,
    /// Instructions of the block that must stand before it.
    pub after: Vec<usize>,
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
    let mut order: Vec<usize> = (0..items.len()).collect();
    if free <= EXACT {
        solve(items, &mut order[..free]);
    } else {
        // Windows that overlap by half, so that a pair may travel; once more from the other end.
        let step = EXACT / 2;
        let starts: Vec<usize> = (0..free).step_by(step).collect();
        for s in starts.iter().copied().chain(starts.iter().rev().copied()) {
            solve(items, &mut order[s..(s + EXACT).min(free)]);
        }
    }
    let best = Choice { short: pair_runs(items, &order), order };
    let plain = fixed_order(items);
    if best.bytes() < plain.bytes() { best } else { plain }
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

/// Reorders a window of at most [`EXACT`] instructions so that the number of pairs is largest; among equals the order
/// stays as close to the old one as the choice of the earliest instruction at each step allows.
fn solve(items: &[Item], window: &mut [usize]) {
    let n = window.len();
    if n < 2 || window.iter().filter(|i| items[**i].short).count() < 2 {
        return;
    }
    let needs: Vec<u32> = window
        .iter()
        .map(|i| items[*i].after.iter().filter_map(|a| window.iter().position(|w| w == a)).fold(0, |m, k| m | 1 << k))
        .collect();
    let short: Vec<bool> = window.iter().map(|i| items[*i].short).collect();
    // best[done] = most pairs that the instructions not in `done` can form; filled from the full set downwards.
    let full = (1usize << n) - 1;
    let mut best = vec![0u8; full + 1];
    let step = |done: usize, i: usize| done & (1 << i) == 0 && needs[i] as usize & !done == 0;
    for done in (0..full).rev() {
        let mut most = 0;
        for i in (0..n).filter(|i| step(done, *i)) {
            let one = done | 1 << i;
            most = most.max(best[one]);
            if short[i] {
                for j in (0..n).filter(|j| short[*j] && step(one, *j)) {
                    most = most.max(1 + best[one | 1 << j]);
                }
            }
        }
        best[done] = most;
    }
    let old = window.to_vec();
    let (mut done, mut at) = (0, 0);
    while done != full {
        let mut take: Option<(usize, Option<usize>)> = None;
        for i in (0..n).filter(|i| step(done, *i)) {
            let one = done | 1 << i;
            if best[one] == best[done] {
                take = Some((i, None));
                break;
            }
            let pair = (0..n).find(|j| short[i] && short[*j] && step(one, *j) && 1 + best[one | 1 << *j] == best[done]);
            if pair.is_some() {
                take = Some((i, pair));
                break;
            }
        }
        // One of the two always exists: `best[done]` came from it.
        let Some((i, j)) = take else { return };
        for k in std::iter::once(i).chain(j) {
            window[at] = old[k];
            at += 1;
            done |= 1 << k;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rng(u64);

    impl Rng {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

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
        let mut rng = Rng(0x51ed_270b_9f6d_1a33);
        for _ in 0..2000 {
            let n = 1 + rng.below(10) as usize;
            let items = random(&mut rng, n);
            let c = fixed_order(&items);
            legal(&items, &c);
            assert_eq!(c.bytes(), brute_fixed(&items));
        }
    }

    #[test]
    fn small_blocks_are_optimal_with_reordering() {
        let mut rng = Rng(0x2545_f491_4f6c_dd1d);
        let mut gained = 0;
        for _ in 0..1500 {
            let n = 1 + rng.below(7) as usize;
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
        let mut rng = Rng(0x1357_9bdf_0246_8ace);
        let mut gained = 0;
        for _ in 0..300 {
            let n = 13 + rng.below(60) as usize;
            let items = random(&mut rng, n);
            let pinned = rng.below(2) as usize;
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
