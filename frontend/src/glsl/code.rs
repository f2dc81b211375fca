//! The rewriting of code: names and calls inside functions.

use super::items::{Item, Part, close, list, quals};
use super::names::{compatibility as compatibility_name, is_precision, sampler_type, takes_sampler, texture_function};
use super::tokens::{Out, Tok};
use super::{Combined, Rewriter};
use crate::interface::Role;
use retroshade_ir::module::Builtin;
use retroshade_ir::{Span, Stage};
use std::collections::BTreeMap;

/// Samplers that are parameters of the function at hand.
type Params = BTreeMap<String, Combined>;

/// Declares the variables of the compatibility profile that a text uses, and spells out `ftransform()`.
pub(super) fn compatibility(toks: Vec<Tok>, stage: Stage) -> Vec<Tok> {
    let mut body: Vec<Tok> = Vec::with_capacity(toks.len());
    let mut n = 0;
    while n < toks.len() {
        let t = &toks[n];
        if t.is("ftransform") && toks.get(n + 1).is_some_and(|t| t.is("(")) && toks.get(n + 2).is_some_and(|t| t.is(")")) {
            body.extend(["(", "gl_ModelViewProjectionMatrix", "*", "gl_Vertex", ")"].map(|s| t.like(s)));
            n += 3;
            continue;
        }
        body.push(t.clone());
        n += 1;
    }
    let mut out = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (n, t) in body.iter().enumerate() {
        if !t.text.starts_with("gl_") || seen.contains(&&*t.text) {
            continue;
        }
        seen.push(&t.text);
        // `out vec4 gl_FragColor;` of the program's own counts.
        let declared = body[..n].last().is_some_and(|p| super::names::is_basic_type(&p.text));
        let array = |word: &str| -> Vec<Tok> {
            let index = |w: &[Tok]| if w[0].is(&t.text) && w[1].is("[") && w[3].is("]") { w[2].text.parse::<u32>().ok() } else { None };
            let last = body.windows(4).filter_map(index).max().unwrap_or(0).min(31);
            [word, "vec4", &t.text, "[", &format!("{}", last + 1), "]", ";"].iter().map(|s| t.like(*s)).collect()
        };
        match &*t.text {
            _ if declared => {}
            "gl_FragColor" if stage == Stage::Fragment => out.extend(["out", "vec4", "gl_FragColor", ";"].map(|s| t.like(s))),
            "gl_FragData" if stage == Stage::Fragment => out.extend(array("out")),
            "gl_TexCoord" => out.extend(array("varying")),
            name => {
                if let Some((word, ty)) = compatibility_name(name, stage == Stage::Vertex) {
                    out.extend([word, ty, name, ";"].map(|s| t.like(s)));
                }
            }
        }
    }
    out.extend(body);
    out
}

/// Builtins of naga that are unsigned there and signed in GLSL.
fn signed_builtin(name: &str) -> Option<&'static str> {
    Some(match name {
        "gl_VertexID" | "gl_VertexIndex" => "gl_VertexIndex",
        "gl_InstanceID" | "gl_InstanceIndex" => "gl_InstanceIndex",
        "gl_PrimitiveID" => "gl_PrimitiveID",
        "gl_SampleID" => "gl_SampleID",
        _ => return None,
    })
}

