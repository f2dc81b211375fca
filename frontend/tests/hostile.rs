//! Texts made to overwhelm a compiler end as errors: deep nesting, long chains, macros and functions that multiply, huge arrays.

use retroshade_frontend::{FrontError, FrontOptions, glsl, spirv, wgsl};
use retroshade_ir::Stage;

fn w(body: &str) -> Result<(), FrontError> {
    wgsl("h.wgsl", body, &FrontOptions::default()).map(|_| ())
}

fn fragment(before: &str, body: &str) -> Result<(), FrontError> {
    w(&format!("{before} @fragment fn main(@location(0) x: f32) -> @location(0) vec4<f32> {{ {body} }}"))
}

fn g(body: &str) -> Result<(), FrontError> {
    glsl(
        "h.frag",
        &format!("#version 450\nlayout(location = 0) in float x;\nlayout(location = 0) out vec4 o;\n{body}"),
        &FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() },
    )
    .map(|_| ())
}

fn refused(what: &str, r: Result<(), FrontError>) {
    match r {
        Ok(()) => panic!("{what} was accepted"),
        Err(e) => assert!(!e.diagnostics.is_empty(), "{what} without a message"),
    }
}

#[test]
fn nesting() {
    let n = 20_000;
    refused("parentheses", fragment("", &format!("return vec4<f32>({}1.0{});", "(".repeat(n), ")".repeat(n))));
    refused("parentheses", g(&format!("void main() {{ o = vec4({}1.0{}); }}", "(".repeat(n), ")".repeat(n))));
    refused("prefix operators", fragment("", &format!("return vec4<f32>({}x);", "-".repeat(n))));
    refused("prefix operators", g(&format!("void main() {{ o = vec4({}x); }}", "- ".repeat(n))));
    refused("blocks", fragment("", &format!("{}{} return vec4(x);", "{".repeat(n), "}".repeat(n))));
    refused("indices", fragment("", &format!("var a: array<i32, 4>; return vec4<f32>(f32({}0{}));", "a[".repeat(n), "]".repeat(n))));
    refused("types", fragment("", &format!("var a: {}f32{}; return vec4(x);", "array<".repeat(n), ", 2>".repeat(n))));
    refused("statements without braces", g(&format!("void main() {{ {} o = vec4(x); }}", "if (x > 0.0) ".repeat(n))));
    refused("loops without braces", g(&format!("void main() {{ {} o = vec4(x); }}", "for (;;) ".repeat(n))));
}

#[test]
fn chains() {
    let n = 20_000;
    refused("else if", fragment("", &format!("{} {{}} return vec4(x);", "if (x > 1.0) {} else ".repeat(n))));
    refused("else if", g(&format!("void main() {{ {} o = vec4(x); }}", "if (x > 1.0) o.x = 1.0; else ".repeat(n))));
    refused("conditionals", g(&format!("void main() {{ o = vec4({}0.0); }}", "x > 0.0 ? 1.0 : ".repeat(n))));
    refused("sums", fragment("", &format!("return vec4({}x);", "x + ".repeat(2 * n))));
    refused("sums", g(&format!("void main() {{ o = vec4({}x); }}", "x + (1.0) + ".repeat(n))));
    let cases: String = (0..n).map(|i| format!("case {i}: {{}} ")).collect();
    refused("cases", fragment("", &format!("switch i32(x) {{ {cases} default: {{}} }} return vec4(x);")));
}

#[test]
fn multiplication() {
    let doubling: String = (1..40).map(|i| format!("#define A{i} A{0} + A{0}\n", i - 1)).collect();
    refused("macros", g(&format!("#define A0 1.0\n{doubling} void main() {{ o = vec4(A39); }}")));
    refused("macro calls", g(&format!("#define D(x) x + x\nvoid main() {{ o = vec4({}1.0{}); }}", "D(".repeat(60), ")".repeat(60))));
    let functions: String = (1..30).map(|i| format!("fn f{i}(x: f32) -> f32 {{ return f{0}(x) + f{0}(x * 2.0); }}", i - 1)).collect();
    refused("functions", fragment(&format!("fn f0(x: f32) -> f32 {{ return x + 1.0; }} {functions}"), "return vec4(f29(x));"));
    let types: String = (1..31).map(|i| format!("alias a{i} = array<a{}, 2>;", i - 1)).collect();
    refused("types", fragment(&format!("alias a0 = array<f32, 2>; {types}"), "var a: a30; let b = a; return vec4(x);"));
    let lets: String = (1..26).map(|i| format!("let a{i} = array(a{0}, a{0});", i - 1)).collect();
    refused("values", fragment("", &format!("let a0 = array<f32, 2>(x, x); {lets} return vec4(a25{});", "[i32(x)]".repeat(26))));
}

#[test]
fn huge_arrays() {
    refused("constant", fragment("const a = array<f32, 1000000000>();", "return vec4(a[i32(x)]);"));
    refused("nested constant", fragment("const a = array<array<f32, 65535>, 65535>(); const b = a;", "return vec4(b[3][i32(x)]);"));
    refused("value", fragment("", "let a = array<vec4<f32>, 100000000>(); return a[i32(x)];"));
    refused("private", fragment("var<private> a: array<f32, 500000000>;", "return vec4(a[i32(x)]);"));
    refused("uniform", fragment("@group(0) @binding(0) var<uniform> a: array<vec4<f32>, 134217727>;", "return a[i32(x)];"));
    refused("workgroup", w("var<workgroup> a: array<f32, 500000000>; @compute @workgroup_size(1) fn main() { a[0] = 1.0; }"));
    refused("constant", g("const float a[300000000] = float[300000000](1.0); void main() { o = vec4(a[int(x)]); }"));
    refused("variable", g("void main() { float a[1000000000]; a[int(x)] = 1.0; o = vec4(a[int(x)]); }"));
    // A large buffer costs nothing: only its element repeats.
    assert!(w("@group(0) @binding(0) var<storage, read_write> a: array<vec3<f32>, 134217727>; @compute @workgroup_size(1) fn main() { a[5].x = 1.0; }").is_ok());
}

#[test]
fn rubbish() {
    for bytes in [&b""[..], b"\x03\x02\x23\x07", &[0xff; 4001], &[0; 64]] {
        assert!(spirv("r.spv", bytes, &FrontOptions::default()).is_err());
    }
    for text in [
        "",
        "\0",
        "#version 450\n#define A(\nvoid main() { A; }",
        "#version 450\nvoid main() { float \u{e9} = 1.0; \u{2764} }",
        "/*",
        "#version 450\n#define A A\nvoid main() { A }",
    ] {
        let options = FrontOptions { stage: Some(Stage::Vertex), ..FrontOptions::default() };
        assert!(glsl("r.vert", text, &options).is_err() && wgsl("r.wgsl", text, &options).is_err(), "{text}");
    }
}
