//! From the texts of suites, stacks and testbeds to a validated [`Plan`](dyno_model::Plan). Pure:
//! the caller reads files and asks the machine; nothing here does I/O.
//!
//! - A **suite** holds `[defaults]`, `[parameters]`, `[presets]` and `[[experiment]]`s, each with a
//!   workload and optionally a matrix of factors that is multiplied out.
//! - A **stack** names an adapter, its options, and the waits that are natural to it.
//! - A **testbed** lists hosts.
//!
//! The three forms are described in `docs/reference/suite-files.md`. Keys that do not exist, wrong
//! units and impossible combinations are refused with their place in the text and what to write
//! instead ([`PlanError`], a [`miette::Diagnostic`]). Cells of a matrix that a stack cannot do are
//! left out and listed with the reason.
//!
//! ```
//! use dyno_plan::{Catalog, HostFacts, Request, plan};
//!
//! let request = Request {
//!     suite: "quik".into(),
//!     testbed: "local".into(),
//!     ..Request::default()
//! };
//! let error = plan(&Catalog::builtin(), &request, &[], &HostFacts::default()).unwrap_err();
//! assert_eq!(error.to_string(), "there is no suite `quik`");
//! assert!(error.problems()[0].advice().unwrap().starts_with("did you mean `quick`?"));
//! ```

#![warn(clippy::too_many_lines)]

mod against;
mod capability;
mod catalog;
mod cell;
mod chain;
mod configured;
mod cpus;
mod daemon;
mod estimate;
mod expand;
mod fault;
mod floor;
mod flow;
mod ground;
mod host;
mod legs;
mod link;
mod listing;
mod load;
mod machine;
mod matrix;
mod mistakes;
mod overrides;
mod parallel;
mod parameters;
mod plan;
mod presets;
mod probe;
mod quantity;
mod refuse;
mod remote;
mod search;
mod select;
mod sets;
mod settings;
mod shard;
mod sizes;
mod slices;
mod spec;
mod stack;
mod suite;
mod testbed;
mod together;

pub use catalog::Catalog;
pub use daemon::missing_daemon;
pub use dyno_model::Request;
pub use dyno_toml::Problem;
pub use estimate::{nominal_time, nominal_trial};
pub use host::HostFacts;
pub use listing::Listing;
pub use mistakes::PlanError;
pub use plan::plan;
pub use shard::{ShardError, common_seed, shard};
pub use testbed::impossible;
