//! What the image must know of programs and libraries: which others they need, and how much of them is ever loaded.
//! ELF-64 as in the System V ABI, chapters 4 and 5.

use crate::error::MachineError;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `\x7fELF`, 64 bits, little endian (e_ident).
const IDENT: &[u8] = b"\x7fELF\x02\x01";
/// Where e_phoff, e_shoff, e_phentsize, e_phnum, e_shnum stand in the header.
const PHOFF: usize = 0x20;
const SHOFF: usize = 0x28;
const PHENTSIZE: usize = 0x36;
const PHNUM: usize = 0x38;
const SHNUM: usize = 0x3c;
/// Of a program header: p_type, p_offset, p_filesz.
const TYPE: usize = 0;
const OFFSET: usize = 0x08;
const FILESZ: usize = 0x20;
/// The segment that names the interpreter.
const INTERP: u32 = 3;

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let read = bytes.get(at..at.checked_add(N)?)?;
    let mut all = [0; 8];
    all[..N].copy_from_slice(read);
    Some(u64::from_le_bytes(all))
}

/// Type, offset and size in the file of each segment; nothing where it is no such file.
fn segments(bytes: &[u8]) -> Option<Vec<(u32, usize, usize)>> {
    if !bytes.starts_with(IDENT) {
        return None;
    }
    let first = number::<8>(bytes, PHOFF)? as usize;
    let (size, count) = (number::<2>(bytes, PHENTSIZE)?, number::<2>(bytes, PHNUM)?);
    let segment = |i: u64| {
        let at = first.checked_add((i * size) as usize)?;
        let kind = number::<4>(bytes, at + TYPE)? as u32;
        let offset = number::<8>(bytes, at + OFFSET)? as usize;
        Some((kind, offset, number::<8>(bytes, at + FILESZ)? as usize))
    };
    (0..count).map(segment).collect()
}

/// The file without what is never loaded: sections of symbols and of what debuggers want, which are most of a debug
/// build. Unchanged where it is no ELF file.
pub(super) fn loaded(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(segments) = segments(&bytes) else {
        return bytes;
    };
    let ends = segments
        .iter()
        .map(|(_, offset, size)| offset.saturating_add(*size));
    let headers = number::<8>(&bytes, PHOFF).unwrap_or(0) as usize + segments.len() * 0x38;
    let end = ends.max().unwrap_or(0).max(headers);
    if end < bytes.len() {
        bytes.truncate(end);
        // There are no sections any more.
        bytes[SHOFF..SHOFF + 8].fill(0);
        bytes[SHNUM..SHNUM + 4].fill(0);
    }
    bytes
}

/// The interpreter that a program names.
pub(super) fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let all = segments(bytes)?;
    let (_, offset, size) = all.into_iter().find(|(kind, ..)| *kind == INTERP)?;
    let name = bytes.get(offset..offset.checked_add(size)?)?;
    let name = std::str::from_utf8(name).ok()?.trim_end_matches('\0');
    Some(PathBuf::from(name))
}

/// The files of all libraries that `file` needs, as `interpreter` finds them here (ld.so(8), `--list`).
pub(super) fn needed(interpreter: &Path, file: &Path) -> Result<Vec<PathBuf>, MachineError> {
    let output = Command::new(interpreter)
        .arg("--list")
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| MachineError::Image(format!("cannot start {}: {e}", interpreter.display())))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    // A file without any library says so and fails.
    if !output.status.success()
        && !said.contains("statically linked")
        && !error.contains("statically linked")
    {
        return Err(MachineError::Image(format!(
            "{} does not find what {} needs: {}",
            interpreter.display(),
            file.display(),
            error.trim()
        )));
    }
    Ok(listed(&said))
}

/// The paths of `NAME => PATH (ADDRESS)`; the kernel's own object and the interpreter have no arrow.
fn listed(said: &str) -> Vec<PathBuf> {
    let paths = said.lines().filter_map(|line| {
        let (_, found) = line.split_once("=> ")?;
        let (path, _) = found.rsplit_once(" (")?;
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_runs_on_what_is_loaded_of_it() {
        use std::os::unix::fs::PermissionsExt;
        let own = std::fs::read("/proc/self/exe").unwrap();
        let interpreter = interpreter(&own).unwrap();
        assert!(interpreter.exists(), "{}", interpreter.display());
        let program = std::env::current_exe().unwrap();
        let libraries = needed(&interpreter, &program).unwrap();
        assert!(
            libraries
                .iter()
                .any(|l| l.to_string_lossy().contains("libc.so")),
            "{libraries:?}"
        );
        let size = own.len();
        let short = loaded(own);
        assert!(short.len() < size);
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("copy");
        std::fs::write(&copy, short).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&copy).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("this_program_runs"));
    }

    #[test]
    fn what_is_no_elf_file_is_left_as_it_is() {
        for text in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF\x02\x01"] {
            assert_eq!(loaded(text.to_vec()), text);
            assert_eq!(interpreter(text), None);
        }
    }

    #[test]
    fn a_list_of_libraries_is_read() {
        let said = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld.so (0x3)\n\tx => not found\n";
        assert_eq!(listed(said), [PathBuf::from("/lib/libc.so.6")]);
    }
}
