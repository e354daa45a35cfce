//! VISS version 2 of the stand-in over a WebSocket: `set` of a target, and `subscribe` to the latest value.

use crate::broker::Broker;
use futures_util::{SinkExt, StreamExt};
use kuksa_rust_sdk::v2_proto::signal_id::Signal as By;
use kuksa_rust_sdk::v2_proto::value::TypedValue;
use kuksa_rust_sdk::v2_proto::{Datapoint, SignalId};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::error::RecvError;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{
    Callback, ErrorResponse, Request, Response,
};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::{Error, Message};

pub(crate) async fn serve(listener: TcpListener, broker: Arc<Broker>) {
    while let Ok((stream, _)) = listener.accept().await {
        let broker = Arc::clone(&broker);
        tokio::spawn(async move {
            // A client that leaves is no news.
            let _ = speak(stream, &broker).await;
        });
    }
}

/// Answers a client that asks for a version.
struct Version;

impl Callback for Version {
    fn on_request(self, _: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
        let version = HeaderValue::from_static("VISSv2");
        response
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, version);
        Ok(response)
    }
}

/// A connection of the adapter's: sets, or one subscription, with which it stays.
async fn speak(stream: TcpStream, broker: &Broker) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_hdr_async(stream, Version).await?;
    while let Some(Message::Text(wish)) = socket.next().await.transpose()? {
        let wish: Value = serde_json::from_str(&wish).unwrap_or_default();
        let path = wish["path"].as_str().unwrap_or_default();
        let number = broker.number(Some(SignalId {
            signal: Some(By::Path(path.to_owned())),
        }));
        let (action, id) = (&wish["action"], &wish["requestId"]);
        let mut answer = json!({"action": action, "requestId": id, "ts": TS});
        match (action.as_str(), number) {
            (Some("subscribe"), Ok(number)) => {
                answer["subscriptionId"] = "1".into();
                socket.send(Message::text(answer.to_string())).await?;
                return tell(socket, broker, number, path).await;
            }
            (Some("set"), Ok(number)) => {
                let text = wish["value"].as_str().unwrap_or_default();
                if !broker.set_target(number, text) {
                    answer["error"] = json!({"number": 401, "reason": "read_only", "message": "It is no actuator."});
                }
            }
            _ => {
                answer["error"] = json!({"number": 404, "reason": "invalid_path", "message": "There is no such path."});
            }
        }
        socket.send(Message::text(answer.to_string())).await?;
    }
    Ok(())
}

/// The latest value, and each that comes.
async fn tell(
    mut socket: WebSocketStream<TcpStream>,
    broker: &Broker,
    number: usize,
    path: &str,
) -> Result<(), Error> {
    let Ok((mut next, mut values)) = broker.subscribe(number, 0) else {
        return Ok(());
    };
    loop {
        let dp = json!({"value": text(next), "ts": TS});
        let event = json!({"action": "subscription", "subscriptionId": "1", "data": {"path": path, "dp": dp}, "ts": TS});
        socket.send(Message::text(event.to_string())).await?;
        next = loop {
            tokio::select! {
                value = values.recv() => match value {
                    Ok(value) => break value,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Ok(()),
                },
                message = socket.next() => if message.transpose()?.is_none() {
                    return Ok(());
                },
            }
        };
    }
}

/// Nobody reads it.
const TS: &str = "2025-01-01T00:00:00Z";

fn text(point: Datapoint) -> Value {
    match point.value.and_then(|value| value.typed_value) {
        Some(TypedValue::String(text)) => text.into(),
        _ => Value::Null,
    }
}
