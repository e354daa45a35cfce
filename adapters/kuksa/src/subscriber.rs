//! Who gets the values of one signal over gRPC, or its targets, or asks for them.

use crate::client::{Client, PATIENCE, Refused, TARGETS, text_of};
use crate::listener::Listener;
use dyno_adapter::Result;
use kuksa_rust_sdk::kuksa::val::v2::ClientTraitV2;
use kuksa_rust_sdk::v1_proto::datapoint::Value as Target;
use kuksa_rust_sdk::v2_proto::SubscribeByIdResponse;
use std::time::{Duration, Instant};
use tonic::{Code, Status, Streaming};

/// Given the text of each value.
pub(crate) type OnText = Box<dyn FnMut(&str) + Send>;

const CALL: &str = "SubscribeById";

/// A subscription of signal `id`, for which the broker keeps `buffer_size` values. It is made when the broker has said that it stands, with the
/// value from before, which is not shown.
///
/// Databroker 0.7.0 breaks off a subscription of a signal whose provider has just gone (its task fails to tell the provider), until it has
/// noticed that: it is asked again.
pub(crate) fn subscribe(
    client: &Client,
    id: i32,
    buffer_size: u32,
    mut on_text: OnText,
) -> Result<Listener> {
    let until = Instant::now() + PATIENCE;
    let mut stream = loop {
        match stand(client, id, buffer_size) {
            Ok(stream) => break stream,
            Err(refused) if refused.code == Some(Code::Cancelled) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(refused) => return Err(refused.error),
        }
    };
    // The thread must not keep the client, and says what the end was in words of its own.
    let ended = client.ended(CALL);
    Listener::start(
        client,
        async move || first_or(stream.message().await).map_err(&ended),
        move |mut values| {
            let value = values.entries.remove(&id).and_then(|point| point.value);
            if let Some(text) = text_of(value) {
                on_text(&text);
            }
            Ok(())
        },
    )
}

/// Subscribes, and waits for the value from before.
fn stand(
    client: &Client,
    id: i32,
    buffer_size: u32,
) -> std::result::Result<Streaming<SubscribeByIdResponse>, Refused> {
    let mut stream = client.ask(CALL, async |sdk| {
        sdk.subscribe_by_id(vec![id], Some(buffer_size), None).await
    })?;
    client.wait(CALL, PATIENCE, async {
        first_or(stream.message().await).map(drop)
    })?;
    Ok(stream)
}

/// The targets of the actuator `path`. The target from before comes first and is not shown.
pub(crate) fn targets(client: &Client, path: &str, mut on_text: OnText) -> Result<Listener> {
    let told = |refused: Refused| refused.error;
    let mut stream = client.targets(path).map_err(told)?;
    let first = async { first_or(stream.message().await).map(drop) };
    client.wait(TARGETS, PATIENCE, first).map_err(told)?;
    let ended = client.ended(TARGETS);
    Listener::start(
        client,
        async move || first_or(stream.message().await).map_err(&ended),
        move |told| {
            for update in told.updates {
                let target = update.entry.and_then(|entry| entry.actuator_target);
                if let Some(Target::String(text)) = target.and_then(|target| target.value) {
                    on_text(&text);
                }
            }
            Ok(())
        },
    )
}

/// Asks for the value of one signal that the broker keeps.
pub(crate) struct Asker {
    path: String,
    before: Option<String>,
}

impl Asker {
    const CALL: &str = "GetValue";

    /// Whatever is kept of the signal `path` now is from before.
    pub(crate) fn new(client: &Client, path: String) -> std::result::Result<Self, Refused> {
        let mut asker = Asker { path, before: None };
        asker.ask(client)?;
        Ok(asker)
    }

    /// The value, if it is another than in the answer before.
    pub(crate) fn ask(&mut self, client: &Client) -> std::result::Result<Option<&str>, Refused> {
        let path = self.path.clone();
        let point = client.ask(Self::CALL, async |sdk| sdk.get_value(path).await)?;
        let text = text_of(point.and_then(|point| point.value));
        let is_new = self.before != text;
        self.before = text;
        Ok(self.before.as_deref().filter(|_| is_new))
    }
}

/// A stream that has ended in order is over as one that was broken off.
pub(crate) fn first_or<T>(
    message: std::result::Result<Option<T>, Status>,
) -> std::result::Result<T, Status> {
    message?.ok_or_else(|| Status::cancelled("the stream has ended"))
}
