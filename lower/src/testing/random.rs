//! Random programs: interface, control flow and scopes. Straight-line statements are in `emit.rs`.
//!
//! Programs are typed and verified by construction, always terminate, index inside their arrays, never divide by zero and
//! never depend on the order of invocations. Operations that need the quad or the workgroup stand in uniform flow only.

use super::profile::Profile;
use crate::rng::Rng;
use retroshade_ir::module::{Access, Dim, GeometryInfo, Primitive};
use retroshade_ir::types::{F32, I1, I32};
use retroshade_ir::*;
use retroshade_ir::{Builder, function::LocalDecl};

/// The words of storage that belong to one compute invocation.
pub(super) const OWN_WORDS: u32 = 8;

/// A function under construction and everything that a statement may use.
pub(super) struct Gen<'a> {
    pub rng: Rng,
    pub p: &'a Profile,
    pub m: Module,
    /// The function being filled; moved into the module when done.
    pub f: Function,
    pub block: Block,
    /// Values that may be used here, and how often each was.
    pub scope: Vec<Value>,
    pub uses: Vec<u8>,
    /// Instructions still to be made.
    pub left: i32,
    /// Whether all lanes come here together.
    pub uniform_flow: bool,
    /// Whether some lane may have left for good.
    pub left_early: bool,
    /// Whether lanes may not leave here: all have to come back to an operation of the whole quad or workgroup.
    pub must_stay: bool,
    /// Whether approximated operations are avoided.
    pub exact: bool,
    pub depth: u32,
    pub helper: bool,
    pub helpers: Vec<(FuncId, Vec<Type>, Vec<Type>)>,
    pub locals: Vec<(Local, Type, u32)>,
    /// Compute: first word of the invocation's own storage.
    pub own: Option<Value>,
    /// What lives until the results are written.
    pub held: Vec<Value>,
}

/// The program of a seed and an environment for it.
pub fn random_program(profile: &Profile, seed: u64) -> (Module, ShaderEnv) {
    let mut rng = Rng::new(seed);
    let stage = rng.of(&profile.stages);
    let exact = rng.chance(50);
    let mut g = Gen {
        m: Module::new(&format!("random {seed}"), stage),
        f: Function::new("main"),
        block: Block::from_u32(0),
        scope: Vec::new(),
        uses: Vec::new(),
        left: 0,
        uniform_flow: true,
        left_early: false,
        must_stay: false,
        exact,
        depth: 0,
        helper: false,
        helpers: Vec::new(),
        locals: Vec::new(),
        own: None,
        held: Vec::new(),
        p: profile,
        rng,
    };
    g.interface();
    if g.p.calls {
        let least = usize::from(profile.procedures);
        for n in 0..least + g.rng.below(4 - least) {
            g.helper_function(n);
        }
    }
    g.main();
    let mut rng = g.rng;
    let module = g.m;
    let env = super::envs::random_env(&module, profile.lanes, profile.mantissa, &mut rng);
    (module, env)
}

