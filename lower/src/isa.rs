//! The target interface: everything that the command line and the library ask of a machine.

use crate::course::{BranchOrder, Course, Turns};
use crate::driver::Dump;
use crate::error::CompileError;
use crate::options::Options;
use crate::reflect::Reflection;
use crate::text::{AsmOutput, TextError, TextOptions};
use crate::validate::meaning::{self, Seen};
use crate::validate::{Program, validate};
use indexmap::IndexMap;
use retroshade_ir::analysis::Cfg;
use retroshade_ir::interp::Branch;
use retroshade_ir::{Diagnostic, Module, Numerics, Opcode, ShaderEnv, ShaderResult, Span, Stage};
use thiserror::Error;

/// Refuses a program that nothing ends, whatever the data are: it would hang the machine.
pub fn ends(module: &Module) -> Result<(), CompileError> {
    let main = module.main();
    let ends = Cfg::new(main).rpo().iter().any(|b| main.successors(*b).is_empty());
    ends.then_some(()).ok_or_else(|| endless(module))
}

/// The refusal of a program that never ends.
pub fn endless(module: &Module) -> CompileError {
    CompileError::unsupported("C0035", module.main().place(), "the program never ends")
}

/// A machine. Implementations are stateless; everything is `Send + Sync`.
pub trait TargetIsa: Send + Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;
    /// One line about the machine.
    fn summary(&self) -> &'static str;
    /// Chips that `--chip` accepts, the default first; empty if there is only one.
    fn chips(&self) -> &'static [&'static str];
    /// Stages that the machine can run.
    fn stages(&self) -> &'static [Stage];
    /// Limits and registers as `shaderc targets T` lists them: (what, value).
    fn limits(&self, chip: Option<&str>) -> Vec<(&'static str, String)>;
    /// The machine's arithmetic.
    fn numerics(&self) -> &'static dyn Numerics;
    /// Optimises and legalises: the result runs on the interpreter under [`TargetIsa::numerics`] with exactly the
    /// results of the code that [`TargetIsa::compile`] makes of the same source and options. Declarations keep their order.
    ///
    /// Fails as [`TargetIsa::compile`] does.
    fn legalise(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        self.accepts(module, options)?;
        self.legalise_verified(module, options)
    }
    /// Compiles a source module, and validates the code where the options ask for it. What breaks a rule of the IR is [`CompileError::Invalid`] with the rules and places, unless
    /// [`Options::verify`] says that the caller has looked.
    fn compile(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        options.unfinished.take();
        self.accepts(module, options)?;
        let compiled = self.compile_verified(module, options);
        if options.cancel.is_set() {
            return Err(CompileError::cancelled(module));
        }
        let mut shader = compiled?;
        match self.judge(&shader, module, options) {
            Ok(seen) => {
                shader.seen = seen;
                Ok(shader)
            }
            Err(e) => {
                options.unfinished.keep(shader.dumps);
                Err(e)
            }
        }
    }
    /// Whether finished code ends, has a size that makes sense and, where the options ask for it, passes the validator; what that saw of it.
    fn judge(&self, shader: &CompiledShader, module: &Module, options: &Options) -> Result<Option<Seen>, CompileError> {
        ends(&shader.legal)?;
        let (size, most) = (shader.code.len() as u64, options.limits.code);
        if size > most {
            return Err(CompileError::limit("C0032", module.main().place(), "the code is too large", size, most));
        }
        let mut seen = None;
        if options.validate {
            let found = validate(self, shader).unwrap_or_else(|e| vec![e]);
            if !found.is_empty() {
                return Err(CompileError::Unsound(found));
            }
            seen = Some(meaning::check(self, shader, &options.cancel).map_err(CompileError::Wrong)?);
            if options.cancel.is_set() {
                return Err(CompileError::cancelled(module));
            }
        }
        Ok(seen)
    }
    /// Whether the module obeys the rules of the IR, the target has its stage, and it has a size that makes sense.
    fn accepts(&self, module: &Module, options: &Options) -> Result<(), CompileError> {
        if options.verify {
            retroshade_ir::verify(module).map_err(CompileError::Invalid)?;
        }
        if let Some(chip) = options.chip.as_deref().filter(|c| !self.chips().contains(c)) {
            return Err(CompileError::unsupported("C0034", module.main().place(), no_chip(&[self.name()], self.chips(), chip)));
        }
        if !self.stages().contains(&module.stage) {
            let message = format!("target {} has no {} programs", self.name(), module.stage.name());
            return Err(CompileError::unsupported("C0011", module.main().place(), message));
        }
        let count: usize = module.functions.values().map(retroshade_ir::Function::inst_count).sum();
        let blocks: usize = module.functions.values().map(|f| f.layout.len()).sum();
        let bounds = [
            ("C0013", "the program has too many instructions", count as u64, options.limits.instructions),
            ("C0031", "the program has too many blocks", blocks as u64, options.limits.blocks),
        ];
        match bounds.into_iter().find(|b| b.2 > b.3) {
            Some((code, message, needed, most)) => Err(CompileError::limit(code, module.main().place(), message, needed, most)),
            None if options.cancel.is_set() => Err(CompileError::cancelled(module)),
            None => ends(module),
        }
    }
    /// [`TargetIsa::legalise`] of a module that [`TargetIsa::accepts`].
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError>;
    /// [`TargetIsa::compile`] of a module that [`TargetIsa::accepts`].
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError>;
    /// The machine's simulator with a program in it, for many environments: whatever is read of the program is read once. It
    /// executes the decoded bytes, not any intermediate form.
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError>;
    /// Executes compiled code once, on [`TargetIsa::simulator`].
    fn simulate(&self, shader: &CompiledShader, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
        self.simulate_in(shader, env, Course::default())
    }
    /// The orders in which the machine may run the two sides of a branch on which lanes disagree, as far as its manual leaves that
    /// open; the first is that of [`TargetIsa::simulate`].
    fn branch_orders(&self) -> &'static [BranchOrder] {
        &[BranchOrder::Next]
    }
    /// As [`TargetIsa::simulate`], on a course with one of [`TargetIsa::branch_orders`].
    fn simulate_in(&self, shader: &CompiledShader, env: &ShaderEnv, course: Course) -> Result<ShaderResult, SimError> {
        self.simulator(shader)?(env, course)
    }
    /// Simulates in every order that the machine may take. Results that differ are an error: the code would be right on one reading
    /// of the hardware only.
    fn simulate_in_every_order(&self, shader: &CompiledShader, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
        in_orders(self.branch_orders(), &self.simulator(shader)?, env, None)
    }
    /// The declarations that a container alone shows of each of its programs, in modules without code: what
    /// [`TargetIsa::run_container`] takes its environment by, under the container's own names.
    fn container_interface(&self, _container: &[u8]) -> Result<Vec<Module>, TextError> {
        Err(TextError::new(format!("containers of target {} cannot be read on their own", self.name())))
    }
    /// What the callers of a container's programs bind by, as far as it says that itself.
    fn container_reflection(&self, container: &[u8]) -> Result<Vec<Reflection>, TextError> {
        Ok(self.container_interface(container)?.iter().map(Reflection::from_container).collect())
    }
    /// Executes a program of a container, whoever made it, with an environment by its interface: one of
    /// [`TargetIsa::container_interface`].
    fn run_container(&self, _container: &[u8], _interface: &Module, _env: &ShaderEnv) -> Result<ShaderResult, SimError> {
        Err(SimError::BadEnv(format!("containers of target {} cannot be run on their own", self.name())))
    }
    /// Joins several stages into one container where the platform has that.
    fn link(&self, shaders: &[CompiledShader]) -> Result<Vec<u8>, CompileError> {
        match shaders {
            [one] => Ok(one.container.clone()),
            _ => {
                Err(CompileError::unsupported("C0001", Span::NONE, format!("target {} has no container for several programs", self.name())))
            }
        }
    }
    /// The ending of the files of a chip's platform.
    fn container_extension(&self, _chip: Option<&str>) -> &'static str {
        "o"
    }
    /// Whether the front end should leave functions that are called several times as they are.
    fn keeps_functions(&self) -> bool {
        false
    }
    /// Options of the command that only some machines honour, and this one does: `relaxed-precision`, `color-format`, `matrix-layout`,
    /// `pack-uniforms`.
    fn own_options(&self) -> &'static [&'static str] {
        &[]
    }
    /// What a caller should hear about modules that compile and are linked together: (which one, warning).
    fn warnings(&self, modules: &[Module], options: &Options) -> Vec<(usize, Diagnostic)> {
        let _ = (modules, options);
        Vec::new()
    }
    /// One line of `dis --hex`: an instruction's words in hex, to text.
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError>;
    /// One line of `asm --emit hex`: an instruction's text, to its words in hex.
    fn asm_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError>;
    /// What begins a comment in the machine's assembly.
    fn comment(&self) -> &'static str {
        ";"
    }
    /// Disassembles code or a container.
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError>;
    /// For each line of [`CompiledShader::asm`] the bytes of code that it stands for; `None` for declarations, labels and the like.
    fn line_places(&self, _asm: &str) -> Vec<Option<std::ops::Range<u32>>> {
        Vec::new()
    }
    /// Assembles a file; all errors at once.
    fn assemble(&self, source: &str, options: &TextOptions) -> Result<AsmOutput, Vec<TextError>>;
    /// Whether the bytes are this platform's container.
    fn is_container(&self, bytes: &[u8]) -> bool;
    /// What the hardware forbids, in code or a container; an empty list is good.
    fn lint(&self, bytes: &[u8], options: &TextOptions) -> Result<Vec<TextError>, TextError>;
    /// What each instruction of compiled code reads, writes and may not meet, from the bytes alone: what [`validate`](crate::validate::validate)
    /// follows. A machine that tells nothing is only linted.
    fn effects(&self, _shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
        Ok(Vec::new())
    }
    /// The generated encoding tables as Markdown.
    fn encoding_docs(&self) -> String;
}

