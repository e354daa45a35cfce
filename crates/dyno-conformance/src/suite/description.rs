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
        "the name {name:?} is not of lower-case letters, digits and dashes"
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
