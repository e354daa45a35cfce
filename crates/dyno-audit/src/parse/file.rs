//! A statement file as it is written. Unknown keys are refused by the reader of TOML, with their place.

use crate::statement::{Access, Clock, Loop, Of, Quantity, Trip, Wait};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toml::Spanned;

/// Makes tables whose keys are their own and those of a figure.
macro_rules! with_keys {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$of])* pub(crate) $field: $type,)*
            #[serde(default)] quantity: Option<Quantity>,
            #[serde(default)] unit: Option<String>,
            #[serde(default)] statistic: Option<String>,
            #[serde(default)] n: Option<u64>,
            #[serde(default)] of: Option<Of>,
            #[serde(default)] each: Option<u64>,
            #[serde(default)] data: Option<String>,
            #[serde(default)] conditions: BTreeMap<String, String>,
            #[serde(default)] method: MethodFile,
            #[serde(default)] bound: Option<String>,
        }

        impl $name {
            /// What it says of its figures.
            pub(crate) fn keys(&self) -> Keys {
                Keys {
                    quantity: self.quantity,
                    unit: self.unit.clone(),
                    statistic: self.statistic.clone(),
                    n: self.n,
                    of: self.of,
                    each: self.each,
                    data: self.data.clone(),
                    conditions: self.conditions.clone(),
                    method: self.method.clone(),
                    bound: self.bound.clone(),
                }
            }
        }
    )+};
}

with_keys! {
    /// A table of the source.
    TableFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        #[serde(default)]
        columns: Vec<ColumnFile>,
        #[serde(default)]
        rows: Option<Spanned<String>>,
        #[serde(default, rename = "row")]
        particular: Vec<RowFile>,
        #[serde(default)]
        take: Option<TakeFile>,
    }
    /// A column of a table.
    ColumnFile {
        #[serde(default)]
        id: Option<String>,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        label: Option<String>,
        #[serde(default)]
        skip: bool,
        #[serde(default)]
        first: bool,
        #[serde(default)]
        parts: Vec<PartFile>,
    }
    /// One number of a cell or a sentence.
    PartFile {
        id: String,
        #[serde(default)]
        skip: bool,
    }
    /// What is particular to a row.
    RowFile {
        label: Spanned<String>,
        #[serde(default)]
        id: Option<String>,
    }
    /// A sentence of the source.
    TextFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        says: Spanned<String>,
        #[serde(default)]
        figures: Vec<PartFile>,
    }
    /// Raw output of a tool.
    LogFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        tool: Spanned<String>,
        text: Spanned<String>,
        #[serde(default, rename = "match")]
        matches: Vec<MatchFile>,
    }
    /// What is particular to a column of a taken table.
    TakenColumnFile {
        label: Spanned<String>,
    }
    /// Which data a name of the output is.
    MatchFile {
        name: String,
    }
    /// A list of a taken table.
    ListFile {
        key: String,
        #[serde(default)]
        id: Option<String>,
    }
}

impl ListFile {
    /// The statistic that it says.
    pub(crate) fn says(&self) -> Option<String> {
        self.statistic.clone()
    }
}

impl PartFile {
    /// One that says nothing but its name.
    pub(crate) fn named(id: String) -> PartFile {
        PartFile {
            id,
            skip: false,
            quantity: None,
            unit: None,
            statistic: None,
            n: None,
            of: None,
            each: None,
            data: None,
            conditions: BTreeMap::new(),
            method: MethodFile::default(),
            bound: None,
        }
    }
}

/// Figures that stand in lists of the same file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TakeFile {
    pub(crate) rows: Spanned<String>,
    pub(crate) label: Vec<String>,
    pub(crate) columns: Spanned<String>,
    pub(crate) across: String,
    pub(crate) lists: Vec<ListFile>,
    /// Decimals of the source, where the list has numbers that lost their zeros.
    #[serde(default)]
    pub(crate) decimals: Option<usize>,
    #[serde(default, rename = "column")]
    pub(crate) particular: Vec<TakenColumnFile>,
}

/// The whole file. Whether other keys are allowed is decided by whoever reads it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StatementFile {
    pub(crate) source: SourceFile,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<TableFile>,
    #[serde(default, rename = "text")]
    pub(crate) texts: Vec<TextFile>,
    #[serde(default, rename = "relation")]
    pub(crate) relations: Vec<RelationFile>,
    #[serde(default, rename = "requirement")]
    pub(crate) requirements: Vec<RequirementFile>,
    #[serde(default)]
    pub(crate) nearest: Vec<NearestFile>,
    #[serde(default, rename = "log")]
    pub(crate) logs: Vec<LogFile>,
}

