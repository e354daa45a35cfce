//! What differs between two runs, so that a difference in their figures is put down to the right
//! thing, or to none.

use crate::cell::question_and_exchange;
use dyno_model::chain::{Chain, ChainLeg, Gateway};
use dyno_model::factors::{self, BetweenRuns};
use dyno_model::plan::Plan;
use dyno_model::record::{Environment, RunManifest};
use dyno_model::{AdapterDescription, Experiment, Options};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of things that can differ; two different kinds cannot be distinguished by their effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// The stack, its options, or the version of its library.
    Stack,
    /// Dyno itself: its version or how it was built.
    Dyno,
    /// The kernel, its command line and settings that it shows.
    Kernel,
    /// The distribution and what Dyno's program loads of it.
    Distribution,
    /// The machine.
    Host,
    /// Where the run took place.
    Testbed,
    /// What was asked for: windows, warm-up, CPUs, memory locking.
    Suite,
    /// Resource limits.
    Limits,
}

impl Aspect {
    /// As tables print it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Aspect::Stack => "stack",
            Aspect::Dyno => "Dyno",
            Aspect::Kernel => "kernel",
            Aspect::Distribution => "distribution",
            Aspect::Host => "host",
            Aspect::Testbed => "testbed",
            Aspect::Suite => "suite",
            Aspect::Limits => "limits",
        }
    }
}

impl Serialize for Aspect {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.as_str())
    }
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which kind of thing.
    pub aspect: Aspect,
    /// What of it, such as `version of adapter zenoh`.
    pub what: String,
    /// In the base, or before.
    pub base: String,
    /// In the new run, or after.
    pub new: String,
}

impl Difference {
    pub(crate) fn text(&self) -> String {
        let shown = |text: &str| match text.is_empty() {
            true => "(none)".to_owned(),
            false => text.to_owned(),
        };
        format!(
            "{}: {} → {}",
            self.what,
            shown(&self.base),
            shown(&self.new)
        )
    }
}

/// What the kernel that measured a figure does with the time of interrupts.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    release: String,
    irq_time: Option<bool>,
}

impl Kernel {
    pub(crate) fn of(e: &Environment) -> Kernel {
        Kernel {
            release: e.kernel.clone(),
            irq_time: e.irq_time,
        }
    }
}

/// Why CPU times of two figures are not held against each other: one kernel counts the time of interrupts in that of processes,
/// and the other counts it separately, or nobody knows.
pub(crate) fn costs_apart(base: &Kernel, new: &Kernel) -> Option<String> {
    let is_known = match (base.irq_time, new.irq_time) {
        (a, b) if a == b => return None,
        // The option is as old as that kernel.
        (None, Some(false)) | (Some(false), None) if base.release == new.release => return None,
        (Some(_), Some(_)) => true,
        _ => false,
    };
    Some(match is_known {
        true => {
            "one kernel counts interrupt time as process time and the other counts it separately \
                 (CONFIG_IRQ_TIME_ACCOUNTING)"
                .into()
        }
        false => {
            "one of the runs does not say whether its kernel counts interrupt time as process time \
                  (CONFIG_IRQ_TIME_ACCOUNTING)"
                .into()
        }
    })
}

/// In plain words what the differences allow to conclude.
pub(crate) fn conclusion(differences: &[Difference]) -> Option<String> {
    let aspects: BTreeSet<Aspect> = differences.iter().map(|d| d.aspect).collect();
    if aspects.len() < 2 {
        return None;
    }
    let names: Vec<&str> = aspects.iter().map(|a| a.as_str()).collect();
    Some(format!(
        "{} things differ ({}): a change cannot be attributed to one of them",
        names.len(),
        names.join(", ")
    ))
}

/// What differs between two runs for one cell.
pub(crate) fn between(
    before: &RunManifest,
    after: &RunManifest,
    e: &Experiment,
) -> Vec<Difference> {
    let mut found = Differences::default();
    found.environments(&before.environment, &after.environment);
    let stack = after.plan.stacks.get(&e.stack);
    let adapters = stack.map(|s| s.adapters()).unwrap_or_default();
    let (old, new) = (RunFacts::of(before), RunFacts::of(after));
    found.adapters(&old, &new, |name| adapters.contains(&name));
    found.stack_options(&before.plan, &after.plan, &e.stack);
    let of = |m: &RunManifest| {
        let question = question_and_exchange(e);
        let alike = |x: &&Experiment| (&x.name, &x.stack) == (&e.name, &e.stack);
        let mut all = m.plan.experiments.iter().filter(alike);
        all.find(|x| question_and_exchange(x) == question).cloned()
    };
    if let (Some(x), Some(y)) = (of(before), of(after)) {
        found.parameters(&x, &y);
    }
    found.0
}

