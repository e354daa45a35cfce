//! The other side of the ABI: an [`Adapter`] in Rust exported as a shared library.
//!
//! [`export_adapter!`](crate::export_adapter) defines `dyno_adapter`, and the functions below are the
//! operations of its table. A message is written where the library lent memory and read where the
//! library put it, as without the boundary: `fill_and_send` passes the writer of the message in, `take`
//! the reader, so that nothing is copied and nothing kept between two calls.

use crate::raw::{self, Ops, Status};
use crate::{ForeignAdapter, LoadError, describe};
use dyno_adapter::{
    Adapter, AdapterDescription, Carries, ChannelSpec, Endpoint, Error, Node, NodeContext,
    OptionKind, Options, Placement, Receiver, Result, Sender, Sent, Subscription, Wait,
};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// Defines the function `dyno_adapter` that makes a `cdylib` the library of an adapter.
///
/// Its argument is the path of a function `fn() -> Box<dyn Adapter>`, which is called once. The library's
/// file must be named `libdyno_NAME.so`, as [`file_name`](crate::file_name) says, when Dyno is to find it.
///
/// A panic in an operation ends the process: it cannot cross the boundary.
#[macro_export]
macro_rules! export_adapter {
    ($adapter:path) => {
        /// The one symbol of an adapter's library: its table of operations.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn dyno_adapter() -> *const $crate::Table {
            struct This;
            impl $crate::Exported for This {
                fn this() -> &'static $crate::Export {
                    static THIS: std::sync::OnceLock<$crate::Export> = std::sync::OnceLock::new();
                    THIS.get_or_init(|| $crate::Export::new::<This>($adapter()))
                }
            }
            <This as $crate::Exported>::this().table()
        }
    };
}

/// What [`export_adapter!`](crate::export_adapter) implements: an adapter that lives as long as the process.
#[doc(hidden)]
pub trait Exported {
    /// The adapter, always the same.
    fn this() -> &'static Export;
}

/// An adapter with what its library shows of it.
#[doc(hidden)]
pub struct Export {
    adapter: Box<dyn Adapter>,
    described: AdapterDescription,
    table: Ops,
    description: raw::Description,
}

// SAFETY: the pointers in the description are to texts that were leaked and are only read.
unsafe impl Send for Export {}
// SAFETY: as above, and an `Adapter` is `Sync`.
unsafe impl Sync for Export {}

impl Export {
    /// Prepares table and description. What the description points to is leaked: the library is never closed.
    pub fn new<T: Exported>(adapter: Box<dyn Adapter>) -> Self {
        let described = adapter.describe();
        Export {
            table: table::<T>(capabilities(&described)),
            description: description(&described),
            adapter,
            described,
        }
    }

    /// What `dyno_adapter` returns.
    pub fn table(&self) -> *const Ops {
        &self.table
    }
}

/// Loads an adapter through its exported table, as [`load`](crate::load) does, but one that is linked into
/// this program: for tests and measurements of the boundary.
///
/// # Errors
///
/// When the table or the description does not fit.
pub fn through(
    entry: extern "C-unwind" fn() -> *const Ops,
) -> std::result::Result<ForeignAdapter, LoadError> {
    let table = entry();
    // SAFETY: `export_adapter!` defines the entry and keeps the table for the rest of the process.
    let description = unsafe { &*(*table).describe.map_or(ptr::null(), |describe| describe()) };
    // SAFETY: an exported description has a name that ends with NUL.
    let name = unsafe { CStr::from_ptr(description.name) };
    let path = PathBuf::from(crate::file_name(&name.to_string_lossy()));
    // SAFETY: as above.
    let mut adapter = unsafe { crate::load::serve(&path, table) }?;
    // The path names a file that there is none of.
    adapter.description.library = None;
    Ok(adapter)
}

fn table<T: Exported>(capabilities: u64) -> Ops {
    Ops {
        abi_version: raw::ABI_VERSION,
        struct_size: size_of::<Ops>() as u32,
        capabilities,
        describe: Some(describe_adapter::<T>),
        last_error: Some(last_error),
        open: Some(open::<T>),
        close: Some(close::<raw::Node, Box<dyn Node>>),
        sender_open: Some(sender_open),
        sender_close: Some(close::<raw::Sender, Box<dyn Sender>>),
        sender_matched: Some(sender_matched),
        loan: None,
        send: None,
        receiver_open: Some(receiver_open),
        receiver_close: Some(close::<raw::Receiver, Box<dyn Receiver>>),
        receiver_matched: Some(receiver_matched),
        take: Some(take),
        subscribe: Some(subscribe),
        subscription_close: Some(close::<raw::Subscription, Box<dyn Subscription>>),
        subscription_matched: Some(subscription_matched),
        fill_and_send: Some(fill_and_send),
    }
}

