//! The figures that L4Re's page on performance printed: cycles of a message within and between address spaces on one
//! CPU, and of a system call, by processor. Cells are read from the rows that `dyno audit` reads as well.

use super::source::{Flaw, PublishedError, Source};
use dyno_model::probe::{Call, Probe, Sides};
use dyno_model::record::Environment;
use dyno_model::{Experiment, Placement, Topology, Wait, Workload};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt;
use std::sync::LazyLock;

/// The page's tables, and what is known to be wrong with them.
#[derive(Debug, Clone, PartialEq)]
pub struct L4re {
    /// Where the figures come from.
    pub source: Source,
    /// Known errors and open questions.
    pub flaws: Vec<Flaw>,
    /// Every row, in the page's order.
    pub processors: Vec<Processor>,
    like: Vec<Like>,
}

/// What the page measures: its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// One message between two threads of one address space, on one CPU.
    Intra,
    /// One message between two address spaces, on one CPU.
    Inter,
    /// One system call.
    Syscall,
}

/// One row of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Processor {
    /// Its name in the file.
    pub id: String,
    /// The platform as the page spells it.
    pub platform: String,
    /// The processor as the page spells it.
    pub name: String,
    /// The first figure of each cell is in ticks of the time stamp counter, as x86 has; else in core cycles.
    pub has_ticks: bool,
    cells: [Cycles; 3],
}

/// One cell of the page: an average over calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycles {
    /// As it was printed, without references to notes.
    pub text: String,
    /// Ticks of the time stamp counter on x86, core cycles on Arm.
    pub first: f64,
    /// Core cycles.
    pub core: f64,
    /// Instructions, where they are printed.
    pub instructions: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Like {
    model: String,
    processor: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: Source,
    #[serde(rename = "flaw")]
    flaws: Vec<Flaw>,
    like: Vec<Like>,
    #[serde(rename = "table")]
    tables: Vec<TableFile>,
    // What `dyno audit` reads of the same file.
    #[serde(default, rename = "text")]
    _texts: IgnoredAny,
    #[serde(default, rename = "relation")]
    _relations: IgnoredAny,
    #[serde(default, rename = "nearest")]
    _nearest: IgnoredAny,
}

#[derive(Deserialize)]
struct TableFile {
    rows: String,
    #[serde(rename = "row")]
    names: Vec<RowFile>,
}

#[derive(Deserialize)]
struct RowFile {
    id: String,
}

impl Operation {
    /// In the page's order.
    pub const ALL: [Operation; 3] = [Operation::Intra, Operation::Inter, Operation::Syscall];

    /// The page's operation that an experiment repeats, alone or on several CPUs at once: what is on one CPU, and
    /// sleeps while it waits or yields. `None` of all others.
    pub fn of(e: &Experiment) -> Option<Operation> {
        let between = |placement| match placement {
            Placement::Thread => Some(Operation::Intra),
            Placement::Process => Some(Operation::Inter),
            Placement::Host => None,
        };
        match e.workload {
            Workload::Probe {
                probe: Probe::Switch { sides, .. },
                each: 1,
                ..
            } => between(match sides {
                Sides::Threads => Placement::Thread,
                Sides::Processes => Placement::Process,
            }),
            Workload::Probe {
                probe: Probe::Syscall {
                    by: Call::Getppid, ..
                },
                ..
            } => Some(Operation::Syscall),
            Workload::PingPong { .. }
                if e.wait == Wait::Block
                    && e.topology.alone() == Topology::ONE_TO_ONE
                    && matches!(e.cpus_of_one(), [a, b] if a == b) =>
            {
                between(e.placement)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Operation::Intra => "intra",
            Operation::Inter => "inter",
            Operation::Syscall => "syscall",
        })
    }
}

/// How far the ratio of two clocks may move within a row before it is of two runs.
const APART: f64 = 1.25;

impl Processor {
    /// The cell of an operation.
    pub fn cycles(&self, of: Operation) -> &Cycles {
        &self.cells[of as usize]
    }

    /// Whether an operation was measured in another run than the others of the row, at another clock: its ticks and
    /// its core cycles have another ratio than those of both others. Never of a row with one clock, which cannot tell.
    pub fn is_of_another_run(&self, of: Operation) -> bool {
        let ratio = |o: Operation| self.cycles(o).first / self.cycles(o).core;
        let others = Operation::ALL.into_iter().filter(|o| *o != of);
        self.has_ticks
            && others
                .map(|o| ratio(of) / ratio(o))
                .all(|r| !(1.0 / APART..=APART).contains(&r))
    }
}

impl L4re {
    /// From the text of the file in `published/`.
    pub fn parse(text: &str) -> Result<L4re, PublishedError> {
        let file: File = toml::from_str(text).map_err(|e| PublishedError::Syntax(e.to_string()))?;
        let mut processors = Vec::new();
        for table in &file.tables {
            let lines: Vec<&str> = table.rows.lines().filter(|l| !l.is_empty()).collect();
            if lines.len() != table.names.len() {
                return Err(PublishedError::Length {
                    row: "the names of a table".into(),
                    found: table.names.len(),
                    wanted: lines.len(),
                });
            }
            for (line, name) in lines.iter().zip(&table.names) {
                processors.push(processor(line, &name.id)?);
            }
        }
        for near in &file.like {
            if !processors.iter().any(|p| p.id == near.processor) {
                return Err(PublishedError::Cell {
                    row: format!("`like` of {:?}", near.model),
                    found: near.processor.clone(),
                    wanted: "name a processor of the file",
                });
            }
        }
        Ok(L4re {
            source: file.source,
            flaws: file.flaws,
            processors,
            like: file.like,
        })
    }

