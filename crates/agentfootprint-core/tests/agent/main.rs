//! What an agent promises, run by run, against a scripted model.

mod chart;
mod conversations;
mod events;
mod limits;
mod moments;
mod receipts;
mod refusals;
mod runs;
mod streaming;
mod support;
