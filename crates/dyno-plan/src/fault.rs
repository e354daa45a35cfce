//! `[[experiment.fault]]`: what is broken on purpose within each trial of an experiment.

use crate::link::BitRate;
use crate::quantity::{At, Quantity, one, several};
use crate::settings::{self, Levels};
use dyno_model::factors::{self, Factor, Scope};
use dyno_model::fault::{Fault, FaultKind, On, Outage, Target, Way};
use dyno_model::plan::{Experiment, Extent, Reach, RefusalReason};
use dyno_model::unit::{Nanos, UnitError};
use dyno_model::{Graph, Placement, Stack, Testbed, WorkloadKind};
use dyno_toml::{Entry, Node, Problem, Problems, Table, Value};

/// A fault as it is read: its times, of which each makes cells of its own.
pub(crate) struct FaultSpec {
    what: FaultKind,
    who: At<Target>,
    at: At<Nanos>,
    /// At least one; of a kind that has no time a zero, in the place of its begin.
    lasts: Vec<At<Nanos>>,
    share: Option<f64>,
    burst: Option<f64>,
    rate_bits: Option<u64>,
    way: Way,
}

const KEYS: &[&str] = &["what", "who", "at", "for", "share", "burst", "rate", "way"];

/// Keys that every fault has, with what to write where one is missing.
const REQUIRED: [(&str, &str); 3] = [
    ("what", "write for example `what = \"link-down\"`"),
    (
        "who",
        "write for example `who = \"sender\"`, `\"receiver 2\"` or `\"daemon\"`",
    ),
    (
        "at",
        "write for example `at = \"1 s\"`: the time after the window begins",
    ),
];

impl Quantity for Target {
    fn read(text: &str) -> Result<Self, UnitError> {
        let wrong = |reason: &str| UnitError {
            what: "target of a fault",
            found: text.to_owned(),
            reason: reason.into(),
            example: "\"sender\", \"receiver 2\", \"daemon\" or \"daemon NAME\"",
        };
        let (word, which) = text.split_once(' ').unwrap_or((text, ""));
        let which = which.trim();
        // Counted from 1 in files.
        let number = || match (which, which.parse::<u16>()) {
            ("", _) => Ok(0),
            (_, Ok(n @ 1..)) => Ok(n - 1),
            _ => Err(wrong("which one is a whole number from 1 on")),
        };
        match word {
            "sender" => number().map(|number| Target::Sender { number }),
            "receiver" => number().map(|number| Target::Receiver { number }),
            "daemon" => Ok(Target::Daemon {
                name: which.to_owned(),
            }),
            _ => Err(wrong("it is a sender, a receiver or a daemon")),
        }
    }
}

/// Reads the faults of an experiment in order of time; mistakes go to `problems`.
pub(crate) fn read(
    experiment: &Table,
    workload: Option<&At<WorkloadKind>>,
    problems: &mut Problems,
) -> Vec<FaultSpec> {
    let Some(entry) = experiment.entry("fault") else {
        return Vec::new();
    };
    let advice = "write [[experiment.fault]] with two brackets, once for each fault";
    let Some(items) = entry.node.tables("`fault`", advice, problems) else {
        return Vec::new();
    };
    if experiment.get("flow").is_some() {
        Problem::at(&entry.key_at, "an experiment with flows has no faults")
            .label("and it has flows")
            .help("write one stream as an experiment of its own, with its faults")
            .note(problems);
    }
    let is_due = |kind| matches!(kind, WorkloadKind::Stream | WorkloadKind::Call);
    if let Some(workload) = workload.filter(|w| !is_due(w.value)) {
        Problem::at(
                &workload.at,
                format!("{} has no faults", workload.value.with_article()),
            )
            .label("the experiment has [[experiment.fault]]")
            .help(
                "write `workload = \"stream\"` and a `rate`, or `workload = \"call\"` and a `gap`: only \
                 messages that are due on a schedule show how long an outage lasts",
            ).note(problems);
    }
    let mut faults: Vec<FaultSpec> = items
        .iter()
        .filter_map(|item| fault(item, problems))
        .collect();
    faults.sort_by_key(|fault| fault.at.value);
    refuse_contradictions(&faults, problems);
    faults
}

