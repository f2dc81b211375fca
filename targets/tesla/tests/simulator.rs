//! The simulator on hand-written assembly: known answers, diverging lanes, every space.
#![allow(clippy::unwrap_used)]

use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::{Scalar, Stage, TexDim, TextureData};
use retroshade_lower::{SimError, TextOptions};
use retroshade_tesla::sim::{LaneInput, LaneResult, Launch, Program, Unit, run, run_block};

fn assemble(text: &str, stage: Stage) -> Vec<u8> {
    let options = TextOptions { stage: Some(stage), ..Default::default() };
    let isa = retroshade_tesla::isa();
    let words = text.lines().map(str::trim).filter(|l| !l.is_empty()).flat_map(|l| {
        let hex = isa.asm_line(l, &options).unwrap_or_else(|e| panic!("{l}: {e}"));
        let words: Vec<u32> = hex.split_whitespace().map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        words
    });
    words.flat_map(u32::to_le_bytes).collect()
}

fn hex(words: &str) -> Vec<u8> {
    words.split_whitespace().flat_map(|w| u32::from_str_radix(w, 16).unwrap().to_le_bytes()).collect()
}

fn launch(stage: Stage) -> Launch<'static> {
    Launch {
        stage,
        gprs: 16,
        local_bytes: 64,
        shared_bytes: 256,
        constants: vec![Vec::new(); 16],
        global: vec![Vec::new(); 16],
        textures: Vec::new(),
        vertex_data: Vec::new(),
        vertex_stride: 0x20,
        outputs: 8,
        order: retroshade_lower::BranchOrder::Next,
        turning: Default::default(),
        first: 0,
        fuel: 10_000,
        locked: Default::default(),
    }
}

fn lanes(n: usize, f: impl Fn(usize) -> Vec<u32>) -> Vec<LaneInput> {
    (0..n).map(|l| LaneInput { registers: f(l), w: 1.0, ..Default::default() }).collect()
}

fn execute(code: &[u8], stage: Stage, inputs: &[LaneInput]) -> Result<Vec<LaneResult>, SimError> {
    run(&Program::new(code, stage, None)?, &mut launch(stage), inputs)
}

#[test]
fn lanes_that_disagree_meet_again() {
    // The if/else of the reference: lanes with $r1 < $r2 keep $r2, the others $r1; afterwards all lanes run together.
    let code = hex(
        "b00203fd 600047c8 a0006003 00000000 10005003 00000100 1000020d 0403c780 10006003 00000780 1000040d 0403c780 f0000001 e0000002 f0000001 e0000781",
    );
    let text = retroshade_tesla::isa().disassemble(&code, &TextOptions::default()).unwrap();
    assert!(text.contains("set $c0 # l f32 $r1 $r2"), "{text}");
    let r = execute(&code, Stage::Vertex, &lanes(32, |l| vec![0, (l as f32).to_bits(), 15.5f32.to_bits(), 0])).unwrap();
    for (l, lane) in r.iter().enumerate() {
        // true = `lg`: the branch is taken where the comparison is false (`e`).
        let want = if (l as f32) < 15.5 { l as f32 } else { 15.5 };
        assert_eq!(f32::from_bits(lane.registers[3]), want, "lane {l}");
    }
}

#[test]
fn a_loop_breaks_lane_by_lane() {
    // Each lane counts $r1 down to below zero and adds $r4 each round.
    let code = hex("40005003 00000000 20400205 040087c0 50000003 00000080 e004060d 00014780 10001003 00000780 f0000001 e0000781");
    let one = 1f32.to_bits();
    let r = execute(&code, Stage::Vertex, &lanes(32, |l| vec![0, 3 * l as u32, 3, one, 1.5f32.to_bits(), one])).unwrap();
    for (l, lane) in r.iter().enumerate() {
        let mut x = 1.0f32;
        (0..l).for_each(|_| x = x * 1.5 + 1.0);
        let got = f32::from_bits(lane.registers[3]);
        assert!((got - x).abs() <= x * 1e-5, "lane {l}: {got} {x}");
    }
}

