//! Resource limits and kernel settings that bear on measurements, each with what Dyno would want and
//! the command that sets it.

use crate::procfile;
use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use std::collections::BTreeMap;

/// One limit or setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// Its name, such as `RLIMIT_NOFILE` or `net.core.rmem_max`.
    pub name: String,
    /// Its value in [`unit`](Limit::unit)s; `None`: unlimited.
    pub value: Option<u64>,
    /// `bytes`, `messages` and the like; empty for a bare number.
    pub unit: &'static str,
    /// What it limits, in one line.
    pub about: &'static str,
    /// What would be enough for everything that Dyno does, and how to set it; `None` where the value
    /// is enough.
    pub advice: Option<Advice>,
}

/// How to raise a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What would be enough, in the limit's unit.
    pub enough: u64,
    /// The command that sets it.
    pub command: String,
}

impl Limit {
    /// The value with its unit.
    pub fn text(&self) -> String {
        let value = self
            .value
            .map_or_else(|| "unlimited".to_owned(), |v| v.to_string());
        if self.unit.is_empty() || self.value.is_none() {
            value
        } else {
            format!("{value} {}", self.unit)
        }
    }
}

/// All of them, in a fixed order; those that this kernel does not have are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Limits(pub Vec<Limit>);

impl Limits {
    /// Names and values as text, as a run stores them.
    pub fn into_map(self) -> BTreeMap<String, String> {
        self.0.iter().map(|l| (l.name.clone(), l.text())).collect()
    }
}

struct Rlimit {
    name: &'static str,
    resource: Resource,
    unit: &'static str,
    about: &'static str,
    wanted: u64,
    /// The letter of `ulimit`, and what one of its units is in bytes.
    ulimit: (char, u64),
}

const RLIMITS: &[Rlimit] = &[
    Rlimit {
        name: "RLIMIT_MEMLOCK",
        resource: Resource::Memlock,
        unit: "bytes",
        about: "memory that may be locked (mlock) without CAP_IPC_LOCK",
        wanted: 256 << 20,
        ulimit: ('l', 1024),
    },
    Rlimit {
        name: "RLIMIT_RTPRIO",
        resource: Resource::Rtprio,
        unit: "",
        about: "highest SCHED_FIFO priority without CAP_SYS_NICE",
        wanted: 50,
        ulimit: ('r', 1),
    },
    Rlimit {
        name: "RLIMIT_NOFILE",
        resource: Resource::Nofile,
        unit: "files",
        about: "open files and sockets of one process",
        wanted: 4096,
        ulimit: ('n', 1),
    },
    Rlimit {
        name: "RLIMIT_MSGQUEUE",
        resource: Resource::Msgqueue,
        unit: "bytes",
        about: "memory of all POSIX message queues of one user",
        wanted: 819_200,
        ulimit: ('q', 1),
    },
];

struct Setting {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    /// Enough for everything; 0: any value will do.
    wanted: u64,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "fs.mqueue.msg_max",
        unit: "messages",
        about: "depth of a POSIX message queue without CAP_SYS_RESOURCE",
        wanted: 10,
    },
    Setting {
        name: "fs.mqueue.msgsize_max",
        unit: "bytes",
        about: "largest message of a POSIX message queue without CAP_SYS_RESOURCE",
        wanted: 8192,
    },
    Setting {
        name: "fs.mqueue.queues_max",
        unit: "queues",
        about: "total number of POSIX message queues",
        wanted: 256,
    },
    Setting {
        name: "net.core.rmem_default",
        unit: "bytes",
        about: "default receive buffer of a socket",
        // Two messages of a megabyte as datagrams, each charged with what holds it, and room beside them.
        wanted: 4 << 20,
    },
    Setting {
        name: "net.core.rmem_max",
        unit: "bytes",
        about: "largest receive buffer that a socket can ask for",
        wanted: 4 << 20,
    },
    Setting {
        name: "net.core.wmem_default",
        unit: "bytes",
        about: "default send buffer of a socket",
        wanted: 0,
    },
    Setting {
        name: "net.core.wmem_max",
        unit: "bytes",
        about: "largest send buffer that a socket can ask for",
        wanted: 4 << 20,
    },
    Setting {
        name: "net.unix.max_dgram_qlen",
        unit: "messages",
        about: "messages that wait at a Unix datagram or seqpacket socket",
        wanted: 0,
    },
    Setting {
        name: "fs.pipe-max-size",
        unit: "bytes",
        about: "largest pipe without CAP_SYS_RESOURCE",
        wanted: 1 << 20,
    },
    Setting {
        name: "kernel.sched_rt_period_us",
        unit: "us",
        about: "the period to which sched_rt_runtime_us applies",
        wanted: 0,
    },
    Setting {
        name: "kernel.sched_rt_runtime_us",
        unit: "us",
        about: "time per period that SCHED_FIFO threads may run; spinning ones are stopped for the rest",
        wanted: 0,
    },
];

