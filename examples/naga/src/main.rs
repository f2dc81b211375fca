//! From a naga module to a container.

use retroshade::{Options, frontend, source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }";
    let naga = naga::front::wgsl::parse_str(text)?;
    let pica = retroshade::target("pica").ok_or("no such target")?;
    let module = frontend::from_naga(&naga, "a.wgsl", text, &source::front_options(pica))?;
    let shader = pica.compile(&module, &Options::default())?;
    println!("{} bytes of SHBIN", shader.container.len());
    Ok(())
}
