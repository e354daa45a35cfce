//! Cases in which requests are answered: two channels that name each other, joined to one client
//! and one server of the library.

use super::child::{Child, Part};
use super::ends::{Reader, Writer, await_match, deliver, link, must};
use super::log::DEADLINE;
use super::pattern::{self, Tag};
use super::rig::{Call, Rig};
use super::signal;
use dyno_adapter::{ChannelSpec, Node, Sender, Subscription, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Which of a participant's two ends is made first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    SenderFirst,
    SenderLast,
}

/// The caller's two ends.
struct Caller {
    // In the order in which they are dropped.
    writer: Writer,
    reader: Reader,
}

impl Caller {
    fn open(node: &mut dyn Node, call: &Call, wait: Wait, order: Order) -> Self {
        if order == Order::SenderFirst {
            let writer = Writer::open(node, &call.requests);
            let reader = Reader::open(node, &call.responses, wait);
            return Caller { writer, reader };
        }
        let reader = Reader::open(node, &call.responses, wait);
        let writer = Writer::open(node, &call.requests);
        Caller { writer, reader }
    }

    /// Waits until caller and provider see each other, and proves that calls are answered.
    fn meet(mut self, provider: &mut Provider) -> Self {
        let start = Instant::now();
        while !(provider.matched() & (self.writer.matched() == 1) & self.reader.matched()) {
            assert!(
                start.elapsed() < DEADLINE,
                "no match: the caller's sender sees {} providers, its receiver sees one: {}, the \
                 provider sees the caller: {}",
                self.writer.matched(),
                self.reader.matched(),
                provider.matched()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        self.link()
    }

    /// Waits for a provider and proves that it answers.
    fn link(self) -> Self {
        let (mut writers, mut readers) = ([self.writer], [self.reader]);
        link(&mut writers, 1, &mut readers);
        let ([writer], [reader]) = (writers, readers);
        Caller { writer, reader }
    }

    /// Calls with so many bytes and waits for the response, which has as many.
    fn call(&mut self, len: usize, may_lose: bool) -> bool {
        deliver(
            &mut self.writer,
            std::slice::from_ref(&self.reader),
            len,
            may_lose,
        )
    }

    fn assert_answered(&mut self, may_lose: bool) {
        self.reader.close();
        self.reader
            .log
            .assert_arrived(&self.writer.accepted, may_lose);
    }
}

/// Answers every request with a response of the same number, kind and length.
struct Provider(Served);

enum Served {
    ByUs(Option<JoinHandle<()>>, Arc<AtomicBool>),
    ByLibrary(Option<Box<dyn Subscription>>),
}

impl Provider {
    fn open(node: &mut dyn Node, call: &Call, wait: Wait, order: Order) -> Self {
        let answer = Answer {
            channel: call.responses.id,
        };
        let sender = |node: &mut dyn Node| must("sender", node.sender(&call.responses));
        if wait == Wait::Callback {
            // The sender goes into the callback, so it is made first and never asked whether it is
            // matched.
            let mut sender = sender(node);
            let on_message = move |bytes: &[u8]| answer.send(answer.to(bytes), &mut *sender);
            let made = node.subscribe(&call.requests, Box::new(on_message));
            return Provider(Served::ByLibrary(Some(must("subscribe", made))));
        }
        signal::install();
        let (receiver, mut sender) = match order {
            Order::SenderFirst => {
                let sender = sender(node);
                (node.receiver(&call.requests, wait), sender)
            }
            Order::SenderLast => {
                let receiver = node.receiver(&call.requests, wait);
                (receiver, sender(node))
            }
        };
        let mut receiver = must("receiver", receiver);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut matched = false;
            while !stopped.load(Ordering::Relaxed) {
                if !matched {
                    matched = must("matched", receiver.matched())
                        & (must("matched", sender.matched()) == 1);
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                let mut reply = None;
                match receiver.take(&mut |bytes| reply = Some(answer.to(bytes))) {
                    Ok(_) => {}
                    // The caller is gone or about to close.
                    Err(_) => return,
                }
                match reply {
                    Some(reply) => answer.send(reply, &mut *sender),
                    None if wait == Wait::Spin => std::thread::yield_now(),
                    None => {}
                }
            }
        });
        Provider(Served::ByUs(Some(thread), stop))
    }

    /// Whether the caller is known, as far as that is for the library to say; a thread of ours waits
    /// for it itself.
    fn matched(&mut self) -> bool {
        match &mut self.0 {
            Served::ByUs(..) | Served::ByLibrary(None) => true,
            Served::ByLibrary(Some(subscription)) => must("matched", subscription.matched()),
        }
    }

    /// Ends and drops both ends; panics if a call does not return.
    fn close(&mut self) {
        match &mut self.0 {
            Served::ByUs(thread, stop) => {
                stop.store(true, Ordering::Relaxed);
                if let Some(thread) = thread.take() {
                    signal::join_nudged(thread, DEADLINE, "take");
                }
            }
            Served::ByLibrary(subscription) => *subscription = None,
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}

/// Makes the response to a request.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// The number of the responses' channel.
    channel: u16,
}

impl Answer {
    /// The tag and the length in bytes. A damaged request shows as a response of another channel.
    fn to(self, request: &[u8]) -> (Tag, usize) {
        let damaged = Tag {
            probe: false,
            channel: u16::MAX >> 1,
            sequence: 0,
        };
        let tag = pattern::check(request).map_or(damaged, |tag| Tag {
            channel: self.channel,
            ..tag
        });
        (tag, request.len().max(pattern::TAG_BYTES))
    }

    fn send(self, (tag, len): (Tag, usize), sender: &mut dyn Sender) {
        // A refusal or an error shows as a missing response.
        let _ = sender.send(len, &mut |room| pattern::fill(room, tag));
    }
}

/// Bytes of requests and of their responses.
const SIZES: [usize; 8] = [8, 9, 64, 1_000, 4_096, 65_537, 8, 300_000];

fn largest(rig: &Rig) -> usize {
    rig.size(SIZES.into_iter().max().unwrap_or_default())
}

pub(super) fn calls_are_answered(rig: &Rig) {
    for wait in rig.waits() {
        for (round, order) in [Order::SenderFirst, Order::SenderLast]
            .into_iter()
            .enumerate()
        {
            let call = rig.call(2 * round as u16, 0, 1, largest(rig));
            let (mut near, mut far) = (rig.node(0), rig.node(1));
            let mut provider = Provider::open(&mut *far, &call, *wait, order);
            let mut caller = Caller::open(&mut *near, &call, *wait, order).meet(&mut provider);
            for i in 0..[200, 24][round] {
                let len = rig.size(SIZES[i % SIZES.len()]);
                let answered = caller.call(len, rig.may_lose());
                assert!(
                    answered || len > rig.sure_size(),
                    "wait {wait}, {order:?}: call {i} of {len} B is not answered"
                );
            }
            caller.assert_answered(rig.may_lose());
            provider.close();
        }
    }
}

pub(super) fn a_callback_may_answer(rig: &Rig) {
    let call = rig.call(0, 0, 1, largest(rig));
    let (mut near, mut far) = (rig.node(0), rig.node(1));
    // The caller is there first: the provider must not need to be waited for.
    let caller = Caller::open(&mut *near, &call, rig.pull_wait(), Order::SenderFirst);
    let mut provider = Provider::open(&mut *far, &call, Wait::Callback, Order::SenderFirst);
    let mut caller = caller.meet(&mut provider);
    for i in 0..200 {
        let len = rig.size(SIZES[i % SIZES.len()]);
        let answered = caller.call(len, rig.may_lose());
        assert!(
            answered || len > rig.sure_size(),
            "call {i} of {len} B is not answered"
        );
    }
    caller.assert_answered(rig.may_lose());
    provider.close();
}

pub(super) fn two_callers_reach_one_provider(rig: &Rig) {
    let wait = rig.pull_wait();
    let mut provider = rig.node(2);
    let calls = [rig.call(0, 0, 2, 1_000), rig.call(2, 1, 2, 1_000)];
    let mut provided: Vec<Provider> = calls
        .iter()
        .map(|call| Provider::open(&mut *provider, call, wait, Order::SenderLast))
        .collect();
    std::thread::scope(|scope| {
        let calling: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(participant, call)| {
                scope.spawn(move || {
                    let mut node = rig.node(participant as u16);
                    let mut caller =
                        Caller::open(&mut *node, call, wait, Order::SenderFirst).link();
                    for i in 0..200 {
                        let len = rig.size([8, 64, 1_000][i % 3]);
                        assert!(
                            caller.call(len, rig.may_lose()),
                            "caller {participant}: call {i} is not answered"
                        );
                    }
                    caller.assert_answered(rig.may_lose());
                })
            })
            .collect();
        // As a participant does until its trial begins.
        while calling.iter().any(|thread| !thread.is_finished()) {
            for provider in &mut provided {
                provider.matched();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

pub(super) fn call_survives_a_killed_provider(rig: &Rig) {
    const AFTERWARDS: u32 = 2_000;
    let size = rig.size(4_096);
    let wait = rig.pull_wait();
    let call = rig.call(0, 0, 1, size);
    let channels = [call.requests.clone(), call.responses.clone()];
    let mut child = Child::start(rig, Part::Provider, wait, &channels);
    let mut node = rig.node(0);
    let Caller { writer, reader } = Caller::open(&mut *node, &call, wait, Order::SenderFirst);
    let (mut writers, mut readers) = ([writer], [reader]);
    await_match(&mut writers, 1, &mut readers);
    let start = Instant::now();
    while readers[0].log.lock().probes == 0 {
        child.assert_runs();
        assert!(start.elapsed() < DEADLINE, "no probe is answered");
        writers[0].probe();
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill();
    rig.note_crash();

    let ([mut writer], [mut reader]) = (writers, readers);
    signal::install();
    let calling = std::thread::spawn(move || {
        for _ in 0..AFTERWARDS {
            // An error ends the trial, a refusal is a loss; both are answers.
            if writer.try_send(size).is_err() {
                break;
            }
        }
    });
    // Without signals: the caller itself must notice.
    signal::ended(calling, "a request hangs after its provider was killed");
    reader.close();
}

/// The child of [`call_survives_a_killed_provider`].
pub(super) fn provider(rig: &Rig, wait: Wait, channels: &[ChannelSpec], go_on: &dyn Fn() -> bool) {
    let call = Call {
        requests: channels[0].clone(),
        responses: channels[1].clone(),
    };
    let mut node = rig.node(1);
    let mut provider = Provider::open(&mut *node, &call, wait, Order::SenderLast);
    while go_on() {
        provider.matched();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Opens a call, has it answered once and closes it: a step of the search for leaks.
pub(super) fn open_and_close(rig: &Rig, wait: Wait) {
    // Beside the channels of messages, and among the few that a broker with a list of its own has.
    let call = rig.call(10, 0, 1, rig.size(1_000));
    let (mut near, mut far) = (rig.node(0), rig.node(1));
    let mut provider = Provider::open(&mut *far, &call, wait, Order::SenderLast);
    let caller = Caller::open(&mut *near, &call, wait, Order::SenderFirst);
    let mut caller = caller.meet(&mut provider);
    caller.reader.close();
    provider.close();
}
