//! Stacks made of other stacks: the `[[leg]]`s of a stack file, what joins them, and what a chain cannot do.

use crate::catalog::Catalog;
use crate::daemon;
use crate::quantity::{DESCRIBE, PlainWait, Quantity, one, several};
use crate::stack::{self, Reader};
use dyno_model::chain::{Chain, ChainLeg, Full, Gateway, LEGS, Queue, Threads};
use dyno_model::daemon::Daemon;
use dyno_model::{AdapterDescription, Nanos, Options, Placement, Stack, Wait};
use dyno_toml::{Entry, Node, Place, Problem, Problems, Source, Table, Value, parse};

const KEYS: &[&str] = &[
    "description",
    "waits",
    "leg",
    "gateway",
    "daemon",
    "install",
];
const LEG: &[&str] = &["stack", "options", "wait", "placement"];
const GATEWAY: &[&str] = &["queue", "threads", "delay"];
const QUEUE: &[&str] = &["depth", "full"];

/// Deeper queues only hide a leg that cannot keep up.
const DEEPEST: u64 = 65_536;

/// What one `[[leg]]` adds: a leg, or all of those of another chain.
struct Part<'n> {
    at: &'n Place,
    name: String,
    legs: Vec<ChainLeg>,
    /// Between its own legs.
    gateways: Vec<Gateway>,
    /// The natural waits of what has no wait of its own.
    waits: Vec<Wait>,
    install: Option<String>,
    sends_later: bool,
}

/// Reads the stack `name`, a chain or not, with the options `set` in the place of its own; mistakes go to `problems`.
pub(crate) fn read_stack(
    catalog: &Catalog,
    name: &str,
    source: &Source,
    adapters: &[AdapterDescription],
    set: &[Entry],
    problems: &mut Problems,
) -> Option<Stack> {
    let reader = Reader {
        catalog,
        adapters,
        within: &[name],
    };
    read_within(&reader, source, set, problems)
}

/// The same for a stack that may be a leg of others.
fn read_within(
    reader: &Reader<'_>,
    source: &Source,
    set: &[Entry],
    problems: &mut Problems,
) -> Option<Stack> {
    let table = parse(source, problems)?;
    if table.get("leg").is_none() {
        return stack::read(reader, source, &table, set, problems);
    }
    let name = *reader.within.last()?;
    for entry in set {
        Problem::at(&entry.key_at, format!("the chain {name:?} has no options"))
            .label("an option of one of its legs")
            .help("set it in the stack file of the leg, or name the leg's stack alone")
            .note(problems);
    }
    read(reader, source, &table, problems)
}

/// Reads the chain in `table`; mistakes go to `problems`.
fn read(
    reader: &Reader<'_>,
    source: &Source,
    table: &Table,
    problems: &mut Problems,
) -> Option<Stack> {
    table.refuse_unknown("a chain", KEYS, problems);
    let name = reader.within.last()?;
    let top = Place::top(source);
    let description = table.required("description", "the chain", &top, DESCRIBE, problems);
    let description = description.and_then(|node| node.text("`description`", problems));
    let joint = table
        .get("gateway")
        .map_or(Some(Gateway::default()), |node| gateway(node, problems));
    let node = table.get("leg")?;
    let items = node.tables("`leg`", "begin each leg with a line `[[leg]]`", problems)?;
    // All mistakes are reported, not the first alone.
    let parts: Vec<Option<Part<'_>>> = items.iter().map(|n| part(reader, n, problems)).collect();
    let parts: Vec<Part<'_>> = parts.into_iter().collect::<Option<_>>()?;
    let mut joint = joint?;
    if let Some(node) = table.get("daemon") {
        joint.programs = programs(node, table, &parts, reader, problems);
    }
    let chain = join(&parts, &joint, reader.adapters, problems);
    if !LEGS.contains(&chain.legs.len()) {
        let found = chain.legs.len();
        return Problem::at(
                &node.at,
                format!(
                    "a chain has {} to {} legs, found {found}",
                    LEGS.start(),
                    LEGS.end()
                ),
            )
            .label(if found < 2 { "nothing to join" } else { "too many" })
            .help(match found {
                0 | 1 => "write at least two [[leg]]s, or name the stack itself where a suite or --stack names this one",
                _ => "leave some out; the legs of a chain that is a leg count too",
            }).refuse(problems);
    }
    let waits = waits(table, &node.at, &parts, reader.adapters, problems)?;
    let mut daemons = Vec::new();
    let programs = chain.gateways.iter().flat_map(|gateway| &gateway.programs);
    for daemon in chain
        .legs
        .iter()
        .flat_map(|leg| &leg.daemons)
        .chain(programs)
    {
        if !daemons.contains(daemon) {
            daemons.push(daemon.clone());
        }
    }
    let adapters: Vec<&str> = chain.legs.iter().map(|leg| leg.adapter.as_str()).collect();
    Some(Stack {
        name: (*name).to_owned(),
        adapter: adapters.join(" > "),
        description: description?.to_owned(),
        waits,
        options: Options::new(),
        sends_later: parts.first().is_some_and(|part| part.sends_later),
        placements: vec![match chain.hosts() {
            1 => Placement::Process,
            _ => Placement::Host,
        }],
        daemons,
        install: match table.get("install") {
            Some(_) => table.text("install", problems).map(str::to_owned),
            None => only(parts.iter().filter_map(|part| part.install.clone())),
        },
        chain: Some(chain),
        ..Stack::default()
    })
}

