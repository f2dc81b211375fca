//! Which function calls which.

use crate::entities::FuncId;
use crate::function::Function;
use crate::inst::Imm;
use crate::module::Module;
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};

/// The calls among the functions that the entry reaches.
#[derive(Clone, Debug)]
pub struct CallGraph {
    entry: FuncId,
    /// Each caller's callees, each once.
    callees: SecondaryMap<FuncId, Vec<FuncId>>,
}

impl CallGraph {
    /// Reads the calls, beginning with the entry's.
    pub fn new(module: &Module) -> CallGraph {
        let mut graph = CallGraph { entry: module.entry, callees: SecondaryMap::new() };
        let mut seen = EntitySet::new();
        let mut work = vec![module.entry];
        while let Some(caller) = work.pop() {
            if !seen.insert(caller) {
                continue;
            }
            for callee in callees(&module.functions[caller]) {
                if !graph.callees[caller].contains(&callee) {
                    graph.callees[caller].push(callee);
                    work.push(callee);
                }
            }
        }
        graph
    }
    /// The entry first, no function before one that calls it; `None` if calls form a circle.
    pub fn callers_first(&self) -> Option<Vec<FuncId>> {
        let mut order = self.callees_first()?;
        order.reverse();
        Some(order)
    }
    /// No function before one that it calls, the entry last; `None` if calls form a circle.
    pub fn callees_first(&self) -> Option<Vec<FuncId>> {
        let mut order = Vec::new();
        let (mut begun, mut done) = (EntitySet::new(), EntitySet::new());
        let mut stack = vec![self.entry];
        while let Some(f) = stack.last().copied() {
            if begun.insert(f) {
                stack.extend(self.callees[f].iter().filter(|c| !begun.contains(**c)));
                continue;
            }
            stack.pop();
            if done.contains(f) {
                continue;
            }
            // All callees are done by now, unless one of them leads back here.
            if self.callees[f].iter().any(|c| !done.contains(*c)) {
                return None;
            }
            done.insert(f);
            order.push(f);
        }
        Some(order)
    }
}

fn callees(f: &Function) -> impl Iterator<Item = FuncId> + '_ {
    f.ordered().filter_map(|(_, i)| match (f.insts[i].op, &f.insts[i].imm) {
        (Opcode::Call, Imm::Func(callee)) => Some(*callee),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> Module {
        crate::parse("calls.ir", text).unwrap_or_else(|e| panic!("{:?}", e.diagnostics))
    }

    #[test]
    fn callees_come_before_their_callers() {
        let m = calls(
            "shader vertex \"calls\"\nblock0:\n    v0 = fconst.f32 1.0\n    v1 = call @middle(v0)\n    v2 = call @leaf(v1)\n    return\n\n\
             func @middle(v0: f32) -> f32 {\nblock0:\n    v1 = call @leaf(v0)\n    return v1\n}\n\
             func @unused() {\nblock0:\n    return\n}\n\
             func @leaf(v0: f32) -> f32 {\nblock0:\n    return v0\n}\n",
        );
        let order = CallGraph::new(&m).callees_first().expect("no circle");
        let names: Vec<&str> = order.iter().map(|f| m.functions[*f].name.as_str()).collect();
        assert_eq!(names.len(), 3);
        assert_eq!((names[0], names[1]), ("leaf", "middle"));
        assert_eq!(CallGraph::new(&m).callers_first().expect("no circle")[0], m.entry);
    }

    #[test]
    fn a_circle_has_no_order() {
        let m = calls(
            "shader vertex \"circle\"\nblock0:\n    call @a()\n    return\nfunc @a() {\nblock0:\n    call @b()\n    return\n}\n\
             func @b() {\nblock0:\n    call @a()\n    return\n}\n",
        );
        assert!(CallGraph::new(&m).callees_first().is_none() && CallGraph::new(&m).callers_first().is_none());
    }
}
