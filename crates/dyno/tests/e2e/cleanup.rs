//! Whatever ends a run, finished trials are readable, the run can be resumed, and nothing stays.

use crate::harness::{Place, children, experiments, is_alive, send, wait_for};
use serde_json::Value;
use std::path::Path;

const SUITE: &str = r#"
    title = "slow enough to be hit"
    [defaults]
    trials = 3
    warmup = "20 ms"
    window = "400 ms"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "200 Hz"
    wait = "block"
    stacks = ["uds-stream", "floor-futex", "posix-mq", "iceoryx2"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.suite("slow", SUITE);
    place
}

/// Names in /dev/shm that carry the session of a run of this runner.
fn shm_of(runner: i32) -> Vec<String> {
    std::fs::read_dir("/dev/shm")
        .unwrap()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.contains(&format!("dyno-{runner}-")))
        .collect()
}

#[track_caller]
fn assert_nothing_stays(place: &Place, runner: i32) {
    assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
    assert_eq!(shm_of(runner), Vec::<String>::new());
    assert!(children(runner).is_empty());
}

fn stored_trials(place: &Place) -> usize {
    std::fs::read_dir(place.path("out/trials"))
        .map(|d| {
            d.flatten()
                .filter(|e| e.path().extension().is_some_and(|x| x == "json"))
                .count()
        })
        .unwrap_or(0)
}

#[track_caller]
fn assert_resumes(place: &Place) {
    let code = place
        .run(&["run", "--resume", "out", "--quiet"])
        .status
        .code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}");
    assert_eq!(stored_trials(place), 12);
    for e in experiments(&place.show("out")) {
        let n = |key: &str| e[key].as_u64().unwrap();
        // Trials that another test disturbed stand apart, unless that is all of them.
        let apart = if e["all_disturbed"] == true {
            0
        } else {
            n("disturbed_trials")
        };
        assert_eq!(n("trials") + n("failed_trials") + apart, 3, "{e:#}");
    }
}

#[test]
fn a_killed_agent_costs_its_trial_only() {
    let place = place();
    let run = place.start(&["run", "slow", "--out", "out", "--quiet"]);
    let runner = run.pid();
    send(run.agents(2)[1], libc::SIGKILL);
    run.end().with_code(4);
    let failed: u64 = experiments(&place.show("out"))
        .iter()
        .map(|e| e["failed_trials"].as_u64().unwrap())
        .sum();
    assert_eq!(failed, 1);
    assert_nothing_stays(&place, runner);
}

#[test]
fn after_ctrl_c_the_run_is_readable_and_resumes() {
    let place = place();
    let run = place.start(&["run", "slow", "--out", "out"]);
    let runner = run.pid();
    wait_for("three trials", || {
        (stored_trials(&place) >= 3).then_some(())
    });
    run.signal(libc::SIGINT);
    run.end().with_code(130).says("--resume");
    assert_nothing_stays(&place, runner);
    let before = stored_trials(&place);
    assert!((3..12).contains(&before));
    assert_resumes(&place);
}

#[test]
fn a_killed_runner_leaves_nothing_after_the_next_start() {
    let place = place();
    let run = place.start(&["run", "slow", "--out", "out"]);
    let runner = run.pid();
    wait_for("two trials", || (stored_trials(&place) >= 2).then_some(()));
    let agents = run.agents(2);
    run.signal(libc::SIGKILL);
    let _ = run.end();
    wait_for("the agents to die with their runner", || {
        agents.iter().all(|a| !is_alive(*a)).then_some(())
    });
    assert_resumes(&place);
    assert_nothing_stays(&place, runner);
}

/// Runs `dyno` in a mount namespace of its own with a small tmpfs at `at`. Needs root.
fn with_small_tmpfs(
    place: &Place,
    at: &Path,
    size: &str,
    arguments: &str,
) -> crate::harness::Ended {
    let script = format!(
        "mount -t tmpfs -o size={size} tmpfs '{}' && exec '{}' {arguments}",
        at.display(),
        env!("CARGO_BIN_EXE_dyno")
    );
    let inner = place.dyno(&[]);
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &script])
        .current_dir(inner.get_current_dir().unwrap());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.output().unwrap().into()
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("NOT TESTED: mounts and files of other users need root");
    }
    root
}

