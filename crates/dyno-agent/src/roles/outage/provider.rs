//! The provider of calls in a trial with faults: an echo that goes on after calls that fail, and opens again after a restart.

use super::kit::{await_matched, close, open, tolerated};
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::roles::echo;
use crate::roles::ends::on_threads;
use crate::shared::ThreadState;

pub(super) fn play(job: &Job, thread: &ThreadState) -> Result<Played, Failure> {
    match job.by_callback() {
        true => by_callback(job, thread),
        false => by_take(job, thread),
    }
}

fn by_take(job: &Job, thread: &ThreadState) -> Result<Played, Failure> {
    let ends = |nodes: &mut Nodes| echo::ends(job, thread, nodes);
    open(job, thread, ends, |nodes, mut ends| {
        if !await_matched(job, thread, || echo::matched(&mut ends))? {
            close(thread, nodes, ends);
            return Ok(Played::default());
        }
        let played = on_threads(job, thread, ends, |thread, ends| {
            echo::answer(job, thread, ends)
        });
        close(thread, nodes, ());
        played
    })
}

fn by_callback(job: &Job, thread: &ThreadState) -> Result<Played, Failure> {
    let subscribe = |nodes: &mut Nodes| echo::subscribe(job, thread, nodes);
    open(job, thread, subscribe, |nodes, subscribed| {
        let mut played = Played::default();
        if let Some(mut subscribed) = subscribed {
            if await_matched(job, thread, || subscribed.matched())? {
                echo::await_end(job, subscribed.len());
            }
            // What a library does at its end costs no trial that a fault has gone through.
            let ended = subscribed.end(job, thread);
            played.warnings.extend(ended.err().map(tolerated));
        }
        close(thread, nodes, ());
        Ok(played)
    })
}
