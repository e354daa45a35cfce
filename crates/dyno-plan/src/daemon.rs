//! The `[[daemon]]`s of a stack file: the processes that a stack needs beside the participants.

use crate::host::HostFacts;
use dyno_model::Stack;
use dyno_model::adapter::{AdapterDescription, OptionSpec, Options};
use dyno_model::daemon::{
    Daemon, NUMBERS, PlaceholderError, Ready, StopSignal, TEXTS, fill, program,
};
use dyno_model::plan::RefusalReason;
use dyno_toml::{Node, Place, Problem, Problems, Table, Value, suggest};
use std::collections::BTreeMap;
use std::path::Path;

const KEYS: &[&str] = &[
    "name",
    "command",
    "prepare",
    "ready",
    "stop",
    "exclusive",
    "environment",
    "files",
    "leaves",
];
/// Keys that every daemon has, with what to write where one is missing.
const REQUIRED: [(&str, &str); 3] = [
    (
        "name",
        "write `name = \"…\"`: its name in messages and in the cost",
    ),
    (
        "command",
        "write `command = [\"program\", \"argument\"]`; the program is looked up in PATH",
    ),
    ("ready", HOW_READY),
];
const READY: &[&str] = &["output", "file", "connect"];
const HOW_READY: &str = "write for example `ready = { output = \"is ready\" }`, \
                         `{ file = \"{scratch}/x.sock\" }` or `{ connect = \"tcp:127.0.0.1:7447\" }`";

/// The placeholder that is known while planning: the folder of the adapter's library.
const LIBRARY: &str = "{library}";

/// What placeholders of the texts may stand for, beside the numbers and texts of a trial.
struct Values<'a> {
    /// Of each adapter that it serves, with the options of its stack; of a name that several have the first counts.
    of: &'a [(&'a Options, &'a AdapterDescription)],
}

/// The daemons of a stack with these options of an adapter, or those that join two; mistakes go to `problems`.
pub(crate) fn read(
    node: &Node,
    of: &[(&Options, &AdapterDescription)],
    problems: &mut Problems,
) -> Vec<Daemon> {
    let advice = "begin each daemon with a line `[[daemon]]`";
    let items = node
        .tables("`daemon`", advice, problems)
        .unwrap_or_default();
    let values = Values { of };
    let daemons: Vec<(&Node, Daemon)> = items
        .iter()
        .filter_map(|item| Some((item, one(item, &values, problems)?)))
        .collect();
    for (i, (item, daemon)) in daemons.iter().enumerate() {
        if daemons[..i].iter().any(|(_, d)| d.name == daemon.name) {
            let message = format!("there are two daemons `{}`", daemon.name);
            problems.push(Problem::at(&item.at, message).label("give it another name"));
        }
    }
    daemons.into_iter().map(|(_, daemon)| daemon).collect()
}

fn one(item: &Node, values: &Values<'_>, problems: &mut Problems) -> Option<Daemon> {
    let table = item.table("a daemon", problems)?;
    table.refuse_unknown("a daemon", KEYS, problems);
    table.refuse_missing("the daemon", &item.at, &REQUIRED, problems);
    let name = table.text("name", problems).map(str::to_owned);
    let mut texts = Texts {
        values,
        options: BTreeMap::new(),
        problems,
    };
    let command = table.get("command").map(|n| texts.list("command", n));
    if let (Some(n), Some([])) = (table.get("command"), command.as_deref()) {
        Problem::at(&n.at, "`command` names no program")
            .label("write at least the program")
            .note(texts.problems);
    }
    let prepare = table.get("prepare").map(|n| texts.list("prepare", n));
    let ready = table.get("ready").and_then(|n| texts.ready(n));
    let stop = table
        .get("stop")
        .map_or(Some(StopSignal::default()), |n| stop(n, texts.problems));
    let exclusive = table
        .get("exclusive")
        .map_or(Some(false), |n| n.bool("`exclusive`", texts.problems));
    let environment = texts.map("environment", table);
    let files = texts.map("files", table);
    let leaves = table
        .get("leaves")
        .map(|n| texts.list("leaves", n))
        .unwrap_or_default();
    Some(Daemon {
        name: name?,
        command: command?,
        prepare: prepare.unwrap_or_default(),
        ready: ready?,
        stop: stop?,
        exclusive: exclusive?,
        environment,
        files,
        leaves,
        options: texts.options,
    })
}

