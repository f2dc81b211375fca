//! Pointers into workgroup memory, storage and uniforms as arguments of functions. WGSL has them; naga's validator takes such pointers only where they
//! lead to private variables, which may do all that variables of these kinds may. So for naga the variables are private, and only the
//! declarations that are written know what they are in truth.

use naga::valid::{FunctionError, ValidationError};
use naga::{AddressSpace, GlobalVariable, Handle, Module, ResourceBinding, Type, TypeInner, WithSpan};
use rustc_hash::FxHashMap;

/// Variables that are private for naga, by name: where they are in truth, and what binds them.
#[derive(Debug, Default)]
pub(super) struct Shared(FxHashMap<String, (AddressSpace, Option<ResourceBinding>)>);

impl Shared {
    /// Where a variable is, and what binds it.
    pub(super) fn of<'a>(&'a self, g: &'a GlobalVariable) -> (AddressSpace, Option<&'a ResourceBinding>) {
        match g.name.as_ref().and_then(|n| self.0.get(n)) {
            Some((space, binding)) => (*space, binding.as_ref()),
            None => (g.space, g.binding.as_ref()),
        }
    }
}

/// A module in which what an error says about such a pointer does not arise.
pub(super) fn private(e: &WithSpan<ValidationError>, module: &Module) -> Option<(Module, Shared)> {
    let ValidationError::Function { source: FunctionError::InvalidArgumentPointerSpace { .. }, .. } = e.as_inner() else { return None };
    let of_kind = |s: AddressSpace| matches!(s, AddressSpace::WorkGroup | AddressSpace::Storage { .. } | AddressSpace::Uniform);
    let mut out = module.clone();
    // Types are told apart by their content: pointers that become the same are one.
    let mut one: FxHashMap<Handle<Type>, Handle<Type>> = FxHashMap::default();
    for h in module.types.iter().map(|(h, _)| h) {
        let mut ty = module.types[h].clone();
        match &mut ty.inner {
            TypeInner::Pointer { space, .. } | TypeInner::ValuePointer { space, .. } if of_kind(*space) => *space = AddressSpace::Private,
            _ => continue,
        }
        match out.types.get(&ty) {
            Some(same) => {
                one.insert(h, same);
            }
            None => out.types.replace(h, ty),
        }
    }
    // Only parameters are declared as pointers.
    for a in out.functions.iter_mut().flat_map(|(_, f)| &mut f.arguments) {
        a.ty = one.get(&a.ty).copied().unwrap_or(a.ty);
    }
    let mut shared = Shared::default();
    for (_, g) in out.global_variables.iter_mut().filter(|(_, g)| of_kind(g.space)) {
        shared.0.insert(g.name.clone()?, (g.space, g.binding.take()));
        g.space = AddressSpace::Private;
    }
    Some((out, shared))
}
