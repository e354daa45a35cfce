//! What hosts are given before the first trial: programs, libraries, images.

use crate::agent::AgentCommand;
use crate::error::{HostsError, MachineError, SshError};
use crate::machine::{Image, Kernel};
use crate::payload::Payload;
use crate::programs::find;
use dyno_model::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What hosts need of the run.
pub(crate) struct Supplies<'a> {
    /// What will be started on them: the running program, and another build where the plan compares.
    pub(crate) agents: Vec<&'a AgentCommand>,
    /// The CPUs that the plan lists, by the host's index in the testbed.
    pub(crate) cpus: BTreeMap<usize, BTreeSet<u32>>,
    /// The adapters of the plan's stacks.
    pub(crate) adapters: BTreeSet<&'a str>,
    /// The runner's own place.
    pub(crate) place: &'a Path,
    /// Set when the user does not want to wait.
    pub(crate) interrupt: &'a Arc<AtomicBool>,
    /// What hosts are given; read when the first one needs it.
    payloads: BTreeMap<PathBuf, Payload>,
    /// What virtual machines boot with, by their kernels; made when the first one needs it.
    images: BTreeMap<PathBuf, Image>,
}

impl<'a> Supplies<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        agents: Vec<&'a AgentCommand>,
        place: &'a Path,
        interrupt: &'a Arc<AtomicBool>,
    ) -> Self {
        let mut cpus: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for e in plan.experiments.iter().filter(|e| e.cpus_listed) {
            let stack = plan.stacks.get(&e.stack);
            for (host, own) in e.cpus_by_participant(stack, &plan.testbed) {
                cpus.entry(host).or_default().extend(own);
            }
        }
        Supplies {
            agents,
            cpus,
            adapters: plan.stacks.values().flat_map(|s| s.adapters()).collect(),
            place,
            interrupt,
            payloads: BTreeMap::new(),
            images: BTreeMap::new(),
        }
    }

    pub(super) fn payloads(&mut self) -> Result<&BTreeMap<PathBuf, Payload>, SshError> {
        for agent in &self.agents {
            if !self.payloads.contains_key(&agent.program) {
                let payload = Payload::of(agent, &self.adapters)?;
                self.payloads.insert(agent.program.clone(), payload);
            }
        }
        Ok(&self.payloads)
    }

    /// The image for virtual machines with the modules of `kernel`.
    pub(crate) fn image(&mut self, kernel: &Kernel) -> Result<&Image, HostsError> {
        if !self.images.contains_key(&kernel.path) {
            let ip = find("ip").ok_or_else(|| {
                MachineError::Image("`ip` is not installed; run `apt-get install iproute2`".into())
            })?;
            self.payloads()?;
            let image = Image::make(&self.payloads, kernel, &ip)?;
            self.images.insert(kernel.path.clone(), image);
        }
        let none = || MachineError::Image("there is none".into());
        Ok(self.images.get(&kernel.path).ok_or_else(none)?)
    }
}
