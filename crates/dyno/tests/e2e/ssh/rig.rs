//! Hosts with real ssh servers on this machine. Each has namespaces of its own (network, processes,
//! mounts, System V and POSIX IPC), and `dyno` runs beside them in another network, joined to them by a
//! bridge: the machine's own network is not touched. All of it ends with the processes that hold it.

use crate::harness::{Ended, Place, is_alive, send, wait_for};
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Where Debian has it; it must be started by its path.
const SSHD: &str = "/usr/sbin/sshd";

pub(crate) struct Rig {
    pub(crate) place: Place,
    /// Holds the network that `dyno` runs in.
    desk: Child,
    hosts: Vec<Child>,
}

/// Whether a rig can be made; says so where it cannot.
pub(crate) fn is_possible() -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    let runs = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command.arg(argument).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().is_ok()
    };
    let missing = match () {
        () if !root => "root",
        () if !Path::new(SSHD).exists() => "openssh-server",
        () if !runs("ssh", "-V") => "openssh-client",
        () if !runs("ip", "-V") => "iproute2",
        () => return true,
    };
    eprintln!("NOT TESTED: hosts that are reached by ssh need {missing}");
    false
}

/// A process that dies with the thread of the test.
fn hold(command: &mut Command) -> Child {
    // SAFETY: between fork and exec only a system call is made, without allocation.
    unsafe {
        command.pre_exec(
            || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        );
    }
    command.stdin(Stdio::null()).spawn().unwrap()
}

