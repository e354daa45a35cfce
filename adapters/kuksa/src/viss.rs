//! VISS version 2, JSON over a WebSocket: a subscription of one signal, and what sets the target of an actuator.

use crate::client::{Client, Failed, PATIENCE, Refused};
use crate::listener::Listener;
use crate::subscriber::OnText;
use dyno_adapter::{Error, Result};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tonic::{Code, Status};

type Socket = WebSocketStream<TcpStream>;

/// What comes over the socket, as far as it is looked at.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(rename = "subscriptionId")]
    subscription: Option<&'a str>,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    dp: Point<'a>,
}

#[derive(Deserialize)]
struct Point<'a> {
    /// None: no value yet. Base64 has nothing that JSON escapes.
    value: Option<&'a str>,
}

/// Subscribes to `path` at `port`. It is made when the broker has said that the subscription stands. The value from before comes first and is
/// not shown.
pub(crate) fn subscribe(
    client: &Client,
    port: u16,
    path: &str,
    mut on_text: OnText,
) -> Result<Listener> {
    let wish = serde_json::json!({"action": "subscribe", "path": path, "requestId": "dyno"});
    let mut socket = connect(client, port, Some(&wish.to_string()))?;
    let mut is_first = true;
    Listener::start(
        client,
        async move || next(&mut socket).await.map_err(over),
        move |text: Utf8Bytes| {
            let told: Told<'_> =
                serde_json::from_str(&text).map_err(|e| over(format!("{e}: {text}")))?;
            let value = told.data.and_then(|data| data.dp.value);
            if let Some(value) = value.filter(|_| !is_first) {
                on_text(value);
            }
            is_first = false;
            Ok(())
        },
    )
}

/// What sets the target of an actuator.
pub(crate) struct Setter {
    socket: Socket,
    path: String,
}

impl Setter {
    pub(crate) fn new(client: &Client, port: u16, path: String) -> Result<Self> {
        let socket = connect(client, port, None)?;
        Ok(Setter { socket, path })
    }

    /// Waits for the broker's answer.
    pub(crate) fn set(&mut self, client: &Client, channel: &str, text: &str) -> Result<()> {
        // Neither a path nor base64 has anything that JSON escapes.
        let wish = format!(
            r#"{{"action":"set","path":"{}","value":"{text}","requestId":"dyno"}}"#,
            self.path
        );
        let answer = client.wait("VISS set", client.settings.send_timeout, async {
            let gone = |e: tungstenite::Error| Failed::from(Status::unavailable(e.to_string()));
            self.socket.send(Message::text(wish)).await.map_err(gone)?;
            next(&mut self.socket).await.map_err(gone)
        });
        let answer = answer.map_err(|refused| refused.of(channel))?;
        match serde_json::from_str::<Told<'_>>(&answer) {
            Ok(Told { error: None, .. }) => Ok(()),
            _ => Err(Error::library(
                format!("VISS set of {}", self.path),
                format!("{answer}, says the databroker"),
            )),
        }
    }
}

fn over(why: impl std::fmt::Display) -> Refused {
    Refused {
        code: Some(Code::Unavailable),
        error: Error::library(
            "VISS",
            format!("the databroker has ended a subscription: {why}"),
        ),
    }
}

/// A connection; with a `wish` one on which it is granted.
///
/// The broker listens for gRPC, and a moment later for VISS. Databroker 0.7.0 also breaks off the connection of who subscribes to a signal whose
/// provider has just gone, as it does over gRPC: both are tried again.
fn connect(client: &Client, port: u16, wish: Option<&str>) -> Result<Socket> {
    let place = client.settings.authority(port);
    let until = Instant::now() + PATIENCE;
    loop {
        // A listener that accepts and stays silent is no databroker.
        let tried = async { tokio::time::timeout(PATIENCE, stand(&place, wish)).await };
        let failure = match client.handle().block_on(tried) {
            Ok(Ok(Ok(socket))) => return Ok(socket),
            Ok(Ok(Err(answer))) => {
                return Err(Error::library(
                    "VISS subscribe",
                    format!(
                        "{answer}, says the databroker at {place}; the VSS tree of the stack file has a branch for each \
                         channel of a trial, or wants one more"
                    ),
                ));
            }
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        if Instant::now() >= until {
            return Err(Error::library(
                "VISS",
                format!(
                    "no databroker answers VISS at {place}: {failure}; the stack's daemon must listen there \
                     (option `viss_port`, --enable-viss)"
                ),
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The inner error is the broker's refusal of the wish.
async fn stand(
    place: &str,
    wish: Option<&str>,
) -> std::result::Result<std::result::Result<Socket, String>, tungstenite::Error> {
    let stream = TcpStream::connect(place).await?;
    stream.set_nodelay(true)?;
    let mut request = format!("ws://{place}/").into_client_request()?;
    // The version that is spoken (VISS version 2, TRANSPORT, 5.1).
    request
        .headers_mut()
        .insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("VISSv2"));
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await?;
    let Some(wish) = wish else {
        return Ok(Ok(socket));
    };
    socket.send(Message::text(wish)).await?;
    let answer = next(&mut socket).await?;
    Ok(match serde_json::from_str::<Told<'_>>(&answer) {
        Ok(Told {
            subscription: Some(_),
            error: None,
            ..
        }) => Ok(socket),
        _ => Err(answer.to_string()),
    })
}

/// The next text.
async fn next(socket: &mut Socket) -> std::result::Result<Utf8Bytes, tungstenite::Error> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            // The library answers pings by itself.
            Some(Ok(_)) => {}
            Some(Err(e)) => return Err(e),
            None => return Err(tungstenite::Error::ConnectionClosed),
        }
    }
}
