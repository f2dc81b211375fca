//! What outputs mean to the fixed pipeline behind the program, and whether a vertex program fits a geometry program.
//!
//! A location names an output's type in the file. Where the source gives no location, the output's name does: programs for
//! OpenGL call their outputs `v_color` or `fragTexCoord`. Facts: ISA sheet sections 12 (vertices are handed over as all
//! outputs in the order of their registers) and 13 (types).

use crate::abi;
use crate::container::OUTPUT_COMPONENTS;
use retroshade_ir::words::{COLOURS, stems};
use retroshade_ir::{Binding, Diagnostic, IoDecl, Module, Span, Stage};
use retroshade_lower::CompileError;

/// The type of clip-space positions.
const POSITION: u16 = 0;
/// Types that carry a meaning, by location.
const MEANINGFUL: [u32; 7] = [1, 2, 3, 4, 5, 6, 8];
/// The type without a meaning: data for a geometry program.
pub const DUMMY: u16 = 9;
/// Texture coordinates, whose third component may be the next type.
pub const TEXCOORD0: u16 = 3;
/// That component alone.
pub const TEXCOORD0W: u16 = 4;
/// Outputs that can have a meaning; and that the machine counts where no geometry program follows, in three bits.
pub const COUNTED: usize = 7;

/// Names of each type, without digits at the end.
const NAMES: [(u16, &[&str]); 6] = [
    (1, &["normalquat", "nquat", "quat", "quaternion", "tangentquat"]),
    (2, &COLOURS),
    (
        3,
        &[
            "texcoord",
            "texcoords",
            "texturecoord",
            "texturecoords",
            "texturecoordinate",
            "multitexcoord",
            "tcoord",
            "tex",
            "tc",
            "uv",
            "st",
        ],
    ),
    (8, &["view", "viewvec", "viewvector", "viewdir"]),
    (4, &["texcoord0w", "tcoord0w", "tc0w"]),
    (POSITION, &["position", "pos"]),
];

/// The type that a name says.
fn type_of_name(name: &str) -> Option<u16> {
    let known = |(stem, number): (String, Option<u16>)| {
        let whole = number.map_or(stem.clone(), |n| format!("{stem}{n}"));
        NAMES.iter().find_map(|(kind, names)| {
            if names.contains(&&*whole) && (*kind != 3) {
                return Some(*kind);
            }
            match (kind, number) {
                _ if !names.contains(&&*stem) => None,
                (3, None | Some(0)) => Some(3),
                (3, Some(n @ 1..=2)) => Some(4 + n),
                (3, _) => None,
                (_, Some(0)) => Some(*kind),
                _ => None,
            }
        })
    };
    stems(name).into_iter().find_map(known)
}

/// An output's place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Position, then types by number, then the others by location.
    order: u32,
    /// Which declaration.
    pub index: usize,
    /// Its type.
    pub kind: u16,
}

/// Outputs (or the inputs of a geometry program that they become) in the order of their registers.
pub fn ranks(decls: &[&IoDecl]) -> Vec<Rank> {
    let given = |d: &IoDecl| match d.binding {
        Binding::Builtin(_) => Some(POSITION),
        Binding::Location(n) if !d.unplaced => Some(if MEANINGFUL.contains(&n) { n as u16 } else { DUMMY }),
        Binding::Location(_) => None,
    };
    let mut taken: Vec<u16> = decls.iter().filter_map(|d| given(d)).collect();
    let mut out = Vec::new();
    for (index, d) in decls.iter().enumerate() {
        let kind = given(d).unwrap_or_else(|| {
            let named = type_of_name(&d.name).filter(|k| !taken.contains(k) && (*k != POSITION || d.ty.lanes == 4));
            taken.extend(named);
            named.unwrap_or(DUMMY)
        });
        let order = match (d.binding, kind) {
            (Binding::Location(n), DUMMY) => 100 + n,
            _ => u32::from(kind),
        };
        out.push(Rank { order, index, kind });
    }
    out.sort();
    out
}

/// Outputs without a location whose names say no type, of programs that no geometry program of the same call follows.
pub fn warnings(modules: &[Module]) -> Vec<(usize, Diagnostic)> {
    let followed = modules.iter().any(|m| m.stage == Stage::Geometry);
    let mut out = Vec::new();
    for (n, m) in modules.iter().enumerate().filter(|(_, m)| m.stage == Stage::Geometry || !followed) {
        let decls: Vec<&IoDecl> = m.outputs.values().collect();
        let all = ranks(&decls);
        let of = |kind: u16| all.iter().find(|r| r.kind == kind).map(|r| decls[r.index]);
        if let (Some(whole), Some(part)) = (of(TEXCOORD0).filter(|d| d.ty.lanes > 2), of(TEXCOORD0W)) {
            let message = format!("{} is texcoord0w, so that the third component of {} has no meaning", named(part), named(whole));
            out.push((n, Diagnostic::warning("P0109", part.span, message)));
        }
        if let Some(r) = all.get(COUNTED) {
            let message =
                format!("with {} outputs a geometry program has to follow: without one the machine sees none of them", decls.len());
            out.push((n, Diagnostic::warning("P0302", decls[r.index].span, message)));
        }
        for r in all.iter().filter(|r| r.kind == DUMMY && decls[r.index].unplaced) {
            let d = decls[r.index];
            let message = format!(
                "the fixed pipeline will not see output `{}`: it has no location, and its name says no type that is still free",
                d.name
            );
            let types = "locations are 1 normalquat, 2 color, 3 texcoord0, 4 texcoord0w, 5 texcoord1, 6 texcoord2, 8 view, \
                         9 and up data for a geometry program";
            out.push((n, Diagnostic::warning("P0109", d.span, message).note(Span::NONE, types)));
        }
    }
    out
}

