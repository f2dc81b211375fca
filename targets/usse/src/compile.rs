//! From a legalised module to code and container: layout, selection, placement, words, flags, branches, `.gxp`.
//!
//! Facts: the ISA sheet's section 17 (program structure, `nosched`, phases) and 19 (container).

use crate::abi::{self, Abi};
use crate::container::{self, Parameter, package};
use crate::emit::pairing;
use crate::emit::{Expander, Literals};
use crate::emit::{branches, flags};
use crate::isa::access::Access;
use crate::isa::asm;
use crate::isa::forms::{EMIT, NOP, PHAS, SMP, TABLE, VDUAL, VMOV, VPCK, WDF, field, row_of};
use crate::isa::registers::{Bank, Reg};
use crate::isa::word::Word;
use crate::legal;
use crate::place::{self, Placement};
use crate::select::matrix;
use crate::select::mir::Vreg;
use crate::select::{self, Selected};
use indexmap::IndexMap;
use retroshade_ir::*;
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::reflect::uniform_leaves;
use retroshade_lower::{CompileError, CompiledShader, OptLevel, Options, Reflection, Syntax};
use std::collections::BTreeSet;

/// Compiles a verified source module.
pub fn compile(source: &Module, o: &Options) -> Result<CompiledShader, CompileError> {
    match attempt(source, o, false) {
        // Too many live values: once more with everything made as late, and as often, as it is needed.
        Err(e) if is_crowded(&e) => attempt(source, o, true).map_err(|_| e),
        other => other,
    }
}

/// Whether a program has more live values than there are registers.
fn is_crowded(e: &CompileError) -> bool {
    matches!(e, CompileError::Limit { diagnostic, .. } if diagnostic.code == "U0120")
}

/// The legalised module that [`compile`] makes code of.
pub fn legal(source: &Module, o: &Options) -> Result<Module, CompileError> {
    let m = legal::legalise(source, o, false, true, &mut |_, _| {})?;
    if o.relaxed_precision {
        // Which values are f16 depends on the size of the code.
        return compile(source, o).map(|s| s.legal).or(Ok(m));
    }
    match build(&m, o, &Way::default()) {
        Err(e) if is_crowded(&e) => match attempt(source, o, true) {
            Ok(s) => Ok(s.legal),
            Err(_) => Ok(m),
        },
        _ => Ok(m),
    }
}

fn attempt(source: &Module, o: &Options, sink: bool) -> Result<CompiledShader, CompileError> {
    let mut best = attempt_narrow(source, o, sink, o.relaxed_precision);
    if o.relaxed_precision {
        // Conversions can cost more than narrow operations save; the colour leaves as f16 in any case.
        let wide = attempt_narrow(source, o, sink, false);
        let size = |s: &Result<CompiledShader, CompileError>| s.as_ref().map_or(u32::MAX, |s| s.stats.instructions);
        if size(&wide) < size(&best) {
            best = wide;
        }
    }
    best
}

/// Compiles with f16 values where they are allowed, or without.
fn attempt_narrow(source: &Module, o: &Options, sink: bool, narrow: bool) -> Result<CompiledShader, CompileError> {
    let mut dumps = Vec::new();
    let module = legal::legalise(source, o, sink, narrow, &mut |name, m| {
        if o.wants(name) {
            dumps.push((name.to_string(), retroshade_ir::print(m)));
        }
    })?;
    // Hoisting costs attribute registers and sometimes words: keep the smaller program.
    let mut best: Option<Built> = None;
    let mut failed = None;
    let mut matrices = true;
    for (hoist, rows) in [(true, false), (true, true), (false, false), (false, true)] {
        if rows && !matrices {
            continue;
        }
        let way = Way { hoist, rows, inside: BTreeSet::new() };
        match build(&module, o, &way).map(|b| if o.opt > OptLevel::O1 { improve(&module, o, b) } else { b }) {
            Ok(b) => {
                matrices = b.matrices;
                if best.as_ref().is_none_or(|x| b.size() < x.size()) {
                    best = Some(b);
                }
            }
            // What cannot be placed may still be placed another way.
            Err(e) if !rows => {
                matrices = is_crowded(&e);
                failed = Some(e);
            }
            Err(_) => {}
        }
    }
    let Some(built) = best else {
        return Err(failed.unwrap_or_else(|| CompileError::Internal("nothing was built".to_string())));
    };
    finish(module, built, o, ir_ops(source), dumps)
}

