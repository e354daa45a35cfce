//! The first process of a virtual machine: this very program, as `/init` of the image.
//!
//! It mounts what every Linux has, loads the modules of the image, waits for the runner to say who it is, and starts
//! and ends processes as it is told. It never ends by itself: the machine is ended from outside.

use super::frame::{self, Hello, Kind, Setup, Start, pump};
use super::shared;
use dyno_model::machine::{SHARED_MEMORY, VSOCK};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The path under which the kernel starts it.
pub const INIT: &str = "/init";
/// One module in each line, as paths in the image, those that others need first.
pub(super) const MODULES: &str = "/etc/dyno-modules";
/// Where libraries are looked for, as `LD_LIBRARY_PATH` wants it.
pub(super) const LIBRARIES: &str = "/etc/dyno-libraries";
/// The configurator of the network.
pub(super) const IP: &str = "/sbin/ip";
/// The port of the runner: the first one of the only serial device.
const PORT: &str = "/dev/vport0p1";

/// Brings the machine up and serves the runner. Returns only when something has failed, which ends the machine.
pub fn init() -> ExitCode {
    let began = uptime();
    match serve(began) {
        Ok(()) => eprintln!("dyno init: the runner's port has ended"),
        Err(reason) => eprintln!("dyno init: {reason}"),
    }
    ExitCode::FAILURE
}

type Fails<T> = Result<T, String>;

fn failed<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl Fn(E) -> String {
    move |e| format!("cannot {what}: {e}")
}

fn serve(began: u64) -> Fails<()> {
    mount_all()?;
    load_modules()?;
    let port = open_port()?;
    let guest = Guest {
        port: Arc::new(Mutex::new(
            port.try_clone().map_err(failed("copy the port"))?,
        )),
        processes: Arc::default(),
        vsock: Mutex::default(),
        shared: shared::in_guest()?,
        libraries: fs::read_to_string(LIBRARIES).unwrap_or_default(),
    };
    guest.reap();
    guest.listen(port, began)
}

/// CLOCK_BOOTTIME in nanoseconds: since the kernel began.
fn uptime() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

fn mount_all() -> Fails<()> {
    for (kind, place) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
        ("tmpfs", "/dev/shm"),
        ("mqueue", "/dev/mqueue"),
        ("tracefs", "/sys/kernel/tracing"),
    ] {
        let made = fs::create_dir_all(place);
        let words = [kind, place].map(|word| CString::new(word).unwrap_or_default());
        let [kind_c, place_c] = &words;
        // SAFETY: both are strings that end with NUL and live for the call; no data is given.
        let mounted = unsafe {
            libc::mount(
                kind_c.as_ptr(),
                place_c.as_ptr(),
                kind_c.as_ptr(),
                0,
                std::ptr::null(),
            )
        };
        // Not every kernel has tracing: nothing here needs it.
        if mounted != 0 && kind != "tracefs" {
            let why = io::Error::last_os_error();
            let made = made.err().map_or(String::new(), |e| format!("; {e}"));
            return Err(format!("cannot mount {kind} on {place}: {why}{made}"));
        }
    }
    Ok(())
}

fn load_modules() -> Fails<()> {
    let list = fs::read_to_string(MODULES).map_err(failed(format!("read {MODULES}")))?;
    for path in list.lines() {
        let file = File::open(path).map_err(failed(format!("open {path}")))?;
        // MODULE_INIT_COMPRESSED_FILE of <linux/module.h>.
        let flags: libc::c_int = if path.ends_with(".ko") { 0 } else { 4 };
        let none: &CStr = c"";
        // SAFETY: finit_module(2) reads the file and the empty string of parameters, both of which live for the call.
        let loaded = unsafe {
            libc::syscall(
                libc::SYS_finit_module,
                file.as_raw_fd(),
                none.as_ptr(),
                flags,
            )
        };
        let why = io::Error::last_os_error();
        if loaded != 0 && why.raw_os_error() != Some(libc::EEXIST) {
            return Err(format!("cannot load {path}: {why}"));
        }
    }
    Ok(())
}

/// The device comes up after its driver; the runner gives the machine its time.
fn open_port() -> Fails<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    loop {
        match options.open(PORT) {
            Ok(port) => return Ok(port),
            Err(e) if e.kind() == io::ErrorKind::NotFound => wait(),
            Err(e) => return Err(format!("cannot open {PORT}: {e}")),
        }
    }
}

fn wait() {
    std::thread::sleep(Duration::from_millis(1));
}

/// A port that gives nothing while the monitor has not opened it yet.
struct Patient(File);

impl io::Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 => wait(),
                n => return Ok(n),
            }
        }
    }
}

struct Guest {
    port: Arc<Mutex<File>>,
    processes: Arc<Mutex<HashMap<u32, Process>>>,
    /// Whom agents reach by vsock.
    vsock: Mutex<String>,
    /// The file of the memory that it shares with other hosts.
    shared: Option<PathBuf>,
    libraries: String,
}

