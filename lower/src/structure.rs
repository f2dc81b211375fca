//! Structured control flow: any reducible CFG becomes ifs with one merge and loops with one latch and one exit.
//!
//! Stack machines (R700, PICA200) can only express that, and divergence stacks (Tesla) like it. [`structurise`] edits the
//! IR until it has that shape and returns the tree. Where several merges compete, the edges first go to a dispatch block
//! that carries a truth value per choice; values that no longer dominate their uses travel as block parameters.
//!
//! ```text
//!   a ? (b ? T : E) : E; T and E meet in J        a ? (b ? T, f=0 : f=1) : f=1; D(f): f ? E : -; J
//! ```

use crate::error::CompileError;
use cranelift_entity::{EntitySet, SecondaryMap};
use retroshade_ir::analysis::cfg::Edge;
use retroshade_ir::analysis::{Cfg, DomTree, LoopId, Loops, split_critical_edges};
use retroshade_ir::passes::{
    self,
    simplify_cfg::{redundant_params, undef_at_start},
};
use retroshade_ir::types::I1;
use retroshade_ir::{Block, BlockCall, Builder, Function, Imm, Inst, InstData, Opcode, Span, Type, Value};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A piece of structured code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A block's instructions, its terminator not included.
    Block(Block),
    /// Two arms that meet behind the node (or leave). The condition is the operand of `from`'s `br_if`.
    If {
        /// The block that branches; its instructions stand before the node.
        from: Block,
        /// The condition.
        cond: Value,
        /// Executed where the condition holds.
        then: Vec<Node>,
        /// Executed where it does not.
        other: Vec<Node>,
    },
    /// Repeats its body until a break.
    Loop {
        /// The loop's first block, whose parameters are the loop-carried values.
        header: Block,
        /// The body; at its end control returns to the header.
        body: Vec<Node>,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the innermost loop's next round (only where asked for).
    Continue,
}

/// What a machine can express besides ifs and breaks.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructureOptions {
    /// `Continue` may stand anywhere in a loop; otherwise only the body's end leads back. Whoever lowers it makes the copies
    /// that the latch's jump asks for, and nothing else of the latch.
    pub allow_continue: bool,
}

/// A function in structured form.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// The tree.
    pub nodes: Vec<Node>,
}

