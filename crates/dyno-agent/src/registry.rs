//! The adapters that this build knows.

use dyno_adapter::{Adapter, AdapterDescription};

/// All adapters by name.
pub struct Registry(Vec<Box<dyn Adapter>>);

impl Registry {
    /// Every adapter that is built in; `faulty` wraps each of the others.
    pub fn all() -> Self {
        let mut all = real();
        all.push(dyno_conformance::faulty::adapter(real()));
        Registry(all)
    }

    /// The adapter of that name.
    pub fn find(&self, name: &str) -> Option<&dyn Adapter> {
        self.0
            .iter()
            .find(|a| a.describe().name == name)
            .map(Box::as_ref)
    }
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
        dyno_adapter_iceoryx2::adapter(),
        dyno_adapter_zenoh::adapter(),
    ]
}

/// What every adapter says of itself, in the order of `dyno list adapters`.
pub fn describe() -> Vec<AdapterDescription> {
    Registry::all().0.iter().map(|a| a.describe()).collect()
}
