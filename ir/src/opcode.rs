//! The operations: one list that gives each its name, arity, result rule, effect and documentation.
//!
//! The parser, the printer, the verifier, the builder and `docs/ir.md` all read this list.

use crate::types::{Scalar, Type};

/// How an operation's result type follows from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultRule {
    /// No result.
    None,
    /// Written as a suffix: `input.f32x4`.
    Explicit,
    /// The type of the first operand.
    Same,
    /// The type of the second operand (`select`).
    Second,
    /// `i1` with the lanes of the first operand.
    Compare,
    /// One lane of the first operand's type.
    Lane,
    /// As many lanes as operands.
    Build,
    /// As many lanes as the mask has entries.
    Shuffle,
    /// A single `i1`.
    I1,
    /// The callee's results.
    Call,
}

/// What an operation does besides computing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: may be moved, merged and removed.
    Pure,
    /// Nothing, but depends on which other lanes run (derivatives, implicit LOD): may be removed and merged in place,
    /// not moved into or out of control flow.
    Convergent,
    /// Reads memory that the program may write: may be removed, not moved across writes.
    Read,
    /// Writes memory, outputs or other state; stays where it is.
    Write,
    /// Ends a block.
    Terminator,
}

macro_rules! opcodes {
    ($($group:literal { $($variant:ident $name:literal $arity:literal $rule:ident $effect:ident $doc:literal;)* })*) => {
        /// An operation of the IR.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode { $($(#[doc = $doc] $variant,)*)* }

        impl Opcode {
            /// Every operation, in the order of the documentation.
            pub const ALL: &'static [Opcode] = &[$($(Opcode::$variant,)*)*];
            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $($(Opcode::$variant => $name,)*)* } }
            /// The heading under which the documentation lists the operation.
            pub const fn group(self) -> &'static str { match self { $($(Opcode::$variant => $group,)*)* } }
            /// Number of value operands; -1 where it varies (loads with an optional index, textures, calls).
            pub const fn arity(self) -> i8 { match self { $($(Opcode::$variant => $arity,)*)* } }
            /// How the result type is found.
            pub const fn rule(self) -> ResultRule { match self { $($(Opcode::$variant => ResultRule::$rule,)*)* } }
            /// What it does besides computing.
            #[inline]
            pub const fn effect(self) -> Effect { match self { $($(Opcode::$variant => Effect::$effect,)*)* } }
            /// Semantics in a line or two, as printed in `docs/ir.md`.
            pub const fn doc(self) -> &'static str { match self { $($(Opcode::$variant => $doc,)*)* } }
        }
    };
}

