//! The command line's shape, for clap.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use retroshade::Language;
use retroshade::ir::Stage;
use retroshade::lower::nearest::also;
use std::ffi::OsString;
use std::path::PathBuf;

/// Compiles small shader programs for NVIDIA Tesla, PowerVR USSE, AMD R700 and PICA200.
#[derive(Parser, Debug)]
#[command(
    name = "shaderc",
    version = concat!(env!("CARGO_PKG_VERSION"), " (retroshade: Tesla, USSE, R700 and PICA200; not Google's shaderc)"),
    subcommand_negates_reqs = true,
    override_usage = "shaderc [OPTIONS] [FILE]...\n       shaderc [--message-format <MESSAGE_FORMAT>] <COMMAND>",
    after_help = "Exit status: 0 done; 1 the input is wrong or asks for what the machine lacks; 2 malformed command line; \
                  3 too much of something that the machine has; 70 a bug in shaderc."
)]
pub struct Cli {
    /// What to do; compiling is the default.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Arguments of compiling.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How diagnostics are written.
    #[arg(long, global = true, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
    /// Whether diagnostics are coloured; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
}

impl Cli {
    /// Parses a command line. Options of compiling do not mix with the other commands; `--message-format` stands anywhere.
    pub fn read(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        if let Some((name, _)) = matches.subcommand() {
            let given = |a: &&clap::Arg| {
                !["message_format", "color"].contains(&a.get_id().as_str())
                    && matches.value_source(a.get_id().as_str()) == Some(ValueSource::CommandLine)
            };
            let stray = command.get_arguments().find(given).map(ToString::to_string);
            if let Some(stray) = stray {
                let m = format!("the argument '{stray}' cannot be used before '{name}'");
                return Err(command.error(ErrorKind::ArgumentConflict, m));
            }
        }
        Cli::from_arg_matches(&matches)
    }
}

/// The commands besides compiling.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Assemble text into code words.
    Asm(AsmArgs),
    /// Disassemble code or a container.
    Dis(DisArgs),
    /// Execute a shader on given inputs: the interpreter, or a target's simulator.
    Run(RunArgs),
    /// Compare code size on several targets.
    Compare(CompareArgs),
    /// Report what the hardware forbids in code, a container or assembly.
    Lint(LintArgs),
    /// Render a fragment shader to a PNG image.
    Render(RenderArgs),
    /// Run filetests.
    Test(TestArgs),
    /// List targets, or one target's limits.
    Targets(TargetsArgs),
    /// Compile all sources of a folder or a manifest, several at a time.
    Batch(BatchArgs),
    /// Make a source that shows a failure as small as it can be while it still shows it.
    Reduce(ReduceArgs),
    /// Say what a message's code means and what to do; all codes without one.
    Explain {
        /// The code, such as F0011.
        code: Option<String>,
    },
    /// Print a shell's completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff).
    Man,
}

/// When diagnostics are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// `file:line:col: error[CODE]: message`, the source line and a caret.
    Human,
    /// One JSON object per line.
    Json,
}

/// How a source is read.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Source language (ir, wgsl, glsl, hlsl, spv); otherwise by the file's extension.
    #[arg(long, value_name = "L", value_parser = language)]
    pub lang: Option<Language>,
    /// Entry point.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Stage (vertex, geometry, fragment, compute).
    #[arg(long, value_name = "S", value_parser = stage)]
    pub stage: Option<Stage>,
    /// Preprocessor definition or override constant.
    #[arg(long, value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// A folder in which `#include` looks, after the one of the including file.
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// The program before this one in the pipeline: GLSL inputs without location take those of its outputs of the same names.
    #[arg(long, value_name = "FILE")]
    pub after: Option<PathBuf>,
    /// A promise: an integer input or uniform stays within LO to HI, both included.
    #[arg(long, value_name = "NAME=LO..HI", value_parser = range, allow_hyphen_values = true)]
    pub range: Vec<(String, i64, i64)>,
    /// Whether functions may stay functions, as the target wants it.
    #[arg(skip)]
    pub functions: bool,
}

