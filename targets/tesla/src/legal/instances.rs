//! Instanced geometry programs: the machine runs a program once for a primitive, so that a loop goes through the instances.
//!
//! ```text
//!   main: …; return        for id in 0..n { …; end_primitive }; return
//! ```

use retroshade_ir::types::{I1, I32};
use retroshade_ir::{Binding, Block, BlockCall, Builtin, Function, Imm, InstData, IntCC, MemRef, Module, Opcode, Span, Type, Value};
use smallvec::SmallVec;

/// Makes the number of the instance a counter, or 0 where there is one instance. Calls are inlined.
pub(crate) fn run(m: &mut Module) {
    let Some(g) = &mut m.geometry else { return };
    let instances = std::mem::replace(&mut g.invocations, 1).max(1);
    g.max_vertices = g.max_vertices.saturating_mul(instances);
    let number: Vec<_> = m.inputs.iter().filter(|(_, d)| d.binding == Binding::Builtin(Builtin::InvocationId)).map(|(i, _)| i).collect();
    let f = m.main_mut();
    let Some(first) = f.entry() else { return };
    let start = f.add_block();
    f.layout.retain(|b| *b != start);
    f.layout.insert(0, start);
    let zero = push(f, start, Opcode::Const, &[], Imm::Const([0; 4]), I32);
    let id = if instances == 1 {
        jump(f, start, first, &[]);
        zero
    } else {
        repeat(f, start, first, zero, instances)
    };
    for i in f.insts.keys().collect::<Vec<_>>() {
        let reads = matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Input(n), .. } if number.contains(&n));
        if reads && f.insts[i].op == Opcode::Input {
            f.insts[i] = InstData { op: Opcode::Bitcast, args: [id].into_iter().collect(), imm: Imm::None, ..f.insts[i].clone() };
        }
    }
}

/// The loop around all blocks; gives the counter.
fn repeat(f: &mut Function, start: Block, first: Block, zero: Value, instances: u32) -> Value {
    let (head, latch, end) = (f.add_block(), f.add_block(), f.add_block());
    let id = f.add_param(head, I32);
    let returns: Vec<Block> =
        f.layout.iter().copied().filter(|b| f.terminator(*b).is_some_and(|t| f.insts[t].op == Opcode::Return)).collect();
    for b in returns {
        f.blocks[b].insts.pop();
        jump(f, b, latch, &[]);
    }
    jump(f, start, head, &[zero]);
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
