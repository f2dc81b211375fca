//! Functions and statements.

use super::builder::Id;
use super::interface::Outputs;
use super::writer::{R, Writer};
use naga::valid::FunctionInfo;
use naga::{AtomicFunction, Expression, Function, Handle, ScalarKind, Statement, SwitchValue, TypeInner};
use retroshade_ir::{Diagnostic, Span};
use spirv::{Decoration, Op, StorageClass};

/// Messages before a translation stops.
const MAX_ERRORS: usize = 20;

/// What an expression is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Val {
    /// A value, or a pointer.
    Id(Id),
    /// What a pointer into read-only memory leads to, to be loaded where it is needed.
    At(Id),
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy)]
struct Around {
    leave: Id,
    again: Option<Id>,
}

/// A function while it is written.
pub(super) struct Code<'m> {
    pub(super) func: &'m Function,
    pub(super) info: &'m FunctionInfo,
    pub(super) args: Vec<Val>,
    /// Expressions so far, by number.
    pub(super) values: Vec<Option<Val>>,
    locals: Vec<Id>,
    /// Where the entry point's result goes; none in other functions.
    pub(super) outputs: Option<Outputs>,
    around: Vec<Around>,
    line: Span,
    /// Whether a block is open.
    open: bool,
}

impl<'m> Code<'m> {
    pub(super) fn new(func: &'m Function, info: &'m FunctionInfo) -> Code<'m> {
        Code {
            func,
            info,
            args: Vec::new(),
            values: vec![None; func.expressions.len()],
            locals: Vec::new(),
            outputs: None,
            around: Vec::new(),
            line: Span::NONE,
            open: false,
        }
    }
}

impl<'m> Writer<'m> {
    /// What follows stands here; what has no place stands where the statement around it does.
    pub(super) fn line(&mut self, span: naga::Span) {
        let span = (self.spans)(span);
        if !span.is_none() && span != self.code.line {
            self.code.line = span;
            self.effect(Op::Line, &[self.out.file, span.start, span.end]);
        }
    }