/// Collects differences; equal texts are none.
#[derive(Debug, Default)]
pub(crate) struct Differences(pub(crate) Vec<Difference>);

impl Differences {
    pub(crate) fn note(
        &mut self,
        aspect: Aspect,
        what: impl Into<String>,
        base: impl Into<String>,
        new: impl Into<String>,
    ) {
        let found = Difference {
            aspect,
            what: what.into(),
            base: base.into(),
            new: new.into(),
        };
        if found.base != found.new && !self.0.contains(&found) {
            self.0.push(found);
        }
    }

    fn maps<K: Ord + ToString, V: ToString>(
        &mut self,
        aspect: Aspect,
        lead: &str,
        base: &BTreeMap<K, V>,
        new: &BTreeMap<K, V>,
    ) {
        let keys: BTreeSet<&K> = base.keys().chain(new.keys()).collect();
        for key in keys {
            let text = |map: &BTreeMap<K, V>| map.get(key).map_or_else(String::new, V::to_string);
            self.note(
                aspect,
                format!("{lead}{}", key.to_string()),
                text(base),
                text(new),
            );
        }
    }

    /// Machine, kernel, distribution, build and limits.
    pub(crate) fn environments(&mut self, base: &Environment, new: &Environment) {
        use Aspect::{Dyno, Host, Kernel, Limits};
        let list = |cpus: &[u32]| {
            let all: Vec<String> = cpus.iter().map(u32::to_string).collect();
            all.join(",")
        };
        let hypervisor = |e: &Environment| e.hypervisor.clone().unwrap_or_default();
        // The kernel's own estimate of the memory moves by its reserves; a GiB is another machine.
        let memory = |e: &Environment| format!("{} GiB", (e.memory_bytes + (1 << 29)) >> 30);
        self.note(
            Dyno,
            "version of Dyno",
            &base.dyno_version,
            &new.dyno_version,
        );
        self.note(
            Dyno,
            "build profile",
            &base.build_profile,
            &new.build_profile,
        );
        self.builds(base, new);
        self.note(
            Dyno,
            "timer slack",
            base.timer_slack_text(),
            new.timer_slack_text(),
        );
        self.note(Kernel, "kernel", &base.kernel, &new.kernel);
        self.note(
            Kernel,
            "kernel command line",
            &base.kernel_cmdline,
            &new.kernel_cmdline,
        );
        if let (Some(a), Some(b)) = (base.irq_time, new.irq_time) {
            let text = |apart: bool| ["within processes", "apart"][usize::from(apart)];
            self.note(Kernel, "time of interrupts", text(a), text(b));
        }
        self.note(
            Kernel,
            "kernel clock source",
            &base.clock_source,
            &new.clock_source,
        );
        self.maps(Kernel, "mitigation ", &base.mitigations, &new.mitigations);
        self.note(Host, "host", &base.host, &new.host);
        self.note(Host, "CPU", &base.cpu_model, &new.cpu_model);
        self.note(
            Host,
            "CPUs that may be used",
            list(&base.cpus),
            list(&new.cpus),
        );
        self.note(Host, "memory", memory(base), memory(new));
        self.note(Host, "hypervisor", hypervisor(base), hypervisor(new));
        self.note(
            Host,
            "clock of stamps",
            &base.clock.source,
            &new.clock.source,
        );
        self.maps(Host, "governor of CPU ", &base.governors, &new.governors);
        // How much of shared memory is free changes from minute to minute and limits nothing by itself.
        let lasting = |limits: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let kept = limits.iter().filter(|(name, _)| !name.ends_with(" free"));
            kept.map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        self.maps(Limits, "", &lasting(&base.limits), &lasting(&new.limits));
    }

