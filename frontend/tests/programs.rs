//! Control flow, variables, buffers, calls and stages: small programs with known results.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use retroshade_frontend::{FrontOptions, glsl, spirv, wgsl};
use retroshade_ir::module::{Interpolation, TexDim};
use retroshade_ir::{Module, Opcode, Stage};

/// A WGSL function `f(x: i32) -> i32` run on several arguments.
fn int_function(body: &str) -> impl Fn(i32) -> i32 {
    let source = format!(
        "{body}
         struct Out {{ @builtin(position) p: vec4<f32>, @location(0) @interpolate(flat) r: i32 }}
         @vertex fn main(@location(0) x: i32) -> Out {{ var o: Out; o.r = f(x); return o; }}"
    );
    let m = from_wgsl(&source);
    // naga's SPIR-V writer fails on some programs; those are tested from WGSL alone.
    let via = std::panic::catch_unwind(|| through_spirv(&source)).ok();
    move |x| {
        let a = run(&m, vec![vec![x as u32]], vec![])[1][0] as i32;
        let Some(via) = &via else { return a };
        let out = run(via, vec![vec![x as u32]], vec![]);
        let at = via.outputs.iter().position(|(_, d)| d.count == 1 && d.ty == retroshade_ir::types::I32).unwrap();
        assert_eq!(out[at][0] as i32, a, "through SPIR-V");
        a
    }
}

/// The same program after naga has written it as SPIR-V.
fn through_spirv(source: &str) -> Module {
    let module = naga::front::wgsl::parse_str(source).unwrap();
    let info =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all()).validate(&module).unwrap();
    let options = naga::back::spv::Options { flags: naga::back::spv::WriterFlags::empty(), ..Default::default() };
    let words = naga::back::spv::write_vec(&module, &info, &options, None).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    match spirv("test.spv", &bytes, &FrontOptions::default()) {
        Ok(m) => checked(m),
        Err(e) => panic!("{e}\n{source}"),
    }
}

#[test]
fn branches_and_loops() {
    let f = int_function(
        "fn f(x: i32) -> i32 {
            var sum = 0;
            for (var i = 0; i < x; i++) {
                if (i == 3) { continue; }
                if (i > 8) { break; }
                sum += i * i;
            }
            var k = x;
            loop {
                if (k <= 0) { break; }
                sum += 1000;
                continuing { k -= 2; break if sum > 5000; }
            }
            while (k < 10) { k += 3; if (k == 7) { return sum - 1; } }
            return sum;
        }",
    );
    let host = |x: i32| {
        let mut sum = 0;
        for i in 0..x.max(0) {
            if i == 3 {
                continue;
            }
            if i > 8 {
                break;
            }
            sum += i * i;
        }
        let mut k = x;
        while k > 0 {
            sum += 1000;
            k -= 2;
            if sum > 5000 {
                break;
            }
        }
        while k < 10 {
            k += 3;
            if k == 7 {
                return sum - 1;
            }
        }
        sum
    };
    for x in [-5, 0, 1, 2, 4, 9, 30] {
        assert_eq!(f(x), host(x), "{x}");
    }
}

#[test]
fn switches() {
    let f = int_function(
        "fn g(x: i32) -> i32 {
            switch (x) {
                case 0: { return 10; }
                case 1, 2, 7: { if (x == 2) { break; } return 20; }
                case -3: { }
                default: { return x * 2; }
            }
            return 5;
        }
        fn f(x: i32) -> i32 {
            var n = 0;
            for (var i = -4; i < x; i++) {
                switch (i) { case 3: { continue; } case 5: { n += 100; } default: { n += 1; } }
                n += g(i);
            }
            return n;
        }",
    );
    let g = |x: i32| match x {
        0 => 10,
        1 | 7 => 20,
        2 | -3 => 5,
        _ => x * 2,
    };
    for x in [-4, -1, 1, 3, 4, 6, 9] {
        let want: i32 = (-4..x).filter(|i| *i != 3).map(|i| g(i) + if i == 5 { 100 } else { 1 }).sum();
        assert_eq!(f(x), want, "{x}");
    }
}

