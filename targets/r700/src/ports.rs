//! Legality of an instruction group: read ports and bank swizzles, constant pairs, literals, constants of the T unit.
//!
//! One implementation serves the scheduler (registers still named by webs) and the checker (real registers): both give a key
//! per register read. Sheet of rules: three read cycles, one register per channel and cycle.

use smallvec::SmallVec;

/// What a source costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Read {
    /// Nothing, and it does not count as a constant (unused operand).
    #[default]
    None,
    /// A register: key and channel.
    Gpr(u32, u8),
    /// A kcache or constant-file register half: key of (select, channel pair).
    Const(u32),
    /// An inline constant or a literal.
    Inline,
    /// PV or PS.
    Forward,
}

/// The sources of one slot and its unit (4 = T).
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotReads {
    /// Unit, 0-4.
    pub unit: u8,
    /// Sources in order.
    pub reads: [Read; 3],
}

/// Cycle of each source by bank swizzle, vector units.
pub const VEC: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]];
/// Cycle of each source by bank swizzle, T.
pub const SCL: [[usize; 3]; 4] = [[2, 1, 0], [1, 2, 2], [2, 1, 2], [2, 2, 1]];

/// Which register each (cycle, channel) delivers.
pub type Ports = [[Option<u32>; 4]; 3];

/// Reserves the ports of one slot under a swizzle; `false` leaves `ports` unusable.
pub fn reserve(slot: &SlotReads, swizzle: usize, ports: &mut Ports) -> bool {
    let t = slot.unit == 4;
    let constants = if t { slot.reads.iter().filter(|r| matches!(r, Read::Const(_) | Read::Inline)).count() } else { 0 };
    let cycles = if t { SCL[swizzle] } else { VEC[swizzle] };
    for (k, r) in slot.reads.iter().enumerate() {
        match *r {
            Read::Gpr(key, chan) => {
                if t && cycles[k] < constants {
                    return false;
                }
                if !t && k == 1 && slot.reads[0] == *r {
                    continue;
                }
                let port = &mut ports[cycles[k]][chan as usize & 3];
                if port.is_some_and(|p| p != key) {
                    return false;
                }
                *port = Some(key);
            }
            Read::Forward if t && cycles[k] < constants => return false,
            _ => {}
        }
    }
    true
}

/// The constant rules: at most two register halves in a group, at most two constants of any kind in T.
pub fn constants_fit(slots: &[SlotReads]) -> bool {
    let mut pairs: SmallVec<[u32; 8]> = SmallVec::new();
    for s in slots {
        if s.unit == 4 && s.reads.iter().filter(|r| matches!(r, Read::Const(_) | Read::Inline)).count() > 2 {
            return false;
        }
        for r in &s.reads {
            if let Read::Const(k) = r
                && !pairs.contains(k)
            {
                pairs.push(*k);
            }
        }
    }
    pairs.len() <= 2
}

/// Bank swizzles under which the slots read everything, if there are any.
pub fn swizzles(slots: &[SlotReads]) -> Option<SmallVec<[u8; 5]>> {
    fn go(slots: &[SlotReads], ports: &Ports, out: &mut SmallVec<[u8; 5]>) -> bool {
        let Some((first, rest)) = slots.split_first() else { return true };
        // Operations whose sources need no port take code 0.
        let free = !first.reads.iter().any(|r| matches!(r, Read::Gpr(..)));
        let n = if first.unit == 4 { 4 } else { 6 };
        for s in 0..n {
            let mut p = *ports;
            if reserve(first, s, &mut p) {
                out.push(s as u8);
                if go(rest, &p, out) {
                    return true;
                }
                out.pop();
                if free {
                    return false;
                }
            }
        }
        false
    }
    let mut out = SmallVec::new();
    go(slots, &[[None; 4]; 3], &mut out).then_some(out)
}
