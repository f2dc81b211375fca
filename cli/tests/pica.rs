//! PICA200 from GLSL to files: the shaders of `examples/pica` compile with their functions kept, the simulator agrees with the
//! interpreter, the listing assembles to the same program, and programs of one file are held against each other.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::FrontOptions;
use retroshade::ir::{Module, Stage};
use retroshade::lower::testing::{Rng, Verdict, diff_with, random_env};
use retroshade::lower::{CompileError, CompiledShader, Options};
use retroshade_pica::container::Shbin;
use std::path::PathBuf;

fn glsl(name: &str, text: &str, options: FrontOptions) -> Module {
    let stage = if name.ends_with(".vert") { Stage::Vertex } else { Stage::Geometry };
    let options = FrontOptions { stage: Some(stage), functions: true, ..options };
    retroshade::frontend::glsl(name, text, &options).unwrap_or_else(|e| panic!("{name}: {:?}", e.diagnostics))
}

fn compile(m: &Module) -> CompiledShader {
    retroshade_pica::isa().compile(m, &Options::default()).unwrap_or_else(|e| panic!("{}: {e}", m.name))
}

#[test]
fn examples_agree_and_come_back_from_text() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/pica");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "vert" || e == "geom"));
    files.sort();
    let (mut calls, mut loops) = (0, 0);
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ranges = if name == "lamps.vert" { vec![("lamps".to_string(), 0, 8)] } else { Vec::new() };
        let m = glsl(&name, &std::fs::read_to_string(path).unwrap(), FrontOptions { ranges, ..FrontOptions::default() });
        let isa = retroshade_pica::isa();
        let env = random_env(&m, 24, 8, &mut Rng::new(3));
        match diff_with(isa, &m, &env, &Options::default()) {
            Ok(Verdict::Agrees { .. }) => {}
            other => panic!("{name}: {other:?}"),
        }
        let s = compile(&m);
        assert_eq!(isa.lint(&s.container, &Default::default()).unwrap(), vec![], "{name}");
        let text = isa.disassemble(&s.container, &Default::default()).unwrap();
        let back = isa.assemble(&text, &Default::default()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let (was, is) = (Shbin::read(&s.container).unwrap(), Shbin::read(&back.container.unwrap()).unwrap());
        assert_eq!((was.code, was.descriptors), (is.code, is.descriptors), "{name}");
        assert_eq!(was.executables[0].outputs, is.executables[0].outputs, "{name}");
        assert!(!isa.warnings(std::slice::from_ref(&m), &Options::default()).iter().any(|_| true), "{name}");
        calls += u32::from(text.contains("    call "));
        loops += u32::from(text.contains("    for i"));
    }
    // What they are there to show.
    assert!(files.len() >= 10 && calls >= 2 && loops >= 2, "{} files, {calls} with calls, {loops} with loops", files.len());
}

#[test]
fn functions_stay_functions() {
    let text = "#version 450
        layout(location = 0) in vec4 a;
        layout(location = 0) out vec4 o;
        vec3 sum; int rounds;
        float half_of(float x) { return x * 0.5; }
        void add(vec3 x, int n) { if (x.y > 0.0) sum += x * float(n); else sum.x -= half_of(x.z) + half_of(x.x); }
        void swap(inout vec3 x) { x = x.yxz; }
        void main() {
            sum = vec3(0.0);
            vec3 b = a.xyz;
            add(b, 2); swap(b); add(b, 3); swap(b); add(a.wzy, 4);
            o = vec4(sum, 1.0);
            gl_Position = a;
        }";
    let m = glsl("f.vert", text, FrontOptions::default());
    let names: Vec<&str> = m.functions.values().map(|f| f.name.as_str()).collect();
    assert!(names.contains(&"add") && names.contains(&"half_of") && names.contains(&"swap"), "{names:?}");
    retroshade::ir::verify(&m).unwrap();
    let options = FrontOptions { stage: Some(Stage::Vertex), ..FrontOptions::default() };
    let inlined = retroshade::frontend::glsl("f.vert", text, &options).unwrap();
    assert_eq!(inlined.functions.len(), 1);
    let env = random_env(&m, 24, 8, &mut Rng::new(5));
    let run = |m: &Module| retroshade::ir::interp::run(m, &env, &retroshade::ir::Reference).unwrap();
    let (a, b) = (run(&m), run(&inlined));
    assert_eq!(format!("{:?}", a.invocations), format!("{:?}", b.invocations));
    match diff_with(retroshade_pica::isa(), &m, &env, &Options::default()) {
        Ok(Verdict::Agrees { .. }) => {}
        other => panic!("{other:?}"),
    }
}