/// A started process, by its channel.
struct Process {
    pid: u32,
    /// Dropped when its standard input ends.
    input: Option<std::process::ChildStdin>,
    /// Its output and its error that have not ended.
    open: u8,
    /// The code of a shell, once it has ended.
    code: Option<i32>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guest {
    fn listen(&self, port: File, began: u64) -> Fails<()> {
        let mut port = io::BufReader::new(Patient(port));
        loop {
            let frame = frame::read(&mut port).map_err(failed("read the port"))?;
            match frame.kind {
                Kind::Setup => {
                    let setup = serde_json::from_slice(&frame.bytes);
                    let setup: Setup = setup.map_err(failed("read the set-up"))?;
                    set_up(&setup)?;
                    *locked(&self.vsock) = setup.vsock;
                    let hello = Hello {
                        init_ns: began,
                        ready_ns: uptime(),
                    };
                    let hello = serde_json::to_vec(&hello).map_err(failed("say hello"))?;
                    self.send(0, Kind::Hello, &hello);
                }
                Kind::Start => self.start(frame.channel, &frame.bytes),
                Kind::Input => {
                    let mut all = locked(&self.processes);
                    if let Some(process) = all.get_mut(&frame.channel) {
                        let input = process.input.as_mut();
                        let heard = match frame.bytes.is_empty() {
                            true => false,
                            false => input.is_some_and(|i| i.write_all(&frame.bytes).is_ok()),
                        };
                        if !heard {
                            process.input = None;
                        }
                    }
                }
                Kind::Kill => {
                    if let Some(process) = locked(&self.processes).get_mut(&frame.channel) {
                        process.input = None;
                        kill_group(process.pid);
                    }
                }
                _ => {}
            }
        }
    }

    fn send(&self, channel: u32, kind: Kind, bytes: &[u8]) {
        // Whom it would be told has gone with the port.
        let _ = frame::write(&*locked(&self.port), channel, kind, bytes);
    }

    fn start(&self, channel: u32, order: &[u8]) {
        if let Err(reason) = self.try_start(channel, order) {
            self.send(channel, Kind::Error, format!("{reason}\n").as_bytes());
            // As shells say of what cannot be executed.
            self.send(channel, Kind::Exit, &126i32.to_le_bytes());
        }
    }

    fn try_start(&self, channel: u32, order: &[u8]) -> Fails<()> {
        let order: Start = serde_json::from_slice(order).map_err(failed("read an order"))?;
        let program = order.program;
        // Held until the process is known: whoever reaps waits for that.
        let mut all = locked(&self.processes);
        let mut child = Command::new(&program)
            .args(order.arguments)
            .env_clear()
            .envs(order.environment)
            .env("PATH", "/sbin:/bin")
            .env("HOME", "/tmp")
            .env("TMPDIR", "/tmp")
            .env("LD_LIBRARY_PATH", self.libraries.trim())
            .env(VSOCK, locked(&self.vsock).as_str())
            .envs(self.shared.iter().map(|path| (SHARED_MEMORY, path)))
            .current_dir("/tmp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed(format!("start {}", program.display())))?;
        let streams = [
            child
                .stdout
                .take()
                .map(|s| (Kind::Output, File::from(std::os::fd::OwnedFd::from(s)))),
            child
                .stderr
                .take()
                .map(|s| (Kind::Error, File::from(std::os::fd::OwnedFd::from(s)))),
        ];
        all.insert(
            channel,
            Process {
                pid: child.id(),
                input: child.stdin.take(),
                open: streams.iter().flatten().count() as u8,
                code: None,
            },
        );
        drop(all);
        for (kind, stream) in streams.into_iter().flatten() {
            let (port, processes) = (self.port.clone(), self.processes.clone());
            std::thread::spawn(move || {
                pump(stream, |bytes| {
                    frame::write(&*locked(&port), channel, kind, bytes).is_ok()
                });
                let mut all = locked(&processes);
                if let Some(process) = all.get_mut(&channel) {
                    process.open -= 1;
                }
                tell_end(&mut all, channel, &port);
            });
        }
        Ok(())
    }

    /// Waits for the end of every process: of those that were started, and of orphans, which become this one's.
    fn reap(&self) {
        let (port, processes) = (self.port.clone(), self.processes.clone());
        std::thread::spawn(move || {
            use rustix::process::{WaitId, WaitIdOptions, WaitOptions, wait as wait_any, waitid};
            loop {
                // Left waitable: it is taken once it is known.
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                let Ok(Some(_)) = waitid(WaitId::All, options) else {
                    // There is none.
                    wait();
                    continue;
                };
                let mut all = locked(&processes);
                let Ok(Some((pid, status))) = wait_any(WaitOptions::NOHANG) else {
                    continue;
                };
                let status = ExitStatus::from_raw(status.as_raw());
                let code = status.code().or(status.signal().map(|s| 128 + s));
                let pid = pid.as_raw_nonzero().get().unsigned_abs();
                let ended = all.iter_mut().find(|(_, process)| process.pid == pid);
                let ended = ended.map(|(channel, process)| {
                    process.code = Some(code.unwrap_or(255));
                    *channel
                });
                if let Some(channel) = ended {
                    tell_end(&mut all, channel, &port);
                }
            }
        });
    }
}

/// Tells how a process ended, once all that it wrote has been sent.
fn tell_end(all: &mut HashMap<u32, Process>, channel: u32, port: &Mutex<File>) {
    let over = all.get(&channel).filter(|p| p.open == 0);
    if let Some(code) = over.and_then(|p| p.code) {
        all.remove(&channel);
        let _ = frame::write(&*locked(port), channel, Kind::Exit, &code.to_le_bytes());
    }
}

fn kill_group(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn set_up(setup: &Setup) -> Fails<()> {
    rustix::system::sethostname(setup.name.as_bytes()).map_err(failed("set the host's name"))?;
    for which in ["all", "default"] {
        // As in network namespaces: its neighbour discovery would be traffic that nobody asked for. A kernel may be
        // without it.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
    let mut ip = Command::new(IP)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn()
        .map_err(failed(format!("start {IP}")))?;
    if let Some(mut stdin) = ip.stdin.take() {
        stdin
            .write_all(setup.network.as_bytes())
            .map_err(failed(format!("tell {IP} what to do")))?;
    }
    // It is reaped with the others: what it did shows.
    let _ = ip.wait();
    let addresses = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    match addresses.contains(&setup.address) {
        true => Ok(()),
        false => Err(format!(
            "{IP} did not give eth0 the address {}",
            setup.address
        )),
    }
}