#[track_caller]
fn must(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

fn network_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// Waits until the process is in a network of its own.
#[track_caller]
fn wait_for_network(child: &Child) {
    let own = network_of(std::process::id());
    wait_for("a network namespace", || {
        network_of(child.id()).filter(|n| Some(n) != own.as_ref())
    });
}

impl Rig {
    /// `h1` to `hN`, which are also the names that `ssh` knows, and the testbed `bench` of all of them.
    /// `stranger` is `h1` with a key that it does not know, and nobody answers as `nobody`.
    pub(crate) fn new(hosts: usize) -> Self {
        let place = Place::new();
        let dir = place.path("rig");
        std::fs::create_dir_all(dir.join("bin")).unwrap();
        for key in ["host", "client", "stranger"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            must(keygen.arg(dir.join(key)));
        }
        let desk = hold(Command::new("unshare").args(["--net", "sleep", "infinity"]));
        wait_for_network(&desk);
        let desk_id = desk.id();
        let ip = |pid: u32, arguments: &str| {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net=/proc/{pid}/ns/net")).arg("ip");
            must(command.args(arguments.split(' ')));
        };
        ip(desk_id, "link set lo up");
        ip(desk_id, "link add br0 type bridge mcast_snooping 0");
        ip(desk_id, "address add 10.88.0.254/24 dev br0");
        ip(desk_id, "link set br0 up");
        let mut rig = Rig {
            place,
            hosts: Vec::new(),
            desk,
        };
        for number in 1..=hosts {
            let host = rig.start(number);
            let pid = host.id();
            rig.hosts.push(host);
            let cable = format!("link add p{number} type veth peer name eth0 netns {pid}");
            ip(desk_id, &cable);
            ip(desk_id, &format!("link set p{number} master br0 up"));
            ip(pid, "link set lo up");
            ip(pid, &format!("address add 10.88.0.{number}/24 dev eth0"));
            ip(pid, "link set eth0 up");
            // Discovery by multicast needs a route, and there is no default route.
            ip(pid, "route add 224.0.0.0/4 dev eth0");
        }
        rig.configure();
        for number in 1..=hosts {
            wait_for("an ssh server", || {
                let mut ssh = rig.command("ssh");
                ssh.args(["-o", "BatchMode=yes", &format!("h{number}"), "true"]);
                ssh.output().unwrap().status.success().then_some(())
            });
        }
        rig
    }

    /// Gives every link what `testbeds/netns-1gbe.toml` gives its own: rate and buffer in both directions.
    pub(crate) fn shape(&self) {
        let shape = |pid: u32, device: &str| {
            let mut command = Command::new("nsenter");
            command
                .arg(format!("--net=/proc/{pid}/ns/net"))
                .args(["tc", "qdisc", "add", "dev", device, "root", "tbf"])
                .args([
                    "rate", "1gbit", "burst", "125000", "limit", "524288", "overhead", "24",
                ]);
            must(&mut command);
        };
        for (number, host) in (1..).zip(&self.hosts) {
            shape(host.id(), "eth0");
            shape(self.desk.id(), &format!("p{number}"));
        }
    }

    /// The server of one host, and what holds the host's namespaces.
    fn start(&self, number: usize) -> Child {
        let dir = self.place.path("rig");
        let tmp = self.host_tmp(number);
        std::fs::create_dir_all(&tmp).unwrap();
        let config = format!(
            "Port 22\n\
             HostKey {dir}/host\n\
             AuthorizedKeysFile {dir}/client.pub\n\
             PidFile none\n\
             UsePAM no\n\
             StrictModes no\n\
             PermitRootLogin yes\n\
             PasswordAuthentication no\n\
             KbdInteractiveAuthentication no\n\
             SetEnv TMPDIR={tmp} XDG_CACHE_HOME={dir}/cache HOME={dir}\n",
            dir = dir.display(),
            tmp = tmp.display(),
        );
        let file = dir.join(format!("sshd{number}.conf"));
        std::fs::write(&file, config).unwrap();
        let file = file.display();
        let script = format!(
            "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && mount -t tmpfs tmpfs /dev/shm && \
             exec {SSHD} -D -e -f {file} 2>{file}.log"
        );
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--ipc", "--pid", "--mount-proc", "--fork"])
            .args(["--kill-child", "sh", "-c", &script]);
        let child = hold(&mut command);
        wait_for_network(&child);
        child
    }

    /// What the user of `ssh` has configured, and the testbed.
    fn configure(&self) {
        let dir = self.place.path("rig");
        let shown = dir.display();
        let key = std::fs::read_to_string(dir.join("host.pub")).unwrap();
        std::fs::write(dir.join("known"), format!("* {key}")).unwrap();
        let mut config = format!(
            "Host stranger\n HostName 10.88.0.1\n IdentityFile {shown}/stranger\n\
             Host nobody\n HostName 10.88.0.200\n ConnectTimeout 1\n"
        );
        let mut testbed = "description = \"hosts behind ssh\"\n".to_owned();
        for number in 1..=self.hosts.len() {
            write!(
                config,
                "Host h{number}\n HostName 10.88.0.{number}\n IdentityFile {shown}/client\n"
            )
            .unwrap();
            write!(
                testbed,
                "[[host]]\nname = \"h{number}\"\nreach = \"ssh\"\ndestination = \"h{number}\"\n\
                 address = \"10.88.0.{number}\"\n"
            )
            .unwrap();
        }
        write!(
            config,
            "Host *\n User root\n IdentitiesOnly yes\n UserKnownHostsFile {shown}/known\n \
             GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n LogLevel ERROR\n"
        )
        .unwrap();
        std::fs::write(dir.join("config"), config).unwrap();
        self.place.file("testbeds/bench.toml", &testbed);
        self.wrap("exec ");
        must(Command::new("chmod").arg("755").arg(dir.join("bin/ssh")));
    }

    /// The `ssh` of the tests, which must not read the configuration of the user who runs them; the shell reads `before` in
    /// front of it.
    fn wrap(&self, before: &str) {
        let dir = self.place.path("rig");
        let real = must(Command::new("sh").args(["-c", "command -v ssh"])).stdout;
        let real = String::from_utf8(real).unwrap();
        let (real, shown) = (real.trim(), dir.display());
        let wrapper = format!("#!/bin/sh\n{before}{real} -F {shown}/config \"$@\"\n");
        std::fs::write(dir.join("bin/ssh"), wrapper).unwrap();
    }

    /// Has connections end a while after what they carry, as on a loaded machine.
    pub(crate) fn slow_to_end(&self) {
        self.wrap("case \" $* \" in *' -N '*|*--keep*) trap 'code=$?; sleep 1; exit $code' EXIT;; *) exec=exec;; esac\n$exec ");
    }

    /// A command that runs where `dyno` does.
    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.place.path("rig/bin");
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.desk.id()))
            .arg(program)
            .env("PATH", format!("{}:{path}", bin.display()))
            .stdin(Stdio::null());
        command
    }

    /// `dyno`, which reaches the hosts.
    pub(crate) fn dyno(&self, arguments: &[&str]) -> Command {
        let plain = self.place.dyno(arguments);
        let mut command = self.command(&plain.get_program().to_string_lossy());
        command
            .args(plain.get_args())
            .current_dir(plain.get_current_dir().unwrap());
        for (name, value) in plain.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.dyno(arguments).output().unwrap().into()
    }

    fn host_tmp(&self, number: usize) -> PathBuf {
        self.place.path(&format!("rig/h{number}"))
    }

    /// What lies in the temporary directory of a host.
    pub(crate) fn leftovers(&self, number: usize) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.host_tmp(number)).unwrap();
        entries.flatten().map(|e| e.path()).collect()
    }

    /// The copies of Dyno that the hosts share, as hosts with one home directory do: their programs, and
    /// the number of each file, which another copy would not have.
    pub(crate) fn copies(&self) -> Vec<(PathBuf, u64)> {
        let entries = std::fs::read_dir(self.place.path("rig/cache/dyno/agents")).unwrap();
        let programs = entries.flatten().map(|e| e.path().join("dyno"));
        programs
            .map(|p| (p.clone(), p.metadata().unwrap().ino()))
            .collect()
    }

    /// The live processes on a host, with their arguments, as this machine numbers them.
    pub(crate) fn processes(&self, number: usize) -> Vec<(i32, String)> {
        let network = network_of(self.hosts[number - 1].id());
        let mut all = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            if network_of(pid) != network || network.is_none() {
                continue;
            }
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            let pid = i32::try_from(pid).unwrap();
            if is_alive(pid) {
                all.push((pid, arguments.trim_end().to_owned()));
            }
        }
        all
    }

    /// Those whose arguments end so.
    pub(crate) fn ending(&self, number: usize, end: &str) -> Vec<i32> {
        let all = self.processes(number).into_iter();
        all.filter(|(_, a)| a.ends_with(end)).map(|p| p.0).collect()
    }

    /// Waits until the host has one agent, and returns it.
    #[track_caller]
    pub(crate) fn agent(&self, number: usize) -> i32 {
        wait_for("an agent", || {
            self.ending(number, "/dyno agent").first().copied()
        })
    }

    /// Waits until nothing of Dyno is on the host.
    #[track_caller]
    pub(crate) fn wait_until_clear(&self, number: usize) {
        wait_for(&format!("h{number} to be clear"), || {
            let running = self.processes(number);
            let clear = !running.iter().any(|(_, a)| a.contains("dyno"));
            (clear && self.leftovers(number).is_empty()).then_some(())
        });
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in self.hosts.iter_mut().chain([&mut self.desk]) {
            // The kernel ends everything in the host's namespaces with their first process.
            send(i32::try_from(child.id()).unwrap(), libc::SIGKILL);
            let _ = child.wait();
        }
    }
}
