//! kuksa.val.v2 of the stand-in: the SDK's generated server.

use crate::broker::{Answers, Broker, answer};
use kuksa_rust_sdk::v2_proto::open_provider_stream_request::Action;
use kuksa_rust_sdk::v2_proto::open_provider_stream_response::Action as Answer;
use kuksa_rust_sdk::v2_proto::signal_id::Signal as By;
use kuksa_rust_sdk::v2_proto::val_server::Val;
use kuksa_rust_sdk::v2_proto::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

fn by_id(id: i32) -> Option<SignalId> {
    Some(SignalId {
        signal: Some(By::Id(id)),
    })
}

fn error(code: ErrorCode, message: &str) -> Error {
    Error {
        code: code.into(),
        message: message.into(),
    }
}

#[tonic::async_trait]
impl Val for Service {
    type SubscribeStream = Stream<SubscribeResponse>;
    type SubscribeByIdStream = Stream<SubscribeByIdResponse>;
    type OpenProviderStreamStream = Stream<OpenProviderStreamResponse>;

    async fn get_value(&self, request: Request<GetValueRequest>) -> Answered<GetValueResponse> {
        let number = self.0.number(request.into_inner().signal_id)?;
        Ok(Response::new(GetValueResponse {
            data_point: Some(self.0.value(number)),
        }))
    }

    async fn get_values(&self, _: Request<GetValuesRequest>) -> Answered<GetValuesResponse> {
        unknown()
    }

    async fn subscribe(&self, _: Request<SubscribeRequest>) -> Answered<Self::SubscribeStream> {
        unknown()
    }

    async fn subscribe_by_id(
        &self,
        request: Request<SubscribeByIdRequest>,
    ) -> Answered<Self::SubscribeByIdStream> {
        let request = request.into_inner();
        let [id] = request.signal_ids[..] else {
            return unknown();
        };
        let number = self.0.number(by_id(id))?;
        let (before, mut values) = self.0.subscribe(number, request.buffer_size)?;
        let (sender, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut next = before;
            loop {
                let entries = HashMap::from([(id, next)]);
                if sender
                    .send(Ok(SubscribeByIdResponse { entries }))
                    .await
                    .is_err()
                {
                    break;
                }
                next = loop {
                    let value = tokio::select! {
                        value = values.recv() => value,
                        () = sender.closed() => return,
                    };
                    match value {
                        Ok(value) => break value,
                        // The oldest are dropped, without a word.
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return,
                    }
                };
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn actuate(&self, request: Request<ActuateRequest>) -> Answered<ActuateResponse> {
        let ActuateRequest { signal_id, value } = request.into_inner();
        let number = self.0.number(signal_id)?;
        self.0.actuate(number, value).await?;
        Ok(Response::new(ActuateResponse {}))
    }

    async fn actuate_stream(
        &self,
        _: Request<Streaming<ActuateRequest>>,
    ) -> Answered<ActuateResponse> {
        unknown()
    }

    async fn batch_actuate(
        &self,
        _: Request<BatchActuateRequest>,
    ) -> Answered<BatchActuateResponse> {
        unknown()
    }

    async fn list_metadata(
        &self,
        request: Request<ListMetadataRequest>,
    ) -> Answered<ListMetadataResponse> {
        let number = self.0.number(Some(SignalId {
            signal: Some(By::Path(request.into_inner().root)),
        }))?;
        let signals = self.0.signals();
        let metadata = Metadata {
            id: number as i32,
            path: signals[number].path.clone(),
            data_type: DataType::String.into(),
            ..Metadata::default()
        };
        Ok(Response::new(ListMetadataResponse {
            metadata: vec![metadata],
        }))
    }

    async fn publish_value(
        &self,
        request: Request<PublishValueRequest>,
    ) -> Answered<PublishValueResponse> {
        let PublishValueRequest {
            signal_id,
            data_point,
        } = request.into_inner();
        let number = self.0.number(signal_id)?;
        let value = data_point.ok_or_else(|| Status::invalid_argument("No datapoint provided"))?;
        self.0.publish(number, value);
        Ok(Response::new(PublishValueResponse {}))
    }

    async fn open_provider_stream(
        &self,
        request: Request<Streaming<OpenProviderStreamRequest>>,
    ) -> Answered<Self::OpenProviderStreamStream> {
        static STREAMS: AtomicU64 = AtomicU64::new(0);
        let number = STREAMS.fetch_add(1, Ordering::Relaxed);
        let (answers, stream) = mpsc::channel(10);
        let broker = Arc::clone(&self.0);
        let mut requests = request.into_inner();
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                let done = match request.action {
                    Some(action) => act(&broker, number, &answers, action).await,
                    None => Ok(()),
                };
                if let Err(status) = done {
                    // The provider may have gone.
                    let _ = answers.send(Err(status)).await;
                    break;
                }
            }
            broker.leave(number);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_server_info(
        &self,
        _: Request<GetServerInfoRequest>,
    ) -> Answered<GetServerInfoResponse> {
        Ok(Response::new(GetServerInfoResponse {
            name: "stand-in".into(),
            version: "0.7.0".into(),
            commit_hash: String::new(),
        }))
    }
}

/// What a provider wants. An error ends its stream.
async fn act(
    broker: &Broker,
    stream: u64,
    answers: &Answers,
    action: Action,
) -> Result<(), Status> {
    let answer_with = match action {
        Action::ProvideSignalRequest(claim) => {
            for id in claim.signals_sample_intervals.into_keys() {
                broker.claim_value(broker.number(by_id(id))?, stream)?;
            }
            Answer::ProvideSignalResponse(ProvideSignalResponse {})
        }
        Action::ProvideActuationRequest(claim) => {
            for signal in claim.actuator_identifiers {
                broker.claim_targets(broker.number(Some(signal))?, stream, answers.clone())?;
            }
            Answer::ProvideActuationResponse(ProvideActuationResponse {})
        }
        Action::PublishValuesRequest(values) => {
            let mut status = HashMap::new();
            for (id, value) in values.data_points {
                match broker.number(by_id(id)) {
                    Ok(number) if !broker.claims(number, stream) => {
                        return Err(Status::aborted("Provider has not claimed the signal"));
                    }
                    Ok(number) if broker.takes(number, &value) => broker.publish(number, value),
                    Ok(_) => {
                        status.insert(id, error(ErrorCode::InvalidArgument, "Value not allowed"));
                    }
                    Err(e) => {
                        status.insert(id, error(ErrorCode::NotFound, e.message()));
                    }
                }
            }
            if status.is_empty() {
                return Ok(());
            }
            Answer::PublishValuesResponse(PublishValuesResponse {
                request_id: values.request_id,
                status,
            })
        }
        // An accepted target is taken note of; the rest Dyno does not send.
        _ => return Ok(()),
    };
    let sent = answers.send(Ok(answer(answer_with))).await;
    sent.map_err(|_| Status::cancelled("the provider has gone"))
}
