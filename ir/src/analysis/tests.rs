//! Analyses against brute force on random graphs, and on very deep ones.

use super::*;
use crate::builder::Builder;
use crate::entities::Block;
use crate::function::Function;
use crate::types::I1;

/// A small deterministic generator.
pub(crate) struct Rng(pub u64);
impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn graph(n: usize, edges: impl Fn(usize) -> Vec<usize>) -> (Function, Vec<Block>) {
    let mut f = Function::new("f");
    let blocks: Vec<Block> = (0..n).map(|_| f.add_block()).collect();
    for k in 0..n {
        let to = edges(k);
        let mut b = Builder::new(&mut f, blocks[k]);
        match to[..] {
            [] => {
                b.ret(&[]);
            }
            [one] => {
                b.jump(blocks[one], &[]);
            }
            [x, y, ..] => {
                let c = b.iconst(I1, 1);
                b.br_if(c, (blocks[x], &[]), (blocks[y], &[]));
            }
        }
    }
    (f, blocks)
}

fn reach(f: &Function, from: Block, without: Option<Block>) -> Vec<bool> {
    let mut seen = vec![false; f.blocks.len()];
    let mut stack = vec![from];
    while let Some(b) = stack.pop() {
        if Some(b) != without && !std::mem::replace(&mut seen[b.as_u32() as usize], true) {
            stack.extend(f.successors(b).iter().map(|t| t.block));
        }
    }
    seen
}

#[test]
fn dominance_matches_brute_force() {
    let mut rng = Rng(12345);
    for _ in 0..400 {
        let n = 1 + rng.below(12);
        let table: Vec<Vec<usize>> = (0..n).map(|_| (0..rng.below(3)).map(|_| rng.below(n)).collect()).collect();
        let (f, blocks) = graph(n, |k| table[k].clone());
        let cfg = Cfg::new(&f);
        let dom = DomTree::new(&f, &cfg);
        let post = PostDomTree::new(&f, &cfg);
        let entry = blocks[0];
        let live = reach(&f, entry, None);
        let ends: Vec<usize> = (0..n).filter(|k| live[*k] && f.successors(blocks[*k]).is_empty()).collect();
        for a in 0..n {
            assert_eq!(live[a], cfg.is_reachable(blocks[a]));
            let without = reach(&f, entry, Some(blocks[a]));
            for b in 0..n {
                let expected = live[a] && live[b] && (a == b || !without[b]);
                assert_eq!(expected, dom.dominates(blocks[a], blocks[b]), "{a} {b} {table:?}");
            }
        }
        // Post-dominance where every block reaches an end.
        let all_end = (0..n).filter(|k| live[*k]).all(|k| ends.iter().any(|e| reach(&f, blocks[k], None)[*e]));
        if all_end {
            for a in (0..n).filter(|a| live[*a]) {
                for b in (0..n).filter(|b| live[*b]) {
                    let r = reach(&f, blocks[b], Some(blocks[a]));
                    let expected = a == b || !ends.iter().any(|e| r[*e]);
                    assert_eq!(expected, post.post_dominates(blocks[a], blocks[b]), "post {a} {b} {table:?}");
                }
            }
        }
        // Natural loops: a block is in the loop of a header if it reaches a latch without passing the header.
        let loops = Loops::new(&cfg, &dom);
        if loops.is_reducible() {
            for (l, d) in loops.iter() {
                for b in (0..n).filter(|b| live[*b]) {
                    let r = reach(&f, blocks[b], Some(d.header));
                    let inside = blocks[b] == d.header
                        || d.latches.iter().any(|e| r[e.from.as_u32() as usize]) && dom.dominates(d.header, blocks[b]);
                    assert_eq!(inside, loops.contains(l, blocks[b]), "loop {table:?}");
                    assert_eq!(inside, loops.blocks(l).contains(&blocks[b]));
                }
            }
        }
    }
}

#[test]
fn irreducible_is_found() {
    let (f, _) = graph(4, |k| [vec![1, 2], vec![2, 3], vec![1, 3], vec![]][k].clone());
    let cfg = Cfg::new(&f);
    assert!(!Loops::new(&cfg, &DomTree::new(&f, &cfg)).is_reducible());
}

