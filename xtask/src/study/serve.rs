//! What a server full of clients that obey nobody leaves to another user: `dyno serve` under silent, idle, slow and
//! greedy clients, and meanwhile one who asks for a page now and then. Loopback only.

use super::bench::Place;
use crate::Outcome;
use crate::vsomeip::copy_folder;
use rustix::thread::set_thread_uid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Runs in the folder. Greedy clients ask for reports of pairs of them.
const RUNS: usize = 24;
/// The user that the clients are, where this runs as root: nobody.
const CLIENT: u32 = 65534;
/// Who is not answered within this time counts as such.
const PATIENCE: Duration = Duration::from_secs(130);
/// The other user's pause between two requests.
const PAUSE: Duration = Duration::from_millis(100);
/// What the other user asks for, in turns.
const ASKED: [&str; 4] = [
    "the list",
    "a report that is kept",
    "a run's state",
    "a report that is new",
];

/// Ends the server with the study.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves copies of `run` by `program` to so many clients for so many seconds, and prints how long the other user waits.
pub(super) fn study(run: &Path, clients: u32, seconds: u32, program: Option<&str>) -> Outcome {
    let place = Place::new("serve")?;
    let runs = place.dir.join("runs");
    for number in 0..RUNS {
        copy_folder(run, &runs.join(name(number)))
            .map_err(|e| format!("cannot copy {}: {e}", run.display()))?;
    }
    let mut command = match program {
        Some(program) => Command::new(program),
        None => place.command(""),
    };
    command.args(["serve", "--listen", "0"]).arg(&runs);
    command.stdout(Stdio::piped());
    let started = command.spawn();
    let mut server = Server(started.map_err(|e| format!("cannot start {command:?}: {e}"))?);
    let address = address(&mut server.0)?;
    let root = rustix::process::geteuid().is_root();
    println!(
        "{clients} clients {}, {seconds} s",
        if root {
            "of another user"
        } else {
            "of the same user (root has another one)"
        }
    );
    let alone = ask(address, ASKED.len() as u32 * 5);
    table("alone", &alone);
    let (ended, joined) = (AtomicBool::new(false), AtomicU32::new(0));
    let under = std::thread::scope(|scope| {
        let (ended, joined) = (&ended, &joined);
        for number in 0..clients {
            let client = move || {
                if root && set_thread_uid(rustix::process::Uid::from_raw(CLIENT)).is_err() {
                    return;
                }
                // The first connection tells whether there is such a client at all.
                if connect(address).is_ok() {
                    joined.fetch_add(1, Ordering::Relaxed);
                }
                while !ended.load(Ordering::Relaxed) {
                    // That a client is sent away is what it may expect.
                    let _ = live(number, address, ended);
                    std::thread::sleep(Duration::from_millis(10));
                }
            };
            let thread = std::thread::Builder::new().stack_size(128 << 10);
            if let Err(e) = thread.spawn_scoped(scope, client) {
                eprintln!("only {number} clients: {e}");
                break;
            }
        }
        std::thread::sleep(Duration::from_secs(3));
        let until = Instant::now() + Duration::from_secs(seconds.into());
        let mut waits = Vec::new();
        let mut round = alone.len() as u32 / ASKED.len() as u32;
        while Instant::now() < until {
            waits.extend(once(address, round));
            round += 1;
        }
        ended.store(true, Ordering::Relaxed);
        waits
    });
    table("under clients", &under);
    println!(
        "  {} of {clients} clients could connect",
        joined.load(Ordering::Relaxed)
    );
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", server.0.id())).unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("the server's memory: {line}");
    }
    Ok(())
}

fn ask(address: SocketAddr, requests: u32) -> Vec<Wait> {
    let rounds = requests / ASKED.len() as u32;
    (0..rounds).flat_map(|round| once(address, round)).collect()
}

/// Which of [`ASKED`], and how long it took; none: not answered.
type Wait = (usize, Option<Duration>);

