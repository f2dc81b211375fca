//! What random programs may use: one profile per machine, and one with everything.

use retroshade_ir::{Opcode, Stage};

/// Knobs of the generator.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Stages to choose from.
    pub stages: Vec<Stage>,
    /// Integer values and operations beyond what an index into uniforms needs.
    pub ints: bool,
    /// Small integers, whose ranges are plain to see, for machines without integers of their own.
    pub small_ints: bool,
    /// f16 values.
    pub f16: bool,
    /// i1 vectors, `any`, `all`, selections per lane.
    pub bool_vectors: bool,
    /// Whether an operation may be used.
    pub allow: fn(Opcode) -> bool,
    /// Texture operations.
    pub textures: bool,
    /// Textures that are not plain 2D, and gather, fetch, size, gradients, comparison.
    pub rich_textures: bool,
    /// The level of a sample is asked for.
    pub levels: bool,
    /// Textures are only sampled, without texel offset: no arrays, comparison, integers, gather, fetch, size.
    pub samples_only: bool,
    /// Fragment programs have one colour, of floats, and do not know which side of a triangle they shade.
    pub one_colour: bool,
    /// Integers that a location between the stages holds at most.
    pub varying_ints: u8,
    /// Branches whose lanes may disagree.
    pub branches: bool,
    /// Loops.
    pub loops: bool,
    /// Loops whose lanes leave at different times, `break`, `continue`.
    pub divergent_loops: bool,
    /// `switch` (needs integers, which may be small ones).
    pub switches: bool,
    /// Helper functions.
    pub calls: bool,
    /// Helper functions as procedures meet them: several parameters and results of all kinds, each called several times.
    pub procedures: bool,
    /// Local arrays.
    pub locals: bool,
    /// Uniforms indexed by a computed value.
    pub dynamic_uniforms: bool,
    /// Computed indices of uniforms and local arrays have constant parts beside them, and may be negative without.
    pub index_offsets: bool,
    /// Inputs and outputs that are indexed arrays.
    pub io_arrays: bool,
    /// `ddx`, `ddy`.
    pub derivatives: bool,
    /// `discard` and `kill`.
    pub discard: bool,
    /// Returns before the end.
    pub early_return: bool,
    /// Geometry programs that run several times for a primitive.
    pub instances: bool,
    /// Geometry programs only make triangle strips, and never more vertices than they declare.
    pub only_strips: bool,
    /// Lanes of floats that are made before everything else and read after it.
    pub alive: usize,
    /// Instructions to aim at: from, to.
    pub size: (usize, usize),
    /// Invocations of a vertex or fragment program.
    pub lanes: usize,
    /// Bits of mantissa that inputs may have (machines with narrow floats are exact only on such inputs).
    pub mantissa: u32,
}

impl Profile {
    /// Everything that the IR has.
    pub fn everything() -> Profile {
        Profile {
            stages: Stage::ALL.to_vec(),
            ints: true,
            small_ints: false,
            f16: true,
            bool_vectors: true,
            allow: |_| true,
            textures: true,
            rich_textures: true,
            levels: false,
            samples_only: false,
            one_colour: false,
            varying_ints: 4,
            branches: true,
            loops: true,
            divergent_loops: true,
            switches: true,
            calls: true,
            procedures: false,
            locals: true,
            dynamic_uniforms: true,
            index_offsets: false,
            io_arrays: true,
            derivatives: true,
            discard: true,
            early_return: true,
            instances: true,
            only_strips: false,
            alive: 0,
            size: (24, 110),
            lanes: 8,
            mantissa: 23,
        }
    }
    /// Tesla: all stages, all operations.
    pub fn tesla() -> Profile {
        Profile::everything()
    }
    /// R700: vertex and fragment programs.
    pub fn r700() -> Profile {
        Profile {
            stages: vec![Stage::Vertex, Stage::Fragment],
            index_offsets: true,
            levels: true,
            instances: false,
            ..Profile::everything()
        }
    }
    /// USSE: vertex and fragment programs.
    pub fn usse() -> Profile {
        Profile {
            stages: vec![Stage::Vertex, Stage::Fragment],
            io_arrays: false,
            instances: false,
            samples_only: true,
            one_colour: true,
            varying_ints: 2,
            ..Profile::everything()
        }
    }
    /// PICA200: vertex programs in floats and small integers, without memory.
    pub fn pica() -> Profile {
        Profile {
            stages: vec![Stage::Vertex],
            ints: false,
            small_ints: true,
            f16: false,
            allow: |op| !matches!(op, Opcode::Fsin | Opcode::Fcos),
            textures: false,
            rich_textures: false,
            io_arrays: false,
            derivatives: false,
            discard: false,
            instances: false,
            only_strips: true,
            size: (20, 90),
            mantissa: 16,
            ..Profile::everything()
        }
    }
    /// PICA200: programs about their helper functions.
    pub fn pica_procedures() -> Profile {
        Profile { procedures: true, size: (8, 30), ..Profile::pica() }
    }
    /// The same with straight-line code only: for bringing up a target.
    pub fn straight_line(self) -> Profile {
        Profile {
            branches: false,
            loops: false,
            divergent_loops: false,
            switches: false,
            calls: false,
            early_return: false,
            discard: false,
            ..self
        }
    }
    /// The same with so many lanes alive from the first instruction to the last.
    pub fn crowded(self, alive: usize) -> Profile {
        Profile { alive, size: (8, 60), ..self }
    }
    /// The same for some stages only.
    pub fn only(self, stages: &[Stage]) -> Profile {
        Profile { stages: stages.to_vec(), ..self }
    }
}