    /// The page as of 2025.
    pub fn published() -> &'static L4re {
        static PAGE: LazyLock<L4re> = LazyLock::new(|| {
            L4re::parse(include_str!("../../../../published/l4re-2025.toml"))
                .expect("the built-in file is parsed by a test")
        });
        &PAGE
    }

    /// The processor that stands nearest to the machine's; `None` where its model is not known here and its clock
    /// is no time stamp counter, as on Arm.
    pub fn nearest(&self, machine: &Environment) -> Option<&Processor> {
        let is_x86 = machine.clock.source == "tsc";
        let fits = |n: &&Like| match n.model.as_str() {
            "" => is_x86,
            model => machine.cpu_model.contains(model),
        };
        let near = self.like.iter().find(fits)?;
        self.processors.iter().find(|p| p.id == near.processor)
    }
}

/// `| platform | processor | intra | inter | syscall | image |`
fn processor(line: &str, id: &str) -> Result<Processor, PublishedError> {
    let cells: Vec<&str> = line
        .trim()
        .trim_matches('|')
        .split('|')
        .map(str::trim)
        .collect();
    let [platform, name, intra, inter, syscall, _image] = cells[..] else {
        return Err(PublishedError::Length {
            row: id.to_owned(),
            found: cells.len(),
            wanted: 6,
        });
    };
    let cells = [cycles(intra, id)?, cycles(inter, id)?, cycles(syscall, id)?];
    Ok(Processor {
        id: id.to_owned(),
        platform: platform.to_owned(),
        name: name.to_owned(),
        has_ticks: cells.iter().all(|c| c.instructions.is_some()),
        cells,
    })
}

/// `247`, `1388 [#2]_`, or `173/622/557 [#1]_`.
fn cycles(cell: &str, row: &str) -> Result<Cycles, PublishedError> {
    let text = cell.split(" [").next().unwrap_or(cell);
    let wrong = || PublishedError::Cell {
        row: row.to_owned(),
        found: cell.to_owned(),
        wanted: "write one number of cycles, or ticks/cycles/instructions",
    };
    let numbers: Result<Vec<u32>, _> = text.split('/').map(str::parse).collect();
    let numbers: Vec<f64> = numbers
        .map_err(|_| wrong())?
        .into_iter()
        .map(f64::from)
        .collect();
    let (first, core, instructions) = match numbers[..] {
        [cycles] => (cycles, cycles, None),
        [ticks, core, instructions] => (ticks, core, Some(instructions)),
        _ => return Err(wrong()),
    };
    Ok(Cycles {
        text: text.to_owned(),
        first,
        core,
        instructions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::record::ClockFacts;

    const TEXT: &str = include_str!("../../../../published/l4re-2025.toml");

    #[test]
    fn every_row_of_the_page_is_there() {
        let page = L4re::parse(TEXT).unwrap();
        assert_eq!(page.processors.len(), 11);
        let figure = |id: &str, of| {
            let p = page.processors.iter().find(|p| p.id == id).unwrap();
            let c = p.cycles(of);
            (c.first, c.core, c.instructions)
        };
        assert_eq!(figure("rpi4-el2", Operation::Intra), (1388.0, 1388.0, None));
        assert_eq!(
            figure("xeon-6248r", Operation::Inter),
            (1172.0, 1172.0, Some(613.0))
        );
        assert_eq!(
            figure("n100", Operation::Syscall),
            (52.0, 188.0, Some(147.0))
        );
    }

    #[test]
    fn a_cell_of_another_run_is_told_by_its_clocks() {
        let page = L4re::published();
        let mixed: Vec<_> = page
            .processors
            .iter()
            .flat_map(|p| Operation::ALL.map(|o| (p, o)))
            .filter(|(p, o)| p.is_of_another_run(*o))
            .map(|(p, o)| (p.id.as_str(), o))
            .collect();
        assert_eq!(mixed, [("xeon-8352s", Operation::Syscall)]);
    }

    #[test]
    fn the_nearest_processor_is_of_the_same_instruction_set() {
        let near = |model: &str, clock: &str| {
            let machine = Environment {
                cpu_model: model.into(),
                clock: ClockFacts {
                    source: clock.into(),
                    ..ClockFacts::default()
                },
                ..Environment::default()
            };
            L4re::published().nearest(&machine).map(|p| p.id.as_str())
        };
        assert_eq!(near("AMD EPYC", "tsc"), Some("xeon-8352s"));
        assert_eq!(near("Intel(R) N100", "tsc"), Some("n100"));
        assert_eq!(
            near("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "tsc"),
            Some("xeon-6248r")
        );
        assert_eq!(near("Cortex-A76", "monotonic"), Some("rpi5-el1"));
        assert_eq!(near("", "monotonic"), None);
    }

    #[test]
    fn files_with_mistakes_are_refused() {
        let cases = [
            ("| 247 |", "| fast |", "\"fast\" of rpi5-el1"),
            ("173/622/557", "173/622", "\"173/622 [#1]_\" of n100"),
            ("| 384 ", "", "rpi5-el1 has 5 figures for 6 columns"),
            ("processor = \"n100\"", "processor = \"n200\"", "n200"),
            ("model = \"N100\"", "modell = \"N100\"", "modell"),
        ];
        super::super::source::refuse_mistakes(TEXT, L4re::parse, &cases);
    }
}
