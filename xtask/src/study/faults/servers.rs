//! Two hosts behind a real ssh server on the network of the study, where root has one installed.

use super::world::{MARK, World, must};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian has it; it must be started by its path.
const SSHD: &str = "/usr/sbin/sshd";
/// How long the server may take to answer first.
const PATIENCE: Duration = Duration::from_secs(30);
const SERVER: &str = include_str!("server.conf");
const CLIENT: &str = include_str!("client.conf");
const TESTBED: &str = include_str!("bench.toml");

/// Ends the server with the study.
pub(super) struct Servers(Child);

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Servers {
    /// Starts the server and describes the hosts to `ssh` and to Dyno. The error is why there are none.
    pub(super) fn start(world: &World) -> Result<Self, String> {
        if world.shared.is_some() || !Path::new(SSHD).exists() {
            return Err("hosts behind ssh need root and openssh-server".to_owned());
        }
        let place = world.place.display().to_string();
        let failed = |e: std::io::Error| format!("cannot prepare {place} for ssh: {e}");
        let mark = format!("{MARK}={}", std::process::id());
        let write = |path: &str, text: &str| {
            let text = text
                .replace("PLACE", &place)
                .replace("TMP", &world.tmp.to_string_lossy());
            fs::write(world.place.join(path), text.replace("MARK", &mark)).map_err(failed)
        };
        for folder in [
            "/run/sshd".to_owned(),
            format!("{place}/bin"),
            format!("{place}/cache"),
        ] {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        for key in ["host", "client"] {
            must(
                "ssh-keygen",
                &[
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-f",
                    &format!("{place}/{key}"),
                ],
            )?;
        }
        write("server.conf", SERVER)?;
        write("client.conf", CLIENT)?;
        write("testbeds/bench.toml", TESTBED)?;
        // The study's folder stands first in PATH.
        write(
            "bin/ssh",
            "#!/bin/sh\nPATH=${PATH#*:} exec ssh -F PLACE/client.conf \"$@\"\n",
        )?;
        let program = format!("{place}/bin/ssh");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let mut server = Command::new(SSHD);
        server
            .args(["-D", "-e", "-f", &format!("{place}/server.conf")])
            .stdin(Stdio::null());
        let servers = Servers(server.stderr(Stdio::null()).spawn().map_err(failed)?);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ssh = [
                "-F",
                &format!("{place}/client.conf"),
                "-o",
                "BatchMode=yes",
                "h1",
                "true",
            ];
            match must("ssh", &ssh) {
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50))
                }
                ended => return ended.map(|()| servers),
            }
        }
    }
}