/// The keys of [`StatementFile`].
pub(crate) const KEYS: &[&str] = &[
    "source",
    "table",
    "text",
    "relation",
    "requirement",
    "nearest",
    "log",
];

/// Keys that tables of studies read, beside those that are audited.
pub(crate) const OF_STUDIES: &[&str] = &["flaw", "like"];

/// Where the figures come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceFile {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) authors: Vec<String>,
    #[serde(default)]
    pub(crate) year: Option<u16>,
    #[serde(default, rename = "where")]
    pub(crate) place: String,
    #[serde(default)]
    pub(crate) tested: Option<String>,
    // What studies say beside it.
    #[serde(default, rename = "institutions")]
    _institutions: Option<String>,
    #[serde(default, rename = "testbed")]
    _testbed: Option<String>,
}

/// An equation, or a kind of relation with its figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelationFile {
    #[serde(default)]
    pub(crate) place: String,
    #[serde(default)]
    pub(crate) formula: Option<OneOrMore>,
    #[serde(default)]
    pub(crate) kind: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) of: Vec<Spanned<String>>,
}

/// One text, or a list of texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "write a text or a list of texts")]
pub(crate) enum OneOrMore {
    /// One.
    One(String),
    /// Any number.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(all) => all,
        }
    }
}

/// A limit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequirementFile {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) place: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) on: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) source: Option<String>,
}

/// What comes nearest to some figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NearestFile {
    pub(crate) of: Vec<Spanned<String>>,
    pub(crate) stack: Spanned<String>,
    pub(crate) experiment: Spanned<toml::Table>,
    #[serde(default)]
    pub(crate) metric: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) differs: Vec<String>,
}

/// What a table, column, part or row says of its figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    pub(crate) quantity: Option<Quantity>,
    pub(crate) unit: Option<String>,
    pub(crate) statistic: Option<String>,
    pub(crate) n: Option<u64>,
    pub(crate) of: Option<Of>,
    pub(crate) each: Option<u64>,
    pub(crate) data: Option<String>,
    pub(crate) conditions: BTreeMap<String, String>,
    pub(crate) method: MethodFile,
    pub(crate) bound: Option<String>,
}

impl Keys {
    /// These, and where they say nothing what `wider` says.
    pub(crate) fn within(mut self, wider: &Keys) -> Keys {
        let mut conditions = wider.conditions.clone();
        conditions.extend(self.conditions);
        self.conditions = conditions;
        self.method = self.method.within(&wider.method);
        Keys {
            quantity: self.quantity.or(wider.quantity),
            unit: self.unit.or_else(|| wider.unit.clone()),
            statistic: self.statistic.or_else(|| wider.statistic.clone()),
            n: self.n.or(wider.n),
            of: self.of.or(wider.of),
            each: self.each.or(wider.each),
            data: self.data.or_else(|| wider.data.clone()),
            bound: self.bound.or_else(|| wider.bound.clone()),
            conditions: self.conditions,
            method: self.method,
        }
    }
}

macro_rules! method_file {
    ($($(#[$of:meta])* $field:ident: $type:ty,)+) => {
        /// `method` as it is written.
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct MethodFile {
            $($(#[$of])* #[serde(default)] pub(crate) $field: Option<$type>,)+
        }

        impl MethodFile {
            fn within(self, wider: &MethodFile) -> MethodFile {
                MethodFile { $($field: self.$field.or_else(|| wider.$field.clone()),)+ }
            }
        }
    };
}

method_file! {
    #[serde(rename = "loop")]
    load: Loop,
    clients: u64,
    trip: Trip,
    clocks: Clocks,
    clock_bound: String,
    wait: Wait,
    access: Access,
    time: Clock,
    tool: String,
    sender_rate: f64,
    senders: u64,
    receivers: u64,
    payload_bytes: f64,
    link: String,
    loss_stated: bool,
    warm_up: bool,
}

/// How many clocks stamp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks(pub(crate) u8);

impl<'de> Deserialize<'de> for Clocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "one" => Ok(Clocks(1)),
            "two" => Ok(Clocks(2)),
            other => Err(serde::de::Error::custom(format!(
                "{other:?} is neither \"one\" nor \"two\""
            ))),
        }
    }
}