#[test]
fn deep_graphs_are_fast() {
    const N: usize = 100_000;
    // Nested loops: block k enters k+1, and 2N-k goes back to k.
    let shapes: [&dyn Fn(usize) -> Vec<usize>; 3] = [
        &|k| if k + 1 < N { vec![k + 1, N - 1] } else { vec![] },
        &|k| match k {
            k if k == N - 1 => vec![],
            k if k < N / 2 => vec![k + 1],
            k => vec![N - 1 - k, k + 1],
        },
        &|k| match k {
            k if k == N - 1 => vec![],
            k if k < N / 2 - 1 => vec![k + 1, N - 1 - k],
            k => vec![k + 1],
        },
    ];
    for shape in shapes {
        let (mut f, _) = graph(N, shape);
        let cfg = Cfg::new(&f);
        let dom = DomTree::new(&f, &cfg);
        let _ = PostDomTree::new(&f, &cfg);
        let loops = Loops::new(&cfg, &dom);
        assert!(loops.is_reducible());
        split_critical_edges(&mut f);
        let cfg = Cfg::new(&f);
        for b in &f.layout {
            for k in 0..f.successors(*b).len() {
                assert!(!cfg.is_critical(&f, cfg::Edge { from: *b, target: k as u32 }));
            }
        }
    }
}

/// `for (i = 0; i < n; i++) if (x > i) break;` leaving `i` behind, with `n` a uniform and `x` an input.
fn counted(module: &mut crate::Module) -> (Block, Block, crate::Value, crate::Value) {
    use crate::inst::{IntCC, MemRef};
    use crate::types::I32;
    let mut decl = crate::IoDecl::at_location("x", I32, 0);
    decl.range = Some((-5, 70));
    let x = module.inputs.push(decl);
    let f = module.main_mut();
    let (entry, head, body, next, exit) = (f.add_block(), f.add_block(), f.add_block(), f.add_block(), f.add_block());
    let i = f.add_param(head, I32);
    let last = f.add_param(exit, I32);
    let mut b = Builder::new(f, entry);
    let zero = b.iconst(I32, 0);
    let n = b.iconst(I32, 10);
    let xv = b.load(I32, MemRef::Input(x), 0, None);
    b.jump(head, &[zero]);
    b.switch_to(head);
    let c = b.icmp(IntCC::Slt, i, n);
    b.br_if(c, (body, &[]), (exit, &[i]));
    b.switch_to(body);
    let d = b.icmp(IntCC::Sgt, xv, i);
    b.br_if(d, (exit, &[i]), (next, &[]));
    b.switch_to(next);
    let one = b.iconst(I32, 1);
    let i2 = b.ins(crate::Opcode::Iadd, &[i, one]);
    b.jump(head, &[i2]);
    b.switch_to(exit);
    b.ret(&[]);
    (head, body, i, last)
}

#[test]
fn loop_counter_is_uniform_inside_and_divergent_outside() {
    let mut m = crate::Module::new("m", crate::Stage::Vertex);
    let (head, body, i, last) = counted(&mut m);
    let u = Uniformity::new(&m, m.main());
    assert!(u.level(i) < Level::Divergent, "{:?}", u.level(i));
    assert_eq!(u.level(last), Level::Divergent);
    assert!(u.is_divergent_branch(body));
    assert!(!u.is_divergent_branch(head));
}

#[test]
fn loop_counter_range() {
    let mut m = crate::Module::new("m", crate::Stage::Vertex);
    let (_, body, i, last) = counted(&mut m);
    let r = Ranges::new(&m, m.main());
    assert_eq!(r.range(i), Range { lo: 0, hi: 10 });
    assert_eq!(r.range_at(i, body), Range { lo: 0, hi: 9 });
    assert_eq!(r.range(last), Range { lo: 0, hi: 10 });
}

#[test]
fn liveness_of_a_loop() {
    let mut m = crate::Module::new("m", crate::Stage::Vertex);
    let (head, body, i, _) = counted(&mut m);
    let f = m.main();
    let l = Liveness::new(f, &Cfg::new(f));
    assert!(l.live_in(body).contains(&i));
    assert!(!l.live_in(head).contains(&i));
    assert!(l.live_out(head).contains(&i));
}

