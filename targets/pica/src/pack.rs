//! Packing: scalars of one origin become lanes of one instruction, products join their sums, results go straight to outputs.
//!
//! Then a local search merges independent instructions of one kind where the whole program gets shorter by it; every trial
//! runs the later stages (`operands.rs`, `colocate.rs`), so its gain is real.

use crate::forms::Op;
use crate::mir::*;
use std::collections::HashMap;

/// Changes a node so that it computes the negated result; false if it cannot.
fn push_negation(n: &mut Node) -> bool {
    let negate = |t: &mut Tuple| t.iter_mut().for_each(|r| *r = r.negated());
    match n.op {
        Op::Mov => negate(&mut n.srcs[0]),
        Op::Mul | Op::Dp3 | Op::Dp4 => negate(&mut n.srcs[0]),
        // The implied 1 of dph has no sign: the other factor carries it.
        Op::Dph => return false,
        Op::Add => n.srcs.iter_mut().for_each(negate),
        Op::Mad => {
            negate(&mut n.srcs[0]);
            negate(&mut n.srcs[2]);
        }
        Op::Max | Op::Min => {
            n.srcs.iter_mut().for_each(negate);
            n.op = if n.op == Op::Max { Op::Min } else { Op::Max };
        }
        _ => return false,
    }
    true
}

/// Definitions of each temporary: (block, node).
fn definitions(p: &Program) -> Vec<Vec<(usize, usize)>> {
    let mut defs = vec![Vec::new(); p.temps as usize];
    for (b, block) in p.blocks.iter().enumerate() {
        for (n, node) in block.nodes.iter().enumerate() {
            for t in node.writes() {
                defs[t as usize].push((b, n));
            }
        }
    }
    defs
}

/// `add(mul(a, b), c)` with a product that nobody else reads becomes `mad(a, b, c)`: the machine rounds the product.
fn fuse_products(p: &mut Program) {
    let uses = p.use_counts();
    let defs = definitions(p);
    for b in 0..p.blocks.len() {
        for n in 0..p.blocks[b].nodes.len() {
            let node = &p.blocks[b].nodes[n];
            if node.op != Op::Add || node.dests.len() != 1 || node.test.is_some() {
                continue;
            }
            for side in 0..2 {
                let factor = node.srcs[side][0];
                let addend = node.srcs[1 - side][0];
                let Some(t) = factor.as_tmp() else { continue };
                let [(db, dn)] = defs[t as usize][..] else { continue };
                let product = &p.blocks[db].nodes[dn];
                if db != b || uses[t as usize] != 1 || product.op != Op::Mul || product.test.is_some() {
                    continue;
                }
                let (mut x, y) = (product.srcs[0][0], product.srcs[1][0]);
                if factor.neg {
                    x = x.negated();
                }
                // Two uniform factors cost a copy with or without the sum.
                let is_uniform = |r: &Ref| matches!(r.leaf, Leaf::Uni { .. } | Leaf::Const(_));
                let uniforms = usize::from(is_uniform(&x) || is_uniform(&y)) + usize::from(is_uniform(&addend));
                let mut inputs: Vec<u8> =
                    [x, y, addend].iter().filter_map(|r| if let Leaf::In(v, _) = r.leaf { Some(v) } else { None }).collect();
                inputs.sort();
                inputs.dedup();
                if uniforms > 1 || inputs.len() > 1 {
                    continue;
                }
                // Operands that the block redefines in between (block parameters never are: copies come last).
                let span = node.span;
                let (dests, bundle) = (node.dests.clone(), node.bundle);
                let mut mad = Node::new(Op::Mad, &dests, &[&[x], &[y], &[addend]], span);
                mad.bundle = bundle;
                p.blocks[b].nodes[n] = mad;
                p.blocks[db].nodes[dn].dests.clear();
                p.blocks[db].nodes[dn].srcs.clear();
                p.blocks[db].nodes[dn].op = Op::Nop;
                break;
            }
        }
    }
    for b in &mut p.blocks {
        b.nodes.retain(|n| n.op != Op::Nop);
    }
}