/// The stacks that the legs of a stack file name, as far as it can be read.
pub(crate) fn named(table: &Table) -> Vec<&str> {
    let Some(Value::List(items)) = table.get("leg").map(|n| &n.value) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for item in items {
        if let Value::Table(leg) = &item.value
            && let Some(Value::Text(name)) = leg.get("stack").map(|n| &n.value)
        {
            all.push(name.as_str());
        }
    }
    all
}

fn part<'n>(reader: &Reader<'_>, node: &'n Node, problems: &mut Problems) -> Option<Part<'n>> {
    let table = node.table("a leg", problems)?;
    table.refuse_unknown("a leg", LEG, problems);
    let advice = "write `stack = \"…\"`; see `dyno list stacks`";
    let named = table.required("stack", "the leg", &node.at, advice, problems)?;
    let name = named.text("`stack`", problems)?;
    if reader.within.contains(&name) {
        let way: Vec<&str> = reader.within.iter().copied().chain([name]).collect();
        return Problem::at(
            &named.at,
            format!("the chain {name:?} names itself: {}", way.join(" > ")),
        )
        .label("a leg of itself")
        .help("name another stack")
        .refuse(problems);
    }
    let wait = given::<PlainWait>(table, "wait", problems);
    let placement = given::<Placement>(table, "placement", problems);
    let source = match reader.catalog.stack(name, &named.at) {
        Ok(source) => source,
        Err(problem) => return problem.refuse(problems),
    };
    let within: Vec<&str> = reader.within.iter().copied().chain([name]).collect();
    let inner = Reader {
        within: &within,
        ..*reader
    };
    // What differs of the leg's stack in this chain.
    let options = table.table("options", problems);
    let options = options.map_or(&[][..], |t| &t.0);
    let stack = read_within(&inner, source, options, problems)?;
    let (wait, placement) = (wait?.map(|wait| wait.0), placement?);
    let waits = wait.map_or_else(|| stack.waits.clone(), |_| Vec::new());
    let (legs, gateways, waits) = match stack.chain {
        Some(mut chain) => {
            if let Some(at) = table.get("placement").map(|n| &n.at) {
                Problem::at(
                    at,
                    format!("the leg {name:?} is a chain, whose legs have placements"),
                )
                .label("leave it out")
                .help(format!("write `placement` at the legs of {name}"))
                .note(problems);
            }
            let has_own = chain.legs.iter().all(|leg| leg.wait.is_some());
            for leg in &mut chain.legs {
                leg.wait = leg.wait.or(wait);
            }
            let waits = if has_own { Vec::new() } else { waits };
            (chain.legs, chain.gateways, waits)
        }
        None => {
            let leg = ChainLeg {
                stack: name.to_owned(),
                adapter: stack.adapter.clone(),
                options: stack.options.clone(),
                wait,
                placement: placement.unwrap_or(Placement::Process),
                daemons: stack.daemons.clone(),
            };
            let adapter = reader.adapters.iter().find(|a| a.name == leg.adapter)?;
            if let Some(text) = impossible(&leg, &stack, adapter) {
                Problem::at(
                    &named.at,
                    format!("the stack {name:?} cannot be this leg: {text}"),
                )
                .label("cannot be this leg")
                .help("name another stack, or give the leg another `wait` or `placement`")
                .note(problems);
            }
            (vec![leg], Vec::new(), waits)
        }
    };
    Some(Part {
        at: &named.at,
        name: name.to_owned(),
        legs,
        gateways,
        waits,
        install: stack.install,
        sends_later: stack.sends_later,
    })
}

