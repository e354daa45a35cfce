//! DBC: messages with their size, sender and cycle time (the attribute `GenMsgCycleTime`, in milliseconds).

use crate::format::Failed;
use crate::traffic::{Place, Traffic};
use can_dbc::{AttributeValue, Dbc, DbcError, MessageId};
use std::collections::HashMap;
use std::io::{BufRead, Read as _};

/// A description is read as a whole; a larger one is refused, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

const CYCLE: &str = "GenMsgCycleTime";

/// The message that holds signals of no message.
const INDEPENDENT: &str = "VECTOR__INDEPENDENT_SIG_MSG";

/// The sender of messages that have none.
const NOBODY: &str = "Vector__XXX";

pub(crate) fn read(source: &mut dyn BufRead, traffic: &mut Traffic) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failed::Wrong(
            Place::Byte(LARGEST),
            "the file is larger than 16 MiB; split it".into(),
        ));
    }
    // Most are in Windows-1252; names of messages have ASCII characters only.
    let text = String::from_utf8_lossy(&bytes);
    let dbc = Dbc::try_from(text.as_ref()).map_err(|e| wrong(&e))?;
    let own: HashMap<u32, &AttributeValue> = dbc
        .attribute_values_message
        .iter()
        .filter(|a| a.name == CYCLE)
        .map(|a| (a.message_id.raw(), &a.value))
        .collect();
    let default = dbc.attribute_default(CYCLE);
    for message in dbc.messages.iter().filter(|m| m.name != INDEPENDENT) {
        let cycle = own.get(&message.id.raw()).copied().or(default);
        let Some(cycle) = cycle.and_then(nanos) else {
            traffic.leave("messages without a cycle time");
            continue;
        };
        let id = match message.id {
            MessageId::Standard(id) => format!("0x{id:03x}"),
            MessageId::Extended(id) => format!("0x{id:08x}x"),
        };
        let sender = message.transmitter.as_deref().filter(|s| *s != NOBODY);
        let topic = format!("{} {id}", message.name);
        if message.size > 64 {
            traffic.leave("messages of more than 64 B, which CAN does not have");
            continue;
        }
        traffic.describe(&topic, sender, message.size, cycle);
    }
    Ok(())
}

/// A cycle of milliseconds in nanoseconds; zero means that there is none.
fn nanos(value: &AttributeValue) -> Option<u64> {
    let ms = match value {
        AttributeValue::Uint(ms) => *ms as f64,
        AttributeValue::Double(ms) => *ms,
        AttributeValue::Int(_) | AttributeValue::String(_) => return None,
    };
    (ms > 0.0 && ms < 1e12).then_some((ms * 1e6) as u64)
}

/// The place that the parser names, and its reason in one line.
fn wrong(e: &DbcError) -> Failed {
    let text = e.to_string();
    let place = text.split_once("--> ").map(|(_, rest)| rest);
    let line = place.and_then(|rest| rest.split_once(':')?.0.parse().ok());
    let reason = text.lines().last().unwrap_or_default();
    let reason = reason.trim().trim_start_matches("= ");
    Failed::Wrong(
        Place::Line(line.unwrap_or(1)),
        format!("this is no valid DBC file ({reason}); open it in a DBC editor, and save it anew"),
    )
}