opcodes! {
    "Constants" {
        Const "const" 0 Explicit Pure "A constant; the text form writes `iconst`, `fconst` with one literal, or a bracketed list for vectors.";
        Undef "undef" 0 Explicit Pure "A value about which nothing is promised; each use may see other bits.";
    }
    "Float" {
        Fadd "fadd" 2 Same Pure "Sum.";
        Fsub "fsub" 2 Same Pure "Difference.";
        Fmul "fmul" 2 Same Pure "Product.";
        Fdiv "fdiv" 2 Same Pure "Quotient.";
        Fma "fma" 3 Same Pure "a × b + c. Contraction of a product and a sum is allowed unless `precise`, so either one or two roundings are right in source IR; the interpreter's reference rounds once. Legalised IR uses it only where the machine fuses.";
        Fmad "fmad" 3 Same Pure "a × b + c with the machine's own intermediate rounding (`Numerics::mad`): the reference rounds product and sum.";
        Fneg "fneg" 1 Same Pure "Flips the sign bit.";
        Fabs "fabs" 1 Same Pure "Clears the sign bit.";
        Fmin "fmin" 2 Same Pure "The smaller operand; with one NaN, and of two zeros with different signs, either operand, as the machine does.";
        Fmax "fmax" 2 Same Pure "The larger operand; with one NaN, and of two zeros with different signs, either operand, as the machine does.";
        Ffloor "ffloor" 1 Same Pure "Largest integral value not above.";
        Fceil "fceil" 1 Same Pure "Smallest integral value not below.";
        Ftrunc "ftrunc" 1 Same Pure "Integral part, towards zero.";
        Fround "fround" 1 Same Pure "Nearest integral value, ties to even.";
        Ffract "ffract" 1 Same Pure "x - floor(x).";
        Frcp "frcp" 1 Same Pure "1 / x (approximated).";
        Frsqrt "frsqrt" 1 Same Pure "1 / sqrt(x) (approximated).";
        Fsqrt "fsqrt" 1 Same Pure "Square root.";
        Fexp2 "fexp2" 1 Same Pure "2 to the x (approximated).";
        Flog2 "flog2" 1 Same Pure "Binary logarithm (approximated).";
        Fsin "fsin" 1 Same Pure "Sine of x radians (approximated).";
        Fcos "fcos" 1 Same Pure "Cosine of x radians (approximated).";
        Fpow "fpow" 2 Same Pure "x to the y = exp2(y × log2(x)), for x ≥ 0.";
        Fsaturate "fsaturate" 1 Same Pure "min(max(x, 0), 1); NaN gives 0.";
        Fsign "fsign" 1 Same Pure "-1, 0 or 1 by the sign of x; zero and NaN give 0.";
        Dot "dot" 2 Lane Pure "Sum of the lanes' products, first lane first (`Numerics::dot` gives the machine's order).";
    }
    "Integer" {
        Iadd "iadd" 2 Same Pure "Sum, wrapping.";
        Isub "isub" 2 Same Pure "Difference, wrapping.";
        Imul "imul" 2 Same Pure "Low 32 bits of the product.";
        Umulhi "umulhi" 2 Same Pure "High 32 bits of the unsigned product.";
        Smulhi "smulhi" 2 Same Pure "High 32 bits of the signed product.";
        Udiv "udiv" 2 Same Pure "Unsigned quotient; by zero: unspecified, never traps.";
        Sdiv "sdiv" 2 Same Pure "Signed quotient towards zero; by zero, and of the least value by -1: unspecified, never traps.";
        Urem "urem" 2 Same Pure "Unsigned remainder; by zero: unspecified.";
        Srem "srem" 2 Same Pure "Signed remainder with the dividend's sign; by zero: unspecified.";
        Ineg "ineg" 1 Same Pure "Two's-complement negation.";
        Iabs "iabs" 1 Same Pure "Absolute value; the least value maps to itself.";
        Iand "and" 2 Same Pure "Bitwise and; also on i1.";
        Ior "or" 2 Same Pure "Bitwise or; also on i1.";
        Ixor "xor" 2 Same Pure "Bitwise exclusive or; also on i1.";
        Inot "not" 1 Same Pure "Bitwise complement; also on i1.";
        Ishl "shl" 2 Same Pure "Shift left; the count is taken modulo 32.";
        Ushr "shr" 2 Same Pure "Shift right with zeros; the count is taken modulo 32.";
        Sshr "sar" 2 Same Pure "Shift right with the sign; the count is taken modulo 32.";
        Umin "umin" 2 Same Pure "Unsigned minimum.";
        Umax "umax" 2 Same Pure "Unsigned maximum.";
        Smin "smin" 2 Same Pure "Signed minimum.";
        Smax "smax" 2 Same Pure "Signed maximum.";
        Bitcount "bitcount" 1 Same Pure "Number of set bits.";
        Bitrev "bitrev" 1 Same Pure "Bits in reverse order.";
        FindUmsb "find_umsb" 1 Same Pure "Index of the highest set bit; -1 for 0.";
        FindSmsb "find_smsb" 1 Same Pure "Index of the highest bit that differs from the sign; -1 for 0 and -1.";
        FindLsb "find_lsb" 1 Same Pure "Index of the lowest set bit; -1 for 0.";
        Ubfe "ubfe" 3 Same Pure "Bits offset … offset+count-1 of the first operand, zero-extended; offset and count are clamped to the word as WGSL's extractBits.";
        Sbfe "sbfe" 3 Same Pure "As ubfe, sign-extended.";
        Bfi "bfi" 4 Same Pure "The first operand with bits offset … offset+count-1 replaced by the low bits of the second (base, insert, offset, count).";
    }
    "Compare and select" {
        Fcmp "fcmp" 2 Compare Pure "Float comparison with one of 14 ordered or unordered relations, per lane.";
        Icmp "icmp" 2 Compare Pure "Integer comparison, per lane; `eq` and `ne` also on i1.";
        Select "select" 3 Second Pure "The second operand where the first is true, else the third; the condition is one i1 or one per lane.";
        Any "any" 1 I1 Pure "Whether some lane is true.";
        All "all" 1 I1 Pure "Whether every lane is true.";
    }
    "Conversion" {
        F2s "f2s" 1 Explicit Pure "Float to signed integer, towards zero, saturating; NaN gives 0.";
        F2u "f2u" 1 Explicit Pure "Float to unsigned integer, towards zero, saturating; NaN gives 0.";
        S2f "s2f" 1 Explicit Pure "Signed integer to float, nearest.";
        U2f "u2f" 1 Explicit Pure "Unsigned integer to float, nearest.";
        Fcvt "fcvt" 1 Explicit Pure "Between f32 and f16, nearest.";
        Bitcast "bitcast" 1 Explicit Pure "The same bits under another type of the same size.";
        PackUnorm4x8 "pack_unorm4x8" 1 Explicit Pure "f32x4 → i32: each lane clamped to 0…1, times 255, rounded to even; first lane in the low byte.";
        PackSnorm4x8 "pack_snorm4x8" 1 Explicit Pure "f32x4 → i32: clamped to -1…1, times 127, rounded.";
        PackUnorm2x16 "pack_unorm2x16" 1 Explicit Pure "f32x2 → i32: clamped to 0…1, times 65535, rounded.";
        PackSnorm2x16 "pack_snorm2x16" 1 Explicit Pure "f32x2 → i32: clamped to -1…1, times 32767, rounded.";
        PackHalf2x16 "pack_half2x16" 1 Explicit Pure "f32x2 → i32 as two binary16.";
        UnpackUnorm4x8 "unpack_unorm4x8" 1 Explicit Pure "i32 → f32x4: byte / 255.";
        UnpackSnorm4x8 "unpack_snorm4x8" 1 Explicit Pure "i32 → f32x4: max(byte / 127, -1).";
        UnpackUnorm2x16 "unpack_unorm2x16" 1 Explicit Pure "i32 → f32x2: half-word / 65535.";
        UnpackSnorm2x16 "unpack_snorm2x16" 1 Explicit Pure "i32 → f32x2: max(half-word / 32767, -1).";
        UnpackHalf2x16 "unpack_half2x16" 1 Explicit Pure "i32 → f32x2 from two binary16.";
    }
    "Vector" {
        Splat "splat" 1 Explicit Pure "Every lane is the operand.";
        Build "build" -1 Build Pure "A vector of its scalar operands.";
        Extract "extract" 1 Lane Pure "One lane, by constant index.";
        Insert "insert" 2 Same Pure "The first operand with one lane, by constant index, replaced by the second.";
        Shuffle "shuffle" 2 Shuffle Pure "Lanes chosen by a constant mask from the first operand's lanes followed by the second's.";
    }
    "Memory" {
        Input "input" -1 Explicit Pure "An input's value; an element of an input array by constant offset plus optional index.";
        Output "output" -1 None Write "Sets an output (value, then an optional index); the last value written before the end (or `emit_vertex`) counts.";
        Uniform "uniform" -1 Explicit Pure "A uniform's value; elements count in the declaration's unit: constant offset plus optional index.";
        LocalLoad "local_load" -1 Explicit Read "An element of a local array.";
        LocalStore "local_store" -1 None Write "Stores the first operand into an element of a local array.";
        SharedLoad "shared_load" -1 Explicit Read "An element of workgroup memory.";
        SharedStore "shared_store" -1 None Write "Stores the first operand into an element of workgroup memory.";
        StorageLoad "storage_load" -1 Explicit Read "Consecutive 32-bit words of a storage buffer; the index counts words.";
        StorageStore "storage_store" -1 None Write "Stores the first operand's lanes into consecutive 32-bit words of a storage buffer.";
        StorageLen "storage_len" 0 Explicit Pure "The buffer's length in 32-bit words.";
        Atomic "atomic" -1 Explicit Write "Atomic read-modify-write of a word of shared or storage memory; gives the old value. Operands: value, (compare value's replacement for `cas`), optional index.";
        Barrier "barrier" 0 None Write "Workgroup barrier with memory ordering.";
    }
    "Texture" {
        Tex "tex" -1 Explicit Convergent "A texture operation; the payload says which and which operands follow.";
    }
    "Fragment" {
        Ddx "ddx" 1 Same Convergent "Difference to the horizontal neighbour in the quad.";
        Ddy "ddy" 1 Same Convergent "Difference to the vertical neighbour in the quad.";
        Discard "discard" 1 None Write "Where the operand is true the invocation's results are dropped; it goes on as a helper.";
    }
    "Geometry" {
        EmitVertex "emit_vertex" 0 None Write "Appends the current outputs as a vertex.";
        EndPrimitive "end_primitive" 0 None Write "Ends the current strip.";
    }
    "Control" {
        Call "call" -1 Call Write "Calls a function of the module.";
        Jump "jump" 0 None Terminator "Continues at a block.";
        BrIf "br_if" 1 None Terminator "Continues at the first block if the condition holds, else at the second.";
        Switch "switch" 1 None Terminator "Continues at the block of the matching value, else at the last (default) block.";
        Return "return" -1 None Terminator "Ends the function (with its results) or the invocation.";
        Kill "kill" 0 None Terminator "Drops the invocation's results and ends it.";
        Unreachable "unreachable" 0 None Terminator "Never executed.";
    }
    "Machine" {
        Ext "ext" -1 Explicit Pure "An operation of one machine, by name; appears only in legalised IR (`Numerics::ext` computes it).";
    }
}