#[test]
fn the_32_bit_product_is_exact() {
    let code = hex("4004060c 6005040c 3010060d c4100780 60040401 0000c780 f0000001 e0000781");
    let (a, b) = (0x1234_5678u32, 0x9abc_def1u32);
    // mul $r3 $r1h $r2l is written with halves of $r1 and $r2 swapped in; the product is symmetric.
    let r = execute(&code, Stage::Vertex, &lanes(1, |_| vec![0, a, b, 0])).unwrap();
    assert_eq!(r[0].registers[0], a.wrapping_mul(b));
}

#[test]
fn derivatives_and_helpers() {
    let code = hex("c0140405 89808780 c015040d 8a408780 f0000001 e0000781");
    let x = [1.0f32, 4.0, 10.0, 20.0];
    let r = execute(&code, Stage::Fragment, &lanes(4, |l| vec![0, 0, x[l].to_bits()])).unwrap();
    let ddx: Vec<f32> = r.iter().map(|l| f32::from_bits(l.registers[1])).collect();
    let ddy: Vec<f32> = r.iter().map(|l| f32::from_bits(l.registers[3])).collect();
    assert_eq!(ddx, [3.0, 3.0, 10.0, 10.0]);
    assert_eq!(ddy, [9.0, 16.0, 9.0, 16.0]);
}

#[test]
fn attributes_constants_and_outputs() {
    let code = assemble("ld b32 $r0 a[0x4]\nmul rn f32 $r1 $r0 c1[0x8]\nmov b32 o[0x0] $r1\nexit mov b32 o[0x4] a[0x0]", Stage::Vertex);
    let mut l = launch(Stage::Vertex);
    l.constants[1] = [0.0f32, 0.0, 2.5].iter().flat_map(|f| f.to_le_bytes()).collect();
    let input = LaneInput { attributes: vec![7, 3f32.to_bits()], ..Default::default() };
    let r = run(&Program::new(&code, Stage::Vertex, None).unwrap(), &mut l, &[input]).unwrap();
    assert_eq!(r[0].outputs[..2], [7.5f32.to_bits(), 7]);
}

#[test]
fn blocks_share_memory_across_a_barrier() {
    // Every thread stores its id, then reads its neighbour's from the other warp (64 threads, xor 32).
    let text = "
        and b32 $r0 $r0 0xffff
        shl b32 $r1 $r0 0x2
        shl $a1 $r1 0x0
        st b32 s[$a1+0x10] $r0
        bar inc wait 0x0 all
        xor b32 $r2 $r1 0x80
        shl $a1 $r2 0x0
        ld $r3 b32 s[$a1+0x10]
        st b32 g0[$r1] $r3
        red add u32 g1[$r4] $r0
        exit nop";
    let code = assemble(text, Stage::Compute);
    let mut l = launch(Stage::Compute);
    l.shared_bytes = 0x110;
    l.global[0] = vec![0; 256];
    l.global[1] = vec![0; 4];
    let threads = lanes(64, |t| vec![t as u32]);
    run_block(&Program::new(&code, Stage::Compute, None).unwrap(), &mut l, &threads, Vec::new()).unwrap();
    let words: Vec<u32> = l.global[0].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert_eq!(words, (0..64).map(|t| t ^ 32).collect::<Vec<u32>>());
    assert_eq!(u32::from_le_bytes([l.global[1][0], l.global[1][1], l.global[1][2], l.global[1][3]]), 64 * 63 / 2);
}