    /// The versions and libraries of the adapters that both runs used. Kernel mechanisms carry the kernel's
    /// release as their version and parts of Dyno that of Dyno: those differences are named there.
    pub(crate) fn adapters<'a>(
        &mut self,
        base: &RunFacts<'a>,
        new: &RunFacts<'a>,
        used: impl Fn(&str) -> bool,
    ) {
        for a in base.adapters.iter().filter(|a| used(&a.name)) {
            let Some(b) = new.adapters.iter().find(|b| b.name == a.name) else {
                continue;
            };
            if !base.speaks_of(&a.version) || !new.speaks_of(&b.version) {
                let what = format!("version of adapter {}", a.name);
                self.note(Aspect::Stack, what, &a.version, &b.version);
            }
        }
        self.libraries_of(base.environment, new.environment, used);
    }

    /// The stacks that stand for each other, each with the run that it is of.
    pub(crate) fn stacks(&mut self, base: (&RunManifest, &str), new: (&RunManifest, &str)) {
        let [base, new] = [base, new].map(|(manifest, name)| describe(manifest, name));
        self.note(Aspect::Stack, "stack", base, new);
    }

    /// The options of a stack that both runs have.
    pub(crate) fn stack_options(&mut self, base: &Plan, new: &Plan, name: &str) {
        let (Some(a), Some(b)) = (base.stacks.get(name), new.stacks.get(name)) else {
            return;
        };
        self.note(
            Aspect::Stack,
            format!("adapter of stack {name}"),
            &a.adapter,
            &b.adapter,
        );
        self.note(
            Aspect::Stack,
            format!("options of stack {name}"),
            options(&a.options),
            options(&b.options),
        );
        self.chains(name, a.chain.as_ref(), b.chain.as_ref());
    }

    /// The legs of a chain and the gateways between them.
    fn chains(&mut self, name: &str, base: Option<&Chain>, new: Option<&Chain>) {
        let legs = |chain: Option<&Chain>| chain.map_or(0, |chain| chain.legs.len());
        let mut note = |what, a: Option<String>, b: Option<String>| {
            let what = format!("{what} of stack {name}");
            self.note(
                Aspect::Stack,
                what,
                a.unwrap_or_default(),
                b.unwrap_or_default(),
            );
        };
        for i in 0..legs(base).max(legs(new)) {
            let leg = |chain: Option<&Chain>| chain?.legs.get(i).map(leg);
            note(format!("leg {}", i + 1), leg(base), leg(new));
            let joint = |chain: Option<&Chain>| chain?.gateways.get(i).map(gateway);
            note(format!("gateway {}", i + 1), joint(base), joint(new));
        }
    }

    /// What makes two cells different questions.
    pub(crate) fn factors(&mut self, base: &Experiment, new: &Experiment) {
        self.of_kind(BetweenRuns::Apart, base, new);
    }

    fn of_kind(&mut self, kind: BetweenRuns, base: &Experiment, new: &Experiment) {
        for factor in factors::all().filter(|f| f.between_runs == kind) {
            // The title stands in front already.
            let text = |e: &Experiment| {
                let text = (factor.text)(e);
                let value = text.strip_prefix(factor.title).map(str::trim_start);
                value.unwrap_or(&text).to_owned()
            };
            let what = format!("{} of {}", factor.title, base.name);
            self.note(Aspect::Suite, what, text(base), text(new));
        }
    }

    /// What the suite asked for besides the question, where two cells of the same question differ.
    pub(crate) fn parameters(&mut self, base: &Experiment, new: &Experiment) {
        self.of_kind(BetweenRuns::Named, base, new);
        let mut note = |what, a: String, b: String| {
            let what = format!("{what} of {}", base.name);
            self.note(Aspect::Suite, what, a, b);
        };
        let settle = |e: &Experiment| e.settle.map_or_else(String::new, |n| n.to_string());
        note("warm-up", base.warmup.to_string(), new.warmup.to_string());
        note("longest warm-up", settle(base), settle(new));
        note("drain", base.drain.to_string(), new.drain.to_string());
    }
}

/// What of a manifest says which software was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) adapters: &'a [AdapterDescription],
}

