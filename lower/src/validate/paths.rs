//! How much of a program is executed: instructions on its shortest and on its longest path, found from the machine code's own flow graph.
//!
//! The longest path goes round each loop once, the shortest one leaves it at its first exit. For that a loop's last instruction leads, instead
//! of back to the first, to where the loop can be left; innermost loops come first.

use super::Program;

/// Instructions executed, and loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// On the way with the fewest instructions to an end.
    pub shortest: u32,
    /// On the way with the most.
    pub longest: u32,
    /// Loops of the machine code.
    pub loops: u32,
}

/// The paths through a program; `None` where its flow is not known.
pub(super) fn paths(p: &Program) -> Option<Paths> {
    let mut next: Vec<Vec<usize>> = p.steps.iter().map(|s| s.next.iter().map(|e| e.to as usize).collect()).collect();
    if next.is_empty() || next.iter().flatten().any(|to| *to >= next.len()) {
        return None;
    }
    let ends: Vec<bool> = next.iter().map(Vec::is_empty).collect();
    let costs = costs(p, &next);
    let mut loops = 0;
    let order = loop {
        let walk = Walk::new(&next);
        let Some(head) = walk.backward.iter().map(|e| e.1).max_by_key(|head| walk.number[*head]) else { break walk.finished };
        loops += 1;
        if loops as usize > next.len() {
            return None;
        }
        open(&mut next, head, &walk.backward);
    };
    // Steps finish behind all that follow them.
    let mut ways: Vec<(u32, Option<u32>)> = vec![(0, None); next.len()];
    for n in order {
        let longest = next[n].iter().map(|to| ways[*to].0).max().unwrap_or(0);
        let shortest = if ends[n] { Some(0) } else { next[n].iter().filter_map(|to| ways[*to].1).min() };
        ways[n] = (longest.saturating_add(costs[n]), shortest.map(|s| s.saturating_add(costs[n])));
    }
    let (longest, shortest) = ways[0];
    // A program without an end has no shortest way to it.
    Some(Paths { shortest: shortest.unwrap_or(longest), longest, loops })
}

/// One for each instruction: steps of an instruction that has several count once, and the place behind the last is none.
fn costs(p: &Program, next: &[Vec<usize>]) -> Vec<u32> {
    let mut costs: Vec<u32> = (0..next.len()).map(|n| u32::from(p.end != Some(n))).collect();
    for (n, to) in next.iter().enumerate() {
        if let [one] = to.as_slice()
            && *one != n
            && p.steps[*one].at == p.steps[n].at
        {
            costs[*one] = 0;
        }
    }
    costs
}

/// A walk through a graph from its first step, depth first.
struct Walk {
    /// By step, when it was reached.
    number: Vec<usize>,
    /// Edges that lead to a step from which the walk came.
    backward: Vec<(usize, usize)>,
    /// Steps in the order in which all behind them was seen.
    finished: Vec<usize>,
}

impl Walk {
    fn new(next: &[Vec<usize>]) -> Walk {
        let mut w = Walk { number: vec![usize::MAX; next.len()], backward: Vec::new(), finished: Vec::new() };
        let mut open = vec![false; next.len()];
        // A step, and how many of its ways have been gone.
        let mut stack = vec![(0, 0)];
        (w.number[0], open[0]) = (0, true);
        let mut count = 1;
        while let Some((n, k)) = stack.last_mut() {
            let n = *n;
            if let Some(to) = next[n].get(*k).copied() {
                *k += 1;
                if open[to] {
                    w.backward.push((n, to));
                } else if w.number[to] == usize::MAX {
                    (w.number[to], open[to]) = (count, true);
                    count += 1;
                    stack.push((to, 0));
                }
            } else {
                open[n] = false;
                w.finished.push(n);
                stack.pop();
            }
        }
        w
    }
}

/// Leads the edges back to a loop's head to where the loop is left.
fn open(next: &mut [Vec<usize>], head: usize, backward: &[(usize, usize)]) {
    let tails: Vec<usize> = backward.iter().filter(|e| e.1 == head).map(|e| e.0).collect();
    let mut inside = vec![false; next.len()];
    inside[head] = true;
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
    for (n, to) in next.iter().enumerate() {
        to.iter().for_each(|t| before[*t].push(n));
    }
    let mut work = tails.clone();
    while let Some(n) = work.pop() {
        if !std::mem::replace(&mut inside[n], true) {
            work.extend(&before[n]);
        }
    }
    let body = (0..next.len()).filter(|n| inside[*n]);
    let mut exits: Vec<usize> = body.flat_map(|n| next[n].iter().copied()).filter(|to| !inside[*to]).collect();
    exits.sort_unstable();
    exits.dedup();
    for t in tails {
        next[t].retain(|to| *to != head);
        let more: Vec<usize> = exits.iter().copied().filter(|e| !next[t].contains(e)).collect();
        next[t].extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Step;

    /// A program whose steps are instructions and lead to these; the last is where it ends.
    fn program(edges: &[&[usize]]) -> Program {
        let mut p = Program::new("", 0, |_| String::new());
        for (n, to) in edges.iter().enumerate() {
            let mut s = Step { at: n as u32, ..Step::default() };
            to.iter().for_each(|t| s.goes(*t));
            p.steps.push(s);
        }
        p.end = edges.len().checked_sub(1).filter(|n| edges[*n].is_empty());
        p
    }

    fn of(edges: &[&[usize]]) -> (u32, u32, u32) {
        let p = paths(&program(edges)).unwrap_or_default();
        (p.shortest, p.longest, p.loops)
    }

    #[test]
    fn arms() {
        assert_eq!(of(&[&[1], &[2], &[]]), (2, 2, 0));
        // 1 goes to 2 and 3, or to 4.
        assert_eq!(of(&[&[1], &[2, 4], &[3], &[5], &[5], &[]]), (3, 4, 0));
    }

    #[test]
    fn loops() {
        // A loop left at its head: 1 tests, 2 and 3 are its body.
        assert_eq!(of(&[&[1], &[2, 4], &[3], &[1], &[5], &[]]), (3, 5, 1));
        // One left at its end.
        assert_eq!(of(&[&[1], &[2], &[1, 3], &[]]), (3, 3, 1));
        // A loop in a loop, both left at their heads: 1 and 2; 3 belongs to the inner, 4 to the outer one.
        assert_eq!(of(&[&[1], &[2, 5], &[3, 4], &[2], &[1], &[6], &[]]), (3, 6, 2));
        // Two ways back to one head, one of them longer.
        assert_eq!(of(&[&[1], &[2, 5], &[1, 3], &[4], &[1], &[6], &[]]), (3, 6, 1));
        // No way out.
        assert_eq!(of(&[&[1], &[2], &[1]]), (3, 3, 1));
    }

    #[test]
    fn steps_of_one_instruction_count_once() {
        let mut p = program(&[&[1], &[2], &[3], &[]]);
        p.steps[2].at = 1;
        assert_eq!(paths(&p), Some(Paths { shortest: 2, longest: 2, loops: 0 }));
        assert_eq!(paths(&program(&[])), None);
    }
}