impl Structure {
    /// The blocks in the order of the tree.
    pub fn blocks(&self) -> Vec<Block> {
        fn walk(nodes: &[Node], out: &mut Vec<Block>) {
            for n in nodes {
                match n {
                    Node::Block(b) => out.push(*b),
                    Node::If { then, other, .. } => {
                        walk(then, out);
                        walk(other, out);
                    }
                    Node::Loop { body, .. } => walk(body, out),
                    Node::Break | Node::Continue => {}
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.nodes, &mut out);
        out
    }
    /// The tree as text, for dumps.
    pub fn text(&self) -> String {
        fn walk(nodes: &[Node], depth: usize, out: &mut String) {
            for n in nodes {
                let pad = "  ".repeat(depth);
                match n {
                    Node::Block(b) => out.push_str(&format!("{pad}{b}\n")),
                    Node::If { cond, then, other, .. } => {
                        out.push_str(&format!("{pad}if {cond}\n"));
                        walk(then, depth + 1, out);
                        if !other.is_empty() {
                            out.push_str(&format!("{pad}else\n"));
                            walk(other, depth + 1, out);
                        }
                    }
                    Node::Loop { body, .. } => {
                        out.push_str(&format!("{pad}loop\n"));
                        walk(body, depth + 1, out);
                    }
                    Node::Break => out.push_str(&format!("{pad}break\n")),
                    Node::Continue => out.push_str(&format!("{pad}continue\n")),
                }
            }
        }
        let mut out = String::new();
        walk(&self.nodes, 0, &mut out);
        out
    }
}

/// The deepest nesting that is built; deeper programs exceed every machine's stack.
const MAX_DEPTH: usize = 1000;
/// Rewrites before giving up, far beyond any real program.
const MAX_REWRITES: usize = 20_000;

/// Brings a function into structured form. Switches become chains of branches, all returns one, `kill` a `discard`.
/// Afterwards no edge is critical, only blocks with several entrances have parameters, and the layout follows the tree.
pub fn structurise(func: &mut Function, options: StructureOptions) -> Result<Structure, CompileError> {
    structurise_with(func, options, &|_, _| None)
}

/// As [`structurise`]; `meets` names a branch whose arms must come to their merge before a break within them leaves the loop. Such a
/// break becomes a truth value that is asked for behind the merge.
pub fn structurise_with(
    func: &mut Function,
    options: StructureOptions,
    meets: &dyn Fn(&Function, &[Node]) -> Option<Block>,
) -> Result<Structure, CompileError> {
    passes::switches::lower(func);
    lower_kills(func);
    let_out(func);
    single_return(func);
    drop_unreachable(func);
    while redundant_params(func) {}
    for _ in 0..MAX_REWRITES {
        drop_unreachable(func);
        let cfg = Cfg::new(func);
        let dom = DomTree::new(func, &cfg);
        let loops = Loops::new(&cfg, &dom);
        if !loops.is_reducible() {
            return Err(CompileError::unsupported("S0001", Span::NONE, "the control flow is irreducible"));
        }
        if fix_loops(func, &cfg, &loops) {
            repair_ssa(func);
            continue;
        }
        let walk = Walk { func, cfg: &cfg, dom: &dom, loops: &loops, options, tangles: RefCell::default() };
        let Some(entry) = func.entry() else { return Ok(Structure::default()) };
        let nodes = walk.region(entry, None, &[], 0);
        let tangles = walk.tangles.into_inner();
        match nodes {
            _ if !tangles.is_empty() => {
                tangles.iter().for_each(|t| dispatch(func, &t.edges, &t.targets));
                repair_ssa(func);
            }
            Ok(mut nodes) => {
                if let Some(from) = meets(func, &nodes) {
                    let (edges, targets) = ways_out(func, &cfg, &loops, &nodes, from)?;
                    dispatch(func, &edges, &targets);
                    repair_ssa(func);
                    continue;
                }
                let mut before: EntitySet<Block> = EntitySet::new();
                func.layout.iter().for_each(|b| {
                    before.insert(*b);
                });
                split_critical_edges(func);
                enter_split_edges(func, &before, &mut nodes);
                let s = Structure { nodes };
                let order = s.blocks();
                debug_assert_eq!(order.len(), func.layout.len(), "every block stands in the tree once");
                func.layout = order;
                return Ok(s);
            }
            Err(e) => return Err(e),
        }
    }
    Err(CompileError::limit(
        "S0002",
        Span::NONE,
        "the control flow is too tangled to structure",
        MAX_REWRITES as u64 + 1,
        MAX_REWRITES as u64,
    ))
}

/// The edges that leave a branch and its arms, and where they go: out of the loop, or to the merge.
fn ways_out(func: &Function, cfg: &Cfg, loops: &Loops, nodes: &[Node], from: Block) -> Result<(Vec<Edge>, [Block; 2]), CompileError> {
    fn arms(nodes: &[Node], wanted: Block) -> Option<Vec<Block>> {
        nodes.iter().find_map(|n| match n {
            Node::If { from, then, other, .. } if *from == wanted => {
                Some(Structure { nodes: then.iter().chain(other).cloned().collect() }.blocks())
            }
            Node::If { then, other, .. } => arms(then, wanted).or_else(|| arms(other, wanted)),
            Node::Loop { body, .. } => arms(body, wanted),
            _ => None,
        })
    }
    let inside: BTreeSet<Block> = arms(nodes, from).unwrap_or_default().into_iter().chain([from]).collect();
    let mut edges: Vec<Edge> = Vec::new();
    let (mut exit, mut merge) = (None, None);
    let around = loops.of(from);
    for b in func.layout.iter().filter(|b| !inside.contains(*b)) {
        for e in cfg.preds(*b).iter().filter(|e| inside.contains(&e.from)) {
            edges.push(*e);
            *(if around.is_some_and(|l| loops.contains(l, *b)) { &mut merge } else { &mut exit }) = Some(*b);
        }
    }
    match (exit, merge) {
        (Some(exit), Some(merge)) => Ok((edges, [exit, merge])),
        _ => Err(CompileError::Internal(format!("the branch at the end of {from} has no break and merge of its own"))),
    }
}

/// Whether control never comes to the end of a list.
fn leaves(nodes: &[Node]) -> bool {
    matches!(nodes.last(), Some(Node::Break | Node::Continue))
}

/// Puts the blocks that split an edge at the start of the arm that the edge leads to, or behind the node where the other
/// arm leaves.
fn enter_split_edges(func: &Function, before: &EntitySet<Block>, nodes: &mut Vec<Node>) {
    let mut at = 0;
    while at < nodes.len() {
        let mut behind = None;
        match &mut nodes[at] {
            Node::If { from, then, other, .. } => {
                let left = [leaves(other), leaves(then)];
                for (k, arm) in [then, other].into_iter().enumerate() {
                    enter_split_edges(func, before, arm);
                    if let Some(t) = func.successors(*from).get(k).filter(|t| !before.contains(t.block)) {
                        if left[k] && arm.is_empty() { behind = Some(t.block) } else { arm.insert(0, Node::Block(t.block)) }
                    }
                }
            }
            Node::Loop { body, .. } => enter_split_edges(func, before, body),
            Node::Block(_) | Node::Break | Node::Continue => {}
        }
        at += 1;
        if let Some(b) = behind {
            nodes.insert(at, Node::Block(b));
            at += 1;
        }
    }
}

/// Edges that compete for several merges.
struct Tangle {
    edges: Vec<Edge>,
    /// In reverse post-order, but for what follows the whole.
    targets: Vec<Block>,
}

struct Walk<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dom: &'a DomTree,
    loops: &'a Loops,
    options: StructureOptions,
    /// What has to be sorted out first. Those of one walk have no edge in common.
    tangles: RefCell<Vec<Tangle>>,
}

/// An enclosing loop: where its breaks and its continues go.
#[derive(Clone, Copy)]
struct Around {
    header: Block,
    latch: Block,
    exit: Option<Block>,
}

impl Walk<'_> {
    /// Whether lanes may go to the end of a loop from anywhere: then there is nothing in the latch that they would miss but the
    /// arguments that it hands on.
    fn continues(&self, a: &Around) -> bool {
        self.options.allow_continue && self.func.blocks[a.latch].insts.len() == 1
    }

