//! What an entry point uses, found in one pass over its functions before they are translated.

use super::binary::{Binary, Entry, Global, Id, Inst, R};
use super::types::{Kind, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

/// What the functions that an entry reaches do with variables.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// Variables of the module that are used.
    pub(crate) globals: FxHashSet<Id>,
    /// Of those that are structures, the members that are used; `None`: all.
    pub(crate) members: FxHashMap<Id, Option<FxHashSet<u32>>>,
    /// Workgroup variables that have single lanes of vectors written.
    pub(crate) lanes: FxHashSet<Id>,
    /// Whether there are atomics on floats: workgroup memory then holds their bits.
    pub(crate) float_atomics: bool,
    /// Variables that hold one constant all the time.
    pub(crate) tables: FxHashMap<Id, Id>,
    /// Variables that are set once and only passed to functions, which only read them.
    pub(crate) passed: FxHashSet<Id>,
    /// Parameters and variables that are written through a pointer to them.
    pub(crate) written: FxHashSet<Id>,
    /// Variables of functions that are read where they stand.
    pub(crate) loaded: FxHashSet<Id>,
    /// Variables with a first value that are set as a whole before anything else is done with them.
    pub(crate) filled: FxHashSet<Id>,
    /// The functions, every caller in front of what it calls.
    pub(crate) functions: Vec<Id>,
    /// What each of them does itself.
    pub(crate) bodies: FxHashMap<Id, Does>,
}

/// What a function does.
#[derive(Debug, Default)]
pub(crate) struct Does {
    /// Functions that it calls, once for each place.
    pub(crate) calls: Vec<Id>,
    /// Variables that it passes: variable or parameter, callee, number of the argument.
    pub(crate) passes: Vec<(Id, Id, usize)>,
    /// Variables of the module that it reads or writes.
    pub(crate) globals: FxHashSet<Id>,
    /// Of these, those that it writes.
    pub(crate) writes: FxHashSet<Id>,
    /// Whether it does something besides computing: discards, barriers, atomics, vertices.
    pub(crate) acts: bool,
}

impl Used {
    /// Whether a member of a variable is used.
    pub(crate) fn member(&self, g: Id, n: u32) -> bool {
        self.members.get(&g).is_some_and(|m| m.as_ref().is_none_or(|m| m.contains(&n)))
    }

    /// Looks at everything that an entry reaches.
    pub(crate) fn new(b: &Binary<'_>, entry: &Entry, member_index: &dyn Fn(Id) -> Option<u32>) -> R<Used> {
        let mut scan = Scan {
            b,
            used: Used::default(),
            globals: b.globals.iter().map(|g| (g.id, g)).collect(),
            roots: FxHashMap::default(),
            now: Does::default(),
            count: FxHashMap::default(),
            set_in: FxHashMap::default(),
            block: 0,
            untouched: FxHashMap::default(),
            stores: FxHashMap::default(),
            spoilt: FxHashSet::default(),
            written: FxHashSet::default(),
            chains: Vec::new(),
            member_index,
        };
        for g in b.globals.iter().filter(|g| g.storage == StorageClass::Private) {
            if let Some(init) = g.init {
                scan.stores.insert(g.id, init);
            }
        }
        // An output with a first value is written, whether or not the program has more to say about it.
        for g in b.globals.iter().filter(|g| g.storage == StorageClass::Output && g.init.is_some()) {
            if entry.interface.contains(&g.id) {
                scan.whole(g.id);
            }
        }
        for f in callers_first(b, entry.function)? {
            let Some(func) = b.functions.get(&f) else { continue };
            for (id, ty) in &func.params {
                if b.types.pointee(*ty).is_some() {
                    scan.roots.insert(*id, *id);
                }
            }
            for block in &func.blocks {
                scan.block = block.label;
                for i in b.insts(block.words.clone()) {
                    scan.inst(&i)?;
                }
            }
            let does = std::mem::take(&mut scan.now);
            scan.used.functions.push(f);
            scan.used.bodies.insert(f, does);
        }
        Ok(scan.finish())
    }
}

