//! `[[experiment.flow]]`: several workloads of one experiment that run at the same time.

use crate::quantity::{At, Quantity, name, one};
use crate::sets::Cpus;
use crate::settings::{Flows, Form, Setting, Settings, check_workload, keys, setting, time};
use crate::sizes;
use dyno_model::factors::{self, Scope};
use dyno_model::plan::Extent;
use dyno_model::sizes::Sizes;
use dyno_model::unit::{Nanos, RateHz, UnitError};
use dyno_model::{Arrivals, Phase, Processes, Topology, Workload, WorkloadKind};
use dyno_toml::{Entry, Node, Place, Problem, Problems, Table, Value, unknown_key};

/// What a flow has that an experiment alone has not.
#[derive(Clone)]
pub(crate) struct FlowSpec {
    pub(crate) name: At<String>,
    pub(crate) processes: Processes,
    /// So many alike.
    pub(crate) count: u16,
    pub(crate) jitter: Option<At<Nanos>>,
    pub(crate) phase: Option<At<Phase>>,
    /// Of its messages, where they differ.
    pub(crate) sizes: Option<Sizes>,
    /// The flow before it whose messages it reads, and by how many readers.
    pub(crate) reads: Option<Reads>,
}

/// What a flow reads that has no sender of its own.
#[derive(Debug, Clone)]
pub(crate) struct Reads {
    /// The flow.
    pub(crate) of: String,
    /// Its place among the flows of the experiment.
    pub(crate) place: usize,
    pub(crate) readers: u16,
}

/// One flow as it is read: what it is, and its workload and settings.
pub(crate) struct ReadFlow {
    pub(crate) spec: FlowSpec,
    pub(crate) workload: At<WorkloadKind>,
    /// With those of its experiment.
    pub(crate) own: Settings,
}

/// Whether a flow may have the setting.
fn is_own_setting(setting: Setting) -> bool {
    matches!(
        setting.flows,
        Flows::Own | Flows::OwnOrAll | Flows::OwnOrVaried
    )
}

/// Whether a key belongs to one flow or to none, so that an experiment with flows does not have it.
pub(crate) fn is_not_for_all(key: &str) -> bool {
    let is_strange = |s: Setting| matches!(s.flows, Flows::Own | Flows::No);
    key == "workload" || setting(key).is_some_and(is_strange)
}

/// Whether a matrix of an experiment with flows may vary the setting: it is one of all flows.
fn varies_for_all(setting: Setting) -> bool {
    setting.varies && matches!(setting.flows, Flows::All | Flows::OwnOrVaried)
}

/// Keys of a flow that are no settings.
const KEYS: &[&str] = &[
    "name", "workload", "count", "cycle", "jitter", "phase", "reads", "readers",
];

/// Settings of sinks.
fn of_sinks() -> impl Iterator<Item = &'static str> {
    let all = factors::settings().filter(|s| s.scope == Scope::Sink);
    all.map(|s| s.key)
}

/// Keys of a flow that reads what another one sends: all else is the other one's.
fn of_reader() -> Vec<&'static str> {
    let own = ["name", "reads", "readers", "placement"];
    own.into_iter().chain(of_sinks()).collect()
}

impl Quantity for Phase {
    fn read(text: &str) -> Result<Self, UnitError> {
        match text {
            "spread" => Ok(Phase::Spread),
            time => time.parse().map(Phase::After),
        }
    }
}

/// Reads the flows of an experiment; mistakes go to `problems`.
pub(crate) fn read(experiment: &Table, problems: &mut Problems) -> Vec<ReadFlow> {
    let advice = "write [[experiment.flow]] with two brackets, once for each flow";
    let node = experiment.get("flow");
    let Some(items) = node.and_then(|n| n.tables("`flow`", advice, problems)) else {
        return Vec::new();
    };
    let processes = experiment.get("processes");
    let processes = processes.and_then(|n| one::<Processes>("processes", n, problems));
    let processes = processes.map_or(Processes::PerFlow, |p| p.value);
    let matrix = match experiment.get("matrix").map(|n| &n.value) {
        Some(Value::Table(matrix)) => matrix.0.as_slice(),
        _ => &[],
    };
    refuse_strangers(&experiment.0, matrix, problems);
    let common: Vec<&Entry> = experiment.0.iter().chain(matrix).collect();
    let mut flows: Vec<ReadFlow> = Vec::new();
    for node in items {
        let read = node
            .table("`flow`", problems)
            .and_then(|table| match table.entry("reads") {
                Some(reads) => reader(node, table, reads, &flows, &common, problems),
                None => flow(node, table, processes, &common, problems),
            });
        let Some(flow) = read else {
            continue;
        };
        let name = &flow.spec.name;
        if flows.iter().any(|f| f.spec.name.value == name.value) {
            Problem::at(&name.at, format!("two flows are called {:?}", name.value))
                .label("the name is taken")
                .help("give each flow a name of its own; `count` makes several identical flows")
                .note(problems);
        }
        flows.push(flow);
    }
    flows
}

