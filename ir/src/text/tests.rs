//! Round trips and error reports of the text form.
use super::*;

/// One line per operation and kind of immediate; kept in step with `Opcode::ALL` by `every_opcode_is_in_the_sample`.
const SAMPLE: &str = include_str!("sample.ir");

fn ok(text: &str) -> Module {
    parse("t.ir", text).unwrap_or_else(|e| panic!("{:#?}", e.diagnostics))
}

fn errors(text: &str) -> Vec<String> {
    let e = parse("t.ir", text).expect_err("must fail");
    let at = |d: &Diagnostic| e.sources.line_column(d.span.file, d.span.start).unwrap_or((0, 0));
    e.diagnostics.iter().map(|d| format!("{}:{} {} {}", at(d).0, at(d).1, d.code, d.message)).collect()
}

#[test]
fn printing_is_stable() {
    let once = print(&ok(SAMPLE));
    let twice = print(&ok(&once));
    assert_eq!(once, twice);
}

#[test]
fn every_opcode_is_in_the_sample() {
    let m = ok(SAMPLE);
    for op in crate::Opcode::ALL {
        assert!(m.functions.values().any(|f| f.insts.values().any(|d| d.op == *op)), "no line with {}", op.name());
    }
}

#[test]
fn sample_prints_as_itself() {
    // The sample is written in the printer's own spelling, comments aside.
    let bare: String = SAMPLE.lines().filter(|l| !l.starts_with(';')).map(|l| format!("{l}\n")).collect();
    assert_eq!(print(&ok(SAMPLE)), bare);
}

#[test]
fn floats_round_trip() {
    use crate::types::Scalar;
    for bits in [0u32, 0x8000_0000, 1, 0x3dcc_cccd, 0x7f7f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7fc0_1234, 0x0080_0000] {
        let s = format_float(Scalar::F32, bits);
        assert_eq!(parse_float(Scalar::F32, &s), Some(bits), "{s}");
    }
    for bits in 0..=0xffffu32 {
        let s = format_float(Scalar::F16, bits);
        assert_eq!(parse_float(Scalar::F16, &s), Some(bits), "{s}");
    }
    assert_eq!(format_float(Scalar::F16, 0x2e66), "0.1");
    assert_eq!(parse_float(Scalar::F32, "1e999"), None);
}

#[test]
fn definitions_may_follow_uses() {
    let m = ok(
        "shader vertex \"x\"\noutput %o : f32 @location(0)\nblock0:\njump block2\nblock1:\nv1 = fadd v0, v0\noutput %o, v1\nreturn\nblock2:\nv0 = fconst.f32 1\njump block1\n",
    );
    assert!(print(&m).contains("v0 = fadd v1, v1"), "{}", print(&m));
}

#[test]
fn several_errors_with_places() {
    let e = errors(
        "shader vertex \"x\"\ninput %a : f33 @location(0)\nblock0:\n  v1 = fadd v0, v2\n  v3 = frob v1\n  jump block7\n  v1 = iconst.i32 99999999999\n",
    );
    assert_eq!(
        e,
        [
            "2:12 E0007 there is no type `f33` (types are i1, i32, f32, f16, and x2, x3, x4 of these)",
            "4:13 E0010 v0 is not defined",
            "4:17 E0010 v2 is not defined",
            "5:8 E0006 there is no operation `frob`",
            "6:8 E0011 there is no block7",
            "7:19 E0008 `99999999999` is not a constant of type i32",
        ]
    );
}

#[test]
fn at_most_twenty_errors() {
    let text = format!("shader vertex \"x\"\nblock0:\n{}", "  bad!\n".repeat(100));
    assert_eq!(errors(&text).len(), MAX_ERRORS);
}

#[test]
fn hopeless_inputs() {
    assert_eq!(errors("  ; nothing\n"), ["1:1 E0004 the file is empty: expected `shader STAGE \"NAME\"`"]);
    assert_eq!(errors("\u{7f}ELF\0\0"), ["1:1 E0002 this is not text: byte 0x7f at offset 0"]);
    assert!(parse_bytes("b", &[0x41, 0xff, 0xfe]).is_err_and(|e| e.diagnostics[0].code == "E0002"));
    assert!(parse("b", &" ".repeat(MAX_BYTES + 1)).is_err_and(|e| e.is_limit()));
    assert_eq!(errors("int main() {}").len(), 1);
}

#[test]
fn types_that_depend_on_themselves() {
    let e = errors("shader vertex \"x\"\nblock0:\nv0 = fneg v1\nv1 = fneg v0\nreturn\n");
    assert!(e[0].contains("E0014"), "{e:?}");
}

#[test]
fn shorthands() {
    let m = ok(
        "shader vertex \"x\"\nuniform %m : mat4x4 @binding(0)\nuniform %a : mat3x3[5] @binding(0) @offset(64)\nuniform %p : f32x4[4] @binding(1)\ninput %i : u32x2 @location(1)\nblock0:\n  v9 = uniform %p[2]\n  v10 = pack_half2x16 v11\n  v11 = fconst.f32x2 0.5\n  return\n",
    );
    let u: Vec<_> = m.uniforms.values().collect();
    assert_eq!((u[0].elements(), u[0].unit, u[0].size()), (4, 16, 64));
    assert_eq!((u[1].dims[0].stride, u[1].matrix, u[1].elements()), (48, true, 15));
    assert_eq!((u[2].dims[0].stride, u[2].unit), (16, 16));
    assert_eq!(m.inputs.values().next().and_then(|i| i.source_type.clone()), Some("u32x2".into()));
    let text = print(&m);
    assert!(text.contains("v0 = uniform.f32x4 %p[2]") && text.contains("fconst.f32x2 [0.5, 0.5]"), "{text}");
}
