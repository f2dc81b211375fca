//! A vector times the rows of a matrix: dot products of one vector with rows of secondary attributes that follow each other
//! become one macro-operation, which repeats a single VDP word (sheet, sections 8.4 and 16).

use crate::select::mir::{Base, Kind, Lane, MProgram, Mop, Vreg};
use std::collections::BTreeMap;

/// Rows that one word can repeat over.
const MOST: usize = 4;

/// Registers from one row to the next that a repeat can step by.
const STRIDES: [u16; 2] = [2, 4];

/// The vector and the row (as its registers) of a dot product; the row must stand in secondary attributes.
fn parts(op: &Mop) -> Option<(&Vec<Lane>, Vec<u16>)> {
    if op.kind != Kind::Dot || op.pred.is_some() {
        return None;
    }
    let row = |s: &Vec<Lane>| {
        let regs = s.iter().map(|l| match l.base {
            Base::Sa(n) if l.is_plain() => Some(n),
            _ => None,
        });
        regs.collect::<Option<Vec<u16>>>()
    };
    match (row(&op.src[0]), row(&op.src[1])) {
        (None, Some(r)) => Some((&op.src[0], r)),
        (Some(r), None) => Some((&op.src[1], r)),
        _ => None,
    }
}

/// How far row `b` lies behind row `a`.
fn stride(a: &[u16], b: &[u16]) -> Option<u16> {
    let by = b.first()?.checked_sub(*a.first()?)?;
    (a.len() == b.len() && STRIDES.contains(&by) && a.iter().zip(b).all(|(x, y)| *y == x + by)).then_some(by)
}

/// The program with products grouped; `None` where there is nothing to group.
pub fn group(p: &MProgram) -> Option<MProgram> {
    let mut writes = vec![0u32; p.vregs.len()];
    for v in p.blocks.iter().flat_map(|b| &b.ops).flat_map(|o| o.writes().collect::<Vec<_>>()) {
        writes[v.0 as usize] += 1;
    }
    if p.blocks.iter().flat_map(|b| &b.ops).filter(|o| parts(o).is_some()).count() < 3 {
        return None;
    }
    let mut out = p.clone();
    // What each scalar result becomes a lane of.
    let mut renamed: BTreeMap<Vreg, (Vreg, u8)> = BTreeMap::new();
    for b in 0..out.blocks.len() {
        let ops = std::mem::take(&mut out.blocks[b].ops);
        let mut taken = vec![false; ops.len()];
        let mut done: Vec<Mop> = Vec::with_capacity(ops.len());
        for n in 0..ops.len() {
            if taken[n] {
                continue;
            }
            let members = run(p, &ops, n, &writes, &taken);
            if members.len() < 3 {
                done.push(ops[n].clone());
                continue;
            }
            let whole = out.vreg(retroshade_ir::Scalar::F32, members.len() as u8, ops[n].span);
            out.vregs[whole.0 as usize].even = true;
            let mut src = Vec::new();
            for (k, m) in members.iter().enumerate() {
                taken[*m] = true;
                if let (Some((vector, row)), Some(d)) = (parts(&ops[*m]), ops[*m].dst) {
                    if k == 0 {
                        src.push(vector.clone());
                    }
                    src.push(row.iter().map(|n| Lane::new(Base::Sa(*n))).collect());
                    renamed.insert(d, (whole, k as u8));
                }
            }
            done.push(Mop::new(Kind::Rows, Some(whole), src, ops[n].span));
        }
        out.blocks[b].ops = done;
    }
    if renamed.is_empty() {
        return None;
    }
    for l in out.blocks.iter_mut().flat_map(|b| &mut b.ops).flat_map(|o| &mut o.src).flatten() {
        if let Base::V(v, _) = l.base
            && let Some((w, k)) = renamed.get(&v)
        {
            l.base = Base::V(*w, *k);
        }
    }
    Some(out)
}

/// The products that continue product `first`, row by row.
fn run(p: &MProgram, ops: &[Mop], first: usize, writes: &[u32], taken: &[bool]) -> Vec<usize> {
    let single = |n: usize| {
        let d = ops[n].dst.filter(|d| writes[d.0 as usize] == 1 && p.data(*d).ty == retroshade_ir::Scalar::F32);
        d.and(parts(&ops[n]))
    };
    let Some((vector, mut last)) = single(first) else { return Vec::new() };
    let mut members = vec![first];
    let mut step = None;
    for n in first + 1..ops.len() {
        if members.len() == MOST {
            break;
        }
        // A second definition of the vector would change what later products read.
        if ops[n].writes().any(|w| vector.iter().any(|l| matches!(l.base, Base::V(v, _) if v == w))) {
            break;
        }
        let Some((other, row)) = (if taken[n] { None } else { single(n) }) else { continue };
        let by = stride(&last, &row).filter(|s| step.is_none_or(|t| t == *s));
        if let (Some(by), true) = (by, other == vector) {
            step = Some(by);
            last = row;
            members.push(n);
        }
    }
    members
}
