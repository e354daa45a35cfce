//! The adapter `memory`: queues between threads of one process. As plain as an adapter can be, to
//! test the conformance suite and `faulty` with.

use dyno_adapter::*;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const ROOM: usize = 32;

pub(crate) fn adapter() -> Box<dyn Adapter> {
    Box::new(Memory)
}

#[derive(Default)]
struct Queue {
    messages: Mutex<VecDeque<Vec<u8>>>,
    changed: Condvar,
    closed: AtomicBool,
}

#[derive(Default)]
struct Channel {
    readers: Mutex<Vec<Arc<Queue>>>,
    writing: AtomicBool,
}

static CHANNELS: LazyLock<Mutex<HashMap<String, Arc<Channel>>>> = LazyLock::new(Mutex::default);

fn channel(spec: &ChannelSpec) -> Arc<Channel> {
    let mut all = CHANNELS.lock().unwrap();
    all.entry(spec.name.clone()).or_default().clone()
}

struct Memory;

impl Adapter for Memory {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "memory".into(),
            version: "1".into(),
            summary: "Queues between threads of one process.".into(),
            capabilities: Capabilities {
                loan: false,
                waits: Wait::ALL.to_vec(),
                reliable: true,
                best_effort: false,
                request_response: false,
                placements: vec![Placement::Thread],
                max_message: None,
                fragments_above: None,
                max_receivers: None,
                sends_later: false,
                asks: false,
                loopback: false,
            },
            options: vec![OptionSpec {
                name: "mode".into(),
                kind: OptionKind::OneOf(vec!["plain".into()]),
                default: None,
                least: None,
                most: None,
                doc: "nothing else than plain".into(),
            }],
            unavailable: None,
            library: None,
        }
    }
    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        assert_eq!(context.text("mode", "plain")?, "plain");
        Ok(Box::new(MemoryNode))
    }
}

struct MemoryNode;

fn queue(spec: &ChannelSpec, wait: Wait) -> MemoryReceiver {
    let channel = channel(spec);
    let queue = Arc::new(Queue::default());
    channel.readers.lock().unwrap().push(queue.clone());
    MemoryReceiver {
        channel,
        queue,
        wait,
    }
}

impl Node for MemoryNode {
    fn sender(&mut self, spec: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let channel = channel(spec);
        channel.writing.store(true, Ordering::Relaxed);
        Ok(Box::new(MemorySender { channel }))
    }
    fn receiver(&mut self, spec: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        Ok(Box::new(queue(spec, wait)))
    }
    fn subscribe(
        &mut self,
        spec: &ChannelSpec,
        mut on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        let mut receiver = queue(spec, Wait::Block);
        let (channel, stop) = (receiver.channel.clone(), Arc::new(AtomicBool::new(false)));
        let asked = stop.clone();
        let thread = std::thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                receiver.take(&mut |bytes| on_message(bytes)).unwrap();
            }
        });
        Ok(Box::new(MemorySubscription {
            channel,
            stop,
            thread: Some(thread),
        }))
    }
}

struct MemorySender {
    channel: Arc<Channel>,
}

impl Sender for MemorySender {
    fn matched(&mut self) -> Result<usize> {
        Ok(self.channel.readers.lock().unwrap().len())
    }
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let mut message = vec![0; len];
        fill(&mut message);
        let readers = self.channel.readers.lock().unwrap().clone();
        for queue in readers {
            let mut messages = queue.messages.lock().unwrap();
            while messages.len() >= ROOM && !queue.closed.load(Ordering::Relaxed) {
                messages = queue
                    .changed
                    .wait_timeout(messages, Duration::from_millis(1))
                    .unwrap()
                    .0;
            }
            messages.push_back(message.clone());
            queue.changed.notify_all();
        }
        Ok(Sent::Accepted)
    }
}

impl Drop for MemorySender {
    fn drop(&mut self) {
        self.channel.writing.store(false, Ordering::Relaxed);
    }
}

struct MemoryReceiver {
    channel: Arc<Channel>,
    queue: Arc<Queue>,
    wait: Wait,
}

impl Receiver for MemoryReceiver {
    fn matched(&mut self) -> Result<bool> {
        Ok(self.channel.writing.load(Ordering::Relaxed))
    }
    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut messages = self.queue.messages.lock().unwrap();
        if messages.is_empty() && self.wait == Wait::Block {
            messages = self
                .queue
                .changed
                .wait_timeout(messages, PATIENCE)
                .unwrap()
                .0;
        }
        let Some(message) = messages.pop_front() else {
            return Ok(false);
        };
        drop(messages);
        self.queue.changed.notify_all();
        on_message(&message);
        Ok(true)
    }
}

impl Drop for MemoryReceiver {
    fn drop(&mut self) {
        self.queue.closed.store(true, Ordering::Relaxed);
        let mut readers = self.channel.readers.lock().unwrap();
        readers.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

struct MemorySubscription {
    channel: Arc<Channel>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Subscription for MemorySubscription {
    fn matched(&mut self) -> Result<bool> {
        Ok(self.channel.writing.load(Ordering::Relaxed))
    }
}

impl Drop for MemorySubscription {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
