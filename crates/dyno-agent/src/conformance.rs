//! One conformance case in a process of its own.

use crate::registry;
use crate::reporter::Reporter;
use dyno_adapter::{Adapter, AdapterDescription, Node, NodeContext, Placement, Result};
use dyno_conformance::{Case, Subject, Surroundings, Verdict, is_child, play, run_child};
use dyno_model::conformance::{CaseOrder, CaseVerdict, Examinee};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Name of every conformance case with what it asks for, in the order in which they are played.
pub fn conformance_cases() -> Vec<(&'static str, String)> {
    let cases = Case::ALL.iter();
    cases.map(|case| (case.name(), case.asks())).collect()
}

/// Plays the case that is ordered and prints its [`CaseVerdict`] as the only line of standard output. In a
/// process that a case has started itself: plays the other part instead.
///
/// # Errors
///
/// When the case, the adapter or its library cannot be had; a sentence for people.
pub fn play_case(order: CaseOrder) -> std::result::Result<ExitCode, String> {
    // What failed, not where in Dyno's source that was seen.
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        eprintln!("{}", text.unwrap_or("a panic without a message"));
    }));
    let subject = |adapter| Subject {
        adapter,
        options: order.examinee.options.clone(),
        best_effort: order.examinee.best_effort.then_some(true),
        except: &[],
        module: "",
    };
    if is_child() {
        run_child(subject(adapter(&order.examinee)?));
        return Ok(ExitCode::SUCCESS);
    }
    let out =
        Reporter::take_stdout().map_err(|e| format!("cannot set up its standard output: {e}"))?;
    let case = Case::named(&order.case)
        .ok_or_else(|| format!("there is no conformance case {:?}", order.case))?;
    let surroundings = Surroundings {
        session: order.session.clone(),
        scratch: order.scratch.clone(),
        daemons: order.daemons,
        limit: order.limit.into(),
    };
    let verdict = play(case, subject(adapter(&order.examinee)?), surroundings);
    let hangs = matches!(verdict, Verdict::Hangs(_));
    out.send(&match verdict {
        Verdict::Passed => CaseVerdict::Passed,
        Verdict::Skipped(reason) => CaseVerdict::Skipped(reason),
        Verdict::Failed(reason) | Verdict::Hangs(reason) => CaseVerdict::Failed(reason),
    });
    if hangs {
        // What the library does at exit would wait for the thread that hangs.
        // SAFETY: _exit(2) ends the process without running anything of it.
        unsafe { libc::_exit(0) };
    }
    Ok(ExitCode::SUCCESS)
}

fn adapter(examinee: &Examinee) -> std::result::Result<Box<dyn Adapter>, String> {
    let adapter: Arc<dyn Adapter> = match &examinee.library {
        Some(path) => Arc::new(dyno_abi::load(path).map_err(|e| e.to_string())?),
        None => registry::adapter(&examinee.adapter)?,
    };
    Ok(Box::new(Placed {
        adapter,
        placements: examinee.placements.clone(),
        asks: examinee.asks,
    }))
}

/// What the adapter in the library at `path` says of itself, asked in a process of its own.
///
/// # Errors
///
/// When it cannot be loaded, crashes or hangs meanwhile; a sentence for people.
pub fn ask_library(path: &Path) -> std::result::Result<AdapterDescription, String> {
    registry::ask("--describe-library", path)
}

/// An adapter where its stack is meant to run, without placements of the stack wherever it can, and with the readers that its
/// stack has.
struct Placed {
    adapter: Arc<dyn Adapter>,
    placements: Vec<Placement>,
    asks: bool,
}

impl Adapter for Placed {
    fn describe(&self) -> AdapterDescription {
        let mut description = self.adapter.describe();
        description.capabilities = description.capabilities.of_stack(self.asks);
        if !self.placements.is_empty() {
            let can = &mut description.capabilities.placements;
            can.retain(|placement| self.placements.contains(placement));
        }
        description
    }
    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        self.adapter.open(context)
    }
}
