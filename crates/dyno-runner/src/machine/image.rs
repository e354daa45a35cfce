//! What a virtual machine boots with beside its kernel: an initramfs with this program as its first process, the agents
//! that the plan needs with all libraries, the kernel's modules, and `ip`.
//!
//! It is a cpio archive (format `newc`, Linux' Documentation/driver-api/early-userspace/buffer-format.rst) in memory: it
//! has no name that could be left behind. The same content gives the same image, byte by byte.

use super::elf;
use super::init::{INIT, IP, LIBRARIES, MODULES};
use super::kernel::Kernel;
use crate::error::MachineError;
use crate::payload::{PROGRAM, Payload, Piece};
use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Directory, file and link with their rights, and the one device (mode of inode(7)).
const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const DEVICE: u32 = 0o020_600;
/// The kernel opens it for the first process (Linux' Documentation/admin-guide/devices.txt).
const CONSOLE: (&str, u32, u32) = ("/dev/console", 5, 1);
/// What libraries ask for by name.
const FILES: [(&str, &str); 3] = [
    ("/etc/passwd", "root:x:0:0:root:/tmp:/bin/false\n"),
    ("/etc/group", "root:x:0:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
];

/// An image in memory.
pub(crate) struct Image {
    /// Its memory.
    pub(crate) file: File,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// The programs of the runner's machine, and what they are called in the guest.
    pub(crate) programs: BTreeMap<PathBuf, PathBuf>,
}

impl Image {
    /// Of the payloads by their programs, the kernel's modules, and the configurator `ip`.
    pub(crate) fn make(
        payloads: &BTreeMap<PathBuf, Payload>,
        kernel: &Kernel,
        ip: &Path,
    ) -> Result<Self, MachineError> {
        let mut tree = Tree::default();
        let own = read(Path::new("/proc/self/exe"))?;
        let interpreter = elf::interpreter(&own).ok_or_else(|| {
            MachineError::Image(
                "this program names no interpreter; build it for Linux with glibc".into(),
            )
        })?;
        tree.add_file(&interpreter, read(&interpreter)?);
        tree.add_file(Path::new(INIT), own);
        let mut programs = BTreeMap::new();
        let (mut sources, mut taken) = (vec![PathBuf::from("/proc/self/exe")], BTreeSet::new());
        for (program, payload) in payloads {
            let root = Path::new("/dyno").join(&payload.hash);
            for piece in payload.pieces() {
                let piece = piece.map_err(|e| MachineError::Image(e.to_string()))?;
                match piece {
                    Piece::File { name, from, bytes } => {
                        tree.add_file(&root.join(name), bytes);
                        taken.insert(from.to_owned());
                        sources.push(from.to_owned());
                    }
                    Piece::Link { name, from, target } => {
                        taken.insert(from.to_owned());
                        tree.add(
                            &root.join(name),
                            LINK,
                            target.to_string_lossy().into_owned().into(),
                        );
                    }
                }
            }
            programs.insert(program.clone(), root.join(PROGRAM));
        }
        tree.add_file(Path::new(IP), read(ip)?);
        sources.push(ip.to_owned());
        let mut places = BTreeSet::new();
        for source in &sources {
            for library in elf::needed(&interpreter, source)? {
                if taken.insert(library.clone()) {
                    tree.add_file(&library, read(&library)?);
                    places.extend(library.parent().map(|p| p.display().to_string()));
                }
            }
        }
        let places: Vec<String> = places.into_iter().collect();
        tree.add(Path::new(LIBRARIES), EXECUTABLE, places.join(":").into());
        let mut modules = String::new();
        for module in &kernel.modules {
            let name = module.file_name().unwrap_or_default();
            let path = Path::new("/lib/dyno-modules").join(name);
            modules.push_str(&format!("{}\n", path.display()));
            tree.add(&path, EXECUTABLE, read(module)?);
        }
        tree.add(Path::new(MODULES), EXECUTABLE, modules.into());
        for (path, text) in FILES {
            tree.add(Path::new(path), EXECUTABLE, text.into());
        }
        tree.seal(programs)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, MachineError> {
    fs::read(path).map_err(|e| MachineError::Image(format!("cannot read {}: {e}", path.display())))
}

/// The entries of an archive by their paths, so that directories stand before what is in them.
#[derive(Default)]
struct Tree(BTreeMap<PathBuf, (u32, Vec<u8>)>);

impl Tree {
    /// A program or a library, without what is never loaded.
    fn add_file(&mut self, path: &Path, bytes: Vec<u8>) {
        self.add(path, EXECUTABLE, elf::loaded(bytes));
    }

    fn add(&mut self, path: &Path, mode: u32, bytes: Vec<u8>) {
        for above in path.ancestors().skip(1).filter(|p| p.parent().is_some()) {
            let entry = self.0.entry(above.to_owned());
            entry.or_insert((DIRECTORY, Vec::new()));
        }
        self.0.insert(path.to_owned(), (mode, bytes));
    }

    fn seal(mut self, programs: BTreeMap<PathBuf, PathBuf>) -> Result<Image, MachineError> {
        let (console, major, minor) = CONSOLE;
        self.add(Path::new(console), DEVICE, Vec::new());
        let failed =
            |e: std::io::Error| MachineError::Image(format!("cannot hold it in memory: {e}"));
        let memory =
            memfd_create("dyno-image", MemfdFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let mut file = File::from(memory);
        let mut length = 0;
        let mut put = |bytes: &[u8]| {
            length += bytes.len() as u64;
            file.write_all(bytes).map_err(failed)
        };
        for (number, (path, (mode, bytes))) in (1..).zip(&self.0) {
            let device = match *mode {
                DEVICE => (major, minor),
                _ => (0, 0),
            };
            let name = path.strip_prefix("/").unwrap_or(path);
            entry(
                &mut put,
                number,
                &name.to_string_lossy(),
                *mode,
                device,
                bytes,
            )?;
        }
        entry(&mut put, 0, "TRAILER!!!", 0, (0, 0), &[])?;
        Ok(Image {
            file,
            bytes: length,
            programs,
        })
    }
}

/// Writes one entry: thirteen numbers in eight hexadecimal digits each, the name and the content, both filled up to four
/// bytes.
fn entry(
    put: &mut impl FnMut(&[u8]) -> Result<(), MachineError>,
    number: u32,
    name: &str,
    mode: u32,
    device: (u32, u32),
    bytes: &[u8],
) -> Result<(), MachineError> {
    let size = u32::try_from(bytes.len())
        .map_err(|_| MachineError::Image(format!("{name} is larger than 4 GiB")))?;
    let links = 1;
    // Inode, mode, user, group, links, time, size, device, device of a device, length of the name, no checksum.
    let fields = [
        number,
        mode,
        0,
        0,
        links,
        0,
        size,
        0,
        0,
        device.0,
        device.1,
        name.len() as u32 + 1,
        0,
    ];
    let mut head = String::from("070701");
    for field in fields {
        head.push_str(&format!("{field:08x}"));
    }
    head.push_str(name);
    head.push('\0');
    let fill = |length: usize| &[0; 3][..length.next_multiple_of(4) - length];
    put(head.as_bytes())?;
    put(fill(head.len()))?;
    put(bytes)?;
    put(fill(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_archive_is_what_cpio_reads_and_the_same_content_is_the_same_image() {
        let tree = || {
            let mut tree = Tree::default();
            tree.add(Path::new("/a/b/file"), EXECUTABLE, b"content".to_vec());
            tree.add(Path::new("/a/link"), LINK, b"b/file".to_vec());
            let mut image = tree.seal(BTreeMap::new()).unwrap();
            let mut bytes = Vec::new();
            std::io::Seek::rewind(&mut image.file).unwrap();
            std::io::Read::read_to_end(&mut image.file, &mut bytes).unwrap();
            assert_eq!(image.bytes, bytes.len() as u64);
            bytes
        };
        let bytes = tree();
        assert_eq!(bytes, tree());
        let cpio = Command::new("cpio")
            .args(["-t", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        // The archiver is on most machines, and Dyno does not need it.
        if let Ok(mut cpio) = cpio {
            cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
            let listed = cpio.wait_with_output().unwrap();
            let listed = String::from_utf8(listed.stdout).unwrap();
            assert_eq!(listed, "a\na/b\na/b/file\na/link\ndev\ndev/console\n");
        }
        assert!(bytes.starts_with(b"070701"));
        assert_eq!(bytes.len() % 4, 0);
    }
}
