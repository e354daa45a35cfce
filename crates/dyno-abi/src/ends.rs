//! The ends of channels behind the ABI: what is called for every message.

use crate::node::{NodeHandle, open_end};
use crate::raw::{self, Status};
use dyno_adapter::{
    ChannelSpec, Error, OnMessage, Receiver, Result, Sender, Sent, Subscription, Wait,
};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// What every end has.
struct End<T> {
    /// Keeps the node open. Dropped after the end itself is closed.
    node: Arc<NodeHandle>,
    handle: NonNull<T>,
    channel: String,
    max_payload: usize,
    close: unsafe extern "C-unwind" fn(*mut T),
}

// SAFETY: the header allows an end to move between threads and to be used by one at a time.
unsafe impl<T> Send for End<T> {}

impl<T> End<T> {
    #[cold]
    fn error(&self, call: &str, status: Status) -> Error {
        self.node.table.error(call, Some(&self.channel), status)
    }

    fn name(&self) -> &str {
        &self.node.table.name
    }

    fn matched(
        &mut self,
        operation: unsafe extern "C-unwind" fn(*mut T, *mut u32) -> Status,
    ) -> Result<u32> {
        let mut matched = 0;
        // SAFETY: the end is open, the out-pointer lives for the call.
        match unsafe { operation(self.handle.as_ptr(), &mut matched) } {
            raw::OK => Ok(matched),
            status => Err(self.error("matched", status)),
        }
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        // SAFETY: open until here; nothing uses it afterwards.
        unsafe { (self.close)(self.handle.as_ptr()) }
    }
}

pub(crate) struct ForeignSender {
    end: End<raw::Sender>,
    matched: unsafe extern "C-unwind" fn(*mut raw::Sender, *mut u32) -> Status,
    way: Way,
}

/// How a message gets into the library.
#[derive(Clone, Copy)]
enum Way {
    /// It lends memory, which is filled and given to `send`.
    Lent {
        loan: unsafe extern "C-unwind" fn(*mut raw::Sender, usize, *mut *mut c_void) -> Status,
        send: unsafe extern "C-unwind" fn(*mut raw::Sender, *mut c_void, usize) -> Status,
    },
    /// It has its memory filled by a call back, and sends it.
    Filled(unsafe extern "C-unwind" fn(*mut raw::Sender, usize, raw::Fill, *mut c_void) -> Status),
}

impl ForeignSender {
    pub(crate) fn open(node: &Arc<NodeHandle>, channel: &ChannelSpec) -> Result<Self> {
        let table = &node.table;
        let open = table.there(table.ops.sender_open, "sender_open")?;
        let close = table.there(table.ops.sender_close, "sender_close")?;
        let matched = table.there(table.ops.sender_matched, "sender_matched")?;
        let way = match table.ops.fill_and_send {
            Some(fill_and_send) => Way::Filled(fill_and_send),
            None => Way::Lent {
                loan: table.there(table.ops.loan, "loan")?,
                send: table.there(table.ops.send, "send")?,
            },
        };
        let handle = open_end(table, channel, "sender_open", |channel, out| {
            // SAFETY: the node is open; channel and out-pointer live for the call.
            unsafe { open(node.node.as_ptr(), channel, out) }
        })?;
        Ok(ForeignSender {
            end: End {
                node: node.clone(),
                handle,
                channel: channel.name.clone(),
                max_payload: channel.max_payload,
                close,
            },
            matched,
            way,
        })
    }

    #[cold]
    fn too_long(&self, len: usize) -> Error {
        Error::Unsupported(format!(
            "a message of {len} bytes on channel {}, whose largest has {}",
            self.end.channel, self.end.max_payload
        ))
    }

    #[cold]
    fn no_room(&self, len: usize, offered: Option<usize>) -> Error {
        Error::library(
            format!(
                "{}: fill_and_send on channel {}",
                self.end.name(),
                self.end.channel
            ),
            match offered {
                Some(offered) => format!("had {offered} bytes filled of a message of {len}"),
                None => format!("had none or NULL filled for a message of {len} bytes"),
            },
        )
    }

    #[cold]
    fn no_memory(&self, len: usize) -> Error {
        Error::library(
            format!("{}: loan on channel {}", self.end.name(), self.end.channel),
            format!("returned success and NULL for {len} bytes"),
        )
    }
}

impl Sender for ForeignSender {
    fn matched(&mut self) -> Result<usize> {
        self.end.matched(self.matched).map(|n| n as usize)
    }

