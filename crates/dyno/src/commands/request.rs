//! What `dyno run` is asked for: by its arguments, or with `--like` by a stored run.

use crate::agents::agent_command;
use crate::cli::{ClockArg, InitArgs, RunArgs};
use crate::commands::check::limits_text;
use crate::commands::judged::located;
use crate::commands::trust::shell_word;
use crate::exit::{Code, Failure, Result};
use crate::files;
use dyno_model::{Against, Precision, Request, Search};
use dyno_plan::Catalog;
use dyno_runner::AgentCommand;
use std::path::Path;

/// Where a run takes place unless somebody says otherwise.
const TESTBED: &str = "local";

/// Repeats of disturbed trials unless somebody says otherwise.
const REPEATS: u32 = 5;

/// A request, and the texts that its names stand for. `seed` serves where none is asked for.
pub(super) fn request(args: &RunArgs, seed: u64) -> Result<(Catalog, Request)> {
    let (catalog, mut request) = match &args.like {
        Some(run) => like(args, run)?,
        None => named(args)?,
    };
    request.seed = args.seed.unwrap_or(seed);
    if !args.experiment.is_empty() {
        request.experiments = Some(args.experiment.clone());
    }
    request.trials = args.trials.or(request.trials);
    request.slices = args.slices.or(request.slices);
    request.gate |= args.gate;
    request.ground |= args.ground;
    request.legs |= args.legs;
    request.alone |= args.alone;
    request.set.extend(args.settings.iter().cloned());
    if let Some(within) = args.precision {
        request.precision = Some(Precision {
            within,
            metric: args.precision_of.metric,
            quantile: args.precision_of.quantile,
            max_trials: args.max_trials,
            max_time: args.max_time,
        });
    }
    if let (Some(raise), Some(limits)) = (args.search, &args.until) {
        let until = limits_text(limits)?;
        request.search = Some(Search {
            raise,
            until,
            rules: Search::RULES,
        });
        // Of a run that is repeated: a search adds trials by its own rule.
        request.precision = None;
    }
    request.repeats = args.repeats.unwrap_or(request.repeats);
    request.clock = args.clock.map(ClockArg::choice).or(request.clock);
    Ok((catalog, request))
}

fn named(args: &RunArgs) -> Result<(Catalog, Request)> {
    let mut catalog = files::catalog(&args.files)?;
    let suite = match (&args.suite, &args.answers) {
        (None, Some(text)) => {
            let name = InitArgs::FILE.trim_end_matches(".toml");
            catalog.add_suite(name, InitArgs::FILE, text.clone());
            name.to_owned()
        }
        (suite, _) => suite_of(suite.as_deref().unwrap_or_default(), &mut catalog)?,
    };
    files::add_study(&mut catalog, &suite)?;
    let testbed = args.testbed.as_deref().unwrap_or(TESTBED);
    let testbed = testbed_of(testbed, &mut catalog)?;
    let request = Request {
        suite,
        stacks: (!args.stack.is_empty()).then(|| args.stack.clone()),
        testbed,
        against: args.against.as_deref().map(against).transpose()?,
        repeats: REPEATS,
        ..Request::default()
    };
    Ok((catalog, request))
}

/// The name of a suite that is given by name or by file; a file's is added to the catalog.
fn suite_of(argument: &str, catalog: &mut Catalog) -> Result<String> {
    let path = Path::new(argument);
    let is_file = path.extension().is_some_and(|e| e == "toml");
    if is_file && !path.exists() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        return Err(failure!(
            Error,
            "there is no file {argument}; name a suite file, or a suite without `.toml`: {}",
            catalog.suites_like(&name)
        ));
    }
    let mut limits = None;
    let name = files::name_or_file(argument, &mut |name, path, text| {
        let has = |table: &str| text.lines().any(|line| line.trim() == table);
        if has("[[limit]]") && !has("[[experiment]]") {
            limits = Some(path.to_owned());
        }
        catalog.add_suite(name, path, text);
    })?;
    match limits {
        None => Ok(name),
        Some(path) => Err(failure!(
            Usage,
            "{path} is a limits file, not a suite; measure with dyno run SUITE, then check the run with dyno check latest {}",
            shell_word(&path)
        )),
    }
}

