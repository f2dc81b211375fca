//! The selection patterns by name: `--emit mir` lists those that applied, and a test says which have no case.

use crate::select::Lower;

/// What is noted by hand: foldings of operands, and what inputs, outputs, memory and textures become.
const NOTES: &[(&str, &str)] = &[
    ("address.product", "a computed address with another unit"),
    ("address.shift", "a computed address whose unit is a power of two"),
    ("branch", "a branch by a `$c`"),
    ("buffer.constant", "a buffer outside compute programs, in c[]"),
    ("compute.builtin", "ids and sizes of a compute program"),
    ("constant", "a constant in a register"),
    ("flag", "a comparison that sets `$c` only"),
    ("flag.mask", "a truth value in a register that becomes a `$c`"),
    ("fold.attribute", "an attribute as the a[] operand"),
    ("fold.immediate", "a constant as the immediate of its user"),
    ("fold.sign", "a sign change as a modifier of its user"),
    ("fold.uniform", "a uniform word as the c[] operand of an arithmetic instruction"),
    ("fold.zero", "0 as the register that reads as 0"),
    ("global.atomic", "an atomic operation with its old value"),
    ("global.load", "a load from a buffer"),
    ("global.load.wide", "two or four words of a buffer at once"),
    ("global.reduce", "an atomic operation whose old value nobody wants"),
    ("global.store", "a store into a buffer"),
    ("global.store.wide", "two or four words into a buffer at once"),
    ("input.indexed", "a vertex input with a computed index"),
    ("input.primitive", "the number of a geometry program's primitive"),
    ("input.vertex", "an attribute of a geometry program's vertex, through p[]"),
    ("local.load", "a load from a local array"),
    ("local.store", "a store into a local array"),
    ("mask", "a comparison as a mask in a register"),
    ("output.direct", "an output word that its value is computed into"),
    ("output.indexed", "an output with a computed index"),
    ("output.move", "an output word that is moved"),
    ("output.sign", "an output word that is written with another sign"),
    ("result", "a fragment's result, left in its register at the end"),
    ("saturate.folded", "a saturation that becomes the `sat` of its operand's instruction"),
    ("select.mask", "`select` of a constant or 0: the mask and the constant"),
    ("select.move", "`select`: a predicated move over the other value"),
    ("shared.atomic", "an atomic operation on workgroup memory, under the word's lock"),
    ("shared.load", "a load from workgroup memory"),
    ("shared.load.g80", "on G80: through an operand of a move"),
    ("shared.store", "a store into workgroup memory"),
    ("sign", "a sign change that no user takes as a modifier"),
    ("storage.length", "the length of a buffer, from s[]"),
    ("table.load", "a load from an array of constants in c[]"),
    ("texture", "a texture operation in a block of registers"),
    ("texture.apart", "levels that differ within the quad"),
    ("texture.prepare", "a lookup in an array of cubes with one argument too many: by the image that the direction meets"),
    ("texture.result", "a texel that becomes the fragment's result where it stands"),
    ("texture.zero", "level 0 without an argument for it"),
    ("truth", "an interface word 0 or 1 that becomes a mask"),
    ("uniform", "a uniform word in a register"),
    ("uniform.indexed", "a uniform with a computed index"),
    ("varying", "a varying: interpolated with or without perspective, or flat"),
    ("varying.facing", "the facing"),
    ("varying.position", "the fragment's place"),
    ("varying.sample", "the number of the sample (GT215 and later)"),
];

/// Name and meaning of each pattern.
pub fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    Lower::PATTERNS.iter().map(|p| (p.name, p.doc)).chain(NOTES.iter().copied())
}
