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

/// Which register each (cycle, channel) delivers: its key and 1, or 0 where it delivers none.
pub type Ports = [[u32; 4]; 3];

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
                if *port != 0 && *port != key + 1 {
                    return false;
                }
                *port = key + 1;
            }
            Read::Forward if t && cycles[k] < constants => return false,
            _ => {}
        }
    }
    true
}

/// The swizzles of a slot that differ in what they ask of the ports.
pub fn different(slot: &SlotReads) -> &'static [usize] {
    if slot.unit == 4 {
        return &[0, 1, 2, 3];
    }
    let port = |k: usize| matches!(slot.reads[k], Read::Gpr(..)) && !(k == 1 && slot.reads[0] == slot.reads[1]);
    match [port(0), port(1), port(2)] {
        [false, false, false] => &[0],
        [true, false, false] => &[0, 2, 4],
        [false, true, false] => &[0, 1, 3],
        [false, false, true] => &[0, 1, 2],
        _ => &[0, 1, 2, 3, 4, 5],
    }
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
        for s in different(first) {
            let mut p = *ports;
            if reserve(first, *s, &mut p) {
                out.push(*s as u8);
                if go(rest, &p, out) {
                    return true;
                }
                out.pop();
            }
        }
        false
    }
    // A channel delivers three registers at most; that settles most of what does not fit.
    let mut wanted: [SmallVec<[u32; 4]>; 4] = Default::default();
    for r in slots.iter().flat_map(|s| &s.reads) {
        if let Read::Gpr(key, chan) = r {
            let own = &mut wanted[*chan as usize & 3];
            if !own.contains(key) {
                if own.len() == 3 {
                    return None;
                }
                own.push(*key);
            }
        }
    }
    let mut out = SmallVec::new();
    go(slots, &Ports::default(), &mut out).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::text::BANKS;

    fn slot(unit: u8, reads: &[Read]) -> SlotReads {
        let mut s = SlotReads { unit, ..SlotReads::default() };
        s.reads[..reads.len()].copy_from_slice(reads);
        s
    }

    /// The names are the manual's: the digits are the cycles in which the three sources are read.
    #[test]
    fn bank_swizzles_read_in_the_cycles_of_their_names() {
        let cycles = |name: &str, kind: &str| -> Option<Vec<usize>> {
            let digits = name.split_once(kind)?.1.chars().take(3);
            Some(digits.filter_map(|c| c.to_digit(10)).map(|d| d as usize).collect())
        };
        for (n, name) in BANKS.iter().enumerate() {
            assert_eq!(VEC[n].to_vec(), cycles(name, "VEC_").unwrap_or(vec![0, 1, 2]));
        }
        for (n, name) in BANKS[..4].iter().enumerate() {
            assert_eq!(SCL[n].to_vec(), cycles(name, "SCL_").unwrap_or(vec![2, 1, 0]));
        }
    }

    #[test]
    fn a_group_reads_two_halves_of_constants() {
        let reads =
            |keys: &[u32]| -> Vec<SlotReads> { keys.iter().zip(0..).map(|(k, n)| slot(n, &[Read::Const(*k), Read::Inline])).collect() };
        assert!(constants_fit(&reads(&[7, 8, 7, 8])));
        assert!(!constants_fit(&reads(&[7, 8, 9])));
        assert!(constants_fit(&[slot(4, &[Read::Const(7), Read::Inline, Read::Forward])]));
        assert!(!constants_fit(&[slot(4, &[Read::Const(7), Read::Inline, Read::Const(7)])]), "T takes two constants");
        assert!(constants_fit(&[slot(3, &[Read::Const(7), Read::Inline, Read::Const(7)])]));
    }

    #[test]
    fn a_port_delivers_one_register_a_cycle() {
        let x = |key| Read::Gpr(key, 0);
        let fits = |list: &[(SlotReads, usize)]| {
            let mut ports = Ports::default();
            list.iter().all(|(s, swizzle)| reserve(s, *swizzle, &mut ports))
        };
        assert!(!fits(&[(slot(0, &[x(1)]), 0), (slot(1, &[x(2)]), 0)]), "both in cycle 0");
        assert!(fits(&[(slot(0, &[x(1)]), 0), (slot(1, &[x(1)]), 0)]), "one register serves both");
        assert!(fits(&[(slot(0, &[x(1)]), 0), (slot(1, &[Read::Gpr(2, 1)]), 0)]), "channels have ports of their own");
        assert!(fits(&[(slot(0, &[x(1)]), 0), (slot(1, &[x(2)]), 2)]), "cycle 1");
        // T reads its constants first: with one of them its registers come in cycle 1 or 2.
        assert!(!fits(&[(slot(4, &[Read::Inline, Read::None, x(1)]), 0)]));
        assert!(fits(&[(slot(4, &[Read::Inline, Read::None, x(1)]), 1)]));
        assert!(!fits(&[(slot(4, &[Read::Const(7), Read::Inline, x(1)]), 3)]));
        assert!(fits(&[(slot(4, &[Read::Const(7), Read::Inline, x(1)]), 2)]));
    }
}