/// A program on a machine's simulator: what it leaves of an environment, on a course.
pub type Simulator<'s> = Box<dyn Fn(&ShaderEnv, Course) -> Result<ShaderResult, SimError> + 's>;

/// What a program leaves in each of several orders; results that differ are an error.
pub(crate) fn in_orders(orders: &[BranchOrder], run: &Simulator, env: &ShaderEnv, turns: Option<&Turns>) -> Result<ShaderResult, SimError> {
    let (first, others) = orders.split_first().map_or((BranchOrder::Next, &[][..]), |(f, o)| (*f, o));
    let result = run(env, Course { order: first, turns })?;
    for order in others {
        if run(env, Course { order: *order, turns })? != result {
            return Err(SimError::OrderMatters);
        }
    }
    Ok(result)
}

/// A compiled shader and all that is known about it.
#[derive(Clone, Debug)]
pub struct CompiledShader {
    /// Target.
    pub target: &'static str,
    /// Chip that it was compiled for.
    pub chip: Option<String>,
    /// Stage.
    pub stage: Stage,
    /// Code words, little-endian, nothing else.
    pub code: Vec<u8>,
    /// The platform's file.
    pub container: Vec<u8>,
    /// The interface.
    pub reflection: Reflection,
    /// Sizes.
    pub stats: Stats,
    /// Byte ranges of the code and the source that they come from.
    pub source_map: Vec<(std::ops::Range<u32>, Span)>,
    /// The legalised module that the code was made of.
    pub legal: Module,
    /// Bytes at which the code decides where an invocation goes, and the branch of the legalised module that it decides there: each time an
    /// invocation comes to that branch, it comes to one of these places, once. The [validator](crate::validate::meaning) turns branches there;
    /// those that are not named are not turned.
    pub branches: Vec<(u32, Branch)>,
    /// Native assembly text.
    pub asm: String,
    /// Further kinds that `--emit` can ask for: `mir`, `regalloc`, `header`, `vitagl` …
    pub extra: IndexMap<&'static str, Vec<u8>>,
    /// Texts asked for by `print_after`, in order.
    pub dumps: Vec<Dump>,
    /// How much of the program the validator saw run, where it did.
    pub seen: Option<Seen>,
}