/// One request of each kind.
fn once(address: SocketAddr, round: u32) -> Vec<Wait> {
    // Pairs in falling order are for this user alone.
    let new = (round as usize % (RUNS - 1)) + 1;
    let base = (round as usize / (RUNS - 1)) % new;
    let paths = [
        "/".to_owned(),
        format!("/runs/{}", name(0)),
        format!("/runs/{}/state", name(0)),
        format!("/compare?base={}&new={}", name(new), name(base)),
    ];
    let waits = paths.iter().enumerate().map(|(kind, path)| {
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        let answer = connect(address).and_then(|mut stream| {
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok(answer)
        });
        let good = answer.is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"));
        (kind, good.then(|| began.elapsed()))
    });
    waits.collect()
}

fn table(title: &str, waits: &[Wait]) {
    println!("{title}: requests, unanswered, median and longest wait");
    for (kind, what) in ASKED.iter().enumerate() {
        let of_kind: Vec<Option<Duration>> =
            waits.iter().filter(|w| w.0 == kind).map(|w| w.1).collect();
        let unanswered = of_kind.iter().filter(|wait| wait.is_none()).count();
        // Who is not answered waits for ever.
        let mut all = of_kind;
        all.sort_by_key(|wait| (wait.is_none(), *wait));
        let shown = |wait: Option<&Option<Duration>>| match wait {
            None => "-".to_owned(),
            Some(None) => "∞".to_owned(),
            Some(Some(wait)) => format!("{:.3} s", wait.as_secs_f64()),
        };
        println!(
            "  {what:<22} {:>5} {:>5} {:>10} {:>10}",
            all.len(),
            unanswered,
            shown(all.get(all.len() / 2)),
            shown(all.last())
        );
    }
}

/// One connection of a client, until it is sent away or the study ends. There are five kinds.
fn live(number: u32, address: SocketAddr, ended: &AtomicBool) -> std::io::Result<()> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut buffer = [0; 4096];
    match number % 5 {
        // Silent.
        0 => while wait(&mut stream, &mut buffer, ended)? {},
        // A request each 8 s.
        1 => {
            while !ended.load(Ordering::Relaxed) {
                stream.write_all(get("/assets/serve.css").as_bytes())?;
                let next = Instant::now() + Duration::from_secs(8);
                while Instant::now() < next && wait(&mut stream, &mut buffer, ended)? {}
            }
        }
        // A byte of the head each half second.
        2 => {
            for byte in get(&format!("/?text={}", "x".repeat(4096))).bytes() {
                stream.write_all(&[byte])?;
                if !wait(&mut stream, &mut buffer, ended)? {
                    break;
                }
            }
        }
        // A large answer, a little each half second.
        3 => {
            stream.write_all(get(&format!("/runs/{}", name(1))).as_bytes())?;
            while stream.read(&mut buffer[..512])? > 0 && !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(500));
            }
        }
        // Reports, one after the other, which nobody else asked for.
        _ => {
            for pair in number as usize.. {
                let base = pair % (RUNS - 1);
                let new = base + 1 + pair / (RUNS - 1) % (RUNS - 1 - base);
                let path = format!("/compare?base={}&new={}", name(base), name(new));
                stream.write_all(get(&path).as_bytes())?;
                if !wait(&mut stream, &mut buffer, ended)? {
                    break;
                }
                while stream
                    .read(&mut buffer)
                    .is_ok_and(|read| read == buffer.len())
                {}
            }
        }
    }
    Ok(())
}

/// Waits a moment for something to read. Whether the connection and the study go on.
fn wait(stream: &mut TcpStream, buffer: &mut [u8], ended: &AtomicBool) -> std::io::Result<bool> {
    let open = match stream.read(buffer) {
        Ok(read) => read > 0,
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => true,
        Err(e) => return Err(e),
    };
    Ok(open && !ended.load(Ordering::Relaxed))
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn name(number: usize) -> String {
    format!("run-{number:02}")
}

/// Where a server says that it is.
fn address(server: &mut Child) -> Result<SocketAddr, String> {
    let mut line = String::new();
    if let Some(output) = server.stdout.take() {
        BufReader::new(output)
            .read_line(&mut line)
            .map_err(|e| e.to_string())?;
    }
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let address = address.and_then(|address| address.parse().ok());
    address.ok_or_else(|| format!("the server does not say where it is: {line:?}"))
}