/// `NAME=LO..HI`
fn range(s: &str) -> Result<(String, i64, i64), String> {
    let (name, bounds) = s.split_once('=').ok_or("it is NAME=LO..HI")?;
    let (lo, hi) = bounds.split_once("..").ok_or("it is NAME=LO..HI")?;
    let number = |t: &str| t.trim_start_matches('=').parse::<i64>().map_err(|_| format!("`{t}` is no integer"));
    Ok((name.to_string(), number(lo)?, number(hi)?))
}

/// A name of `--lang`.
fn language(s: &str) -> Result<Language, String> {
    let names = Language::NAMES.map(|l| l.0);
    Language::from_name(s).ok_or_else(|| format!("languages are {}{}", names.join(", "), also(s, names)))
}

/// How a target compiles.
#[derive(Args, Clone, Debug)]
pub struct CodegenArgs {
    /// Optimisation level: 0, 1, 2 or s.
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "s"])]
    pub opt: String,
    /// Chip within the target's family.
    #[arg(long, value_name = "C")]
    pub chip: Option<String>,
    /// Let texels, colours and what is computed from them be f16 where the machine has it.
    #[arg(long)]
    pub relaxed_precision: bool,
    /// How the colour of a fragment program leaves it (USSE): f16, u8 or f32; auto is f16, and u8 where the program reads the frame buffer. `run` of a source rounds it only where this says so.
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = ["auto", "f16", "u8", "f32"])]
    pub color_format: String,
    /// Clamp indices to their arrays.
    #[arg(long)]
    pub robust: bool,
    /// How matrices of uniforms lie where the source does not say and the machine leaves a choice (PICA200: row).
    #[arg(long, value_name = "row|column", value_parser = ["row", "column"])]
    pub matrix_layout: Option<String>,
    /// Let small uniforms of a block share registers where each would have its own (PICA200).
    #[arg(long)]
    pub pack_uniforms: bool,
    /// Keep to what emulators of the platform execute (Wii U), even where that is larger.
    #[arg(long)]
    pub robust_emulators: bool,
    /// The most registers that a thread may take: more threads run at once, values that find no room go to memory (Tesla).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=126))]
    pub max_registers: Option<u32>,
    /// Make each uniform block a uniform buffer of its own, by its binding, where all would share the default one (USSE).
    #[arg(long)]
    pub uniform_buffers: bool,
    /// Check the finished code, by rules of its own, on every path: values that are read before they are written, waits that are missing,
    /// what the machine forbids; then run it on the machine's simulator, on a few chosen inputs, beside what the program means. A finding is a
    /// bug of this program and ends it with status 70.
    #[arg(long)]
    pub verify: bool,
    /// Whether products and sums may be contracted.
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = ["on", "off"])]
    pub fp_contract: String,
}