impl Opcode {
    /// Finds an operation by its name in the text form.
    pub fn from_name(name: &str) -> Option<Opcode> {
        Opcode::ALL.iter().copied().find(|o| o.name() == name)
    }
    /// Whether this operation ends a block.
    #[inline]
    pub const fn is_terminator(self) -> bool {
        matches!(self.effect(), Effect::Terminator)
    }
    /// Whether this may be removed when its results are unused.
    #[inline]
    pub const fn is_removable(self) -> bool {
        matches!(self.effect(), Effect::Pure | Effect::Convergent | Effect::Read)
    }
    /// Whether exchanging the first two operands changes nothing.
    #[inline]
    pub const fn is_commutative(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Fadd | Fmul | Fma | Fmad | Fmin | Fmax | Dot | Iadd | Imul | Umulhi | Smulhi | Iand | Ior | Ixor | Umin | Umax | Smin | Smax
        )
    }
    /// The result type where the rule gives one from operands alone; `mask_len` is the shuffle mask's length.
    pub fn infer(self, args: &[Type], mask_len: usize) -> Option<Type> {
        Some(match self.rule() {
            ResultRule::Same => *args.first()?,
            ResultRule::Second => *args.get(1)?,
            ResultRule::Compare => args.first()?.with_scalar(Scalar::I1),
            ResultRule::Lane => args.first()?.lane(),
            ResultRule::Build => args.first()?.with_lanes(u8::try_from(args.len()).ok()?),
            ResultRule::Shuffle => args.first()?.with_lanes(u8::try_from(mask_len).ok()?),
            ResultRule::I1 => Type::new(Scalar::I1, 1),
            ResultRule::None | ResultRule::Explicit | ResultRule::Call => return None,
        })
    }
}
