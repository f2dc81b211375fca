//! Functions as procedures, whether or not the program is shorter for it: random programs whose functions take and give values of
//! every kind, called several times. The simulator on the code against the interpreter on the legalised IR, bit for bit.

mod way;

use retroshade_ir::{FuncId, Function, Imm, Opcode, Scalar, Type};
use retroshade_lower::Options;
use retroshade_lower::testing::{Profile, check_random, program_seeds, random_program};
use retroshade_pica::compile::compile_keeping;
use way::Way;

const PROGRAMS: u64 = 900;

#[test]
fn random_programs() {
    let s = check_random(&Way(compile_keeping), &Profile::pica_procedures(), program_seeds(PROGRAMS)).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    assert!(s.agree * 3 > (s.refused + s.limited) * 4, "{s:?}");
}

/// What the functions are like that are procedures in the code.
#[derive(Debug, Default)]
struct Kinds {
    programs: u32,
    many_params: u32,
    many_results: u32,
    truth_in: u32,
    truth_out: u32,
    integer_in: u32,
    integer_out: u32,
    vectors: u32,
    nested: u32,
    branches: u32,
}

fn calls(f: &Function) -> impl Iterator<Item = FuncId> + '_ {
    f.ordered().filter_map(|(_, i)| if let (Opcode::Call, Imm::Func(c)) = (f.insts[i].op, &f.insts[i].imm) { Some(*c) } else { None })
}

#[test]
fn what_random_programs_pass() {
    let mut k = Kinds::default();
    for seed in 0..150 {
        let (m, _) = random_program(&Profile::pica_procedures(), seed);
        let Ok(s) = compile_keeping(&m, &Options::default()) else { continue };
        let kept = s.legal.functions.values().filter(|f| f.name.starts_with("helper")).map(|f| f.name.clone()).collect::<Vec<_>>();
        k.programs += u32::from(!kept.is_empty());
        for (id, f) in m.functions.iter().filter(|(_, f)| kept.contains(&f.name)) {
            assert!(m.functions.values().map(|g| calls(g).filter(|c| *c == id).count()).sum::<usize>() > 1);
            let params: Vec<Type> = f.entry().map(|e| f.blocks[e].params.iter().map(|p| f.ty(*p)).collect()).unwrap_or_default();
            let has = |types: &[Type], s: Scalar| u32::from(types.iter().any(|t| t.scalar == s));
            k.many_params += u32::from(params.len() > 2);
            k.many_results += u32::from(f.results.len() > 1);
            k.truth_in += has(&params, Scalar::I1);
            k.truth_out += has(&f.results, Scalar::I1);
            k.integer_in += has(&params, Scalar::I32);
            k.integer_out += has(&f.results, Scalar::I32);
            k.vectors += u32::from(params.iter().chain(&f.results).any(|t| t.lanes > 1));
            k.nested += u32::from(calls(f).count() > 0);
            k.branches += u32::from(f.layout.len() > 1);
        }
    }
    println!("{k:?}");
    let each = [k.many_params, k.many_results, k.truth_in, k.truth_out, k.integer_in, k.integer_out, k.vectors, k.nested, k.branches];
    assert!(k.programs > 60 && each.iter().all(|n| *n > 10), "{k:?}");
}
