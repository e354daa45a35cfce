//! Cells by their factors: which experiment of one run is the same question as that of another.

use dyno_model::plan::{Against, Plan, Scheduling};
use dyno_model::{
    Access, Experiment, ExperimentId, Flow, Nanos, PayloadSize, Placement, Raised, Topology, Wait,
    Workload,
};

/// What makes two experiments of different runs the same question, but for the stack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factors {
    pub(crate) name: String,
    /// Of a flow that runs with others.
    pub(crate) flow: Option<Flow>,
    pub(crate) workload: Workload,
    pub(crate) payload: PayloadSize,
    pub(crate) wait: Wait,
    pub(crate) access: Access,
    pub(crate) placement: Placement,
    pub(crate) topology: Topology,
    pub(crate) scheduling: Scheduling,
    /// How long an echo sleeps after each answer.
    pub(crate) echo_poll: Option<Nanos>,
    /// How long a sink sleeps after each message.
    pub(crate) sink_pause: Option<Nanos>,
    /// Of a run of several machines.
    pub(crate) machine: Option<String>,
    /// The first host of its placement, by its place in the testbed.
    on_host: usize,
    /// The workload as tables print it: a call over a pair of channels is marked.
    exchange: String,
}

impl Factors {
    pub(crate) fn of(e: &Experiment) -> Factors {
        Factors {
            name: e.name.clone(),
            flow: e.flow.clone().map(|flow| Flow {
                // Its place in the plan is no factor.
                group: ExperimentId(0),
                alone: None,
                ..flow
            }),
            workload: e.workload,
            payload: e.payload,
            wait: e.wait,
            access: e.access,
            placement: e.placement,
            topology: e.topology,
            scheduling: e.scheduling,
            echo_poll: e.echo_poll,
            sink_pause: e.sink_pause,
            machine: e.machine.clone(),
            on_host: e.on_host,
            exchange: e.exchange(),
        }
    }

    fn sizes(&self) -> Option<String> {
        let sizes = self.flow.as_ref()?.sizes.as_ref()?;
        Some(sizes.to_string())
    }

    /// Of two experiments that are compared; where only one of them is a call over a pair of
    /// channels, the text says so.
    pub(crate) fn between(base: &Experiment, new: &Experiment) -> Factors {
        let mut factors = Factors::of(new);
        if base.paired != new.paired {
            factors.exchange = format!("{} → {}", base.exchange(), new.exchange());
        }
        factors
    }

    /// Whether both ask the same, whatever their stacks make of a call.
    pub(crate) fn ask_the_same(&self, other: &Factors) -> bool {
        let exchange = other.exchange.clone();
        let this = Factors {
            exchange,
            ..self.clone()
        };
        this == *other
    }

    /// Name and every factor that is not the usual one: `one-way, stream 1 kHz, 64 B, block`.
    pub(crate) fn text(&self) -> String {
        self.parts().join(", ")
    }

    fn parts(&self) -> Vec<String> {
        let mut parts = vec![
            match &self.flow {
                Some(flow) if flow.by_itself => format!("{}, flow {} alone", self.name, flow.name),
                Some(flow) => format!("{}, flow {}", self.name, flow.name),
                None => self.name.clone(),
            },
            self.exchange.clone(),
            self.sizes().unwrap_or_else(|| self.payload.to_string()),
            self.wait.to_string(),
        ];
        if self.access != Access::Stamp {
            parts.push(format!("access {}", self.access));
        }
        if self.placement != Placement::Process {
            parts.push(format!("placement {}", self.placement));
        }
        if self.topology != Topology::ONE_TO_ONE {
            parts.push(self.topology.to_string());
        }
        if let Scheduling::Fifo(priority) = self.scheduling {
            parts.push(format!("fifo {priority}"));
        }
        if let Some(poll) = self.echo_poll {
            parts.push(format!("echo sleeps {poll} after each answer"));
        }
        if let Some(pause) = self.sink_pause {
            parts.push(format!("sink sleeps {pause} after each message"));
        }
        if self.on_host != 0 {
            parts.push(format!("on host {} of the testbed", self.on_host + 1));
        }
        if let Some(machine) = &self.machine {
            parts.push(format!("on {machine}"));
        }
        parts
    }
}

/// Stack and factors of one experiment.
pub(crate) fn label(e: &Experiment) -> String {
    format!("{}: {}", e.stack, Factors::of(e).text())
}

/// Stack and factors of one experiment, without the one that a search raises.
pub(crate) fn label_without(e: &Experiment, raised: Raised) -> String {
    let mut factors = Factors::of(e);
    let value = match raised {
        Raised::Rate => {
            let rate = e.workload.numbers().rate;
            let rate = rate.map_or(String::new(), |rate| format!(" {rate}"));
            factors.exchange = factors.exchange.replacen(&rate, "", 1);
            None
        }
        Raised::Payload => Some(e.payload.to_string()),
        Raised::Clients => Some(e.topology.to_string()),
    };
    let mut parts = factors.parts();
    parts.retain(|part| Some(part) != value.as_ref());
    format!("{}: {}", e.stack, parts.join(", "))
}

/// The experiments that say something of this build and its stacks when they stand alone: the other
/// side of `--against` another build does not, and that of `--against` the same is a repetition. One
/// that another part of the plan runs says nothing here, none whose calls to the kernel are counted, and no leg of a
/// chain alone.
pub(crate) fn own(plan: &Plan) -> impl Iterator<Item = &Experiment> {
    let (legs, bases) = (plan.legs(), plan.bases());
    plan.here().filter(move |e| {
        let is_leg = e.added && legs.contains(&e.id);
        let is_new = match plan.against {
            Some(Against::Same) => e.base.is_none(),
            Some(Against::Build { .. }) => !bases.contains(&e.id),
            Some(Against::Stack { .. }) | None => true,
        };
        !e.counted && !is_leg && is_new
    })
}

/// Whether the stack of an experiment is a yardstick.
pub(crate) fn is_floor(plan: &Plan, e: &Experiment) -> bool {
    plan.stacks.get(&e.stack).is_some_and(|s| s.floor)
}
