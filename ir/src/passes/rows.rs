//! Products with a transposed matrix: a sum of columns times scalars, whose columns are gathered from vectors that hold its rows, becomes
//! a dot product for each row, for machines that have vectors.
//!
//! `transpose(mat3(t, b, n)) * v` is `(t·v, b·v, n·v)`: three operations instead of nine and no gathering. `dot` sums the first lane
//! first, as the chain did; a machine that sums otherwise shows that in its `Numerics::dot`. Never on `precise`.

use super::rewrite::{Action, rewrite_of};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// Machines have no dot products of two lanes.
const LEAST: usize = 3;
/// The most columns.
const MOST: usize = 4;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    let mut found: SecondaryMap<Inst, Option<Product>> = SecondaryMap::new();
    // The parts of a sum are none of their own: sums are seen from their ends.
    let mut inside: EntitySet<Inst> = EntitySet::new();
    let sums: Vec<Inst> = func.ordered().map(|(_, i)| i).filter(|i| func.insts[*i].op == Opcode::Fadd).collect();
    for i in sums.into_iter().rev() {
        if !inside.contains(i)
            && let Some((p, parts)) = product(func, i, &uses)
        {
            parts.into_iter().for_each(|i| _ = inside.insert(i));
            found[i] = Some(p);
        }
    }
    found.values().any(Option::is_some)
        && rewrite_of(func, &[Opcode::Fadd], |b, i| match &found[i] {
            Some(p) => Action::Replace(p.build(b)),
            None => Action::Keep,
        })
}

/// A column and its scalar; none is 1.
type Term = (Value, Option<Value>);

/// `(r_0·v, r_1·v, …)`.
#[derive(Clone)]
struct Product {
    rows: SmallVec<[Value; MOST]>,
    vector: Value,
    /// The columns, without the one that has no factor.
    width: usize,
    /// Whether there is one more, without a factor.
    affine: bool,
}

impl Product {
    fn build(&self, b: &mut Builder) -> Value {
        let vector = if self.affine {
            let mut lanes: SmallVec<[Value; MOST]> = (0..self.width as u8).map(|n| b.extract(self.vector, n)).collect();
            lanes.push(b.fconst(b.func.ty(self.vector).lane(), 1.0));
            b.build(&lanes)
        } else {
            first_lanes(b, self.vector, self.width)
        };
        let width = self.width + usize::from(self.affine);
        let dots: SmallVec<[Value; MOST]> = self
            .rows
            .iter()
            .map(|r| {
                let row = first_lanes(b, *r, width);
                b.ins(Opcode::Dot, &[row, vector])
            })
            .collect();
        b.build(&dots)
    }
}

/// The vector of the first lanes.
fn first_lanes(b: &mut Builder, v: Value, width: usize) -> Value {
    if b.func.ty(v).lanes as usize == width {
        return v;
    }
    let mask: SmallVec<[u8; MOST]> = (0..width as u8).collect();
    b.shuffle(v, v, &mask)
}

/// The sums within a sum.
type Parts = SmallVec<[Inst; 2]>;

/// The product that the sum which ends in an instruction is.
fn product(func: &Function, i: Inst, uses: &SecondaryMap<Value, u32>) -> Option<(Product, Parts)> {
    let sum = func.result(i).filter(|v| func.ty(*v).is_vector() && func.ty(*v).is_float())?;
    let lanes = func.ty(sum).lanes as usize;
    let (terms, parts) = terms(func, i, uses)?;
    let (bias, scaled) = match terms.split_last()? {
        ((bias, None), rest) => (Some(*bias), rest),
        _ => (None, &terms[..]),
    };
    if terms.len() < LEAST.max(lanes) {
        return None;
    }
    let factors: Option<SmallVec<[Place; MOST]>> = scaled.iter().map(|(_, x)| place(func, (*x)?)).collect();
    let vector = in_order(&factors?)?;
    let row = |k: usize| {
        let lanes: Option<SmallVec<[Place; MOST]>> = scaled.iter().map(|t| t.0).chain(bias).map(|c| lane(func, c, k)).collect();
        in_order(&lanes?)
    };
    let rows: Option<SmallVec<[Value; MOST]>> = (0..lanes).map(row).collect();
    Some((Product { rows: rows?, vector, width: scaled.len(), affine: bias.is_some() }, parts))
}

/// The terms of `((c_0 x_0 + c_1 x_1) + c_2 x_2) + c_3`, the first first; only the last one may have no factor.
fn terms(func: &Function, i: Inst, uses: &SecondaryMap<Value, u32>) -> Option<(SmallVec<[Term; MOST]>, Parts)> {
    let inner = |v: Value, op: Opcode| func.def_if(v, op).filter(|d| !d.precise && uses[v] == 1);
    let scaled = |v: Value| {
        let d = inner(v, Opcode::Fmul)?;
        let scalar = |v: Value| func.def_if(v, Opcode::Splat).map(|s| s.args[0]);
        let (x, y) = (d.args[0], d.args[1]);
        scalar(y).map(|s| (x, Some(s))).or_else(|| scalar(x).map(|s| (y, Some(s))))
    };
    let mut out: SmallVec<[Term; MOST]> = SmallVec::new();
    let mut parts = Parts::new();
    let mut at = &func.insts[i];
    if at.precise {
        return None;
    }
    loop {
        let (x, y) = (at.args[0], at.args[1]);
        // Sums commute: the rest is the side that is a sum or a product itself.
        let (term, rest) = match (scaled(y), scaled(x)) {
            (Some(t), _) => (t, x),
            (None, Some(t)) if !out.is_empty() || inner(y, Opcode::Fadd).is_some() => (t, y),
            _ if out.is_empty() && inner(x, Opcode::Fadd).is_some() => ((y, None), x),
            _ if out.is_empty() && inner(y, Opcode::Fadd).is_some() => ((x, None), y),
            _ => return None,
        };
        out.push(term);
        if let Some(first) = scaled(rest) {
            out.push(first);
            out.reverse();
            return Some((out, parts));
        }
        at = inner(rest, Opcode::Fadd).filter(|_| out.len() < MOST - 1)?;
        parts.extend(func.def_inst(rest));
    }
}

/// A lane of a vector.
type Place = (Value, u8);

/// Where a scalar comes from.
fn place(func: &Function, scalar: Value) -> Option<Place> {
    let d = func.def_if(scalar, Opcode::Extract)?;
    if let Imm::Lane(n) = d.imm { Some((d.args[0], n)) } else { None }
}

/// Where a lane of a gathered vector comes from.
fn lane(func: &Function, gathered: Value, k: usize) -> Option<Place> {
    let d = &func.insts[func.def_inst(gathered)?];
    match (d.op, &d.imm) {
        (Opcode::Build, _) => place(func, *d.args.get(k)?),
        (Opcode::Shuffle, Imm::Lanes(mask)) => {
            let (n, first) = (*mask.get(k)?, func.ty(d.args[0]).lanes);
            Some(if n < first { (d.args[0], n) } else { (d.args[1], n - first) })
        }
        _ => None,
    }
}

/// The vector whose first lanes these are.
fn in_order(places: &[Place]) -> Option<Value> {
    let (vector, _) = *places.first()?;
    places.iter().enumerate().all(|(n, p)| *p == (vector, n as u8)).then_some(vector)
}