/// What stands in the experiment, or in its matrix, and belongs to flows.
fn refuse_strangers(own: &[Entry], matrix: &[Entry], problems: &mut Problems) {
    let strange = |e: &&Entry| is_not_for_all(&e.key);
    for entry in own.iter().filter(strange) {
        let help = match entry.key.as_str() {
            "parallel" => "write `count` in a flow for several identical flows",
            "messages" | "round_trips" => "all flows share one window: write `window`",
            "warmup_messages" => "all flows share one warm-up: write `warmup`",
            _ => "write it in [[experiment.flow]], for each flow that has it",
        };
        Problem::at(
            &entry.key_at,
            format!(
                "`{}` is set for the experiment, but flows have their own",
                entry.key
            ),
        )
        .label("the experiment has flows")
        .help(help)
        .note(problems);
    }
    let factor = |e: &&Entry| setting(&e.key).is_some_and(|s| s.varies && !varies_for_all(s));
    for entry in matrix.iter().filter(factor) {
        Problem::at(
            &entry.key_at,
            format!("`{}` is not a factor of all flows", entry.key),
        )
        .label("the experiment has flows")
        .help(format!(
            "a matrix over flows has stack, {}; write other factors in the flows, or make an \
                 experiment of each value",
            keys(varies_for_all).join(", ")
        ))
        .note(problems);
    }
}

/// Reads a flow that has no sender of its own: readers of what a flow `before` it sends.
fn reader(
    node: &Node,
    table: &Table,
    reads: &Entry,
    before: &[ReadFlow],
    common: &[&Entry],
    problems: &mut Problems,
) -> Option<ReadFlow> {
    let of = At::new(
        reads.node.text("`reads`", problems)?.to_owned(),
        &reads.node.at,
    );
    let place = before.iter().position(|f| f.spec.name.value == of.value);
    let Some((place, read)) = place.and_then(|place| Some((place, before.get(place)?))) else {
        let problem = Problem::at(
            &of.at,
            format!("no flow before this one is called {:?}", of.value),
        );
        return problem
            .label("nothing to read")
            .help("name the flow that sends, which stands before those that read it")
            .refuse(problems);
    };
    let mut refuse = |at: &Place, what: String, label: &str, help: &str| {
        problems.push(Problem::at(at, what).label(label).help(help));
    };
    let kind = read.workload.value;
    if kind.is_closed_loop() {
        let what = format!("{:?} is a {kind}, which is answered", of.value);
        let help = "read a stream, a burst or a flood";
        refuse(&of.at, what, "its messages are for its own receivers", help);
    }
    if read.spec.reads.is_some() {
        let what = format!("{:?} has no sender of its own", of.value);
        refuse(&of.at, what, "it reads too", "name the flow that sends");
    }
    for entry in &table.0 {
        if !of_reader().contains(&entry.key.as_str()) {
            let what = format!("`{}` belongs to the flow that sends", entry.key);
            let help = format!(
                "a flow that reads another one has {}",
                of_reader().join(", ")
            );
            refuse(&entry.key_at, what, "this flow only reads", &help);
        }
    }
    let advice = "write for example `name = \"slow\"`";
    let named = table.required("name", "the flow", &node.at, advice, problems)?;
    let called = At::new(name(named, problems)?, &named.at);
    let readers = match table.get("readers") {
        Some(n) => n.whole("`readers`", 1, u64::from(Topology::MAX_SIDE), problems)?,
        None => 1,
    };
    // What stands for all flows, and what this one has of its own: a pause of the other one's readers is theirs.
    let mut own = read.own.clone();
    for key in of_sinks() {
        own.forget(key);
        for entry in common.iter().filter(|e| e.key == key) {
            own.read(entry, Form::Single, &mut Problems::default());
        }
    }
    for entry in of_reader().iter().filter_map(|key| table.entry(key)) {
        own.read(entry, Form::Single, problems);
    }
    Some(ReadFlow {
        spec: FlowSpec {
            name: called,
            reads: Some(Reads {
                of: of.value,
                place,
                readers: u16::try_from(readers).unwrap_or(1),
            }),
            ..read.spec.clone()
        },
        workload: read.workload.clone(),
        own,
    })
}

