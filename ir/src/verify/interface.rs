//! Rules about declarations (V0051 to V0056).

use super::Verifier;
use crate::diag::Span;
use crate::module::{Binding, Builtin, IoDecl, Stage};
use crate::types::{F32, I1, I32, Type};
use std::collections::HashMap;

/// Whether a stage has a builtin as input (or output), and its type; `None` where it has not.
fn builtin(stage: Stage, input: bool, b: Builtin) -> Option<Type> {
    use Builtin::*;
    use Stage::*;
    let ty = match (b, stage, input) {
        (Position, Vertex, false) | (Position, Geometry, _) | (Position, Fragment, true) => F32.with_lanes(4),
        (VertexIndex | InstanceIndex, Vertex, true) => I32,
        (FrontFacing, Fragment, true) => I1,
        (LastColor, Fragment, true) => F32.with_lanes(4),
        (FragDepth, Fragment, false) => F32,
        (PointSize, Vertex, false) | (PointSize, Geometry, _) => F32,
        (PointCoord, Fragment, true) => F32.with_lanes(2),
        (PrimitiveIndex, Geometry, _) | (PrimitiveIndex, Fragment, true) => I32,
        (SampleIndex, Fragment, true) | (SampleMask, Fragment, _) => I32,
        (ClipDistance | CullDistance, Vertex, false) | (ClipDistance | CullDistance, Geometry, _) => F32,
        (ClipDistance | CullDistance, Fragment, true) => F32,
        (Layer | ViewportIndex, Geometry | Vertex, false) | (Layer | ViewportIndex, Fragment, true) => I32,
        (ViewIndex, Vertex | Geometry | Fragment, true) => I32,
        (InvocationId | VertexCount, Geometry, true) => I32,
        (LocalInvocationIndex, Compute, true) => I32,
        (GlobalInvocationId | LocalInvocationId | WorkgroupId | NumWorkgroups, Compute, true) => I32.with_lanes(3),
        _ => return None,
    };
    Some(ty)
}