/// How a program is built.
#[derive(Clone, Default)]
struct Way {
    /// What depends on uniforms only goes to the secondary program.
    hoist: bool,
    /// Products of a vector with rows repeat one word.
    rows: bool,
    /// Vectors in internal registers.
    inside: BTreeSet<Vreg>,
}

/// A program before it is packed.
struct Built {
    abi: Abi,
    /// Vectors that could live in internal registers.
    candidates: Vec<Vreg>,
    /// Whether vectors are multiplied with rows of a matrix.
    matrices: bool,
    way: Way,
    mir: String,
    places: String,
    primary: Vec<Word>,
    secondary: Vec<Word>,
    words: Vec<u64>,
    second: Vec<u64>,
    literals: Literals,
    temps: u16,
}

impl Built {
    fn size(&self) -> usize {
        self.words.len() + self.second.len()
    }
}

/// Words of code that the search for internal registers may build again and again.
const SEARCH: usize = 3_000;

/// Moves vectors into internal registers, one after the other, as long as that makes the program no larger: what is stored
/// there takes one word for four lanes.
fn improve(m: &Module, o: &Options, start: Built) -> Built {
    let mut best = start;
    let mut work = SEARCH;
    for v in best.candidates.clone() {
        let Some(left) = work.checked_sub(best.size()) else { break };
        work = left;
        let mut way = best.way.clone();
        way.inside.insert(v);
        match build(m, o, &way) {
            Ok(b) if b.size() <= best.size() => best = b,
            _ => {}
        }
    }
    best
}

fn build(m: &Module, o: &Options, way: &Way) -> Result<Built, CompileError> {
    let abi = abi::layout(m, o)?;
    let mut sel = select::select(m, &abi, way.hoist)?;
    if way.hoist && sel.hoisted.is_empty() {
        return Err(CompileError::Internal("nothing to hoist".to_string()));
    }
    let grouped = matrix::group(&sel.primary);
    let matrices = grouped.is_some();
    if way.rows {
        sel.primary = grouped.ok_or_else(|| CompileError::Internal("nothing to group".to_string()))?;
    }
    let places = place::place(&sel.primary, &sel.fixed, abi.pa, abi.o, &way.inside)?;
    if o.check_allocation {
        crate::place::check::placed(&sel.primary, &places).judge().map_err(CompileError::Internal)?;
    }
    let mut literals = Literals { first: sel.free, values: Vec::new() };
    let mut second = Vec::new();
    if !sel.hoisted.is_empty() {
        let at = (0..sel.secondary.vregs.len() as u32)
            .map(|v| sel.hoisted.get(&crate::select::mir::Vreg(v)).map(|n| Reg::new(crate::isa::registers::Bank::Pa, *n)))
            .collect();
        let fixed = Placement { at, ..Placement::default() };
        // Literals of both programs share one list; the secondary program reads them as attributes.
        let mut x = Expander::new(&sel.secondary, &fixed, &mut literals);
        x.secondary = true;
        x.run()?;
        second = schedule(std::mem::take(&mut x.blocks[0]), false)?;
        end_secondary(&mut second);
        // One instance runs it, and that one is valid.
        flags::skip_invalid(Stage::Vertex, &mut second);
    }
    let mut x = Expander::new(&sel.primary, &places, &mut literals);
    x.kill_literal = abi.kill_literal.unwrap_or(0);
    x.run()?;
    let blocks = std::mem::take(&mut x.blocks);
    let end = literals.first as usize + literals.values.len();
    if end > abi::SA_LIMIT as usize {
        return Err(CompileError::Internal(format!("{end} secondary attributes are needed, there are {}", abi::SA_LIMIT)));
    }
    let primary = assemble(m.stage, blocks, sel.phases)?;
    let encode = |w: &[Word]| -> Result<Vec<u64>, CompileError> {
        w.iter().map(|w| w.encode().map_err(|e| CompileError::Internal(e.to_string()))).collect()
    };
    let places_text = sel
        .primary
        .vregs
        .iter()
        .enumerate()
        .map(|(n, _)| format!("v{n} = {}\n", places.at[n].map_or("-".to_string(), |r| r.to_string())))
        .collect();
    let Selected { primary: mir, .. } = sel;
    Ok(Built {
        candidates: crate::place::liveness::candidates(&mir, &places),
        matrices,
        way: way.clone(),
        mir: mir.text(),
        places: places_text,
        words: encode(&primary)?,
        second: encode(&second)?,
        primary,
        secondary: second,
        literals,
        temps: places.temps,
        abi,
    })
}

