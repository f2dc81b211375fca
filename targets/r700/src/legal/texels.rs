//! Where textures are read: directions into cubes, and texels beside a place.

use cranelift_entity::EntityRef;
use retroshade_ir::inst::{TexInfo, TexLod};
use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{Imm, Module, Opcode, TexDim, TexOp, Value};

/// Cube maps: CUBE finds the face, the reciprocal of the major axis scales the coordinates to 1…2. `r700.cube_direction`
/// stands for what the sampler makes of them; it costs nothing.
pub fn cubes(m: &mut Module) -> bool {
    let cube: Vec<bool> = m.textures.values().map(|t| t.dim == TexDim::Cube).collect();
    rewrite_of(m.main_mut(), &[Opcode::Tex], |b, i| {
        let d = b.func.insts[i].clone();
        let Imm::Tex(info) = &d.imm else { return Action::Keep };
        if !cube[info.texture.index()] || !matches!(info.op, TexOp::Sample | TexOp::Gather | TexOp::Lod) {
            return Action::Keep;
        }
        if b.func.def_if(d.args[0], Opcode::Ext).is_some() {
            return Action::Keep;
        }
        let xyz: Vec<Value> = (0..3).map(|l| b.extract(d.args[0], l)).collect();
        let found = b.typed(Opcode::Ext, F32.with_lanes(4), &xyz, Imm::Ext("r700.cube".into()));
        let [t, s, major, face] = [0, 1, 2, 3].map(|l| b.extract(found, l));
        let major = b.ins(Opcode::Fabs, &[major]);
        let r = b.ins(Opcode::Frcp, &[major]);
        let middle = b.fconst(F32, 1.5);
        let s = b.ins(Opcode::Fmad, &[s, r, middle]);
        let t = b.ins(Opcode::Fmad, &[t, r, middle]);
        let at = b.typed(Opcode::Ext, F32.with_lanes(3), &[s, t, face], Imm::Ext("r700.cube_direction".into()));
        b.func.insts[i].args[0] = at;
        Action::Changed
    })
}

/// LD takes no offset: it is added to the coordinates.
pub fn fetch_offsets(m: &mut Module) -> bool {
    rewrite_of(m.main_mut(), &[Opcode::Tex], |b, i| {
        let d = b.func.insts[i].clone();
        let Imm::Tex(info) = &d.imm else { return Action::Keep };
        if info.op != TexOp::Fetch || info.offset == [0; 3] {
            return Action::Keep;
        }
        let ty = b.func.ty(d.args[0]);
        let mut by = [0; 4];
        by.iter_mut().zip(info.offset).for_each(|(to, o)| *to = i32::from(o) as u32);
        let offset = b.constant(ty, by);
        let at = b.ins(Opcode::Iadd, &[d.args[0], offset]);
        let data = &mut b.func.insts[i];
        data.args[0] = at;
        if let Imm::Tex(info) = &mut data.imm {
            info.offset = [0; 3];
        }
        Action::Changed
    })
}

/// A gather whose offset has no room in its word begins at the corner between the four texels.
pub fn far_gathers(m: &mut Module) -> bool {
    let decls: Vec<(TexDim, bool)> = m.textures.values().map(|t| (t.dim, t.arrayed)).collect();
    rewrite_of(m.main_mut(), &[Opcode::Tex], |b, i| {
        let d = b.func.insts[i].clone();
        let Imm::Tex(info) = &d.imm else { return Action::Keep };
        let (dim, arrayed) = decls[info.texture.index()];
        // Words have room for the offsets of samples.
        let near = TexOp::Sample.offsets();
        if info.op != TexOp::Gather || dim != TexDim::D2 || info.offset.iter().all(|o| near.contains(o)) {
            return Action::Keep;
        }
        let precise = std::mem::replace(&mut b.precise, true);
        let ask = TexInfo { op: TexOp::Size, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0, texture: info.texture };
        let size = b.tex(I32.with_lanes(2 + u8::from(arrayed)), ask, &[]);
        let at: Vec<Value> = (0..2u8)
            .map(|l| {
                let size = b.extract(size, l);
                let size = b.typed(Opcode::S2f, F32, &[size], Imm::None);
                let x = b.extract(d.args[0], l);
                let beyond = b.fconst(F32, 1.0 + f32::from(info.offset[usize::from(l)]));
                let corner = b.gather_corner(x, size, beyond);
                let r = b.ins(Opcode::Frcp, &[size]);
                b.ins(Opcode::Fmul, &[corner, r])
            })
            .collect();
        b.precise = precise;
        let at = b.build(&at);
        let data = &mut b.func.insts[i];
        data.args[0] = at;
        if let Imm::Tex(info) = &mut data.imm {
            info.offset = [0; 3];
        }
        Action::Changed
    })
}
