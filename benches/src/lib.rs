//! Programs of a given size for benchmarks: what lighting code looks like, repeated.
#![forbid(unsafe_code)]

use retroshade_ir::module::Dim;
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;
use retroshade_lower::Options;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The command's, in every program here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The sizes that benchmarks and `docs/performance.md` use.
pub const SIZES: &[usize] = &[100, 1_000, 10_000, 50_000];

/// A vertex program of about `size` instructions with small live ranges: stretches of vector arithmetic on four
/// accumulators and a table of uniforms, an if/else in every third stretch, a loop in every seventh.
pub fn synthetic(size: usize) -> Module {
    let v4 = F32.with_lanes(4);
    let mut m = Module::new("synthetic", Stage::Vertex);
    let input = MemRef::Input(m.inputs.push(IoDecl::at_location("place", v4, 0)));
    let normal = MemRef::Input(m.inputs.push(IoDecl::at_location("normal", v4, 1)));
    let position = MemRef::Output(m.outputs.push(IoDecl::builtin(v4, Builtin::Position)));
    let colour = MemRef::Output(m.outputs.push(IoDecl::at_location("color", v4, 0)));
    let table = MemRef::Uniform(m.uniforms.push(UniformDecl {
        name: "table".to_string(),
        ty: v4,
        dims: vec![Dim { count: 16, stride: 16 }],
        matrix: false,
        rows: false,
        unit: 16,
        group: 0,
        binding: 0,
        offset: 0,
        range: None,
        source_type: None,
        size_of: None,
        span: Span::NONE,
    }));
    let f = m.main_mut();
    let entry = f.add_block();
    let mut b = Builder::new(f, entry);
    let p = b.load(v4, input, 0, None);
    let n = b.load(v4, normal, 0, None);
    let half = b.fconst(v4, 0.5);
    let mut acc = [p, n, half, p];
    let mut stretch = 0usize;
    while b.func.inst_count() + 12 < size {
        let k = stretch % 4;
        let (x, y) = (acc[k], acc[(k + 1) % 4]);
        let u = b.load(v4, table, (stretch % 16) as u32, None);
        let w = b.load(v4, table, ((stretch * 7 + 3) % 16) as u32, None);
        let t = b.ins(Opcode::Fmul, &[x, u]);
        let t = b.ins(Opcode::Fadd, &[t, w]);
        let d = b.ins(Opcode::Dot, &[t, y]);
        let s = b.ins(Opcode::Fabs, &[d]);
        let one = b.fconst(F32, 1.0 + stretch as f32 * 0.001);
        let s = b.ins(Opcode::Fadd, &[s, one]);
        let r = b.ins(Opcode::Frsqrt, &[s]);
        let r4 = b.splat(r, 4);
        let mut next = b.ins(Opcode::Fmul, &[t, r4]);
        if stretch % 3 == 2 {
            // if (lane < limit) next = max(next, u) else next = next - w
            let lane = b.extract(next, (stretch % 4) as u8);
            let c = b.fcmp(FloatCC::Olt, lane, r);
            let (then, other, merge) = (b.func.add_block(), b.func.add_block(), b.func.add_block());
            b.br_if(c, (then, &[]), (other, &[]));
            b.switch_to(then);
            let a = b.ins(Opcode::Fmax, &[next, u]);
            b.jump(merge, &[a]);
            b.switch_to(other);
            let e = b.ins(Opcode::Fsub, &[next, w]);
            b.jump(merge, &[e]);
            next = b.func.add_param(merge, v4);
            b.switch_to(merge);
        }
        if stretch % 7 == 6 {
            // Three rounds of next = next × u + y.
            let (head, body, exit) = (b.func.add_block(), b.func.add_block(), b.func.add_block());
            let (zero, three) = (b.iconst(I32, 0), b.iconst(I32, 3));
            b.jump(head, &[zero, next]);
            let i = b.func.add_param(head, I32);
            let v = b.func.add_param(head, v4);
            b.switch_to(head);
            let more = b.icmp(IntCC::Ult, i, three);
            b.br_if(more, (body, &[]), (exit, &[]));
            b.switch_to(body);
            let step = b.iconst(I32, 1);
            let i2 = b.ins(Opcode::Iadd, &[i, step]);
            let q = b.ins(Opcode::Fmul, &[v, u]);
            let q = b.ins(Opcode::Fadd, &[q, y]);
            b.jump(head, &[i2, q]);
            b.switch_to(exit);
            next = v;
        }
        acc[k] = next;
        stretch += 1;
    }
    let a = b.ins(Opcode::Fadd, &[acc[0], acc[1]]);
    let c = b.ins(Opcode::Fadd, &[acc[2], acc[3]]);
    b.store(position, 0, a, None);
    b.store(colour, 0, c, None);
    b.ret(&[]);
    m
}

/// Options of a compilation whose time counts: nothing but the code and the container.
pub fn options() -> Options {
    Options { check_allocation: false, texts: false, ..Options::default() }
}

/// The best time of each phase of a compilation for Tesla; none if the program does not compile.
pub fn tesla_phases(module: &Module, runs: usize) -> Vec<(&'static str, Duration)> {
    let mut best: Vec<(&'static str, Duration)> = Vec::new();
    for _ in 0..runs.max(1) {
        let Ok(laps) = retroshade_tesla::phases(module, &options(), &clock) else { break };
        if best.is_empty() {
            best = laps;
        } else {
            best.iter_mut().zip(laps).for_each(|(b, l)| b.1 = b.1.min(l.1));
        }
    }
    best
}

/// The thread's time on a processor so far, or wall time where the system does not tell: other programs on the machine count
/// less that way.
pub fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The system brings its count up to date when a thread gives way.
    std::thread::yield_now();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = spent.and_then(|s| s.split_whitespace().next()?.parse().ok());
    ns.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// The best of a few runs. Runs too short for the clock are taken together.
pub fn best<T>(runs: usize, mut f: impl FnMut() -> T) -> Duration {
    let start = clock();
    std::hint::black_box(f());
    let once = clock() - start;
    let together = (Duration::from_millis(2).as_nanos() / once.as_nanos().max(1)).clamp(1, 20) as u32;
    let sample = |_| {
        let start = clock();
        (0..together).for_each(|_| {
            std::hint::black_box(f());
        });
        (clock() - start) / together
    };
    (1..runs).map(sample).min().map_or(once, |d| d.min(once))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_met() {
        for n in [100, 1000, 3000] {
            let m = synthetic(n);
            assert!(verify(&m).is_ok(), "{:?}", verify(&m));
            assert!((n - 30..=n + 30).contains(&m.main().inst_count()), "{}", m.main().inst_count());
        }
    }
}
