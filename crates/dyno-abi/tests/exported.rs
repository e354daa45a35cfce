//! An adapter in Rust behind the ABI: the conformance suite on both halves of the boundary at once.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Adapter, NodeContext, OptionValue};

dyno_abi::export_adapter!(dyno_adapter_uds::adapter);

fn adapter() -> Box<dyn Adapter> {
    Box::new(dyno_abi::through(dyno_adapter).unwrap_or_else(|e| panic!("{e}")))
}

dyno_conformance::conformance_tests!(stream, adapter, {});
dyno_conformance::conformance_tests!(seqpacket, adapter, { "type" = "seqpacket" });

#[test]
fn a_description_comes_through_as_it_was() {
    let mut through = adapter().describe();
    let mut own = dyno_adapter_uds::adapter().describe();
    // The ABI has waits as a set.
    own.capabilities.waits.sort();
    through.capabilities.waits.sort();
    // It has no least value of an option.
    own.options.iter_mut().for_each(|o| o.least = None);
    assert_eq!(format!("{through:?}"), format!("{own:?}"));
}

#[test]
fn a_wrong_option_is_refused_in_the_adapters_own_words() {
    let scratch = tempfile::tempdir().unwrap();
    let context = NodeContext {
        session: "s".into(),
        scratch: scratch.path().to_owned(),
        participant: 0,
        address: "127.0.0.1".into(),
        looked_at: 0,
        options: [(
            "type".to_owned(),
            OptionValue::Text("carrier-pigeon".into()),
        )]
        .into(),
    };
    let Err(refused) = adapter().open(&context) else {
        panic!("it opened");
    };
    insta::assert_snapshot!(refused, @r#"uds: open failed: a wrong option: `type`: "carrier-pigeon" is no value of it; `dyno list adapters` says what is"#);
}
