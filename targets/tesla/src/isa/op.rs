//! What instructions do: one name per operation, shared by the form table, the code generator and the simulator.

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

/// An operation. `H` marks the 16-bit variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
#[rustfmt::skip]
pub enum Op {
    MovH, Mov, AddH, Add, Mul16, Mul24,
    MadU16, MadS16, MadSatS16, MadU24, MadS24, MadSatS24, MadHighU24, MadHighS24, MadSatHighS24,
    SadH, Sad, SetH, Set, MaxH, Max, MinH, Min, ShlH, Shl, ShrH, Shr, LogicH, Logic,
    ShlA, AddA, MovFromC, MovToC, MovFromA, MovFromSr,
    LdA, StO, LdC8, LdC16, LdCs16, LdC, LdS8, LdS16, LdSs16, LdS, LdLock, StS8, StS16, StS,
    LdL, StL, LdG, StG,
    RedAdd, RedInc, RedDec, RedMax, RedMin, RedAnd, RedOr, RedXor,
    AtomAdd, AtomInc, AtomDec, AtomMax, AtomMin, AtomAnd, AtomOr, AtomXor, Exch, Cas,
    VoteAny, VoteAll,
    Interp, InterpCent, InterpMul, InterpCentMul, InterpFlat,
    Rcp, Rsqrt, Lg2, Sin, Cos, Ex2, Presin, Preex2,
    /// Conversion to the first type from the second.
    Cvt(Ty, Ty),
    /// Rounding to an integral float.
    CvtInt(Ty, Ty),
    Fadd, Fmul, Fmad, Fset, Fmax, Fmin, Slct, Quadop,
    Dfma, Dadd, Dmul, Dmin, Dmax, Dset,
    Texauto, Texfetch, Texbias, Texlod, Texsize, Texprep, Texquerylod, Texcsaa, Texgather,
    Emit, Restart, Nop, Pmevent,
    Discard, Bra, Call, Ret, Prebrk, Brk, Quadon, Quadpop, Bar, BarWarps, Trap, Joinat, Brkpt, BraC, Preret,
}
