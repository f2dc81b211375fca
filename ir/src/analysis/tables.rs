//! Tables: local arrays that hold the same constants wherever they are read. A machine with constant memory keeps them there
//! instead of building them anew in every invocation.
//!
//! An array is a table if all its stores put constants into elements with constant numbers, all of them stand in one block,
//! and no load comes before the last of them: it stands behind it in that block, or in a block that it dominates.

use super::{Cfg, DomTree};
use crate::entities::{Block, Local, Value};
use crate::function::Function;
use crate::inst::{Imm, MemRef};
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;

/// The most words of a table: what a constant space of 64 KiB holds.
const MOST_WORDS: usize = 0x4000;

/// The words of each local array that is a table, element by element and lane by lane, as `Imm::Const` has them.
pub fn tables(func: &Function) -> SecondaryMap<Local, Option<Vec<u32>>> {
    let mut found: SecondaryMap<Local, Option<Vec<u32>>> = SecondaryMap::new();
    let mut seen: SecondaryMap<Local, Seen> = SecondaryMap::new();
    if func.locals.is_empty() {
        return found;
    }
    for (b, i) in func.ordered() {
        let d = &func.insts[i];
        let Imm::Mem { var: MemRef::Local(l), offset } = d.imm else { continue };
        let decl = &func.locals[l];
        match d.op {
            Opcode::LocalStore => {
                let lanes = decl.ty.lanes as usize;
                let word = offset as usize * lanes;
                let place = seen[l].words((decl.count as usize).saturating_mul(lanes)).get_mut(word..word + lanes);
                match (place, const_lanes(func, d.args[0])) {
                    (Some(place), Some(value)) if d.args.len() == 1 && func.ty(d.args[0]) == decl.ty => {
                        place.copy_from_slice(&value[..lanes]);
                    }
                    _ => seen[l].varies = true,
                }
                let s = &mut seen[l];
                s.varies |= s.home.is_some_and(|home| home != b) || s.readers.contains(&b);
                s.home = Some(b);
            }
            Opcode::LocalLoad if seen[l].readers.last() != Some(&b) => seen[l].readers.push(b),
            _ => {}
        }
    }
    if func.locals.keys().all(|l| seen[l].varies || seen[l].home.is_none()) {
        return found;
    }
    let dom = DomTree::new(func, &Cfg::new(func));
    for l in func.locals.keys() {
        let s = &mut seen[l];
        if let (Some(home), false) = (s.home, s.varies)
            && s.readers.iter().all(|b| dom.dominates(home, *b))
        {
            found[l] = Some(std::mem::take(&mut s.words));
        }
    }
    found
}

/// What is known about an array.
#[derive(Clone, Default)]
struct Seen {
    home: Option<Block>,
    /// Blocks with loads so far.
    readers: Vec<Block>,
    varies: bool,
    words: Vec<u32>,
}

impl Seen {
    /// The words so far; none if there are too many.
    fn words(&mut self, n: usize) -> &mut Vec<u32> {
        if self.words.is_empty() && n <= MOST_WORDS {
            self.words = vec![0; n];
        }
        &mut self.words
    }
}

/// The lanes of a constant, also of one that is put together from constants.
fn const_lanes(func: &Function, v: Value) -> Option<[u32; 4]> {
    if let Some(bits) = func.const_bits(v) {
        return Some(bits);
    }
    let d = func.def_if(v, Opcode::Build)?;
    let mut out = [0; 4];
    for (o, a) in out.iter_mut().zip(&d.args) {
        *o = func.const_bits(*a)?[0];
    }
    Some(out)
}
