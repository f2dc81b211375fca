//! Bind files: what is read, what is refused and with which words, what is written; and the reflection that goes with it.

use retroshade_ir::{Module, Reference, interp, text};
use retroshade_lower::bind::{env_from_json, env_to_json, parse_env, result_to_json};
use retroshade_lower::reflect::Reflection;
use serde_json::{Value, json};

fn module(source: &str) -> Module {
    text::parse("test.ir", source).unwrap_or_else(|e| panic!("{e}"))
}

const VERTEX: &str = r#"
shader vertex "main"
input %pos : f32x4 @location(0)
input %id : i32 @vertex_index @type("u32")
input %unused : f32 @location(5)
output %clip : f32x4 @position
output %n : i32 @location(0) @type("u32")
output %b : i1 @location(1)
output %h : f16 @location(2)
output %list : f32x2[2] @location(3)
uniform %mvp : mat4x3 @binding(0)
uniform %"lights[].pos" : f32x3[2:32] @group(1) @binding(0) @offset(64)
uniform %"lights[].m" : mat2x2[2:64] @group(1) @binding(0) @offset(256)
uniform %flag : i32 @binding(3) @type("bool")
texture %tex : 2d f32 @binding(1)
block0:
    v0 = input.f32x4 %pos
    v1 = input.i32 %id
    v2 = uniform.f32x3 %mvp[1]
    v3 = uniform.f32x3 %"lights[].pos"[2]
    v4 = extract v3, 0
    v5 = insert v0, v4, 1
    output %clip, v5
    v6 = iconst.i32 -1
    v7 = iadd v1, v6
    output %n, v7
    v8 = uniform.i32 %flag
    v9 = iconst.i32 1
    v10 = icmp eq v8, v9
    output %b, v10
    v11 = fconst.f16 0.5
    output %h, v11
    v12 = fconst.f32x2 [nan, -inf]
    output %list[1], v12
    v13 = uniform.f32x2 %"lights[].m"[5]
    output %list, v13
    return
"#;

fn good() -> Value {
    json!({
        "invocations": [{ "inputs": { "pos": [0.1, "inf", -3, 1e-7], "vertex_index": 0 } }],
        "uniforms": {
            "mvp": [[1,0,0],[0,1,0],[0,0,1],[0,0,0]],
            "lights[0].pos": [1,2,3], "lights[1].pos": [4,5,6],
            "lights[0].m": [[1,2],[3,4]], "lights[1].m": [[5,6],[7,8]],
            "flag": true
        }
    })
}

#[test]
fn values_pass_through() {
    let m = module(VERTEX);
    let env = env_from_json(&m, &good()).expect("binds");
    assert_eq!(env.uniforms[1], [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_bits));
    let again = env_from_json(&m, &env_to_json(&m, &env)).expect("binds again");
    assert_eq!(env, again);
    let r = interp::run(&m, &env, &Reference).expect("runs");
    assert_eq!(
        result_to_json(&m, &r).to_string(),
        concat!(
            r#"{"invocations":[{"outputs":{"position":[0.1,4.0,-3.0,1e-7],"n":4294967295,"b":true,"h":0.5,"#,
            r#""list":[[7.0,8.0],["nan","-inf"]]},"discarded":false}]}"#
        )
    );
}

#[test]
fn errors_name_what_is_wrong() {
    let m = module(VERTEX);
    let refuse = |change: &dyn Fn(&mut Value), what: &str| {
        let mut file = good();
        change(&mut file);
        let e = env_from_json(&m, &file).expect_err("refused").to_string();
        assert!(e.contains(what), "{e:?} does not contain {what:?}");
    };
    refuse(&|f| f["uniforms"]["mvp"] = json!([1, 2]), "uniform `mvp` has type mat4x3 and needs 12 values, got 2");
    refuse(&|f| drop(f["uniforms"].as_object_mut().map(|o| o.remove("lights[1].pos"))), "no uniform `lights[1].pos`");
    refuse(&|f| f["invocations"][0]["inputs"] = json!({}), "no input `pos` for invocation 0");
    refuse(
        &|f| f["invocations"][0]["inputs"]["pos"][0] = json!("x"),
        "input `pos` of invocation 0 has type f32x4: expected a number, got \"x\"",
    );
    refuse(&|f| f["invocations"][0]["inputs"]["vertex_index"] = json!(0.5), "expected an integer, got 0.5");
    refuse(&|f| drop(f.as_object_mut().map(|o| o.remove("invocations"))), "no `invocations`");
    refuse(&|f| f["uniforms"] = json!([]), "`uniforms` in the bind file must be an object");
    assert!(parse_env(&m, "{").expect_err("refused").to_string().contains("not JSON"));
    assert!(parse_env(&m, "[]").expect_err("refused").to_string().contains("must be a JSON object"));
    assert!(parse_env(&m, &("[".repeat(100_000))).is_err());
}

