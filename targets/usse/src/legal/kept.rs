//! Vectors of which some lanes are multiplied and the others stay as they are: one product, with 1 in those lanes.
//!
//! `vec4(c.rgb * k, c.a)` would be a product in one place and a copy of `c.a` to it; `c * vec4(k, k, k, 1)` is one word, since the swizzle of a
//! product's first source knows the constant 1. A product with 1 is exact.

use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::*;

/// Fewest lanes that are multiplied.
const LEAST: usize = 2;

/// Rewrites all such vectors of a function; true if something changed.
pub fn run(f: &mut Function) -> bool {
    let uses = f.use_counts();
    rewrite(f, |b, i| {
        let Some((whole, product, lanes)) = scaled(b.func, i, |v| uses[v]) else { return Action::Keep };
        let span = b.span;
        let ty = b.func.ty(whole).lane();
        let factors: Vec<Value> = lanes
            .into_iter()
            .map(|l| match l {
                Some((v, lane)) => b.extract(v, lane),
                None => b.fconst(ty, 1.0),
            })
            .collect();
        let factor = b.build(&factors);
        b.span = b.func.spans[product];
        b.precise = b.func.insts[product].precise;
        let out = b.ins(Opcode::Fmul, &[whole, factor]);
        b.span = span;
        Action::Replace(out)
    })
}

/// A vector and a lane of it.
type Part = (Value, u8);

/// What instruction `i` is if it builds such a vector: the vector that is scaled, the product, and by lane the factor, if any.
fn scaled(f: &Function, i: Inst, uses: impl Fn(Value) -> u32) -> Option<(Value, Inst, Vec<Option<Part>>)> {
    let d = &f.insts[i];
    let whole_ty = f.ty(*d.results.first()?);
    if d.op != Opcode::Build || d.args.len() < LEAST + 1 || !matches!(whole_ty.scalar, Scalar::F32 | Scalar::F16) {
        return None;
    }
    let parts: Vec<Part> = d.args.iter().map(|a| part(f, *a)).collect::<Option<_>>()?;
    let product = parts.iter().find_map(|p| f.def_if(p.0, Opcode::Fmul).map(|d| (p.0, d)))?;
    let of_product = parts.iter().filter(|p| p.0 == product.0).count();
    // Nobody else needs the product.
    let alone = uses(product.0) as usize == of_product && d.args.iter().zip(&parts).all(|(a, p)| p.0 != product.0 || uses(*a) == 1);
    let whole = parts.iter().find(|p| p.0 != product.0)?.0;
    if of_product < LEAST || !alone || f.ty(whole) != whole_ty {
        return None;
    }
    for (own, other) in [(0, 1), (1, 0)] {
        let lane = |(k, p): (usize, &Part)| -> Option<Option<Part>> {
            let here = (whole, k as u8);
            if p.0 != product.0 {
                return (*p == here).then_some(None);
            }
            (origin(f, product.1.args[own], p.1) == here).then(|| Some(origin(f, product.1.args[other], p.1)))
        };
        if let Some(lanes) = parts.iter().enumerate().map(lane).collect::<Option<Vec<_>>>() {
            return Some((whole, f.def_inst(product.0)?, lanes));
        }
    }
    None
}

/// The vector and the lane that a scalar is taken from.
fn part(f: &Function, v: Value) -> Option<Part> {
    let d = f.def_if(v, Opcode::Extract)?;
    match d.imm {
        Imm::Lane(k) => Some((f.resolve(d.args[0]), k)),
        _ => None,
    }
}

/// Where a lane comes from, through the operations that only arrange lanes.
fn origin(f: &Function, v: Value, lane: u8) -> Part {
    let (mut v, mut lane) = (f.resolve(v), lane);
    while let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) {
        (v, lane) = match (d.op, &d.imm) {
            (Opcode::Splat, _) => (d.args[0], 0),
            (Opcode::Build, _) => (d.args[usize::from(lane)], 0),
            (Opcode::Extract, Imm::Lane(k)) => (d.args[0], *k),
            (Opcode::Shuffle, Imm::Lanes(m)) => {
                let (from, first) = (m[usize::from(lane)], f.ty(d.args[0]).lanes);
                if from < first { (d.args[0], from) } else { (d.args[1], from - first) }
            }
            _ => break,
        };
        v = f.resolve(v);
    }
    (v, lane)
}
