//! C headers with the registers of uniforms, under the names that picasso's `-h` gives them.
//!
//! Facts: ISA sheet sections 14 (numbers in tables), 15 (what citro3d's functions take).

use crate::container::{Executable, Shbin, UniformEntry, numbering};
use crate::isa::asm::Declared;
use retroshade_lower::reflect::Reflection;
use std::fmt::Write;

/// What `C3D_IVUnifSet` and `C3D_BoolUnifSet` take for the first register of a kind: table numbers count from c0.
const INT: u16 = numbering::INT - numbering::FLOAT;
const BOOL: u16 = numbering::BOOL - numbering::FLOAT;

/// A name as C allows it.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

fn prefix(e: &Executable) -> &'static str {
    if e.geometry { "GSH" } else { "VSH" }
}

/// `BIT(n)`, or for an array a macro of the element's number.
fn flag(out: &mut String, stage: &str, name: &str, n: u16, size: u16) {
    let _ = if size == 1 {
        writeln!(out, "#define {stage}_FLAG_{name} BIT({n})")
    } else {
        writeln!(out, "#define {stage}_FLAG_{name}(_n) BIT({n}+(_n))")
    };
}

/// The header of an assembled file. What vertex programs share stands as picasso writes it, in the order of the declarations and under
/// the prefix of the first file; then what geometry programs have to themselves.
pub fn of_assembly(declared: &[Declared], geometry_first: bool) -> String {
    let mut out = "// Registers of the uniforms; generated.\n#pragma once\n".to_string();
    let prefix = |d: &Declared| if d.geometry || geometry_first { "GSH" } else { "VSH" };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let (own, shared): (Vec<&Declared>, Vec<&Declared>) = declared.iter().partition(|d| d.geometry);
    for d in shared.into_iter().chain(own) {
        let (stage, name) = (prefix(d), d.name.as_str());
        if seen.contains(&(stage, name)) {
            continue;
        }
        seen.push((stage, name));
        let _ = match d.first {
            numbering::INT..numbering::BOOL => writeln!(out, "#define {stage}_IVEC_{name} 0x{:02X}", d.first - numbering::INT),
            n if n < numbering::INT => writeln!(out, "#define {stage}_FVEC_{name} 0x{:02X}", n - numbering::FLOAT),
            n => {
                flag(&mut out, stage, name, n - numbering::BOOL, d.size);
                Ok(())
            }
        };
        let _ = writeln!(out, "#define {stage}_ULEN_{name} {}", d.size);
    }
    out
}

/// The component at which a uniform begins, where it shares registers with others: a program then sets it component by component, by
/// members of a `C3D_FVec`, which has x last.
fn shared(bin: &Shbin, r: &Reflection, u: &UniformEntry) -> Option<usize> {
    let beside = |o: &UniformEntry| o.name != u.name && o.first <= u.last && u.first <= o.last;
    if u.first >= numbering::INT || !bin.executables.iter().any(|e| e.uniforms.contains(u) && e.uniforms.iter().any(beside)) {
        return None;
    }
    let register = r.uniforms.iter().find(|l| l.name == u.name)?.register.as_deref()?;
    register.split_once('.').map_or(Some(0), |(_, lane)| "xyzw".find(lane))
}

/// The header of a compiled program: numbers as citro3d's functions take them, and inputs besides.
pub fn of_program(bin: &Shbin, r: &Reflection) -> String {
    let mut out =
        "// Registers for C3D_FVUnif*, C3D_IVUnifSet, C3D_BoolUnifSet and the boolean mask; generated.\n#pragma once\n".to_string();
    let stage = bin.executables.first().map_or("VSH", prefix);
    for u in bin.executables.iter().flat_map(|e| &e.uniforms) {
        let name = identifier(&u.name);
        let _ = match u.first {
            0..numbering::FLOAT => {
                let _ = writeln!(out, "#define {stage}_ATTRIB_{name} {}", u.first);
                continue;
            }
            numbering::FLOAT..numbering::INT => writeln!(out, "#define {stage}_FVEC_{name} 0x{:02X}", u.first - numbering::FLOAT),
            numbering::INT..numbering::BOOL => writeln!(out, "#define {stage}_IVEC_{name} 0x{:02X}", INT + u.first - numbering::INT),
            _ => {
                flag(&mut out, stage, &name, u.first - numbering::BOOL, u.last - u.first + 1);
                writeln!(out, "#define {stage}_BOOL_{name} 0x{:02X}", BOOL + u.first - numbering::BOOL)
            }
        };
        let _ = writeln!(out, "#define {stage}_ULEN_{name} {}", u.last - u.first + 1);
        if let Some(first) = shared(bin, r, u) {
            let _ = writeln!(out, "#define {stage}_FCOMP_{name}(_n) c[{}-(_n)]", 3 - first);
        }
    }
    // What C3D_IVUnifSet takes for a loop's number of rounds.
    for l in r.uniforms.iter().flat_map(|u| &u.loops) {
        let name = identifier(&l.name);
        let sign = if l.sign < 0 { '-' } else { '+' };
        let _ = writeln!(out, "#define {stage}_IVAL_{name}(value) ({} {sign} (value)), {}, {}, 0", l.add, l.first, l.step);
    }
    out
}
