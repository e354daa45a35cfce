//! A participant's connection to the databroker, and the calls of it that are made while nothing is measured.

use crate::settings::Settings;
use dyno_adapter::{Error, Result};
use kuksa_rust_sdk::kuksa::common::ClientTraitV1;
use kuksa_rust_sdk::kuksa::val::v1::KuksaClient;
use kuksa_rust_sdk::kuksa::val::v2::{ClientError, ClientTraitV2, KuksaClientV2};
use kuksa_rust_sdk::v1_proto;
use kuksa_rust_sdk::v2_proto::val_client::ValClient;
use kuksa_rust_sdk::v2_proto::value::TypedValue;
use kuksa_rust_sdk::v2_proto::{Datapoint, PublishValueRequest, SignalId, Value, signal_id};
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig};
use tonic::{Code, Request, Status, Streaming};

/// How long the broker may take to answer what is asked while nothing is measured.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The call that follows targets.
pub(crate) const TARGETS: &str = "Subscribe (kuksa.val.v1)";

/// What to install where the broker is another.
const WANTED: &str = "Dyno speaks kuksa.val.v2 of databroker 0.7.0: run that version, `dyno list stacks` says how to get it";

/// The client that the SDK generates, for calls that wait for their answer.
pub(crate) type Calls = ValClient<InterceptedService<Channel, Authorize>>;

/// Gives each call the stack's token, if there is one.
#[derive(Clone)]
pub(crate) struct Authorize(Option<MetadataValue<Ascii>>);

