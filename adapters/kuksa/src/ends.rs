//! The ends of channels: three signals each.

use crate::Asked;
use crate::client::Client;
use crate::listener::Listener;
use crate::presence::{Readers, Writer};
use crate::provider::{self, Actuator, Provider};
use crate::settings::{Publish, Receive};
use crate::subscriber::{self, OnText};
use crate::viss;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dyno_adapter::{Carries, ChannelSpec, Error, OnMessage, Result, Sender, Sent, Subscription};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Enough for what the ends of one channel say before anyone listens.
const SAYINGS: u32 = 1000;

/// The signals of a channel: `Data`, and what its `Readers` and its `Writer` say of themselves.
fn path(channel: &ChannelSpec, leaf: &str) -> String {
    format!("Dyno.C{}.{leaf}", channel.id)
}

/// Who takes the messages of a sender.
enum Way {
    Value(Provider),
    /// Of requests.
    Target(Actuator),
}

/// Of requests: who sets the target of the channel's signal; of all others: a provider of its value.
pub(crate) struct KuksaSender {
    channel: String,
    room: Vec<u8>,
    /// Of responses: whether there is a request to answer.
    asked: Option<Asked>,
    way: Way,
    hears_readers: Listener,
    readers: Arc<Readers>,
    /// After all that runs on it.
    client: Arc<Client>,
}

impl KuksaSender {
    pub(crate) fn new(
        client: &Arc<Client>,
        channel: &ChannelSpec,
        asked: Option<Asked>,
    ) -> Result<Self> {
        let writer = client.id_of(&path(channel, "Writer"))?;
        let readers = Arc::new(Readers::new(client.teller(writer)));
        let heard = Arc::clone(&readers);
        let hears_readers = subscriber::subscribe(
            client,
            client.id_of(&path(channel, "Readers"))?,
            SAYINGS,
            Box::new(move |said| heard.heard(said)),
        )?;
        let data_path = path(channel, "Data");
        let data = client.id_of(&data_path)?;
        let is_request = matches!(channel.carries, Carries::Requests { .. });
        let way = match is_request {
            true => Way::Target(Actuator::new(client, data)),
            false => Way::Value(Provider::new(client, data, data_path)?),
        };
        readers.ask();
        Ok(KuksaSender {
            channel: channel.name.clone(),
            room: vec![0; channel.max_payload],
            asked: asked.filter(|_| !is_request),
            way,
            hears_readers,
            readers,
            client: Arc::clone(client),
        })
    }
}

impl Drop for KuksaSender {
    fn drop(&mut self) {
        self.readers.leave();
    }
}

impl Sender for KuksaSender {
    fn matched(&mut self) -> Result<usize> {
        self.hears_readers.check(&self.channel)?;
        Ok(self.readers.count())
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        if let Some(asked) = &self.asked
            && !asked.swap(false, Ordering::AcqRel)
        {
            return Ok(Sent::Refused);
        }
        let bytes = &mut self.room[..len];
        fill(bytes);
        // The SDK takes a text of its own for each value.
        let text = BASE64_STANDARD.encode(bytes);
        match &mut self.way {
            Way::Value(provider) => provider.publish(&self.client, &self.channel, text)?,
            Way::Target(actuator) => actuator.actuate(&self.client, &self.channel, text)?,
        }
        Ok(Sent::Accepted)
    }
}

/// Of requests: the provider of the channel's signal as an actuator; of all others: a subscriber of its value.
pub(crate) struct KuksaSubscription {
    channel: String,
    is_damaged: Arc<AtomicBool>,
    values: Listener,
    hears_writer: Listener,
    writer: Arc<Writer>,
    /// After all that runs on it.
    _client: Arc<Client>,
}

impl KuksaSubscription {
    pub(crate) fn new(
        client: &Arc<Client>,
        participant: u16,
        channel: &ChannelSpec,
        on_message: OnMessage,
        asked: Option<Asked>,
    ) -> Result<Self> {
        let is_request = matches!(channel.carries, Carries::Requests { .. });
        let readers = client.id_of(&path(channel, "Readers"))?;
        let writer = Arc::new(Writer::new(participant, client.teller(readers)));
        let heard = Arc::clone(&writer);
        let hears_writer = subscriber::subscribe(
            client,
            client.id_of(&path(channel, "Writer"))?,
            SAYINGS,
            Box::new(move |said| heard.heard(said)),
        )?;
        let is_damaged = Arc::new(AtomicBool::new(false));
        let shows = shower(
            channel.max_payload,
            on_message,
            asked.filter(|_| is_request),
            Arc::clone(&is_damaged),
        );
        let data = path(channel, "Data");
        let values = match client.settings.receive {
            _ if is_request => provider::provide(client, client.id_of(&data)?, shows)?,
            Receive::Viss(port) => viss::subscribe(client, port, &data, shows)?,
            Receive::Get => subscriber::poll(client, client.id_of(&data)?, shows)?,
            Receive::Grpc if matches!(client.settings.publish, Publish::Viss(_)) => {
                subscriber::targets(client, &data, shows)?
            }
            Receive::Grpc => {
                let depth = client.settings.queue_depth;
                subscriber::subscribe(client, client.id_of(&data)?, depth, shows)?
            }
        };
        writer.announce();
        Ok(KuksaSubscription {
            channel: channel.name.clone(),
            is_damaged,
            values,
            hears_writer,
            writer,
            _client: Arc::clone(client),
        })
    }
}

/// What decodes a text into memory of its own and shows it.
fn shower(
    max_payload: usize,
    mut on_message: OnMessage,
    asked: Option<Asked>,
    is_damaged: Arc<AtomicBool>,
) -> OnText {
    // The decoder wants room for whole groups of three.
    let mut room = vec![0; max_payload.div_ceil(3) * 3];
    Box::new(
        move |text| match BASE64_STANDARD.decode_slice(text, &mut room) {
            Ok(length) if length <= max_payload => {
                if let Some(asked) = &asked {
                    asked.store(true, Ordering::Release);
                }
                on_message(&room[..length]);
            }
            _ => is_damaged.store(true, Ordering::Relaxed),
        },
    )
}

impl Drop for KuksaSubscription {
    fn drop(&mut self) {
        self.writer.leave();
    }
}

impl Subscription for KuksaSubscription {
    fn matched(&mut self) -> Result<bool> {
        self.values.check(&self.channel)?;
        self.hears_writer.check(&self.channel)?;
        if self.is_damaged.load(Ordering::Relaxed) {
            return Err(Error::library(
                "decode",
                format!(
                    "a value of channel {} is no base64 text of at most the channel's largest message: another \
                     provider writes the same signal",
                    self.channel
                ),
            ));
        }
        Ok(self.writer.is_there())
    }
}