/// Sizes as `compare` and `--emit stats` print them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions after inlining, before any other pass.
    pub ir_ops: u32,
    /// Code bytes as the peers' tables count them.
    pub bytes: u32,
    /// Instructions as the peers' tables count them.
    pub instructions: u32,
    /// Registers.
    pub registers: u32,
    /// The target's own figures, in a fixed order.
    pub detail: IndexMap<&'static str, u64>,
    /// Which step of the allocation ladder succeeded.
    pub alloc_step: Option<String>,
}

/// What is said of a chip that none of the targets has.
pub fn no_chip(targets: &[&str], chips: &[&str], chip: &str) -> String {
    let who = match targets {
        [one] => format!("target {one} has"),
        all => format!("targets {} have", all.join(", ")),
    };
    match chips {
        [] => format!("{who} no chips to choose from, so `{chip}` means nothing"),
        all => format!("{who} no chip `{chip}`; chips are {}", all.join(", ")),
    }
}

/// Instructions after inlining, before any other pass: [`Stats::ir_ops`], the same for every target.
pub fn ir_ops(source: &Module) -> u32 {
    let main = source.main();
    if main.ordered().all(|(_, i)| main.insts[i].op != Opcode::Call) {
        return main.inst_count() as u32;
    }
    let mut m = source.clone();
    retroshade_ir::passes::inline::run(&mut m, retroshade_ir::passes::InlinePolicy::All);
    m.main().inst_count() as u32
}

/// Why a simulation stopped.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// The environment lacks something or has it in the wrong shape.
    #[error("{0}")]
    BadEnv(String),
    /// The program did something that the hardware forbids or cannot.
    #[error("at byte {at:#x}: {message}")]
    Fault {
        /// Byte offset of the instruction.
        at: u32,
        /// What happened.
        message: String,
    },
    /// The results depend on which side of a branch runs first, which no manual says.
    #[error("the results depend on which side of a divergent branch runs first")]
    OrderMatters,
    /// The program ran longer than the simulator's fuel.
    #[error("stopped after {0} instructions")]
    OutOfFuel(u64),
}
