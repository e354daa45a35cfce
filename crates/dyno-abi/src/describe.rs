//! From a `dyno_description` to an [`AdapterDescription`].

use crate::raw::{self, Ops};
use dyno_adapter::{
    AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue, Placement, QUEUE_DEPTH,
    Wait,
};
use std::ffi::{CStr, c_char};
use std::path::Path;

/// Reads and checks the description.
///
/// # Safety
///
/// `description` is null or points to a description as the header defines it.
pub(crate) unsafe fn read(
    path: &Path,
    ops: &Ops,
    description: *const raw::Description,
) -> Result<AdapterDescription, String> {
    if description.is_null() {
        return Err("`describe` returned NULL".to_owned());
    }
    // SAFETY: not null, and as the header defines it.
    let d = unsafe { &*description };
    // SAFETY: strings and options of a description are as the header defines them, and live as long
    // as the library.
    let (name, version, summary, unavailable, options) = unsafe {
        (
            mandatory(d.name, "name")?,
            mandatory(d.version, "version")?,
            mandatory(d.summary, "summary")?,
            text(d.unavailable, "unavailable")?,
            options(d)?,
        )
    };
    let expected = crate::file_name(&name);
    if path.file_name().is_none_or(|f| f != expected.as_str()) {
        return Err(format!(
            "its name is `{name}`, so its file must be named {expected}"
        ));
    }
    Ok(AdapterDescription {
        name,
        version,
        summary,
        capabilities: capabilities(ops.capabilities, d)?,
        options,
        unavailable,
        library: Some(path.to_owned()),
    })
}

fn capabilities(bits: u64, d: &raw::Description) -> Result<Capabilities, String> {
    let can = |bit: u64| bits & bit != 0;
    let waits: Vec<Wait> = [
        (raw::CAN_SPIN, Wait::Spin),
        (raw::CAN_BLOCK, Wait::Block),
        (raw::CAN_CALLBACK, Wait::Callback),
    ]
    .into_iter()
    .filter(|(bit, _)| can(*bit))
    .map(|(_, wait)| wait)
    .collect();
    let placements: Vec<Placement> = [
        (raw::CAN_THREAD, Placement::Thread),
        (raw::CAN_PROCESS, Placement::Process),
        (raw::CAN_HOST, Placement::Host),
    ]
    .into_iter()
    .filter(|(bit, _)| can(*bit))
    .map(|(_, placement)| placement)
    .collect();
    if waits.is_empty() {
        return Err("it declares none of DYNO_CAN_SPIN, _BLOCK and _CALLBACK".to_owned());
    }
    if placements.is_empty() {
        return Err("it declares none of DYNO_CAN_THREAD, _PROCESS and _HOST".to_owned());
    }
    let limit = |n: u64| (n > 0).then_some(n);
    Ok(Capabilities {
        loan: can(raw::CAN_LOAN),
        waits,
        reliable: can(raw::CAN_RELIABLE),
        best_effort: can(raw::CAN_BEST_EFFORT),
        request_response: can(raw::CAN_CALL),
        placements,
        max_message: limit(d.max_message),
        fragments_above: limit(d.fragments_above),
        max_receivers: u16::try_from(d.max_receivers).ok().filter(|n| *n > 0),
        sends_later: can(raw::SENDS_LATER),
        asks: can(raw::ASKS),
        loopback: can(raw::CAN_LOOPBACK),
    })
}

/// # Safety
///
/// As for [`read`].
unsafe fn options(d: &raw::Description) -> Result<Vec<OptionSpec>, String> {
    if d.option_count == 0 {
        return Ok(Vec::new());
    }
    if d.options.is_null() {
        return Err(format!("{} options, but `options` is NULL", d.option_count));
    }
    // SAFETY: `options` points to `option_count` of them.
    let specs = unsafe { std::slice::from_raw_parts(d.options, d.option_count as usize) };
    specs
        .iter()
        // SAFETY: as for `read`.
        .map(|spec| unsafe { option(spec) })
        .collect()
}

/// # Safety
///
/// The strings of `spec` are null or end with NUL; so does the list of its values with NULL.
unsafe fn option(spec: &raw::OptionSpec) -> Result<OptionSpec, String> {
    // SAFETY: as this function's.
    let name = unsafe { mandatory(spec.name, "option's name") }?;
    // SAFETY: as this function's.
    let doc = unsafe { mandatory(spec.doc, &format!("doc of option `{name}`")) }?;
    let kind = match spec.kind {
        raw::OPTION_BOOL => OptionKind::Bool,
        raw::OPTION_INT => OptionKind::Int,
        raw::OPTION_FLOAT => OptionKind::Float,
        raw::OPTION_TEXT => OptionKind::Text,
        raw::OPTION_ONE_OF => {
            // SAFETY: as this function's.
            let values = unsafe { list(spec.values, &name) }?;
            if values.is_empty() {
                return Err(format!("option `{name}` has no values to choose from"));
            }
            OptionKind::OneOf(values)
        }
        other => return Err(format!("option `{name}` is of the unknown kind {other}")),
    };
    // SAFETY: as this function's.
    let default = unsafe { text(spec.default_value, "default_value") }?
        .map(|t| value(&kind, &t).ok_or_else(|| format!("option `{name}` cannot be {t:?}")))
        .transpose()?;
    Ok(OptionSpec {
        // The interface has no least value; this one has the same meaning in all adapters.
        least: (name == QUEUE_DEPTH).then_some(1),
        name,
        kind,
        default,
        most: (spec.most > 0).then(|| i64::from(spec.most)),
        doc,
    })
}

/// A value as text, as options are passed and as defaults are described; `None` where it is none of its kind.
pub(crate) fn value(kind: &OptionKind, text: &str) -> Option<OptionValue> {
    Some(match kind {
        OptionKind::Bool => OptionValue::Bool(text.parse().ok()?),
        OptionKind::Int => OptionValue::Int(text.parse().ok().filter(|v| *v >= 0)?),
        OptionKind::Float => OptionValue::Float(text.parse().ok()?),
        OptionKind::Text => OptionValue::Text(text.to_owned()),
        OptionKind::OneOf(values) => OptionValue::Text(values.iter().find(|v| *v == text)?.clone()),
    })
}

/// # Safety
///
/// `values` is null or ends with NULL, its strings with NUL.
unsafe fn list(values: *const *const c_char, option: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut at = values;
    // SAFETY: not past the NULL at its end.
    while !at.is_null() && !unsafe { *at }.is_null() {
        // SAFETY: a string that ends with NUL.
        found.push(unsafe { mandatory(*at, &format!("value of option `{option}`")) }?);
        // SAFETY: at most one past the last string, where the NULL is.
        at = unsafe { at.add(1) };
    }
    Ok(found)
}

/// # Safety
///
/// `text` is null or ends with NUL.
unsafe fn mandatory(of: *const c_char, what: &str) -> Result<String, String> {
    // SAFETY: as this function's.
    unsafe { text(of, what) }?
        .filter(|t| !t.is_empty())
        .ok_or_else(|| format!("its {what} is missing"))
}

/// # Safety
///
/// `text` is null or ends with NUL.
pub(crate) unsafe fn text(of: *const c_char, what: &str) -> Result<Option<String>, String> {
    if of.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, ends with NUL.
    unsafe { CStr::from_ptr(of) }
        .to_str()
        .map(|t| Some(t.to_owned()))
        .map_err(|_| format!("its {what} is not UTF-8"))
}
