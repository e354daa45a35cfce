//! From a request to a plan: which stacks, which cells, which of them can be measured here.

use crate::against;
use crate::capability;
use crate::catalog::Catalog;
use crate::chain;
use crate::cpus::{self, Places};
use crate::daemon::missing_daemon;
use crate::floor::{self, FloorStack};
use crate::flow;
use crate::ground;
use crate::host::{self, HostFacts};
use crate::legs;
use crate::link;
use crate::load;
use crate::machine;
use crate::matrix::{Cell, MOST_CELLS, Matrix};
use crate::node::parse;
use crate::parallel;
use crate::parameters::Override;
use crate::probe;
use crate::problem::{Place, PlanError, Problem, Problems};
use crate::quantity::At;
use crate::remote;
use crate::search;
use crate::select;
use crate::settings::{Form, Settings};
use crate::suite::{self, StackChoice, Suite};
use crate::{stack, testbed};
use dyno_model::plan::{Experiment, ExperimentId, Refusal};
use dyno_model::{
    AdapterDescription, Against, Nanos, Placement, Plan, Request, Stack, Testbed, Wait,
};
use miette::NamedSource;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stack with the adapters of its legs; one without legs has one.
struct Configured<'a> {
    stack: Stack,
    adapters: Vec<&'a AdapterDescription>,
}

impl Configured<'_> {
    /// Why `cell` cannot be measured on it, or `None` if it can.
    fn refusal(&self, cell: &Cell, hosts: usize) -> Option<String> {
        match (&self.stack.chain, self.adapters.as_slice()) {
            (Some(chain), all) => chain::refusal(cell, &self.stack, chain, all, hosts),
            (None, [adapter, ..]) => capability::refusal(cell, &self.stack, adapter, hosts),
            (None, []) => Some(format!("{} has no adapter", self.stack.name)),
        }
    }

    /// Why its sink cannot sleep after each message, where it is to.
    fn cannot_pause(&self, cell: &Cell, sink_pause: Option<Nanos>) -> Option<String> {
        sink_pause?;
        if self.stack.loopback {
            return Some(format!(
                "{} has no second participant that could be slow, as `sink_pause` wants",
                self.stack.name
            ));
        }
        let chain = self.stack.chain.as_ref();
        let last = chain.and_then(|chain| chain.legs.last()?.wait);
        let spins = last.unwrap_or(cell.wait) == Wait::Spin;
        spins.then(|| "`sink_pause` is for a sink that sleeps, and this one spins".to_owned())
    }

    /// Whether a call goes over a pair of channels: programs that bridge legs carry messages.
    fn is_paired(&self, cell: &Cell) -> bool {
        let chain = self.stack.chain.as_ref();
        let bridged = chain.is_some_and(|chain| chain.foreign().contains(&true));
        let is_call = cell.workload.kind().info().is_request_response;
        capability::is_paired(cell, &self.adapters) || (is_call && bridged)
    }

    /// Why its echo cannot sleep between its looks, where it is to.
    fn cannot_poll(&self, cell: &Cell, echo_poll: Option<Nanos>) -> Option<String> {
        let chain = self.stack.chain.as_ref();
        let last = chain.and_then(|chain| chain.legs.last()?.wait);
        let called = last.unwrap_or(cell.wait) == Wait::Callback;
        (called && echo_poll.is_some()).then(|| {
            "`echo_poll` is for an echo that looks for messages, and this one is called".to_owned()
        })
    }
}

/// Why the stack's files leave the experiment without a channel, or `None` where there are enough.
fn too_few_channels(e: &Experiment, stack: &Stack, testbed: &Testbed) -> Option<String> {
    let most = usize::from(stack.channels?);
    let wanted = e.graph(Some(stack), testbed).channels.len();
    (wanted > most).then(|| {
        format!(
            "{} has {most} channels, and {wanted} are wanted; let fewer senders send, or write a stack file with more",
            stack.name
        )
    })
}

