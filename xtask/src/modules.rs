//! No module uses a module that uses it, and no file is taken from another crate with `#[path]`.
//!
//! Reads what is written: paths that start with `crate`, `super`, `self` or the name of a child. Modules under
//! `#[cfg(test)]` are skipped. The root of a crate ties its modules together and is none of them, so that a cycle
//! through an item of `lib.rs` or `main.rs` is not seen; nor is one through a macro or a re-exported name.

use crate::metadata::Metadata;
use crate::{Outcome, files};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by its path from the root, such as `["load", "tests"]`.
type Name = Vec<String>;
/// The modules of a crate with those that they use.
type Uses = BTreeMap<Name, BTreeSet<Name>>;

/// Checks every crate of the workspace.
pub(crate) fn check(metadata: &Metadata) -> Outcome {
    let mut wrong = Vec::new();
    for package in metadata.members() {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        let mut texts = BTreeMap::new();
        for root in ["src/lib.rs", "src/main.rs", "lib.rs", "main.rs"] {
            let file = folder.join(root);
            if file.is_file() {
                collect(&file, &Name::new(), true, &mut texts)?;
            }
        }
        let within = in_cycles(&uses(&texts)).join(", ");
        if !within.is_empty() {
            let name = &package.name;
            wrong.push(format!(
                "modules of {name} use each other: move what they share to a place below them ({within})"
            ));
        }
        let mut foreign = Vec::new();
        foreign_files(folder, folder, &mut foreign)?;
        wrong.extend(foreign.iter().map(|file| {
            format!(
                "{file} of {} takes a file of another crate with #[path]: move what both use to a crate below them; of tests, dyno-kit",
                package.name
            )
        }));
    }
    if wrong.is_empty() {
        println!("── modules: no cycle, and no file of another crate");
        return Ok(());
    }
    Err(format!("modules are tied:\n  {}", wrong.join("\n  ")))
}

/// Reads a file and the modules that it declares, but for those of tests.
fn collect(
    file: &Path,
    name: &Name,
    is_root: bool,
    texts: &mut BTreeMap<Name, Vec<String>>,
) -> Outcome {
    let text = files::read(file)?;
    let tokens = tokens(&text);
    let folder = file.parent().unwrap_or(Path::new(""));
    let owns_folder = is_root || file.ends_with("mod.rs");
    let below = match file.file_stem() {
        Some(stem) if !owns_folder => folder.join(stem),
        _ => folder.to_owned(),
    };
    for at in 0..tokens.len() {
        let [word, child, end] = &tokens[at..(at + 3).min(tokens.len())] else {
            break;
        };
        if word != "mod" || end != ";" {
            continue;
        }
        let beside = [".rs", "/mod.rs"].map(|end| below.join(format!("{child}{end}")));
        // A file that `#[path]` names is read where it is declared without one.
        if let Some(file) = beside.iter().find(|file| file.is_file()) {
            let name = [name.as_slice(), std::slice::from_ref(child)].concat();
            collect(file, &name, false, texts)?;
        }
    }
    texts.entry(name.clone()).or_default().extend(tokens);
    Ok(())
}

/// Words and signs of a text, without comments, literals and what stands under `#[cfg(test)]`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            string(rest, "\"")
        } else if rest.starts_with("r\"") || rest.starts_with("r#\"") {
            let hash = if rest.starts_with("r#") { "\"#" } else { "\"" };
            let start = hash.len() + 1;
            rest[start..]
                .find(hash)
                .map_or(rest.len(), |end| start + end + hash.len())
        } else if first == '\'' {
            character(rest)
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[length..];
    }
    without_tests(&tokens)
}

/// Bytes of the string literal at the start of a text.
fn string(text: &str, quote: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if text[at..].starts_with(quote) => return at + quote.len(),
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the character at the start of a text, or 1 for the tick of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => string(text, "'"),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// Leaves out every item that stands under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].iter().take(MARK.len()).eq(MARK.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += MARK.len();
        let mut depth = 0_i32;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 && (token == ";" || token == "}") {
                break;
            }
        }
    }
    kept
}

/// Which modules use which.
fn uses(texts: &BTreeMap<Name, Vec<String>>) -> Uses {
    let mut uses = Uses::new();
    for (name, tokens) in texts.iter().filter(|(name, _)| !name.is_empty()) {
        let mut paths = Vec::new();
        for at in 0..tokens.len() {
            let is_start = at == 0 || tokens[at - 1] != "::";
            if is_start && tokens.get(at + 1).is_some_and(|next| next == "::") {
                tree(tokens, at, &mut Name::new(), &mut paths);
            }
        }
        let to = paths.iter().filter_map(|path| target(path, name, texts));
        uses.insert(name.clone(), to.filter(|to| to != name).collect());
    }
    uses
}

