//! What the module declares for its host: blocks with all members, samplers of their own, specialisation constants.

use super::binary::{Global, Id};
use super::consts::Const;
use super::convert::Converter;
use super::interface::is_loose;
use super::types::{Kind, Num, ResourceDef, Ty};
use retroshade_ir::surface::{Block, BlockKind, BlockMember, SamplerPlace, SpecConstant};
use spirv::{Decoration, Op, StorageClass};

/// Structures within structures that are listed.
const MAX_DEPTH: u32 = 16;
/// Members of one block that are listed.
const MAX_MEMBERS: u64 = 1 << 12;
/// Elements of an array of blocks that are listed.
const MAX_BLOCKS: u32 = 64;

/// A number type as reflection spells it.
fn scalar(n: Num) -> String {
    match n.kind {
        Kind::Unsigned => format!("u{}", n.width),
        Kind::Signed => format!("i{}", n.width),
        Kind::Bool => "bool".to_string(),
        Kind::Float => format!("f{}", n.width),
    }
}

impl Converter<'_> {
    /// Lists blocks, samplers and specialisation constants.
    pub(crate) fn declare_surface(&mut self, globals: &[Global]) {
        for g in globals {
            let Some(ty) = self.types.shape(g.ty) else { continue };
            let (group, binding) = self.bindings.get(&g.id).copied().unwrap_or_default();
            let instance = self.b.name(g.id).unwrap_or_default().to_string();
            match (g.storage, ty) {
                (StorageClass::Uniform | StorageClass::PushConstant | StorageClass::StorageBuffer, _)
                    if self.types.nodes(ty) <= MAX_MEMBERS =>
                {
                    self.declare_block(g.storage, ty, instance, group, binding);
                }
                (StorageClass::UniformConstant, Ty::Resource(id)) if matches!(self.types.resource(id), ResourceDef::Sampler) => {
                    self.out.surface.samplers.push(SamplerPlace { name: instance, group, binding });
                }
                _ => {}
            }
        }
        for id in &self.b.specs {
            let Some(c) = self.b.constants.get(id) else { continue };
            let default = match c.inst.op {
                Op::SpecConstantTrue => Some(1),
                Op::SpecConstantFalse => Some(0),
                _ => c.inst.operands.get(2).copied(),
            };
            self.out.surface.constants.push(SpecConstant {
                id: self.b.literal(*id, Decoration::SpecId),
                name: self.b.name(*id).unwrap_or_default().to_string(),
                ty: self.types.shape(c.ty).and_then(Ty::num).map(scalar).unwrap_or_default(),
                default,
                value: self.consts.get(id).and_then(Const::bits).unwrap_or(0),
            });
        }
    }

    /// A block, or an array of them at consecutive bindings.
    fn declare_block(&mut self, class: StorageClass, ty: Ty, instance: String, group: u32, binding: u32) {
        match ty {
            Ty::Array(id) => {
                let a = self.types.array(id);
                for k in 0..a.count.unwrap_or(0).min(MAX_BLOCKS) {
                    self.declare_block(class, a.elem, format!("{instance}[{k}]"), group, binding.saturating_add(k));
                }
            }
            Ty::Struct(id) => {
                let kind = match class {
                    _ if class == StorageClass::StorageBuffer || self.b.has(id, Decoration::BufferBlock) => BlockKind::Storage,
                    StorageClass::PushConstant => BlockKind::Push,
                    _ => BlockKind::Uniform,
                };
                let members = self.block_members(id, 0);
                let size = members.iter().map(|m| m.offset.saturating_add(m.size)).max().unwrap_or(0);
                let name = self.b.name(id).filter(|n| !is_loose(n)).unwrap_or_default().to_string();
                self.out.surface.blocks.push(Block { kind, name, instance, group, binding, size, members });
            }
            _ => {}
        }
    }

    fn block_members(&self, id: Id, depth: u32) -> Vec<BlockMember> {
        let offsets = self.types.offsets(id);
        let members = self.types.struct_members(id).iter().zip(offsets);
        let all = members.map(|(m, offset)| {
            let (mut ty, mut array) = (m.ty, Vec::new());
            while let Ty::Array(a) = ty {
                array.push((self.types.array(a).count.unwrap_or(0), self.types.array_stride(a)));
                ty = self.types.array(a).elem;
            }
            let matrix = matches!(ty, Ty::Matrix(..));
            let stride = m.matrix_stride.unwrap_or(16);
            let (one, inner, name) = match ty {
                Ty::Scalar(n) => (n.width / 8, Vec::new(), scalar(n)),
                Ty::Vector(k, n) => (n.width / 8 * u32::from(k), Vec::new(), format!("{}x{k}", scalar(n))),
                Ty::Matrix(c, r, n) => {
                    let (vectors, lanes) = if m.row_major { (r, c) } else { (c, r) };
                    (
                        stride.saturating_mul(u32::from(vectors) - 1).saturating_add(n.width / 8 * u32::from(lanes)),
                        Vec::new(),
                        format!("mat{c}x{r}"),
                    )
                }
                Ty::Struct(s) if depth < MAX_DEPTH => {
                    let inner = self.block_members(s, depth + 1);
                    let size = inner.iter().map(|m| m.offset.saturating_add(m.size)).max().unwrap_or(0);
                    (size, inner, self.b.name(s).unwrap_or_default().to_string())
                }
                _ => (0, Vec::new(), "?".to_string()),
            };
            // Of an array without a length only the stride is known.
            let before = |sum: u32, (n, stride): &(u32, u32)| sum.saturating_add(n.saturating_sub(1).saturating_mul(*stride));
            let size = if array.iter().any(|a| a.0 == 0) { 0 } else { array.iter().fold(one, before) };
            BlockMember {
                name: m.name.clone().unwrap_or_default(),
                ty: name,
                offset,
                size,
                array,
                matrix_stride: matrix.then_some(stride),
                row_major: matrix && m.row_major,
                members: inner,
            }
        });
        all.collect()
    }
}