fn flow(
    node: &Node,
    table: &Table,
    processes: Processes,
    common: &[&Entry],
    problems: &mut Problems,
) -> Option<ReadFlow> {
    let required = [
        ("name", "write for example `name = \"camera\"`"),
        ("workload", "write for example `workload = \"stream\"`"),
    ];
    table.refuse_missing("the flow", &node.at, &required, problems);
    let name = table.get("name").and_then(|n| {
        let value = name(n, problems)?;
        Some(At::new(value, &n.at))
    });
    let workload = table.get("workload");
    let workload = workload.and_then(|n| one::<WorkloadKind>("workload", n, problems));
    if let Some(workload) = workload
        .as_ref()
        .filter(|w| w.value.is_start() || !w.value.has_messages())
    {
        Problem::at(
            &workload.at,
            format!("{} cannot be a flow", workload.value.with_article()),
        )
        .label(match workload.value.is_idle() {
            true => "beside a flow nobody is idle",
            false => "has no window that it could share",
        })
        .help("make it an experiment of its own")
        .note(problems);
    }
    let mut own = Own {
        count: 1,
        ..Own::default()
    };
    for entry in common.iter().filter(|e| !KEYS.contains(&e.key.as_str())) {
        own.settings
            .read(entry, Form::Several, &mut Problems::default());
    }
    for entry in &table.0 {
        own.read(entry, workload.as_ref(), common, problems);
        if entry.key == "cycle" && table.entry("rate").is_some() {
            Problem::at(&entry.key_at, "the pace is given as a rate and as a cycle")
                .label("and `rate` as well")
                .help("keep one of the two")
                .note(problems);
        }
    }
    if let Some(cycle) = own.cycle {
        // At least 10 ns, which is the highest rate.
        own.settings.rate = RateHz::new(1e9 / cycle.value.0.max(10) as f64)
            .ok()
            .map(|value| {
                vec![At {
                    value,
                    at: cycle.at,
                }]
            });
    }
    Some(ReadFlow {
        spec: FlowSpec {
            name: name?,
            processes,
            count: own.count,
            jitter: own.jitter,
            phase: own.phase,
            sizes: own.sizes,
            reads: None,
        },
        workload: workload?,
        own: own.settings,
    })
}

/// What the keys of one flow say.
#[derive(Default)]
struct Own {
    settings: Settings,
    count: u16,
    cycle: Option<At<Nanos>>,
    jitter: Option<At<Nanos>>,
    phase: Option<At<Phase>>,
    sizes: Option<Sizes>,
}

