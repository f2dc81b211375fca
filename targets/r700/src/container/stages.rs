//! The programs beside the main one that other ways of running it need.
//!
//! A vertex program comes with its fetch shader (`fetch`), with a version that fetches its attributes by clauses of its own
//! (`direct`), and with a version for the export stage in front of a geometry program (`es`). A geometry program comes with
//! the copy program (`copy`), which the vertex stage runs to export what lies in the GS-VS ring.

use super::Part;
use super::registers::{export_stage, exports, resources};
use super::ring::{Code, to_ring};
use crate::abi::{Abi, FETCH_RESOURCE, Platform, Role, VERTEX_RESOURCE, reads_input};
use crate::emit::{Emitted, emit};
use crate::isa::forms::{FetchType, TABLE, cf, field, op2, vtx, word};
use crate::isa::program::Program;
use crate::place::sched::CLAUSE_FETCHES;
use crate::select::mir::*;
use retroshade_emit::Word;
use retroshade_emit::form::EncodeError;
use retroshade_ir::{IoDecl, Module, Stage, Type};
use retroshade_lower::CompileError;
use smallvec::smallvec;

/// Bits of R0.x that are the offset in the ring when a copy program begins; those above name the stream.
const RING_OFFSET: u32 = 0x3fff_ffff;

/// An attribute that a fetch shader loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The register that it goes to.
    pub gpr: u8,
    /// Vertex buffer, counted from the first of the fetch shader's window.
    pub buffer: u8,
    /// Its type; missing lanes become 0, 0, 0 and 1.
    pub ty: Type,
    /// Byte offset in the buffer's elements.
    pub offset: u16,
    /// Whether it advances by instances (then the index is in R0.w).
    pub instance: bool,
}

/// The attributes of a vertex program, each in a buffer of its own.
pub fn attributes(m: &Module, abi: &Abi) -> Vec<Attribute> {
    let mut out = Vec::new();
    for (k, d) in m.inputs.values().enumerate() {
        let Some(first) = abi.attributes.get(k).copied().flatten() else { continue };
        for e in 0..d.count {
            let n = (first + e) as u8;
            out.push(Attribute { gpr: n + 1, buffer: n, ty: d.ty, offset: 0, instance: false });
        }
    }
    out.sort_by_key(|a| a.gpr);
    out
}

/// A fetch shader for a list of attributes.
pub fn fetch_shader(list: &[Attribute]) -> Result<Vec<u32>, EncodeError> {
    let clauses: Vec<&[Attribute]> = list.chunks(CLAUSE_FETCHES).collect();
    let count = clauses.len() as u64 + 1;
    let mut at = count.next_multiple_of(2);
    let mut words: Vec<u32> = Vec::new();
    let mut put = |w: &Word| -> Result<(), EncodeError> {
        words.extend(encoded(w)?);
        Ok(())
    };
    for c in &clauses {
        let n = c.len() as u64 - 1;
        put(&word!(cf::VTX { ADDR: at, COUNT: n & 7, COUNT_3: n >> 3, BARRIER: 1 }))?;
        at += 2 * c.len() as u64;
    }
    put(&word!(cf::RETURN { BARRIER: 1 }))?;
    if !clauses.is_empty() && count % 2 == 1 {
        put(&word!(cf::NOP {}))?;
    }
    for a in list {
        put(&load(a, FETCH_RESOURCE))?;
    }
    Ok(words)
}

/// The fetch of an attribute, whose buffer is counted from `first`.
fn load(a: &Attribute, first: u64) -> Word {
    let lane = |c: u64| if c < a.ty.lanes as u64 { c } else { 4 + (c == 3) as u64 };
    let mut w = crate::select::fetch::attribute(first + a.buffer as u64, a.ty);
    if a.instance {
        w[field!(vtx::FETCH.FETCH_TYPE)] = FetchType::Instance as u64;
        w[field!(vtx::FETCH.SRC_SEL_X)] = 3;
    }
    w[field!(vtx::FETCH.OFFSET)] = a.offset as u64;
    w[field!(vtx::FETCH.DST_GPR)] = a.gpr as u64;
    w[field!(vtx::FETCH.DST_SEL_X)] = lane(0);
    w[field!(vtx::FETCH.DST_SEL_Y)] = lane(1);
    w[field!(vtx::FETCH.DST_SEL_Z)] = lane(2);
    w[field!(vtx::FETCH.DST_SEL_W)] = lane(3);
    w
}

