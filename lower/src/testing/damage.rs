//! Damage: what the validator makes of code that was changed after it was compiled.

use super::{Profile, default_options, random_program};
use crate::isa::{CompiledShader, TargetIsa};
use crate::options::Options;
use crate::validate::validate;

/// How many damaged programs there were, and how many the validator objected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noticed {
    /// Damaged programs.
    pub damaged: usize,
    /// Those that the validator objects to, or that cannot be read any more.
    pub noticed: usize,
}

impl Noticed {
    /// Whether at least so many in a hundred were noticed, and there was damage at all.
    pub fn at_least(&self, percent: usize) -> bool {
        self.damaged > 0 && self.noticed * 100 >= self.damaged * percent
    }
}

/// Compiles random programs, damages each in every way that `damage` gives, and validates the results.
pub fn noticed(
    isa: &dyn TargetIsa,
    profile: &Profile,
    seeds: std::ops::Range<u64>,
    damage: &dyn Fn(&CompiledShader) -> Vec<CompiledShader>,
) -> Noticed {
    let mut out = Noticed::default();
    for seed in seeds {
        let (module, _) = random_program(profile, seed);
        let options = Options { texts: false, ..default_options(seed) };
        let Ok(shader) = isa.compile(&module, &options) else { continue };
        for changed in damage(&shader) {
            out.damaged += 1;
            out.noticed += usize::from(validate(isa, &changed).map_or(true, |found| !found.is_empty()));
        }
    }
    out
}

/// A shader with other code, in its container too, where that holds the code as it is.
pub fn with_code(shader: &CompiledShader, code: Vec<u8>) -> CompiledShader {
    let mut container = shader.container.clone();
    if let Some(at) = container.windows(shader.code.len().max(1)).position(|w| w == shader.code) {
        container[at..at + code.len()].copy_from_slice(&code);
    }
    CompiledShader { code, container, ..shader.clone() }
}
