//! Where a program's interface lives: attribute, varying, output and constant offsets, shared memory, result registers.
//!
//! The layout is what the container's metadata tells a driver and what the simulator sets up. Source of the fixed parts:
//! the ISA description, section 9.

use crate::isa::chip::Chip;
use cranelift_entity::SecondaryMap;
use retroshade_ir::{Binding, Builtin, Function, Imm, Interpolation, Local, MemRef, Module, Opcode, Scalar, Stage};
use retroshade_lower::CompileError;
#[cfg(feature = "elf")]
use serde::{Deserialize, Serialize};

/// What a word of an interface space holds: a lane of an element of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "elf", derive(Serialize, Deserialize))]
pub struct Word {
    /// Index of the declaration.
    pub decl: u32,
    /// Element.
    pub element: u32,
    /// Lane.
    pub lane: u32,
}

/// A uniform's place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "elf", derive(Serialize, Deserialize))]
pub struct UniformPlace {
    /// Name as in the source.
    pub name: String,
    /// Constant space.
    pub space: u8,
    /// Byte offset.
    pub offset: u32,
    /// Lanes of an element.
    pub lanes: u32,
    /// Byte offset of each element from `offset`.
    pub elements: Vec<u32>,
    /// Bytes per index step.
    pub unit: u32,
}

/// Constants of the program: tables that it reads by computed indices and literals. The driver puts them into a constant space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "elf", derive(Serialize, Deserialize))]
pub struct Constants {
    /// Constant space, from its beginning.
    pub space: u8,
    /// The words.
    pub words: Vec<u32>,
}

/// The layout of a program's interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "elf", derive(Serialize, Deserialize))]
pub struct Abi {
    /// Stage.
    pub stage: String,
    /// Entry's name.
    pub entry: String,
    /// Chip the code is for.
    pub chip: String,
    /// `$r` registers.
    pub registers: u32,
    /// Bytes of l[] per thread.
    pub local_bytes: u32,
    /// Bytes of s[] per workgroup, header included.
    pub shared_bytes: u32,
    /// Barriers.
    pub barriers: u32,
    /// Threads per workgroup.
    pub workgroup_size: [u32; 3],
    /// Whether fragments may be discarded.
    pub discards: bool,
    /// Geometry: most vertices, and the output primitive.
    pub max_vertices: u32,
    /// Geometry: output primitive.
    pub primitive: String,
    /// a[] words of a vertex program; words of a vertex in p[] of a geometry program; v[] words (after the position) of a fragment program.
    pub inputs: Vec<Word>,
    /// Geometry: p[] words of one vertex.
    pub vertex_words: u32,
    /// Fragment: enabled components of the position in v[], bit 3 (w) always.
    pub position_mask: u32,
    /// Fragment: words of `inputs` that are flat, by position.
    pub flat: Vec<bool>,
    /// Fragment: words that are perspective-corrected.
    pub perspective: Vec<bool>,
    /// Names of inputs.
    pub input_names: Vec<String>,
    /// Vertex and geometry: o[] words.
    pub outputs: Vec<Word>,
    /// Names of outputs.
    pub output_names: Vec<String>,
    /// Fragment: result registers.
    pub results: Vec<(u32, Word)>,
    /// Uniforms.
    pub uniforms: Vec<UniformPlace>,
    /// Textures by unit.
    pub textures: Vec<String>,
    /// Storage buffers by global space.
    pub storage: Vec<String>,
    /// Outside compute programs: the constant space of each storage buffer, as far as there are spaces.
    #[cfg_attr(feature = "elf", serde(default))]
    pub storage_spaces: Vec<Option<u8>>,
    /// Where the chip has one global memory: the s[] byte offset of the storage buffers' addresses in it, one word each.
    #[cfg_attr(feature = "elf", serde(default))]
    pub storage_bases: Option<u32>,
    /// Byte offset of each shared variable in s[].
    pub shared: Vec<u32>,
    /// Tables of constants, and literals.
    #[cfg_attr(feature = "elf", serde(default))]
    pub constants: Option<Constants>,
}