/// The legs of all parts with what joins them; what cannot be joined is a problem.
fn join(
    parts: &[Part<'_>],
    joint: &Gateway,
    adapters: &[AdapterDescription],
    problems: &mut Problems,
) -> Chain {
    let mut chain = Chain {
        legs: Vec::new(),
        gateways: Vec::new(),
    };
    for part in parts {
        if !chain.legs.is_empty() {
            chain.gateways.push(joint.clone());
        }
        chain.gateways.extend(part.gateways.iter().cloned());
        chain.legs.extend(part.legs.iter().cloned());
        if joint.is_foreign() {
            continue;
        }
        if let Some(text) = unjoinable(&chain.legs, part.legs.len(), adapters) {
            Problem::at(part.at, text).label("no gateway can join them").help(
                "put a leg between them whose adapter is built in: a gateway to it and one from it are two \
                 processes",
            ).note(problems);
        }
    }
    chain
}

/// The value of a key, if it stands there; `None` where it is none of its kind.
fn given<T: Quantity>(table: &Table, key: &str, problems: &mut Problems) -> Option<Option<T>> {
    match table.get(key) {
        None => Some(None),
        Some(node) => one::<T>(key, node, problems).map(|at| Some(at.value)),
    }
}

fn gateway(node: &Node, problems: &mut Problems) -> Option<Gateway> {
    let table = node.table("`gateway`", problems)?;
    table.refuse_unknown("a gateway", GATEWAY, problems);
    let threads = given::<Threads>(table, "threads", problems);
    let queue = match table.get("queue") {
        None => Some(None),
        Some(node) => queue(node, problems).map(Some),
    };
    let delay = given::<Nanos>(table, "delay", problems);
    Some(Gateway {
        programs: Vec::new(),
        queue: queue?,
        threads: threads?,
        delay: delay?,
    })
}

/// The programs that bridge the two legs of the file, in the place of a gateway of Dyno's.
fn programs(
    node: &Node,
    table: &Table,
    parts: &[Part<'_>],
    reader: &Reader<'_>,
    problems: &mut Problems,
) -> Vec<Daemon> {
    let [a, b] = parts else {
        Problem::at(
                &node.at,
                format!("a program bridges two legs, found {}", parts.len()),
            )
            .label("not two legs")
            .help("write the two legs and their program to a stack file of their own, and name that as a leg").note(problems);
        return Vec::new();
    };
    if let Some(at) = table.get("gateway").map(|n| &n.at) {
        Problem::at(at, "a program bridges these legs, not a gateway of Dyno")
            .label("leave it out")
            .help("what the program does is in its own configuration: `[daemon.files]`")
            .note(problems);
    }
    // Its texts may name options of the legs that it joins.
    let joined = [a.legs.last(), b.legs.first()];
    let known: Vec<(&Options, &AdapterDescription)> = joined
        .into_iter()
        .flatten()
        .filter_map(|leg| {
            let adapter = reader.adapters.iter().find(|a| a.name == leg.adapter)?;
            Some((&leg.options, adapter))
        })
        .collect();
    daemon::read(node, &known, problems)
}

fn queue(node: &Node, problems: &mut Problems) -> Option<Queue> {
    let table = node.table("`queue`", problems)?;
    table.refuse_unknown("a queue", QUEUE, problems);
    let full = given::<Full>(table, "full", problems);
    let advice = "write for example `queue = { depth = 64, full = \"hold-up\" }`";
    let depth = table.required("depth", "the queue", &node.at, advice, problems)?;
    let depth = depth.whole("`depth`", 1, DEEPEST, problems)?;
    Some(Queue {
        depth: u32::try_from(depth).ok()?,
        full: full?.unwrap_or_default(),
    })
}

/// What a suite's `wait = "natural"` stands for on the chain: what is natural to all legs without a wait of their own.
fn waits(
    table: &Table,
    at: &Place,
    parts: &[Part<'_>],
    adapters: &[AdapterDescription],
    problems: &mut Problems,
) -> Option<Vec<Wait>> {
    let legs = || parts.iter().flat_map(|part| &part.legs);
    let free: Vec<&ChainLeg> = legs().filter(|leg| leg.wait.is_none()).collect();
    let given = table.get("waits");
    if free.is_empty() {
        if let Some(node) = given {
            Problem::at(&node.at, "every leg of the chain has a wait of its own")
                .label("leave it out")
                .note(problems);
        }
        // How receivers at the end wait.
        return legs()
            .last()
            .and_then(|leg| leg.wait)
            .map(|wait| vec![wait]);
    }
    if let Some(node) = given {
        let waits = several::<PlainWait>("waits", node, problems)?;
        for wait in &waits {
            let cannot = free.iter().find(|leg| {
                let adapter = adapters.iter().find(|a| a.name == leg.adapter);
                adapter.is_some_and(|a| {
                    a.is_known() && !a.capabilities.of_stack(false).waits.contains(&wait.value.0)
                })
            });
            if let Some(leg) = cannot {
                let text = format!("the leg {:?} cannot wait by {}", leg.stack, wait.value.0);
                Problem::at(&wait.at, text)
                    .label(format!("not among the capabilities of {}", leg.adapter))
                    .help("give that leg a `wait` of its own")
                    .note(problems);
            }
        }
        return Some(waits.into_iter().map(|wait| wait.value.0).collect());
    }
    let mut natural = parts.iter().filter(|part| !part.waits.is_empty());
    let first = natural
        .next()
        .map(|part| part.waits.clone())
        .unwrap_or_default();
    let rest: Vec<&Part<'_>> = natural.collect();
    let common = |wait: &Wait| rest.iter().all(|part| part.waits.contains(wait));
    let waits: Vec<Wait> = first.into_iter().filter(common).collect();
    if waits.is_empty() {
        let of = |part: &Part<'_>| {
            let words: Vec<&str> = part.waits.iter().map(|w| w.as_str()).collect();
            format!("{} {}", part.name, words.join(" and "))
        };
        let all: Vec<String> = parts
            .iter()
            .filter(|p| !p.waits.is_empty())
            .map(of)
            .collect();
        return Problem::at(
            at,
            format!(
                "the legs have no natural wait in common: {}",
                all.join(", ")
            ),
        )
        .label("without a wait of their own")
        .help("write `wait` at the legs, or `waits` for the chain")
        .refuse(problems);
    }
    Some(waits)
}

/// Why the stack cannot be that leg of any chain. Of an adapter that could not be asked nothing is known.
fn impossible(leg: &ChainLeg, stack: &Stack, adapter: &AdapterDescription) -> Option<String> {
    let can = &adapter.capabilities;
    if !adapter.is_known() {
        return None;
    }
    if can.loopback {
        return Some(format!(
            "{} plays both sides in one participant, and no gateway can stand between them",
            adapter.name
        ));
    }
    if stack.asks {
        return Some(
            "its readers poll for the current value, and gateways cannot do this".to_owned(),
        );
    }
    if leg.placement == Placement::Thread {
        return Some("a gateway is a process of its own".to_owned());
    }
    let own = match stack.placements.as_slice() {
        [] => &can.placements,
        _ => &stack.placements,
    };
    if !own.contains(&leg.placement) || !can.placements.contains(&leg.placement) {
        let words: Vec<&str> = own.iter().map(|p| p.as_str()).collect();
        return Some(format!(
            "it runs with placement {}, not {}",
            words.join(", "),
            leg.placement
        ));
    }
    let wait = leg.wait.filter(|wait| !can.waits.contains(wait))?;
    let words: Vec<&str> = can.waits.iter().map(|w| w.as_str()).collect();
    Some(format!(
        "{} does not support wait {wait}, only {}",
        adapter.name,
        words.join(", ")
    ))
}

/// Why no gateway can join the last legs, `added` in number, to those before them: a process loads one library only.
fn unjoinable(legs: &[ChainLeg], added: usize, adapters: &[AdapterDescription]) -> Option<String> {
    let joint = legs.len().checked_sub(added).filter(|joint| *joint > 0)?;
    let [before, after] = [legs.get(joint - 1)?, legs.get(joint)?];
    let is_library = |leg: &ChainLeg| {
        let adapter = adapters.iter().find(|a| a.name == leg.adapter);
        adapter.is_some_and(|a| a.library.is_some())
    };
    let clash = before.adapter != after.adapter && is_library(before) && is_library(after);
    clash.then(|| {
        format!(
            "the legs {:?} and {:?} are on two libraries, {} and {}, and a process loads one only",
            before.stack, after.stack, before.adapter, after.adapter
        )
    })
}

/// What there is, where there is one: of several commands none installs what another leg needs.
fn only(mut commands: impl Iterator<Item = String>) -> Option<String> {
    commands.next().filter(|_| commands.next().is_none())
}
