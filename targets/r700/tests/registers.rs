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
