//! Testbed files: the hosts, how each is reached, and the link that joins them.

use crate::link;
use crate::machine;
use crate::overrides::Override;
use crate::quantity::{DESCRIBE, is_plain_name, plain_name};
use dyno_model::Testbed;
use dyno_model::plan::{Host, Link, Reach};
use dyno_toml::{Node, Place, Problem, Problems, Source, Table, parse, suggest};
use std::net::{IpAddr, Ipv4Addr};

const TESTBED_KEYS: &[&str] = &[
    "description",
    "link",
    "host",
    "keeps_state",
    machine::SHARED_MEMORY,
];
const HOST_KEYS: &[&str] = &[
    "name",
    "reach",
    "destination",
    "address",
    "count",
    "own_clock",
    "kernel",
    "memory",
    "cpus",
    "pinned",
    "accelerator",
];
const REACHES: [&str; 4] = ["local", "namespace", "ssh", "vm"];
/// Namespaces and virtual machines share the CPUs of one machine: with more of them nothing is measured but that.
const MOST_NAMESPACES: usize = 8;
/// The address of the first namespace, where the file has none.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// A host and where it stands in the file.
struct Placed<'a> {
    host: Host,
    at: &'a Place,
}

/// Reads the testbed `name`, with `--set link.KEY=…` over it; mistakes go to `problems`.
pub(crate) fn read(
    name: &str,
    source: &Source,
    overrides: &[Override],
    problems: &mut Problems,
) -> Option<Testbed> {
    let table = parse(source, problems)?;
    table.refuse_unknown("a testbed", TESTBED_KEYS, problems);
    let top = Place::top(source);
    let description = table.required("description", "the testbed", &top, DESCRIBE, problems);
    let description = description.and_then(|node| node.text("`description`", problems));
    let advice = "write [[host]] with two brackets, once for each host";
    let nodes = match table.get("host") {
        Some(node) => node.tables("`host`", advice, problems)?,
        None => &[],
    };
    if nodes.is_empty() {
        Problem::at(&top, "the testbed has no hosts")
            .label("nowhere to run")
            .help("add [[host]] with `name = \"here\"` and `reach = \"local\"`")
            .note(problems);
    }
    let mut placed: Vec<Placed<'_>> = Vec::new();
    for node in nodes {
        let before = placed.len();
        for host in hosts(node, before, problems).unwrap_or_default() {
            add(Placed { host, at: &node.at }, &mut placed, problems);
        }
    }
    refuse_crowd(&placed, problems);
    if !placed.is_empty() {
        let joined = placed.iter().any(|p| p.host.reach != Reach::Local);
        let machines = placed.iter().any(|p| matches!(p.host.reach, Reach::Vm(_)));
        let link: Option<Link> = match joined && !machines {
            true => link::read(&table, overrides, problems),
            false => {
                link::refuse(&table, overrides, machines, problems);
                None
            }
        };
        let shared = machine::shared(&table, machines, problems);
        for p in &mut placed {
            p.host.link = link;
            if let Reach::Vm(machine) = &mut p.host.reach {
                machine.shared_bytes = shared;
            }
        }
    }
    let keeps_state = match table.get("keeps_state") {
        Some(node) => node.bool("`keeps_state`", problems)?,
        None => false,
    };
    (!placed.is_empty()).then(|| Testbed {
        keeps_state,
        name: name.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        hosts: placed.into_iter().map(|p| p.host).collect(),
    })
}

/// Adds a host to those before it, whose names and addresses it must not have.
fn add<'a>(new: Placed<'a>, placed: &mut Vec<Placed<'a>>, problems: &mut Problems) {
    let here = |text: String| Problem::at(new.at, text);
    let (name, address) = (&new.host.name, &new.host.address);
    if placed.iter().any(|p| p.host.name == *name) {
        here(format!("two hosts are called {name:?}"))
            .label("the name is taken")
            .help("give each host a name of its own")
            .note(problems);
    }
    let kind = |p: &Placed<'_>| reach_name(&p.host.reach);
    let at_switch = |p: &Placed<'_>| is_at_switch(&p.host.reach);
    match placed.first() {
        Some(first) if kind(first) != kind(&new) && !(at_switch(first) && at_switch(&new)) => {
            here(format!(
                "a host reached by {:?} cannot stand beside one reached by {:?}",
                kind(&new),
                kind(first)
            ))
            .label("nothing joins the two")
            .help("reach all hosts alike; only namespaces and virtual machines mix")
            .note(problems)
        }
        // With a clock of its own it stands for another machine: to try what clocks do to figures.
        Some(_) if new.host.reach == Reach::Local && !new.host.own_clock => {
            here("two hosts are local, and there is one local machine".into())
                .label("the second one")
                .help("keep one host with `reach = \"local\"`, or make all of them namespaces")
                .note(problems)
        }
        Some(_) if placed.iter().any(|p| p.host.address == *address) => {
            here(format!("two hosts have the address {address}"))
                .label("the address is taken")
                .help("give each host an address of its own")
                .note(problems)
        }
        Some(first) if at_switch(first) && !is_beside(first, &new) => {
            here(format!(
                "{address} and {} are not of one subnet",
                first.host.address
            ))
            .label("no route leads there")
            .help("the hosts are joined by a switch: give all of them addresses of one /24")
            .note(problems);
        }
        _ => {}
    }
    placed.push(new);
}

