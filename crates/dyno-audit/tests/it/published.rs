//! The files of `published/`: each is read, and has as many figures of each table as its source prints.

use dyno_audit::Statements;
use dyno_model::adapter::{AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue};
use dyno_model::{Placement, Wait};
use dyno_plan::{Catalog, HostFacts, Request};
use dyno_report::published::PrintedTables;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

struct File {
    name: &'static str,
    text: &'static str,
    /// Tables in their order with the figures of each.
    tables: &'static [(&'static str, usize)],
    /// Figures in sentences.
    sentences: usize,
    relations: usize,
    requirements: usize,
    /// Limits of which the source says where they come from.
    with_source: usize,
}

const FILES: &[File] = &[
    File {
        name: "s-core-2025.toml",
        text: include_str!("../../../../published/s-core-2025.toml"),
        tables: &[
            ("latency", 36),
            ("tail", 30),
            ("cpu", 18),
            ("cpu-growth", 12),
            ("throughput", 18),
            ("stress", 8),
            ("overhead", 30),
            ("determinism", 6),
            ("breakdown-small", 6),
            ("breakdown-large", 9),
            ("context", 4),
            ("context-throughput", 3),
            ("context-rest", 4),
            ("recommend-range", 6),
            ("recommend", 2),
            ("within", 6),
            ("someip-latency", 4),
            ("someip-quantiles", 12),
            ("someip-range", 6),
            ("someip-throughput", 6),
            ("someip-time", 4),
            ("someip-stress", 3),
            ("someip-stress-time", 3),
            ("gw-activity", 8),
            ("gw-stage", 10),
            ("compare", 12),
            ("compare-scope", 0),
        ],
        sentences: 168,
        relations: 209,
        requirements: 7,
        with_source: 0,
    },
    File {
        name: "iceperf-2020.toml",
        text: include_str!("../../../../published/iceperf-2020.toml"),
        tables: &[("latency", 39)],
        sentences: 1,
        relations: 4,
        requirements: 0,
        with_source: 0,
    },
    File {
        name: "sodev-2025.toml",
        text: include_str!("../../../../published/sodev-2025.toml"),
        tables: &[
            ("vm", 8),
            ("irq", 9),
            ("boot", 13),
            ("vss-rate", 2),
            ("vss-latency", 1),
            ("vss-clients", 1),
            ("net", 9),
            ("memory", 14),
            ("vcpu", 12),
            ("bare", 12),
            ("asil", 4),
            ("asil-coverage", 2),
            ("asil-memory", 0),
        ],
        sentences: 62,
        relations: 46,
        requirements: 12,
        with_source: 1,
    },
    File {
        name: "l4re-2025.toml",
        text: include_str!("../../../../published/l4re-2025.toml"),
        tables: &[("arm", 24), ("x86", 27)],
        sentences: 0,
        relations: 3,
        requirements: 0,
        with_source: 0,
    },
    File {
        name: "rwth-2025.toml",
        text: include_str!("../../../../published/rwth-2025.toml"),
        tables: &[
            ("first-message", 24),
            ("communication", 258),
            ("messages", 8),
        ],
        sentences: 36,
        relations: 29,
        requirements: 0,
        with_source: 0,
    },
];

fn read(file: &File) -> Statements {
    Statements::parse(file.text, file.name).unwrap_or_else(|e| panic!("{e}"))
}

fn file(name: &str) -> Statements {
    let file = FILES.iter().find(|f| f.name == name);
    read(file.unwrap_or_else(|| panic!("no file {name}")))
}

#[test]
fn every_table_has_all_figures_that_its_source_prints() {
    for file in FILES {
        let statements = read(file);
        let tables: Vec<(&str, usize)> = statements
            .layouts
            .iter()
            .map(|table| {
                let cells = table.rows.iter().flatten();
                (table.id.as_str(), cells.map(|(_, names)| names.len()).sum())
            })
            .collect();
        assert_eq!(tables, file.tables, "{}", file.name);
    }
}

#[test]
fn sentences_relations_and_requirements_are_complete() {
    for file in FILES {
        let statements = read(file);
        let in_sentence = |id: &str| {
            let table = id.split('/').next();
            let known = |known: &str| table == Some(known);
            id.split('/').count() == 2 && !statements.layouts.iter().any(|t| known(&t.id))
        };
        let figures = statements.figures.iter();
        let sentences = figures
            .filter(|f| in_sentence(&f.id) && !f.place.text.is_empty())
            .count();
        assert_eq!(sentences, file.sentences, "{}", file.name);
        assert_eq!(statements.relations.len(), file.relations, "{}", file.name);
        let requirements = &statements.requirements;
        let with_source = requirements.iter().filter(|r| r.source.is_some());
        assert_eq!(
            (requirements.len(), with_source.count()),
            (file.requirements, file.with_source),
            "{}",
            file.name
        );
    }
}