/// The words of a form, as memory holds them.
fn encoded(w: &Word) -> Result<Vec<u32>, EncodeError> {
    let bits = TABLE.encode_word(w)?;
    Ok((0..TABLE.form(w.form).size / 4).map(|k| (bits >> (32 * k)) as u32).collect())
}

/// The main program with a fetch clause in the place of the call of its fetch shader, which does the same: nothing else moves. None where
/// the clause would not hold what the program reads.
fn own_fetches(main: &[u32], m: &Module, abi: &Abi) -> Result<Option<Vec<u32>>, EncodeError> {
    if !abi.fetch_shader {
        return Ok(Some(main.to_vec()));
    }
    let read = |a: &Attribute| {
        let within = |(k, d): (usize, &IoDecl)| abi.attributes[k].is_some_and(|n| (n..n + d.count).contains(&u32::from(a.buffer)));
        m.inputs.values().enumerate().any(|(k, d)| within((k, d)) && reads_input(m, k))
    };
    let list: Vec<Attribute> = attributes(m, abi).into_iter().filter(read).collect();
    let call = encoded(&word!(cf::CALL_FS { BARRIER: 1 }))?;
    if list.is_empty() || list.len() > CLAUSE_FETCHES || !main.starts_with(&call) {
        return Ok(None);
    }
    let mut out = main.to_vec();
    out.resize(out.len().next_multiple_of(4), 0);
    let (at, n) = (out.len() as u64 / 2, list.len() as u64 - 1);
    let clause = encoded(&word!(cf::VTX { ADDR: at, COUNT: n & 7, COUNT_3: n >> 3, BARRIER: 1 }))?;
    out[..call.len()].copy_from_slice(&clause);
    for a in &list {
        out.extend(encoded(&load(a, VERTEX_RESOURCE))?);
    }
    Ok(Some(out))
}

/// The main program: how it was placed, and what came of it.
pub struct Main<'a> {
    /// The operations with their schedule.
    pub code: Code,
    /// The words.
    pub emitted: &'a Emitted,
    /// Registers used.
    pub gprs: u16,
}

impl Main<'_> {
    /// The same program as export stage, where there is one; what emulators are shown differs from role to role.
    fn export_stage(&mut self, m: &Module, abi: &Abi) -> Option<(Emitted, u16)> {
        if abi.emulators || !to_ring(&mut self.code, &abi.export_slots(m)) {
            return None;
        }
        let Code { mir, leaves, place } = &self.code;
        let e = emit(mir, leaves, place, abi.loop_entry, abi.fetch_shader).ok()?;
        Some((e, self.gprs.max(place.count)))
    }
}

/// The copy program of a geometry program: the vertex in the GS-VS ring that R0.x names, exported.
fn copy_program(m: &Module, abi: &Abi) -> Mir {
    let mut mir = Mir::default();
    let mut ops = Vec::new();
    let from = mir.web();
    mir.webs[from.0 as usize] = WebInfo { chan: Some(0), fixed: Some(0), quad: None, settled: true, lane: None };
    let at = match abi.platform {
        // The upper bits name the stream; drivers mask them.
        Platform::Object => {
            let at = mir.web();
            ops.push(Op::alu(op2::AND_INT, &[Opnd::web(from), Opnd::bits(RING_OFFSET)], Some(at)));
            at
        }
        // GX2 knows no streams, and emulators no arithmetic in a copy program.
        Platform::WiiU => from,
    };
    mir.quads.push(vec![at]);
    mir.webs[at.0 as usize].quad = Some(Quad(0));
    let mut exports = Vec::new();
    for (n, slot) in abi.ring_slots(m).into_iter().enumerate() {
        let quad = Quad(mir.quads.len() as u32);
        // Whole registers, as emulators expect them; what a vertex does not write is not enabled or not read.
        let (mut dst, mut src) = ([None; 4], [Coord::Masked; 4]);
        for c in 0..4u8 {
            let w = mir.web();
            mir.webs[w.0 as usize] = WebInfo { chan: Some(c), fixed: None, quad: Some(quad), settled: true, lane: None };
            (dst[c as usize], src[c as usize]) = (Some(w), Coord::Web(w));
        }
        mir.quads.push(dst.iter().flatten().copied().collect());
        let word = crate::select::fetch::from_ring(abi, n as u32 * 16, 4);
        let f = Fetch { word, src: smallvec![Coord::Web(at)], quad: Some(Quad(0)), dst, joined: false, whole_quad: false };
        ops.push(Op::other(Kind::Fetch(Box::new(f))));
        exports.push(Export { kind: slot.0, base: slot.1, src, quad: Some(quad) });
    }
    // The vertex stage must export a position and a parameter.
    for (kind, base) in [(1, 60), (2, 0)] {
        if !exports.iter().any(|e| e.kind == kind) {
            exports.push(Export { kind, base, src: [Coord::Masked; 4], quad: None });
        }
    }
    ops.extend(exports.into_iter().map(|e| Op::other(Kind::Export(Box::new(e)))));
    mir.steps.push(Step::Code(ops));
    mir
}

