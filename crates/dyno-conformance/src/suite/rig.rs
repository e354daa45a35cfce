//! The surroundings of one case: session name, scratch directory, channels with free ports.

use super::log::DEADLINE;
use super::residue::{self, Item};
use super::subject::{Subject, Surroundings};
use dyno_adapter::{Capabilities, Carries, ChannelSpec, Endpoint, Node, NodeContext, Wait};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The address of all participants, unless a case asks for another.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The two directions of a call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) requests: ChannelSpec,
    pub(super) responses: ChannelSpec,
}

/// One case's surroundings. Removes what the case left behind, also after a failure.
pub(super) struct Rig {
    pub(super) subject: Subject,
    pub(super) capabilities: Capabilities,
    pub(super) session: String,
    scratch: PathBuf,
    /// The owner of `scratch`; `None` where that is another process.
    owner: Option<TempDir>,
    /// Files that were in `scratch` before, and what was claimed: a daemon's.
    pub(super) known: BTreeSet<Item>,
    /// Daemons write in `scratch`, too.
    daemons: bool,
    crashed: AtomicBool,
    skipped: Mutex<Option<String>>,
}

impl Rig {
    /// Fresh surroundings.
    pub(super) fn new(subject: Subject) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let owner = tempfile::Builder::new()
            .prefix("dyno-")
            .tempdir()
            .expect("a scratch directory can be created");
        let session = format!("dynotest-{}-{number}", std::process::id());
        let scratch = owner.path().to_owned();
        let mut rig = Self::inherited(subject, session, scratch);
        rig.owner = Some(owner);
        rig
    }

    /// The surroundings that the caller made.
    pub(super) fn within(subject: Subject, surroundings: Surroundings) -> Self {
        let daemons = surroundings.daemons;
        let mut rig = Self::inherited(subject, surroundings.session, surroundings.scratch);
        rig.daemons = daemons;
        rig
    }

    /// The surroundings that the parent process made.
    pub(super) fn inherited(subject: Subject, session: String, scratch: PathBuf) -> Self {
        Rig {
            capabilities: subject.adapter.describe().capabilities,
            known: residue::within(&scratch)
                .into_iter()
                .chain(residue::claimed(&scratch))
                .collect(),
            daemons: false,
            session,
            scratch,
            owner: None,
            crashed: AtomicBool::new(false),
            skipped: Mutex::new(None),
            subject,
        }
    }

    /// Notes that the machine lacks what the case needs.
    pub(super) fn skip(&self, reason: &str) {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        *skipped = Some(reason.to_owned());
    }

    /// Why the case could not be played on this machine.
    pub(super) fn skipped(&self) -> Option<String> {
        let skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        skipped.clone()
    }

    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(super) fn may_lose(&self) -> bool {
        self.subject.may_lose()
    }

    /// Whether the adapter lives in a shared library behind the C ABI.
    pub(super) fn is_library(&self) -> bool {
        self.subject.adapter.describe().library.is_some()
    }

    /// Opens a node for a participant.
    pub(super) fn node(&self, participant: u16) -> Box<dyn Node> {
        super::ends::must("open", self.try_node(participant, &self.scratch, ADDRESS))
    }

    /// As [`Rig::node`] with another scratch directory or address, which may be refused.
    pub(super) fn try_node(
        &self,
        participant: u16,
        scratch: &Path,
        address: IpAddr,
    ) -> dyno_adapter::Result<Box<dyn Node>> {
        self.subject.adapter.open(&NodeContext {
            session: self.session.clone(),
            scratch: scratch.to_owned(),
            participant,
            address: address.to_string(),
            looked_at: 0,
            options: self.subject.options.clone(),
        })
    }

    /// A channel with ports that nobody listens at.
    pub(super) fn channel(
        &self,
        id: u16,
        writer: u16,
        readers: &[u16],
        max_payload: usize,
    ) -> ChannelSpec {
        self.channel_at(ADDRESS, id, writer, readers, max_payload)
    }

    /// As [`Rig::channel`] between participants at that address.
    pub(super) fn channel_at(
        &self,
        address: IpAddr,
        id: u16,
        writer: u16,
        readers: &[u16],
        max_payload: usize,
    ) -> ChannelSpec {
        ChannelSpec {
            id,
            name: format!("{}-c{id}", self.session),
            max_payload,
            writer,
            writer_address: address.to_string(),
            readers: readers
                .iter()
                .map(|participant| Endpoint {
                    participant: *participant,
                    address: address.to_string(),
                    port: free_port(address),
                })
                .collect(),
            carries: Default::default(),
        }
    }

    /// The channels of a call, numbered `id` and the next, with ports that nobody listens at.
    pub(super) fn call(&self, id: u16, caller: u16, provider: u16, max_payload: usize) -> Call {
        let mut requests = self.channel(id, caller, &[provider], max_payload);
        let mut responses = self.channel(id + 1, provider, &[caller], max_payload);
        requests.carries = Carries::Requests {
            responses: responses.name.clone(),
        };
        responses.carries = Carries::Responses {
            requests: requests.name.clone(),
        };
        Call {
            requests,
            responses,
        }
    }

    /// `wanted`, or the largest message of the adapter if that is smaller.
    pub(super) fn size(&self, wanted: usize) -> usize {
        let most = self.capabilities.max_message.unwrap_or(u64::MAX);
        wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
    }

    /// Messages up to this many bytes arrive at some attempt, also where messages may be lost: of
    /// one in many fragments each may be.
    pub(super) fn sure_size(&self) -> usize {
        let fragments = self.capabilities.fragments_above.unwrap_or(u64::MAX);
        usize::try_from(fragments.saturating_mul(2)).unwrap_or(usize::MAX)
    }

    /// The wait strategies that the adapter declares.
    pub(super) fn waits(&self) -> &[Wait] {
        &self.capabilities.waits
    }

    /// The first declared wait strategy in which the caller takes, else callback.
    pub(super) fn pull_wait(&self) -> Wait {
        *self
            .waits()
            .iter()
            .find(|wait| **wait != Wait::Callback)
            .unwrap_or(&Wait::Callback)
    }

    /// From now on leftovers are expected: a process was killed.
    pub(super) fn note_crash(&self) {
        self.crashed.store(true, Ordering::Relaxed);
    }

    /// Asserts that all is gone that the case created. After a crash first removes what was
    /// claimed, as the runner does; nothing else may be left outside the scratch directory then.
    pub(super) fn assert_nothing_left(&self) {
        let crashed = self.crashed.load(Ordering::Relaxed);
        if crashed {
            residue::remove_claimed(&self.scratch, &self.known);
        }
        let start = Instant::now();
        loop {
            let mut left = residue::outside(&self.scratch, &self.session);
            if !crashed && !self.daemons {
                left.extend(residue::within(&self.scratch));
            }
            left.retain(|item| !self.known.contains(item));
            if left.is_empty() {
                return;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "left behind after everything was dropped: {left:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Removes everything although a thread still uses it: it hangs and cannot be ended.
    pub(super) fn remove_all(&self) {
        residue::remove_claimed(&self.scratch, &self.known);
        if self.owner.is_some() {
            // The test fails already; what cannot be removed is in the temporary directory.
            let _ = std::fs::remove_dir_all(&self.scratch);
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if self.owner.is_some() {
            residue::remove_claimed(&self.scratch, &self.known);
        }
    }
}

/// A port below the kernel's ephemeral range at which nothing listens, not handed out before by
/// this process. Processes start at different places, so that they rarely meet.
fn free_port(address: IpAddr) -> u16 {
    const FIRST: u32 = 15_000;
    const COUNT: u32 = 17_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(331);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = (FIRST + offset) as u16;
        let at = (address, port);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
