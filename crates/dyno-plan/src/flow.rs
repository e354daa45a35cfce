//! `[[experiment.flow]]`: several workloads of one experiment that run at the same time.

use crate::cpus::{Cpus, Places, automatic, spins};
use crate::host::HostFacts;
use crate::matrix::{Cell, Matrix};
use crate::quantity::{At, Quantity, one};
use crate::settings::{self, FACTORS, Form, Settings};
use crate::sizes;
use crate::suite::{self, ExperimentSpec, setting_keys};
use dyno_model::graph::Shape;
use dyno_model::plan::Extent;
use dyno_model::sizes::Sizes;
use dyno_model::unit::{Nanos, PayloadSize, RateHz, UnitError};
use dyno_model::{
    Arrivals, Experiment, ExperimentId, Flow, Graph, Participant, Phase, Processes, Stack, Testbed,
    Topology, Wait, Workload, WorkloadKind,
};
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

/// Settings that a flow may have.
const OWN: &[&str] = &[
    "payload",
    "placement",
    "topology",
    "rate",
    "arrivals",
    "gap",
    "group",
    "period",
    "timeout",
    "echo_poll",
    "sink_pause",
];

/// Keys of a flow that are no settings.
const KEYS: &[&str] = &[
    "name", "workload", "count", "cycle", "jitter", "phase", "reads", "readers",
];

/// Keys of a flow that reads what another one sends: all else is the other one's.
const OF_READER: &[&str] = &["name", "reads", "readers", "placement", "sink_pause"];

/// Settings that belong to one flow or to none, so that an experiment with flows does not have them.
const NOT_FOR_ALL: &[&str] = &[
    "workload",
    "rate",
    "gap",
    "group",
    "period",
    "parallel",
    "probe",
    "by",
    "sides",
    "rest",
    "on",
    "threads",
    "batch",
    "slack",
    "messages",
    "round_trips",
    "warmup_messages",
];

/// Factors that a matrix of an experiment with flows may have: they are those of all flows.
const FACTORS_OF_ALL: &[&str] = &["wait", "access", "scheduling", "placement"];

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
    let items: &[Node] = match experiment.get("flow").map(|n| (n, &n.value)) {
        Some((_, Value::List(items))) => items,
        Some((node, _)) => {
            problems.push(
                node.wrong_kind("`flow`", "a list of tables")
                    .help("write [[experiment.flow]] with two brackets, once for each flow"),
            );
            return Vec::new();
        }
        None => return Vec::new(),
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
            problems.push(
                Problem::at(&name.at, format!("two flows are called {:?}", name.value))
                    .label("the name is taken")
                    .help("give each flow a name of its own; `count` makes several alike"),
            );
        }
        flows.push(flow);
    }
    flows
}

/// What stands in the experiment, or in its matrix, and belongs to flows.
fn refuse_strangers(own: &[Entry], matrix: &[Entry], problems: &mut Problems) {
    let strange = |e: &&Entry| NOT_FOR_ALL.contains(&e.key.as_str());
    for entry in own.iter().filter(strange) {
        let help = match entry.key.as_str() {
            "parallel" => "write `count` in a flow for so many alike",
            "messages" | "round_trips" => "flows have one window in common: write `window`",
            "warmup_messages" => "flows have one warm-up in common: write `warmup`",
            _ => "write it in [[experiment.flow]], for each flow that has it",
        };
        problems.push(
            Problem::at(
                &entry.key_at,
                format!("`{}` stands beside flows that have their own", entry.key),
            )
            .label("the experiment has flows")
            .help(help),
        );
    }
    let factor = |e: &&Entry| {
        let key = e.key.as_str();
        FACTORS.contains(&key) && !FACTORS_OF_ALL.contains(&key)
    };
    for entry in matrix.iter().filter(factor) {
        problems.push(
            Problem::at(
                &entry.key_at,
                format!("`{}` is no factor of all flows", entry.key),
            )
            .label("the experiment has flows")
            .help(format!(
                "a matrix over flows has stack, {}; write other factors in the flows, or make an \
                 experiment of each value",
                FACTORS_OF_ALL.join(", ")
            )),
        );
    }
}

