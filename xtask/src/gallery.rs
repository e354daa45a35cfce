//! The pictures of docs/gallery.md, drawn by the report's own page from real runs: measured here, or those
//! named with `--runs`.

use crate::metadata::Metadata;
use crate::steps::{self, cargo};
use crate::{Outcome, files, packages, web};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const USAGE: &str = "\
usage: cargo xtask gallery [--debug] [--runs DIR...]

  measures a few suites in about twelve minutes (nothing else should run meanwhile), makes a report of each
  run in target/gallery, and draws the pictures that docs/gallery.md shows: each plot, in light and dark
  --runs    draws the plots from these run directories and measures nothing
  --debug   uses the debug build of dyno: only for checking the pictures, not the figures";

/// The pictures, below the workspace's root, and the page that shows them.
const PICTURES: &str = "docs/gallery";
const PAGE: &str = "docs/gallery.md";

/// The most that all pictures may take, in bytes: every clone carries them.
const MOST: u64 = 2_000_000;

/// The runs: a name, and what follows `dyno run`. Each has plots that it shows best.
#[rustfmt::skip]
const RUNS: &[(&str, &str)] = &[
    ("quick", "quick --stack uds-stream,tcp,iceoryx,iceoryx2,cyclonedds,fastdds-shm,vsomeip,zenoh-tcp"),
    ("iceperf", "iceperf --stack posix-mq,uds-dgram,iceoryx,iceoryx2,zenoh-shm --trials 3"),
    ("stream", "stream --stack uds-stream,iceoryx2,udp,vsomeip,zenoh-tcp"),
    ("first-message", "first-message --stack iceoryx2,cyclonedds,fastdds-shm,vsomeip,vsomeip-defaults,zenoh-tcp"),
    ("rwth", "rwth --set scale=short --stack fastdds-shm-best-effort,zenoh-udp,vsomeip"),
];

/// Draws all pictures and looks whether the page shows them.
pub(crate) fn run(metadata: &Metadata, arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments == ["--help"] {
        println!("{USAGE}");
        return Ok(());
    }
    let (profile, rest) = match arguments.split_first() {
        Some((&"--debug", rest)) => ("debug", rest),
        _ => ("release", &arguments[..]),
    };
    let named: Option<Vec<PathBuf>> = match rest.split_first() {
        None => None,
        Some((&"--runs", dirs)) if !dirs.is_empty() => {
            let absolute = |dir: &&str| std::path::absolute(dir).map_err(|e| format!("{dir}: {e}"));
            Some(dirs.iter().map(absolute).collect::<Result<_, _>>()?)
        }
        _ => return Err(USAGE.to_owned()),
    };
    packages::of_web()?;
    packages::install(["chromium", "fonts-dejavu-core"].into_iter())?;
    web::install(metadata)?;
    let build = cargo("build", "build --package dyno --locked --profile");
    steps::run(&[build.and(match profile {
        "debug" => "dev",
        release => release,
    })])?;
    let program = metadata.target_directory.join(profile).join("dyno");
    let place = metadata.target_directory.join("gallery");
    let runs = match named {
        Some(runs) => runs,
        None => measured(&program, &place.join("runs"))?,
    };
    let reports = reports(&program, &runs, &place)?;
    let pictures = metadata.workspace_root.join(PICTURES);
    draw(metadata, &reports, &pictures)?;
    check(&metadata.workspace_root.join(PAGE), &pictures)
}

/// Measures every run anew.
fn measured(program: &Path, place: &Path) -> Result<Vec<PathBuf>, String> {
    files::empty(place)?;
    let mut runs = Vec::new();
    for (name, arguments) in RUNS {
        let run = place.join(name);
        let mut command = Command::new(program);
        command.arg("run").args(arguments.split(' '));
        command.arg("--out").arg(&run);
        // Of a run with failed trials there is still something to draw; it says so itself.
        if let Err(e) = called(&mut command)
            && !run.join("run.json").exists()
        {
            return Err(e);
        }
        runs.push(run);
    }
    Ok(runs)
}

/// A report of each run.
fn reports(program: &Path, runs: &[PathBuf], place: &Path) -> Result<Vec<PathBuf>, String> {
    files::make_folder(place)?;
    let one = |(i, run): (usize, &PathBuf)| {
        let page = place.join(format!("{i}.html"));
        let mut command = Command::new(program);
        called(command.arg("report").arg(run).arg("-o").arg(&page))?;
        Ok(page)
    };
    runs.iter().enumerate().map(one).collect()
}

fn draw(metadata: &Metadata, reports: &[PathBuf], pictures: &Path) -> Outcome {
    let mut command = Command::new("node");
    command
        .arg("gallery.mjs")
        .arg(pictures)
        .args(reports)
        .current_dir(web::source(metadata));
    if let Some(scratch) = web::scratch(&metadata.target_directory) {
        command.env("TMPDIR", scratch);
    }
    called(&mut command)
}

fn called(command: &mut Command) -> Outcome {
    println!("── {command:?}");
    steps::done(command)
}

/// Whether the page shows every picture, has every picture that it shows, and all are small enough.
fn check(page: &Path, pictures: &Path) -> Outcome {
    let text = files::read(page)?;
    let mut drawn = Vec::new();
    let mut bytes = 0;
    for picture in files::list(pictures)? {
        bytes += files::cannot("read", &picture, picture.metadata())?.len();
        let name = picture.file_name().unwrap_or_default();
        drawn.push(name.to_string_lossy().into_owned());
    }
    compare(&shown(&text), &drawn)?;
    println!("── {} pictures, {} kB", drawn.len(), bytes / 1000);
    match bytes <= MOST {
        true => Ok(()),
        false => Err(format!(
            "the pictures take {bytes} bytes, more than {MOST}: draw fewer stacks"
        )),
    }
}

/// The pictures that a text refers to, in its order.
fn shown(text: &str) -> Vec<String> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    text.match_indices("gallery/")
        .filter_map(|(at, lead)| text[at + lead.len()..].split(end).next())
        .filter(|name| name.contains('.'))
        .map(str::to_owned)
        .collect()
}

fn compare(shown: &[String], drawn: &[String]) -> Outcome {
    let lacking = |all: &[String], of: &[String]| -> Vec<String> {
        all.iter()
            .filter(|name| !of.contains(name))
            .cloned()
            .collect()
    };
    match (
        lacking(shown, drawn).join(", "),
        lacking(drawn, shown).join(", "),
    ) {
        (none, other) if none.is_empty() && other.is_empty() => Ok(()),
        (missing, unused) => Err(format!(
            "{PAGE} and {PICTURES} differ; shown and not drawn: {}; drawn and not shown: {}",
            or_none(&missing),
            or_none(&unused)
        )),
    }
}

fn or_none(names: &str) -> &str {
    if names.is_empty() { "none" } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_that_a_page_refers_to_are_found() {
        let text = r#"<img alt="x" src="gallery/size-light.svg"> ![y](gallery/a.png), see gallery/ and docs/gallery.md"#;
        assert_eq!(shown(text), ["size-light.svg", "a.png"]);
    }

    #[test]
    fn what_is_shown_and_what_is_drawn_must_be_the_same() {
        let names = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(compare(&names(&["a.svg"]), &names(&["a.svg"])), Ok(()));
        let error = compare(&names(&["a.svg"]), &names(&["b.svg"])).unwrap_err();
        assert!(error.contains("not drawn: a.svg;") && error.contains("not shown: b.svg"));
    }

    #[test]
    fn the_gallery_in_this_tree_is_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(check(&root.join(PAGE), &root.join(PICTURES)), Ok(()));
    }
}
