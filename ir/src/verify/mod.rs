//! The verifier: every rule of the IR, all violations at once, each at its place in the source.
//!
//! Nothing here recurses, so that deeply nested control flow cannot exhaust the stack.

mod flow;
mod interface;
mod memory;
mod tables;
mod types;

use crate::diag::{Diagnostic, Span};
use crate::entities::*;
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::module::Module;
use crate::opcode::Opcode;
use crate::types::Type;

/// Every rule: its code and what it says.
#[rustfmt::skip]
pub const RULES: &[(&str, &str)] = &[
    ("V0001", "a block ends with a terminator, and a function has a block"),
    ("V0002", "a terminator stands only at the end of a block"),
    ("V0003", "a branch names a block of the function"),
    ("V0004", "a branch passes one argument per parameter of its target"),
    ("V0005", "an argument has the type of the parameter"),
    ("V0006", "the entry block of a function is no branch target"),
    ("V0007", "the shader's entry has neither parameters nor results"),
    ("V0008", "every block is reachable from the entry"),
    ("V0009", "control flow is reducible"),
    ("V0010", "an operand is a value of the function that stands in its layout"),
    ("V0011", "a definition dominates its uses"),
    ("V0012", "ids name something, and what they name stands in one place"),
    ("V0020", "an operation has the right number of operands"),
    ("V0021", "operands have the right types"),
    ("V0022", "results have the right number and types"),
    ("V0023", "the immediate data is of the operation's kind"),
    ("V0024", "lane indices and masks lie within their vectors"),
    ("V0025", "a switch has each case value once, and one target per case plus a default"),
    ("V0026", "a boolean constant is 0 or 1, an f16 constant has 16 bits"),
    ("V0030", "a constant index lies within its variable"),
    ("V0031", "a load or store has the type of its variable"),
    ("V0032", "a memory operation names an existing variable of its kind"),
    ("V0033", "a storage buffer is used as its access says"),
    ("V0040", "a texture operation fits its texture"),
    ("V0041", "a gather's component is 0 to 3; texel offsets stay within the texture's dimensions and -8 to 7 (-32 to 31 in a gather)"),
    ("V0050", "an operation belongs to the shader's stage"),
    ("V0051", "what the module declares belongs to its stage"),
    ("V0052", "a builtin belongs to its stage and direction and has its type"),
    ("V0053", "a location or builtin is declared once"),
    ("V0054", "counts, strides, units and sizes are sensible"),
    ("V0055", "an input of a geometry program has one element per vertex"),
    ("V0056", "a name has no control characters"),
    ("V0060", "a call names a helper function of the module"),
    ("V0061", "functions do not call themselves, directly or not"),
    ("V0062", "`return` gives the function's results"),
    ("V0063", "a stream is 0 to 3"),
    ("V0064", "`relaxed` stands before an operation that gives numbers"),
    ("V0070", "machine operations appear only in legalised IR"),
];

/// Errors that are given a place in words; finding one costs a walk.
const PLACED: usize = 64;

/// Checks a source module against all rules.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    check(module, false)
}

/// Checks a legalised module: as [`verify`], but machine operations are welcome.
pub fn verify_legal(module: &Module) -> Result<(), Vec<Diagnostic>> {
    check(module, true)
}

fn check(module: &Module, legal: bool) -> Result<(), Vec<Diagnostic>> {
    let mut v = Verifier { m: module, legal, errors: Vec::new(), here: None };
    if v.tables() {
        v.interface();
        v.calls();
        for id in module.functions.keys() {
            v.function(id);
        }
    }
    let mut errors = v.errors;
    if errors.is_empty() {
        return Ok(());
    }
    errors.sort_by_key(|e| (e.span.is_none(), e.span.file, e.span.start));
    Err(errors)
}

