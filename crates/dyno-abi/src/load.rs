//! Opening a library and checking its table before anything of it is called.

use crate::adapter::ForeignAdapter;
use crate::raw::{self, Ops};
use dyno_own::Refusal;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};

/// Why a library cannot serve as an adapter.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The dynamic loader refused it, often because a library that it needs is missing.
    #[error("cannot load {}: {reason}", path.display())]
    Open {
        /// The library.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// Somebody else can change it.
    #[error("{} was not loaded: {reason}; whoever can change it could run programs in your name", path.display())]
    Stranger {
        /// The library.
        path: PathBuf,
        /// The library or a folder, and who can change it.
        reason: Refusal,
    },
    /// It does not export `dyno_adapter`.
    #[error(
        "{} exports no `dyno_adapter`: it is no adapter, or its symbols are hidden; mark the function \
         DYNO_EXPORT", path.display()
    )]
    NoEntry {
        /// The library.
        path: PathBuf,
    },
    /// Its table is of another version, too short, or lacks operations.
    #[error("{} does not fit this dyno: {reason}", path.display())]
    Table {
        /// The library.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// What it says of itself is wrong.
    #[error("{} describes itself wrongly: {reason}", path.display())]
    Description {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Opens the adapter in the library at `path`, for the rest of the process's life.
///
/// # Errors
///
/// When somebody else than the user, root and the owner of the running program can change the library or exchange it,
/// when the dynamic loader refuses it, when it is no adapter, when its table does not fit
/// (the header says what does), or when its description contradicts itself. Nothing of it but
/// `dyno_adapter` and `describe` has been called then.
pub fn load(path: &Path) -> Result<ForeignAdapter, LoadError> {
    let real = dyno_own::settled(path).map_err(|refusal| match refusal {
        Refusal::Missing(reason) => LoadError::Open {
            path: path.to_owned(),
            reason,
        },
        reason @ Refusal::Open { .. } => LoadError::Stranger {
            path: path.to_owned(),
            reason,
        },
    })?;
    // SAFETY: opening a library runs its initialisers; that is what the user asks for by putting it
    // into a directory of adapters.
    let library = unsafe { Library::open(Some(&real), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| {
        let reason = e.to_string();
        LoadError::Open {
            path: path.to_owned(),
            reason: reason
                .strip_prefix(&format!("{}: ", real.display()))
                .unwrap_or(&reason)
                .to_owned(),
        }
    })?;
    // SAFETY: an exported `dyno_adapter` has the type that the header gives it.
    let entry = unsafe { library.get::<raw::Entry>(b"dyno_adapter\0") }
        .map(|symbol| *symbol)
        .map_err(|_| LoadError::NoEntry {
            path: path.to_owned(),
        })?;
    // The raw handle is never closed.
    let _ = library.into_raw();
    // SAFETY: the header's `dyno_adapter` may be called at any time.
    let table = unsafe { entry() };
    // SAFETY: the table, if there is one, lives as long as the library, which is never closed.
    unsafe { serve(path, table) }
}

/// The adapter of a table that was found in the library at `path`.
///
/// # Safety
///
/// `table` is null or points to a table as the header defines it, which lives as long as the process.
pub(crate) unsafe fn serve(path: &Path, table: *const Ops) -> Result<ForeignAdapter, LoadError> {
    // SAFETY: as this function's.
    let ops = unsafe { read_table(table) }.map_err(|reason| LoadError::Table {
        path: path.to_owned(),
        reason,
    })?;
    ForeignAdapter::new(path, ops).map_err(|reason| LoadError::Description {
        path: path.to_owned(),
        reason,
    })
}

/// A table must reach at least to here.
const LEAST: usize = offset_of!(Ops, subscribe);

/// Copies as much of the table as both sides know; the rest is absent.
///
/// # Safety
///
/// `table` is null or points to a table that is as long as its `struct_size` says.
unsafe fn read_table(table: *const Ops) -> Result<Ops, String> {
    if table.is_null() {
        return Err("`dyno_adapter` returned NULL".to_owned());
    }
    // SAFETY: every table of every version begins with these two fields.
    let (version, size) = unsafe { ((*table).abi_version, (*table).struct_size as usize) };
    if version == 0 || version > raw::ABI_VERSION {
        return Err(format!(
            "it was built for version {version} of the ABI and this dyno serves 1 to {}; build it \
             again with this dyno's include/dyno_adapter.h, or use the dyno that it was built for",
            raw::ABI_VERSION
        ));
    }
    if size < LEAST {
        return Err(format!(
            "its table has {size} bytes, version {version} has at least {LEAST}; set `struct_size` \
             to sizeof(dyno_adapter_ops)"
        ));
    }
    // SAFETY: all bits zero is a valid `Ops`: its fields are integers and optional functions.
    let mut ops: Ops = unsafe { std::mem::zeroed() };
    let known = size.min(size_of::<Ops>());
    // SAFETY: the source has `size` bytes, the destination `size_of::<Ops>()`, and they are apart.
    unsafe {
        std::ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut ops).cast::<u8>(), known);
    }
    complete(&ops)?;
    Ok(ops)
}

/// Whether every operation is there that is mandatory or that a capability needs.
fn complete(ops: &Ops) -> Result<(), String> {
    let pulls = ops.capabilities & (raw::CAN_SPIN | raw::CAN_BLOCK) != 0;
    let calls = ops.capabilities & raw::CAN_CALLBACK != 0;
    let lends = ops.fill_and_send.is_none();
    let operations = [
        ("describe", true, ops.describe.is_some()),
        ("last_error", true, ops.last_error.is_some()),
        ("open", true, ops.open.is_some()),
        ("close", true, ops.close.is_some()),
        ("sender_open", true, ops.sender_open.is_some()),
        ("sender_close", true, ops.sender_close.is_some()),
        ("sender_matched", true, ops.sender_matched.is_some()),
        ("loan", lends, ops.loan.is_some()),
        ("send", lends, ops.send.is_some()),
        ("receiver_open", pulls, ops.receiver_open.is_some()),
        ("receiver_close", pulls, ops.receiver_close.is_some()),
        ("receiver_matched", pulls, ops.receiver_matched.is_some()),
        ("take", pulls, ops.take.is_some()),
        ("subscribe", calls, ops.subscribe.is_some()),
        (
            "subscription_close",
            calls,
            ops.subscription_close.is_some(),
        ),
        (
            "subscription_matched",
            calls,
            ops.subscription_matched.is_some(),
        ),
    ];
    let missing: Vec<&str> = operations
        .iter()
        .filter(|(_, needed, there)| *needed && !there)
        .map(|(name, ..)| *name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "its table has no `{}`, which its capabilities need",
        missing.join("`, `")
    ))
}
