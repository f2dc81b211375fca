//! GLSL as people write it, brought into the form that naga's parser takes.
//!
//! naga reads Vulkan's GLSL 4.50 of three stages. Programs for OpenGL, OpenGL ES and the consoles also have loose uniforms, combined
//! samplers, `attribute` and `varying`, `gl_FragColor`, `texture2D()`, inputs and outputs without locations, as arrays, matrices or
//! blocks, computed initial values of globals, and geometry programs. All of this is rewritten token by token after the preprocessor;
//! every token keeps its place in the user's text, so that messages point there. A text that needs none of it is handed on as it is.

mod blocks;
mod code;
mod interface;
mod items;
mod names;
mod tokens;

use crate::interface::Role;
use crate::layout::Layout;
use items::Item;
use retroshade_ir::module::{Builtin, GeometryInfo};
use retroshade_ir::{Diagnostic, FileId, Span, Stage};
use std::collections::{BTreeMap, BTreeSet};
use tokens::{Out, Tok};

/// A rewritten text.
#[derive(Debug)]
pub(crate) struct Rewritten {
    out: Out,
    /// Names in the text and the names that the user gave.
    pub(crate) renames: BTreeMap<String, String>,
    /// Names of blocks and of their instances, which the text goes without.
    pub(crate) instances: BTreeMap<String, String>,
    /// What naga cannot say about a geometry program.
    pub(crate) geometry: Option<Plan>,
    /// Whether the source forbids contraction somewhere.
    pub(crate) precise: bool,
    /// Layouts of blocks by name, where naga would get them wrong.
    pub(crate) layouts: BTreeMap<String, Layout>,
    /// Inputs and outputs that the source gives no location, by the user's names.
    pub(crate) unplaced: (BTreeSet<String>, BTreeSet<String>),
}

impl Rewritten {
    /// The text for naga.
    pub(crate) fn text(&self) -> &str {
        &self.out.text
    }

    /// The user's text behind a place of the text for naga.
    pub(crate) fn span(&self, s: naga::Span, file: FileId) -> Span {
        let Some(r) = s.to_range() else { return Span::NONE };
        if s == naga::Span::UNDEFINED {
            return Span::NONE;
        }
        self.out.source(r.start, r.end).map_or(Span::NONE, |(a, e)| Span::new(file, a, e))
    }
}

/// A geometry program's interface: plain variables of naga's module and what they stand for.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Primitives.
    pub(crate) info: GeometryInfo,
    /// Variables with one element per vertex, or with the primitive's number.
    pub(crate) inputs: Vec<Role>,
    /// Variables that make a vertex.
    pub(crate) outputs: Vec<Role>,
}

/// A combined sampler.
#[derive(Clone, Debug)]
struct Combined {
    texture: String,
    sampler: String,
    /// The constructor that joins them.
    join: String,
    /// The parts of an array.
    elements: Vec<(String, String)>,
}

/// Numbers that are given out to what has none.
#[derive(Debug, Default)]
struct Numbers(BTreeSet<u32>);

impl Numbers {
    fn take(&mut self, at: u32, count: u32) {
        self.0.extend(at..at.saturating_add(count.min(64)));
    }

    fn free(&mut self, count: u32) -> u32 {
        let mut at = 0;
        while (at..at + count.clamp(1, 64)).any(|n| self.0.contains(&n)) {
            at += 1;
        }
        self.take(at, count);
        at
    }
}

/// The state of a rewriting.
struct Rewriter<'a> {
    toks: &'a [Tok],
    file: FileId,
    stage: Stage,
    /// Whether naga would not have understood the text as it is.
    changed: bool,
    diags: Vec<Diagnostic>,
    words: BTreeSet<String>,
    inputs: Numbers,
    outputs: Numbers,
    next_binding: u32,
    /// The binding of the block of loose uniforms.
    loose: Option<u32>,
    combined: BTreeMap<String, Combined>,
    functions: BTreeSet<String>,
    /// Blocks with an instance name: members and the variables that stand for them.
    blocks: BTreeMap<String, BTreeMap<String, String>>,
    constants: BTreeSet<String>,
    sizes: BTreeMap<String, u32>,
    renames: BTreeMap<String, String>,
    /// Names of blocks and of their instances, which naga's text goes without.
    instances: BTreeMap<String, String>,
    geometry: Option<Plan>,
    precise: bool,
    layouts: BTreeMap<String, Layout>,
    /// Whether matrices of uniform blocks, and of buffers, stand row by row unless they say otherwise.
    row_major: (bool, bool),
    /// Locations of what the program before this one hands on.
    varyings: &'a [(String, u32)],
    unplaced: (BTreeSet<String>, BTreeSet<String>),
    /// Declarations that come before everything else.
    front: Out,
    /// What happens before and after the user's `main`.
    before: Out,
    after: Out,
}

