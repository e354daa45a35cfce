//! Chores as data: the commands that `test` and `lint` run, in order.

use crate::metadata::Metadata;
use crate::steps::{Step, cargo};
use crate::{packages, web};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Builds what tests run, with all features. Clippy checks the benches.
pub(crate) fn build() -> Step {
    cargo(
        "build",
        "build --workspace --lib --bins --tests --examples --features dyno/full --locked",
    )
}

/// What a contributor runs before each commit: all unit tests, the conformance suite over the adapters that are
/// built in, and of the tests of the whole program those that measure little or nothing. None needs a package, a
/// browser, a C++ compiler or a library of an adapter. The suite's own tests are left out, whose adapters hang and
/// sleep for a minute and a half, and so are those in modules named `slow`, which simulate thousands of runs, wait for slow clients or
/// draw every table in every width.
pub(crate) fn fast() -> Vec<Step> {
    // The conformance suites of adapters wait for most of their time, and so do tests of the program that measure little.
    let threads = (2 * test_threads()).to_string();
    let test = |name, arguments| {
        cargo(name, arguments)
            .with("PROPTEST_RNG_SEED", SEED)
            .with("RUST_TEST_THREADS", threads.clone())
    };
    vec![
        test(
            "tests of the crates",
            "test --workspace --exclude dyno --exclude dyno-abi --exclude dyno-adapter-kuksa --exclude dyno-adapter-zenoh \
             --exclude dyno-conformance --lib --bins --tests --locked --no-fail-fast -- --skip slow::",
        ),
        test(
            "tests of the boundary to libraries",
            "test --package dyno-abi --lib --test loader --test exported --locked",
        ),
        test(
            "tests of the program",
            "test --package dyno --features full --locked -- \
             bad_input:: doctor:: interface:: judge:: storage:: commands:: view::",
        ),
    ]
}

/// The same cases of the property tests each time: a change fails for what it changed. Without the variable,
/// `cargo test` draws new ones.
const SEED: &str = "20261121";

/// Kuksa's databroker, which no registry has: as the variable names it, or on the PATH.
///
/// # Errors
///
/// Where the variable names a program that is not there: the stand-in must not answer in its place.
fn databroker() -> Result<Option<PathBuf>, String> {
    let named = std::env::var_os("DYNO_KUKSA_DATABROKER");
    let program = PathBuf::from(named.clone().unwrap_or_else(|| "databroker".into()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(&program));
    // A name with a slash is a path, as for a shell.
    let found = match program.components().count() {
        1 => on_path.into_iter().find(|file| file.is_file()),
        _ => Some(program.clone()).filter(|file| file.is_file()),
    };
    match (found, named) {
        (None, Some(_)) => Err(format!(
            "DYNO_KUKSA_DATABROKER names {}, and there is no such program; correct it, or unset it to test with the stand-in",
            program.display()
        )),
        (found, _) => Ok(found),
    }
}

/// What the tests leave out on this machine, one line each.
pub(crate) fn not_tested() -> Vec<&'static str> {
    const DATABROKER: &str = "NOT TESTED: the stacks kuksa* with a real databroker, which DYNO_KUKSA_DATABROKER or the PATH names \
                              where there is one; a stand-in answered them";
    match databroker() {
        Ok(Some(_)) => Vec::new(),
        _ => vec![DATABROKER],
    }
}

/// Three more than there are CPUs: a test of the whole program waits for its windows most of the time.
fn test_threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) + 3
}

/// The tests of what was built, the page's scripts too.
pub(crate) struct Tests {
    /// The tests of the whole program, which measure.
    pub(crate) alone: Step,
    /// All others, in two lanes that run side by side after it.
    pub(crate) lanes: [Vec<Step>; 2],
}

