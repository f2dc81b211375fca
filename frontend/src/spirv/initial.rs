//! First values of uniforms, which OpenGL's have until the host sets them. Kept for the host: no machine has a place for them in its programs.

use super::binary::{Global, R};
use super::consts::Const;
use super::convert::Converter;
use super::interface::is_loose;
use super::place::UniformTree;
use super::types::Ty;
use retroshade_ir::surface::InitialValue;
use retroshade_ir::{Type, Uniform};
use spirv::StorageClass;
use std::collections::BTreeMap;

/// What the name of a variable begins with that has the first value of a uniform: glslang has none on uniforms in SPIR-V for Vulkan.
pub(crate) const INITIAL: &str = "shaderc_initial_";

impl Converter<'_> {
    /// Lists the first values of uniforms.
    pub(crate) fn initial_values(&mut self, globals: &[Global]) -> R<()> {
        let mut found = BTreeMap::new();
        for g in globals {
            let Some(tree) = self.uniforms.get(&g.id).cloned() else { continue };
            if let Some(c) = g.init.and_then(|id| self.consts.get(&id)) {
                flatten(&tree, c, &mut found);
            }
            let loose = self.b.name(g.ty).is_some_and(is_loose);
            let Some(Ty::Struct(id)) = self.types.shape(g.ty).filter(|_| loose) else { continue };
            let UniformTree::Struct(parts) = &*tree else { continue };
            for (part, m) in parts.iter().zip(self.types.struct_members(id)) {
                let name = m.name.as_deref().unwrap_or_default();
                let same = |v: &&Global| {
                    v.storage == StorageClass::Private && self.b.name(v.id).is_some_and(|n| n.strip_prefix(INITIAL) == Some(name))
                };
                let Some(v) = self.b.globals.iter().find(same) else { continue };
                let Some(c) = self.used.tables.get(&v.id).and_then(|c| self.consts.get(c)) else {
                    self.span = (self.facts.declared)(g.id, name);
                    return Err(self.error("F0024", format!("the initial value of the uniform `{name}` is no constant")));
                };
                flatten(part, c, &mut found);
            }
        }
        let values = found.into_iter().map(|(u, words)| InitialValue { uniform: self.out.uniforms[u].name.clone(), words });
        self.out.surface.initial = values.collect();
        Ok(())
    }
}

/// The words of a value, leaf by leaf, elements in their order.
fn flatten(tree: &UniformTree, c: &Const, out: &mut BTreeMap<Uniform, Vec<u32>>) {
    let part = |n: u32| c.part(n as usize).unwrap_or(Const::Null);
    match tree {
        UniformTree::Leaf(u, ty, _) => out.entry(*u).or_default().extend(lanes(*ty, c)),
        UniformTree::Truth(u) => out.entry(*u).or_default().push(u32::from(c.bits().unwrap_or(0) != 0)),
        UniformTree::Struct(parts) => (0..).zip(parts).for_each(|(n, t)| flatten(t, &part(n), out)),
        UniformTree::Array { count, elem, .. } => (0..*count).for_each(|n| flatten(elem, &part(n), out)),
        // The constant stands by columns, the uniform by rows.
        UniformTree::Rows(rows, tree) => {
            let UniformTree::Array { elem, .. } = &**tree else { return };
            let UniformTree::Leaf(u, ty, _) = &**elem else { return };
            for row in 0..usize::from(*rows) {
                let of = |column: u8| part(u32::from(column)).part(row).and_then(|x| x.bits()).unwrap_or(0);
                out.entry(*u).or_default().extend((0..ty.lanes).map(of));
            }
        }
        // Numbers smaller than a word are no loose uniforms.
        UniformTree::Small(..) | UniformTree::Nothing | UniformTree::Placeholder => {}
    }
}

fn lanes(ty: Type, c: &Const) -> Vec<u32> {
    match ty.lanes {
        1 => vec![c.bits().unwrap_or(0)],
        n => (0..usize::from(n)).map(|k| c.part(k).and_then(|x| x.bits()).unwrap_or(0)).collect(),
    }
}