/// Whether a block may be executed again.
fn in_a_loop(p: &Program, a: usize) -> bool {
    let mut seen = vec![false; p.blocks.len()];
    let mut work: Vec<usize> = p.blocks[a].succs.to_vec();
    while let Some(x) = work.pop() {
        if !std::mem::replace(&mut seen[x], true) {
            work.extend(p.blocks[x].succs.iter());
        }
    }
    seen[a]
}

/// Whether block `a` is executed exactly once before block `b`: it dominates it and lies in no loop.
fn once_before(p: &Program, a: usize, b: usize) -> bool {
    let mut d = Some(b);
    while d.is_some_and(|x| x != a) {
        d = d.and_then(|x| p.blocks[x].idom);
    }
    d.is_some() && !in_a_loop(p, a) && !p.blocks.iter().any(|b| b.nodes.iter().any(|n| n.op == Op::Emit))
}

/// A move to an output: block, node, register, component, sign.
type OutputMove = (usize, usize, u8, u8, bool);

/// Results that are only moved to an output are computed there.
fn write_outputs_directly(p: &mut Program) {
    let emits = p.blocks.iter().any(|b| b.nodes.iter().any(|n| n.op == Op::Emit));
    for _ in 0..4 {
        let uses = p.use_counts();
        let defs = definitions(p);
        // temporary → its moves to outputs: (block, node, register, component, sign)
        let mut moves: HashMap<Tmp, Vec<OutputMove>> = HashMap::new();
        for (b, block) in p.blocks.iter().enumerate() {
            for (n, node) in block.nodes.iter().enumerate() {
                if let (Op::Mov, [Dest::Out(reg, comp)], Some(r), None) =
                    (node.op, &node.dests[..], node.srcs.first().map(|s| s[0]), &node.test)
                    && let Some(t) = r.as_tmp()
                {
                    moves.entry(t).or_default().push((b, n, *reg, *comp, r.neg));
                }
            }
        }
        let mut changed = false;
        let mut gone: Vec<(usize, usize)> = Vec::new();
        let mut tmps: Vec<Tmp> = moves.keys().copied().collect();
        tmps.sort();
        // A bundle goes as a whole or not at all.
        let fits = |t: Tmp| -> Option<(u8, bool)> {
            let m = &moves[&t];
            let (_, _, reg, _, neg) = m[0];
            (uses[t as usize] as usize == m.len() && m.iter().all(|x| x.2 == reg && x.4 == neg)).then_some((reg, neg))
        };
        for t in tmps {
            let Some((reg, neg)) = fits(t) else { continue };
            let targets = &moves[&t];
            let at_block = targets[0].0;
            if targets.iter().any(|x| x.0 != at_block) || defs[t as usize].is_empty() {
                continue;
            }
            let replicates = |n: &Node| !n.elementwise();
            let all_here = defs[t as usize].iter().all(|(b, _)| *b == at_block);
            if defs[t as usize].len() > 1 && all_here {
                // A conditional move: overwriting an output is not allowed.
                continue;
            }
            if emits && !all_here {
                // A vertex in between would take the value with it, or one on another way would miss it.
                continue;
            }
            let repeated = |b: usize| b != at_block && in_a_loop(p, b) && !in_a_loop(p, at_block);
            if defs[t as usize].len() > 1
                && !all_here
                && (p.blocks.iter().enumerate().any(|(k, b)| k >= at_block && b.succs.contains(&at_block))
                    || defs[t as usize].iter().any(|(b, _)| repeated(*b)))
            {
                continue;
            }
            let single = defs[t as usize].len() == 1;
            // From another block: it must be executed exactly once before the end.
            if single && !all_here && (!p.blocks[at_block].succs.is_empty() || !once_before(p, defs[t as usize][0].0, at_block)) {
                continue;
            }
            let mut ok = true;
            for (db, dn) in &defs[t as usize] {
                let d = &p.blocks[*db].nodes[*dn];
                if d.op == Op::Call || d.test.is_some() || targets.len() > 1 && !replicates(d) {
                    ok = false;
                }
                if neg && !push_negation(&mut d.clone()) {
                    ok = false;
                }
                // No emit between definition and move.
                if single && all_here && p.blocks[*db].nodes[*dn..targets[0].1].iter().any(|n| n.op == Op::Emit) {
                    ok = false;
                }
                if single && d.elementwise() {
                    // Lanes of the same vector operation must leave together.
                    let siblings = p.blocks[*db].nodes.iter().filter(|s| s.bundle == d.bundle && s.op == d.op);
                    for s in siblings {
                        for x in s.dests.iter() {
                            let together = match x {
                                Dest::Tmp(u) => moves.contains_key(u) && fits(*u) == Some((reg, neg)),
                                Dest::Out(r, _) => *r == reg,
                            };
                            ok &= together;
                        }
                    }
                }
            }
            if !ok {
                continue;
            }
            for (db, dn) in &defs[t as usize] {
                let d = &mut p.blocks[*db].nodes[*dn];
                if neg {
                    push_negation(d);
                }
                d.dests.retain(|x| *x != Dest::Tmp(t));
                d.dests.extend(targets.iter().map(|x| Dest::Out(x.2, x.3)));
            }
            gone.extend(targets.iter().map(|x| (x.0, x.1)));
            changed = true;
        }
        gone.sort();
        for (b, n) in gone.into_iter().rev() {
            p.blocks[b].nodes.remove(n);
        }
        if !changed {
            return;
        }
    }
}

