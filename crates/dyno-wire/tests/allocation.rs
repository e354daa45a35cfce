//! Messages cost no allocation: neither whole ones nor those in pieces, nor waiting for them.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{ChannelSpec, Receiver, Result, Sender, Sent, Wait};
use dyno_wire::datagram::{DatagramReceiver, DatagramSender, layout};
use dyno_wire::fd::{SocketInlet, SocketOutlet};
use dyno_wire::link::{Accept, Dial};
use dyno_wire::stream::{StreamReceiver, StreamSender};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with its calls counted by thread.
struct Counting;

// SAFETY: every call goes to the system's allocator, whose contract this has; counting touches
// only a thread-local without a destructor, which does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller keeps the contract, and the layout is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One end of a socket pair, given out once.
struct End(Option<OwnedFd>, Wait);

impl Dial for End {
    type Outlet = SocketOutlet;
    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        self.0.take().map(SocketOutlet::new).transpose()
    }
}

impl Accept for End {
    type Inlet = SocketInlet<true>;
    fn accept(&mut self, _wait: Duration) -> Result<Option<Self::Inlet>> {
        self.0
            .take()
            .map(|fd| SocketInlet::new(fd, self.1))
            .transpose()
    }
}

fn ends(kind: SocketType, wait: Wait) -> (End, End) {
    let (a, b) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    (End(Some(a), wait), End(Some(b), wait))
}

fn channel() -> ChannelSpec {
    ChannelSpec {
        id: 0,
        name: "c".into(),
        max_payload: 10_000,
        writer: 0,
        writer_address: String::new(),
        readers: Vec::new(),
        carries: Default::default(),
    }
}

fn assert_no_allocation(sender: &mut dyn Sender, receiver: &mut dyn Receiver, wait: Wait) {
    assert!(sender.matched().unwrap() == 1 && receiver.matched().unwrap());
    let before = ALLOCATIONS.with(Cell::get);
    for len in [1, 100, 9_999, 10_000] {
        for _ in 0..10 {
            assert_eq!(sender.send(len, &mut |b| b[0] = 7).unwrap(), Sent::Accepted);
            let mut seen = 0;
            assert!(receiver.take(&mut |b| seen = b.len()).unwrap());
            assert_eq!(seen, len);
        }
    }
    if wait == Wait::Spin {
        assert!(!receiver.take(&mut |_| {}).unwrap());
    }
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
}

#[test]
fn streams_do_not_allocate() {
    for wait in [Wait::Spin, Wait::Block] {
        let (a, b) = ends(SocketType::STREAM, wait);
        let mut sender = StreamSender::new(&channel(), vec![a]);
        let mut receiver = StreamReceiver::new(&channel(), b, wait);
        assert_no_allocation(&mut sender, &mut receiver, wait);
    }
}

#[test]
fn datagrams_do_not_allocate_whole_or_in_fragments() {
    for wait in [Wait::Spin, Wait::Block] {
        for fragment in [10_000, 3_000] {
            let (a, b) = ends(SocketType::SEQPACKET, wait);
            let layout = layout(&channel(), fragment).unwrap();
            let mut sender = DatagramSender::new(&channel(), layout, vec![a]);
            let mut receiver = DatagramReceiver::new(&channel(), layout, b, wait);
            assert_no_allocation(&mut sender, &mut receiver, wait);
        }
    }
}
