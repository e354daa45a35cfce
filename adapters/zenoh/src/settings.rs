//! What the stack's options mean for zenoh.

use crate::{dds, presence};
use dyno_adapter::{Error, NodeContext, OptionSpec, OptionValue, Result};
use zenoh::Config;
use zenoh::qos::{CongestionControl, Reliability};

/// The largest message in bytes: zenoh's default `transport/link/rx/max_message_size`, 1 GiB, less
/// room for the message's own header.
pub(crate) const LARGEST: u64 = (1 << 30) - (1 << 16);
/// Messages above about this many bytes are cut by zenoh: its batches have at most 65,535 bytes,
/// over UDP 65,507, its own headers among them.
pub(crate) const BATCH: u64 = 65_000;
/// Messages in a reader's channel where the stack does not say.
const DEFAULT_BUFFER: i64 = 16;
/// How long a send waits where the stack does not say, in milliseconds.
const DEFAULT_TIMEOUT: i64 = 10_000;
/// Most bytes of messages in a reader's channel.
const BUFFERED: usize = 64 << 20;

/// The options, read and checked.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `tcp` or `udp`.
    link: String,
    /// Payloads travel in shared memory.
    pub(crate) shm: bool,
    /// The port of the router that everything goes through.
    pub(crate) router: Option<u16>,
    /// The other side of all channels is DDS, behind the router.
    pub(crate) dds: bool,
    /// How long a send waits for room, in microseconds.
    send_timeout: u64,
    pub(crate) reliability: Reliability,
    pub(crate) congestion: CongestionControl,
    pub(crate) express: bool,
    batching: bool,
    low_latency: bool,
    buffer: usize,
    /// The stack says how large it is.
    asked: bool,
}

impl Settings {
    /// Reads the options.
    pub(crate) fn from_options(context: &NodeContext) -> Result<Self> {
        let buffer = context.int("buffer", DEFAULT_BUFFER)?;
        let router = router(context)?;
        let shm = context.bool("shm", false)?;
        let send_timeout = context.int("send_timeout_ms", DEFAULT_TIMEOUT)?;
        Ok(Settings {
            link: context.one_of("link", &["tcp", "udp"])?.to_owned(),
            dds: dds(context, router, shm)?,
            shm,
            router,
            send_timeout: u64::try_from(send_timeout)
                .unwrap_or(0)
                .saturating_mul(1_000),
            reliability: match context.one_of("reliability", &["reliable", "best-effort"])? {
                "reliable" => Reliability::Reliable,
                _ => Reliability::BestEffort,
            },
            congestion: match context.one_of("congestion", &["block", "drop"])? {
                "block" => CongestionControl::Block,
                _ => CongestionControl::Drop,
            },
            express: context.bool("express", true)?,
            batching: context.bool("batching", true)?,
            low_latency: context.bool("low_latency", false)?,
            asked: context.options.contains_key("buffer"),
            buffer: usize::try_from(buffer)
                .ok()
                .filter(|messages| *messages > 0)
                .ok_or_else(|| {
                    Error::option("buffer", format!("write 1 or more instead of {buffer}"))
                })?,
        })
    }

    /// Messages that the channel between zenoh and a reader holds: those that were asked for, else fewer of large ones.
    pub(crate) fn buffer(&self, max_payload: usize) -> usize {
        match self.asked {
            true => self.buffer,
            false => self.buffer.min(BUFFERED / max_payload.max(1)).max(1),
        }
    }

    /// The key of a channel's messages.
    pub(crate) fn key(&self, channel: &str) -> String {
        match self.dds {
            true => dds::key(channel),
            false => presence::key(channel),
        }
    }

    /// The locator of a reader's endpoint.
    pub(crate) fn locator(&self, address: &str, port: u16) -> String {
        let address = if address.contains(':') {
            format!("[{address}]")
        } else {
            address.to_owned()
        };
        format!("{}/{address}:{port}", self.link)
    }