/// The secondary program ends with an end flag on its last word, or with a NOP that has one.
fn end_secondary(words: &mut Vec<Word>) {
    match words.last_mut() {
        Some(w) if w.form() == VMOV && w.get(field!(move_type)) == 0 => w.set(field!(end_or_src0_bank_ext), 1),
        Some(w) if row_of(w.form()).closes => w.set(field!(end), 1),
        _ => words.push(Word::new(NOP, vec![(field!(end), 1)], Span::NONE)),
    }
}

/// Whether a word's `nosched` flag protects the boundary behind the next word.
fn can_protect(w: &Word) -> bool {
    row_of(w.form()).protects && w.get(field!(end)) == 0
}

/// Makes a word protect that boundary; a dual word always does.
fn hold(w: &mut Word) {
    if w.form() != VDUAL {
        w.set(field!(nosched), 1);
    }
}

/// Forms behind which internal registers are lost whatever the flags say.
fn loses(w: &Word) -> bool {
    row_of(w.form()).loses
}

/// Words behind a place that are looked at for one that may stand there.
const REACH: usize = 24;

/// Repeats, pairs and flags of a block: the shorter of what comes out with and without dual issue.
fn schedule(words: Vec<Word>, dual: bool) -> Result<Vec<Word>, CompileError> {
    let words = repeats(reuse(words));
    let paired = if dual { Some(pairing::pair(&words)).filter(|p| p.len() < words.len()) } else { None };
    let plain = protect(words)?;
    match paired.map(protect) {
        Some(Ok(p)) if p.len() < plain.len() => Ok(p),
        _ => Ok(plain),
    }
}

/// Sets `nosched` wherever internal registers live across a boundary, with NOPs where no word can carry the flag.
fn protect(words: Vec<Word>) -> Result<Vec<Word>, CompileError> {
    let n = words.len();
    let access: Vec<Access> = words.iter().map(Word::access).collect();
    let live = pairing::live(&access);
    if let Some(k) = (0..n).find(|k| loses(&words[*k]) && live[*k].iter().any(|l| *l != 0)) {
        return Err(CompileError::Internal(format!("an internal register is live across {}", TABLE.form(words[k].form()).name)));
    }
    let mut out: Vec<Word> = Vec::with_capacity(n);
    let mut words: Vec<Option<Word>> = words.into_iter().map(Some).collect();
    for k in 0..n {
        let Some(w) = words[k].take() else { continue };
        // live[k + 1] is what lives across the boundary behind this word.
        if live[k + 1].iter().any(|l| *l != 0) {
            match out.last_mut() {
                Some(p) if can_protect(p) => hold(p),
                // A later word that depends on nothing in between does instead of a NOP.
                _ => match earlier(k, &mut words, &access) {
                    Some(mut early) => {
                        hold(&mut early);
                        out.push(early);
                    }
                    None => out.push(Word::new(NOP, vec![(field!(nosched), 1)], w.span)),
                },
            }
        }
        out.push(w);
    }
    Ok(out)
}

/// Takes out a word that may stand before word `first` and everything between.
fn earlier(first: usize, words: &mut [Option<Word>], access: &[Access]) -> Option<Word> {
    let mut passed = vec![first];
    for k in first + 1..words.len().min(first + REACH) {
        if passed.last().is_some_and(|p| access[*p].fixed) {
            return None;
        }
        let Some(w) = &words[k] else { continue };
        let e = &access[k];
        let outside = e.reads.iter().chain(&e.writes).all(|p| p.0 != Bank::I);
        if can_protect(w) && outside && !matches!(w.form(), NOP | WDF) && passed.iter().all(|p| !access[*p].conflicts(e)) {
            return words[k].take();
        }
        passed.push(k);
    }
    None
}

/// Drops copies into internal registers of what still stands there.
fn reuse(words: Vec<Word>) -> Vec<Word> {
    let mut out = Vec::with_capacity(words.len());
    let mut held: Vec<(Word, Access)> = Vec::new();
    for w in words {
        let a = w.access();
        if a.fixed {
            held.clear();
        } else {
            let same = |h: &Word| Word { span: w.span, ..h.clone() } == w;
            if held.iter().any(|h| same(&h.0)) {
                continue;
            }
            held.retain(|h| !a.writes.iter().any(|p| h.1.writes.contains(p) || h.1.reads.contains(p)));
            let inside = |p: &(Bank, u16)| p.0 == Bank::I;
            if !a.partial && a.writes.iter().all(inside) && !a.reads.iter().any(inside) {
                held.push((w.clone(), a));
            }
        }
        out.push(w);
    }
    out
}