fn copy_part(m: &Module, abi: &Abi, name: &'static str) -> Result<Part, CompileError> {
    let (e, gprs) = crate::compile::straight(copy_program(m, abi))?;
    let registers = [vec![("SQ_PGM_RESOURCES_VS".to_string(), resources(&e, gprs))], exports(m, abi)].concat();
    Ok(Part { name, words: e.words, registers })
}

/// The parts that hand built-in values on to a pixel program (`link`): the program itself, and its copy program.
pub const HANDING_ON: &str = "handing-on";
/// The copy program of [`HANDING_ON`].
pub const HANDING_ON_COPY: &str = "handing-on.copy";

/// The programs beside the main one; `legal` is the legalised module before its control flow was shaped.
pub fn parts(legal: &Module, abi: &Abi, mut main: Main<'_>, options: &retroshade_lower::Options) -> Result<Vec<Part>, CompileError> {
    let mut out = Vec::new();
    let mut fetching = None;
    match legal.stage {
        Stage::Vertex => {
            let internal = |e: EncodeError| CompileError::Internal(e.to_string());
            out.push(Part { name: "fetch", words: fetch_shader(&attributes(legal, abi)).map_err(internal)?, registers: Vec::new() });
            for (name, role) in [("es", Role::ExportStage), ("direct", Role::OwnFetches)] {
                // GX2 makes fetch shaders itself, always.
                if abi.platform == Platform::WiiU && role == Role::OwnFetches {
                    continue;
                }
                if role == Role::OwnFetches
                    && let Some(words) = own_fetches(&main.emitted.words, legal, abi).map_err(internal)?
                {
                    let resources = resources(main.emitted, main.gprs);
                    let registers = [vec![("SQ_PGM_RESOURCES_VS".to_string(), resources)], exports(legal, abi)].concat();
                    fetching = Some(Part { name, words, registers });
                    continue;
                }
                let own = if role == Role::ExportStage { main.export_stage(legal, abi) } else { None };
                // What fits in the usual role may not fit in this one; then there is no such section.
                let Some((e, gprs)) = own.or_else(|| crate::compile::in_role(legal, options, role).ok()) else { continue };
                let words = resources(&e, gprs);
                let registers = match role {
                    Role::ExportStage => {
                        let own = export_stage(legal, &crate::compile::interface(legal, role, options)?);
                        [vec![("SQ_PGM_RESOURCES_ES".to_string(), words)], own].concat()
                    }
                    _ => [vec![("SQ_PGM_RESOURCES_VS".to_string(), words)], exports(legal, abi)].concat(),
                };
                out.push(Part { name, words: e.words, registers });
            }
        }
        Stage::Geometry => {
            out.push(copy_part(legal, abi, "copy")?);
        }
        _ => {}
    }
    // GX2's files hold whole pipelines: the pixel program may ask for more than the rasteriser has.
    if let (Platform::WiiU, Some(m)) = (abi.platform, super::link::handing_on(legal))
        && let Ok((e, gprs)) = crate::compile::in_role(&m, options, Role::Usual)
    {
        let own = crate::compile::interface(&m, Role::Usual, options)?;
        out.push(Part { name: HANDING_ON, registers: super::registers::registers(&e, gprs, &m, &own), words: e.words });
        if m.stage == Stage::Geometry {
            out.push(copy_part(&m, &own, HANDING_ON_COPY)?);
        }
    }
    for p in &out {
        let program = Program::decode(&p.words).map_err(|e| CompileError::Internal(e.to_string()))?;
        if let Some(problem) = crate::isa::lint::check(&program).first() {
            return Err(CompileError::Internal(format!("illegal code in the {} program: {problem}", p.name)));
        }
    }
    // The main program, which is checked as it is, but for a clause of fetches.
    out.extend(fetching);
    Ok(out)
}