/// Whether both addresses are of one /24.
fn is_beside(a: &Placed<'_>, b: &Placed<'_>) -> bool {
    let net = |p: &Placed<'_>| {
        let address: Option<Ipv4Addr> = p.host.address.parse().ok();
        address.map(|a| a.octets()[..3].to_vec())
    };
    net(a) == net(b)
}

fn refuse_crowd(placed: &[Placed<'_>], problems: &mut Problems) {
    let mut here = placed.iter().filter(|p| is_at_switch(&p.host.reach));
    if let Some(surplus) = here.nth(MOST_NAMESPACES) {
        Problem::at(
            surplus.at,
            format!("a testbed has at most {MOST_NAMESPACES} namespaces and virtual machines"),
        )
        .label("one too many")
        .help("they share the CPUs of one machine: use fewer, or real hosts with `reach = \"ssh\"`")
        .note(problems);
    }
}

/// Namespaces and virtual machines are at one switch.
const fn is_at_switch(reach: &Reach) -> bool {
    matches!(reach, Reach::Namespace | Reach::Vm(_))
}

const fn reach_name(reach: &Reach) -> &'static str {
    match reach {
        Reach::Local => REACHES[0],
        Reach::Namespace => REACHES[1],
        Reach::Ssh { .. } => REACHES[2],
        Reach::Vm(_) => REACHES[3],
    }
}

/// The hosts that one `[[host]]` stands for; `before` hosts come before them.
fn hosts(node: &Node, before: usize, problems: &mut Problems) -> Option<Vec<Host>> {
    let table = node.table("`host`", problems)?;
    table.refuse_unknown("a host", HOST_KEYS, problems);
    let advice = "write for example `name = \"here\"`";
    let name = table.required("name", "the host", &node.at, advice, problems);
    let name = name.and_then(|n| name_of(n, problems));
    let reach = reach(node, table, problems);
    let own_clock = match table.get("own_clock") {
        Some(n) => n.bool("`own_clock`", problems)?,
        None => false,
    };
    let (name, reach) = (name?, reach?);
    refuse_of_others(table, &reach, problems);
    let first = match (table.get("address"), &reach) {
        (Some(n), _) => address(n, &reach, problems)?,
        (None, Reach::Local) => Ipv4Addr::LOCALHOST.into(),
        // Wraps nowhere: there are few of them.
        (None, Reach::Namespace | Reach::Vm(_)) => IpAddr::V4(nth(FIRST_ADDRESS, before)?),
        (None, Reach::Ssh { .. }) => {
            return Problem::at(&node.at, "the host has no `address`")
                .label("`address` is missing")
                .help(
                    "write the IP address at which the other hosts reach it, for example \
                         `address = \"192.168.1.7\"`",
                )
                .refuse(problems);
        }
    };
    let host = |name: String, address: IpAddr| Host {
        name,
        reach: reach.clone(),
        address: address.to_string(),
        link: None,
        own_clock,
    };
    let (Reach::Namespace, Some(count), IpAddr::V4(base)) = (&reach, table.get("count"), first)
    else {
        return Some(vec![host(name, first)]);
    };
    let most = MOST_NAMESPACES as u64;
    let count = count.whole("`count`", 1, most, problems)? as usize;
    if base.octets()[3] as usize + count > 255 {
        return Problem::at(
            &node.at,
            format!("{count} addresses from {base} on leave its /24"),
        )
        .label("too few addresses")
        .help("write a lower `address`")
        .refuse(problems);
    }
    (0..count)
        .map(|i| Some(host(format!("{name}{}", i + 1), nth(base, i)?.into())))
        .collect()
}

fn nth(base: Ipv4Addr, offset: usize) -> Option<Ipv4Addr> {
    let offset = u32::try_from(offset).ok()?;
    base.to_bits().checked_add(offset).map(Ipv4Addr::from_bits)
}

fn name_of(node: &Node, problems: &mut Problems) -> Option<String> {
    let help = "write for example \"h1\"; `description` may hold any text";
    plain_name(node, "a host's name", help, problems)
}