impl Interceptor for Authorize {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// A short text of the adapter's own, for a signal.
struct Saying {
    id: i32,
    text: String,
}

/// One participant's connection.
pub(crate) struct Client {
    pub(crate) settings: Settings,
    place: String,
    /// Its name and version in the broker's words.
    broker: String,
    /// Lent for a moment to who opens a stream or asks for a signal.
    sdk: Mutex<KuksaClientV2>,
    calls: Calls,
    /// `None` once the client is dropped.
    sayings: Option<mpsc::UnboundedSender<Saying>>,
    teller: Option<JoinHandle<()>>,
    runtime: Runtime,
}

impl Client {
    /// Connects, and has the broker say who it is.
    pub(crate) fn connect(settings: Settings) -> Result<Self> {
        // With a worker for each CPU, as `#[tokio::main]` has.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("kuksa")
            .build()
            .map_err(|e| Error::system("start the threads of tokio", e))?;
        let place = settings.place();
        let uri = place
            .parse()
            .map_err(|e| Error::library(format!("parse {place}"), e))?;
        let mut sdk = KuksaClientV2::new(uri);
        equip(&mut sdk.basic_client, &settings)?;
        let mut authorize = Authorize(None);
        if let Some(token) = &settings.token {
            let value = format!("Bearer {token}").parse();
            authorize.0 = Some(value.map_err(|e| no_token(&e))?);
        }
        let has_token = authorize.0.is_some();
        let first = async {
            let channel = sdk.basic_client.get_channel().await?.clone();
            let info = sdk.get_server_info().await?;
            Ok::<_, ClientError>((channel, info))
        };
        let (channel, info) = runtime
            .block_on(in_time(PATIENCE, first))
            .map_err(|e| refusal("GetServerInfo", &place, "", has_token, &e))?;
        let calls = ValClient::with_interceptor(channel, authorize);
        let (sayings, heard) = mpsc::unbounded_channel();
        Ok(Client {
            settings,
            place,
            broker: format!("{} {}", info.name, info.version),
            sdk: Mutex::new(sdk),
            teller: Some(runtime.spawn(tell_all(calls.clone(), heard))),
            calls,
            sayings: Some(sayings),
            runtime,
        })
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// A client for calls that wait for their answer, on this connection.
    pub(crate) fn calls(&self) -> Calls {
        self.calls.clone()
    }

    /// Waits for what the SDK's client does.
    pub(crate) fn ask<T>(
        &self,
        call: &str,
        ask: impl AsyncFnOnce(&mut KuksaClientV2) -> std::result::Result<T, ClientError>,
    ) -> std::result::Result<T, Refused> {
        let mut sdk = self.sdk.lock().unwrap_or_else(|e| e.into_inner());
        self.wait(call, PATIENCE, ask(&mut sdk))
    }

    /// Waits for `call` at most for `patience`.
    pub(crate) fn wait<T, E: Into<Failed>>(
        &self,
        call: &str,
        patience: Duration,
        future: impl Future<Output = std::result::Result<T, E>>,
    ) -> std::result::Result<T, Refused> {
        let outcome = self.runtime.block_on(in_time(patience, future));
        outcome.map_err(|failed| self.refused(call, failed))
    }

    fn refused(&self, call: &str, failed: Failed) -> Refused {
        let has_token = self.settings.token.is_some();
        Refused {
            code: failed.code(),
            error: refusal(call, &self.place, &self.broker, has_token, &failed),
        }
    }

    /// The same for a thread that listens to what `call` began, and must not keep the client.
    pub(crate) fn ended(
        &self,
        call: &'static str,
    ) -> impl Fn(Status) -> Refused + Send + Sync + use<> {
        let (place, broker) = (self.place.clone(), self.broker.clone());
        let has_token = self.settings.token.is_some();
        move |status| {
            let failed = Failed::Status(status);
            Refused {
                code: failed.code(),
                error: refusal(call, &place, &broker, has_token, &failed),
            }
        }
    }

    /// The broker's number of a signal.
    pub(crate) fn id_of(&self, path: &str) -> Result<i32> {
        let wanted = (path.to_owned(), String::new());
        let call = format!("ListMetadata({path})");
        let unknown = || {
            Error::library(
                &call,
                "no such signal; the VSS tree of the stack file has a branch for each channel of a trial, or wants one more",
            )
        };
        match self.ask(&call, async |sdk| sdk.list_metadata(wanted).await) {
            Ok(known) => match known.as_slice() {
                [one] => Ok(one.id),
                _ => Err(unknown()),
            },
            Err(refused) if refused.code == Some(Code::NotFound) => Err(unknown()),
            Err(refused) => Err(refused.error),
        }
    }

    /// The targets of an actuator, which kuksa.val.v1 alone tells to more than its provider. The SDK's client for it has a connection of its own.
    pub(crate) fn targets(
        &self,
        path: &str,
    ) -> std::result::Result<Streaming<v1_proto::SubscribeResponse>, Refused> {
        let bad = |error| Refused { code: None, error };
        let uri = self.place.parse();
        let uri = uri.map_err(|e| bad(Error::library(format!("parse {}", self.place), e)))?;
        let mut sdk = KuksaClient::new(uri);
        equip(&mut sdk.basic_client, &self.settings).map_err(bad)?;
        let paths = vec![path.to_owned()];
        let targets = sdk.subscribe_target_values(paths);
        self.wait(TARGETS, PATIENCE, targets)
    }

    /// What publishes short texts of the adapter's own for signal `id`, in the order of the calls and without waiting.
    pub(crate) fn teller(&self, id: i32) -> crate::presence::Tell {
        let sayings = self.sayings.clone();
        Box::new(move |text| {
            if let Some(sayings) = &sayings {
                // The client outlives its ends, and with it who listens.
                let _ = sayings.send(Saying { id, text });
            }
        })
    }
}

impl Drop for Client {
    /// What was said is published first.
    fn drop(&mut self) {
        self.sayings = None;
        if let Some(teller) = self.teller.take() {
            // Nobody is left to hear what is not published in time.
            let _ = self
                .runtime
                .block_on(async { tokio::time::timeout(PATIENCE, teller).await });
        }
    }
}

/// Gives a client of the SDK the certificate and the token.
fn equip(sdk: &mut kuksa_rust_sdk::kuksa::common::Client, settings: &Settings) -> Result<()> {
    if let Some(certificate) = &settings.certificate {
        let roots = Certificate::from_pem(certificate);
        sdk.set_tls_config(ClientTlsConfig::new().ca_certificate(roots));
    }
    match &settings.token {
        Some(token) => sdk.set_access_token(token).map_err(|e| no_token(&e)),
        None => Ok(()),
    }
}

fn no_token(e: &dyn std::fmt::Display) -> Error {
    let message = format!("{e}; the stack's daemon makes the file token");
    Error::library("set_access_token", message)
}

/// Publishes each text. One that does not arrive leaves both ends unmatched, which Dyno reports.
async fn tell_all(mut calls: Calls, mut heard: mpsc::UnboundedReceiver<Saying>) {
    while let Some(Saying { id, text }) = heard.recv().await {
        let told = calls.publish_value(PublishValueRequest {
            signal_id: Some(by_id(id)),
            data_point: Some(point(text)),
        });
        // A broker that does not answer is not asked for the rest of what the ends say when they leave.
        if tokio::time::timeout(PATIENCE, told).await.is_err() {
            break;
        }
    }
}

/// A value of a signal of type text.
pub(crate) fn value(text: String) -> Value {
    Value {
        typed_value: Some(TypedValue::String(text)),
    }
}

/// The same as a data point, without a time of its own.
pub(crate) fn point(text: String) -> Datapoint {
    Datapoint {
        timestamp: None,
        value: Some(value(text)),
    }
}

pub(crate) fn by_id(id: i32) -> SignalId {
    SignalId {
        signal: Some(signal_id::Signal::Id(id)),
    }
}

/// The text of a value, if it is one.
pub(crate) fn text_of(value: Option<Value>) -> Option<String> {
    match value?.typed_value? {
        TypedValue::String(text) => Some(text),
        _ => None,
    }
}

/// Why a call did not succeed.
pub(crate) enum Failed {
    Status(Status),
    /// In the SDK's words.
    Connection(String),
    Late(Duration),
}

impl Failed {
    fn code(&self) -> Option<Code> {
        match self {
            Failed::Status(status) => Some(status.code()),
            Failed::Connection(_) | Failed::Late(_) => None,
        }
    }
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Failed::Status(status)
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Status(status) => Failed::Status(status),
            other => Failed::Connection(other.to_string()),
        }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Status(status) => {
                let code = i32::from(status.code());
                write!(f, "{} (code {code})", one_line(status.message()))
            }
            Failed::Connection(words) => f.write_str(&one_line(words)),
            Failed::Late(patience) => write!(f, "no answer within {} s", patience.as_secs_f64()),
        }
    }
}

