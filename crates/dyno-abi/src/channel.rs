//! What crosses the boundary towards the adapter: contexts and channels as C sees them.

use crate::raw;
use dyno_adapter::{Carries, ChannelSpec, Error, NodeContext, OptionValue, Resource, Result};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;

/// Text for C. Names of sessions and channels hold no NUL; an option's value might.
fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::Unsupported(format!("{text:?} holds a NUL, which cannot be passed to C"))
    })
}

/// Calls `body` with the context as C sees it. An error of `claim` becomes the result's where the
/// adapter fails for it.
pub(crate) fn with_context<T>(
    context: &NodeContext,
    body: impl FnOnce(*const raw::Context) -> Result<T>,
) -> Result<T> {
    let session = c_text(&context.session)?;
    let scratch = c_text(&context.scratch.to_string_lossy())?;
    let address = c_text(&context.address)?;
    let texts = context
        .options
        .iter()
        .map(|(name, value)| {
            let value = match value {
                OptionValue::Text(text) => c_text(text)?,
                other => c_text(&other.to_string())?,
            };
            Ok((c_text(name)?, value))
        })
        .collect::<Result<Vec<(CString, CString)>>>()?;
    let options: Vec<raw::OptionText> = texts
        .iter()
        .map(|(name, value)| raw::OptionText {
            name: name.as_ptr(),
            value: value.as_ptr(),
        })
        .collect();
    let mut host = Host {
        context,
        claim_error: RefCell::new(None),
    };
    let result = body(&raw::Context {
        session: session.as_ptr(),
        scratch: scratch.as_ptr(),
        address: address.as_ptr(),
        participant: context.participant,
        looked_at: context.looked_at,
        option_count: options.len() as u32,
        options: options.as_ptr(),
        claim,
        host: (&raw mut host).cast(),
    });
    match (result, host.claim_error.into_inner()) {
        (Err(_), Some(of_claim)) => Err(of_claim),
        (result, _) => result,
    }
}

/// What `dyno_context.host` points to.
struct Host<'a> {
    context: &'a NodeContext,
    claim_error: RefCell<Option<Error>>,
}

/// `dyno_context.claim`.
unsafe extern "C" fn claim(
    context: *const raw::Context,
    kind: *const c_char,
    name: *const c_char,
) -> raw::Status {
    if context.is_null() || kind.is_null() || name.is_null() {
        return raw::ERROR;
    }
    // SAFETY: the header asks for the context of `open` while that call lasts; its `host` is the
    // `Host` that `with_context` keeps until then.
    let host = unsafe { &*(*context).host.cast::<Host<'_>>() };
    // SAFETY: the header asks for strings that end with NUL.
    let (kind, name) = unsafe { (CStr::from_ptr(kind), CStr::from_ptr(name)) };
    let name = name.to_string_lossy().into_owned();
    let resource = match kind.to_bytes() {
        b"file" => Resource::File(PathBuf::from(name)),
        b"mqueue" => Resource::Mqueue(name),
        _ => return raw::UNSUPPORTED,
    };
    match host.context.claim(&resource) {
        Ok(()) => raw::OK,
        Err(e) => {
            *host.claim_error.borrow_mut() = Some(e);
            raw::ERROR
        }
    }
}

/// Calls `body` with the channel as C sees it.
pub(crate) fn with_channel<T>(
    channel: &ChannelSpec,
    body: impl FnOnce(*const raw::Channel) -> Result<T>,
) -> Result<T> {
    let name = c_text(&channel.name)?;
    let writer_address = c_text(&channel.writer_address)?;
    let (carries, partner) = match &channel.carries {
        Carries::Messages => (raw::CARRIES_MESSAGES, None),
        Carries::Requests { responses } => (raw::CARRIES_REQUESTS, Some(c_text(responses)?)),
        Carries::Responses { requests } => (raw::CARRIES_RESPONSES, Some(c_text(requests)?)),
    };
    let addresses = channel
        .readers
        .iter()
        .map(|r| c_text(&r.address))
        .collect::<Result<Vec<_>>>()?;
    let readers: Vec<raw::Endpoint> = channel
        .readers
        .iter()
        .zip(&addresses)
        .map(|(reader, address)| raw::Endpoint {
            address: address.as_ptr(),
            participant: reader.participant,
            port: reader.port,
            reserved: 0,
        })
        .collect();
    body(&raw::Channel {
        name: name.as_ptr(),
        partner: partner.as_ref().map_or(std::ptr::null(), |p| p.as_ptr()),
        max_payload: channel.max_payload as u64,
        id: channel.id,
        writer: channel.writer,
        carries,
        writer_address: writer_address.as_ptr(),
        readers: readers.as_ptr(),
        reader_count: readers.len() as u32,
        reserved: 0,
    })
}
