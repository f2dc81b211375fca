//! Options of a compilation.

use crate::driver::{Phase, Unfinished};
use crate::limits::Limits;
use indexmap::IndexSet;
use retroshade_ir::Cancel;

/// How hard to optimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptLevel {
    /// Only what is needed for correctness.
    O0,
    /// Cheap passes.
    O1,
    /// Everything (the default).
    #[default]
    O2,
    /// Everything, size before speed.
    Os,
}

/// How the colour of a fragment program leaves it, where the machine has several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorFormat {
    /// Four halves; four fractions of 255 where the program reads the frame buffer's colour (the default).
    #[default]
    Auto,
    /// Four halves.
    F16,
    /// Four fractions of 255.
    U8,
    /// Four single-precision floats.
    F32,
}

/// How matrices of uniforms lie in memory where the source does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixLayout {
    /// Row by row.
    Row,
    /// Column by column.
    Column,
}

/// What a caller may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// Optimisation level.
    pub opt: OptLevel,
    /// Chip within the target's family; the target's default where absent.
    pub chip: Option<String>,
    /// Whether products and sums may be contracted.
    pub fp_contract: bool,
    /// Whether texels, colours and what depends on them may be f16 where the machine has f16 arithmetic.
    pub relaxed_precision: bool,
    /// How the colour of a fragment program leaves it (USSE); values stay f32 up to that conversion.
    pub color_format: ColorFormat,
    /// Whether indices are clamped to their arrays.
    pub robust: bool,
    /// Collect the text after these stages or passes in `CompiledShader::dumps` (`all` for every one).
    pub print_after: IndexSet<String>,
    /// Where these texts are when the compilation fails.
    pub unfinished: Unfinished,
    /// Whether the texts for people are wanted, [`CompiledShader::asm`](crate::CompiledShader) and those in `extra`. Targets may
    /// leave them out otherwise, which saves about a tenth of the time.
    pub texts: bool,
    /// How matrices of uniforms lie where the machine leaves a choice (PICA200: row by row, as citro3d stores them).
    pub matrix_layout: Option<MatrixLayout>,
    /// Whether uniforms share registers as their blocks lay them out, where each would have its own (PICA200).
    pub pack_uniforms: bool,
    /// Whether the code keeps to what the platform's emulators execute (R700 on the Wii U).
    pub emulators: bool,
    /// Whether the module is verified before it is compiled; callers that have just done so may spare the time.
    pub verify: bool,
    /// The most registers that a thread may take where that is a choice (Tesla); beyond them values go to memory.
    pub max_registers: Option<u32>,
    /// Whether each uniform block that the source names is a uniform buffer of its own, by its binding (USSE); otherwise all
    /// uniforms lie in the default uniform buffer.
    pub uniform_buffers: bool,
    /// What the compilation may take.
    pub limits: Limits,
    /// A flag by which the caller ends the compilation.
    pub cancel: Cancel,
    /// Whether finished code is [validated](crate::validate) (always on in debug builds).
    pub validate: bool,
    /// Run regalloc2's checker on every allocation (always on in debug builds).
    pub check_allocation: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opt: OptLevel::O2,
            chip: None,
            fp_contract: true,
            relaxed_precision: false,
            color_format: ColorFormat::default(),
            robust: false,
            print_after: IndexSet::new(),
            unfinished: Unfinished::default(),
            texts: true,
            matrix_layout: None,
            pack_uniforms: false,
            emulators: false,
            verify: true,
            max_registers: None,
            uniform_buffers: false,
            limits: Limits::default(),
            cancel: Cancel::default(),
            validate: cfg!(debug_assertions),
            check_allocation: cfg!(debug_assertions),
        }
    }
}

impl Options {
    /// Whether the text after `stage` is wanted.
    pub fn wants(&self, stage: &str) -> bool {
        self.print_after.contains(stage) || self.print_after.contains("all")
    }
    /// Whether the text of one of these stages is wanted, to be handed on or to be shown.
    pub fn writes(&self, stages: &[Phase]) -> bool {
        self.texts || stages.iter().any(|s| self.wants(s.name()))
    }
}
