//! `include/dyno_adapter.h`, mirrored. A test compiles the header and compares every size and offset.

use std::ffi::{c_char, c_void};

/// `DYNO_ABI_VERSION`.
pub(crate) const ABI_VERSION: u32 = 1;

/// `dyno_status`.
pub(crate) type Status = i32;
pub(crate) const OK: Status = 0;
pub(crate) const WAITED: Status = 1;
pub(crate) const REFUSED: Status = 2;
pub(crate) const NONE: Status = 3;
pub(crate) const ERROR: Status = -1;
pub(crate) const UNSUPPORTED: Status = -2;
pub(crate) const PEER_GONE: Status = -3;
pub(crate) const BAD_OPTION: Status = -4;

pub(crate) const CAN_LOAN: u64 = 1 << 0;
pub(crate) const CAN_SPIN: u64 = 1 << 1;
pub(crate) const CAN_BLOCK: u64 = 1 << 2;
pub(crate) const CAN_CALLBACK: u64 = 1 << 3;
pub(crate) const CAN_RELIABLE: u64 = 1 << 4;
pub(crate) const CAN_BEST_EFFORT: u64 = 1 << 5;
pub(crate) const CAN_CALL: u64 = 1 << 6;
pub(crate) const CAN_THREAD: u64 = 1 << 7;
pub(crate) const CAN_PROCESS: u64 = 1 << 8;
pub(crate) const CAN_HOST: u64 = 1 << 9;
pub(crate) const CAN_LOOPBACK: u64 = 1 << 10;
pub(crate) const SENDS_LATER: u64 = 1 << 11;
pub(crate) const ASKS: u64 = 1 << 12;

pub(crate) const OPTION_BOOL: i32 = 1;
pub(crate) const OPTION_INT: i32 = 2;
pub(crate) const OPTION_FLOAT: i32 = 3;
pub(crate) const OPTION_TEXT: i32 = 4;
pub(crate) const OPTION_ONE_OF: i32 = 5;

pub(crate) const CARRIES_MESSAGES: i32 = 0;
pub(crate) const CARRIES_REQUESTS: i32 = 1;
pub(crate) const CARRIES_RESPONSES: i32 = 2;

pub(crate) const WAIT_SPIN: i32 = 1;
pub(crate) const WAIT_BLOCK: i32 = 2;

/// `dyno_option_spec`.
#[repr(C)]
pub(crate) struct OptionSpec {
    pub(crate) name: *const c_char,
    pub(crate) kind: i32,
    pub(crate) most: i32,
    pub(crate) values: *const *const c_char,
    pub(crate) default_value: *const c_char,
    pub(crate) doc: *const c_char,
}

/// `dyno_description`.
#[repr(C)]
pub(crate) struct Description {
    pub(crate) name: *const c_char,
    pub(crate) version: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) max_message: u64,
    pub(crate) fragments_above: u64,
    pub(crate) max_receivers: u32,
    pub(crate) option_count: u32,
    pub(crate) options: *const OptionSpec,
    pub(crate) unavailable: *const c_char,
}

/// `dyno_option`.
#[repr(C)]
pub(crate) struct OptionText {
    pub(crate) name: *const c_char,
    pub(crate) value: *const c_char,
}

/// `dyno_context`.
#[repr(C)]
pub(crate) struct Context {
    pub(crate) session: *const c_char,
    pub(crate) scratch: *const c_char,
    pub(crate) address: *const c_char,
    pub(crate) participant: u16,
    pub(crate) looked_at: u16,
    pub(crate) option_count: u32,
    pub(crate) options: *const OptionText,
    pub(crate) claim: unsafe extern "C" fn(*const Context, *const c_char, *const c_char) -> Status,
    pub(crate) host: *mut c_void,
}

/// `dyno_endpoint`.
#[repr(C)]
pub(crate) struct Endpoint {
    pub(crate) address: *const c_char,
    pub(crate) participant: u16,
    pub(crate) port: u16,
    pub(crate) reserved: u32,
}

