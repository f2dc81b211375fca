//! Locations that several inputs or outputs share (`component`): one declaration, whose lanes are theirs.

use super::binary::{Global, R, literal, malformed};
use super::convert::Converter;
use super::interface::{Io, Says, unique};
use super::place::Slot;
use super::types::{Num, Ty};
use retroshade_ir::inst::MemRef;
use retroshade_ir::module::{Binding, IoDecl};
use retroshade_ir::{Opcode, Value};
use rustc_hash::FxHashMap;
use spirv::Decoration;

/// Lanes of a location.
const LANES: u32 = 4;

/// A location that is shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    /// Lanes up to the last that someone has.
    lanes: u8,
    /// The names of all.
    name: String,
    /// Whether one of them begins behind the first lane.
    behind: bool,
    /// The value of the input, once it is declared.
    input: Option<Value>,
    /// The number of the output in [`Converter::packed`].
    output: Option<usize>,
}

/// A location; the second colour of a target is apart from the first.
pub(crate) fn packed_key(location: u32, index: Option<u32>) -> u32 {
    location.saturating_mul(2) | index.unwrap_or(0).min(1)
}

impl Converter<'_> {
    /// The locations of which someone does not have the first lane.
    pub(crate) fn shared_locations(&self, all: &[&Global], vertices: bool) -> FxHashMap<u32, Packed> {
        let mut found: FxHashMap<u32, Packed> = FxHashMap::default();
        for g in all {
            let says = Says::default().and(self.b.decorations(g.id));
            let ty = self.types.shape(g.ty).unwrap_or(Ty::Opaque);
            let ty = if vertices { ty.child(self.types, 0) } else { ty };
            if let Some(l) = says.location {
                self.count_lanes(self.b.name(g.id).unwrap_or_default(), ty, says, l, &mut found);
            }
            let Ty::Struct(id) = ty else { continue };
            for n in 0..ty.len(self.types) {
                let list = self.b.of_member(id, n);
                if let Some(l) = literal(list, Decoration::Location) {
                    let name = self.member_name("", ty, n);
                    self.count_lanes(&name, ty.child(self.types, n), says.and(list), l, &mut found);
                }
            }
        }
        found.retain(|_, p| p.behind);
        found
    }

    fn count_lanes(&self, name: &str, mut ty: Ty, says: Says, location: u32, found: &mut FxHashMap<u32, Packed>) {
        let count = self.locations(ty).min(1 << 10);
        while let Ty::Array(id) = ty {
            ty = self.types.array(id).elem;
        }
        let lanes = match ty {
            Ty::Scalar(_) => 1,
            Ty::Vector(n, _) => n,
            _ => return,
        };
        let first = says.component.unwrap_or(0).min(LANES) as u8;
        for l in location..location.saturating_add(count) {
            let p = found.entry(packed_key(l, says.index)).or_default();
            p.lanes = p.lanes.max(first + lanes).min(LANES as u8);
            p.behind |= first != 0;
            if !p.name.is_empty() {
                p.name.push('_');
            }
            p.name.push_str(name);
        }
    }

    /// Declares an input or output that shares its location, or finds what the others declared.
    pub(crate) fn packed_leaf(&mut self, name: &str, ty: Ty, says: Says, io: &mut Io) -> R<Slot> {
        let location = io.next;
        io.next += 1;
        let t = self.ir_ty(ty)?;
        let first = says.component.unwrap_or(0).min(LANES) as u8;
        let key = packed_key(location, says.index);
        let Some(mut p) = io.packed.get(&key).cloned() else { return Err(malformed(self.at, "a location that nobody shares")) };
        if io.vertices.is_some() {
            let what = "inputs of a geometry program stand one at a location on all of the machines";
            return Err(self.error("F0123", format!("`{name}` shares its location: {what}")));
        }
        if first + t.lanes > p.lanes {
            return Err(malformed(self.at, format_args!("`{name}` ends behind the last lane of its location")));
        }
        let whole = t.with_lanes(p.lanes);
        let var = self.ssa.var(t);
        let mut decl = IoDecl::at_location(&unique(&p.name, &io.taken, Binding::Location(location)), whole, location);
        says.describe(&mut decl);
        decl.source_type = ty.num().and_then(Num::source).map(str::to_string);
        decl.span = self.span;
        let known = p.input.is_some() || p.output.is_some();
        if !known {
            io.taken.push(decl.name.clone());
        }
        if io.output {
            let at = match p.output {
                Some(at) => at,
                None => {
                    let id = self.out.outputs.push(decl);
                    self.packed.push((MemRef::Output(id), whole, Vec::new()));
                    self.packed.len() - 1
                }
            };
            p.output = Some(at);
            let (_, all, parts) = &mut self.packed[at];
            parts.push((var, first));
            let same = *all == whole;
            if says.invariant {
                self.invariant.insert(var.0);
            }
            if !same {
                return Err(malformed(self.at, format_args!("`{name}` shares its location with numbers of another type")));
            }
        } else {
            let v = match p.input {
                Some(v) => v,
                None => {
                    let id = self.out.inputs.push(decl);
                    self.b().load(whole, MemRef::Input(id), 0, None)
                }
            };
            p.input = Some(v);
            if self.func().ty(v) != whole {
                return Err(malformed(self.at, format_args!("`{name}` shares its location with numbers of another type")));
            }
            let pattern: Vec<u8> = (first..first + t.lanes).collect();
            let part = self.swizzle(v, &pattern);
            self.write_var(var, part);
        }
        io.packed.insert(key, p);
        Ok(Slot::Leaf(var))
    }

    /// Writes the outputs that share locations; gives those that must not vary.
    pub(crate) fn write_packed(&mut self) -> Vec<Value> {
        let mut invariant = Vec::new();
        for (output, ty, parts) in self.packed.clone() {
            let mut lanes: Vec<Option<Value>> = vec![None; ty.lanes.into()];
            for (var, first) in parts {
                let v = self.read_var(var);
                if self.func().def_if(v, Opcode::Undef).is_some() {
                    continue;
                }
                if self.invariant.contains(&var.0) {
                    invariant.push(v);
                }
                for (n, lane) in self.lanes(v).into_iter().enumerate() {
                    lanes[usize::from(first) + n] = Some(lane);
                }
            }
            if lanes.iter().all(Option::is_none) {
                continue;
            }
            let zero = self.splat_const(ty.lane(), 0);
            let lanes: Vec<Value> = lanes.into_iter().map(|l| l.unwrap_or(zero)).collect();
            let v = self.vector(&lanes);
            self.b().store(output, 0, v, None);
        }
        invariant
    }
}