impl Verifier<'_> {
    pub(super) fn interface(&mut self) {
        let m = self.m;
        let none = Span::NONE;
        match (m.stage, &m.geometry) {
            (Stage::Geometry, None) => self.error("V0051", none, "a geometry program declares `geometry INPUT -> OUTPUT max_vertices(n)`"),
            (Stage::Geometry, Some(g)) => {
                use crate::module::Primitive::*;
                if matches!(g.input, LineStrip | TriangleStrip)
                    || g.output == Patch
                    || !matches!(g.output, Points | LineStrip | TriangleStrip)
                {
                    self.error("V0051", none, format!("a geometry program cannot go from {} to {}", g.input.name(), g.output.name()));
                }
                if !(1..=1024).contains(&g.max_vertices) || !(1..=127).contains(&g.invocations) {
                    self.error("V0054", none, "a geometry program emits 1 to 1024 vertices and runs 1 to 127 times");
                }
            }
            (s, Some(_)) => self.error("V0051", none, format!("a {} program declares no primitives", s.name())),
            (_, None) => {}
        }
        if m.early_depth && m.stage != Stage::Fragment {
            self.error("V0051", none, "only a fragment program can ask for early depth tests");
        }
        let [x, y, z] = m.workgroup_size.map(u64::from);
        if m.stage == Stage::Compute {
            if x * y * z == 0 || x.saturating_mul(y).saturating_mul(z) > 1 << 16 {
                self.error("V0054", none, format!("a workgroup of {x} × {y} × {z} threads"));
            }
        } else if (x, y, z) != (1, 1, 1) {
            self.error("V0051", none, "only a compute program has a workgroup size");
        }
        if m.stage != Stage::Compute {
            for s in m.shared.values() {
                self.error("V0051", s.span, "only a compute program has shared memory");
            }
        }
        for s in m.shared.values() {
            self.lanes(&s.name, s.ty, s.span);
            if s.count == 0 || u64::from(s.count) * u64::from(s.ty.lanes) > 1 << 24 {
                self.error("V0054", s.span, format!("`%{}` has {} elements", s.name, s.count));
            }
        }
        self.names();
        self.io(m.inputs.values(), true);
        self.io(m.outputs.values(), false);
        // What the text form writes behind the textures stands behind the others.
        if !m.uniforms.values().is_sorted_by_key(|u| u.size_of.is_some()) {
            self.error("V0054", Span::NONE, "sizes of textures (`size_of`) are the last uniforms");
        }
        for u in m.uniforms.values() {
            self.lanes(&u.name, u.ty, u.span);
            let bytes = |d: &crate::module::Dim| u64::from(d.count.max(1) - 1) * u64::from(d.stride);
            let size = u.dims.iter().fold(u64::from(u.ty.lanes) * 4, |n, d| n.saturating_add(bytes(d)));
            let elements = u.dims.iter().fold(1u64, |n, d| n.saturating_mul(u64::from(d.count)));
            if elements == 0 || elements > 1 << 26 || size.saturating_add(u64::from(u.offset)) > 1 << 28 {
                self.error("V0054", u.span, format!("`%{}` has no elements, or {size} bytes", u.name));
            }
            if u.offset % 4 != 0 {
                self.error("V0054", u.span, format!("`%{}` lies at byte {}, which is no multiple of 4", u.name, u.offset));
            }
            if u.unit == 0 || u.dims.iter().any(|d| d.count > 1 && (d.stride == 0 || d.stride % u.unit.max(1) != 0)) {
                self.error("V0054", u.span, format!("the strides of `%{}` are no multiples of its unit of {} bytes", u.name, u.unit));
            }
            if u.size_of.is_some_and(|t| !m.textures.is_valid(t) || u.ty != F32.with_lanes(4) || !u.dims.is_empty()) {
                self.error("V0054", u.span, format!("`%{}` holds the size of a texture, but is no `f32x4` or names none", u.name));
            }
            if u.matrix && (u.dims.is_empty() || !u.ty.is_vector()) {
                self.error("V0054", u.span, format!("`%{}` is no matrix: that is a vector type with a number of columns", u.name));
            }
        }
    }

    /// Names stand in comments of assembly, which end with their line, and in containers, where a zero ends them.
    fn names(&mut self) {
        let m = self.m;
        let io = m.inputs.values().chain(m.outputs.values()).map(|d| (&d.name, d.span));
        let uniforms = m.uniforms.values().map(|d| (&d.name, d.span));
        let textures = m.textures.values().map(|d| (&d.name, d.span));
        let memory = m.storage.values().map(|d| (&d.name, d.span)).chain(m.shared.values().map(|d| (&d.name, d.span)));
        let functions = m.functions.values().flat_map(|f| f.locals.values().map(|l| &l.name).chain([&f.name]));
        let unplaced = functions.chain([&m.name]).map(|name| (name, Span::NONE));
        for (name, span) in io.chain(uniforms).chain(textures).chain(memory).chain(unplaced) {
            if name.contains(char::is_control) {
                self.error("V0056", span, format!("the name {name:?} has a control character"));
            }
        }
    }

    /// A vector has 1 to 4 lanes.
    fn lanes(&mut self, name: &str, ty: Type, span: Span) {
        if !(1..=4).contains(&ty.lanes) {
            self.error("V0054", span, format!("`%{name}` has {} lanes", ty.lanes));
        }
    }

    fn io<'d>(&mut self, decls: impl Iterator<Item = &'d IoDecl>, input: bool) {
        let m = self.m;
        let way = if input { "input" } else { "output" };
        let mut seen: HashMap<(Binding, u8), Span> = HashMap::new();
        for d in decls {
            let per_vertex = input && m.stage == Stage::Geometry;
            self.lanes(&d.name, d.ty, d.span);
            if d.count == 0 || d.count > 4096 {
                self.error("V0054", d.span, format!("`%{}` has {} elements", d.name, d.count));
                continue;
            }
            match d.binding {
                Binding::Builtin(b) => {
                    match builtin(m.stage, input, b) {
                        None => {
                            let e = format!("a {} program has no {way} `{}`", m.stage.name(), b.name());
                            self.error("V0052", d.span, e);
                        }
                        Some(t) if t != d.ty && !matches!(b, Builtin::ClipDistance | Builtin::CullDistance) => {
                            self.error("V0052", d.span, format!("`{}` is {t}, not {}", b.name(), d.ty));
                        }
                        Some(_) => {}
                    }
                    self.once(&mut seen, d, (d.binding, 0), way);
                }
                Binding::Location(l) => {
                    if m.stage == Stage::Compute {
                        self.error("V0051", d.span, format!("a compute program has no {way} at a location"));
                    }
                    let count = if per_vertex { 1 } else { d.count };
                    for k in 0..count {
                        if !self.once(&mut seen, d, (Binding::Location(l.saturating_add(k)), d.blend_source), way) {
                            break;
                        }
                    }
                }
            }
            let vertices = m.geometry.as_ref().map(|g| g.input.vertices());
            let single = matches!(
                d.binding,
                Binding::Builtin(Builtin::PrimitiveIndex | Builtin::InvocationId | Builtin::ViewIndex | Builtin::VertexCount)
            );
            if let (true, Some(n), false) = (per_vertex, vertices, single)
                && d.count != n
                && n != 0
            {
                self.error("V0055", d.span, format!("`%{}` has {} elements; the primitive has {n} vertices", d.name, d.count));
            }
        }
    }

    fn once(&mut self, seen: &mut HashMap<(Binding, u8), Span>, d: &IoDecl, key: (Binding, u8), way: &str) -> bool {
        match seen.insert(key, d.span) {
            None => true,
            Some(first) => {
                let what = match key.0 {
                    Binding::Location(l) => format!("location {l}"),
                    Binding::Builtin(b) => format!("`{}`", b.name()),
                };
                let e = crate::Diagnostic::error("V0053", d.span, format!("two {way}s have {what}")).note(first, "first here");
                self.errors.push(e);
                false
            }
        }
    }
}
