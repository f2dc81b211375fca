//! Reflection of what a source declares besides its program: blocks, samplers, specialisation constants; strides and sizes of uniforms.
#![allow(clippy::unwrap_used)]

use retroshade_ir::module::{Dim, TexDim, TextureDecl, UniformDecl};
use retroshade_ir::surface::{Block, BlockKind, BlockMember, SamplerPlace, SpecConstant};
use retroshade_ir::types::F32;
use retroshade_ir::{Module, Span, Stage};
use retroshade_lower::reflect::Reflection;
use serde_json::{Value, json};

fn module() -> Module {
    let mut m = Module::new("main", Stage::Fragment);
    m.uniforms.push(UniformDecl {
        name: "bones".into(),
        ty: F32.with_lanes(3),
        dims: vec![Dim { count: 5, stride: 64 }, Dim { count: 4, stride: 16 }],
        matrix: true,
        rows: false,
        unit: 16,
        group: 1,
        binding: 2,
        offset: 32,
        range: None,
        source_type: None,
        size_of: None,
        span: Span::NONE,
    });
    m.textures.push(TextureDecl { sampler: Some("filtered".into()), ..TextureDecl::new("image", TexDim::D2, 0) });
    let member = BlockMember {
        name: "bones".into(),
        ty: "mat4x3".into(),
        offset: 32,
        size: 316,
        array: vec![(5, 64)],
        matrix_stride: Some(16),
        ..BlockMember::default()
    };
    m.surface.blocks.push(Block {
        kind: BlockKind::Push,
        name: "Skin".into(),
        group: 1,
        binding: 2,
        size: 348,
        members: vec![member],
        ..Block::default()
    });
    m.surface.samplers.push(SamplerPlace { name: "filtered".into(), group: 3, binding: 9 });
    m.surface.constants.push(SpecConstant {
        id: Some(7),
        name: "SCALE".into(),
        ty: "f32".into(),
        default: Some(0.5f32.to_bits()),
        value: 0.25f32.to_bits(),
    });
    m.surface.constants.push(SpecConstant { id: None, name: "lit".into(), ty: "bool".into(), default: None, value: 1 });
    m
}

#[test]
fn surfaces_are_written_and_read_back() {
    let r = Reflection::from_module(&module());
    let v = serde_json::to_value(&r).unwrap();
    assert_eq!(serde_json::from_value::<Reflection>(v.clone()).unwrap(), r);
    assert_eq!(v["version"], 1);
    let u = &v["uniforms"][0];
    assert_eq!((&u["type"], &u["offset"], &u["size"]), (&json!("mat4x3[5]"), &json!(32), &json!(4 * 64 + 3 * 16 + 12)));
    assert_eq!((&u["array_strides"], &u["matrix_stride"]), (&json!([64]), &json!(16)));
    assert_eq!((&u["block"], &u["push_constant"]), (&json!("Skin"), &json!(true)));
    let t = &v["textures"][0];
    assert_eq!((&t["sampler"], &t["sampler_group"], &t["sampler_binding"]), (&json!("filtered"), &json!(3), &json!(9)));
    let member =
        json!({"name": "bones", "type": "mat4x3", "offset": 32, "size": 316, "array": [5], "array_strides": [64], "matrix_stride": 16});
    assert_eq!(
        v["blocks"],
        json!([{"kind": "push_constant", "name": "Skin", "instance": "", "group": 1, "binding": 2, "size": 348, "members": [member]}])
    );
    assert_eq!(
        v["spec_constants"],
        json!([{"id": 7, "name": "SCALE", "type": "f32", "default": 0.5, "value": 0.25}, {"name": "lit", "type": "bool", "value": true}])
    );
}

/// A program without a surface is reflected as before: fields are added, and only where they say something.
#[test]
fn what_is_not_declared_is_not_written() {
    let mut m = module();
    m.surface = Default::default();
    let v: Value = serde_json::to_value(Reflection::from_module(&m)).unwrap();
    for absent in ["blocks", "spec_constants", "constants"] {
        assert_eq!(v.get(absent), None, "{absent}");
    }
    assert_eq!((v["uniforms"][0].get("block"), v["uniforms"][0].get("push_constant")), (None, None));
    assert_eq!(v["textures"][0].get("sampler_binding"), None);
}