/// Every signature that a program can have: the functions stay where the program is shorter for it, and compute the same.
#[test]
fn all_signatures_become_procedures() {
    let head = "#version 330
        uniform mat4 world; uniform mat4 bones[4]; uniform bool lit; uniform vec4 k;
        in vec4 a; in vec4 b;
        out vec4 color; out vec2 texcoord0;
        struct Ray { vec3 from; vec3 dir; bool hit; };
        vec4 sum;";
    let cases = [
        // out and inout, several of them, with a truth value and a number.
        (
            "void spin(inout vec3 p, out float len, bool twice, float s) {
                if (twice) p = p.yzx * s; else p = p + s;
                p = p * k.xyz + p.zxy * p.yzx; len = dot(p, p) * p.x + s;
            }",
            "vec3 p = a.xyz; float l, m, n;
            spin(p, l, a.w > 0.0, 2.0); spin(p, m, b.w > l, 3.0); spin(p, n, lit, b.y);
            gl_Position = vec4(p, l); color = vec4(m, n, l, n); texcoord0 = p.xy;",
        ),
        // A matrix of the interface.
        (
            "vec4 through(mat4 m, vec4 v) { vec4 x = m * v; return normalize(x.yzwx * x + v * 3.0) + x.wzyx * v; }",
            "gl_Position = through(world, a); color = through(world, b); texcoord0 = through(world, a + b).xy;",
        ),
        // A matrix that is chosen.
        (
            "vec4 skin(mat4 m, vec4 v, float w) { vec4 x = m * v; vec4 y = m * x.wzyx; return (x * y + v.yxwz) * w + k * w * w; }",
            "gl_Position = skin(bones[int(a.x)], b, a.w) + skin(bones[int(a.y)], b, b.w);
            color = skin(bones[int(b.x)], a, b.z); texcoord0 = a.xy;",
        ),
        // A matrix that is computed, and changed.
        (
            "void turn(inout mat3 m, float s) { m[0] = m[0] * s + m[1].yzx; m[1] = m[1] * m[2] + m[0]; m[2] = m[2].zxy * s - m[1];
                m[0] *= m[1]; m[2] += m[0].zxy * s; m[1] = max(m[1] * s, m[2].yzx); m[0] = min(m[0], m[1].zxy) - m[2]; }",
            "mat3 m = mat3(a.xyz, b.xyz, a.zyx * 0.5); turn(m, 2.0); turn(m, a.w); turn(m, b.w); turn(m, 0.5); turn(m, a.w);
            gl_Position = vec4(m * k.xyz, 1.0); color = vec4(m[0], m[2].y); texcoord0 = m[1].xy;",
        ),
        // Integers in and out.
        (
            "int next(int i, vec4 v) { float d = dot(v.wzyx * v - k, max(v, k)); return clamp(i * 2 + int(clamp(d * d - v.x, 0.0, 3.0)), 0, 3); }",
            "int i = next(1, a); int j = next(i, b); int l = next(j, a + b);
            gl_Position = bones[i] * a; color = bones[j] * b + float(l); texcoord0 = vec2(i, l);",
        ),
        // A truth value out.
        (
            "bool inside(vec4 v, float r) { float d = dot(v - k, v - k); return d < r && v.x > 0.0 || v.y * d > r; }",
            "bool p = inside(a, 2.0), q = inside(b, 9.0), r = inside(a * b, 4.0);
            gl_Position = p ? a : b; color = vec4(p, q, r, q && r); if (q) texcoord0 = a.xy; else texcoord0 = b.xy;",
        ),
        // A structure with all of it, changed and given back.
        (
            "Ray march(Ray r, float t) { r.from += r.dir * t; r.hit = dot(r.from, k.xyz) > t; r.dir = normalize(r.dir + r.from.zxy); return r; }",
            "Ray r; r.from = a.xyz; r.dir = b.xyz; r.hit = false;
            r = march(r, 1.0); r = march(r, 2.0); r = march(r, a.w); r = march(r, b.w); r = march(r, 3.0); r = march(r, b.w);
            gl_Position = vec4(r.from, 1.0); color = vec4(r.dir, r.hit ? 1.0 : 0.0); texcoord0 = r.from.zz;",
        ),
        // A variable of the module, also passed as an argument, and an array.
        (
            "void add(inout vec4 v, in vec3 w[2]) { sum += v * w[0].x + k; v = v.wxyz * w[1].y - sum;
                sum = max(sum, v) * w[1].x; v = min(v.yzwx, sum) * w[0].y + v; sum.xy += v.zw * w[1].z; }",
            "sum = vec4(0.5); vec3 w[2]; w[0] = a.xyz; w[1] = b.xyz; vec4 v = a;
            add(v, w); add(v, w); w[0] = v.xyz; add(v, w); add(v, w); w[1] = v.zxy; add(v, w); add(v, w);
            gl_Position = v; color = sum; texcoord0 = sum.xy;",
        ),
    ];
    let (mut calls, mut some) = (0, 0);
    for (n, (function, body)) in cases.iter().enumerate() {
        let text = format!("{head}\n{function}\nvoid main() {{ {body} }}");
        let m = glsl("s.vert", &text, FrontOptions::default());
        retroshade::ir::verify(&m).unwrap();
        assert_eq!(m.functions.len(), 2, "{function}");
        let options = FrontOptions { stage: Some(Stage::Vertex), ..FrontOptions::default() };
        let inlined = retroshade::frontend::glsl("s.vert", &text, &options).unwrap();
        for seed in 0..4 {
            let env = random_env(&m, 24, 8, &mut Rng::new(seed));
            let run = |m: &Module| retroshade::ir::interp::run(m, &env, &retroshade::ir::Reference).unwrap();
            let (x, y) = (run(&m), run(&inlined));
            assert_eq!(format!("{:?}", x.invocations), format!("{:?}", y.invocations), "{function}");
            match diff_with(retroshade_pica::isa(), &m, &env, &Options::default()) {
                Ok(Verdict::Agrees { .. }) => {}
                other => panic!("{function}: {other:?}"),
            }
        }
        let (kept, flat) = (compile(&m), compile(&inlined));
        println!("case {n}: {} words, inlined by the front end {}", kept.stats.instructions, flat.stats.instructions);
        assert!(kept.stats.instructions <= flat.stats.instructions, "{function}\n{}\n{}", kept.asm, flat.asm);
        calls += u32::from(kept.legal.functions.len() > 1);
        for name in ["call p_", "call words_"] {
            some += u32::from(kept.asm.contains(name));
        }
    }
    // Equal sequences are shared without being functions, too; what counts is the number of words.
    assert!(calls >= 6 && some as usize >= cases.len() - 2, "{calls} {some}");
}

