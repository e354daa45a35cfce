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

/// Name, resource, what is enough, unit, the letter of `ulimit` and what one of its units is, and what it limits.
type Rlimit = (
    &'static str,
    Resource,
    u64,
    &'static str,
    (char, u64),
    &'static str,
);

#[rustfmt::skip]
const RLIMITS: [Rlimit; 4] = [
    ("RLIMIT_MEMLOCK", Resource::Memlock, 256 << 20, "bytes", ('l', 1024), "memory that may be locked (mlock) without CAP_IPC_LOCK"),
    ("RLIMIT_RTPRIO", Resource::Rtprio, 50, "", ('r', 1), "highest SCHED_FIFO priority without CAP_SYS_NICE"),
    ("RLIMIT_NOFILE", Resource::Nofile, 4096, "files", ('n', 1), "open files and sockets of one process"),
    ("RLIMIT_MSGQUEUE", Resource::Msgqueue, 819_200, "bytes", ('q', 1), "memory of all POSIX message queues of one user"),
];

/// Name, what is enough for everything (0: any value will do), unit, and what it limits.
type Setting = (&'static str, u64, &'static str, &'static str);

#[rustfmt::skip]
const SETTINGS: [Setting; 11] = [
    ("fs.mqueue.msg_max", 10, "messages", "depth of a POSIX message queue without CAP_SYS_RESOURCE"),
    ("fs.mqueue.msgsize_max", 8192, "bytes", "largest message of a POSIX message queue without CAP_SYS_RESOURCE"),
    ("fs.mqueue.queues_max", 256, "queues", "total number of POSIX message queues"),
    // Two messages of a megabyte as datagrams, each charged with what holds it, and room beside them.
    ("net.core.rmem_default", 4 << 20, "bytes", "default receive buffer of a socket"),
    ("net.core.rmem_max", 4 << 20, "bytes", "largest receive buffer that a socket can ask for"),
    ("net.core.wmem_default", 0, "bytes", "default send buffer of a socket"),
    ("net.core.wmem_max", 4 << 20, "bytes", "largest send buffer that a socket can ask for"),
    ("net.unix.max_dgram_qlen", 0, "messages", "messages that can wait at a Unix datagram socket"),
    ("fs.pipe-max-size", 1 << 20, "bytes", "largest pipe without CAP_SYS_RESOURCE"),
    ("kernel.sched_rt_period_us", 0, "us", "the period to which sched_rt_runtime_us applies"),
    ("kernel.sched_rt_runtime_us", 0, "us", "time per period that SCHED_FIFO threads may run; spinning ones are stopped for the rest"),
];

const SHM: &str = "/dev/shm";
const SHM_WANTED: u64 = 64 << 20;

/// Reads them all.
pub fn limits() -> Limits {
    let limit = |name: &str, value, wanted, unit, about, command: &dyn Fn() -> String| Limit {
        name: name.to_owned(),
        value,
        unit,
        about,
        advice: advice(value, wanted, command),
    };
    let rlimits = RLIMITS
        .iter()
        .map(|(name, resource, wanted, unit, (letter, scale), about)| {
            let command = || format!("ulimit -{letter} {}", wanted / scale);
            limit(
                name,
                getrlimit(*resource).current,
                *wanted,
                unit,
                about,
                &command,
            )
        });
    let settings = SETTINGS.iter().filter_map(|(name, wanted, unit, about)| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        // sched_rt_runtime_us is -1 for no limit.
        let value = procfile::text(path).parse::<i64>().ok()?;
        let value = u64::try_from(value).ok();
        let command = || format!("sudo sysctl -w {name}={wanted}");
        Some(limit(name, value, *wanted, unit, about, &command))
    });
    let shm = statvfs(SHM).ok().map(|s| {
        let bytes = |blocks: u64| Some(blocks.saturating_mul(s.f_frsize));
        let command = || format!("sudo mount -o remount,size=50% {SHM}");
        let about = "shared memory of all processes together";
        [
            ("size", s.f_blocks, about),
            ("free", s.f_bavail, "free part of /dev/shm"),
        ]
        .map(|(name, blocks, about)| {
            let name = format!("{SHM} {name}");
            limit(&name, bytes(blocks), SHM_WANTED, "bytes", about, &command)
        })
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
