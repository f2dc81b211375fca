//! The register words of the object, by name.
#![allow(clippy::unwrap_used)]

use retroshade_lower::Options;
use retroshade_r700::container;

/// The register words of a program as the object lists them, with those of its part `name` (empty: its own).
fn registers(text: &str, name: &str) -> Vec<String> {
    let m = retroshade_ir::parse("registers", text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let s = retroshade_r700::isa().compile(&m, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let section = format!(".r700{name}.registers");
    let text = std::str::from_utf8(container::section(&s.container, &section).unwrap()).unwrap().to_string();
    text.lines().filter(|l| !l.starts_with("SQ_PGM_RESOURCES")).map(str::to_string).collect()
}

#[test]
fn vertex() {
    let text = "shader vertex \"v\"\ninput %a : f32x4 @location(5)\ninput %b : f32x4 @location(2)\noutput %p : f32x4 @position\noutput %x : f32x4 @location(9)\noutput %y : f32x4 @location(4)\noutput %clip : f32[5] @clip_distances\nblock0:\n    v0 = input.f32x4 %a\n    v1 = input.f32x4 %b\n    output %p, v0\n    output %x, v1\n    output %y, v0\n    v2 = extract v0, 0\n    output %clip[4], v2\n    return\n";
    let words = [
        "SPI_VS_OUT_CONFIG 0x00000002",
        "SPI_VS_OUT_ID_0 0xffff0904",
        "PA_CL_VS_OUT_CNTL 0x00c0001f",
        "VGT_VERTEX_REUSE_BLOCK_CNTL 0x0000000e",
        "VGT_HOS_REUSE_DEPTH 0x00000010",
        "VGT_STRMOUT_BUFFER_EN 0x00000000",
        "VGT_PRIMITIVEID_EN 0x00000000",
        "SQ_VTX_SEMANTIC_CLEAR 0xfffffffc",
        "SQ_VTX_SEMANTIC_0 0x00000002",
        "SQ_VTX_SEMANTIC_1 0x00000005",
    ];
    assert_eq!(registers(text, ""), words);
}

/// Cull distances follow the clip distances in the same eight places, whose bits say which is which.
#[test]
fn cull_distances() {
    let text = |clip: &str, cull: u32| {
        format!(
            "shader vertex \"v\"\ninput %a : f32x4 @location(0)\noutput %p : f32x4 @position\n{clip}output %cull : f32[{cull}] @cull_distances\nblock0:\n    v0 = input.f32x4 %a\n    output %p, v0\n    v1 = extract v0, 0\n    output %cull[0], v1\n    return\n"
        )
    };
    let words = |clip: &str, cull: u32| registers(&text(clip, cull), "").into_iter().find(|w| w.starts_with("PA_CL_VS_OUT_CNTL")).unwrap();
    assert_eq!(words("", 8), "PA_CL_VS_OUT_CNTL 0x00c0ff00");
    assert_eq!(words("output %clip : f32[3] @clip_distances\n", 1), "PA_CL_VS_OUT_CNTL 0x00400807");
    assert_eq!(words("output %clip : f32[5] @clip_distances\n", 3), "PA_CL_VS_OUT_CNTL 0x00c0e01f");
    let m = retroshade_ir::parse("nine", &text("output %clip : f32[6] @clip_distances\n", 3)).unwrap();
    let e = retroshade_r700::isa().compile(&m, &Options::default()).map(|s| s.asm).unwrap_err().to_string();
    assert!(e.contains("R0302"), "{e}");
}

/// The sample mask and the depth are asked for apart, and neither counts as a colour.
#[test]
fn depth_and_sample_mask() {
    let program = |depth: bool, mask: bool| {
        let mut s = "shader fragment \"f\"\ninput %d : f32 @location(0)\ninput %m : i32 @location(1)\n".to_string();
        s.push_str(if depth { "output %depth : f32 @frag_depth\n" } else { "" });
        s.push_str(if mask { "output %mask : i32 @sample_mask\n" } else { "" });
        s.push_str("block0:\n    v0 = input.f32 %d\n    v1 = input.i32 %m\n");
        s.push_str(if depth { "    output %depth, v0\n" } else { "" });
        s.push_str(if mask { "    output %mask, v1\n" } else { "" });
        s + "    return\n"
    };
    for (depth, mask, exports, control) in [(true, false, 1, 0x1), (false, true, 1, 0x100), (true, true, 1, 0x101), (false, false, 2, 0)] {
        let words = registers(&program(depth, mask), "");
        assert!(words.contains(&format!("SQ_PGM_EXPORTS_PS 0x{exports:08x}")), "{words:?}");
        assert!(words.contains(&format!("DB_SHADER_CONTROL 0x{control:08x}")), "{words:?}");
    }
}

/// Geometry programs have what the hardware counts vertices by, and ask for the primitive's number where they read it.
#[test]
fn geometry() {
    let program = |n: &str| {
        format!(
            "shader geometry \"g\"\ngeometry points -> points max_vertices(6)\ninput %c : f32x4[1] @location(4)\n{n}output %p : f32x4 @position\nblock0:\n    v0 = input.f32x4 %c\n    output %p, v0\n    emit_vertex\n    return\n"
        )
    };
    let words = [
        "SQ_ESGS_RING_ITEMSIZE 0x0000001c",
        "SQ_GS_VERT_ITEMSIZE 0x00000004",
        "SQ_GSVS_RING_ITEMSIZE 0x00000018",
        "VGT_GS_OUT_PRIM_TYPE 0x00000000",
        "VGT_GS_MODE 0x0000001b",
        "VGT_GS_MAX_VERT_OUT 0x00000006",
        "VGT_PRIMITIVEID_EN 0x00000000",
    ];
    assert_eq!(registers(&program(""), ""), words);
    let asks = program("input %n : i32 @primitive_index\n")
        .replace("    output", "    v1 = input.i32 %n\n    v2 = s2f.f32 v1\n    v3 = splat.f32x4 v2\n    output")
        .replace("%p, v0", "%p, v3");
    assert!(registers(&asks, "").contains(&"VGT_PRIMITIVEID_EN 0x00000001".to_string()));
}

/// What is not interpolated is not interpolated anywhere.
#[test]
fn flat_inputs_have_no_place() {
    let text = "shader fragment \"f\"\ninput %a : f32x4 @location(3) @flat @centroid\noutput %o : f32x4 @location(0)\nblock0:\n    v0 = input.f32x4 %a\n    output %o, v0\n    return\n";
    assert!(registers(text, "").contains(&"SPI_PS_INPUT_CNTL_0 0x00000403".to_string()));
}

/// Loops that count by constants make their rounds on every path.
#[test]
fn counted_loops() {
    let program = |last: &str| {
        format!(
            "shader fragment \"l\"\ninput %a : f32x4 @location(0)\ninput %n : i32 @location(1)\ntexture %t : 2d f32 @binding(0)\noutput %o : f32x4 @location(0)\nblock0:\n    v0 = input.f32x4 %a\n    v1 = input.i32 %n\n    v2 = iconst.i32 0\n    v3 = iconst.i32 1\n    v4 = iconst.i32 200\n    jump block1(v0, v2)\nblock1(v5: f32x4, v6: i32):\n    v7 = icmp slt v6, {last}\n    br_if v7, block2, block3\nblock2:\n    v8 = shuffle v5, v5, [0, 1]\n    v9 = tex.f32x4 sample zero %t, v8\n    v10 = fadd v5, v9\n    v11 = iadd v6, v3\n    jump block1(v10, v11)\nblock3:\n    output %o, v5\n    return\n"
        )
    };
    let clauses = |text: &str| {
        let m = retroshade_ir::parse("loop", text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let d = retroshade_r700::isa().compile(&m, &Options::default()).unwrap().stats.detail;
        (d["shortest_clauses"], d["longest_clauses"])
    };
    let (least, most) = clauses(&program("v4"));
    assert!(least == most && least >= 400, "{least} {most}");
    let (least, most) = clauses(&program("v1"));
    assert!(least < 4 && (2..10).contains(&most), "{least} {most}");
}

/// Registers that a fetch shader or the rasteriser fills are allocated, whether the program reads them or not.
#[test]
fn inputs_have_registers() {
    for (stage, output, most) in [("vertex", "@position", 4), ("fragment", "@location(0)", 3)] {
        let text = format!(
            "shader {stage} \"u\"\ninput %a : f32x4 @location(0)\ninput %b : f32x4 @location(1)\ninput %c : f32x4 @location(2)\noutput %o : f32x4 {output}\nblock0:\n    v0 = input.f32x4 %a\n    output %o, v0\n    return\n"
        );
        let m = retroshade_ir::parse("unused", &text).unwrap();
        assert_eq!(retroshade_r700::isa().compile(&m, &Options::default()).unwrap().stats.registers, most, "{stage}");
    }
}