/// A call that did not succeed, and what the user is told.
pub(crate) struct Refused {
    pub(crate) code: Option<Code>,
    pub(crate) error: Error,
}

impl Refused {
    /// The error of an end of `channel`.
    pub(crate) fn of(self, channel: &str) -> Error {
        match self.code {
            Some(Code::Unavailable) => Error::PeerGone {
                channel: channel.into(),
            },
            _ => self.error,
        }
    }
}

async fn in_time<T, E: Into<Failed>>(
    patience: Duration,
    future: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<T, Failed> {
    match tokio::time::timeout(patience, future).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err(Failed::Late(patience)),
    }
}

/// One line: what failed where, and what to do.
fn refusal(call: &str, place: &str, broker: &str, has_token: bool, failed: &Failed) -> Error {
    let what = match (failed.code(), has_token) {
        (Some(Code::Unauthenticated | Code::PermissionDenied), false) => format!(
            "the databroker at {place} wants a token, and the stack has none: {failed}; set the option `token` \
             with a daemon that makes one, as in the stack kuksa-token"
        ),
        (Some(Code::Unauthenticated | Code::PermissionDenied), true) => format!(
            "the databroker at {place} does not take the stack's token: {failed}; it must be signed with the key \
             whose public half --jwt-public-key names, not have expired, and permit to provide, read and actuate"
        ),
        (Some(Code::Unimplemented), _) => {
            let who = match broker {
                "" => "what listens",
                broker => broker,
            };
            format!("{who} at {place} does not know this call: {failed}; {WANTED}")
        }
        (None, _) if broker.is_empty() && place.starts_with("https") => format!(
            "no databroker answers at {place}: {failed}; the stack's daemon or one of yours must listen there \
             (option `port`), with a certificate of its own (not of an authority) that names this address"
        ),
        (None, _) if broker.is_empty() => format!(
            "no databroker answers at {place}: {failed}; the stack's daemon or one of yours must listen there \
             (option `port`), without TLS"
        ),
        (None, _) => format!(
            "the databroker at {place} was there and says nothing more: {failed}; its log may say why"
        ),
        _ => format!("{failed}, says the databroker at {place}"),
    };
    Error::library(call, what)
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