const VERTEX: &str = "#version 450
    layout(location = 0) in vec4 p;
    layout(location = 2) out vec4 color;
    layout(location = 9) out vec2 size;
    void main() { gl_Position = p; color = p.wzyx; size = p.xy; }";

/// A program that is too long where its functions are inlined fits where all of them stay procedures.
#[test]
fn what_is_too_long_in_its_callers_stays_whole() {
    let swizzles = ["wzyx", "yxzw", "zzxy", "xyzw", "wwyz", "xxyy"];
    let functions: String = (0..6)
        .map(|i| {
            format!(
                "vec4 f{i}(vec4 p, vec4 q) {{ vec4 r = p * {}.0 + q.{}; if (r.x > 0.0) return r * w[{i}];
                for (int k = 0; k < {}; k++) r = sin(r) * w[k] + normalize(q); return pow(abs(r), p); }}\n",
                i + 1,
                swizzles[i],
                i + 2
            )
        })
        .collect();
    let calls: String = (0..24).map(|i| format!("x = f{}(x, y); y = f{}(y, x);\n", i % 6, (i + 1) % 6)).collect();
    let text = format!(
        "#version 450
        layout(location = 0) in vec4 a; layout(location = 1) in vec4 b;
        uniform vec4 w[16];
        layout(location = 2) out vec4 color;
        {functions}
        void main() {{ gl_Position = a; vec4 x = a, y = b; {calls} color = x + y; }}"
    );
    let s = compile(&glsl("a.vert", &text, FrontOptions::default()));
    assert!(s.stats.instructions < 350, "{}", s.stats.instructions);
}

