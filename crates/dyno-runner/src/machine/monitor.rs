//! The monitor of a virtual machine: QEMU, as a child of the runner's that dies with it.

use super::console::keep_open;
use super::image::Image;
use super::init::INIT;
use super::kernel::Kernel;
use super::shared::SharedMemory;
use super::vsock::Device;
use crate::child::{Tail, confine, end_group, exit, tie_to_runner};
use crate::error::MachineError;
use crate::network::namespace::NetworkNamespace;
use crate::programs::find;
use dyno_model::Testbed;
use dyno_model::machine::{Accelerator, Machine};
use dyno_model::plan::Reach;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The monitor of this processor's machines, and the Debian package that has it.
const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";
/// A kernel that KVM executes has said its first line long before.
const KVM: Duration = Duration::from_secs(5);
/// What a guest needs beside its image: the kernel, the agents at work.
const BESIDE: u64 = 96 << 20;

/// What a machine has that stacks of the plan need.
pub(crate) struct Devices {
    /// Its vsock device.
    pub(crate) vsock: Option<Device>,
    /// The memory that it shares with others.
    pub(crate) shared: Option<OwnedFd>,
}

/// A running machine. Dropping it ends it.
pub(crate) struct Monitor {
    child: Child,
    said: Tail,
}

/// What is the same for every machine: no device that was not asked for, no window, no second start after a panic.
fn qemu(program: &Path, machine: &Machine, accelerator: Accelerator, kernel: &Kernel) -> Command {
    let mut command = Command::new(program);
    let memory = format!("{}M", machine.memory_bytes >> 20);
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-no-reboot", "-machine", "q35", "-m", &memory])
        .args(["-smp", &machine.cpus.to_string()])
        .args(match accelerator {
            Accelerator::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Accelerator::Auto | Accelerator::Tcg => ["-accel", "tcg,thread=multi", "-cpu", "max"],
        })
        .args(["-serial", "stdio", "-kernel"])
        .arg(&kernel.path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    confine(&mut command, &machine.pinned);
    tie_to_runner(&mut command);
    command
}

impl Monitor {
    /// Boots a machine within the namespace of its switch, where the device `tap` is for it. `port` is its end of the
    /// runner's connection.
    #[expect(
        clippy::too_many_lines,
        reason = "the arguments of one command, a device after the other"
    )]
    pub(crate) fn start(
        host: &str,
        machine: &Machine,
        kernel: &Kernel,
        image: &Image,
        (switch, tap, number): (&NetworkNamespace, &str, usize),
        port: UnixStream,
        devices: Devices,
    ) -> Result<Self, MachineError> {
        let program = program(host)?;
        let failed = |reason: String| MachineError::Boot {
            host: host.to_owned(),
            reason,
        };
        let needed = 2 * image.bytes + BESIDE;
        if machine.memory_bytes < needed {
            return Err(MachineError::TooLarge {
                host: host.to_owned(),
                asked: format!("{} MiB of memory", machine.memory_bytes >> 20),
                there: format!(
                    "its image alone needs {} MiB, and twice as much while it is unpacked",
                    image.bytes >> 20
                ),
                advice: format!("write `memory = \"{} MiB\"` or more", (needed >> 20) + 1),
            });
        }
        let image = image.file.try_clone();
        let image = image.map_err(|e| failed(format!("cannot hand its image on: {e}")))?;
        let mut command = qemu(&program, machine, machine.accelerator, kernel);
        // The guest's counter is this machine's and a constant: it is as steady as this one.
        let counter = match dyno_measure::tsc_refusal() {
            None => "tsc=reliable",
            Some(_) => "",
        };
        let port = OwnedFd::from(port);
        command
            .args(["-initrd", &format!("/proc/self/fd/{}", image.as_raw_fd())])
            .args([
                "-append",
                &format!("console=ttyS0 quiet panic=-1 rdinit={} {counter}", INIT),
            ])
            .args(["-device", "virtio-serial-pci"])
            .args([
                "-chardev",
                &format!("socket,id=port,fd={}", port.as_raw_fd()),
            ])
            .args(["-device", "virtserialport,chardev=port,nr=1,name=dyno"])
            .args([
                "-netdev",
                &format!("tap,id=net,ifname={tap},script=no,downscript=no"),
            ])
            // A private address: the second lowest bit of its first byte (IEEE 802, 8.2).
            .args([
                "-device",
                &format!("virtio-net-pci,netdev=net,romfile=,mac=52:54:00:64:79:{number:02x}"),
            ]);
        if let (Some(bytes), Some(memory)) = (machine.shared_bytes, devices.shared) {
            command.args(SharedMemory::arguments(bytes, &memory));
            keep_open(&mut command, memory);
        }
        match devices.vsock {
            None => {}
            Some(Device::Kernel(cid)) => {
                command.args(["-device", &format!("vhost-vsock-pci,guest-cid={cid}")]);
            }
            Some(Device::Process(connection)) => {
                let connection = OwnedFd::from(connection);
                let memory = machine.memory_bytes >> 20;
                command
                    .args([
                        "-object",
                        &format!("memory-backend-memfd,id=ram,size={memory}M,share=on"),
                    ])
                    .args(["-machine", "memory-backend=ram"])
                    .args([
                        "-chardev",
                        &format!("socket,id=vsock,fd={}", connection.as_raw_fd()),
                    ])
                    .args(["-device", "vhost-user-vsock-pci,chardev=vsock"]);
                keep_open(&mut command, connection);
            }
        }
        switch.enter(&mut command);
        keep_open(&mut command, image.into());
        keep_open(&mut command, port);
        let mut child = command
            .spawn()
            .map_err(|e| failed(format!("cannot start {}: {e}", program.display())))?;
        let mut said = Tail::default();
        if let Some(stdout) = child.stdout.take() {
            said.follow(stdout, |_| ());
        }
        if let Some(stderr) = child.stderr.take() {
            said.follow(stderr, |_| ());
        }
        Ok(Monitor { child, said })
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the machine ended, if it has, with what it said last.
    pub(crate) fn ended(&mut self) -> Option<String> {
        // An error here means that there is no such child, which cannot be before it is reaped.
        let status = self.child.try_wait().ok().flatten()?;
        let lines = self.said.complete();
        let panic = lines
            .iter()
            .find(|l| l.contains("Kernel panic") || l.contains("dyno init:"));
        Some(match panic {
            Some(line) => format!("the guest ended itself: {}", line.trim()),
            None => {
                let end = format!("{PROGRAM} ended with {}", exit(status));
                format!("{end}{}", last(&lines))
            }
        })
    }

    /// What it said last, for who waits in vain.
    pub(crate) fn last_words(&self) -> String {
        last(&self.said.lines())
    }
}