/// v[] words before the varyings: the enabled position components.
pub const fn position_words(mask: u32) -> u32 {
    mask.count_ones()
}
/// s[] byte offset of the number of workgroups in z (u16) and the workgroup's z (u16 after it).
pub const GRID_Z: u32 = 0x10;
/// s[] byte offset of the lengths of storage buffers, one word each.
pub const STORAGE_LENGTHS: u32 = 0x14;

/// Words of a constant space.
const SPACE_WORDS: usize = 0x4000;
/// Bytes of a constant space.
pub const SPACE_BYTES: u64 = 4 * SPACE_WORDS as u64;
/// Samplers of a stage, and of compute programs; textures have the same numbers.
const SAMPLERS: [usize; 2] = [18, 16];

/// Bytes before the data of a storage buffer in c[]: its length in words, then nothing.
pub const BUFFER_HEADER: u32 = 0x10;

/// Which (declaration, lanes) the program reads of its inputs.
fn used_inputs(module: &Module) -> Vec<u32> {
    let mut used = vec![0u32; module.inputs.len()];
    let f = module.main();
    let mut by_value = SecondaryMap::<retroshade_ir::Value, Option<usize>>::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if d.op == Opcode::Input
            && let Imm::Mem { var: MemRef::Input(x), .. } = d.imm
        {
            let n = x.as_u32() as usize;
            by_value[d.results[0]] = Some(n);
            if !f.ty(d.results[0]).is_vector() {
                used[n] |= 1;
            }
        }
        for a in &d.args {
            if let Some(n) = by_value[f.resolve(*a)] {
                used[n] |= match (d.op, &d.imm) {
                    (Opcode::Extract, Imm::Lane(l)) => 1 << l,
                    _ => 15,
                };
            }
        }
    }
    used
}

impl Abi {
    /// Bytes of the uniforms' constant space.
    pub(crate) fn uniform_bytes(&self) -> u32 {
        let end = |u: &UniformPlace| u.offset.saturating_add(u.elements.last().unwrap_or(&0) + 4 * u.lanes);
        self.uniforms.iter().map(end).max().unwrap_or(0)
    }