impl<'a> RunFacts<'a> {
    pub(crate) fn of(manifest: &'a RunManifest) -> RunFacts<'a> {
        RunFacts {
            environment: &manifest.environment,
            adapters: &manifest.adapters,
        }
    }

    /// Whether a version is that of the kernel or of Dyno itself.
    fn speaks_of(&self, version: &str) -> bool {
        let kernel = &self.environment.kernel;
        kernel.split_whitespace().any(|word| word == version)
            || version == self.environment.dyno_version
    }
}

/// `pipe on process, wait block, queue_depth = 16`, and its daemons with their commands.
fn leg(leg: &ChainLeg) -> String {
    let mut parts = vec![format!("{} on {}", leg.stack, leg.placement)];
    parts.extend(leg.wait.map(|wait| format!("wait {wait}")));
    if !leg.options.is_empty() {
        parts.push(options(&leg.options));
    }
    let daemons = leg.daemons.iter();
    parts.extend(daemons.map(|d| format!("daemon {} ({})", d.name, d.command.join(" "))));
    parts.join(", ")
}

/// `queue of 64, hold-up, threads one`; `plain` where it does nothing beyond taking and sending.
fn gateway(gateway: &Gateway) -> String {
    let queue = gateway
        .queue
        .map(|q| format!("queue of {}, {}", q.depth, q.full));
    let threads = gateway.threads.map(|threads| format!("threads {threads}"));
    let delay = gateway.delay.map(|delay| format!("delay {delay}"));
    let parts: Vec<String> = queue.into_iter().chain(threads).chain(delay).collect();
    match parts.is_empty() {
        true => "plain".into(),
        false => parts.join(", "),
    }
}

/// A stack with its adapters, their versions, and its options.
fn describe(manifest: &RunManifest, name: &str) -> String {
    let Some(stack) = manifest.plan.stacks.get(name) else {
        return name.to_owned();
    };
    let with_version = |name: &str| {
        let known = manifest.adapters.iter().find(|a| a.name == name);
        known.map_or_else(|| name.to_owned(), |a| format!("{name} {}", a.version))
    };
    let adapters: Vec<String> = stack.adapters().into_iter().map(with_version).collect();
    let mut about = adapters.join(" > ");
    if !stack.options.is_empty() {
        about.push_str(&format!("; {}", options(&stack.options)));
    }
    format!("{name} ({about})")
}

/// `a = 1, b = "x"`.
pub(crate) fn options(options: &Options) -> String {
    let all: Vec<String> = options.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            dyno_version: "0.1.0".into(),
            kernel: "6.12.0 #1 SMP".into(),
            ..Environment::default()
        }
    }

    #[test]
    fn equal_environments_do_not_differ() {
        let mut found = Differences::default();
        found.environments(&environment(), &environment());
        assert_eq!(found.0, []);
        assert_eq!(conclusion(&found.0), None);
    }

    #[test]
    fn cpu_times_are_apart_where_kernels_count_interrupts_otherwise_or_do_not_tell() {
        let on = |kernel: &str, irq_time| Environment {
            kernel: kernel.into(),
            irq_time,
            ..environment()
        };
        let apart = |a: &Environment, b: &Environment| {
            let (a, b) = (Kernel::of(a), Kernel::of(b));
            let (there, back) = (costs_apart(&a, &b), costs_apart(&b, &a));
            assert_eq!(there, back);
            there.unwrap_or_default()
        };
        let (old, within, irq) = (
            on("6.1", None),
            on("6.1", Some(false)),
            on("6.1", Some(true)),
        );
        assert!(apart(&within, &irq).contains("and the other counts it separately"));
        assert!(apart(&old, &irq).contains("does not say"));
        assert!(apart(&old, &on("6.2", Some(false))).contains("does not say"));
        for (a, b) in [(&old, &within), (&old, &on("6.2", None)), (&irq, &irq)] {
            assert_eq!(apart(a, b), "");
        }
        let mut found = Differences::default();
        found.environments(&within, &irq);
        assert_eq!(
            found.0[0].text(),
            "time of interrupts: within processes → apart"
        );
        let mut found = Differences::default();
        found.environments(&old, &within);
        assert_eq!(found.0, []);
    }

    #[test]
    fn two_kinds_of_differences_forbid_a_conclusion_and_one_does_not() {
        let mut found = Differences::default();
        let new = Environment {
            kernel: "6.13.0 #1 SMP".into(),
            kernel_cmdline: "quiet".into(),
            ..environment()
        };
        found.environments(&environment(), &new);
        assert_eq!(found.0.len(), 2);
        assert_eq!(conclusion(&found.0), None);
        let newer = Environment {
            limits: BTreeMap::from([("nofile".into(), "1024".into())]),
            ..new
        };
        let mut found = Differences::default();
        found.environments(&environment(), &newer);
        let text = conclusion(&found.0).unwrap();
        assert!(text.contains("kernel, limits") && text.contains("cannot be attributed"));
        assert_eq!(found.0[2].text(), "nofile: (none) → 1024");
    }

    #[test]
    fn the_kernel_mechanisms_version_is_no_second_difference() {
        let adapter = |name: &str, version: &str| AdapterDescription {
            name: name.into(),
            version: version.into(),
            summary: String::new(),
            capabilities: serde_json::from_str(
                r#"{"loan":false,"waits":[],"reliable":true,"best_effort":false,
                "request_response":false,"placements":[],"max_message":null,
                "fragments_above":null,"max_receivers":null,"loopback":false}"#,
            )
            .unwrap(),
            options: Vec::new(),
            unavailable: None,
            library: None,
        };
        let new = Environment {
            kernel: "6.13.0 #1 SMP".into(),
            ..environment()
        };
        let (old, young) = (
            [adapter("pipe", "6.12.0"), adapter("zenoh", "1.5.0")],
            [adapter("pipe", "6.13.0"), adapter("zenoh", "1.6.0")],
        );
        let base = environment();
        let mut found = Differences::default();
        found.adapters(
            &RunFacts {
                environment: &base,
                adapters: &old,
            },
            &RunFacts {
                environment: &new,
                adapters: &young,
            },
            |_| true,
        );
        assert_eq!(found.0.len(), 1, "{:?}", found.0);
        assert_eq!(found.0[0].what, "version of adapter zenoh");
    }
}