fn fault(node: &Node, problems: &mut Problems) -> Option<FaultSpec> {
    let table = node.table("`fault`", problems)?;
    table.refuse_unknown("a fault", KEYS, problems);
    table.refuse_missing("the fault", &node.at, &REQUIRED, problems);
    // `$` without the name of a parameter is a problem already.
    let is_told = |n: &&Node| matches!(&n.value, Value::Text(t) if t.starts_with('$'));
    let get = |key: &str| table.get(key).filter(|n| !is_told(n));
    let what = get("what").and_then(|n| one::<FaultKind>("what", n, problems));
    let who = get("who").and_then(|n| one::<Target>("who", n, problems));
    let at = get("at").and_then(|n| settings::time(Nanos::ZERO)("at", n, problems));
    let lasts = get("for").and_then(|n| times(n, problems));
    let share = get("share").and_then(|n| share(n, problems));
    let burst = get("burst").and_then(|n| burst(n, share, problems));
    let rate = get("rate").and_then(|n| one::<BitRate>("rate", n, problems));
    let way = get("way").and_then(|n| one::<Way>("way", n, problems));
    let what = what?;
    refuse_keys(node, table, &what, problems);
    let (who, at) = (who?, at?);
    refuse_target(&what, &who, problems);
    let lasts = match what.value.info().lasts {
        true => lasts?,
        false => vec![At::new(Nanos::ZERO, &at.at)],
    };
    Some(FaultSpec {
        what: what.value,
        who,
        at,
        lasts,
        share,
        burst,
        rate_bits: rate.map(|rate| rate.value.0),
        way: way.map_or(Way::Both, |way| way.value),
    })
}

/// For how long: one time, or several of which each makes cells of its own.
fn times(node: &Node, problems: &mut Problems) -> Option<Vec<At<Nanos>>> {
    let all = several::<Nanos>("for", node, problems)?;
    for time in &all {
        settings::refuse_outside("for", time, Nanos(1), problems);
    }
    Some(all)
}

fn number(node: &Node, key: &str, wanted: &str, problems: &mut Problems) -> Option<f64> {
    match node.value {
        Value::Float(number) => Some(number),
        // Whole numbers of this size are exact.
        Value::Int(number) => Some(number as f64),
        _ => node.wrong_kind(key, wanted).refuse(problems),
    }
}

fn share(node: &Node, problems: &mut Problems) -> Option<f64> {
    let share = number(node, "`share`", "a number above 0 and up to 1", problems)?;
    if share > 0.0 && share <= 1.0 {
        return Some(share);
    }
    Problem::at(&node.at, format!("`share` cannot be {share}"))
        .label("it is above 0 and up to 1")
        .help("write for example 0.1 for every tenth packet")
        .refuse(problems)
}

/// How many packets in a row are dropped. Between two bursts at least one packet passes, so that there is no larger share.
fn burst(node: &Node, share: Option<f64>, problems: &mut Problems) -> Option<f64> {
    let wanted = "a number of packets from 1 on";
    let burst = number(node, "`burst`", wanted, problems)?;
    let most = burst / (burst + 1.0);
    let (label, help) = match share {
        _ if !(burst >= 1.0 && burst.is_finite()) => (
            format!("it is {wanted}"),
            "write for example 5 for five packets in a row on average".to_owned(),
        ),
        Some(share) if share > most => (
            format!("bursts of this length lose a share of {most:.2} at most"),
            "write a smaller `share` or a longer `burst`".to_owned(),
        ),
        _ => return Some(burst),
    };
    Problem::at(&node.at, format!("`burst` cannot be {burst}"))
        .label(label)
        .help(help)
        .refuse(problems)
}

/// Refuses keys that the kind of fault does not have, and those that it lacks.
fn refuse_keys(node: &Node, table: &Table, what: &At<FaultKind>, problems: &mut Problems) {
    let name = what.value.as_str();
    for (key, advice) in OF_KINDS {
        let has = has(what.value, key);
        match (table.entry(key), has) {
            (Some(Entry { key_at, .. }), false) => {
                Problem::at(key_at, format!("a {name} has no `{key}`"))
                    .label(format!("belongs to {}", having(key)))
                    .help("remove it, or change `what`")
                    .note(problems)
            }
            (None, true) if !advice.is_empty() => {
                table.required(key, &format!("the {name}"), &node.at, advice, problems);
            }
            _ => {}
        }
    }
}