fn capabilities(of: &AdapterDescription) -> u64 {
    let c = &of.capabilities;
    [
        (c.loan, raw::CAN_LOAN),
        (c.waits.contains(&Wait::Spin), raw::CAN_SPIN),
        (c.waits.contains(&Wait::Block), raw::CAN_BLOCK),
        (c.waits.contains(&Wait::Callback), raw::CAN_CALLBACK),
        (c.reliable, raw::CAN_RELIABLE),
        (c.best_effort, raw::CAN_BEST_EFFORT),
        (c.request_response, raw::CAN_CALL),
        (c.placements.contains(&Placement::Thread), raw::CAN_THREAD),
        (c.placements.contains(&Placement::Process), raw::CAN_PROCESS),
        (c.placements.contains(&Placement::Host), raw::CAN_HOST),
        (c.loopback, raw::CAN_LOOPBACK),
        (c.sends_later, raw::SENDS_LATER),
        (c.asks, raw::ASKS),
    ]
    .into_iter()
    .filter(|(can, _)| *can)
    .fold(0, |bits, (_, bit)| bits | bit)
}

/// Text that lives as long as the library. What follows a NUL, which none of ours holds, is cut off.
fn text(of: &str) -> *const c_char {
    let until = of.split('\0').next().unwrap_or_default();
    CString::new(until).unwrap_or_default().into_raw()
}

fn description(of: &AdapterDescription) -> raw::Description {
    let options: Vec<raw::OptionSpec> = of
        .options
        .iter()
        .map(|option| {
            let (kind, values) = match &option.kind {
                OptionKind::Bool => (raw::OPTION_BOOL, ptr::null()),
                OptionKind::Int => (raw::OPTION_INT, ptr::null()),
                OptionKind::Float => (raw::OPTION_FLOAT, ptr::null()),
                OptionKind::Text => (raw::OPTION_TEXT, ptr::null()),
                OptionKind::OneOf(values) => {
                    let ended = values.iter().map(|v| text(v)).chain([ptr::null()]);
                    (raw::OPTION_ONE_OF, Vec::leak(ended.collect()).as_ptr())
                }
            };
            raw::OptionSpec {
                name: text(&option.name),
                kind,
                // The header's limit is 32 bits wide; one beyond them is none here.
                most: option.most.and_then(|m| i32::try_from(m).ok()).unwrap_or(0),
                values,
                default_value: match &option.default {
                    Some(dyno_adapter::OptionValue::Text(default)) => text(default),
                    Some(default) => text(&default.to_string()),
                    None => ptr::null(),
                },
                doc: text(&option.doc),
            }
        })
        .collect();
    raw::Description {
        name: text(&of.name),
        version: text(&of.version),
        summary: text(&of.summary),
        max_message: of.capabilities.max_message.unwrap_or(0),
        fragments_above: of.capabilities.fragments_above.unwrap_or(0),
        max_receivers: of.capabilities.max_receivers.map_or(0, u32::from),
        option_count: options.len() as u32,
        options: Vec::leak(options).as_ptr(),
        unavailable: of.unavailable.as_deref().map_or(ptr::null(), text),
    }
}

thread_local! {
    /// The words of the last error on this thread.
    static LAST_ERROR: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Keeps the words of an error and says what status it is.
#[cold]
fn status(error: &Error) -> Status {
    let (status, words) = match error {
        Error::PeerGone { .. } => (raw::PEER_GONE, String::new()),
        Error::Unsupported(words) => (raw::UNSUPPORTED, words.clone()),
        Error::Option { name, message } => (raw::BAD_OPTION, format!("`{name}`: {message}")),
        Error::System { .. } | Error::Library { .. } => (raw::ERROR, error.to_string()),
    };
    let words = CString::new(words.replace('\0', " ")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = Some(words));
    status
}

/// Hands what was made over to the loader, or keeps the error.
fn hand_out<H, T>(made: Result<T>, to: *mut *mut H) -> Status {
    match made {
        Ok(made) => {
            // SAFETY: the header has the caller pass a place for the handle.
            unsafe { *to = Box::into_raw(Box::new(made)).cast() };
            raw::OK
        }
        Err(error) => status(&error),
    }
}

/// What a handle that [`hand_out`] gave out stands for.
///
/// # Safety
///
/// `handle` was given out for a `T`, is not closed yet, and is used by nobody else at the time.
unsafe fn behind<'a, H, T>(handle: *mut H) -> &'a mut T {
    // SAFETY: as this function's.
    unsafe { &mut *handle.cast::<T>() }
}

unsafe extern "C-unwind" fn describe_adapter<T: Exported>() -> *const raw::Description {
    &T::this().description
}

unsafe extern "C-unwind" fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_deref().unwrap_or(c"").as_ptr())
}