#[test]
fn variables_arrays_and_pointers() {
    let f = int_function(
        "struct S { a: array<i32, 6>, b: vec3<i32>, m: array<array<i32, 2>, 3> }
        var<private> global: S;
        const table = array<i32, 7>(3, 1, 4, 1, 5, 9, 2);
        fn bump(p: ptr<function, i32>, by: i32) { *p += by; }
        fn put(p: ptr<private, vec3<i32>>, i: i32) { (*p)[i] = 7; }
        fn total(s: S) -> i32 {
            var t = s.b.x + s.b.y * 10 + s.b.z * 100;
            for (var i = 0; i < 6; i++) { t += s.a[i] * (i + 1); }
            for (var i = 0; i < 6; i++) { t += s.m[i / 2][i % 2]; }
            return t;
        }
        fn f(x: i32) -> i32 {
            var s: S;
            let i = x % 6;
            s.a[i] = x;
            bump(&s.a[2], 5);
            s.b[i % 3] = 4;
            s.m[x % 3] = array<i32, 2>(x, 1);
            global = s;
            put(&global.b, (x + 1) % 3);
            var copy = global;
            copy.a[5] = 0;
            return total(copy) * 1000 + total(s) + table[x % 7];
        }",
    );
    for x in 0..12 {
        let total = |a: &[i32; 6], b: &[i32; 3], m: &[[i32; 2]; 3]| {
            b[0] + b[1] * 10 + b[2] * 100 + (0..6).map(|i| a[i] * (i as i32 + 1)).sum::<i32>() + m.iter().flatten().sum::<i32>()
        };
        let (mut a, mut b, mut m) = ([0; 6], [0; 3], [[0; 2]; 3]);
        let u = x as usize;
        a[u % 6] = x;
        a[2] += 5;
        b[u % 6 % 3] = 4;
        m[u % 3] = [x, 1];
        let (mut a2, mut b2) = (a, b);
        b2[(u + 1) % 3] = 7;
        a2[5] = 0;
        let want = total(&a2, &b2, &m) * 1000 + total(&a, &b, &m) + [3, 1, 4, 1, 5, 9, 2][u % 7];
        assert_eq!(f(x), want, "{x}");
    }
}

#[test]
fn uniform_layouts() {
    let source = "
        struct Light { pos: vec3<f32>, power: f32, kind: u32, m: mat2x2<f32> }
        struct U { color: vec4<f32>, lights: array<Light, 3>, rows: mat3x3<f32>, list: array<vec4<f32>, 5> }
        @group(1) @binding(2) var<uniform> u: U;
        @group(0) @binding(1) var<uniform> mvp: mat4x4<f32>;
        @vertex fn main(@location(0) i: u32, @location(1) p: vec4<f32>) -> @builtin(position) vec4<f32> {
            let l = u.lights[i];
            let v = u.rows[i % 3u];
            return mvp * p + vec4(l.pos * l.power, f32(l.kind)) + vec4(l.m[1], v.xy) + u.list[i + 2u] + u.color;
        }";
    let m = from_wgsl(source);
    let names: Vec<_> =
        m.uniforms.values().map(|u| (u.name.as_str(), u.group, u.binding, u.offset, u.unit, u.dims.len(), u.matrix)).collect();
    assert_eq!(
        names,
        [
            ("u.color", 1, 2, 0, 16, 0, false),
            ("u.lights[].pos", 1, 2, 16, 16, 1, false),
            ("u.lights[].power", 1, 2, 28, 16, 1, false),
            ("u.lights[].kind", 1, 2, 32, 16, 1, false),
            ("u.lights[].m", 1, 2, 40, 8, 2, true),
            ("u.rows", 1, 2, 160, 16, 1, true),
            ("u.list", 1, 2, 208, 16, 1, false),
            ("mvp", 0, 1, 0, 16, 1, true),
        ]
    );
    let seq = |from: usize, n: usize| -> Vec<f32> { (0..n).map(|k| (from + k) as f32).collect() };
    let uniforms = vec![
        words(&seq(1, 4)),
        words(&seq(10, 9)),
        words(&seq(20, 3)),
        vec![7, 8, 9],
        words(&seq(30, 12)),
        words(&seq(50, 9)),
        words(&seq(60, 20)),
        words(&seq(100, 16)),
    ];
    let p = [1.0, 2.0, -1.0, 0.5f32];
    for i in 0..3usize {
        let out = floats(&run(&m, vec![vec![i as u32], words(&p)], uniforms.clone())[0]);
        let mut want: Vec<f32> = (0..4).map(|r| (0..4).map(|c| (100 + 4 * c + r) as f32 * p[c]).sum()).collect();
        for r in 0..3 {
            want[r] += (10 + 3 * i + r) as f32 * (20 + i) as f32;
        }
        want[3] += (7 + i) as f32;
        want[0] += (30 + 4 * i + 2) as f32;
        want[1] += (30 + 4 * i + 3) as f32;
        want[2] += (50 + 3 * i) as f32;
        want[3] += (50 + 3 * i + 1) as f32;
        for (r, w) in want.iter_mut().enumerate() {
            *w += (60 + 4 * (i + 2) + r) as f32 + (1 + r) as f32;
        }
        close("uniforms", &out, &want, 1e-6);
    }
}