#[test]
fn reflection_lists_leaves() {
    let r = Reflection::from_module(&module(VERTEX));
    let uniforms: Vec<_> = r.uniforms.iter().map(|u| (u.name.as_str(), u.ty.as_str(), u.offset, u.used)).collect();
    assert_eq!(
        uniforms,
        [
            ("mvp", "mat4x3", 0, true),
            ("lights[0].pos", "f32x3", 64, true),
            ("lights[1].pos", "f32x3", 96, true),
            ("lights[0].m", "mat2x2", 256, true),
            ("lights[1].m", "mat2x2", 320, true),
            ("flag", "bool", 0, true),
        ]
    );
    assert_eq!(
        r.inputs.iter().map(|i| (i.name.as_str(), i.ty.as_str(), i.used)).collect::<Vec<_>>(),
        [("pos", "f32x4", true), ("vertex_index", "u32", true), ("unused", "f32", false)]
    );
    assert_eq!(r.outputs.iter().map(|i| i.ty.as_str()).collect::<Vec<_>>(), ["f32x4", "u32", "bool", "f16", "f32x2[2]"]);
    assert!(!r.textures[0].used);
}

#[test]
fn textures_and_geometry_and_storage() {
    let m = module(
        "shader fragment \"main\"\ninput %uv : f32x2 @location(0)\noutput %c : f32x4 @location(0)\ntexture %tex : 2d f32 @binding(1)\nblock0:\n    v0 = input.f32x2 %uv\n    v1 = tex.f32x4 sample %tex, v0\n    output %c, v1\n    return\n",
    );
    let uv = |x: f32| json!({ "inputs": { "uv": [x, 0.5] } });
    let file = json!({ "invocations": [uv(0.1), uv(0.6)], "textures": { "tex": { "size": [2, 1], "texels": [[1, 2, 3, 4], [5, 6]] } } });
    let env = env_from_json(&m, &file).expect("binds");
    let r = result_to_json(&m, &interp::run(&m, &env, &Reference).expect("runs"));
    assert_eq!(r["invocations"][1]["outputs"]["c"], json!([5.0, 6.0, 0.0, 1.0]));
    let short = json!({ "invocations": [], "textures": { "tex": { "size": [2, 2], "texels": [[1]] } } });
    assert_eq!(env_from_json(&m, &short).expect_err("refused").to_string(), "texture `tex` needs 4 texels, got 1");

    let m = module(
        "shader geometry \"main\"\ngeometry points -> line_strip max_vertices(2) invocations(1)\ninput %p : f32 @location(0)\noutput %q : f32 @location(0)\nblock0:\n    v0 = input.f32 %p\n    output %q, v0\n    emit_vertex\n    emit_vertex\n    return\n",
    );
    let env = env_from_json(&m, &json!({ "invocations": [{ "inputs": { "p": [7] } }] })).expect("binds");
    let r = result_to_json(&m, &interp::run(&m, &env, &Reference).expect("runs"));
    assert_eq!(r, json!({ "invocations": [{ "primitives": [[{ "q": 7.0 }, { "q": 7.0 }]], "discarded": false }] }));
    assert_eq!(Reflection::from_module(&m).inputs[0].ty, "f32[1]");

    let m = module(
        "shader compute \"main\"\nstorage %buf : struct(i32, f32) @binding(0) @type(\"S { n: u32, x: f32 }\")\nblock0:\n    v0 = storage_load.f32 %buf[1]\n    v1 = fadd v0, v0\n    storage_store %buf[1], v1\n    return\n",
    );
    let env = env_from_json(&m, &json!({ "storage": { "buf": [-1, 1.5] } })).expect("binds");
    assert_eq!(
        result_to_json(&m, &interp::run(&m, &env, &Reference).expect("runs")),
        json!({ "storage": { "buf": [4294967295u32, 3.0] } })
    );
}

#[test]
fn matrices_and_arrays_are_given_whole_or_by_their_elements() {
    let m = module(
        r#"
shader vertex "main"
input %"m[0]" : f32x2 @location(0)
input %"m[1]" : f32x2 @location(1)
output %clip : f32x4 @position
block0:
    v0 = input.f32x2 %"m[0]"
    v1 = input.f32x2 %"m[1]"
    v2 = shuffle v0, v1, [0, 1, 2, 3]
    output %clip, v2
    return
"#,
    );
    let of = |inputs: Value| parse_env(&m, &json!({ "invocations": [{ "inputs": inputs }] }).to_string());
    let whole = of(json!({ "m": [[1, 2], [3, 4]] })).expect("whole");
    let parts = of(json!({ "m[0]": [1, 2], "m[1]": [3, 4] })).expect("by elements");
    assert_eq!(whole.invocations[0].inputs, parts.invocations[0].inputs);
    assert!(of(json!({ "m": [[1, 2]] })).is_err_and(|e| e.to_string().contains("no input `m[1]`")));
    assert!(of(json!({ "n": [[1, 2], [3, 4]] })).is_err());
}