pub(super) fn last(lines: &[String]) -> String {
    let line = lines.iter().rev().find(|l| !l.trim().is_empty());
    line.map_or(String::new(), |line| {
        format!("; it said last: {}", line.trim())
    })
}

impl Drop for Monitor {
    fn drop(&mut self) {
        end_group(&mut self.child);
    }
}

fn program(host: &str) -> Result<PathBuf, MachineError> {
    find(PROGRAM).ok_or_else(|| MachineError::Monitor {
        host: host.to_owned(),
        program: PROGRAM,
        package: PACKAGE,
    })
}

/// Sees that the machines of `testbed` can be had here.
///
/// # Errors
///
/// What is missing or too little, and what mends it.
pub(crate) fn check(testbed: &Testbed) -> Result<(), MachineError> {
    let cpus = dyno_measure::allowed_cpus();
    let available = available_memory();
    let mut memory = 0;
    for (host, machine) in testbed.machines() {
        if !cfg!(target_arch = "x86_64") {
            return Err(MachineError::Boot {
                host: host.to_owned(),
                reason: "Dyno boots machines on x86-64 only; start one by hand and reach it by ssh"
                    .into(),
            });
        }
        let too_large = |asked: String, there: String, advice: String| MachineError::TooLarge {
            host: host.to_owned(),
            asked,
            there,
            advice,
        };
        program(host)?;
        Kernel::find(host, machine)?;
        // The machine's network ends in a tap device. Opening has no effect by itself.
        let tun = std::path::Path::new("/dev/net/tun");
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(tun);
        if let Err(e) = opened {
            return Err(MachineError::Boot {
                host: host.to_owned(),
                reason: format!(
                    "its network needs {}: {e}; run `modprobe tun`, or start the container with --device=/dev/net/tun",
                    tun.display()
                ),
            });
        }
        if machine.cpus as usize > cpus.len() {
            return Err(too_large(
                format!("{} CPUs", machine.cpus),
                format!("this process may use {}", cpus.len()),
                format!("write `cpus = {}` or less", cpus.len()),
            ));
        }
        if let Some(cpu) = machine.pinned.iter().find(|cpu| !cpus.contains(cpu)) {
            return Err(too_large(
                format!("CPU {cpu}"),
                format!("this process may only use {cpus:?}"),
                "write others in `pinned`".into(),
            ));
        }
        memory += machine.memory_bytes;
        if let Some(there) = available.filter(|there| memory > *there) {
            return Err(too_large(
                format!(
                    "{} MiB of memory, all machines up to it together",
                    memory >> 20
                ),
                format!("{} MiB are free", there >> 20),
                "write less in `memory`, or end what uses it".into(),
            ));
        }
    }
    Ok(())
}

