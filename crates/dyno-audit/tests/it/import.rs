//! Importers, on output of the tools themselves where they could be installed (`tests/data/README.md` says how each was made).

mod bad_input;
mod cases;
mod counts;
mod figures;
mod fuzz;
mod honest;
mod samples;
mod wrapped;