    /// The code from `at` up to `follow`, exclusive.
    fn region(&self, at: Block, follow: Option<Block>, around: &[Around], depth: usize) -> Result<Vec<Node>, CompileError> {
        if depth > MAX_DEPTH {
            return Err(CompileError::limit("S0003", Span::NONE, "control flow nests too deeply", depth as u64, MAX_DEPTH as u64));
        }
        let mut out = Vec::new();
        let mut at = at;
        loop {
            if Some(at) == follow {
                return Ok(out);
            }
            if let Some(a) = around.last() {
                if Some(at) == a.exit {
                    out.push(Node::Break);
                    return Ok(out);
                }
                if at == a.latch && self.continues(a) {
                    out.push(Node::Continue);
                    return Ok(out);
                }
            }
            let inside = around.last().is_some_and(|a| a.header == at);
            if let Some(l) = self.loops.of(at).filter(|l| self.loops.data(*l).header == at && !inside) {
                let latch = self.loops.data(l).latches[0].from;
                let exit = self.loops.exits(self.func, l).first().map(|e| self.func.successors(e.from)[e.target as usize].block);
                let mut inner = around.to_vec();
                inner.push(Around { header: at, latch, exit });
                let mut body = self.region(at, Some(latch), &inner, depth + 1)?;
                body.push(Node::Block(latch));
                out.push(Node::Loop { header: at, body });
                match exit {
                    Some(e) => at = e,
                    None => return Ok(out),
                }
                continue;
            }
            out.push(Node::Block(at));
            let Some(term) = self.func.terminator(at) else { return Ok(out) };
            let data = &self.func.insts[term];
            match data.op {
                Opcode::Jump => at = data.targets[0].block,
                Opcode::BrIf => {
                    let (a, b) = (data.targets[0].block, data.targets[1].block);
                    let merge = match self.merge_of(at, follow, around) {
                        Ok(merge) => merge,
                        Err(tangle) => {
                            // The arms have to wait; what comes behind all merges may be sorted out in the same go.
                            let behind = tangle.targets.iter().copied().rfind(|t| Some(*t) != follow);
                            self.tangles.borrow_mut().push(tangle);
                            match behind {
                                Some(b) => at = b,
                                None => return Ok(out),
                            }
                            continue;
                        }
                    };
                    let mut then = self.region(a, merge, around, depth + 1)?;
                    let mut other = self.region(b, merge, around, depth + 1)?;
                    // Where one arm leaves, what the other does stands behind the node: exits are no deeper than they must be.
                    let rest = match (leaves(&then), leaves(&other)) {
                        (false, true) => std::mem::take(&mut then),
                        (true, false) => std::mem::take(&mut other),
                        _ => Vec::new(),
                    };
                    out.push(Node::If { from: at, cond: data.args[0], then, other });
                    out.extend(rest);
                    match merge {
                        Some(m) => at = m,
                        None => return Ok(out),
                    }
                }
                _ => return Ok(out),
            }
        }
    }

