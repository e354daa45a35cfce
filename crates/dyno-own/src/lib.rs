//! Whether somebody else could have put there what is about to be loaded or started: a library, a program, a kernel.
//!
//! A file is what its owner made only if nobody else can write to it, and stays it only if nobody else can exchange a folder above it.
//! Hence the real path is looked at as a whole, and it is that path which the caller then uses. `docs/threat-model.md` says
//! who is trusted and what this cannot see.

#![warn(clippy::too_many_lines)]

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// As many as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Why something is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Another user made it.
    Owner(u32),
    /// Others may write to it; the mode.
    Writable(u32),
    /// A link, a mount or a file stands where a directory of Dyno's would.
    NoDirectory,
    /// The kernel does not let it be read.
    Unreadable(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Owner(uid) => write!(f, "it belongs to user {uid}"),
            Why::Writable(mode) => write!(f, "others may write to it (mode {mode:o})"),
            Why::NoDirectory => f.write_str("it is a link, a mount or no directory"),
            Why::Unreadable(error) => f.write_str(error),
        }
    }
}

/// Why a file is neither loaded nor started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It, or a folder above it, can be changed by others.
    #[error("{place:?} is not safe from other users: {why}; {}", advice(why))]
    Open {
        /// The file, or the folder.
        place: PathBuf,
        /// Who can change it.
        why: Why,
    },
    /// It is not there, or cannot be looked at.
    #[error("{0}")]
    Missing(String),
}

fn advice(why: &Why) -> &'static str {
    match why {
        Why::Owner(_) => "move its contents into a folder of your own, or start dyno as that user",
        Why::Writable(_) => "remove this permission with `chmod go-w`",
        Why::NoDirectory | Why::Unreadable(_) => "move its contents into a folder of your own",
    }
}

/// The real path of what lies at `path`, which nobody can change but the user, root and the owner of the running program. Each link on
/// the way is held to the same, since whoever can exchange it chooses what is loaded.
///
/// # Errors
///
/// When somebody else owns or can write to the file or the folder that it, or a link to it, lies in, or can exchange a folder above,
/// or when it is not there.
pub fn settled(path: &Path) -> Result<PathBuf, Refusal> {
    let missing = |e: io::Error| Refusal::Missing(e.to_string());
    let (real, links) = followed(path).map_err(missing)?;
    let trusted = Trusted::of_this_process();
    let judge = |place: &Path, height: usize| {
        let found = fs::metadata(place).map_err(missing)?;
        match trusted.objection(place, &found, height) {
            Some(why) => Err(Refusal::Open {
                place: place.to_owned(),
                why,
            }),
            None => Ok(()),
        }
    };
    for folder in &links {
        for (above, place) in folder.ancestors().enumerate() {
            judge(place, above + 1)?;
        }
    }
    for (height, place) in real.ancestors().enumerate() {
        judge(place, height)?;
    }
    Ok(real)
}

/// The real path of `path`, and the real folder of each link that leads there.
fn followed(path: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let mut links = Vec::new();
    let mut at = PathBuf::new();
    let path = std::path::absolute(path)?;
    let names = |path: &Path| -> Vec<_> {
        let names = path.components().rev();
        names.map(|name| name.as_os_str().to_owned()).collect()
    };
    let mut left = names(&path);
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            at = next;
            continue;
        }
        if links.len() == MOST_LINKS {
            return Err(io::Error::from_raw_os_error(
                rustix::io::Errno::LOOP.raw_os_error(),
            ));
        }
        links.push(at.clone());
        left.extend(names(&fs::read_link(&next)?));
    }
    Ok((at, links))
}

/// Who may change what this process executes.
struct Trusted {
    users: Vec<u32>,
    groups: Vec<u32>,
    /// Who owns `/`: root, also where a user namespace has no number for root.
    top: Option<u32>,
    /// The running program.
    program: Option<PathBuf>,
}

impl Trusted {
    fn of_this_process() -> Trusted {
        let process = (rustix::process::geteuid(), rustix::process::getegid());
        let mut users = vec![0, process.0.as_raw()];
        // A group is the user's alone where it has the user's number, as most distributions give it.
        let mut groups = vec![0];
        groups.extend((process.0.as_raw() == process.1.as_raw()).then_some(process.1.as_raw()));
        // Whoever can write to the program can have it do anything.
        if let Ok(program) = fs::metadata("/proc/self/exe") {
            users.push(program.uid());
            if program.mode() & 0o020 != 0 {
                groups.push(program.gid());
            }
        }
        Trusted {
            users,
            groups,
            top: fs::metadata("/").ok().map(|m| m.uid()),
            program: fs::read_link("/proc/self/exe").ok(),
        }
    }

