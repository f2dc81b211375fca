//! Where uniforms live: booleans in b, everything else in float registers.
//!
//! Each uniform has registers of its own, so that a program can set it alone, in the order of the blocks. Members of an array of
//! structures stay as far apart from element to element as std140 has them, as one index reads all of them: one that would share a
//! register moves up as a whole. With `--pack-uniforms` blocks lie as std140 lays them out. Matrices lie row by row, as citro3d's
//! `C3D_FVUnifMtx4x4` stores them, unless the option or the source says otherwise; where a block has no room for the rows, the matrix
//! lies behind it. Facts: ISA sheet section 15.

use crate::abi::{Abi, Place};
use crate::isa::registers::FLOAT_UNIFORMS;
use indexmap::IndexMap;
use retroshade_ir::*;
use retroshade_lower::{CompileError, MatrixLayout, Options};

/// How uniforms are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Whether a matrix's rows are registers where the source does not say so itself.
    pub rows: bool,
    /// Whether uniforms share registers as their blocks lay them out.
    pub packed: bool,
}

impl Layout {
    /// What the options ask for.
    pub fn of(o: &Options) -> Layout {
        Layout { rows: o.matrix_layout != Some(MatrixLayout::Column), packed: o.pack_uniforms }
    }
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { rows: true, packed: false }
    }
}

/// A matrix whose registers are its rows, although the IR's loads are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transposed {
    /// Units between the columns of one matrix and those of the next, as the IR counts them.
    pub from: u32,
    /// Registers between one matrix and the next.
    pub to: u32,
}

/// Whether a uniform is a boolean register. Vectors and arrays of truth values are numbers in float registers.
pub fn is_flag(u: &UniformDecl) -> bool {
    u.dims.is_empty() && u.ty.lanes == 1 && (u.ty.scalar == Scalar::I1 || u.source_type.as_deref() == Some("bool"))
}

/// How a matrix lies in rows, if it does: not where the next matrix begins before its last row would end.
pub fn transposed(u: &UniformDecl, layout: Layout) -> Option<Transposed> {
    let (columns, outer) = u.dims.split_last().filter(|_| layout.rows && u.matrix && !u.rows && u.unit == 16)?;
    let (columns, rows) = (columns.count, u32::from(u.ty.lanes));
    // Matrices behind each other move together or apart; between them members of a structure keep their places.
    let dense = |d: &[Dim]| d.iter().rev().try_fold(columns * 16, |want, d| (d.stride == want).then_some(want * d.count)).is_some();
    let from = outer.last().map_or(columns, |d| d.stride / 16);
    // Packed ones stay where std140 has them, if there is room.
    if dense(outer) && (!layout.packed || rows > columns) {
        return Some(Transposed { from, to: rows });
    }
    let room = outer.last().map_or(rows, |_| from);
    (rows <= room).then_some(Transposed { from, to: from })
}

/// Which column of its matrix a unit of a uniform is.
pub fn column(u: &UniformDecl, unit: u32) -> u32 {
    let outer = u.dims.split_last().map_or(&[][..], |(_, outer)| outer);
    let rest = outer.iter().fold(unit * u.unit, |rest, d| rest - (rest / d.stride.max(1)).min(d.count.saturating_sub(1)) * d.stride);
    rest / u.unit.max(1)
}

/// First byte and end of a uniform in its block.
fn extent(u: &UniformDecl) -> (u32, u32) {
    (u.offset, u.offset + u.size())
}

/// Uniforms of one block that have to keep their distance: members of an array of structures.
fn clusters(m: &Module) -> Vec<Vec<Uniform>> {
    let mut all: Vec<Uniform> = m.uniforms.keys().filter(|k| !is_flag(&m.uniforms[*k])).collect();
    all.sort_by_key(|k| (m.uniforms[*k].group, m.uniforms[*k].binding, m.uniforms[*k].offset));
    let mut out: Vec<(Vec<Uniform>, u32)> = Vec::new();
    for k in all {
        let u = &m.uniforms[k];
        let (start, end) = extent(u);
        match out.last_mut() {
            Some((members, last))
                if start < *last && {
                    let first = &m.uniforms[members[0]];
                    (first.group, first.binding) == (u.group, u.binding)
                } =>
            {
                members.push(k);
                *last = end.max(*last);
            }
            _ => out.push((vec![k], end)),
        }
    }
    out.into_iter().map(|c| c.0).collect()
}

/// Components of the float registers that uniforms have, from c0.
#[derive(Default)]
struct Taken(Vec<u8>);

/// More registers than any program can ask for without being refused.
const ENOUGH: u32 = 1 << 12;

impl Taken {
    /// The components that a uniform needs, by registers from its first one.
    fn needed(u: &UniformDecl, comp: u8, rows: Option<Transposed>) -> Vec<(u32, u8)> {
        let here = Place::Float { reg: 0, comp, rows };
        let lanes = (0..u.elements().max(1)).flat_map(|n| (0..u32::from(u.ty.lanes)).map(move |l| (n, l)));
        let mut all: IndexMap<u32, u8> = IndexMap::new();
        for (reg, comp) in lanes.filter_map(|(n, l)| component(u, here, n, l)) {
            *all.entry(u32::from(reg)).or_insert(0) |= 1 << comp;
        }
        all.into_iter().collect()
    }

