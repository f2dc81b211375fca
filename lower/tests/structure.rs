//! Structured control flow computes what the original graph computes: random reducible graphs, traced before and after.
#![allow(clippy::unwrap_used)]

use retroshade_ir::analysis::{Cfg, DomTree, Loops};
use retroshade_ir::types::I32;
use retroshade_ir::{Block, Builder, Function, Imm, IntCC, MemRef, Opcode, Output, Value, ValueDef};
use retroshade_lower::structure::{Node, Structure, StructureOptions, structurise};
use std::collections::HashMap;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn out() -> MemRef {
    MemRef::Output(Output::from_u32(0))
}

/// A random graph whose blocks write a trace and branch on computed values; some values are used far from home.
fn random(rng: &mut Rng) -> Option<Function> {
    let n = 3 + rng.below(9) as usize;
    let mut f = Function::new("main");
    let blocks: Vec<Block> = (0..n).map(|_| f.add_block()).collect();
    for b in &blocks[1..] {
        f.add_param(*b, I32);
    }
    let targets: Vec<[usize; 2]> = (0..n)
        .map(|b| {
            let mut pick =
                || if rng.below(4) == 0 { 1 + rng.below(n as u64 - 1) as usize } else { (b + 1 + rng.below(3) as usize).min(n - 1) };
            [pick(), pick()]
        })
        .collect();
    let ends: Vec<bool> = (0..n).map(|b| b == n - 1 || rng.below(9) == 0).collect();
    // A skeleton first, to know the dominators.
    for (k, b) in blocks.iter().enumerate() {
        let mut bl = Builder::new(&mut f, *b);
        let x = match bl.func.blocks[*b].params.first() {
            Some(p) => *p,
            None => bl.iconst(I32, 7),
        };
        let (m, a) = (bl.iconst(I32, 0x9e37_79b1), bl.iconst(I32, k as u32 * 77 + 1));
        let y = bl.ins(Opcode::Imul, &[x, m]);
        let y = bl.ins(Opcode::Iadd, &[y, a]);
        bl.store(out(), 0, y, None);
        if ends[k] {
            if k != n - 1 && k % 2 == 1 {
                bl.branch(Opcode::Kill, &[], Imm::None, &[])
            } else {
                bl.ret(&[])
            };
            continue;
        }
        let zero = bl.iconst(I32, 0);
        let c = bl.icmp(IntCC::Slt, y, zero);
        let [s, t] = targets[k];
        if s == t {
            bl.jump(blocks[s], &[y])
        } else {
            bl.br_if(c, (blocks[s], &[y]), (blocks[t], &[x]))
        };
    }
    let cfg = Cfg::new(&f);
    let dom = DomTree::new(&f, &cfg);
    if !Loops::new(&cfg, &dom).is_reducible() {
        return None;
    }
    f.layout.retain(|b| cfg.is_reachable(*b));
    // Uses of values from dominating blocks.
    for b in f.layout.clone() {
        for d in f.layout.clone() {
            if d != b && dom.dominates(d, b) && rng.below(2) == 0 {
                let v = f.insts[f.blocks[d].insts[f.blocks[d].insts.len() - 2]].results.first().copied();
                if let Some(v) = v.filter(|v| f.ty(*v) == I32) {
                    let at = f.blocks[b].insts.len() - 1;
                    let store = retroshade_ir::InstData::new(Opcode::Output, &[v], Imm::Mem { var: out(), offset: 0 });
                    let i = f.make_inst(store, &[], Default::default());
                    f.blocks[b].insts.insert(at, i);
                }
            }
        }
    }
    Some(f)
}

fn step(f: &Function, b: Block, vals: &mut HashMap<Value, u32>, trace: &mut Vec<u32>) {
    for i in &f.blocks[b].insts {
        let d = &f.insts[*i];
        let a: Vec<u32> = d.args.iter().map(|v| vals[v]).collect();
        let r = match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(c)) => c[0],
            (Opcode::Undef, _) => 0xdead_beef,
            (Opcode::Imul, _) => a[0].wrapping_mul(a[1]),
            (Opcode::Iadd, _) => a[0].wrapping_add(a[1]),
            (Opcode::Inot, _) => a[0] ^ 1,
            (Opcode::Icmp, Imm::IntCC(cc)) => cc.eval(a[0], a[1]) as u32,
            (Opcode::Output, _) => {
                trace.push(a[0]);
                continue;
            }
            (Opcode::Discard, _) => {
                if a[0] != 0 {
                    trace.push(0xd15c);
                }
                continue;
            }
            _ => continue,
        };
        vals.insert(d.results[0], r);
    }
}

fn follow(f: &Function, from: Block, which: usize, vals: &mut HashMap<Value, u32>) -> Block {
    let t = &f.successors(from)[which];
    let args: Vec<u32> = t.args.iter().map(|v| vals[v]).collect();
    for (p, a) in f.blocks[t.block].params.iter().zip(args) {
        vals.insert(*p, a);
    }
    t.block
}

const LIMIT: usize = 300;

