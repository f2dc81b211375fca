//! What the hardware forbids, found in code or a container.
//!
//! Facts: the ISA sheet's sections 5, 15.4 and 17.

use crate::container;
use crate::isa::forms::{TABLE, decode};
use crate::isa::operands::{Role, field, operand, read_operand};
use crate::isa::registers::Bank;
use retroshade_lower::TextError;

/// Findings of a container or of bare code words.
pub fn lint(bytes: &[u8]) -> Result<Vec<TextError>, TextError> {
    let mut out = Vec::new();
    if !bytes.starts_with(b"GXP\0") {
        let words: Vec<u64> = bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect();
        if !bytes.len().is_multiple_of(8) {
            out.push(TextError::new("the code is not a whole number of words"));
        }
        check(&words, &mut out);
        return Ok(out);
    }
    let g = container::read(bytes)?;
    check(&g.secondary, &mut out);
    check(&g.primary, &mut out);
    if g.primary.first().and_then(|w| decode(*w)).map(|d| TABLE.form(d.form).name) != Some("PHAS") {
        out.push(TextError::new("the primary program does not begin with a phase header"));
    }
    if !g.is_fragment() && g.primary.last() != Some(&0xfb27_5000_a020_0000) {
        out.push(TextError::new("the vertex program does not end with its closing word"));
    }
    let kills = g.primary.iter().filter_map(|w| decode(*w)).any(|d| TABLE.form(d.form).name == "KILL");
    if kills && (g.flags >> 3 & 1 == 0 || g.phases != 2) {
        out.push(TextError::new("a program that kills needs two phases and its flag"));
    }
    Ok(out)
}

fn check(words: &[u64], out: &mut Vec<TextError>) {
    for (n, w) in words.iter().enumerate() {
        let mut say = |message: String| out.push(TextError { offset: Some(n as u64 * 8), ..TextError::new(message) });
        let Some(d) = decode(*w) else {
            say(format!("{w:016x} is no instruction"));
            continue;
        };
        let name = TABLE.form(d.form).name;
        if d.residue != 0 {
            say(format!("{name}: unnamed bits are set"));
        }
        let mask = field(&d, "dest_mask");
        if matches!(name, "VMAD2" | "V32NMAD") && field(&d, "dat_fmt") == 0 {
            let to = operand(name, Role::Dest).map(|o| read_operand(&d, o).reg.bank);
            if to.is_some_and(|b| b != Bank::I) && mask & 12 != 0 {
                say(format!("{name}: an f32 result outside internal registers has lanes x and y only"));
            }
        }
        if name == "SMP" && field(&d, "skipinv") == 1 {
            say("SMP: texture reads must also run for invalid instances".to_string());
        }
        if name == "BR" {
            let off = ((field(&d, "br_off") << 12) as u32 as i32) >> 12;
            let to = n as i64 + off as i64;
            if to < 0 || to > words.len() as i64 {
                say("BR: the target lies outside the program".to_string());
            }
        }
    }
}