    /// Puts a uniform at the first register from `from` up where nothing is in its way; gives the place, and the register behind it.
    fn put(&mut self, u: &UniformDecl, from: u32, comp: u8, rows: Option<Transposed>, shared: bool) -> (Place, u32) {
        if u.units() > ENOUGH || from > ENOUGH {
            return (Place::Float { reg: 0, comp, rows }, from.saturating_add(u.units()));
        }
        let needed = Taken::needed(u, comp, rows);
        let mask = |m: u8| if shared { m } else { 15 };
        let free = |at: u32| needed.iter().all(|(r, m)| self.0.get((at + r) as usize).is_none_or(|t| t & mask(*m) == 0));
        let at = (from..).find(|at| free(*at)).unwrap_or(from);
        let end = at + needed.iter().map(|(r, _)| r + 1).max().unwrap_or(0);
        self.0.resize(self.0.len().max(end as usize), 0);
        needed.iter().for_each(|(r, m)| self.0[(at + r) as usize] |= mask(*m));
        (Place::Float { reg: at as u16, comp, rows }, end)
    }
}

/// Uniforms of each block, as its layout orders them.
fn blocks(m: &Module) -> Vec<Vec<Uniform>> {
    let mut blocks: IndexMap<(u32, u32), Vec<Uniform>> = IndexMap::new();
    for (k, u) in m.uniforms.iter().filter(|(_, u)| !is_flag(u)) {
        blocks.entry((u.group, u.binding)).or_default().push(k);
    }
    blocks.sort_keys();
    blocks.into_values().collect()
}

/// Gives every uniform its place.
pub fn assign(m: &Module, abi: &mut Abi, layout: Layout) -> Result<(), CompileError> {
    for (n, (k, u)) in (0u8..).zip(m.uniforms.iter().filter(|(_, u)| is_flag(u))) {
        if n >= 15 {
            return Err(CompileError::limit("P0304", u.span, "too many boolean uniforms", u64::from(n) + 1, 15));
        }
        abi.uniforms[k] = Place::Bool(n);
    }
    let mut at = u32::from(abi.free);
    let mut taken = Taken(vec![15; at as usize]);
    let groups = if layout.packed { blocks(m) } else { clusters(m) };
    for members in groups {
        // What stands alone goes into holes that structures left.
        let alone = !layout.packed && members.len() == 1;
        let first = if alone { u32::from(abi.free) } else { at };
        let start = if layout.packed { 0 } else { members.iter().map(|k| m.uniforms[*k].offset / 16).min().unwrap_or(0) };
        // In a structure or block nothing may change its distance, and matrices that need more registers give way.
        let rows = |k: Uniform| transposed(&m.uniforms[k], Layout { packed: !alone, ..layout });
        let wide = |k: Uniform| rows(k).is_some() && u32::from(m.uniforms[k].ty.lanes) > m.uniforms[k].dims.last().map_or(0, |d| d.count);
        let (last, mut in_order): (Vec<Uniform>, Vec<Uniform>) = members.into_iter().partition(|k| layout.packed && wide(*k));
        in_order.extend(last);
        for k in in_order {
            let u = &m.uniforms[k];
            let from = if alone { first } else { first + u.offset / 16 - start };
            let comp = if layout.packed { (u.offset % 16 / 4) as u8 } else { 0 };
            let (place, end) = taken.put(u, from, comp, rows(k), layout.packed);
            abi.uniforms[k] = place;
            at = at.max(end);
        }
    }
    if at > FLOAT_UNIFORMS as u32 {
        let span = m.uniforms.values().last().map_or(Span::NONE, |u| u.span);
        let mut e =
            CompileError::limit("P0303", span, "the uniforms do not fit the float registers", u64::from(at), u64::from(FLOAT_UNIFORMS));
        if let (CompileError::Limit { diagnostic, .. }, false) = (&mut e, layout.packed) {
            diagnostic.notes.push((span, "with `--pack-uniforms` small ones share registers".to_string()));
        }
        return Err(e);
    }
    abi.free = at as u8;
    Ok(())
}

/// The register and component of a lane of element `n`, counted densely.
pub fn component(u: &UniformDecl, place: Place, n: u32, lane: u32) -> Option<(u16, u8)> {
    let Place::Float { reg, comp, rows } = place else { return None };
    let bytes = match (rows, u.dims.last()) {
        (Some(t), Some(columns)) => {
            let (matrix, column) = (n / columns.count.max(1), n % columns.count.max(1));
            let first = u.element_offset(matrix * columns.count) / 16;
            16 * (first / t.from * t.to + first % t.from + lane) + 4 * column
        }
        _ => u.element_offset(n) + 4 * lane,
    };
    let at = u32::from(comp) * 4 + bytes;
    Some((reg + (at / 16) as u16, (at % 16 / 4) as u8))
}
