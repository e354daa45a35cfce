//! The two ends of a queue.
//!
//! The reader creates the queue; until then the sender's open fails with ENOENT. Opening tells the
//! reader nothing, so the sender greets it with an empty message.

use crate::mq::{self, Queue};
use dyno_adapter::{Error, PATIENCE, Result, Wait};
use dyno_wire::link::{Accept, Dial, Inlet, Outlet};
use dyno_wire::presence::{Presence, is_present};
use rustix::io::{self, Errno};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn c_string(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::Unsupported(format!("{name:?} as a queue's name")))
}

/// The instant on CLOCK_REALTIME, the clock of queues, at which patience ends that begins now.
fn patience_ends() -> libc::timespec {
    let now = clock_gettime(ClockId::Realtime);
    let nanos = now.tv_nsec + i64::from(PATIENCE.subsec_nanos());
    const SECOND: i64 = 1_000_000_000;
    libc::timespec {
        tv_sec: now.tv_sec + PATIENCE.as_secs() as i64 + nanos / SECOND,
        tv_nsec: nanos % SECOND,
    }
}

/// Opens a queue that its reader has created.
pub(crate) struct QueueDial {
    name: CString,
    /// Taken by the outlet.
    presence: Option<PathBuf>,
}

impl QueueDial {
    pub(crate) fn new(name: &str, presence: PathBuf) -> Result<Self> {
        Ok(QueueDial {
            name: c_string(name)?,
            presence: Some(presence),
        })
    }
}

impl Dial for QueueDial {
    type Outlet = QueueOutlet;

    fn dial(&mut self) -> Result<Option<QueueOutlet>> {
        let failed = |call: &str, e| Error::system(format!("{call} {:?}", self.name), e);
        let open = |flags| match Queue::open(&self.name, libc::O_WRONLY | flags) {
            Ok(queue) => Ok(Some(queue)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(failed("mq_open", e)),
        };
        // Each open has flags of its own: one to try, one to wait with.
        let (Some(now), Some(later)) = (open(libc::O_NONBLOCK)?, open(0)?) else {
            return Ok(None);
        };
        match now.send(&[], None) {
            Ok(()) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(e) => return Err(failed("mq_send", e)),
        }
        Ok(self.presence.take().map(|presence| QueueOutlet {
            now,
            later,
            presence,
        }))
    }
}

/// The sending end of a queue.
pub(crate) struct QueueOutlet {
    /// Non-blocking.
    now: Queue,
    /// Blocking.
    later: Queue,
    presence: PathBuf,
}

impl Outlet for QueueOutlet {
    #[inline]
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        self.now.send(bytes, None).map(|()| bytes.len())
    }
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.later.send(bytes, Some(&patience_ends())) {
            Ok(()) => Ok(bytes.len()),
            Err(Errno::TIMEDOUT) => Err(Errno::AGAIN),
            Err(e) => Err(e),
        }
    }
    fn is_alive(&self) -> bool {
        is_present(&self.presence)
    }
}

/// A queue's name, removed when this is dropped.
struct Name(CString);

impl Drop for Name {
    fn drop(&mut self) {
        // It was claimed: whoever cleans up tries again.
        let _ = mq::unlink(&self.0);
    }
}

/// Creates a queue.
pub(crate) struct QueueAccept {
    /// Taken by the inlet.
    inlet: Option<QueueInlet>,
    _name: Name,
    _presence: Presence,
}

impl QueueAccept {
    pub(crate) fn create(
        name: &str,
        presence: &Path,
        depth: usize,
        size: usize,
        wait: Wait,
    ) -> Result<Self> {
        let presence = Presence::announce(presence)?;
        let c_name = c_string(name)?;
        // Names are unique to the trial: what is there was left by a crash.
        let _ = mq::unlink(&c_name);
        let flags = match wait {
            Wait::Block => libc::O_RDONLY,
            Wait::Spin | Wait::Callback => libc::O_RDONLY | libc::O_NONBLOCK,
        };
        let queue = Queue::create(&c_name, flags, depth, size)
            .map_err(|e| not_created(name, depth, size, e))?;
        let inlet = QueueInlet {
            queue,
            until: Cell::new(patience_ends()),
        };
        Ok(QueueAccept {
            inlet: Some(inlet),
            _name: Name(c_name),
            _presence: presence,
        })
    }
}

/// Names the limit that was exceeded and the command that raises it (mq_open(3), mq_overview(7)).
fn not_created(name: &str, depth: usize, size: usize, e: Errno) -> Error {
    let call = format!("mq_open {name} for {depth} messages of {size} bytes");
    let exceeds = |limit: &str, asked: usize| mq::limit(limit).is_some_and(|max| asked > max);
    let hint = match e {
        Errno::MFILE => {
            let limit = getrlimit(Resource::Msgqueue).current;
            let limit = limit.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
            format!(
                "the queues of this user may take {limit} bytes together (RLIMIT_MSGQUEUE), and \
                 each message of a queue counts from its creation on; raise it with `ulimit -q \
                 unlimited`, or lower the options `depth` and `fragment`, or the number of \
                 participants"
            )
        }
        Errno::NOSPC => format!(
            "the kernel allows {} queues; raise that with `sysctl -w fs.mqueue.queues_max=1024`",
            mq::limit("queues_max").unwrap_or(0)
        ),
        Errno::INVAL | Errno::PERM if exceeds("msg_max", depth) => format!(
            "option `depth` is above the kernel's limit; lower it or raise that with `sysctl -w \
             fs.mqueue.msg_max={depth}`"
        ),
        Errno::INVAL | Errno::PERM if exceeds("msgsize_max", size) => format!(
            "option `fragment` is above the kernel's limit; lower it or raise that with `sysctl \
             -w fs.mqueue.msgsize_max={size}`"
        ),
        Errno::NOSYS => "this kernel has no POSIX message queues; boot one with \
                         CONFIG_POSIX_MQUEUE=y"
            .to_owned(),
        e => return Error::system(call, e),
    };
    Error::system_hint(call, e, hint)
}

impl Accept for QueueAccept {
    type Inlet = QueueInlet;

    fn accept(&mut self, _wait: Duration) -> Result<Option<QueueInlet>> {
        Ok(self.inlet.take())
    }
}

/// The receiving end of a queue, blocking or not.
pub(crate) struct QueueInlet {
    queue: Queue,
    /// When patience ends. A call that finds this in the past returns at once and sets it anew,
    /// so that no message pays for reading a clock.
    until: Cell<libc::timespec>,
}

impl Inlet for QueueInlet {
    const CONNECTED: bool = false;

    #[inline]
    fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        match self.queue.receive(space, Some(&self.until.get())) {
            Err(Errno::TIMEDOUT) => {
                self.until.set(patience_ends());
                Err(Errno::AGAIN)
            }
            result => result,
        }
    }
    fn has_arrival(&self) -> io::Result<bool> {
        self.queue.len().map(|messages| messages > 0)
    }
}