/// `shaderc --target T FILE`
#[derive(Args, Clone, Debug)]
pub struct CompileArgs {
    /// Target, or several separated by commas.
    #[arg(long, short = 't', value_name = "T", value_delimiter = ',')]
    pub target: Vec<String>,
    /// Output file; a folder where several files, kinds or targets are asked for; `-` for stdout. The target follows from .shbin, .gxp and .gsh.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Make one container of all programs, where the platform has that (PICA200: a vertex and a geometry program; Wii U: the stages of a pipeline, also without being asked where OUT ends in .gsh).
    #[arg(long)]
    pub link: bool,
    /// What to write: bin container asm hex ir legal mir regalloc stats reflect map header vitagl vitagl-texture-size; gsh is the container of R700's chip latte; mif mif-constants mif-bench are the memories and the launch of Tesla's chip flexgripplus.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_enum)]
    pub emit: Vec<Emit>,
    /// How to read the sources.
    #[command(flatten)]
    pub source: SourceArgs,
    /// How to compile.
    #[command(flatten)]
    pub codegen: CodegenArgs,
    /// Warnings: NAME, no-NAME, error=NAME, all, none, error. NAME is uninitialised, unused, precision, layout, initial, shared, semantics, flat, position, sample-mask, linking or a code.
    #[arg(short = 'W', value_name = "NAME")]
    pub warn: Vec<String>,
    /// Show the source's lines as comments in assembly.
    #[arg(long)]
    pub annotate: bool,
    /// Print the text after a pass or stage on stderr (`all` for each).
    #[arg(long, value_name = "PASS")]
    pub print_after: Vec<String>,
    /// What a source may take: input (bytes of a file), instructions and blocks (of its IR), code (bytes), trials (ways that a search tries),
    /// time (seconds of the processor, for a target), memory (MiB of the command). Beyond that there is an error and status 3.
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::limits::parse)]
    pub limit: Vec<(String, u64)>,
    /// Write the files that the output depends on, as a makefile rule.
    #[arg(long, value_name = "FILE")]
    pub depfile: Option<PathBuf>,
    /// Source files, or `-` with --lang. Several are a pipeline: each takes its varyings from the one before it. With --emit reflect
    /// also a container that shows its interface (`.gxp`, `.gsh`).
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// What compiling can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
#[allow(missing_docs)]
pub enum Emit {
    Bin,
    Container,
    Asm,
    Hex,
    Ir,
    Legal,
    Mir,
    Regalloc,
    Stats,
    Reflect,
    Map,
    Header,
    Vitagl,
    Gsh,
    VitaglTextureSize,
    Mif,
    MifConstants,
    MifBench,
}

impl Emit {
    /// The name on the command line and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Emit::Bin => "bin",
            Emit::Container => "container",
            Emit::Asm => "asm",
            Emit::Hex => "hex",
            Emit::Ir => "ir",
            Emit::Legal => "legal",
            Emit::Mir => "mir",
            Emit::Regalloc => "regalloc",
            Emit::Stats => "stats",
            Emit::Reflect => "reflect",
            Emit::Map => "map",
            Emit::Header => "header",
            Emit::Vitagl => "vitagl",
            Emit::Gsh => "gsh",
            Emit::VitaglTextureSize => "vitagl-texture-size",
            Emit::Mif => "mif",
            Emit::MifConstants => "mif-constants",
            Emit::MifBench => "mif-bench",
        }
    }
    /// Whether the output is not text.
    pub fn is_binary(self) -> bool {
        matches!(self, Emit::Bin | Emit::Container | Emit::Vitagl | Emit::VitaglTextureSize | Emit::Gsh)
    }
}

/// What machine text depends on.
#[derive(Args, Clone, Debug)]
pub struct SyntaxArgs {
    /// Spelling: what users of the machine know, or the lossless field listing.
    #[arg(long, value_enum, default_value = "native")]
    pub syntax: SyntaxArg,
    /// Stage, where the text depends on it.
    #[arg(long, value_name = "S", value_parser = stage)]
    pub stage: Option<Stage>,
    /// Chip, where the text depends on it.
    #[arg(long, value_name = "C")]
    pub chip: Option<String>,
}

/// Spelling of machine text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum SyntaxArg {
    Native,
    Fields,
}

/// `shaderc asm`
#[derive(Args, Debug)]
pub struct AsmArgs {
    /// Target.
    #[arg(long, short = 't', value_name = "T")]
    pub target: String,
    /// What the text depends on.
    #[command(flatten)]
    pub syntax: SyntaxArgs,
    /// What to write; `hex` works line by line.
    #[arg(long, value_enum)]
    pub emit: Option<AsmEmit>,
    /// Output file.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Header with the registers of uniforms, for C (PICA200).
    #[arg(long, value_name = "OUT")]
    pub header: Option<PathBuf>,
    /// Leave out the NOPs that the hardware needs at the ends of blocks; a warning says where (PICA200).
    #[arg(long)]
    pub no_nop: bool,
    /// Assembly texts, or `-`; several become one container.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// What `asm` can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum AsmEmit {
    Hex,
    Bin,
    Container,
}

