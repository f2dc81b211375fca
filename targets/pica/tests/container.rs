//! Every `.shbin` that the compiler writes, checked from the file format alone: nothing of the crate's own reader is used here.
//!
//! Facts: ISA sheet section 14. Offsets lie in the file, tables in their order without gaps or overlap, names end inside the symbol
//! table, registers exist, addresses lie in the code, descriptors exist.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, program_count, random_program};
use retroshade_lower::{CompiledShader, Options};

struct File<'a>(&'a [u8]);

impl File<'_> {
    fn u8(&self, at: usize) -> usize {
        usize::from(self.0[at])
    }
    fn u16(&self, at: usize) -> usize {
        usize::from(u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap()))
    }
    fn u32(&self, at: usize) -> usize {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()) as usize
    }

    /// The whole file; gives the words of code.
    fn check(&self) -> usize {
        assert_eq!(&self.0[..4], b"DVLB");
        assert_eq!(self.0.len() % 4, 0, "the file is a number of words");
        let entries = self.u32(4);
        assert!(entries > 0, "no entry point");
        let program = 8 + 4 * entries;
        assert_eq!(&self.0[program..program + 4], b"DVLP");
        let (code, words) = (self.u32(program + 8), self.u32(program + 12));
        let (descriptors, count) = (self.u32(program + 16), self.u32(program + 20));
        assert_eq!(code, 40, "the code follows the header");
        assert_eq!(descriptors, code + 4 * words, "the descriptors follow the code");
        assert!(words > 0 && words <= 4096 && count <= 128, "{words} words, {count} descriptors");
        for n in 0..words {
            self.instruction(self.u32(program + code + 4 * n), words, count);
        }
        for n in 0..count {
            let at = program + descriptors + 8 * n;
            assert_eq!(self.u32(at) >> 31, 0, "bit 31 of descriptor {n}");
            assert_eq!(self.u32(at + 4), 0, "the second word of descriptor {n}");
        }
        let mut next = program + descriptors + 8 * count;
        for n in 0..entries {
            let at = self.u32(8 + 4 * n);
            assert_eq!(at, next, "entry point {n} follows what stands before it");
            next = self.entry(at, words);
        }
        assert_eq!(next, self.0.len(), "nothing stands behind the last table");
        words
    }

    fn instruction(&self, w: usize, words: usize, descriptors: usize) {
        let opcode = w >> 26;
        let descriptor = match opcode {
            0x00..=0x0f | 0x12 | 0x13 | 0x18..=0x1b | 0x2e | 0x2f => Some(w & 0x7f),
            0x30..=0x3f => Some(w & 0x1f),
            0x20..=0x2d => None,
            other => panic!("opcode {other:#x} is unknown"),
        };
        assert!(descriptor.is_none_or(|d| d < descriptors), "{w:08x} names a descriptor that does not exist");
        let (target, num) = (w >> 10 & 0xfff, w & 0xff);
        match opcode {
            0x24..=0x28 => assert!(target + num <= words, "{w:08x} leaves the code"),
            0x29 | 0x2c | 0x2d => assert!(target < words, "{w:08x} leaves the code"),
            _ => {}
        }
    }

    /// One entry point; gives the place behind it.
    fn entry(&self, at: usize, words: usize) -> usize {
        assert_eq!(&self.0[at..at + 4], b"DVLE");
        assert_eq!(self.u16(at + 4), 0x1002, "version");
        let geometry = self.u8(at + 6);
        assert!(geometry <= 1);
        let (start, end) = (self.u32(at + 8), self.u32(at + 12));
        assert!(start < end && end <= words, "main is {start} to {end} of {words}");
        assert!(geometry == 1 || end <= 512, "a vertex program lies in the first 512 words");
        assert!(self.u8(at + 20) <= 2, "mode");
        let table = |k: usize| (at + self.u32(at + 24 + 8 * k), self.u32(at + 28 + 8 * k));
        let sizes = [20, 16, 8, 8, 1];
        let mut next = at + 64;
        for (k, size) in sizes.iter().enumerate() {
            let (place, count) = table(k);
            assert_eq!(place, next, "table {k} follows the one before it");
            next = place + size * count;
        }
        let (constants, count) = table(0);
        assert!(count > 0, "programs without a constant are reported to hang the machine");
        let mut seen = Vec::new();
        for n in 0..count {
            let p = constants + 20 * n;
            let (kind, reg) = (self.u16(p), self.u16(p + 2));
            assert!(reg < [16, 4, 96][kind], "constant {n}: register {reg}");
            assert!(!seen.contains(&(kind, reg)), "constant {n} is given twice");
            seen.push((kind, reg));
            let used = [1, 1, 4][kind];
            (used..4).for_each(|k| assert_eq!(self.u32(p + 4 + 4 * k), 0, "constant {n}: padding"));
            if kind == 2 {
                (0..4).for_each(|k| assert_eq!(self.u32(p + 4 + 4 * k) >> 24, 0, "constant {n}: 24 bits"));
            }
        }
        let (outputs, count) = table(2);
        let mut mask = 0;
        let mut taken = [0usize; 16];
        for n in 0..count {
            let p = outputs + 8 * n;
            let (kind, reg, components) = (self.u16(p), self.u16(p + 2), self.u8(p + 4));
            assert!(kind <= 9 && kind != 7 && reg < 16 && components > 0 && components < 16, "output {n}");
            assert_eq!(taken[reg] & components, 0, "output {n} takes what another has");
            assert!(reg < 7 || kind == 9, "o{reg} can only be generic");
            taken[reg] |= components;
            mask |= 1 << reg;
        }
        assert_eq!(self.u16(at + 18), mask, "output mask");
        let (symbols, length) = table(4);
        assert!(length == 0 || self.u8(symbols + length - 1) == 0, "the last name ends");
        let (uniforms, count) = table(3);
        let mut expected = 0;
        let mut before = 0;
        for n in 0..count {
            let p = uniforms + 8 * n;
            let (name, first, last) = (self.u32(p), self.u16(p + 4), self.u16(p + 6));
            assert!(name == expected, "name {n} follows the one before it");
            let text = &self.0[symbols + name..symbols + length];
            let end = text.iter().position(|b| *b == 0).expect("a name ends");
            assert!(end > 0 && std::str::from_utf8(&text[..end]).is_ok(), "name {n}");
            expected = name + end + 1;
            assert!(first <= last && first >= before, "uniform {n}: {first:#x} to {last:#x}, in ascending order");
            let of = |n: usize| [0x10, 0x70, 0x74, 0x78, 0x88].iter().position(|end| n < *end);
            assert!(of(first).is_some_and(|k| k != 3) && of(first) == of(last), "uniform {n}: {first:#x} to {last:#x}");
            before = first;
        }
        assert_eq!(expected, length, "all names are used");
        let padded = next.next_multiple_of(4);
        assert!(self.0[next..padded].iter().all(|b| *b == 0), "padding");
        padded
    }
}

