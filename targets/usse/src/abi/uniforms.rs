//! Where uniforms live: words of the default uniform buffer, or of a buffer of their block's own.
//!
//! What fits is loaded into secondary attributes before the program starts; what is read with computed indices, and what finds
//! no room, stays in memory. Facts: the ISA sheet's sections 19.1, 19.3, 19.6 and 19.7.

use super::{OTHER_REGS, SA_LIMIT, UNIFORM_REGS, unsupported};
use crate::container::DEFAULT_BUFFER;
use retroshade_ir::surface::BlockKind;
use retroshade_ir::*;
use retroshade_lower::{CompileError, Options};

/// Words that a uniform buffer may have.
const BUFFER_WORDS: u32 = 1 << 14;
/// Uniform buffers beside the default one.
const BUFFERS: u32 = DEFAULT_BUFFER as u32;

/// A uniform in place.
#[derive(Clone, Copy, Debug)]
pub struct UniformSlot {
    /// The declaration.
    pub uniform: Uniform,
    /// Its buffer.
    pub buffer: u16,
    /// Word offset in the buffer.
    pub word: u32,
    /// Words from one element to the next.
    pub stride: u32,
    /// The attribute that holds word 0 of the buffer; none where it is read from memory.
    pub loaded: Option<u16>,
    /// Whether it keeps the layout that the source declares: members of blocks with buffers of their own, and of structures that
    /// are read with a computed index.
    pub declared: bool,
}

impl UniformSlot {
    /// The word of an element, counted densely.
    pub fn element(&self, d: &UniformDecl, n: u32) -> u32 {
        self.word + if self.declared { d.element_offset(n) / 4 } else { n * self.stride }
    }
    /// The first word behind it.
    fn end(&self, d: &UniformDecl) -> u32 {
        match d.elements().max(1) {
            _ if self.declared => self.word + d.size().div_ceil(4),
            1 => self.word + d.ty.lanes as u32,
            n => self.word + n * self.stride,
        }
    }
}

/// A uniform buffer.
#[derive(Clone, Debug, Default)]
pub struct BufferSlot {
    /// Its index; 14 is the default uniform buffer.
    pub index: u16,
    /// The block's name.
    pub name: String,
    /// Words that the program may read.
    pub words: u32,
    /// The attributes that hold its first words: the first one and how many.
    pub loaded: (u16, u16),
    /// The attribute that holds its address, if it is read from memory.
    pub base: Option<u16>,
}

/// Uniforms and their buffers.
#[derive(Clone, Debug, Default)]
pub struct Uniforms {
    /// Uniforms in use.
    pub slots: Vec<UniformSlot>,
    /// Buffers in use, the default one first.
    pub buffers: Vec<BufferSlot>,
}

impl Uniforms {
    /// A uniform's place.
    pub fn slot(&self, u: Uniform) -> Option<&UniformSlot> {
        self.slots.iter().find(|s| s.uniform == u)
    }
    /// The buffer with an index.
    pub fn buffer(&self, index: u16) -> Option<&BufferSlot> {
        self.buffers.iter().find(|b| b.index == index)
    }
    /// Attributes that hold uniforms.
    pub fn registers(&self) -> u16 {
        self.buffers.iter().map(|b| b.loaded.0 + b.loaded.1).max().unwrap_or(0)
    }
}

/// Whether the units in which an index counts are the elements, one after the other: not so for members of structures.
fn is_dense(d: &UniformDecl) -> bool {
    let mut stride = d.unit;
    d.dims.iter().rev().all(|dim| {
        let follows = dim.stride == stride;
        stride = dim.stride * dim.count;
        follows
    })
}

/// The buffer of a uniform: that of its block's binding where the options ask for it, else the default one. Loose uniforms are a block
/// without a name.
fn buffer_of(m: &Module, d: &UniformDecl, o: &Options) -> Result<(u16, String), CompileError> {
    let here = |b: &&surface::Block| (b.group, b.binding) == (d.group, d.binding) && b.kind == BlockKind::Uniform && !b.name.is_empty();
    let Some(block) = m.surface.blocks.iter().find(here).filter(|_| o.uniform_buffers) else {
        return Ok((DEFAULT_BUFFER, String::new()));
    };
    if d.binding >= BUFFERS {
        let what = format!("the block `{}` is at binding {}", block.name, d.binding);
        return Err(CompileError::limit("U0106", d.span, what, u64::from(d.binding) + 1, BUFFERS.into()));
    }
    // A container's buffer is one block; what shares its words would be set twice.
    let clashes = |b: &&surface::Block| b.kind == BlockKind::Uniform && b.binding == d.binding && !b.name.is_empty() && *b != block;
    if let Some(other) = m.surface.blocks.iter().find(clashes) {
        let why = if other.group == block.group { "" } else { ": buffers have no groups" };
        let what = format!("the blocks `{}` and `{}` are both uniform buffer {}{why}", block.name, other.name, d.binding);
        return Err(unsupported(d.span, what));
    }
    Ok((d.binding as u16, block.name.clone()))
}

