//! The figures of the RWTH comparison: middlewares over topologies, first message, communication time, scaling and memory.

use super::source::{Flaw, PublishedError, Source};
use dyno_model::{Placement, Topology};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::sync::LazyLock;

/// A study that compares middlewares over topologies, and what is known to be wrong with it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Where the figures come from.
    pub source: Source,
    /// Known errors and open questions.
    #[serde(default, rename = "flaw")]
    pub flaws: Vec<Flaw>,
    /// The message types.
    #[serde(rename = "message")]
    pub messages: Vec<Message>,
    /// How the middlewares were configured.
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
    /// Time to the first message.
    pub first_message: Latencies,
    /// Time from send to callback.
    pub communication: Latencies,
    /// The scaling factor.
    pub scaling: Scaling,
    /// Memory beyond that of a baseline.
    pub memory: Memory,
    /// Which of Dyno's stacks stands beside which row.
    pub beside: Vec<Beside>,
    // What `dyno audit` reads of the same file.
    #[serde(default, rename = "table")]
    _tables: IgnoredAny,
    #[serde(default, rename = "text")]
    _texts: IgnoredAny,
    #[serde(default, rename = "relation")]
    _relations: IgnoredAny,
    #[serde(default, rename = "nearest")]
    _nearest: IgnoredAny,
}

/// A message type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its name, also that of the suite's experiment.
    pub name: String,
    /// Messages per second of each sender.
    pub rate_hz: f64,
    /// Size of a message in kB (1000 bytes).
    pub size_kb: u64,
}

/// How strong delivery is meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// Messages may be lost.
    BestEffort,
    /// Messages are repeated until they arrive.
    Reliable,
}

impl Reliability {
    /// As tables print it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reliability::BestEffort => "best-effort",
            Reliability::Reliable => "reliable",
        }
    }
}

/// The configuration of one middleware.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The middleware as the study spells it.
    pub middleware: String,
    /// For this reliability.
    pub reliability: Reliability,
    /// In words.
    pub text: String,
}

/// A table of latencies over topologies.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// The columns.
    pub topologies: Vec<Place>,
    /// The message type of all rows, where they have no own.
    #[serde(default)]
    pub message: Option<String>,
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<LatencyRow>,
}

/// One row of a table of latencies; both lists have a figure for each column.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyRow {
    /// Reliability.
    pub reliability: Reliability,
    /// The middleware as the study spells it.
    pub middleware: String,
    /// The message type, where the table has several.
    #[serde(default)]
    pub message: Option<String>,
    /// Largest value in milliseconds.
    pub max_ms: Vec<Figure>,
    /// Median in milliseconds.
    pub median_ms: Vec<Figure>,
}

/// The scaling factor by middleware.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// Where it was measured.
    pub topology: Place,
    /// Samples of one experiment, all sizes together.
    pub samples: u64,
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<ScalingRow>,
}

/// The scaling factor of one middleware.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingRow {
    /// Reliability.
    pub reliability: Reliability,
    /// The middleware as the study spells it.
    pub middleware: String,
    /// The factor in the study's unit.
    pub s: Figure,
    /// Samples that arrived.
    pub arrived: u64,
}

/// Memory by middleware, beyond that of a baseline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Reliability of the baseline.
    pub reliability: Reliability,
    /// Middleware of the baseline.
    pub middleware: String,
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<MemoryRow>,
}

/// Memory of one middleware.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRow {
    /// Reliability.
    pub reliability: Reliability,
    /// The middleware as the study spells it.
    pub middleware: String,
    /// What the figure is, such as `median`.
    pub statistic: String,
    /// MB (10^6 bytes) more than the baseline.
    pub more_mb: f64,
}

/// Which of Dyno's stacks stands beside a row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Reliability of the row.
    pub reliability: Reliability,
    /// Middleware of the row.
    pub middleware: String,
    /// What tells this stack from the one that was measured, where it is not the same.
    #[serde(default)]
    pub variant: Option<String>,
    /// The stack within a host.
    pub process: String,
    /// The stack between hosts.
    pub host: String,
}

impl Beside {
    /// The stack for that placement; `None` for threads, which the study has not.
    pub fn stack(&self, placement: Placement) -> Option<&str> {
        match placement {
            Placement::Process => Some(&self.process),
            Placement::Host => Some(&self.host),
            Placement::Thread => None,
        }
    }
}

