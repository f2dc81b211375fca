//! Rules about variables, textures and stages in code (V0030 to V0041, V0050).

use super::{At, Verifier};
use crate::diag::Span;
use crate::entities::FuncId;
use crate::inst::{Imm, MemRef, TexInfo, TexLod, TexOp};
use crate::module::{Access, Stage, TexDim};
use crate::opcode::Opcode;
use crate::types::{F32, I32, Scalar, Type};

/// What a variable offers to loads and stores.
struct Variable {
    ty: Type,
    /// One past the highest constant index.
    count: u64,
}

impl Verifier<'_> {
    fn variable(&self, at: &At, var: MemRef) -> Option<Variable> {
        let m = self.m;
        let v = |ty, count: u32| Some(Variable { ty, count: u64::from(count) });
        match var {
            MemRef::Input(i) => m.inputs.get(i).and_then(|d| v(d.ty, d.count)),
            MemRef::Output(o) => m.outputs.get(o).and_then(|d| v(d.ty, d.count)),
            MemRef::Uniform(u) => m.uniforms.get(u).map(|d| {
                let steps: u64 = d.dims.iter().map(|x| u64::from(x.count.max(1) - 1) * u64::from(x.stride / d.unit.max(1))).sum();
                Variable { ty: d.ty, count: 1 + steps }
            }),
            MemRef::Local(l) => at.f.locals.get(l).and_then(|d| v(d.ty, d.count)),
            MemRef::Shared(s) => m.shared.get(s).and_then(|d| v(d.ty, d.count)),
            MemRef::Storage(s) => m.storage.get(s).map(|d| {
                let count = if d.repeat.is_empty() { d.head.len() as u64 } else { u64::MAX };
                Variable { ty: I32, count }
            }),
        }
    }

    /// Local arrays have elements (V0054).
    pub(super) fn locals(&mut self, id: FuncId) {
        for l in self.m.functions[id].locals.values() {
            if l.count == 0 || !(1..=4).contains(&l.ty.lanes) || u64::from(l.count) * u64::from(l.ty.lanes) > 1 << 24 {
                self.error("V0054", Span::NONE, format!("the local array `%{}` has {} elements", l.name, l.count));
            }
        }
    }

    pub(super) fn memory(&mut self, at: &At) {
        let d = at.d;
        let (var, offset) = match &d.imm {
            Imm::Mem { var, offset } | Imm::Atomic { var, offset, .. } => (*var, *offset),
            Imm::Tex(t) => return self.texture(at, t),
            _ => return,
        };
        use Opcode::*;
        let kind = matches!(
            (d.op, var),
            (Input, MemRef::Input(_))
                | (Output, MemRef::Output(_))
                | (Uniform, MemRef::Uniform(_))
                | (LocalLoad | LocalStore, MemRef::Local(_))
                | (SharedLoad | SharedStore, MemRef::Shared(_))
                | (StorageLoad | StorageStore | StorageLen, MemRef::Storage(_))
                | (Atomic, MemRef::Shared(_) | MemRef::Storage(_))
        );
        let Some(v) = self.variable(at, var).filter(|_| kind) else {
            return self.error("V0032", at.span, format!("`{}` does not name a variable of its kind", d.op.name()));
        };
        let stored = match d.op {
            Output | LocalStore | SharedStore | StorageStore => 1,
            Atomic => usize::from(matches!(d.imm, Imm::Atomic { op: crate::AtomicOp::Cas, .. })) + 1,
            _ => 0,
        };
        if let Some(t) = at.arg(stored).filter(|t| *t != I32) {
            self.error("V0021", at.span, format!("the index of `{}` is {t}; it must be i32", d.op.name()));
        }
        let value = if stored > 0 { at.arg(0) } else { at.result() };
        let Some(value) = value else { return };
        let dynamic = at.args.len() > stored;
        let words = if matches!(var, MemRef::Storage(_)) && d.op != Atomic { u64::from(value.lanes) } else { 1 };
        if !dynamic && d.op != StorageLen && u64::from(offset) + words > v.count {
            let m = format!("index {offset} lies outside a variable of {} elements", v.count);
            self.error("V0030", at.span, m);
        }
        let fits = match d.op {
            // A narrower load reads the first lanes.
            Input | Uniform => value.scalar == v.ty.scalar && value.lanes <= v.ty.lanes,
            StorageLoad | StorageStore => value.scalar != Scalar::I1,
            StorageLen => value == I32,
            Atomic => {
                let word = matches!(var, MemRef::Storage(_)) || v.ty == I32;
                let operands = at.args.iter().take(stored).all(|t| *t == I32);
                word && operands && at.result() == Some(I32)
            }
            _ => value == v.ty,
        };
        if !fits {
            let wanted = match d.op {
                StorageLoad | StorageStore => "i32, f32 or f16".to_string(),
                Atomic | StorageLen => "i32".to_string(),
                _ => v.ty.to_string(),
            };
            self.error("V0031", at.span, format!("`{}` moves {value}, but the variable holds {wanted}", d.op.name()));
        }
        if let MemRef::Storage(s) = var {
            let access = self.m.storage[s].access;
            let wrong = match d.op {
                StorageLoad => access == Access::Write,
                StorageStore => access == Access::Read,
                Atomic => access != Access::ReadWrite,
                _ => false,
            };
            if wrong {
                let m = format!("`{}` on `%{}`, whose access is {}", d.op.name(), self.m.storage[s].name, access.name());
                self.error("V0033", at.span, m);
            }
        }
    }

    fn texture(&mut self, at: &At, t: &TexInfo) {
        let Some(decl) = self.m.textures.get(t.texture) else {
            return self.error("V0032", at.span, "`tex` does not name a texture");
        };
        let float_lanes = match decl.dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            TexDim::D3 | TexDim::Cube => 3,
        };
        let mut problems: Vec<String> = Vec::new();
        if t.compare && !decl.shadow {
            problems.push("a comparison needs a shadow texture".into());
        }
        if t.compare && !matches!(t.op, TexOp::Sample | TexOp::Gather) {
            problems.push("only samples and gathers compare".into());
        }
        if decl.multisampled && matches!(t.op, TexOp::Sample | TexOp::Gather | TexOp::Lod) {
            problems.push("a multisampled texture is only fetched".into());
        }
        if t.op == TexOp::Gather && matches!(decl.dim, TexDim::D1 | TexDim::D3) {
            problems.push("a gather needs a 2d or cube texture".into());
        }
        if t.op == TexOp::Fetch && decl.dim == TexDim::Cube {
            problems.push("a cube texture cannot be fetched".into());
        }
        let lod_fits = match t.op {
            TexOp::Sample => true,
            TexOp::Gather => matches!(t.lod, TexLod::Implicit | TexLod::Zero),
            TexOp::Lod => t.lod == TexLod::Implicit,
            _ => matches!(t.lod, TexLod::Implicit | TexLod::Level | TexLod::Zero),
        };
        if !lod_fits {
            problems.push(format!("`{}` has no level of kind `{}`", t.op.name(), t.lod.name()));
        }
        if decl.arrayed && decl.dim == TexDim::D3 {
            problems.push("a 3d texture has no layers".into());
        }
        // Operands in their order.
        let mut wanted: Vec<Type> = Vec::new();
        let sampled = matches!(t.op, TexOp::Sample | TexOp::Gather | TexOp::Lod);
        if sampled || t.op == TexOp::Fetch {
            let scalar = if sampled { F32 } else { I32 };
            wanted.push(scalar.with_lanes(float_lanes));
            if decl.arrayed && t.op != TexOp::Lod {
                wanted.push(I32);
            }
            if t.compare {
                wanted.push(F32);
            }
        }
        match t.lod {
            TexLod::Bias | TexLod::Level => wanted.push(if sampled { F32 } else { I32 }),
            TexLod::Grad => wanted.extend([F32.with_lanes(float_lanes); 2]),
            TexLod::Implicit | TexLod::Zero => {}
        }
        if t.op == TexOp::Fetch && decl.multisampled {
            wanted.push(I32);
        }
        let list = |t: &[Type]| t.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
        if at.args != wanted {
            problems.push(format!("the operands are ({}); they must be ({})", list(&at.args), list(&wanted)));
        }
        let kind = if decl.kind.is_float() { F32 } else { I32 };
        let size = I32.with_lanes((float_lanes.min(if decl.dim == TexDim::Cube { 2 } else { 3 }) + u8::from(decl.arrayed)).min(4));
        let result = match t.op {
            TexOp::Sample if t.compare => F32,
            TexOp::Sample | TexOp::Gather | TexOp::Fetch => kind.with_lanes(4),
            TexOp::Size => size,
            TexOp::Lod => F32.with_lanes(2),
            #[allow(unreachable_patterns)]
            _ => I32,
        };
        // A depth fetch may give its only component.
        let depth_fetch = decl.shadow && t.op != TexOp::Size && at.result() == Some(F32);
        // Machines may deliver texels in half precision.
        let half = |r: Type| self.legal && result.scalar == Scalar::F32 && r == result.with_scalar(Scalar::F16);
        if let Some(r) = at.result().filter(|r| *r != result && !depth_fetch && !half(*r)) {
            problems.push(format!("the result is {r}; it must be {result}"));
        }
        for p in problems {
            self.error("V0040", at.span, format!("`tex {}` on `%{}`: {p}", t.op.name(), decl.name));
        }
        if t.component > 3 || (t.component != 0 && t.op != TexOp::Gather) {
            self.error("V0041", at.span, "a component is 0 to 3, and only a gather has one");
        }
        let beyond = t.offset.iter().skip(usize::from(float_lanes)).any(|o| *o != 0);
        if t.offset != [0; 3] && (decl.dim == TexDim::Cube || beyond || matches!(t.op, TexOp::Size | TexOp::Lod)) {
            self.error("V0041", at.span, "the texel offset does not fit the texture's dimensions");
        }
        let range = t.op.offsets();
        if let Some(o) = t.offset.iter().find(|o| !range.contains(*o)) {
            let m = format!("a texel offset of {o}: those of a {} are {} to {}", t.op.name(), range.start(), range.end());
            self.error("V0041", at.span, m);
        }
    }

    /// Operations that only some stages have (V0050).
    pub(super) fn stage(&mut self, at: &At) {
        use Opcode::*;
        let stage = self.m.stage;
        let only = match at.d.op {
            Ddx | Ddy | Discard | Kill => Stage::Fragment,
            EmitVertex | EndPrimitive => Stage::Geometry,
            Barrier | SharedLoad | SharedStore => Stage::Compute,
            Tex => {
                if let Imm::Tex(t) = &at.d.imm
                    && t.lod == TexLod::Bias
                    && stage != Stage::Fragment
                {
                    self.error("V0050", at.span, "a bias belongs to fragment programs");
                }
                if let Imm::Tex(t) = &at.d.imm
                    && t.op == TexOp::Lod
                    && stage != Stage::Fragment
                {
                    self.error("V0050", at.span, "the level of a sample belongs to fragment programs");
                }
                return;
            }
            _ => return,
        };
        if stage != only {
            let m = format!("`{}` belongs to {} programs; this is a {} program", at.d.op.name(), only.name(), stage.name());
            self.error("V0050", at.span, m);
        }
        let _ = at.id;
    }
}
