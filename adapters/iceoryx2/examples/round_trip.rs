//! iceoryx2 measured as its published benchmark does: two threads on CPUs 0 and 1, 8 KiB that nobody
//! touches, a subscriber's buffer of one, and a spinning receive. Prints the time of a round trip, which
//! the published figures halve.
//!
//! `cargo run --release -p dyno-adapter-iceoryx2 --example round_trip [ROUND_TRIPS]`

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use std::error::Error;
use std::sync::Barrier;
use std::time::Instant;

const BYTES: usize = 8_192;

type Service = ipc_threadsafe::Service;
type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Pins the calling thread.
fn pin(cpu: usize) -> Done<()> {
    // SAFETY: a zeroed set is a valid one, `cpu` is below its size, and the call only reads it.
    let pinned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    match pinned {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

fn send(publisher: &Publisher<Service, [u8], ()>) -> Done<()> {
    let sample = publisher.loan_slice_uninit(BYTES)?;
    // SAFETY: bytes that nobody reads need no value; the published benchmark does the same.
    unsafe { sample.assume_init() }.send()?;
    Ok(())
}

fn receive(subscriber: &Subscriber<Service, [u8], ()>) -> Done<()> {
    while subscriber.receive()?.is_none() {}
    Ok(())
}

fn main() -> Done<()> {
    let round_trips: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 1_000_000,
    };
    let node = NodeBuilder::new().create::<Service>()?;
    let service = |way: &str| -> Done<_> {
        let name = format!("dyno-round-trip-{}-{way}", std::process::id());
        Ok(node
            .service_builder(&ServiceName::new(&name)?)
            .publish_subscribe::<[u8]>()
            .max_publishers(1)
            .max_subscribers(1)
            .history_size(0)
            .subscriber_max_buffer_size(1)
            .enable_safe_overflow(true)
            .create()?)
    };
    let (there, back) = (service("there")?, service("back")?);
    let (opened, start) = (Barrier::new(2), Barrier::new(2));
    let elapsed = std::thread::scope(|scope| -> Done<_> {
        let echo = scope.spawn(|| -> Done<()> {
            pin(1)?;
            let sender = back
                .publisher_builder()
                .initial_max_slice_len(BYTES)
                .create()?;
            let receiver = there.subscriber_builder().create()?;
            opened.wait();
            start.wait();
            for _ in 0..round_trips {
                receive(&receiver)?;
                send(&sender)?;
            }
            Ok(())
        });
        pin(0)?;
        let sender = there
            .publisher_builder()
            .initial_max_slice_len(BYTES)
            .create()?;
        let receiver = back.subscriber_builder().create()?;
        opened.wait();
        start.wait();
        let begin = Instant::now();
        for _ in 0..round_trips {
            send(&sender)?;
            receive(&receiver)?;
        }
        let elapsed = begin.elapsed();
        match echo.join() {
            Ok(echoed) => echoed.map(|()| elapsed),
            Err(_) => Err("the echo panicked".into()),
        }
    })?;
    let ns = elapsed.as_secs_f64() * 1e9 / round_trips as f64;
    println!("{ns:.1}");
    Ok(())
}