/// Equal words whose registers advance together become one word that repeats; a later word may come forward for that.
fn repeats(words: Vec<Word>) -> Vec<Word> {
    let access: Vec<Access> = words.iter().map(Word::access).collect();
    let mut words: Vec<Option<Word>> = words.into_iter().map(Some).collect();
    let mut out: Vec<Word> = Vec::with_capacity(words.len());
    for k in 0..words.len() {
        let Some(mut w) = words[k].take() else { continue };
        let mut passed: Vec<usize> = Vec::new();
        for j in k + 1..words.len().min(k + REACH) {
            let Some(next) = &words[j] else { continue };
            let free = passed.iter().all(|p| !access[*p].conflicts(&access[j]));
            match w.repeat_with(next).filter(|_| free) {
                Some(more) => {
                    w = more;
                    words[j] = None;
                }
                None if access[j].fixed => break,
                None => passed.push(j),
            }
        }
        out.push(w);
    }
    out
}

/// Joins blocks: phase header, protected blocks, resolved branches, the closing word.
fn assemble(stage: Stage, mut blocks: Vec<Vec<Word>>, phases: bool) -> Result<Vec<Word>, CompileError> {
    branches::straighten(&mut blocks);
    flags::enter_together(&mut blocks);
    let mut out = vec![Word::new(PHAS, vec![(field!(imm), 1), (field!(wait_cond), if phases { 1 } else { 7 })], Span::NONE)];
    let mut starts = Vec::new();
    for b in blocks {
        starts.push(out.len());
        out.extend(schedule(b, true)?);
    }
    starts.push(out.len());
    for n in 0..out.len() {
        if let Some(to) = out[n].target {
            let at = *starts.get(to).ok_or_else(|| CompileError::Internal("a branch to nowhere".to_string()))?;
            let off = at as i64 - n as i64;
            if !(-(1 << 19)..1 << 19).contains(&off) {
                return Err(CompileError::limit("U0121", out[n].span, "a branch is too long", off.unsigned_abs(), 1 << 19));
            }
            out[n].set(field!(br_off), off as u64 & 0xf_ffff);
        }
    }
    if stage == Stage::Vertex {
        out.push(Word::new(EMIT, Vec::new(), Span::NONE));
    }
    flags::skip_invalid(stage, &mut out);
    Ok(out)
}

fn finish(module: Module, b: Built, o: &Options, ir_ops: u32, mut dumps: Vec<(String, String)>) -> Result<CompiledShader, CompileError> {
    let gxp = package::package(&package::Program {
        module: &module,
        abi: &b.abi,
        primary: &b.primary,
        words: &b.words,
        secondary: &b.second,
        literals: &b.literals,
        temps: b.temps,
    });
    let bytes = container::write(&gxp);
    let mut reflection = Reflection::from_module(&module);
    reflection.target = "usse".to_string();
    place_reflection(&mut reflection, &module, &b.abi);
    let all: Vec<u64> = b.second.iter().chain(&b.words).copied().collect();
    let code: Vec<u8> = all.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut text = container::describe(&gxp);
    for (title, words) in [("secondary", &b.second), ("primary", &b.words)] {
        if !words.is_empty() {
            text.push_str(&format!(".{title}\n"));
            let raw: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            asm::disassemble_code(&raw, Syntax::Native, &mut text);
        }
    }
    let mut source_map = Vec::new();
    for (n, w) in b.secondary.iter().chain(&b.primary).enumerate() {
        source_map.push((n as u32 * 8..n as u32 * 8 + 8, w.span));
    }
    let count = |f: &dyn Fn(&Word) -> bool| b.primary.iter().chain(&b.secondary).filter(|w| f(w)).count() as u64;
    let detail: IndexMap<&'static str, u64> = [
        ("primary", b.words.len() as u64),
        ("secondary", b.second.len() as u64),
        ("temporaries", b.temps as u64),
        ("pa", gxp.primary_regs as u64),
        ("sa", gxp.secondary_regs as u64),
        ("literals", b.literals.values.len() as u64),
        ("nops", count(&|w| w.form() == NOP)),
        ("moves", count(&|w| matches!(w.form(), VMOV | VPCK))),
        ("samples", count(&|w| w.form() == SMP)),
        ("phases", gxp.phases.len() as u64),
    ]
    .into_iter()
    .collect();
    let stats = Stats {
        ir_ops,
        bytes: code.len() as u32,
        instructions: all.len() as u32,
        registers: b.temps as u32,
        detail,
        alloc_step: Some("linear".to_string()),
    };
    let mut extra: IndexMap<&'static str, Vec<u8>> = IndexMap::new();
    extra.insert("hex", all.iter().map(|w| format!("{w:016x}\n")).collect::<String>().into_bytes());
    extra.insert("header", header(&module, &bytes).into_bytes());
    extra.insert("vitagl", container::vitagl(&gxp, &matrices(&module, &gxp)));
    if o.wants("mir") {
        dumps.push(("mir".to_string(), b.mir.clone()));
    }
    extra.insert("mir", b.mir.into_bytes());
    extra.insert("regalloc", b.places.into_bytes());
    Ok(CompiledShader {
        target: "usse",
        chip: None,
        stage: module.stage,
        code,
        container: bytes,
        reflection,
        stats,
        source_map,
        legal: module,
        asm: text,
        extra,
        dumps,
    })
}

