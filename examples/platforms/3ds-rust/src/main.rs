//! A triangle on the upper screen; START ends.
#![feature(allocator_api)]

use citro3d::math::{AspectRatio, ClipPlanes, Matrix4, Projection};
use citro3d::render::{ClearFlags, Target};
use citro3d::{attrib, buffer, shader, texenv};
use ctru::linear::LinearAllocator;
use ctru::prelude::*;
use ctru::services::gfx::{RawFrameBuffer, Screen};

/// What the build script made of `shaders/triangle.vert`.
#[allow(dead_code)]
mod triangle {
    include!(concat!(env!("OUT_DIR"), "/triangle_vert.rs"));
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Vertex {
    position: [f32; 3],
    shade: [f32; 3],
}

const VERTICES: [Vertex; 3] = [
    Vertex { position: [0.0, 0.6, -3.0], shade: [1.0, 0.4, 0.3] },
    Vertex { position: [-0.7, -0.6, -3.0], shade: [0.3, 1.0, 0.5] },
    Vertex { position: [0.7, -0.6, -3.0], shade: [0.3, 0.5, 1.0] },
];

fn main() {
    let gfx = Gfx::new().expect("the screens");
    let mut hid = Hid::new().expect("the keys");
    let apt = Apt::new().expect("the applet service");
    let mut instance = citro3d::Instance::new().expect("citro3d");

    let mut screen = gfx.top_screen.borrow_mut();
    let RawFrameBuffer { width, height, .. } = screen.raw_framebuffer();
    let mut target = instance.render_target(width, height, screen, None).expect("a target");

    // `CONTAINER` is aligned as the library wants it.
    let library = shader::Library::from_bytes(triangle::CONTAINER).expect("a program");
    let program = shader::Program::new(library.get(0).expect("a vertex program")).expect("a program");
    let projection = program.get_uniform(triangle::uniforms::PROJECTION.name).expect("a matrix");

    let mut vertices = Vec::with_capacity_in(VERTICES.len(), LinearAllocator);
    vertices.extend_from_slice(&VERTICES);
    let mut attributes = attrib::Info::new();
    for register in 0..2 {
        let register = attrib::Register::new(register).expect("a register");
        attributes.add_loader(register, attrib::Format::Float, 3).expect("an attribute");
    }
    let mut buffers = buffer::Info::new();
    let slice = buffers.add(&vertices, &attributes).expect("a buffer");

    let colour = texenv::TexEnv::new()
        .src(texenv::Mode::BOTH, texenv::Source::PrimaryColor, None, None)
        .func(texenv::Mode::BOTH, texenv::CombineFunc::Replace);
    let planes = ClipPlanes { near: 0.01, far: 100.0 };
    let matrix: Matrix4 = Projection::perspective(40.0_f32.to_radians(), AspectRatio::TopScreen, planes).into();

    while apt.main_loop() {
        hid.scan_input();
        if hid.keys_down().contains(KeyPad::START) {
            break;
        }
        instance.render_frame_with(|mut frame| {
            target.clear(ClearFlags::ALL, 0x20_30_40_FF, 0);
            frame.select_render_target(&mut target).expect("the target");
            frame.bind_program(&program);
            frame.bind_vertex_uniform(projection, &matrix);
            frame.set_texenvs(&[colour]);
            frame.set_attr_info(&attributes);
            frame.draw_arrays(buffer::Primitive::Triangles, slice);
            frame
        });
    }
}