#[test]
fn a_full_dev_shm_is_a_clear_error_of_its_trials_only() {
    if !is_root() {
        return;
    }
    let place = place();
    place.suite(
        "big",
        r#"
        title = "big"
        [defaults]
        trials = 1
        warmup_messages = 1
        round_trips = 5
        payload = "1 MiB"
        access = "all"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["floor-futex", "uds-stream", "iceoryx2"]
        "#,
    );
    let ended = with_small_tmpfs(
        &place,
        Path::new("/dev/shm"),
        "64k",
        "run big --out out --quiet",
    );
    ended.with_code(4).says("/dev/shm");
    let shown = place.show("out");
    let ok = |stack: &str| crate::harness::on_stack(&shown, stack)["failed_trials"] == 0;
    assert!(ok("uds-stream"));
    assert!(!ok("floor-futex"));
    assert!(!ok("iceoryx2"));
}

#[test]
fn a_full_disk_keeps_every_finished_trial() {
    if !is_root() {
        return;
    }
    let place = place();
    std::fs::create_dir(place.path("small")).unwrap();
    let script =
        "run slow --out small/out --quiet --repeats 0; code=$?; cp -r small/out kept; exit $code";
    // The copy is made within the namespace, where the small disk can be seen.
    let script = script.replacen("run", &format!("'{}' run", env!("CARGO_BIN_EXE_dyno")), 1);
    let inner = place.dyno(&[]);
    let mut command = std::process::Command::new("unshare");
    let mount = format!("mount -t tmpfs -o size=100k tmpfs small && {{ {script}; }}");
    command
        .args(["--mount", "sh", "-c", &mount])
        .current_dir(inner.get_current_dir().unwrap());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    let ended: crate::harness::Ended = command.output().unwrap().into();
    ended.with_code(5).says("--resume");
    let trials: Vec<_> = std::fs::read_dir(place.path("kept/trials"))
        .unwrap()
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "json"))
        .collect();
    assert!(!trials.is_empty(), "100 KiB hold some trials");
    for trial in trials {
        let text = std::fs::read_to_string(trial.path()).unwrap();
        assert!(
            serde_json::from_str::<Value>(&text).is_ok(),
            "{} is torn",
            trial.path().display()
        );
    }
    std::fs::rename(place.path("kept"), place.path("out")).unwrap();
    assert_resumes(&place);
}