impl Rewriter<'_> {
    /// A function, with combined samplers among its parameters taken apart.
    pub(super) fn function(&mut self, item: &Item) -> Out {
        let Item::Function { name, head, params, body } = item else { return Out::default() };
        let toks = self.toks;
        let mut out = Out::default();
        let none = Params::new();
        let ty = self.code(head.start..*name, &none);
        out.append(&ty);
        let is_main = toks[*name].is("main");
        let wrapped = is_main && !(self.before.text.is_empty() && self.after.text.is_empty());
        out.put(&toks[*name], if wrapped { "shaderc_main" } else { &toks[*name].text });
        out.put(&toks[*name], "(");
        let mut scope = Params::new();
        for (n, p) in list(toks, params.clone()).into_iter().enumerate() {
            if n > 0 {
                out.put(&toks[p.start.min(toks.len() - 1)], ",");
            }
            let (q, at) = quals(toks, p.start);
            if let Some((texture, sampler, join)) = toks.get(at).filter(|_| at < p.end).and_then(|t| sampler_type(&t.text)) {
                self.changed = true;
                let Some(name) = toks.get(at + 1).filter(|_| at + 1 < p.end) else {
                    out.put(&toks[at], &format!("{texture}, {sampler}"));
                    continue;
                };
                let second = self.fresh(&format!("{}_sampler", name.text));
                out.put(name, &format!("{texture} {}, {sampler} {second}", name.text));
                scope.insert(name.text.clone(), Combined { texture: name.text.clone(), sampler: second, join, elements: Vec::new() });
                continue;
            }
            for w in &q.words {
                // A parameter that is only read is one that is read.
                if w.is("const") && q.words.len() > 1 {
                    self.changed = true;
                } else if !is_precision(&w.text) {
                    out.tok(w);
                }
            }
            let rest = self.code(at..p.end, &none);
            out.append(&rest);
        }
        match body {
            Some(b) => {
                out.put(&toks[*name], ")");
                let code = self.code(b.clone(), &scope);
                out.append(&code);
            }
            None => out.put(&toks[*name], ") ;"),
        }
        out
    }

    /// Code, with every name that naga does not know replaced.
    pub(super) fn code(&mut self, part: Part, params: &Params) -> Out {
        let toks = self.toks;
        let mut out = Out::default();
        // The callee of every open parenthesis, what comes before its end, and what follows it.
        let mut open: Vec<(String, &'static str, &'static str)> = Vec::new();
        let (mut before, mut after) = ("", "");
        let mut n = part.start;
        while n < part.end {
            let t = &toks[n];
            let calls = n + 1 < part.end && toks.get(n + 1).is_some_and(|t| t.is("("));
            let field = n > part.start && toks[n - 1].is(".");
            n += 1;
            if t.is("(") {
                let callee = if n >= 2 { toks[n - 2].text.clone() } else { String::new() };
                open.push((callee, std::mem::take(&mut before), std::mem::take(&mut after)));
                out.tok(t);
            } else if t.is(")") {
                let (_, before, after) = open.pop().unwrap_or_default();
                if !before.is_empty() {
                    out.put(t, before);
                }
                out.tok(t);
                if !after.is_empty() {
                    out.put(t, after);
                }
            } else if !t.is_word() || field {
                out.tok(t);
            } else if is_precision(&t.text) {
                // Every machine computes in its one precision.
            } else if matches!(&*t.text, "precise" | "coherent" | "volatile") {
                self.precise |= t.is("precise");
                self.changed = true;
            } else if let Some(v) = params.get(&t.text).or_else(|| self.combined.get(&t.text)).cloned() {
                n = self.combined_sampler(&mut out, &v, n, open.last().map_or("", |(c, ..)| c));
            } else if self.blocks.contains_key(&t.text) || t.is("gl_in") {
                n = self.member(&mut out, n - 1, part.end, params);
            } else if calls && !self.functions.contains(&t.text) {
                // Without differences between neighbours the level is the first one, which naga wants to be said.
                let plain = matches!(self.stage, Stage::Vertex | Stage::Geometry);
                let today = matches!(&*t.text, "texture" | "textureProj") && plain;
                match texture_function(&t.text)
                    .or(if t.is("texture") { Some(("texture", false)) } else { Some(("textureProj", false)) }.filter(|_| today))
                {
                    Some((now, vector)) => {
                        self.changed = true;
                        if vector {
                            out.put(t, "vec4 (");
                            after = ")";
                        }
                        let now = match now {
                            "texture" if plain => "textureLod",
                            "textureProj" if plain => "textureProjLod",
                            other => other,
                        };
                        if plain && !texture_function(&t.text).is_some_and(|(n, _)| n.ends_with("Lod") || n.ends_with("Grad")) {
                            before = ", 0.0";
                        }
                        out.put(t, now);
                    }
                    None if t.is("textureGather") => n = self.gather(&mut out, n - 1, part.end, params),
                    None if matches!(&*t.text, "EmitStreamVertex" | "EndStreamPrimitive") => {
                        self.error(
                            "F0023",
                            t,
                            "a geometry program has one stream of vertices on these machines: use EmitVertex() and EndPrimitive()",
                        );
                    }
                    None => out.tok(t),
                }
            } else if let Some(name) = self.builtin(t) {
                out.put(t, &name);
            } else {
                out.tok(t);
            }
        }
        out
    }

    /// A combined sampler where it is used; gives the index behind it.
    fn combined_sampler(&mut self, out: &mut Out, v: &Combined, mut n: usize, callee: &str) -> usize {
        let toks = self.toks;
        let t = &toks[n - 1];
        let (mut texture, mut sampler) = (v.texture.clone(), v.sampler.clone());
        if !v.elements.is_empty() {
            let index = match (toks.get(n), toks.get(n + 1), toks.get(n + 2)) {
                (Some(a), Some(k), Some(b)) if a.is("[") && b.is("]") => {
                    k.text.trim_end_matches('u').parse::<usize>().ok().or_else(|| self.sizes.get(&k.text).map(|k| *k as usize))
                }
                _ => None,
            };
            let Some((a, b)) = index.and_then(|k| v.elements.get(k)) else {
                self.error(
                    "F0022",
                    t,
                    format!("`{}` is an array of textures: the machines need an index that is a constant within the array", t.text),
                );
                return n;
            };
            (texture, sampler) = (a.clone(), b.clone());
            n += 3;
        }
        if self.functions.contains(callee) {
            out.put(t, &format!("{texture} , {sampler}"));
        } else if takes_sampler(callee) || texture_function(callee).is_some() {
            out.put(t, &format!("{} ( {texture} , {sampler} )", v.join));
        } else {
            out.put(t, &texture);
        }
        n
    }

    /// `block.member`, `block[i].member`, `gl_in[i].gl_Position`, `gl_in.length()`; gives the index behind it.
    fn member(&mut self, out: &mut Out, at: usize, end: usize, params: &Params) -> usize {
        let toks = self.toks;
        let name = &toks[at];
        let index = if toks.get(at + 1).is_some_and(|t| t.is("[")) { at + 1..close(toks, at + 1).min(end) } else { at + 1..at + 1 };
        let dot = index.end;
        let Some(member) = toks.get(dot + 1).filter(|_| toks.get(dot).is_some_and(|t| t.is("."))) else {
            self.error("F0023", name, format!("`{}` can only be used member by member", name.text));
            return at + 1;
        };
        if member.is("length") && self.stage == Stage::Geometry {
            let n = self.geometry.as_ref().map_or(1, |g| g.info.input.vertices());
            out.put(name, &n.to_string());
            return (dot + 4).min(end);
        }
        let variable = if name.is("gl_in") { self.vertex_builtin(member) } else { self.blocks[&name.text].get(&member.text).cloned() };
        let Some(variable) = variable else {
            self.error("F0023", member, format!("`{}` has no member `{}` that the machines know", name.text, member.text));
            return dot + 2;
        };
        out.put(member, &variable);
        if !index.is_empty() {
            let code = self.code(index, params);
            out.append(&code);
        }
        dot + 2
    }

    /// `textureGather(…)`, which naga's GLSL lacks, by way of a function that the translation knows.
    fn gather(&mut self, out: &mut Out, at: usize, end: usize, params: &Params) -> usize {
        let toks = self.toks;
        let t = &toks[at];
        let behind = close(toks, at + 1).min(end);
        let args = list(toks, at + 2..behind - 1);
        // The sampler: a combined one, or one that is joined here.
        let first = args.first().cloned().unwrap_or(at..at);
        let parts = match &toks[first.clone()] {
            [one] => params
                .get(&one.text)
                .or_else(|| self.combined.get(&one.text))
                .filter(|v| v.elements.is_empty())
                .map(|v| (v.join.clone(), v.texture.clone(), v.sampler.clone())),
            [one, open, k, _] if open.is("[") => self.combined.get(&one.text).and_then(|v| {
                let (texture, sampler) = v.elements.get(k.text.parse::<usize>().ok()?)?;
                Some((v.join.clone(), texture.clone(), sampler.clone()))
            }),
            [join, open, a, comma, b, _] if open.is("(") && comma.is(",") => Some((join.text.clone(), a.text.clone(), b.text.clone())),
            _ => None,
        };
        let component = match args.get(2).map(|p| &toks[p.clone()]) {
            None => Some(0),
            Some([one]) => one.text.parse::<u32>().ok().filter(|c| *c < 4),
            Some(_) => None,
        };
        let coordinate = parts.as_ref().and_then(|(join, ..)| match &**join {
            "sampler2D" => Some("vec2"),
            "sampler2DArray" | "samplerCube" => Some("vec3"),
            _ => None,
        });
        let (Some((join, texture, sampler)), Some(component), Some(coordinate), Some(place)) = (parts, component, coordinate, args.get(1))
        else {
            self.error(
                "F0022",
                t,
                "textureGather needs a sampler2D, sampler2DArray or samplerCube of floats by name, coordinates and a constant component",
            );
            return behind;
        };
        let helper = format!("shaderc_gather{component}_{join}");
        self.changed = true;
        if self.words.insert(helper.clone()) {
            let texture = join.replacen("sampler", "texture", 1);
            let text = format!(
                "vec4 {helper} ( {texture} t , sampler s , {coordinate} p ) {{ return textureLod ( {join} ( t , s ) , p , 0.0 ) ; }}\n"
            );
            self.front.put(t, &text);
        }
        out.put(t, &format!("{helper} ( {texture} , {sampler} ,"));
        let code = self.code(place.clone(), params);
        out.append(&code);
        out.put(t, ")");
        behind
    }

    /// What stands for a variable of the language that naga does not have, or has with another type.
    fn builtin(&mut self, t: &Tok) -> Option<String> {
        if self.stage != Stage::Geometry {
            let name = signed_builtin(&t.text)?;
            self.changed = true;
            return Some(format!("int ( {name} )"));
        }
        let (builtin, ty, input) = match &*t.text {
            "gl_PrimitiveIDIn" => (Builtin::PrimitiveIndex, "int", true),
            "gl_InvocationID" => (Builtin::InvocationId, "int", true),
            "gl_Position" => (Builtin::Position, "vec4", false),
            "gl_PointSize" => (Builtin::PointSize, "float", false),
            "gl_Layer" => (Builtin::Layer, "int", false),
            "gl_ViewportIndex" => (Builtin::ViewportIndex, "int", false),
            "gl_PrimitiveID" => (Builtin::PrimitiveIndex, "int", false),
            _ => return None,
        };
        Some(self.geometry_builtin(t, builtin, ty, input, ""))
    }

    /// The variable for `gl_in[].member`.
    fn vertex_builtin(&mut self, member: &Tok) -> Option<String> {
        let vertices = self.geometry.as_ref()?.info.input.vertices();
        let (builtin, ty) = match &*member.text {
            "gl_Position" => (Builtin::Position, "vec4"),
            "gl_PointSize" => (Builtin::PointSize, "float"),
            _ => return None,
        };
        Some(self.geometry_builtin(member, builtin, ty, true, &format!("[{vertices}]")))
    }

    fn geometry_builtin(&mut self, t: &Tok, builtin: Builtin, ty: &str, input: bool, array: &str) -> String {
        let name = format!("shaderc_{}_{}", if input { "in" } else { "out" }, builtin.name());
        if self.words.insert(name.clone()) {
            self.front.put(t, &format!("{ty} {name}{array} ;"));
            let role = Role {
                variable: name.clone(),
                shown: String::new(),
                builtin: Some(builtin),
                span: Span::new(self.file, t.at, t.end),
                ..Role::default()
            };
            if let Some(g) = &mut self.geometry {
                if input { g.inputs.push(role) } else { g.outputs.push(role) }
            }
        }
        name
    }
}
