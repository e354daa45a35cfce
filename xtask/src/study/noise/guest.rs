//! The same study within a guest, as a machine on which the stacks use two of four CPUs: the whole program and the load are in
//! the guest, whose scheduler is the one that is read. An emulated guest on fewer CPUs than it has is itself disturbed: its CPUs wait
//! for each other without its knowing, so that what its own processes do may look longer than it was.

use crate::study::bench::Place;
use crate::{Outcome, files, kernel, packages, steps};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

const CPUS: &str = "4";
/// Its files are in it, unpacked and packed, for a while.
const MEMORY: &str = "1G";
/// The study prints a line after each of its three runs at the latest.
const SILENCE: Duration = Duration::from_secs(30 * 60);
const INIT: &str = include_str!("guest.sh");

pub(crate) fn study(bursts: u32, accelerator: Option<&str>) -> Outcome {
    let place = Place::new("noise-guest")?;
    kernel::fetch()?;
    let boot = files::list(&packages::cache("kernel").join("boot"))?;
    let is_kernel = |path: &&PathBuf| path.to_string_lossy().contains("/vmlinuz-");
    let kernel = boot
        .iter()
        .rfind(is_kernel)
        .ok_or("there is no kernel; run `cargo xtask kernel`")?;
    let image = image(&place, bursts)?;
    let accelerator = accelerator.unwrap_or("tcg,thread=multi");
    println!(
        "── within a guest: {CPUS} virtual CPUs, {accelerator}, {}",
        kernel.display()
    );
    let mut guest = Command::new("qemu-system-x86_64")
        .args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-machine",
            "q35",
        ])
        .args([
            "-m",
            MEMORY,
            "-smp",
            CPUS,
            "-accel",
            accelerator,
            "-cpu",
            "max",
            "-serial",
            "stdio",
        ])
        .args([
            "-append",
            "console=ttyS0 loglevel=3 panic=-1 tsc=reliable",
            "-kernel",
        ])
        .arg(kernel)
        .arg("-initrd")
        .arg(image)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| {
            format!("cannot start qemu-system-x86_64: {e}; run `apt-get install qemu-system-x86`")
        })?;
    let is_done = printed(&mut guest)?;
    let status = guest
        .wait()
        .map_err(|e| format!("cannot wait for QEMU: {e}"))?;
    match is_done && status.success() {
        true => Ok(()),
        false => Err(format!(
            "the study did not end well in the guest; QEMU ended with {status}"
        )),
    }
}

/// Prints what the guest prints until it ends; whether the study ended well.
fn printed(guest: &mut Child) -> Result<bool, String> {
    let mut is_done = false;
    let (lines, printed) = mpsc::channel();
    let said = guest.stdout.take().into_iter();
    std::thread::spawn(move || {
        for line in said.flat_map(|said| BufReader::new(said).split(b'\n')) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    loop {
        let line = match printed.recv_timeout(SILENCE) {
            Ok(line) => line.map_err(|e| format!("cannot read what the guest prints: {e}"))?,
            Err(RecvTimeoutError::Disconnected) => return Ok(is_done),
            Err(RecvTimeoutError::Timeout) => {
                let ended = guest.kill().and_then(|()| guest.wait());
                ended.map_err(|e| format!("cannot end QEMU: {e}"))?;
                let minutes = SILENCE.as_secs() / 60;
                return Err(format!(
                    "the guest printed nothing for {minutes} min and was ended; try fewer bursts"
                ));
            }
        };
        // A firmware's or a kernel's console may print anything.
        let line = String::from_utf8_lossy(&line);
        println!("{}", line.trim_end());
        is_done |= line.trim_end() == "the study ended with 0";
    }
}

/// An archive of `dyno`, this program and what they need.
fn image(place: &Place, bursts: u32) -> Result<PathBuf, String> {
    let root = place.dir.join("root");
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let ip = ["/sbin/ip", "/bin/ip"]
        .map(Path::new)
        .into_iter()
        .find(|ip| ip.exists());
    let ip = ip.ok_or("there is no `ip`; run `apt-get install iproute2`")?;
    let programs = [
        ("sh", Path::new("/bin/sh")),
        ("mount", Path::new("/bin/mount")),
        ("mkdir", Path::new("/bin/mkdir")),
        ("ip", ip),
        ("xtask", &own),
        ("dyno", place.program()),
    ];
    for folder in ["bin", "dev", "proc", "sys", "tmp"] {
        files::make_folder(&root.join(folder))?;
    }
    for (name, program) in programs {
        copy(program, &root.join("bin").join(name))?;
        // Each line has the path of a library, if it has any.
        let needed = steps::output(Command::new("ldd").arg(program))?;
        for library in needed
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
        {
            copy(Path::new(library), &root.join(&library[1..]))?;
        }
    }
    let init = root.join("init");
    files::write(&init, INIT.replace("BURSTS", &bursts.to_string()))?;
    let executable = std::fs::Permissions::from_mode(0o755);
    files::cannot(
        "make executable",
        &init,
        std::fs::set_permissions(&init, executable),
    )?;
    let packed = "find . | cpio --create --format newc --quiet >../image";
    steps::done(Command::new("sh").args(["-c", packed]).current_dir(&root))?;
    Ok(place.dir.join("image"))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    to.parent().map_or(Ok(()), files::make_folder)?;
    files::cannot("copy", from, std::fs::copy(from, to)).map(|_| ())
}