fn reach(node: &Node, table: &Table, problems: &mut Problems) -> Option<Reach> {
    let required = |key, advice, problems: &mut Problems| {
        table.required(key, "the host", &node.at, advice, problems)
    };
    let at = required("reach", "write for example `reach = \"local\"`", problems)?;
    match at.text("`reach`", problems)? {
        "local" => Some(Reach::Local),
        "namespace" => Some(Reach::Namespace),
        "vm" => machine::read(table, problems).map(Reach::Vm),
        "ssh" => {
            let advice = "write for example `destination = \"user@host\"`";
            let to = required("destination", advice, problems)?;
            let destination = to.text("`destination`", problems)?;
            let odd = |c: char| c.is_whitespace() || c.is_control();
            if destination.is_empty() || destination.starts_with('-') || destination.contains(odd) {
                return Problem::at(
                        &to.at,
                        format!("{destination:?} is not a destination of ssh"),
                    )
                    .label("not a destination")
                    .help("write \"host\", \"user@host\", or a name of your ssh_config; options belong there").refuse(problems);
            }
            Some(Reach::Ssh {
                destination: destination.to_owned(),
            })
        }
        other => Problem::at(
            &at.at,
            format!("there is no way to reach a host by {other:?}"),
        )
        .label("unknown")
        .help(suggest::instead(other, "ways to reach a host", REACHES))
        .refuse(problems),
    }
}

/// Refuses keys that mean something for hosts of another reach only.
fn refuse_of_others(table: &Table, reach: &Reach, problems: &mut Problems) {
    let kind = reach_name(reach);
    let of_machines = machine::KEYS.map(|key| (key, REACHES[3]));
    for (key, of) in [("destination", "ssh"), ("count", "namespace")]
        .into_iter()
        .chain(of_machines)
    {
        if let Some(entry) = table.entry(key).filter(|_| kind != of) {
            Problem::at(
                &entry.key_at,
                format!("a host reached by {kind:?} has no `{key}`"),
            )
            .label("means nothing here")
            .help(format!("remove it, or write `reach = {of:?}`"))
            .note(problems);
        }
    }
}

fn address(node: &Node, reach: &Reach, problems: &mut Problems) -> Option<IpAddr> {
    let text = node.text("`address`", problems)?;
    let Ok(address) = text.parse::<IpAddr>() else {
        return Problem::at(&node.at, format!("{text:?} is not an IP address"))
            .label("not an address")
            .help("write for example \"127.0.0.1\"")
            .refuse(problems);
    };
    if can_have(reach, address) {
        return Some(address);
    }
    let problem = match reach {
        Reach::Namespace | Reach::Vm(_) => Problem::at(
            &node.at,
            format!("{address} is not an address for a host at a switch of Dyno's"),
        )
        .label("not a private IPv4 address of a host")
        .help("write for example \"10.77.0.1\", or leave it out"),
        Reach::Local | Reach::Ssh { .. } => Problem::at(
            &node.at,
            format!("{address} is not the address of one host"),
        )
        .label("an address of all hosts or of several")
        .help("write the address at which the other hosts reach it, for example \"192.168.1.7\""),
    };
    problem.refuse(problems)
}

/// Whether a host that is reached so can have this address: its own, and at a switch of Dyno's a private one.
fn can_have(reach: &Reach, address: IpAddr) -> bool {
    match (reach, address) {
        (Reach::Namespace | Reach::Vm(_), IpAddr::V4(a)) => {
            a.is_private() && !matches!(a.octets()[3], 0 | 255)
        }
        (Reach::Namespace | Reach::Vm(_), IpAddr::V6(_)) => false,
        (Reach::Local | Reach::Ssh { .. }, a) => {
            let a = a.to_canonical();
            !a.is_unspecified() && !a.is_multicast() && a != IpAddr::V4(Ipv4Addr::BROADCAST)
        }
    }
}

/// A host that stands in `testbed` although no file makes one of it: for plans that were stored, which anybody may have changed.
pub fn impossible(testbed: &Testbed) -> Option<&Host> {
    let mut before: Vec<&Host> = Vec::new();
    testbed.hosts.iter().find(|host| {
        let address = host.address.parse();
        let is_new = |other: &&Host| other.name != host.name && other.address != host.address;
        let is_possible = is_plain_name(&host.name)
            && ![".", ".."].contains(&host.name.as_str())
            && address.is_ok_and(|address| can_have(&host.reach, address))
            && before.iter().all(is_new)
            && (before.len() < MOST_NAMESPACES || !is_at_switch(&host.reach));
        before.push(host);
        !is_possible
    })
}