    /// Where the arms of the branch at the end of `x` meet; an error names the edges that have to be sorted out first.
    fn merge_of(&self, x: Block, follow: Option<Block>, around: &[Around]) -> Result<Option<Block>, Tangle> {
        let special =
            |b: Block| around.last().is_some_and(|a| Some(b) == a.exit || (b == a.latch && self.continues(a) && follow != Some(b)));
        let forward_preds = |b: Block| self.cfg.preds(b).iter().filter(|e| !self.dom.dominates(b, e.from)).count();
        let mut merges: Vec<Block> = self
            .dom
            .children(x)
            .filter(|c| Some(*c) != follow && !special(*c) && forward_preds(*c) > 1 && self.cfg.is_reachable(*c))
            .collect();
        merges.sort_by_key(|b| self.cfg.rpo_index(*b));
        if merges.is_empty() {
            return Ok(follow);
        }
        // Edges that leave the arms: from blocks under x, but not under a merge, to a merge or to what follows.
        let mut edges = Vec::new();
        let mut reached: Vec<Block> = Vec::new();
        // An edge to the loop's end from within an arm is a continue.
        let waits = |b: &Block| around.last().is_some_and(|a| a.latch == *b && self.continues(a));
        for target in merges.iter().copied().chain(follow.filter(|f| !waits(f))) {
            for e in self.cfg.preds(target) {
                let in_arms = self.dom.dominates(x, e.from) && !merges.iter().any(|m| self.dom.dominates(*m, e.from));
                if in_arms {
                    edges.push(*e);
                    if !reached.contains(&target) {
                        reached.push(target);
                    }
                }
            }
        }
        match reached[..] {
            [one] => Ok(Some(one)),
            _ => Err(Tangle { edges, targets: reached }),
        }
    }
}

/// Gives loops a latch of their own, or else a single exit; whether something was changed.
fn fix_loops(func: &mut Function, cfg: &Cfg, loops: &Loops) -> bool {
    let mut changed = false;
    for (_, l) in loops.iter() {
        let lone_jump = |f: &Function, e: &Edge| f.successors(e.from).len() == 1 && e.from != l.header;
        if l.latches.len() != 1 || !lone_jump(func, &l.latches[0]) {
            merge_latches(func, l.header, &l.latches);
            changed = true;
        }
    }
    if changed {
        return true;
    }
    // An edge may leave several loops at once: of loops in one another only the outermost that needs it is changed in one go.
    let mut done: EntitySet<LoopId> = EntitySet::new();
    for (id, l) in loops.iter() {
        if l.parent.is_some_and(|p| done.contains(p)) {
            done.insert(id);
            continue;
        }
        let exits = loops.exits(func, id);
        let mut targets: Vec<Block> = Vec::new();
        for e in &exits {
            let t = func.successors(e.from)[e.target as usize].block;
            if !targets.contains(&t) {
                targets.push(t);
            }
        }
        if targets.len() > 1 {
            targets.sort_by_key(|b| cfg.rpo_index(*b));
            dispatch(func, &exits, &targets);
            done.insert(id);
            changed = true;
        }
    }
    changed
}