/// Keys that not all kinds of fault have, with what to write where one is missing that must be there.
const OF_KINDS: [(&str, &str); 5] = [
    ("for", "write for how long, such as `for = \"1 s\"`"),
    (
        "share",
        "write the share of packets that is dropped, such as `share = 0.1`",
    ),
    ("burst", ""),
    (
        "rate",
        "write the link's rate, such as `rate = \"1 Mbit/s\"`",
    ),
    ("way", ""),
];

/// Whether the kind of fault has one of these keys.
fn has(kind: FaultKind, key: &str) -> bool {
    match key {
        "for" => kind.info().lasts,
        "share" | "burst" => kind == FaultKind::Loss,
        "rate" => kind == FaultKind::Rate,
        _ => kind == FaultKind::Blackout,
    }
}

/// The kinds of fault that have a key.
fn having(key: &str) -> String {
    let all = FaultKind::ALL.iter().filter(|kind| has(**kind, key));
    let names: Vec<&str> = all.map(|kind| kind.as_str()).collect();
    names.join(", ")
}

/// A daemon has no host, link or side of its own, and all of a side have no number.
fn refuse_target(what: &At<FaultKind>, who: &At<Target>, problems: &mut Problems) {
    let is_one = match &who.value {
        Target::Sender { number } | Target::Receiver { number } => *number > 0,
        Target::Daemon { .. } => true,
    };
    if what.value == FaultKind::Storm && is_one {
        Problem::at(&who.at, "a storm strikes all senders or all receivers")
            .label("names one process")
            .help("write `who = \"sender\"` or `who = \"receiver\"`, or restart the one")
            .note(problems);
        return;
    }
    if what.value == FaultKind::Join && !matches!(who.value, Target::Receiver { .. }) {
        Problem::at(&who.at, "a join brings in a receiver")
            .label("names another process")
            .help("write for example `who = \"receiver 2\"` and `topology = \"1-2\"`")
            .note(problems);
        return;
    }
    if !matches!(who.value, Target::Daemon { .. }) || what.value.info().on == On::Process {
        return;
    }
    let struck = match what.value.info().on {
        On::Host => "a host",
        _ => "the link of a host",
    };
    Problem::at(
        &who.at,
        format!("a {} strikes {struck}, not a daemon", what.value.as_str()),
    )
    .label("names a process")
    .help("write `who = \"sender\"` or `who = \"receiver\"` for the host that it is on")
    .note(problems);
}

/// Refuses faults that cannot both happen: while another one lasts on the same target, or after it ended its process.
fn refuse_contradictions(faults: &[FaultSpec], problems: &mut Problems) {
    for (number, later) in faults.iter().enumerate() {
        for earlier in &faults[..number] {
            let longest = earlier.lasts.iter().map(|lasts| lasts.value).max();
            let end = earlier
                .at
                .value
                .saturating_add(longest.unwrap_or(Nanos::ZERO));
            let name = earlier.what.as_str();
            let who = &earlier.who.value;
            if later.what == FaultKind::Join && strikes(earlier, &later.who.value) {
                Problem::at(
                    &later.who.at,
                    format!("nothing can strike the {} before it joins", later.who.value),
                )
                .label(format!("a {name} strikes it earlier"))
                .help("let another receiver join, or strike another participant")
                .note(problems);
            } else if earlier.what.ends() && (*who == later.who.value || strikes(later, who)) {
                let help = match earlier.what {
                    FaultKind::Join => "leave out the join, or strike another participant",
                    _ => "write `restart` for the first of the two, or strike another participant",
                };
                Problem::at(
                    &later.who.at,
                    format!("nothing can strike the {who} after its {name}"),
                )
                .label("its process has ended and is not replaced")
                .help(help)
                .note(problems);
            } else if shares_target(earlier, later) && later.at.value <= end {
                Problem::at(
                    &later.at.at,
                    format!("two faults of the {who} overlap: a {name} lasts until {end}"),
                )
                .label("begins before the other one has ended")
                .help(format!("begin it later than {end} after the window begins"))
                .note(problems);
            }
        }
    }
}

/// Whether the fault strikes the process of `who`, alone or with all of its side.
fn strikes(fault: &FaultSpec, who: &Target) -> bool {
    let is_of_side = std::mem::discriminant(&fault.who.value) == std::mem::discriminant(who);
    let is_storm = fault.what == FaultKind::Storm && is_of_side;
    fault.what.info().on == On::Process && (fault.who.value == *who || is_storm)
}

