//! A folder of one test's own, in which commands run.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// Removed with everything in it when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty one; `name` is told apart from those of other tests.
    pub fn new(name: &str) -> Folder {
        let f = std::env::temp_dir().join(format!("shaderc-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&f);
        std::fs::create_dir_all(&f).unwrap();
        Folder(f)
    }
    /// With a file more.
    pub fn with(self, name: &str, text: &str) -> Folder {
        let p = self.0.join(name);
        std::fs::create_dir_all(p.parent().unwrap()).unwrap();
        std::fs::write(p, text).unwrap();
        self
    }
    /// What a command comes to.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(&self.0).args(arguments).output().unwrap()
    }
    /// A command that must succeed.
    pub fn succeeds(&self, arguments: &[&str]) -> Output {
        let o = self.run(arguments);
        assert!(o.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&o.stderr));
        o
    }
    /// A file's contents.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