/// Puts what executes the machines of `testbed` in the place of `auto`, and the kernel that is found where none is named.
/// `tell` hears where they are emulated.
///
/// # Errors
///
/// Where KVM is asked for and does not work.
pub(crate) fn settle(
    testbed: &mut Testbed,
    tell: &mut dyn FnMut(String),
) -> Result<(), MachineError> {
    let mut kvm: Option<Result<(), String>> = None;
    for host in &mut testbed.hosts {
        let Reach::Vm(machine) = &mut host.reach else {
            continue;
        };
        let kernel = Kernel::find(&host.name, machine)?;
        // What is booted is a part of the run, also when it is resumed.
        machine.kernel = Some(kernel.path.clone());
        if machine.accelerator == Accelerator::Tcg {
            continue;
        }
        let program = program(&host.name)?;
        let works = kvm.get_or_insert_with(|| probe_kvm(&program, machine, &kernel));
        machine.accelerator = match (works, machine.accelerator) {
            (Ok(()), _) => Accelerator::Kvm,
            (Err(reason), Accelerator::Kvm) => {
                return Err(MachineError::Boot {
                    host: host.name.clone(),
                    reason: format!(
                        "KVM cannot be used: {reason}; write `accelerator = \"tcg\"` to emulate it, or \"auto\""
                    ),
                });
            }
            (Err(reason), _) => {
                tell(format!(
                    "KVM cannot be used: {reason}; {} is emulated, and its times are those of an emulator",
                    host.name
                ));
                Accelerator::Tcg
            }
        };
    }
    Ok(())
}

/// Whether KVM executes the kernel up to its first line: where it is there and hangs, nothing else shows it.
fn probe_kvm(program: &Path, machine: &Machine, kernel: &Kernel) -> Result<(), String> {
    let device = Path::new("/dev/kvm");
    rustix::fs::access(
        device,
        rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK,
    )
    .map_err(|e| format!("{} cannot be opened: {e}", device.display()))?;
    let mut command = qemu(program, machine, Accelerator::Kvm, kernel);
    command.args(["-append", "console=ttyS0 panic=-1"]);
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let mut said = Tail::default();
    if let Some(stderr) = child.stderr.take() {
        said.follow(stderr, |_| ());
    }
    let (told, heard) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            let found = lines.into_iter().any(|line| line.contains("Linux version"));
            // Nobody may wait for it any more.
            let _ = told.send(found);
        });
    }
    let began = Instant::now();
    let found = heard.recv_timeout(KVM);
    end_group(&mut child);
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "{PROGRAM} ended before the kernel had said anything{}",
            last(&said.complete())
        )),
        Err(_) => Err(format!(
            "the kernel said nothing within {} s",
            began.elapsed().as_secs()
        )),
    }
}

/// MemAvailable of /proc/meminfo (proc(5)), in bytes.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