#[test]
fn truth_values_in_blocks() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 450
        layout(location = 0) in vec4 p;
        layout(std140, binding = 3) uniform U { vec3 v; bool a; bool b; int n; vec4 k[3]; } u;
        void main() { gl_Position = u.a && !u.b ? p * float(u.n) : p + u.k[u.n]; }",
    );
    let places: Vec<_> = m.uniforms.values().map(|u| (u.name.as_str(), u.ty.to_string(), u.binding, u.offset)).collect();
    assert_eq!(
        places,
        [
            ("u.v", "f32x3".to_string(), 3, 0),
            ("u.a", "i1".to_string(), 3, 12),
            ("u.b", "i1".to_string(), 3, 16),
            ("u.n", "i32".to_string(), 3, 20),
            ("u.k", "f32x4".to_string(), 3, 32),
        ]
    );
    let p = [1.0, 2.0, 3.0, 4.0f32];
    let k: Vec<f32> = (0..12).map(|i| i as f32).collect();
    for (a, b) in [(0, 0), (1, 0), (1, 1)] {
        let out = floats(&run(&m, vec![words(&p)], vec![vec![0; 3], vec![a], vec![b], vec![2], words(&k)])[0]);
        let want: Vec<f32> = (0..4).map(|i| if a == 1 && b == 0 { p[i] * 2.0 } else { p[i] + k[8 + i] }).collect();
        close("bool", &out, &want, 0.0);
    }
}

#[test]
fn compute_storage_shared_and_atomics() {
    let source = "
        struct Item { pos: vec3<f32>, id: u32 }
        struct Buf { count: atomic<u32>, factor: f32, items: array<Item> }
        @group(0) @binding(0) var<storage, read_write> buf: Buf;
        @group(0) @binding(1) var<storage, read> input: array<vec2<u32>, 4>;
        var<workgroup> part: array<u32, 20>;
        var<workgroup> top: atomic<i32>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>) {
            let start = part[i * 5u];
            part[i] = input[i].y + start;
            atomicMax(&top, i32(input[i].x));
            workgroupBarrier();
            let n = arrayLength(&buf.items);
            if (g.x < n) {
                buf.items[g.x].id = part[3u - i] + u32(atomicLoad(&top));
                buf.items[g.x].pos = buf.items[g.x].pos * buf.factor;
                buf.items[g.x].pos.y += 1.0;
                let old = atomicAdd(&buf.count, 2u);
                if (old == 1000000u) { atomicStore(&buf.count, 0u); }
                let r = atomicCompareExchangeWeak(&buf.count, 14u, 100u);
                if (r.exchanged) { buf.items[g.x].id += 50u; }
            }
        }";
    let m = from_wgsl(source);
    assert_eq!(m.workgroup_size, [4, 1, 1]);
    assert_eq!(
        m.storage.values().map(|s| (s.name.as_str(), s.head.len(), s.repeat.len())).collect::<Vec<_>>(),
        [("buf", 4, 4), ("input", 8, 0)]
    );
    let mut buf = vec![10, 2.0f32.to_bits(), 0, 0];
    for k in 0..3 {
        buf.extend([(k as f32).to_bits(), 1.0f32.to_bits(), 3.0f32.to_bits(), 0]);
    }
    let out = run_compute(&m, vec![buf, vec![5, 1, 6, 2, 7, 3, 2, 4]], vec![], [1, 1, 1]);
    assert_eq!(out[0][0], 102);
    for k in 0..3usize {
        let item = &out[0][4 + 4 * k..8 + 4 * k];
        assert_eq!(floats(&item[..3]), [2.0 * k as f32, 3.0, 6.0]);
        assert_eq!(item[3], (4 - k as u32) + 7 + if k == 1 { 50 } else { 0 });
    }
}