/// Refuses what `--set` would give to every flow alike, or to none.
pub(crate) fn refuse_set(set: &[Entry], experiments: &[ExperimentSpec], problems: &mut Problems) {
    let flows = || experiments.iter().filter(|e| e.flow.is_some());
    let payload = |e: &ExperimentSpec| -> Option<Vec<PayloadSize>> {
        let all = e.own.payload.as_ref()?;
        Some(all.iter().map(|p| p.value).collect())
    };
    // Of counts the window says it.
    let is_count = |key: &str| ["messages", "round_trips", "warmup_messages"].contains(&key);
    for entry in set {
        let key = entry.key.as_str();
        let found = flows().find(|e| match key {
            "payload" => flows().any(|f| {
                let is_mixed = f.flow.as_ref().is_some_and(|f| f.sizes.is_some());
                f.name == e.name && (is_mixed || payload(f) != payload(e))
            }),
            _ => NOT_FOR_ALL.contains(&key) && !is_count(key),
        });
        let Some(spec) = found else {
            continue;
        };
        let help = match key {
            "parallel" => "write `count` in a flow for so many alike",
            _ => {
                "declare a parameter in the suite for the flow that is meant, and set that, as `camera` of the suite `vehicle`"
            }
        };
        problems.push(
            Problem::at(
                &entry.key_at,
                format!("`{key}` is of one flow, and `{}` has several", spec.name),
            )
            .label("would hold for all of them alike")
            .help(help),
        );
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
    let of = At {
        value: reads.node.text("`reads`", problems)?.to_owned(),
        at: reads.node.at.clone(),
    };
    let place = before.iter().position(|f| f.spec.name.value == of.value);
    let Some((place, read)) = place.and_then(|place| Some((place, before.get(place)?))) else {
        let problem = Problem::at(
            &of.at,
            format!("no flow before this one is called {:?}", of.value),
        );
        problems.push(
            problem
                .label("nothing to read")
                .help("name the flow that sends, which stands before those that read it"),
        );
        return None;
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
        if !OF_READER.contains(&entry.key.as_str()) {
            let what = format!("`{}` is of the flow that sends", entry.key);
            let help = format!("a flow that reads another one has {}", OF_READER.join(", "));
            refuse(&entry.key_at, what, "this flow only reads", &help);
        }
    }
    let Some(named) = table.get("name") else {
        let help = "write for example `name = \"slow\"`";
        refuse(
            &node.at,
            "the flow has no `name`".into(),
            "`name` is missing",
            help,
        );
        return None;
    };
    let name = At {
        value: suite::name(named, problems)?,
        at: named.at.clone(),
    };
    let readers = match table.get("readers") {
        Some(n) => n.whole("`readers`", 1, u64::from(Topology::MAX_SIDE), problems)?,
        None => 1,
    };
    // What stands for all flows, and what this one has of its own: a pause of the other one's readers is theirs.
    let mut own = read.own.clone();
    own.sink_pause = None;
    for entry in common.iter().filter(|e| e.key == "sink_pause") {
        own.read(entry, Form::Single, &mut Problems::default());
    }
    for key in ["placement", "sink_pause"] {
        if let Some(entry) = table.entry(key) {
            own.read(entry, Form::Single, problems);
        }
    }
    Some(ReadFlow {
        spec: FlowSpec {
            name,
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
    let mut missing = |key: &str, advice: &str| {
        problems.push(
            Problem::at(&node.at, format!("the flow has no `{key}`"))
                .label(format!("`{key}` is missing"))
                .help(advice),
        );
    };
    if table.get("name").is_none() {
        missing("name", "write for example `name = \"camera\"`");
    }
    if table.get("workload").is_none() {
        missing("workload", "write for example `workload = \"stream\"`");
    }
    let name = table.get("name").and_then(|n| {
        let value = suite::name(n, problems)?;
        Some(At {
            value,
            at: n.at.clone(),
        })
    });
    let workload = table.get("workload");
    let workload = workload.and_then(|n| one::<WorkloadKind>("workload", n, problems));
    if let Some(workload) = workload
        .as_ref()
        .filter(|w| w.value.is_start() || w.value.is_probe())
    {
        problems.push(
            Problem::at(&workload.at, format!("a {} is no flow", workload.value))
                .label("has no window that it could share")
                .help("make it an experiment of its own"),
        );
    }
    let mut own = Settings::default();
    for entry in common.iter().filter(|e| !KEYS.contains(&e.key.as_str())) {
        own.read(entry, Form::Several, &mut Problems::default());
    }
    let mut count = 1;
    let (mut cycle, mut jitter, mut phase, mut several) = (None, None, None, None);
    for entry in &table.0 {
        let key = entry.key.as_str();
        // What stands beside flows and must not is one mistake.
        let may_be_twice = OWN.contains(&key) && !NOT_FOR_ALL.contains(&key);
        let paces = |k: &str| ["rate", "cycle"].contains(&k);
        if let Some(before) = common.iter().find(|e| e.key == key && may_be_twice) {
            problems.push(
                Problem::at(
                    &entry.key_at,
                    format!("`{key}` stands in the flow and in its experiment"),
                )
                .label("given twice")
                .help(format!(
                    "keep it in the flows, or in the experiment for all of them{}",
                    match FACTORS.contains(&before.key.as_str()) {
                        true => " or in its matrix",
                        false => "",
                    }
                )),
            );
            continue;
        }
        let node = &entry.node;
        match key {
            "name" | "workload" => {}
            "readers" => problems.push(
                Problem::at(
                    &entry.key_at,
                    "`readers` is of a flow that reads another one",
                )
                .label("this flow has senders of its own")
                .help(
                    "write `topology = \"1-2\"`, or `reads` with the name of the flow that sends",
                ),
            ),
            "count" => {
                let most = u64::from(Topology::MAX_COPIES);
                let n = node.whole("`count`", 1, most, problems);
                count = n.and_then(|n| u16::try_from(n).ok()).unwrap_or(1);
            }
            "cycle" | "jitter" | "phase" => {
                check_stream(entry, workload.as_ref(), problems);
                match key {
                    "cycle" => cycle = settings::time(key, node, Nanos(10), problems),
                    "jitter" => jitter = settings::time(key, node, Nanos::ZERO, problems),
                    _ => phase = one(key, node, problems),
                }
            }
            "payload" if sizes::is_several(node) => {
                several = sizes::read(node, workload.as_ref(), problems);
                // Of one that is wrong the mistake is told.
                let most = several.as_ref().and_then(Sizes::most);
                own.payload = most.map(|value| {
                    vec![At {
                        value,
                        at: node.at.clone(),
                    }]
                });
            }
            key if OWN.contains(&key) => {
                own.read(entry, Form::Single, problems);
                suite::check_workload(entry, workload.as_ref(), problems);
            }
            _ if setting_keys().contains(&key) => problems.push(
                Problem::at(&entry.key_at, format!("`{key}` is not of one flow alone"))
                    .label("holds for all flows")
                    .help("write it in [[experiment]]; flows share window, CPUs and waits"),
            ),
            _ => {
                let keys: Vec<&str> = KEYS.iter().chain(OWN).copied().collect();
                problems.push(unknown_key(entry, "a flow", &keys));
            }
        }
        if paces(key) && table.entry("rate").is_some() && key == "cycle" {
            problems.push(
                Problem::at(&entry.key_at, "the pace is given as a rate and as a cycle")
                    .label("and `rate` as well")
                    .help("keep one of the two"),
            );
        }
    }
    if let Some(cycle) = cycle {
        // At least 10 ns, which is the highest rate.
        own.rate = RateHz::new(1e9 / cycle.value.0.max(10) as f64)
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
            count,
            jitter,
            phase,
            sizes: several,
            reads: None,
        },
        workload: workload?,
        own,
    })
}

/// Refuses what only a stream has.
fn check_stream(entry: &Entry, workload: Option<&At<WorkloadKind>>, problems: &mut Problems) {
    let Some(workload) = workload.filter(|w| w.value != WorkloadKind::Stream) else {
        return;
    };
    problems.push(
        Problem::at(
            &entry.key_at,
            format!("a {} has no `{}`", workload.value, entry.key),
        )
        .label("belongs to stream")
        .help("remove it, or change the workload"),
    );
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
            problems.push(
                Problem::at(&extent.at, "flows have one window in common, in time")
                    .label(format!("the flow `{}` has no such number", spec.name.value))
                    .help("write `window` and `warmup` as times"),
            );
        }
    }
    if cpus.value.listed().is_some() {
        problems.push(
            Problem::at(&cpus.at, "flows have no list of CPUs")
                .label("one exchange alone can have one")
                .help("write \"auto\" or \"none\""),
        );
    }
    if let (Some(phase), [Extent::Duration(window), Extent::Duration(warmup)]) =
        (&spec.phase, extents.map(|e| e.value))
        && let Phase::After(after) = phase.value
        && after >= warmup.saturating_add(window)
    {
        problems.push(
            Problem::at(
                &phase.at,
                format!("no message is due before the window ends: a phase of {after}"),
            )
            .label(format!(
                "the window may be over {} after the start",
                warmup.saturating_add(window)
            ))
            .help("write less than warm-up and window together"),
        );
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
        problems.push(
            Problem::at(
                &jitter.at,
                format!(
                    "a jitter of {} does not fit a stream of {rate}, {arrivals}",
                    jitter.value
                ),
            )
            .label(what)
            .help(help),
        );
    }
}

