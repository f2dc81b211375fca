//! Instanced geometry programs: the machine runs a program once for a primitive, so that a loop goes through the instances.
//!
//! ```text
//!   main: …; return        for id in 0..n { …; end_primitive }; return
//! ```
//! What an instance reads or emits without having written it is 0 again.

use cranelift_entity::SecondaryMap;
use retroshade_ir::types::{I1, I32};
use retroshade_ir::{
    Binding, Block, BlockCall, Builtin, Function, Imm, InstData, IntCC, Local, MemRef, Module, Opcode, Output, Span, Type, Value,
};
use retroshade_lower::CompileError;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Vertices that a primitive may become.
const MOST_VERTICES: u32 = 1024;

/// Makes the number of the instance a counter, or 0 where there is one instance. Calls are inlined.
pub(crate) fn run(m: &mut Module) -> Result<(), CompileError> {
    let Some(g) = &mut m.geometry else { return Ok(()) };
    let instances = std::mem::replace(&mut g.invocations, 1).max(1);
    g.max_vertices = g.max_vertices.saturating_mul(instances);
    if g.max_vertices > MOST_VERTICES {
        let what = format!("too many vertices of {instances} instances");
        return Err(CompileError::limit("T0110", Span::NONE, what, g.max_vertices.into(), MOST_VERTICES.into()));
    }
    let number: Vec<_> = m.inputs.iter().filter(|(_, d)| d.binding == Binding::Builtin(Builtin::InvocationId)).map(|(i, _)| i).collect();
    let open = if instances > 1 { clears(m) } else { Vec::new() };
    let f = m.main_mut();
    let Some(first) = f.entry() else { return Ok(()) };
    let start = f.add_block();
    f.layout.retain(|b| *b != start);
    f.layout.insert(0, start);
    let zero = push(f, start, Opcode::Const, &[], Imm::Const([0; 4]), I32);
    let id = if instances == 1 {
        jump(f, start, first, &[]);
        zero
    } else {
        repeat(f, start, first, zero, instances, &open)
    };
    for i in f.insts.keys().collect::<Vec<_>>() {
        let reads = matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Input(n), .. } if number.contains(&n));
        if reads && f.insts[i].op == Opcode::Input {
            f.insts[i] = InstData { op: Opcode::Bitcast, args: [id].into_iter().collect(), imm: Imm::None, ..f.insts[i].clone() };
        }
    }
    Ok(())
}

/// A store of 0.
type Clear = (Opcode, Type, Imm);

/// Clears what an instance may read or emit without having written it: the first one finds 0 there.
fn clears(m: &Module) -> Vec<Clear> {
    let place = |(local, n, offset): Slot| match local {
        true => (Opcode::LocalStore, m.main().locals[Local::from_u32(n)].ty, Imm::Mem { var: MemRef::Local(Local::from_u32(n)), offset }),
        false => (Opcode::Output, m.outputs[Output::from_u32(n)].ty, Imm::Mem { var: MemRef::Output(Output::from_u32(n)), offset }),
    };
    open_slots(m).into_iter().map(place).collect()
}

/// An element of a local array (true) or an output, by its number.
type Slot = (bool, u32, u32);

/// What some way through the program reads or emits before it is written.
fn open_slots(m: &Module) -> BTreeSet<Slot> {
    let f = m.main();
    let mut open = BTreeSet::new();
    let mut written: SecondaryMap<Block, Option<BTreeSet<Slot>>> = SecondaryMap::new();
    let mut todo: Vec<Block> = f.entry().into_iter().collect();
    todo.iter().for_each(|b| written[*b] = Some(BTreeSet::new()));
    while let Some(b) = todo.pop() {
        let Some(mut now) = written[b].clone() else { continue };
        for i in &f.blocks[b].insts {
            let d = &f.insts[*i];
            match (d.op, &d.imm) {
                (Opcode::Output, Imm::Mem { var: MemRef::Output(o), offset }) if d.args.len() == 1 => {
                    now.insert((false, o.as_u32(), *offset));
                }
                (Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), offset }) if d.args.len() == 1 => {
                    now.insert((true, l.as_u32(), *offset));
                }
                (Opcode::LocalLoad, Imm::Mem { var: MemRef::Local(l), offset }) => {
                    let read = if d.args.is_empty() { *offset..*offset + 1 } else { 0..f.locals[*l].count };
                    open.extend(read.map(|k| (true, l.as_u32(), k)).filter(|slot| !now.contains(slot)));
                }
                (Opcode::EmitVertex, _) => {
                    let outputs = m.outputs.iter().flat_map(|(o, d)| (0..d.count.max(1)).map(move |k| (false, o.as_u32(), k)));
                    open.extend(outputs.filter(|slot| !now.contains(slot)));
                }
                _ => {}
            }
        }
        for t in f.successors(b) {
            let both = written[t.block].as_ref().map_or_else(|| now.clone(), |old| old.intersection(&now).copied().collect());
            if written[t.block].as_ref() != Some(&both) {
                written[t.block] = Some(both);
                todo.push(t.block);
            }
        }
    }
    open
}

/// The loop around all blocks; gives the counter.
fn repeat(f: &mut Function, start: Block, first: Block, zero: Value, instances: u32, open: &[Clear]) -> Value {
    let (head, latch, end) = (f.add_block(), f.add_block(), f.add_block());
    let id = f.add_param(head, I32);
    let returns: Vec<Block> =
        f.layout.iter().copied().filter(|b| f.terminator(*b).is_some_and(|t| f.insts[t].op == Opcode::Return)).collect();
    for b in returns {
        f.blocks[b].insts.pop();
        jump(f, b, latch, &[]);
    }
    jump(f, start, head, &[zero]);
    for (op, ty, var) in open {
        let zero = push(f, head, Opcode::Const, &[], Imm::Const([0; 4]), *ty);
        append(f, head, InstData::new(*op, &[zero], var.clone()));
    }
    jump(f, head, first, &[]);
    append(f, latch, InstData::new(Opcode::EndPrimitive, &[], Imm::None));
    let one = push(f, latch, Opcode::Const, &[], Imm::Const([1, 0, 0, 0]), I32);
    let next = push(f, latch, Opcode::Iadd, &[id, one], Imm::None, I32);
    let count = push(f, latch, Opcode::Const, &[], Imm::Const([instances, 0, 0, 0]), I32);
    let more = push(f, latch, Opcode::Icmp, &[next, count], Imm::IntCC(IntCC::Ult), I1);
    let mut again = InstData::new(Opcode::BrIf, &[more], Imm::None);
    again.targets.push(BlockCall { block: head, args: [next].into_iter().collect() });
    again.targets.push(BlockCall { block: end, args: SmallVec::new() });
    append(f, latch, again);
    append(f, end, InstData::new(Opcode::Return, &[], Imm::None));
    id
}

fn append(f: &mut Function, b: Block, data: InstData) {
    let i = f.make_inst(data, &[], Span::NONE);
    f.blocks[b].insts.push(i);
}

fn push(f: &mut Function, b: Block, op: Opcode, args: &[Value], imm: Imm, ty: Type) -> Value {
    let i = f.make_inst(InstData::new(op, args, imm), &[ty], Span::NONE);
    f.blocks[b].insts.push(i);
    f.insts[i].results[0]
}

fn jump(f: &mut Function, from: Block, to: Block, args: &[Value]) {
    let mut data = InstData::new(Opcode::Jump, &[], Imm::None);
    data.targets.push(BlockCall { block: to, args: args.iter().copied().collect() });
    append(f, from, data);
}