/// Joins the lanes of one origin into one operation.
fn join_bundles(p: &mut Program) {
    for block in &mut p.blocks {
        let mut out: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut block.nodes) {
            let joins = n.elementwise() && n.bundle != u32::MAX;
            let at = if joins {
                out.iter().rposition(|o| {
                    o.bundle == n.bundle && o.op == n.op && o.test == n.test && o.elementwise() && same_target(o, &n) && o.dests.len() < 4
                })
            } else {
                None
            };
            match at {
                // The joined operation stands where its last lane stood; nothing between reads the others, because
                // all lanes stem from one instruction.
                Some(k) => {
                    let mut o = out.remove(k);
                    o.dests.extend(n.dests);
                    for (a, b) in o.srcs.iter_mut().zip(n.srcs) {
                        a.extend(b);
                    }
                    out.push(o);
                }
                None => out.push(n),
            }
        }
        block.nodes = out;
    }
}

/// Whether two operations write the same output register, or both temporaries.
pub fn same_target(a: &Node, b: &Node) -> bool {
    let target = |n: &Node| match n.dests.first() {
        Some(Dest::Out(r, _)) => Some(*r),
        _ => None,
    };
    target(a) == target(b)
}

/// The first packing of a lowered program.
pub fn pack(p: &mut Program, optimise: bool) {
    p.remove_dead();
    if optimise {
        fuse_products(p);
        write_outputs_directly(p);
        p.remove_dead();
    }
    join_bundles(p);
    p.link_calls();
}

/// Whether a node reads a temporary, as an operand or as an index.
fn reads_tmp(n: &Node, indices: &[Ref], t: Tmp) -> bool {
    n.reads().any(|r| {
        r.as_tmp() == Some(t)
            || matches!(r.leaf, Leaf::Uni { index: Some(i), .. } if indices.get(i as usize).and_then(|r| r.as_tmp()) == Some(t))
    })
}

/// Whether `later` depends on `earlier`, directly or through nodes between (same block).
pub fn depends(p: &Program, block: usize, earlier: usize, later: usize) -> bool {
    let (nodes, indices) = (&p.blocks[block].nodes, &p.indices);
    let mut tainted: Vec<Tmp> = nodes[earlier].writes().collect();
    for (k, n) in nodes.iter().enumerate().take(later + 1).skip(earlier + 1) {
        let hit = tainted.iter().any(|t| reads_tmp(n, indices, *t) || p.changes(n).any(|w| w == *t));
        if hit {
            if k == later {
                return true;
            }
            tainted.extend(p.changes(n));
        }
    }
    false
}

