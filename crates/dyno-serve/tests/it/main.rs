//! The server over real connections: what it shows, what it refuses, and what it follows.

#[path = "../../../dyno-store/tests/it/example.rs"]
#[allow(
    dead_code,
    reason = "the example of the store, of which this takes a part"
)]
mod example;

mod follow;
mod place;
mod refuse;
mod show;
mod slow;
