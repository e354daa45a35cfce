//! The adapters that this build knows: those that are built in, and those in shared libraries.

use dyno_adapter::{Adapter, AdapterDescription};
use dyno_model::protocol::Assignment;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

// The names of the adapters of Dyno's own tree that live in shared libraries: those that a user may miss.
include!(concat!(env!("OUT_DIR"), "/outside.rs"));

/// The adapter `name`, its library loaded if it is not built in. A process loads one library only:
/// those of different middlewares clash.
///
/// # Errors
///
/// A sentence that says why there is none and what to do.
pub(crate) fn adapter(name: &str) -> Result<Arc<dyn Adapter>, String> {
    if let Some(adapter) = built_in().into_iter().find(|a| a.describe().name == name) {
        return Ok(Arc::from(adapter));
    }
    let directories = dyno_abi::directories();
    let found = dyno_abi::installed(&directories)
        .into_iter()
        .find(|i| i.name == name);
    match found {
        Some(installed) => match dyno_abi::load(&installed.path) {
            Ok(adapter) => Ok(Arc::new(adapter)),
            Err(e) => Err(with_remedy(name, e.to_string())),
        },
        None => Err(with_remedy(
            name,
            format!(
                "the adapter `{name}` is not built in; {}",
                adapter_places(name)
            ),
        )),
    }
}

/// The adapters of the legs on which this process has a channel, by leg. Those of other legs may be libraries that must
/// not be in one process with them.
///
/// # Errors
///
/// As of [`adapter`].
pub(crate) fn of_legs(assignment: &Assignment) -> Result<Vec<Option<Arc<dyn Adapter>>>, String> {
    let graph = &assignment.graph;
    let own = |leg: usize| {
        assignment.participants().any(|p| {
            let mut channels = graph.incoming(p.index).chain(graph.outgoing(p.index));
            channels.any(|c| usize::from(c.leg_of(p.index)) == leg)
        })
    };
    let mut loaded: BTreeMap<&str, Arc<dyn Adapter>> = BTreeMap::new();
    let mut by_leg = Vec::new();
    for (number, leg) in assignment.legs.iter().enumerate() {
        if !own(number) {
            by_leg.push(None);
            continue;
        }
        let found = match loaded.entry(&leg.adapter) {
            Entry::Occupied(there) => there.get().clone(),
            Entry::Vacant(entry) => entry.insert(adapter(&leg.adapter)?).clone(),
        };
        by_leg.push(Some(found));
    }
    Ok(by_leg)
}

/// Every adapter that is built in; `faulty` wraps each of the others.
fn built_in() -> Vec<Box<dyn Adapter>> {
    let mut all = real();
    all.push(dyno_conformance::faulty::adapter(real()));
    all
}

fn real() -> Vec<Box<dyn Adapter>> {
    vec![
        dyno_adapter_null::adapter(),
        dyno_adapter_floor::adapter(),
        dyno_adapter_pipe::adapter(),
        dyno_adapter_uds::adapter(),
        dyno_adapter_posix_mq::adapter(),
        dyno_adapter_tcp::adapter(),
        dyno_adapter_udp::adapter(),
        dyno_adapter_vsock::adapter(),
        dyno_adapter_iceoryx2::adapter(),
    ]
}

/// What every adapter says of itself, in the order of `dyno list adapters`: built-in ones, then those
/// in shared libraries by name, the ones of Dyno's tree also where they were not built.
///
/// Each library is asked in a process of its own, for `program agent --describe-library PATH` with
/// the running program.
pub fn describe() -> Vec<AdapterDescription> {
    let mut all: Vec<AdapterDescription> = built_in().iter().map(|a| a.describe()).collect();
    let directories = dyno_abi::directories();
    let mut outside: Vec<AdapterDescription> = dyno_abi::installed(&directories)
        .into_iter()
        .map(|installed| {
            ask("--describe-library", &installed.path).unwrap_or_else(|reason| AdapterDescription {
                library: Some(installed.path.clone()),
                ..unknown(&installed.name, with_remedy(&installed.name, reason))
            })
        })
        .collect();
    for name in OUTSIDE {
        if !outside.iter().any(|a| a.name == *name) {
            let reason = with_remedy(name, adapter_places(name));
            outside.push(unknown(name, reason));
        }
    }
    outside.sort_by(|a, b| a.name.cmp(&b.name));
    // A library cannot replace a built-in adapter: stacks of that name would silently change.
    outside.retain(|a| !all.iter().any(|b| b.name == a.name));
    all.append(&mut outside);
    all
}

