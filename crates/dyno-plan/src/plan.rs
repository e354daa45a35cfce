//! From a request to a plan: which stacks, which cells, which of them can be measured here.

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
use crate::parameters::Override;
use crate::probe;
use crate::refuse;
use crate::remote;
use crate::search;
use crate::select;
use crate::settings::{Form, Settings};
use crate::spec::StackChoice;
use crate::suite::{self, Suite};
use crate::testbed;
use crate::together;
use dyno_model::plan::{Experiment, Refusal};
use dyno_model::{AdapterDescription, Against, Placement, Plan, Request, Stack};
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
        return Err(problems.into_error(nothing_was_run));
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
            cpus::check_count(&matrix, &mut problems);
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
    problems.check(nothing_was_run)?;
    refuse::explosion(&matrices, catalog, request)?;

    let mut experiments: Vec<Experiment> = Vec::new();
    let mut refused: Vec<Refusal> = Vec::new();
    for (flows, on) in &matrices {
        let host = flows.first().and_then(|m| m.conditions.host);
        let facts = &remote::facts(&testbed, host, machine);
        for configured in on {
            let from = experiments.len();
            expand(
                flows,
                configured,
                &testbed,
                facts,
                &mut experiments,
                &mut refused,
                &mut problems,
            );
            // A list of CPUs is refused with flows.
            if let [matrix] = flows.as_slice() {
                let stack = &configured.stack;
                for e in &experiments[from..] {
                    cpus::check_hosts(matrix, e, stack, &testbed, machine, &mut problems);
                }
            }
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
        Some(names) => refuse::idle_stacks(names.iter(), &experiments, &refused, &mut problems),
        None => refuse::idle_stacks(in_suite, &experiments, &refused, &mut problems),
    }
    problems.check(nothing_was_run)?;
    refuse::nothing(&experiments, &refused, catalog, request)?;

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
        together::add_alone(&mut experiments)?;
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
    warnings.extend(host::warnings(
        &experiments,
        facts,
        adapter_of,
        |stack| used.get(stack).is_some_and(|stack| stack.asks),
        graph_of,
    ));
    warnings.extend(remote::warnings(&testbed));
    // A search looks for the overload.
    if request.search.is_none() {
        warnings.extend(load::warnings(&experiments, &testbed, &used, facts));
    }
    if let Some(against) = &request.against {
        warnings.extend(against::link(&mut experiments, against));
        refuse::no_base(&experiments, against)?;
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