    /// Lays out a legalised module.
    pub fn new(module: &Module, chip: &Chip) -> Abi {
        let mut abi = Abi {
            stage: module.stage.name().to_string(),
            entry: module.name.clone(),
            chip: chip.name.to_string(),
            workgroup_size: module.workgroup_size,
            input_names: module.inputs.values().map(|i| i.name.clone()).collect(),
            output_names: module.outputs.values().map(|o| o.name.clone()).collect(),
            textures: module.textures.values().map(|t| t.name.clone()).collect(),
            storage: module.storage.values().map(|s| s.name.clone()).collect(),
            ..Abi::default()
        };
        let used = used_inputs(module);
        match module.stage {
            Stage::Vertex => {
                let late = |b: &Binding| match b {
                    Binding::Builtin(Builtin::VertexIndex) => 1,
                    Binding::Builtin(Builtin::InstanceIndex) => 2,
                    _ => 0,
                };
                let mut order: Vec<usize> = (0..used.len()).collect();
                order.sort_by_key(|n| late(&module.inputs[retroshade_ir::Input::from_u32(*n as u32)].binding));
                for n in order {
                    abi.add_inputs(module, n, used[n]);
                }
            }
            Stage::Geometry => {
                for (n, lanes) in used.iter().copied().enumerate() {
                    let decl = &module.inputs[retroshade_ir::Input::from_u32(n as u32)];
                    if lanes != 0 && !matches!(decl.binding, Binding::Builtin(Builtin::PrimitiveIndex | Builtin::InvocationId)) {
                        abi.inputs.extend((0..decl.ty.lanes as u32).map(|lane| Word { decl: n as u32, element: 0, lane }));
                    }
                }
                abi.vertex_words = abi.inputs.len() as u32;
                if let Some(g) = module.geometry {
                    abi.max_vertices = g.max_vertices;
                    abi.primitive = g.output.name().to_string();
                }
            }
            Stage::Fragment => {
                abi.position_mask = 8;
                for pass in [false, true] {
                    for (n, lanes) in used.iter().copied().enumerate() {
                        let decl = &module.inputs[retroshade_ir::Input::from_u32(n as u32)];
                        match decl.binding {
                            Binding::Builtin(Builtin::Position) => abi.position_mask |= lanes,
                            Binding::Builtin(Builtin::FrontFacing | Builtin::SampleIndex) => {}
                            _ => {
                                let flat = decl.interpolation == Interpolation::Flat;
                                if flat == pass {
                                    let before = abi.inputs.len();
                                    abi.add_inputs(module, n, lanes);
                                    for _ in before..abi.inputs.len() {
                                        abi.flat.push(flat);
                                        abi.perspective.push(decl.interpolation == Interpolation::Perspective);
                                    }
                                }
                            }
                        }
                    }
                }
            }
            Stage::Compute => {}
        }
        abi.lay_out_outputs(module);
        abi.lay_out_uniforms(module, chip);
        let mut at = STORAGE_LENGTHS + 4 * module.storage.len() as u32;
        if chip.flexgrip {
            abi.storage_bases = Some(at);
            at += 4 * module.storage.len() as u32;
        }
        at = at.next_multiple_of(16);
        for s in module.shared.values() {
            abi.shared.push(at);
            at += s.count * s.ty.lanes as u32 * 4;
        }
        if module.stage == Stage::Compute {
            abi.shared_bytes = at;
        }
        abi
    }
    fn add_inputs(&mut self, module: &Module, n: usize, lanes: u32) {
        let decl = &module.inputs[retroshade_ir::Input::from_u32(n as u32)];
        // Arrays keep all lanes, so that an index is a plain multiple.
        let lanes = if decl.count > 1 && lanes != 0 { (1 << decl.ty.lanes) - 1 } else { lanes };
        for element in 0..decl.count.max(1) {
            for lane in (0..decl.ty.lanes as u32).filter(|l| lanes >> l & 1 == 1) {
                self.inputs.push(Word { decl: n as u32, element, lane });
            }
        }
    }
    fn lay_out_outputs(&mut self, module: &Module) {
        let written: Vec<bool> = {
            let mut w = vec![false; module.outputs.len()];
            for (_, i) in module.main().ordered() {
                if let (Opcode::Output, Imm::Mem { var: MemRef::Output(o), .. }) = (module.main().insts[i].op, &module.main().insts[i].imm)
                {
                    w[o.as_u32() as usize] = true;
                }
            }
            w
        };
        if module.stage == Stage::Fragment {
            let mut next = 0;
            for (n, o) in module.outputs.iter() {
                if let Binding::Location(l) = o.binding {
                    let base = 4 * (l + u32::from(o.blend_source));
                    for element in 0..o.count.max(1) {
                        for lane in 0..o.ty.lanes as u32 {
                            let reg = base + 4 * element + lane;
                            next = next.max((reg + 4) & !3);
                            if written[n.as_u32() as usize] {
                                self.results.push((reg, Word { decl: n.as_u32(), element, lane }));
                            }
                        }
                    }
                }
            }
            for want in [Builtin::SampleMask, Builtin::FragDepth] {
                for (n, _) in module.outputs.iter().filter(|(_, o)| o.binding == Binding::Builtin(want)) {
                    if written[n.as_u32() as usize] {
                        self.results.push((next, Word { decl: n.as_u32(), element: 0, lane: 0 }));
                        next += 1;
                    }
                }
            }
            return;
        }
        let position_first = |b: &Binding| *b != Binding::Builtin(Builtin::Position);
        let mut order: Vec<_> = module.outputs.iter().collect();
        order.sort_by_key(|(_, o)| position_first(&o.binding));
        for (n, o) in order {
            for element in 0..o.count.max(1) {
                for lane in 0..o.ty.lanes as u32 {
                    self.outputs.push(Word { decl: n.as_u32(), element, lane });
                }
            }
        }
    }
    /// What a driver cannot bind: constants beyond the end of their space, textures beyond the last unit.
    pub fn check(&self, module: &Module) -> Result<(), CompileError> {
        for (place, u) in self.uniforms.iter().zip(module.uniforms.values()) {
            let end = u64::from(place.offset) + u64::from(u.size());
            if end > SPACE_BYTES {
                let m = format!("`{}` ends beyond its constant space", u.name);
                return Err(CompileError::limit("T0112", u.span, &m, end, SPACE_BYTES));
            }
        }
        let units = SAMPLERS[usize::from(module.stage == Stage::Compute)];
        match module.textures.values().nth(units) {
            Some(t) => Err(CompileError::limit("T0111", t.span, "too many textures", module.textures.len() as u64, units as u64)),
            None => Ok(()),
        }
    }
    /// One constant space per bind group and binding, in their order; the fifteenth and later ones share a space. Where the chip has
    /// only one, all share it.
    fn lay_out_uniforms(&mut self, module: &Module, chip: &Chip) {
        let mut blocks: Vec<(u32, u32)> = module.uniforms.values().map(|u| (u.group, u.binding)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let end = |key: (u32, u32)| {
            module.uniforms.values().filter(|u| (u.group, u.binding) == key).map(|u| u.offset + u.size()).max().unwrap_or(0)
        };
        let (alone, last) = if chip.flexgrip { (0, 0) } else { (14, 14) };
        let mut places = Vec::new();
        let mut shared_base = 0;
        for (n, key) in blocks.iter().enumerate() {
            if n < alone {
                places.push((*key, n as u8, 0));
            } else {
                places.push((*key, last, shared_base));
                shared_base = end(*key).checked_next_multiple_of(256).map_or(u32::MAX, |n| n.saturating_add(shared_base));
            }
        }
        for u in module.uniforms.values() {
            let (_, space, base) = places.iter().find(|p| p.0 == (u.group, u.binding)).copied().unwrap_or(((0, 0), 0, 0));
            self.uniforms.push(UniformPlace {
                name: u.name.clone(),
                space,
                offset: u.offset.saturating_add(base),
                lanes: u.ty.lanes as u32,
                elements: (0..u.elements().max(1)).map(|n| u.element_offset(n)).collect(),
                unit: u.unit,
            });
        }
        if module.stage != Stage::Compute {
            let first = self.uniforms.iter().map(|u| u.space + 1).max().unwrap_or(0);
            self.storage_spaces = (0..module.storage.len()).map(|n| u8::try_from(n).ok()?.checked_add(first).filter(|s| *s < 16)).collect();
        }
    }
    /// Puts the local arrays that hold constants only into a constant space of their own, if one is free: the byte offset of
    /// each there.
    pub fn lay_out_tables(&mut self, func: &Function) -> SecondaryMap<Local, Option<u32>> {
        let mut places = SecondaryMap::new();
        self.constants = None;
        let Some(space) = self.literal_space() else { return places };
        let mut words = Vec::new();
        for (l, table) in retroshade_ir::analysis::tables(func).iter() {
            let Some(table) = table else { continue };
            if words.len() + table.len() > SPACE_WORDS {
                continue;
            }
            places[l] = Some(4 * words.len() as u32);
            // Truth values are 0 and -1 in private memory.
            let mask = func.locals[l].ty.scalar == Scalar::I1;
            words.extend(table.iter().map(|w| if mask { 0u32.wrapping_sub(*w & 1) } else { *w }));
        }
        if !words.is_empty() {
            self.constants = Some(Constants { space, words });
        }
        places
    }
    /// The constant space of the program's own constants: the one behind uniforms and buffers, if there is one.
    pub fn literal_space(&self) -> Option<u8> {
        let taken = self.uniforms.iter().map(|u| u.space).chain(self.storage_spaces.iter().copied().flatten()).max();
        Some(taken.map_or(0, |n| n + 1)).filter(|space| *space < 16)
    }
    /// The byte offset of a word of the program's own constants.
    pub fn literal_place(&self, word: u32) -> Option<u32> {
        let n = self.constants.as_ref()?.words.iter().position(|w| *w == word)?;
        Some(4 * n as u32)
    }
    /// The same for a word that may be added, below a byte offset.
    pub fn literal(&mut self, word: u32, end: u32) -> Option<u32> {
        if let Some(off) = self.literal_place(word) {
            return Some(off).filter(|off| *off < end);
        }
        let space = self.literal_space()?;
        let constants = self.constants.get_or_insert_with(|| Constants { space, words: Vec::new() });
        let off = 4 * constants.words.len() as u32;
        if off < end {
            constants.words.push(word);
        }
        Some(off).filter(|off| *off < end)
    }
    /// The interface as comment lines, for the disassembly of a container.
    pub fn describe(&self) -> String {
        let mut out = format!("// {} program `{}` for {}\n// {} registers", self.stage, self.entry, self.chip, self.registers);
        if self.local_bytes > 0 {
            out.push_str(&format!(", {} bytes of l[]", self.local_bytes));
        }
        if self.shared_bytes > 0 {
            out.push_str(&format!(", {} bytes of s[], {} barriers", self.shared_bytes, self.barriers));
        }
        out.push('\n');
        let name =
            |names: &[String], w: &Word| format!("{}[{}].{}", names.get(w.decl as usize).map_or("?", String::as_str), w.element, w.lane);
        for (n, w) in self.inputs.iter().enumerate() {
            let skip = if self.stage == "fragment" { position_words(self.position_mask) as usize } else { 0 };
            out.push_str(&format!("// input {:#x} {}\n", 4 * (n + skip), name(&self.input_names, w)));
        }
        for (n, w) in self.outputs.iter().enumerate() {
            out.push_str(&format!("// o[{:#x}] {}\n", 4 * n, name(&self.output_names, w)));
        }
        for (r, w) in &self.results {
            out.push_str(&format!("// $r{r} {}\n", name(&self.output_names, w)));
        }
        for u in &self.uniforms {
            out.push_str(&format!("// c{}[{:#x}] {}\n", u.space, u.offset, u.name));
        }
        for (name, space) in self.storage.iter().zip(&self.storage_spaces) {
            if let Some(s) = space {
                out.push_str(&format!("// c{s}[{BUFFER_HEADER:#x}] {name}, its length in words in c{s}[0x0]\n"));
            }
        }
        if let Some(c) = &self.constants {
            for (n, words) in c.words.chunks(4).enumerate() {
                let words: Vec<String> = words.iter().map(|w| format!("{w:#010x}")).collect();
                out.push_str(&format!("// c{}[{:#x}] constants {}\n", c.space, 16 * n, words.join(" ")));
            }
        }
        out
    }
    /// Byte offset of an input word in a[], p[] or v[].
    pub fn input_offset(&self, decl: u32, element: u32, lane: u32) -> Option<u32> {
        let n = self.inputs.iter().position(|w| *w == Word { decl, element, lane })?;
        Some(4 * (n as u32 + if self.stage == "fragment" { position_words(self.position_mask) } else { 0 }))
    }
    /// v[] byte offset of a position component.
    pub fn position_offset(&self, lane: u32) -> u32 {
        4 * (self.position_mask & ((1 << lane) - 1)).count_ones()
    }
    /// Byte offset of an output word in o[].
    pub fn output_offset(&self, decl: u32, element: u32, lane: u32) -> Option<u32> {
        self.outputs.iter().position(|w| *w == Word { decl, element, lane }).map(|n| 4 * n as u32)
    }
}
