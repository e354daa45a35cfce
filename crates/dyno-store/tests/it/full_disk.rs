//! A full disk costs the trial at hand and nothing else.
//!
//! The checks run in processes of their own (this very program again), started by a shell that
//! first makes writing fail: a tiny file system that vanishes with the process, and a limit on the
//! size of files for machines where mounting is not allowed. Whether the check took place is seen
//! from the sentence that it prints, so that it cannot pass by not running.

use dyno_kit::example::{completed, id, manifest};
use dyno_store::{Redo, RunWriter, StoreError, read_run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

const DIRECTORY: &str = "DYNO_FULL_DISK_DIRECTORY";
const DONE: &str = "the full disk was met and survived";

/// Runs the check behind `shell`, which ends in `exec "$@"` and sees the directory as `$DIR`.
fn run_behind(shell: &str, dir: &Path) -> Output {
    Command::new("sh")
        .args(["-c", shell, "sh"])
        .arg(env::current_exe().unwrap())
        .args([
            "--exact",
            "full_disk::checked_where_writing_fails",
            "--nocapture",
        ])
        .env(DIRECTORY, dir)
        .env("DIR", dir)
        .output()
        .unwrap()
}

fn assert_done(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains(DONE),
        "{text}{errors}"
    );
}

/// Does nothing unless one of the tests below started it.
#[test]
fn checked_where_writing_fails() {
    let Some(dir) = env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let run = dir.join("run");
    let writer = RunWriter::create(&run, &manifest()).unwrap();
    let small = completed(id(0, 0));
    writer.write_trial(&small).unwrap();
    let mut large = completed(id(0, 1));
    large.warnings = vec![dyno_model::Cause::Told("x".repeat(1 << 20))];
    let error = writer.write_trial(&large).unwrap_err();
    let StoreError::NoSpace { .. } = error else {
        panic!("{error}");
    };
    let text = error.to_string();
    assert!(
        text.contains("all trials stored before are intact"),
        "{text}"
    );
    assert!(
        text.contains(&format!("dyno run --resume {}", run.display())),
        "{text}"
    );
    drop(writer);

    let read = read_run(&run).unwrap();
    assert_eq!((read.run.trials.len(), read.problems), (1, Vec::new()));
    assert_eq!(
        fs::read_dir(run.join("trials")).unwrap().count(),
        1,
        "no leftover"
    );

    // Raw samples that do not fit leave no trial behind either.
    let (writer, _) = RunWriter::open_for_resume(&run, Redo::default()).unwrap();
    let mut raw = completed(id(0, 2));
    raw.raw = std::iter::repeat_n(raw.raw[0], 30_000).collect();
    assert!(matches!(
        writer.write_trial(&raw),
        Err(StoreError::NoSpace { .. })
    ));
    assert_eq!(read_run(&run).unwrap().run.trials.len(), 1);

    // A manifest that does not fit leaves nothing.
    let mut wide = manifest();
    wide.command = vec!["x".repeat(1 << 20)];
    let error = RunWriter::create(&dir.join("second"), &wide).unwrap_err();
    assert!(
        matches!(error, StoreError::NoSpaceToStart { .. }),
        "{error}"
    );
    assert!(!dir.join("second").exists());

    // With room again the run goes on.
    writer.write_trial(&completed(id(0, 1))).unwrap();
    assert_eq!(read_run(&run).unwrap().run.trials.len(), 2);
    println!("{DONE}");
}

#[test]
fn a_limit_on_file_size_is_survived() {
    let dir = tempfile::tempdir().unwrap();
    // 64 blocks of 512 bytes (POSIX); bash and dash count alike or in KiB. SIGXFSZ would kill.
    assert_done(&run_behind(
        r#"trap "" XFSZ; ulimit -f 64; exec "$@""#,
        dir.path(),
    ));
}

#[test]
fn a_full_file_system_is_survived() {
    let dir = tempfile::tempdir().unwrap();
    // In a mount namespace of its own, as root or as root of a user namespace: the file system is
    // gone when the process ends.
    let shell = r#"mount -t tmpfs -o size=256k tmpfs "$DIR" && exec "$@""#;
    let namespaces = [&["--mount"][..], &["--user", "--map-root-user", "--mount"]];
    let allowed = namespaces.into_iter().find(|flags| {
        Command::new("unshare")
            .args(*flags)
            .args(["sh", "-c", r#"mount -t tmpfs -o size=256k tmpfs "$0""#])
            .arg(dir.path())
            .output()
            .is_ok_and(|o| o.status.success())
    });
    match allowed {
        Some(flags) => {
            let unshared = format!(
                r#"exec unshare {} sh -c '{shell}' sh "$@""#,
                flags.join(" ")
            );
            assert_done(&run_behind(&unshared, dir.path()));
        }
        // Mounting is not allowed here; the limit on file size takes the same way through the code.
        None => a_limit_on_file_size_is_survived(),
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