#[test]
fn studies_find_the_same_figures_in_sentences() {
    for file in FILES {
        let printed = &PrintedTables::built_in()[file.name.trim_end_matches(".toml")];
        let mut sentences = 0;
        for figure in read(file).figures {
            if let Some(said) = printed.said(&figure.id) {
                assert_eq!(said, figure.printed.text, "{}", figure.id);
                sentences += 1;
            }
        }
        assert_eq!(sentences, file.sentences, "{}", file.name);
    }
}

/// The files say what their sources say; what is wrong with it is for the audit to find.
#[test]
fn every_figure_has_its_place_and_its_text() {
    for file in FILES {
        for figure in read(file).figures {
            assert!(
                !figure.place.section.is_empty(),
                "{}: {}",
                file.name,
                figure.id
            );
            assert!(
                !figure.printed.text.is_empty(),
                "{}: {}",
                file.name,
                figure.id
            );
            assert!(
                figure.printed.value.is_finite(),
                "{}: {}",
                file.name,
                figure.id
            );
        }
    }
}

#[test]
fn figures_keep_their_digits_units_and_places() {
    let of = |file_name: &str, id: &str| {
        let figures = file(file_name).figures;
        let found = figures.into_iter().find(|f| f.id == id);
        found.unwrap_or_else(|| panic!("{file_name} has no {id}"))
    };
    for (file, id, text, base) in [
        ("s-core-2025.toml", "latency/tiny-8b/sd", "21.1", 21.1e-6),
        (
            "s-core-2025.toml",
            "latency/xxlarge-1mb/max",
            "51.49",
            51.49e-3,
        ),
        ("s-core-2025.toml", "tail/large-8kb/growth", "+0.17", 0.0017),
        (
            "s-core-2025.toml",
            "someip-throughput/messages-sec/someip",
            "12,050",
            12050.0,
        ),
        (
            "s-core-2025.toml",
            "someip-time/time-per-message/someip-cpu",
            "83",
            83e-6,
        ),
        ("s-core-2025.toml", "within/small-64b/share", "98.3", 0.983),
        ("sodev-2025.toml", "irq/total/p99", "2.7", 2.7e-6),
        ("sodev-2025.toml", "irq/handler/p99", "620", 620e-9),
        ("sodev-2025.toml", "vcpu/3/share", "25.6", 0.256),
        (
            "sodev-2025.toml",
            "vss-latency/websocket/value",
            "3.2",
            3.2e-3,
        ),
        ("l4re-2025.toml", "x86/xeon-8352s/syscall-tsc", "222", 222.0),
        ("l4re-2025.toml", "arm/rpi4-el2/syscall", "567", 567.0),
        (
            "iceperf-2020.toml",
            "latency/iceoryx/mean.4096",
            "62",
            62e-6,
        ),
        (
            "rwth-2025.toml",
            "first-message/best-effort.zenoh/median.d1-1",
            "11.783",
            11.783e-3,
        ),
        (
            "rwth-2025.toml",
            "communication/reliable.fastdds.imu/median.d1-3",
            "177.620",
            0.17762,
        ),
    ] {
        let figure = of(file, id);
        assert_eq!(figure.printed.text, text, "{file}: {id}");
        let value = figure.printed.value * figure.printed.unit.factor;
        assert!(
            (value - base).abs() <= 1e-9 * base,
            "{file}: {id} is {value}"
        );
    }
}

#[test]
fn both_logs_of_s_core_are_read_to_their_last_repetition() {
    let statements = file("s-core-2025.toml");
    let series = |data: &str, conditions: &str| {
        let fit = statements.samples.iter().filter(|s| {
            s.data == data && s.conditions.get("payload").is_some_and(|p| p == conditions)
        });
        fit.map(|s| s.values.len()).collect::<Vec<_>>()
    };
    for payload in [
        "Tiny (8B)",
        "Small (64B)",
        "Medium (1KB)",
        "Large (8KB)",
        "XLarge (64KB)",
        "XXLarge (1MB)",
    ] {
        let found = series("LoLa", payload);
        assert!(
            !found.is_empty() && found.iter().all(|n| *n == 30),
            "{payload}: {found:?}"
        );
    }
    let found = series("SOME/IP", "Tiny (8B)");
    assert!(
        !found.is_empty() && found.iter().all(|n| *n == 30),
        "{found:?}"
    );
}

/// The TOML files of a folder of the repository, in the order of their names.
fn files_of(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
    let all = std::fs::read_dir(folder).unwrap();
    let mut all: Vec<PathBuf> = all.map(|f| f.unwrap().path()).collect();
    all.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    all.sort();
    all
}