fn check(shader: &CompiledShader) {
    assert_eq!(File(&shader.container).check() * 4, shader.code.len());
}

#[test]
fn random_programs_become_sound_files() {
    let isa = retroshade_pica::isa();
    let mut made = 0;
    for (stage, count) in [(Stage::Vertex, 300), (Stage::Geometry, 100)] {
        let profile = Profile::pica().only(&[stage]);
        for seed in 0..program_count(count) {
            let (module, _) = random_program(&profile, seed);
            if let Ok(s) = isa.compile(&module, &Options::default()) {
                check(&s);
                made += 1;
            }
        }
    }
    assert!(made > 200, "{made}");
}

#[test]
fn a_joined_file_is_sound() {
    let isa = retroshade_pica::isa();
    let source = |stage: &str, more: &str| {
        format!(
            "shader {stage}\ninput %p : f32x4{more} @location(0)\ninput %t : f32x2{more} @location(1)\noutput %position : f32x4 @position\n\
             output %color : f32x4 @location(2)\nuniform %k : f32x4[3] @binding(0)\nuniform %on : i1 @binding(1)\n"
        )
    };
    let vertex = source("vertex \"v\"", "")
        + "block0:\n    v0 = input.f32x4 %p\n    v1 = uniform.f32x4 %k[1]\n    v2 = fmul v0, v1\n    output %position, v0\n    output %color, v2\n    return\n";
    let m = retroshade_ir::parse("v", &vertex).unwrap();
    let v = isa.compile(&m, &Options::default()).unwrap();
    check(&v);
    let two = isa.link(&[v.clone(), v]).unwrap();
    File(&two).check();
}

#[test]
fn loops_of_a_joined_file_end_in_their_own_program() {
    let isa = retroshade_pica::isa();
    let text = include_str!("../../../filetests/cases/pica/uniform-loop.ir");
    let v = isa.compile(&retroshade_ir::parse("v", text).unwrap(), &Options::default()).unwrap();
    let two = isa.link(&[v.clone(), v]).unwrap();
    let file = File(&two);
    let words = file.check();
    let word = |n: usize| file.u32(8 + 4 * file.u32(4) + 40 + 4 * n);
    let ends = |n: usize| Some(word(n) >> 10 & 0xfff).filter(|_| word(n) >> 26 == 0x29);
    let pairs: Vec<_> = (0..words / 2).filter_map(|n| Some((ends(n)?, ends(n + words / 2)?))).collect();
    assert!(!pairs.is_empty() && pairs.iter().all(|(first, second)| first + words / 2 == *second), "{pairs:?}");
}