/// Every `close` operation.
unsafe extern "C-unwind" fn close<H, T>(handle: *mut H) {
    // SAFETY: the header has each handle closed once, and not used afterwards; it was made for a `T`.
    drop(unsafe { Box::from_raw(handle.cast::<T>()) });
}

unsafe extern "C-unwind" fn open<T: Exported>(
    context: *const raw::Context,
    node: *mut *mut raw::Node,
) -> Status {
    let this = T::this();
    // SAFETY: the header has the context and all it points to live for the call.
    let opened = unsafe { node_context(&*context, &this.described) }
        .and_then(|context| this.adapter.open(&context));
    hand_out(opened, node)
}

unsafe extern "C-unwind" fn sender_open(
    node: *mut raw::Node,
    channel: *const raw::Channel,
    sender: *mut *mut raw::Sender,
) -> Status {
    // SAFETY: the header has the node open and the channel live for the call.
    let (node, channel) = unsafe { (behind::<_, Box<dyn Node>>(node), channel_spec(&*channel)) };
    hand_out(channel.and_then(|channel| node.sender(&channel)), sender)
}

unsafe extern "C-unwind" fn receiver_open(
    node: *mut raw::Node,
    channel: *const raw::Channel,
    wait: i32,
    receiver: *mut *mut raw::Receiver,
) -> Status {
    // SAFETY: the header has the node open and the channel live for the call.
    let (node, channel) = unsafe { (behind::<_, Box<dyn Node>>(node), channel_spec(&*channel)) };
    let wait = match wait {
        raw::WAIT_SPIN => Ok(Wait::Spin),
        raw::WAIT_BLOCK => Ok(Wait::Block),
        other => Err(Error::Unsupported(format!(
            "a receiver that waits in way {other}"
        ))),
    };
    let made = channel.and_then(|channel| node.receiver(&channel, wait?));
    hand_out(made, receiver)
}

/// The `user` of a callback, on its way to the thread that calls.
struct User(*mut c_void);
// SAFETY: the header allows `on_message` of a subscription to be called from any thread, one at a time.
unsafe impl Send for User {}

