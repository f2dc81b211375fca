//! Constant tables: a local array that only ever holds constants, and is read at computed places, lies in constant registers
//! and is read by an address register. Everything else that a local array can be needs memory, which the machine lacks.
//!
//! A choice among constants by an integer is such an array, too.
//!
//! In legalised IR a table is the machine operation `pica.table`, whose name carries its rows, and what it is outside of them (zero,
//! as a local array is, or what a choice leaves over): such a row stands before or behind where the index may go too far. Facts:
//! ISA sheet section 7.

use crate::select::mir::{Leaf, Ref};
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::tables;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::*;

/// How the operation's name starts.
const NAME: &str = "pica.table";
/// Most rows of a table: what is larger would not fit beside its guards and the uniforms.
const ROWS: u32 = 88;

/// A table's rows, and the guards that the machine's copy has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Rows of up to four components, as f32 bits.
    pub rows: Vec<Vec<u32>>,
    /// The row that is read outside.
    pub outside: Vec<u32>,
    /// Whether the outside's row stands before the first, or behind the last.
    pub guards: (bool, bool),
}

impl Table {
    /// The table that an operation reads, if it is one.
    pub fn of(imm: &Imm) -> Option<Table> {
        if let Imm::Ext(name) = imm { Table::parse(name) } else { None }
    }
    /// From the operation's name.
    pub fn parse(name: &str) -> Option<Table> {
        let mut parts = name.strip_prefix(NAME)?.split(' ');
        let guards = parts.next()?;
        let rows: Option<Vec<Vec<u32>>> = parts.map(|r| r.split(',').map(|v| u32::from_str_radix(v, 16).ok()).collect()).collect();
        let mut rows = rows?;
        let outside = rows.pop()?;
        Some(Table { rows, outside, guards: (guards.contains('-'), guards.contains('+')) })
    }
    /// The operation's name.
    pub fn name(&self) -> Imm {
        let mut out = NAME.to_string();
        out.push_str(if self.guards.0 { "-" } else { "" });
        out.push_str(if self.guards.1 { "+" } else { "" });
        for r in self.rows.iter().chain([&self.outside]) {
            let row: Vec<String> = r.iter().map(|v| format!("{v:x}")).collect();
            out.push_str(&format!(" {}", row.join(",")));
        }
        Imm::Ext(out.as_str().into())
    }
    /// What the operation gives.
    pub fn read(&self, index: i32) -> [u32; 4] {
        let row = usize::try_from(index).ok().and_then(|i| self.rows.get(i)).unwrap_or(&self.outside);
        std::array::from_fn(|l| row.get(l).copied().unwrap_or(0))
    }
    /// Places that an index may name without leaving the registers.
    pub fn bounds(&self) -> (i64, i64) {
        (-i64::from(self.guards.0), self.rows.len() as i64 - 1 + i64::from(self.guards.1))
    }
    /// All rows in registers, guards included.
    pub fn registers(&self) -> Vec<Vec<u32>> {
        let guard = |wanted: bool| wanted.then(|| self.outside.clone());
        let (before, behind) = (guard(self.guards.0), guard(self.guards.1));
        before.into_iter().chain(self.rows.iter().cloned()).chain(behind).collect()
    }
}