/// Both read the same files: each refuses keys that it does not know, and so those that are for the other.
#[test]
fn both_readers_read_every_file() {
    let studies = dyno_report::published::studies();
    let mut in_both = BTreeSet::new();
    for path in files_of("published") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let known = FILES.iter().any(|f| f.name == name);
        assert!(known, "{name} is not in this test");
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Statements::parse(&text, name)
            .unwrap_or_else(|e| panic!("{e}"))
            .source;
        if let Some(study) = studies.iter().find(|s| format!("{}.toml", s.key) == name) {
            assert_eq!(study.source.title, source.title, "{name}");
            assert_eq!(study.source.year, source.year, "{name}");
            in_both.insert(study.key);
        }
    }
    assert_eq!(in_both.len(), studies.len(), "{in_both:?}");
}

/// Adapters that can do everything, with the options that the built-in stacks set or hand to a daemon.
fn adapters() -> Vec<AdapterDescription> {
    let mut options: BTreeMap<String, BTreeMap<String, OptionKind>> = BTreeMap::new();
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters"));
    let folders = folders.unwrap().map(|f| f.unwrap().path().join("stacks"));
    let folders = folders.filter(|f| f.is_dir());
    let of_adapters = folders.flat_map(|f| files_of(f.to_str().unwrap()));
    for path in files_of("stacks").into_iter().chain(of_adapters) {
        let text = std::fs::read_to_string(path).unwrap();
        let stack: toml::Table = text.parse().unwrap();
        // A chain has none of its own.
        let Some(adapter) = stack.get("adapter") else {
            continue;
        };
        let own = options
            .entry(adapter.as_str().unwrap().to_owned())
            .or_default();
        for rest in text.split("option.").skip(1) {
            let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            let name: String = rest.chars().take_while(is_name).collect();
            own.entry(name).or_insert(OptionKind::Int);
        }
        for (name, value) in stack
            .get("options")
            .and_then(|o| o.as_table())
            .into_iter()
            .flatten()
        {
            let kind = match value {
                toml::Value::Boolean(_) => OptionKind::Bool,
                toml::Value::Integer(_) => OptionKind::Int,
                toml::Value::Float(_) => OptionKind::Float,
                _ => OptionKind::Text,
            };
            own.insert(name.clone(), kind);
        }
    }
    let one = |(name, options): (String, BTreeMap<String, OptionKind>)| AdapterDescription {
        name,
        version: "1".into(),
        summary: String::new(),
        capabilities: Capabilities {
            loan: true,
            waits: Wait::ALL.to_vec(),
            reliable: true,
            best_effort: true,
            request_response: true,
            placements: Placement::ALL.to_vec(),
            max_message: None,
            fragments_above: None,
            max_receivers: None,
            sends_later: false,
            asks: false,
            loopback: false,
        },
        options: options
            .into_iter()
            .map(|(name, kind)| OptionSpec {
                name,
                default: (kind == OptionKind::Int).then_some(OptionValue::Int(8)),
                kind,
                least: None,
                most: None,
                doc: String::new(),
            })
            .collect(),
        unavailable: None,
        library: None,
    };
    options.into_iter().map(one).collect()
}

/// Whatever stands beside its figures, each is an experiment of a stack that Dyno has.
#[test]
fn every_nearest_experiment_can_be_planned() {
    let adapters = adapters();
    let facts = HostFacts {
        cpus: vec![0, 1],
        ..HostFacts::default()
    };
    let request = Request {
        suite: "audit".into(),
        testbed: "local".into(),
        ..Request::default()
    };
    let mut planned = 0;
    for file in FILES {
        for nearest in read(file).nearest {
            let text = format!(
                "title = \"x\"\n[[experiment]]\nname = \"nearest\"\nstacks = [\"{}\"]\n{}",
                nearest.stack, nearest.experiment
            );
            let mut catalog = Catalog::builtin();
            catalog.add_suite("audit", "what comes nearest", text.clone());
            let plan = dyno_plan::plan(&catalog, &request, &adapters, &facts)
                .unwrap_or_else(|e| panic!("{}: {:?}: {e}\n{text}", file.name, e.problems()));
            let is_own = |e: &&dyno_model::Experiment| e.name == "nearest" && !e.added;
            assert!(
                plan.experiments.iter().any(|e| is_own(&e)),
                "{}\n{text}",
                file.name
            );
            assert!(
                plan.refused.is_empty(),
                "{}: {:?}\n{text}",
                file.name,
                plan.refused
            );
            planned += 1;
        }
    }
    assert!(planned > 20, "{planned}");
}
