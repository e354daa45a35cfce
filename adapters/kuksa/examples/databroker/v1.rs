//! kuksa.val.v1 of the stand-in: the subscription of an actuator's target.

use crate::broker::Broker;
use kuksa_rust_sdk::v1_proto::datapoint::Value;
use kuksa_rust_sdk::v1_proto::val_server::Val;
use kuksa_rust_sdk::v1_proto::*;
use kuksa_rust_sdk::v2_proto::{SignalId, signal_id};
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

pub(crate) struct Service(pub(crate) Arc<Broker>);

type Answered<T> = Result<Response<T>, Status>;
type Stream<T> = ReceiverStream<Result<T, Status>>;

/// What Dyno does not ask of it.
fn unknown<T>() -> Answered<T> {
    Err(Status::unimplemented("the stand-in does not know this"))
}

fn update(target: Option<String>) -> SubscribeResponse {
    let entry = DataEntry {
        actuator_target: target.map(|text| Datapoint {
            timestamp: None,
            value: Some(Value::String(text)),
        }),
        ..DataEntry::default()
    };
    SubscribeResponse {
        updates: vec![EntryUpdate {
            entry: Some(entry),
            fields: vec![Field::ActuatorTarget.into()],
        }],
    }
}

#[tonic::async_trait]
impl Val for Service {
    type StreamedUpdateStream = Stream<StreamedUpdateResponse>;
    type SubscribeStream = Stream<SubscribeResponse>;

    async fn get(&self, _: Request<GetRequest>) -> Answered<GetResponse> {
        unknown()
    }

    async fn set(&self, _: Request<SetRequest>) -> Answered<SetResponse> {
        unknown()
    }

    async fn streamed_update(
        &self,
        _: Request<Streaming<StreamedUpdateRequest>>,
    ) -> Answered<Self::StreamedUpdateStream> {
        unknown()
    }

    async fn subscribe(
        &self,
        request: Request<SubscribeRequest>,
    ) -> Answered<Self::SubscribeStream> {
        let path = request.into_inner().entries.pop().map(|entry| entry.path);
        let number = self.0.number(path.map(|path| SignalId {
            signal: Some(signal_id::Signal::Path(path)),
        }))?;
        let (before, mut targets) = self.0.subscribe_target(number);
        let (sender, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut next = before;
            while sender.send(Ok(update(next))).await.is_ok() {
                next = loop {
                    let target = tokio::select! {
                        target = targets.recv() => target,
                        () = sender.closed() => return,
                    };
                    match target {
                        Ok(target) => break target,
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return,
                    }
                };
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_server_info(
        &self,
        _: Request<GetServerInfoRequest>,
    ) -> Answered<GetServerInfoResponse> {
        unknown()
    }
}