/// `dyno_channel`.
#[repr(C)]
pub(crate) struct Channel {
    pub(crate) name: *const c_char,
    pub(crate) partner: *const c_char,
    pub(crate) max_payload: u64,
    pub(crate) id: u16,
    pub(crate) writer: u16,
    pub(crate) carries: i32,
    pub(crate) writer_address: *const c_char,
    pub(crate) readers: *const Endpoint,
    pub(crate) reader_count: u32,
    pub(crate) reserved: u32,
}

/// The adapter's own things; only pointers to them are ever held.
macro_rules! opaque {
    ($($name:ident),*) => { $(
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
        }
    )* };
}
opaque!(Node, Sender, Receiver, Subscription);

/// `dyno_on_message`.
pub(crate) type OnMessage = unsafe extern "C" fn(*mut c_void, *const c_void, usize);

/// `dyno_fill`.
pub(crate) type Fill = unsafe extern "C" fn(*mut c_void, *mut c_void, usize);

/// `dyno_adapter_ops`. An operation that the table lacks is `None`.
///
/// Operations are called as `C-unwind`: an exception that leaves one although the header forbids it
/// ends the process with a message instead of being undefined behaviour.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ops {
    pub(crate) abi_version: u32,
    pub(crate) struct_size: u32,
    pub(crate) capabilities: u64,
    pub(crate) describe: Option<unsafe extern "C-unwind" fn() -> *const Description>,
    pub(crate) last_error: Option<unsafe extern "C-unwind" fn() -> *const c_char>,
    pub(crate) open: Option<unsafe extern "C-unwind" fn(*const Context, *mut *mut Node) -> Status>,
    pub(crate) close: Option<unsafe extern "C-unwind" fn(*mut Node)>,
    pub(crate) sender_open:
        Option<unsafe extern "C-unwind" fn(*mut Node, *const Channel, *mut *mut Sender) -> Status>,
    pub(crate) sender_close: Option<unsafe extern "C-unwind" fn(*mut Sender)>,
    pub(crate) sender_matched: Option<unsafe extern "C-unwind" fn(*mut Sender, *mut u32) -> Status>,
    pub(crate) loan:
        Option<unsafe extern "C-unwind" fn(*mut Sender, usize, *mut *mut c_void) -> Status>,
    pub(crate) send: Option<unsafe extern "C-unwind" fn(*mut Sender, *mut c_void, usize) -> Status>,
    pub(crate) receiver_open: Option<
        unsafe extern "C-unwind" fn(*mut Node, *const Channel, i32, *mut *mut Receiver) -> Status,
    >,
    pub(crate) receiver_close: Option<unsafe extern "C-unwind" fn(*mut Receiver)>,
    pub(crate) receiver_matched:
        Option<unsafe extern "C-unwind" fn(*mut Receiver, *mut u32) -> Status>,
    pub(crate) take:
        Option<unsafe extern "C-unwind" fn(*mut Receiver, OnMessage, *mut c_void) -> Status>,
    pub(crate) subscribe: Option<
        unsafe extern "C-unwind" fn(
            *mut Node,
            *const Channel,
            OnMessage,
            *mut c_void,
            *mut *mut Subscription,
        ) -> Status,
    >,
    pub(crate) subscription_close: Option<unsafe extern "C-unwind" fn(*mut Subscription)>,
    pub(crate) subscription_matched:
        Option<unsafe extern "C-unwind" fn(*mut Subscription, *mut u32) -> Status>,
    pub(crate) fill_and_send:
        Option<unsafe extern "C-unwind" fn(*mut Sender, usize, Fill, *mut c_void) -> Status>,
}

/// What `dyno_adapter` is.
pub(crate) type Entry = unsafe extern "C-unwind" fn() -> *const Ops;