/// Describes the adapter in the library at `path`, which is loaded into this process.
///
/// # Errors
///
/// When it cannot be loaded; a sentence for people.
pub fn describe_library(path: &Path) -> Result<AdapterDescription, String> {
    dyno_abi::load(path)
        .map(|adapter| adapter.describe())
        .map_err(|e| e.to_string())
}

/// How long a library may take to be loaded and to describe its adapter.
const ANSWER: Duration = Duration::from_secs(10);

/// Asks for something of the adapter in the library at `path`, with a flag of `dyno agent`, in a process of
/// its own: whatever it does then, it does not do here, and if it hangs, the process is killed.
pub(crate) fn ask<T: DeserializeOwned>(flag: &str, path: &Path) -> Result<T, String> {
    let cannot =
        |e: std::io::Error| format!("cannot start a process to load {}: {e}", path.display());
    let mut child = Command::new("/proc/self/exe")
        .args(["agent", flag])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let deadline = Instant::now() + ANSWER;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let (output, errors) = (collect(output), collect(errors));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        if Instant::now() >= deadline {
            // It may have ended by itself meanwhile, which is as good.
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "the library {} did not answer within {} s: it hangs while it is loaded or asked",
                path.display(),
                ANSWER.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // A process that the library started may hold the pipes open: no longer than the rest of the time.
    let text = |from: &Receiver<Vec<u8>>| {
        let left = deadline.saturating_duration_since(Instant::now());
        let bytes = from.recv_timeout(left.max(Duration::from_millis(100)));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let (output, said) = (text(&output), text(&errors));
    let said = said.trim().to_owned();
    if status.success() {
        // Libraries may print while they are loaded; the answer is the last line.
        let line = output.trim_end().lines().last().unwrap_or_default();
        return serde_json::from_str(line)
            .map_err(|e| format!("cannot read what {} says of itself: {e}", path.display()));
    }
    if status.code() == Some(1) && !said.is_empty() {
        return Err(said);
    }
    Err(format!(
        "the process that loaded {} ended with {status}: {said}",
        path.display(),
    ))
}

/// All that comes out of a pipe, once it is closed.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is all there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // Nobody listens any more if it took too long.
        let _ = sender.send(bytes);
    });
    receiver
}

/// An adapter of which only the name is known.
fn unknown(name: &str, reason: String) -> AdapterDescription {
    AdapterDescription {
        name: name.to_owned(),
        summary: "An adapter in a shared library that could not be asked.".to_owned(),
        unavailable: Some(reason),
        ..AdapterDescription::default()
    }
}

/// The reason with the command that helps, where one is known.
fn with_remedy(name: &str, reason: String) -> String {
    match OUTSIDE.contains(&name) {
        true => format!(
            "{reason}; install the package dyno-{name}, or run `cargo xtask adapters {name}` in \
             Dyno's source, which also installs what it needs"
        ),
        false => reason,
    }
}

/// The libraries of the adapter `name` that lie in folders which are searched later than that of the one in use.
pub fn passed_over(name: &str) -> Vec<std::path::PathBuf> {
    dyno_abi::passed_over(name, &dyno_abi::directories())
}

/// Where the library of the adapter `name` was looked for and not found, and how to have Dyno look elsewhere: a
/// sentence for people.
pub fn adapter_places(name: &str) -> String {
    let folders: Vec<String> = dyno_abi::directories()
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    format!(
        "{} was not found in {}; {} can name folders to search first, separated by colons",
        dyno_abi::file_name(name),
        folders.join(", "),
        dyno_abi::ADAPTER_PATH
    )
}
