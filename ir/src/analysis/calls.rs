//! Which function calls which.

use crate::entities::FuncId;
use crate::function::Function;
use crate::inst::Imm;
use crate::module::Module;
use crate::opcode::Opcode;
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

/// The calls among the functions that the entry reaches: an edge from each caller to each of its callees.
#[derive(Clone, Debug)]
pub struct CallGraph(DiGraphMap<FuncId, ()>);

impl CallGraph {
    /// Reads the calls, beginning with the entry's.
    pub fn new(module: &Module) -> CallGraph {
        let mut graph = DiGraphMap::new();
        let mut work = vec![graph.add_node(module.entry)];
        while let Some(caller) = work.pop() {
            for callee in callees(&module.functions[caller]) {
                if !graph.contains_node(callee) {
                    work.push(callee);
                }
                graph.add_edge(caller, callee, ());
            }
        }
        CallGraph(graph)
    }
    /// The entry first, no function before one that calls it; `None` if calls form a circle.
    pub fn callers_first(&self) -> Option<Vec<FuncId>> {
        toposort(&self.0, None).ok()
    }
    /// No function before one that it calls, the entry last; `None` if calls form a circle.
    pub fn callees_first(&self) -> Option<Vec<FuncId>> {
        let mut order = self.callers_first()?;
        order.reverse();
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
}