impl User {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

unsafe extern "C-unwind" fn subscribe(
    node: *mut raw::Node,
    channel: *const raw::Channel,
    on_message: raw::OnMessage,
    user: *mut c_void,
    subscription: *mut *mut raw::Subscription,
) -> Status {
    // SAFETY: the header has the node open and the channel live for the call.
    let (node, channel) = unsafe { (behind::<_, Box<dyn Node>>(node), channel_spec(&*channel)) };
    let user = User(user);
    let on_message = Box::new(move |bytes: &[u8]| {
        // SAFETY: the loader's own function with the `user` that it passed; the bytes stay until it returns.
        unsafe { on_message(user.get(), bytes.as_ptr().cast(), bytes.len()) }
    });
    let made = channel.and_then(|channel| node.subscribe(&channel, on_message));
    hand_out(made, subscription)
}

/// Tells how many ends are matched, or keeps the error.
fn tell(matched: Result<usize>, to: *mut u32) -> Status {
    match matched {
        Ok(matched) => {
            // SAFETY: the header has the caller pass a place for the number.
            unsafe { *to = u32::try_from(matched).unwrap_or(u32::MAX) };
            raw::OK
        }
        Err(error) => status(&error),
    }
}

unsafe extern "C-unwind" fn sender_matched(sender: *mut raw::Sender, to: *mut u32) -> Status {
    // SAFETY: the header has the sender open and used by one thread at a time.
    tell(
        unsafe { behind::<_, Box<dyn Sender>>(sender) }.matched(),
        to,
    )
}

unsafe extern "C-unwind" fn receiver_matched(receiver: *mut raw::Receiver, to: *mut u32) -> Status {
    // SAFETY: the header has the receiver open and used by one thread at a time.
    let matched = unsafe { behind::<_, Box<dyn Receiver>>(receiver) }.matched();
    tell(matched.map(usize::from), to)
}

unsafe extern "C-unwind" fn subscription_matched(
    subscription: *mut raw::Subscription,
    to: *mut u32,
) -> Status {
    // SAFETY: the header has the subscription open and used by one thread at a time.
    let matched = unsafe { behind::<_, Box<dyn Subscription>>(subscription) }.matched();
    tell(matched.map(usize::from), to)
}

unsafe extern "C-unwind" fn fill_and_send(
    sender: *mut raw::Sender,
    length: usize,
    fill: raw::Fill,
    user: *mut c_void,
) -> Status {
    // SAFETY: the header has the sender open and used by one thread at a time.
    let sender = unsafe { behind::<_, Box<dyn Sender>>(sender) };
    let sent = sender.send(length, &mut |buffer| {
        // SAFETY: the loader's own function with the `user` that it passed; the buffer is ours for the call.
        unsafe { fill(user, buffer.as_mut_ptr().cast(), buffer.len()) }
    });
    match sent {
        Ok(Sent::Accepted) => raw::OK,
        Ok(Sent::Refused) => raw::REFUSED,
        Err(error) => status(&error),
    }
}

unsafe extern "C-unwind" fn take(
    receiver: *mut raw::Receiver,
    on_message: raw::OnMessage,
    user: *mut c_void,
) -> Status {
    // SAFETY: the header has the receiver open and used by one thread at a time.
    let receiver = unsafe { behind::<_, Box<dyn Receiver>>(receiver) };
    let taken = receiver.take(&mut |bytes| {
        // SAFETY: the loader's own function with the `user` that it passed; the bytes stay until it returns.
        unsafe { on_message(user, bytes.as_ptr().cast(), bytes.len()) }
    });
    match taken {
        Ok(true) => raw::OK,
        Ok(false) => raw::NONE,
        Err(error) => status(&error),
    }
}

/// Text of the loader's.
///
/// # Safety
///
/// `of` is null or ends with NUL.
unsafe fn received(of: *const c_char, what: &str) -> Result<String> {
    // SAFETY: as this function's.
    unsafe { describe::text(of, what) }
        .map_err(Error::Unsupported)
        .map(Option::unwrap_or_default)
}

/// # Safety
///
/// The context is as the header defines it.
unsafe fn node_context(c: &raw::Context, described: &AdapterDescription) -> Result<NodeContext> {
    let mut options = Options::new();
    if c.option_count > 0 {
        // SAFETY: `options` points to `option_count` of them.
        for option in unsafe { std::slice::from_raw_parts(c.options, c.option_count as usize) } {
            // SAFETY: texts of a context end with NUL.
            let (name, value) = unsafe {
                (
                    received(option.name, "option")?,
                    received(option.value, "option's value")?,
                )
            };
            let spec = described.options.iter().find(|spec| spec.name == name);
            let typed = spec.and_then(|spec| describe::value(&spec.kind, &value));
            let typed = typed.ok_or_else(|| {
                Error::option(
                    &name,
                    format!("{value:?} is no value of it; `dyno list adapters` says what is"),
                )
            })?;
            options.insert(name, typed);
        }
    }
    // SAFETY: texts of a context end with NUL.
    let (session, scratch, address) = unsafe {
        (
            received(c.session, "session")?,
            received(c.scratch, "scratch directory")?,
            received(c.address, "address")?,
        )
    };
    Ok(NodeContext {
        session,
        scratch: Path::new(&scratch).to_owned(),
        participant: c.participant,
        address,
        looked_at: c.looked_at,
        options,
    })
}

/// # Safety
///
/// The channel is as the header defines it.
unsafe fn channel_spec(c: &raw::Channel) -> Result<ChannelSpec> {
    let readers: &[raw::Endpoint] = match c.reader_count {
        0 => &[],
        // SAFETY: `readers` points to `reader_count` of them.
        count => unsafe { std::slice::from_raw_parts(c.readers, count as usize) },
    };
    let readers = readers
        .iter()
        .map(|reader| {
            Ok(Endpoint {
                participant: reader.participant,
                // SAFETY: texts of an endpoint end with NUL.
                address: unsafe { received(reader.address, "reader's address") }?,
                port: reader.port,
            })
        })
        .collect::<Result<_>>()?;
    // SAFETY: texts of a channel end with NUL, its partner's is null where there is none.
    let (name, writer_address, partner) = unsafe {
        (
            received(c.name, "channel")?,
            received(c.writer_address, "writer's address")?,
            received(c.partner, "partner")?,
        )
    };
    Ok(ChannelSpec {
        id: c.id,
        name,
        max_payload: c.max_payload as usize,
        writer: c.writer,
        writer_address,
        readers,
        carries: match c.carries {
            raw::CARRIES_MESSAGES => Carries::Messages,
            raw::CARRIES_REQUESTS => Carries::Requests { responses: partner },
            raw::CARRIES_RESPONSES => Carries::Responses { requests: partner },
            other => {
                return Err(Error::Unsupported(format!(
                    "a channel that carries {other}"
                )));
            }
        },
    })
}
