//! Shows what the macro leaves: the same module as a build script's.

// A program rarely needs all of it.
#[allow(dead_code)]
mod twice {
    retroshade::include_shader!("twice.wgsl", target = "pica");
}

fn main() {
    assert!(twice::CONTAINER.starts_with(b"DVLB"));
    assert_eq!(twice::CONTAINER.as_ptr() as usize % 4, 0);
    let scale: twice::Uniform<[f32; 4]> = twice::uniforms::SCALE;
    println!("{} bytes of SHBIN, `{}` in {}", twice::CONTAINER.len(), scale.name, scale.register);
}
