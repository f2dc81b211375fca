//! Lanes by register: a computation over the columns of a matrix whose rows are registers would take an instruction for each
//! lane; the lanes of all columns that read the same row are one.
//!
//! ```text
//!   column 0:  a0 = c4.x w   b0 = c5.x w   c0 = c6.x w         row c4:  (a0 a1 a2 a3) = c4 w
//!   column 1:  a1 = c4.y w   b1 = c5.y w   c1 = c6.y w    ▶    row c5:  (b0 b1 b2 b3) = c5 w
//! ```

use crate::isa::forms::Op;
use crate::select::mir::*;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bundle numbers of rows.
const BUNDLES: u32 = 2_500_000_000;

/// What lanes of one row have in common in an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Origin {
    /// One uniform register, or other operands of one kind.
    Register(Key),
    /// Results of one row.
    Row(u32, bool),
}

/// Operations of each bundle, in the order of the code.
fn bundles(b: &MBlock) -> IndexMap<(u32, Op), Vec<usize>> {
    let mut out: IndexMap<(u32, Op), Vec<usize>> = IndexMap::new();
    for (n, node) in b.nodes.iter().enumerate() {
        let plain = node.elementwise() && node.op != Op::Mov && node.test.is_none() && node.dests.len() == 1;
        if plain && node.bundle != u32::MAX {
            out.entry((node.bundle, node.op)).or_default().push(n);
        }
    }
    out
}

/// Whether the lanes of an operation all differ in what one of its operands comes from, so that none can join another.
fn apart(lanes: &[SmallVec<[Origin; 3]>]) -> bool {
    let row = |o: &Origin| matches!(o, Origin::Register(Key::Uni(..)) | Origin::Row(..));
    let differ = |k: usize| lanes.iter().enumerate().all(|(n, l)| row(&l[k]) && lanes[..n].iter().all(|m| m[k] != l[k]));
    lanes.len() > 1 && (0..lanes[0].len()).any(differ)
}

/// Whether a program has vector operations over several uniform registers.
pub fn scattered(p: &Program) -> bool {
    let no_rows = FxHashMap::default();
    p.blocks.iter().any(|b| bundles(b).values().any(|at| apart(&at.iter().map(|n| origins(&b.nodes[*n], &no_rows)).collect::<Vec<_>>())))
}

fn origins(n: &Node, rows: &FxHashMap<Tmp, u32>) -> SmallVec<[Origin; 3]> {
    let of = |r: Ref| match r.as_tmp().and_then(|t| rows.get(&t)) {
        Some(row) => Origin::Row(*row, r.neg),
        None => Origin::Register(r.key()),
    };
    n.srcs.iter().map(|s| of(s[0])).collect()
}

/// Gives lanes that cannot join those of their own operation the bundles of rows.
pub fn by_register(p: &mut Program) {
    let mut next = BUNDLES;
    for block in &mut p.blocks {
        let mut row_of: FxHashMap<Tmp, u32> = FxHashMap::default();
        let mut rows: FxHashMap<(Op, SmallVec<[Origin; 3]>), (u32, usize)> = FxHashMap::default();
        for ((_, op), at) in bundles(block) {
            let lanes: Vec<SmallVec<[Origin; 3]>> = at.iter().map(|n| origins(&block.nodes[*n], &row_of)).collect();
            if !apart(&lanes) {
                continue;
            }
            for (n, lane) in at.into_iter().zip(lanes) {
                let row = rows.entry((op, lane)).or_insert((0, 4));
                // A register holds four.
                if row.1 == 4 {
                    next += 1;
                    *row = (next, 0);
                }
                row.1 += 1;
                block.nodes[n].bundle = row.0;
                row_of.extend(block.nodes[n].writes().map(|t| (t, row.0)));
            }
        }
    }
}