/// A printed number, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure(pub Option<f64>);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "write a number, or \"-\" where there is none")]
        enum Printed {
            Number(f64),
            Text(String),
        }
        match Printed::deserialize(deserializer)? {
            Printed::Number(v) => Ok(Figure(Some(v))),
            Printed::Text(text) if text == "-" => Ok(Figure(None)),
            Printed::Text(text) => Err(serde::de::Error::custom(format!(
                "{text:?} is not a figure; write a number, or \"-\" where there is none"
            ))),
        }
    }
}

/// A column of the study's tables: `C1-1` within a host, `D1-1` between hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// `process` for C, `host` for D.
    pub placement: Placement,
    /// Senders and receivers.
    pub topology: Topology,
}

impl std::fmt::Display for Place {
    /// As the study writes it; `T` for threads of one process.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = match self.placement {
            Placement::Thread => 'T',
            Placement::Process => 'C',
            Placement::Host => 'D',
        };
        write!(f, "{letter}{}", self.topology)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || {
            serde::de::Error::custom(format!(
                "{text:?} is not a column; write for example \"C1-1\" or \"D3-1\""
            ))
        };
        let placement = match text.get(..1) {
            Some("C") => Placement::Process,
            Some("D") => Placement::Host,
            _ => return Err(wrong()),
        };
        let topology = text[1..].parse().map_err(|_| wrong())?;
        Ok(Place {
            placement,
            topology,
        })
    }
}

impl Latencies {
    /// The median and the largest value of a cell in milliseconds, as far as they were printed.
    pub fn figures(
        &self,
        reliability: Reliability,
        middleware: &str,
        message: &str,
        place: Place,
    ) -> (Option<f64>, Option<f64>) {
        let is_it = |row: &&LatencyRow| {
            row.reliability == reliability
                && row.middleware == middleware
                && row
                    .message
                    .as_ref()
                    .or(self.message.as_ref())
                    .is_none_or(|m| m == message)
        };
        let column = self.topologies.iter().position(|p| *p == place);
        let (Some(row), Some(i)) = (self.rows.iter().find(is_it), column) else {
            return (None, None);
        };
        let of = |figures: &[Figure]| figures.get(i).and_then(|f| f.0);
        (of(&row.median_ms), of(&row.max_ms))
    }

    fn check(&self) -> Result<(), PublishedError> {
        let wanted = self.topologies.len();
        for row in &self.rows {
            for found in [row.max_ms.len(), row.median_ms.len()] {
                if found != wanted {
                    let message = row.message.as_deref().unwrap_or("");
                    return Err(PublishedError::Length {
                        row: format!("{} {} {message}", row.middleware, row.reliability.as_str()),
                        found,
                        wanted,
                    });
                }
            }
        }
        Ok(())
    }
}

impl Study {
    /// From the text of a file in `published/`.
    pub fn parse(text: &str) -> Result<Study, PublishedError> {
        let study: Study =
            toml::from_str(text).map_err(|e| PublishedError::Syntax(e.to_string()))?;
        study.first_message.check()?;
        study.communication.check()?;
        Ok(study)
    }

    /// The comparison of Fast DDS, Zenoh and vsomeip by Klüner et al., 2025.
    pub fn rwth() -> &'static Study {
        static RWTH: LazyLock<Study> = LazyLock::new(|| {
            Study::parse(include_str!("../../../../published/rwth-2025.toml"))
                .expect("the built-in file is parsed by a test")
        });
        &RWTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../../published/rwth-2025.toml");

    fn place(text: &str) -> Place {
        let study = Study::rwth();
        let mut all = study.communication.topologies.iter();
        *all.find(|p| p.to_string() == text).unwrap()
    }

    #[test]
    fn every_cell_of_the_paper_is_there() {
        let study = Study::parse(TEXT).unwrap();
        let cells = |t: &Latencies| {
            let all = t
                .rows
                .iter()
                .flat_map(|r| r.max_ms.iter().chain(&r.median_ms));
            let printed = all.clone().filter(|f| f.0.is_some()).count();
            (t.rows.len(), all.count(), printed)
        };
        assert_eq!(cells(&study.first_message), (3, 24, 24));
        // FastDDS fails in D3-1 with large messages, reliably in D2-2 too; one cell is missing.
        assert_eq!(cells(&study.communication), (17, 272, 272 - 2 * 7));
        assert_eq!(study.messages.len(), 4);
        assert!(study.flaws.len() > 10);
        for row in &study.communication.rows {
            for (median, max) in row.median_ms.iter().zip(&row.max_ms) {
                assert_eq!(median.0.is_some(), max.0.is_some(), "{row:?}");
                assert!(median.0 <= max.0, "{row:?}");
            }
        }
    }