/// The request of a stored run with its own texts; those of this Dyno only for what is asked for beyond.
fn like(args: &RunArgs, run: &Path) -> Result<(Catalog, Request)> {
    let directory = located(run)?;
    let manifest = dyno_store::read_manifest(&directory).map_err(Failure::with(Code::Store))?;
    let Some(origin) = manifest.origin else {
        return Err(failure!(
            Usage,
            "{} was measured by an older Dyno, which did not store the texts of suite, stacks \
                 and testbed, so --like cannot repeat it; name the suite instead (the run was \
                 started with `{}`)",
            directory.display(),
            manifest.command.join(" ")
        ));
    };
    let mut catalog = Catalog::of_origin(&origin);
    catalog.set_adapter_places(dyno_agent::adapter_places);
    let mut request = origin.request;
    let mut present = files::catalog(&args.files)?;
    if let Some(testbed) = &args.testbed {
        request.testbed = testbed_of(testbed, &mut present)?;
        catalog.take_testbed(&request.testbed, &present);
    }
    if !args.stack.is_empty() {
        request.stacks = Some(args.stack.clone());
    }
    request.against = match &args.against {
        Some(text) => Some(against(text)?),
        None => request.against,
    };
    let base = match &request.against {
        Some(Against::Stack { name }) => Some(name),
        _ => None,
    };
    for stack in args.stack.iter().chain(base) {
        catalog.take_stack(stack, &present);
    }
    Ok((catalog, request))
}

/// The name of a testbed that is given by name or by file; a file's is added to the catalog.
pub(super) fn testbed_of(argument: &str, catalog: &mut Catalog) -> Result<String> {
    files::name_or_file(argument, &mut |name, path, text| {
        catalog.add_testbed(name, path, text);
    })
}

/// `same`, the program of another build, or a stack.
fn against(text: &str) -> Result<Against> {
    if text == "same" {
        return Ok(Against::Same);
    }
    if !text.contains('/') {
        return Ok(Against::Stack {
            name: text.to_owned(),
        });
    }
    let found = build(Path::new(text)).map_err(|what| {
        failure!(
            Usage,
            "--against {text}: {what}; name the `dyno` program of another build"
        )
    })?;
    can_play(&found)?;
    Ok(found)
}

/// Sees that agents of another build understand this one: no trial of the base could be measured otherwise.
fn can_play(base: &Against) -> Result<()> {
    let Against::Build { program, version } = base else {
        return Ok(());
    };
    let agent = AgentCommand {
        program: program.clone(),
        ..agent_command()?
    };
    dyno_runner::check_protocol(&agent).map_err(|e| {
        failure!(
            Usage,
            "{version} at {} cannot be the base: {e}",
            program.display()
        )
    })
}

/// The program of another build, with the version that it says.
fn build(path: &Path) -> std::result::Result<Against, String> {
    let program = path.canonicalize().map_err(|e| e.to_string())?;
    let output = std::process::Command::new(&program)
        .arg("--version")
        .output()
        .map_err(|e| e.to_string())?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || !version.starts_with("dyno ") {
        return Err("it does not identify itself as dyno".to_owned());
    }
    Ok(Against::Build { program, version })
}

/// What a stored run was compared with. Another build must be here as well; it is started to say its version. `advice` is for
/// where it is not.
pub(super) fn same_build(stored: &Against, advice: &str) -> Result<()> {
    let Against::Build { program, version } = stored else {
        return Ok(());
    };
    let found = match build(program) {
        Ok(found) if found == *stored => return can_play(stored),
        Ok(Against::Build { version, .. }) => format!("this machine has {version} there"),
        Ok(_) => "this machine has something else there".to_owned(),
        Err(what) => what,
    };
    Err(failure!(
        Usage,
        "the base of the run is {version} at {}, but {found}; {advice}",
        program.display()
    ))
}
