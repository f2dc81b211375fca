//! The simulator: executes decoded words on warps of 32 lanes.
//!
//! Nothing but the code bytes decides what happens: words are decoded by the form table, operands interpreted as the
//! disassembler does, arithmetic is that of `arith.rs`. Control flow follows the machine's model of a stack with
//! branch, call, prebrk, joinat and quadon entries (sheet 7). A [`Launch`] holds the machine's view of the inputs
//! (attribute words, varyings, c[] bytes, g[] bytes); `bind.rs` makes it from a shader's environment.
//!
//! ```text
//!   bytes ──Program::new──▶ decoded instructions ─┐
//!   Launch: lanes, c[], g[], textures ────────────┴─ run ──▶ Finish: o[] words, registers, strips, g[] bytes
//! ```

mod alu;
pub mod bind;
mod control;
mod memory;
mod texture;

use crate::isa::chip::{self, Chip};
use crate::isa::decode::{Insn, decode, size_of, space};
use crate::isa::forms::{Op, Shape, field};
use crate::isa::operand::Size;
use crate::isa::text::{Operands, Source};
use control::Warp;
use retroshade_emit::FieldName;
use retroshade_ir::{Scalar, Stage, TexDim, TextureData};
use retroshade_lower::{BranchOrder, SimError, Turning};
use std::collections::BTreeSet;

/// Lanes of a warp.
pub const LANES: usize = 32;
/// Registers of a lane.
const REGISTERS: usize = 128;
/// Bytes of s[] before parameters: grid and block sizes and the block's id (sheet 9.4).
pub const SHARED_HEADER: usize = 0x10;
/// The varying word that holds the facing: v[0x3fc].
const V_FACING: usize = 0xff;

/// A texture unit: the texture and what its instructions' operands mean.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// Texels and sampler state.
    pub data: &'a TextureData,
    /// Dimensions, which give the number of coordinates.
    pub dim: TexDim,
    /// Whether a layer follows the coordinates.
    pub arrayed: bool,
    /// Whether a depth reference follows.
    pub shadow: bool,
    /// Whether texels are integers.
    pub kind: Scalar,
}

/// What one lane starts with.
#[derive(Clone, Debug, Default)]
pub struct LaneInput {
    /// VP: a[] words. GP: a[] words as the machine sees them (a[4i] = address of input vertex i in p[]).
    pub attributes: Vec<u32>,
    /// FP: the values of the varyings after interpolation, by v[] word; the word of 1/w holds 1/w.
    pub varyings: Vec<u32>,
    /// FP: the value of w at the fragment.
    pub w: f32,
    /// FP: all ones for a front face.
    pub facing: u32,
    /// Registers at the start (CP: the thread id in `$r0`).
    pub registers: Vec<u32>,
}

/// A program's run.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Stage.
    pub stage: Stage,
    /// Declared number of registers: others read 0.
    pub gprs: u32,
    /// Bytes of l[] per lane.
    pub local_bytes: u32,
    /// Bytes of s[] per block.
    pub shared_bytes: u32,
    /// c[] spaces.
    pub constants: Vec<Vec<u8>>,
    /// g[] spaces; changed in place.
    pub global: Vec<Vec<u8>>,
    /// Texture units by number.
    pub textures: Vec<Option<Unit<'a>>>,
    /// GP: p[] words.
    pub vertex_data: Vec<u32>,
    /// GP: distance of attributes in p[] in bytes (`$vstride`).
    pub vertex_stride: u32,
    /// Number of o[] words.
    pub outputs: usize,
    /// Which side of a branch runs first where lanes disagree: not documented, so that nothing may depend on it.
    pub order: BranchOrder,
    /// Which branches are turned.
    pub turning: Turning<'a>,
    /// The number of the first lane, as they count invocations.
    pub first: u32,
    /// Instructions per warp before giving up.
    pub fuel: u64,
    /// Byte addresses of the words of s[] whose lock is taken.
    pub locked: BTreeSet<usize>,
}