fn stop(node: &Node, problems: &mut Problems) -> Option<StopSignal> {
    let text = node.text("`stop`", problems)?;
    let found: Option<StopSignal> = text.parse().ok();
    if found.is_none() {
        Problem::at(&node.at, format!("`stop` cannot be {text:?}"))
            .label("no such signal")
            .help(suggest::instead(
                text,
                "signals",
                StopSignal::ALL.iter().map(|s| s.as_str()),
            ))
            .note(problems);
    }
    found
}

/// Reads texts, checks their placeholders, and notes the options that they name.
struct Texts<'a, 'p> {
    values: &'a Values<'a>,
    options: BTreeMap<String, String>,
    problems: &'p mut Problems,
}

impl Texts<'_, '_> {
    fn text(&mut self, subject: &str, node: &Node) -> Option<String> {
        let text = node.text(subject, self.problems)?;
        let text = text.replace(LIBRARY, &self.values.library());
        self.check(&text, &node.at);
        Some(text)
    }

    fn list(&mut self, key: &str, node: &Node) -> Vec<String> {
        let Value::List(items) = &node.value else {
            node.wrong_kind(&format!("`{key}`"), "a list of texts")
                .note(self.problems);
            return Vec::new();
        };
        let subject = format!("an element of `{key}`");
        items
            .iter()
            .filter_map(|item| self.text(&subject, item))
            .collect()
    }

    fn map(&mut self, key: &str, table: &Table) -> BTreeMap<String, String> {
        let subject = format!("`{key}`");
        let Some(table) = table
            .get(key)
            .and_then(|n| n.table(&subject, self.problems))
        else {
            return BTreeMap::new();
        };
        table
            .0
            .iter()
            .filter_map(|entry| {
                let text = self.text(&format!("`{}`", entry.key), &entry.node)?;
                // Names of files hold placeholders too.
                if key == "files" {
                    self.check(&entry.key, &entry.key_at);
                }
                Some((entry.key.clone(), text))
            })
            .collect()
    }

    fn ready(&mut self, node: &Node) -> Option<Ready> {
        let table = node.table("`ready`", self.problems)?;
        table.refuse_unknown("`ready`", READY, self.problems);
        let [entry] = table.0.as_slice() else {
            return Problem::at(&node.at, "`ready` must say one thing")
                .label("one of output, file, connect")
                .help(HOW_READY)
                .refuse(self.problems);
        };
        let text = self.text(&format!("`{}`", entry.key), &entry.node)?;
        match entry.key.as_str() {
            "output" => Some(Ready::Output(text)),
            "file" => Some(Ready::File(text)),
            "connect" if text.starts_with("tcp:") || text.starts_with("unix:") => {
                Some(Ready::Connect(text))
            }
            "connect" => Problem::at(&entry.node.at, format!("`connect` cannot be {text:?}"))
                .label("write `tcp:HOST:PORT` or `unix:PATH`")
                .refuse(self.problems),
            // Refused above.
            _ => None,
        }
    }

    fn check(&mut self, text: &str, at: &Place) {
        let (values, options) = (self.values, &mut self.options);
        let mut value = |name: &str| {
            if NUMBERS.contains(&name) {
                return Some("1".to_owned());
            }
            if TEXTS.contains(&name) {
                return Some(String::new());
            }
            let option = name.strip_prefix("option.")?;
            let value = values.option(option)?;
            options.insert(option.to_owned(), value.clone());
            Some(value)
        };
        if let Err(error) = fill(text, &mut value) {
            self.problems.push(refused(&error, at, values));
        }
    }
}

