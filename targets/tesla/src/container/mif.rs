//! The memories of FlexGripPlus as its test bench reads them, and the constants of the launch.
//!
//! | kind | file | what a line is |
//! |---|---|---|
//! | `mif` | `system_mem.mif` | a word of the program, eight hexadecimal digits |
//! | `mif-constants` | `constant_mem.mif` | a byte of constant memory, two digits; uniforms are 0 |
//! | `mif-bench` | `pick_bench.vhd` | VHDL: sizes, registers, and the words behind the header of s[] |
//!
//! Global memory (`global_mem.mif`, a byte a line) is the caller's data: buffer n begins at the address that the launch's words
//! give. The formats follow from `dp_ram.vhd`, which reads a line for each place of a memory, and from the places where
//! `tb_top_level.vhd`, `TP_configuration.vhd` and `streaming_multiprocessor_cntlr.vhd` take their constants from.

use crate::abi::{Abi, GRID_Z, STORAGE_LENGTHS};
use crate::emit::Code;
use crate::isa::flexgrip::{GLOBAL_BYTES, PARAMETERS, REGISTER_FILE};
use retroshade_ir::Module;
use std::fmt::Write;

/// Bytes of the header of s[].
const HEADER: u32 = 0x10;
/// The most workgroups at once on the multiprocessor, and the most warps.
const MOST: (u32, u32) = (8, 32);

/// All images of a program by their kinds.
pub fn images(code: &Code, abi: &Abi, module: &Module) -> [(&'static str, Vec<u8>); 3] {
    [("mif", program(code)), ("mif-constants", constants(abi)), ("mif-bench", bench(abi, module).into_bytes())]
}

fn program(code: &Code) -> Vec<u8> {
    let words = code.bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    words.map(|w| format!("{w:08X}\n")).collect::<String>().into_bytes()
}

fn constants(abi: &Abi) -> Vec<u8> {
    "00\n".repeat(abi.uniform_bytes() as usize).into_bytes()
}

/// A storage buffer's bytes: what its declaration says, or its share of what the others leave.
fn sizes(module: &Module) -> Vec<u32> {
    let known: Vec<Option<u32>> = module.storage.values().map(|s| s.repeat.is_empty().then_some(4 * s.head.len() as u32)).collect();
    let taken: u32 = known.iter().flatten().sum();
    let open = known.iter().filter(|n| n.is_none()).count() as u32;
    let share = GLOBAL_BYTES.saturating_sub(taken).checked_div(open).unwrap_or(0) & !0xff;
    known.into_iter().map(|n| n.unwrap_or(share)).collect()
}

/// The words behind the header of s[], for a grid of one workgroup, and what each is.
fn parameters(abi: &Abi, module: &Module) -> Vec<(u32, String)> {
    let sizes = sizes(module);
    let depth = abi.workgroup_size[2].max(1);
    let mut out = vec![(1, format!("workgroups along z below, the workgroup's place there above; {depth} deep"))];
    out.extend(sizes.iter().zip(&abi.storage).map(|(n, name)| (n / 4, format!("words of {name}"))));
    let mut at = 0;
    for (n, name) in sizes.iter().zip(&abi.storage) {
        out.push((at, format!("address of {name}")));
        at += n;
    }
    debug_assert_eq!(STORAGE_LENGTHS - GRID_Z, 4);
    out
}

fn bench(abi: &Abi, module: &Module) -> String {
    let [x, y, z] = abi.workgroup_size.map(|n| n.max(1));
    let warps = (x * y * z).div_ceil(32).max(1);
    let registers = abi.registers.max(1);
    let rows = REGISTER_FILE / 32;
    let shared = abi.shared_bytes.saturating_sub(HEADER).max(4);
    let most = MOST.0.min(MOST.1 / warps).min(rows / (registers * warps)).min(0x4000 / abi.shared_bytes.max(1)).max(1);
    let words = parameters(abi, module);
    let mut s = String::from(
        "-- The launch of a program on FlexGripPlus.\nlibrary ieee;\nuse ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\n\npackage pick_bench is\n",
    );
    let mut line = |name: &str, ty: &str, value: String, note: &str| {
        let note = if note.is_empty() { String::new() } else { format!("  -- {note}") };
        let _ = writeln!(s, "  constant {name} : {ty} := {value};{note}");
    };
    let vector = |bits: u32| format!("std_logic_vector({} downto 0)", bits - 1);
    let half = |n: u32| format!("x\"{n:04X}\"");
    let word = |n: u32| format!("x\"{n:08X}\"");
    line("BENCH_CORES", "integer", "8".into(), "lanes at once: 8, 16 or 32");
    line("BENCH_WARP_LANES", "integer", "4".into(), "32 / BENCH_CORES");
    line("BENCH_APP", "string", "\"TP\"".into(), "");
    line("BENCH_APP_INST", "string", "\"TP\"".into(), "");
    for (name, n) in [("X", x), ("Y", y), ("Z", z)] {
        line(&format!("BENCH_K_BLK{name}"), &vector(16), half(n), "threads of a workgroup");
    }
    for name in ["X", "Y"] {
        line(&format!("BENCH_K_GRD{name}"), &vector(16), half(1), "workgroups");
    }
    line("BENCH_CMEM_PARAM_SIZE", &vector(6), "\"000000\"".into(), "constant memory comes from its file");
    line("BENCH_KERNEL_PARAM_SIZE", &vector(4), format!("x\"{:X}\"", words.len() as u32 & PARAMETERS), "words behind the header of s[]");
    line("BENCH_KERNEL_GPRS", &vector(9), format!("\"{registers:09b}\""), "registers of a thread");
    line("BENCH_KERNEL_SHMEM_SIZE", &vector(32), word(shared), "bytes of s[] behind its header");
    line("BENCH_BLOCKS_PER_CORE", &vector(4), format!("x\"{most:X}\""), "workgroups at once");
    line("BENCH_DYN_SHMEM_SIZE", &vector(32), word(0), "");
    for n in 0..16 {
        let (value, note) = words.get(n).map_or((0, ""), |(v, note)| (*v, note.as_str()));
        line(&format!("BENCH_KREG{n}"), &vector(32), word(value), note);
    }
    for n in 0..16 {
        line(&format!("BENCH_CMEMREG{n}"), &vector(8), "x\"00\"".into(), "");
    }
    line(
        "READ_DATA_SIZE",
        &vector(18),
        "std_logic_vector(to_unsigned(4095, 18))".into(),
        "words of global memory that the bench writes out, less one",
    );
    s.push_str("end pick_bench;\n");
    s
}