/// The names of a text's specialisation constants: a definition of such a name gives the constant its value and is no macro.
pub(crate) fn specialisation_constants(text: &str) -> BTreeSet<&str> {
    let mut out = BTreeSet::new();
    for (at, key) in text.match_indices("constant_id") {
        // `layout(constant_id = 3) const int count = 2;`
        let Some((_, rest)) = text[at + key.len()..].split_once(')') else { continue };
        let declaration = rest.split(['=', ';']).next().unwrap_or("");
        out.extend(declaration.split_whitespace().next_back());
    }
    out
}

/// Rewrites a text for naga; `None` where nothing has to be done.
pub(crate) fn rewrite(
    text: &str,
    file: FileId,
    stage: Stage,
    defines: &[(String, String)],
    varyings: &[(String, u32)],
) -> Result<Option<Rewritten>, Vec<Diagnostic>> {
    let pre = match tokens::preprocess(text, file, defines) {
        Ok(p) => p,
        // naga reports the same errors and finds more.
        Err(_) if stage != Stage::Geometry => return Ok(None),
        Err(e) => return Err(e),
    };
    let toks = code::compatibility(pre.toks, stage);
    let mut r = Rewriter {
        toks: &toks,
        file,
        stage,
        changed: !matches!(pre.version, None | Some(440 | 450 | 460)) || stage == Stage::Geometry,
        diags: Vec::new(),
        words: toks.iter().filter(|t| t.is_word()).map(|t| t.text.clone()).collect(),
        inputs: Numbers::default(),
        outputs: Numbers::default(),
        next_binding: 0,
        loose: None,
        combined: BTreeMap::new(),
        functions: BTreeSet::new(),
        blocks: BTreeMap::new(),
        constants: BTreeSet::new(),
        sizes: BTreeMap::new(),
        renames: BTreeMap::new(),
        instances: BTreeMap::new(),
        geometry: None,
        precise: false,
        layouts: BTreeMap::new(),
        row_major: (false, false),
        varyings,
        unplaced: Default::default(),
        front: Out::default(),
        before: Out::default(),
        after: Out::default(),
    };
    let out = r.run();
    if !r.diags.is_empty() {
        return Err(r.diags);
    }
    if !r.changed {
        return Ok(None);
    }
    let mut geometry = r.geometry;
    if let Some(g) = &mut geometry {
        g.outputs.sort_by_key(|o| o.builtin != Some(Builtin::Position));
        g.inputs.sort_by_key(|o| o.builtin != Some(Builtin::Position));
    }
    Ok(Some(Rewritten {
        out,
        renames: r.renames,
        instances: r.instances,
        geometry,
        precise: r.precise,
        layouts: r.layouts,
        unplaced: r.unplaced,
    }))
}

impl Rewriter<'_> {
    fn error(&mut self, code: &'static str, t: &Tok, message: impl Into<String>) {
        if self.diags.len() < 20 {
            self.diags.push(Diagnostic::error(code, Span::new(self.file, t.at, t.end), message));
        }
    }

    /// A name that the text does not use.
    fn fresh(&mut self, wish: &str) -> String {
        let mut name = wish.replace("__", "_");
        while self.words.contains(&name) {
            name.push('x');
        }
        self.words.insert(name.clone());
        name
    }

    fn run(&mut self) -> Out {
        let items = items::items(self.toks);
        self.survey(&items);
        if self.stage == Stage::Geometry && self.geometry.is_none() {
            return Out::default();
        }
        let early = self.early_uniforms(&items);
        let mut parts: Vec<Out> = Vec::new();
        for item in &items {
            parts.push(self.declaration(item, &early));
        }
        let first = items.iter().position(|i| matches!(i, Item::Function { body: Some(_), .. })).unwrap_or(items.len());
        for (n, item) in items.iter().enumerate() {
            if let Item::Function { .. } = item {
                parts[n] = self.function(item);
            }
        }
        let mut all = Out::default();
        all.text.push_str("#version 450\n");
        if self.stage == Stage::Geometry {
            all.text.push_str("layout(local_size_x = 1) in;\nvoid EmitVertex() {}\nvoid EndPrimitive() {}\n");
        }
        all.append(&self.front);
        for (n, p) in parts.iter().enumerate() {
            if n == first {
                let block = self.loose_block(&early);
                all.append(&block);
            }
            all.append(p);
        }
        if !self.before.text.is_empty() || !self.after.text.is_empty() {
            all.text.push_str("void main() {\n");
            all.append(&self.before);
            all.text.push_str("shaderc_main();\n");
            all.append(&self.after);
            all.text.push_str("}\n");
        }
        all
    }
}
