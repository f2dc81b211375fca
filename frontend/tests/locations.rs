//! Inputs and outputs that share a location (`component`): one declaration each. Answers are worked out by hand.

mod common;

use common::{floats, from_glsl, run, words};
use retroshade_ir::Stage;
use retroshade_ir::module::{Binding, Interpolation};

#[test]
fn inputs_and_outputs_share_locations() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 450
layout(location = 0, component = 3) in float c;
layout(location = 0) in vec2 a;
layout(location = 1, component = 1) in vec3 b;
layout(location = 2, component = 1) flat out int d;
layout(location = 2, component = 3) flat out int e;
layout(location = 3) out vec2 f;
layout(location = 3, component = 2) out vec2 g[2];
void main() {
    d = int(a.x); e = int(c); f = b.xy; g[0] = b.yz; g[1] = a;
    gl_Position = vec4(a, b.z, c);
}
",
    );
    let inputs: Vec<(&str, String, Binding)> = m.inputs.values().map(|d| (d.name.as_str(), d.ty.to_string(), d.binding)).collect();
    assert_eq!(inputs, [("c_a", "f32x4".to_string(), Binding::Location(0)), ("b", "f32x4".to_string(), Binding::Location(1))]);
    let outputs: Vec<(&str, String, Binding)> = m.outputs.values().map(|d| (d.name.as_str(), d.ty.to_string(), d.binding)).collect();
    let at = |l| Binding::Location(l);
    assert!(outputs.contains(&("d_e", "i32x4".to_string(), at(2))), "{outputs:?}");
    assert!(outputs.contains(&("f_g", "f32x4".to_string(), at(3))) && outputs.contains(&("g", "f32x4".to_string(), at(4))), "{outputs:?}");
    let d = m.outputs.values().find(|d| d.binding == at(2));
    assert!(d.is_some_and(|d| d.interpolation == Interpolation::Flat));
    let o = run(&m, vec![words(&[1.0, 2.0, 9.0, 4.0]), words(&[9.0, 5.0, 6.0, 7.0])], Vec::new());
    let of = |l| m.outputs.values().zip(&o).find(|(d, _)| d.binding == at(l)).map(|(_, o)| o.clone()).unwrap_or_default();
    assert_eq!(of(2), [0, 1, 0, 4]);
    assert_eq!(floats(&of(3)), [5.0, 6.0, 6.0, 7.0]);
    assert_eq!(floats(&of(4)), [0.0, 0.0, 1.0, 2.0]);
}

#[test]
fn what_is_not_written_leaves_the_others_alone() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
layout(location = 0) in vec4 x;
layout(location = 0, component = 1) out vec2 mid;
layout(location = 0, component = 3) out float alpha;
void main() { if (x.w > 0.5) alpha = x.x; mid = x.yz; }
",
    );
    let o = run(&m, vec![words(&[1.0, 2.0, 3.0, 4.0])], Vec::new());
    assert_eq!(floats(&o[0]), [0.0, 2.0, 3.0, 1.0]);
}

#[test]
fn the_second_colour_of_a_target_is_apart_from_the_first() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
layout(location = 0) in vec4 x;
layout(location = 0, index = 0, component = 0) out vec2 a;
layout(location = 0, index = 0, component = 2) out vec2 b;
layout(location = 0, index = 1, component = 1) out vec3 c;
void main() { a = x.xy; b = x.zw; c = x.wzy; }
",
    );
    let colours: Vec<(u8, u8)> = m.outputs.values().map(|d| (d.blend_source, d.ty.lanes)).collect();
    assert_eq!(colours, [(0, 4), (1, 4)]);
    let o = run(&m, vec![words(&[1.0, 2.0, 3.0, 4.0])], Vec::new());
    assert_eq!([floats(&o[0]), floats(&o[1])], [[1.0, 2.0, 3.0, 4.0], [0.0, 4.0, 3.0, 2.0]]);
}
