//! Shows what a build script left: bytes and typed uniforms.

// A program rarely needs all of it.
#[allow(dead_code)]
mod pica {
    include!(concat!(env!("OUT_DIR"), "/textured_wgsl.rs"));
}
#[allow(dead_code)]
mod r700 {
    include!(concat!(env!("OUT_DIR"), "/r700/textured_wgsl.rs"));
}

/// What an engine would do with a uniform: the type of the value is checked by the compiler.
fn upload<T: core::fmt::Debug>(uniform: pica::Uniform<T>, value: &T) {
    println!("{} at {}: {value:?}", uniform.name, uniform.register);
}

fn main() {
    println!("PICA200: {} bytes of SHBIN, {} bytes of code", pica::CONTAINER.len(), pica::CODE.len());
    println!("R700: {} bytes of code", r700::CODE.len());
    assert_eq!(pica::CONTAINER.as_ptr() as usize % 4, 0);
    let identity = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    upload(pica::uniforms::MATRICES_PROJECTION, &identity);
    upload(pica::uniforms::MATRICES_MODELVIEW, &identity);
    println!("position comes from {}", pica::inputs::POSITION);
}