/// What one lane leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneResult {
    /// o[] words.
    pub outputs: Vec<u32>,
    /// Registers at the end.
    pub registers: Vec<u32>,
    /// Whether the fragment was discarded.
    pub discarded: bool,
    /// GP: strips of vertices of o[] words.
    pub strips: Vec<Vec<Vec<u32>>>,
}

/// A decoded program.
#[derive(Debug)]
pub struct Program {
    /// Instructions in order of address.
    insns: Vec<Step>,
    /// Index of the instruction at a word address.
    at: Vec<Option<u32>>,
}

/// An instruction prepared for execution: operands interpreted once, frequent fields at hand.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) pc: u32,
    pub(crate) size: u32,
    pub(crate) insn: Insn,
    pub(crate) op: Op,
    pub(crate) s1: Source,
    pub(crate) s2: Source,
    pub(crate) s3: Source,
    /// `$a` of each source's address, and whether it is incremented.
    pub(crate) index: [(u64, bool); 3],
    pub(crate) imm: Option<u32>,
    pub(crate) f: Fields,
}

/// Frequent fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields {
    pub(crate) dst: usize,
    pub(crate) out: bool,
    pub(crate) pred: u64,
    pub(crate) cc: usize,
    pub(crate) cw: bool,
    pub(crate) cd: usize,
    pub(crate) end: u64,
    pub(crate) neg: [bool; 3],
    pub(crate) abs: [bool; 2],
    pub(crate) not: [bool; 2],
    pub(crate) sat: bool,
    pub(crate) rnd: u64,
    pub(crate) addop: u64,
    pub(crate) signed: bool,
    pub(crate) rel: u64,
    pub(crate) lanes: u64,
}

impl Program {
    /// Decodes code bytes.
    pub fn new(code: &[u8], stage: Stage, chip: Option<&'static Chip>) -> Result<Program, SimError> {
        let chip = chip.unwrap_or(&chip::EVERYTHING);
        let word = |n: usize| code.get(n..n + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let mut insns = Vec::new();
        let mut at = vec![None; code.len() / 4 + 1];
        let mut pc = 0;
        while let Some(w0) = word(pc) {
            let fault = |message: String| SimError::Fault { at: pc as u32, message };
            let size = size_of(w0) as usize;
            if size == 8 && !pc.is_multiple_of(8) {
                return Err(fault("a long instruction must start at a multiple of 8".into()));
            }
            let w1 = if size == 8 { word(pc + 4).ok_or_else(|| fault("the code ends within an instruction".into()))? } else { 0 };
            let insn = decode(w0 as u64 | (w1 as u64) << 32, space(stage), chip).map_err(fault)?;
            at[pc / 4] = Some(insns.len() as u32);
            insns.push(Step::new(pc as u32, insn).map_err(fault)?);
            pc += size;
        }
        Ok(Program { insns, at })
    }
    /// The instructions in order of address.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.insns
    }
    /// The instruction at a byte address.
    pub(crate) fn fetch(&self, pc: u32) -> Result<&Step, SimError> {
        let i = self.at.get(pc as usize / 4).copied().flatten().filter(|_| pc.is_multiple_of(4));
        i.map(|i| &self.insns[i as usize]).ok_or(SimError::Fault { at: pc, message: "no instruction begins here".into() })
    }
}