/// Places a table's registers among those of others, `taken[k]` being constant register k from the top: (the row before
/// which the first stands, its first component). Equal contents share registers, and so do narrow tables.
pub fn place(taken: &mut Vec<[Option<u32>; 4]>, rows: &[Vec<u32>]) -> (usize, u8) {
    let lanes = rows.first().map_or(1, Vec::len);
    // Ascending rows stand in descending numbers.
    let slot = |at: usize, r: usize| at + rows.len() - 1 - r;
    let fits = |taken: &[[Option<u32>; 4]], at: usize, c: usize| {
        rows.iter()
            .enumerate()
            .all(|(r, row)| row.iter().enumerate().all(|(l, v)| taken.get(slot(at, r)).is_none_or(|t| t[c + l].is_none_or(|x| x == *v))))
    };
    // What is there already, then what overlaps most.
    let (at, c) = (0..=taken.len())
        .flat_map(|at| (0..=4 - lanes.min(4)).map(move |c| (at, c)))
        .filter(|(at, c)| fits(taken, *at, *c))
        .min_by_key(|(at, c)| ((at + rows.len()).saturating_sub(taken.len()), *at, *c))
        .unwrap_or((taken.len(), 0));
    if taken.len() < at + rows.len() {
        taken.resize(at + rows.len(), [None; 4]);
    }
    for (r, row) in rows.iter().enumerate() {
        for (l, v) in row.iter().enumerate() {
            taken[slot(at, r)][c + l] = Some(*v);
        }
    }
    (at + rows.len() - 1, c as u8)
}

/// Turns constant arrays that are read at computed places into tables; whether there was one.
pub fn make(m: &mut Module) -> bool {
    let mut changed = false;
    for f in m.functions.values_mut() {
        changed |= make_in(f);
    }
    changed
}

fn make_in(f: &mut Function) -> bool {
    f.resolve_aliases();
    let words = tables(f);
    let mut found: SecondaryMap<Local, Option<Table>> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        let (Opcode::LocalLoad, Imm::Mem { var: MemRef::Local(l), .. }, [_]) = (d.op, &d.imm, &d.args[..]) else { continue };
        let decl = &f.locals[*l];
        let Some(words) = words[*l].as_ref().filter(|_| decl.count <= ROWS && decl.ty.scalar == Scalar::F32) else { continue };
        let rows = words.chunks(decl.ty.lanes as usize).map(row).collect();
        found[*l] = Some(Table { rows, outside: vec![0; decl.ty.lanes as usize], guards: (false, false) });
    }
    if found.values().all(Option::is_none) {
        return false;
    }
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        let Imm::Mem { var: MemRef::Local(l), offset } = d.imm else { return Action::Keep };
        let Some(t) = &found[l] else { return Action::Keep };
        if d.op == Opcode::LocalStore {
            return Action::Remove;
        }
        let ty = b.func.locals[l].ty;
        let Some(x) = d.args.first().copied() else { return Action::Replace(b.constant(ty, t.read(offset as i32))) };
        let x = if offset == 0 {
            x
        } else {
            let c = b.iconst(b.func.ty(x), offset);
            b.ins(Opcode::Iadd, &[x, c])
        };
        Action::Replace(b.typed(Opcode::Ext, ty, &[x], t.name()))
    });
    true
}

/// Constants as registers hold them.
fn row(bits: &[u32]) -> Vec<u32> {
    bits.iter().map(|b| if let Leaf::Const(c) = Ref::constant(*b).leaf { c } else { *b }).collect()
}

/// Fewest constants among which an index chooses: two comparisons cost more than it does.
const CHOICES: usize = 3;

/// Turns chains of choices among constants by one integer into tables: `x == 0 ? a : x == 1 ? b : c`.
pub fn choices(f: &mut Function) {
    f.resolve_aliases();
    let chains: Vec<(Inst, Chain)> = f.ordered().filter_map(|(_, i)| Some((i, Chain::of(f, i)?))).collect();
    if chains.is_empty() {
        return;
    }
    rewrite(f, |b, i| {
        let Some((_, c)) = chains.iter().find(|c| c.0 == i) else { return Action::Keep };
        let ty = b.func.ty(c.otherwise);
        let Some(outside) = b.func.const_bits(c.otherwise).map(|w| row(&w[..ty.lanes as usize])) else { return Action::Keep };
        let mut rows = vec![outside.clone(); (c.last - c.first + 1) as usize];
        // The test that comes first decides.
        for (k, v) in c.arms.iter().rev() {
            if let Some(w) = b.func.const_bits(*v) {
                rows[(k - c.first) as usize] = row(&w[..ty.lanes as usize]);
            }
        }
        let least = b.iconst(types::I32, c.first as u32);
        let x = if c.first == 0 { c.index } else { b.ins(Opcode::Isub, &[c.index, least]) };
        let t = Table { rows, outside, guards: (false, false) };
        Action::Replace(b.typed(Opcode::Ext, ty, &[x], t.name()))
    });
}

