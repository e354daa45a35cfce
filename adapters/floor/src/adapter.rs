//! What the adapter says of itself, and its nodes.

use crate::endpoint::{FloorReceiver, FloorSender};
use crate::home::Home;
use crate::layout::{DEPTH, MAX_DEPTH};
use crate::subscription::FloorSubscription;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, OnMessage,
    OptionSpec, OptionValue, Placement, Receiver, Result, SHARED_MEMORY, Sender, Subscription,
    Wait,
};
use std::path::PathBuf;

/// The adapter `floor`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Floor)
}

struct Floor;

impl Adapter for Floor {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "floor".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Dyno's own ring of slots in shared memory, written and read in place: \
                      the cost of an exchange on this hardware with nothing in between. \
                      Between machines, it needs memory that both share, and readers that \
                      spin."
                .into(),
            capabilities: Capabilities {
                loan: true,
                waits: vec![Wait::Spin, Wait::Block, Wait::Callback],
                reliable: true,
                placements: vec![Placement::Thread, Placement::Process, Placement::Host],
                ..Capabilities::default()
            },
            options: vec![OptionSpec {
                least: Some(1),
                most: Some(MAX_DEPTH as i64),
                ..OptionSpec::new(
                    "queue_depth",
                    OptionValue::Int(DEPTH as i64),
                    format!(
                        "slots of the ring, 1 to {MAX_DEPTH}; if omitted: {DEPTH}, or fewer (at least 4) \
                         if messages are so large that the ring would exceed 80 MiB or its part of \
                         the memory that machines share"
                    ),
                )
            }],
            unavailable: unavailable(),
            library: None,
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        Ok(Box::new(FloorNode {
            context: context.clone(),
            shared: std::env::var_os(SHARED_MEMORY).map(PathBuf::from),
        }))
    }
}

fn unavailable() -> Option<String> {
    (!std::path::Path::new("/dev/shm").is_dir())
        .then(|| "there is no /dev/shm: `mount -t tmpfs tmpfs /dev/shm` (as root)".into())
}

struct FloorNode {
    context: NodeContext,
    /// The file of a memory that this machine shares with others.
    shared: Option<PathBuf>,
}

impl FloorNode {
    /// Where the channel is, for an end that waits so.
    fn home(&self, channel: &ChannelSpec, wait: Wait) -> Result<Home> {
        let home = Home::of(&self.context, channel, self.shared.as_deref())?;
        if home.is_shared() && wait != Wait::Spin {
            return Err(Error::Unsupported(format!(
                "waiting by {wait} on channel {}, which leads to another machine: a futex is of one machine; wait by spin",
                channel.name
            )));
        }
        Ok(home)
    }
}

