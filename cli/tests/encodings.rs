//! `docs/encodings/<target>.md` is what the form tables say. `SHADERC_BLESS=1` rewrites the pages.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

#[test]
fn the_pages_match_the_tables() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/encodings");
    for isa in retroshade::targets() {
        let page = isa.encoding_docs();
        assert!(page.lines().count() > 50, "{} documents its encodings", isa.name());
        let file = folder.join(format!("{}.md", isa.name()));
        if std::env::var_os("SHADERC_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &page).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == page, "{} is out of date; run the test with SHADERC_BLESS=1", file.display());
    }
}
