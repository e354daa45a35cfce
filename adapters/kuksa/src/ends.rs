//! The ends of channels: three signals each.

use crate::Asked;
use crate::client::Client;
use crate::listener::Listener;
use crate::presence::{Readers, Writer};
use crate::provider::{self, Actuator, Provider};
use crate::settings::{Publish, Receive};
use crate::subscriber::{self, Asker, OnText};
use crate::viss;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dyno_adapter::{
    Carries, ChannelSpec, Error, OnMessage, Receiver, Result, Sender, Sent, Subscription,
};
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

/// What a reader of a channel says and hears of its ends.
struct Presence {
    channel: String,
    hears_writer: Listener,
    writer: Arc<Writer>,
}

impl Presence {
    fn new(client: &Arc<Client>, participant: u16, channel: &ChannelSpec) -> Result<Self> {
        let readers = client.id_of(&path(channel, "Readers"))?;
        let writer = Arc::new(Writer::new(participant, client.teller(readers)));
        let heard = Arc::clone(&writer);
        let hears_writer = subscriber::subscribe(
            client,
            client.id_of(&path(channel, "Writer"))?,
            SAYINGS,
            Box::new(move |said| heard.heard(said)),
        )?;
        Ok(Presence {
            channel: channel.name.clone(),
            hears_writer,
            writer,
        })
    }

    fn matched(&self) -> Result<bool> {
        self.hears_writer.check(&self.channel)?;
        Ok(self.writer.is_there())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.writer.leave();
    }
}

/// Of requests: the provider of the channel's signal as an actuator; of all others: a subscriber of its value.
pub(crate) struct KuksaSubscription {
    is_damaged: Arc<AtomicBool>,
    presence: Presence,
    values: Listener,
    /// After all that runs on it.
    _client: Arc<Client>,
}

impl KuksaSubscription {
    pub(crate) fn new(
        client: &Arc<Client>,
        participant: u16,
        channel: &ChannelSpec,
        mut on_message: OnMessage,
        asked: Option<Asked>,
    ) -> Result<Self> {
        let is_request = matches!(channel.carries, Carries::Requests { .. });
        let is_damaged = Arc::new(AtomicBool::new(false));
        let (damaged, asked) = (Arc::clone(&is_damaged), asked.filter(|_| is_request));
        let mut decoder = Decoder::new(channel.max_payload);
        let shows: OnText = Box::new(move |text| match decoder.decode(text) {
            Some(message) => {
                if let Some(asked) = &asked {
                    asked.store(true, Ordering::Release);
                }
                on_message(message);
            }
            None => damaged.store(true, Ordering::Relaxed),
        });
        let data = path(channel, "Data");
        let values = match client.settings.receive {
            _ if is_request => provider::provide(client, client.id_of(&data)?, shows)?,
            Receive::Get => return Err(asks(&channel.name)),
            Receive::Viss(port) => viss::subscribe(client, port, &data, shows)?,
            Receive::Grpc if matches!(client.settings.publish, Publish::Viss(_)) => {
                subscriber::targets(client, &data, shows)?
            }
            Receive::Grpc => {
                let depth = client.settings.queue_depth;
                subscriber::subscribe(client, client.id_of(&data)?, depth, shows)?
            }
        };
        // As of a reader that asks: a writer hears of it when it is there.
        let presence = Presence::new(client, participant, channel)?;
        presence.writer.announce();
        Ok(KuksaSubscription {
            is_damaged,
            presence,
            values,
            _client: Arc::clone(client),
        })
    }
}

/// Why there is no subscription.
fn asks(channel: &str) -> Error {
    Error::Unsupported(format!(
        "a subscription of channel {channel} with the option `receive` = \"get\", whose reader asks; write `asks = true` \
         and `waits = [\"spin\"]` into the stack file, or leave `receive` out"
    ))
}

/// Decodes texts into memory of its own.
struct Decoder {
    max_payload: usize,
    room: Vec<u8>,
}

impl Decoder {
    fn new(max_payload: usize) -> Self {
        Decoder {
            max_payload,
            // It wants room for whole groups of three.
            room: vec![0; max_payload.div_ceil(3) * 3],
        }
    }

    /// `None`: no base64 text of at most the channel's largest message.
    fn decode(&mut self, text: &str) -> Option<&[u8]> {
        let length = BASE64_STANDARD.decode_slice(text, &mut self.room).ok()?;
        (length <= self.max_payload).then(|| &self.room[..length])
    }
}

fn damaged(channel: &str) -> Error {
    Error::library(
        "decode",
        format!(
            "a value of channel {channel} is no base64 text of at most the channel's largest message: another \
             provider writes the same signal"
        ),
    )
}

impl Subscription for KuksaSubscription {
    fn matched(&mut self) -> Result<bool> {
        self.values.check(&self.presence.channel)?;
        if self.is_damaged.load(Ordering::Relaxed) {
            return Err(damaged(&self.presence.channel));
        }
        self.presence.matched()
    }
}

/// Asks for the value that the broker keeps.
pub(crate) struct KuksaReader {
    presence: Presence,
    asker: Asker,
    decoder: Decoder,
    /// After all that runs on it.
    client: Arc<Client>,
}

impl KuksaReader {
    pub(crate) fn new(
        client: &Arc<Client>,
        participant: u16,
        channel: &ChannelSpec,
    ) -> Result<Self> {
        let data = path(channel, "Data");
        // Refuses what the broker does not know.
        client.id_of(&data)?;
        let asker = Asker::new(client, data).map_err(|refused| refused.error)?;
        // A writer that hears of the reader begins to write, and what it writes must not be what is kept from before. Presence
        // answers a writer that asks.
        let presence = Presence::new(client, participant, channel)?;
        presence.writer.announce();
        Ok(KuksaReader {
            presence,
            asker,
            decoder: Decoder::new(channel.max_payload),
            client: Arc::clone(client),
        })
    }
}

impl Receiver for KuksaReader {
    fn matched(&mut self) -> Result<bool> {
        self.presence.matched()
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let channel = &self.presence.channel;
        let answer = self.asker.ask(&self.client);
        let Some(text) = answer.map_err(|refused| refused.of(channel))? else {
            return Ok(false);
        };
        let message = self.decoder.decode(text).ok_or_else(|| damaged(channel))?;
        on_message(message);
        Ok(true)
    }
}