#[test]
fn a_texture_is_sampled_into_its_block() {
    let texels = (0..4).map(|n| [n as f32, 10.0 + n as f32, 0.0, 1.0].map(f32::to_bits)).collect();
    let data = TextureData {
        dim: TexDim::D2,
        size: [2, 2, 1],
        layers: 1,
        levels: 1,
        depth: false,
        filter: Filter::Nearest,
        wrap: Wrap::Repeat,
        texels,
    };
    let mut l = launch(Stage::Fragment);
    l.textures = vec![Some(Unit { data: &data, dim: TexDim::D2, arrayed: false, shadow: false, kind: Scalar::F32 })];
    let code = assemble("exit texauto live #:$r0:#:$r1 $t0 $s0 $r0:$r1 0x0 0x0 0x0", Stage::Fragment);
    let input = LaneInput { registers: vec![0.75f32.to_bits(), 0.25f32.to_bits()], w: 1.0, ..Default::default() };
    let r = run(&Program::new(&code, Stage::Fragment, None).unwrap(), &mut l, &[input]).unwrap();
    assert_eq!(r[0].registers[..2], [11.0f32.to_bits(), 1.0f32.to_bits()], "the mask packs green and alpha");
}

#[test]
fn runaway_and_broken_programs_end_as_errors() {
    let forever = assemble("bra 0x0", Stage::Vertex);
    assert_eq!(execute(&forever, Stage::Vertex, &lanes(1, |_| vec![])), Err(SimError::OutOfFuel(10_000)));
    let off_the_end = assemble("add b32 $r0 $r0 $r0", Stage::Vertex);
    assert!(matches!(execute(&off_the_end, Stage::Vertex, &lanes(1, |_| vec![])), Err(SimError::Fault { .. })));
    assert!(matches!(execute(&[1, 0, 0], Stage::Vertex, &lanes(1, |_| vec![])), Err(SimError::Fault { .. }) | Err(SimError::OutOfFuel(_))));
}

#[test]
fn either_side_of_a_branch_may_run_first() {
    use retroshade_lower::BranchOrder;
    // Both sides write the same word of s[], which no right program does: who wrote last shows who ran last.
    let code = assemble(
        "mov $c0 $r1\njoinat 0x30\n(eu $c0) bra 0x28\nst b32 s[0x20] $r1\nbra 0x30\nst b32 s[0x20] $r2\njoin (never) nop\n\
         add b32 $r3 b32 s[0x20] $r127\nst b32 g0[$r4] $r3\nexit nop\n",
        Stage::Compute,
    );
    let program = Program::new(&code, Stage::Compute, None).unwrap();
    let threads = lanes(2, |l| vec![0, l as u32, 7, 0, 0]);
    let last = |order| {
        let mut launch = Launch { order, ..launch(Stage::Compute) };
        launch.global[0] = vec![0xff; 4];
        run_block(&program, &mut launch, &threads, vec![0; 256]).unwrap();
        launch.global[0][0]
    };
    assert_eq!((last(BranchOrder::Next), last(BranchOrder::Taken)), (7, 0));
}

#[test]
fn a_break_over_a_waiting_joinat_is_reported() {
    let lint = |source: &str| {
        let options = TextOptions { stage: Some(Stage::Vertex), ..Default::default() };
        let found = retroshade_tesla::isa().lint(&assemble(source, Stage::Vertex), &options).unwrap();
        found.into_iter().map(|e| (e.offset.unwrap(), e.message)).collect::<Vec<_>>()
    };
    let across = "breakaddr 0x40\njoinat 0x30\n(e $c0) bra 0x30\n(l $c1) break\nnop\nnop\njoin (never) nop\nbra 0x8\nexit nop\n";
    assert_eq!(lint(across), [(0x18, "a break while the joinat of 0x30 is pending".to_string())]);
    let behind = "breakaddr 0x40\njoinat 0x28\n(e $c0) bra 0x28\nnop\nnop\njoin (never) nop\n(l $c1) break\nbra 0x8\nexit nop\n";
    assert_eq!(lint(behind), []);
    let ends = "joinat 0x20\n(e $c0) bra 0x20\n(l $c1) ret\nnop\njoin (never) nop\nexit nop\n";
    assert_eq!(lint(ends), [(0x10, "threads end while a joinat is pending".to_string())]);
}
