//! Cases about what a machine does not do are named for it: `refused-` what it lacks, `limit-` what it has too little of.

use retroshade_filetests::discover;
use retroshade_lower::{CompileError, Options};
use std::path::Path;

#[test]
fn refusals_are_named_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut seen = [0; 2];
    for path in discover(&[root]).expect("cases") {
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let kind = ["refused-", "limit-"].iter().position(|p| name.starts_with(p));
        if !text.contains("; test compile(expect-fail)") {
            assert!(kind.is_none(), "{name} compiles");
            continue;
        }
        let Some(kind) = kind else { panic!("{name} is refused: its name begins with `refused-` or `limit-`") };
        seen[kind] += 1;
        let module = retroshade_ir::parse(&name, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for line in text.lines().filter_map(|l| l.strip_prefix("; target ")) {
            let mut words = line.split_whitespace();
            let isa = words.next().and_then(retroshade::target).expect("a target");
            let settings: Vec<(&str, &str)> = words.filter_map(|w| w.split_once('=')).collect();
            let setting = |name: &str| settings.iter().find(|(k, _)| *k == name).map(|(_, v)| *v);
            let chip = setting("chip").map(str::to_string);
            let max_registers = setting("registers").and_then(|n| n.parse().ok());
            let found = isa.compile(&module, &Options { chip, max_registers, ..Options::default() });
            let limit = matches!(found, Err(CompileError::Limit { .. }));
            assert_eq!(limit, kind == 1, "{name} on {}: {:?}", isa.name(), found.err().map(|e| e.to_string()));
        }
    }
    assert!(seen[0] > 10 && seen[1] > 10, "{seen:?}");
}