/// Sends all back edges of a loop through one new block.
fn merge_latches(func: &mut Function, header: Block, latches: &[Edge]) -> Block {
    let latch = func.add_block();
    let types: Vec<Type> = func.blocks[header].params.iter().map(|v| func.ty(*v)).collect();
    let params: SmallVec<[Value; 4]> = types.iter().map(|t| func.add_param(latch, *t)).collect();
    for e in latches {
        retarget(func, *e, latch, None);
    }
    append_jump(func, latch, header, params);
    latch
}

/// Points an edge at another block, with other arguments where given.
fn retarget(func: &mut Function, e: Edge, to: Block, args: Option<SmallVec<[Value; 4]>>) {
    if let Some(t) = func.terminator(e.from) {
        let call = &mut func.insts[t].targets[e.target as usize];
        call.block = to;
        if let Some(a) = args {
            call.args = a;
        }
    }
}

fn append_jump(func: &mut Function, from: Block, to: Block, args: SmallVec<[Value; 4]>) {
    let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
    jump.targets.push(BlockCall { block: to, args });
    let i = func.make_inst(jump, &[], Span::NONE);
    func.blocks[from].insts.push(i);
}

/// Sends `edges` to a new block that takes a truth value per target but the last, and branches on them in turn.
fn dispatch(func: &mut Function, edges: &[Edge], targets: &[Block]) {
    let d = func.add_block();
    let flags: Vec<Value> = targets[1..].iter().map(|_| func.add_param(d, I1)).collect();
    let mut carried: Vec<Vec<Value>> = Vec::new();
    for t in targets {
        let types: Vec<Type> = func.blocks[*t].params.iter().map(|v| func.ty(*v)).collect();
        carried.push(types.into_iter().map(|ty| func.add_param(d, ty)).collect());
    }
    for e in edges {
        let Some(term) = func.terminator(e.from) else { continue };
        let call = func.insts[term].targets[e.target as usize].clone();
        let which = targets.iter().position(|t| *t == call.block).unwrap_or(0);
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        for k in 0..targets.len() - 1 {
            args.push(before_terminator(func, e.from, Opcode::Const, I1, Imm::Const([(k == which) as u32, 0, 0, 0])));
        }
        for (k, params) in carried.iter().enumerate() {
            if k == which {
                args.extend(call.args.iter().copied());
            } else {
                for p in params {
                    let ty = func.ty(*p);
                    args.push(before_terminator(func, e.from, Opcode::Undef, ty, Imm::None));
                }
            }
        }
        retarget(func, *e, d, Some(args));
    }
    let mut at = d;
    for k in 0..targets.len() - 1 {
        let last = k + 2 == targets.len();
        let next = if last { targets[k + 1] } else { func.add_block() };
        let mut br = InstData::new(Opcode::BrIf, &[flags[k]], Imm::None);
        br.targets.push(BlockCall { block: targets[k], args: carried[k].iter().copied().collect() });
        let rest = if last { carried[k + 1].iter().copied().collect() } else { SmallVec::new() };
        br.targets.push(BlockCall { block: next, args: rest });
        let i = func.make_inst(br, &[], Span::NONE);
        func.blocks[at].insts.push(i);
        at = next;
    }
}

fn before_terminator(func: &mut Function, b: Block, op: Opcode, ty: Type, imm: Imm) -> Value {
    let i = func.make_inst(InstData::new(op, &[], imm), &[ty], Span::NONE);
    let at = func.blocks[b].insts.len().saturating_sub(1);
    func.blocks[b].insts.insert(at, i);
    func.insts[i].results[0]
}

/// Removes blocks that the entry does not reach from the layout.
fn drop_unreachable(func: &mut Function) {
    let cfg = Cfg::new(func);
    func.layout.retain(|b| cfg.is_reachable(*b));
}

