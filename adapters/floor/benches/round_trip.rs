//! How close the exchange is to the hardware: round trips of 8 bytes between two processes, pinned
//! to the processors 0 and 1, of
//!
//! - `line`: one bare cache line that goes back and forth, the least that any exchange can cost,
//! - `floor-spin` and `floor-futex`: two channels through the adapter's own traits,
//! - `pipe`: two pipes, the cheapest blocking exchange that the kernel offers.
//!
//! The four alternate within one run, so that whatever else the machine does hits them alike. Of
//! each phase the median of its batches counts, of each stack the median of its phases; the ratio
//! is the median of the ratios within one alternation.
//!
//! `cargo bench -p dyno-adapter-floor [-- ROUNDS]`

use dyno_adapter::{ChannelSpec, Endpoint, NodeContext, Options, Receiver, Sender, Sent, Wait};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One way to send a number to the other side and get it back.
struct Exchange {
    name: &'static str,
    /// Round trips timed together: so many that reading the clock does not count.
    batch: usize,
    batches: usize,
    put: Box<dyn FnMut(u64)>,
    get: Box<dyn FnMut() -> u64>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let benching = args.iter().any(|a| a == "--bench");
    let rounds = args.iter().find_map(|a| a.parse().ok()).unwrap_or(15);
    let rounds: usize = if benching { rounds } else { 1 };

    let session = format!("floor-bench-{}", std::process::id());
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let line = shared_line();
    let (there, back) = (pipe(), pipe());
    // SAFETY: this process has a single thread so far, so the child may do whatever a process may.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    // SAFETY: no pointers are involved. A side that waits in vain for the other is ended by it.
    unsafe { libc::alarm(300) };
    let me = usize::from(child == 0);
    pin(me);
    let channel = |wait: Wait, writer: usize| spec(&format!("{session}.{wait}.{writer}"), writer);
    let ends = |wait: Wait| {
        let context = NodeContext {
            session: session.clone(),
            scratch: scratch.path().to_owned(),
            participant: me as u16,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: Options::new(),
        };
        let mut node = dyno_adapter_floor::adapter()
            .open(&context)
            .expect("a node");
        let mut sender = node.sender(&channel(wait, me)).expect("a sender");
        let mut receiver = node
            .receiver(&channel(wait, 1 - me), wait)
            .expect("a receiver");
        while sender.matched().expect("a peer") == 0 || !receiver.matched().expect("a peer") {
            std::thread::yield_now();
        }
        (sender, receiver)
    };
    let ((there_read, there_write), (back_read, back_write)) = (there, back);
    let pipe_ends = if me == 0 {
        (there_write, back_read)
    } else {
        (back_write, there_read)
    };
    let exchanges = vec![
        bare(line, me),
        floor("floor-spin", 64, 1000, ends(Wait::Spin)),
        floor("floor-futex", 1, 3000, ends(Wait::Block)),
        piped(pipe_ends),
    ];
    if child == 0 {
        echo(exchanges, rounds);
        return;
    }
    let figures = initiate(exchanges, rounds);
    let status = waitpid(rustix::process::Pid::from_raw(child), WaitOptions::empty());
    assert!(
        matches!(status, Ok(Some((_, s))) if s.exit_status() == Some(0)),
        "{status:?}"
    );
    print(&figures);
}

fn echo(mut exchanges: Vec<Exchange>, rounds: usize) {
    for _ in 0..rounds {
        for e in &mut exchanges {
            for _ in 0..e.batch * e.batches {
                let value = (e.get)();
                (e.put)(value);
            }
        }
    }
}

/// Medians in nanoseconds: one row per exchange, one figure per round.
fn initiate(mut exchanges: Vec<Exchange>, rounds: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut figures: Vec<_> = exchanges.iter().map(|e| (e.name, Vec::new())).collect();
    let mut next = 0u64;
    for _ in 0..rounds {
        for (e, (_, medians)) in exchanges.iter_mut().zip(&mut figures) {
            let mut times = Vec::with_capacity(e.batches);
            for _ in 0..e.batches {
                let start = Instant::now();
                for _ in 0..e.batch {
                    next += 1;
                    (e.put)(next);
                    assert_eq!((e.get)(), next, "{}", e.name);
                }
                times.push(start.elapsed().as_nanos() as f64 / e.batch as f64);
            }
            medians.push(median(times));
        }
    }
    figures
}

