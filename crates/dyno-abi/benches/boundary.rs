//! What the boundary costs: `null` built in, `null` exported and through the ABI, and `null-c` behind it, in turns of one run.
//!
//! `cargo xtask adapters null-c`, then `cargo bench -p dyno-abi --bench boundary`.

use dyno_adapter::{Adapter, ChannelSpec, Endpoint, NodeContext, Receiver, Sender, Wait};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

dyno_abi::export_adapter!(dyno_adapter_null::adapter);

const BYTES: usize = 64;
const MESSAGES: u32 = 200_000;
const ROUNDS: usize = 41;

struct Side {
    name: &'static str,
    sender: Box<dyn Sender>,
    receiver: Box<dyn Receiver>,
    ns: Vec<f64>,
}

impl Side {
    fn open(name: &'static str, adapter: &dyn Adapter) -> Self {
        let scratch = std::env::temp_dir();
        let mut node = adapter
            .open(&NodeContext {
                session: "bench".into(),
                scratch,
                participant: 0,
                address: "127.0.0.1".into(),
                looked_at: 0,
                options: Default::default(),
            })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let channel = ChannelSpec {
            id: 0,
            name: "bench.c0".into(),
            max_payload: BYTES,
            writer: 0,
            writer_address: "127.0.0.1".into(),
            readers: vec![Endpoint {
                participant: 0,
                address: "127.0.0.1".into(),
                port: 20_000,
            }],
            carries: Default::default(),
        };
        let receiver = node
            .receiver(&channel, Wait::Spin)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let sender = node
            .sender(&channel)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        // The ends keep alive what they need.
        drop(node);
        Side {
            name,
            sender,
            receiver,
            ns: Vec::new(),
        }
    }

    fn round(&mut self) {
        let begin = Instant::now();
        for i in 0..MESSAGES {
            self.sender
                .send(BYTES, &mut |b| b[..4].copy_from_slice(&i.to_le_bytes()))
                .unwrap_or_else(|e| panic!("{}: {e}", self.name));
            let taken = self
                .receiver
                .take(&mut |b| {
                    black_box(b[0]);
                })
                .unwrap_or_else(|e| panic!("{}: {e}", self.name));
            assert!(taken, "{}: the message is not there", self.name);
        }
        self.ns
            .push(begin.elapsed().as_secs_f64() * 1e9 / f64::from(MESSAGES));
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // This program is target/PROFILE/deps/NAME.
    let program = std::env::current_exe().unwrap_or_default();
    let directory = program
        .ancestors()
        .nth(3)
        .unwrap_or(Path::new("."))
        .join("adapters");
    let path = directory.join(dyno_abi::file_name("null-c"));
    let foreign =
        dyno_abi::load(&path).unwrap_or_else(|e| panic!("{e}; run `cargo xtask adapters null-c`"));
    let mut native = Side::open("null", dyno_adapter_null::adapter().as_ref());
    let exported = dyno_abi::through(dyno_adapter).unwrap_or_else(|e| panic!("{e}"));
    let mut sides = [
        Side::open("null, exported", &exported),
        Side::open("null-c", &foreign),
    ];
    for round in 0..=ROUNDS {
        native.round();
        sides.iter_mut().for_each(Side::round);
        if round == 0 {
            native.ns.clear();
            sides.iter_mut().for_each(|side| side.ns.clear());
        }
    }
    for side in &mut sides {
        let pairs = native.ns.iter().zip(&side.ns);
        let mut differences: Vec<f64> = pairs.map(|(a, b)| b - a).collect();
        differences.sort_unstable_by(f64::total_cmp);
        println!(
            "{}, through the ABI: {:.2} ns per message; more than built in, in turns: {:.2} ns (quartiles {:.2} to {:.2})",
            side.name,
            median(&mut side.ns),
            differences[ROUNDS / 2],
            differences[ROUNDS / 4],
            differences[3 * ROUNDS / 4],
        );
    }
    println!(
        "null, built in: {:.2} ns per message (median of {ROUNDS} rounds of {MESSAGES})",
        median(&mut native.ns)
    );
}