/// A stack that somebody asked for by name, and where.
type Named = At<String>;

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
    let mut problems = Problems::default();
    let (of_testbed, of_suite) = link::take_overrides(overrides(request));
    let testbed = match catalog.testbed(&request.testbed) {
        Ok(source) => testbed::read(&request.testbed, source, &of_testbed, &mut problems),
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    let suite = match catalog.suite(&request.suite) {
        Ok(source) => suite::read(source, of_suite, &mut problems).map(|suite| Suite {
            experiments: select::experiments(
                suite.experiments,
                request.experiments.as_deref(),
                &mut problems,
            ),
            ..suite
        }),
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    let mut built_in = built_in_settings(&mut problems);
    let (Some(suite), Some(mut testbed)) = (suite, testbed) else {
        return Err(problems.into_error());
    };
    machine::place(&testbed, &mut built_in);
    let hosts = testbed.hosts.len();
    let facts = &remote::facts(&testbed, None, machine);
    let readable = problems.is_empty();

    let named: Option<Vec<Named>> = request.stacks.as_ref().map(|names| {
        let mut names = names.clone();
        if let Some(Against::Stack { name }) = &request.against {
            names.push(name.clone());
        }
        from_flag(&names)
    });
    if named.as_ref().is_some_and(Vec::is_empty) {
        problems.push(
            Problem::at(&Place::flag("--stack", "\"\""), "--stack names no stack")
                .help("write for example --stack tcp,udp, or leave it out"),
        );
    }
    let stacks = read_stacks(catalog, &suite, named.as_deref(), adapters, &mut problems);
    if let Some(search) = &request.search {
        search::refuse(search.raise, request, &suite, &mut problems);
    }

    let mut matrices: Vec<(Vec<Matrix<'_>>, Vec<&Configured<'_>>)> = Vec::new();
    // What a suite with mistakes would multiply out to only repeats them.
    for spec in suite.experiments.iter().filter(|_| readable) {
        let at = [&suite.overrides, &spec.own, &suite.defaults];
        let at = at.iter().find_map(|level| level.host.as_ref());
        let facts = &remote::facts(&testbed, at.map(|host| host.value.as_str()), machine);
        if let Some(mut matrix) = Matrix::new(&suite, spec, &built_in, hosts, facts, &mut problems)
        {
            if let Some(search) = &request.search {
                search::climb(&mut matrix, search.raise, spec, &mut problems);
            }
            cpus::check(&matrix, facts, &mut problems);
            if let Some((flows, _)) = matrices.last_mut()
                && matrix.flow.is_some()
                && flows.first().is_some_and(|first| first.name == matrix.name)
            {
                flows.push(matrix);
                continue;
            }
            let on = match (&named, &spec.stacks) {
                (Some(names), _) | (None, StackChoice::Listed(names)) => names
                    .iter()
                    .filter_map(|n| stacks.get(&n.value))
                    .collect::<Vec<_>>(),
                (None, StackChoice::All) => stacks
                    .values()
                    .filter(|c| probe::fits(&c.stack.name, matrix.is_probe()))
                    // A chain is made of the others and is asked for by name.
                    .filter(|c| c.stack.chain.is_none())
                    .filter(|c| !remote::is_out_of_place(&c.stack, &testbed))
                    .collect(),
            };
            matrices.push((vec![matrix], on));
        }
    }
    problems.check()?;
    refuse_explosion(&matrices, catalog, request)?;

    let mut experiments: Vec<Experiment> = Vec::new();
    let mut refused: Vec<Refusal> = Vec::new();
    for (flows, on) in &matrices {
        let host = flows.first().and_then(|m| m.conditions.host);
        let facts = &remote::facts(&testbed, host, machine);
        for configured in on {
            expand(
                flows,
                configured,
                &testbed,
                facts,
                &mut experiments,
                &mut refused,
                &mut problems,
            );
        }
    }
    // A suite does not know the machine and the testbed that it will run on.
    let elsewhere = |stack: &str| {
        stacks.get(stack).is_some_and(|c| {
            c.adapters.iter().any(|a| a.unavailable.is_some())
                || missing_daemon(&c.stack, facts).is_some()
                || remote::refusal(&c.stack, &testbed, facts).is_some()
                || hosts < 2 && c.stack.placements == [Placement::Host]
                || refused.iter().any(|r| {
                    r.stack == stack && remote::is_without_memory(&r.reason, &c.stack, &testbed)
                })
                || c.stack
                    .chain
                    .as_ref()
                    .is_some_and(|chain| hosts < chain.hosts())
        })
    };
    let in_suite = suite
        .experiments
        .iter()
        .flat_map(|e| match &e.stacks {
            StackChoice::Listed(names) => names.as_slice(),
            StackChoice::All => &[],
        })
        .filter(|name| !elsewhere(&name.value));
    match &named {
        Some(names) => refuse_idle_stacks(names.iter(), &experiments, &refused, &mut problems),
        None => refuse_idle_stacks(in_suite, &experiments, &refused, &mut problems),
    }
    problems.check()?;
    refuse_nothing(&experiments, &refused, catalog, request)?;

    let mut used: BTreeMap<String, Stack> = BTreeMap::new();
    for e in &experiments {
        if let Some(c) = stacks.get(&e.stack) {
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
        flow::add_alone(&mut experiments)?;
    }
    // Of a search most experiments get no trial: they have no floors.
    if request.search.is_none() {
        warnings.extend(floor::link(&mut experiments, &mut used, &floors, &testbed));
    }
    remote::equip(&mut testbed, &used, &experiments, facts);
    // Of a chain one that needs shared memory, if there is one.
    let adapter_of = |stack: &str| {
        let names = used.get(stack)?.adapters();
        let mut all = adapters.iter().filter(|a| names.contains(&a.name.as_str()));
        let first = all.clone().next();
        all.find(|a| a.capabilities.loan).or(first)
    };
    let graph_of = |e: &Experiment| e.graph(used.get(&e.stack), &testbed);
    warnings.extend(host::warnings(&experiments, facts, adapter_of, graph_of));
    warnings.extend(remote::warnings(&testbed));
    // A search looks for the overload.
    if request.search.is_none() {
        warnings.extend(load::warnings(&experiments, &testbed, &used, facts));
    }
    if let Some(against) = &request.against {
        warnings.extend(against::link(&mut experiments, against));
        refuse_no_base(&experiments, against)?;
    }
    let mut plan = Plan {
        suite: request.suite.clone(),
        title: suite.title,
        table: suite.table,
        seed: request.seed,
        testbed,
        stacks: used,
        experiments,
        refused,
        warnings,
        against: request.against.clone(),
        precision: request.precision,
        repeats: request.repeats,
        search: request.search.clone(),
        shard: None,
    };
    if request.ground {
        ground::add(&mut plan, catalog, request, adapters, machine)?;
    }
    Ok(plan)
}

/// A comparison in which nothing is compared is a mistake.
fn refuse_no_base(experiments: &[Experiment], against: &Against) -> Result<(), PlanError> {
    let mut problems = Problems::default();
    if let (Against::Stack { name }, false) =
        (against, experiments.iter().any(|e| e.base.is_some()))
    {
        problems.push(
            Problem::at(
                &Place::flag("--against", name),
                format!("no experiment is compared with {name:?}"),
            )
            .label("it has no experiment with the factors of another stack's")
            .help(
                "name both stacks, such as --stack tcp --against uds-stream, and give both the same wait with --set wait=block if their natural ones differ",
            ),
        );
    }
    problems.check()
}

/// `--set` and `--trials`; later ones win.
fn overrides(request: &Request) -> Vec<Override> {
    let mut all: Vec<Override> = request
        .set
        .iter()
        .map(|(key, value)| Override::parse(key, value))
        .collect();
    all.extend(request.trials.map(Override::trials));
    all
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

fn from_flag(names: &[String]) -> Vec<Named> {
    let whole = Place::flag("--stack", &names.join(","));
    let mut start = whole.span.start;
    let mut all: Vec<Named> = Vec::new();
    for name in names {
        let span = start..start + name.len();
        start = span.end + 1;
        if all.iter().all(|n| n.value != *name) {
            all.push(At {
                value: name.clone(),
                at: Place {
                    source: whole.source.clone(),
                    span,
                },
            });
        }
    }
    all
}

/// Reads the stacks that the run asks for: all of the catalog if any experiment asks for all.
fn read_stacks<'a>(
    catalog: &Catalog,
    suite: &Suite,
    named: Option<&[Named]>,
    adapters: &'a [AdapterDescription],
    problems: &mut Problems,
) -> BTreeMap<String, Configured<'a>> {
    let mut sources: BTreeMap<&str, &Arc<NamedSource<String>>> = BTreeMap::new();
    let choices: Vec<&[Named]> = match named {
        Some(names) => vec![names],
        None => suite
            .experiments
            .iter()
            .filter_map(|e| match &e.stacks {
                StackChoice::Listed(names) => Some(names.as_slice()),
                StackChoice::All => None,
            })
            .collect(),
    };
    for name in choices.into_iter().flatten() {
        match catalog.stack(&name.value, &name.at) {
            Ok(source) => {
                sources.insert(&name.value, source);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let all = |e: &suite::ExperimentSpec| matches!(e.stacks, StackChoice::All);
    if named.is_none() && suite.experiments.iter().any(all) {
        sources.extend(catalog.stack_texts().iter().map(|(n, s)| (n.as_str(), s)));
    }
    sources
        .into_iter()
        .filter_map(|(name, source)| {
            let configured = configure(catalog, name, source, adapters, problems)?;
            Some((name.to_owned(), configured))
        })
        .collect()
}

fn configure<'a>(
    catalog: &Catalog,
    name: &str,
    source: &Arc<NamedSource<String>>,
    adapters: &'a [AdapterDescription],
    problems: &mut Problems,
) -> Option<Configured<'a>> {
    let stack = stack::read(catalog, name, source, adapters, &[], problems)?;
    let names = stack.adapters().into_iter();
    let of = names.map(|name| adapters.iter().find(|a| a.name == name));
    let adapters = of.collect::<Option<_>>()?;
    Some(Configured { stack, adapters })
}

/// Every stack of the catalog that is a floor. Those that cannot be read are passed over: where
/// the run asks for them, that is an error already.
fn floor_stacks<'a>(catalog: &Catalog, adapters: &'a [AdapterDescription]) -> Vec<FloorStack<'a>> {
    catalog
        .stack_texts()
        .iter()
        .filter_map(|(name, source)| {
            let mut problems = Problems::default();
            let c = configure(catalog, name, source, adapters, &mut problems)?;
            let adapter = *c.adapters.first()?;
            (problems.is_empty() && c.stack.floor).then_some(FloorStack {
                stack: c.stack,
                adapter,
            })
        })
        .collect()
}