impl Node for FloorNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        // It polls for readers and for room.
        let home = self.home(channel, Wait::Spin)?;
        Ok(Box::new(FloorSender::new(&self.context, channel, home)?))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        if wait == Wait::Callback {
            return Err(Error::Unsupported(format!(
                "taking with the wait strategy {wait} on channel {}; subscribe to it",
                channel.name
            )));
        }
        let home = self.home(channel, wait)?;
        let receiver = FloorReceiver::new(&self.context, channel, home, wait)?;
        Ok(Box::new(receiver))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        let home = self.home(channel, Wait::Callback)?;
        let made = FloorSubscription::new(&self.context, channel, home, on_message)?;
        Ok(Box::new(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_adapter::{Endpoint, SHARES_BYTES, Sent, Share};
    use rustix::fd::AsRawFd;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// A memory as the runner makes it, with parts of so many bytes for these channels.
    struct Memory {
        file: File,
        scratch: tempfile::TempDir,
    }

    impl Memory {
        fn of(channels: &[&str], bytes: u64) -> Memory {
            let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC);
            let file = File::from(file.unwrap());
            let names: Vec<String> = channels.iter().map(|c| (*c).to_owned()).collect();
            let total = SHARES_BYTES as u64 + bytes * names.len() as u64;
            file.set_len(total).unwrap();
            let shares = Share::equal(&names, total);
            let lines: Vec<String> = shares.iter().map(|s| format!("{s}\n")).collect();
            file.write_all_at(lines.concat().as_bytes(), 0).unwrap();
            let scratch = tempfile::tempdir().unwrap();
            Memory { file, scratch }
        }

        /// A node on one of its machines.
        fn node(&self, participant: u16, options: &[(&str, i64)]) -> FloorNode {
            let option = |(name, value): &(&str, i64)| ((*name).into(), OptionValue::Int(*value));
            FloorNode {
                context: NodeContext {
                    session: "floor-shared".into(),
                    scratch: self.scratch.path().to_owned(),
                    participant,
                    address: "127.0.0.1".into(),
                    looked_at: 0,
                    options: options.iter().map(option).collect(),
                },
                shared: Some(format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()),
            }
        }
    }

    fn channel(name: &str, max_payload: usize, readers: &[u16]) -> ChannelSpec {
        let endpoint = |reader: &u16| Endpoint {
            participant: *reader,
            address: "127.0.0.1".into(),
            port: 1,
        };
        ChannelSpec {
            id: 0,
            name: name.into(),
            max_payload,
            writer: 0,
            writer_address: "127.0.0.1".into(),
            readers: readers.iter().map(endpoint).collect(),
            carries: dyno_adapter::Carries::Messages,
        }
    }

    #[test]
    fn messages_go_through_a_memory_of_several_machines_and_leave_no_file() {
        let memory = Memory::of(&["floor-shared.c0", "floor-shared.c1"], 1 << 20);
        let specs = ["floor-shared.c0", "floor-shared.c1"].map(|name| channel(name, 64, &[1, 2]));
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for spec in &specs {
            senders.push(memory.node(0, &[]).sender(spec).unwrap());
            for reader in [1, 2] {
                let mut node = memory.node(reader, &[]);
                receivers.push(node.receiver(spec, Wait::Spin).unwrap());
            }
        }
        for sender in &mut senders {
            assert_eq!(sender.matched().unwrap(), 2);
        }
        assert!(receivers.iter_mut().all(|r| r.matched().unwrap()));
        // More than the ring holds.
        for number in 0..100u8 {
            for (which, sender) in (0u8..).zip(&mut senders) {
                let sent = sender.send(2, &mut |b| b.copy_from_slice(&[which, number]));
                assert_eq!(sent.unwrap(), Sent::Accepted);
            }
            for (place, receiver) in receivers.iter_mut().enumerate() {
                let mut seen = Vec::new();
                while !receiver.take(&mut |m| seen = m.to_vec()).unwrap() {}
                assert_eq!(seen, [place as u8 / 2, number]);
            }
        }
        for name in ["floor-shared.c0", "floor-shared.c1"] {
            assert!(!std::path::Path::new("/dev/shm").join(name).exists());
        }
        // Nothing outside of the memory is there to be removed.
        assert!(!memory.scratch.path().join(dyno_adapter::CLAIMS).exists());
    }

    #[test]
    fn a_writer_waits_for_room_and_hears_that_all_readers_have_left() {
        let memory = Memory::of(&["floor-shared.c0"], 1 << 20);
        let spec = channel("floor-shared.c0", 8, &[1]);
        let options = [("queue_depth", 4)];
        let mut sender = memory.node(0, &options).sender(&spec).unwrap();
        let mut receiver = memory
            .node(1, &options)
            .receiver(&spec, Wait::Spin)
            .unwrap();
        assert_eq!(sender.matched().unwrap(), 1);
        let sending = std::thread::spawn(move || {
            for number in 0..50u8 {
                assert_eq!(
                    sender.send(1, &mut |b| b[0] = number).unwrap(),
                    Sent::Accepted
                );
            }
            // Nobody takes these: the ring is full when the reader leaves.
            loop {
                if let Err(e) = sender.send(1, &mut |b| b[0] = 0) {
                    return e;
                }
            }
        });
        for number in 0..50u8 {
            // The writer sleeps meanwhile.
            if number % 10 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            let mut seen = None;
            while !receiver.take(&mut |m| seen = Some(m[0])).unwrap() {}
            assert_eq!(seen, Some(number));
        }
        drop(receiver);
        let error = sending.join().unwrap();
        assert!(matches!(error, Error::PeerGone { .. }), "{error}");
    }

    #[test]
    fn nobody_sleeps_in_a_memory_of_several_machines() {
        let memory = Memory::of(&["floor-shared.c0"], 1 << 20);
        let spec = channel("floor-shared.c0", 8, &[1]);
        let refused = memory
            .node(1, &[])
            .receiver(&spec, Wait::Block)
            .err()
            .unwrap();
        assert!(refused.to_string().contains("wait by spin"), "{refused}");
        let refused = memory.node(1, &[]).subscribe(&spec, Box::new(|_| {}));
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("a futex is of one machine"), "{refused}");
    }

    #[test]
    fn a_ring_is_as_deep_as_its_part_of_the_memory_lets_it_be() {
        let memory = Memory::of(&["floor-shared.c0"], 1 << 20);
        // Of 16 slots for so large a message five fit.
        let spec = channel("floor-shared.c0", 200 << 10, &[1]);
        let mut sender = memory.node(0, &[]).sender(&spec).unwrap();
        let mut receiver = memory.node(1, &[]).receiver(&spec, Wait::Spin).unwrap();
        assert_eq!(sender.matched().unwrap(), 1);
        let len = spec.max_payload;
        for number in 0..12u8 {
            sender.send(len, &mut |b| b.fill(number)).unwrap();
            let mut whole = false;
            let mut look = |m: &[u8]| whole = m.len() == len && m.iter().all(|b| *b == number);
            while !receiver.take(&mut look).unwrap() {}
            assert!(whole);
        }
        for (payload, options) in [(400 << 10, vec![]), (200 << 10, vec![("queue_depth", 16)])] {
            let spec = channel("floor-shared.c0", payload, &[1]);
            let refused = memory.node(0, &options).sender(&spec).err().unwrap();
            let refused = refused.to_string();
            assert!(refused.contains("`shared_memory`"), "{refused}");
        }
    }

    #[test]
    fn a_channel_without_a_part_is_a_file_of_this_machine() {
        let memory = Memory::of(&["floor-shared.c0"], 1 << 20);
        let node = memory.node(0, &[]);
        let within = channel("floor-shared.within", 8, &[1]);
        let home = node.home(&within, Wait::Block).unwrap();
        assert_eq!(
            home.path(),
            std::path::Path::new("/dev/shm/floor-shared.within")
        );
    }
}
