//! What instructions do: one row per operation, shared by the form table, the code generator, the schedule and the simulator.
//!
//! A row has the unit that executes it, what it does besides writing its result, and a line for the documentation. Numbers in
//! parentheses are sections of the ISA description.

/// Types of conversions; integer types are in the form's `sty`/`dty` fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    /// 16-bit float in a half register.
    F16,
    /// 32-bit float.
    F32,
    /// 64-bit float in a register pair.
    F64,
    /// Integer in a half register, or (as a source) of any size by the type field.
    H,
    /// Integer in a full register.
    W,
    /// 64-bit integer.
    I64,
}

impl Ty {
    const COUNT: usize = Ty::I64 as usize + 1;
    /// The number of a pair of types.
    const fn with(self, other: Ty) -> usize {
        self as usize * Ty::COUNT + other as usize
    }
}

/// Which part of a multiprocessor executes an operation (12, rule 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Arithmetic and moves.
    Alu,
    /// Transcendental functions.
    Sfu,
    /// Memory on the chip: a[], o[], c[], s[], v[].
    Near,
    /// Memory behind the caches, and textures.
    Far,
    /// Control flow.
    Flow,
}

impl Unit {
    /// Cycles until a result is there. The hardware interlocks, so that a wrong figure costs time only.
    pub const fn latency(self) -> u32 {
        match self {
            Unit::Alu | Unit::Near | Unit::Flow => 22,
            Unit::Sfu => 36,
            Unit::Far => 400,
        }
    }
}

/// What an operation does besides writing its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Pure,
    /// Reads l[], s[] or g[].
    Reads,
    /// Writes l[], s[] or g[].
    Stores,
    /// Changes a word of memory and may give its old value.
    Atomic,
    /// Writes an output word.
    Outputs,
    /// Takes the output words as a vertex, or ends the strip.
    Emits,
    /// Changes which lanes run, or where.
    Flow,
}

macro_rules! operations {
    ($($name:ident $unit:ident $effect:ident $doc:literal;)*) => {
        /// An operation. `H` marks the 16-bit variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $(#[doc = $doc] $name,)*
            /// Conversion to the first type from the second.
            Cvt(Ty, Ty),
            /// Rounding to an integral float.
            CvtInt(Ty, Ty),
        }

        /// The operations without types, to be counted.
        enum Plain { $($name,)* Count }

        impl Op {
            /// How many operations there are.
            pub const COUNT: usize = Plain::Count as usize + 2 * Ty::COUNT * Ty::COUNT;
            /// The operation's number, below [`Op::COUNT`].
            pub const fn number(self) -> usize {
                match self {
                    $(Op::$name => Plain::$name as usize,)*
                    Op::Cvt(to, from) => Plain::Count as usize + to.with(from),
                    Op::CvtInt(to, from) => Plain::Count as usize + Ty::COUNT * Ty::COUNT + to.with(from),
                }
            }
            /// A line for the documentation.
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Op::$name => $doc,)*
                    Op::Cvt(..) => "Converts between types; integers saturate, never wrap (5.6, 6).",
                    Op::CvtInt(..) => "Rounds to a whole number of the same float type (5.6).",
                }
            }
            /// What executes it.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Op::$name => Unit::$unit,)*
                    Op::Cvt(..) | Op::CvtInt(..) => Unit::Alu,
                }
            }
            /// What it does besides its result.
            pub const fn effect(self) -> Effect {
                match self {
                    $(Op::$name => Effect::$effect,)*
                    Op::Cvt(..) | Op::CvtInt(..) => Effect::Pure,
                }
            }
        }
    };
}

