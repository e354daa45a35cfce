//! The writing end: a message is written into memory that zenoh then owns.
//!
//! Without shared memory that is a buffer which zenoh copies into its own while the call lasts, so
//! that the same buffer serves the next message; a user who reuses buffers does the same. With
//! shared memory it is a piece of the sender's pool, and nothing is copied.

use crate::call::{Joint, Way};
use crate::dds;
use crate::group::{Declare, Group, PATIENT};
use crate::presence::{Presence, Side, announce};
use crate::shm::Pool;
use bytes::{Bytes, BytesMut};
use dyno_adapter::{Carries, ChannelSpec, Error, Result, Sender, Sent};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use zenoh::Session;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;

pub(crate) struct ZenohSender {
    channel: ChannelSpec,
    end: Arc<WritingEnd>,
    /// The buffer of the last message, where no shared memory is used.
    spare: Option<Bytes>,
    /// The most readers seen; fewer later means that one has gone.
    readers: usize,
    /// When to stop waiting for readers to connect; set when first asked.
    patient_until: Option<Instant>,
    group: Arc<Group>,
}

struct WritingEnd {
    channel: String,
    max_payload: usize,
    carries: Carries,
    joint: Option<Arc<Joint>>,
    declared: OnceLock<Declared>,
}

struct Declared {
    way: Way,
    readers: Presence,
    _token: LivelinessToken,
    pool: Option<Pool>,
}

impl Declare for WritingEnd {
    fn declare(&self, session: &Session, group: &Group) -> Result<()> {
        let settings = &group.settings;
        let way = Way::declare(
            session,
            settings,
            &self.channel,
            &self.carries,
            self.joint.as_ref(),
        )?;
        let pool = settings
            .shm
            .then(|| Pool::new(self.max_payload))
            .transpose()?;
        let participant = group.context.participant;
        // Called once, so it is empty.
        let _ = self.declared.set(Declared {
            way,
            readers: Presence::watch(session, settings.dds, &self.channel, Side::Reader)?,
            _token: announce(session, &self.channel, Side::Writer, participant)?,
            pool,
        });
        Ok(())
    }
}

impl ZenohSender {
    /// `joint` where the channel is a direction of a call.
    pub(crate) fn new(
        group: Arc<Group>,
        channel: &ChannelSpec,
        joint: Option<Arc<Joint>>,
    ) -> Result<Self> {
        let end = Arc::new(WritingEnd {
            channel: channel.name.clone(),
            max_payload: channel.max_payload,
            carries: channel.carries.clone(),
            joint,
            declared: OnceLock::new(),
        });
        let group = group.add_writer(channel, Arc::downgrade(&end) as Weak<dyn Declare>)?;
        Ok(ZenohSender {
            channel: channel.clone(),
            end,
            spare: None,
            readers: 0,
            patient_until: None,
            group,
        })
    }

    /// What was declared; opens the session if this is the first call on an end of the group.
    fn declared(&mut self) -> Result<&Declared> {
        if self.end.declared.get().is_none() {
            self.group.open()?;
        }
        self.end
            .declared
            .get()
            .ok_or_else(|| Error::library("zenoh::open", "the session opened without this sender"))
    }

    /// Moves to a session of its own that connects to all readers.
    fn move_out(&mut self) -> Result<()> {
        let settings = Arc::clone(&self.group.settings);
        let own = Arc::new(Group::new(settings, self.group.context.clone()));
        *self = ZenohSender::new(own, &self.channel, self.end.joint.clone())?;
        self.group.open()
    }
}

impl Sender for ZenohSender {
    fn matched(&mut self) -> Result<usize> {
        let wanted = self.channel.readers.len();
        let declared = self.declared()?;
        let mut present = declared.readers.count();
        if present > 0 && !declared.way.is_matching()? {
            present = 0;
        }
        if present < wanted {
            let now = Instant::now();
            let until = *self.patient_until.get_or_insert(now + PATIENT);
            if now > until && !self.group.connects_to_all(&self.channel) {
                self.move_out()?;
                present = 0;
            }
        }
        self.readers = self.readers.max(present);
        Ok(present)
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        if len > self.channel.max_payload {
            return Err(Error::Unsupported(format!(
                "a message of {len} bytes on channel {}, which carries up to {}",
                self.channel.name, self.channel.max_payload
            )));
        }
        if self.end.declared.get().is_none() {
            self.declared()?;
        }
        let Some(declared) = self.end.declared.get() else {
            return Ok(Sent::Refused);
        };
        let alive = || {
            if declared.readers.count() < self.readers {
                return Err(Error::PeerGone {
                    channel: self.channel.name.clone(),
                });
            }
            Ok(())
        };
        alive()?;
        if self.readers == 0 && declared.readers.count() == 0 && !declared.way.answers() {
            return Ok(Sent::Refused);
        }
        let message = match &declared.pool {
            Some(pool) => {
                let Some(mut memory) = pool.lend(len, &alive)? else {
                    return Ok(Sent::Refused);
                };
                fill(&mut memory);
                ZBytes::from(memory)
            }
            None if self.group.settings.dds => write_sample(&mut self.spare, len, fill)?,
            None => write(&mut self.spare, len, fill),
        };
        Ok(match declared.way.put(message)? {
            true => Sent::Accepted,
            false => Sent::Refused,
        })
    }
}

/// Has a message written as a sample of DDS, in one piece.
fn write_sample(
    spare: &mut Option<Bytes>,
    len: usize,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<ZBytes> {
    let octets = u32::try_from(len)
        .map_err(|_| Error::Unsupported(format!("a sample of DDS with {len} octets")))?;
    Ok(write(spare, dds::HEADER + len, &mut |room| {
        dds::begin(room, octets);
        fill(&mut room[dds::HEADER..]);
    }))
}

/// Has a message written into the buffer of the last one if that is free again, else a new one.
fn write(spare: &mut Option<Bytes>, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> ZBytes {
    let mut room = match spare.take().map(Bytes::try_into_mut) {
        Some(Ok(room)) => room,
        _ => BytesMut::new(),
    };
    if room.len() < len {
        room.resize(len, 0);
    }
    fill(&mut room[..len]);
    let whole = room.freeze();
    let message = whole.slice(..len);
    *spare = Some(whole);
    message.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_a_message_is_used_again_as_soon_as_it_is_free() {
        let mut spare = None;
        let at = |spare: &mut Option<Bytes>, len: usize| {
            let mut address = 0;
            let message = write(spare, len, &mut |room| {
                address = room.as_ptr() as usize;
                room.fill(len as u8);
            });
            assert_eq!(message.to_bytes(), vec![len as u8; len]);
            (address, message)
        };
        let (first, message) = at(&mut spare, 100);
        drop(message);
        let (second, kept) = at(&mut spare, 50);
        assert_eq!(first, second);
        let (third, _) = at(&mut spare, 50);
        assert_ne!(second, third);
        assert_eq!(kept.to_bytes(), vec![50; 50]);
    }
}
