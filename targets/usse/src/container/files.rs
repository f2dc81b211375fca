//! What is written beside the container itself: a C header, and which parameters vitaGL must know to be matrices.

use crate::container::{Gxp, Parameter, UNIFORM};
use retroshade_ir::{FileId, Module, Stage, UniformDecl};
use retroshade_lower::reflect::uniform_leaves;

/// A C header with the container as a 16-byte-aligned array, named after the file where the entry is the usual `main`.
pub fn header(m: &Module, bytes: &[u8]) -> String {
    let file = m.sources.name(FileId(0)).and_then(|n| std::path::Path::new(n).file_stem()).and_then(|s| s.to_str());
    let name = file.filter(|n| m.name == "main" && !n.is_empty() && *n != "-").unwrap_or(&m.name);
    let clean: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let lead = if clean.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    let id = format!("{lead}{clean}_{}_gxp", if m.stage == Stage::Vertex { "v" } else { "f" });
    let mut out = format!("#ifndef {0}_H\n#define {0}_H\n\n", id.to_uppercase());
    out.push_str(&format!("static const unsigned char {id}[{}] __attribute__((aligned(16))) = {{\n", bytes.len()));
    let digit = |n: u8| char::from(b"0123456789abcdef"[usize::from(n & 15)]);
    out.reserve(6 * bytes.len() + bytes.len() / 3 + 128);
    for line in bytes.chunks(16) {
        out.push_str("   ");
        for b in line {
            out.push_str(" 0x");
            out.extend([digit(b >> 4), digit(*b), ',']);
        }
        out.push('\n');
    }
    out.push_str(&format!("}};\nstatic const unsigned int {id}_size = {};\n\n#endif\n", bytes.len()));
    out
}

/// Indices of the parameters that are matrices in the source.
pub fn matrices(m: &Module, g: &Gxp) -> Vec<u32> {
    let is_matrix = |p: &Parameter| {
        let named = |d: &UniformDecl| d.matrix && uniform_leaves(d).iter().any(|l| l.name == p.name);
        p.category == UNIFORM && m.uniforms.values().any(named)
    };
    (0u32..).zip(&g.parameters).filter(|(_, p)| is_matrix(p)).map(|(n, _)| n).collect()
}
