//! Testbed files: the hosts and how each is reached.

use crate::node::{Node, Value, parse};
use crate::problem::{Place, Problem, Problems};
use crate::suggest;
use dyno_model::Testbed;
use dyno_model::plan::{Host, Reach};
use miette::NamedSource;
use std::sync::Arc;

/// Reads the testbed `name`; mistakes go to `problems`.
pub(crate) fn read(
    name: &str,
    source: &Arc<NamedSource<String>>,
    problems: &mut Problems,
) -> Option<Testbed> {
    let table = parse(source, problems)?;
    table.refuse_unknown("a testbed", &["description", "host"], problems);
    let description = match table.get("description") {
        Some(n) => n.text("`description`", problems).unwrap_or("").to_owned(),
        None => {
            problems.push(
                Problem::at(&Place::top(source), "the testbed has no `description`")
                    .label("`description` is missing")
                    .help("write `description = \"…\"`: one line on what it is"),
            );
            String::new()
        }
    };
    let nodes: &[Node] = match table.get("host").map(|n| (n, &n.value)) {
        Some((_, Value::List(items))) => items,
        Some((node, _)) => {
            problems.push(
                node.wrong_kind("`host`", "a list of tables")
                    .help("write [[host]] with two brackets, once for each host"),
            );
            return None;
        }
        None => &[],
    };
    if nodes.is_empty() {
        problems.push(
            Problem::at(&Place::top(source), "the testbed has no hosts")
                .label("nowhere to run")
                .help("add [[host]] with `name = \"here\"` and `reach = \"local\"`"),
        );
    }
    let mut hosts: Vec<Host> = Vec::new();
    for node in nodes {
        let Some(host) = host(node, problems) else {
            continue;
        };
        let here = |text: &str| Problem::at(&node.at, text);
        if hosts.iter().any(|h| h.name == host.name) {
            problems.push(
                here(&format!("two hosts are called {:?}", host.name))
                    .label("the name is taken")
                    .help("give each host a name of its own"),
            );
        } else if hosts.iter().any(|h| h.reach == host.reach) {
            problems.push(
                here("two hosts are local, and there is one local machine")
                    .label("the second one")
                    .help("keep one host with `reach = \"local\"`"),
            );
        }
        hosts.push(host);
    }
    (!hosts.is_empty()).then(|| Testbed {
        name: name.to_owned(),
        description,
        hosts,
    })
}

fn host(node: &Node, problems: &mut Problems) -> Option<Host> {
    let table = node.table("`host`", problems)?;
    table.refuse_unknown("a host", &["name", "reach", "address"], problems);
    let mut field = |key: &str, example: &str| match table.get(key) {
        Some(n) => n
            .text(&format!("`{key}`"), problems)
            .map(|t| (t.to_owned(), n.at.clone())),
        None => {
            problems.push(
                Problem::at(&node.at, format!("the host has no `{key}`"))
                    .label(format!("`{key}` is missing"))
                    .help(format!("write for example `{key} = {example:?}`")),
            );
            None
        }
    };
    let name = field("name", "here");
    let reach = field("reach", "local");
    let (reach, at) = reach?;
    if reach != "local" {
        problems.push(
            Problem::at(&at, format!("there is no way to reach a host by {reach:?}"))
                .label("unknown")
                .help(suggest::instead(&reach, "ways to reach a host", ["local"])),
        );
        return None;
    }
    let address = match table.get("address") {
        None => "127.0.0.1".to_owned(),
        Some(n) => {
            let text = n.text("`address`", problems)?;
            if text.parse::<std::net::IpAddr>().is_err() {
                problems.push(
                    Problem::at(&n.at, format!("{text:?} is not an IP address"))
                        .label("not an address")
                        .help("write for example \"127.0.0.1\""),
                );
                return None;
            }
            text.to_owned()
        }
    };
    Some(Host {
        name: name?.0,
        reach: Reach::Local,
        address,
        link: None,
        own_clock: false,
    })
}
