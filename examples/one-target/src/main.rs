//! Builds a program by hand, calls the methods that operations are named by, and compiles it for the one machine of this build.

use retroshade::ir::types::F32;
use retroshade::ir::{Binding, Builtin, IoDecl, MemRef, Stage};
use retroshade::{Builder, Module, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vec4 = F32.with_lanes(4);
    let mut module = Module::new("main", Stage::Vertex);
    let place = module.inputs.push(IoDecl::at_location("place", vec4, 0));
    let position = module.outputs.push(IoDecl::builtin(vec4, Builtin::Position));
    assert_eq!(module.outputs[position].binding, Binding::Builtin(Builtin::Position));
    let block = module.main_mut().add_block();
    let mut b = Builder::new(module.main_mut(), block);
    let p = b.load(vec4, MemRef::Input(place), 0, None);
    let two = b.fconst(vec4, 2.0);
    let twice = b.fmul(p, two)?;
    b.store(MemRef::Output(position), 0, twice, None);
    b.ret(&[]);
    assert_eq!(retroshade::targets().len(), 1);
    let shader = retroshade::target("pica").ok_or("no such target")?.compile(&module, &Options::default())?;
    println!("{} bytes\n{}", shader.code.len(), shader.asm);
    Ok(())
}