fn trace_graph(f: &Function) -> Vec<u32> {
    let (mut vals, mut trace) = (HashMap::new(), Vec::new());
    let mut at = f.entry().unwrap();
    while trace.len() < LIMIT {
        step(f, at, &mut vals, &mut trace);
        let t = f.terminator(at).unwrap();
        let which = match f.insts[t].op {
            Opcode::BrIf => 1 - vals[&f.insts[t].args[0]] as usize,
            Opcode::Jump => 0,
            Opcode::Kill => {
                trace.push(0xd15c);
                return trace;
            }
            _ => return trace,
        };
        at = follow(f, at, which, &mut vals);
    }
    trace.truncate(LIMIT);
    trace
}

enum Flow {
    On,
    Break,
    Continue,
    Stop,
}

fn run_nodes(f: &Function, nodes: &[Node], vals: &mut HashMap<Value, u32>, trace: &mut Vec<u32>) -> Flow {
    for n in nodes {
        if trace.len() >= LIMIT {
            return Flow::Stop;
        }
        match n {
            Node::Block(b) => {
                step(f, *b, vals, trace);
                if f.insts[f.terminator(*b).unwrap()].op == Opcode::Jump {
                    follow(f, *b, 0, vals);
                }
            }
            Node::If { from, cond, then, other } => {
                let c = vals[cond] != 0;
                follow(f, *from, 1 - c as usize, vals);
                match run_nodes(f, if c { then } else { other }, vals, trace) {
                    Flow::On => {}
                    leave => return leave,
                }
            }
            Node::Loop { body, .. } => loop {
                match run_nodes(f, body, vals, trace) {
                    Flow::On => {}
                    // What the latch hands on is all that it does.
                    Flow::Continue => {
                        if let Some(Node::Block(latch)) = body.last() {
                            assert_eq!(f.blocks[*latch].insts.len(), 1);
                            follow(f, *latch, 0, vals);
                        }
                    }
                    Flow::Break => break,
                    Flow::Stop => return Flow::Stop,
                }
            },
            Node::Break => return Flow::Break,
            Node::Continue => return Flow::Continue,
        }
    }
    Flow::On
}

fn check_ssa(f: &Function) {
    let cfg = Cfg::new(f);
    let dom = DomTree::new(f, &cfg);
    for (b, i) in f.ordered() {
        for v in f.reads(i) {
            let home = match f.values[v].1 {
                ValueDef::Param(h, _) => h,
                ValueDef::Result(d, _) => f.ordered().find(|(_, x)| *x == d).expect("a used value is defined").0,
                ValueDef::Alias(_) => panic!("{v} is an alias"),
            };
            assert!(dom.dominates(home, b), "{v} of {home} does not dominate {b}");
        }
        for t in &f.insts[i].targets {
            assert_eq!(t.args.len(), f.blocks[t.block].params.len());
        }
    }
}

fn check(f: &Function, options: StructureOptions) -> Structure {
    let want = trace_graph(f);
    let mut g = f.clone();
    let s = structurise(&mut g, options).unwrap();
    check_ssa(&g);
    // A killed invocation goes on as a helper: only what stands before the discard counts.
    let cut = |t: &[u32]| t.iter().position(|x| *x == 0xd15c).map_or(t.len(), |p| p + 1);
    let flat = trace_graph(&g);
    assert_eq!(want[..cut(&want)], flat[..cut(&flat)], "the graph changed");
    let (mut vals, mut trace) = (HashMap::new(), Vec::new());
    run_nodes(&g, &s.nodes, &mut vals, &mut trace);
    trace.truncate(LIMIT);
    assert_eq!(want[..cut(&want)], trace[..cut(&trace)], "the tree differs:\n{}", s.text());
    s
}

#[test]
fn random_graphs_keep_their_meaning() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let (mut done, mut loops, mut ifs) = (0, 0, 0);
    while done < 3000 {
        let Some(f) = random(&mut rng) else { continue };
        let s = check(&f, StructureOptions { allow_continue: done % 2 == 0 });
        done += 1;
        loops += s.text().contains("loop") as u32;
        ifs += s.text().contains("if") as u32;
    }
    assert!(loops > 500 && ifs > 1500, "{loops} with loops, {ifs} with ifs");
}

#[test]
fn a_plain_diamond_needs_no_dispatch() {
    let mut f = Function::new("main");
    let (a, t, e, j) = (f.add_block(), f.add_block(), f.add_block(), f.add_block());
    let p = f.add_param(j, I32);
    let mut b = Builder::new(&mut f, a);
    let (x, y) = (b.iconst(I32, 1), b.iconst(I32, 2));
    let c = b.icmp(IntCC::Slt, x, y);
    b.br_if(c, (t, &[]), (e, &[]));
    b.switch_to(t);
    b.jump(j, &[x]);
    b.switch_to(e);
    b.jump(j, &[y]);
    b.switch_to(j);
    b.store(out(), 0, p, None);
    b.ret(&[]);
    let s = check(&f, StructureOptions::default());
    assert_eq!(s.text(), "block0\nif v2\n  block1\nelse\n  block2\nblock3\n".replace("v2", &c.to_string()));
}