/// Places the uniforms in use; `dynamic` ones are read with computed indices, `states` textures take room beside them.
pub fn place(m: &Module, o: &Options, used: &[Uniform], dynamic: &[Uniform], states: u32) -> Result<Uniforms, CompileError> {
    let mut out = Uniforms::default();
    let mut own: Vec<(u16, String, Vec<Uniform>)> = Vec::new();
    let mut default = Vec::new();
    for (u, d) in m.uniforms.iter().filter(|(u, _)| used.contains(u)) {
        match buffer_of(m, d, o)? {
            (DEFAULT_BUFFER, _) => default.push(u),
            (index, name) => match own.iter_mut().find(|b| b.0 == index) {
                Some(b) => b.2.push(u),
                None => own.push((index, name, vec![u])),
            },
        }
    }
    let room = UNIFORM_REGS.min((SA_LIMIT as u32 - OTHER_REGS).saturating_sub(4 * states));
    if !default.is_empty() {
        place_default(m, &default, dynamic, room, &mut out)?;
    }
    own.sort_by_key(|b| b.0);
    for (index, name, uniforms) in own {
        let left = room.saturating_sub(out.registers().into());
        place_own(m, BufferSlot { index, name, ..BufferSlot::default() }, &uniforms, dynamic, left, &mut out)?;
    }
    Ok(out)
}

/// The default buffer holds what is read and nothing else: first what is loaded, then arrays with computed indices and what
/// finds no room.
fn place_default(m: &Module, all: &[Uniform], dynamic: &[Uniform], room: u32, out: &mut Uniforms) -> Result<(), CompileError> {
    let (mut word, mut later) = (0, Vec::new());
    let slot = |u: Uniform, word: u32, memory: bool| {
        let d = &m.uniforms[u];
        let at = if d.ty.lanes > 1 { word.next_multiple_of(2) } else { word };
        let stride = crate::container::stride(d.ty.is_float(), d.ty.lanes);
        let loaded = (!memory).then_some(0);
        UniformSlot { uniform: u, buffer: DEFAULT_BUFFER, word: at, stride, loaded, declared: memory && !is_dense(d) }
    };
    for u in all.iter().copied() {
        let s = slot(u, word, false);
        let end = s.end(&m.uniforms[u]);
        if dynamic.contains(&u) || end > room {
            later.push(u);
            continue;
        }
        (word, _) = (end, out.slots.push(s));
    }
    // Sizes are even, and what follows the uniforms follows at once.
    let loaded = word.next_multiple_of(2);
    for u in &later {
        let (s, d) = (slot(*u, word, true), &m.uniforms[*u]);
        word = s.end(d);
        if word > BUFFER_WORDS {
            let what = "the uniforms do not fit the default uniform buffer";
            return Err(CompileError::limit("U0101", d.span, what, d.size() as u64 / 4, BUFFER_WORDS.into()));
        }
        out.slots.push(s);
    }
    out.buffers.push(BufferSlot {
        index: DEFAULT_BUFFER,
        words: word.next_multiple_of(2),
        loaded: (0, loaded as u16),
        base: (!later.is_empty()).then_some(0),
        ..BufferSlot::default()
    });
    Ok(())
}

/// A buffer of its own keeps the layout of its block. Its first words are loaded where the program reads at least half of them.
fn place_own(
    m: &Module,
    mut buffer: BufferSlot,
    all: &[Uniform],
    dynamic: &[Uniform],
    room: u32,
    out: &mut Uniforms,
) -> Result<(), CompileError> {
    let first = out.registers();
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|u| m.uniforms[*u].offset);
    let (mut read, mut end) = (0, 0);
    for u in sorted {
        let d = &m.uniforms[u];
        let stride = crate::container::stride(d.ty.is_float(), d.ty.lanes);
        let mut s = UniformSlot { uniform: u, buffer: buffer.index, word: d.offset / 4, stride, loaded: None, declared: true };
        let behind = s.end(d);
        if behind > BUFFER_WORDS {
            let what = format!("`{}` lies beyond what a uniform buffer may have", d.name);
            return Err(CompileError::limit("U0101", d.span, what, behind.into(), BUFFER_WORDS.into()));
        }
        buffer.words = buffer.words.max(behind);
        let constant = !dynamic.contains(&u);
        read += if constant { d.elements().max(1) * d.ty.lanes as u32 } else { 0 };
        if constant && behind.next_multiple_of(2) <= room && behind <= 2 * read {
            end = end.max(behind);
            s.loaded = Some(first);
        } else {
            buffer.base = Some(0);
        }
        out.slots.push(s);
    }
    buffer.loaded = (first, end.next_multiple_of(2) as u16);
    out.buffers.push(buffer);
    Ok(())
}
