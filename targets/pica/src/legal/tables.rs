//! Constant tables: a local array that only ever holds constants, and is read at computed places, lies in constant registers
//! and is read by an address register. Everything else that a local array can be needs memory, which the machine lacks.
//!
//! In legalised IR a table is the machine operation `pica.table`, whose name carries its rows; outside of them it is zero, as a
//! local array is: a row of zeros stands before or behind where the index may go too far. Facts: ISA sheet section 7.

use crate::select::mir::Ref;
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
    /// Whether a row of zeros stands before the first, or behind the last.
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
        Some(Table { rows: rows?, guards: (guards.contains('-'), guards.contains('+')) })
    }
    /// The operation's name.
    pub fn name(&self) -> Imm {
        let mut out = NAME.to_string();
        out.push_str(if self.guards.0 { "-" } else { "" });
        out.push_str(if self.guards.1 { "+" } else { "" });
        for r in &self.rows {
            let row: Vec<String> = r.iter().map(|v| format!("{v:x}")).collect();
            out.push_str(&format!(" {}", row.join(",")));
        }
        Imm::Ext(out.as_str().into())
    }
    /// What the operation gives.
    pub fn read(&self, index: i32) -> [u32; 4] {
        let row = usize::try_from(index).ok().and_then(|i| self.rows.get(i));
        std::array::from_fn(|l| row.and_then(|r| r.get(l)).copied().unwrap_or(0))
    }
    /// Places that an index may name without leaving the registers.
    pub fn bounds(&self) -> (i64, i64) {
        (-i64::from(self.guards.0), self.rows.len() as i64 - 1 + i64::from(self.guards.1))
    }
    /// All rows in registers, guards included.
    pub fn registers(&self) -> Vec<Vec<u32>> {
        let zero = || vec![0; self.rows.first().map_or(1, |r| r.len())];
        let (before, behind) = (self.guards.0.then(zero), self.guards.1.then(zero));
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
        let value = |bits: &u32| if let crate::select::mir::Leaf::Const(c) = Ref::constant(*bits).leaf { c } else { *bits };
        let rows = words.chunks(decl.ty.lanes as usize).map(|r| r.iter().map(value).collect()).collect();
        found[*l] = Some(Table { rows, guards: (false, false) });
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
        let t = Table { rows: vec![vec![1, 2], vec![0x3f80_0000, 0]], guards: (true, false) };
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
