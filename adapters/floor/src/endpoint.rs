//! The two ends of a channel as the adapter interface wants them: they join the segment as soon as
//! it stands, and decide how long to wait.

use crate::home::Home;
use crate::layout::Geometry;
use crate::reader::Reader;
use crate::segment::{Part, Segment};
use crate::words::Slept;
use crate::writer::{Attempt, Writer};
use dyno_adapter::{ChannelSpec, Error, NodeContext, Receiver, Result, Sender, Sent, Wait};
use std::time::Duration;

/// How often a writer looks for room before it sleeps: some ten microseconds, about what a sleep
/// and a wake-up would cost.
const LOOKS: u32 = 200;
/// How long a writer sleeps for room before it looks whether its readers still live.
const CHECK: Duration = Duration::from_millis(10);
/// How long a blocking reader without a segment sleeps before it looks again.
pub(crate) const RETRY: Duration = Duration::from_millis(1);

/// Everything needed to join a channel's segment.
pub(crate) struct Joining {
    home: Home,
    geometry: Geometry,
    part: Part,
}

impl Joining {
    pub(crate) fn new(
        context: &NodeContext,
        channel: &ChannelSpec,
        home: Home,
        part: Part,
    ) -> Result<Self> {
        Ok(Joining {
            geometry: Geometry::of(channel, context, home.room())?,
            home,
            part,
        })
    }

    pub(crate) fn try_join(&self) -> Result<Option<Segment>> {
        Segment::join(&self.home, self.geometry, self.part)
    }

    /// Which of the channel's readers this participant is.
    pub(crate) fn place_of(context: &NodeContext, channel: &ChannelSpec) -> Result<usize> {
        let mut readers = channel.readers.iter();
        let found = readers.position(|r| r.participant == context.participant);
        found.ok_or_else(|| {
            Error::Unsupported(format!(
                "participant {} is not among the readers of channel {}",
                context.participant, channel.name
            ))
        })
    }
}

/// The writing end.
pub(crate) struct FloorSender {
    joining: Joining,
    channel: String,
    max_payload: usize,
    writer: Option<Writer<Segment>>,
}

impl FloorSender {
    pub(crate) fn new(context: &NodeContext, channel: &ChannelSpec, home: Home) -> Result<Self> {
        let mut sender = FloorSender {
            joining: Joining::new(context, channel, home, Part::Writer)?,
            channel: channel.name.clone(),
            max_payload: channel.max_payload,
            writer: None,
        };
        sender.join()?;
        Ok(sender)
    }

    #[cold]
    fn join(&mut self) -> Result<()> {
        if self.writer.is_none() {
            self.writer = self.joining.try_join()?.map(Writer::attach);
        }
        Ok(())
    }

    /// The ring is full: looks again for a while, then sleeps until there is room.
    #[cold]
    fn send_when_room(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let Some(writer) = &mut self.writer else {
            return Ok(Sent::Refused);
        };
        let mut looks = 0;
        loop {
            // SAFETY: `send` has compared `len` with the largest payload.
            match unsafe { writer.try_send(len, fill) } {
                Attempt::Sent => return Ok(Sent::Accepted),
                Attempt::Deserted => return Err(self.peer_gone()),
                Attempt::Full if looks < LOOKS => {
                    looks += 1;
                    for _ in 0..8 {
                        std::hint::spin_loop();
                    }
                }
                Attempt::Full => match writer.sleep_for_room(CHECK) {
                    Slept::Woken => {}
                    Slept::Interrupted => return Ok(Sent::Refused),
                    Slept::TimedOut if writer.memory().lost_a_reader() => {
                        return Err(self.peer_gone());
                    }
                    Slept::TimedOut => {}
                },
            }
        }
    }

    fn peer_gone(&self) -> Error {
        Error::PeerGone {
            channel: self.channel.clone(),
        }
    }

    #[cold]
    fn too_long(&self, len: usize) -> Error {
        Error::Unsupported(format!(
            "a message of {len} bytes on channel {}, whose largest has {}",
            self.channel, self.max_payload
        ))
    }
}

impl Sender for FloorSender {
    fn matched(&mut self) -> Result<usize> {
        self.join()?;
        Ok(self.writer.as_mut().map_or(0, Writer::matched))
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        if len > self.max_payload {
            return Err(self.too_long(len));
        }
        if self.writer.is_none() {
            self.join()?;
        }
        let Some(writer) = &mut self.writer else {
            return Ok(Sent::Refused);
        };
        // SAFETY: `len` was compared with the largest payload above.
        match unsafe { writer.try_send(len, fill) } {
            Attempt::Sent => Ok(Sent::Accepted),
            Attempt::Full => self.send_when_room(len, fill),
            Attempt::Deserted => Err(self.peer_gone()),
        }
    }
}

/// A reading end.
pub(crate) struct FloorReceiver {
    joining: Joining,
    me: usize,
    wait: Wait,
    reader: Option<Reader<Segment>>,
}

impl FloorReceiver {
    pub(crate) fn new(
        context: &NodeContext,
        channel: &ChannelSpec,
        home: Home,
        wait: Wait,
    ) -> Result<Self> {
        let me = Joining::place_of(context, channel)?;
        let mut receiver = FloorReceiver {
            joining: Joining::new(context, channel, home, Part::Reader(me))?,
            me,
            wait,
            reader: None,
        };
        receiver.join()?;
        Ok(receiver)
    }

    #[cold]
    fn join(&mut self) -> Result<()> {
        if self.reader.is_none() {
            let segment = self.joining.try_join()?;
            self.reader = segment.map(|s| Reader::attach(s, self.me, self.wait));
        }
        Ok(())
    }

    #[cold]
    fn take_unjoined(&mut self) -> Result<bool> {
        self.join()?;
        if self.reader.is_none() && self.wait == Wait::Block {
            std::thread::sleep(RETRY);
        }
        Ok(false)
    }
}

impl Receiver for FloorReceiver {
    fn matched(&mut self) -> Result<bool> {
        self.join()?;
        let writer = |r: &Reader<Segment>| r.memory().header().writer.is_taken();
        Ok(self.reader.as_ref().is_some_and(writer))
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some(reader) = &mut self.reader else {
            return self.take_unjoined();
        };
        if reader.try_take(on_message) {
            return Ok(true);
        }
        if self.wait == Wait::Spin {
            // Polling without a pause keeps taking the line away from the writer: measured, a
            // round trip then costs 1.5 bare cache-line ping-pongs instead of 1.0.
            std::hint::spin_loop();
            return Ok(false);
        }
        reader.sleep();
        Ok(reader.try_take(on_message))
    }
}