/// The first rule that an operation on values breaks before it is appended, with its result's type: operands must exist.
pub(crate) fn operation(f: &Function, d: &InstData, result: Type) -> Result<(), (&'static str, String)> {
    let none = Module::new("", crate::module::Stage::Vertex);
    let mut v = Verifier { m: &none, legal: false, errors: Vec::new(), here: None };
    let args = d.args.iter().map(|v| f.ty(*v)).collect();
    let at = At { f, id: none.entry, d, span: Span::NONE, args, result: Some(result) };
    if v.operand_count(&at) && v.immediate(&at) {
        v.operand_types(&at);
    }
    match v.errors.into_iter().next() {
        None => Ok(()),
        Some(e) => Err((e.code, e.message)),
    }
}

struct Verifier<'a> {
    m: &'a Module,
    legal: bool,
    errors: Vec<Diagnostic>,
    /// The instruction that is looked at, for messages about modules without a text.
    here: Option<(FuncId, Inst)>,
}

/// An instruction in its place.
struct At<'a> {
    f: &'a Function,
    id: FuncId,
    d: &'a InstData,
    span: Span,
    args: Vec<Type>,
    result: Option<Type>,
}

impl At<'_> {
    fn arg(&self, n: usize) -> Option<Type> {
        self.args.get(n).copied()
    }
    fn result(&self) -> Option<Type> {
        self.result
    }
}

impl<'a> Verifier<'a> {
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        let mut message = message.into();
        if let Some(place) = self.here.filter(|_| span.is_none() && self.errors.len() < PLACED).and_then(|(id, i)| self.place(id, i)) {
            message = format!("{message} ({place})");
        }
        self.errors.push(Diagnostic::error(code, span, message));
    }

    /// Where an instruction stands, for one that no text is behind.
    fn place(&self, id: FuncId, i: Inst) -> Option<String> {
        let f = &self.m.functions[id];
        let (block, at) = f.layout.iter().find_map(|b| Some((*b, f.blocks[*b].insts.iter().position(|x| *x == i)?)))?;
        Some(format!("instruction {at} of {block} of {}", self.title(id)))
    }

    /// A function's name as messages have it.
    fn title(&self, id: FuncId) -> String {
        if id == self.m.entry { "the entry".to_string() } else { format!("`@{}`", self.m.functions[id].name) }
    }

    fn function(&mut self, id: FuncId) {
        let f = &self.m.functions[id];
        let Some(entry) = f.entry() else {
            let t = self.title(id);
            return self.error("V0001", Span::NONE, format!("{t} has no block"));
        };
        if id == self.m.entry && (!f.blocks[entry].params.is_empty() || !f.results.is_empty()) {
            let span = f.blocks[entry].insts.first().map_or(Span::NONE, |i| f.spans[*i]);
            self.error("V0007", span, "the shader's entry has neither parameters nor results");
        }
        self.locals(id);
        let errors_before = self.errors.len();
        self.structure(id);
        let sound = self.errors.len() == errors_before;
        let values_sound = self.operands_exist(id);
        if values_sound {
            for (_, i) in f.ordered() {
                let d = &f.insts[i];
                self.here = Some((id, i));
                let args = d.args.iter().map(|v| f.ty(*v)).collect();
                let result = d.results.first().map(|v| f.ty(*v));
                let at = At { f, id, d, span: f.spans[i], args, result };
                self.instruction(&at);
                self.here = None;
            }
        }
        // Dominance means something only in a graph that is one.
        if sound && values_sound {
            self.flow(id);
        }
        self.here = None;
    }

    fn instruction(&mut self, at: &At) {
        if !self.operand_count(at) || !self.immediate(at) {
            return;
        }
        self.operand_types(at);
        self.memory(at);
        self.stage(at);
        if let (Opcode::Ext, false, Imm::Ext(name)) = (at.d.op, self.legal, &at.d.imm) {
            self.error("V0070", at.span, format!("the machine operation `{name}` appears only in legalised IR"));
        }
    }
}

#[cfg(test)]
mod tests;