impl Gen<'_> {
    /// A builder at the current place.
    pub fn at(&mut self) -> Builder<'_> {
        let precise = self.rng.chance(8);
        let mut b = Builder::new(&mut self.f, self.block);
        b.precise = precise;
        b
    }

    /// A random float type of this program.
    pub fn float_type(&mut self) -> Type {
        let scalar = if self.p.f16 && self.rng.chance(12) { Scalar::F16 } else { Scalar::F32 };
        Type::new(scalar, self.lanes())
    }
    pub fn lanes(&mut self) -> u8 {
        self.rng.of(&[1, 1, 1, 2, 3, 4, 4])
    }
    /// A random type of a value.
    pub fn any_type(&mut self) -> Type {
        match self.rng.below(10) {
            0..=2 if self.p.ints => Type::new(Scalar::I32, self.lanes()),
            3 => I1,
            4 if self.p.bool_vectors => Type::new(Scalar::I1, self.lanes()),
            _ => self.float_type(),
        }
    }

    /// A type that a helper function takes or gives.
    fn passed_type(&mut self) -> Type {
        if self.p.procedures && self.p.small_ints && self.rng.chance(20) { I32 } else { self.any_type() }
    }

    fn interface(&mut self) {
        let stage = self.m.stage;
        let vertices = if stage == Stage::Geometry {
            let input = self.rng.of(&[Primitive::Points, Primitive::Lines, Primitive::Triangles, Primitive::TrianglesAdjacency]);
            let output = self.rng.of(&[Primitive::Points, Primitive::LineStrip, Primitive::TriangleStrip]);
            let max_vertices = 1 + self.rng.below(12) as u32;
            // A machine without a limit of its own emits what is beyond, too.
            let (output, max_vertices) = if self.p.only_strips { (Primitive::TriangleStrip, 1024) } else { (output, max_vertices) };
            let invocations = if self.p.instances { 1 + self.rng.below(3) as u32 } else { 1 };
            // What is beyond in one of several runs is not defined.
            let max_vertices = if invocations > 1 { 1024 / invocations } else { max_vertices };
            if self.p.instances {
                self.m.inputs.push(IoDecl::builtin(I32, Builtin::InvocationId));
            }
            self.m.geometry = Some(GeometryInfo { input, output, max_vertices, invocations });
            input.vertices()
        } else {
            1
        };
        if stage == Stage::Compute {
            self.m.workgroup_size = self.rng.of(&[[4, 1, 1], [8, 1, 1], [4, 2, 1], [2, 2, 2]]);
            for b in [
                Builtin::LocalInvocationIndex,
                Builtin::GlobalInvocationId,
                Builtin::LocalInvocationId,
                Builtin::WorkgroupId,
                Builtin::NumWorkgroups,
            ] {
                let ty = if b == Builtin::LocalInvocationIndex { I32 } else { I32.with_lanes(3) };
                self.m.inputs.push(IoDecl::builtin(ty, b));
            }
        } else {
            if stage == Stage::Fragment {
                self.m.inputs.push(IoDecl::builtin(F32.with_lanes(4), Builtin::Position));
                if !self.p.one_colour {
                    self.m.inputs.push(IoDecl::builtin(I1, Builtin::FrontFacing));
                }
            }
            if stage == Stage::Vertex && self.p.ints && self.rng.chance(40) {
                self.m.inputs.push(IoDecl::builtin(I32, Builtin::VertexIndex));
            }
            let mut location = 0;
            for n in 0..2 + self.rng.below(4) as u32 {
                let lanes = if n == 0 { 4 } else { self.lanes() };
                let int = self.p.ints && self.rng.chance(25) && n > 0;
                let lanes = if int && stage == Stage::Fragment { lanes.min(self.p.varying_ints) } else { lanes };
                let mut io =
                    IoDecl::at_location(&format!("in{n}"), Type::new(if int { Scalar::I32 } else { Scalar::F32 }, lanes), location);
                io.count = vertices;
                if stage != Stage::Geometry && self.p.io_arrays && self.rng.chance(10) {
                    io.count = 2;
                }
                location += if stage == Stage::Geometry { 1 } else { io.count };
                self.m.inputs.push(io);
            }
        }
        if stage != Stage::Compute {
            let first = if stage == Stage::Fragment {
                IoDecl::at_location("color", F32.with_lanes(4), 0)
            } else {
                IoDecl::builtin(F32.with_lanes(4), Builtin::Position)
            };
            self.m.outputs.push(first);
            let more = if stage == Stage::Fragment { self.rng.below(3) } else { 1 + self.rng.below(4) } as u32;
            let more = if self.p.one_colour && stage == Stage::Fragment { 0 } else { more };
            let mut location = 1;
            for n in 1..=more {
                let int = self.p.ints && self.rng.chance(30);
                let lanes = if stage == Stage::Fragment { 4 } else { self.lanes() };
                let lanes = if int && stage == Stage::Vertex { lanes.min(self.p.varying_ints) } else { lanes };
                let mut io =
                    IoDecl::at_location(&format!("out{n}"), Type::new(if int { Scalar::I32 } else { Scalar::F32 }, lanes), location);
                if stage == Stage::Vertex && self.p.io_arrays && self.rng.chance(10) {
                    io.count = 2;
                }
                location += io.count;
                self.m.outputs.push(io);
            }
        }
        self.uniforms();
        if self.p.textures {
            self.textures();
        }
        if stage == Stage::Compute {
            self.buffers();
        }
    }

    fn uniforms(&mut self) {
        let mut offset = 0;
        let mut add = |m: &mut Module, name: &str, ty: Type, dims: Vec<Dim>, matrix: bool| {
            let unit = if dims.is_empty() { ty.lanes as u32 * 4 } else { 16 };
            let u = UniformDecl {
                name: name.to_string(),
                ty,
                dims,
                matrix,
                rows: false,
                unit,
                group: 0,
                binding: 0,
                offset,
                range: None,
                source_type: None,
                size_of: None,
                span: Span::NONE,
            };
            offset = (offset + u.size() + 15) & !15;
            m.uniforms.push(u);
        };
        let dim = |count, stride| Dim { count, stride };
        add(&mut self.m, "scale", F32.with_lanes(4), vec![], false);
        add(&mut self.m, "table", F32.with_lanes(4), vec![dim(8, 16)], false);
        add(&mut self.m, "mvp", F32.with_lanes(4), vec![dim(4, 16)], true);
        add(&mut self.m, "flag", I1, vec![], false);
        if self.rng.chance(50) {
            add(&mut self.m, "bias", F32, vec![], false);
            add(&mut self.m, "items[].dir", F32.with_lanes(3), vec![dim(4, 32)], false);
        }
        if self.p.ints {
            add(&mut self.m, "count", I32, vec![], false);
            add(&mut self.m, "ids", I32.with_lanes(2), vec![dim(4, 16)], false);
        }
    }

    fn textures(&mut self) {
        let mut decl = |name: &str, dim, arrayed, shadow, kind, n: u32| {
            self.m.textures.push(TextureDecl { arrayed, shadow, kind, ..TextureDecl::new(name, dim, 1 + n) });
        };
        decl("tex", TexDim::D2, false, false, Scalar::F32, 0);
        if !self.p.rich_textures {
            return;
        }
        match self.rng.below(7) {
            0 | 1 | 5 if self.p.samples_only => {}
            0 => decl("layers", TexDim::D2, true, false, Scalar::F32, 1),
            1 => decl("shadow", TexDim::D2, false, true, Scalar::F32, 1),
            2 => decl("sky", TexDim::Cube, false, false, Scalar::F32, 1),
            3 => decl("volume", TexDim::D3, false, false, Scalar::F32, 1),
            4 => decl("ramp", TexDim::D1, false, false, Scalar::F32, 1),
            5 => decl("ids", TexDim::D2, false, false, Scalar::I32, 1),
            _ => {}
        }
    }

    fn buffers(&mut self) {
        for (n, (name, word, access)) in [
            ("own_words", Scalar::I32, Access::ReadWrite),
            ("own_floats", Scalar::F32, Access::ReadWrite),
            ("data", Scalar::F32, Access::Read),
            ("counters", Scalar::I32, Access::ReadWrite),
        ]
        .into_iter()
        .enumerate()
        {
            self.m.storage.push(StorageDecl {
                name: name.to_string(),
                head: vec![],
                repeat: vec![word],
                source_type: format!("array<{}>", if word == Scalar::F32 { "f32" } else { "u32" }),
                access,
                group: 0,
                binding: 8 + n as u32,
                span: Span::NONE,
            });
        }
        let threads = self.m.workgroup_size.iter().product();
        for (name, ty, count) in [("tile", F32, threads), ("wide", I32.with_lanes(2), threads), ("totals", I32, 16)] {
            self.m.shared.push(SharedDecl { name: name.to_string(), ty, count, span: Span::NONE });
        }
    }

    /// Adds local arrays to the function.
    fn declare_locals(&mut self) {
        self.locals.clear();
        if !self.p.locals {
            return;
        }
        for n in 0..self.rng.below(3) {
            let ty = if self.p.ints && self.rng.chance(40) { I32 } else { Type::new(Scalar::F32, self.lanes()) };
            let count = self.rng.of(&[2, 4, 8]);
            let l = self.f.locals.push(LocalDecl { name: format!("local{n}"), ty, count });
            self.locals.push((l, ty, count));
        }
    }

    fn helper_function(&mut self, n: usize) {
        self.f = Function::new(&format!("helper{n}"));
        self.block = self.f.add_block();
        self.scope.clear();
        self.uses.clear();
        (self.helper, self.uniform_flow, self.left_early, self.depth, self.own) = (true, false, false, 1, None);
        let more = usize::from(self.p.procedures);
        let params: Vec<Type> = (0..1 + more + self.rng.below(3 + more)).map(|_| self.passed_type()).collect();
        let results: Vec<Type> = (0..1 + self.rng.below(2 + more)).map(|_| self.passed_type()).collect();
        self.f.results = results.clone();
        for ty in &params {
            let v = self.f.add_param(self.block, *ty);
            self.define(v);
        }
        self.declare_locals();
        self.left = 6 + self.rng.below(14) as i32;
        self.body();
        self.leave();
        let f = std::mem::take(&mut self.f);
        let id = self.m.functions.push(f);
        self.helpers.push((id, params, results));
        self.helper = false;
    }

    fn main(&mut self) {
        self.f = Function::new("main");
        self.block = self.f.add_block();
        self.scope.clear();
        self.uses.clear();
        (self.helper, self.uniform_flow, self.left_early, self.depth) = (false, true, false, 0);
        self.declare_locals();
        self.prologue();
        self.hold();
        self.left = self.rng.range(self.p.size.0 as i32, self.p.size.1 as i32);
        self.body();
        if self.p.procedures {
            for n in (0..self.helpers.len()).chain(0..self.helpers.len()) {
                self.call_helper(n);
            }
        }
        self.leave();
        let f = std::mem::take(&mut self.f);
        let entry = self.m.entry;
        self.m.functions[entry] = f;
    }

    /// Loads some inputs and finds the invocation's own storage.
    fn prologue(&mut self) {
        let inputs: Vec<(Input, Type, u32)> = self.m.inputs.iter().map(|(i, d)| (i, d.ty, d.count)).collect();
        for (i, ty, count) in inputs {
            if self.m.stage == Stage::Compute || count > 1 || self.rng.chance(85) {
                let at = self.rng.below(count as usize) as u32;
                let v = self.at().load(ty, MemRef::Input(i), at, None);
                self.define(v);
            }
        }
        if self.m.stage == Stage::Compute {
            // Own words: (group x × threads + local index) × OWN_WORDS; groups differ in x only.
            let threads = self.m.workgroup_size.iter().product::<u32>();
            let mut b = Builder::new(&mut self.f, self.block);
            let (local, group) = (Input::from_u32(0), Input::from_u32(3));
            let l = b.load(I32, MemRef::Input(local), 0, None);
            let g = b.load(I32.with_lanes(3), MemRef::Input(group), 0, None);
            let x = b.extract(g, 0);
            let t = b.iconst(I32, threads);
            let words = b.iconst(I32, OWN_WORDS);
            let first = b.ins(Opcode::Imul, &[x, t]);
            let flat = b.ins(Opcode::Iadd, &[first, l]);
            let own = b.ins(Opcode::Imul, &[flat, words]);
            let own_f = b.load(F32, MemRef::Storage(Storage::from_u32(1)), 0, Some(own));
            let own_i = b.load(I32, MemRef::Storage(Storage::from_u32(0)), 0, Some(own));
            self.own = Some(own);
            self.define(own_f);
            self.define(own_i);
        }
    }

    /// Makes values that live until the results are written.
    fn hold(&mut self) {
        let mut lanes = 0;
        while lanes < self.p.alive {
            let ty = self.float_type();
            let (a, b) = (self.pick(ty), self.pick(ty));
            let op = self.rng.of(&[Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fmin, Opcode::Fmax]);
            let x = self.at().ins(op, &[a, b]);
            let v = self.damp(x);
            self.define(v);
            self.held.push(v);
            lanes += usize::from(ty.lanes);
        }
    }

    /// Adds a value to the scope.
    pub fn define(&mut self, v: Value) {
        self.scope.push(v);
        self.uses.push(0);
    }

    fn enter_scope(&self) -> usize {
        self.scope.len()
    }
    fn leave_scope(&mut self, mark: usize) {
        self.scope.truncate(mark);
        self.uses.truncate(mark);
    }

    /// Statements until the budget is used up.
    fn body(&mut self) {
        while self.left > 0 {
            self.statement_or_control();
        }
    }

    fn statement_or_control(&mut self) {
        let before = self.f.inst_count() as i32;
        let deep = self.depth >= 4 || self.left < 6;
        let control = [
            if self.p.branches && !deep { 7 } else { 0 },
            if self.p.loops && !deep { 4 } else { 0 },
            if self.p.switches && (self.p.ints || self.p.small_ints) && !deep { 2 } else { 0 },
            if self.p.early_return && self.depth > 0 && !self.helper && !self.must_stay { 1 } else { 0 },
            90,
        ];
        match self.rng.weighted(&control) {
            0 => return self.branch(),
            1 => return self.repeat(),
            2 => return self.switch(),
            3 if self.p.branches => self.maybe_leave(),
            _ => self.statement(),
        }
        self.left -= self.f.inst_count() as i32 - before;
    }

    /// Runs `inner` with a part of the budget, in its own scope.
    fn region(&mut self, share: i32, inner: impl FnOnce(&mut Self)) {
        let mark = self.enter_scope();
        let rest = self.left - share;
        self.left = share;
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.left = rest;
        self.leave_scope(mark);
    }

    fn share(&mut self) -> i32 {
        (2 + self.rng.below(self.left.max(4) as usize / 2) as i32).min(24)
    }

    /// A condition; the flag says whether it is the same in all lanes.
    fn condition(&mut self) -> (Value, bool) {
        if self.rng.chance(25) {
            let b = self.rng.below(3);
            let flag = self.m.uniforms.iter().find(|(_, u)| u.name == "flag").map(|(u, _)| u);
            if let (0, Some(flag)) = (b, flag) {
                return (self.at().load(I1, MemRef::Uniform(flag), 0, None), true);
            }
            let scale = Uniform::from_u32(0);
            let lane = self.rng.below(4) as u8;
            let limit = self.rng.float();
            let mut b = self.at();
            let u = b.load(F32.with_lanes(4), MemRef::Uniform(scale), 0, None);
            let x = b.extract(u, lane);
            let l = b.fconst(F32, limit);
            return (b.fcmp(FloatCC::Olt, x, l), true);
        }
        (self.fresh_bool(), false)
    }

    fn branch(&mut self) {
        let (c, uniform) = self.condition();
        let outer = self.uniform_flow;
        self.uniform_flow &= uniform;
        let types: Vec<Type> = (0..self.rng.below(4)).map(|_| self.any_type()).collect();
        let has_else = self.rng.chance(60);
        let (then, other, merge) = (self.f.add_block(), self.f.add_block(), self.f.add_block());
        let head = self.block;
        let defaults: Vec<Value> = types.iter().map(|t| self.pick(*t)).collect();
        let mut b = Builder::new(&mut self.f, head);
        b.br_if(c, (then, &[]), (other, &[]));
        self.block = then;
        let share = self.share();
        let leaves = self.p.early_return && self.depth > 0 && !self.must_stay && self.rng.chance(6);
        let mut left = false;
        self.region(share, |g| {
            g.body();
            if leaves {
                g.leave_or_kill();
                left = true;
            } else {
                let values: Vec<Value> = types.iter().map(|t| g.pick(*t)).collect();
                let block = g.block;
                Builder::new(&mut g.f, block).jump(merge, &values);
            }
        });
        self.block = other;
        let share = if has_else { self.share() } else { 0 };
        self.region(share, |g| {
            g.body();
            let values: Vec<Value> = if has_else { types.iter().map(|t| g.pick(*t)).collect() } else { defaults };
            let block = g.block;
            Builder::new(&mut g.f, block).jump(merge, &values);
        });
        self.left_early |= left;
        self.uniform_flow = outer && !self.left_early;
        self.block = merge;
        for t in types {
            let v = self.f.add_param(merge, t);
            self.define(v);
        }
    }

    fn switch(&mut self) {
        let x = self.pick(I32);
        let outer = self.uniform_flow;
        self.uniform_flow = false;
        let arms = 2 + self.rng.below(3);
        let mut b = self.at();
        let mask = b.iconst(I32, 3);
        let x = b.ins(Opcode::Iand, &[x, mask]);
        let types: Vec<Type> = (0..1 + self.rng.below(2)).map(|_| self.any_type()).collect();
        let merge = self.f.add_block();
        let blocks: Vec<Block> = (0..arms).map(|_| self.f.add_block()).collect();
        let cases: Vec<u32> = (0..arms as u32 - 1).collect();
        let targets: Vec<(Block, &[Value])> = blocks.iter().map(|b| (*b, &[][..])).collect();
        let head = self.block;
        Builder::new(&mut self.f, head).switch(x, &cases, &targets);
        for arm in blocks {
            self.block = arm;
            let share = self.share() / 2;
            self.region(share, |g| {
                g.body();
                let values: Vec<Value> = types.iter().map(|t| g.pick(*t)).collect();
                let block = g.block;
                Builder::new(&mut g.f, block).jump(merge, &values);
            });
        }
        self.uniform_flow = outer && !self.left_early;
        self.block = merge;
        for t in types {
            let v = self.f.add_param(merge, t);
            self.define(v);
        }
    }

    /// A loop of at most four rounds, with values carried along, perhaps left by some lanes before others.
    fn repeat(&mut self) {
        let divergent = self.p.divergent_loops && self.p.branches && self.rng.chance(60);
        let counter = if self.p.ints && self.rng.chance(70) { I32 } else { F32 };
        let outer = self.uniform_flow;
        self.uniform_flow &= !divergent;
        let limit = self.trip_count(counter, divergent);
        let types: Vec<Type> = (0..1 + self.rng.below(3)).map(|_| self.any_type()).collect();
        let start: Vec<Value> = types.iter().map(|t| self.pick(*t)).collect();
        let (head, body, exit) = (self.f.add_block(), self.f.add_block(), self.f.add_block());
        let zero = self.at().splat_const(counter, 0);
        let block = self.block;
        let first: Vec<Value> = std::iter::once(zero).chain(start).collect();
        Builder::new(&mut self.f, block).jump(head, &first);
        let i = self.f.add_param(head, counter);
        let carried: Vec<Value> = types.iter().map(|t| self.f.add_param(head, *t)).collect();
        self.block = head;
        let more = {
            let mut b = Builder::new(&mut self.f, head);
            if counter == F32 { b.fcmp(FloatCC::Olt, i, limit) } else { b.icmp(IntCC::Ult, i, limit) }
        };
        Builder::new(&mut self.f, head).br_if(more, (body, &[]), (exit, &carried));
        self.block = body;
        let share = self.share();
        let stay = self.must_stay;
        self.must_stay |= self.uniform_flow;
        self.region(share, |g| {
            carried.iter().for_each(|v| g.define(*v));
            g.define(i);
            g.left = share / 2;
            g.body();
            let next = {
                let mut b = g.at();
                let one = if counter == F32 { b.fconst(F32, 1.0) } else { b.iconst(I32, 1) };
                b.ins(if counter == F32 { Opcode::Fadd } else { Opcode::Iadd }, &[i, one])
            };
            if divergent {
                if g.rng.chance(50) {
                    // break
                    let (c, _) = g.condition();
                    let values: Vec<Value> = types.iter().map(|t| g.pick(*t)).collect();
                    g.split(c, (exit, &values));
                }
                if g.rng.chance(40) {
                    // continue
                    let (c, _) = g.condition();
                    let values: Vec<Value> = types.iter().map(|t| g.pick(*t)).collect();
                    let values: Vec<Value> = std::iter::once(next).chain(values).collect();
                    g.split(c, (head, &values));
                }
                g.left = share / 3;
                g.body();
            }
            let mut values = vec![next];
            for t in &types {
                let v = g.pick(*t);
                let v = g.damp(v);
                values.push(v);
            }
            let block = g.block;
            Builder::new(&mut g.f, block).jump(head, &values);
        });
        self.must_stay = stay;
        self.uniform_flow = outer && !self.left_early;
        self.block = exit;
        for t in types {
            let v = self.f.add_param(exit, t);
            self.define(v);
        }
    }

    /// Goes to `target` where `c` holds, else on.
    fn split(&mut self, c: Value, target: (Block, &[Value])) {
        let more = self.f.add_block();
        let block = self.block;
        Builder::new(&mut self.f, block).br_if(c, target, (more, &[]));
        self.block = more;
    }

    fn trip_count(&mut self, counter: Type, divergent: bool) -> Value {
        let n = 1 + self.rng.below(4) as u32;
        if !divergent {
            let mut b = self.at();
            return if counter == F32 { b.fconst(F32, n as f32) } else { b.iconst(I32, n) };
        }
        if counter == F32 {
            let x = self.pick(F32);
            let mut b = self.at();
            let (s, four) = (b.ins(Opcode::Fsaturate, &[x]), b.fconst(F32, 4.0));
            let y = b.ins(Opcode::Fmul, &[s, four]);
            return b.ins(Opcode::Ffloor, &[y]);
        }
        let x = self.pick(I32);
        let mut b = self.at();
        let mask = b.iconst(I32, 3);
        b.ins(Opcode::Iand, &[x, mask])
    }

    /// Leaves the program in some lanes.
    fn maybe_leave(&mut self) {
        let (c, _) = self.condition();
        let (gone, on) = (self.f.add_block(), self.f.add_block());
        let block = self.block;
        Builder::new(&mut self.f, block).br_if(c, (gone, &[]), (on, &[]));
        self.block = gone;
        self.leave_or_kill();
        self.block = on;
        if self.rng.chance(20) {
            let (c, never) = (self.never(), self.f.add_block());
            self.split(c, (never, &[]));
            Builder::new(&mut self.f, never).branch(Opcode::Unreachable, &[], Imm::None, &[]);
        }
        self.left_early = true;
        self.uniform_flow = false;
    }

    fn leave_or_kill(&mut self) {
        let block = self.block;
        if self.m.stage == Stage::Fragment && self.p.discard && !self.helper && self.rng.chance(40) {
            Builder::new(&mut self.f, block).branch(Opcode::Kill, &[], Imm::None, &[]);
        } else {
            self.leave();
        }
    }

    /// Writes the results and returns.
    fn leave(&mut self) {
        let mut results = Vec::new();
        if self.helper {
            results = self.f.results.clone().into_iter().map(|t| self.pick(t)).collect();
        } else {
            self.write_results();
        }
        let block = self.block;
        Builder::new(&mut self.f, block).ret(&results);
    }
}
