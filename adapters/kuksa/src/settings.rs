//! The options of a stack, parsed once.

use dyno_adapter::{Error, NodeContext, OptionSpec, OptionValue, Result};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Where the databroker listens for gRPC and for VISS; no broker of anyone else does by default.
const PORT: i64 = 15_555;
const VISS_PORT: i64 = 15_556;
/// The most values that databroker 0.7.0 keeps for a subscriber (MAX_SUBSCRIPTION_BUFFER).
const MOST_QUEUED: i64 = 1000;

/// How values come out of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    Grpc,
    /// At this port.
    Viss(u16),
    /// Read from what the broker keeps, again and again.
    Get,
}

/// How values go into the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publish {
    /// Over the provider's stream.
    Stream,
    /// Each by a call.
    Unary,
    /// As targets, over VISS at this port; subscribers then get targets.
    Viss(u16),
}

/// What a participant is set to.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) publish: Publish,
    pub(crate) receive: Receive,
    pub(crate) queue_depth: u32,
    pub(crate) send_timeout: Duration,
    /// The certificate of the broker, which signs itself and names the address that is connected to.
    pub(crate) certificate: Option<String>,
    pub(crate) token: Option<String>,
}

impl Settings {
    pub(crate) fn from_options(context: &NodeContext) -> Result<Self> {
        let viss = || port(context, "viss_port", VISS_PORT);
        let receive = match context.one_of("receive", &["grpc", "viss", "get"])? {
            "viss" => Receive::Viss(viss()?),
            "get" => Receive::Get,
            _ => Receive::Grpc,
        };
        let publish = match context.one_of("publish", &["stream", "unary", "viss"])? {
            "viss" => Publish::Viss(viss()?),
            "unary" => Publish::Unary,
            _ => Publish::Stream,
        };
        if matches!(publish, Publish::Viss(_)) && receive != Receive::Grpc {
            return Err(Error::option(
                "publish",
                "viss sets targets, which come out over gRPC alone; leave out `receive`",
            ));
        }
        let depth = ranged(context, "broker_queue", MOST_QUEUED, 0..=MOST_QUEUED)?;
        let timeout = ranged(context, "send_timeout_ms", 10_000, 1..=3_600_000)?;
        let wants_token = context.bool("token", false)?;
        if wants_token
            && (matches!(receive, Receive::Viss(_)) || matches!(publish, Publish::Viss(_)))
        {
            return Err(Error::option(
                "token",
                "goes with gRPC alone; over VISS none is sent",
            ));
        }
        let read = |wanted: bool, name: &str, what: &str| match wanted {
            true => made(&context.scratch, name, what).map(Some),
            false => Ok(None),
        };
        Ok(Settings {
            address: context.address.parse().map_err(|e| {
                Error::library(
                    format!("parse the address {:?} of a participant", context.address),
                    format!("{e}; write an IP address in the testbed"),
                )
            })?,
            port: port(context, "port", PORT)?,
            publish,
            receive,
            queue_depth: depth as u32,
            send_timeout: Duration::from_millis(timeout as u64),
            certificate: read(
                context.bool("tls", false)?,
                "server.crt",
                "the databroker's certificate",
            )?,
            token: read(wants_token, "token", "the token for the databroker")?,
        })
    }

