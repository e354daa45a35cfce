//! The server over real connections: what it shows, what it refuses, and what it follows.

mod follow;
mod place;
mod refuse;
mod show;
mod slow;