    /// The configuration of a session that listens and connects at these locators.
    pub(crate) fn config(&self, listen: &[String], connect: &[String]) -> Result<Config> {
        let list = |locators: &[String]| {
            let quoted: Vec<String> = locators.iter().map(|l| format!("\"{l}\"")).collect();
            format!("[{}]", quoted.join(","))
        };
        let mode = if self.router.is_some() {
            "\"client\""
        } else {
            "\"peer\""
        };
        let entries: [(&str, &str); 20] = [
            ("mode", mode),
            (
                "transport/link/tx/queue/congestion_control/block/wait_before_close",
                &self.send_timeout.to_string(),
            ),
            ("scouting/multicast/enabled", "false"),
            ("scouting/gossip/enabled", "false"),
            ("listen/endpoints", &list(listen)),
            ("connect/endpoints", &list(connect)),
            // In the background and for ever: the peer may not listen yet.
            ("connect/timeout_ms", "-1"),
            ("connect/exit_on_failure", "false"),
            (
                "connect/retry",
                "{period_init_ms: 10, period_max_ms: 50, period_increase_factor: 2}",
            ),
            // Opening a session does not wait for others.
            ("open/return_conditions/connect_scouted", "false"),
            ("open/return_conditions/declares", "false"),
            // A lost datagram of the handshake costs one try.
            ("transport/unicast/open_timeout", "2000"),
            ("transport/unicast/accept_timeout", "2000"),
            // zenoh refuses the one beside the other.
            (
                "transport/unicast/qos/enabled",
                &(!self.low_latency).to_string(),
            ),
            (
                "transport/unicast/lowlatency",
                &self.low_latency.to_string(),
            ),
            (
                "transport/link/tx/queue/batching/enabled",
                &self.batching.to_string(),
            ),
            ("transport/shared_memory/enabled", &self.shm.to_string()),
            // What shared memory needs is there before the first message.
            (
                "transport/shared_memory/mode",
                if self.shm { "\"init\"" } else { "\"lazy\"" },
            ),
            // Payloads are written into shared memory by us, not copied there by zenoh.
            (
                "transport/shared_memory/transport_optimization/enabled",
                "false",
            ),
            ("timestamping/enabled", "false"),
        ];
        let mut config = Config::default();
        for (key, value) in entries {
            config
                .insert_json5(key, value)
                .map_err(|e| Error::library(format!("Config::insert_json5({key}, {value})"), e))?;
        }
        Ok(config)
    }
}

/// The option `router`: a port, or none.
fn router(context: &NodeContext) -> Result<Option<u16>> {
    let port = context.int("router", 0)?;
    match u16::try_from(port) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(Error::option(
            "router",
            format!("write a port, up to 65535, instead of {port}"),
        )),
    }
}

/// The option `dds`, which wants a router that leads to DDS, and no shared memory.
fn dds(context: &NodeContext, router: Option<u16>, shm: bool) -> Result<bool> {
    let is_dds = context.bool("dds", false)?;
    let missing = match (router, shm) {
        (None, _) => "write with it the `router` that has zenoh's plugin for DDS",
        (_, true) => {
            "write `shm = false` with it: samples of DDS are not written into shared memory"
        }
        _ => return Ok(is_dds),
    };
    match is_dds {
        false => Ok(false),
        true => Err(Error::option("dds", missing)),
    }
}