const SHM: &str = "/dev/shm";
const SHM_WANTED: u64 = 64 << 20;

/// Reads them all.
pub fn limits() -> Limits {
    let rlimits = RLIMITS.iter().map(|r| {
        let value = getrlimit(r.resource).current;
        let (letter, scale) = r.ulimit;
        Limit {
            name: r.name.into(),
            value,
            unit: r.unit,
            about: r.about,
            advice: advice(value, r.wanted, || {
                format!("ulimit -{letter} {}", r.wanted / scale)
            }),
        }
    });
    let settings = SETTINGS.iter().filter_map(|s| {
        let path = format!("/proc/sys/{}", s.name.replace('.', "/"));
        let text = procfile::text(path);
        // sched_rt_runtime_us is -1 for no limit.
        let value = match text.parse::<i64>().ok()? {
            v if v < 0 => None,
            v => Some(v as u64),
        };
        Some(Limit {
            name: s.name.into(),
            value,
            unit: s.unit,
            about: s.about,
            advice: advice(value, s.wanted, || {
                format!("sudo sysctl -w {}={}", s.name, s.wanted)
            }),
        })
    });
    let shm = statvfs(SHM).ok().map(|s| {
        let limit = |name: &str, blocks: u64, about| {
            let value = Some(blocks.saturating_mul(s.f_frsize));
            Limit {
                name: format!("{SHM} {name}"),
                value,
                unit: "bytes",
                about,
                advice: advice(value, SHM_WANTED, || {
                    format!("sudo mount -o remount,size=50% {SHM}")
                }),
            }
        };
        [
            limit(
                "size",
                s.f_blocks,
                "shared memory of all processes together",
            ),
            limit("free", s.f_bavail, "free part of it"),
        ]
    });
    Limits(
        rlimits
            .chain(settings)
            .chain(shm.into_iter().flatten())
            .collect(),
    )
}

/// What to do where `value` is less than `wanted`.
fn advice(value: Option<u64>, wanted: u64, command: impl FnOnce() -> String) -> Option<Advice> {
    (value? < wanted).then(|| Advice {
        enough: wanted,
        command: command(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let Limits(all) = limits();
        let nofile = all.iter().find(|l| l.name == "RLIMIT_NOFILE").unwrap();
        assert_eq!(nofile.value, getrlimit(Resource::Nofile).current);
        assert!(all.iter().any(|l| l.name == "fs.pipe-max-size"), "{all:?}");
        let map = limits().into_map();
        assert_eq!(map["RLIMIT_NOFILE"], nofile.text());
    }

    #[test]
    fn too_little_comes_with_a_command_and_enough_does_not() {
        let a = advice(Some(5), 10, || "sysctl x=10".into()).unwrap();
        assert_eq!((a.enough, a.command.as_str()), (10, "sysctl x=10"));
        assert_eq!(advice(Some(10), 10, || unreachable!()), None);
        assert_eq!(advice(None, 10, || unreachable!()), None);
    }

    #[test]
    fn names_are_unique() {
        let Limits(all) = limits();
        assert_eq!(limits().into_map().len(), all.len());
    }
}