struct Scan<'a, 'w> {
    b: &'a Binary<'w>,
    used: Used,
    globals: FxHashMap<Id, &'a Global>,
    /// Pointers into variables: the variable.
    roots: FxHashMap<Id, Id>,
    /// What the function at hand does.
    now: Does,
    /// How often a variable is set as a whole.
    count: FxHashMap<Id, u32>,
    /// In which block it was last set.
    set_in: FxHashMap<Id, Id>,
    /// The label of the block at hand.
    block: Id,
    /// Variables that nothing was done with so far, and the blocks in which they stand.
    untouched: FxHashMap<Id, Id>,
    /// The one constant that a variable is set to.
    stores: FxHashMap<Id, Id>,
    /// Variables that are used in other ways.
    spoilt: FxHashSet<Id>,
    /// Pointers that are written through.
    written: FxHashSet<Id>,
    /// Pointers to numbers in workgroup memory, and their variables.
    chains: Vec<(Id, Id)>,
    member_index: &'a dyn Fn(Id) -> Option<u32>,
}

impl Scan<'_, '_> {
    fn root(&self, id: Id) -> Option<Id> {
        if self.globals.contains_key(&id) { Some(id) } else { self.roots.get(&id).copied() }
    }

    /// A use of all of a variable.
    fn whole(&mut self, id: Id) {
        if let Some(root) = self.root(id) {
            self.untouched.remove(&root);
            self.global(root);
            if root == id {
                self.used.members.insert(root, None);
            }
        }
    }

    fn global(&mut self, root: Id) {
        if self.globals.contains_key(&root) {
            self.used.globals.insert(root);
            self.now.globals.insert(root);
        }
    }

    fn write(&mut self, id: Id) {
        self.written.insert(id);
        if let Some(root) = self.root(id) {
            self.used.written.insert(root);
            if self.globals.contains_key(&root) {
                self.now.writes.insert(root);
            }
        }
    }

    fn escape(&mut self, id: Id) {
        self.whole(id);
        if let Some(root) = self.root(id) {
            self.spoilt.insert(root);
            self.used.loaded.insert(root);
        }
        self.write(id);
    }