#[test]
fn discard_is_straight_code_outside_loops() {
    let m = from_wgsl(
        "@fragment fn main(@location(0) c: vec4<f32>) -> @location(0) vec4<f32> {
            if (c.a <= 0.5) { discard; }
            return c;
        }",
    );
    assert_eq!(m.main().layout.len(), 1, "{}", retroshade_ir::print(&m));
    let looped = from_wgsl(
        "@fragment fn main(@location(0) c: vec4<f32>) -> @location(0) vec4<f32> {
            var s = 0.0;
            loop { if (s > c.x) { break; } if (c.y > s) { discard; } s += c.z; }
            return vec4(s); }",
    );
    assert!(looped.main().ordered().any(|(_, i)| looped.main().insts[i].op == Opcode::Kill));
    assert_eq!(looped.outputs.values().next().unwrap().name, "location0");
}

#[test]
fn a_discard_ends_in_front_of_loops_that_might_wait_for_it() {
    let kills = |body: &str| {
        let m = from_wgsl(&format!(
            "@group(0) @binding(0) var<uniform> count: u32;
            @fragment fn main(@location(0) c: vec4<f32>) -> @location(0) vec4<f32> {{
                if (c.y <= 0.0) {{ discard; }}
                var s = c.x; {body} return vec4(s); }}"
        ));
        let has = |op: Opcode| m.main().ordered().any(|(_, i)| m.main().insts[i].op == op);
        assert_ne!(has(Opcode::Kill), has(Opcode::Discard), "{}", retroshade_ir::print(&m));
        has(Opcode::Kill)
    };
    assert!(kills("while (s < 1.0) { s += c.y; }"));
    assert!(kills("for (var i = 0; i < i32(c.z); i++) { s *= 2.0; }"));
    // These end for all alike.
    assert!(!kills("for (var i = 0; i < 8; i++) { s += c.y; }"));
    assert!(!kills("for (var i = 0u; i < count; i++) { s += c.y; if (s > 4.0) { break; } }"));
    assert!(!kills("s += 1.0;"));
}

#[test]
fn textures_pair_with_their_samplers() {
    let m = from_wgsl(
        "@group(0) @binding(0) var t: texture_2d_array<f32>;
        @group(0) @binding(1) var s1: sampler;
        @group(0) @binding(2) var s2: sampler;
        @group(0) @binding(3) var d: texture_depth_cube;
        @group(0) @binding(4) var sc: sampler_comparison;
        @group(0) @binding(5) var k: texture_2d<i32>;
        fn pick(x: texture_2d_array<f32>, s: sampler, uv: vec2<f32>) -> vec4<f32> { return textureSample(x, s, uv, 1, vec2(1, -2)); }
        @fragment fn main(@location(0) @interpolate(linear, centroid) uv: vec2<f32>) -> @location(0) vec4<f32> {
            let a = pick(t, s1, uv) + pick(t, s2, uv) + textureLoad(t, vec2(1, 2), 0, 0);
            let b = textureSampleCompare(d, sc, vec3(uv, 1.0), 0.5);
            let n = textureDimensions(t) + vec2(textureNumLayers(t), textureNumLevels(t));
            return a + vec4(b) + vec4<f32>(textureLoad(k, vec2(0, 0), 0)) + vec4<f32>(vec2<f32>(n), dpdx(uv.x), fwidth(uv.y));
        }",
    );
    let names: Vec<_> = m.textures.values().map(|t| (t.name.as_str(), t.sampler.as_deref(), t.dim, t.shadow)).collect();
    assert_eq!(
        names,
        [
            ("t", Some("s1"), TexDim::D2, false),
            ("d", Some("sc"), TexDim::Cube, true),
            ("k", None, TexDim::D2, false),
            ("t_s2", Some("s2"), TexDim::D2, false),
        ]
    );
    assert_eq!(m.inputs.values().next().unwrap().interpolation, Interpolation::Linear);
}