/// The options that the adapter understands.
pub(crate) fn specs() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            "batching",
            OptionValue::Bool(true),
            "zenoh may send several messages in one piece when the link is slower than the sender",
        ),
        OptionSpec::new(
            "buffer",
            OptionValue::Int(DEFAULT_BUFFER),
            "messages held between zenoh and a reader that spins or blocks; if omitted: 16, or fewer if \
             they would take more than 64 MiB; zenoh's own default is 256",
        ),
        OptionSpec::one_of(
            "congestion",
            &["block", "drop"],
            "what a send does when zenoh's queue is full: wait (zenoh closes the link after \
             `send_timeout_ms`), or lose the message; zenoh's own default is drop",
        ),
        OptionSpec::new(
            "dds",
            OptionValue::Bool(false),
            "the other side uses DDS, behind a `router` with zenoh's DDS plugin (scope `dyno`): a message is a sample with \
             one sequence of octets, and topics have the names that the adapter cyclonedds gives them",
        ),
        OptionSpec::new(
            "express",
            OptionValue::Bool(true),
            "messages are sent at once, never held back to be put together with later ones; \
             zenoh's own default is false",
        ),
        OptionSpec::one_of(
            "link",
            &["tcp", "udp"],
            "the transport below zenoh's protocol; over udp a lost datagram is a lost message",
        ),
        OptionSpec::new(
            "low_latency",
            OptionValue::Bool(false),
            "zenoh's transport `lowlatency`, without priorities, batches and fragments: a message must fit into 65,000 B; \
             zenoh's own default is false",
        ),
        OptionSpec::one_of(
            "reliability",
            &["reliable", "best-effort"],
            "the reliability requested from zenoh, which does not resend messages that a link loses",
        ),
        OptionSpec::new(
            "router",
            OptionValue::Int(0),
            "the port of a router on each participant's host; all messages go through it; 0: no router, participants are peers",
        ),
        OptionSpec::new(
            "send_timeout_ms",
            OptionValue::Int(DEFAULT_TIMEOUT),
            "how long a send waits for room before zenoh closes the link, in milliseconds; zenoh's own \
             default is 5000",
        ),
        OptionSpec::new(
            "shm",
            OptionValue::Bool(false),
            "payloads are written into zenoh's shared memory and only announced over the link; \
             both sides must be on one host; if a side stalls for 100 ms, zenoh takes back the \
             payloads that it has not read",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_adapter::Options;

    fn settings(options: &[(&str, OptionValue)]) -> Result<Settings> {
        Settings::from_options(&NodeContext {
            session: "s".into(),
            scratch: "/nonexistent".into(),
            participant: 0,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<Options>(),
        })
    }

    #[test]
    fn zenoh_accepts_every_entry_of_the_configuration() {
        let locators = ["tcp/127.0.0.1:4000".to_owned(), "tcp/[::1]:4001".to_owned()];
        for shm in [false, true] {
            let low_latency = ("low_latency", OptionValue::Bool(!shm));
            let settings = settings(&[("shm", OptionValue::Bool(shm)), low_latency]).unwrap();
            let config = settings.config(&locators, &locators[..1]).unwrap();
            let listen = config.get_json("listen/endpoints").unwrap();
            assert!(
                listen.contains("4000") && listen.contains("4001"),
                "{listen}"
            );
            let enabled = config.get_json("transport/shared_memory/enabled").unwrap();
            assert_eq!(enabled, shm.to_string());
        }
    }

    #[test]
    fn unknown_values_are_refused_with_those_that_there_are() {
        for (name, value, word) in [
            ("link", OptionValue::Text("tls".into()), "tcp, udp"),
            (
                "congestion",
                OptionValue::Text("wait".into()),
                "block, drop",
            ),
            ("buffer", OptionValue::Int(0), "1 or more"),
            ("shm", OptionValue::Text("yes".into()), "true or false"),
        ] {
            let error = settings(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(word), "{error}");
        }
    }

    #[test]
    fn dds_is_behind_a_router_and_not_in_shared_memory() {
        let (yes, port) = (OptionValue::Bool(true), OptionValue::Int(17_448));
        let alone = settings(&[("dds", yes.clone())]).unwrap_err().to_string();
        assert!(alone.contains("router"), "{alone}");
        let both = [
            ("dds", yes.clone()),
            ("router", port.clone()),
            ("shm", yes.clone()),
        ];
        let both = settings(&both).unwrap_err().to_string();
        assert!(both.contains("shm"), "{both}");
        let settings = settings(&[("dds", yes), ("router", port)]).unwrap();
        assert_eq!(settings.key("s-c0"), "dyno/s_2dc0");
    }

    #[test]
    fn big_messages_fill_a_bounded_channel() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.buffer(64), 16);
        assert_eq!(settings.buffer(4 << 20), 16);
        assert_eq!(settings.buffer(8 << 20), 8);
        assert_eq!(settings.buffer(1 << 30), 1);
    }

    #[test]
    fn a_buffer_that_was_asked_for_is_never_smaller() {
        let settings = settings(&[("buffer", OptionValue::Int(256))]).unwrap();
        assert_eq!(settings.buffer(64), 256);
        assert_eq!(settings.buffer(1 << 30), 256);
    }

    #[test]
    fn addresses_of_version_six_stand_in_brackets() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.locator("10.0.0.1", 1), "tcp/10.0.0.1:1");
        assert_eq!(settings.locator("fe80::1", 2), "tcp/[fe80::1]:2");
    }
}
