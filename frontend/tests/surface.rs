//! What the reader keeps of a source's declarations for reflection: `spirv/surface.frag` by glslang, its offsets worked out by the rules of std140 and std430.
#![allow(clippy::unwrap_used)]

use retroshade_frontend::{FrontOptions, spirv};
use retroshade_ir::surface::{Block, BlockKind, BlockMember, SamplerPlace, Surface};

fn surface(defines: &[(&str, &str)]) -> Surface {
    let defines = defines.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let options = FrontOptions { defines, ..FrontOptions::default() };
    spirv("surface.spv", include_bytes!("spirv/surface.spv"), &options).unwrap_or_else(|e| panic!("{e}")).surface
}

fn block<'a>(s: &'a Surface, name: &str) -> &'a Block {
    s.blocks.iter().find(|b| b.name == name).unwrap()
}

fn member<'a>(all: &'a [BlockMember], name: &str) -> &'a BlockMember {
    all.iter().find(|m| m.name == name).unwrap()
}

/// Offset, size, stride of matrices.
fn places(m: &BlockMember) -> (u32, u32, Option<u32>) {
    (m.offset, m.size, m.matrix_stride)
}

#[test]
fn uniform_blocks() {
    let s = surface(&[]);
    let scene = block(&s, "Scene");
    assert_eq!((scene.kind, scene.instance.as_str(), scene.group, scene.binding, scene.size), (BlockKind::Uniform, "scene", 1, 2, 424));
    let m = |name| member(&scene.members, name);
    assert_eq!((m("near").ty.as_str(), places(m("near"))), ("f32", (0, 4, None)));
    assert_eq!((m("view").ty.as_str(), places(m("view"))), ("mat4x3", (16, 60, Some(16))));
    let lights = m("lights");
    assert_eq!((lights.ty.as_str(), lights.offset, lights.array.as_slice()), ("Light", 80, &[(2, 48)][..]));
    assert_eq!(places(member(&lights.members, "power")), (12, 4, None));
    assert_eq!(places(member(&lights.members, "turn")), (16, 28, Some(16)));
    let grid = m("grid");
    assert_eq!((grid.ty.as_str(), places(grid), grid.array.as_slice()), ("f32x2", (176, 184, None), &[(3, 64), (4, 16)][..]));
    assert_eq!((m("rows").ty.as_str(), m("rows").row_major, places(m("rows"))), ("mat2x4", true, (368, 56, Some(16))));
}

#[test]
fn buffers_and_push_constants() {
    let s = surface(&[]);
    let points = block(&s, "Points");
    assert_eq!((points.kind, points.instance.as_str(), points.binding, points.size), (BlockKind::Storage, "points", 5, 48));
    assert_eq!(member(&points.members, "first").array, [(2, 16)]);
    let rest = member(&points.members, "rest");
    assert_eq!((rest.offset, rest.size, rest.array.as_slice()), (48, 0, &[(0, 16)][..]));
    let push = block(&s, "Push");
    assert_eq!((push.kind, push.instance.as_str()), (BlockKind::Push, ""));
    assert_eq!(places(member(&push.members, "unread")), (16, 4, None));
}

#[test]
fn samplers_and_constants() {
    let s = surface(&[("COUNT", "1"), ("7", "0.25")]);
    assert_eq!(s.samplers, [SamplerPlace { name: "filtered".into(), group: 2, binding: 9 }]);
    let one = |name: &str| s.constants.iter().find(|c| c.name == name).unwrap();
    assert_eq!((one("COUNT").id, one("COUNT").ty.as_str(), one("COUNT").default, one("COUNT").value), (Some(3), "i32", Some(2), 1));
    let scale = one("SCALE");
    assert_eq!((scale.id, scale.ty.as_str(), scale.default, scale.value), (Some(7), "f32", Some(0.5f32.to_bits()), 0.25f32.to_bits()));
}