#[test]
fn overrides_take_their_values_from_defines() {
    let source = "override scale: f32 = 2.0; @id(7) override n: u32; override twice = scale * 2.0;
        @compute @workgroup_size(n, 2) fn main() { out[0] = scale + twice; }
        @group(0) @binding(0) var<storage, read_write> out: array<f32>;";
    let options = |d: &[(&str, &str)]| FrontOptions {
        defines: d.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        ..Default::default()
    };
    let m = wgsl("o.wgsl", source, &options(&[("scale", "1.5"), ("n", "8")])).unwrap();
    assert_eq!(m.workgroup_size, [8, 2, 1]);
    let out = run_compute(&m, vec![vec![0; 4]], vec![], [1, 1, 1]);
    assert_eq!(f32::from_bits(out[0][0]), 4.5);
    assert!(wgsl("o.wgsl", source, &options(&[])).unwrap_err().to_string().contains('7'));
    let unknown = wgsl("o.wgsl", source, &options(&[("n", "1"), ("other", "1")])).unwrap_err().to_string();
    assert!(unknown.contains("other") && unknown.contains("scale"), "{unknown}");
    let text = "#version 450\nlayout(location = 0) out vec4 o;\nvoid main() { o = vec4(K); }";
    let o = FrontOptions { stage: Some(Stage::Fragment), ..options(&[("K", "0.25")]) };
    assert!(glsl("k.frag", text, &o).is_ok());
}

#[test]
fn errors_name_their_place() {
    let e = wgsl("bad.wgsl", "fn f() -> f32 {\n    return missing;\n}", &FrontOptions::default()).unwrap_err();
    assert_eq!(e.sources.line_column(e.diagnostics[0].span.file, e.diagnostics[0].span.start), Some((2, 12)));
    let e = glsl(
        "bad.frag",
        "#version 450\nvoid main() {\n  int x = y;\n}",
        &FrontOptions { stage: Some(Stage::Fragment), ..Default::default() },
    )
    .unwrap_err();
    assert_eq!(e.sources.line_column(e.diagnostics[0].span.file, e.diagnostics[0].span.start), Some((3, 11)));
    let e = wgsl(
        "two.wgsl",
        "@group(0) @binding(0) var<storage, read_write> o: array<f32>;
        @compute @workgroup_size(1) fn main() {
            o[0] = f32(subgroupAdd(1u));
            o[1] = 1.0;
            o[2] = f32(subgroupMax(2u));
        }",
        &FrontOptions::default(),
    );
    if let Err(e) = e {
        assert!(!e.diagnostics.is_empty() && e.diagnostics.iter().all(|d| !d.span.is_none()), "{e}");
    }
    let two = "@vertex fn a() -> @builtin(position) vec4<f32> { return vec4(0.0); } @fragment fn b() {}";
    assert!(wgsl("two.wgsl", two, &FrontOptions::default()).unwrap_err().to_string().contains("a (vertex), b (fragment)"));
    assert!(wgsl("two.wgsl", two, &FrontOptions { stage: Some(Stage::Fragment), ..Default::default() }).is_ok());
    assert!(
        glsl("g.geom", "#version 450\nvoid main() {}", &FrontOptions { stage: Some(Stage::Geometry), ..Default::default() })
            .unwrap_err()
            .to_string()
            .contains("geometry")
    );
}

#[test]
fn every_instruction_has_a_place() {
    let source =
        "@vertex fn main(@location(0) a: vec4<f32>) -> @builtin(position) vec4<f32> {\n    let b = a * 2.0;\n    return sqrt(b);\n}";
    let m = from_wgsl(source);
    let f = m.main();
    let line = |op: Opcode| {
        let (_, i) = f.ordered().find(|(_, i)| f.insts[*i].op == op).unwrap();
        m.sources.line_column(f.spans[i].file, f.spans[i].start).map(|(l, _)| l)
    };
    assert_eq!((line(Opcode::Fmul), line(Opcode::Fsqrt)), (Some(2), Some(3)));
}