/// Replaces `kill` by `discard` and a return, and a branch around a lone `kill` by a conditional `discard`.
fn lower_kills(func: &mut Function) {
    let kills = |func: &Function, b: Block| func.terminator(b).is_some_and(|t| func.insts[t].op == Opcode::Kill);
    if !func.layout.iter().any(|b| kills(func, *b)) {
        return;
    }
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    let mut gone: EntitySet<Block> = EntitySet::new();
    for b in func.layout.clone() {
        let Some(t) = func.terminator(b).filter(|_| kills(func, b)) else { continue };
        let span = func.spans[t];
        let lone = func.blocks[b].insts.len() == 1 && func.blocks[b].params.is_empty();
        if let (true, Some(e)) = (lone, cfg.single_pred(b))
            && let Some(p) = func.terminator(e.from)
            && func.insts[p].op == Opcode::BrIf
            // In a loop the kill may be what ends it, and one to come might never end for who goes on as a helper.
            && loops.of(e.from).is_none()
            && !loops.any_ahead(func, e.from, |_| true)
        {
            let mut cond = func.insts[p].args[0];
            if e.target == 1 {
                cond = before_terminator(func, e.from, Opcode::Undef, I1, Imm::None);
                if let Some(i) = func.def_inst(cond) {
                    let c = func.insts[p].args[0];
                    let d = &mut func.insts[i];
                    (d.op, d.args) = (Opcode::Inot, SmallVec::from_slice(&[c]));
                    func.spans[i] = span;
                }
            }
            let keep = func.insts[p].targets[1 - e.target as usize].clone();
            let i = func.make_inst(InstData::new(Opcode::Discard, &[cond], Imm::None), &[], span);
            let at = func.blocks[e.from].insts.len() - 1;
            func.blocks[e.from].insts.insert(at, i);
            let d = &mut func.insts[p];
            d.op = Opcode::Jump;
            d.args.clear();
            d.targets = vec![keep];
            gone.insert(b);
            continue;
        }
        let yes = before_terminator(func, b, Opcode::Const, I1, Imm::Const([1, 0, 0, 0]));
        let i = func.make_inst(InstData::new(Opcode::Discard, &[yes], Imm::None), &[], span);
        let at = func.blocks[b].insts.len() - 1;
        func.blocks[b].insts.insert(at, i);
        func.insts[t].op = Opcode::Return;
    }
    func.layout.retain(|b| !gone.contains(*b));
}

/// Gives loops that nothing leaves a way to the end, which is never taken, where several ways lead into what never ends: so every arm meets
/// the others at the end, and none that ends before runs into what does not.
fn let_out(func: &mut Function) {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    let endless: Vec<LoopId> = loops.iter().map(|l| l.0).filter(|l| loops.exits(func, *l).is_empty()).collect();
    if endless.is_empty() {
        return;
    }
    // From where the end can be reached.
    let mut ends: EntitySet<Block> = EntitySet::new();
    let mut work: Vec<Block> = cfg.rpo().iter().copied().filter(|b| func.successors(*b).is_empty()).collect();
    while let Some(b) = work.pop() {
        if ends.insert(b) {
            work.extend(cfg.preds(b).iter().map(|e| e.from));
        }
    }
    let several = |b: Block| cfg.preds(b).iter().filter(|e| !dom.dominates(b, e.from)).count() > 1;
    let within = |b: Block| endless.iter().any(|l| loops.contains(*l, b) && loops.data(*l).header != b);
    if ends.is_empty() || !cfg.rpo().iter().any(|b| !ends.contains(*b) && several(*b) && !within(*b)) {
        return;
    }
    for l in endless {
        let data = loops.data(l);
        let latch = merge_latches(func, data.header, &data.latches);
        let end = func.add_block();
        let results = func.results.clone();
        let mut b = Builder::new(func, end);
        let anything: Vec<Value> = results.iter().map(|t| b.typed(Opcode::Undef, *t, &[], Imm::None)).collect();
        b.branch(Opcode::Return, &anything, Imm::None, &[]);
        let Some(jump) = func.blocks[latch].insts.pop() else { continue };
        let again = func.insts[jump].targets[0].clone();
        let mut b = Builder::new(func, latch);
        let always = b.splat_const(I1, 1);
        b.br_if(always, (again.block, &again.args), (end, &[]));
    }
}