#[test]
fn relaxed_values_follow_moves_and_branches() {
    let text = "shader fragment \"t\"
input %a : f32x2 @location(0)
input %b : f32x2 @location(1)
output %o : f32 @location(0)
block0:
    v0 = relaxed input.f32x2 %a
    v1 = input.f32x2 %b
    v2 = extract v0, 0
    v3 = extract v1, 0
    v4 = fconst.f32 2.0
    v5 = relaxed fmul v3, v4
    v6 = fcmp olt v3, v4
    v7 = select v6, v2, v4
    v8 = build v2, v3
    br_if v6, block1(v2, v2), block1(v5, v3)
block1(v9: f32, v10: f32):
    v11 = fadd v9, v7
    output %o, v11
    return
";
    let m = crate::parse("t", text).unwrap();
    let f = m.main();
    let relaxed = Relaxed::new(f);
    let all: Vec<bool> = (0..12).map(|n| relaxed.contains(crate::Value::from_u32(n))).collect();
    // v1 and v3 are not, nor what holds them (v8, v10); a sum is only where it says so (v11).
    let want = [0, 2, 4, 5, 7, 9];
    let found: Vec<usize> = all.iter().enumerate().filter(|(_, r)| **r).map(|(n, _)| n).collect();
    let text = crate::print(&m);
    assert_eq!(found.len(), want.len(), "{found:?}\n{text}");
    // Values are numbered in the order in which they are made: parameters come with their blocks.
    assert!(text.contains("v0 = relaxed input"), "{text}");
}

#[test]
fn branches_bound_what_they_compare() {
    const LEAST: i64 = i32::MIN as i64;
    const MOST: i64 = i32::MAX as i64;
    let rows = [
        ("slt", (LEAST, 6), (7, MOST)),
        ("sle", (LEAST, 7), (8, MOST)),
        ("sgt", (8, MOST), (LEAST, 7)),
        ("sge", (7, MOST), (LEAST, 6)),
        ("ult", (0, 6), (LEAST, MOST)),
        ("ule", (0, 7), (LEAST, MOST)),
        ("eq", (7, 7), (LEAST, MOST)),
    ];
    for (cc, yes, no) in rows {
        let text = format!(
            "shader vertex \"t\"
input %a : i32 @location(0)
output %o : i32 @location(0)
block0:
    v0 = input.i32 %a
    v1 = iconst.i32 7
    v2 = icmp {cc} v0, v1
    br_if v2, block1, block2
block1:
    output %o, v0
    return
block2:
    output %o, v1
    return
"
        );
        let m = crate::parse("t", &text).unwrap();
        let ranges = Ranges::new(&m, m.main());
        let at = |n: usize| ranges.range_at(crate::Value::from_u32(0), m.main().layout[n]);
        assert_eq!((at(1), at(2)), (Range::new(yes.0, yes.1), Range::new(no.0, no.1)), "{cc}");
    }
}

/// `i < 5 && more`: the second condition is asked only where the first one holds, and a parameter hands on what came out.
#[test]
fn conditions_that_are_handed_on_bound_what_they_compare() {
    let text = |join: &str| {
        format!(
            "shader vertex \"t\"
input %p : f32 @location(0)
output %o : i32 @location(0)
block0:
    v0 = input.f32 %p
    v1 = iconst.i32 0
    v2 = fconst.f32 0.0
    v10 = fcmp olt v0, v2
    jump block1(v1)
block1(v3: i32):
    v4 = iconst.i32 5
    v5 = icmp slt v3, v4
    br_if v5, block2, block3({join})
block2:
    v6 = fcmp ogt v0, v2
    jump block3(v6)
block3(v7: i1):
    br_if v7, block4, block5
block4:
    v8 = iconst.i32 1
    v9 = iadd v3, v8
    jump block1(v9)
block5:
    output %o, v3
    return
"
        )
    };
    let range = |join: &str| {
        let m = crate::parse("t", &text(join)).unwrap();
        let of = |n: usize| m.main().blocks[m.main().layout[n]].params[0];
        (Ranges::new(&m, m.main()).range_at(of(1), m.main().layout[4]), m.main().layout.len())
    };
    assert_eq!(range("v5").0, Range::new(0, 4));
    // Another condition says nothing of the counter.
    assert_eq!(range("v10").0.hi, i64::from(i32::MAX));
    assert!(range("v10").0.lo <= 0);
}