    /// Where the broker is, as an URL; an address of version six stands in brackets.
    pub(crate) fn place(&self) -> String {
        let scheme = match self.certificate {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{}", self.authority(self.port))
    }

    pub(crate) fn authority(&self, port: u16) -> String {
        std::net::SocketAddr::new(self.address, port).to_string()
    }
}

/// The whole of a file that the stack's daemon makes in the trial's scratch directory.
fn made(scratch: &Path, name: &str, what: &str) -> Result<String> {
    let path = scratch.join(name);
    let hint = "the stack's daemon makes it (`prepare`)";
    let call = || format!("read {what}, {}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| Error::system_hint(call(), e, hint))?;
    match text.trim() {
        "" => Err(Error::library(call(), format!("it is empty; {hint}"))),
        text => Ok(text.to_owned()),
    }
}

fn ranged(
    context: &NodeContext,
    name: &str,
    default: i64,
    range: std::ops::RangeInclusive<i64>,
) -> Result<i64> {
    let value = context.int(name, default)?;
    match range.contains(&value) {
        true => Ok(value),
        false => Err(Error::option(
            name,
            format!(
                "write {} to {} instead of {value}",
                range.start(),
                range.end()
            ),
        )),
    }
}

fn port(context: &NodeContext, name: &str, default: i64) -> Result<u16> {
    Ok(ranged(context, name, default, 1..=65_535)? as u16)
}

/// The options that the adapter understands.
pub(crate) fn specs() -> Vec<OptionSpec> {
    let int = |name, most, default, doc| OptionSpec {
        most: Some(most),
        ..OptionSpec::new(name, OptionValue::Int(default), doc)
    };
    vec![
        int(
            "port",
            65_535,
            PORT,
            "the port of the databroker on each participant's host",
        ),
        OptionSpec::one_of(
            "publish",
            &["stream", "unary", "viss"],
            "stream: OpenProviderStream, and a send waits for no answer; unary: PublishValue, and a send waits for its answer; \
             viss: `set` of an actuator's target over a WebSocket, and a send waits for its answer; subscribers then get \
             targets (kuksa.val.v1)",
        ),
        OptionSpec::one_of(
            "receive",
            &["grpc", "viss", "get"],
            "grpc: SubscribeById; viss: a VISS subscription over a WebSocket, which has no buffer and no TLS here; get: \
             GetValue, for stacks with `asks = true`: each take sends a request and waits for the answer, and each changed \
             value is a message",
        ),
        int(
            "viss_port",
            65_535,
            VISS_PORT,
            "the port of the databroker's VISS",
        ),
        int(
            "broker_queue",
            MOST_QUEUED,
            MOST_QUEUED,
            "values that the databroker keeps for a slower subscriber (buffer_size); its own default: 0, only the \
             latest value",
        ),
        int(
            "send_timeout_ms",
            3_600_000,
            10_000,
            "how long a send waits for its answer before it fails, in ms; for unary, viss and all requests (Actuate)",
        ),
        OptionSpec::new(
            "tls",
            OptionValue::Bool(false),
            "the connection is encrypted; the databroker's certificate is server.crt in the trial's scratch directory",
        ),
        OptionSpec::new(
            "token",
            OptionValue::Bool(false),
            "calls carry the JSON web token from the file `token` in the trial's scratch directory (authorization: Bearer)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, OptionValue)], scratch: &Path) -> Result<Settings> {
        Settings::from_options(&NodeContext {
            session: "s".into(),
            scratch: scratch.into(),
            participant: 0,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        })
    }

    #[test]
    fn wrong_values_are_refused_with_those_that_there_are() {
        let text = |value: &str| OptionValue::Text(value.into());
        for (name, value, word) in [
            ("broker_queue", OptionValue::Int(1001), "0 to 1000"),
            ("port", OptionValue::Int(0), "1 to 65535"),
            ("publish", text("often"), "stream, unary, viss"),
            ("receive", text("post"), "grpc, viss, get"),
            ("send_timeout_ms", OptionValue::Int(0), "1 to 3600000"),
            ("tls", OptionValue::Int(1), "true or false"),
        ] {
            let error = settings(&[(name, value)], Path::new("/nonexistent"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_token_or_certificate_that_is_not_there_is_named_with_who_makes_it() {
        let scratch = tempfile::tempdir().unwrap();
        let yes = OptionValue::Bool(true);
        for (option, file) in [("tls", "server.crt"), ("token", "token")] {
            let missing = settings(&[(option, yes.clone())], scratch.path());
            let missing = missing.unwrap_err().to_string();
            assert!(
                missing.contains(file) && missing.contains("prepare"),
                "{missing}"
            );
            std::fs::write(scratch.path().join(file), "\n").unwrap();
            let empty = settings(&[(option, yes.clone())], scratch.path());
            assert!(empty.unwrap_err().to_string().contains("it is empty"));
        }
        let viss = [
            ("token", yes),
            ("receive", OptionValue::Text("viss".into())),
        ];
        let error = settings(&viss, scratch.path()).unwrap_err().to_string();
        assert!(error.contains("over VISS none is sent"), "{error}");
    }

    #[test]
    fn addresses_of_version_six_stand_in_brackets() {
        let mut settings = settings(&[], Path::new("/nonexistent")).unwrap();
        assert_eq!(settings.place(), "http://127.0.0.1:15555");
        settings.address = "fe80::1".parse().unwrap();
        settings.certificate = Some("pem".into());
        assert_eq!(settings.place(), "https://[fe80::1]:15555");
    }
}
