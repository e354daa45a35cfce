//! `payload` of a flow: one size, a list with weights, or a range.

use crate::quantity::{At, HEADER_BYTES, one};
use dyno_model::WorkloadKind;
use dyno_model::sizes::{Sizes, Weighted};
use dyno_model::unit::PayloadSize;
use dyno_toml::{Node, Problem, Problems, Table, Value};

/// The most sizes of one list.
const MOST_SIZES: usize = 64;

/// The largest weight.
const MOST_WEIGHT: u64 = 1_000_000;

/// Reads a list or a range; `None` where it is neither, or wrong. Whether it is one says [`is_several`].
pub(crate) fn read(
    node: &Node,
    workload: Option<&At<WorkloadKind>>,
    problems: &mut Problems,
) -> Option<Sizes> {
    let sizes = match &node.value {
        Value::List(items) => list(node, items, problems)?,
        Value::Table(range) => between(node, range, problems)?,
        _ => return None,
    };
    if let Some(workload) = workload.filter(|w| w.value.is_closed_loop()) {
        return Problem::at(
            &node.at,
            format!("a {} has messages of one size", workload.value),
        )
        .label("several sizes")
        .help("write one size, or make it a stream: a reply has the size of its request")
        .refuse(problems);
    }
    if sizes
        .least()
        .is_some_and(|least| least.bytes() < HEADER_BYTES)
    {
        return Problem::at(
            &node.at,
            "its smallest payload has no room for the stamps of a one-way message",
        )
        .label("smaller than tag and stamps")
        .help(format!("write at least \"{HEADER_BYTES} B\""))
        .refuse(problems);
    }
    Some(sizes)
}

/// Whether a payload is written as a list or as a range.
pub(crate) fn is_several(node: &Node) -> bool {
    matches!(node.value, Value::List(_) | Value::Table(_))
}

fn list(node: &Node, items: &[Node], problems: &mut Problems) -> Option<Sizes> {
    if items.is_empty() || items.len() > MOST_SIZES {
        return Problem::at(
            &node.at,
            format!(
                "a list of payloads has 1 to {MOST_SIZES} sizes, not {}",
                items.len()
            ),
        )
        .label("this list")
        .refuse(problems);
    }
    let all = items.iter().map(|item| {
        let Value::Table(table) = &item.value else {
            let size = one::<PayloadSize>("payload", item, problems)?.value;
            return Some(Weighted { size, weight: 1 });
        };
        table.refuse_unknown("a payload of a list", &["size", "weight"], problems);
        let size = size(item, table, "size", problems)?;
        let weight = match table.get("weight") {
            Some(node) => node.whole("`weight`", 1, MOST_WEIGHT, problems)?,
            None => 1,
        };
        Some(Weighted {
            size,
            weight: u32::try_from(weight).ok()?,
        })
    });
    Some(Sizes::OneOf(all.collect::<Option<Vec<_>>>()?))
}

fn between(node: &Node, range: &Table, problems: &mut Problems) -> Option<Sizes> {
    range.refuse_unknown("a range of payloads", &["from", "to"], problems);
    let least = size(node, range, "from", problems)?;
    let most = size(node, range, "to", problems)?;
    if least > most {
        return Problem::at(
            &node.at,
            format!("a range of payloads goes up, and {least} is above {most}"),
        )
        .label("the other way round")
        .refuse(problems);
    }
    Some(Sizes::Between { least, most })
}

fn size(node: &Node, table: &Table, key: &str, problems: &mut Problems) -> Option<PayloadSize> {
    let advice =
        "write { size = \"64 B\", weight = 9 } in a list, or { from = \"64 B\", to = \"4 kB\" }";
    let found = table.required(key, "the payload", &node.at, advice, problems)?;
    Some(one::<PayloadSize>(key, found, problems)?.value)
}