    #[inline]
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        if len > self.end.max_payload {
            return Err(self.too_long(len));
        }
        let sender = self.end.handle.as_ptr();
        let (loan, send) = match self.way {
            Way::Lent { loan, send } => (loan, send),
            Way::Filled(fill_and_send) => {
                let mut filling = Filling {
                    fill,
                    len,
                    done: Done::No,
                };
                let user = (&raw mut filling).cast();
                // SAFETY: the sender is open, and `filling` lives for the call.
                let status = unsafe { fill_and_send(sender, len, show_buffer, user) };
                return match (status, filling.done) {
                    (raw::OK, Done::Yes) => Ok(Sent::Accepted),
                    (raw::REFUSED, _) => Ok(Sent::Refused),
                    (raw::OK, Done::No) => Err(self.no_room(len, None)),
                    (raw::OK, Done::Wrong(offered)) => Err(self.no_room(len, Some(offered))),
                    (status, _) => Err(self.end.error("fill_and_send", status)),
                };
            }
        };
        let mut buffer = ptr::null_mut();
        // SAFETY: the sender is open, the out-pointer lives for the call.
        let lent = unsafe { loan(sender, len, &mut buffer) };
        match lent {
            raw::OK | raw::WAITED => {}
            raw::REFUSED => return Ok(Sent::Refused),
            status => return Err(self.end.error("loan", status)),
        }
        if buffer.is_null() {
            return Err(self.no_memory(len));
        }
        // SAFETY: the library lent `len` bytes at `buffer` for us alone until `send`. They may not
        // be initialised, which a slice of bytes that is only written to does not mind.
        fill(unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len) });
        // SAFETY: the sender is open and `buffer` is what it lent last.
        match unsafe { send(sender, buffer, len) } {
            raw::OK | raw::WAITED => Ok(Sent::Accepted),
            raw::REFUSED => Ok(Sent::Refused),
            status => Err(self.end.error("send", status)),
        }
    }
}

/// What `fill_and_send` passes through the library.
struct Filling<'a> {
    fill: &'a mut dyn FnMut(&mut [u8]),
    len: usize,
    done: Done,
}

/// Whether the message was written.
enum Done {
    No,
    Yes,
    /// The library offered this many bytes instead.
    Wrong(usize),
}

/// `dyno_fill`.
unsafe extern "C" fn show_buffer(user: *mut c_void, buffer: *mut c_void, len: usize) {
    // SAFETY: `send` passes its `Filling`, which lives for the call, and the library passes it on.
    let filling = unsafe { &mut *user.cast::<Filling<'_>>() };
    if buffer.is_null() {
        return;
    }
    if len != filling.len {
        filling.done = Done::Wrong(len);
        return;
    }
    // SAFETY: the library lends `len` bytes at `buffer` for us alone until we return. They may not be
    // initialised, which a slice of bytes that is only written to does not mind.
    (filling.fill)(unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len) });
    filling.done = Done::Yes;
}

pub(crate) struct ForeignReceiver {
    end: End<raw::Receiver>,
    matched: unsafe extern "C-unwind" fn(*mut raw::Receiver, *mut u32) -> Status,
    take: unsafe extern "C-unwind" fn(*mut raw::Receiver, raw::OnMessage, *mut c_void) -> Status,
}

impl ForeignReceiver {
    pub(crate) fn open(node: &Arc<NodeHandle>, channel: &ChannelSpec, wait: Wait) -> Result<Self> {
        let table = &node.table;
        let (needed, raw_wait) = match wait {
            Wait::Spin => (raw::CAN_SPIN, raw::WAIT_SPIN),
            Wait::Block => (raw::CAN_BLOCK, raw::WAIT_BLOCK),
            Wait::Callback => (u64::MAX, 0),
        };
        if table.ops.capabilities & needed != needed {
            return Err(Error::Unsupported(format!(
                "{}: a receiver that waits by {wait} on channel {}",
                table.name, channel.name
            )));
        }
        let open = table.there(table.ops.receiver_open, "receiver_open")?;
        let close = table.there(table.ops.receiver_close, "receiver_close")?;
        let matched = table.there(table.ops.receiver_matched, "receiver_matched")?;
        let take = table.there(table.ops.take, "take")?;
        let handle = open_end(table, channel, "receiver_open", |channel, out| {
            // SAFETY: the node is open; channel and out-pointer live for the call.
            unsafe { open(node.node.as_ptr(), channel, raw_wait, out) }
        })?;
        Ok(ForeignReceiver {
            end: End {
                node: node.clone(),
                handle,
                channel: channel.name.clone(),
                max_payload: channel.max_payload,
                close,
            },
            matched,
            take,
        })
    }

    #[cold]
    fn garbage(&self, len: usize, data: bool) -> Error {
        Error::library(
            format!("{}: take on channel {}", self.end.name(), self.end.channel),
            garbage(len, self.end.max_payload, data),
        )
    }
}