/// `shaderc dis`
#[derive(Args, Debug)]
pub struct DisArgs {
    /// Target; a container names its own.
    #[arg(long, short = 't', value_name = "T")]
    pub target: Option<String>,
    /// What the text depends on.
    #[command(flatten)]
    pub syntax: SyntaxArgs,
    /// The input is text: one instruction per line, its words in hex.
    #[arg(long)]
    pub hex: bool,
    /// Show where the code comes from, by what `--emit map` wrote.
    #[arg(long, value_name = "MAP.json", conflicts_with = "hex")]
    pub map: Option<PathBuf>,
    /// Code, a container, or hex; `-` for stdin.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `shaderc run`
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Run the legalised IR under this target's arithmetic.
    #[arg(long, value_name = "T", conflicts_with = "target")]
    pub legal: Option<String>,
    /// Run the machine code on this target's simulator.
    #[arg(long, short = 't', value_name = "T")]
    pub target: Option<String>,
    /// How to read the source.
    #[command(flatten)]
    pub source: SourceArgs,
    /// How to compile.
    #[command(flatten)]
    pub codegen: CodegenArgs,
    /// Inputs, uniforms, textures and buffers as JSON.
    #[arg(long, value_name = "BIND.json")]
    pub bind: PathBuf,
    /// On a simulator: which side of a branch runs first where lanes disagree, as far as the machine leaves that open.
    #[arg(long, value_name = "next|taken", default_value = "next", value_parser = ["next", "taken"])]
    pub branch_order: String,
    /// Where the results go.
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    /// Source, or a container that names its target (`.gxp`, `.gsh`), whose own names the bind file then uses; --stage or --entry
    /// choose among its programs.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `shaderc compare`
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Targets, separated by commas; by default those that have the program's stage.
    #[arg(long, alias = "target", value_name = "T", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Form of the report.
    #[arg(long, value_enum, default_value = "table")]
    pub format: CompareFormat,
    /// An earlier report in the json format: the html format shows what it helped and hurt since.
    #[arg(long, value_name = "FILE.json")]
    pub baseline: Option<PathBuf>,
    /// How to read the sources.
    #[command(flatten)]
    pub source: SourceArgs,
    /// How to compile.
    #[command(flatten)]
    pub codegen: CodegenArgs,
    /// Output file.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Sources and folders of them; all entry points of a source, unless --entry or --stage chooses.
    #[arg(value_name = "FILE|DIR", required = true)]
    pub files: Vec<PathBuf>,
}

/// Forms of `compare`'s report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum CompareFormat {
    Table,
    Json,
    Html,
    ShaderDb,
}

/// `shaderc lint`
#[derive(Args, Debug)]
pub struct LintArgs {
    /// Target; a container names its own.
    #[arg(long, short = 't', value_name = "T")]
    pub target: Option<String>,
    /// What the text depends on.
    #[command(flatten)]
    pub syntax: SyntaxArgs,
    /// Code, a container or assembly; `-` for stdin.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `shaderc render`
#[derive(Args, Debug)]
pub struct RenderArgs {
    /// Render with this target's simulator; otherwise the interpreter.
    #[arg(long, short = 't', value_name = "T")]
    pub target: Option<String>,
    /// How to read the source.
    #[command(flatten)]
    pub source: SourceArgs,
    /// How to compile.
    #[command(flatten)]
    pub codegen: CodegenArgs,
    /// Width and height in pixels.
    #[arg(long, value_name = "WxH", default_value = "256x256")]
    pub size: String,
    /// Uniforms, textures and buffers as JSON.
    #[arg(long, value_name = "BIND.json")]
    pub bind: Option<PathBuf>,
    /// A uniform as JSON (`time=1.5`; the end of a name is enough if no other has it), or a matrix of the built-in camera: @identity @model @view @projection @model_view @mvp.
    #[arg(long, value_name = "NAME=VALUE")]
    pub uniform: Vec<String>,
    /// A 2D texture from a PNG file; `NAME:linear=FILE` filters, `NAME:clamp=FILE` clamps.
    #[arg(long, value_name = "NAME=FILE.png")]
    pub texture: Vec<String>,
    /// What a fragment input holds without a vertex program: uv (default), ndc, pixel, or a JSON value.
    #[arg(long, value_name = "NAME=KIND")]
    pub varying: Vec<String>,
    /// Draw a mesh with a vertex and a fragment program: triangle, quad, cube, sphere, or a model's file (.obj, .gltf, .glb).
    #[arg(long, value_name = "MESH")]
    pub mesh: Option<String>,
    /// Seconds that uniforms called `time` hold in the first picture.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub time: f32,
    /// Pictures of an animation, which becomes an animated PNG.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub frames: u32,
    /// Pictures in a second.
    #[arg(long, value_name = "F", default_value = "25", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub fps: u16,
    /// Draw on the interpreter and on every target, side by side, with what differs below.
    #[arg(long, conflicts_with = "target")]
    pub sheet: bool,
    /// The image; by default the program's name with `.png`, in the current folder.
    #[arg(short, long, value_name = "OUT.png")]
    pub output: Option<PathBuf>,
    /// A fragment program; with --mesh a vertex and a fragment program, or one file that has both.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    pub files: Vec<PathBuf>,
}

/// `shaderc test`
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Rewrite exact expectations instead of comparing.
    #[arg(long)]
    pub bless: bool,
    /// Files or folders.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
}

