//! An adapter behind the ABI, and its nodes.

use crate::channel::with_context;
use crate::describe;
use crate::ends::{ForeignReceiver, ForeignSender, ForeignSubscription};
use crate::node::{NodeHandle, Table, opened};
use crate::raw::{self, Ops};
use dyno_adapter::{
    Adapter, AdapterDescription, ChannelSpec, Node, NodeContext, OnMessage, Receiver, Result,
    Sender, Subscription, Wait,
};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// An adapter in a shared library.
pub struct ForeignAdapter {
    table: Arc<Table>,
    pub(crate) description: AdapterDescription,
}

impl ForeignAdapter {
    /// The adapter of a table in the library at `path`. The error says what is wrong with its description.
    pub(crate) fn new(path: &Path, ops: Ops) -> std::result::Result<Self, String> {
        let describe = ops
            .describe
            .ok_or_else(|| "there is no `describe`".to_owned())?;
        // SAFETY: `describe` is cheap and without side effects.
        let description = unsafe { describe() };
        // SAFETY: what `describe` returns is as the header defines it.
        let description = unsafe { describe::read(path, &ops, description) }?;
        let name = description.name.clone();
        Ok(ForeignAdapter {
            table: Arc::new(Table { ops, name }),
            description,
        })
    }
}

impl Adapter for ForeignAdapter {
    fn describe(&self) -> AdapterDescription {
        self.description.clone()
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let table = &self.table;
        let open = table.there(table.ops.open, "open")?;
        let node = with_context(context, |context| {
            let mut node = ptr::null_mut();
            // SAFETY: context and out-pointer live for the call.
            match unsafe { open(context, &mut node) } {
                raw::OK => opened(table, node, "open", None),
                status => Err(table.error("open", None, status)),
            }
        })?;
        Ok(Box::new(ForeignNode(Arc::new(NodeHandle {
            table: table.clone(),
            node,
        }))))
    }
}

struct ForeignNode(Arc<NodeHandle>);

impl Node for ForeignNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        Ok(Box::new(ForeignSender::open(&self.0, channel)?))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        Ok(Box::new(ForeignReceiver::open(&self.0, channel, wait)?))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(ForeignSubscription::open(
            &self.0, channel, on_message,
        )?))
    }
}
