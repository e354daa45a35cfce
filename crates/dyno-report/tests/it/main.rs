//! Reports of stored runs, over made-up ones.

mod carry_over;
mod causes;
mod clocks;
mod common;
mod daemons;
mod evidence;
mod flows;
mod formats;
mod in_copies;
mod light;
mod load;
mod published;
mod rwth;
mod schema;
mod settings;
mod sides;
mod signals;
mod sodev;
mod starts;
mod summary;
mod width;
