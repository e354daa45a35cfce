//! From a request to a plan, in five steps: read the texts, expand them to matrices, place the cells, refuse what cannot be
//! planned, and link experiments to what they are held against.

use crate::against;
use crate::catalog::Catalog;
use crate::configured::{Configured, Named, configure, floor_stacks, from_flag, read_stacks};
use crate::cpus;
use crate::daemon::missing_daemon;
use crate::expand::expand;
use crate::floor;
use crate::ground;
use crate::host::{self, HostFacts};
use crate::legs;
use crate::link;
use crate::load;
use crate::machine;
use crate::matrix::Matrix;
use crate::mistakes::{PlanError, nothing_was_run};
use crate::overrides;
use crate::probe;
use crate::refuse;
use crate::remote;
use crate::search;
use crate::select;
use crate::settings::{Form, Settings};
use crate::slices;
use crate::spec::{ExperimentSpec, StackChoice};
use crate::suite::{self, Suite};
use crate::testbed;
use crate::together;
use dyno_model::machine::SHARING;
use dyno_model::plan::{Experiment, PlanWarning, Refusal};
use dyno_model::{AdapterDescription, Against, Cause, Placement, Plan, Request, Stack, Testbed};
use dyno_toml::{Place, Problem, Problems, parse};
use miette::NamedSource;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Resolves `request` against the texts of `catalog`, the `adapters` that are built in, and what is known of the
/// `machine`.
///
/// Cells that a stack cannot do are left out and listed in [`Plan::refused`]. Everything else
/// that is wrong is an error which holds as many mistakes as could be found at once.
pub fn plan(
    catalog: &Catalog,
    request: &Request,
    adapters: &[AdapterDescription],
    machine: &HostFacts,
) -> Result<Plan, PlanError> {
    let asked = Asked {
        catalog,
        request,
        adapters,
        machine,
    };
    let mut plan = asked.plan()?;
    if request.ground {
        ground::add(&mut plan, catalog, request, |catalog, request| {
            let asked = Asked {
                catalog,
                request,
                ..asked
            };
            asked.plan()
        })?;
    }
    Ok(plan)
}

/// What a plan is made of.
#[derive(Clone, Copy)]
struct Asked<'a> {
    catalog: &'a Catalog,
    request: &'a Request,
    adapters: &'a [AdapterDescription],
    machine: &'a HostFacts,
}

/// What the texts say.
struct Read<'a> {
    suite: Suite,
    testbed: Testbed,
    built_in: Settings,
    /// The stacks of the command line.
    named: Option<Vec<Named>>,
    stacks: BTreeMap<String, Configured<'a>>,
    /// Suite and testbed are without mistakes: what else would be multiplied out only repeats them.
    is_whole: bool,
}

/// An experiment, or its flows, with the stacks that it is for.
type Group<'r> = (Vec<Matrix<'r>>, Vec<&'r Configured<'r>>);

/// The cells of a plan: those that are measured, and those that cannot be.
#[derive(Default)]
struct Cells {
    experiments: Vec<Experiment>,
    refused: Vec<Refusal>,
}

impl<'a> Asked<'a> {
    fn plan(&self) -> Result<Plan, PlanError> {
        let mut problems = Problems::default();
        let read = self.read(&mut problems)?;
        let groups = self.expand(&read, &mut problems);
        problems.check(nothing_was_run)?;
        refuse::explosion(&groups, self.catalog, self.request)?;
        let cells = self.place(&groups, &read, &mut problems);
        self.refuse(&cells, &read, &mut problems);
        problems.check(nothing_was_run)?;
        refuse::nothing(
            &cells.experiments,
            &cells.refused,
            self.catalog,
            self.request,
        )?;
        self.link(cells, read, problems)
    }

