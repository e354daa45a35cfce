//! Sender and receiver over datagrams: one or several for each message.

use crate::fragment::{Joiner, Layout, Splitter};
use crate::link::{Accept, Dial, Fan, Inlet, Pieces, check_len, gone, patience, read_error};
use dyno_adapter::{ChannelSpec, Error, Receiver, Result, Sender, Sent, Wait};
use std::time::Duration;

/// How messages lie in the datagrams of `channel`, where option `fragment` limits those to
/// `fragment` bytes.
pub fn layout(channel: &ChannelSpec, fragment: usize) -> Result<Layout> {
    Layout::new(channel.max_payload, fragment).ok_or_else(|| Error::option("fragment", format!(
            "{fragment} bytes leave no room for payload behind a header of {} bytes; make it larger",
            crate::fragment::HEADER
        )))
}

/// The writing end of a channel, one queue of datagrams to each reader.
pub struct DatagramSender<D: Dial> {
    fan: Fan<D>,
    splitter: Splitter,
    max_payload: usize,
}

impl<D: Dial> DatagramSender<D> {
    /// A sender that reaches the readers of `channel` by `dials`.
    pub fn new(channel: &ChannelSpec, layout: Layout, dials: Vec<D>) -> Self {
        DatagramSender {
            fan: Fan::new(channel, dials),
            splitter: Splitter::new(layout),
            max_payload: channel.max_payload,
        }
    }
}

impl Pieces for &mut Splitter {
    #[inline]
    fn count(&self) -> usize {
        self.datagrams()
    }
    #[inline]
    fn piece(&mut self, index: usize) -> &[u8] {
        self.datagram(index)
    }
}

impl<D: Dial> Sender for DatagramSender<D> {
    fn matched(&mut self) -> Result<usize> {
        self.fan.matched()
    }

    #[inline]
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        check_len(len, self.max_payload, &self.fan.channel)?;
        self.splitter.fill(len, fill);
        self.fan.send(&mut self.splitter)
    }
}

/// A reading end of a channel.
pub struct DatagramReceiver<A: Accept> {
    channel: String,
    accept: A,
    inlet: Option<A::Inlet>,
    /// Something has come from the sender.
    known: bool,
    joiner: Joiner,
    patience: Duration,
}

impl<A: Accept> DatagramReceiver<A> {
    /// A receiver that `accept` connects to its sender.
    pub fn new(channel: &ChannelSpec, layout: Layout, accept: A, wait: Wait) -> Self {
        DatagramReceiver {
            channel: channel.name.clone(),
            accept,
            inlet: None,
            known: false,
            joiner: Joiner::new(layout),
            patience: patience(wait),
        }
    }

    #[cold]
    fn connect(&mut self, wait: Duration) -> Result<bool> {
        self.inlet = self.accept.accept(wait)?;
        Ok(self.inlet.is_some())
    }
}

impl<A: Accept> Receiver for DatagramReceiver<A> {
    fn matched(&mut self) -> Result<bool> {
        if self.inlet.is_none() {
            self.connect(Duration::ZERO)?;
        }
        if let (Some(inlet), false) = (&self.inlet, self.known) {
            self.known = A::Inlet::CONNECTED
                || inlet
                    .has_arrival()
                    .map_err(|e| Error::system(format!("look at channel {}", self.channel), e))?;
        }
        Ok(self.known)
    }

    #[inline]
    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some(inlet) = &self.inlet else {
            // The message, if one comes along, is for the next call.
            return self.connect(self.patience).map(|_| false);
        };
        loop {
            match inlet.read(self.joiner.space()) {
                Ok(0) if A::Inlet::CONNECTED => return Err(gone(&self.channel)),
                Ok(n) => {
                    self.known = true;
                    if n == 0 {
                        continue;
                    }
                    if let Some(message) = self.joiner.accept(n) {
                        on_message(message);
                        return Ok(true);
                    }
                }
                Err(e) => return read_error(e, &self.channel),
            }
        }
    }
}
