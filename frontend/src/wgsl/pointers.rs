//! Pointers into workgroup memory, storage and uniforms as arguments of functions. WGSL has them; naga's validator takes pointers to
//! variables of functions and private ones only. So naga sees another program, and the writer knows better: within the function a
//! variable of the module, with the address space and type that the parameter leads to, stands for the parameter; at the call a private
//! variable stands for the argument, the expression that has its name.

use naga::valid::{FunctionError, ValidationError};
use naga::{
    AddressSpace, Block, Expression, Function, GlobalVariable, Handle, Module, ResourceBinding, Scalar, Statement, Type, TypeInner,
};
use naga::{Span, WithSpan};
use rustc_hash::{FxHashMap, FxHashSet};

/// The bind group of variables that stand for parameters: no program has it.
const GROUP: u32 = u32::MAX;

/// Variables that stand for something else, by name. Their names are none that a program can give.
#[derive(Debug, Default)]
pub(super) struct StandIns {
    /// For parameters, and which.
    parameters: FxHashMap<String, u32>,
    /// For arguments.
    arguments: FxHashSet<String>,
}

impl StandIns {
    /// Which parameter of the function it is read in a variable stands for.
    pub(super) fn parameter(&self, g: &GlobalVariable) -> Option<u32> {
        self.parameters.get(g.name.as_deref()?).copied()
    }

    /// Whether there is no such variable.
    pub(super) fn has(&self, g: &GlobalVariable) -> bool {
        g.name.as_ref().is_some_and(|n| self.parameters.contains_key(n) || self.arguments.contains(n))
    }

    /// The argument that a variable stands for in a call.
    pub(super) fn argument(&self, module: &Module, func: &Function, given: Handle<Expression>) -> Option<Handle<Expression>> {
        let Expression::GlobalVariable(g) = func.expressions[given] else { return None };
        let name = module.global_variables[g].name.as_ref().filter(|n| self.arguments.contains(*n))?;
        func.named_expressions.iter().find(|(_, n)| *n == name).map(|(h, _)| *h)
    }
}

/// A module in which what an error says about such a pointer does not arise.
pub(super) fn replaced(e: &WithSpan<ValidationError>, module: &Module) -> Option<(Module, StandIns)> {
    let ValidationError::Function { source: FunctionError::InvalidArgumentPointerSpace { .. }, .. } = e.as_inner() else { return None };
    let mut out = module.clone();
    let number = out.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    let pointer = Type { name: None, inner: TypeInner::Pointer { base: number, space: AddressSpace::Private } };
    let pointer = out.types.insert(pointer, Span::UNDEFINED);
    let mut stand_ins = StandIns::default();
    let mut replaced: FxHashSet<(Handle<Function>, usize)> = FxHashSet::default();
    for (f, func) in out.functions.iter_mut() {
        for (k, a) in func.arguments.iter_mut().enumerate() {
            let TypeInner::Pointer { base, space } = module.types[a.ty].inner else { continue };
            let binding = match space {
                AddressSpace::Storage { .. } | AddressSpace::Uniform => {
                    Some(ResourceBinding { group: GROUP, binding: replaced.len() as u32 })
                }
                AddressSpace::WorkGroup => None,
                _ => continue,
            };
            let name = format!("parameter {}", replaced.len());
            let variable = GlobalVariable { name: Some(name.clone()), space, binding, ty: base, ..private(number) };
            let variable = out.global_variables.append(variable, Span::UNDEFINED);
            for (_, e) in func.expressions.iter_mut().filter(|(_, e)| matches!(e, Expression::FunctionArgument(n) if *n as usize == k)) {
                *e = Expression::GlobalVariable(variable);
            }
            a.ty = pointer;
            stand_ins.parameters.insert(name, k as u32);
            replaced.insert((f, k));
        }
    }
    let mut variables = |name: String| out.global_variables.append(GlobalVariable { name: Some(name), ..private(number) }, Span::UNDEFINED);
    let bodies = out.functions.iter_mut().map(|(_, f)| f).chain(out.entry_points.iter_mut().map(|e| &mut e.function));
    for func in bodies {
        let mut given: FxHashMap<Handle<Expression>, Handle<Expression>> = FxHashMap::default();
        let mut body = std::mem::take(&mut func.body);
        each_call(&mut body, &mut |callee, arguments| {
            for (_, a) in arguments.iter_mut().enumerate().filter(|(k, _)| replaced.contains(&(callee, *k))) {
                *a = *given.entry(*a).or_insert_with_key(|a| {
                    let name = format!("argument {}", stand_ins.arguments.len());
                    func.named_expressions.insert(*a, name.clone());
                    stand_ins.arguments.insert(name.clone());
                    func.expressions.append(Expression::GlobalVariable(variables(name)), Span::UNDEFINED)
                });
            }
        });
        func.body = body;
    }
    Some((out, stand_ins))
}

/// A private variable without a name.
fn private(ty: Handle<Type>) -> GlobalVariable {
    GlobalVariable { name: None, space: AddressSpace::Private, binding: None, ty, init: None, memory_decorations: Default::default() }
}

/// Visits the calls of a block.
fn each_call(block: &mut Block, visit: &mut dyn FnMut(Handle<Function>, &mut [Handle<Expression>])) {
    for s in block.iter_mut() {
        match s {
            Statement::Call { function, arguments, .. } => visit(*function, arguments),
            Statement::Block(b) => each_call(b, visit),
            Statement::If { accept, reject, .. } => [accept, reject].into_iter().for_each(|b| each_call(b, visit)),
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|c| each_call(&mut c.body, visit)),
            Statement::Loop { body, continuing, .. } => [body, continuing].into_iter().for_each(|b| each_call(b, visit)),
            _ => {}
        }
    }
}
