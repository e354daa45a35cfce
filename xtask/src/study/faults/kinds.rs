//! What there is, as tables: the kinds of faults, the places where runs measure with their stacks. A new kind is a row.

use Act::{Full, Handles, OtherClock, Signals};
use Cleared::{Itself, Next};
use Site::{Here, Namespaces, Servers};
use Who::{Agent, Client, Daemon, Keeper, Runner, Server};
use libc::{SIGABRT, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where a run measures: on this machine, between network namespaces of it, or between hosts behind ssh servers on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Site {
    Here,
    Namespaces,
    Servers,
}

/// Stacks of each site, of which a run has two. Those that are helped have a daemon beside their sockets.
pub(super) const STACKS: [(Site, &[&str]); 3] = [
    (
        Site::Here,
        &[
            "null",
            "uds-dgram",
            "uds-stream",
            "udp",
            "pipe",
            "posix-mq",
            "iceoryx2",
            "helped",
        ],
    ),
    (Site::Namespaces, &["udp", "tcp", "helped-udp"]),
    (Site::Servers, &["udp", "tcp"]),
];
/// Used on this machine where its adapter and its daemon are installed.
pub(super) const BROKER: &str = "mqtt-qos0";

/// Stacks that have a daemon.
pub(super) const HAVE_DAEMONS: [&str; 3] = ["helped", "helped-udp", BROKER];

/// What must not happen, in the order of the table's columns.
#[derive(Clone, Copy)]
pub(super) enum Wrong {
    Lost,
    Left,
    Hang,
    Other,
}

/// The places where runs can measure here, with their stacks and how long a run takes.
pub(super) type Sites = BTreeMap<Site, (Vec<&'static str>, Duration)>;

/// Whose process it happens to. An agent also lists adapters and files; a keeper holds scratch places on another host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Runner,
    Agent,
    Daemon,
    Keeper,
    Client,
    Server,
}

/// A file system that can be filled: that of run directories, of shared memory, of temporary files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Runs,
    SharedMemory,
    Scratch,
}

/// What happens.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Signals, with a pause of random length between two.
    Signals(Who, &'static [i32]),
    /// The same to a runner in a time namespace, whose clocks are ahead.
    OtherClock(&'static [i32]),
    /// A file system is full but for a few pages, until the command has ended.
    Full(Room),
    /// The runner gets a few more file handles and then none.
    Handles,
}

/// Who removes files that a trial has made: the command to which it happens, or the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cleared {
    Itself,
    Next,
}

/// A name, what happens, where it can, the codes that are then documented beside 0 and 4
/// (docs/reference/exit-codes.md; a signal is a negative number), and who clears.
pub(super) struct Kind(
    pub(super) &'static str,
    pub(super) Act,
    pub(super) &'static [Site],
    pub(super) &'static [i32],
    pub(super) Cleared,
);

const ALL: &[Site] = &[Here, Namespaces, Servers];
const LOCAL: &[Site] = &[Here, Namespaces];
const REMOTE: &[Site] = &[Servers];

/// All of them. Before a runner has begun to listen for signals, one ends it, which a shell shows as 128 and the signal.
#[rustfmt::skip]
pub(super) const KINDS: &[Kind] = &[
    Kind("runner killed", Signals(Runner, &[SIGKILL]), ALL, &[-SIGKILL], Next),
    Kind("runner stopped, continued", Signals(Runner, &[SIGSTOP, SIGCONT]), ALL, &[], Itself),
    Kind("runner stopped, killed", Signals(Runner, &[SIGSTOP, SIGKILL]), ALL, &[-SIGKILL], Next),
    Kind("Ctrl-C", Signals(Runner, &[SIGINT]), ALL, &[130, -SIGINT], Itself),
    Kind("Ctrl-C twice", Signals(Runner, &[SIGINT, SIGINT]), ALL, &[130, -SIGINT], Next),
    Kind("SIGTERM", Signals(Runner, &[SIGTERM]), ALL, &[130, -SIGTERM], Itself),
    Kind("terminal closed", Signals(Runner, &[SIGHUP]), ALL, &[130, -SIGHUP], Itself),
    Kind("agent killed", Signals(Agent, &[SIGKILL]), ALL, &[1], Itself),
    Kind("agent aborted", Signals(Agent, &[SIGABRT]), ALL, &[1], Itself),
    Kind("agent stopped", Signals(Agent, &[SIGSTOP]), ALL, &[1], Itself),
    Kind("agent stopped, continued", Signals(Agent, &[SIGSTOP, SIGCONT]), ALL, &[1], Itself),
    Kind("daemon killed", Signals(Daemon, &[SIGKILL]), LOCAL, &[], Itself),
    Kind("daemon stopped", Signals(Daemon, &[SIGSTOP]), LOCAL, &[], Itself),
    Kind("keeper killed", Signals(Keeper, &[SIGKILL]), REMOTE, &[1], Next),
    Kind("keeper stopped", Signals(Keeper, &[SIGSTOP]), REMOTE, &[1], Itself),
    Kind("ssh client killed", Signals(Client, &[SIGKILL]), REMOTE, &[1], Itself),
    Kind("ssh client stopped", Signals(Client, &[SIGSTOP]), REMOTE, &[1], Itself),
    Kind("ssh server killed", Signals(Server, &[SIGKILL]), REMOTE, &[1], Itself),
    Kind("disk full", Full(Room::Runs), LOCAL, &[5], Itself),
    Kind("/dev/shm full", Full(Room::SharedMemory), LOCAL, &[], Itself),
    Kind("scratch full", Full(Room::Scratch), LOCAL, &[1], Itself),
    // Without a handle no directory can be cleared.
    Kind("handles exhausted", Handles, ALL, &[1, 5], Next),
    Kind("clock set, runner killed", OtherClock(&[SIGKILL]), LOCAL, &[-SIGKILL], Next),
    Kind("clock set, Ctrl-C", OtherClock(&[SIGINT]), LOCAL, &[130, -SIGINT], Itself),
];
