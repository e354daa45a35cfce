//! Libraries that stacks need beside the Rust crates: how to see whether one is there, and how to
//! get it. A new C or C++ stack adds a row here, and CI has it from then on.

use crate::{Outcome, steps};
use std::process::Command;

/// One library.
struct Library {
    /// Its name, and the stacks that need it.
    name: &'static str,
    /// A command that succeeds where it is installed.
    probe: &'static [&'static str],
    /// The commands that install it, in order.
    install: &'static [&'static [&'static str]],
}

/// All stacks of today come with the crates that they use.
const LIBRARIES: &[Library] = &[];

/// Installs what is missing.
pub(crate) fn install() -> Outcome {
    LIBRARIES.iter().try_for_each(ensure)
}

fn ensure(library: &Library) -> Outcome {
    let Library {
        name,
        probe,
        install,
    } = library;
    if let [program, arguments @ ..] = probe
        && steps::succeeds(program, arguments)
    {
        println!("── {name} is installed");
        return Ok(());
    }
    for command in *install {
        println!("── installing {name}: {}", command.join(" "));
        let [program, arguments @ ..] = command else {
            continue;
        };
        let status = Command::new(program)
            .args(arguments)
            .status()
            .map_err(|e| format!("cannot start {program} to install {name}: {e}"))?;
        if !status.success() {
            return Err(format!(
                "{name} cannot be installed: {} failed",
                command.join(" ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed_again() {
        let there = Library {
            name: "there",
            probe: &["true"],
            install: &[&["false"]],
        };
        assert_eq!(ensure(&there), Ok(()));
    }

    #[test]
    fn a_failed_installation_names_the_library_and_the_command() {
        let missing = Library {
            name: "missing",
            probe: &["false"],
            install: &[&["true"], &["false", "now"]],
        };
        let error = ensure(&missing).unwrap_err();
        assert!(
            error.contains("missing") && error.contains("false now"),
            "{error}"
        );
    }
}