impl Step {
    fn new(pc: u32, insn: Insn) -> Result<Step, String> {
        let ops = Operands::new(&insn);
        let half = alu::halves(insn.op(), &insn);
        let size = |k: usize| if half[k] { Size::Half } else { Size::Word };
        let imm = (insn.form().ext.shape == Shape::Imm).then(|| insn.get(field!(imm)) as u32);
        let s1 = if insn.has(field!(src1)) { ops.source1()? } else { Source::Reg(0) };
        let s2 = if insn.has(field!(src2)) { ops.source2(size(1)) } else { Source::Reg(0) };
        // Short and immediate mad and sad: the third source is the destination.
        let two_address = !matches!(insn.form().ext.shape, Shape::Long) && !insn.has(field!(src3));
        let s3 =
            if insn.has(field!(src3)) { ops.source3(size(2)) } else { Source::Reg(if two_address { insn.get(field!(dst)) } else { 0 }) };
        let index = [ops.index(s1), ops.index(s2), ops.index(s3)];
        let flag = |f: FieldName| insn.get(f) != 0;
        let f = Fields {
            dst: insn.get(field!(dst)) as usize,
            out: flag(field!(do)),
            pred: if insn.has(field!(pred)) { insn.get(field!(pred)) } else { 15 },
            cc: insn.get(field!(cc)) as usize,
            cw: flag(field!(cw)),
            cd: insn.get(field!(cd)) as usize,
            end: insn.get(field!(end)),
            neg: [flag(field!(neg1)), flag(field!(neg2)), flag(field!(neg3))],
            abs: [flag(field!(abs1)), flag(field!(abs2))],
            not: [flag(field!(not1)), flag(field!(not2))],
            sat: flag(field!(sat)),
            rnd: insn.get(field!(rnd)),
            addop: insn.get(field!(addop)),
            signed: flag(field!(sg)),
            rel: insn.get(field!(rel)),
            lanes: if insn.has(field!(lanes)) { insn.get(field!(lanes)) } else { 15 },
        };
        Ok(Step { pc, size: insn.size(), op: insn.op(), s1, s2, s3, index, imm, f, insn })
    }
}

/// One lane's state.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) r: [u32; REGISTERS],
    pub(crate) a: [u32; 8],
    pub(crate) c: [u8; 4],
    pub(crate) out: Vec<u32>,
    pub(crate) local: Vec<u8>,
    pub(crate) discarded: bool,
    pub(crate) strip: Vec<Vec<u32>>,
    pub(crate) strips: Vec<Vec<Vec<u32>>>,
    pub(crate) input: LaneInput,
    /// The lane's number in its warp.
    pub(crate) index: u32,
}

impl Lane {
    fn new(launch: &Launch, input: LaneInput) -> Lane {
        let mut r = [0; REGISTERS];
        r.iter_mut().zip(&input.registers).for_each(|(d, s)| *d = *s);
        Lane {
            r,
            a: [0; 8],
            c: [0; 4],
            out: vec![0; launch.outputs],
            local: vec![0; launch.local_bytes as usize],
            discarded: false,
            strip: Vec::new(),
            strips: Vec::new(),
            input,
            index: 0,
        }
    }
}

/// Runs independent lanes (vertex, geometry, fragment): 32 a warp, quads kept together. `active` lanes take part.
pub fn run(program: &Program, launch: &mut Launch, inputs: &[LaneInput]) -> Result<Vec<LaneResult>, SimError> {
    let mut results = Vec::with_capacity(inputs.len());
    for (chunk, n) in inputs.chunks(LANES).zip(0..) {
        let mut warp = Warp::new(launch, launch.first + n * LANES as u32, chunk);
        let mut shared = Vec::new();
        while warp.go(program, launch, &mut shared)? == control::Stop::Barrier {}
        results.extend(warp.finish().into_iter().take(chunk.len()));
    }
    Ok(results)
}

/// Runs one block of a compute grid: its threads in warps that meet at barriers and share s[].
pub fn run_block(program: &Program, launch: &mut Launch, threads: &[LaneInput], mut shared: Vec<u8>) -> Result<(), SimError> {
    launch.locked.clear();
    shared.resize(shared.len().max(launch.shared_bytes as usize), 0);
    let warp = |(chunk, n): (&[LaneInput], u32)| Warp::new(launch, launch.first + n * LANES as u32, chunk);
    let mut warps: Vec<Warp> = threads.chunks(LANES).zip(0..).map(warp).collect();
    let mut running = vec![true; warps.len()];
    while running.iter().any(|r| *r) {
        for (w, on) in warps.iter_mut().zip(&mut running) {
            if *on {
                *on = w.go(program, launch, &mut shared)? == control::Stop::Barrier;
            }
        }
    }
    Ok(())
}
