//! Compiles the shader; `triangle_vert.rs` in `OUT_DIR` has its file and the registers.

fn main() -> Result<(), retroshade::build::BuildError> {
    retroshade::build::Shader::new("shaders/triangle.vert").target("pica").build()
}