/// Collects the paths of a tree such as `crate::{a, b::c}`; says where it ends.
fn tree(tokens: &[String], start: usize, path: &mut Name, paths: &mut Vec<Name>) -> usize {
    let length = path.len();
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        if token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|token| token != "}") {
                at = match tokens[at].as_str() {
                    "," => at + 1,
                    _ => tree(tokens, at, path, paths).max(at + 1),
                };
            }
            path.truncate(length);
            return at + 1;
        }
        path.push(token.clone());
        if tokens.get(at + 1).is_none_or(|next| next != "::") {
            at += 1;
            break;
        }
        at += 2;
    }
    paths.push(path.clone());
    path.truncate(length);
    at
}

/// The module that a path of the module `from` leads to; `None` for the root and for other crates.
fn target(path: &Name, from: &Name, texts: &BTreeMap<Name, Vec<String>>) -> Option<Name> {
    let mut base = from.clone();
    let mut words = path.as_slice();
    if path.first()? == "crate" {
        base.clear();
        words = &path[1..];
    }
    while let Some(word) = words.first().filter(|w| *w == "super" || *w == "self") {
        if word == "super" {
            base.pop();
        }
        words = &words[1..];
    }
    let is_bare = words.len() == path.len();
    let mut longest = (!is_bare && !base.is_empty()).then(|| base.clone());
    for word in words {
        base.push(word.clone());
        if !texts.contains_key(&base) {
            break;
        }
        longest = Some(base.clone());
    }
    longest
}

/// The modules from which the arrows lead back to themselves.
fn in_cycles(uses: &Uses) -> Vec<String> {
    let returns = |start: &&Name| {
        let mut seen = BTreeSet::new();
        let mut next = vec![*start];
        while let Some(name) = next.pop() {
            for to in uses.get(name).into_iter().flatten() {
                if to == *start {
                    return true;
                }
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        false
    };
    let names = uses.keys().filter(returns);
    names.map(|name| name.join("::")).collect()
}

/// Adds the files below `folder` that take a file from outside of the crate, once for each.
fn foreign_files(folder: &Path, root: &Path, found: &mut Vec<String>) -> Outcome {
    for file in files::list(folder)? {
        // A folder with a manifest is another crate.
        if file.is_dir() && !file.join("Cargo.toml").is_file() && !file.ends_with("target") {
            foreign_files(&file, root, found)?;
        }
        if file.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let depth = folder
            .strip_prefix(root)
            .map_or(0, |p| p.components().count());
        let text = files::read(&file)?;
        for line in text.lines().map(str::trim) {
            let path = line.strip_prefix("#[path = \"");
            let ups = path.map_or(0, |path| path.matches("../").count());
            if ups > depth {
                found.push(
                    file.strip_prefix(root)
                        .unwrap_or(&file)
                        .display()
                        .to_string(),
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let name = |name: &str| name.split("::").map(str::to_owned).collect();
        let texts = files.iter().map(|(at, text)| (name(at), tokens(text)));
        in_cycles(&uses(&texts.collect()))
    }

    #[test]
    fn modules_that_use_each_other_are_named() {
        let found = cycles(&[
            ("a", "use crate::{b::{C, D}, e};"),
            ("b", "fn f<'a>() { let _ = '\"'; super::a::g() }"),
            ("e", "use std::fs;"),
        ]);
        assert_eq!(found, ["a", "b"]);
        let found = cycles(&[("a", "mod b; fn f() { b::g() }"), ("a::b", "use super::F;")]);
        assert_eq!(found, ["a", "a::b"]);
    }

    #[test]
    fn tests_comments_and_literals_use_nothing() {
        let found = cycles(&[
            ("a", "use crate::b;"),
            (
                "b",
                "// crate::a::f\nconst A: &str = \"crate::a\"; #[cfg(test)] mod tests { use crate::a; }",
            ),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_file_of_another_crate_is_named_and_one_of_its_own_is_not() {
        let place = tempfile::tempdir().unwrap();
        let tests = place.path().join("tests/it");
        fs::create_dir_all(&tests).unwrap();
        let own = "#[path = \"../../src/source.rs\"]\nmod source;\n";
        fs::write(tests.join("main.rs"), own).unwrap();
        let foreign = "#[path = \"../../../other/tests/common.rs\"]\nmod common;\n";
        fs::write(tests.join("common.rs"), foreign).unwrap();
        let mut found = Vec::new();
        foreign_files(place.path(), place.path(), &mut found).unwrap();
        assert_eq!(found, ["tests/it/common.rs"]);
    }
}
