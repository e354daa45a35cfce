//! Signals, who subscribes to them and who provides them.

use kuksa_rust_sdk::v2_proto::open_provider_stream_response::Action;
use kuksa_rust_sdk::v2_proto::value::TypedValue;
use kuksa_rust_sdk::v2_proto::{
    ActuateRequest, BatchActuateStreamRequest, Datapoint, OpenProviderStreamResponse, SignalId,
    Value, signal_id,
};
use std::sync::{Mutex, MutexGuard};
use tokio::sync::{broadcast, mpsc};
use tonic::Status;

/// What a provider's stream is answered through.
pub(crate) type Answers = mpsc::Sender<Result<OpenProviderStreamResponse, Status>>;

/// One leaf of the tree. Its number is its place among all.
pub(crate) struct Signal {
    pub(crate) path: String,
    pub(crate) is_actuator: bool,
    /// The only values that it takes; none: any.
    pub(crate) allowed: Option<Vec<String>>,
    value: Option<Datapoint>,
    /// Each with the buffer that it asked for.
    subscribers: Vec<broadcast::Sender<Datapoint>>,
    target: Option<String>,
    target_subscribers: Vec<broadcast::Sender<Option<String>>>,
    /// The stream that claims its value.
    publisher: Option<u64>,
    /// The stream that acts on its targets.
    actor: Option<(u64, Answers)>,
}

pub(crate) struct Broker {
    signals: Mutex<Vec<Signal>>,
}

/// The most values that it keeps for one subscriber.
const MOST_BUFFERED: u32 = 1000;

impl Broker {
    /// Of a tree of VSS as JSON.
    pub(crate) fn new(tree: &serde_json::Value) -> Self {
        let mut signals = Vec::new();
        grow(tree, "", &mut signals);
        Broker {
            signals: Mutex::new(signals),
        }
    }