impl Own {
    /// Takes one key.
    fn read(
        &mut self,
        entry: &Entry,
        workload: Option<&At<WorkloadKind>>,
        common: &[&Entry],
        problems: &mut Problems,
    ) {
        let key = entry.key.as_str();
        // What stands beside flows and must not is one mistake.
        let is_own = setting(key).is_some_and(is_own_setting);
        let may_be_twice = is_own && !is_not_for_all(key);
        if let Some(before) = common.iter().find(|e| e.key == key && may_be_twice) {
            Problem::at(
                &entry.key_at,
                format!("`{key}` is set in the flow and in its experiment"),
            )
            .label("given twice")
            .help(format!(
                "keep it in the flows, or in the experiment for all of them{}",
                match setting(&before.key).is_some_and(|s| s.varies) {
                    true => " or in its matrix",
                    false => "",
                }
            ))
            .note(problems);
            return;
        }
        let node = &entry.node;
        match key {
            "name" | "workload" => {}
            "readers" => Problem::at(
                &entry.key_at,
                "`readers` belongs to a flow that reads another one",
            )
            .label("this flow has senders of its own")
            .help("write `topology = \"1-2\"`, or `reads` with the name of the flow that sends")
            .note(problems),
            "count" => {
                let most = u64::from(Topology::MAX_COPIES);
                let n = node.whole("`count`", 1, most, problems);
                self.count = n.and_then(|n| u16::try_from(n).ok()).unwrap_or(1);
            }
            "cycle" | "jitter" | "phase" => {
                check_stream(entry, workload, problems);
                match key {
                    "cycle" => self.cycle = time(Nanos(10))(key, node, problems),
                    "jitter" => self.jitter = time(Nanos::ZERO)(key, node, problems),
                    _ => self.phase = one(key, node, problems),
                }
            }
            "payload" if sizes::is_several(node) => {
                self.sizes = sizes::read(node, workload, problems);
                // Of one that is wrong the mistake is told.
                let most = self.sizes.as_ref().and_then(Sizes::most);
                self.settings.payload = most.map(|value| vec![At::new(value, &node.at)]);
            }
            _ if is_own => {
                self.settings.read(entry, Form::Single, problems);
                check_workload(entry, workload, problems);
            }
            _ if setting(key).is_some() => Problem::at(
                &entry.key_at,
                format!("`{key}` cannot be set for a single flow"),
            )
            .label("holds for all flows")
            .help("write it in [[experiment]]; flows share window, CPUs and waits")
            .note(problems),
            _ => {
                let own = keys(is_own_setting).into_iter();
                let keys: Vec<&str> = KEYS.iter().copied().chain(own).collect();
                problems.push(unknown_key(entry, "a flow", &keys));
            }
        }
    }
}

/// Refuses what only a stream has.
fn check_stream(entry: &Entry, workload: Option<&At<WorkloadKind>>, problems: &mut Problems) {
    let Some(workload) = workload.filter(|w| w.value != WorkloadKind::Stream) else {
        return;
    };
    Problem::at(
        &entry.key_at,
        format!("a {} has no `{}`", workload.value, entry.key),
    )
    .label("belongs to stream")
    .help("remove it, or change the workload")
    .note(problems);
}

/// Refuses what one flow of a resolved experiment cannot have. `workloads` are its loads.
pub(crate) fn check(
    spec: &FlowSpec,
    workloads: &[Workload],
    extents: [&At<Extent>; 2],
    cpus: &At<Cpus>,
    problems: &mut Problems,
) {
    for extent in extents {
        if let Extent::Messages(_) = extent.value {
            Problem::at(&extent.at, "all flows share one window, given as a time")
                .label(format!("the flow `{}` has no such number", spec.name.value))
                .help("write `window` and `warmup` as times")
                .note(problems);
        }
    }
    if cpus.value.listed().is_some() {
        Problem::at(&cpus.at, "flows cannot have a list of CPUs")
            .label("only a single exchange can have one")
            .help("write \"auto\" or \"none\"")
            .note(problems);
    }
    if let (Some(phase), [Extent::Duration(window), Extent::Duration(warmup)]) =
        (&spec.phase, extents.map(|e| e.value))
        && let Phase::After(after) = phase.value
        && after >= warmup.saturating_add(window)
    {
        Problem::at(
            &phase.at,
            format!("no message is due before the window ends: a phase of {after}"),
        )
        .label(format!(
            "the window may be over {} after the start",
            warmup.saturating_add(window)
        ))
        .help("write less than warm-up and window together")
        .note(problems);
    }
    let Some(jitter) = &spec.jitter else {
        return;
    };
    for workload in workloads {
        let Workload::Stream { rate, arrivals } = workload else {
            continue;
        };
        let (what, help) = match arrivals {
            Arrivals::Poisson => (
                "its gaps are random already",
                "remove it, or write arrivals = \"fixed\"",
            ),
            Arrivals::Fixed if jitter.value.0 as f64 >= rate.period_ns() => (
                "messages would overtake each other",
                "write less than the cycle",
            ),
            Arrivals::Fixed => continue,
        };
        Problem::at(
            &jitter.at,
            format!(
                "a jitter of {} does not fit a stream of {rate}, {arrivals}",
                jitter.value
            ),
        )
        .label(what)
        .help(help)
        .note(problems);
    }
}