/// What the flow reads of another one, if it does.
fn reads<'a>(matrix: &Matrix<'a>) -> Option<&'a Reads> {
    matrix.flow.and_then(|flow| flow.reads.as_ref())
}

/// Why these flows cannot run at the same time on `stack`, whose channels have at most so many receivers, or `None` if they can.
pub(crate) fn refusal(
    flows: &[Matrix<'_>],
    cells: &[Cell],
    stack: &Stack,
    max_receivers: Option<u16>,
) -> Option<String> {
    if stack.chain.is_some() {
        return Some("flows have no gateways between them; take a stack without legs".into());
    }
    for (number, (matrix, cell)) in flows.iter().zip(cells).enumerate() {
        let others = flows.iter().filter_map(reads).filter(|r| r.place == number);
        let others: u16 = others.map(|r| r.readers).sum();
        let receivers = cell.topology.receivers + others;
        let most = max_receivers.filter(|most| others > 0 && receivers > *most);
        if let (Some(most), Some(flow)) = (most, matrix.flow) {
            return Some(format!(
                "a channel of {} has at most {most} receiver{}, and {} is read by {receivers}",
                stack.name,
                if most == 1 { "" } else { "s" },
                flow.name.value
            ));
        }
    }
    if stack.loopback && flows.iter().any(|m| reads(m).is_some()) {
        return Some(format!(
            "{} has no second participant that could read",
            stack.name
        ));
    }
    let of = |(matrix, cell): (&Matrix<'_>, &Cell)| {
        if reads(matrix).is_some() {
            return 0;
        }
        let t = cell.topology;
        let back = match cell.workload.kind().is_closed_loop() && !stack.loopback {
            true => usize::from(t.receivers),
            false => 0,
        };
        usize::from(t.copies) * usize::from(t.senders) * (1 + back)
    };
    let channels: usize = flows.iter().zip(cells).map(of).sum();
    let (most, what) = match stack.channels {
        Some(most) => (most, stack.name.as_str()),
        None => (u16::MAX, "a trial"),
    };
    (channels > usize::from(most)).then(|| {
        format!(
            "the flows take {channels} channels, and {what} has at most {most}; lower `count`, or leave \
             flows out"
        )
    })
}

/// Who of these cells, which are flows that run at the same time, runs where; one for each of them.
pub(crate) fn places(
    cpus: &Cpus,
    flows: &[Matrix<'_>],
    cells: &[Cell],
    stack: &Stack,
    processes: Processes,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Vec<Places> {
    let shape = |(matrix, cell): (&Matrix<'_>, &Cell)| {
        let shape = Shape {
            workload: cell.workload.kind(),
            topology: cell.topology,
            placement: cell.placement,
            loopback: stack.loopback,
            legs: &[],
            foreign: &[],
        };
        (shape, reads(matrix).map(|reads| reads.place))
    };
    let shapes: Vec<_> = flows.iter().zip(cells).map(shape).collect();
    let Cpus::Auto = cpus else {
        return cells.iter().map(|_| Places::default()).collect();
    };
    let graph = Graph::of_flows(&shapes, processes, testbed);
    let is_busy = |p: &Participant| {
        let cell = cells.get(usize::from(p.flow));
        cell.is_some_and(|cell| spins(cell, p, cell.wait == Wait::Spin))
    };
    let spinning: Vec<bool> = graph.participants.iter().map(is_busy).collect();
    let all = automatic(facts, &spinning);
    let of = |flow: usize| {
        let own = graph
            .participants
            .iter()
            .filter(|p| usize::from(p.flow) == flow);
        let own: Vec<usize> = own.map(|p| usize::from(p.index)).collect();
        Places {
            cpus: own
                .iter()
                .filter_map(|i| all.cpus.get(*i).copied())
                .collect(),
            library_cpus: own
                .iter()
                .filter_map(|i| all.library_cpus.get(*i).cloned())
                .collect(),
            daemon_cpus: all.daemon_cpus.clone(),
        }
    };
    (0..cells.len()).map(of).collect()
}

/// The flow's name before what is said of it.
pub(crate) fn of_flow(matrix: &Matrix<'_>, reason: String) -> String {
    match matrix.flow {
        Some(flow) => format!("flow {}: {reason}", flow.name.value),
        None => reason,
    }
}

/// What an experiment with that payload is as a flow, where the first of its group has that number.
pub(crate) fn settled(spec: &FlowSpec, payload: PayloadSize, group: ExperimentId) -> Flow {
    Flow {
        name: spec.name.value.clone(),
        group,
        processes: spec.processes,
        jitter: spec.jitter.as_ref().map_or(Nanos::ZERO, |j| j.value),
        phase: spec.phase.as_ref().map_or_else(Phase::default, |p| p.value),
        // A preset's size stands in the place of all.
        sizes: spec.sizes.clone().filter(|s| s.most() == Some(payload)),
        reads: spec.reads.as_ref().map(|reads| reads.of.clone()),
        alone: None,
        by_itself: false,
    }
}

/// `--alone`: adds each flow by itself, to be measured in the same rounds.
///
/// # Errors
///
/// Where no experiment has flows.
pub(crate) fn add_alone(experiments: &mut Vec<Experiment>) -> Result<(), Problem> {
    for i in 0..experiments.len() {
        // At most one more for each of MOST_CELLS experiments.
        let id = ExperimentId(experiments.len() as u32);
        let mut alone = experiments[i].clone();
        let Some(flow) = alone.flow.as_mut().filter(|_| !experiments[i].added) else {
            continue;
        };
        flow.group = id;
        flow.by_itself = true;
        // Then it has senders.
        flow.reads = None;
        alone.id = id;
        alone.added = true;
        experiments.push(alone);
        if let Some(flow) = &mut experiments[i].flow {
            flow.alone = Some(id);
        }
    }
    if experiments.iter().any(|e| e.flow.is_some()) {
        return Ok(());
    }
    let place = Place::flag("--alone", "");
    Err(Problem::at(&place, "no experiment of this run has flows")
        .label("everything is alone")
        .help("write [[experiment.flow]] in the suite, or leave --alone out"))
}