operations! {
    MovH Alu Pure "Copies a 16-bit half (5.3).";
    Mov Alu Pure "Copies a word, in the long form only in the lanes of the quad that the mask names (5.3).";
    AddH Alu Pure "16-bit sum or difference of halves, with or without carry, wrapping or saturating (6).";
    Add Alu Pure "Sum or difference, with or without carry, wrapping or saturating (6).";
    Mul16 Alu Pure "32-bit product of two halves, each signed or not (6).";
    Mul24 Alu Pure "Product of the low 24 bits, its low or its high 32 bits (6).";
    MadU16 Alu Pure "Product of two unsigned halves plus or minus a word (6).";
    MadS16 Alu Pure "Product of two signed halves plus or minus a word (6).";
    MadSatS16 Alu Pure "Product of two signed halves plus a word, saturating (6).";
    MadU24 Alu Pure "Unsigned 24-bit product plus or minus a word (6).";
    MadS24 Alu Pure "Signed 24-bit product plus or minus a word (6).";
    MadSatS24 Alu Pure "Signed 24-bit product plus a word, saturating (6).";
    MadHighU24 Alu Pure "High part of an unsigned 24-bit product plus or minus a word (6).";
    MadHighS24 Alu Pure "High part of a signed 24-bit product plus or minus a word (6).";
    MadSatHighS24 Alu Pure "High part of a signed 24-bit product plus a word, saturating (6).";
    SadH Alu Pure "Distance of two halves plus a word (6).";
    Sad Alu Pure "Distance of two words plus a word (6).";
    SetH Alu Pure "Compares halves: all ones where the relation holds, else 0 (6).";
    Set Alu Pure "Compares words: all ones where the relation holds, else 0 (6).";
    MaxH Alu Pure "The larger half (6).";
    Max Alu Pure "The larger word (6).";
    MinH Alu Pure "The smaller half (6).";
    Min Alu Pure "The smaller word (6).";
    ShlH Alu Pure "Shifts a half left; a count of 16 or more gives 0 (6).";
    Shl Alu Pure "Shifts left; a count of 32 or more gives 0 (6).";
    ShrH Alu Pure "Shifts a half right, with zeros or its sign (6).";
    Shr Alu Pure "Shifts right, with zeros or the sign (6).";
    LogicH Alu Pure "Bitwise operation on halves, each complemented or not (6).";
    Logic Alu Pure "Bitwise operation, each source complemented or not (6).";
    ShlA Alu Pure "Address register = source shifted left, 16 bits (6).";
    AddA Alu Pure "Address register = address register + constant, 16 bits (6).";
    MovFromC Alu Pure "The four flags of a `$c` as a number (6).";
    MovToC Alu Pure "The four low bits of a register as flags (6).";
    MovFromA Alu Pure "The value of an address register (5.3).";
    MovFromSr Alu Pure "A system register: lane and warp, clock, sample (1).";
    LdA Near Pure "Loads an attribute word, indexed where wanted (5.3, 9.1).";
    StO Near Outputs "Stores an output word, indexed where wanted (5.3, 9.1).";
    LdC8 Near Pure "Loads a byte of constant memory (5.3).";
    LdC16 Near Pure "Loads an unsigned half of constant memory (5.3).";
    LdCs16 Near Pure "Loads a signed half of constant memory (5.3).";
    LdC Near Pure "Loads a word of constant memory (5.3).";
    LdS8 Near Reads "Loads a byte of shared memory (5.3).";
    LdS16 Near Reads "Loads an unsigned half of shared memory (5.3).";
    LdSs16 Near Reads "Loads a signed half of shared memory (5.3).";
    LdS Near Reads "Loads a word of shared memory (5.3).";
    LdLock Near Atomic "Loads a word of shared memory and tries to lock it; the `$c` says whether (6).";
    StS8 Near Stores "Stores a byte of shared memory (5.3).";
    StS16 Near Stores "Stores a half of shared memory (5.3).";
    StS Near Stores "Stores a word of shared memory, and unlocks it where wanted (5.3, 6).";
    LdL Far Reads "Loads 1 to 16 bytes of the thread's local memory (5.3).";
    StL Far Stores "Stores 1 to 16 bytes of the thread's local memory (5.3).";
    LdG Far Reads "Loads 1 to 16 bytes of global memory (5.3).";
    StG Far Stores "Stores 1 to 16 bytes of global memory (5.3).";
    RedAdd Far Atomic "Adds to a word of global memory (6).";
    RedInc Far Atomic "Counts a word of global memory up, modulo (6).";
    RedDec Far Atomic "Counts a word of global memory down, modulo (6).";
    RedMax Far Atomic "Raises a word of global memory to the larger value (6).";
    RedMin Far Atomic "Lowers a word of global memory to the smaller value (6).";
    RedAnd Far Atomic "Clears bits of a word of global memory (6).";
    RedOr Far Atomic "Sets bits of a word of global memory (6).";
    RedXor Far Atomic "Flips bits of a word of global memory (6).";
    AtomAdd Far Atomic "Adds to a word of global memory; gives the old value (6).";
    AtomInc Far Atomic "Counts a word of global memory up, modulo; gives the old value (6).";
    AtomDec Far Atomic "Counts a word of global memory down, modulo; gives the old value (6).";
    AtomMax Far Atomic "Raises a word of global memory; gives the old value (6).";
    AtomMin Far Atomic "Lowers a word of global memory; gives the old value (6).";
    AtomAnd Far Atomic "Clears bits of a word of global memory; gives the old value (6).";
    AtomOr Far Atomic "Sets bits of a word of global memory; gives the old value (6).";
    AtomXor Far Atomic "Flips bits of a word of global memory; gives the old value (6).";
    Exch Far Atomic "Exchanges a value with global memory (6).";
    Cas Far Atomic "Replaces a value of global memory where it is as expected; gives the old one (6).";
    VoteAny Alu Pure "Whether the predicate holds in any active lane of the warp (6).";
    VoteAll Alu Pure "Whether the predicate holds in all active lanes of the warp (6).";
    Interp Near Pure "A varying at the fragment's centre, linear (9.3).";
    InterpCent Near Pure "A varying at the centroid, linear (9.3).";
    InterpMul Near Pure "A varying at the fragment's centre times a register, which holds w (9.3).";
    InterpCentMul Near Pure "A varying at the centroid times a register, which holds w (9.3).";
    InterpFlat Near Pure "A varying of the provoking vertex, or the facing (9.3).";
    Rcp Sfu Pure "1/x, within 0.98 ulp (6).";
    Rsqrt Sfu Pure "1/sqrt(x), within 1.52 ulp (6).";
    Lg2 Sfu Pure "log2(x) (6).";
    Sin Sfu Pure "Sine of what `presin` made (6).";
    Cos Sfu Pure "Cosine of what `presin` made (6).";
    Ex2 Sfu Pure "2 to the power of what `preex2` made (6).";
    Presin Sfu Pure "x in quarter turns, modulo a turn, as a fixed-point number (6).";
    Preex2 Sfu Pure "x as a fixed-point number with 23 fractional bits (6).";
    Fadd Alu Pure "f32 sum; denormals are zero (6).";
    Fmul Alu Pure "f32 product; denormals are zero; saturation needs GT200 (6).";
    Fmad Alu Pure "f32 product, truncated, plus an addend, rounded: not fused (6).";
    Fset Alu Pure "Compares f32: all ones where the relation holds, else 0 (6).";
    Fmax Alu Pure "The larger f32; of a number and a NaN the number (6).";
    Fmin Alu Pure "The smaller f32; of a number and a NaN the number (6).";
    Slct Alu Pure "Source 1 where source 3 is at least 0 as f32, else source 2 (6).";
    Quadop Alu Pure "f32 sum or difference of another lane's value of the quad and one's own (6).";
    Dfma Alu Pure "f64 product plus addend, fused (6).";
    Dadd Alu Pure "f64 sum (6).";
    Dmul Alu Pure "f64 product (6).";
    Dmin Alu Pure "The smaller f64 (6).";
    Dmax Alu Pure "The larger f64 (6).";
    Dset Alu Pure "Compares f64 (6).";
    Texauto Far Pure "Samples a texture with the level of the quad's coordinates (8).";
    Texfetch Far Pure "Reads a texel by whole coordinates and level (8).";
    Texbias Far Pure "Samples with a bias that is the same in the quad (8).";
    Texlod Far Pure "Samples with a level that is the same in the quad (8).";
    Texsize Far Pure "Width, height, depth and levels of a texture (8).";
    Texprep Far Pure "Coordinates in an array of images for a cube's direction and layer (8).";
    Texquerylod Far Pure "The level that sampling would take, in 1/256 (8).";
    Texcsaa Far Pure "Reads a texel by a coverage mask (8).";
    Texgather Far Pure "One component of the four texels around a place (8).";
    Emit Flow Emits "The outputs become the next vertex of the strip (9.2).";
    Restart Flow Emits "Ends the strip (9.2).";
    Nop Alu Pure "Nothing; carries `exit` or `join` (7).";
    Pmevent Alu Flow "Counts an event for performance counters (5.4).";
    Discard Flow Flow "The fragment leaves no results; its lane goes on (7).";
    Bra Flow Flow "Goes on at the target; lanes that disagree run one side after the other (7).";
    Call Flow Flow "Calls the target (7).";
    Ret Flow Flow "Returns from a call; outside one the lane ends (7).";
    Prebrk Flow Flow "Says where lanes that break out of the loop meet (7).";
    Brk Flow Flow "Leaves the loop, to where `breakaddr` said (7).";
    Quadon Flow Flow "Wakes all lanes of quads that have an active one (7).";
    Quadpop Flow Flow "Undoes `quadon` (7).";
    Bar Flow Flow "Waits until all threads of the workgroup are here (5.5).";
    BarWarps Flow Flow "Waits until a number of warps are here (5.5).";
    Trap Flow Flow "Stops the program (5.5).";
    Joinat Flow Flow "Says where lanes that disagree meet again (7).";
    Brkpt Flow Flow "Stops for a debugger (5.5).";
    BraC Flow Flow "Goes on at an address from constant memory (5.5).";
    Preret Flow Flow "Says where lanes that return meet (5.5).";
}
