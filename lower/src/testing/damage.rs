//! Damage: what the validator makes of code that was changed after it was compiled.

use super::{Profile, default_options, random_program};
use crate::isa::{CompiledShader, TargetIsa};
use crate::options::Options;
use crate::validate::meaning::{self, Effort};
use crate::validate::validate;
use retroshade_ir::Cancel;

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

/// What makes damaged programs of one.
type Damage<'a> = &'a dyn Fn(&CompiledShader) -> Vec<CompiledShader>;

/// Compiles random programs and damages each in every way that `damage` gives.
fn each_damaged(
    isa: &dyn TargetIsa,
    profile: &Profile,
    seeds: std::ops::Range<u64>,
    damage: Damage,
    judge: &mut dyn FnMut(Vec<CompiledShader>),
) {
    for seed in seeds {
        let (module, _) = random_program(profile, seed);
        let options = Options { texts: false, ..default_options(seed) };
        if let Ok(shader) = isa.compile(&module, &options) {
            judge(damage(&shader));
        }
    }
}

/// What the validator notices of damaged random programs.
pub fn noticed(isa: &dyn TargetIsa, profile: &Profile, seeds: std::ops::Range<u64>, damage: Damage) -> Noticed {
    let mut out = Noticed::default();
    each_damaged(isa, profile, seeds, damage, &mut |all| {
        out.damaged += all.len();
        out.noticed += all.iter().filter(|s| objects(isa, s)).count();
    });
    out
}

/// Hands on some of the damages of each random program that break no rule.
fn each_unruled(
    isa: &dyn TargetIsa,
    profile: &Profile,
    seeds: std::ops::Range<u64>,
    damage: Damage,
    judge: &mut dyn FnMut(&CompiledShader),
) {
    const EACH: usize = 4;
    each_damaged(isa, profile, seeds, damage, &mut |all| {
        all.iter().step_by(all.len().div_ceil(EACH).max(1)).filter(|s| !objects(isa, s)).for_each(&mut *judge);
    });
}

/// Of damaged random programs that break no rule, what shows as another meaning: of each program some of its damages.
pub fn noticed_by_meaning(isa: &dyn TargetIsa, profile: &Profile, seeds: std::ops::Range<u64>, damage: Damage) -> Noticed {
    let mut out = Noticed::default();
    each_unruled(isa, profile, seeds, damage, &mut |s| {
        out.damaged += 1;
        out.noticed += usize::from(meaning::check(isa, s, &Cancel::default()).is_err());
    });
    out
}

/// As [`noticed_by_meaning`], without the damages that many more inputs do not show either, such as how often an empty loop goes round: most change nothing
/// that the program gives. The second number is how many those are.
pub fn noticed_of_what_differs(isa: &dyn TargetIsa, profile: &Profile, seeds: std::ops::Range<u64>, damage: Damage) -> (Noticed, usize) {
    let many = Effort { sets: 64, ..Effort::default() };
    let (mut out, mut alike) = (Noticed::default(), 0);
    each_unruled(isa, profile, seeds, damage, &mut |s| {
        let cancel = Cancel::default();
        let noticed = meaning::check(isa, s, &cancel).is_err();
        if noticed || meaning::check_with(isa, s, many, &cancel).is_err() {
            out.damaged += 1;
            out.noticed += usize::from(noticed);
        } else {
            alike += 1;
        }
    });
    (out, alike)
}

fn objects(isa: &dyn TargetIsa, shader: &CompiledShader) -> bool {
    validate(isa, shader).map_or(true, |found| !found.is_empty())
}

/// A shader with a bit of its code flipped, of all bits every nth for itself, where that breaks no rule.
pub fn lawful_flips(isa: &dyn TargetIsa, shader: &CompiledShader, every: usize) -> Vec<CompiledShader> {
    let flipped = (0..8 * shader.code.len()).step_by(every).map(|bit| {
        let mut code = shader.code.clone();
        code[bit / 8] ^= 1 << (bit % 8);
        with_code(shader, code)
    });
    flipped.filter(|s| !objects(isa, s)).collect()
}

/// A shader with other code, in its container too, where that holds the code as it is.
pub fn with_code(shader: &CompiledShader, code: Vec<u8>) -> CompiledShader {
    let mut container = shader.container.clone();
    if let Some(at) = container.windows(shader.code.len().max(1)).position(|w| w == shader.code) {
        container[at..at + code.len()].copy_from_slice(&code);
    }
    CompiledShader { code, container, ..shader.clone() }
}