/// Adds the experiments of one of the suite, or of its flows, on one stack.
fn expand(
    flows: &[Matrix<'_>],
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
    experiments: &mut Vec<Experiment>,
    refused: &mut Vec<Refusal>,
    problems: &mut Problems,
) {
    let cells: Vec<Vec<Cell>> = flows.iter().map(|m| m.cells(&on.stack.waits)).collect();
    let most = cells.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..most {
        // Flows have their factors in common, and so cells of the same number; but for what a flag says.
        let cell = |of: &Vec<Cell>| of.get(number).or(of.last()).copied();
        let together: Vec<Cell> = cells.iter().filter_map(cell).collect();
        let mut refusals = flows.iter().zip(&together);
        let reason = refusals
            .find_map(|(m, cell)| Some(flow::of_flow(m, refusal(m, cell, on, testbed, facts)?)));
        let reason = reason.or_else(|| match flows {
            [alone] if alone.flow.is_none() => None,
            _ => flow::refusal(&together, &on.stack),
        });
        let from = experiments.len();
        if reason.is_none() {
            place(flows, &together, on, testbed, facts, experiments, problems);
        }
        let mut placed = experiments[from..].iter();
        let too_few = placed.find_map(|e| too_few_channels(e, &on.stack, testbed));
        if let (Some(reason), [first, ..], [cell, ..]) =
            (reason.or(too_few), flows, together.as_slice())
        {
            experiments.truncate(from);
            refused.push(Refusal {
                experiment: first.name.to_owned(),
                stack: on.stack.name.clone(),
                factors: match first.flow {
                    Some(_) => format!("{} flows, {}, {}", flows.len(), cell.wait, cell.access),
                    None => cell.factors(),
                },
                reason,
            });
        }
    }
}

/// Why a cell cannot be measured on a stack, or `None` if it can.
fn refusal(
    matrix: &Matrix<'_>,
    cell: &Cell,
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Option<String> {
    let conditions = &matrix.conditions;
    let given = &conditions.cpus.value;
    remote::no_host(matrix, testbed)
        .or_else(|| probe::refusal(cell, &on.stack, conditions.window, given, facts))
        .or_else(|| on.refusal(cell, testbed.hosts.len()))
        .or_else(|| match matrix.flow {
            Some(_) => None,
            None => parallel::refusal(cell, &on.stack, given, facts),
        })
        .or_else(|| on.cannot_poll(cell, conditions.echo_poll))
        .or_else(|| on.cannot_pause(cell, conditions.sink_pause))
        .or_else(|| remote::lacks_memory(cell, &on.stack, testbed))
        .or_else(|| remote::refusal(&on.stack, testbed, facts))
        .or_else(|| missing_daemon(&on.stack, facts))
}

/// Adds the experiments of cells that can be measured, on their CPUs: of one, or of flows that run at the same time.
fn place(
    flows: &[Matrix<'_>],
    cells: &[Cell],
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
    experiments: &mut Vec<Experiment>,
    problems: &mut Problems,
) {
    // The number of cells is bounded by MOST_CELLS.
    let group = ExperimentId(experiments.len() as u32);
    let given = flows.first().map(|first| &first.conditions.cpus.value);
    let processes = flows.iter().find_map(|m| Some(m.flow?.processes));
    let mut of_flows = match (given, processes) {
        (Some(given), Some(processes)) => {
            flow::places(given, cells, &on.stack, processes, testbed, facts)
        }
        _ => Vec::new(),
    }
    .into_iter();
    for (matrix, cell) in flows.iter().zip(cells) {
        let conditions = &matrix.conditions;
        let (cell, probed) = probe::placed(*cell, &conditions.cpus.value, facts);
        let places = match (of_flows.next(), matrix.is_probe()) {
            (Some(places), _) => places,
            (None, true) => Places {
                cpus: probed,
                ..Places::default()
            },
            (None, false) => cpus::places(matrix, &cell, &on.stack, testbed, facts, problems),
        };
        experiments.push(Experiment {
            id: ExperimentId(experiments.len() as u32),
            name: matrix.name.to_owned(),
            stack: on.stack.name.clone(),
            workload: cell.workload,
            payload: cell.payload,
            wait: cell.wait,
            access: cell.access,
            placement: cell.placement,
            topology: cell.topology,
            warmup: conditions.warmup,
            window: conditions.window,
            echo_poll: conditions.echo_poll,
            sink_pause: conditions.sink_pause,
            drain: conditions.drain,
            deadline: conditions.deadline,
            cpus: places.cpus,
            library_cpus: places.library_cpus,
            daemon_cpus: places.daemon_cpus,
            scheduling: cell.scheduling,
            mlock: conditions.mlock,
            on_host: remote::index(conditions.host, testbed).unwrap_or_default(),
            reboot: conditions.reboot,
            trials: conditions.trials,
            raw_samples: conditions.raw_samples,
            floor: None,
            added: false,
            settle: conditions.settle,
            base: None,
            legs: Vec::new(),
            paired: on.is_paired(&cell),
            counted: false,
            flow: matrix
                .flow
                .map(|spec| flow::settled(spec, cell.payload, group)),
            machine: None,
        });
    }
}

fn refuse_explosion(
    matrices: &[(Vec<Matrix<'_>>, Vec<&Configured<'_>>)],
    catalog: &Catalog,
    request: &Request,
) -> Result<(), PlanError> {
    let cells = |(flows, on): &(Vec<Matrix<'_>>, Vec<&Configured<'_>>)| {
        let sizes = on
            .iter()
            .flat_map(|c| flows.iter().map(|m| m.size(&c.stack.waits)));
        sizes.fold(0, usize::saturating_add)
    };
    let total = matrices.iter().map(cells).fold(0, usize::saturating_add);
    if total <= MOST_CELLS {
        return Ok(());
    }
    let largest = matrices.iter().max_by_key(|m| cells(m));
    let name = largest.and_then(|(flows, _)| flows.first());
    let name = name.map_or("", |matrix| matrix.name);
    let place = Place::top(catalog.suite(&request.suite)?);
    Err(Problem::at(
        &place,
        format!("the suite has {total} experiments; a run has at most {MOST_CELLS}"),
    )
    .label(format!("most of them come from the matrix of `{name}`"))
    .help("shorten its lists, write larger factors in its ranges, or choose fewer stacks")
    .into())
}

/// Refuses stacks that were asked for by name and cannot do anything of what they are asked for.
fn refuse_idle_stacks<'a>(
    named: impl Iterator<Item = &'a Named>,
    experiments: &[Experiment],
    refused: &[Refusal],
    problems: &mut Problems,
) {
    for name in named {
        if experiments.iter().any(|e| e.stack == name.value) {
            continue;
        }
        if let Some(refusal) = refused.iter().find(|r| r.stack == name.value) {
            problems.push(
                Problem::at(
                    &name.at,
                    format!("`{}` can run none of this: {}", name.value, refusal.reason),
                )
                .label(format!("for example {}", refusal.factors))
                .help("leave the stack out, or change what stands in its way"),
            );
        }
    }
}

fn refuse_nothing(
    experiments: &[Experiment],
    refused: &[Refusal],
    catalog: &Catalog,
    request: &Request,
) -> Result<(), PlanError> {
    if !experiments.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<String> = Vec::new();
    for r in refused {
        let line = format!("{}: {}", r.stack, r.reason);
        if !reasons.contains(&line) && reasons.len() < 20 {
            reasons.push(line);
        }
    }
    let place = Place::top(catalog.suite(&request.suite)?);
    Err(
        Problem::at(&place, "no stack can run anything of this suite")
            .label("all of it is refused")
            .help(reasons.join("\n"))
            .into(),
    )
}
