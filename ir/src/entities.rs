//! Entity references: small typed indices into the tables of a module or a function.

use cranelift_entity::entity_impl;

macro_rules! entities {
    ($($(#[$doc:meta])* $name:ident $prefix:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    )*};
}

entities! {
    /// An SSA value of a function.
    Value "v"
    /// An instruction of a function.
    Inst "inst"
    /// A basic block of a function.
    Block "block"
    /// A local array of a function.
    Local "local"
    /// A function of a module.
    FuncId "fn"
    /// An input declaration of a module.
    Input "input"
    /// An output declaration of a module.
    Output "output"
    /// A uniform declaration of a module.
    Uniform "uniform"
    /// A texture with its sampler, as declared by a module.
    Texture "texture"
    /// A storage buffer of a module.
    Storage "storage"
    /// A variable shared by a compute workgroup.
    Shared "shared"
}