/// A C header with the container as a 16-byte-aligned array, named after the file where the entry is the usual `main`.
fn header(m: &Module, bytes: &[u8]) -> String {
    let file = m.sources.name(FileId(0)).and_then(|n| std::path::Path::new(n).file_stem()).and_then(|s| s.to_str());
    let name = file.filter(|n| m.name == "main" && !n.is_empty() && *n != "-").unwrap_or(&m.name);
    let clean: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let lead = if clean.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    let id = format!("{lead}{clean}_{}_gxp", if m.stage == Stage::Vertex { "v" } else { "f" });
    let mut out = format!("#ifndef {0}_H\n#define {0}_H\n\n", id.to_uppercase());
    out.push_str(&format!("static const unsigned char {id}[{}] __attribute__((aligned(16))) = {{\n", bytes.len()));
    for line in bytes.chunks(16) {
        out.push_str("    ");
        out.push_str(&line.iter().map(|b| format!("0x{b:02x},")).collect::<Vec<_>>().join(" "));
        out.push('\n');
    }
    out.push_str(&format!("}};\nstatic const unsigned int {id}_size = {};\n\n#endif\n", bytes.len()));
    out
}

/// Indices of the parameters that are matrices in the source.
fn matrices(m: &Module, g: &container::Gxp) -> Vec<u32> {
    let is_matrix = |p: &Parameter| {
        let named = |d: &UniformDecl| d.matrix && uniform_leaves(d).iter().any(|l| l.name == p.name);
        p.category == 1 && m.uniforms.values().any(named)
    };
    (0u32..).zip(&g.parameters).filter(|(_, p)| is_matrix(p)).map(|(n, _)| n).collect()
}

fn place_reflection(r: &mut Reflection, m: &Module, abi: &Abi) {
    for (n, (i, _)) in m.inputs.iter().enumerate() {
        if let Some(s) = abi.inputs.iter().find(|s| s.input == i) {
            r.inputs[n].register = Some(format!("pa{}", s.pa));
        }
    }
    for (n, (o, _)) in m.outputs.iter().enumerate() {
        if let Some(s) = abi.outputs.iter().find(|s| s.output == o) {
            r.outputs[n].register = Some(if Some(o) == abi.depth {
                "depth".to_string()
            } else {
                format!("{}{}", if m.stage == Stage::Vertex { "o" } else { "pa" }, s.reg)
            });
        }
    }
    for (u, d) in m.uniforms.iter() {
        if let Some(s) = abi.uniforms.iter().find(|s| s.uniform == u) {
            // An array of structures has a place for each member of each element.
            for part in uniform_leaves(d) {
                let word = s.element(d, part.first);
                let place = if s.memory { format!("[{word}]") } else { format!("sa{word}") };
                for leaf in r.uniforms.iter_mut().filter(|l| l.name == part.name) {
                    leaf.register = Some(place.clone());
                }
            }
        }
    }
    for (n, (t, _)) in m.textures.iter().enumerate() {
        let unit = abi.textures.iter().find(|s| s.0 == t).map(|s| s.1).or(abi.preloaded.iter().find(|p| p.texture == t).map(|p| p.unit));
        if let Some(u) = unit {
            r.textures[n].unit = u as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::BR;

    #[test]
    fn a_branch_has_a_reach() {
        let branch = |to| Word { target: Some(to), ..Word::new(BR, vec![(field!(br_type), 1)], Span::NONE) };
        let filler = |n| vec![Word::new(NOP, Vec::new(), Span::NONE); n];
        let program = |n| assemble(Stage::Fragment, vec![vec![branch(2)], filler(n), filler(1)], false);
        assert!(program(1 << 10).is_ok());
        let e = program(1 << 19).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(e.contains("U0121"), "{e}");
    }
}
