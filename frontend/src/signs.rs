//! Integer functions of SPIR-V whose operands have the other sign.
//!
//! `UMin` of two signed numbers compares them as unsigned ones; SPIR-V allows that, and naga's own writer makes use of it. naga's reader takes the
//! sign from the operands' type. So such operands are cast to what the function means, and its result back, before naga reads the binary.
//! Numbers of instructions are those of the SPIR-V specification and of its GLSL.std.450 set.

use std::collections::{HashMap, HashSet};

const EXT_INST_IMPORT: u32 = 11;
const EXT_INST: u32 = 12;
const TYPE_INT: u32 = 21;
const TYPE_VECTOR: u32 = 23;
const FUNCTION: u32 = 54;
const BITCAST: u32 = 124;

/// Whether a function of GLSL.std.450 reads its operands as signed numbers, where it says.
fn sign(function: u32) -> Option<bool> {
    match function {
        // SAbs, SSign, SMin, SMax, SClamp, FindSMsb
        5 | 7 | 39 | 42 | 45 | 74 => Some(true),
        // UMin, UMax, UClamp, FindUMsb
        38 | 41 | 44 | 75 => Some(false),
        _ => None,
    }
}

/// An integer type: width, lanes, sign.
type Int = (u32, u32, bool);

struct Patch {
    ids: HashMap<Int, u32>,
    types: HashMap<u32, Int>,
    bound: u32,
    /// Types that the binary does not have yet.
    new: Vec<u32>,
}

impl Patch {
    fn fresh(&mut self) -> u32 {
        self.bound += 1;
        self.bound - 1
    }

    /// The type's number, declared if need be.
    fn id(&mut self, t: Int) -> u32 {
        if let Some(id) = self.ids.get(&t) {
            return *id;
        }
        let (width, lanes, signed) = t;
        let id = if lanes > 1 {
            let lane = self.id((width, 1, signed));
            let id = self.fresh();
            self.new.extend([4 << 16 | TYPE_VECTOR, id, lane, lanes]);
            id
        } else {
            let id = self.fresh();
            self.new.extend([4 << 16 | TYPE_INT, id, width, u32::from(signed)]);
            id
        };
        self.ids.insert(t, id);
        self.types.insert(id, t);
        id
    }
}

/// The binary with such operands cast; `None` where it has none (or is not well-formed, which naga reports).
pub(crate) fn cast(bytes: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    if words.first() != Some(&0x0723_0203) || words.len() < 5 {
        return None;
    }
    let mut p = Patch { ids: HashMap::new(), types: HashMap::new(), bound: words[3], new: Vec::new() };
    let mut values: HashMap<u32, Int> = HashMap::new();
    let mut sets: HashSet<u32> = HashSet::new();
    let mut out: Vec<u32> = words[..5].to_vec();
    let mut types_end = None;
    let mut changed = false;
    let mut at = 5;
    while at < words.len() {
        let (op, count) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        let inst = words.get(at..at + count.max(1)).filter(|_| count > 0)?;
        at += count;
        match (op, inst) {
            (EXT_INST_IMPORT, [_, id, name @ ..]) => {
                let name: Vec<u8> = name.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
                if name == b"GLSL.std.450" {
                    sets.insert(*id);
                }
            }
            (TYPE_INT, [_, id, width, signed]) => {
                p.ids.insert((*width, 1, *signed == 1), *id);
                p.types.insert(*id, (*width, 1, *signed == 1));
            }
            (TYPE_VECTOR, [_, id, lane, lanes]) => {
                if let Some((width, 1, signed)) = p.types.get(lane).copied() {
                    p.ids.insert((width, *lanes, signed), *id);
                    p.types.insert(*id, (width, *lanes, signed));
                }
            }
            (FUNCTION, _) if types_end.is_none() => types_end = Some(out.len()),
            _ => {}
        }
        // Everything with a result of an integer type: its type comes first. Names, decorations and types have something else there.
        if let (Some(t), Some(id), false) = (inst.get(1).and_then(|t| p.types.get(t)), inst.get(2), matches!(op, 5 | 6 | 71 | 72 | 19..=39))
        {
            values.insert(*id, *t);
        }
        let wanted = match inst {
            [_, _, _, set, function, ..] if op == EXT_INST && sets.contains(set) => sign(*function),
            _ => None,
        };
        let (Some(signed), Some(result)) = (wanted, inst.get(1).and_then(|t| p.types.get(t)).copied()) else {
            out.extend(inst);
            continue;
        };
        let operands = inst.get(5..).unwrap_or_default();
        let wrong = |t: &Int| t.2 != signed;
        if !wrong(&result) && !operands.iter().filter_map(|o| values.get(o)).any(wrong) {
            out.extend(inst);
            continue;
        }
        changed = true;
        let mut call = inst.to_vec();
        for (n, o) in operands.iter().enumerate() {
            if let Some(t) = values.get(o).copied().filter(|t| wrong(t)) {
                let (ty, id) = (p.id((t.0, t.1, signed)), p.fresh());
                out.extend([4 << 16 | BITCAST, ty, id, *o]);
                call[5 + n] = id;
            }
        }
        if wrong(&result) {
            let (ty, id) = (p.id((result.0, result.1, signed)), p.fresh());
            (call[1], call[2]) = (ty, id);
            out.extend(&call);
            out.extend([4 << 16 | BITCAST, inst[1], inst[2], id]);
        } else {
            out.extend(&call);
        }
    }
    if !changed {
        return None;
    }
    let end = types_end?;
    out.splice(end..end, p.new);
    out[3] = p.bound;
    Some(out.iter().flat_map(|w| w.to_le_bytes()).collect())
}
