//! What goes into the broker: values of a provider, targets that an application sets, and the provider that gets these.

use crate::client::{Calls, Client, PATIENCE, Refused, by_id, point, text_of, value};
use crate::listener::Listener;
use crate::settings::Publish;
use crate::subscriber::{OnText, first_or};
use crate::viss;
use dyno_adapter::{Error, Result};
use kuksa_rust_sdk::kuksa::common::types::OpenProviderStream;
use kuksa_rust_sdk::kuksa::val::v2::ClientTraitV2;
use kuksa_rust_sdk::v2_proto::open_provider_stream_request::Action;
use kuksa_rust_sdk::v2_proto::open_provider_stream_response::Action as Answer;
use kuksa_rust_sdk::v2_proto::{
    ActuateRequest, BatchActuateStreamResponse, Error as ProtoError, ErrorCode,
    OpenProviderStreamRequest, ProvideActuationRequest, ProvideSignalRequest, PublishValueRequest,
    PublishValuesRequest, SampleInterval,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tonic::{Code, Status};

const CALL: &str = "OpenProviderStream";

/// Opens a provider's stream to the broker, with the SDK's own queue, and waits until the claim is taken.
fn open(client: &Client, claim: &Action) -> Result<OpenProviderStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut stream = client
            .ask(CALL, async |sdk| sdk.open_provider_stream(None).await)
            .map_err(|refused| refused.error)?;
        let claimed = client.wait(CALL, PATIENCE, async {
            // Where it cannot be sent, the stream says why.
            let _ = stream.sender.send(request(claim.clone())).await;
            first_or(stream.receiver_stream.message().await)
        });
        match claimed {
            Ok(_) => return Ok(stream),
            // The broker takes a moment to see that the provider before is gone.
            Err(refused) if refused.code == Some(Code::AlreadyExists) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(refused) => return Err(refused.error),
        }
    }
}

fn request(action: Action) -> OpenProviderStreamRequest {
    OpenProviderStreamRequest {
        action: Some(action),
    }
}

/// A provider of the value of one signal.
pub(crate) enum Provider {
    /// The queue of the stream, and who listens to what the broker says of it.
    Stream {
        id: i32,
        queue: mpsc::Sender<OpenProviderStreamRequest>,
        listener: Listener,
    },
    Unary {
        id: i32,
        calls: Calls,
    },
    /// Of targets.
    Viss(viss::Setter),
}

impl Provider {
    pub(crate) fn new(client: &Client, id: i32, path: String) -> Result<Self> {
        match client.settings.publish {
            Publish::Stream => Provider::stream(client, id),
            Publish::Unary => Ok(Provider::Unary {
                id,
                calls: client.calls(),
            }),
            Publish::Viss(port) => viss::Setter::new(client, port, path).map(Provider::Viss),
        }
    }

    fn stream(client: &Client, id: i32) -> Result<Self> {
        let interval = SampleInterval { interval_ms: 0 };
        let claim = Action::ProvideSignalRequest(ProvideSignalRequest {
            signals_sample_intervals: HashMap::from([(id, interval)]),
        });
        let OpenProviderStream {
            sender: queue,
            receiver_stream: mut stream,
        } = open(client, &claim)?;
        let ended = client.ended(CALL);
        let refuses = client.ended("PublishValuesRequest");
        let listener = Listener::start(
            client,
            async move || first_or(stream.message().await).map_err(&ended),
            // The broker answers where it refuses alone.
            move |said| match said.action {
                Some(Answer::PublishValuesResponse(answer)) => {
                    match answer.status.into_values().next() {
                        Some(error) => Err(refuses(Status::invalid_argument(error.message))),
                        None => Ok(()),
                    }
                }
                _ => Ok(()),
            },
        )?;
        Ok(Provider::Stream {
            id,
            queue,
            listener,
        })
    }

    /// Gives the stream's queue a value, and waits for room in it; or waits for the broker's answer.
    pub(crate) fn publish(&mut self, client: &Client, channel: &str, text: String) -> Result<()> {
        match self {
            Provider::Stream {
                id,
                queue,
                listener,
            } => {
                listener.check(channel)?;
                let values = PublishValuesRequest {
                    request_id: 0,
                    data_points: HashMap::from([(*id, point(text))]),
                };
                queue
                    .blocking_send(request(Action::PublishValuesRequest(values)))
                    .map_err(|_| Error::PeerGone {
                        channel: channel.into(),
                    })
            }
            Provider::Unary { id, calls } => {
                let value = PublishValueRequest {
                    signal_id: Some(by_id(*id)),
                    data_point: Some(point(text)),
                };
                let timeout = client.settings.send_timeout;
                let answer = client.wait("PublishValue", timeout, calls.publish_value(value));
                answer.map(drop).map_err(|refused| refused.of(channel))
            }
            Provider::Viss(setter) => setter.set(client, channel, &text),
        }
    }
}

/// Sets the target of one actuator, which the broker hands to its provider and does not keep.
pub(crate) struct Actuator {
    id: i32,
    calls: Calls,
}

impl Actuator {
    pub(crate) fn new(client: &Client, id: i32) -> Self {
        let calls = client.calls();
        Actuator { id, calls }
    }

    /// Waits for the broker's answer, which says that the provider's stream has the target.
    pub(crate) fn actuate(&mut self, client: &Client, channel: &str, text: String) -> Result<()> {
        let target = ActuateRequest {
            signal_id: Some(by_id(self.id)),
            value: Some(value(text)),
        };
        let timeout = client.settings.send_timeout;
        let answer = client.wait("Actuate", timeout, self.calls.actuate(target));
        answer.map(drop).map_err(|refused| refused.of(channel))
    }
}

/// The provider of one actuator: gives each target to `on_text`.
pub(crate) fn provide(client: &Client, id: i32, mut on_text: OnText) -> Result<Listener> {
    let claim = Action::ProvideActuationRequest(ProvideActuationRequest {
        actuator_identifiers: vec![by_id(id)],
    });
    let OpenProviderStream {
        sender: queue,
        receiver_stream: mut stream,
    } = open(client, &claim)?;
    let accepted = request(Action::BatchActuateStreamResponse(
        BatchActuateStreamResponse {
            signal_id: Some(by_id(id)),
            error: Some(ProtoError {
                code: ErrorCode::Ok.into(),
                message: String::new(),
            }),
        },
    ));
    let ended: Arc<dyn Fn(Status) -> Refused + Send + Sync> = Arc::new(client.ended(CALL));
    let over = Arc::clone(&ended);
    Listener::start(
        client,
        async move || first_or(stream.message().await).map_err(|status| ended(status)),
        move |said| {
            let Some(Answer::BatchActuateStreamRequest(batch)) = said.action else {
                return Ok(());
            };
            for target in batch.actuate_requests {
                // The protocol wants each target accepted. One that cannot be is not acted on.
                queue
                    .blocking_send(accepted.clone())
                    .map_err(|_| over(Status::unavailable("the stream has ended")))?;
                if let Some(text) = text_of(target.value) {
                    on_text(&text);
                }
            }
            Ok(())
        },
    )
}
