//! The rewriting of declarations: inputs, outputs, uniforms, samplers, blocks and globals with computed initial values.

use super::items::{Declarator, Item, Part, Quals, declarators, quals};
use super::names::{is_basic_type, is_precision, matrix_type, sampler_type};
use super::tokens::{Out, Tok};
use super::{Combined, Plan, Rewriter};
use crate::interface::Role;
use retroshade_ir::module::{GeometryInfo, Interpolation, Primitive};
use retroshade_ir::{Span, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// The most elements that an array of inputs, outputs or samplers may have.
const MAX_ELEMENTS: u32 = 64;

/// One input or output.
struct Io<'t> {
    input: bool,
    quals: &'t Quals,
    ty: &'t Tok,
    name: &'t Tok,
    /// The variable that stands for it, and what the user calls it.
    variable: String,
    shown: String,
    location: Option<u32>,
    /// Sizes of its arrays; in geometry programs without the one of the vertices.
    sizes: Vec<u32>,
}

impl Rewriter<'_> {
    /// Whether a declaration is an input (`true`) or an output, if either.
    fn direction(&self, q: &Quals) -> Option<bool> {
        if q.has("in") || q.has("attribute") {
            return Some(true);
        }
        if q.has("out") {
            return Some(false);
        }
        q.has("varying").then_some(self.stage != Stage::Vertex)
    }

    /// Collects what has to be known before anything is written.
    pub(super) fn survey(&mut self, items: &[Item]) {
        let toks = self.toks;
        let mut geometry = (None, None, None, 1);
        for item in items {
            match item {
                Item::Function { name, .. } => {
                    self.functions.insert(toks[*name].text.clone());
                }
                Item::Default(q, _) => {
                    for (k, _) in &q.layout {
                        let primitive = match &*k.text {
                            "points" => Primitive::Points,
                            "lines" => Primitive::Lines,
                            "lines_adjacency" => Primitive::LinesAdjacency,
                            "triangles" => Primitive::Triangles,
                            "triangles_adjacency" => Primitive::TrianglesAdjacency,
                            "line_strip" => Primitive::LineStrip,
                            "triangle_strip" => Primitive::TriangleStrip,
                            _ => continue,
                        };
                        if q.has("in") {
                            geometry.0 = Some(primitive);
                        } else {
                            geometry.1 = Some(primitive);
                        }
                    }
                    geometry.2 = q.number("max_vertices").or(geometry.2);
                    geometry.3 = q.number("invocations").unwrap_or(geometry.3);
                }
                Item::Vars { quals: q, ty, names } => {
                    self.note_binding(q);
                    for d in names {
                        if q.has("const") {
                            self.constants.insert(d.name.text.clone());
                            if let ([one], "int" | "uint") = (&toks[d.init.clone()], &*toks[ty.start].text)
                                && let Ok(k) = one.text.trim_end_matches('u').parse()
                            {
                                self.sizes.insert(d.name.text.clone(), k);
                            }
                        }
                    }
                }
                Item::Block { quals: q, .. } => self.note_binding(q),
                _ => {}
            }
        }
        if self.stage == Stage::Geometry {
            let t = toks.first().cloned().unwrap_or(Tok { text: String::new(), at: 0, end: 0 });
            match geometry {
                (.., Some(n), _) if !(1..=1024).contains(&n) => self.error("F0023", &t, format!("max_vertices = {n}: it must be from 1 to 1024")),
                (.., n) if !(1..=127).contains(&n) => self.error("F0023", &t, format!("invocations = {n}: it must be from 1 to 127")),
                (Some(input), Some(output), Some(max_vertices), invocations) => {
                    let info = GeometryInfo { input, output, max_vertices, invocations };
                    self.geometry = Some(Plan { info, inputs: Vec::new(), outputs: Vec::new() });
                }
                _ => self.error(
                    "F0023",
                    &t,
                    "a geometry program says what it reads and writes: `layout(triangles) in;` and `layout(triangle_strip, max_vertices = 3) out;`",
                ),
            }
        }
        // Locations that the source gives; those without one take what is left, in the order of declaration.
        for item in items {
            let (Item::Vars { quals: q, .. } | Item::Block { quals: q, .. }) = item else { continue };
            let (Some(input), Some(at)) = (self.direction(q), q.number("location")) else { continue };
            let count = match item {
                Item::Vars { ty, names, .. } => {
                    let columns = matrix_type(&toks[ty.start].text).map_or(1, |(c, _)| c);
                    let vertices = self.stage == Stage::Geometry && input;
                    let sizes = names.first().map_or(Vec::new(), |d| self.array_sizes(ty, d));
                    columns * sizes.iter().skip(usize::from(vertices)).product::<u32>().clamp(1, MAX_ELEMENTS)
                }
                Item::Block { members, .. } => self.members(members.clone()).len() as u32,
                _ => 1,
            };
            if input { self.inputs.take(at, count) } else { self.outputs.take(at, count) }
        }
        for (_, at) in self.varyings {
            self.inputs.take(*at, 1);
        }
        // Bindings that the source leaves out follow the ones that it gives, in the order of declaration; so do the loose uniforms.
        for item in items {
            if let Item::Vars { quals: q, ty, names } = item
                && self.is_loose(q, &toks[ty.start])
                && !names.is_empty()
                && self.loose.is_none()
            {
                self.loose = Some(self.next_binding);
                self.next_binding += 1;
            }
        }
    }

    fn note_binding(&mut self, q: &Quals) {
        if let (Some(b), None | Some(0)) = (q.number("binding"), q.number("set")) {
            self.next_binding = self.next_binding.max(b.saturating_add(1).min(1 << 20));
        }
    }

    /// Whether a uniform stands outside any block.
    fn is_loose(&self, q: &Quals, ty: &Tok) -> bool {
        let opaque = ty.text.contains("sampler") || ty.text.contains("texture") || ty.text.contains("image");
        q.has("uniform") && !opaque && q.key("binding").is_none() && q.key("push_constant").is_none()
    }

    /// The sizes of a declaration's arrays, outermost first; 0 where one is left out.
    fn array_sizes(&mut self, ty: &Part, d: &Declarator) -> Vec<u32> {
        let toks = self.toks;
        let mut out = Vec::new();
        for part in [d.array.clone(), ty.start + 1..ty.end] {
            let mut n = part.start;
            while n < part.end {
                let size = match (toks.get(n + 1), toks.get(n + 2)) {
                    (Some(a), _) if a.is("]") => {
                        n += 2;
                        Some(0)
                    }
                    (Some(a), Some(b)) if b.is("]") => {
                        n += 3;
                        a.text.trim_end_matches('u').parse().ok().or_else(|| self.sizes.get(&a.text).copied())
                    }
                    _ => None,
                };
                let Some(size) = size else {
                    self.error(
                        "F0021",
                        &d.name,
                        format!("the size of the array `{}` must be a number or a constant that is one", d.name.text),
                    );
                    return out;
                };
                out.push(size);
            }
        }
        out
    }

    /// The members of a block: qualifiers, type and name.
    pub(super) fn members(&self, part: Part) -> Vec<(Quals, Part, Declarator)> {
        let toks = &self.toks[..part.end];
        let mut out = Vec::new();
        let mut n = part.start;
        while n < part.end {
            let (q, at) = quals(toks, n);
            let mut name = at + 1;
            while toks.get(name).is_some_and(|t| t.is("[")) {
                name = super::items::close(toks, name);
            }
            let (names, end) = declarators(toks, name);
            if names.is_empty() {
                break;
            }
            out.extend(names.into_iter().map(|d| (q.clone(), at..name, d)));
            n = end.max(n + 1);
        }
        out
    }

    /// Qualifiers as text, with some layout keys set.
    fn put_quals(&mut self, out: &mut Out, q: &Quals, like: &Tok, keys: &[(&str, u32)], storage: Option<&str>) {
        let mut layout: Vec<String> = keys.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        for (k, v) in &q.layout {
            if keys.iter().any(|(name, _)| k.is(name)) {
                continue;
            }
            let value: Vec<&str> = v.iter().map(|t| &*t.text).collect();
            layout.push(if value.is_empty() { k.text.clone() } else { format!("{} = {}", k.text, value.join(" ")) });
        }
        if !layout.is_empty() {
            out.put(q.layout.first().map_or(like, |(k, _)| k), &format!("layout ( {} )", layout.join(" , ")));
        }
        for w in &q.words {
            match &*w.text {
                _ if is_precision(&w.text) => {}
                "precise" | "invariant" => {
                    self.precise = true;
                    self.changed = true;
                }
                "coherent" | "volatile" => self.changed = true,
                "in" | "out" | "attribute" | "varying" if storage.is_some() => {}
                _ => out.tok(w),
            }
        }
        if let Some(s) = storage {
            out.put(q.words.first().unwrap_or(like), s);
        }
    }

    /// Loose uniforms that the block before the first function can hold: whose types are known there.
    pub(super) fn early_uniforms(&mut self, items: &[Item]) -> BTreeMap<String, (Part, Declarator)> {
        let toks = self.toks;
        let first = items.iter().position(|i| matches!(i, Item::Function { body: Some(_), .. })).unwrap_or(items.len());
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for item in &items[..first] {
            match item {
                Item::Struct(p) => known.extend(toks.get(p.start + 1).map(|t| &*t.text)),
                Item::Vars { quals: q, names, .. } if q.has("const") => known.extend(names.iter().map(|d| &*d.name.text)),
                _ => {}
            }
        }
        let mut out = BTreeMap::new();
        let mut order = 0usize;
        for item in items {
            let Item::Vars { quals: q, ty, names } = item else { continue };
            if !self.is_loose(q, &toks[ty.start]) {
                continue;
            }
            for d in names {
                let words = toks[ty.clone()].iter().chain(&toks[d.array.clone()]).filter(|t| t.is_word());
                if words.into_iter().all(|t| is_basic_type(&t.text) || known.contains(&*t.text)) {
                    order += 1;
                    out.insert(format!("{order:08}"), (ty.clone(), d.clone()));
                }
                if !d.init.is_empty() {
                    self.error(
                        "F0024",
                        &d.name,
                        format!("the uniform `{}` has an initial value, which no container can hold: let the program set it", d.name.text),
                    );
                }
            }
        }
        out
    }

    fn loose_member(&mut self, out: &mut Out, ty: &Part, d: &Declarator) {
        let none = BTreeMap::new();
        let code = self.code(ty.clone(), &none);
        out.append(&code);
        out.tok(&d.name);
        let code = self.code(d.array.clone(), &none);
        out.append(&code);
        out.put(&d.name, ";");
    }

    /// The block of loose uniforms.
    pub(super) fn loose_block(&mut self, early: &BTreeMap<String, (Part, Declarator)>) -> Out {
        let mut out = Out::default();
        let Some((_, (_, first))) = early.first_key_value() else { return out };
        self.changed = true;
        let name = self.fresh("ShadercUniforms");
        let binding = self.loose.unwrap_or(0);
        let rules = self.loose_layout(&name, early);
        out.put(&first.name, &format!("layout ( {rules} , binding = {binding} ) uniform {name} {{"));
        for (ty, d) in early.values() {
            self.loose_member(&mut out, ty, d);
        }
        out.put(&first.name, "} ;");
        out
    }

    /// Everything but functions.
    pub(super) fn declaration(&mut self, item: &Item, early: &BTreeMap<String, (Part, Declarator)>) -> Out {
        let toks = self.toks;
        let mut out = Out::default();
        let none = BTreeMap::new();
        match item {
            Item::Function { .. } => {}
            Item::Struct(p) | Item::Other(p) => {
                let code = self.code(p.clone(), &none);
                out.append(&code);
                if let (Item::Struct(_), Some(last)) = (item, toks.get(p.end - 1).filter(|t| !t.is(";"))) {
                    out.put(last, ";");
                }
            }
            Item::Default(q, t) => {
                if self.stage == Stage::Geometry {
                    return out;
                }
                // `layout(row_major) uniform;` holds for the blocks that follow, `invariant`-like defaults change nothing here.
                if q.has("uniform") || q.has("buffer") || q.layout.is_empty() {
                    self.block_defaults(q);
                    self.changed = true;
                    return out;
                }
                self.put_quals(&mut out, q, t, &[], None);
                out.put(t, ";");
            }
            Item::Block { quals: q, name, members, instance, array } => match self.direction(q) {
                Some(input) => out = self.io_block(input, q, name, members, instance.as_ref(), array),
                None => {
                    let mut keys = Vec::new();
                    if (q.has("uniform") || q.has("buffer")) && q.key("binding").is_none() && q.key("push_constant").is_none() {
                        self.changed = true;
                        keys.push(("binding", self.next_binding));
                        self.next_binding += 1;
                    }
                    let q = &self.block_layout(q, name, members.clone());
                    self.put_quals(&mut out, q, name, &keys, None);
                    out.tok(name);
                    out.put(name, "{");
                    // naga loads a whole block to get at a member of it, which it cannot where the last one has no size: such a block goes
                    // without its instance name.
                    let unsized_member = toks[members.clone()].windows(2).any(|w| w[0].is("[") && w[1].is("]"));
                    if let (true, Some(i), true, true) = (q.has("buffer"), instance, array.is_empty(), unsized_member) {
                        self.changed = true;
                        let mut fields = BTreeMap::new();
                        for (mq, ty, mut d) in self.members(members.clone()) {
                            let variable = self.fresh(&format!("{}_{}", i.text, d.name.text));
                            fields.insert(d.name.text.clone(), variable.clone());
                            d.name.text = variable;
                            self.put_quals(&mut out, &Self::member_quals(&mq), &d.name, &[], None);
                            self.loose_member(&mut out, &ty, &d);
                        }
                        self.blocks.insert(i.text.clone(), fields);
                        self.instances.insert(name.text.clone(), i.text.clone());
                        out.put(name, "} ;");
                        return out;
                    }
                    for (mq, ty, d) in self.members(members.clone()) {
                        let precision = mq.words.iter().any(|w| is_precision(&w.text));
                        self.changed |= precision;
                        self.put_quals(&mut out, &Self::member_quals(&mq), &d.name, &[], None);
                        self.loose_member(&mut out, &ty, &d);
                    }
                    out.put(name, "}");
                    if let Some(i) = instance {
                        out.tok(i);
                        let code = self.code(array.clone(), &none);
                        out.append(&code);
                    }
                    out.put(name, ";");
                }
            },
            Item::Vars { quals: q, ty, names } => {
                let t = &toks[ty.start];
                if names.is_empty() {
                    // `invariant gl_Position;`
                    self.put_quals(&mut out, q, t, &[], None);
                    if q.has("invariant") {
                        return Out::default();
                    }
                    let code = self.code(ty.clone(), &none);
                    out.append(&code);
                    out.put(t, ";");
                    return out;
                }
                for d in names {
                    let one = self.variable(q, ty, d, early);
                    out.append(&one);
                }
            }
        }
        out
    }

    fn variable(&mut self, q: &Quals, ty: &Part, d: &Declarator, early: &BTreeMap<String, (Part, Declarator)>) -> Out {
        let toks = self.toks;
        let t = &toks[ty.start];
        let mut out = Out::default();
        let none = BTreeMap::new();
        // A builtin that is declared again stays the builtin; those of old GLSL are declared by `compatibility`.
        let builtin = ["gl_Position", "gl_PointSize", "gl_ClipDistance", "gl_FragDepth", "gl_FragCoord"].contains(&&*d.name.text);
        if builtin && self.direction(q).is_some() {
            self.changed = true;
            return out;
        }
        if let Some(input) = self.direction(q) {
            let mut sizes = self.array_sizes(ty, d);
            if self.stage == Stage::Geometry && input {
                if sizes.is_empty() {
                    self.error(
                        "F0023",
                        &d.name,
                        format!("`{}`: an input of a geometry program has one element per vertex, `{}[]`", d.name.text, d.name.text),
                    );
                    return out;
                }
                sizes.remove(0);
            }
            let name = d.name.text.clone();
            let io =
                Io { input, quals: q, ty: t, name: &d.name, variable: name.clone(), shown: name, location: q.number("location"), sizes };
            return self.io(&io);
        }
        if q.has("uniform") {
            if let Some((texture, sampler, join)) = sampler_type(&t.text) {
                return self.combined_uniform(q, ty, d, (&texture, sampler, &join));
            }
            if self.is_loose(q, t) {
                if !early.values().any(|(_, e)| e.name == d.name) {
                    self.changed = true;
                    let name = self.fresh("ShadercUniforms");
                    let binding = self.next_binding;
                    self.next_binding += 1;
                    let one = BTreeMap::from([(String::new(), (ty.clone(), d.clone()))]);
                    let rules = self.loose_layout(&name, &one);
                    out.put(&d.name, &format!("layout ( {rules} , binding = {binding} ) uniform {name} {{"));
                    self.loose_member(&mut out, ty, d);
                    out.put(&d.name, "} ;");
                }
                return out;
            }
            let mut keys = Vec::new();
            if q.key("binding").is_none() && q.key("push_constant").is_none() {
                self.changed = true;
                keys.push(("binding", self.next_binding));
                self.next_binding += 1;
            }
            self.put_quals(&mut out, q, &d.name, &keys, None);
        } else {
            self.put_quals(&mut out, q, &d.name, &[], None);
        }
        let code = self.code(ty.clone(), &none);
        out.append(&code);
        out.tok(&d.name);
        let code = self.code(d.array.clone(), &none);
        out.append(&code);
        if !d.init.is_empty() {
            let constant = q.has("const")
                || toks[d.init.clone()]
                    .iter()
                    .all(|t| !t.is_word() || t.is("true") || t.is("false") || is_basic_type(&t.text) || self.constants.contains(&t.text));
            let code = self.code(d.init.clone(), &none);
            if constant {
                out.put(&d.name, "=");
                out.append(&code);
            } else if toks[d.init.start].is("{") {
                self.error("F0021", &d.name, format!("`{}`: write the constructor for initial values that are computed", d.name.text));
            } else {
                // naga drops an initial value that is no constant: it becomes the first thing that the program does.
                self.changed = true;
                self.before.put(&d.name, &format!("{} =", d.name.text));
                self.before.append(&code);
                self.before.put(&d.name, ";");
            }
        }
        out.put(&d.name, ";");
        out
    }

    /// A combined sampler as a texture and a sampler.
    fn combined_uniform(&mut self, q: &Quals, ty: &Part, d: &Declarator, (texture, sampler, join): (&str, &str, &str)) -> Out {
        let mut out = Out::default();
        self.changed = true;
        let sizes = self.array_sizes(ty, d);
        let set = q.number("set").unwrap_or(0);
        let count = sizes.first().copied().unwrap_or(1);
        if sizes.len() > 1 || count == 0 || count > MAX_ELEMENTS {
            self.error(
                "F0021",
                &d.name,
                format!("`{}`: an array of textures has one dimension and at most {MAX_ELEMENTS} elements", d.name.text),
            );
            return out;
        }
        let first = q.number("binding").unwrap_or_else(|| {
            self.next_binding += count;
            self.next_binding - count
        });
        let mut one = |this: &mut Self, name: &str, binding: u32| {
            let second = this.fresh(&format!("{name}_sampler"));
            out.put(&d.name, &format!("layout ( set = {set} , binding = {binding} ) uniform {texture}"));
            out.put(&d.name, name);
            out.put(&d.name, ";");
            out.put(&d.name, &format!("layout ( set = {set} , binding = {binding} ) uniform {sampler} {second}"));
            out.put(&d.name, ";");
            second
        };
        let mut v = Combined { texture: d.name.text.clone(), sampler: String::new(), join: join.to_string(), elements: Vec::new() };
        if sizes.is_empty() {
            v.sampler = one(self, &d.name.text, first);
        } else {
            for k in 0..count {
                let name = self.fresh(&format!("{}_{k}", d.name.text));
                let second = one(self, &name, first + k);
                self.renames.insert(name.clone(), format!("{}[{k}]", d.name.text));
                v.elements.push((name, second));
            }
        }
        self.combined.insert(d.name.text.clone(), v);
        out
    }

    /// An input or output block as single variables.
    fn io_block(&mut self, input: bool, q: &Quals, name: &Tok, members: &Part, instance: Option<&Tok>, array: &Part) -> Out {
        let mut out = Out::default();
        self.changed = true;
        if name.is("gl_PerVertex") {
            return out;
        }
        let vertices = self.stage == Stage::Geometry && input;
        if vertices == array.is_empty() {
            let message = if vertices {
                "an input block of a geometry program has one element per vertex"
            } else {
                "arrays of blocks are not inputs or outputs"
            };
            self.error("F0023", name, message);
            return out;
        }
        let mut fields = BTreeMap::new();
        let mut location = q.number("location");
        for (mq, ty, d) in self.members(members.clone()) {
            let sizes = self.array_sizes(&ty, &d);
            let mut all = mq.clone();
            all.words.extend(q.words.iter().filter(|w| !all.words.contains(w)).cloned().collect::<Vec<_>>());
            let variable = match instance {
                Some(i) => self.fresh(&format!("{}_{}", i.text, d.name.text)),
                None => d.name.text.clone(),
            };
            let t = &self.toks[ty.start];
            let at = mq.number("location").or(location);
            let columns = matrix_type(&t.text).map_or(1, |(c, _)| c);
            location = at.map(|l| l + columns * sizes.iter().product::<u32>());
            fields.insert(d.name.text.clone(), variable.clone());
            let io = Io { input, quals: &all, ty: t, name: &d.name, variable, shown: d.name.text.clone(), location: at, sizes };
            let one = self.io(&io);
            out.append(&one);
        }
        if let Some(i) = instance {
            self.blocks.insert(i.text.clone(), fields);
        }
        out
    }

    /// An input or output: one declaration for each location that it takes.
    fn io(&mut self, io: &Io<'_>) -> Out {
        let mut out = Out::default();
        let columns = matrix_type(&io.ty.text);
        let count: u32 = io.sizes.iter().product::<u32>() * columns.as_ref().map_or(1, |(c, _)| *c);
        if io.sizes.len() > 1 || count == 0 || count > MAX_ELEMENTS {
            self.error(
                "F0021",
                io.name,
                format!("`{}`: an array of inputs or outputs has one dimension and at most {MAX_ELEMENTS} elements", io.name.text),
            );
            return out;
        }
        self.changed |= io.location.is_none() || io.quals.has("attribute") || io.quals.has("varying");
        let handed = |name: &str| self.varyings.iter().find(|(n, _)| n == name).map(|(_, at)| *at);
        let handed = if io.input { handed(&io.shown).or_else(|| handed(&format!("{}[0]", io.shown))) } else { None };
        let location = io.location.or(handed).unwrap_or_else(|| if io.input { self.inputs.free(count) } else { self.outputs.free(count) });
        let unplaced = if io.input { &mut self.unplaced.0 } else { &mut self.unplaced.1 };
        if io.location.is_none() {
            unplaced.insert(io.shown.clone());
        }
        if self.stage == Stage::Geometry {
            return self.geometry_io(io, location, count > 1);
        }
        let storage = if io.input { "in" } else { "out" };
        if io.variable != io.shown {
            self.renames.insert(io.variable.clone(), io.shown.clone());
        }
        if count == 1 && io.sizes.is_empty() {
            self.put_quals(&mut out, io.quals, io.name, &[("location", location)], Some(storage));
            out.tok(io.ty);
            out.put(io.name, &io.variable);
            out.put(io.name, ";");
            return out;
        }
        // One variable per location, and a plain one that the program uses.
        self.changed = true;
        let element = columns.as_ref().map_or(io.ty.text.clone(), |(_, ty)| ty.clone());
        let mut parts = Vec::new();
        for k in 0..count {
            let name = self.fresh(&format!("{}_{k}", io.variable));
            self.put_quals(&mut out, io.quals, io.name, &[("location", location + k)], Some(storage));
            out.put(io.name, &format!("{element} {name}"));
            out.put(io.name, ";");
            let shown = match (&columns, io.sizes.is_empty()) {
                (Some((c, _)), false) => format!("{}[{}][{}]", io.shown, k / c, k % c),
                _ => format!("{}[{k}]", io.shown),
            };
            if io.location.is_none() {
                let unplaced = if io.input { &mut self.unplaced.0 } else { &mut self.unplaced.1 };
                unplaced.insert(shown.clone());
            }
            self.renames.insert(name.clone(), shown);
            parts.push(name);
        }
        let array = if io.sizes.is_empty() { String::new() } else { format!("[ {} ]", io.sizes[0]) };
        out.put(io.name, &format!("{} {} {array}", io.ty.text, io.variable));
        out.put(io.name, ";");
        for (k, part) in parts.iter().enumerate() {
            let place = match (&columns, io.sizes.is_empty()) {
                (Some((c, _)), false) => format!("{} [ {} ] [ {} ]", io.variable, k as u32 / c, k as u32 % c),
                _ => format!("{} [ {k} ]", io.variable),
            };
            if io.input {
                self.before.put(io.name, &format!("{place} = {part} ;\n"));
            } else {
                self.after.put(io.name, &format!("{part} = {place} ;\n"));
            }
        }
        out
    }

    /// An input or output of a geometry program: a plain variable, and a note of what it stands for.
    fn geometry_io(&mut self, io: &Io<'_>, location: u32, several: bool) -> Out {
        let mut out = Out::default();
        if several {
            self.error(
                "F0023",
                io.name,
                format!("`{}`: inputs and outputs of a geometry program are scalars and vectors for each vertex", io.name.text),
            );
            return out;
        }
        let Some(g) = &mut self.geometry else { return out };
        let array = if io.input { format!("[ {} ]", g.info.input.vertices()) } else { String::new() };
        let interpolation = if io.quals.has("flat") {
            Some(Interpolation::Flat)
        } else if io.quals.has("noperspective") {
            Some(Interpolation::Linear)
        } else {
            None
        };
        let role = Role {
            variable: io.variable.clone(),
            shown: io.shown.clone(),
            builtin: None,
            location,
            interpolation,
            span: Span::new(self.file, io.name.at, io.name.end),
        };
        if io.input {
            g.inputs.push(role)
        } else {
            g.outputs.push(role)
        }
        out.tok(io.ty);
        out.put(io.name, &format!("{} {array}", io.variable));
        out.put(io.name, ";");
        out
    }
}
