//! Sender and receiver over byte streams: one frame for each message.

use crate::frame::{FrameReader, FrameWriter};
use crate::link::{Accept, Dial, Fan, Inlet, Pieces, check_len, gone, patience, read_error};
use dyno_adapter::{ChannelSpec, Error, Receiver, Result, Sender, Sent, Wait};
use std::time::Duration;

/// The writing end of a channel, one byte stream to each reader.
pub struct StreamSender<D: Dial> {
    fan: Fan<D>,
    frames: FrameWriter,
    max_payload: usize,
}

impl<D: Dial> StreamSender<D> {
    /// A sender that reaches the readers of `channel` by `dials`.
    pub fn new(channel: &ChannelSpec, dials: Vec<D>) -> Self {
        StreamSender {
            fan: Fan::new(channel, dials),
            frames: FrameWriter::new(channel.max_payload),
            max_payload: channel.max_payload,
        }
    }
}

struct Frame<'a>(&'a [u8]);

impl Pieces for Frame<'_> {
    #[inline]
    fn count(&self) -> usize {
        1
    }
    #[inline]
    fn piece(&mut self, _index: usize) -> &[u8] {
        self.0
    }
}

impl<D: Dial> Sender for StreamSender<D> {
    fn matched(&mut self) -> Result<usize> {
        self.fan.matched()
    }

    #[inline]
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        check_len(len, self.max_payload, &self.fan.channel)?;
        self.fan.send(Frame(self.frames.frame(len, fill)))
    }
}

/// A reading end of a channel.
pub struct StreamReceiver<A: Accept> {
    channel: String,
    accept: A,
    inlet: Option<A::Inlet>,
    frames: FrameReader,
    patience: Duration,
}

impl<A: Accept> StreamReceiver<A> {
    /// A receiver that `accept` connects to its sender.
    pub fn new(channel: &ChannelSpec, accept: A, wait: Wait) -> Self {
        StreamReceiver {
            channel: channel.name.clone(),
            accept,
            inlet: None,
            frames: FrameReader::new(channel.max_payload),
            patience: patience(wait),
        }
    }

    #[cold]
    fn connect(&mut self, wait: Duration) -> Result<bool> {
        self.inlet = self.accept.accept(wait)?;
        Ok(self.inlet.is_some())
    }
}

impl<A: Accept> Receiver for StreamReceiver<A> {
    fn matched(&mut self) -> Result<bool> {
        Ok(self.inlet.is_some() || self.connect(Duration::ZERO)?)
    }

    #[inline]
    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some(inlet) = &self.inlet else {
            // The message, if one comes along, is for the next call.
            return self.connect(self.patience).map(|_| false);
        };
        loop {
            match self.frames.next() {
                Ok(Some(message)) => {
                    on_message(message);
                    return Ok(true);
                }
                Ok(None) => {}
                Err(e) => return Err(Error::library(format!("receive on {}", self.channel), e)),
            }
            match inlet.read(self.frames.space()) {
                Ok(0) => return Err(gone(&self.channel)),
                Ok(n) => self.frames.filled(n),
                Err(e) => return read_error(e, &self.channel),
            }
        }
    }
}
