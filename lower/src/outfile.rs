//! Files that appear whole or not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Links that are followed before a path counts as endless.
const LINKS: usize = 40;

/// Writes a file: to a neighbour first, then renamed, so that nobody sees half of it. What stands behind a symbolic link is replaced, not
/// the link; devices and pipes, and the files that a process has open as `/dev/stdout` or `/proc/self/fd/N`, are written as they are.
/// A file that nobody may write is not replaced, and a replaced one keeps its permissions.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (path, open) = behind_links(path)?;
    let old = std::fs::metadata(&path).ok();
    if open || old.as_ref().is_some_and(|m| !m.is_file()) {
        return std::fs::write(path, bytes);
    }
    if old.as_ref().is_some_and(|m| m.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file that is there is read-only"));
    }
    // Threads of one process may write files of one name.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let temporary = path.with_file_name(name);
    let keep = |m: std::fs::Metadata| std::fs::set_permissions(&temporary, m.permissions());
    let done = std::fs::write(&temporary, bytes).and_then(|()| old.map_or(Ok(()), keep)).and_then(|()| std::fs::rename(&temporary, &path));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Where a path's symbolic links lead, and whether that is an open file of a process.
fn behind_links(path: &Path) -> io::Result<(PathBuf, bool)> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        // Linux and others have the open files there; `/dev` also has folders of plain files.
        if path.starts_with("/proc") || path.starts_with("/dev/fd") {
            return Ok((path, true));
        }
        match std::fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok((path, false)),
        }
    }
    Err(io::Error::other("the symbolic links have no end"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_read_only_file_stays() {
        let folder = std::env::temp_dir().join(format!("outfile-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a");
        write(&file, b"one").unwrap();
        let mut permissions = std::fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&file, permissions.clone()).unwrap();
        assert_eq!(write(&file, b"two").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn who_reads_an_old_file_keeps_it() {
        use std::io::Read;
        // `/dev/shm` is a folder like others.
        for folder in [std::env::temp_dir(), PathBuf::from("/dev/shm")].into_iter().filter(|f| f.is_dir()) {
            let file = folder.join(format!("outfile-old-{}", std::process::id()));
            write(&file, b"one").unwrap();
            let mut reader = std::fs::File::open(&file).unwrap();
            write(&file, b"second").unwrap();
            let mut seen = String::new();
            reader.read_to_string(&mut seen).unwrap();
            assert_eq!((seen.as_str(), std::fs::read(&file).unwrap().as_slice()), ("one", &b"second"[..]));
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        let folder = std::env::temp_dir().join(format!("outlink-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink("real", &link).unwrap();
        write(&link, b"one").unwrap();
        write(&link, b"two").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(folder.join("real")).unwrap(), b"two");
        std::os::unix::fs::symlink("round", folder.join("round")).unwrap();
        assert!(write(&folder.join("round"), b"x").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
