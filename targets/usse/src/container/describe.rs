//! A container in words, for people: everything but the code.

use super::{ATTRIBUTE, CATEGORIES, CONTAINERS, Descriptor, Gxp, SAMPLER, SEMANTICS, TYPES, Varyings, flag};

/// Shows everything in the container but the code.
pub fn describe(g: &Gxp) -> String {
    let mut out = String::new();
    let kind = if g.is_fragment() { "fragment" } else { "vertex" };
    out.push_str(&format!("# gxp 1.{} {kind} program, sdk {:04x}\n", g.minor, g.sdk));
    out.push_str(&format!("# flags {:#010x}, buffers {:#010x}, texture units {:#x}\n", g.flags, g.buffer_flags, g.texunit_flags));
    out.push_str(&format!(
        "# pa {}, sa {}, temporaries {}, phases {}, data {}, default uniform buffer {} words\n",
        g.primary_regs,
        g.secondary_regs,
        g.temps,
        g.phases.len(),
        g.data_count,
        g.default_words
    ));
    out.push_str(&format!("# phases begin at {:?}, compiler {:#x}\n", g.phases, g.compiler));
    for p in &g.parameters {
        let of = |t: &[&'static str], n: u8| t.get(n as usize).map_or_else(|| n.to_string(), |s| s.to_string());
        out.push_str(&format!(
            "# parameter {} {} {}x{}[{}] ",
            of(&CATEGORIES, p.category),
            p.name,
            of(&TYPES, p.ty),
            p.components,
            p.array
        ));
        if p.category == ATTRIBUTE {
            out.push_str(&format!("semantic {}{} ", of(&SEMANTICS, p.semantic), p.semantic_index));
        } else if p.category == SAMPLER {
            out.push_str(["", "as f32 ", "as f16 ", "as f32 and f16 "][p.semantic as usize & 3]);
            if p.semantic_index & 16 != 0 {
                out.push_str("cube ");
            }
        }
        out.push_str(&format!("container {} resource {}\n", p.container, p.resource));
    }
    match &g.varyings {
        Varyings::Vertex { attributes, untyped, outputs1, outputs2, half, vertex_index, instance_index } => {
            out.push_str(&format!(
                "# attributes {attributes:#x} untyped {untyped:#x}; outputs {outputs1:#010x} {outputs2:#010x} half {half:#x}; indices pa{vertex_index} pa{instance_index}\n"
            ));
        }
        Varyings::Fragment { output_start, output_type, components, textures, descriptors } => {
            let ty = TYPES.get(*output_type as usize).unwrap_or(&"?");
            out.push_str(&format!(
                "# result {}{output_start} {ty}x{components}; {textures} of {} inputs read textures\n",
                if g.flags & flag::NATIVE_COLOUR != 0 { "o" } else { "pa" },
                descriptors.len()
            ));
            let mut pa = 0;
            for d in descriptors {
                out.push_str(&format!("# input {:#010x} unit {} size {:#x} result {:#x}", d.info, d.unit, d.size, d.result));
                out.push_str(&format!(":{}\n", input(d, &mut pa)));
            }
        }
    }
    for (i, b, s) in &g.containers {
        let name =
            i.checked_sub(14).and_then(|n| CONTAINERS.get(n as usize)).map_or_else(|| format!("uniform buffer {i}"), |n| n.to_string());
        out.push_str(&format!("# container {i} ({name}) sa{b} size {s}\n"));
    }
    for (o, v) in &g.literals {
        out.push_str(&format!("# literal +{o} = {v:#010x} ({})\n", f32::from_bits(*v)));
    }
    for (i, s, b) in &g.uniform_buffers {
        out.push_str(&format!("# uniform buffer {i} address at +{s}, base {b}\n"));
    }
    for (u, s) in &g.dependent_samplers {
        out.push_str(&format!("# texture unit {} word {} at +{s}\n", u / 4, u % 4));
    }
    out
}

/// What an input descriptor puts where; `pa` is the next register.
fn input(d: &Descriptor, pa: &mut u32) -> String {
    let mut out = String::new();
    let (iterated, texel) = d.registers();
    if let Some(kind) = d.iterated() {
        let name = match kind {
            0..=9 => format!("texcoord{kind}"),
            10 | 11 => format!("color{}", kind - 10),
            12 => "fog".to_string(),
            13 => "position".to_string(),
            16 => "point_coord".to_string(),
            _ => "?".to_string(),
        };
        let ty = match (d.info >> 28 & 3, kind) {
            (2, _) => "f16",
            (1, _) => "c10",
            (_, 10 | 11) if d.info >> 20 & 1 == 0 => "u8",
            _ => "f32",
        };
        out.push_str(&format!(" {name} {ty}x{} in pa{pa}", d.components()));
        *pa += iterated;
    }
    if d.reads_texture() {
        let form = [".?", ".xy", ".xy / w", ".xy / z"][(d.info >> 8 & 3) as usize];
        let ty = ["its own type", "?", "f16", "f32"][(d.result >> 4 & 3) as usize];
        out.push_str(&format!(" texture unit {} at texcoord{}{form}, {ty} in pa{pa}", d.unit, d.info & 15));
        *pa += texel;
    }
    out
}