fn print(figures: &[(&str, Vec<f64>)]) {
    println!("round trip of 8 bytes, two processes, p50 in ns");
    println!("{:<12} {:>9} {:>9} {:>9}", "", "median", "least", "most");
    for (name, medians) in figures {
        let (least, most) = medians
            .iter()
            .fold((f64::MAX, 0f64), |(a, b), m| (a.min(*m), b.max(*m)));
        println!(
            "{name:<12} {:>9.1} {least:>9.1} {most:>9.1}",
            median(medians.clone())
        );
    }
    for (above, below) in [(1, 0), (2, 3)] {
        let ratios = figures[above].1.iter().zip(&figures[below].1);
        let ratio = median(ratios.map(|(a, b)| a / b).collect());
        println!("{} / {} = {ratio:.2}", figures[above].0, figures[below].0);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn bare(line: &'static AtomicU64, me: usize) -> Exchange {
    // Twice the value on the way there, and one more on the way back.
    let mut last = 0;
    Exchange {
        name: "line",
        batch: 64,
        batches: 1000,
        put: Box::new(move |v| line.store(2 * v + me as u64, Ordering::Release)),
        get: Box::new(move || {
            loop {
                let v = line.load(Ordering::Acquire);
                if v != last && v % 2 != me as u64 {
                    last = v;
                    return v / 2;
                }
            }
        }),
    }
}

fn floor(
    name: &'static str,
    batch: usize,
    batches: usize,
    (mut sender, mut receiver): (Box<dyn Sender>, Box<dyn Receiver>),
) -> Exchange {
    Exchange {
        name,
        batch,
        batches,
        put: Box::new(move |v| {
            let mut fill = |b: &mut [u8]| b.copy_from_slice(&v.to_le_bytes());
            assert_eq!(sender.send(8, &mut fill).expect("a send"), Sent::Accepted);
        }),
        get: Box::new(move || {
            let mut value = 0;
            let mut see = |m: &[u8]| value = u64::from_le_bytes(m.try_into().expect("8 bytes"));
            while !receiver.take(&mut see).expect("a take") {}
            black_box(value)
        }),
    }
}

fn piped((mut to, mut from): (File, File)) -> Exchange {
    Exchange {
        name: "pipe",
        batch: 1,
        batches: 3000,
        put: Box::new(move |v| to.write_all(&v.to_le_bytes()).expect("a write")),
        get: Box::new(move || {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes).expect("a read");
            u64::from_le_bytes(bytes)
        }),
    }
}

/// Reading and writing end.
fn pipe() -> (File, File) {
    let (read, write) = rustix::pipe::pipe().expect("a pipe");
    (File::from(read), File::from(write))
}

fn spec(name: &str, writer: usize) -> ChannelSpec {
    ChannelSpec {
        id: writer as u16,
        name: name.to_owned(),
        max_payload: 8,
        writer: writer as u16,
        writer_address: "127.0.0.1".into(),
        readers: vec![Endpoint {
            participant: 1 - writer as u16,
            address: "127.0.0.1".into(),
            port: 1,
        }],
        carries: Default::default(),
    }
}

/// A word alone in a page that both processes share.
fn shared_line() -> &'static AtomicU64 {
    let flags = MapFlags::SHARED | MapFlags::POPULATE;
    // SAFETY: a new mapping, zeroed, never unmapped, that is used as this atomic alone.
    unsafe {
        let page = rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            4096,
            ProtFlags::READ | ProtFlags::WRITE,
            flags,
        );
        &*page.expect("a page").cast::<AtomicU64>()
    }
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    if let Err(e) = sched_setaffinity(None, &set) {
        eprintln!("not pinned to processor {cpu}: {e}");
    }
}