    fn read(&self, problems: &mut Problems) -> Result<Read<'a>, PlanError> {
        let Asked {
            catalog, request, ..
        } = self;
        let (of_testbed, of_suite) = link::take_overrides(overrides::of_request(request));
        let testbed = catalog.testbed(&request.testbed);
        let testbed = testbed.map_err(|problem| problems.push(problem)).ok();
        let testbed =
            testbed.and_then(|text| testbed::read(&request.testbed, text, &of_testbed, problems));
        let suite = catalog.suite(&request.suite);
        let suite = suite.map_err(|problem| problems.push(problem)).ok();
        let suite = suite.and_then(|text| suite::read(text, &catalog.studies, of_suite, problems));
        let suite = suite.map(|suite| Suite {
            experiments: select::experiments(
                suite.experiments,
                request.experiments.as_deref(),
                problems,
            ),
            ..suite
        });
        let mut built_in = built_in_settings(problems);
        let (Some(suite), Some(testbed)) = (suite, testbed) else {
            return Err(std::mem::take(problems).into_error(nothing_was_run));
        };
        machine::place(&testbed, &mut built_in);
        let is_whole = problems.is_empty();
        let named = self.named(problems);
        let stacks = read_stacks(catalog, &suite, named.as_deref(), self.adapters, problems);
        if let Some(search) = &request.search {
            search::refuse(search.raise, request, &suite, problems);
        }
        Ok(Read {
            suite,
            testbed,
            built_in,
            named,
            stacks,
            is_whole,
        })
    }

    /// The stacks of `--stack` and `--against`.
    fn named(&self, problems: &mut Problems) -> Option<Vec<Named>> {
        let [new, base] = match self.request.gate {
            true => ["dyno gate BASE", "dyno gate"],
            false => ["--stack", "--against"],
        };
        let mut named = from_flag(new, self.request.stacks.as_ref()?);
        if let Some(Against::Stack { name }) = &self.request.against
            && named.iter().all(|n| n.value != *name)
        {
            named.extend(from_flag(base, std::slice::from_ref(name)));
        }
        if named.is_empty() {
            Problem::at(&Place::flag("--stack", "\"\""), "--stack names no stack")
                .help("write for example --stack tcp,udp, or leave it out")
                .note(problems);
        }
        Some(named)
    }

    fn expand<'r>(&self, read: &'r Read<'_>, problems: &mut Problems) -> Vec<Group<'r>> {
        let Read { suite, testbed, .. } = read;
        let hosts = testbed.hosts.len();
        let mut groups: Vec<Group<'r>> = Vec::new();
        for spec in suite.experiments.iter().filter(|_| read.is_whole) {
            let at = [&suite.overrides, &spec.own, &suite.defaults];
            let at = at.iter().find_map(|level| level.host.as_ref());
            let facts = &remote::facts(testbed, at.map(|host| host.value.as_str()), self.machine);
            let matrix = Matrix::new(suite, spec, &read.built_in, hosts, facts, problems);
            let Some(mut matrix) = matrix else {
                continue;
            };
            if let Some(search) = &self.request.search {
                search::climb(&mut matrix, search.raise, spec, problems);
            }
            cpus::check_count(&matrix, problems);
            if let Some((flows, _)) = groups.last_mut()
                && matrix.flow.is_some()
                && flows.first().is_some_and(|first| first.name == matrix.name)
            {
                flows.push(matrix);
                continue;
            }
            let on = read.stacks_of(spec, matrix.is_probe());
            groups.push((vec![matrix], on));
        }
        groups
    }

    fn place(&self, groups: &[Group<'_>], read: &Read<'_>, problems: &mut Problems) -> Cells {
        let testbed = &read.testbed;
        let mut cells = Cells::default();
        for (flows, on) in groups {
            let host = flows.first().and_then(|m| m.conditions.host);
            let facts = &remote::facts(testbed, host, self.machine);
            for configured in on {
                let from = cells.experiments.len();
                expand(
                    flows,
                    configured,
                    testbed,
                    facts,
                    &mut cells.experiments,
                    &mut cells.refused,
                    problems,
                );
                // A list of CPUs is refused with flows.
                if let [matrix] = flows.as_slice() {
                    let stack = &configured.stack;
                    for e in &cells.experiments[from..] {
                        cpus::check_hosts(matrix, e, stack, testbed, self.machine, problems);
                    }
                }
            }
        }
        cells
    }

    /// Refuses stacks that can do nothing of what they were named for.
    fn refuse(&self, cells: &Cells, read: &Read<'_>, problems: &mut Problems) {
        let (experiments, refused) = (&cells.experiments, &cells.refused);
        if let Some(names) = &read.named {
            return refuse::idle_stacks(names.iter(), experiments, refused, problems);
        }
        // What a stack can of the whole suite it may not of a part.
        if self.request.experiments.is_some() {
            return;
        }
        let facts = &remote::facts(&read.testbed, None, self.machine);
        let specs = read.suite.experiments.iter();
        let in_suite = specs.flat_map(|e| match &e.stacks {
            StackChoice::Listed(names) => names.as_slice(),
            StackChoice::All => &[],
        });
        let here = in_suite.filter(|name| !read.is_elsewhere(&name.value, refused, facts));
        refuse::idle_stacks(here, experiments, refused, problems);
    }

    fn link(
        &self,
        cells: Cells,
        read: Read<'_>,
        mut problems: Problems,
    ) -> Result<Plan, PlanError> {
        let Asked {
            catalog,
            request,
            adapters,
            ..
        } = *self;
        let Cells {
            mut experiments,
            refused,
        } = cells;
        let mut testbed = read.testbed;
        let facts = &remote::facts(&testbed, None, self.machine);
        let mut used: BTreeMap<String, Stack> = BTreeMap::new();
        for e in &experiments {
            if let Some(c) = read.stacks.get(&e.stack) {
                used.insert(e.stack.clone(), c.stack.clone());
            }
        }
        let floors = floor_stacks(catalog, adapters);
        let mut warnings = Vec::new();
        if request.legs {
            let mut direct = |name: &str| {
                let place = Place::flag("--legs", name);
                let source = catalog.stack(name, &place).ok()?;
                let c = configure(catalog, name, source, adapters, &mut problems)?;
                let adapter = *c.adapters.first()?;
                Some((c.stack, adapter))
            };
            warnings.extend(legs::add(
                &mut experiments,
                &mut used,
                &testbed,
                facts,
                &mut direct,
            )?);
        }
        if request.alone {
            together::add_alone(&mut experiments)?;
        }
        // Of a search most experiments get no trial: they have no floors.
        if request.search.is_none() && !request.gate {
            warnings.extend(floor::link(&mut experiments, &mut used, &floors, &testbed));
        }
        remote::equip(&mut testbed, &used, &experiments, facts);
        warnings.extend(self.remarks(&experiments, &used, &testbed, facts));
        if let Some(against) = &request.against {
            warnings.extend(against::link(&mut experiments, against));
            refuse::no_base(&experiments, against)?;
        }
        warnings.extend(slices::arrange(&mut experiments, &used, &testbed, request)?);
        Ok(Plan {
            suite: request.suite.clone(),
            title: read.suite.title,
            table: read.suite.table,
            seed: request.seed,
            testbed,
            stacks: used,
            experiments,
            refused,
            warnings: warnings.into_iter().map(Cause::Known).collect(),
            against: request.against.clone(),
            precision: request.precision,
            repeats: request.repeats,
            search: request.search.clone(),
            shard: None,
            more: Vec::new(),
        })
    }

    /// What the machine and the testbed have too little of for the experiments.
    fn remarks(
        &self,
        experiments: &[Experiment],
        used: &BTreeMap<String, Stack>,
        testbed: &Testbed,
        facts: &HostFacts,
    ) -> Vec<PlanWarning> {
        // Of a chain one that needs shared memory, if there is one.
        let adapter_of = |stack: &str| {
            let names = used.get(stack)?.adapters();
            let all = self.adapters.iter();
            let mut all = all.filter(|a| names.contains(&a.name.as_str()));
            let first = all.clone().next();
            all.find(|a| a.capabilities.loan).or(first)
        };
        let asks = |stack: &str| used.get(stack).is_some_and(|stack| stack.asks);
        let graph_of = |flows: &[&Experiment]| load::graph_of(flows, used, testbed);
        let mut remarks = host::warnings(experiments, facts, adapter_of, asks, graph_of);
        remarks.extend(remote::warnings(testbed));
        // A search looks for the overload.
        if self.request.search.is_none() {
            remarks.extend(load::warnings(experiments, testbed, used, facts));
        }
        remarks
    }
}