/// All tests. The loom models have a target directory of their own, because their flags would make cargo build
/// everything twice in turns.
pub(crate) fn test(metadata: &Metadata) -> Result<Tests, String> {
    let loom = metadata.target_directory.join("loom");
    let daemons = packages::daemons_in(metadata).join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    // The stand-in is an example of the adapter.
    let stand_in = metadata.target_directory.join("debug/examples/databroker");
    let databroker = databroker()?.unwrap_or(stand_in);
    let rust = |name, programs: &str| {
        cargo(
            name,
            "test --workspace --features dyno/full --locked --no-fail-fast",
        )
        .of(programs)
        .with("PROPTEST_RNG_SEED", SEED)
        .with("RUST_TEST_THREADS", test_threads().to_string())
        // What exports are for reads them: it was installed before, so that missing it is a failure.
        .with("DYNO_REQUIRE_READERS", "1")
        .with("DYNO_KUKSA_DATABROKER", databroker.to_string_lossy())
        .with("PATH", format!("{}:{path}", daemons.display()))
        .repeating()
    };
    Ok(Tests {
        alone: rust("tests of the whole program", &format!("--test {WHOLE}")),
        lanes: [
            vec![
                rust("all other tests", &others(metadata)),
                rust("doc tests", "--doc"),
            ],
            vec![
                web::tests(metadata),
                python(
                    metadata,
                    "the Python package",
                    "-m unittest discover -s python/tests",
                ),
                python(
                    metadata,
                    "the action, templates, the dashboard and how-to pages",
                    "-m unittest discover -s ci/tests",
                ),
                cargo(
                    "loom models of the shared-memory exchange",
                    "test --package dyno-adapter-floor --lib --release --locked",
                )
                .with("RUSTFLAGS", "--cfg loom")
                .with("CARGO_TARGET_DIR", loom.to_string_lossy()),
            ],
        ],
    })
}

/// The test program that runs the whole program.
const WHOLE: &str = "e2e";

/// What has cargo test everything but that program and doc tests: it takes names of programs, and none to leave out.
fn others(metadata: &Metadata) -> String {
    let targets = metadata.members().flat_map(|package| &package.targets);
    let programs = targets.filter(|target| target.kind == ["test"] && target.name != WHOLE);
    let names: BTreeSet<&str> = programs.map(|target| &*target.name).collect();
    let options = names.iter().map(|name| format!(" --test {name}"));
    options.fold("--lib --bins".to_owned(), |line, option| line + &option)
}

/// Tests in Python, with the readers of exports and the debug build of `dyno`.
fn python(metadata: &Metadata, name: &'static str, arguments: &str) -> Step {
    let target = &metadata.target_directory;
    let path = std::env::var("PATH").unwrap_or_default();
    Step::new(name, &format!("python {arguments}"))
        .inside(metadata.workspace_root.clone())
        .with(
            "PATH",
            format!("{}:{path}", target.join("python/bin").display()),
        )
        .with("DYNO_BIN", target.join("debug/dyno").to_string_lossy())
        .with("DYNO_REQUIRE_READERS", "1")
        .with("PYTHONDONTWRITEBYTECODE", "1")
}

/// The conformance suite over sanitized adapters in C and C++. Leaks are not looked for: the suite's own
/// leak case counts what matters, and libraries keep what they have until the process ends.
pub(crate) fn sanitize(target: &Path, preload: &str) -> Vec<Step> {
    const PROGRAMS: [&str; 5] = [
        "test --locked -p dyno --test e2e libraries::",
        "test --locked -p dyno-abi --test cyclonedds",
        "test --locked -p dyno-abi --test fastdds",
        "test --locked -p dyno-abi --test iceoryx",
        "test --locked -p dyno-abi --test vsomeip",
    ];
    let step = |arguments: &str| {
        cargo("sanitized conformance", arguments)
            .with(
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
                format!("env LD_PRELOAD={preload}"),
            )
            .with(
                "DYNO_ADAPTER_PATH",
                target.join("adapters-sanitized").to_string_lossy(),
            )
            // Fast DDS itself deletes one of its readers with another size than it has.
            .with("ASAN_OPTIONS", "detect_leaks=0:new_delete_type_mismatch=0")
            .with("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    };
    PROGRAMS.map(step).into_iter().collect()
}

/// What needs no test to be wrong.
pub(crate) fn lint() -> Vec<Step> {
    vec![
        cargo("formatting", "fmt --all --check"),
        cargo(
            "formatting of the bridge to DDS, which is no part of the workspace",
            "fmt --manifest-path daemons/dds-bridge/Cargo.toml --check",
        ),
        cargo(
            "clippy",
            "clippy --workspace --all-targets --features dyno/full --locked -- -D warnings",
        ),
        cargo(
            "clippy of a first build, which has no features",
            "clippy --bins --locked -- -D warnings",
        ),
        cargo(
            "documentation",
            "doc --workspace --no-deps --features dyno/full --locked",
        )
        .with("RUSTDOCFLAGS", "-D warnings"),
    ]
}

/// `cargo deny`, which also knows of advisories.
pub(crate) fn deny() -> Vec<Step> {
    vec![cargo("cargo deny", "--locked deny check")]
}