    /// What speaks against a file (height 0), the folder that it lies in (1), or one above.
    fn objection(&self, place: &Path, found: &Metadata, height: usize) -> Option<Why> {
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        // Whoever can exchange what is in a folder above the program can exchange the program.
        let holds_program = self.program.as_ref().is_some_and(|p| p.starts_with(place));
        if height > 0 && holds_program && mode & 0o1000 == 0 {
            return None;
        }
        let is_above = height > 1;
        if !(self.users.contains(&owner) || is_above && self.top == Some(owner)) {
            return Some(Why::Owner(owner));
        }
        // Who may only add to a folder exchanges nothing in it, yet a library also takes what lies beside it.
        if is_above && mode & 0o1000 != 0 {
            return None;
        }
        // Root chose the group of a folder of root's.
        let is_group_trusted =
            self.groups.contains(&found.gid()) || (is_above && self.top == Some(owner));
        let open = if is_group_trusted { 0o002 } else { 0o022 };
        (mode & open != 0).then_some(Why::Writable(mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn why(path: &Path) -> Option<Why> {
        match settled(path) {
            Ok(_) => None,
            Err(Refusal::Open { why, .. }) => Some(why),
            Err(Refusal::Missing(reason)) => panic!("{reason}"),
        }
    }

    /// A folder in a folder in a folder, with a file.
    fn place() -> (tempfile::TempDir, [PathBuf; 3]) {
        let top = tempfile::tempdir().unwrap();
        let above = top.path().join("above");
        let folder = above.join("folder");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        fs::write(&file, "").unwrap();
        for place in [&above, &folder] {
            set(place, 0o755);
        }
        (top, [above, folder, file])
    }

    #[test]
    fn what_others_can_write_to_or_exchange_is_refused() {
        let (_top, places) = place();
        let file = &places[2];
        assert_eq!(why(file), None);
        for place in &places {
            let closed = fs::metadata(place).unwrap().mode() & 0o777;
            set(place, 0o777);
            assert_eq!(why(file), Some(Why::Writable(0o777)), "{place:?}");
            // A clone under umask 002: the group is the user's own.
            set(place, 0o775);
            assert_eq!(why(file), None, "{place:?}");
            set(place, closed);
        }
    }

    #[test]
    fn a_folder_to_which_all_may_add_is_none_to_load_from() {
        let (_top, [above, folder, file]) = place();
        set(&above, 0o1777);
        assert_eq!(why(&file), None);
        set(&folder, 0o1777);
        assert_eq!(why(&file), Some(Why::Writable(0o1777)));
    }

    #[test]
    fn a_link_is_followed_before_it_is_judged() {
        let (top, [above, _, file]) = place();
        let link = top.path().join("link");
        symlink(&file, &link).unwrap();
        assert_eq!(settled(&link).unwrap(), file.canonicalize().unwrap());
        set(&above, 0o777);
        assert_eq!(why(&link), Some(Why::Writable(0o777)));
        assert!(matches!(
            settled(&top.path().join("none")),
            Err(Refusal::Missing(_))
        ));
    }

    #[test]
    fn whoever_can_exchange_a_link_chooses_what_is_loaded() {
        let (top, [_, folder, file]) = place();
        let open = top.path().join("open");
        fs::create_dir(&open).unwrap();
        let (leaf, step) = (open.join("leaf"), open.join("step"));
        symlink(&file, &leaf).unwrap();
        symlink("../above/folder", &step).unwrap();
        let through = step.join("file");
        set(&open, 0o755);
        for path in [&leaf, &through] {
            assert_eq!(settled(path).unwrap(), file.canonicalize().unwrap());
        }
        for mode in [0o777, 0o1777] {
            set(&open, mode);
            for path in [&leaf, &through, &folder.join("../../open/leaf")] {
                assert_eq!(why(path), Some(Why::Writable(mode)), "{path:?}");
            }
        }
        let own = top.path().join("round");
        symlink(&own, &own).unwrap();
        assert!(matches!(settled(&own), Err(Refusal::Missing(_))));
    }

    #[test]
    fn a_folder_above_the_program_needs_no_trust_of_its_own() {
        let program = std::env::current_exe().unwrap();
        let trusted = Trusted::of_this_process();
        let (_top, [above, ..]) = place();
        set(&above, 0o777);
        let found = fs::metadata(&above).unwrap();
        let folder = program.parent().unwrap();
        for height in [1, 2] {
            assert_eq!(trusted.objection(folder, &found, height), None);
            let why = trusted.objection(&above, &found, height);
            assert_eq!(why, Some(Why::Writable(0o777)));
        }
        // To a sticky one others may add a library, and exchange no program.
        set(&above, 0o1777);
        let found = fs::metadata(&above).unwrap();
        let why = trusted.objection(folder, &found, 1);
        assert_eq!(why, Some(Why::Writable(0o1777)));
    }

    #[test]
    fn what_belongs_to_others_or_their_group_is_refused() {
        let (_top, places) = place();
        if chown(&places[2], Some(65_534), None).is_err() {
            eprintln!("NOT TESTED: giving files away needs root");
            return;
        }
        chown(&places[2], Some(0), None).unwrap();
        for place in &places {
            chown(place, Some(65_534), None).unwrap();
            assert_eq!(why(&places[2]), Some(Why::Owner(65_534)), "{place:?}");
            chown(place, Some(0), Some(65_534)).unwrap();
            assert_eq!(why(&places[2]), None, "{place:?}");
            set(place, 0o775);
            // Above the folder root's choice of a group stands.
            let expected = (place != &places[0]).then_some(Why::Writable(0o775));
            assert_eq!(why(&places[2]), expected, "{place:?}");
            set(place, 0o755);
            chown(place, None, Some(0)).unwrap();
        }
    }
}