    /// An error at the current place.
    pub(super) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.code.line, message)
    }

    /// Begins a block.
    pub(super) fn label(&mut self, id: Id) {
        self.effect(Op::Label, &[id]);
        self.code.open = true;
    }

    /// Ends a block.
    fn end(&mut self, op: Op, operands: &[u32]) {
        self.effect(op, operands);
        self.code.open = false;
    }

    /// Ends a block with a branch, unless it has ended.
    fn branch(&mut self, to: Id) {
        if self.code.open {
            self.end(Op::Branch, &[to]);
        }
    }

    /// Begins a function.
    pub(super) fn begin(&mut self, id: Id, result: Id, ty: Id) {
        self.effect(Op::Function, &[result, id, 0, ty]);
    }

    /// Writes a function that is called.
    pub(super) fn function(&mut self, id: Id) -> R<()> {
        let func = self.code.func;
        self.out.name(id, func.name.as_deref());
        let result = match &func.result {
            Some(r) => self.ty(r.ty),
            None => self.out.once(Op::TypeVoid, &[]),
        };
        let mut types = vec![result];
        types.extend(func.arguments.iter().map(|a| self.ty(a.ty)));
        let ty = self.out.once(Op::TypeFunction, &types);
        self.begin(id, result, ty);
        for (a, ty) in func.arguments.iter().zip(&types[1..]) {
            let arg = self.op(Op::FunctionParameter, *ty, &[]);
            self.out.name(arg, a.name.as_deref());
            self.code.args.push(Val::Id(arg));
        }
        let first = self.out.id();
        self.label(first);
        self.locals()?;
        self.body()
    }

    /// Declares the function's variables: what has no first value is zero.
    pub(super) fn locals(&mut self) -> R<()> {
        let func = self.code.func;
        let mut later = Vec::new();
        for (h, v) in func.local_variables.iter() {
            self.line(func.local_variables.get_span(h));
            let ty = self.ty(v.ty);
            let init = match v.init {
                Some(e) => self.constant_of(e)?,
                None => Some(self.zero(v.ty)),
            };
            let id = self.local(ty, init);
            self.out.name(id, v.name.as_deref());
            self.code.locals.push(id);
            later.extend(v.init.filter(|_| init.is_none()).map(|e| (id, e)));
        }
        for (id, e) in later {
            let value = self.value(e)?;
            self.effect(Op::Store, &[id, value]);
        }
        Ok(())
    }

    /// A variable of the function.
    fn local(&mut self, ty: Id, init: Option<Id>) -> Id {
        let ty = self.out.pointer(StorageClass::Function, ty);
        let mut operands = vec![StorageClass::Function as u32];
        operands.extend(init);
        self.op(Op::Variable, ty, &operands)
    }

    /// A variable for a value of which a computed index picks a part.
    pub(super) fn held(&mut self, ty: Id, value: Id) -> Id {
        let id = self.local(ty, None);
        self.out.decorate(id, Decoration::NonWritable, &[]);
        self.effect(Op::Store, &[id, value]);
        id
    }

    /// The variable behind an expression.
    pub(super) fn local_variable(&self, v: Handle<naga::LocalVariable>) -> R<Id> {
        self.code.locals.get(v.index()).copied().ok_or_else(|| self.error("F0130", "a variable that does not exist"))
    }

    /// The statements of a function, and its end.
    pub(super) fn body(&mut self) -> R<()> {
        let func = self.code.func;
        self.block(&func.body)?;
        if self.code.open {
            let op = if func.result.is_some() { Op::Unreachable } else { Op::Return };
            self.end(op, &[]);
        }
        self.effect(Op::FunctionEnd, &[]);
        Ok(())
    }

    /// Statements in order, until control ends.
    fn block(&mut self, block: &'m naga::Block) -> R<()> {
        for (s, span) in block.span_iter() {
            if !self.code.open {
                return Ok(());
            }
            self.line(*span);
            if let Err(d) = self.statement(s) {
                // What cannot be translated is reported, and work goes on with the next statement.
                self.report(d.clone());
                if self.diags.len() >= MAX_ERRORS {
                    return Err(d);
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, s: &'m Statement) -> R<()> {
        match s {
            Statement::Emit(range) => {
                let outer = self.code.line;
                for h in range.clone() {
                    self.line(self.code.func.expressions.get_span(h));
                    let v = self.eval(h)?;
                    self.code.values[h.index()] = Some(v);
                }
                if self.code.line != outer && !outer.is_none() {
                    self.code.line = outer;
                    self.effect(Op::Line, &[self.out.file, outer.start, outer.end]);
                }
            }
            Statement::Block(b) => self.block(b)?,
            Statement::If { condition, accept, reject } => self.if_(*condition, accept, reject)?,
            Statement::Switch { selector, cases } => self.switch(*selector, cases)?,
            Statement::Loop { body, continuing, break_if } => self.loop_(body, continuing, *break_if)?,
            Statement::Break => {
                if let Some(a) = self.code.around.last().copied() {
                    self.branch(a.leave);
                }
            }
            Statement::Continue => {
                if let Some(to) = self.code.around.iter().rev().find_map(|a| a.again) {
                    self.branch(to);
                }
            }
            Statement::Return { value } => self.return_(*value)?,
            Statement::Kill => self.end(Op::Kill, &[]),
            Statement::ControlBarrier(_) => self.barrier(),
            // Memory of one invocation is always in order, and other invocations only look after a control barrier.
            Statement::MemoryBarrier(_) => {}
            Statement::Store { pointer, value } => {
                let (p, v) = (self.pointer(*pointer)?, self.value(*value)?);
                if self.is_atomic(*pointer) {
                    let (scope, order) = (self.out.word(spirv::Scope::Device as u32), self.out.word(0));
                    self.effect(Op::AtomicStore, &[p, scope, order, v]);
                } else {
                    self.effect(Op::Store, &[p, v]);
                }
            }
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, fun, *value, *result)?,
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.barrier();
                let (p, ty) = (self.pointer(*pointer)?, self.type_of(*result));
                let v = self.op(Op::Load, ty, &[p]);
                self.barrier();
                self.code.values[result.index()] = Some(Val::Id(v));
            }
            Statement::Call { function, arguments, result } => {
                let callee = self.callee(*function);
                let ty = match &self.module.functions[*function].result {
                    Some(r) => self.ty(r.ty),
                    None => self.out.once(Op::TypeVoid, &[]),
                };
                let mut operands = vec![callee];
                for a in arguments {
                    operands.push(self.argument(*a)?);
                }
                let v = self.op(Op::FunctionCall, ty, &operands);
                if let Some(h) = result {
                    self.code.values[h.index()] = Some(Val::Id(v));
                }
            }
            Statement::ImageStore { image, coordinate, array_index, value } => {
                self.image_store(*image, *coordinate, *array_index, *value)?
            }
            Statement::ImageAtomic { image, coordinate, array_index, fun, value } => {
                self.image_atomic(*image, (*coordinate, *array_index), fun, *value)?
            }
            Statement::SubgroupBallot { result, predicate } => self.ballot(*result, *predicate)?,
            Statement::SubgroupGather { mode, argument, result } => self.gather(mode, *argument, *result)?,
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.collective(*op, *collective_op, *argument, *result)?
            }
            Statement::CooperativeStore { .. } => {
                return Err(self.error("F0133", "cooperative matrices exist on none of the machines"));
            }
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
                return Err(self.error("F0120", "ray tracing exists on none of the machines"));
            }
        }
        Ok(())
    }

    fn barrier(&mut self) {
        let (scope, order) = (self.out.word(spirv::Scope::Workgroup as u32), self.out.word(0));
        self.effect(Op::ControlBarrier, &[scope, scope, order]);
    }

    fn return_(&mut self, value: Option<Handle<Expression>>) -> R<()> {
        match value {
            None => self.end(Op::Return, &[]),
            Some(v) => {
                let v = self.value(v)?;
                if self.code.outputs.is_some() {
                    self.write_outputs(v);
                    self.end(Op::Return, &[]);
                } else {
                    self.end(Op::ReturnValue, &[v]);
                }
            }
        }
        Ok(())
    }

    fn if_(&mut self, condition: Handle<Expression>, accept: &'m naga::Block, reject: &'m naga::Block) -> R<()> {
        let c = self.value(condition)?;
        let merge = self.out.id();
        let [yes, no] = [accept, reject].map(|b| if b.is_empty() { merge } else { self.out.id() });
        self.effect(Op::SelectionMerge, &[merge, 0]);
        self.end(Op::BranchConditional, &[c, yes, no]);
        for (label, body) in [(yes, accept), (no, reject)] {
            if label != merge {
                self.label(label);
                self.block(body)?;
                self.branch(merge);
            }
        }
        self.label(merge);
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'m [naga::SwitchCase]) -> R<()> {
        let v = self.value(selector)?;
        let merge = self.out.id();
        // A case that only falls through begins where the next one does.
        let mut labels = vec![merge; cases.len()];
        for (n, case) in cases.iter().enumerate().rev() {
            labels[n] = match labels.get(n + 1) {
                Some(next) if case.fall_through && case.body.is_empty() => *next,
                _ => self.out.id(),
            };
        }
        let mut operands = vec![v, merge];
        for (case, label) in cases.iter().zip(&labels) {
            match case.value {
                SwitchValue::I32(k) => operands.extend([k as u32, *label]),
                SwitchValue::U32(k) => operands.extend([k, *label]),
                SwitchValue::Default => operands[1] = *label,
            }
        }
        self.effect(Op::SelectionMerge, &[merge, 0]);
        self.end(Op::Switch, &operands);
        self.code.around.push(Around { leave: merge, again: None });
        for (n, case) in cases.iter().enumerate() {
            let next = labels.get(n + 1).copied().unwrap_or(merge);
            if labels[n] == next {
                continue;
            }
            self.label(labels[n]);
            self.block(&case.body)?;
            self.branch(if case.fall_through { next } else { merge });
        }
        self.code.around.pop();
        self.label(merge);
        Ok(())
    }

    fn loop_(&mut self, body: &'m naga::Block, continuing: &'m naga::Block, break_if: Option<Handle<Expression>>) -> R<()> {
        let [header, first, again, leave] = [(); 4].map(|()| self.out.id());
        self.branch(header);
        self.label(header);
        self.effect(Op::LoopMerge, &[leave, again, 0]);
        self.end(Op::Branch, &[first]);
        self.code.around.push(Around { leave, again: Some(again) });
        self.label(first);
        self.block(body)?;
        self.branch(again);
        self.label(again);
        self.block(continuing)?;
        self.code.around.pop();
        match break_if {
            Some(c) => {
                let c = self.value(c)?;
                self.end(Op::BranchConditional, &[c, leave, header]);
            }
            None => self.branch(header),
        }
        self.label(leave);
        Ok(())
    }

    /// An argument of a call: a value, or a pointer as it is.
    fn argument(&mut self, h: Handle<Expression>) -> R<Id> {
        let h = self.stand_ins.argument(self.module, self.code.func, h).unwrap_or(h);
        if self.inner_of(h).pointer_space().is_some() { self.pointer(h) } else { self.value(h) }
    }

    /// The content of an expression's type.
    pub(super) fn inner_of(&self, h: Handle<Expression>) -> &'m TypeInner {
        self.code.info[h].ty.inner_with(&self.module.types)
    }

    /// Whether a pointer leads to an atomic number.
    pub(super) fn is_atomic(&self, pointer: Handle<Expression>) -> bool {
        match *self.inner_of(pointer) {
            TypeInner::Pointer { base, .. } => matches!(self.module.types[base].inner, TypeInner::Atomic(_)),
            _ => false,
        }
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> R<()> {
        let (p, v) = (self.pointer(pointer)?, self.value(value)?);
        let Some(scalar) = self.inner_of(value).scalar() else {
            return Err(self.error("F0137", "an atomic on something that is no number"));
        };
        let ty = self.out.scalar(scalar);
        let (scope, order) = (self.out.word(spirv::Scope::Device as u32), self.out.word(0));
        if let AtomicFunction::Exchange { compare: Some(c) } = fun {
            let c = self.value(*c)?;
            let old = self.op(Op::AtomicCompareExchange, ty, &[p, scope, order, order, v, c]);
            let Some(h) = result else { return Ok(()) };
            let mut id = old;
            if matches!(self.inner_of(h), TypeInner::Struct { .. }) {
                let truth = self.out.scalar(naga::Scalar::BOOL);
                let same = self.op(Op::IEqual, truth, &[old, c]);
                let both = self.type_of(h);
                id = self.op(Op::CompositeConstruct, both, &[old, same]);
            }
            self.code.values[h.index()] = Some(Val::Id(id));
            return Ok(());
        }
        let op = atomic_op(fun, scalar.kind);
        let old = self.op(op, ty, &[p, scope, order, v]);
        if let Some(h) = result {
            self.code.values[h.index()] = Some(Val::Id(old));
        }
        Ok(())
    }
}

/// The instruction of an atomic that compares nothing.
pub(super) fn atomic_op(fun: &AtomicFunction, kind: ScalarKind) -> Op {
    use ScalarKind::{Float, Sint};
    match (fun, kind) {
        (AtomicFunction::Add, Float) => Op::AtomicFAddEXT,
        (AtomicFunction::Add, _) => Op::AtomicIAdd,
        (AtomicFunction::Subtract, _) => Op::AtomicISub,
        (AtomicFunction::And, _) => Op::AtomicAnd,
        (AtomicFunction::InclusiveOr, _) => Op::AtomicOr,
        (AtomicFunction::ExclusiveOr, _) => Op::AtomicXor,
        (AtomicFunction::Min, Sint) => Op::AtomicSMin,
        (AtomicFunction::Min, _) => Op::AtomicUMin,
        (AtomicFunction::Max, Sint) => Op::AtomicSMax,
        (AtomicFunction::Max, _) => Op::AtomicUMax,
        (AtomicFunction::Exchange { .. }, _) => Op::AtomicExchange,
    }
}