/// Whether both strike the same, or one of them all processes and the other one any of them.
fn shares_target(a: &FaultSpec, b: &FaultSpec) -> bool {
    let freezes = |f: &FaultSpec| f.what.info().on == On::Host || f.what == FaultKind::Storm;
    let is_of_link = |f: &FaultSpec| f.what.info().on == On::Link;
    let strikes_all = freezes(a) && !is_of_link(b) || freezes(b) && !is_of_link(a);
    a.who.value == b.who.value || strikes_all
}

/// The number of scenarios that times of faults make together; 1 where there are no faults.
pub(crate) fn scenarios(faults: &[FaultSpec]) -> usize {
    faults
        .iter()
        .map(|fault| fault.lasts.len())
        .fold(1, usize::saturating_mul)
}

/// One of the scenarios, by its number; the times of the last fault vary fastest.
pub(crate) fn scenario(faults: &[FaultSpec], number: usize) -> Vec<Fault> {
    let mut rest = number;
    let mut all: Vec<Fault> = Vec::with_capacity(faults.len());
    for spec in faults.iter().rev() {
        let times = spec.lasts.len().max(1);
        let lasts = spec.lasts.get(rest % times).map(|lasts| lasts.value);
        rest /= times;
        all.push(Fault {
            what: spec.what,
            who: spec.who.value.clone(),
            at: spec.at.value,
            lasts: lasts.unwrap_or(Nanos::ZERO),
            share: spec.share,
            burst: spec.burst,
            rate_bits: spec.rate_bits,
            way: spec.way,
        });
    }
    all.reverse();
    all
}

/// Refuses faults that leave no time to recover within the window.
pub(crate) fn check_window(
    faults: &[FaultSpec],
    levels: &Levels<'_>,
    kind: WorkloadKind,
    problems: &mut Problems,
) {
    let Some(window) = levels.window(kind).filter(|_| !faults.is_empty()) else {
        return;
    };
    let Extent::Duration(time) = window.value else {
        Problem::at(
            &window.at,
            "the window of an experiment with faults is a time",
        )
        .label("a number of messages")
        .help("write for example `window = \"10 s\"`: faults begin at times within it")
        .note(problems);
        return;
    };
    for fault in faults {
        for lasts in &fault.lasts {
            let end = fault.at.value.saturating_add(lasts.value);
            if end >= time {
                let name = fault.what.as_str();
                Problem::at(
                    &lasts.at,
                    format!(
                        "a {name} ends {end} after the window begins, and the window is {time}"
                    ),
                )
                .label("leaves no time to recover")
                .help(format!(
                    "make `window` longer than {end}, or the fault shorter"
                ))
                .note(problems);
            }
        }
    }
}

/// Why the faults of an experiment cannot be made on a stack and a testbed, or `None` where they can.
pub(crate) fn refusal(e: &Experiment, stack: &Stack, testbed: &Testbed) -> Option<RefusalReason> {
    let first = e.faults.first()?;
    let graph = e.graph(Some(stack), testbed);
    let name = || stack.name.clone();
    if stack.loopback {
        return Some(RefusalReason::FaultLoopback { stack: name() });
    }
    if stack.chain.is_some() {
        return Some(RefusalReason::FaultOverLegs { stack: name() });
    }
    if let Some(setting) = beside(e) {
        return Some(RefusalReason::FaultBeside {
            setting: setting.to_owned(),
        });
    }
    let hosts = graph.hosts();
    let mut hosts = hosts.iter().filter_map(|host| testbed.hosts.get(*host));
    if let Some(host) = hosts.find(|host| !host.shares_clock()) {
        let reach = match host.reach {
            Reach::Ssh { .. } => "reached by ssh",
            Reach::Vm(_) => "a virtual machine",
            Reach::Local | Reach::Namespace => "on a clock of its own",
        };
        return Some(RefusalReason::FaultElsewhere {
            what: first.what.to_string(),
            host: host.name.clone(),
            reach: reach.to_owned(),
        });
    }
    e.faults.iter().find_map(|fault| {
        of_one(fault, e, &graph, stack).or_else(|| without_rate(fault, &graph, testbed))
    })
}