/// Merges node `b` into node `a` (a before b, same block), if they may be one instruction.
pub fn merged(p: &Program, block: usize, a: usize, b: usize) -> Option<Program> {
    let nodes = &p.blocks[block].nodes;
    let (x, y) = (&nodes[a], &nodes[b]);
    if x.op != y.op || !x.elementwise() || x.dests.len() + y.dests.len() > 4 || x.test != y.test || !same_target(x, y) {
        return None;
    }
    if nodes[a..b].iter().any(|n| n.op == Op::Emit) || depends(p, block, a, b) {
        return None;
    }
    // Try both orders of commuting factors: operands of one kind belong together.
    let keys = |t: &Tuple| t.iter().map(|r| r.key()).collect::<Vec<_>>();
    let fits = |s: &Tuple, t: &Tuple| {
        let k = keys(s)[0];
        keys(s).iter().chain(&keys(t)).all(|o| *o == k)
    };
    let mut y = y.clone();
    if !x.srcs.iter().zip(&y.srcs).all(|(s, t)| fits(s, t)) {
        if !matches!(x.op, Op::Add | Op::Mul | Op::Mad) {
            return None;
        }
        y.srcs.swap(0, 1);
        if !x.srcs.iter().zip(&y.srcs).all(|(s, t)| fits(s, t)) {
            return None;
        }
    }
    if x.writes().any(|t| y.writes().any(|u| t == u)) {
        return None;
    }
    let mut q = p.clone();
    let nodes = &mut q.blocks[block].nodes;
    // The merged node stands at the later place if nothing between reads the earlier results, else what does moves behind.
    let mut first = nodes.remove(a);
    first.dests.extend(y.dests.iter().copied());
    for (s, t) in first.srcs.iter_mut().zip(&y.srcs) {
        s.extend(t.iter().copied());
    }
    let mut behind: Vec<Node> = Vec::new();
    let mut tainted: Vec<Tmp> = first.writes().collect();
    let mut k = a;
    // Node b now stands at b - 1.
    let mut left = b - 1 - a;
    while left > 0 {
        left -= 1;
        let n = &nodes[k];
        // What the first operation reads must still be there.
        if p.changes(n).any(|w| reads_tmp(&first, &q.indices, w)) {
            return None;
        }
        let reads = n.reads().any(|r| {
            r.as_tmp().is_some_and(|t| tainted.contains(&t))
                || matches!(r.leaf, Leaf::Uni { index: Some(i), .. } if q.indices.get(i as usize).and_then(|r| r.as_tmp()).is_some_and(|t| tainted.contains(&t)))
        });
        // Nor may what stays come before a reader of what it overwrites.
        let overwrites = p.changes(n).any(|w| behind.iter().any(|x| reads_tmp(x, &q.indices, w)));
        if reads || overwrites || p.changes(n).any(|w| tainted.contains(&w)) {
            let n = nodes.remove(k);
            if y.writes().any(|w| reads_tmp(&n, &q.indices, w))
                || p.changes(&n).any(|v| reads_tmp(&y, &q.indices, v) || y.writes().any(|w| v == w))
            {
                return None;
            }
            tainted.extend(p.changes(&n));
            behind.push(n);
        } else {
            k += 1;
        }
    }
    nodes[k] = first;
    for (n, node) in behind.into_iter().enumerate() {
        nodes.insert(k + 1 + n, node);
    }
    Some(q)
}

/// Local search: merges pairs while the cost falls. `cost` is the length of the finished program, `None` if it does not fit.
pub fn search(mut p: Program, cost: &dyn Fn(&Program) -> Option<u64>, mut budget: u32) -> Program {
    let mut best = cost(&p);
    loop {
        let mut improved = false;
        for block in 0..p.blocks.len() {
            let mut a = 0;
            while a < p.blocks[block].nodes.len() {
                let mut b = a + 1;
                while b < p.blocks[block].nodes.len() && b - a < 48 {
                    if budget == 0 {
                        return p;
                    }
                    if let Some(q) = merged(&p, block, a, b) {
                        budget -= 1;
                        let c = cost(&q);
                        if c.is_some_and(|c| best.is_none_or(|old| c < old)) {
                            best = c;
                            p = q;
                            improved = true;
                            b = a + 1;
                            continue;
                        }
                    }
                    b += 1;
                }
                a += 1;
            }
        }
        if !improved {
            return p;
        }
    }
}