#[test]
fn a_run_beside_a_hostile_folder_obeys_nothing_of_it_and_says_so() {
    if !is_root() {
        return;
    }
    let place = place();
    let (victim, base) = (place.path("victim"), place.path("tmp/dyno-0"));
    let session = base.join("1-1/dyno-1-1-0");
    std::fs::create_dir_all(session.join("claims")).unwrap();
    std::fs::write(
        session.join("claims/c"),
        format!("file {}\n", victim.display()),
    )
    .unwrap();
    // Newer than the session also for a coarse clock.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&victim, "x").unwrap();
    std::os::unix::fs::chown(&base, Some(65_534), Some(65_534)).unwrap();
    let ended = place.run(&[
        "run",
        "slow",
        "--stack",
        "uds-stream",
        "--trials",
        "1",
        "--out",
        "out",
    ]);
    assert!(matches!(ended.status.code(), Some(0 | 4)));
    ended.says("tmp/dyno-0\" alone: it belongs to user 65534");
    assert!(victim.exists() && session.exists());
    assert!(stored_trials(&place) > 0);
    // Of the run itself nothing stays.
    let left: Vec<_> = std::fs::read_dir(place.path("tmp"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_folder_for_temporary_files_that_is_missing_is_not_made() {
    let place = place();
    let missing = place.path("missing");
    let mut command = place.dyno(&["run", "slow", "--out", "out"]);
    let ended: crate::harness::Ended = command.env("TMPDIR", &missing).output().unwrap().into();
    assert!(!ended.status.success());
    ended.says("set TMPDIR to an existing directory");
    assert!(!missing.exists());
}

/// `dyno` as uid 65534, who may write to nothing of this place but the folder for temporary files and `own`.
fn as_nobody(place: &Place, arguments: &[&str]) -> crate::harness::Ended {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |name: &str, mode| {
        std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let _ = std::fs::create_dir(place.path("own"));
    mode(".", 0o755);
    mode("tmp", 0o1777);
    mode("own", 0o1777);
    let inner = place.dyno(arguments);
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(place.path("."))
        .stdin(std::process::Stdio::null());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.output().unwrap().into()
}

const ONE_TRIAL: [&str; 7] = [
    "run",
    "slow",
    "--stack",
    "uds-stream",
    "--trials",
    "1",
    "--out",
];

#[test]
fn an_unprivileged_run_beside_a_hostile_folder_obeys_nothing_of_it_and_says_so() {
    if !is_root() {
        return;
    }
    let place = place();
    let base = place.path("tmp/dyno-65534");
    let session = base.join("1-1/dyno-1-1-0");
    std::fs::create_dir_all(session.join("claims")).unwrap();
    let victim = place.path("own/victim");
    std::fs::create_dir(place.path("own")).unwrap();
    std::fs::write(
        session.join("claims/c"),
        format!("file {}\n", victim.display()),
    )
    .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&victim, "x").unwrap();
    std::os::unix::fs::chown(&victim, Some(65_534), Some(65_534)).unwrap();
    std::os::unix::fs::chown(&base, Some(65_533), Some(65_533)).unwrap();
    let ended = as_nobody(&place, &[&ONE_TRIAL as &[&str], &["own/out"]].concat());
    assert!(
        matches!(ended.status.code(), Some(0 | 4)),
        "{}",
        ended.stderr
    );
    ended.says("tmp/dyno-65534\" alone: it belongs to user 65533");
    assert!(victim.exists() && session.exists());
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 1);
}

#[test]
fn a_run_that_nobody_may_write_to_is_read_by_every_command_and_not_resumed() {
    if !is_root() {
        return;
    }
    let place = place();
    let code = place
        .run(&[&ONE_TRIAL as &[&str], &["out", "--quiet"]].concat())
        .status
        .code();
    assert!(matches!(code, Some(0 | 4)));
    place.file(
        "limits.toml",
        "[[limit]]\nname = \"a\"\nmetric = \"loss\"\nat_most = 1\n",
    );
    let before = place.trial_names("out");
    let read: [&[&str]; 8] = [
        &["show", "out"],
        &["compare", "out", "out"],
        &["check", "out", "limits.toml"],
        &["report", "out", "-q", "-o", "own/page.html"],
        &["merge", "out", "--partial", "-o", "own/merged"],
        &["audit", "out"],
        &["run", "--like", "out", "--dry-run"],
        &["run", "--resume", "out", "--dry-run"],
    ];
    // A limit may be undecided, where the host disturbed the trial.
    let is_read = |ended: crate::harness::Ended, of: &[&str]| {
        let code = ended.status.code();
        let undecided = code == Some(7) && of.contains(&"check");
        assert!(
            code == Some(0) || undecided,
            "{of:?}: {}{}",
            ended.stdout,
            ended.stderr
        );
    };
    for arguments in read {
        is_read(as_nobody(&place, arguments), arguments);
    }
    let refused = as_nobody(&place, &["run", "--resume", "out", "--quiet"]);
    refused.with_code(5).says("Permission denied");

    // And on a file system that can be read alone, for root too.
    let inner = place.dyno(&[]);
    let on_read_only = |arguments: &[&str]| -> crate::harness::Ended {
        let mount = "mount --bind out out && mount -o remount,ro,bind out && exec \"$@\"";
        let mut command = std::process::Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", mount, "sh"])
            .arg(inner.get_program())
            .args(arguments)
            .current_dir(place.path("."))
            .stdin(std::process::Stdio::null());
        for (key, value) in inner.get_envs() {
            command.env(key, value.unwrap_or_default());
        }
        command.output().unwrap().into()
    };
    for arguments in read.into_iter().filter(|a| !a.contains(&"-o")) {
        is_read(on_read_only(arguments), arguments);
    }
    on_read_only(&["run", "--resume", "out", "--quiet"])
        .with_code(5)
        .says("Read-only file system");
    assert_eq!(place.trial_names("out"), before);
}