impl<'a> Read<'a> {
    /// The stacks that an experiment is for.
    fn stacks_of(&self, spec: &ExperimentSpec, is_probe: bool) -> Vec<&Configured<'a>> {
        match (&self.named, &spec.stacks) {
            (Some(names), _) | (None, StackChoice::Listed(names)) => {
                let stacks = names.iter().filter_map(|n| self.stacks.get(&n.value));
                stacks.collect()
            }
            (None, StackChoice::All) => self
                .stacks
                .values()
                .filter(|c| probe::fits(&c.stack.name, is_probe))
                // A chain is made of the others and is asked for by name.
                .filter(|c| c.stack.chain.is_none())
                // Over a link a floor takes as long as a stack, so it is asked for by name as well.
                .filter(|c| !c.stack.floor || c.stack.adapter == SHARING)
                .filter(|c| !remote::is_out_of_place(&c.stack, &self.testbed))
                .collect(),
        }
    }

    /// Whether another machine or testbed could run the stack: a suite does not know those that it will run on.
    fn is_elsewhere(&self, stack: &str, refused: &[Refusal], facts: &HostFacts) -> bool {
        let (testbed, hosts) = (&self.testbed, self.testbed.hosts.len());
        let lacks_memory = |r: &Refusal, of: &Stack| {
            r.stack == stack && remote::is_without_memory(&r.reason, of, testbed)
        };
        self.stacks.get(stack).is_some_and(|c| {
            c.adapters.iter().any(|a| a.unavailable.is_some())
                || missing_daemon(&c.stack, facts).is_some()
                || remote::refusal(&c.stack, testbed, facts).is_some()
                || hosts < 2 && c.stack.placements == [Placement::Host]
                || refused.iter().any(|r| lacks_memory(r, &c.stack))
                || (c.stack.chain.as_ref()).is_some_and(|chain| hosts < chain.hosts())
        })
    }
}

fn built_in_settings(problems: &mut Problems) -> Settings {
    let text = include_str!("defaults.toml");
    let source = Arc::new(NamedSource::new("built-in defaults.toml", text.to_owned()));
    let mut settings = Settings::default();
    for entry in parse(&source, problems).iter().flat_map(|table| &table.0) {
        settings.read(entry, Form::Single, problems);
    }
    settings
}
