//! Bindings of what the source gives none: behind those that it gives, by the rules of docs/binding.md.

use super::binary::{Global, Id};
use super::convert::Converter;
use super::interface::{LOOSE, MAX_LEAVES};
use super::types::Ty;
use spirv::{Decoration, StorageClass};

impl Converter<'_> {
    /// Gives bindings to what has none: behind the ones that the source gives, in the order of declaration.
    pub(super) fn give_bindings(&mut self, globals: &[Global]) {
        let bound = |g: &&Global| matches!(g.storage, StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::UniformConstant);
        let mut next = 0u32;
        // Those that the entry does not use count as well, so that all entries agree.
        for g in self.b.globals.iter().filter(bound) {
            let group = self.b.literal(g.id, Decoration::DescriptorSet).unwrap_or(0);
            if let Some(b) = self.b.literal(g.id, Decoration::Binding).filter(|_| !self.is_default_block(g)) {
                self.bindings.insert(g.id, (group, b));
                if group == 0 {
                    next = next.max(b.saturating_add(self.bindings_of(g)).min(1 << 20));
                }
            }
        }
        let loose = |g: &Global| {
            g.storage == StorageClass::UniformConstant
                && self.types.shape(g.ty).is_some_and(|t| !matches!(t, Ty::Resource(_)) && self.has_number(t))
        };
        let mut default = None;
        let mut given: Vec<(Id, (u32, u32))> = Vec::new();
        for g in globals.iter().filter(|g| self.is_default_block(g)) {
            given.push((g.id, (0, next)));
            next += 1;
        }
        for g in globals.iter().filter(|g| loose(g)) {
            let first = *default.get_or_insert_with(|| {
                next += 1;
                next - 1
            });
            if self.types.shape(g.ty).is_some_and(|t| !t.has_resource(self.types)) {
                given.push((g.id, (0, first)));
            }
        }
        for g in globals.iter().filter(bound) {
            if self.bindings.contains_key(&g.id) || given.iter().any(|x| x.0 == g.id) {
                continue;
            }
            given.push((g.id, (self.b.literal(g.id, Decoration::DescriptorSet).unwrap_or(0), next)));
            next = next.saturating_add(self.bindings_of(g));
        }
        for g in globals.iter().filter(|g| g.storage == StorageClass::PushConstant) {
            given.push((g.id, (0, next)));
            next += 1;
        }
        self.extra = (next, 0);
        self.bindings.extend(given);
        self.default_binding = default.unwrap_or(0);
    }

    /// Bindings that a variable takes: one for each texture or block of an array.
    fn bindings_of(&self, g: &Global) -> u32 {
        let Some(mut ty) = self.types.shape(g.ty) else { return 1 };
        if g.storage == StorageClass::UniformConstant {
            return self.resources(ty).max(1);
        }
        let mut count = 1u32;
        while let Ty::Array(id) = ty {
            let a = self.types.array(id);
            count = count.saturating_mul(a.count.unwrap_or(1));
            ty = a.elem;
        }
        count.clamp(1, 1 << 20)
    }

    /// Whether a variable is the block into which glslang puts the loose uniforms.
    fn is_default_block(&self, g: &Global) -> bool {
        g.storage == StorageClass::Uniform && self.b.name(g.ty) == Some(LOOSE)
    }

    /// Whether a type holds numbers.
    pub(super) fn has_number(&self, ty: Ty) -> bool {
        match ty {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Matrix(..) => true,
            Ty::Array(id) => self.has_number(self.types.array(id).elem),
            Ty::Struct(id) => self.types.nodes(ty) <= MAX_LEAVES && self.types.struct_members(id).iter().any(|m| self.has_number(m.ty)),
            _ => false,
        }
    }
}
