//! Which libraries are served and which are refused, and in what words.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_abi::{LoadError, load};
use dyno_adapter::{Adapter, NodeContext, OptionKind, OptionValue, Wait};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A table of the fixture, built with these macros instead of the right ones.
struct Table {
    directory: TempDir,
    path: PathBuf,
}

fn table(macros: &[(&str, &str)]) -> Table {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(dyno_abi::file_name("table"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![
        ("VERSION", "DYNO_ABI_VERSION"),
        ("SIZE", "sizeof(dyno_adapter_ops)"),
        ("STATUS", "DYNO_ERROR"),
        ("DEFAULT", "\"safe\""),
    ];
    all.retain(|(name, _)| macros.iter().all(|(m, _)| m != name));
    let status = Command::new("cc")
        .args([
            "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
        ])
        .args(
            all.iter()
                .chain(macros)
                .map(|(name, value)| format!("-D{name}={value}")),
        )
        .arg("-I")
        .arg(here.join("../../include"))
        .arg(here.join("tests/fixtures/table.c"))
        .arg("-o")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    Table { directory, path }
}

#[track_caller]
fn refused(macros: &[(&str, &str)]) -> String {
    let table = table(macros);
    match load(&table.path) {
        Ok(_) => panic!("{macros:?} is served"),
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains("libdyno_table.so"), "no file in: {text}");
            text
        }
    }
}

fn context() -> NodeContext {
    NodeContext {
        session: "s".into(),
        scratch: std::env::temp_dir(),
        participant: 0,
        address: "127.0.0.1".into(),
        looked_at: 0,
        options: Default::default(),
    }
}

#[test]
fn a_fitting_table_describes_itself() {
    let table = table(&[]);
    let description = load(&table.path).unwrap().describe();
    assert_eq!(description.name, "table");
    assert_eq!(description.version, "3.2.1");
    assert_eq!(description.capabilities.waits, [Wait::Spin]);
    assert_eq!(description.capabilities.max_message, Some(4096));
    assert_eq!(description.options[0].default, Some(OptionValue::Int(8)));
    assert_eq!(
        description.options[1].kind,
        OptionKind::OneOf(vec!["fast".into(), "safe".into()])
    );
    assert_eq!(description.library.as_deref(), Some(table.path.as_path()));
    drop(table.directory);
}

#[test]
fn an_adapters_error_carries_its_words_and_its_name() {
    let table = table(&[]);
    let error = load(&table.path).unwrap().open(&context()).err().unwrap();
    let text = error.to_string();
    assert!(
        text.contains("table") && text.contains("open") && text.contains("nothing of this works"),
        "{text}"
    );
}

#[test]
fn success_without_a_handle_and_unknown_statuses_are_errors() {
    for (status, words) in [("DYNO_OK", "NULL"), ("77", "77")] {
        let table = table(&[("STATUS", status)]);
        let error = load(&table.path).unwrap().open(&context()).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn another_version_is_refused_with_both_versions() {
    for version in ["0", "2"] {
        let text = refused(&[("VERSION", version)]);
        assert!(
            text.contains(&format!("version {version}")) && text.contains("dyno_adapter.h"),
            "{text}"
        );
    }
}

#[test]
fn a_table_that_is_too_short_is_refused_with_its_size() {
    let text = refused(&[("SIZE", "64")]);
    assert!(text.contains("64 bytes"), "{text}");
}

#[test]
fn a_table_without_the_callback_part_is_served() {
    let table = table(&[("SIZE", "offsetof(dyno_adapter_ops,subscribe)")]);
    load(&table.path).unwrap();
}

#[test]
fn a_longer_table_is_served() {
    let table = table(&[("SIZE", "(sizeof(dyno_adapter_ops)+64)")]);
    load(&table.path).unwrap();
}

#[test]
fn operations_that_a_capability_needs_are_missed_by_name() {
    let text = refused(&[("MISSING", "1")]);
    assert!(text.contains("`send`"), "{text}");
    let text = refused(&[("CAPABILITIES", "(DYNO_CAN_CALLBACK|DYNO_CAN_PROCESS)")]);
    assert!(text.contains("`subscribe`"), "{text}");
}

#[test]
fn a_description_that_contradicts_itself_is_refused() {
    for (macros, words) in [
        (("NAME", "\"other\""), "libdyno_other.so"),
        (("CAPABILITIES", "DYNO_CAN_SPIN"), "DYNO_CAN_PROCESS"),
        (("DEFAULT", "\"slow\""), "slow"),
    ] {
        // The capabilities are named by their last part.
        let words = words.trim_start_matches("DYNO_CAN");
        let text = refused(&[macros]);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_is_no_library_or_no_adapter_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libdyno_x.so");
    assert!(matches!(load(&path), Err(LoadError::Open { .. })));
    std::fs::write(&path, "no library").unwrap();
    assert!(matches!(load(&path), Err(LoadError::Open { .. })));
    let status = Command::new("cc")
        .args(["-shared", "-x", "c", "/dev/null", "-o"])
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let text = load(&path).err().unwrap().to_string();
    assert!(text.contains("dyno_adapter"), "{text}");
}

#[test]
fn what_strangers_can_change_is_not_loaded() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libdyno_any.so");
    std::fs::write(&path, "no library").unwrap();
    assert!(matches!(load(&path), Err(LoadError::Open { .. })));
    set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    let said = match load(&path) {
        Err(e @ LoadError::Stranger { .. }) => e.to_string(),
        _ => panic!("loaded from where everybody may write"),
    };
    assert!(
        said.contains("others may write to it (mode 777); remove this permission"),
        "{said}"
    );
}