    pub(crate) fn signals(&self) -> MutexGuard<'_, Vec<Signal>> {
        self.signals.lock().unwrap()
    }

    /// The number of a signal.
    pub(crate) fn number(&self, signal: Option<SignalId>) -> Result<usize, Status> {
        let signals = self.signals();
        let found = match signal.and_then(|signal| signal.signal) {
            Some(signal_id::Signal::Id(id)) => Some(id as usize).filter(|id| *id < signals.len()),
            Some(signal_id::Signal::Path(path)) => signals.iter().position(|s| s.path == path),
            None => return Err(Status::invalid_argument("No SignalId provided")),
        };
        found.ok_or_else(|| Status::not_found("Path not found"))
    }

    pub(crate) fn value(&self, number: usize) -> Datapoint {
        self.signals()[number].value.clone().unwrap_or(Datapoint {
            timestamp: None,
            value: None,
        })
    }

    pub(crate) fn publish(&self, number: usize, value: Datapoint) {
        let signal = &mut self.signals()[number];
        signal.value = Some(value.clone());
        // Fails where nobody listens any more.
        signal
            .subscribers
            .retain(|subscriber| subscriber.send(value.clone()).is_ok());
    }

    /// The value from before, and those that come.
    pub(crate) fn subscribe(
        &self,
        number: usize,
        buffer_size: u32,
    ) -> Result<(Datapoint, broadcast::Receiver<Datapoint>), Status> {
        if buffer_size > MOST_BUFFERED {
            return Err(Status::invalid_argument("buffer_size exceeds the maximum"));
        }
        let before = self.value(number);
        let (sender, receiver) = broadcast::channel(buffer_size as usize + 1);
        self.signals()[number].subscribers.push(sender);
        Ok((before, receiver))
    }

    /// Keeps the target of an actuator, as VISS sets it. False: it is none.
    pub(crate) fn set_target(&self, number: usize, text: &str) -> bool {
        let signal = &mut self.signals()[number];
        if signal.is_actuator {
            signal.target = Some(text.to_owned());
            let target = &signal.target;
            signal
                .target_subscribers
                .retain(|subscriber| subscriber.send(target.clone()).is_ok());
        }
        signal.is_actuator
    }

    /// The target from before, and the latest of those that come.
    pub(crate) fn subscribe_target(
        &self,
        number: usize,
    ) -> (Option<String>, broadcast::Receiver<Option<String>>) {
        let signal = &mut self.signals()[number];
        let (sender, receiver) = broadcast::channel(1);
        signal.target_subscribers.push(sender);
        (signal.target.clone(), receiver)
    }

    pub(crate) fn claim_value(&self, number: usize, stream: u64) -> Result<(), Status> {
        let publisher = &mut self.signals()[number].publisher;
        match publisher {
            Some(other) if *other != stream => {
                Err(Status::already_exists("Provider for signal already exists"))
            }
            _ => {
                *publisher = Some(stream);
                Ok(())
            }
        }
    }

    pub(crate) fn takes(&self, number: usize, value: &Datapoint) -> bool {
        let signals = self.signals();
        let Some(allowed) = &signals[number].allowed else {
            return value.value.is_some();
        };
        let value = value.value.as_ref().and_then(|v| v.typed_value.as_ref());
        matches!(value, Some(TypedValue::String(text)) if allowed.contains(text))
    }

    pub(crate) fn claims(&self, number: usize, stream: u64) -> bool {
        self.signals()[number].publisher == Some(stream)
    }

    pub(crate) fn claim_targets(
        &self,
        number: usize,
        stream: u64,
        answers: Answers,
    ) -> Result<(), Status> {
        let actor = &mut self.signals()[number].actor;
        if actor.is_some() {
            return Err(Status::already_exists(
                "Provider for actuator already exists",
            ));
        }
        *actor = Some((stream, answers));
        Ok(())
    }

    /// Hands a target to the actuator's provider.
    pub(crate) async fn actuate(&self, number: usize, value: Option<Value>) -> Result<(), Status> {
        let answers = {
            let signal = &self.signals()[number];
            if !signal.is_actuator {
                return Err(Status::invalid_argument(
                    "Tried to set a value for a non-actuator",
                ));
            }
            let actor = signal.actor.as_ref().map(|(_, answers)| answers.clone());
            actor.ok_or_else(|| Status::unavailable("Provider for vss_id does not exist"))?
        };
        let target = ActuateRequest {
            signal_id: Some(SignalId {
                signal: Some(signal_id::Signal::Id(number as i32)),
            }),
            value,
        };
        let batch = Action::BatchActuateStreamRequest(BatchActuateStreamRequest {
            actuate_requests: vec![target],
        });
        let sent = answers.send(Ok(answer(batch))).await;
        sent.map_err(|_| Status::data_loss("The provider's stream has ended"))
    }

    /// What a stream had claimed is free again.
    pub(crate) fn leave(&self, stream: u64) {
        for signal in self.signals().iter_mut() {
            signal.publisher = signal.publisher.filter(|by| *by != stream);
            signal.actor.take_if(|(by, _)| *by == stream);
        }
    }
}

pub(crate) fn answer(action: Action) -> OpenProviderStreamResponse {
    OpenProviderStreamResponse {
        action: Some(action),
    }
}

/// Adds the leaves below a branch.
fn grow(branch: &serde_json::Value, above: &str, signals: &mut Vec<Signal>) {
    for (name, node) in branch.as_object().into_iter().flatten() {
        let path = match above {
            "" => name.clone(),
            above => format!("{above}.{name}"),
        };
        match node.get("children") {
            Some(children) => grow(children, &path, signals),
            None => signals.push(Signal {
                path,
                is_actuator: node["type"] == "actuator",
                allowed: serde_json::from_value(node["allowed"].clone()).ok(),
                value: None,
                subscribers: Vec::new(),
                target: None,
                target_subscribers: Vec::new(),
                publisher: None,
                actor: None,
            }),
        }
    }
}
