//! Where lanes have to meet again: a `break` must not leave a loop while a `joinat` waits for its lanes (sheet 7).
//!
//! ```text
//!   loop { if a { if b { x; break }; y }; texture }        b's lanes leave over the join of a, which the rest needs together
//!   loop { if a { if b { x; f = 1 } else { y; f = 0 } } else { f = 0 }; if f { break }; texture }
//! ```
//! Where nothing in the loop looks at neighbours or waits for the workgroup, lanes simply go on apart: such a branch gets no
//! `joinat`, and the loop's `breakaddr` gathers them.

use retroshade_ir::analysis::Uniformity;
use retroshade_ir::{Block, Function, Imm, Module, Opcode, Stage, TexLod};
use retroshade_lower::structure::Node;

/// A branch on which lanes disagree, with a break on a way that may also come to its merge, in a loop that needs its lanes together:
/// one that looks around, or any where there is no `break`.
pub(crate) fn break_over_join(m: &Module, f: &Function, nodes: &[Node], always: bool) -> Option<Block> {
    let mut uniformity = None;
    let mut diverges = |b: Block| uniformity.get_or_insert_with(|| Uniformity::new(m, f)).is_divergent_branch(b);
    search(m, f, nodes, Needs { always, now: false }, &mut diverges)
}

/// Whether lanes must meet: in every loop, and in the one at hand.
#[derive(Clone, Copy)]
struct Needs {
    always: bool,
    now: bool,
}

fn search(m: &Module, f: &Function, nodes: &[Node], together: Needs, diverges: &mut dyn FnMut(Block) -> bool) -> Option<Block> {
    nodes.iter().find_map(|n| match n {
        Node::Loop { body, .. } => search(m, f, body, Needs { now: together.always || looks_around(m, f, body), ..together }, diverges),
        Node::If { from, then, other, .. } => {
            let crosses = |arm: &[Node]| has_break(arm) && comes_to_its_end(arm);
            if together.now && (crosses(then) || crosses(other)) && diverges(*from) {
                return Some(*from);
            }
            search(m, f, then, together, diverges).or_else(|| search(m, f, other, together, diverges))
        }
        _ => None,
    })
}

/// Whether some instruction needs the lanes of a quad, or the threads of a workgroup, in one place.
fn looks_around(m: &Module, f: &Function, nodes: &[Node]) -> bool {
    let needs = |b: Block| {
        f.blocks[b].insts.iter().any(|i| match (f.insts[*i].op, &f.insts[*i].imm) {
            (Opcode::Ddx | Opcode::Ddy | Opcode::Barrier, _) => true,
            (Opcode::Tex, Imm::Tex(t)) => m.stage == Stage::Fragment && matches!(t.lod, TexLod::Implicit | TexLod::Bias),
            _ => false,
        })
    };
    nodes.iter().any(|n| match n {
        Node::Block(b) => needs(*b),
        Node::If { then, other, .. } => looks_around(m, f, then) || looks_around(m, f, other),
        Node::Loop { body, .. } => looks_around(m, f, body),
        Node::Break | Node::Continue => false,
    })
}

/// Whether a break of the loop around stands among the nodes.
pub(crate) fn has_break(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Break => true,
        Node::If { then, other, .. } => has_break(then) || has_break(other),
        _ => false,
    })
}

fn comes_to_its_end(nodes: &[Node]) -> bool {
    match nodes.last() {
        Some(Node::Break | Node::Continue) => false,
        Some(Node::If { then, other, .. }) => comes_to_its_end(then) || comes_to_its_end(other),
        _ => true,
    }
}