    fn inst(&mut self, i: &Inst<'_>) -> R<()> {
        match i.op {
            Op::Variable => {
                let id = i.word(1)?;
                self.roots.insert(id, id);
                self.count.insert(id, 0);
                self.untouched.insert(id, self.block);
                if let Some(init) = i.operands.get(3) {
                    self.store(id, *init);
                }
            }
            Op::Load | Op::ArrayLength => {
                let p = i.word(2)?;
                self.whole(p);
                self.used.loaded.extend(self.root(p));
            }
            Op::Store => {
                let (p, v) = (i.word(0)?, i.word(1)?);
                if self.untouched.remove(&p) == Some(self.block) {
                    self.used.filled.insert(p);
                }
                self.whole(p);
                self.store(p, v);
                // A variable that is only set as a whole may still be passed on as a value.
                match self.root(p) {
                    Some(root) if root == p && !self.globals.contains_key(&p) && self.count.contains_key(&p) => {}
                    _ => self.write(p),
                }
            }
            Op::AccessChain | Op::InBoundsAccessChain => {
                let (id, base) = (i.word(1)?, i.word(2)?);
                let Some(root) = self.root(base) else { return Ok(()) };
                self.roots.insert(id, root);
                self.untouched.remove(&root);
                self.used.loaded.insert(root);
                self.global(root);
                if let Some(g) = self.globals.get(&base) {
                    // Of an array of blocks, the member comes second.
                    let first = usize::from(matches!(self.b.types.shape(g.ty), Some(Ty::Array(_))));
                    let member = i.rest(3).get(first).and_then(|id| (self.member_index)(*id));
                    let all = self.used.members.entry(base).or_insert_with(|| Some(FxHashSet::default()));
                    match (member, all) {
                        (Some(n), Some(set)) => {
                            set.insert(n);
                        }
                        (_, all) => *all = None,
                    }
                }
                let number = self.b.types.pointee(i.word(0)?).and_then(|t| self.b.types.shape(t));
                let shared = self.globals.get(&root).is_some_and(|g| g.storage == StorageClass::Workgroup);
                if shared && matches!(number, Some(Ty::Scalar(_))) {
                    self.chains.push((id, root));
                }
            }
            Op::CopyMemory => {
                let from = i.word(1)?;
                self.escape(i.word(0)?);
                self.whole(from);
                self.used.loaded.extend(self.root(from));
            }
            Op::FunctionCall => {
                let callee = i.word(2)?;
                self.now.calls.push(callee);
                for (n, id) in i.rest(3).iter().enumerate() {
                    let Some(root) = self.root(*id) else { continue };
                    self.whole(*id);
                    self.spoilt.insert(root);
                    self.now.passes.push((root, callee, n));
                    // What is set elsewhere may be set on some ways only.
                    if *id != root || self.set_in.get(&root) != Some(&self.block) {
                        self.used.loaded.insert(root);
                    }
                }
            }
            Op::Kill
            | Op::TerminateInvocation
            | Op::DemoteToHelperInvocation
            | Op::ControlBarrier
            | Op::ImageWrite
            | Op::EmitVertex
            | Op::EmitStreamVertex
            | Op::EndPrimitive
            | Op::EndStreamPrimitive => self.now.acts = true,
            // Behind the set and the number of the instruction.
            Op::ExtInst => i.rest(4).iter().for_each(|id| self.escape(*id)),
            Op::Phi | Op::Select | Op::CopyObject | Op::CompositeConstruct => {
                i.rest(2).iter().for_each(|id| self.escape(*id));
            }
            Op::AtomicStore => {
                self.now.acts = true;
                self.escape(i.word(0)?);
            }
            Op::ImageTexelPointer => self.escape(i.word(2)?),
            op if super::atomic::is_atomic(op) => {
                self.now.acts = true;
                self.used.float_atomics |= op != Op::AtomicLoad && self.b.types.shape(i.word(0)?).is_some_and(|t| t.kind() == Kind::Float);
                self.escape(i.word(2)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn store(&mut self, p: Id, v: Id) {
        let Some(root) = self.root(p) else { return };
        let constant = self.b.constants.contains_key(&v);
        if let (true, Some(n)) = (p == root, self.count.get_mut(&p)) {
            *n += 1;
            self.set_in.insert(p, self.block);
        }
        if p != root || !constant || self.stores.insert(root, v).is_some_and(|old| old != v) {
            self.spoilt.insert(root);
        }
    }

    fn finish(mut self) -> Used {
        // A pointer to a number that is written leads into a vector or to a number of its own; lanes do no harm to the latter.
        for (id, root) in &self.chains {
            if self.written.contains(id) {
                self.used.lanes.insert(*root);
            }
        }
        self.used.tables = self.stores.iter().filter(|(v, _)| !self.spoilt.contains(v)).map(|(v, c)| (*v, *c)).collect();
        // What a function writes through a parameter, it writes to what it was passed.
        let mut passed_for: FxHashMap<Id, Vec<(Id, Id)>> = FxHashMap::default();
        for (f, does) in &self.used.bodies {
            for (root, callee, n) in &does.passes {
                if let Some((param, _)) = self.b.functions.get(callee).and_then(|c| c.params.get(*n)) {
                    passed_for.entry(*param).or_default().push((*root, *f));
                }
            }
        }
        let mut work: Vec<Id> = self.used.written.iter().copied().collect();
        let mut more: Vec<(Id, Id)> = Vec::new();
        while let Some(id) = work.pop() {
            for (root, f) in passed_for.get(&id).into_iter().flatten() {
                more.push((*root, *f));
                if self.used.written.insert(*root) {
                    work.push(*root);
                }
            }
        }
        for (root, f) in more {
            if let (true, Some(does)) = (self.globals.contains_key(&root), self.used.bodies.get_mut(&f)) {
                does.writes.insert(root);
            }
        }
        let once = self.count.iter().filter(|(_, n)| **n == 1).map(|(id, _)| *id);
        self.used.passed = once.filter(|id| !self.used.written.contains(id) && !self.used.loaded.contains(id)).collect();
        // A variable that is set as a whole is written after all, where it is no such one.
        let set: Vec<Id> = self.count.keys().copied().filter(|id| !self.used.passed.contains(id)).collect();
        self.used.written.extend(set);
        self.used
    }
}

/// The functions that an entry reaches, every caller in front of what it calls, as far as they do not call themselves.
fn callers_first(b: &Binary<'_>, entry: Id) -> R<Vec<Id>> {
    let calls = |f: Id| -> R<Vec<Id>> {
        let mut all = Vec::new();
        for block in b.functions.get(&f).map_or(&[][..], |f| &f.blocks) {
            for i in b.insts(block.words.clone()).filter(|i| i.op == Op::FunctionCall) {
                all.push(i.word(2)?);
            }
        }
        Ok(all)
    };
    let mut seen = FxHashSet::from_iter([entry]);
    let mut post = Vec::new();
    let mut stack = vec![(entry, calls(entry)?)];
    while let Some((f, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(callee) if seen.insert(callee) => {
                let inner = calls(callee)?;
                stack.push((callee, inner));
            }
            Some(_) => {}
            None => {
                post.push(*f);
                stack.pop();
            }
        }
    }
    post.reverse();
    Ok(post)
}