/// A chain of choices among constants.
struct Chain {
    index: Value,
    arms: Vec<(i64, Value)>,
    otherwise: Value,
    first: i64,
    last: i64,
}

impl Chain {
    /// The chain that a choice begins.
    fn of(f: &Function, i: Inst) -> Option<Chain> {
        let number = |v: Value| f.const_bits(f.resolve(v)).map(|c| i64::from(c[0] as i32));
        let constant = |v: Value| f.const_bits(f.resolve(v)).is_some();
        let mut chain =
            Chain { index: f.insts[i].results.first().copied()?, arms: Vec::new(), otherwise: f.insts[i].results[0], first: 0, last: 0 };
        if f.ty(chain.index).scalar != Scalar::F32 {
            return None;
        }
        while let Some(d) = f.def_if(chain.otherwise, Opcode::Select).filter(|d| constant(d.args[1])) {
            let Some(test) = f.def_if(f.resolve(d.args[0]), Opcode::Icmp) else { break };
            let (Imm::IntCC(IntCC::Eq), Some(k)) = (&test.imm, number(test.args[1])) else { break };
            let x = f.resolve(test.args[0]);
            if f.ty(x) != types::I32 || !chain.arms.is_empty() && x != chain.index {
                break;
            }
            chain.index = x;
            chain.arms.push((k, f.resolve(d.args[1])));
            chain.otherwise = f.resolve(d.args[2]);
        }
        chain.first = chain.arms.iter().map(|a| a.0).min()?;
        chain.last = chain.arms.iter().map(|a| a.0).max()?;
        // An array begins at 0, and most of it is there.
        chain.first = if (0..4).contains(&chain.first) { 0 } else { chain.first };
        let dense = chain.last - chain.first < 2 * chain.arms.len() as i64 && chain.last - chain.first < i64::from(ROWS);
        (chain.arms.len() + 1 > CHOICES && dense && constant(chain.otherwise)).then_some(chain)
    }
}

/// A table read at a known place is a constant.
pub fn fold(f: &mut Function) -> bool {
    rewrite(f, |b, i| {
        let d = &b.func.insts[i];
        let (Opcode::Ext, Some(t), Some(r)) = (d.op, Table::of(&d.imm), d.results.first().copied()) else { return Action::Keep };
        let Some(c) = b.func.const_bits(b.func.resolve(d.args[0])) else { return Action::Keep };
        let ty = b.func.ty(r);
        Action::Replace(b.constant(ty, t.read(c[0] as i32)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_rows() {
        let t = Table { rows: vec![vec![1, 2], vec![0x3f80_0000, 0]], outside: vec![0, 0], guards: (true, false) };
        assert_eq!(Table::of(&t.name()), Some(t.clone()));
        assert_eq!(t.bounds(), (-1, 1));
        assert_eq!((t.read(-1), t.read(1), t.read(2)), ([0; 4], [0x3f80_0000, 0, 0, 0], [0; 4]));
    }

    #[test]
    fn tables_share_registers() {
        let mut taken = Vec::new();
        let a: Vec<Vec<u32>> = vec![vec![1, 2], vec![3, 4], vec![5, 6]];
        assert_eq!(place(&mut taken, &a), (2, 0));
        assert_eq!(place(&mut taken, &a), (2, 0));
        assert_eq!(place(&mut taken, &[vec![7], vec![8]]), (1, 2));
        assert_eq!(taken, vec![[Some(5), Some(6), Some(8), None], [Some(3), Some(4), Some(7), None], [Some(1), Some(2), None, None]]);
    }
}