/// The setting of an experiment with faults that their participants do not follow.
fn beside(e: &Experiment) -> Option<&'static str> {
    let is_set = |f: &&Factor| !f.is_default(e);
    let settings = factors::all().filter(is_set).filter_map(|f| f.setting);
    let mut of_sinks = settings.filter(|s| s.scope == Scope::Sink);
    let first = of_sinks.next().map(|s| s.key);
    first.or_else(|| (e.topology.copies > 1).then_some("parallel"))
}

/// Why the window leaves no room for what a fault would show: the usual before it; after it up to a period of jitter, and twice the
/// time that proves a steady state, of which one may pass until the first message.
fn out_of_room(fault: &Fault, e: &Experiment) -> Option<RefusalReason> {
    let what = fault.what.to_string();
    let Some(period) = e.workload.due_period() else {
        return Some(RefusalReason::FaultNoGap);
    };
    let proof = Outage::proof(period);
    if fault.at < proof {
        let (at, least) = (fault.at, proof);
        return Some(RefusalReason::FaultEarly { what, at, least });
    }
    // A caller that waits for a lost answer issues no other call: its own patience must not be what is measured.
    let patience = e.workload.numbers().timeout.unwrap_or(Nanos::ZERO);
    if fault.lasts > Nanos::ZERO && patience >= fault.lasts {
        let (timeout, lasts) = (patience, fault.lasts);
        return Some(RefusalReason::FaultPatient {
            what,
            timeout,
            lasts,
        });
    }
    let Extent::Duration(window) = e.window else {
        return None;
    };
    let after = [fault.lasts, period, proof, proof, patience];
    let least = after.into_iter().fold(fault.at, Nanos::saturating_add);
    (window < least).then_some(RefusalReason::FaultLate {
        what,
        window,
        least,
    })
}

fn of_one(fault: &Fault, e: &Experiment, graph: &Graph, stack: &Stack) -> Option<RefusalReason> {
    if let Some(reason) = out_of_room(fault, e) {
        return Some(reason);
    }
    let info = fault.what.info();
    let what = fault.what.to_string();
    let (number, there) = match &fault.who {
        Target::Daemon { name } => return no_daemon(name, stack),
        Target::Sender { number } => (*number, e.topology.senders),
        Target::Receiver { number } => (*number, e.topology.receivers),
    };
    if number >= there {
        return Some(RefusalReason::FaultNobody {
            who: fault.who.to_string(),
            topology: e.topology,
        });
    }
    let is_made = fault.what != FaultKind::Nothing;
    if info.on == On::Process && is_made && e.placement == Placement::Thread {
        return Some(RefusalReason::FaultThread { what });
    }
    let newcomers = (0..there).filter(|number| {
        let who = Target::Receiver { number: *number };
        let mut joins = e.faults.iter().filter(|f| f.what == FaultKind::Join);
        joins.any(|f| f.who == who)
    });
    let is_stream = e.workload.kind() == WorkloadKind::Stream;
    if fault.what == FaultKind::Join && !(is_stream && newcomers.count() < usize::from(there)) {
        return Some(RefusalReason::FaultJoinsNobody);
    }
    // Hosts of this machine that are several are network namespaces, each with a link of its own.
    let is_alone = info.on == On::Link && graph.hosts().len() < 2;
    is_alone.then_some(RefusalReason::FaultOneHost { what })
}

/// Why the link of a fault has no rate that could be changed.
fn without_rate(fault: &Fault, graph: &Graph, testbed: &Testbed) -> Option<RefusalReason> {
    let host = graph.target(&fault.who).map(|participant| participant.host);
    let host = host.and_then(|host| testbed.hosts.get(host))?;
    let lacks = fault.what == FaultKind::Rate && host.link.is_none();
    lacks.then(|| RefusalReason::FaultNoRate {
        what: fault.what.to_string(),
        host: host.name.clone(),
    })
}

/// Why there is no daemon that a fault could strike.
fn no_daemon(name: &str, stack: &Stack) -> Option<RefusalReason> {
    let there: Vec<String> = stack.daemons.iter().map(|d| d.name.clone()).collect();
    if there.is_empty() {
        return Some(RefusalReason::FaultNoDaemon);
    }
    let is_there = name.is_empty() || there.iter().any(|daemon| daemon == name);
    (!is_there).then(|| RefusalReason::FaultOtherDaemon {
        stack: stack.name.clone(),
        daemon: name.to_owned(),
        there,
    })
}