impl Values<'_> {
    /// The folder of the adapter's library. One that is built in or missing has none.
    fn library(&self) -> String {
        let mut all = self
            .of
            .iter()
            .filter_map(|(_, adapter)| adapter.library.as_deref());
        let library = all.next().and_then(Path::parent);
        library.map_or_else(|| ".".to_owned(), |folder| folder.display().to_string())
    }

    fn specs(&self) -> impl Iterator<Item = &OptionSpec> {
        self.of.iter().flat_map(|(_, adapter)| &adapter.options)
    }

    /// An option of the stack as text, or its default.
    fn option(&self, name: &str) -> Option<String> {
        let value = |(options, adapter): &(&Options, &AdapterDescription)| {
            let spec = adapter.options.iter().find(|o| o.name == name)?;
            let value = options.get(name).or(spec.default.as_ref())?;
            Some(value.to_string())
        };
        if let Some(value) = self.of.iter().find_map(value) {
            return Some(value);
        }
        let unknown = self.of.iter().find(|(_, adapter)| !adapter.is_known());
        // Nobody knows its options, and nothing of it can be run.
        unknown.map(|(options, _)| options.get(name).map_or("1".into(), ToString::to_string))
    }
}

fn refused(error: &PlaceholderError, at: &Place, values: &Values<'_>) -> Problem {
    let problem = Problem::at(at, error.to_string());
    match error {
        PlaceholderError::NotANumber { .. } => problem
            .label("in this text")
            .help("calculate with whole numbers only, such as {payload:64}"),
        PlaceholderError::Unknown(name) => {
            let options = values.specs().map(|o| o.name.as_str());
            let known: Vec<String> = TEXTS
                .iter()
                .chain(&["library"])
                .chain(NUMBERS)
                .map(|name| (*name).to_owned())
                .chain(options.map(|o| format!("option.{o}")))
                .collect();
            let known = known.iter().map(String::as_str);
            // An option without a default is known and has no value.
            match name.strip_prefix("option.") {
                Some(option) if values.specs().any(|o| o.name == option) => problem
                    .label(format!("`{option}` has no value"))
                    .help(format!("set `{option}` in [options]: it has no default")),
                _ => problem.label("in this text").help(suggest::instead(
                    name,
                    "placeholders",
                    known,
                )),
            }
        }
    }
}

/// The programs of a stack file's daemons, as far as it can be read.
pub(crate) fn programs(table: &Table) -> Vec<String> {
    let Some(Value::List(items)) = table.get("daemon").map(|n| &n.value) else {
        return Vec::new();
    };
    let first = |(item, key): (&Node, &str)| {
        let Value::Table(daemon) = &item.value else {
            return None;
        };
        let Value::List(command) = &daemon.get(key)?.value else {
            return None;
        };
        match &command.first()?.value {
            // What lies beside the library was built with it.
            Value::Text(program) if program.starts_with(LIBRARY) => None,
            Value::Text(program) => Some(program.clone()),
            _ => None,
        }
    };
    let both = items
        .iter()
        .flat_map(|item| [(item, "command"), (item, "prepare")]);
    both.filter_map(first).collect()
}

/// Why the stack cannot be used on this machine: the first program of its daemons that is missing,
/// and what installs it.
pub fn missing_daemon(stack: &Stack, facts: &HostFacts) -> Option<RefusalReason> {
    let programs = |d: &'_ Daemon| [d.command.first().cloned(), d.prepare.first().cloned()];
    let missing = |d| {
        let mut all = programs(d).into_iter().flatten();
        Some((d, all.find(|p| facts.missing_programs.contains(p))?))
    };
    let (daemon, first) = stack.daemons.iter().find_map(missing)?;
    let (variable, program) = program(&first);
    Some(RefusalReason::NoProgram {
        daemon: daemon.name.clone(),
        program: program.to_owned(),
        variable: variable.map(str::to_owned),
        install: stack.install.clone(),
    })
}