fn named(d: &IoDecl) -> String {
    match d.binding {
        Binding::Builtin(b) => format!("`{}`", b.name()),
        Binding::Location(_) if d.unplaced => format!("`{}`", d.name),
        Binding::Location(n) => format!("`{}` (location {n})", d.name),
    }
}

/// Whether an output is the one that an input means: by name where neither has a location.
fn same(a: &IoDecl, b: &IoDecl) -> bool {
    match (a.binding, b.binding) {
        (Binding::Builtin(x), Binding::Builtin(y)) => x == y,
        (Binding::Location(_), Binding::Location(_)) if a.unplaced && b.unplaced => a.name == b.name,
        (Binding::Location(x), Binding::Location(y)) => x == y,
        _ => false,
    }
}

/// Whether the vertices that one program makes are those that the other reads: the machine hands over all outputs, in the
/// order of their registers, so neither may have one more.
pub fn fits(vertex: &Module, geometry: &Module) -> Result<(), CompileError> {
    let all: Vec<&IoDecl> = vertex.outputs.values().collect();
    let outputs: Vec<&IoDecl> = ranks(&all).iter().map(|r| all[r.index]).collect();
    let inputs: Vec<&IoDecl> = abi::attributes(geometry).into_iter().map(|k| &geometry.inputs[k]).collect();
    let (v, g) = (&vertex.name, &geometry.name);
    let last = outputs.last().map_or(Span::NONE, |o| o.span);
    let wrong = |span: Span, message: String| Err(CompileError::Invalid(vec![Diagnostic::error("P0107", span, message)]));
    for i in &inputs {
        let Some(o) = outputs.iter().find(|o| same(o, i)) else {
            return wrong(last, format!("the geometry program `{g}` reads {}, which the vertex program `{v}` does not write", named(i)));
        };
        if i.ty.lanes > o.ty.lanes {
            let m = format!(
                "the geometry program reads {} components of {}, of which the vertex program writes {}",
                i.ty.lanes,
                named(i),
                o.ty.lanes
            );
            return wrong(last, m);
        }
    }
    for o in &outputs {
        if !inputs.iter().any(|i| same(o, i)) {
            let m = format!(
                "the vertex program `{v}` writes {}, which the geometry program `{g}` does not declare: the machine hands over all \
                 outputs, so the geometry program's attributes would be shifted",
                named(o)
            );
            return wrong(o.span, m);
        }
    }
    if let Some((o, i)) = outputs.iter().zip(&inputs).find(|(o, i)| !same(o, i)) {
        let m = format!("the vertex program writes {} where the geometry program reads {}: give both a location", named(o), named(i));
        return wrong(last, m);
    }
    // Constant components beyond what the type takes are not written.
    let places = abi::assign(vertex, abi::Layout::default())?;
    for (k, o) in vertex.outputs.iter() {
        let read = inputs.iter().find(|i| same(o, i)).map_or(0, |i| i.ty.lanes);
        if places.dead[k][..read as usize].iter().any(Option::is_some) {
            let takes = OUTPUT_COMPONENTS[places.kinds[k] as usize];
            let m =
                format!("the geometry program reads {read} components of {}, whose type takes {takes}: use a location from 9 up", named(o));
            return wrong(last, m);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_types() {
        let table = [
            ("v_color", Some(2)),
            ("fragColor", Some(2)),
            ("outclr", Some(2)),
            ("color0", Some(2)),
            ("color1", None),
            ("fragTexCoord", Some(3)),
            ("vUv", Some(3)),
            ("outtc0", Some(3)),
            ("outtc1", Some(5)),
            ("texcoord2", Some(6)),
            ("texcoord3", None),
            ("gl_TexCoord[1]", Some(5)),
            ("texcoord0w", Some(4)),
            ("normalquat", Some(1)),
            ("outview", Some(8)),
            ("outpos", Some(0)),
            ("fragNormal", None),
            ("depth", None),
        ];
        for (name, want) in table {
            assert_eq!(type_of_name(name), want, "{name}");
        }
    }
}