/// `shaderc targets`
#[derive(Args, Debug)]
pub struct TargetsArgs {
    /// One target, in detail.
    #[arg(value_name = "T")]
    pub target: Option<String>,
    /// Chip within the family.
    #[arg(long, value_name = "C")]
    pub chip: Option<String>,
}

/// `shaderc batch`
#[derive(Args, Debug)]
pub struct BatchArgs {
    /// Targets, separated by commas; a manifest may name others.
    #[arg(long, short = 't', value_name = "T", value_delimiter = ',')]
    pub target: Vec<String>,
    /// Sources that are compiled at the same time; as many as there are processors by default.
    #[arg(short, value_name = "N")]
    pub jobs: Option<usize>,
    /// Folder of the outputs; those of a folder's sources stand as the sources do.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Go on after a source that does not compile.
    #[arg(long)]
    pub keep_going: bool,
    /// Seconds that one source may take.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub time: u64,
    /// MiB of address space that one source may take (on Unix; at least 1024).
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1024..))]
    pub memory: Option<u64>,
    /// A folder, or a manifest: a JSON object a line, `{ "file": …, "target": …, "options": […] }`.
    #[arg(value_name = "DIR|MANIFEST")]
    pub source: PathBuf,
    /// Options of every compilation.
    #[arg(last = true, value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
}

/// `shaderc reduce`
#[derive(Args, Debug)]
#[command(after_help = "Example, a source that makes the compiler end with status 70:\n  \
                        shaderc reduce bad.frag --command 'shaderc -t usse -o /dev/null {}; test $? = 70' -o small.frag\n\n\
                        The command must say yes only to the failure that is meant: a source that no longer compiles shows most others not at all.")]
pub struct ReduceArgs {
    /// Decides whether a source still shows the failure: a command for the shell that exits with 0 if it does and with anything else if not.
    /// `{}` is the path of the source to look at, which keeps the name of FILE; without `{}` the path is the last argument.
    #[arg(long, value_name = "COMMAND")]
    pub command: String,
    /// Where the smallest source goes, each time that a smaller one is found; stdout at the end without it.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Source language (ir, wgsl, glsl, hlsl); otherwise by the file's extension.
    #[arg(long, value_name = "L", value_parser = language)]
    pub lang: Option<Language>,
    /// The most times that the command is run.
    #[arg(long, value_name = "N", default_value = "20000")]
    pub attempts: u64,
    /// Seconds that a run of the command may take; one that takes longer does not show the failure.
    #[arg(long, value_name = "SECONDS", default_value = "20")]
    pub time: u64,
    /// The source, in a language of text.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

fn stage(s: &str) -> Result<Stage, String> {
    let names: Vec<&str> = Stage::ALL.iter().map(|n| n.name()).collect();
    Stage::from_name(s).ok_or_else(|| format!("stages are {}{}", names.join(", "), also(s, names)))
}