/// What is wrong with a message that cannot be one.
#[cold]
fn garbage(len: usize, max_payload: usize, data: bool) -> String {
    if data {
        format!("the adapter showed a message of {len} bytes where the largest has {max_payload}")
    } else {
        format!("the adapter showed a message of {len} bytes at NULL")
    }
}

/// Whether a message can be one: where it lies and how long it is.
#[inline]
fn plausible(data: *const c_void, len: usize, max_payload: usize) -> bool {
    len <= max_payload && !data.is_null()
}

/// What `take` passes through the library.
struct Taking<'a> {
    on_message: &'a mut dyn FnMut(&[u8]),
    max_payload: usize,
    garbage: Option<(usize, bool)>,
}

/// `dyno_on_message` of `take`.
unsafe extern "C" fn show_taken(user: *mut c_void, data: *const c_void, len: usize) {
    // SAFETY: `take` passes its `Taking`, which lives for the call, and the library passes it on.
    let taking = unsafe { &mut *user.cast::<Taking<'_>>() };
    if !plausible(data, len, taking.max_payload) {
        taking.garbage = Some((len, !data.is_null()));
        return;
    }
    // SAFETY: the library shows `len` bytes at `data` until we return.
    (taking.on_message)(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) });
}

impl Receiver for ForeignReceiver {
    fn matched(&mut self) -> Result<bool> {
        self.end.matched(self.matched).map(|n| n > 0)
    }

    #[inline]
    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut taking = Taking {
            on_message,
            max_payload: self.end.max_payload,
            garbage: None,
        };
        // SAFETY: the receiver is open, `taking` lives for the call.
        let status = unsafe {
            (self.take)(
                self.end.handle.as_ptr(),
                show_taken,
                (&raw mut taking).cast(),
            )
        };
        if let Some((len, data)) = taking.garbage {
            return Err(self.garbage(len, data));
        }
        match status {
            raw::OK => Ok(true),
            raw::NONE => Ok(false),
            status => Err(self.end.error("take", status)),
        }
    }
}

pub(crate) struct ForeignSubscription {
    end: End<raw::Subscription>,
    matched: unsafe extern "C-unwind" fn(*mut raw::Subscription, *mut u32) -> Status,
    /// What the library holds a pointer to. After `end`, so that it is dropped last.
    _called: Box<Called>,
}

/// What a subscription passes to the library.
struct Called {
    on_message: OnMessage,
    max_payload: usize,
    what: String,
}

/// `dyno_on_message` of `subscribe`.
unsafe extern "C" fn show_called(user: *mut c_void, data: *const c_void, len: usize) {
    // SAFETY: `user` is the subscription's `Called`, which lives until the subscription is closed;
    // the library calls for one message at a time.
    let called = unsafe { &mut *user.cast::<Called>() };
    if !plausible(data, len, called.max_payload) {
        // No result can carry this: the panic ends the process, and the runner reports its words.
        let words = garbage(len, called.max_payload, !data.is_null());
        panic!("{}: {words}", called.what);
    }
    // SAFETY: the library shows `len` bytes at `data` until we return.
    (called.on_message)(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) });
}

impl ForeignSubscription {
    pub(crate) fn open(
        node: &Arc<NodeHandle>,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Self> {
        let table = &node.table;
        if table.ops.capabilities & raw::CAN_CALLBACK == 0 {
            return Err(Error::Unsupported(format!(
                "{}: callback delivery on channel {}",
                table.name, channel.name
            )));
        }
        let open = table.there(table.ops.subscribe, "subscribe")?;
        let close = table.there(table.ops.subscription_close, "subscription_close")?;
        let matched = table.there(table.ops.subscription_matched, "subscription_matched")?;
        let mut called = Box::new(Called {
            on_message,
            max_payload: channel.max_payload,
            what: format!("{}: callback on channel {}", table.name, channel.name),
        });
        let user: *mut Called = &raw mut *called;
        let handle = open_end(table, channel, "subscribe", |channel, out| {
            // SAFETY: the node is open; channel and out-pointer live for the call, `called` until
            // after the subscription is closed.
            unsafe { open(node.node.as_ptr(), channel, show_called, user.cast(), out) }
        })?;
        Ok(ForeignSubscription {
            end: End {
                node: node.clone(),
                handle,
                channel: channel.name.clone(),
                max_payload: channel.max_payload,
                close,
            },
            matched,
            _called: called,
        })
    }
}

impl Subscription for ForeignSubscription {
    fn matched(&mut self) -> Result<bool> {
        self.end.matched(self.matched).map(|n| n > 0)
    }
}