/// Joins all returns in one block.
fn single_return(func: &mut Function) {
    let returns: Vec<(Block, Inst)> =
        func.layout.iter().filter_map(|b| func.terminator(*b).filter(|t| func.insts[*t].op == Opcode::Return).map(|t| (*b, t))).collect();
    if returns.len() < 2 {
        return;
    }
    let exit = func.add_block();
    let types: Vec<Type> = func.results.clone();
    let params: SmallVec<[Value; 4]> = types.iter().map(|t| func.add_param(exit, *t)).collect();
    for (_, t) in returns {
        // A killed invocation's results are dropped anyway.
        let d = &mut func.insts[t];
        let args: SmallVec<[Value; 4]> = std::mem::take(&mut d.args);
        d.op = Opcode::Jump;
        d.targets.push(BlockCall { block: exit, args });
    }
    let i = func.make_inst(InstData::new(Opcode::Return, &params, Imm::None), &[], Span::NONE);
    func.blocks[exit].insts.push(i);
}

/// Restores dominance after edges moved: a value whose definition no longer dominates a use reaches it by block
/// parameters, undefined on the paths that do not come from the definition (which never use it).
pub fn repair_ssa(func: &mut Function) {
    drop_unreachable(func);
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let mut home: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
    for b in func.layout.iter() {
        func.blocks[*b].params.iter().for_each(|v| home[*v] = Some(*b));
        for i in &func.blocks[*b].insts {
            func.insts[*i].results.iter().for_each(|v| home[*v] = Some(*b));
        }
    }
    // Uses that their definition does not dominate, by value, in order of appearance.
    let mut broken: indexmap::IndexMap<Value, Vec<Block>> = indexmap::IndexMap::new();
    for b in func.layout.iter() {
        for i in &func.blocks[*b].insts {
            for v in func.reads(*i) {
                if let Some(h) = home[v]
                    && h != *b
                    && !dom.dominates(h, *b)
                {
                    let uses = broken.entry(v).or_default();
                    if uses.last() != Some(b) {
                        uses.push(*b);
                    }
                }
            }
        }
    }
    for (v, uses) in broken {
        carry(func, &cfg, v, home[v], &uses);
    }
    while redundant_params(func) {}
}

/// Brings `v` from its home block to `uses` by parameters.
fn carry(func: &mut Function, cfg: &Cfg, v: Value, home: Option<Block>, uses: &[Block]) {
    let Some(home) = home else { return };
    let ty = func.ty(v);
    // Blocks at whose start the value is needed.
    let mut needed: EntitySet<Block> = EntitySet::new();
    let mut order: Vec<Block> = Vec::new();
    let mut work: Vec<Block> = uses.to_vec();
    while let Some(b) = work.pop() {
        if b == home || !needed.insert(b) {
            continue;
        }
        order.push(b);
        work.extend(cfg.preds(b).iter().map(|e| e.from));
    }
    order.sort_by_key(|b| cfg.rpo_index(*b));
    let mut start: SecondaryMap<Block, Option<Value>> = SecondaryMap::new();
    for b in &order {
        start[*b] = match cfg.preds(*b) {
            [] => Some(undef_at_start(func, *b, ty)),
            [one] if one.from == home => Some(v),
            [one] => start[one.from],
            _ => Some(func.add_param(*b, ty)),
        };
    }
    for b in &order {
        if cfg.preds(*b).len() > 1 {
            for e in cfg.preds(*b) {
                let value = if e.from == home { Some(v) } else { start[e.from] };
                if let (Some(t), Some(value)) = (func.terminator(e.from), value) {
                    func.insts[t].targets[e.target as usize].args.push(value);
                }
            }
        }
    }
    for b in uses {
        let Some(with) = start[*b] else { continue };
        for i in func.blocks[*b].insts.clone() {
            let d = &mut func.insts[i];
            d.args.iter_mut().chain(d.targets.iter_mut().flat_map(|t| t.args.iter_mut())).filter(|a| **a == v).for_each(|a| *a = with);
        }
    }
}
