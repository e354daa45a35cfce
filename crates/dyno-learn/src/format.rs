//! The formats that can be read, and how reading fails.

use crate::traffic::Place;
use std::fmt;

/// A format of recordings or descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A log of candump (`candump -l`).
    Candump,
    /// Vector ASC.
    Asc,
    /// CSV with columns for time, topic and size.
    Csv,
    /// A DBC file: messages with sizes and cycle times.
    Dbc,
    /// pcap.
    Pcap,
    /// pcapng.
    PcapNg,
}

impl Format {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Candump => "candump log",
            Format::Asc => "Vector ASC",
            Format::Csv => "CSV",
            Format::Dbc => "DBC",
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why nothing was learnt from a file.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// It has no bytes.
    #[error("{0} is empty")]
    Empty(String),
    /// A format that is known by its first bytes and cannot be read yet.
    #[error("{name} is {format}, which `dyno learn` cannot read yet; convert it to {instead}")]
    NotYet {
        /// The file.
        name: String,
        /// Its format.
        format: &'static str,
        /// A format that can be read.
        instead: &'static str,
    },
    /// A format that is not known.
    #[error(
        "{0} is in no format that Dyno knows: a candump log, Vector ASC, DBC, pcap, pcapng, or CSV whose first line is a header such as \
         time_s,topic,size"
    )]
    Unknown(String),
    /// The format is known, but nothing could be taken.
    #[error("{name} ({format}) has no message that Dyno can use{why}")]
    Nothing {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
        /// The first problems and the kinds of messages that were left out, after `: `; empty where there are none.
        why: String,
    },
    /// It cannot be read as what it is.
    #[error("{name} ({format}), {place}: {what}")]
    Wrong {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
        /// Where.
        place: Place,
        /// The mistake, and the remedy.
        what: String,
    },
    /// The system cannot read it.
    #[error("cannot read {name}: {cause}")]
    Io {
        /// The file.
        name: String,
        /// The system's reason.
        cause: std::io::Error,
    },
}

/// How a reader fails; [`crate::read()`] adds the name of the file.
pub(crate) enum Failed {
    Io(std::io::Error),
    Wrong(Place, String),
}

impl From<std::io::Error> for Failed {
    fn from(e: std::io::Error) -> Self {
        Failed::Io(e)
    }
}
