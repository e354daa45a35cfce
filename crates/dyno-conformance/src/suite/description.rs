//! What an adapter says of itself.

use super::rig::Rig;
use dyno_adapter::{AdapterDescription, OptionKind, OptionSpec, OptionValue, Wait};
use std::collections::BTreeSet;

pub(super) fn is_complete(rig: &Rig) {
    let description = rig.subject.adapter.describe();
    assert_eq!(
        description,
        rig.subject.adapter.describe(),
        "two descriptions of one adapter differ"
    );
    let AdapterDescription {
        name,
        version,
        summary,
        capabilities,
        options,
        ..
    } = &description;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(
        !name.is_empty() && name.chars().all(plain),
        "the name {name:?} does not consist of lower-case letters, digits and dashes"
    );
    assert!(!version.is_empty(), "the version is empty");
    assert!(summary.len() >= 20, "the summary says nothing: {summary:?}");

    assert!(!capabilities.waits.is_empty(), "no wait strategy");
    assert!(!capabilities.placements.is_empty(), "no placement");
    assert!(
        capabilities.reliable || capabilities.best_effort,
        "neither reliable nor best effort"
    );
    assert_ne!(capabilities.max_receivers, Some(0), "no receivers at all");
    if let (Some(above), Some(most)) = (capabilities.fragments_above, capabilities.max_message) {
        assert!(
            above < most,
            "fragments above {above} B, but at most {most} B"
        );
    }

    let mut names = BTreeSet::new();
    for option in options {
        assert!(names.insert(&option.name), "option {} twice", option.name);
        assert!(
            !option.doc.is_empty(),
            "option {} without a doc",
            option.name
        );
        if let Some(default) = &option.default {
            assert!(
                is_of(option, default),
                "the default {default} of option {} is not of its type",
                option.name
            );
        }
    }
    for (name, value) in &rig.subject.options {
        let spec = options.iter().find(|o| o.name == *name);
        assert!(
            spec.is_some_and(|spec| is_of(spec, value)),
            "the tests set option {name} = {value}, which the description does not allow"
        );
    }
}

pub(super) fn version_is_that_of_the_loaded_library(rig: &Rig) {
    let AdapterDescription {
        name,
        version,
        library,
        ..
    } = rig.subject.adapter.describe();
    let path = library.expect("the case is for libraries");
    let content =
        std::fs::read(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
    let own = format!("libdyno_{name}.so");
    if let Some(uses) = used_library(&content, &own) {
        // What the loaded library says is not in the adapter's own file.
        let constant = texts(&content).any(|text| text == version.as_bytes());
        assert!(
            !constant,
            "the version {version:?} is a constant of the adapter's own file, which uses {uses}: it \
             stays the same whatever version of the library is loaded; ask the library"
        );
    }
}

/// The pieces of a file between zero bytes, such as its constant texts and the names of the libraries
/// that it needs.
fn texts(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == 0).filter(|t| !t.is_empty())
}

/// A library that the file names, other than itself and the run-time libraries of C and C++.
fn used_library<'a>(content: &'a [u8], own: &str) -> Option<&'a str> {
    const RUNTIME: [&str; 12] = [
        "libc.so",
        "libm.so",
        "libdl.so",
        "librt.so",
        "libpthread.so",
        "libstdc++.so",
        "libgcc_s.so",
        "libc++.so",
        "libc++abi.so",
        "libasan.so",
        "libubsan.so",
        "libtsan.so",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    texts(content)
        .filter_map(|text| std::str::from_utf8(text).ok())
        // One without a name of its own is needed by its path.
        .map(|text| text.rsplit_once('/').map_or(text, |(_, file)| file))
        .filter(|text| text.starts_with("lib") && text.contains(".so") && text.chars().all(plain))
        .find(|text| *text != own && !RUNTIME.iter().any(|runtime| text.starts_with(runtime)))
}

fn is_of(option: &OptionSpec, value: &OptionValue) -> bool {
    match (&option.kind, value) {
        (OptionKind::Bool, OptionValue::Bool(_))
        | (OptionKind::Float, OptionValue::Float(_) | OptionValue::Int(_))
        | (OptionKind::Text, OptionValue::Text(_)) => true,
        (OptionKind::Int, OptionValue::Int(v)) => *v >= 0,
        (OptionKind::OneOf(texts), OptionValue::Text(text)) => texts.contains(text),
        _ => false,
    }
}

pub(super) fn undeclared_waits_are_refused(rig: &Rig) {
    for wait in Wait::ALL.iter().filter(|wait| !rig.waits().contains(wait)) {
        let mut node = rig.node(0);
        let channel = rig.channel(0, 1, &[0], 64);
        let refused = match wait {
            Wait::Callback => node.subscribe(&channel, Box::new(|_| {})).is_err(),
            _ => node.receiver(&channel, *wait).is_err(),
        };
        assert!(refused, "wait {wait} is not declared, yet accepted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_used_that_is_neither_the_file_itself_nor_the_run_time() {
        let own = "libdyno_x.so";
        let bare = b"\x7fELF\0libdyno_x.so\0libc.so.6\0libstdc++.so.6\0see libmw.so\0";
        assert_eq!(used_library(bare, own), None);
        let with = b"\0libc.so.6\0libmw.so.5\0";
        assert_eq!(used_library(with, own), Some("libmw.so.5"));
        let by_path = b"\0/opt/mw/lib/libmw.so\0";
        assert_eq!(used_library(by_path, own), Some("libmw.so"));
    }
}