/// What shares a register has a macro for its components, and nothing else has: x is the last member of a `C3D_FVec`.
/// Without `--pack-uniforms` nothing shares, members of an array of structures included.
#[test]
fn what_shares_a_register_is_set_by_component() {
    let text = "#version 450
        layout(location = 0) in vec4 p;
        layout(std140, binding = 0) uniform U { float time; vec2 scroll; vec4 tint; };
        struct Light { vec3 towards; float power; };
        struct Bone { mat4x3 m; vec3 at; float weight; vec2 uv; bool on; };
        uniform Light lights[2];
        uniform Bone bones[3];
        uniform vec4 one;
        void main() {
            gl_Position = p * time + scroll.xyxy * tint + one;
            for (int n = 0; n < 2; ++n) gl_Position.xyz += lights[n].towards * lights[n].power;
            for (int n = 0; n < 3; ++n)
                if (bones[n].on) gl_Position.xyz += bones[n].m * p * bones[n].weight + bones[n].at + bones[int(p.x)].uv.xyx;
        }";
    let m = glsl("a.vert", text, FrontOptions::default());
    let isa = retroshade_pica::isa();
    let compiled = |pack_uniforms| {
        let options = Options { pack_uniforms, ..Options::default() };
        let env = random_env(&m, 24, 8, &mut Rng::new(3));
        assert!(matches!(diff_with(isa, &m, &env, &options), Ok(Verdict::Agrees { .. })), "packed: {pack_uniforms}");
        isa.compile(&m, &options).unwrap()
    };
    let (apart, packed) = (compiled(false), compiled(true));
    let lines = |s: &CompiledShader| {
        let text = String::from_utf8(s.extra["header"].clone()).unwrap();
        let mut found = text.lines().filter(|l| l.contains("_FCOMP_")).map(str::to_string).collect::<Vec<_>>();
        found.retain(|l| !l.contains("bones"));
        found.sort();
        found
    };
    let want = [
        "#define VSH_FCOMP_lights_0__power(_n) c[0-(_n)]",
        "#define VSH_FCOMP_lights_0__towards(_n) c[3-(_n)]",
        "#define VSH_FCOMP_lights_1__power(_n) c[0-(_n)]",
        "#define VSH_FCOMP_lights_1__towards(_n) c[3-(_n)]",
        "#define VSH_FCOMP_scroll(_n) c[1-(_n)]",
        "#define VSH_FCOMP_time(_n) c[3-(_n)]",
    ];
    assert_eq!((lines(&apart), lines(&packed)), (Vec::new(), want.map(str::to_string).to_vec()));
    // The table says the same, and the text gives the file again, whatever lies over what.
    let names = ["time", "tint", "lights[1].power", "bones[2].m", "bones[0].on", "one"];
    for (s, shared) in [(&apart, false), (&packed, true)] {
        let all = &Shbin::read(&s.container).unwrap().executables[0].uniforms;
        assert!(names.iter().all(|n| all.iter().any(|u| u.name == *n)), "{all:?}");
        let overlap = all.iter().enumerate().any(|(n, a)| all[..n].iter().any(|b| a.first <= b.last && b.first <= a.last));
        assert_eq!(overlap, shared, "{all:?}");
        let text = isa.disassemble(&s.container, &Default::default()).unwrap();
        let back = isa.assemble(&text, &Default::default()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(back.container.unwrap(), s.container, "{text}");
    }
}

/// Rows are registers with `--pack-uniforms`, too: matrices that std140 has no room for lie behind their block.
#[test]
fn packed_matrices_lie_in_rows() {
    let text = "#version 450
        layout(location = 0) in vec4 p;
        layout(std140, binding = 0) uniform U { mat3x4 tex; mat2x3 a; vec4 tint; mat4x3 w; mat4x2 b; vec3 l; float f; mat2x4 many[2]; } u;
        struct S { mat3x4 m; float f; };
        uniform S s[2];
        layout(location = 2) out vec4 c; layout(location = 8) out vec3 v; layout(location = 1) out vec4 q;
        void main() {
            gl_Position = p + u.many[1] * p.xy + s[int(p.w)].m * p.yzw * s[1].f;
            c = u.tex * p.xyz + u.tint; v = u.a * p.xy; q = vec4(u.w * p, u.f) + vec4(u.b * p, u.l.xy);
        }";
    let m = glsl("a.vert", text, FrontOptions::default());
    let isa = retroshade_pica::isa();
    for pack_uniforms in [false, true] {
        let options = Options { pack_uniforms, ..Options::default() };
        let env = random_env(&m, 24, 8, &mut Rng::new(3));
        assert!(matches!(diff_with(isa, &m, &env, &options), Ok(Verdict::Agrees { .. })), "packed: {pack_uniforms}");
        let s = isa.compile(&m, &options).unwrap();
        let all = &Shbin::read(&s.container).unwrap().executables[0].uniforms;
        // As many registers as rows.
        for (name, rows) in [("tex", 4), ("a", 3), ("w", 3), ("b", 2), ("many", 8), ("s[0].m", 4), ("s[1].m", 4)] {
            let u = all.iter().find(|u| u.name == name || u.name == format!("u.{name}")).unwrap_or_else(|| panic!("{name}: {all:?}"));
            assert_eq!(u.last - u.first + 1, rows, "{name}, packed: {pack_uniforms}");
        }
    }
}

fn geometry(inputs: &str, body: &str) -> CompiledShader {
    let text = format!(
        "#version 450
        layout(points) in;
        layout(triangle_strip, max_vertices = 3) out;
        {inputs}
        layout(location = 2) out vec4 c;
        void main() {{ for (int i = 0; i < 3; i++) {{ gl_Position = gl_in[0].gl_Position + float(i); c = {body}; EmitVertex(); }} }}"
    );
    compile(&glsl("g.geom", &text, FrontOptions::default()))
}

#[test]
fn programs_of_one_file_must_fit() {
    let v = compile(&glsl("v.vert", VERTEX, FrontOptions::default()));
    let link = |g: CompiledShader| retroshade_pica::isa().link(&[v.clone(), g]);
    let (color, size) = ("layout(location = 2) in vec4 color[];", "layout(location = 9) in vec2 size[];");
    let whole = link(geometry(&format!("{size} {color}"), "color[0] * size[0].x")).unwrap();
    assert_eq!(Shbin::read(&whole).unwrap().executables.len(), 2);
    let message = |g: CompiledShader| match link(g) {
        Err(CompileError::Invalid(d)) => d[0].to_string(),
        other => panic!("{other:?}"),
    };
    let surplus = message(geometry(color, "color[0]"));
    assert!(surplus.contains("P0107") && surplus.contains("writes `size` (location 9)"), "{surplus}");
    let missing = message(geometry(&format!("{size} {color} layout(location = 5) in vec2 t[];"), "color[0] + t[0].x * size[0].y"));
    assert!(missing.contains("P0107") && missing.contains("reads `t` (location 5)"), "{missing}");
    let wide = message(geometry(&format!("layout(location = 9) in vec4 size[]; {color}"), "color[0] + size[0]"));
    assert!(wide.contains("4 components of `size`"), "{wide}");
}

#[test]
fn outputs_that_nothing_will_see_are_reported() {
    let text = "#version 330
        in vec4 p;
        out vec3 fragNormal;
        out vec4 v_color;
        void main() { fragNormal = p.xyz; v_color = p; gl_Position = p; }";
    let m = glsl("n.vert", text, FrontOptions::default());
    let isa = retroshade_pica::isa();
    let found = isa.warnings(std::slice::from_ref(&m), &Options::default());
    assert!(found.len() == 1 && found[0].1.code == "P0109" && found[0].1.message.contains("`fragNormal`"), "{found:?}");
    // One component has one output, and the machine counts seven of them.
    let text = "#version 450
        layout(location = 0) in vec4 p;
        layout(location = 1) out vec4 n; layout(location = 2) out vec4 c; layout(location = 3) out vec3 t; layout(location = 4) out float w;
        layout(location = 5) out vec2 u; layout(location = 6) out vec2 v; layout(location = 9) out vec3 more;
        void main() { gl_Position = n = c = p; t = more = p.xyz; w = p.w; u = v = p.xy; }";
    let eight = glsl("e.vert", text, FrontOptions::default());
    let told: Vec<&str> = isa.warnings(std::slice::from_ref(&eight), &Options::default()).iter().map(|w| w.1.code).collect();
    assert_eq!(told, ["P0109", "P0302"]);
    let asm = isa.compile(&eight, &Options::default()).unwrap().asm;
    assert!(asm.contains("texcoord0 o3.xy") && asm.matches("texcoord0w").count() == 1, "{asm}");
    let meant = text.replace("location = 9", "location = 8");
    let refused = isa.compile(&glsl("m.vert", &meant, FrontOptions::default()), &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("P0302") && refused.contains('8') && refused.contains('7'), "{refused}");
    // A geometry program may read it.
    let g = glsl(
        "g.geom",
        "#version 330\nlayout(points) in; layout(triangle_strip, max_vertices = 3) out; in vec3 fragNormal[]; out vec4 v_color;
        void main() { gl_Position = gl_in[0].gl_Position; v_color = vec4(fragNormal[0], 1.0); EmitVertex(); EndPrimitive(); }",
        FrontOptions::default(),
    );
    assert_eq!(isa.warnings(&[m, g], &Options::default()), vec![]);
}

/// `n` products and sums with swizzles of their own, all lanes alive.
fn mads(n: usize, from: usize) -> String {
    let mut orders: Vec<String> = Vec::new();
    for k in 0..256 {
        let lanes = [k % 4, k / 4 % 4, k / 16 % 4, k / 64];
        if (0..4).all(|l| lanes.contains(&l)) {
            orders.push(lanes.iter().map(|l| b"xyzw"[*l] as char).collect());
        }
    }
    let order = |k: usize| &orders[k % orders.len()];
    (from..from + n).map(|k| format!("s = s.{} * t.{} + t.{};\n", order(k), order(5 * k + 1 + k / 24), order(7 * k + 2))).collect()
}

#[test]
fn programs_of_one_file_share_the_entries_of_mad() {
    let v = VERTEX.replace("gl_Position = p;", &format!("vec4 s = p, t = p.yzwx * p.x; {} gl_Position = s;", mads(23, 0)));
    let v = compile(&glsl("v.vert", &v, FrontOptions::default()));
    let body = format!(
        "#version 450
        layout(points) in;
        layout(triangle_strip, max_vertices = 3) out;
        layout(location = 2) in vec4 color[];
        layout(location = 9) in vec2 size[];
        layout(location = 2) out vec4 c;
        void main() {{
            vec4 t = color[0], s = gl_in[0].gl_Position * size[0].x;
            {}
            for (int i = 0; i < 3; i++) {{ gl_Position = s + float(i); c = t; EmitVertex(); }}
        }}",
        mads(23, 24)
    );
    let g = compile(&glsl("g.geom", &body, FrontOptions::default()));
    let words = v.stats.instructions + g.stats.instructions;
    let joined = retroshade_pica::isa().link(&[v, g]).unwrap();
    let bin = Shbin::read(&joined).unwrap();
    // Some products and sums were taken apart, and the second program still starts where the first one ends.
    assert!(bin.code.len() as u32 > words, "{} words, {words} apart", bin.code.len());
    assert_eq!(bin.executables[1].entry, bin.executables[0].end);
    assert_eq!(retroshade_pica::isa().lint(&joined, &Default::default()).unwrap(), vec![]);
}