    #[test]
    fn cells_are_those_of_the_paper() {
        use Reliability::{BestEffort, Reliable};
        let study = Study::rwth();
        let figures = |r, middleware: &str, message: &str, at: &str| {
            study
                .communication
                .figures(r, middleware, message, place(at))
        };
        for (r, middleware, message, at, median, max) in [
            (
                BestEffort,
                "FastDDS",
                "camera",
                "C1-1",
                Some(1.714),
                Some(1.995),
            ),
            (
                BestEffort,
                "FastDDS",
                "camera",
                "D1-1",
                Some(35.367),
                Some(41.531),
            ),
            (BestEffort, "FastDDS", "camera", "D3-1", None, None),
            (
                BestEffort,
                "FastDDS",
                "imu",
                "D1-1",
                Some(0.487),
                Some(0.572),
            ),
            (BestEffort, "Zenoh", "imu", "D1-1", Some(3.171), Some(3.246)),
            (
                BestEffort,
                "Zenoh",
                "lidar",
                "D3-1",
                Some(38.970),
                Some(122.491),
            ),
            (
                BestEffort,
                "vSome/IP",
                "imu",
                "D2-2",
                Some(7.687),
                Some(8.596),
            ),
            (BestEffort, "vSome/IP", "camera", "D1-1", None, None),
            (
                Reliable,
                "FastDDS",
                "imu",
                "D1-3",
                Some(177.620),
                Some(192.084),
            ),
            (
                Reliable,
                "FastDDS",
                "radar",
                "C3-1",
                Some(52.118),
                Some(102.754),
            ),
            (
                Reliable,
                "vSome/IP",
                "imu",
                "D1-1",
                Some(7.817),
                Some(8.038),
            ),
            (Reliable, "vSome/IP", "lidar", "C3-1", None, None),
            (
                Reliable,
                "vSome/IP",
                "radar",
                "D3-1",
                Some(7.183),
                Some(57.418),
            ),
            (Reliable, "Zenoh", "imu", "D1-1", None, None),
        ] {
            assert_eq!(
                figures(r, middleware, message, at),
                (median, max),
                "{middleware} {message} {at}"
            );
        }
        let first = |middleware: &str, at: &str| {
            let all = &study.first_message;
            all.figures(BestEffort, middleware, "imu", place(at))
        };
        assert_eq!(first("vSome/IP", "D1-3"), (Some(1051.316), Some(2664.442)));
        assert_eq!(first("Zenoh", "D1-1"), (Some(11.783), Some(11.783)));
        assert_eq!(first("Zenoh", "C1-1"), (None, None));
        let s: Vec<_> = study
            .scaling
            .rows
            .iter()
            .map(|r| (r.s.0, r.arrived))
            .collect();
        assert_eq!(
            s,
            [
                (Some(0.167), 5500),
                (Some(0.171), 5500),
                (Some(0.330), 5500),
                (None, 4557)
            ]
        );
        let more: Vec<_> = study.memory.rows.iter().map(|r| r.more_mb).collect();
        assert_eq!(more, [374.4, 245.6, 1845.9]);
    }

    #[test]
    fn files_with_mistakes_are_refused() {
        let cases = [
            ("[source]", "[source]\ncolour = 1", "unknown field `colour`"),
            ("rate_hz = 200", "rate = 200", "unknown field `rate`"),
            (
                "\"D2-2\", \"D3-1\"]",
                "\"D2-2\", \"E3-1\"]",
                "\"E3-1\" is not a column",
            ),
            (
                "103.899, 122.597, \"-\"]",
                "103.899, 122.597, \"?\"]",
                "write a number, or",
            ),
            (
                "103.899, 122.597, \"-\"]",
                "103.899, 122.597]",
                "has 7 figures for 8 columns",
            ),
            (
                "reliability = \"reliable\"",
                "reliability = \"mostly\"",
                "unknown variant `mostly`",
            ),
        ];
        super::super::source::refuse_mistakes(TEXT, Study::parse, &cases);
    }
}
